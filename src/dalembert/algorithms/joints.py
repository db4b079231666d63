"""What a joint does: where it puts its body, and how the body moves with it."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert import scalar
from dalembert.model import Body, Model
from dalembert.spatial import Motion, Pose
from dalembert.spatial.rotation import about
from dalembert.spatial.vector import ZERO, Scalar, add, matmul, matvec, scale

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
    T = body.placement
    if body.kind == "revolute":
        return Pose(matmul(T.R, about(body.axis, scalar.cos(x), scalar.sin(x))), T.p)
    return Pose(T.R, add(T.p, scale(x, matvec(T.R, body.axis))))


def subspace(body: Body) -> Motion:
    """S: the twist of the body against its parent at unit rate, in the body's frame."""
    return Motion(ZERO, body.axis) if body.kind == "revolute" else Motion(body.axis, ZERO)


def poses(model: Model, q: Coordinates) -> list[Pose]:
    """Each body's frame in its parent's."""
    return [pose(b, x) for b, x in zip(model.bodies, positions(model, q), strict=True)]


def twists(model: Model, T: Sequence[Pose], qd: Coordinates) -> list[Motion]:
    """Each body's twist in its own frame, over a resting base. Seed 002: ω from Ṙ Rᵀ."""
    V: list[Motion] = []
    for body, T_i, rate in zip(model.bodies, T, rates(model, qd), strict=True):
        own = subspace(body).scaled(rate)
        V.append(V[body.parent].to_child(T_i) + own if body.parent >= 0 else own)
    return V
