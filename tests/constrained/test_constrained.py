"""Constraints: their terms as derivatives, the laws of constrained motion, [Fakhari 3]'s example, and bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.algorithms import relations
from dalembert.constrained import Constrained, channel, couple, hold, holonomic, pfaffian, plane
from dalembert.describe.description import LOOP_KINDS
from errors import raises
from trees import random_tree


def point_arm() -> dl.Robot:
    """[Fakhari 3]'s arm: lengths and point masses of one, no gravity."""
    point = dl.describe.Inertial(1.0, (0.0,) * 6)
    return dl.Robot.from_dh([{"a": 1.0, "inertial": point}] * 2, gravity=(0, 0, 0), name="point arm")


def in_channel() -> Constrained:
    return Constrained(point_arm(), plane((1, 0, 0), (1, 0, 0), name="channel"))


Q, QD = np.array([-math.pi / 3, 2 * math.pi / 3]), np.array([1.0, 0.0])
R3 = math.sqrt(3)


# ------------------------------------------------------------------------------------------ the example of [Fakhari 3]
def test_arm_in_a_channel_in_numbers():
    """λ = 0.289 τ₁ − 1.155 τ₂ − 0.167, q̈ = (0.5 τ₁ + 0.289, −1.155), as printed."""
    s = in_channel()
    np.testing.assert_allclose(s.jacobian(Q), [[0, -R3 / 2]], atol=1e-15)
    np.testing.assert_allclose(s.jacobian_dot(Q, QD), [[-1, -0.5]], atol=1e-15)
    np.testing.assert_allclose(s.robot.mass_matrix(Q), [[2, 0.5], [0.5, 1]], atol=1e-15)
    np.testing.assert_allclose(s.robot.bias_torque(Q, QD), [0, R3 / 2], atol=1e-15)
    for tau in np.random.default_rng(0).uniform(-5, 5, (20, 2)):
        qdd, force = s.forward_dynamics(Q, QD, tau)
        printed = 0.289 * tau[0] - 1.155 * tau[1] - 0.167
        assert abs(force[0] - printed) < 0.0005 * (1 + abs(tau).sum())
        assert np.abs(qdd - [0.5 * tau[0] + 0.289, -1.155]).max() < 0.0005
        exact = R3 / 6 * tau[0] - 2 * R3 / 3 * tau[1] - 1 / 6
        np.testing.assert_allclose(force, [exact], rtol=1e-13)
        np.testing.assert_allclose(qdd, [0.5 * tau[0] + R3 / 6, -2 * R3 / 3], rtol=1e-13, atol=1e-13)


