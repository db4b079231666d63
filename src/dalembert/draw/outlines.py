"""Shapes as line drawings: edges of boxes, circles of cylinders, spheres and capsules, the box around a mesh."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.describe import mesh
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.spatial import Pose

Array = NDArray[np.float64]
CIRCLE = np.linspace(0.0, 2.0 * np.pi, 49)
LINES = 4  # along a cylinder


def outlines(robot: Robot) -> list[tuple[int, list[Array]]]:
    """(body, lines (k, 3) in its frame) of every shape that can be drawn: visual ones, or where a link has none those
    of its collisions. The body is −1 for the base. A mesh whose file is not found is left out."""
    links = {link.name: link for link in robot.description.links}
    folder = Path(robot.description.place.file).parent if robot.description.place.file else None
    found = []
    for frame in robot.model.frames:
        link = links[frame.name]
        for shape in link.visuals or link.collisions:
            own = _lines(shape.geometry, folder)
            if own:
                T = np.array((frame.pose @ _pose(shape)).matrix(), float)
                found.append((frame.body, [line @ T[:3, :3].T + T[:3, 3] for line in own]))
    return found


def _pose(shape: Shape) -> Pose:
    return Pose.from_origin(shape.origin.xyz, shape.origin.rpy)


def _lines(geometry: Geometry, folder: Path | None) -> list[Array]:
    match geometry:
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
            return _mesh(geometry, folder)


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


def _mesh(geometry: Mesh, folder: Path | None) -> list[Array]:
    if folder is None:
        return []
    try:
        vertices, _ = mesh.read(mesh.resolve(geometry.filename, folder))
    except (DalembertError, OSError):
        return []
    scaled = np.asarray(vertices) * np.array(geometry.scale)
    return _box(scaled.min(axis=0), scaled.max(axis=0))
