"""Long series as few points that look the same."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SEEN = 0.15  # a bend of so many pixels is not seen


def extremes(column: NDArray[np.int64], y: Array) -> NDArray[np.int64]:
    """Of points in order, sorted into the pixel columns that they fall in: the places of the first, lowest, highest and
    last of each column, so that no peak is lost however long the series is."""
    starts = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
    ends = np.r_[starts[1:], len(column)]
    order = np.lexsort((y, column))  # within a column from low to high, columns as they come
    return np.unique(np.concatenate([starts, ends - 1, order[starts], order[ends - 1]]))


def straightened(x: Array, y: Array, bend: float = SEEN) -> list[int]:
    """The places of points between which a straight line passes all others by less than `bend` (a sleeve is pushed
    along until it touches)."""
    n = len(x)
    if n <= 2:
        return list(range(n))
    xs, ys = x.tolist(), y.tolist()
    kept, at = [0], 0
    low, high = -np.inf, np.inf
    for k in range(1, n):
        dx = xs[k] - xs[at]
        if dx <= 0:
            slope_low, slope_high = np.inf, -np.inf
        else:
            slope_low, slope_high = (ys[k] - bend - ys[at]) / dx, (ys[k] + bend - ys[at]) / dx
        slope = (ys[k] - ys[at]) / dx if dx > 0 else np.inf
        if k > at + 1 and not low <= slope <= high:
            at = k - 1
            kept.append(at)
            dx = xs[k] - xs[at]
            low, high = ((ys[k] - bend - ys[at]) / dx, (ys[k] + bend - ys[at]) / dx) if dx > 0 else (np.inf, -np.inf)
        else:
            low, high = max(low, slope_low), min(high, slope_high)
    return [*kept, n - 1]
