"""Inertia of a rigid body as mass, first moment and rotational inertia about the frame's origin."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.spatial.motion import Force, Motion
from dalembert.spatial.pose import Pose
from dalembert.spatial.vector import (
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    congruence,
    cross,
    dot,
    matadd,
    matscale,
    matsub,
    matvec,
    outer,
    scale,
    symmetric,
)

_ZERO3 = (ZERO, ZERO, ZERO)


def second_moment(c: Vector) -> Matrix:
    """c·c 1 − c cᵀ: what a unit mass at c adds to the inertia about the origin (parallel axis)."""
    x, y, z = c
    return ((y * y + z * z, -x * y, -x * z), (-x * y, x * x + z * z, -y * z), (-x * z, -y * z, x * x + y * y))


def _moment_shift(h: Vector, d: Vector) -> Matrix:
    """2 h·d 1 − h dᵀ − d hᵀ."""
    s = dot(h, d)
    H = outer(h, d)
    return tuple(tuple((2.0 * s if i == j else 0.0) - H[i][j] - H[j][i] for j in range(3)) for i in range(3))


@dataclass(frozen=True)
class Inertia:
    """m [kg], h = m c [kg m], I [kg m²] about the frame's origin, tensor sign (I_xy = −∫xy dm).

    As an operator on a twist: (m v + ω × h, I ω + h × v), the momentum.
    """

    m: Scalar = 0.0
    h: Vector = ZERO
    I: Matrix = _ZERO3

    @staticmethod
    def from_com(m: Scalar, c: Vector, I_c: Matrix) -> Inertia:
        """From mass, center of mass and the inertia about it (Steiner)."""
        return Inertia(m, scale(m, c), matadd(I_c, matscale(m, second_moment(c))))

    @staticmethod
    def from_moments(m: Scalar, h: Vector, S: Matrix) -> Inertia:
        """From mass, first moment and second moments Σ = ∫ r rᵀ dm."""
        xx, yy, zz = (S[k][k] for k in range(3))
        diagonal = (yy + zz, xx + zz, xx + yy)
        return Inertia(m, h, tuple(tuple(diagonal[i] if i == j else -S[i][j] for j in range(3)) for i in range(3)))

    def parameters(self) -> tuple[Scalar, ...]:
        """(m, m c_x, m c_y, m c_z, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz) about the origin."""
        I = self.I
        return (self.m, *self.h, I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2])

    def com(self) -> Vector:
        """Center of mass; needs m ≠ 0."""
        return scale(1.0 / self.m, self.h)

    def about_com(self) -> Matrix:
        """Inertia about the center of mass; needs m ≠ 0."""
        return matsub(self.I, matscale(self.m, second_moment(self.com())))

    def second_moments(self) -> Matrix:
        """Σ = ∫ r rᵀ dm = ½ tr(I) 1 − I, written so that what is zero in Σ comes out as zero."""
        I = self.I
        xx, yy, zz = I[0][0], I[1][1], I[2][2]
        return (
            (0.5 * (yy + zz - xx), -I[0][1], -I[0][2]),
            (-I[0][1], 0.5 * (xx + zz - yy), -I[1][2]),
            (-I[0][2], -I[1][2], 0.5 * (xx + yy - zz)),
        )

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.m + other.m, add(self.h, other.h), matadd(self.I, other.I))

    def __sub__(self, other: Inertia) -> Inertia:
        return self + Inertia(-other.m, scale(-1.0, other.h), matscale(-1.0, other.I))

    def to_parent(self, T: Pose) -> Inertia:
        """The same body seen from a, T = T_ab, without dividing by m: massless bodies are fine."""
        h = matvec(T.R, self.h)
        shift = matadd(_moment_shift(h, T.p), matscale(self.m, second_moment(T.p)))
        return Inertia(self.m, add(h, scale(self.m, T.p)), symmetric(matadd(congruence(T.R, self.I), shift)))

    def momentum(self, V: Motion) -> Force:
        """Spatial momentum (m v + ω × h, I ω + h × v)."""
        return Force(add(scale(self.m, V.v), cross(V.w, self.h)), add(matvec(self.I, V.w), cross(self.h, V.v)))

    def matrix(self) -> Matrix:
        """The 6×6 spatial inertia 𝒢 for twists (v, ω)."""
        m, (x, y, z) = self.m, self.h
        top = ((m, 0.0, 0.0, 0.0, z, -y), (0.0, m, 0.0, -z, 0.0, x), (0.0, 0.0, m, y, -x, 0.0))
        H = ((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0))
        return (*top, *((*H[i], *self.I[i]) for i in range(3)))
