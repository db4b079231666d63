"""Lagrange's equations, derived: M, Γ, C, g, A, Ȧ and generalized forces as SymPy expressions.

With K = ½ q̇ᵀ M q̇ + bᵀ q̇ + K₀ and L = K − P, d/dt ∂L/∂q̇ − ∂L/∂q is M q̈ + C q̇ + g, where
Γ_ijk = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij), C_kj = Σᵢ Γ_ijk q̇ᵢ + ∂ⱼb_k − ∂ₖb_j and g = ∂(P − K₀)/∂q. The part from b is skew,
so Ṁ − 2C is skew with it or without.  Seed 002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.errors import InputError
from dalembert.lagrange.fourier import tidy
from dalembert.lagrange.symbols import Alphabet, Expression, sympy

Row = tuple[Expression, ...]
Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Energies:
    """What a system is written in, read into its alphabet."""

    kinetic: Expression
    potential: Expression
    dissipation: Expression
    holonomic: Row
    pfaffian: Rows
    forces: Row  # (n) generalized forces ψ(q, q̇, u), τ apart
    inputs: Row


@dataclass(frozen=True)
class Derived:
    """The terms of τ = M q̈ + C q̇ + g + ∂R/∂q̇ − ψ₀ + Aᵀλ, with τ = B u where inputs are named."""

    M: Rows
    Gamma: tuple[Rows, ...]  # [i][j][k], the equation's index last
    C: Rows
    g: Row
    friction: Row  # ∂R/∂q̇ of Rayleigh's function R
    forces: Row  # ψ₀: given forces, without the inputs' part
    B: Rows  # (n, m) inputs; empty rows if none are named
    A: Rows  # (k, n): ∂φ/∂q, then the Pfaffian rows
    A_dot: Rows


def derive(alphabet: Alphabet, e: Energies) -> Derived:
    """All terms of the equations of motion."""
    sp = sympy()
    q, v = alphabet.q, alphabet.qd
    M = mass_matrix(alphabet, e.kinetic)
    Gamma = christoffel(M, q)
    rest = dict.fromkeys(v, sp.Integer(0))
    b = [sp.diff(e.kinetic, x).xreplace(rest) for x in v]
    effective = e.potential - e.kinetic.xreplace(rest)
    A = tuple(tuple(tidy(sp.diff(f, x)) for x in q) for f in e.holonomic) + e.pfaffian
    forces, B = _split_inputs(e.forces, e.inputs)
    return Derived(
        M,
        Gamma,
        _coriolis(Gamma, b, q, v),
        tuple(tidy(sp.diff(effective, x)) for x in q),
        tuple(tidy(sp.diff(e.dissipation, x)) for x in v),
        forces,
        B,
        A,
        tuple(tuple(tidy(_along(a, q, v)) for a in row) for row in A),
    )


def mass_matrix(alphabet: Alphabet, kinetic: Expression) -> Rows:
    """M = ∂²K/∂q̇∂q̇; refused if it still contains velocities, because K is then not quadratic in them."""
    sp = sympy()
    v, n = alphabet.qd, len(alphabet.qd)
    M = [[sp.Integer(0)] * n for _ in range(n)]
    for i in range(n):
        slope = sp.diff(kinetic, v[i])
        for j in range(i + 1):
            M[i][j] = M[j][i] = _free_of(v, tidy(sp.diff(slope, v[j])), kinetic)
    return tuple(map(tuple, M))


def _free_of(v: Row, entry: Expression, kinetic: Expression) -> Expression:
    if entry.has(*v):
        entry = sympy().simplify(entry)  # slow, and only for what would be refused otherwise
    if entry.has(*v):
        found = ", ".join(str(x) for x in v if entry.has(x))
        raise InputError(
            f"the kinetic energy {kinetic} is not quadratic in the velocities: its second derivative still contains "
            f"{found}; a kinetic energy is ½ q̇ᵀ M(q) q̇, plus terms linear in q̇ or free of it"
        )
    return entry


def christoffel(M: Rows, q: Row) -> tuple[Rows, ...]:
    """Γ[i][j][k] = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij): symmetric in i and j, the equation's index last."""
    sp = sympy()
    n = len(q)
    D = [[[sp.diff(M[max(i, j)][min(i, j)], x) for x in q] for j in range(n)] for i in range(n)]

    def symbol(i: int, j: int, k: int) -> Expression:
        i, j = min(i, j), max(i, j)
        return sp.expand((D[k][j][i] + D[k][i][j] - D[i][j][k]) / 2)

    return tuple(tuple(tuple(symbol(i, j, k) for k in range(n)) for j in range(n)) for i in range(n))


