"""Numbers that users give of drives, looked at once: finite, of the right sign, one per joint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import InputError
from dalembert.robot import Robot


def number(
    owner: str, name: str, value: Any, unit: str, *, least: float = -math.inf, above: float = -math.inf
) -> float:
    """A finite number, not below `least` and greater than `above`; or a sentence that names whose it is."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise InputError(f"the {name} of {owner} must be a number [{unit}], got {value!r}") from None
    if not math.isfinite(x):
        raise InputError(f"the {name} of {owner} is {x!r}; it must be a finite number [{unit}]")
    if x <= above:
        raise InputError(f"the {name} of {owner} is {x!r}; it must be greater than {above:g} [{unit}]")
    if x < least:
        raise InputError(f"the {name} of {owner} is {x!r}; it must not be less than {least:g} [{unit}]")
    return x


def limit(owner: str, name: str, value: Any, unit: str) -> float:
    """A magnitude that may be infinite, which means no limit."""
    return math.inf if value is None or value == math.inf else number(owner, name, value, unit, above=0.0)


def per_joint(
    name: str, value: Any, names: Sequence[str], unit: str, *, least: float = -math.inf, above: float = -math.inf
) -> tuple[float, ...]:
    """One number for each joint, or one for all of them."""
    n = len(names)
    try:
        x = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"the {name} must be numbers [{unit}], one per joint ({n}) or one for all") from None
    if x.shape not in ((), (n,)):
        raise InputError(f"the {name} has shape {x.shape}; give one number [{unit}], or one per joint ({n})")
    given = np.broadcast_to(x, (n,)).tolist()
    return tuple(
        number(f"joint {joint!r}", name, v, unit, least=least, above=above)
        for joint, v in zip(names, given, strict=True)
    )


def plain_tree(robot: Any, what: str) -> Robot:
    """The robot, if it is one that moves by its joints alone."""
    if not isinstance(robot, Robot):
        raise InputError(f"a {what} is made of a Robot, not of {type(robot).__name__}")
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to drive")
    if robot.description.loops:
        raise InputError(f"{robot.name!r} has closed loops, which a {what} does not know; give it an open tree")
    return robot
