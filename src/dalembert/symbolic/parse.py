"""Formulas as people type them, read into polynomials: `I2 + m2*(r2**2 + l1*r2*cos(q2))`.

Joint angles occur as cos(q1 + q2), sin(2*q1), or in short as c12, s2. Rates are qd1, accelerations qdd1. Nothing is
evaluated by Python: the text is taken apart, and what is no formula is refused.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from dalembert.errors import InputError, unknown
from dalembert.symbolic.polynomial import Angle, NotPolynomialError, Polynomial, Ring, quarter_turns

FUNCTIONS = ("cos", "sin", "sgn")
SHORT = re.compile(r"([cs])((?:[1-9])+)")
_MIDDLE = re.compile(r"[·×]")
LONGEST_POWER = 40
MOST_TERMS = 50_000
LONG = 2000  # characters of a formula that is read term by term

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


def tree(text: str) -> ast.expr:
    """The formula's syntax tree."""
    if not isinstance(text, str):
        raise InputError(f"a formula is text, got {type(text).__name__}")
    try:
        return ast.parse(_MIDDLE.sub("*", text.strip()).replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" near {text[error.offset - 1 :][:12]!r}" if isinstance(error, SyntaxError) and error.offset else ""
        shown = text if len(text) < 80 else text[:60] + "…"
        raise InputError(f"{shown!r} is no formula{where}; write products with *, powers with ** or ^") from None


def summands(text: str) -> list[str]:
    """A long sum cut before its + and − signs outside brackets: Python's own parser descends once per term."""
    parts, depth, start = [], 0, 0
    before = ""
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        exponent = before in "eE" and text[k - 2 : k - 1].isdigit() if before else False
        if c in "+-" and depth == 0 and before and before not in "*/^(+-" and not exponent:
            parts.append(text[start:k])
            start = k
        before = c if not c.isspace() else before
    return [*parts, text[start:]]


class Reader:
    """Reads formulas over one ring; `known` are names for polynomials besides the ring's own (lumped constants)."""

    def __init__(self, ring: Ring, known: Mapping[str, Polynomial] | None = None) -> None:
        self.ring = ring
        self.known = dict(known or {})
        self.angles = {f"q{k + 1}": ring.angle(k) for k in ring.turning}

    def read(self, text: str) -> Polynomial:
        if not isinstance(text, str) or len(text) < LONG:
            return self.value(tree(text))
        total: Polynomial = self.ring.zero
        for part in summands(text):
            total = total + self.value(tree(part))
        return total

    def value(self, node: ast.expr) -> Polynomial:
        """The polynomial that a syntax tree means."""
        try:
            return self.ring.scalar(self._value(node))
        except NotPolynomialError as error:
            raise InputError(f"{ast.unparse(node)!r} is no polynomial: {error}") from None
        except RecursionError:
            raise InputError("the formula is nested too deeply") from None

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | str() | bytes() | complex() | None):
                raise InputError(f"{ast.unparse(node)} is no number of a formula")
            case ast.Constant(value=int() | float() as number):
                if not math.isfinite(number):
                    raise InputError(f"a number of the formula is too large: {number!r}")
                return self.ring.constant(number)
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.ring.scalar(self._value(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._raised(self.ring.scalar(self._value(left)), self._power(right))
            case ast.BinOp(op=operation) if type(operation) in _OPERATIONS:
                return self._chain(node)
            case ast.Call(func=ast.Name(id="cos" | "sin" | "sgn" | "sign" as function), args=[argument], keywords=[]):
                if function in ("sgn", "sign"):
                    return self._sign(argument)
                angle = self._angle(argument)
                return angle.cosine if function == "cos" else angle.sine
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id not in self.ring.symbols and node.func.id not in FUNCTIONS:
                raise unknown("function", node.func.id, FUNCTIONS)
            raise InputError(f"{ast.unparse(node)!r} has no meaning here; is a * missing before the bracket?")
        raise InputError(f"{ast.unparse(node)!r} has no meaning in an equation of motion")

    def _chain(self, node: ast.expr) -> Polynomial:
        """a + b − c ⋯ and a * b / c ⋯, however long: sums lean to the left, and are walked, not descended."""
        rest: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            rest.append(node)
            node = node.left
        total = self.ring.scalar(self._value(node))
        for step in reversed(rest):
            value = self.ring.scalar(self._value(step.right))
            if isinstance(step.op, ast.Div) and not value:
                raise InputError("the formula divides by zero")
            total = self._small(self.ring.scalar(_OPERATIONS[type(step.op)](total, value)))
        return total

    def _raised(self, base: Polynomial, power: int) -> Polynomial:
        total = self.ring.constant(1)
        for _ in range(power):
            total = self._small(total * base)
        return total

    def _small(self, p: Polynomial) -> Polynomial:
        if len(p) > MOST_TERMS:
            raise InputError(f"multiplied out, the formula has more than {MOST_TERMS} terms")
        return p

    def _name(self, name: str) -> Polynomial:
        if name in self.known:
            return self.known[name]
        if name in self.ring.symbols:
            return self.ring[name]
        short = SHORT.fullmatch(name)
        if short and all(f"q{k}" in self.angles for k in short[2]):
            angle = quarter_turns(self.ring, 0)
            for k in short[2]:
                angle = angle + self.angles[f"q{k}"]
            return self.ring.scalar(angle.cosine if short[1] == "c" else angle.sine)
        if name in self.angles:
            raise InputError(f"{name} turns: it enters the equations by sin({name}) and cos({name}) only")
        raise unknown("symbol", name, [*self.ring.names, *self.known])

    def _power(self, node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and 0 <= node.value <= LONGEST_POWER:
            return node.value
        raise InputError(f"the power {ast.unparse(node)!r} must be a whole number from 0 to {LONGEST_POWER}")

    def _sign(self, node: ast.expr) -> Polynomial:
        name = ast.unparse(node).replace("qd", "sgn")
        if name not in self.ring.symbols:
            raise InputError(f"sgn({ast.unparse(node)}) does not occur here; friction=True brings sgn(qd1), …")
        return self.ring[name]

    def _angle(self, node: ast.expr) -> Angle:
        """A sum of whole multiples of joint angles, and of pi/2."""
        match node:
            case ast.Name(id=name) if name in self.angles:
                return self.angles[name]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._angle(left) + self._angle(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self._angle(left) + -self._angle(right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._angle(operand)
            case ast.BinOp(left=ast.Constant(value=int() as count), op=ast.Mult(), right=right) if _is_few(count):
                return self._angle(right) * count
            case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int() as count)) if _is_few(count):
                return self._angle(left) * count
            case ast.Constant(value=0):
                return quarter_turns(self.ring, 0)
        quarters = _quarters_of_pi(node)
        if quarters is not None:
            return quarter_turns(self.ring, quarters)
        raise InputError(
            f"{ast.unparse(node)!r} is no angle of this robot; angles are sums of {', '.join(self.angles) or 'nothing'}"
        )


def _is_few(count: int) -> bool:
    return abs(count) <= LONGEST_POWER


def _quarters_of_pi(node: ast.expr) -> int | None:
    """pi, pi/2, 3*pi/2 as quarter turns."""
    match node:
        case ast.Name(id="pi"):
            return 2
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=2)):
            whole = _quarters_of_pi(left)
            return whole // 2 if whole is not None and whole % 2 == 0 else None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            whole = _quarters_of_pi(operand)
            return -whole if whole is not None else None
        case ast.BinOp(left=ast.Constant(value=int() as k), op=ast.Mult(), right=right):
            whole = _quarters_of_pi(right)
            return k * whole if whole is not None else None
    return None
