"""Flexible joints and a flexible link: frequencies, energies, statics, and the rigid limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from actuation_runs import PLAIN, books, central, compiled, run
from scipy import integrate, linalg, optimize

import dalembert as dl
from dalembert.actuation import flexible
from dalembert.actuation.flexible import FlexibleRobot
from dalembert.actuation.flexible_link import FlexibleLink, clamped_free_mode, clamped_free_roots
from dalembert.actuation.rotors import with_rotors
from tolerances import DIFFERENCE, ROUNDING, SOLVED, error

ONE = dl.load("planar-1r").with_gravity((0, 0, 0))
J_L = float(ONE.mass_matrix([0.0])[0, 0])
PUMA = dl.load("puma560")
RP = dl.load("rp")  # a hinge, then a slide
SOFT = FlexibleRobot(PLAIN, [400.0, 250.0], [0.3, 0.2], [2e-5, 1e-5], [80.0, 60.0])
UNDAMPED = FlexibleRobot(PLAIN, [400.0, 250.0], 0.0, [2e-5, 1e-5], [80.0, 60.0])
STATE = np.array([0.4, -0.3, 0.41, -0.32, 0.5, 0.2, 0.45, 0.3])


# --------------------------------------------------------------------------------------------------- equations
def test_equations_of_motion():
    """M q̈ + h + K (q − θ) + D (q̇ − θ̇) = 0 and B θ̈ − K (q − θ) − D (q̇ − θ̇) = τ."""
    q, theta, qd, theta_d = STATE.reshape(4, 2)
    tau = np.array([3.0, -1.0])
    qdd, theta_dd = SOFT.forward_dynamics(q, theta, qd, theta_d, tau)
    spring = [400.0, 250.0] * (q - theta) + [0.3, 0.2] * (qd - theta_d)
    assert error(PLAIN.inverse_dynamics(q, qd, qdd) + spring, 0 * q, 10) < ROUNDING
    B = np.array([2e-5 * 6400, 1e-5 * 3600])
    assert error(B * theta_dd - spring, tau) < ROUNDING
    batch = SOFT.forward_dynamics(np.broadcast_to(q, (5, 2)), theta, qd, theta_d, tau)
    assert batch[0].shape == (5, 2) and np.array_equal(batch[0][3], qdd)


def test_rotors_are_taken_out_of_the_links():
    """The description's N² J_m is on the motors' side, and no longer in M(q)."""
    robot = FlexibleRobot(PUMA, 1e4)
    q = PUMA.random_configuration(seed=1)
    B = np.array([b.rotor_inertia for b in PUMA.model.bodies])
    assert (B > 0).all() and error(robot.reflected_inertia, B) < ROUNDING
    zero = np.zeros(6)
    still = robot.motor_positions(q)
    pushed = robot.forward_dynamics(q, still + 1e-3, zero, zero, zero)[0]
    links = PUMA.mass_matrix(q) - np.diag(B)
    assert error(links @ pushed, np.full(6, 10.0)) < SOLVED
    other = FlexibleRobot(PUMA, 1e4, rotor_inertia=1e-4, gear_ratio=50)
    assert error(other.reflected_inertia, np.full(6, 0.25)) < ROUNDING


def test_traced_and_plain_flows_agree():
    flow = SOFT.flow()
    assert flow.positions == 4 and flow.states[2:4] == ("joint1_motor", "joint2_motor")
    u = [3.0, -1.0]
    assert error(compiled(flow)(0.0, STATE, u), flow.rate(0.0, STATE.tolist(), u)) < SOLVED
    A, B = SOFT.linearize(STATE, u)
    assert error(A, central(lambda x: SOFT.kernel("rate")(x, u), STATE)) < DIFFERENCE
    assert error(B, central(lambda v: SOFT.kernel("rate")(STATE, v), u)) < DIFFERENCE


def test_energy_books():
    """∫ τ θ̇ = damping + Δ(links + rotors + gravity + springs)."""
    flow = SOFT.flow()
    u = lambda t: np.array([8 * math.sin(3 * t) + 5, 2.0 * math.cos(5 * t)])  # noqa: E731
    given, losses, change = books(flow, STATE, u, 0.5, flow.outputs[:3], flexible.ENERGIES)
    assert losses[0] > 1e-3 and np.abs(change).min() > 1e-4
    assert abs(given - losses.sum() - change.sum()) < 1e-9 * np.abs(change).sum()
    free, kept, change = books(UNDAMPED.flow(), STATE, lambda t: np.zeros(2), 0.5, flow.outputs[:3], flexible.ENERGIES)
    assert free == 0 and not kept.any() and abs(change.sum()) < 1e-10


def test_friction_of_the_links():
    drive = dl.describe.Drive(damping=0.4, coulomb=(0.2, 0.2), stiffness=3.0, rest=0.2)
    inertial = dl.describe.Inertial(1.0, (0.01, 0, 0, 0.05, 0, 0.05), dl.describe.Origin((-0.4, 0.0, 0.0)))
    arm = dl.Robot.from_dh([{"a": 0.8, "inertial": inertial, "drive": drive}], gravity=(0.0, -9.81, 0.0))
    robot = FlexibleRobot(arm, 300.0, 0.1, 1e-3, 10.0, friction=True)
    q, theta, qd, theta_d = [0.3], [0.31], [0.5], [0.2]
    qdd, _ = robot.forward_dynamics(q, theta, qd, theta_d, [0.0])
    torque = 300 * 0.01 + 0.1 * (0.2 - 0.5)
    assert error(arm.inverse_dynamics(q, qd, qdd, friction=True), [torque]) < ROUNDING
    flow = robot.flow()
    x0, u = [0.3, 0.31, 0.5, 0.2], lambda t: np.array([4.0])
    given, losses, change = books(flow, x0, u, 0.3, flow.outputs[:3], flexible.ENERGIES)
    assert losses.min() > 1e-4 and abs(given - losses.sum() - change.sum()) < 1e-7 * given


# ---------------------------------------------------------------------------------------------------- vibration
def test_one_joint():
    """Antiresonance √(K/J_l), resonance √(K (1/J_l + 1/B)), and a rigid motion."""
    robot = FlexibleRobot(ONE, 500.0, 0.0, 1e-4, 40.0)
    modes = robot.modes([0.3])
    B = 1e-4 * 1600
    assert modes.locked[0] == pytest.approx(math.sqrt(500 / J_L), rel=1e-12)
    assert modes.free == pytest.approx([0, math.sqrt(500 * (1 / J_L + 1 / B))], rel=1e-12)
    A, _ = robot.linearize([0.3, 0.3, 0.0, 0.0], [0.0])
    assert np.abs(np.linalg.eigvals(A).imag).max() == pytest.approx(modes.free[1], rel=1e-9)


def test_the_motor_feels_both():
    """From torque to motor speed: a zero at the antiresonance, a pole at the resonance."""
    robot = FlexibleRobot(ONE, 500.0, 0.0, 1e-4, 40.0)
    A, B = robot.linearize(np.zeros(4), [0.0])
    modes = robot.modes([0.0])

    def response(w):
        return abs(np.linalg.solve(1j * w * np.eye(4) - A, B)[3, 0])

    assert response(modes.locked[0]) < 1e-9 * response(0.5 * modes.locked[0])
    assert response(modes.free[1] * (1 + 1e-9)) > 1e6 * response(0.5 * modes.locked[0])


def test_many_joints():
    """Against SciPy's generalized eigenvalues, and against the linearized system about a resting position."""
    q = np.array([-1.3, 0.3])
    modes = UNDAMPED.modes(q, gravity=True)
    M = PLAIN.mass_matrix(q)
    slope = central(PLAIN.gravity_torque, q)
    K = np.diag(UNDAMPED.stiffness)
    assert error(modes.locked_squares, linalg.eigh(K + slope, M, eigvals_only=True)) < DIFFERENCE
    theta = UNDAMPED.motor_positions(q)
    A, _ = UNDAMPED.linearize(np.r_[q, theta, np.zeros(4)], np.asarray(UNDAMPED.stiffness) * (theta - q))
    wanted = np.sort(np.linalg.eigvals(A[4:, :4]).real)
    assert error(np.sort(-modes.free_squares), wanted) < SOLVED
    inertia = linalg.block_diag(M, np.diag(UNDAMPED.reflected_inertia))
    assert error(modes.shapes.T @ inertia @ modes.shapes, np.eye(4)) < SOLVED
    without = UNDAMPED.modes(q)
    assert np.array_equal(without.free[:2], [0, 0]) and (without.free[2:] > 10).all()
    up = FlexibleRobot(PLAIN, 5.0, 0.0, 1e-4, 40.0).modes([1.5, 0.0], gravity=True)
    assert np.isnan(up.locked[0]) and np.isfinite(up.locked[1])  # too soft to stand upright


