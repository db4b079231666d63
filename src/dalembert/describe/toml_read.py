"""Dalembert's own robot files: TOML with a DH table, or with links and joints.

    name = "arm"
    [[dh.rows]]                      # or [[links]] and [[joints]]
    d = 0.3
    alpha_deg = 90
    inertial = { mass = 2.0, com = [0, 0, -0.1], inertia = [0.02, 0.02, 0.01] }

`toml_schema` lists every key. Messages name the TOML path and the line.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Sequence
from typing import Any

import msgspec

from dalembert.describe.chain import to_origin
from dalembert.describe.check import check
from dalembert.describe.description import (
    Box,
    Capsule,
    Cylinder,
    Description,
    Drive,
    Geometry,
    Inertial,
    Joint,
    JointKind,
    Limit,
    Link,
    Mesh,
    Mimic,
    Origin,
    Place,
    Shape,
    Sphere,
    Vector,
)
from dalembert.describe.dh import CONVENTIONS, KINDS, DHRow, DHTable, tree_of
from dalembert.describe.toml_errors import Path, Source, from_msgspec
from dalembert.describe.toml_schema import (
    Placed,
    TomlDrive,
    TomlFrame,
    TomlInertial,
    TomlJoint,
    TomlLimit,
    TomlLink,
    TomlMimic,
    TomlRobot,
    TomlRoot,
    TomlRound,
    TomlRow,
    TomlShape,
)
from dalembert.errors import DescriptionError, unknown
from dalembert.spatial.pose import Pose
from dalembert.spatial.rotation import perpendicular
from dalembert.spatial.vector import add, cross, scale, sub

FORMAT = 1
JOINT_KINDS = (*KINDS, "fixed")


def read_toml(text: str, *, file: str | None = None) -> Description:
    """The description written in a TOML text; `file` is named in messages."""
    source = Source(text, file)
    data = _parse(source)
    _refuse_not_finite(source, data, ())
    try:
        robot = msgspec.convert(data, TomlRobot)
    except msgspec.ValidationError as error:
        raise from_msgspec(source, error) from None
    except (OverflowError, RecursionError):
        raise source.error((), "a number is too large, or tables are nested too deep") from None
    if robot.format != FORMAT:
        raise source.error(
            ("format",), f"this is format {robot.format}; this version of Dalembert reads format {FORMAT}"
        )
    return check(_Reader(source).robot(robot))


def _parse(source: Source) -> dict[str, Any]:
    try:
        return tomllib.loads(source.text)
    except RecursionError:
        raise source.error((), "tables or lists are nested too deep") from None
    except ValueError as error:  # TOMLDecodeError is one; so is an integer of too many digits
        message = str(error)
        at = re.search(r"\(at line (\d+), column (\d+)\)", message)
        place = Place(source.file, int(at[1]), int(at[2])) if at else Place(source.file)
        message = re.sub(r"\s*\(at [^)]*\)", "", message)
        raise DescriptionError(f"{place}: not valid TOML: {message}") from None


def _refuse_not_finite(source: Source, value: Any, path: Path) -> None:
    """TOML has nan and inf; a robot does not."""
    if isinstance(value, float) and not math.isfinite(value):
        raise source.error(path, f"{value} is not a finite number")
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        _refuse_not_finite(source, inner, (*path, key))


class _Reader:
    """Turns the tables of one file into parts of a description; `path` says where each stood."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def robot(self, robot: TomlRobot) -> Description:
        if (robot.dh is None) == (not robot.links):
            raise self.source.error(
                (), "give either a DH table ([[dh.rows]]) or links and joints ([[links]], [[joints]])"
            )
        description = self.from_table(robot) if robot.dh is not None else self.from_tree(robot)
        frames = [self.frame(f, ("frames", i)) for i, f in enumerate(robot.frames)]
        return Description(
            robot.name,
            (*description.links, *(link for link, _ in frames)),
            (*description.joints, *(joint for _, joint in frames)),
            robot.gravity,
            robot.tip if robot.tip is not None else description.tip,
            robot.notes,
            place=Place(self.source.file),
        )

    def from_tree(self, robot: TomlRobot) -> Description:
        links = [self.link(link, ("links", i)) for i, link in enumerate(robot.links)]
        joints = [self.joint(joint, ("joints", i)) for i, joint in enumerate(robot.joints)]
        return Description(robot.name, tuple(links), tuple(joints))

    def from_table(self, robot: TomlRobot) -> Description:
        dh = robot.dh
        assert dh is not None
        if robot.joints:
            raise self.source.error(("joints",), "a file with a DH table has its joints in [[dh.rows]]")
        convention = self.choose("DH convention", dh.convention, CONVENTIONS, ("dh", "convention"))
        if not dh.rows:
            raise self.source.error(("dh", "rows"), "the table has no rows; one row per joint is needed")
        own = {frame.name for frame in robot.frames}
        table = DHTable(
            tuple(self.row(row, ("dh", "rows", i)) for i, row in enumerate(dh.rows)),
            convention,
            base=self.origin(dh.base, ("dh", "base")),
            tool=self.origin(dh.tool, ("dh", "tool")),
            root=self.link(dh.root, ("dh", "root")),
            tip=robot.tip if robot.tip is not None and robot.tip not in own else "tool",
        )
        return tree_of(table)

    def row(self, row: TomlRow, path: Path) -> DHRow:
        kind: Any = self.choose("joint kind", row.kind, KINDS, (*path, "kind"))
        straight = kind == "prismatic"
        return DHRow(
            self.angle(row.theta, row.theta_deg, path, "theta"),
            row.d,
            row.a,
            self.angle(row.alpha, row.alpha_deg, path, "alpha"),
            kind,
            self.position(row.offset, row.offset_deg, straight, path, "offset") or 0.0,
            row.joint,
            row.link,
            self.limit(row.limit, straight, (*path, "limit")),
            self.drive(row.drive, straight, (*path, "drive")),
            self.inertial(row.inertial, (*path, "inertial")),
            self.shapes(row.shapes, (*path, "shapes")),
            self.shapes(row.collisions, (*path, "collisions")),
            self.source.place(*path),
        )

    def link(self, link: TomlLink | TomlRoot, path: Path) -> Link:
        return Link(
            link.name,
            self.inertial(link.inertial, (*path, "inertial")),
            self.shapes(link.shapes, (*path, "shapes")),
            self.shapes(link.collisions, (*path, "collisions")),
            self.source.place(*path),
        )

    def joint(self, joint: TomlJoint, path: Path) -> Joint:
        kind: JointKind = self.choose("joint kind", joint.kind, JOINT_KINDS, (*path, "kind"))
        if joint.axis is None and kind != "fixed":
            raise self.source.error(path, f"the {kind} joint {joint.name!r} needs an axis, such as [0, 0, 1]")
        straight = kind == "prismatic"
        return Joint(
            joint.name,
            kind,
            joint.parent,
            joint.child,
            self.origin(joint, path),
            joint.axis or (1.0, 0.0, 0.0),
            self.limit(joint.limit, straight, (*path, "limit")),
            self.mimic(joint.mimic, straight, (*path, "mimic")),
            self.drive(joint.drive, straight, (*path, "drive")),
            self.source.place(*path),
        )

    def frame(self, frame: TomlFrame, path: Path) -> tuple[Link, Joint]:
        place = self.source.place(*path)
        joint = Joint(
            f"{frame.name}_fixed", "fixed", frame.link, frame.name, self.origin(frame, path), place=place
        )
        return Link(frame.name, place=place), joint

    def choose(self, what: str, value: str, choices: Sequence[str], path: Path) -> Any:
        if value not in choices:
            raise self.source.error(path, str(unknown(what, value, choices)))
        return value

    def angle(self, radians: float | None, degrees: float | None, path: Path, key: str) -> float:
        value = self.position(radians, degrees, False, path, key)
        return 0.0 if value is None else value

    def position(
        self, value: float | None, degrees: float | None, straight: bool, path: Path, key: str
    ) -> float | None:
        """A joint's coordinate from `key` or `key_deg`, of which at most one may be given."""
        if degrees is None:
            return value
        if value is not None:
            raise self.source.error((*path, key), f"give {key} or {key}_deg, not both")
        if straight:
            raise self.source.error(
                (*path, f"{key}_deg"), f"a prismatic joint moves in metres; write {key} instead"
            )
        return math.radians(degrees)

    def rpy(self, rpy: Vector | None, rpy_deg: Vector | None, path: Path) -> Vector:
        if rpy_deg is None:
            return rpy or (0.0, 0.0, 0.0)
        if rpy is not None:
            raise self.source.error((*path, "rpy"), "give rpy or rpy_deg, not both")
        roll, pitch, yaw = (math.radians(a) for a in rpy_deg)
        return (roll, pitch, yaw)

    def origin(self, placed: Placed, path: Path) -> Origin:
        return Origin(placed.xyz, self.rpy(placed.rpy, placed.rpy_deg, path))

    def inertial(self, inertial: TomlInertial | None, path: Path) -> Inertial | None:
        if inertial is None:
            return None
        values = inertial.inertia or [0.0, 0.0, 0.0]
        if len(values) == 3:
            values = [values[0], 0.0, 0.0, values[1], 0.0, values[2]]
        elif len(values) != 6:
            raise self.source.error(
                (*path, "inertia"),
                f"expected 3 (diagonal) or 6 (ixx, ixy, ixz, iyy, iyz, izz) numbers, got {len(values)}",
            )
        xx, xy, xz, yy, yz, zz = values
        origin = Origin(inertial.com, self.rpy(inertial.rpy, inertial.rpy_deg, path))
        return Inertial(inertial.mass, (xx, xy, xz, yy, yz, zz), origin)

    def limit(self, limit: TomlLimit | None, straight: bool, path: Path) -> Limit | None:
        if limit is None:
            return None
        return Limit(
            self.position(limit.lower, limit.lower_deg, straight, path, "lower"),
            self.position(limit.upper, limit.upper_deg, straight, path, "upper"),
            limit.effort,
            self.position(limit.velocity, limit.velocity_deg, straight, path, "velocity"),
        )

    def drive(self, drive: TomlDrive, straight: bool, path: Path) -> Drive:
        both = drive.coulomb if isinstance(drive.coulomb, tuple) else (drive.coulomb, drive.coulomb)
        rest = self.position(drive.rest, drive.rest_deg, straight, path, "rest")
        return Drive(
            drive.rotor_inertia, drive.gear_ratio, drive.damping, both, drive.stiffness, rest or 0.0
        )

    def mimic(self, mimic: TomlMimic | None, straight: bool, path: Path) -> Mimic | None:
        if mimic is None:
            return None
        offset = self.position(mimic.offset, mimic.offset_deg, straight, path, "offset")
        return Mimic(mimic.joint, mimic.multiplier, offset or 0.0)

    def shapes(self, shapes: Sequence[TomlShape], path: Path) -> tuple[Shape, ...]:
        return tuple(self.shape(shape, (*path, i)) for i, shape in enumerate(shapes))

    def shape(self, shape: TomlShape, path: Path) -> Shape:
        kinds = ("box", "cylinder", "sphere", "capsule", "mesh")
        given = [kind for kind in kinds if getattr(shape, kind) is not None]
        if len(given) != 1:
            raise self.source.error(path, f"a shape is one of {', '.join(kinds)}; got {given or 'none'}")
        origin = self.origin(shape, path)
        geometry: Geometry
        if shape.box is not None:
            geometry = Box(shape.box)
        elif shape.sphere is not None:
            geometry = Sphere(shape.sphere.radius)
        elif shape.mesh is not None:
            geometry = Mesh(shape.mesh.file, shape.mesh.scale)
        else:
            written = shape.cylinder or shape.capsule
            assert written is not None
            length, origin = self.round(written, shape, origin, (*path, given[0]))
            geometry = (Cylinder if shape.cylinder else Capsule)(written.radius, length)
        return Shape(geometry, origin, shape.name, self.color(shape.color, path), shape.material)

    def round(
        self, written: TomlRound, shape: TomlShape, origin: Origin, path: Path
    ) -> tuple[float, Origin]:
        """Length and pose of a cylinder or capsule, which may be given from point to point."""
        ends = (written.start, written.end)
        if written.length is not None and ends == (None, None):
            return written.length, origin
        if written.length is not None or written.start is None or written.end is None:
            raise self.source.error(path, "give its length, or from and to")
        if origin != Origin() or shape.rpy is not None or shape.rpy_deg is not None:
            raise self.source.error(path, "from and to place it already; leave out xyz and rpy")
        length = math.dist(written.start, written.end)
        if length == 0:
            raise self.source.error(path, "from and to are the same point")
        z = scale(1.0 / length, sub(written.end, written.start))
        x = perpendicular(z)
        y = cross(z, x)
        middle = scale(0.5, add(written.start, written.end))
        return length, to_origin(Pose(tuple(zip(x, y, z, strict=True)), middle))

    def color(
        self, color: list[float] | str | None, path: Path
    ) -> tuple[float, float, float, float] | None:
        if color is None:
            return None
        if isinstance(color, str):
            if not re.fullmatch(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?", color):
                raise self.source.error((*path, "color"), f"{color!r} is not like '#ff8800' or '#ff8800cc'")
            color = [int(color[i : i + 2], 16) / 255 for i in range(1, len(color), 2)]
        red, green, blue, alpha = (*color, 1.0)[:4]
        return (red, green, blue, alpha)
