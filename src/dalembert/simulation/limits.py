"""What drives can give: limits as users write them, and commands held within them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, unknown
from dalembert.flow import Scalar
from dalembert.robot import Robot
from dalembert.scalar import where

Limits = tuple[tuple[float, float], ...]
ROUNDING = 1e-9  # of a limit: what is beyond it by less is not


@dataclass(frozen=True)
class Excess:
    """A limit that a joint passed, one of its position, velocity or effort: from t [s] on, by `most` at its worst."""

    joint: str
    kind: str
    limit: float
    t: float
    most: float
    unit: str

    def __str__(self) -> str:
        what, by = f"{self.kind} limit {self.limit:.6g}", f"by up to {self.most:.4g} {self.unit}".rstrip()
        return f"{self.joint!r} is beyond its {what} from t = {self.t:.4g} s on, {by}"


def excesses(
    t: NDArray[np.float64], values: Mapping[str, NDArray[np.float64]], robot: Robot, units: tuple[str, ...]
) -> tuple[Excess, ...]:
    """The limits of a robot that are passed in rows at times t; `values`: "position", "velocity", "effort", each
    (rows, n), where they are known."""
    own = robot.limits
    low = {"position": own.lower, "velocity": -own.velocity, "effort": -own.effort}
    high = {"position": own.upper, "velocity": own.velocity, "effort": own.effort}
    of = {"position": "", "velocity": "/s"}
    found = []
    for kind, x in values.items():
        for k, joint in enumerate(robot.joint_names):
            torque = "N" if units[k] == "m" else "N m"
            unit = torque if kind == "effort" else f"{units[k]}{of[kind]}"
            for limit, side in ((low[kind][k], -1.0), (high[kind][k], 1.0)):
                if not np.isfinite(limit):
                    continue
                over = side * (x[:, k] - limit)
                out = over > ROUNDING * max(1.0, abs(limit))
                if out.any():
                    first = float(t[int(np.argmax(out))])
                    found.append(Excess(joint, kind, float(limit), first, float(np.nanmax(over)), unit))
    return tuple(found)


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
