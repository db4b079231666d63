"""Twists and wrenches, linear part first: (v, ω) and (f, n).

A `Motion` in frame b is the velocity v of the body point at b's origin and the angular velocity ω,
both in b's axes. A `Force` is the force f and the moment n about b's origin. `T_ab.motion(…)` is not
a method of Pose, so that imports point one way: the functions here take the pose.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.spatial.pose import Pose
from dalembert.spatial.vector import ZERO, Scalar, Vector, add, cross, dot, matvec, matvec_t, neg, scale, sub


@dataclass(frozen=True)
class Motion:
    """Twist (v, ω), or its rate."""

    v: Vector = ZERO
    w: Vector = ZERO

    def __add__(self, other: Motion) -> Motion:
        return Motion(add(self.v, other.v), add(self.w, other.w))

    def __sub__(self, other: Motion) -> Motion:
        return Motion(sub(self.v, other.v), sub(self.w, other.w))

    def __neg__(self) -> Motion:
        return Motion(neg(self.v), neg(self.w))

    def scaled(self, s: Scalar) -> Motion:
        return Motion(scale(s, self.v), scale(s, self.w))

    def cross(self, other: Motion) -> Motion:
        """ad_self(other) = (ω × v' + v × ω', ω × ω'): the rate of a twist carried by this motion."""
        return Motion(add(cross(self.w, other.v), cross(self.v, other.w)), cross(self.w, other.w))

    def cross_force(self, other: Force) -> Force:
        """−ad_selfᵀ(other) = (ω × f, ω × n + v × f): the rate of a wrench carried by this motion."""
        return Force(cross(self.w, other.f), add(cross(self.w, other.n), cross(self.v, other.f)))

    def dot(self, force: Force) -> Scalar:
        """Power of a wrench along this twist."""
        return dot(self.v, force.f) + dot(self.w, force.n)

    def to_parent(self, T: Pose) -> Motion:
        """From b to a, T = T_ab: Ad_T."""
        w = matvec(T.R, self.w)
        return Motion(add(matvec(T.R, self.v), cross(T.p, w)), w)

    def to_child(self, T: Pose) -> Motion:
        """From a to b, T = T_ab: Ad_T⁻¹."""
        return Motion(matvec_t(T.R, add(self.v, cross(self.w, T.p))), matvec_t(T.R, self.w))

    def at(self, p: Vector) -> Motion:
        """The same motion, its linear part taken at the point p of the same axes."""
        return Motion(add(self.v, cross(self.w, p)), self.w)

    def flat(self) -> tuple[Scalar, ...]:
        return (*self.v, *self.w)


@dataclass(frozen=True)
class Force:
    """Wrench (f, n), or a momentum."""

    f: Vector = ZERO
    n: Vector = ZERO

    def __add__(self, other: Force) -> Force:
        return Force(add(self.f, other.f), add(self.n, other.n))

    def __sub__(self, other: Force) -> Force:
        return Force(sub(self.f, other.f), sub(self.n, other.n))

    def __neg__(self) -> Force:
        return Force(neg(self.f), neg(self.n))

    def scaled(self, s: Scalar) -> Force:
        return Force(scale(s, self.f), scale(s, self.n))

    def to_parent(self, T: Pose) -> Force:
        """From b to a, T = T_ab: Ad_T⁻ᵀ."""
        f = matvec(T.R, self.f)
        return Force(f, add(matvec(T.R, self.n), cross(T.p, f)))

    def to_child(self, T: Pose) -> Force:
        """From a to b, T = T_ab: Ad_Tᵀ."""
        return Force(matvec_t(T.R, self.f), matvec_t(T.R, sub(self.n, cross(T.p, self.f))))

    def flat(self) -> tuple[Scalar, ...]:
        return (*self.f, *self.n)
