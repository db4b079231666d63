"""Gears, belts, differentials and rotors: virtual work, exact rotor bodies, the geared robot of [Lee]."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from actuation_runs import MOTOR, PLAIN, observed

import dalembert as dl
from dalembert.actuation import driven
from dalembert.actuation.driven import DrivenRobot
from dalembert.actuation.gear_effects import VERDICTS, gear_report, geared_model
from dalembert.actuation.motors import DCMotor, FluidDrive, TorqueSource
from dalembert.actuation.rotors import ROTOR, Rotor, rotors_of, with_rotors
from dalembert.actuation.transmission import Gear, Transmission, differential, reflected_inertia, remote, transfer
from dalembert.algorithms import energy
from dalembert.algorithms.jacobians import jacobian
from dalembert.algorithms.newton_euler import gravity_torque
from dalembert.lagrange.examples import geared_arm, geared_link
from oracles.pinocchio_model import PinocchioModel
from tolerances import ORACLE, ROUNDING, SOLVED, error
from trees import random_tree

# ---------------------------------------------------------------------------------------------- coupling matrices
TRANSMISSIONS = {
    "gears": Transmission.gears([50.0, Gear(30.0)]),
    "differential": differential(20.0, 25.0),
    "remote": remote([10.0, 12.0]),
    "pulleys": remote([10.0, 12.0], 0.5),
    "turning the other way": Transmission.gears([-50.0, Gear(30.0)]),
    "three motors": Transmission([[10.0, 0.0], [5.0, -5.0], [0.0, 8.0]]),
}


@pytest.mark.parametrize("name", TRANSMISSIONS)
def test_virtual_work(name):
    """τᵀ δq = τ_mᵀ δθ_m for every δq, and the rotors' energy is the same on either side."""
    G = TRANSMISSIONS[name]
    rng = np.random.default_rng(0)
    for _ in range(5):
        dq, torque, J = rng.normal(size=2), rng.normal(size=G.motors), rng.uniform(0.1, 1, G.motors)
        moved = np.array(G.to_motors(dq.tolist()))
        assert np.dot(G.to_joints(torque.tolist()), dq) == pytest.approx(np.dot(torque, moved), abs=1e-12)
        assert dq @ np.array(G.reflected(J.tolist())) @ dq == pytest.approx((J * moved**2).sum())
        wanted = rng.normal(size=2)
        assert error(G.to_joints(G.motor_torque(wanted).tolist()), wanted) < ROUNDING
    assert G.motor_torque(np.zeros((4, 2))).shape == (4, G.motors)


def test_coupled_motors_move_the_arm_as_their_matrix_says():
    """A robot behind a coupling is the robot under Gᵀ u with Gᵀ J G more inertia."""
    for G in TRANSMISSIONS.values():
        robot = DrivenRobot(PLAIN, TorqueSource(inertia=1e-4), G)
        x, u = np.array([0.4, -0.3, 0.5, 0.2]), np.arange(1.0, 1.0 + G.motors) / 10
        tau = np.array(G.matrix).T @ u
        M = PLAIN.mass_matrix(x[:2]) + 1e-4 * np.array(G.matrix).T @ G.matrix
        assert error(robot.kernel("rate")(x, u)[2:], np.linalg.solve(M, tau - PLAIN.bias_torque(x[:2], x[2:]))) < SOLVED
        assert error(robot.mass_matrix(x[:2]), M) < ROUNDING
    assert robot.inputs == ("motor1_torque", "motor2_torque", "motor3_torque")


def test_remote_drives_feel_absolute_angles():
    """Equal pulleys: the second motor turns with q₁ + q₂, so that M becomes diagonal in the motors' angles for the
    2R whose second link is balanced."""
    G = np.array(remote([1.0, 1.0]).matrix)
    assert np.array_equal(G, [[1, 0], [1, 1]])
    assert np.array_equal(np.array(differential(7.0).matrix), [[7, 7], [7, -7]])
    assert np.array_equal(np.array(remote([2, 3, 4], [0.5, 2]).matrix), [[2, 0, 0], [1.5, 3, 0], [2, 8, 4]])
    joined = Transmission.joined(Transmission.gears([Gear(50, 0.9)]), differential(7.0))
    assert np.array_equal(np.array(joined.matrix), [[50, 0, 0], [0, 7, 7], [0, 7, -7]])
    assert joined.efficiency == (0.9, 1.0, 1.0) and not joined.diagonal and not joined.lossless


