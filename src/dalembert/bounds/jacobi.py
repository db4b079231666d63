"""Approximate eigenvectors of a small symmetric matrix over any scalar, by a fixed number of Jacobi's sweeps.

Nothing is claimed of them: what is proved with their help holds for any matrix V. (Golub & Van Loan 2013, §8.5.)
"""

from __future__ import annotations

from typing import Any

from dalembert import scalar

Square = list[list[Any]]
TINY = 1e-290


def eigenvectors(A: Square, sweeps: int) -> Square:
    """V, columns nearly orthonormal, with Vᵀ A V nearly diagonal."""
    n = len(A)
    A = [list(row) for row in A]
    V: Square = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for _ in range(sweeps):
        for p in range(n):
            for q in range(p + 1, n):
                _rotate(A, V, p, q)
    return V


def _rotate(A: Square, V: Square, p: int, q: int) -> None:
    """One rotation in the plane of p and q that makes A_pq zero."""
    a = A[p][q]
    if isinstance(a, float) and a == 0.0:
        return
    half = 0.5 * (A[q][q] - A[p][p])
    length = scalar.sqrt(half * half + a * a)
    t = scalar.where(half < 0.0, -a, a) / (scalar.absolute(half) + length + TINY)
    c = 1.0 / scalar.sqrt(1.0 + t * t)
    s = t * c
    A[p][p], A[q][q] = A[p][p] - t * a, A[q][q] + t * a
    A[p][q] = A[q][p] = 0.0
    for k in range(len(A)):
        if k not in (p, q):
            x, y = A[k][p], A[k][q]
            A[k][p] = A[p][k] = c * x - s * y
            A[k][q] = A[q][k] = s * x + c * y
        x, y = V[k][p], V[k][q]
        V[k][p], V[k][q] = c * x - s * y, s * x + c * y
