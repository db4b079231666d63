"""Feet on the ground: what it bears, balance, and standing."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest
from tests.rollout_words import rollout_gradient, rollouts

import dalembert as dl
from bipeds import FEET, HUMANOIDS, SOLE, biped, humanoid, knees, standing
from dalembert.constrained import contact
from dalembert.describe.description import Description, Inertial, Joint, Link, Origin
from dalembert.flow import wrench_inputs
from dalembert.optimal import OptimalControl
from errors import raises

ROBOT = biped()
Q = knees(ROBOT)
STILL = np.zeros(ROBOT.nv)


@pytest.fixture(scope="module")
def on_feet():
    return dl.Constrained(ROBOT, [contact(f, ROBOT.fk(Q, f), sole=SOLE, friction=0.6) for f in FEET])


def in_motion(system, seed=0):
    rng = np.random.default_rng(seed)
    return system.project(Q, rng.uniform(-1, 1, system.nv))[1], rng


def test_constraints_of_a_floating_robot_are_those_of_its_frames(on_feet):
    """A v is the feet's velocities; Ȧ v their accelerations; a step along d changes φ by A d."""
    v, rng = in_motion(on_feet)
    d = rng.uniform(-1, 1, ROBOT.nv)
    J = np.vstack([ROBOT.jacobian(Q, f) for f in FEET])
    np.testing.assert_allclose(on_feet.jacobian(Q), J, atol=1e-14)
    h = 1e-6
    ahead, behind = (on_feet.residual(ROBOT.integrate(Q, s * h * d)) for s in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * h), J @ d, atol=1e-8)
    ahead, behind = (on_feet.jacobian(ROBOT.integrate(Q, s * h * v)) for s in (1, -1))
    np.testing.assert_allclose((ahead - behind) @ v / (2 * h), on_feet.drift(Q, v), atol=1e-7)
    np.testing.assert_allclose(on_feet.jacobian_dot(Q, v) @ v, on_feet.drift(Q, v), atol=1e-12)


def test_functions_of_positions_hold_floating_robots_too():
    """The height of the trunk, as a function of its pose and as one of q; its rows are those of `plane`."""
    flat = dl.Constrained(ROBOT, dl.constrained.plane((0, 0, 0), (0, 0, 1), "trunk"))
    for own in (
        dl.constrained.holonomic(lambda q, T: T.p[2], ["trunk"]),
        dl.constrained.holonomic(lambda q: q[2]),
        dl.constrained.pfaffian(lambda q, T: [*T.R[2], *[0.0] * 15], ["trunk"]),
    ):
        made = dl.Constrained(ROBOT, own)
        rng = np.random.default_rng(1)
        q = ROBOT.integrate(ROBOT.neutral, np.r_[rng.normal(size=6), np.zeros(12)])
        q[2] = 0.0
        v = flat.project(q, rng.normal(size=ROBOT.nv))[1]
        np.testing.assert_allclose(made.jacobian(q), flat.jacobian(q), atol=1e-12)
        np.testing.assert_allclose(made.drift(q, v), flat.drift(q, v), atol=1e-12)


def test_balance_is_what_forward_dynamics_gives_back(on_feet):
    """Torques and forces of a motion: FD of those torques has that motion and those multipliers; the base has none."""
    v, rng = in_motion(on_feet)
    wanted = on_feet.acceleration_projection(Q) @ rng.uniform(-1, 1, ROBOT.nv)
    wanted = wanted + on_feet.forward_dynamics(Q, v, STILL).qdd
    wanted -= on_feet.acceleration_projection(Q) @ on_feet.forward_dynamics(Q, v, STILL).qdd
    for options in ({"cones": False}, {"limits": False}):
        b = on_feet.balance(Q, 0.1 * v, 0.01 * wanted, **options)
        back = on_feet.forward_dynamics(Q, 0.1 * v, b.tau)
        np.testing.assert_allclose(back.qdd, 0.01 * wanted, atol=1e-10)
        np.testing.assert_allclose(back.multipliers, b.multipliers, atol=1e-9)
        assert not b.tau[~ROBOT.driven].any() and b.residual < 1e-12


