"""What a user asks of a batch, looked at once: the closed loop, every column of numbers, how many rollouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import switch, three
from dalembert.compile import Kernel, compile_function
from dalembert.errors import InputError, unknown
from dalembert.flow import Flow
from dalembert.kinematics.tasks import finite
from dalembert.lagrange.system import LagrangianSystem
from dalembert.law import Law
from dalembert.reference import Reference
from dalembert.robot import Robot
from dalembert.simulation.closed import DISTURBANCE, closed
from dalembert.simulation.draws import Distribution, Noise, key_of
from dalembert.simulation.fixed import checked, rollout_of, whole_steps
from dalembert.simulation.flows import PAYLOAD, WRENCH, lagrangian_flow, robot_flow
from dalembert.simulation.limits import Limits, torque_limits_of
from dalembert.simulation.measures import START, Measure, begun, chosen, errors_of, measured
from dalembert.simulation.plan import Column, Plan, Same
from dalembert.simulation.signals import reference_of
from dalembert.simulation.steps import METHODS
from dalembert.simulation.systems import Options, plant_of
from dalembert.units import warn_of_motion

Array = NDArray[np.float64]
Begin = Callable[[Sequence[Any], Sequence[Any]], list[Any]]
KEEP = ("final", "all", "statistics")


@dataclass(frozen=True, eq=False)
class Request:
    """A plan, the arrays it is cut from, and the names of what it is about."""

    plan: Plan
    number: int
    arrays: dict[str, Array]  # (B, size), or (B, steps), by the name of the column
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    positions: int
    measures: dict[str, Measure]

    @property
    def dt(self) -> float:
        return self.plan.dt

    def cut(self, first: int, count: int) -> dict[str, Array]:
        return {name: array[first : first + count] for name, array in self.arrays.items()}

    def drawn(self, first: int, count: int) -> dict[str, Array]:
        """What differs between rollouts first, …: (count, …) by name; noise and what moves left out."""
        cut = self.cut(first, count)
        found = {}
        for column in (*self.plan.initial, *self.plan.held):
            if column.value is None or isinstance(column.value, Distribution):
                value = self.plan.values(column, first, count, cut)
                found[column.name] = value[:, 0] if column.size == 1 and column in self.plan.held else value
        return found

    def largest_state(self, index: int, steps: int) -> str:
        """The state of rollout `index` that is largest after so many steps."""
        cut = self.cut(index, 1)
        moving = tuple(
            Column(c.name, c.size, self.plan.values(c, index, 1, cut)[:, : max(steps, 1)]) for c in self.plan.moving
        )
        shorter = replace(self.plan, steps=steps, every=max(steps, 1), rows="final", moving=moving)
        last = np.abs(shorter.run(index, 1, cut).last[0, : len(self.states) - len(self.measures)])
        return self.states[int(np.argmax(np.where(np.isfinite(last), last, -1.0)))]


def law_of(controller: Any) -> Law | None:
    """A controller's law: of a Law itself, a Controller, or nothing."""
    if controller is None or isinstance(controller, Law):
        return controller
    made = getattr(controller, "law", None)
    law = made() if callable(made) else made
    if not isinstance(law, Law):
        raise InputError(f"a controller is a Law, or has one; got {type(controller).__name__}")
    return law


@lru_cache(maxsize=32)
def _robot_flow(robot: Same, friction: bool, f_tip: bool, payload: Any) -> Flow:
    return robot_flow(robot.it, friction=friction, f_tip=f_tip, energies=True, payload=payload)


def flow_of(system: Any, friction: Any, payload: Any, named: Sequence[str]) -> Flow:
    """The system's flow with what is varied by name among its inputs: a load, a wrench, parameters of a Lagrangian."""
    if isinstance(system, Robot) and not isinstance(friction, str):
        carried: Any = False
        if payload is not None:
            carried = payload if isinstance(payload, bool) else three("payload", payload)
        elif any(name in PAYLOAD for name in named):
            carried = True if any(name in PAYLOAD[1:] for name in named) else (0.0, 0.0, 0.0)
        wrench = any(name in WRENCH for name in named)
        return _robot_flow(Same(system), switch("friction", friction or False), wrench, carried)
    if payload is not None:
        which = f"a {type(system).__name__}" if not isinstance(system, Robot) else f"friction={friction!r}"
        raise InputError(f"payload= is for a Robot without sticking joints, and not to be had with {which}")
    if isinstance(system, LagrangianSystem):
        known = {str(s) for s in (*system.parameters, *system.free_parameters)}
        varied = [name for name in named if name in known]
        rough = True if friction is None else friction
        return lagrangian_flow(system, friction=rough, energies=True, parameters=varied)
    return plant_of(system, Options(friction=friction)).flow


