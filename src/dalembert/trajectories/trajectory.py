"""A motion that can be looked at: evaluated with its derivatives, sampled, written, drawn, its extremes found."""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import InputError
from dalembert.files import whole_table
from dalembert.reference import Reference
from dalembert.trajectories.checks import Array, array, positive

JERK = 3  # the highest derivative that is asked for
NUDGE = 1e-9  # of an interval: how far inside it the values at its ends are taken
JUMP = 1e-6  # of a derivative's largest value: what differs by more on the two sides of a knot jumps there
SAMPLES, ZOOM = 2000, 3  # of sampled extremes: at least so many points, then closer and closer around the largest


@dataclass(frozen=True, eq=False)
class Extremes:
    """What a motion needs, per coordinate (m,): the range of positions, and the largest |ẋ|, |ẍ| and |x⃛| from its
    start to its end. Infinite where the derivative before it jumps in between. `how`: "exact", "bound" (never exceeded,
    and nearly reached), or "sampled"."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    how: str


class Samples(NamedTuple):
    """t (k,), x, ẋ, ẍ (k, m)."""

    t: Array
    x: Array
    xd: Array
    xdd: Array


class Trajectory(Reference):
    """A motion x(t), or a path x(s): the same, with another `parameter` in the place of time."""

    names: tuple[str, ...]
    units: tuple[str, ...]
    parameter: str  # "t [s]" of a motion; "s [m]", … of a path

    @property
    @abstractmethod
    def knots(self) -> Array:
        """Where derivatives may jump, the start and the end (if there is one) among them."""

    @abstractmethod
    def derivatives(self, t: Array, order: int) -> list[Array]:
        """[x, ẋ, ẍ, x⃛] up to the order ≤ 3 at times t (k,) → (k, m) each."""

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """(x, ẋ, ẍ) at times t (...) → (..., m) each."""
        at = array("t", t)
        x, xd, xdd = (y.reshape(*at.shape, self.m) for y in self.derivatives(at.reshape(-1), 2))
        return x, xd, xdd

    def jerk(self, t: ArrayLike) -> Array:
        """x⃛ at times t (...) → (..., m)."""
        at = array("t", t)
        return self.derivatives(at.reshape(-1), JERK)[JERK].reshape(*at.shape, self.m)

    def limits(self) -> Extremes:
        """The extremes of the motion: its range, and the largest speed, acceleration and jerk."""
        return sampled_extremes(self)

    def sample(self, dt: float, until: float | None = None) -> Samples:
        """(t, x, ẋ, ẍ) at 0, dt, 2 dt, … and at the end; `until` [s] is needed for a motion that goes on."""
        t = self._grid(dt, until)
        return Samples(t, *self(t))

    def _grid(self, dt: float, until: float | None) -> Array:
        step = positive("dt", dt)
        end = self.duration if until is None else positive("until", until)
        if not np.isfinite(end):
            raise InputError("this motion goes on for ever: say until when, until=…")
        t = np.arange(int(np.floor(end / step * (1 + 1e-12))) + 1) * step
        return np.asarray(np.append(t, end) if end - t[-1] > 1e-9 * step else t)

    def to_csv(self, file: str | os.PathLike[str], dt: float, until: float | None = None) -> Path:
        """The samples as a table: t, then x, ẋ, ẍ of each coordinate. Written whole or not at all."""
        rows = self.sample(dt, until)
        head = [self.parameter.split()[0]]
        head += [f"{name}{suffix}" for suffix in ("", "_d", "_dd") for name in self.names]
        return whole_table(file, head, np.column_stack(rows).tolist())

    def plot(self, *, until: float | None = None, points: int = 1000) -> Any:
        """A matplotlib figure of x, ẋ and ẍ over time; needs the extra `plot`."""
        from dalembert.trajectories.drawing import drawn

        return drawn(self, until, points)

    def __repr__(self) -> str:
        coordinates = "1 coordinate" if self.m == 1 else f"{self.m} coordinates"
        name, _, unit = self.parameter.partition(" ")
        length = f"{self.duration:g} {unit.strip('[]')}" if np.isfinite(self.duration) else "no end"
        return f"<{type(self).__name__} {', '.join(self.names[:3])}{', …' if self.m > 3 else ''}: {coordinates}, " + (
            f"{name} to {length.strip()}>" if np.isfinite(self.duration) else f"{length}>"
        )


def inside(knots: Array, fractions: Array) -> Array:
    """(intervals, k) points at these fractions of each interval between knots; ends are nudged inwards."""
    f = np.clip(fractions, NUDGE, 1 - NUDGE)
    return np.asarray(knots[:-1, None] + np.diff(knots)[:, None] * f)


def sampled_extremes(trajectory: Trajectory) -> Extremes:
    """Extremes at many points between the knots, then closer around the largest: right to rounding for motions that are
    smooth between their knots, but no proof."""
    knots = trajectory.knots
    if not np.isfinite(knots[-1]):
        raise InputError("this motion goes on for ever, and its extremes are not known")
    k = max(SAMPLES // max(len(knots) - 1, 1), 16)
    t = inside(knots, np.linspace(0, 1, k))
    values = [x.reshape(*t.shape, -1) for x in trajectory.derivatives(t.reshape(-1), JERK)]
    sizes, wild = [], np.zeros(trajectory.m, bool)
    for order, x in enumerate(values):
        size = _largest(trajectory, t, np.abs(x), order, np.abs)
        sizes.append(np.where(wild, np.inf, size))
        wild = wild | (np.abs(x[1:, 0] - x[:-1, -1]).max(axis=0, initial=0.0) > JUMP * np.maximum(size, 1e-300))
    ends = trajectory.derivatives(knots, 0)[0]
    upper = np.maximum(_largest(trajectory, t, values[0], 0, lambda x: x), ends.max(axis=0))
    lower = np.minimum(-_largest(trajectory, t, -values[0], 0, lambda x: -x), ends.min(axis=0))
    return Extremes(lower, upper, sizes[1], sizes[2], sizes[3], "sampled")


def _largest(trajectory: Trajectory, t: Array, values: Array, order: int, measure: Any) -> Array:
    """The largest measure of a derivative, per coordinate, zoomed in on."""
    found = values.max(axis=(0, 1))
    step = (t[:, -1] - t[:, 0]) / (t.shape[1] - 1)
    for j in range(values.shape[-1]):
        row, column = np.unravel_index(int(values[:, :, j].argmax()), t.shape)
        center, width = t[row, column], step[row]
        for _ in range(ZOOM):
            near = np.clip(np.linspace(center - width, center + width, 41), t[row, 0], t[row, -1])
            y = measure(trajectory.derivatives(near, order)[order][:, j])
            center, width = near[int(y.argmax())], width / 20
            found[j] = max(found[j], float(y.max()))
    return np.asarray(found)
