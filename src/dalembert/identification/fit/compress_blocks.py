"""Triangles of [Y_b τ] from blocks of any columns, each sample with a weight of its own.

As `compress`, but through `Columns.blocks`: for columns that change from pass to pass, for which no kernel is compiled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.fit.base import Base
from dalembert.identification.fit.compress import Compressed, _Triangle
from dalembert.identification.fit.regressor import Columns
from dalembert.identification.log.samples import Samples

Array = NDArray[np.float64]
Weigh = Callable[[Array, Array], Array]


def compress_blocks(
    columns: Columns, base: Base, samples: Samples, parallel: int = 1, weigh: Weigh | None = None
) -> Compressed:
    """[Y_b τ] of samples as triangles; `weigh(Y_b, τ)` (N, n): what each sample of each joint is multiplied by."""
    n, p = columns.robot.n, base.rank
    places = [np.flatnonzero(row) for row in columns.reach[:, columns.free][:, base.kept]]
    found = [_Triangle(len(where) + 1) for where in places]
    power, count = np.zeros(n), 0
    for whole, tau in columns.blocks(samples, parallel):
        Y = whole[..., base.kept]
        count += len(Y)
        factor = np.ones_like(tau) if weigh is None else weigh(Y, tau)
        for k, where in enumerate(places):
            found[k].add(np.column_stack([Y[:, k, where], tau[:, k]]) * factor[:, k, None])
        power += np.sum(tau**2, axis=0)
    triangles = np.zeros((n, p + 1, p + 1))
    for k, where in enumerate(places):
        T = found[k].triangle()
        triangles[k, : len(T), np.append(where, p)] = T.T
    return Compressed(triangles, count, power)
