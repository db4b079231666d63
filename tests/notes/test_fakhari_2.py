"""[Fakhari 2], inverse and forward dynamics, properties: its formulas by the line of the text where they stand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from notes.derive import (
    SWAP,
    A,
    Q,
    V,
    abstract,
    ad,
    central,
    confirm,
    differ,
    g,
    l1,
    l2,
    m1,
    m2,
    misprint,
    points,
    q1,
    q2,
    qd,
    qdd,
    rate,
    second_derivatives,
    state,
    v1,
    v2,
)

CLOSE = 1e-9
c1, c2, s2, c12 = sp.cos(q1), sp.cos(q2), sp.sin(q2), sp.cos(q1 + q2)
k = m2 * l1 * l2 * s2  # what the example's matrices have in common
NUMBERS = {l1: 1, l2: 1, m1: 1, m2: 1, g: sp.Rational(981, 100)}


# ----------------------------------------------------------------------------------------- inverse dynamics
def test_fakhari_2_l017_to_l025_four_writings():
    """h = c + g, c = Cθ̇ = θ̇ᵀΓθ̇, and JᵀF_tip: four writings of one torque (the last is printed twice)."""
    arm, (q, v, a), F = dl.load("ur5e"), state(6, 1), np.array([1.0, -2.0, 3.0, 0.4, 0.5, -0.6])
    M, J = arm.mass_matrix(q), arm.jacobian(q)
    tau = arm.inverse_dynamics(q, v, a, wrenches={arm.tip: -F})
    quadratic = np.einsum("i,ijk,j->k", v, arm.christoffel(q), v)
    start = M @ a + J.T @ F
    for rest in (
        arm.bias_torque(q, v),
        arm.coriolis_torque(q, v) + arm.gravity_torque(q),
        arm.coriolis_matrix(q, v) @ v + arm.gravity_torque(q),
        quadratic + arm.gravity_torque(q),
    ):
        assert np.allclose(start + rest, tau, atol=CLOSE)


def test_fakhari_2_l043_shape_of_the_jacobian():
    """J is 6×n: JᵀF_tip has n components and 𝒱 = Jθ̇ six; n×6, as printed, fits neither."""
    arm, (q, v, _) = dl.load("planar-2r"), state(2, 1)
    J = arm.jacobian(q)
    assert J.shape == (6, arm.n) and (J.T @ np.ones(6)).shape == (arm.n,) and (J @ v).shape == (6,)
    with pytest.raises(ValueError, match="matmul"):
        J.T @ v


def test_fakhari_2_l062_l075_friction():
    """τ = Mθ̈ + Cθ̇ + g + F_vθ̇ + F_s sgn θ̇ (+ τ_dist) + JᵀF_tip."""
    arm, (q, v, a), F = dl.load("puma560"), state(6, 2), np.linspace(-1, 1, 6)
    drives = [joint.drive for joint in arm.description.joints if joint.kind != "fixed"]
    viscous = np.array([d.damping for d in drives])
    static = np.array([d.coulomb[0 if w > 0 else 1] for d, w in zip(drives, v, strict=True)])
    tau = arm.inverse_dynamics(q, v, a, wrenches={arm.tip: -F}, friction=True)
    free = arm.mass_matrix(q) @ a + arm.coriolis_matrix(q, v) @ v + arm.gravity_torque(q) + arm.jacobian(q).T @ F
    assert np.abs(viscous).max() > 0 and np.abs(static).max() > 0
    assert np.allclose(tau, free + viscous * v + static * np.sign(v), atol=CLOSE)


def test_fakhari_2_l084_to_l100_centripetal_and_coriolis():
    """Accelerations of m₂ at θ = (0, π/2), θ̈ = 0: (−L₁θ̇₁², −L₂θ̇₁² − L₂θ̇₂²) and (0, −2L₂θ̇₁θ̇₂), and their parts."""
    p = points().p2[:2, :]
    there = rate(rate(p, Q, V), Q, V, [0, 0]).subs({q1: 0, q2: sp.pi / 2})
    centripetal, coriolis = sp.Matrix([-l1 * v1**2, -l2 * v1**2 - l2 * v2**2]), sp.Matrix([0, -2 * l2 * v1 * v2])
    confirm(centripetal + coriolis, there)
    confirm(there.subs(v2, 0), sp.Matrix([-l1 * v1**2, -l2 * v1**2]))
    confirm(there.subs(v1, 0), sp.Matrix([0, -l2 * v2**2]))
    confirm(there - there.subs(v2, 0) - there.subs(v1, 0), coriolis)


def body_twists(arm, q, v):
    """Per body: body Jacobian (ω, v) and the 6×6 inertia about the frame's origin, from the description."""
    out = []
    A_, L, _W, G, _ = (np.asarray(x) for x in arm.matrix_form(q))
    for i, name in enumerate(arm.bodies):
        block = slice(6 * i, 6 * i + 6)
        out.append((SWAP @ arm.jacobian(q, name, "local"), SWAP @ G[block, block] @ SWAP.T))
        assert np.allclose((L @ A_)[block], arm.jacobian(q, name, "local"), atol=CLOSE)
    return out


