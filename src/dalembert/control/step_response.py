"""Unit step responses of stable linear systems and their figures, to rounding."""

from __future__ import annotations

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

LIFETIME = 16.0  # time constants after which a mode counts as decayed
POINTS_PER_TURN = 48  # of the fastest mode that has not decayed
MIN_POINTS, MAX_POINTS = 64, 200_000  # of a stretch in which the same modes are alive
BAND = 0.02  # of the end value, within which a response has settled
NEWTON_STEPS = 6  # from a grid point beside a root


class StepFigures(NamedTuple):
    """End value, rise time from 10 % to 90 % [s], settling time to 2 % [s] and overshoot (a share of the end value)."""

    end: float
    rise_time: float
    settling_time: float
    overshoot: float


class StepResponse:
    """The unit step response y(t) of a system from rest.

    `t` (T,) resolves every mode until it has decayed, and holds the extrema of y, so that y is monotonic between
    neighbors. `x` (T, n) and `y` (T,) are exact there.
    """

    def __init__(self, system: StateSpace) -> None:
        self.system = system
        poles = system.poles
        last = LIFETIME / np.abs(poles.real)
        self.t, self.x = np.zeros(1), np.zeros((1, len(poles)))
        for until in np.unique(last):
            length, fastest = float(until - self.t[-1]), float(np.abs(poles[last >= until]).max())
            count = int(np.clip(POINTS_PER_TURN * length * fastest / (2 * np.pi), MIN_POINTS, MAX_POINTS))
            t = np.linspace(0.0, length, count)
            x = system.simulate(t, np.ones(1), self.x[-1])[0]
            self.t, self.x = np.concatenate((self.t, self.t[-1] + t[1:])), np.concatenate((self.x, x[1:]))
        self._insert_roots(1)
        rest = system.C[0] @ np.linalg.solve(system.A, system.B[:, 0]) if len(poles) else 0.0
        self.end = float(system.D[0, 0] - rest)

    @property
    def y(self) -> Array:
        return np.asarray(self.x @ self.system.C[0] + self.system.D[0, 0])

    def derivative(self, x: Array, order: int) -> Array:
        """Return a time derivative of y at states (..., n)."""
        A = self.system.A.T
        return np.asarray((x @ A + self.system.B[:, 0]) @ np.linalg.matrix_power(A, order - 1) @ self.system.C[0])

    def _after(self, x: Array, seconds: Array) -> Array:
        """Return the states, each as many seconds later.  (K, n)."""
        from scipy.linalg import expm

        A, B = self.system.A, self.system.B
        block = np.zeros((len(A) + 1, len(A) + 1))
        block[:-1] = np.hstack((A, B))
        E = expm(block * np.asarray(seconds)[..., None, None])
        return np.asarray((E[..., :-1, :-1] @ x[..., None])[..., 0] + E[..., :-1, -1])

    def _insert_roots(self, order: int) -> None:
        """Insert the points at which a derivative of y changes its sign, by Newton's method."""
        f = self.derivative(self.x, order)
        k = np.flatnonzero((f[:-1] < 0) != (f[1:] < 0))
        if not k.size:
            return
        h = np.diff(self.t)[k]
        s = h * f[k] / (f[k] - f[k + 1])
        for _ in range(NEWTON_STEPS):
            x = self._after(self.x[k], s)
            slope = self.derivative(x, order + 1)
            s = np.clip(s - self.derivative(x, order) / np.where(slope, slope, np.inf), 0.0, h)
        self.t = np.insert(self.t, k + 1, self.t[k] + s)
        self.x = np.insert(self.x, k + 1, self._after(self.x[k], s), axis=0)

    def crossing(self, k: int, level: float) -> float:
        """Return the time between points k and k + 1 at which y has this value."""
        from scipy.optimize import brentq

        def gap(seconds: float) -> float:
            x = self._after(self.x[k], np.asarray(seconds))
            return float(x @ self.system.C[0] + self.system.D[0, 0] - level)

        h = float(self.t[k + 1] - self.t[k])
        end = h if (gap(0.0) < 0) == (gap(h) < 0) else brentq(gap, 0.0, h, xtol=1e-300, rtol=1e-15)
        return float(self.t[k] + end)

    def first(self, share: float) -> float:
        """Return the first time at which y has covered this share of the way to its end."""
        k = int(np.argmax(self.y / self.end >= share))
        return self.crossing(k - 1, share * self.end) if k else 0.0

    def last_outside(self, band: float) -> float:
        """Return the last time at which |y − end| exceeds this share of the end."""
        off = self.y / self.end - 1.0
        outside = np.flatnonzero(np.abs(off) > band)
        if not outside.size:
            return 0.0
        k = int(outside[-1])
        return self.crossing(k, (1.0 + np.copysign(band, off[k])) * self.end)

    def steepest(self) -> tuple[float, float, float]:
        """Return (t, y, ẏ) where y moves fastest toward its end."""
        self._insert_roots(2)
        y, slope = self.y, self.derivative(self.x, 1)
        k = int(np.argmax(np.sign(self.end - y[0]) * slope))
        return float(self.t[k]), float(y[k]), float(slope[k])


def step_figures(system: object) -> StepFigures:
    """Return rise time, settling time and overshoot of a stable system under a unit step.

    Exact to rounding, or to 1e-7 if poles are 1e8 apart. Those of a sampled system are taken at its samples by
    python-control (extra `control`)."""
    single = read_single(system)
    if not single.stable:
        raise InputError("infeasible", "system", problem="the step response of an unstable system does not settle")
    if isinstance(single, StateSpace) and single.dt is not None:
        info = python_control().step_info(single.to_control(), SettlingTimeThreshold=BAND)
        names = ("SteadyStateValue", "RiseTime", "SettlingTime", "Overshoot")
        end, rise, settling, over = (float(info[name]) for name in names)
        return StepFigures(end, rise, settling, over / 100)
    delay = 0.0
    if isinstance(single, TransferFunction):
        delay, single = single.delay, TransferFunction(single.num, single.den).state_space()
    y = StepResponse(single)
    if not abs(y.end) > 1e-12 * max(float(np.abs(y.y).max()), 1e-300):
        raise InputError("wrong-value", "system", problem="the step response ends at zero, so it has no rise time")
    rise = y.first(0.9) - y.first(0.1)
    return StepFigures(y.end, rise, delay + y.last_outside(BAND), max(float((y.y / y.end).max()) - 1.0, 0.0))


@styled
def step_plot(system: object, t: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
    """Draw the unit step response with python-control (extra `control`)."""
    ax = pyplot().subplots(figsize=(6, 3.5), layout="constrained")[1] if ax is None else ax
    found = python_control().step_response(read_single(system).to_control(), None if t is None else array("t", t))
    found.plot(ax=np.array([[ax]]), title="step response")
    return cast("Figure", ax.figure)
