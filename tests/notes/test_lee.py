"""[Lee], planar RR and control: its formulas by the line of the text where they stand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.actuation import DCMotor, DrivenRobot
from dalembert.actuation.gear_effects import geared_model
from dalembert.control import TransferFunction, ultimate
from notes.derive import (
    I1,
    I2,
    A,
    Q,
    V,
    along,
    c1,
    c2,
    c12,
    confirm,
    dh,
    g,
    l1,
    l2,
    lagrange,
    lc1 as r1,
    lc2 as r2,
    m1,
    m2,
    misprint,
    points,
    pose,
    q1,
    q2,
    qd,
    qdd,
    rate,
    rigid as arm,
    rot,
    s1,
    s2,
    s12,
    state,
    v1,
    v2,
)

t = sp.Symbol("t", real=True)
m, b, k, kp, kv, ki = sp.symbols("m b k k_p k_v k_i", positive=True)
z = sp.Matrix([0, 0, 1])
P1 = along(l1, q1)
J = sp.Matrix([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])


# ------------------------------------------------------------------------------------- mass, spring, damper
def test_lee_l057_pendulum_as_a_spring():
    """τ ≈ −m g l θ near θ = 0."""
    theta, speed, l = sp.symbols("theta omega l", real=True)
    torque = -lagrange(m * l**2 * speed**2 / 2, m * g * l * (1 - sp.cos(theta)), [theta], [speed], [0])[0]
    confirm(sp.series(torque, theta, 0, 2).removeO(), -m * g * l * theta)


# ----------------------------------------------------------------------------------------------- control
def test_lee_l233_ultimate_gain():
    """At K_u the loop oscillates steadily with period T_u: 1/(s + 1)³ has K_u = 8, T_u = 2π/√3."""
    found = ultimate(TransferFunction([1], [1, 3, 3, 1]))
    assert np.isclose(found.gain, 8, rtol=1e-9) and np.isclose(found.period, 2 * np.pi / np.sqrt(3), rtol=1e-9)


# ---------------------------------------------------------------------------------------------- kinematics
def test_lee_l311_to_l346_positions():
    """p₁, p_e and φ = q₁ + q₂ by rotating the links."""
    R1, R2 = rot("z", q1), rot("z", q1) * rot("z", q2)
    confirm(R1 * sp.Matrix([l1, 0, 0]), sp.Matrix([l1 * c1, l1 * s1, 0]))
    tip = R1 * sp.Matrix([l1, 0, 0]) + R2 * sp.Matrix([l2, 0, 0])
    confirm(tip, sp.Matrix([l1 * c1 + l2 * c12, l1 * s1 + l2 * s12, 0]))
    confirm(R2, rot("z", q1 + q2))


@pytest.mark.parametrize("place", ["l352", "l535"])
def test_lee_l352_to_l364_l535_to_l543_transforms(place):
    """⁰T₁, ¹T₂ and their product, from rotations and translations (l352) and from the DH table (l535)."""
    make = (lambda q, l: pose(rot("z", q)) * pose(p=(l, 0, 0))) if place == "l352" else (lambda q, l: dh(q, 0, l, 0))

    def form(q, x, y):
        return sp.Matrix([[sp.cos(q), -sp.sin(q), 0, x], [sp.sin(q), sp.cos(q), 0, y], [0, 0, 1, 0], [0, 0, 0, 1]])

    confirm(form(q1, l1 * c1, l1 * s1), make(q1, l1))
    confirm(form(q2, l2 * c2, l2 * s2), make(q2, l2))
    confirm(form(q1 + q2, l1 * c1 + l2 * c12, l1 * s1 + l2 * s12), make(q1, l1) * make(q2, l2))


def test_lee_l366_to_l376_velocities():
    """ẋ and ẏ, both ways of writing."""
    xd, yd, *_ = points().J * qd
    confirm(-l1 * s1 * v1 - l2 * s12 * (v1 + v2), xd)
    confirm((-l1 * s1 - l2 * s12) * v1 - l2 * s12 * v2, xd)
    confirm(l1 * c1 * v1 + l2 * c12 * (v1 + v2), yd)
    confirm((l1 * c1 + l2 * c12) * v1 + l2 * c12 * v2, yd)


def test_lee_l382_to_l404_jacobian():
    """J and its four entries (the "[4pt]" in an entry of line 400 is a command of the typesetter)."""
    confirm(J, points().J[:2, :])
    confirm(J * qd, rate(points().tip, Q, V)[:2, :])


def test_lee_l410_to_l418_jacobian_with_orientation():
    """J for (x, y, φ)."""
    confirm(J.col_join(sp.Matrix([[1, 1]])), points().J.extract([0, 1, 5], [0, 1]))


def test_lee_l426_l432_columns():
    """Each column is the tip's velocity when one joint turns with 1 rad/s."""
    u = (points().J * qd)[:2, :]
    confirm(sp.Matrix([-l1 * s1 - l2 * s12, l1 * c1 + l2 * c12]), u.subs({v1: 1, v2: 0}))
    confirm(sp.Matrix([-l2 * s12, l2 * c12]), u.subs({v1: 0, v2: 1}))


