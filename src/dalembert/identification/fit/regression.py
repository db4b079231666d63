"""Hours of data in small triangles: R of the QR factorization of [Y_b τ], piece by piece, joint by joint.

LAPACK factors tall matrices at a tenth of the speed at which it multiplies them, so pieces are multiplied where that
loses no digits: with R₁ of the first piece, Z = [Y τ] R₁⁻¹ has nearly orthogonal columns, ZᵀZ is summed, and
R = √(ZᵀZ) R₁.

The rows of a joint have zeros under the bodies it does not carry: each joint's rows are reduced in their own columns.
Weights per joint can then still be chosen: they only scale its triangle.

The noise that residuals show, and what it makes of an estimate: the covariance of Xᵀu, X rows of a regressor and u
what they leave, each joint times its weight.

Residuals are alike from one sample to the next and from joint to joint, so that a parameter is known the worse the more
of that noise lies where its column moves. In frequencies, where noise that does not change over time is uncorrelated,

    cov(Xᵀu) = Σ_ω X(ω)ᴴ S(ω) X(ω),      S(ω) = A(ω)⁻¹ C A(ω)⁻ᴴ,

with autoregressive models 1/A, of every joint or of all alike, their orders by Akaike's criterion, and C the covariance
of what drives them. A fit takes out of the residuals what looks like its columns, mostly at low frequencies:
u = (1 − X Xᵀ) noise, the columns of X orthonormal. So the model is looked for whose residuals after such a fit would be
those seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.errors import InputError
from dalembert.identification.fit.regressor import BLOCK, Base, Columns
from dalembert.identification.log.filters import butterworth_gain
from dalembert.identification.log.samples import Samples, list_runs

if TYPE_CHECKING:
    from distributed import Client

Integers = NDArray[np.int64]
Weigh = Callable[[Array, Array], Array]  # (Y_b, τ) → what each sample of each joint is multiplied by, (N, n)
# Up to which condition number of the first piece (columns of unit size, τ among them) a way loses no digits that
# matter: squares of 1e2 leave twelve, products with an inverse of 1e4 as many.
WAYS = {"scaled": 1e2, "turned": 1e4}
Complex = NDArray[np.complex128]
LONGEST = 2_048  # samples of a piece: far longer than noise remembers
PIECES = 4  # of a log, evenly spread, that stand for it
HIGHEST = 40  # order of a model
PRICE = 3.0  # of a coefficient, in twice the logarithm of likelihood
ROUNDS = 4  # of making up for what the fit took; of a long log, of which it took little, two
MOST = 3.0  # times the power that is left: more was not taken by a fit, but is no noise
LONG = 1_000  # equations per parameter
ORDER, RATE = 4, 20.0  # of the filter that samples usually went through, and its rate in cut-offs; models do the rest
EDGE = 1.3  # times the cut-off: above it, filters have left a hundredth


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
        least = max(1e-12 * float(self.power.max(initial=0.0)), 1e-100)  # whose weights do not overflow
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
            raise InputError(
                "conflict", "other", problem="logs of different arms, or with different parameters, cannot be joined"
            )
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
        raise InputError("too-few", "parts", expected="at least one log")
    return reduce(add, logs)


def compress_many(
    columns: Columns, base: Base, runs: Sequence[Samples | Callable[[], Samples]], *, client: Client | None = None
) -> Compressed:
    """Many logs as one, each reduced by itself: here one after another, or by the workers of a Dask `client`
    (`distributed.Client`), where only triangles come back. A run may be a function that reads and prepares its file, so
    that the worker does it."""
    if not runs:
        raise InputError("too-few", "runs", expected="at least one log")
    one = partial(_compress_run, columns, base)
    if client is None:
        return join(map(one, runs))
    return join(client.gather(client.map(one, list(runs), pure=False)))  # type: ignore[no-untyped-call]


def _compress_run(columns: Columns, base: Base, run: Samples | Callable[[], Samples]) -> Compressed:
    return compress(columns, base, run if isinstance(run, Samples) else run())


def score_covariance(problem: Regression, errors: Array, weights: Array, root: Array, *, fitted: bool = True) -> Array:
    """The covariance of Xᵀu (q, q), X the rows of the problem times `root` (p, q) and u the errors (N, n), in the order
    of time, both times the weights (n,). `fitted`: the errors are what a fit with these rows left, and XᵀX = 1."""
    X, u, passed, share = _transform(problem, errors * weights, weights)
    X = X @ root
    twice = np.full(X.shape[1], 2.0)  # frequencies above zero stand for those below
    twice[0] = 1.0
    seen = np.mean(u[..., :, None] * u[..., None, :].conj(), axis=0) / passed  # (F, n, n)
    taken = np.zeros(u.shape[1:])
    back = X.conj().swapaxes(-1, -2)
    hat = X @ back if fitted else None
    rounds = 2 if errors.size > LONG * X.shape[-1] else ROUNDS
    for _ in range(rounds if fitted else 1):
        S = _model(seen, taken / passed[..., 0], twice, len(u)) * passed
        M = _sum(X, S, twice) / share
        if hat is not None:
            taken = np.einsum("...kk->...k", 2 * (hat @ S) - (X @ M) @ back).real.mean(0)
    return M


def _transform(problem: Regression, u: Array, weights: Array) -> tuple[Complex, Complex, Array, float]:
    """Fourier coefficients of pieces of a log, X (pieces, F, n, p) and u (pieces, F, n), up to the edge of what filters
    left, and what part of the power they left (F, 1, 1); the part of the log that the pieces are."""
    counts = [problem.count(run) for run in problem.runs]
    ends = np.cumsum([0, *counts])
    whole = max(counts)
    length = whole // -(-whole // LONGEST)
    places = [(r, k * length) for r, count in enumerate(counts) for k in range(count // length)]
    if len(places) > PIECES:
        places = [places[k] for k in np.linspace(0, len(places) - 1, PIECES).round().astype(int)]
    run = problem.runs[0]
    step = run.dt * problem.parallel
    F = length // 2 + 1 if length % 2 else length // 2
    F = max(min(F, int(EDGE * run.cutoff * length * step) + 1) if np.isfinite(run.cutoff) else F, 2)
    f = np.arange(F) / (length * step)
    passed = butterworth_gain(f, run.cutoff, RATE * run.cutoff, ORDER)[:, None, None] ** 2
    X = np.stack([problem.stretch(problem.runs[r], first, length) for r, first in places]) * weights[:, None]
    e = np.stack([u[ends[r] + first : ends[r] + first + length] for r, first in places])
    scale = 1 / np.sqrt(length)
    share = len(places) * length / ends[-1]
    return np.fft.rfft(X, axis=1)[:, :F] * scale, np.fft.rfft(e, axis=1)[:, :F] * scale, passed, float(share)


def _model(seen: Complex, taken: Array, twice: Array, pieces: int) -> Complex:
    """S (F, n, n) of models of the joints and of the covariance of what drives them, from the power that is seen
    (F, n, n) and what a fit took from the joints' own (F, n)."""
    F = len(seen)
    T = int(twice.sum())
    turn = np.exp(-2j * np.pi * np.outer(np.arange(F), np.arange(HIGHEST + 1)) / T)
    left = np.einsum("fkk->fk", seen).real
    own = np.maximum(left + taken, 1e-300)
    own = own * np.minimum(1.0, MOST * (twice @ left) / (twice @ own)) + 1e-300
    order = min(HIGHEST, T // 10)
    correlation = np.einsum("f,fm,fk->mk", twice, turn[:, : order + 1].real, own) / T
    each, costs = _predictors(correlation, T * pieces)
    one, cost = _predictors(np.mean(correlation / correlation[0], axis=1, keepdims=True), T * pieces, len(costs))
    apart = float(np.sum(costs - T * pieces * np.log(correlation[0])))
    A = turn[:, : order + 1] @ (each if apart < cost[0] else np.repeat(one, len(costs), axis=1))  # (F, n)
    driven = np.einsum("f,fk,fkl,fl->kl", twice, A, seen, A.conj()).real
    more = np.sqrt(twice @ (np.abs(A) ** 2 * own) / np.maximum(np.diag(driven), 1e-300))
    C = _covariance(driven * np.outer(more, more) / T, T * pieces)
    S = C / (A[:, :, None] * A[:, None, :].conj())
    # No more at any frequency than was ever seen: the smooth residuals of a wrong model make models without bounds.
    less = np.sqrt(np.minimum(1.0, own.max(0) / np.einsum("fkk->fk", S).real))
    return np.asarray(S * less[:, :, None] * less[:, None, :])


def _covariance(C: Array, samples: int) -> Array:
    """C, positive definite; only its diagonal where Schwarz's criterion finds that joints have nothing in common."""
    root = np.sqrt(np.maximum(np.diag(C), 1e-12 * max(float(np.diag(C).max()), 1e-300)))
    values, vectors = np.linalg.eigh(C / np.outer(root, root))
    values = np.maximum(values, 1e-9)
    pairs = len(C) * (len(C) - 1) / 2
    if -samples * np.sum(np.log(values)) < pairs * np.log(samples):
        return np.diag(root**2)
    return np.asarray((vectors * values) @ vectors.T) * np.outer(root, root)


def _predictors(c: Array, samples: int, times: int = 1) -> tuple[Array, Array]:
    """Coefficients (1, a₁, a₂, …) of the joints, (order + 1, n), zeros above each one's order, from correlations c
    (order + 1, n) of so many samples, means over so many `times`: Levinson's recursion, where Akaike's criterion is
    least. Beside them that criterion, (n,)."""
    order, n = len(c) - 1, c.shape[1]
    a = np.zeros((order + 1, n))
    a[0] = 1.0
    error = c[0].copy()
    best, least = a.copy(), times * samples * np.log(error)
    for m in range(1, order + 1):
        k = -np.sum(a[:m] * c[m:0:-1], axis=0) / error
        k = np.where(np.abs(k) < 1, k, 0.0)
        if m == 1:  # by about 3/N estimates fall short (Shaman & Stine 1988; products that wrap around), which matters
            k = np.sign(k) * np.minimum(np.abs(k) * (1 + 3 / samples), 0.5 + 0.5 * np.abs(k))  # near one
        a[: m + 1] += k * a[m::-1]
        error = np.maximum(error * (1 - k * k), 1e-14 * c[0])
        criterion = times * samples * np.log(error) + PRICE * m
        better = criterion < least
        best[:, better], least = a[:, better], np.minimum(criterion, least)
    return best, least


def _sum(X: Complex, S: Complex, twice: Array) -> Array:
    """Σ Xᴴ S X over pieces and frequencies, (p, p)."""
    L = np.linalg.cholesky(S)
    Z = (np.sqrt(twice)[:, None, None] * L.conj().swapaxes(-1, -2)) @ X
    rows = np.concatenate([Z.real, Z.imag]).reshape(-1, X.shape[-1])
    return np.asarray(rows.T @ rows)
