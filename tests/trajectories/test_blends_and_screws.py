"""Blends at corners and screws between poses, against their formulas."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert import trajectories as tr
from dalembert.errors import InputError
from dalembert.se3 import exp6, inverse, log6
from errors import raises
from tolerances import ROUNDING


def random_pose(rng):
    return dl.pose(rng.normal(size=3), rng.normal(size=3))


@pytest.mark.parametrize("seed", range(5))
def test_a_screw_is_the_exponential(seed):
    """T(s) = T₀ exp(s log(T₀⁻¹ T₁)); its twist in the body does not change."""
    rng = np.random.default_rng(seed)
    start, end = random_pose(rng), random_pose(rng)
    path, s = tr.screw(start, end), np.linspace(0, 1, 21)
    T, twist, _ = tr.poses(path, s)
    wanted = np.array([start @ exp6(x * log6(inverse(start) @ end)) for x in s])
    assert np.abs(T - wanted).max() < 100 * ROUNDING
    body = np.concatenate([np.swapaxes(T[:, :3, :3], 1, 2) @ twist[:, k : k + 3, None] for k in (0, 3)], 1)[..., 0]
    assert np.abs(body - body[0]).max() < 1e-9
    x, first, _ = path(0.4)
    assert np.abs((path(0.4 + 1e-6)[0] - path(0.4 - 1e-6)[0]) / 2e-6 - first).max() < 1e-8
    traced = path.trace(0.4)
    assert np.allclose(traced[0], x) and np.allclose(traced[1], first)


def test_a_screw_that_does_not_turn_is_a_line():
    start = dl.pose((0.1, 0.2, 0.3), (0.5, 0, 0))
    end = dl.pose((0.4, 0.0, 0.3), (0.5, 0, 0))
    assert np.allclose(tr.screw(start, end)(0.5)[0][:3], [0.25, 0.1, 0.3])
    with raises(InputError, "wrong-shape start"):
        tr.screw([0, 0, 0], [1, 0, 0])


@pytest.mark.parametrize("degree", [2, 5])
def test_blends(degree):
    points, times, b = np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 1.0], [2.0, 1.0]]), np.array([0, 1.0, 2.0, 4.0]), 0.3
    made = tr.blends(points, times, b, degree=degree)
    assert made.duration == pytest.approx(times[-1] + b)
    for t, x in ((0.0, points[0]), (made.duration, points[-1])):  # from rest to rest
        assert np.allclose(made(t)[0], x) and np.allclose(made(t)[1], 0)
    v = np.diff(points, axis=0) / np.diff(times)[:, None]
    for k, speed in enumerate(v):  # straight between the blends
        t = np.linspace(times[k] + b, times[k + 1], 5)
        line = points[k] + (t - b / 2 - times[k])[:, None] * speed
        assert np.allclose(made(t)[0], line) and np.allclose(made(t)[1], speed)
    before, after = made(made.breaks[1:-1] - 1e-9), made(made.breaks[1:-1] + 1e-9)
    smooth = 2 if degree == 2 else 3
    for k in range(smooth):
        assert np.allclose(before[k], after[k], atol=1e-5)
    if degree == 2:
        assert np.allclose(made(1.0 + b / 2)[2], (v[1] - v[0]) / b)
    with raises(InputError, "conflict blend"):
        tr.blends(points, times, 1.5)
    with raises(InputError, "infeasible duration"):
        tr.blends(points, times, b, degree=degree, acceleration=1.0)


def test_limits_given_beside_the_times_of_a_spline_are_kept():
    with raises(InputError, "infeasible duration"):
        tr.spline([[0.0], [1.0], [0.0]], [0, 1, 2], velocity=0.5)
    with raises(InputError, "no-effect spacing"):
        tr.spline([[0.0], [1.0], [0.0]], [0, 1, 2], spacing="uniform")
