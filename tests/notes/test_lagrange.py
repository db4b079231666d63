"""[Lagrange notes], Lagrangian dynamics: its formulas by the line of the text where they stand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.lagrange import Particle, RigidBody
from notes.derive import (
    I1,
    I2,
    A,
    Q,
    V,
    abstract,
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
    lc1,
    lc2,
    m1,
    m2,
    mass_matrix,
    misprint,
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
    state,
    v1,
    v2,
    vee,
)

h = -m2 * l1 * lc2 * s2
y, yd, ydd, m, f = sp.symbols("y yd ydd m f", real=True)


# ------------------------------------------------------------------------------------ one degree of freedom
def test_lagrange_l010_to_l028_particle():
    """m ÿ = f − m g is d/dt ∂L/∂ẏ − ∂L/∂y = f with K = ½ m ẏ², P = m g y; the steps on the way hold too."""
    K, P = m * yd**2 / 2, m * g * y
    confirm(lagrange(K, P, [y], [yd], [ydd]), sp.Matrix([m * ydd + m * g]))
    confirm(rate(m * sp.diff(yd**2 / 2, yd), [y], [yd], [ydd]), m * ydd)
    confirm(rate(sp.diff(K, yd), [y], [yd], [ydd]), m * ydd)
    confirm(sp.diff(P, y), m * g)


def test_lagrange_l036_to_l042_link_with_motor_and_gear():
    """K = ½(r²J_m + J_l) θ̇², P = Mgl(1 − cos θ), (r²J_m + J_l) θ̈ + Mgl sin θ = r u; u does its work on θ_m = rθ."""
    r, Jm, Jl, M, l, u, th, w, a = sp.symbols("r J_m J_l M l u theta omega alpha")
    K = Jm * rate(r * th, [th], [w]) ** 2 / 2 + Jl * w**2 / 2
    confirm(K, (r**2 * Jm + Jl) * w**2 / 2)
    height = l - l * sp.cos(th)
    left = lagrange(K, M * g * height, [th], [w], [a])[0]
    confirm(left, (r**2 * Jm + Jl) * a + M * g * l * sp.sin(th))
    confirm(sp.diff(u * (r * th), th), r * u)  # virtual work of the motor


# --------------------------------------------------------------------------------------------- constraints
def wire():
    """Two particles on a wire: positions, velocities, and the library's system with its constraint."""
    r1, r2 = (sp.Matrix(sp.symbols(f"x{k} y{k} z{k}", real=True)) for k in (1, 2))
    l = sp.Symbol("l", positive=True)
    bodies = [Particle(m1, list(r1)), Particle(m2, list(r2))]
    gap = r1 - r2
    system = dl.LagrangianSystem.from_bodies([*r1, *r2], bodies, constraints=[gap.dot(gap) - l**2])
    return gap, system, l


def test_lagrange_l054_l068_count_of_constraints():
    """i = 1, …, l: counting from 0, as printed, gives l + 1 constraints; the text itself counts from 1 later.

    Two particles on a wire: 6 coordinates, one constraint, 5 degrees of freedom."""
    _, system, _ = wire()
    count = system.k  # the notes' l
    assert system.n == 6 and system.degrees_of_freedom == 5
    assert 6 - len(range(1, count + 1)) == 5 != 6 - len(range(0, count + 1))


def test_lagrange_l064_to_l076_differentiated_constraint():
    """‖r₁ − r₂‖² = (r₁ − r₂)ᵀ(r₁ − r₂), and d/dt g = Σ ∂g/∂r_i ṙ_i."""
    gap, system, l = wire()
    q, v = sp.Matrix(system.coordinates), sp.Matrix(system.velocities)
    t = sp.Symbol("t")
    moved = (sum(x**2 for x in gap) - l**2).subs(dict(zip(q, q + t * v, strict=True)), simultaneous=True)
    confirm(sp.diff(moved, t).subs(t, 0), (system.A * v)[0])


def test_lagrange_l098_to_l120_virtual_displacements_of_a_bar():
    """(r₁ − r₂)ᵀ(δr₁ − δr₂) = 0 is what the perturbed constraint says to first order."""
    gap, system, _ = wire()
    allowed = system.virtual_displacements
    assert allowed.shape == (6, 5)
    confirm(gap.T * (allowed[:3, :] - allowed[3:, :]), sp.zeros(1, 5))


