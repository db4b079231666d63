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
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.identification.fit.regressor import BLOCK, Base, Columns
from dalembert.identification.log.samples import Samples, list_runs

if TYPE_CHECKING:
    from distributed import Client

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Weigh = Callable[[Array, Array], Array]  # (Y_b, τ) → what each sample of each joint is multiplied by, (N, n)
# Up to which condition number of the first piece (columns of unit size, τ among them) a way loses no digits that
# matter: squares of 1e2 leave twelve, products with an inverse of 1e4 as many.
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

    @property
    def smallest(self) -> Array:
        """Residuals [N m] per joint (n,) below which torques are explained to the last digit: those of a joint without
        load are counted as if it had a millionth of the largest torque."""
        least = max(1e-12 * float(self.power.max(initial=0.0)), 1e-300)
        return np.asarray(1e-9 * np.sqrt(np.maximum(self.power, least) / self.rows))

    def stacked(self, weights: Array | None = None, columns: Sequence[int] | Integers | None = None) -> Array:
        """[A b] with ‖A β − b‖² the sum of squares over all joints, each with its weight; in some columns."""
        T = self.triangles if weights is None else self.triangles * weights[:, None, None]
        wanted = np.arange(self.p) if columns is None else np.asarray(columns)
        return triangle(T[..., np.append(wanted, self.p)].reshape(-1, len(wanted) + 1))

    def squares(self, beta: Array) -> Array:
        """Σ (τ − Y_b β)² per joint, (n,)."""
        return np.asarray(np.sum((self.triangles @ np.append(beta, -1.0)) ** 2, axis=-1))

    def only(self, columns: Integers) -> Compressed:
        """The same with some of the columns."""
        wanted = np.append(columns, self.p)
        return Compressed(np.stack([_square(triangle(T[:, wanted])) for T in self.triangles]), self.rows, self.power)

    def about(self, beta: Array) -> Compressed:
        """The same as if β were its best fit, with the residuals that are left anyway."""
        triangles = self.triangles.copy()
        for T in triangles:  # a joint's own residual is in the row after its own columns, not in the last
            A, b = T[:, :-1], T[:, -1].copy()
            T[:, -1] = A @ (beta - np.linalg.lstsq(A, b)[0]) + b
        return Compressed(triangles, self.rows, self.power)

    def __add__(self, other: Compressed) -> Compressed:
        """Two logs as one."""
        if self.triangles.shape != other.triangles.shape:
            raise InputError("logs of different arms, or with different parameters, cannot be joined")
        both = np.concatenate([self.triangles, other.triangles], axis=1)
        return Compressed(np.stack([triangle(T) for T in both]), self.rows + other.rows, self.power + other.power)


def triangle(rows: Array) -> Array:
    """R of rows = Q R."""
    return np.asarray(np.linalg.qr(rows, mode="r"), np.float64)


def _square(R: Array) -> Array:
    """A triangle of fewer rows than columns, filled with zeros."""
    return np.concatenate([R, np.zeros((R.shape[1] - len(R), R.shape[1]))])


def unit_columns(A: Array) -> tuple[Array, Array]:
    """(A with columns of unit length, their lengths; one where a column is zero)."""
    size = np.linalg.norm(A, axis=0)
    size = np.where(size > 0, size, 1.0)
    return A / size, size


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
        _, size = unit_columns(rows)
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


