"""A scalar that is known to lie between two numbers, or many of them at once: arrays of lower and upper ends.

Every operation encloses: its ends are moved outward by what rounding may have cost. What may have no finite value (a
quotient by what may be zero, the root of what may be negative) lies between −∞ and ∞. NaN as a number is the empty
interval, which only `where` may meet: it is what no number chooses.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert import scalar
from dalembert.scalar import Scalar

Array = NDArray[np.float64]
FEW = 2.0**-50  # relative: NumPy's functions are within a few units in the last place, 2⁻⁵² each
TURN = 2 * np.pi


class Interval:
    """low ≤ x ≤ high, numbers or arrays of one shape."""

    __slots__ = ("high", "low")

    def __init__(self, low: Scalar, high: Scalar) -> None:
        self.low, self.high = low, high

    def __repr__(self) -> str:
        return f"Interval({self.low!r}, {self.high!r})"

    @property
    def size(self) -> Scalar:
        """The largest |x|."""
        return np.maximum(-self.low, self.high)

    def widened(self, by: Scalar) -> Interval:
        return _outward(self.low - by, self.high + by)

    def within(self, low: Scalar, high: Scalar) -> Interval:
        """What of it lies between these."""
        return Interval(np.maximum(self.low, low), np.minimum(self.high, high))

    def __add__(self, other: Scalar) -> Interval:
        o = interval(other)
        return _outward(self.low + o.low, self.high + o.high)

    __radd__ = __add__

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Scalar) -> Interval:
        return self + (-interval(other))

    def __rsub__(self, other: Scalar) -> Interval:
        return interval(other) + (-self)

    def __mul__(self, other: Scalar) -> Interval:
        if other is self:
            least = np.maximum(0.0, np.maximum(self.low, -self.high))
            return _outward(least * least, self.size**2)
        o = interval(other)
        ends = (self.low * o.low, self.low * o.high, self.high * o.low, self.high * o.high)
        low = np.minimum(np.minimum(ends[0], ends[1]), np.minimum(ends[2], ends[3]))
        high = np.maximum(np.maximum(ends[0], ends[1]), np.maximum(ends[2], ends[3]))
        return _outward(low, high)

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Interval:
        o = interval(other)
        zero = (o.low <= 0) & (o.high >= 0)
        low, high = np.where(zero, 1.0, o.low), np.where(zero, 1.0, o.high)
        return _where_not(zero, self * _outward(1.0 / high, 1.0 / low))

    def __rtruediv__(self, other: Scalar) -> Interval:
        return interval(other) / self

    def __lt__(self, other: Scalar) -> IntervalCondition:
        o = interval(other)
        return IntervalCondition(self.high < o.low, self.low >= o.high)

    def __le__(self, other: Scalar) -> IntervalCondition:
        o = interval(other)
        return IntervalCondition(self.high <= o.low, self.low > o.high)

    def __gt__(self, other: Scalar) -> IntervalCondition:
        return interval(other) < self

    def __ge__(self, other: Scalar) -> IntervalCondition:
        return interval(other) <= self


class IntervalCondition:
    """Whether something holds for all numbers of its intervals, or for none."""

    __slots__ = ("always", "never")

    def __init__(self, always: Scalar, never: Scalar) -> None:
        self.always, self.never = always, never


def interval(x: Scalar) -> Interval:
    """Any number as an interval."""
    if isinstance(x, Interval):
        return x
    y = np.float64(x)
    return Interval(np.inf, -np.inf) if np.isnan(y) else Interval(y, y)


def _outward(low: Scalar, high: Scalar) -> Interval:
    return Interval(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def _where_not(wrong: Scalar, x: Interval) -> Interval:
    """Anything at all where it is wrong."""
    return Interval(np.where(wrong, -np.inf, x.low), np.where(wrong, np.inf, x.high))


def _loosely(low: Scalar, high: Scalar) -> Interval:
    return _outward(low - FEW * np.abs(low), high + FEW * np.abs(high))


def _sin(x: Interval) -> Interval:
    return _wave(x, np.sin, 0.25 * TURN)


def _cos(x: Interval) -> Interval:
    return _wave(x, np.cos, 0.0)


def _wave(x: Interval, function: np.ufunc, top: float) -> Interval:
    """A wave with its maxima at `top` and whole turns from there; half a turn on are its minima. An end that comes
    close to one of them is taken for it."""
    with np.errstate(invalid="ignore"):
        near = 1e-14 * (1.0 + x.size)
        ends = function(x.low), function(x.high)
        reached = [
            np.ceil((x.low - near - place) / TURN) * TURN + place <= x.high + near for place in (top, top + 0.5 * TURN)
        ]
    y = _loosely(np.minimum(*ends), np.maximum(*ends))
    finite = np.isfinite(x.size)
    return Interval(
        np.where(reached[1] | ~finite, -1.0, np.maximum(y.low, -1.0)),
        np.where(reached[0] | ~finite, 1.0, np.minimum(y.high, 1.0)),
    )


def _sqrt(x: Interval) -> Interval:
    wrong = x.low < 0
    return _where_not(wrong, _outward(np.sqrt(np.where(wrong, 0.0, x.low)), np.sqrt(np.maximum(x.high, 0.0))))


def _absolute(x: Interval) -> Interval:
    return Interval(np.maximum(0.0, np.maximum(x.low, -x.high)), x.size)


def _exp(x: Interval) -> Interval:
    with np.errstate(over="ignore"):
        return _loosely(np.exp(x.low), np.exp(x.high))


def _log(x: Interval) -> Interval:
    wrong = x.low <= 0
    low, high = np.log(np.where(wrong, 1.0, x.low)), np.log(np.where(wrong, 1.0, x.high))
    return _where_not(wrong, _loosely(low, high))


def _where(condition: IntervalCondition, a: Scalar, b: Scalar) -> Interval:
    a, b = interval(a), interval(b)
    low = np.where(condition.never, b.low, np.minimum(a.low, b.low))
    high = np.where(condition.never, b.high, np.maximum(a.high, b.high))
    return Interval(np.where(condition.always, a.low, low), np.where(condition.always, a.high, high))


scalar.sin.register(Interval)(_sin)
scalar.cos.register(Interval)(_cos)
scalar.sqrt.register(Interval)(_sqrt)
scalar.absolute.register(Interval)(_absolute)
scalar.exp.register(Interval)(_exp)
scalar.log.register(Interval)(_log)
scalar.where.register(IntervalCondition)(_where)
