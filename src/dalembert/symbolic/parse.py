"""Formulas as people type them, read into polynomials: `I2 + m2*(r2**2 + l1*r2*cos(q2))`.

Joint angles occur as cos(q1 + q2), sin(2*q1), or in short as c12, s2. Rates are qd1, accelerations qdd1. Nothing is
evaluated by Python: the text is taken apart, and what is no formula is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from dalembert.errors import InputError, unknown
from dalembert.symbolic.polynomial import Angle, NotPolynomialError, Polynomial, Ring, quarter_turns

SHORT = re.compile(r"([cs])((?:[1-9])+)")
_MIDDLE = re.compile(r"[·×]")
LONGEST_POWER = 40

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
}


def tree(text: str) -> ast.expr:
    """The formula's syntax tree."""
    try:
        return ast.parse(_MIDDLE.sub("*", text.strip()).replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" near {text[error.offset - 1 :][:12]!r}" if isinstance(error, SyntaxError) and error.offset else ""
        raise InputError(f"{text!r} is no formula{where}; write products with *, powers with ** or ^") from None


class Reader:
    """Reads formulas over one ring; `known` are names for polynomials besides the ring's own (lumped constants)."""

    def __init__(self, ring: Ring, known: Mapping[str, Polynomial] | None = None) -> None:
        self.ring = ring
        self.known = dict(known or {})
        self.angles = {
            f"q{k}": Angle(ring, ring[names[1]], ring[names[0]])
            for k, names in enumerate(ring.joints, 1)
            if len(names) == 2
        }

    def read(self, text: str) -> Polynomial:
        return self.value(tree(text))

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
                return self.ring.constant(number)
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.ring.scalar(self._value(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.ring.scalar(self._value(left)) ** self._power(right)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                a, b = self.ring.scalar(self._value(left)), self.ring.scalar(self._value(right))
                if isinstance(operation, ast.Div) and not b:
                    raise InputError(f"{ast.unparse(node)!r} divides by zero")
                return _OPERATIONS[type(operation)](a, b)
            case ast.Call(func=ast.Name(id="cos" | "sin" | "sgn" | "sign" as function), args=[argument], keywords=[]):
                if function in ("sgn", "sign"):
                    return self._sign(argument)
                angle = self._angle(argument)
                return angle.cosine if function == "cos" else angle.sine
        raise InputError(f"{ast.unparse(node)!r} has no meaning in an equation of motion")

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
            case ast.BinOp(left=ast.Constant(value=int() as count), op=ast.Mult(), right=right):
                return self._angle(right) * count
            case ast.Constant(value=0):
                return quarter_turns(self.ring, 0)
        quarters = _quarters_of_pi(node)
        if quarters is not None:
            return quarter_turns(self.ring, quarters)
        raise InputError(
            f"{ast.unparse(node)!r} is no angle of this robot; angles are sums of {', '.join(self.angles) or 'nothing'}"
        )


def _quarters_of_pi(node: ast.expr) -> int | None:
    """pi, pi/2, 3*pi/2 as quarter turns."""
    match node:
        case ast.Name(id="pi"):
            return 2
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=2)):
            whole = _quarters_of_pi(left)
            return whole // 2 if whole is not None else None
        case ast.BinOp(left=ast.Constant(value=int() as k), op=ast.Mult(), right=right):
            whole = _quarters_of_pi(right)
            return k * whole if whole is not None else None
    return None
