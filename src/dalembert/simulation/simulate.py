"""`simulate`: one run of one system, under given inputs or a controller."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import InputError
from dalembert.flow import ENERGY, LOSS, MULTIPLIER, WRENCH, Array, Flow, LossFinder, wrench_frames, wrench_inputs
from dalembert.law import Law
from dalembert.reference import Reference, read_reference
from dalembert.robot import Robot
from dalembert.simulation.adaptive import AdaptiveSolver
from dalembert.simulation.feed import Feed, Signal, read_signal
from dalembert.simulation.fixed_step import check_flow, check_method, compile_loop, list_names
from dalembert.simulation.limits import Excess, find_excesses, read_torque_limits
from dalembert.simulation.loop import DISTURBANCE, FEEDFORWARD, START, ClosedLoop, follow_reference
from dalembert.simulation.measures import Measures, finish_measures, read_measures
from dalembert.simulation.options import (
    SYMPLECTIC,
    WHOLE,
    Clock,
    Inputs,
    JointLimits,
    Sampling,
    Sensors,
    Solver,
    Wave,
    read_noise_seed,
    read_noun,
)
from dalembert.simulation.plant import (
    check_names,
    read_controller,
    read_start,
    read_system,
    warn_of_reference,
    words_for_names,
)
from dalembert.simulation.record import CONTACT_LOST, EVENT, Fences, Progress, Record
from dalembert.simulation.results import SHARE, free_memory, size_in_words
from dalembert.simulation.run import Run
from dalembert.simulation.stepping import Ask, Stepper
from dalembert.simulation.steps import METHODS

if TYPE_CHECKING:
    from dalembert.collision import Collision, World, WorldArrays
    from dalembert.constrained.contacts import ContactLoss

SAID = 3  # limits passed, and contacts, that the message names
MOST_BREAKS = 10**8  # instants at which an adaptive method begins anew
COPIES = 3  # of the rows, while a run is put together
LONG_RUN_S = 60.0  # a run that is estimated to take longer says so
SECONDS_PER_OPERATION, SECONDS_PER_CALL = 1.4e-9, 3e-5  # on a machine of 2023, one run alone
UNITS_OF_TIME = ((3.15e7, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))
LEAK = 0.01  # a relative gap in the energy balance beyond this is reported


def simulate(
    system: object,
    controller: object = None,
    *,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    duration: float,
    dt: float = 1e-3,
    reference: object = None,
    tau: Wave = None,
    inputs: Inputs | None = None,
    sensors: Sensors | None = None,
    solver: Solver | str | None = None,
    limits: JointLimits | str | None = None,
    friction: bool | str | None = None,
    measures: Measures | Sequence[str] | str = (),
) -> Run:
    """The motion of a system from (q0, qd0) over `duration` [s]: ẋ = f(t, x, w), w = clip(u + τ(t)) + d(t).

    system: a Robot, Constrained, DrivenRobot, FlexibleRobot, LagrangianSystem, a Flow, or what has a flow().
    controller: what has law(), a Law, or a function (t, q, qd) → u or (t, x) → u. A law is continuous unless its
    `sensors` have a sample time. A function is asked at samples too, by default at each step (by adaptive methods,
    without sample time, always).
    x0: the whole state instead of q0 and qd0, the controller's own states after the system's if it has any and they are
    to begin elsewhere than the controller says.
    dt: the length of a step [s]; for adaptive methods the distance of kept rows.
    reference: a Reference, numbers to rest at, or a function of t giving x or (x, ẋ, ẍ).
    tau: given torques: numbers, one row of them for each step, or a function of t. inputs: what else acts (`Inputs`).
    sensors: sample time, delay, noise, quantization (`Sensors`). solver: a `Solver`, or its method alone.
    limits: `JointLimits`, or what happens at those of position alone: "stop", "bounce", "report". Limits of position,
    velocity and effort that a robot passes are named at the end (`run.beyond`).
    friction: True, or for a Robot "sticking". measures: rows of `MEASURES`, in `run.measures`; with `Measures(world=…)`
    what touches is named at the end (`run.contacts`), and nothing is stopped by it: contact has no force here.
    Ctrl-C ends a run, which keeps what it has."""
    acting, eyes = read_noun("inputs", inputs, Inputs), read_noun("sensors", sensors, Sensors)
    way, bounds = read_noun("solver", solver, Solver, "method"), read_noun("limits", limits, JointLimits, "position")
    clock, seed = way.clock(duration, dt), read_noise_seed(eyes)
    wanted = measures if isinstance(measures, Measures) else Measures(measures)
    shapes = _shapes(system, wanted.world)
    plant = _plant(system, friction, acting, way)
    law, asked = read_controller(controller, plant)
    sampling = eyes.sampling(law, asked, clock.dt, way.adaptive)
    motion = read_reference(reference)
    loop = _loop(plant, law, motion, tau, acting, eyes, sampling, bounds, wanted)
    warn_of_reference(plant, law, motion, clock.dt * clock.steps)
    x, z = read_start(plant, q0, qd0, x0, loop.own)
    noise = eyes.deviations(law, plant, sampling.period)
    flow = loop.flow
    feed = Feed(
        flow,
        clock.dt,
        _signals(loop, clock.steps, motion, tau, acting),
        {**(law.parameters if law else {}), **{f"{s}{START}": float(x[plant.states.index(s)]) for s in loop.errors}},
        noise,
        seed,
        sampling.hold,
        sampling.period is not None and not asked,
        () if way.adaptive else METHODS[way.row].nodes,
    )
    _check_memory(clock, loop)
    X0 = _begin(loop, feed, x, z)
    fences = _fences(bounds, plant, X0, way.adaptive)
    ask: Ask | None = (lambda t, X, U: np.array(loop.take(t, X.tolist(), U.tolist()), float)) if asked else None
    record, bar = Record(), Progress(way.progress, plant.name)
    finder = None if plant.contacts is None else plant.contacts.finder()
    watch = None if finder is None else _watch(plant, finder)
    try:
        if way.adaptive:
            breaks, times = _instants(clock, sampling.period if not sampling.always else None, feed.signals)
            rtol, atol = 1e-8 if way.rtol is None else float(way.rtol), 1e-10 if way.atol is None else way.atol
            tolerances = (rtol, np.asarray(atol, float))
            runner = AdaptiveSolver(loop, feed, times, breaks, way.method, *tolerances, ask, sampling.always, fences)
            runner.run(X0, record, bar)
            if watch is not None:
                watch(*record.rows())
        else:
            rollout = compile_loop(flow, way.row, feed.wiring, way.iterations, asked)
            if way.progress is not False:
                _warn_of_time(clock, rollout.operations, clock.steps / feed.hold if asked else 0.0)
            judged = METHODS[way.row].iterated
            Stepper(loop, feed, rollout, clock.steps, clock.every, judged, ask, fences, watch).run(X0, record, bar)
    finally:
        bar.close()
    run = _assemble(loop, motion, record, way.method, clock.dt)
    if finder is not None and finder.losses:
        run = _report_losses(run, finder.losses)
    run = _with_contacts(run, shapes, wanted.world)
    if run.ok and not way.adaptive and loop.supply is not None and bounds.position != "bounce":
        found = run.audit()
        rounding = clock.steps * float(np.spacing(np.abs(run.energy).max()))
        if found.relative > LEAK and found.largest > rounding:
            gap = f"the energy balance is off by {found.relative:.0%}"
            why = f"the time step of {clock.dt:g} s is too long for this motion"
            return replace(run, message=f"{run.message}; {gap}: {why}")
    return run


def _shapes(system: object, world: World | WorldArrays | None) -> Collision | None:
    """What may touch, refused before the run where nothing is known of it."""
    if world is None:
        return None
    if not isinstance(system, Robot):
        raise InputError(
            f"contacts with a world are looked for of a Robot, not of a {type(system).__name__}: leave out the world, "
            "and ask robot.contact_spans(run, world) of the robot in it"
        )
    found = system.collision()
    found.distances(np.zeros((0, system.nq)), world)
    return found


def _watch(plant: Flow, finder: LossFinder) -> Callable[[Array, Array, Array], None]:
    """What looks at the rows of a loop for contacts with the ground that cannot be sustained."""
    states, outputs = len(plant.states), len(plant.outputs)
    return lambda t, X, Y: finder.add(t, X[:, :states], Y[:, :outputs])


def _report_losses(run: Run, lost: tuple[ContactLoss, ...]) -> Run:
    said = "; ".join(str(loss) for loss in lost[:SAID]) + (f"; and {len(lost) - SAID} more" if lost[SAID:] else "")
    status = CONTACT_LOST if run.ok else run.status
    return replace(run, contact_losses=lost, status=status, message=f"{said}; {run.message}")


def _with_contacts(run: Run, shapes: Collision | None, world: World | WorldArrays | None) -> Run:
    if shapes is None:
        return run
    from dalembert.collision.along import find_spans

    spans = tuple(find_spans(shapes, run.t, run.q, world))
    said = "; ".join(str(span) for span in spans[:SAID]) + (f"; and {len(spans) - SAID} more" if spans[SAID:] else "")
    how = shapes.spheres.enlarged
    word = f"touches, {how}: {said}" if spans else f"nothing touches at its rows, {how}"
    return replace(run, contacts=spans, message=f"{run.message}; {word}")


# ------------------------------------------------------------------------------------------------ system and loop
def _plant(system: object, friction: bool | str | None, acting: Inputs, way: Solver) -> Flow:
    words: dict[str, object] = {} if friction is None else {"friction": friction}
    if acting.wrenches:
        words["wrenches"] = tuple(acting.wrenches)
    if way.method == SYMPLECTIC:
        words["momenta"] = True
    names = tuple(acting.parameters or ())
    words |= {k: v for k, v in words_for_names(system, names, acting.payload).items() if k not in words}
    # An adaptive method cannot be put back between its steps: errors decay by Baumgarte's terms, which are zero where
    # the constraints hold.
    extras = {"books": True, **({"stabilize": "baumgarte"} if way.adaptive else {})}
    flow = read_system(system, words, extras)
    check_flow(flow)
    settles = f"{flow.name!r} settles its state after each step, which needs a fixed-step method"
    why = flow.needs_steps or (settles if flow.settle is not None and isinstance(system, Flow) else "")
    if flow.advance is not None and flow.position_rates is None:
        why = f"{flow.name!r} has positions on a manifold, and no position_rates"
    if way.adaptive and why:
        raise InputError(f"{way.method} cannot run this: {why}")
    if not way.adaptive:
        check_method(flow, way.row, way.iterations)
    return flow


def _loop(
    plant: Flow,
    law: Law | None,
    motion: Reference | None,
    tau: Wave,
    acting: Inputs,
    eyes: Sensors,
    sampling: Sampling,
    bounds: JointLimits,
    wanted: Measures,
) -> ClosedLoop:
    torques = read_torque_limits(bounds.torque, plant.driven, plant)
    if torques and law is None and tau is None:
        raise InputError("torque limits clip what a controller or tau gives, and there is neither")
    if law is not None and law.follows and motion is None:
        raise InputError(f"{law.name!r} follows {list_names(law.follows)}: give reference=")
    follows = law is not None and law.follows and motion is not None
    disturbed: Sequence[str] = () if acting.disturbance is None else plant.driven
    if isinstance(acting.disturbance, Mapping):
        check_names(f"input of {plant.name!r} to disturb", tuple(acting.disturbance), plant.driven)
        disturbed = tuple(acting.disturbance)
    return ClosedLoop(
        plant,
        law,
        follow_reference(law, motion) if follows and law and motion else None,
        law.outputs if tau is not None and law is not None else (),
        tuple(disturbed),
        torques,
        sampling.period,
        sampling.delay,
        eyes.steps(law, plant),
        eyes.noise is not None and law is not None,
        books=True,
        shows_inputs=True,
        measures=read_measures(wanted.names),
        error=wanted.error,
    )


def _signals(loop: ClosedLoop, steps: int, motion: Reference | None, tau: Wave, acting: Inputs) -> tuple[Signal, ...]:
    """What is fed to the loop; a reference that is compiled into it is not."""
    drives = loop.plant.driven
    found = []
    if tau is not None:
        fed = tuple(f"{name}{FEEDFORWARD}" if name in loop.fed else name for name in drives)
        found.append(read_signal("tau", tau, drives, fed, steps))
    for frame, wrench in (acting.wrenches or {}).items():
        found.append(read_signal(f"wrenches[{frame!r}]", wrench, WRENCH, wrench_inputs(frame), steps))
    given = acting.disturbance
    if isinstance(given, Mapping):
        found += [_single("disturbance", name, value, f"{name}{DISTURBANCE}", steps) for name, value in given.items()]
    elif given is not None:
        found.append(read_signal("disturbance", given, drives, tuple(f"{name}{DISTURBANCE}" for name in drives), steps))
    if loop.followed and motion is not None and loop.law is not None:
        orders = len(loop.followed) // motion.m

        def values(times: Array) -> Array:
            return np.concatenate(motion(times)[:orders], -1)

        found.append(Signal("reference", loop.followed, loop.followed, function=values))
    parameters = acting.parameters or {}
    check_names(f"parameter of {loop.flow_name!r}", tuple(parameters), loop.inputs)
    return (*found, *(_single("parameters", name, value, name, steps) for name, value in parameters.items()))


def _single(what: str, name: str, value: Wave, place: str, steps: int) -> Signal:
    if callable(value):
        return read_signal(what, value, (name,), (place,), steps)
    array = np.asarray(value)
    return read_signal(what, array.reshape(-1, 1) if array.size > 1 else array.reshape(-1), (name,), (place,), steps)


def _begin(loop: ClosedLoop, feed: Feed, x: Array, z: Array | None) -> Array:
    """X of the loop at t = 0, with the law's own states as given, or as the law says."""
    X = [*x.tolist(), *loop.initial]
    if z is not None and len(z):
        X[loop.nx : loop.ends[1]] = z.tolist()
    if loop.begins:
        begun = loop.begin(X, feed.pick(0.0, feed.blocks(0, 1)[0]))
        X = [*begun[: loop.nx], *X[loop.nx : loop.ends[1]], *begun[loop.ends[1] :]] if z is not None else begun
    for name, value in zip(loop.own, X[loop.nx :], strict=False):
        if not math.isfinite(value):
            assert loop.law is not None
            raise InputError(f"{loop.law.name!r} begins with {name!r} = {value}: it must be finite")
    return np.array(X, float)