def test_arm_in_a_channel_force_at_the_tip():
    """F_tip = (λ, 0): it presses across the channel only; with τ = 0 to the left, by 1/6 N. The robot feels −F_tip."""
    s = in_channel()
    force = s.forward_dynamics(Q, QD, [0, 0]).multipliers
    for rows in (("vx", "vy"), ["vx", "vy"], np.eye(6)[:2]):
        np.testing.assert_allclose(s.tip_wrench(Q, force, rows=rows), [1 / 6, 0], atol=1e-15)
    np.testing.assert_allclose(s.tip_wrench(Q, force, rows=[2, 2, 0, 0, 0, 0]), [1 / 12, 0], atol=1e-15)
    np.testing.assert_allclose(s.tip_wrench(Q, force), [1 / 6, 0, 0, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(s.constraint_wrench(Q, force), [1 / 6, 0, 0, 0, 0, 0], atol=1e-15)


def test_arm_in_a_channel_inverse_dynamics():
    """τ₁ = 2 θ̈₁ − 0.578, τ₂ = 0.5 θ̈₁ − 0.866 f − 0.289 for θ̈₂ = −1.155 and a wanted force f."""
    s = in_channel()
    for a, f in ((0.0, 0.0), (1.5, -2.0), (-3.0, 4.0)):
        tau = s.inverse_dynamics(Q, QD, [a, -2 / R3], [f])
        assert np.abs(tau - [2 * a - 0.578, 0.5 * a - 0.866 * f - 0.289]).max() < 0.002
        np.testing.assert_allclose(tau, [2 * a - 1 / R3, 0.5 * a - R3 / 2 * f - 1 / (2 * R3)], atol=1e-14)
        qdd, force = s.forward_dynamics(Q, QD, tau)
        np.testing.assert_allclose([*qdd, *force], [a, -2 / R3, f], atol=1e-13)


def test_arm_in_a_channel_projection():
    s = in_channel()
    np.testing.assert_allclose(s.projection(Q), [[1, 0], [0.25, 0]], atol=1e-15)
    assert (s.rank(Q), s.freedoms(Q)) == (1, 1)


def test_arm_in_a_channel_in_symbols():
    """The same, exactly: √3 and not 0.866."""
    e = in_channel().equations(symbolic="none")
    at = {"q1": -sp.pi / 3, "q2": 2 * sp.pi / 3, "qd1": 1, "qd2": 0}
    t1, t2 = sp.symbols("tau1 tau2", real=True)
    r3 = sp.sqrt(3)
    assert e.sympy("phi", at) == sp.Matrix([0])
    assert e.sympy("A", at) == sp.Matrix([[0, -r3 / 2]])
    assert e.sympy("A_dot", at) == sp.Matrix([[-1, -sp.Rational(1, 2)]])
    assert e.sympy("M", at) == sp.Matrix([[2, sp.Rational(1, 2)], [sp.Rational(1, 2), 1]])
    assert e.sympy("h", at) == sp.Matrix([0, r3 / 2])
    assert sp.expand(e.sympy("lambda", at)[0] - (r3 / 6 * t1 - 2 * r3 / 3 * t2 - sp.Rational(1, 6))) == 0
    qdd = e.sympy("qdd", at)
    assert sp.expand(qdd[0] - (t1 / 2 + r3 / 6)) == 0 and sp.expand(qdd[1] + 2 * r3 / 3) == 0
    assert e.sympy("P", at) == sp.Matrix([[1, 0], [sp.Rational(1, 4), 0]])
    assert e.sympy("P_qdd", at) == sp.Matrix([[1, sp.Rational(1, 4)], [0, 0]])


def test_symbols_with_all_parameters_agree_with_numbers():
    """λ and q̈ with lengths and masses as symbols, numbers put in at the end; the laws of P as identities."""
    s = in_channel()
    e = s.equations()
    given = {"l1": 1, "l2": 1, "r1": 1, "r2": 1, "m1": 1, "m2": 1, "tau1": 0.3, "tau2": -0.7}
    at = {**given, "q1": Q[0], "q2": Q[1], "qd1": 1.0, "qd2": 0.0}
    qdd, force = s.forward_dynamics(Q, QD, [0.3, -0.7])
    np.testing.assert_allclose(np.array(e.sympy("qdd", at), float).ravel(), qdd, atol=1e-12)
    np.testing.assert_allclose(np.array(e.sympy("lambda", at), float).ravel(), force, atol=1e-12)
    det, A = e.denominator, e.terms.A
    P_qdd = e.numerator("P_qdd")
    ring = e.robot.ring
    for row in A:  # A P_q̈ = 0, as polynomials
        for j in range(2):
            assert not ring.scalar(sum((row[i] * P_qdd[i][j] for i in range(2)), 0.0))
    twice = [[sum((P_qdd[i][k] * P_qdd[k][j] for k in range(2)), 0.0) for j in range(2)] for i in range(2)]
    assert all(not ring.scalar(twice[i][j] - det * P_qdd[i][j]) for i in range(2) for j in range(2))


# ------------------------------------------------------------------------------------------------------------- laws
def test_one_table_of_kinds():
    assert set(relations.RELATIONS) == set(LOOP_KINDS)


@pytest.mark.parametrize("kind", relations.RELATIONS)
@pytest.mark.parametrize("to", ["world", "link"])
def test_terms_are_the_derivatives(kind, to):
    """A = ∂φ/∂q and the drift d/dt(A) q̇, by differences, for every kind, at open and oblique states."""
    rng = np.random.default_rng(3)
    robot = dl.Robot(random_tree(3, 6, chain=True))
    frames = [f.name for f in robot.model.frames if f.body == 5]
    first = next(f.name for f in robot.model.frames if f.body == 1) if to == "link" else None
    length = 0.8 if kind == "distance" else None
    turned = dl.pose(xyz=(0.1, 0.2, -0.3), rpy=(0.4, -0.5, 0.6))
    s = Constrained(robot, hold(kind, frames[0], first, at=turned, point=(0.2, 0, 0.1), axis=(1, 2, -1), length=length))
    q, qd = rng.uniform(-1, 1, (2, robot.n))
    h = 1e-5
    A = s.jacobian(q)
    steps = h * np.eye(robot.n)
    np.testing.assert_allclose(A, ((s.residual(q + steps) - s.residual(q - steps)) / (2 * h)).T, atol=1e-8)
    A_dot = (s.jacobian(q + h * qd) - s.jacobian(q - h * qd)) / (2 * h)
    np.testing.assert_allclose(s.drift(q, qd), A_dot @ qd, atol=1e-8)
    np.testing.assert_allclose(s.jacobian_dot(q, qd), A_dot, atol=1e-8)


def circle(q, T):
    """The tip on a circle of radius 0.5 about (0.4, 0) in the x–z plane, and at y = 0."""
    x, y, z = T.p
    return [(x - 0.4) * (x - 0.4) + z * z - 0.25, y]


def test_a_function_of_ones_own():
    """Holonomic functions of q and poses: the same derivatives, through the compiler."""
    panda = dl.load("panda")
    s = Constrained(panda, holonomic(circle, frames=[None], name="circle"))
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(-1, 1, (2, panda.n))
    T = panda.fk(q)
    np.testing.assert_allclose(s.residual(q), [(T[0, 3] - 0.4) ** 2 + T[2, 3] ** 2 - 0.25, T[1, 3]], atol=1e-15)
    J = panda.jacobian(q)
    row = 2 * (T[0, 3] - 0.4) * J[0] + 2 * T[2, 3] * J[2]
    np.testing.assert_allclose(s.jacobian(q), [row, J[1]], atol=1e-14)
    np.testing.assert_allclose(s.drift(q, qd), s.jacobian_dot(q, qd) @ qd, atol=1e-12)
    assert s.rows == ("circle: 0", "circle: 1")


def test_a_geometric_relation_is_its_function():
    """A plane written as a function gives the same motion as the plane of the table."""
    arm = dl.load("ur5e")
    q = np.array([0.3, -1.1, 1.4, 0.2, 0.5, -0.7])
    p, normal = arm.fk(q)[:3, 3], np.array([0.6, 0.0, 0.8])
    built = Constrained(arm, plane(p, normal))

    def across(q, T):
        return sum(n * (x - y) for n, x, y in zip(normal, T.p, p, strict=True))

    own = Constrained(arm, holonomic(across, frames=[None]))
    _, qd = built.project(q, np.ones(6))
    tau = np.arange(6.0)
    for a, b in zip(built.forward_dynamics(q, qd, tau), own.forward_dynamics(q, qd, tau), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * np.abs(a).max())


def rolling(q):
    """A knife edge at (x, y) under the angle θ: no motion sideways, ẋ sin θ − ẏ cos θ = 0."""
    from dalembert import scalar

    return [scalar.sin(q[2]), -scalar.cos(q[2]), 0.0]


def skate() -> dl.Robot:
    """A body free in the plane: two slides and a turn, its mass center on the edge."""
    body = dl.describe.Inertial(2.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.3))
    axes = [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    return dl.Robot.from_screws(axes, np.eye(4), inertials=[None, None, body], gravity=(0, 0, 0), name="skate")


def test_knife_edge():
    """Nonholonomic: with constant spin and speed the skate runs in a circle of radius v/ω, force m v ω to the side."""
    s = Constrained(skate(), pfaffian(rolling, name="edge"))
    assert not s.holonomic
    v, w = 1.5, 2.0
    theta = 0.7
    q, qd = np.array([0.2, -0.3, theta]), np.array([v * math.cos(theta), v * math.sin(theta), w])
    qdd, force = s.forward_dynamics(q, qd, np.zeros(3))
    np.testing.assert_allclose(qdd, [-v * w * math.sin(theta), v * w * math.cos(theta), 0], atol=1e-13)
    np.testing.assert_allclose(np.abs(force), [2.0 * v * w], rtol=1e-13)
    assert s.residual(q) == [0.0]


SYSTEMS = {
    "plane": lambda: Constrained(dl.load("panda"), plane((0, 0, 0.4), (0.3, 0.1, 1))),
    "channel": lambda: Constrained(dl.load("ur5e"), channel((0.3, 0.1, 0.4), (0, 1, 0))),
    "hinge": lambda: Constrained(dl.load("panda"), hold("hinge", at=dl.pose(xyz=(0.4, 0, 0.5), rpy=(3, 0, 0)))),
    "coupled": lambda: Constrained(dl.load("scara"), couple({"joint1": 1.0, "joint2": -2.0}, 0.3)),
    "four-bar": lambda: Constrained(dl.load("four-bar")),
    "five-bar": lambda: Constrained(dl.load("five-bar")),
    "parallelogram-arm": lambda: Constrained(dl.load("parallelogram-arm")),
    "delta": lambda: Constrained(dl.load("delta")),
    "stewart": lambda: Constrained(dl.load("stewart")),
    "two": lambda: Constrained(
        dl.load("iiwa7"), [plane((0, 0, 0.6), (0, 0, 1)), couple({"iiwa_joint_1": 1.0}, 0.2, name="locked")]
    ),
}


@pytest.fixture(scope="module", params=SYSTEMS)
def moving(request):
    """A system with a state on its constraints and torques."""
    s = SYSTEMS[request.param]()
    rng = np.random.default_rng(7)
    start = s.robot.home if s.robot.loops else s.robot.random_configuration(seed=rng) * 0.5
    q = s.close(start + rng.uniform(-0.05, 0.05, s.n)).q
    q, qd = s.project(q, rng.uniform(-0.5, 0.5, s.n), steps=2)
    return s, q, qd, rng.uniform(-3, 3, s.n)


def test_equations_of_motion(moving):
    """τ = M q̈ + h + Aᵀλ and A q̈ + Ȧ q̇ = 0; the constraints do no work; inverse dynamics gives the torques back."""
    s, q, qd, tau = moving
    qdd, force = s.forward_dynamics(q, qd, tau)
    robot = s.robot.tree()
    A = s.jacobian(q)
    whole = robot.mass_matrix(q) @ qdd + robot.bias_torque(q, qd) + A.T @ force
    size = 1 + np.abs(robot.mass_matrix(q) @ qdd).max() + np.abs(force).max()
    np.testing.assert_allclose(whole, tau, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(A @ qdd, -s.drift(q, qd), rtol=0, atol=1e-9 * (1 + np.abs(qdd).max()))
    assert abs(force @ A @ qd) < 1e-10 * (1 + np.abs(force).max())
    np.testing.assert_allclose(s.inverse_dynamics(q, qd, qdd, force), tau, rtol=0, atol=1e-11 * size)


def test_projections(moving):
    """P² = P, PAᵀ = 0, rank n − rank A; P τ moves, (I − P) τ does not; P_q̈ = M⁻¹PM keeps A q̈ = 0."""
    s, q, qd, tau = moving
    P, P_qdd, A, M = s.projection(q), s.acceleration_projection(q), s.jacobian(q), s.robot.mass_matrix(q)
    size = np.abs(P).max()
    np.testing.assert_allclose(P @ P, P, rtol=0, atol=1e-9 * size**2)
    np.testing.assert_allclose(P @ A.T, 0, atol=1e-9 * size)
    np.testing.assert_allclose(A @ P_qdd, 0, atol=1e-9 * np.abs(P_qdd).max())
    np.testing.assert_allclose(M @ P_qdd, P @ M, rtol=0, atol=1e-9 * size * np.abs(M).max())
    assert np.linalg.matrix_rank(P, tol=1e-6) == s.freedoms(q) == s.n - s.rank(q)
    a = s.forward_dynamics(q, qd, tau)
    b = s.forward_dynamics(q, qd, P @ tau)
    np.testing.assert_allclose(a.qdd, b.qdd, rtol=0, atol=1e-8 * (1 + np.abs(a.qdd).max()))
    h = s.robot.bias_torque(q, qd)
    np.testing.assert_allclose(
        P @ tau, P @ (M @ a.qdd + h), rtol=0, atol=1e-9 * size * (1 + np.abs(tau).max() + np.abs(h).max())
    )


def test_power_of_the_torques_is_the_growth_of_energy(moving):
    """q̇ᵀτ = Ḣ, by a difference of H = K + P along the motion: the constraints give and take nothing."""
    s, q, qd, tau = moving
    qdd = s.forward_dynamics(q, qd, tau).qdd
    robot, h = s.robot, 1e-5

    def H(t):
        state = q + t * qd + 0.5 * t * t * qdd, qd + t * qdd
        return robot.kinetic_energy(*state) + robot.potential_energy(state[0])

    assert abs((H(h) - H(-h)) / (2 * h) - qd @ tau) < 1e-6 * (1 + np.abs(tau).max() * np.abs(qd).max())


def test_wrench_of_a_constraint_does_what_its_rows_do(moving):
    """Jᵀ F = −Aᵀ λ for each relation that holds a frame to the world: F acts on the robot."""
    s, q, qd, tau = moving
    force = s.forward_dynamics(q, qd, tau).multipliers
    for c in s.constraints:
        if getattr(c, "to", "no") is None:
            F = s.constraint_wrench(q, force, c.name)
            rows = [k for k, name in enumerate(s.rows) if name.startswith(f"{c.name}:")]
            wanted = -s.jacobian(q)[rows].T @ force[rows]
            np.testing.assert_allclose(s.robot.jacobian(q).T @ F, wanted, atol=1e-11 * (1 + np.abs(F).max()))


def test_wrench_at_the_tip_is_the_one_that_the_rows_mean(moving):
    """−A_xᵀ λ of what holds the tip to the world, however many joints there are; J_fᵀ F = −Aᵀ λ at any frame where the
    joints feel one wrench only."""
    s, q, qd, tau = moving
    force = s.forward_dynamics(q, qd, tau).multipliers
    if all(getattr(c, "to", "no") is None for c in s.constraints):
        F = sum(s.constraint_wrench(q, force, c.name) for c in s.constraints)
        np.testing.assert_allclose(s.tip_wrench(q, force), F, atol=1e-11 * (1 + np.abs(F).max()))
        many = s.tip_wrench([q, q], force)
        np.testing.assert_array_equal(many[0], many[1])


def test_wrench_at_the_tip_of_a_stretched_or_short_arm():
    """Where J is singular, or has fewer columns than rows, A_xᵀ λ is known all the same."""
    arm = dl.load("planar-3r")
    tip = arm.fk([0.2, 0.0, 0.0])[:3, 3]
    s = Constrained(arm, plane(tip, (0, 1, 0)))
    np.testing.assert_allclose(s.tip_wrench([0.2, 0, 0], [3.0]), [0, -3, 0, 0, 0, 0], atol=1e-14)

    def height(q, tool):
        return tool.p[1] - tip[1] + 0.5 * (tool.R[1][0] - np.sin(0.2))  # a point half a meter ahead of the tip

    s = Constrained(arm, holonomic(height, frames=[None]))
    wanted = [0, -3, 0, 0, 0, -1.5 * np.cos(0.2)]
    np.testing.assert_allclose(s.tip_wrench([0.2, 0, 0], [3.0]), wanted, atol=1e-14)
    with raises(dl.SingularityError, "infeasible frame"):
        s.tip_wrench([0.2, 0.3, 0.5], [3.0], rows=("vx", "vy"))  # the moment would be lost
    base = Constrained(arm, couple({"joint1": 1.0}))
    F = base.tip_wrench([0.2, 0.3, 0.5], [2.0])
    np.testing.assert_allclose(arm.jacobian([0.2, 0.3, 0.5]).T @ F, [-2, 0, 0], atol=1e-13)


def test_wrench_at_a_frame_that_is_first_in_its_relation():
    """The base held to a plane of the tool: on the tool acts the opposite of what acts on the base, at its own
    origin."""
    arm = dl.load("planar-2r")
    q, lam = [0.3, 0.9], [2.0]
    s = Constrained(arm, hold("plane", frame=arm.model.frames[0].name, to=arm.tip, axis=(0, 1, 0)))
    f, n = np.split(s.constraint_wrench(q, lam), 2)
    F = s.tip_wrench(q, lam)
    np.testing.assert_allclose(F, np.r_[-f, -n + np.cross(arm.fk(q)[:3, 3], f)], atol=1e-14)
    np.testing.assert_allclose(arm.jacobian(q).T @ F, -s.jacobian(q).T @ lam, atol=1e-14)


def test_batches_and_single_states_have_the_same_bits(moving):
    s, q, qd, tau = moving
    qs, qds = (np.stack([q] * 9).reshape(3, 3, -1), np.stack([qd] * 9).reshape(3, 3, -1))
    one, many = s.forward_dynamics(q, qd, tau), s.forward_dynamics(qs, qds, tau)
    assert many.qdd.shape == (3, 3, s.n) and many.multipliers.shape == (3, 3, s.k)
    assert (many.qdd == one.qdd).all() and (many.multipliers == one.multipliers).all()


def test_a_constraint_that_changes_nothing_is_unconstrained_dynamics():
    """λ follows the load: a plane across which nothing pushes carries no force."""
    arm = dl.load("planar-2r")
    s = Constrained(arm, plane((0, 0, 0), (0, 0, 1)))  # the arm moves in that plane anyway
    q, qd, tau = np.array([0.3, 0.8]), np.array([0.5, -1.0]), np.array([1.0, 2.0])
    qdd, force = s.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(qdd, arm.forward_dynamics(q, qd, tau), rtol=1e-13)
    assert force == [0.0] and s.redundant(q) == ("plane: along",) and s.freedoms(q) == 2


def test_forces_friction_and_tips():
    """Wrenches and friction enter as in the robot's own dynamics."""
    arm = dl.load("ur5e")
    q = np.array([0.3, -1.1, 1.4, 0.2, 0.5, -0.7])
    s = Constrained(arm, plane(arm.fk(q)[:3, 3], (0, 0, 1)))
    _, qd = s.project(q, np.ones(6))
    tau, F = np.arange(6.0), np.array([1.0, -2.0, 3.0, 0.1, 0.2, 0.3])
    loaded = s.forward_dynamics(q, qd, tau, wrenches={arm.tip: F}, friction=True)
    by_hand = tau + arm.jacobian(q).T @ F - arm.friction_torque(q, qd)
    plain = s.forward_dynamics(q, qd, by_hand)
    np.testing.assert_allclose(loaded.qdd, plain.qdd, atol=1e-9)
    back = s.inverse_dynamics(q, qd, loaded.qdd, loaded.multipliers, wrenches={arm.tip: F}, friction=True)
    np.testing.assert_allclose(back, tau, atol=1e-10)
    elbow = arm.frames[3]
    wrenches = {elbow: 2 * F, arm.tip: -F}
    pushed = s.forward_dynamics(q, qd, tau, wrenches=wrenches)
    by_hand = tau + arm.jacobian(q, elbow).T @ (2 * F) - arm.jacobian(q).T @ F
    np.testing.assert_allclose(pushed.qdd, s.forward_dynamics(q, qd, by_hand).qdd, atol=1e-9)
    again = s.inverse_dynamics(q, qd, pushed.qdd, pushed.multipliers, wrenches=wrenches)
    np.testing.assert_allclose(again, tau, atol=1e-10)


def test_baumgarte_is_the_error_dynamics():
    """φ̈ = −2α φ̇ − β² φ off the constraint."""
    s = in_channel()
    q, qd = Q + np.array([0.01, -0.02]), QD + np.array([0.1, 0.3])
    qdd, _ = s.forward_dynamics(q, qd, [1, 2], alpha=3.0, beta=4.0, tolerance=None)
    rate = s.jacobian(q) @ qd
    np.testing.assert_allclose(s.jacobian(q) @ qdd + s.drift(q, qd), -6.0 * rate - 16.0 * s.residual(q), atol=1e-12)


# -------------------------------------------------------------------------------------------- redundant and bad input
def test_redundant_rows_are_named_and_change_nothing():
    s = Constrained(point_arm(), [channel((1, 0, 0), (0, 1, 0)), plane((1, 0, 0), (1, 0, 0))])
    assert s.redundant(Q) == ("channel: aside 1", "plane: along") and s.rank(Q) == 1
    a, b = s.forward_dynamics(Q, QD, [1, 2]), in_channel().forward_dynamics(Q, QD, [1, 2])
    np.testing.assert_allclose(a.qdd, b.qdd, atol=1e-13)
    np.testing.assert_allclose(a.multipliers, [0, b.multipliers[0], 0], atol=1e-13)


def test_contradictory_constraints_are_named():
    s = Constrained(point_arm(), [plane((1, 0, 0), (1, 0, 0)), plane((1.2, 0, 0), (1, 0, 0))])
    with raises(dl.InputError, "wrong-value q"):
        s.forward_dynamics(Q, QD, [0, 0])
    with raises(dl.InputError, "infeasible q"):
        s.close(Q)


def test_rates_that_break_a_constraint_are_named():
    s = in_channel()
    with raises(dl.InputError, "wrong-value qd"):
        s.forward_dynamics(Q, [0.0, 1.0], [0, 0])
    with raises(dl.InputError, "wrong-value qd"):
        s.forward_dynamics(Q, [[1.0, 0.0], [0.0, 1.0]], [0, 0])
    with raises(dl.InputError, "wrong-value qdd"):
        s.inverse_dynamics(Q, QD, [0.0, 0.0])


def test_singular_states_are_refused():
    """A stretched arm whose tip slides across: both rows depend on each other there but ask for different things."""
    arm = point_arm()
    s = Constrained(arm, [plane((2, 0, 0), (1, 0, 0)), couple({"joint1": 1.0, "joint2": 0.5}, 0.0)])
    with raises(dl.SingularityError, "singular q"):
        s.forward_dynamics([0.0, 0.0], [1.0, -2.0], [0, 0])


def test_massless_joints_are_refused():
    arm = dl.Robot.from_dh([{"a": 1.0}, {"a": 1.0}], name="weightless")
    with pytest.raises(dl.SingularityError, match="mass matrix is singular"):
        Constrained(arm, plane((1, 0, 0), (1, 0, 0))).forward_dynamics(Q, QD, [0, 0])


def test_nan_gives_nan_in_that_state_alone():
    s = in_channel()
    q = np.stack([Q, [np.nan, 0.0], Q])
    qdd, force = s.forward_dynamics(q, QD, [0, 0])
    assert np.isnan(qdd[1]).all() and np.isnan(force[1]).all()
    assert np.isfinite(qdd[[0, 2]]).all()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Constrained(point_arm()), "missing constraints"),
        (lambda: Constrained(point_arm(), ["plane"]), "wrong-type constraints"),
        (lambda: hold("wled"), "unknown-name"),
        (lambda: hold("distance"), "conflict length"),
        (lambda: hold("ball", length=1.0), "conflict length"),
        (lambda: hold("plane", axis=(0, 0, 0)), "out-of-range axis"),
        (lambda: hold("weld", at=np.eye(3)), "wrong-shape at"),
        (lambda: hold("weld", at=2 * np.eye(4)), "wrong-value at"),
        (lambda: Constrained(point_arm(), hold("ball", "tol")), "unknown-name"),
        (lambda: Constrained(point_arm(), hold("ball", to=point_arm().tip)), "conflict frame"),
        (lambda: couple({}), "missing factors"),
        (lambda: couple({"joint1": math.nan}), "not-finite factors"),
        (lambda: Constrained(point_arm(), couple({"joint3": 1.0})), "unknown-name"),
        (lambda: Constrained(point_arm(), pfaffian(lambda q: [1.0])), "wrong-shape function"),
        (lambda: Constrained(point_arm(), holonomic(lambda q: q[7])), "failed function"),
        (lambda: Constrained(point_arm(), holonomic(lambda q: [])), "wrong-shape function"),
        (lambda: in_channel().forward_dynamics(Q, QD, [1]), "wrong-shape tau"),
        (lambda: in_channel().inverse_dynamics(Q, QD, QD, [1, 2]), "wrong-shape multipliers"),
        (lambda: in_channel().forward_dynamics(Q, QD, QD, alpha=-1), "out-of-range alpha"),
        (lambda: in_channel().forward_dynamics(Q, QD, QD, wrenches={"tol0": np.zeros(6)}), "unknown-name"),
        (lambda: in_channel().kernel("foward_dynamics"), "unknown-name"),
        (lambda: in_channel().flow(stabilize="baumgart"), "unknown-name"),
        (lambda: in_channel().close(Q, fixed=["joint1", "joint3"]), "unknown-name"),
        (lambda: in_channel().close([np.nan, 0]), "not-finite q"),
        (lambda: in_channel().equations().sympy("lamda"), "unknown-name"),
    ],
)
def test_bad_input_is_named(make, text):
    with raises(dl.DalembertError, text):
        make()
