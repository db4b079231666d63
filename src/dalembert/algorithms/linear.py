"""Small dense linear algebra over any scalar, unrolled by tracing."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.spatial.vector import Scalar

Rows = Sequence[Sequence[Scalar]]


def product(A: Rows, B: Rows) -> list[list[Scalar]]:
    columns = list(zip(*B, strict=True))
    return [[inner(row, column) for column in columns] for row in A]


def inner(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


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
            if _structural_zero(A[k][i]):
                continue
            factor = A[k][i] * inverse[k]
            for j in range(i + 1):
                A[i][j] = A[i][j] - factor * A[k][j]
            A[k][i] = factor
    return A, inverse


def _structural_zero(x: Scalar) -> bool:
    """Two branches of a tree that share no joint."""
    return isinstance(x, float) and x == 0.0


def solve_ldl(M: Rows, b: Sequence[Scalar]) -> list[Scalar]:
    """x with M x = b for symmetric positive definite M."""
    L, inverse = factor_ldl(M)
    n = len(b)
    x = list(b)
    for k in reversed(range(n)):
        for i in range(k):
            x[i] = x[i] - L[k][i] * x[k]
    for k in range(n):
        x[k] = x[k] * inverse[k]
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
    return x


def inverse_ldl(M: Rows) -> list[list[Scalar]]:
    """M⁻¹ of a symmetric positive definite M: with P = L⁻¹ (unit lower triangular), M⁻¹ = P D⁻¹ Pᵀ."""
    L, inverse = factor_ldl(M)
    n = len(L)
    P: list[list[Scalar]] = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i):
            P[i][j] = -inner(L[i][j:i], [P[k][j] for k in range(j, i)])
    out: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        scaled = [P[j][k] * inverse[k] for k in range(j + 1)]
        for i in range(j, n):
            out[i][j] = out[j][i] = inner(P[i][: j + 1], scaled)
    return out
