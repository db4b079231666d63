"""Base parameters from compressed data: least squares in its several kinds, with what they are worth.

    β = argmin Σ_k w_k² Σ (τ_k − Y_b,k β)²,        cov β = (AᵀA)⁻¹ Aᵀ S A (AᵀA)⁻¹

A is the stacked triangle of all joints with their weights. S holds each joint's residual variance times its inflation:
residuals of filtered data are alike from one sample to the next, and count for fewer samples than there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, SingularityError
from dalembert.identification.fit.compress import Compressed, triangle

Array = NDArray[np.float64]
ROUNDS = 50  # of reweighting; five are usual
SINGULAR = 1e-12  # of the smallest singular value of scaled columns against the largest


@dataclass(frozen=True, eq=False)
class Estimate:
    """β (p,), its covariance (p, p), the residual standard deviation of each joint [N m] (n,), weights of the
    joints (n,), and the condition number of the columns scaled to unit length."""

    beta: Array
    covariance: Array
    sigma: Array
    weights: Array
    condition: float
    rounds: int = 1

    @property
    def deviation(self) -> Array:
        """Standard deviations of β."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    @property
    def relative(self) -> Array:
        """Standard deviations as parts of the values [1]; infinite for a value of zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.beta != 0, self.deviation / np.abs(self.beta), np.inf))


def solved(R: Array, what: str = "the log") -> tuple[Array, Array, float]:
    """(β, (AᵀA)⁻¹, condition) of a triangle [A b]."""
    A, b = R[: R.shape[1] - 1, :-1], R[: R.shape[1] - 1, -1]
    size = np.linalg.norm(A, axis=0)
    if A.shape[0] < A.shape[1] or (size == 0).any():
        raise SingularityError(f"{what} has fewer independent equations than there are parameters to find")
    U, s, Vt = np.linalg.svd(A / size)
    if s[-1] < SINGULAR * s[0]:
        raise SingularityError(f"{what} does not tell all parameters apart: its motions are too poor")
    beta = (Vt.T @ ((U.T @ b)[: len(s)] / s)) / size
    inverse = (Vt.T / s**2) @ Vt / np.outer(size, size)
    return beta, inverse, float(s[0] / s[-1])


def least_squares(
    data: Compressed,
    weighted: bool = True,
    *,
    prior: Array | None = None,
    strength: Array | float = 0.0,
    inflation: Array | None = None,
) -> Estimate:
    """β by ordinary least squares, or `weighted` by each joint's own residual, found by turns (a joint of 3 N m and
    one of 300 then count alike).

    `prior` β₀ and `strength`, its inverse standard deviation: pulled toward CAD values where the log says little.
    `inflation` (n,) ≥ 1: by how much each joint's residual variance counts more."""
    n = len(data.triangles)
    if data.rows * n <= data.p:
        raise InputError(f"{data.rows} samples of {n} joints are fewer equations than the {data.p} parameters")
    more = np.ones(n) if inflation is None else np.asarray(inflation, float)
    pull = np.broadcast_to(np.asarray(strength, float), (data.p,))
    target = np.zeros(data.p) if prior is None else np.asarray(prior, float)
    weights = np.ones(n)
    beta = np.zeros(data.p)
    share = data.rows - data.p / n  # degrees of freedom left to each joint
    for done in range(1, ROUNDS + 1):
        extra = np.column_stack([np.diag(pull), pull * target])[pull > 0]
        R = triangle(np.vstack([data.stacked(weights), extra]))
        before = beta
        beta, inverse, condition = solved(R)
        sigma = np.sqrt(data.squares(beta) / share)
        floor = 1e-9 * np.sqrt(np.maximum(data.power, 1e-300) / data.rows)  # torques explained to the last digit
        if not weighted:
            break
        weights = 1.0 / np.maximum(sigma, floor)
        if done > 1 and np.abs(beta - before).max() <= 1e-10 * np.abs(beta).max():
            break
    spread = sandwich(data, weights, inverse, np.maximum(sigma, floor) * np.sqrt(more))
    return Estimate(beta, spread, sigma, weights, condition, done)


def sandwich(data: Compressed, weights: Array, inverse: Array, sigma: Array) -> Array:
    """(AᵀA)⁻¹ Σ_k w_k⁴ σ_k² A_kᵀA_k (AᵀA)⁻¹: right whatever the weights."""
    A = data.triangles[..., :-1]
    middle = np.einsum("k,kij,kil->jl", weights**4 * sigma**2, A, A)
    return np.asarray(inverse @ middle @ inverse)


def inflation(residuals: Array) -> Array:
    """By how much the samples of each joint count for fewer: 1 + 2 Σ ρ_l over the lags until correlation has died out
    (Geyer's positive sequence).  residuals (N, n) in the order of time → (n,)."""
    N = len(residuals)
    e = residuals - residuals.mean(0)
    size = 1 << (2 * N - 1).bit_length()
    F = np.fft.rfft(e, size, axis=0)
    correlation = np.fft.irfft(F * F.conj(), size, axis=0)[: N // 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.nan_to_num(correlation / correlation[:1])
    if len(rho) < 4:
        return np.ones(residuals.shape[1])
    pairs = rho[0 : len(rho) // 2 * 2 : 2] + rho[1 : len(rho) // 2 * 2 : 2]
    alive = np.cumprod(pairs > 0, axis=0)
    return np.maximum(2.0 * np.sum(pairs * alive, axis=0) - 1.0, 1.0)
