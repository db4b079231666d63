"""Drives by themselves and behind a robot: closed forms, limits, and books that balance."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from actuation_runs import MOTOR, PLAIN, books, central, compiled, observed, run

import dalembert as dl
from dalembert.actuation import driven
from dalembert.actuation.driven import DrivenRobot
from dalembert.actuation.motors import SLACK, DCMotor, FluidDrive, TorqueSource, motor
from dalembert.actuation.transmission import Gear, Transmission
from dalembert.friction import friction
from dalembert.simulation import integrate
from tolerances import DIFFERENCE, ROUNDING, SOLVED, error
from trees import random_tree

WEIGHTLESS = dl.load("planar-1r").with_gravity((0, 0, 0))
J_L = float(WEIGHTLESS.mass_matrix([0.0])[0, 0])
N = 20.0
# An adaptive Runge–Kutta of order 8 at rtol 1e-12, over a few hundred steps.
INTEGRATED = 1e-9


def volts(*v):
    return lambda t: np.array(v)


# ---------------------------------------------------------------------------------------------- the motor alone
def test_step_response_with_and_without_inductance():
    """Speed after a step of voltage: two real poles with L, one without; both from the textbook's formulas."""
    t = np.linspace(0, 0.5, 40)
    load = J_L / N**2
    top = MOTOR.no_load_speed(12.0) / N
    robot = DrivenRobot(WEIGHTLESS, MOTOR, [N])
    x = run(robot.flow(), np.zeros(3), volts(12.0), t[-1], t)
    p, far = (s.real for s in MOTOR.poles(load))
    assert far < p < 0
    second = top * (1 + (far * np.exp(p * t) - p * np.exp(far * t)) / (p - far))
    assert error(x[:, 1], second) < INTEGRATED

    slow = DrivenRobot(WEIGHTLESS, MOTOR, [N], reduced=True)
    assert slow.states == ("joint1", "joint1_rate")
    x = run(slow.flow(), np.zeros(2), volts(12.0), t[-1], t)
    first = top * -np.expm1(-t / MOTOR.mechanical_time_constant(load))
    assert error(x[:, 1], first) < INTEGRATED
    assert error(first, second) > 1e-3  # the two models differ


def test_inductance_fades_in_proportion():
    """The reduced model is the limit L → 0: the error of the speed is of first order in L."""
    found = []
    for L in (2e-3, 1e-3, 5e-4):
        flow = DrivenRobot(WEIGHTLESS, DCMotor(1.2, 0.05, inductance=L, inertia=2e-5), [N]).flow()
        found.append(run(flow, np.zeros(3), volts(12.0), 0.2)[1])
    at_once = DrivenRobot(WEIGHTLESS, DCMotor(1.2, 0.05, inertia=2e-5), [N]).flow()
    wanted = run(at_once, np.zeros(2), volts(12.0), 0.2)[1]
    errors = np.abs(np.array(found) - wanted)
    assert np.allclose(errors[:-1] / errors[1:], 2, rtol=0.05)


def test_poles_and_time_constants():
    wanted = np.roots([2e-3 * 3e-5, 1.2 * 3e-5 + 2e-3 * 1e-5, 1.2 * 1e-5 + 0.05**2])
    assert error(sorted(s.real for s in MOTOR.poles(1e-5)), sorted(wanted)) < ROUNDING
    assert MOTOR.electrical_time_constant == 2e-3 / 1.2
    assert MOTOR.reduced().poles(1e-5)[0] == pytest.approx(-1 / MOTOR.mechanical_time_constant(1e-5), rel=1e-14)
    ringing = DCMotor(0.1, 0.05, inductance=1e-2, inertia=1e-5).poles()
    assert ringing[0] == pytest.approx(ringing[1].conjugate())
    assert ringing[0].imag != 0


