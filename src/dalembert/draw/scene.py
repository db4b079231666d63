"""What a robot looks like: the parts of its scene, which the report, the studio and line drawings share.

A part is a shape on a moving body: a visual shape of the description, a collision shape where a link has no other, or a
stick where a body has nothing, or its mesh cannot be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms.kinematics import world_poses
from dalembert.arguments import Array, array
from dalembert.caching import cached_property
from dalembert.describe import mesh
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from dalembert.errors import DalembertError, DescriptionError
from dalembert.kernels import check_quaternions
from dalembert.model import Frame
from dalembert.robot import Robot
from dalembert.spatial import Pose
from dalembert.units import position_units

if TYPE_CHECKING:
    from dalembert.collision import Contact, World

MOST_TRIANGLES = 2_000_000  # of one mesh that is read at all
ENOUGH_TRIANGLES = 20_000  # of one mesh that is shown: a page turns a dozen of them
TOUCHING_COLOR, OBSTACLE_COLOR = "#e21e1e", "#e8a33d"
BASE_COLOR, PLAIN_COLOR, JOINT_COLOR = "#5b6068", "#aab0b9", "#3a3f47"
LINK_COLORS = ("#2f6fb0", "#e8a33d", "#1d9a74", "#b8478f")
AROUND = 24  # corners of a circle
UPWARD = 6  # rings of a half sphere
STRETCHED = 0.03  # σ/σ̄ below which home is no posture to look at
CANDIDATES = 600
EDGE = 0.08  # of a joint's range, that a posture to look at keeps from its ends
AWAY_FROM_HOME = 0.12  # of σ/σ̄, per rad (or arm length) that a joint is moved from home


# -------------------------------------------------------------------------------------------------------- triangles
@dataclass(frozen=True, eq=False)
class Solid:
    """vertices (k, 3) [m], faces (t, 3); `outward`: whether all faces are known to be turned outwards."""

    vertices: Array
    faces: NDArray[np.int64]
    outward: bool = True

    def move(self, T: Array) -> Solid:
        """The same solid after a pose (4, 4); a mirror image keeps its outside outside."""
        faces = self.faces if np.linalg.det(T[:3, :3]) > 0 else self.faces[:, ::-1]
        return Solid(self.vertices @ T[:3, :3].T + T[:3, 3], faces, self.outward)

    def simplify(self, most: int) -> Solid:
        """Return the solid with at most so many triangles: vertices are merged on a grid that is made coarser until
        they are few."""
        span = float(np.ptp(self.vertices, axis=0).max()) or 1.0
        cells = max(4.0, math.sqrt(most) * 1.5)
        found = self
        while len(found.faces) > most and cells > 3 * 0.85:
            found = self.merge_vertices(span / cells)
            cells *= 0.85
        return found

    def merge_vertices(self, cell: float) -> Solid:
        """Return the solid whose vertices in one cell of a grid [m] are replaced by their mean."""
        place = np.floor((self.vertices - self.vertices.min(axis=0)) / cell).astype(np.int64)
        _, number = np.unique(place @ np.array([1, 1 << 20, 1 << 40]), return_inverse=True)
        count = np.bincount(number)
        mean = np.stack([np.bincount(number, self.vertices[:, k]) / count for k in range(3)], axis=-1)
        faces = number[self.faces]
        a, b, c = faces.T
        faces = faces[(a != b) & (b != c) & (a != c)]
        # The same triangle twice (two sheets of a thin wall that fell together) is kept once.
        _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
        return Solid(mean, faces[np.sort(first)], self.outward)


def triangulate(geometry: Geometry) -> Solid:
    """The triangles of a shape that needs no file."""
    match geometry:
        case Box(size):
            corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
            quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
            faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
            return Solid(corners * np.array(size) / 2, np.array(faces, np.int64))
        case Cylinder(radius, length):
            h = length / 2
            return _revolve([(0, -h), (radius, -h), (radius, h), (0, h)])
        case Sphere(radius):
            return _capsule(radius, 0.0)
        case Capsule(radius, length):
            return _capsule(radius, length)
        case Mesh(filename):
            raise DescriptionError(f"the mesh {filename!r} is in a file of its own")


def _capsule(radius: float, length: float) -> Solid:
    """A cylinder of this length with half spheres at its ends; a sphere if the length is zero."""
    h = length / 2
    steps = [math.pi / 2 * k / UPWARD for k in range(UPWARD)]
    lower = [(radius * math.sin(a), -h - radius * math.cos(a)) for a in steps]
    upper = [(r, -z) for r, z in reversed(lower)]
    middle = [(radius, -h), (radius, h)] if h > 0 else [(radius, 0.0)]
    return _revolve([*lower, *middle, *upper])


def _revolve(profile: list[tuple[float, float]]) -> Solid:
    """The solid of a profile (radius, z) from bottom to top, turned about z; it begins and ends on the axis."""
    angle = 2 * math.pi * np.arange(AROUND) / AROUND
    rings = [np.stack([r * np.cos(angle), r * np.sin(angle), np.full(AROUND, z)], axis=-1) for r, z in profile[1:-1]]
    ends = np.array([[0.0, 0.0, profile[0][1]], [0.0, 0.0, profile[-1][1]]])
    vertices = np.concatenate([*rings, ends])
    bottom, top = len(vertices) - 2, len(vertices) - 1
    faces = []
    for k in range(AROUND):
        n = (k + 1) % AROUND
        faces.append((bottom, n, k))
        for ring in range(len(rings) - 1):
            a, b = ring * AROUND, (ring + 1) * AROUND
            faces += [(a + k, a + n, b + n), (a + k, b + n, b + k)]
        last = (len(rings) - 1) * AROUND
        faces.append((last + k, last + n, top))
    return Solid(vertices, np.array(faces, np.int64))


# ------------------------------------------------------------------------------------------------------------ parts
@dataclass(frozen=True, eq=False)
class DrawnPart:
    """A shape fixed on a body (−1: the base), placed by `pose` (4, 4) in the body's frame; its color as #rrggbb, and
    its opacity, 1 if None. `mesh` has the triangles of a mesh. A `stick` stands for a link without a shape. A `rail` is
    the bar between the frame of a prismatic joint at q = 0 and the body. `place_part` stretches it from unit length."""

    body: int
    geometry: Geometry
    pose: Array
    color: str
    opacity: float | None = None
    mesh: Solid | None = None
    stick: bool = False
    rail: bool = False

    @cached_property
    def solid(self) -> Solid:
        """Its triangles, in the body's frame."""
        return (self.mesh or triangulate(self.geometry)).move(self.pose)


