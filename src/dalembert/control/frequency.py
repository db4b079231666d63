"""Loops by their frequency response: margins and Bode diagrams of any linear system here, by way of python-control
(extra `control`); lead and lag, what to put before a plant so that its loop gets the phase margin, the pole or the
accuracy wanted."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, count, number
from dalembert.control.linear import read_single
from dalembert.control.transfer import TransferFunction, python_control, read_plant
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEEPEST = math.radians(65)  # of one lead: beyond it pole and zero lie 20 times apart, and noise is amplified so much


class Margins(NamedTuple):
    """`gain`: the factor by which the loop's gain may grow (∞: any); `phase` [rad] that it may lose; at the frequencies
    [rad/s] `gain_frequency` (phase −180°) and `phase_frequency` (|L| = 1); `delay` [s] that costs the phase margin.
    `stable`: whether the closed loop is, by its poles. Where it is not, margins say nothing of what it can bear."""

    gain: float
    phase: float
    gain_frequency: float
    phase_frequency: float
    delay: float
    stable: bool


class FrequencyResponse(NamedTuple):
    """|G|, ∠G [rad] (unwrapped) at frequencies `omega` [rad/s]."""

    omega: Array
    magnitude: Array
    phase: Array


def margins(loop: object) -> Margins:
    """Gain and phase margin of an open loop that is closed by negative feedback."""
    single = read_single(loop)
    made = single.to_control()
    gm, pm, w_gm, w_pm = python_control().margin(made)
    phase = math.radians(float(pm))
    delay = phase / float(w_pm) if np.isfinite(w_pm) and w_pm > 0 else math.inf
    return Margins(float(gm), phase, float(w_gm), float(w_pm), delay, _stable(python_control().feedback(made)))


def _stable(made: Any) -> bool:
    """Whether every pole of python-control's system lies in the left half plane; inside the unit circle, if sampled."""
    poles = np.asarray(made.poles())
    return bool((np.abs(poles) < 1).all() if made.isdtime(strict=True) else (poles.real < 0).all())


def frequency_response(system: object, omega: ArrayLike | None = None) -> FrequencyResponse:
    """|G(jω)| and ∠G(jω); at frequencies that show its features if none are given."""
    given = None if omega is None else array("omega", omega, (None,), unit="rad/s", above=0.0)
    found = python_control().frequency_response(read_single(system).to_control(), given)
    value = np.asarray(found.frdata)[0, 0]
    return FrequencyResponse(np.asarray(found.omega), np.abs(value), np.unwrap(np.angle(value)))


@styled
def bode_plot(system: object, omega: ArrayLike | None = None, label: str = "") -> Figure:
    """The Bode diagram as a matplotlib figure, with gain and phase margin marked where there are any."""
    w, magnitude, phase = frequency_response(system, omega)
    found = margins(system)
    figure, (upper, lower) = pyplot().subplots(2, 1, sharex=True, figsize=(6, 5), layout="constrained")
    upper.loglog(w, magnitude, lw=1.4, label=label or None)
    turn = np.round((np.angle(np.exp(1j * phase[0])) - phase[0]) / (2 * np.pi)) * 2 * np.pi
    lower.semilogx(w, np.degrees(phase + turn), lw=1.4)
    upper.axhline(1, color="0.6", lw=0.7)
    lower.axhline(-180, color="0.6", lw=0.7)
    if np.isfinite(found.phase_frequency):
        for panel in (upper, lower):
            panel.axvline(found.phase_frequency, color="C1", lw=0.8, ls="--")
        words = f"phase margin {math.degrees(found.phase):.1f}° at {found.phase_frequency:.3g} rad/s"
        lower.set_title(words, fontsize=9)
    if np.isfinite(found.gain):
        for panel in (upper, lower):
            panel.axvline(found.gain_frequency, color="C2", lw=0.8, ls=":")
        upper.set_title(f"gain margin {found.gain:.3g} at {found.gain_frequency:.3g} rad/s", fontsize=9)
    upper.set_ylabel("|G| [1]")
    lower.set_ylabel("∠G [°]")
    lower.set_xlabel("ω [rad/s]")
    if label:
        upper.legend()
    return cast("Figure", figure)


