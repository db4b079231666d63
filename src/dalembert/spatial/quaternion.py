"""Unit quaternions (x, y, z, w) over any scalar: R(q), products, exponential and logarithm, right at 0 and at π.

q and −q are the same rotation. The exponential of a rotation vector ω is (sin(|ω|/2) ω/|ω|, cos(|ω|/2)); a pose moves
along a body-fixed twist d = (v, ω) by exp(d) from the right, T⁺ = T exp(d)  (Murray, Li & Sastry 1994, §2.3).
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert import scalar
from dalembert.spatial.rotation import SMALL_ANGLE, even_series
from dalembert.spatial.vector import Matrix, Scalar, Vector, add, cross, dot, scale

Quaternion = Sequence[Scalar]


def rotation_matrix(q: Quaternion) -> Matrix:
    """R(q) of a quaternion of length one, without dividing by its length."""
    x, y, z, w = q
    x2, y2, z2 = 2.0 * x, 2.0 * y, 2.0 * z
    xx, yy, zz, xy, xz, yz = x2 * x, y2 * y, z2 * z, x2 * y, x2 * z, y2 * z
    wx, wy, wz = x2 * w, y2 * w, z2 * w
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """a b, with R(a b) = R(a) R(b)."""
    u, v = tuple(a[:3]), tuple(b[:3])
    return (*add(add(scale(a[3], v), scale(b[3], u)), cross(u, v)), a[3] * b[3] - dot(u, v))


def inverse(q: Quaternion) -> Quaternion:
    """q⁻¹ of a quaternion of length one."""
    return (-q[0], -q[1], -q[2], q[3])


def unit(q: Quaternion) -> Quaternion:
    """q / |q|."""
    factor = 1.0 / scalar.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return tuple(factor * x for x in q)


def exp(w: Vector) -> Quaternion:
    """The rotation by |w| about w."""
    quarter = 0.25 * dot(w, w)
    a, b, _ = even_series(quarter)
    return (*scale(0.5 * a, w), 1.0 - b * quarter)


def log(q: Quaternion) -> Vector:
    """w with exp(w) = ±q, |w| ≤ π."""
    same = q[3] >= 0.0
    u, c = tuple(scalar.where(same, x, -x) for x in q[:3]), scalar.where(same, q[3], -q[3])
    return scale(_angle_over_sine(u, c), u)


def _angle_over_sine(u: Vector, c: Scalar) -> Scalar:
    """θ / sin(θ/2), with |u| = sin(θ/2) and c = cos(θ/2) ≥ 0."""
    s2 = dot(u, u)
    small = s2 < SMALL_ANGLE * SMALL_ANGLE
    s = scalar.sqrt(scalar.where(small, 0.25, s2))  # keeps the closed form finite where it is not used
    return scalar.where(small, 2.0 + s2 / 3.0, 2.0 * scalar.arctan2(s, c) / s)


def exp_pose(v: Vector, w: Vector) -> tuple[Vector, Quaternion]:
    """(p, q) of exp(v, ω): p = v + b ω × v + c ω × (ω × v)."""
    _, b, c = even_series(dot(w, w))
    once = cross(w, v)
    return add(v, add(scale(b, once), scale(c, cross(w, once)))), exp(w)


def log_pose(p: Vector, q: Quaternion) -> tuple[Vector, Vector]:
    """(v, ω) with exp(v, ω) = (p, q): v = p − ½ ω × p + c ω × (ω × p), c = (1 − θ/2 cot θ/2) / θ²."""
    w = log(q)
    theta2 = dot(w, w)
    small = theta2 < 1e-4  # the series is right to 1e-17 there, where the closed form cancels
    t2 = scalar.where(small, 1.0, theta2)
    half = 0.5 * scalar.sqrt(t2)
    closed = (1.0 - half * scalar.cos(half) / scalar.sin(half)) / t2
    c = scalar.where(small, 1.0 / 12.0 + theta2 / 720.0 + theta2 * theta2 / 30240.0, closed)
    once = cross(w, p)
    return add(p, add(scale(-0.5, once), scale(c, cross(w, once)))), w


def rate(q: Quaternion, w: Vector) -> Quaternion:
    """q̇ = ½ q (ω, 0) for the body-fixed angular velocity ω."""
    return tuple(0.5 * x for x in product(q, (*w, 0.0)))
