"""Numbers that users give of drives, looked at once: finite, of the right sign, one per joint.

Positions where forces balance, found by Newton's method, with a certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number
from dalembert.errors import InputError
from dalembert.kernels import need_tree
from dalembert.robot import Robot, need_robot

RATIO = ("motor turns per joint turn", "rad/m")  # at a hinge, at a slide
ITERATIONS = 100
SHORTEST = 2.0**-30  # of a Newton step, before it is given up
LARGEST = 1.0  # a step longer than this [rad, m] leaves what the linearization knows


def per_joint(
    name: str,
    value: ArrayLike,
    robot: Robot,
    units: tuple[str, str],
    *,
    above: float | None = None,
    least: float | None = None,
    nonzero: bool = False,
) -> tuple[float, ...]:
    """One number for each joint, or one for all of them, within these bounds of a `number`; `units` are those at a
    hinge and at a slide."""
    n = robot.n
    own = [units[not c.joint.turns] for c in robot.model.coordinates]
    shown = " or ".join(sorted(set(own), key=own.index))
    x = array(f"the {name}", value, (), (n,), unit=shown, meaning="one for all, or one per joint", finite=False)
    given = np.broadcast_to(x, (n,)).tolist()
    return tuple(
        number(f"the {name} of joint {joint!r}", v, unit, above=above, least=least, nonzero=nonzero)
        for joint, v, unit in zip(robot.joint_names, given, own, strict=True)
    )


def plain_tree(robot: object, what: str) -> Robot:
    """The robot, if it is one that moves by its joints alone."""
    robot = need_robot(robot, f"a {what}")
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to drive")
    need_tree(robot.model)
    return robot


def refuse_friction(friction: bool, what: str) -> None:
    """Whether friction counts is settled where the system is made."""
    if friction:
        raise InputError(f"friction= is a robot's; a {what} has its own: {what}(…, friction=True)")


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """`q` (n,), where the forces balance; `converged`; `residual`, the largest force left over there [N m], recomputed;
    `stable`, whether the stiffness there is positive definite; `iterations`; `message`, why the search ended."""

    q: Array
    converged: bool
    residual: float
    stable: bool
    iterations: int
    message: str


def balance(
    residual: Callable[[Array], Array], stiffness: Callable[[Array], Array], q0: Array, tolerance: float
) -> Equilibrium:
    """A zero of `residual`(q) near q0, whose derivative is `stiffness`(q): Newton's steps, halved until the residual
    falls. It is converged where no component exceeds `tolerance`."""
    q = np.array(q0, float)
    r = residual(q)
    message = f"no balance after {ITERATIONS} steps"
    steps = 0
    while steps < ITERATIONS:
        if not np.abs(r).max() > tolerance:
            message = "the forces balance"
            break
        moved = _step(stiffness(q), r)
        scale = 1.0
        while scale >= SHORTEST:
            trial = q + scale * moved
            r_trial = residual(trial)
            if np.linalg.norm(r_trial) < np.linalg.norm(r):
                break
            scale /= 2
        else:
            message = "no step brings the forces nearer to balance: there may be none near the start"
            break
        q, r = trial, r_trial
        steps += 1
    r = residual(q)
    K = stiffness(q)
    left = float(np.abs(r).max())
    stable = bool(np.linalg.eigvalsh((K + K.T) / 2).min() > 0)
    return Equilibrium(q, bool(left <= tolerance), left, stable, steps, message)


def _step(K: Array, r: Array) -> Array:
    """−K⁺ r, not longer than `LARGEST`; the pseudo-inverse where a direction has no stiffness."""
    moved = np.asarray(-np.linalg.lstsq(K, r, rcond=1e-12)[0])
    size = float(np.abs(moved).max())
    return moved if size <= LARGEST else moved * (LARGEST / size)
