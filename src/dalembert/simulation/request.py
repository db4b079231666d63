"""The one reader for all methods of an `Experiment`: arguments become a closed loop, its inputs, and starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import array, count, in_joint_order
from dalembert.compile import Kernel, compile_function
from dalembert.errors import InputError, unknown
from dalembert.flow import WRENCH, Array, Flow, Scalar, Scalars, wrench_inputs
from dalembert.flows.robot import PAYLOAD
from dalembert.law import Law, followed_orders
from dalembert.reference import Reference, SetPoint
from dalembert.simulation.draws import Distribution, Noise, read_seed
from dalembert.simulation.fixed_step import LOOPS, check_flow, check_method, compile_loop, list_names
from dalembert.simulation.limits import read_torque_limits
from dalembert.simulation.loop import DISTURBANCE, FEEDFORWARD, START, ClosedLoop, follow_reference
from dalembert.simulation.measures import CONTACT_DOUBT, CONTACT_EXCESS, Measure, read_errors, read_measures
from dalembert.simulation.options import SYMPLECTIC, Sampling, Wave
from dalembert.simulation.plan import Plan, Same
from dalembert.simulation.plant import (
    read_controller,
    read_start,
    read_system,
    start_state,
    warn_of_reference,
    words_for_names,
)
from dalembert.simulation.steps import METHODS
from dalembert.simulation.stream import Clock, Column, InputStream, Signal, read_signal, wire

if TYPE_CHECKING:
    from dalembert.simulation.experiment import Experiment

Value: TypeAlias = ArrayLike | Distribution | Noise  # of a quantity that differs between runs
STARTS = ("q0", "qd0", "x0")
PAYLOADS = {f"payload.{name.partition('_')[2]}": name for name in PAYLOAD}
STEPWISE = ("inputs", "disturbance", "reference")  # sections whose names have a number per step in a function
KEEP = ("final", "all", "statistics")


@dataclass(frozen=True, eq=False)
class Grid:
    """Every combination of the values of some names, in the order of nested loops."""

    axes: dict[str, Array]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes.values())

    def points(self) -> dict[str, Array]:
        """Return the values of all points by name, (B,) or (B, n) each."""
        places = np.indices(self.shape).reshape(len(self.shape), -1)
        return {name: axis[at] for (name, axis), at in zip(self.axes.items(), places, strict=True)}


def grid(axes: Mapping[str, ArrayLike] | None = None, **values: ArrayLike) -> Grid:
    """Return every combination of values, for `vary`.

    Parameters
    ----------
    axes : mapping, optional
        Values by qualified name: {"controller.kp": [10, 20, 40]}.
    **values
        Values by short name: kp=[10, 20, 40]. Values of a start, such as q0, have shape (k, n).

    Returns
    -------
    Grid
        Its runs are numbered like nested loops over the axes, the last axis innermost.

    Examples
    --------
    >>> import dalembert as dl
    >>> dl.grid({"controller.kp": [10, 20, 40]}, kd=[1, 2]).shape
    (3, 2)
    """
    found = {}
    for name, value in {**dict(axes or {}), **values}.items():
        axis = array(f"the grid of {name!r}", value)
        if not axis.ndim or not len(axis):
            raise InputError("wrong-shape", f"grid of {name}", axis, expected="a list of at least one value")
        found[name] = axis
    if not found:
        raise InputError("missing", "axes", expected="names with values", remedy="For example grid(kp=[1, 2]).")
    return Grid(found)


@dataclass(frozen=True, eq=False)
class Request:
    """A call of a method of an Experiment, read: the loop, its plan, and the arrays that differ between runs."""

    loop: ClosedLoop
    reference: Reference | None
    sampling: Sampling
    asked: bool
    plan: Plan | None  # None for adaptive solvers
    stream: InputStream
    initial: tuple[Column, ...]
    number: int
    arrays: dict[str, Array]  # (B, size), or (B, steps), by the name of the column
    names: dict[str, tuple[Column, ...]]  # the columns that each name of the user's sets
    given_z: bool = False  # whether x0 holds the states of the law too

    @property
    def plant(self) -> Flow:
        return self.loop.plant

    @property
    def clock(self) -> Clock:
        return self.stream.clock

    def cut(self, first: int, count: int) -> dict[str, Array]:
        return {name: array[first : first + count] for name, array in self.arrays.items()}


# ------------------------------------------------------------------------------------------------------ names of users
@dataclass(frozen=True, eq=False)
class Names:
    """The names under which inputs of a loop are known: "controller.kp" are all gains kp_…, "kp_joint1" is one."""

    system: object
    controller: object
    law: Law | None
    plant: Flow

    def sections(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Return the inputs of the loop by section and name."""
        law, plant = self.law, self.plant
        drives = law.outputs if law is not None else ()
        free = tuple(name for name in plant.driven if name not in drives)
        gains = {name: (name,) for name in (law.parameters if law is not None else ())}
        own: Mapping[str, object] = getattr(self.system, "flow_parameters", {})
        return {
            "controller": {**self._groups(), **gains},
            "payload": {name.partition("_")[2]: (name,) for name in PAYLOAD if name in plant.inputs},
            "system": {name: (name,) for name in own},
            "inputs": {
                "tau": free or tuple(f"{name}{FEEDFORWARD}" for name in drives),
                **{name: (name,) for name in plant.inputs if name not in (*drives, *PAYLOAD, *own)},
            },
            "disturbance": {name: (f"{name}{DISTURBANCE}",) for name in plant.driven},
            "reference": {name: (name,) for name in (law.follows if law is not None else ())},
        }

    def _groups(self) -> dict[str, tuple[str, ...]]:
        """Gains by symbol: those of a controller's `gains`, or those whose names end with a position."""
        each = getattr(getattr(self.controller, "gains", None), "each", ())
        found = {g.symbol: tuple(g.parameter_names()) for g in each}
        if not found and self.law is not None:
            for name in self.law.parameters:
                for state in self.plant.states[: self.plant.n]:
                    if name.endswith(f"_{state}"):
                        symbol = name.removesuffix(f"_{state}")
                        found[symbol] = (*found.get(symbol, ()), name)
        return {symbol: names for symbol, names in found.items() if len(names) > 1 or names != (symbol,)}

    def find(self, name: str) -> tuple[str, ...]:
        """Return the inputs of the loop that a name means."""
        return self.place(name)[1]

    def place(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return the section of a name and the inputs of the loop that it means."""
        if name in PAYLOAD:
            return "payload", (name,)
        sections, (section, _, rest) = self.sections(), name.partition(".")
        if section in sections and rest:
            if rest in sections[section]:
                return section, sections[section][rest]
            raise unknown(f"name in {section!r} of {self.plant.name!r}", rest, sections[section])
        found = {s: names[name] for s, names in sections.items() if name in names}
        if len(found) > 1 and "inputs" in found:
            found.pop("disturbance", None)
        if name.endswith(DISTURBANCE) and name.removesuffix(DISTURBANCE) in self.plant.driven:
            found["disturbance"] = (name,)
        if len(set(found.values())) > 1:
            among = ", ".join(f"{s}.{name}" for s in found)
            problem = f"{name!r} is not unique: {among}"
            raise InputError("conflict", None, name, problem=problem, remedy="Use one of these names.")
        if not found:
            known = [f"{s}.{n}" for s, names in sections.items() for n in names]
            raise unknown(f"parameter of {self.plant.name!r}", name, (*STARTS, *known))
        return next(iter(found.items()))

    def fields(self, name: str) -> bool:
        """Whether a name is an argument of the controller that is not one of its gains: omega, for example."""
        section, _, rest = name.rpartition(".")
        if section not in ("", "controller") or not is_dataclass(self.controller):
            return False
        if rest not in {f.name for f in fields(self.controller) if f.init}:
            return False
        return rest not in self.sections()["controller"]


def rebuild_gains(controller: Any, law: Law, given: Mapping[str, Array]) -> dict[str, Array]:
    """Return the gains (B,) of a controller whose arguments have the given values, (B,) or (B, n) each."""
    names = [name.rpartition(".")[2] for name in given]
    rows = list(zip(*given.values(), strict=True))
    derived = [f.name for f in fields(controller) if f.name in ("kp", "ki", "kd") and f.default is None]
    others = {name: None for name in derived if name not in names}  # made of omega and zeta
    made = [replace(controller, **others, **dict(zip(names, row, strict=True))).law() for row in rows]
    for other in made:
        if (other.states, tuple(other.parameters)) != (law.states, tuple(law.parameters)):
            raise InputError(
                f"{', '.join(names)} of {law.name!r} change its structure, not its gains alone: compare several "
                "experiments"
            )
    return {name: np.array([other.parameters[name] for other in made]) for name in law.parameters}


# ------------------------------------------------------------------------------------------------------------- reading
def read_request(
    e: Experiment,
    start: tuple[object, object, object] | None,
    duration: float,
    *,
    vary: Mapping[str, Value] | Grid | None = None,
    own: Sequence[str] = (),
    stepwise: bool = False,
    number: int | None = None,
    seed: object = None,
    books: bool = False,
    single: bool = False,
    keep: str | Sequence[str] = "final",
    watched: bool = False,
) -> Request:
    """Read a call of a method of an experiment.

    `start` is (q0, qd0, x0), None if it is given later. `own` names inputs that keep their values unless varied, and
    get columns; with `stepwise` inputs of the system have one number per step.
    `books`: the energy balance is kept, and what reaches the system observed. `single`: q0 is that of one run.
    `watched`: contacts with the ground are judged."""
    given = _read_vary(vary)
    solver, inputs, sensors = e.solver, e.inputs, e.sensors
    clock = solver.clock(duration, e.dt)
    parameters = dict(inputs.parameters or {})
    plant = _plant(e, tuple(dict.fromkeys((*parameters, *given, *own))), books)
    law, asked = read_controller(e.controller, plant)
    names = Names(e.system, e.controller, law, plant)
    sampling = sensors.sampling(law, asked, clock.dt, solver.adaptive)
    noise = sensors.deviations(law, plant, sampling.period)
    given = _with_fields(e, names, given, number, seed)
    places = {name: names.find(name) for name in (*given, *own) if name not in STARTS}
    fixed = {name: names.find(name) for name in parameters}
    alias = {name: next(n for n, g in places.items() if g == group) for name, group in places.items()}
    twice = [name for first, group in places.items() if alias[first] == first for name in group]
    disturbed = _disturbed(inputs.disturbance, plant, (*twice, *(n for g in fixed.values() for n in g)))
    loop = _loop(e, plant, law, sampling, disturbed, {*twice, *(n for g in fixed.values() for n in g)}, books, watched)
    _check_inputs(e, loop, law, twice, books)
    check_flow(loop.flow)
    warn_of_reference(plant, law, e.reference, clock.duration)
    signals = _signals(e, loop, clock.steps, fixed)
    arrays: dict[str, Array] = {}
    used: dict[str, float | None] = dict(getattr(e.system, "flow_parameters", {})) if places else {}
    used |= law.parameters if law is not None else {}
    by_name: dict[str, tuple[Column, ...]] = {}
    for name, group in places.items():
        if alias[name] != name and name not in given:
            by_name[name] = by_name[alias[name]]
            continue
        value = given.get(name)
        if value is None and stepwise and names.place(name)[0] in STEPWISE:
            value = np.zeros((1, clock.steps, len(group)))
        elif value is None:
            value = _given_value(name, group, signals)
        by_name[name] = _columns(name, group, value, used, clock.steps, arrays)
    signals = tuple(s for s in (_without(s, set(twice)) for s in signals) if s.inputs) if twice else signals
    columns = tuple(dict.fromkeys(c for group in by_name.values() for c in group))
    number_given = None if number is None else count("count", number, 1)
    drawn = _read_seed(seed, sensors.seed, columns, start, noise)
    if start is None:
        initial = [Column("x0", len(plant.states), np.zeros((1, len(plant.states))))]
        z: Array | None = None
    elif single:
        x, z = read_start(plant, *start, loop.own)
        initial = [Column("x0", len(x), x[None])]
    else:
        z = None
        parts = _starts(plant, *start, number_given, drawn)
        shown = f": the states of {plant.name!r}, {', '.join(plant.states[:3])}, …"
        initial = [_start_column(name, size, value, arrays, shown) for name, size, value in parts]
    rest = np.array(loop.initial, float)
    if z is not None and len(z):
        rest[: len(z)] = z
    initial.append(Column("z", len(rest), rest[None]))
    rows = [name for s in signals if not s.constant and not s.moves for name in s.inputs]
    rows += [name for c in columns if c.moves for name in c.inputs]
    moving = [name for s in signals if s.moves for name in s.inputs]
    nodes = () if solver.adaptive else METHODS[solver.row].nodes
    flagged = sampling.period is not None and not asked
    wiring = wire(loop.flow, nodes, [*rows, *noise], moving, flagged)
    constants = dict(law.parameters) if law is not None else {}
    stream = InputStream(wiring, clock, signals, columns, constants, noise, drawn, sampling.hold)
    total = _total(arrays, number_given, (*initial, *columns), noise)
    plan = None
    if not solver.adaptive:
        plan = _plan(e, loop, stream, tuple(initial), sampling, law, asked, keep, given_z=z is not None)
    return Request(
        loop, e.reference, sampling, asked, plan, stream, tuple(initial), total, arrays, by_name, z is not None
    )


def _read_vary(vary: object) -> dict[str, Value]:
    if vary is None:
        return {}
    if isinstance(vary, Grid):
        return dict(vary.points())
    if not isinstance(vary, Mapping) or not all(isinstance(key, str) for key in vary):
        raise InputError("wrong-type", "vary", vary, expected="names with values, or grid(…)")
    return {key: value for key, value in vary.items() if value is not None}


def _with_fields(
    e: Experiment, names: Names, given: dict[str, Value], number: int | None, seed: object
) -> dict[str, Value]:
    """Values with arguments of the controller, such as omega, as its gains."""
    own = [name for name in given if name not in STARTS and names.fields(name)]
    if not own:
        return given
    values = {}
    for name in own:
        value = given.pop(name)
        if isinstance(value, Distribution):
            if number is None:
                raise InputError("missing", "count", remedy=f"{name} is drawn: say how many runs there are.")
            value = value.draw(read_seed(seed or 0), name, 0, number)
        values[name] = array(name, value)
    if any(value.ndim < 1 for value in values.values()):
        raise InputError(f"{', '.join(values)} in vary must be one value per run, (B,)")
    assert names.law is not None
    return {**given, **rebuild_gains(e.controller, names.law, values)}


def _plant(e: Experiment, names: Sequence[str], books: bool) -> Flow:
    solver, acting = e.solver, e.inputs
    words: dict[str, object] = {} if e.friction is None else {"friction": e.friction}
    if acting.wrenches:
        words["wrenches"] = tuple(acting.wrenches)
    if solver.method == SYMPLECTIC:
        words["momenta"] = True
    plain = dict.fromkeys(PAYLOADS.get(name, name.removeprefix("system.").removeprefix("inputs.")) for name in names)
    words |= {k: v for k, v in words_for_names(e.system, tuple(plain), acting.payload).items() if k not in words}
    # An adaptive method cannot be put back between its steps: errors decay by Baumgarte's terms, which are zero where
    # the constraints hold.
    extras = {("books" if books else "energies"): True, **({"stabilize": "baumgarte"} if solver.adaptive else {})}
    flow = read_system(e.system, words, extras)
    check_flow(flow)
    settles = f"{flow.name!r} settles its state after each step, which needs a fixed-step method"
    why = flow.needs_steps or (settles if flow.settle is not None and isinstance(e.system, Flow) else "")
    if flow.advance is not None and flow.position_rates is None:
        why = f"{flow.name!r} has positions on a manifold, and no position_rates"
    if solver.adaptive and why:
        raise InputError(f"{solver.method} cannot run this: {why}")
    if not solver.adaptive:
        check_method(flow, solver.row, solver.iterations)
    return flow


def _disturbed(given: object, plant: Flow, names: Sequence[str]) -> tuple[str, ...]:
    """The drives to which a disturbance is added."""
    found = {name.removesuffix(DISTURBANCE) for name in names if name.endswith(DISTURBANCE)}
    if isinstance(given, Mapping):
        for name in given:
            if name not in plant.driven:
                raise unknown(f"input of {plant.name!r} to disturb", name, plant.driven)
        found |= set(given)
    elif given is not None:
        found |= set(plant.driven)
    return tuple(name for name in plant.driven if name in found)


def _loop(
    e: Experiment,
    plant: Flow,
    law: Law | None,
    sampling: Sampling,
    disturbed: tuple[str, ...],
    given: set[str],
    books: bool,
    watched: bool,
) -> ClosedLoop:
    """The loop, made once for the same of everything."""
    rows, motion = read_measures(e.measures.names), e.reference
    if watched and plant.contacts is not None:
        for name in (CONTACT_EXCESS, CONTACT_DOUBT)[: 1 if plant.contacts.exact else 2]:
            rows[name] = Measure("∫ by how much contacts pull, slip or tilt dt", "")
    if e.measures.error is not None and not any("e" in row.needs for row in rows.values()):
        raise InputError("error= says what measures of errors compare, and none is asked for: give measures=")
    torques = read_torque_limits(e.limits.torque, plant.driven, plant)
    fed = e.inputs.tau is not None or any(name.endswith(FEEDFORWARD) for name in given)
    if torques and law is None and not fed and not any(name in given for name in plant.driven):
        raise InputError("torque limits clip what a controller or tau gives, and there is neither")
    if law is not None and law.follows and motion is None and any(name not in given for name in law.follows):
        raise InputError(f"{law.name!r} follows {list_names(law.follows)}: give reference=")
    follows = law is not None and bool(law.follows) and motion is not None
    key: Same | tuple[float, ...] | None = None
    if follows:
        assert law is not None and motion is not None
        followed_orders(law, motion)
        if motion.trace(0.0) is not None:
            key = tuple(motion.point.tolist()) if isinstance(motion, SetPoint) else Same(motion)
    words: dict[str, object] = {
        "fed": law.outputs if fed and law is not None else (),
        "disturbed": disturbed,
        "limits": tuple(torques.items()),
        "sample": sampling.period,
        "delay": sampling.delay,
        "quantization": e.sensors.steps(law, plant),
        "noisy": e.sensors.noise is not None and law is not None,
        "books": books,
        "shows_inputs": books,
        "measures": tuple(rows.items()),
    }
    if e.measures.error is not None:
        bare = make_loop(plant, Same(law), None, tuple({**words, "measures": ()}.items()))
        words["error"] = tuple(read_errors(bare.base, plant.positions, law, e.measures.error).items())
    return make_loop(plant, Same(law), key, tuple(words.items()))


@lru_cache(maxsize=LOOPS)
def make_loop(
    plant: Flow, law: Same, motion: Same | tuple[float, ...] | None, words: tuple[tuple[str, object], ...]
) -> ClosedLoop:
    own = cast("Law | None", law.it)
    followed = (
        SetPoint(np.array(motion)) if isinstance(motion, tuple) else cast("Reference | None", motion and motion.it)
    )
    follow = follow_reference(own, followed) if own is not None and followed is not None else None
    named: dict[str, object] = {
        name: dict(value) if name in ("limits", "measures", "error") else value  # type: ignore[call-overload]
        for name, value in words
    }
    return ClosedLoop(plant, own, follow, **named)  # type: ignore[arg-type]


def _check_inputs(e: Experiment, loop: ClosedLoop, law: Law | None, varied: Sequence[str], books: bool) -> None:
    """Every name that is set is an input of the loop, and set once."""
    if e.reference is not None and not books:
        if law is None:
            raise InputError("a reference is what a controller follows, and there is none")
        if not law.follows:
            raise InputError(f"{law.name!r} follows nothing: give no reference")
    for name in varied:
        if name.endswith(START) or name not in loop.inputs:
            raise unknown(f"parameter of {loop.flow_name!r}", name, [n for n in loop.inputs if not n.endswith(START)])
        if varied.count(name) > 1:
            raise InputError("conflict", "vary", name, problem=f"{name!r} is named twice in vary")


def _signals(e: Experiment, loop: ClosedLoop, steps: int, fixed: Mapping[str, tuple[str, ...]]) -> tuple[Signal, ...]:
    """What is the same for all runs; a reference that is compiled into the loop is not fed."""
    drives, acting, found = loop.plant.driven, e.inputs, []
    if acting.tau is not None:
        fed = tuple(f"{name}{FEEDFORWARD}" if name in loop.fed else name for name in drives)
        found.append(read_signal("tau", acting.tau, drives, fed, steps))
    for frame, wrench in (acting.wrenches or {}).items():
        found.append(read_signal(f"wrenches[{frame!r}]", wrench, WRENCH, wrench_inputs(frame), steps))
    given = acting.disturbance
    if isinstance(given, Mapping):
        found += [
            _single("disturbance", name, value, (f"{name}{DISTURBANCE}",), steps) for name, value in given.items()
        ]
    elif given is not None:
        found.append(read_signal("disturbance", given, drives, tuple(f"{name}{DISTURBANCE}" for name in drives), steps))
    motion = e.reference
    if loop.followed and motion is not None:
        orders = len(loop.followed) // motion.m

        def values(times: Array) -> Array:
            return np.concatenate(motion(times)[:orders], -1)

        found.append(Signal("reference", loop.followed, loop.followed, function=values))
    for name, group in fixed.items():
        for place in group:
            if place not in loop.inputs:
                raise unknown(f"parameter of {loop.flow_name!r}", name, loop.inputs)
        found.append(_single("parameters", name, (acting.parameters or {})[name], group, steps))
    return tuple(found)


def _given_value(name: str, group: tuple[str, ...], signals: Sequence[Signal]) -> Array | None:
    """The value that the experiment gives an input: (1, k), or (1, steps, k) with one row per step."""
    found = {}
    for s in signals:
        for k, place in enumerate(s.inputs):
            if place in group:
                if s.rows is None:
                    raise InputError(f"{name!r} is a function of time: give it one row per step instead")
                found[place] = s.rows[:, k]
    if not found:
        return None
    rows = max(map(len, found.values()))
    each = [np.broadcast_to(found.get(place, np.zeros(1)), rows) for place in group]
    return np.stack(each, -1)[None] if rows > 1 else np.stack(each, -1)


def _without(s: Signal, names: set[str]) -> Signal:
    """A signal without some of its inputs."""
    left = [k for k, name in enumerate(s.inputs) if name not in names]
    if len(left) == len(s.inputs):
        return s
    function = s.function
    return replace(
        s,
        inputs=tuple(s.inputs[k] for k in left),
        entries=tuple(s.entries[k] for k in left),
        rows=None if s.rows is None else s.rows[:, left],
        function=None if function is None else lambda t: function(t)[..., left],
    )


def _single(what: str, name: str, value: Wave, places: tuple[str, ...], steps: int) -> Signal:
    """A signal of one name: one number for all of its places, or one for each."""
    if callable(value):
        s = read_signal(what, value, (name,), places[:1], steps)
        if len(places) == 1:
            return s
        one = cast("Callable[[Array], Array]", s.function)
        return replace(s, entries=places, inputs=places, function=lambda t: np.repeat(one(t), len(places), -1))
    x = np.asarray(value)
    if len(places) > 1:
        x = x if x.shape in ((len(places),), (steps, len(places))) else np.repeat(x.reshape(-1, 1), len(places), -1)
        return read_signal(what, x[0] if len(x) == 1 else x, places, places, steps)
    return read_signal(what, x.reshape(-1, 1) if x.size > 1 else x.reshape(-1), (name,), places, steps)


# ------------------------------------------------------------------------------------------- what differs between runs
def _columns(
    name: str,
    places: tuple[str, ...],
    value: Value | None,
    used: Mapping[str, float | None],
    steps: int,
    arrays: dict[str, Array],
) -> tuple[Column, ...]:
    """The columns of one name in `vary`: of its own values if it has none there."""
    k, title = len(places), places[0] if len(places) == 1 else name
    if value is None:
        own = [used.get(place, 0.0) for place in places]
        if any(x is None for x in own):
            raise InputError(f"{name!r} has no value: give one, inputs=Inputs(parameters={{{name!r}: …}})")
        return (Column(title, k, np.array([own], float), places),)
    if isinstance(value, Noise):
        return tuple(Column(place, 1, value, (place,), moves=True) for place in places)
    if isinstance(value, Distribution):
        if value.shape not in ((), (k,)):
            raise InputError("wrong-shape", title, value.shape, expected=f"shape () or ({k},)")
        return (Column(title, (len(value.shape) and k) or 1, value, places),)
    x = array(title, value)
    if x.ndim == 2 and len(x) == 1 and x.shape[1] == k:
        return (Column(title, k, x, places),)
    if x.ndim == 0:
        return (Column(title, 1, x.reshape(1, 1), places),)
    if len(x) == 0:
        raise InputError(f"{title} is empty: there is no run")
    if x.ndim == 1 or (x.ndim == 2 and k > 1 and x.shape[1] == k):
        arrays[title] = x.reshape(len(x), -1)
        return (Column(title, arrays[title].shape[1], None, places),)
    each = x if x.ndim == 3 else x[..., None]
    if each.ndim != 3 or each.shape[1] != steps or each.shape[2] not in (1, k):
        one = f"(B,), or (B or 1, {steps}) with one number per step"
        many = f"(B,), (B, {k}), or (B or 1, {steps}, {k}) with one row per step"
        raise InputError("wrong-shape", title, x, expected=f"shape {many if k > 1 else one}")
    made = []
    for j, place in enumerate(places):
        one_place = each[..., j if each.shape[2] > 1 else 0]
        if len(x) > 1:
            arrays[place] = one_place
        made.append(Column(place, 1, one_place if len(x) == 1 else None, (place,), moves=True))
    return tuple(made)


def _start_column(name: str, size: int, value: Value, arrays: dict[str, Array], shown: str = "") -> Column:
    """`size` numbers of the start; an array of all runs goes into `arrays`."""
    if isinstance(value, Distribution):
        if value.shape not in ((size,), ()):
            raise InputError(f"{name} is drawn as {value.shape[0]} numbers, and it has {size}{shown}")
        if value.shape == () and size > 1:
            if value.kind == "choice":
                raise InputError(f"a choice gives one number, and {name} has {size}{shown}")
            value = Distribution(value.kind, np.full(size, value.a), np.full(size, value.b), (size,))
        return Column(name, size, value)
    x = array(name, value)
    if x.shape == (size,):
        return Column(name, size, x.reshape(1, size))
    if x.ndim == 2 and x.shape[1] == size:
        if len(x) == 0:
            raise InputError(f"{name} is empty: there is no run")
        arrays[name] = x
        return Column(name, size, None)
    raise InputError("wrong-shape", name, x, expected=f"shape (B, {size}) or ({size},){shown}")


def _starts(
    plant: Flow, q0: object, qd0: object, x0: object, number: int | None, seed: int
) -> list[tuple[str, int, Value]]:
    """(name, size, value) of the parts of the plant's state."""
    n, size = plant.n, len(plant.states)
    q0, qd0 = (
        cast("Value | None", in_joint_order(name, value, plant.states[:n]))
        for name, value in (("q0", q0), ("qd0", qd0))
    )
    if x0 is not None:
        if q0 is not None or qd0 is not None:
            raise InputError("x0 is the whole state: give it, or q0 and qd0")
        whole = cast("Value", x0)
        made = whole if plant.velocities is None else _started(plant, (("x0", size, whole),), number, seed)
        return [("x0", size, made)]
    if q0 is None:
        raise InputError("give q0, where the runs begin" if n else f"give x0: {plant.name!r} names no positions")
    if n == 0:
        raise InputError(f"{plant.name!r} names no positions: give x0")
    rates = n if plant.velocities is None and plant.start is not None else plant.nv
    rest = np.zeros(rates) if qd0 is None else qd0
    if plant.start is not None or plant.check is not None:
        return [("x0", size, _started(plant, (("q0", n, q0), ("qd0", rates, rest)), number, seed))]
    nq, nv = plant.nq, plant.nv
    return [("q0", nq, q0), ("qd0", nv, rest), ("rest", size - nq - nv, np.zeros(size - nq - nv))]


def _started(plant: Flow, given: Sequence[tuple[str, int, Value]], number: int | None, seed: int) -> Array:
    """(B, states) of a plant that makes its state of (q, q̇) by itself, or checks it: constrained, flexible, with
    joints that stick or whose positions are no vector. `given`: (name, size, value) of q0 and qd0, or of x0."""
    arrays: dict[str, Array] = {}
    drawn = any(isinstance(value, Distribution) for _, _, value in given)
    shown = f": the {'positions' if len(given) > 1 else 'states'} of {plant.name!r}"
    parts = [_start_column(name, size, value, arrays, shown) for name, size, value in given]
    total = _total(arrays, number if drawn else None, parts, ())
    values = [np.broadcast_to(c.values(seed, 0, total, arrays), (total, c.size)) for c in parts]
    made = start_state(plant, *map(np.asarray, values)) if len(values) > 1 else np.asarray(values[0])
    if plant.check is not None:
        plant.check(made)
    return made[0] if total == 1 and not arrays and not drawn else made


def _unequal_counts(name: str, size: int, other: str, count: int) -> InputError:
    return InputError(
        "wrong-shape",
        name,
        size,
        problem=f"`{name}` has values for {size} runs, but `{other}` for {count}",
        remedy="Pass one value per run, or one for all.",
    )


def _total(
    arrays: Mapping[str, Array], number: int | None, columns: Sequence[Column], noise: Sequence[str] | Mapping[str, Any]
) -> int:
    if number is not None:
        for name, x in arrays.items():
            if len(x) != number:
                raise _unequal_counts(name, len(x), "count", number)
        return number
    if arrays:
        sizes = {len(x): name for name, x in reversed(list(arrays.items()))}
        for size in sizes:
            if size != max(sizes):
                raise _unequal_counts(sizes[size], size, sizes[max(sizes)], max(sizes))
        return max(sizes)
    if any(isinstance(column.value, (Distribution, Noise)) for column in columns):
        raise InputError(
            "missing", "count", expected="the number of runs", remedy="Everything is drawn, or the same for all."
        )
    return 1


def _read_seed(
    seed: object, of_sensors: int | None, columns: Sequence[Column], start: object, noise: Mapping[str, Noise]
) -> int:
    """The seed of everything that is drawn: the given one, or that of the sensors."""
    if of_sensors is not None and not noise:
        read_seed(of_sensors)
        raise InputError("seed is that of the noise, and there is none: give noise=")
    if seed is None:
        return read_seed(0 if of_sensors is None else of_sensors)
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(1 << 63))
    read_seed(seed)
    given = [c.value for c in columns] + list(start or ())  # type: ignore[call-overload]
    if not noise and not any(isinstance(value, (Distribution, Noise)) for value in given):
        raise InputError("seed is that of what is drawn, and nothing is: give a distribution, or leave seed out")
    return read_seed(seed)


