"""The closed matrix form of the Newton–Euler equations: 𝒜, ℒ, 𝒲, 𝒢 ([Fakhari 2]).

Stacked over the bodies, with twists linear first and each in its body's frame:

    𝒱 = ℒ (𝒜 q̇ + 𝒱_base),   ℒ = (1 − 𝒲)⁻¹,   M = 𝒜ᵀ ℒᵀ 𝒢 ℒ 𝒜.

𝒲 has Ad(T_i⁻¹) in the block (i, parent of i); a tree makes it nilpotent, so ℒ is a finite sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algorithms import joints
from dalembert.algorithms.joints import Coordinates
from dalembert.algorithms.linear import apply, product, transposed
from dalembert.model import Model
from dalembert.spatial import Motion, Pose
from dalembert.spatial.vector import ZERO, Scalar, neg

Rows = list[list[Scalar]]


@dataclass(frozen=True)
class MatrixForm:
    """A (6N×n), L (6N×6N), W (6N×6N), G (6N×6N) for N bodies; `V_dot_base` stands for gravity."""

    A: Rows
    L: Rows
    W: Rows
    G: Rows
    V_dot_base: list[Scalar]


def _zeros(rows: int, columns: int) -> Rows:
    return [[0.0] * columns for _ in range(rows)]


def _put(A: Rows, block: Sequence[Sequence[Scalar]], row: int, column: int) -> None:
    for r, values in enumerate(block):
        A[row + r][column : column + len(values)] = values


def _adjoint_rows(T: Pose) -> list[tuple[Scalar, ...]]:
    """The 6×6 matrix of Motion.to_child(T), row by row."""
    units = [tuple(1.0 if i == k else 0.0 for i in range(6)) for k in range(6)]
    columns = [Motion(u[:3], u[3:]).to_child(T).flat() for u in units]
    return list(zip(*columns, strict=True))


def matrix_form(model: Model, q: Coordinates) -> MatrixForm:
    """The four matrices at q, and the base acceleration that stands for gravity."""
    N = len(model.bodies)
    T = joints.poses(model, q)
    A, W, G = _zeros(6 * N, model.nv), _zeros(6 * N, 6 * N), _zeros(6 * N, 6 * N)
    V_dot_base: list[Scalar] = [0.0] * (6 * N)
    for i, body in enumerate(model.bodies):
        for k, S in enumerate(joints.subspace(body), body.coordinate):
            _put(A, [(body.multiplier * x,) for x in S.flat()], 6 * i, k)
        _put(G, body.inertia.matrix(), 6 * i, 6 * i)
        if body.parent >= 0:
            _put(W, _adjoint_rows(T[i]), 6 * i, 6 * body.parent)
        else:
            ground = Motion(neg(model.gravity), ZERO).to_child(T[i])
            V_dot_base[6 * i : 6 * i + 6] = ground.flat()
    return MatrixForm(A, _resolvent(model, W), W, G, V_dot_base)


def _resolvent(model: Model, W: Rows) -> Rows:
    """ℒ = (1 − 𝒲)⁻¹, block row by block row: L_i = 1_i + W_i,parent L_parent."""
    N = len(model.bodies)
    L = _zeros(6 * N, 6 * N)
    for i, parent in enumerate(model.parents):
        if parent >= 0:
            block = [W[6 * i + r][6 * parent : 6 * parent + 6] for r in range(6)]
            carried = product(block, L[6 * parent : 6 * parent + 6])
            for r in range(6):
                L[6 * i + r] = carried[r]
        for r in range(6):
            L[6 * i + r][6 * i + r] = 1.0
    return L


def mass_matrix(form: MatrixForm) -> Rows:
    """M = 𝒜ᵀ ℒᵀ 𝒢 ℒ 𝒜 (without rotors)."""
    LA = product(form.L, form.A)
    return product(transposed(LA), product(form.G, LA))


def gravity_torque(form: MatrixForm) -> list[Scalar]:
    """g = 𝒜ᵀ ℒᵀ 𝒢 ℒ 𝒱̇_base."""
    LA = product(form.L, form.A)
    return apply(transposed(LA), apply(form.G, apply(form.L, form.V_dot_base)))


def _ad_block(twists: list[Scalar]) -> Rows:
    """[ad] of stacked twists, block diagonal: (v, ω) ↦ ad = [[S(ω), S(v)], [0, S(ω)]]."""
    D = _zeros(len(twists), len(twists))
    units = [tuple(1.0 if i == k else 0.0 for i in range(6)) for k in range(6)]
    for at in range(0, len(twists), 6):
        V = Motion(tuple(twists[at : at + 3]), tuple(twists[at + 3 : at + 6]))
        columns = [V.cross(Motion(u[:3], u[3:])).flat() for u in units]
        _put(D, list(zip(*columns, strict=True)), at, at)
    return D


def coriolis_torque(form: MatrixForm, qd: Coordinates) -> list[Scalar]:
    """c = −𝒜ᵀ ℒᵀ (𝒢 ℒ [ad_𝒜q̇] 𝒲 + [ad_𝒱]ᵀ 𝒢) ℒ 𝒜 q̇."""
    own = apply(form.A, qd)
    V = apply(form.L, own)
    carried = apply(_ad_block(own), apply(form.W, V))
    forces = [
        a + b
        for a, b in zip(
            apply(form.G, apply(form.L, carried)), apply(transposed(_ad_block(V)), apply(form.G, V)), strict=True
        )
    ]
    LA = product(form.L, form.A)
    return [-t for t in apply(transposed(LA), forces)]


def mass_matrix_dot(form: MatrixForm, qd: Coordinates) -> Rows:
    """Ṁ = −𝒜ᵀℒᵀ 𝒲ᵀ[ad_𝒜q̇]ᵀ ℒᵀ𝒢ℒ𝒜 − 𝒜ᵀℒᵀ𝒢ℒ [ad_𝒜q̇]𝒲 ℒ𝒜: one half and its transpose."""
    LA = product(form.L, form.A)
    carried = product(form.L, product(_ad_block(apply(form.A, qd)), product(form.W, LA)))
    half = product(transposed(LA), product(form.G, carried))
    n = len(half)
    return [[-(half[i][j] + half[j][i]) for j in range(n)] for i in range(n)]