def test_standing_carries_the_weight(on_feet):
    """Forces add up to the weight, their moments about the center of mass to nothing, each corner within its cone."""
    b = on_feet.balance(Q)
    assert b and b.messages == ("balanced",)
    force = sum(load.force for load in b.loads.values())
    np.testing.assert_allclose(force, [0, 0, ROBOT.mass * 9.81], atol=1e-9)
    c = ROBOT.center_of_mass(Q)
    moment = sum(load.moment + np.cross(ROBOT.fk(Q, f)[:3, 3] - c, load.force) for f, load in b.loads.items())
    np.testing.assert_allclose(moment, 0, atol=1e-9)
    for load in b.loads.values():
        assert load.friction < 1 and load.inside > 0.03 and load.holds


def test_loads_by_hand(on_feet):
    """Pressure 2 cm ahead and 1 cm aside of the middle of the left foot, a fifth of the friction used."""
    lam = np.zeros(12)
    lam[:6] = -np.array([0.12 * 100, 0.0, 100.0, 1.0, -2.0, 0.0])  # what the foot presses with
    load = on_feet.loads(lam)["left_foot"]
    np.testing.assert_allclose(load.center_of_pressure, [0.02, 0.01], atol=1e-12)
    np.testing.assert_allclose([load.normal, load.friction, load.inside], [100, 0.2, 0.04], atol=1e-12)
    assert load.holds and not on_feet.loads(lam)["right_foot"].holds  # which does not press at all
    lam[5] = -0.6 * 100 * 0.12  # more than friction can turn: the corners are 11 cm away
    assert not on_feet.loads(lam)["left_foot"].holds
    lam[5] = -0.2 * 100 * 0.1
    assert on_feet.loads(lam)["left_foot"].holds
    lam[:6] = -np.array([0, 0, 100.0, 5.01, 0, 0])  # beyond the edge
    assert not on_feet.loads(lam)["left_foot"].holds and on_feet.loads(lam)["left_foot"].inside < 0
    batch = on_feet.loads(np.stack([lam, 0 * lam]))["left_foot"]
    assert batch.holds.shape == (2,) and batch.force.shape == (2, 3)


def test_pressure_is_borne_inside_the_sole_alone():
    """A sole of no symmetry, below and beside its frame: an upright force holds where its center of pressure lies
    inside, wherever that is, and the edges are as far as they are."""
    corners = np.array([[-0.05, 0.02, -0.03], [0.12, 0.01, -0.03], [0.1, 0.09, -0.03], [-0.04, 0.06, -0.03]])
    own = np.array(dl.pose(rpy=(0.3, -0.2, 0.5)))
    place = ROBOT.fk(Q, "left_foot")
    foot = contact("left_foot", place @ own, sole=corners @ own[:3, :3], friction=0.5)  # a frame askew, the same sole
    system = dl.Constrained(ROBOT, contact("left_foot", place, sole=corners, friction=0.5))
    np.testing.assert_allclose(np.array(foot.axes) @ np.array(foot.corners).T, corners.T, atol=1e-12)
    x, y = np.meshgrid(np.linspace(-0.2, 0.2, 15), np.linspace(-0.15, 0.15, 15))
    p = np.stack([x, y, np.full_like(x, -0.03)], -1)
    f = np.broadcast_to([0.0, 10.0, 100.0], p.shape)
    load = system.loads(-np.concatenate([f, np.cross(p, f)], -1))["left_foot"]
    np.testing.assert_allclose(load.center_of_pressure, p[..., :2], atol=1e-12)
    np.testing.assert_array_equal(load.holds, load.inside > 0)
    assert 3 < load.holds.sum() < 60
    borne = system.balance(Q).loads["left_foot"]  # on one foot, aside: what the corners can do, though it is not enough
    assert borne.inside > -1e-9


