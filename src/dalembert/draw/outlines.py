"""Shapes as line drawings: edges of boxes, circles of cylinders, spheres and capsules, the box around a mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.describe.description import Box, Capsule, Cylinder, Mesh, Sphere
from dalembert.draw.scene import MOST_TRIANGLES, Part, look_of
from dalembert.robot import Robot

Array = NDArray[np.float64]
CIRCLE = np.linspace(0.0, 2.0 * np.pi, 49)
LINES = 4  # along a cylinder


def outlines(robot: Robot) -> list[tuple[int, list[Array]]]:
    """(body, lines (k, 3) in its frame) of every shape of the description that can be drawn. The body is −1 for the
    base. A mesh whose file is not found is left out."""
    return [
        (part.body, [line @ part.pose[:3, :3].T + part.pose[:3, 3] for line in _lines(part)])
        for part in look_of(robot, MOST_TRIANGLES).parts
        if not part.stick
    ]


def _lines(part: Part) -> list[Array]:
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
