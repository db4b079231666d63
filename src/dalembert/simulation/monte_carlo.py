"""Many rollouts with random starts, parameters and disturbances, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError, unknown
from dalembert.simulation.batch import Batch, rollouts
from dalembert.simulation.measures import chosen

Array = NDArray[np.float64]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


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
class Case:
    """One rollout: its index, its measure, and all that was drawn for it."""

    index: int
    value: float
    parameters: dict[str, Any]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} = {np.round(value, 6)}" for name, value in self.parameters.items())
        return f"rollout {self.index}: {self.value:.6g} with {shown}"


@dataclass(frozen=True, eq=False)
class MonteCarlo:
    """A batch and its seed. `limits`: measures above these are failures too."""

    batch: Batch
    seed: int
    limits: dict[str, float]

    def __len__(self) -> int:
        return len(self.batch)

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

    def worst(self, name: str, count: int = 5) -> list[Case]:
        """The rollouts with the largest finite values of a measure, the worst first (of equal ones the first)."""
        values = self._values(name)
        order = np.argsort(np.where(np.isfinite(values), -values, np.inf), kind="stable")
        good = [int(k) for k in order[:count] if np.isfinite(values[k])]
        return [Case(k, float(values[k]), self._drawn(k)) for k in good]

    @property
    def diverged(self) -> int:
        return int((self.batch.diverged_at >= 0).sum())

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(B,): diverged, or with a measure above its limit (or one that is not a number)."""
        found = self.batch.diverged_at >= 0
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
                why = f"rollout {k}: {'; '.join(over)}"
            drawn = ", ".join(f"{name} = {np.round(value, 6)}" for name, value in self._drawn(k).items())
            lines.append(f"{why} ({drawn})" if drawn else why)
        return lines

    def table(self, quantiles: Sequence[float] = QUANTILES) -> str:
        """All measures as text, and the failures."""
        head = ["measure", "count", "mean", "std", "least", *(f"{100 * p:g} %" for p in quantiles), "largest"]
        lines = [head]
        for name in self.batch.measures:
            s = self.summary(name, quantiles)
            numbers = [s.mean, s.std, s.least, *s.quantiles.values(), s.largest]
            lines.append([name, str(s.count), *(f"{x:.5g}" for x in numbers)])
        width = [max(len(line[k]) for line in lines) for k in range(len(head))]
        text = ["  ".join(cell.rjust(w) for cell, w in zip(line, width, strict=True)) for line in lines]
        count = int(self.failed.sum())
        text.append(f"{len(self)} rollouts, seed {self.seed}; {count} failed, {self.diverged} of them diverged")
        return "\n".join([*text, *self.failures()])

    @styled
    def plot(self, name: str | None = None, ax: Any = None, bins: int = 40) -> Any:
        """A histogram of a measure (the first)."""
        name = next(iter(self.batch.measures), None) if name is None else name
        if name is None:
            raise InputError("there is no measure to draw: name a state or output")
        values = self._values(name)
        if ax is None:
            _, ax = pyplot().subplots(figsize=(6.0, 4.0), layout="constrained")
        ax.hist(values[np.isfinite(values)], bins=bins)
        ax.set_xlabel(name)
        ax.set_ylabel("rollouts")
        return ax.figure

    def _values(self, name: str) -> Array:
        b = self.batch
        if name not in b.measures and name not in b.columns:
            raise unknown("measure, state or output", name, (*b.measures, *b.columns))
        return b.measures[name] if name in b.measures else b.last[:, b.columns.index(name)]

    def _drawn(self, index: int) -> dict[str, Any]:
        return {name: value[0] for name, value in self.batch.parameters(index, 1).items()}


def monte_carlo(
    system: Any,
    controller: Any = None,
    q0: Any = None,
    qd0: Any = None,
    *,
    number: int,
    seed: int,
    measures: Any = ("rms_error", "final_error", "rms_torque"),
    limits: Mapping[str, float] | None = None,
    **options: Any,
) -> MonteCarlo:
    """`number` rollouts whose starts, parameters and disturbances are distributions (`uniform`, `log_uniform`,
    `normal`, `choice`, `Noise`) or the same for all. `limits`: measures above these are failures. Other options as of
    `rollouts`. What rollout i has depends on seed and i alone."""
    known, asked = dict(limits or {}), chosen(measures)
    for name, limit in known.items():
        if name not in asked:
            raise unknown("measure to limit", name, asked)
        if not isinstance(limit, (int, float)) or np.isnan(limit):
            raise InputError(f"the limit of {name} must be a number, got {limit!r}")
    result = rollouts(system, controller, q0, qd0, number=number, seed=seed, measures=measures, **options)
    return MonteCarlo(result, seed, known)
