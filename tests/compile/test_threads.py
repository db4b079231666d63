"""Large batches by threads: the same bits, whatever the number."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dalembert as dl
from dalembert.compile import threads


@pytest.fixture(autouse=True)
def four_processors(monkeypatch):
    """So that the cutting is tested on a machine with one."""
    monkeypatch.setattr(threads, "available", lambda: 4)
    monkeypatch.setattr(threads, "WORK", 1)  # the smallest pieces
    monkeypatch.setattr(threads, "FEWEST", 1)
    threads._jobs.cache_clear()
    yield
    threads._jobs.cache_clear()


def test_the_same_bits_with_any_number():
    arm = dl.load("panda")
    for states in (1, 19, 20, 101, 1000):
        q, qd, qdd = np.random.default_rng(states).uniform(-1, 1, (3, states, 7))
        wanted = arm.inverse_dynamics(q, qd, qdd)
        T, J = arm.fk_jacobian(q)
        for count in (2, 3, 4, "all"):
            many = arm.with_threads(count)
            for _ in range(2):
                assert np.array_equal(many.inverse_dynamics(q, qd, qdd), wanted)
                assert np.array_equal(many.inverse_dynamics(q, qd[0], qdd[0]), arm.inverse_dynamics(q, qd[0], qdd[0]))
                for a, b in zip(many.fk_jacobian(q), (T, J), strict=True):
                    assert np.array_equal(a, b)
            out = np.empty_like(q)
            assert many.inverse_dynamics(q, qd, qdd, out=out) is out
            assert np.array_equal(out, wanted)


def test_several_dimensions_and_single_states():
    arm = dl.load("scara").with_threads(2)
    q = np.random.default_rng(0).uniform(-1, 1, (3, 40, 4))
    assert np.array_equal(arm.mass_matrix(q), dl.load("scara").mass_matrix(q))
    assert arm.mass_matrix(q[0, 0]).shape == (4, 4)
    assert arm.mass_matrix(np.empty((0, 4))).shape == (0, 4, 4)


def test_errors_are_the_same_sentences():
    arm = dl.load("panda").with_threads(2)
    for _ in range(2):
        with pytest.raises(dl.InputError, match="q has shape"):
            arm.fk(np.zeros((5000, 6)))
    for wrong in (0, -1, 1.5, True, "two", None):
        with pytest.raises(dl.InputError, match="threads must be a positive number or 'all'"):
            arm.with_threads(wrong)


def test_kept_by_what_is_made_from_it():
    arm = dl.load("panda").with_threads(3)
    assert arm.threads == 3 and dl.load("panda").threads == 1
    assert arm.with_payload(1.0).threads == 3 and pickle.loads(pickle.dumps(arm)).threads == 3
    assert dl.load("panda").with_threads(1000).threads == 4  # never more than there are processors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_after_a_fork():
    arm = dl.load("scara").with_threads(2)
    q = np.random.default_rng(0).uniform(-1, 1, (1000, 4))
    wanted = arm.mass_matrix(q)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(arm.mass_matrix(q), wanted) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_any_layout_and_type():
    """Several dimensions that no view makes one, mixed types, steps, results that NumPy would write through a copy."""
    arm = dl.load("panda")
    rng = np.random.default_rng(1)
    q, qd = rng.uniform(-1, 1, (30, 1, 7)), rng.uniform(-1, 1, (1, 40, 7))
    wide = rng.uniform(-1, 1, (30, 80, 7))
    two = arm.with_threads(2)
    cases = [
        (q, qd, wide[:, ::2]),
        (q.astype(np.float32), qd.astype(np.float32), wide[:, ::2].astype(np.float32)),
        (q.astype(np.float32), qd, wide[:, ::2].astype(">f8")),
        (np.ones((30, 40, 7), int), qd, [0.5] * 7),
    ]
    for case in cases:
        wanted, got = arm.inverse_dynamics(*case), two.inverse_dynamics(*case)
        assert got.dtype == wanted.dtype and np.array_equal(got, wanted)
    wanted = arm.inverse_dynamics(*cases[0])
    raw = np.zeros(30 * 40 * 7 * 8 + 1, np.uint8)[1:]
    unaligned = raw.view(np.float64).reshape(30, 40, 7)
    spaced = np.zeros((30, 80, 7))[:, ::2]
    for out in (unaligned, spaced, np.zeros((30, 40, 7)), np.zeros((7, 40, 30)).T):
        assert two.inverse_dynamics(*cases[0], out=out) is out
        assert np.array_equal(out, wanted)


def test_more_callers_than_workers():
    arm = dl.load("panda").with_threads(4)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 3000, 7))
    wanted = arm.inverse_dynamics(q, qd, qdd)
    with ThreadPoolExecutor(12) as pool:
        for got in pool.map(lambda _: arm.inverse_dynamics(q, qd, qdd), range(200)):
            assert np.array_equal(got, wanted)