def test_underactuated():
    """One motor on two joints: it moves, but joint torques cannot be chosen."""
    acrobot = Transmission([[0.0, 10.0]])
    robot = DrivenRobot(PLAIN, TorqueSource(), acrobot)
    x = np.array([0.4, -0.3, 0.5, 0.2])
    assert error(robot.kernel("rate")(x, [0.3])[2:], PLAIN.forward_dynamics(x[:2], x[2:], [0.0, 3.0])) < SOLVED
    with pytest.raises(dl.InputError, match="1 motors drive 1 of 2 independent joint motions"):
        robot.holding([0.0, 0.0])


def test_reflected_inertia_grows_with_the_square():
    one, ten = (DrivenRobot(PLAIN, MOTOR, [N, N]).mass_matrix([0.3, 0.4]) for N in (1.0, 10.0))
    links = PLAIN.mass_matrix([0.3, 0.4])
    assert error(ten, links + 100 * (one - links)) < ROUNDING
    assert error(one - links, 2e-5 * np.eye(2), 1.0) < ROUNDING
    assert reflected_inertia(2e-5, 10.0) == pytest.approx(2e-3)


# -------------------------------------------------------------------------------------------------- efficiency
def pendulum(gear: Gear) -> DrivenRobot:
    return DrivenRobot(dl.load("planar-1r"), TorqueSource(inertia=1e-3), Transmission.gears([gear]))


def test_losses_on_the_way_up_and_down():
    """Lifting, η N τ_m arrives; lowered by its weight, the link drives the motor and N τ_m/η_b holds it back."""
    arm = dl.load("planar-1r")
    M, g = float(arm.mass_matrix([0.2])[0, 0]), float(arm.gravity_torque([0.2])[0])
    robot = pendulum(Gear(20, 0.8, 0.7))
    up, down = 0.5, 0.1  # motor torques [N m]; g/N is 0.24
    assert g / 20 == pytest.approx(0.24, abs=0.01)
    lifted = (0.8 * 20 * up - g) / (M + 0.8 * 400 * 1e-3)
    assert robot.rate(0.0, [0.2, 1.0], [up])[1] == pytest.approx(lifted)
    lowered = (20 * down / 0.7 - g) / (M + 400 * 1e-3 / 0.7)
    assert robot.rate(0.0, [0.2, -1.0], [down])[1] == pytest.approx(lowered)
    assert robot.rate(0.0, [0.2, 0.0], [up])[1] == pytest.approx((20 * up - g) / (M + 0.4))  # at rest nothing is lost
    assert transfer(1.0, 1.0, 1.0) == 1.0


# Each with the ratio and rotor that make its gears matter; the wrist of the last shares its loads among two motors.
LOSSY = {
    "pendulum": (dl.load("planar-1r"), 20.0, 1e-3),
    "2R": (PLAIN, 50.0, 2e-4),
    "3R": (dl.load("planar-3r"), 50.0, 2e-4),
    "panda": (dl.load("panda"), 50.0, 2e-4),
    "wrist": (PLAIN, 20.0, 1e-3),
}


def lossy(name: str, efficiency: float) -> DrivenRobot:
    arm, N, J = LOSSY[name]
    G = np.array(differential(N).matrix) if name == "wrist" else N * np.eye(arm.n)
    return DrivenRobot(arm, TorqueSource(inertia=J), Transmission(G, efficiency))


