"""Closed chains: closure, independent coordinates, multipliers against reduction, the notes' five-bar, simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert.constrained import Constrained, hold
from dalembert.lagrange import examples
from dalembert.simulation.fixed_step import integrate
from errors import raises

MECHANISMS = ["four-bar", "five-bar", "parallelogram-arm", "delta", "stewart"]
FREEDOMS = {"four-bar": 1, "five-bar": 2, "parallelogram-arm": 4, "delta": 3, "stewart": 6}


@pytest.fixture(scope="module", params=MECHANISMS)
def closed(request):
    s = Constrained(dl.load(request.param))
    return s, s.close().q


def somewhere(s, q, seed):
    """Another closed state near q, with rates."""
    rng = np.random.default_rng(seed)
    other = s.close(q + rng.uniform(-0.1, 0.1, s.n)).q
    return s.project(other, rng.uniform(-0.5, 0.5, s.n), steps=2)


def test_homes_are_closed(closed):
    s, q = closed
    np.testing.assert_allclose(q, s.robot.home, atol=1e-9)
    assert s.freedoms(q) == FREEDOMS[s.robot.name]


def test_closing_is_certified(closed):
    """From disturbed starts; the residual told is that of the answer; joints held stay where they are."""
    s, q = closed
    rng = np.random.default_rng(1)
    starts = q + rng.uniform(-0.1, 0.1, (4, s.n))
    found = s.close(starts)
    assert found and found.closed.shape == (4,) and (found.residual <= 1e-12).all()
    np.testing.assert_array_equal(found.residual, np.abs(s.residual(found.q)).max(-1))
    held = s.independent(q)
    again = s.close(starts, fixed=held)
    places = [s.robot.joint_names.index(j) for j in held]
    np.testing.assert_array_equal(again.q[:, places], starts[:, places])
    assert again.messages == ("closed",) * 4


def test_multipliers_and_reduction_agree(closed):
    """q̈ by multipliers = Γ z̈ + γ in independent coordinates, at several states and for other choices of them."""
    s, q0 = closed
    rng = np.random.default_rng(2)
    for seed in range(3):
        q, qd = somewhere(s, q0, seed)
        tau = rng.uniform(-2, 2, s.n)
        qdd = s.forward_dynamics(q, qd, tau).qdd
        r = s.reduced(q)
        zd = r.coordinates(qd)
        np.testing.assert_allclose(r.rates(q, zd), qd, atol=1e-10)
        zdd = r.forward_dynamics(q, zd, tau)
        size = 1 + np.abs(qdd).max()
        np.testing.assert_allclose(r.accelerations(q, zd, zdd), qdd, rtol=0, atol=1e-10 * size)
        np.testing.assert_allclose(r.inverse_dynamics(q, zd, zdd), r.forces(q, tau), rtol=0, atol=1e-10 * size)
        assert (np.linalg.eigvalsh(r.mass_matrix(q)) > 0).all()


def test_driven_by_the_independent_joints_alone(closed):
    """Torques only at actuated joints, which give the same motion."""
    s, q0 = closed
    q, qd = somewhere(s, q0, 5)
    drives = s.independent(q)
    qdd = s.forward_dynamics(q, qd, np.random.default_rng(3).uniform(-2, 2, s.n)).qdd
    tau = s.inverse_dynamics(q, qd, qdd, actuated=drives)
    passive = [k for k, j in enumerate(s.robot.joint_names) if j not in drives]
    assert (tau[passive] == 0).all()
    again = s.forward_dynamics(q, qd, tau).qdd
    np.testing.assert_allclose(again, qdd, rtol=0, atol=1e-8 * (1 + np.abs(qdd).max()))
    if len(drives) > 1:
        with raises(dl.SingularityError, "infeasible actuated"):
            s.inverse_dynamics(q, qd, qdd, actuated=drives[:-1])


def test_position_from_independent_coordinates():
    """The five-bar's two motors determine everything: q₃ = q₁ − q₂, q₄ = q₂ − q₁."""
    s = Constrained(dl.load("five-bar"))
    home = s.robot.home
    r = s.reduced(home, ["joint1", "joint2"])
    z = np.array([[1.0, 2.5], [1.2, 2.4], [0.9, 2.7]])
    q = r.position(z, home).q
    np.testing.assert_allclose(q[:, 2], z[:, 0] - z[:, 1], atol=1e-12)
    np.testing.assert_allclose(q[:, 3], z[:, 1] - z[:, 0], atol=1e-12)


