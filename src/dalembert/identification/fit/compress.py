"""Hours of data in small triangles: R of the QR factorization of [Y_b τ], piece by piece, joint by joint.

LAPACK factors tall matrices at a tenth of the speed at which it multiplies them, so pieces are multiplied where that
loses no digits: with R₁ of the first piece, Z = [Y τ] R₁⁻¹ has nearly orthogonal columns, ZᵀZ is summed, and
R = √(ZᵀZ) R₁.

The rows of a joint have zeros under the bodies it does not carry: each joint's rows are reduced in their own columns.
Weights per joint can then still be chosen: they only scale its triangle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.compile import Kernel
from dalembert.errors import InputError
from dalembert.identification.fit.base import Base
from dalembert.identification.fit.regressor import BLOCK, Columns
from dalembert.identification.log.samples import Samples

Array = NDArray[np.float64]
# Up to which condition number of the first piece (columns of unit size, τ among them) a way loses no digits that
# matter:
# squares of 1e2 leave twelve, products with an inverse of 1e4 as many.
WAYS = {"scaled": 1e2, "turned": 1e4}


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
    """R of the rows that were added. Three ways, by the condition of the first piece: ZᵀZ summed of the rows scaled
    by their columns' sizes (the cheapest); of the rows times the inverse of the first piece's triangle; QR of every
    piece."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.way = ""
        self.first: Array = np.zeros((0, size))
        self.inverse: Array = np.zeros((size, size))
        self.gram: Array = np.zeros((size, size))

    def add(self, rows: Array) -> None:
        if not self.way:
            self._begin(rows)
        if self.way == "qr":
            self.first = triangle(np.concatenate([self.first, rows]))
            return
        Z = rows if self.way == "scaled" else rows @ self.inverse
        self.gram += Z.T @ Z

    def _begin(self, rows: Array) -> None:
        size = np.linalg.norm(rows, axis=0)
        size = np.where(size > 0, size, 1.0)
        R = triangle(np.concatenate([rows, np.zeros_like(self.gram)]))
        s = np.linalg.svd(R / size, compute_uv=False)
        self.way = next((way for way, most in WAYS.items() if s[0] < most * s[-1]), "qr")
        if self.way != "qr":
            self.first = np.diag(size) if self.way == "scaled" else R
            self.inverse = np.asarray(np.linalg.inv(self.first), np.float64)

    def triangle(self) -> Array:
        if self.way == "qr" or not self.way:
            return triangle(np.concatenate([self.first, np.zeros((self.size, self.size))]))
        gram = self.inverse @ self.gram @ self.inverse if self.way == "scaled" else self.gram
        values, vectors = np.linalg.eigh(gram)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        return triangle(root @ self.first)


def compress(columns: Columns, base: Base, samples: Samples, parallel: int = 1) -> Compressed:
    """[Y_b τ] of samples as triangles; torques of fixed parameters are taken off first, `parallel` as in
    `Columns.blocks`."""
    n, p = columns.robot.n, base.rank
    pieces, places = _pieces(columns, base, samples, parallel)
    found = [_Triangle(len(where) + 1) for where in places]
    power, count = np.zeros(n), 0
    for piece in pieces:
        count += len(piece[0])
        for k, rows in enumerate(piece):
            found[k].add(rows)
            power[k] += rows[:, -1] @ rows[:, -1]
    whole = np.zeros((n, p + 1, p + 1))
    for k, where in enumerate(places):
        T = found[k].triangle()
        whole[k, : len(T), np.append(where, p)] = T.T
    return Compressed(whole, count, power)


def _pieces(
    columns: Columns, base: Base, samples: Samples, parallel: int
) -> tuple[Iterator[list[Array]], list[NDArray[np.int64]]]:
    """Of each piece of the samples, for each joint its rows of [Y_b τ]; and which base parameters the columns are."""
    if parallel == 1:
        kernel, places = columns.joint_kernel(base.kept)
        return _computed(kernel, samples), places
    places = [np.flatnonzero(row) for row in columns.reach[:, columns.free][:, base.kept]]

    def filtered() -> Iterator[list[Array]]:
        for Y, tau in columns.blocks(samples, parallel):
            yield [np.column_stack([Y[:, k, base.kept[where]], tau[:, k]]) for k, where in enumerate(places)]

    return filtered(), places


def _computed(kernel: Kernel, samples: Samples) -> Iterator[list[Array]]:
    for first in range(0, len(samples), BLOCK):
        part = samples.part(slice(first, first + BLOCK))
        with np.errstate(invalid="ignore"):
            rows = kernel(part.q, part.qd, part.qdd, part.rest, part.tau)
        yield list(rows) if isinstance(rows, tuple) else [rows]


def joined(parts: Iterable[Compressed]) -> Compressed:
    """Many logs as one: the sum of their triangles, in pairs if a cluster likes."""
    total: Compressed | None = None
    for part in parts:
        total = part if total is None else total + part
    if total is None:
        raise InputError("there is no log to join")
    return total


def compress_many(
    columns: Columns, base: Base, runs: Sequence[Samples | Callable[[], Samples]], *, client: Any = None
) -> Compressed:
    """Many logs as one, each reduced by itself: here one after another, or by the workers of a Dask `client`
    (`distributed.Client`), where only triangles come back. A run may be a function that reads and prepares its file, so
    that the worker does it."""
    if not runs:
        raise InputError("there is no log to join")
    reduce = partial(_one, columns, base)
    if client is None:
        return joined(map(reduce, runs))
    return joined(client.gather(client.map(reduce, list(runs), pure=False)))


def _one(columns: Columns, base: Base, run: Samples | Callable[[], Samples]) -> Compressed:
    return compress(columns, base, run if isinstance(run, Samples) else run())
