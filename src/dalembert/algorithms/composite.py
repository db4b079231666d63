"""Mass matrix, Coriolis matrix and Christoffel symbols from composite bodies.

A composite body is everything a joint carries. With V the twists of the joints' columns J and B the
Christoffel-consistent factor of a body's velocity forces,

    M_kj = J_kᵀ I^C J_j,     C_kj = J_kᵀ (I^C J̇_j + B^C J_j),

where the composite is that of the later of the two joints. B depends on the twist only through
p = m v + ω × h and N = −S(ω) Σ − S(h) S(v), acting on an angular velocity alone: B u = (u_ω × p, N u_ω).
(Derived from B u = ½ (V ×* I u + u ×* I V − I (V × u)); cf. Echeandia & Wensing 2021.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalembert.algorithms import joints
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Model
from dalembert.spatial import Force, Inertia, Motion, Pose
from dalembert.spatial.vector import (
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    matadd,
    matmul,
    matsub,
    matvec,
    matvec_t,
    skew,
    transpose,
)

Square = list[list[Scalar]]


def composites(model: Model, T: Sequence[Pose]) -> list[Inertia]:
    """I^C of each body: itself and all it carries, in its own frame."""
    I = [body.inertia for body in model.bodies]
    for i in reversed(range(len(I))):
        parent = model.parents[i]
        if parent >= 0:
            I[parent] = I[parent] + I[i].to_parent(T[i])
    return I


def mass_matrix(model: Model, q: Coordinates) -> Square:
    """M(q), n×n, symmetric, rotor inertia on the diagonal.  Featherstone 2008, §6.2."""
    T = joints.poses(model, q)
    I = composites(model, T)
    S = [joints.subspace(body) for body in model.bodies]
    M = empty(model)
    for i, (body, own) in enumerate(zip(model.bodies, model.columns, strict=True)):
        for a, column in zip(own, S[i], strict=True):
            F = I[i].momentum(column)
            for b, other in zip(range(own.start, a), S[i], strict=False):
                M[a][b] = M[b][a] = other.dot(F)
            M[a][a] = column.dot(F) + body.rotor_inertia
            j = i
            while model.parents[j] >= 0:
                F = F.to_parent(T[j])
                j = model.parents[j]
                for b, other in zip(model.columns[j], S[j], strict=True):
                    M[a][b] = M[b][a] = other.dot(F)
    return joints.gather_matrix(model, M)


def empty(model: Model) -> Square:
    """A matrix of zeros over all joints' columns."""
    N = sum(len(own) for own in model.columns)
    return [[0.0] * N for _ in range(N)]


@dataclass(frozen=True)
class VelocityFactor:
    """B of a body or a composite: u ↦ (u_ω × p, N u_ω)."""

    p: Vector = ZERO
    N: Matrix = (ZERO, ZERO, ZERO)

    @staticmethod
    def of(inertia: Inertia, V: Motion) -> VelocityFactor:
        p = inertia.momentum(V).f
        turning = matmul(skew(V.w), inertia.second_moments())
        carrying = matmul(skew(inertia.h), skew(V.v))
        zero = (ZERO, ZERO, ZERO)
        return VelocityFactor(p, matsub(matsub(zero, turning), carrying))

    def __add__(self, other: VelocityFactor) -> VelocityFactor:
        return VelocityFactor(add(self.p, other.p), matadd(self.N, other.N))

    def to_parent(self, T: Pose) -> VelocityFactor:
        p = matvec(T.R, self.p)
        turned = matmul(matmul(T.R, self.N), transpose(T.R))
        return VelocityFactor(p, matsub(turned, matmul(skew(T.p), skew(p))))

    def apply(self, u: Motion) -> Force:
        return Force(cross(u.w, self.p), matvec(self.N, u.w))

    def apply_transposed(self, u: Motion) -> Force:
        """Bᵀ u, a covector on twists: w · (Bᵀ u) = (B w) · u."""
        return Force(ZERO, add(cross(self.p, u.v), matvec_t(self.N, u.w)))


def velocity_factors(model: Model, T: Sequence[Pose], V: Sequence[Motion]) -> list[VelocityFactor]:
    """B^C of each body: itself and all it carries, in its own frame."""
    B = [VelocityFactor.of(b.inertia, V[i]) for i, b in enumerate(model.bodies)]
    for i in reversed(range(len(B))):
        if model.parents[i] >= 0:
            B[model.parents[i]] = B[model.parents[i]] + B[i].to_parent(T[i])
    return B


