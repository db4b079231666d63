"""[Lee], planar RR and control: its formulas by the line of the text where they stand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
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
    differ,
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
    rounds,
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
P1, TIP = along(l1, q1), along(l1, q1) + along(l2, q1 + q2)
J = sp.Matrix([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])


# ------------------------------------------------------------------------------------- mass, spring, damper
def test_lee_l042_to_l086_roots():
    """m s² + b s + k = 0 for x = e^{st}, and its two roots."""
    s = sp.Symbol("s")
    x = sp.exp(s * t)
    confirm(sp.simplify((m * x.diff(t, 2) + b * x.diff(t) + k * x) / x), m * s**2 + b * s + k)
    for sign in (1, -1):
        root = (-b + sign * sp.sqrt(b**2 - 4 * m * k)) / (2 * m)
        assert sp.simplify(m * root**2 + b * root + k) == 0
        x = sp.exp(root * t)
        assert sp.simplify((m * x.diff(t, 2) + b * x.diff(t) + k * x) / x) == 0


def test_lee_l057_pendulum_as_a_spring():
    """τ ≈ −m g l θ near θ = 0."""
    theta, l = sp.symbols("theta l")
    torque = -sp.diff(m * g * l * (1 - sp.cos(theta)), theta)
    confirm(sp.series(torque, theta, 0, 2).removeO(), -m * g * l * theta)


def test_lee_l090_to_l110_three_responses():
    """Over-, under- and critically damped: each solution solves the equation, with ω_d as printed."""
    C1, C2 = sp.symbols("c_1 c_2")
    system = lambda x, B: m * x.diff(t, 2) + B * x.diff(t) + k * x  # noqa: E731
    wd = sp.sqrt(k / m - (b / (2 * m)) ** 2)
    under = sp.exp(-b * t / (2 * m)) * (C1 * sp.cos(wd * t) + C2 * sp.sin(wd * t))
    assert sp.simplify(system(under, b)) == 0
    confirm(wd**2, (sp.sqrt(4 * m * k - b**2) / (2 * m)) ** 2)
    critical = 2 * sp.sqrt(m * k)
    twice = (C1 + C2 * t) * sp.exp(-critical / (2 * m) * t)
    assert sp.simplify(system(twice, critical)) == 0
    assert sp.simplify(system(twice, critical + 1)) != 0
    over = [complex(r) for r in np.roots([1, 5, 4])]  # b² > 4mk
    assert over == [-4, -1]


# ----------------------------------------------------------------------------------------------- control
def test_lee_l117_to_l135_gains():
    """m ẍ + (b + k_v) ẋ + (k + k_p) x = 0; k_p = k′ − k and k_v = 2√(mk′) − b give a double root."""
    x, xd, xdd, stiff, s = sp.symbols("x xd xdd kappa s", positive=True)
    closed = m * xdd + b * xd + k * x - (-kv * xd - kp * x)
    confirm(closed, m * xdd + (b + kv) * xd + (k + kp) * x)
    poly = (m * s**2 + (b + kv) * s + k + kp).subs({kp: stiff - k, kv: 2 * sp.sqrt(m * stiff) - b})
    confirm(sp.discriminant(sp.expand(poly), s), 0)


def test_lee_l145_to_l163_partitioning():
    """f = α f′ + β with α = m, β = bẋ + kx leaves ẍ = f′; k_v = 2√k_p is critical; the PD law in one line."""
    x, xd, xdd, f, s = sp.symbols("x xd xdd f s", real=True)
    law = m * f + b * xd + k * x
    confirm(sp.solve(m * xdd + b * xd + k * x - law, xdd)[0], f)
    confirm(sp.discriminant(s**2 + 2 * sp.sqrt(kp) * s + kp, s), 0)
    printed = m * (-kp * x - kv * xd) + b * xd + k * x
    acceleration = sp.solve(m * xdd + b * xd + k * x - printed, xdd)[0]
    confirm(acceleration + kv * xd + kp * x, 0)


def error_dynamics(law, push=0):
    """ë + k_v ė + k_p e for a block under the partitioned law with f′, pushed by a force m·push along +x."""
    x, xd = sp.symbols("x xd")
    want, wantd, wantdd = sp.symbols("x_d xd_d xdd_d")
    e, ed = want - x, wantd - xd
    total = law(wantdd, ed, e) * m + b * xd + k * x
    xdd = (total + m * push - b * xd - k * x) / m
    return sp.expand(wantdd - xdd + kv * ed + kp * e)


def test_lee_l179_to_l191_trajectory():
    """f′ = ẍ_d + k_v ė + k_p e gives ë + k_v ė + k_p e = 0."""
    confirm(error_dynamics(lambda a, ed, e: a + kv * ed + kp * e), 0)
    assert differ(error_dynamics(lambda a, ed, e: kv * ed + kp * e), 0)


def test_lee_l201_l209_disturbance():
    """ë + k_v ė + k_p e = a_dist for a disturbance that opposes the motion (−m a_dist on the block), e = a_dist/k_p.

    For a force +m a_dist on the block both have the other sign."""
    dist, e = sp.symbols("a_dist e")
    law = lambda a, ed, e: a + kv * ed + kp * e  # noqa: E731
    confirm(error_dynamics(law, -dist), dist)
    confirm(error_dynamics(law, dist), -dist)
    confirm(sp.solve(kp * e - dist, e)[0], dist / kp)


def test_lee_l213_to_l221_integral_term():
    """f′ with k_i ∫e: ë + k_v ė + k_p e + k_i ∫e = 0 (or the disturbance)."""
    area = sp.Symbol("area")
    confirm(error_dynamics(lambda a, ed, e: a + kv * ed + kp * e + ki * area) + ki * area, 0)


def test_lee_l225_third_order_error():
    """Differentiated, the PID error obeys e⃛ + k_v ë + k_p ė + k_i e = 0; the printed line has lost a dot on each
    term and k_i e, and then e = 0 would not follow for a constant disturbance."""
    E = sp.Function("E")(t)  # ∫e
    e, dist = E.diff(t), sp.Symbol("a_dist")
    loop = e.diff(t, 2) + kv * e.diff(t) + kp * e + ki * E - dist
    third = e.diff(t, 3) + kv * e.diff(t, 2) + kp * e.diff(t) + ki * e
    misprint(e.diff(t, 2) + kv * e.diff(t) + kp * e, third, loop.diff(t))
    steady = sp.Symbol("e0")
    confirm(sp.solve(third.subs(e, steady).doit(), steady)[0], 0)


ZIEGLER = {  # K_p, T_i, T_d, K_i, K_d in units of K_u and T_u
    "P": (0.5, None, None, None, None),
    "PI": (0.45, 0.83, None, 0.54, None),
    "PD": (0.8, None, 0.125, None, 0.10),
    "classic PID": (0.6, 0.5, 0.125, 1.2, 0.075),
    "Pessen": (0.7, 0.4, 0.15, 1.75, 0.105),
    "some overshoot": (0.33, 0.50, 0.33, 0.66, 0.11),
    "no overshoot": (0.20, 0.50, 0.33, 0.40, 0.066),
}


@pytest.mark.parametrize("row", ZIEGLER)
def test_lee_l235_to_l242_ziegler_nichols(row):
    """K_i = K_p/T_i and K_d = K_p T_d to the digits printed, in all seven rows."""
    K, Ti, Td, Ki, Kd = ZIEGLER[row]
    assert (Ti is None) == (Ki is None) and (Td is None) == (Kd is None)
    if Ti is not None:
        assert rounds(Ki, K / Ti, 2)
    if Td is not None:
        assert rounds(Kd, K * Td, 3 if row != "some overshoot" else 2)
    if row == "P":
        assert K == 0.5


def test_lee_l233_ultimate_gain():
    """At K_u the loop oscillates steadily with period T_u: 1/(s + 1)³ has K_u = 8, T_u = 2π/√3."""
    s = sp.Symbol("s")
    roots = sp.roots(sp.expand((s + 1) ** 3 + 8), s)
    confirm(max(sp.re(r) for r in roots), 0)
    assert {abs(sp.im(r)) for r in roots} == {0, sp.sqrt(3)}


def test_lee_l249_to_l292_state_space():
    """ẋ = Ax + Bu with A = [0 1; −k/m −b/m], B = (0, 1/m); C = [1 0] position, [0 1] velocity."""
    x, xd, u = sp.symbols("x xd u")
    f = sp.Matrix([xd, (u - b * xd - k * x) / m])
    confirm(f.jacobian([x, xd]), sp.Matrix([[0, 1], [-k / m, -b / m]]))
    confirm(f.jacobian([u]), sp.Matrix([0, 1 / m]))
    for C, wanted in (([1, 0], x), ([0, 1], xd)):
        confirm((sp.Matrix([C]) * sp.Matrix([x, xd]))[0], wanted)


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
    xd, yd, _ = rate(TIP, Q, V)
    confirm(-l1 * s1 * v1 - l2 * s12 * (v1 + v2), xd)
    confirm((-l1 * s1 - l2 * s12) * v1 - l2 * s12 * v2, xd)
    confirm(l1 * c1 * v1 + l2 * c12 * (v1 + v2), yd)
    confirm((l1 * c1 + l2 * c12) * v1 + l2 * c12 * v2, yd)


def test_lee_l382_to_l404_jacobian():
    """J and its four entries (the "[4pt]" in an entry of line 400 is a command of the typesetter)."""
    confirm(J, TIP[:2, :].jacobian(Q))
    confirm(J * qd, rate(TIP, Q, V)[:2, :])


def test_lee_l410_to_l418_jacobian_with_orientation():
    """J for (x, y, φ)."""
    pose_ = sp.Matrix([TIP[0], TIP[1], q1 + q2])
    confirm(J.col_join(sp.Matrix([[1, 1]])), pose_.jacobian(Q))


def test_lee_l426_l432_columns():
    """Each column is the tip's velocity when one joint turns with 1 rad/s."""
    u = rate(TIP, Q, V)[:2, :]
    confirm(sp.Matrix([-l1 * s1 - l2 * s12, l1 * c1 + l2 * c12]), u.subs({v1: 1, v2: 0}))
    confirm(sp.Matrix([-l2 * s12, l2 * c12]), u.subs({v1: 0, v2: 1}))


