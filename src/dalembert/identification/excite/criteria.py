"""How good a motion is for identification: functions of the information matrix W = YᵀY, with their gradients.

Columns are compared at equal size: C = D⁻¹ W D⁻¹ with D² = diag W, so that units of parameters do not matter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import SingularityError

Array = NDArray[np.float64]
Criterion = Callable[[Array, float], tuple[float, Array]]
FLOOR = 1e-14  # of the largest eigenvalue: what is smaller is rounding


def condition_number(Y: Array) -> float:
    """σ_max/σ_min of the columns at equal length, (N, p); infinite if they are dependent."""
    size = np.linalg.norm(Y, axis=0)
    if not (size > 0).all():
        return float("inf")
    s = np.linalg.svd(Y / size, compute_uv=False)
    return float(s[0] / s[-1]) if len(s) == Y.shape[1] and s[-1] > 1e-15 * s[0] else float("inf")


def equilibrated(W: Array) -> tuple[Array, Array]:
    """(C, d) with C = W / d dᵀ of ones on its diagonal."""
    d = np.sqrt(np.diag(W))
    if not (d > 0).all():
        raise SingularityError("a column of the regressor is zero all along the motion: some joint does not move")
    return W / np.outer(d, d), d


def condition(W: Array, sharpness: float = 8.0) -> tuple[float, Array]:
    """(log κ_s, ∂/∂W): log κ_s = (log Σ λᵢˢ + log Σ λᵢ⁻ˢ)/2s over the eigenvalues λ of C.

    It is smooth where eigenvalues meet, above the logarithm of the condition number √(λ_max/λ_min), and comes to it
    as s grows: by at most (log p)/s."""
    C, d = equilibrated(W)
    values, vectors = np.linalg.eigh(C)
    values = np.maximum(values, FLOOR * values[-1])
    up, down = np.log(values) * sharpness, -np.log(values) * sharpness
    large, small = _log_sum(up), _log_sum(down)
    slope = 0.5 * (np.exp(up - large) - np.exp(down - small)) / values  # ∂/∂λ
    G = (vectors * slope) @ vectors.T
    return (large + small) / (2.0 * sharpness), _through_scaling(G, C, d)


def d_optimal(W: Array, sharpness: float = 8.0) -> tuple[float, Array]:
    """(−log det W / 2p, ∂/∂W): minus the mean logarithm of the lengths of independent columns; the volume of the
    confidence ellipsoid is least where this is. d(log det W) = tr(W⁻¹ dW)."""
    C, d = equilibrated(W)
    values, vectors = np.linalg.eigh(C)
    values = np.maximum(values, FLOOR * values[-1])
    p = len(d)
    inverse = (vectors / values) @ vectors.T / np.outer(d, d)
    return -float(np.log(values).sum() + 2.0 * np.log(d).sum()) / (2 * p), -inverse / (2 * p)


def _log_sum(x: Array) -> float:
    top = float(x.max())
    return top + float(np.log(np.exp(x - top).sum()))


def _through_scaling(G: Array, C: Array, d: Array) -> Array:
    """∂f/∂W from G = ∂f/∂C: C_ij = W_ij/(d_i d_j), dᵢ² = W_ii."""
    F = G / np.outer(d, d)
    F[np.diag_indices(len(d))] -= np.einsum("ij,ij->i", G, C) / (d * d)
    return np.asarray(F)


CRITERIA: dict[str, Criterion] = {"condition": condition, "d-optimal": d_optimal}