def test_torque_speed_curve():
    """A straight line from the stall torque to the no-load speed, which lies below v/K_m by the bearings."""
    free = MOTOR.no_load_speed(24.0)
    w = np.linspace(0, free, 11)
    line = MOTOR.stall_torque(24.0) * (1 - w / free)
    assert error(MOTOR.steady_torque(np.full(11, 24.0), w), line) < ROUNDING
    assert MOTOR.stall_torque(24.0) == pytest.approx(0.05 * 24 / 1.2)
    assert free < 24.0 / 0.05
    assert MOTOR.total_damping == pytest.approx(1e-5 + 0.05 * 0.05 / 1.2)
    bound = DCMotor(1.2, 0.05, max_voltage=24, max_current=5)
    assert bound.stall_torque() == pytest.approx(0.25)
    assert bound.steady_torque(24.0, 479.0) == pytest.approx(0.05 * 0.05 / 1.2)
    rough = DCMotor(1.2, 0.05, damping=1e-3, max_current=2.0)  # the bearings take all that the current gives
    assert rough.steady_torque(1000.0, rough.no_load_speed(1000.0)) == pytest.approx(0, abs=1e-12)
    assert rough.no_load_speed(1000.0) == pytest.approx(0.05 * 2.0 / 1e-3)


def test_efficiency():
    """None at stall and beyond the no-load speed; between them the highest is (1 − √(i₀/i_stall))² for i₀ so small that
    the bearings' torque hardly changes with the speed."""
    assert MOTOR.efficiency(24.0, 0.0) == 0
    assert MOTOR.efficiency(24.0, 1.01 * MOTOR.no_load_speed(24.0)) == 0
    assert MOTOR.efficiency(24.0, -10.0) == 0
    w = np.linspace(1, MOTOR.no_load_speed(24.0), 4001)
    eta = MOTOR.efficiency(np.full_like(w, 24.0), w)
    idle = 1e-5 * w[eta.argmax()] / 0.05
    assert eta.max() == pytest.approx((1 - math.sqrt(idle / 20.0)) ** 2, abs=2e-3)
    i = (24.0 - 0.05 * 300) / 1.2
    assert MOTOR.efficiency(24.0, 300.0) == pytest.approx((0.05 * i - 1e-5 * 300) * 300 / (24.0 * i))


# --------------------------------------------------------------------------------------------------- limits
def test_voltage_and_current_limits():
    tight = DCMotor(1.2, 0.05, inductance=2e-3, inertia=2e-5, max_voltage=24, max_current=6)
    robot = DrivenRobot(WEIGHTLESS, tight, [N])
    x = [0.2, 1.0, 3.0]
    assert robot.rate(0.0, x, [100.0]) == robot.rate(0.0, x, [24.0]) != robot.rate(0.0, x, [23.0])
    assert robot.rate(0.0, x, [-100.0]) == robot.rate(0.0, x, [-24.0])
    assert all(math.isnan(r) for r in robot.rate(0.0, x, [math.nan])[2:])
    # At the limit the current may only fall.
    assert robot.rate(0.0, [0, 0, 6.0], [24.0])[2] == 0
    assert robot.rate(0.0, [0, 0, 6.0], [-24.0])[2] < 0
    assert robot.rate(0.0, [0, 0, -6.0], [-24.0])[2] == 0
    assert robot.settle(0.0, [0, 0, 5.9], [0, 0, 6.2], [24.0]) == [0, 0, 6.0]
    flow = robot.flow()
    t = np.linspace(0, 0.05, 100)
    i = run(flow, np.zeros(3), volts(24.0), t[-1], t, tolerance=1e-9)[:, 2]
    assert i.max() == pytest.approx(6.0, abs=0.05) and i[-1] == pytest.approx(6.0, abs=0.05)
    short = DrivenRobot(WEIGHTLESS, tight, [N], reduced=True)
    assert short.rate(0.0, [0, 0], [24.0])[1] == pytest.approx(N * 0.05 * 6 / (J_L + N**2 * 2e-5))


