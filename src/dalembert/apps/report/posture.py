"""A posture to look at, and to begin a task from."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import DalembertError
from dalembert.robot import Robot

Array = NDArray[np.float64]
STRETCHED = 0.03  # σ/σ̄ below which home is no posture to look at
CANDIDATES = 600
EDGE = 0.08  # of a joint's range, that a posture to look at keeps from its ends
AWAY = 0.12  # of σ/σ̄, per rad (or arm length) that a joint is moved from home


def posture(robot: Robot) -> Array:
    """Home, unless it is (nearly) singular, as a stretched arm is: then the best of seeded postures near to it."""
    if not robot.n or robot.loops or robot.tip is None:
        return robot.home
    try:
        if float(robot.singularities(robot.home).closeness) > STRETCHED:
            return robot.home
        low, high = np.array(drawn_limits(robot)).T
        low, high = low + EDGE * (high - low), high - EDGE * (high - low)
        reach = np.minimum(np.where([c.joint.turns for c in robot.model.coordinates], 1.4, np.inf), high - low)
        rng = np.random.default_rng(0)
        q = np.clip(robot.home + rng.uniform(-1, 1, (CANDIDATES, robot.n)) * reach, low, high)
        close = robot.singularities(q).closeness
        score = close / max(float(close.max()), 1e-12) - AWAY * np.linalg.norm((q - robot.home) / (1 + reach), axis=-1)
        score += 0.25 * _height(robot, q)
        return np.asarray(np.round(q[int(np.argmax(score))], 2))
    except DalembertError:
        return robot.home


def _height(robot: Robot, q: Array) -> Array:
    """How far the tip is lifted against gravity, in parts of the most that these postures lift it: arms are looked at
    above their base."""
    g = robot.gravity
    if not np.linalg.norm(g):
        return np.zeros(len(q))
    lifted = -(np.asarray(robot.fk(q))[:, :3, 3] @ g) / np.linalg.norm(g)
    span = float(np.ptp(lifted))
    return np.asarray((lifted - lifted.min()) / span) if span > 1e-9 else np.zeros(len(q))


def drawn_limits(robot: Robot) -> list[tuple[float, float]]:
    """Ranges of the sliders: the limits, half a turn or an arm's length where there are none."""
    out = []
    lower, upper = robot.limits.lower.tolist(), robot.limits.upper.tolist()
    for c, low, high in zip(robot.model.coordinates, lower, upper, strict=True):
        free = c.joint.half_range
        low = low if math.isfinite(low) else min(-free, high - 2 * free)
        high = high if math.isfinite(high) else max(free, low + 2 * free)
        out.append((low, high))
    return out
