"""Forward dynamics by articulated bodies, and by factorizing the mass matrix.

An articulated inertia relates the force on a body to its acceleration when everything it carries is
free to move. It is symmetric but no longer that of a rigid body: f = M a + Hᵀ α, n = H a + J α.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalembert.algorithms import composite, joints, linear, newton_euler
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Model
from dalembert.spatial import Force, Inertia, Motion, Pose
from dalembert.spatial.vector import (
    ZERO,
    Matrix,
    Scalar,
    add,
    congruence,
    matadd,
    matmul,
    matsub,
    matvec,
    matvec_t,
    neg,
    outer,
    scale,
    skew,
    symmetric,
    transpose,
)


@dataclass(frozen=True)
class ArticulatedInertia:
    """Symmetric M (linear), H (coupling, n from a) and symmetric J (angular)."""

    M: Matrix
    H: Matrix
    J: Matrix

    @staticmethod
    def rigid(inertia: Inertia) -> ArticulatedInertia:
        m = inertia.m
        return ArticulatedInertia(((m, 0.0, 0.0), (0.0, m, 0.0), (0.0, 0.0, m)), skew(inertia.h), inertia.I)

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(
            symmetric(matadd(self.M, other.M)), matadd(self.H, other.H), symmetric(matadd(self.J, other.J))
        )

    def apply(self, A: Motion) -> Force:
        return Force(add(matvec(self.M, A.v), matvec_t(self.H, A.w)), add(matvec(self.H, A.v), matvec(self.J, A.w)))

    def freed(self, U: Force, inverse: Scalar) -> ArticulatedInertia:
        """I − U Uᵀ / d: what is left when the joint gives way."""
        f, n = scale(inverse, U.f), scale(inverse, U.n)
        return ArticulatedInertia(
            symmetric(matsub(self.M, outer(f, U.f))),
            matsub(self.H, outer(n, U.f)),
            symmetric(matsub(self.J, outer(n, U.n))),
        )

    def to_parent(self, T: Pose) -> ArticulatedInertia:
        P = skew(T.p)
        M = congruence(T.R, self.M)
        H = matmul(matmul(T.R, self.H), transpose(T.R))
        H_a = matadd(H, matmul(P, M))
        J_a = matadd(matsub(congruence(T.R, self.J), matmul(H, P)), matmul(P, transpose(H_a)))
        return ArticulatedInertia(M, H_a, symmetric(J_a))


def _bias(model: Model, V: Sequence[Motion], wrenches: Mapping[int, Force]) -> list[Force]:
    """p: the wrench on each body at zero acceleration, V ×* I V, and what it applies outside."""
    return [V[i].cross_force(b.inertia.momentum(V[i])) + wrenches.get(i, Force()) for i, b in enumerate(model.bodies)]


def articulated_bodies(
    model: Model, q: Coordinates, qd: Coordinates, tau: Coordinates, wrenches: Mapping[int, Force] | None = None
) -> list[Scalar]:
    """q̈ = M⁻¹ (τ − h − Σ Jᵀ F) in O(n).  Featherstone 2008, §7.3. For trees without mimic joints."""
    N = len(model.bodies)
    T = joints.poses(model, q)
    V = joints.twists(model, T, qd)
    S = [joints.subspace(body) for body in model.bodies]
    rate = joints.rates(model, qd)
    drift = [V[i].cross(joints.relative(model, i, rate)) for i in range(N)]
    I = [ArticulatedInertia.rigid(body.inertia) for body in model.bodies]
    p = _bias(model, V, wrenches or {})
    U: list[Force] = [Force()] * model.nv
    inverse: list[Scalar] = [0.0] * model.nv
    u: list[Scalar] = [0.0] * model.nv
    for i in reversed(range(N)):
        body, last = model.bodies[i], model.columns[i][-1]
        for a, column in zip(model.columns[i], S[i], strict=True):  # each column gives way, then the next
            U[a] = I[i].apply(column)
            inverse[a] = 1.0 / (column.dot(U[a]) + body.rotor_inertia)
            u[a] = tau[a] - column.dot(p[i])
            if a != last:
                I[i] = I[i].freed(U[a], inverse[a])
                p[i] = p[i] + U[a].scaled(u[a] * inverse[a])
        if body.parent >= 0:
            I_a = I[i].freed(U[last], inverse[last])
            p_a = p[i] + I_a.apply(drift[i]) + U[last].scaled(u[last] * inverse[last])
            I[body.parent] = I[body.parent] + I_a.to_parent(T[i])
            p[body.parent] = p[body.parent] + p_a.to_parent(T[i])
    qdd: list[Scalar] = [0.0] * model.nv
    A: list[Motion] = []
    ground = Motion(neg(model.gravity), ZERO)
    for i, body in enumerate(model.bodies):
        carried = (A[body.parent] if body.parent >= 0 else ground).to_child(T[i]) + drift[i]
        for a, column in reversed(list(zip(model.columns[i], S[i], strict=True))):
            qdd[a] = inverse[a] * (u[a] - carried.dot(U[a]))
            carried = carried + column.scaled(qdd[a])
        A.append(carried)
    return qdd


def factorized(
    model: Model,
    q: Coordinates,
    qd: Coordinates,
    tau: Coordinates,
    wrenches: Mapping[int, Force] | None = None,
    base: newton_euler.Acceleration | None = None,
) -> list[Scalar]:
    """q̈ = M \\ (τ − h − Σ Jᵀ F): mass matrix, bias and a factorization. Right for mimic joints, which couple bodies
    on different branches, and over a moving base too."""
    zero = [0.0] * model.nv
    h = newton_euler.inverse_dynamics(model, q, qd, zero, wrenches, base)
    M = composite.mass_matrix(model, q)
    return linear.solve_ldl(M, [t - b for t, b in zip(tau, h, strict=True)])


# One table: what `forward_dynamics` may be asked to use.
METHODS = {"articulated": articulated_bodies, "factorized": factorized}
