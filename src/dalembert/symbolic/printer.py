"""What text and LaTeX have in common: how an expression is taken apart, and where signs and brackets go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dalembert.symbolic.expression import (
    ONE,
    Angle,
    Cosine,
    Expression,
    Name,
    Number,
    Power,
    Product,
    Sign,
    Sine,
    Sum,
    coefficient,
)


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
    def function(self, short: str, head: str, angle: Angle) -> str:
        """The cosine or sine of a sum of joint angles."""

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
            case Cosine(angle):
                return self.function("c", cos, angle)
            case Sine(angle):
                return self.function("s", sin, angle)

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
