"""Following a moving pose: joint rates from an error, as error dynamics, and within limits as a quadratic program.

    q̇ = J⁺ (ẋ_d + K e) + (1 − J⁺J) q̇_ref,    so that  ė + K e = 0                      ([Lee])

e is the position error, and the rotation vector from the frame's orientation to the wanted one, both in base axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number
from dalembert.errors import InputError, unknown
from dalembert.kernels import need_tree
from dalembert.kinematics.ik.targets import as_poses, as_targets
from dalembert.kinematics.jacobian import natural
from dalembert.kinematics.tasks import ROTATION, Rows, task
from dalembert.quadratic import TOLERANCE, need_daqp, solve_qp
from dalembert.spatial import rotation
from dalembert.system import Jointed

DAMPING = 0.05  # of "damped", in units of J
SMALLEST = 1e-10  # singular values below this share of the largest count as zero in "inverse"


def pose_error(T: ArrayLike, wanted: ArrayLike) -> Array:
    """(p_d − p, φ) in base axes, (..., 6): φ is the rotation vector of R_d Rᵀ."""
    a, b = np.asarray(T, float), np.asarray(wanted, float)
    turn = b[..., :3, :3] @ np.swapaxes(a[..., :3, :3], -1, -2)
    rows = [[np.asarray(turn[..., i, j]) for j in range(3)] for i in range(3)]
    return np.concatenate([b[..., :3, 3] - a[..., :3, 3], np.stack(rotation.log3(rows), axis=-1)], axis=-1)


def _pseudo_inverse(J: Array) -> Array:
    return np.asarray(np.linalg.pinv(J, rcond=SMALLEST))


def _transpose(J: Array) -> Array:
    """Jᵀ scaled by 1/σ_max²: the largest gain with which the error never grows."""
    top = np.linalg.norm(J, ord=2, axis=(-2, -1))
    scaled: Array = np.swapaxes(J, -1, -2) / np.maximum(top, 1e-300)[..., None, None] ** 2
    return scaled


def _damped(J: Array) -> Array:
    square = J @ np.swapaxes(J, -1, -2) + DAMPING**2 * np.eye(J.shape[-2])
    inverse: Array = np.swapaxes(np.linalg.solve(square, J), -1, -2)
    return inverse


METHODS: dict[str, Callable[[Array], Array]] = {"inverse": _pseudo_inverse, "damped": _damped, "transpose": _transpose}


def tracking_velocity(
    robot: Jointed,
    q: ArrayLike,
    T: ArrayLike,
    twist: ArrayLike | None = None,
    gain: ArrayLike = 1.0,
    frame: str | None = None,
    *,
    rows: Rows | None = None,
    method: str = "inverse",
    posture_rate: ArrayLike | None = None,
) -> Array:
    """Return q̇ (..., n) of the law above.  [Lee].

    `twist` is ẋ_d (..., 6), zero if not given; `gain` K [1/s] is one number or six; `posture_rate` is q̇_ref, of which
    what does not move the frame is used. `rows` as in `tasks.task`; without, the natural ones: a planar arm of two
    joints follows x and y. Six weights weigh what cannot be had all at once. `method` replaces J⁺: "inverse", "damped"
    (Jᵀ(JJᵀ + λ²)⁻¹), "transpose" (Jᵀ/σ²), with which the error decays, but not at the rate K."""
    need_tree(robot.model)
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    chosen = natural(robot, frame) if rows is None else task(rows)
    at = array("q", q, (..., robot.n))
    turned = bool(chosen.matrix[:, ROTATION].any())
    targets = as_targets(T, points=not turned)
    array("T", targets)
    gains = array("gain", gain, (), (6,))
    wanted = gains * pose_error(robot.fk(at, frame), as_poses(targets, turned))
    if twist is not None:
        wanted = wanted + array("twist", twist, (..., 6))
    J = chosen.jacobian(robot.jacobian(at, frame))
    rate: Array = (METHODS[method](J) @ chosen.reduce("twist", wanted)[..., None])[..., 0]
    if posture_rate is not None:
        b = array("posture_rate", posture_rate, (..., robot.n))[..., None]
        rate = rate + (b - _pseudo_inverse(J) @ (J @ b))[..., 0]
    return rate


@dataclass(frozen=True)
class VelocityGoal:
    """Rows J q̇ = v that are wanted, a level of priority (0 first), and their weight within the level."""

    J: Array
    v: Array
    level: int = 0
    weight: float = 1.0


def limited_velocity(
    robot: Jointed,
    q: ArrayLike,
    goals: Sequence[VelocityGoal],
    dt: float,
    *,
    regular: float = 1e-8,
    velocity: ArrayLike | None = None,
) -> Array:
    """q̇ (n,) of least squares of the goals, level by level, within the joints' velocities and, after dt [s], within
    their positions: a quadratic program for each level, in which what the levels before achieved is kept.

    min Σ w ‖J q̇ − v‖² + ε ‖q̇‖²   subject to   |q̇| ≤ q̇_max,   q_min ≤ q + q̇ dt ≤ q_max,   J_k q̇ = J_k q̇*_k for k before.
    """
    need_daqp("tracking within limits")
    at = array("q", q, (robot.n,))
    dt = number("dt", dt, "s", above=0.0)
    if not goals:
        raise InputError("give at least one goal")
    for k, goal in enumerate(goals):
        rows = array(f"J of goal {k}", np.atleast_2d(goal.J), (None, robot.n))
        array(f"v of goal {k}", np.atleast_1d(goal.v), (len(rows),))
        number(f"the weight of goal {k}", goal.weight, above=0.0)
    fastest = robot.limits.velocity
    if velocity is not None:
        fastest = array("velocity", velocity, (), (robot.n,), above=0.0) + np.zeros(robot.n)
    # A joint already beyond its limit may come back as fast as it can.
    low = np.clip((robot.limits.lower - at) / dt, -fastest, fastest)
    high = np.clip((robot.limits.upper - at) / dt, -fastest, fastest)
    kept = np.zeros((0, robot.n))
    values = np.zeros(0)
    rate = np.zeros(robot.n)
    for level in sorted({goal.level for goal in goals}):
        here = [goal for goal in goals if goal.level == level]
        J = np.concatenate([np.sqrt(goal.weight) * np.atleast_2d(goal.J) for goal in here])
        v = np.concatenate([np.sqrt(goal.weight) * np.atleast_1d(goal.v) for goal in here])
        H = J.T @ J + regular * np.eye(robot.n)
        # Equalities that rounding cannot contradict.
        found = solve_qp(H, -J.T @ v, low, high, kept, values - TOLERANCE, values + TOLERANCE)
        if found is None and not len(kept):
            raise InputError("no joint velocity satisfies the limits: a bound is crossed")
        # What the levels before achieved satisfies every constraint, up to rounding: it stands if nothing better does.
        rate = rate if found is None else found
        kept = np.concatenate([kept, J])
        values = np.concatenate([values, J @ rate])
    return rate
