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
        raise InputError(f"{name} has {np.abs(x).max():g} in it; numbers beyond {LARGEST:g} are too large to move by")
    return np.where(np.abs(x) < 1 / LARGEST, 0.0, x)  # what rounding left of a zero, whose powers would be none


def positive(name: str, value: object, unit: str = "s") -> float:
    return arguments.number(name, array(name, value), unit, above=0.0)


def duration_of(value: object) -> float:
    """A duration, which may be infinite."""
    return math.inf if value == math.inf else positive("duration", value)


def choice(name: str, value: Choice, choices: tuple[Choice, ...]) -> Choice:
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return value


def vector(name: str, value: object, m: int | None = None) -> Array:
    """m finite numbers; a plain number is one, or the same for all if m is known."""
    x = array(name, value)
    if x.ndim == 0:
        return np.full(1 if m is None else m, float(x))
    if x.ndim != 1 or len(x) == 0:
        raise InputError(f"{name} has shape {x.shape}; it must be a list of numbers, one per coordinate")
    if m is not None and len(x) != m:
        raise InputError(f"{name} has {len(x)} numbers; there are {m} coordinates")
    return x


def ends(start: ArrayLike, end: ArrayLike) -> tuple[Array, Array]:
    """Two points of as many numbers."""
    a, b = vector("start", start), vector("end", end)
    if len(a) != len(b):
        raise InputError(f"start has {len(a)} numbers and end {len(b)}; both need one per coordinate")
    return a, b


def distinct(start: Array, end: Array) -> None:
    if np.abs(end - start).max() <= EQUAL * max(float(np.abs(start).max()), float(np.abs(end).max()), 1e-300):
        raise InputError("start and end are the same point: there is nothing to move; set_point(x) stays there")


def magnitude(name: str, value: ArrayLike | None, m: int) -> Array:
    """Limits, one per coordinate or one for all: greater than zero, infinite where there is none."""
    if value is None:
        return np.full(m, math.inf)
    try:
        x = np.asarray(arguments.plain_array(value, name), float)
    except (TypeError, ValueError):
        raise InputError(f"the limit of {name} must be numbers, got {value!r}") from None
    x = np.where(x > LARGEST, math.inf, x)
    if x.shape not in ((), (m,)):
        raise InputError(f"the limit of {name} has shape {x.shape}; give one number, or one per coordinate ({m})")
    x = np.broadcast_to(x, (m,)).copy()
    if not (x >= 1 / LARGEST).all():
        bad = int(np.argmin(x >= 1 / LARGEST))
        least = f"{1 / LARGEST:g}" if x[bad] > 0 else "0"
        raise InputError(f"the limit of {name} is {x[bad]:g} for coordinate {bad}; it must be greater than {least}")
    return x


def times_of(value: ArrayLike, count: int) -> Array:
    """As many times as points, from 0 on, each later than the one before."""
    t = array("times", value)
    if t.shape != (count,):
        raise InputError(f"times has shape {t.shape}; there are {count} points, one time each")
    if t[0] != 0:
        raise InputError(f"times begin at {t[0]:g}; a motion begins at 0: give times - times[0]")
    steps = np.diff(t)
    if not (steps > 0).all():
        k = int(np.argmin(steps > 0))
        raise InputError(f"times must increase: times[{k}] is {t[k]:g} and times[{k + 1}] is {t[k + 1]:g}")
    return t


def points_of(value: ArrayLike) -> Array:
    """(k, m) points, k ≥ 2; a list of numbers is k points of one coordinate."""
    x = array("points", value)
    x = x[:, None] if x.ndim == 1 else x
    if x.ndim != 2 or x.shape[1] == 0 or len(x) < 2:
        raise InputError(f"points has shape {x.shape}; give (k, m), two or more points of m coordinates")
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
                raise InputError(f"{self.names[missing[0]]!r} has no limit of {name}: give {name}=…")


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
        raise InputError(f"the motion has {m} coordinates and {robot.name!r} has {robot.n} joints")


def joint_units(robot: Robot) -> tuple[str, ...]:
    return tuple(c.joint.unit for c in robot.model.coordinates)