def test_least_squares_alone_may_not_be_borne():
    """On ice two forces that lean on each other slip: the program finds upright ones; what leans out cannot stand."""
    apart = {"left_roll_joint": 0.3, "left_foot_joint": -0.3, "right_roll_joint": -0.3, "right_foot_joint": 0.3}
    wide = standing(ROBOT, **apart)
    feet = [contact(f, ROBOT.fk(wide, f), sole=SOLE, friction=0.01) for f in FEET]
    ice = dl.Constrained(ROBOT, feet)
    slips = ice.balance(wide, cones=False, effort=10.0)
    assert not slips and "slip" in slips.messages[0] and slips.residual < 1e-9
    assert ice.balance(wide, effort=10.0)
    feet = [contact(f, ROBOT.fk(Q, f), sole=SOLE, friction=0.6) for f in FEET]
    out = ROBOT.integrate(Q, np.r_[np.zeros(3), 0, 0.6, 0, np.zeros(12)])  # the whole robot, pitched about its trunk
    leaning = dl.Constrained(ROBOT, [contact(f, ROBOT.fk(out, f), sole=SOLE) for f in FEET])
    b = leaning.balance(out)
    assert not b and "no forces within the cones" in b.messages[0] and b.residual > 1e-3
    weak = dl.Constrained(biped(effort=20.0), feet).balance(Q)
    assert not weak and "torques within their limits" in weak.messages[0]
    strong = dl.Constrained(biped(effort=20.0), feet).balance(Q, limits=False)
    assert strong and np.abs(strong.tau).max() > 20


def test_points_on_a_slope():
    """An upright force on a slope uses tan α of the friction, whatever the axes; two points cannot carry a trunk that
    tilts over the line between them, but bear what they can."""
    angle = 0.3
    up = np.array([np.sin(angle), 0.0, np.cos(angle)])
    points = [contact(f, ROBOT.fk(Q, f)[:3, 3], normal=up, friction=0.5) for f in FEET]
    system = dl.Constrained(ROBOT, points)
    assert system.k == 6
    R = np.array(points[0].axes)
    load = system.loads(np.r_[-R.T @ [0, 0, 50.0], 0, 0, 1])["left_foot"]
    np.testing.assert_allclose(load.force, [0, 0, 50], atol=1e-12)
    np.testing.assert_allclose(load.friction, np.tan(angle) / 0.5, rtol=1e-12)
    assert load.holds and load.inside == np.inf
    forward = ROBOT.integrate(Q, np.r_[np.zeros(4), 0.2, 0, np.zeros(12)])
    tilted = dl.Constrained(ROBOT, [contact(f, ROBOT.fk(forward, f)[:3, 3]) for f in FEET]).balance(forward)
    assert not tilted and tilted.residual > 0.01
    assert all(load.holds for load in tilted.loads.values())


def test_batches_are_balanced_one_by_one(on_feet):
    states = np.stack([on_feet.close(knees(ROBOT, x)).q for x in (0.5, 0.5)])
    both, one = on_feet.balance(states), on_feet.balance(states[1])
    np.testing.assert_allclose(both.tau[1], one.tau, atol=1e-9)
    assert both.tau.shape == (2, ROBOT.nv) and both.messages == ("balanced",) * 2
    with raises(dl.InputError, "wrong-shape tau"):
        both.law()


def test_standing_still_is_all_there_is_to_say(on_feet):
    run = dl.simulate(on_feet, on_feet.balance(Q).law(), q0=Q, duration=0.1, dt=1e-3)
    assert run.ok and run.message == "finished at t = 0.1 s"