def test_lee_l442_l446_singularities():
    """det J = l₁ l₂ sin q₂; q₂ = 0, π are its zeros in a turn."""
    (found,) = points().matrix([[points().equations.det_jacobian()]])
    confirm(found, l1 * l2 * s2)
    zeros = sp.solveset(found.subs({l1: 1, l2: 1}), q2, sp.Interval.Ropen(0, 2 * sp.pi))
    assert zeros == sp.FiniteSet(0, sp.pi)


def test_lee_l459_index_of_the_joint():
    """v_i = z × (p_e − p_{i−1}) q̇_i: with the notes' own p₀, p₁ for joints 1 and 2 the index is i − 1, not i."""
    tip, columns = points().tip, points().J[:3, :]
    joints = [sp.zeros(3, 1), P1, tip]
    for i in (1, 2):
        misprint(z.cross(tip - joints[i]), z.cross(tip - joints[i - 1]), columns[:, i - 1])


def test_lee_l467_l469_cross_products():
    """J_v1 and J_v2."""
    tip = points().tip
    confirm(z.cross(tip), sp.Matrix([-(l1 * s1 + l2 * s12), l1 * c1 + l2 * c12, 0]))
    confirm(z.cross(tip - P1), sp.Matrix([-l2 * s12, l2 * c12, 0]))
    confirm(sp.Matrix.hstack(z.cross(tip), z.cross(tip - P1)), points().J[:3, :])


def test_lee_l481_l485_centers_of_mass():
    """p_c1, J_c1, p_c2, J_c2."""
    first = sp.Matrix([[-r1 * s1, 0], [r1 * c1, 0]])
    second = sp.Matrix([[-l1 * s1 - r2 * s12, -r2 * s12], [l1 * c1 + r2 * c12, r2 * c12]])
    confirm(first, arm().J1[:2, :])
    confirm(second, arm().J2[:2, :])
    confirm([r1 * c1, r1 * s1, 0], list(arm().p1))
    confirm([l1 * c1 + r2 * c12, l1 * s1 + r2 * s12, 0], list(arm().p2))


def test_lee_l493_to_l499_summary():
    """p_e and J of the summary, against the kernels of the bundled arm."""
    robot, q = dl.load("planar-2r"), np.array([0.7, -1.2])
    here = {q1: q[0], q2: q[1], l1: 1, l2: 1}
    assert np.allclose(np.array(points().tip.subs(here), float).ravel(), robot.fk(q)[:3, 3], atol=1e-14)
    assert np.allclose(np.array(J.subs(here), float), robot.jacobian(q)[:2], atol=1e-14)


def test_lee_l507_l511_dh_matrix():
    """R_z T_z T_x R_x multiplied out."""
    th, d, a, al = sp.symbols("theta d a alpha", real=True)
    ct, st, ca, sa = sp.cos(th), sp.sin(th), sp.cos(al), sp.sin(al)
    product = pose(rot("z", th)) * pose(p=(0, 0, d)) * pose(p=(a, 0, 0)) * pose(rot("x", al))
    printed = [[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st], [0, sa, ca, d], [0, 0, 0, 1]]
    confirm(printed, product)


def test_lee_l517_to_l527_dh_table():
    """The table's rows (l_i, 0, 0, q_i) give the bundled arm."""
    robot, q = dl.Robot.from_dh([{"a": 1.5}, {"a": 0.7}]), np.array([0.3, 0.8])
    here = {q1: q[0], q2: q[1], l1: 1.5, l2: 0.7}
    assert np.allclose(robot.fk(q)[:3, 3], np.array(points().tip.subs(here), float).ravel(), atol=1e-14)


