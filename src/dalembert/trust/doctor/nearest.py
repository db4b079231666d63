"""The nearest inertia that a body can have.

The principal moments of a body satisfy Jᵢ ≤ Jⱼ + Jₖ, a cone with the edges (0, 1, 1), (1, 0, 1), (1, 1, 0). Axes kept,
the nearest tensor in the Frobenius norm has the moments nearest to the given ones in that cone (Hoffman–Wielandt).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# The edges are approached to this part of the largest moment, so that the result is inside after rounding.
INSIDE = 1e-6
_EDGES = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])


def tensor_of(six: Sequence[float]) -> NDArray[np.float64]:
    """The matrix of (ixx, ixy, ixz, iyy, iyz, izz)."""
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)


def second_moments(I: NDArray[np.float64]) -> NDArray[np.float64]:
    """∫ r rᵀ dm = ½ tr(I) 1 − I, about the same point."""
    return 0.5 * np.trace(I) * np.eye(3) - I


def nearest(six: Sequence[float]) -> tuple[float, ...]:
    """(ixx, ixy, ixz, iyy, iyz, izz) of the nearest inertia that is positive and obeys the triangle inequality."""
    size = max(map(abs, six))
    if size == 0:
        return tuple(six)
    J, axes = np.linalg.eigh(tensor_of(six) / size)
    best = _in_cone(J)
    best = best + INSIDE * best.max()  # adding the same to all three moves into the cone
    I = size * (axes * best) @ axes.T
    return tuple(float(I[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))


def _in_cone(J: NDArray[np.float64]) -> NDArray[np.float64]:
    """The point of the cone next to J: J itself, or its projection on a face, an edge or the tip."""
    candidates = [J, np.zeros(3)]
    for k in range(3):
        edge, face = _EDGES[k], np.delete(_EDGES, k, axis=0)
        candidates.append(edge * max(0.0, J @ edge) / (edge @ edge))
        candidates.append(face.T @ np.linalg.lstsq(face.T, J, rcond=None)[0])
    allowed = [c for c in candidates if _inside(c)]
    return min(allowed, key=lambda c: float(np.linalg.norm(c - J)))


def _inside(J: NDArray[np.float64]) -> bool:
    return bool((J.sum() - 2.0 * J >= -1e-12 * np.abs(J).max(initial=1e-300)).all() and (J >= -1e-15).all())
