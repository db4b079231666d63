"""From a graph to straight-line steps: only what the outputs need, in order, products fused into sums.

a·b + c becomes one fused multiply–add, a step of its own, so that the bits are the same at every vector
width, in the interpreter and in C. A product is fused when every use of it can be: then it is never
computed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dalembert.caching import cached_property
from dalembert.compile.graph import Graph
from dalembert.errors import InputError

TRUTHS = ("less", "less_equal")  # operations that give a truth value


@dataclass(frozen=True)
class Step:
    """One operation. `operands` are places of earlier steps; an operand's sign may be flipped first."""

    operation: str
    operands: tuple[int, ...] = ()
    value: Any = None  # a float, or (argument, position)
    flip: tuple[bool, ...] = ()  # for fma: which operands are negated


@dataclass(frozen=True)
class Program:
    """Steps in order, and for each output array the steps that give its elements."""

    steps: tuple[Step, ...]
    outputs: tuple[tuple[int, ...], ...]

    @property
    def operations(self) -> int:
        """How many steps compute something."""
        return sum(step.operation not in ("constant", "input") for step in self.steps)

    @property
    def text(self) -> str:
        """What determines the program."""
        return repr((self.outputs, *((s.operation, s.operands, s.value, s.flip) for s in self.steps)))

    @cached_property
    def divisors(self) -> frozenset[int]:
        """The steps that others divide by."""
        return frozenset(step.operands[1] for step in self.steps if step.operation == "divide")


T = TypeVar("T")


def walk(
    program: Program,
    number: Callable[[float], T],
    given: Callable[[int, int], T],
    negated: Callable[[T], T],
    compute: Callable[[int, Step, list[T]], T],
) -> list[list[T]]:
    """The outputs of a program in any terms, numbers or names in a source: what a constant is there, what element j of
    argument k, a flipped operand, and step k of its operands."""
    values: list[T] = []
    for k, step in enumerate(program.steps):
        if step.operation == "constant":
            values.append(number(step.value))
        elif step.operation == "input":
            values.append(given(*step.value))
        else:
            operands = [values[x] for x in step.operands]
            for i, flipped in enumerate(step.flip):
                operands[i] = negated(operands[i]) if flipped else operands[i]
            values.append(compute(k, step, operands))
    return [[values[k] for k in group] for group in program.outputs]


def lower(graph: Graph, outputs: Sequence[Sequence[Any]]) -> Program:
    """The program that computes these scalars (nodes or numbers)."""
    wanted = [[graph.index(x) for x in group] for group in outputs]
    needed = _needed(graph, [i for group in wanted for i in group])
    _check_truths(graph, needed, [i for group in wanted for i in group])
    fused = _fusions(graph, needed, {i for group in wanted for i in group})
    kept = needed - {product for product, _ in fused.values()}
    place: dict[int, int] = {}
    steps: list[Step] = []
    for i in sorted(kept):
        place[i] = len(steps)
        if i in fused:
            steps.append(_fma(graph, i, fused[i], place))
        else:
            operands = tuple(place[k] for k in graph.operands[i])
            steps.append(Step(graph.operation[i], operands, graph.value[i]))
    return Program(tuple(steps), tuple(tuple(place[i] for i in group) for group in wanted))


def _needed(graph: Graph, roots: list[int]) -> set[int]:
    needed: set[int] = set()
    stack = list(roots)
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack.extend(graph.operands[i])
    return needed


def _check_truths(graph: Graph, needed: set[int], roots: Sequence[int]) -> None:
    """Refuse comparisons that are used as numbers, and numbers as comparisons."""
    truths = {i for i in needed if graph.operation[i] in TRUTHS}
    choices = [i for i in needed if graph.operation[i] == "where"]
    if not truths and not choices:
        return
    as_numbers = {k for i in needed for k in graph.operands[i][graph.operation[i] == "where" :]}
    if not truths.isdisjoint(as_numbers.union(roots)):
        problem = "a comparison is used as a number: where(a < b, 1.0, 0.0) is one"
        raise InputError("wrong-type", "where", problem=problem)
    if any(graph.operands[i][0] not in truths for i in choices):
        problem = "where(condition, a, b) chooses by a comparison, such as x > 0.0, not by a number"
        raise InputError("wrong-type", "where", problem=problem)


def _fusions(graph: Graph, needed: set[int], roots: set[int]) -> dict[int, tuple[int, int]]:
    """sum → (product it absorbs, its other operand).

    First products with one use, then products whose every use is a sum that is still free."""
    users: dict[int, list[int]] = {}
    for i in needed:
        for k in graph.operands[i]:
            users.setdefault(k, []).append(i)
    products = sorted(i for i in needed if graph.operation[i] == "multiply" and i not in roots)
    fused: dict[int, tuple[int, int]] = {}
    # Later products first: the operand that is ready last is the one worth hiding in the sum.
    for once in (True, False):
        for product in reversed(products):
            sums = users.get(product, [])
            if (len(sums) == 1) != once:
                continue
            free = all(
                graph.operation[s] in ("add", "subtract") and s not in fused and graph.operands[s].count(product) == 1
                for s in sums
            )
            if free:
                for s in sums:
                    a, b = graph.operands[s]
                    fused[s] = (product, a if b == product else b)
    return fused


def _fma(graph: Graph, i: int, fusion: tuple[int, int], place: dict[int, int]) -> Step:
    product, other = fusion
    x, y = graph.operands[product]
    subtract = graph.operation[i] == "subtract"
    minus_product = subtract and graph.operands[i][1] == product
    flip = (minus_product, False, subtract and not minus_product)
    return Step("fma", (place[x], place[y], place[other]), None, flip)