@dataclass(frozen=True)
class Look:
    """All parts of a robot, and in sentences what could not be drawn as it is described."""

    parts: tuple[DrawnPart, ...]
    notes: tuple[str, ...]


def look_of(robot: Robot, triangles: int = ENOUGH_TRIANGLES, package_dirs: Sequence[str | PathLike[str]] = ()) -> Look:
    """What to draw of a robot, a mesh with at most so many triangles."""
    parts: list[DrawnPart] = []
    notes: list[str] = []
    for frame, shape in shapes_of(robot):
        try:
            solid = read_mesh(robot, shape.geometry, package_dirs) if isinstance(shape.geometry, Mesh) else None
        except (DalembertError, OSError) as error:
            notes.append(f"a stick stands for a mesh: {error}")
            continue
        color, opacity = (BASE_COLOR if frame.body < 0 else PLAIN_COLOR), None
        if shape.color is not None:
            *rgb, alpha = (min(max(c, 0.0), 1.0) for c in shape.color)
            color = "#" + "".join(f"{round(255 * c):02x}" for c in rgb)
            opacity = alpha if alpha < 1 else None
        T = matrix_of(frame.pose) @ matrix_of(Pose.from_origin(shape.origin.xyz, shape.origin.rpy))
        parts.append(DrawnPart(frame.body, shape.geometry, T, color, opacity, solid and solid.simplify(triangles)))
    have = {part.body for part in parts}
    more = [] if have >= set(range(len(robot.model.bodies))) else [p for p in _sticks(robot) if p.body not in have]
    return Look((*parts, *more), tuple(dict.fromkeys(notes)))


def bodies_touching(robot: Robot, contacts: Iterable[Contact]) -> set[int]:
    """The bodies (−1: the base) of links that touch something."""
    links = {frame.name: frame.body for frame in robot.model.frames}
    return {links[name] for c in contacts for name in (c.first, c.second) if name in links}


def obstacle_parts(world: World) -> tuple[DrawnPart, ...]:
    """The solids of a world; half-spaces have no end and are not drawn."""
    return tuple(
        DrawnPart(-1, shape, T, OBSTACLE_COLOR)
        for obstacle in world.obstacles
        if obstacle.kind != "half_spaces"
        for shape, T in (_obstacle(obstacle.kind, row) for row in obstacle.rows)
    )


