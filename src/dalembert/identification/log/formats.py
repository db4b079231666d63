"""Files of numbers → `Table`: text, NumPy's npz and npy, Parquet, ROS bags of either generation, and arrays.

What a file is, its first bytes say, not its name.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import DalembertError, InputError, MissingExtraError, unknown
from dalembert.files import BAG, LOG, opened
from dalembert.identification.log.csv_file import read_csv
from dalembert.identification.log.samples import Array, Table
from dalembert.words import say

if TYPE_CHECKING:
    import pyarrow
    from rosbags.highlevel import AnyReader

GROUP_NAMES = {"t", "time", "q", "qd", "dq", "tau", "position", "velocity", "effort", "torque"}
STATE = "sensor_msgs/msg/JointState"
MEMORY = 4 << 30  # bytes that reading a bag may take: rosbags unpacks a chunk whole, however large it turns out
_limiting = threading.Lock()


def read_table(source: object, topic: str | None = None) -> Table:
    """A file, or arrays: a dictionary of them by name, a structured one, or a plain one (rows, columns)."""
    if isinstance(source, (str, Path)):
        return _file(Path(source), topic)
    if isinstance(source, np.ndarray):
        return _array(source, "array")
    try:
        named = {str(key): value for key, value in source.items()}  # type: ignore[attr-defined]
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
        return _bag(path, topic)
    if not start:
        raise InputError(f"{path}: the file is empty")
    return next((read for magic, read in MAGIC.items() if start.startswith(magic)), read_csv)(path)


@contextmanager
def _refusing(path: Path, what: str, remedy: str = "") -> Iterator[None]:
    """Of a torn file, libraries raise whatever they meet: here one sentence, with the first line of theirs."""
    try:
        yield
    except DalembertError:
        raise
    except Exception as error:
        said = (str(error).splitlines() or [type(error).__name__])[0][:120]
        raise InputError(f"{path}: {what} ({said}){remedy}") from None


def _modest(source: str | Path, size: int) -> None:
    if size > LOG:
        raise InputError(f"{source}: it unpacks to {size >> 20} MiB; of a log at most {LOG >> 20} MiB are read")


# ------------------------------------------------------------------------------------------------ arrays
def _array(array: NDArray[Any], source: str) -> Table:
    if array.dtype.names:
        return _arrays({name: array[name] for name in array.dtype.names}, source)
    if array.ndim != 2:
        raise InputError(f"{source}: an array of shape {array.shape} is not a table (rows, columns)")
    if not _is_numeric(array):
        raise InputError(f"{source}: 'array' is not made of real numbers but of {array.dtype}")
    return Table(tuple(str(k) for k in range(array.shape[1])), array.astype(float), source, named=False)


def _arrays(named: Mapping[str, ArrayLike], source: str) -> Table:
    """Arrays of one length side by side; those of two dimensions become columns name[0], name[1], …"""
    _modest(source, sum(8 * np.size(value) for value in named.values()))
    arrays: dict[str, Array] = {n: np.asarray(x).astype(float) for n, x in named.items() if _is_numeric(x)}
    odd = ", ".join(repr(name) for name in named if name not in arrays)
    notes = [f"left aside, since not every row has a number: {odd:.200}"] if odd else []
    rows = max((len(x) for x in arrays.values() if x.ndim), default=0)
    for name in [name for name, value in arrays.items() if value.ndim == 0]:
        step = float(arrays.pop(name))
        if name.lower() in ("dt", "step", "period"):  # a step beside the arrays is a time axis
            notes.append(f"time counted in steps of {name} = {step:g} s, which the file says")
            if not any(key.lower() in ("t", "time") for key in arrays):
                arrays["t"] = np.asarray(np.arange(rows) * step, float)
    if rows == 0:
        raise InputError(f"{source}: there are no rows of numbers in it")
    other = {name: len(x) for name, x in arrays.items() if len(x) != rows}
    if other:
        listed = ", ".join(f"{name!r} ({count})" for name, count in other.items())
        if any(name.lower() in GROUP_NAMES for name in other):
            raise InputError(f"{source}: arrays of different lengths: {listed} against {rows} rows")
        notes.append(f"left aside, since they do not have {rows} rows: {listed}")
    columns: list[tuple[str, Array]] = []
    for name, x in arrays.items():
        if name not in other and x.ndim <= 2:
            columns += [(name, x)] if x.ndim == 1 else [(f"{name}[{k}]", column) for k, column in enumerate(x.T)]
    names, values = tuple(name for name, _ in columns), np.stack([x for _, x in columns], axis=1)
    return Table(names, values, source, notes=tuple(notes))


def _is_numeric(value: ArrayLike) -> bool:
    return np.asarray(value).dtype.kind in "fiub"


def _npz(path: Path) -> Table:
    remedy = "; write it with np.savez(path, t=…, q=…, tau=…)"
    with (
        _refusing(path, "cannot be read as NumPy's npz", remedy),
        opened(path, LOG) as raw,
        np.load(raw, allow_pickle=False) as file,
    ):
        _modest(path, sum(entry.file_size for entry in file.zip.infolist()))
        return _arrays({key: file[key] for key in file.files}, path.name)


def _npy(path: Path) -> Table:
    with _refusing(path, "cannot be read as NumPy's npy"), opened(path, LOG) as raw:
        return _array(np.load(raw, allow_pickle=False), path.name)


# ------------------------------------------------------------------------------------------------ Parquet
def _parquet(path: Path) -> Table:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(f"{path.name} is Parquet and needs pyarrow: pip install 'dalembert[parquet]'") from None
    with _refusing(path, "cannot be read as Parquet"):
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
    return InputError(f"{path}: column {name!r} has {what}, where every row needs a list of equally many numbers")


MAGIC: dict[bytes, Callable[[Path], Table]] = {b"PK\x03\x04": _npz, b"\x93NUMPY": _npy, b"PAR1": _parquet}


# ------------------------------------------------------------------------------------------------ ROS bags
def _bag(path: Path, topic: str | None = None) -> Table:
    """Columns "<joint> position", … and "stamp" [s], of the JointState messages of one topic: by the library
    `rosbags`, without ROS."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise MissingExtraError(f"{path.name}: ROS bags need rosbags: pip install 'dalembert[ros]'") from None
    if not path.exists():
        raise InputError(f"{path}: cannot be read: no such file or directory")
    # Of the second generation a bag is a folder with metadata; a file of one may stand alone.
    folder = path.parent if (path.parent / "metadata.yaml").exists() and path.suffix in (".db3", ".mcap") else path
    with _refusing(path, "not a ROS bag that can be read"):
        try:
            with _limited(), AnyReader([folder], default_typestore=get_typestore(Stores.LATEST)) as reader:
                chosen = _topic(path, reader, topic)
                connections = [c for c in reader.connections if c.topic == chosen]
                messages = [(when, reader.deserialize(raw, c.msgtype)) for c, when, raw in reader.messages(connections)]
        except MemoryError:
            most = f"{MEMORY >> 20} MiB, the most that is read of a bag"
            raise InputError(f"{path}: it unpacks to more than {most}") from None
    return _joint_states(path, chosen, messages)