# ------------------------------------------------------------------------------------- the five-bar of [Lagrange notes]
def figures(robot):
    """m, I about z through the center, and the lengths of the linkage, from the description."""
    links = {link.name: link.inertial for link in robot.description.links if link.inertial}
    m = [links[f"link{k}"].mass for k in range(1, 5)]
    I = [links[f"link{k}"].inertia[5] for k in range(1, 5)]
    lc = [links[f"link{k}"].origin.xyz[0] for k in range(1, 5)]
    return m, I, lc


def five_bar_system(robot):
    """[Lagrange notes]'s system with the linkage's numbers. l_c4 is measured from link 1's end toward the tool:
    the loop holds link 4 at 0.25 m, its center is at l_c from its beginning."""
    m, I, lc = figures(robot)
    numbers = {f"m{k + 1}": m[k] for k in range(4)} | {f"I{k + 1}": I[k] for k in range(4)}
    numbers |= {"l1": 0.4, "l2": 0.25, "lc1": lc[0], "lc2": lc[1], "lc3": lc[2], "lc4": lc[3] - 0.25, "g": 9.81}
    return examples.five_bar().with_parameters(numbers)


def test_five_bar_by_multipliers_is_five_bar_by_lagrange():
    """z̈ of both motors to 1e-10: the tree with its loop against independent coordinates."""
    robot = dl.load("five-bar")
    s, system = Constrained(robot), five_bar_system(robot)
    rng = np.random.default_rng(4)
    r = s.reduced(robot.home, ["joint1", "joint2"])
    for z in robot.home[:2] + rng.uniform(-0.4, 0.4, (5, 2)):
        q = r.position(z, robot.home).q
        zd, torques = rng.uniform(-2, 2, (2, 2))
        tau = np.array([*torques, 0, 0])
        qdd, _ = s.forward_dynamics(q, r.rates(q, zd), tau)
        expected = system.forward_dynamics(z, zd, torques)
        np.testing.assert_allclose(qdd[:2], expected, rtol=0, atol=1e-10 * (1 + np.abs(expected).max()))
        np.testing.assert_allclose(r.mass_matrix(q), system.mass_matrix(z), atol=1e-12)


def test_five_bar_decoupled():
    """Where m₃ l₂ l_c3 = m₄ l₁ l_c4 the mass matrix is constant and diagonal: no motor feels the other. ([Lagrange
    notes] print m₂ there.) The bundled linkage does not obey it, and its motors do."""
    from dataclasses import replace

    robot = dl.load("five-bar")
    m, _, lc = figures(robot)
    m3 = m[3] * 0.4 * (lc[3] - 0.25) / (0.25 * lc[2])
    links = tuple(
        replace(link, inertial=replace(link.inertial, mass=m3)) if link.name == "link3" else link
        for link in robot.description.links
    )
    decoupled = dl.Robot(replace(robot.description, links=links))
    masses = {}
    for name, arm in (("bundled", robot), ("decoupled", decoupled)):
        r = Constrained(arm).reduced(arm.home, ["joint1", "joint2"])
        z = np.array([(1.0, 2.5), (1.3, 2.2), (0.8, 2.8)])
        masses[name] = r.mass_matrix(r.position(z, arm.home).q)
    assert np.abs(masses["decoupled"][:, 0, 1]).max() < 1e-12
    assert np.ptp(masses["decoupled"], axis=0).max() < 1e-12
    assert np.ptp(masses["bundled"][:, 0, 1]) > 1e-3
    np.testing.assert_allclose(masses["decoupled"][:, 0, 0], masses["decoupled"][0, 0, 0])


