"""Energy: balanced along motions and runs, bounded from below, handed on in loops; and what is not passive is found."""

from __future__ import annotations

import numpy as np
import pytest
from two_points import L1, L2, M1, M2, G, follower, own, two_points

import dalembert as dl
from dalembert.trust import properties as lab
from dalembert.trust.properties.energy import CLOSES
from dalembert.trust.properties.gravity import least_potential
from dalembert.trust.properties.mechanism import accumulate, swing
from trees import random_tree

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")


def test_integrals_over_time():
    t = np.linspace(0.0, 2.0, 9)
    f = np.stack([t**3 - t, np.ones_like(t)], -1)
    wanted = np.stack([t**4 / 4 - t**2 / 2, t], -1)
    assert np.abs(accumulate(t, f) - wanted).max() < 1e-14  # a cubic, exactly
    uneven = np.array([0.0, 0.1, 0.5, 2.0])
    assert np.allclose(accumulate(uneven, 2 * uneven), uneven**2)
    errors = []
    for rows in (101, 201):
        t = np.linspace(0, 3, rows)
        errors.append(np.abs(accumulate(t, np.cos(5 * t)) - np.sin(5 * t) / 5).max())
    assert 14 < errors[0] / errors[1] < 36  # of fourth order at least


def test_motions_stay_within_limits_and_their_rates_are_rates():
    robot = dl.load("panda")
    from dalembert.trust.properties.mechanism import mechanism_of

    m = swing(mechanism_of(robot), 3)
    assert (m.q >= robot.limits.lower).all() and (m.q <= robot.limits.upper).all()
    assert np.abs(np.gradient(m.q, m.t, axis=0) - m.qd)[1:-1].max() < 1e-3
    assert np.abs(np.gradient(m.qd, m.t, axis=0) - m.qdd)[1:-1].max() < 1e-2


# --------------------------------------------------------------------------------------------- lowest places
def test_lowest_place_of_two_points():
    assert lab.lowest_potential(two_points()) == pytest.approx(-G * ((M1 + M2) * L1 + M2 * L2), rel=1e-12)


@pytest.mark.parametrize("name", ["panda", "puma560", "ur5e", "rp", "scara", "parallelogram-arm"])
def test_no_place_is_lower(name):
    robot = dl.load(name).tree()
    lowest = lab.lowest_potential(robot)
    seen = robot.potential_energy(robot.random_configuration(20_000, seed=7)).min()
    assert least_potential(robot) <= lowest + 1e-9 and lowest <= seen + 1e-9


def test_mimics_and_endless_slides():
    robot = dl.Robot(random_tree(2, 5, mimic=True))
    assert robot.model.mimics
    seen = robot.potential_energy(robot.random_configuration(20_000, seed=7)).min()
    assert lab.lowest_potential(robot) <= seen + 1e-6
    ball = dl.describe.Inertial(1.0, (0.1, 0, 0, 0.1, 0, 0.1), dl.describe.Origin((0.1, 0.0, 0.2)))
    slide = dl.Robot.from_dh([dl.describe.DHRow(kind="prismatic", inertial=ball)], gravity=(0, 0, -9.81))
    assert lab.lowest_potential(slide) == -np.inf and least_potential(slide) == -np.inf
    found = lab.passivity(slide, states=5)
    assert found.verdict == "holds" and "slides without end" in found.note  # booked, but no β
    flat = dl.Robot.from_dh([dl.describe.DHRow(kind="prismatic", inertial=ball)], gravity=(0, -9.81, 0))
    assert np.isfinite(lab.lowest_potential(flat)) and lab.passivity(flat, states=5).verdict == "proved"


@pytest.mark.parametrize(("axis", "bottom"), [((0.0, 0.0, 1.0), False), ((1.0, 0.0, 0.0), True)])
def test_a_slide_that_follows_an_endless_turn_has_no_bottom(axis, bottom):
    robot = follower("prismatic", axis, 0.1)
    assert bool(np.isfinite(lab.lowest_potential(robot))) is bottom
    assert least_potential(robot) <= lab.lowest_potential(robot)
    found = lab.passivity(robot, states=5)
    assert found.ok and found.verdict != "proved" and ("without end" in found.note) is not bottom


