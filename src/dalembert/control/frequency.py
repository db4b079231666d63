"""Margins and Bode diagrams of linear systems by python-control (extra `control`), and lead and lag compensators for a
phase margin, a pole or a steady-state accuracy."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, count, number
from dalembert.control.linear import read_plant, read_single
from dalembert.control.transfer import TransferFunction, python_control
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_LEAD_RAD = math.radians(65)  # of one stage: beyond it pole and zero are 20 times apart and amplify noise as much


class Margins(NamedTuple):
    """Stability margins of an open loop.

    Attributes
    ----------
    gain : float
        Factor by which the gain of the loop may grow, infinite if there is no limit.
    phase : float
        Phase margin [rad].
    gain_frequency, phase_frequency : float
        Frequencies [rad/s] at which the phase is −180° and at which |L| = 1.
    delay : float
        Dead time [s] that uses up the phase margin.
    stable : bool
        Whether the closed loop is stable, by its poles. If it is not, the margins have no meaning.
    """

    gain: float
    phase: float
    gain_frequency: float
    phase_frequency: float
    delay: float
    stable: bool


class FrequencyResponse(NamedTuple):
    """Magnitude |G| and unwrapped phase ∠G [rad] at frequencies `omega` [rad/s]."""

    omega: Array
    magnitude: Array
    phase: Array


def margins(loop: object) -> Margins:
    """Return gain and phase margin of an open loop that is closed by negative feedback. Needs the extra `control`."""
    single = read_single(loop)
    made = single.to_control()
    gm, pm, w_gm, w_pm = python_control().margin(made)
    phase = math.radians(float(pm))
    delay = phase / float(w_pm) if np.isfinite(w_pm) and w_pm > 0 else math.inf
    return Margins(float(gm), phase, float(w_gm), float(w_pm), delay, _stable(python_control().feedback(made)))


def _stable(made: Any) -> bool:
    """Return whether every pole lies in the left half plane, or inside the unit circle if the system is sampled."""
    poles = np.asarray(made.poles())
    return bool((np.abs(poles) < 1).all() if made.isdtime(strict=True) else (poles.real < 0).all())


def frequency_response(system: object, omega: ArrayLike | None = None) -> FrequencyResponse:
    """Return |G(jω)| and ∠G(jω), by default at frequencies that show the features of G. Needs the extra `control`."""
    found = python_control().frequency_response(read_single(system).to_control(), _read_frequencies(omega))
    value = np.asarray(found.frdata)[0, 0]
    return FrequencyResponse(np.asarray(found.omega), np.abs(value), np.unwrap(np.angle(value)))


@styled
def bode_plot(system: object, omega: ArrayLike | None = None, label: str = "G") -> Figure:
    """Draw the Bode diagram with gain and phase margin by python-control (extra `control`)."""
    pyplot().figure(figsize=(6, 5), layout="constrained")
    made, given = read_single(system).to_control(), _read_frequencies(omega)
    made.name = label or "G"
    drawn = python_control().bode_plot(made, given, dB=False, Hz=False, deg=True, display_margins=True, title="")
    for panel, text in zip(drawn.axes.flat, ("|G| [1]", "∠G [°]"), strict=True):
        panel.set_ylabel(text)
    return cast("Figure", drawn.figure)


def _read_frequencies(omega: ArrayLike | None) -> Array | None:
    return None if omega is None else array("omega", omega, (None,), unit="rad/s", above=0.0)


# ------------------------------------------------------------------------------------------------------- lead and lag
@dataclass(frozen=True, eq=False)
class Compensator:
    """A compensator C(s) = K ((s + z)/(s + p))ⁿ.

    `phase` [rad] is added at the frequency or pole of the design. `residual` is the recomputed error of the loop."""

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
    """Return a lead that gives the loop a `phase_margin` [rad] at a `crossover` [rad/s], where |C G| = 1.

    The lead adds φ = PM − (180° + ∠G(jω)), which is largest midway between zero and pole: z = ω√a and p = ω/√a with
    a = (1 − sin φ)/(1 + sin φ). If φ < 0 the result is a lag. ∠G is unwrapped from ω = 0 on. A design whose closed loop
    is unstable raises InputError. With a dead time this check needs the extra `control`."""
    G = read_plant(plant)
    w = number("crossover", crossover, "rad/s", above=0.0)
    margin = number("phase_margin", phase_margin, "rad", above=0.0)
    if margin >= math.pi:
        raise InputError(
            "out-of-range",
            "phase_margin",
            margin,
            expected="less than π [rad]",
            remedy=f"If it is in degrees, pass math.radians({margin:g}).",
        )
    n = count("stages", stages, 1)
    value = complex(G(1j * w))
    if value == 0 or not cmath.isfinite(value):
        raise InputError("singular", "crossover", w, expected="not be a zero or a pole of the plant")
    phi = margin - math.pi - _phase(G, w)
    each = phi / n
    if abs(each) > MAX_LEAD_RAD:
        raise InputError(
            "infeasible",
            "crossover",
            w,
            problem=f"the phase of the plant must change by {math.degrees(phi):.0f}° at {w:g} rad/s, and one stage "
            f"changes it by at most {math.degrees(MAX_LEAD_RAD):.0f}°",
            remedy=f"Use {math.ceil(abs(phi) / MAX_LEAD_RAD)} stages or another crossover.",
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
    """Return ∠G(jω) [rad], unwrapped from ω = 0 on: root by root, each within ±90°; −180° at rest if G is negative."""

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
            "infeasible",
            "crossover",
            w,
            problem=f"with this phase margin at {w:g} rad/s the closed loop is unstable (pole at {worst:.3g})",
            remedy="Choose another crossover: the loop has further crossings of |C G| = 1.",
        )


def lead_for_pole(plant: object, s: complex, zero: float | None = None, stages: int = 1) -> Compensator:
    """Return a lead that puts a closed-loop pole at s: it adds the angle that G(s) lacks to 180°, with the right gain.

    If `zero` z is given (the zero is at −z), the pole follows from the angle. Otherwise the bisector places both as
    close together as possible. The other poles of the closed loop are not checked."""
    G = read_plant(plant)
    target, n = complex(s), count("stages", stages, 1)
    if not (cmath.isfinite(target) and target.imag > 0):
        raise InputError("out-of-range", "s", s, expected="a complex number with a positive imaginary part")
    lacking = math.remainder(math.pi - cmath.phase(complex(G(target))), 2 * math.pi)
    each = lacking / n
    theta = cmath.phase(target)
    if zero is None:
        zero_angle, pole_angle = (theta + each) / 2, (theta - each) / 2
    else:
        z = number("zero", zero, "1/s")
        zero_angle = cmath.phase(target + z)
        pole_angle = zero_angle - each
    if not (0 < pole_angle < math.pi and 0 < zero_angle < math.pi):
        raise InputError(
            "infeasible",
            "s",
            target,
            problem=f"the plant lacks {math.degrees(lacking):.0f}° at s = {target:.4g}, more than {n} stage"
            f"{'s' if n > 1 else ''} with such a zero can add",
            remedy="Use more stages or a zero farther to the right.",
        )
    z = target.imag / math.tan(zero_angle) - target.real
    p = target.imag / math.tan(pole_angle) - target.real
    K = 1.0 / abs(complex(G(target)) * ((target + z) / (target + p)) ** n)
    C = Compensator(K, z, p, n, lacking, 0.0)
    return replace(C, residual=abs(1 + complex(C.transfer(target)) * complex(G(target))))


def lag_for_accuracy(plant: object, factor: float, crossover: float, distance: float = 10.0) -> Compensator:
    """Return a lag that divides the steady-state error by `factor` and hardly changes the loop at its `crossover`
    [rad/s]: C = (s + z)/(s + z/factor), z = ω/`distance`."""
    G = read_plant(plant)
    beta = number("factor", factor, "1", above=1.0)
    w = number("crossover", crossover, "rad/s", above=0.0)
    z = w / number("distance", distance, "1", above=1.0)
    C = Compensator(1.0, z, z / beta, 1, 0.0, 0.0)
    value = complex(C.transfer(1j * w))
    before = complex(G(1j * w))
    return replace(C, phase=cmath.phase(value), residual=abs(abs(value * before) - abs(before)))