def test_books_hold_at_the_limits():
    """The supply pays for what the armature takes, not for what was asked."""
    tight = DCMotor(1.2, 0.05, inductance=2e-3, inertia=2e-5, max_voltage=24, max_current=6)
    for state, u in (([6.0], 24.0), ([3.0], 100.0), ([2.0], -1.0), ([7.0], 24.0), ([-9.0], 3.0)):
        for w in (30.0, 700.0, -700.0):
            for drive, kept in ((tight, state), (tight.reduced(), [])):
                p = drive.powers(kept, w, u)
                stored = drive.inductance * state[0] * drive.rates(kept, w, u)[0] if kept else 0.0
                assert p.supply == pytest.approx(p.heat + p.conversion + p.mechanical + stored, rel=1e-12)
                assert abs(drive.voltage(kept, w, u)) <= 24


def test_a_supply_cannot_brake_beyond_its_voltage():
    """Driven faster than (V + R i_max)/K_m, no voltage within ±V keeps the current at its limit: it exceeds it."""
    drive = DCMotor(1.0, 0.1, max_voltage=10, max_current=5)
    assert drive.voltage((), 500.0, 10.0) == 10.0 and drive.current((), 500.0, 10.0) == pytest.approx(-40.0)
    assert drive.voltage((), -500.0, 10.0) == -10.0 and drive.current((), -500.0, 10.0) == pytest.approx(40.0)
    assert drive.current((), 120.0, 10.0) == pytest.approx(-2.0)  # where it can, it keeps the limit
    assert drive.current((), 120.0, -10.0) == pytest.approx(-5.0)
    assert drive.voltage((), 120.0, -10.0) == pytest.approx(7.0)
    coil = DCMotor(1.0, 0.1, inductance=2e-3, max_voltage=10, max_current=5)
    assert coil.voltage([-5.0], 500.0, 10.0) == 10.0
    assert coil.rates([-5.0], 500.0, 10.0) == pytest.approx([(10.0 + 5.0 - 50.0) / 2e-3])
    # What exceeds the limit returns to it with L/R, up to a slack, once the supply can keep it there.
    assert coil.rates([-8.0], 100.0, -10.0) == pytest.approx([(8.0 - 5.0 * (1 + SLACK)) / 2e-3])
    assert coil.rates([-5.001], 100.0, -10.0) == pytest.approx([0.0], abs=1e-9)
    assert coil.settled([-4.9], [-5.2], 100.0) == [-5.0]
    assert coil.settled([-4.9], [-5.2], 500.0) == [-5.2]
    assert coil.settled([-8.0], [-7.9], 100.0) == [-7.9]
    assert coil.settled([4.9], [5.2], 0.0) == [5.0] and coil.settled([4.9], [5.2], -500.0) == [5.2]
    free = DCMotor(1.0, 0.1, inductance=2e-3, max_current=5)  # a supply without a limit of its own
    assert free.settled([4.9], [5.2], -500.0) == [5.0]


def test_books_of_an_overspeed():
    """A link thrown faster than its supply can brake: the current passes its limit, returns, and no joule is lost."""
    drive = DCMotor(1.0, 0.1, inductance=2e-3, inertia=2e-5, max_voltage=10, max_current=5)
    flow = DrivenRobot(WEIGHTLESS, drive, [N]).flow()
    x0, h = np.array([0.0, 25.0, 0.0]), 1e-5
    found = integrate(flow, x0, h, 40_000, [10.0])
    i = found.x[:, 2]
    y = dict(zip(flow.outputs, found.y.T, strict=True))
    assert i.min() < -20 and i[-1] > -5.0 and np.abs(y["supply_power"]).max() <= 10 * np.abs(i).max() * (1 + 1e-12)
    spent = np.trapezoid(y["supply_power"] - sum(y[name] for name in driven.LOSSES), found.t)
    stored = sum(y[name][-1] - y[name][0] for name in driven.ENERGIES)
    assert spent == pytest.approx(stored, rel=1e-5)  # the trapezoid's own error, in h²


