"""A scalar that moves: its value x, its rate ẋ and its acceleration ẍ, over any other scalar.

A function run on jets is differentiated twice along a motion, by the chain rule and in closed form: with q = (q, q̇, 0)
it gives φ, A q̇ and Ȧ q̇; with a unit rate in one coordinate, that column of A. Jets nest over floats, trace nodes
and polynomials alike; what is zero folds where it arises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert import scalar

Scalar = Any


class Jet:
    """(x, ẋ, ẍ)."""

    __slots__ = ("acceleration", "rate", "value")

    def __init__(self, value: Scalar, rate: Scalar = 0.0, acceleration: Scalar = 0.0) -> None:
        self.value, self.rate, self.acceleration = value, rate, acceleration

    def __repr__(self) -> str:
        return f"Jet({self.value!r}, {self.rate!r}, {self.acceleration!r})"

    def __add__(self, other: Scalar) -> Jet:
        o = jet(other)
        return Jet(self.value + o.value, self.rate + o.rate, self.acceleration + o.acceleration)

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Jet:
        o = jet(other)
        return Jet(self.value - o.value, self.rate - o.rate, self.acceleration - o.acceleration)

    def __rsub__(self, other: Scalar) -> Jet:
        return jet(other) - self

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.rate, -self.acceleration)

    def __pos__(self) -> Jet:
        return self

    def __mul__(self, other: Scalar) -> Jet:
        o = jet(other)
        return Jet(
            self.value * o.value,
            _times(self.rate, o.value) + _times(self.value, o.rate),
            _times(self.acceleration, o.value)
            + _times(2.0, _times(self.rate, o.rate))
            + _times(self.value, o.acceleration),
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Jet:
        o = jet(other)
        return self * _composed(o, 1.0 / o.value, lambda y: (-(y * y), 2.0 * y * y * y))

    def __rtruediv__(self, other: Scalar) -> Jet:
        return jet(other) / self

    def __pow__(self, power: int) -> Jet:
        if not isinstance(power, int) or power < 0:
            return NotImplemented
        result = Jet(1.0)
        for _ in range(power):
            result = result * self
        return result

    # A value may choose only through `where`, which takes all three together.
    def __lt__(self, other: Scalar) -> JetCondition:
        return JetCondition(self.value < jet(other).value)

    def __le__(self, other: Scalar) -> JetCondition:
        return JetCondition(self.value <= jet(other).value)

    def __gt__(self, other: Scalar) -> JetCondition:
        return JetCondition(self.value > jet(other).value)

    def __ge__(self, other: Scalar) -> JetCondition:
        return JetCondition(self.value >= jet(other).value)


class JetCondition:
    """A truth value of whatever kind the jets' values give."""

    __slots__ = ("holds",)

    def __init__(self, holds: Scalar) -> None:
        self.holds = holds

    def __bool__(self) -> bool:
        return bool(self.holds)


def jet(x: Scalar) -> Jet:
    """Any scalar as a jet; one that is none stands still."""
    return x if isinstance(x, Jet) else Jet(x)


def _times(a: Scalar, b: Scalar) -> Scalar:
    """a b, where a plain zero wins over anything: what stands still contributes nothing, whatever its factor."""
    return 0.0 if _zero(a) or _zero(b) else a * b


def _zero(x: Scalar) -> bool:
    return isinstance(x, (int, float)) and x == 0


def _composed(x: Jet, y: Scalar, derivatives: Callable[[Scalar], tuple[Scalar, Scalar]]) -> Jet:
    """f(x) of a jet, given y = f(x) and its first two derivatives as functions of y."""
    if _zero(x.rate) and _zero(x.acceleration):
        return Jet(y)
    first, second = derivatives(y)
    return Jet(y, _times(first, x.rate), _times(second, _times(x.rate, x.rate)) + _times(first, x.acceleration))


def _sin(x: Jet) -> Jet:
    c = scalar.cos(x.value)
    return _composed(x, scalar.sin(x.value), lambda y: (c, -y))


def _cos(x: Jet) -> Jet:
    s = scalar.sin(x.value)
    return _composed(x, scalar.cos(x.value), lambda y: (-s, -y))


def _sqrt(x: Jet) -> Jet:
    return _composed(x, scalar.sqrt(x.value), lambda y: (0.5 / y, -0.25 / (y * y * y)))


def _absolute(x: Jet) -> Jet:
    turned = scalar.where(x.value < 0.0, -1.0, 1.0)
    return Jet(scalar.absolute(x.value), _times(turned, x.rate), _times(turned, x.acceleration))


def _arctan2(y: Scalar, x: Scalar) -> Jet:
    """θ̇ = (x ẏ − y ẋ)/r², and its rate."""
    y, x = jet(y), jet(x)
    square = x * x + y * y
    turning = Jet(x.value, x.rate) * Jet(y.rate, y.acceleration) - Jet(y.value, y.rate) * Jet(x.rate, x.acceleration)
    rate = turning / Jet(square.value, square.rate)
    return Jet(scalar.arctan2(y.value, x.value), rate.value, rate.rate)


def _where(condition: JetCondition, a: Scalar, b: Scalar) -> Jet:
    a, b = jet(a), jet(b)
    parts = ((a.value, b.value), (a.rate, b.rate), (a.acceleration, b.acceleration))
    return Jet(*(scalar.where(condition.holds, x, y) for x, y in parts))


scalar.sin.register(Jet)(_sin)
scalar.cos.register(Jet)(_cos)
scalar.sqrt.register(Jet)(_sqrt)
scalar.absolute.register(Jet)(_absolute)
scalar.arctan2.register(Jet)(_arctan2)
scalar.where.register(JetCondition)(_where)