def test_lee_l442_l446_singularities():
    """det J = l₁ l₂ sin q₂; q₂ = 0, π are its zeros in a turn."""
    confirm(TIP[:2, :].jacobian(Q).det(), l1 * l2 * s2)
    zeros = sp.solveset(sp.sin(q2), q2, sp.Interval.Ropen(0, 2 * sp.pi))
    assert zeros == sp.FiniteSet(0, sp.pi)


def test_lee_l459_index_of_the_joint():
    """v_i = z × (p_e − p_{i−1}) q̇_i: with the notes' own p₀, p₁ for joints 1 and 2 the index is i − 1, not i."""
    joints = [sp.zeros(3, 1), P1, TIP]
    for i in (1, 2):
        column = TIP.diff(Q[i - 1])
        misprint(z.cross(TIP - joints[i]), z.cross(TIP - joints[i - 1]), column)


def test_lee_l467_l469_cross_products():
    """J_v1 and J_v2."""
    confirm(z.cross(TIP), sp.Matrix([-(l1 * s1 + l2 * s12), l1 * c1 + l2 * c12, 0]))
    confirm(z.cross(TIP - P1), sp.Matrix([-l2 * s12, l2 * c12, 0]))
    confirm(sp.Matrix.hstack(z.cross(TIP), z.cross(TIP - P1)), TIP.jacobian(Q))


