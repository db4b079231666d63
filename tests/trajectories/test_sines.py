"""Sums of sines and Fourier series: periods, rest at the start, bounds that hold."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert import trajectories as tr
from dalembert.errors import InputError
from errors import raises

RNG = np.random.default_rng(2)
A, B = RNG.normal(size=(2, 5, 3))


def test_fourier_is_swevers_series():
    f, x0 = 0.2, np.array([1.0, 2.0, 3.0])
    made = tr.fourier(A, B, f, x0)
    t = RNG.uniform(0, 10, 40)
    k = np.arange(1, 6)[:, None]
    angle = 2 * np.pi * f * k * t
    x = (
        x0
        + np.einsum("kt,kj->tj", np.sin(angle) / (2 * np.pi * f * k), A)
        - np.einsum("kt,kj->tj", np.cos(angle) / (2 * np.pi * f * k), B)
    )
    v = np.cos(angle).T @ A + np.sin(angle).T @ B
    assert np.allclose(made(t)[0], x, atol=1e-12) and np.allclose(made(t)[1], v, atol=1e-12)
    assert np.allclose(made(t)[0], made(t + 1 / f)[0], atol=1e-11)
    assert made.period == 1 / f and made.duration == np.inf


def test_a_series_that_starts_at_rest():
    made = tr.fourier(A, B, 0.2, start="rest")
    _, v, a = made(0.0)
    assert np.abs(v).max() < 1e-14 and np.abs(a).max() < 1e-13
    free = tr.fourier(A, B, 0.2)
    assert np.abs(free(0.0)[1]).max() > 0.1
    again = tr.fourier(A - A.mean(0), B - np.arange(1, 6)[:, None] * (np.arange(1, 6) @ B) / 55, 0.2)
    assert np.allclose(again.amplitude, made.amplitude), "the nearest coefficients that do"


def test_bounds_hold_and_are_tight():
    """Against a much finer sampling, over random series; and over a finite stretch without a period."""
    for seed in range(4):
        a, b = np.random.default_rng(seed).normal(size=(2, 7, 2))
        for made in (tr.fourier(a, b, 0.5), tr.sines(a, np.sqrt([2, 3, 5, 7, 11, 13, 17]), b, duration=3.0)):
            end = min(made.duration, made.period or np.inf)
            t = np.linspace(0, end, 20_001)
            found = made.limits()
            for values, bound in zip(
                (made(t)[1], made(t)[2], made.jerk(t)), (found.velocity, found.acceleration, found.jerk), strict=True
            ):
                size = np.abs(values).max(axis=0)
                assert (size <= bound).all() and (bound <= size * 1.001).all()
            x = made(t)[0]
            assert (x.max(axis=0) <= found.upper).all() and (found.upper - x.max(axis=0) < 1e-3).all()
            assert (x.min(axis=0) >= found.lower).all() and (x.min(axis=0) - found.lower < 1e-3).all()


def test_without_a_period_the_bound_is_the_sum():
    made = tr.sines([[1.0], [2.0]], [1.0, np.sqrt(2)])
    found = made.limits()
    assert np.isclose(found.upper[0], 3.0) and np.isclose(found.velocity[0], 2 * np.pi * (1 + 2 * np.sqrt(2)))


@pytest.mark.parametrize("name", ["panda", "ur5e", "scara", "planar-2r"])
def test_random_series_keep_the_limits(name):
    arm = dl.load(name)
    made = tr.random_fourier(arm, 5, 0.1, acceleration=8.0, seed=4)
    found = made.limits()
    assert (found.lower >= arm.limits.lower).all() and (found.upper <= arm.limits.upper).all()
    assert (found.velocity <= arm.limits.velocity).all() and (found.acceleration <= 8.0).all()
    reach = np.maximum(found.upper - made.offset, made.offset - found.lower)
    room = reach / ((arm.limits.upper - arm.limits.lower) / 2)
    used = np.max([found.velocity / arm.limits.velocity, found.acceleration / 8.0, room], axis=0)
    assert (used <= 0.9 * (1 + 1e-9)).all()
    if np.isfinite(arm.limits.velocity).all():
        assert (used >= 0.89).all(), "each joint uses its share"
    assert np.abs(made(0.0)[1]).max() < 1e-13


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: tr.sines(1, 0), "out-of-range frequency"),
        (lambda: tr.sines([[1], [2]], [1]), "out-of-range frequency"),
        (lambda: tr.sines([[1], [2]], [1, 2], [1, 2, 3]), "wrong-shape phase"),
        (lambda: tr.sines(np.nan, 1), "not-finite amplitude"),
        (lambda: tr.sines(1, 1, duration=0), "out-of-range duration"),
        (lambda: tr.fourier(A, B[:3], 1), "wrong-shape b"),
        (lambda: tr.fourier(A, B, 0), "out-of-range frequency"),
        (lambda: tr.fourier(A, B, 1, start="slow"), "wrong-value start"),
        (lambda: tr.fourier(A[:1], B[:1], 1, start="rest"), "too-few a"),
        (lambda: tr.fourier(*np.ones((2, 2, 7)), 0.1, robot=dl.load("panda")), "conflict robot"),
        (lambda: tr.random_fourier(dl.load("panda"), 0), "out-of-range harmonics"),
        (lambda: tr.random_fourier(dl.load("panda"), share=2), "out-of-range share"),
    ],
)
def test_bad_input(make, words):
    with raises(InputError, words):
        make()