def test_fakhari_2_l108_to_l118_mass_matrix_by_body_jacobians():
    """𝒦 = ½ Σ 𝒱ᵢᵀ𝒢ᵢ𝒱ᵢ (the letters are printed small), M = Σ J_ibᵀ𝒢ᵢJ_ib, [𝒱ᵢ] = T⁻¹Ṫ (also line 263)."""
    arm, (q, v, _) = dl.load("ur5e"), state(6, 3)
    parts = body_twists(arm, q, v)
    M = sum(J.T @ G @ J for J, G in parts)
    assert np.allclose(M, arm.mass_matrix(q), atol=CLOSE)
    energy = sum((J @ v) @ G @ (J @ v) for J, G in parts) / 2
    assert np.isclose(energy, arm.kinetic_energy(q, v), rtol=1e-10)
    name = arm.bodies[3]
    hat = np.linalg.solve(arm.fk(q, name), central(lambda x: arm.fk(x, name), q, v))
    twist = parts[3][0] @ v
    assert np.allclose([hat[2, 1], hat[0, 2], hat[1, 0], *hat[:3, 3]], twist, atol=CLOSE)


def test_fakhari_2_l122_positive_definite():
    """M symmetric, xᵀMx > 0, invertible, over many configurations."""
    M = dl.load("ur5e").mass_matrix(np.random.default_rng(1).uniform(-3, 3, (200, 6)))
    assert np.allclose(M, np.swapaxes(M, 1, 2), atol=1e-13) and np.linalg.eigvalsh(M).min() > 0


def test_fakhari_2_l130_the_letter_j():
    """𝒱 = J(θ)θ̇ with J invertible; the printed I(θ), an identity or an inertia, gives another twist."""
    arm, (q, v, _) = dl.load("ur5e"), state(6, 4)
    T = arm.fk(q)
    moved = central(lambda x: arm.fk(x)[:3, 3], q, v)
    assert np.allclose((arm.jacobian(q) @ v)[:3], moved, atol=CLOSE) and T.shape == (4, 4)
    assert not np.allclose((np.eye(6) @ v)[:3], moved, atol=1e-2)


def test_fakhari_2_l132_to_l144_effective_mass():
    """θ̇ᵀMθ̇ = 𝒱ᵀM_C𝒱 for M_C = J⁻ᵀMJ⁻¹ = (JM⁻¹Jᵀ)⁻¹."""
    arm, (q, v, _) = dl.load("ur5e"), state(6, 4)
    J, M = arm.jacobian(q), arm.mass_matrix(q)
    inv = np.linalg.inv(J)
    M_C = inv.T @ M @ inv
    twist = J @ v
    assert np.isclose(twist @ M_C @ twist, 2 * arm.kinetic_energy(q, v), rtol=1e-9)
    assert np.allclose(np.linalg.inv(J @ np.linalg.solve(M, J.T)), M_C, rtol=1e-6)


def test_fakhari_2_l150_to_l154_force_and_acceleration():
    """At rest without gravity f = M_C ẍ: parallel along the eigenvectors, with the eigenvalues as factors; else not."""
    arm, q = dl.load("planar-2r-points").with_gravity((0, 0, 0)), np.array([0.3, 1.2])
    J = arm.jacobian(q)[:2]
    inv = np.linalg.inv(J)
    M_C = inv.T @ arm.mass_matrix(q) @ inv

    def tip_acceleration(f):
        return J @ arm.forward_dynamics(q, np.zeros(2), J.T @ f)

    values, vectors = np.linalg.eigh(M_C)
    for value, vector in zip(values, vectors.T, strict=True):
        assert np.allclose(value * tip_acceleration(vector), vector, atol=CLOSE)
    f = np.array([1.0, 0.0])
    a = tip_acceleration(f)
    assert np.allclose(M_C @ a, f, atol=CLOSE) and abs(a[1]) > 1e-2


# -------------------------------------------------------------------------------------------- by Lagrange
def test_fakhari_2_l166_to_l176_vector_form():
    """c = Ṁθ̇ − ½ ∂/∂θ(θ̇ᵀMθ̇) = Ṁθ̇ − ∂𝒦/∂θ, g = ∂𝒫/∂θ, and the steps before."""
    s = abstract(3)
    v, a = sp.Matrix(s.v), sp.Matrix(s.a)
    gradient = lambda x: sp.Matrix([sp.diff(x, q) for q in s.q])  # noqa: E731
    momentum = sp.Matrix([sp.diff(s.K - s.P, w) for w in s.v])
    confirm(momentum, s.D * v)
    confirm(rate(momentum, s.q, s.v, s.a), s.D * a + s.Ddot * v)
    half = gradient((v.T * s.D * v)[0]) / 2
    confirm(gradient(s.K - s.P), half - gradient(s.P))
    confirm(s.D * a + s.Ddot * v - half + gradient(s.P), s.tau)
    confirm(s.Ddot * v - gradient(s.K), s.c)