def _check_memory(clock: Clock, loop: ClosedLoop) -> None:
    """Refuse, before anything is computed, rows that memory would not hold."""
    rows = clock.duration / clock.dt / clock.every
    needed, free = 8 * COPIES * rows * (1 + loop.ends[-1] + len(loop.outputs)), free_memory()
    if free is not None and needed > SHARE * free:
        raise InputError(
            f"{rows:.4g} rows need {size_in_words(needed)}, and {size_in_words(free)} of memory are free: every= "
            "larger, or a shorter duration"
        )


def _warn_of_time(clock: Clock, operations: int, calls: float) -> None:
    """Say how long a run will take, if it takes long: `operations` of a step, and so many calls of Python."""
    seconds = clock.steps * operations * SECONDS_PER_OPERATION + calls * SECONDS_PER_CALL
    if seconds > LONG_RUN_S:
        size, unit = next(((s, u) for s, u in UNITS_OF_TIME if seconds >= s), UNITS_OF_TIME[-1])
        warnings.warn(
            f"{clock.steps:.3g} steps of {clock.dt:g} s take about {seconds / size:.2g} {unit}; Ctrl-C ends the run "
            "and keeps its rows",
            RuntimeWarning,
            stacklevel=3,
        )


def _fences(bounds: JointLimits, plant: Flow, X0: Array, adaptive: bool) -> Fences | None:
    if bounds.position is None:
        return None
    if plant.joints is None:
        raise InputError(f"{plant.name!r} has no joint limits: limits= is for robots")
    own, names, inertia = plant.joints.limits, plant.states[: plant.n], None
    if bounds.position == "bounce":
        inertia = plant.joints.inertia
        if inertia is None or adaptive:
            raise InputError(
                "limits='bounce' is for a Robot in (q, q̇), without loops and joints of several coordinates, by a "
                "fixed-step method"
            )
    fences = Fences(own.lower, own.upper, names, bounds.position == "stop", inertia)
    margin = fences.margin(X0[: plant.n])
    if (margin < 0).any():
        k = int(np.argmin(margin))
        raise InputError(
            f"q0 of {names[k]!r} is {X0[k]:g}, outside its limits {own.lower[k]:g} … {own.upper[k]:g}: begin inside, "
            "or leave limits=None"
        )
    return fences


