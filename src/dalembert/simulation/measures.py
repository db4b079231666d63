"""How well a controller did, as one number a run: the table of measures, and how they ride along in the loop.

A measure is one more state of the flow: an integral, taken by the same method as the motion, or a number that is looked
at at the start and after each step. So nothing of a run needs to be kept to judge it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert import scalar
from dalembert.errors import InputError, unknown
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.law import Law

Array = NDArray[np.float64]
Judge = Callable[..., Scalar]

BAND = 0.02  # of the step: within it a response has settled
FLOOR = 1e-9  # [rad, m] the least band, where there is no step at all
START = "_start"


def _total(values: Any) -> Scalar:
    result: Scalar = 0.0
    for value in values:
        result = result + value
    return result


def _largest(values: Any) -> Scalar:
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
        "√(∫ Σe² dt / T)", "e", lambda t, e, e0, u: _total(x * x for x in e), finish=lambda v, T: np.sqrt(v / T)
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
        "√(∫ Σu² dt / T)", "u", lambda t, e, e0, u: _total(x * x for x in u), finish=lambda v, T: np.sqrt(v / T)
    ),
    "peak_torque": Measure(
        "max |uᵢ|", "u", update=lambda t, e, e0, u, v: scalar.maximum(_largest(scalar.absolute(x) for x in u), v)
    ),
    "effort": Measure("∫ Σ|u| dt", "u", lambda t, e, e0, u: _total(scalar.absolute(x) for x in u)),
}


def chosen(measures: Any) -> dict[str, Measure]:
    """Measures by name, or a user's own in a dictionary."""
    if isinstance(measures, Mapping):
        for name, row in measures.items():
            if not isinstance(row, Measure):
                raise InputError(f"measure {name!r} must be a Measure, got {type(row).__name__}")
        return dict(measures)
    listed = (measures,) if isinstance(measures, str) else tuple(measures)
    for name in listed:
        if name not in MEASURES:
            raise unknown("measure", name, MEASURES)
    return {name: MEASURES[name] for name in listed}


def errors_of(flow: Flow, law: Law | None, error: Mapping[str, Any] | None) -> dict[str, Any]:
    """{state: what it should be, an output's name or a number}: as given, or positions against what the law follows."""
    if error is not None:
        if not isinstance(error, Mapping) or not error:
            raise InputError("error says which state should be what: {'joint1': 'joint1_d'}, or {'joint1': 0.5}")
        for state, wanted in error.items():
            if state not in flow.states:
                raise unknown(f"state of {flow.name!r}", state, flow.states)
            if isinstance(wanted, str) and wanted not in flow.outputs:
                raise unknown(f"output of {flow.name!r}", wanted, flow.outputs)
            if not isinstance(wanted, (str, int, float)):
                raise InputError(f"error of {state!r} must be against an output or a number, got {wanted!r}")
        return dict(error)
    n = flow.positions
    if law is not None and n and len(law.follows) in (n, 2 * n, 3 * n):
        return dict(zip(flow.states[:n], law.follows[:n], strict=True))
    return {}


def _judge(flow: Flow, pairs: Mapping[str, Any], efforts: Sequence[str]) -> Callable[..., tuple[Any, ...]]:
    """(t, x, u) → (t, e, e0, what the controller puts out)."""
    n, m = len(flow.states), len(flow.inputs)
    states = [flow.states.index(s) for s in pairs]

    def judged(t: Scalar, x: Scalars, u: Scalars) -> tuple[Scalar, list[Scalar], list[Scalar], list[Scalar]]:
        y = {} if flow.observe is None else dict(zip(flow.outputs, flow.observe(t, x[:n], u[:m]), strict=True))
        wanted = [y[w] if isinstance(w, str) else w for w in pairs.values()]
        e = [w - x[k] for w, k in zip(wanted, states, strict=True)]
        e0 = [w - s for w, s in zip(wanted, u[m:], strict=True)]
        return t, e, e0, [y[o] for o in efforts]

    return judged


def begun(
    flow: Flow, law: Law | None, measures: Mapping[str, Measure], error: Mapping[str, Any] | None
) -> Callable[[Scalars, Scalars], list[Scalar]] | None:
    """(x, u) of a closed loop with its measures at t = 0 → x as it begins: the law's states where it starts them, the
    measures as they are then. None where there is nothing to be done."""
    rows = list(measures.values())
    start = law.start if law is not None else None
    if start is None and all(row.update is None for row in rows):
        return None
    judged = _judge(flow, errors_of(flow, law, error), law.outputs if law is not None else ())
    n = len(flow.states)

    def begin(x: Scalars, u: Scalars) -> list[Scalar]:
        now = list(x[:n])
        if law is not None and start is not None:
            z = list(start([now[flow.states.index(y)] for y in law.measures]))
            if len(z) != len(law.states):
                raise InputError(f"{law.name!r} starts with {len(z)} numbers for its {len(law.states)} states")
            now[n - len(z) :] = z
        seen = judged(0.0, now, u)
        return [*now, *(v if r.update is None else r.update(*seen, v) for r, v in zip(rows, x[n:], strict=True))]

    return begin


def measured(flow: Flow, law: Law | None, measures: Mapping[str, Measure], error: Mapping[str, Any] | None) -> Flow:
    """A closed loop with measures as its last states; where errors are measured, what the states were at the start is
    an input, "<state>_start", its last."""
    if not measures:
        return flow
    pairs = errors_of(flow, law, error)
    efforts: Sequence[str] = law.outputs if law is not None else ()
    for name, row in measures.items():
        if "e" in row.needs and not pairs:
            raise InputError(
                f"{name} measures errors, and of {flow.name!r} it is not known which state follows what: "
                "give error={state: output or number}"
            )
        if "u" in row.needs and not efforts:
            raise InputError(f"{name} measures what a controller puts out, and there is none")
        if name in flow.states:
            raise InputError(f"a measure and a state are both called {name!r}")
    n, m = len(flow.states), len(flow.inputs)
    rows, judged = list(measures.values()), _judge(flow, pairs, efforts)

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        seen = judged(t, x, u)
        return [*flow.rate(t, x[:n], u[:m]), *(0.0 if r.integrand is None else r.integrand(*seen) for r in rows)]

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        now = list(x[:n]) if flow.settle is None else list(flow.settle(t, before[:n], x[:n], u[:m]))
        seen = judged(t, now, u)
        return [*now, *(v if r.update is None else r.update(*seen, v) for r, v in zip(rows, x[n:], strict=True))]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        assert flow.observe is not None
        return flow.observe(t, x[:n], u[:m])

    updated = any(r.update is not None for r in rows)
    return Flow(
        flow.name,
        (*flow.states, *measures),
        (*flow.inputs, *(f"{s}{START}" for s in pairs)),
        rate,
        positions=flow.positions,
        settle=settle if updated or flow.settle is not None else None,
        outputs=flow.outputs,
        observe=None if flow.observe is None else observe,
    )
