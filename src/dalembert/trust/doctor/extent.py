"""How far the shapes of a link reach: support values in many directions, volumes from above, and no hull.

The support h(d) = max x·d over the shapes bounds their convex hull from outside in every direction d that is looked
at, so whatever is found to lie outside does so for certain. Whatever mass the shapes enclose has, about its center of
mass and in every direction, a second moment of at most ¼ m (h(d) + h(−d))², half of it at each end  (Popoviciu 1935).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Mesh, Origin, Sphere
from dalembert.describe.mass import volume
from dalembert.spatial import Pose
from dalembert.trust.doctor.vertices import Points, sphere

DIRECTIONS = sphere(134)
OPPOSITE = np.roll(np.arange(len(DIRECTIONS)), len(DIRECTIONS) // 2)


@dataclass(frozen=True)
class Extent:
    """The reach of some shapes in the frame of their link. `volume` is never less than that of what they enclose."""

    support: NDArray[np.float64]  # h(d) for each of DIRECTIONS
    volume: float
    exact: bool  # no mesh among them: the volume is not only a bound

    @property
    def sides(self) -> NDArray[np.float64]:
        """The bounding box's edges along x, y, z [m]."""
        return (self.support + self.support[OPPOSITE])[:3]

    @property
    def size(self) -> float:
        """The bounding box's diagonal [m]."""
        return float(np.linalg.norm(self.sides))

    def beyond(self, point: NDArray[np.float64]) -> float:
        """How far outside the hull a point surely is [m]; not positive for one that may be inside."""
        return float((DIRECTIONS @ point - self.support).max())

    def largest_moments(self, slack: float) -> NDArray[np.float64]:
        """∫(x·d)² dm / m from above, for each direction, the shapes being larger by `slack` on all sides [m²]."""
        width = self.support + self.support[OPPOSITE] + 2.0 * slack
        return 0.25 * width * width


def extent(parts: Iterable[tuple[Geometry, Origin, Points | None]]) -> Extent | None:
    """The reach of shapes, each at its origin; a mesh comes with its vertices. None if there are none."""
    supports, volumes, exact = [], [], True
    for geometry, origin, points in parts:
        T = Pose.from_origin(origin.xyz, origin.rpy)
        R, p = np.array(T.R, dtype=float), np.array(T.p, dtype=float)
        supports.append(_support(geometry, points, DIRECTIONS @ R) + DIRECTIONS @ p)
        if isinstance(geometry, Mesh):
            assert points is not None
            volumes.append(_box_volume(points * np.abs(geometry.scale)))
            exact = False
        else:
            volumes.append(volume(geometry))
    if not supports:
        return None
    support = np.max(supports, axis=0)
    whole = float(np.prod((support + support[OPPOSITE])[:3]))
    return Extent(support, min(sum(volumes), whole), exact)


def together(extents: Iterable[Extent | None]) -> Extent | None:
    """The reach of all, and the larger of their volumes: visual and collision shapes stand for the same body."""
    known = [e for e in extents if e is not None]
    if not known:
        return None
    return Extent(np.max([e.support for e in known], axis=0), max(e.volume for e in known), all(e.exact for e in known))


def _support(geometry: Geometry, points: Points | None, d: NDArray[np.float64]) -> NDArray[np.float64]:
    """h(d) of a shape in its own frame; d (n, 3)."""
    match geometry:
        case Box(size):
            return np.abs(d) @ (0.5 * np.array(size))
        case Sphere(radius):
            return np.full(len(d), radius)
        case Cylinder(radius, length):
            return radius * np.hypot(d[:, 0], d[:, 1]) + 0.5 * length * np.abs(d[:, 2])
        case Capsule(radius, length):
            return radius + 0.5 * length * np.abs(d[:, 2])
        case Mesh(scale=scale):
            assert points is not None
            best: NDArray[np.float64] = ((points * np.array(scale)) @ d.T).max(axis=0)
            return best


def _box_volume(points: Points) -> float:
    """The smaller of two boxes around the points: along the axes, and along their principal directions."""
    middle = points - points.mean(axis=0)
    turned = middle @ np.linalg.eigh(middle.T @ middle)[1]
    return float(min(np.prod(np.ptp(points, axis=0)), np.prod(np.ptp(turned, axis=0))))
