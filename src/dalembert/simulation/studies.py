"""Many rollouts, and what is to be said of them: random ones (`monte_carlo`), and a grid of parameters (`sweep`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, count
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import ContactWarning, DivergenceWarning, InputError, unknown
from dalembert.flow import Array
from dalembert.simulation.batch import Batch, Value, rollouts
from dalembert.simulation.draws import Distribution, Noise
from dalembert.simulation.measures import Measure, read_measures
from dalembert.simulation.options import Sensors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines of text, columns to the right."""
    width = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.rjust(w) for cell, w in zip(line, width, strict=True)) for line in lines]


def _named(values: Mapping[str, Array]) -> str:
    return ", ".join(f"{name} = {np.round(value, 6)}" for name, value in values.items())


def _axes_of(ax: Axes | None) -> Axes:
    found: Axes = pyplot().subplots(figsize=(6.0, 4.0), layout="constrained")[1] if ax is None else ax
    return found


# -------------------------------------------------------------------------------------------------------- monte carlo
@dataclass(frozen=True)
class Summary:
    """Of the rollouts in which a measure is finite: how many, mean, standard deviation, least, quantiles, largest."""

    name: str
    count: int
    mean: float
    std: float
    least: float
    quantiles: dict[float, float]
    largest: float


@dataclass(frozen=True)
class DrawnRollout:
    """One rollout: its index, its measure, and all that was drawn for it."""

    index: int
    value: float
    parameters: dict[str, Array]

    def __str__(self) -> str:
        return f"rollout {self.index}: {self.value:.6g} with {_named(self.parameters)}"


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarlo:
    """A batch and its seed. `limits`: measures above these are failures too."""

    batch: Batch
    seed: int
    limits: dict[str, float]

    def __len__(self) -> int:
        return len(self.batch)

    def __repr__(self) -> str:
        what = f"{len(self)} rollouts, seed {self.seed}, {int(self.failed.sum())} failed"
        return f"<MonteCarlo of {what}; {self.batch.verdict}>"

    def summary(self, name: str, quantiles: Sequence[float] = QUANTILES) -> Summary:
        """Of a measure, or of a state or output at the end."""
        values = self._values(name)
        good = values[np.isfinite(values)]
        if not len(good):
            nan = float("nan")
            return Summary(name, 0, nan, nan, nan, dict.fromkeys(quantiles, nan), nan)
        found = dict(zip(quantiles, np.quantile(good, quantiles).tolist(), strict=True))
        std = float(good.std(ddof=1)) if len(good) > 1 else float("nan")
        return Summary(name, len(good), float(good.mean()), std, float(good.min()), found, float(good.max()))

    def worst(self, name: str, count: int = 5) -> list[DrawnRollout]:
        """The rollouts with the largest finite values of a measure, the worst first (of equal ones the first)."""
        values = self._values(name)
        order = np.argsort(np.where(np.isfinite(values), -values, np.inf), kind="stable")
        good = [int(k) for k in order[:count] if np.isfinite(values[k])]
        return [DrawnRollout(k, float(values[k]), self._drawn(k)) for k in good]

    @property
    def diverged(self) -> int:
        return int((self.batch.diverged_at >= 0).sum())

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(B,): diverged, on contacts that cannot be sustained, or with a measure above its limit (or one that is not a
        number)."""
        found = (self.batch.diverged_at >= 0) | self.batch.contacts_lost
        for name, limit in self.limits.items():
            found = found | ~(self.batch.measures[name] <= limit)
        return found

    def failures(self, count: int = 5) -> list[str]:
        """A sentence for each of the first so many failures: which, when, why, with which parameters."""
        told = {f.index: str(f) for f in self.batch.failures[:count]}
        lines = []
        for k in np.flatnonzero(self.failed)[:count].tolist():
            why = told.get(k)
            if why is None:
                found = [(name, self.batch.measures[name][k], limit) for name, limit in self.limits.items()]
                over = [f"{name} is {x:.6g}, above {limit:.6g}" for name, x, limit in found if not x <= limit]
                lost = map(str, self.batch.find_contact_losses(k) if self.batch.contacts_lost[k] else ())
                why = f"rollout {k}: {'; '.join((*lost, *over))}"
            drawn = _named(self._drawn(k))
            lines.append(f"{why} ({drawn})" if drawn else why)
        return lines

    def table(self, quantiles: Sequence[float] = QUANTILES) -> str:
        """All measures as text, and the failures."""
        lines = [["measure", "count", "mean", "std", "least", *(f"{100 * p:g} %" for p in quantiles), "largest"]]
        for name in self.batch.measures:
            s = self.summary(name, quantiles)
            numbers = [s.mean, s.std, s.least, *s.quantiles.values(), s.largest]
            lines.append([name, str(s.count), *(f"{x:.5g}" for x in numbers)])
        lost = int(self.batch.contacts_lost.sum())
        failed = f"{int(self.failed.sum())} failed, {self.diverged} of them diverged"
        failed += f", {lost} lost contacts" if lost else ""
        return "\n".join([*_aligned(lines), f"{len(self)} rollouts, seed {self.seed}; {failed}", *self.failures()])

    @styled
    def plot(self, name: str | None = None, ax: Axes | None = None, bins: int = 40) -> Figure | SubFigure:
        """A histogram of a measure (the first)."""
        name = next(iter(self.batch.measures), None) if name is None else name
        if name is None:
            raise InputError("there is no measure to draw: name a state or output")
        values = self._values(name)
        axes = _axes_of(ax)
        axes.hist(values[np.isfinite(values)], bins=bins)
        axes.set(xlabel=name, ylabel="rollouts")
        return axes.figure

    def _values(self, name: str) -> Array:
        b = self.batch
        if name not in b.measures and name not in b.columns:
            raise unknown("measure, state or output", name, (*b.measures, *b.columns))
        return b.measures[name] if name in b.measures else b.last[:, b.columns.index(name)]

    def _drawn(self, index: int) -> dict[str, Array]:
        return {name: value[0] for name, value in self.batch.parameters(index, 1).items()}


def monte_carlo(
    system: object,
    controller: object = None,
    q0: Value | None = None,
    qd0: Value | None = None,
    *,
    number: int,
    seed: int,
    measures: Sequence[str] | str | Mapping[str, Measure] = ("rms_error", "final_error", "rms_torque"),
    limits: Mapping[str, float] | None = None,
    **options: Any,
) -> MonteCarlo:
    """`number` rollouts whose starts, parameters and disturbances are distributions (`uniform`, `log_uniform`,
    `normal`, `choice`, `Noise`) or the same for all. `limits`: measures above these are failures. Other options as of
    `rollouts`. What rollout i has depends on seed and i alone."""
    known, asked = dict(limits or {}), read_measures(measures)
    for name, limit in known.items():
        if name not in asked:
            raise unknown("measure to limit", name, asked)
        array(f"the limit of {name}", limit, (), finite=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)  # the table counts them
        warnings.simplefilter("ignore", ContactWarning)
        result = rollouts(system, controller, q0, qd0, number=number, seed=seed, measures=measures, **options)
    return MonteCarlo(result, seed, known)


# -------------------------------------------------------------------------------------------------------------- sweep
@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """`values` (*grid, samples) of every measure by name, over the `grid`'s axes in order; the last dimension is one
    entry for each start. `measure` is what decides."""

    grid: dict[str, Array]
    measure: str
    values: dict[str, Array]
    batch: Batch

    def __repr__(self) -> str:
        axes = " × ".join(f"{len(values)} {name}" for name, values in self.grid.items())
        return f"<Sweep of {axes}, {len(self.batch)} rollouts by {self.measure}; {self.batch.verdict}>"

    def mean(self, measure: str | None = None) -> Array:
        """(*grid): over the starts; a run that diverged, lost a contact or never settled makes it infinite."""
        return self._finite(measure).mean(-1)

    def largest(self, measure: str | None = None) -> Array:
        """(*grid): the worst of the starts."""
        return self._finite(measure).max(-1)

    @property
    def failures(self) -> NDArray[np.int64]:
        """(*grid): how many runs diverged or lost a contact."""
        shape = next(iter(self.values.values())).shape
        return ((self.batch.diverged_at >= 0) | self.batch.contacts_lost).reshape(shape).sum(-1)

    def best(self, measure: str | None = None) -> dict[str, float]:
        """The point of the grid with the least mean, and that."""
        name = self._named(measure)
        mean = self.mean(name)
        if not np.isfinite(mean).any():
            raise InputError(f"there is no best point: {name} is finite at none")
        at = np.unravel_index(int(np.argmin(mean)), mean.shape)
        point = {key: float(axis[k]) for (key, axis), k in zip(self.grid.items(), at, strict=True)}
        return {**point, name: float(mean[at])}

    def table(self, count: int = 10) -> str:
        """The best points as text, with all measures."""
        mean = self.mean()
        order = np.argsort(mean, axis=None, kind="stable")[:count]
        names = list(dict.fromkeys((self.measure, *self.values)))
        lines = [[*self.grid, *names, "failed" if self.batch.contacts_lost.any() else "diverged"]]
        for flat in order.tolist():
            at = np.unravel_index(flat, mean.shape)
            point = [f"{axis[k]:.5g}" for axis, k in zip(self.grid.values(), at, strict=True)]
            lines.append([*point, *(f"{self.mean(name)[at]:.5g}" for name in names), str(self.failures[at])])
        return "\n".join(_aligned(lines))

    @styled
    def plot(self, measure: str | None = None, ax: Axes | None = None) -> Figure | SubFigure:
        """A line over one parameter, or a heat map over two (of more: at the best point of the others)."""
        name = self._named(measure)
        mean = self.mean(name)
        keys = list(self.grid)
        if len(keys) > 2:
            best = np.unravel_index(int(np.argmin(mean)), mean.shape)
            for k in best[2:]:
                mean = mean[:, :, k]
            keys = keys[:2]
        axes, x, shown = _axes_of(ax), self.grid[keys[0]], np.where(np.isfinite(mean), mean, np.nan)
        axes.set(xlabel=keys[0], ylabel=name if len(keys) == 1 else keys[1])
        if len(keys) == 1:
            axes.plot(x, shown, marker=".")
        else:
            colors = axes.pcolormesh(x, self.grid[keys[1]], shown.T, shading="nearest")
            axes.figure.colorbar(colors, ax=axes, label=name)
        return axes.figure

    def _finite(self, measure: str | None) -> Array:
        values = self.values[self._named(measure)]
        good = np.isfinite(values) & ~self.batch.contacts_lost.reshape(values.shape)
        return np.where(good, values, np.inf)

    def _named(self, measure: str | None) -> str:
        name = self.measure if measure is None else measure
        if name not in self.values:
            raise unknown("measure", name, self.values)
        return name


def sweep(
    system: object,
    controller: object = None,
    q0: Value | None = None,
    qd0: Value | None = None,
    *,
    grid: Mapping[str, ArrayLike],
    measure: str = "ise",
    measures: Sequence[str] | str = (),
    shared: Mapping[str, tuple[str, ...]] | None = None,
    parameters: Mapping[str, Value] | None = None,
    disturbances: Mapping[str, Value] | None = None,
    samples: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> Sweep:
    """Every point of a grid {parameter: values}, each from the same starts: q0 (K, n) or (n,), or `samples` draws of
    distributions, the same at all points. The point with the least mean `measure` is best; `measures` are computed too.
    shared: {"kp": (names)}: an axis that stands for several parameters at once. Other options as of `rollouts`."""
    axes = _axes(grid)
    shape = tuple(len(a) for a in axes.values())
    points = int(np.prod(shape))
    names = tuple(dict.fromkeys((measure, *((measures,) if isinstance(measures, str) else measures))))
    given = {"q0": q0, "qd0": qd0, "x0": options.pop("x0", None)}
    everything = {**given, **(parameters or {}), **(disturbances or {})}
    many = _samples(everything, samples)
    eyes = options.get("sensors")
    if isinstance(eyes, Sensors) and eyes.noise is not None:
        raise InputError("sensors have noise, and every point of a sweep must meet the same: leave it out")
    if seed is not None and not any(isinstance(value, Distribution) for value in everything.values()):
        raise InputError("seed is that of what is drawn, and everything here is given: leave it out")
    for name in shared or {}:
        if name not in axes:
            raise unknown("axis of the grid that is shared", name, axes)

    def tiled(name: str, value: Value, core: int) -> Value:
        if isinstance(value, Noise):
            raise InputError(f"{name} is noise, and every point of a sweep must meet the same: give it as an array")
        if isinstance(value, Distribution):
            value = value.draw(seed or 0, name, 0, many)
        x = np.asarray(value, float)
        if x.ndim == core or (x.ndim == 2 > core + 1 and len(x) == 1):
            return x
        if len(x) not in (1, many):
            raise InputError(f"{name} is given for {len(x)} starts, and there are {many}")
        return np.tile(np.broadcast_to(x, (many, *x.shape[1:])), (points, *[1] * (x.ndim - 1)))

    starts = {name: None if value is None else tiled(name, value, 1) for name, value in given.items()}
    held = {name: tiled(name, value, 0) for name, value in (parameters or {}).items()}
    added = {name: tiled(name, value, 0) for name, value in (disturbances or {}).items()}
    for (name, _), flat in zip(axes.items(), np.meshgrid(*axes.values(), indexing="ij"), strict=True):
        for target in (shared or {}).get(name, (name,)):
            if target in held:
                raise InputError(f"{target!r} is a parameter and an axis of the grid: it can be one of them")
            held[target] = np.repeat(flat.reshape(-1), many)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)  # points of the grid with bad gains; `failures` counts them
        warnings.simplefilter("ignore", ContactWarning)
        batch = rollouts(
            system,
            controller,
            starts["q0"],
            starts["qd0"],
            x0=starts["x0"],
            parameters=held,
            disturbances=added,
            measures=names,
            number=points * many,
            **options,
        )
    values = {name: batch.measures[name].reshape(*shape, many) for name in names}
    return Sweep(axes, measure, values, batch)


def _axes(grid: object) -> dict[str, Array]:
    if not isinstance(grid, Mapping) or not grid:
        raise InputError("grid is a dictionary of parameters and the values to try: {'kp': [10, 20, 40]}")
    axes = {name: array(f"the grid of {name!r}", values, (None,)) for name, values in grid.items()}
    for name, axis in axes.items():
        count(f"the number of values of {name!r}", len(axis), 1)
    return axes


def _samples(given: Mapping[str, Value | None], samples: object) -> int:
    """How many starts each point has."""
    if samples is not None:
        return count("samples", samples, 1)
    for name, value in given.items():
        if isinstance(value, Distribution):
            raise InputError(f"{name} is drawn: say how often at each point, samples=…")
    starts = ("q0", "qd0", "x0")
    sizes = [len(v) for name, v in given.items() if v is not None and np.ndim(v) > (name in starts)]  # type: ignore[arg-type]
    return max(sizes, default=1)
