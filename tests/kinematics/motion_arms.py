"""Arms that the laws of motion are tested on, and seeded states of them."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

import dalembert as dl

ARMS = (
    "planar-1r",
    "planar-2r",
    "planar-3r",
    "rp",
    "cartesian-pp",
    "scara",
    "elbow-3r",
    "stanford",
    "puma560",
    "ur5e",
    "panda",
    "iiwa7",
)


@cache
def arm(name: str) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(name)


@cache
def planar_4r() -> dl.Robot:
    """Four links in a plane: three freedoms, one joint to spare."""
    return dl.Robot.from_dh(
        [{"a": 0.5, "inertial": dl.describe.Inertial(1.0, (0.01,) * 3 + (0.02,) * 3)} for _ in range(4)]
    )


@cache
def motionless() -> dl.Robot:
    """A chain without a joint."""
    from dalembert.describe.description import Description, Link

    return dl.Robot(Description(name="stone", links=(Link("base"),), joints=(), tip="base"))


def states(robot: dl.Robot, count: int = 5, seed: int = 7) -> np.ndarray:
    return robot.random_configuration(count, seed=seed)
