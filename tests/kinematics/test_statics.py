"""Statics: τ = −Jᵀ F, virtual work, payloads, the largest force. [Poonawala] §3."""

from __future__ import annotations

import numpy as np
import pytest
from motion_arms import ARMS, arm, states

import dalembert as dl
from dalembert.kinematics.statics import holding_torque, largest_force, largest_wrench, virtual_work
from tolerances import ROUNDING, SOLVED, error


@pytest.mark.parametrize("name", ARMS)
def test_torque_of_a_wrench_at_any_frame(name):
    """τ = −Jᵀ F is what inverse dynamics adds for a wrench on the robot, at any frames."""
    robot, q = arm(name), states(arm(name), 4)
    F = np.random.default_rng(0).normal(size=(4, 6))
    last, middle = robot.frames[-1], robot.frames[len(robot.frames) // 2]
    for wrenches in ({last: F}, {middle: F}, {middle: F, last: -2 * F}):
        with_it = robot.inverse_dynamics(q, 0 * q, 0 * q, wrenches=wrenches)
        alone = robot.static_torque(q, wrenches)
        assert error(alone, with_it - robot.gravity_torque(q), 10) < ROUNDING
        held = robot.static_torque(q, wrenches, gravity=True)
        assert error(held, with_it, 10) < ROUNDING


@pytest.mark.parametrize("name", ARMS)
def test_virtual_work(name):
    """δw = 0 for every δq exactly if τ = −JᵀF; the work at the tip is a small motion [Poonawala, eqs. 24, 25]."""
    robot, q = arm(name), states(arm(name), 1)[0]
    rng = np.random.default_rng(1)
    F, dq = rng.normal(size=6), rng.normal(size=(20, robot.n))
    at_tip = {robot.tip: F}
    tau = robot.static_torque(q, at_tip)
    assert np.abs(virtual_work(robot, q, at_tip, tau, dq)).max() < ROUNDING * 100
    assert np.abs(virtual_work(robot, q, at_tip, tau + 1, dq)).min() > 1e-4
    h = 1e-6
    moved = (robot.fk(q + h * dq)[:, :3, 3] - robot.fk(q - h * dq)[:, :3, 3]) / (2 * h)
    force_alone = {robot.tip: np.r_[F[:3], 0, 0, 0]}
    assert np.allclose(virtual_work(robot, q, force_alone, np.zeros(robot.n), dq), moved @ F[:3], atol=1e-7)


@pytest.mark.parametrize("name", ("planar-2r", "scara", "puma560", "panda"))
def test_torque_to_hold_a_payload(name):
    robot, q = arm(name), states(arm(name), 5)
    com = (0.03, -0.02, 0.1)
    loaded = robot.with_payload(2.5, com).gravity_torque(q)
    assert error(holding_torque(robot, q, 2.5, com), loaded, 1.0) < ROUNDING * 10
    assert error(holding_torque(robot, q, 0), robot.gravity_torque(q), 1.0) < ROUNDING
    with pytest.raises(dl.InputError, match="mass is -1.0; it must not be less than 0"):
        holding_torque(robot, q, -1)


@pytest.mark.parametrize("name", ("scara", "puma560", "ur5e", "panda", "iiwa7"))
@pytest.mark.parametrize("gravity", (True, False))
def test_largest_force_sits_on_a_limit(name, gravity):
    """At the largest force one joint is at its limit and none beyond; a little more and it is."""
    robot, q = arm(name), states(arm(name), 20)
    t = np.full(robot.n, 200.0) if name == "scara" else robot.limits.effort
    d = np.random.default_rng(2).normal(size=(20, 3))
    found = robot.largest_force(q, d, torque_limits=t, gravity=gravity)
    F = np.concatenate([d / np.linalg.norm(d, axis=-1, keepdims=True), np.zeros((20, 3))], axis=-1)
    ok = found.feasible
    assert ok.sum() > 10 and (found.force[~ok] == 0).all() and (found.joint[~ok] == -1).all()
    tau = robot.static_torque(q, {robot.tip: found.force[:, None] * F}, gravity=gravity)[ok]
    assert error(found.torque[ok], tau) < SOLVED
    assert np.allclose((np.abs(tau) / t).max(axis=-1), 1)
    assert np.array_equal((np.abs(tau) / t).argmax(axis=-1), found.joint[ok])
    more = robot.static_torque(q, {robot.tip: 1.001 * found.force[:, None] * F + 1e-6 * F}, gravity=gravity)[ok]
    assert ((np.abs(more) / t).max(axis=-1) > 1).all()


def test_largest_force_against_the_linear_program():
    """One unknown or six: the ratio test and HiGHS agree when the other components are held at zero."""
    pytest.importorskip("scipy")
    robot = arm("puma560")
    others = np.eye(6)[[0, 1, 3, 4, 5]]
    for q in states(robot, 5):
        ratio = largest_force(robot, q, [0, 0, -1])
        program = largest_wrench(robot, q, [0, 0, -1, 0, 0, 0], A_eq=others)
        assert program.status == "optimal" and np.isclose(program.value, ratio.force, rtol=1e-9)
        assert program.excess < 1e-9
        free = largest_wrench(robot, q, [0, 0, -1, 0, 0, 0])
        assert free.value >= program.value - 1e-9  # fewer constraints, no less force
        assert error(free.torque, robot.static_torque(q, {robot.tip: free.wrench}, gravity=True)) < ROUNDING
        cone = largest_wrench(robot, q, [0, 0, -1, 0, 0, 0], A_ub=[[1, 0, 0.5, 0, 0, 0], [-1, 0, 0.5, 0, 0, 0]])
        assert cone.value <= free.value + 1e-9 and abs(cone.wrench[0]) <= -0.5 * cone.wrench[2] + 1e-9


def test_planar_arm_stretched_out_bears_any_force():
    """Along the links no joint feels the force; across them l₁ + l₂ is the lever."""
    robot, t = arm("planar-2r").with_gravity((0, 0, 0)), [10.0, 10.0]
    along = robot.largest_force([0.0, 0.0], [1, 0, 0], torque_limits=t)
    assert np.isinf(along.force) and along.joint == -1 and along.feasible and np.isfinite(along.torque).all()
    across = robot.largest_force([0.0, 0.0], [0, 1, 0], torque_limits=t)
    assert np.isclose(across.force, 5) and across.joint == 0
    assert np.isclose(robot.largest_force([0, np.pi / 2], [1, 0, 0], torque_limits=t).force, 10)


def test_an_arm_that_cannot_hold_itself():
    """Gravity alone overloads joint 1; a push from below helps, and between two forces it stands."""
    robot, q = arm("planar-2r"), [0.0, 0.0]
    g = robot.gravity_torque(q)  # (19.62, 4.905)
    weak = [0.5 * g[0], 10.0]
    assert not robot.largest_force(q, [0, -1, 0], torque_limits=weak).feasible  # a load makes it worse
    leaning = robot.largest_force(q, [0, 1, 0], torque_limits=weak)
    assert leaning.feasible and 0 < leaning.least < leaning.force
    assert np.isclose(leaning.least, 0.5 * g[0] / 2)
    idle = robot.largest_force(q, [1, 0, 0], torque_limits=weak)
    assert not idle.feasible and idle.force == 0


def test_programs_without_an_answer():
    pytest.importorskip("scipy")
    robot = arm("planar-2r")
    q = [0.0, 0.0]
    assert largest_wrench(robot, q, [1, 0, 0, 0, 0, 0], torque_limits=[50, 50]).status == "unbounded"
    weak = largest_wrench(robot, q, [1, 0, 0, 0, 0, 0], torque_limits=[1, 1], A_eq=np.eye(6))
    assert weak.status == "infeasible" and weak.wrench is None and weak.value == -np.inf


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda r: r.static_torque(np.zeros(6), {r.tip: np.zeros(3)}), "last dimension must be 6"),
        (lambda r: r.static_torque(np.zeros(6), {r.tip: [np.nan] * 6}), r"wrenches.* is nan"),
        (lambda r: r.static_torque(np.zeros((2, 6)), {r.tip: np.zeros((3, 6))}), "do not broadcast"),
        (lambda r: r.largest_force(np.zeros(6), [0, 0, 0]), "must not be zero"),
        (lambda r: r.largest_force(np.zeros(6), [0, 1]), "must be 3"),
        (lambda r: r.largest_force(np.zeros(6), [0, 0, 1], torque_limits=[1, 2]), "6 numbers"),
        (lambda r: r.largest_force(np.zeros(6), [0, 0, 1], torque_limits=-1), "≥ 0"),
        (lambda r: largest_wrench(r, np.zeros((2, 6)), np.ones(6)), "one state"),
        (lambda r: largest_wrench(r, np.zeros(6), np.ones(6), A_ub=np.ones((2, 5))), "A_ub has shape .2, 5."),
        (lambda r: largest_wrench(r, np.zeros(6), np.ones(6), A_ub=np.ones((2, 6)), b_ub=[1]), "one per row of A"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(dl.InputError, match=message):
        call(arm("puma560"))


def test_a_batch_is_a_loop():
    robot = arm("panda")
    q = states(robot, 6).reshape(2, 3, 7)
    found = robot.largest_force(q, [0, 0, -1.0])
    for i in range(2):
        for j in range(3):
            one = robot.largest_force(q[i, j], [0, 0, -1.0])
            assert found.force[i, j] == one.force and found.joint[i, j] == one.joint
