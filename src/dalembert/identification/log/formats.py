"""Files of numbers → `Table`: named columns, before anyone knows what they mean.

What a file is, its first bytes say, not its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError, InputError, MissingExtraError
from dalembert.files import BAG, LOG, opened
from dalembert.identification.log.bag import read_bag
from dalembert.identification.log.csv_file import read_csv
from dalembert.identification.log.table import Array, Table, first_line

GROUP_NAMES = {"t", "time", "q", "qd", "dq", "tau", "position", "velocity", "effort", "torque"}


def read_table(source: Any, topic: str | None = None) -> Table:
    """A file, or arrays: a dictionary of them by name, a structured one, or a plain one (rows, columns)."""
    if isinstance(source, (str, Path)):
        return _file(Path(source), topic)
    if isinstance(source, np.ndarray):
        return _array(source, "array")
    try:
        named = {str(key): value for key, value in source.items()}
    except (AttributeError, TypeError, KeyError):
        raise InputError(
            "a log is a path, a dictionary of arrays {'t': …, 'q': …, 'tau': …} or an array (rows, columns); "
            f"got {type(source).__name__}"
        ) from None
    return _arrays(named, "arrays")


def _file(path: Path, topic: str | None) -> Table:
    is_bag = path.is_dir() or path.suffix in (".bag", ".db3", ".mcap")
    try:
        for part in (p for p in path.iterdir() if not p.is_dir()) if path.is_dir() else [path]:
            with opened(part, BAG if is_bag else LOG) as file:
                start = file.read(16)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if is_bag:
        return read_bag(path, topic)
    if not start:
        raise InputError(f"{path}: the file is empty")
    for magic, read in MAGIC.items():
        if start.startswith(magic):
            return read(path)
    return read_csv(path)


def _npz(path: Path) -> Table:
    try:
        with opened(path, LOG) as raw, np.load(raw, allow_pickle=False) as file:
            _modest(path, sum(entry.file_size for entry in file.zip.infolist()))
            return _arrays({key: file[key] for key in file.files}, path.name)
    except (OSError, ValueError, KeyError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path}: cannot be read as NumPy's npz ({first_line(error)}); write it with "
            "np.savez(path, t=…, q=…, tau=…)"
        ) from None
    except Exception as error:  # zipfile's own, of a torn or foreign archive
        raise InputError(f"{path}: a torn or foreign archive, not a log ({first_line(error)})") from None


def _npy(path: Path) -> Table:
    try:
        with opened(path, LOG) as raw:
            return _array(np.load(raw, allow_pickle=False), path.name)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read as NumPy's npy ({first_line(error)})") from None


def _parquet(path: Path) -> Table:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(f"{path.name} is Parquet and needs pyarrow: pip install 'dalembert[parquet]'") from None
    try:
        with opened(path, LOG) as raw:
            file = pyarrow.parquet.ParquetFile(raw)
            parts = [file.metadata.row_group(k) for k in range(file.num_row_groups)]
            _modest(path, sum(part.total_byte_size for part in parts))  # unpacked, but runs of equal values still short
            _modest(path, sum(8 * part.column(k).num_values for part in parts for k in range(part.num_columns)))
            # Text, of which a short file can hold much, is no part of a log.
            read = {field.name: _is_read(path, field) for field in file.schema_arrow}
            table = file.read([name for name in read if read[name]])
        columns = {n: _column(path, n, c) for n, c in zip(table.column_names, table.columns, strict=True)}
        columns |= {name: np.empty(0, object) for name in read if not read[name]}
    except DalembertError:
        raise
    except Exception as error:  # of a torn file, pyarrow raises whatever it meets
        raise InputError(f"{path}: cannot be read as Parquet ({first_line(error)})") from None
    return _arrays(columns, path.name)


def _is_read(path: Path, field: Any) -> bool:
    """Whether a column of Parquet, or what its lists hold, is numbers or times; a group of a log must be."""
    from pyarrow import types

    plain = types.is_primitive(getattr(field.type, "value_type", field.type))
    if not plain and types.is_nested(field.type) and field.name.lower() in GROUP_NAMES:
        raise _uneven(path, field.name, f"{field.type} in it")
    return plain


def _column(path: Path, name: str, column: Any) -> Any:
    """One column of Parquet as an array; lists of other lengths, if not of a log, are left out."""
    from pyarrow import types

    kind = column.type
    if types.is_timestamp(kind) or types.is_duration(kind):
        stamps = column.cast("int64").to_numpy()
        if len(stamps) and stamps.dtype.kind == "i" and int(stamps.max()) - int(stamps.min()) < 1 << 63:
            stamps = stamps - stamps[0]  # before it is a float, which has no nanoseconds of 1970 left
        return stamps * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit]
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return column.to_numpy()
    rows = column.to_pylist()  # one list per row: a whole group in a column
    odd = next((k for k, row in enumerate(rows) if row is None or len(row) != len(rows[0])), None)
    if odd is None:
        return np.array(rows, float)
    if name.lower() in GROUP_NAMES:
        what = "nothing" if rows[odd] is None else f"{len(rows[odd])} numbers"
        raise _uneven(path, name, f"{what} in row {odd} (from 0)")
    return np.empty(0, object)


def _uneven(path: Path, name: str, what: str) -> InputError:
    return InputError(f"{path}: column {name!r} has {what}, where every row needs a list of equally many numbers")


def _modest(path: Path, size: int) -> None:
    if size > LOG:
        raise InputError(f"{path}: it unpacks to {size >> 20} MiB; of a log at most {LOG >> 20} MiB are read")


MAGIC: dict[bytes, Callable[[Path], Table]] = {b"PK\x03\x04": _npz, b"\x93NUMPY": _npy, b"PAR1": _parquet}


def _array(array: NDArray[Any], source: str) -> Table:
    if array.dtype.names:
        return _arrays({name: array[name] for name in array.dtype.names}, source)
    if array.ndim != 2:
        raise InputError(f"{source}: an array of shape {array.shape} is not a table (rows, columns)")
    values = _floats(array, source, "array")
    return Table(tuple(str(k) for k in range(values.shape[1])), values, source, named=False)


def _arrays(named: Mapping[str, Any], source: str) -> Table:
    """Arrays of one length side by side; those of two dimensions become columns name[0], name[1], …"""
    _modest(Path(source), sum(8 * np.size(value) for value in named.values()))
    arrays = {name: _floats(value, source, name) for name, value in named.items() if _is_numeric(value)}
    odd = ", ".join(repr(name) for name in named if name not in arrays)
    notes = [f"left aside, since not every row has a number: {odd:.200}"] if odd else []
    for name in [name for name, value in arrays.items() if value.ndim == 0]:
        if name.lower() in ("dt", "step", "period"):  # a step beside the arrays is a time axis
            notes.append(f"time counted in steps of {name} = {float(arrays[name]):g} s, which the file says")
            step = float(arrays[name])
            rows = max((len(x) for x in arrays.values() if x.ndim), default=0)
            if not any(key.lower() in ("t", "time") for key in arrays):
                arrays["t"] = np.asarray(np.arange(rows) * step, float)
        del arrays[name]
    rows = max((len(x) for x in arrays.values()), default=0)
    if rows == 0:
        raise InputError(f"{source}: there are no rows of numbers in it")
    other = {name: len(x) for name, x in arrays.items() if len(x) != rows}
    kept = {name: x for name, x in arrays.items() if name not in other and x.ndim <= 2}
    if other:
        listed = ", ".join(f"{name!r} ({count})" for name, count in other.items())
        if any(name.lower() in GROUP_NAMES for name in other):
            raise InputError(f"{source}: arrays of different lengths: {listed} against {rows} rows")
        notes.append(f"left aside, since they do not have {rows} rows: {listed}")
    names: list[str] = []
    columns: list[Array] = []
    for name, x in kept.items():
        if x.ndim == 1:
            names.append(name)
            columns.append(x)
        else:
            names += [f"{name}[{k}]" for k in range(x.shape[1])]
            columns += list(x.T)
    return Table(tuple(names), np.stack(columns, axis=1), source, notes=tuple(notes))


def _is_numeric(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "fiub"


def _floats(value: Any, source: str, name: str) -> Array:
    x = np.asarray(value)
    if x.dtype.kind not in "fiub":
        raise InputError(f"{source}: {name!r} is not made of real numbers but of {x.dtype}")
    return x.astype(float)
