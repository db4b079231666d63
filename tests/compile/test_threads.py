"""Large batches by threads: the same bits, whatever the number."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

import dalembert as dl
from dalembert.compile import threads


@pytest.fixture(autouse=True)
def four_processors(monkeypatch):
    """So that the cutting is tested on a machine with one."""
    monkeypatch.setattr(threads, "available", lambda: 4)
    threads._pool.cache_clear()
    yield
    threads._pool.cache_clear()


def test_the_same_bits_with_any_number(monkeypatch):
    arm = dl.load("panda")
    monkeypatch.setattr(threads, "SMALLEST", 10)
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


def test_several_dimensions_and_single_states(monkeypatch):
    monkeypatch.setattr(threads, "SMALLEST", 5)
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
def test_after_a_fork(monkeypatch):
    monkeypatch.setattr(threads, "SMALLEST", 10)
    arm = dl.load("scara").with_threads(2)
    q = np.random.default_rng(0).uniform(-1, 1, (1000, 4))
    wanted = arm.mass_matrix(q)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(arm.mass_matrix(q), wanted) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
