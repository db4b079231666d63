"""Dalembert's own robot files: TOML with a DH table, or with links and joints.

    name = "arm"
    [[dh.rows]]                      # or [[links]] and [[joints]]
    d = 0.3
    alpha_deg = 90
    inertial = { mass = 2.0, com = [0, 0, -0.1], inertia = [0.02, 0.02, 0.01] }
    [[loops]]                        # what closes the tree, if it is closed
    kind = "ball"
    first = "link3"
    second = "base"

`toml_schema` lists every key. Messages name the TOML path and the line.
"""

from __future__ import annotations

import math
import re
import tomllib
from typing import Any

import msgspec

from dalembert.describe.check import check
from dalembert.describe.description import Description
from dalembert.describe.dh import CONVENTIONS, DHTable, tree_of, warn_of_rows
from dalembert.describe.toml_errors import Path, Source, from_msgspec
from dalembert.describe.toml_parts import Parts
from dalembert.describe.toml_schema import TomlDH, TomlRobot
from dalembert.errors import DescriptionError
from dalembert.findings import Place

# msgspec crashes where two threads convert to a type at once for the first time: what it must know, it learns here.
msgspec.json.Decoder(TomlRobot)
FORMAT = 1
DEEPEST = 32  # far below what the schema needs, far above what recursion bears


def read_toml(text: str, *, file: str | None = None, strict: bool = False) -> Description:
    """The description written in a TOML text; `file` is named in messages. `strict`: shapes that cannot be are refused,
    not left out."""
    source = Source(text, file)
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise DescriptionError(f"{Place(file)}: not text: it holds half of a surrogate pair")
    data = _parse(source)
    _refuse_not_finite(source, data, ())
    try:
        robot = msgspec.convert(data, TomlRobot)
    except msgspec.ValidationError as error:
        raise from_msgspec(source, error) from None
    if robot.format != FORMAT:
        raise source.error(
            ("format",), f"this is format {robot.format}; this version of Dalembert reads format {FORMAT}"
        )
    return check(_describe(robot, Parts(source)), strict=strict)


def _parse(source: Source) -> dict[str, Any]:
    try:
        return tomllib.loads(source.text)
    except RecursionError:
        raise source.error((), "tables or lists are nested too deep") from None
    except ValueError as error:  # TOMLDecodeError is one; so is an integer of too many digits
        message = str(error)
        at = re.search(r"\(at line (\d+), column (\d+)\)", message)
        place = Place(source.file, int(at[1]), int(at[2])) if at else Place(source.file)
        message = re.sub(r"\s*\(at [^)]*\)|: value has .*", "", message)
        raise DescriptionError(f"{place}: not valid TOML: {message}") from None


def _refuse_not_finite(source: Source, value: Any, path: Path) -> None:
    """TOML has nan and inf, and tables without end; a robot does not."""
    if len(path) > DEEPEST:
        raise source.error(path[:1], "tables or lists are nested too deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise source.error(path, f"{value} is not a finite number")
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        _refuse_not_finite(source, inner, (*path, key))


def _describe(robot: TomlRobot, parts: Parts) -> Description:
    """The description of a file's tables, not checked yet."""
    if (robot.dh is None) == (not robot.links):
        raise parts.source.error((), "give either a DH table ([[dh.rows]]) or links and joints ([[links]], [[joints]])")
    tree = _tree(robot, parts) if robot.dh is None else _table(robot, robot.dh, parts)
    frames = [parts.frame(frame, ("frames", i)) for i, frame in enumerate(robot.frames)]
    joints = (*tree.joints, *(joint for _, joint in frames))
    return Description(
        robot.name,
        (*tree.links, *(link for link, _ in frames)),
        joints,
        robot.gravity,
        robot.tip if robot.tip is not None else tree.tip,
        robot.notes,
        tuple(parts.loop(loop, ("loops", i)) for i, loop in enumerate(robot.loops)),
        parts.home(robot, joints),
        place=Place(parts.source.file),
        dh=tree.dh,
    )


def _tree(robot: TomlRobot, parts: Parts) -> Description:
    links = [parts.link(link, ("links", i)) for i, link in enumerate(robot.links)]
    joints = [parts.joint(joint, ("joints", i)) for i, joint in enumerate(robot.joints)]
    return Description(robot.name, tuple(links), tuple(joints))


def _table(robot: TomlRobot, dh: TomlDH, parts: Parts) -> Description:
    """A tip that no link or frame has gives its name to the frame after the last row."""
    if robot.joints:
        raise parts.source.error(("joints", 0), "a file with a DH table has its joints in [[dh.rows]]")
    convention = parts.choose("DH convention", dh.convention, CONVENTIONS, ("dh", "convention"))
    if not dh.rows:
        raise parts.source.error(("dh", "rows"), "the table has no rows; one row per joint is needed")
    taken = {row.link or f"link{i + 1}" for i, row in enumerate(dh.rows)}
    taken |= {dh.root.name, *(frame.name for frame in robot.frames)}
    table = DHTable(
        tuple(parts.row(row, ("dh", "rows", i)) for i, row in enumerate(dh.rows)),
        convention,
        base=parts.origin(dh.base, ("dh", "base")),
        tool=parts.origin(dh.tool, ("dh", "tool")),
        root=parts.link(dh.root, ("dh", "root")),
        tip=robot.tip if robot.tip is not None and robot.tip not in taken else "tool",
    )
    warn_of_rows(table.rows)
    return tree_of(table)
