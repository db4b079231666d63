"""Compare several experiments on the same task: one batch each, and a table of their measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.display import ResultTable, print_table
from dalembert.errors import InputError, choose
from dalembert.flow import Array
from dalembert.simulation.batch import Batch
from dalembert.simulation.experiment import Experiment, Start, Vary

USUAL = ("rms_error", "peak_error", "rms_torque", "peak_torque")  # measured if an experiment has none


@dataclass(frozen=True, eq=False, repr=False)
class ExperimentComparison:
    """The batches of several experiments, by name: run k of each has the same values."""

    batches: Mapping[str, Batch]

    def __getitem__(self, name: str) -> Batch:
        return self.batches[choose("experiment", name, self.batches)]

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.batches)}: {len(next(iter(self.batches.values())))} runs each>"

    @property
    def ok(self) -> NDArray[np.bool_]:
        """(experiments, B): whether a run reached its end."""
        return np.stack([batch.ok for batch in self.batches.values()])

    @property
    def measures(self) -> dict[str, Array]:
        """(experiments, B) by the names of the measures that all of them have."""
        first, *others = self.batches.values()
        names = [name for name in first.measures if all(name in other.measures for other in others)]
        return {name: np.stack([batch.measures[name] for batch in self.batches.values()]) for name in names}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per experiment and run: its name, the values that differ, its measures, and `ok`."""
        found = []
        for name, batch in self.batches.items():
            columns = batch.to_dict()
            found += [
                {"experiment": name, **{key: values[k].item() for key, values in columns.items()}}
                for k in range(len(batch))
            ]
        return found

    def cells(self) -> ResultTable:
        """Return `rows` as a table, with None where an experiment lacks a measure."""
        rows = self.rows()
        names = (*dict.fromkeys(key for row in rows for key in row if key != "ok"), "ok")
        count = len(next(iter(self.batches.values())))
        title = f"{len(self.batches)} experiments, {count} run{'s' * (count != 1)} each"
        return ResultTable(title, names, tuple(tuple(row.get(name) for name in names) for row in rows))

    def table(self) -> ResultTable:
        """Print one row per experiment and run, and return the table: `table().to_pandas()` is a data frame."""
        return print_table(self.cells())

    def __str__(self) -> str:
        return str(self.cells())


def compare(
    experiments: Mapping[str, Experiment],
    *,
    vary: Vary = None,
    count: int | None = None,
    seed: object = None,
    q0: Start = None,
    qd0: Start = None,
    x0: Start = None,
    duration: float,
) -> ExperimentComparison:
    """Run several experiments from the same starts, with the same values and random numbers.

    Parameters
    ----------
    experiments : mapping of str to Experiment
        Experiments by name. One without measures gets RMS and largest errors and torques.
    vary, count, seed, q0, qd0, x0, duration
        As in `Experiment.batch`.

    Returns
    -------
    ExperimentComparison
        One batch per experiment; ``.table()`` has one row per experiment and run.

    Raises
    ------
    InputError
        If there is no experiment, or one of the values is not an Experiment.

    Examples
    --------
    >>> import dalembert as dl
    >>> arm = dl.load("planar-2r")
    >>> pd = dl.control.PDGravity(arm, kp=100, kd=20)
    >>> ct = dl.control.ComputedTorque(arm, omega=10)
    >>> each = {"PD": dl.Experiment(arm, pd, reference=[0.3, 0.5]), "CT": dl.Experiment(arm, ct, reference=[0.3, 0.5])}
    >>> found = dl.compare(each, vary={"payload.mass": [0.0, 3.0]}, q0=[0, 0], duration=1.0)
    >>> found.measures["rms_error"].shape
    (2, 2)
    """
    if not isinstance(experiments, Mapping) or not experiments:
        raise InputError("wrong-type", "experiments", experiments, expected="experiments by name")
    batches: dict[str, Batch] = {}
    task: dict[str, Any] = {"vary": vary, "count": count, "seed": seed, "q0": q0, "qd0": qd0, "x0": x0}
    for name, e in experiments.items():
        if not isinstance(e, Experiment):
            raise InputError("wrong-type", f"experiments[{name!r}]", e, expected="an Experiment")
        known = e if e.measures.names or e.controller is None else e.replace(measures=USUAL)
        batches[str(name)] = known.batch(**task, duration=duration)
    return ExperimentComparison(batches)
