"""3-vectors and 3×3 matrices as tuples, over any scalar.

Plain tuples, because an algorithm is traced once and then runs as machine code: what counts is that
the code reads like the textbook and that zeros and ones fold away, not the speed of this Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Scalar = Any
Vector = Sequence[Scalar]
Matrix = Sequence[Sequence[Scalar]]

ZERO = (0.0, 0.0, 0.0)
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def add(a: Vector, b: Vector) -> Vector:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def sub(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def neg(a: Vector) -> Vector:
    return (-a[0], -a[1], -a[2])


def scale(s: Scalar, a: Vector) -> Vector:
    return (s * a[0], s * a[1], s * a[2])


def dot(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def skew(a: Vector) -> Matrix:
    """S(a) with S(a) b = a × b."""
    return ((0.0, -a[2], a[1]), (a[2], 0.0, -a[0]), (-a[1], a[0], 0.0))


def unskew(S: Matrix) -> Vector:
    """a with S(a) the antisymmetric part of S."""
    return (0.5 * (S[2][1] - S[1][2]), 0.5 * (S[0][2] - S[2][0]), 0.5 * (S[1][0] - S[0][1]))


def outer(a: Vector, b: Vector) -> Matrix:
    return tuple(tuple(x * y for y in b) for x in a)


def transpose(A: Matrix) -> Matrix:
    return tuple(zip(*A, strict=True))


def matvec(A: Matrix, x: Vector) -> Vector:
    return tuple(dot(row, x) for row in A)


def matvec_t(A: Matrix, x: Vector) -> Vector:
    """Aᵀ x."""
    return tuple(A[0][j] * x[0] + A[1][j] * x[1] + A[2][j] * x[2] for j in range(3))


def matmul(A: Matrix, B: Matrix) -> Matrix:
    return tuple(tuple(A[i][0] * B[0][j] + A[i][1] * B[1][j] + A[i][2] * B[2][j] for j in range(3)) for i in range(3))


def matadd(A: Matrix, B: Matrix) -> Matrix:
    return tuple(add(a, b) for a, b in zip(A, B, strict=True))


def matsub(A: Matrix, B: Matrix) -> Matrix:
    return tuple(sub(a, b) for a, b in zip(A, B, strict=True))


def matscale(s: Scalar, A: Matrix) -> Matrix:
    return tuple(scale(s, a) for a in A)


def symmetric(A: Matrix) -> Matrix:
    """The upper triangle mirrored: for a product known to be symmetric, so that its lower half is
    not computed twice."""
    return ((A[0][0], A[0][1], A[0][2]), (A[0][1], A[1][1], A[1][2]), (A[0][2], A[1][2], A[2][2]))


def congruence(R: Matrix, A: Matrix) -> Matrix:
    """R A Rᵀ for symmetric A."""
    RA = matmul(R, A)
    upper = {(i, j): dot(RA[i], R[j]) for i in range(3) for j in range(i, 3)}
    return tuple(tuple(upper[min(i, j), max(i, j)] for j in range(3)) for i in range(3))
