"""What a user asks to verify, and where it came from: the robot, its own text, and that text read a second time.

Joints of several coordinates as turns and slides in a row, for a reference whose coordinates are a vector.

A floating joint is three slides and turns about z, y and x, a spherical one the turns, a planar one two slides and a
turn, with links without mass between them. With x the row's coordinates, the joint's own velocities are v = G(x) ẋ,

    M_row = Gᵀ M G,    τ_row = Gᵀ τ(q, v, G ẍ + Ġ ẋ),

so that Dalembert's terms in q and v are compared with those of the row, which share nothing with them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np

from dalembert import robots
from dalembert.describe.check import check
from dalembert.describe.description import Description, Drive, Joint, Link, Origin
from dalembert.describe.dh import DHTable
from dalembert.describe.named import is_named, path_of
from dalembert.describe.urdf_read import URDF_KINDS
from dalembert.describe.urdf_write import write_urdf
from dalembert.describe.xml import parse
from dalembert.errors import DalembertError, InputError, ModelWarning
from dalembert.files import DESCRIPTION, contents
from dalembert.loading import describe
from dalembert.robot import Robot
from dalembert.spatial.rotation import basis
from dalembert.trust.verify import reread
from dalembert.trust.verify.linkage import (
    UNITS,
    ZERO,
    Array,
    Linkage,
    LinkData,
    States,
    Three,
    order_parts,
    three,
    turn,
)
from dalembert.trust.verify.own_methods import Values, choose_frames

X, Y, Z = UNITS
TURNS = (("yaw", "revolute", Z), ("pitch", "revolute", Y), ("roll", "revolute", X))
SLIDES = (("x", "prismatic", X), ("y", "prismatic", Y), ("z", "prismatic", Z))
Step = tuple[str, str, Three]  # the end of its name, its kind and its axis
STEP = 1e-30  # of the complex step
Model = str | os.PathLike[str] | Robot | Description | DHTable


def steps(kind: str, axis: Three) -> tuple[Step, ...]:
    """The row that stands for a joint; none for a joint of one coordinate."""
    if kind != "planar":
        return {"floating": (*SLIDES, *TURNS), "spherical": TURNS}.get(kind, ())
    e1, e2, normal = (three(e) for e in basis(axis))
    return ("x", "prismatic", e1), ("y", "prismatic", e2), ("angle", "revolute", normal)


def unfold(d: Description) -> Description:
    """The same tree with every joint of several coordinates as a row; what resists these joints is left out."""
    links, joints = list(d.links), list[Joint]()
    for joint in d.joints:
        row = steps(joint.kind, joint.axis)
        parent, origin = joint.parent, joint.origin
        for k, (word, kind, axis) in enumerate(row):
            name = f"{joint.name}_{word}"
            child = joint.child if k == len(row) - 1 else name
            if child == name:
                links.append(Link(name, place=joint.place))
            plain = "continuous" if kind == "revolute" else kind
            joints.append(Joint(name, plain, parent, child, origin, axis, place=joint.place))
            parent, origin = child, Origin()
        joints += [] if row else [joint]
    names = {joint.name for joint in joints}
    home = tuple((name, x) for name, x in d.home if name in names)
    return check(replace(d, links=tuple(links), joints=tuple(joints), home=home, warnings=(), dh=None))


def without_drives(d: Description) -> Description:
    """The description with nothing that resists its joints of several coordinates, for a row has no word for it."""
    return replace(d, joints=tuple(replace(j, drive=Drive()) if j.several else j for j in d.joints))


def unfold_linkage(m: Linkage) -> Linkage:
    """The same of a file that was read again."""
    parts, parents = list[LinkData](), dict[str, str]()
    for part in m.parts:
        parent = m.parts[part.parent].link if part.parent >= 0 else None
        for child in _row(part) if part.kind in ("floating", "spherical", "planar") else (part,):
            parts.append(child)
            if parent is not None:
                parents[child.link] = parent
            parent = child.link
    return order_parts(parts, parents, m.gravity)


def _row(part: LinkData) -> Iterator[LinkData]:
    row, before = steps(part.kind, part.axis), part.before
    for k, (word, kind, axis) in enumerate(row):
        name = f"{part.joint}_{word}"
        last = k == len(row) - 1
        moved = {"joint": name, "kind": kind, "before": before, "axis": axis}
        inertia = {field: getattr(part, field) for field in ("mass", "com", "inertia", "inertial_rpy")} if last else {}
        yield LinkData(part.link if last else name, **moved, **inertia)  # type: ignore[arg-type]
        before = ((ZERO, ZERO),)


def compare_several(robot: Robot, s: States) -> Values:
    """Dalembert's terms in q and v at the states of the row, in the row's coordinates: poses, M, g and τ."""
    q, G = np.array(_positions(robot, s.q)), _rates(robot, s.q)
    drift = np.imag(_rates(robot, s.q + 1j * STEP * s.qd)) / STEP  # Ġ
    back, v = np.swapaxes(G, -1, -2), _times(G, s.qd)
    tau = robot.inverse_dynamics(q, v, _times(G, s.qdd) + _times(drift, s.qd))
    return {
        "pose": {frame: robot.fk(q, frame) for frame in choose_frames(robot)},
        "jacobian": {frame: robot.jacobian(q, frame) @ G for frame in choose_frames(robot)},
        "mass_matrix": back @ robot.mass_matrix(q) @ G,
        "gravity_torque": _times(back, robot.gravity_torque(q)),
        "torque": _times(back, tau),
    }


def _times(A: Array, x: Array) -> Array:
    return np.einsum("sij,sj->si", A, x)


def _positions(robot: Robot, x: Array) -> Array:
    """q of the row's coordinates, (S, nq)."""
    found: list[Array] = []
    for c in robot.model.coordinates:
        own = x[:, c.first : c.first + c.joint.nv]
        if c.joint.quaternion is None:
            found.append(own)
            continue
        (cy, cp, cr), (sy, sp, sr) = np.cos(0.5 * own[:, -3:]).T, np.sin(0.5 * own[:, -3:]).T
        turned = [cy * cp * sr - sy * sp * cr, cy * sp * cr + sy * cp * sr, sy * cp * cr - cy * sp * sr]
        found += [own[:, :-3], np.stack([*turned, cy * cp * cr + sy * sp * sr], axis=-1)]
    return np.concatenate(found, axis=-1)