def request(
    system: Any,
    controller: Any,
    q0: Any,
    qd0: Any,
    x0: Any,
    duration: Any,
    dt: Any,
    method: Any,
    reference: Any,
    parameters: Any,
    disturbances: Any,
    payload: Any,
    friction: Any,
    measures: Any,
    error: Any,
    every: Any,
    keep: Any,
    number: Any,
    seed: Any,
    torque_limits: Any,
) -> Request:
    law = law_of(controller)
    given, added = _mapping("parameters", parameters), _mapping("disturbances", disturbances)
    flow = flow_of(system, friction, payload, (*given, *added))
    if payload is not None and payload is not False and PAYLOAD[0] not in given:
        raise InputError(f"payload says where a load hangs, and there is none: give parameters={{{PAYLOAD[0]!r}: …}}")
    dt, steps = _time(duration, dt)
    rows = chosen(measures)
    if error is not None and not any("e" in row.needs for row in rows.values()):
        raise InputError("error= says what measures of errors compare, and none is asked for: give measures=")
    limits = _limits(torque_limits, law, flow, system)
    given, loop, whole, begin = _closed(flow, law, reference, given, added, steps, dt, rows, error, limits)
    if reference is not None and isinstance(system, Robot):
        warn_of_motion(system.model, law, reference_of(reference), dt * steps)
    if every is None:
        every = 1
    elif isinstance(keep, str) and keep == "final":
        raise InputError("every= says which rows are kept, and keep='final' keeps the ends alone: give keep='all'")
    checked(whole, dt, steps, every, 0.0, method, None)
    values = (q0, qd0, x0, *given.values(), *added.values())
    key_of(0 if seed is None else seed)
    if seed is not None and not any(isinstance(value, (Distribution, Noise)) for value in values):
        raise InputError("seed is that of what is drawn, and nothing is: give a distribution, or leave seed out")
    seed = seed or 0
    moving = tuple(name for name in loop.inputs if name in given and _moves(name, given[name], steps))
    held = tuple(name for name in loop.inputs if name not in moving)
    starts = whole.inputs[len(loop.inputs) :]
    plant = _start(system, flow, q0, qd0, x0, friction, number, seed)
    columns, arrays = _initial(flow, law, rows, plant)
    of_p = [_column(name, 1, given.get(name, _usual(name, law, loop)), arrays) for name in held]
    of_u = [_moving(name, given[name], steps, arrays) for name in moving]
    total = _number(arrays, number, (*columns, *of_p, *of_u))
    for name, array in arrays.items():
        if len(array) != total:
            raise InputError(f"{name} is given for {len(array)} rollouts, and others for {total}")
    rollout = rollout_of(whole, method, (*held, *starts), None)
    judged = METHODS[method].iterated
    names, how = _kept(loop, keep)
    if how == "final":
        every = max(steps, 1)
    all_names = (*whole.states, *whole.outputs)
    plan = Plan(
        rollout,
        tuple(columns),
        tuple(of_p),
        tuple(whole.states.index(s.removesuffix(START)) for s in starts),
        tuple(of_u),
        judged,
        steps,
        dt,
        int(every),
        int(seed),
        how,
        tuple(sorted(all_names.index(x) for x in names)),
        None if begin is None else _begin(whole, begin, (*held, *starts, *moving)),
    )
    return Request(plan, total, arrays, whole.states, whole.outputs, flow.positions, rows)


# ----------------------------------------------------------------------------------------------------- what is given
def _mapping(what: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{what} is a dictionary of names and values, got {type(value).__name__}")
    return dict(value)


def _time(duration: Any, dt: Any) -> tuple[float, int]:
    for name, value in (("duration", duration), ("dt", dt)):
        good = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)
        if not good or value <= 0:
            raise InputError(f"{name} must be a positive number of seconds, got {value!r}")
    whole, steps = whole_steps(duration, dt), duration / dt
    if abs(steps - whole) > 1e-6 * whole:
        raise InputError(f"duration {duration!r} s is not a whole number of steps of {dt!r} s: {steps:.6g}")
    return float(dt), whole


@lru_cache(maxsize=32)
def _loops(
    flow: Flow,
    law: Same,
    reference: Any,
    disturbed: tuple[str, ...],
    rows: tuple[Any, ...],
    error: Any,
    limits: Limits | None,
) -> tuple[Flow, Flow, Begin | None]:
    """The closed loop, that with its measures, and how it begins."""
    followed = reference.it if isinstance(reference, Same) else reference
    pairs = None if limits is None else tuple(zip(*limits, strict=True))
    loop = flow if law.it is None else closed(flow, law.it, followed, disturbed=disturbed, torque_limits=pairs)
    judged = (loop, law.it, dict(rows), error if error is None else dict(error))
    return loop, measured(*judged), begun(*judged)


