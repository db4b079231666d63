r"""Formulas as people write them: plain text, blackboard text, Unicode, LaTeX. All become one kind of syntax tree.

    m2*l1*r2*cos(q2)    m2 l1 r2 c2    m₂l₁r₂c₂    m_2 l_1 r_2 \cos q_2    m_{2} l_{1} r_{2} c_{2}

A tree is Python's `ast`, restricted to Constant, Name, UnaryOp, BinOp, Call of the FUNCTIONS, and List for vectors and
for the rows of matrices. Names come out in one spelling: theta2, qd1 (the rate of q1), lc2, I2zz, c12. Nothing is
evaluated by Python. What can be read in two ways is refused with both, and what is no formula with the place.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dalembert import scalar
from dalembert.errors import InputError, unknown
from dalembert.symbolic import latex
from dalembert.symbolic.parser import Parser
from dalembert.symbolic.text import SUPERSCRIPTS, subscripted
from dalembert.symbolic.tokens import ANGLE, Lexer, Token

MOST_BITS = 4096  # of a whole number
SHORT = re.compile(r"([cs])([1-9]+)")  # c12 = cos(q1 + q2)


def read_formula(text: str, names: Collection[str] = ()) -> ast.expr:
    """The tree of a formula; of an equation (M12 = …) its right side. `names` are those that may occur: with their help
    names that run together are told apart (mgl, 2bc12)."""
    return read_equation(text, names)[1]


def read_equation(text: str, names: Collection[str] = ()) -> tuple[str, ast.expr]:
    """(the name on the left, "" if there is none; the tree of the right side). Of … = τ1 the name is that on the
    right; M12 = M21 = … has the name "M12 = M21". Of an equation with a name on neither side, m ẍ = f − k x, the name
    is "0" and the tree left − right."""
    try:
        return _read(Lexer(text, names))
    except RecursionError:
        raise InputError("too-large", "formula", problem="the formula is nested too deeply") from None


def _read(lexer: Lexer) -> tuple[str, ast.expr]:
    *tokens, end = lexer.out
    sides: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "=":
            sides.append([])
        else:
            sides[-1].append(token)
    for side in sides:
        while side and side[-1].kind in (",", ";"):
            side.pop()
        if not side:
            raise InputError(
                "syntax",
                "formula",
                problem="one side of the equation is empty" if len(sides) > 1 else "the formula is empty",
            )
    if len(sides) == 2 and not _left(sides[0]) and _left(sides[1]):
        sides.reverse()
    lefts = [_left(side) for side in sides[:-1]]
    if not all(lefts):
        if len(sides) > 2:
            remedy = "Or write the required quantity alone before =, as in M12 = …."
            raise InputError("syntax", "formula", problem="an equation must have two sides", remedy=remedy)
        first, second = (Parser([*side, end], lexer).formula() for side in sides)
        return "0", ast.copy_location(ast.BinOp(first, ast.Sub(), second), first)
    return " = ".join(lefts), Parser([*sides[-1], end], lexer).formula()


def _left(side: list[Token]) -> str:
    """The name that a side is: M12, M12(q), det(J), |J|."""
    words = [t.text for t in side if t.kind == "name"]
    if side[0].kind == "|" == side[-1].kind or words[:1] in (["det"], ["detJ"]):
        return "det"
    if side[0].kind != "name" or any(t.kind not in ("name", "(", ")", ",") for t in side):
        return ""
    arguments = all(ANGLE.fullmatch(w) or w in ("Theta", "t", "s") for w in words[1:])
    return words[0] if arguments and (len(side) == 1 or side[1].kind == "(") else ""


# Values.

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_VALUES: dict[str, Callable[..., Any]] = {"sin": scalar.sin, "cos": scalar.cos}
_VALUES |= {"tan": lambda x: scalar.sin(x) / scalar.cos(x)}
_VALUES |= {"asin": lambda x: scalar.arctan2(x, scalar.sqrt(1.0 - x * x))}
_VALUES |= {"acos": lambda x: scalar.arctan2(scalar.sqrt(1.0 - x * x), x), "atan": lambda x: scalar.arctan2(x, 1.0)}
_VALUES |= {"atan2": scalar.arctan2, "sqrt": scalar.sqrt, "exp": scalar.exp, "log": scalar.log, "abs": scalar.absolute}
_VALUES |= {"sgn": scalar.sign}


def evaluate(tree: ast.expr, values: Mapping[str, Any]) -> Any:
    """The value of a formula, of a vector a list, of a matrix a list of rows; `values` are numbers, arrays, or any
    scalars. c12 and s12 need q1 and q2 alone."""
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return _value(name, values)
        case ast.UnaryOp(operand=operand):
            return _apply(operator.neg, evaluate(operand, values))
        case ast.List(elts=items):
            return [evaluate(item, values) for item in items]
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _apply(_VALUES[name], *(evaluate(x, values) for x in arguments))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _apply(_raise, evaluate(left, values), evaluate(right, values))
        case ast.BinOp():
            rest: list[ast.BinOp] = []
            node: ast.expr = tree
            while isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:  # sums lean to the left
                rest.append(node)
                node = node.left
            total = evaluate(node, values)
            for step in reversed(rest):
                total = _apply(_OPERATIONS[type(step.op)], total, evaluate(step.right, values))
            return total
    raise InputError("syntax", "formula", problem="this is not a formula")


def _apply(operation: Callable[..., Any], *x: Any) -> Any:
    """Return the result of one operation; raise an InputError if its numbers or their sizes do not allow it."""
    if any(isinstance(y, list) for y in x):
        problem = "a vector or matrix is where a number should be"
        raise InputError("wrong-shape", "formula", problem=problem, remedy="Write the result.")
    try:
        return operation(*x)
    except ZeroDivisionError:
        raise InputError("out-of-range", "formula", problem="the formula divides by zero") from None
    except OverflowError:
        raise InputError("too-large", "formula", problem="a number in the formula is too large") from None


def _value(name: str, values: Mapping[str, Any]) -> Any:
    if name in values:
        return values[name]
    if name == "pi":
        return math.pi
    if found := SHORT.fullmatch(name):
        for letter in ("q", "theta"):
            if all(f"{letter}{k}" in values for k in found[2]):
                first, *others = (values[f"{letter}{k}"] for k in found[2])
                return (scalar.cos if found[1] == "c" else scalar.sin)(sum(others, start=first))
    raise unknown("symbol", name, tuple(values))


def _raise(base: Any, power: Any) -> Any:
    if isinstance(power, float) and power.is_integer() and abs(power) <= 64:
        power = int(power)
    if isinstance(power, int) and abs(power) <= 64:
        if isinstance(base, int) and base.bit_length() * abs(power) > MOST_BITS:
            raise InputError("too-large", "formula", problem="a power in the formula is too large")
        total: Any = 1
        for _ in range(abs(power)):
            total = total * base
        return total if power >= 0 else 1 / total
    return scalar.sqrt(base) if power == 0.5 else scalar.exp(power * scalar.log(base))


# Writing.

FORMS = ("text", "python", "unicode", "latex")
_SUM, _TERM, _POWER, _ATOM = range(4)
_TEX = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}


def write_formula(tree: ast.expr, form: str = "text") -> str:
    """The formula as "text" (r1^2), "python" (r1**2), "unicode" (r₁²) or "latex" (r_{1}^{2}): each is read as the same
    tree again."""
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    return _write(tree, form)[0]


def _write(tree: ast.expr, form: str) -> tuple[str, int]:
    """(text, how tightly it binds)."""
    match tree:
        case ast.Constant(value=value):
            return repr(value), _ATOM
        case ast.Name(id=name):
            return (subscripted(name) if form == "unicode" else latex.name(name) if form == "latex" else name), _ATOM
        case ast.UnaryOp(operand=operand):
            return f"-{_inside(operand, form, _TERM)}", _SUM
        case ast.List(elts=items):
            return _write_list(items, form), _ATOM
        case ast.Call(func=ast.Name(id=name), args=arguments):
            inside = ", ".join(_write(x, form)[0] for x in arguments)
            if form != "latex":
                return f"{name}({inside})", _ATOM
            if name == "sqrt":
                return f"\\sqrt{{{inside}}}", _ATOM
            head = f"\\operatorname{{{name}}}" if name in ("atan2", "abs", "sgn") else f"\\{_TEX.get(name, name)}"
            return f"{head}\\left({inside}\\right)", _ATOM
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, exponent = _inside(left, form, _ATOM), _write(right, form)[0]
            if isinstance(left, ast.Name) and left.id == "e":
                base = _bracketed(base, form)
            if form == "latex":
                return f"{base}^{{{exponent}}}", _POWER
            if form == "unicode" and exponent.isdigit():
                return base + exponent.translate(SUPERSCRIPTS), _POWER
            return f"{base}{'**' if form == 'python' else '^'}{_inside(right, form, _ATOM)}", _POWER
        case ast.BinOp(op=ast.Div(), left=left, right=right) if form == "latex":
            return f"\\frac{{{_write(left, form)[0]}}}{{{_write(right, form)[0]}}}", _ATOM
    assert isinstance(tree, ast.BinOp)
    sums = isinstance(tree.op, ast.Add | ast.Sub)
    chain, node = [], tree.left
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) is sums and _chains(node, form):
        chain.append(node)
        node = node.left
    parts = [_inside(node, form, _SUM if sums and isinstance(node, ast.UnaryOp) else _TERM)]
    for step in (*reversed(chain), tree):
        parts.append(_write_step(step, form, parts[-1]))
    return "".join(parts), _SUM if sums else _TERM


def _chains(node: ast.BinOp, form: str) -> bool:
    return not isinstance(node.op, ast.Pow) and (form != "latex" or not isinstance(node.op, ast.Div))


def _write_step(step: ast.BinOp, form: str, before: str) -> str:
    """The sign and right side of one step of a chain."""
    if isinstance(step.op, ast.Add | ast.Sub):
        return f" {'+' if isinstance(step.op, ast.Add) else '-'} {_inside(step.right, form, _TERM)}"
    right = _inside(step.right, form, _POWER)
    if isinstance(step.op, ast.Div):
        return f"/{right}"
    if form in ("text", "python"):
        return f"*{right}"
    plain = right[0].isdigit() or "/" in before or re.search(r"(^|\W)[csCS]$", before) or right[0] in "([|"
    return (" · " if form == "unicode" else " \\cdot ") + right if plain else f" {right}"


def _write_list(items: list[ast.expr], form: str) -> str:
    rows = [[_write(x, form)[0] for x in row.elts] for row in items if isinstance(row, ast.List)]
    if len(rows) != len(items):
        inside = ", ".join(_write(x, form)[0] for x in items)
        return f"\\left[{inside}\\right]" if form == "latex" else f"[{inside}]"
    if form == "latex":
        body = " \\\\ ".join(" & ".join(row) for row in rows)
        return f"\\begin{{bmatrix}} {body} \\end{{bmatrix}}"
    return f"[{', '.join('[' + ', '.join(row) + ']' for row in rows)}]"


def _inside(tree: ast.expr, form: str, least: int) -> str:
    written, tightness = _write(tree, form)
    return written if tightness >= least else _bracketed(written, form)


def _bracketed(written: str, form: str) -> str:
    return f"\\left({written}\\right)" if form == "latex" else f"({written})"
