"""The parts of a robot file, table by table: links, joints, DH rows, inertias, drives, shapes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.describe.description import (
    JOINT_KINDS,
    LOOP_KINDS,
    Box,
    Capsule,
    Cylinder,
    Drive,
    Geometry,
    Inertial,
    Joint,
    Limit,
    Link,
    Loop,
    Mesh,
    Mimic,
    Origin,
    Shape,
    Sphere,
    Vector,
)
from dalembert.describe.dh import KINDS, DHRow
from dalembert.describe.toml_errors import Path, Source
from dalembert.describe.toml_schema import (
    Placed,
    TomlDrive,
    TomlFrame,
    TomlFriction,
    TomlInertial,
    TomlJoint,
    TomlLimit,
    TomlLink,
    TomlLoop,
    TomlMimic,
    TomlRobot,
    TomlRoot,
    TomlRound,
    TomlRow,
    TomlShape,
)
from dalembert.errors import InputError, UnknownNameError, unknown
from dalembert.friction.laws import Friction, friction
from dalembert.joints import JOINTS
from dalembert.spatial.vector import add, scale


@dataclass(frozen=True)
class Parts:
    """Turns tables of the schema into parts of a description; `path` says where each stood."""

    source: Source

    def row(self, row: TomlRow, path: Path) -> DHRow:
        kind: Any = self.choose("joint kind", row.kind, KINDS, (*path, "kind"))
        straight = kind in JOINTS and not JOINTS[kind].turns
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
        kind = self.choose("joint kind", joint.kind, JOINT_KINDS, (*path, "kind"))
        if joint.axis is None and kind != "fixed":
            raise self.source.error(path, f"the {kind} joint {joint.name!r} needs an axis, such as [0, 0, 1]")
        straight = kind in JOINTS and not JOINTS[kind].turns
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
            joint.pitch,
        )

    def frame(self, frame: TomlFrame, path: Path) -> tuple[Link, Joint]:
        place = self.source.place(*path)
        joint = Joint(f"{frame.name}_fixed", "fixed", frame.link, frame.name, self.origin(frame, path), place=place)
        return Link(frame.name, place=place), joint

    def loop(self, loop: TomlLoop, path: Path) -> Loop:
        return Loop(
            loop.name if loop.name is not None else f"loop{int(path[-1]) + 1}",
            self.choose("kind of loop", loop.kind, LOOP_KINDS, (*path, "kind")),
            loop.first,
            loop.second,
            Origin(loop.first_xyz, self.rpy(loop.first_rpy, loop.first_rpy_deg, path, "first_rpy")),
            Origin(loop.second_xyz, self.rpy(loop.second_rpy, loop.second_rpy_deg, path, "second_rpy")),
            loop.axis,
            loop.length,
            self.source.place(*path),
        )

    def home(self, robot: TomlRobot, joints: Sequence[Joint]) -> tuple[tuple[str, float], ...]:
        """The positions in `home` (rad, m), then those in `home_deg`."""
        sliding = {joint.name for joint in joints if joint.kind != "fixed" and not joint.turns}
        names = [joint.name for joint in joints if joint.kind != "fixed"]
        for key, written in (("home", robot.home), ("home_deg", robot.home_deg)):
            for name in written:
                self.choose("joint", name, names, (key, name))
        for name in robot.home_deg:
            if name in robot.home:
                raise self.source.error(("home_deg", name), f"joint {name!r} stands in home too; keep one")
            if name in sliding:
                raise self.source.error(("home_deg", name), "a prismatic joint moves in meters; write home instead")
        return (*robot.home.items(), *((name, math.radians(x)) for name, x in robot.home_deg.items()))

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
            raise self.source.error((*path, f"{key}_deg"), f"a prismatic joint moves in meters; write {key} instead")
        return math.radians(degrees)

    def rpy(self, rpy: Vector | None, rpy_deg: Vector | None, path: Path, key: str = "rpy") -> Vector:
        if rpy_deg is None:
            return rpy or (0.0, 0.0, 0.0)
        if rpy is not None:
            raise self.source.error((*path, key), f"give {key} or {key}_deg, not both")
        roll, pitch, yaw = (math.radians(a) for a in rpy_deg)
        return (roll, pitch, yaw)

    def origin(self, placed: Placed, path: Path) -> Origin:
        return Origin(placed.xyz, self.rpy(placed.rpy, placed.rpy_deg, path))

    def inertial(self, inertial: TomlInertial | None, path: Path) -> Inertial | None:
        if inertial is None:
            return None
        values = [0.0, 0.0, 0.0] if inertial.inertia is None else inertial.inertia
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
        terms = tuple(self.friction(term, (*path, "friction", i)) for i, term in enumerate(drive.friction))
        return Drive(drive.rotor_inertia, drive.gear_ratio, drive.damping, both, drive.stiffness, rest or 0.0, terms)

    def friction(self, term: TomlFriction, path: Path) -> Friction:
        written = {key: getattr(term, key) for key in term.__struct_fields__ if getattr(term, key) is not None}
        try:
            return friction(**written)
        except (InputError, UnknownNameError) as error:
            raise self.source.error(path, str(error)) from None

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

    def round(self, written: TomlRound, shape: TomlShape, origin: Origin, path: Path) -> tuple[float, Origin]:
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
        x, y, z = (b - a for a, b in zip(written.start, written.end, strict=True))
        middle = scale(0.5, add(written.start, written.end))
        # Rz(yaw) Ry(pitch) turns z into the direction with these spherical angles.
        yaw, pitch = math.atan2(y, x), math.atan2(math.hypot(x, y), z)
        return length, Origin((middle[0], middle[1], middle[2]), (0.0, pitch, yaw))

    def color(self, color: list[float] | str | None, path: Path) -> tuple[float, float, float, float] | None:
        if color is None:
            return None
        if isinstance(color, str):
            if not re.fullmatch(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?", color):
                raise self.source.error((*path, "color"), f"{color!r} is not like '#ff8800' or '#ff8800cc'")
            color = [int(color[i : i + 2], 16) / 255 for i in range(1, len(color), 2)]
        if len(color) not in (3, 4):
            raise self.source.error((*path, "color"), f"expected 3 or 4 numbers, got {len(color)}")
        red, green, blue, alpha = (*color, 1.0)[:4]
        return (red, green, blue, alpha)
