"""Dynamics under constraints: τ = M q̈ + h + Aᵀλ with A q̈ + Ȧ q̇ = 0.  [Fakhari 3], equations (1) to (5).

With M = Lᵀ D L, Z = L⁻ᵀ Aᵀ and z = L⁻ᵀ (τ − h), everything is made of Λ = A M⁻¹ Aᵀ = Zᵀ D⁻¹ Z:

    λ = Λ⁻¹ (Zᵀ D⁻¹ z + Ȧ q̇),        q̈ = L⁻¹ D⁻¹ (z − Z λ),        P = I − Aᵀ Λ⁻¹ A M⁻¹.

Where M alone is singular but the constraints hold what has no mass, M + ρ AᵀA serves for M: A q̈ is known, so that the
added force ρ AᵀA q̈ is too, and λ and q̈ are the same.

Rows of A that depend on those before them, in the metric of M⁻¹, are left out with λ = 0 (`linear.factor_gram`): the
motion is theirs all the same, and their force is carried by the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algorithms import linear
from dalembert.algorithms.constraints import Terms
from dalembert.spatial.vector import Scalar

# The squared sine of the angle below which a row counts as spanned by the rows before it: an angle of 1e-5. Squares are
# known to about 1e-15 of a row, so that rows of nothing but rounding stay a hundred thousand times below.
DEPENDENT = 1e-10


@dataclass(frozen=True)
class Multipliers:
    """M and A factored together."""

    L: list[list[Scalar]]
    inverse: list[Scalar]
    Z: list[list[Scalar]]  # one per row of A
    gram: linear.Dependable
    A: linear.Rows
    heavy: float = 0.0

    def acceleration(self, b: Sequence[Scalar], wanted: Sequence[Scalar]) -> Constrained:
        """q̈ and λ of M q̈ + Aᵀλ = b, A q̈ = `wanted`."""
        if self.heavy:
            for row, w in zip(self.A, wanted, strict=True):
                b = [x + (self.heavy * w) * a for x, a in zip(b, row, strict=True)]
        z = linear.first_half(self.L, b)
        scaled = [x * d for x, d in zip(z, self.inverse, strict=True)]
        asked = [linear.inner(row, scaled) - w for row, w in zip(self.Z, wanted, strict=True)]
        force, rest = self.gram.solve(asked)
        for x, row in zip(force, self.Z, strict=True):
            z = [a - x * c for a, c in zip(z, row, strict=True)]
        return Constrained(linear.second_half(self.L, self.inverse, z), force, rest)


@dataclass(frozen=True)
class Constrained:
    """q̈, λ, and what the rows left out ask for beyond the others (zero where they agree)."""

    qdd: list[Scalar]
    force: list[Scalar]
    rest: list[Scalar]


def factor(M: linear.Rows, A: linear.Rows, tolerance: float | None = DEPENDENT, heavy: float = 0.0) -> Multipliers:
    """M + ρ AᵀA = Lᵀ D L (ρ = `heavy`), and Λ = A M⁻¹ Aᵀ rank by rank."""
    if heavy:
        added = linear.product(linear.transposed(A), A)
        M = [[x + heavy * y for x, y in zip(row, more, strict=True)] for row, more in zip(M, added, strict=True)]
    L, inverse = linear.factor_ldl(M)
    Z = [linear.first_half(L, row) for row in A]
    scaled = [[x * d for x, d in zip(z, inverse, strict=True)] for z in Z]
    k = len(Z)
    G: list[list[Scalar]] = [[0.0] * k for _ in range(k)]
    for i in range(k):
        for j in range(i + 1):
            G[i][j] = G[j][i] = linear.inner(Z[i], scaled[j])
    return Multipliers(L, inverse, Z, linear.factor_gram(G, tolerance), A, heavy)


def wanted_acceleration(terms: Terms, qd: Sequence[Scalar], alpha: Scalar = 0.0, beta: Scalar = 0.0) -> list[Scalar]:
    """A q̈ = −Ȧ q̇ − 2α A q̇ − β² φ: with α = β = 0 the constraint itself, else Baumgarte's, whose error decays as the
    roots of s² + 2αs + β²."""
    rates = linear.apply(terms.A, qd)
    return [-d - (2.0 * alpha) * v - (beta * beta) * x for d, v, x in zip(terms.drift, rates, terms.phi, strict=True)]


def projection(factors: Multipliers) -> list[list[Scalar]]:
    """P_q̈ = I − M⁻¹AᵀΛ⁻¹A = M⁻¹PM, whose transpose is P: accelerations onto those that the constraints allow."""
    A = factors.A
    n, k = len(factors.L), len(A)
    columns = []
    for j in range(n):
        force, _ = factors.gram.solve([A[i][j] for i in range(k)])
        z: list[Scalar] = [0.0] * n
        for x, row in zip(force, factors.Z, strict=True):
            z = [a + x * c for a, c in zip(z, row, strict=True)]
        moved = linear.second_half(factors.L, factors.inverse, z)
        columns.append([(1.0 if i == j else 0.0) - x for i, x in enumerate(moved)])
    return linear.transposed(columns)


def onto(factors: Multipliers, terms: Terms, qd: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """(δq, q̇ onto the constraint): one Newton step δq = −M⁻¹AᵀΛ⁻¹φ, and the rates without what A q̇ says is wrong with
    them, both the shortest in the metric of M."""
    zero = [0.0] * len(qd)
    step = factors.acceleration(zero, [-x for x in terms.phi]).qdd
    wrong = linear.apply(terms.A, qd)
    change = factors.acceleration(zero, [-x for x in wrong]).qdd
    return step, [v + d for v, d in zip(qd, change, strict=True)]
