"""Rational numbers as text: fractions, or decimals of so many digits."""

from __future__ import annotations

from fractions import Fraction

DIGITS = 6
"""Significant digits that a decimal is rounded to, if it has more."""


def decimal(x: Fraction, digits: int = DIGITS) -> str:
    """The decimal of x, rounded to `digits` significant ones: 0.25, 0.333333, -1e-07."""
    if x.denominator == 1 and len(str(abs(x.numerator))) <= 2 * digits:
        return str(x.numerator)
    return f"{float(x):.{digits}g}"


def is_rounded(x: Fraction, digits: int = DIGITS) -> bool:
    """Whether the decimal of x shows less than x."""
    return Fraction(decimal(x, digits)) != x