def test_a_pushed_biped_comes_back(on_feet):
    """Posture PD for 2 s: the feet stay, the joints return; without projection the feet drift but a little."""
    b = on_feet.balance(Q)
    push = on_feet.project(Q, 0.02 * np.random.default_rng(2).normal(size=ROBOT.nv))[1]
    run = dl.simulate(on_feet, b.law(), q0=Q, qd0=push, duration=2.0, dt=1e-3)
    for f in FEET:
        np.testing.assert_allclose(ROBOT.fk(run.q, f), np.broadcast_to(ROBOT.fk(Q, f), (len(run.q), 4, 4)), atol=1e-9)
    assert np.abs(run.q - Q).max() > 1e-4
    np.testing.assert_allclose(run.q[-1], Q, atol=1e-8)
    assert all(load.holds.all() for load in on_feet.loads(run.multipliers[::50]).values())


# ------------------------------------------------------------------------------------ contacts that cannot be sustained
@cache
def gantry():
    """A foot of 1 kg that stands on a point, moved along x, y, z."""
    mass = Inertial(0.1, (1e-3, 0, 0, 1e-3, 0, 1e-3))
    links = (Link("world"), Link("x", mass), Link("y", mass), Link("foot", Inertial(1.0, (0.01, 0, 0, 0.01, 0, 0.01))))
    axes = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    joints = tuple(
        Joint(name, "prismatic", a.name, b.name, axis=axis)
        for (name, axis), a, b in zip(axes.items(), links, links[1:], strict=False)
    )
    robot = dl.Robot(Description("gantry", links, joints))
    return dl.Constrained(robot, contact("foot", (0, 0, 0), friction=0.5))


WEIGHT = 1.0 * 9.81  # of what z carries


@pytest.mark.parametrize(
    ("force", "kind", "amount"),
    [
        ((0, 0, WEIGHT + 2.0), "pull", 2.0),
        ((0.75 * WEIGHT, 0, 0), "friction", 1.5),
        ((0.3 * WEIGHT, 0.3 * WEIGHT, 0), None, None),  # within the cone
        ((0, 0, 0.9 * WEIGHT), None, None),
    ],
)
@pytest.mark.parametrize("solver", ["rk4", "DOP853"])
def test_runs_report_contacts_that_cannot_be_sustained(force, kind, amount, solver):
    system = gantry()

    def tau(t):
        return np.array(force) * (t >= 0.05)

    for plant in (system, system.flow(stabilize=None)):
        run = dl.simulate(plant, q0=np.zeros(3), duration=0.1, dt=0.01, inputs=dl.Inputs(tau=tau), solver=solver)
        assert run.t[-1] == 0.1 and np.abs(run.q).max() < 1e-9
        if kind is None:
            assert run.ok and run.status == "finished" and run.contact_losses == ()
            continue
        assert not run.ok and run.status == "contact lost" and "'foot'" in run.message
        (loss,) = run.contact_losses
        assert (loss.contact, loss.kind, loss.share) == ("foot", kind, 6 / 11)
        np.testing.assert_allclose((loss.t, loss.amount), (0.05, amount), rtol=1e-9)


def test_batches_report_contacts_that_cannot_be_sustained():
    up, system = WEIGHT + np.array([-1.0, 1.0, -1.0, 2.0]), gantry()
    words = {"q0": np.zeros(3), "duration": 0.05, "dt": 0.01}
    force = np.broadcast_to(up[:, None], (4, 5)) * (np.arange(5) >= 2)
    with pytest.warns(dl.ContactWarning, match=r"^contacts are lost in 2 of 4 runs; run 1: contact 'foot'"):
        batch = rollouts(system, parameters={"z_torque": force}, **words)
    assert "lost in 2 of 4 runs" in repr(batch) and "t = 0.02 s" in repr(batch) and len(repr(batch)) < 300
    assert not batch.measures
    assert batch.contacts_lost.tolist() == [False, True, False, True]
    for k in range(4):
        run = dl.simulate(system, inputs=dl.Inputs(tau=np.c_[np.zeros((5, 2)), force[k]]), **words)
        assert run.ok is not batch.contacts_lost[k]
        assert [(x.kind, x.t) for x in batch.find_contact_losses(k)] == [(x.kind, x.t) for x in run.contact_losses]


