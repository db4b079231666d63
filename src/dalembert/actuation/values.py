"""Numbers that users give of drives, looked at once: finite, of the right sign, one per joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import array, number
from dalembert.errors import InputError
from dalembert.kernels import need_tree
from dalembert.robot import Robot, need_robot

RATIO = ("motor turns per joint turn", "rad/m")  # at a hinge, at a slide


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
