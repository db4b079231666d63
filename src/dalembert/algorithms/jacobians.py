"""Jacobians of frames and centers of mass, their rates, and the analytic Jacobian.

Twists are linear first. `expressed_in` says which twist the columns are:
"world"    velocity of the frame's origin, in world axes,
"spatial"  the twist at the world's origin, in world axes,
"local"    the body twist, at the frame's origin in the frame's axes.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algorithms import joints, kinematics
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Frame, Model
from dalembert.spatial import Motion, Pose, rotation
from dalembert.spatial.vector import ZERO, Scalar, Vector, add, cross, matvec, matvec_t, scale, sub

EXPRESSIONS = ("world", "local", "spatial")
Matrix = list[list[Scalar]]


def _columns(model: Model, T: dict[int, Pose], body: int, p: Vector = ZERO) -> dict[int, Motion]:
    """For each joint on the path to a body, the twists of its columns at the point p in world axes; the world's origin,
    if no point is given. By their places in `model.columns`."""
    path = model.path(body)
    return {
        k: twist
        for i in path
        for k, twist in zip(model.columns[i], joints.twists_at(model.bodies[i], T[i], p), strict=True)
    }


def _assemble(model: Model, columns: dict[int, Motion]) -> Matrix:
    """A 6×nv matrix from the joints' columns, mimic joints folded into their masters."""
    J: list[list[Scalar]] = [[0.0] * 6 for _ in range(model.nv)]
    for body, own in zip(model.bodies, model.columns, strict=True):
        for k, at in enumerate(own, body.coordinate):
            if at in columns:
                J[k] = [a + body.multiplier * b for a, b in zip(J[k], columns[at].flat(), strict=True)]
    return [list(row) for row in zip(*J, strict=True)] if J else [[] for _ in range(6)]


def _to_local(R: Sequence[Vector], motion: Motion) -> Motion:
    return Motion(matvec_t(R, motion.v), matvec_t(R, motion.w))


def jacobian(model: Model, q: Coordinates, frame: Frame, expressed_in: str = "world") -> Matrix:
    """J(q), 6×n, with twist = J q̇.  [Poonawala] eqs. 6–7, [Lee]."""
    T = kinematics.world_poses(model, q, [frame.body])
    if expressed_in == "spatial":
        return _assemble(model, _columns(model, T, frame.body))
    T_f = T[frame.body] @ frame.pose if frame.body >= 0 else frame.pose
    columns = _columns(model, T, frame.body, T_f.p)
    if expressed_in == "local":
        columns = {i: _to_local(T_f.R, c) for i, c in columns.items()}
    return _assemble(model, columns)


def jacobian_dot(model: Model, q: Coordinates, qd: Coordinates, frame: Frame, expressed_in: str = "world") -> Matrix:
    """J̇(q, q̇), 6×n, column by column: the twist of a joint's column is carried by its body,
    J̇_i = Σ_j ad(J_j) J_i q̇_j over the joints j up to its own ([Fakhari 3]); what the
    reference point or axes add depends on `expressed_in`."""
    T = kinematics.world_poses(model, q, [frame.body])
    rates = joints.rates(model, qd)
    space = _columns(model, T, frame.body)
    velocity = Motion()  # of the body reached so far, at the world's origin
    rate_of: dict[int, Motion] = {}
    for i in model.path(frame.body):
        before = velocity
        for k in model.columns[i]:
            velocity = velocity + space[k].scaled(rates[k])
        for k in model.columns[i]:  # a lone column does not carry itself
            rate_of[k] = (before if len(model.columns[i]) == 1 else velocity).cross(space[k])
    if expressed_in == "spatial":
        return _assemble(model, rate_of)
    T_f = T[frame.body] @ frame.pose if frame.body >= 0 else frame.pose
    if expressed_in == "world":  # the point moves: d/dt (v + ω × p) = v̇ + ω̇ × p + ω × ṗ
        p_dot = velocity.at(T_f.p).v
        moved = {i: Motion(add(rate_of[i].at(T_f.p).v, cross(space[i].w, p_dot)), rate_of[i].w) for i in space}
        return _assemble(model, moved)
    # local: Ad⁻¹ of the moving frame, d/dt (Ad⁻¹ J) = Ad⁻¹ (J̇ − ad(V) J)
    local = {i: (rate_of[i] - velocity.cross(space[i])).to_child(T_f) for i in space}
    return _assemble(model, local)


