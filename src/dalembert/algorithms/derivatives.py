"""Derivatives of inverse and forward dynamics, in closed form from composite bodies.

When joint j turns a little, everything it carries turns with it: seen from there, the motion of what comes before has
turned the other way. With ψ̇ = V × S and ψ̈ = A × S + V × ψ̇ (V, A the twist and acceleration of the body before the
joint, gravity included), composites I^C, B^C and the force F^C that the joint transmits,

    ∂τ_k/∂q_j = S_kᵀ (2 B^C_k ψ̇_j + I^C_k ψ̈_j)                     for j before k,
    ∂τ_k/∂q_j = S_kᵀ (2 B^C_j ψ̇_j + I^C_j ψ̈_j + S_j ×* F^C_j)      for k before j or equal,
    ∂τ/∂q̇   = 2 C,      ∂τ/∂q̈ = M.

A joint of several columns: ∂/∂q is along q ⊕ ε, a body-fixed twist; its own columns take no S_j ×* F^C_j from each
other; and in ∂τ/∂q̇ the mean of ψ̇ and V × S (V after the joint) stands where one column has either.
(Cf. Singh, Russell & Wensing 2022.) Forward dynamics follows from ∂q̈ = −M⁻¹ ∂τ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dalembert import scalar
from dalembert.algorithms import articulated, composite, joints, linear
from dalembert.algorithms.composite import Square
from dalembert.algorithms.friction import by_column, friction_torque, loaded_acceleration, lost_parts, slopes
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
        before.append((A[body.parent] if body.parent >= 0 else ground).to_child(T[i]))
        A.append(before[i] + joints.relative(model, i, second) + V[i].cross(joints.relative(model, i, rate)))
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
    I = composite.composites(model, T)
    twice = [v.scaled(2.0) for v in V]
    B = composite.velocity_factors(model, T, twice)  # of twice the velocity: 2 B^C, in which all is written
    F = [b.inertia.momentum(A[i]) + V[i].cross_force(b.inertia.momentum(V[i])) for i, b in enumerate(model.bodies)]
    for i in reversed(range(N)):
        if model.parents[i] >= 0:
            F[model.parents[i]] = F[model.parents[i]] + F[i].to_parent(T[i])
    columns = [own for i in range(N) for own in _columns(model, i, V[i], twice[i], before[i], qd)]
    D_q, D_qd, M = (composite.empty(model) for _ in range(3))
    for i, body in enumerate(model.bodies):
        for a in model.columns[i]:
            # Column a, for the joints before it (and its own), and row a, for columns before it.
            c = columns[a]
            velocity = I[i].momentum(c.sum) + B[i].apply(c.S)
            position = B[i].apply(c.first) + I[i].momentum(c.second)
            inertial, factor = I[i].momentum(c.S), B[i].apply_transposed(c.S)
            for b in model.columns[i]:
                M[b][a] = columns[b].S.dot(inertial) + (body.rotor_inertia if a == b else 0.0)
                D_q[b][a], D_qd[b][a] = columns[b].S.dot(position), columns[b].S.dot(velocity)
            position = position + c.S.cross_force(F[i])
            k = i
            while model.parents[k] >= 0:
                velocity, position, inertial, factor = (
                    X.to_parent(T[k]) for X in (velocity, position, inertial, factor)
                )
                k = model.parents[k]
                for b in model.columns[k]:
                    d = columns[b]
                    M[a][b] = M[b][a] = d.S.dot(inertial)
                    D_q[b][a], D_qd[b][a] = d.S.dot(position), d.S.dot(velocity)
                    D_q[a][b] = d.first.dot(factor) + d.second.dot(inertial)
                    D_qd[a][b] = d.S.dot(factor) + d.sum.dot(inertial)
    if friction:
        loads = [columns[a].S.dot(F[i]) for i in range(N) for a in model.columns[i]]
        _brake(model, qd, loads, D_q, D_qd, M)
        for i, (body, slope) in enumerate(zip(by_column(model), slopes(model, qd, loads), strict=True)):
            D_q[i][i] = D_q[i][i] + body.stiffness
            D_qd[i][i] = D_qd[i][i] + slope
    return tuple(joints.gather_matrix(model, X) for X in (D_q, D_qd, M))  # type: ignore[return-value]


def _brake(model: Model, qd: Coordinates, loads: Coordinates, D_q: Square, D_qd: Square, M: Square) -> None:
    """Rows of joints whose friction takes μ σ |L| of the load L they transmit: d|L| = sgn L dL."""
    if not model.friction_by_load:
        return
    for i, (body, part) in enumerate(zip(by_column(model), lost_parts(model, qd), strict=True)):
        more = part * scalar.sign(loads[i])
        for X in (D_q, D_qd, M):
            X[i] = [x + more * x for x in X[i]]
        M[i][i] = M[i][i] - more * body.rotor_inertia


class _Column(NamedTuple):
    """A column S of a joint, ψ̇ and ψ̈, and the sum of ψ̇ and Ṡ = V × S: twice the same, where the joint has only one
    column, because its own motion adds nothing, S × S = 0."""

    S: Motion
    first: Motion
    second: Motion
    sum: Motion


def _columns(model: Model, i: int, V: Motion, twice: Motion, A: Motion, qd: Coordinates) -> Iterator[_Column]:
    """The columns of the joint of body i, of twist V (`twice` is 2 V), after a body of acceleration A."""
    V_before = V - joints.relative(model, i, joints.rates(model, qd))
    own = joints.subspace(model.bodies[i])
    for S in own:
        rate = V.cross(S)
        first = rate if len(own) == 1 else V_before.cross(S)
        both = twice.cross(S) if len(own) == 1 else first + rate
        yield _Column(S, first, A.cross(S) + V_before.cross(first), both)


def forward_dynamics_derivatives(
    model: Model, q: Coordinates, qd: Coordinates, tau: Coordinates, friction: bool = False
) -> tuple[Square, Square, Square]:
    """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ), n×n each; the last is M⁻¹, but for friction that depends on the load."""
    by_load = friction and model.friction_by_load
    if by_load:
        qdd = loaded_acceleration(model, q, qd, tau)
    else:
        lost = friction_torque(model, q, qd) if friction else [0.0] * model.nv
        qdd = articulated.factorized(model, q, qd, [t - f for t, f in zip(tau, lost, strict=True)])
    D_q, D_qd, M = inverse_dynamics_derivatives(model, q, qd, qdd, friction)
    if not by_load:
        inverse, (by_q, by_qd) = linear.inverse_and_slopes(M, D_q, D_qd)
        return by_q, by_qd, inverse
    one = [[1.0 if i == j else 0.0 for j in range(model.nv)] for i in range(model.nv)]
    inverse = linear.solve(M, one)
    minus = [[-x for x in row] for row in inverse]
    return linear.product(minus, D_q), linear.product(minus, D_qd), inverse
