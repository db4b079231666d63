"""Motions from tables, and motions that stay."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import InputError
from dalembert.trajectories import checks
from dalembert.trajectories.checks import Array, bounds, choice, vector
from dalembert.trajectories.piecewise import Piecewise, hermite, within
from dalembert.trajectories.splines import coefficients

if TYPE_CHECKING:
    from dalembert.robot import Robot

INTERPOLATIONS = ("hold", "linear", "cubic", "quintic")


def sampled(
    times: Any, x: Any, xd: Any = None, xdd: Any = None, *, interpolation: str = "cubic", robot: Robot | None = None
) -> Piecewise:
    """A motion through the rows of a table, x (k, m) at times (k,) from 0 on.

    `interpolation`: "hold" (each value until the next), "linear", "cubic" (C¹ with the velocities xd if they are given,
    else the natural spline, C²), "quintic" (C² with xd and xdd, else the natural spline, C⁴)."""
    rows = checks.points(x)
    t = checks.times(times, len(rows))
    choice("interpolation", interpolation, INTERPOLATIONS)
    rates = [_like(name, value, rows) for name, value in (("xd", xd), ("xdd", xdd)) if value is not None]
    if xdd is not None and xd is None:
        raise InputError("a table with accelerations xdd needs its velocities xd too")
    known = bounds(rows.shape[1], robot)
    wanted = INTERPOLATIONS.index(interpolation) - 1  # 0: linear, 1: cubic, 2: quintic
    if rates and len(rates) != wanted:
        raise InputError(
            f"{interpolation!r} interpolation does not go with {len(rates)} given rates: "
            "cubic takes xd, quintic xd and xdd, the others none"
        )
    if interpolation == "hold":
        C = rows[:-1, None, :]
        t, C = np.append(t, t[-1] + (t[-1] - t[-2])), np.concatenate([C, rows[-1:, None, :]])
    elif rates or wanted == 0:
        parts = [rows, *rates]
        C = hermite(np.diff(t), [p[:-1] for p in parts], [p[1:] for p in parts])
    else:
        C = coefficients(t, rows, 2 * wanted + 1, "natural", [])
    return within(Piecewise(t, C, known.names, known.units), known)


def _like(name: str, value: Any, rows: Array) -> Array:
    x = checks.points(value)
    if x.shape != rows.shape:
        raise InputError(f"{name} has shape {x.shape}; it must be that of x, {rows.shape}")
    return x


def set_point(x: Any, duration: float = math.inf, *, robot: Robot | None = None) -> Piecewise:
    """A motion that stays at x (m,): for ever, or for a time [s] as part of a sequence."""
    at = vector("x", x)
    T = math.inf if duration == math.inf else checks.positive("duration", duration)
    known = bounds(len(at), robot)
    return within(Piecewise(np.array([0.0, T]), at[None, None, :], known.names, known.units), known)
