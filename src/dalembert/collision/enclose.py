"""A robot's shapes enclosed in spheres, with a stated overestimate, and in convex pieces.

Space is cut into cells. A cell that the shape reaches into lies in the ball around it, and a sphere around the center
of any cell that is by `depth` inside the shape may have the radius depth + tolerance: it reaches no farther than the
tolerance beyond the shape. Spheres are chosen, each time that which encloses most cells not yet enclosed (greedy set
cover), until all are: so every point of the shape is inside a sphere.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import number
from dalembert.collision.pieces import Piece, Pieces, hull_of, mesh_pieces, pieces_of
from dalembert.collision.solids import SOLIDS
from dalembert.collision.spheres import SphereModel, Spheres, neighbors, on_links, sphere_model
from dalembert.describe import mesh
from dalembert.describe.description import Box, Capsule, Cylinder, Description, Geometry, Mesh, Shape, Sphere
from dalembert.errors import InputError
from dalembert.model import Model
from dalembert.spatial import Pose

Array = NDArray[np.float64]
TOLERANCE = 0.02  # [m]
SHARE = 0.12  # of a shape's middle side: a finger is not enclosed as coarsely as an arm
STACKED = 0.35  # the same of a cylinder that a few spheres along its axis enclose: far fewer than cells would take
CELLS = 20_000  # per shape
FINENESS = 3.0  # cells per tolerance, if there are not too many
SLICES = 100  # of a capsule or a cylinder
CANDIDATES = 40  # centers looked at for one sphere
SURFACE = 0.25  # of a cell: no point of the surface of a mesh is farther than that from one of those put on it
DENSE, THIN = 0.85, 0.12  # the shares of that which are the distance between these, and their rounding to a grid
LEAKS = 0.5  # of the cells between parts of a surface: if it shuts off fewer, it is open
SLACK = 1 + 1e-9  # on radii: rounding


def enclose(
    description: Description,
    model: Model,
    tolerance: float = TOLERANCE,
    package_dirs: Sequence[str | PathLike[str]] = (),
) -> SphereModel:
    """Return the spheres and the convex pieces of a robot, from its collision shapes (from the visual ones, if it has
    no others). No sphere reaches more than `tolerance` [m] beyond its shape, unless that shape is so large that it
    takes too many cells: `overestimate` has what was reached, and `reached` that of each link. Shapes that are spheres
    stay as they are."""
    wanted = number("tolerance", tolerance, "m", above=0.0)
    rows: dict[str, list[Array]] = {}
    parts: list[tuple[str, Array, float]] = []
    reached: dict[str, float] = {}
    beyond: dict[str, float] = {}
    made: dict[str, tuple[Array, float, list[Piece], float]] = {}  # a file may serve several links
    for link, shape in shapes_of(description):
        key = repr(shape.geometry)
        if key not in made:
            made[key] = _enclosed(shape.geometry, wanted, _folder(description), package_dirs)
        found, own, pieces, excess = made[key]
        pose = Pose.from_origin(shape.origin.xyz, shape.origin.rpy)
        R, p = np.array(pose.R, float), np.array(pose.p, float)
        rows.setdefault(link, []).append(np.column_stack((found[:, :3] @ R.T + p, found[:, 3])))
        pose = model.frame(link).pose @ pose
        R, p = np.array(pose.R, float), np.array(pose.p, float)
        parts += [(link, corners @ R.T + p, radius) for corners, radius in pieces]
        reached[link] = max(own, reached.get(link, 0.0))
        beyond[link] = max(excess, beyond.get(link, 0.0))
    if not rows:
        raise InputError(
            "missing",
            "robot",
            problem=f"{model.name!r} has no shapes to check for contact",
            remedy="Add <collision> elements to its description, or load spheres with SphereModel.load.",
        )
    fine = on_links(model, {link: np.concatenate(found) for link, found in rows.items()})
    spheres = sphere_model(model, fine, max(reached.values()))
    index = {link: k for k, link in enumerate(spheres.coarse.link)}
    over = np.array([beyond[link] for link in index])
    solid = Pieces.make([(index[link], corners, radius) for link, corners, radius in parts], over)
    return replace(spheres, pieces=solid, reached=tuple(reached[link] for link in index))


def _enclosed(
    geometry: Geometry, tolerance: float, folder: Path, package_dirs: Sequence[str | PathLike[str]]
) -> tuple[Array, float, list[Piece], float]:
    """Spheres and pieces of a shape, each with how far they reach beyond it [m]."""
    if not isinstance(geometry, Mesh):
        return *enclose_geometry(geometry, tolerance, folder), *pieces_of(geometry)
    x, faces = mesh.read(mesh.resolve(geometry.filename, folder, package_dirs))
    x = x * np.array(geometry.scale)
    solid = _Solid(x, faces, tolerance)
    pieces = mesh_pieces(x, solid.faces)
    return *solid.spheres(), pieces, solid.excess(pieces)


def with_near_pairs(description: Description, model: Model, spheres: SphereModel) -> SphereModel:
    """The same with the pairs of links that one joint parts and that are not next to each other for all that: another
    link with a shape is fixed between them, as a wrist is between a gripper and the joint that turns it."""
    parents = {joint.child: joint.parent for joint in description.joints}
    names, body, more = spheres.coarse.link, spheres.coarse.body.tolist(), []
    roots: dict[str, list[str]] = {}
    for name in names:
        line = [name]
        while (above := parents.get(line[-1])) is not None and above not in line:
            line.append(above)
        roots[name] = line
    for i, j in combinations(range(len(names)), 2):
        if body[i] != body[j] and neighbors(model, body[i], body[j]):
            a, b = roots[names[i]], roots[names[j]]
            shared = set(a) & set(b)
            top = [name for name in a if name in shared][:1]  # where both lines meet
            between = {*(set(a) ^ set(b)), *top} - {names[i], names[j]}
            if between & set(names):
                more.append((i, j))
    return replace(spheres, pairs=np.concatenate((spheres.pairs, np.array(more, np.int64).reshape(-1, 2))))


def shapes_of(description: Description) -> Iterator[tuple[str, Shape]]:
    """(link, shape) of every collision shape; of the visual ones, if there is none."""
    some = any(link.collisions for link in description.links)
    for link in description.links:
        for shape in link.collisions if some else link.visuals:
            yield link.name, shape


def files_of(description: Description, package_dirs: Sequence[str | PathLike[str]] = ()) -> list[str]:
    """What the shapes are made of, as texts: themselves, and digests of the files of meshes."""
    found = []
    for link, shape in shapes_of(description):
        found.append(f"{link} {shape.geometry!r} {shape.origin!r}")
        if isinstance(shape.geometry, Mesh):
            file = mesh.resolve(shape.geometry.filename, _folder(description), package_dirs)
            found.append(hashlib.sha256(file.read_bytes()).hexdigest())
    return found


def _folder(description: Description) -> Path:
    source = description.place.file
    return Path(source.removesuffix(" (expanded)")).resolve().parent if source else Path.cwd()


def enclose_geometry(
    geometry: Geometry, tolerance: float, folder: Path, package_dirs: Sequence[str | PathLike[str]] = ()
) -> tuple[Array, float]:
    """(spheres (k, 4) in the shape's frame, how far they reach beyond it [m])."""
    if isinstance(geometry, Sphere):
        return np.array([[0.0, 0.0, 0.0, geometry.radius]]), 0.0
    if isinstance(geometry, Mesh):
        x, faces = mesh.read(mesh.resolve(geometry.filename, folder, package_dirs))
        return enclose_mesh(x * np.array(geometry.scale), faces, tolerance)
    if isinstance(geometry, (Capsule, Cylinder)) and (line := _along_axis(geometry, tolerance)) is not None:
        return line
    kind, row, half = row_of(geometry)
    cells = _Cells(-half, half, tolerance)
    depth = -np.asarray(SOLIDS[kind](row, tuple(cells.center.T))[0])
    return cells.cover(depth, depth >= -cells.ball)


def _along_axis(geometry: Capsule | Cylinder, tolerance: float) -> tuple[Array, float] | None:
    """Spheres along the axis of a capsule or cylinder that enclose it, each with its share of the length, a slice 2h
    long: of radius √(r² + h²), which reach √(r² + h²) − r beyond the side and √(r² + h²) − h beyond a flat end. None
    where that is too far, however they are spaced."""
    r, length = geometry.radius, geometry.length
    flat = isinstance(geometry, Cylinder)
    within = min(tolerance, max(2 * (STACKED if flat else SHARE) * r, 1e-4))
    for slices in range(1, SLICES + 1):
        h = 0.5 * length / slices
        radius = math.hypot(r, h) * SLACK
        over = radius - (min(r, h) if flat else r)
        if over <= within:
            at = (np.arange(slices) + 0.5) * 2 * h if flat else np.arange(slices + 1) * 2 * h
            rows = np.zeros((len(at), 4))
            rows[:, 2], rows[:, 3] = at - 0.5 * length, radius
            return rows, over
    return None


def enclose_mesh(vertices: Array, faces: NDArray[np.int64], tolerance: float = TOLERANCE) -> tuple[Array, float]:
    """The same of a mesh: of its surface, and of what that shuts off. Of a mesh that is open, a tube or a cup, what
    lies between parts of its surface along two of three axes is filled, and how far that is from its surface is added
    to what is overestimated."""
    return _Solid(vertices, faces, tolerance).spheres()


class _Solid:
    """A mesh in cells: those that its surface reaches into, and those inside."""

    def __init__(self, vertices: Array, faces: NDArray[np.int64], tolerance: float) -> None:
        from scipy.spatial import cKDTree

        self.faces = faces if len(faces) else mesh.hull(vertices)
        self.cells = _Cells(vertices.min(axis=0), vertices.max(axis=0), tolerance)
        self.apart = SURFACE * self.cells.side
        points = _surface_points(vertices[self.faces], DENSE * self.apart * math.sqrt(3.0))
        self.surface = cKDTree(_thinned(points, THIN * self.apart), balanced_tree=False, compact_nodes=False)
        self.away = self.surface.query(self.cells.center)[0]
        self.on = (self.away - self.apart <= self.cells.ball).reshape(self.cells.shape)
        self.inside, self.more = _filled(self.on)

    def spheres(self) -> tuple[Array, float]:
        """Spheres (k, 4) around it, and how far they reach beyond it [m]."""
        from scipy.ndimage import distance_transform_edt

        cells, both = self.cells, self.on | self.inside
        out = distance_transform_edt(np.pad(both, 1))[1:-1, 1:-1, 1:-1].ravel() * cells.side - cells.ball
        depth = np.where(self.inside.ravel(), np.minimum(self.away - self.apart, out), -self.away)
        rows, over = cells.cover(depth, both.ravel())
        return rows, over + (self.more * cells.side + cells.ball if self.more else 0.0)

    def excess(self, pieces: Sequence[Piece]) -> float:
        """How far pieces reach beyond it [m], at points of their surface that are less than an edge apart."""
        cells, worst = self.cells, 0.0
        for corners, _ in pieces:
            hull = hull_of(corners)
            if hull is None:  # a box around points in a plane is as thin as they are
                continue
            x = _thinned(_surface_points(corners[hull.simplices], cells.side), 0.5 * cells.side)
            at = np.round((x - cells.low) / cells.side).astype(int)
            within = ((at >= 0) & (at < cells.shape)).all(axis=1)
            solid = np.zeros(len(x), bool)
            solid[within] = self.inside[tuple(at[within].T)]
            worst = max(worst, float(self.surface.query(x[~solid])[0].max(initial=0.0)))
        return worst


def _filled(on: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], float]:
    """(cells inside of those on the surface, how many sides of a cell the farthest is from what is surely solid): what
    the surface shuts off; if that is little, since it is open, what lies between parts of it along two axes."""
    from scipy.ndimage import binary_fill_holes, distance_transform_edt

    shut = binary_fill_holes(on) & ~on
    between = _surrounded(on)
    if shut.sum() >= LEAKS * between.sum():
        return shut, 0.0
    between |= shut
    return between, float(distance_transform_edt(~(on | shut))[between].max(initial=0.0))