def _obstacle(kind: str, row: Array) -> tuple[Geometry, Array]:
    """The shape of a row of `collision.world`, and its pose (4, 4)."""
    x, T = row.tolist(), np.eye(4)
    T[:3, 3] = row[:3]
    if kind == "spheres":
        return Sphere(x[3]), T
    if kind == "boxes":
        T[:3, :3] = row[3:12].reshape(3, 3)
        return Box((2 * x[12], 2 * x[13], 2 * x[14])), T
    if kind == "cylinders":
        return Cylinder(x[7], 2 * x[6]), place_along(row[3:6], row[:3])
    way = row[3:6] - row[:3]
    length = float(np.linalg.norm(way))
    axis = way / length if length else np.array([0.0, 0.0, 1.0])
    return Capsule(x[6], length), place_along(axis, 0.5 * (row[:3] + row[3:6]))


def shapes_of(robot: Robot) -> Iterator[tuple[Frame, Shape]]:
    """(frame of its link, shape): the visual ones, or where a link has none those of its collisions."""
    for link in robot.description.links:
        for shape in link.visuals or link.collisions:
            yield robot.model.frame(link.name), shape


def read_mesh(robot: Robot, geometry: Mesh, package_dirs: Sequence[str | PathLike[str]] = ()) -> Solid:
    """The triangles of a mesh, from a file that is looked for beside the description and in packages."""
    source = robot.description.place.file
    folder = Path(source.removesuffix(" (expanded)")).resolve().parent if source else Path.cwd()
    vertices, faces = mesh.read(mesh.resolve(geometry.filename, folder, package_dirs))
    faces = faces if len(faces) else mesh.hull(vertices)
    name = geometry.filename
    if len(faces) > MOST_TRIANGLES:
        raise DescriptionError(f"the mesh {name!r} has {len(faces)} triangles, more than {MOST_TRIANGLES} to show")
    if not np.isfinite(vertices).all():
        raise DescriptionError(f"the mesh {name!r} has a vertex that is not finite")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise DescriptionError(f"the mesh {name!r} names a vertex that it does not have")
    return Solid(vertices * np.array(geometry.scale), faces, outward=False)


def _sticks(robot: Robot) -> Iterator[DrawnPart]:
    """Every body as bars from its joint to the next ones and to its tip, and every joint as a drum along its axis, or
    a block that slides."""
    model = robot.model
    ends: dict[int, list[Array]] = {k: [] for k in range(-1, len(model.bodies))}
    for body in model.bodies:
        ends[body.parent].append(np.array(body.placement.p, float))
    for name in model.tips or (model.tip,):
        if name is not None:
            frame = model.frame(name)
            ends[frame.body].append(np.array(frame.pose.p, float))
    size = sum(float(np.linalg.norm(p)) for points in ends.values() for p in points) or 1.0
    thick = 0.018 * size
    for k, points in ends.items():
        color = BASE_COLOR if k < 0 else LINK_COLORS[k % len(LINK_COLORS)]
        for p in points:
            length = float(np.linalg.norm(p))
            if length > 1e-3 * thick:
                yield DrawnPart(k, Capsule(0.6 * thick, length), place_along(p / length, p / 2), color, stick=True)
    for k, body in enumerate(model.bodies):
        shape = Cylinder(1.25 * thick, 3.4 * thick) if body.joint.turns else Cylinder(thick, 5.0 * thick)
        yield DrawnPart(k, shape, place_along(np.array(body.joint.axis, float)), JOINT_COLOR, stick=True)
        if body.joint.travel and body.joint.nv == 1:
            color, upward = LINK_COLORS[k % len(LINK_COLORS)], place_along(np.array([0.0, 0.0, 1.0]), (0.0, 0.0, 0.5))
            yield DrawnPart(k, Cylinder(0.6 * thick, 1.0), upward, color, stick=True, rail=True)


