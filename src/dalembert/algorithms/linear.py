"""Small dense linear algebra over any scalar, unrolled by tracing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, mul

from dalembert import scalar
from dalembert.spatial.vector import Scalar

Rows = Sequence[Sequence[Scalar]]

# Squares of rows, against that of the longest: 1e-12 in length, ten thousand times what rounding makes of a zero row.
NOISE = 1e-24


def product(A: Rows, B: Rows) -> list[list[Scalar]]:
    columns = list(zip(*B, strict=True))
    return [[inner(row, column) for column in columns] for row in A]


def inner(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return _add_products(0.0, a, b)


def total(values: Iterable[Scalar]) -> Scalar:
    result: Scalar = 0.0
    for x in values:
        result = result + x
    return result


def apply(A: Rows, x: Sequence[Scalar]) -> list[Scalar]:
    return [inner(row, x) for row in A]


def transposed(A: Rows) -> list[list[Scalar]]:
    return [list(column) for column in zip(*A, strict=True)]


def factor_ldl(M: Rows) -> tuple[list[list[Scalar]], list[Scalar]]:
    """(L, 1/D) with M = Lᵀ D L, L unit lower triangular, for symmetric positive definite M.

    Eliminated from the last row up: in this order a tree's branches do not fill in (Featherstone 2008, §6.5). No
    pivoting, no square root."""
    n = len(M)
    A = [list(row) for row in M]
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        inverse[k] = 1.0 / A[k][k]
        for i in reversed(range(k)):
            if structural_zero(A[k][i]):
                continue
            factor = A[k][i] * inverse[k]
            for j in range(i + 1):
                A[i][j] = A[i][j] - factor * A[k][j]
            A[k][i] = factor
    return A, inverse


def structural_zero(x: Scalar) -> bool:
    """Two branches of a tree that share no joint."""
    return isinstance(x, float) and x == 0.0


def solve_ldl(M: Rows, b: Sequence[Scalar]) -> list[Scalar]:
    """x with M x = b for symmetric positive definite M."""
    L, inverse = factor_ldl(M)
    return solve_diagonal_lower(L, inverse, solve_transposed(L, b))


def solve_transposed(L: Rows, b: Sequence[Scalar]) -> list[Scalar]:
    """Return z = L⁻ᵀ b, with M = Lᵀ D L: then bᵀ M⁻¹ b = zᵀ D⁻¹ z."""
    z = list(b)
    for k in reversed(range(len(z))):
        for i in range(k):
            z[i] = z[i] - L[k][i] * z[k]
    return z


def solve_diagonal_lower(L: Rows, inverse: Sequence[Scalar], z: Sequence[Scalar]) -> list[Scalar]:
    """Return x = L⁻¹ D⁻¹ z = M⁻¹ b for z = L⁻ᵀ b."""
    x = list(z)
    for k in range(len(x)):
        x[k] = x[k] * inverse[k]
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return x


@dataclass(frozen=True)
class RankRevealingLDL:
    """Factors G = L D Lᵀ of a Gram matrix whose rows may be dependent, computed row by row from the first. A row that
    the rows before it span is left out (1/D = 0). `kept` is 1 for a row that counts and 0 for a row left out."""

    L: list[list[Scalar]]
    inverse: list[Scalar]
    kept: list[Scalar]

    def solve(self, b: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """Return (x, rest): G x = b in the rows that count, x = 0 in those left out; `rest` is the part of b in the
        rows left out that contradicts the others, zero if they agree."""
        n = len(b)
        y = list(b)
        for i in range(n):
            for j in range(i):
                y[i] = y[i] - self.L[i][j] * y[j]
        rest = [r * (1.0 - k) for r, k in zip(y, self.kept, strict=True)]
        x = [v * d for v, d in zip(y, self.inverse, strict=True)]
        for i in reversed(range(n)):
            for j in range(i + 1, n):
                x[i] = x[i] - self.L[j][i] * x[j]
        return x, rest


def factor_gram(G: Rows, tolerance: float | None) -> RankRevealingLDL:
    """Factor a Gram matrix G = Z Zᵀ (semidefinite). A pivot is the square of the distance of a row of Z from those
    before it: below `tolerance` times the row's own square it is taken as spanned by them, and below NOISE times the
    largest of all as nothing but rounding. Without a tolerance every row counts: for scalars that are not compared."""
    n = len(G)
    noise: Scalar = 0.0
    for k in range(n if tolerance is not None else 0):
        noise = scalar.maximum(NOISE * G[k][k], noise)
    A = [list(row) for row in G]
    inverse: list[Scalar] = [1.0] * n
    kept: list[Scalar] = [1.0] * n
    for k in range(n):
        pivot = A[k][k]
        if tolerance is None:
            inverse[k] = 1.0 / pivot
        else:
            counts = pivot > scalar.maximum(tolerance * G[k][k], noise)
            kept[k] = scalar.where(counts, 1.0, 0.0)
            inverse[k] = kept[k] / scalar.where(counts, pivot, 1.0)
        factors = [A[i][k] * inverse[k] for i in range(k + 1, n)]
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                A[i][j] = A[i][j] - factors[i - k - 1] * A[j][k]
        for i in range(k + 1, n):
            A[i][k] = factors[i - k - 1]
    return RankRevealingLDL(A, inverse, kept)


def adjugate(K: Rows, normal: Callable[[Scalar], Scalar]) -> tuple[list[list[Scalar]], Scalar]:
    """Return (adj K, det K) over any ring, by the recursion of Faddeev and LeVerrier, which divides by integers only.

    `normal` brings an element of the ring into its normal form."""
    n = len(K)
    found: list[list[Scalar]] = [[normal(0)] * n for _ in range(n)]
    c: Scalar = 1
    for step in range(1, n + 1):
        found = [[x + c if i == j else x for j, x in enumerate(row)] for i, row in enumerate(found)]
        kept, columns = found, list(zip(*found, strict=True))
        found = [[normal(reduce(add, map(mul, row, column))) for column in columns] for row in K]
        c = normal(-reduce(add, (found[i][i] for i in range(n))) / step)
    sign = 1 if n % 2 else -1
    return [[sign * x for x in row] for row in kept], -sign * c


def inverse_and_slopes(M: Rows, *right: Rows) -> tuple[list[list[Scalar]], list[list[list[Scalar]]]]:
    """(M⁻¹, [−M⁻¹ B for each B]) of a symmetric positive definite M = Lᵀ D L.

    By P (D⁻¹ Pᵀ B): P = L⁻¹ has the zeros of a tree's branches, and Pᵀ B those of B, where M⁻¹ is full. Without
    branches nothing is gained, and M⁻¹ B costs less."""
    P, Q = _inverse_factors(M)
    inverse, n = _inverse(P, Q), len(P)
    if not any(structural_zero(x) for k, row in enumerate(P) for x in row[:k]):
        minus = [[-x for x in row] for row in inverse]
        return inverse, [product(minus, B) for B in right]
    found = []
    for B in right:
        columns = []
        for column in zip(*B, strict=True):
            y = [inner(Q[k][k:], column[k:]) for k in range(n)]
            columns.append([_add_products(-y[k], P[k][:k], [-x for x in y[:k]]) for k in range(n)])
        found.append(transposed(columns))
    return inverse, found


def _inverse_factors(M: Rows) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """(P, D⁻¹ Pᵀ) with P = L⁻¹, unit lower triangular, M = Lᵀ D L."""
    L, inverse = factor_ldl(M)
    n = len(L)
    P: list[list[Scalar]] = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i):
            P[i][j] = -inner(L[i][j:i], [P[k][j] for k in range(j, i)])
    return P, [[P[i][k] * inverse[k] for i in range(n)] for k in range(n)]


def _inverse(P: Rows, Q: Rows) -> list[list[Scalar]]:
    n = len(P)
    out: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        scaled = [Q[k][j] for k in range(j + 1)]
        for i in range(j, n):
            out[i][j] = out[j][i] = inner(P[i][: j + 1], scaled)
    return out


def _add_products(total: Scalar, a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def solve(A: Rows, B: Rows) -> list[list[Scalar]]:
    """X with A X = B for a matrix whose rows are those of a positive definite one, each times a positive number, or
    nearly so: eliminated from the last row up, without pivoting."""
    n, m = len(A), len(B[0])
    U, X = [list(row) for row in A], [list(row) for row in B]
    for k in reversed(range(n)):
        inverse = 1.0 / U[k][k]
        for i in range(k):
            if structural_zero(U[i][k]):
                continue
            factor = U[i][k] * inverse
            U[i] = [a - factor * b if j < k else a for j, (a, b) in enumerate(zip(U[i], U[k], strict=True))]
            X[i] = [a - factor * b for a, b in zip(X[i], X[k], strict=True)]
        U[k][k] = inverse
    for k in range(n):
        for j in range(m):
            for i in range(k):
                X[k][j] = X[k][j] - U[k][i] * X[i][j]
            X[k][j] = X[k][j] * U[k][k]
    return X
