"""The noise that residuals show, and what it makes of an estimate: the covariance of Xᵀu, X rows of a regressor and u
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

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.fit.regression import Regression
from dalembert.identification.log.filters import butterworth_gain

Array = NDArray[np.float64]
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
