"""Derivatives of inverse and forward dynamics, in closed form from composite bodies.

When joint j turns a little, everything it carries turns with it: seen from there, the motion of what comes before has
turned the other way. With ψ̇ = V × S and ψ̈ = A × S + V × ψ̇ (V, A the twist and acceleration of the body before the
joint, gravity included), composites I^C, B^C and the force F^C that the joint transmits,

    ∂τ_k/∂q_j = S_kᵀ (2 B^C_k ψ̇_j + I^C_k ψ̈_j)                     for j before k,
    ∂τ_k/∂q_j = S_kᵀ (2 B^C_j ψ̇_j + I^C_j ψ̈_j + S_j ×* F^C_j)      for k before j or equal,
    ∂τ/∂q̇   = 2 C,      ∂τ/∂q̈ = M

(cf. Singh, Russell & Wensing 2022). Forward dynamics follows from ∂q̈ = −M⁻¹ ∂τ.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert import scalar
from dalembert.algorithms import articulated, composite, joints, linear
from dalembert.algorithms.composite import Square
from dalembert.algorithms.friction import friction_torque, loaded_acceleration, lost_parts, slopes
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Model
from dalembert.spatial import Motion, Pose
from dalembert.spatial.vector import ZERO, neg


def _accelerations(
    model: Model, T: Sequence[Pose], V: Sequence[Motion], qd: Coordinates, qdd: Coordinates
) -> tuple[list[Motion], list[Motion]]:
    """Per body, in its own frame: the spatial acceleration of the body before its joint, and its own."""
    rate, second = joints.rates(model, qd), joints.rates(model, qdd)
    ground = Motion(neg(model.gravity), ZERO)
    before: list[Motion] = []
    A: list[Motion] = []
    for i, body in enumerate(model.bodies):
        S = joints.subspace(body)
        before.append((A[body.parent] if body.parent >= 0 else ground).to_child(T[i]))
        A.append(before[i] + S.scaled(second[i]) + V[i].cross(S.scaled(rate[i])))
    return before, A


def inverse_dynamics_derivatives(
    model: Model, q: Coordinates, qd: Coordinates, qdd: Coordinates, friction: bool = False
) -> tuple[Square, Square, Square]:
    """(∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈), n×n each; the last is M. With friction, springs and friction add theirs (Coulomb
    friction is flat but for its jump); where it depends on the load, the last is M with its rows scaled."""
    N = len(model.bodies)
    T = joints.poses(model, q)
    V = joints.twists(model, T, qd)
    before, A = _accelerations(model, T, V, qd, qdd)
    S = [joints.subspace(body) for body in model.bodies]
    I = composite.composites(model, T)
    B = composite.velocity_factors(model, T, V)
    F = [b.inertia.momentum(A[i]) + V[i].cross_force(b.inertia.momentum(V[i])) for i, b in enumerate(model.bodies)]
    for i in reversed(range(N)):
        if model.parents[i] >= 0:
            F[model.parents[i]] = F[model.parents[i]] + F[i].to_parent(T[i])
    first = [V[i].cross(S[i]) for i in range(N)]  # ψ̇: the joint's own motion adds nothing, S × S = 0
    second = [before[i].cross(S[i]) + _carried_by_parent(V[i], S[i], first[i], qd, model, i) for i in range(N)]
    D_q, D_qd, M = ([[0.0] * N for _ in range(N)] for _ in range(3))
    for i, body in enumerate(model.bodies):
        # Column i, for the joints before it (and itself), and row i, for columns before it.
        velocity = I[i].momentum(first[i]) + B[i].apply(S[i])
        position = B[i].apply(first[i]).scaled(2.0) + I[i].momentum(second[i]) + S[i].cross_force(F[i])
        inertial, factor = I[i].momentum(S[i]), B[i].apply_transposed(S[i]).scaled(2.0)
        M[i][i] = S[i].dot(inertial) + body.rotor_inertia
        D_q[i][i], D_qd[i][i] = S[i].dot(position), 2.0 * S[i].dot(velocity)
        k = i
        while model.parents[k] >= 0:
            velocity, position, inertial, factor = (X.to_parent(T[k]) for X in (velocity, position, inertial, factor))
            k = model.parents[k]
            M[i][k] = M[k][i] = S[k].dot(inertial)
            D_q[k][i], D_qd[k][i] = S[k].dot(position), 2.0 * S[k].dot(velocity)
            D_q[i][k] = first[k].dot(factor) + second[k].dot(inertial)
            D_qd[i][k] = S[k].dot(factor) + 2.0 * first[k].dot(inertial)
    if friction:
        loads = [S[i].dot(F[i]) for i in range(N)]
        _brake(model, qd, loads, D_q, D_qd, M)
        for i, (body, slope) in enumerate(zip(model.bodies, slopes(model, qd, loads), strict=True)):
            D_q[i][i] = D_q[i][i] + body.stiffness
            D_qd[i][i] = D_qd[i][i] + slope
    return tuple(joints.gather_matrix(model, X) for X in (D_q, D_qd, M))  # type: ignore[return-value]


def _brake(model: Model, qd: Coordinates, loads: Coordinates, D_q: Square, D_qd: Square, M: Square) -> None:
    """Rows of joints whose friction takes μ σ |L| of the load L they transmit: d|L| = sgn L dL."""
    if not model.friction_by_load:
        return
    for i, (body, part) in enumerate(zip(model.bodies, lost_parts(model, qd), strict=True)):
        more = part * scalar.sign(loads[i])
        for X in (D_q, D_qd, M):
            X[i] = [x + more * x for x in X[i]]
        M[i][i] = M[i][i] - more * body.rotor_inertia


def _carried_by_parent(V: Motion, S: Motion, first: Motion, qd: Coordinates, model: Model, i: int) -> Motion:
    """V_before × ψ̇, with V_before = V − S q̇."""
    rate = model.bodies[i].multiplier * qd[model.bodies[i].coordinate]
    return (V - S.scaled(rate)).cross(first)


def forward_dynamics_derivatives(
    model: Model, q: Coordinates, qd: Coordinates, tau: Coordinates, friction: bool = False
) -> tuple[Square, Square, Square]:
    """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ), n×n each; the last is M⁻¹, but for friction that depends on the load."""
    by_load = friction and model.friction_by_load
    if by_load:
        qdd = loaded_acceleration(model, q, qd, tau)
    else:
        lost = friction_torque(model, q, qd) if friction else [0.0] * model.n
        qdd = articulated.factorized(model, q, qd, [t - f for t, f in zip(tau, lost, strict=True)])
    D_q, D_qd, M = inverse_dynamics_derivatives(model, q, qd, qdd, friction)
    one = [[1.0 if i == j else 0.0 for j in range(model.n)] for i in range(model.n)]
    inverse = linear.solve(M, one) if by_load else linear.inverse_ldl(M)
    minus = [[-x for x in row] for row in inverse]
    return linear.product(minus, D_q), linear.product(minus, D_qd), inverse