@pytest.mark.parametrize("efficiency", [0.5, 0.7])
@pytest.mark.parametrize("name", LOSSY)
def test_gears_never_make_power(name, efficiency):
    """(1 − e) τ_load θ̇_m ≥ 0 for every gear, in any state, and e is the one of the power that flows: the motion is
    that of its own directions."""
    robot = lossy(name, efficiency)
    arm, G, J, count = robot.robot, np.array(robot.transmission.matrix), robot.inertias[0], 20_000
    rng = np.random.default_rng(1)
    q = arm.random_configuration(count, seed=rng)
    qd = rng.normal(size=(count, arm.n))
    # Torques at which gravity, the links' inertia and the rotors' all count.
    u = rng.normal(size=(count, len(G))) * np.abs(arm.gravity_torque(q)).max() / np.abs(G).max()
    qdd = robot.kernel("rate")(np.concatenate((q, qd), -1), u)[:, arm.n :]
    load, w = u - J * qdd @ G.T, qd @ G.T
    e = np.where(load * w > 0, efficiency, 1 / efficiency)
    left = np.einsum("kij,kj->ki", arm.mass_matrix(q), qdd) + arm.bias_torque(q, qd) - (e * load) @ G
    size = np.abs(e * load) @ np.abs(G)
    assert np.abs(left / size.max(-1, keepdims=True)).max() < SOLVED
    assert 0.01 < np.mean(load * w < 0) < 0.99  # both ways
    lost = observed(robot.flow())(0.0, np.concatenate((q, qd), -1), u)[:, robot.flow().outputs.index("gear_loss")]
    assert error(lost, ((1 - e) * load * w).sum(-1)) < SOLVED
    assert lost.min() > -ROUNDING * np.abs(lost).max()


def test_gears_whose_directions_do_not_settle_lose_nothing(monkeypatch):
    """Cut short after the first round, the states that need more are taken without losses, and none makes power."""
    monkeypatch.setattr(driven, "ROUNDS", 1)
    robot, full = lossy("2R", 0.5), DrivenRobot(PLAIN, TorqueSource(inertia=2e-4), [50.0, 50.0])
    x, u = np.split(np.random.default_rng(0).normal(size=(20_000, 6)), [4], axis=1)
    found, free = robot.kernel("rate")(x, u), full.kernel("rate")(x, u)
    lost = observed(robot.flow())(0.0, x, u)[:, robot.flow().outputs.index("gear_loss")]
    unsettled = lost == 0
    assert 0 < unsettled.mean() < 0.2 and lost.min() == 0
    assert error(found[unsettled], free[unsettled]) < ROUNDING


def test_a_state_in_which_gears_made_power():
    """The load of the first joint turns round because of the losses of the second."""
    robot = DrivenRobot(PLAIN, MOTOR.reduced(), Transmission.gears([Gear(50, 0.5)] * 2))
    k = robot.flow().outputs.index("gear_loss")
    assert robot.observe(0.0, [-2.726, 0.451, -0.00513, -0.808], [36.9, -10.3])[k] > 0


# ------------------------------------------------------------------------------------------------------- rotors
@pytest.mark.parametrize("seed", range(4))
def test_kinetic_energy_of_rotors_as_bodies(seed):
    """K = K_links + Σ J_m N q̇ (a·ω_carrier) + ½ N² J_m q̇² for rotors that their carriers' inertia already holds."""
    robot = dl.Robot(random_tree(seed, 6, rotors=True))
    full = with_rotors(robot)
    assert full.n == robot.n and full.joint_names == robot.joint_names
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-1, 1, (2, robot.n))
    joints = {j.name: j for j in robot.description.joints}
    wanted = energy.kinetic_energy(robot.model, q, qd)  # with ½ N² J_m q̇² in it
    coupling = 0.0
    for name, rotor in rotors_of(robot).items():
        joint = joints[name]
        a = dl.pose(rpy=joint.origin.rpy)[:3, :3] @ joint.axis
        w = np.array(jacobian(robot.model, q, robot.model.frame(joint.parent), "local"))[3:] @ qd
        coupling += rotor.inertia * rotor.ratio * qd[robot.joint_names.index(name)] * (a @ w)
    assert abs(coupling) > 1e-4
    assert energy.kinetic_energy(full.model, q, qd) == pytest.approx(wanted + coupling, rel=1e-10)
    weights = [gravity_torque(r.model, q) for r in (full, robot)]
    assert error(*weights, 1.0) < ROUNDING


@pytest.mark.parametrize("seed", range(3))
def test_rotors_against_pinocchio(seed):
    """The same rotors as bodies of Pinocchio's model: M, and the gyroscopic torques within the inverse dynamics."""
    robot = with_rotors(dl.Robot(random_tree(seed, 5, rotors=True)))
    other = PinocchioModel(robot)
    for q, qd, qdd in np.random.default_rng(seed).uniform(-1, 1, (3, 3, robot.n)):
        assert error(robot.mass_matrix(q), other.mass_matrix(q)) < ORACLE
        assert error(robot.inverse_dynamics(q, qd, qdd), other.inverse_dynamics(q, qd, qdd)) < ORACLE


