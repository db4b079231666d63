"""Forward kinematics with a small correction at the base, at every joint and at the tool, and its Jacobian.

    T = T_base E₀ · Π Pᵢ Eᵢ Jᵢ(qᵢ) · T_f T_tool E_tool,      E = (d, exp S(w)) of six numbers x = (d, w)

Six numbers per frame, wherever axes point: between parallel axes, where DH's d and common normal jump, nothing happens
(Hayati & Mirmirani 1985 add a rotation there; here it is one of the six). Over any scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalembert.algorithms import joints
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Body, Frame, Model
from dalembert.spatial import Pose
from dalembert.spatial.rotation import even_series, exp3, perpendicular
from dalembert.spatial.vector import (
    IDENTITY,
    Matrix,
    Scalar,
    Vector,
    cross,
    matadd,
    matmul,
    matscale,
    skew,
    sub,
    transpose,
)

Six = Sequence[Scalar]


def axes_of(body: Body) -> tuple[Matrix, tuple[str, str, str], int]:
    """(the axes in which a joint's correction is given, their names, which of them is the joint's own).

    The joint frame's x, y, z where its axis is one of them; else u, v across the axis and w along it."""
    zeros = [k for k in range(3) if body.joint.axis[k] == 0.0]
    if len(zeros) == 2:
        return IDENTITY, ("x", "y", "z"), next(k for k in range(3) if k not in zeros)
    u = perpendicular(body.joint.axis)
    return transpose((u, cross(body.joint.axis, u), body.joint.axis)), ("u", "v", "w"), 2


def correction(x: Six) -> Pose:
    """E(x): translation (x₁, x₂, x₃) and rotation vector (x₄, x₅, x₆)."""
    return Pose(exp3(tuple(x[3:])), tuple(x[:3]))


def left_jacobian(w: Vector) -> Matrix:
    """J_l(w) with ω = J_l(w) ẇ for the rotation exp S(w), in the axes that it starts from: 1 + b S + c S²."""
    _, b, c = even_series(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    S = skew(w)
    return matadd(IDENTITY, matadd(matscale(b, S), matscale(c, matmul(S, S))))


def corrected_pose(
    model: Model, q: Coordinates, frame: Frame, X: Sequence[Six], base: Pose, tool: Pose
) -> tuple[Pose, list[list[Scalar]]]:
    """(T, J): the pose of the measured target, and its derivative: (v, ω) = J Ẋ, 6 × 6·len(X), the velocity of the
    target's origin and its angular velocity in the axes of the measuring system.

    X holds six numbers each for the base, for every joint on the way to the frame in that order, and for the tool."""
    path = model.path(frame.body)
    x = joints.positions(model, q)
    stations: list[tuple[Matrix, Matrix, Vector]] = []

    def correct(T: Pose, six: Six) -> Pose:
        after = T @ correction(six)
        stations.append((T.R, left_jacobian(tuple(six[3:])), after.p))
        return after

    T = correct(base, X[0])
    for row, i in enumerate(path, start=1):
        body = model.bodies[i]
        R, _, _ = axes_of(body)
        T = correct(T @ body.placement @ Pose(R), X[row]) @ Pose(transpose(R))
        T = T @ joints.pose(replace(body, placement=Pose()), x[i])
    T = correct(T @ frame.pose @ tool, X[len(path) + 1])
    columns: list[tuple[Scalar, ...]] = []
    for R, left, p in stations:
        columns += [(*v, 0.0, 0.0, 0.0) for v in transpose(R)]  # translations move the target by themselves
        # Rotations turn it about the corrected origin.
        columns += [(*cross(w, sub(T.p, p)), *w) for w in transpose(matmul(R, left))]
    return T, [list(row) for row in zip(*columns, strict=True)]


def correct_origin(origin: Pose, body: Body, x: Six) -> Pose:
    """A joint's origin with its correction, which is given in the axes of `axes_of`."""
    R, _, _ = axes_of(body)
    return origin @ Pose(R) @ correction(x) @ Pose(transpose(R))
