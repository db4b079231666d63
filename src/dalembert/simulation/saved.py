"""Runs as files: .npz holds everything, .csv and .parquet hold the columns."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.files import whole
from dalembert.flow import Array
from dalembert.simulation.limits import Excess
from dalembert.simulation.record import Event
from dalembert.simulation.run import Run, import_arrow

SCHEMA_VERSION = 1
FORMATS = "a .csv, .npz or .parquet file"
KEY = "dalembert run"  # of the description in a .npz file
PARTS = ("events", "beyond", "contacts", "contact_losses")
# A table without a description: the groups of columns whose names end like this.
ENDINGS = {"qd": "_rate", "tau": "_torque", "reference": "_reference", "reference_rate": "_reference_rate"}


def save_run(run: Run, path: str | PathLike[str]) -> Path:
    """See `Run.save`."""
    ending = Path(path).suffix.lower()
    if ending == ".csv":
        run.to_csv(path)
    elif ending == ".parquet":
        run.to_parquet(path)
    elif ending == ".npz":
        arrays: dict[str, Any] = {KEY: np.array(json.dumps(_describe(run))), **run.columns}
        whole(path, lambda file: np.savez(file, **arrays))
    else:
        raise InputError("unsupported", "path", str(path), expected=FORMATS)
    return Path(path)


def read_run(path: str | PathLike[str]) -> Run:
    """Read a run that `Run.save` has written.

    Parameters
    ----------
    path : str or path
        A file with the ending .npz, .csv or .parquet.

    Returns
    -------
    Run
        The run with its columns, bit for bit. From a .npz file it has everything else, too. A .csv or .parquet file
        contains columns only: groups such as `q` and `tau` follow from the names of the columns, units are unknown, and
        `status` is "read".

    Raises
    ------
    InputError
        If the file cannot be read, or contains no run.

    Examples
    --------
    >>> import dalembert as dl
    >>> run = dl.simulate(dl.load("planar-2r"), q0=[0.5, 0.3], duration=0.1)
    >>> path = run.save("run.npz")
    >>> dl.read_run(path).q.shape
    (101, 2)
    """
    columns = _read_columns(path)
    if "t" not in columns:
        raise _not_readable(path, "it has no column 't'")
    about = columns.pop(KEY, None)
    return _restore(Path(path), columns, {} if about is None else json.loads(str(about)))


def read_batch(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read the arrays of a batch that `Batch.save` has written.

    Parameters
    ----------
    path : str or path
        A file with the ending .npz or .csv.

    Returns
    -------
    dict of ndarray
        What differs between the runs, measures and `ok`, (B,) each. From a .npz file also `last`, with the names
        `columns`, and `rows` at the times `t`, with the names `names`, if they were kept.
    """
    columns = _read_columns(path)
    if "run" not in columns:
        raise _not_readable(path, "it has no column 'run'")
    return columns


def _read_columns(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file by name."""
    ending = Path(path).suffix.lower()
    try:
        if ending == ".csv":
            with open(path, encoding="utf-8") as file:
                names, *rows = [line.strip().split(",") for line in file] or [[]]
            return dict(zip(names, np.array(rows, float).reshape(-1, len(names)).T, strict=True))
        if ending == ".parquet":
            table = import_arrow().parquet.read_table(path)
            return {name: table[name].to_numpy() for name in table.column_names}
        if ending == ".npz":
            with np.load(path) as data:
                return {name: data[name] for name in data.files}
    except FileNotFoundError as error:
        raise InputError("not-readable", "path", str(path), problem=f"{str(path)!r} does not exist") from error
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise _not_readable(path, str(error)) from error
    raise InputError("unsupported", "path", str(path), expected=FORMATS)


def _not_readable(path: str | PathLike[str], why: str) -> InputError:
    return InputError("not-readable", "path", str(path), problem=f"{str(path)!r} contains no run and no batch: {why}")


def _describe(run: Run) -> dict[str, Any]:
    """Everything but the columns, as plain data."""
    plain = {name: getattr(run, name) for name in ("name", "status", "message", "method", "dt", "evaluations")}
    plain |= {"residual": float(run.residual), "drive": run.drive, "schema_version": SCHEMA_VERSION}
    plain |= {"groups": dict(run.groups), "units": dict(run.units)}
    plain["measures"] = {name: float(value) for name, value in run.measures.items()}
    for name in PARTS:
        parts = getattr(run, name)
        plain[name] = None if parts is None else [asdict(part) for part in parts]
    return plain


def _restore(path: Path, columns: Mapping[str, Array], about: Mapping[str, Any]) -> Run:
    if not about:
        return Run(path.stem, columns, _guess_groups(columns), {}, "read", f"read from {path.name}", "unknown", np.nan)
    if about["schema_version"] > SCHEMA_VERSION:
        problem = f"{str(path)!r} was written by a newer version of Dalembert"
        raise InputError("unsupported", "path", str(path), problem=problem, remedy="Update Dalembert to read it.")
    fields = {name: value for name, value in about.items() if name not in ("schema_version", *PARTS)}
    fields["groups"] = {name: tuple(group) for name, group in about["groups"].items()}
    from dalembert.collision.along import ContactSpan
    from dalembert.constrained.contacts import ContactLoss

    for name, kind in zip(PARTS, (Event, Excess, ContactSpan, ContactLoss), strict=True):
        parts = about[name]
        fields[name] = None if parts is None else tuple(kind(**part) for part in parts)
    return Run(columns=columns, **fields)


def _guess_groups(columns: Mapping[str, Array]) -> dict[str, tuple[str, ...]]:
    """Return the groups of a table by the endings of its names: joint1, joint1_rate, joint1_torque, …"""
    found = {group: tuple(n for n in columns if n.endswith(ending)) for group, ending in ENDINGS.items()}
    found["reference_rate"] = tuple(n for n in found["qd"] if n.endswith("_reference_rate"))
    found["qd"] = tuple(n for n in found["qd"] if n not in found["reference_rate"])
    found["q"] = tuple(name for name in columns if f"{name}_rate" in found["qd"])
    found["x"] = (*found["q"], *found["qd"])
    found["energies"] = tuple(n for n in ("kinetic_energy", "potential_energy") if n in columns)
    empty: dict[str, tuple[str, ...]] = dict.fromkeys(("reference_acceleration", "controller", "multipliers"), ())
    return {**empty, "u": found["tau"], **found}
