"""[Poonawala], kinematics and dynamics: its equations (1) to (57) and the formulas between them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.lagrange import RigidBody, rate as symbol_of_rate
from notes.derive import (
    I1,
    I2,
    A,
    Q,
    V,
    abstract,
    c1,
    c2,
    c12,
    central,
    confirm,
    dh,
    differ,
    g,
    l1,
    l2,
    lc1,
    lc2,
    m1,
    m2,
    misprint,
    plain,
    points,
    pose,
    q1,
    q2,
    qd,
    qdd,
    rate,
    rigid,
    rot,
    s1,
    s2,
    s12,
    same,
    second_derivatives,
    skew,
    state,
    v1,
    v2,
    vee,
)

q3, v3 = sp.symbols("q3 v3", real=True)
h = -m2 * l1 * lc2 * s2  # the abbreviation of section 5.1


def mixed_chain():
    """Frames 0 to 3 of a DH chain R, P, R with skew axes, its coordinates and velocities."""
    links = [dh(q1, 2, 1, sp.pi / 3), dh(sp.pi / 4, q2, 3, sp.pi / 2), dh(q3, 1, 2, sp.pi / 6)]
    frames = [sp.eye(4)]
    for link in links:
        frames.append(frames[-1] * link)
    return links, frames, [q1, q2, q3], [v1, v2, v3]


# ------------------------------------------------------------------------------------------- 1 chains
def test_poonawala_eq_01_link_transform():
    """A_i = [R o; 0 1] carries coordinates of frame i to frame i − 1."""
    x = sp.Matrix(sp.symbols("x y z"))
    R, o = rot("z", q1) * rot("x", q2), sp.Matrix(sp.symbols("o1:4"))
    confirm(pose(R, o) * sp.Matrix([*x, 1]), sp.Matrix([*(R * x + o), 1]))


def test_poonawala_eq_02_transform_between_links():
    """T_j^i for i > j is the inverse of T_i^j, not of itself; the cases i < j and i = j are right."""
    links, frames, *_ = mixed_chain()
    point = {q1: 0.3, q2: 0.7, q3: 0.2}
    A2, A3 = (np.array(link.subs(point), float) for link in links[1:])
    F = [np.array(frame.subs(point), float) for frame in frames]
    seen = lambda i, j: np.linalg.solve(F[i], F[j])  # noqa: E731  frame j in frame i, by definition
    assert np.allclose(seen(1, 3), A2 @ A3, atol=1e-12)
    assert np.allclose(seen(2, 2), np.eye(4), atol=1e-12)
    assert not np.allclose(seen(3, 1), np.linalg.inv(seen(3, 1)), atol=1e-3)  # printed
    assert np.allclose(seen(3, 1), np.linalg.inv(seen(1, 3)), atol=1e-12)


def test_poonawala_eq_03_dh_transform():
    """Rot_z Trans_z Trans_x Rot_x satisfies DH1 (x₁ meets z₀) and DH2 (x₁ ⊥ z₀), and every such frame is one."""
    theta, d, a, alpha = sp.symbols("theta d a alpha", real=True)
    T = pose(rot("z", theta)) * pose(p=(0, 0, d)) * pose(p=(a, 0, 0)) * pose(rot("x", alpha))
    x1, z0, o1 = T[:3, 0], sp.Matrix([0, 0, 1]), T[:3, 3]
    confirm(x1.dot(z0), 0)
    confirm(o1 - a * x1, d * z0)  # the line through o₁ along x₁ passes z₀
    beta = sp.Symbol("beta", real=True)
    generic = rot("z", theta) * rot("y", beta) * rot("x", alpha)  # any rotation; DH2 leaves β = 0
    confirm(generic[2, 0], -sp.sin(beta))
    confirm(generic.subs(beta, 0), T[:3, :3])


# ---------------------------------------------------------------------------------------- 2 Jacobians
def test_poonawala_eq_04_velocity_of_a_frame():
    """v = ȯ and S(ω) = Ṙ Rᵀ: with them every point of the body moves with v + ω × r."""
    _, frames, q, v = mixed_chain()
    R, o = frames[3][:3, :3], frames[3][:3, 3]
    omega = rate(R, q, v) * R.T
    confirm(omega + omega.T, sp.zeros(3))
    p = sp.Matrix([1, 2, 3])
    confirm(rate(o + R * p, q, v), rate(o, q, v) + vee(omega).cross(R * p))


def test_poonawala_eq_05_to_07_geometric_jacobian():
    """Columns z (P) and z × (o_n − o) (R) for J_v, 0 (P) and z (R) for J_ω, against the frame's velocity."""
    _, frames, q, v = mixed_chain()
    z, o = [T[:3, 2] for T in frames], [T[:3, 3] for T in frames]
    J_v = sp.Matrix.hstack(z[0].cross(o[3] - o[0]), z[1], z[2].cross(o[3] - o[2]))
    J_w = sp.Matrix.hstack(z[0], sp.zeros(3, 1), z[2])
    R = frames[3][:3, :3]
    confirm(J_v * sp.Matrix(v), rate(o[3], q, v))
    confirm(skew(J_w * sp.Matrix(v)), rate(R, q, v) * R.T)


