"""The choices of C: matrices C(q, q̇) with the same C q̇ = c, over any scalar.

With D_i = ∂M/∂q_i, Ṁ = Σ D_i q̇_i and U_kj = Σ_i q̇_i ∂_k M_ij, c = Ṁ q̇ − ½ U q̇ = Uᵀ q̇ − ½ U q̇: the products q̇ᵢ q̇ⱼ of
c_k can be given to column i or to column j, in any shares. C_kj = Σ_i (Γ_ijk + W_kji) q̇_i, W antisymmetric in its last
two indices, are all of those that are linear in q̇: n²(n − 1)/2 functions of q are free. Ṁ − 2C stays skew exactly where
W is antisymmetric in every pair of indices, which leaves n(n − 1)(n − 2)/6: none for n = 2, where the standard C is the
only one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dalembert.algorithms import composite, jacobians, kinematics, linear
from dalembert.model.model import Frame, Model
from dalembert.spatial import Pose
from dalembert.spatial.vector import ZERO, Scalar, add, congruence, matmul, matvec, skew

Square = list[list[Scalar]]
Cube = Sequence[Sequence[Sequence[Scalar]]]  # or an array of three indices


def half_slopes(Gamma: Cube, qd: Sequence[Scalar]) -> Square:
    """C_kj = Σ_i Γ_ijk q̇_i, half the slope of c in q̇_j: the standard choice."""
    span = range(len(qd))
    return [[sum((Gamma[i][j][k] * qd[i] for i in span), 0.0) for j in span] for k in span]


def later_columns(Gamma: Cube, qd: Sequence[Scalar]) -> Square:
    """C_kj = Γ_jjk q̇_j + 2 Σ_{i<j} Γ_ijk q̇_i: centripetal and Coriolis terms as a textbook lists them, each product in
    the column of its later rate."""
    span = range(len(qd))
    return [
        [Gamma[j][j][k] * qd[j] + sum((2 * Gamma[i][j][k] * qd[i] for i in range(j)), 0.0) for j in span] for k in span
    ]


def rank_one(c: Sequence[Scalar], qd: Sequence[Scalar]) -> Square:
    """C = c q̇ᵀ / q̇ᵀq̇: defined by c alone, not linear in q̇ and without a limit at q̇ = 0."""
    size = sum((v * v for v in qd), 0.0)
    return [[x * v / size for v in qd] for x in c]


def bodywise(model: Model, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Square:
    """C = Σ m J_vᵀJ̇_v + J_ωᵀ(I J̇_ω + S(ω) I J_ω) over the bodies, J of their centers of mass, in world axes:
    Newton's and Euler's equations, projected.

    Ṁ − 2C = Σ skew − J_ωᵀ(S I + I S) J_ω is skew. It is Christoffel's matrix for point masses and planar arms, another
    one for most arms of three joints and more."""
    n = model.n
    T = kinematics.world_poses(model, q)
    C: Square = [[0.0] * n for _ in range(n)]
    for i, body in enumerate(model.bodies):
        own = body.inertia
        frame = Frame("com", i, Pose(p=own.com() if own.m else ZERO))
        J, Jd = jacobians.jacobian(model, q, frame), jacobians.jacobian_dot(model, q, qd, frame)
        I = congruence(T[i].R, own.about_com() if own.m else own.I)
        SI = matmul(skew(tuple(linear.inner(row, qd) for row in J[3:])), I)
        for j in range(n):
            v = tuple(own.m * Jd[a][j] for a in range(3))
            w = add(matvec(I, tuple(Jd[a][j] for a in (3, 4, 5))), matvec(SI, tuple(J[a][j] for a in (3, 4, 5))))
            for k in range(n):
                C[k][j] = C[k][j] + linear.inner([J[a][k] for a in range(6)], [*v, *w])
    return C


def freedoms(n: int) -> tuple[int, int]:
    """How many functions of q are free among the choices of C linear in q̇, and among those that keep Ṁ − 2C skew."""
    return n * n * (n - 1) // 2, n * (n - 1) * (n - 2) // 6


# Formulas by name, for people; the first four are choices of `Robot.coriolis_matrix`.
FORMULAS = {
    "christoffel": "Σᵢ Γ_ijk q̇ᵢ, by composite bodies",
    "kronecker": "½ (Ṁ + Uᵀ − U)",
    "mdot-u/2": "Ṁ − ½ U",
    "ut-u/2": "Uᵀ − ½ U",
    "half-slope": "½ ∂c/∂q̇",
    "bodywise": "Σ m J_vᵀJ̇_v + J_ωᵀ(I J̇_ω + S(ω) I J_ω)",
    "later-columns": "Γ_jjk q̇ⱼ + 2 Σ_{i<j} Γ_ijk q̇ᵢ",
    "rank-one": "c q̇ᵀ / q̇ᵀq̇",
}
FROM_PARTIALS: dict[str, Callable[[Any, Any], Square]] = dict(composite.FROM_PARTIALS)
FROM_SYMBOLS: dict[str, Callable[[Any, Any], Square]] = {"half-slope": half_slopes, "later-columns": later_columns}
