"""How an arm gets from where it stands to where a motion begins: straight, or over one other position."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import array
from dalembert.errors import InputError
from dalembert.identification.excite.avoid import Avoid
from dalembert.identification.excite.limits import KINDS, ExcitationLimits, up
from dalembert.robot import Robot
from dalembert.trajectories.combined import sequence
from dalembert.trajectories.piecewise import Piecewise
from dalembert.trajectories.polynomials import minimum_jerk
from dalembert.trajectories.trajectory import Trajectory

Array = NDArray[np.float64]
GENTLE = 0.5  # of the motion's own speeds and accelerations
POINTS = 300  # of every leg that are looked at
DRAWS = 50  # of positions between
DETOUR = 2.0  # [rad or m] beyond the two ends
ALONGSIDE = 1e-9  # [rad or m] apart: the same position


def read_start(robot: Robot, limits: ExcitationLimits, start: object) -> Array:
    """Joint positions within the limits, with all frames where they may be."""
    q = array("start", start, (robot.n,), meaning="one per joint")
    over = limits.excess("position", q).reshape(2, -1).max(axis=0)
    if (over > 0.0).any():
        raise InputError(f"the start is outside the position limits of {robot.joint_names[int(over.argmax())]!r}")
    heights = _heights(limits, q[None])[0]
    if (heights < 0.0).any():
        k = int(heights.argmin())
        raise InputError(f"at the start a frame is {-heights[k]:.3g} m on the wrong side of {limits.spaces[k]}")
    return q


def find_way(
    robot: Robot,
    limits: ExcitationLimits,
    start: Array,
    end: Array,
    peaks: dict[str, Array],
    rng: np.random.Generator,
    avoid: Avoid | None = None,
) -> Trajectory | None:
    """From rest to rest at half these speeds and accelerations, each leg within the limits, frames at all times and
    torques at its points, and clear of what is to be avoided; None if the two are the same."""
    if np.abs(end - start).max() <= ALONGSIDE:
        return None
    lower = np.maximum(limits.lower["position"], np.minimum(start, end) - DETOUR)
    upper = np.minimum(limits.upper["position"], np.maximum(start, end) + DETOUR)
    speed, acceleration = (GENTLE * np.maximum(peaks[kind], 1e-9) for kind in KINDS[1:3])
    for draw in range(DRAWS + 1):
        stops = [start, end] if draw == 0 else [start, rng.uniform(lower, upper), end]
        legs = []
        for a, b in pairwise(stops):
            leg = minimum_jerk(a, b, velocity=speed, acceleration=acceleration)
            if not _keeps(robot, limits, leg, avoid):
                break
            legs.append(leg)
        else:
            return sequence(*legs)
    raise InputError(
        f"no way was found from the start to the motion within the limits, straight or over one of {DRAWS} other "
        "positions: start elsewhere"
    )


def _keeps(robot: Robot, limits: ExcitationLimits, leg: Piecewise, avoid: Avoid | None) -> bool:
    t = np.linspace(0.0, leg.duration, POINTS)
    motion = leg(t)
    values = (*motion, robot.inverse_dynamics(*motion, friction=True))
    if any((limits.excess(kind, x) > 0.0).any() for kind, x in zip(KINDS, values, strict=True)):
        return False
    top = leg.limits()
    drop = limits.origins.drop(float(t[1]), motion, (top.acceleration, top.jerk))
    if not (_heights(limits, motion[0]) >= drop[:, limits.places]).all():
        return False
    return avoid is None or bool(avoid.keeps(motion[0], float(t[1]) ** 2 / 8.0 * top.acceleration, closed=False))


def lowest_along(limits: ExcitationLimits, way: Trajectory) -> float:
    """The lowest height of any frame at points of a way [m]."""
    q = way(np.linspace(0.0, way.duration, POINTS))[0]
    level = up(limits.origins.model)
    return min(float((np.array(np.broadcast_arrays(*p)).T @ level).min()) for p in limits.origins.at(list(q.T)))


def _heights(limits: ExcitationLimits, q: Array) -> Array:
    """Above every half space [m], (N, S), at positions (N, n)."""
    normals, offsets = limits.planes
    points = [np.array(np.broadcast_arrays(*p)) for p in limits.origins.at(list(q.T))]  # (3, N) each
    found = [normal @ points[k] - d for normal, d, k in zip(normals, offsets, limits.places, strict=True)]
    return np.array(found).reshape(len(limits.spaces), len(q)).T