def euler_rates(order):
    """B(α) with ω = B α̇ for R = R_z(first) R_y(θ) R_z(last), columns in the order φ, θ, ψ."""
    phi, theta, psi, *dots = sp.symbols("phi theta psi dphi dtheta dpsi", real=True)
    outer, inner = (psi, phi) if order == "printed" else (phi, psi)
    R = rot("z", outer) * rot("y", theta) * rot("z", inner)
    omega = vee(rate(R, [phi, theta, psi], dots) * R.T).applyfunc(plain)
    return omega.jacobian(dots), R, (phi, theta, psi), dots


def test_poonawala_section_2_2_euler_rates():
    """ω = B(α) α̇ for either order of the letters, and det B = 0 only at sin θ = 0."""
    for order in ("printed", "usual"):
        B, R, angles, dots = euler_rates(order)
        omega = rate(R, angles, dots) * R.T
        confirm(skew(B * sp.Matrix(dots)), omega)
        confirm(B.det() ** 2, sp.sin(angles[1]) ** 2)
    assert differ(euler_rates("printed")[0], euler_rates("usual")[0])  # a habit of letters, see docs/notes/poonawala.md


def test_poonawala_eq_08_09_analytic_jacobian():
    """J_a is the derivative of (d, α) by q: differences of the Euler angles read off R."""
    arm, (q, w, _) = dl.load("puma560"), state(6, 3)

    def X(q):
        T = arm.fk(q)
        alpha = [np.arctan2(T[1, 2], T[0, 2]), np.arccos(T[2, 2]), np.arctan2(T[2, 1], -T[2, 0])]
        return np.r_[T[:3, 3], alpha]

    assert np.allclose(arm.analytic_jacobian(q) @ w, central(X, q, w), atol=1e-8)


def test_poonawala_eq_10_velocities_not_accelerations():
    """J q̇ is (v, ω); the dots on v and ω as printed would make it an acceleration."""
    _, frames, q, v = mixed_chain()
    velocity = rate(frames[3][:3, 3], q, v)
    J = frames[3][:3, 3].jacobian(q)
    misprint(rate(velocity, q, v), velocity, J * sp.Matrix(v))


def test_poonawala_eq_11_analytic_from_geometric():
    """J_a = diag(I, B⁻¹) J."""
    arm, (q, *_) = dl.load("puma560"), state(6, 3)
    B, _, angles, _ = euler_rates("usual")
    T = arm.fk(q)
    alpha = [np.arctan2(T[1, 2], T[0, 2]), np.arccos(T[2, 2]), np.arctan2(T[2, 1], -T[2, 0])]
    number = np.array(B.subs(dict(zip(angles, alpha, strict=True))).evalf(), float)
    block = np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), np.linalg.inv(number)]])
    assert np.allclose(arm.analytic_jacobian(q), block @ arm.jacobian(q), atol=1e-10)


def test_poonawala_section_2_3_rank():
    """The rank is at most min(6, n), not equal to it: four parallel axes have rank 3 wherever they stand."""
    arm = dl.Robot.from_dh([{"a": 1.0}, {"a": 0.8}, {"a": 0.6}, {"a": 0.4}])
    ranks = {int(np.linalg.matrix_rank(arm.jacobian(state(4, seed)[0]))) for seed in range(20)}
    assert ranks == {3} and min(6, arm.n) == 4


def test_poonawala_section_2_3_ill_conditioned_near_a_singularity():
    """The condition number of J grows without bound as θ₂ → 0."""
    arm = dl.load("planar-2r")
    numbers = [np.linalg.cond(arm.jacobian([0.3, angle])[:2]) for angle in (1e-1, 1e-3, 1e-5)]
    assert numbers[1] > 50 * numbers[0] and numbers[2] > 50 * numbers[1]


