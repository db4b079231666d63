"""What a robot looks like: the shapes of its description, sticks where it has none, or where a mesh is broken.

Nothing here knows of viser: a `Part` is a primitive on a moving body, and `scene` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.describe import mesh as meshes
from dalembert.describe.description import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from dalembert.errors import DalembertError, DescriptionError
from dalembert.model import Model
from dalembert.robot import Robot
from dalembert.spatial import Pose, rotation

Array = NDArray[np.float64]
RGB = tuple[int, int, int]
GRAY: RGB = (120, 126, 134)
STICK: RGB = (47, 111, 176)
JOINT: RGB = (232, 163, 61)
MOST_TRIANGLES = 2_000_000  # of one mesh that is read at all
ENOUGH_TRIANGLES = 20_000  # of one mesh that is shown: a page turns a dozen of them
CELLS = (400, 250, 160, 100, 60, 40)  # to an edge of the box about a mesh that is made coarser


@dataclass(frozen=True)
class Part:
    """One shape on body `body` (−1: the base), placed by `pose` in its frame. `size`: of a "box" its edges, of a
    "cylinder" along z radius and length, of a "sphere" its radius; a "mesh" has vertices and faces."""

    body: int
    kind: str
    pose: Pose
    size: tuple[float, ...] = ()
    color: RGB = GRAY
    opacity: float | None = None
    vertices: Array | None = None
    faces: NDArray[np.int64] | None = None

    @property
    def corners(self) -> Array:
        """Of the box about it in its body's frame, (8, 3)."""
        match self.kind:
            case "box":
                ends = 0.5 * np.outer((-1, 1), self.size)
            case "sphere":
                ends = np.outer((-1, 1), self.size * 3)
            case "cylinder":
                ends = np.outer((-1, 1), (self.size[0], self.size[0], 0.5 * self.size[1]))
            case _:
                assert self.vertices is not None
                ends = np.array([self.vertices.min(axis=0), self.vertices.max(axis=0)])
        box = np.array(list(product(*ends.T)))
        return np.asarray(box @ np.array(self.pose.R, float).T + np.array(self.pose.p, float))


@dataclass(frozen=True)
class Look:
    """All parts of a robot, and in sentences what could not be drawn as it is described."""

    parts: tuple[Part, ...]
    notes: tuple[str, ...]


def look_of(robot: Robot, size: float, package_dirs: Sequence[str | PathLike[str]] = ()) -> Look:
    """What to draw of a robot whose size is about `size` [m]."""
    parts: list[Part] = []
    notes: list[str] = []
    bare = set(range(-1, len(robot.model.bodies)))
    source = robot.description.place.file
    folder = Path(source.removesuffix(" (expanded)")).resolve().parent if source else Path.cwd()
    for link in robot.description.links:
        place = robot.model.frame(link.name)
        for shape in link.visuals:
            try:
                found = list(_shape(place.body, place.pose, shape, folder, package_dirs))
            except (DalembertError, OSError) as error:
                notes.append(f"link {link.name!r}: {error}; a stick stands for it")
                continue
            parts += found
            bare.discard(place.body)
    for body in sorted(bare):
        parts += _sticks(robot.model, body, size)
    return Look(tuple(parts), tuple(notes))


# ------------------------------------------------------------------------------------------------------ as described
def _shape(
    body: int, link: Pose, shape: Shape, folder: Path, package_dirs: Sequence[str | PathLike[str]]
) -> Iterator[Part]:
    pose = link @ Pose.from_origin(shape.origin.xyz, shape.origin.rpy)
    color, opacity = GRAY, None
    if shape.color is not None:
        red, green, blue, alpha = (min(max(x, 0.0), 1.0) for x in shape.color)
        color = (round(255 * red), round(255 * green), round(255 * blue))
        opacity = alpha if alpha < 1 else None
    look: dict[str, Any] = {"color": color, "opacity": opacity}
    match shape.geometry:
        case Box(size):
            yield Part(body, "box", pose, size, **look)
        case Sphere(radius):
            yield Part(body, "sphere", pose, (radius,), **look)
        case Cylinder(radius, length):
            yield Part(body, "cylinder", pose, (radius, length), **look)
        case Capsule(radius, length):
            yield Part(body, "cylinder", pose, (radius, length), **look)
            for end in (-0.5 * length, 0.5 * length):
                yield Part(body, "sphere", pose @ Pose(p=(0.0, 0.0, end)), (radius,), **look)
        case Mesh(filename, scale):
            vertices, faces = meshes.read(meshes.resolve(filename, folder, package_dirs))
            _check(filename, vertices, faces)
            vertices, faces = coarser(vertices * np.array(scale), faces)
            yield Part(body, "mesh", pose, vertices=vertices, faces=faces, **look)