@lru_cache(maxsize=32)
def _begin(whole: Flow, begin: Begin, given: tuple[str, ...]) -> Kernel:
    """How a rollout begins, of one row (x, inputs in the order of `given`)."""
    n, places = len(whole.states), [len(whole.states) + given.index(name) for name in whole.inputs]

    def of_row(v: Sequence[Any]) -> list[Any]:
        return begin(v[:n], [v[k] for k in places])

    size = n + len(given)
    return compile_function(of_row, [(size,)], [(n,)], f"{whole.name} start", arguments=("v",))


def _limits(value: Any, law: Law | None, flow: Flow, system: Any) -> Limits | None:
    if value is None:
        return None
    if law is None:
        raise InputError("torque_limits clip what a controller puts out, and there is none")
    robot = system if isinstance(system, Robot) else getattr(system, "robot", None)
    return torque_limits_of(value, law.outputs, flow.name, robot)


def _closed(
    flow: Flow,
    law: Law | None,
    reference: Any,
    given: dict[str, Any],
    added: dict[str, Any],
    steps: int,
    dt: float,
    rows: dict[str, Measure],
    error: Any,
    limits: Limits | None,
) -> tuple[dict[str, Any], Flow, Flow, Begin | None]:
    """Everything given by the names of the loop's inputs, the loop, that with its measures, and how it begins."""
    if law is None and reference is not None:
        raise InputError("a reference is what a controller follows, and there is none")
    disturbed = tuple(name for name in added if law is not None and name in law.outputs)
    motion = isinstance(reference, Reference) or reference is None
    followed = Same(reference) if motion else tuple(finite("reference", reference).reshape(-1).tolist())
    if not motion and np.ndim(reference) != 1 and law is not None:
        closed(flow, law, reference)  # refused there
    if error is not None:
        errors_of(flow if law is None else closed(flow, law, disturbed=disturbed), law, error)
    wanted = None if error is None else tuple(error.items())
    loop, whole, begin = _loops(flow, Same(law), followed, disturbed, tuple(rows.items()), wanted, limits)
    result = dict(given)
    if law is not None and isinstance(reference, Reference) and any(name in loop.inputs for name in law.follows):
        sampled = np.concatenate(reference(dt * np.arange(steps)), -1)  # held over each step
        result = {**{name: sampled[None, :, k] for k, name in enumerate(law.follows)}, **result}
    elif law is not None and reference is None:
        missing = [name for name in law.follows if name not in given]
        if missing and len(missing) == len(law.follows):
            raise InputError(f"{law.name!r} follows {missing[0]}, …: give a reference, or parameters of these names")
    for name, value in added.items():
        key = f"{name}{DISTURBANCE}" if name in disturbed else name
        if key not in loop.inputs or key in given:
            raise unknown(f"input of {loop.name!r} to disturb", name, law.outputs if law else loop.inputs)
        result[key] = value
    for name in given:
        if name not in loop.inputs:
            raise unknown(f"parameter of {loop.name!r}", name, loop.inputs)
    return result, loop, whole, begin


def _usual(name: str, law: Law | None, loop: Flow) -> float:
    """The value of an input that nobody gives: a gain's own, else zero."""
    return float(law.parameters.get(name, 0.0)) if law is not None else 0.0


def _moves(name: str, value: Any, steps: int) -> bool:
    return isinstance(value, Noise) or (not isinstance(value, Distribution) and np.ndim(value) == 2)


def _column(name: str, size: int, value: Any, arrays: dict[str, Array], one: str = "") -> Column:
    """`size` numbers a rollout; an array of all rollouts goes into `arrays`."""
    if isinstance(value, Distribution):
        if value.shape not in ((size,), ()):
            raise InputError(f"{name} is drawn as {value.shape[0]} numbers, and it has {size}{one}")
        if value.shape == () and size > 1:
            spread = (np.full(size, value.a), np.full(size, value.b))
            if value.kind == "choice":
                raise InputError(f"a choice gives one number, and {name} has {size}{one}")
            value = Distribution(value.kind, *spread, (size,))
        return Column(name, size, value)
    array = finite(name, value)
    core = (size,) if size != 1 or one else ()
    if array.ndim == len(core) and array.shape == core:
        return Column(name, size, array.reshape(1, size))
    if array.ndim == len(core) + 1 and array.shape[1:] == core:
        if len(array) == 0:
            raise InputError(f"{name} is empty: there is no rollout")
        arrays[name] = array.reshape(len(array), size)
        return Column(name, size, None)
    wanted = f"(B, {size}) or ({size},){one}" if core else "one number, (B,), or (B or 1, steps) for one that moves"
    raise InputError(f"{name} has shape {array.shape}; it must be {wanted}")