def wrist_arm():
    """An elbow arm with a wrist whose three axes meet in o₃ = o₄ = o₅ = o₆."""
    quarter = np.pi / 2
    rows = [
        {"d": 0.4, "alpha": quarter},
        {"a": 0.5},
        {"a": 0.4, "alpha": quarter},
        {"alpha": -quarter},
        {"alpha": quarter},
        {},
    ]
    return dl.Robot.from_dh(rows)


def test_poonawala_eq_13_blocks_of_the_jacobian():
    """The upper right block is 0 and the lower left is not: block triangular, and that block is J₂₁, not J₁₂."""
    J = wrist_arm().jacobian(state(6, 1)[0])
    assert np.allclose(J[:3, 3:], 0, atol=1e-14)
    assert np.abs(J[3:, :3]).max() > 0.5  # "block diagonal" it is not
    wrong = np.block([[J[:3, :3], J[3:, :3]], [np.zeros((3, 3)), J[3:, 3:]]])  # where an index 12 would put it
    assert not np.allclose(J, wrong, atol=1e-3)


def test_poonawala_eq_14_determinant_of_the_blocks():
    """det J = det J₁₁ det J₂₂."""
    for seed in range(5):
        J = wrist_arm().jacobian(state(6, seed)[0])
        product = np.linalg.det(J[:3, :3]) * np.linalg.det(J[3:, 3:])
        assert np.isclose(np.linalg.det(J), product, rtol=1e-10, atol=1e-14)


def test_poonawala_eq_15_articulated_arm():
    """±a₂ a₃ s₃ (a₂ c₂ + a₃ c₂₃): plus for α₁ = −π/2, minus for the usual α₁ = +π/2."""
    a_2, a_3, d_1 = sp.symbols("a2 a3 d1", positive=True)
    printed = a_2 * a_3 * sp.sin(q3) * (a_2 * c2 + a_3 * sp.cos(q2 + q3))

    def det(alpha):
        T = dh(q1, d_1, 0, alpha) * dh(q2, 0, a_2, 0) * dh(q3, 0, a_3, 0)
        return T[:3, 3].jacobian([q1, q2, q3]).det()

    confirm(printed, det(-sp.pi / 2))
    misprint(printed, -printed, det(sp.pi / 2))


# ------------------------------------------------------------------- 2.5, 2.6 inverse velocity, manipulability
def test_poonawala_section_2_5_pseudo_inverse():
    """J⁺ = Jᵀ(JJᵀ)⁻¹ is a right inverse, (I − J⁺J) b is not felt at the tip, and b = 0 is the shortest q̇."""
    arm = dl.load("panda")
    J, rng = arm.jacobian(state(7, 2)[0]), np.random.default_rng(4)
    plus = J.T @ np.linalg.inv(J @ J.T)
    xi, b = rng.normal(size=6), rng.normal(size=(50, 7))
    assert np.allclose(J @ plus, np.eye(6), atol=1e-9)
    rates = plus @ xi + b @ (np.eye(7) - plus @ J).T
    assert np.allclose(rates @ J.T, xi, atol=1e-9)
    assert np.linalg.norm(plus @ xi) < np.linalg.norm(rates, axis=1).min()


def test_poonawala_eq_16_elbow_jacobian():
    """The Jacobian of the planar elbow arm, by differentiating the tip's position."""
    printed = sp.Matrix([[-l1 * s1 - l2 * s12, -l2 * s12], [l1 * c1 + l2 * c12, l2 * c12]])
    confirm(printed, points().J[:2, :])


def test_poonawala_eq_16_22_manipulability():
    """det J = a₁ a₂ s₂, so μ = a₁ a₂ |s₂|."""
    confirm(points().matrix([[points().equations.det_jacobian()]])[0], l1 * l2 * s2)
    arm, angles = dl.load("planar-2r"), np.linspace(-3, 3, 13)
    q = np.stack([0 * angles, angles], axis=-1)
    assert np.allclose(arm.manipulability(q), np.abs(np.sin(angles)), atol=1e-12)


def test_poonawala_eq_17_norm_of_the_rates():
    """‖q̇‖² = ξᵀ (JJᵀ)⁻¹ ξ for q̇ = J⁺ξ."""
    J, xi, rates, *_ = singular()
    assert np.isclose(rates @ rates, xi @ np.linalg.solve(J @ J.T, xi), rtol=1e-10)