# ------------------------------------------------------------------------------------ d'Alembert's principle
def particles():
    """Three particles on a plane curve family r_i(q₁, q₂), their masses, and arbitrary forces."""
    r = [along(l1, q1), along(l1, q1) + along(l2, q1 + q2), sp.Matrix([q1**2, q1 * q2, sp.sin(q2)])]
    masses = sp.symbols("mu1:4", positive=True)
    forces = [sp.Matrix(sp.symbols(f"f{i}x f{i}y f{i}z")) for i in range(3)]
    return r, masses, forces


def inertial(k):
    """Σ m_i r̈_iᵀ ∂r_i/∂q_k."""
    r, masses, _ = particles()
    second = [rate(rate(x, Q, V), Q, V, A) for x in r]
    return sum(mu * a.dot(x.diff(Q[k])) for mu, a, x in zip(masses, second, r, strict=True))


def kinetic(count=3):
    r, masses, _ = particles()
    speeds = [rate(x, Q, V) for x in r]
    return sum(mu * u.dot(u) / 2 for mu, u in list(zip(masses, speeds, strict=True))[:count])


def test_lagrange_l132_l185_mass_of_each_particle():
    """The inertia force of particle i has its own mass m_i: one m for all, as printed, is another motion."""
    right = inertial(0)
    one = right.subs(dict.fromkeys(particles()[1], sp.Symbol("m")))
    K = kinetic()
    misprint(one, right, lagrange(K, sp.Integer(0), Q, V, A)[0])


def test_lagrange_l138_to_l142_generalized_forces():
    """δr = Σ ∂r/∂q_j δq_j and Σ fᵀδr = Σ ψ_j δq_j with ψ_j = Σ fᵀ ∂r/∂q_j."""
    r, masses, forces = particles()
    bodies = [Particle(mu, list(x)) for mu, x in zip(masses, r, strict=True)]
    acting = [(list(F), list(x)) for F, x in zip(forces, r, strict=True)]
    psi = dl.LagrangianSystem.from_bodies(Q, bodies, forces=acting).forces
    e, dq = sp.Symbol("e"), sp.symbols("dq1:3")
    shift = {q1: q1 + e * dq[0], q2: q2 + e * dq[1]}
    work = sum(F.dot(x.subs(shift, simultaneous=True).diff(e).subs(e, 0)) for F, x in zip(forces, r, strict=True))
    confirm(psi[0] * dq[0] + psi[1] * dq[1], work)


@pytest.mark.parametrize("j", range(2))
def test_lagrange_l151_to_l161_product_rule(j):
    """Σ m r̈ᵀ ∂r/∂q_j = Σ d/dt[m ṙᵀ ∂r/∂q_j] − m ṙᵀ d/dt[∂r/∂q_j]."""
    r, masses, _ = particles()
    total = 0
    for mu, x in zip(masses, r, strict=True):
        u, partial = rate(x, Q, V), x.diff(Q[j])
        total += rate(mu * u.dot(partial), Q, V, A) - mu * u.dot(rate(partial, Q, V))
    confirm(total, inertial(j))


def test_lagrange_l165_l167_velocity_without_delta():
    """v_i = Σ ∂r_i/∂q_j q̇_j: the velocities stand in it, not their variations δq̇_j (printed in three places)."""
    delta = sp.Matrix(sp.symbols("delta1:3"))  # δq̇
    for x in particles()[0]:
        u, J = rate(x, Q, V), x.jacobian(Q)
        misprint(J * delta, J * qd, u)
        for j in range(2):
            confirm(u.diff(V[j]), x.diff(Q[j]))
            twice = x.diff(Q[j]).jacobian(Q)
            confirm(twice * qd, rate(x.diff(Q[j]), Q, V))
            assert twice == sp.zeros(3, 2) or differ(twice * delta, rate(x.diff(Q[j]), Q, V))
            confirm(u.diff(Q[j]), rate(x.diff(Q[j]), Q, V))


def test_lagrange_l175_to_l179_sum_over_the_particles():
    """K = Σ over the k particles; the printed upper end n is the number of coordinates."""
    for j in range(2):
        form = lambda K: lagrange(K, sp.Integer(0), Q, V, A)[j]  # noqa: B023, E731
        misprint(form(kinetic(len(Q))), form(kinetic(3)), inertial(j))