def test_vibration_in_time():
    """Released from a small twist, the joint swings at the resonance."""
    robot = FlexibleRobot(ONE, 500.0, 0.0, 1e-4, 40.0)
    w = robot.modes([0.0]).free[1]
    t = np.linspace(0, 3 * 2 * math.pi / w, 50)
    x = run(robot.flow(), [0.01, -0.01, 0, 0], lambda s: np.zeros(1), t[-1], t)
    assert error(x[:, 0] - x[:, 1], 0.02 * np.cos(w * t)) < 1e-9


# ------------------------------------------------------------------------------------------------------ statics
def test_static_deflection():
    """K (q − θ) + g(q) − Jᵀ F = 0, solved; `motor_positions` is its inverse."""
    wrenches = {PLAIN.tip: [0.0, -30.0, 0.0, 0.0, 0.0, -2.0]}
    theta = np.array([0.5, -0.4])
    found = UNDAMPED.deflection(theta, wrenches=wrenches)
    q = found.q
    load = PLAIN.inverse_dynamics(q, 0 * q, 0 * q, wrenches=wrenches)
    assert found.converged and found.stable and found.residual < 1e-9
    assert error(np.asarray(UNDAMPED.stiffness) * (theta - q), load) < SOLVED
    assert np.abs(q - theta).max() > 0.05  # far from linear
    assert error(UNDAMPED.motor_positions(q, wrenches=wrenches), theta) < SOLVED
    weight = UNDAMPED.deflection(theta)
    assert error(weight.q, theta - PLAIN.gravity_torque(weight.q) / UNDAMPED.stiffness) < SOLVED
    assert UNDAMPED.motor_positions(np.zeros((3, 2))).shape == (3, 2)


