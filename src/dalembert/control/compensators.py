"""Lead and lag: what to put before a plant so that its loop gets the phase margin, the pole or the accuracy wanted."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.arguments import number
from dalembert.control.transfer import TransferFunction, rational
from dalembert.errors import InputError

STEEPEST = math.radians(65)  # of one lead: beyond it pole and zero lie 20 times apart, and noise is amplified so much


@dataclass(frozen=True, eq=False)
class Compensator:
    """C(s) = K ((s + z)/(s + p))ⁿ. `phase` [rad] is what it adds where it was designed for; `residual` is how far the
    loop is from what was asked, recomputed."""

    gain: float
    zero: float
    pole: float
    stages: int
    phase: float
    residual: float

    @property
    def transfer(self) -> TransferFunction:
        stage = TransferFunction([1.0, self.zero], [1.0, self.pole])
        C = TransferFunction([self.gain])
        for _ in range(self.stages):
            C = C * stage
        return C


def lead_for_margin(plant: Any, phase_margin: float, crossover: float, stages: int = 1) -> Compensator:
    """A lead that gives the loop this `phase_margin` [rad] at this `crossover` [rad/s], where |C G| = 1.

    The phase it must add, φ = PM − (180° + ∠G(jω)), is largest midway between zero and pole: with
    a = (1 − sin φ)/(1 + sin φ), z = ω√a and p = ω/√a. A lag is got where φ is negative. ∠G is followed from ω = 0 on: a
    plant that has turned by more than 180° is not taken for one that leads. A design whose closed loop is not stable is
    refused."""
    G = rational(plant)
    w = number("the crossover of the loop", crossover, "rad/s", above=0.0)
    margin = number("the phase margin of the loop", phase_margin, "rad", above=0.0)
    if margin >= math.pi:
        raise InputError(
            f"the phase margin of the loop is {margin:g} rad; it must be less than π (in degrees? "
            f"math.radians({margin:g}) = {math.radians(margin):.4g})"
        )
    n = _stages(stages)
    value = complex(G(1j * w))
    if value == 0 or not cmath.isfinite(value):
        raise InputError(f"the plant has a zero or a pole at the crossover {w:g} rad/s: choose another")
    phi = margin - math.pi - _phase(G, w)
    each = phi / n
    if abs(each) > STEEPEST:
        raise InputError(
            f"the plant {'lacks' if phi > 0 else 'leads by'} {abs(math.degrees(phi)):.0f}° at {w:g} rad/s, and one "
            f"stage gives no more than {math.degrees(STEEPEST):.0f}°: "
            f"take {math.ceil(abs(phi) / STEEPEST)} stages or another crossover"
        )
    a = (1 - math.sin(each)) / (1 + math.sin(each))
    z, p = w * math.sqrt(a), w / math.sqrt(a)
    K = 1.0 / (abs(value) * math.sqrt(a) ** n)
    C = Compensator(K, z, p, n, phi, 0.0)
    L = complex(C.transfer(1j * w)) * value
    left = max(abs(abs(L) - 1), abs(math.remainder(cmath.phase(L) + math.pi - margin, 2 * math.pi)))
    _check_stable(C.transfer * G, w)
    return Compensator(K, z, p, n, phi, left)


def _phase(G: TransferFunction, w: float) -> float:
    """∠G(jω) [rad], followed from ω = 0 on: root by root, each within ±90°; −180° at rest if G is negative."""

    def turned(roots: Any) -> float:
        return float(sum(cmath.phase(1j * w - r if r.real <= 0 else r - 1j * w) for r in roots))

    right = int((G.zeros.real > 0).sum() + (G.poles.real > 0).sum())
    negative = (G.num[0] * G.den[0] < 0) != (right % 2 == 1)
    near = turned(G.zeros) - turned(G.poles) - G.delay * w - (math.pi if negative else 0.0)
    return near + math.remainder(cmath.phase(complex(G(1j * w))) - near, 2 * math.pi)  # roots lose digits, G does not


def _check_stable(L: TransferFunction, w: float) -> None:
    rational_loop = L.pade(6 + math.ceil(L.delay * w))
    poles = rational_loop.feedback().poles
    if not (poles.real < 0).all():
        worst = poles[np.argmax(poles.real)]
        raise InputError(
            f"with this margin at {w:g} rad/s the closed loop is not stable (a pole at {worst:.3g}): the loop's gain "
            "is 1 elsewhere too, or the plant needs more than a lead; choose another crossover"
        )


def lead_for_pole(plant: Any, s: complex, zero: float | None = None, stages: int = 1) -> Compensator:
    """A lead that puts a closed-loop pole at s: it adds the angle that G(s) lacks to 180°, and has the gain for it.

    With its `zero` at −z given, the pole follows from the angle; without, both by the bisector, which keeps them
    closest together. That the closed loop's other poles are well is to be looked at."""
    G = rational(plant)
    target, n = complex(s), _stages(stages)
    if not (cmath.isfinite(target) and target.imag > 0):
        raise InputError(f"s must be a complex number with a positive imaginary part, got {s!r}")
    lacking = math.remainder(math.pi - cmath.phase(complex(G(target))), 2 * math.pi)
    each = lacking / n
    theta = cmath.phase(target)
    if zero is None:
        zero_angle, pole_angle = (theta + each) / 2, (theta - each) / 2
    else:
        z = number("the zero of the compensator", zero, "1/s")
        zero_angle = cmath.phase(target + z)
        pole_angle = zero_angle - each
    if not (0 < pole_angle < math.pi and 0 < zero_angle < math.pi):
        raise InputError(
            f"the plant lacks {math.degrees(lacking):.0f}° at s = {target:.4g}, more than {n} stage"
            f"{'s' if n > 1 else ''} with such a zero can give: take more stages, or a zero farther to the right"
        )
    z = target.imag / math.tan(zero_angle) - target.real
    p = target.imag / math.tan(pole_angle) - target.real
    K = 1.0 / abs(complex(G(target)) * ((target + z) / (target + p)) ** n)
    C = Compensator(K, z, p, n, lacking, 0.0)
    left = abs(1 + complex(C.transfer(target)) * complex(G(target)))
    return Compensator(K, z, p, n, lacking, left)


def lag_for_accuracy(plant: Any, factor: float, crossover: float, distance: float = 10.0) -> Compensator:
    """A lag that raises the gain at low frequencies `factor`-fold, and with it what divides the steady-state error, and
    leaves the loop at its `crossover` [rad/s] nearly as it is: C = (s + z)/(s + z/factor), z = ω/`distance`."""
    G = rational(plant)
    beta = number("the factor of the lag", factor, "1", above=1.0)
    w = number("the crossover of the loop", crossover, "rad/s", above=0.0)
    z = w / number("the distance of the lag", distance, "1", above=1.0)
    C = Compensator(1.0, z, z / beta, 1, 0.0, 0.0)
    value = complex(C.transfer(1j * w))
    before = complex(G(1j * w))
    return Compensator(1.0, z, z / beta, 1, cmath.phase(value), abs(abs(value * before) - abs(before)))


def _stages(stages: Any) -> int:
    if not isinstance(stages, (int, np.integer)) or isinstance(stages, bool) or stages < 1:
        raise InputError(f"stages is a whole number, at least 1; got {stages!r}")
    return int(stages)