def test_lagrange_l189_to_l214_euler_lagrange():
    """d/dt ∂K/∂q̇_j − ∂K/∂q_j = ψ_j for j = 1, …, n (the text says i), and L = K − P for ψ_j = −∂P/∂q_j + τ_j."""
    P = sp.Function("P")(q1, q2)
    K, tau = kinetic(), sp.symbols("tau1:3")
    for j in range(2):
        psi = -sp.diff(P, Q[j]) + tau[j]
        residual = inertial(j) - psi  # d'Alembert with independent δq_j
        confirm(residual, lagrange(K, P, Q, V, A)[j] - tau[j])
    assert differ(inertial(0), inertial(1))  # so the equation's index has to be its unknown's


# -------------------------------------------------------------------------------------------- rigid bodies
def test_lagrange_l224_to_l244_energy_of_a_rigid_body():
    """K = ½ m|v_c|² + ½ ωᵀ R I_c Rᵀ ω with S(ω) = ṘRᵀ, against a body of six particles."""
    R = rot("z", q1) * rot("x", q2)
    center = sp.Matrix([q1, q2, q1 * q2])
    corners = [sp.Matrix(x) for x in ((1, 2, 0), (-1, 0, 3), (0, -2, -1), (2, 1, 1), (-2, -1, -3))]
    mu = [1, 2, 1, 1, 1]
    shift = sum((k * x for k, x in zip(mu, corners, strict=True)), sp.zeros(3, 1)) / sum(mu)
    corners = [x - shift for x in corners]
    I_c = sum((k * (x.dot(x) * sp.eye(3) - x * x.T) for k, x in zip(mu, corners, strict=True)), sp.zeros(3))
    w = vee(rate(R, Q, V) * R.T)
    velocity = rate(center, Q, V)
    K = sum(mu) * velocity.dot(velocity) / 2 + (w.T * R * I_c * R.T * w)[0] / 2
    exact = 0
    for k, x in zip(mu, corners, strict=True):
        u = rate(center + R * x, Q, V)
        exact += k * u.dot(u) / 2
    confirm(K, exact)


def test_lagrange_l250_energy_of_link_i():
    """The energy of link i has its own mass m_i, like its own inertia: with the other's mass it is another number."""
    arm = rigid()
    right = m2 * arm.u2.dot(arm.u2) / 2 + I2 * (v1 + v2) ** 2 / 2
    misprint(right.subs(m2, m1), right, arm.K.subs({m1: 0, I1: 0}))


def test_lagrange_l268_l269_sum_without_the_half():
    """K = ½ q̇ᵀDq̇ = ½ Σ d_ij q̇_i q̇_j: the half of the last form is missing."""
    arm = rigid()
    total = sum(arm.M[i, j] * V[i] * V[j] for i in range(2) for j in range(2))
    misprint(total, total / 2, arm.K)
    J1, J2 = arm.J1, arm.J2
    turn = sp.Matrix([[I1 + I2, I2], [I2, I2]])
    confirm((qd.T * (m1 * J1.T * J1 + m2 * J2.T * J2 + turn) * qd)[0] / 2, arm.K)


def test_lagrange_l274_potential_energy_is_a_number():
    """m_i g r_ci is a vector; the energy is m_i g times the height, −m_i 𝐠ᵀ r_ci for the vector 𝐠 of gravity."""
    arm, down = rigid(), sp.Matrix([0, -g, 0])
    assert (m1 * g * arm.p1).shape == (3, 1)
    energy = -m1 * down.dot(arm.p1) - m2 * down.dot(arm.p2)
    misprint(-energy, energy, arm.P)  # 𝐠ᵀr without the minus would fall upwards


def chain():
    """Three joints R, P, R and the centers of three links, for the rules of the Jacobians' columns."""
    q3 = sp.Symbol("q3", real=True)
    q, v = [q1, q2, q3], [v1, v2, sp.Symbol("v3", real=True)]
    frames = [sp.eye(4)]
    for link in (dh(q1, 1, 2, sp.pi / 2), dh(0, q2, 1, sp.pi / 3), dh(q3, 0, 1, 0)):
        frames.append(frames[-1] * link)
    centers = [(T * sp.Matrix([-1, 1, 2, 1]))[:3, :] for T in frames[1:]]
    return q, v, frames, centers