def singular():
    """J of a redundant arm, a twist, the library's joint rates for it, and U, Σ, Vᵀ."""
    arm, q = dl.load("panda"), state(7, 2)[0]
    J, xi = arm.jacobian(q), np.random.default_rng(6).normal(size=6)
    U, sigma, Vt = np.linalg.svd(J)
    return J, xi, arm.inverse_velocity(q, xi).qd, U, sigma, Vt, arm.manipulability(q)


def test_poonawala_eq_18_19_singular_values():
    """ξᵀ(JJᵀ)⁻¹ξ = (Uᵀξ)ᵀ Σ⁻² (Uᵀξ) with Σ⁻² = diag(σ_i⁻²)."""
    _, xi, rates, U, sigma, *_ = singular()
    w = U.T @ xi
    assert np.isclose(rates @ rates, w @ np.diag(sigma**-2.0) @ w, rtol=1e-10)


def test_poonawala_section_2_6_last_factor_of_the_svd():
    """J = U Σ Vᵀ if V holds the right singular vectors as columns; J = U Σ V only if as rows."""
    _, xi, rates, U, sigma, Vt, _ = singular()
    S = np.zeros((6, 7))
    np.fill_diagonal(S, sigma)
    assert np.allclose(U @ S @ Vt @ rates, xi, atol=1e-10)
    assert not np.allclose(U @ S @ Vt.T @ rates, xi, atol=1e-3)


def test_poonawala_eq_20_sum_over_the_axes():
    """‖q̇‖² = wᵀ Σ⁻² w = Σ w_i²/σ_i²; with σ₁⁻² in place of Σ⁻², as printed, it is not."""
    _, xi, rates, U, sigma, *_ = singular()
    w = U.T @ xi
    assert np.isclose(rates @ rates, (w**2 / sigma**2).sum(), rtol=1e-10)
    assert np.isclose(rates @ rates, w @ np.diag(sigma**-2.0) @ w, rtol=1e-10)
    assert not np.isclose(rates @ rates, w @ w * sigma[0] ** -2, rtol=1e-2)


def test_poonawala_eq_21_product_of_singular_values():
    """μ = Π σ_i = √det(JJᵀ), and |det J| for a square J."""
    J, *_, sigma, _, mu = singular()
    assert np.isclose(mu, sigma.prod(), rtol=1e-10) and np.isclose(mu, np.sqrt(np.linalg.det(J @ J.T)), rtol=1e-10)
    assert np.isclose(dl.load("planar-2r").manipulability([0.3, 0.7]), np.sin(0.7), rtol=1e-12)  # a₁ = a₂ = 1


def test_poonawala_eq_22_elbow_jacobian_again():
    """Equation (16) printed a second time."""
    arm, q = dl.load("planar-2r"), np.array([0.4, -0.9])
    s, c, s_, c_ = np.sin(q[0]), np.cos(q[0]), np.sin(q.sum()), np.cos(q.sum())
    assert np.allclose(arm.jacobian(q)[:2], [[-s - s_, -s_], [c + c_, c_]], atol=1e-14)


# ------------------------------------------------------------------------------------------ 3 static forces
def test_poonawala_section_3_components_of_the_wrench():
    """F = (F_x, F_y, F_z, n_x, n_y, n_z): the third is F_z, not a second F_x, or JᵀF is not the torque."""
    arm, (q, *_) = dl.load("puma560"), state(6, 7)
    force, moment = np.array([3.0, -2.0, 5.0]), np.array([0.5, 1.0, -0.7])
    tau = arm.inverse_dynamics(q, 0 * q, 0 * q, wrenches={arm.tip: -np.r_[force, moment]}) - arm.gravity_torque(q)
    assert np.allclose(tau, arm.jacobian(q).T @ np.r_[force, moment], atol=1e-10)
    assert not np.allclose(tau, arm.jacobian(q).T @ np.r_[force[[0, 1, 0]], moment], atol=1e-2)


def test_poonawala_eq_23_to_25_virtual_work():
    """Fᵀ δX − τᵀ δq = (FᵀJ − τᵀ) δq vanishes for every δq exactly if τ = JᵀF."""
    F, dq = sp.Matrix(sp.symbols("F1:3")), sp.Matrix(sp.symbols("dq1:3"))
    tau = sp.Matrix(sp.symbols("tau1:3"))
    eps = sp.Symbol("epsilon")
    moved = points().tip[:2, :].subs({q1: q1 + eps * dq[0], q2: q2 + eps * dq[1]}, simultaneous=True)
    dX = moved.diff(eps).subs(eps, 0)  # from the definition of a virtual displacement
    J = points().J[:2, :]
    work = F.dot(dX) - tau.dot(dq)
    confirm(((F.T * J - tau.T) * dq)[0], work)
    confirm(work.subs(dict(zip(tau, J.T * F, strict=True))), 0)