def test_lee_l549_to_l565_geometric_jacobian():
    """o₀, o₁, o₂, z₀ = z₁, the columns z × (o_n − o), and the 6×2 matrix (v; ω)."""
    T1 = dh(q1, 0, l1, 0)
    T2 = T1 * dh(q2, 0, l2, 0)
    o, axes = [sp.zeros(3, 1), T1[:3, 3], T2[:3, 3]], [z, T1[:3, 2]]
    columns = [axes[i].cross(o[2] - o[i]).col_join(axes[i]) for i in range(2)]
    zero = sp.Matrix([[0, 0]])
    printed = J.col_join(zero).col_join(zero).col_join(zero).col_join(sp.Matrix([[1, 1]]))
    confirm(printed, sp.Matrix.hstack(*columns))
    assert np.allclose(
        dl.load("planar-2r").jacobian([0.2, 0.5]),
        np.array(printed.subs({q1: 0.2, q2: 0.5, l1: 1, l2: 1}), float),
        atol=1e-14,
    )


def test_lee_l569_two_equations_in_one_line():
    """J_p is the 3×2 matrix and (ẋ, ẏ, φ̇) = J_p q̇; run together, as printed, the product does not exist."""
    J_p = J.col_join(sp.Matrix([[1, 1]]))
    u = points().J.extract([0, 1, 5], [0, 1]) * qd
    confirm(J_p * qd, u)
    with pytest.raises(sp.matrices.exceptions.ShapeError):
        J_p * u


def test_lee_l575_to_l601_inverse_kinematics():
    """Both laws make ė + Ke = 0; what moves in the null space is a velocity q̇_ref (printed once as q_ref)."""
    rng = np.random.default_rng(1)
    for name, n in (("puma560", 6), ("panda", 7)):
        robot, q, K = dl.load(name), state(n, 4)[0], np.diag(np.arange(1.0, 7.0))
        wanted, e, ref = rng.normal(size=6), rng.normal(size=6), rng.normal(size=n)
        jacobian = robot.jacobian(q)
        for null in (None, ref):
            rates = robot.inverse_velocity(q, wanted + K @ e, null_term=null).qd
            assert np.allclose(wanted - jacobian @ rates + K @ e, 0, atol=1e-9)
        plus = np.linalg.pinv(jacobian)
        assert np.allclose(rates, plus @ (wanted + K @ e) + (np.eye(n) - plus @ jacobian) @ ref, atol=1e-9)


# ------------------------------------------------------------------------------------------------ dynamics
def test_lee_l630_to_l640_mass_and_spring():
    """m ẍ + k x = f from L = ½ m ẋ² − ½ k x²."""
    x, xd, xdd = sp.symbols("x xd xdd")
    confirm(lagrange(m * xd**2 / 2, k * x**2 / 2, [x], [xd], [xdd]), sp.Matrix([m * xdd + k * x]))


a = I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2)
bb = m2 * l1 * r2
d = I2 + m2 * r2**2


def test_lee_l660_to_l684_velocities_of_the_centers():
    """p_c1, p_c2, their velocities and squares, in both forms."""
    u1, u2 = arm().u1, arm().u2
    confirm([-r1 * s1 * v1, r1 * c1 * v1, 0], list(u1))
    w = v1 + v2
    confirm([-l1 * s1 * v1 - r2 * s12 * w, l1 * c1 * v1 + r2 * c12 * w, 0], list(u2))
    confirm(u1.dot(u1), r1**2 * v1**2)
    confirm(u2.dot(u2), l1**2 * v1**2 + r2**2 * w**2 + 2 * l1 * r2 * c2 * v1 * w)
    expanded = (l1**2 + r2**2 + 2 * l1 * r2 * c2) * v1**2 + r2**2 * v2**2 + 2 * (r2**2 + l1 * r2 * c2) * v1 * v2
    confirm(u2.dot(u2), expanded)


def test_lee_l688_to_l704_kinetic_energy():
    """T expanded, and with a, b, d."""
    square = (l1**2 + r2**2 + 2 * l1 * r2 * c2) * v1**2 + r2**2 * v2**2 + 2 * (r2**2 + l1 * r2 * c2) * v1 * v2
    confirm((I1 + m1 * r1**2) * v1**2 / 2 + m2 * square / 2 + I2 * (v1 + v2) ** 2 / 2, arm().K)
    confirm((a + 2 * bb * c2) * v1**2 / 2 + (d + bb * c2) * v1 * v2 + d * v2**2 / 2, arm().K)


