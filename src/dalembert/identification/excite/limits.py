"""What a motion must keep to: ranges per joint, and half spaces that frames must not leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, number
from dalembert.errors import InputError
from dalembert.robot import Limits, Robot

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
    low, high = (array(f"{name} of a box", x, (3,), finite=False) for name, x in (("lower", lower), ("upper", upper)))
    if not (low < high).all():
        raise InputError(f"the box of {frame!r} is empty: lower {lower!r} must be less than upper {upper!r}")
    sides = []
    for sign, corner in ((1.0, low), (-1.0, high)):
        for k in np.flatnonzero(np.isfinite(corner)):
            a, b, c = (sign if i == k else 0.0 for i in range(3))
            sides.append(HalfSpace(frame, (a, b, c), sign * float(corner[k])))
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


def read_limits(
    robot: Robot,
    limits: Limits | None,
    position: object,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
    workspace: Sequence[HalfSpace],
) -> MotionLimits:
    """The limits given, and the robot's own of position, velocity and torque where none are given."""
    own = robot.limits if limits is None else limits
    if not isinstance(own, Limits):
        raise InputError(f"limits must be those of a robot (robot.limits), got {type(own).__name__}")
    lower, upper, n = own.lower, own.upper, robot.n
    if position is not None:
        try:
            low, high = tuple(position)  # type: ignore[arg-type, var-annotated]
        except (TypeError, ValueError):
            raise InputError("position limits are a pair (lower, upper), one number or one per joint each") from None
        lower, upper = _per_joint("position lower", low, n), _per_joint("position upper", high, n)
    sizes = {
        kind: np.full(n, np.inf) if x is None else _per_joint(kind, x, n, finite=False, above=0.0)
        for kind, x in (
            ("velocity", own.velocity if velocity is None else velocity),
            ("acceleration", acceleration),
            ("torque", own.effort if torque is None else torque),
        )
    }
    bounded = np.isfinite(upper - lower) | np.isfinite(sizes["velocity"]) | np.isfinite(sizes["acceleration"])
    if not bounded.all():
        joint = robot.joint_names[int(np.argmin(bounded))]
        raise InputError(f"nothing bounds the motion of {joint!r}: give position=, velocity= or acceleration= limits")
    if (lower >= upper).any():
        joint = robot.joint_names[int(np.argmax(lower >= upper))]
        raise InputError(f"{joint!r} cannot move: its position limits leave no range")
    spaces = tuple(_check_space(robot, space) for space in workspace)
    return MotionLimits(
        {"position": lower, **{kind: -x for kind, x in sizes.items()}}, {"position": upper, **sizes}, spaces
    )


def _per_joint(name: str, value: object, n: int, finite: bool = True, above: float | None = None) -> Array:
    x = array(name, value, (), (n,), meaning="one per joint", finite=finite, above=above)
    return np.broadcast_to(x, (n,)).copy()


def _check_space(robot: Robot, space: object) -> HalfSpace:
    if not isinstance(space, HalfSpace):
        raise InputError(
            f"workspace is a list of HalfSpace(frame, normal, offset), box(…) makes six; got {type(space).__name__}"
        )
    frame = robot.model.frame(space.frame)
    if frame.body < 0:
        raise InputError(f"frame {space.frame!r} is fixed to the base: no motion takes it anywhere")
    x = array("normal", space.normal, (3,))
    size = float(np.linalg.norm(x))
    if not size > 0:
        raise InputError(f"the normal of a half space must be three numbers, not all zero; got {space.normal!r}")
    a, b, c = (x / size).tolist()
    return HalfSpace(space.frame, (a, b, c), number("offset", space.offset, "m") / size)
