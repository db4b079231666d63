"""Predictive control: in `simulate`, for many arms at once, with moving targets, within a budget of time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.optimal.test_problem import linear_flow
from tests.rollout_words import rollout_gradient, rollouts
from tests.test_own_system import CartPole

import dalembert as dl
from dalembert import scalar
from dalembert.errors import InputError
from dalembert.optimal import OptimalControl, PredictiveControl, effort, posture, speed, state, track
from dalembert.optimal.result import hold
from errors import raises
from free_arm import free_arm

ARM = dl.load("planar-2r")
PROBLEM = OptimalControl(
    ARM,
    0.3,
    0.02,
    running=[effort(1e-3), posture("goal", 50.0), speed(1.0)],
    terminal=[posture("goal", 50.0), speed(5.0)],
    limits={"u": 60.0},
    parameters={"goal": [0.5, 0.5]},
)


def test_an_arm_comes_to_its_goal_in_a_simulation_with_another_load():
    control = PredictiveControl(PROBLEM)
    run = dl.simulate(ARM, control, q0=[0.0, 0.0], duration=1.5, dt=0.002, sensors=dl.Sensors(sample_time=0.02))
    assert np.abs(run.q[-1] - [0.5, 0.5]).max() < 0.1 and np.abs(run.qd[-1]).max() < 0.05
    again = dl.simulate(ARM, control, q0=[0.0, 0.0], duration=1.5, dt=0.002, sensors=dl.Sensors(sample_time=0.02))
    assert np.array_equal(run.q, again.q)  # the memory begins anew with each run


def test_a_guess_decides_which_way_it_goes():
    """Half a turn either way costs the same: the plan goes the way of the guess."""
    arm = dl.load("planar-1r")

    def far(q):
        return [10.0 * (1.0 + scalar.cos(q[0]))]

    problem = OptimalControl(arm, 0.5, 0.05, running=effort(1e-3), terminal=far)
    x0, still, u = np.zeros(2), arm.gravity_torque([0.0]), np.ones((10, 1))
    ways = {side: problem.solve(x0, u=still + side * u) for side in (-1, 1)}
    for side, found in ways.items():
        assert side * found.q[-1, 0] > 0.5
        for guess in (found, (found.x, found.u), (None, found.u)):
            run = dl.simulate(arm, PredictiveControl(problem, guess=guess), x0=x0, duration=0.3, dt=0.01)
            assert side * run.q[-1, 0] > 0.1
    for guess, words in (
        (3, "wrong-type guess"),
        ((ways[1].x, u[1:]), "wrong-shape guess"),
        ((x0, None), "wrong-shape guess"),
    ):
        with raises(InputError, words):
            PredictiveControl(problem, guess=guess)
    fenced = OptimalControl(arm, 0.5, 0.05, running=effort(1e-3), terminal=far, limits={"v": 50.0})
    assert PredictiveControl(fenced, guess=ways[-1])(0.0, x0) < still


def test_it_begins_with_the_inputs_that_hold_the_start():
    """Gravity torques of an arm; of a robot on contacts those of its balance; nothing where none hold it."""
    q = np.array([0.3, -0.2])
    problem = OptimalControl(ARM, 0.1, 0.05, running=effort())
    np.testing.assert_allclose(hold(problem, np.r_[q, 1.0, 2.0]), ARM.gravity_torque(q), rtol=1e-9)
    robot = free_arm("floating")
    feet = dl.constrained.contact("base", robot.fk(robot.home, "base"), sole=(0.8, 0.8))
    system, x0 = dl.Constrained(robot, feet), np.r_[robot.home, np.zeros(robot.nv)]
    problem = OptimalControl(system, 0.1, 0.05, running=effort())
    np.testing.assert_allclose(hold(problem, x0), system.balance(robot.home).tau[6:], atol=1e-9)
    small = dl.Constrained(robot, dl.constrained.contact("base", robot.fk(robot.home, "base"), sole=(0.1, 0.1)))
    problem = OptimalControl(small.flow(), 0.1, 0.05, running=effort())  # of a flow nobody knows what its contacts bear
    np.testing.assert_allclose(hold(problem, x0), robot.gravity_torque(robot.home)[6:], atol=1e-9)
    assert not hold(OptimalControl(robot, 0.1, 0.05, running=effort()), x0).any()  # it falls


def test_it_is_the_regulator_of_a_linear_system():
    """Of a linear quadratic problem one iteration is all: u = −K x of the horizon, at every sample."""
    A, B, h = np.array([[0.0, 1.0], [2.0, -0.3]]), np.array([[0.0], [1.0]]), 0.05
    problem = OptimalControl(
        linear_flow(A, B), 1.0, h, running=[state([0, 0], 1.0), effort(0.1)], terminal=state([0, 0], 3.0)
    )
    K = problem.solve([1.0, 0.0]).gains[0]
    control, x = PredictiveControl(problem), np.array([1.0, -0.4])
    for k in range(120):
        u = control(k * h, x)
        np.testing.assert_allclose(u, K @ x, rtol=1e-9, atol=1e-12)
        x = x + h * (A @ x + B @ u)
    assert np.abs(x).max() < 0.1


def test_many_arms_run_each_as_if_alone():
    rng = np.random.default_rng(0)
    x0 = np.concatenate((rng.uniform(-0.5, 0.5, (70, 2)), np.zeros((70, 2))), 1)
    goals = rng.uniform(-1, 1, (70, 2))
    many = PredictiveControl(PROBLEM).rollouts(x0, 0.4, parameters={"goal": goals})
    assert many.x.shape == (70, 21, 4) and many.u.shape == (70, 20, 2)
    for k in (0, 33, 69):
        one = PredictiveControl(PROBLEM).rollouts(x0[k : k + 1], 0.4, parameters={"goal": goals[k : k + 1]})
        assert np.array_equal(one.x[0], many.x[k]) and np.array_equal(one.u[0], many.u[k])
    assert np.abs(many.u).max() <= 60.0


def test_targets_move():
    moving = OptimalControl(
        ARM,
        0.3,
        0.02,
        running=[effort(1e-5), posture("goal", 100.0)],
        parameters={"goal": np.zeros((16, 2))},
        moving=["goal"],
    )

    def targets(t):
        return {"goal": np.stack((0.3 * np.sin(2 * t), 0.2 * np.cos(2 * t)), -1)}

    control = PredictiveControl(moving, iterations=2, targets=targets, rate=50.0)
    assert control.sample_time == 0.02
    run = dl.simulate(ARM, control, q0=[0.0, 0.2], duration=2.0, dt=0.002, sensors=dl.Sensors(sample_time=0.02))
    late = run.t > 0.5
    wanted = targets(run.t[late])["goal"]
    assert np.abs(run.q[late] - wanted).max() < 0.05


def test_a_pole_is_balanced_and_time_may_run_out():
    upright = np.array([0.0, np.pi, 0.0, 0.0])
    problem = OptimalControl(
        CartPole(), 1.0, 0.05, running=[state(upright, 1.0), effort(0.01)], terminal=state(upright, 10.0)
    )
    for budget in (None, 1e-9):  # nothing at all may be computed: the plan's feedback acts, and then the plan is old
        control = PredictiveControl(problem, budget=budget)
        x = upright + np.array([0.1, 0.1, 0.0, 0.0])
        for k in range(12):
            x = problem.stepper(x, control(0.05 * k, x), np.zeros(1))
        assert np.abs(x - upright).max() < 0.2
        assert control.late == (0 if budget is None else 11)


def test_what_cannot_be_is_refused():
    with raises(dl.InputError, "wrong-type"):
        PredictiveControl(ARM)
    with raises(dl.InputError, "out-of-range iterations"):
        PredictiveControl(PROBLEM, iterations=0)
    with raises(dl.InputError, "wrong-type targets"):
        PredictiveControl(PROBLEM, targets=3)
    with raises(dl.InputError, "unsupported t"):
        dl.draw.phase_portrait(ARM, PredictiveControl(PROBLEM), states=("joint1", "joint1_rate"))
    with raises(dl.InputError, "conflict budget"):
        rollouts(ARM, PredictiveControl(PROBLEM, budget=1.0), q0=np.zeros((3, 2)), duration=0.1, dt=0.01)
    with pytest.raises(dl.InputError, match="asked in this process: leave out on="):
        rollouts(ARM, PredictiveControl(PROBLEM), q0=np.zeros((3, 2)), duration=0.1, dt=0.01, scheduler="local")
    with raises(dl.InputError, "unsupported controller"):
        rollout_gradient(
            ARM, PredictiveControl(PROBLEM), [0.0, 0.0], duration=0.1, dt=0.01, loss={"rms_torque": 1.0}, of="q0"
        )
    with pytest.raises(dl.InputError, match="follows no motion of the joints"):
        dl.control.compare({"mpc": PredictiveControl(PROBLEM)}, ARM, [0.5, 0.5])
    with pytest.raises(dl.InputError, match="its c_files"):
        dl.firmware.make_firmware(ARM, PredictiveControl(PROBLEM), sample_time=0.01)
    with raises(dl.InputError, "wrong-value follows"):
        PredictiveControl(PROBLEM, follows="goal")
    with raises(dl.InputError, "missing reference"):
        PredictiveControl.for_bandwidth(ARM, 5.0).rollouts(np.zeros((2, 4)), 0.1)
    with pytest.raises(dl.InputError, match="needs a reference"):
        PredictiveControl.for_bandwidth(ARM, 5.0)(0.0, np.zeros(4))
    with raises(dl.InputError, "conflict reference"):
        PredictiveControl(PROBLEM)(0.0, np.zeros(4), [0.5, 0.5])
    with raises(dl.InputError, "wrong-structure plant"):
        PredictiveControl(PROBLEM).rollouts(np.zeros((2, 4)), 0.1, plant=CartPole())
    with raises(dl.InputError, "not-finite x"):
        PredictiveControl(PROBLEM)(0.0, [0.0, np.nan, 0.0, 0.0])
    with raises(dl.InputError, "wrong-type targets"):
        PredictiveControl(PROBLEM, targets=lambda t: None)(0.0, np.zeros(4))
    text = PredictiveControl(PROBLEM).explain()
    assert "Lyapunov" in text and "argmin" in text


def test_the_plant_of_rollouts_carries_the_load_of_the_problem():
    problem = OptimalControl(
        ARM.flow(payload=(0.0, 0.0, 0.0)),
        0.3,
        0.02,
        running=[effort(1e-3), posture([0.5, 0.5], 50.0), speed(1.0)],
        parameters={"payload_mass": 2.0},
    )
    control, x0 = PredictiveControl(problem), np.zeros((2, 4))
    runs = control.rollouts(x0, 0.1, parameters={"payload_mass": [2.0, 0.5]})
    for k, mass in enumerate((2.0, 0.5)):
        P = problem.parameters_at(payload_mass=mass)
        np.testing.assert_array_equal(runs.x[k, 1], problem.stepper(x0[k], runs.u[k, 0], P[0]))
    same = control.rollouts(x0, 0.1, parameters={"payload_mass": 0.5})  # one for all
    assert np.array_equal(same.x[0], runs.x[1]) and np.array_equal(same.x[1], runs.x[1])
    with raises(dl.InputError, "wrong-shape payload_mass"):
        control.rollouts(x0, 0.1, parameters={"payload_mass": [1.0, 2.0, 3.0]})


def test_the_plant_of_rollouts_knows_the_time():
    flow = dl.Flow("pushed", ("x",), ("u",), lambda t, x, u: [u[0] + 10.0 * t], positions=0)
    runs = PredictiveControl(OptimalControl(flow, 0.5, 0.1, running=[state([0.0], 1.0), effort(1.0)])).rollouts(
        [[0]], 1
    )
    np.testing.assert_allclose(np.diff(runs.x[0, :, 0]), 0.1 * (runs.u[0, :, 0] + 10.0 * runs.t[:-1]), atol=1e-12)


def test_each_run_begins_anew_however_short_the_last_was():
    control, x = PredictiveControl(PROBLEM), np.array([0.3, 0.1, 0.0, 0.0])
    first = PredictiveControl(PROBLEM)(0.0, x)
    control(0.0, np.zeros(4))
    assert np.array_equal(control(0.0, x), first)
    control(0.005, np.zeros(4))
    assert np.array_equal(control(0.001, x), PredictiveControl(PROBLEM)(0.001, x))


def test_with_a_rate_the_input_is_held_between():
    control, x = PredictiveControl(PROBLEM, rate=50.0), np.zeros(4)
    u = [control(0.005 * k, x + 0.01 * k).tolist() for k in range(9)]
    assert u[0] == u[1] == u[2] == u[3] != u[4] == u[5] == u[7] != u[8]


def test_late_samples_use_the_gains_of_their_own_node():
    """Of a linear problem the plan is exact, and every late sample has u_k + K_k (x − x_k) of the first plan."""
    A, B, h = np.array([[0.0, 1.0], [2.0, -0.3]]), np.array([[0.0], [1.0]]), 0.05
    problem = OptimalControl(linear_flow(A, B), 0.5, h, running=effort(0.1), terminal=state([0, 0], 30.0))
    x = np.array([1.0, -0.4])
    best, control = problem.solve(x), PredictiveControl(problem, budget=1e-12)
    control(0.0, x)
    for k in range(1, 9):
        off = best.x[k] + [0.1, 0.05]
        np.testing.assert_allclose(control(k * h, off), best.u[k] + best.gains[k] @ (off - best.x[k]), atol=1e-7)
    assert control.late == 8


def test_the_first_plan_under_limits_of_states_has_the_targets_too():
    words = {"running": [effort(1e-4), posture("goal", 100.0)], "limits": {"v": 1.0}}
    one, other = (OptimalControl(ARM, 0.3, 0.02, parameters={"goal": g}, **words) for g in ([0.0, 0.0], [0.4, 0.2]))
    control = PredictiveControl(one, targets=lambda t: {"goal": [0.4, 0.2]})
    np.testing.assert_array_equal(control(0.0, np.zeros(4)), PredictiveControl(other)(0.0, np.zeros(4)))


# ------------------------------------------------------------------------------------------------- like any other law
SENSORS = dl.Sensors(sample_time=0.01, delay=0.01, quantization=1e-4)


def test_a_batch_is_as_many_runs_alone_each_with_a_goal_of_its_own():
    """More arms than are planned together, with noise, delay and limits: the bits of each alone, and of `simulate`."""
    rng = np.random.default_rng(1)
    q0, goals = rng.uniform(-0.5, 0.5, (70, 2)), rng.uniform(-1.0, 1.0, (70, 2))
    words = {"duration": 0.1, "dt": 0.002, "torque_limits": 55.0, "measures": "peak_torque", "keep": "all", "every": 7}
    sensors = dl.Sensors(sample_time=0.01, delay=0.01, noise=1e-4)

    def goal(k):
        return {"goal[0]": goals[k, 0], "goal[1]": goals[k, 1]}

    words |= {"sensors": sensors, "parameters": goal(slice(None)), "seed": 3}
    many = rollouts(ARM, PredictiveControl(PROBLEM), q0, **words)
    assert many.q.shape == (70, 9, 2) and np.abs(many["joint1_torque"]).max() <= 55.0
    apart = rollouts(ARM, PredictiveControl(PROBLEM), q0, chunk=9, threads=2, **words)
    np.testing.assert_array_equal(apart.rows, many.rows)
    words = {"duration": 0.1, "dt": 0.002, "torque_limits": 55.0}
    plain = rollouts(ARM, PredictiveControl(PROBLEM), q0, sensors=SENSORS, parameters=goal(slice(None)), **words)
    for k in (0, 40, 69):
        one = rollouts(ARM, PredictiveControl(PROBLEM), q0[k : k + 1], sensors=SENSORS, parameters=goal(k), **words)
        np.testing.assert_array_equal(one.last[0], plain.last[k])
    run = dl.simulate(
        ARM,
        PredictiveControl(PROBLEM),
        q0=q0[40],
        sensors=SENSORS,
        inputs=dl.Inputs(parameters=goal(40)),
        limits=dl.JointLimits(torque=55.0),
        duration=0.1,
        dt=0.002,
    )
    np.testing.assert_array_equal(run.x[-1], plain.last[40, :4])


def test_a_run_that_diverges_leaves_the_others_as_they_are():
    flow = dl.Flow("steep", ("x",), ("u",), lambda t, x, u: [x[0] ** 3 + u[0]], positions=0)
    control = PredictiveControl(
        OptimalControl(flow, 0.2, 0.02, running=[state([0.0], 1.0), effort(0.1)], limits={"u": 5.0})
    )
    words = {"duration": 0.4, "dt": 0.02, "method": "euler"}
    with pytest.warns(dl.DivergenceWarning, match="1 of 3"):
        batch = rollouts(flow, control, x0=[[0.5], [1e3], [-0.8]], **words)
    assert batch.diverged_at.tolist()[::2] == [-1, -1] and batch.diverged_at[1] >= 0
    np.testing.assert_array_equal(batch.last[::2], rollouts(flow, control, x0=[[0.5], [-0.8]], **words).last)


def test_own_rollouts_report_divergence():
    flow = dl.Flow("steep", ("x",), ("u",), lambda t, x, u: [x[0] ** 3 + u[0]], positions=0)
    problem = OptimalControl(flow, 0.2, 0.02, running=[state([0.0], 1.0), effort(0.1)], limits={"u": 5.0}, method="rk4")
    control = PredictiveControl(problem)
    with pytest.warns(dl.DivergenceWarning, match=r"^1 of 3 rollouts diverged, rollout 1 first by t = 0\.\d+ s"):
        runs = control.rollouts([[0.5], [1e3], [-0.8]], 0.4)
    assert "1 of 3 rollouts diverged" in repr(runs) and len(repr(runs)) < 150
    assert "none diverged" in repr(control.rollouts([[0.5]], 0.1))


def test_following_near_the_motion_it_has_the_poles_of_its_bandwidth():
    """Nodes short against 1/ω: the least cost is computed torque, e¨ + 2 ζ ω ė + ω² e = 0."""
    control = PredictiveControl.for_bandwidth(ARM, 6.0, 0.8)
    q, qd = np.array([0.3, -0.5]), np.array([0.2, 0.1])
    wanted = (np.array([0.32, -0.51]), qd, np.array([0.5, -0.2]))
    u = control(0.0, [*q, *qd], wanted)
    same = dl.control.ComputedTorque(ARM, omega=6.0, zeta=0.8)(0.0, q, qd, wanted)
    own = ARM.inverse_dynamics(*wanted)
    assert np.abs(u - same).max() < 0.1 * np.abs(same - own).max()
    slack = PredictiveControl.for_bandwidth(ARM, 6.0, 0.1)(0.0, [*q, *qd], wanted)
    np.testing.assert_allclose(slack, PredictiveControl.for_bandwidth(ARM, 6.0, 0.5**0.5)(0.0, [*q, *qd], wanted))


def test_it_follows_a_motion_within_the_limits_it_plans_with():
    motion = dl.trajectories.minimum_jerk([0.0, 0.0], [0.6, 0.4], 0.5)
    control = PredictiveControl(track(ARM, 15.0, limits={"u": 40.0}), follows="wanted")
    run = dl.simulate(ARM, control, q0=[0.0, 0.0], reference=motion, duration=0.7, dt=0.002)
    assert np.abs(run.tau).max() == 40.0  # the motion itself would take more
    np.testing.assert_allclose(run.q[-1], [0.6, 0.4], atol=0.005)


def test_compare_takes_it_among_the_others():
    exact = dl.control.scenarios.DEFAULTS
    found = dl.control.compare(
        {"mpc": PredictiveControl.for_bandwidth(ARM, 10.0), "pd": dl.control.PD.for_bandwidth(ARM, 10.0)},
        ARM,
        dl.trajectories.minimum_jerk([0.0, 0.0], [0.3, 0.2], 0.2),
        0.3,
        scenarios={"exact": exact["exact"], "noise": exact["noise"]},
        dt=0.005,
    )
    assert found.of("mpc", "exact")["rms_error"] < 0.1 * found.of("pd", "exact")["rms_error"]
    assert found.of("mpc", "exact")["verdict"] == "settled" and found.of("mpc", "noise")["rms_error"] > 0.0


def test_a_run_says_which_samples_were_short_of_time():
    control = PredictiveControl(PROBLEM, budget=1e-9)
    run = dl.simulate(ARM, control, q0=[0.0, 0.0], duration=0.1, dt=0.02)
    assert "stopped short of its iterations to keep its budget in 4 of 4 samples" in run.message
    assert "the budget leaves every sample its iterations" in str(control.conditions())
    run = dl.simulate(ARM, PredictiveControl(PROBLEM), q0=[0.0, 0.0], duration=0.1, dt=0.02)
    assert run.message == "finished at t = 0.1 s"


@pytest.mark.parametrize(
    ("limits", "start", "broken"),
    [
        ({"u": 60.0, "v": 0.8}, 0.0, lambda x: np.abs(x[..., 2:]).max() - 0.8),
        ({"u": 60.0, "q": (-1.0, 0.4)}, 0.0, lambda x: x[..., :2].max() - 0.4),
    ],
)
def test_limits_of_states_are_held_at_every_sample(limits, start, broken):
    """By the barrier, from the plan of the sample before; penalties break a limit of speed by far."""
    problem = OptimalControl(
        ARM,
        0.3,
        0.02,
        running=[effort(1e-3), posture([0.5, 0.5], 50.0), speed(1.0)],
        terminal=[posture([0.5, 0.5], 50.0), speed(5.0)],
        limits=limits,
    )
    control, x0 = PredictiveControl(problem), np.full((2, 4), start)
    runs = control.rollouts(x0, 1.0)
    assert -1e-2 < broken(runs.x) < 1e-6 and np.abs(runs.u).max() <= 60.0
    assert np.array_equal(runs.x[0], control.rollouts(x0[:1], 1.0).x[0])


def test_a_duration_is_whole_samples_and_a_batch_has_no_clock():
    with raises(dl.InputError, "out-of-range duration"):
        PredictiveControl(PROBLEM).rollouts(np.zeros((1, 4)), 0.03)
    with raises(dl.InputError, "conflict budget"):
        PredictiveControl(PROBLEM, budget=1e-3).rollouts(np.zeros((1, 4)), 0.04)