def test_lee_l710_to_l718_potential_energy():
    """V in both forms."""
    confirm(m1 * g * r1 * s1 + m2 * g * (l1 * s1 + r2 * s12), arm().P)
    confirm((m1 * r1 + m2 * l1) * g * s1 + m2 * r2 * g * s12, arm().P)


def test_lee_l728_to_l740_first_equation():
    """∂L/∂q̇₁, its rate, ∂L/∂q₁ and the first joint's equation."""
    L, x = arm().K - arm().P, arm()
    momentum = (a + 2 * bb * c2) * v1 + (d + bb * c2) * v2
    confirm(momentum, sp.diff(L, v1))
    change = (a + 2 * bb * c2) * A[0] + (d + bb * c2) * A[1] - 2 * bb * s2 * v1 * v2 - bb * s2 * v2**2
    confirm(change, rate(sp.diff(L, v1), Q, V, A))
    pull = -(m1 * r1 + m2 * l1) * g * c1 - m2 * r2 * g * c12
    confirm(pull, sp.diff(L, q1))
    confirm(change - pull, x.tau[0])


def test_lee_l744_to_l756_second_equation():
    """∂L/∂q̇₂, its rate, ∂L/∂q₂ and the second joint's equation."""
    L, x = arm().K - arm().P, arm()
    confirm((d + bb * c2) * v1 + d * v2, sp.diff(L, v2))
    confirm((d + bb * c2) * A[0] + d * A[1] - bb * s2 * v1 * v2, rate(sp.diff(L, v2), Q, V, A))
    confirm(-bb * s2 * v1**2 - bb * s2 * v1 * v2 - m2 * r2 * g * c12, sp.diff(L, q2))
    confirm((d + bb * c2) * A[0] + d * A[1] + bb * s2 * v1**2 + m2 * r2 * g * c12, x.tau[1])


def test_lee_l762_to_l786_manipulator_form():
    """D with a, b, d and expanded, C, Cq̇ and G."""
    x = arm()
    confirm([[a + 2 * bb * c2, d + bb * c2], [d + bb * c2, d]], x.M)
    C = sp.Matrix([[-bb * s2 * v2, -bb * s2 * (v1 + v2)], [bb * s2 * v1, 0]])
    confirm(C, x.C)
    confirm(C * qd, sp.Matrix([-2 * bb * s2 * v1 * v2 - bb * s2 * v2**2, bb * s2 * v1**2]))
    confirm(C * qd, x.c)
    G = sp.Matrix([(m1 * r1 + m2 * l1) * g * c1 + m2 * r2 * g * c12, m2 * r2 * g * c12])
    confirm(G, x.g)
    off = I2 + m2 * (r2**2 + l1 * r2 * c2)
    full = [[I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2 + 2 * l1 * r2 * c2), off], [off, I2 + m2 * r2**2]]
    confirm(full, x.M)
    confirm(x.M * qdd + C * qd + G, x.tau)


# --------------------------------------------------------------------------------------------- point masses
def test_lee_l835_to_l843_point_masses():
    """r = l and I = 0 turn the arm of rigid links into that of point masses."""
    special = {r1: l1, r2: l2, I1: 0, I2: 0}
    confirm(arm().K.subs(special), points().K)
    confirm(arm().P.subs(special), points().P)
    confirm(list(points().p2), [l1 * c1 + l2 * c12, l1 * s1 + l2 * s12, 0])


def test_lee_l847_l851_stray_commas():
    """Products, not pairs: −l₁ sin q₁ q̇₁ and 2 l₁ l₂ cos q₂ q̇₁(q̇₁ + q̇₂); the commas in them are typesetting."""
    w = v1 + v2
    confirm([-l1 * s1 * v1, l1 * c1 * v1, 0], list(points().u1))
    confirm([-l1 * s1 * v1 - l2 * s12 * w, l1 * c1 * v1 + l2 * c12 * w, 0], list(points().u2))
    confirm(points().u1.dot(points().u1), l1**2 * v1**2)
    speed = l1**2 * v1**2 + l2**2 * w**2 + 2 * l1 * l2 * c2 * v1 * w
    misprint(l1**2 * v1**2 + l2**2 * w**2 + 2 * l1 * l2 * c2, speed, points().u2.dot(points().u2))


