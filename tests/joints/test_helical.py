"""Helical joints against Pinocchio's, and through every part of the library that a joint passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.check import check
from dalembert.describe.description import Description, Drive, Inertial, Joint, Limit, Link, Origin
from dalembert.describe.screws import from_screws
from dalembert.describe.toml_read import read_toml
from dalembert.describe.toml_write import write_toml
from dalembert.errors import DescriptionError, InputError
from dalembert.robot import Robot
from errors import raises

pin = pytest.importorskip("pinocchio")
sympy = pytest.importorskip("sympy")
CLOSE = 1e-11  # against Pinocchio, relative to the largest number compared
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (2 / 7, 3 / 7, -6 / 7))


def description(prismatic: bool = True) -> Description:
    """A tree of helical joints about x, y, z and an oblique axis, with others among them and a branch."""
    rng = np.random.default_rng(4)
    rows = [("helical", axis, 0.05 * (k + 1) * (-1) ** k) for k, axis in enumerate(AXES)]
    rows[1:1] = [("revolute", AXES[3], 0.0)]
    rows[3:3] = [("prismatic" if prismatic else "revolute", AXES[1], 0.0)]
    links, joints = [Link("base")], []
    for k, (kind, axis, pitch) in enumerate(rows):
        points = rng.normal(size=(8, 3)) * 0.1
        S = points.T @ points
        I = np.trace(S) * np.eye(3) - S
        six = tuple(I[np.triu_indices(3)].tolist())
        links.append(Link(f"link{k}", Inertial(1.0 + k, six, Origin(tuple(rng.normal(size=3) * 0.1)))))
        parent = links[2 if k == 4 else k].name  # a branch
        origin = Origin(tuple(rng.normal(size=3) * 0.3), tuple(rng.uniform(-3, 3, 3)))
        limit = Limit(-2.0, 2.5, 40.0, 3.0)
        drive = Drive(rotor_inertia=1e-4, gear_ratio=20.0)
        joints.append(Joint(f"j{k}", kind, parent, f"link{k}", origin, axis, limit, drive=drive, pitch=pitch))
    return Description("screws", tuple(links), tuple(joints), (1.0, -2.0, -9.0), tip="link5")


def in_pinocchio(d: Description) -> pin.Model:
    model = pin.Model()
    at, aligned = {"base": 0}, (pin.JointModelHX, pin.JointModelHY, pin.JointModelHZ)
    for joint in d.joints:
        axis = np.array(joint.axis)
        kind = {
            "helical": lambda a=axis, j=joint: (
                aligned[int(a.argmax())](j.pitch) if a.max() == 1.0 else pin.JointModelHelicalUnaligned(a, j.pitch)
            ),
            "revolute": lambda a=axis: pin.JointModelRevoluteUnaligned(a),
            "prismatic": lambda a=axis: pin.JointModelPrismaticUnaligned(a),
        }[joint.kind]()
        placement = pin.SE3(pin.rpy.rpyToMatrix(*joint.origin.rpy), np.array(joint.origin.xyz))
        k = at[joint.child] = model.addJoint(at[joint.parent], kind, placement, joint.name)
        body = next(link for link in d.links if link.name == joint.child).inertial
        xx, xy, xz, yy, yz, zz = body.inertia
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        model.appendBodyToJoint(k, pin.Inertia(body.mass, np.array(body.origin.xyz), I), pin.SE3.Identity())
        model.addBodyFrame(joint.child, k, pin.SE3.Identity(), 0)
        model.armature[model.joints[k].idx_v] = joint.drive.gear_ratio**2 * joint.drive.rotor_inertia
    model.gravity.linear = np.array(d.gravity)
    return model


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot(description())


@pytest.fixture(scope="module")
def model() -> pin.Model:
    return in_pinocchio(description())


@pytest.fixture(scope="module")
def states(robot: Robot) -> np.ndarray:
    return np.random.default_rng(1).uniform(-2, 2, (3, 8, robot.n))


def near(ours, theirs) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape and np.abs(ours - theirs).max() <= CLOSE * max(1.0, np.abs(theirs).max())


def test_kinematics_are_pinocchios(robot, model, states):
    data, frame = model.createData(), model.getFrameId("link5")
    for q, qd in zip(states[0], states[1], strict=True):
        pin.framesForwardKinematics(model, data, q)
        near(robot.fk(q), data.oMf[frame].homogeneous)
        for name, reference in (("world", pin.LOCAL_WORLD_ALIGNED), ("local", pin.LOCAL), ("spatial", pin.WORLD)):
            near(robot.jacobian(q, expressed_in=name), pin.computeFrameJacobian(model, data, q, frame, reference))
            pin.computeJointJacobiansTimeVariation(model, data, q, qd)
            theirs = pin.getFrameJacobianTimeVariation(model, data, frame, reference)
            near(robot.jacobian_dot(q, qd, expressed_in=name), theirs)


def test_dynamics_are_pinocchios(robot, model, states):
    data = model.createData()
    for q, qd, x in zip(*states, strict=True):
        near(robot.inverse_dynamics(q, qd, x), pin.rnea(model, data, q, qd, x))
        near(robot.forward_dynamics(q, qd, x), pin.aba(model, data, q, qd, x))
        near(robot.forward_dynamics(q, qd, x, method="articulated"), pin.aba(model, data, q, qd, x))
        M = pin.crba(model, data, q)
        near(robot.mass_matrix(q), np.triu(M) + np.triu(M, 1).T)
        near(robot.gravity_torque(q), pin.computeGeneralizedGravity(model, data, q))
        C = pin.computeCoriolisMatrix(model, data, q, qd)
        near(robot.coriolis_matrix(q, qd) @ qd, C @ qd)
        near(robot.kinetic_energy(q, qd), 0.5 * qd @ robot.mass_matrix(q) @ qd)
        near(robot.mass_matrix_dot(q, qd), robot.coriolis_matrix(q, qd) + robot.coriolis_matrix(q, qd).T)


def test_derivatives_and_regressor_are_pinocchios(robot, model, states):
    data = model.createData()
    columns = [10 * k + c for k in range(robot.n) for c in (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)]  # theirs: xx xy yy xz yz zz
    for q, qd, x in zip(*states, strict=True):
        pin.computeRNEADerivatives(model, data, q, qd, x)
        D_q, D_qd, M = robot.inverse_dynamics_derivatives(q, qd, x)
        near(D_q, data.dtau_dq)
        near(D_qd, data.dtau_dv)
        near(M, robot.mass_matrix(q))
        pin.computeABADerivatives(model, data, q, qd, x)
        D_q, D_qd, inverse = robot.forward_dynamics_derivatives(q, qd, x)
        for ours, theirs in ((D_q, data.ddq_dq), (D_qd, data.ddq_dv), (inverse, data.Minv)):
            whole = theirs if theirs is not data.Minv else np.triu(theirs) + np.triu(theirs, 1).T
            near(ours, whole)
        near(robot.regressor(q, qd, x), pin.computeJointTorqueRegressor(model, data, q, qd, x)[:, columns])


def test_equations_say_the_same(states):
    chain = replace(description(), tip=None)
    keep = {"base", "link0", "link1"}
    few = replace(
        chain,
        links=tuple(link for link in chain.links if link.name in keep),
        joints=tuple(j for j in chain.joints if j.child in keep),
        tip="link1",
    )
    arm = Robot(few)
    equations = arm.equations(angles="numbers")
    assert "h1" in equations.ring.parameters  # the pitch, as a symbol
    values = equations.values
    for q, qd in zip(states[0][:, :2], states[1][:, :2], strict=True):
        names = values | {"s1": np.sin(q[0]), "c1": np.cos(q[0]), "q1": q[0]}
        names |= {"s2": np.sin(q[1]), "c2": np.cos(q[1]), "q2": q[1], "qd1": qd[0], "qd2": qd[1]}
        M = [[p.substituted(names) for p in row] for row in equations.M]
        near(M, arm.mass_matrix(q))
        near([p.substituted(names) for p in equations.g], arm.gravity_torque(q))
        C = [[p.substituted(names) for p in row] for row in equations.C]
        near(C, arm.coriolis_matrix(q, qd))
        near(equations.kernel("M")(q), arm.mass_matrix(q))
        known = {sympy.Symbol(name, real=True): x for name, x in names.items()}
        near(np.array(equations.sympy("M").subs(known), float), arm.mass_matrix(q))


def test_a_nut_on_a_vertical_screw_says_what_the_textbook_says():
    """M = I + m h², g = m g h: the mass is lifted by h per angle."""
    h, m, I = 0.01, 2.0, 0.003
    nut = Link("nut", Inertial(m, (1e-3, 0.0, 0.0, 1e-3, 0.0, I)))
    d = Description("jack", (Link("base"), nut), (Joint("screw", "helical", "base", "nut", axis=(0, 0, 1), pitch=h),))
    jack = Robot(d)
    near(jack.mass_matrix([0.4]), [[I + m * h * h]])
    near(jack.gravity_torque([0.4]), [m * 9.81 * h])
    near(jack.fk([2 * np.pi])[2, 3], 2 * np.pi * h)  # the lead
    equations = jack.equations()
    assert equations.text("M11", "g1", lump=False) == "M11 = I1zz + m1*h1^2\ng1 = m1*g*h1\n"
    run = dl.simulate(jack, duration=0.5, q0=[0.0])
    a = -m * 9.81 * h / (I + m * h * h)
    near(run.q[-1], [0.5 * a * run.t[-1] ** 2])


def test_inverse_kinematics_is_numeric_and_turns_are_not_all_alike(robot):
    screw = Robot(
        Description(
            "lift",
            (Link("base"), Link("nut"), Link("arm")),
            (
                Joint("screw", "helical", "base", "nut", axis=(0, 0, 1), pitch=0.02, limit=Limit(-50.0, 50.0)),
                Joint("turn", "continuous", "nut", "arm", Origin((0.3, 0, 0)), (0, 0, 1)),
            ),
        )
    )
    with pytest.raises(InputError, match="its 2 joints are HR: closed forms are here for"):
        screw.ik_all(screw.fk([0.0, 0.0]))
    for q in np.random.default_rng(3).uniform(-20, 20, (5, 2)):
        found = screw.ik(screw.fk(q), q0=q + 0.3)
        assert found.converged
        assert np.abs(found.q[0] - q[0]) < 1e-4  # the height says how many turns


def test_bounds_hold_and_say_why_they_are_wide(robot, states):
    found = robot.bounds(["mu2", "gravity_slope"])
    assert all("joint 'j0' slides as it turns" in b.stopped for b in found)
    mu2 = next(b for b in found if b.name == "mu2")
    assert mu2.proved and np.linalg.eigvalsh(robot.mass_matrix(states[0]))[:, -1].max() <= mu2.certified
    slope = next(b for b in found if b.name == "gravity_slope")
    D_q, _, _ = robot.inverse_dynamics_derivatives(states[0], 0 * states[0], 0 * states[0])
    assert slope.proved and np.linalg.norm(D_q, 2, axis=(1, 2)).max() <= slope.certified


def test_files_keep_the_pitch(robot):
    text, joints = write_toml(robot.description), description().joints
    assert "pitch = 0.05" in text and read_toml(text).joints == check(robot.description).joints
    with raises(DescriptionError, "unsupported kind"):
        robot.to_urdf()
    with raises(DescriptionError, "missing pitch"):
        check(replace(description(), joints=(replace(joints[0], pitch=0.0), *joints[1:])))
    with raises(DescriptionError, "conflict pitch"):
        check(replace(description(), joints=(joints[0], replace(joints[1], pitch=0.1), *joints[2:])))


def test_screws_have_a_pitch(robot):
    axes, home = robot.to_screws("link3")
    again = Robot(from_screws(axes, home))
    assert [j.kind for j in again.description.joints[:2]] == ["helical", "revolute"]
    near([j.pitch for j in again.description.joints[:1]], [0.05])
    q = np.linspace(-1, 1, again.n)
    near(again.fk(q), robot.fk(np.r_[q, np.zeros(robot.n - again.n)], "link3"))
    with raises(DescriptionError, "unsupported kind"):
        again.to_dh()


def test_pinocchios_model_is_read(robot, model, states):
    back = dl.interchange.from_pinocchio(model)
    assert [b.joint.kind for b in back.model.bodies] == [b.joint.kind for b in robot.model.bodies]
    near(back.inverse_dynamics(*states), robot.inverse_dynamics(*states))


def test_verification_finds_nothing(robot):
    assert dl.verify(robot).ok