def _coriolis(Gamma: tuple[Rows, ...], b: Sequence[Expression], q: Row, v: Row) -> Rows:
    sp = sympy()
    n = len(q)

    def entry(k: int, j: int) -> Expression:
        gyroscopic = tidy(sp.diff(b[k], q[j]) - sp.diff(b[j], q[k]))
        return sp.Add(*(Gamma[i][j][k] * v[i] for i in range(n)), gyroscopic)

    return tuple(tuple(entry(k, j) for j in range(n)) for k in range(n))


def _along(x: Expression, q: Row, v: Row) -> Expression:
    """Rate of a function of q along the motion, Σ ∂x/∂qᵢ q̇ᵢ."""
    sp = sympy()
    return sp.Add(*(sp.diff(x, a) * b for a, b in zip(q, v, strict=True)))


def _split_inputs(forces: Row, inputs: Row) -> tuple[Row, Rows]:
    """ψ = ψ₀ + B u: what the inputs do must be linear in them."""
    sp = sympy()
    B = tuple(tuple(tidy(sp.diff(f, u)) for u in inputs) for f in forces)
    for row, f in zip(B, forces, strict=True):
        if any(entry.has(*inputs) for entry in row):
            raise InputError(f"the force {f} is not linear in the inputs {', '.join(map(str, inputs))}")
    without = dict.fromkeys(inputs, sp.Integer(0))
    return tuple(f.xreplace(without) for f in forces), B


# ------------------------------------------------------------------------------------------- forces and constraints
def generalized_forces(pairs: Sequence[tuple[Row, Row]], q: Row) -> Row:
    """ψ_j = Σᵢ fᵢ · ∂rᵢ/∂q_j: forces at points, by their virtual work.  Seed 002, d'Alembert's principle."""
    sp = sympy()
    parts = [(f, r) for force, point in pairs for f, r in zip(force, point, strict=True)]
    return tuple(tidy(sp.Add(*(f * sp.diff(r, x) for f, r in parts))) for x in q)


def pfaffian_row(x: Expression, alphabet: Alphabet, what: str) -> Row:
    """The row a(q) of a constraint a(q) q̇ = 0 that was written as an expression."""
    sp = sympy()
    row = tuple(sp.diff(x, v) for v in alphabet.qd)
    rest = sp.expand(x - sp.Add(*(a * v for a, v in zip(row, alphabet.qd, strict=True))))
    if any(a.has(*alphabet.qd) for a in row) or sp.simplify(rest) != 0:
        raise InputError(f"{what}, {x} = 0, is not linear in the velocities: a Pfaffian constraint is A(q) q̇ = 0")
    return row


def null_space(A: Rows, n: int, columns: Sequence[int]) -> Any:
    """Virtual displacements: an (n, n − k) matrix Z with A Z = 0. `columns` are k independent columns of A, which are
    solved for; the other coordinates move freely, one per column of Z."""
    sp = sympy()
    free = [j for j in range(n) if j not in columns]
    if not A:
        return sp.eye(n)
    rows = sp.Matrix(A)
    solved = solve(rows[:, list(columns)], -rows[:, free])
    Z = sp.zeros(n, len(free))
    for place, j in enumerate(free):
        Z[j, place] = 1
        for k, i in enumerate(columns):
            Z[i, place] = solved[k, place]
    return Z


# Above so many operations common factors of numerator and determinant are not looked for: it would take seconds.
CANCEL = 200


def solve(A: Any, B: Any) -> Any:
    """A⁻¹ B of SymPy matrices: by the adjugate up to 3 × 3, where it stays legible."""
    sp = sympy()
    if A.rows > 3:
        return A.LUsolve(B)
    determinant = tidy(A.det(method="berkowitz"))

    def quotient(x: Expression) -> Expression:
        return sp.cancel(x / determinant) if x.count_ops() < CANCEL else x / determinant

    return (A.adjugate(method="berkowitz") * B).applyfunc(quotient)


def shortened(x: Expression) -> Expression:
    """A fraction with numerator and denominator tidied and common factors gone, unless it is long."""
    sp = sympy()
    if x.count_ops() > 2 * CANCEL:
        return x
    above, below = sp.fraction(sp.together(x))
    return sp.cancel(tidy(above) / tidy(below))