def test_inverse_dynamics():
    """Links led along polynomials: the torques bring them there; θ and its rates agree with differences."""
    rng = np.random.default_rng(2)
    c = rng.uniform(-0.5, 0.5, (6, 2)) * [[1], [1], [1], [0.5], [0.5], [0.2]]
    paths = [np.polynomial.Polynomial(c[:, k]) for k in range(2)]

    def motion(t):
        return [np.array([p.deriv(k)(t) if k else p(t) for p in paths]) for k in range(5)]

    at = UNDAMPED.inverse_dynamics(*motion(0.0))
    h = 1e-4
    before, after = (UNDAMPED.inverse_dynamics(*motion(s)) for s in (-h, h))
    assert error(at.theta_d, (after.theta - before.theta) / (2 * h)) < 1e-6
    assert error(at.theta_dd, (after.theta_d - before.theta_d) / (2 * h)) < 1e-6
    q, qd, qdd, *_ = motion(0.0)
    accelerations = UNDAMPED.forward_dynamics(q, at.theta, qd, at.theta_d, at.tau)
    assert error(accelerations[0], qdd) < SOLVED and error(accelerations[1], at.theta_dd) < SOLVED
    u = lambda t: UNDAMPED.inverse_dynamics(*motion(t)).tau  # noqa: E731
    end = run(UNDAMPED.flow(), np.r_[q, at.theta, qd, at.theta_d], u, 0.3, tolerance=1e-10)
    assert error(end[:2], motion(0.3)[0]) < 1e-7


