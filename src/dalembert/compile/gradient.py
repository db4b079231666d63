"""Derivatives of a traced function, from its graph: the chain rule over the rows of `operations`.

Forward: for every node, its derivatives along the chosen inputs, only those that are not zero: what a joint does not
move costs nothing. Reverse: for one output at a time, its derivatives along every node. Both give nodes of the same
graph, so that what they share with the function, and with each other, is computed once. The cheaper is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert import scalar
from dalembert.compile.graph import Graph, Node
from dalembert.compile.operations import OPERATIONS
from dalembert.scalar import Scalar


def jacobian(graph: Graph, outputs: Sequence[Scalar], inputs: Sequence[Node]) -> list[list[Scalar]]:
    """∂outputs/∂inputs as scalars (nodes or numbers): one row per output, one column per input."""
    chooses = any(graph.operation[k] == "where" for k in _order(graph, outputs))
    # Reverse, the branch that is not taken gets a zero times its derivative, which may be infinite or NaN.
    way = forward if chooses or len(inputs) <= len(outputs) else reverse
    return way(graph, outputs, inputs)


def _partials(graph: Graph, index: int) -> tuple[Scalar, ...]:
    """The derivatives of a node with respect to its operands."""
    operation = OPERATIONS.get(graph.operation[index])
    if operation is None or operation.partials is None:
        return ()
    operands = [_scalar(graph, k) for k in graph.operands[index]]
    return operation.partials(Node(graph, index), *operands)


def _scalar(graph: Graph, index: int) -> Scalar:
    """A constant as the number it is, so that it folds."""
    return graph.value[index] if graph.operation[index] == "constant" else Node(graph, index)


def _order(graph: Graph, outputs: Sequence[Scalar]) -> list[int]:
    """The nodes that the outputs need, operands first."""
    needed: set[int] = set()
    stack = [x.index for x in outputs if isinstance(x, Node)]
    while stack:
        k = stack.pop()
        if k not in needed:
            needed.add(k)
            stack.extend(graph.operands[k])
    return sorted(needed)


def forward(graph: Graph, outputs: Sequence[Scalar], inputs: Sequence[Node]) -> list[list[Scalar]]:
    """One sweep that carries, per node, a sparse row of derivatives."""
    rows = _sweep(graph, outputs, {x.index: {j: 1.0} for j, x in enumerate(inputs)})
    return [[row.get(j, 0.0) for j in range(len(inputs))] for row in rows]


def _sweep(graph: Graph, outputs: Sequence[Scalar], begin: dict[int, dict[int, Scalar]]) -> list[dict[int, Scalar]]:
    """The sparse rows of the outputs, from those of the inputs."""
    rows: dict[int, dict[int, Scalar]] = {}
    for k in _order(graph, outputs):
        if k in begin:
            rows[k] = begin[k]
            continue
        active = [(i, x) for i, x in enumerate(graph.operands[k]) if rows.get(x)]
        if not active:
            continue
        if graph.operation[k] == "where":
            rows[k] = _chosen(graph, k, rows)
            continue
        partials = _partials(graph, k)
        row: dict[int, Scalar] = {}
        for i, x in active:
            if partials and partials[i] is not None:
                for j, derivative in rows[x].items():
                    term = partials[i] * derivative
                    row[j] = row[j] + term if j in row else term
        rows[k] = {j: d for j, d in row.items() if isinstance(d, Node) or d != 0.0}
    zero: dict[int, Scalar] = {}
    return [rows.get(x.index, zero) if isinstance(x, Node) else zero for x in outputs]


def _chosen(graph: Graph, k: int, rows: dict[int, dict[int, Scalar]]) -> dict[int, Scalar]:
    """The derivatives of the branch taken; those of the other, whatever they are, do not touch it."""
    condition, *branches = graph.operands[k]
    a, b = (rows.get(x, {}) for x in branches)
    return {j: scalar.where(Node(graph, condition), a.get(j, 0.0), b.get(j, 0.0)) for j in {**a, **b}}


def reverse(graph: Graph, outputs: Sequence[Scalar], inputs: Sequence[Node]) -> list[list[Scalar]]:
    """One sweep per output, from it to the inputs."""
    return [pull_back(graph, [output], [1.0], inputs) for output in outputs]


def pull_back(
    graph: Graph, outputs: Sequence[Scalar], weights: Sequence[Scalar], inputs: Sequence[Node]
) -> list[Scalar]:
    """Jᵀ w, the derivatives of Σ wᵢ yᵢ of the outputs y: one sweep from them to the inputs, two or three times as long
    as the function, however many inputs.

    A branch that is not taken gets the weight 0, and may have any derivative: where that may be infinite, 0 times it
    is 0 here. So is it at a root of 0, which measures take at every step and weigh at the last."""
    adjoint: dict[int, Scalar] = {}
    doubtful: list[bool] = []
    chosen: set[int] = set()  # nodes that a choice may have given the weight 0

    def add(x: int, term: Scalar) -> None:
        if graph.operation[x] != "constant" and (isinstance(term, Node) or term != 0.0):
            adjoint[x] = adjoint[x] + term if x in adjoint else term

    for output, w in zip(outputs, weights, strict=True):
        if isinstance(output, Node):
            add(output.index, w)
    for k in reversed(_order(graph, outputs)):
        own, operands = adjoint.get(k), graph.operands[k]
        if own is None or not operands:
            continue
        if graph.operation[k] == "where":
            condition = Node(graph, operands[0])
            add(operands[1], scalar.where(condition, own, 0.0))
            add(operands[2], scalar.where(condition, 0.0, own))
            chosen.update(operands[1:])
            continue
        if k in chosen:
            chosen.update(operands)
        for x, partial in zip(operands, _partials(graph, k), strict=False):
            if partial is not None:
                term = partial * own
                guarded = graph.operation[k] == "sqrt" or (k in chosen and _may_overflow(graph, partial, doubtful))
                if guarded and isinstance(own, Node):
                    term = scalar.where(scalar.absolute(own) <= 0.0, 0.0, term)
                add(x, term)
    return [adjoint.get(x.index, 0.0) for x in inputs]


def _may_overflow(graph: Graph, x: Scalar, known: list[bool]) -> bool:
    """Whether a value may be infinite or NaN at inputs of any usual size: something is divided by, or rooted. `known`
    holds the answers for the first nodes of the graph, and grows."""
    if not isinstance(x, Node):
        return False
    for k in range(len(known), x.index + 1):
        operation, operands = graph.operation[k], graph.operands[k]
        divides = operation == "divide" and graph.operation[operands[1]] != "constant"
        known.append(divides or operation in ("log", "exp", "sqrt") or any(known[j] for j in operands))
    return known[x.index]
