"""Root locus: how the poles of a closed loop move with its gain, 1 + K G(s) = 0.

A point s lies on it for some K > 0 where the angle of G(s) is 180°; the gain there is K = 1/|G(s)|.
Where a loop's phase is −180° along a ray from the origin are its `crossings`: on the imaginary axis that is where it
begins to oscillate, on a ray of damping ratio ζ where a closed-loop pole with that damping lies.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.control.transfer import TransferFunction, read_plant
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Complex = NDArray[np.complex128]
REAL = 1e-9  # of a root's size: an imaginary part below this is rounding; double roots have half the digits
SCAN = 4000  # points of the scan that brackets crossings of a loop with dead time


class LocusPoint(NamedTuple):
    """A point s with the gain K that puts a closed-loop pole there, `angle_error` [rad] of G(s) from 180°, and all
    poles of the closed loop at that gain."""

    s: complex
    gain: float
    angle_error: float
    poles: Complex


class Breakaway(NamedTuple):
    """Where branches meet: a double pole at s, for this gain."""

    s: complex
    gain: float


class Asymptotes(NamedTuple):
    """The lines that branches without a zero to end in go to: from `center` on the real axis at `angles` [rad]."""

    center: float
    angles: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class RootLocus:
    """Of a plant of one input and one output, for gains K ≥ 0 and negative feedback."""

    plant: TransferFunction

    def __init__(self, plant: object) -> None:
        G = read_plant(plant)
        if G.delay:
            raise InputError("a root locus has finitely many branches; approximate the dead time by pade()")
        if G.excess < 0:
            raise InputError("more zeros than poles: such a plant has no root locus that begins at its poles")
        if not G.num.any():
            raise InputError("this plant is zero: its poles do not move with the gain")
        object.__setattr__(self, "plant", G)

    # ------------------------------------------------------------------------------------------------ points of it
    def poles(self, K: ArrayLike) -> Complex:
        """The closed-loop poles at gains K (...), the roots of D + K N.  (..., n)."""
        gains = array("K", K)
        N, D = self.plant.num, self.plant.den
        rows = D + gains.reshape(-1, 1) * np.concatenate((np.zeros(len(D) - len(N)), N))
        if not rows[:, 0].all():
            raise InputError("at one of these gains a pole has gone to infinity: ask for it without that gain")
        n = len(D) - 1
        companion = np.zeros((len(rows), n, n))
        companion[:, range(1, n), range(n - 1)] = 1.0
        companion[:, 0] = -rows[:, 1:] / rows[:, :1]
        return np.linalg.eigvals(companion).astype(complex).reshape(*gains.shape, n)

    def angle_error(self, s: complex) -> float:
        """How far the angle of G(s) is from 180° [rad]: Σ∠(s − zᵢ) − Σ∠(s − pᵢ) − π, zero on the locus."""
        return cmath.phase(-self._value(s))

    def _value(self, s: complex) -> complex:
        z = complex(s)
        if not cmath.isfinite(z):
            raise InputError(f"s must be a finite complex number, got {s!r}")
        if np.polyval(self.plant.den, z) == 0:
            raise InputError(f"s = {z} is a pole of the plant: the locus begins there, with gain 0")
        value = complex(self.plant(z))
        if value == 0:
            raise InputError(f"s = {z} is a zero of the plant: the locus ends there, with infinite gain")
        return value

    def at(self, s: complex, tolerance: float = 1e-3) -> LocusPoint:
        """The gain that puts a closed-loop pole at s, K = 1/|G(s)|. Refused where the angle of G(s) is farther than
        `tolerance` [rad] from 180°: no gain does."""
        value = self._value(s)
        off = cmath.phase(-value)
        if abs(off) > tolerance:
            near, angle = self.nearest(s), math.degrees(cmath.phase(value))
            raise InputError(
                f"s = {complex(s):.4g} is not on the root locus: there the angle of the plant is {angle:.2f}°, not "
                f"±180°. The nearest point is {near.s:.4g} (gain {near.gain:.4g}); to reach s itself, add a lead "
                "(lead_for_pole)"
            )
        K = 1.0 / abs(value)
        return LocusPoint(complex(s), K, off, self.poles(K))

    def nearest(self, s: complex) -> LocusPoint:
        """The point of the locus nearest to s: the gain whose closed-loop pole is closest, searched and refined."""
        from scipy.optimize import minimize_scalar

        z = complex(s)
        guess = 1.0 / abs(self._value(z))
        gains = np.union1d(np.geomspace(guess * 1e-4, guess * 1e4, 2001), [guess])
        distance = np.abs(self.poles(gains) - z).min(-1)
        k = int(np.argmin(distance))
        around = math.log(gains[max(k - 1, 0)]), math.log(gains[min(k + 1, gains.size - 1)])
        best = minimize_scalar(self._distance, args=(z,), bounds=around, method="bounded", options={"xatol": 1e-12})
        K = math.exp(best.x)
        poles = self.poles(K)
        found = complex(poles[np.argmin(np.abs(poles - z))])
        return LocusPoint(found, K, self.angle_error(found), poles)

    def _distance(self, log_K: float, z: complex) -> float:
        return float(np.abs(self.poles(math.exp(log_K)) - z).min())

    def for_damping(self, zeta: float) -> list[LocusPoint]:
        """Every point where a branch crosses the ray of damping ratio ζ (0 ≤ ζ < 1), by rising gain. ζ = 0 is the
        imaginary axis: the ultimate gain."""
        if not (isinstance(zeta, Real) and 0 <= zeta < 1):
            raise InputError(f"a ray of damping ratio ζ has 0 ≤ ζ < 1, got {zeta!r}")
        found = find_crossings(self.plant, float(zeta))
        return [LocusPoint(c.s, c.gain, self.angle_error(c.s), self.poles(c.gain)) for c in found]

    # ------------------------------------------------------------------------------------------------- shape of it
    def breakaways(self) -> list[Breakaway]:
        """Where branches leave or enter the real axis, or meet elsewhere: dK/ds = 0, N D′ − N′ D = 0, with K > 0."""
        N, D = self.plant.num, self.plant.den
        p: NDArray[np.float64] = np.polysub(np.polymul(N, np.polyder(D)), np.polymul(np.polyder(N), D))
        out = []
        for s in np.roots(p):
            value = np.polyval(N, s)
            if value == 0 or np.polyval(D, s) == 0:
                continue
            K = complex(-np.polyval(D, s) / value)
            if K.real > 0 and abs(K.imag) <= 1e-6 * abs(K):
                real = abs(s.imag) <= 1e-6 * max(abs(s), 1e-300)
                out.append(Breakaway(complex(s.real, 0.0 if real else s.imag), K.real))
        return sorted(out, key=lambda b: b.gain)

    def asymptotes(self) -> Asymptotes:
        """Center (Σp − Σz)/(n − m), angles (2k + 1) π/(n − m)."""
        excess = self.plant.excess
        if excess == 0:
            return Asymptotes(math.nan, ())
        center = float((self.plant.poles.sum() - self.plant.zeros.sum()).real) / excess
        sign = 0.0 if self.plant.num[0] / self.plant.den[0] > 0 else math.pi
        angles = [(2 * k + 1) * math.pi / excess - sign / excess for k in range(excess)]
        return Asymptotes(center, tuple(math.remainder(a, 2 * math.pi) for a in angles))

    def departure_angle(self, pole: complex) -> float:
        """The angle [rad] at which a branch leaves a simple pole of the plant: 180° + Σ∠(p − zᵢ) − Σ∠(p − pⱼ)."""
        poles = self.plant.poles
        k = int(np.argmin(np.abs(poles - complex(pole)))) if poles.size else -1
        if k < 0 or abs(poles[k] - pole) > 1e-6 * max(abs(pole), 1.0):
            listed = np.round(poles, 4).tolist()
            raise InputError(f"{complex(pole):.4g} is no pole of the plant; its poles are {listed}")
        others = np.delete(poles, k)
        p = complex(poles[k])
        if (np.abs(others - p) < 1e-9 * max(abs(p), 1.0)).any():
            raise InputError(f"{p:.4g} is a multiple pole: several branches leave it, at several angles")
        lead = self.plant.num[0] / self.plant.den[0]
        angle = math.pi + sum(cmath.phase(p - z) for z in self.plant.zeros) - sum(cmath.phase(p - o) for o in others)
        return math.remainder(angle + (0.0 if lead > 0 else math.pi), 2 * math.pi)

    def branches(self, K: ArrayLike) -> Complex:
        """The poles at rising gains, sorted so that each column follows one branch.  (len(K), n)."""
        rows = self.poles(np.asarray(K, float))
        for k in range(1, len(rows)):
            left = list(rows[k])
            rows[k] = [left.pop(int(np.argmin([abs(z - before) for z in left]))) for before in rows[k - 1]]
        return rows

    @styled
    def plot(self, K: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
        """Drawn by matplotlib: branches, poles ×, zeros ○, asymptotes, up to gains that show their shape."""
        plt = pyplot()
        if ax is None:
            ax = plt.subplots(figsize=(6, 5), layout="constrained")[1]
        gains = self._gains() if K is None else array("K", K, (None,))
        for branch in self.branches(gains).T:
            ax.plot(branch.real, branch.imag, lw=1.4)
        for points, mark in ((self.plant.poles, "x"), (self.plant.zeros, "o")):
            ax.plot(points.real, points.imag, "k" + mark, ms=7, mfc="none")
        center, angles = self.asymptotes()
        reach = float(np.abs(self.plant.poles).max(initial=1.0)) * 2
        for angle in angles:
            end = center + reach * cmath.exp(1j * angle)
            ax.plot([center, end.real], [0, end.imag], "k:", lw=0.8)
        ax.axhline(0, color="0.7", lw=0.6)
        ax.axvline(0, color="0.7", lw=0.6)
        ax.set_xlabel("Re s [1/s]")
        ax.set_ylabel("Im s [1/s]")
        ax.set_title("root locus")
        return cast("Figure", ax.figure)

    def _gains(self) -> NDArray[np.float64]:
        reach = 2 * max(float(np.abs(self.plant.poles).max(initial=1.0)), 1e-9)
        s = reach * cmath.exp(0.51j * math.pi)
        top = 1.0 / max(abs(complex(self.plant(s))), 1e-300)
        return np.concatenate(([0.0], np.geomspace(top * 1e-5, top, 1500)))


# --------------------------------------------------------------------------------------------- where the phase is −180°
class Crossing(NamedTuple):
    """1 + K G(s) = 0 at `s`, with `gain` K > 0; `residual` = |1 + K G(s)|, recomputed."""

    s: complex
    gain: float
    residual: float


def find_crossings(G: TransferFunction, zeta: float = 0.0) -> list[Crossing]:
    """All s = ω (−ζ + j√(1 − ζ²)), ω > 0, with G(s) real and negative, by rising gain K = −1/G(s).

    N(s)/D(s) is real there: Im(N conj(D)) is a real polynomial in ω, whose roots are found at once. With a dead time
    (on the imaginary axis) they are bracketed by a scan."""
    direction = complex(-zeta, math.sqrt(1.0 - zeta * zeta))
    candidates = _scan(G) if G.delay else _roots(G, direction)
    found = []
    for w in candidates:
        s = w * direction
        value = complex(G(s))
        if value.real < 0 and abs(value.imag) <= 1e-6 * abs(value):
            K = -1.0 / value.real
            found.append(Crossing(s, K, abs(1 + K * value)))
    return sorted(found, key=lambda c: c.gain)


def _roots(G: TransferFunction, direction: complex) -> list[float]:
    turned = [np.array([c * direction**k for k, c in enumerate(p[::-1])])[::-1] for p in (G.num, G.den)]
    p = np.polymul(turned[0], np.conj(turned[1])).imag
    size = np.polymul(np.abs(G.num), np.abs(G.den))
    p = np.where(np.abs(p) > 1e-13 * size, p, 0.0)  # zero but for the rounding of sums of powers of the direction
    if not p.any():
        return []
    roots = np.roots(p)
    scale = np.abs(roots).max() if roots.size else 0.0
    kept = [float(r.real) for r in roots if r.real > 1e-12 * scale and abs(r.imag) <= REAL * abs(r)]
    return [_polish(p, x) for x in kept]


def _polish(p: NDArray[np.float64], x: float) -> float:
    """Two steps of Newton's method: the roots come from eigenvalues, and lose a few digits there."""
    slope = np.polyder(p)
    for _ in range(2):
        d = float(np.polyval(slope, x))
        x = x - float(np.polyval(p, x)) / d if d else x
    return x


def _scan(G: TransferFunction) -> list[float]:
    """ω of phase −180° (mod 360°) of a loop with dead time: up to where its gain has fallen for good."""
    from scipy.optimize import brentq

    corners = [abs(r) for r in (*G.poles, *G.zeros) if abs(r) > 0] + [1.0 / G.delay]
    top = max(max(corners) * 10, 20 * math.pi / G.delay)
    w = np.geomspace(min(corners) * 1e-3, top, SCAN)
    w = np.union1d(w, np.linspace(w[0], top, SCAN))
    value = G(1j * w)
    signs = np.sign(value.imag)
    out = []
    for k in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        if value[k].real < 0 or value[k + 1].real < 0:
            out.append(float(brentq(lambda x: complex(G(1j * x)).imag, w[k], w[k + 1], xtol=1e-300, rtol=1e-15)))
    return out
