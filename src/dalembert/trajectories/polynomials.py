"""Polynomials from a state to another: cubic, quintic, septic, minimum jerk; straight stretches with blends.

Splines through points: cubic (C²) and quintic (C⁴), natural, clamped or periodic; motions from tables, and motions
that stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array
from dalembert.errors import InputError
from dalembert.trajectories.limits import (
    EQUAL,
    MotionLimits,
    choice,
    distinct,
    duration_of,
    ends,
    points_of,
    positive,
    read_limits,
    times_of,
    vector,
)
from dalembert.trajectories.piecewise import RATES, Piecewise, hermite, keep_limits, keep_positions

if TYPE_CHECKING:
    from dalembert.robot import Robot

ENDS = ("natural", "clamped", "periodic")
SPACINGS = {"chord": 1.0, "centripetal": 0.5, "uniform": 0.0}
INTERPOLATIONS = ("hold", "linear", "cubic", "quintic")


def spline(
    points: ArrayLike,
    times: ArrayLike | None = None,
    *,
    ends: str = "natural",
    degree: int = 3,
    duration: float | None = None,
    spacing: str | None = None,
    start_velocity: ArrayLike = 0.0,
    end_velocity: ArrayLike = 0.0,
    start_acceleration: ArrayLike = 0.0,
    end_acceleration: ArrayLike = 0.0,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
    robot: Robot | None = None,
) -> Piecewise:
    """A spline through points (k, m), of degree 3 (C²) or 5 (C⁴).

    `ends`: "natural" (the derivatives after the velocity, or after the acceleration of a quintic, vanish there),
    "clamped" (velocities, and accelerations of a quintic, as given, at rest by default), "periodic" (the last point is
    the first, and the motion goes on). `times` (k,) from 0 on; if not given they grow with the distance between points
    to the power 1 ("chord"), ½ ("centripetal") or 0 ("uniform"), over the `duration`; if that is not given either, as
    fast as the limits allow."""
    x = points_of(points)
    choice("ends", ends, ENDS)
    choice("degree", degree, (3, 5))
    m = x.shape[1]
    known = read_limits(m, robot, velocity, acceleration, jerk)
    rates = [
        np.stack([vector("start_velocity", start_velocity, m), vector("end_velocity", end_velocity, m)]),
        np.stack(
            [vector("start_acceleration", start_acceleration, m), vector("end_acceleration", end_acceleration, m)]
        ),
    ]
    given = any(r.any() for r in rates)
    if given and ends != "clamped":
        raise InputError(
            "conflict",
            "ends",
            ends,
            problem=f"a {ends} spline has no prescribed velocities at its ends",
            remedy="Use ends='clamped'.",
        )
    if degree == 3 and rates[1].any():
        raise InputError(
            "conflict",
            "degree",
            degree,
            problem="a cubic spline has no prescribed accelerations at its ends",
            remedy="Use degree=5.",
        )
    if times is not None and duration is not None:
        raise InputError("conflict", "duration", duration, problem="`times` and `duration` exclude each other")
    t, free = _times(x, times, duration, spacing, known, given)
    C = coefficients(t, x, degree, ends, rates[: (degree - 1) // 2])
    return keep_limits(Piecewise(t, C, known.names, known.units, repeats=ends == "periodic"), known, fit=free)


def _times(
    x: Array, times: ArrayLike | None, duration: float | None, spacing: str | None, known: MotionLimits, given: bool
) -> tuple[Array, bool]:
    """The times of the points, and whether they are still to be scaled to the limits."""
    if times is not None:
        if spacing is not None:
            raise InputError(
                "no-effect",
                "spacing",
                spacing,
                problem="`spacing` has no effect on given times",
                remedy="Leave out one of the two.",
            )
        return times_of(times, len(x)), False
    t = space(x, SPACINGS[choice("spacing", spacing or "chord", tuple(SPACINGS))])
    if duration is not None:
        return t * (positive("duration", duration) / t[-1]), False
    if not known.finite:
        raise InputError(
            "missing",
            "duration",
            problem="nothing determines the time of the motion",
            remedy="Pass `times`, `duration`, or limits (`velocity`, `acceleration`, `robot`).",
        )
    if given:
        raise InputError(
            "missing", "duration", problem="a spline with prescribed rates at its ends needs `times` or `duration`"
        )
    return t, True


def space(x: Array, power: float) -> Array:
    """Parameters of points (k, m) from 0 on, growing with the distances between them to this power."""
    d = np.linalg.norm(np.diff(x, axis=0), axis=1)
    same = d <= EQUAL * max(float(np.abs(x).max()), 1e-300)
    if same.any():
        k = int(same.argmax())
        raise InputError(
            "duplicate",
            "points",
            problem=f"points[{k}] and points[{k + 1}] are equal",
            remedy="Leave one out, or pass `times`.",
        )
    return np.concatenate([[0.0], np.cumsum(d**power)])


def coefficients(t: Array, x: Array, degree: int, ends: str, rates: Sequence[Array]) -> Array:
    """Coefficients (p, degree + 1, m) of the spline of this degree through x at t; `rates`, per derivative, (2, m) at
    the ends."""
    from scipy.interpolate import make_interp_spline

    m, half = x.shape[1], (degree + 1) // 2
    known: Any
    if len(x) == 2 and ends == "natural":  # of all quadratics with x‴ = 0, the line
        return np.stack([x[:1], np.diff(x, axis=0) / t[1], *[np.zeros((1, m))] * (degree - 1)], axis=1)
    if ends == "periodic":
        if len(x) < 3:
            raise InputError(
                "too-few",
                "points",
                len(x),
                expected="three or more points for a periodic spline, the last of them the first",
            )
        if np.abs(x[0] - x[-1]).max() > 1e-9 * (float(np.abs(x).max()) or 1.0):
            raise InputError(
                "conflict",
                "points",
                problem="a periodic spline ends where it begins, so the last point must be the first",
            )
        x, known = np.concatenate([x[:-1], x[:1]]), "periodic"
    elif ends == "natural":
        known = ([(d, np.zeros(m)) for d in range(half, degree)],) * 2
    else:
        known = tuple([(d, rate[end]) for d, rate in enumerate(rates, 1)] for end in (0, 1))
    found = make_interp_spline(t, x, degree, bc_type=known)
    return np.stack([x[:-1], *(found(t[:-1], nu=d) / factorial(d) for d in range(1, degree + 1))], axis=1)


def table(
    times: ArrayLike,
    x: ArrayLike,
    xd: ArrayLike | None = None,
    xdd: ArrayLike | None = None,
    *,
    interpolation: str = "cubic",
    robot: Robot | None = None,
) -> Piecewise:
    """A motion through the rows of a table, x (k, m) at times (k,) from 0 on.

    `interpolation`: "hold" (each value until the next), "linear", "cubic" (C¹ with the velocities xd if they are given,
    else the natural spline, C²), "quintic" (C² with xd and xdd, else the natural spline, C⁴)."""
    rows = points_of(x)
    t = times_of(times, len(rows))
    choice("interpolation", interpolation, INTERPOLATIONS)
    rates = [_read_like(name, value, rows) for name, value in (("xd", xd), ("xdd", xdd)) if value is not None]
    if xdd is not None and xd is None:
        raise InputError("missing", "xd", problem="a table with accelerations `xdd` needs velocities `xd`")
    known = read_limits(rows.shape[1], robot)
    wanted = INTERPOLATIONS.index(interpolation) - 1  # 0: linear, 1: cubic, 2: quintic
    if rates and len(rates) != wanted:
        raise InputError(
            "conflict",
            "interpolation",
            interpolation,
            problem=f"{interpolation!r} interpolation takes other rates than the {len(rates)} given: cubic takes "
            "`xd`, quintic `xd` and `xdd`, the others none",
        )
    if interpolation == "hold":
        C = rows[:-1, None, :]
        t, C = np.append(t, t[-1] + (t[-1] - t[-2])), np.concatenate([C, rows[-1:, None, :]])
    elif rates or wanted == 0:
        parts = [rows, *rates]
        C = hermite(np.diff(t), [p[:-1] for p in parts], [p[1:] for p in parts])
    else:
        C = coefficients(t, rows, 2 * wanted + 1, "natural", [])
    return keep_positions(Piecewise(t, C, known.names, known.units), known)


def _read_like(name: str, value: ArrayLike, rows: Array) -> Array:
    x = points_of(value)
    if x.shape != rows.shape:
        raise InputError("wrong-shape", name, x, expected=f"of shape {rows.shape}, as `x`")
    return x


def set_point(x: ArrayLike, duration: float = inf, *, robot: Robot | None = None) -> Piecewise:
    """A motion that stays at x (m,): for ever, or for a time [s] as part of a sequence."""
    at = vector("x", x)
    T = duration_of(duration)
    known = read_limits(len(at), robot)
    return keep_positions(Piecewise(np.array([0.0, T]), at[None, None, :], known.names, known.units), known)


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
            raise InputError(
                "missing", "duration", problem="a motion with prescribed rates at its ends needs `duration`"
            )
        distinct(a, b)
        if not known.finite:
            raise InputError(
                "missing",
                "duration",
                problem="nothing determines the time of the motion",
                remedy="Pass `duration`, or limits (`velocity`, `acceleration`, `robot`).",
            )
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
        raise InputError(
            "conflict",
            "blend",
            b,
            problem=f"the {t[k + 1] - t[k]:g} s from points[{k}] to points[{k + 1}] are shorter than a blend of "
            f"{b:g} s",
        )
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