# ------------------------------------------------------------------------------------------------ 4 dynamics
def test_poonawala_eq_26_damping_and_external_force():
    """D q̈ + C q̇ + g = τ + JᵀF_ext − B q̇, from d'Alembert's principle for two particles with a force on the tip."""
    arm, F, B = points(), sp.Matrix([*sp.symbols("F1:3"), 0]), sp.diag(*sp.symbols("b1:3"))
    down = sp.Matrix([0, -g, 0])
    acceleration = [rate(u, Q, V, A) for u in (arm.u1, arm.u2)]
    needed = (
        sp.Matrix(
            [
                sum(
                    (m * (a - down)).dot(p.diff(s))
                    for m, a, p in zip((m1, m2), acceleration, (arm.p1, arm.p2), strict=True)
                )
                - F.dot(arm.p2.diff(s))
                for s in Q
            ]
        )
        + B * qd
    )
    left = arm.M * qdd + arm.C * qd + arm.g
    confirm(left, needed + arm.J2.T * F - B * qd)


def test_poonawala_eq_27_to_34_kinetic_energy_and_inertia():
    """½ m v² + ½ ωᵀ R I Rᵀ ω with the integrals of (29) to (34), against ½∫ρ|ṙ|² of a box of uneven density."""
    x, y, z = sp.symbols("x y z")
    density = 1 + x / 2 + y * z + x * y / 3
    over = lambda f: sp.integrate(f * density, (x, 0, 1), (y, 0, 2), (z, 0, 3))  # noqa: E731
    mass = over(sp.Integer(1))
    r = sp.Matrix([x, y, z])
    center = r.applyfunc(lambda e: over(sp.expand(e)) / mass)
    X, Y, Z = r - center
    integral = lambda f: over(sp.expand(f))  # noqa: E731
    I_xy, I_xz, I_yz = -integral(X * Y), -integral(X * Z), -integral(Y * Z)
    I = sp.Matrix(
        [[integral(Y**2 + Z**2), I_xy, I_xz], [I_xy, integral(X**2 + Z**2), I_yz], [I_xz, I_yz, integral(X**2 + Y**2)]]
    )
    R = sp.Matrix([[2, -2, 1], [1, 2, 2], [-2, -1, 2]]) / 3
    assert sp.eye(3) == R * R.T and R.det() == 1
    v, w = sp.Matrix([1, -2, 3]), sp.Matrix([2, 1, -1])
    velocity = v + w.cross(R * (r - center))
    energy = integral(velocity.dot(velocity) / 2)
    t = sp.Symbol("t", real=True)  # the library's body on a path that has these velocities at t = 0
    turned = rot("z", w[2] * t) * rot("y", w[1] * t) * rot("x", w[0] * t) * R
    body = RigidBody(mass, I, list(v * t), rotation=turned)
    confirm(body.kinetic_energy([t]).subs(t, 0).subs(symbol_of_rate(t), 1), energy)
    confirm(mass * v.dot(v) / 2 + (w.T * R * I * R.T * w)[0] / 2, energy)
    wrong = I.copy()  # the products of inertia need their minus
    for i, j in ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)):
        wrong[i, j] = -I[i, j]
    assert differ(mass * v.dot(v) / 2 + (w.T * R * wrong * R.T * w)[0] / 2, energy)


def test_poonawala_eq_35_sum_without_the_half():
    """K = ½ Σ d_ij q̇_i q̇_j; the printed sum is 2K. With one inertia for all links it is not K either."""
    arm = rigid()
    double = sum(arm.M[i, j] * V[i] * V[j] for i in range(2) for j in range(2))
    misprint(double, double / 2, arm.K)
    one = arm.K.subs(I2, I1)  # an inertia without the link's index
    assert differ(one, arm.K)


def test_poonawala_eq_35_energy_by_jacobians():
    """½ Σ m J_vᵀJ_v + J_ωᵀ R I Rᵀ J_ω, the middle lines of (35)."""
    arm = rigid()
    I_1, I_2 = (sp.diag(*sp.symbols(f"X{k} Y{k}"), I) for k, I in ((1, I1), (2, I2)))
    w1, w2 = sp.Matrix([[0, 0], [0, 0], [1, 0]]), sp.Matrix([[0, 0], [0, 0], [1, 1]])
    R1, R2 = rot("z", q1), rot("z", q1 + q2)
    D = sp.zeros(2)
    for m, p, w, R, I in ((m1, arm.p1, w1, R1, I_1), (m2, arm.p2, w2, R2, I_2)):
        D += m * p.jacobian(Q).T * p.jacobian(Q) + w.T * R * I * R.T * w
    confirm((qd.T * D * qd)[0] / 2, arm.K)


