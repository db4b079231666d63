"""Positions on a manifold: floating, spherical and planar joints. Optimal by finite differences along the group."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.description import Description, Inertial, Joint, Link, Origin
from dalembert.optimal import OptimalControl, effort, posture, speed, state
from errors import raises

TURNED = [0.8, 0.4, 0.3, 0.0, 0.0, np.sin(0.7), np.cos(0.7)]


def body(kind, com=(0.0, 0.0, 0.0), gravity=(0, 0, -9.81)):
    inertial = Inertial(1.0, (0.02, 0, 0, 0.03, 0, 0.04), Origin(com))
    links, joints = (Link("world"), Link("body", inertial)), (Joint("root", kind, "world", "body"),)
    return dl.Robot(Description(kind, links, joints, gravity=gravity))


def free_flyer():
    """A satellite with an arm of two joints, in space."""
    satellite, link = (
        Inertial(8.0, (0.5, 0, 0, 0.6, 0, 0.7)),
        Inertial(1.0, (0.01, 0, 0, 0.02, 0, 0.02), Origin((0.2, 0, 0))),
    )
    links = (Link("world"), Link("base", satellite), Link("upper", link), Link("lower", link))
    joints = (
        Joint("root", "floating", "world", "base"),
        Joint("shoulder", "revolute", "base", "upper", origin=Origin((0.3, 0, 0)), axis=(0, 0, 1)),
        Joint("elbow", "revolute", "upper", "lower", origin=Origin((0.4, 0, 0)), axis=(0, 0, 1)),
    )
    return dl.Robot(Description("free-flyer", links, joints, gravity=(0, 0, 0)))


def pendulum(method="semi-implicit-euler", **words):
    """A ball joint that swings up within torques too weak to hold it."""
    robot = body("spherical", (0, 0, -0.5))
    problem = OptimalControl(
        robot,
        1.6,
        0.04,
        running=[effort(0.1), speed(0.01)],
        terminal=[posture([1.0, 0.0, 0.0, 0.0], 100.0), speed(10.0)],
        method=method,
        **words,
    )
    return problem, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.3, 0.1, 0.05]


def quadrotor(method="semi-implicit-euler", **words):
    """Thrust along its own axis, and three torques."""
    problem = OptimalControl(
        body("floating"),
        1.2,
        0.04,
        running=[effort([0.01, 1, 1, 1]), speed(0.01)],
        terminal=state([*TURNED, *[0.0] * 6], [100.0] * 6 + [10.0] * 6),
        inputs=["root_fz", "root_nx", "root_ny", "root_nz"],
        method=method,
        **words,
    )
    return problem, [0.0] * 6 + [1.0] + [0.0] * 6, [9.81, 0.0, 0.0, 0.0]


def flight(**words):
    """The same to a goal that is a parameter, over a horizon that predictive control can look ahead."""
    given = {"limits": {"root_fz": (0.0, 20.0)}, "parameters": {"goal": TURNED}} | words
    problem = OptimalControl(
        body("floating"),
        0.6,
        0.04,
        running=[effort([0.01, 1, 1, 1]), speed(0.01), posture("goal", 1.0)],
        terminal=[posture("goal", 100.0), speed(10.0)],
        inputs=["root_fz", "root_nx", "root_ny", "root_nz"],
        **given,
    )
    return problem, np.array([0.0] * 6 + [1.0] + [0.0] * 6)


def cart(**words):
    """A planar base pushed and turned."""
    problem = OptimalControl(
        body("planar", (0.1, 0.0, 0.0)),
        1.0,
        0.05,
        running=[effort(0.1), speed(0.01)],
        terminal=[posture([0.5, 0.5, 2.0], 100.0), speed(10.0)],
        inputs=[name for name in body("planar").flow().inputs if not name.endswith("fy")][:2],
        **words,
    )
    return problem, [0.0] * 6, None


def cost_of(problem, x0, u):
    """Σ ℓ dt + ℓ_N of inputs, by the steps of whole states and costs evaluated on floats."""
    from dalembert.optimal.terms import evaluate, total

    x, p, cost = list(map(float, x0)), problem.parameters_at()[0].tolist(), 0.0
    for row in u.tolist():
        cost += problem.dt * total(*evaluate("running", problem.terms["running"], problem._read(x, row, p)))
        x = [float(a) for a in problem.advance(x, row, p)]
    return cost + total(*evaluate("terminal", problem.terms["terminal"], problem._read(x, (), p)))


CASES = {
    "spherical": pendulum,
    "spherical, RK4": lambda: pendulum("rk4"),
    "floating": quadrotor,
    "planar": cart,
    "spherical, exact": lambda: pendulum(exact=True),
}


@pytest.mark.parametrize("name", CASES)
def test_motions_on_manifolds_are_optimal(name):
    problem, x0, u = CASES[name]()
    found = problem.solve(x0, u=u)
    assert found.converged and found.defect < 1e-12, found
    quaternions = found.q[:, -4:] if name != "planar" else np.tile([0, 0, 0, 1.0], (2, 1))
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, atol=1e-12)
    cost = cost_of(problem, x0, found.u)
    np.testing.assert_allclose(cost, found.cost, rtol=1e-12)
    rng, eps = np.random.default_rng(0), 1e-4
    for _ in range(3):
        d = rng.normal(size=found.u.shape)
        ahead, behind = (cost_of(problem, x0, found.u + s * eps * d) for s in (1, -1))
        slope, bend = (ahead - behind) / (2 * eps), (ahead - 2 * cost + behind) / eps**2
        assert bend > 0 and slope**2 / bend < 1e-8 * cost  # what a better step would still gain


def test_gains_hold_the_motion_on_the_group():
    problem, x0, u = quadrotor()
    found = problem.solve(x0, u=u)
    assert found.gains.shape == (30, 4, 12) and found.x.shape == (31, 13)
    robot, off = problem.system, 0.02 * np.random.default_rng(1).normal(size=6)
    x = np.concatenate((robot.integrate(np.array(x0[:7]), off), np.zeros(6)))
    plain, p = x, problem.parameters_at()[0]
    for k in range(problem.N):
        plain = problem.mover(plain, found.u[k], p)
        x = problem.mover(x, found(found.t[k], x), p)
    errors = [np.linalg.norm(robot.difference(found.q[-1], y[:7])) for y in (plain, x)]
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.long
def test_a_free_flying_arm_turns_its_base():
    """No drive moves the base, and its momentum stays zero: it turns by the arm's motion alone."""
    robot = free_flyer()
    problem = OptimalControl(
        robot,
        1.5,
        0.05,
        running=[effort(1e-2), speed(1e-2)],
        terminal=[lambda q: [30.0 * (2.0 * q[5] * q[6] - 0.12)], speed(3.0)],  # sin of its turn about z
    )
    assert problem.chosen == ("shoulder_torque", "elbow_torque") and not problem.lean
    x0 = np.concatenate((robot.neutral, np.zeros(8)))
    found = problem.solve(x0, u=[0.05, -0.02])
    assert found.converged and abs(2.0 * found.q[-1, 5] * found.q[-1, 6] - 0.12) < 0.01
    assert np.abs(robot.momentum(found.q, found.v, "com")).max() < 0.05  # but for the first order of the step


