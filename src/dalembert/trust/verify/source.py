"""What a user asks to verify, and where it came from: the robot, its own text, and that text read a second time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

from dalembert import robots
from dalembert.describe.description import Description
from dalembert.describe.dh import DHTable
from dalembert.describe.named import is_named, path_of
from dalembert.describe.urdf_read import URDF_KINDS
from dalembert.describe.urdf_write import write_urdf
from dalembert.describe.xml import parse
from dalembert.errors import DalembertError, InputError, ModelWarning
from dalembert.files import DESCRIPTION, contents
from dalembert.loading import describe
from dalembert.robot import Robot
from dalembert.trust.verify import reread
from dalembert.trust.verify.linkage import Linkage
from dalembert.trust.verify.unfold import unfold, unfold_linkage


@dataclass(frozen=True)
class Source:
    """`again` is the linkage of the file read by the standard library, or None and the reason why not; `urdf` is what
    other libraries are given."""

    robot: Robot
    title: str
    again: Linkage | None
    reason: str
    urdf: str


class Reading(TypedDict, total=False):
    """How files are read, as `load` takes it."""

    package_dirs: Sequence[str | os.PathLike[str]]
    strict: bool
    allow: Collection[str]


Model = str | os.PathLike[str] | Robot | Description | DHTable


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
    return Source(robot, source.title, again, source.reason, _write(robot))


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
            return reread.of_toml(contents(path, DESCRIPTION).decode("utf-8")), "", ""
        if suffix == ".xacro":
            from dalembert.describe.xacro import expand

            urdf = expand(path, package_dirs=package_dirs)
        else:
            data = contents(path, DESCRIPTION)
            if suffix == ".xml" and parse(data, name).tag != "robot":
                return None, "MJCF has no second reader", ""
            urdf = data.decode("utf-8", "replace")
        return reread.of_urdf(urdf), "", urdf
    except reread.Unread as error:
        return None, str(error), urdf