def test_gyroscopic_torque_by_hand():
    """Axes z, y, x through one point, the third joint's rotor on link 2: a·ω = −q̇₁ s₂, so Lagrange's equations of
    −J N q̇₃ q̇₁ s₂ give the torques that the usual N² J model lacks."""
    inertia = dl.describe.Inertial(1.0, (0.02, 0, 0, 0.03, 0, 0.04), dl.describe.Origin((0.1, 0.0, 0.0)))
    axes = [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0]]
    J, N = 1e-4, 80.0
    drives = [dl.describe.Drive(), dl.describe.Drive(), dl.describe.Drive(rotor_inertia=J, gear_ratio=N)]
    homes = np.broadcast_to(np.eye(4), (3, 4, 4))
    usual = dl.Robot.from_screws(axes, np.eye(4), link_homes=homes, inertials=[inertia] * 3, drives=drives)
    exact = with_rotors(usual)
    rng = np.random.default_rng(0)
    for _ in range(5):
        motion = rng.uniform(-1, 1, (3, 3))
        q, (d1, d2, d3), (a1, _, a3) = motion
        s, c = math.sin(q[1]), math.cos(q[1])
        extra = J * N * np.array([-a3 * s - d3 * d2 * c, d3 * d1 * c, -a1 * s - d1 * d2 * c])
        found = exact.inverse_dynamics(*motion) - usual.inverse_dynamics(*motion)
        assert error(found, extra) < SOLVED
    assert [b for b in exact.bodies if b.endswith(ROTOR)] == [f"{usual.joint_names[2]}{ROTOR}"]


def test_the_coupling_fades_against_the_usual_term():
    """J N a·ω against J N²: smaller by the ratio."""
    parts = []
    for N in (10.0, 100.0):
        puma = dl.load("puma560")
        rotors = {name: Rotor(1e-5, N) for name in puma.joint_names}
        q = [0.1, 0.2, -0.3, 0.4, 0.5, 0.6]
        exact = DrivenRobot(puma, TorqueSource(inertia=1e-5), [N] * 6, rotors="exact").mass_matrix(q)
        usual = DrivenRobot(puma, TorqueSource(inertia=1e-5), [N] * 6).mass_matrix(q)
        assert error(exact, _links_with(puma, rotors, q)) < ROUNDING
        parts.append(np.abs(exact - usual).max() / (N**2 * 1e-5))
        assert np.abs(np.diag(exact - usual)).max() < 1e-12
    assert parts[0] == pytest.approx(10 * parts[1], rel=1e-9)


def test_exact_rotors_replace_those_of_the_description():
    """What the description says of rotors does not matter once a motor has an inertia: not for joints whose motor has
    none, and not for mimic joints."""
    puma = dl.load("puma560")
    motors = [DCMotor(1.0, 0.1, inertia=1e-4), *[DCMotor(1.0, 0.1)] * 5]
    q = puma.random_configuration(seed=2)
    exact, usual = (DrivenRobot(puma, motors, rotors=way).mass_matrix(q) for way in ("exact", "reflected"))
    assert error(exact, usual) < ROUNDING  # the only rotor is the first joint's, on the base
    d = random_tree(3, 6, mimic=True, rotors=True)
    assert any(j.mimic and j.drive.rotor_inertia > 0 for j in d.joints)
    bare = replace(d, joints=tuple(replace(j, drive=replace(j.drive, rotor_inertia=0.0)) for j in d.joints))
    n = dl.Robot(d).n
    q, drive = np.full(n, 0.3), TorqueSource(inertia=1e-4)
    found, wanted = (DrivenRobot(dl.Robot(x), drive, [20.0] * n, rotors="exact").mass_matrix(q) for x in (d, bare))
    assert error(found, wanted) < ROUNDING


def test_negative_ratios_turn_the_other_way():
    """The Puma's own ratios, given or from the description, are the same; N² is what the rotors' inertia feels."""
    puma = dl.load("puma560")
    N = [j.drive.gear_ratio for j in puma.description.joints if j.kind != "fixed"]
    assert min(N) < 0
    x, u = np.random.default_rng(0).normal(size=(2, 12))
    own, given = DrivenRobot(puma, MOTOR.reduced()), DrivenRobot(puma, MOTOR.reduced(), N)
    assert np.array_equal(own.kernel("rate")(x, u[:6]), given.kernel("rate")(x, u[:6]))
    report, other = (gear_report(puma, MOTOR, ratios, samples=20) for ratios in (N, np.abs(N)))
    assert np.array_equal(report.worst, other.worst) and report.ratios.min() < 0
    assert dl.FlexibleRobot(puma, 1e4, 0.0, 1e-4, N).reflected_inertia == pytest.approx(1e-4 * np.square(N))