def test_lee_l855_to_l871_energy_and_mass_matrix():
    """v₂² expanded, T in its forms, D of the point masses."""
    square = (l1**2 + l2**2 + 2 * l1 * l2 * c2) * v1**2 + 2 * (l2**2 + l1 * l2 * c2) * v1 * v2 + l2**2 * v2**2
    confirm(square, points().u2.dot(points().u2))
    confirm(m1 * l1**2 * v1**2 / 2 + m2 * square / 2, points().K)
    d11 = m1 * l1**2 + m2 * (l1**2 + l2**2 + 2 * l1 * l2 * c2)
    d12 = m2 * (l2**2 + l1 * l2 * c2)
    confirm(d11 * v1**2 / 2 + d12 * v1 * v2 + m2 * l2**2 * v2**2 / 2, points().K)
    D = sp.Matrix([[d11, d12], [d12, m2 * l2**2]])
    confirm(D, points().M)
    confirm((qd.T * D * qd)[0] / 2, points().K)


# ------------------------------------------------------------------------------------------ robot control
class Loop:
    """The bundled 2R arm under a control law: q̈ that a torque causes, and the model's terms."""

    def __init__(self):
        self.robot = dl.load("planar-2r")
        (self.q, self.v, _), (self.qr, self.vr, self.ar) = state(2, 1), state(2, 2)
        self.e, self.ed = self.qr - self.q, self.vr - self.v
        self.Kp, self.Kd = np.diag([30.0, 20.0]), np.diag([7.0, 5.0])

    def terms(self, q, v):
        return self.robot.mass_matrix(q), self.robot.coriolis_matrix(q, v), self.robot.gravity_torque(q)

    def acceleration(self, tau):
        return self.robot.forward_dynamics(self.q, self.v, tau)


@pytest.fixture(scope="module")
def loop():
    return Loop()


def test_lee_l877_state_space_of_the_robot(loop):
    """ẋ = (q̇, −D⁻¹(Cq̇ + G)) + (0, D⁻¹u)."""
    D, C, G = loop.terms(loop.q, loop.v)
    u = np.array([1.0, -2.0])
    right = -np.linalg.solve(D, C @ loop.v + G) + np.linalg.solve(D, u)
    assert np.allclose(right, loop.acceleration(u), atol=1e-11)


def test_lee_l889_to_l907_pd_with_gravity(loop):
    """Closed loop of PD + gravity; for q̇_d = 0, Dë + Cė + K_dė + K_pe = 0, whichever sign e has."""
    D, C, G = loop.terms(loop.q, loop.v)
    a_ = loop.acceleration(G + loop.Kp @ loop.e + loop.Kd @ loop.ed)
    assert np.allclose(D @ a_ + C @ loop.v, loop.Kp @ loop.e + loop.Kd @ loop.ed, atol=1e-10)
    assert np.allclose(D @ a_ + C @ loop.v + loop.Kd @ (loop.v - loop.vr) + loop.Kp @ (loop.q - loop.qr), 0, atol=1e-10)
    a_ = loop.acceleration(G + loop.Kp @ loop.e - loop.Kd @ loop.v)
    for sign in (1, -1):
        e, ed, edd = sign * loop.e, -sign * loop.v, -sign * a_
        assert np.allclose(D @ edd + C @ ed + loop.Kd @ ed + loop.Kp @ e, 0, atol=1e-10)


def test_lee_l925_to_l929_l983_computed_torque(loop):
    """u = Dw + Cq̇ + G with w = q̈_d + K_P e + K_D ė gives ë + K_D ė + K_P e = 0, K_P = ω², K_D = 2ζω."""
    D, C, G = loop.terms(loop.q, loop.v)
    u = D @ (loop.ar + loop.Kp @ loop.e + loop.Kd @ loop.ed) + C @ loop.v + G
    edd = loop.ar - loop.acceleration(u)
    assert np.allclose(edd + loop.Kd @ loop.ed + loop.Kp @ loop.e, 0, atol=1e-10)
    w, zeta, s = sp.symbols("omega zeta s", positive=True)
    roots = sp.solve(s**2 + 2 * zeta * w * s + w**2, s)
    assert sp.simplify(roots[0] * roots[1]) == w**2 and sp.simplify(-(roots[0] + roots[1]) / (2 * w)) == zeta


