"""A task's Jacobian: input checked, rows chosen, ∂J/∂q, and the scales by which singular values are judged.

Singular values of J mix meters and radians. Where a number decides (rank, singular or not), J is first made free of
units: translation rows are divided by the arm's length L, and columns of prismatic joints multiplied by it. So the
decision is the same for an arm written in millimeters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, check_call, in_joint_order
from dalembert.errors import InputError
from dalembert.kernels import need_tree, singular_mass
from dalembert.kinematics.tasks import ROTATION, TRANSLATION, Rows, Task, picked, task
from dalembert.system import Jointed

# A singular value below this part of the arm's largest is rounding: kernels carry about 1e-15, an exactly singular
# state typed to the last bit of its angles as much, and a few hundred operations lie between.
ROUNDING = 1e-10
# How many seeded states decide what an arm can do at all. One would do but for accidents.
STATES = 24

T = TypeVar("T")
Integers = NDArray[np.int64]


def remembered(robot: Jointed, key: Hashable, make: Callable[[], T]) -> T:
    """What `make` gives, made once for this robot."""
    return robot.once(("motion", key), make)


def need_joints(robot: Jointed) -> None:
    """Joints there must be, and free ones: what a Jacobian tells of a tree does not hold once a loop closes it."""
    need_tree(robot.model)
    if robot.nv == 0:
        raise InputError(f"{robot.name!r} has no joints: nothing of it moves")


def doubles(q: ArrayLike) -> ArrayLike:
    """Joint positions in single precision as doubles: ranks are judged finer than that. What is no array stays."""
    return q.astype(np.float64) if isinstance(q, np.ndarray) and q.dtype == np.float32 else q


def checked_jacobian(robot: Jointed, q: ArrayLike, frame: str | None, expressed_in: str = "world") -> Array:
    """J(q), (..., 6, n), of finite joint positions only."""
    need_joints(robot)
    q = cast("ArrayLike", in_joint_order("q", q, robot.joint_names))
    J = robot.jacobian(doubles(q), frame, expressed_in)  # says what is wrong with shapes, names and types
    array("q", q)
    if not np.isfinite(J).all():
        raise InputError("q is too large: sine and cosine are defined here up to 2^30 rad")
    return np.asarray(J)


def task_jacobian(
    robot: Jointed, q: ArrayLike, frame: str | None, rows: Rows | None, expressed_in: str
) -> tuple[Array, Task]:
    """The Jacobian of the rows that were asked for, (..., m, n), and the task; without `rows`, the natural ones."""
    J = checked_jacobian(robot, q, frame, expressed_in)
    chosen = natural(robot, frame, expressed_in) if rows is None else task(rows)
    return chosen.jacobian(J), chosen


def hessian(robot: Jointed, q: ArrayLike, frame: str | None = None, expressed_in: str = "world") -> Array:
    """∂J/∂q, (..., 6, n, n), [i, j, k] = ∂J_ij/∂q_k, exact: the compiled derivative of the Jacobian's kernel. Along the
    nv tangent vectors where q̇ ≠ v."""
    need_joints(robot)
    kernel = remembered(
        robot,
        ("hessian", frame, expressed_in),
        lambda: robot.kernel("jacobian", frame=frame, expressed_in=expressed_in).derivative("q"),
    )
    check_call(robot.name, robot.joint_names, ("q",), (q,), kernel.inputs, kernel.outputs, None)
    along_q = np.asarray(kernel(array("q", q)))
    if robot.model.curved is None:
        return along_q
    E = np.stack([robot.run(("position_rates", ()), q, unit) for unit in np.eye(robot.nv)], -1)  # q̇ = E v
    return np.asarray(along_q @ E[..., None, :, :])


def inverse_mass_times(robot: Jointed, q: ArrayLike, B: Array) -> Array:
    """M⁻¹ B by a Cholesky factorization, which refuses what is not positive definite."""
    M = np.asarray(robot.mass_matrix(doubles(q)))
    try:
        L = np.linalg.cholesky(M)
        if M.size and (np.diagonal(L, axis1=-2, axis2=-1).min(-1) ** 2 <= 1e-15 * np.abs(M).max((-2, -1))).any():
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        raise singular_mass(robot.model) from None
    return np.asarray(np.linalg.solve(M, B))


def sampled(robot: Jointed, frame: str | None, expressed_in: str) -> Array:
    """J in `STATES` seeded states within the limits: what the arm can do at all."""
    need_joints(robot)
    return remembered(
        robot,
        ("sampled", frame, expressed_in),
        lambda: np.asarray(robot.jacobian(robot.random_configuration(STATES, seed=0), frame, expressed_in)),
    )


def moving_rows(robot: Jointed, frame: str | None, expressed_in: str) -> tuple[int, ...]:
    """The rows of a frame's twist that are not zero in every state."""
    J = unitless(robot, frame, sampled(robot, frame, expressed_in))
    size = np.abs(J).max(axis=(0, 2))
    return tuple(int(k) for k in np.flatnonzero(size > ROUNDING * max(float(size.max()), 1e-300)))


def natural(robot: Jointed, frame: str | None = None, expressed_in: str = "world") -> Task:
    """The rows that are meant when none are named: those that move at all, if the arm has a joint for each; else
    the translations among them (all that move, if none is a translation). A planar 2R arm: vx, vy; a SCARA: vx, vy,
    vz, ωz; a six-joint arm: all six."""
    return remembered(robot, ("natural", frame, expressed_in), lambda: _natural(robot, frame, expressed_in))


