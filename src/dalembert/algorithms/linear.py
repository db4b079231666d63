"""Small dense linear algebra over any scalar, unrolled by tracing."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.spatial.vector import Scalar

Rows = Sequence[Sequence[Scalar]]


def product(A: Rows, B: Rows) -> list[list[Scalar]]:
    columns = list(zip(*B, strict=True))
    return [[_dot(row, column) for column in columns] for row in A]


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def apply(A: Rows, x: Sequence[Scalar]) -> list[Scalar]:
    return [_dot(row, x) for row in A]


def transposed(A: Rows) -> list[list[Scalar]]:
    return [list(column) for column in zip(*A, strict=True)]


def solve_ldl(M: Rows, b: Sequence[Scalar]) -> list[Scalar]:
    """x with M x = b for symmetric positive definite M, by M = Lᵀ D L from the last row up: with this
    order a tree's branches do not fill in (Featherstone 2008, §6.5). No pivoting, no square root."""
    n = len(b)
    A = [list(row) for row in M]
    x = list(b)
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        inverse[k] = 1.0 / A[k][k]
        for i in reversed(range(k)):
            if isinstance(A[k][i], float) and A[k][i] == 0.0:
                continue  # a structural zero: two branches that share no joint
            factor = A[k][i] * inverse[k]
            for j in range(i + 1):
                A[i][j] = A[i][j] - factor * A[k][j]
            x[i] = x[i] - factor * x[k]
            A[k][i] = factor
    for k in range(n):
        x[k] = x[k] * inverse[k]
        for i in range(k):
            x[k] = x[k] - A[k][i] * x[i]
    return x