def _links_with(robot, rotors, q):
    return with_rotors(robot, rotors).mass_matrix(q)


def test_rotors_that_are_added_not_included():
    """A rotor with mass that the description does not hold yet: as with a payload at its place, beside the spin."""
    robot = dl.load("elbow-3r")
    name, q, qd = robot.joint_names[2], [0.1, 0.2, 0.3], [1.0, -0.5, 0.0]
    joint = next(j for j in robot.description.joints if j.name == name)
    full = with_rotors(robot, {name: Rotor(1e-3, 50.0, mass=2.0, transverse=8e-4, included=False)})
    a = np.array(dl.pose(rpy=joint.origin.rpy)[:3, :3] @ joint.axis)
    tensor = 8e-4 * np.eye(3) + 2e-4 * np.outer(a, a)
    loaded = robot.with_payload(2.0, joint.origin.xyz, tensor, frame=joint.parent)
    assert float(full.kinetic_energy(q, qd)) == pytest.approx(float(loaded.kinetic_energy(q, qd)), rel=1e-12)
    assert error(full.gravity_torque(q), loaded.gravity_torque(q)) < ROUNDING
    assert full.mass == pytest.approx(robot.mass + 2.0)
    # A rotor elsewhere, driving by a belt: its axis and place are said.
    moved = Rotor(1e-3, 50.0, carrier=robot.bodies[0], axis=(0, 0, 2.0), position=(0.1, 0, 0), included=False)
    assert with_rotors(robot, {name: moved}).n == 3


# ------------------------------------------------------------------------------------------- [Lagrange notes] and [Lee]
def test_single_link_of_seed_002():
    """(r² J_m + J_l) θ̈ + M g l sin θ = r u, against the Lagrangian system."""
    system = geared_link()
    value = {str(name): float(x) for name, x in system.parameters.items()}
    r, J_m, J_l, mass, g, l = (value[name] for name in ("r", "J_m", "J_l", "M", "g", "l"))
    # The example's J_l is a little less than M l², which no body has: it loads all the same, with a warning.
    inertial = dl.describe.Inertial(mass, (0, 0, 0, 0, 0, J_l - mass * l**2), dl.describe.Origin((l, 0, 0)))
    link = dl.Robot.from_screws(
        [[0, 0, 0, 0, 0, 1]], np.eye(4), link_homes=np.eye(4)[None], inertials=[inertial], gravity=(g, 0, 0)
    )
    robot = DrivenRobot(link, TorqueSource(inertia=J_m), [r])
    for q, qd, u in np.random.default_rng(0).normal(size=(4, 3)):
        wanted = (r * u - mass * g * l * math.sin(q)) / (r**2 * J_m + J_l)
        other = system.forward_dynamics([q], [qd], system.input_matrix([q]) @ [u])
        assert robot.rate(0.0, [q, qd], [u])[1] == pytest.approx(wanted, rel=1e-12)
        assert float(other[0]) == pytest.approx(wanted, rel=1e-12)


def test_geared_robot_of_seed_003():
    """(N⁻¹D + N J_m) q̈ + (N⁻¹C + N B_m) q̇ + N⁻¹ g = K_T v/R, and the same arm as a Lagrangian system."""
    drive = DCMotor(resistance=1.5, torque_constant=0.05, damping=1e-4, inertia=1e-4, inductance=3e-3)
    robot = DrivenRobot(PLAIN, drive, [50.0, 50.0], reduced=True)
    system = geared_arm()
    for q, qd, v in np.random.default_rng(1).uniform(-1, 1, (4, 3, 2)):
        v = 10 * v
        qdd = robot.kernel("rate")(np.r_[q, qd], v)[2:]
        m = geared_model(robot, q, qd)
        assert error(m.inertia @ qdd + m.velocity @ qd + m.gravity, m.gain * v) < SOLVED
        other = system.forward_dynamics(q, qd, system.input_matrix(q) @ v, friction=True)
        assert error(qdd, other) < SOLVED
    assert np.allclose(m.gain, 0.05 / 1.5)
    others = DrivenRobot(PLAIN, [FluidDrive(gain=40.0, max_force=50.0), TorqueSource()], [50.0, 50.0])
    assert np.allclose(geared_model(others, q, qd).gain, [40.0, 1.0])


