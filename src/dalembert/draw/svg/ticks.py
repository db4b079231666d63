"""Round numbers along an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalembert.draw.svg.elements import label

STEPS = (0.5, 1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """Numbers from low to high, low < high, on a straight or (for positive numbers) a logarithmic axis."""

    low: float
    high: float
    log: bool = False

    def part(self, x: float) -> float:
        """Where x lies between low (0) and high (1)."""
        if self.log:
            return (math.log10(x) - math.log10(self.low)) / (math.log10(self.high) - math.log10(self.low))
        return (x - self.low) / (self.high - self.low)

    def ticks(self, most: int = 6) -> list[tuple[float, str]]:
        """(number, words), about so many at most and never fewer than two, all within the axis."""
        return _powers(self, most) if self.log else _round(self, most)


def scale_of(low: float, high: float, room: float = 0.04, log: bool = False) -> Scale:
    """An axis for numbers from low to high, with a little room at both ends; one number alone stands in the middle."""
    if log:
        a, b = math.log10(low), math.log10(high)
        if b - a < 1:
            a, b = (a + b) / 2 - 0.5, (a + b) / 2 + 0.5
        return Scale(10 ** (a - room * (b - a)), 10 ** (b + room * (b - a)), True)
    span = high - low
    if span <= 1e-9 * max(abs(low), abs(high)) or span == 0:
        span = abs(low) or 1.0
        return Scale(low - span / 2, high + span / 2)
    return Scale(low - room * span, high + room * span)


def _round(scale: Scale, most: int) -> list[tuple[float, str]]:
    span = scale.high - scale.low
    size = 10.0 ** math.floor(math.log10(span / most))
    k = next(k for k, s in enumerate(STEPS) if k and span / (s * size) <= most)
    for step in (STEPS[k] * size, STEPS[k - 1] * size):  # the finer one where of the coarse ones fewer than two fit
        first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
        if last > first:
            break
    digits = max(1, math.ceil(math.log10(max(abs(first), abs(last), 1) + 1)) + 2)
    return [(k * step, label(k * step, digits)) for k in range(first, last + 1)]


def _powers(scale: Scale, most: int) -> list[tuple[float, str]]:
    first = math.ceil(math.log10(scale.low) - 1e-9)
    last = math.floor(math.log10(scale.high) + 1e-9)
    if last <= first:
        every_few = (m * 10.0**k for k in range(first - 1, last + 1) for m in (1, 2, 5))
        return [(x, label(x)) for x in every_few if scale.low <= x <= scale.high]
    every = max(1, -(-(last - first + 1) // most))
    return [(10.0**k, label(10.0**k)) for k in range(first, last + 1, every)]