def _moving(name: str, value: Any, steps: int, arrays: dict[str, Array]) -> Column:
    if isinstance(value, Noise):
        return Column(name, 1, value)
    array = finite(name, value)
    if array.shape[1] != steps:
        raise InputError(f"{name} has shape {array.shape}; what moves must be (B or 1, {steps}), one number per step")
    if len(array) == 1:
        return Column(name, 1, array)
    arrays[name] = array
    return Column(name, 1, None)


def _start(
    system: Any, flow: Flow, q0: Any, qd0: Any, x0: Any, friction: Any, number: Any, seed: int
) -> list[tuple[str, int, Any]]:
    """(name, size, value) of the parts of the flow's state."""
    n, size = flow.positions, len(flow.states)
    if x0 is not None:
        if q0 is not None or qd0 is not None:
            raise InputError("give x0, the whole state, or q0 and qd0, not both")
        return [("x0", size, x0)]
    if q0 is None:
        raise InputError("give q0, where the rollouts begin" if n else f"give x0: {flow.name!r} names no positions")
    if n == 0:
        raise InputError(f"{flow.name!r} names no positions: give x0")
    free = isinstance(system, LagrangianSystem) and not system.multiplier_symbols
    if not (free or isinstance(system, (Robot, Flow))) or friction == "sticking":
        return [("x0", size, _started(system, friction, q0, qd0, number, seed))]
    parts = [("q0", n, q0), ("qd0", n, np.zeros(n) if qd0 is None else qd0)]
    return [*parts, ("rest", size - 2 * n, np.zeros(size - 2 * n))]


def _started(system: Any, friction: Any, q0: Any, qd0: Any, number: Any, seed: int) -> Array:
    """(B, states) of a system that makes its state of (q, q̇) by itself: constrained, flexible, driven, sticking."""
    plant = plant_of(system, Options(friction=friction))
    arrays: dict[str, Array] = {}
    drawn = any(isinstance(value, Distribution) for value in (q0, qd0))
    parts = []
    for name, value in (("q0", q0), ("qd0", np.zeros(plant.n) if qd0 is None else qd0)):
        parts.append(_column(name, plant.n, value, arrays, f": the positions of {plant.flow.name!r}"))
    total = _number(arrays, number if drawn else None, parts)
    q, qd = (
        c.value.draw(seed, c.name, 0, total)
        if isinstance(c.value, Distribution)
        else np.broadcast_to(arrays[c.name] if c.value is None else np.asarray(c.value), (total, plant.n))
        for c in parts
    )
    made = np.array([plant.start(a, b) for a, b in zip(q, qd, strict=True)])
    return made[0] if total == 1 and not arrays and not drawn else made


def _initial(
    flow: Flow, law: Law | None, rows: Mapping[str, Measure], parts: list[tuple[str, int, Any]]
) -> tuple[list[Column], dict[str, Array]]:
    arrays: dict[str, Array] = {}
    shown = f": the states of {flow.name!r}, {', '.join(flow.states[:3])}, …"
    columns = [_column(name, size, value, arrays, shown) for name, size, value in parts]
    own = np.array(law.initial if law is not None else (), float)
    columns.append(Column("z", len(own), own[None]))
    columns.append(Column("measures", len(rows), np.zeros((1, len(rows)))))
    return columns, arrays


def _number(arrays: Mapping[str, Array], number: Any, columns: Sequence[Column]) -> int:
    if number is not None:
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise InputError(f"number must be a positive number of rollouts, got {number!r}")
        return int(number)
    if arrays:
        counts = {name: len(array) for name, array in arrays.items()}
        most = max(counts.values())
        for name, count in counts.items():
            if count != most:
                other = next(n for n, c in counts.items() if c == most)
                raise InputError(f"{name} is given for {count} rollouts, and {other} for {most}")
        return most
    if any(isinstance(column.value, (Distribution, Noise)) for column in columns):
        raise InputError("everything is drawn or the same for all: say how many rollouts, number=…")
    return 1


def _kept(loop: Flow, keep: Any) -> tuple[tuple[str, ...], str]:
    every_name = (*loop.states, *loop.outputs)
    if isinstance(keep, str) and keep in KEEP:
        return (() if keep == "final" else every_name), keep
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    for name in names:
        if name not in every_name:
            raise unknown("state or output to keep", name, (*KEEP, *every_name))
    if not names:
        raise InputError("keep names nothing: 'final', 'all', 'statistics', or names of states and outputs")
    return tuple(dict.fromkeys(names)), "all"