def _instants(clock: Clock, period: float | None, given: Sequence[Signal]) -> tuple[Array, Array]:
    """(breaks, times) of an adaptive run; a wanted time that is a break up to rounding is that break."""
    jumps = [np.array([0.0, clock.duration])]
    for step in (period, clock.dt if any(s.function is None and not s.still for s in given) else None):
        if step is not None:
            if not clock.duration / step <= MOST_BREAKS:
                raise InputError(
                    f"{clock.duration / step:.3g} samples are too many for an adaptive method, which begins anew at "
                    "each: a shorter duration, or a fixed-step method"
                )
            jumps.append(np.arange(math.ceil(clock.duration / step)) * step)
    breaks = np.sort(np.concatenate(jumps))
    near = WHOLE * min(clock.dt, period or clock.dt)
    breaks = breaks[np.append(True, np.diff(breaks) > near)]
    breaks[-1] = clock.duration
    kept = clock.dt * clock.every
    times = np.append(np.arange(math.ceil(clock.duration / kept * (1 - WHOLE))) * kept, clock.duration)
    nearest = breaks[np.clip(np.searchsorted(breaks, times - near), 0, len(breaks) - 1)]
    return breaks, np.where(np.abs(nearest - times) <= near, nearest, times)


# --------------------------------------------------------------------------------------------------------- the result
def _assemble(loop: ClosedLoop, motion: Reference | None, record: Record, method: str, dt: float) -> Run:
    plant, (t, X, Y) = loop.plant, record.rows()
    a, b = len(plant.outputs), len(plant.outputs) + len(plant.inputs)
    columns: dict[str, Array] = {"t": t}

    def add(names: Sequence[str], values: Array) -> tuple[str, ...]:
        made = []
        for k, name in enumerate(names):
            while name in columns:
                name = f"{name}'"
            columns[name] = np.ascontiguousarray(values[:, k])
            made.append(name)
        return tuple(made)

    states = add(plant.states, X)
    inputs, outputs = add(plant.inputs, Y[:, a:b]), add(plant.outputs, Y[:, :a])
    own = add(loop.own, X[:, loop.nx : loop.ends[1]])
    shown = add(*_reference_rows(loop, motion, t, Y[:, b:]))
    if loop.supply is not None:
        add(("work", "loss"), X[:, loop.ends[3] : loop.ends[4]])
    m = motion.m if motion else 0
    groups = {
        "q": states[: plant.n],
        "qd": plant.rates,
        "x": states,
        "u": inputs,
        "tau": inputs[: len(plant.driven)],
        "wrenches": tuple(name for frame in wrench_frames(inputs) for name in wrench_inputs(frame)),
        "reference": shown[:m],
        "reference_rate": shown[m : 2 * m],
        "reference_acceleration": shown[2 * m : 3 * m],
        "controller": own,
        "energies": tuple(name for name in outputs if name.endswith(ENERGY)),
        "multipliers": tuple(name for name in outputs if name.startswith(MULTIPLIER)),
    }
    drive = "voltage" if any(name.endswith(("_voltage", "_command")) for name in groups["tau"]) else "torque"
    message = record.message or f"finished at t = {t[-1]:.6g} s"
    cut = int((Y[:, -1] > 0.5).sum()) if loop.tells_clipping else 0
    if cut:
        assert loop.law is not None
        message += (
            f"; torque limits clipped the command in {cut} of {len(t)} rows, which the states of {loop.law.name!r} are "
            "not told: integrals wind up, observers are misled"
        )
    told = loop.law.report() if loop.law is not None and loop.law.report is not None else ""
    message += f"; {told}" * bool(told)
    passed = _passed(plant, t, columns, groups, record)
    if passed and not record.message:
        rest = f"; and {len(passed) - SAID} more" if len(passed) > SAID else ""
        message += "; " + "; ".join(str(excess) for excess in passed[:SAID]) + rest
    found = finish_measures(loop.measures, X[-1, loop.ends[-2] :], float(t[-1]))
    return Run(
        plant.name,
        columns,
        groups,
        _units(plant, groups, outputs),
        record.status,
        message,
        method,
        dt,
        tuple(record.events),
        record.evaluations,
        record.residual,
        drive,
        passed,
        {name: float(value) for name, value in found.items()},
    )


