"""`load`: a bundled robot by its name, or a file by its path."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from dalembert import robots
from dalembert.describe.description import Description
from dalembert.describe.named import is_named, path_of
from dalembert.errors import DescriptionError, InputError, unknown
from dalembert.files import DESCRIPTION, contents
from dalembert.robot import Robot


def _urdf(path: Path, strict: bool, allow: Collection[str]) -> Description:
    from dalembert.describe.urdf_read import read_urdf

    return read_urdf(_bytes(path), file=str(path), strict=strict)


def _toml(path: Path, strict: bool, allow: Collection[str]) -> Description:
    from dalembert.describe.toml_read import read_toml

    try:
        text = _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 text (byte {error.start})"
        raise DescriptionError("not-readable", "path", str(path), place=str(path), problem=problem) from None
    return read_toml(text, file=str(path), strict=strict)


def _xml(path: Path, strict: bool, allow: Collection[str]) -> Description:
    """Read MJCF. A URDF that was saved as .xml is read as one."""
    from dalembert.describe.mjcf import read_mjcf
    from dalembert.describe.xml import parse

    data = _bytes(path)
    tag = parse(data, str(path)).tag
    if tag == "robot":
        return _urdf(path, strict, allow)
    if tag == "sdf":
        problem = "SDF is not supported"
        remedy = "Use a URDF, xacro or MJCF file of the robot."
        raise DescriptionError("unsupported", "path", str(path), place=str(path), problem=problem, remedy=remedy)
    return read_mjcf(data, file=str(path), strict=strict, allow=allow)


Reader = Callable[[Path, bool, Collection[str]], Description]
READERS: dict[str, Reader] = {".urdf": _urdf, ".toml": _toml, ".xml": _xml}
NO_SDF = "SDF is not supported; use a URDF, xacro or MJCF file of the robot"
SUFFIXES = (".urdf", ".xacro", ".toml", ".xml")


def _bytes(path: Path) -> bytes:
    try:
        return contents(path, DESCRIPTION)
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror}"
        raise DescriptionError("not-readable", "path", str(path), place=str(path), problem=problem) from None


def describe(
    source: str | os.PathLike[str],
    xacro: Mapping[str, object] | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    *,
    strict: bool = False,
    allow: Collection[str] = (),
    base: str | None = None,
    robot: str | Sequence[str] | None = None,
    free: str | None = None,
) -> Description:
    """The description of a bundled robot or of a file (.urdf, .xacro, .toml, and .xml for MJCF), arranged as `load`
    says."""
    found = _describe(source, xacro, package_dirs, strict, allow)
    if base is robot is free is None:
        return found
    from dalembert.describe.scene import arrange

    return arrange(found, base=base, robot=robot, free=free)


def _describe(
    source: str | os.PathLike[str],
    xacro: Mapping[str, object] | None,
    package_dirs: Sequence[str | os.PathLike[str]],
    strict: bool,
    allow: Collection[str],
) -> Description:
    if not isinstance(source, (str, os.PathLike)):
        raise InputError("wrong-type", "source", source, expected="a bundled name or a path")
    text = os.fspath(source)
    path = Path(text)
    if is_named(text) and text not in robots.names():
        return _describe(path_of(text), xacro, package_dirs, strict, allow)
    suffix = path.suffix.lower()
    if suffix == ".xacro":
        from dalembert.describe.urdf_read import read_urdf
        from dalembert.describe.xacro import expand

        return read_urdf(expand(path, xacro, package_dirs=package_dirs), file=f"{text} (expanded)", strict=strict)
    if xacro:
        problem = f"{text} is not a .xacro file, so that it takes no xacro arguments"
        raise InputError("no-effect", "xacro", text, problem=problem)
    if suffix in READERS:
        if not os.path.exists(path):
            raise DescriptionError("not-readable", "path", text, place=text, problem="the file does not exist")
        return READERS[suffix](path, strict, allow)
    if text in robots.names():
        from dalembert.describe.toml_read import read_toml

        return read_toml(robots.text(text), file=f"{text}.toml")
    if suffix in (".sdf", ".world"):
        remedy = "Use a URDF, xacro or MJCF file of the robot."
        raise DescriptionError("unsupported", "path", text, place=text, problem="SDF is not supported", remedy=remedy)
    if path.suffix or os.sep in text:
        known = ", ".join(SUFFIXES)
        problem = f"a robot is a file ending in {known}, or a bundled name"
        raise DescriptionError("unsupported", "path", text, place=text, problem=problem)
    raise unknown("robot", text, robots.names())


def load(
    source: str | os.PathLike[str],
    tip: str | None = None,
    *,
    xacro: Mapping[str, object] | None = None,
    package_dirs: Sequence[str | os.PathLike[str]] = (),
    strict: bool = False,
    allow: Collection[str] = (),
    base: str | None = None,
    robot: str | Sequence[str] | None = None,
    free: str | None = None,
) -> Robot:
    """A robot by its bundled name ("panda", "ur5e", "puma560", …) or from a file: .urdf, .xacro, .toml,
    .xml (MJCF); or by a name of the package robot_descriptions ("ur5e_description"), if that is installed.

    `tip` names the frame that methods mean when none is named. `xacro` gives the arguments of a .xacro file, and
    `package_dirs` the folders in which its $(find package) looks. What the reader objects to, but accepts, is warned
    of here (`ModelWarning`) and kept in `robot.warnings`; what no number depends on, as shapes and colors, is only
    warned of, unless `strict`. What MJCF has and a description cannot hold is refused where it changes the equations of
    motion; `allow` names what may be left out, as in allow=["tendons"], and the refusal says which word.

    `base` puts the robot on a base that moves: "floating" (its pose in the world, six rates) or "planar" (x, y, θ);
    "fixed" leaves it as the file says. `robot` takes one robot out of a scene: the name of the body that it starts
    with, or several names. free="drop" leaves out bodies that move freely and carry no joint ("keep" does not)."""
    found = describe(source, xacro, package_dirs, strict=strict, allow=allow, base=base, robot=robot, free=free)
    return Robot(found, tip)
