"""Quadratic programs, dense and small, solved by daqp's dual active set (the extra `opt`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import MissingExtraError

Array = NDArray[np.float64]
UNLIMITED = 1e20  # what daqp is told for infinity
TOLERANCE = 1e-9  # by which constraints may be missed
EQUAL = 5  # daqp's sense of an equation


def need_daqp(what: str) -> None:
    """Refuse, in words, what cannot be done without the solver."""
    try:
        import daqp  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        remedy = "Install one with pip install 'dalembert[opt]'."
        raise MissingExtraError("missing-extra", "daqp", problem=f"{what} needs a QP solver", remedy=remedy) from None


def solve_qp(
    H: Array,
    f: Array,
    low: Array,
    high: Array,
    A: Array | None = None,
    lower: Array | None = None,
    upper: Array | None = None,
    E: Array | None = None,
    e: Array | None = None,
) -> Array | None:
    """min ½ xᵀH x + fᵀx subject to low ≤ x ≤ high, lower ≤ A x ≤ upper, E x = e, H positive definite; None where
    nothing satisfies them."""
    import daqp

    n = len(f)
    rows, below, above, sense = [np.zeros((0, n))], [low], [high], [np.zeros(n, np.int32)]
    if A is not None and lower is not None and upper is not None:
        rows, below, above = [*rows, A], [*below, lower], [*above, upper]
        sense.append(np.zeros(len(A), np.int32))
    if E is not None and e is not None:
        rows, below, above = [*rows, E], [*below, e], [*above, e]
        sense.append(np.full(len(E), EQUAL, np.int32))
    lowest, highest = np.maximum(np.concatenate(below), -UNLIMITED), np.minimum(np.concatenate(above), UNLIMITED)
    matrix = np.ascontiguousarray(np.vstack(rows))
    x, _, flag, _ = daqp.solve(H, f, matrix, highest, lowest, np.concatenate(sense), primal_tol=TOLERANCE)
    return np.asarray(x) if flag >= 1 else None