@pytest.mark.parametrize("last", ["k < i", "k <= i"])
def test_lagrange_l285_l287_own_joint_moves_the_link(last):
    """Columns z or z × (r_ci − o_{k−1}), and z or 0, for k ≤ i: the printed k < i leaves out the own joint."""
    q, v, frames, centers = chain()
    kinds = "RPR"
    agree = []
    for i in (1, 2, 3):
        J_v, J_w = sp.zeros(3, 3), sp.zeros(3, 3)
        for k in (1, 2, 3):
            if (k < i) if last == "k < i" else (k <= i):
                z, o = frames[k - 1][:3, 2], frames[k - 1][:3, 3]
                J_v[:, k - 1] = z if kinds[k - 1] == "P" else z.cross(centers[i - 1] - o)
                J_w[:, k - 1] = sp.zeros(3, 1) if kinds[k - 1] == "P" else z
        R = frames[i][:3, :3]
        w = vee(rate(R, q, v) * R.T)
        agree.append(not differ(J_v, centers[i - 1].jacobian(q)) and not differ(J_w, w.jacobian(v)))
    assert agree == [last == "k <= i"] * 3


# ------------------------------------------------------------------------------------- equations of motion
@pytest.mark.parametrize("k", range(3))
def test_lagrange_l291_to_l311_derivation(k):
    """The steps from K to the equations; in the last line of d/dt ∂K/∂q̇_k the inertia is d_kj, not d_ij."""
    s = abstract(3)
    n = range(3)
    momentum = sp.diff(s.K, s.v[k])
    confirm(momentum, sum(s.D[k, j] * s.v[j] for j in n))
    derived = rate(momentum, s.q, s.v, s.a)
    square = sum((s.d(k, j, i) + s.d(k, i, j)) * s.v[i] * s.v[j] for i in n for j in n) / 2
    confirm(sum(s.D[k, j] * s.a[j] for j in n) + sum(s.d(k, j, i) * s.v[i] * s.v[j] for i in n for j in n), derived)
    for i in n:  # i is not summed there: whatever it means, only i = k is right
        line = sum(s.D[i, j] * s.a[j] for j in n) + square
        assert differ(line, derived) is (i != k)
    form = sum(s.D[k, j] * s.a[j] for j in n) + square + sp.diff(s.P, s.q[k])
    form -= sum(s.d(i, j, k) * s.v[i] * s.v[j] for i in n for j in n) / 2
    confirm(form, s.tau[k])


def test_lagrange_l293_torque_of_joint_k():
    """The torque at joint k is τ_k: Lagrange's equation of q_k needs the force that works on q_k."""
    arm, tau = rigid(), sp.symbols("tau1:3")
    work = tau[0] * q1 + tau[1] * q2  # torques on relative angles
    for k in range(2):
        misprint(tau[1 - k], tau[k], sp.diff(work, Q[k]))
    assert differ(arm.tau[0], arm.tau[1])


def test_lagrange_l307_transpose():
    """½ q̇ᵀ [∂D/∂q_k] q̇: without the transpose, as printed, the product does not exist."""
    s = abstract(2)
    v, k = sp.Matrix(s.v), 0
    D_k = s.D.diff(s.q[k])
    with pytest.raises(sp.matrices.exceptions.ShapeError):
        v * D_k * v
    confirm((v.T * D_k * v)[0] / 2 - sp.diff(s.P, s.q[k]), sp.diff(s.K - s.P, s.q[k]))
    both = sum(s.d(i, j, k) * s.v[i] * s.v[j] for i in range(2) for j in range(2)) / 2
    confirm(both, sp.diff(s.K, s.q[k]))


def test_lagrange_l319_equations():
    """Line 311 again."""
    s = abstract(2)
    n = range(2)
    for k in n:
        terms = sum((s.d(k, j, i) + s.d(k, i, j) - s.d(i, j, k)) * s.v[i] * s.v[j] for i in n for j in n) / 2
        confirm(sum(s.D[k, j] * s.a[j] for j in n) + terms + sp.diff(s.P, s.q[k]), s.tau[k])


def test_lagrange_l321_half_counted_twice():
    """With c_ijk that contain the ½ (as c_kj = Σ c_ijk q̇_i and all the values want), no ½ stands before the sum."""
    s = abstract(3)
    n = range(3)
    for k in n:
        total = sum(s.symbol(i, j, k) * s.v[i] * s.v[j] for i in n for j in n)
        misprint(total / 2, total, s.c[k])


def test_lagrange_l325_l336_matrix_form():
    """Dq̈ + Cq̇ + g = τ with c_kj = Σ c_ijk q̇_i."""
    s = abstract(3)
    left = s.D * sp.Matrix(s.a) + s.C() * sp.Matrix(s.v) + sp.Matrix([sp.diff(s.P, q) for q in s.q])
    confirm(left, s.tau)


