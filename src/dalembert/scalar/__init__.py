"""The few functions of a scalar that are not operators, open to every kind of scalar.

An algorithm calls `sin`, `cos`, `sqrt`, `where`, … and never asks what it holds. A new kind of scalar
registers itself beside its own class: `sin.register(Node)(Node.sin)`. Plain numbers are the default.
Comparisons are operators (`a < b`) and give a truth value of the scalar's own kind; `where` takes it.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import numpy as np

Scalar = Any

__all__ = [
    "absolute",
    "arctan2",
    "by_sign",
    "clip",
    "cos",
    "exp",
    "log",
    "maximum",
    "minimum",
    "position",
    "power",
    "sign",
    "sin",
    "sqrt",
    "tanh",
    "where",
]


@singledispatch
def sin(x: Scalar) -> Scalar:
    """Return the sine of x [rad], NaN for an infinite x."""
    return math.sin(x) if math.isfinite(x) else math.nan


@singledispatch
def cos(x: Scalar) -> Scalar:
    """Return the cosine of x [rad], NaN for an infinite x."""
    return math.cos(x) if math.isfinite(x) else math.nan


@singledispatch
def position(x: Scalar) -> Scalar:
    """x where it is no argument of a sine: itself, but for scalars that know an angle by its sine and cosine."""
    return x


@singledispatch
def sqrt(x: Scalar) -> Scalar:
    """Square root; NaN for a negative number, as machine code gives."""
    return math.sqrt(x) if x >= 0 else math.nan


@singledispatch
def absolute(x: Scalar) -> Scalar:
    """Return |x|."""
    return abs(x)


@singledispatch
def exp(x: Scalar) -> Scalar:
    """eˣ; infinite where it is too large for a number."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


@singledispatch
def log(x: Scalar) -> Scalar:
    """The natural logarithm; −∞ at zero, NaN for a negative number, as machine code gives."""
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


@singledispatch
def tanh(x: Scalar) -> Scalar:
    """Return the hyperbolic tangent of x."""
    return math.tanh(x)


@singledispatch
def arctan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y). A plain y goes with an x of any kind."""
    own = arctan2.dispatch(type(x))
    return math.atan2(y, x) if own is arctan2.dispatch(object) else own(y, x)


@singledispatch
def where(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """a where the condition holds, else b: the only way in which a value may choose."""
    return a if condition else b


def minimum(a: Scalar, b: Scalar) -> Scalar:
    """Return the smaller of a and b, or b if one of them is NaN."""
    return where(a < b, a, b)


def maximum(a: Scalar, b: Scalar) -> Scalar:
    """Return the larger of a and b, or b if one of them is NaN."""
    return where(a > b, a, b)


def clip(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """x between two numbers; NaN stays NaN, so that it is noticed. Each choice takes the larger or the smaller of what
    it compares, which proofs of bounds know not to jump."""
    above = where(x < lower, lower, x)
    return where(above > upper, upper, above)


def power(x: Scalar, exponent: float) -> Scalar:
    """x to a positive power that is a plain number, for x ≥ 0. Multiples of one half up to 8 are products and square
    roots; any other goes through exp and log, and loses digits as |exponent · ln x| grows."""
    whole, half = divmod(2.0 * exponent, 2.0)
    if half in (0.0, 1.0) and 0.0 < exponent <= 8.0:
        result: Scalar = sqrt(x) if half else 1.0
        for _ in range(int(whole)):
            result = result * x
        return result
    return where(x > 0.0, exp(exponent * log(x)), where(x <= 0.0, 0.0, math.nan))


def by_sign(x: Scalar, positive: Scalar, negative: Scalar) -> Scalar:
    """One value where x is positive, another where it is negative, zero at zero; NaN stays NaN."""
    return where(x > 0.0, positive, where(x < 0.0, negative, where(x <= 0.0, 0.0, math.nan)))


def sign(x: Scalar) -> Scalar:
    """−1, 0 or 1."""
    return by_sign(x, 1.0, -1.0)


# NumPy arrays are scalars too: the same functions, one element per state, without compiling anything.
for _own, _numpy in (
    (sin, np.sin),
    (cos, np.cos),
    (sqrt, np.sqrt),
    (absolute, np.abs),
    (exp, np.exp),
    (log, np.log),
    (tanh, np.tanh),
    (arctan2, np.arctan2),
    (where, np.where),
):
    _own.register(np.ndarray)(_numpy)
