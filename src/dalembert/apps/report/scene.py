"""A robot as solids on moving bodies: what is drawn, and the joint table that moves it."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import kinematics
from dalembert.apps.report.posture import drawn_limits, posture
from dalembert.apps.report.solids import Solid, between, cylinder, lighter, solid_of, toward
from dalembert.caching import cached_property
from dalembert.describe import mesh
from dalembert.describe.chain import to_pose
from dalembert.describe.description import Mesh, Shape
from dalembert.errors import DalembertError
from dalembert.robot import Robot

Array = NDArray[np.float64]
TRIANGLES = 16_000  # of the whole robot
LARGEST_FILE = 32 << 20  # bytes of a mesh
BASE_COLOR, PLAIN_COLOR, JOINT_COLOR = "#5b6068", "#aab0b9", "#3a3f47"
LINK_COLORS = ("#2f6fb0", "#e8a33d", "#1d9a74", "#b8478f")
PARALLEL = 1e-6


@dataclass(frozen=True, eq=False)
class Part:
    """A solid fixed on a body (−1: the base), in the body's frame; its color as #rrggbb."""

    body: int
    solid: Solid
    color: str


@dataclass(frozen=True, eq=False)
class Scene:
    """The parts of a robot, what could not be drawn, and how to look at it."""

    robot: Robot
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    sticks: bool = False  # no shapes were given

    @cached_property
    def start(self) -> Array:
        """The posture that is drawn, (n,)."""
        return posture(self.robot)

    @cached_property
    def up(self) -> Array:
        """Against gravity; z where there is none."""
        g = self.robot.gravity
        return np.asarray(-g / np.linalg.norm(g) if np.linalg.norm(g) > 0 else np.array([0.0, 0.0, 1.0]))

    @cached_property
    def view(self) -> Array:
        """Rows: right, up and toward the viewer, in base axes, (3, 3). A planar arm is looked at across its plane,
        others from the front corner, both a little from above."""
        across = planar_axis(self.robot)
        if across is not None and abs(across @ self.up) < PARALLEL:
            turn, rise = math.radians(-18), math.radians(14)
            front = across if across[int(np.abs(across).argmax())] > 0 else -across
        else:
            turn, rise = math.radians(32), math.radians(20)
            front = np.eye(3)[0] - self.up[0] * self.up
            if np.linalg.norm(front) < 0.1:
                front = np.eye(3)[1] - self.up[1] * self.up
            front /= np.linalg.norm(front)
        side = np.cross(self.up, front)
        level = math.cos(turn) * front + math.sin(turn) * side
        toward_viewer = math.cos(rise) * level + math.sin(rise) * self.up
        right = np.cross(self.up, level)
        return np.stack([right, np.cross(toward_viewer, right), toward_viewer])

    def poses(self, q: Array) -> Array:
        """Poses of all bodies in the base frame, the base itself last, (bodies + 1, 4, 4)."""
        return np.stack([*body_poses(self.robot, q), np.eye(4)])

    @cached_property
    def ball(self) -> tuple[Array, float]:
        """Center and radius of what the robot fills as it is drawn, and somewhat more [m]."""
        robot = self.robot
        postures = [self.start] if robot.loops else [self.start, *robot.random_configuration(12, seed=0)]
        seen = []
        for q in postures:
            poses = self.poses(np.asarray(q))
            points = [p.solid.vertices @ poses[p.body][:3, :3].T + poses[p.body][:3, 3] for p in self.parts]
            seen.append(np.concatenate([*points, poses[:, :3, 3]]))
        # What is drawn counts most: other postures may leave the picture, and one zooms out.
        low, high = seen[0].min(axis=0), seen[0].max(axis=0)
        center = (low + high) / 2
        near = float(np.linalg.norm(seen[0] - center, axis=-1).max())
        far = max(float(np.linalg.norm(p - center, axis=-1).max()) for p in seen)
        return center, max(near, min(far, 1.15 * near)) or 1.0

    def data(self) -> dict[str, Any]:
        """What the page's script draws from: the joint table, coordinates, frames, centers of mass, solids."""
        robot, model = self.robot, self.robot.model
        center, radius = self.ball
        bodies = [
            {
                "name": b.name,
                "parent": b.parent,
                "slides": not b.joint.turns,
                "travel": b.joint.travel,
                "axis": _rounded(b.joint.axis),
                "placement": _rounded(matrix(b.placement)[:3].ravel()),
                "coordinate": b.coordinate,
                "multiplier": b.multiplier,
                "offset": b.offset,
                "com": _rounded([float(x) for x in b.inertia.com()]) if b.inertia.m else None,
                "mass": float(b.inertia.m),
            }
            for b in model.bodies
        ]
        limits = drawn_limits(robot)
        coordinates = [
            {"name": c.name, "slides": not c.joint.turns, "lower": low, "upper": high, "home": home}
            for c, (low, high), home in zip(model.coordinates, limits, robot.home.tolist(), strict=True)
        ]
        frames = [{"name": f.name, "body": f.body, "pose": _rounded(matrix(f.pose)[:3].ravel())} for f in model.frames]
        return {
            "bodies": bodies,
            "coordinates": coordinates,
            "frames": frames,
            "tip": robot.tip,
            "loops": len(robot.loops),
            "up": _rounded(self.up),
            "view": _rounded(self.view.ravel()),
            "center": _rounded(center),
            "radius": radius,
            "start": _rounded(self.start),
            "parts": [_packed(part) for part in self.parts],
        }


