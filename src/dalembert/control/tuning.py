"""Tuning a PID law by rule: from the gain and period at which a loop begins to oscillate, or from a step's answer.

Ziegler & Nichols 1942; Pessen 1954. The relay experiment finds gain and period without a model: a loop closed by a
switch oscillates nearly as it does at its ultimate gain,

    u = u₀ + d sgn(r − y), with hysteresis ε: it turns only when |r − y| has passed ε.

The first harmonic of u is 4d/π. If the plant lets only that pass, y swings by a = (4d/π) |G(jω)| at the frequency where
the phase is −180°, and K_u = 4d/(π a). The harmonics that do pass, and ε, shift it.  Åström & Hägglund 1984.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number, of_kind
from dalembert.control.linear import StateSpace, linearize, read_plant
from dalembert.control.pid import PID, Standard
from dalembert.control.root_locus import find_crossings
from dalembert.control.step_response import StepResponse
from dalembert.control.transfer import TransferFunction
from dalembert.errors import InputError, choose
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.scalar import where
from dalembert.simulation.fixed_step import integrate

LONGEST = 4_000_000  # steps
SHORTEST = 40  # steps of a period: with fewer, what is seen is the step and not the plant
PERIODS = 4  # over which the oscillation is measured, the last ones


class TuningRule(NamedTuple):
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


# Tables print 0.83, 0.33, 0.66, 0.066 for what are repeating decimals: these are the fractions.
ZIEGLER_NICHOLS: dict[str, TuningRule] = {
    "P": TuningRule(F(1, 2), None, None),
    "PI": TuningRule(F(9, 20), F(5, 6), None),
    "PD": TuningRule(F(4, 5), None, F(1, 8)),
    "classic PID": TuningRule(F(3, 5), F(1, 2), F(1, 8)),
    "Pessen integral rule": TuningRule(F(7, 10), F(2, 5), F(3, 20)),
    "some overshoot": TuningRule(F(1, 3), F(1, 2), F(1, 3)),
    "no overshoot": TuningRule(F(1, 5), F(1, 2), F(1, 3)),
}

# From a step's answer: K_p in units of T/(K L), times in units of L.
REACTION: dict[str, TuningRule] = {
    "P": TuningRule(F(1), None, None),
    "PI": TuningRule(F(9, 10), F(10, 3), None),
    "PID": TuningRule(F(6, 5), F(2), F(1, 2)),
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


def ultimate(plant: object) -> Ultimate:
    """K_u and T_u of a plant of one input and one output, from its model: the lowest gain K > 0 that brings a pole of
    1 + K G to the imaginary axis, which must be stable below it. Solved, not searched: G(jω) real and negative."""
    G = read_plant(plant)
    if _falls(G):
        raise InputError(
            "wrong-value",
            "plant",
            problem="the output of the plant falls when its input rises, so that every gain K > 0 feeds back "
            "positively",
            remedy="Pass −1 times the plant, and multiply the gains by −1.",
        )
    found = find_crossings(G)
    if not found:
        raise InputError(
            "infeasible",
            "plant",
            problem="the phase of the plant never reaches −180°, so no gain makes it oscillate steadily",
            remedy="Include its actuator, filter or dead time in the model, or place the poles of the closed loop.",
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
            "infeasible",
            "plant",
            problem=f"at half the gain ({0.5 * K:g}) at which the phase of the plant is −180° the loop is already "
            f"unstable (pole at {worst:.3g})",
        )


def ziegler_nichols(found: Ultimate | tuple[float, float], rule: str = "classic PID", **options: Any) -> PID:
    """The PID law of a row of `ZIEGLER_NICHOLS`, for K_u and T_u. `options` are those of `PID.of`."""
    row = ZIEGLER_NICHOLS[choose("Ziegler–Nichols rule", rule, ZIEGLER_NICHOLS)]
    K_u, T_u = (found.gain, found.period) if isinstance(found, Ultimate) else found
    K_u = number("the ultimate gain of the loop", K_u, "")
    T_u = number("the ultimate period of the loop", T_u, "s", above=0.0)
    if K_u == 0:
        raise InputError("out-of-range", "found", expected="not have an ultimate gain of 0")
    return PID.of(_scale(row, K_u, T_u), **options)


def _scale(row: TuningRule, K: float, T: float) -> Standard:
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
    times, values = array("t", t, (None,)), array("y", y, (None,))
    if times.shape != values.shape or times.size < 10:
        shapes = f"{times.shape} and {values.shape}"
        raise InputError(
            "wrong-shape",
            "y",
            problem=f"`t` and `y` must be arrays of the same length, at least 10; got shapes {shapes}",
        )
    if not (np.diff(times) > 0).all():
        raise InputError("wrong-order", "t", expected="strictly increasing")
    du = number("the height of the step", step, "")
    if du == 0:
        raise InputError("out-of-range", "step", du, expected="not be zero")
    rise = values[-1] - values[0]
    tail = values[int(0.95 * times.size) :]
    if not abs(rise) > 0 or np.ptp(tail) > 0.02 * abs(rise):
        raise InputError(
            "wrong-value",
            "y",
            problem="the response has not settled: its last twentieth still changes by more than 2 %",
            remedy="Record it longer.",
        )
    steep = np.gradient(values, times) * np.sign(rise)
    k = int(np.argmax(steep))
    L = times[k] - times[0] - (values[k] - values[0]) * np.sign(rise) / steep[k]
    return Reaction(float(rise) / du, float(max(L, 0.0)), float(abs(rise) / steep[k]), float(steep[k] / du))


def reaction_of(plant: object) -> Reaction:
    """The same of a model: end and steepest slope of its answer to a step are its own, G(0) and C (A x + B)."""
    G = read_plant(plant)
    if not G.stable:
        raise InputError("infeasible", "plant", problem="the step response of an unstable plant does not settle")
    answer = StepResponse(TransferFunction(G.num, G.den).state_space())
    begin = float(answer.y[0])
    rise = G.gain_at_rest - begin
    t, y, slope = answer.steepest()
    if not (rise and slope):
        raise InputError(
            "wrong-value", "plant", problem="the step response of the plant ends where it begins, so it has no rise"
        )
    return Reaction(rise, max(t - (y - begin) / slope, 0.0) + G.delay, rise / slope, slope)


def ziegler_nichols_step(found: Reaction, kind: str = "PID", **options: Any) -> PID:
    """The PID law of a row of `REACTION`: K_p = 1.2 T/(K L), T_i = 2 L, T_d = L/2 for "PID"."""
    row = REACTION[choose("law", kind, REACTION)]
    of_kind(found, Reaction, "this rule takes a Reaction (reaction_curve gives one), not")
    if found.delay <= 0:
        raise InputError(
            "wrong-value",
            "found",
            problem="the response begins at once (L = 0), so the gain T/(K L) of the rule is infinite",
        )
    return PID.of(_scale(row, found.time / (found.gain * found.delay), found.delay), **options)


# ------------------------------------------------------------------------------------------------- the relay experiment
@dataclass(frozen=True, eq=False)
class RelayExperiment:
    """`ultimate`: the estimate of K_u and T_u, whose residual is how much the period still changed, relatively.

    `amplitude`: half the swing of y; `harmonic`: the amplitude of its first harmonic; `response`: G(jω) where it
    oscillates, from the first harmonics of u and y; t, y, u: what was recorded."""

    ultimate: Ultimate
    amplitude: float
    harmonic: float
    response: complex
    t: Array
    y: Array
    u: Array


def relay_experiment(
    plant: object,
    amplitude: float = 1.0,
    hysteresis: float = 0.0,
    *,
    output: str | None = None,
    input: str | None = None,
    setpoint: float = 0.0,
    bias: float = 0.0,
    x0: ArrayLike | None = None,
    dt: float | None = None,
    duration: float | None = None,
) -> RelayExperiment:
    """Let a plant oscillate under a relay of height ±`amplitude` about `bias`, in one compiled loop, and measure it.

    `plant`: a TransferFunction, a StateSpace, a Flow or what has .flow(). `output` (a state or an observed output) and
    `input` by name, the first of each if not given. `dt` and `duration` [s] are taken from the poles at x0 if not
    given. The estimate is as good as the plant filters: harmonics of the square wave that pass shift the frequency, a
    few percent for three poles (`extrapolate` removes most of that). Hysteresis keeps noise from switching the relay;
    it lowers the frequency, and K_u is taken from 4d/(π √(a² − ε²))."""
    d = number("the amplitude of the relay", amplitude, "", above=0.0)
    band = number("the hysteresis of the relay", hysteresis, "", least=0.0)
    r = number("the set point of the relay", setpoint, "")
    middle = number("the bias of the relay", bias, "")
    flow = _flow(plant)
    column = flow.inputs.index(choose("input", input or flow.inputs[0], flow.inputs))
    places = (*flow.outputs, *flow.states)
    place = choose("output", output or places[0], places)
    n = len(flow.states)
    start = np.zeros(n) if x0 is None else np.asarray(x0, float)
    step, steps = _clock(flow, start, dt, duration)
    closed = _close_loop(flow, column, place, d, band, r, middle)
    run = integrate(closed, [*start, 1.0], step, steps, method="rk4")
    if run.diverged_at >= 0:
        when = float(run.diverged_at) * step
        raise InputError("diverged", "plant", problem=f"the plant diverges under the relay at t = {when:g} s")
    y, u = run.y[:, 0], run.y[:, 1]
    return _measure(run.t, y, u, d, band, r)


def _flow(plant: object) -> Flow:
    if isinstance(plant, TransferFunction):
        plant = plant.state_space()
    if isinstance(plant, StateSpace):
        return plant.flow()
    if not isinstance(plant, Flow) and callable(flow := getattr(plant, "flow", None)):
        plant = flow()
    driven = of_kind(plant, Flow, "a relay drives a TransferFunction, a StateSpace or a Flow, not")
    if not driven.inputs:
        raise InputError("wrong-structure", "plant", problem=f"{driven.name!r} has no input for the relay")
    return driven


def _clock(flow: Flow, x: Array, dt: float | None, duration: float | None) -> tuple[float, int]:
    """Step and number of steps; from the poles where they are not given."""
    if dt is None or duration is None:
        speeds = np.abs(linearize(flow, x, np.zeros(len(flow.inputs))).poles)
        speeds = speeds[speeds > 1e-9 * max(float(speeds.max(initial=0.0)), 1e-300)]
        if not speeds.size:
            raise InputError(
                "missing",
                "dt",
                problem="the poles of the plant at x0 set no time scale",
                remedy="Pass `dt` and `duration`.",
            )
        dt = 0.002 / float(speeds.max()) if dt is None else dt
        duration = 80.0 / float(speeds.min()) if duration is None else duration
    step = number("the step dt of the experiment", dt, "s", above=0.0)
    length = number("the duration of the experiment", duration, "s", above=step)
    if length / step > LONGEST:
        raise InputError(
            "too-large",
            "dt",
            problem=f"{length:g} s in steps of {step:g} s are more than {LONGEST:,} steps, because fast and slow "
            "poles are far apart",
            remedy="Pass `dt` and `duration`.",
        )
    return step, math.ceil(length / step)


def _close_loop(flow: Flow, column: int, place: str, d: float, band: float, r: float, middle: float) -> Flow:
    """The plant with its relay: the switch, ±1, is a state of its own that turns after a step."""
    n, m = len(flow.states), len(flow.inputs)

    def inputs(switch: Scalar) -> list[Scalar]:
        u: list[Scalar] = [0.0] * m
        u[column] = middle + d * switch
        return u

    def output(t: Scalar, x: Scalars) -> Scalar:
        if place in flow.states:
            return x[flow.states.index(place)]
        assert flow.observe is not None
        return flow.observe(t, x[:n], inputs(x[n]))[flow.outputs.index(place)]

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return [*flow.plain_rate(t, x[:n], inputs(x[n])), 0.0]

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        own = x[:n] if flow.settle is None else flow.settle(t, before[:n], x[:n], inputs(x[n]))
        e = r - output(t, [*own, x[n]])
        return [*own, where(e > band, 1.0, where(e < -band, -1.0, x[n]))]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return [output(t, x), inputs(x[n])[column]]

    return Flow(
        f"{flow.name} under a relay",
        (*flow.states, "relay"),
        (),
        rate,
        settle=settle,
        outputs=("relay_y", "relay_u"),
        observe=observe,
    )


def _measure(t: Array, y: Array, u: Array, d: float, band: float, r: float) -> RelayExperiment:
    """Periods from the times at which the error passes the band upwards, between samples by a straight line."""
    e = r - y
    up = np.flatnonzero(u[1:] > u[:-1])
    if up.size < PERIODS + 2:
        raise InputError(
            "infeasible",
            "plant",
            problem=f"the relay switched only {up.size} times, so the plant does not oscillate within the duration",
            remedy="Use a longer duration, a smaller hysteresis or a larger amplitude.",
        )
    share = np.clip((band - e[up]) / np.where(e[up + 1] != e[up], e[up + 1] - e[up], 1.0), 0.0, 1.0)
    turned = (t[up] + share * (t[up + 1] - t[up]))[-(PERIODS + 1) :]
    periods = np.diff(turned)
    T = float(periods.mean())
    step = float(t[1] - t[0])
    if SHORTEST * step > T:
        raise InputError(
            "infeasible",
            "plant",
            problem=f"the relay switches every {T / 2 / step:.0f} steps, because the phase of the plant does not "
            "reach −180° or dt is too long",
        )
    inside = (t >= turned[0]) & (t < turned[-1])
    swing = float(np.ptp(y[inside])) / 2
    turn = np.exp(-2j * math.pi / T * t[inside])
    first = complex(2 * (turn * (y[inside] - y[inside].mean())).mean())
    driving = complex(2 * (turn * (u[inside] - u[inside].mean())).mean())
    if not swing > band:
        raise InputError(
            "infeasible",
            "amplitude",
            d,
            problem=f"the output swings by {swing:g}, no more than the hysteresis {band:g}",
            remedy="Use a larger amplitude.",
        )
    K = 4 * d / (math.pi * math.sqrt(swing * swing - band * band))
    change = float(np.ptp(periods) / T)
    return RelayExperiment(Ultimate(K, T, change, "relay"), swing, abs(first), first / driving, t, y, u)


def extrapolate(first: RelayExperiment, second: RelayExperiment) -> Ultimate:
    """K_u and T_u from two experiments with different hysteresis: the phase of G(jω) is −180° where the line through
    both points, in log ω, passes it; log |G| is taken there. This removes most of what the harmonics do."""
    w1, w2 = (math.log(e.ultimate.frequency) for e in (first, second))
    p1, p2 = (cmath.phase(-e.response) for e in (first, second))
    g1, g2 = (math.log(abs(e.response)) for e in (first, second))
    if abs(p2 - p1) < 1e-3:
        raise InputError(
            "conflict",
            "second",
            problem="the two experiments oscillate at the same frequency",
            remedy="Use different values of hysteresis.",
        )
    share = p1 / (p1 - p2)
    w, g = w1 + share * (w2 - w1), g1 + share * (g2 - g1)
    left = max(first.ultimate.residual, second.ultimate.residual)
    return Ultimate(math.exp(-g), 2 * math.pi / math.exp(w), left, "relay")