def test_poonawala_eq_36_potential_energy():
    """P = Σ m g [0 0 1] c: the height is along z₀ and the center of mass counts, not the frame's origin."""
    arm, (q, *_) = dl.load("elbow-3r"), state(3)
    parts = list(arm.bodies)
    weights = {1: 5.0, 2: 4.0, 3: 2.0}  # the masses of the bundled arm
    a = [arm.fk(q, name) for name in parts]
    heights = [0.2, a[1][2, 3] + 0.25 * np.sin(q[1]), a[2][2, 3] + 0.2 * np.sin(q[1] + q[2])]
    P = sum(m * 9.81 * y for m, y in zip(weights.values(), heights, strict=True))
    assert np.isclose(arm.potential_energy(q), P, rtol=1e-12)
    assert not np.isclose(sum(m * 9.81 * T[2, 3] for m, T in zip(weights.values(), a, strict=True)), P, rtol=1e-3)


# ----------------------------------------------------------------------------------------- 5 Euler–Lagrange
def test_poonawala_eq_37_index_of_the_torque():
    """The equation of q_k has τ_k on its right, not τ_j: two equations of one system differ."""
    system = abstract(2)
    left = [
        rate(sp.diff(system.K - system.P, v), system.q, system.v, system.a) - sp.diff(system.K - system.P, q)
        for q, v in zip(system.q, system.v, strict=True)
    ]
    D, a = system.D, system.a
    for k in range(2):
        confirm(left[k].coeff(a[0]), D[k, 0])
        assert differ(left[k], left[1 - k])


@pytest.mark.parametrize("k", range(3))
def test_poonawala_eq_38_to_41_equations_of_motion(k):
    """Σ d_kj q̈_j + Σ c_ijk q̇_i q̇_j + ∂P/∂q_k for unknown functions D(q), P(q), and C with c_kj = Σ c_ijk q̇_i."""
    s = abstract(3)
    n = range(3)
    form = sum(s.D[k, j] * s.a[j] for j in n) + sp.diff(s.P, s.q[k])
    form += sum(s.symbol(i, j, k) * s.v[i] * s.v[j] for i in n for j in n)
    confirm(form, s.tau[k])
    compact = s.D * sp.Matrix(s.a) + s.C() * sp.Matrix(s.v) + sp.Matrix([sp.diff(s.P, q) for q in s.q])
    confirm(compact[k], s.tau[k])


def test_poonawala_eq_42_first_center_of_mass():
    """J_vc1 of the elbow arm."""
    confirm(sp.Matrix([[-lc1 * s1, 0], [lc1 * c1, 0], [0, 0]]), rigid().J1)


def test_poonawala_eq_43_second_center_of_mass():
    """J_vc2: the entry of row 2, column 1 has l₁ cos q₁, not l_c1 cos q₁; and the left side is v_c2."""
    top = [-l1 * s1 - lc2 * s12, -lc2 * s12]
    printed = sp.Matrix([top, [lc1 * c1 + lc2 * c12, lc2 * c12], [0, 0]])
    right = sp.Matrix([top, [l1 * c1 + lc2 * c12, lc2 * c12], [0, 0]])
    misprint(printed, right, rigid().J2)
    assert differ(rigid().u1, right * qd)  # it is not v_c1
    confirm(rigid().u2, right * qd)


def angular():
    """J_ω1 and J_ω2 from Ṙ Rᵀ."""
    out = []
    for angle in (q1, q1 + q2):
        R = rot("z", angle)
        out.append(vee(rate(R, Q, V) * R.T).jacobian(V))
    return out


def test_poonawala_eq_44_angular_jacobians():
    """J_ω1, J_ω2, and the frames' rotations R_z(q₁), R_z(q₁ + q₂)."""
    J1, J2 = angular()
    confirm(sp.Matrix([[0, 0], [0, 0], [1, 0]]), J1)
    confirm(sp.Matrix([[0, 0], [0, 0], [1, 1]]), J2)
    confirm(rot("z", q1 + q2), (dh(q1, 0, l1, 0) * dh(q2, 0, l2, 0))[:3, :3])


