"""Thousands of runs at once: different starts, parameters, gains, loads and disturbances; one fused loop."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, count, in_joint_order
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.errors import ContactWarning, DivergenceWarning, InputError, unknown
from dalembert.flow import Array, Contacts, Flow, Scalar, Scalars
from dalembert.law import Law, read_law
from dalembert.reference import Reference, SetPoint, read_reference
from dalembert.simulation.draws import Distribution, Noise, read_seed
from dalembert.simulation.feed import Wiring, wire
from dalembert.simulation.fixed_step import LOOPS, check_flow, check_method, compile_loop, read_seconds, whole_steps
from dalembert.simulation.limits import read_torque_limits
from dalembert.simulation.loop import DISTURBANCE, START, ClosedLoop, follow_reference
from dalembert.simulation.measures import (
    CONTACT_DOUBT,
    CONTACT_EXCESS,
    Measure,
    Measures,
    finish_measures,
    read_errors,
    read_measures,
)
from dalembert.simulation.options import Sampling, Sensors, read_noun
from dalembert.simulation.plan import Column, Plan, Same
from dalembert.simulation.plant import read_system, start_state, warn_of_reference, words_for_names
from dalembert.simulation.record import tell_remedy
from dalembert.simulation.results import SHARE, Moments, Tree, free_memory, new_file, size_in_words
from dalembert.simulation.steps import METHODS
from dalembert.simulation.workers import Scheduler, Threads, compute_pieces, count_workers

if TYPE_CHECKING:
    from dalembert.constrained.contacts import ContactLoss

Value: TypeAlias = ArrayLike | Distribution | Noise  # what a quantity of all rollouts may be given as
WORKING = 64 * 2**20  # bytes that one chunk may take while it is computed
WORK = 2_000_000_000  # operations of a chunk: a second or so, the time that is lost with a worker
MOST_DOUBTFUL = 8  # rollouts that are computed once more for the warning, where contacts are in doubt
NONE = "none diverged"
KEEP = ("final", "all", "statistics")


@dataclass(frozen=True, eq=False, repr=False)
class BatchRequest:
    """A plan, the arrays it is cut from, and the names of what it is about."""

    plan: Plan
    number: int
    arrays: dict[str, Array]  # (B, size), or (B, steps), by the name of the column
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    positions: int
    velocities: int
    measures: dict[str, Measure]
    check: Callable[[Array], None] | None = None  # of initial states, as `Flow.check`
    contacts: Contacts | None = None

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

    def find_losses(self, index: int) -> tuple[Any, ...]:
        """The contacts that rollout `index` loses, found by running it once more with all its rows kept."""
        assert self.contacts is not None
        every_row = replace(self.plan, every=1, rows="all", columns=tuple(range(len(self.states) + len(self.outputs))))
        rows = every_row.run(index, 1, self.cut(index, 1)).rows
        assert rows is not None
        x, y = np.split(rows[0], [len(self.states)], -1)
        return self.contacts.find_losses(np.asarray(self.dt * np.arange(len(x)), float), x, y)

    def remedy(self, index: int) -> str:
        """Why rollout `index` diverged: a pole that its steps are too long for, if there is one."""
        states = len(self.states) - len(self.measures)
        vector = self.positions == self.velocities or not self.positions  # positions are no rotations
        fastest = self.plan.fastest_pole(index, self.cut(index, 1), states) if vector else 0.0
        return tell_remedy(self.dt, fastest) or f"it is unstable, or the step of {self.dt:g} s is too long"

    def divergence(self, diverged_at: NDArray[np.int64]) -> str:
        """How many rollouts diverged, when the first did, and why; empty if none did."""
        found = np.flatnonzero(diverged_at >= 0)
        if not len(found):
            return ""
        first = int(found[np.argmin(diverged_at[found])])
        when = f"rollout {first} first at t = {float(diverged_at[first]) * self.dt:.6g} s"
        return f"{len(found)} of {self.number} rollouts diverged, {when}; {self.remedy(first)}"

    def warn_of_divergence(self, diverged_at: NDArray[np.int64], stacklevel: int = 3) -> None:
        """A DivergenceWarning, if rollouts diverged."""
        if text := self.divergence(diverged_at):
            warnings.warn(f"{text}. Their results are NaN.", DivergenceWarning, stacklevel=stacklevel)

    def largest_state(self, index: int, steps: int) -> str:
        """The state of rollout `index` that is largest after so many steps."""
        cut = self.cut(index, 1)
        moving = tuple(
            Column(c.name, c.size, self.plan.values(c, index, 1, cut)[:, : max(steps, 1)]) for c in self.plan.moving
        )
        shared = None if self.plan.shared is None else self.plan.shared[: steps + 1]
        shorter = replace(self.plan, steps=steps, every=max(steps, 1), rows="final", moving=moving, shared=shared)
        last = np.abs(shorter.run(index, 1, cut).last[0, : len(self.states) - len(self.measures)])
        return self.states[int(np.argmax(np.where(np.isfinite(last), last, -1.0)))]


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """What was kept of B rollouts.

    names: what was kept, states then outputs; t (rows,) [s] and rows (B, rows, names), or `moments` of it over the
    rollouts, (rows, names) each, or neither (keep="final"). last (B, states + outputs): the end of every rollout, NaN
    where it diverged; diverged_at (B,): the step after which the state was not finite, −1 where none. measures: (B,)
    each. residual (B,): of an implicit method. ground (B,): of a system on contacts, by how much they have to pull,
    slip or tilt, as `flow.Contacts.excess` counts it. `batch[name]` is what there is of a name: (B, rows), or (B,) at
    the end."""

    t: Array
    names: tuple[str, ...]
    rows: Array | None
    moments: Moments | None
    columns: tuple[str, ...]
    last: Array
    diverged_at: NDArray[np.int64]
    residual: Array
    measures: dict[str, Array]
    ground: dict[str, Array]
    request: BatchRequest

    def __len__(self) -> int:
        return len(self.last)

    def __repr__(self) -> str:
        kept = f"{len(self.t)} rows of {len(self.names)} names" if self.names else "their ends"
        measures = f", measures {', '.join(self.measures)}" if self.measures else ""
        return f"<Batch of {len(self)} rollouts, {kept}{measures}; {self.verdict}>"

    @property
    def verdict(self) -> str:
        """What is wrong with these rollouts, in a sentence."""
        return "; ".join(filter(None, (self.divergence or NONE, self.lost_contacts)))

    @cached_property
    def divergence(self) -> str:
        """How many rollouts diverged, when the first did, and why; empty if none did."""
        return self.request.divergence(self.diverged_at)

    def __getitem__(self, name: str) -> Array:
        if name in self.measures:
            return self.measures[name]
        if self.rows is not None and name in self.names:
            return self.rows[..., self.names.index(name)]
        if name not in self.columns:
            raise unknown("state, output or measure", name, (*self.columns, *self.measures))
        return self.last[:, self.columns.index(name)]

    @property
    def q(self) -> Array:
        """Positions: (B, rows, n) where all of them were kept, else (B, n) at the end."""
        return self._block(0, self.request.positions)

    @property
    def qd(self) -> Array:
        """Their rates, likewise; velocities, where these are no rates."""
        return self._block(self.request.positions, self.request.velocities)

    def _block(self, first: int, count: int) -> Array:
        wanted = self.request.states[first : first + count]
        if self.rows is not None and all(name in self.names for name in wanted):
            return self.rows[..., [self.names.index(name) for name in wanted]]
        return self.last[:, first : first + count]

    def parameters(self, first: int = 0, count: int | None = None) -> dict[str, Array]:
        """Of rollouts first, …: what differs between them, starts and parameters by name; drawn again from the seed."""
        return self.request.drawn(first, len(self) - first if count is None else count)

    @cached_property
    def failures(self) -> list[Failure]:
        """The rollouts that diverged: which, when, by which state, with which parameters."""
        found = np.flatnonzero(self.diverged_at >= 0).tolist()
        return [Failure(index, float(self.diverged_at[index]) * self.request.dt, self.request) for index in found]

    @cached_property
    def contacts_lost(self) -> NDArray[np.bool_]:
        """(B,): the rollouts in which a contact with the ground could not be sustained, so that what follows is not
        what the robot would do; `find_contact_losses` says which. Rollouts that the sums of the loop leave in doubt are
        computed once more."""
        lost = self._surely_lost
        for k in np.flatnonzero(self._doubt > 0):
            lost[k] = bool(self.find_contact_losses(int(k)))
        return lost

    @property
    def _surely_lost(self) -> NDArray[np.bool_]:
        return np.asarray(self.ground.get(CONTACT_EXCESS, np.zeros(len(self))) > 0)

    @property
    def _doubt(self) -> Array:
        """(B,): zero where it is clear whether contacts are lost."""
        return np.where(self._surely_lost, 0.0, self.ground.get(CONTACT_DOUBT, np.zeros(len(self))))

    @cached_property
    def lost_contacts(self) -> str:
        """In how many rollouts contacts with the ground are lost, and how in the first of them; empty if none is known
        to be. Of those in doubt only the most doubtful are looked at."""
        lost, doubt = self._surely_lost, self._doubt
        for k in np.argsort(-doubt, kind="stable")[:MOST_DOUBTFUL]:
            if not lost.any() and doubt[k] > 0:
                lost[k] = bool(self.find_contact_losses(int(k)))
        if not lost.any():
            return ""
        first = int(np.argmax(lost))
        found = self.find_contact_losses(first)
        many = f"{'at least ' if (doubt > 0).any() else ''}{int(lost.sum())} of {len(self)}"
        return f"contacts are lost in {many} rollouts; rollout {first}: {found[0] if found else 'between its steps'}"

    def warn_of_contacts(self, stacklevel: int = 3) -> None:
        """A ContactWarning, if contacts are lost."""
        if text := self.lost_contacts:
            words = f"{text}. Their motion is not the robot's from then on."
            warnings.warn(words, ContactWarning, stacklevel=stacklevel)

    def find_contact_losses(self, index: int) -> tuple[ContactLoss, ...]:
        """Return the contacts that cannot be sustained in rollout `index`, which is computed once more for it."""
        return () if self.request.contacts is None else self.request.find_losses(index)


@dataclass(frozen=True, eq=False)
class Failure:
    """A rollout that diverged in the step that began at `time` [s]."""

    index: int
    time: float
    request: BatchRequest

    @property
    def parameters(self) -> dict[str, Array]:
        return {name: value[0] for name, value in self.request.drawn(self.index, 1).items()}

    @cached_property
    def state(self) -> str:
        """The state that was largest when all of them were still finite: found by running it once more, so far."""
        return self.request.largest_state(self.index, round(self.time / self.request.dt))

    def __str__(self) -> str:
        when = f"rollout {self.index} diverged at t = {self.time:.6g} s; {self.state} was largest by then"
        return f"{when}; {self.request.remedy(self.index)}"


def rollouts(
    system: object,
    controller: object = None,
    q0: Value | None = None,
    qd0: Value | None = None,
    *,
    duration: float,
    dt: float,
    method: str = "rk4",
    x0: Value | None = None,
    reference: object = None,
    parameters: Mapping[str, Value] | None = None,
    disturbances: Mapping[str, Value] | None = None,
    payload: Sequence[float] | bool | None = None,
    friction: bool | str | None = None,
    sensors: Sensors | None = None,
    torque_limits: object = None,
    measures: Measures | Sequence[str] | str | Mapping[str, Measure] = (),
    error: Mapping[str, object] | None = None,
    every: int | None = None,
    keep: str | Sequence[str] = "final",
    number: int | None = None,
    seed: int | None = None,
    threads: Threads = None,
    scheduler: Scheduler = None,
    chunk: int | None = None,
    file: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Batch:
    """B rollouts of `duration` [s] in steps of dt [s], controller and integrator in one compiled loop, W at a time.

    system: a Robot, a LagrangianSystem, anything with a flow, or a Flow. controller: a Law, a Controller, or None.
    q0, qd0: (B, n), (n,) for all, or a distribution (`uniform`, `normal`, …); x0: the whole state instead.
    reference: a Reference, numbers to rest at, or a function of t giving x or (x, ẋ, ẍ).
    parameters: inputs of the closed loop by name (gains, set points, payload_mass, parameters of a LagrangianSystem):
    one number, (B,), (B or 1, steps) for one that moves and is held over each step, a distribution, or `Noise`.
    disturbances: the same, added to what the controller puts out, by the name of the input. payload: where payload_mass
    hangs at the tip [m]; True: payload_x, _y, _z are parameters too. sensors: the controller's sample time, delay,
    noise and quantization (`Sensors`). torque_limits clip what the controller puts out, before disturbances: "robot"
    for its efforts, a number, one per output, or (lower, upper).
    keep: "final"; "all" states and outputs before steps 0, every, 2 every, … and the last; names of them; or
    "statistics", of all of them over the rollouts. measures: rows of `measures.MEASURES`, computed in the loop.
    number: how many rollouts, where no array says it. The numbers of a rollout depend on seed, name and index alone:
    neither `chunk` nor `threads` nor the cluster changes a bit. Results of rollouts that diverge are NaN, which a
    `DivergenceWarning` reports. A `ContactWarning` reports contacts with the ground that cannot be sustained.
    threads: of this process (one); scheduler: "local" (processes, all), a Dask address or client. file: the kept rows
    go to this .npy, in which they can be larger than memory. progress(done, B) is called after each chunk."""
    wanted = measures if isinstance(measures, Measures) else Measures(measures, error)
    if wanted.world is not None:
        raise InputError("contacts with a world are found of one run: of a batch's, robot.contact_spans tells")
    given = (parameters, disturbances, payload, friction, sensors, torque_limits)
    start, kept = (q0, qd0, x0), (wanted, every, keep, number, seed)
    asked = read_request(system, controller, start, duration, dt, method, reference, *given, *kept, watched=True)
    batch = carry_out(asked, threads, scheduler, chunk, file, progress)
    asked.warn_of_divergence(batch.diverged_at)
    batch.warn_of_contacts()
    return batch


def read_request(
    system: object,
    controller: object,
    start: tuple[Value | None, Value | None, Value | None] | None,
    duration: float,
    dt: float,
    method: str,
    reference: object,
    parameters: Mapping[str, Value] | None,
    disturbances: Mapping[str, Value] | None,
    payload: Sequence[float] | bool | None,
    friction: bool | str | None,
    sensors: Sensors | None,
    torque_limits: object,
    wanted: Measures,
    every: int | None,
    keep: str | Sequence[str],
    number: int | None,
    seed: int | None,
    watched: bool = False,
) -> BatchRequest:
    """What `rollouts` is asked for, checked, its loop traced; `start` is (q0, qd0, x0), None if it is given later;
    `watched`: whether contacts with the ground are judged."""
    begins = start or ()
    law, eyes = read_law(controller), read_noun("sensors", sensors, Sensors)
    given, added = _read_names("parameters", parameters), _read_names("disturbances", disturbances)
    words: dict[str, object] = {} if friction is None else {"friction": friction}
    names = (*given, *added)
    plant = read_system(system, {**words, **words_for_names(system, names, payload)}, {"energies": True})
    step = read_seconds("dt", dt)
    steps = _whole_steps(read_seconds("duration", duration), step)
    asked = law is not None and law.asked
    sampling = eyes.sampling(law, asked, step, False)
    noise = eyes.deviations(law, plant, sampling.period)
    loop, motion = _close(plant, law, reference, given, added, wanted, torque_limits, eyes, sampling, watched)
    flow = loop.flow
    check_flow(flow)
    check_method(flow, method)
    warn_of_reference(plant, law, motion, step * steps)
    if every is not None and keep == "final":
        raise InputError("every= says which rows are kept, and keep='final' keeps the ends alone: give keep='all'")
    many = count("every", 1 if every is None else every, 1)
    inputs = _by_input(loop, given, added) | noise
    own_seed = _read_seed(seed, eyes, (*begins, *inputs.values()))
    rows = [name for name in loop.inputs if _is_row(inputs.get(name))]
    moving = loop.followed if motion is not None and not any(name in inputs for name in loop.followed) else ()
    wiring = wire(flow, METHODS[method].nodes, rows, moving, sampling.period is not None and not asked)
    arrays: dict[str, Array] = {}
    size = len(plant.states)
    parts = _starts(plant, *start, number, own_seed) if start else [("x0", size, np.zeros(size))]
    columns = _initial(loop, parts, arrays)
    usual = law.parameters if law is not None else {}
    held = tuple(name for name in wiring.held if not name.endswith(START))
    of_p = [_column(name, 1, inputs.get(name, usual.get(name, 0.0)), arrays) for name in held]
    of_u = [_row_column(name, inputs[name], steps, arrays) for name in wiring.rows]
    total = _total(arrays, number, (*columns, *of_p, *of_u))
    kept, how = _kept(loop, keep)
    every_name = (*flow.states, *flow.outputs)
    plan = Plan(
        compile_loop(flow, method, wiring, asked=asked),
        tuple(columns),
        tuple(of_p),
        tuple(flow.states.index(name) for name in loop.errors),
        tuple(of_u),
        _shared(wiring, motion, steps, step, sampling.hold),
        METHODS[method].iterated,
        steps,
        step,
        max(steps, 1) if how == "final" else many,
        own_seed,
        how,
        tuple(sorted(every_name.index(name) for name in kept)),
        _begin_kernel(loop, wiring) if loop.begins else None,
        partial(loop.asks, wiring) if asked else None,
        sampling.hold,
    )
    sizes = (plant.positions, plant.nv if plant.transport is None else 0)  # momenta are no rates
    measures = dict(loop.measures)
    return BatchRequest(
        plan, total, arrays, flow.states, flow.outputs, *sizes, measures, plant.check, contacts=plant.contacts
    )


def carry_out(
    asked: BatchRequest,
    threads: Threads = None,
    scheduler: Scheduler = None,
    chunk: int | None = None,
    file: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Batch:
    """A request carried out, chunk by chunk."""
    plan, total = asked.plan, asked.number
    size = _chunk(plan, total, chunk, count_workers(threads, scheduler))
    shape = (total, plan.kept, len(plan.columns))
    _fits(plan, total, shape, file)
    last = np.empty((total, plan.n + plan.loop.size["y"]))
    diverged, residual = np.empty(total, np.int64), np.empty(total)
    tree, done = Tree(), 0
    with _rows(plan, shape, file) as rows:
        for piece in compute_pieces(plan, total, size, asked.cut, threads, scheduler):
            at = slice(piece.first, piece.first + len(piece.last))
            last[at], diverged[at], residual[at] = piece.last, piece.diverged, piece.residual
            if rows is not None:
                rows[at] = piece.rows
            if piece.tree is not None:
                tree.join(piece.tree)
            done += len(piece.last)
            if progress is not None:
                progress(done, total)
    if rows is not None and file is not None:
        rows = np.load(file, mmap_mode="r")
    t = plan.dt * np.append(np.arange(plan.kept - 1) * plan.every, plan.steps)
    moments = tree.total() if plan.rows == "statistics" else None
    own = len(asked.states) - len(asked.measures)
    found = finish_measures(asked.measures, last[:, own : len(asked.states)], plan.steps * plan.dt)
    ground = {name: found.pop(name) for name in (CONTACT_EXCESS, CONTACT_DOUBT) if name in found}
    columns = (*asked.states, *asked.outputs)
    names = tuple(columns[k] for k in plan.columns)
    return Batch(t, names, rows, moments, columns, last, diverged, residual, found, ground, asked)


def _rows(plan: Plan, shape: tuple[int, ...], file: str | Path | None) -> AbstractContextManager[Array | None]:
    if plan.rows != "all":
        if file is not None:
            raise InputError(f"file= is for what is kept of all times, and keep={plan.rows!r} keeps none")
        return nullcontext()
    return new_file(file, shape) if file is not None else nullcontext(np.empty(shape))


def _chunk(plan: Plan, total: int, chunk: int | None, workers: int) -> int:
    """Rollouts in a chunk: as asked, or what fits into WORKING bytes and takes about a second, but several for each
    worker; a multiple of the vector's width."""
    if chunk is not None:
        return count("chunk", chunk, 1)
    width = plan.loop.width
    size = min(WORKING // plan.needed(), WORK // max(plan.loop.operations * plan.steps, 1))
    if workers > 1:
        size = min(size, -(-total // (8 * workers)))
    return max(size // width, 1) * width


def _fits(plan: Plan, total: int, shape: tuple[int, ...], file: str | Path | None) -> None:
    """Refuse, before anything is allocated, what memory would not hold."""
    ends = 8 * total * (plan.n + plan.loop.size["y"] + 2)
    rows = 8 * math.prod(shape) if plan.rows == "all" and file is None else 0
    free = free_memory()
    if free is not None and ends + rows > SHARE * free:
        hint = "keep fewer names, every=… larger, keep='statistics', or a file=" if rows else "fewer rollouts at a time"
        needs = f"{shape[1]} rows × {shape[2]} numbers needs {size_in_words(ends + rows)}"
        raise InputError(
            f"the result of {total} rollouts × {needs}, and {size_in_words(free)} of memory are free: {hint}"
        )
    needed = plan.needed() * plan.loop.width
    if free is not None and needed > max(SHARE * free, WORKING):
        raise InputError(
            f"{plan.steps} steps of a few rollouts need {size_in_words(needed)} while they run, and "
            f"{size_in_words(free)} of memory are free: a shorter duration, a longer dt, or every= larger"
        )


# ----------------------------------------------------------------------------------------------------- what is given
def _read_names(what: str, value: object) -> dict[str, Value]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{what} is a dictionary of names and values, got {type(value).__name__}")
    return dict(value)


def _whole_steps(duration: float, dt: float) -> int:
    whole, steps = whole_steps(duration, dt), duration / dt
    if abs(steps - whole) > 1e-6 * whole:
        raise InputError(f"duration {duration!r} s is not a whole number of steps of {dt!r} s: {steps:.6g}")
    return whole


def _close(
    plant: Flow,
    law: Law | None,
    reference: object,
    given: Mapping[str, Value],
    added: Mapping[str, Value],
    measures: Measures,
    torque_limits: object,
    eyes: Sensors,
    sampling: Sampling,
    watched: bool,
) -> tuple[ClosedLoop, Reference | None]:
    """The loop, made once for the same of everything, and the reference."""
    if law is None and reference is not None:
        raise InputError("a reference is what a controller follows, and there is none")
    if law is None and torque_limits is not None:
        raise InputError("torque_limits clip what a controller puts out, and there is none")
    rows, motion = read_measures(measures.names), read_reference(reference)
    if watched and plant.contacts is not None:
        for name in (CONTACT_EXCESS, CONTACT_DOUBT)[: 1 if plant.contacts.exact else 2]:
            rows[name] = Measure("∫ by how much contacts pull, slip or tilt dt", "")
    if measures.error is not None and not any("e" in row.needs for row in rows.values()):
        raise InputError("error= says what measures of errors compare, and none is asked for: give measures=")
    if law is not None:
        if motion is not None and not law.follows:
            raise InputError(f"{law.name!r} follows nothing: give no reference")
        missing = [name for name in law.follows if name not in given]
        if motion is None and missing and len(missing) == len(law.follows):
            raise InputError(f"{law.name!r} follows {missing[0]}, …: give a reference, or parameters of these names")
    words: dict[str, object] = {
        "disturbed": tuple(name for name in added if law is not None and name in law.outputs),
        "limits": tuple(read_torque_limits(torque_limits, law.outputs, plant).items()) if law is not None else (),
        "sample": sampling.period,
        "delay": sampling.delay,
        "quantization": eyes.steps(law, plant),
        "noisy": eyes.noise is not None,
        "measures": tuple(rows.items()),
    }
    if measures.error is not None:
        bare = _make_loop(plant, Same(law), None, tuple({**words, "measures": ()}.items()))
        words["error"] = tuple(read_errors(bare.base, plant.positions, law, measures.error).items())
    key = tuple(motion.point.tolist()) if isinstance(motion, SetPoint) else motion and Same(motion)
    return _make_loop(plant, Same(law), key, tuple(words.items())), motion


@lru_cache(maxsize=LOOPS)
def _make_loop(
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


def _by_input(loop: ClosedLoop, given: Mapping[str, Value], added: Mapping[str, Value]) -> dict[str, Value]:
    """Everything given, by the names of the loop's inputs."""
    result, known = dict(given), loop.inputs
    for name, value in added.items():
        key = f"{name}{DISTURBANCE}" if name in loop.disturbed else name
        if key not in known or key in given:
            raise unknown(f"input of {loop.flow_name!r} to disturb", name, loop.commands or known)
        result[key] = value
    own = tuple(name for name in known if not name.endswith(START))
    for name in given:
        if name not in own:
            raise unknown(f"parameter of {loop.flow_name!r}", name, own)
    return result


def _read_seed(seed: object, eyes: Sensors, values: Sequence[Value | None]) -> int:
    if eyes.seed is not None:
        raise InputError("the seed of a batch is that of all that is drawn: give seed= to rollouts, not to its sensors")
    number = read_seed(0 if seed is None else seed)
    if seed is not None and not any(isinstance(value, (Distribution, Noise)) for value in values):
        raise InputError("seed is that of what is drawn, and nothing is: give a distribution, or leave seed out")
    return number


def _is_row(value: Value | None) -> bool:
    """Whether a value changes from step to step."""
    return isinstance(value, Noise) or not (value is None or isinstance(value, Distribution) or np.ndim(value) != 2)


def _shared(wiring: Wiring, motion: Reference | None, steps: int, dt: float, hold: int) -> Array | None:
    """What follows the rows in u, the same for all rollouts, (steps + 1, k); the last row is for the end, where no
    sample is due."""
    if not wiring.moving and not wiring.flagged:
        return None
    places = np.arange(steps + 1)
    parts = wiring.tail(places, dt, hold)
    if wiring.flagged:
        parts[-1][-1] = 0.0
    if wiring.moving and motion is not None:
        r = np.concatenate(motion(wiring.times(places, dt)), -1)[..., : len(wiring.moving)]
        parts.insert(0, r.reshape(len(places), -1))
    return np.concatenate(parts, -1)


@lru_cache(maxsize=LOOPS)
def _begin_kernel(loop: ClosedLoop, wiring: Wiring) -> Kernel:
    """How a rollout begins, of one row (x, p, u)."""
    n, l, read = len(loop.flow.states), len(wiring.held), wiring.reader(loop.flow)

    def of_row(v: Scalars) -> list[Scalar]:
        return loop.begin(v[:n], read(0.0, v[n + l :], v[n : n + l]))

    return compile_function(of_row, [(n + l + wiring.size,)], [(n,)], f"{loop.flow_name} start", arguments=("v",))


def _column(name: str, size: int, value: Value, arrays: dict[str, Array], one: str = "") -> Column:
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
    x = array(name, value)
    core = (size,) if size != 1 or one else ()
    if x.shape == core:
        return Column(name, size, x.reshape(1, size))
    if x.ndim == len(core) + 1 and x.shape[1:] == core:
        if len(x) == 0:
            raise InputError(f"{name} is empty: there is no rollout")
        arrays[name] = x.reshape(len(x), size)
        return Column(name, size, None)
    wanted = f"(B, {size}) or ({size},){one}" if core else "one number, (B,), or (B or 1, steps) for one that moves"
    raise InputError(f"{name} has shape {x.shape}; it must be {wanted}")


def _row_column(name: str, value: Value, steps: int, arrays: dict[str, Array]) -> Column:
    if isinstance(value, Noise):
        return Column(name, 1, value)
    x = array(name, value)
    if x.shape[1] != steps:
        raise InputError(f"{name} has shape {x.shape}; what moves must be (B or 1, {steps}), one number per step")
    if len(x) > 1:
        arrays[name] = x
    return Column(name, 1, x if len(x) == 1 else None)


def _starts(
    plant: Flow, q0: Value | None, qd0: Value | None, x0: Value | None, number: object, seed: int
) -> list[tuple[str, int, Value]]:
    """(name, size, value) of the parts of the plant's state."""
    n, size = plant.n, len(plant.states)
    q0, qd0 = (
        cast("Value | None", in_joint_order(name, value, plant.states[:n]))
        for name, value in (("q0", q0), ("qd0", qd0))
    )
    if x0 is not None:
        if q0 is not None or qd0 is not None:
            raise InputError("give x0, the whole state, or q0 and qd0, not both")
        return [("x0", size, x0 if plant.velocities is None else _started(plant, (("x0", size, x0),), number, seed))]
    if q0 is None:
        raise InputError("give q0, where the rollouts begin" if n else f"give x0: {plant.name!r} names no positions")
    if n == 0:
        raise InputError(f"{plant.name!r} names no positions: give x0")
    rates = n if plant.velocities is None and plant.start is not None else plant.nv
    rest = np.zeros(rates) if qd0 is None else qd0
    if plant.start is not None or plant.check is not None:
        return [("x0", size, _started(plant, (("q0", n, q0), ("qd0", rates, rest)), number, seed))]
    nq, nv = plant.nq, plant.nv
    return [("q0", nq, q0), ("qd0", nv, rest), ("rest", size - nq - nv, np.zeros(size - nq - nv))]


def _started(plant: Flow, given: Sequence[tuple[str, int, Value]], number: object, seed: int) -> Array:
    """(B, states) of a plant that makes its state of (q, q̇) by itself, or looks at it: constrained, flexible, with
    joints that stick or whose positions are no vector. `given`: (name, size, value) of q0 and qd0, or of x0."""
    arrays: dict[str, Array] = {}
    drawn = any(isinstance(value, Distribution) for _, _, value in given)
    shown = f": the {'positions' if len(given) > 1 else 'states'} of {plant.name!r}"
    parts = [_column(name, size, value, arrays, shown) for name, size, value in given]
    total = _total(arrays, number if drawn else None, parts)
    values = [
        c.value.draw(seed, c.name, 0, total)
        if isinstance(c.value, Distribution)
        else np.broadcast_to(arrays[c.name] if c.value is None else np.asarray(c.value), (total, c.size))
        for c in parts
    ]
    made = start_state(plant, *map(np.asarray, values)) if len(values) > 1 else np.asarray(values[0])
    if plant.check is not None:
        plant.check(made)
    return made[0] if total == 1 and not arrays and not drawn else made


def _initial(loop: ClosedLoop, parts: Sequence[tuple[str, int, Value]], arrays: dict[str, Array]) -> list[Column]:
    shown = f": the states of {loop.plant.name!r}, {', '.join(loop.plant.states[:3])}, …"
    columns = [_column(name, size, value, arrays, shown) for name, size, value in parts]
    own = np.array(loop.initial, float)
    return [*columns, Column("z", len(own), own[None])]


def _total(arrays: Mapping[str, Array], number: object, columns: Sequence[Column]) -> int:
    if number is not None:
        total = count("number", number, 1)
        for name, x in arrays.items():
            if len(x) != total:
                raise InputError(f"{name} is given for {len(x)} rollouts, and others for {total}")
        return total
    if arrays:
        sizes = {len(x): name for name, x in reversed(list(arrays.items()))}
        for size in sizes:
            if size != max(sizes):
                most = f"{sizes[max(sizes)]} for {max(sizes)}"
                raise InputError(f"{sizes[size]} is given for {size} rollouts, and {most}")
        return max(sizes)
    if any(isinstance(column.value, (Distribution, Noise)) for column in columns):
        raise InputError("everything is drawn or the same for all: say how many rollouts, number=…")
    return 1


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
