"""[Fakhari 3], task space, constraints, identification, URDF: its formulas by the line of the text where they stand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.constrained import couple, plane
from dalembert.describe.check import check
from dalembert.describe.mass import verdict
from notes.derive import (
    SWAP,
    A,
    Q,
    V,
    ad,
    central,
    confirm,
    differ,
    l1,
    l2,
    m1,
    m2,
    points,
    q1,
    q2,
    qd,
    rate,
    rounds,
    same,
    state,
    v1,
    v2,
)

CLOSE = 1e-9
s1, c1, s12, c12 = sp.sin(q1), sp.cos(q1), sp.sin(q1 + q2), sp.cos(q1 + q2)


# ---------------------------------------------------------------------------------------------- task space
class Task:
    """The 2R arm's tip as a task: everything of the notes' first page, at a state of no meaning."""

    def __init__(self):
        self.arm = dl.load("planar-2r")
        self.q, self.v, self.a = np.array([0.4, 1.1]), np.array([0.7, -0.5]), np.array([0.3, 0.9])
        self.J = self.jacobian(self.q)
        self.Jdot = central(self.jacobian, self.q, self.v)
        self.M, self.c = self.arm.mass_matrix(self.q), self.arm.coriolis_torque(self.q, self.v)
        self.g = self.arm.gravity_torque(self.q)
        self.inv = np.linalg.inv(self.J)
        self.twist = self.J @ self.v
        self.twist_rate = self.Jdot @ self.v + self.J @ self.a
        self.M_C = self.inv.T @ self.M @ self.inv
        self.c_C = self.inv.T @ self.c - self.M_C @ self.Jdot @ self.inv @ self.twist
        self.g_C = self.inv.T @ self.g

    def jacobian(self, q):
        return self.arm.jacobian(q)[:2]


@pytest.fixture(scope="module")
def task():
    return Task()


def test_fakhari_3_l013_to_l019_twist_and_its_rate(task):
    """𝒱 = Jθ̇, 𝒱̇ = J̇θ̇ + Jθ̈, and θ̇, θ̈ back from them."""
    tip = lambda q: task.arm.fk(q)[:2, 3]  # noqa: E731
    assert np.allclose(task.twist, central(tip, task.q, task.v), atol=CLOSE)
    along_path = lambda s: tip(task.q + s * task.v + s**2 / 2 * task.a)  # noqa: E731
    h = 1e-3
    second = (16 * (along_path(h) + along_path(-h)) - along_path(2 * h) - along_path(-2 * h) - 30 * along_path(0)) / (
        12 * h**2
    )
    assert np.allclose(task.twist_rate, second, atol=1e-7)
    back = task.inv @ task.twist_rate - task.inv @ task.Jdot @ task.inv @ task.twist
    assert np.allclose(back, task.a, atol=CLOSE)


def test_fakhari_3_l021_to_l028_task_space_dynamics(task):
    """J⁻ᵀτ = M_C 𝒱̇ + c_C + g_C + F_tip with M_C, c_C, g_C as printed."""
    F = np.array([2.0, -3.0])
    wrench = np.r_[F, np.zeros(4)]
    tau = task.arm.inverse_dynamics(task.q, task.v, task.a, wrenches={task.arm.tip: -wrench})
    assert np.allclose(task.inv.T @ tau, task.M_C @ task.twist_rate + task.c_C + task.g_C + F, atol=CLOSE)
    assert np.allclose(
        tau,
        task.M @ (task.inv @ task.twist_rate - task.inv @ task.Jdot @ task.inv @ task.twist)
        + task.c
        + task.g
        + task.J.T @ F,
        atol=CLOSE,
    )


def test_fakhari_3_l031_redundant_form():
    """M_C = (J M⁻¹ Jᵀ)⁻¹: the least energy of all q̇ that give a twist is ½ 𝒱ᵀM_C𝒱; square J gives J⁻ᵀMJ⁻¹."""
    arm, (q, *_), xi = dl.load("panda"), state(7, 1), np.array([0.1, 0.2, -0.3, 0.4, -0.5, 0.6])
    J, M = arm.jacobian(q), arm.mass_matrix(q)
    M_C = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    kkt = np.block([[M, J.T], [J, np.zeros((6, 6))]])
    least = np.linalg.solve(kkt, np.r_[np.zeros(7), xi])[:7]
    assert np.allclose(J @ least, xi, atol=CLOSE)
    assert np.isclose(least @ M @ least, xi @ M_C @ xi, rtol=1e-9)
    square = J[:, :6]
    N = M[:6, :6]
    both = np.linalg.inv(square @ np.linalg.solve(N, square.T))
    assert np.allclose(both, np.linalg.inv(square).T @ N @ np.linalg.inv(square), rtol=1e-6)


def test_fakhari_3_l041_to_l046_capital_c(task):
    """c_C(θ, 𝒱) = C_C(θ, 𝒱) 𝒱 with C_C = (J⁻ᵀC − M_C J̇) J⁻¹; the last line prints the vector c_C times 𝒱."""
    C = task.arm.coriolis_matrix(task.q, task.v)
    C_C = (task.inv.T @ C - task.M_C @ task.Jdot) @ task.inv
    assert np.allclose(C_C @ task.twist, task.c_C, atol=CLOSE)
    assert np.shape(task.c_C @ task.twist) == ()  # as printed: a number, and c_C has two components
    assert not np.allclose(task.c_C * task.twist, task.c_C, atol=1e-2)


def test_fakhari_3_l048_mass_depends_on_the_joints_not_on_the_pose():
    """Two solutions of one pose have two different M_C."""
    arm = dl.load("planar-2r")
    up, down = np.array([0.2, 0.9]), np.array([1.1, -0.9])
    assert np.allclose(arm.fk(up)[:2, 3], arm.fk(down)[:2, 3], atol=1e-12)

    def M_C(q):
        J = np.linalg.inv(arm.jacobian(q)[:2])
        return J.T @ arm.mass_matrix(q) @ J

    assert not np.allclose(M_C(up), M_C(down), atol=1e-2)


@pytest.mark.parametrize("where", ["spatial", "local"])
def test_fakhari_3_l052_to_l060_columns_of_the_rate(where):
    """∂J_i/∂θ_j = [ad_{J_j}] J_i for i > j (space), [ad_{J_i}] J_j for i < j (body), else 0; twists (ω, v)."""
    arm, (q, v, _) = dl.load("ur5e"), state(6, 2)
    f = lambda x: SWAP @ arm.jacobian(x, expressed_in=where)  # noqa: E731
    J, total = f(q), np.zeros((6, 6))
    for j in range(6):
        partial = central(f, q, np.eye(6)[j])
        for i in range(6):
            if where == "spatial":
                printed = ad(J[:, j]) @ J[:, i] if i > j else np.zeros(6)
            else:
                printed = ad(J[:, i]) @ J[:, j] if i < j else np.zeros(6)
            assert np.allclose(partial[:, i], printed, atol=CLOSE), (i, j)
            total[:, i] += printed * v[j]
    assert np.allclose(total, SWAP @ arm.jacobian_dot(q, v, expressed_in=where), atol=CLOSE)


def test_fakhari_3_l066_to_l075_analytic_form():
    """F = M_C ẍ + C_C ẋ + g_C with the analytic Jacobian, and F = J_a⁻ᵀ Y π."""
    arm, (q, v, a) = dl.load("puma560"), state(6, 3)
    J, inv = arm.analytic_jacobian(q), np.linalg.inv(arm.analytic_jacobian(q))
    Jdot = central(arm.analytic_jacobian, q, v)
    xd, xdd = J @ v, Jdot @ v + J @ a
    M_C = inv.T @ arm.mass_matrix(q) @ inv
    C_C = (inv.T @ arm.coriolis_matrix(q, v) - M_C @ Jdot) @ inv
    F = M_C @ xdd + C_C @ xd + inv.T @ arm.gravity_torque(q)
    tau = arm.inverse_dynamics(q, v, a)
    assert np.allclose(J.T @ F, tau, atol=1e-7)
    Y = arm.regressor(q, v, a, rotor=True)
    assert np.allclose(inv.T @ Y @ arm.parameters(rotor=True), F, rtol=1e-6)


def test_fakhari_3_l072_to_l074_inherited_properties(task):
    """M_C symmetric positive definite; Ṁ_C − 2C_C skew for the standard C, and not for another one."""

    def M_C(q):
        inv = np.linalg.inv(task.jacobian(q))
        return inv.T @ task.arm.mass_matrix(q) @ inv

    assert np.allclose(task.M_C, task.M_C.T, atol=1e-12) and np.linalg.eigvalsh(task.M_C).min() > 0
    rate_of = central(M_C, task.q, task.v)
    for choice, skew in (("christoffel", True), ("ut-u/2", False)):
        C = task.arm.coriolis_matrix(task.q, task.v, choice)
        S = rate_of - 2 * (task.inv.T @ C - task.M_C @ task.Jdot) @ task.inv
        assert np.allclose(S, -S.T, atol=1e-7) == skew


def test_fakhari_3_l073_mass_is_not_bounded_near_a_singularity():
    """J nonsingular at each θ is not enough for a bound above: M_C grows like 1/θ₂² as θ₂ → 0."""
    arm = dl.load("planar-2r")
    sizes = []
    for angle in (1e-1, 1e-2, 1e-3):
        inv = np.linalg.inv(arm.jacobian([0.3, angle])[:2])
        sizes.append(np.linalg.norm(inv.T @ arm.mass_matrix([0.3, angle]) @ inv, 2))
    assert sizes[1] > 90 * sizes[0] and sizes[2] > 90 * sizes[1]


# --------------------------------------------------------------------------------------------- constraints
class Held:
    """An arm of n = 7 joints with its tip in a plane and two joints coupled, k = 2; θ̈, λ and P by the library."""

    def __init__(self):
        arm, (q, v, _) = dl.load("panda"), state(7, 5)
        first, second = arm.joint_names[:2]
        held = [plane(arm.fk(q)[:3, 3], (0, 0, 1)), couple({first: 1.0, second: -1.0}, q[0] - q[1])]
        system = dl.Constrained(arm, held)
        self.n, self.k, self.A = system.n, system.k, system.jacobian(q)
        self.Z = np.linalg.svd(self.A)[2][self.k :].T  # tangent directions, A Z = 0
        self.v = self.Z @ (self.Z.T @ v)
        self.M, self.h = arm.mass_matrix(q), arm.bias_torque(q, self.v)
        self.tau, self.b = np.random.default_rng(8).normal(size=self.n), system.jacobian_dot(q, self.v) @ self.v
        self.a, self.lam = system.forward_dynamics(q, self.v, self.tau)
        self.P, self.Pa = system.projection(q), system.acceleration_projection(q)


@pytest.fixture(scope="module")
def held():
    return Held()


def test_fakhari_3_l107_to_l119_workless_forces(held):
    """τ_con = Aᵀλ does no work along any motion with Aθ̇ = 0, and every such τ_con is of this form."""
    tau_con = held.tau - held.M @ held.a - held.h
    assert np.allclose(held.Z.T @ tau_con, 0, atol=CLOSE) and abs(tau_con @ held.v) < CLOSE
    assert np.allclose(tau_con, held.A.T @ held.lam, atol=CLOSE)


def test_fakhari_3_eq_1_2_constrained_motion(held):
    """(1) and (2): the motion found by projection satisfies both with some λ."""
    rest = held.tau - held.M @ held.a - held.h
    lam, residual, *_ = np.linalg.lstsq(held.A.T, rest, rcond=None)
    assert np.allclose(held.A.T @ lam, rest, atol=CLOSE) and np.allclose(held.A @ held.a + held.b, 0, atol=CLOSE)
    assert np.allclose(lam, held.lam, atol=CLOSE) and residual.max() < 1e-18


def test_fakhari_3_eq_3_4_multipliers(held):
    """λ = (AM⁻¹Aᵀ)⁻¹(AM⁻¹(τ − h) + Ȧθ̇) and θ̈ = M⁻¹(τ − h − Aᵀλ) (printed twice)."""
    W = np.linalg.inv(held.M)
    lam = np.linalg.solve(held.A @ W @ held.A.T, held.A @ W @ (held.tau - held.h) + held.b)
    assert np.allclose(lam, held.lam, atol=CLOSE)
    assert np.allclose(np.linalg.solve(held.M, held.tau - held.h - held.A.T @ lam), held.a, atol=CLOSE)


def test_fakhari_3_eq_5_projection(held):
    """Pτ = P(Mθ̈ + h), P² = P, rank n − k."""
    P, W = held.P, np.linalg.inv(held.M)
    assert np.allclose(P, np.eye(held.n) - held.A.T @ np.linalg.inv(held.A @ W @ held.A.T) @ held.A @ W, atol=CLOSE)
    assert np.allclose(P @ held.tau, P @ (held.M @ held.a + held.h), atol=CLOSE)
    assert np.allclose(P @ P, P, atol=CLOSE) and np.linalg.matrix_rank(P) == held.n - held.k
    assert np.allclose(P @ held.A.T, 0, atol=CLOSE)


def test_fakhari_3_eq_5_alone_does_not_hold_the_constraint(held):
    """The arrow both ways in (5) wants Aθ̈ + Ȧθ̇ = 0 kept beside it: a θ̈ that breaks it satisfies (5) as well."""
    other = held.a + np.linalg.solve(held.M, held.A.T @ np.ones(held.k))
    assert np.allclose(held.P @ held.tau, held.P @ (held.M @ other + held.h), atol=CLOSE)
    assert np.abs(held.A @ other + held.b).max() > 1e-2


def test_fakhari_3_l155_to_l157_wrench_at_the_tip():
    """JᵀF_tip = Aᵀλ, F_tip = J⁻ᵀAᵀλ, without a component along the allowed motion."""
    arm, (q, *_) = dl.load("ur5e"), state(6, 5)
    J, normal = arm.jacobian(q), np.array([[0.6, 0.8, 0, 0, 0, 0]])  # the tip slides on a plane
    A_, lam = normal @ J, np.array([3.0])
    F = np.linalg.solve(J.T, A_.T @ lam)
    allowed = np.linalg.svd(A_)[2][1:].T
    assert np.allclose(J.T @ F, A_.T @ lam, atol=CLOSE) and np.allclose(F @ J @ allowed, 0, atol=CLOSE)


def test_fakhari_3_l165_the_two_parts_of_the_torque(held):
    """τ = Pτ + (I − P)τ holds, but not term by term: (I − P)τ is Aᵀλ only without h and Ȧθ̇."""
    rest = (np.eye(held.n) - held.P) @ held.tau
    assert np.allclose(held.P @ held.tau + rest, held.tau, atol=CLOSE)
    assert not np.allclose(rest, held.A.T @ held.lam, atol=1e-2)
    W = np.linalg.inv(held.M)
    bias = held.A.T @ np.linalg.solve(held.A @ W @ held.A.T, held.b - held.A @ W @ held.h)
    assert np.allclose(rest + bias, held.A.T @ held.lam, atol=CLOSE)


def test_fakhari_3_l171_to_l175_projection_of_accelerations(held):
    """P_θ̈ = M⁻¹PM = I − M⁻¹Aᵀ(AM⁻¹Aᵀ)⁻¹A, rank n − k, P_θ̈ θ̈ = P_θ̈ M⁻¹(τ − h)."""
    W, A_ = np.linalg.inv(held.M), held.A
    Pa = held.Pa
    assert np.allclose(Pa, W @ held.P @ held.M, atol=CLOSE)
    assert np.allclose(Pa, np.eye(held.n) - W @ A_.T @ np.linalg.inv(A_ @ W @ A_.T) @ A_, atol=CLOSE)
    assert np.linalg.matrix_rank(Pa) == held.n - held.k
    assert np.allclose(Pa @ held.a, Pa @ W @ (held.tau - held.h), atol=CLOSE)


# ------------------------------------------------------------------------------------------ 2R in a channel
AT = {q1: -sp.pi / 3, q2: 2 * sp.pi / 3, v1: 1, v2: 0, l1: 1, l2: 1, m1: 1, m2: 1}
root = sp.sqrt(3)
ROD = {l1: 1, l2: 1}


def tip():
    """(x, y) of the tip for L₁ = L₂ = 1, by the library."""
    return points().tip[:2, :].subs(ROD)


def tip_jacobian():
    return points().J[:2, :].subs(ROD)


tau1, tau2, lam, f, b1 = sp.symbols("tau1 tau2 lambda f b1")


def channel():
    """J, J̇, A, Ȧ, M, h of the example at its state, exact."""
    arm = points()
    J = tip_jacobian()
    Jdot = rate(J, Q, V)
    return [x.subs(AT).applyfunc(sp.nsimplify) for x in (J, Jdot, J[0, :], Jdot[0, :], arm.M, arm.c)]


def solved():
    """θ̈ and λ of the example from the multiplier equations themselves."""
    _, _, A_, Adot, M, h = channel()
    x = sp.Matrix(sp.symbols("x1 x2"))
    equations = [*(M * x + h + A_.T * lam - sp.Matrix([tau1, tau2])), (Adot * sp.Matrix([1, 0]) + A_ * x)[0]]
    return sp.solve(equations, [*x, lam]), x


def test_fakhari_3_l198_mass_matrix():
    """M of the 2R arm with point masses."""
    L1, L2, c2 = l1, l2, sp.cos(q2)
    d12 = m2 * (L1 * L2 * c2 + L2**2)
    confirm([[m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * c2 + L2**2), d12], [d12, m2 * L2**2]], points().M)


def test_fakhari_3_l200_velocity_terms():
    """c of the 2R arm."""
    k = m2 * l1 * l2 * sp.sin(q2)
    confirm([-k * (2 * v1 * v2 + v2**2), k * v1**2], list(points().c))


def test_fakhari_3_l212_tip_and_jacobian():
    """(x, y) and J for L₁ = L₂ = 1."""
    confirm([c1 + c12, s1 + s12], list(tip()))
    confirm([[-s1 - s12, -s12], [c1 + c12, c12]], tip_jacobian())


def test_fakhari_3_l214_rate_of_the_jacobian():
    """The matrix is J̇ (its label has lost the dot): ẍ = Jθ̈ + J̇θ̇; J itself in its place would be wrong."""
    w = v1 + v2
    printed = sp.Matrix([[-v1 * c1 - w * c12, -w * c12], [-v1 * s1 - w * s12, -w * s12]])
    confirm(printed, rate(tip_jacobian(), Q, V))
    acceleration = rate(rate(tip(), Q, V), Q, V, A)
    confirm(tip_jacobian() * sp.Matrix(A) + printed * qd, acceleration)
    assert differ(tip_jacobian() * sp.Matrix(A) + tip_jacobian() * qd, acceleration)


def test_fakhari_3_l218_the_constraint_is_one_equation():
    """A(θ)θ̇ is 1×1: the right side is the number 0, not a column of two zeros."""
    row = sp.Matrix([[-s1 - s12, -s12]])
    confirm(row * qd, rate(tip()[:1, :], Q, V))
    assert (row * qd).shape == (1, 1) != sp.zeros(2, 1).shape


def test_fakhari_3_l220_rate_of_the_constraint():
    """Ȧ."""
    w = v1 + v2
    confirm([[-v1 * c1 - w * c12, -w * c12]], rate(tip_jacobian()[0, :], Q, V))


def test_fakhari_3_l224_joint_rates():
    """(θ̇₁, θ̇₂) = (1, 0) from (ẋ, ẏ) = (0, 1), and the tip is on x = 1."""
    J = channel()[0]
    confirm(J.inv() * sp.Matrix([0, 1]), sp.Matrix([1, 0]))
    confirm(tip()[0].subs(AT), 1)


def test_fakhari_3_l226_to_l230_numbers_at_the_state():
    """A = [0, −0.866], Ȧ = [−1, −0.5], M = [2 0.5; 0.5 1], h = (0, 0.866)."""
    _, _, A_, Adot, M, h = channel()
    confirm(A_, sp.Matrix([[0, -root / 2]]))
    confirm(Adot, sp.Matrix([[-1, -sp.Rational(1, 2)]]))
    confirm(M, sp.Matrix([[2, sp.Rational(1, 2)], [sp.Rational(1, 2), 1]]))
    confirm(h, sp.Matrix([0, root / 2]))
    assert rounds(0.866, root / 2)


def test_fakhari_3_l234_multiplier():
    """λ = 0.289 τ₁ − 1.155 τ₂ − 0.167."""
    value = sp.expand(solved()[0][lam])
    assert rounds(0.289, value.coeff(tau1)) and rounds(-1.155, value.coeff(tau2))
    assert rounds(-0.167, value.subs({tau1: 0, tau2: 0}))


def test_fakhari_3_l236_accelerations():
    """θ̈₁ = 0.5 τ₁ + 0.289, θ̈₂ = −1.155."""
    found, x = solved()
    first, second = sp.expand(found[x[0]]), sp.expand(found[x[1]])
    confirm(first, tau1 / 2 + root / 6)
    confirm(second, -2 / root)
    assert rounds(0.289, root / 6) and rounds(-1.155, -2 / root)


def test_fakhari_3_l242_jacobian_at_the_state():
    """J = [0 −0.866; 1 0.5]."""
    confirm(sp.Matrix([[0, -root / 2], [1, sp.Rational(1, 2)]]), channel()[0])


def test_fakhari_3_l246_force_on_the_channel():
    """J⁻ᵀ = [0.577 −1.155; 1 0] and F_tip = (λ, 0)."""
    J, _, A_, *_ = channel()
    confirm(J.inv().T, sp.Matrix([[1 / root, -2 / root], [1, 0]]))
    assert rounds(0.577, 1 / root) and rounds(-1.155, -2 / root)
    confirm(J.inv().T * A_.T, sp.Matrix([1, 0]))


def test_fakhari_3_l250_without_torque():
    """F_tip = (−0.167, 0) for τ = 0, and the free tip would accelerate to the left."""
    J, Jdot, _, _, M, h = channel()
    assert rounds(-0.167, solved()[0][lam].subs({tau1: 0, tau2: 0}))
    free = J * (-M.inv() * h) + Jdot * sp.Matrix([1, 0])
    confirm(free[0], -sp.Rational(1, 7))


def test_fakhari_3_l258_desired_force():
    """JᵀF = Aᵀλ with F = (f, 0) gives λ = f."""
    J, _, A_, *_ = channel()
    found = sp.solve(list(J.T * sp.Matrix([f, 0]) - A_.T * lam), lam)
    confirm(found[lam], f)


def test_fakhari_3_l260_second_acceleration():
    """Ȧθ̇ + Aθ̈ = 0 gives θ̈₂ = −1.155 and leaves θ̈₁ free."""
    _, _, A_, Adot, *_ = channel()
    x = sp.Matrix(sp.symbols("x1 x2"))
    residual = sp.expand((Adot * sp.Matrix([1, 0]) + A_ * x)[0])
    assert residual.coeff(x[0]) == 0 and same(sp.solve(residual, x[1])[0], -2 / root)


def test_fakhari_3_l262_torques():
    """τ₁ = 2θ̈₁ − 0.577 (−1/√3; the printed 0.578 is half of the rounded 1.155), τ₂ = 0.5θ̈₁ − 0.866f − 0.289."""
    _, _, A_, _, M, h = channel()
    tau = (M * sp.Matrix([b1, -2 / root]) + h + A_.T * f).applyfunc(sp.expand)
    constant = tau[0] - 2 * b1
    confirm(constant, -1 / root)
    assert rounds(-0.577, constant) and not rounds(-0.578, constant)
    confirm(tau[1], b1 / 2 - root / 2 * f - root / 6)
    assert rounds(0.289, root / 6)


def test_fakhari_3_l266_projection():
    """P = [1 0; 0.25 0], I − P = [0 0; −0.25 1]."""
    _, _, A_, _, M, _ = channel()
    P = sp.eye(2) - A_.T * (A_ * M.inv() * A_.T).inv() * A_ * M.inv()
    confirm(P, sp.Matrix([[1, 0], [sp.Rational(1, 4), 0]]))
    confirm(sp.eye(2) - P, sp.Matrix([[0, 0], [-sp.Rational(1, 4), 1]]))
    confirm(P * P, P)


def test_fakhari_3_example_by_the_library():
    """The same example through the numeric kernels: M, c and J of the bundled arm."""
    arm, q, v = dl.load("planar-2r-points"), np.array([-np.pi / 3, 2 * np.pi / 3]), np.array([1.0, 0.0])
    J, _, _, _, M, h = (np.array(x.evalf(), float) for x in channel())
    assert np.allclose(arm.mass_matrix(q), M, atol=1e-12) and np.allclose(arm.jacobian(q)[:2], J, atol=1e-12)
    assert np.allclose(arm.coriolis_torque(q, v), h.ravel(), atol=1e-12)


# ------------------------------------------------------------------------------------- identification, URDF
def test_fakhari_3_l302_friction_in_the_regressor():
    """τ = Mθ̈ + Cθ̇ + g + F_vθ̇ + F_s sgn θ̇ = Yπ."""
    arm, (q, v, a) = dl.load("puma560"), state(6, 6)
    names = arm.parameter_names(friction=True, rotor=True)
    pi = np.random.default_rng(3).uniform(0.1, 1, len(names))
    Y = arm.regressor(q, v, a, friction=True, rotor=True)
    viscous, coulomb = pi[-12:-6], pi[-6:]
    rest = arm.regressor(q, v, a, rotor=True) @ pi[:-12]
    assert np.allclose(Y @ pi, rest + viscous * v + coulomb * np.sign(v), rtol=1e-12)


@pytest.mark.parametrize(("axis", "unit"), [((-0.9, 0.15, 0), False), ((0.707, -0.707, 0), True)])
def test_fakhari_3_l343_l383_axis_is_not_a_unit_vector(axis, unit):
    """The axis of joint1, (−0.9, 0.15, 0), has length 0.912; that of joint3 is 1 to the three digits printed: the
    library warns of the first one only, and makes both unit vectors."""
    joint = dl.describe.Joint("joint1", "revolute", "base", "link", axis=axis)
    body = dl.describe.Inertial(1.0, (0.004, 0.0, 0.0, 0.004, 0.0, 0.007))  # l. 350
    description = dl.describe.Description("arm", (dl.describe.Link("base"), dl.describe.Link("link", body)), (joint,))
    checked = check(description)
    assert np.allclose(checked.joints[0].axis, np.array(axis) / np.linalg.norm(axis), atol=1e-12)
    assert any("axis" in str(w) for w in checked.warnings) != unit


def test_fakhari_3_l350_l409_inertia_is_possible():
    """ixx = iyy = 0.004, izz = 0.007: positive, and within the triangle inequality; with 0.009 it would not be."""
    assert verdict((0.004, 0.0, 0.0, 0.004, 0.0, 0.007)) == "feasible"
    assert verdict((0.004, 0.0, 0.0, 0.004, 0.0, 0.009)) == "triangle"


def test_fakhari_3_l377_l383_joint_of_the_example():
    """rpy about fixed axes, axis in the child's frame: here turned by −1.57 about z, so along (−1, −1, 0) of {L3}."""
    yaw = -1.57
    T = dl.pose(xyz=(0.5, 0, 0), rpy=(0, 0, yaw))
    c, s = np.cos(yaw), np.sin(yaw)
    assert np.allclose(T[:3, :3], [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-15)
    axis = T[:3, :3] @ (0.707, -0.707, 0)
    assert np.allclose(axis, (-0.707, -0.707, 0), atol=2e-3)  # 1.57 is not quite π/2
