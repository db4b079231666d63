"""A flow under a law as one flow: what is simulated, in batches too, is the closed loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.compile import compile_function
from dalembert.errors import InputError, unknown
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.law import Law
from dalembert.reference import Reference
from dalembert.simulation.limits import clipped, torque_limits_of

ORDERS = 3  # x, ẋ, ẍ
DISTURBANCE = "_disturbance"


def closed(
    flow: Flow,
    law: Law,
    reference: Reference | ArrayLike | None = None,
    *,
    disturbed: Sequence[str] = (),
    torque_limits: Any = None,
    name: str | None = None,
) -> Flow:
    """The closed loop (x, z)˙ = (f(t, x, u), g(t, y, r, z, p)), u = act(t, y, r, z, p) + d, as a flow of its own.

    States: those of the flow, then the law's. Inputs, in this order: those of the flow that the law does not drive; the
    law's parameters, by name; the reference's entries (`law.follows`) where the reference is not known beforehand: none
    given, or one that cannot be traced; for each driven input named in `disturbed` a disturbance d that is added to it,
    "<input>_disturbance". Outputs: the flow's, what the law puts out (without d), and r.

    r is (x, ẋ, ẍ) of the reference, or as much of it as the law follows: m, 2 m or 3 m numbers for a motion of m. A
    reference that is m numbers is a set point: at rest there. What settles the flow is given u of that instant.
    torque_limits (a number, one per output of the law, or (lower, upper)) clip what the law puts out, before d; its
    states are not told."""
    _check(flow, law)
    follow = _reference(law, reference)
    disturbed = (disturbed,) if isinstance(disturbed, str) else tuple(disturbed)
    for d in disturbed:
        if d not in law.outputs:
            raise unknown(f"output of {law.name!r} to disturb", d, law.outputs)
    limits = torque_limits_of(torque_limits, law.outputs, flow.name, None)
    free = tuple(i for i in flow.inputs if i not in law.outputs)
    gains = tuple(law.parameters)
    asked = law.follows if follow is None else ()
    added = tuple(f"{d}{DISTURBANCE}" for d in disturbed)
    inputs = (*free, *gains, *asked, *added)
    _distinct(f"inputs of {flow.name!r} under {law.name!r}", inputs)
    n, measured = len(flow.states), [flow.states.index(y) for y in law.measures]
    a, b, c = len(free), len(free) + len(gains), len(free) + len(gains) + len(asked)
    # Where each input of the flow comes from: the user's own, or the law and perhaps a disturbance beside it.
    place = [(i in law.outputs, (law.outputs if i in law.outputs else free).index(i)) for i in flow.inputs]
    beside = {law.outputs.index(d): c + k for k, d in enumerate(disturbed)}

    def arguments(t: Scalar, x: Scalars, u: Scalars) -> tuple[Scalar, Scalars, Scalars, Scalars, Scalars]:
        r = u[b:c] if follow is None else follow(t)
        return t, [x[k] for k in measured], r, x[n:], u[a:b]

    def acted(given: tuple[Scalar, Scalars, Scalars, Scalars, Scalars]) -> list[Scalar]:
        made = _whole(f"{law.name!r} gives", law.act(*given), law.outputs, "outputs")
        return made if limits is None else [clipped(u, *pair) for u, pair in zip(made, limits, strict=True)]

    def whole_input(u: Scalars, made: Scalars) -> list[Scalar]:
        drive = [v + u[beside[k]] if k in beside else v for k, v in enumerate(made)]
        return [(drive if of_law else u)[k] for of_law, k in place]

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        given = arguments(t, x, u)
        moved = flow.rate(t, x[:n], whole_input(u, acted(given)))
        xd = _whole(f"the rate of {flow.name!r} gives", moved, flow.states, "states")
        if law.rate is None:
            return xd
        return [*xd, *_whole(f"the rate of {law.name!r} gives", law.rate(*given), law.states, "states")]

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        assert flow.settle is not None
        now = whole_input(u, acted(arguments(t, x, u)))
        return [*flow.settle(t, before[:n], x[:n], now), *x[n:]]

    shown = [k for k, o in enumerate(law.outputs) if o not in flow.outputs]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        given = arguments(t, x, u)
        made = acted(given)
        seen: list[Scalar] = []
        if flow.observe is not None:
            found = flow.observe(t, x[:n], whole_input(u, made))
            seen = _whole(f"what observes {flow.name!r} gives", found, flow.outputs, "outputs")
        return [*seen, *(made[k] for k in shown), *given[2]]

    outputs = (*flow.outputs, *(law.outputs[k] for k in shown), *law.follows)
    _distinct(f"outputs of {flow.name!r} under {law.name!r}", outputs)
    return Flow(
        name or f"{flow.name} under {law.name}",
        (*flow.states, *law.states),
        inputs,
        rate,
        positions=flow.positions,
        settle=None if flow.settle is None else settle,
        outputs=outputs,
        observe=observe if outputs else None,
    )


def with_states_of(law: Law, x0: ArrayLike, states: Sequence[str] = ()) -> NDArray[np.float64]:
    """(..., n) → (..., n + z): the states of a flow and, after them, the law's own at their start; `states` names the
    flow's, for a law that starts where it measures."""
    x = np.asarray(x0, float)
    if law.start is None:
        z = np.broadcast_to(np.asarray(law.initial, float), (*x.shape[:-1], len(law.initial)))
    else:
        for name in law.measures:
            if name not in states:
                raise unknown(f"state that {law.name!r} measures at its start", name, states)
        y, size = x[..., [states.index(name) for name in law.measures]], len(law.states)
        begin = compile_function(law.start, [y.shape[-1:]], [(size,)], f"start of {law.name}", arguments=("y",))
        z = np.asarray(begin(y))
    return np.concatenate((x, z), -1)