@pytest.mark.parametrize(("gravity", "order"), [(True, 1), (False, 2)])
def test_limit_of_high_ratios(gravity, order):
    """At the same motor speed and voltage, N J_m q̈ + N B_m q̇ = u_m is left: gravity fades as 1/N, the inertia of the
    links as 1/N²."""
    arm = PLAIN if gravity else PLAIN.with_gravity((0, 0, 0))
    drive = DCMotor(resistance=1.5, torque_constant=0.05, damping=1e-4, inertia=1e-4)
    w, v, errors = np.array([20.0, -10.0]), np.array([5.0, 3.0]), []
    for N in (2000.0, 4000.0, 8000.0):
        qdd = DrivenRobot(arm, drive, [N, N]).kernel("rate")(np.r_[0.3, 0.5, w / N], v)[2:]
        alone = (0.05 / 1.5 * v - drive.total_damping * w) / 1e-4
        errors.append(np.abs(N * qdd - alone).max())
    measured = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.allclose(measured, order, atol=0.15)


# ------------------------------------------------------------------------------------------------------- report
def test_report_against_the_closed_form():
    """The 2R: D₁₁ = a + 2b c₂, D₁₂ = d + b c₂, D₂₂ = d, and gravity, at the states that were drawn."""
    report = gear_report(PLAIN, MOTOR, [50.0, 30.0], speed=2.0, samples=500, seed=4)
    rng = np.random.default_rng(4)
    q = PLAIN.random_configuration(500, seed=rng)
    qd = rng.uniform(-2.0, 2.0, (500, 2))
    a, b, d = 5 / 3, 0.5, 1 / 3
    c2, s2 = np.cos(q[:, 1]), np.sin(q[:, 1])
    J = np.array([50.0, 30.0]) ** 2 * 2e-5
    first = a + 2 * b * c2
    assert error(report.own, [first.max() / J[0], d / J[1]]) < ROUNDING
    assert error(report.variation, [np.ptp(first) / J[0], 0.0]) < ROUNDING
    assert error(report.coupling, np.abs(d + b * c2).max() / J) < ROUNDING
    velocity = [-b * s2 * (2 * qd[:, 0] + qd[:, 1]) * qd[:, 1], b * s2 * qd[:, 0] ** 2]
    torque = np.abs(velocity).max(axis=1)
    damping = np.array([50.0, 30.0]) ** 2 * MOTOR.total_damping * 2.0
    assert error(report.coriolis, torque / damping) < ROUNDING
    second = 0.5 * 9.81 * np.cos(q.sum(axis=1))
    weight = np.array([np.abs(1.5 * 9.81 * np.cos(q[:, 0]) + second).max(), np.abs(second).max()])
    assert error(report.gravity, weight / damping) < ROUNDING


def test_report_falls_with_the_square_of_the_ratio():
    small, large = (gear_report(dl.load("puma560"), DCMotor(1, 0.1, inertia=2e-4), N) for N in (10.0, 100.0))
    for name in ("own", "variation", "coupling", "coriolis", "gravity"):
        assert error(100 * getattr(large, name), getattr(small, name)) < ROUNDING
    assert (large.worst < small.worst).all()
    assert small.verdict() == VERDICTS[2]


def test_report_in_words():
    words = [gear_report(PLAIN, MOTOR, N).verdict() for N in (20.0, 600.0, 3000.0)]
    assert words == [VERDICTS[2], VERDICTS[1], VERDICTS[0]]
    text = str(gear_report(PLAIN, MOTOR, 600.0))
    assert text.splitlines()[0] == "planar-2r: link dynamics over motor dynamics, largest of 2000 states"
    assert text.splitlines()[1].split() == [
        "joint",
        "N",
        "N²J_m",
        "own",
        "variation",
        "coupling",
        "coriolis",
        "gravity",
    ]
    assert len(text.splitlines()) == 5 and text.splitlines()[-1] == VERDICTS[1]
    ideal = gear_report(PLAIN, TorqueSource(inertia=1e-5), 3000.0)
    assert np.isinf(ideal.gravity).all()


