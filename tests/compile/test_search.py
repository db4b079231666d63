"""The loop of iterative solvers: each problem by itself, whatever the batch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from dalembert.compile.search import Search, compile_search, settings


@pytest.fixture(scope="module")
def root() -> Search:
    """Newton's method for x² = a."""

    def step(x, a):
        r = x[0] * x[0] - a[0]
        return [0.5 * (x[0] + a[0] / x[0])], [r * r, 0.0, r * r]

    return compile_search(step, 1, 1, "root")


STARTS = np.array([[3.0], [5.0], [50.0]])


def test_converges_and_counts(root):
    a = np.linspace(0.5, 90, 101)[:, None]
    x, info = root(np.ones(1), a, STARTS, settings((1e-18, 1.0), 20, 3))
    assert np.allclose(x, np.sqrt(a), rtol=1e-12)
    assert (info[:, 2] == 1).all() and (info[:, 1] == 1).all() and (info[:, 0] > 1).sum() > 90


def test_takes_the_next_start_and_keeps_the_best(root):
    a = np.array([[2500.0], [9.0], [1.0]])
    x, info = root(np.ones(1), a, STARTS, settings((1e-18, 1.0), 4, 3))
    assert info[:, 2].tolist() == [1, 1, 1] and info[:, 1].tolist() == [4, 2, 1]
    assert np.allclose(x[:, 0], [50, 3, 1])
    x, info = root(np.ones(1), a, STARTS, settings((-1.0, -1.0), 3, 3))  # nothing converges
    assert (info[:, 2] == 0).all() and (info[:, 1] == 4).all() and (info[:, 0] == 12).all()
    assert np.allclose(x[:, 0], [50, 3, 1])  # the start that ended nearest


def test_the_same_bits_alone_and_in_any_batch(root):
    a = np.random.default_rng(0).uniform(0.1, 4000, (203, 1))
    control = settings((1e-16, 1.0), 6, 3)
    whole = root(np.ones(1), a, STARTS, control)
    for size in (1, 2, 3, 4, 5, 8, 17, 100):
        part = root(np.ones(1), a[7 : 7 + size], STARTS, control)
        for all_of, some in zip(whole, part, strict=True):
            assert np.array_equal(all_of[7 : 7 + size], some)
    alone = root(np.ones(1), a[11], STARTS, control)
    assert np.array_equal(alone[0], whole[0][11]) and np.array_equal(alone[1], whole[1][11])


def test_shapes_strides_and_nothing(root):
    a = np.random.default_rng(0).uniform(0.1, 40, (6, 8, 1))
    control = settings((1e-18, 1.0), 20, 0)
    x, info = root(np.ones(1), a[::2, ::-1], STARTS, control)
    assert x.shape == (3, 8, 1) and info.shape == (3, 8, 3)
    assert np.allclose(x, np.sqrt(a[::2, ::-1]))
    x, info = root(np.ones(1), np.empty((0, 1)), STARTS, control)
    assert x.shape == (0, 1) and info.shape == (0, 3)
    assert np.allclose(pickle.loads(pickle.dumps(root))(np.ones(1), a, STARTS, control)[0], np.sqrt(a))
