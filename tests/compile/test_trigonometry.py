"""sin and cos, ours: accuracy against exact arithmetic, and what happens beyond the stated range."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dalembert import scalar
from dalembert.compile import compile_function, functions


@pytest.fixture(scope="module")
def kernel():
    return compile_function(lambda x: [scalar.sin(x), scalar.cos(x)], [()], [(2,)])


def ulps(x: np.ndarray, values: np.ndarray) -> float:
    """Largest error of (sin, cos) in units of the last place of the true value."""
    worst = 0.0
    with mp.workdps(60):
        for angle, pair in zip(x.tolist(), values.tolist(), strict=True):
            for true, value in zip((mp.sin(mpf(angle)), mp.cos(mpf(angle))), pair, strict=True):
                unit = math.ulp(float(true)) or 5e-324
                worst = max(worst, float(abs(true - mpf(value)) / mpf(unit)))
    return worst


def test_accuracy_over_the_stated_range(kernel):
    rng = np.random.default_rng(0)
    for size in (1e-300, 1e-8, 1e-3, 1.0, 10.0, 1e3, 1e6, functions.LARGEST_ANGLE):
        x = rng.uniform(-size, size, 2000)
        assert ulps(x, kernel(x)) < 2.0, size


def test_accuracy_next_to_multiples_of_a_quarter_turn(kernel):
    """Where sin or cos is nearly zero, all of its digits come from the reduction."""
    k = np.r_[np.arange(-200, 200), np.random.default_rng(1).integers(0, int(functions.LARGEST_ANGLE / 2), 2000)]
    x = k * (math.pi / 2)
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])
    x = x[np.abs(x) <= functions.LARGEST_ANGLE]
    assert ulps(x, kernel(x)) < 2.0


def test_the_python_of_it_gives_the_same_bits(kernel):
    x = np.random.default_rng(2).uniform(-100, 100, 500)
    assert np.array_equal(kernel(x), [functions.sin_cos(v) for v in x.tolist()])


def test_beyond_the_range_it_is_nan(kernel):
    beyond = np.nextafter(functions.LARGEST_ANGLE, np.inf)
    x = np.array([beyond, -beyond, 1e18, 1e300, np.inf, -np.inf, np.nan])
    with np.errstate(all="raise"):
        assert np.isnan(kernel(x)).all()
    assert all(math.isnan(v) for v in functions.sin_cos(1e300))
    assert np.isfinite(kernel(np.array([functions.LARGEST_ANGLE, -functions.LARGEST_ANGLE]))).all()


def test_at_zero(kernel):
    assert np.array_equal(kernel(np.array([0.0, -0.0])), [[0, 1], [0, 1]])