# -------------------------------------------------------------------------------------------------- rigid limit
def test_rigid_limit():
    """K → ∞: links follow the rigid robot of inertia M + B, with an error of first order in 1/K."""
    J, N = [2e-5, 1e-5], [80.0, 60.0]
    start, tau = np.array([-0.4, -0.3, 0.5, 0.2]), np.array([6.0, 2.0])
    B = np.array(J) * np.square(N)

    def rigid(t, x):
        h = PLAIN.bias_torque(x[:2], x[2:])
        return np.r_[x[2:], np.linalg.solve(PLAIN.mass_matrix(x[:2]) + np.diag(B), tau - h)]

    wanted = integrate.solve_ivp(rigid, (0, 0.4), start, "DOP853", rtol=1e-11, atol=1e-12).y[:2, -1]
    errors = []
    for K in (2e3, 8e3, 32e3):
        robot = FlexibleRobot(PLAIN, K, 0.0, J, N)
        assert error(robot.rigid_acceleration(start[:2], start[2:], tau), rigid(0, start)[2:]) < SOLVED
        theta = robot.slow_motor_positions(start[:2], start[2:], tau)
        x0 = np.r_[start[:2], theta, start[2:], start[2:]]
        assert error(robot.forward_dynamics(*x0.reshape(4, 2), tau)[0], rigid(0, start)[2:]) < SOLVED
        errors.append(np.abs(run(robot.flow(), x0, lambda t: tau, 0.4, tolerance=1e-10)[:2] - wanted).max())
    order = np.log(np.array(errors[:-1]) / errors[1:]) / math.log(4)
    assert np.allclose(order, 1, atol=0.02), order
    assert errors[-1] < 1e-3


# --------------------------------------------------------------------------------------------------- one link
def test_clamped_free_roots():
    """βL = 1.8751, 4.6941, 7.8548, 10.9955, 14.1372: the textbook's."""
    roots = np.array(clamped_free_roots(8))
    assert np.allclose(roots[:5], [1.8751, 4.6941, 7.8548, 10.9955, 14.1372], atol=5e-5)
    assert np.abs(np.cos(roots) + 1 / np.cosh(roots)).max() < 1e-14


def test_modes_satisfy_beam_and_ends():
    """Clamped at the hub, free at the tip, and the exact integrals, against quadrature."""
    s, w = np.polynomial.legendre.leggauss(200)
    s, w = (s + 1) / 2, w / 2
    roots = clamped_free_roots(6)
    phi = np.stack([clamped_free_mode(r, s) for r in roots])
    assert error(phi * w @ phi.T, np.eye(6)) < 1e-12
    assert error(phi @ (w * s), 2 / np.square(roots)) < 1e-12
    ends = [[float(clamped_free_mode(r, x)) for x in (0.0, 1.0)] for r in roots]
    assert error(ends, [[0, 2 * (-1) ** k] for k in range(6)]) < 1e-12
    h = 1e-3
    for r in roots[:3]:
        y = clamped_free_mode(r, 0.5 + h * np.arange(-2, 3))
        assert (y @ [1, -4, 6, -4, 1]) / h**4 == pytest.approx(r**4 * y[2], rel=1e-4)
    assert np.isfinite(clamped_free_mode(clamped_free_roots(50)[-1], s)).all()


