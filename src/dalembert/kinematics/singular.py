"""Singular states: where an arm loses directions, which ones, and what they are called.

Numbers are judged on the Jacobian free of units (`motion.jacobian`): σ below `TOLERANCE` times the arm's
largest singular value is called zero.

Arm and wrist: arms taken apart from their geometry, and the names of their singularities.

If the last three axes meet in one point c, turning the wrist does not move c, and the Jacobian at c is
    J = [J₁₁ 0; J₂₁ J₂₂],   det J = det J₁₁ det J₂₂                              ([Poonawala] eqs. 13, 14)
so the arm (three joints that place c) and the wrist (three that turn the tool) are singular each by itself.
What meets and what is parallel is found from the axes in seeded states, not from a table of robots.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array
from dalembert.errors import InputError
from dalembert.kinematics.jacobian import (
    STATES,
    Integers,
    checked_jacobian,
    freedom,
    length_of,
    natural,
    need_joints,
    ranks,
    remembered,
    scale_of,
    unitless,
)
from dalembert.kinematics.tasks import Rows, Task, share, task
from dalembert.system import Jointed

# Two axes meet, or are parallel, if they miss by no more than this part of the arm's length (or this angle). Real
# descriptions carry rounded decimals: an axis turned by 1.5708 misses by 4e-6.
MEETS = 1e-5
# A singular value below this part of the arm's largest counts as zero: angles written with seven digits are meant to
# be what they nearly are.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Axes:
    """The joint axes of a chain in some states: `directions` (..., n, 3), `points` (..., n, 3) on them, world axes."""

    directions: Array
    points: Array


def axes(robot: Jointed, q: ArrayLike, frame: str | None = None) -> Axes:
    """The axes from the spatial Jacobian: (v, ω) = (p × a, a) for a joint that turns, (a, 0) for one that slides."""
    J = checked_jacobian(robot, q, frame, "spatial")
    v, w = np.swapaxes(J[..., :3, :], -1, -2), np.swapaxes(J[..., 3:, :], -1, -2)
    turns = np.array([c.joint.turns for c in robot.model.coordinates])[:, None]
    return Axes(np.where(turns, w, v), np.where(turns, np.cross(w, v), 0.0))


def meeting_point(directions: Array, points: Array) -> tuple[Array, Array]:
    """The point nearest to some lines and its largest distance from them: Σ (I − aaᵀ)(x − p) = 0.  (..., 3), (...).
    Infinitely far if the lines are all parallel."""
    P = np.eye(3) - directions[..., :, None] * directions[..., None, :]
    A, b = P.sum(axis=-3), (P @ points[..., None]).sum(axis=-3)
    parallel = np.linalg.svd(A, compute_uv=False)[..., -1] < 1e-9
    A = np.where(parallel[..., None, None], np.eye(3), A)
    x = np.linalg.solve(A, b)[..., 0]
    miss = np.linalg.norm(P @ (x[..., None, :] - points)[..., None], axis=(-2, -1)).max(axis=-1)
    return x, np.where(parallel, np.inf, miss)


def _seeded_axes(robot: Jointed, frame: str | None) -> Axes:
    return axes(robot, robot.random_configuration(STATES, seed=1), frame)


def _serial(robot: Jointed, frame: str | None) -> bool:
    """Whether every coordinate is one joint on the way to the frame, in order."""
    model = robot.model
    path = model.path(model.frame(frame).body)
    return not model.mimics and path == tuple(range(model.n)) == tuple(range(len(model.bodies)))


def spherical_wrist(robot: Jointed, frame: str | None = None) -> bool:
    """Whether the last three axes turn and meet in one point in every state, with at least three joints before."""
    return remembered(robot, ("spherical wrist", frame), lambda: _has_spherical(robot, frame, slice(-3, None)))


def spherical_shoulder(robot: Jointed, frame: str | None = None) -> bool:
    """Whether the first three axes turn and meet in one point in every state."""
    return remembered(robot, ("spherical shoulder", frame), lambda: _has_spherical(robot, frame, slice(0, 3)))


def _has_spherical(robot: Jointed, frame: str | None, three: slice) -> bool:
    turns = [c.joint.periodic for c in robot.model.coordinates]
    if robot.n < 6 or not _serial(robot, frame) or not all(turns[three]):
        return False
    lines = _seeded_axes(robot, frame)
    a, p = lines.directions[:, three], lines.points[:, three]
    neighbors = np.linalg.norm(np.cross(a[:, :-1], a[:, 1:]), axis=-1)
    _, miss = meeting_point(a, p)
    return bool(miss.max() < MEETS * length_of(robot, frame) and neighbors.min() > 1e-3)


def three_parallel(robot: Jointed, frame: str | None = None) -> bool:
    """Whether joints 2, 3, 4 of a six-joint arm are parallel in every state, as those of Universal Robots."""
    return remembered(robot, ("three parallel", frame), lambda: _parallel(robot, frame, (1, 2, 3)) and robot.n == 6)


def _parallel(robot: Jointed, frame: str | None, joints: tuple[int, ...]) -> bool:
    turns = [c.joint.periodic for c in robot.model.coordinates]
    if not _serial(robot, frame) or robot.n <= joints[-1] or not all(turns[k] for k in joints):
        return False
    a = _seeded_axes(robot, frame).directions[:, list(joints)]
    return bool(np.linalg.norm(np.cross(a[:, :-1], a[:, 1:]), axis=-1).max() < MEETS)


@dataclass(frozen=True, eq=False)
class Decoupled:
    """J at the wrist's center in blocks: `J11` (..., 3, n−3), `J21` (..., 3, n−3), `J22` (..., 3, 3); the block above
    J22 is zero. `center` (..., 3) is where the last three axes meet, world axes."""

    J11: Array
    J21: Array
    J22: Array
    center: Array

    @property
    def det_arm(self) -> Array:
        """det J₁₁ of an arm of three joints (and a wrist of three); for more see its singular values.  (...)."""
        if self.J11.shape[-1] != 3:
            raise InputError(f"J11 is 3×{self.J11.shape[-1]}: a determinant needs three joints before the wrist")
        return np.asarray(np.linalg.det(self.J11))

    @property
    def det_wrist(self) -> Array:
        """det J₂₂.  (...)."""
        return np.asarray(np.linalg.det(self.J22))

    @property
    def det(self) -> Array:
        """det J = det J₁₁ det J₂₂, of the tip as of the wrist's center.  (...).  [Poonawala] eq. 14."""
        return self.det_arm * self.det_wrist


