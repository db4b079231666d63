"""One polynomial from a state to another: cubic, quintic, septic, minimum jerk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import InputError
from dalembert.trajectories.checks import bounds, distinct, ends, positive, vector
from dalembert.trajectories.piecewise import Piecewise, fitted, hermite, within

if TYPE_CHECKING:
    from dalembert.robot import Robot


def cubic(
    start: Any,
    end: Any,
    duration: float | None = None,
    *,
    start_velocity: Any = 0.0,
    end_velocity: Any = 0.0,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    robot: Robot | None = None,
) -> Piecewise:
    """The cubic with given positions and velocities at its ends. From rest to rest over a distance d in time T its
    speed is at most 3d/2T and its acceleration 6d/T². Without a duration, the shortest that keeps the limits (from rest
    to rest only)."""
    states = ((start_velocity, end_velocity),)
    return _between(start, end, duration, states, (velocity, acceleration, jerk), robot)


def quintic(
    start: Any,
    end: Any,
    duration: float | None = None,
    *,
    start_velocity: Any = 0.0,
    end_velocity: Any = 0.0,
    start_acceleration: Any = 0.0,
    end_acceleration: Any = 0.0,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    robot: Robot | None = None,
) -> Piecewise:
    """The quintic with given positions, velocities and accelerations at its ends; durations as of `cubic`."""
    states = ((start_velocity, end_velocity), (start_acceleration, end_acceleration))
    return _between(start, end, duration, states, (velocity, acceleration, jerk), robot)


def septic(
    start: Any,
    end: Any,
    duration: float | None = None,
    *,
    start_velocity: Any = 0.0,
    end_velocity: Any = 0.0,
    start_acceleration: Any = 0.0,
    end_acceleration: Any = 0.0,
    start_jerk: Any = 0.0,
    end_jerk: Any = 0.0,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    robot: Robot | None = None,
) -> Piecewise:
    """The polynomial of degree seven with given positions, velocities, accelerations and jerks at its ends."""
    states = ((start_velocity, end_velocity), (start_acceleration, end_acceleration), (start_jerk, end_jerk))
    return _between(start, end, duration, states, (velocity, acceleration, jerk), robot)


def minimum_jerk(
    start: Any,
    end: Any,
    duration: float | None = None,
    *,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    robot: Robot | None = None,
) -> Piecewise:
    """The motion from rest to rest with the least ∫ x⃛² dt: x = a + (b − a)(10σ³ − 15σ⁴ + 6σ⁵), σ = t/T. Its speed is
    at most 15d/8T, its acceleration 10d/√3T², its jerk 60d/T³.  Flash and Hogan 1985."""
    return _between(start, end, duration, ((0.0, 0.0), (0.0, 0.0)), (velocity, acceleration, jerk), robot)


def _between(
    start: Any,
    end: Any,
    duration: float | None,
    states: tuple[tuple[Any, Any], ...],
    limits: tuple[Any, Any, Any],
    robot: Robot | None,
) -> Piecewise:
    a, b = ends(start, end)
    m = len(a)
    words = ("velocity", "acceleration", "jerk")
    left, right = [a], [b]
    for word, (x, y) in zip(words, states, strict=False):
        left.append(vector(f"start_{word}", x, m))
        right.append(vector(f"end_{word}", y, m))
    known = bounds(m, robot, *limits)
    moving = any(x.any() for x in (*left[1:], *right[1:]))
    if duration is None:
        if moving:
            raise InputError("with rates at its ends a motion needs a duration: its shortest is not a matter of scale")
        distinct(a, b)
        if not known.finite:
            raise InputError("give a duration, or limits that say how fast (velocity=, acceleration=, robot=)")
    T = 1.0 if duration is None else positive("duration", duration)
    C = hermite(np.array([T]), [x[None] for x in left], [x[None] for x in right])
    made = Piecewise(np.array([0.0, T]), C, known.names, known.units)
    if duration is None:
        made = fitted(made, known)
    elif any(x is not None for x in limits):
        refuse_beyond(made, limits, known.names)
    return within(made, known)


def refuse_beyond(made: Piecewise, limits: tuple[Any, Any, Any], names: tuple[str, ...]) -> None:
    """Refuse a duration that breaks limits given with it."""
    asked, found = bounds(made.m, None, *limits), made.limits()
    for word in ("velocity", "acceleration", "jerk"):
        ratio = getattr(found, word) / getattr(asked, word)
        j = int(ratio.argmax())
        if ratio[j] > 1 + 1e-9:
            raise InputError(
                f"in {made.duration:g} s {names[j]!r} needs {word} {getattr(found, word)[j]:g}, beyond its limit "
                f"{getattr(asked, word)[j]:g}: give a longer duration, or none"
            )
