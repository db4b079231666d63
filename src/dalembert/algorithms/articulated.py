"""Forward dynamics by articulated bodies, and by factorizing the mass matrix.

An articulated inertia relates the force on a body to its acceleration when everything it carries is
free to move. It is symmetric but no longer that of a rigid body: f = M a + Hᵀ α, n = H a + J α.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dalembert.algorithms import composite, joints, linear, newton_euler
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Model
from dalembert.spatial import Force, Inertia, Motion, Pose
from dalembert.spatial.vector import (
    Matrix,
    Scalar,
    add,
    congruence,
    matadd,
    matmul,
    matsub,
    matvec,
    matvec_t,
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

    def freed(self, U: Force, inverse: Scalar, free: int | None) -> ArticulatedInertia:
        """I − U Uᵀ / d: what is left when the joint gives way. Along the component `free` of twists nothing is left:
        these zeros are written as such, since rounding would hide them."""
        f, n = scale(inverse, U.f), scale(inverse, U.n)
        rest = ArticulatedInertia(
            symmetric(matsub(self.M, outer(f, U.f))),
            matsub(self.H, outer(n, U.f)),
            symmetric(matsub(self.J, outer(n, U.n))),
        )
        if free is None:
            return rest
        row, column = (free, None) if free < 3 else (None, free - 3)
        return ArticulatedInertia(
            _cleared(rest.M, row, row), _cleared(rest.H, column, row), _cleared(rest.J, column, column)
        )

    def to_parent(self, T: Pose) -> ArticulatedInertia:
        P = skew(T.p)
        M = congruence(T.R, self.M)
        H = matmul(matmul(T.R, self.H), transpose(T.R))
        H_a = matadd(H, matmul(P, M))
        J_a = matadd(matsub(congruence(T.R, self.J), matmul(H, P)), matmul(P, transpose(H_a)))
        return ArticulatedInertia(M, H_a, symmetric(J_a))


def _cleared(A: Matrix, row: int | None, column: int | None) -> Matrix:
    """A matrix with a row and a column of zeros."""
    return tuple(tuple(0.0 if i == row or j == column else x for j, x in enumerate(r)) for i, r in enumerate(A))


def _free_component(S: Motion, rotor: Scalar) -> int | None:
    """Which component of twists the column S is, where no rotor holds the body back along it."""
    units = [k for k, x in enumerate(S.flat()) if x != 0.0]
    return units[0] if len(units) == 1 and linear.structural_zero(rotor) else None


def articulated_bodies(
    model: Model, q: Coordinates, qd: Coordinates, tau: Coordinates, wrenches: Mapping[int, Force] | None = None
) -> list[Scalar]:
    """q̈ = M⁻¹ (τ − h + Σ Jᵀ F) in O(n).  Featherstone 2008, §7.3. For trees without mimic joints.

    Its bias forces p are those of Newton and Euler at q̈ = 0, and accelerations a what q̈ adds: no term of velocities is
    left in the recursion."""
    T = joints.poses(model, q)
    S = [joints.subspace(body) for body in model.bodies]
    I = [ArticulatedInertia.rigid(body.inertia) for body in model.bodies]
    p = newton_euler.body_forces(model, q, qd, [0.0] * model.nv, wrenches)
    U: list[Force] = [Force()] * model.nv
    inverse: list[Scalar] = [0.0] * model.nv
    u: list[Scalar] = [0.0] * model.nv
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        for a, column in zip(model.columns[i], S[i], strict=True):  # each column gives way, then the next
            U[a] = I[i].apply(column)
            inverse[a] = 1.0 / (column.dot(U[a]) + body.rotor_inertia)
            u[a] = tau[a] - column.dot(p[i])
            I[i] = I[i].freed(U[a], inverse[a], _free_component(column, body.rotor_inertia))
            p[i] = p[i] + U[a].scaled(u[a] * inverse[a])
        if body.parent >= 0:
            I[body.parent] = I[body.parent] + I[i].to_parent(T[i])
            p[body.parent] = p[body.parent] + p[i].to_parent(T[i])
    qdd: list[Scalar] = [0.0] * model.nv
    A: list[Motion] = []
    for i, body in enumerate(model.bodies):
        carried = A[body.parent].to_child(T[i]) if body.parent >= 0 else Motion()
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
    """q̈ = M \\ (τ − h + Σ Jᵀ F): mass matrix, bias and a factorization. Right for mimic joints, which couple bodies
    on different branches, and over a moving base too."""
    zero = [0.0] * model.nv
    h = newton_euler.inverse_dynamics(model, q, qd, zero, wrenches, base)
    M = composite.mass_matrix(model, q)
    return linear.solve_ldl(M, [t - b for t, b in zip(tau, h, strict=True)])


# One table: what `forward_dynamics` may be asked to use.
METHODS = {"articulated": articulated_bodies, "factorized": factorized}