def decouple(robot: Jointed, q: ArrayLike, frame: str | None = None) -> Decoupled:
    """The Jacobian taken apart at the wrist's center, for a frame behind a spherical wrist.  [Poonawala] §2.4."""
    need_joints(robot)
    if not spherical_wrist(robot, frame):
        raise InputError(f"the last three axes of {robot.name!r} do not meet in a point: no wrist to take off")
    J = checked_jacobian(robot, q, frame, "spatial")
    c = _center(robot, q, frame)
    at_center = J[..., :3, :] + np.cross(np.swapaxes(J[..., 3:, :], -1, -2), c[..., None, :]).swapaxes(-1, -2)
    k = robot.n - 3
    return Decoupled(at_center[..., :k], J[..., 3:, :k], J[..., 3:, k:], c)


def _center(robot: Jointed, q: ArrayLike, frame: str | None) -> Array:
    """The wrist's center: on the middle axis, a fixed distance from the last frame, so known even where the outer
    axes are parallel. Its place in the tip's frame is found once."""
    local = remembered(robot, ("wrist center", frame), lambda: _local_center(robot, frame))
    T = np.asarray(robot.fk(q, frame))
    return np.asarray(T[..., :3, :3] @ local + T[..., :3, 3])


def _local_center(robot: Jointed, frame: str | None) -> Array:
    q = robot.random_configuration(STATES, seed=1)
    lines = axes(robot, q, frame)
    c, _ = meeting_point(lines.directions[:, -3:], lines.points[:, -3:])
    T = np.asarray(robot.fk(q, frame))
    return np.asarray(np.einsum("kji,kj->ki", T[:, :3, :3], c - T[:, :3, 3]).mean(axis=0))


# ---------------------------------------------------------------------------------------------- shoulder, elbow, wrist
def factors(robot: Jointed, q: ArrayLike, frame: str | None = None) -> dict[str, float]:
    """Numbers without units that vanish, each, at one kind of singularity; none if the geometry is not known.

    Spherical wrist: "wrist" det J₂₂, axes 4 and 6 parallel; "elbow" and "shoulder" of the arm. Three parallel axes:
    "wrist" axis 6 parallel to them, "elbow" the three in one plane, "shoulder" the meeting of axes 5 and 6 in the plane
    through axis 1 parallel to axis 2. Two or three parallel axes in all: "elbow", the links in line. Three joints
    that place a point: "shoulder" and "elbow"."""
    need_joints(robot)
    x = array("q", q)
    if x.ndim != 1:
        raise InputError("one state at a time")
    if spherical_wrist(robot, frame):
        return _wrist_factors(robot, x, frame)
    if three_parallel(robot, frame):
        return _parallel_factors(robot, x, frame)
    return _small_factors(robot, x, frame)