@pytest.mark.parametrize("every", [1, 7, 100])
def test_every_step_is_looked_at_whichever_rows_are_kept(every):
    """A pull of 3 ms between kept rows, then a slip: one loss, with its first time and the largest pull."""

    def tau(t):
        pull, slip = 0.0305 < t < 0.0335, 0.07 < t < 0.0725
        return [0.75 * WEIGHT * slip, 0.0, (WEIGHT + 100.0 * t) * pull]

    words = {"q0": np.zeros(3), "duration": 0.1, "dt": 1e-3}
    run = dl.simulate(gantry(), inputs=dl.Inputs(tau=tau), solver=dl.simulation.Solver(every=every), **words)
    (loss,) = run.contact_losses
    assert run.status == "contact lost" and (loss.t, loss.kind) == (0.031, "pull")
    np.testing.assert_allclose((loss.amount, loss.share), (3.3, 5 / 101), rtol=1e-9)

    def law(t, q, qd):
        return tau(t)

    marks = [line for line in run.plot("q").axes[0].lines if line.get_color() == "tab:red"]
    assert [line.get_xdata()[0] for line in marks] == [0.031]
    asked = dl.simulate(gantry(), law, solver=dl.simulation.Solver(every=every), **words)
    assert asked.contact_losses == run.contact_losses


def test_studies_count_lost_contacts_as_failures():
    words = {"q0": np.zeros(3), "duration": 0.05, "dt": 0.01, "error": {"z": 1.0}}
    up = dl.simulation.uniform(0.0, 2.0 * WEIGHT)
    with pytest.warns(dl.ContactWarning):
        batch = rollouts(gantry(), number=9, seed=1, parameters={"z_torque": up}, measures="ise", **words)
    lost = batch.parameters()["z_torque"] > WEIGHT
    assert 0 < lost.sum() < 9 and (~batch.ok).tolist() == lost.tolist() == batch.contacts_lost.tolist()
    assert (batch.status == "contact lost").tolist() == lost.tolist()
    assert f"lost in {lost.sum()} of 9 runs" in repr(batch)
    assert "'foot' cannot be sustained" in batch.message
    grid = dl.grid(z_torque=[0.5 * WEIGHT, 1.5 * WEIGHT])
    e = dl.Experiment(gantry(), dt=0.01, measures=dl.simulation.Measures("ise", {"z": 1.0}))
    found = e.batch(vary=grid, q0=np.zeros(3), duration=0.05)
    assert found.ok.tolist() == [True, False] and found.best() == [0] and "lost in 1 of 2" in repr(found)


def table_on_a_sole():
    places = [(0.3, 0.2, 0), (-0.3, 0.2, 0), (-0.3, -0.2, 0), (0.3, -0.2, 0)]
    links = (Link("world"), Link("table", Inertial(5.0, (0.1, 0, 0, 0.2, 0, 0.3))))
    robot = dl.Robot(Description("table", links, (Joint("root", "floating", "world", "table"),)))
    return robot, dl.Constrained(robot, contact("table", np.eye(4), sole=places, friction=0.6))


