"""Where the singular states lie: the nearest to a state, samples of all, and which of them a small change of the
arm's lengths removes.

A state is singular if some direction u is lost, Jᵀu = 0. Newton's step on that, with u free to turn, asks of δq
    uᵀ (∂J δq) v = −σ,   uᵀ (∂J δq) v_j = 0 for every v_j that moves nothing,
u, v and σ being those of the smallest singular value that counts: one condition for an arm without redundancy, one more
for each joint to spare. ∂J/∂q is exact, the step the shortest. Steps are in rad, and in arm lengths for sliding joints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms import jacobians
from dalembert.arguments import Array, array
from dalembert.errors import InputError
from dalembert.kernels import need_vector
from dalembert.kinematics.jacobian import (
    checked_jacobian,
    freedom,
    hessian,
    joint_units,
    length_of,
    natural,
    need_joints,
    scale_of,
)
from dalembert.kinematics.singular import TOLERANCE, singularities
from dalembert.kinematics.tasks import Rows, Task, task
from dalembert.model import Frame, Model
from dalembert.spatial import Pose
from dalembert.system import Jointed

ITERATIONS = 60
LONGEST_STEP = 0.5  # rad, or arm lengths
FOUND = 1e-8  # σ/σ̄ below which a search has found a singular state

Jacobian = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class _Search:
    """σ and its gradient over unitless joints x = q/unit, and the box they stay in."""

    J: Jacobian
    slope: Jacobian
    rows: Array
    unit: Array
    lower: Array
    upper: Array
    freedom: int
    scale: float

    def sigma(self, x: Array) -> tuple[Array, Array]:
        """σ/σ̄, (S,), and the conditions' gradients G, (S, r, n), of which row 0 is that of σ/σ̄."""
        q = x * self.unit
        U, s, Vt = np.linalg.svd(self.rows @ (self.J(q) * self.unit), full_matrices=True)
        k = self.freedom - 1
        dJ = self.rows @ np.moveaxis(self.slope(q), -1, 0) * self.unit
        G = np.einsum("...m,k...mj,...rj->...rk", U[..., :, k], dJ, Vt[..., k:, :]) * self.unit
        return s[..., k] / self.scale, G / self.scale

    def onto(self, x: Array, anchor: Array | None) -> tuple[Array, Array]:
        """From starts x (S, n), the singular states reached and σ/σ̄ there. With an anchor (n,), those near to it:
        each step goes to the nearest point to the anchor of the linearized set; the nearest found is kept."""
        best, value = x.copy(), np.full(len(x), np.inf)
        far = np.full(len(x), np.inf)
        for _ in range(ITERATIONS):
            sigma, G = self.sigma(x)
            distance = np.zeros(len(x)) if anchor is None else np.linalg.norm(x - anchor, axis=-1)
            better = np.where(sigma <= FOUND, (value > FOUND) | (distance < far), sigma < value)
            best[better], value[better], far[better] = x[better], sigma[better], distance[better]
            if anchor is None and (value <= FOUND).all():
                break
            x, before = self._stepped(x, sigma, G, anchor), x
            if anchor is not None and np.abs(x - before).max() < 1e-10:
                break
        return best, value

    def _stepped(self, x: Array, sigma: Array, G: Array, anchor: Array | None) -> Array:
        away = np.zeros_like(x) if anchor is None else anchor - x
        wanted = -(G @ away[..., None])
        wanted[:, 0, 0] -= sigma
        step = away + (np.linalg.pinv(G, rcond=1e-6) @ wanted)[..., 0]
        length = np.linalg.norm(step, axis=-1, keepdims=True)
        step *= np.minimum(1.0, LONGEST_STEP / np.maximum(length, 1e-300))
        return np.clip(x + step, self.lower, self.upper)


def _row_matrix(chosen: Task, L: float) -> Array:
    return chosen.weights[:, None] * chosen.matrix * np.array([1 / L] * 3 + [1.0] * 3)


def _box(robot: Jointed) -> tuple[Array, Array]:
    """The joint limits; ±π, or ±1 m, where there are none, as in `Robot.random_configuration`."""
    need_vector(robot.model)
    limits = robot.limits
    free = np.array([c.joint.half_range for c in robot.model.coordinates])
    return (
        np.where(np.isfinite(limits.lower), limits.lower, -free),
        np.where(np.isfinite(limits.upper), limits.upper, free),
    )


