"""Dynamics in task space: what a frame's rows x feel of the arm, F = M_C ẍ + c_C + g_C + F_tip.  [Fakhari 3].

With ẋ = J q̇ (J geometric or analytic, m rows of it, m ≤ n) and τ = M q̈ + C q̇ + g + Jᵀ F_tip, multiply by J M⁻¹ and
put ẍ = J q̈ + J̇ q̇ in:

    M_C = (J M⁻¹ Jᵀ)⁻¹,    J̄ = M⁻¹ Jᵀ M_C,    F = J̄ᵀ τ,    c_C = (J̄ᵀ C − M_C J̇) q̇,    g_C = J̄ᵀ g.

Nothing was assumed about q̇, so this holds in the null space too. For square J, J̄ = J⁻¹ and M_C = J⁻ᵀ M J⁻¹. The matrix

    C_C = (J̄ᵀ C − M_C J̇) J̄    has    Ṁ_C − 2 C_C = J̄ᵀ (Ṁ − 2C) J̄ + M_C J̇ J̄ − (M_C J̇ J̄)ᵀ,

skew-symmetric for any q̇, because Ṁ_C = J̄ᵀ Ṁ J̄ − M_C J̇ J̄ − (M_C J̇ J̄)ᵀ. C_C ẋ = c_C if q̇ = J̄ ẋ, always so for square J;
else c_C = C_C ẋ + (J̄ᵀ C − M_C J̇) N q̇ with N = I − J̄ J.

M_C is not had from J M⁻¹ Jᵀ, whose condition is that of J squared: the rows of J are made orthogonal in the metric M⁻¹.
Khatib 1987 has the general form and J̄.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algorithms import composite, jacobians, linear, newton_euler
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Frame, Model
from dalembert.spatial.vector import Scalar

Matrix = list[list[Scalar]]
GEOMETRIC = "geometric"


@dataclass(frozen=True)
class Inverse:
    """M_C (m, m), J̄ (n, m) and the mobility J M⁻¹ Jᵀ (m, m)."""

    M: Matrix
    J_bar: Matrix
    mobility: Matrix


def task_jacobian(model: Model, q: Coordinates, frame: Frame, jacobian: str, expressed_in: str = "world") -> Matrix:
    """J of all six rows: geometric, or analytic for the Euler sequence that `jacobian` names."""
    if jacobian == GEOMETRIC:
        return jacobians.jacobian(model, q, frame, expressed_in)
    return jacobians.analytic_jacobian(model, q, frame, jacobian)


def task_jacobian_dot(
    model: Model, q: Coordinates, qd: Coordinates, frame: Frame, jacobian: str, expressed_in: str = "world"
) -> Matrix:
    """J̇ of all six rows, of the same Jacobian."""
    if jacobian == GEOMETRIC:
        return jacobians.jacobian_dot(model, q, qd, frame, expressed_in)
    return jacobians.analytic_jacobian_dot(model, q, qd, frame, jacobian)


def consistent_inverse(M: linear.Rows, J: linear.Rows, damping: Scalar | None = None) -> Inverse:
    """(J M⁻¹ Jᵀ [+ λ² I])⁻¹ and J̄ = M⁻¹ Jᵀ (…)⁻¹.

    M = Lᵀ D L and z = L⁻ᵀ Jᵀ turn M⁻¹ into D⁻¹. Gram and Schmidt (modified, without roots) make the columns
    (z_i, λ e_i) orthogonal, z = V R with R unit upper triangular and E = Vᵀ D⁻¹ V [+ λ²…] diagonal. Then
    J M⁻¹ Jᵀ [+ λ² I] = Rᵀ E R, its inverse is R⁻¹ E⁻¹ R⁻ᵀ, and J̄ = L⁻¹ D⁻¹ (V E⁻¹ R⁻ᵀ)."""
    L, inverse = linear.factor_ldl(M)
    m = len(J)
    Z = [linear.solve_transposed(L, row) for row in J]
    weighed = [[x * d for x, d in zip(z, inverse, strict=True)] for z in Z]
    mobility: Matrix = [[0.0] * m for _ in range(m)]
    for i in range(m):
        for j in range(i + 1):
            mobility[i][j] = mobility[j][i] = linear.inner(Z[i], weighed[j])
    extra: Matrix = [[0.0] * m for _ in range(m)]
    if damping is not None:
        extra = [[damping if i == j else 0.0 for j in range(m)] for i in range(m)]
    metric = [*inverse, *[1.0] * m]
    V = [[*z, *e] for z, e in zip(Z, extra, strict=True)]
    R, E = _orthogonal(V, metric)
    n = len(inverse)
    X = [[x * e for x in v[:n]] for v, e in zip(V, E, strict=True)]  # V E⁻¹, then times R⁻ᵀ from the last column
    P: Matrix = [[1.0 if i == j else 0.0 for j in range(m)] for i in range(m)]  # rows of R⁻¹
    for j in reversed(range(m)):
        for k in range(j + 1, m):
            X[j] = [x - R[j][k] * y for x, y in zip(X[j], X[k], strict=True)]
            P[j] = [x - R[j][k] * y for x, y in zip(P[j], P[k], strict=True)]
    scaled = [[x * e for x, e in zip(row, E, strict=True)] for row in P]
    M_C: Matrix = [[0.0] * m for _ in range(m)]
    for i in range(m):
        for j in range(i + 1):
            M_C[i][j] = M_C[j][i] = linear.inner(P[i], scaled[j])
    columns = [linear.solve_diagonal_lower(L, inverse, x) for x in X]
    return Inverse(M_C, linear.transposed(columns), mobility)


def _orthogonal(V: Matrix, metric: Sequence[Scalar]) -> tuple[Matrix, list[Scalar]]:
    """(R, 1/E): each row of V freed, in place, of its parts along the rows before it; R holds those parts."""
    m = len(V)
    R: Matrix = [[0.0] * m for _ in range(m)]
    E: list[Scalar] = [0.0] * m
    for j in range(m):
        weighed = [x * d for x, d in zip(V[j], metric, strict=True)]
        E[j] = 1.0 / linear.inner(V[j], weighed)
        for i in range(j + 1, m):
            R[j][i] = linear.inner(weighed, V[i]) * E[j]
            V[i] = [x - R[j][i] * y for x, y in zip(V[i], V[j], strict=True)]
    return R, E


@dataclass(frozen=True)
class TaskTerms:
    """Everything of the equation, for m rows and n joints: M, C (m, m), c, g, velocity (m), J, J_dot (m, n), J_bar
    (n, m), N = I − J̄ J (n, n), mobility = J M⁻¹ Jᵀ (m, m)."""

    M: Matrix
    C: Matrix
    c: list[Scalar]
    g: list[Scalar]
    J: Matrix
    J_dot: Matrix
    J_bar: Matrix
    N: Matrix
    mobility: Matrix
    velocity: list[Scalar]


def task_space(
    model: Model, q: Coordinates, qd: Coordinates, J: linear.Rows, J_dot: linear.Rows, damping: Scalar | None = None
) -> TaskTerms:
    """The terms for the task's own rows of J and J̇."""
    found = consistent_inverse(composite.mass_matrix(model, q), J, damping)
    J_bar_t = linear.transposed(found.J_bar)
    M_J_dot = linear.product(found.M, J_dot)
    half = [  # J̄ᵀ C − M_C J̇, which takes q̇ to c_C
        [a - b for a, b in zip(row, other, strict=True)]
        for row, other in zip(linear.product(J_bar_t, composite.coriolis_matrix(model, q, qd)), M_J_dot, strict=True)
    ]
    shadow = linear.product(found.J_bar, J)
    N = [[(1.0 if i == j else 0.0) - x for j, x in enumerate(row)] for i, row in enumerate(shadow)]
    return TaskTerms(
        M=found.M,
        C=linear.product(half, found.J_bar),
        c=linear.apply(half, qd),
        g=linear.apply(J_bar_t, newton_euler.gravity_torque(model, q)),
        J=[list(row) for row in J],
        J_dot=[list(row) for row in J_dot],
        J_bar=found.J_bar,
        N=N,
        mobility=found.mobility,
        velocity=linear.apply(J, qd),
    )