def coriolis_matrix(model: Model, q: Coordinates, qd: Coordinates) -> Square:
    """C(q, q̇) of the Christoffel symbols, n×n: C q̇ = c and Ṁ − 2C is skew-symmetric."""
    T = joints.poses(model, q)
    V = joints.twists(model, T, qd)
    I = composites(model, T)
    B = velocity_factors(model, T, V)
    S = [joints.subspace(body) for body in model.bodies]
    S_dot = [[V[i].cross(column) for column in own] for i, own in enumerate(S)]
    C = empty(model)
    for j, own in enumerate(model.columns):
        for b, column, rate in zip(own, S[j], S_dot[j], strict=True):
            down = I[j].momentum(rate) + B[j].apply(column)  # column b, seen by the joints before it
            inertial, factor = I[j].momentum(column), B[j].apply_transposed(column)  # row b
            for a, other in zip(own, S[j], strict=True):
                C[a][b] = other.dot(down)
            k = j
            while model.parents[k] >= 0:
                down, inertial, factor = (F.to_parent(T[k]) for F in (down, inertial, factor))
                k = model.parents[k]
                for a, other, other_rate in zip(model.columns[k], S[k], S_dot[k], strict=True):
                    C[a][b] = other.dot(down)
                    C[b][a] = other_rate.dot(inertial) + other.dot(factor)
    return joints.gather_matrix(model, C)


def christoffel(model: Model, q: Coordinates) -> list[Square]:
    """Γ(q), n×n×n: [i][j][k] = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij), the equation's index k last.

    C is linear in q̇, C_kj = Σᵢ Γ_ijk q̇ᵢ: Γ is C at unit velocities. Γ is symmetric in its first two indices; of the
    two values the one with the later joint moving is taken, which costs less."""
    n = model.n
    C = [coriolis_matrix(model, q, [1.0 if i == k else 0.0 for k in range(n)]) for i in range(n)]
    return [[[C[max(i, j)][k][min(i, j)] for k in range(n)] for j in range(n)] for i in range(n)]


def mass_matrix_partials(model: Model, q: Coordinates) -> list[Square]:
    """∂M/∂q, n×n×n: [i] = ∂M/∂q_i = Γ_i + Γ_iᵀ, which [Fakhari 2] stacks as one tall matrix."""
    G, n = christoffel(model, q), model.n
    return [[[G[i][j][k] + G[i][k][j] for k in range(n)] for j in range(n)] for i in range(n)]


def mass_matrix_dot(model: Model, q: Coordinates, qd: Coordinates) -> Square:
    """Ṁ = C + Cᵀ."""
    C, n = coriolis_matrix(model, q, qd), model.nv
    return [[C[i][j] + C[j][i] for j in range(n)] for i in range(n)]


def _mdot_and_u(D: Sequence[Square], qd: Coordinates) -> tuple[Square, Square]:
    """Ṁ = (q̇ᵀ ⊗ 1) ∂M/∂q and U = (1 ⊗ q̇ᵀ) ∂M/∂q, U_kj = Σ_i q̇_i ∂_k M_ij.  [Fakhari 2]."""
    span = range(len(qd))
    M_dot = [[sum((D[i][k][j] * qd[i] for i in span), 0.0) for j in span] for k in span]
    U = [[sum((D[k][i][j] * qd[i] for i in span), 0.0) for j in span] for k in span]
    return M_dot, U


def _kronecker(D: Sequence[Square], qd: Coordinates) -> Square:
    M_dot, U = _mdot_and_u(D, qd)
    n = len(qd)
    return [[0.5 * (M_dot[k][j] + U[j][k] - U[k][j]) for j in range(n)] for k in range(n)]


def _mdot_minus_half_u(D: Sequence[Square], qd: Coordinates) -> Square:
    M_dot, U = _mdot_and_u(D, qd)
    n = len(qd)
    return [[M_dot[k][j] - 0.5 * U[k][j] for j in range(n)] for k in range(n)]


def _ut_minus_half_u(D: Sequence[Square], qd: Coordinates) -> Square:
    _, U = _mdot_and_u(D, qd)
    n = len(qd)
    return [[U[j][k] - 0.5 * U[k][j] for j in range(n)] for k in range(n)]


# C from the partial derivatives of M, D[i] = ∂M/∂q_i, and q̇.
FROM_PARTIALS = {"kronecker": _kronecker, "mdot-u/2": _mdot_minus_half_u, "ut-u/2": _ut_minus_half_u}


def _by_partials(formula: Callable[[Sequence[Square], Coordinates], Square]) -> Choice:
    return lambda model, q, qd: formula(mass_matrix_partials(model, q), qd)


Choice = Callable[[Model, Coordinates, Coordinates], Square]

# The choices of [Fakhari 2]: all give the same c = C q̇; the first two, which are equal, keep Ṁ − 2C skew.
CHOICES: dict[str, Choice] = {
    "christoffel": coriolis_matrix,
    **{name: _by_partials(formula) for name, formula in FROM_PARTIALS.items()},
}