def scene_of(robot: Robot) -> Scene:
    """The robot's visual shapes, its collision shapes where a link has no others, and sticks where there is nothing."""
    parts: list[Part] = []
    notes: list[str] = []
    folder = _folder(robot)
    drawn = [(link.visuals or link.collisions, robot.model.frame(link.name)) for link in robot.description.links]
    meshes = sum(isinstance(s.geometry, Mesh) for shapes, _ in drawn for s in shapes)
    share = max(300, TRIANGLES // max(meshes, 1))
    for shapes, frame in drawn:
        for shape in shapes:
            solid, trouble = _solid(shape, folder, share)
            if trouble:
                notes.append(trouble)
            if solid is not None:
                T = matrix(frame.pose) @ matrix(to_pose(shape.origin))
                color = (
                    (BASE_COLOR if frame.body < 0 else PLAIN_COLOR)
                    if shape.color is None
                    else "#" + "".join(f"{round(255 * min(max(c, 0.0), 1.0)):02x}" for c in shape.color[:3])
                )
                parts.append(Part(frame.body, solid.moved(T), color))
    bare = not parts
    have = {part.body for part in parts}
    if len(have - {-1}) < len(robot.model.bodies):
        parts += [part for part in sticks(robot) if part.body not in have]
    return Scene(robot, tuple(parts), tuple(dict.fromkeys(notes)), bare)


def _folder(robot: Robot) -> Path | None:
    file = robot.description.place.file
    if not file:
        return None
    folder = Path(file.removesuffix(" (expanded)")).parent
    return folder if folder.is_dir() else None


def _solid(shape: Shape, folder: Path | None, most: int) -> tuple[Solid | None, str]:
    """The shape's triangles, and in words what kept a mesh from being drawn."""
    if not isinstance(shape.geometry, Mesh):
        return solid_of(shape.geometry), ""
    name = shape.geometry.filename
    if folder is None:
        return None, f"the mesh {name} is not drawn: where its description lies is not known"
    try:
        path = mesh.resolve(name, folder)
        if path.stat().st_size > LARGEST_FILE:
            return None, f"the mesh {name} is not drawn: it is larger than {LARGEST_FILE >> 20} MiB"
        vertices, faces = mesh.read(path)
    except (DalembertError, OSError) as error:
        return None, f"a mesh is not drawn: {error}"
    return lighter(Solid(vertices * np.array(shape.geometry.scale), faces, outward=False), most), ""


def sticks(robot: Robot) -> Iterator[Part]:
    """Every body as bars from its joint to the next ones and to its tip, and every joint as a drum along its axis, or
    a block that slides."""
    model = robot.model
    ends: dict[int, list[Array]] = {k: [] for k in range(-1, len(model.bodies))}
    for body in model.bodies:
        ends[body.parent].append(np.array([float(x) for x in body.placement.p]))
    for name in model.tips or (model.tip,):
        if name is not None:
            frame = model.frame(name)
            ends[frame.body].append(np.array([float(x) for x in frame.pose.p]))
    lengths = [float(np.linalg.norm(p)) for points in ends.values() for p in points]
    size = sum(lengths) or 1.0
    thick = 0.018 * size
    for k, points in ends.items():
        color = BASE_COLOR if k < 0 else LINK_COLORS[k % len(LINK_COLORS)]
        for p in points:
            if np.linalg.norm(p) > 1e-3 * thick:
                yield Part(k, between(np.zeros(3), p, 0.6 * thick), color)
    for k, body in enumerate(model.bodies):
        T = np.eye(4)
        T[:3, :3] = toward(np.array([float(x) for x in body.joint.axis]))
        shape = cylinder(1.25 * thick, 3.4 * thick) if body.joint.turns else cylinder(thick, 5.0 * thick)
        yield Part(k, shape.moved(T), JOINT_COLOR)


def matrix(pose: Any) -> Array:
    """A model's pose as (4, 4)."""
    return np.array([[float(x) for x in row] for row in pose.matrix()])


def body_poses(robot: Robot, q: Array) -> list[Array]:
    """Poses of the bodies in the base frame, each (4, 4)."""
    every = range(len(robot.model.bodies))
    found = kinematics.world_poses(robot.model, [float(x) for x in q])
    return [matrix(found[k]) for k in every]


def frame_pose(robot: Robot, q: Array, frame: str | None) -> Array:
    """A frame in the base frame, (4, 4): one state of many frames, for which compiling would take longer."""
    return matrix(kinematics.frame_pose(robot.model, [float(x) for x in q], robot.model.frame(frame)))


def planar_axis(robot: Robot) -> Array | None:
    """The direction across the plane that all joints move in; None if there is no such plane."""
    axes: list[Array] = []
    slides: list[Array] = []
    for body, T in zip(robot.model.bodies, body_poses(robot, np.zeros(robot.n)), strict=True):
        a = T[:3, :3] @ np.array([float(x) for x in body.joint.axis])
        if body.joint.turns:
            axes.append(a)
        if body.joint.travel:
            slides.append(a)
    if not axes:
        return None
    first = axes[0]
    if any(np.linalg.norm(np.cross(first, a)) > PARALLEL for a in axes) or any(
        abs(first @ a) > PARALLEL for a in slides
    ):
        return None
    return np.asarray(first)


def _rounded(values: Any) -> list[float]:
    """Nine digits after the point: a nanometer. The sign of zero is dropped."""
    return [round(float(x), 9) + 0.0 for x in values]


def _packed(part: Part) -> dict[str, Any]:
    """Vertices as sixteen bits of the part's box, faces as sixteen bits (or thirty-two), both in base 64."""
    v = part.solid.vertices
    low = v.min(axis=0)
    span = np.maximum(np.ptp(v, axis=0), 1e-9)
    quantized = np.rint((v - low) / span * 65535).astype("<u2")
    wide = len(v) > 65535
    faces = part.solid.faces.astype("<u4" if wide else "<u2")
    return {
        "body": part.body,
        "color": part.color,
        "low": _rounded(low),
        "span": _rounded(span),
        "vertices": base64.b64encode(quantized.tobytes()).decode(),
        "faces": base64.b64encode(faces.tobytes()).decode(),
        "wide": wide,
    }
