"""Sums of sines: periodic motions, Fourier series for identification, circles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert import scalar
from dalembert.arguments import Array, count, number
from dalembert.errors import InputError
from dalembert.flow import Scalar
from dalembert.trajectories.limits import array, choice, duration_of, positive, read_limits, vector
from dalembert.trajectories.trajectory import Bends, Extremes, Traced, Trajectory

if TYPE_CHECKING:
    from dalembert.robot import Robot

TIGHT = 1e-5  # what a bound may add to the largest sample, as a part of the sum of amplitudes
MOST = 200_000  # samples
TURN = 2 * math.pi


@dataclass(frozen=True, eq=False, repr=False)
class Sines(Trajectory):
    """x(t) = x₀ + Σ_k A_k sin(ω_k t + φ_k): `offset` (m,), `amplitude` and `phase` (k, m), `omega` (k,) [rad/s].

    It goes on for ever, before its start too, if the duration is infinite; else it rests before and after."""

    offset: Array
    amplitude: Array
    omega: Array
    phase: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    duration: float = math.inf
    period: float | None = None
    parameter: str = "t [s]"

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", len(self.offset))

    @property
    def knots(self) -> Array:
        return np.array([0.0, self.duration])

    def derivatives(self, t: Array, order: int) -> list[Array]:
        forever = not math.isfinite(self.duration)
        at = t if forever else np.clip(t, 0.0, self.duration)
        within = np.ones((len(t), 1), bool) if forever else ((t >= 0) & (t <= self.duration))[:, None]
        angle = at[:, None, None] * self.omega[:, None] + self.phase
        s, c = np.sin(angle), np.cos(angle)
        found = []
        for d in range(order + 1):
            wave = (s, c, -s, -c)[d % 4]
            x = (self.amplitude * self.omega[:, None] ** d * wave).sum(axis=1)
            found.append(np.where(within, x, 0.0) if d else x + self.offset)
        return found

    def trace(self, t: Scalar) -> Traced:
        forever = not math.isfinite(self.duration)
        at = t if forever else scalar.minimum(scalar.maximum(t, 0.0), self.duration)
        x: list[Scalar] = self.offset.tolist()
        xd: list[Scalar] = [0.0] * self.m
        xdd: list[Scalar] = [0.0] * self.m
        for w, amplitudes, phases in zip(self.omega.tolist(), self.amplitude, self.phase, strict=True):
            s, c = scalar.sin(w * at), scalar.cos(w * at)
            for j, (A, phi) in enumerate(zip(amplitudes.tolist(), phases.tolist(), strict=True)):
                p, q = A * math.cos(phi), A * math.sin(phi)  # A sin(ωt + φ) = p sin ωt + q cos ωt
                wave, turned = p * s + q * c, p * c - q * s
                x[j] = x[j] + wave
                xd[j] = xd[j] + w * turned
                xdd[j] = xdd[j] - (w * w) * wave
        if not forever:
            still = scalar.where(t < 0.0, 0.0, scalar.where(t > self.duration, 0.0, 1.0))
            xd, xdd = [still * v for v in xd], [still * a for a in xdd]
        return x, xd, xdd

    def limits(self) -> Extremes:
        """Bounds that are never exceeded.

        Over a period, or a finite duration: where |f| is largest f' vanishes, so that it exceeds the nearest of samples
        h apart by at most (h²/8) max |f''|, and |f''| ≤ Σ A ω². Without a period: the sum of the amplitudes."""
        T = min(self.duration, self.period or math.inf)
        tops = [self._top(d) for d in range(6)]
        if not math.isfinite(T):
            return Extremes(self.offset - tops[0], self.offset + tops[0], tops[1], tops[2], tops[3], "bound")
        samples = int(min(max(math.ceil(T * float(self.omega.max(initial=0.0)) / math.sqrt(8 * TIGHT)), 2), MOST)) + 1
        t = np.linspace(0, T, samples)
        spare = (t[1] - t[0]) ** 2 / 8
        values = self.derivatives(t, 3)
        sizes = [np.abs(x).max(axis=0) + spare * tops[d + 2] for d, x in enumerate(values)]
        sizes = [np.minimum(size, top) for size, top in zip(sizes, tops, strict=False)]
        lower = values[0].min(axis=0) - spare * tops[2]
        upper = values[0].max(axis=0) + spare * tops[2]
        return Extremes(lower, upper, sizes[1], sizes[2], sizes[3], "bound")

    def bends(self, low: Array, high: Array) -> Bends:
        """|x⁽ᵏ⁾| at the middle and half the length times Σ A ωᵏ⁺¹, at most Σ A ωᵏ."""
        r = 0.5 * (high - low)[:, None]
        _, xd, xdd = self.derivatives(0.5 * (low + high), 2)
        first, second = (np.minimum(np.abs(x) + r * self._top(d + 1), self._top(d)) for d, x in ((1, xd), (2, xdd)))
        return Bends(first, second, np.zeros_like(first), np.zeros_like(first))

    def _top(self, d: int) -> Array:
        return np.asarray((np.abs(self.amplitude) * np.abs(self.omega[:, None]) ** d).sum(axis=0))


def _read_rows(name: str, value: ArrayLike) -> Array:
    """(k, m): a number is 1×1, a list one sine for each coordinate."""
    x = np.atleast_2d(array(name, value))
    if x.ndim != 2 or x.size == 0:
        raise InputError(
            "wrong-shape", name, x, expected="shape (k, m), one row per sine and one column per coordinate"
        )
    return x


def sines(
    amplitude: ArrayLike,
    frequency: ArrayLike,
    phase: ArrayLike = 0.0,
    offset: ArrayLike = 0.0,
    *,
    duration: float = math.inf,
    robot: Robot | None = None,
) -> Sines:
    """x = x₀ + Σ_k A_k sin(2π f_k t + φ_k): amplitudes (k, m), or (m,) for one sine; frequencies [Hz], one per row;
    phases [rad] as the amplitudes, or one for all; offset (m,)."""
    A = _read_rows("amplitude", amplitude)
    f = np.atleast_1d(array("frequency", frequency))
    if f.shape != (len(A),) or not (f > 0).all():
        raise InputError(
            "out-of-range", "frequency", expected=f"{len(A)} numbers greater than 0 [Hz], one per row of amplitudes"
        )
    phi = array("phase", phase)
    if phi.shape not in ((), A.shape, A.shape[1:]):
        raise InputError("wrong-shape", "phase", phi, expected=f"one number or of shape {A.shape}, like the amplitudes")
    period = 1.0 / float(f[0]) if len(f) == 1 else None
    return _make(A, TURN * f, np.broadcast_to(phi, A.shape).copy(), offset, duration, period, robot)


def fourier(
    a: ArrayLike,
    b: ArrayLike,
    frequency: float,
    offset: ArrayLike = 0.0,
    *,
    start: str = "free",
    duration: float = math.inf,
    robot: Robot | None = None,
) -> Sines:
    """A Fourier series for identification, ẋ = Σ_k a_k cos kω_f t + b_k sin kω_f t, so that
    x = x₀ + Σ_k (a_k sin kω_f t − b_k cos kω_f t)/kω_f.  Swevers et al. 1997.

    a, b (harmonics, m) are velocities; `frequency` [Hz] the base frequency. With start="rest" the coefficients nearest
    to the given ones are taken with which velocity and acceleration vanish at t = 0: Σ a_k = 0, Σ k b_k = 0."""
    a, b = _read_rows("a", a), _read_rows("b", b)
    if a.shape != b.shape:
        raise InputError("wrong-shape", "b", b, expected="of shape (harmonics, coordinates), as `a`")
    choice("start", start, ("free", "rest"))
    k = np.arange(1, len(a) + 1)
    if start == "rest":
        if len(a) < 2:
            raise InputError("too-few", "a", len(a), expected="at least two harmonics if the motion starts at rest")
        a = a - a.mean(axis=0)
        b = b - k[:, None] * (k @ b) / (k @ k)
    f = positive("frequency", frequency, "Hz")
    w = np.asarray(TURN * f * k)
    return _make(np.hypot(a, b) / w[:, None], w, np.arctan2(-b, a), offset, duration, 1.0 / f, robot)


def _make(
    amplitude: Array,
    omega: Array,
    phase: Array,
    offset: ArrayLike,
    duration: float,
    period: float | None,
    robot: Robot | None,
) -> Sines:
    """The motion, if the bounds of its positions are within the robot's limits."""
    m, T = amplitude.shape[1], duration_of(duration)
    known = read_limits(m, robot)
    lower, upper = known.lower, known.upper
    made = Sines(vector("offset", offset, m), amplitude, omega, phase, known.names, known.units, T, period)
    if not (np.isfinite(lower) | np.isfinite(upper)).any():
        return made
    found = made.limits()
    for j, name in enumerate(made.names):
        if found.lower[j] < lower[j] or found.upper[j] > upper[j]:
            raise InputError(
                "conflict",
                "robot",
                problem=f"{name!r} moves from {found.lower[j]:g} to {found.upper[j]:g} {made.units[j]}, beyond "
                f"its limits {lower[j]:g} to {upper[j]:g} {made.units[j]}",
            )
    return made