def _passed(
    plant: Flow, t: Array, columns: Mapping[str, Array], groups: Mapping[str, tuple[str, ...]], record: Record
) -> tuple[Excess, ...]:
    """Limits of the joints that the rows pass."""
    known = {"position": "q", "velocity": "qd", "effort": "tau"}
    if plant.velocities is None and groups["tau"] != tuple(f"{joint}_torque" for joint in groups["q"]):
        known.pop("effort")
    rows = {kind: np.stack([columns[c] for c in groups[name]], -1) for kind, name in known.items() if groups[name]}
    passed = find_excesses(t, rows, plant)
    # The step that ended it has said so.
    return tuple(excess for excess in passed if record.status != EVENT or excess.kind != "position")


def _reference_rows(loop: ClosedLoop, motion: Reference | None, t: Array, Y: Array) -> tuple[tuple[str, ...], Array]:
    """Names, after the joints where there are as many, and rows of as much of the reference as the law follows, or of
    all that is known of it."""
    if motion is None:
        return (), np.empty((len(t), 0))
    q = loop.plant.states[: loop.plant.n]
    each = q if len(q) == motion.m else tuple(f"x{k + 1}" for k in range(motion.m))
    follows = len(loop.law.follows) if loop.law else 0
    orders = follows // motion.m or motion.orders
    parts = [f"{name}_reference{what}" for what in ("", "_rate", "_acceleration")[:orders] for name in each]
    return tuple(parts), Y[:, :follows] if follows else np.concatenate(motion(t)[:orders], -1)


def _units(plant: Flow, groups: Mapping[str, tuple[str, ...]], outputs: tuple[str, ...]) -> dict[str, str]:
    units = {"t": "s"}
    own, moving = (plant.joints.units, plant.joints.moving_units) if plant.joints else ((), ())
    if own:
        for name, part in (("q", ""), ("qd", "/s"), ("reference", ""), ("reference_rate", "/s")):
            of = moving if part else own
            units.update((c, f"{u}{part}") for c, u in zip(groups[name], of, strict=False))
        curved = plant.velocities is not None
        if len(groups["tau"]) == len(moving) and (curved or all(c.endswith("_torque") for c in groups["tau"])):
            units.update((c, "N" if u == "m" else "N m") for c, u in zip(groups["tau"], moving, strict=True))
        units.update((c, "V") for c in groups["tau"] if c.endswith("_voltage"))
    for name in outputs:
        if name.endswith(ENERGY):
            units[name] = "J"
        elif name.endswith(("_power", LOSS)):
            units[name] = "W"
    return units