# ---------------------------------------------------------------------------------------------------------------- plan
def _plan(
    e: Experiment,
    loop: ClosedLoop,
    stream: InputStream,
    initial: tuple[Column, ...],
    sampling: Sampling,
    law: Law | None,
    asked: bool,
    keep: str | Sequence[str],
    given_z: bool,
) -> Plan:
    solver, flow = e.solver, loop.flow
    kept, how = _kept(loop, keep)
    every_name = (*flow.states, *flow.outputs)
    clock = stream.clock
    if how == "final":
        stream = replace(stream, clock=replace(clock, every=max(clock.steps, 1)))
    memory = asked and law is not None and law.memory is not None
    return Plan(
        compile_loop(flow, solver.row, stream.wiring, solver.iterations, asked),
        initial,
        stream,
        tuple(flow.states.index(name) for name in loop.errors),
        METHODS[solver.row].iterated,
        how,
        tuple(sorted(every_name.index(name) for name in kept)),
        begin_kernel(loop, stream.wiring, given_z) if loop.begins else None,
        partial(loop.asks, stream.wiring) if memory else None,
    )


@lru_cache(maxsize=LOOPS)
def begin_kernel(loop: ClosedLoop, wiring: Any, given_z: bool = False) -> Kernel:
    """How a run begins, of one row (x, p, u); with `given_z` the law's own states are given."""
    n, l, read = len(loop.flow.states), len(wiring.held), wiring.reader(loop.flow)
    a, b = loop.nx, loop.ends[1]

    def of_row(v: Scalars) -> list[Scalar]:
        begun = loop.begin(v[:n], read(0.0, v[n + l :], v[n : n + l]))
        return [*begun[:a], *v[a:b], *begun[b:]] if given_z else begun

    return compile_function(of_row, [(n + l + wiring.size,)], [(n,)], f"{loop.flow_name} start", arguments=("v",))


def _kept(loop: ClosedLoop, keep: str | Sequence[str]) -> tuple[tuple[str, ...], str]:
    every_name = (*loop.base.states, *loop.outputs)
    if isinstance(keep, str) and keep in KEEP:
        return (() if keep == "final" else every_name), keep
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    for name in names:
        if name not in every_name:
            raise unknown("state or output to keep", name, (*KEEP, *every_name))
    if not names:
        raise InputError("keep names nothing: 'final', 'all', 'statistics', or names of states and outputs")
    return tuple(dict.fromkeys(names)), "all"
