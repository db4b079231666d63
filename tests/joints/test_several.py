"""Robots with joints of several coordinates: every public method works for them, or says in one sentence why not."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest
from tests.rollout_words import rollout_gradient, rollouts

import dalembert as dl
from dalembert.errors import DescriptionError, InputError
from errors import raises

SENTENCE = "whose positions are no vector with the velocities for rates"
BASES = ("floating", "planar", "spherical")


@cache
def on(base: str) -> dl.Robot:
    arm = dl.load("elbow-3r")
    return arm.with_payload(3.0, inertia=(0.1, 0, 0, 0.2, 0, 0.3), frame=arm.frames[0]).with_base(base)


def state(robot: dl.Robot) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(3)
    return robot.random_configuration(seed=2), *rng.normal(size=(2, robot.nv))


REFUSED = {
    "n": lambda r, q: r.n,
    "christoffel": lambda r, q: r.christoffel(q),
    "other choices of C": lambda r, q: r.coriolis_matrix(q, np.zeros(r.nv), "mdot-u/2"),
    "derivation": lambda r, q: r.equations("none").derivation(),
    "ik_all": lambda r, q: r.ik_all(r.fk(q)),
    "workspace": lambda r, q: r.workspace(),
    "nearest_singularity": lambda r, q: r.nearest_singularity(q),
    "bounds": lambda r, q: r.bounds("mass_norm"),
    "linearize_at": lambda r, q: r.linearize_at(q),
    "sticking": lambda r, q: r.flow(friction="sticking"),
    "computed torque": lambda r, q: dl.control.ComputedTorque(r),
    "flexible": lambda r, q: dl.FlexibleRobot(r, stiffness=1e3),
    "excite": lambda r, q: dl.identification.excite(r),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("base", BASES)
def test_what_takes_positions_for_a_vector_is_refused(base: str, what: str):
    robot = on(base)
    with raises(InputError, "unsupported robot"):
        REFUSED[what](robot, state(robot)[0])


@pytest.mark.parametrize("base", BASES)
def test_what_is_written_or_read_otherwise_is_refused_by_name(base: str):
    robot = on(base)
    for call in (robot.to_dh, robot.to_screws, robot.screw_bodies):
        with raises(DescriptionError, "unsupported kind"):
            call()
    with pytest.raises(InputError, match="robot.ik_tasks"):
        robot.ik(robot.fk(state(robot)[0]))
    with pytest.raises(InputError, match="of the whole state"):
        dl.draw.phase_portrait(robot.flow())


def test_hostile_arguments_get_a_sentence():
    robot = on("floating")
    q, v, _ = state(robot)
    with raises(dl.UnknownNameError, "unknown-name"):
        dl.load("elbow-3r").with_base(["planar"])
    with pytest.raises(InputError, match="seed must be a whole number"):
        robot.random_configuration(seed="x")
    with raises(InputError, "wrong-type height"):
        robot.capture_point(q, v, height="x")


@pytest.mark.parametrize("base", BASES)
def test_the_rest_works_with_velocities(base: str):
    robot = on(base)
    q, v, x = state(robot)
    J = robot.jacobian(q)
    assert np.allclose(J @ robot.inverse_velocity(q, J @ v).qd, J @ v)
    np.testing.assert_allclose(robot.static_torque(q, {robot.tip: np.ones(6)}), -J.T @ np.ones(6))
    assert np.isfinite(robot.manipulability(q)).all() and robot.manipulability_gradient(q).shape == (robot.nv,)
    e = 1e-6 * np.eye(robot.nv)
    rates = (robot.jacobian(robot.integrate(q, e)) - robot.jacobian(robot.integrate(q, -e))) / 2e-6
    np.testing.assert_allclose(robot.hessian(q), np.moveaxis(rates, 0, -1), atol=1e-8)
    again = pickle.loads(pickle.dumps(robot))
    np.testing.assert_array_equal(again.mass_matrix(q), robot.mass_matrix(q))
    assert len(robot.states) == robot.nq + robot.nv and len(robot.inputs) == robot.nv
    assert set(robot.units) == {*robot.states, *robot.inputs}
    np.testing.assert_allclose(robot.with_home(q).home, q, atol=1e-15)
    assert robot.limits.lower.shape == (robot.nq,) and robot.limits.effort.shape == (robot.nv,)
    Y = robot.regressor(q, v, x, friction=True, rotor=True)
    wanted = robot.inverse_dynamics(q, v, x)
    np.testing.assert_allclose(Y @ robot.parameters(True, True), wanted, atol=1e-11)
    assert len(robot.parameter_names(True, True)) == Y.shape[1]
    assert "nq = " in repr(robot) and "<svg" in robot._repr_html_()
    assert dl.load("elbow-3r").with_base("fixed").n == 3


def test_what_a_joint_of_several_coordinates_cannot_have():
    from dataclasses import replace

    from dalembert.describe.description import Drive, Limit, Mimic

    d = on("floating").description
    root = d.joints[0]
    for joint, why in (
        (replace(root, limit=Limit(-1.0, 1.0)), "unsupported limit"),
        (replace(root, mimic=Mimic(d.joints[1].name)), "unsupported mimic"),
        (replace(root, drive=Drive(stiffness=1.0)), "unsupported stiffness"),
    ):
        with raises(DescriptionError, why):
            dl.Robot(replace(d, joints=(joint, *d.joints[1:])))
    follower = replace(d.joints[1], mimic=Mimic("root"))
    with raises(DescriptionError, "wrong-structure mimic"):
        dl.Robot(replace(d, joints=(root, follower, *d.joints[2:])))
    with raises(InputError, "duplicate name"):
        on("floating").with_base("planar")
    with raises(dl.UnknownNameError, "unknown-name"):
        dl.load("elbow-3r").with_base("flaoting")


def test_quaternions_are_looked_at_in_whatever_array_they_come():
    robot = on("floating")
    q = robot.random_configuration(3, seed=4)
    for wrong in (2 * q, (2 * q).tolist(), np.ma.array(2 * q), memoryview(2 * q)):
        with pytest.raises(InputError, match=r"has length 2 in state \(0,\)"):
            robot.fk(wrong)
    single = q.astype(np.float32)  # its rounding is no other length
    np.testing.assert_allclose(robot.fk(single), robot.fk(q), atol=1e-5)
    with pytest.raises(InputError, match="has length 1.00001"):
        robot.fk(robot.neutral * 1.00001)
    with pytest.raises(InputError, match="has length 2"):
        dl.draw.robot(robot, 2 * robot.neutral)
    for nothing in (0.0, 1e-150, 1e200):
        with pytest.raises(InputError, match="has no direction that it could keep"):
            robot.normalize(robot.neutral * nothing)
    assert np.isnan(robot.normalize(robot.neutral * np.nan)).all()


def test_names_of_coordinates_are_those_of_no_other_joint():
    from dataclasses import replace

    from dalembert.describe.scene import arrange

    arm = dl.load("elbow-3r").description
    clash = replace(arm, joints=(replace(arm.joints[0], name="root_x"), *arm.joints[1:]))
    with raises(DescriptionError, "duplicate joint"):
        dl.Robot(clash).with_base("planar")
    robot = dl.Robot(arrange(clash, base="planar"))
    assert len(set(robot.states)) == robot.nq + robot.nv


def test_a_base_is_placed_by_a_point_too():
    arm = dl.load("elbow-3r")
    robot = arm.with_base("planar", origin=(1, 2, 3), axis=(0, 0, 2))
    np.testing.assert_allclose(robot.fk(robot.neutral, arm.frames[0])[:3, 3], (1, 2, 3))
    with raises(InputError, "wrong-shape axis"):
        arm.with_base("planar", axis=3)


def test_parameters_of_a_flow_are_those_of_their_own_joints():
    """Coordinates are not counted as joints are: a base has six of them."""
    robot = dl.load("panda", base="floating")
    q, v, a = state(robot)
    own = robot.flow_parameters
    names = ("panda_joint1:rotor", "panda_link3:m", "panda_joint2:viscous", "root_wy:viscous")
    given = [own[name] + 0.5 for name in names]
    rate = robot.flow(friction=True, parameters=names).rate(0.0, [*q, *v], [0.0] * robot.nv + given)
    a = np.array(rate[robot.nv :])
    change = np.array([dict(zip(names, given, strict=True)).get(n, own[n]) - own[n] for n in own])
    torque = robot.inverse_dynamics(q, v, a, friction=True) + robot.regressor(q, v, a, True, True) @ change
    np.testing.assert_allclose(torque, 0.0, atol=1e-9)
    with pytest.raises(InputError, match="one of 6 that joint 'root', which is floating, has alike"):
        robot.flow(parameters=["root_vx:rotor"])


def test_limits_of_a_run_are_those_of_their_own_coordinates():
    robot = dl.load("panda", base="floating")
    push = np.r_[np.zeros(6), 1e3, np.zeros(6)]
    run = dl.simulate(robot, lambda t, q, qd: push, q0=robot.home, duration=0.005)
    assert [x.joint for x in run.beyond if x.kind == "effort"] == ["panda_joint1_torque"]
    held = dl.simulate(
        robot, lambda t, q, qd: push, q0=robot.home, duration=0.005, limits=dl.simulation.JointLimits(torque="robot")
    )
    assert np.abs(held.tau[:, 6]).max() == robot.limits.effort[6] == 87.0
    with pytest.raises(InputError, match="without loops and joints of several coordinates"):
        dl.simulate(robot, q0=robot.home, duration=0.005, limits="bounce")


def test_rollouts_begin_with_unit_quaternions_however_they_are_given():
    robot = on("floating")
    q, v, _ = state(robot)
    good, bad = np.r_[q, v], np.r_[q[:3], 2 * q[3:7], q[7:], v]
    simulation, span = dl.simulation, {"duration": 0.02, "dt": 0.01}
    for start in ({"x0": bad}, {"x0": np.stack([good, bad])}, {"q0": bad[: robot.nq]}):
        with pytest.raises(InputError, match="has length 2"):
            rollouts(robot, **start, **span)
    whole, parts = (rollouts(robot, **x, **span) for x in ({"x0": good}, {"q0": q, "qd0": v}))
    np.testing.assert_array_equal(whole.last, parts.last)
    loss = simulation.Loss(final=lambda x: x[0] * x[0])
    with pytest.raises(InputError, match="the whole state: differentiate by x0"):
        rollout_gradient(robot, q0=q, qd0=v, loss=loss, of="q0", **span)
