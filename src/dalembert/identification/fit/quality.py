"""What an identified model is worth: residuals joint by joint, whiteness, parameters that matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.fit.compress import Compressed, triangle
from dalembert.identification.fit.estimate import Estimate, solved

Array = NDArray[np.float64]
LAGS = 20


@dataclass(frozen=True, eq=False)
class Fit:
    """How well torques are predicted. `rms` [N m] and `relative` ‖τ − τ̂‖/‖τ‖ per joint (n,); `r2` per joint;
    `total` ‖τ − τ̂‖/‖τ‖ over all joints; `whiteness` (n,): the largest |autocorrelation| of the residuals at lags 1…20,
    which for white noise stays below `white`."""

    rms: Array
    relative: Array
    r2: Array
    total: float
    whiteness: Array
    white: float
    samples: int


def fit(measured: Array, predicted: Array) -> Fit:
    """The residuals of a prediction, (N, n) both."""
    e = measured - predicted
    N = len(e)
    size = np.sqrt(np.sum(measured**2, axis=0))
    spread = np.sum((measured - measured.mean(0)) ** 2, axis=0)
    squares = np.sum(e**2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(size > 0, np.sqrt(squares) / size, np.inf)
        r2 = np.where(spread > 0, 1.0 - squares / spread, -np.inf)
    total = float(np.sqrt(squares.sum()) / max(np.sqrt(np.sum(size**2)), 1e-300))
    return Fit(np.sqrt(squares / N), relative, r2, total, _whiteness(e), float(2.6 / np.sqrt(N)), N)


def _whiteness(e: Array) -> Array:
    """The largest |ρ| at lags 1 to 20 (n,)."""
    c = e - e.mean(0)
    power = np.maximum(np.sum(c * c, axis=0), 1e-300)
    lags = [np.abs(np.sum(c[k:] * c[:-k], axis=0)) / power for k in range(1, min(LAGS, len(c) - 1) + 1)]
    return np.max(lags, axis=0) if lags else np.zeros(e.shape[1])


def essential(data: Compressed, estimate: Estimate, worse: float = 0.02) -> tuple[NDArray[np.int64], list[float]]:
    """The base parameters that are needed: stepwise, the one with the largest relative deviation is left out, as
    long as the weighted residual grows by no more than `worse` of itself (Pham & Gautier).

    Returns their places, and the residual (‖·‖ relative to the full fit) after each removal."""
    kept = np.arange(data.p)
    R = data.stacked(estimate.weights)
    floor = float(np.sum(data.squares(estimate.beta) * estimate.weights**2))
    grown: list[float] = []
    while len(kept) > 1:
        beta, inverse, _ = solved(_columns(R, kept))
        deviation = np.sqrt(np.diag(inverse)) / np.maximum(np.abs(beta), 1e-300)
        tried = np.delete(kept, int(np.argmax(deviation)))
        shorter = _columns(R, tried)
        smaller, _, _ = solved(shorter)
        residual = R[:, np.append(tried, data.p)] @ np.append(smaller, -1.0)
        ratio = float(np.sqrt(residual @ residual / max(floor, 1e-300)))
        if ratio > 1.0 + worse:
            break
        kept = tried
        grown.append(ratio)
    return kept, grown


def _columns(R: Array, places: NDArray[np.int64]) -> Array:
    return triangle(R[:, np.append(places, R.shape[1] - 1)])