def test_link_frequencies():
    """Clamped hub: the textbook's; free and light hub: pinned–free, tan βL = tanh βL; any hub: the exact boundary
    value problem; always from above, as assumed modes give."""
    L, rho, EI = 1.3, 0.7, 25.0
    unit = math.sqrt(EI / (rho * L**4))
    held = FlexibleLink(L, rho, EI, 0.1).frequencies("clamped")
    assert error(held, unit * np.square(clamped_free_roots(3))) < 1e-12
    near = [((k + 0.2) * math.pi, (k + 0.4) * math.pi) for k in (1, 2)]
    pinned = [optimize.brentq(lambda x: math.tan(x) - math.tanh(x), *bounds) for bounds in near]
    assert np.allclose(pinned, [3.9266, 7.0686], atol=5e-5)
    found = FlexibleLink(L, rho, EI, 0.0, modes=40).frequencies()[1:3]
    # To rounding: the stiffnesses of 40 modes span six decades.
    assert error(found, unit * np.square(pinned)) < 2e-4 and (found > unit * np.square(pinned) * (1 - 1e-10)).all()
    for hub in (0.02, 0.3):
        wanted = [unit * x * x for x in _exact_roots(hub / (rho * L**3), 2)]
        few, many = (FlexibleLink(L, rho, EI, hub, modes=k).frequencies()[1:3] for k in (4, 40))
        assert error(many, wanted) < 1e-4 and (many >= np.array(wanted) * (1 - 1e-9)).all() and (few >= many).all()
    heavy = FlexibleLink(L, rho, EI, 1e9).frequencies()[1:]
    assert error(heavy, held) < 1e-6


def _exact_roots(ratio, count):
    """βL of a beam on a free hub: y(0) = 0, y″(0) = −(J_h/ρL³) (βL)⁴ y′(0)/L, y″(L) = y‴(L) = 0, as a determinant."""

    def det(x):
        e, c, s = math.exp(-x), math.cos(x), math.sin(x)
        # Columns cosh-like e^{x(s−1)}, e^{−xs}, cos, sin, each scaled so that nothing is large.
        k = ratio * x**3
        rows = [[e, 1, 1, 0], [e * (1 + k), 1 - k, -1, k], [1, e, -c, -s], [1, -e, s, -c]]
        return np.linalg.det(rows)

    grid = np.linspace(0.5, 12, 2000)
    values = [det(x) for x in grid]
    pairs = [(a, b) for a, b, u, v in zip(grid, grid[1:], values, values[1:], strict=False) if u * v < 0]
    return [optimize.brentq(det, *pair) for pair in pairs[:count]]


def test_link_as_a_system():
    """Its flow keeps energy, agrees when traced, and turns as a rigid rod when EI is large."""
    link = FlexibleLink(1.0, 0.5, 20.0, 0.05, 0.2, modes=3)
    flow = link.flow()
    x = np.array([0.1, 0.01, -0.002, 0.001, 0.5, 0.1, 0.0, 0.02])
    assert error(compiled(flow)(0.0, x, [0.3]), flow.rate(0.0, x.tolist(), [0.3])) < ROUNDING
    end = run(flow, x, lambda t: np.zeros(1), 0.5)
    before, after = (np.sum(flow.observe(0.0, y.tolist(), [0.0])[2:]) for y in (x, end))
    assert after == pytest.approx(before, rel=1e-9)
    assert flow.observe(0.0, x.tolist(), [0.0])[0] == pytest.approx(2 * (0.01 + 0.002 + 0.001))
    stiff = FlexibleLink(1.0, 0.5, 2e7, 0.05, 0.2, damping_ratio=0.05)
    turned = run(stiff.flow(), np.zeros(8), lambda t: np.array([0.3]), 0.05, tolerance=1e-9)
    assert turned[4] == pytest.approx(0.3 * 0.05 / (0.05 + 0.5 / 3 + 0.2), rel=1e-4)
    assert link.shape([0.0, 1.0]).shape == (2, 3)


def test_link_with_tip_mass_against_its_parts():
    """½ żᵀ M ż is the energy of hub, beam and tip, by quadrature."""
    link = FlexibleLink(1.3, 0.7, 25.0, 0.1, 0.4, modes=3)
    zd = np.array([0.6, 0.05, -0.03, 0.02])
    s, w = np.polynomial.legendre.leggauss(60)
    s, w = (s + 1) / 2, w / 2
    v = 1.3 * s * zd[0] + link.shape(s) @ zd[1:]
    tip = 1.3 * zd[0] + link.shape(1.0) @ zd[1:]
    wanted = 0.5 * (0.1 * zd[0] ** 2 + 0.7 * 1.3 * (w @ v**2) + 0.4 * tip**2)
    assert 0.5 * zd @ link.mass_matrix @ zd == pytest.approx(wanted, rel=1e-12)