# ------------------------------------------------------------------------------------ Cartesian manipulator
def cartesian():
    """Positions of the two carriages, from the DH table."""
    T1 = dh(0, q1, 0, -sp.pi / 2)
    T2 = T1 * dh(0, q2, 0, 0)
    return T1[:3, 3], T2[:3, 3]


def test_lagrange_l342_to_l354_jacobians():
    """J_vc1, J_vc2 of the Cartesian arm, from its DH table; J_ω = 0."""
    p1, p2 = cartesian()
    confirm([[0, 0], [0, 0], [1, 0]], p1.jacobian(Q))
    confirm([[0, 0], [0, 1], [1, 0]], p2.jacobian(Q))
    assert dh(0, q1, 0, -sp.pi / 2)[:3, :3].diff(q1) == sp.zeros(3)


def test_lagrange_l358_to_l368_equations():
    """K = ½ q̇ᵀ diag(m₁ + m₂, m₂) q̇, P = g(m₁ + m₂) q₁, and both equations."""
    p1, p2 = cartesian()
    u1, u2 = (rate(p, Q, V) for p in (p1, p2))
    K = m1 * u1.dot(u1) / 2 + m2 * u2.dot(u2) / 2
    P = g * (m1 * p1[2] + m2 * p2[2])
    confirm(mass_matrix(K, Q, V), sp.diag(m1 + m2, m2))
    confirm(P, g * (m1 + m2) * q1)
    confirm(lagrange(K, P, Q, V, A), sp.Matrix([(m1 + m2) * qdd[0] + g * (m1 + m2), m2 * qdd[1]]))


# --------------------------------------------------------------------------------------------- two-link arm
@pytest.mark.parametrize("link", (1, 2))
def test_lagrange_l380_l382_centers_in_the_link_frames(link):
    """DH frame i sits at the far end of link i, so its center is at (l_c − l, 0, 0, 1): the sign is turned,
    and four entries are printed as a 3×2 array."""
    T = dh(q1, 0, l1, 0) if link == 1 else dh(q1, 0, l1, 0) * dh(q2, 0, l2, 0)
    l, lc = (l1, lc1) if link == 1 else (l2, lc2)
    center = rigid().p1 if link == 1 else rigid().p2
    printed, right = (T * sp.Matrix([x, 0, 0, 1]) for x in (l - lc, lc - l))
    misprint(printed, right, sp.Matrix([*center, 1]))
    assert sp.Matrix([[l, -lc], [0, 0], [0, 1]]).rows != T.cols  # as printed the product does not exist


def test_lagrange_l386_to_l392_jacobians():
    """The columns of J_vc1, J_vc2 by cross products and J_ω1, J_ω2 of the two-link arm."""
    z, zero, arm = sp.Matrix([0, 0, 1]), sp.zeros(3, 1), rigid()
    first = [z.cross(sp.Matrix([lc1 * c1, lc1 * s1, 0])), zero]
    second = [
        z.cross(sp.Matrix([l1 * c1 + lc2 * c12, l1 * s1 + lc2 * s12, 0])),
        z.cross(sp.Matrix([lc2 * c12, lc2 * s12, 0])),
    ]
    printed1 = sp.Matrix([[-lc1 * s1, 0], [lc1 * c1, 0], [0, 0]])
    printed2 = sp.Matrix([[-l1 * s1 - lc2 * s12, -lc2 * s12], [l1 * c1 + lc2 * c12, lc2 * c12], [0, 0]])
    for printed, columns, p in ((printed1, first, arm.p1), (printed2, second, arm.p2)):
        confirm(printed, sp.Matrix.hstack(*columns))
        confirm(printed, p.jacobian(Q))
    for angle, last in ((q1, [1, 0]), (q1 + q2, [1, 1])):
        R = rot("z", angle)
        w = vee(rate(R, Q, V) * R.T)
        confirm(sp.Matrix([[0, 0], [0, 0], last]), w.jacobian(V))


def test_lagrange_l402_to_l410_energies():
    """K_trans, K_rot and D = Σ m JᵀJ + [I₁ + I₂, I₂; I₂, I₂]."""
    arm = rigid()
    J1, J2 = arm.J1, arm.J2
    linear = m1 * J1.T * J1 + m2 * J2.T * J2
    turning = I1 * sp.Matrix([[1, 0], [0, 0]]) + I2 * sp.Matrix([[1, 1], [1, 1]])
    confirm((qd.T * linear * qd)[0] / 2, arm.K.subs({I1: 0, I2: 0}))
    confirm((qd.T * turning * qd)[0] / 2, arm.K.subs({m1: 0, m2: 0}))
    confirm(linear + sp.Matrix([[I2 + I1, I2], [I2, I2]]), arm.M)


