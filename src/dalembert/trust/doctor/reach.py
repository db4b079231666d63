"""How far the shapes of a link reach: support values in many directions, volumes from above, and no hull.

The support h(d) = max x·d over the shapes bounds their convex hull from outside in every direction d that is looked
at, so whatever is found to lie outside does so for certain. Whatever mass the shapes enclose has, about its center of
mass and in every direction, a second moment of at most ¼ m (h(d) + h(−d))², half of it at each end  (Popoviciu 1935).

Of mesh files only the corners are read, which is quick enough for a thousand files: STL through `describe.mesh`; the
vertex lines of an OBJ; the positions of a COLLADA scene, each instance placed by the transforms of its nodes.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalembert.describe import xml
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Mesh, Origin, Sphere
from dalembert.describe.mass import volume
from dalembert.describe.mesh import read_stl
from dalembert.errors import DescriptionError
from dalembert.files import MESH, contents
from dalembert.spatial import Pose

Points = NDArray[np.float64]
READ = (".stl", ".obj", ".dae")
DEEPEST = 64  # nodes within nodes of a COLLADA scene
_VERTEX = re.compile(rb"^v[ \t]+([^\n#]*)", re.MULTILINE)


@lru_cache(maxsize=4)
def sphere(count: int) -> Points:
    """(count, 3) unit vectors spread over the sphere, each with its opposite, the axes among them."""
    half = (count - 6) // 2
    z = (np.arange(half) + 0.5) / half
    turn = np.arange(half) * math.pi * (3.0 - math.sqrt(5.0))
    r = np.sqrt(1.0 - z * z)
    some = np.vstack([np.eye(3), np.column_stack([r * np.cos(turn), r * np.sin(turn), z])])
    return np.vstack([some, -some])


DIRECTIONS = sphere(134)
OPPOSITE = np.roll(np.arange(len(DIRECTIONS)), len(DIRECTIONS) // 2)


@dataclass(frozen=True)
class Extent:
    """The reach of some shapes in the frame of their link. `volume` is never less than that of what they enclose."""

    support: NDArray[np.float64]  # h(d) for each of DIRECTIONS
    volume: float

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


def reach_of(parts: Iterable[tuple[Geometry, Origin, Points | None]]) -> Extent | None:
    """The reach of shapes, each at its origin; a mesh comes with its vertices. None if there are none."""
    supports, volumes = [], []
    for geometry, origin, points in parts:
        T = Pose.from_origin(origin.xyz, origin.rpy)
        R, p = np.array(T.R, dtype=float), np.array(T.p, dtype=float)
        supports.append(_support(geometry, points, DIRECTIONS @ R) + DIRECTIONS @ p)
        if isinstance(geometry, Mesh):
            assert points is not None
            volumes.append(_box_volume(points * np.abs(geometry.scale)))
        else:
            volumes.append(volume(geometry))
    if not supports:
        return None
    support = np.max(supports, axis=0)
    whole = float(np.prod((support + support[OPPOSITE])[:3]))
    return Extent(support, min(sum(volumes), whole))


def unite(reaches: Iterable[Extent | None]) -> Extent | None:
    """The reach of all, and the larger of their volumes: visual and collision shapes stand for the same body."""
    known = [e for e in reaches if e is not None]
    return Extent(np.max([e.support for e in known], axis=0), max(e.volume for e in known)) if known else None


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


# mesh files


def vertices(file: Path) -> Points:
    """(n, 3) corners [m, as the file and its unit say], n > 0; or a DescriptionError."""
    status = file.stat()
    return _remembered(file, status.st_mtime_ns, status.st_size)  # which change when the file does


@lru_cache(maxsize=4096)
def _remembered(file: Path, _modified: int, _size: int) -> Points:
    try:
        data = contents(file, MESH).removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise DescriptionError(str(error.strerror)) from None
    kind = file.suffix.lower()
    if kind == ".stl":
        points = read_stl(data)[0]
    elif kind == ".obj":
        points = _obj(data)
    elif kind == ".dae":
        points = _collada(data)
    else:
        raise DescriptionError(f"meshes of type {kind!r} are not read")
    if len(points) == 0:
        raise DescriptionError("there are no vertices in it")
    if not np.isfinite(points).all():
        raise DescriptionError("a vertex is not finite")
    return _extreme(points)


def _extreme(points: Points) -> Points:
    """Of many points those that reach furthest in one of many directions: a hull within a percent of theirs."""
    if len(points) <= 256:
        return points
    directions = sphere(256)
    best = np.full(len(directions), -np.inf)
    who = np.zeros(len(directions), dtype=np.int64)
    for k in range(0, len(points), 4096):  # by pieces that fit the cache
        reach = directions @ points[k : k + 4096].T
        first = reach.argmax(axis=1)
        value = reach[np.arange(len(directions)), first]
        better = value > best
        best[better], who[better] = value[better], first[better] + k
    ends = [points[:, k].argmin() for k in range(3)] + [points[:, k].argmax() for k in range(3)]
    return points[np.unique(np.concatenate([who, np.array(ends, dtype=np.int64)]))]


def _obj(data: bytes) -> Points:
    rows = [line.split()[:3] for line in _VERTEX.findall(data)]
    try:
        return np.array(rows, dtype=np.float64).reshape(-1, 3)
    except ValueError:
        raise DescriptionError("a vertex line of the OBJ file is not three numbers") from None


# COLLADA


def _collada(data: bytes) -> Points:
    root = xml.parse(data)
    if root.tag != "COLLADA":
        raise DescriptionError(f"the first element is <{root.tag:.40}>, not <COLLADA>")
    unit = next((u.number("meter", "the asset", 1.0) for a in root.all("asset") for u in a.all("unit")), 1.0)
    shapes = {
        f"#{g.attributes.get('id')}": list(_positions(g))
        for lib in root.all("library_geometries")
        for g in lib.all("geometry")
    }
    nodes = {f"#{n.attributes.get('id')}": n for lib in root.all("library_nodes") for n in lib.all("node")}
    scenes = [s for lib in root.all("library_visual_scenes") for s in lib.all("visual_scene")]
    placed = [p for s in scenes for n in s.all("node") for p in _placed(n, np.eye(4), shapes, nodes, 0)]
    if not placed:  # no scene, or an empty one: the shapes as they are
        placed = [points for group in shapes.values() for points in group]
    return unit * np.vstack(placed) if placed else np.empty((0, 3))


def _positions(geometry: xml.Element) -> Iterator[Points]:
    """The arrays that the <vertices> of a geometry's meshes call their positions."""
    for mesh in geometry.all("mesh"):
        wanted = {
            i.attributes.get("source")
            for v in mesh.all("vertices")
            for i in v.all("input")
            if i.attributes.get("semantic") == "POSITION"
        }
        for source in mesh.all("source"):
            if f"#{source.attributes.get('id')}" in wanted:
                for array in source.all("float_array"):
                    values = _floats(array.text)
                    yield values[: len(values) // 3 * 3].reshape(-1, 3)


def _floats(text: str) -> Points:
    try:
        return np.array(text.split(), dtype=np.float64)
    except ValueError:
        raise DescriptionError("an array of the COLLADA file holds what is no number") from None


def _placed(
    node: xml.Element, above: Points, shapes: dict[str, list[Points]], nodes: dict[str, xml.Element], depth: int
) -> Iterator[Points]:
    """The points of a node and of all below it, placed in the scene."""
    if depth > DEEPEST:
        raise DescriptionError("the nodes of the COLLADA scene are nested too deep, or in a circle")
    T = above
    for e in node.children:
        if e.tag in _TRANSFORMS:
            T = T @ _TRANSFORMS[e.tag](_floats(e.text))
    for e in node.children:
        url = e.attributes.get("url", "")
        if e.tag == "instance_geometry":
            yield from (points @ T[:3, :3].T + T[:3, 3] for points in shapes.get(url, []))
        elif e.tag == "node":
            yield from _placed(e, T, shapes, nodes, depth + 1)
        elif e.tag == "instance_node" and url in nodes:
            yield from _placed(nodes[url], T, shapes, nodes, depth + 1)


def _sized(values: Points, count: int) -> Points:
    if len(values) != count:
        raise DescriptionError(f"a transform of the COLLADA file has {len(values)} numbers, not {count}")
    return values


def _translate(values: Points) -> Points:
    T = np.eye(4)
    T[:3, 3] = _sized(values, 3)
    return T


def _rotate(values: Points) -> Points:
    """Rodrigues' formula; the angle is in degrees."""
    x, y, z, angle = _sized(values, 4)
    T = np.eye(4)
    length = math.sqrt(x * x + y * y + z * z)
    if length > 0:
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / length
        T[:3, :3] += math.sin(math.radians(angle)) * K + (1.0 - math.cos(math.radians(angle))) * (K @ K)
    return T


_TRANSFORMS = {
    "matrix": lambda values: _sized(values, 16).reshape(4, 4),
    "translate": _translate,
    "scale": lambda values: np.diag([*_sized(values, 3), 1.0]),
    "rotate": _rotate,
}
