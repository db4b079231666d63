"""Pinocchio models read: the same dynamics and frames, joint by joint, and what is refused."""

from __future__ import annotations

import site
import sys
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from dalembert.describe.urdf_write import write_urdf
from dalembert.interchange import from_pinocchio
from errors import raises
from tolerances import ROUNDING, error
from trees import random_tree

ROOT = Path(site.getsitepackages()[0]) / "cmeel.prefix/share/example-robot-data/robots"
FILES = [
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "kinova_description/robots/kinova.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "tiago_description/robots/tiago.urdf",
    "allegro_hand_description/urdf/allegro_left_hand.urdf",
    "anymal_b_simple_description/robots/anymal.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf",
    "alex_description/urdf/alex_psyonic_hands.urdf",
]


def read(model: pin.Model, **options) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return from_pinocchio(model, **options)


def state(model: pin.Model, robot: dl.Robot, *rows: np.ndarray) -> list[np.ndarray]:
    """q as Pinocchio writes it, and rates in its order."""
    q, *others = rows
    joints = [model.joints[model.getJointId(name)] for name in robot.joint_names]
    out = [pin.neutral(model)]
    for joint, x in zip(joints, q, strict=True):
        out[0][joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
    for row in others:
        v = np.zeros(model.nv)
        v[[joint.idx_v for joint in joints]] = row
        out.append(v)
    return out


def compare(model: pin.Model, robot: dl.Robot) -> None:
    data = model.createData()
    order = [model.joints[model.getJointId(name)].idx_v for name in robot.joint_names]
    assert order == list(range(model.nv))  # Pinocchio's own order of joints is kept
    for k in range(2):
        q, qd, qdd = np.random.default_rng(k).uniform(-1, 1, (3, robot.n))
        Q, V, A = state(model, robot, q, qd, qdd)
        assert error(robot.inverse_dynamics(q, qd, qdd), pin.rnea(model, data, Q, V, A)) < ROUNDING
        pin.framesForwardKinematics(model, data, Q)
        for frame in robot.frames[:40]:
            known = [i for i, f in enumerate(model.frames) if f.name == frame and "JOINT" not in str(f.type)]
            if known:
                assert error(_poses(robot, q)[frame], data.oMf[known[0]].homogeneous) < ROUNDING


def _poses(robot: dl.Robot, q: np.ndarray) -> dict[str, np.ndarray]:
    """Every frame at once: compiling a kernel for each would take a minute."""
    from dalembert.algorithms.kinematics import world_poses

    T = {-1: np.eye(4), **{k: np.array(p.matrix()) for k, p in world_poses(robot.model, q.tolist()).items()}}
    return {f.name: T[f.body] @ np.array(f.pose.matrix()) for f in robot.model.frames}


@pytest.mark.parametrize("file", [f for f in FILES if (ROOT / f).exists()])
def test_real_robots(file):
    assert sum((ROOT / f).exists() for f in FILES) >= 6
    model = pin.buildModelFromUrdf(str(ROOT / file))
    compare(model, read(model))


@pytest.mark.parametrize("seed", range(6))
def test_round_trip_of_random_trees(seed):
    """Ours → URDF → Pinocchio → ours: oblique axes, slides, fixed links, friction; the armature by hand."""
    robot = dl.Robot(random_tree(seed, 6, friction=True, oblique=True))
    model = pin.buildModelFromXML(write_urdf(robot.description))
    model.gravity.linear = robot.gravity
    armature = np.random.default_rng(seed).uniform(0, 0.5, model.nv)
    model.armature[:] = armature
    back = read(model)
    compare(model, back)
    names = list(back.joint_names)
    for body in robot.model.bodies:
        mine = back.model.bodies[[b.joint_name for b in back.model.bodies].index(body.joint_name)]
        k = names.index(body.joint_name)
        assert mine.joint.kind == body.joint.kind and error(mine.joint.axis, body.joint.axis) < ROUNDING
        assert mine.damping == body.damping and mine.rotor_inertia == armature[k]
        there = model.joints[model.getJointId(body.joint_name)].idx_v
        assert mine.coulomb == (model.upperDryFrictionLimit[there], -model.lowerDryFrictionLimit[there])
    both = robot.limits, back.limits
    at = [robot.joint_names.index(n) for n in names]
    for which in ("lower", "upper", "effort", "velocity"):
        assert np.array_equal(getattr(both[0], which)[at], getattr(both[1], which))


def test_mimic_joints_and_continuous_ones():
    text = """<robot name="r"><link name="b"/>{}{}{}
      <joint name="j1" type="revolute"><parent link="b"/><child link="l1"/><axis xyz="0 0.6 0.8"/>
        <limit lower="-1" upper="1" effort="3" velocity="4"/></joint>
      <joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/><origin xyz="0 .1 .2" rpy="1 2 3"/>
        <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="3" velocity="4"/>
        <mimic joint="j1" multiplier="-2.5" offset="0.3"/></joint>
      <joint name="j3" type="continuous"><parent link="l2"/><child link="l3"/><axis xyz="0 1 1"/></joint></robot>"""
    link = (
        '<link name="{}"><inertial><mass value="1"/><origin xyz=".1 .2 .3"/>'
        '<inertia ixx=".1" iyy=".2" izz=".15" ixy=".01" ixz="0" iyz=".02"/></inertial></link>'
    )
    model = pin.buildModelFromXML(text.format(*(link.format(f"l{k}") for k in (1, 2, 3))), mimic=True)
    robot = read(model)
    assert robot.joint_names == ("j1", "j3") and np.isinf(robot.limits.upper[1])
    mimic = next(j.mimic for j in robot.description.joints if j.name == "j2")
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("j1", -2.5, 0.3)
    compare(model, robot)


def test_frames_gravity_and_tip():
    model = pin.buildModelFromXML(write_urdf(dl.load("planar-2r").description))
    placement = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([0.1, 0, 0]))
    model.addFrame(pin.Frame("tcp", 2, placement, pin.OP_FRAME))
    model.gravity.linear = np.array([0.0, -3.0, 1.0])
    robot = read(model, tip="tcp", name="mine")
    assert robot.name == "mine" and robot.tip == "tcp" and robot.gravity.tolist() == [0.0, -3.0, 1.0]
    compare(model, robot)
    wrapped = type("Wrapper", (), {"model": model})()
    assert read(wrapped).n == 2


def test_what_is_refused_or_warned_of(monkeypatch):
    unit = pin.SE3.Identity()
    for joint, words in (
        (pin.JointModelSphericalZYX(), "moves in 3 ways; describe it as three revolute joints whose axes meet"),
        (pin.JointModelTranslation(), "describe it as three prismatic joints"),
    ):
        model = pin.Model()
        model.addJoint(0, joint, unit, "odd")
        with pytest.raises(dl.DescriptionError) as told:
            read(model)
        assert "joint 'odd' is a JointModel" in str(told.value) and words in str(told.value)
    with raises(dl.InputError, "wrong-type model"):
        from_pinocchio(3)
    model = pin.buildModelFromXML(write_urdf(dl.load("planar-1r").description))
    model.rotorInertia[0] = 0.1
    with pytest.warns(dl.ModelWarning, match="armature"):
        from_pinocchio(model)
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(dl.MissingExtraError, match="pinocchio is not installed: pip install 'pin'"):
        from_pinocchio(model)