@pytest.mark.parametrize("row", range(3))
def test_fakhari_2_l186_to_l202_by_components(row):
    """∂ℒ/∂θ̇_k, ∂ℒ/∂θ_k, d/dt ∂ℒ/∂θ̇_k and the symmetrized double sum."""
    s, n = abstract(3), range(3)
    L = s.K - s.P
    confirm(sp.diff(L, s.v[row]), sum(s.D[row, j] * s.v[j] for j in n))
    pull = sum(s.d(i, j, row) * s.v[j] * s.v[i] for i in n for j in n) / 2 - sp.diff(s.P, s.q[row])
    confirm(sp.diff(L, s.q[row]), pull)
    double = sum(s.d(row, j, i) * s.v[i] * s.v[j] for i in n for j in n)
    confirm(rate(sp.diff(L, s.v[row]), s.q, s.v, s.a), sum(s.D[row, j] * s.a[j] for j in n) + double)
    confirm(double, sum((s.d(row, j, i) + s.d(row, i, j)) * s.v[j] * s.v[i] for i in n for j in n) / 2)


def test_fakhari_2_l204_product_of_two_velocities():
    """τ_k has Σ Γ_ijk θ̇_i θ̇_j; the printed θ̇_i θ̇_i drops every product of two different velocities."""
    s, n = abstract(2), range(2)
    for row in n:
        squares, products = (
            sum(s.symbol(i, j, row) * s.v[i] * s.v[i if same_index else j] for i in n for j in n)
            for same_index in (True, False)
        )
        misprint(squares, products, s.c[row])


def test_fakhari_2_l216_to_l228_components_of_c():
    """c_k = Σ Γ_ijk θ̇_jθ̇_i, C_kj = Σ_i Γ_ijk θ̇_i with Cθ̇ = c, stacked θ̇ᵀΓ_kθ̇."""
    s = abstract(3)
    confirm(s.C() * sp.Matrix(s.v), s.c)
    v = sp.Matrix(s.v)
    stacked = [(v.T * sp.Matrix(3, 3, lambda i, j: s.symbol(i, j, row)) * v)[0] for row in range(3)]  # noqa: B023
    confirm(stacked, list(s.c))


def test_fakhari_2_l224_l226_which_index_names_the_matrix():
    """Γ_k, the symmetric matrix of equation k, has the (i, j)th entry Γ_ijk of line 204; with (j, k)th entries of
    Γ_ijk, as printed, it is neither symmetric nor the matrix of equation i."""
    v = sp.Matrix(V)
    for row in range(2):
        entry = sp.Matrix(2, 2, lambda i, j: points().gamma[i][j][row])  # noqa: B023
        confirm(entry, entry.T)
        confirm((v.T * entry * v)[0], points().c[row])
    as_printed = [sp.Matrix(2, 2, lambda j, kk: points().gamma[i][j][kk]) for i in range(2)]  # noqa: B023
    assert any(differ(x, x.T) for x in as_printed)
    assert any(differ((v.T * x * v)[0], points().c[i]) for i, x in enumerate(as_printed))


# ------------------------------------------------------------------------------------------ Newton–Euler
class Closed:
    """𝒜, ℒ, 𝒲, 𝒢 of an arm at a state, twists (ω, v) as the notes order them."""

    def __init__(self):
        self.arm = dl.load("ur5e")
        self.q, self.v, self.a = state(6, 7)
        swap = np.kron(np.eye(6), SWAP)
        A_, L, W, G, base = (np.asarray(x) for x in self.arm.matrix_form(self.q))
        self.A, self.L, self.W, self.G = swap @ A_, swap @ L @ swap.T, swap @ W @ swap.T, swap @ G @ swap.T
        self.base = swap @ base
        blocks = lambda x: [ad(x[6 * i : 6 * i + 6]) for i in range(6)]  # noqa: E731
        self.diag = lambda x: np.block(
            [[b if i == j else np.zeros((6, 6)) for j in range(6)] for i, b in enumerate(blocks(x))]
        )
        self.twist = self.L @ self.A @ self.v
        self.ad_A, self.ad_V = self.diag(self.A @ self.v), self.diag(self.twist)


@pytest.fixture(scope="module")
def closed():
    return Closed()


def test_fakhari_2_l236_recursions_in_closed_form(closed):
    """𝒱, 𝒱̇, ℱ, τ for a base at rest under gravity, with a wrench at the tip."""
    x, arm = closed, closed.arm
    body = np.concatenate([SWAP @ arm.jacobian(x.q, name, "local") @ x.v for name in arm.bodies])
    assert np.allclose(x.twist, body, atol=CLOSE)
    acceleration = x.L @ (x.A @ x.a - x.ad_A @ (x.W @ x.twist) + x.base)
    f_tip = np.array([0.3, -0.4, 0.5, 2.0, 1.0, -3.0])  # (n, f) in the tip's frame
    last = arm.transform(x.q, arm.tip, arm.bodies[-1])
    lifted = np.zeros(36)
    lifted[-6:] = (SWAP @ dl.se3.adjoint(last) @ SWAP.T).T @ f_tip
    F = x.L.T @ (x.G @ acceleration - x.ad_V.T @ x.G @ x.twist + lifted)
    R = arm.fk(x.q)[:3, :3]  # F_tip is what the tip applies: on the robot acts −F_tip, here in world axes
    wanted = arm.inverse_dynamics(x.q, x.v, x.a, wrenches={arm.tip: -np.kron(np.eye(2), R) @ SWAP @ f_tip})
    assert np.allclose(x.A.T @ F, wanted, atol=1e-8)


