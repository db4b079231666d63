"""What a joint does: where it puts its body, and how the body moves with it."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.model import Body, Model
from dalembert.spatial import Motion, Pose
from dalembert.spatial.vector import Scalar, Vector, add, cross, matvec, sub

Coordinates = Sequence[Scalar]


def positions(model: Model, q: Coordinates) -> list[Scalar]:
    """Every joint's own position, mimic joints included: multiplier · q[coordinate] + offset."""
    return [b.multiplier * q[b.coordinate] + b.offset for b in model.bodies]


def rates(model: Model, qd: Coordinates) -> list[Scalar]:
    """Every joint's own rate (or acceleration), mimic joints included."""
    return [b.multiplier * qd[b.coordinate] for b in model.bodies]


def gather(model: Model, tau: Coordinates) -> list[Scalar]:
    """Joint torques collected on the coordinates: the transpose of `rates`."""
    total: list[Scalar] = [0.0] * model.n
    for body, t in zip(model.bodies, tau, strict=True):
        total[body.coordinate] = total[body.coordinate] + body.multiplier * t
    return total


def gather_matrix(model: Model, A: Sequence[Coordinates]) -> list[list[Scalar]]:
    """Gᵀ A G for a matrix over the joints, G = ∂(joint rates)/∂q̇."""
    if not model.mimics:
        return [list(row) for row in A]
    rows = [gather(model, row) for row in A]
    columns = [gather(model, column) for column in zip(*rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def pose(body: Body, x: Scalar) -> Pose:
    """The body's frame in its parent's, the joint at x."""
    return body.joint.pose(body.placement, (x,))


def subspace(body: Body) -> Motion:
    """S: the twist of the body against its parent at unit rate, in the body's frame."""
    (S,) = body.joint.subspace(())  # constant in the body's frame for every joint of one coordinate
    return S


def twist_at(body: Body, T: Pose, p: Vector) -> Motion:
    """The same at the point p, in world axes, the body's frame being at T: z for a prismatic joint, z × (p − o) for a
    revolute one."""
    S = subspace(body)
    axis = matvec(T.R, S.w)
    return Motion(add(matvec(T.R, S.v), cross(axis, sub(p, T.p))), axis)


def poses(model: Model, q: Coordinates) -> list[Pose]:
    """Each body's frame in its parent's."""
    return [pose(b, x) for b, x in zip(model.bodies, positions(model, q), strict=True)]


def twists(model: Model, T: Sequence[Pose], qd: Coordinates) -> list[Motion]:
    """Each body's twist in its own frame, over a resting base. [Lagrange notes]: ω from Ṙ Rᵀ."""
    V: list[Motion] = []
    for body, T_i, rate in zip(model.bodies, T, rates(model, qd), strict=True):
        own = subspace(body).scaled(rate)
        V.append(V[body.parent].to_child(T_i) + own if body.parent >= 0 else own)
    return V
