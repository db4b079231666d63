"""How far motions leave the straight lines between their places: never farther than `stray` says."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.trajectories.trajectory import Trajectory

TR = dl.trajectories
RNG = np.random.default_rng


def line(a, b, duration):
    a, b = np.array(a, float), np.array(b, float)
    names = tuple("xyz"[: len(a)])
    return TR.Piecewise(np.array([0.0, duration]), np.stack((a, (b - a) / duration))[None], names, names)


def motions():
    points = RNG(0).uniform(-1, 1, (7, 2))
    spline = TR.spline(points, times=np.array([0, 0.4, 1.0, 1.1, 2.0, 2.5, 3.0]))
    waves = TR.sines([[0.3, 0.2], [0.1, -0.4]], [1.3, 2.9], duration=2.0)
    there, back = (TR.minimum_jerk([a], [b], duration=1.0) for a, b in ((0.0, 3.0), (3.0, 0.5)))
    law = TR.sequence(there, back)
    yield "spline", spline
    yield "trapezoid", TR.trapezoid([0, 0], [1, -2], velocity=1.5, acceleration=4.0)
    yield "jerk", TR.minimum_jerk([0, 1], [2, 1.5], duration=1.5)
    yield "sines", waves
    yield "there and back", TR.along(spline, law)
    corner = TR.sequence(line([0, 0], [1, 0], duration=1.5), line([1, 0], [1, 2], duration=1.5), corners=True)
    yield "corner", corner
    yield "over a corner and back", TR.along(corner, law)
    yield "parts", TR.sequence(TR.minimum_jerk([0.5, 0], waves(0.0)[0], duration=0.5), waves, corners=True)


@pytest.mark.parametrize(("name", "motion"), list(motions()))
def test_no_motion_strays_farther_than_it_says(name, motion):
    rng = RNG(1)
    for longest in (1.5, 0.1, 0.01):
        low = rng.uniform(0, motion.duration, 300)
        high = np.minimum(low + rng.uniform(0, longest, 300), motion.duration)
        off = motion.stray(low, high)
        part = np.linspace(0, 1, 201)[:, None]
        x = motion((low + part * (high - low)).ravel())[0].reshape(201, 300, -1)
        away = np.abs(x - (x[:1] + part[..., None] * (x[-1:] - x[:1]))).max(axis=0)
        assert (away <= off + 1e-12).all(), name
    smooth = "corner" not in name and name != "parts"
    assert not smooth or np.median(off / np.maximum(away, 1e-9)) < 3.0  # no idle bound over short times


def test_motions_that_nothing_is_known_of_say_so():
    class Bump(Trajectory):
        m, duration, names, units, parameter = 1, 1.0, ("j",), ("rad",), "t [s]"
        knots = np.array([0.0, 1.0])

        def derivatives(self, t, order):
            return [np.zeros((len(t), 1)) for _ in range(order + 1)]

    bump, at = Bump(), np.zeros(1)
    assert bump.stray(at, at + 1) is None and bump.limits().how == "sampled"
    assert TR.along(line([0.0], [1.0], duration=1.0), bump).stray(at, at + 1) is None
    assert TR.sequence(bump, bump).stray(at, at + 1) is None
