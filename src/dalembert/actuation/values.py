"""Numbers that users give of drives, looked at once: finite, of the right sign, one per joint."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.arguments import number as number
from dalembert.arguments import plain_array
from dalembert.errors import InputError
from dalembert.kernels import need_tree
from dalembert.robot import Robot

RATIO = ("motor turns per joint turn", "rad/m")  # at a hinge, at a slide


def limit(owner: str, name: str, value: Any, unit: str) -> float:
    """A magnitude that may be infinite, which means no limit."""
    unlimited = value is None or (isinstance(value, float) and value == math.inf)
    return math.inf if unlimited else number(f"the {name} of {owner}", value, unit, above=0.0)


def per_joint(name: str, value: Any, robot: Robot, units: tuple[str, str], **bounds: Any) -> tuple[float, ...]:
    """One number for each joint, or one for all of them, within the `bounds` of a `number`; `units` are those at a
    hinge and at a slide."""
    n = robot.n
    own = [units[not c.joint.turns] for c in robot.model.coordinates]
    shown = " or ".join(sorted(set(own), key=own.index))
    try:
        x = np.asarray(plain_array(value, name), float)
    except (TypeError, ValueError):
        raise InputError(f"the {name} must be numbers [{shown}], one per joint ({n}) or one for all") from None
    if x.shape not in ((), (n,)):
        raise InputError(f"the {name} has shape {x.shape}; give one number [{shown}], or one per joint ({n})")
    given = np.broadcast_to(x, (n,)).tolist()
    return tuple(
        number(f"the {name} of joint {joint!r}", v, unit, **bounds)
        for joint, v, unit in zip(robot.joint_names, given, own, strict=True)
    )


def plain_tree(robot: Any, what: str) -> Robot:
    """The robot, if it is one that moves by its joints alone."""
    if not isinstance(robot, Robot):
        raise InputError(f"a {what} is made of a Robot, not of {type(robot).__name__}")
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to drive")
    need_tree(robot.model)
    return robot