def test_lee_l943_to_l979_feedforward(loop):
    """Feedforward + PD in the true dynamics, rearranged; alone it is exact on the path, not beside it."""
    D, C, G = loop.terms(loop.q, loop.v)
    Dr, Cr, Gr = loop.terms(loop.qr, loop.vr)
    forward = Dr @ loop.ar + Cr @ loop.vr + Gr
    tau = forward + loop.Kp @ loop.e + loop.Kd @ loop.ed
    a_ = loop.acceleration(tau)
    right = Dr @ loop.ar + (Cr @ loop.vr - C @ loop.v) + (Gr - G) + loop.Kp @ loop.e + loop.Kd @ loop.ed
    assert np.allclose(D @ a_, right, atol=1e-10)
    assert np.allclose(loop.robot.forward_dynamics(loop.qr, loop.vr, forward), loop.ar, atol=1e-10)
    assert not np.allclose(loop.acceleration(forward), loop.ar, atol=1e-2)


# ------------------------------------------------------------------------------------------------- gears
def test_lee_l1012_two_meanings_of_the_motor_torque():
    """u_m = u/N is the torque an ideal gear passes on at rest; in J_mθ̈_m = u_m − u/N, u_m is what the motor makes:
    taken as one symbol the rotor could never accelerate."""
    ratio, rotor, volt = 20.0, 2e-3, 3.0
    body = dl.describe.Inertial(1.5, (0.0, 0.0, 0.0, 0.0, 0.0, 0.02))
    robot = dl.Robot.from_dh([{"a": 0.4, "inertial": body}], gravity=(0.0, 0.0, 0.0))
    motor = DCMotor(resistance=2.0, torque_constant=0.1, inertia=rotor)
    driven = DrivenRobot(robot, motor, [ratio])
    found = geared_model(driven, [0.3], [0.0])
    made = found.gain[0] * volt
    qdd = made / found.inertia[0, 0]
    passed_on = robot.mass_matrix([0.3])[0, 0] * qdd / ratio  # u/N
    assert np.isclose(made, 0.1 * volt / 2.0) and np.isclose(made - passed_on, rotor * ratio * qdd)
    assert abs(made - passed_on) > 0.1 * made


def test_lee_l1060_l1064_geared_robot():
    """(N⁻¹D + NJ_m) q̈ + (N⁻¹C + NB_m) q̇ + N⁻¹G = u_m; times N it is D + N²J_m, and D fades as N grows."""
    x = arm()
    N, Jm, Bm = (sp.diag(*sp.symbols(f"{c}1:3", positive=True)) for c in ("N", "J", "B"))
    inverse = N.inv()
    load = x.M * qdd + x.C * qd + x.g
    motors = N * Jm * qdd + N * Bm * qd + inverse * load
    printed = (inverse * x.M + N * Jm) * qdd + (inverse * x.C + N * Bm) * qd + inverse * x.g
    confirm(printed, motors)
    K = x.K + (qd.T * N * Jm * N * qd)[0] / 2  # rotors turn with Nq̇
    confirm(N * (inverse * x.M + N * Jm), sp.hessian(sp.expand(K), V))
    size = sp.Symbol("n", positive=True)
    scaled = ((inverse * x.M + N * Jm) / size).subs({s: size for s in N.diagonal()})
    confirm(scaled.applyfunc(lambda e: sp.limit(e, size, sp.oo)), Jm)


def test_lee_l1000_reflected_inertia():
    """Reflected inertia grows with the square of the ratio: the kernels' M with and without a gear of 5."""
    point = dl.describe.Inertial(1.0, (0.0,) * 6)
    rows = [
        {"a": 1.0, "inertial": point, "drive": dl.describe.Drive(rotor_inertia=0.01, gear_ratio=ratio)}
        for ratio in (5.0, 10.0)
    ]
    with_rotor = dl.Robot.from_dh(rows).mass_matrix([0.1, 0.2])
    bare = dl.Robot.from_dh([{"a": 1.0, "inertial": point}] * 2).mass_matrix([0.1, 0.2])
    assert np.allclose(with_rotor - bare, np.diag([0.25, 1.0]), atol=1e-12)