def _surrounded(on: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Cells between others along two of the three axes, but not these themselves."""
    count = np.zeros(on.shape, int)
    for axis in range(3):
        before = np.logical_or.accumulate(on, axis)
        after = np.flip(np.logical_or.accumulate(np.flip(on, axis), axis), axis)
        count += before & after
    return (count >= 2) & ~on


def row_of(geometry: Geometry) -> tuple[str, list[float], Array]:
    """(kind of obstacle, its row, half the sides of the box around it)."""
    match geometry:
        case Box(size):
            half = 0.5 * np.array(size, float)
            return "boxes", [0.0, 0.0, 0.0, *np.eye(3).ravel(), *half], half
        case Cylinder(r, length):
            return "cylinders", [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, length / 2, r], np.array([r, r, length / 2])
        case Capsule(r, length):
            ends = [0.0, 0.0, -length / 2, 0.0, 0.0, length / 2, r]
            return "capsules", ends, np.array([r, r, length / 2 + r])
        case Sphere(r):
            return "spheres", [0.0, 0.0, 0.0, r], np.array([r, r, r])
    raise InputError("wrong-type", "geometry", geometry, expected="a solid")


class _Cells:
    """Cubes of one side [m] over a box; `ball` is the radius of the ball around one."""

    def __init__(self, low: Array, high: Array, tolerance: float) -> None:
        sides = high - low
        self.tolerance = min(tolerance, max(SHARE * float(np.sort(sides)[1]), 1e-4))
        self.side = self.tolerance / FINENESS
        while np.prod(np.ceil(sides / self.side) + 1) > CELLS:
            self.side *= 1.05
        self.tolerance = max(self.tolerance, 1.01 * math.sqrt(3.0) * (1 + SURFACE) * self.side)
        self.ball = 0.5 * math.sqrt(3.0) * self.side * SLACK
        counts = np.maximum(np.ceil(sides / self.side - 1e-9), 1).astype(int)
        middle = 0.5 * (low + high)
        axes = [m + self.side * (np.arange(n) - 0.5 * (n - 1)) for m, n in zip(middle, counts, strict=True)]
        self.shape, self.low = tuple(counts), np.array([axis[0] for axis in axes])
        self.center = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)

    def cover(self, depth: Array, taken: NDArray[np.bool_]) -> tuple[Array, float]:
        """Spheres around the cells that are taken, centers being `depth` [m] inside the shape (outside: negative). The
        cell farthest out is enclosed next, by that of the spheres that can which encloses most others."""
        x, depth = self.center[taken], depth[taken]
        most = depth + self.tolerance - self.ball  # from a center to those of the cells it encloses
        order = np.argsort(depth, kind="stable")
        rest = x[order]
        rng = np.random.default_rng(0)
        rows, over = [], 0.0
        while len(rest):
            able = np.flatnonzero(np.linalg.norm(x - rest[0], axis=1) <= most)
            if len(able) > CANDIDATES:
                able = rng.choice(able, CANDIDATES, replace=False)
            reach = 2 * float(most[able].max())  # no sphere that encloses the first cell encloses one farther from it
            near = np.flatnonzero((np.abs(rest - rest[0]) <= reach).all(axis=1))
            away = _apart(x[able], rest[near])
            within = away <= most[able, None]
            k = int(within.sum(axis=1).argmax())
            center = int(able[k])
            radius = (float(away[k][within[k]].max()) + self.ball) * SLACK
            rows.append([*x[center], radius])
            over = max(over, radius - float(depth[center]))
            left = np.ones(len(rest), bool)
            left[near[within[k]]] = False
            rest = rest[left]
        return np.array(rows), over


def _apart(a: Array, b: Array) -> Array:
    """(len a, len b) distances, not too small."""
    square = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * a @ b.T
    found: Array = np.sqrt(np.maximum(square, 0.0)) + 1e-7
    return found


def _surface_points(corners: Array, edge: float) -> Array:
    """Points on triangles (k, 3, 3), so dense that they cut them into triangles with no side longer than `edge`."""
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    pieces = np.maximum(np.ceil(longest / edge), 1).astype(int)
    found = []
    for m in np.unique(pieces):
        i, j = np.meshgrid(np.arange(m + 1), np.arange(m + 1), indexing="ij")
        keep = i + j <= m
        weights = np.stack((i[keep], j[keep], m - i[keep] - j[keep]), -1) / m
        found.append(np.einsum("wc,tcx->twx", weights, corners[pieces == m]).reshape(-1, 3))
    return np.concatenate(found)


def _thinned(x: Array, within: float) -> Array:
    """Points (K, 3) without those that have the same place in a grid, each moved by at most `within` [m]."""
    grid = np.round((x - x.min(axis=0)) * (math.sqrt(3.0) / (2.0 * within))).astype(np.int64)
    size = grid.max(axis=0) + 1
    one = np.unique((grid[:, 0] * size[1] + grid[:, 1]) * size[2] + grid[:, 2])
    split = np.stack((one // (size[1] * size[2]), one // size[2] % size[1], one % size[2]), -1)
    return np.asarray(split * (2.0 * within / math.sqrt(3.0)) + x.min(axis=0))


__all__ = [
    "Spheres",
    "enclose",
    "enclose_geometry",
    "enclose_mesh",
    "files_of",
    "row_of",
    "shapes_of",
    "with_near_pairs",
]
