"""Splines through points: cubic (C²) and quintic (C⁴), natural, clamped or periodic.

The unknowns are the derivatives at the points, first for cubics, first and second for quintics. The higher derivatives
agree from piece to piece: a block tridiagonal system, solved once for the data and for whatever the ends will be.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial, perm
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import InputError
from dalembert.trajectories import checks
from dalembert.trajectories.checks import Array, Bounds, bounds, choice, positive, vector
from dalembert.trajectories.piecewise import Piecewise, fitted, hermite, within
from dalembert.trajectories.polynomials import refuse_beyond

if TYPE_CHECKING:
    from dalembert.robot import Robot

ENDS = ("natural", "clamped", "periodic")
SPACINGS = {"chord": 1.0, "centripetal": 0.5, "uniform": 0.0}


def spline(
    points: Any,
    times: Any = None,
    *,
    ends: str = "natural",
    degree: int = 3,
    duration: float | None = None,
    spacing: str | None = None,
    start_velocity: Any = 0.0,
    end_velocity: Any = 0.0,
    start_acceleration: Any = 0.0,
    end_acceleration: Any = 0.0,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    robot: Robot | None = None,
) -> Piecewise:
    """A spline through points (k, m), of degree 3 (C²) or 5 (C⁴).

    `ends`: "natural" (the derivatives after the velocity, or after the acceleration of a quintic, vanish there),
    "clamped" (velocities, and accelerations of a quintic, as given, at rest by default), "periodic" (the last point is
    the first, and the motion goes on). `times` (k,) from 0 on; if not given they grow with the distance between points
    to the power 1 ("chord"), ½ ("centripetal") or 0 ("uniform"), over the `duration`; if that is not given either, as
    fast as the limits allow."""
    x = checks.points(points)
    choice("ends", ends, ENDS)
    choice("degree", degree, (3, 5))
    known = bounds(x.shape[1], robot, velocity, acceleration, jerk)
    rates = [
        (vector("start_velocity", start_velocity, x.shape[1]), vector("end_velocity", end_velocity, x.shape[1])),
        (
            vector("start_acceleration", start_acceleration, x.shape[1]),
            vector("end_acceleration", end_acceleration, x.shape[1]),
        ),
    ]
    given = any(r.any() for pair in rates for r in pair)
    if given and ends != "clamped":
        raise InputError(f"a {ends} spline has no rates of its own at the ends; give ends='clamped'")
    if degree == 3 and any(r.any() for r in rates[1]):
        raise InputError("a cubic spline has no accelerations of its own at the ends; give degree=5")
    if times is not None and duration is not None:
        raise InputError("give times or a duration, not both")
    t, free = _times(x, times, duration, spacing, known, given)
    pairs = [(np.stack([a, b])) for a, b in rates[: (degree - 1) // 2]]
    made = Piecewise(t, coefficients(t, x, degree, ends, pairs), known.names, known.units, repeats=ends == "periodic")
    if not free and any(x is not None for x in (velocity, acceleration, jerk)):
        refuse_beyond(made, (velocity, acceleration, jerk), known.names)
    return within(fitted(made, known) if free else made, known)


def _times(
    x: Array, times: Any, duration: float | None, spacing: str | None, known: Bounds, given: bool
) -> tuple[Array, bool]:
    """The times of the points, and whether they are still to be scaled to the limits."""
    if times is not None:
        if spacing is not None:
            raise InputError(f"spacing={spacing!r} finds times, and they are given: leave out one of the two")
        return checks.times(times, len(x)), False
    spacing = "chord" if spacing is None else spacing
    if spacing not in SPACINGS:
        choice("spacing", spacing, tuple(SPACINGS))
    t = spaced(x, SPACINGS[spacing])
    if duration is not None:
        return t * (positive("duration", duration) / t[-1]), False
    if not known.finite:
        raise InputError("give times, a duration, or limits that say how fast (velocity=, acceleration=, robot=)")
    if given:
        raise InputError("with rates at its ends a spline needs times or a duration")
    return t, True


def spaced(x: Array, power: float) -> Array:
    """Parameters of points (k, m) from 0 on, growing with the distances between them to this power."""
    d = np.linalg.norm(np.diff(x, axis=0), axis=1)
    same = d <= checks.EQUAL * max(float(np.abs(x).max()), 1e-300)
    if same.any():
        k = int(same.argmax())
        raise InputError(f"points[{k}] and points[{k + 1}] are the same point; leave one out, or give times")
    return np.concatenate([[0.0], np.cumsum(d**power)])


@lru_cache
def _unit(r: int) -> tuple[Array, Array]:
    """Of a piece of length 1: the derivatives r … 2r−2 at its left and right end from (x, ẋ, …) at both, (r − 1, 2r)
    each."""
    C = hermite(np.ones(1), list(np.eye(2 * r)[:r, None]), list(np.eye(2 * r)[r:, None]))[0]  # (2r powers, 2r)
    left = np.stack([factorial(d) * C[d] for d in range(r, 2 * r - 1)])
    right = np.stack([sum(perm(j, d) * C[j] for j in range(d, 2 * r)) for d in range(r, 2 * r - 1)])
    return left, right


def _scaled(unit: Array, h: float) -> Array:
    """The same of a piece of length h."""
    k, r = unit.shape[0], unit.shape[1] // 2
    powers = np.tile(h ** np.arange(r), 2)
    return np.asarray(unit * powers / (h ** np.arange(r, r + k))[:, None])


def coefficients(t: Array, x: Array, degree: int, ends: str, rates: list[Array]) -> Array:
    """Coefficients of the spline of this degree through x at t; `rates`, per derivative, (2, m) at the ends."""
    r = (degree + 1) // 2
    k, m = r - 1, x.shape[1]
    h = np.diff(t)
    p = len(h)
    if p == 1 and ends == "natural":  # of all quadratics with x‴ = 0, the line
        return np.stack([x[:1], np.diff(x, axis=0) / h[:, None], *[np.zeros((1, m))] * (degree - 1)], axis=1)
    left = [_scaled(_unit(r)[0], float(s)) for s in h]
    right = [_scaled(_unit(r)[1], float(s)) for s in h]
    own, other = slice(1, r), slice(r + 1, 2 * r)  # derivatives at the left and at the right end of a piece

    def positions(block: Array, i: int) -> Array:
        return np.asarray(block[:, [0, r]] @ x[i : i + 2])

    # inside: right[i−1] (U_{i−1}, U_i) − left[i] (U_i, U_{i+1}) = 0, the ends' unknowns as columns beside the data
    rows = [np.zeros((k, m + 2 * k)) for _ in range(p + 1)]
    rows[0][:, m : m + k] = np.eye(k)
    rows[p][:, m + k :] = np.eye(k)
    factor: list[Array] = [np.zeros((k, k))]
    for i in range(1, p):
        D = right[i - 1][:, other] - left[i][:, own]
        F = np.zeros((k, m + 2 * k))
        F[:, :m] = positions(left[i], i) - positions(right[i - 1], i - 1)
        L = right[i - 1][:, own]
        D = D - L @ factor[i - 1]
        solved = np.linalg.solve(D, np.hstack([F - L @ rows[i - 1], -left[i][:, other]]))
        rows[i] = np.asarray(solved[:, :-k])
        factor.append(np.asarray(solved[:, -k:]))
    for i in range(p - 1, 0, -1):
        rows[i] = rows[i] - factor[i] @ rows[i + 1]
    U = _closed(np.stack(rows), x, left, right, ends, rates, r)
    derivatives = [x, *(U[:, d] for d in range(k))]
    return hermite(h, [d[:-1] for d in derivatives], [d[1:] for d in derivatives])


def _closed(
    rows: Array, x: Array, left: list[Array], right: list[Array], ends: str, rates: list[Array], r: int
) -> Array:
    """Derivatives at all points, (p + 1, r − 1, m), once the ends are known."""
    k, m = r - 1, x.shape[1]
    data, to_ends = rows[:, :, :m], rows[:, :, m:]
    if ends == "clamped":
        W = np.concatenate([np.stack([rate[e] for rate in rates]) for e in (0, 1)])
    else:

        def end(block: Array, i: int) -> tuple[Array, Array]:
            """The higher derivatives at an end of piece i: (of the data, of the ends' unknowns)."""
            known = block[:, [0, r]] @ x[i : i + 2] + block[:, 1:r] @ data[i] + block[:, r + 1 :] @ data[i + 1]
            return known, block[:, 1:r] @ to_ends[i] + block[:, r + 1 :] @ to_ends[i + 1]

        first, last = end(left[0], 0), end(right[-1], len(left) - 1)
        if ends == "natural":
            A, b = np.vstack([first[1], last[1]]), -np.vstack([first[0], last[0]])
        else:
            size = float(np.abs(x).max()) or 1.0
            if len(x) < 3:
                raise InputError("a periodic spline needs three or more points, the last of them the first")
            if np.abs(x[0] - x[-1]).max() > 1e-9 * size:
                raise InputError("a periodic spline ends where it begins: the last point must be the first")
            same = np.hstack([np.eye(k), -np.eye(k)])
            A, b = np.vstack([same, first[1] - last[1]]), np.vstack([np.zeros((k, m)), last[0] - first[0]])
        W = np.linalg.solve(A, b)
    return np.asarray(data + np.einsum("pkw,wm->pkm", to_ends, W))