def test_no_place_is_lower_where_joints_follow_slowly():
    """A turn of the master is a quarter of a turn here: the lowest place is more than half a turn away."""
    robot = follower("continuous", (1.0, 0.0, 0.0), 0.25)
    seen = robot.potential_energy(np.linspace(-30, 30, 4001)[:, None]).min()
    assert least_potential(robot) <= seen and lab.lowest_potential(robot) <= seen + 1e-2


# ------------------------------------------------------------------------------------------------------ books
def test_books_along_a_motion():
    arm = two_points()
    books = lab.energy_books(arm, seed=2)
    assert books.balanced and books.passive and not books.lost.any() and books.gap < 1e-8
    assert books.supplied.min() > -books.beta and books.supplied.min() < 0  # energy is given back, within β
    assert "supplied" in str(books)
    motion = swing(lab.Mechanism("m", 2, arm.mass_matrix, arm.coriolis_matrix, arm.gravity_torque, robot=arm), 2)
    H = arm.kinetic_energy(motion.q, motion.qd) + arm.potential_energy(motion.q)
    assert np.allclose(books.stored, H - H[0], atol=1e-9)
    assert books.beta == pytest.approx(H[0] + G * ((M1 + M2) * L1 + M2 * L2), rel=1e-9)


def test_books_with_friction_and_springs():
    robot = dl.Robot(random_tree(5, 3, friction=True, prismatic=False))
    assert any(body.stiffness for body in robot.model.bodies)
    books = lab.energy_books(robot, friction=True, seed=1)
    assert books.balanced and books.passive and (np.diff(books.lost) >= -1e-12).all() and books.lost[-1] > 0
    bare = lab.energy_books(robot, seed=1)
    assert bare.supplied[-1] < books.supplied[-1]
    assert lab.dissipation(robot, states=5).verdict == "holds"
    with pytest.raises(dl.InputError, match="friction is part of a Robot's model; 'mine' is none"):
        lab.energy_books(own(), friction=True)


@pytest.mark.parametrize("friction", [False, True])
def test_books_of_a_run(friction):
    robot = dl.Robot(random_tree(5, 2, friction=True, prismatic=False))
    run = dl.simulate(
        robot,
        q0=[0.3, -0.4],
        qd0=[1.0, 2.0],
        duration=1.0,
        friction=friction,
        inputs=dl.Inputs(tau=[0.5, -0.2]),
        limits="report",
    )
    books = lab.energy_books(robot, run)
    assert books.balanced and books.passive and bool(books.lost[-1] > 0.01) is friction
    assert friction or books.gap < 1e-9
    audit = run.audit()
    assert books.supplied[-1] == audit.work and books.stored[-1] == pytest.approx(audit.change, rel=1e-12)
    assert lab.passivity(robot, run, states=5).ok
    with pytest.raises(dl.InputError, match="has 2 coordinates, 'planar-3r' has 3"):
        lab.energy_books(dl.load("planar-3r"), run)
    with pytest.raises(dl.InputError, match=r"run must be what dalembert\.simulate gives, got list"):
        lab.energy_books(robot, [1, 2])


def test_an_active_mechanism_is_found():
    """A spring that pushes the wrong way at speed: it gives out energy for ever."""
    books = lab.energy_books(own(coriolis_matrix=lambda q, v: -3.0 * np.eye(2)))
    assert not books.balanced and not books.passive


def test_books_of_the_wrong_energy_do_not_close():
    assert lab.energy_books(own()).balanced
    assert not lab.energy_books(own(potential_energy=lambda q: 0.0)).balanced


def test_work_of_gravity_is_the_same_by_every_way():
    found = lab.gravity_work(two_points(), states=5)
    assert found.verdict == "proved" and found.numbers["spread of the works [J]"] < 1e-6 * abs(found.numbers["ΔP [J]"])
    swirl = own(gravity_torque=lambda q: np.array([-q[1], q[0]]))
    assert lab.gravity_work(swirl, states=5).numbers["spread of the works [J]"] > 0.1


