"""The trace of an algorithm: a graph of operations, each made once.

Equal operations on equal operands are the same node, so common subexpressions vanish as they arise.
Zeros, ones, signs and constants fold at once: what an algorithm multiplies by a zero of the model costs
nothing. Folding 0·x to 0 drops a NaN or infinity in x, and x − x is 0: see the notation page.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Any

from dalembert import scalar
from dalembert.compile import functions
from dalembert.compile.operations import OPERATIONS
from dalembert.errors import InputError
from dalembert.scalar import Scalar

Number = (int, float)


LIMIT = "DALEMBERT_OPERATIONS"  # names the variable that allows larger kernels
MOST = 2_000_000  # operations as they are traced, of which a half or less are left: a minute, a gigabyte


def _most() -> int:
    text = os.environ.get(LIMIT) or str(MOST)
    if not text.isdecimal():
        problem = f"{LIMIT}={text!r} in the environment must be a whole number of operations"
        raise InputError("wrong-value", "environment", text, problem=problem)
    return int(text)


class Graph:
    """Nodes as parallel lists; a node's operands have smaller indices than it."""

    def __init__(self, name: str = "a kernel") -> None:
        self.name, self.most = name, _most()
        self.operation: list[str] = []
        self.operands: list[tuple[int, ...]] = []
        self.value: list[Any] = []  # a float for constants, (argument, position) for inputs
        self._known: dict[tuple[Any, ...], int] = {}

    def make(self, operation: str, *operands: int) -> int:
        """The node of this operation on these operands, new or known."""
        key = (operation, *operands)
        known = self._known.get(key)
        if known is None:
            known = self._append(key, operation, operands, None)
        return known

    def _append(self, key: tuple[Any, ...], operation: str, operands: tuple[int, ...], value: object) -> int:
        index = self._known[key] = len(self.operation)
        if index >= self.most:
            problem = (
                f"{self.name} takes more than {self.most:,} operations for this system, and would take minutes and "
                "gigabytes to compile"
            )
            remedy = f"Set {LIMIT}={10 * self.most} in the environment to allow ten times as many."
            raise InputError("too-large", "operations", self.most, problem=problem, remedy=remedy)
        self.operation.append(operation)
        self.operands.append(operands)
        self.value.append(value)
        return index

    def constant(self, x: float) -> int:
        """Keyed by its bits: 0.0 and −0.0 differ, NaN equals itself."""
        key = ("constant", struct.pack("<d", x))
        known = self._known.get(key)
        return self._append(key, "constant", (), x) if known is None else known

    def input(self, argument: int, position: int) -> Node:
        key = ("input", argument, position)
        known = self._known.get(key)
        if known is None:
            known = self._append(key, "input", (), (argument, position))
        return Node(self, known)

    def index(self, x: Scalar) -> int:
        """The index of a node of this graph, or of a number as a constant."""
        if isinstance(x, Node):
            if x.graph is not self:
                raise TypeError("a scalar of another trace")
            return x.index
        return self.constant(float(x))


