"""Intervals enclose: whatever is done to numbers within them stays within what is done to them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dalembert import scalar
from dalembert.scalar.interval import Interval, interval

OPERATIONS = {  # and whether the ends are met
    "add": (lambda x, y: x + y, True),
    "subtract": (lambda x, y: x - y, True),
    "from a number": (lambda x, y: 1.0 - x, True),
    "multiply": (lambda x, y: x * y, True),
    "square": (lambda x, y: x * x, True),
    "divide": (lambda x, y: x / y, False),
    "reciprocal": (lambda x, y: 2.0 / x, False),
    "negate": (lambda x, y: -x, True),
    "sin": (lambda x, y: scalar.sin(x), True),
    "cos": (lambda x, y: scalar.cos(x), True),
    "exp": (lambda x, y: scalar.exp(x), True),
    "sqrt": (lambda x, y: scalar.sqrt(x), False),
    "log": (lambda x, y: scalar.log(x), False),
    "absolute": (lambda x, y: scalar.absolute(x), True),
    "sign": (lambda x, y: scalar.sign(x), True),
    "minimum": (lambda x, y: scalar.minimum(x, y), False),
    "where": (lambda x, y: scalar.where(x <= y, x + 1.0, y * 2.0), False),
}


def random_intervals(rng: np.random.Generator, count: int) -> Interval:
    scale = 10.0 ** rng.uniform(-6, 2, count)
    ends = np.sort(rng.normal(size=(2, count)) * scale, axis=0)
    return Interval(ends[0], ends[1])


@pytest.mark.parametrize("name", OPERATIONS)
def test_encloses(name):
    function, _ = OPERATIONS[name]
    rng = np.random.default_rng(0)
    x, y = random_intervals(rng, 4000), random_intervals(rng, 4000)
    with np.errstate(all="ignore"):
        found = function(x, y)
        for share in (*rng.uniform(size=(20, 2, 4000)), np.zeros((2, 4000)), np.ones((2, 4000))):
            a, b = (np.clip(v.low + s * (v.high - v.low), v.low, v.high) for v, s in zip((x, y), share, strict=True))
            value = function(a, b)
            inside = (found.low <= value) & (value <= found.high)
            assert np.all(inside | np.isnan(value)), name
            assert np.all(np.isinf(found.size[np.isnan(value)])), name


@pytest.mark.parametrize("name", [name for name, (_, tight) in OPERATIONS.items() if tight])
def test_encloses_no_more_than_it_must(name):
    """Ends are met by numbers within, to what some hundred of them tell."""
    function, _ = OPERATIONS[name]
    rng = np.random.default_rng(1)
    for _ in range(20):
        x, y = (Interval(*np.sort(rng.uniform(-4, 4, 2))) for _ in range(2))
        a, b = (np.linspace(v.low, v.high, 300) for v in (x, y))
        values = function(a[:, None], b[None, :]) + np.zeros((300, 300))
        found = function(x, y)
        room = 1e-2 * (values.max() - values.min()) + 1e-12
        assert found.high <= values.max() + room
        assert found.low >= values.min() - room


def test_rounding_is_outward():
    a, b = 0.1, 0.2
    for found, exact in (
        (interval(a) + b, Fraction(a) + Fraction(b)),
        (interval(a) * b, Fraction(a) * Fraction(b)),
        (interval(a) / b, Fraction(a) / Fraction(b)),
    ):
        assert Fraction(float(found.low)) < exact < Fraction(float(found.high))
        assert found.high - found.low < 1e-15


def test_what_has_no_value_may_be_anything():
    around = Interval(np.array([-1.0, 1.0]), np.array([1.0, 2.0]))
    for found in (1.0 / around, scalar.sqrt(around), scalar.log(around)):
        assert found.low[0] == -np.inf and found.high[0] == np.inf
        assert np.isfinite(found.low[1]) and np.isfinite(found.high[1])


def test_a_choice_that_is_decided_takes_one_side():
    left, right = Interval(0.0, 1.0), Interval(2.0, 3.0)
    assert scalar.where(left < right, left, np.nan).high == 1.0
    assert scalar.where(left >= right, left, right).low == 2.0
    assert "Interval(" in repr(left)
