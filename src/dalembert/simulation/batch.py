"""Thousands of runs at once: different starts, parameters, gains, loads and disturbances; one fused loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.errors import InputError, unknown
from dalembert.simulation.moments import Moments, Tree
from dalembert.simulation.plan import Plan
from dalembert.simulation.request import Request, request
from dalembert.simulation.storage import SHARE, free_memory, new_file, written
from dalembert.simulation.workers import how_many, pieces

Array = NDArray[np.float64]
WORKING = 64 * 2**20  # bytes that one chunk may take while it is computed
WORK = 2_000_000_000  # operations of a chunk: a second or so, the time that is lost with a worker


@dataclass(frozen=True, eq=False)
class Batch:
    """What was kept of B rollouts.

    names: what was kept, states then outputs; t (rows,) [s] and rows (B, rows, names), or `moments` of it over the
    rollouts, (rows, names) each, or neither (keep="final"). last (B, states + outputs): the end of every rollout, NaN
    where it diverged; diverged_at (B,): the step after which the state was not finite, −1 where none. measures: (B,)
    each. residual (B,): of an implicit method. `batch[name]` is what there is of a name: (B, rows), or (B,) at the
    end."""

    t: Array
    names: tuple[str, ...]
    rows: Array | None
    moments: Moments | None
    columns: tuple[str, ...]
    last: Array
    diverged_at: NDArray[np.int64]
    residual: Array
    measures: dict[str, Array]
    request: Request

    def __len__(self) -> int:
        return len(self.last)

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
        return self._block(0)

    @property
    def qd(self) -> Array:
        return self._block(self.request.positions)

    def _block(self, first: int) -> Array:
        wanted = self.request.states[first : first + self.request.positions]
        if self.rows is not None and all(name in self.names for name in wanted):
            return self.rows[..., [self.names.index(name) for name in wanted]]
        return self.last[:, first : first + self.request.positions]

    def parameters(self, first: int = 0, count: int | None = None) -> dict[str, Array]:
        """Of rollouts first, …: what differs between them, starts and parameters by name; drawn again from the seed."""
        return self.request.drawn(first, len(self) - first if count is None else count)

    @cached_property
    def failures(self) -> list[Failure]:
        """The rollouts that diverged: which, when, by which state, with which parameters."""
        found = np.flatnonzero(self.diverged_at >= 0).tolist()
        return [Failure(index, float(self.diverged_at[index]) * self.request.dt, self.request) for index in found]


@dataclass(frozen=True, eq=False)
class Failure:
    """A rollout that diverged in the step that began at `time` [s]."""

    index: int
    time: float
    request: Request

    @property
    def parameters(self) -> dict[str, Array]:
        return {name: value[0] for name, value in self.request.drawn(self.index, 1).items()}

    @cached_property
    def state(self) -> str:
        """The state that was largest when all of them were still finite: found by running it once more, so far."""
        return self.request.largest_state(self.index, round(self.time / self.request.dt))

    def __str__(self) -> str:
        step = f"it is unstable, or the step of {self.request.dt:g} s is too long"
        return f"rollout {self.index} diverged at t = {self.time:.6g} s; {self.state} was largest by then; {step}"


def rollouts(
    system: Any,
    controller: Any = None,
    q0: Any = None,
    qd0: Any = None,
    *,
    duration: float,
    dt: float,
    method: str = "rk4",
    x0: Any = None,
    reference: Any = None,
    parameters: Mapping[str, Any] | None = None,
    disturbances: Mapping[str, Any] | None = None,
    payload: Sequence[float] | bool | None = None,
    friction: bool | str | None = None,
    torque_limits: Any = None,
    measures: Any = (),
    error: Mapping[str, Any] | None = None,
    every: int | None = None,
    keep: str | Sequence[str] = "final",
    number: int | None = None,
    seed: int | None = None,
    threads: int | str | None = None,
    scheduler: Any = None,
    chunk: int | None = None,
    file: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Batch:
    """B rollouts of `duration` [s] in steps of dt [s], controller and integrator in one compiled loop, W at a time.

    system: a Robot, a LagrangianSystem, anything with a flow, or a Flow. controller: a Law, a Controller, or None.
    q0, qd0: (B, n), (n,) for all, or a distribution (`uniform`, `normal`, …); x0: the whole state instead.
    parameters: inputs of the closed loop by name (gains, set points, payload_mass, parameters of a LagrangianSystem):
    one number, (B,), (B or 1, steps) for one that moves and is held over each step, a distribution, or `Noise`.
    disturbances: the same, added to what the controller puts out, by the name of the input. payload: where payload_mass
    hangs at the tip [m]; True: payload_x, _y, _z are parameters too. torque_limits clip what the controller puts out,
    before disturbances: "robot" for its efforts, a number, one per output, or (lower, upper).
    keep: "final"; "all" states and outputs before steps 0, every, 2 every, … and the last; names of them; or
    "statistics", of all of them over the rollouts. measures: rows of `measures.MEASURES`, computed in the loop.
    number: how many rollouts, where no array says it. The numbers of a rollout depend on seed, name and index alone:
    neither `chunk` nor `threads` nor the cluster changes a bit.
    threads: of this process (one); scheduler: "local" (processes, all), a Dask address or client. file: the kept rows
    go to this .npy, in which they can be larger than memory. progress(done, B) is called after each chunk."""
    asked = request(
        system,
        controller,
        q0,
        qd0,
        x0,
        duration,
        dt,
        method,
        reference,
        parameters,
        disturbances,
        payload,
        friction,
        measures,
        error,
        every,
        keep,
        number,
        seed,
        torque_limits,
    )
    return run(asked, threads, scheduler, chunk, file, progress)


def run(
    asked: Request,
    threads: int | str | None = None,
    scheduler: Any = None,
    chunk: int | None = None,
    file: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Batch:
    """A request carried out, chunk by chunk."""
    plan, total = asked.plan, asked.number
    size = _chunk(plan, total, chunk, how_many(threads, scheduler))
    shape = (total, plan.kept, len(plan.columns))
    _fits(plan, total, shape, file)
    last = np.empty((total, plan.n + plan.loop.size["y"]))
    diverged, residual = np.empty(total, np.int64), np.empty(total)
    tree, done = Tree(), 0
    with _rows(plan, shape, file) as rows:
        for piece in pieces(plan, total, size, asked.cut, threads, scheduler):
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
    found = {
        name: row.finish(last[:, own + k], plan.steps * plan.dt) if row.finish is not None else last[:, own + k].copy()
        for k, (name, row) in enumerate(asked.measures.items())
    }
    columns = (*asked.states, *asked.outputs)
    names = tuple(columns[k] for k in plan.columns)
    return Batch(t, names, rows, moments, columns, last, diverged, residual, found, asked)


def _rows(plan: Plan, shape: tuple[int, ...], file: str | Path | None) -> Any:
    if plan.rows != "all":
        if file is not None:
            raise InputError(f"file= is for what is kept of all times, and keep={plan.rows!r} keeps none")
        return _nothing()
    return new_file(file, shape) if file is not None else _nothing(np.empty(shape))


class _nothing:
    """An array, or none, with nothing to be done at the end."""

    def __init__(self, array: Array | None = None) -> None:
        self.array = array

    def __enter__(self) -> Array | None:
        return self.array

    def __exit__(self, *_: Any) -> None:
        pass


def _chunk(plan: Plan, total: int, chunk: int | None, workers: int) -> int:
    """Rollouts in a chunk: as asked, or what fits into WORKING bytes and takes about a second, but several for each
    worker; a multiple of the vector's width."""
    if chunk is not None:
        if isinstance(chunk, bool) or not isinstance(chunk, (int, np.integer)) or chunk < 1:
            raise InputError(f"chunk must be a positive number of rollouts, got {chunk!r}")
        return int(chunk)
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
        raise InputError(
            f"the result of {total} rollouts × {shape[1]} rows × {shape[2]} numbers needs {written(ends + rows)}, and "
            f"{written(free)} of memory are free: {hint}"
        )
    needed = plan.needed() * plan.loop.width
    if free is not None and needed > max(SHARE * free, WORKING):
        raise InputError(
            f"{plan.steps} steps of a few rollouts need {written(needed)} while they run, and {written(free)} of "
            "memory are free: a shorter duration, a longer dt, or every= larger"
        )