def test_poonawala_after_eq_44_transposes():
    """J_ωᵀ R = J_ωᵀ: the transpose on the right is missing in both printed identities."""
    for J, angle in zip(angular(), (q1, q1 + q2), strict=True):
        misprint(J, J.T, J.T * rot("z", angle))


def test_poonawala_eq_45_rotational_part():
    """J_ωᵀ R I Rᵀ J_ω = I_zz times [1 0; 0 0] and [1 1; 1 1]."""
    for J, angle, pattern in zip(angular(), (q1, q1 + q2), ([[1, 0], [0, 0]], [[1, 1], [1, 1]]), strict=True):
        X = sp.symbols("Ixx Ixy Ixz Iyy Iyz Izz")
        I = sp.Matrix([[X[0], X[1], X[2]], [X[1], X[3], X[4]], [X[2], X[4], X[5]]])
        R = rot("z", angle)
        confirm(X[5] * sp.Matrix(pattern), J.T * R * I * R.T * J)


def test_poonawala_eq_46_inertia_matrix():
    """d₁₂ has l₁ l_c2 cos q₂ once, not twice; the rest is right, and so is the sum of Jacobians."""
    arm = rigid()
    d11 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * c2) + I1 + I2
    d22 = m2 * lc2**2 + I2
    printed, right = (m2 * (lc2**2 + f * l1 * lc2 * c2) + I2 for f in (2, 1))
    misprint(sp.Matrix([[d11, printed], [printed, d22]]), sp.Matrix([[d11, right], [right, d22]]), arm.M)
    J1, J2 = arm.J1, arm.J2
    confirm(m1 * J1.T * J1 + m2 * J2.T * J2 + sp.Matrix([[I1 + I2, I2], [I2, I2]]), arm.M)


def test_poonawala_eq_47_christoffel_symbols():
    """All of them, the index of the equation last; c₂₁₂ = c₁₂₂ = 0 goes without saying."""
    G = rigid().gamma
    wanted = {"111": 0, "222": 0, "122": 0, "212": 0, "121": h, "211": h, "221": h, "112": -h}
    for name, value in wanted.items():
        i, j, k = (int(x) - 1 for x in name)
        confirm(value, G[i][j][k])


def test_poonawala_eq_48_coriolis_matrix():
    """C = [[h q̇₂, h q̇₂ + h q̇₁], [−h q̇₁, 0]]."""
    C = sp.Matrix([[h * v2, h * v2 + h * v1], [-h * v1, 0]])
    confirm(C, rigid().C)
    confirm(C * qd, rigid().c)


def test_poonawala_eq_49_potential_energy():
    """P of the elbow arm, the plane upright and y up (not the z of (36))."""
    confirm(m1 * g * lc1 * s1 + m2 * g * (l1 * s1 + lc2 * s12), rigid().P)


def test_poonawala_eq_50_51_gravity():
    """g₁ and g₂."""
    g1 = m1 * g * lc1 * c1 + m2 * g * l1 * c1 + m2 * g * lc2 * c12
    confirm([g1, m2 * g * lc2 * c12], list(rigid().g))


# -------------------------------------------------------------------------------------------- 5.2 properties
def test_poonawala_eq_52_skew_symmetry():
    """Third line: ∂d_kj/∂q_i − 2 c_ijk; without the 2, as printed, it is not n_kj. The other lines are right."""
    s = abstract(3)
    n, N = range(3), abstract(3).Ddot - 2 * abstract(3).C()
    for k, j in ((0, 1), (1, 2), (2, 2)):
        lines = {f: sum((s.d(k, j, i) - f * s.symbol(i, j, k)) * s.v[i] for i in n) for f in (1, 2)}
        misprint(lines[1], lines[2], N[k, j])
        confirm(sum((s.d(i, j, k) - s.d(k, i, j)) * s.v[i] for i in n), N[k, j])


def test_poonawala_eq_53_transposed_entry():
    """n_jk needs the sum over i that (52) has; then n_jk = −n_kj."""
    s = abstract(3)
    N = s.Ddot - 2 * s.C()
    k, j = 0, 1
    term = [(s.d(i, k, j) - s.d(j, i, k)) * s.v[i] for i in range(3)]
    for single in term:
        assert differ(single, N[j, k])
    confirm(sum(term), N[j, k])
    confirm(N + N.T, sp.zeros(3))


