"""What is met: large values of a function over a box, by samples and by local search. Nothing is proved here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SAMPLES = 20_000
STARTS = 32
PROPOSALS = 16
STEPS = 150
CORNERS = 4096


def attained(
    value: Callable[[Array], Array],
    lower: Array,
    upper: Array,
    seed: int = 0,
    repair: Callable[[Array], Array] | None = None,
) -> tuple[float, Array]:
    """The largest value met and where, (n,), lower ≤ x ≤ upper. `repair` puts a proposal back where it belongs."""
    rng = np.random.default_rng(seed)
    n = len(lower)
    mend = repair or (lambda x: x)
    x = rng.uniform(lower, upper, (SAMPLES, n))
    moving = upper > lower
    corners = np.where(rng.random((CORNERS, n)) < 0.5, lower, upper)
    middles = np.where(rng.random((CORNERS, n)) < 0.5, corners, 0.5 * (lower + upper))
    x = mend(np.concatenate([x, corners, middles]))
    v = value(x)
    best = np.argsort(-v)[:STARTS]
    x, v = x[best], v[best]
    width = np.full(len(x), 0.25)
    for _ in range(STEPS):
        some = rng.random((len(x), PROPOSALS, n)) < 0.5
        step = rng.normal(size=(len(x), PROPOSALS, n)) * width[:, None, None] * (upper - lower) * (some & moving)
        trial = mend(np.clip(x[:, None] + step, lower, upper))
        w = value(trial.reshape(-1, n)).reshape(len(x), PROPOSALS)
        k = w.argmax(axis=1)
        rows = np.arange(len(x))
        up = w[rows, k] > v
        x[up], v[up] = trial[rows, k][up], w[rows, k][up]
        width = np.where(up, 1.1 * width, 0.8 * width)
    k = int(v.argmax())
    return float(v[k]), x[k]