def _check(filename: str, vertices: Array, faces: NDArray[np.int64]) -> None:
    if len(faces) > MOST_TRIANGLES:
        raise DescriptionError(f"the mesh {filename!r} has {len(faces)} triangles, more than {MOST_TRIANGLES} to show")
    if not np.isfinite(vertices).all():
        raise DescriptionError(f"the mesh {filename!r} has a vertex that is not finite")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise DescriptionError(f"the mesh {filename!r} names a vertex that it does not have")


def coarser(vertices: Array, faces: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """A mesh that a page can turn: vertices in one cell of a grid become one, until the triangles are few enough."""
    made = vertices, faces
    size = float(np.max(vertices.max(axis=0) - vertices.min(axis=0)))
    for cells in CELLS:
        if len(made[1]) <= ENOUGH_TRIANGLES:
            break
        cell = np.floor((vertices - vertices.min(axis=0)) * (cells / size)).astype(np.int64)
        _, number, counts = np.unique(_key(cell, cells + 1), return_inverse=True, return_counts=True)
        middles = np.stack([np.bincount(number, x) for x in vertices.T], axis=-1) / counts[:, None]
        corners = number[faces]
        a, b, c = corners.T
        corners = corners[(a != b) & (b != c) & (c != a)]
        _, first = np.unique(_key(np.sort(corners, axis=1), len(counts)), return_index=True)
        made = middles, corners[np.sort(first)]
    return made


def _key(rows: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """One number for each row of three that are below `base`."""
    return np.asarray((rows[:, 0] * base + rows[:, 1]) * base + rows[:, 2])


# --------------------------------------------------------------------------------------------------------- as sticks
def _sticks(model: Model, body: int, size: float) -> Iterator[Part]:
    """A rod from the body's joint to the joints and frames that it carries, and its own joint."""
    radius = 0.012 * size
    ends = [b.placement.p for b in model.bodies if b.parent == body]
    ends += [f.pose.p for f in model.frames if f.body == body]
    for end in dict.fromkeys(ends):
        rod = _rod(np.array(end, float))
        if rod is not None:
            yield Part(body, "cylinder", rod[0], (radius, rod[1]), STICK)
    if body < 0:
        yield Part(body, "cylinder", Pose(), (2.5 * radius, radius), GRAY)
        return
    own = model.bodies[body]
    along = Pose(turned_to(np.array(own.joint.axis, float)))
    if own.joint.turns:
        yield Part(body, "cylinder", along, (1.8 * radius, 4.5 * radius), JOINT)
    else:
        yield Part(body, "box", along, (3 * radius, 3 * radius, 4.5 * radius), JOINT)


def _rod(end: Array) -> tuple[Pose, float] | None:
    """A cylinder along z from the origin to a point: where it stands, and its length."""
    length = float(np.linalg.norm(end))
    if length < 1e-9:
        return None
    return Pose(turned_to(end / length), tuple((0.5 * end).tolist())), length


def turned_to(axis: Array) -> Any:
    """A rotation that carries z to a unit vector."""
    turn = np.cross([0.0, 0.0, 1.0], axis)
    sine = float(np.linalg.norm(turn))
    unit = turn / sine if sine > 1e-12 else np.array([1.0, 0.0, 0.0])
    return rotation.axis_angle(tuple(unit.tolist()), float(np.arctan2(sine, axis[2])))