def test_fakhari_2_l236_moving_base(closed):
    """The terms with 𝒱_base: a base that turns and accelerates."""
    x, arm = closed, closed.arm
    w, wd, acc = np.array([[0.3, -0.2, 0.5], [0.1, 0.4, -0.3], [1.0, 2.0, 3.0]])
    first = SWAP @ dl.se3.adjoint(np.linalg.inv(arm.fk(x.q, arm.bodies[0]))) @ SWAP.T
    base, base_rate = np.zeros(36), np.zeros(36)
    base[:6] = first @ np.r_[w, np.zeros(3)]
    base_rate[:6] = first @ np.r_[wd, acc - arm.gravity]
    twist = x.L @ (x.A @ x.v + base)
    rate_ = x.L @ (x.A @ x.a - x.ad_A @ (x.W @ twist + base) + base_rate)
    tau = x.A.T @ x.L.T @ (x.G @ rate_ - x.diag(twist).T @ x.G @ twist)
    motion = {"base_velocity": np.r_[np.zeros(3), w], "base_acceleration": np.r_[acc, wd]}
    assert np.allclose(tau, arm.inverse_dynamics(x.q, x.v, x.a, **motion), atol=1e-8)


def test_fakhari_2_l239_mass_matrix(closed):
    """M = 𝒜ᵀℒᵀ𝒢ℒ𝒜."""
    x = closed
    assert np.allclose(x.A.T @ x.L.T @ x.G @ x.L @ x.A, x.arm.mass_matrix(x.q), atol=CLOSE)


def test_fakhari_2_l241_velocity_terms(closed):
    """c = −𝒜ᵀℒᵀ(𝒢ℒ[ad_𝒜θ̇]𝒲 + [ad_𝒱]ᵀ𝒢)ℒ𝒜θ̇."""
    x = closed
    c = -x.A.T @ x.L.T @ (x.G @ x.L @ x.ad_A @ x.W + x.ad_V.T @ x.G) @ x.L @ x.A @ x.v
    assert np.allclose(c, x.arm.coriolis_torque(x.q, x.v), atol=CLOSE)


def test_fakhari_2_l243_gravity(closed):
    """g = 𝒜ᵀℒᵀ𝒢ℒ𝒱̇_base."""
    x = closed
    assert np.allclose(x.A.T @ x.L.T @ x.G @ x.L @ x.base, x.arm.gravity_torque(x.q), atol=CLOSE)


def test_fakhari_2_l247_rate_of_the_mass_matrix(closed):
    """Ṁ = −𝒜ᵀℒᵀ𝒲ᵀ[ad]ᵀℒᵀ𝒢ℒ𝒜 − 𝒜ᵀℒᵀ𝒢ℒ[ad]𝒲ℒ𝒜."""
    x = closed
    half = x.A.T @ x.L.T @ x.G @ x.L @ x.ad_A @ x.W @ x.L @ x.A
    first = x.A.T @ x.L.T @ x.W.T @ x.ad_A.T @ x.L.T @ x.G @ x.L @ x.A
    assert np.allclose(-first - half, central(x.arm.mass_matrix, x.q, x.v), atol=CLOSE)


def test_fakhari_2_l257_to_l266_terms_by_calls(closed):
    """g, c, JᵀF_tip, M column by column and b from inverse dynamics; for JᵀF_tip gravity is off (printed q = 0)."""
    x, arm = closed, closed.arm
    F, zero = np.linspace(-2, 3, 6), np.zeros(6)
    light = arm.with_gravity((0, 0, 0))
    assert np.allclose(arm.inverse_dynamics(x.q, zero, zero), arm.gravity_torque(x.q), atol=CLOSE)
    assert np.allclose(light.inverse_dynamics(x.q, x.v, zero), arm.coriolis_torque(x.q, x.v), atol=CLOSE)
    term = arm.jacobian(x.q).T @ F
    assert np.allclose(light.inverse_dynamics(x.q, zero, zero, wrenches={arm.tip: -F}), term, atol=CLOSE)
    assert not np.allclose(
        arm.inverse_dynamics(zero, zero, zero, wrenches={arm.tip: -F}), term, atol=1e-2
    )  # q = 0 as printed
    columns = np.stack([light.inverse_dynamics(x.q, zero, e) for e in np.eye(6)], -1)
    assert np.allclose(columns, arm.mass_matrix(x.q), atol=CLOSE)
    b = arm.coriolis_torque(x.q, x.v) + arm.gravity_torque(x.q) + term
    assert np.allclose(arm.inverse_dynamics(x.q, x.v, zero, wrenches={arm.tip: -F}), b, atol=CLOSE)


