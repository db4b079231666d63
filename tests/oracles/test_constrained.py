"""Constrained forward dynamics against Pinocchio's and MuJoCo's."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from dalembert.constrained.constraint import channel, hold, plane
from oracles.pinocchio_model import PinocchioModel
from oracles.test_floating import ROBOTS, Oracle, flying
from oracles.test_mujoco import in_mujoco

FOUR_BAR = dl.load("four-bar")


def states(system: dl.Constrained, count: int, seed: int = 0):
    """Closed positions and rates that obey the constraints."""
    rng = np.random.default_rng(seed)
    robot = system.robot
    for _ in range(count):
        q = system.close(robot.home + rng.uniform(-0.3, 0.3, robot.n)).q
        yield system.project(q, rng.uniform(-1, 1, robot.n), steps=2)


def pinocchio_accelerations(robot, q, qd, tau, contact, first, second):
    """q̈ by Pinocchio's proximal solver. `first` and `second`: (frame name or None, pose 4×4 in it)."""
    other = PinocchioModel(robot.tree())
    model = other.model

    def side(frame, T):
        placed = pin.SE3(np.asarray(T, float))
        if frame is None:
            return 0, placed
        f = model.frames[model.getFrameId(frame, pin.FrameType.BODY)]
        return f.parentJoint, f.placement * placed

    (i, T_i), (j, T_j) = side(*first), side(*second)
    constraint = pin.RigidConstraintModel(contact, model, i, T_i, j, T_j, pin.ReferenceFrame.LOCAL)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(constraint)
    datas.append(constraint.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-14, 1e-9, 500)  # redundant rows need some μ; the iterations take it out again
    G = other.G
    pin.constraintDynamics(model, data, other.q(q), other.v(qd), G @ tau, models, datas, settings)
    return G.T @ data.ddq


def test_welded_panda_is_pinocchios():
    """Panda's hand held to the world: six rows, one freedom left."""
    panda = dl.load("panda")
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = panda.random_configuration(seed=rng) * 0.7
        T = panda.fk(q)
        system = dl.Constrained(panda, hold("weld", at=T))
        _, qd = system.project(q, rng.uniform(-1, 1, panda.n))
        tau = rng.uniform(-20, 20, panda.n)
        qdd, force = system.forward_dynamics(q, qd, tau)
        expected = pinocchio_accelerations(
            panda, q, qd, tau, pin.ContactType.CONTACT_6D, (None, T), (panda.tip, np.eye(4))
        )
        assert np.abs(qdd - expected).max() < 1e-8 * (1 + np.abs(expected).max())
        # the multipliers are, in the first frame's axes, the wrench that the tip applies: its negative acts on it
        F = -np.concatenate([T[:3, :3] @ force[:3], T[:3, :3] @ force[3:]])
        np.testing.assert_allclose(system.constraint_wrench(q, force), F, rtol=0, atol=1e-9 * (1 + np.abs(F).max()))
        free = panda.forward_dynamics(q, qd, tau, wrenches={panda.tip: F})
        np.testing.assert_allclose(free, qdd, rtol=0, atol=1e-8 * (1 + np.abs(qdd).max()))


def test_ball_jointed_panda_is_pinocchios():
    panda = dl.load("panda")
    rng = np.random.default_rng(2)
    q = panda.random_configuration(seed=rng) * 0.7
    T = panda.fk(q)
    T[:3, :3] = np.eye(3)
    system = dl.Constrained(panda, hold("ball", at=T))
    _, qd = system.project(q, rng.uniform(-1, 1, panda.n))
    tau = rng.uniform(-20, 20, panda.n)
    expected = pinocchio_accelerations(panda, q, qd, tau, pin.ContactType.CONTACT_3D, (None, T), (panda.tip, np.eye(4)))
    qdd = system.forward_dynamics(q, qd, tau).qdd
    assert np.abs(qdd - expected).max() < 1e-8 * (1 + np.abs(expected).max())


def loop_sides(robot):
    """(link, pose in it) of the two sides of a description's only loop."""
    (loop,) = robot.description.loops
    sides = []
    for link, origin in ((loop.first, loop.first_origin), (loop.second, loop.second_origin)):
        sides.append((link, dl.pose(xyz=origin.xyz, rpy=origin.rpy)))
    return sides


def test_four_bar_is_pinocchios():
    system = dl.Constrained(FOUR_BAR)
    rng = np.random.default_rng(3)
    for q, qd in states(system, 5):
        tau = rng.uniform(-2, 2, FOUR_BAR.n)
        expected = pinocchio_accelerations(FOUR_BAR, q, qd, tau, pin.ContactType.CONTACT_3D, *loop_sides(FOUR_BAR))
        qdd = system.forward_dynamics(q, qd, tau).qdd
        assert np.abs(qdd - expected).max() < 1e-8 * (1 + np.abs(expected).max())


