"""Fourier series as a linear map: a few numbers per joint → positions, rates and accelerations on a grid.

Swevers et al. 1997: q̇ = Σ_k a_k cos kωt + b_k sin kωt, q = q₀ + Σ_k (a_k sin kωt − b_k cos kωt)/kω. A motion that
starts at rest has Σ a_k = 0 and Σ k b_k = 0; the numbers left over are free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.trajectories.sines import Sines, fourier

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """`harmonics` K of the base `frequency` [Hz]. Coefficients z (p, n): q₀ first, p = 2K + 1 or, at rest, 2K − 1."""

    harmonics: int
    frequency: float
    at_rest: bool = True

    @cached_property
    def free(self) -> Array:
        """(2K + 1, p): (q₀, a₁ … a_K, b₁ … b_K) of the free numbers, which are amplitudes of position rather than of
        velocity, so that all are of one size."""
        k = np.arange(1, self.harmonics + 1)
        w = 2 * np.pi * self.frequency * k
        sizes = np.concatenate([[1.0], w, w])
        if not self.at_rest:
            return np.diag(sizes)
        rows = np.zeros((2, 2 * self.harmonics + 1))
        rows[0, 1 : self.harmonics + 1] = w
        rows[1, self.harmonics + 1 :] = k * w
        null = np.linalg.svd(rows[:, 1:])[2][2:].T  # orthonormal: no free number is larger than another
        out = np.zeros((2 * self.harmonics + 1, 1 + null.shape[1]))
        out[0, 0] = 1.0
        out[1:, 1:] = sizes[1:, None] * null
        return out

    @property
    def numbers(self) -> int:
        return int(self.free.shape[1])

    @property
    def period(self) -> float:
        return 1.0 / self.frequency

    def times(self, count: int) -> Array:
        """`count` times over one period, the end not repeated."""
        return np.asarray(np.arange(count) * (self.period / count), float)

    def maps(self, t: Array) -> tuple[Array, Array, Array]:
        """(B, B', B''), (len(t), p) each: q = B z, q̇ = B' z, q̈ = B'' z."""
        w = 2 * np.pi * self.frequency * np.arange(1, self.harmonics + 1)
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
        B, Bd, Bdd = np.hstack([one, s / w, -c / w]), np.hstack([zero, c, s]), np.hstack([zero, -s * w, c * w])
        return B @ self.free, Bd @ self.free, Bdd @ self.free

    def smaller(self, z: Array, share: float) -> Array:
        """The same motion made smaller about its mean position."""
        return np.vstack([z[:1], share * z[1:]])

    def motion(self, z: Array, names: tuple[str, ...], units: tuple[str, ...]) -> Sines:
        """The motion as a trajectory, which goes on for ever."""
        x = self.free @ z
        K = self.harmonics
        made = fourier(x[1 : K + 1], x[K + 1 :], self.frequency, x[0], start="rest" if self.at_rest else "free")
        return replace(made, names=names, units=units)
