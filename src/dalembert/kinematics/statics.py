"""Statics: torques that balance wrenches, and wrenches that torques can balance.

Wrenches F are (force, moment) and act **on** the robot, in world axes at the origin of a frame. By virtual work,
Fᵀ J δq + τᵀ δq = 0 for every δq, so τ = −Jᵀ F. [Poonawala] eqs. 23–25 write τ = Jᵀ F_tip with F_tip = −F, which the tip
applies to its surroundings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number, read_wrenches, three
from dalembert.errors import InputError
from dalembert.kinematics.jacobian import (
    Integers,
    checked_jacobian,
    hessian,
    need_joints,
    torque_limits as limits_of_torque,
)
from dalembert.kinematics.tasks import unit
from dalembert.system import Jointed

# A torque below this part of the largest entry of J is rounding: that joint does not feel the force.
UNFELT = 1e-12


def static_torque(robot: Jointed, q: ArrayLike, wrenches: Mapping[str, ArrayLike], *, gravity: bool = False) -> Array:
    """Return τ = −Σ J_iᵀ F_i [+ g(q)], the torques that hold the robot at rest against wrenches.  [Poonawala] eq. 23.

    Parameters
    ----------
    robot : Robot
    q : array_like, shape (..., nq)
        Joint positions.
    wrenches : dict of array_like of shape (..., 6)
        Wrenches that act on the robot by the name of the frame: (force [N], moment [N m]) in world axes.
    gravity : bool
        Also hold the robot's own weight.

    Returns
    -------
    numpy.ndarray, shape (..., nv)
        Torques [N m], forces of prismatic joints [N].
    """
    frames, values = read_wrenches(wrenches)
    names = [f"wrenches[{frame!r}]" for frame in frames]
    F = [array(name, x, (..., 6), meaning="(force, moment)") for name, x in zip(names, values, strict=True)]
    if robot.nv == 0:
        return np.zeros((*np.broadcast_shapes(np.shape(q)[:-1], *(x.shape[:-1] for x in F)), 0))
    tau = np.asarray(robot.gravity_torque(q)) if gravity else np.zeros(robot.nv)
    for frame, name, x in zip(frames, names, F, strict=True):
        J = checked_jacobian(robot, q, frame)
        try:
            tau = tau - np.einsum("...ij,...i->...j", J, x)
        except ValueError:
            problem = f"the leading dimensions do not broadcast: q {J.shape[:-2]}, {name} {x.shape[:-1]}"
            raise InputError("wrong-shape", name, x, problem=problem) from None
    return np.asarray(tau)


def static_stiffness(robot: Jointed, q: ArrayLike, wrenches: Mapping[str, ArrayLike]) -> Array:
    """Return ∂(Σ J_iᵀ F_i)/∂q of wrenches on the robot that are constant in world axes.  (..., nv, nv)."""
    total: Array = np.zeros((robot.nv, robot.nv))
    for frame, F in zip(*read_wrenches(wrenches), strict=True):
        x = array(f"wrenches[{frame!r}]", F, (..., 6), meaning="(force, moment)")
        total = total + np.einsum("...ijk,...i->...jk", hessian(robot, q, frame), x)
    return total


def virtual_work(
    robot: Jointed, q: ArrayLike, wrenches: Mapping[str, ArrayLike], torque: ArrayLike, displacement: ArrayLike
) -> Array:
    """Return δw = Σ F_iᵀ J_i δq + τᵀ δq [J], the work of wrenches on the robot and of torques along δq.  (...).

    In balance it vanishes for every virtual displacement δq (..., nv).  [Poonawala] eqs. 24–25."""
    excess = array("torque", torque) - static_torque(robot, q, wrenches)
    return np.einsum("...i,...i->...", excess, array("displacement", displacement))


def holding_torque(
    robot: Jointed, q: ArrayLike, mass: float, com: ArrayLike = (0.0, 0.0, 0.0), frame: str | None = None
) -> Array:
    """Return the torques that hold the arm and a payload at rest, g(q) − Jᵀ F with F = (m g, c × m g).  (..., nv).

    `mass` [kg], `com` its center in the frame (the tip). The same as `with_payload(mass, com).gravity_torque(q)`,
    without another robot."""
    center = np.array(three("com", com))
    m = number("mass", mass, "kg", least=0.0)
    need_joints(robot)
    f = m * robot.gravity
    arm = np.asarray(robot.fk(q, frame))[..., :3, :3] @ center
    F = np.concatenate([np.broadcast_to(f, arm.shape), np.cross(arm, f)], axis=-1)
    return static_torque(robot, q, {robot.model.frame(frame).name: F}, gravity=True)


@dataclass(frozen=True, eq=False)
class LargestForce:
    """How large a force along a direction a frame can bear. `force` (...), the largest [N], infinite if no joint feels
    it, 0 if not `feasible`; `least` (...), the smallest, above 0 only where gravity alone overloads a joint; `feasible`
    (...); `joint` (...), the index of the joint that reaches its limit first, −1 if none; `torque` (..., n) at the
    largest force, or at the least where that is infinite."""

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
    *,
    torque_limits: ArrayLike | None = None,
    gravity: bool = True,
) -> LargestForce:
    """Return the largest force on the robot that torque limits can balance: max s ≥ 0 with −t ≤ g(q) − s Jᵀd ≤ t.

    `direction` d (..., 3), of a force, or (..., 6), of a wrench, acts on the robot at `frame` in world axes,
    normalized; the tip pushes its surroundings with −s d. A linear program of one unknown, solved exactly by a ratio
    test: each joint bounds s from both sides, and the tightest bounds count. For programs with more unknowns see
    `largest_wrench`."""
    d = array("direction", direction, (..., 3), (..., 6), meaning="a force or a wrench")
    if d.shape[-1] == 3:
        d = np.concatenate([d, np.zeros_like(d)], axis=-1)
    need_joints(robot)
    t = limits_of_torque(robot, torque_limits, "torque_limits")
    b = static_torque(robot, q, {robot.model.frame(frame).name: unit("direction", d)})
    J = checked_jacobian(robot, q, frame)
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
    *,
    torque_limits: ArrayLike | None = None,
    gravity: bool = True,
    A_ub: ArrayLike | None = None,
    b_ub: ArrayLike | None = None,
    A_eq: ArrayLike | None = None,
    b_eq: ArrayLike | None = None,
) -> LargestWrench:
    """Return the wrench F on the robot that maximizes objectiveᵀ F under −t ≤ g − Jᵀ F ≤ t, A_ub F ≤ b_ub, A_eq F =
    b_eq.

    F is (force, moment) at `frame`, in world axes. One state q. The constraints say what a contact can bear: a friction
    pyramid, no moment (A_eq picks n, b_eq zero). Six unknowns and inequalities need a solver: SciPy's HiGHS."""
    from scipy.optimize import linprog

    need_joints(robot)
    c = array("objective", objective, (6,), meaning="(f, n)")
    J = checked_jacobian(robot, q, frame)
    if J.ndim != 2:
        raise InputError("largest_wrench takes one state")
    t = limits_of_torque(robot, torque_limits, "torque_limits")
    g = np.asarray(robot.gravity_torque(q)) if gravity else np.zeros(robot.nv)
    upper = np.vstack([-J.T, J.T, *_block("A_ub", A_ub)])
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
    tau = g - J.T @ F
    return LargestWrench(float(c @ F), F, tau, "optimal", float(np.maximum(np.abs(tau) - t, 0.0).max()))


def _block(name: str, A: ArrayLike | None) -> list[Array]:
    return [] if A is None else [array(name, np.atleast_2d(array(name, A)), (None, 6), meaning="(f, n)")]


def _bound(name: str, b: ArrayLike | None, A: ArrayLike | None) -> list[Array]:
    if A is None:
        return []
    count = len(np.atleast_2d(A))
    return [np.zeros(count) if b is None else array(name, np.atleast_1d(b), (count,), meaning="one per row of A")]
