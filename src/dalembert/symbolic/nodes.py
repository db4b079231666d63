"""A formula as sums of products with its values at many points at once: what comparing and naming slips work on.

Sums and products are flat: a − b + c is one sum of three parts with signs, a b/c one product of three parts with
exponents. Every node carries its values at P points, and a bound of the sizes that met in it, of which rounding is a
small part: |error| ≤ size · 1e-16 · (a few per operation).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, unknown

Array = NDArray[Any]  # float64, or complex128 where a formula has j
Values = Mapping[str, Array]
SHORT = re.compile(r"([cs])([1-9]+)")
FUNCTIONS: dict[str, Callable[..., Array]] = {"sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin}
FUNCTIONS |= {"acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sqrt": np.sqrt, "exp": np.exp, "log": np.log}
FUNCTIONS |= {"abs": np.abs, "sgn": np.sign, "sign": np.sign}
SLOPES: dict[str, Callable[[Array, Array], Any]] = {  # |df/dx| where it is not about one, of x and f
    "tan": lambda x, y: 1 + abs(y) ** 2,
    "asin": lambda x, y: 1 / np.sqrt(abs(1 - x * x)),
    "acos": lambda x, y: 1 / np.sqrt(abs(1 - x * x)),
    "sqrt": lambda x, y: 1 / abs(y),
    "exp": lambda x, y: abs(y),
    "log": lambda x, y: 1 / abs(x),
    "sgn": lambda x, y: 0.0,
    "sign": lambda x, y: 0.0,
    "pow": lambda x, y: abs(y) * (1 + 1 / abs(x)),
}
EXACT = 2.0**53  # whole numbers below are exact as floats
CONSTANTS = {"pi": np.pi, "e": np.e, "j": 1j}


@dataclass(eq=False)
class Node:
    """op and what `how` is then: "number" (the value,), "name" (the name,), "sum" signs, "product" exponents ±1,
    "power" (the exponent,), "call" (the function,). `source` is where it came from."""

    op: str
    how: tuple[Any, ...]
    parts: tuple[Node, ...]
    source: ast.expr
    x: Array = field(default_factory=lambda: np.zeros(0), repr=False)
    size: Array = field(default_factory=lambda: np.zeros(0), repr=False)

    def walk(self) -> Iterator[Node]:
        yield self
        for part in self.parts:
            yield from part.walk()


def build(tree: ast.expr, values: Values) -> Node:
    """The nodes of a formula that is no matrix, with their values."""
    try:
        with np.errstate(all="ignore"):
            return _built(tree, values)
    except RecursionError:
        raise InputError("too-large", "formula", problem="the formula is nested too deeply") from None


def _built(tree: ast.expr, values: Values) -> Node:
    match tree:
        case ast.Constant(value=bool() | str() | bytes() | None):
            raise InputError("syntax", "formula", problem=f"{ast.unparse(tree)} is not a number of a formula")
        case ast.Constant(value=int() | float() as number):
            if not np.isfinite(float(number)):
                raise InputError("too-large", "formula", problem=f"a number of the formula is too large: {number!r}")
            return evaluate(Node("number", (float(number),), (), tree), values)
        case ast.Name(id=name):
            return _name(tree, name, values)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            part = _built(operand, values)
            if part.op == "number" and abs(part.how[0]) < EXACT:
                return evaluate(Node("number", (-part.how[0],), (), tree), values)
            return evaluate(Node("sum", (-1,), (part,), tree), values)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _built(operand, values)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return _chain(tree, values, "sum", (ast.Add, ast.Sub))
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            return _chain(tree, values, "product", (ast.Mult, ast.Div))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, exponent = _built(left, values), _built(right, values)
            if exponent.op == "number" and np.isrealobj(exponent.x) and abs(exponent.how[0]) < EXACT:
                return evaluate(Node("power", exponent.how, (base,), tree), values)
            constant = not any(n.op in ("name", "call") for n in exponent.walk()) and np.isrealobj(exponent.x)
            if (
                constant and 0 < exponent.size.flat[0] <= 100 * abs(exponent.x.flat[0]) < 1e300
            ):  # 3/2, -1/2, no cancellation
                return evaluate(Node("power", (float(exponent.x.flat[0].real),), (base,), tree), values)
            return evaluate(Node("call", ("pow",), (base, exponent), tree), values)
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]):
            if function not in FUNCTIONS:
                if function in values:
                    problem = f"{ast.unparse(tree)!r} has no meaning here; perhaps a * is missing before the bracket"
                    raise InputError("syntax", "formula", problem=problem)
                raise unknown("function", function, FUNCTIONS)
            if len(arguments) != 1 + (function == "atan2"):
                problem = f"{ast.unparse(tree)!r} has no meaning here: {function} of {len(arguments)} arguments"
                raise InputError("syntax", "formula", problem=problem)
            parts = tuple(_built(a, values) for a in arguments)
            return evaluate(Node("call", (function,), parts, tree), values)
        case ast.List():
            raise InputError("wrong-shape", "formula", problem="a matrix is where a single formula is required")
    raise InputError("syntax", "formula", problem=f"{ast.unparse(tree)!r} has no meaning in a formula")


def _name(tree: ast.expr, name: str, values: Values) -> Node:
    if name in values:
        return evaluate(Node("name", (name,), (), tree), values)
    short = SHORT.fullmatch(name)
    if short and all(f"q{k}" in values for k in short[2]):
        angles = tuple(evaluate(Node("name", (f"q{k}",), (), tree), values) for k in short[2])
        angle = angles[0] if len(angles) == 1 else evaluate(Node("sum", (1,) * len(angles), angles, tree), values)
        return evaluate(Node("call", ("cos" if short[1] == "c" else "sin",), (angle,), tree), values)
    if name in CONSTANTS:
        return evaluate(Node("number", (CONSTANTS[name],), (), tree), values)
    raise unknown("symbol", name, [*values])


def _chain(tree: ast.expr, values: Values, op: str, kinds: tuple[type[ast.operator], ...]) -> Node:
    """A sum or product however long: it leans to the left, and is walked, not descended. Sums in sums are not
    flattened (a − (b + c) is a place of its own); the value is the same."""
    steps: list[ast.BinOp] = []
    node = tree
    while isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
        steps.append(node)
        node = node.left
    parts, how = [_built(node, values)], [1]
    for step in reversed(steps):
        parts.append(_built(step.right, values))
        how.append(1 if isinstance(step.op, kinds[0]) else -1)
    return evaluate(Node(op, tuple(how), tuple(parts), tree), values)


def replaced(tree: ast.expr, change: Callable[[str], ast.expr | None]) -> ast.expr:
    """The tree with formulas for some of its names."""
    match tree:
        case ast.Name(id=name):
            return change(name) or tree
        case ast.UnaryOp(op=op, operand=x):
            return ast.UnaryOp(op, replaced(x, change))
        case ast.BinOp(left=a, op=op, right=b):
            return ast.BinOp(replaced(a, change), op, replaced(b, change))
        case ast.Call(func=function, args=arguments):
            return ast.Call(function, [replaced(x, change) for x in arguments], [])
        case ast.List(elts=items):
            return ast.List([replaced(x, change) for x in items])
    return tree


def evaluate(node: Node, values: Values) -> Node:
    """The node with its values and sizes, from those of its parts."""
    x, size = [p.x for p in node.parts], [p.size for p in node.parts]
    if node.op == "number":
        node.x = node.how[0] * np.ones(len(next(iter(values.values()))) if values else 1)
    elif node.op == "name":
        node.x = values[node.how[0]]
    else:
        node.x = apply(node, x)
    match node.op:
        case "sum":
            node.size = np.sum(size, 0)
        case "product":
            node.size = np.prod([b if e > 0 else b / abs(p) ** 2 for e, p, b in zip(node.how, x, size, strict=True)], 0)
        case "power":
            node.size = abs(node.x) * (size[0] / abs(x[0])) ** max(abs(node.how[0]), 1.0)
        case "call":
            slope = SLOPES.get(node.how[0])
            node.size = abs(node.x) + np.sum(size, 0) * (slope(x[0], node.x) if slope else 1.0)
        case _:
            node.size = abs(node.x)
    return node


def apply(node: Node, x: Sequence[Array]) -> Array:
    """The values of a sum, product, power or call whose parts have these, arrays (…, P)."""
    if node.op == "sum":
        total: Array = sum(s * p for s, p in zip(node.how, x, strict=True))
        return total
    if node.op == "product":
        result = x[0] if node.how[0] > 0 else 1 / x[0]
        for e, p in zip(node.how[1:], x[1:], strict=True):
            result = result * p if e > 0 else result / p
        return result
    if node.op == "power":
        n = node.how[0]
        return x[0] ** (int(n) if abs(n) < 100 and n == int(n) else n)
    if node.how[0] == "atan2" and any(map(np.iscomplexobj, x)):
        raise InputError("wrong-type", "formula", problem="atan2 needs real arguments")
    return x[0] ** x[1] if node.how[0] == "pow" else FUNCTIONS[node.how[0]](*x)