def test_fluid_drives():
    """A first-order lag; the rate limit; and no wind-up: however long it was asked too much, it turns back at once."""
    drive = FluidDrive(gain=100, max_force=50, time_constant=0.02)
    flow = DrivenRobot(WEIGHTLESS, drive, [1.0]).flow()
    t = np.linspace(0, 0.1, 20)
    f = run(flow, np.zeros(3), volts(0.3), t[-1], t)[:, 2]
    assert error(f, 30 * -np.expm1(-t / 0.02)) < INTEGRATED
    f = run(flow, np.zeros(3), volts(5.0), 1.0, np.array([0.5, 1.0]))[:, 2]
    assert error(f, [50, 50]) < INTEGRATED
    assert drive.rates([50.0], 0.0, 5.0) == [0.0]
    assert drive.rates([50.0], 0.0, 0.0)[0] == pytest.approx(-50 / 0.02)
    slow = FluidDrive(gain=100, max_force=50, medium="pneumatic", max_rate=200)
    assert slow.time_constant == 0.1
    assert slow.rates([0.0], 0.0, 5.0) == [200.0] and slow.rates([0.0], 0.0, -5.0) == [-200.0]
    assert slow.rates([60.0], 0.0, 5.0)[0] < 0  # started outside its limits, it comes back
    assert TorqueSource(max_torque=3).torque((), 1.0, 7.0) == 3


# ------------------------------------------------------------------------------------------------ whole robots
def swinging(n):
    return lambda t: 6 * np.sin(3 * t + np.arange(n)) + 2


def test_energy_books():
    """∫ v i = copper + bearings + Δ(kinetic + rotor + potential + magnetic), to the accuracy of the integration."""
    robot = DrivenRobot(PLAIN, MOTOR, [30.0, 20.0])
    x0 = [0.4, -0.3, 0.5, 0.2, 0.1, -0.2]
    powers = ("supply_power", *driven.LOSSES)
    supplied, losses, change = books(robot.flow(), x0, swinging(2), 0.6, powers, driven.ENERGIES)
    assert supplied > 1 and losses[0] > 0.1 and losses[2] > 1e-3 and abs(change).min() >= 0
    assert abs(supplied - losses.sum() - change.sum()) < 1e-9 * supplied
    assert abs(change[[0, 1, 2]]).min() > 1e-3


def test_energy_books_with_everything():
    """Friction and springs of the robot, constants that differ, lossy gears: every joule is somewhere. Coulomb friction
    and gears jump where a speed or power changes sign, which costs the integrator digits."""
    inertial = dl.describe.Inertial(1.0, (0.01, 0, 0, 0.05, 0, 0.05), dl.describe.Origin((-0.4, 0.0, 0.0)))
    rough = dl.describe.Drive(damping=0.3, coulomb=(0.4, 0.2), stiffness=2.0, rest=0.3)
    drives = [rough, dl.describe.Drive(damping=0.1, coulomb=(0.1, 0.1))]
    arm = dl.Robot.from_dh([{"a": 0.8, "inertial": inertial, "drive": d} for d in drives], gravity=(0.0, -9.81, 0.0))
    weak = DCMotor(1.2, 0.045, 0.05, inductance=2e-3, damping=1e-4, inertia=2e-5)
    robot = DrivenRobot(arm, weak, Transmission.gears([Gear(30, 0.8), Gear(20, 0.9, 0.6)]), friction=True)
    powers = ("supply_power", *driven.LOSSES)
    x0 = [0.4, -0.3, 0.5, 0.2, 0.1, -0.2]
    supplied, losses, change = books(robot.flow(), x0, swinging(2), 0.6, powers, driven.ENERGIES, 1e-10)
    assert (np.abs(losses) > 1e-4).all() and abs(change[3]) > 1e-3
    assert abs(supplied - losses.sum() - change.sum()) < 1e-6 * losses.sum()


