"""What a motion must keep to: ranges per joint, and half spaces that frames must not leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError
from dalembert.robot import Limits, Robot
from dalembert.trajectories.limits import array, magnitude, vector

Array = NDArray[np.float64]
KINDS = ("position", "velocity", "acceleration", "torque")


@dataclass(frozen=True)
class HalfSpace:
    """A frame's origin stays where normal · p ≥ offset [m], in the base frame: (0, 0, 1) and 0.1 for z ≥ 0.1."""

    frame: str
    normal: tuple[float, float, float]
    offset: float

    def __str__(self) -> str:
        return f"{self.frame}: ({', '.join(f'{x:g}' for x in self.normal)})·p ≥ {self.offset:g} m"


def box(frame: str, lower: ArrayLike, upper: ArrayLike) -> tuple[HalfSpace, ...]:
    """A frame's origin stays in a box: lower ≤ p ≤ upper [m] in the base frame; ±inf where a side is open."""
    sides = []
    for sign, corner, name in ((1.0, lower, "lower"), (-1.0, upper, "upper")):
        x = np.asarray(corner, float)
        if x.shape != (3,) or np.isnan(x).any():
            raise InputError(f"{name} of a box must be three numbers [m], got {corner!r}")
        for k in range(3):
            if np.isfinite(x[k]):
                a, b, c = (sign if i == k else 0.0 for i in range(3))
                sides.append(HalfSpace(frame, (a, b, c), sign * float(x[k])))
    if not (np.asarray(lower, float) < np.asarray(upper, float)).all():
        raise InputError(f"the box of {frame!r} is empty: lower {lower!r} must be less than upper {upper!r}")
    return tuple(sides)


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Ranges per joint (n,) of each kind, infinite where there are none; half spaces for frames."""

    lower: dict[str, Array]
    upper: dict[str, Array]
    spaces: tuple[HalfSpace, ...] = ()

    def scale(self, kind: str) -> Array:
        """What a violation is measured by: half the range, or one where a side is open."""
        half = 0.5 * (self.upper[kind] - self.lower[kind])
        return np.where(np.isfinite(half), half, 1.0)

    def within(self, margin: float) -> MotionLimits:
        """The same ranges with a share of each left free at both ends."""
        spare = {kind: margin * self.scale(kind) for kind in self.lower}
        return MotionLimits(
            {kind: x + spare[kind] for kind, x in self.lower.items()},
            {kind: x - spare[kind] for kind, x in self.upper.items()},
            self.spaces,
        )

    def excess(self, kind: str, x: Array) -> Array:
        """How far values (..., n) are beyond their range, by its scale: ≤ 0 inside; (..., 2n)."""
        size = self.scale(kind)
        return np.concatenate([(x - self.upper[kind]) / size, (self.lower[kind] - x) / size], axis=-1)

    def usage(self, kind: str, x: Array) -> Array:
        """The largest share of the range from its middle that values (N, n) use, (n,); 0 where it has no end, and 1
        plus the excess where it has one."""
        lower, upper = self.lower[kind], self.upper[kind]
        both = np.isfinite(lower) & np.isfinite(upper)
        middle = np.where(both, 0.5 * (np.where(both, lower, 0) + np.where(both, upper, 0)), 0.0)
        share = np.abs(x - middle).max(axis=0) / self.scale(kind)
        over = self.excess(kind, x).reshape(len(x), 2, -1).max(axis=(0, 1))
        return np.where(both, share, np.where(np.isfinite(over), np.maximum(1.0 + over, 0.0), 0.0))


def motion_limits(
    robot: Robot,
    limits: Limits | None,
    position: Any,
    velocity: Any,
    acceleration: Any,
    torque: Any,
    workspace: Sequence[HalfSpace],
) -> MotionLimits:
    """The limits given, and the robot's own of position, velocity and torque where none are given."""
    own = robot.limits if limits is None else limits
    if not isinstance(own, Limits):
        raise InputError(f"limits must be those of a robot (robot.limits), got {type(own).__name__}")
    lower, upper = own.lower, own.upper
    if position is not None:
        lower, upper = _range(position, robot)
    sizes = {
        "velocity": magnitude("velocity", own.velocity if velocity is None else velocity, robot.n),
        "acceleration": magnitude("acceleration", acceleration, robot.n),
        "torque": magnitude("torque", own.effort if torque is None else torque, robot.n),
    }
    bounded = np.isfinite(upper - lower) | np.isfinite(sizes["velocity"]) | np.isfinite(sizes["acceleration"])
    if not bounded.all():
        joint = robot.joint_names[int(np.argmin(bounded))]
        raise InputError(f"nothing bounds the motion of {joint!r}: give position=, velocity= or acceleration= limits")
    if (lower >= upper).any():
        joint = robot.joint_names[int(np.argmax(lower >= upper))]
        raise InputError(f"{joint!r} cannot move: its position limits leave no range")
    spaces = tuple(_checked(robot, space) for space in workspace)
    return MotionLimits(
        {"position": lower, **{kind: -x for kind, x in sizes.items()}}, {"position": upper, **sizes}, spaces
    )


def _range(position: Any, robot: Robot) -> tuple[Array, Array]:
    try:
        low, high = position
    except (TypeError, ValueError):
        raise InputError("position limits are a pair (lower, upper), one number or one per joint each") from None
    return vector("position lower", low, robot.n), vector("position upper", high, robot.n)


def _checked(robot: Robot, space: Any) -> HalfSpace:
    if not isinstance(space, HalfSpace):
        raise InputError(
            f"workspace is a list of HalfSpace(frame, normal, offset), box(…) makes six; got {type(space).__name__}"
        )
    frame = robot.model.frame(space.frame)
    if frame.body < 0:
        raise InputError(f"frame {space.frame!r} is fixed to the base: no motion takes it anywhere")
    x = array("normal", space.normal)
    if x.shape != (3,) or not np.linalg.norm(x) > 0:
        raise InputError(f"the normal of a half space must be three numbers, not all zero; got {space.normal!r}")
    a, b, c = (x / np.linalg.norm(x)).tolist()
    return HalfSpace(space.frame, (a, b, c), float(array("offset", space.offset)) / float(np.linalg.norm(x)))
