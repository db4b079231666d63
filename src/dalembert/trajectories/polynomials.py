"""Polynomials from a state to another: cubic, quintic, septic, minimum jerk; straight stretches with blends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import InputError
from dalembert.trajectories.limits import choice, distinct, ends, points_of, positive, read_limits, times_of, vector
from dalembert.trajectories.piecewise import RATES, Piecewise, hermite, keep_limits

if TYPE_CHECKING:
    from dalembert.robot import Robot


def cubic(
    start: ArrayLike,
    end: ArrayLike,
    duration: float | None = None,
    *,
    start_velocity: ArrayLike = 0.0,
    end_velocity: ArrayLike = 0.0,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    robot: Robot | None = None,
) -> Piecewise:
    """The cubic with given positions and velocities at its ends. From rest to rest over a distance d in time T its
    speed is at most 3d/2T and its acceleration 6d/T². Without a duration, the shortest that keeps the limits (from rest
    to rest only)."""
    states = ((start_velocity, end_velocity),)
    return _between(start, end, duration, states, (velocity, acceleration, jerk), robot)


def quintic(
    start: ArrayLike,
    end: ArrayLike,
    duration: float | None = None,
    *,
    start_velocity: ArrayLike = 0.0,
    end_velocity: ArrayLike = 0.0,
    start_acceleration: ArrayLike = 0.0,
    end_acceleration: ArrayLike = 0.0,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    robot: Robot | None = None,
) -> Piecewise:
    """The quintic with given positions, velocities and accelerations at its ends; durations as of `cubic`."""
    states = ((start_velocity, end_velocity), (start_acceleration, end_acceleration))
    return _between(start, end, duration, states, (velocity, acceleration, jerk), robot)


def septic(
    start: ArrayLike,
    end: ArrayLike,
    duration: float | None = None,
    *,
    start_velocity: ArrayLike = 0.0,
    end_velocity: ArrayLike = 0.0,
    start_acceleration: ArrayLike = 0.0,
    end_acceleration: ArrayLike = 0.0,
    start_jerk: ArrayLike = 0.0,
    end_jerk: ArrayLike = 0.0,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    robot: Robot | None = None,
) -> Piecewise:
    """The polynomial of degree seven with given positions, velocities, accelerations and jerks at its ends."""
    states = ((start_velocity, end_velocity), (start_acceleration, end_acceleration), (start_jerk, end_jerk))
    return _between(start, end, duration, states, (velocity, acceleration, jerk), robot)


def minimum_jerk(
    start: ArrayLike,
    end: ArrayLike,
    duration: float | None = None,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    robot: Robot | None = None,
) -> Piecewise:
    """The motion from rest to rest with the least ∫ x⃛² dt: x = a + (b − a)(10σ³ − 15σ⁴ + 6σ⁵), σ = t/T. Its speed is
    at most 15d/8T, its acceleration 10d/√3T², its jerk 60d/T³.  Flash and Hogan 1985."""
    return _between(start, end, duration, ((0.0, 0.0), (0.0, 0.0)), (velocity, acceleration, jerk), robot)


def _between(
    start: ArrayLike,
    end: ArrayLike,
    duration: float | None,
    states: tuple[tuple[ArrayLike, ArrayLike], ...],
    limits: tuple[ArrayLike | None, ...],
    robot: Robot | None,
) -> Piecewise:
    a, b = ends(start, end)
    m = len(a)
    left, right = [a], [b]
    for word, (x, y) in zip(RATES, states, strict=False):
        left.append(vector(f"start_{word}", x, m))
        right.append(vector(f"end_{word}", y, m))
    known = read_limits(m, robot, *limits)
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
    return keep_limits(made, known, fit=duration is None)


def blends(
    points: ArrayLike,
    times: ArrayLike,
    blend: float,
    *,
    degree: int = 2,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    robot: Robot | None = None,
) -> Piecewise:
    """Straight from point to point (k, m) at constant speed, with blends of `blend` [s] where the speed changes, from
    rest to rest: of constant acceleration (`degree` 2), or quintic, with accelerations that do not jump (5).

    The straight stretches would meet at the points at `times` (k,) after the first blend's middle; the motion cuts the
    corners between and takes times[-1] + blend. Craig 2005, §7.3; `mstraj` of the Robotics Toolbox."""
    x, b = points_of(points), positive("blend", blend)
    t = times_of(times, len(x))
    choice("degree", degree, (2, 5))
    if np.diff(t).min() < b:
        k = int(np.diff(t).argmin())
        raise InputError(f"from points[{k}] to points[{k + 1}] are {t[k + 1] - t[k]:g} s, less than a blend of {b:g} s")
    known = read_limits(x.shape[1], robot, velocity, acceleration, jerk)
    v = np.diff(x, axis=0) / np.diff(t)[:, None]
    before, after = np.concatenate((0 * v[:1], v)), np.concatenate((v, 0 * v[:1]))
    bends = np.zeros((len(x), degree + 1, x.shape[1]))
    if degree == 2:
        bends[:, 0], bends[:, 1], bends[:, 2] = x - 0.5 * b * before, before, (after - before) / (2 * b)
    else:
        left, right = [x - 0.5 * b * before, before, 0 * x], [x + 0.5 * b * after, after, 0 * x]
        bends = hermite(np.full(len(x), b), left, right)
    lines = np.zeros((len(v), degree + 1, x.shape[1]))
    lines[:, 0], lines[:, 1] = x[:-1] + 0.5 * b * v, v
    pieces = [piece for k, bend in enumerate(bends) for piece in ([bend, lines[k]] if k < len(v) else [bend])]
    breaks = np.concatenate([[t_k, t_k + b] for t_k in t])
    long = np.diff(breaks) > 1e-12 * breaks[-1]
    kept = np.append(True, long)
    return keep_limits(Piecewise(breaks[kept], np.array(pieces)[long], known.names, known.units), known)
