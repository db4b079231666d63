"""Tasks: which rows of a twist matter, and how much.

A twist has six components (v, ω). A task keeps some of them, or weighs them: ξ = diag(w) S V. Every function of this
folder reads its `rows` argument here, so that a word means the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array
from dalembert.errors import InputError, choose

ROWS = ("vx", "vy", "vz", "wx", "wy", "wz")
TRANSLATION, ROTATION = (0, 1, 2), (3, 4, 5)

# Words for the usual choices. "z-axis" is the direction of that axis, whatever the turn about it: with
# expressed_in="local" it is the frame's own axis, with "world" that of the base.
WORDS: dict[str, tuple[int, ...]] = {
    "pose": (0, 1, 2, 3, 4, 5),
    "position": TRANSLATION,
    "orientation": ROTATION,
    "planar": (0, 1, 5),
    "x-axis": (4, 5),
    "y-axis": (3, 5),
    "z-axis": (3, 4),
    **{name: (k,) for k, name in enumerate(ROWS)},
}


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """ξ = diag(weights) · matrix · V: `matrix` (m, 6), `weights` (m,), and a name for each of the m rows.

    `picked`: which rows of the twist it is, if it is some of them as they are. Such tasks are few, and what was found
    out about them is kept."""

    names: tuple[str, ...]
    matrix: Array
    weights: Array
    picked: tuple[int, ...] | None = None

    @property
    def m(self) -> int:
        """How many rows."""
        return len(self.names)

    def jacobian(self, J: Array) -> Array:
        """The task's Jacobian: diag(w) S J.  (..., m, n) of (..., 6, n)."""
        return (self.weights[:, None] * self.matrix) @ J

    def reduce(self, name: str, vector: ArrayLike) -> Array:
        """A twist as the task sees it, (..., m): of all six components, or of the task's own rows in their order."""
        own = "" if self.m == 6 else f", or ({', '.join(self.names)})"
        x = array(name, vector, (..., 6), (..., self.m), meaning=f"(v, ω){own}")
        return np.asarray((x @ self.matrix.T if x.shape[-1] == 6 else x) * self.weights)

    def twist_of(self, row_vector: Array) -> Array:
        """A vector on the task's rows as one on all six: Sᵀ diag(w) u.  (..., 6) of (..., m)."""
        return np.asarray((row_vector * self.weights) @ self.matrix)

    def __repr__(self) -> str:
        plain = bool(np.all(self.weights == 1.0))
        shown = self.names if plain else [f"{w:g}·{name}" for w, name in zip(self.weights, self.names, strict=True)]
        return f"<Task {', '.join(shown)}>"


def share(name: str, value: float) -> float:
    """A part of the largest singular value, 0 ≤ value < 1."""
    x = array(name, value)
    if x.ndim or not 0 <= x < 1:
        raise InputError(f"{name} is a part of the largest singular value, 0 ≤ {name} < 1; got {value!r}")
    return float(x)


Rows = Task | str | Sequence[str] | ArrayLike  # what `task` reads


def picked(indices: tuple[int, ...]) -> Task:
    """The task that keeps these rows of a twist, as they are."""
    return Task(tuple(ROWS[k] for k in indices), np.eye(6)[list(indices)], np.ones(len(indices)), indices)


def task(rows: Rows) -> Task:
    """The task of a `rows` argument.

    A word ("position", "orientation", "pose", "planar" for (vx, vy, ωz), "z-axis", "vx" … "wz") or several of them; six
    truth values (a mask) or six weights ≥ 0, each multiplying its row, zero leaving it out; three numbers, a direction
    of translation; or rows of one's own, (m, 6).
    """
    if isinstance(rows, Task):
        return rows
    if isinstance(rows, str):
        return picked(_word(rows))
    if isinstance(rows, (tuple, list)) and rows and all(isinstance(r, str) for r in rows):
        return picked(tuple(dict.fromkeys(k for r in rows for k in _word(r))))
    x = array("rows", rows)
    if x.shape == (6,):
        return _weighed(x)
    if x.shape == (3,):
        return _along(x)
    if x.ndim == 2 and x.shape[1] == 6 and len(x):
        return _own_rows(x)
    raise InputError(
        f"rows of shape {x.shape} mean nothing; give a word ({', '.join(list(WORDS)[:4])}, …), six truth values or "
        "weights, a direction of three numbers, or a matrix (m, 6)"
    )


def _word(word: str) -> tuple[int, ...]:
    return WORDS[choose("rows", word, WORDS)]


def _weighed(weights: Array) -> Task:
    if (weights < 0).any():
        raise InputError(f"the weights of rows must not be negative, got {weights.tolist()}")
    kept = np.flatnonzero(weights)
    if not len(kept):
        raise InputError("rows selects nothing: at least one of the six (vx, vy, vz, wx, wy, wz) must be kept")
    return Task(tuple(ROWS[k] for k in kept), np.eye(6)[kept], weights[kept])


def _along(direction: Array) -> Task:
    return Task((f"v·{_short(direction)}",), np.r_[unit("rows", direction), 0, 0, 0][None], np.ones(1))


def _own_rows(matrix: Array) -> Task:
    if not np.abs(matrix).max(axis=1).all():
        raise InputError(f"row {int(np.argmin(np.abs(matrix).max(axis=1)))} of rows is zero: it selects nothing")
    return Task(tuple(f"V·{_short(row)}" for row in matrix), matrix.copy(), np.ones(len(matrix)))


def _short(vector: Array) -> str:
    return f"({', '.join(f'{x:.3g}' for x in vector)})"


def unit(name: str, direction: ArrayLike) -> Array:
    """A direction as a unit vector along the last dimension; a zero one is refused."""
    d = array(name, direction)
    length = np.sqrt((d * d).sum(axis=-1, keepdims=True))
    if d.ndim == 0 or not (length > 0).all():
        raise InputError(f"{name} is a direction: it must not be zero")
    return np.asarray(d / length)
