"""Files of numbers → `Table`: text, NumPy's npz and npy, MATLAB's mat, HDF5, Parquet, ROS bags of either generation,
several files with a quantity each, and arrays.

What a file is, its first bytes say, not its name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array
from dalembert.errors import InputError, MissingExtraError
from dalembert.files import BAG, LOG, opened
from dalembert.identification.log.bag import bag_folder, read_bag, refusing
from dalembert.identification.log.columns import is_clock
from dalembert.identification.log.csv_file import read_csv
from dalembert.identification.log.families import TIMES, WORDS, group_of, tokens
from dalembert.identification.log.parquet_footer import count_values
from dalembert.identification.log.samples import Table
from dalembert.identification.log.times import increasing_rows, match_by_time
from dalembert.words import mention

if TYPE_CHECKING:
    import pyarrow

GROUP_NAMES = {"t", "time", "q", "qd", "dq", "tau", "position", "velocity", "effort", "torque"}
GROUP_NAMES |= {"pos", "vel", "positions", "velocities", "torques", "efforts", "current", "currents", "tau_j"}
STEPS, RATES = ("dt", "step", "period", "ts", "sample_time"), ("fs", "rate", "frequency", "freq", "sampling_rate")
BAGS = (".bag", ".db3", ".mcap")


def read_table(source: object, topic: str | None = None) -> Table:
    """A file, a folder or a list of files with a quantity each, or arrays: a dictionary of them by name, a structured
    one, or a plain one (rows, columns)."""
    if isinstance(source, (str, Path)):
        return _file(Path(source), topic)
    if isinstance(source, (list, tuple)) and source and all(isinstance(one, (str, Path)) for one in source):
        return _side_by_side([Path(one) for one in source])
    if isinstance(source, np.ndarray):
        return _array(source, "array")
    try:
        named = {str(key): value for key, value in source.items()}  # type: ignore[attr-defined]
    except (AttributeError, TypeError, KeyError):
        raise InputError(
            "wrong-type",
            "source",
            problem="a log is a path, a dictionary of arrays {'t': …, 'q': …, 'tau': …} or an array (rows, columns); "
            f"got {type(source).__name__}",
        ) from None
    return _arrays(named, "arrays")


def _file(path: Path, topic: str | None, narrow: bool = False) -> Table:
    whole = bag_folder(path)
    inside = [p for p in whole.iterdir() if not p.is_dir()] if whole.is_dir() else [path]
    is_bag = any(p.suffix in BAGS or p.name == "metadata.yaml" for p in inside)
    if path.is_dir() and not is_bag:
        if not (parts := [p for p in sorted(inside) if quantity_of(p)]):
            held = ", ".join(p.name for p in inside[:8]) or "nothing"
            raise InputError(
                "not-readable",
                "path",
                problem=f"{path}: not a ROS bag that can be read, nor a folder of q.csv, tau.csv and the like; it "
                f"holds {held}",
            )
        return _side_by_side(parts)
    try:
        for part in inside:
            with opened(part, BAG if is_bag else LOG) as file:
                start = file.read(16)
    except OSError as error:
        raise InputError(
            "not-readable", "path", problem=f"{error.filename or path}: cannot be read: {error.strerror}"
        ) from None
    if is_bag:
        return read_bag(path, topic)
    if topic is not None:
        raise InputError("no-effect", "topic", problem=f"{path}: {mention('topic')} is of ROS bags, and this is none")
    if not start:
        raise InputError("too-few", "path", problem=f"{path}: the file is empty")
    if start.startswith(b"\x1f\x8b"):
        raise InputError(
            "unsupported", "path", problem=f"{path}: it is packed (gzip): unpack it first, gunzip {path.name}"
        )
    by_magic = next((read for magic, read in MAGIC.items() if start.startswith(magic)), None)
    if by_magic is None and path.suffix.lower() == ".mat":  # of its fourth version, which has no magic
        by_magic = _mat
    return by_magic(path) if by_magic else read_csv(path, narrow)


# ------------------------------------------------------------------------------------------------ a quantity per file
def quantity_of(path: Path) -> str | None:
    """What a file holds by its name, "run1_tau.csv" torques; None if its name does not tell."""
    group = group_of([word for word in tokens(path.stem) if not word.isdigit()])
    return group if group in ("t", "q", "qd", "tau", "current") else None


def gather(paths: Sequence[str | Path]) -> list[Path | list[Path]]:
    """Files that are one log together, run1_q.csv and run1_tau.csv, as a list; the others each for itself."""
    runs: dict[str, list[Path]] = {}
    for path in map(Path, paths):
        group = quantity_of(path)
        words = [w for w in tokens(path.stem) if group is None or w not in WORDS[group]]
        runs.setdefault(str(path) if group is None or path.is_dir() else f"{path.parent} {words}", []).append(path)
    together: list[Path | list[Path]] = []
    for files in runs.values():
        groups = [quantity_of(path) for path in files]
        whole = "q" in groups and {"tau", "current"} & {*groups} and len({*groups}) == len(groups)
        together += [files] if whole else files
    return together


def _side_by_side(paths: Sequence[Path]) -> Table:
    """Files with a quantity each as one table: row by row, or at the times of the positions if each has its own."""
    source = f"{paths[0].parent.name or '.'}/{{{', '.join(path.name for path in paths)}}}"
    parts: dict[str, tuple[Array | None, list[str], Array]] = {}
    notes: list[str] = []
    for path in paths:
        group = quantity_of(path)
        if group is None or group in parts:
            why = "its name does not tell what it holds" if group is None else f"another file holds {group} too"
            raise InputError(
                "not-readable",
                "path",
                problem=f"{path}: {why}; name files of a quantity each q.csv, qd.csv, tau.csv, t.csv",
            )
        table = _file(path, None, narrow=True)
        notes += table.notes
        meanings = [group_of([w for w in tokens(n) if not w.isdigit()]) if table.named else None for n in table.names]
        clock = 0 if not table.named and len(table.names) > 1 and is_clock(table.values[:, 0]) else None
        clock = next((k for k, meaning in enumerate(meanings) if meaning in TIMES), clock)
        keep = [k for k in range(len(table.names)) if k != clock or group == "t"]
        names = [f"{group} {table.names[k]}" if meanings[k] != group else table.names[k] for k in keep]
        t = None if clock is None or group == "t" else table.values[:, clock]
        parts[group] = t, (["t"] if group == "t" else names), table.values[:, keep[:1] if group == "t" else keep]
    clocks = {group: t for group, (t, _, _) in parts.items() if t is not None}
    lengths = {group: len(x) for group, (_, _, x) in parts.items()}
    own = clocks.get("q", next(iter(clocks.values()), None))
    alike = len({*lengths.values()}) == 1
    if not alike and len(clocks) < len(parts):
        told = ", ".join(f"{group} {count}" for group, count in lengths.items())
        raise InputError(
            "wrong-shape",
            "path",
            problem=f"{source}: the files have different numbers of rows ({told}), and not all have times",
        )
    if own is not None and not (alike and all(np.array_equal(t, own) for t in clocks.values())):
        steady = {group: increasing_rows(t, f"{source}, {group}") for group, t in clocks.items()}
        clocks = {group: t[steady[group]] for group, t in clocks.items()}
        low, high = max(t[0] for t in clocks.values()), min(t[-1] for t in clocks.values())
        own = own[(own >= low) & (own <= high)]
        if len(own) < 2:
            raise InputError("conflict", "path", problem=f"{source}: the times of the files do not overlap")
        matched = {g: match_by_time(clocks[g], x[steady[g]], own) for g, (_, _, x) in parts.items() if g in clocks}
        near = np.all([near for _, near in matched.values()], axis=0)
        own = own[near]
        parts = {g: (own, parts[g][1], x[near]) for g, (x, _) in matched.items()}
        notes.append(f"{source}: each file has times of its own: all taken at those of the positions")
    columns = {} if own is None or "t" in parts else {"t": own[:, None]}
    values = np.concatenate([*columns.values(), *(x for _, _, x in parts.values())], axis=1)
    return Table((*columns, *(n for _, names, _ in parts.values() for n in names)), values, source, notes=tuple(notes))


def _modest(source: str | Path, size: int) -> None:
    if size > LOG:
        raise InputError(
            "too-large",
            "source",
            problem=f"{source}: it unpacks to {size >> 20} MiB; of a log at most {LOG >> 20} MiB are read",
        )


# ------------------------------------------------------------------------------------------------ arrays
def _array(array: NDArray[Any], source: str) -> Table:
    if array.dtype.names:
        return _arrays({name: array[name] for name in array.dtype.names}, source)
    if array.ndim != 2:
        raise InputError(
            "wrong-shape", "source", problem=f"{source}: an array of shape {array.shape} is not a table (rows, columns)"
        )
    if not _is_numeric(array):
        raise InputError(
            "wrong-type", "source", problem=f"{source}: 'array' is not made of real numbers but of {array.dtype}"
        )
    return Table(tuple(str(k) for k in range(array.shape[1])), array.astype(float), source, named=False)


def _arrays(named: Mapping[str, ArrayLike], source: str) -> Table:
    """Arrays of one length side by side; those of two dimensions become columns name[0], name[1], …"""
    _modest(source, sum(8 * np.size(value) for value in named.values()))
    arrays: dict[str, Array] = {n: np.asarray(x).astype(float) for n, x in named.items() if _is_numeric(x)}
    odd = ", ".join(repr(name) for name in named if name not in arrays)
    notes = [f"left aside, since not every row has a number: {odd:.200}"] if odd else []
    scalars = {name: float(x.ravel()[0]) for name, x in arrays.items() if x.size == 1}
    arrays = {name: np.atleast_1d(x.squeeze()) for name, x in arrays.items() if name not in scalars}
    rows = _count_rows(arrays)
    for name, x in arrays.items():
        if x.ndim == 2 and x.shape[1] == rows != x.shape[0]:  # samples side by side
            arrays[name] = x.T
    for name, number in scalars.items():
        step = 1 / number if _leaf(name) in RATES and number else number
        if _leaf(name) in (*STEPS, *RATES) and not any(_leaf(key) in ("t", "time") for key in arrays):
            arrays["t"] = np.asarray(np.arange(rows) * step, float)  # a step beside the arrays is a time axis
            notes.append(f"time counted in steps of {name} = {step:g} s, which the file says")
    if rows == 0:
        raise InputError("too-few", "source", problem=f"{source}: there are no rows of numbers in it")
    other = {name: len(x) for name, x in arrays.items() if len(x) != rows}
    if other:
        listed = ", ".join(f"{name!r} ({count})" for name, count in other.items())
        if any(_leaf(name) in GROUP_NAMES for name in other):
            raise InputError(
                "wrong-shape", "source", problem=f"{source}: arrays of different lengths: {listed} against {rows} rows"
            )
        notes.append(f"left aside, since they do not have {rows} rows: {listed:.200}")
    columns: list[tuple[str, Array]] = []
    for name, x in arrays.items():
        if name not in other and x.ndim <= 2:
            columns += [(name, x)] if x.ndim == 1 else [(f"{name}[{k}]", column) for k, column in enumerate(x.T)]
    names, values = tuple(name for name, _ in columns), np.stack([x for _, x in columns], axis=1)
    return Table(names, values, source, notes=tuple(notes))


def _count_rows(arrays: Mapping[str, Array]) -> int:
    """As many as there are times; else what most arrays with a name of a log have."""
    own = {_leaf(name): x for name, x in arrays.items() if _leaf(name) in GROUP_NAMES}
    clocks = [len(x) for name, x in own.items() if name in ("t", "time") and x.ndim == 1]
    if clocks:
        return max(clocks)
    counts = Counter(max(x.shape) for x in own.values())
    return max(counts, key=lambda k: (counts[k], k), default=max((len(x) for x in arrays.values()), default=0))


def _leaf(name: str) -> str:
    """The last part of a path in a file, in lower case."""
    return re.split(r"[./]", name.lower())[-1]


def _is_numeric(value: ArrayLike) -> bool:
    return np.asarray(value).dtype.kind in "fiub"


def _npz(path: Path) -> Table:
    remedy = "; write it with np.savez(path, t=…, q=…, tau=…)"
    with (
        refusing(path, "cannot be read as NumPy's npz", remedy),
        opened(path, LOG) as raw,
        np.load(raw, allow_pickle=False) as file,
    ):
        _modest(path, sum(entry.file_size for entry in file.zip.infolist()))
        return _arrays({key: file[key] for key in file.files}, path.name)


def _npy(path: Path) -> Table:
    with refusing(path, "cannot be read as NumPy's npy"), opened(path, LOG) as raw:
        return _array(np.load(raw, allow_pickle=False), path.name)


# ------------------------------------------------------------------------------------------------ Parquet
def _parquet(path: Path) -> Table:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            "missing-extra",
            "pyarrow",
            problem=f"{path.name} is Parquet and needs pyarrow: pip install 'dalembert[parquet]'",
        ) from None
    with refusing(path, "cannot be read as Parquet"):
        with opened(path, LOG) as raw:
            file = pyarrow.parquet.ParquetFile(raw)
            parts = [file.metadata.row_group(k) for k in range(file.num_row_groups)]
            _modest(path, sum(part.total_byte_size for part in parts))  # unpacked, but runs of equal values still short
            _modest(path, 8 * count_values(raw))
            # Text, of which a short file can hold much, is no part of a log.
            read = {field.name: _is_read(path, field) for field in file.schema_arrow}
            table = file.read([name for name in read if read[name]])
        columns = {n: _column(path, n, c) for n, c in zip(table.column_names, table.columns, strict=True)}
        columns |= {name: np.empty(0, object) for name in read if not read[name]}
    return _arrays(columns, path.name)


def _is_read(path: Path, field: pyarrow.Field) -> bool:
    """Whether a column of Parquet, or what its lists hold, is numbers or times; a group of a log must be."""
    from pyarrow import types

    plain = bool(types.is_primitive(getattr(field.type, "value_type", field.type)))
    if not plain and types.is_nested(field.type) and field.name.lower() in GROUP_NAMES:
        raise _uneven(path, field.name, f"{field.type} in it")
    return plain


def _column(path: Path, name: str, column: pyarrow.ChunkedArray) -> NDArray[Any]:
    """One column of Parquet as an array; lists of other lengths, if not of a log, are left out."""
    from pyarrow import types

    kind = column.type
    if types.is_timestamp(kind) or types.is_duration(kind):
        stamps: NDArray[Any] = column.cast("int64").to_numpy()
        if len(stamps) and stamps.dtype.kind == "i" and int(stamps.max()) - int(stamps.min()) < 1 << 63:
            stamps = stamps - stamps[0]  # before it is a float, which has no nanoseconds of 1970 left
        return np.asarray(stamps * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[kind.unit])
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        return np.asarray(column.to_numpy())
    rows = column.to_pylist()  # one list per row: a whole group in a column
    odd = next((k for k, row in enumerate(rows) if row is None or len(row) != len(rows[0])), None)
    if odd is None:
        return np.array(rows, float)
    if name.lower() in GROUP_NAMES:
        what = "nothing" if rows[odd] is None else f"{len(rows[odd])} numbers"
        raise _uneven(path, name, f"{what} in row {odd} (from 0)")
    return np.empty(0, object)


def _uneven(path: Path, name: str, what: str) -> InputError:
    return InputError(
        "wrong-shape",
        "path",
        problem=f"{path}: column {name!r} has {what}, where every row needs a list of equally many numbers",
    )


# ------------------------------------------------------------------------------------------------ MATLAB, HDF5
def _mat(path: Path) -> Table:
    """Variables and fields of structures of a mat file, up to version 7.2; of later ones see `_hdf5`."""
    with refusing(path, "cannot be read as MATLAB's mat"), opened(path, LOG) as raw:
        from scipy.io import loadmat, whosmat

        _modest(path, sum(8 * math.prod(shape) for _, shape, _ in whosmat(raw)))
        raw.seek(0)
        arrays = dict(_flat(loadmat(raw, simplify_cells=True)))
    if not any(_is_numeric(x) and np.size(x) > 1 for x in arrays.values()):
        raise InputError(
            "unsupported",
            "path",
            problem=f"{path}: no arrays of numbers are in it (tables and timeseries are objects that only MATLAB "
            "reads): save "
            "plain ones, save('log.mat', 't', 'q', 'tau')",
        )
    return _arrays(arrays, path.name)


def _flat(named: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Arrays under their paths, "run.q"."""
    for key, value in named.items():
        if key.startswith("__"):
            continue
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{key}.")
        elif not isinstance(value, (str, bytes, list)):
            yield before + key, value


