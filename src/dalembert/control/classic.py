"""Margins, Bode diagrams and step responses of any linear system here, by way of python-control (extra `control`)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.control.extras import python_control
from dalembert.control.linear import StateSpace, finite_array
from dalembert.control.step_answer import StepAnswer
from dalembert.control.transfer import TransferFunction
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError

Array = NDArray[np.float64]
BAND = 0.02  # of the end: within it an answer has settled


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


class Response(NamedTuple):
    """|G|, ∠G [rad] (unwrapped) at frequencies `omega` [rad/s]."""

    omega: Array
    magnitude: Array
    phase: Array


class StepFigures(NamedTuple):
    """Of a step's answer: end value, rise time 10–90 % [s], settling time to 2 % [s], overshoot (part of the end)."""

    end: float
    rise_time: float
    settling_time: float
    overshoot: float


def _loop(system: Any) -> Any:
    """The system in python-control, of one input and one output."""
    return _single(system).to_control()


def _single(system: Any) -> StateSpace | TransferFunction:
    """The system, of one input and one output."""
    if not isinstance(system, (StateSpace, TransferFunction)):
        for name in ("transfer", "state_space"):
            made = getattr(system, name, None)
            if callable(made):
                system = made()
                break
        else:
            raise InputError(
                f"a TransferFunction, a StateSpace or what has one is looked at here, not {type(system).__name__}"
            )
    if isinstance(system, StateSpace) and (len(system.inputs), len(system.outputs)) != (1, 1):
        raise InputError(
            f"this system has {len(system.inputs)} inputs and {len(system.outputs)} outputs: choose one of each with "
            ".of(inputs=…, outputs=…)"
        )
    found: StateSpace | TransferFunction = system
    return found


def margins(loop: Any) -> Margins:
    """Gain and phase margin of an open loop that is closed by negative feedback."""
    made = _loop(loop)
    gm, pm, w_gm, w_pm = python_control().margin(made)
    phase = math.radians(float(pm))
    delay = phase / float(w_pm) if np.isfinite(w_pm) and w_pm > 0 else math.inf
    return Margins(float(gm), phase, float(w_gm), float(w_pm), delay, _stable(python_control().feedback(made)))


def _stable(made: Any) -> bool:
    """Whether every pole lies in the left half plane; inside the unit circle, if sampled."""
    poles = np.asarray(made.poles())
    return bool((np.abs(poles) < 1).all() if made.isdtime(strict=True) else (poles.real < 0).all())


def frequency_response(system: Any, omega: ArrayLike | None = None) -> Response:
    """|G(jω)| and ∠G(jω); at frequencies that show its features if none are given."""
    given = None if omega is None else finite_array("omega", omega)
    if given is not None and (given.ndim != 1 or (given <= 0).any()):
        raise InputError("omega is a list of positive frequencies [rad/s]")
    found = python_control().frequency_response(_loop(system), given)
    value = np.asarray(found.frdata)[0, 0]
    return Response(np.asarray(found.omega), np.abs(value), np.unwrap(np.angle(value)))


def step_figures(system: Any) -> StepFigures:
    """Rise, settling and overshoot of the answer to a unit step: to rounding, which costs 1e-7 where poles are 1e8
    apart; of a sampled system, at its samples."""
    single = _single(system)
    sampled = isinstance(single, StateSpace) and single.dt is not None
    if not (_stable(single.to_control()) if sampled else (single.poles.real < 0).all()):
        raise InputError("this system is not stable: its answer to a step does not settle")
    if sampled:
        info = python_control().step_info(single.to_control(), SettlingTimeThreshold=BAND)
        names = ("SteadyStateValue", "RiseTime", "SettlingTime", "Overshoot")
        end, rise, settling, over = (float(info[name]) for name in names)
        return StepFigures(end, rise, settling, over / 100)
    late = 0.0
    if isinstance(single, TransferFunction):
        late, single = single.delay, TransferFunction(single.num, single.den).state_space()
    y = StepAnswer(single)
    if not abs(y.end) > 1e-12 * max(float(np.abs(y.y).max()), 1e-300):
        raise InputError("the answer of this system to a step ends at zero: there is no rise to read")
    rise = y.first(0.9 * y.end) - y.first(0.1 * y.end)
    return StepFigures(y.end, rise, late + y.last_outside(BAND * abs(y.end)), max(y.highest() - 1.0, 0.0))


@styled
def bode_plot(system: Any, omega: ArrayLike | None = None, label: str = "") -> Any:
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
    return figure


@styled
def step_plot(system: Any, t: ArrayLike | None = None, ax: Any = None) -> Any:
    """The answer to a unit step, drawn."""
    if ax is None:
        ax = pyplot().subplots(figsize=(6, 3.5), layout="constrained")[1]
    times = None if t is None else finite_array("t", t)
    found = python_control().step_response(_loop(system), times)
    ax.plot(found.time, np.squeeze(found.outputs), lw=1.4)
    ax.set_xlabel("t [s]")
    ax.set_ylabel("y [1]")
    ax.set_title("step response")
    return ax.figure
