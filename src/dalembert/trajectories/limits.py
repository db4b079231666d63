"""What users give of a motion, looked at once: points, times, limits; each refusal says which number and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert import arguments
from dalembert.arguments import Array
from dalembert.errors import InputError

if TYPE_CHECKING:
    from dalembert.robot import Robot

Choice = TypeVar("Choice", str, int)
EQUAL = 1e-12  # points nearer than this part of their size are the same point
LARGEST = 1e30  # coefficients go with the seventh power of a duration
BEYOND = 1e-9  # [rad or m] beyond a limit that rounding explains


def array(name: str, value: object) -> Array:
    """An array of finite doubles of any shape, none of them too large to move by."""
    x = arguments.array(name, value)
    if np.abs(x).max(initial=0.0) > LARGEST:
        raise InputError("too-large", name, np.abs(x).max(), expected=f"numbers of at most {LARGEST:g}")
    return np.where(np.abs(x) < 1 / LARGEST, 0.0, x)  # what rounding left of a zero, whose powers would be none


def positive(name: str, value: object, unit: str = "s") -> float:
    return arguments.number(name, array(name, value), unit, above=0.0)


def duration_of(value: object) -> float:
    """A duration, which may be infinite."""
    return math.inf if value == math.inf else positive("duration", value)


def choice(name: str, value: Choice, choices: tuple[Choice, ...]) -> Choice:
    if value not in choices:
        raise InputError("wrong-value", name, value, expected=f"one of {', '.join(map(repr, choices))}")
    return value


def vector(name: str, value: object, m: int | None = None) -> Array:
    """m finite numbers; a plain number is one, or the same for all if m is known."""
    x = array(name, value)
    if x.ndim == 0:
        return np.full(1 if m is None else m, float(x))
    if x.ndim != 1 or len(x) == 0:
        raise InputError("wrong-shape", name, x, expected="a list of numbers, one per coordinate")
    if m is not None and len(x) != m:
        raise InputError("wrong-shape", name, x, expected=f"{m} numbers, one per coordinate")
    return x


def ends(start: ArrayLike, end: ArrayLike) -> tuple[Array, Array]:
    """Two points of as many numbers."""
    a, b = vector("start", start), vector("end", end)
    if len(a) != len(b):
        raise InputError(
            "wrong-shape",
            "end",
            problem=f"`start` has {len(a)} numbers and `end` {len(b)}; both need one per coordinate",
        )
    return a, b


def distinct(start: Array, end: Array) -> None:
    if np.abs(end - start).max() <= EQUAL * max(float(np.abs(start).max()), float(np.abs(end).max()), 1e-300):
        raise InputError(
            "conflict",
            "end",
            problem="`start` and `end` are the same point, so nothing moves",
            remedy="Use set_point(x) to stay there.",
        )


def magnitude(name: str, value: ArrayLike | None, m: int) -> Array:
    """Limits, one per coordinate or one for all: greater than zero, infinite where there is none."""
    if value is None:
        return np.full(m, math.inf)
    try:
        x = np.asarray(arguments.plain_array(value, name), float)
    except (TypeError, ValueError):
        raise InputError("wrong-type", name, value, expected="one or more numbers") from None
    x = np.where(x > LARGEST, math.inf, x)
    if x.shape not in ((), (m,)):
        raise InputError("wrong-shape", name, x, expected=f"one number, or one per coordinate ({m})")
    x = np.broadcast_to(x, (m,)).copy()
    if not (x >= 1 / LARGEST).all():
        bad = int(np.argmin(x >= 1 / LARGEST))
        least = f"{1 / LARGEST:g}" if x[bad] > 0 else "0"
        raise InputError(
            "out-of-range",
            name,
            x[bad],
            problem=f"the limit of {name} is {x[bad]:g} for coordinate {bad}; it must be greater than {least}",
        )
    return x


def times_of(value: ArrayLike, count: int) -> Array:
    """As many times as points, from 0 on, each later than the one before."""
    t = array("times", value)
    if t.shape != (count,):
        raise InputError("wrong-shape", "times", t, expected=f"{count} times, one per point")
    if t[0] != 0:
        raise InputError(
            "wrong-value",
            "times",
            t[0],
            problem=f"`times` must begin at 0, got {t[0]:g}",
            remedy="Pass times - times[0].",
        )
    steps = np.diff(t)
    if not (steps > 0).all():
        k = int(np.argmin(steps > 0))
        raise InputError(
            "wrong-order",
            "times",
            problem=f"`times` must increase: times[{k}] is {t[k]:g} and times[{k + 1}] is {t[k + 1]:g}",
        )
    return t


def points_of(value: ArrayLike) -> Array:
    """(k, m) points, k ≥ 2; a list of numbers is k points of one coordinate."""
    x = array("points", value)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or x.shape[1] == 0 or len(x) < 2:
        raise InputError("wrong-shape", "points", x, expected="shape (k, m): two or more points of m coordinates")
    return x


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits per coordinate, infinite where there are none, and what the coordinates are called. `asked` are those of
    velocity, acceleration and jerk that were given, without the robot's own."""

    velocity: Array
    acceleration: Array
    jerk: Array
    lower: Array
    upper: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    asked: tuple[Array, Array, Array]

    @property
    def finite(self) -> bool:
        return bool(any(np.isfinite(x).any() for x in (self.velocity, self.acceleration, self.jerk)))

    def need(self, *names: str) -> None:
        """Refuse if a limit that must be there is not."""
        for name in names:
            missing = np.flatnonzero(~np.isfinite(getattr(self, name)))
            if len(missing):
                raise InputError(
                    "missing",
                    name,
                    problem=f"{self.names[missing[0]]!r} has no limit of {name}",
                    remedy=f"Pass `{name}`.",
                )


def read_limits(
    m: int,
    robot: Robot | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
) -> MotionLimits:
    """The limits given, and the robot's own of position and, where none are given, of velocity."""
    if robot is None:
        free = np.full(m, math.inf)
        lower, upper, names, units = -free, free, tuple(f"x{k + 1}" for k in range(m)), ("",) * m
    else:
        _check_joints(robot, m)
        lower, upper, names, units = robot.limits.lower, robot.limits.upper, robot.joint_names, joint_units(robot)
    asked = (magnitude("velocity", velocity, m), magnitude("acceleration", acceleration, m), magnitude("jerk", jerk, m))
    own = magnitude("velocity", robot.limits.velocity, m) if robot is not None and velocity is None else asked[0]
    return MotionLimits(own, asked[1], asked[2], lower, upper, names, units, asked)


def _check_joints(robot: Robot, m: int) -> None:
    from dalembert.robot import need_robot

    if need_robot(robot, "a motion within a robot's limits").n != m:
        raise InputError(
            "conflict", "robot", problem=f"the motion has {m} coordinates and {robot.name!r} has {robot.n} joints"
        )


def joint_units(robot: Robot) -> tuple[str, ...]:
    return tuple(c.joint.unit for c in robot.model.coordinates)