def _hdf5(path: Path) -> Table:
    """The numeric datasets of an HDF5 file, mat files of version 7.3 and tables of pandas among them.

    Raise InputError if the file refers to another file, which the HDF5 library would open without a check."""
    try:
        import h5py
    except ImportError:
        raise MissingExtraError(
            "missing-extra", "h5py", problem=f"{path.name} is HDF5 and needs h5py: pip install 'dalembert[hdf5]'"
        ) from None
    found: dict[str, Any] = {}
    labels: dict[str, Any] = {}

    def refuse_outside(name: str, item: Any) -> None:
        if isinstance(item, h5py.Group):
            links = {key: item.get(key, getlink=True) for key in item}
            outside = [key for key, link in links.items() if isinstance(link, h5py.ExternalLink)]
            name, kind = "/".join(filter(None, (name, *outside[:1]))), "an external link" if outside else ""
        else:
            external = isinstance(item, h5py.Dataset) and item.external
            virtual = isinstance(item, h5py.Dataset) and item.is_virtual
            kind = "stored in an external file" if external else "a virtual dataset" if virtual else ""
        if kind:
            raise InputError(
                "unsupported",
                "path",
                problem=f"{path}: {name!r} is {kind}, and a log must not refer to other files. Copy the data into "
                "one file, "
                "for example with h5py.",
            )

    def visit(name: str, item: Any) -> None:
        refuse_outside(name, item)
        text = item.attrs.get("MATLAB_class") == b"char"
        if not isinstance(item, h5py.Dataset) or name.startswith("#") or text:
            return
        if name.endswith("_items") and item.ndim == 1:
            labels[name] = item
        if item.dtype.names:  # one row of named numbers after another
            found.update({f"{name}.{column}": (item, column) for column in item.dtype.names})
        elif item.dtype.kind in "fiub":
            found[name] = (item, ())

    with refusing(path, "cannot be read as HDF5"), opened(path, LOG) as raw, h5py.File(raw, "r") as file:
        refuse_outside("", file)
        file.visititems(visit)
        _modest(path, sum(8 * item.size for item, _ in found.values()))
        arrays = {name: item[key] for name, (item, key) in found.items() if item.ndim <= 2}
        for name in [name for name in arrays if name.endswith("_values") and f"{name[:-7]}_items" in labels]:
            columns, item = np.atleast_2d(arrays.pop(name)).T, labels[f"{name[:-7]}_items"]
            if item.size != len(columns):
                raise InputError(
                    "wrong-shape", "path", problem=f"{path}: {name!r} has {len(columns)} columns, but {item.size} names"
                )
            items = [x.decode() if isinstance(x, bytes) else str(x) for x in item[()]]
            arrays |= dict(zip(items, columns, strict=True))
    return _arrays(arrays, path.name)


MAGIC: dict[bytes, Callable[[Path], Table]] = {
    **{b"PK\x03\x04": _npz, b"\x93NUMPY": _npy, b"PAR1": _parquet},
    **{b"MATLAB 5.0": _mat, b"MATLAB 7.3": _hdf5, b"\x89HDF\r\n": _hdf5},
}
