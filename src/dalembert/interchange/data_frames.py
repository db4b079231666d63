"""Results as columns by name, which pandas, polars and Arrow all take as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.control.comparison import Comparison
from dalembert.errors import InputError, choose
from dalembert.identification.fit.identify import Identification
from dalembert.identification.log.samples import Log
from dalembert.kinematics.workspace import Workspace
from dalembert.lazy import library
from dalembert.simulation.batch import Batch
from dalembert.simulation.run import Run

Columns = dict[str, NDArray[Any]]
# Which library makes a frame of columns, and how.
_KINDS = {
    "pandas": lambda made, columns: made.DataFrame(columns),
    "polars": lambda made, columns: made.DataFrame(columns),
    "pyarrow": lambda made, columns: made.table(columns),
}


def data_frame(result: object, kind: str = "pandas") -> Any:
    """A result as a data frame: kind="pandas", "polars" or "pyarrow" (an Arrow table), of `columns(result)`.

    Each needs the library of its name: extras `pandas`, `polars`, `parquet`."""
    choose("kind of data frame", kind, _KINDS)
    found = columns(result)
    return _KINDS[kind](library(kind), found)


@singledispatch
def columns(result: object) -> Columns:
    """A result as columns by name, all of one length.

    A `Run`: its columns. A `Batch`: one row per run, what differs between them, its measures, the state at its end,
    whether it is ok. An `Identification`: one row per base parameter. A `Comparison`: one row per controller and
    scenario. A `Log`, a `Workspace`: one row per sample. Also columns by name as they are, and a list of rows,
    dictionaries of equal keys."""
    if isinstance(result, Mapping):
        return _equal({str(name): np.asarray(values) for name, values in result.items()})
    if isinstance(result, Sequence) and result and all(isinstance(row, Mapping) for row in result):
        names = list(result[0])
        if any(list(row) != names for row in result):
            problem = "the rows have different names, but a table has the same columns in every row"
            raise InputError("wrong-structure", "rows", problem=problem)
        return {str(name): np.array([row[name] for row in result]) for name in names}
    raise InputError(
        "wrong-type",
        "result",
        result,
        expected="a Run, Batch, Identification, Comparison, Log, Workspace, columns by name or a list of rows",
    )


def _equal(found: Columns) -> Columns:
    shapes = {name: values.shape for name, values in found.items()}
    if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
        listed = ", ".join(f"{name} {shape}" for name, shape in list(shapes.items())[:6])
        raise InputError("wrong-shape", "columns", problem=f"columns must be lists of one length, got {listed}")
    return found


@columns.register
def _(result: Run) -> Columns:
    return dict(result.to_dict())


@columns.register
def _(result: Batch) -> Columns:
    ends = [name for name in result.columns if name not in result.measures]
    return {**result.to_dict(), **{f"final_{name}": result.last[:, result.columns.index(name)] for name in ends}}


@columns.register
def _(result: Identification) -> Columns:
    low, high = result.interval.T
    rows = columns(result.compare())
    return {
        "name": rows["name"],
        "value": rows["value"],
        "deviation": rows["deviation"],
        "relative": np.asarray(result.estimate.relative),
        "low": low,
        "high": high,
        "description": rows["other"],
        "apart": rows["apart"],
    }


@columns.register
def _(result: Comparison) -> Columns:
    return columns(result.rows())


@columns.register
def _(result: Log) -> Columns:
    out: Columns = {"t": result.t}
    for group, values in (("q", result.q), ("qd", result.qd), ("tau", result.tau)):
        if values is not None:
            out |= {f"{group}_{joint}": values[:, k] for k, joint in enumerate(result.joints)}
    return out


@columns.register
def _(result: Workspace) -> Columns:
    x, y, z = result.points.T
    joints = {f"q{k + 1}": result.q[:, k] for k in range(result.q.shape[1])}
    return {**joints, "x": x, "y": y, "z": z, "phi": result.phi, result.measure: result.values}
