"""`Batch`: the results of many runs of an experiment, and how they are computed."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import count
from dalembert.caching import cached_property
from dalembert.display import ResultTable, print_table
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import ContactWarning, DivergenceWarning, InputError, unknown
from dalembert.files import whole, whole_table
from dalembert.flow import Array
from dalembert.simulation.measures import CONTACT_DOUBT, CONTACT_EXCESS, finish_measures
from dalembert.simulation.plan import Plan
from dalembert.simulation.record import CONTACT_LOST, DIVERGED, FINISHED, tell_remedy
from dalembert.simulation.request import Request
from dalembert.simulation.results import SHARE, SMALL, Moments, Tree, free_memory, new_file, size_in_words
from dalembert.simulation.run import Run
from dalembert.simulation.workers import Scheduler, Threads, compute_pieces, count_workers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from dalembert.constrained.contacts import ContactLoss

WORKING = 64 * 2**20  # bytes that one chunk may take while it is computed
WORK = 2_000_000_000  # operations of a chunk: a second or so, the time that is lost with a worker
MOST_DOUBTFUL = 8  # runs that are computed once more for the warning, where contacts are in doubt
NONE = "none diverged"


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MAX_TABLE_ROWS = 20  # of a table as text; of more runs it shows statistics


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """The results of B runs of an experiment.

    Attributes
    ----------
    t : ndarray, shape (rows,)
        Times of the kept rows [s].
    names : tuple of str
        Names of what was kept, states then outputs.
    rows : ndarray, shape (B, rows, names), or None
        The kept rows, if `keep` was "all" or names.
    moments : Moments or None
        Their statistics over the runs, if `keep` was "statistics".
    last : ndarray, shape (B, states + outputs)
        The end of every run, named by `columns`; NaN where it diverged.
    diverged_at : ndarray of int, shape (B,)
        The step after which the state was not finite, or -1.
    measures : dict of ndarray, shape (B,)
        Measures by name.
    residual : ndarray, shape (B,)
        The largest residual of an implicit method.
    ground : dict of ndarray, shape (B,)
        For a system on contacts: by how much they have to pull, slip or tilt.

    Notes
    -----
    `batch[name]` is what there is of a name: (B, rows), or (B,) at the end. `batch.run(k)` repeats run k with all of
    its rows, events and energies.
    """

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
    request: Request
    repeat: Callable[[int], Run]
    shape: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.last)

    def __repr__(self) -> str:
        kept = f"{len(self.t)} rows of {len(self.names)} names" if self.names else "their ends"
        measures = f", measures {', '.join(self.measures)}" if self.measures else ""
        return f"<Batch of {len(self)} runs, {kept}{measures}; {self.message}>"

    # ------------------------------------------------------------------------------------------------ how they ended
    @cached_property
    def ok(self) -> NDArray[np.bool_]:
        """(B,): whether a run reached its end, and its contacts with the ground can be sustained."""
        return np.asarray((self.diverged_at < 0) & ~self.contacts_lost)

    @property
    def status(self) -> NDArray[np.str_]:
        """(B,): "finished", "diverged" or "contact lost", as `Run.status`."""
        found = np.where(self.contacts_lost, CONTACT_LOST, FINISHED)
        return np.where(self.diverged_at >= 0, DIVERGED, found)

    @property
    def message(self) -> str:
        """How many runs failed, and why the first of them did."""
        return "; ".join(filter(None, (self.divergence or NONE, self.lost_contacts)))

    @cached_property
    def divergence(self) -> str:
        """How many runs diverged, when the first did, and why; empty if none did."""
        return describe_divergence(self.request, self.diverged_at)

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
        return self._block(0, self.request.plant.positions)

    @property
    def qd(self) -> Array:
        """Their rates, likewise; velocities, where these are no rates."""
        plant = self.request.plant
        return self._block(plant.positions, plant.nv if plant.transport is None else 0)  # momenta are no rates

    def _block(self, first: int, count: int) -> Array:
        wanted = self.columns[first : first + count]
        if self.rows is not None and all(name in self.names for name in wanted):
            return self.rows[..., [self.names.index(name) for name in wanted]]
        return self.last[:, first : first + count]

    def parameters(self, first: int = 0, count: int | None = None) -> dict[str, Array]:
        """Return what differs between runs first, …, starts and parameters by name, (count, …); drawn again from the
        seed."""
        return differences(self.request, first, len(self) - first if count is None else count)

    def run(self, index: int) -> Run:
        """Return run number `index` as a `Run`: the same motion, with all of its rows, events and energies."""
        if not -len(self) <= index < len(self):
            raise InputError("out-of-range", "index", index, expected=f"between 0 and {len(self) - 1}")
        return self.repeat(index % len(self))

    @cached_property
    def failures(self) -> list[Failure]:
        """The runs that diverged: which, when, by which state, with which parameters."""
        found = np.flatnonzero(self.diverged_at >= 0).tolist()
        start = self.request.clock.start
        return [Failure(index, start(int(self.diverged_at[index])), self.request) for index in found]

    # ----------------------------------------------------------------------------------------------------- contacts
    @cached_property
    def contacts_lost(self) -> NDArray[np.bool_]:
        """(B,): the runs in which a contact with the ground could not be sustained, so that what follows is not what
        the robot would do; `find_contact_losses` returns them. Runs that the sums of the loop leave in doubt are
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
        """In how many runs contacts with the ground are lost, and how in the first of them; empty if none is known to
        be. Of those in doubt only the most doubtful are looked at."""
        lost, doubt = self._surely_lost, self._doubt
        for k in np.argsort(-doubt, kind="stable")[:MOST_DOUBTFUL]:
            if not lost.any() and doubt[k] > 0:
                lost[k] = bool(self.find_contact_losses(int(k)))
        if not lost.any():
            return ""
        first = int(np.argmax(lost))
        found = self.find_contact_losses(first)
        many = f"{'at least ' if (doubt > 0).any() else ''}{int(lost.sum())} of {len(self)}"
        return f"contacts are lost in {many} runs; run {first}: {found[0] if found else 'between its steps'}"

    def find_contact_losses(self, index: int) -> tuple[ContactLoss, ...]:
        """Return the contacts that cannot be sustained in run `index`, which is computed once more for it."""
        contacts, plan = self.request.plant.contacts, self.request.plan
        if contacts is None:
            return ()
        assert plan is not None
        stream = replace(plan.stream, clock=replace(plan.clock, every=1))
        columns = tuple(range(len(self.columns)))
        rows = replace(plan, stream=stream, rows="all", columns=columns).run(index, 1, self.request.cut(index, 1)).rows
        assert rows is not None
        x, y = np.split(rows[0], [len(self.request.loop.flow.states)], -1)
        found: tuple[ContactLoss, ...] = contacts.find_losses(stream.clock.t, x, y)
        return found

    # --------------------------------------------------------------------------------------------------- statistics
    def _values(self, name: str | None) -> Array:
        """(B,) of a measure (the first), or of a state or output at the end."""
        name = next(iter(self.measures), None) if name is None else name
        if name is None:
            raise InputError("there is no measure: name a state or output")
        if name not in self.measures and name not in self.columns:
            raise unknown("measure, state or output", name, (*self.measures, *self.columns))
        return self.measures[name] if name in self.measures else self.last[:, self.columns.index(name)]

    def summary(self, name: str | None = None, quantiles: Sequence[float] = QUANTILES) -> dict[str, float]:
        """Return count, mean, std, min, quantiles such as "95 %", and max, over the runs whose value is finite."""
        values = self._values(name)
        good = values[np.isfinite(values)]
        keys = ("mean", "std", "min", *(f"{100 * p:g} %" for p in quantiles), "max")
        if not len(good):
            return {"count": 0.0, **dict.fromkeys(keys, math.nan)}
        std = float(good.std(ddof=1)) if len(good) > 1 else math.nan
        found = (float(good.mean()), std, float(good.min()), *np.quantile(good, quantiles).tolist(), float(good.max()))
        return {"count": float(len(good)), **dict(zip(keys, found, strict=True))}

    def worst(self, name: str | None = None, count: int = 5) -> list[int]:
        """Return the runs with the largest finite values of a measure, the worst first (of equal ones the first)."""
        return self._sorted(-self._values(name), count)

    def best(self, name: str | None = None, count: int = 1) -> list[int]:
        """Return the runs that are ok with the least values of a measure, the best first (of equal ones the first)."""
        return self._sorted(np.where(self.ok, self._values(name), np.nan), count)

    def _sorted(self, values: Array, count: int) -> list[int]:
        order = np.argsort(np.where(np.isfinite(values), values, np.inf), kind="stable")
        return [int(k) for k in order[:count] if np.isfinite(values[k])]

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return one column per number that differs between runs, per measure, and `ok`, (B,) each."""
        found: dict[str, NDArray[Any]] = {"run": np.arange(len(self))}
        for name, values in self.parameters().items():
            if values.ndim == 1:
                found[name] = values
            else:
                found |= {f"{name}[{k}]": values[:, k] for k in range(values.shape[1])}
        return {**found, **self.measures, "ok": self.ok}

    def cells(self, quantiles: Sequence[float] = QUANTILES) -> ResultTable:
        """Return a row per run, or for more than 20 runs the statistics of all measures below the first failures."""
        failed = f"{int((~self.ok).sum())} failed, {int((self.diverged_at >= 0).sum())} of them diverged"
        title = [f"{len(self)} runs, seed {self.request.stream.seed}; {failed}", *map(str, self.failures[:5])]
        if len(self) <= MAX_TABLE_ROWS:
            columns = self.to_dict()
            rows = [tuple(values[k].item() for values in columns.values()) for k in range(len(self))]
            return ResultTable(title[0], tuple(columns), tuple(rows))
        names = ("measure", *self.summary(next(iter(self.columns)), quantiles))
        rows = [(name, *self.summary(name, quantiles).values()) for name in self.measures]
        return ResultTable("\n".join(title), names, tuple(rows))

    def table(self, quantiles: Sequence[float] = QUANTILES) -> ResultTable:
        """Print `cells`, and return them: `table().to_pandas()` is a data frame."""
        return print_table(self.cells(quantiles))

    def save(self, path: str | Path) -> None:
        """Write one row per run, as in `to_dict`, to a .csv file, or everything that was kept to a .npz file.

        Parameters
        ----------
        path : str or Path
            File with the ending .csv or .npz.
        """
        ending, columns = Path(path).suffix.lower(), self.to_dict()
        if ending == ".csv":
            whole_table(
                path, columns, zip(*(values.astype(float).tolist() for values in columns.values()), strict=True)
            )
        elif ending == ".npz":
            kept = {} if self.rows is None else {"t": self.t, "rows": self.rows, "names": np.array(self.names)}
            ends = {"last": self.last, "columns": np.array(self.columns), "diverged_at": self.diverged_at}
            arrays: dict[str, Any] = {**columns, **ends, **kept}
            whole(path, lambda file: np.savez(file, **arrays))
        else:
            raise InputError("wrong-value", "path", str(path), expected="a .csv or .npz file")

    @styled
    def plot(self, name: str | None = None, ax: Axes | None = None, bins: int = 40) -> Figure | SubFigure:
        """Return a figure of a measure (the first): a histogram, a line over a grid of one axis, or a map over two."""
        values = self._values(name)
        shown = next(iter(self.measures), "") if name is None else name
        axes: Axes = pyplot().subplots(figsize=(6.0, 4.0), layout="constrained")[1] if ax is None else ax
        if len(self.shape) not in (1, 2):
            axes.hist(values[np.isfinite(values)], bins=bins)
            axes.set(xlabel=shown, ylabel="runs")
            return axes.figure
        across = [name for name in self.parameters() if name in self.request.names or len(self.shape) == 1]
        points = [np.unravel_index(np.arange(len(self)), self.shape), list(self.parameters().values())]
        flat = [x if x.ndim == 1 else x[:, 0] for x in points[1]][: len(self.shape)]
        good = np.where(np.isfinite(values), values, np.nan)
        axes.set(xlabel=across[0] if across else "run", ylabel=shown)
        if len(self.shape) == 1:
            axes.plot(flat[0], good, marker=".")
        else:
            first, second = (x.reshape(self.shape) for x in flat)
            colors = axes.pcolormesh(first[:, 0], second[0], good.reshape(self.shape).T, shading="nearest")
            axes.set(ylabel=across[1] if len(across) > 1 else "")
            axes.figure.colorbar(colors, ax=axes, label=shown)
        return axes.figure


@dataclass(frozen=True, eq=False)
class Failure:
    """A run that diverged in the step that began at `time` [s]."""

    index: int
    time: float
    request: Request

    @property
    def parameters(self) -> dict[str, Array]:
        return {name: value[0] for name, value in differences(self.request, self.index, 1).items()}

    @cached_property
    def state(self) -> str:
        """The state that was largest when all of them were still finite: found by repeating the run up to there."""
        request, plan = self.request, self.request.plan
        assert plan is not None
        steps = round(self.time / request.clock.dt)
        clock = replace(plan.clock, steps=steps, every=max(steps, 1), rest=0.0)
        shorter = replace(plan, stream=replace(plan.stream, clock=clock), rows="final")
        states = request.loop.flow.states[: len(request.loop.flow.states) - len(request.loop.measures)]
        last = np.abs(shorter.run(self.index, 1, request.cut(self.index, 1)).last[0, : len(states)])
        return states[int(np.argmax(np.where(np.isfinite(last), last, -1.0)))]

    def __str__(self) -> str:
        when = f"run {self.index} diverged at t = {self.time:.6g} s; {self.state} was largest by then"
        return f"{when}; {describe_pole(self.request, self.index)}"


def differences(request: Request, first: int, count: int) -> dict[str, Array]:
    """Return what differs between runs first, …: (count, …) by name; noise and inputs of every step left out."""
    cut, found, seed = request.cut(first, count), {}, request.stream.seed
    for column in (*request.initial, *request.stream.held):
        if not isinstance(column.value, np.ndarray):
            value = column.values(seed, first, count, cut)
            found[column.name] = value[:, 0] if column.size == 1 and column not in request.initial else value
    return found


def describe_pole(request: Request, index: int) -> str:
    """Return why run `index` diverged: a pole that its steps are too long for, if there is one."""
    plan, plant, dt = request.plan, request.plant, request.clock.dt
    assert plan is not None
    states = len(request.loop.flow.states) - len(request.loop.measures)
    vector = not plant.positions or plant.positions == (plant.nv if plant.transport is None else 0)
    fastest = plan.fastest_pole(index, request.cut(index, 1), states) if vector else 0.0
    return tell_remedy(dt, fastest) or f"it is unstable, or the step of {dt:g} s is too long"


def describe_divergence(request: Request, diverged_at: NDArray[np.int64]) -> str:
    """Return how many runs diverged, when the first did, and why; empty if none did."""
    found = np.flatnonzero(diverged_at >= 0)
    if not len(found):
        return ""
    first = int(found[np.argmin(diverged_at[found])])
    when = f"run {first} first at t = {request.clock.start(int(diverged_at[first])):.6g} s"
    return f"{len(found)} of {request.number} runs diverged, {when}; {describe_pole(request, first)}"


def warn_of_divergence(request: Request, diverged_at: NDArray[np.int64], stacklevel: int = 4) -> None:
    """Issue a DivergenceWarning if runs diverged."""
    if text := describe_divergence(request, diverged_at):
        warnings.warn(f"{text}. Their results are NaN.", DivergenceWarning, stacklevel=stacklevel)


def warn_of_contacts(batch: Batch, stacklevel: int = 4) -> None:
    """Issue a ContactWarning if contacts are lost."""
    if text := batch.lost_contacts:
        words = f"{text}. Their motion is not the robot's from then on."
        warnings.warn(words, ContactWarning, stacklevel=stacklevel)


def carry_out(
    request: Request,
    repeat: Callable[[int], Run],
    threads: Threads = None,
    scheduler: Scheduler = None,
    chunk: int | None = None,
    file: str | Path | None = None,
    progress: Callable[[float], object] | None = None,
    shape: tuple[int, ...] = (),
) -> Batch:
    """Compute a request, chunk by chunk."""
    assert request.plan is not None
    plan, total = replace(request.plan, stream=request.plan.stream.sampled()), request.number
    size = _chunk(plan, total, chunk, count_workers(threads, scheduler))
    sizes = (total, plan.kept, len(plan.columns))
    _fits(plan, total, sizes, file)
    last = np.empty((total, plan.n + plan.loop.size["y"]))
    diverged, residual = np.empty(total, np.int64), np.empty(total)
    tree, done = Tree(), 0
    with _rows(plan, sizes, file) as rows:
        for piece in compute_pieces(plan, total, size, request.cut, threads, scheduler):
            at = slice(piece.first, piece.first + len(piece.last))
            last[at], diverged[at], residual[at] = piece.last, piece.diverged, piece.residual
            if rows is not None:
                rows[at] = piece.rows
            if piece.tree is not None:
                tree.join(piece.tree)
            done += len(piece.last)
            if progress is not None:
                progress(done / total)
    if rows is not None and file is not None:
        rows = np.load(file, mmap_mode="r")
    moments = tree.total() if plan.rows == "statistics" else None
    loop = request.loop
    states = loop.flow.states
    found = finish_measures(loop.measures, last[:, len(states) - len(loop.measures) : len(states)], plan.clock.duration)
    ground = {name: found.pop(name) for name in (CONTACT_EXCESS, CONTACT_DOUBT) if name in found}
    columns = (*states, *loop.flow.outputs)
    names = tuple(columns[k] for k in plan.columns)
    rest = (last, diverged, residual, found, ground, request, repeat, shape)
    return Batch(plan.clock.t, names, rows, moments, columns, *rest)


def _rows(plan: Plan, shape: tuple[int, ...], file: str | Path | None) -> AbstractContextManager[Array | None]:
    if plan.rows != "all":
        if file is not None:
            raise InputError(f"file= is for what is kept of all times, and keep={plan.rows!r} keeps none")
        return nullcontext()
    return new_file(file, shape) if file is not None else nullcontext(np.empty(shape))


def _chunk(plan: Plan, total: int, chunk: int | None, workers: int) -> int:
    """Runs in a chunk: as asked, or what fits into WORKING bytes and takes about a second, but several for each
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
    needed = plan.needed() * plan.loop.width
    free = free_memory() if max(ends + rows, needed) > SMALL else None
    if free is not None and ends + rows > SHARE * free:
        hint = (
            "keep fewer names, Solver(every=…) larger, keep='statistics', or a file="
            if rows
            else "fewer runs at a time"
        )
        needs = f"{shape[1]} rows × {shape[2]} numbers needs {size_in_words(ends + rows)}"
        raise InputError(f"the result of {total} runs × {needs}, and {size_in_words(free)} of memory are free: {hint}")
    if free is not None and needed > max(SHARE * free, WORKING):
        raise InputError(
            f"{plan.steps} steps of a few runs need {size_in_words(needed)} while they run, and "
            f"{size_in_words(free)} of memory are free: a shorter duration, a longer dt, or every= larger"
        )
