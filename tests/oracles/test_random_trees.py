"""Random trees of up to 30 joints, oblique axes, prismatic, fixed and mimic joints, against Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from oracles.pinocchio_model import PinocchioModel
from oracles.test_corpus import compare
from tolerances import ORACLE, error
from trees import random_tree

SIZES = [1, 2, 3, 5, 7, 10, 14, 20, 30]


@pytest.mark.parametrize("joints", SIZES)
def test_trees(joints):
    robot = dl.Robot(random_tree(seed=joints, joints=joints))
    oracle = PinocchioModel(robot)
    for state in np.random.default_rng(joints).uniform(-1, 1, (2, 3, robot.n)):
        compare(robot, oracle, *state)


@pytest.mark.parametrize("joints", [6, 9])
def test_trees_with_mimic_joints_and_rotors(joints):
    robot = dl.Robot(random_tree(seed=100 + joints, joints=joints, mimic=True))
    assert robot.n < len(robot.bodies)
    compare(robot, PinocchioModel(robot), *np.random.default_rng(0).uniform(-1, 1, (3, robot.n)))
    geared = dl.Robot(random_tree(seed=joints, joints=joints, rotors=True))
    compare(geared, PinocchioModel(geared), *np.random.default_rng(0).uniform(-1, 1, (3, geared.n)))


def test_what_only_pinocchio_can_check():
    """Coriolis matrix, regressor, energies, center of mass, momentum and J̇, each by its own function there."""
    robot = dl.Robot(random_tree(seed=42, joints=8))
    o = PinocchioModel(robot)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, robot.n))
    pq, v, a, m, d, G = o.q(q), o.v(qd), o.v(qdd), o.model, o.data, o.G
    assert error(robot.coriolis_matrix(q, qd), G.T @ pin.computeCoriolisMatrix(m, d, pq, v) @ G, 1.0) < ORACLE
    assert error(robot.kinetic_energy(q, qd), pin.computeKineticEnergy(m, d, pq, v)) < ORACLE
    heights = pin.computePotentialEnergy(m, d, pq) - pin.computePotentialEnergy(m, d, o.q(0 * q))
    assert error(robot.potential_energy(q) - robot.potential_energy(0 * q), heights) < ORACLE
    frame = robot.frames[-1]
    fid = m.getFrameId(frame, pin.FrameType.BODY)
    pin.computeJointJacobiansTimeVariation(m, d, pq, v)
    for name, reference in (("local", pin.LOCAL), ("spatial", pin.WORLD), ("world", pin.LOCAL_WORLD_ALIGNED)):
        wanted = pin.getFrameJacobianTimeVariation(m, d, fid, reference) @ G
        assert error(robot.jacobian_dot(q, qd, frame, name), wanted, 1.0) < ORACLE
    Y = G.T @ pin.computeJointTorqueRegressor(m, d, pq, v, a)
    # its parameters: (m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) per joint; ours: Ixx, Ixy, Ixz, Iyy, Iyz, Izz
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
    columns = [10 * (m.getJointId(b.joint_name) - 1) + k for b in robot.model.bodies for k in order]
    assert error(robot.regressor(q, qd, qdd), Y[:, columns], 1.0) < ORACLE