def random_fourier(
    robot: Robot,
    harmonics: int = 5,
    frequency: float = 0.1,
    *,
    acceleration: ArrayLike | None = None,
    share: float = 0.9,
    start: str = "rest",
    seed: int = 0,
) -> Sines:
    """A random Fourier series about the middle of the joints' ranges, each joint scaled until it uses a `share` of its
    tightest limit: position, velocity, or acceleration if that is given. Bounds, not samples, are compared."""
    count("harmonics", harmonics, 1)
    part = number("share", share)
    if not 0 < part <= 1:
        raise InputError("out-of-range", "share", share, expected="a share of the limits in (0, 1]")
    known = read_limits(robot.n, robot, None, acceleration)
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, harmonics, robot.n))
    limited = np.isfinite(known.lower) & np.isfinite(known.upper)
    middle = robot.home
    middle[limited] = 0.5 * (known.lower[limited] + known.upper[limited])
    raw = fourier(a, b, frequency, 0.0, start=start)
    found = raw.limits()
    room = np.minimum(known.upper - middle, middle - known.lower)
    room = np.where(np.isfinite(room), room, np.pi)  # a joint without limits moves half a turn
    reach = np.maximum(found.upper, -found.lower)
    rates = [known.velocity / found.velocity, known.acceleration / found.acceleration]
    factor = np.min([room / reach, *rates], axis=0)
    return replace(raw, offset=middle, amplitude=raw.amplitude * factor * part, names=known.names, units=known.units)