def test_fakhari_2_l278_to_l285_forward_dynamics():
    """θ̈ = M⁻¹(τ − b(θ, θ̇, F_tip)); in the MATLAB line b has θ twice, its second argument has lost the dot."""
    arm, (q, v, a), F = dl.load("ur5e"), state(6, 8), np.linspace(1, -1, 6)
    tau = arm.inverse_dynamics(q, v, a, wrenches={arm.tip: -F})
    b = lambda w: arm.coriolis_torque(q, w) + arm.gravity_torque(q) + arm.jacobian(q).T @ F  # noqa: E731
    M = arm.mass_matrix(q)
    assert np.allclose(np.linalg.solve(M, tau - b(v)), a, atol=1e-8)
    assert not np.allclose(np.linalg.solve(M, tau - b(q)), a, atol=1e-2)


# ---------------------------------------------------------------------------------------------- properties
def test_fakhari_2_l338_l340_l368_bounds_and_the_identity():
    """μ₁I ≤ M ≤ μ₂I gives I/μ₁ ≥ M⁻¹ ≥ I/μ₂; I_n is in R^{n×n}, not in R^n as printed (twice)."""
    M = dl.load("ur5e").mass_matrix(state(6, 9)[0])
    values, inverse = np.linalg.eigvalsh(M), np.linalg.eigvalsh(np.linalg.inv(M))
    assert np.isclose(inverse.max(), 1 / values.min(), rtol=1e-9) and np.isclose(inverse.min(), 1 / values.max())
    I_n = np.diag(np.ones(6))
    assert I_n.shape == (6, 6) and np.linalg.eigvalsh(M - values.min() * I_n).min() > -1e-9
    row = np.ones(6)  # diag(1) in R^n, if it were one
    assert np.kron(row[None], I_n).shape == (6, 36) != np.kron(row[None], row).shape  # θ̇ᵀ⊗I_n times the 36×6 ∂M/∂θ


def test_fakhari_2_l342_l355_l397_prismatic_joints():
    """With a prismatic joint the bounds on M, c and g may depend on θ: they grow with the reach of the RP arm."""
    arm = dl.load("rp")
    near, far = (arm.mass_matrix([0.0, r])[0, 0] for r in (1.0, 100.0))
    assert far > 1000 * near
    near, far = (np.abs(arm.coriolis_torque([0.0, r], [1.0, 1.0])).max() for r in (1.0, 100.0))
    assert far > 50 * near
    near, far = (np.abs(arm.gravity_torque([0.0, r])).max() for r in (1.0, 100.0))
    assert far > 20 * near


def test_fakhari_2_l349_l350_quadratic_in_the_velocities():
    """c(θ, sθ̇) = s²c(θ, θ̇) and C(θ, 0) = 0."""
    arm, (q, v, _) = dl.load("ur5e"), state(6, 2)
    assert np.allclose(arm.coriolis_torque(q, 3 * v), 9 * arm.coriolis_torque(q, v), atol=CLOSE)
    assert np.abs(arm.coriolis_matrix(q, 0 * v)).max() == 0


def test_fakhari_2_l351_l356_bound_in_the_two_norm():
    """‖c‖₂ ≤ n² max|Γ| ‖θ̇‖²: a bound, though not the least one (n^{3/2} would do)."""
    arm, rng = dl.load("ur5e"), np.random.default_rng(5)
    for _ in range(50):
        q, v = rng.uniform(-3, 3, (2, 6))
        largest = np.abs(arm.christoffel(q)).max()
        size = np.linalg.norm(arm.coriolis_torque(q, v))
        assert size <= 6**1.5 * largest * (v @ v) < 36 * largest * (v @ v)


def test_fakhari_2_l358_to_l360_lost_minus():
    """θ̇ᵀ(Ṁ − 2C)θ̇ = 0 for every C, Ṁ − 2C skew and Ṁ = C + Cᵀ for the standard one; the minus is lost in two
    places, and the product Ṁ2C that is left is nothing of the kind. The first right side is a number."""
    arm, (q, v, _) = dl.load("ur5e"), state(6, 4)
    Mdot = central(arm.mass_matrix, q, v)
    for choice in ("christoffel", "mdot-u/2", "ut-u/2"):
        C = arm.coriolis_matrix(q, v, choice)
        assert abs(v @ (Mdot - 2 * C) @ v) < 1e-8
        assert abs(v @ (Mdot @ (2 * C)) @ v) > 1e-3 and abs(v @ (Mdot + 2 * C) @ v) > 1e-3
        S = Mdot - 2 * C
        assert np.allclose(S, -S.T, atol=1e-8) == (choice == "christoffel")
        assert np.allclose(Mdot, C + C.T, atol=1e-8) == (choice == "christoffel")
    S = Mdot @ (2 * arm.coriolis_matrix(q, v))
    assert not np.allclose(S, -S.T, atol=1e-3)


