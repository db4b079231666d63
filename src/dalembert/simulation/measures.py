"""How well a controller did, as one number a run: the table of measures, and how they ride along in the loop.

A measure is one more state of the flow: an integral, taken by the same method as the motion, or a number that is looked
at at the start and after each step. So nothing of a run needs to be kept to judge it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert import scalar
from dalembert.errors import InputError, unknown
from dalembert.flow import Array, Flow, Scalar, Scalars
from dalembert.law import Law

Judge = Callable[..., Scalar]

BAND = 0.02  # of the step: within it a response has settled
FLOOR = 1e-9  # [rad, m] the least band, where there is no step at all


def _total(values: Iterable[Scalar]) -> Scalar:
    result: Scalar = 0.0
    for value in values:
        result = result + value
    return result


def _mean_square(values: Scalars) -> Scalar:
    return _total(x * x for x in values) / max(len(values), 1)


def _largest(values: Iterable[Scalar]) -> Scalar:
    result: Scalar = 0.0
    for value in values:
        result = scalar.maximum(value, result)
    return result


@dataclass(frozen=True)
class Measure:
    """`integrand(t, e, e0, u)` is integrated, or `update(t, e, e0, u, value)` gives the new value at t = 0 and after
    each step; both start at 0. `finish(value, T)` makes of it what is reported (arrays). e: errors r − x [rad, m], e0:
    those with which the run began, u: what the controller put out. `needs`: which of "e", "u" must be known."""

    meaning: str
    needs: str
    integrand: Judge | None = None
    update: Judge | None = None
    finish: Callable[[Array, float], Array] | None = None


def _outside(t: Scalar, e: Scalars, e0: Scalars, u: Scalars, value: Scalar) -> Scalar:
    # The step as a whole: a joint that need not move is disturbed by those that do.
    band = scalar.maximum(BAND * scalar.sqrt(_total(x * x for x in e0)), FLOOR)
    return scalar.where(_largest(scalar.absolute(x) for x in e) > band, t, value)


def _overshoot(t: Scalar, e: Scalars, e0: Scalars, u: Scalars, value: Scalar) -> Scalar:
    beyond = [scalar.where(scalar.absolute(b) > 0.0, -a / b, 0.0) for a, b in zip(e, e0, strict=True)]
    return scalar.maximum(_largest(beyond), value)


def _settled(value: Array, T: float) -> Array:
    """Outside still at the end: not settled at all."""
    return np.where(value >= T * (1 - 1e-12), np.inf, value) if T > 0 else value


MEASURES: dict[str, Measure] = {
    "iae": Measure("∫ Σ|e| dt", "e", lambda t, e, e0, u: _total(scalar.absolute(x) for x in e)),
    "ise": Measure("∫ Σe² dt", "e", lambda t, e, e0, u: _total(x * x for x in e)),
    "itae": Measure("∫ t Σ|e| dt", "e", lambda t, e, e0, u: t * _total(scalar.absolute(x) for x in e)),
    "itse": Measure("∫ t Σe² dt", "e", lambda t, e, e0, u: t * _total(x * x for x in e)),
    "rms_error": Measure(
        "√(∫ Σe²/n dt / T)", "e", lambda t, e, e0, u: _mean_square(e), finish=lambda v, T: np.sqrt(v / T)
    ),
    "peak_error": Measure(
        "max |eᵢ|", "e", update=lambda t, e, e0, u, v: scalar.maximum(_largest(scalar.absolute(x) for x in e), v)
    ),
    "final_error": Measure(
        "√(Σe²) at the end", "e", update=lambda t, e, e0, u, v: scalar.sqrt(_total(x * x for x in e))
    ),
    "overshoot": Measure("the largest −eᵢ(t)/eᵢ(0), for set points", "e", update=_overshoot),
    "settling_time": Measure(
        "the last time at which an |eᵢ| is above 2 % of √(Σe(0)²); infinite if at the end",
        "e",
        update=_outside,
        finish=_settled,
    ),
    "rms_torque": Measure(
        "√(∫ Σu²/n dt / T)", "u", lambda t, e, e0, u: _mean_square(u), finish=lambda v, T: np.sqrt(v / T)
    ),
    "peak_torque": Measure(
        "max |uᵢ|", "u", update=lambda t, e, e0, u, v: scalar.maximum(_largest(scalar.absolute(x) for x in u), v)
    ),
    "effort": Measure("∫ Σ|u| dt", "u", lambda t, e, e0, u: _total(scalar.absolute(x) for x in u)),
}


# Of every batch of a system on contacts: the integrals of `flow.Contacts.excess`, which the loop itself adds.
CONTACT_EXCESS, CONTACT_DOUBT = "contact_excess", "contact_doubt"


@dataclass(frozen=True, eq=False)
class Measures:
    """What is measured of a run: `names` of MEASURES, or Measures of one's own by name; `error` says which state should
    be what, {state: output or number}, if not positions what the law follows."""

    names: Sequence[str] | str | Mapping[str, Measure] = ()
    error: Mapping[str, object] | None = None


def read_measures(measures: object) -> dict[str, Measure]:
    """Measures by name, or a user's own in a dictionary."""
    if isinstance(measures, Mapping):
        for name, row in measures.items():
            if not isinstance(row, Measure):
                raise InputError(f"measure {name!r} must be a Measure, got {type(row).__name__}")
        return dict(measures)
    if not isinstance(measures, (str, Iterable)):
        raise InputError(f"measures are names, or Measures by name; got {type(measures).__name__}")
    listed = (measures,) if isinstance(measures, str) else tuple(measures)
    for name in listed:
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
    return {name: MEASURES[name] for name in listed}


def read_errors(
    flow: Flow, positions: int, law: Law | None, error: Mapping[str, object] | None
) -> dict[str, str | float]:
    """{state: what it should be, an output's name or a number}: as given, or positions against what the law follows."""
    if error is None:
        follows = law.follows if law is not None else ()
        fits = positions and len(follows) in (positions, 2 * positions, 3 * positions)
        return dict(zip(flow.states[:positions], follows[:positions], strict=True)) if fits else {}
    if not isinstance(error, Mapping) or not error:
        raise InputError("error says which state should be what: {'joint1': 'joint1_d'}, or {'joint1': 0.5}")
    found: dict[str, str | float] = {}
    for state, wanted in error.items():
        if state not in flow.states:
            raise unknown(f"state of {flow.name!r}", state, flow.states)
        if isinstance(wanted, str) and wanted not in flow.outputs:
            raise unknown(f"output of {flow.name!r}", wanted, flow.outputs)
        if not isinstance(wanted, (str, int, float)):
            raise InputError(f"error of {state!r} must be against an output or a number, got {wanted!r}")
        found[state] = wanted
    return found


def finish_measures(rows: Mapping[str, Measure], values: Array, duration: float) -> dict[str, Array]:
    """What is reported, (...) each, of the last values (..., measures)."""
    return {
        name: values[..., k].copy() if row.finish is None else row.finish(values[..., k], duration)
        for k, (name, row) in enumerate(rows.items())
    }
