"""Least squares that single bad samples do not spoil: Huber's and Tukey's, by reweighting sample after sample.

    β = argmin Σ_k Σ_i ρ(e_ki / σ_k),    e = τ − Y_b β,    σ_k = median |e_k| / 0.6745

Each round is one pass over the log: a sample counts w(u) = ρ'(u)/u, u = e/σ of its joint. Huber's ρ grows linearly
beyond its constant and has one minimum; Tukey's is flat there, forgets gross errors wholly, and starts from Huber's
answer.
The covariance is that of an M-estimator (Huber 1981, §7.6): per joint the variance is σ² mean ψ² / (mean ψ')².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, unknown
from dalembert.identification.fit.base import Base
from dalembert.identification.fit.compress import Compressed, compress, joined
from dalembert.identification.fit.compress_blocks import compress_blocks
from dalembert.identification.fit.estimate import Estimate, inflation, least_squares, sandwich, solved
from dalembert.identification.fit.regressor import Columns
from dalembert.identification.log.samples import Samples, list_runs

Array = NDArray[np.float64]
ROUNDS = 60  # of reweighting; ten to twenty are usual
SETTLED = 1e-3  # of its standard deviation: a step of β that is none
NORMAL = 0.6744897501960817  # the median of |e| for σ = 1


@dataclass(frozen=True)
class Loss:
    """The constant at which 95 % of the efficiency is kept for normal errors, the weight ψ(u)/u and the slope ψ'(u)."""

    constant: float
    weight: Callable[[Array, float], Array]
    slope: Callable[[Array, float], Array]
    start: str | None = None  # the loss whose answer it starts from


def _tukey_slope(u: Array, c: float) -> Array:
    x = (u / c) ** 2
    return np.where(x < 1, (1 - x) * (1 - 5 * x), 0.0)


LOSSES: dict[str, Loss] = {
    "huber": Loss(1.345, lambda u, c: c / np.maximum(np.abs(u), c), lambda u, c: np.where(np.abs(u) <= c, 1.0, 0.0)),
    "tukey": Loss(4.685, lambda u, c: np.maximum(1 - (u / c) ** 2, 0.0) ** 2, _tukey_slope, "huber"),
}


@dataclass(frozen=True, eq=False)
class Robust:
    """`estimate` of β; `doubted` (n,): the part of each joint's samples that counted for less than half; `data`: the
    log compressed with the last weights, for a physically consistent fit of it; the loss and its constant."""

    estimate: Estimate
    doubted: Array
    data: Compressed
    loss: str
    constant: float
    converged: bool


def robust_least_squares(
    columns: Columns,
    base: Base,
    samples: Samples | Sequence[Samples],
    loss: str = "huber",
    *,
    constant: float | None = None,
    parallel: int = 1,
) -> Robust:
    """β by least squares with bounded influence of single samples; `loss` "huber" or "tukey", `constant` in standard
    deviations (None: 95 % efficient for normal errors), `parallel` as in `Columns.blocks`."""
    if loss not in LOSSES:
        raise unknown("loss", loss, LOSSES)
    if constant is not None and not (np.isfinite(constant) and constant > 0):
        raise InputError(f"constant must be a number of standard deviations above zero, got {constant!r}")
    runs = list_runs(samples, columns.robot.n)
    plain = joined(compress(columns, base, run, parallel) for run in runs)
    beta = least_squares(plain).beta
    first = LOSSES[loss].start
    if first is not None:
        beta = _reweighted(columns, base, runs, parallel, plain, beta, first, LOSSES[first].constant).estimate.beta
    return _reweighted(columns, base, runs, parallel, plain, beta, loss, constant or LOSSES[loss].constant)


def _reweighted(
    columns: Columns,
    base: Base,
    runs: Sequence[Samples],
    parallel: int,
    plain: Compressed,
    beta: Array,
    loss: str,
    c: float,
) -> Robust:
    row = LOSSES[loss]
    n = columns.robot.n
    share = np.sqrt(plain.rows / max(plain.rows - plain.p / n, 1.0))
    floor = 1e-9 * np.sqrt(np.maximum(plain.power, 1e-300) / plain.rows)
    e = _residuals(columns, base, runs, parallel, beta)
    converged = False
    for done in range(1, ROUNDS + 1):
        sigma = np.maximum(share * np.median(np.abs(e), axis=0) / NORMAL, floor)
        seen: list[Array] = []

        def weigh(Y: Array, tau: Array, beta: Array = beta, sigma: Array = sigma, seen: list[Array] = seen) -> Array:
            seen.append(tau - Y @ beta)
            return np.sqrt(row.weight(seen[-1] / sigma, c))

        data = joined(compress_blocks(columns, base, run, parallel, weigh) for run in runs)
        e = np.concatenate(seen)
        before = beta
        beta, inverse, condition = solved(data.stacked(1.0 / sigma), "the log, without the samples that do not fit,")
        small = SETTLED * np.sqrt(np.diag(inverse)) + 1e-12 * np.abs(beta).max()
        if done > 1 and (np.abs(beta - before) <= small).all():
            converged = True
            break
    u = e / sigma
    weight = row.weight(u, c)
    psi = weight * u
    spread = _spread(plain, sigma, psi, row.slope(u, c))
    estimate = Estimate(beta, spread, sigma, 1.0 / sigma, condition, done)
    return Robust(estimate, np.mean(weight < 0.5, axis=0), data, loss, c, converged)


def _spread(plain: Compressed, sigma: Array, psi: Array, slope: Array) -> Array:
    """The covariance of an M-estimator, each joint with its own means."""
    steep = np.maximum(slope.mean(0), 1e-3)
    weights = np.sqrt(steep) / sigma
    _, inverse, _ = solved(plain.stacked(weights))
    own = sigma * np.sqrt(np.mean(psi**2, axis=0) * inflation(psi)) / steep
    return sandwich(plain, weights, inverse, own)


def _residuals(columns: Columns, base: Base, runs: Sequence[Samples], parallel: int, beta: Array) -> Array:
    """τ − Y_b β of all runs, (N, n)."""
    return np.concatenate([tau - Y[..., base.kept] @ beta for run in runs for Y, tau in columns.blocks(run, parallel)])
