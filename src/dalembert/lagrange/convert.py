"""SymPy expression → any scalar: one row per SymPy head.

With trace nodes this makes kernels; with floats it evaluates. Equal subexpressions are converted once, and the graph
shares whatever is equal after that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from dalembert import scalar
from dalembert.errors import InputError
from dalembert.scalar import Scalar

Expression = Any
Convert = Callable[[Any], Scalar]


def _product(e: Expression, of: Convert) -> Scalar:
    """Negative powers are divided by, once, not multiplied as reciprocals."""
    above: Scalar = 1.0
    below: Scalar = 1.0
    for x in e.args:
        if x.is_Pow and x.exp.is_Rational and x.exp < 0:
            below = below * of(x.base ** (-x.exp))
        else:
            above = above * of(x)
    return above if isinstance(below, float) and below == 1.0 else above / below


def _power(e: Expression, of: Convert) -> Scalar:
    """Whole powers by squaring, halves of odd numbers through the square root."""
    exponent = e.exp
    if exponent.is_Float and float(2 * exponent).is_integer():  # x**2.0 is x²
        exponent = (2 * exponent).round() / 2
    if not exponent.is_Rational or exponent.q > 2:
        raise InputError(
            f"{e} cannot be computed: the compiler has whole and half powers only, not the exponent {exponent}"
        )
    base = of(e.base) if exponent.q == 1 else scalar.sqrt(of(e.base))
    power = _whole_power(base, abs(int(exponent.p)))
    return power if exponent > 0 else 1.0 / power


def _whole_power(base: Scalar, k: int) -> Scalar:
    if k == 1:
        return base
    half = _whole_power(base, k // 2)
    return half * half * base if k % 2 else half * half


def _piecewise(e: Expression, of: Convert) -> Scalar:
    """Its first branch whose condition holds; NaN where none does."""
    result: Scalar = math.nan
    for value, condition in reversed(e.args):
        result = of(value) if condition == True else scalar.where(of(condition), of(value), result)  # noqa: E712
    return result


def _step(e: Expression, of: Convert) -> Scalar:
    x = of(e.args[0])
    return scalar.where(x > 0.0, 1.0, scalar.where(x < 0.0, 0.0, of(e.args[1])))


# What each head means. The names are those of SymPy's classes.
HEADS: dict[str, Callable[[Expression, Convert], Scalar]] = {
    "Add": lambda e, of: reduce(lambda a, b: a + b, map(of, e.args)),
    "Mul": _product,
    "Pow": _power,
    "sin": lambda e, of: scalar.sin(of(e.args[0])),
    "cos": lambda e, of: scalar.cos(of(e.args[0])),
    "tan": lambda e, of: scalar.sin(of(e.args[0])) / scalar.cos(of(e.args[0])),
    "cot": lambda e, of: scalar.cos(of(e.args[0])) / scalar.sin(of(e.args[0])),
    "sec": lambda e, of: 1.0 / scalar.cos(of(e.args[0])),
    "csc": lambda e, of: 1.0 / scalar.sin(of(e.args[0])),
    "Abs": lambda e, of: scalar.absolute(of(e.args[0])),
    "sign": lambda e, of: scalar.sign(of(e.args[0])),
    "Min": lambda e, of: reduce(scalar.minimum, map(of, e.args)),
    "Max": lambda e, of: reduce(scalar.maximum, map(of, e.args)),
    "Heaviside": _step,
    "Piecewise": _piecewise,
    "StrictLessThan": lambda e, of: of(e.lhs) < of(e.rhs),
    "LessThan": lambda e, of: of(e.lhs) <= of(e.rhs),
    "StrictGreaterThan": lambda e, of: of(e.lhs) > of(e.rhs),
    "GreaterThan": lambda e, of: of(e.lhs) >= of(e.rhs),
}


def converter(values: Mapping[Any, Scalar]) -> Convert:
    """The function that turns expressions into scalars, symbols being replaced by `values`."""
    memo: dict[Any, Scalar] = dict(values)

    def of(e: Expression) -> Scalar:
        known = memo.get(e)
        if known is None:
            known = memo[e] = _converted(e, of)
        return known

    return of


def _converted(e: Expression, of: Convert) -> Scalar:
    if e.is_Symbol:
        raise InputError(f"the symbol {e} has no value: it is neither a coordinate nor a parameter with a number")
    if e.is_number:
        return _number(e)
    head = type(e).__name__
    if head not in HEADS:
        function = "derivative of an unknown function" if head in ("Derivative", "Subs") else str(e.func)
        raise InputError(f"{e} cannot be computed: the compiler has no {function}; it knows {', '.join(sorted(HEADS))}")
    return HEADS[head](e, of)


def _number(e: Expression) -> float:
    try:
        x = float(e)
    except TypeError:
        x = math.nan
    if not math.isfinite(x):
        raise InputError(f"{e} is not a finite real number")
    return x