def test_batches_judge_soles_as_single_runs_do():
    """Random wrenches, of which friction, center of pressure and moment are each within their limits or not."""
    robot, system = table_on_a_sole()
    rng, weight = np.random.default_rng(0), 5.0 * 9.81
    sizes = weight * np.array([0.5, 0.5, 0.5, 0.15, 0.2, 0.2])
    wrenches = rng.uniform(-1, 1, (24, 6)) * sizes
    parameters = dict(zip(wrench_inputs("table"), wrenches.T, strict=True))
    words = {"q0": robot.neutral, "duration": 0.01, "dt": 0.01}
    with pytest.warns(dl.ContactWarning, match="at least"):
        batch = rollouts(system.flow(wrenches=["table"]), parameters=parameters, **words)
    alone = [dl.simulate(system, inputs=dl.Inputs(wrenches={"table": w}), **words).ok for w in wrenches]
    assert 5 < sum(alone) < 20 and (~batch.contacts_lost).tolist() == alone
    doubtful = [not ok and least == 0 for ok, least in zip(alone, batch.ground["contact_excess"], strict=True)]
    assert sum(doubtful) > 1  # which no condition by itself tells
    with pytest.warns(dl.ContactWarning, match="1 of 1 runs"):
        one = {name: values[doubtful.index(True)] for name, values in parameters.items()}
        rollouts(system.flow(wrenches=["table"]), parameters=one, **words)


def test_gradients_and_own_rollouts_of_predictive_control_report_lost_contacts():
    words = {"q0": np.zeros(3), "duration": 0.02, "dt": 0.01, "loss": {"ise": 1.0}, "error": {"z": 1.0}}
    rollout_gradient(gantry(), of="z_torque", parameters={"z_torque": 0.5 * WEIGHT}, **words)
    with pytest.warns(dl.ContactWarning, match="'foot'"):
        rollout_gradient(gantry(), of="z_torque", parameters={"z_torque": 2 * WEIGHT}, **words)

    def running(u, up):
        return [u[0], u[1], u[2] - up]

    problem = OptimalControl(gantry(), 0.1, 0.02, running=running, parameters={"up": 0.0})
    control = dl.PredictiveControl(problem)
    up = {"up": np.array([0.9, 1.2]) * WEIGHT}
    with pytest.warns(dl.ContactWarning, match=r"1 of 2 rollouts; rollout 1: contact 'foot'"):
        control.rollouts(np.zeros((2, 6)), 0.1, parameters=up)


def test_optimal_motions_report_contacts_that_cannot_be_sustained():
    def running(u, up):
        return [u[0], u[1], u[2] - up]

    problem = OptimalControl(gantry(), 0.1, 0.02, running=running, parameters={"up": 0.0})
    good = problem.solve(np.zeros(6), up=0.9 * WEIGHT)
    assert good.converged and good.contact_losses == ()
    lost = problem.solve(np.zeros(6), up=WEIGHT + 2.0)
    assert not lost.converged and "contacts" in lost.reason and lost.contact_losses[0].kind == "pull"
    both = problem.solve(np.zeros((2, 6)), up=np.array([0.9, 1.2]) * WEIGHT)
    assert both.converged.tolist() == [True, False] and [len(x) for x in both.contact_losses] == [0, 1]


