"""One mechanics for robots, Lagrangian systems and contacts: τ = M q̈ + h + Aᵀλ with A q̈ + Ȧ q̇ = 0, over any scalar.

Accelerations and multipliers solve one linear system, with the matrix of `saddle`:

    (M Aᵀ; A 0) (q̈, λ) = (τ − h, −Ȧ q̇).                                        [Fakhari 3], equations (1) to (5)

`factor` solves it over numbers and traces. With M = Lᵀ D L, Z = L⁻ᵀ Aᵀ and z = L⁻ᵀ (τ − h), everything is made of
Λ = A M⁻¹ Aᵀ = Zᵀ D⁻¹ Z:

    λ = Λ⁻¹ (Zᵀ D⁻¹ z + Ȧ q̇),        q̈ = L⁻¹ D⁻¹ (z − Z λ),        P = I − Aᵀ Λ⁻¹ A M⁻¹.

Polynomials and SymPy expressions, which have no cheap division, solve it by `linear.adjugate` of the whole matrix.

If M alone is singular but the constraints hold the massless parts, M + ρ AᵀA replaces M: A q̈ is known, so the added
force ρ AᵀA q̈ is known too, and λ and q̈ do not change.

Rows of A that depend on the rows before them, in the metric of M⁻¹, are left out with λ = 0 (`linear.factor_gram`). The
motion is the same, and the other rows carry their force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dalembert.algorithms import linear
from dalembert.algorithms.constraints import Terms
from dalembert.spatial.vector import Scalar

# The squared sine of the angle below which a row counts as spanned by the rows before it: an angle of 1e-5. Squares are
# known to about 1e-15 of a row, so rows of nothing but rounding stay a hundred thousand times below.
MIN_SQUARED_SINE = 1e-10


class Mechanics(Protocol):
    """A system with a mass matrix and constraints, over any scalar.

    `augmentation` is ρ of `factor`, zero where M is positive definite.
    """

    @property
    def nv(self) -> int: ...

    @property
    def augmentation(self) -> float: ...

    def mass(self, q: Sequence[Scalar]) -> linear.Rows:
        """Return M(q), (nv, nv)."""

    def bias(self, a: dict[str, Any], o: dict[str, Any]) -> list[Scalar]:
        """Return h(q, q̇), (nv,), with the loads that the arguments `a` and the options `o` name."""

    def terms(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Terms:
        """Return φ (k,), A (k, nv) and Ȧ q̇ (k,)."""

    def moved(self, q: Sequence[Scalar], d: Sequence[Scalar]) -> list[Scalar]:
        """Return q ⊕ d, a plain sum where q̇ = v."""


@dataclass(frozen=True)
class ConstrainedFactors:
    """M and A factored together."""

    L: list[list[Scalar]]
    inverse: list[Scalar]
    Z: list[list[Scalar]]  # one per row of A
    gram: linear.RankRevealingLDL
    A: linear.Rows
    augmentation: float = 0.0

    def acceleration(self, b: Sequence[Scalar], target: Sequence[Scalar]) -> ConstrainedMotion:
        """Return q̈ and λ of M q̈ + Aᵀλ = b, A q̈ = `target`."""
        if self.augmentation:
            for row, w in zip(self.A, target, strict=True):
                b = [x + (self.augmentation * w) * a for x, a in zip(b, row, strict=True)]
        z = linear.solve_transposed(self.L, b)
        scaled = [x * d for x, d in zip(z, self.inverse, strict=True)]
        missing = [linear.inner(row, scaled) - w for row, w in zip(self.Z, target, strict=True)]
        force, rest = self.gram.solve(missing)
        for x, row in zip(force, self.Z, strict=True):
            z = [a - x * c for a, c in zip(z, row, strict=True)]
        return ConstrainedMotion(linear.solve_diagonal_lower(self.L, self.inverse, z), force, rest)


@dataclass(frozen=True)
class ConstrainedMotion:
    """q̈, λ, and the part of the dependent rows' targets that contradicts the other rows (zero where they agree)."""

    qdd: list[Scalar]
    force: list[Scalar]
    rest: list[Scalar]


def saddle(M: linear.Rows, A: linear.Rows, zero: Scalar = 0.0) -> list[list[Scalar]]:
    """Return (M Aᵀ; A 0), whose solution for (τ − h, −Ȧ q̇) is (q̈, λ)."""
    above = [[*row, *(a[i] for a in A)] for i, row in enumerate(M)]
    return above + [[*row, *[zero] * len(A)] for row in A]


