"""Joint states out of ROS bags, of either generation, by the library `rosbags`: no ROS is needed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import DalembertError, InputError, MissingExtraError, unknown
from dalembert.identification.log.table import Table, first_line

STATE = "sensor_msgs/msg/JointState"
GROUPS = ("position", "velocity", "effort")
MEMORY = 4 << 30  # bytes that reading a bag may take: rosbags unpacks a chunk whole, however large it turns out
_limiting = threading.Lock()


def read_bag(path: Path, topic: str | None = None) -> Table:
    """Columns "<joint> position", … and "stamp" [s], of the JointState messages of one topic."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise MissingExtraError(f"{path.name}: ROS bags need rosbags: pip install 'dalembert[ros]'") from None
    if not path.exists():
        raise InputError(f"{path}: cannot be read: no such file or directory")
    # Of the second generation a bag is a folder with metadata; a file of one may stand alone.
    folder = path.parent if (path.parent / "metadata.yaml").exists() and path.suffix in (".db3", ".mcap") else path
    try:
        with _limited(), AnyReader([folder], default_typestore=get_typestore(Stores.LATEST)) as reader:
            chosen = _topic(path, reader, topic)
            connections = [c for c in reader.connections if c.topic == chosen]
            messages = [(when, reader.deserialize(raw, c.msgtype)) for c, when, raw in reader.messages(connections)]
    except DalembertError:
        raise
    except MemoryError:
        most = f"{MEMORY >> 20} MiB, the most that is read of a bag"
        raise InputError(f"{path}: it unpacks to more than {most}") from None
    except Exception as error:  # of bytes that are no bag, rosbags and its decoders raise whatever they meet
        raise InputError(f"{path}: not a ROS bag that can be read ({first_line(error)})") from None
    return _table(path, chosen, messages)


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


def _topic(path: Path, reader: Any, topic: str | None) -> str:
    states = sorted({c.topic for c in reader.connections if c.msgtype == STATE})
    if not states:
        found = ", ".join(sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})[:8]) or "nothing"
        raise InputError(f"{path}: no topic with {STATE} in it; it has {found}")
    if topic is not None:
        if topic not in states:
            raise unknown("topic", topic, states)
        return topic
    if len(states) > 1:
        raise InputError(f"{path}: joint states on {len(states)} topics ({', '.join(states)}): say which with topic=…")
    return states[0]


def _table(path: Path, topic: str, messages: list[tuple[int, Any]]) -> Table:
    if not messages:
        raise InputError(f"{path}: there is no message on {topic}")
    notes = [f"{path.name}: {len(messages)} messages of {topic}"]
    # Several publishers (arm, gripper) may share a topic: the messages with the same joints belong together.
    kinds = Counter(frozenset(message.name) for _, message in messages)
    joints_of = max(kinds, key=lambda names: kinds[names] * len(names))
    kept = [(when, m) for when, m in messages if frozenset(m.name) == joints_of]
    if len(kept) < len(messages):
        notes.append(f"{len(messages) - len(kept)} messages of {topic} tell of other joints, and are left out")
    joints = list(kept[0][1].name)
    columns: dict[str, Any] = {}
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for _, m in kept])
    if not stamps.any():
        stamps = np.array([when for when, _ in kept]) * 1e-9
        notes.append(f"the headers of {topic} are not stamped: the times are those of arrival, which jitter")
    columns["stamp"] = stamps
    for group in GROUPS:
        if any(len(getattr(m, group)) != len(m.name) for _, m in kept):
            continue
        order = [{name: k for k, name in enumerate(m.name)} for _, m in kept]
        values = np.array([[getattr(m, group)[at[j]] for j in joints] for (_, m), at in zip(kept, order, strict=True)])
        columns |= {f"{joint} {group}": values[:, k] for k, joint in enumerate(joints)}
    return Table(tuple(columns), np.stack(list(columns.values()), axis=1), path.name, notes=tuple(notes))
