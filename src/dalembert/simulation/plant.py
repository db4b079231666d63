"""What is simulated: any system as its flow, a controller or a function of the user's as a law, and how they begin."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import cast

import numpy as np

from dalembert.arguments import array, in_joint_order, three
from dalembert.compile.functions import LARGEST_ANGLE
from dalembert.errors import InputError, unknown
from dalembert.flow import Array, Flow, Scalar, Scalars, wrench_frames
from dalembert.flows.robot import PAYLOAD
from dalembert.law import Law, read_law
from dalembert.reference import Reference
from dalembert.simulation.fixed_step import list_names
from dalembert.simulation.plan import Same
from dalembert.units import warn_of_degrees

# What is said of a word that a Flow knows nothing of, and of one that a system's flow() knows nothing of.
OF_FLOWS = {
    "friction": "whether friction counts is said where {name!r} is made: in its rate",
    "wrenches": 'wrenches= does not apply to {name!r}. Name six inputs of the flow "tool.f_x" to "tool.n_z"',
}
OF_ALL = {
    "momenta": "method='symplectic' is for a Robot without friction, not for {name}: take another method",
    "payload": "payload= is for a Robot without sticking joints, not for {name}",
}


def read_system(system: object, words: Mapping[str, object], extras: Mapping[str, object]) -> Flow:
    """The flow of a system: a Flow, or what has flow(). The `words` a user gave are passed to flow(), or refused where
    it knows nothing of them; `extras` are passed where they are known."""
    if isinstance(system, Flow):
        fed = set(wrench_frames(system.inputs))
        for word in (w for w in words if w != "wrenches" or not fed.issuperset(cast("tuple[str, ...]", words[w]))):
            raise _refusal(word, f"a {type(system).__name__}", OF_FLOWS, repr(system.name)[1:-1])
        return system
    make = getattr(system, "flow", None)
    if isinstance(make, Flow):
        return read_system(make, words, extras)
    if not callable(make) or isinstance(system, type):
        raise InputError(
            "a system is a Flow or has flow(), as Robot, Constrained, DrivenRobot, FlexibleRobot and LagrangianSystem "
            f"have; got {type(system).__name__}"
        )
    known = _arguments(getattr(make, "__func__", make))
    own: Mapping[str, str] = getattr(system, "flow_refuses", {})
    for word in words:
        if word not in known:
            raise _refusal(word, f"a {type(system).__name__}", own, type(system).__name__)
    flow = make(**words, **{word: value for word, value in extras.items() if word in known})
    if not isinstance(flow, Flow):
        raise InputError(f"flow() of {type(system).__name__} gives a {type(flow).__name__}, not a Flow")
    return flow


@lru_cache(maxsize=64)
def _arguments(function: Callable[..., object]) -> tuple[str, ...]:
    """The names of the arguments of a function or a method."""
    return tuple(inspect.signature(function).parameters)


def _refusal(word: str, kind: str, own: Mapping[str, str], name: str) -> InputError:
    if word in OF_ALL:
        return InputError(OF_ALL[word].format(name=kind))
    return InputError(
        own.get(word, f"{word}= does not apply to {kind}: its flow() knows no such word").format(name=name)
    )


def read_controller(controller: object, flow: Flow) -> tuple[Law | None, bool]:
    """(law, whether it is asked in Python): of what has law(), a Law, or a function (t, q, qd) → u or (t, x) → u."""
    plain = not (controller is None or isinstance(controller, (Law, type)) or hasattr(controller, "law"))
    if plain and callable(controller):
        return _law_of_function(Same(controller), flow), True
    if plain:
        raise InputError(
            f"a controller has law(), or is a function of (t, q, qd) or (t, x); got {type(controller).__name__}"
        )
    law = read_law(controller)
    return law, law is not None and law.asked


@lru_cache(maxsize=16)
def _law_of_function(given: Same, flow: Flow) -> Law:
    """A function in Python as a law that is never traced."""
    function = cast("Callable[..., object]", given.it)
    n, outputs = flow.n, flow.driven
    try:
        kinds = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in kinds)
    except (TypeError, ValueError):
        count = 3
    if count not in (2, 3):
        raise InputError(f"a controller is a function of (t, q, qd) or of (t, x); this one takes {count} arguments")
    name = getattr(function, "__name__", type(function).__name__)

    def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[float]:
        x = np.array(y, float)
        made = function(t, x[:n], x[n:]) if count == 3 else function(t, x)
        try:
            u = np.asarray(made, float)
        except (TypeError, ValueError):
            u = np.full((1, 1), np.nan)
        if u.shape != (len(outputs),) and not (len(outputs) == 1 and u.shape == ()):
            shape = f"{made!r:.60}" if u.shape in ((), (1, 1)) else f"shape {u.shape}"
            raise InputError(
                f"the controller {name!r} gives {shape} at t = {t:g} s; it must give {len(outputs)} numbers: "
                f"{list_names(outputs)}"
            )
        return u.reshape(-1).tolist()

    measures = (*flow.states[:n], *flow.rates) if count == 3 else flow.states
    return Law(name, measures, (), outputs, act)


def start_state(flow: Flow, q: Array, qd: Array) -> Array:
    """The states (..., n) that positions and rates mean, arrays (..., n)."""
    if flow.start is not None:
        return flow.start(q, qd)
    rest = np.zeros((*q.shape[:-1], len(flow.states) - q.shape[-1] - qd.shape[-1]))
    return np.concatenate((q, qd, rest), -1)


def read_start(flow: Flow, q0: object, qd0: object, x0: object, own: Sequence[str] = ()) -> tuple[Array, Array | None]:
    """(the flow's state at the beginning, the law's if x0 gives it): from q0 and qd0, or the whole of it."""
    if x0 is not None:
        if q0 is not None or qd0 is not None:
            raise InputError("x0 is the whole state: give it, or q0 and qd0")
        n = len(flow.states)
        shapes = ((n,), (n + len(own),)) if own else ((n,),)
        found = array("x0", x0, *shapes, meaning=list_names((*flow.states, *own)))
        x, z = found[:n], found[n:] if len(found) > n or not own else None
    else:
        if q0 is None:
            if flow.n or not flow.states:
                raise InputError(f"give q0, where {flow.name!r} begins: {list_names(flow.states[: flow.n])}")
            raise InputError(f"{flow.name!r} has no positions: give x0, its whole state, {list_names(flow.states)}")
        q0, qd0 = (in_joint_order(name, x, flow.states[: flow.n]) for name, x in (("q0", q0), ("qd0", qd0)))
        sizes = dict.fromkeys((flow.n, flow.positions or flow.n))
        q = array("q0", q0, *((k,) for k in sizes), meaning=list_names(flow.states[: flow.n]))
        warn_of_positions(flow, "q0", q)
        sizes = dict.fromkeys((flow.nv if flow.velocities is not None else len(q), len(flow.rates)))
        meaning = list_names(flow.rates)
        qd = np.zeros(next(iter(sizes))) if qd0 is None else array("qd0", qd0, *((k,) for k in sizes), meaning=meaning)
        x, z = start_state(flow, q, qd), None
    if flow.check is not None:
        flow.check(x)
    return x, z


def warn_of_positions(flow: Flow, name: str, q: Array) -> None:
    """A UnitWarning, if positions of joints that turn look like degrees; an InputError, if they have no sines."""
    if flow.joints is not None:
        own = flow.joints.limits
        for joint, unit, x in zip(flow.states, flow.joints.units, q.tolist(), strict=False):
            if unit == "rad" and abs(x) > LARGEST_ANGLE:
                raise InputError(
                    f"{name} of {joint!r} is {x:g} rad; sines and cosines are computed up to {LARGEST_ANGLE:.3g} rad: "
                    "leave out full turns"
                )
        warn_of_degrees(name, q.tolist(), flow.joints.units, own.lower.tolist(), own.upper.tolist())


def warn_of_reference(flow: Flow, law: Law | None, motion: Reference | None, duration: float) -> None:
    """The same of a motion that a law of the joints follows, where it begins and where it ends: motions themselves do
    not know what their numbers are."""
    followed = [name.rpartition("_")[0] for name in law.follows] if law else []
    if motion is not None and flow.n and followed[: flow.n] == list(flow.states[: flow.n]):
        ends = [np.asarray(motion(t)[0], float) for t in (0.0, duration)]
        warn_of_positions(flow, "reference", max(ends, key=lambda x: np.abs(x).max()))


def check_names(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise unknown(what, name, known)


def words_for_names(
    system: object, names: Sequence[str], payload: Sequence[float] | bool | None = None
) -> dict[str, object]:
    """What flow() must be told for inputs that a user names to be there: a load at the tip, a wrench, parameters."""
    loaded = payload is not None and payload is not False
    if isinstance(system, Flow):
        return {"payload": payload} if loaded else {}
    words: dict[str, object] = {}
    if loaded:
        if PAYLOAD[0] not in names:
            raise InputError(
                f"payload says where a load hangs, and there is none: give parameters={{{PAYLOAD[0]!r}: …}}"
            )
        words["payload"] = payload if isinstance(payload, bool) else three("payload", payload)
    elif any(name in PAYLOAD for name in names):
        words["payload"] = True if any(name in PAYLOAD[1:] for name in names) else (0.0, 0.0, 0.0)
    if frames := wrench_frames(names):
        words["wrenches"] = frames
    varied = tuple(name for name in names if name in getattr(system, "flow_parameters", ()))
    return {**words, "parameters": varied} if varied else words