# ------------------------------------------------------------------------------------------------------- simulation
def test_ten_seconds_of_a_four_bar():
    """1 kHz, swinging under gravity: closure stays below 1e-9 and energy where it was."""
    s = Constrained(dl.load("four-bar"))
    q, qd = s.project(s.close().q, np.array([2.0, 0.0, 0.0]), steps=2)
    run = integrate(s.flow(), np.concatenate([q, qd]), 1e-3, 10_000, every=20)
    columns = dict(zip(s.flow().outputs, run.y.T, strict=True))
    assert columns["closure_error"].max() <= 1e-9
    energy = columns["kinetic_energy"] + columns["potential_energy"]
    assert np.ptp(energy) < 1e-6 * np.ptp(columns["kinetic_energy"])
    assert np.ptp(run.x[:, 0]) > 0.3  # it moves


def test_drift_without_stabilization_and_with():
    """Left alone the error grows; Baumgarte's terms hold it small; projection keeps it at rounding."""
    s = Constrained(dl.load("four-bar"))
    q, qd = s.project(s.close().q, np.array([2.0, 0.0, 0.0]), steps=2)
    x = np.concatenate([q, qd])
    worst = {}
    for way in (None, "baumgarte", "projection"):
        flow = s.flow(stabilize=way)
        run = integrate(flow, x, 2e-3, 5_000, every=10)
        worst[way] = run.y[:, flow.outputs.index("closure_error")].max()
    assert worst["projection"] < 1e-13 < worst["baumgarte"] < 0.1 * worst[None]


def test_four_bar_swings_as_its_own_pendulum():
    """The simulated crank against reduction to one coordinate integrated by SciPy."""
    from scipy.integrate import solve_ivp

    s = Constrained(dl.load("four-bar"))
    q0 = s.close().q
    r = s.reduced(q0, ["crank"])
    x0 = np.concatenate([q0, np.zeros(3)])
    flow = s.flow()
    run = integrate(flow, x0, 1e-3, 1000, every=100)
    branch = [q0]

    def rate(t, y):
        q = r.position(y[:1], branch[0]).q
        branch[0] = q
        return [y[1], *r.forward_dynamics(q, y[1:], np.zeros(3))]

    ours = solve_ivp(rate, (0, 1), [q0[0], 0.0], t_eval=run.t, rtol=1e-10, atol=1e-12, method="DOP853")
    np.testing.assert_allclose(run.x[:, 0], ours.y[0], atol=1e-8)


# ------------------------------------------------------------------------------------------------------- bad input
def test_a_loop_that_cannot_close_is_refused_by_name():
    far = Constrained(dl.load("planar-2r"), hold("ball", at=(10.0, 0, 0), name="far post"))
    with raises(dl.InputError, "infeasible q"):
        far.close([0.3, 0.4])
    certificate = far.close([0.3, 0.4], strict=False)
    assert not certificate and certificate.residual > 1 and "do not reach" in certificate.messages[0]
    assert "tolerance=" in certificate.messages[0]


def test_a_crank_that_cannot_get_there_is_refused():
    """The rocker of a crank-rocker does not go round."""
    s = Constrained(dl.load("four-bar"))
    q = s.close().q
    with raises(dl.InputError, "infeasible q"):
        s.close(q + np.array([0, 0, math.pi]), fixed=["rocker"])


