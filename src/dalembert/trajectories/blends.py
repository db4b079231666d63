"""Straight stretches between points with blends at them: parabolic, or quintic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import InputError
from dalembert.trajectories import checks
from dalembert.trajectories.checks import bounds, choice, positive
from dalembert.trajectories.piecewise import Piecewise, hermite, within
from dalembert.trajectories.polynomials import refuse_beyond

if TYPE_CHECKING:
    from dalembert.robot import Robot


def blended(
    points: Any,
    times: Any,
    blend: float,
    *,
    degree: int = 2,
    velocity: Any = None,
    acceleration: Any = None,
    jerk: Any = None,
    robot: Robot | None = None,
) -> Piecewise:
    """Straight from point to point (k, m) at constant speed, with blends of `blend` [s] where the speed changes, from
    rest to rest: of constant acceleration (`degree` 2), or quintic, with accelerations that do not jump (5).

    The straight stretches would meet at the points at `times` (k,) after the first blend's middle; the motion cuts the
    corners between and takes times[-1] + blend. Craig 2005, §7.3; `mstraj` of the Robotics Toolbox."""
    x, b = checks.points(points), positive("blend", blend)
    t = checks.times(times, len(x))
    choice("degree", degree, (2, 5))
    if np.diff(t).min() < b:
        k = int(np.diff(t).argmin())
        raise InputError(f"from points[{k}] to points[{k + 1}] are {t[k + 1] - t[k]:g} s, less than a blend of {b:g} s")
    known = bounds(x.shape[1], robot, velocity, acceleration, jerk)
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
    made = Piecewise(breaks[kept], np.array(pieces)[long], known.names, known.units)
    if any(x is not None for x in (velocity, acceleration, jerk)):
        refuse_beyond(made, (velocity, acceleration, jerk), known.names)
    return within(made, known)
