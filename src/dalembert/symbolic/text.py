"""How an expression is taken apart to be written, in any style; and as plain text: 2*b*c2, or 2*b*cos(q2) for Python
and SymPy, or 2 b c₂.

The three styles:

    short    a + 2*b*c2, r1^2          for people; c12 is cos(q1 + q2)
    long     a + 2*b*cos(q2), r1**2    what Python and SymPy read
    unicode  a + 2 b c₂, r₁²           for a terminal
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalembert.symbolic.collect import split_name
from dalembert.symbolic.expression import (
    DIGITS,
    ONE,
    Angle,
    Cosine,
    Expression,
    Function,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    Rate,
    Sign,
    Sine,
    Sum,
    coefficient,
    decimal,
    is_rounded,
    numbers_in,
    times,
)

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
HALVES = {Fraction(1, 2): "½", Fraction(1, 4): "¼", Fraction(3, 4): "¾"}
DOTS = {"qd": "q̇", "qdd": "q̈", "vd": "v̇", "thetad": "θ̇", "thetadd": "θ̈"}
# Names of Greek letters: {name: (character, LaTeX)}.
_SMALL = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
_CHARACTERS = "αβγδεζηθικλμνξπρστφχψω"
_CAPITAL = {"Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Omega": "Ω"}

GREEK = {name: (letter, f"\\{name}") for name, letter in zip(_SMALL.split(), _CHARACTERS, strict=True)}
GREEK |= {name: (letter, f"\\{name}") for name, letter in _CAPITAL.items()}


@dataclass(frozen=True)
class Printer(ABC):
    """A style of writing; what differs between styles is left to them."""

    long: bool
    digits: int | None

    brackets: ClassVar[tuple[str, str]] = ("(", ")")
    heads: ClassVar[tuple[str, str, str]] = ("cos", "sin", "sign")

    @abstractmethod
    def number(self, x: Fraction) -> str:
        """A number that is not negative."""

    @abstractmethod
    def name(self, word: str) -> str:
        """A symbol."""

    @abstractmethod
    def power(self, base: Expression, exponent: int) -> str:
        """A whole power."""

    @abstractmethod
    def function(self, short: str, head: str, angle: Angle, letter: str) -> str:
        """The cosine or sine of a sum of joint angles."""

    @abstractmethod
    def rate(self, coordinate: str, order: int) -> str:
        """The velocity or acceleration of a coordinate."""

    def quotient(self, above: Expression, below: Expression) -> str:
        inside = self.write(below)
        one = isinstance(below, Name | Number | Cosine | Sine | Rate | Power | Function)
        return f"{self.factor(above) if isinstance(above, Sum) else self.write(above)}/" + (
            inside if one else self.bracketed(inside)
        )

    def call(self, head: str, argument: Expression) -> str:
        return head + self.bracketed(self.write(argument))

    @property
    def times(self) -> str:
        return " "

    def bracketed(self, inside: str) -> str:
        return inside.join(self.brackets)

    def write(self, expression: Expression) -> str:
        cos, sin, sign = self.heads
        match expression:
            case Number(x):
                return ("-" if x < 0 else "") + self.number(abs(x))
            case Name(word):
                return self.name(word)
            case Sum(terms):
                return "".join(self.term(term, k == 0) for k, term in enumerate(terms))
            case Product():
                return self.term(expression, first=True)
            case Power(base, exponent):
                return self.power(base, exponent)
            case Sign(argument):
                return sign + self.bracketed(self.write(argument))
            case Cosine(angle, letter):
                return self.function("c", cos, angle, letter)
            case Sine(angle, letter):
                return self.function("s", sin, angle, letter)
            case Rate(coordinate, order):
                return self.rate(coordinate, order)
            case Quotient(above, below):
                return self.quotient(above, below)
            case Function(head, argument):
                return self.call(head, argument)

    def term(self, term: Expression, first: bool) -> str:
        """A summand with its sign."""
        c, rest = coefficient(term)
        sign = ("-" if c < 0 else "") if first else (" - " if c < 0 else " + ")
        factors = rest.factors if isinstance(rest, Product) else (rest,)
        parts = [] if rest == ONE else [self.factor(factor) for factor in factors]
        if abs(c) != 1 or not parts:
            parts.insert(0, self.number(abs(c)))
        return sign + self.times.join(parts)

    def factor(self, factor: Expression) -> str:
        written = self.write(factor)
        return self.bracketed(written) if isinstance(factor, Sum | Product) else written


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

    def rate(self, coordinate: str, order: int) -> str:
        letters, digits, rest = split_name(coordinate)
        if self.unicode:
            return (
                GREEK.get(letters, (letters, ""))[0] + "\u0307\u0308"[order - 1] + digits.translate(SUBSCRIPTS) + rest
            )
        return letters + "d" * order + digits + rest

    def number(self, x: Fraction) -> str:
        if self.digits is not None and x.denominator != 1:
            return decimal(x, self.digits)
        return HALVES.get(x, str(x)) if self.unicode else str(x)

    def power(self, base: Expression, exponent: int) -> str:
        inside = self.factor(base)
        if self.unicode:
            return inside + str(exponent).translate(SUPERSCRIPTS)
        return f"{inside}{'**' if self.long else '^'}{exponent}"

    def function(self, short: str, head: str, angle: Angle, letter: str) -> str:
        if not self.long and has_short_name(angle):
            joints = "".join(str(joint) for joint, _ in angle)
            return short + (joints.translate(SUBSCRIPTS) if self.unicode else joints)
        return f"{head}({self.write(angle_sum(angle, letter))})"


def has_short_name(angle: Angle) -> bool:
    """Whether c12 can stand for it: each joint counts once, and has one digit."""
    return all(multiple == 1 and joint < 10 for joint, multiple in angle)


def angle_sum(angle: Angle, letter: str = "q") -> Expression:
    """k·q as an expression."""
    terms = [times(Number(Fraction(k)), Name(f"{letter}{joint}")) for joint, k in angle]
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def subscripted(name: str) -> str:
    """m₁, q̇₂, α₁, I₁zz."""
    letters, digits, rest = split_name(name)
    letters = DOTS.get(letters, GREEK.get(letters, (letters, ""))[0])
    return letters + digits.translate(SUBSCRIPTS) + rest
