"""ROS bags of either generation (.bag, .db3, .mcap) → `Table`, by the library `rosbags`, without ROS."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.arguments import Array
from dalembert.errors import DalembertError, InputError, MissingExtraError, unknown
from dalembert.identification.log.samples import Table
from dalembert.words import assign

if TYPE_CHECKING:
    from rosbags.highlevel import AnyReader
    from rosbags.interfaces import Connection


class StateMessage(NamedTuple):
    """Which fields of a message hold the joints' names, positions, rates and torques."""

    names: str | None
    position: str
    velocity: str
    effort: str


KINDS = {
    "sensor_msgs/msg/JointState": StateMessage("name", "position", "velocity", "effort"),
    "franka_msgs/msg/FrankaState": StateMessage(None, "q", "dq", "tau_J"),
    "franka_msgs/msg/FrankaRobotState": StateMessage(
        *(f"measured_joint_state.{name}" for name in ("name", "position", "velocity", "effort"))
    ),
    "control_msgs/msg/JointTrajectoryControllerState": StateMessage(
        "joint_names", *(f"actual.{name}" for name in ("positions", "velocities", "effort"))
    ),
}
STATE = next(iter(KINDS))
MEMORY = 4 << 30  # bytes that reading a bag may take: rosbags unpacks a chunk whole, however large it turns out
_limiting = threading.Lock()


@contextmanager
def refusing(path: Path, what: str, remedy: str = "") -> Iterator[None]:
    """Of a torn file, libraries raise whatever they meet: here one sentence, with the first line of theirs."""
    try:
        yield
    except DalembertError:
        raise
    except Exception as error:
        said = (str(error).splitlines() or [type(error).__name__])[0][:120]
        raise InputError("not-readable", "path", problem=f"{path}: {what} ({said}){remedy}") from None


def read_bag(path: Path, topic: str | None = None) -> Table:
    """Columns "<joint> position", … (or "position[0]", … if messages name no joints) and "stamp" [s], of the messages
    of one topic that tell the states of joints."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise MissingExtraError(
            "missing-extra", "rosbags", problem=f"{path.name}: ROS bags need rosbags: pip install 'dalembert[ros]'"
        ) from None
    if not path.exists():
        raise InputError("not-readable", "path", problem=f"{path}: cannot be read: no such file or directory")
    with refusing(path, "not a ROS bag that can be read"):
        try:
            with _limited(), AnyReader([bag_folder(path)], default_typestore=get_typestore(Stores.LATEST)) as reader:
                chosen = _choose(path, reader, topic)
                messages = [(when, reader.deserialize(raw, c.msgtype)) for c, when, raw in reader.messages(chosen)]
        except MemoryError:
            most = f"{MEMORY >> 20} MiB, the most that is read of a bag"
            raise InputError("too-large", "path", problem=f"{path}: it unpacks to more than {most}") from None
    return _joint_states(path, chosen[0].topic, KINDS[chosen[0].msgtype], messages)


def bag_folder(path: Path) -> Path:
    """The folder of a bag of the second generation, which has metadata; a file without such a folder stands alone."""
    return path.parent if (path.parent / "metadata.yaml").exists() and path.suffix in (".db3", ".mcap") else path


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


def _choose(path: Path, reader: AnyReader, topic: str | None) -> list[Connection]:
    """The connections of one topic: the one that is named, or the only one whose messages hold torques."""
    states: dict[str, list[Connection]] = {}
    for connection in reader.connections:
        if connection.msgtype in KINDS:
            states.setdefault(connection.topic, []).append(connection)
    if not states:
        found = ", ".join(sorted({f"{c.topic} ({c.msgtype})" for c in reader.connections})[:8]) or "nothing"
        raise InputError("missing", "topic", problem=f"{path}: no topic with {STATE} in it; it has {found}")
    if topic is not None and topic not in states:
        raise unknown("topic", topic, states)
    with_torques = [name for name, own in states.items() if len(states) > 1 and _has_torques(reader, own)]
    names = [topic] if topic is not None else with_torques if len(with_torques) == 1 else sorted(states)
    if len(names) > 1:
        raise InputError(
            "missing",
            "topic",
            problem=f"{path}: joint states on {len(states)} topics ({', '.join(names)}): say which with "
            f"{assign('topic', names[0])}",
        )
    return states[names[0]]


def _has_torques(reader: AnyReader, connections: Sequence[Connection]) -> bool:
    for connection, _, raw in reader.messages(connections):
        message = reader.deserialize(raw, connection.msgtype)
        return len(attrgetter(KINDS[connection.msgtype].effort)(message)) > 0
    return False


def _joint_states(path: Path, topic: str, kind: StateMessage, messages: list[tuple[int, Any]]) -> Table:
    if not messages:
        raise InputError("missing", "topic", problem=f"{path}: there is no message on {topic}")
    notes = [f"{path.name}: {len(messages)} messages of {topic}"]
    named = [tuple(attrgetter(kind.names)(m)) if kind.names else () for _, m in messages]
    # Several publishers (arm, gripper) may share a topic: the messages with the same joints belong together.
    counts = Counter(map(frozenset, named))
    joints_of = max(counts, key=lambda names: counts[names] * (len(names) or 1))
    kept = [(when, m, names) for (when, m), names in zip(messages, named, strict=True) if frozenset(names) == joints_of]
    if len(kept) < len(messages):
        notes.append(f"{len(messages) - len(kept)} messages of {topic} tell of other joints, and are left out")
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for _, m, _ in kept])
    if not stamps.any():
        stamps = np.array([when for when, _, _ in kept]) * 1e-9
        notes.append(f"the headers of {topic} are not stamped: the times are those of arrival, which jitter")
    columns: dict[str, Array] = {"stamp": stamps}
    joints = kept[0][2]
    for group in ("position", "velocity", "effort"):
        rows = [np.asarray(attrgetter(getattr(kind, group))(m), float) for _, m, _ in kept]
        width = len(joints) or len(rows[0])
        if not width or any(len(row) != width for row in rows):
            continue
        x = np.array(rows)
        if joints:  # the order may change from message to message
            order = np.array([[names.index(joint) for joint in joints] for _, _, names in kept])
            x = np.take_along_axis(x, order, axis=1)
        columns |= {f"{joints[k]} {group}" if joints else f"{group}[{k}]": x[:, k] for k in range(width)}
    return Table(tuple(columns), np.stack(list(columns.values()), axis=1), path.name, notes=tuple(notes))
