"""Obstacles, by name and as arrays.

As arrays a world is data: a kernel takes it as arguments, so that nothing is compiled again when an obstacle moves.
Each kind has one array of rows [m], in the base frame of the robot:

    half_spaces (K, 4)   nx ny nz d                       unit normal n out of the solid: distance n·x − d
    spheres     (K, 4)   cx cy cz r
    capsules    (K, 7)   ax ay az bx by bz r              around the segment from a to b
    boxes       (K, 15)  cx cy cz  R (3×3, row by row)  hx hy hz    columns of R are the box's axes, h half its sides
    cylinders   (K, 8)   cx cy cz  ux uy uz  h r          unit axis u, half length h

Rows that pad an array to a size (`arrays(pad=…)`) are FAR away from everything: points at x = FAR, and a half space
with n = 0, d = −FAR. Meshes become spheres that enclose them, clouds of points spheres, height fields boxes.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, count, number
from dalembert.errors import InputError, unknown
from dalembert.files import parse_toml
from dalembert.spatial.rotation import from_rpy

Array = NDArray[np.float64]
FAR = 1e6  # [m] where rows that pad an array lie
COLUMNS = {"half_spaces": 4, "spheres": 4, "capsules": 7, "boxes": 15, "cylinders": 8}
LARGE = 50.0  # [m] a mesh that is longer is one in millimeters
MAX_EXTENT_M = 1e5  # [m] beyond it, distances to the obstacle say little in float32 and padding is no longer far


@dataclass(frozen=True, eq=False)
class WorldArrays:
    """A world as the arguments of kernels, one array for each kind; `names` has the obstacle of each row by kind."""

    half_spaces: Array
    spheres: Array
    capsules: Array
    boxes: Array
    cylinders: Array
    names: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        for kind, columns in COLUMNS.items():
            rows = array(kind, getattr(self, kind), (None, columns))  # NaN would be nowhere near anything
            if len(self.names.get(kind, ())) != len(rows):
                raise InputError(
                    "wrong-shape",
                    "names",
                    problem=f"{kind} has {len(rows)} rows and {len(self.names.get(kind, ()))} names",
                )

    def tables(self) -> tuple[Array, ...]:
        """The five arrays in the order of COLUMNS."""
        return (self.half_spaces, self.spheres, self.capsules, self.boxes, self.cylinders)


@dataclass(frozen=True, eq=False)
class Obstacle:
    """A named solid: rows of one kind of `COLUMNS`, (K, ·), which reach up to `overestimate` [m] beyond it."""

    name: str
    kind: str
    rows: Array
    overestimate: float = 0.0


@dataclass(frozen=True, eq=False)
class World:
    """Named obstacles in the base frame of a robot. Never changed: each method returns another world.

    world = dl.World().floor(0.0).box("table", (1.0, 0.6, 0.05), xyz=(0.5, 0, 0.4))
    """

    obstacles: tuple[Obstacle, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(o.name for o in self.obstacles))

    def half_space(self, name: str, normal: Sequence[float], offset: float = 0.0) -> World:
        """Solid where n · x ≤ offset [m], n being the unit vector along the normal: it points out of the solid."""
        n = array("normal", normal, (3,))
        n = n / (np.abs(n).max() or 1.0)  # whose square neither vanishes nor is too large
        length = float(np.linalg.norm(n))
        if not length:
            raise InputError("out-of-range", "normal", problem=f"the normal of {name!r} must not be zero")
        return self._with(name, "half_spaces", [*(n / length), number("offset", offset, "m")])

    def floor(self, height: float = 0.0, name: str = "floor") -> World:
        """Solid below this height: z ≤ height [m]."""
        return self.half_space(name, (0.0, 0.0, 1.0), number("height", height, "m"))

    def sphere(self, name: str, radius: float, xyz: Sequence[float]) -> World:
        return self._with(name, "spheres", [*_point(xyz), _length("radius", radius)])

    def points(self, name: str, points: ArrayLike, radius: float) -> World:
        """A cloud of points (k, 3), each the center of a sphere of this radius [m]."""
        x = array("points", points, (None, 3))
        return self._with(name, "spheres", np.column_stack((x, np.full(len(x), _length("radius", radius)))))

    def capsule(self, name: str, radius: float, start: Sequence[float], end: Sequence[float]) -> World:
        """All points within `radius` of the segment from start to end."""
        return self._with(name, "capsules", [*_point(start), *_point(end), _length("radius", radius)])

    def box(
        self, name: str, size: Sequence[float], xyz: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)
    ) -> World:
        """A box with these three sides [m], its center at xyz, turned by rpy."""
        sides = array(f"the size of {name!r}", size, (3,), unit="m", least=0.0)
        R = np.array(from_rpy(array("rpy", rpy, (3,)).tolist()), float)
        return self._with(name, "boxes", [*_point(xyz), *R.ravel(), *(0.5 * sides)])

    def cylinder(
        self, name: str, radius: float, length: float, xyz: Sequence[float], rpy: Sequence[float] = (0.0, 0.0, 0.0)
    ) -> World:
        """A cylinder along its own z, its center at xyz, turned by rpy."""
        R = np.array(from_rpy(array("rpy", rpy, (3,)).tolist()), float)
        sizes = [0.5 * _length("length", length), _length("radius", radius)]
        return self._with(name, "cylinders", [*_point(xyz), *R[:, 2], *sizes])

    def height_field(self, name: str, heights: ArrayLike, cell: float, xyz: Sequence[float], depth: float) -> World:
        """Columns of these heights (rows along x, columns along y) [m] over a grid of square cells, the first centered
        at xyz, each solid down to z − depth."""
        z = array("heights", heights, (None, None))
        side, below = number("cell", cell, "m", above=0.0), number("depth", depth, "m", above=0.0)
        x0 = _point(xyz)
        if not (z > -below).all():
            raise InputError(
                "out-of-range",
                "depth",
                depth,
                problem=f"a height of {name!r} lies below its bottom, depth {below:g} m",
                remedy="Use a larger depth.",
            )
        i, j = np.indices(z.shape)
        center = np.stack((x0[0] + side * i, x0[1] + side * j, x0[2] + 0.5 * (z - below)), -1).reshape(-1, 3)
        half = np.stack((np.full(z.shape, side / 2), np.full(z.shape, side / 2), 0.5 * (z + below)), -1).reshape(-1, 3)
        turned = np.tile(np.eye(3).ravel(), (len(center), 1))
        return self._with(name, "boxes", np.column_stack((center, turned, half)))

    def mesh(
        self,
        name: str,
        mesh: str | Path | tuple[ArrayLike, ArrayLike],
        xyz: Sequence[float] = (0.0, 0.0, 0.0),
        rpy: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        scale: float = 1.0,
        tolerance: float = 0.02,
    ) -> World:
        """A mesh, an STL, OBJ or DAE file or (vertices (n, 3), faces (k, 3)), its frame at xyz, turned by rpy: as
        spheres that enclose its surface and what that surrounds, and reach no more than `tolerance` [m] beyond it,
        unless it is so large that this takes too many: the obstacle's `overestimate` says how far they do. `scale`:
        0.001 for a file in millimeters."""
        from dalembert.collision.enclose import enclose_mesh
        from dalembert.describe.mesh import read

        if isinstance(mesh, (str, Path)):
            corners, faces = read(mesh)
        elif isinstance(mesh, tuple) and len(mesh) == 2:
            corners = array(f"the vertices of {name!r}", mesh[0], (None, 3))
            given = array(f"the faces of {name!r}", mesh[1], (None, 3), least=0.0)
            faces = given.astype(np.int64)
            if (faces != given).any():
                raise InputError(
                    "wrong-type",
                    "mesh",
                    problem=f"the faces of {name!r} must be three whole numbers each, the vertices that they join",
                )
        else:
            raise InputError("wrong-type", "mesh", mesh, expected="a file or (vertices, faces)")
        if not len(faces) or faces.max() >= len(corners):
            raise InputError(
                "wrong-value",
                "mesh",
                problem=f"the mesh of {name!r} has no faces, or a face refers to a vertex that does not exist",
            )
        corners = corners * number("scale", scale, above=0.0)
        if float(np.ptp(corners, axis=0).max()) > LARGE:
            size = float(np.ptp(corners, axis=0).max())
            raise InputError(
                "wrong-unit",
                "scale",
                problem=f"the mesh of {name!r} is {size:g} m long",
                remedy="If it is in millimeters, pass scale=0.001.",
            )
        rows, over = enclose_mesh(corners, faces, number("tolerance", tolerance, "m", above=0.0))
        R = np.array(from_rpy(array("rpy", rpy, (3,)).tolist()), float)
        rows[:, :3] = rows[:, :3] @ R.T + _point(xyz)
        return self._with(name, "spheres", rows, over)

    def without(self, name: str) -> World:
        if name not in self.names:
            raise unknown("obstacle", name, self.names)
        return replace(self, obstacles=tuple(o for o in self.obstacles if o.name != name))

    def _with(self, name: str, kind: str, rows: ArrayLike, over: float = 0.0) -> World:
        if not isinstance(name, str) or not name:
            raise InputError("wrong-type", "name", name, expected="a text that is not empty")
        if name in self.names:
            raise InputError("duplicate", "name", name, problem=f"the world already has an obstacle {name!r}")
        table = np.atleast_2d(np.array(rows, float))
        if not len(table):
            raise InputError("wrong-value", kind, problem=f"the obstacle {name!r} is empty")
        if (np.abs(table) > MAX_EXTENT_M).any():
            raise InputError(
                "too-large",
                kind,
                problem=f"the obstacle {name!r} is larger or farther away than {MAX_EXTENT_M:g} m; lengths are in "
                "meters",
            )
        return replace(self, obstacles=(*self.obstacles, Obstacle(name, kind, table, over)))

    # ----------------------------------------------------------------------------------------------------- arrays
    def arrays(self, pad: int | Mapping[str, int] = 0) -> WorldArrays:
        """The world as arrays, each of at least `pad` rows (of each kind, or by kind)."""
        tables, names = {}, {}
        size = dict(pad) if isinstance(pad, Mapping) else dict.fromkeys(COLUMNS, pad)
        for kind, least in size.items():
            if kind not in COLUMNS:
                raise unknown("kind of obstacle", kind, COLUMNS)
            count("pad", least)
        for kind, columns in COLUMNS.items():
            own = [o for o in self.obstacles if o.kind == kind]
            rows = np.concatenate([np.zeros((0, columns)), *(o.rows for o in own)])
            lacking = max(0, size.get(kind, 0) - len(rows))
            tables[kind] = np.concatenate((rows, np.tile(_padding(kind), (lacking, 1))))
            names[kind] = (*(o.name for o in own for _ in o.rows), *("",) * lacking)
        return WorldArrays(**tables, names=names)

    @staticmethod
    def load(path: str | Path) -> World:
        """Of TOML: tables [[box]], [[sphere]], [[capsule]], [[cylinder]], [[half_space]], [[mesh]], …, each with a name
        and what the method of that name takes; files of meshes are looked for from the file's folder."""
        file = Path(path)
        try:
            text = parse_toml(file.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputError("not-readable", "path", problem=f"{file}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise InputError("syntax", "path", problem=f"{file} is not TOML ({error})") from None
        world = World()
        for kind, rows in text.items():
            if kind not in READABLE:
                raise unknown(f"kind of obstacle in {file}", kind, READABLE)
            for row in rows if isinstance(rows, list) else [rows]:
                world = _read(world, kind, row, file)
        return world


READABLE = ("half_space", "floor", "sphere", "points", "capsule", "box", "cylinder", "height_field", "mesh")


def _read(world: World, kind: str, row: Any, file: Path) -> World:
    if not isinstance(row, dict):
        raise InputError("wrong-type", kind, row, problem=f"{file}: [[{kind}]] must be a table with a name and sizes")
    if kind == "mesh" and isinstance(row.get("mesh"), str):
        row = {**row, "mesh": file.parent / row["mesh"]}
    words = inspect.signature(getattr(world, kind)).parameters
    for word in row:
        if word not in words:
            raise unknown(f"word of {kind} {row.get('name', '')!r} in {file}", word, words)
    lacking = [word for word, p in words.items() if p.default is p.empty and word not in row]
    if lacking:
        raise InputError(
            "missing", kind, problem=f"{file}: {kind} {row.get('name', '')!r} lacks {' and '.join(lacking)}"
        )
    try:
        found: World = getattr(world, kind)(**row)
    except InputError as error:
        raise InputError("wrong-value", kind, problem=f"{file}: {kind}: {error}") from None
    return found


def _padding(kind: str) -> Array:
    row = np.zeros(COLUMNS[kind])
    if kind == "half_spaces":
        row[3] = -FAR
    else:
        row[0] = FAR
    if kind == "capsules":
        row[3] = FAR
    if kind == "boxes":
        row[3:12] = np.eye(3).ravel()
    if kind == "cylinders":
        row[5] = 1.0
    return row


def _point(xyz: Sequence[float]) -> list[float]:
    found: list[float] = array("xyz", xyz, (3,), unit="m").tolist()
    return found


def _length(name: str, value: float) -> float:
    return number(name, value, "m", least=0.0)