@pytest.mark.parametrize("rotors", driven.ROTORS)
def test_traced_and_plain_flows_agree(rotors):
    """The same functions on floats, and traced into machine code."""
    arm = dl.load("puma560").with_gravity((0, 0, -9.81))
    motors = [DCMotor(1.5, 0.1, inductance=1e-3, damping=1e-4, inertia=2e-4, max_voltage=40, max_current=8)] * 6
    robot = DrivenRobot(arm, motors, friction=True, rotors=rotors)
    flow = robot.flow()
    rate, look = compiled(flow), observed(flow)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, u = rng.normal(size=18) * 2, rng.normal(size=6) * 60
        assert error(rate(0.0, x, u), flow.rate(0.0, x.tolist(), u.tolist())) < SOLVED
        assert error(look(0.0, x, u), flow.observe(0.0, x.tolist(), u.tolist())) < SOLVED
        before, x[12] = np.where(np.arange(18) == 12, 7.9, x), 9.0
        assert flow.settle(0.0, before.tolist(), x.tolist(), u.tolist())[12] == 8.0
    batch = robot.kernel("rate")(rng.normal(size=(7, 18)), rng.normal(size=(7, 6)))
    assert batch.shape == (7, 18)


def test_linearization():
    robot = DrivenRobot(PLAIN, MOTOR, [30.0, 20.0])
    x, u = np.array([0.4, -0.3, 0.5, 0.2, 0.1, -0.2]), np.array([3.0, 1.0])
    A, B = robot.linearize(x, u)
    assert error(A, central(lambda y: robot.kernel("rate")(y, u), x)) < DIFFERENCE
    assert error(B, central(lambda v: robot.kernel("rate")(x, v), u)) < DIFFERENCE
    assert A.shape == (6, 6) and B.shape == (6, 2)


def test_holding_and_equilibrium():
    """The voltages that hold a pose, and the pose that voltages hold, are inverse to each other."""
    robot = DrivenRobot(PLAIN, MOTOR, [30.0, 20.0])
    q = np.array([-1.2, 0.4])
    held = robot.holding(q)
    torque = np.array(robot.transmission.to_joints(held.torque.tolist()))
    assert error(torque, PLAIN.gravity_torque(q)) < ROUNDING
    assert held.residual < 1e-12 and held.reachable
    assert error(held.input, 1.2 * held.state) < ROUNDING
    found = robot.equilibrium(held.input, q + np.array([0.1, -0.1]))
    assert found.converged and found.stable and error(found.q, q) < SOLVED
    assert found.residual < 1e-9 and found.message == "the forces balance"
    weak = DCMotor(1.2, 0.05, max_voltage=1.0)
    assert not DrivenRobot(PLAIN, weak, [30.0, 20.0]).holding([0.0, 0.0]).reachable
    tight = DCMotor(1.2, 0.05, inductance=1e-3, max_current=1.0)
    assert not DrivenRobot(PLAIN, tight, [30.0, 20.0]).holding([0.0, 0.0]).reachable
    nowhere = robot.equilibrium([100.0, 0.0], [0.0, 0.0])
    assert not nowhere.converged and nowhere.residual > 1 and "balance" in nowhere.message


def test_rotor_inertia_is_counted_once():
    """The motors' inertias replace the description's; without any, the description's stay."""
    puma = dl.load("puma560")
    q = puma.random_configuration(seed=3)
    ratio = np.array([j.drive.gear_ratio for j in puma.description.joints if j.kind != "fixed"])
    J = np.array([j.drive.rotor_inertia for j in puma.description.joints if j.kind != "fixed"])
    links = puma.mass_matrix(q) - np.diag(ratio**2 * J)
    same = DrivenRobot(puma, [DCMotor(1, 0.1, inertia=x) for x in J])
    assert error(same.mass_matrix(q), puma.mass_matrix(q)) < ROUNDING
    assert error(DrivenRobot(puma, DCMotor(1, 0.1)).mass_matrix(q), puma.mass_matrix(q)) < ROUNDING
    other = DrivenRobot(puma, DCMotor(1, 0.1, inertia=1e-3), [10.0] * 6)
    assert error(other.mass_matrix(q), links + 0.1 * np.eye(6)) < ROUNDING


