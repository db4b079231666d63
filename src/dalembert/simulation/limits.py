"""What drives can give: limits as users write them, and commands held within them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import InputError, unknown
from dalembert.flow import Scalar
from dalembert.robot import Robot
from dalembert.scalar import where

Limits = tuple[tuple[float, float], ...]


def clipped(x: Scalar, lower: float, upper: float) -> Scalar:
    """NaN stays NaN, so that it is noticed."""
    return where(x > upper, upper, where(x < lower, lower, x))


def torque_limits_of(value: Any, drives: tuple[str, ...], name: str, robot: Robot | None) -> Limits | None:
    """(lower, upper) of each drive: from "robot" for its efforts, a number, one per drive, or (lower, upper). Two
    numbers for two drives are one each, unless the first is negative."""
    if value is None:
        return None
    if isinstance(value, str):
        if value != "robot":
            raise unknown("torque_limits", value, ("robot",))
        joints = () if robot is None else zip(robot.joint_names, robot.limits.effort, strict=True)
        efforts = {f"{joint}_torque": effort for joint, effort in joints}
        if not all(drive in efforts for drive in drives):
            raise InputError(f"the inputs of {name!r} are not the torques of a robot's joints: give numbers")
        value = [efforts[drive] for drive in drives]
    n = len(drives)
    try:
        if isinstance(value, (tuple, list, np.ndarray)) and len(value) == 2 and _a_pair(value, n):
            lower, upper = (np.broadcast_to(np.asarray(part, float), (n,)) for part in value)
        else:
            upper = np.broadcast_to(np.asarray(value, float), (n,))
            lower = -upper
    except (TypeError, ValueError):
        raise InputError(
            f"torque_limits must be a number, {n} of them, or (lower, upper) of {n} each; got {value!r:.60}"
        ) from None
    if np.isnan(lower).any() or np.isnan(upper).any() or not (lower <= upper).all():
        raise InputError(f"torque_limits must not be negative, nor lower above upper; got {value!r:.60}")
    return tuple((float(a), float(b)) for a, b in zip(lower, upper, strict=True))


def _a_pair(value: Any, n: int) -> bool:
    return any(np.ndim(part) for part in value) or n != 2 or bool(value[0] < 0)