@contextmanager
def _limited() -> Iterator[None]:
    """At most MEMORY more than the process has now, where the system says how much that is (Linux)."""
    try:
        import resource

        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield
        return
    with _limiting:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        lower = now + MEMORY if soft == resource.RLIM_INFINITY else min(now + MEMORY, soft)
        resource.setrlimit(resource.RLIMIT_AS, (lower, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _topic(path: Path, reader: AnyReader, topic: str | None) -> str:
    states = sorted({c.topic for c in reader.connections if c.msgtype == STATE})
    if not states:
        found = ", ".join(sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})[:8]) or "nothing"
        raise InputError(f"{path}: no topic with {STATE} in it; it has {found}")
    if topic is not None and topic not in states:
        raise unknown("topic", topic, states)
    if topic is None and len(states) > 1:
        raise InputError(
            f"{path}: joint states on {len(states)} topics ({', '.join(states)}): say which with "
            f"{say('topic', states[0])}"
        )
    return topic or states[0]


def _joint_states(path: Path, topic: str, messages: list[tuple[int, Any]]) -> Table:
    if not messages:
        raise InputError(f"{path}: there is no message on {topic}")
    notes = [f"{path.name}: {len(messages)} messages of {topic}"]
    # Several publishers (arm, gripper) may share a topic: the messages with the same joints belong together.
    kinds = Counter(frozenset(message.name) for _, message in messages)
    joints_of = max(kinds, key=lambda names: kinds[names] * len(names))
    kept = [(when, m) for when, m in messages if frozenset(m.name) == joints_of]
    if len(kept) < len(messages):
        notes.append(f"{len(messages) - len(kept)} messages of {topic} tell of other joints, and are left out")
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for _, m in kept])
    if not stamps.any():
        stamps = np.array([when for when, _ in kept]) * 1e-9
        notes.append(f"the headers of {topic} are not stamped: the times are those of arrival, which jitter")
    columns: dict[str, Array] = {"stamp": stamps}
    joints = list(kept[0][1].name)
    for group in ("position", "velocity", "effort"):
        if all(len(getattr(m, group)) == len(m.name) for _, m in kept):
            by_joint = [dict(zip(m.name, getattr(m, group), strict=True)) for _, m in kept]
            columns |= {f"{joint} {group}": np.array([row[joint] for row in by_joint]) for joint in joints}
    return Table(tuple(columns), np.stack(list(columns.values()), axis=1), path.name, notes=tuple(notes))