def test_lee_l481_l485_centers_of_mass():
    """p_c1, J_c1, p_c2, J_c2."""
    first = sp.Matrix([[-r1 * s1, 0], [r1 * c1, 0]])
    second = sp.Matrix([[-l1 * s1 - r2 * s12, -r2 * s12], [l1 * c1 + r2 * c12, r2 * c12]])
    confirm(first, along(r1, q1)[:2, :].jacobian(Q))
    confirm(second, (along(l1, q1) + along(r2, q1 + q2))[:2, :].jacobian(Q))


def test_lee_l493_to_l499_summary():
    """p_e and J of the summary, against the kernels of the bundled arm."""
    robot, q = dl.load("planar-2r"), np.array([0.7, -1.2])
    here = {q1: q[0], q2: q[1], l1: 1, l2: 1}
    assert np.allclose(np.array(TIP.subs(here), float).ravel(), robot.fk(q)[:3, 3], atol=1e-14)
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
    assert np.allclose(robot.fk(q)[:3, 3], np.array(TIP.subs(here), float).ravel(), atol=1e-14)


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
    u = rate(sp.Matrix([TIP[0], TIP[1], q1 + q2]), Q, V)
    confirm(J_p * qd, u)
    with pytest.raises(sp.matrices.exceptions.ShapeError):
        J_p * u


def test_lee_l575_to_l601_inverse_kinematics():
    """Both laws make ė + Ke = 0; what moves in the null space is a velocity q̇_ref (printed once as q_ref)."""
    rng, K = np.random.default_rng(1), np.diag([1.0, 2.0, 3.0])
    square, wide = rng.normal(size=(3, 3)), rng.normal(size=(3, 5))
    wanted, e, ref = rng.normal(size=3), rng.normal(size=3), rng.normal(size=5)
    plus = wide.T @ np.linalg.inv(wide @ wide.T)
    laws = [
        (square, np.linalg.solve(square, wanted + K @ e)),
        (wide, plus @ (wanted + K @ e) + (np.eye(5) - plus @ wide) @ ref),
    ]
    for jacobian, rates in laws:
        error_rate = wanted - jacobian @ rates
        assert np.allclose(error_rate + K @ e, 0, atol=1e-12)
    assert np.allclose(plus, np.linalg.pinv(wide), atol=1e-12)


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