def test_lagrange_l414_l415_inertia_matrix():
    """d₁₁, d₁₂, d₂₂."""
    d11 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * c2) + I1 + I2
    d12 = m2 * (lc2**2 + l1 * lc2 * c2) + I2
    confirm([[d11, d12], [d12, m2 * lc2**2 + I2]], rigid().M)


def test_lagrange_l417_half_of_the_symbols():
    """c_ijk = ½(…): the ½ is missing; the index of the equation comes first here (in line 311 last)."""
    s, n = abstract(2), range(2)
    for i in n:
        bracket = sum((s.d(i, k, j) + s.d(i, j, k) - s.d(j, k, i)) * s.v[j] * s.v[k] for j in n for k in n)
        misprint(bracket, bracket / 2, s.c[i])


def test_lagrange_l419_to_l427_symbols():
    """c₁₁₁, c₁₁₂ = c₁₂₁, c₁₂₂, c₂₁₁, c₂₁₂ = c₂₂₁ by their printed derivatives and values, equation first."""
    M, G = rigid().M, rigid().gamma
    d = lambda i, j, k: sp.diff(M[i - 1, j - 1], Q[k - 1])  # noqa: E731
    half = sp.Rational(1, 2)
    printed = {
        "111": (half * d(1, 1, 1), 0),
        "112": (half * (d(1, 2, 1) + d(1, 1, 2) - d(1, 2, 1)), h),
        "121": (half * (d(1, 2, 1) + d(1, 1, 2) - d(1, 2, 1)), h),
        "122": (d(1, 2, 2) - half * d(2, 2, 1), h),
        "211": (d(2, 1, 1) - half * d(1, 1, 2), -h),
        "212": (half * d(2, 2, 1), 0),
        "221": (half * d(2, 2, 1), 0),
    }
    for name, (formula, value) in printed.items():
        k, i, j = (int(x) - 1 for x in name)
        confirm(formula, G[i][j][k])
        confirm(value, G[i][j][k])


def test_lagrange_l429_last_symbol():
    """c₂₂₂ = ½ ∂d₂₂/∂q₂ = 0, not −h: d₂₂ is constant, and C has a 0 there."""
    misprint(-h, sp.Integer(0), rigid().gamma[1][1][1])
    confirm(sp.diff(rigid().M[1, 1], q2) / 2, rigid().gamma[1][1][1])


def test_lagrange_l435_l439_potential_energy_and_gravity():
    """P₁, P₂, φ₁, φ₂."""
    confirm(m1 * g * lc1 * s1 + m2 * g * (l1 * s1 + lc2 * s12), rigid().P)
    confirm([(m1 * lc1 + m2 * l1) * g * c1 + m2 * lc2 * g * c12, m2 * g * lc2 * c12], list(rigid().g))


def test_lagrange_l443_equations():
    """Both equations, with the symbols of lines 419 to 429 (and c₂₂₂ = 0)."""
    d = rigid().M
    first = d[0, 0] * A[0] + d[0, 1] * A[1] + h * v1 * v2 + h * v2 * v1 + h * v2**2 + rigid().g[0]
    second = d[1, 0] * A[0] + d[1, 1] * A[1] - h * v1**2 + rigid().g[1]
    confirm([first, second], list(rigid().tau))
    misprint(second - h * v2**2, second, rigid().tau[1])  # with the printed c₂₂₂


def test_lagrange_l447_l451_matrix_form():
    """D q̈ + C(q, q̇) q̇ + G = τ: the q̇ after C is missing; the matrices C and G are right."""
    C = sp.Matrix([[h * v2, h * v2 + h * v1], [-h * v1, 0]])
    arm = rigid()
    confirm(C, arm.C)
    confirm(arm.M * qdd + C * qd + arm.g, arm.tau)
    assert C.shape != arm.g.shape  # as printed a matrix is added to a vector


# ---------------------------------------------------------------------------------------- five-bar linkage
m3, m4, lc3, lc4, I3, I4, l4 = sp.symbols("m3 m4 l_c3 l_c4 I3 I4 l4", positive=True)