# ---------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: FlexibleRobot(PLAIN, 0.0, 0, 1e-4, 10),
            "the stiffness of joint 'joint1' is 0.0; it must be greater than 0",
        ),
        (lambda: FlexibleRobot(PLAIN, [100.0, -5.0], 0, 1e-4, 10), "the stiffness of joint 'joint2' is -5.0"),
        (
            lambda: FlexibleRobot(PLAIN, [1.0, 2.0, 3.0], 0, 1e-4, 10),
            "the stiffness has shape (3,); it must be a number or (2,): one for all, or one per joint",
        ),
        (
            lambda: FlexibleRobot(PLAIN, math.inf, 0, 1e-4, 10),
            "the stiffness of joint 'joint1' is inf; it must be a finite",
        ),
        (
            lambda: FlexibleRobot(PLAIN, 1.0, -1.0, 1e-4, 10),
            "the damping of joint 'joint1' is -1.0; it must not be less than 0",
        ),
        (
            lambda: FlexibleRobot(PLAIN, 1.0),
            "joint 'joint1' of 'planar-2r' has no rotor inertia, and a motor behind a spring",
        ),
        (lambda: FlexibleRobot(PLAIN, 1.0, 0, 0.0), "the rotor inertia of joint 'joint1' is 0.0"),
        (lambda: FlexibleRobot(PLAIN, 1.0, 0, 1e-4, [3, 0]), "the gear ratio of joint 'joint2' is 0.0; it must not be"),
        (lambda: FlexibleRobot(RP, [1, 0]), "the stiffness of joint 'joint2' is 0.0; it must be greater than 0 [N/m]"),
        (lambda: FlexibleRobot(RP, 1.0, [-1.0, 0.0]), "it must not be less than 0 [N m s/rad]"),
        (
            lambda: FlexibleRobot(RP, "stiff"),
            "the stiffness must be a finite number or 2 finite numbers [N m/rad or N/m]",
        ),
        (lambda: FlexibleRobot(dl.load("four-bar"), 1.0), "use dalembert.Constrained(robot), or robot.tree()"),
        (lambda: FlexibleRobot(PLAIN, 1.0, gear_ratio=50), "a gear_ratio comes with a rotor_inertia"),
        (lambda: FlexibleRobot(with_rotors(PUMA), 1.0), "has rotors as bodies, which turn with the links"),
        (
            lambda: FlexibleRobot(PLAIN, "stiff", 0, 1e-4),
            "the stiffness must be a finite number or 2 finite numbers [N m/rad]",
        ),
        (lambda: SOFT.inverse_dynamics(*np.zeros((5, 2))), "inverse dynamics needs damping=0"),
        (lambda: SOFT.modes([0.0]), "q has shape (1,); it must be (2,)"),
        (lambda: SOFT.deflection([0.0, math.nan]), "theta[1] is nan; it must be a finite number"),
        (
            lambda: SOFT.deflection([0.0, 0.0], wrenches={PLAIN.tip: [1.0]}),
            "has shape (1,); its last dimension must be 6",
        ),
        (lambda: SOFT.linearize(np.zeros(4), np.zeros(2)), "x has shape (4,); its last dimension must be 8"),
        (lambda: FlexibleLink(0.0, 1, 1, 1), "the length of a FlexibleLink is 0.0"),
        (lambda: FlexibleLink(1, 1, 1, -1), "the hub inertia of a FlexibleLink is -1.0; it must not be less than 0"),
        (lambda: FlexibleLink(1, 1, 1, 1, modes=0), "modes must be a whole number, from 1 to 50; got 0"),
        (lambda: FlexibleLink(1, 1, 1, 1).frequencies("loose"), "hub is 'free' or 'clamped', got 'loose'"),
        (
            lambda: FlexibleLink(1, 1, 1, 1).shape(1.2),
            "s is 1.2; it must not be greater than 1 [x/L, from 0 at the hub to 1 at the tip]",
        ),
    ],
)
def test_refused(make, text):
    with pytest.raises(dl.InputError) as caught:
        make()
    assert text in str(caught.value)