def stacked(D, q):
    """∂M/∂θ: the derivatives by each coordinate, one below the other."""
    return sp.Matrix.vstack(*[D.diff(s) for s in q])


def kronecker(s):
    """Ṁ and U by the printed products."""
    v, n = sp.Matrix(s.v), len(s.v)
    dM = stacked(s.D, s.q)
    return sp.kronecker_product(v.T, sp.eye(n)) * dM, sp.kronecker_product(sp.eye(n), v.T) * dM


def test_fakhari_2_l366_to_l370_standard_c_by_kronecker_products():
    """Ṁ = (θ̇ᵀ⊗I)∂M/∂θ; ½(Ṁ + Uᵀ − U) is the C of the Christoffel symbols; Ṁ − ½U and Uᵀ − ½U give c as well."""
    s = abstract(3)
    Mdot, U = kronecker(s)
    v = sp.Matrix(s.v)
    confirm(Mdot, s.Ddot)
    confirm((Mdot + U.T - U) / 2, s.C())
    for C in (Mdot - U / 2, U.T - U / 2):
        confirm(C * v, s.c)
        assert differ(s.Ddot - 2 * C, -(s.Ddot - 2 * C).T)  # and neither is standard


def test_fakhari_2_l374_to_l380_kronecker_product_and_matrix_derivative():
    """A⊗B = [a_ij B] is mp×nq; ∂A/∂x for x in R^p is mp×n, its blocks run to x_p (printed x_n): only then is
    Ṁ = (θ̇ᵀ⊗I) ∂M/∂θ, also for a matrix that is not as wide as there are joints."""
    arm, (q, v, _) = dl.load("panda"), state(7, 3)
    for f, rows, columns in ((arm.mass_matrix, 7, 7), (arm.jacobian, 6, 7), (lambda x: arm.jacobian(x)[:, :3], 6, 3)):
        derivative = np.vstack([central(f, q, unit) for unit in np.eye(7)])
        assert derivative.shape == (rows * 7, columns)
        product = np.kron(v[None], np.eye(rows))
        assert product.shape == (rows, rows * 7) and np.allclose(product @ derivative, central(f, q, v), atol=1e-8)
    Mdot = np.kron(v[None], np.eye(7)) @ np.vstack([central(arm.mass_matrix, q, unit) for unit in np.eye(7)])
    assert np.allclose(Mdot, arm.mass_matrix_dot(q, v), atol=1e-8)


def test_fakhari_2_l390_l400_gravity_and_potential():
    """g = ∂𝒫/∂θ, and ∫ gᵀθ̇ dt = 𝒫(θ(t_f)) − 𝒫(θ(0)) along a path."""
    arm = dl.load("ur5e")
    q, dq = state(6, 1)[0], state(6, 2)[1]
    assert np.isclose(arm.gravity_torque(q) @ dq, central(arm.potential_energy, q, dq), atol=1e-8)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t, w = (nodes + 1) / 2, weights / 2
    path = q + np.sin(t)[:, None] * dq + (t**2)[:, None] * q[::-1]
    speed = np.cos(t)[:, None] * dq + 2 * t[:, None] * q[::-1]
    work = w @ np.einsum("ti,ti->t", arm.gravity_torque(path), speed)
    end = q + np.sin(1) * dq + q[::-1]
    assert np.isclose(work, arm.potential_energy(end) - arm.potential_energy(q), rtol=1e-10)
    assert dl.load("planar-2r").potential_energy([-np.pi / 2, 0.0]) < 0  # 𝒫 itself may have any sign


def test_fakhari_2_l393_gravity_is_bounded():
    """‖g‖ ≤ g_b for a revolute arm (the index is printed h in places)."""
    arm = dl.load("ur5e")
    g_ = arm.gravity_torque(np.random.default_rng(2).uniform(-10, 10, (5000, 6)))
    reach, weight = 2.0, arm.mass * 9.81  # no center of mass is farther than 2 m from any axis
    assert np.abs(g_).max() <= reach * weight


# ------------------------------------------------------------------------------------------------ example 2R
def test_fakhari_2_l408_example_terms():
    """c and g of the 2R arm with point masses."""
    confirm([-k * (2 * v1 * v2 + v2**2), k * v1**2], list(points().c))
    confirm([(m1 + m2) * l1 * g * c1 + m2 * g * l2 * c12, m2 * g * l2 * c12], list(points().g))