# ------------------------------------------------------------------------------------------------------------ poses
def place_along(z: Array, p: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """A pose (4, 4) at p whose third axis is this unit vector."""
    x = np.cross(np.eye(3)[int(np.abs(z).argmin())], z)
    x /= np.linalg.norm(x)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.stack([x, np.cross(z, x), z], axis=-1), p
    return T


def matrix_of(pose: Pose) -> Array:
    """A model's pose as (4, 4)."""
    return np.array(pose.matrix(), float)


def body_poses(robot: Robot, q: ArrayLike) -> Array:
    """Poses of all bodies in the base frame, the base itself last, so that −1 finds it, (bodies + 1, 4, 4)."""
    found = world_poses(robot.model, np.asarray(q, float).tolist())
    return np.stack([*(matrix_of(found[k]) for k in range(len(robot.model.bodies))), np.eye(4)])


def place_part(robot: Robot, poses: Array, part: DrawnPart) -> Array:
    """Return where a part is at these poses of all bodies, (4, 4): a rail is stretched along its third axis."""
    if not part.rail:
        return np.asarray(poses[part.body])
    body = robot.model.bodies[part.body]
    start = poses[body.parent] @ np.append(np.array(body.placement.p, float), 1.0)
    axis = poses[part.body][:3, :3] @ np.array(body.joint.axis, float)
    end = poses[part.body][:3, 3]
    travel = float(axis @ (end - start[:3]))
    T = place_along(axis, start[:3] if travel > 0 else end)
    T[:3, 2] *= abs(travel)
    return T


def corners_of(robot: Robot, parts: Iterable[DrawnPart], q: ArrayLike) -> Array:
    """The corners of all that is drawn, and the origins of the bodies, in the base frame, (k, 3)."""
    poses = body_poses(robot, q)
    placed = [(part.solid.vertices, place_part(robot, poses, part)) for part in parts]
    corners = [vertices @ T[:3, :3].T + T[:3, 3] for vertices, T in placed]
    return np.concatenate([*corners, poses[:, :3, 3]])


def up_of(robot: Robot) -> Array:
    """Against gravity; z where there is none."""
    size = np.linalg.norm(robot.gravity)
    return np.asarray(-robot.gravity / size) if size > 0 else np.array([0.0, 0.0, 1.0])


def joint_axes(robot: Robot) -> tuple[list[Array], list[Array]]:
    """At q = 0, in the base frame: the axes of the joints that turn, and of those that travel."""
    axes = [
        (body.joint, T[:3, :3] @ np.array(body.joint.axis, float))
        for body, T in zip(robot.model.bodies, body_poses(robot, robot.neutral), strict=False)
    ]
    lone = [(joint, a) for joint, a in axes if joint.nv == 1]
    return [a for joint, a in lone if joint.turns], [a for joint, a in lone if joint.travel]


# --------------------------------------------------------------------------------------------------------- postures
def read_posture(robot: Robot, q: ArrayLike) -> Array:
    """Positions (nq,) that somebody gave, their quaternions of length one."""
    meaning = "one per joint" if robot.model.curved is None else ", ".join(robot.model.names("position"))
    found = array("q", q, (robot.nq,), meaning=meaning)
    check_quaternions(robot.model, "q", found)
    return found


def posture(robot: Robot) -> Array:
    """Home, unless it is (nearly) singular, as a stretched arm is: then the best of seeded postures near to it."""
    if not robot.nv or robot.model.curved or robot.loops or robot.tip is None:
        return robot.home
    try:
        if float(robot.singularities(robot.home).closeness) > STRETCHED:
            return robot.home
        low, high = np.array(drawn_limits(robot)).T
        low, high = low + EDGE * (high - low), high - EDGE * (high - low)
        reach = np.minimum(np.where([c.joint.turns for c in robot.model.coordinates], 1.4, np.inf), high - low)
        rng = np.random.default_rng(0)
        q = np.clip(robot.home + rng.uniform(-1, 1, (CANDIDATES, robot.n)) * reach, low, high)
        close = robot.singularities(q).closeness
        away = np.linalg.norm((q - robot.home) / (1 + reach), axis=-1)
        score = close / max(float(close.max()), 1e-12) - AWAY_FROM_HOME * away + 0.25 * _height(robot, q)
        return np.asarray(np.round(q[int(np.argmax(score))], 2))
    except DalembertError:
        return robot.home


def _height(robot: Robot, q: Array) -> Array:
    """How far the tip is lifted against gravity, in parts of the most that these postures lift it: arms are looked at
    above their base."""
    g = robot.gravity
    if not np.linalg.norm(g):
        return np.zeros(len(q))
    lifted = -(np.asarray(robot.fk(q))[:, :3, 3] @ g) / np.linalg.norm(g)
    span = float(np.ptp(lifted))
    return np.asarray((lifted - lifted.min()) / span) if span > 1e-9 else np.zeros(len(q))


def drawn_limits(robot: Robot) -> list[tuple[float, float]]:
    """Ranges of the sliders: the limits, half a turn or an arm's length where there are none."""
    out = []
    lower, upper = robot.limits.lower.tolist(), robot.limits.upper.tolist()
    units = position_units(robot.model)
    own = [c.joint for c in robot.model.coordinates for _ in range(c.joint.nq)]
    ranges = [math.pi if j.nq > 1 and unit == "rad" else j.half_range for j, unit in zip(own, units, strict=True)]
    for free, low, high in zip(ranges, lower, upper, strict=True):
        low = low if math.isfinite(low) else min(-free, high - 2 * free)
        high = high if math.isfinite(high) else max(free, low + 2 * free)
        out.append((low, high))
    return out
