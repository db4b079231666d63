"""Base parameters: the combinations of parameters that motion and torques can tell apart.

A column of Y that the columns before it span in every motion adds its parameter to theirs: τ = Y_b β with
β = π_kept + K π_rest, Y_rest = Y_kept K.  Gautier & Khalil 1990.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.identification.fit.regressor import Columns

Array = NDArray[np.float64]
DEPENDENT = 1e-8  # of a unit column's distance from those before it: random motions tell columns apart at 1e-3 and more


@dataclass(frozen=True, eq=False)
class Base:
    """`kept` and `rest`: places among the free columns; K (kept, rest). `names` of the free columns."""

    names: tuple[str, ...]
    kept: NDArray[np.int64]
    rest: NDArray[np.int64]
    K: Array

    @property
    def rank(self) -> int:
        return len(self.kept)

    def of(self, parameters: Array) -> Array:
        """β of the parameters π of the free columns."""
        return np.asarray(parameters[self.kept] + self.K @ parameters[self.rest])

    def matrix(self) -> Array:
        """B with β = B π."""
        B = np.zeros((len(self.kept), len(self.names)))
        B[:, self.kept] = np.eye(len(self.kept))
        B[:, self.rest] = self.K
        return B

    def formulas(self, digits: int = 4) -> tuple[str, ...]:
        """Each base parameter as a sum of parameters with numbers."""
        lines = []
        for i, k in enumerate(self.kept):
            text = self.names[k]
            for j, r in enumerate(self.rest):
                x = self.K[i, j]
                if abs(x) > 1e-9:
                    size = "" if abs(abs(x) - 1) < 1e-9 else f"{abs(x):.{digits}g} "
                    text += f" {'+' if x > 0 else '−'} {size}{self.names[r]}"
            lines.append(text)
        return tuple(lines)


def base(columns: Columns, seed: int = 0) -> Base:
    """The base parameters of a set of columns, found on random motions: a property of the arm, not of a log."""
    names = columns.names
    if not names:
        raise InputError("every parameter is fixed: there is nothing to identify")
    return from_matrix(columns.random_rows(seed), names)


def from_matrix(Y: Array, names: tuple[str, ...]) -> Base:
    """The base parameters that the rows of a matrix tell apart, columns taken from left to right."""
    size = np.linalg.norm(Y, axis=0)
    largest = size.max(initial=0.0)
    scale = np.where(size > 1e-12 * largest, size, 1.0)
    R = np.asarray(np.linalg.qr(Y / scale, mode="r"), np.float64)
    R = np.concatenate([R, np.zeros((max(0, R.shape[1] - R.shape[0]), R.shape[1]))])
    kept: list[int] = []
    Q = np.zeros((R.shape[0], 0))
    for j in range(R.shape[1]):
        column = R[:, j].copy()
        for _ in range(2):  # twice: what rounding left of the first pass goes in the second
            column -= Q @ (Q.T @ column)
        rest = np.linalg.norm(column)
        if size[j] > 1e-12 * largest and rest > DEPENDENT:
            kept.append(j)
            Q = np.column_stack([Q, column / rest])
    left = [j for j in range(R.shape[1]) if j not in kept]
    K = np.linalg.lstsq(R[:, kept], R[:, left], rcond=None)[0] if kept and left else np.zeros((len(kept), len(left)))
    K = K * scale[left] / scale[kept][:, None]
    K[:, size[left] <= 1e-12 * largest] = 0.0
    K[np.abs(K) < 1e-9] = 0.0
    return Base(names, np.array(kept, np.int64), np.array(left, np.int64), K)
