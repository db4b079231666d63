"""The geometry of a serial chain at q = 0: axes, and which of them are parallel or meet.

Lines count as parallel, or as meeting, within `TOLERANCE` (radians, and parts of the reach): files that write π/2 with
five digits are meant to be recognized. What the closed form then misses, Newton's steps on the true model put right.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt

from dalembert.algorithms.kinematics import frame_pose, world_poses
from dalembert.caching import cached_property
from dalembert.model import Frame, Model
from dalembert.spatial import Pose
from dalembert.spatial.vector import Vector, add, cross, dot, matvec, neg, scale, sub

TOLERANCE = 1e-5
# Rounding in axes and points of a chain: taken as the zero it is meant to be, which costs no operations.
ROUNDING = 4e-15


@dataclass(frozen=True)
class Chain:
    """Joints in order from the base: kind ("R" or "P"), unit axis, a point on it; the frame's pose at q = 0. `signs`
    are −1 for axes that were turned around: such a joint's coordinate is minus its angle."""

    kinds: str
    axes: tuple[Vector, ...]
    points: tuple[Vector, ...]
    home: Pose
    signs: tuple[float, ...]

    @cached_property
    def reach(self) -> float:
        """The longest way from the base's axis to the frame [m]: what lengths are compared with."""
        stations = (*self.points, self.home.p)
        steps = [length(sub(b, a)) for a, b in pairwise(stations)]
        return max(sum(steps), 1e-12)

    def parallel(self, i: int, j: int) -> bool:
        return length(cross(self.axes[i], self.axes[j])) <= TOLERANCE

    def apart(self, i: int, j: int) -> float:
        """Distance of two parallel axes [m]."""
        return length(cross(self.axes[i], sub(self.points[j], self.points[i])))

    def feet(self, i: int, j: int) -> tuple[Vector, Vector]:
        """Where the common perpendicular of two axes that are not parallel stands on each."""
        a, b = self.axes[i], self.axes[j]
        normal = cross(a, b)
        n2 = dot(normal, normal)
        between = sub(self.points[j], self.points[i])
        on_a = add(self.points[i], scale(dot(cross(between, b), normal) / n2, a))
        on_b = add(self.points[j], scale(dot(cross(between, a), normal) / n2, b))
        return clean(on_a), clean(on_b)

    def meeting(self, i: int, j: int) -> Vector | None:
        """The point where two axes meet, if they do and are not parallel: the middle of their common perpendicular."""
        if self.parallel(i, j):
            return None
        on_a, on_b = self.feet(i, j)
        if length(sub(on_b, on_a)) > TOLERANCE * self.reach:
            return None
        return clean(scale(0.5, add(on_a, on_b)))

    def holds(self, i: int, point: Vector) -> bool:
        """Whether a point lies on an axis."""
        return length(cross(self.axes[i], sub(point, self.points[i]))) <= TOLERANCE * self.reach

    def aligned(self, *joints: int) -> Chain:
        """The same chain with these parallel axes made equal to the first of them, turned around where they must be."""
        main = self.axes[joints[0]]
        axes, signs = list(self.axes), list(self.signs)
        for j in joints:
            signs[j] *= 1.0 if dot(axes[j], main) > 0 else -1.0
            axes[j] = main
        return replace(self, axes=tuple(axes), signs=tuple(signs))

    def reversed(self) -> Chain:
        """The chain seen from its frame: T⁻¹ = exp(−S'ₙ qₙ) ⋯ exp(−S'₁ q₁) home⁻¹, S' seen from home."""
        inverse = self.home.inverse()
        return Chain(
            self.kinds[::-1],
            tuple(unit(neg(matvec(inverse.R, a))) for a in self.axes[::-1]),
            tuple(clean(inverse.point(p)) for p in self.points[::-1]),
            _cleaned(inverse),
            self.signs[::-1],
        )


def length(a: Vector) -> float:
    return sqrt(float(dot(a, a)))


def clean(a: Vector) -> Vector:
    """Without the rounding of zeros."""
    return tuple(0.0 if abs(x) <= ROUNDING else float(x) for x in a)


def unit(a: Vector) -> Vector:
    a = clean(a)
    return a if dot(a, a) == 1.0 else scale(1.0 / length(a), a)


def chain_of(model: Model, frame: Frame) -> Chain | str:
    """The chain that carries a frame, or why there is none in which every coordinate moves one joint."""
    path = model.path(frame.body)
    named = f"frame {frame.name!r} of {model.name!r}"
    if model.n == 0:
        return f"{model.name!r} has no joints"
    if model.loops:
        return f"{model.name!r} is a closed chain: the closed forms are those of independent joints"
    if model.mimics:
        return f"{model.name!r} has mimic joints: the closed forms are those of independent joints"
    if len(path) != model.n:
        return f"{named} is moved by {len(path)} of the {model.n} joints: the others could stand anywhere"
    T = world_poses(model, [0.0] * model.n, path)
    bodies = [model.bodies[i] for i in path]
    return Chain(
        "".join(body.joint.kind[0].upper() for body in bodies),
        tuple(unit(matvec(T[i].R, body.joint.axis)) for i, body in zip(path, bodies, strict=True)),
        tuple(clean(T[i].p) for i in path),
        _cleaned(frame_pose(model, [0.0] * model.n, frame)),
        (1.0,) * model.n,
    )


def _cleaned(T: Pose) -> Pose:
    return Pose(tuple(clean(row) for row in T.R), clean(T.p))


def across_part(h: Vector, a: Vector) -> Vector:
    """The part of a across the unit vector h."""
    return clean(sub(a, scale(dot(h, a), h)))


def back(home: Pose, point: Vector) -> Vector:
    """A point of the base frame at q = 0, in the coordinates of the frame whose pose is `home`."""
    return clean(matvec(tuple(zip(*home.R, strict=True)), add(point, neg(home.p))))
