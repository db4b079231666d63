"""A robot on the page: what is drawn of it, from where it is looked at, and the joint table that moves it."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dalembert.algorithms import kinematics
from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.describe.description import Cylinder, Mesh
from dalembert.draw import html
from dalembert.draw.scene import (
    DrawnPart,
    body_poses,
    corners_of,
    drawn_limits,
    joint_axes,
    look_of,
    matrix_of,
    posture,
    shapes_of,
    up_of,
)
from dalembert.joints import Joint
from dalembert.robot import Robot
from dalembert.units import position_units

TRIANGLES = 16_000  # of the whole robot
PARALLEL = 1e-6
MOVES = ("sliding", "turning")  # what a joint of one coordinate does


@dataclass(frozen=True, eq=False)
class Scene:
    """The parts of a robot, what could not be drawn, and how to look at it."""

    robot: Robot
    parts: tuple[DrawnPart, ...]
    notes: tuple[str, ...] = ()
    q: Array | None = None

    @cached_property
    def start(self) -> Array:
        """The posture that is drawn, (nq,): `q` if it is given."""
        return posture(self.robot) if self.q is None else self.q

    @cached_property
    def up(self) -> Array:
        """Against gravity; z where there is none."""
        return up_of(self.robot)

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
        return body_poses(self.robot, q)

    @cached_property
    def ball(self) -> tuple[Array, float]:
        """Center and radius of what the robot fills as it is drawn, and somewhat more [m]."""
        robot = self.robot
        postures = [self.start] if robot.loops else [self.start, *robot.random_configuration(12, seed=0)]
        seen = [corners_of(robot, self.parts, q) for q in postures]
        # What is drawn counts most: other postures may leave the picture, and one zooms out.
        low, high = seen[0].min(axis=0), seen[0].max(axis=0)
        center = (low + high) / 2
        near = float(np.linalg.norm(seen[0] - center, axis=-1).max())
        far = max(float(np.linalg.norm(p - center, axis=-1).max()) for p in seen)
        return center, max(near, min(far, 1.15 * near)) or 1.0

    def data(self) -> dict[str, object]:
        """What the page's script draws from: the joint table, coordinates, frames, centers of mass, solids."""
        robot, model = self.robot, self.robot.model
        center, radius = self.ball
        bodies = [
            {
                "name": b.name,
                "parent": b.parent,
                **_motion(b.joint),
                "placement": _round(matrix_of(b.placement)[:3].ravel()),
                "position": b.position,
                "multiplier": b.multiplier,
                "offset": b.offset,
                "com": _round([float(x) for x in b.inertia.com()]) if b.inertia.m else None,
                "mass": float(b.inertia.m),
            }
            for b in model.bodies
        ]
        rates = [c.first if c.joint.direct else None for c in model.coordinates for _ in range(c.joint.nq)]
        own = zip(model.names("position"), position_units(model), drawn_limits(robot), rates, strict=True)
        coordinates = [
            {"name": name, "unit": unit, "lower": low, "upper": high, "rate": rate}
            for name, unit, (low, high), rate in own
        ]
        frames = [{"name": f.name, "body": f.body, "pose": _round(matrix_of(f.pose)[:3].ravel())} for f in model.frames]
        return {
            "bodies": bodies,
            "coordinates": coordinates,
            "rates": model.nv,
            "quaternions": model.quaternions,
            "frames": frames,
            "tip": robot.tip,
            "loops": len(robot.loops),
            "up": _round(self.up),
            "floor": float((corners_of(robot, self.parts, self.start) @ self.up).min()),
            "plane": None if (across := planar_axis(robot)) is None else _round(across),
            "view": _round(self.view.ravel()),
            "center": _round(center),
            "radius": radius,
            "start": _round(self.start),
            "parts": [_pack(part) for part in self.parts if not part.rail],
            "rails": [
                {"body": part.body, "color": part.color, "radius": part.geometry.radius}
                for part in self.parts
                if part.rail and isinstance(part.geometry, Cylinder)
            ],
        }


def summary(robot: Robot) -> str:
    """One line about a robot."""
    kinds = [c.joint.kind if c.joint.nv > 1 else MOVES[c.joint.turns] for c in robot.model.coordinates]
    each = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys((*reversed(MOVES), *kinds)) if kind in kinds]
    words = [f"{len(kinds)} joint{'' if len(kinds) == 1 else 's'}" + (f" ({' and '.join(each)})" if each else "")]
    if robot.loops:
        words.append(f"{len(robot.loops)} closed loop{'' if len(robot.loops) == 1 else 's'}")
    words.append(f"{len(robot.bodies)} moving bod{'y' if len(robot.bodies) == 1 else 'ies'}")
    words.append(f"{html.number(robot.mass)} kg moving")
    return ", ".join(words)


def scene_of(robot: Robot) -> Scene:
    """The robot's shapes, sticks where a body has none."""
    meshes = sum(isinstance(shape.geometry, Mesh) for _, shape in shapes_of(robot))
    look = look_of(robot, max(300, TRIANGLES // max(meshes, 1)))
    return Scene(robot, look.parts, look.notes)


def with_tip(robot: Robot) -> Robot:
    """The robot, with the end of its longest chain as its tip if none is named and there are several."""
    model = robot.model
    if model.tip is not None or not model.tips:
        return robot
    return robot.with_tip(max(model.tips, key=lambda name: len(model.path(model.frame(name).body))))


def frame_pose(robot: Robot, q: Array, frame: str | None) -> Array:
    """A frame in the base frame, (4, 4): one state of many frames, for which compiling would take longer."""
    return matrix_of(kinematics.frame_pose(robot.model, [float(x) for x in q], robot.model.frame(frame)))


def planar_axis(robot: Robot) -> Array | None:
    """The direction across the plane that all joints move in; None if there is no such plane."""
    turning, sliding = joint_axes(robot)
    if not turning or robot.model.curved:
        return None
    first = turning[0]
    along = all(np.linalg.norm(np.cross(first, a)) <= PARALLEL for a in turning)
    return first if along and all(abs(first @ a) <= PARALLEL for a in sliding) else None


def _motion(joint: Joint) -> dict[str, object]:
    """A joint as a script moves it, by its columns of motion: first positions along the directions `slides`, then a
    quaternion, or an angle about an `axis` that carries the body `along` [m/rad]; no more where it does not turn."""
    columns = list(zip(joint.units, joint.subspace(()), strict=True))
    found: dict[str, object] = {"slides": [_round(S.v) for unit, S in columns if unit == "m"]}
    if joint.quaternion is not None:
        return {**found, "quaternion": True}
    turns = [S for unit, S in columns if unit == "rad"]
    return {**found, "axis": _round(turns[0].w), "along": _round(turns[0].v)} if turns else found


def _round(values: Iterable[float]) -> list[float]:
    """Nine digits after the point: a nanometer. The sign of zero is dropped."""
    return [round(float(x), 9) + 0.0 for x in values]


def _pack(part: DrawnPart) -> dict[str, object]:
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
        "low": _round(low),
        "span": _round(span),
        "vertices": base64.b64encode(quantized.tobytes()).decode(),
        "faces": base64.b64encode(faces.tobytes()).decode(),
        "wide": wide,
    }
