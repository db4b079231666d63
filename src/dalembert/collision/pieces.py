"""A robot's links as few convex pieces that enclose their shapes.

A piece is the convex hull of its corners, grown by a radius: a sphere is one corner, a capsule two, a box eight. A
mesh is cut by planes where that saves most of the volume of the hulls. A solid that a plane cuts lies in the hulls of
both halves of its surface, so the pieces enclose a mesh and its inside, and no cut needs a cap or a closed mesh.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import array, number
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Sphere
from dalembert.errors import InputError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
MAX_PIECES = 12  # of a mesh
MIN_SAVED = 3e-4  # [m] volume that a cut must save, per area of the mesh's hull
SLOTS = 6  # a cut is looked for at the inner ends of so many equal slots of each axis
MIN_CUT_LENGTH = 0.02  # [m] a part that is shorter along an axis is not cut across it
MIN_SNAP, SNAP = 1e-3, 2e-2  # [m, of the mesh's size] to which corners are rounded while places for a cut are compared
MAX_CORNERS, PLANES = 128, 64  # a hull with more corners is replaced by one of so many planes around it
LARGEST_FACES = 12  # planes that are kept first
SIDES = 32  # of the prism around a cylinder


@dataclass(frozen=True, eq=False)
class Pieces:
    """K convex pieces: the coarse sphere of the link that each belongs to (K,), in rising order, the first of its
    corners (K + 1,), the corners in the frame of the body [m] (N, 3), the radius by which the hull of the corners is
    grown [m] (K,); and how far pieces reach beyond the shapes of each link at most [m] (links,)."""

    link: Indices
    first: Indices
    corners: Array
    radius: Array
    overestimate: Array

    def __len__(self) -> int:
        return len(self.link)

    def of(self, piece: int) -> Array:
        """The corners of one piece."""
        return self.corners[self.first[piece] : self.first[piece + 1]]

    def corners_of(self, link: int) -> Array:
        """All corners of a link."""
        a, b = self.ends(link)
        return self.corners[self.first[a] : self.first[b]]

    @staticmethod
    def none() -> Pieces:
        """No pieces."""
        return Pieces.make([], np.zeros(0))

    def rows(self) -> dict[str, object]:
        """As text holds them."""
        corners = [self.of(k).tolist() for k in range(len(self))]
        pieces = [
            {"link": link, "radius": radius, "corners": own}
            for link, radius, own in zip(self.link.tolist(), self.radius.tolist(), corners, strict=True)
        ]
        return {"overestimate": self.overestimate.tolist(), "pieces": pieces}

    @staticmethod
    def read(text: Any, links: int) -> Pieces:
        """Of what `rows` gave."""
        if not text or not text["pieces"]:
            return Pieces.none()
        over = array("overestimate", text["overestimate"], (links,), least=0.0)
        parts = []
        for piece in text["pieces"]:
            if not 0 <= piece["link"] < links:
                raise InputError(
                    "wrong-value",
                    "piece",
                    piece["link"],
                    problem=f"a piece belongs to coarse sphere {piece['link']}: there are {links}, from 0",
                )
            radius = number("radius", piece["radius"], "m", least=0.0)
            parts.append((int(piece["link"]), array("corners", piece["corners"], (None, 3)), radius))
        return Pieces.make(parts, over)

    def ends(self, link: int) -> tuple[int, int]:
        """The first piece of a link and the one after its last."""
        return int(np.searchsorted(self.link, link)), int(np.searchsorted(self.link, link, side="right"))

    @property
    def reach(self) -> float:
        """How far pieces reach beyond the shapes of any link at most [m]."""
        return float(self.overestimate.max(initial=0.0))

    @property
    def balls(self) -> Array:
        """(K, 4): the middle of the corners of each piece, and the radius of the ball around it that holds them."""
        found = np.zeros((len(self), 4))
        for k in range(len(self)):
            x = self.of(k)
            found[k, :3] = x.mean(axis=0)
            found[k, 3] = np.linalg.norm(x - found[k, :3], axis=1).max() * (1 + 1e-6) + self.radius[k]
        return found

    @staticmethod
    def make(parts: Sequence[tuple[int, Array, float]], overestimate: Array) -> Pieces:
        """Of parts (link, corners, radius)."""
        parts = sorted(parts, key=lambda part: part[0])
        counts = [len(corners) for _, corners, _ in parts]
        return Pieces(
            np.array([link for link, _, _ in parts], np.int64),
            np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            np.concatenate((np.zeros((0, 3)), *(corners for _, corners, _ in parts))),
            np.array([radius for _, _, radius in parts], float),
            overestimate,
        )


Piece = tuple[Array, float]  # corners and radius


def pieces_of(geometry: Geometry) -> tuple[list[Piece], float]:
    """Return the pieces of a primitive shape, in its frame, and how far they reach beyond it [m]."""
    match geometry:
        case Sphere(radius):
            return [(np.zeros((1, 3)), radius)], 0.0
        case Capsule(radius, length):
            return [(np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]]), radius)], 0.0
        case Box(size):
            signs = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3, indexing="ij"), -1).reshape(-1, 3)
            return [(signs * np.array(size, float), 0.0)], 0.0
        case Cylinder(radius, length):
            angle = 2 * np.pi * np.arange(SIDES) / SIDES
            outer = radius / math.cos(np.pi / SIDES)
            ring = np.column_stack((outer * np.cos(angle), outer * np.sin(angle), np.zeros(SIDES)))
            up = np.array([0.0, 0.0, 0.5 * length])
            return [(np.concatenate((ring - up, ring + up)), 0.0)], outer - radius
    raise TypeError(type(geometry).__name__)


def mesh_pieces(x: Array, faces: Indices) -> list[Piece]:
    """Return the pieces of a mesh, by its corners (N, 3) and triangles (F, 3)."""
    return [(_reduced(part.reshape(-1, 3)), 0.0) for part in _cut(x[faces])]


def _cut(soup: Array) -> list[Array]:
    """The triangles (F, 3, 3) in parts, each time the part whose cut saves most cut into two."""
    area = _size(soup.reshape(-1, 3))[1]
    snap = max(MIN_SNAP, SNAP * float(np.ptp(soup.reshape(-1, 3), axis=0).max()))
    parts = [(_best_cut(soup, snap), soup)]
    while len(parts) < MAX_PIECES:
        k = max(range(len(parts)), key=lambda i: parts[i][0][0])
        (saved, axis, place), whole = parts[k]
        if saved <= MIN_SAVED * area:
            break
        parts[k : k + 1] = [(_best_cut(half, snap), half) for half in _halves(whole, axis, place)]
    return [part for _, part in parts]


def _best_cut(soup: Array, snap: float) -> tuple[float, int, float]:
    """(volume saved, axis, place): looked for among rounded triangles, since the choice needs no accuracy."""
    grid = np.round(soup / snap).astype(np.int64)
    different = [(grid[:, a] != grid[:, b]).any(axis=1) for a, b in ((0, 1), (1, 2), (0, 2))]
    grid = grid[np.all(different, axis=0)]
    if len(grid):
        soup = np.unique(grid.reshape(-1, 9), axis=0).reshape(-1, 3, 3).astype(np.float64) * snap
    x = soup.reshape(-1, 3)
    whole, best = _size(x)[0], (0.0, 0, 0.0)
    for axis in range(3):
        low, high = float(x[:, axis].min()), float(x[:, axis].max())
        if high - low < MIN_CUT_LENGTH:
            continue
        for place in (low + (high - low) * np.arange(1, SLOTS) / SLOTS).tolist():
            halves = _halves(soup, axis, place)
            best = max(best, (whole - sum(_size(half.reshape(-1, 3))[0] for half in halves), axis, place))
    return best


def _halves(soup: Array, axis: int, place: float) -> tuple[Array, Array]:
    """Triangles above and below a plane; those that it crosses are cut."""
    d = soup[:, :, axis] - place
    above = (d > 0).sum(axis=1)
    up, down = [soup[above == 3]], [soup[above == 0]]
    for lone_is_up, lone, pair in ((True, up, down), (False, down, up)):
        rows = np.flatnonzero(above == (1 if lone_is_up else 2))
        first = ((d[rows] > 0) == lone_is_up).argmax(axis=1)  # the corner that is alone on its side
        a, b, c = (soup[rows, (first + j) % 3] for j in range(3))
        da, db, dc = (d[rows, (first + j) % 3][:, None] for j in range(3))
        ab, ac = a + da / (da - db) * (b - a), a + da / (da - dc) * (c - a)
        lone.append(np.stack((a, ab, ac), axis=1))
        pair += [np.stack((ab, b, c), axis=1), np.stack((ab, c, ac), axis=1)]
    return np.concatenate(up), np.concatenate(down)


def hull_of(x: Array) -> Any:
    """The convex hull by Qhull; None of points in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return ConvexHull(x)
    except (QhullError, ValueError):
        return None


