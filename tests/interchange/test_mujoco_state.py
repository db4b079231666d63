"""States to MuJoCo's and back: its integrator moves what ours moves."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.mjcf import read_mjcf
from dalembert.interchange import from_mujoco_state, to_mujoco_state
from errors import raises
from oracles.mujoco_terms import mujoco_terms
from tolerances import ROUNDING, error

TEXT = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="trunk" pos=".1 .2 .9" euler=".3 .2 -.4"><freejoint name="root"/><geom type="box" size=".1 .2 .3"/>
    <body name="arm" pos=".2 0 .1"><joint name="socket" type="ball" pos=".1 0 0"/>
      <geom type="capsule" size=".04 .2"/>
      <body name="f1" pos="0 0 .3"><joint name="f1" axis="0 1 0"/><geom type="box" size=".1 .1 .1" pos=".1 0 0"/></body>
      <body name="f2" pos="0 0 -.3"><joint name="f2" axis="0 1 0"/><geom type="box" size=".1 .1 .1" pos=".1 0 0"/>
      </body>
    </body></body></worldbody>
  <equality><joint joint1="f2" joint2="f1" polycoef=".1 -2"/></equality></mujoco>"""


@pytest.fixture(scope="module")
def both():
    return dl.Robot(read_mjcf(TEXT)), mujoco.MjModel.from_xml_string(TEXT)


def test_there_and_back(both):
    robot, model = both
    q, v = robot.random_configuration((4, 3), seed=1), np.random.default_rng(1).normal(size=(4, 3, robot.nv))
    for scene in (None, model):
        qpos, qvel = to_mujoco_state(robot, q, v, scene)
        assert qpos.shape == (4, 3, model.nq) and qvel.shape == (4, 3, model.nv)
        assert (
            error(qpos[..., -1], 0.1 - 2 * q[..., -1]) < ROUNDING and error(qvel[..., -1], -2 * v[..., -1]) < ROUNDING
        )
        again = from_mujoco_state(robot, qpos, qvel, scene)
        assert error(again[0], q) < ROUNDING and error(again[1], v) < ROUNDING
    assert (to_mujoco_state(robot, q)[1] == 0).all()
    longer = to_mujoco_state(robot, q)[0]
    longer[..., 3:7] *= 3  # which MuJoCo takes for the same
    assert error(from_mujoco_state(robot, longer)[0], q) < ROUNDING


def test_poses_velocities_and_terms_are_mujocos(both):
    """The same state in both: poses, velocities of bodies, and the terms of an oracle written apart."""
    robot, model = both
    q, v = robot.random_configuration(seed=2), np.random.default_rng(2).normal(size=robot.nv)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = to_mujoco_state(robot, q, v, model)
    mujoco.mj_forward(model, data)
    for name in ("trunk", "arm", "f1", "f2"):
        assert error(robot.fk(q, name)[:3, 3], data.body(name).xpos) < ROUNDING
        velocity = np.zeros(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body(name).id, velocity, 0)
        assert error(robot.jacobian(q, name) @ v, np.roll(velocity, 3)) < ROUNDING
    M, bias, there = mujoco_terms(robot, model, q, v)
    assert error(there.qpos, data.qpos) < ROUNDING and error(there.qvel, data.qvel) < ROUNDING
    assert error(robot.mass_matrix(q), M) < ROUNDING and error(robot.bias_torque(q, v), bias) < ROUNDING


def test_positions_move_as_mujoco_integrates_them(both):
    """q ⊕ v Δt and MuJoCo's own step agree to Δt²: its free body moves along v and turns about ω at once."""
    robot, model = both
    q, v = robot.random_configuration(seed=3), np.random.default_rng(3).normal(size=robot.nv)
    for step in (1e-3, 1e-4):
        qpos, qvel = to_mujoco_state(robot, q, v, model)
        mujoco.mj_integratePos(model, qpos, qvel, step)
        moved = from_mujoco_state(robot, qpos)[0]
        assert np.abs(robot.difference(moved, robot.integrate(q, step * v))).max() < 2 * step**2


def test_a_part_of_a_scene_is_found_by_names(both):
    robot, model = both
    cube = '<body name="cube" pos="1 2 3"><freejoint name="loose"/><geom size=".1"/></body>'
    scene = mujoco.MjModel.from_xml_string(TEXT.replace("<worldbody>", f"<worldbody>{cube}"))
    q, v = robot.random_configuration(seed=4), np.ones(robot.nv)
    qpos, qvel = to_mujoco_state(robot, q, v, scene)
    alone = to_mujoco_state(robot, q, v)
    assert qpos.tolist() == [1, 2, 3, 1, 0, 0, 0, *alone[0]] and qvel.tolist() == [0] * 6 + alone[1].tolist()
    assert error(from_mujoco_state(robot, qpos, qvel, scene)[0], q) < ROUNDING
    with raises(dl.InputError, "conflict model"):
        to_mujoco_state(dl.load("planar-2r"), [0, 0], model=model)
    with raises(dl.InputError, "unsupported robot"):
        to_mujoco_state(dl.load("planar-2r", base="planar"), np.zeros(5))
    with raises(dl.InputError, "wrong-shape q"):
        to_mujoco_state(robot, [1.0, 2.0])