def test_no_drive_moves_a_free_base():
    """Neither of a robot, nor under constraints, nor of their flows, unless `inputs` names it."""
    robot = free_flyer()
    held = dl.Constrained(robot, dl.constrained.hold("ball", "lower"))
    for system in (robot, held, robot.flow(friction=True), held.flow()):
        problem = OptimalControl(system, 0.1, 0.05, running=effort())
        assert problem.chosen == ("shoulder_torque", "elbow_torque")
    problem = OptimalControl(held, 0.1, 0.05, running=effort(), inputs=["root_fx", "elbow_torque"])
    assert problem.chosen == ("root_fx", "elbow_torque")


@pytest.mark.long
def test_limits_are_kept_on_manifolds_and_the_same_alone_and_together():
    problem, x0, u = quadrotor(limits={"v": 0.9, "root_fz": (0.0, 14.0)})
    found = problem.solve(x0, u=u)
    assert found.converged and found.violation <= 1e-6 and np.abs(found.v).max() <= 0.9 + 1e-6
    assert np.abs(found.v).max() > 0.89
    free, starts = quadrotor()[0], np.tile(x0, (3, 1))
    starts[:, 0] = [0.0, 0.1, 0.2]
    many = free.solve(starts, u=u)
    alone = free.solve(starts[1], u=u)
    assert many.converged.all() and np.array_equal(alone.u, many.u[1]) and np.array_equal(alone.x, many.x[1])
    again = free.solve(starts[1], x=alone.x, u=alone.u)
    assert again.iterations <= 3 and abs(again.cost - alone.cost) < 1e-9