@pytest.mark.parametrize(
    ("wrench", "kind"),
    [
        ((0, 0, 0, 0, 0, 0), None),
        ((0, 0, 60, 0, 0, 0), "pull"),
        ((-40, 0, 0, 0, 0, 0), "friction"),
        ((-20, 0, 0, 0, 0, 0), None),
        ((0, 0, 0, -12, 0, 0), "sole"),
        ((0, 0, 0, -8, 0, 0), None),
        ((0, 0, 0, 0, 0, -12), "moment"),
        ((0, 0, 0, 0, 0, -8), None),
    ],
)
def test_soles_and_points_that_depend_on_one_another(wrench, kind):
    """A table of 5 kg, on one sole and on points at its corners: 12 rows, of which 6 are independent."""
    places = [(0.3, 0.2, 0), (-0.3, 0.2, 0), (-0.3, -0.2, 0), (0.3, -0.2, 0)]
    corners = {f"foot{k}": xyz for k, xyz in enumerate(places)}
    links = (Link("world"), Link("table", Inertial(5.0, (0.1, 0, 0, 0.2, 0, 0.3))), *map(Link, corners))
    legs = tuple(Joint(f, "fixed", "table", f, origin=Origin(xyz)) for f, xyz in corners.items())
    robot = dl.Robot(Description("table", links, (Joint("root", "floating", "world", "table"), *legs)))
    sole = contact("table", np.eye(4), sole=places, friction=0.6)
    points = [contact(f, xyz, friction=0.6) for f, xyz in corners.items()]
    for contacts in (sole, points):
        system = dl.Constrained(robot, contacts)
        inputs = dl.Inputs(wrenches={"table": wrench})
        run = dl.simulate(system, q0=robot.neutral, duration=0.02, dt=0.01, inputs=inputs)
        assert run.ok is (kind is None) is (not run.contact_losses)
        if contacts is sole and kind:
            assert [loss.kind for loss in run.contact_losses] == [kind]
        given = {name: value for name, value in zip(wrench_inputs("table"), wrench, strict=True) if value}
        flow = system.flow(wrenches=["table"])
        with pytest.warns(dl.ContactWarning) if kind else nullcontext():
            batch = rollouts(flow, q0=robot.neutral, duration=0.02, dt=0.01, parameters=given)
        assert batch.contacts_lost.tolist() == [kind is not None]


@pytest.mark.parametrize("name", HUMANOIDS)
@pytest.mark.long
def test_humanoids_stand(name):
    """Two feet, gravity, forces within cones; under a posture PD the feet stay within 1e-6 m for 2 s, also without
    being put back after each step."""
    robot, q, system = humanoid(name)
    b = system.balance(q)
    assert b and b.residual < 1e-12 and all(load.inside > 0.01 for load in b.loads.values())
    np.testing.assert_allclose(system.forward_dynamics(q, np.zeros(robot.nv), b.tau).qdd, 0, atol=1e-9)
    push = system.project(q, 0.005 * np.random.default_rng(0).normal(size=robot.nv))[1]
    for stabilize in ("projection", None):
        run = dl.simulate(system.flow(stabilize=stabilize), b.law(), q0=q, qd0=push, duration=2.0, dt=1e-3)
        for f in HUMANOIDS[name][1]:
            assert np.abs(robot.fk(run.q, f)[:, :3, 3] - robot.fk(q, f)[:3, 3]).max() < 1e-6
        np.testing.assert_allclose(run.q[-1], q, atol=1e-5)
    assert all(load.holds.all() for load in system.loads(run.multipliers[::50]).values())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: contact("left_foot", np.eye(4)), "needs its sole"),
        (lambda: contact("left_foot", np.zeros(3), sole=SOLE), "a point has no sole"),
        (lambda: contact("left_foot", np.eye(4), sole=[[0, 0, 0], [1, 0, 0]]), "three corners"),
        (lambda: contact("left_foot", np.eye(4), sole=[[0, 0, 0], [1, 0, 0], [2, 0, 0]]), "no area"),
        (lambda: contact("left_foot", np.eye(4), sole=(0.2, -0.1)), "sole"),
        (lambda: contact("left_foot", np.eye(4), sole=SOLE, friction=0), "friction"),
        (lambda: contact("left_foot", np.eye(4), sole=SOLE, normal=(0, 0, 0)), "normal is zero"),
        (lambda: dl.Constrained(ROBOT, contact("left_fot", np.eye(4), sole=SOLE)), "did you mean 'left_foot'"),
        (
            lambda: dl.Constrained(ROBOT, dl.constrained.hold("weld", "trunk")).balance(ROBOT.home),
            "stands on the ground",
        ),
        (lambda: dl.Constrained(ROBOT, dl.constrained.couple({"root": 1.0})), "unknown joint 'root'"),
        (lambda: dl.Constrained(ROBOT, dl.constrained.hold("weld", "trunk")).reduced(ROBOT.home), "root"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(dl.DalembertError, match=words):
        call()
