"""What a stable linear system answers to a unit step, read to rounding: found on a grid, then refined."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array
from dalembert.control.linear import StateSpace, read_single
from dalembert.control.transfer import TransferFunction, python_control
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIVES = 16.0  # time constants after which a mode is nothing: e⁻¹⁶
PER_TURN, LEAST = 48, 64  # points of the grid to a turn of the fastest mode alive, and of any stretch
MOST = 200_000  # points of a stretch
BAND = 0.02  # of the end: within it an answer has settled
NEAR = 0.005  # of the end: a peak on the grid so near to a level may pass it between two points


class StepFigures(NamedTuple):
    """Of a step's answer: end value, rise time 10–90 % [s], settling time to 2 % [s], overshoot (part of the end)."""

    end: float
    rise_time: float
    settling_time: float
    overshoot: float


class StepResponse:
    """y(t) of ẋ = A x + B, y = C x + D from rest, of one input and one output. t (T,) is a grid on which every mode is
    resolved while it lives; x (T, n), y (T,) are exact there."""

    def __init__(self, system: StateSpace) -> None:
        self.system, self.end = system, float(system.D[0, 0])
        if len(system.A):
            self.end -= float(system.C[0] @ np.linalg.solve(system.A, system.B[:, 0]))
        poles = system.poles
        last = LIVES / np.abs(poles.real)
        self.t, self.x = np.zeros(1), np.zeros((1, len(system.A)))
        for until in np.unique(last):
            fastest = float(np.abs(poles[last >= until]).max())
            length = float(until - self.t[-1])
            count = int(np.clip(PER_TURN * length * fastest / (2 * np.pi), LEAST, MOST))
            t = np.linspace(0.0, length, count)
            x = system.simulate(t, np.ones(1), self.x[-1])[0]
            self.t, self.x = np.concatenate((self.t, self.t[-1] + t[1:])), np.concatenate((self.x, x[1:]))
        self.y = self.value(self.x)

    def value(self, x: Array) -> Array:
        return np.asarray(x @ self.system.C[0] + self.system.D[0, 0])

    def slope(self, x: Array) -> Array:
        """ẏ."""
        return self._rate(x) @ self.system.C[0]

    def bend(self, x: Array) -> Array:
        """ÿ."""
        return self._rate(x) @ self.system.A.T @ self.system.C[0]

    def _rate(self, x: Array) -> Array:
        return np.asarray(x @ self.system.A.T + self.system.B[:, 0])

    def after(self, k: int, seconds: float) -> Array:
        """x so many seconds after t[k]."""
        if seconds == 0.0:
            return self.x[k]
        step = self.system.discretize(seconds)
        return np.asarray(step.A @ self.x[k] + step.B[:, 0])

    def root(self, k: int, f: Callable[[Array], Array], a: float = 0.0, b: float | None = None) -> tuple[float, Array]:
        """(t, x) between t[k] + a and t[k] + b (the next point) where f(x) changes its sign."""
        from scipy.optimize import brentq

        b = float(self.t[k + 1] - self.t[k]) if b is None else b
        ends = [float(f(self.after(k, s))) for s in (a, b)]
        if (ends[0] < 0) != (ends[1] < 0):
            b = brentq(lambda s: float(f(self.after(k, s))), a, b, xtol=1e-300, rtol=1e-15)
        return float(self.t[k] + b), self.after(k, b)

    def first(self, level: float) -> float:
        """The first time at which y, on its way from zero to the end, is at this level."""
        way = np.sign(self.end)

        def short(x: Array) -> Array:
            return np.asarray(way * (self.value(x) - level))

        gap = short(self.x)
        for k in self._near(gap) if gap[0] < 0 else []:
            t, x = self.root(k, self.slope)
            if short(x) >= 0:
                return self.root(k, short, 0.0, t - float(self.t[k]))[0]
            if (gap[: k + 2] >= 0).any():
                break
        k = int(np.argmax(gap >= 0))
        return 0.0 if k == 0 else self.root(k - 1, short)[0]

    def last_outside(self, band: float) -> float:
        """The last time at which |y − end| is above the band."""

        def out(x: Array) -> Array:
            return np.asarray(np.abs(self.value(x) - self.end) - band)

        gap = out(self.x)
        outside = np.flatnonzero(gap > 0)
        last = int(outside[-1]) if len(outside) else -1
        for k in self._near(gap)[::-1]:
            if k <= last:
                break
            t, x = self.root(k, self.slope)
            if out(x) > 0:
                return self.root(k, out, t - float(self.t[k]))[0]
        if last < 0:
            return 0.0
        a = 0.0
        if last + 1 < len(self.t) and (self.slope(self.x[last]) < 0) != (self.slope(self.x[last + 1]) < 0):
            t, x = self.root(last, self.slope)  # a peak between two points, the band left after it
            a = t - float(self.t[last]) if out(x) > 0 else 0.0
        return self.root(last, out, a)[0]

    def _near(self, gap: Array) -> list[int]:
        """Points after which y has a peak that gap, a little below zero there, may hide."""
        slope = self.slope(self.x)
        turns = (slope[:-1] < 0) != (slope[1:] < 0)
        close = (np.maximum(gap[:-1], gap[1:]) > -NEAR * abs(self.end)) & (gap[:-1] < 0) & (gap[1:] < 0)
        return [int(k) for k in np.flatnonzero(turns & close)]

    def _peak(self, values: Array, rate: Callable[[Array], Array]) -> list[tuple[float, Array]]:
        """(t, x) of the largest value on the grid, and where its `rate` vanishes beside it."""
        best = int(np.argmax(values))
        found = [(float(self.t[best]), self.x[best])]
        for k in (best - 1, best):
            if 0 <= k < len(self.t) - 1 and (rate(self.x[k]) < 0) != (rate(self.x[k + 1]) < 0):
                found.append(self.root(k, rate))
        return found

    def highest(self) -> float:
        """The largest y/end at any time."""
        return max(float(self.value(x)) / self.end for _, x in self._peak(self.y / self.end, self.slope))

    def steepest(self) -> tuple[float, float, float]:
        """(t, y, ẏ) where y moves fastest toward its end."""
        way = np.sign(self.end - self.y[0])
        found = self._peak(way * self.slope(self.x), self.bend)
        t, x = max(found, key=lambda pair: way * float(self.slope(pair[1])))
        return t, float(self.value(x)), float(self.slope(x))


