"""A robot at a state as points and lines, before anything is drawn: joints, links, tips, outlines of its shapes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array
from dalembert.describe.description import Box, Capsule, Cylinder, Mesh, Sphere
from dalembert.draw.scene import MOST_TRIANGLES, DrawnPart, body_poses, joint_axes, look_of, matrix_of
from dalembert.errors import InputError
from dalembert.kernels import check_quaternions
from dalembert.robot import Robot

PARALLEL = 1e-9  # of a unit vector: what is nearer than this is along an axis
CIRCLE = np.linspace(0.0, 2.0 * np.pi, 49)
LINES = 4  # along a cylinder


@dataclass(frozen=True, eq=False)
class Skeleton:
    """In the base frame [m]: `joints` (k, 3) with `slides` (k,); `links`, lines (m, 3) each, and `rails` (2, 3), the
    part of a line along which a joint has slid; `centers` (b, 3) of the bodies that have mass, `center` (3,) of all of
    them, or None; `tips` by name (4, 4); `bodies` (k + 1, 4, 4), base last; `closures` (l, 3), where loops close."""

    joints: Array
    slides: NDArray[np.bool_]
    links: tuple[Array, ...]
    rails: tuple[Array, ...]
    centers: Array
    center: Array | None
    tips: dict[str, Array]
    bodies: Array
    closures: Array

    @property
    def points(self) -> Array:
        """All that must be seen."""
        ends = [T[None, :3, 3] for T in self.tips.values()]
        return np.concatenate([np.zeros((1, 3)), self.joints, *ends, self.closures])

    @property
    def size(self) -> float:
        """The largest extent [m], at least a centimeter."""
        return max(float(np.ptp(self.points, axis=0).max()), 0.01)


def states(robot: Robot, q: ArrayLike | None) -> Array:
    """Joint positions as users give them, (k, n): one state, or several to be drawn into one picture."""
    x = robot.home if q is None else array("q", q)
    if x.ndim not in (1, 2) or x.shape[-1] != robot.nq or (x.ndim == 2 and not len(x)):
        raise InputError(f"q has shape {x.shape}; it must be ({robot.nq},), or (k, {robot.nq}) for several states")
    check_quaternions(robot.model, "q", x)
    return np.atleast_2d(x)


def skeleton(robot: Robot, q: Array, frame: str | None = None) -> Skeleton:
    """At one state (n,); the tips are those of the robot, or one frame."""
    model = robot.model
    T = body_poses(robot, q)  # the base is the last, −1
    links, rails = [], []
    for k, body in enumerate(model.bodies):
        carrier = T[body.parent]
        at_zero = carrier[:3, :3] @ np.array(body.placement.p, float) + carrier[:3, 3]
        links.append(np.stack([carrier[:3, 3], at_zero]))
        if body.joint.travel and body.joint.nv == 1:
            rails.append(np.stack([at_zero, T[k, :3, 3]]))
    names = (frame,) if frame is not None else (model.tip,) if model.tip is not None else model.tips
    tips = {}
    for name in names:
        found = model.frame(name)
        carrier = T[found.body]
        tips[found.name] = carrier @ matrix_of(found.pose)
        links.append(np.stack([carrier[:3, 3], tips[found.name][:3, 3]]))
    closures = []
    for loop in model.loops:
        for end in (loop.first, loop.second):
            carrier = T[end.body]
            point = carrier[:3, :3] @ np.array(end.pose.p, float) + carrier[:3, 3]
            links.append(np.stack([carrier[:3, 3], point]))
            closures.append(point)
    heavy = [k for k, body in enumerate(model.bodies) if body.inertia.m > 0]
    own = [T[k] @ np.append(np.array(model.bodies[k].inertia.com(), float), 1.0) for k in heavy]
    centers = np.array([c[:3] for c in own]).reshape(-1, 3)
    masses = np.array([float(model.bodies[k].inertia.m) for k in heavy])
    return Skeleton(
        T[:-1, :3, 3],
        np.array([not body.joint.turns for body in model.bodies], bool),
        tuple(link for link in links if np.ptp(link, axis=0).max() > 0),
        tuple(rails),
        centers,
        masses @ centers / masses.sum() if len(masses) else None,
        tips,
        T,
        np.array(closures).reshape(-1, 3),
    )


def plane_of(robot: Robot) -> tuple[int, int] | None:
    """The coordinates (0, 1, 2 for x, y, z) of the plane that a planar arm moves in, or None: all turns about one axis
    of the base, all slides across it."""
    normals, across = joint_axes(robot)
    for normal in (2, 1, 0):
        turns = all(1 - abs(a[normal]) < PARALLEL for a in normals)
        if turns and all(abs(a[normal]) < PARALLEL for a in across) and (normals or across):
            first, second = (k for k in range(3) if k != normal)
            return first, second
    return None


def outlines(robot: Robot) -> list[tuple[int, list[Array]]]:
    """(body, lines (k, 3) in its frame) of every shape of the description that can be drawn. The body is −1 for the
    base. A mesh whose file is not found is left out."""
    return [
        (part.body, [line @ part.pose[:3, :3].T + part.pose[:3, 3] for line in _lines(part)])
        for part in look_of(robot, MOST_TRIANGLES).parts
        if not part.stick
    ]


def _lines(part: DrawnPart) -> list[Array]:
    match part.geometry:
        case Box(size):
            half = np.array(size, float) / 2
            return _box(-half, half)
        case Cylinder(radius, length):
            return _cylinder(radius, length)
        case Sphere(radius):
            return [_circle(radius, k) for k in range(3)]
        case Capsule(radius, length):
            arcs = [_arc(radius, length / 2, k, side) for k in range(2) for side in (1.0, -1.0)]
            return [*_cylinder(radius, length), *arcs]
        case Mesh():
            assert part.mesh is not None
            return _box(part.mesh.vertices.min(axis=0), part.mesh.vertices.max(axis=0))


def _circle(radius: float, normal: int, height: float = 0.0) -> Array:
    """A circle across one axis."""
    out = np.empty((len(CIRCLE), 3))
    a, b = (k for k in range(3) if k != normal)
    out[:, a], out[:, b], out[:, normal] = radius * np.cos(CIRCLE), radius * np.sin(CIRCLE), height
    return out


def _cylinder(radius: float, length: float) -> list[Array]:
    half = length / 2
    sides = []
    for angle in np.arange(LINES) * 2 * np.pi / LINES:
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        sides.append(np.array([[x, y, -half], [x, y, half]]))
    return [_circle(radius, 2, -half), _circle(radius, 2, half), *sides]


def _arc(radius: float, half: float, plane: int, side: float) -> Array:
    """Half a circle over one end, in the x–z or y–z plane."""
    angle = np.linspace(0.0, np.pi, 25)
    out = np.zeros((len(angle), 3))
    out[:, plane], out[:, 2] = radius * np.cos(angle), side * (half + radius * np.sin(angle))
    return out


def _box(low: Array, high: Array) -> list[Array]:
    corner = [np.where(np.array([(k >> j) & 1 for j in range(3)], bool), high, low) for k in range(8)]
    return [np.stack([corner[a], corner[a ^ bit]]) for a in range(8) for bit in (1, 2, 4) if not a & bit]
