"""Of all joint positions that reach a pose, better ones: for arms with joints to spare.

    q ← q − α (1 − J⁺J) ∇h(q),   then back onto the pose by a few steps of the solver

with h the distance from the middle of the limits, from a posture, or from singularities (−log μ). A change is kept only
if the pose is still reached and h has fallen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array
from dalembert.compile.search import settings
from dalembert.errors import InputError, unknown
from dalembert.kinematics.ik.numeric import HALFWAY, STEPS, NumericSolver
from dalembert.kinematics.manipulability import manipulability, manipulability_gradient
from dalembert.system import Jointed

ROUNDS = 60
FIRST = 0.5  # of the way that the gradient asks for; halved where it does not help
SMALLEST = 1e-3  # then it is given up
LONGEST = 0.3  # [rad or m] the largest change of a joint in a round

Cost = Callable[[Array], Array]
Goal = tuple[Cost, Cost]  # h (...,) and −∇h (..., n), scaled so that a step of one is sensible


def _toward(target: Array) -> Goal:
    return lambda q: 0.5 * np.sum((q - target) ** 2, axis=-1), lambda q: target - q


def _middle(robot: Jointed, frame: str | None) -> Goal:
    """Away from the limits: toward the middle, each joint in units of its range."""
    low, high = robot.limits.lower, robot.limits.upper
    both = np.isfinite(low) & np.isfinite(high)
    if not both.any():
        raise InputError(f"no joint of {robot.name!r} has limits to stay away from")
    middle = np.where(both, 0.5 * (np.where(both, low, 0.0) + np.where(both, high, 0.0)), 0.0)
    half = np.where(both, 0.5 * (np.where(both, high, 0.0) - np.where(both, low, 0.0)), np.inf)
    return (
        lambda q: 0.5 * np.sum(((q - middle) / half) ** 2, axis=-1),
        lambda q: np.where(both, middle - q, 0.0) * (half.min() / half) ** 2,
    )


def _open(robot: Jointed, frame: str | None) -> Goal:
    """Away from singularities: up the manipulability."""

    def cost(q: Array) -> Array:
        return -np.log(np.maximum(np.asarray(manipulability(robot, q, frame)), 1e-300))

    def descent(q: Array) -> Array:
        mu = np.maximum(np.asarray(manipulability(robot, q, frame)), 1e-12)
        return np.asarray(manipulability_gradient(robot, q, frame)) / mu[..., None]

    return cost, descent


NAMED: dict[str, Callable[[Jointed, str | None], Goal]] = {"limits": _middle, "singularities": _open}


def goal_of(robot: Jointed, frame: str | None, secondary: str | ArrayLike) -> Goal:
    """By name, or a posture to stay near."""
    if isinstance(secondary, str):
        if secondary not in NAMED:
            raise unknown("secondary goal", secondary, NAMED)
        return NAMED[secondary](robot, frame)
    return _toward(array("a posture", secondary, (robot.n,), meaning="one per joint"))


def improved(
    robot: Jointed,
    frame: str | None,
    made: NumericSolver,
    q: Array,
    flat: Array,
    converged: Array,
    limits: tuple[float, float],
    secondary: str | ArrayLike,
    bounded: bool,
) -> Array:
    """The solutions, moved where that keeps the pose and lowers h."""
    cost, descent = goal_of(robot, frame, secondary)
    control = settings(limits, STEPS, 0, HALFWAY, 0.1)
    q = q.copy()
    h = np.where(converged, cost(q), np.inf)
    share = np.where(converged, FIRST, 0.0)
    for _ in range(ROUNDS):
        busy = share > SMALLEST
        if not busy.any():
            break
        here = q[busy]
        J = robot.jacobian(here, frame)[..., made.used, :]
        d = np.where(made.moves, descent(here), 0.0)
        d = d - (np.linalg.pinv(J, rcond=1e-6) @ (J @ d[..., None]))[..., 0]
        d = d * share[busy][..., None]
        d = d * np.minimum(1.0, LONGEST / np.maximum(np.abs(d).max(-1, keepdims=True), 1e-12))
        tried = here + d
        if bounded:
            tried = np.clip(tried, robot.limits.lower, robot.limits.upper)
        back, info = made.search.ufunc(tried, flat[busy], made.starts, control)
        new = cost(back)
        better = (info[..., 2] > 0) & (new < h[busy] - 1e-12)
        at = np.flatnonzero(busy)
        q[at[better]], h[at[better]] = back[better], new[better]
        share[at[~better]] *= 0.5
    return q
