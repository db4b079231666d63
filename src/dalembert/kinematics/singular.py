"""Singular states: where an arm loses directions, which ones, and what they are called.

Numbers are judged on the Jacobian free of units (`motion.jacobian`): σ below `TOLERANCE` times the arm's
largest singular value is called zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import InputError
from dalembert.kinematics import wrist
from dalembert.kinematics.jacobian import (
    Integers,
    checked_jacobian,
    freedom,
    length_of,
    natural,
    ranks,
    scale_of,
    unitless,
)
from dalembert.kinematics.tasks import Array, Rows, Task, share, task
from dalembert.system import Jointed

# A singular value below this part of the arm's largest counts as zero: angles written with seven digits are meant to
# be what they nearly are.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Singularities:
    """What the Jacobian says about a state, or a batch of them.

    `singular_values` (..., k) in falling order, free of units; `rank` (...); `freedom`, the rank that the rows have
    almost everywhere; `singular` (...), rank < freedom; `closeness` (...), σ_freedom/σ̄, zero at a singularity, σ̄ being
    the arm's largest singular value over seeded states. For one state: `lost`, `words`, `kinds`, `rates`. `result[i]`
    is the i-th state of a batch.
    """

    singular_values: Array
    rank: Integers
    freedom: int
    singular: Any
    closeness: Array
    left: Array = field(repr=False)
    right: Array = field(repr=False)
    _about: _About = field(repr=False)
    _q: Array = field(repr=False)

    def __getitem__(self, index: int | tuple[int, ...]) -> Singularities:
        parts = (self.singular_values, self.rank, self.singular, self.closeness, self.left, self.right, self._q)
        s, rank, singular, closeness, left, right, q = (np.asarray(x)[index] for x in parts)
        return Singularities(s, rank, self.freedom, singular, closeness, left, right, self._about, q)

    def _one(self) -> int:
        if self.left.ndim != 2:
            raise InputError("this is a batch: take one state of it, result[i]")
        return int(self.rank)

    @property
    def lost(self) -> Array:
        """The lost directions, (k, 6) unit vectors w with wᵀ V = 0 for every twist V the arm can make here: all that
        the rows name and cannot be had, now or ever."""
        return _tidy(self._about.chosen, self.left[:, self._one() :], self._about.length)

    @property
    def words(self) -> tuple[str, ...]:
        """The lost directions in words, one for each."""
        return tuple(in_words(w, self._about.axes, self._about.length) for w in self.lost)

    @property
    def rates(self) -> Array:
        """Joint rates that move nothing in these rows, (k, n) orthonormal in unitless joints (slides per L)."""
        return self.right[self._one() :]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Of a singular state: "shoulder", "elbow", "wrist", as far as the arm's geometry has such parts (a spherical
        wrist, three parallel axes, an arm of two or three joints); empty where it has not, where the state is regular,
        and where other rows were asked for than the natural ones."""
        self._one()
        about = self._about
        if not self.singular or set(about.chosen.names) != set(natural(about.robot, about.frame).names):
            return ()  # the names belong to the rows that the arm is built for
        return wrist.kinds(about.robot, self._q, about.frame, about.tolerance)

    def __repr__(self) -> str:
        if self.left.ndim != 2:
            return f"<Singularities: {int(np.sum(self.singular))} of {np.size(self.singular)} states are singular>"
        what = f"singular ({', '.join(self.kinds) or 'no common name'})" if self.singular else "regular"
        lost = f"; lost: {'; '.join(self.words)}" if len(self.lost) else ""
        return f"<{what}: rank {int(self.rank)} of {self.freedom}, closeness {float(self.closeness):.3g}{lost}>"


@dataclass(frozen=True, eq=False)
class _About:
    """What words and kinds are told with."""

    robot: Jointed
    frame: str | None
    chosen: Task
    axes: str
    length: float
    tolerance: float


def singularities(
    robot: Jointed,
    q: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    tolerance: float = TOLERANCE,
) -> Singularities:
    """Rank, singular values and lost directions at q.  [Poonawala] §2.3.

    Singular means that the rank is less than almost everywhere. `tolerance` is the part of the arm's largest singular
    value (free of units) below which one counts as zero."""
    J = checked_jacobian(robot, q, frame, expressed_in)
    part = share("tolerance", tolerance)
    chosen = natural(robot, frame, expressed_in) if rows is None else task(rows)
    U, s, Vt = np.linalg.svd(chosen.jacobian(unitless(robot, frame, J)), full_matrices=True)
    scale = scale_of(robot, frame, chosen, expressed_in, free_of_units=True)
    rank, free = ranks(s, part * scale), freedom(robot, frame, chosen, expressed_in)
    closeness = np.asarray(s[..., free - 1] / scale)
    name = robot.model.frame(frame).name
    axes = f"of frame {name!r}" if expressed_in == "local" else "of the base"
    about = _About(robot, frame, chosen, axes, length_of(robot, frame), part)
    singular = np.asarray(rank < free)
    return Singularities(s, rank, free, singular, closeness, np.asarray(U), np.asarray(Vt), about, np.asarray(q, float))


def _tidy(chosen: Task, null: Array, L: float) -> Array:
    """An orthonormal basis, free of units, of lost directions (m, k), which takes those along single rows first: what
    is lost along z and about x should read so, and not as two mixtures. Then in units again, (k, 6), unit length."""
    m, k = null.shape
    kept: list[Array] = []
    for row in np.eye(m):
        if len(kept) < k and np.linalg.norm(null.T @ row) > 1 - 1e-9:
            kept.append(row)
    if len(kept) < k:
        rest = null - sum((np.outer(e, e) @ null for e in kept), np.zeros_like(null))
        U, _, _ = np.linalg.svd(rest, full_matrices=False)
        kept += list(U.T[: k - len(kept)])
    w = chosen.twist_of(np.reshape(kept, (k, m))) * np.array([1 / L] * 3 + [1.0] * 3)
    w /= np.linalg.norm(w, axis=-1, keepdims=True)
    first = np.take_along_axis(w, np.abs(w).argmax(axis=-1)[:, None], axis=-1)
    return np.asarray(np.where(first < 0, -w, w) + 0.0)


def in_words(w: Array, axes: str, L: float = 1.0, close: float = 1e-6) -> str:
    """A lost direction w = (f, n), wᵀ V = 0, in words. f alone: a translation; n alone: a rotation. f ⊥ n: the body
    point p = f × n/|f|² (from the frame's origin) cannot move along f. Else the two go only together."""
    f, n = w[:3], w[3:]
    size = np.hypot(np.linalg.norm(f) * L, np.linalg.norm(n))
    if np.linalg.norm(n) <= close * size:
        return f"translation along {_direction(f)} {axes}"
    if np.linalg.norm(f) * L <= close * size:
        return f"rotation about {_direction(n)} {axes}"
    if abs(f @ n) <= close * np.linalg.norm(f) * np.linalg.norm(n):
        point = _numbers(np.cross(f, n) / (f @ f))
        return f"translation along {_direction(f)} {axes}, of the point at {point} from the frame's origin"
    return f"translation along {_direction(f)} without turning, and rotation about {_direction(n)} in place, {axes}"


def _direction(d: Array) -> str:
    d = d / np.linalg.norm(d)
    k = int(np.abs(d).argmax())
    if np.abs(np.delete(d, k)).max() < 1e-6:
        return "xyz"[k]
    return _numbers(d)


def _numbers(x: Array) -> str:
    return f"({', '.join(f'{round(float(v), 4) + 0.0:g}' for v in x)})"