def test_half_a_turn_is_not_closed():
    """A weld whose frames point opposite ways has zero rows too: it is told apart."""
    arm = dl.load("planar-2r")
    q = np.array([0.3, 0.5])
    T = arm.fk(q)
    s = Constrained(arm, hold("orientation", at=T))
    assert s.close(q)
    assert np.abs(s.residual(q + np.array([math.pi, 0]))).max() < 1e-12
    turned = s.close(q + np.array([math.pi, 0.0]), fixed=["joint1", "joint2"], strict=False)
    assert not turned and "wrong way round" in turned.messages[0]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s, q: s.reduced(q, ["crank", "rocker"]), "must be 1 different joints"),
        (lambda s, q: s.reduced(q, ["crnk"]), "did you mean 'crank'"),
        (lambda s, q: s.inverse_dynamics(q, 0 * q, 0 * q, [0] * 5, actuated=["crank"]), "left out with actuated="),
        (lambda s, q: s.inverse_dynamics(q, 0 * q, 0 * q, actuated=["krank"]), "unknown joint"),
        (lambda s, q: s.robot.forward_dynamics(q, q, q), "Constrained"),
        (lambda s, q: s.constraint_wrench(q, [0, 0]), "one per row"),
        (lambda s, q: s.close(q, tolerance=-1), "tolerance is -1.0; it must be greater than 0"),
        (lambda s, q: s.independent([q, q]), "one state"),
        (lambda s, q: s.redundant([q, q]), "one state"),
    ],
)
def test_bad_input_is_named(call, text):
    s = Constrained(dl.load("four-bar"))
    with pytest.raises(dl.DalembertError, match=text):
        call(s, s.robot.home)


# ---------------------------------------------------------------------------------- what a referee found, one by one
def near_four_bar():
    fb = dl.load("four-bar")
    s = Constrained(fb)
    q = s.close(fb.home + np.array([0.2, 0, 0]), fixed=["crank"]).q
    return s, *s.project(q, np.array([1.0, 0, 0]), steps=2)


def test_a_drive_at_its_dead_center_is_refused():
    """Crank and coupler in line: the rocker cannot move it, however hard it pushes."""
    s, *_ = near_four_bar()
    th = math.acos(0.69 / 0.84)
    q = np.array([th, 0.0, math.atan2(0.7 * math.sin(th), 0.7 * math.cos(th) - 0.6)])
    assert np.abs(s.residual(q)).max() < 1e-15
    with raises(dl.SingularityError, "infeasible actuated"):
        s.inverse_dynamics(q, 0 * q, 0 * q, actuated=["rocker"])


def test_a_singular_five_bar_is_refused():
    """Both arms in line: a row is lost that all other states have; the motion is not determined."""
    s = Constrained(dl.load("five-bar"))
    assert s.generic_rank == 2
    q = np.array([1.0, 1.0, 0.0, 0.0])
    with raises(dl.SingularityError, "singular q"):
        s.forward_dynamics(q, [1, 0.5, 0.5, -0.5], [1, 0, 0, 0])


def test_states_off_the_constraints_are_refused_everywhere():
    s, q, qd = near_four_bar()
    off = q + np.array([0.3, 0, 0])
    reduced = s.reduced(q, ["crank"])
    calls = [
        lambda: s.inverse_dynamics(off, 0 * q, 0 * q),
        lambda: s.inverse_dynamics(q, np.array([0.0, 1.0, 0.0]), 0 * q),
        lambda: reduced.forward_dynamics(off, [1.0], [0.5, 0, 0]),
        lambda: integrate(s.flow(), np.concatenate([off, qd]), 1e-3, 1),
        lambda: reduced.position([0.5], off),
    ]
    for call in calls:
        with pytest.raises(dl.InputError, match="does not obey the constraints"):
            call()


def test_positions_stay_on_their_branch():
    """Round a whole turn of the crank, from one start: the coupler's angle stays on the side it is on."""
    s, q, _ = near_four_bar()
    r = s.reduced(q, ["crank"])
    z = q[0] + np.linspace(0, 2 * math.pi, 25)[:, None]
    found = r.position(z, q).q
    np.testing.assert_allclose(np.sin(found[-1]), np.sin(q), atol=1e-9)
    tracked = q
    for target, whole in zip(z, found, strict=True):
        for step in np.linspace(tracked[0], target[0], 30)[1:]:
            tracked = s.close([step, *tracked[1:]], fixed=["crank"]).q
        np.testing.assert_allclose(np.sin(whole - tracked), 0, atol=1e-9)