def test_what_positions_on_manifolds_need_is_said():
    problem = quadrotor()[0]
    with pytest.raises(dl.InputError, match="length"):
        problem.solve([0.0] * 6 + [2.0] + [0.0] * 6)
    flow = body("spherical").flow()
    from dataclasses import replace

    with raises(dl.InputError, "missing difference"):
        OptimalControl(replace(flow, difference=None), 1.0, 0.1, running=effort())
    moving, x0 = flight(parameters={"goal": np.tile([*TURNED], (16, 1))}, moving=["goal"])
    with raises(dl.InputError, "unsupported follows"):
        dl.PredictiveControl(moving, follows="goal")
    with raises(dl.InputError, "wrong-shape x0"):
        dl.PredictiveControl(moving).rollouts([x0[:12]], 0.4)


def test_a_quadrotor_flies_by_predictive_control():
    """In a simulation, in a batch of them, and by the controller's own steps: to the goal, each as if alone."""
    problem, x0 = flight()
    control, robot, words = dl.PredictiveControl(problem), problem.system, {"sensors": dl.Sensors(sample_time=0.04)}
    run = dl.simulate(robot, control, x0=x0, duration=2.0, dt=0.01, **words)
    assert np.abs(robot.difference(run.q[-1], TURNED)).max() < 0.01
    np.testing.assert_allclose(np.linalg.norm(run.q[:, 3:], axis=1), 1.0, atol=1e-12)
    starts = np.tile(x0, (3, 1))
    starts[:, 1] = [0.0, 0.2, -0.1]
    batch = dl.Experiment(robot, control, dt=0.01, **words).batch(x0=starts, duration=0.4)
    own = control.rollouts(starts, 2.0)
    assert own.x.shape == (3, 51, 13) and np.abs(robot.difference(own.x[:, -1, :7], TURNED)).max() < 0.01
    for k in range(3):
        alone = dl.simulate(robot, control, x0=starts[k], duration=0.4, dt=0.01, **words)
        np.testing.assert_array_equal(alone.q[-1], batch.q[k])
        assert np.array_equal(control.rollouts(starts[k : k + 1], 2.0).u[0], own.u[k])
    assert own.u[..., 0].min() >= 0.0 and own.u[..., 0].max() <= 20.0


def test_limits_hold_in_predictive_control_on_a_manifold():
    problem, x0 = flight(limits={"v": 0.9, "root_fz": (0.0, 14.0)})
    runs = dl.PredictiveControl(problem, iterations=10).rollouts([x0], 1.2)
    assert 0.85 < np.abs(runs.x[..., 7:]).max() < 0.9 + 1e-5 and runs.u[..., 0].max() <= 14.0
    assert np.abs(problem.system.difference(runs.x[0, -1, :7], TURNED)).max() < 0.3


def test_moving_targets_and_a_budget_on_a_manifold():
    problem, x0 = flight()
    still, words = dl.PredictiveControl(problem), {"x0": x0, "duration": 0.4, "dt": 0.01}
    words["sensors"] = dl.Sensors(sample_time=0.04)
    told = dl.PredictiveControl(problem, targets=lambda t: {"goal": TURNED})
    run, same = (dl.simulate(problem.system, control, **words) for control in (still, told))
    np.testing.assert_array_equal(run.q, same.q)
    late = dl.PredictiveControl(problem, budget=1e-9)
    fed = dl.simulate(problem.system, late, **words)
    off = [np.linalg.norm(problem.system.difference(q, TURNED)) for q in fed.q[[0, -1]]]
    assert late.late == 9 and off[1] < 0.7 * off[0]  # the first plan, by its feedback alone
