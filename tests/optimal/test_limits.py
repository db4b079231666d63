"""Limits: inputs held exactly, states and tasks by multipliers; what cannot be is refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from tests.test_own_system import CartPole

import dalembert as dl
from dalembert.optimal import OptimalControl, effort, posture, speed, state, tip
from errors import raises

ARM = dl.load("planar-2r")
GO = {"running": [effort(1e-3)], "terminal": state([1.0, -0.5, 0, 0], 1e3)}


def test_limits_of_inputs_are_held_exactly():
    free = OptimalControl(ARM, 0.5, 0.01, **GO).solve(np.zeros(4))
    most = 0.6 * np.abs(free.u).max()
    held = OptimalControl(ARM, 0.5, 0.01, limits={"u": most}, **GO).solve(np.zeros(4))
    assert held.converged and np.abs(held.u).max() == most and (np.abs(held.u) == most).sum() > 5
    assert held.cost > free.cost


def test_limits_of_states_are_kept():
    free = OptimalControl(ARM, 0.5, 0.01, **GO).solve(np.zeros(4))
    most = 0.8 * np.abs(free.v).max()
    held = OptimalControl(ARM, 0.5, 0.01, limits={"v": most}, **GO).solve(np.zeros(4))
    assert held.converged and held.violation <= 1e-6 and held.cost > free.cost
    assert np.abs(held.v).max() <= most + 1e-6 and np.abs(held.v).max() > 0.999 * most
    assert held.multipliers.max() > 0 and (held.multipliers >= 0).all()


def test_inequalities_of_tasks_and_a_fixed_end():
    """The tip stays within a wall that the free motion crosses, and the arm ends at rest."""
    goal = [1.2, -2.0]

    common = {"running": [effort(1e-3), speed(0.01)], "end": lambda q, v: [q[0] - goal[0], q[1] - goal[1], *v]}
    start = np.array([-1.0, 1.5, 0.0, 0.0])
    free = OptimalControl(ARM, 1.0, 0.02, **common).solve(start)
    assert free.converged and free.violation <= 1e-6
    np.testing.assert_allclose(free.x[-1], [*goal, 0, 0], atol=1e-6)
    wall = 0.95 * ARM.fk(free.q)[:, 0, 3].max()
    held = OptimalControl(ARM, 1.0, 0.02, inequalities=lambda q: [reach(q) - wall], **common).solve(start)
    assert held.converged and held.violation <= 1e-6 and held.cost > free.cost
    assert wall - 1e-4 < ARM.fk(held.q)[:, 0, 3].max() <= wall + 1e-6


def reach(q):
    """The tip of the planar arm along x, by its own kinematics over scalars."""
    from dalembert.algorithms.kinematics import frame_pose

    return frame_pose(ARM.model, q, ARM.model.frame(None)).p[0]


def refused(match, *args, **words):
    with pytest.raises(dl.DalembertError, match=match):
        OptimalControl(*args, **words)


def test_problems_that_cannot_be_are_refused():
    cost = effort()
    refused("horizon is 0.0; it must be greater than 0", ARM, 0, 0.01, running=cost)
    refused("dt is -0.01; it must be greater than 0", ARM, 1.0, -0.01, running=cost)
    refused("no whole number of steps", ARM, 1.0, 0.3, running=cost)
    refused("more than 100000", ARM, 1e6, 0.01, running=cost)
    refused("without a cost has no best motion", ARM, 1.0, 0.1)
    refused("a system has a flow", 3, 1.0, 0.1, running=cost)
    refused("running is a function of t, x, q, v, u", ARM, 1.0, 0.1, running=3.0)
    refused("unknown argument of terminal 'u'", ARM, 1.0, 0.1, terminal=lambda u: u[0])
    refused("unknown argument of running 'goal'", ARM, 1.0, 0.1, running=lambda q, goal: q[0] - goal)
    refused("unknown input or state to limit 'joint9'", ARM, 1.0, 0.1, running=cost, limits={"joint9": 1.0})
    refused("the lower must be below the upper", ARM, 1.0, 0.1, running=cost, limits={"u": (2.0, 1.0)})
    refused("are \\(low, high\\)", ARM, 1.0, 0.1, running=cost, limits={"u": [1.0, 2.0, 3.0]})
    refused("a parameter is called 'q'", ARM, 1.0, 0.1, running=cost, parameters={"q": 1.0})
    refused("needs 11 rows", ARM, 1.0, 0.1, running=cost, parameters={"w": [1.0, 2.0]}, moving=["w"])
    refused("unknown method 'euler'", ARM, 1.0, 0.1, running=cost, method="euler")
    with raises(dl.DalembertError, "out-of-range weight"):
        OptimalControl(ARM, 1.0, 0.1, running=effort(-1.0)).sweep  # noqa: B018
    with raises(dl.DalembertError, "wrong-shape target"):
        tip(ARM, [0.1, 0.2, 0.0])


def test_costs_that_cannot_be_are_refused():
    infinite = OptimalControl(ARM, 1.0, 0.1, running=lambda u: float("inf"))
    with raises(dl.DalembertError, "not-finite running"):
        infinite.solve(np.zeros(4))
    branching = OptimalControl(ARM, 1.0, 0.1, running=lambda q: q[0] if q[0] > 0 else -q[0])
    with raises(dl.DalembertError, "unsupported running"):
        branching.solve(np.zeros(4))
    pole = OptimalControl(ARM, 1.0, 0.1, running=lambda q, u: [1.0 / q[0], *u])
    found = pole.solve(np.zeros(4))  # infinite where it starts
    assert not found.converged and found.reason == "the cost is not finite"


def test_starts_and_guesses_that_cannot_be_are_refused():
    problem = OptimalControl(ARM, 0.1, 0.01, limits={"q": (-1.0, 1.0)}, **GO)
    with raises(dl.DalembertError, "infeasible x0"):
        problem.solve([2.0, 0.0, 0.0, 0.0])
    with raises(dl.DalembertError, "not-finite u"):
        problem.solve(np.zeros(4), u=np.full((10, 2), np.nan))
    with raises(dl.DalembertError, "not-finite x"):
        problem.solve(np.zeros(4), x=np.full((11, 4), np.nan))
    with raises(dl.DalembertError, "wrong-shape x0"):
        problem.solve(np.zeros(3))
    with raises(dl.DalembertError, "unknown-name"):
        problem.solve(np.zeros(4), goal=1.0)
    with raises(dl.DalembertError, "out-of-range iterations"):
        problem.solve(np.zeros(4), iterations=0)


def test_steps_that_diverge_are_survived_or_told():
    """A step far too long for the system: the guess diverges, and the reason says how it ended."""
    stiff = dl.Flow("stiff", ("a",), ("f",), lambda t, x, u: [1e3 * x[0] * x[0] * x[0] + u[0]])
    problem = OptimalControl(stiff, 10.0, 0.5, running=[effort(1.0), lambda x: [x[0]]])
    found = problem.solve([5.0], iterations=20)
    assert not found.converged and found.reason and np.isfinite(found.x).all()
    fast = dl.Flow("fast", ("a",), ("f",), lambda t, x, u: [-1e3 * x[0] + u[0]])
    words = {"running": [effort(1.0), lambda x: [x[0]]]}
    found = OptimalControl(fast, 1.0, 0.1, **words).solve([1.0])  # steps of this length blow up, the system does not
    assert not found.converged and "dt is too long" in found.reason
    assert OptimalControl(fast, 1e-2, 1e-3, **words).solve([1.0]).converged


def test_a_cart_pole_swings_up_within_its_force():
    problem = OptimalControl(
        CartPole(),
        4.0,
        0.02,
        running=[effort(0.01), state([0, np.pi, 0, 0], [0.1, 1, 0.01, 0.01])],
        terminal=state([0, np.pi, 0, 0], 100.0),
        limits={"force": 10.0},
    )
    found = problem.solve([0, 0.01, 0, 0])
    assert found.converged and np.abs(found.u).max() == 10.0
    np.testing.assert_allclose(found.x[-1], [0, np.pi, 0, 0], atol=5e-3)


def test_other_systems_are_solved():
    flexible = dl.FlexibleRobot(ARM, stiffness=200.0, rotor_inertia=0.05)
    n = len(flexible.states)
    target = np.zeros(n)
    found = OptimalControl(
        flexible, 0.5, 0.01, running=[effort(1e-3)], terminal=[posture([0.4, -0.3, 0.4, -0.3], 100.0), speed(1.0)]
    ).solve(target)
    assert found.converged and np.abs(found.q[-1] - [0.4, -0.3, 0.4, -0.3]).max() < 0.1


def test_a_closed_chain_moves_by_its_motors_and_an_arm_under_a_load():
    robot = dl.load("five-bar")
    chain = dl.Constrained(robot)
    x0 = np.concatenate((robot.home, np.zeros(4)))
    goal = float(robot.home[0]) + 0.2
    problem = OptimalControl(
        chain,
        0.2,
        0.01,
        running=effort(1e-3),
        terminal=[lambda q: [30.0 * (q[0] - goal)], speed(1.0)],
        inputs=["joint1_torque", "joint2_torque"],
    )
    assert problem.rest == ("joint3_torque", "joint4_torque") and not problem.lean
    found = problem.solve(x0)
    assert found.converged and abs(found.q[-1, 0] - goal) < 1e-2 and found.u.shape == (20, 2)
    assert np.abs(chain.residual(found.q)).max() < 1e-6
    with raises(dl.DalembertError, "unknown-name"):
        OptimalControl(chain, 0.2, 0.01, running=effort(), inputs=["joint9_torque"])
    laden = OptimalControl(
        ARM.flow(payload=(0.0, 0.0, 0.0)),
        0.3,
        0.01,
        running=effort(1e-3),
        terminal=state([0.3, 0.2, 0, 0], 1e3),
        parameters={"payload_mass": 1.0},
    )
    costs = [float(laden.solve(np.zeros(4), payload_mass=m).cost) for m in (0.0, 1.0, 2.0)]
    bare = OptimalControl(ARM, 0.3, 0.01, running=effort(1e-3), terminal=state([0.3, 0.2, 0, 0], 1e3)).solve(
        np.zeros(4)
    )
    assert costs[0] < costs[1] < costs[2] and abs(costs[0] - bare.cost) < 1e-9


def test_inequalities_of_inputs_are_none_of_the_last_node():
    problem = OptimalControl(
        ARM, 0.3, 0.02, running=effort(1e-3), terminal=state([0.3, 0.2, 0, 0], 1e3), inequalities=lambda u: [8.0 - u[1]]
    )
    found = problem.solve(np.zeros(4))
    assert found.converged and found.violation < 1e-6 and 8.0 - 1e-6 < found.u[:, 1].min() < 8.0 + 1e-3


def test_a_limit_of_one_input_goes_before_that_of_all():
    for limits in ({"u": 5.0, "joint1_torque": 60.0}, {"joint1_torque": 60.0, "u": 5.0}):
        assert OptimalControl(ARM, 0.1, 0.02, running=effort(), limits=limits).bounds.tolist() == [[-60, -5], [60, 5]]


def test_ready_made_terms_say_what_they_need():
    def solve(term, **parameters):
        return OptimalControl(ARM, 0.1, 0.02, running=[effort(), term], parameters=parameters).solve(np.zeros(4))

    with raises(dl.InputError, "wrong-shape weight"):
        solve(speed([1.0, 2.0, 3.0]))
    with raises(dl.InputError, "wrong-shape target"):
        solve(posture([1.0]))
    with raises(dl.InputError, "wrong-shape target"):
        solve(tip(ARM, "goal"), goal=[1.0, 1.0, 0.0])
    one, other = (
        solve(tip(ARM, "goal", 9.0, rotation=False), goal=[1.0, 1.0, 0.0]),
        solve(tip(ARM, [1.0, 1.0, 0.0], 9.0, rotation=False)),
    )
    np.testing.assert_allclose(one.u, other.u, rtol=1e-9, atol=1e-12)


def limited_reach():
    """A reach whose limits are parameters: of positions, of speeds and of a wall."""

    def inside(q, v, high, fast, wall):
        rows = [q[0] - high[0], q[1] - high[1], *(s * a - fast for a in v for s in (1.0, -1.0))]
        return [*rows, reach(q) - wall]

    return OptimalControl(
        ARM,
        0.8,
        0.04,
        running=[effort(1e-3), speed(0.01)],
        terminal=[posture("goal", 100.0), speed(10.0)],
        inequalities=inside,
        limits={"u": 40.0},
        parameters={"goal": [1.0, 0.8], "high": [9.0, 9.0], "fast": 99.0, "wall": 9.0},
    )


def test_hard_limits_of_states_and_tasks_satisfy_the_conditions_of_a_minimum():
    """Random starts, goals and limits: kept, multipliers positive, and zero where a limit is not reached."""
    problem, rng = limited_reach(), np.random.default_rng(5)
    x0 = np.concatenate((rng.uniform(-0.4, 0.4, (12, 2)), np.zeros((12, 2))), 1)
    goal = x0[:, :2] + rng.uniform(0.5, 1.2, (12, 2))
    free = problem.solve(x0, goal=goal)
    assert free.converged.all() and not (free.multipliers > 1e-6).any(2).all(1).any()
    high, fast, wall = np.full((12, 2), 9.0), np.full(12, 99.0), np.full(12, 9.0)
    high[::3] = x0[::3, :2] + 0.7 * (free.q[::3].max(1) - x0[::3, :2]) + 1e-3
    fast[1::3] = 0.7 * np.abs(free.v[1::3]).max((1, 2))
    fast[::2] = np.minimum(fast[::2], 0.8 * np.abs(free.v[::2]).max((1, 2)))
    tip_x = ARM.fk(free.q)[..., 0, 3]
    wall[2::3] = tip_x[2::3].max(1) + 1e-3
    limits = {"goal": goal, "high": high, "fast": fast, "wall": wall}
    found = problem.solve(x0, **limits)
    assert found.converged.all() and (found.violation <= 1e-6).all() and (found.gradient < 1e-3).all()
    assert (np.abs(found.u) <= 40.0).all()
    P = problem.parameters_at(0.0, (12,), **limits)
    g = problem.inequality(found.x[:, :-1], found.u, P[:, :-1])
    lam = found.multipliers[:, :-1]
    assert (lam >= 0).all() and np.abs(lam[:, 1:] * g[:, 1:]).max() < 1e-7 * max(1.0, float(found.cost.max()))
    assert (lam.max((1, 2)) > 1e-4).sum() > 8  # limits that matter
    alone = problem.solve(x0[4], **{name: value[4] for name, value in limits.items()})
    assert np.array_equal(alone.u, found.u[4]) and alone.iterations == found.iterations[4]


def test_limits_that_no_motion_keeps_are_told():
    problem = limited_reach()
    with raises(dl.InputError, "infeasible x0"):
        problem.solve([0.5, 0.0, 0.0, 0.0], high=[0.0, 9.0])
    fixed = OptimalControl(
        ARM, 0.5, 0.05, running=effort(1e-3), end=lambda q, v: [q[0] - 1.0, q[1], *v], limits={"v": 1.0}
    )
    found = fixed.solve(np.zeros(4), iterations=200)  # a radian in half a second takes 2 rad/s
    assert not found.converged and found.violation > 0.1
    assert found.reason in ("no step brings it nearer to its limits", "the iterations are used up")


def test_a_state_that_is_called_as_all_of_them_is_limited_alone():
    flow = dl.Flow("cart", ("x", "v"), ("u",), lambda t, x, u: [x[1], u[0]], positions=1)
    problem = OptimalControl(flow, 1.0, 0.1, running=effort(), limits={"x": 0.5, "u": 2.0})
    assert problem.fences == [(-1.0, 0, -0.5), (1.0, 0, 0.5)] and problem.bounds.tolist() == [[-2.0], [2.0]]
