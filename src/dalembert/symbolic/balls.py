"""Values of formulas in ball arithmetic: exact where floats lose all digits to cancellation, absorption or underflow.

A ball is a number of many digits and a bound of its error. The number of digits grows until the bound is small.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, arb, ctx, fmpq

from dalembert.errors import InputError
from dalembert.symbolic.nodes import Array, Node

BITS = (256, 2048)  # tried one after the other
ACCURATE = 1e-13  # largest relative error of a value that is returned
TINY = 5e-324  # stands for what is not zero and smaller than any float
SIMPLE = 1000  # largest denominator of an exponent that is taken for a fraction
CONSTANTS = {np.pi: arb.pi, np.e: arb.const_e}
Ball = Any  # arb, or acb in formulas with j
PARTIAL = ("sqrt", "log", "asin", "acos", "atan2", "pow")  # functions that are not defined everywhere
DECIDED = 30  # bits of an argument for which a function without a value has none
FUNCTIONS: dict[str, Callable[..., Ball]] = {"abs": abs, "sign": lambda x: x.sgn(), "sgn": lambda x: x.sgn()}
FUNCTIONS |= {"pow": lambda x, y: x**y, "atan2": arb.atan2}


class UndecidedError(Exception):
    """A value could not be found with this number of digits, though there may be one."""


def value(node: Node, at: int, scale: float) -> float | complex | None:
    """Return the value of a formula at one point, with an error below 1e-13 of itself or of `scale`.

    Where a formula has no real value, its complex one is returned. The value is NaN where there is none at all, and
    None where even the largest number of digits does not decide it. Zero is returned only for what is zero to the last
    of these digits."""
    before = ctx.prec
    try:
        found = _decided(node, at, scale, False)
        if found is not None and np.isnan(found) and not any(n.how[0] == "atan2" for n in node.walk() if n.how):
            return _decided(node, at, scale, True)
        return found
    except RecursionError:
        raise InputError("too-large", "formula", problem="the formula is nested too deeply") from None
    finally:
        ctx.prec = before


def _decided(node: Node, at: int, scale: float, wide: bool) -> float | complex | None:
    parts: tuple[Ball, ...] = ()
    for bits in BITS:
        ctx.prec = bits
        try:
            ball = _ball(node, at, wide)
        except UndecidedError:
            parts = ()
            continue
        parts = (ball.real, ball.imag) if isinstance(ball, acb) else (ball,)
        if _is_nan(ball):
            continue
        middle = [float(part.mid()) or TINY * (not part.contains(0)) for part in parts]
        size = max(abs(complex(*middle)), scale)
        if all(float(part.rad()) <= ACCURATE * size for part in parts):
            return complex(*middle) if len(parts) > 1 else middle[0]
    if any(part.is_nan() for part in parts):
        return np.nan
    return 0.0 if parts and all(part.contains(0) and float(part.rad()) < 1e-100 for part in parts) else None


def values(node: Node) -> Array:
    """Return the values of a formula at all its points; NaN where they are undefined or not decided."""
    found = [value(node, k, 0.0) for k in range(len(node.x))]
    return np.array([np.nan if x is None else x for x in found])


def _ball(node: Node, at: int, wide: bool) -> Ball:
    """The ball of a formula; `wide` in the complex plane."""
    if node.op == "name":
        x = node.x[at]
        return acb(float(x.real), float(x.imag)) if wide or np.iscomplexobj(node.x) else arb(float(x))
    if node.op == "number":
        return _number(node.source, node.how[0])
    x = [_ball(part, at, wide) for part in node.parts]
    total = x[0]
    match node.op:
        case "sum":
            total = total if node.how[0] > 0 else -total
            for sign, part in zip(node.how[1:], x[1:], strict=True):
                total = total + part if sign > 0 else total - part
        case "product":
            for exponent, part in zip(node.how[1:], x[1:], strict=True):
                total = total * part if exponent > 0 else total / part
        case "power":
            n = node.how[0]
            exact = Fraction(n).limit_denominator(SIMPLE)
            exact = exact if float(exact) == n else Fraction(n)
            total **= int(exact) if exact.denominator == 1 else _rational(exact)
        case _:
            name = node.how[0]
            function = FUNCTIONS.get(name)
            total = function(*x) if function else getattr(total, name)()
    if _is_nan(total) and not any(map(_is_nan, x)):
        partial = node.op in ("product", "power") or node.how[0] in PARTIAL
        if not partial or any(part.rel_accuracy_bits() < DECIDED for part in x if part != 0):
            raise UndecidedError
    return total


def _is_nan(x: Ball) -> bool:
    return x.real.is_nan() or x.imag.is_nan() if isinstance(x, acb) else x.is_nan()


def _number(source: ast.expr, x: float | complex) -> Ball:
    if isinstance(source, ast.Constant) and isinstance(source.value, int):  # which may have more digits than a float
        return arb(fmpq(source.value, 1))
    if isinstance(x, complex):
        return acb(x.real, x.imag)
    if abs(x) in CONSTANTS:
        return CONSTANTS[abs(x)]() * (1 if x > 0 else -1)
    return _rational(Fraction(repr(x)))


def _rational(x: Fraction) -> Ball:
    return arb(fmpq(x.numerator, x.denominator))
