"""Optimal control: linear quadratic problems in closed form, costs and dynamics of all systems, one and many."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from tests.test_own_system import CartPole

import dalembert as dl
from dalembert.optimal import OptimalControl, effort, posture, speed, state, tip
from dalembert.scalar import where
from errors import raises

ARM = dl.load("planar-2r")


def linear_flow(A, B, positions=0):
    A, B = np.asarray(A), np.asarray(B)
    states, inputs = tuple(f"x{k}" for k in range(len(A))), tuple(f"u{k}" for k in range(B.shape[1]))

    def rate(t, x, u):
        rows = zip(A.tolist(), B.tolist(), strict=True)
        return [
            sum(a * b for a, b in zip(r, x, strict=True)) + sum(a * b for a, b in zip(s, u, strict=True))
            for r, s in rows
        ]

    return dl.Flow("linear", states, inputs, rate, positions=positions)


def riccati(A, B, Q, R, P, N):
    """Gains of the finite horizon, and the cost matrix of the first node."""
    gains = []
    for _ in range(N):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        gains.append(-K)
    return np.array(gains[::-1]), P


@pytest.mark.parametrize("n", [2, 5, 9])
def test_a_linear_quadratic_problem_is_solved_in_one_step(n):
    rng = np.random.default_rng(n)
    A, B, h, N = rng.normal(size=(n, n)), rng.normal(size=(n, 2)), 0.05, 40
    q, r, end = rng.uniform(0.5, 2, n), rng.uniform(0.5, 2, 2), rng.uniform(1, 5, n)
    problem = OptimalControl(
        linear_flow(A, B), N * h, h, running=[state([0.0] * n, q), effort(r)], terminal=state([0.0] * n, end)
    )
    x0 = rng.normal(size=n)
    found = problem.solve(x0)
    Ad, Bd = np.eye(n) + h * A, h * B
    K, P = riccati(Ad, Bd, h * np.diag(q), h * np.diag(r), np.diag(end), N)
    np.testing.assert_allclose(found.gains, K, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.cost, 0.5 * x0 @ P @ x0, rtol=1e-10)
    x = x0
    for k in range(N):
        np.testing.assert_allclose(found.u[k], K[k] @ x, rtol=1e-9, atol=1e-10)
        x = Ad @ x + Bd @ K[k] @ x
    assert found.converged and found.iterations <= 3 and found.defect < 1e-12


def test_a_long_horizon_is_that_of_the_algebraic_equation():
    from scipy.linalg import solve_discrete_are

    h = 0.05  # a double pendulum, linearized: semi-implicit, with the structure of a second-order system
    M, G = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[3.0, -1.0], [-1.0, 2.0]])
    Aq, Bq = np.linalg.solve(M, G), np.linalg.inv(M)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [Aq, np.zeros((2, 2))]])
    B = np.vstack((np.zeros((2, 2)), Bq))
    problem = OptimalControl(linear_flow(A, B, positions=2), 400 * h, h, running=[state([0.0] * 4, 1.0), effort(0.1)])
    assert problem.lean
    found = problem.solve([1.0, -1.0, 0.0, 0.0])
    step = np.block([[np.eye(2) + h * h * Aq, h * np.eye(2)], [h * Aq, np.eye(2)]])
    drive = np.vstack((h * h * Bq, h * Bq))
    P = solve_discrete_are(step, drive, h * np.eye(4), 0.1 * h * np.eye(2))
    K = -np.linalg.solve(0.1 * h * np.eye(2) + drive.T @ P @ drive, drive.T @ P @ step)
    np.testing.assert_allclose(found.gains[0], K, rtol=1e-10)
    x0 = found.x[0]
    np.testing.assert_allclose(found.cost, 0.5 * x0 @ P @ x0, rtol=1e-10)


def systems():
    panda = dl.load("panda")
    yield "panda", panda, "semi-implicit-euler"
    yield "cart-pole", CartPole(), "semi-implicit-euler"
    yield "cart-pole", CartPole(), "rk4"
    arm = dl.load("planar-2r")
    yield "planar-2r", arm, "rk4"
    yield "flexible", dl.FlexibleRobot(arm, stiffness=100.0, rotor_inertia=0.1), "semi-implicit-euler"


@pytest.mark.parametrize(("name", "system", "method"), list(systems()))
def test_derivatives_of_the_cost_agree_with_differences(name, system, method):
    """dJ/du of the rolled-out cost, by the adjoint of what the stage gives, against differences."""
    problem = OptimalControl(
        system,
        0.05,
        0.01,
        running=[lambda q, u: [2.0 * q[0] * u[0], q[-1] - 0.3], lambda x, u: u[0] * u[0] * x[0]],
        terminal=lambda x: [a - 0.1 for a in x],
        method=method,
    )
    rng = np.random.default_rng(1)
    N, n, m, y = problem.N, problem.n, problem.m, problem.layout
    x0, us = rng.uniform(-0.3, 0.3, n), rng.uniform(-1, 1, (N, m))

    def roll(us):
        xs = [x0]
        for u in us:
            xs.append(problem.stepper(xs[-1], u, np.zeros(1)))
        running, terminal = problem.plain
        return np.array(xs), sum(running(x, u, np.zeros(1)) for x, u in zip(xs, us, strict=False)) + terminal(
            xs[-1], np.zeros(1)
        )

    from dalembert.compile import Kernel

    stage = Kernel("stage", problem.sweep.stage, ((n,), (m,), (n,), (1,)), tuple(y.stage))
    end = Kernel("end", problem.sweep.terminal, ((n,), (1,)), tuple(y.terminal))
    xs, _ = roll(us)
    costate = end(xs[-1], np.zeros(1))[0][:n, n]
    gradient = np.zeros((N, m))
    for k in reversed(range(N)):
        F, Hu, Hx, gap, _ = stage(xs[k], us[k], xs[k + 1], np.zeros(1))
        assert np.abs(gap).max() < 1e-12
        rows = F[:, : y.U][:, :m], F[:, y.U : y.U + n]
        B, A = (np.vstack((0.01 * G, G)) for G in rows) if problem.lean else rows
        if problem.lean:
            A = A + np.eye(n)[:, :] * np.r_[np.ones(n // 2), np.zeros(n // 2)]
        gradient[k] = Hu[:, y.U + n] + B.T @ costate
        costate = Hx[:n, n] + A.T @ costate
    e = rng.normal(size=(N, m))
    s = 1e-4
    costs = [roll(us + a * s * e)[1] for a in (-2, -1, 1, 2)]
    along = (costs[0] - 8 * costs[1] + 8 * costs[2] - costs[3]) / (12 * s)
    np.testing.assert_allclose((gradient * e).sum(), along, rtol=1e-7)


PANDA = dl.load("panda")
REACH = OptimalControl(
    PANDA,
    0.2,
    0.01,
    running=[effort(1e-3), speed(0.1), posture("rest", 0.01)],
    terminal=[tip(PANDA, "goal", 100.0), speed(1.0)],
    limits={"u": PANDA.limits.effort},
    parameters={"goal": PANDA.fk(PANDA.home), "rest": PANDA.home},
)


def test_many_problems_are_each_solved_as_if_alone():
    rng = np.random.default_rng(3)
    x0 = np.concatenate((PANDA.home + 0.3 * rng.normal(size=(37, 7)), np.zeros((37, 7))), 1)
    goals = PANDA.fk(PANDA.home + 0.3 * rng.normal(size=(37, 7)))
    many = REACH.solve(x0, goal=goals)
    assert many.x.shape == (37, 21, 14) and many.converged.all()
    for k in (0, 7, 8, 31, 36):
        one = REACH.solve(x0[k], goal=goals[k])
        for name in ("x", "u", "gains", "cost", "gradient", "iterations"):
            assert np.array_equal(getattr(one, name), getattr(many, name)[k]), name


def test_a_reach_ends_at_its_goal_within_its_torques():
    x0 = np.concatenate((PANDA.home, np.zeros(7)))
    goal = PANDA.fk(PANDA.home + 0.2)
    found = REACH.solve(x0, goal=goal)
    assert found.converged and found.gradient < 1e-4 and found.defect < 1e-12
    assert (np.abs(found.u) <= PANDA.limits.effort).all()
    assert np.linalg.norm(PANDA.fk(found.q[-1])[:3, 3] - goal[:3, 3]) < 0.03
    assert "converged" in repr(found) and found.history.shape[1] == 4
    again = REACH.solve(x0, goal=goal, u=found.u, x=found.x)  # a warm start stays
    assert again.iterations <= 2 and abs(again.cost - found.cost) < 1e-9


def test_a_bad_guess_of_states_is_made_whole():
    rng = np.random.default_rng(0)
    x0 = np.concatenate((PANDA.home, np.zeros(7)))
    goal = PANDA.fk(PANDA.home + 0.2)
    wild = np.tile(x0, (21, 1)) + 0.05 * rng.normal(size=(21, 14))
    found = REACH.solve(x0, goal=goal, x=wild, u=rng.normal(size=(20, 7)))
    straight = REACH.solve(x0, goal=goal)
    assert found.converged and found.defect < 1e-8
    assert abs(found.cost - straight.cost) < 1e-6 * straight.cost
    assert found.history[0, 2] > 1.0 and found.history[-1, 2] < 1e-8


def test_an_interrupt_keeps_the_best():
    x0 = np.concatenate((PANDA.home, np.zeros(7)))
    calls = []

    def stop(first, total):
        calls.append(first)
        if len(calls) == 4:
            raise KeyboardInterrupt

    found = REACH.solve(x0, goal=PANDA.fk(PANDA.home + 0.3), progress=stop)
    assert found.reason == "interrupted" and not found.converged and found.iterations == 4
    assert found.cost < found.history[0, 0] and found.defect < 1e-12


def test_moving_parameters_are_waypoints():
    arm = dl.load("planar-2r")
    heavy = np.zeros(41)
    heavy[20] = 1e6
    problem = OptimalControl(
        arm,
        0.4,
        0.01,
        running=[effort(1e-3), lambda q, via, heavy: [heavy * (a - b) for a, b in zip(q, via, strict=True)]],
        terminal=state([0.5, 0.5, 0, 0], 1e4),
        parameters={"via": [0.3, -0.2], "heavy": np.sqrt(heavy)},
        moving=["heavy"],
    )
    found = problem.solve(np.zeros(4))
    assert found.converged
    np.testing.assert_allclose(found.q[20], [0.3, -0.2], atol=2e-3)
    np.testing.assert_allclose(found.q[-1], [0.5, 0.5], atol=2e-2)


def test_exact_second_derivatives_reach_the_same_motion_sooner():
    common = {
        "running": [effort(0.01), state([0, np.pi, 0, 0], [0.1, 1, 0.01, 0.01])],
        "terminal": state([0, np.pi, 0, 0], 100.0),
    }
    found = [OptimalControl(CartPole(), 2.0, 0.02, exact=e, **common).solve([0, 0.01, 0, 0]) for e in (False, True)]
    assert all(f.converged for f in found)
    np.testing.assert_allclose(found[0].cost, found[1].cost, rtol=1e-7)
    last = [f.history[-4:, 1] for f in found]  # linear against faster than linear
    assert last[1][-1] / last[1][-2] < 0.1 < last[0][-1] / last[0][-2]


def test_the_motion_is_a_controller():
    x0 = np.concatenate((PANDA.home, np.zeros(7)))
    goal = PANDA.fk(PANDA.home + 0.2)
    found = REACH.solve(x0, goal=goal)
    run = dl.simulate(
        PANDA,
        found,
        x0=x0 + 0.01,
        duration=0.2,
        dt=0.01,
        solver="semi-implicit-euler",
        sensors=dl.Sensors(sample_time=0.01),
    )
    off = np.linalg.norm(PANDA.fk(run.q[-1])[:3, 3] - PANDA.fk(found.q[-1])[:3, 3])
    assert off < np.linalg.norm(PANDA.fk(PANDA.home + 0.01)[:3, 3] - PANDA.fk(PANDA.home)[:3, 3])


def test_inputs_in_another_order_are_the_same_problem():
    target, names = [0.3, 0.2, 0.0, 0.0], ARM.flow().inputs
    words = {"running": effort(1e-3), "terminal": state(target, 1e3)}
    one = OptimalControl(ARM, 0.4, 0.02, **words).solve(np.zeros(4))
    other = OptimalControl(ARM, 0.4, 0.02, inputs=names[::-1], **words).solve(np.zeros(4))
    assert one.converged and other.converged
    np.testing.assert_allclose(other.u[:, ::-1], one.u, atol=1e-9)
    with pytest.raises(dl.InputError, match="different names"):
        OptimalControl(ARM, 0.4, 0.02, inputs=names[:1] * 2, **words)


@pytest.mark.parametrize("unit", [1e-4, 1e-9, 1e4])
def test_the_unit_of_the_cost_does_not_matter(unit):
    target = [0.3, 0.2, 0.0, 0.0]
    one, other = (
        OptimalControl(ARM, 0.4, 0.02, running=effort(1e-3 * s), terminal=state(target, 1e3 * s)).solve(np.zeros(4))
        for s in (1.0, unit)
    )
    assert other.converged
    np.testing.assert_allclose(other.cost / unit, one.cost, rtol=1e-6)
    np.testing.assert_allclose(other.u, one.u, atol=1e-3 * np.abs(one.u).max())


def test_no_problem_at_all_has_the_shapes_of_many():
    found = OptimalControl(ARM, 0.1, 0.02, running=effort()).solve(np.zeros((3, 0, 4)))
    assert found.u.shape == (3, 0, 5, 2) and found.converged.shape == (3, 0)


def test_parameters_that_nothing_reads_are_refused():
    def made(**words):
        return OptimalControl(ARM, 0.1, 0.02, running=[effort(), lambda q, tolerance: [q[0] - tolerance]], **words)

    with raises(dl.InputError, "conflict parameters"):
        made(parameters={"tolerance": 1.0})
    first = ARM.flow().inputs[0]
    for name, words in (("payload_mas", "no-effect parameters"), (first, "conflict parameters")):
        with raises(dl.InputError, words):
            OptimalControl(ARM, 0.1, 0.02, running=effort(), parameters={name: 2.0})
    with raises(dl.InputError, "missing parameters"):
        OptimalControl(ARM.flow(payload=(0.0, 0.0, 0.0)), 0.1, 0.02, running=effort())
    with raises(dl.InputError, "missing running"):
        OptimalControl(ARM, 0.1, 0.02, terminal=[])
    with raises(dl.InputError, "wrong-type running"):
        OptimalControl(ARM, 0.1, 0.02, running=lambda u: (x for x in u)).solve(np.zeros(4))


@pytest.mark.parametrize("inputs", [("joint2_torque", "joint1_torque"), ("joint2_torque",)])
def test_an_optimum_drives_its_inputs_by_name(inputs):
    problem = OptimalControl(
        ARM, 0.2, 0.02, running=effort(1e-3), terminal=state([0.3, 0.2, 0, 0], 10.0), inputs=inputs
    )
    best = problem.solve(np.zeros(4))
    run = dl.simulate(ARM, best, x0=np.zeros(4), duration=0.2, dt=0.02, solver=dl.Solver("semi-implicit-euler"))
    np.testing.assert_allclose(run.x[-1], best.x[-1], atol=1e-9)
    e = dl.Experiment(ARM, best, dt=0.02, solver="semi-implicit-euler")
    many = e.batch(q0=[[0.0, 0.0], [0.01, 0.0]], duration=0.2)
    np.testing.assert_array_equal(many.last[0, :4], run.x[-1])
    assert 0.0 < np.abs(many.last[1, :4] - run.x[-1]).max() < 0.02


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"running": lambda q: None}, "running gives NoneType; it must give a number"),
        ({"running": lambda q: 1j}, "running gives complex"),
        ({"running": lambda q: [Decimal(1)]}, "running gives Decimal"),
        ({"running": lambda q: q.sum()}, "running cannot be traced: .*has no attribute 'sum'"),
        ({"running": lambda q: q[0] > 0.0}, r"a comparison is used as a number: where\(a < b, 1.0, 0.0\) is one"),
        ({"running": lambda q: where(q[0], 1.0, 0.0)}, "chooses by a comparison"),
        ({"running": lambda **given: given["q"][0]}, "whose arguments have names: q, v, u, …, not"),
        ({"inequalities": lambda q: None}, "inequalities gives NoneType"),
        ({"limits": [1.0, 2.0]}, "limits is a dictionary of names and values"),
        ({"parameters": {3: 1.0}}, "parameters is a dictionary of names and values"),
        ({"inputs": 3}, r"inputs is a list of names: inputs=\[3\]"),
        ({"terminal": lambda: tip(dl.load("planar-2r"), 2.0 * np.eye(4))}, "a target must be a pose"),
        ({"terminal": lambda: tip("panda", np.eye(4))}, r"tip takes a Robot"),
        ({"terminal": lambda: tip(dl.load("panda"), np.eye(4))}, "tip is of 'panda', 7 positions; the system has 2"),
    ],
)
def test_what_is_no_cost_or_no_list_is_told(words, sentence):
    given = {"running": effort()} | words
    with pytest.raises(dl.InputError, match=sentence):
        if "terminal" in given:
            given["terminal"] = given["terminal"]()
        OptimalControl(dl.load("planar-2r"), 0.1, 0.05, **given).solve(np.zeros(4))


def test_steps_that_are_too_long_are_told_in_batches_too():
    problem = OptimalControl(
        dl.load("planar-2r"), 40.0, 4.0, running=effort(1e-2), terminal=state([0.3, 0.2, 0.0, 0.0], 10.0)
    )
    alone, many = problem.solve(np.zeros(4)), problem.solve(np.zeros((2, 4)))
    assert "dt is too long" in alone.reason and not alone.converged
    assert list(many.reason) == [alone.reason] * 2 and not many.converged.any()
    with raises(dl.InputError, "wrong-type progress"):
        problem.solve(np.zeros(4), progress=3)
