"""Arithmetic that Python 3.11 does not have: the fused multiply–add."""

from __future__ import annotations

import math
from fractions import Fraction


def fma(a: float, b: float, c: float) -> float:
    """a · b + c rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c  # whatever the product, which a·b + c would round to infinity if it is large
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:  # a fraction has no signed zero
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
