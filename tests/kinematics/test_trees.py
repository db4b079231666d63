"""The laws of motion on random trees: branches, oblique and sliding joints, mimic joints, every frame."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.kinematics.jacobian import freedom, moving_rows, natural
from dalembert.kinematics.nearest_singularity import singular_set
from tolerances import DIFFERENCE, SOLVED, error
from trees import random_tree


@pytest.mark.parametrize("mimic", (False, True))
@pytest.mark.parametrize("seed", range(2))
def test_random_trees(seed, mimic):
    robot = dl.Robot(random_tree(seed, 6, mimic=mimic))
    q = robot.random_configuration(4, seed=seed)
    moving = [f for f in robot.frames if moving_rows(robot, f, "world")][-1:]
    for frame in moving:
        chosen = natural(robot, frame)
        J = chosen.jacobian(robot.jacobian(q, frame))
        s = np.linalg.svd(J, compute_uv=False)[:, : freedom(robot, frame, chosen, "world")]
        mu = robot.manipulability(q, frame)
        assert (mu > 0).all() and error(mu, s.prod(-1)) < SOLVED
        h = 1e-6
        for k, e in enumerate(np.eye(robot.n) * h):
            difference = (robot.manipulability(q + e, frame) - robot.manipulability(q - e, frame)) / (2 * h)
            assert error(robot.manipulability_gradient(q, frame)[:, k], difference, 1.0) < DIFFERENCE
        rates = np.random.default_rng(seed).normal(size=q.shape)
        twist = np.einsum("sij,sj->si", robot.jacobian(q, frame), rates)
        found = robot.inverse_velocity(q, twist, frame)
        assert found.residual.max() < 1e-7 * max(1.0, np.abs(twist).max())
        assert np.abs(J @ robot.null_space(q, frame).projector).max() < SOLVED * 100
        state = robot.singularities(q, frame)
        assert not state.singular.any() and all(isinstance(repr(state[i]), str) for i in range(4))
        F = robot.force_ellipsoid(q, frame).lengths
        V = robot.velocity_ellipsoid(q, frame).lengths[:, ::-1]
        assert np.allclose(F[V > 0] * V[V > 0], 1)


def test_singular_states_of_a_random_arm_are_singular():
    robot = dl.Robot(random_tree(3, 6, chain=True))
    samples = singular_set(robot, 20)
    found = robot.singularities(samples.q)
    assert len(samples.q) and found.singular.all() and samples.closeness.max() < 1e-7
