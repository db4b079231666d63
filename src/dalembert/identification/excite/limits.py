"""What a motion must keep to: ranges per joint, and half spaces that frames must not leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.identification.excite.workspace import HalfSpace, Origins, find_origins, read_spaces
from dalembert.robot import Limits, Robot

Array = NDArray[np.float64]
KINDS = ("position", "velocity", "acceleration", "torque")


@dataclass(frozen=True, eq=False)
class ExcitationLimits:
    """Ranges per joint (n,) of each kind, infinite where there are none; half spaces for the origins of frames."""

    lower: dict[str, Array]
    upper: dict[str, Array]
    origins: Origins
    spaces: tuple[HalfSpace, ...] = ()

    @cached_property
    def places(self) -> list[int]:
        """Which origin every half space is for."""
        return [self.origins.place[str(space.frame)] for space in self.spaces]

    @cached_property
    def planes(self) -> tuple[Array, Array]:
        """Normals (S, 3) and offsets (S,) of the half spaces."""
        normals = np.array([space.normal for space in self.spaces]).reshape(-1, 3)
        return normals, np.array([space.offset for space in self.spaces])

    def scale(self, kind: str) -> Array:
        """What a violation is measured by: half the range, or one where a side is open."""
        half = 0.5 * (self.upper[kind] - self.lower[kind])
        return np.where(np.isfinite(half), half, 1.0)

    def within(self, margin: float) -> ExcitationLimits:
        """The same ranges with a share of each left free at both ends."""
        spare = {kind: margin * self.scale(kind) for kind in self.lower}
        lower = {kind: x + spare[kind] for kind, x in self.lower.items()}
        return replace(self, lower=lower, upper={kind: x - spare[kind] for kind, x in self.upper.items()})

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
    workspace: Sequence[HalfSpace] = (),
    floor: float | Mapping[str | None, float] | None = None,
) -> ExcitationLimits:
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
    for kind, given, x in (("velocity", velocity, own.velocity), ("torque", torque, own.effort)):
        if given is None and not (x > 0.0).all():  # a zero where nobody knew
            joint = robot.joint_names[int(np.argmin(x > 0.0))]
            raise InputError(
                f"the description of {robot.name!r} limits the {kind} of {joint!r} to zero: give limits of {kind}"
            )
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
        raise InputError(f"nothing bounds the motion of {joint!r}: give limits of position, velocity or acceleration")
    if (lower >= upper).any():
        joint = robot.joint_names[int(np.argmax(lower >= upper))]
        raise InputError(f"{joint!r} cannot move: its position limits leave no range")
    origins = find_origins(robot.model)
    return ExcitationLimits(
        {"position": lower, **{kind: -x for kind, x in sizes.items()}},
        {"position": upper, **sizes},
        origins,
        read_spaces(robot, origins, workspace, floor),
    )


def _per_joint(name: str, value: object, n: int, finite: bool = True, above: float | None = None) -> Array:
    x = array(name, value, (), (n,), meaning="one per joint", finite=finite, above=above)
    return np.broadcast_to(x, (n,)).copy()