def _wrist_factors(robot: Jointed, q: Array, frame: str | None) -> dict[str, float]:
    lines, L = axes(robot, q, frame), length_of(robot, frame)
    blocks = decouple(robot, q, frame)
    J11 = blocks.J11 / L
    found = {"wrist": float(abs(blocks.det_wrist))}
    if robot.n == 6:
        return {**_articulated(robot, lines, J11, frame), **found}
    if robot.n == 7 and spherical_shoulder(robot, frame):
        s, _ = meeting_point(lines.directions[:3], lines.points[:3])
        out = blocks.center - s
        radial = float(abs(J11[:, 3] @ out) / L)  # joint 4 stretches the arm, or does not
        return {"shoulder": float(np.linalg.svd(J11[:, :3])[1][1]), "elbow": radial, **found}
    return {"arm": float(np.linalg.svd(J11)[1][-1]), **found}


def _articulated(robot: Jointed, lines: Axes, J11: Array, frame: str | None) -> dict[str, float]:
    """Joints 2 and 3 move the wrist's center within a surface. Elbow: they move it along one line only. Shoulder:
    joint 1 does not move it out of that surface."""
    c1, c2, c3 = J11.T
    normal = np.cross(c2, c3)
    elbow = float(np.linalg.norm(normal))
    if _parallel(robot, frame, (1, 2)):
        return {"shoulder": float(abs(c1 @ lines.directions[1])), "elbow": elbow}
    if elbow > MEETS:
        return {"shoulder": float(abs(c1 @ normal) / elbow), "elbow": elbow}
    return {"shoulder": float(np.linalg.svd(J11)[1][1]), "elbow": elbow}


def _parallel_factors(robot: Jointed, q: Array, frame: str | None) -> dict[str, float]:
    lines, L = axes(robot, q, frame), length_of(robot, frame)
    a, p = lines.directions, lines.points
    o2, o3, o4 = (x - (x @ a[1]) * a[1] for x in p[1:4])  # in a plane across the axes
    c, _ = meeting_point(a[4:6], p[4:6])
    return {
        "shoulder": float(abs(np.cross(a[0], c - p[0]) @ a[1]) / L),
        "elbow": float(np.linalg.norm(np.cross(o3 - o2, o4 - o3)) / L**2),
        "wrist": float(np.linalg.norm(np.cross(a[5], a[1]))),
    }


def _small_factors(robot: Jointed, q: Array, frame: str | None) -> dict[str, float]:
    """Of an arm whose turning axes, two or three, are all parallel: how far they and the tip (or the third) are from
    lying in one plane. Of three joints that move a point in space: those of an articulated arm."""
    turning = [k for k, c in enumerate(robot.model.coordinates) if c.joint.periodic]
    if not _serial(robot, frame) or not 2 <= len(turning) <= 3:
        return {}
    lines, L = axes(robot, q, frame), length_of(robot, frame)
    if _parallel(robot, frame, tuple(turning)):
        a, tip = lines.directions[turning[0]], np.asarray(robot.fk(q, frame))[:3, 3]
        o1, o2, o3 = [x - (x @ a) * a for x in (*lines.points[turning], tip)][:3]
        return {"elbow": float(np.linalg.norm(np.cross(o2 - o1, o3 - o2)) / L**2)}
    if robot.n == 3:
        return _articulated(robot, lines, checked_jacobian(robot, q, frame, "world")[:3] / L, frame)
    return {}


def kinds(robot: Jointed, q: ArrayLike, frame: str | None = None, tolerance: float = 1e-6) -> tuple[str, ...]:
    """The names of a singular state: the factors that vanish, or the smallest if none quite does; empty if the
    arm's geometry has no such parts."""
    found = factors(robot, q, frame)
    if not found:
        return ()
    near = tuple(name for name, value in found.items() if value < 10 * tolerance)
    return near or (min(found, key=lambda name: found[name]),)


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
        return kinds(about.robot, self._q, about.frame, about.tolerance)

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
