"""Expressions as plain text: 2*b*c2, or 2*b*cos(q2) for Python and SymPy, or 2 b c₂.

The three styles:

    short    a + 2*b*c2, r1^2          for people; c12 is cos(q1 + q2)
    long     a + 2*b*cos(q2), r1**2    what Python and SymPy read
    unicode  a + 2 b c₂, r₁²           for a terminal
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dalembert.symbolic.collect import split_name
from dalembert.symbolic.decimals import DIGITS, decimal, is_rounded
from dalembert.symbolic.expression import Angle, Expression, Name, Number, Product, Sum, numbers_in
from dalembert.symbolic.greek import GREEK
from dalembert.symbolic.printer import Printer

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
DOTS = {"qd": "q̇", "qdd": "q̈"}


def text(expression: Expression, long: bool = False, unicode: bool = False, digits: int | None = None) -> str:
    """The expression as a line of text. With `digits`, numbers that are not whole are decimals of at most so many."""
    return Style(long, digits, unicode and not long).write(expression)


def equation(
    name: str, expression: Expression, long: bool = False, unicode: bool = False, digits: int | None = None
) -> str:
    """name = expression"""
    left = subscripted(name) if unicode and not long else name
    return f"{left} = {text(expression, long, unicode, digits)}"


def rounded(expression: Expression, digits: int = DIGITS) -> bool:
    """Whether decimals of so many digits show less than the expression holds."""
    return any(is_rounded(x, digits) for x in numbers_in(expression))


@dataclass(frozen=True)
class Style(Printer):
    unicode: bool = False

    @property
    def times(self) -> str:
        return " " if self.unicode else "*"

    def name(self, word: str) -> str:
        return subscripted(word) if self.unicode else word

    def number(self, x: Fraction) -> str:
        if self.digits is not None and x.denominator != 1:
            return decimal(x, self.digits)
        return str(x)

    def power(self, base: Expression, exponent: int) -> str:
        inside = self.factor(base)
        if self.unicode:
            return inside + str(exponent).translate(SUPERSCRIPTS)
        return f"{inside}{'**' if self.long else '^'}{exponent}"

    def function(self, short: str, head: str, angle: Angle) -> str:
        if not self.long and has_short_name(angle):
            joints = "".join(str(joint) for joint, _ in angle)
            return short + (joints.translate(SUBSCRIPTS) if self.unicode else joints)
        return f"{head}({self.write(angle_sum(angle))})"


def has_short_name(angle: Angle) -> bool:
    """Whether c12 can stand for it: each joint counts once, and has one digit."""
    return all(multiple == 1 and joint < 10 for joint, multiple in angle)


def angle_sum(angle: Angle) -> Expression:
    """k·q as an expression."""
    terms = [Name(f"q{joint}") if k == 1 else Product((Number(Fraction(k)), Name(f"q{joint}"))) for joint, k in angle]
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def subscripted(name: str) -> str:
    """m₁, q̇₂, α₁, I₁zz."""
    letters, digits, rest = split_name(name)
    letters = DOTS.get(letters, GREEK.get(letters, (letters, ""))[0])
    return letters + digits.translate(SUBSCRIPTS) + rest
