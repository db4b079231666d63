"""One table of tolerances, with reasons. Errors are relative to the largest entry of what is compared."""

from __future__ import annotations

import numpy as np

# Two ways of computing the same thing in doubles, a few hundred operations each.
ROUNDING = 1e-12
# The same through a matrix inverse: condition numbers of M on random trees reach 1e4 and more.
SOLVED = 1e-9
# Against another library on real files: the figure that the project promises.
ORACLE = 1e-9
# A central difference with h = 1e-6 in doubles: h² curvature and 1e-16/h rounding.
DIFFERENCE = 1e-7
# Four decimals, as the published tables print them.
PRINTED = 5e-5


def error(actual, wanted, scale: float = 0.0) -> float:
    """Largest difference relative to the largest entry wanted (or to `scale`, if that is larger)."""
    actual, wanted = np.asarray(actual, float), np.asarray(wanted, float)
    assert actual.shape == wanted.shape, (actual.shape, wanted.shape)
    if actual.size == 0:
        return 0.0
    assert np.isfinite(actual).all() and np.isfinite(wanted).all()
    size = max(float(np.abs(wanted).max()), scale)
    return float(np.abs(actual - wanted).max()) / (size or 1.0)