def _natural(robot: Jointed, frame: str | None, expressed_in: str) -> Task:
    moving = moving_rows(robot, frame, expressed_in)
    if not moving:
        name = robot.model.frame(frame).name
        raise InputError(f"frame {name!r} of {robot.name!r} does not move: no joint carries it")
    model = robot.model
    carrying = (model.bodies[i] for i in model.path(model.frame(frame).body))
    if len(moving) > len({body.coordinate + k for body in carrying for k in range(body.joint.nv)}):
        moving = tuple(k for k in moving if k in TRANSLATION) or moving
    return picked(moving)


def moving_part(robot: Jointed, kind: str, frame: str | None, expressed_in: str) -> Task:
    """The translations ("position") or the turns ("orientation") that move at all."""
    wanted = TRANSLATION if kind == "position" else ROTATION
    kept = tuple(k for k in moving_rows(robot, frame, expressed_in) if k in wanted)
    return picked(kept) if kept else natural(robot, frame, expressed_in)


def length_of(robot: Jointed, frame: str | None = None) -> float:
    """The arm's length L [m]: the offsets from joint to joint up to the frame, added up, and the largest strokes of
    sliding joints. 1 if all are zero."""
    return remembered(robot, ("length", frame), lambda: _length(robot, frame))


def _length(robot: Jointed, frame: str | None) -> float:
    model, at = robot.model, robot.model.frame(frame)
    bodies = [model.bodies[i] for i in model.path(at.body)]
    total = sum(float(np.linalg.norm(b.placement.p)) for b in bodies[1:]) + float(np.linalg.norm(at.pose.p))
    of = {c.first: c for c in model.coordinates}
    for body in bodies:
        c = of[body.coordinate]
        if c.joint.travel:
            total += abs(c.joint.travel) * max((abs(x) for x in (c.lower, c.upper) if np.isfinite(x)), default=0.0)
    return total or 1.0


def joint_units(robot: Jointed, frame: str | None = None) -> Array:
    """1 for a joint that turns, L for one that slides: what a joint's step is measured by.  (nv,)."""
    L = length_of(robot, frame)
    return np.array([1.0 if unit == "rad" else L for c in robot.model.coordinates for unit in c.joint.units])


def unitless(robot: Jointed, frame: str | None, J: Array) -> Array:
    """J of all six rows, free of units: diag(1/L, 1/L, 1/L, 1, 1, 1) J diag(1 or L)."""
    L = length_of(robot, frame)
    return np.asarray(J * np.array([1 / L] * 3 + [1.0] * 3)[:, None] * joint_units(robot, frame))


def ranks(singular_values: Array, least: float) -> Integers:
    """How many singular values (..., k) exceed the least that counts."""
    return np.asarray(np.sum(singular_values > least, axis=-1))


def scale_of(
    robot: Jointed,
    frame: str | None,
    chosen: Task,
    expressed_in: str,
    *,
    free_of_units: bool = False,
    root: Array | None = None,
) -> float:
    """The largest singular value of the task's Jacobian (times a root of joint weights) over the seeded states: the
    one number that small singular values are compared with, in every state. 1 if the task never moves."""

    def largest() -> float:
        J = sampled(robot, frame, expressed_in)
        J = chosen.jacobian(unitless(robot, frame, J) if free_of_units else J)
        return float(np.linalg.norm(J if root is None else J @ root, ord=2, axis=(-2, -1)).max()) or 1.0

    if chosen.picked is None or root is not None:
        return largest()
    return remembered(robot, ("scale", frame, chosen.picked, expressed_in, free_of_units), largest)


def freedom(robot: Jointed, frame: str | None, chosen: Task, expressed_in: str) -> int:
    """In how many independent ways the task moves almost everywhere: the largest rank over the seeded states. Fewer
    than the rows or the joints for a planar arm of four joints, say."""
    if chosen.picked is None:
        return _freedom(robot, frame, chosen, expressed_in)
    key = ("freedom", frame, chosen.picked, expressed_in)
    return remembered(robot, key, lambda: _freedom(robot, frame, chosen, expressed_in))


def _freedom(robot: Jointed, frame: str | None, chosen: Task, expressed_in: str) -> int:
    J = chosen.jacobian(unitless(robot, frame, sampled(robot, frame, expressed_in)))
    least = ROUNDING * scale_of(robot, frame, chosen, expressed_in, free_of_units=True)
    return int(ranks(np.asarray(np.linalg.svd(J, compute_uv=False)), least).max())


def torque_limits(robot: Jointed, given: ArrayLike | None, option: str = "torques") -> Array:
    """Torque limits, positive, one per joint: those given as this option, or the robot's own, which must be finite."""
    return _limits(robot, given, robot.limits.effort, option, "effort")


def velocity_limits(robot: Jointed, given: ArrayLike | None) -> Array:
    """Velocity limits, likewise."""
    return _limits(robot, given, robot.limits.velocity, "joint_rates", "velocity")


def _limits(robot: Jointed, given: ArrayLike | None, own: Array, name: str, word: str) -> Array:
    if given is None:
        missing = [joint for joint, x in zip(robot.model.names("coordinate"), own, strict=True) if not np.isfinite(x)]
        if missing:
            raise InputError(f"joint {missing[0]!r} of {robot.name!r} has no {word} limit: give {name}=…")
        given = own
    x = array(name, given)
    x = np.full(robot.nv, x) if x.ndim == 0 else x
    if x.shape != (robot.nv,) or (x < 0).any():
        raise InputError(f"{name} must be {robot.nv} numbers ≥ 0, one per joint, or one for all; got shape {x.shape}")
    return x
