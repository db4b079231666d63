"""Expressions for print: numbers, names, sums, products, whole powers, sine and cosine of sums of joint angles, sign;
of systems that are no robots also rates of any coordinate, quotients and functions of anything.

Nothing is simplified here. The constructors `total`, `times` and `power` only tidy: nested sums and products become
flat, numbers meet at the front, zeros and ones go. The order of terms and factors stays as it was given.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from dalembert import scalar
from dalembert.scalar import Scalar

Angle = tuple[tuple[int, int], ...]
"""A sum of joint angles: (number of the joint, from 1, and how often it counts). ((1, 1), (2, -1)) is q1 − q2."""


@dataclass(frozen=True, slots=True)
class Number:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Product:
    """The number, if there is one, is the first factor."""

    factors: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Power:
    base: Expression
    exponent: int


@dataclass(frozen=True, slots=True)
class Cosine:
    angle: Angle
    letter: str = "q"


@dataclass(frozen=True, slots=True)
class Sine:
    angle: Angle
    letter: str = "q"


@dataclass(frozen=True, slots=True)
class Sign:
    argument: Expression


@dataclass(frozen=True, slots=True)
class Rate:
    """The velocity (order 1) or acceleration (order 2) of a coordinate of any name."""

    name: str
    order: int


@dataclass(frozen=True, slots=True)
class Quotient:
    above: Expression
    below: Expression


@dataclass(frozen=True, slots=True)
class Function:
    """A function by its usual name: cos, sqrt, exp, …"""

    head: str
    argument: Expression


Expression = Number | Name | Sum | Product | Power | Cosine | Sine | Sign | Rate | Quotient | Function

DIGITS = 6  # significant ones that a decimal is rounded to, if it has more
ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))


def number(x: int | Fraction) -> Number:
    return Number(Fraction(x))


def total(terms: Iterable[Expression]) -> Expression:
    """Their sum. One that does not start with a minus comes first, if there is one."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,)) if part != ZERO]
    if flat and coefficient(flat[0])[0] < 0:
        lead = next((k for k, term in enumerate(flat) if coefficient(term)[0] > 0), 0)
        flat.insert(0, flat.pop(lead))
    if len(flat) < 2:
        return flat[0] if flat else ZERO
    return Sum(tuple(flat))


def times(*factors: Expression) -> Expression:
    """Their product: the number first, neighbors that are equal as a power."""
    value = Fraction(1)
    powers: list[tuple[Expression, int]] = []
    for factor in factors:
        for part in factor.factors if isinstance(factor, Product) else (factor,):
            if isinstance(part, Number):
                value *= part.value
                continue
            base, exponent = (part.base, part.exponent) if isinstance(part, Power) else (part, 1)
            if powers and powers[-1][0] == base:
                powers[-1] = (base, powers[-1][1] + exponent)
            else:
                powers.append((base, exponent))
    if value == 0:
        return ZERO
    parts = [power(base, exponent) for base, exponent in powers]
    if value != 1 or not parts:
        parts.insert(0, Number(value))
    return parts[0] if len(parts) == 1 else Product(tuple(parts))


def power(base: Expression, exponent: int) -> Expression:
    if exponent == 0:
        return ONE
    if isinstance(base, Number):
        return Number(base.value**exponent)
    return base if exponent == 1 else Power(base, exponent)


def negative(expression: Expression) -> Expression:
    return times(number(-1), expression)


def coefficient(expression: Expression) -> tuple[Fraction, Expression]:
    """(number in front, what it multiplies)."""
    if isinstance(expression, Number):
        return expression.value, ONE
    if isinstance(expression, Product) and isinstance(expression.factors[0], Number):
        rest = expression.factors[1:]
        return expression.factors[0].value, rest[0] if len(rest) == 1 else Product(rest)
    if isinstance(expression, Quotient) and coefficient(expression.above)[0] < 0:
        return Fraction(-1), Quotient(negative(expression.above), expression.below)
    return Fraction(1), expression


def children(expression: Expression) -> tuple[Expression, ...]:
    match expression:
        case Sum(parts) | Product(parts):
            return parts
        case Power(part, _) | Sign(part) | Function(_, part):
            return (part,)
        case Quotient(above, below):
            return above, below
    return ()


def size(expression: Expression) -> int:
    """How many symbols a reader has to read; a square is one more than what it squares."""
    below = sum(map(size, children(expression)))
    return max(below, 1) if not isinstance(expression, Power) else below + 1


def terms_of(expression: Expression) -> tuple[Expression, ...]:
    """The summands: of what is no sum, itself; of zero, none."""
    if isinstance(expression, Sum):
        return expression.terms
    return () if expression == ZERO else (expression,)


def names_in(expression: Expression) -> set[str]:
    """The names that occur, those of joint angles with them."""
    match expression:
        case Name(name):
            return {name}
        case Cosine(angle) | Sine(angle):
            return {f"q{joint}" for joint, _ in angle}
    return set().union(*map(names_in, children(expression)))


def numbers_in(expression: Expression) -> set[Fraction]:
    if isinstance(expression, Number):
        return {expression.value}
    return set().union(*map(numbers_in, children(expression)))


def evaluate(
    expression: Expression, values: Mapping[str, Scalar], number: Callable[[Fraction], Scalar] = float
) -> Scalar:
    """The value with a scalar for every name; joint angles are named q1, q2, ….

    Any scalar will do that `dalembert.scalar` knows: floats, arrays, trace nodes, or the angles and polynomials of a
    ring (then with `number=Fraction`, so that nothing is rounded)."""
    known: dict[Expression, Scalar] = {}

    def trigonometric(node: Cosine | Sine) -> Scalar:
        if node not in known:
            summands = [values[f"q{joint}"] if k == 1 else k * values[f"q{joint}"] for joint, k in node.angle]
            known[node] = (scalar.cos if isinstance(node, Cosine) else scalar.sin)(reduce(operator.add, summands))
        return known[node]

    def value(node: Expression) -> Scalar:
        match node:
            case Number(x):
                return number(x)
            case Name(name):
                return scalar.position(values[name])
            case Sum(terms):
                return reduce(operator.add, [value(term) for term in terms])
            case Product(factors):
                return reduce(operator.mul, [value(factor) for factor in factors])
            case Power(base, exponent):
                return reduce(operator.mul, [value(base)] * exponent)
            case Sign(argument):
                return scalar.sign(value(argument))
            case Cosine() | Sine():
                return trigonometric(node)
        raise TypeError(f"{type(node).__name__} has no value over scalars: it is only written")

    return value(expression)


# numbers as text


def decimal(x: Fraction, digits: int = DIGITS) -> str:
    """The decimal of x, rounded to `digits` significant ones: 0.25, 0.333333, -1e-07."""
    if x.denominator == 1 and len(str(abs(x.numerator))) <= 2 * digits:
        return str(x.numerator)
    return f"{float(x):.{digits}g}"


def is_rounded(x: Fraction, digits: int = DIGITS) -> bool:
    """Whether the decimal of x shows less than x."""
    return Fraction(decimal(x, digits)) != x
