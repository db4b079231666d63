"""A single run of an experiment: its rows while it runs, and the `Run` that they make."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import InputError
from dalembert.flow import ENERGY, LOSS, MULTIPLIER, Array, Flow, LossFinder, wrench_frames, wrench_inputs
from dalembert.reference import Reference
from dalembert.robot import Robot
from dalembert.simulation.adaptive import AdaptiveSolver
from dalembert.simulation.driver import RunDriver
from dalembert.simulation.limits import Excess, find_excesses
from dalembert.simulation.loop import START, ClosedLoop
from dalembert.simulation.measures import finish_measures
from dalembert.simulation.options import WHOLE, JointLimits
from dalembert.simulation.record import CONTACT_LOST, EVENT, Fences, Progress, Record
from dalembert.simulation.request import Request, begin_kernel
from dalembert.simulation.results import SHARE, SMALL, free_memory, size_in_words
from dalembert.simulation.run import Run
from dalembert.simulation.steps import METHODS
from dalembert.simulation.stream import Clock, Cut, RunInputs, Signal

if TYPE_CHECKING:
    from dalembert.collision import Collision, World, WorldArrays
    from dalembert.constrained.contacts import ContactLoss
    from dalembert.simulation.experiment import Experiment

SAID = 3  # limits passed, and contacts, that the message names
MOST_BREAKS = 10**8  # instants at which an adaptive method begins anew
COPIES = 3  # of the rows, while a run is put together
LONG_RUN_S = 60.0  # a run that is estimated to take longer gives a warning
SECONDS_PER_OPERATION, SECONDS_PER_CALL = 1.4e-9, 3e-5  # on a machine of 2023, one run alone
UNITS_OF_TIME = ((3.15e7, "years"), (86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))
LEAK = 0.01  # a relative gap in the energy balance beyond this is reported


def run_one(e: Experiment, request: Request, index: int = 0) -> Run:
    """Return run number `index` of a request, with all its rows, events and energies."""
    loop, clock, plant, solver = request.loop, request.clock, request.plant, e.solver
    shapes = find_shapes(e.system, e.world)
    _check_memory(clock, loop)
    X0, inputs = _begin(request, index)
    fences = _fences(e.limits, plant, X0, solver.adaptive)
    sample: Callable[[float, Array, Array], Array] | None = None
    if request.asked:
        sample = lambda t, X, U: np.array(loop.take(t, X.tolist(), U.tolist()), float)  # noqa: E731
    record, bar = Record(), Progress(solver.progress, plant.name)
    finder = None if plant.contacts is None else plant.contacts.finder()
    watch = None if finder is None else _watch(plant, finder)
    try:
        if request.plan is None:
            sampling = request.sampling
            period = sampling.period if not sampling.always else None
            breaks, times = _instants(clock, period, request.stream.signals)
            rtol = 1e-8 if solver.rtol is None else float(solver.rtol)
            tolerances = (rtol, np.asarray(1e-10 if solver.atol is None else solver.atol, float))
            rest = (times, breaks, solver.method, *tolerances, sample, sampling.always, fences)
            AdaptiveSolver(loop, inputs, *rest).run(X0, record, bar)
            if watch is not None:
                watch(*record.rows())
        else:
            rollout, hold = request.plan.loop, request.stream.hold
            if solver.progress is not False:
                _warn_of_time(clock, rollout.operations, clock.steps / hold if request.asked else 0.0)
            driver = RunDriver(
                rollout,
                clock,
                inputs.blocks,
                inputs.p,
                hold,
                loop=loop,
                inputs=inputs,
                judged=METHODS[solver.row].iterated,
                sample=sample,
                fences=fences,
                watch=watch,
            )
            driver.run(X0, record, bar)
    finally:
        bar.close()
    run = _assemble(loop, request.reference, record, solver.method, clock.dt)
    if finder is not None and finder.losses:
        run = _report_losses(run, finder.losses)
    run = _with_contacts(run, shapes, e.world)
    if run.ok and not solver.adaptive and loop.supply is not None and e.limits.position != "bounce":
        found = run.audit()
        rounding = clock.steps * float(np.spacing(np.abs(run.energy).max()))
        if found.relative > LEAK and found.largest > rounding:
            gap = f"the energy balance is off by {found.relative:.0%}"
            why = f"the time step of {clock.dt:g} s is too long for this motion"
            return replace(run, message=f"{run.message}; {gap}: {why}")
    return run


def find_shapes(system: object, world: World | WorldArrays | None) -> Collision | None:
    """Return the shapes whose contacts with the world are reported, or raise an error if nothing is known of them."""
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


def _begin(request: Request, index: int) -> tuple[Array, RunInputs]:
    """X of the loop at t = 0, and the inputs of the run."""
    loop, stream = request.loop, request.stream
    cut: Cut = request.arrays and {name: x[index : index + 1] for name, x in request.arrays.items()}
    parts = [c.values(stream.seed, index, 1, cut)[0] for c in request.initial]
    X = np.concatenate(parts)
    if loop.errors:
        starts = {f"{s}{START}": float(X[loop.base.states.index(s)]) for s in loop.errors}
        stream = replace(stream, constants={**stream.constants, **starts})
    inputs = RunInputs(stream, loop.flow, index, cut)
    if loop.begins:
        given_z = bool(loop.own) and request.given_z
        begin = begin_kernel(loop, stream.wiring, given_z)
        with np.errstate(all="ignore"):
            X = np.asarray(begin(np.concatenate((X, inputs.p, inputs.blocks(0, 1)[0]))))
    for name, value in zip(loop.own, X[loop.nx : loop.ends[1]].tolist(), strict=True):
        if not math.isfinite(value):
            assert loop.law is not None
            raise InputError(f"{loop.law.name!r} begins with {name!r} = {value}: it must be finite")
    return X, inputs


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


def _check_memory(clock: Clock, loop: ClosedLoop) -> None:
    """Refuse, before anything is computed, rows that memory would not hold."""
    rows = clock.duration / clock.dt / clock.every
    needed = 8 * COPIES * rows * (1 + loop.ends[-1] + len(loop.outputs))
    free = free_memory() if needed > SMALL else None
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
    for step in (period, clock.dt if any(not s.moves and not s.constant for s in given) else None):
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
        made, each = [], np.ascontiguousarray(values.T) if len(names) else values.T
        for k, name in enumerate(names):
            while name in columns:
                name = f"{name}'"
            columns[name] = each[k]
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
    rows = {kind: np.array([columns[c] for c in groups[name]]).T for kind, name in known.items() if groups[name]}
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