def _size(x: Array) -> tuple[float, float]:
    """Volume and area of the hull of points."""
    hull = hull_of(x)
    return (0.0, 0.0) if hull is None else (hull.volume, hull.area)


def _reduced(x: Array) -> Array:
    """Few corners whose hull encloses points: those of their hull, or of planes around it where these are many."""
    hull = hull_of(x)
    if hull is None:
        return _flat(x)
    corners = x[hull.vertices]
    return corners if len(corners) <= MAX_CORNERS else _around(corners)


def _flat(x: Array) -> Array:
    """The eight corners of a box around points in a plane, along their principal axes."""
    x = np.unique(x, axis=0)
    if len(x) <= 8:
        return x
    middle = x.mean(axis=0)
    axes = np.linalg.svd(x - middle, full_matrices=False)[2]
    y = (x - middle) @ axes.T
    corners = np.stack(np.meshgrid(*np.stack((y.min(axis=0), y.max(axis=0)), -1), indexing="ij"), -1).reshape(-1, 3)
    return np.asarray(corners @ axes + middle)


def _around(x: Array) -> Array:
    """The corners of PLANES half spaces that contain points: their largest faces, then directions far from these."""
    from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

    hull = ConvexHull(x)
    _, first, group = np.unique(np.round(hull.equations[:, :3], 3), axis=0, return_index=True, return_inverse=True)
    t = x[hull.simplices]
    sides = np.linalg.norm(np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0]), axis=1)
    n = hull.equations[first, :3]
    chosen = np.argsort(-np.bincount(group.ravel(), sides), kind="stable")[:LARGEST_FACES].tolist()
    near = (n @ n[chosen].T).max(axis=1)
    while len(chosen) < min(PLANES, len(n)):
        chosen.append(int(near.argmin()))
        near = np.maximum(near, n @ n[chosen[-1]])
    n = np.concatenate((n[chosen], np.eye(3), -np.eye(3)))
    planes = np.column_stack((n, -(x @ n.T).max(axis=0) - 1e-9))
    try:
        corners = np.unique(np.round(HalfspaceIntersection(planes, x.mean(axis=0)).intersections, 9), axis=0)
        return np.asarray(corners[ConvexHull(corners).vertices])
    except QhullError:  # nearly in a plane
        return x