# ---------------------------------------------------------------------------------------------------- bad input
PUMA = dl.load("puma560")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Gear(0), "the ratio of a Gear is 0.0; it must not be zero [motor turns per joint turn, 1 for a"),
        (lambda: Gear(math.nan), "the ratio of a Gear is nan; it must be a finite number"),
        (
            lambda: Gear(50, 1.2),
            "the efficiency of a gear is 1.2; it must not be greater than 1 [0 < η ≤ 1: no gear gives more",
        ),
        (lambda: Gear(50, 0.9, 0.0), "the backward efficiency of a gear is 0.0; it must be greater than 0"),
        (lambda: Transmission([[1.0, 0.0], [0.0, 0.0]]), "row 1 of a Transmission's matrix is zero: motor 1"),
        (lambda: Transmission([1.0, 2.0]), "the matrix of a Transmission has shape (2,)"),
        (
            lambda: Transmission([[math.inf]]),
            "the matrix of a Transmission is inf at [0, 0]; it must be a finite number",
        ),
        (lambda: Transmission([[1.0]], [0.9, 0.9]), "it must be a number or (1,): one, or one per motor"),
        (lambda: Transmission.gears([]), "at least one gear"),
        (lambda: remote([]), "at least one gear"),
        (
            lambda: remote([1, 2, 3], [1, 2, 3]),
            "pulleys has shape (3,); it must be a number or (2,): one ratio, or one per joint but the",
        ),
        (lambda: remote([1, 2], math.nan), "pulleys is nan; it must be a finite number"),
        (lambda: Transmission.gears([5.0]).motor_torque([1.0, 2.0]), "its last dimension must be 1"),
        (
            lambda: DrivenRobot(PLAIN, MOTOR, differential(5.0), rotors="exact"),
            "rotors='exact' needs one motor per joint",
        ),
        (lambda: DrivenRobot(with_rotors(PUMA), MOTOR), "the motors' inertias would count twice"),
        (lambda: with_rotors(PLAIN), "the description of 'planar-2r' has no rotor inertias"),
        (lambda: with_rotors(with_rotors(PUMA), {"joint1": Rotor(1e-4)}), "has rotors as bodies already"),
        (lambda: with_rotors(PLAIN, {"joint1": 1e-4}), "the rotor of joint 'joint1' must be a Rotor, got float"),
        (lambda: Rotor(0.0), "the inertia of a Rotor is 0.0"),
        (lambda: Rotor(1e-4, 0.0), "the ratio of a Rotor is 0"),
        (lambda: Rotor(1e-4, 5.0, transverse=1e-5), "at least half of that across it"),
        (lambda: with_rotors(PLAIN, {"joint2": Rotor(1e-4, axis=(0, 0, 0))}), "which has no direction"),
        (lambda: with_rotors(PLAIN, {"joint2": Rotor(1e-4, mass=50.0)}), "is heavier than link"),
        (lambda: with_rotors(PLAIN, {"joint2": Rotor(1e-4, carrier="base")}), "away from the joint: say its axis"),
        (lambda: gear_report(PLAIN, MOTOR, [50.0, 0.0]), "the gear ratio of joint 'joint2' is 0.0"),
        (lambda: gear_report(PLAIN, MOTOR, [50.0]), "the gear ratio has shape (1,); it must be a number or (2,)"),
        (lambda: gear_report(PLAIN, DCMotor(1, 0.1), 50.0), "has no inertia to compare the link's with"),
        (lambda: gear_report(PLAIN, MOTOR, 50.0, samples=0), "samples must be a whole number, at least 1; got 0"),
        (lambda: geared_model(DrivenRobot(PLAIN, MOTOR, differential(5.0)), [0, 0], [0, 0]), "one motor per joint"),
    ],
)
def test_refused(make, text):
    with pytest.raises(dl.InputError) as caught:
        make()
    assert text in str(caught.value)


def test_unknown_names():
    with pytest.raises(dl.UnknownNameError, match="unknown joint 'joint3'"):
        with_rotors(PLAIN, {"joint3": Rotor(1e-4)})
    with pytest.raises(dl.UnknownNameError, match="unknown link 'lnk1'"):
        with_rotors(PLAIN, {"joint2": Rotor(1e-4, carrier="lnk1")})
