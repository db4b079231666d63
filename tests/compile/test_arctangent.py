"""arctan2, ours: accuracy against exact arithmetic, every octant, the axes and what is not a number."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dalembert import scalar
from dalembert.compile import compile_function, functions


@pytest.fixture(scope="module")
def kernel():
    return compile_function(scalar.arctan2, [(), ()], [()], "arctan2")


def ulps(y: np.ndarray, x: np.ndarray, values: np.ndarray) -> float:
    """Largest error in units of the last place of the true value."""
    worst = 0.0
    with mp.workdps(60):
        for a, b, value in zip(y.tolist(), x.tolist(), values.tolist(), strict=True):
            true = mp.atan2(mpf(a), mpf(b))
            unit = math.ulp(float(true)) or 5e-324
            worst = max(worst, float(abs(true - mpf(value)) / mpf(unit)))
    return worst


def test_accuracy_in_every_octant(kernel):
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(-np.pi, np.pi, 4000), 10.0 ** rng.uniform(-100, 100, 4000)
    y, x = radius * np.sin(angle), radius * np.cos(angle)
    assert ulps(y, x, kernel(y, x)) < 2.0


def test_accuracy_at_all_ratios(kernel):
    rng = np.random.default_rng(1)
    y, x = (rng.choice([-1, 1], 4000) * 10.0 ** rng.uniform(-20, 20, 4000) for _ in range(2))
    assert ulps(y, x, kernel(y, x)) < 2.0


def test_accuracy_where_the_octants_meet(kernel):
    """Beside lo = hi tan π/8, lo = hi, and the axes."""
    steps = np.arange(-200, 201) * 2.0**-52
    ratios = np.concatenate([base * (1 + steps) for base in (functions.TAN_PI_8, 1.0)] + [steps])
    for sign, swap in itertools.product((1.0, -1.0), (False, True)):
        y, x = ratios, np.full_like(ratios, sign)
        y, x = (x, y) if swap else (y, x)
        assert ulps(y, x, kernel(y, x)) < 2.0


def test_the_same_bits_in_python(kernel):
    rng = np.random.default_rng(2)
    y, x = rng.normal(size=(2, 200))
    assert np.array_equal(kernel(y, x), [kernel.interpret(a, b) for a, b in zip(y, x, strict=True)])


def test_on_the_axes(kernel):
    y = np.array([0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 0.0, 0.0])
    x = np.array([1.0, 1.0, -1.0, -1.0, 0.0, 0.0, 0.0, -0.0])
    assert np.array_equal(kernel(y, x), [0, 0, np.pi, np.pi, np.pi / 2, -np.pi / 2, 0, 0])


def test_nan_stays_nan(kernel):
    with np.errstate(invalid="ignore"):
        values = kernel(np.array([np.nan, 1.0, np.nan]), np.array([1.0, np.nan, np.nan]))
    assert np.isnan(values).all()


def test_a_number_and_a_traced_value():
    """Either operand may be a plain number."""
    first = compile_function(lambda x: scalar.arctan2(2.0, x), [()], [()])
    second = compile_function(lambda y: scalar.arctan2(y, -2.0), [()], [()])
    v = np.linspace(-3, 3, 13)
    assert np.abs(first(v) - np.arctan2(2.0, v)).max() < 1e-15
    assert np.abs(second(v) - np.arctan2(v + 0.0, -2.0)).max() < 1e-15
    assert scalar.arctan2(1.0, -1.0) == math.atan2(1.0, -1.0)


def test_derivative(kernel):
    y, x = np.random.default_rng(3).normal(size=(2, 300))
    dy, dx = kernel.derivative(0, 1)(y, x)
    r2 = x * x + y * y
    assert np.abs(dy * r2 - x).max() < 1e-13 and np.abs(dx * r2 + y).max() < 1e-13


def test_the_sources_agree(kernel):
    scope: dict = {}
    exec(kernel.numpy_source("f"), scope)
    y, x = np.random.default_rng(4).normal(size=(2, 300))
    assert np.abs(scope["f"](y, x) - np.arctan2(y, x)).max() < 1e-15
    assert "fma(" in kernel.c_source()
