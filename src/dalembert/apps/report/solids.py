"""Shapes as triangles: boxes, cylinders, spheres, capsules, meshes made lighter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Mesh, Sphere

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
AROUND = 24  # corners of a circle
UPWARD = 6  # rings of a half sphere


@dataclass(frozen=True, eq=False)
class Solid:
    """vertices (k, 3) [m], faces (t, 3); `outward`: whether all faces are known to be turned outwards."""

    vertices: Array
    faces: Integers
    outward: bool = True

    def moved(self, T: Array) -> Solid:
        """The same solid after a pose (4, 4); a mirror image keeps its outside outside."""
        faces = self.faces if np.linalg.det(T[:3, :3]) > 0 else self.faces[:, ::-1]
        return Solid(self.vertices @ T[:3, :3].T + T[:3, 3], faces, self.outward)


def box(size: tuple[float, float, float]) -> Solid:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float) * np.array(size) / 2
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return Solid(corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int64))


def turned(profile: list[tuple[float, float]], around: int = AROUND) -> Solid:
    """The solid of a profile (radius, z) from bottom to top, turned about z; it begins and ends on the axis."""
    angle = 2 * math.pi * np.arange(around) / around
    rings = [np.stack([r * np.cos(angle), r * np.sin(angle), np.full(around, z)], axis=-1) for r, z in profile[1:-1]]
    ends = np.array([[0.0, 0.0, profile[0][1]], [0.0, 0.0, profile[-1][1]]])
    vertices = np.concatenate([*rings, ends])
    bottom, top = len(vertices) - 2, len(vertices) - 1
    faces = []
    for k in range(around):
        n = (k + 1) % around
        faces.append((bottom, n, k))
        for ring in range(len(rings) - 1):
            a, b = ring * around, (ring + 1) * around
            faces += [(a + k, a + n, b + n), (a + k, b + n, b + k)]
        last = (len(rings) - 1) * around
        faces.append((last + k, last + n, top))
    return Solid(vertices, np.array(faces, np.int64))


def cylinder(radius: float, length: float) -> Solid:
    h = length / 2
    return turned([(0, -h), (radius, -h), (radius, h), (0, h)])


def capsule(radius: float, length: float) -> Solid:
    """A cylinder of this length with half spheres at its ends; a sphere if the length is zero."""
    h = length / 2
    steps = [math.pi / 2 * k / UPWARD for k in range(UPWARD)]
    lower = [(radius * math.sin(a), -h - radius * math.cos(a)) for a in steps]
    upper = [(r, -z) for r, z in reversed(lower)]
    middle = [(radius, -h), (radius, h)] if h > 0 else [(radius, 0.0)]
    return turned([*lower, *middle, *upper])


def between(a: Array, b: Array, radius: float) -> Solid:
    """A capsule from one point to another."""
    along = b - a
    length = float(np.linalg.norm(along))
    T = np.eye(4)
    T[:3, :3] = toward(along / length) if length > 0 else np.eye(3)
    T[:3, 3] = (a + b) / 2
    return capsule(radius, length).moved(T)


def toward(z: Array) -> Array:
    """A rotation whose third column is this unit vector."""
    helper = np.eye(3)[int(np.abs(z).argmin())]
    x = np.cross(helper, z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def solid_of(geometry: Geometry) -> Solid | None:
    """The triangles of a shape that needs no file; None of a mesh."""
    match geometry:
        case Box(size):
            return box(size)
        case Cylinder(radius, length):
            return cylinder(radius, length)
        case Sphere(radius):
            return capsule(radius, 0.0)
        case Capsule(radius, length):
            return capsule(radius, length)
        case Mesh():
            return None


def lighter(solid: Solid, most: int) -> Solid:
    """The solid with at most so many triangles: vertices in one cell of a grid become their mean, and the grid is
    made coarser until they are few."""
    if len(solid.faces) <= most:
        return solid
    low = solid.vertices.min(axis=0)
    span = float(np.ptp(solid.vertices, axis=0).max()) or 1.0
    cells = max(4.0, math.sqrt(most) * 1.5)
    while True:
        found = _clustered(solid, low, span / cells)
        if len(found.faces) <= most or cells < 3:
            return found
        cells *= 0.85


def _clustered(solid: Solid, low: Array, cell: float) -> Solid:
    place = np.floor((solid.vertices - low) / cell).astype(np.int64)
    _, number = np.unique(place @ np.array([1, 1 << 20, 1 << 40]), return_inverse=True)
    count = np.bincount(number)
    mean = np.stack([np.bincount(number, solid.vertices[:, k]) / count for k in range(3)], axis=-1)
    faces = number[solid.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (a != c)]
    # The same triangle twice (two sheets of a thin wall that fell together) is kept once.
    order = np.sort(faces, axis=1)
    _, first = np.unique(order, axis=0, return_index=True)
    return Solid(mean, faces[np.sort(first)], solid.outward)