def test_a_wrench_at_the_tip():
    """Behind ideal drives it is the robot's own, on oblique axes too; and its power is part of the supply."""
    tree = dl.Robot(random_tree(4, 5, chain=True, rotors=True))
    robot = DrivenRobot(tree, TorqueSource(), [1.0] * 5)
    flow = robot.flow(wrenches=[tree.tip])
    assert flow.inputs == (*robot.inputs, *(f"{tree.tip}.{x}" for x in ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")))
    q, qd, tau, F = np.split(np.random.default_rng(0).normal(size=21), [5, 10, 15])
    wanted = tree.forward_dynamics(q, qd, tau, wrenches={tree.tip: F})
    u = np.r_[tau, F]
    assert error(compiled(flow)(0.0, np.r_[q, qd], u)[5:], wanted) < SOLVED
    power = tau @ qd + F @ tree.jacobian(q) @ qd
    assert observed(flow)(0.0, np.r_[q, qd], u)[0] == pytest.approx(power)
    both = robot.flow(wrenches=[tree.bodies[1], tree.tip])
    other = tree.forward_dynamics(q, qd, tau, wrenches={tree.tip: 2 * F, tree.bodies[1]: F})
    assert error(both.rate(0.0, [*q, *qd], [*u, *(2 * F)])[5:], other) < SOLVED


def test_books_with_a_wrench_at_the_tip():
    robot = DrivenRobot(PLAIN, MOTOR, Transmission.gears([Gear(30, 0.8), Gear(20, 0.9)]))
    x0, F = [0.4, -0.3, 0.5, 0.2, 0.1, -0.2], np.array([3.0, -4.0, 0.0, 0.0, 0.0, 0.5])
    powers = ("supply_power", *driven.LOSSES)
    flow, push = robot.flow(wrenches=[PLAIN.tip]), swinging(2)
    supplied, losses, change = books(flow, x0, lambda t: np.r_[push(t), F], 0.6, powers, driven.ENERGIES, 1e-10)
    assert abs(supplied - losses.sum() - change.sum()) < 1e-6 * losses.sum()


def test_torque_source_is_the_robot_itself():
    robot = DrivenRobot(PLAIN, TorqueSource(), [1.0, 1.0])
    x, u = np.array([0.4, -0.3, 0.5, 0.2]), [3.0, 1.0]
    assert error(robot.kernel("rate")(x, u)[2:], PLAIN.forward_dynamics(x[:2], x[2:], u)) < SOLVED


@pytest.mark.parametrize("seed", range(3))
def test_trees_with_mimic_joints(seed):
    """Any tree with friction, springs and rotors behind ideal drives is the robot itself."""
    tree = dl.Robot(random_tree(seed, 6, mimic=True, rotors=True, friction=True))
    robot = DrivenRobot(tree, TorqueSource(), [1.0] * tree.n, friction=True)
    q, qd, tau = np.random.default_rng(seed).normal(size=(3, tree.n))
    wanted = tree.forward_dynamics(q, qd, tau, friction=True)
    assert error(robot.kernel("rate")(np.r_[q, qd], tau)[tree.n :], wanted) < SOLVED


# --------------------------------------------------------------------------------------------------- bad input
def test_friction_by_load_is_refused():
    """It depends on the torque that a joint transmits, and so on the acceleration sought."""
    drive = dl.describe.Drive(friction=(friction("coulomb", coulomb=1.0, load=0.1),))
    inertial = dl.describe.Inertial(1.0, (0.01, 0, 0, 0.05, 0, 0.05))
    arm = dl.Robot.from_dh([{"a": 0.8, "inertial": inertial, "drive": drive}])
    assert DrivenRobot(arm, MOTOR).n == 1
    with pytest.raises(dl.InputError, match="some friction of .* depends on the load of its joint"):
        DrivenRobot(arm, MOTOR, friction=True)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: DCMotor(0, 0.05), "the resistance of a DCMotor is 0.0; it must be greater than 0 [Ω]"),
        (lambda: DCMotor(1, 0), "the torque constant of a DCMotor is 0.0; it must be greater than 0 [N m/A]"),
        (lambda: DCMotor(1, -0.05), "the torque constant of a DCMotor is -0.05"),
        (lambda: DCMotor(1, 0.05, inertia=-1e-5), "the inertia of a DCMotor is -1e-05; it must not be less than 0"),
        (lambda: DCMotor(math.nan, 0.05), "the resistance of a DCMotor is nan; it must be a finite number [Ω]"),
        (lambda: DCMotor("big", 0.05), "the resistance of a DCMotor must be a finite number [Ω], got 'big'"),
        (lambda: DCMotor(1, 0.05, max_voltage=0), "the largest voltage of a DCMotor is 0.0"),
        (lambda: DCMotor(1, 0.05).stall_torque(), "no largest voltage; say at which voltage"),
        (lambda: DCMotor(1, 0.05).poles(), "poles need an inertia"),
        (lambda: FluidDrive(1, 10, time_constant=0), "the time constant of a hydraulic FluidDrive is 0.0"),
        (lambda: motor("dc", resistance=1), "a dc drive needs resistance, torque_constant"),
        (lambda: DrivenRobot("puma560", MOTOR), "a DrivenRobot takes a Robot (dalembert.load gives one), got str"),
        (lambda: DrivenRobot(dl.load("four-bar"), MOTOR), "use dalembert.Constrained(robot), or robot.tree()"),
        (
            lambda: DrivenRobot(PLAIN, MOTOR).flow(wrenches="tool"),
            "must be a sequence of the names of different frames",
        ),
        (lambda: DrivenRobot(PLAIN, [MOTOR], [5.0, 5.0]), "1 motors were given, and the transmission has 2"),
        (lambda: DrivenRobot(PLAIN, MOTOR, [5.0]), "the transmission has 1 joints and 'planar-2r' has 2"),
        (
            lambda: DrivenRobot(PLAIN, ["dc", "dc"], [5.0, 5.0]),
            "must be a DCMotor, a FluidDrive or a TorqueSource, got str",
        ),
        (
            lambda: DrivenRobot(PLAIN, MOTOR).linearize(np.zeros(5), np.zeros(2)),
            "its last dimension must be 6: joint1, joint2",
        ),
        (lambda: DrivenRobot(PLAIN, MOTOR).holding([0.0]), "q has shape (1,); it must be (2,)"),
        (lambda: DrivenRobot(PLAIN, MOTOR).holding([0.0, math.nan]), "q[1] is nan; it must be a finite number"),
    ],
)
def test_refused(make, text):
    with pytest.raises(dl.InputError) as caught:
        make()
    assert text in str(caught.value)


def test_unknown_names():
    with pytest.raises(dl.UnknownNameError, match="unknown kind of drive 'ac'"):
        motor("ac")
    with pytest.raises(dl.UnknownNameError, match="unknown value of a dc drive 'resistence'; did you mean"):
        motor("dc", resistence=1)
    with pytest.raises(dl.UnknownNameError, match="unknown medium 'steam'"):
        FluidDrive(1, 10, medium="steam")
    with pytest.raises(dl.UnknownNameError, match="unknown frame 'tool9'"):
        DrivenRobot(PLAIN, MOTOR).flow(wrenches=["tool9"])
    with pytest.raises(dl.UnknownNameError, match="unknown way of rotors 'exactly'; did you mean 'exact'"):
        DrivenRobot(PLAIN, MOTOR, rotors="exactly")
    assert motor("dc", resistance=1, torque_constant=0.1) == DCMotor(1, 0.1)


def test_a_motor_that_makes_energy_is_told():
    with pytest.warns(dl.ModelWarning, match="makes more mechanical power than it takes"):
        DCMotor(1.0, 0.06, 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DCMotor(1.0, 0.0505, 0.05)