def test_half_a_turn_off_is_refused_by_the_dynamics():
    body = dl.describe.Inertial(1.0, (0.01, 0, 0, 0.01, 0, 0.01))
    arm = dl.Robot.from_dh([{"a": 1.0, "inertial": body}] * 3, gravity=(0, 0, 0))
    x = np.array([0.3, 0.5, 0.7])
    s = Constrained(arm, hold("weld", at=arm.fk(x) @ dl.pose(rpy=(0, 0, math.pi))))
    with raises(dl.InputError, "wrong-value q"):
        s.forward_dynamics(x, 0 * x, [1, 0, 0])


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_mechanisms_of_any_size(factor):
    """A linkage of a tenth of a millimeter and one of kilometers: closed as well, judged alike."""
    from dataclasses import replace

    d = dl.load("four-bar").description

    def scaled(origin):
        return replace(origin, xyz=tuple(factor * x for x in origin.xyz))

    def lighter(i):
        six = tuple(x * factor**5 for x in i.inertia)
        return replace(i, mass=i.mass * factor**3, inertia=six, origin=scaled(i.origin))

    links = tuple(replace(k, inertial=lighter(k.inertial) if k.inertial else None, visuals=()) for k in d.links)
    joints = tuple(replace(j, origin=scaled(j.origin)) for j in d.joints)
    loops = tuple(
        replace(x, first_origin=scaled(x.first_origin), second_origin=scaled(x.second_origin)) for x in d.loops
    )
    s = Constrained(dl.Robot(replace(d, links=links, joints=joints, loops=loops)))
    q = s.close(s.robot.home + np.array([0.1, 0, 0]), fixed=["crank"]).q
    big = Constrained(dl.load("four-bar"))
    np.testing.assert_allclose(q, big.close(big.robot.home + np.array([0.1, 0, 0]), fixed=["crank"]).q, atol=1e-10)
    assert s.freedoms(q) == 1
    with raises(dl.InputError, "wrong-value q"):
        s.forward_dynamics(q + np.array([0.1, 0, 0]), 0 * q, 0 * q)
    with raises(dl.SingularityError, "infeasible actuated"):
        s.inverse_dynamics(q, 0 * q, 0 * q, actuated=[])


def test_a_massless_coupler_is_held_by_its_loop():
    """M alone is singular, the closed mechanism is not: multipliers and reduction agree, and it can be simulated."""
    from dataclasses import replace

    d = dl.load("four-bar").description
    links = tuple(replace(k, inertial=None) if k.name == "rocker" else k for k in d.links)
    with pytest.warns(dl.ModelWarning):
        robot = dl.Robot(replace(d, links=links))
    s = Constrained(robot)
    q = s.close().q
    qdd, force = s.forward_dynamics(q, 0 * q, [0.5, 0, 0])
    r = s.reduced(q, ["crank"])
    np.testing.assert_allclose(r.forward_dynamics(q, [0.0], [0.5, 0, 0]), qdd[:1], rtol=1e-9)
    whole = robot.tree().mass_matrix(q) @ qdd + robot.gravity_torque(q) + s.jacobian(q).T @ force
    np.testing.assert_allclose(whole, [0.5, 0, 0], atol=1e-9)
    run = integrate(s.flow(), np.concatenate([q, 0 * q]), 1e-3, 200)
    energy = run.y[:, -2] + run.y[:, -1]
    assert np.ptp(energy) < 1e-7 * np.ptp(run.y[:, -1])


def test_one_definition_of_dependence():
    """What `redundant` names is what the factorization leaves out, and `rank` counts the rest."""
    from dalembert.constrained import plane

    panda = dl.load("panda")
    q = panda.random_configuration(seed=3) * 0.5
    p = panda.fk(q)[:3, 3]
    s = Constrained(panda, [plane(p, (0, 0, 1)), plane(p, (1e-7, 0, 1)), plane(p, (1e-3, 0, 1))])
    assert (s.rank(q), s.redundant(q)) == (2, ("plane2: along",))
    force = s.forward_dynamics(q, 0 * q, np.ones(7)).multipliers
    assert force[1] == 0 and force[0] != 0 and force[2] != 0