def test_lee_l796_to_l813_moments_of_inertia():
    """m r² for a point, Σ m r², k m r² (k = ½ for a disk), ∫ r² dm."""
    x, y, rho, R, w = sp.symbols("x y rho R w", positive=True)
    speed = rate(sp.Matrix([R * sp.cos(q1), R * sp.sin(q1), 0]), [q1], [w])
    confirm(m * speed.dot(speed) / 2, m * R**2 * w**2 / 2)
    mass = sp.integrate(rho * x, (x, 0, R), (y, 0, 2 * sp.pi))
    disk = sp.integrate(rho * x**2 * x, (x, 0, R), (y, 0, 2 * sp.pi))
    confirm(disk, sp.Rational(1, 2) * mass * R**2)


def test_lee_l822_rod_with_a_ball():
    """⅓ M_rod L² + ⅖ M_sphere R² + M_sphere (L + R)², by integration."""
    x, th, rad, L, R, Mr, Ms = sp.symbols("x theta rad L R M_r M_s", positive=True)
    rod = sp.integrate(Mr / L * x**2, (x, 0, L))
    density = Ms / (sp.Rational(4, 3) * sp.pi * R**3)
    phi = sp.Symbol("phi", real=True)
    # distance² from the axis y through the rod's end, the ball's center at x = L + R
    X, Z = L + R + rad * sp.sin(th) * sp.cos(phi), rad * sp.cos(th)
    integrand = sp.expand((X**2 + Z**2) * density * rad**2 * sp.sin(th))
    ball = sp.integrate(sp.integrate(sp.integrate(integrand, (phi, 0, 2 * sp.pi)), (th, 0, sp.pi)), (rad, 0, R))
    confirm(rod + ball, Mr * L**2 / 3 + sp.Rational(2, 5) * Ms * R**2 + Ms * (L + R) ** 2)


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
def motor():
    names = "J N B K_T K_m R v_a u theta w alpha"
    return dict(zip(names.split(), sp.symbols(names, positive=True), strict=True))


def test_lee_l1012_two_meanings_of_the_motor_torque():
    """u_m = u/N is the torque an ideal gear passes on at rest; in J_mθ̈_m = u_m − u/N, u_m is what the motor makes:
    taken as one symbol the rotor could never accelerate."""
    x = motor()
    balance = lambda u_m: (u_m - x["u"] / x["N"]) / x["J"]  # noqa: E731  θ̈_m
    confirm(balance(x["u"] / x["N"]), 0)
    u_m = sp.Symbol("u_m")
    assert differ(balance(u_m), 0)
    confirm(x["u"] * x["w"], (x["u"] / x["N"]) * (x["N"] * x["w"]))  # powers on both sides of the gear


def test_lee_l1016_to_l1026_motor_torque():
    """i = (v_a − K_mθ̇_m)/R for L = 0 and u_m = −(B + K_T K_m/R) θ̇_m + (K_T/R) v_a."""
    x = motor()
    i, L = sp.symbols("i L")
    circuit = L * sp.Symbol("di") + x["R"] * i - (x["v_a"] - x["K_m"] * x["w"])
    current = sp.solve(circuit.subs(L, 0), i)[0]
    confirm(current, x["v_a"] / x["R"] - x["K_m"] / x["R"] * x["w"])
    made = -x["B"] * x["w"] + x["K_T"] * current
    confirm(made, -(x["B"] + x["K_T"] * x["K_m"] / x["R"]) * x["w"] + x["K_T"] / x["R"] * x["v_a"])


def test_lee_l1034_to_l1056_geared_joint():
    """J_m N θ̈ + (B + K_T K_m/R) N θ̇ + u/N = (K_T/R) v_a."""
    x = motor()
    damping = x["B"] + x["K_T"] * x["K_m"] / x["R"]
    made = -damping * x["N"] * x["w"] + x["K_T"] / x["R"] * x["v_a"]  # θ̇_m = Nθ̇
    residual = x["J"] * x["N"] * x["alpha"] - (made - x["u"] / x["N"])
    printed = x["J"] * x["N"] * x["alpha"] + damping * x["N"] * x["w"] + x["u"] / x["N"] - x["K_T"] / x["R"] * x["v_a"]
    confirm(printed, residual)


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
    point = dl.Inertial(1.0, (0.0,) * 6)
    rows = [
        {"a": 1.0, "inertial": point, "drive": dl.Drive(rotor_inertia=0.01, gear_ratio=ratio)} for ratio in (5.0, 10.0)
    ]
    with_rotor = dl.Robot.from_dh(rows).mass_matrix([0.1, 0.2])
    bare = dl.Robot.from_dh([{"a": 1.0, "inertial": point}] * 2).mass_matrix([0.1, 0.2])
    assert np.allclose(with_rotor - bare, np.diag([0.25, 1.0]), atol=1e-12)