def test_poonawala_passivity_limits():
    """The storage function at the time where the integral ends: with H(x(t)) and ∫₀ᵀ, as printed, t and T differ.

    A carriage driven by a constant force u: H − H₀ = ∫ u q̇ at one and the same time only."""
    arm, u = dl.load("cartesian-pp").with_gravity((0, 0, 0)), np.array([0.0, 2.0])
    a = arm.forward_dynamics([0, 0], [0, 0], u)
    H = lambda time: arm.kinetic_energy(a * time**2 / 2, a * time)  # noqa: E731
    supplied = lambda time: u @ a * time**2 / 2  # noqa: E731
    assert np.isclose(H(1.5) - H(0.0), supplied(1.5), rtol=1e-12)
    assert H(2.0) - H(0.0) > supplied(1.0)  # the printed inequality fails for t = 2, T = 1


def test_poonawala_eq_54_storage_function():
    """H = ½ q̇ᵀDq̇ + P is the energy, and is conserved without torque."""
    arm, (q, v, _) = dl.load("planar-2r"), state(2)
    H = lambda x: arm.kinetic_energy(x[:2], x[2:]) + arm.potential_energy(x[:2])  # noqa: E731
    a = arm.forward_dynamics(q, v, np.zeros(2))
    assert abs(central(H, np.r_[q, v], np.r_[v, a])) < 1e-9
    assert abs(central(H, np.r_[q, v], np.r_[v, a + 1])) > 1e-2


def test_poonawala_eq_55_rate_of_the_energy():
    """Line 1: the last term is q̇ᵀ ∂P/∂q, not q̇ + ∂P/∂q. Line 2: ½ q̇ᵀḊq̇, the half is missing too. Ḣ = q̇ᵀτ."""
    s = abstract(2)
    v, a = sp.Matrix(s.v), sp.Matrix(s.a)
    dP = sp.Matrix([sp.diff(s.P, q) for q in s.q])
    energy_rate = rate(s.K + s.P, s.q, s.v, s.a)
    inertial, quadratic = v.dot(s.D * a), v.dot(s.Ddot * v)
    confirm(inertial + quadratic / 2 + v.dot(dP), energy_rate)
    assert (v + dP).shape == (2, 1)  # printed: a vector added to numbers
    for k in range(2):  # no component of it saves the line
        assert differ(inertial + quadratic / 2 + v[k] + dP[k], energy_rate)
    inserted = v.dot(s.tau - s.C() * v - dP)
    misprint(inserted + quadratic + v.dot(dP), inserted + quadratic / 2 + v.dot(dP), energy_rate)
    confirm(v.dot(s.tau) + v.dot((s.Ddot - 2 * s.C()) * v) / 2, energy_rate)
    confirm(v.dot(s.tau), energy_rate)


def test_poonawala_eq_56_bounds():
    """Constant bounds for a revolute arm; with a prismatic joint none above, and still one below."""
    turning, sliding = dl.load("planar-2r"), dl.load("rp")
    grid = np.stack(np.meshgrid(*[np.linspace(-np.pi, np.pi, 41)] * 2), -1)
    low, high = (f(np.linalg.eigvalsh(turning.mass_matrix(grid))) for f in (np.min, np.max))
    assert low > 0.02 and high < 4  # trace M ≤ 3 for rods of 1 m and 1 kg
    far = [np.linalg.eigvalsh(sliding.mass_matrix([0, r])) for r in (1.0, 10.0, 100.0)]
    assert far[1][1] > 50 * far[0][1] and far[2][1] > 50 * far[1][1] and all(e[0] > 0.5 for e in far)


def test_poonawala_eq_57_linear_in_the_parameters():
    """D q̈ + C q̇ + g = Y θ, and Y does not know θ: the same Y serves an arm with other masses."""
    arm, (q, v, a) = dl.load("planar-2r"), state(2)
    heavy = arm.with_payload(2.0, (0.1, 0.2, 0.0))
    left = lambda r: r.mass_matrix(q) @ a + r.coriolis_matrix(q, v) @ v + r.gravity_torque(q)  # noqa: E731
    Y = arm.regressor(q, v, a)
    assert np.allclose(Y @ arm.parameters(), left(arm), rtol=1e-12)
    assert np.allclose(Y @ heavy.parameters(), left(heavy), rtol=1e-12)


def test_poonawala_gamma_is_read_off_the_equations():
    """The Christoffel symbols of these tests come from Lagrange's equations, not from the formula under test."""
    s = abstract(2)
    G = second_derivatives(s.c, s.v)
    assert all(same(G[i][j][k], s.symbol(i, j, k)) for i in range(2) for j in range(2) for k in range(2))