def test_nan_stays_in_its_state():
    s, q, qd = near_four_bar()
    qs = np.stack([q, np.full(3, np.nan), q])
    qdd = s.forward_dynamics(q, qd, [0.5, 0, 0]).qdd
    assert s.rank(qs).tolist()[0] == 2
    tau = s.inverse_dynamics(qs, qd, qdd, actuated=["crank"])
    assert np.isnan(tau[1]).all() and np.isfinite(tau[[0, 2]]).all()
    zdd = s.reduced(q, ["crank"]).forward_dynamics(qs, qd[:1], [0.5, 0, 0])
    assert np.isnan(zdd[1]).all() and np.isfinite(zdd[[0, 2]]).all()


def test_equations_of_a_closed_chain():
    """The four-bar's multipliers in symbols, against numbers; its two rows that count."""
    from dataclasses import replace

    import sympy as sp

    fb = dl.load("four-bar")
    d = fb.description
    s = Constrained(dl.Robot(replace(d, loops=tuple(replace(x, kind="line") for x in d.loops))))
    e = s.equations(symbolic="none")
    q, qd = s.project(s.close().q, np.array([1.0, 0, 0]), steps=2)
    at = {f"q{k + 1}": sp.Float(x, 30) for k, x in enumerate(q)} | {f"qd{k + 1}": x for k, x in enumerate(qd)}
    at |= {"tau1": 0.5, "tau2": 0, "tau3": 0}
    qdd, force = s.forward_dynamics(q, qd, [0.5, 0, 0])
    np.testing.assert_allclose(np.array(e.sympy("qdd", at), float).ravel(), qdd, rtol=1e-8)
    np.testing.assert_allclose(np.array(e.sympy("lambda", at), float).ravel(), force, rtol=1e-8)
    from dalembert import scalar
    from dalembert.constrained import holonomic

    root = Constrained(dl.load("planar-2r"), holonomic(lambda q: scalar.sqrt(q[0] * q[0] + 1.0) - 1.2))
    with raises(dl.InputError, "unsupported constraints"):
        root.equations().sympy("A")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s, q: s.inverse_dynamics(q, 0 * q, 0 * q, actuated=["crank", "crank"]), "must be different joints"),
        (lambda s, q: s.project(q, q, steps=1.5), "steps must be a whole number"),
        (lambda s, q: s.forward_dynamics(q, 0 * q, q, tolerance="x"), "tolerance must be a finite number"),
        (lambda s, q: s.tip_wrench(q, [0] * 5, rows=[7]), "rows of shape"),
        (lambda s, q: s.tip_wrench(q, [0] * 4), "multipliers has shape"),
        (lambda s, q: s.inverse_dynamics(q, 0 * q, 0 * q, [0] * 4), "last dimension must be 5, one per row"),
        (lambda s, q: s.forward_dynamics(q, 0 * q, q, wrenches={"crank": [1, 2, 3]}), r"must be 6, \(force, moment\)"),
        (lambda s, q: Constrained("four-bar"), "takes a Robot"),
        (lambda s, q: s.reduced([q, q], ["crank"]), "one state"),
        (lambda s, q: s.reduced(q, ["crank"]).rates(q, [1.0, 2.0]), "zd has shape"),
        (lambda s, q: s.reduced(q, ["crank"]).forces(q, [1.0, 2.0]), "tau has shape"),
        (lambda s, q: hold("weld", at="abc"), "a position"),
    ],
)
def test_more_bad_input_is_named(call, text):
    s = Constrained(dl.load("four-bar"))
    with pytest.raises(dl.DalembertError, match=text):
        call(s, s.robot.home)


def test_numpy_numbers_are_numbers():
    from dalembert.constrained import couple

    s = Constrained(dl.load("planar-2r"), couple({"joint1": np.int64(2), "joint2": np.float32(1)}, np.float64(0.5)))
    assert s.jacobian([0.1, 0.2]).tolist() == [[2.0, 1.0]]
    for wrong in (3, ["joint1"]):
        with raises(dl.InputError, "wrong-type factors"):
            couple(wrong)
    with raises(dl.InputError, "wrong-type value"):
        couple({"joint1": 1.0}, "x")
