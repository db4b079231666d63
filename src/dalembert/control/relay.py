"""The relay experiment: a loop closed by a switch oscillates nearly as it does at its ultimate gain.

    u = u₀ + d sgn(r − y), with hysteresis ε: it turns only when |r − y| has passed ε

The first harmonic of u is 4d/π. If the plant lets only that pass, y swings by a = (4d/π) |G(jω)| at the frequency where
the phase is −180°, and K_u = 4d/(π a). The harmonics that do pass, and ε, shift it.  Åström & Hägglund 1984.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import number
from dalembert.control.linear import StateSpace, linearized
from dalembert.control.transfer import TransferFunction
from dalembert.control.tuning import Ultimate
from dalembert.errors import InputError, unknown
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.scalar import where
from dalembert.simulation.fixed import integrate

Array = NDArray[np.float64]
LONGEST = 4_000_000  # steps
SHORTEST = 40  # steps of a period: with fewer, what is seen is the step and not the plant
PERIODS = 4  # over which the oscillation is measured, the last ones


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
    plant: Any,
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
    few percent for three poles (`extrapolated` removes most of that). Hysteresis keeps noise from switching the relay;
    it lowers the frequency, and K_u is taken from 4d/(π √(a² − ε²))."""
    d = number("the amplitude of the relay", amplitude, "", above=0.0)
    band = number("the hysteresis of the relay", hysteresis, "", least=0.0)
    r = number("the set point of the relay", setpoint, "")
    middle = number("the bias of the relay", bias, "")
    flow = _flow(plant)
    column = flow.inputs.index(_named("input", input, flow.inputs))
    place = _named("output", output, (*flow.outputs, *flow.states))
    n = len(flow.states)
    start = np.zeros(n) if x0 is None else np.asarray(x0, float)
    step, steps = _clock(flow, start, dt, duration)
    closed = _closed(flow, column, place, d, band, r, middle)
    run = integrate(closed, [*start, 1.0], step, steps, method="rk4")
    if run.diverged_at >= 0:
        when = float(run.diverged_at) * step
        raise InputError(f"the plant ran away under the relay, at t = {when:g} s: is it stable?")
    y, u = run.y[:, 0], run.y[:, 1]
    return _measured(run.t, y, u, d, band, r)


def _flow(plant: Any) -> Flow:
    if isinstance(plant, TransferFunction):
        plant = plant.state_space()
    if isinstance(plant, StateSpace):
        return plant.flow()
    if not isinstance(plant, Flow) and callable(getattr(plant, "flow", None)):
        plant = plant.flow()
    if not isinstance(plant, Flow):
        raise InputError(f"a relay drives a TransferFunction, a StateSpace or a Flow, not {type(plant).__name__}")
    if not plant.inputs:
        raise InputError(f"{plant.name!r} has no input for a relay to drive")
    return plant


def _named(kind: str, name: str | None, names: tuple[str, ...]) -> str:
    if name is None:
        return names[0]
    if name not in names:
        raise unknown(kind, name, names)
    return name


def _clock(flow: Flow, x: Array, dt: float | None, duration: float | None) -> tuple[float, int]:
    """Step and number of steps; from the poles where they are not given."""
    if dt is None or duration is None:
        speeds = np.abs(linearized(flow, x, np.zeros(len(flow.inputs))).poles)
        speeds = speeds[speeds > 1e-9 * max(float(speeds.max(initial=0.0)), 1e-300)]
        if not speeds.size:
            raise InputError("the plant has no time scale of its own at x0: give dt and duration")
        dt = 0.002 / float(speeds.max()) if dt is None else dt
        duration = 80.0 / float(speeds.min()) if duration is None else duration
    step = number("the step dt of the experiment", dt, "s", above=0.0)
    length = number("the duration of the experiment", duration, "s", above=step)
    if length / step > LONGEST:
        raise InputError(
            f"{length:g} s in steps of {step:g} s are more than {LONGEST:,} steps: fast and slow poles lie far apart; "
            "give dt and duration"
        )
    return step, math.ceil(length / step)


def _closed(flow: Flow, column: int, place: str, d: float, band: float, r: float, middle: float) -> Flow:
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
        return [*flow.rate(t, x[:n], inputs(x[n])), 0.0]

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


def _measured(t: Array, y: Array, u: Array, d: float, band: float, r: float) -> RelayExperiment:
    """Periods from the times at which the error passes the band upwards, between samples by a straight line."""
    e = r - y
    up = np.flatnonzero(u[1:] > u[:-1])
    if up.size < PERIODS + 2:
        raise InputError(
            f"the relay turned on only {up.size} times: the plant does not oscillate under it, or not within the "
            "duration; make it longer, the hysteresis smaller or the amplitude larger"
        )
    share = np.clip((band - e[up]) / np.where(e[up + 1] != e[up], e[up + 1] - e[up], 1.0), 0.0, 1.0)
    turned = (t[up] + share * (t[up + 1] - t[up]))[-(PERIODS + 1) :]
    periods = np.diff(turned)
    T = float(periods.mean())
    step = float(t[1] - t[0])
    if SHORTEST * step > T:
        raise InputError(
            f"the relay turns every {T / 2 / step:.0f} steps: this plant answers at once and chatters (its phase does "
            "not reach −180°), or dt is too long"
        )
    inside = (t >= turned[0]) & (t < turned[-1])
    swing = float(np.ptp(y[inside])) / 2
    turn = np.exp(-2j * math.pi / T * t[inside])
    first = complex(2 * (turn * (y[inside] - y[inside].mean())).mean())
    driving = complex(2 * (turn * (u[inside] - u[inside].mean())).mean())
    if not swing > band:
        raise InputError(f"the output swings by {swing:g}, no more than the hysteresis {band:g}: raise the amplitude")
    K = 4 * d / (math.pi * math.sqrt(swing * swing - band * band))
    change = float(np.ptp(periods) / T)
    return RelayExperiment(Ultimate(K, T, change, "relay"), swing, abs(first), first / driving, t, y, u)


def extrapolated(first: RelayExperiment, second: RelayExperiment) -> Ultimate:
    """K_u and T_u from two experiments with different hysteresis: the phase of G(jω) is −180° where the line through
    both points, in log ω, passes it; log |G| is taken there. This removes most of what the harmonics do."""
    w1, w2 = (math.log(e.ultimate.frequency) for e in (first, second))
    p1, p2 = (cmath.phase(-e.response) for e in (first, second))
    g1, g2 = (math.log(abs(e.response)) for e in (first, second))
    if abs(p2 - p1) < 1e-3:
        raise InputError("the two experiments oscillate alike: give them different hysteresis")
    share = p1 / (p1 - p2)
    w, g = w1 + share * (w2 - w1), g1 + share * (g2 - g1)
    left = max(first.ultimate.residual, second.ultimate.residual)
    return Ultimate(math.exp(-g), 2 * math.pi / math.exp(w), left, "relay")
