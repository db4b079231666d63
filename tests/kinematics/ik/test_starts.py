"""The table of starts: in an order that saves steps, and kept."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.compile.search import settings
from dalembert.kinematics.ik import numeric, starts


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_the_order_saves_steps(name):
    """Against the same rows in other orders, on poses that were not used to find it."""
    robot = dl.load(name)
    made = numeric.solver(robot, None, numeric.goal("pose", None), True)
    poses = robot.fk(robot.random_configuration(2000, seed=7)).reshape(-1, 16)
    control = settings((1e-10, 1e-10), numeric.STEPS, numeric.RESTARTS, numeric.HALFWAY, numeric.HOPELESS)
    table = np.concatenate([made.first[None], made.starts])

    def steps(order):
        _, info = made.search.ufunc(table[order[0]], poses, table[order[1:]], control)
        return info[:, 0].mean()

    own = steps(np.arange(starts.COUNT))
    rng = np.random.default_rng(0)
    others = [steps(rng.permutation(starts.COUNT)) for _ in range(10)]
    assert own < min(others)


def test_found_again_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    goal = numeric.goal("pose", None)
    first = numeric.solver(dl.load("ur5e"), None, goal, True)
    monkeypatch.setattr(starts, "_ordered", None)  # would fail if it were called
    again = numeric.solver(dl.load("ur5e"), None, goal, True)
    assert np.array_equal(first.starts, again.starts) and np.array_equal(first.first, again.first)