def _search(robot: Jointed, frame: str | None, chosen: Task, expressed_in: str, lower: Array, upper: Array) -> _Search:
    unit = joint_units(robot, frame)
    free = freedom(robot, frame, chosen, expressed_in)
    if not free:
        raise InputError(f"{robot.name!r} never moves in these rows: it has no singular states, or all are")
    return _Search(
        lambda q: np.asarray(robot.jacobian(q, frame, expressed_in)),
        lambda q: hessian(robot, q, frame, expressed_in),
        _row_matrix(chosen, length_of(robot, frame)),
        unit,
        lower / unit,
        upper / unit,
        free,
        scale_of(robot, frame, chosen, expressed_in, free_of_units=True),
    )


@dataclass(frozen=True, eq=False)
class NearestSingularity:
    """The nearest singular state that the search found. `q` (n,); `distance` from where it started, ‖Δq‖ [rad, arm
    lengths], an upper bound of the true one; `closeness` there, σ/σ̄ recomputed; `here`, σ/σ̄ at the start;
    `converged`; `kinds` ("elbow", …) and `words` there; `message`."""

    q: Array
    distance: float
    closeness: float
    here: float
    converged: bool
    kinds: tuple[str, ...]
    words: tuple[str, ...]
    message: str

    @property
    def ok(self) -> bool:
        """Whether the search converged."""
        return self.converged


def nearest_singularity(
    robot: Jointed,
    q: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    within_limits: bool = True,
    starts: int = 32,
    seed: int = 0,
) -> NearestSingularity:
    """The distance to the nearest singularity: σ_min at q, and a local search over q from the state itself and
    `starts` seeded states around it. If none is found `converged` is False, and the best state met is returned."""
    checked_jacobian(robot, q, frame, expressed_in)
    q0 = array("q", q)
    if q0.ndim != 1:
        raise InputError("nearest_singularity takes one state at a time")
    chosen = natural(robot, frame, expressed_in) if rows is None else task(rows)
    free = np.full(robot.n, np.inf)
    lower, upper = (robot.limits.lower, robot.limits.upper) if within_limits else (-free, free)
    search = _search(robot, frame, chosen, expressed_in, lower, upper)
    x0 = q0 / search.unit
    spread = np.random.default_rng(seed).normal(0, 0.7, (max(int(starts), 0), robot.n))
    first = np.vstack([x0, np.clip(x0 + spread, search.lower, search.upper)])
    x, sigma = search.onto(first, x0)
    lost = sigma > FOUND
    if lost.any():  # the way to the nearest may circle; the plain way circles less
        x[lost], sigma[lost] = search.onto(first[lost], None)
    distance = np.linalg.norm(x - x0, axis=-1)
    best = int(np.lexsort((distance, sigma > FOUND))[0] if (sigma <= FOUND).any() else sigma.argmin())
    there = singularities(robot, x[best] * search.unit, frame, chosen, expressed_in)
    found = bool(there.closeness <= TOLERANCE)
    message = "found" if found else "no singular state was found; the state with the smallest σ met is given"
    here = float(singularities(robot, q0, frame, chosen, expressed_in).closeness)
    q_there, far = x[best] * search.unit, float(distance[best])
    return NearestSingularity(q_there, far, float(there.closeness), here, found, there.kinds, there.words, message)


@dataclass(frozen=True, eq=False)
class SingularSet:
    """Samples of the singular states within the joint box: `q` (k, n); `closeness` (k,) recomputed; `kinds`, for each
    its names; `tried`, how many searches were made."""

    q: Array
    closeness: Array
    kinds: tuple[tuple[str, ...], ...] = field(repr=False)
    tried: int

    @property
    def counts(self) -> dict[str, int]:
        """How many samples have each name."""
        names = [" and ".join(k) or "unnamed" for k in self.kinds]
        return {name: names.count(name) for name in sorted(set(names))}


def singular_set(
    robot: Jointed,
    samples: int = 200,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    seed: int = 0,
) -> SingularSet:
    """Singular states all over the joint box: from seeded states, Newton's steps onto σ(q) = 0 inside the limits."""
    need_joints(robot)
    chosen = natural(robot, frame, expressed_in) if rows is None else task(rows)
    search = _search(robot, frame, chosen, expressed_in, *_box(robot))
    x, sigma = search.onto(robot.random_configuration(int(samples), seed=seed) / search.unit, None)
    q = x[sigma <= FOUND] * search.unit
    found = singularities(robot, q, frame, chosen, expressed_in)
    kinds = tuple(found[i].kinds for i in range(len(q)))
    return SingularSet(q, found.closeness, kinds, int(samples))