# ------------------------------------------------------------------------------------------------------- lead and lag
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


def lead_for_margin(plant: object, phase_margin: float, crossover: float, stages: int = 1) -> Compensator:
    """A lead that gives the loop this `phase_margin` [rad] at this `crossover` [rad/s], where |C G| = 1.

    The phase it must add, φ = PM − (180° + ∠G(jω)), is largest midway between zero and pole: with
    a = (1 − sin φ)/(1 + sin φ), z = ω√a and p = ω/√a. A lag is got where φ is negative. ∠G is followed from ω = 0 on: a
    plant that has turned by more than 180° is not taken for one that leads. A design whose closed loop is not stable is
    refused."""
    G = read_plant(plant)
    w = number("the crossover of the loop", crossover, "rad/s", above=0.0)
    margin = number("the phase margin of the loop", phase_margin, "rad", above=0.0)
    if margin >= math.pi:
        raise InputError(
            f"the phase margin of the loop is {margin:g} rad; it must be less than π (in degrees? "
            f"math.radians({margin:g}) = {math.radians(margin):.4g})"
        )
    n = count("stages", stages, 1)
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
    return replace(C, residual=left)


def _phase(G: TransferFunction, w: float) -> float:
    """∠G(jω) [rad], followed from ω = 0 on: root by root, each within ±90°; −180° at rest if G is negative."""

    def turn(roots: NDArray[np.complex128]) -> float:
        return float(sum(cmath.phase(1j * w - r if r.real <= 0 else r - 1j * w) for r in roots))

    right = int((G.zeros.real > 0).sum() + (G.poles.real > 0).sum())
    negative = (G.num[0] * G.den[0] < 0) != (right % 2 == 1)
    near = turn(G.zeros) - turn(G.poles) - G.delay * w - (math.pi if negative else 0.0)
    return near + math.remainder(cmath.phase(complex(G(1j * w))) - near, 2 * math.pi)  # roots lose digits, G does not


def _check_stable(L: TransferFunction, w: float) -> None:
    poles = L.pade(6 + math.ceil(L.delay * w)).feedback().poles
    if not (poles.real < 0).all():
        worst = poles[np.argmax(poles.real)]
        raise InputError(
            f"with this margin at {w:g} rad/s the closed loop is not stable (a pole at {worst:.3g}): the loop's gain "
            "is 1 elsewhere too, or the plant needs more than a lead; choose another crossover"
        )


def lead_for_pole(plant: object, s: complex, zero: float | None = None, stages: int = 1) -> Compensator:
    """A lead that puts a closed-loop pole at s: it adds the angle that G(s) lacks to 180°, and has the gain for it.

    With its `zero` at −z given, the pole follows from the angle; without, both by the bisector, which keeps them
    closest together. Look at the closed loop's other poles, too."""
    G = read_plant(plant)
    target, n = complex(s), count("stages", stages, 1)
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
    return replace(C, residual=abs(1 + complex(C.transfer(target)) * complex(G(target))))


def lag_for_accuracy(plant: object, factor: float, crossover: float, distance: float = 10.0) -> Compensator:
    """A lag that raises the gain at low frequencies `factor`-fold, and with it what divides the steady-state error, and
    leaves the loop at its `crossover` [rad/s] nearly as it is: C = (s + z)/(s + z/factor), z = ω/`distance`."""
    G = read_plant(plant)
    beta = number("the factor of the lag", factor, "1", above=1.0)
    w = number("the crossover of the loop", crossover, "rad/s", above=0.0)
    z = w / number("the distance of the lag", distance, "1", above=1.0)
    C = Compensator(1.0, z, z / beta, 1, 0.0, 0.0)
    value = complex(C.transfer(1j * w))
    before = complex(G(1j * w))
    return replace(C, phase=cmath.phase(value), residual=abs(abs(value * before) - abs(before)))
