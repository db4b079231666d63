"""A grid of gains, or of any parameters, judged by a measure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError, unknown
from dalembert.simulation.batch import Batch, rollouts
from dalembert.simulation.draws import Distribution, Noise

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sweep:
    """`values` (*grid, samples) of every measure by name, over the `grid`'s axes in order; the last dimension is one
    entry for each start. `measure` is what decides."""

    grid: dict[str, Array]
    measure: str
    values: dict[str, Array]
    batch: Batch

    def mean(self, measure: str | None = None) -> Array:
        """(*grid): over the starts; a run that diverged or never settled makes it infinite."""
        values = self.values[self._named(measure)]
        return np.where(np.isfinite(values), values, np.inf).mean(-1)

    def largest(self, measure: str | None = None) -> Array:
        """(*grid): the worst of the starts."""
        values = self.values[self._named(measure)]
        return np.where(np.isfinite(values), values, np.inf).max(-1)

    @property
    def failures(self) -> NDArray[np.int64]:
        """(*grid): how many runs diverged."""
        shape = next(iter(self.values.values())).shape
        return (self.batch.diverged_at.reshape(shape) >= 0).sum(-1)

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
        lines = [[*self.grid, *names, "diverged"]]
        for flat in order.tolist():
            at = np.unravel_index(flat, mean.shape)
            point = [f"{axis[k]:.5g}" for axis, k in zip(self.grid.values(), at, strict=True)]
            lines.append([*point, *(f"{self.mean(name)[at]:.5g}" for name in names), str(self.failures[at])])
        width = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        return "\n".join("  ".join(c.rjust(w) for c, w in zip(line, width, strict=True)) for line in lines)

    @styled
    def plot(self, measure: str | None = None, ax: Any = None) -> Any:
        """A line over one parameter, or a heat map over two (of more: at the best point of the others)."""
        name = self._named(measure)
        mean = self.mean(name)
        keys = list(self.grid)
        if len(keys) > 2:
            best = np.unravel_index(int(np.argmin(mean)), mean.shape)
            for k in best[2:]:
                mean = mean[:, :, k]
            keys = keys[:2]
        if ax is None:
            _, ax = pyplot().subplots(figsize=(6.0, 4.0), layout="constrained")
        shown = np.where(np.isfinite(mean), mean, np.nan)
        x = self.grid[keys[0]]
        ax.set_xlabel(keys[0])
        if len(keys) == 1:
            ax.plot(x, shown, marker=".")
            ax.set_ylabel(name)
        else:
            colors = ax.pcolormesh(x, self.grid[keys[1]], shown.T, shading="nearest")
            ax.figure.colorbar(colors, ax=ax, label=name)
            ax.set_ylabel(keys[1])
        return ax.figure

    def _named(self, measure: str | None) -> str:
        name = self.measure if measure is None else measure
        if name not in self.values:
            raise unknown("measure", name, self.values)
        return name


def sweep(
    system: Any,
    controller: Any = None,
    q0: Any = None,
    qd0: Any = None,
    *,
    grid: Mapping[str, Any],
    measure: str = "ise",
    measures: Any = (),
    shared: Mapping[str, tuple[str, ...]] | None = None,
    parameters: Mapping[str, Any] | None = None,
    disturbances: Mapping[str, Any] | None = None,
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
    count = _samples(everything, samples)
    if seed is not None and not any(isinstance(value, Distribution) for value in everything.values()):
        raise InputError("seed is that of what is drawn, and everything here is given: leave it out")
    for name in shared or {}:
        if name not in axes:
            raise unknown("axis of the grid that is shared", name, axes)

    def tiled(name: str, value: Any, core: int) -> Any:
        if isinstance(value, Noise):
            raise InputError(f"{name} is noise, and every point of a sweep must meet the same: give it as an array")
        if isinstance(value, Distribution):
            value = value.draw(seed or 0, name, 0, count)
        elif value is None or np.ndim(value) == core or (np.ndim(value) == 2 > core + 1 and len(value) == 1):
            return value
        array = np.asarray(value, float)
        if len(array) not in (1, count):
            raise InputError(f"{name} is given for {len(array)} starts, and there are {count}")
        return np.tile(np.broadcast_to(array, (count, *array.shape[1:])), (points, *[1] * (array.ndim - 1)))

    starts = {name: tiled(name, value, 1) for name, value in given.items()}
    held = {name: tiled(name, value, 0) for name, value in (parameters or {}).items()}
    added = {name: tiled(name, value, 0) for name, value in (disturbances or {}).items()}
    for (name, _), flat in zip(axes.items(), np.meshgrid(*axes.values(), indexing="ij"), strict=True):
        for target in (shared or {}).get(name, (name,)):
            if target in held:
                raise InputError(f"{target!r} is a parameter and an axis of the grid: it can be one of them")
            held[target] = np.repeat(flat.reshape(-1), count)
    batch = rollouts(
        system,
        controller,
        starts["q0"],
        starts["qd0"],
        x0=starts["x0"],
        parameters=held,
        disturbances=added,
        measures=names,
        number=points * count,
        **options,
    )
    values = {name: batch.measures[name].reshape(*shape, count) for name in names}
    return Sweep(axes, measure, values, batch)


def _axes(grid: Any) -> dict[str, Array]:
    if not isinstance(grid, Mapping) or not grid:
        raise InputError("grid is a dictionary of parameters and the values to try: {'kp': [10, 20, 40]}")
    axes = {}
    for name, values in grid.items():
        try:
            axis = np.asarray(values, float)
        except (TypeError, ValueError):
            raise InputError(f"the values of {name!r} must be numbers, got {values!r:.60}") from None
        if axis.ndim != 1 or not len(axis) or not np.isfinite(axis).all():
            raise InputError(f"the values of {name!r} must be a list of finite numbers, got {values!r:.60}")
        axes[name] = axis
    return axes


def _samples(given: Mapping[str, Any], samples: Any) -> int:
    """How many starts each point has."""
    drawn = [name for name, value in given.items() if isinstance(value, Distribution)]
    if samples is not None:
        if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 1:
            raise InputError(f"samples must be a positive number, got {samples!r}")
        return int(samples)
    if drawn:
        raise InputError(f"{drawn[0]} is drawn: say how often at each point, samples=…")
    cores = {"q0": 1, "qd0": 1, "x0": 1}
    sizes = [len(v) for name, v in given.items() if v is not None and np.ndim(v) > cores.get(name, 0)]
    return max(sizes, default=1)