# --------------------------------------------------------------------------------------------- gains and loops
def test_gain_of_a_damped_mass_in_closed_form():
    """|q̇/τ| = 1/√((mω)² + d²) for a sine: at most 1/d, and the lab's motions stay below it."""
    mass = lab.Mechanism("mass", 1, lambda q: [[2.0]], lambda q, v: [[0.0]], lambda q: [0.0], lambda q: 0.0)
    found = lab.l2_gain(mass, damping=3.0, states=5)
    assert found.ok and found.numbers["gain bound 1/d"] == pytest.approx(1 / 3)
    slowest, fastest = (1 / np.hypot(2.0 * w, 3.0) for w in (1.0, 4.0))
    assert 0.8 * fastest < found.numbers["largest ‖q̇‖ / ‖τ‖ met"] < 1.2 * slowest


@pytest.mark.parametrize("damping", [0.1, 1.0, 20.0])
def test_gain_of_an_arm(damping):
    found = lab.l2_gain(two_points(), damping, states=5)
    assert found.verdict == "proved" and found.numbers["least room of the gain inequality"] >= -1e-9


@pytest.mark.parametrize("damping", [0.0, -1.0, np.nan, "much"])
def test_damping_that_is_none(damping):
    with pytest.raises(dl.InputError, match=r"damping .*must be .* \[N m s/rad\]"):
        lab.l2_gain(two_points(), damping)


def test_a_loop_of_passive_systems():
    loop = lab.interconnection(two_points(), [0.5, 0.3], kp=[60.0, 30.0], kd=[6.0, 3.0], q0=[-1.0, 0.4], duration=2.0)
    assert loop.falls and loop.gap < CLOSES and loop.V[-1] < 0.9 * loop.V[0]
    assert (loop.arm >= -1e-9).all() and (loop.law >= 0).all()
    assert (np.diff(loop.arm) > 1e-3).any()  # the arm alone gains energy: only the sum falls
    wrong = lab.Interconnection("x", loop.t, loop.arm[::-1], loop.law[::-1], loop.heat, None)
    assert not wrong.falls


def test_feedback_at_states():
    assert lab.feedback(two_points(), kp=10.0, kd=[1.0, 2.0], states=30).verdict == "proved"
    coupled = lab.feedback(two_points(), kp=[[10.0, 2.0], [2.0, 5.0]], states=30)
    assert coupled.verdict == "proved" and coupled.numbers["largest V̇ met [W]"] <= 0
    active = lab.feedback(two_points(), kd=-1.0, states=30)
    assert active.verdict == "fails" and "not passive" in active.note
    with pytest.raises(dl.InputError, match=r"kp must be a finite number or 2 finite numbers or .*, got shape \(3"):
        lab.feedback(two_points(), kp=[1, 2, 3])
    with pytest.raises(dl.InputError, match="kd is inf; it must be a finite number"):
        lab.feedback(two_points(), kd=np.inf)


# --------------------------------------------------------------------------------------------- energy and parameters
def test_energy_regressor_is_linear():
    robot = dl.load("puma560")
    q, qd = robot.random_configuration(seed=1), np.linspace(-1, 1, 6)
    h = lab.energy_regressor(robot, q, qd)
    H = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
    assert h.shape == (66,) and h @ robot.parameters(rotor=True) == pytest.approx(float(H), rel=1e-12)
    found = lab.linear_in_parameters(robot, states=10)
    assert found.numbers["parameters"] == 66 and found.numbers["violation of superposition"] < 1e-12


@pytest.mark.parametrize(("name", "rank"), [("planar-2r", 6), ("planar-1r", 3)])
def test_base_parameters(name, rank):
    """A planar arm under gravity: for each link its inertia about the joint and two first moments, with what it
    carries lumped in."""
    found = lab.linear_in_parameters(dl.load(name), states=10)
    assert found.numbers["base parameters (rank of Y)"] == rank


# --------------------------------------------------------------------------------------------------------- pictures
def test_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    figure = lab.energy_books(two_points()).plot()
    upper, lower = figure.axes
    assert [line.get_label() for line in upper.get_lines()][:2] == ["supplied ∫ q̇ᵀτ dt", "stored H − H(0)"]
    assert any("−β" in text.get_text() for text in upper.get_legend().get_texts()) and lower.get_xlabel() == "time [s]"
    loop = lab.interconnection(two_points(), [0.5, 0.3], duration=0.1)
    assert loop.plot().axes[0].get_ylabel() == "energy [J]"