def _rates(robot: Robot, x: Array) -> Array:
    """G with v = G ẋ, (S, nv, nv)."""
    G = np.zeros((len(x), robot.nv, robot.nv), x.dtype)
    for c in robot.model.coordinates:
        i, n = c.first, c.joint.nv
        own = x[:, i : i + n]
        if c.joint.kind == "planar":
            s, k = np.sin(own[:, 2]), np.cos(own[:, 2])
            G[:, i, i], G[:, i, i + 1], G[:, i + 1, i], G[:, i + 1, i + 1], G[:, i + 2, i + 2] = k, s, -s, k, 1.0
        elif n == 1:
            G[:, i, i] = 1.0
        else:
            z, y, r = (turn(a, np.sin(t), np.cos(t)) for a, t in zip((Z, Y, X), own[:, -3:].T, strict=True))
            at, back = i + n - 3, np.swapaxes(y @ r, -1, -2)
            G[:, at : at + 3, at] = back[:, :, 2]
            G[:, at : at + 3, at + 1] = np.swapaxes(r, -1, -2)[:, :, 1]
            G[:, at, at + 2] = 1.0
            if n == 6:
                G[:, i : i + 3, i : i + 3] = np.swapaxes(z @ y @ r, -1, -2)
    return G


@dataclass(frozen=True)
class Source:
    """`again` is the linkage of the file read by the standard library, or None and the reason why not; `urdf` is what
    other libraries are given; `warnings`, how many the reader gave of the robot, where `robot` is another."""

    robot: Robot
    title: str
    again: Linkage | None
    reason: str
    urdf: str
    warnings: int | None = None


