"""Root locus: the poles of a closed loop over its gain, 1 + K G(s) = 0.

A point s lies on the locus if the angle of G(s) is 180°. The gain there is K = 1/|G(s)|. On the imaginary axis the loop
begins to oscillate; on a ray of damping ratio ζ lie the closed-loop poles with that damping.
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
from dalembert.control.linear import read_plant
from dalembert.control.transfer import TransferFunction, python_control
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Complex = NDArray[np.complex128]
MAX_IMAGINARY_SHARE = 1e-9  # of a root's size that counts as rounding; double roots have half the digits
SCAN_POINTS = 4000  # that bracket crossings of a loop with dead time


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
    """The root locus of a plant of one input and one output, for gains K ≥ 0 and negative feedback."""

    plant: TransferFunction

    def __init__(self, plant: object) -> None:
        G = read_plant(plant)
        if G.delay:
            raise InputError(
                "unsupported",
                "plant",
                problem="the root locus of a plant with dead time has infinitely many branches",
                remedy="Approximate the dead time with pade().",
            )
        if G.excess < 0:
            raise InputError("wrong-value", "plant", expected="not have more zeros than poles")
        if not G.num.any():
            raise InputError("out-of-range", "plant", expected="not be zero")
        object.__setattr__(self, "plant", G)

    # ------------------------------------------------------------------------------------------------ points of it
    def poles(self, K: ArrayLike) -> Complex:
        """Return the closed-loop poles at gains K (...), the roots of D + K N.  (..., n)."""
        gains = array("K", K)
        N, D = self.plant.num, self.plant.den
        rows = D + gains.reshape(-1, 1) * np.concatenate((np.zeros(len(D) - len(N)), N))
        if not rows[:, 0].all():
            raise InputError("singular", "K", K, expected="gains at which no pole is infinite")
        n = len(D) - 1
        companion = np.zeros((len(rows), n, n))
        companion[:, range(1, n), range(n - 1)] = 1.0
        companion[:, 0] = -rows[:, 1:] / rows[:, :1]
        return np.linalg.eigvals(companion).astype(complex).reshape(*gains.shape, n)

    def angle_error(self, s: complex) -> float:
        """Return the angle of G(s) minus 180° [rad], Σ∠(s − zᵢ) − Σ∠(s − pᵢ) − π, which is zero on the locus."""
        return cmath.phase(-self._value(s))

    def _value(self, s: complex) -> complex:
        z = complex(s)
        if not cmath.isfinite(z):
            raise InputError("not-finite", "s", s, expected="a finite complex number")
        if np.polyval(self.plant.den, z) == 0:
            raise InputError("singular", "s", z, expected="not be a pole of the plant, where the gain is 0")
        value = complex(self.plant(z))
        if value == 0:
            raise InputError("singular", "s", z, expected="not be a zero of the plant, where the gain is infinite")
        return value

    def at(self, s: complex, tolerance: float = 1e-3) -> LocusPoint:
        """Return the point of the locus at s, with the gain K = 1/|G(s)| that puts a closed-loop pole there.

        Raises InputError if the angle of G(s) differs from 180° by more than `tolerance` [rad]."""
        value = self._value(s)
        off = cmath.phase(-value)
        if abs(off) > tolerance:
            near, angle = self.nearest(s), math.degrees(cmath.phase(value))
            raise InputError(
                "infeasible",
                "s",
                complex(s),
                problem=f"s = {complex(s):.4g} is not on the root locus: the angle of the plant there is {angle:.2f}°, "
                f"not ±180°. The nearest point is {near.s:.4g} (gain {near.gain:.4g})",
                remedy="To reach s, add a lead (lead_for_pole).",
            )
        K = 1.0 / abs(value)
        return LocusPoint(complex(s), K, off, self.poles(K))

    def nearest(self, s: complex) -> LocusPoint:
        """Return the point of the locus nearest to s."""
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
        """Return the points at which branches cross the ray of damping ratio ζ in [0, 1), by increasing gain.

        ζ = 0 is the imaginary axis, where the gain is the ultimate gain."""
        if not (isinstance(zeta, Real) and 0 <= zeta < 1):
            raise InputError("out-of-range", "zeta", zeta, expected="a damping ratio in [0, 1)")
        found = find_crossings(self.plant, float(zeta))
        return [LocusPoint(c.s, c.gain, self.angle_error(c.s), self.poles(c.gain)) for c in found]

    # ------------------------------------------------------------------------------------------------- shape of it
    def breakaways(self) -> list[Breakaway]:
        """Return the points at which branches meet, such as on the real axis: N D′ − N′ D = 0 with K > 0."""
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
        """Return the center (Σp − Σz)/(n − m) and the angles (2k + 1) π/(n − m) of the asymptotes."""
        excess = self.plant.excess
        if excess == 0:
            return Asymptotes(math.nan, ())
        center = float((self.plant.poles.sum() - self.plant.zeros.sum()).real) / excess
        sign = 0.0 if self.plant.num[0] / self.plant.den[0] > 0 else math.pi
        angles = [(2 * k + 1) * math.pi / excess - sign / excess for k in range(excess)]
        return Asymptotes(center, tuple(math.remainder(a, 2 * math.pi) for a in angles))

    def departure_angle(self, pole: complex) -> float:
        """Return the angle [rad] at which a branch leaves a simple pole: 180° + Σ∠(p − zᵢ) − Σ∠(p − pⱼ)."""
        poles = self.plant.poles
        k = int(np.argmin(np.abs(poles - complex(pole)))) if poles.size else -1
        if k < 0 or abs(poles[k] - pole) > 1e-6 * max(abs(pole), 1.0):
            listed = np.round(poles, 4).tolist()
            raise InputError("wrong-value", "pole", pole, expected=f"one of the plant's poles {listed}")
        others = np.delete(poles, k)
        p = complex(poles[k])
        if (np.abs(others - p) < 1e-9 * max(abs(p), 1.0)).any():
            raise InputError("unsupported", "pole", p, expected="a simple pole")
        lead = self.plant.num[0] / self.plant.den[0]
        angle = math.pi + sum(cmath.phase(p - z) for z in self.plant.zeros) - sum(cmath.phase(p - o) for o in others)
        return math.remainder(angle + (0.0 if lead > 0 else math.pi), 2 * math.pi)

    @styled
    def plot(self, K: ArrayLike | None = None, ax: Axes | None = None) -> Figure:
        """Draw the branches with poles × and zeros ○ by python-control (extra `control`)."""
        ax = pyplot().subplots(figsize=(6, 5), layout="constrained")[1] if ax is None else ax
        gains = None if K is None else array("K", K, (None,))
        python_control().root_locus_map(self.plant.to_control(), gains=gains).plot(ax=ax, title="root locus")
        ax.set(xlabel="Re s [1/s]", ylabel="Im s [1/s]")
        return cast("Figure", ax.figure)


# --------------------------------------------------------------------------------------------- where the phase is −180°
class Crossing(NamedTuple):
    """1 + K G(s) = 0 at `s`, with `gain` K > 0; `residual` = |1 + K G(s)|, recomputed."""

    s: complex
    gain: float
    residual: float


def find_crossings(G: TransferFunction, zeta: float = 0.0) -> list[Crossing]:
    """Return all s = ω (−ζ + j√(1 − ζ²)), ω > 0, with G(s) real and negative, by increasing gain K = −1/G(s).

    They are roots of the real polynomial Im(N conj(D)) in ω. With a dead time, on the imaginary axis alone, a scan
    brackets them."""
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
    kept = [float(r.real) for r in roots if r.real > 1e-12 * scale and abs(r.imag) <= MAX_IMAGINARY_SHARE * abs(r)]
    return [_polish(p, x) for x in kept]


def _polish(p: NDArray[np.float64], x: float) -> float:
    """Refine a root that was found as an eigenvalue by two steps of Newton's method."""
    slope = np.polyder(p)
    for _ in range(2):
        d = float(np.polyval(slope, x))
        x = x - float(np.polyval(p, x)) / d if d else x
    return x


def _scan(G: TransferFunction) -> list[float]:
    """Return ω of phase −180° (mod 360°) of a loop with dead time, up to where its gain has fallen for good."""
    from scipy.optimize import brentq

    corners = [abs(r) for r in (*G.poles, *G.zeros) if abs(r) > 0] + [1.0 / G.delay]
    top = max(max(corners) * 10, 20 * math.pi / G.delay)
    w = np.geomspace(min(corners) * 1e-3, top, SCAN_POINTS)
    w = np.union1d(w, np.linspace(w[0], top, SCAN_POINTS))
    value = G(1j * w)
    signs = np.sign(value.imag)
    out = []
    for k in np.flatnonzero(signs[:-1] * signs[1:] < 0):
        if value[k].real < 0 or value[k + 1].real < 0:
            out.append(float(brentq(lambda x: complex(G(1j * x)).imag, w[k], w[k + 1], xtol=1e-300, rtol=1e-15)))
    return out
