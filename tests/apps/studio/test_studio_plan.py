"""Obstacles and plans on the studio's page."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl

START, GOAL = np.array([-1.0, 0.5]), np.array([1.0, 0.5])
WORLD = dl.World().sphere("ball", 0.12, (1.88, 0.48, 0.0)).box("box", (0.2, 0.1, 0.1), (-1.0, 0.9, 0.0)).floor(-5.0)


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar-2r")


def test_a_plan_is_drawn_played_and_told(arm):
    with dl.studio.Studio(arm, port=0, plain=True, q=START, world=WORLD) as made:
        made.move(GOAL)
        made.worker.call(made.plan)
        log = made.log.log
        assert log is not None and log.source == "the plan"
        assert np.allclose(log.q[[0, -1]], [START, GOAL], atol=1e-6)
        assert (arm.clearance(log.q, WORLD) > 0).all()
        straight = START + np.linspace(0, 1, 100)[:, None] * (GOAL - START)
        assert arm.clearance(straight, WORLD).min() < 0  # the ball is in the way
        assert "free, proved" in made.pose.planned.content


def test_what_touches_an_obstacle_is_red(arm):
    at_the_ball = np.array([0.0, 0.5])
    with dl.studio.Studio(arm, port=0, plain=True, q=at_the_ball, world=WORLD) as made:
        found = made.worker.call(lambda: made.scene.touch(at_the_ball, True))
        assert {c.second for c in found} == {"ball"}
        assert made.scene.touching == {1}


def test_a_goal_in_an_obstacle_is_refused_in_words(arm):
    with dl.studio.Studio(arm, port=0, plain=True, q=START, world=WORLD) as made:
        made.move([0.0, 0.5])
        with pytest.raises(dl.InputError, match="the goal touches something: .* ball"):
            made.worker.call(made.plan)
    with pytest.raises(dl.InputError, match=r"dl.World\(\) makes one"):
        dl.studio.Studio(arm, port=0, world="cell.toml")