def five_bar():
    """The library's system of the four links of the parallelogram: K and P, and the centers."""
    elbow1, elbow2 = along(l1, q1), along(l2, q2)
    p = [along(lc1, q1), along(lc2, q2), elbow2 + along(lc3, q1), elbow1 + along(lc4, q2 + sp.pi)]
    parts = zip((m1, m2, m3, m4), (I1, I2, I3, I4), p, (q1, q2, q1, q2), strict=True)
    bodies = [RigidBody(mu, I, list(x), angle=angle) for mu, I, x, angle in parts]
    system = dl.LagrangianSystem.from_bodies(Q, bodies, gravity=(0, -g, 0))
    speeds = dict(zip(system.velocities, V, strict=True))
    return p, system.kinetic.xreplace(speeds), system.potential


def test_lagrange_l466_angular_velocities():
    """ω₁ = ω₃ = q̇₁ k̂ and ω₂ = ω₄ = q̇₂ k̂: the last k̂ is missing; opposite sides of the parallelogram are parallel."""
    for angle, speed in ((q1, v1), (q2, v2), (q2 + sp.pi, v2)):
        R = rot("z", angle)
        w = vee(rate(R, Q, V) * R.T)
        confirm(w, speed * sp.Matrix([0, 0, 1]))
        assert w.shape == (3, 1)


def test_lagrange_l468_sum_of_jacobians():
    """D = Σ m JᵀJ + diag(I₁ + I₃, I₂ + I₄)."""
    p, K, _ = five_bar()
    total = sp.diag(I1 + I3, I2 + I4)
    for mu, x in zip((m1, m2, m3, m4), p, strict=True):
        total += mu * x.jacobian(Q).T * x.jacobian(Q)
    confirm(total, mass_matrix(K, Q, V))


def test_lagrange_l472_first_inertia():
    """d₁₁ has m₄ l₁², not m₄ l₄²: the center of link 4 is carried round by link 1."""
    D = mass_matrix(five_bar()[1], Q, V)
    rest = m1 * lc1**2 + m3 * lc3**2 + I1 + I3
    misprint(rest + m4 * l4**2, rest + m4 * l1**2, D[0, 0])
    misprint(rest + m4 * l2**2, rest + m4 * l1**2, D[0, 0])  # nor is l₄ = l₂, the opposite side, meant


def test_lagrange_l470_l474_coupling():
    """d₁₂ = (m₃ l₂ l_c3 − m₄ l₁ l_c4) cos(q₂ − q₁), so it is 0 if m₃ l₂ l_c3 = m₄ l₁ l_c4: printed m₂ both times."""
    D = mass_matrix(five_bar()[1], Q, V)
    form = lambda mu: (mu * l2 * lc3 - m4 * l1 * lc4) * sp.cos(q2 - q1)  # noqa: E731
    misprint(form(m2), form(m3), D[0, 1])
    confirm(D[0, 1], D[1, 0])
    confirm(D[0, 1].subs(m3, m4 * l1 * lc4 / (l2 * lc3)), 0)
    assert differ(D[0, 1].subs(m2, m4 * l1 * lc4 / (l2 * lc3)), 0)


def test_lagrange_l476_second_inertia():
    """d₂₂ = m₂ l_c2² + m₃ l₂² + m₄ l_c4² + I₂ + I₄."""
    confirm(m2 * lc2**2 + m3 * l2**2 + m4 * lc4**2 + I2 + I4, mass_matrix(five_bar()[1], Q, V)[1, 1])


def test_lagrange_l490_potential_energy():
    """P = g Σ m_i y_ci: weights and g are missing from the sum, not from the result."""
    p, _, P = five_bar()
    right = g * (m1 * lc1 + m3 * lc3 + m4 * l1) * s1 + g * (m2 * lc2 - m4 * lc4 + m3 * l2) * s2
    misprint(sum(x[1] for x in p), right, P)


def test_lagrange_l494_to_l502_decoupled_equations():
    """φ₁, φ₂, and d₁₁ q̈₁ + φ₁ = τ₁, d₂₂ q̈₂ + φ₂ = τ₂ under the condition m₃ l₂ l_c3 = m₄ l₁ l_c4."""
    _, K, P = five_bar()
    phi = [g * (m1 * lc1 + m3 * lc3 + m4 * l1) * c1, g * (m2 * lc2 - m4 * lc4 + m3 * l2) * c2]
    confirm(phi, [sp.diff(P, s) for s in Q])
    balanced = {m3: m4 * l1 * lc4 / (l2 * lc3)}
    tau, D = lagrange(K, P, Q, V, A).subs(balanced), mass_matrix(K, Q, V).subs(balanced)
    confirm([D[k, k] * A[k] + phi[k].subs(balanced) for k in range(2)], list(tau))
    assert differ([D[k, k] * A[k] + phi[k] for k in range(2)], list(lagrange(K, P, Q, V, A)))


