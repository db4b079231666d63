"""Hours of data in small triangles: R of the QR factorisation of [Y_b τ], piece by piece, joint by joint.

LAPACK factors tall matrices at a tenth of the speed at which it multiplies them, so the pieces are multiplied: with
R₁ of the first piece, Z = [Y τ] R₁⁻¹ has nearly orthogonal columns, ZᵀZ is summed without losing digits, and R =
chol(ZᵀZ) R₁. (Summing YᵀY itself would square the condition number.)

The rows of a joint have zeros under the bodies it does not carry: each joint's rows are reduced in their own columns.
Weights per joint can then still be chosen: they only scale its triangle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.identification.base import Base
from dalembert.identification.columns import Columns
from dalembert.identification.samples import Samples

Array = NDArray[np.float64]
REGULAR = 1e-10  # of a column's size, added to the first piece's triangle: a joint that has not moved yet


@dataclass(frozen=True, eq=False)
class Compressed:
    """For each joint the triangle R of its rows of [Y_b τ], zeros elsewhere: Σ (τ − Y_b β)² of a joint is ‖R (β, −1)‖².

    `triangles` (n, p + 1, p + 1), p base parameters; `rows` the number of samples; `power` (n,) Σ τ² per joint."""

    triangles: Array
    rows: int
    power: Array

    @property
    def p(self) -> int:
        return int(self.triangles.shape[-1]) - 1

    def stacked(self, weights: Array | None = None, columns: Sequence[int] | NDArray[np.int64] | None = None) -> Array:
        """[A b] with ‖A β − b‖² the sum of squares over all joints, each with its weight; in some columns."""
        T = self.triangles if weights is None else self.triangles * weights[:, None, None]
        wanted = np.arange(self.p) if columns is None else np.asarray(columns)
        return triangle(T[..., np.append(wanted, self.p)].reshape(-1, len(wanted) + 1))

    def squares(self, beta: Array) -> Array:
        """Σ (τ − Y_b β)² per joint, (n,)."""
        return np.asarray(np.sum((self.triangles @ np.append(beta, -1.0)) ** 2, axis=-1))

    def __add__(self, other: Compressed) -> Compressed:
        """Two logs as one."""
        if self.triangles.shape != other.triangles.shape:
            raise InputError("logs of different arms, or with different parameters, cannot be joined")
        both = np.concatenate([self.triangles, other.triangles], axis=1)
        joined = np.stack([triangle(rows) for rows in both])
        return Compressed(joined, self.rows + other.rows, self.power + other.power)


def triangle(rows: Array) -> Array:
    """R of rows = Q R."""
    return np.asarray(np.linalg.qr(rows, mode="r"), np.float64)


class _Triangle:
    """R of the rows that were added."""

    def __init__(self, size: int) -> None:
        self.first: Array | None = None
        self.inverse: Array = np.zeros((size, size))
        self.gram: Array = np.zeros((size, size))

    def add(self, rows: Array) -> None:
        if self.first is None:
            size = np.linalg.norm(rows, axis=0)
            floor = REGULAR * np.where(size > 0, size, 1.0)
            self.first = triangle(np.vstack([rows, np.diag(floor)]))
            self.inverse = np.asarray(np.linalg.inv(self.first), np.float64)
        Z = rows @ self.inverse
        self.gram += Z.T @ Z

    def triangle(self) -> Array:
        if self.first is None:
            return self.gram
        values, vectors = np.linalg.eigh(self.gram)  # not Cholesky: torques that the model explains wholly leave a zero
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return triangle(root @ self.first)


def compress(
    columns: Columns,
    base: Base,
    samples: Samples,
    parallel: int = 1,
    weigh: Callable[[Array, Array], Array] | None = None,
) -> Compressed:
    """[Y_b τ] of samples as triangles; torques of fixed parameters are taken off first, `parallel` as in
    `Columns.blocks`. `weigh(Y_b, τ)` (N, n): what each sample of each joint is multiplied by."""
    n, p = columns.robot.n, base.rank
    reach = columns.reach[:, columns.free][:, base.kept]
    places = [np.flatnonzero(row) for row in reach]
    found = [_Triangle(len(where) + 1) for where in places]
    power = np.zeros(n)
    count = 0
    for Y, tau in columns.blocks(samples, parallel):
        count += len(Y)
        factor = None if weigh is None else weigh(Y[..., base.kept], tau)
        for k, where in enumerate(places):
            rows = np.empty((len(Y), len(where) + 1))
            np.take(Y[:, k], base.kept[where], axis=1, out=rows[:, :-1])
            rows[:, -1] = tau[:, k]
            found[k].add(rows if factor is None else rows * factor[:, k, None])
        power += np.sum(tau**2, axis=0)
    whole = np.zeros((n, p + 1, p + 1))
    for k, where in enumerate(places):
        T = found[k].triangle()
        whole[k, : len(T), np.append(where, p)] = T.T
    return Compressed(whole, count, power)


def joined(parts: Iterable[Compressed]) -> Compressed:
    """Many logs as one: the sum of their triangles, in pairs if a cluster likes."""
    total: Compressed | None = None
    for part in parts:
        total = part if total is None else total + part
    if total is None:
        raise InputError("there is no log to join")
    return total
