"""The zeros of a trigonometric polynomial of degree two: all of them, and only they have no excess."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compile import compile_function
from dalembert.kinematics.ik.quartic import Linear, Wave, total, zeros
from dalembert.kinematics.ik.subproblems import Angle

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def kernel():
    def function(f):
        found = zeros(Wave(*f))
        return [[q.c, q.s] for q, _ in found], [excess for _, excess in found]

    return compile_function(function, [(5,)], [(4, 2), (4,)], "zeros")


def values(F, theta):
    c, s, c2, s2 = np.cos(theta), np.sin(theta), np.cos(2 * theta), np.sin(2 * theta)
    f = [x[..., None] for x in np.moveaxis(F, -1, 0)]
    return f[0] + f[1] * c + f[2] * s + f[3] * c2 + f[4] * s2


def test_no_zero_is_missed(kernel):
    """As many zeros as sign changes on a fine grid, each where it should be."""
    F = rng.normal(size=(20_000, 5))
    pairs, excess = kernel(F)
    theta = np.arctan2(pairs[..., 1], pairs[..., 0])
    small = excess < 1e-9
    assert np.abs(values(F, theta)[small]).max() < 1e-8
    grid = values(F, np.linspace(0, 2 * np.pi, 721))
    changes = (np.sign(grid[:, 1:]) != np.sign(grid[:, :-1])).sum(axis=1)
    assert (small.sum(axis=1) >= changes).all()


def test_one_that_is_known_is_found(kernel):
    F, theta = rng.normal(size=(50_000, 5)), rng.uniform(-np.pi, np.pi, (50_000, 1))
    F[:, 0] = 0.0
    F[:, 0] = -values(F, theta)[:, 0]
    pairs, _ = kernel(F)
    found = np.arctan2(pairs[..., 1], pairs[..., 0])
    assert np.abs(np.angle(np.exp(1j * (found - theta)))).min(axis=1).max() < 1e-8


@pytest.mark.parametrize(
    ("F", "wanted"),
    [
        ((-0.5, 1, 0, 0, 0), [-np.pi / 3, np.pi / 3]),  # the quartic loses its first and last coefficients
        ((0, 0, 0, 0, 1), [-np.pi / 2, 0, np.pi / 2, np.pi]),
        ((2, 1, 0, 0, 0), []),
        ((0, 0, 1, 0, 0), [0, np.pi]),
    ],
)
def test_zeros_that_are_known(kernel, F, wanted):
    pairs, excess = kernel(np.array(F, float))
    found = pairs[excess < 1e-12]
    for theta in wanted:
        assert np.linalg.norm(found - [np.cos(theta), np.sin(theta)], axis=1).min() < 1e-12
    for c, s in found:
        assert min(np.hypot(c - np.cos(t), s - np.sin(t)) for t in wanted) < 1e-12


def test_waves():
    line, q = Linear(*rng.normal(size=3)), Angle(np.cos(0.7), np.sin(0.7))
    assert line.squared().value(q) == pytest.approx(line.at(q) ** 2)
    both = total((2.0, line.squared()), (-1.0, Wave(*rng.normal(size=5))))
    h = 1e-6
    ahead, behind = (Angle(np.cos(0.7 + x), np.sin(0.7 + x)) for x in (h, -h))
    assert both.slope(q) == pytest.approx((both.value(ahead) - both.value(behind)) / (2 * h), rel=1e-7)