class Node:
    """A scalar that records what is done to it."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def __add__(self, other: Scalar) -> Scalar:
        return _add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        return _add(self, _negate(other)) if isinstance(other, (Node, *Number)) else NotImplemented

    def __rsub__(self, other: Scalar) -> Scalar:
        return _add(_negate(self), other)

    def __mul__(self, other: Scalar) -> Scalar:
        return _multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        if isinstance(other, Number):
            return _divide_by_number(self, other)
        return _divide(self, other) if isinstance(other, Node) else NotImplemented

    def __rtruediv__(self, other: Scalar) -> Scalar:
        if not isinstance(other, Number):
            return NotImplemented
        return _divide(other, self) if other else 0.0

    def __neg__(self) -> Scalar:
        return _negate(self)

    def __pos__(self) -> Node:
        return self

    def __pow__(self, exponent: Scalar) -> Scalar:
        if not isinstance(exponent, int) or exponent < 0:
            return NotImplemented
        result: Scalar = 1.0
        for _ in range(exponent):
            result = result * self
        return result

    def __eq__(self, other: object) -> bool:
        raise TypeError("traced values are compared with <, >, <= and >=, and chosen from with where")

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Scalar) -> Scalar:
        return _binary("less", self, other)

    def __gt__(self, other: Scalar) -> Scalar:
        return _binary("less", other, self) if isinstance(other, (Node, *Number)) else NotImplemented

    def __le__(self, other: Scalar) -> Scalar:
        return _binary("less_equal", self, other)

    def __ge__(self, other: Scalar) -> Scalar:
        swapped = isinstance(other, (Node, *Number))
        return _binary("less_equal", other, self) if swapped else NotImplemented

    def __bool__(self) -> bool:
        raise TypeError(
            "a traced value has no truth value: algorithms branch on structure; "
            "what depends on a value goes through where(condition, a, b)"
        )

    def __repr__(self) -> str:
        return f"Node({self.graph.operation[self.index]}, {self.index})"


def _operation(x: Node) -> str:
    return x.graph.operation[x.index]


def _operand(x: Node, k: int) -> Node:
    return Node(x.graph, x.graph.operands[x.index][k])


def _constant_of(x: Scalar) -> float | None:
    """The number that x is, if it is one."""
    if not isinstance(x, Node):
        return float(x)
    return x.graph.value[x.index] if _operation(x) == "constant" else None


def _stripped(x: Scalar) -> tuple[bool, Scalar]:
    """(negative, rest) with x = ± rest."""
    if isinstance(x, Node) and _operation(x) == "negate":
        return True, _operand(x, 0)
    return False, x


def _negate(x: Scalar) -> Scalar:
    if not isinstance(x, Node):
        return -x
    negative, rest = _stripped(x)
    return rest if negative else Node(x.graph, x.graph.make("negate", x.index))


def _add(a: Node, b: Scalar) -> Scalar:
    """a + b with signs pulled out: −a − b = −(a + b), a + (−b) = a − b."""
    if not isinstance(b, Node):
        if not isinstance(b, Number):
            return NotImplemented
        if b == 0:
            return a
    g = a.graph
    minus_a, x = _stripped(a)
    minus_b, y = _stripped(b)
    i, j = g.index(x), g.index(y)
    if minus_a == minus_b:
        total = Node(g, g.make("add", *sorted((i, j))))
        return _negate(total) if minus_a else total
    if i == j:
        return 0.0
    return Node(g, g.make("subtract", j, i) if minus_a else g.make("subtract", i, j))


def _multiply(a: Node, b: Scalar) -> Scalar:
    """a · b with signs pulled out and constants gathered: c (d x) = (c d) x."""
    g = a.graph
    minus_a, a = _stripped(a)
    if not isinstance(b, Node):
        if not isinstance(b, Number):
            return NotImplemented
        factor = -float(b) if minus_a else float(b)
        if factor == 0:
            return 0.0
        if abs(factor) == 1:
            return a if factor > 0 else _negate(a)
        if _operation(a) == "multiply" and (inner := _constant_of(_operand(a, 0))) is not None:
            return _operand(a, 1) * (factor * inner)
        product = _ordered_product(g, g.constant(abs(factor)), a.index)
        return product if factor > 0 else _negate(product)
    minus_b, b = _stripped(b)
    product = _ordered_product(g, a.index, g.index(b))
    return _negate(product) if minus_a != minus_b else product


def _ordered_product(g: Graph, i: int, j: int) -> Node:
    """Operands in order, a constant first."""
    if g.operation[j] == "constant" or (i > j and g.operation[i] != "constant"):
        i, j = j, i
    return Node(g, g.make("multiply", i, j))


def _divide_by_number(a: Node, b: float) -> Scalar:
    """Division by a power of two is exact as a product; any other stays a division."""
    mantissa_is_one = (
        abs(b) > 0 and struct.pack("<d", float(b))[:6] == b"\0" * 6 and (struct.pack("<d", float(b))[6] & 0x0F) == 0
    )
    return a * (1.0 / b) if mantissa_is_one else _divide(a, b)


def _divide(a: Scalar, b: Scalar) -> Scalar:
    g = (a if isinstance(a, Node) else b).graph
    minus_a, x = _stripped(a)
    minus_b, y = _stripped(b)
    quotient = Node(g, g.make("divide", g.index(x), g.index(y)))
    return _negate(quotient) if minus_a != minus_b else quotient


def _binary(operation: str, a: Scalar, b: Scalar) -> Scalar:
    if not isinstance(a, (Node, *Number)) or not isinstance(b, (Node, *Number)):
        return NotImplemented
    g: Graph = (a if isinstance(a, Node) else b).graph  # type: ignore[union-attr]
    return Node(g, g.make(operation, g.index(a), g.index(b)))


def _unary(operation: str, parity: str) -> Callable[[Node], Scalar]:
    """A function of one scalar; odd and even ones pull a sign out."""

    def apply(x: Node) -> Scalar:
        negative, rest = _stripped(x) if parity != "none" else (False, x)
        y = Node(x.graph, x.graph.make(operation, rest.index))
        return _negate(y) if negative and parity == "odd" else y

    return apply


def _where(condition: Node, a: Scalar, b: Scalar) -> Scalar:
    g = condition.graph
    i, j = g.index(a), g.index(b)
    return a if i == j else Node(g, g.make("where", condition.index, i, j))


for _name, _row in OPERATIONS.items():
    if _row.parity is not None:
        getattr(scalar, _name).register(Node)(_unary(_name, _row.parity))
scalar.where.register(Node)(_where)
scalar.arctan2.register(Node)(functions.arctan2)
scalar.tanh.register(Node)(functions.tanh)
