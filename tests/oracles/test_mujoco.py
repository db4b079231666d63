"""Bundled robots and random trees against MuJoCo."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.urdf_write import write_urdf
from tolerances import ORACLE, error
from trees import random_tree

NAMES = ["planar-3r", "rp", "scara", "stanford", "ur5e", "ur10e", "panda", "iiwa7"]


def in_mujoco(robot: dl.Robot) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The URDF without shapes; MuJoCo keeps massless end links only if told not to fuse them."""
    bare = replace(
        robot.description, links=tuple(replace(x, visuals=(), collisions=()) for x in robot.description.links)
    )
    text = write_urdf(bare)
    extension = '<mujoco><compiler fusestatic="true" balanceinertia="false" boundmass="0" boundinertia="0"/></mujoco>'
    text = text.replace("</robot>", extension + "</robot>")
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.gravity[:] = robot.gravity
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_SPRING
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_DAMPER
    model.dof_frictionloss[:] = 0
    for body in robot.model.bodies:
        joint = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, body.joint_name)
        model.dof_armature[model.jnt_dofadr[joint]] = body.rotor_inertia
    return model, mujoco.MjData(model)


def compare(robot: dl.Robot) -> None:
    model, data = in_mujoco(robot)
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in robot.joint_names]
    qa, va = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
    for q, qd, qdd in np.random.default_rng(0).uniform(-1, 1, (3, 3, robot.n)):
        data.qpos[qa], data.qvel[va], data.qacc[va] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        assert error(robot.inverse_dynamics(q, qd, qdd), data.qfrc_inverse[va]) < ORACLE
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        assert error(robot.mass_matrix(q), M[np.ix_(va, va)]) < ORACLE
        tau = robot.inverse_dynamics(q, qd, qdd)
        data.qfrc_applied[va] = tau
        mujoco.mj_forward(model, data)
        assert error(robot.forward_dynamics(q, qd, tau), data.qacc[va]) < ORACLE


@pytest.mark.parametrize("name", NAMES)
def test_bundled(name):
    compare(dl.load(name))


def test_random_tree():
    compare(dl.Robot(random_tree(seed=21, joints=8, rotors=True)))