class Reading(TypedDict, total=False):
    """How files are read, as `load` takes it."""

    package_dirs: Sequence[str | os.PathLike[str]]
    strict: bool
    allow: Collection[str]


def source_of(what: Model, tip: str | None = None, **reading: Unpack[Reading]) -> Source:
    """From a bundled name, a path, a Robot, a Description or a DHTable."""
    if isinstance(what, Robot):
        return _of_robot(what if tip is None else what.with_tip(tip))
    if isinstance(what, Description):
        return _of_robot(_quietly(what, tip))
    if isinstance(what, DHTable):
        robot = _quietly(what.description(), tip)
        return Source(robot, "DH table", reread.of_dh_table(what), "", _write(robot))
    if not isinstance(what, (str, os.PathLike)):
        raise InputError(f"verify takes a bundled name, a path, a Robot or a DHTable, got {type(what).__name__}")
    name = os.fspath(what)
    robot = _quietly(describe(name, **reading), tip)
    again, reason, urdf = _again(name, reading.get("package_dirs", ()))
    return Source(robot, name, again, reason, urdf or _write(robot))


def as_rows(source: Source) -> Source:
    """The same with every joint of several coordinates as turns and slides in a row."""
    robot = _quietly(unfold(source.robot.description), source.robot.tip)
    again = None if source.again is None else unfold_linkage(source.again)
    return Source(robot, source.title, again, source.reason, _write(robot), len(source.robot.warnings))


def _quietly(description: Description, tip: str | None) -> Robot:
    """What the description's reader objects to stays in `robot.warnings`; it is not what is verified here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return Robot(description, tip)


def _of_robot(robot: Robot) -> Source:
    """A robot that is in memory: its file, if it has one and still says what the robot is."""
    d = robot.description
    file = d.place.file or ""
    name = Path(file).stem if Path(file).suffix == ".toml" and Path(file).stem in robots.names() else file
    reason = "the robot came from no file"
    if name in robots.names() or (Path(name).suffix in (".urdf", ".toml") and Path(name).is_file()):
        try:
            same = replace(describe(name), tip=d.tip, home=d.home) == d
        except DalembertError:
            same = False
        if same:
            again, reason, urdf = _again(name)
            return Source(robot, name, again, reason, urdf or _write(robot))
        reason = f"the robot is not, or no longer, what {name} says"
    return Source(robot, robot.name, None, reason, _write(robot))


def _write(robot: Robot) -> str:
    """The tree as URDF; empty if it has joints that URDF has no type for."""
    if any(joint.kind not in URDF_KINDS for joint in robot.description.joints):
        return ""
    return write_urdf(replace(robot.description, loops=()))


def _again(name: str, package_dirs: Sequence[str | os.PathLike[str]] = ()) -> tuple[Linkage | None, str, str]:
    """(linkage, why there is none, URDF text if it is one)."""
    urdf = ""
    try:
        if name in robots.names():
            return reread.of_toml(robots.text(name)), "", ""
        path = path_of(name) if is_named(name) else Path(name)
        suffix = path.suffix.lower()
        if suffix == ".toml":
            return reread.of_toml(contents(path, DESCRIPTION).decode("utf-8-sig")), "", ""
        if suffix == ".xacro":
            from dalembert.describe.xacro import expand

            urdf = expand(path, package_dirs=package_dirs)
        else:
            data = contents(path, DESCRIPTION)
            if suffix == ".xml" and parse(data, name).tag != "robot":
                return None, "MJCF has no second reader", ""
            urdf = data.decode("utf-8-sig", "replace")
        return reread.of_urdf(urdf), "", urdf
    except reread.Unread as error:
        return None, str(error), urdf