# ------------------------------------------------------------------------------------------------------- the input
def _check(flow: Flow, law: Law) -> None:
    if not isinstance(flow, Flow):
        raise InputError(f"a Flow is closed by a law, not a {type(flow).__name__}; robot_flow makes one of a Robot")
    if not isinstance(law, Law):
        raise InputError(f"a Law closes the loop of {flow.name!r}, not a {type(law).__name__}")
    for y in law.measures:
        if y not in flow.states:
            raise unknown(f"state of {flow.name!r} that {law.name!r} measures", y, flow.states)
    for o in law.outputs:
        if o not in flow.inputs:
            raise unknown(f"input of {flow.name!r} that {law.name!r} drives", o, flow.inputs)
    if not law.outputs:
        raise InputError(f"{law.name!r} has no outputs: it drives nothing of {flow.name!r}")
    for what, names in (("outputs", law.outputs), ("reference entries", law.follows)):
        _distinct(f"{what} of {law.name!r}", names)
    _distinct(f"states of {flow.name!r} under {law.name!r}", (*flow.states, *law.states))
    if len(law.initial) != len(law.states):
        raise InputError(f"{law.name!r} gives {len(law.initial)} initial values for its {len(law.states)} states")
    for what, values in (("initial", dict(zip(law.states, law.initial, strict=True))), ("parameter", law.parameters)):
        for key, value in values.items():
            if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
                raise InputError(f"{what} {key!r} of {law.name!r} must be a finite number, got {value!r}")
    if (law.rate is None) != (not law.states):
        if law.update is not None:
            raise InputError(f"{law.name!r} only says how its states change from sample to sample: it has no rate")
        what = "states but no rate" if law.states else "a rate but no states"
        raise InputError(f"{law.name!r} has {what}: it must have both, or neither")


def _distinct(what: str, names: Sequence[str]) -> None:
    twice = next((x for k, x in enumerate(names) if x in names[:k]), None)
    if twice is not None:
        raise InputError(f"the {what} must have different names, and {twice!r} is there twice")


def _whole(what: str, given: Any, names: Sequence[str], kind: str) -> list[Scalar]:
    try:
        result = list(given)
    except TypeError:
        raise InputError(f"{what} a {type(given).__name__}, not {len(names)} {kind}") from None
    if len(result) != len(names):
        raise InputError(f"{what} {len(result)} numbers for {len(names)} {kind}: {', '.join(names)}")
    return result


def _reference(law: Law, reference: Reference | ArrayLike | None) -> Callable[[Scalar], list[Scalar]] | None:
    """r(t) as a function over scalars; None where r is an input."""
    wanted = len(law.follows)
    if reference is None or wanted == 0:
        if reference is not None:
            raise InputError(f"{law.name!r} follows nothing: give no reference")
        return None if wanted else lambda t: []
    if isinstance(reference, Reference):
        orders = _orders(law, reference.m, "a motion")
        if reference.trace(0.0) is None:
            return None

        def follow(t: Scalar) -> list[Scalar]:
            traced = reference.trace(t)
            assert traced is not None
            return [v for part in traced[:orders] for v in _whole("the reference gives", part, names, "numbers")]

        names = [f"x{k}" for k in range(reference.m)]
        return follow
    try:
        point = np.asarray(reference, float)
    except (TypeError, ValueError):
        raise InputError(f"a reference is a Reference or a set point of numbers, got {reference!r:.60}") from None
    if point.ndim != 1:
        raise InputError(
            f"a set point is a list of numbers, got shape {point.shape}; one for each run of a batch is given by "
            f"parameters {', '.join(law.follows[:3])}, …"
        )
    if not np.isfinite(point).all():
        raise InputError(f"the set point {point} must be finite")
    _orders(law, len(point), "a set point")
    r = [*point.tolist(), *([0.0] * (wanted - len(point)))]
    return lambda t: list(r)


def _orders(law: Law, m: int, what: str) -> int:
    orders, rest = divmod(len(law.follows), m) if m else (0, 1)
    if law.coordinates not in (None, m):
        own = law.coordinates
        raise InputError(f"{law.name!r} follows a motion of {own} and its rates, and {what} of {m} is not one")
    if rest or not 1 <= orders <= ORDERS:
        raise InputError(
            f"{law.name!r} follows {len(law.follows)} numbers ({', '.join(law.follows[:4])}"
            f"{', …' if len(law.follows) > 4 else ''}), and {what} of {m} has {m}, {2 * m} or {3 * m} with its rates"
        )
    return orders