def mujoco_accelerations(robot, q, qd, tau, equality, anchors):
    """q̈ with an equality constraint as stiff as MuJoCo allows: impedance next to one, no stabilization of its own."""
    base, _ = in_mujoco(robot.tree())
    text = mujoco_xml(robot, equality)
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.gravity[:] = robot.gravity
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    model.dof_armature[:] = base.dof_armature
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.tolerance, model.opt.iterations = 1e-15, 200
    model.eq_data[0][:6] = anchors  # MuJoCo would take the second from where the first is at zero
    data = mujoco.MjData(model)
    ids = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, j) for j in robot.joint_names]
    qa, va = model.jnt_qposadr[ids], model.jnt_dofadr[ids]
    data.qpos[qa], data.qvel[va], data.qfrc_applied[va] = q, qd, tau
    mujoco.mj_forward(model, data)
    return data.qacc[va]


def mujoco_xml(robot, equality: str) -> str:
    """The robot's tree as MJCF with an equality element added."""
    import tempfile
    from pathlib import Path

    tree, _ = in_mujoco(robot.tree())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tree.xml"
        mujoco.mj_saveLastXML(str(path), tree)
        text = path.read_text()
    return text.replace("</mujoco>", f"<equality>{equality}</equality></mujoco>")


# solimp: impedance 0.9999 (the largest MuJoCo takes) whatever the violation; solref: stiffness and damping zero
STIFF = 'solimp="0.9999 0.9999 0.001 0.5 2" solref="0 0"'


def test_four_bar_is_mujocos():
    """From rest: MuJoCo leaves Ȧ q̇ out of its constraints. They are soft: with impedance d = 0.9999 it agrees to about
    1 − d."""
    system = dl.Constrained(FOUR_BAR)
    rng = np.random.default_rng(4)
    (first, T_first), (second, T_second) = loop_sides(FOUR_BAR)
    anchors = np.concatenate([T_first[:3, 3], T_second[:3, 3]])
    for q, _ in states(system, 3):
        tau, qd = rng.uniform(-2, 2, FOUR_BAR.n), np.zeros(FOUR_BAR.n)
        qdd = system.forward_dynamics(q, qd, tau).qdd
        found = mujoco_accelerations(
            FOUR_BAR, q, qd, tau, f'<connect body1="{first}" body2="{second}" anchor="0 0 0" {STIFF}/>', anchors
        )
        assert np.abs(qdd - found).max() < 1e-3 * (1 + np.abs(qdd).max())


@pytest.mark.parametrize("make", [lambda T: plane(T[:3, 3], T[:3, 2]), lambda T: channel(T[:3, 3], T[:3, 0])])
def test_kkt_solved_by_numpy(make):
    """The multipliers are those of the whole system of n + k equations, solved at once."""
    panda = dl.load("panda")
    rng = np.random.default_rng(5)
    q = panda.random_configuration(seed=rng) * 0.7
    system = dl.Constrained(panda, make(panda.fk(q)))
    _, qd = system.project(q, rng.uniform(-1, 1, panda.n))
    tau = rng.uniform(-20, 20, panda.n)
    A, k = system.jacobian(q), system.k
    whole = np.block([[panda.mass_matrix(q), A.T], [A, np.zeros((k, k))]])
    b = np.concatenate([tau - panda.bias_torque(q, qd), -system.drift(q, qd)])
    expected = np.linalg.solve(whole, b)
    qdd, force = system.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(np.concatenate([qdd, force]), expected, rtol=0, atol=1e-9 * np.abs(expected).max())


# ------------------------------------------------------------------------------------------------------------- impacts
def contacts_of(robot, q, frames):
    """Point contacts where these frames are, in the axes of the world, and the rows that Pinocchio is given."""
    points = [dl.constrained.contact(frame, robot.fk(q, frame)[:3, 3]) for frame in frames]
    axes = [np.array(c.axes).T for c in points]
    rows = [R @ robot.jacobian(q, frame)[:3] for R, frame in zip(axes, frames, strict=True)]
    return points, np.vstack(rows)


@pytest.mark.parametrize("restitution", [0.0, 0.37, 1.0])
@pytest.mark.parametrize("name", ["panda", "solo12"])
def test_impacts_are_pinocchios(name, restitution):
    """impulseDynamics with the contacts held: an arm that touches with its tip, a flying robot that lands on its feet,
    also with one contact given twice."""
    if name == "panda":
        robot = dl.load(name)
        other, tips = PinocchioModel(robot), [robot.tip, robot.tip]
    else:
        robot, model = flying(next(file for file in ROBOTS if file.name == f"{name}.urdf"))
        other, tips = Oracle(robot, model), [f for f in robot.frames if f.endswith("_FOOT")]
        assert len(tips) == 4
    rng = np.random.default_rng(5)
    q, v = robot.random_configuration(seed=rng), rng.uniform(-1, 1, robot.nv)
    points, J = contacts_of(robot, q, tips)
    found = robot.impact(q, v, restitution, constraints=points)
    independent = 3 * len(set(tips))
    G, data = other.G, other.model.createData()
    J = J[:independent] @ np.linalg.pinv(G)
    after = pin.impulseDynamics(other.model, data, other.q(q), G @ v, J, restitution, 0.0)
    np.testing.assert_allclose(G @ found.qd, after, rtol=0, atol=1e-9 * (1 + np.abs(after).max()))
    impulses, size = data.impulse_c, 1 + np.abs(data.impulse_c).max()
    np.testing.assert_allclose(found.impulses[:independent], -impulses, rtol=0, atol=1e-8 * size)
    assert not found.impulses[independent:].any()