def step_figures(system: object) -> StepFigures:
    """Rise, settling and overshoot of the answer to a unit step: to rounding, which costs 1e-7 where poles are 1e8
    apart; of a sampled system, at its samples."""
    single = read_single(system)
    sampled = isinstance(single, StateSpace) and single.dt is not None
    if not single.stable:
        raise InputError("this system is not stable: its answer to a step does not settle")
    if sampled:
        info = python_control().step_info(single.to_control(), SettlingTimeThreshold=BAND)
        names = ("SteadyStateValue", "RiseTime", "SettlingTime", "Overshoot")
        end, rise, settling, over = (float(info[name]) for name in names)
        return StepFigures(end, rise, settling, over / 100)
    late = 0.0
    if isinstance(single, TransferFunction):
        late, single = single.delay, TransferFunction(single.num, single.den).state_space()
    y = StepResponse(single)
    if not abs(y.end) > 1e-12 * max(float(np.abs(y.y).max()), 1e-300):
        raise InputError("the answer of this system to a step ends at zero: there is no rise to read")
    rise = y.first(0.9 * y.end) - y.first(0.1 * y.end)
    return StepFigures(y.end, rise, late + y.last_outside(BAND * abs(y.end)), max(y.highest() - 1.0, 0.0))


@styled
def step_plot(system: object, t: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
    """The answer to a unit step, drawn."""
    if ax is None:
        ax = pyplot().subplots(figsize=(6, 3.5), layout="constrained")[1]
    times = None if t is None else array("t", t)
    found = python_control().step_response(read_single(system).to_control(), times)
    ax.plot(found.time, np.squeeze(found.outputs), lw=1.4)
    ax.set_xlabel("t [s]")
    ax.set_ylabel("y [1]")
    ax.set_title("step response")
    return cast("Figure", ax.figure)