# ------------------------------------------------------------------------------------------------ perturbed lengths
@dataclass(frozen=True, eq=False)
class Perturbation:
    """Whether a singular state survives small changes of the arm's lengths. `kept` (trials,), whether the changed arm
    has a singular state near; `distance` (trials,) to it, infinite where there is none; `removed`, whether some change
    left none; `size`, the change as a part of the arm's length."""

    kept: Array
    distance: Array
    removed: bool
    size: float


def perturbed_singularity(
    robot: Jointed,
    q: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    size: float = 1e-4,
    trials: int = 16,
    seed: int = 0,
) -> Perturbation:
    """Does a singular state become unreachable when the mechanical parameters change?  [Poonawala] §2.3.

    Every offset between joints, those that are zero too, is moved by up to ±size · L, and a singular state of the
    changed arm is sought within 10 √size of q: a simple zero of σ moves by about `size`, a double one by √size, or
    disappears. No kernel is compiled: all changed arms run through the algorithms at once, as arrays."""
    if not 0 < float(array("size", size)) < 0.1:
        raise InputError(f"size is a small part of the arm's length, 0 < size < 0.1; got {size!r}")
    state = singularities(robot, q, frame, rows, expressed_in)
    if not state._one() < state.freedom:
        raise InputError("q is not singular: there is nothing that a change of lengths could remove")
    chosen = state._about.chosen
    x0 = array("q", q) / joint_units(robot, frame)
    L, radius = length_of(robot, frame), 10 * np.sqrt(size)
    rng = np.random.default_rng(seed)
    starts = x0 + np.vstack([np.zeros(robot.n), rng.uniform(-radius, radius, (12, robot.n))])
    changed = _changed(robot.model, robot.model.frame(frame), rng, size * L, int(trials), len(starts))
    search = _changed_search(robot, *changed, frame, chosen, expressed_in)
    x, sigma = search.onto(np.tile(starts, (int(trials), 1)), None)
    far = np.where(sigma <= FOUND, np.linalg.norm(x - x0, axis=-1), np.inf).reshape(int(trials), -1).min(axis=-1)
    distance = np.where(far <= radius, far, np.inf)
    kept = np.isfinite(distance)
    return Perturbation(kept, distance, not bool(kept.all()), float(size))


def _changed(
    model: Model, frame: Frame, rng: np.random.Generator, by: float, trials: int, starts: int
) -> tuple[Model, Frame]:
    """The model and frame with every offset moved by up to ±by in each component, another way in each trial: the
    components are arrays, each trial's number repeated for all its starts."""

    def moved(pose: Pose) -> Pose:
        shifts = rng.uniform(-by, by, (3, trials)).repeat(starts, axis=-1)
        return replace(pose, p=tuple(float(x) + d for x, d in zip(pose.p, shifts, strict=True)))

    bodies = tuple(replace(body, placement=moved(body.placement)) for body in model.bodies)
    return replace(model, bodies=bodies), replace(frame, pose=moved(frame.pose))


def _changed_search(
    robot: Jointed, model: Model, at: Frame, frame: str | None, chosen: Task, expressed_in: str
) -> _Search:

    def stacked(matrix: Sequence[Sequence[ArrayLike]], shape: tuple[int, ...]) -> Array:
        return np.stack([np.stack([np.broadcast_to(x, shape) for x in row], -1) for row in matrix], -2)

    def J(q: Array) -> Array:
        return stacked(jacobians.jacobian(model, list(q.T), at, expressed_in), q.shape[:1])

    def slope(q: Array) -> Array:  # J̇ for the rates e₁ … eₙ at once: a row of states for each
        rates = list(np.eye(robot.n)[:, :, None])
        J_dot = jacobians.jacobian_dot(model, list(q.T), rates, at, expressed_in)
        return np.moveaxis(stacked(J_dot, (robot.n, len(q))), 0, -1)

    unit = joint_units(robot, frame)
    free = np.full(robot.n, np.inf)
    k = freedom(robot, frame, chosen, expressed_in)
    scale = scale_of(robot, frame, chosen, expressed_in, free_of_units=True)
    return _Search(J, slope, _row_matrix(chosen, length_of(robot, frame)), unit, -free, free, k, scale)
