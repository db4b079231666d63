"""Tuning a PID law by rule: from the gain and period at which a loop begins to oscillate, or from a step's answer.

Ziegler & Nichols 1942; Pessen 1954; the table of seed 003. The relay experiment (Åström & Hägglund 1984) runs in
`relay`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import number
from dalembert.control.crossings import crossings
from dalembert.control.forms import Standard
from dalembert.control.linear import finite_array
from dalembert.control.pid import PID
from dalembert.control.step_answer import StepAnswer
from dalembert.control.transfer import TransferFunction, rational
from dalembert.errors import InputError, unknown

Array = NDArray[np.float64]


class Rule(NamedTuple):
    """K_p/K_u, T_i/T_u and T_d/T_u; None is a term that the law lacks."""

    K_p: F
    T_i: F | None
    T_d: F | None

    @property
    def K_i(self) -> F | None:
        """K_i in units of K_u/T_u."""
        return None if self.T_i is None else self.K_p / self.T_i

    @property
    def K_d(self) -> F | None:
        """K_d in units of K_u T_u."""
        return None if self.T_d is None else self.K_p * self.T_d


# The seven rows of seed 003. It prints 0.83, 0.33, 0.66, 0.066 with a bar that has slipped: the bar of a repeating
# decimal. The fractions give every one of its columns.
ZIEGLER_NICHOLS: dict[str, Rule] = {
    "P": Rule(F(1, 2), None, None),
    "PI": Rule(F(9, 20), F(5, 6), None),
    "PD": Rule(F(4, 5), None, F(1, 8)),
    "classic PID": Rule(F(3, 5), F(1, 2), F(1, 8)),
    "Pessen integral rule": Rule(F(7, 10), F(2, 5), F(3, 20)),
    "some overshoot": Rule(F(1, 3), F(1, 2), F(1, 3)),
    "no overshoot": Rule(F(1, 5), F(1, 2), F(1, 3)),
}

# From a step's answer: K_p in units of T/(K L), times in units of L.
REACTION: dict[str, Rule] = {
    "P": Rule(F(1), None, None),
    "PI": Rule(F(9, 10), F(10, 3), None),
    "PID": Rule(F(6, 5), F(2), F(1, 2)),
}


@dataclass(frozen=True)
class Ultimate:
    """`gain` K_u at which the loop oscillates steadily, with `period` T_u [s]; `residual`: |1 + K_u G(2πj/T_u)|,
    recomputed from the model, or how much the period of an experiment still changed."""

    gain: float
    period: float
    residual: float = 0.0
    source: str = "model"

    @property
    def frequency(self) -> float:
        """ω_u = 2π/T_u [rad/s]."""
        return 2 * math.pi / self.period


def ultimate(plant: Any) -> Ultimate:
    """K_u and T_u of a plant of one input and one output, from its model: the lowest gain K > 0 that brings a pole of
    1 + K G to the imaginary axis, which must be stable below it. Solved, not searched: G(jω) real and negative."""
    G = rational(plant)
    if _falls(G):
        raise InputError(
            "the sign of this plant is wrong: it falls when its input rises, so that every gain K > 0 feeds back "
            "positively. Give −1 times the plant, and take the gains found times −1"
        )
    found = crossings(G)
    if not found:
        raise InputError(
            "the phase of this plant never reaches −180°: no gain makes it oscillate steadily. It has no ultimate "
            "gain; give its actuator, its filter or its dead time to the model, or tune by the closed loop's poles"
        )
    K, s = found[0].gain, found[0].s
    _check_stable_below(G, K)
    return Ultimate(K, 2 * math.pi / abs(s), found[0].residual)


def _falls(G: TransferFunction) -> bool:
    """Whether a plant that is not unstable has a negative gain at rest (or lim sᵏ G(s), with k poles at zero)."""
    lowest = [p[np.flatnonzero(p)[-1]] for p in (G.num, G.den) if p.any()]
    return len(lowest) == 2 and lowest[0] * lowest[1] < 0 and not (G.poles.real > 1e-9 * np.abs(G.poles)).any()


def _check_stable_below(G: TransferFunction, K: float) -> None:
    if G.delay:
        G = G.pade(6)
    closed = np.roots(np.polyadd(G.den, 0.5 * K * G.num))
    if (closed.real > 1e-9 * np.abs(closed)).any():
        worst = closed[np.argmax(closed.real)]
        raise InputError(
            f"at half the gain ({0.5 * K:g}) at which this plant crosses −180° its loop is unstable already (a pole at "
            f"{worst:.3g}): gains cannot be raised from zero until it oscillates"
        )


def ziegler_nichols(found: Ultimate | tuple[float, float], rule: str = "classic PID", **options: Any) -> PID:
    """The PID law of a row of `ZIEGLER_NICHOLS`, for K_u and T_u. `options` are those of `PID.of`."""
    if rule not in ZIEGLER_NICHOLS:
        raise unknown("Ziegler–Nichols rule", rule, ZIEGLER_NICHOLS)
    K_u, T_u = (found.gain, found.period) if isinstance(found, Ultimate) else found
    K_u = number("the ultimate gain of the loop", K_u, "")
    T_u = number("the ultimate period of the loop", T_u, "s", above=0.0)
    if K_u == 0:
        raise InputError("the ultimate gain of the loop is 0: a loop that oscillates without gain cannot be tuned")
    return PID.of(_scaled(ZIEGLER_NICHOLS[rule], K_u, T_u), **options)


def _scaled(row: Rule, K: float, T: float) -> Standard:
    times = [None if x is None else float(x) * T for x in (row.T_i, row.T_d)]
    return Standard(float(row.K_p) * K, math.inf if times[0] is None else times[0], times[1] or 0.0)


# ------------------------------------------------------------------------------------------------- from a step's answer
class Reaction(NamedTuple):
    """A step's answer by its steepest tangent: `gain` K = Δy/Δu, `delay` L [s], `time` T [s] in which the tangent
    climbs all the way; `slope` Δy/(T Δu) at its steepest."""

    gain: float
    delay: float
    time: float
    slope: float


def reaction_curve(t: ArrayLike, y: ArrayLike, step: float = 1.0) -> Reaction:
    """Delay and rise of a measured answer to a step of the input at t[0], that settles: the steepest tangent meets the
    start at L and the end at L + T."""
    times, values = finite_array("t", t), finite_array("y", y)
    if times.ndim != 1 or times.shape != values.shape or times.size < 10:
        shapes = f"{times.shape} and {values.shape}"
        raise InputError(f"t and y are lists of the same length, at least 10; got shapes {shapes}")
    if not (np.diff(times) > 0).all():
        raise InputError("the times of a step's answer must rise")
    du = number("the height of the step", step, "")
    if du == 0:
        raise InputError("a step of height 0 tells nothing")
    rise = values[-1] - values[0]
    tail = values[int(0.95 * times.size) :]
    if not abs(rise) > 0 or np.ptp(tail) > 0.02 * abs(rise):
        raise InputError("the answer has not settled: its last twentieth still changes by over 2 %; record it longer")
    steep = np.gradient(values, times) * np.sign(rise)
    k = int(np.argmax(steep))
    L = times[k] - times[0] - (values[k] - values[0]) * np.sign(rise) / steep[k]
    return Reaction(float(rise) / du, float(max(L, 0.0)), float(abs(rise) / steep[k]), float(steep[k] / du))


def reaction_of(plant: Any) -> Reaction:
    """The same of a model: end and steepest slope of its answer to a step are its own, G(0) and C (A x + B)."""
    G = rational(plant)
    if not G.stable:
        raise InputError("the answer to a step does not settle: this plant is not stable")
    answer = StepAnswer(TransferFunction(G.num, G.den).state_space())
    begin = float(answer.y[0])
    rise = G.gain_at_rest - begin
    t, y, slope = answer.steepest()
    if not (rise and slope):
        raise InputError("the answer of this plant to a step ends where it begins: there is no rise to read")
    return Reaction(rise, max(t - (y - begin) / slope, 0.0) + G.delay, rise / slope, slope)


def ziegler_nichols_step(found: Reaction, kind: str = "PID", **options: Any) -> PID:
    """The PID law of a row of `REACTION`: K_p = 1.2 T/(K L), T_i = 2 L, T_d = L/2 for "PID"."""
    if kind not in REACTION:
        raise unknown("law", kind, REACTION)
    if not isinstance(found, Reaction):
        raise InputError(f"this rule takes a Reaction (reaction_curve gives one), not {type(found).__name__}")
    if found.delay <= 0:
        raise InputError("the answer begins at once (no delay L): the rule's gain T/(K L) would be infinite")
    return PID.of(_scaled(REACTION[kind], found.time / (found.gain * found.delay), found.delay), **options)