def factor(
    M: linear.Rows, A: linear.Rows, tolerance: float | None = MIN_SQUARED_SINE, augmentation: float = 0.0
) -> ConstrainedFactors:
    """Factor M + ρ AᵀA = Lᵀ D L (ρ = `augmentation`), and Λ = A M⁻¹ Aᵀ row by row with its rank."""
    if augmentation:
        added = linear.product(linear.transposed(A), A)
        M = [[x + augmentation * y for x, y in zip(row, more, strict=True)] for row, more in zip(M, added, strict=True)]
    L, inverse = linear.factor_ldl(M)
    Z = [linear.solve_transposed(L, row) for row in A]
    scaled = [[x * d for x, d in zip(z, inverse, strict=True)] for z in Z]
    k = len(Z)
    G: list[list[Scalar]] = [[0.0] * k for _ in range(k)]
    for i in range(k):
        for j in range(i + 1):
            G[i][j] = G[j][i] = linear.inner(Z[i], scaled[j])
    return ConstrainedFactors(L, inverse, Z, linear.factor_gram(G, tolerance), A, augmentation)


def factor_at(m: Mechanics, q: Sequence[Scalar], terms: Terms) -> ConstrainedFactors:
    """Factor M and A of a system at q."""
    return factor(m.mass(q), terms.A, augmentation=m.augmentation)


def terms_at_rest(m: Mechanics, q: Sequence[Scalar]) -> Terms:
    """Return φ and A of a system, with zero drift."""
    return m.terms(q, [0.0] * m.nv)


def target_acceleration(terms: Terms, qd: Sequence[Scalar], alpha: Scalar = 0.0, beta: Scalar = 0.0) -> list[Scalar]:
    """Return A q̈ = −Ȧ q̇ − 2α A q̇ − β² φ: with α = β = 0 the constraint itself, else Baumgarte's, whose error decays
    as the roots of s² + 2αs + β²."""
    rates = linear.apply(terms.A, qd)
    return [-d - (2.0 * alpha) * v - (beta * beta) * x for d, v, x in zip(terms.drift, rates, terms.phi, strict=True)]


def accelerations(
    m: Mechanics, a: dict[str, Any], o: dict[str, Any]
) -> tuple[ConstrainedMotion, ConstrainedFactors, Terms]:
    """Return q̈ and λ for q, qd and tau of the arguments `a`; the options may have Baumgarte's `alpha` and `beta`."""
    terms = m.terms(a["q"], a["qd"])
    target = target_acceleration(terms, a["qd"], o.get("alpha", 0.0), o.get("beta", 0.0))
    factors = factor_at(m, a["q"], terms)
    free = [t - h for t, h in zip(a["tau"], m.bias(a, o), strict=True)]
    return factors.acceleration(free, target), factors, terms


def projection(factors: ConstrainedFactors) -> list[list[Scalar]]:
    """Return P_q̈ = I − M⁻¹AᵀΛ⁻¹A = M⁻¹PM, whose transpose is P: it projects accelerations onto the allowed ones."""
    A = factors.A
    n, k = len(factors.L), len(A)
    columns = []
    for j in range(n):
        force, _ = factors.gram.solve([A[i][j] for i in range(k)])
        z: list[Scalar] = [0.0] * n
        for x, row in zip(force, factors.Z, strict=True):
            z = [a + x * c for a, c in zip(z, row, strict=True)]
        moved = linear.solve_diagonal_lower(factors.L, factors.inverse, z)
        columns.append([(1.0 if i == j else 0.0) - x for i, x in enumerate(moved)])
    return linear.transposed(columns)


def project_state(m: Mechanics, q: Sequence[Scalar], qd: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """Return the state after one Newton step q ⊕ −M⁻¹AᵀΛ⁻¹φ onto the constraints, and its rates without the part that
    violates A q̇ = 0. Both changes are the shortest in the metric of M.

    A is that at q, not at the corrected position: the error is of second order in the correction."""
    terms = terms_at_rest(m, q)
    factors = factor_at(m, q, terms)
    step = factors.acceleration([0.0] * m.nv, [-x for x in terms.phi]).qdd
    change = impulse(factors, qd).qdd
    return m.moved(q, step), [v + d for v, d in zip(qd, change, strict=True)]


def impulse(factors: ConstrainedFactors, qd: Sequence[Scalar]) -> ConstrainedMotion:
    """Return the change of rates −M⁻¹Aᵀp and the impulses p = Λ⁻¹ A q̇ of a plastic impact, after which A q̇ = 0.

    With restitution e both are 1 + e times as large."""
    off = linear.apply(factors.A, qd)
    return factors.acceleration([0.0] * len(qd), [-x for x in off])