@dataclass(frozen=True, eq=False)
class Regression:
    """τ = Y_b β of one or several runs, for every estimator: `parallel` as in `Columns.blocks`."""

    columns: Columns
    base: Base
    runs: tuple[Samples, ...]
    parallel: int = 1

    @property
    def n(self) -> int:
        return self.columns.robot.n

    def blocks(self) -> Iterator[tuple[Array, Array]]:
        """(Y_b, τ) piece by piece, run by run."""
        for run in self.runs:
            for Y, tau in self.columns.blocks(run, self.parallel):
                yield Y[..., self.base.kept], tau

    def count(self, run: Samples) -> int:
        """How many rows of each joint a run has."""
        margin = 8 * self.parallel if self.parallel > 1 else 0
        return -(-max(len(run) - margin, 0) // self.parallel)

    def stretch(self, run: Samples, first: int, count: int) -> Array:
        """Y_b of so many rows of a run, (count, n, p)."""
        D, margin = self.parallel, 8 * self.parallel if self.parallel > 1 else 0
        part = run.part(slice(first * D, (first + count - 1) * D + margin + 1)).without_torques()
        return np.concatenate([Y[..., self.base.kept] for Y, _ in self.columns.blocks(part, D)])

    def residuals(self, beta: Array) -> Array:
        """τ − Y_b β in the order of time, (N, n)."""
        return np.concatenate([tau - Y @ beta for Y, tau in self.blocks()])

    def compress(self, weigh: Weigh | None = None) -> Compressed:
        """[Y_b τ] as triangles; torques of fixed parameters are taken off first."""
        return join(self._compress(run, weigh) for run in self.runs)

    def _compress(self, run: Samples, weigh: Weigh | None) -> Compressed:
        n, p = self.n, self.base.rank
        pieces, places = self._pieces(run, weigh)
        found = [_Triangle(len(where) + 1) for where in places]
        power, count = np.zeros(n), 0
        for piece, factor in pieces:
            count += len(piece[0])
            for k, rows in enumerate(piece):
                found[k].add(rows if factor is None else rows * factor[:, k, None])
                power[k] += rows[:, -1] @ rows[:, -1]
        whole = np.zeros((n, p + 1, p + 1))
        for k, where in enumerate(places):
            T = found[k].triangle()
            whole[k, : len(T), np.append(where, p)] = T.T
        return Compressed(whole, count, power)

    def _pieces(
        self, run: Samples, weigh: Weigh | None
    ) -> tuple[Iterator[tuple[list[Array], Array | None]], list[Integers]]:
        """Of each piece of a run, for each joint its rows of [Y_b τ], and weights; which base parameters the columns
        are."""
        columns, kept = self.columns, self.base.kept
        if self.parallel == 1 and weigh is None and columns.compiled:
            kernel, places = columns.joint_kernel(kept)

            def computed() -> Iterator[tuple[list[Array], None]]:
                for first in range(0, len(run), BLOCK):
                    part = run.part(slice(first, first + BLOCK))
                    with np.errstate(invalid="ignore"):
                        rows = kernel(*columns.arguments(part), part.tau)
                    yield (list(rows) if isinstance(rows, tuple) else [rows]), None

            return computed(), places
        places = [np.flatnonzero(row) for row in columns.reach[:, columns.free][:, kept]]

        def filtered() -> Iterator[tuple[list[Array], Array | None]]:
            for Y, tau in columns.blocks(run, self.parallel):
                rows = [np.column_stack([Y[:, k, kept[where]], tau[:, k]]) for k, where in enumerate(places)]
                yield rows, None if weigh is None else weigh(Y[..., kept], tau)

        return filtered(), places


def regression(
    columns: Columns, base: Base, samples: Samples | Sequence[Samples], parallel: int = 1, what: str = "samples"
) -> Regression:
    """A regression of runs that were looked at: each with as many joints as the robot, whole and finite."""
    return Regression(columns, base, list_runs(samples, columns.robot.n, what), parallel)


def compress(columns: Columns, base: Base, samples: Samples, parallel: int = 1) -> Compressed:
    """[Y_b τ] of samples as triangles; torques of fixed parameters are taken off first, `parallel` as in
    `Columns.blocks`."""
    return Regression(columns, base, (samples,), parallel).compress()


def join(parts: Iterable[Compressed]) -> Compressed:
    """Many logs as one: the sum of their triangles, in pairs if a cluster likes."""
    logs = list(parts)
    if not logs:
        raise InputError("there is no log to join")
    return reduce(add, logs)


def compress_many(
    columns: Columns, base: Base, runs: Sequence[Samples | Callable[[], Samples]], *, client: Client | None = None
) -> Compressed:
    """Many logs as one, each reduced by itself: here one after another, or by the workers of a Dask `client`
    (`distributed.Client`), where only triangles come back. A run may be a function that reads and prepares its file, so
    that the worker does it."""
    if not runs:
        raise InputError("there is no log to join")
    one = partial(_compress_run, columns, base)
    if client is None:
        return join(map(one, runs))
    return join(client.gather(client.map(one, list(runs), pure=False)))  # type: ignore[no-untyped-call]


def _compress_run(columns: Columns, base: Base, run: Samples | Callable[[], Samples]) -> Compressed:
    return compress(columns, base, run if isinstance(run, Samples) else run())