def test_fakhari_2_l420_to_l426_norm_of_the_mass_matrix():
    """‖M‖₁ is the first column's sum for |θ₂| ≤ π/2, between m₁ (cos θ₂ = 0) and m₂ (cos θ₂ = 1)."""
    M = points().M
    columns = [sp.expand(M[0, j] + M[1, j]) for j in range(2)]  # entries are ≥ 0 for cos θ₂ ≥ 0
    printed = m1 * l1**2 + m2 * (l1**2 + 2 * l1 * l2 * c2 + l2**2) + m2 * (l1 * l2 * c2 + l2**2)
    confirm(printed, columns[0])
    confirm(columns[0] - columns[1], (m1 + m2) * l1**2 + 2 * m2 * l1 * l2 * c2)  # ≥ 0: the larger column
    upper = (m1 + m2) * l1**2 + 2 * m2 * l2**2 + 3 * m2 * l1 * l2
    confirm(columns[0].subs(q2, 0), upper)
    confirm(columns[0].subs(q2, sp.pi / 2), upper - 3 * m2 * l1 * l2)
    norms = np.linalg.norm(
        dl.load("planar-2r-points").mass_matrix(np.stack([np.zeros(91), np.linspace(-np.pi / 2, np.pi / 2, 91)], -1)),
        1,
        axis=(1, 2),
    )
    assert np.isclose(norms.min(), 4) and np.isclose(norms.max(), 7)


def test_fakhari_2_l430_to_l436_norm_of_c():
    """‖c‖₁ ≤ m₂L₁L₂(|θ̇₁| + |θ̇₂|)², so c_b = m₂L₁L₂, and no smaller number does."""
    rng = np.random.default_rng(1)
    v = rng.uniform(-2, 2, (2000, 2))
    size = np.abs(2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2) + v[:, 0] ** 2  # sin θ₂ = 1, unit numbers
    bound = np.abs(v).sum(1) ** 2
    assert (size <= bound * (1 + 1e-12)).all() and np.isclose((size / bound).max(), 1, atol=1e-9)
    arm = dl.load("planar-2r-points")
    q = np.tile([0.0, np.pi / 2], (2000, 1))
    assert np.allclose(np.abs(arm.coriolis_torque(q, v)).sum(1), size, atol=1e-11)


def test_fakhari_2_l440_norm_of_g():
    """‖g‖₁ ≤ (m₁ + m₂)gL₁ + 2m₂gL₂, reached at θ = 0."""
    arm = dl.load("planar-2r-points")
    grid = np.stack(np.meshgrid(*[np.linspace(-np.pi / 2, np.pi / 2, 41)] * 2), -1)
    size = np.abs(arm.gravity_torque(grid)).sum(-1)
    bound = float(((m1 + m2) * g * l1 + 2 * m2 * g * l2).subs(NUMBERS))
    assert np.isclose(size.max(), bound, rtol=1e-12) and np.isclose(bound, 4 * 9.81)


class Example:
    """Ṁ and U of the 2R arm, by the definitions."""

    def __init__(self):
        M = points().M
        self.Mdot = rate(M, Q, V)
        self.U = sp.Matrix([list(qd.T * M.diff(s)) for s in Q])  # row i: θ̇ᵀ ∂M/∂θ_i


def test_fakhari_2_l448_standard_c():
    """C = ½(Ṁ + Uᵀ − U) of the example."""
    x = Example()
    printed = sp.Matrix([[-v2 * k, -(v1 + v2) * k], [v1 * k, 0]])
    confirm(printed, (x.Mdot + x.U.T - x.U) / 2)
    confirm(printed, points().C)


def test_fakhari_2_l451_matrix_u():
    """U = [0 0; −(2θ̇₁ + θ̇₂)k, −θ̇₁k]."""
    confirm([[0, 0], [-(2 * v1 + v2) * k, -v1 * k]], Example().U)


def test_fakhari_2_l456_mdot_minus_half_u():
    """Ṁ − ½U of the example."""
    x = Example()
    printed = sp.Matrix([[-2 * v2 * k, -v2 * k], [(v1 - v2 / 2) * k, v1 * k / 2]])
    confirm(printed, x.Mdot - x.U / 2)
    confirm(printed * qd, points().c)


def test_fakhari_2_l458_u_transposed_minus_half_u():
    """Uᵀ − ½U: the last entry is −½θ̇₁m₂L₁L₂ sin θ₂; with the printed plus, Cθ̇ is not c."""
    x = Example()
    matrix = lambda sign: sp.Matrix([[0, -(2 * v1 + v2) * k], [(v1 + v2 / 2) * k, sign * v1 * k / 2]])  # noqa: E731
    misprint(matrix(1), matrix(-1), x.U.T - x.U / 2)
    misprint(matrix(1) * qd, matrix(-1) * qd, points().c)
    arm, (q, v, _) = dl.load("planar-2r-points"), state(2, 3)
    here = {q1: q[0], q2: q[1], v1: v[0], v2: v[1], l1: 1, l2: 1, m2: 1}
    library = arm.coriolis_matrix(q, v, "ut-u/2")
    assert np.allclose(library, np.array(matrix(-1).subs(here), float), atol=1e-13)
    assert not np.allclose(library, np.array(matrix(1).subs(here), float), atol=1e-3)


