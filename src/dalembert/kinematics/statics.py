"""Statics: torques that balance a wrench, and wrenches that torques allow.

Wrenches are (f, n), what the tip applies **to** the environment, in world axes at the frame's origin unless
`expressed_in` says otherwise. By virtual work, Fᵀ J δq = τᵀ δq for every δq, so τ = Jᵀ F ([Poonawala] eqs. 23–25).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number, three
from dalembert.errors import InputError
from dalembert.kinematics.jacobian import Integers, checked_jacobian, need_joints, torque_limits as limits_of_torque
from dalembert.kinematics.tasks import unit
from dalembert.system import Jointed

# A torque below this part of the largest entry of J is rounding: that joint does not feel the force.
UNFELT = 1e-12


def static_torque(
    robot: Jointed,
    q: ArrayLike,
    wrench: ArrayLike,
    frame: str | None = None,
    expressed_in: str = "world",
    *,
    gravity: bool = False,
) -> Array:
    """τ = Jᵀ F: the torques with which the arm at rest applies a wrench at a frame.  (..., n).  [Poonawala] eq. 23.

    With `gravity`, plus those that hold the arm itself, g(q)."""
    F = array("wrench", wrench, (..., 6), meaning="(f, n)")
    if robot.nv == 0:
        return np.zeros((*np.broadcast_shapes(np.shape(q)[:-1], F.shape[:-1]), 0))
    J = checked_jacobian(robot, q, frame, expressed_in)
    try:
        tau = np.einsum("...ij,...i->...j", J, F)
    except ValueError:
        raise InputError(f"the leading dimensions do not broadcast: q {J.shape[:-2]}, wrench {F.shape[:-1]}") from None
    return np.asarray(tau + robot.gravity_torque(q) if gravity else tau)


def virtual_work(
    robot: Jointed,
    q: ArrayLike,
    wrench: ArrayLike,
    torque: ArrayLike,
    displacement: ArrayLike,
    frame: str | None = None,
    expressed_in: str = "world",
) -> Array:
    """δw = Fᵀ J δq − τᵀ δq [J] of a wrench, torques and a virtual displacement δq.  (...).  [Poonawala] eqs. 24–25.
    In balance it vanishes for every δq."""
    excess = static_torque(robot, q, wrench, frame, expressed_in) - array("torque", torque)
    return np.einsum("...i,...i->...", excess, array("displacement", displacement))


def holding_torque(
    robot: Jointed, q: ArrayLike, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), frame: str | None = None
) -> Array:
    """The torques that hold the arm and a payload at rest: g(q) + Jᵀ F with F = (−m g, c × (−m g)).  (..., n).

    `mass` [kg], `com` its center in the frame (the tip). The same as `with_payload(mass, com).gravity_torque(q)`,
    without another robot."""
    center = np.array(three("com", com))
    m = number("mass", mass, "kg", least=0.0)
    need_joints(robot)
    f = -m * robot.gravity
    arm = np.asarray(robot.fk(q, frame))[..., :3, :3] @ center
    F = np.concatenate([np.broadcast_to(f, arm.shape), np.cross(arm, f)], axis=-1)
    return static_torque(robot, q, F, frame, gravity=True)


@dataclass(frozen=True, eq=False)
class LargestForce:
    """How hard the tip can push along a direction. `force` (...), the largest [N], infinite if no joint feels it, 0 if
    not `feasible`; `least` (...), the smallest, above 0 only where gravity alone overloads a joint; `feasible` (...);
    `joint` (...), the index of the joint that reaches its limit first, −1 if none; `torque` (..., n) at the largest
    force, or at the least where that is infinite."""

    force: Array
    least: Array
    feasible: Array
    joint: Integers
    torque: Array


def largest_force(
    robot: Jointed,
    q: ArrayLike,
    direction: ArrayLike,
    frame: str | None = None,
    expressed_in: str = "world",
    *,
    torque_limits: ArrayLike | None = None,
    gravity: bool = True,
) -> LargestForce:
    """The largest force along a direction under torque limits: max s with −t ≤ g(q) + s Jᵀd ≤ t, s ≥ 0.

    `direction` (..., 3), a force, or (..., 6), a wrench, normalized. A linear program of one unknown, solved exactly
    by a ratio test: each joint bounds s from both sides, and the tightest bounds count. For programs with more
    unknowns see `largest_wrench`."""
    d = array("direction", direction, (..., 3), (..., 6), meaning="a force or a wrench")
    if d.shape[-1] == 3:
        d = np.concatenate([d, np.zeros_like(d)], axis=-1)
    need_joints(robot)
    t = limits_of_torque(robot, torque_limits, "torque_limits")
    b = static_torque(robot, q, unit("direction", d), frame, expressed_in)
    J = checked_jacobian(robot, q, frame, expressed_in)
    b = np.where(np.abs(b) > UNFELT * np.abs(J).max(axis=(-2, -1))[..., None], b, 0.0)
    g = np.broadcast_to(robot.gravity_torque(q), b.shape) if gravity else np.zeros(b.shape)
    return _ratio_test(b, g, t)


def _ratio_test(b: Array, g: Array, t: Array) -> LargestForce:
    """The interval of s ≥ 0 with |g + s b| ≤ t, joint by joint."""
    felt = b != 0
    safe = np.where(felt, b, 1.0)
    ends = np.stack([(-t - g) / safe, (t - g) / safe])
    upper = np.where(felt, ends.max(axis=0), np.inf)
    lower = np.where(felt, ends.min(axis=0), -np.inf)
    high, low = upper.min(axis=-1), np.maximum(lower.max(axis=-1), 0.0)
    feasible = (high >= low) & (felt | (np.abs(g) <= t)).all(axis=-1)
    joint = np.where(feasible & np.isfinite(high), upper.argmin(axis=-1), -1)
    force, least = np.where(feasible, high, 0.0), np.where(feasible, low, 0.0)
    used = np.where(np.isfinite(force), force, least)
    return LargestForce(force, least, np.asarray(feasible), np.asarray(joint), g + used[..., None] * b)


@dataclass(frozen=True, eq=False)
class LargestWrench:
    """The best wrench of a linear program. `value` of the objective, infinite if unbounded; `wrench` (6,) and `torque`
    (n,), None if there is none; `status` "optimal", "unbounded" or "infeasible"; `excess`, how far the torques,
    computed again, lie beyond their limits (zero but for rounding)."""

    value: float
    wrench: Array | None
    torque: Array | None
    status: str
    excess: float


def largest_wrench(
    robot: Jointed,
    q: ArrayLike,
    objective: ArrayLike,
    frame: str | None = None,
    expressed_in: str = "world",
    *,
    torque_limits: ArrayLike | None = None,
    gravity: bool = True,
    A_ub: ArrayLike | None = None,
    b_ub: ArrayLike | None = None,
    A_eq: ArrayLike | None = None,
    b_eq: ArrayLike | None = None,
) -> LargestWrench:
    """The wrench F that maximizes objectiveᵀ F under −t ≤ g + Jᵀ F ≤ t, A_ub F ≤ b_ub and A_eq F = b_eq.

    One state q. The constraints say what a contact can bear: a friction pyramid, no moment (A_eq picks n, b_eq zero).
    Six unknowns and inequalities need a solver: SciPy's HiGHS."""
    from scipy.optimize import linprog

    need_joints(robot)
    c = array("objective", objective, (6,), meaning="(f, n)")
    J = checked_jacobian(robot, q, frame, expressed_in)
    if J.ndim != 2:
        raise InputError("largest_wrench takes one state")
    t = limits_of_torque(robot, torque_limits, "torque_limits")
    g = np.asarray(robot.gravity_torque(q)) if gravity else np.zeros(robot.nv)
    upper = np.vstack([J.T, -J.T, *_block("A_ub", A_ub)])
    bound = np.concatenate([t - g, t + g, *_bound("b_ub", b_ub, A_ub)])
    equal = {} if A_eq is None else {"A_eq": _block("A_eq", A_eq)[0], "b_eq": _bound("b_eq", b_eq, A_eq)[0]}
    found = linprog(-c, A_ub=upper, b_ub=bound, bounds=(None, None), method="highs", **equal)
    if found.status == 3 or found.status == 4:  # HiGHS may not tell the two apart: ask whether any wrench does
        some = linprog(0 * c, A_ub=upper, b_ub=bound, bounds=(None, None), method="highs", **equal)
        found.status = 3 if some.status == 0 else 2
    if found.status != 0:
        value = {3: np.inf, 2: -np.inf}.get(found.status)
        if value is None:
            raise InputError(f"the linear program was not solved: {found.message}")
        return LargestWrench(value, None, None, "unbounded" if found.status == 3 else "infeasible", 0.0)
    F = np.asarray(found.x)
    tau = g + J.T @ F
    return LargestWrench(float(c @ F), F, tau, "optimal", float(np.maximum(np.abs(tau) - t, 0.0).max()))


def _block(name: str, A: ArrayLike | None) -> list[Array]:
    return [] if A is None else [array(name, np.atleast_2d(array(name, A)), (None, 6), meaning="(f, n)")]


def _bound(name: str, b: ArrayLike | None, A: ArrayLike | None) -> list[Array]:
    if A is None:
        return []
    count = len(np.atleast_2d(A))
    return [np.zeros(count) if b is None else array(name, np.atleast_1d(b), (count,), meaning="one per row of A")]