# ----------------------------------------------------------------------------------------------- properties
def test_lagrange_l508_l510_skew_symmetry():
    """ḋ_kj = Σ ∂d_kj/∂q_i q̇_i and n_kj = Σ [∂d_ij/∂q_k − ∂d_ki/∂q_j] q̇_i = −n_jk."""
    s, n = abstract(3), range(3)
    N = s.Ddot - 2 * s.C()
    form = sp.Matrix(3, 3, lambda k, j: sum((s.d(i, j, k) - s.d(k, i, j)) * s.v[i] for i in n))
    confirm(form, N)
    confirm(form.T, -N)


def test_lagrange_l514_l527_energy_that_can_be_taken_out():
    """∫ q̇ᵀτ = H(T) − H(0) ≥ −H(0) = −β if P ≥ 0: at most β can be taken out; the integral is what is put in."""
    arm, rng = dl.load("planar-2r"), np.random.default_rng(2)
    lowest = arm.potential_energy([-np.pi / 2, 0.0])
    H = lambda x: arm.kinetic_energy(x[:2], x[2:]) + arm.potential_energy(x[:2]) - lowest  # noqa: E731
    x, work, step = rng.uniform(-1, 1, 4), 0.0, 2e-3
    start = H(x)

    def slope(x, t):
        tau = np.array([8 * np.sin(3 * t), -4 * np.cos(5 * t)]) - 0.5 * x[2:]
        return np.r_[x[2:], arm.forward_dynamics(x[:2], x[2:], tau), x[2:] @ tau]

    y_ = np.r_[x, work]
    for k in range(400):
        t = k * step
        k1 = slope(y_[:4], t)
        k2 = slope(y_[:4] + step / 2 * k1[:4], t + step / 2)
        k3 = slope(y_[:4] + step / 2 * k2[:4], t + step / 2)
        k4 = slope(y_[:4] + step * k3[:4], t + step)
        y_ = y_ + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert abs(y_[4] - (H(y_[:4]) - start)) < 1e-7
    assert y_[4] >= -start and start > 0


def test_lagrange_l520_l523_rate_of_the_energy():
    """Ḣ = q̇ᵀτ; in the second line C lacks its q̇ (a matrix among vectors), the rest is right."""
    s = abstract(2)
    v, a, dP = sp.Matrix(s.v), sp.Matrix(s.a), sp.Matrix([sp.diff(s.P, q) for q in s.q])
    H_rate = rate(s.K + s.P, s.q, s.v, s.a)
    confirm(v.dot(s.D * a) + v.dot(s.Ddot * v) / 2 + v.dot(dP), H_rate)
    confirm(v.dot(s.tau - s.C() * v - dP) + v.dot(s.Ddot * v) / 2 + v.dot(dP), H_rate)
    with pytest.raises(sp.matrices.exceptions.ShapeError):
        s.tau - s.C() - dP
    confirm(v.dot(s.tau) + v.dot((s.Ddot - 2 * s.C()) * v) / 2, H_rate)
    confirm(v.dot(s.tau), H_rate)


def test_lagrange_kernels_agree():
    """D, C and φ of lines 414 to 451 at the numbers of the bundled arm, against its kernels."""
    arm, (q, v, _) = dl.load("planar-2r"), state(2, 5)
    rods = {m1: 1, m2: 1, l1: 1, lc1: 0.5, lc2: 0.5, I1: 1 / 12, I2: 1 / 12, g: 9.81}
    here = {q1: q[0], q2: q[1], v1: v[0], v2: v[1], **rods}
    number = lambda M: np.array(M.subs(here).evalf(), float)  # noqa: E731
    assert np.allclose(number(rigid().M), arm.mass_matrix(q), rtol=1e-12)
    assert np.allclose(number(rigid().C), arm.coriolis_matrix(q, v), rtol=1e-11, atol=1e-14)
    assert np.allclose(number(rigid().g).ravel(), arm.gravity_torque(q), rtol=1e-12)