def analytic_jacobian(model: Model, q: Coordinates, frame: Frame, angles: str = "zyz") -> Matrix:
    """J_a(q), 6×n, with (ḋ, α̇) = J_a q̇ and α the Euler angles of the frame: the rows of ω become
    B(α)⁻¹ ω.  [Poonawala] eq. 11. Where B is singular the result is not finite; `Robot` refuses there."""
    J = jacobian(model, q, frame, "world")
    return J[:3] + _product3(_inverse3(_euler_rates(model, q, frame, angles)), J[3:])


def analytic_jacobian_dot(model: Model, q: Coordinates, qd: Coordinates, frame: Frame, angles: str = "zyz") -> Matrix:
    """J̇_a(q, q̇), 6×n: from J_ω = B J_α follows J̇_α = B⁻¹ (J̇_ω − Ḃ J_α), with Ḃ along α̇ = J_α q̇."""
    B = _euler_rates(model, q, frame, angles)
    J_alpha = analytic_jacobian(model, q, frame, angles)[3:]
    rates = [sum((x * v for x, v in zip(row, qd, strict=True)), 0.0) for row in J_alpha]
    J_dot = jacobian_dot(model, q, qd, frame, "world")
    carried = _product3(rotation.euler_rates_dot(B, rates, angles), J_alpha)
    rest = [[a - b for a, b in zip(row, other, strict=True)] for row, other in zip(J_dot[3:], carried, strict=True)]
    return J_dot[:3] + _product3(_inverse3(B), rest)


def _euler_rates(model: Model, q: Coordinates, frame: Frame, angles: str) -> Sequence[Vector]:
    """B(α) of the frame's Euler angles."""
    R = kinematics.frame_pose(model, q, frame).R
    return rotation.euler_rates(rotation.euler_cos_sin(R, angles), angles)


def _product3(A: Sequence[Vector], J: Sequence[Sequence[Scalar]]) -> Matrix:
    """A J of a 3×3 matrix and three rows."""
    columns = [matvec(A, column) for column in zip(*J, strict=True)]
    return [[c[k] for c in columns] for k in range(3)]


def _inverse3(B: Sequence[Vector]) -> Sequence[Vector]:
    """B⁻¹ of a 3×3 matrix by cofactors."""
    a, b, c = zip(*B, strict=True)
    rows = (cross(b, c), cross(c, a), cross(a, b))
    det = a[0] * rows[0][0] + a[1] * rows[0][1] + a[2] * rows[0][2]
    return tuple(scale(1.0 / det, row) for row in rows)


def com_jacobian(model: Model, q: Coordinates, body: int) -> Matrix:
    """(J_vc; J_ω), 6×n: velocity of the body's own center of mass and its angular velocity, in world
    axes.  [Lagrange notes], [Lee]. A massless body is taken at its joint's origin."""
    inertia = model.bodies[body].inertia
    center = inertia.com() if inertia.m else ZERO
    return jacobian(model, q, Frame("com", body, Pose(p=center)), "world")


def center_of_mass_jacobian(model: Model, q: Coordinates) -> Matrix:
    """3×n: velocity of the whole robot's moving center of mass, Σ m_i J_vci / Σ m_i."""
    total = sum(b.inertia.m for b in model.bodies)
    T = kinematics.world_poses(model, q)
    J: Matrix = [[0.0] * model.nv for _ in range(3)]
    for i, b in enumerate(model.bodies):
        point = add(scale(b.inertia.m, T[i].p), matvec(T[i].R, b.inertia.h))  # m × center of mass
        for j in model.path(i):
            carrier = model.bodies[j]
            moment = sub(point, scale(b.inertia.m, T[j].p))
            for at, S in enumerate(joints.subspace(carrier), carrier.coordinate):
                column = add(scale(b.inertia.m, matvec(T[j].R, S.v)), cross(matvec(T[j].R, S.w), moment))
                for k in range(3):
                    J[k][at] = J[k][at] + carrier.multiplier * column[k]
    return [[x * (1.0 / total) for x in row] for row in J]