def test_fakhari_2_l468_christoffel_matrices():
    """Γ₁ = [0 −k; −k −k], Γ₂ = [k 0; 0 0]: printed are three entries in a row, Γ₁ under the name Γ₂, and no Γ₂."""
    G = second_derivatives(points().c, V)
    first, second = (sp.Matrix(2, 2, lambda i, j: G[i][j][row]) for row in range(2))  # noqa: B023
    confirm(sp.Matrix([[0, -k], [-k, -k]]), first)
    confirm(sp.Matrix([[k, 0], [0, 0]]), second)
    misprint(sp.Matrix([[0, -k], [-k, -k]]), sp.Matrix([[k, 0], [0, 0]]), second)  # what stands under Γ₂
    confirm([(qd.T * x * qd)[0] for x in (first, second)], list(points().c))


def test_fakhari_2_l472_largest_symbols():
    """max|Γ₁₁₁| = 0, max|Γ₁| elsewhere and max|Γ₂₁₁| = m₂L₁L₂, the rest 0, so c_b = 4m₂L₁L₂ by n² max|Γ|."""
    G = points().gamma
    top = {(kk, i, j): abs(G[i][j][kk].subs(q2, sp.pi / 2)) for kk in range(2) for i in range(2) for j in range(2)}
    for (kk, i, j), value in top.items():
        wanted = {0: 0 if i == j == 0 else m2 * l1 * l2, 1: m2 * l1 * l2 if i == j == 0 else 0}[kk]
        confirm(value, wanted)
    confirm(4 * m2 * l1 * l2, 2**2 * top[1, 0, 0])
    v = np.random.default_rng(3).normal(size=(500, 2))
    c = dl.load("planar-2r-points").coriolis_torque(np.tile([0.0, np.pi / 2], (500, 1)), v)
    assert (np.linalg.norm(c, axis=1) <= 4 * (v**2).sum(1)).all()


# --------------------------------------------------------------------------------------- linear parameters
def test_fakhari_2_l478_l482_regressor():
    """τ = Yπ with friction; 12 parameters a joint (10 inertial, F_v, F_s), and fewer of them matter."""
    arm, (q, v, a) = dl.load("ur5e"), state(6, 5)
    Y = arm.regressor(q, v, a, friction=True)
    assert Y.shape == (6, 12 * 6)
    tau = arm.inverse_dynamics(q, v, a, friction=True)
    assert np.allclose(Y @ arm.parameters(friction=True), tau - arm_rotor(arm, a), atol=CLOSE)
    many = np.random.default_rng(4).uniform(-2, 2, (3, 60, 6))
    tall = arm.regressor(*many, friction=True).reshape(-1, 72)
    assert np.linalg.matrix_rank(tall) < 72


def arm_rotor(arm, a):
    """Torque of the reflected rotors, which have columns of their own."""
    drives = [joint.drive for joint in arm.description.joints if joint.kind not in ("fixed",)]
    return np.array([d.gear_ratio**2 * d.rotor_inertia for d in drives]) * a


def friction_2r():
    """The 2R arm's torques with friction, and π = (m₁, m₂, F_s1, F_v1, F_s2, F_v2)."""
    Fs1, Fv1, Fs2, Fv2, S1, S2 = sp.symbols("F_s1 F_v1 F_s2 F_v2 sgn1 sgn2")
    tau = points().M * qdd + points().c + points().g
    tau += sp.Matrix([Fv1 * v1 + Fs1 * S1, Fv2 * v2 + Fs2 * S2])
    return tau, [m1, m2, Fs1, Fv1, Fs2, Fv2], (S1, S2)


def test_fakhari_2_l489_first_torque():
    """τ₁ of the 2R arm with friction, printed in full."""
    tau, pi, (S1, _) = friction_2r()
    printed = (m1 * l1**2 + m2 * (l1**2 + 2 * l1 * l2 * c2 + l2**2)) * A[0] + m2 * (l1 * l2 * c2 + l2**2) * A[1]
    printed += -k * (2 * v1 * v2 + v2**2) + (m1 + m2) * l1 * g * c1 + m2 * g * l2 * c12 + pi[3] * v1 + pi[2] * S1
    confirm(printed, tau[0])


def test_fakhari_2_l503_to_l505_regressor_of_the_example():
    """Y of the example, all its entries, against ∂τ/∂π."""
    tau, pi, (S1, S2) = friction_2r()
    Y11 = l1**2 * A[0] + g * l1 * c1
    Y12 = (l1**2 + l2**2 + 2 * l1 * l2 * c2) * A[0] + (l2**2 + l1 * l2 * c2) * A[1]
    Y12 += -l1 * l2 * (2 * v1 * v2 + v2**2) * s2 + g * l1 * c1 + g * l2 * c12
    Y22 = (l2**2 + l1 * l2 * c2) * A[0] + l2**2 * A[1] + l1 * l2 * v1**2 * s2 + g * l2 * c12
    Y = sp.Matrix([[Y11, Y12, S1, v1, 0, 0], [0, Y22, 0, 0, S2, v2]])
    confirm(Y, tau.jacobian(pi))
    confirm(Y * sp.Matrix(pi), tau)
