"""What holds for every Lagrangian system, as identities and in numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.lagrange.examples import EXAMPLES
from errors import raises
from lagrange.identities import is_zero, same
from tolerances import DIFFERENCE, ROUNDING, SOLVED, error

SYSTEMS = {name: make() for name, make in EXAMPLES.items()}
every = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
FREE = {name: system for name, system in SYSTEMS.items() if not system.A.rows}
HELD = {name: system for name, system in SYSTEMS.items() if system.A.rows}


def states(system, count=7, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (3, count, system.n))


def total_rate(x, system):
    pairs = (
        *zip(system.coordinates, system.velocities, strict=True),
        *zip(system.velocities, system.accelerations, strict=True),
    )
    return sp.Add(*(sp.diff(x, a) * b for a, b in pairs))


@every
def test_euler_lagrange(system):
    """M q̈ + C q̇ + g is d/dt ∂L/∂q̇ − ∂L/∂q, term by term from the definition."""
    L = system.lagrangian
    left = system.M * sp.Matrix(system.accelerations) + system.C * sp.Matrix(system.velocities) + system.g
    for k, (q, v) in enumerate(zip(system.coordinates, system.velocities, strict=True)):
        assert is_zero(total_rate(sp.diff(L, v), system) - sp.diff(L, q) - left[k])


@every
def test_power_balance(system):
    """Ḣ = q̇ᵀτ − 2R, H being the energy q̇ᵀ ∂K/∂q̇ − K + P; constraints do no work."""
    qd, K = sp.Matrix(system.velocities), system.kinetic
    H = qd.dot(sp.Matrix([sp.diff(K, v) for v in qd])) - K + system.potential
    tau = system.M * sp.Matrix(system.accelerations) + system.C * qd + system.g + system.friction
    assert is_zero(total_rate(H, system) - qd.dot(tau) + 2 * system.dissipation_function)


@every
def test_skew_and_symmetric(system):
    Mdot = system.M.applyfunc(lambda x: total_rate(x, system))
    N = Mdot - 2 * system.C
    assert same(N + N.T, sp.zeros(system.n))
    n = range(system.n)
    assert all(system.Gamma[i, j, k] == system.Gamma[j, i, k] for i in n for j in n for k in n)


@every
def test_kernels_agree_with_lambdify(system):
    q, qd, qdd = states(system)
    symbols = [*system.coordinates, *system.velocities, *system.accelerations]
    left = [e.lhs.subs(dict.fromkeys(system.multiplier_symbols, 0)) for e in system.equations[: system.n]]
    matrices = {"mass_matrix": system.M, "coriolis_matrix": system.C, "gravity_torque": system.g}
    calls = {"mass_matrix": (q,), "coriolis_matrix": (q, qd), "gravity_torque": (q,)}
    known = [sp.Matrix(left), *matrices.values()]
    values = sp.lambdify(symbols, [m.subs(system.parameters) for m in known])
    got = [system.inverse_dynamics(q, qd, qdd), *(getattr(system, name)(*calls[name]) for name in matrices)]
    for k in range(len(q)):
        for ours, theirs in zip(got, values(*q[k], *qd[k], *qdd[k]), strict=True):
            assert error(ours[k], np.reshape(theirs, ours[k].shape), scale=1.0) < ROUNDING


@pytest.mark.parametrize("system", FREE.values(), ids=FREE)
def test_forward_inverts_inverse(system):
    q, qd, qdd = states(system)
    for friction in (True, False):
        tau = system.inverse_dynamics(q, qd, qdd, friction=friction)
        assert error(system.forward_dynamics(q, qd, tau, friction=friction), qdd) < SOLVED
    extra = system.inverse_dynamics(q, qd, qdd) - system.inverse_dynamics(q, qd, qdd, friction=False)
    assert error(extra, system.friction_torque(q, qd), scale=1.0) < SOLVED


@pytest.mark.parametrize("system", HELD.values(), ids=HELD)
def test_constraints_hold(system):
    """A q̈ + Ȧ q̇ = 0, λ closes τ = M q̈ + h + Aᵀλ, and Aᵀλ does no work on motions that A allows."""
    q, qd, tau = states(system)
    qdd, lam = system.forward_dynamics(q, qd, tau), system.multipliers(q, qd, tau)
    A, A_dot = system.jacobian(q), system.jacobian_dot(q, qd)
    assert error(np.einsum("bki,bi->bk", A, qdd), -np.einsum("bki,bi->bk", A_dot, qd)) < SOLVED
    assert error(system.inverse_dynamics(q, qd, qdd, lam), tau) < SOLVED
    force = system.constraint_forces(q, qd, tau)
    assert error(force, np.einsum("bki,bk->bi", A, lam)) < SOLVED
    allowed = qd - np.einsum("bik,bk->bi", np.linalg.pinv(A), np.einsum("bki,bi->bk", A, qd))
    assert abs(np.einsum("bi,bi->b", force, allowed)).max() < 1e-12


def test_the_wire_keeps_its_length():
    """d²/dt² |r₁ − r₂|² = 2 |ṙ₁ − ṙ₂|² + 2 (r₁ − r₂)·(r̈₁ − r̈₂) = 0."""
    system = SYSTEMS["two-particles-on-a-wire"]
    q, qd, tau = states(system, 50, seed=5)
    a = system.forward_dynamics(q, qd, tau)
    r, v, w = (x[:, :3] - x[:, 3:] for x in (q, qd, a))
    assert abs((v * v).sum(1) + (r * w).sum(1)).max() < 1e-12


@every
def test_linearization_is_the_derivative(system):
    q, qd, tau = states(system, 1, seed=6)[:, 0]
    A, B = system.linearize(q, qd, tau)
    x, h = np.concatenate([q, qd]), 1e-6

    def f(x, tau):
        return np.concatenate([x[system.n :], system.forward_dynamics(x[: system.n], x[system.n :], tau)])

    by_x = np.column_stack([(f(x + h * e, tau) - f(x - h * e, tau)) / (2 * h) for e in np.eye(2 * system.n)])
    by_tau = np.column_stack([(f(x, tau + h * e) - f(x, tau - h * e)) / (2 * h) for e in np.eye(system.n)])
    assert error(A, by_x) < 10 * DIFFERENCE and error(B, by_tau) < 10 * DIFFERENCE


@every
def test_state_space_is_forward_dynamics(system):
    f, x, u = system.first_order_form()
    q, qd, w = states(system, 1, seed=7)[:, 0]
    inputs = w[: len(u)]
    tau = system.input_matrix(q) @ inputs if system.input_symbols else inputs
    at = {**dict(zip(x, [*q, *qd], strict=True)), **dict(zip(u, inputs, strict=True)), **system.parameters}
    got = np.array(f.subs(at).evalf(20), float).ravel()
    assert error(got, np.concatenate([qd, system.forward_dynamics(q, qd, tau)])) < SOLVED


@every
def test_batches_broadcast_and_objects_travel(system):
    q, qd, qdd = states(system)
    single = [system.inverse_dynamics(q[k], qd[k], qdd[k]) for k in range(len(q))]
    assert np.array_equal(single, system.inverse_dynamics(q, qd, qdd))
    assert system.inverse_dynamics(q, qd[0], qdd[:, None]).shape == (7, 7, system.n)
    out = np.empty_like(q)
    assert system.inverse_dynamics(q, qd, qdd, out=out) is out and np.array_equal(out, single)
    again = pickle.loads(pickle.dumps(system))
    assert again.name == system.name and same(again.M, system.M)
    kernel = pickle.loads(pickle.dumps(system.kernel("inverse_dynamics")))
    assert np.array_equal(kernel(q, qd, qdd), single)
    assert "double" in kernel.c_source()


def test_a_body_in_space_against_the_core():
    """A spinning top by Euler angles: ½ ωᵀIω from S(ω) = RᵀṘ is what the angles' rates give."""
    a, b, c = q = dl.lagrange.coordinates("a b c")
    Rz = lambda x: sp.Matrix([[sp.cos(x), -sp.sin(x), 0], [sp.sin(x), sp.cos(x), 0], [0, 0, 1]])  # noqa: E731
    Rx = lambda x: sp.Matrix([[1, 0, 0], [0, sp.cos(x), -sp.sin(x)], [0, sp.sin(x), sp.cos(x)]])  # noqa: E731
    R = Rz(a) * Rx(b) * Rz(c)
    m, l, I1, I3, g = sp.symbols("m l I1 I3 g", positive=True)
    center = R * sp.Matrix([0, 0, l])
    top = dl.LagrangianSystem.from_bodies(
        q, dl.lagrange.RigidBody(m, sp.diag(I1, I1, I3), center, R), (0, 0, -g), name="top"
    )
    I = I1 + m * l**2
    by_hand = sp.Matrix(
        [[I * sp.sin(b) ** 2 + I3 * sp.cos(b) ** 2, 0, I3 * sp.cos(b)], [0, I, 0], [I3 * sp.cos(b), 0, I3]]
    )
    assert same(top.M, by_hand)
    assert same(top.g, sp.Matrix([0, -m * g * l * sp.sin(b), 0]))


def test_forces_at_points_work_along_their_points():
    """ψ_j = Σ fᵢ · ∂rᵢ/∂q_j: a force on the tip of a planar 2R is Jᵀ f."""
    q1, q2 = dl.lagrange.coordinates("q1 q2")
    l1, l2, F, G = sp.symbols("l1 l2 F G")
    tip = (l1 * sp.cos(q1) + l2 * sp.cos(q1 + q2), l1 * sp.sin(q1) + l2 * sp.sin(q1 + q2))
    system = dl.LagrangianSystem(
        (q1, q2), dl.lagrange.rate(q1) ** 2 + dl.lagrange.rate(q2) ** 2, forces=[((F, G), tip)], inputs=[F, G]
    )
    J = sp.Matrix(tip).jacobian([q1, q2])
    assert same(system.forces, J.T * sp.Matrix([F, G])) and same(system.B, J.T)


def test_large_and_small_numbers_are_not_taken_for_contradictions():
    x, y = dl.lagrange.coordinates("x y")
    for length in (1e-6, 1e-3, 1.0, 1e3, 1e6):
        system = dl.LagrangianSystem.from_bodies(
            (x, y), dl.lagrange.Particle(1, (x, y)), constraints=[x**2 + y**2 - length**2]
        )
        assert system.degrees_of_freedom == 1
    system = dl.LagrangianSystem((x, y), 1e-9 * dl.lagrange.rate(x) ** 2 + 1e9 * dl.lagrange.rate(y) ** 2)
    assert error(system.forward_dynamics([0, 0], [0, 0], [2e-9, 2e9]), [1, 1]) < ROUNDING


@pytest.mark.parametrize(("solver", "accuracy"), [("rk4", 1e-12), ("DOP853", 1e-6)])
def test_simulations_stay_on_their_constraints(solver, accuracy):
    """A bead on a circle for 40 s; a sleigh, which does not slide sideways, and whose blade must not slip."""
    x, y, th = dl.lagrange.coordinates("x y th")
    bead = dl.LagrangianSystem.from_bodies(
        (x, y), dl.lagrange.Particle(1, (x, y)), (0, -9.81), constraints=[x**2 + y**2 - 1]
    )
    run = dl.simulate(bead, q0=[1.0, 0.0], duration=40.0, dt=0.01, solver=solver)
    assert run.ok and np.abs(bead.residual(run.q)).max() < accuracy
    assert np.ptp(run.energy) < 1e-4
    aside = sp.sin(th) * dl.lagrange.rate(x) - sp.cos(th) * dl.lagrange.rate(y)
    energy = (dl.lagrange.rate(x) ** 2 + dl.lagrange.rate(y) ** 2 + dl.lagrange.rate(th) ** 2) / 2
    sleigh = dl.LagrangianSystem((x, y, th), energy, pfaffian=[aside])
    run = dl.simulate(sleigh, q0=[0.0, 0.0, 0.0], qd0=[1.0, 0.0, 2.0], duration=20.0, dt=0.02, solver=solver)
    slip = np.einsum("bij,bj->bi", sleigh.jacobian(run.q), run.qd)
    assert run.ok and np.abs(slip).max() < accuracy
    np.testing.assert_allclose(run.q[-1], [np.sin(40.0) / 2, (1 - np.cos(40.0)) / 2, 40.0], atol=1e-3)


def test_drift_is_left_alone_if_asked_for():
    x, y = dl.lagrange.coordinates("x y")
    bead = dl.LagrangianSystem.from_bodies(
        (x, y), dl.lagrange.Particle(1, (x, y)), (0, -9.81), constraints=[x**2 + y**2 - 1]
    )
    run = dl.simulate(bead.flow(stabilize=None), x0=[1.0, 0, 0, 0], duration=40.0, dt=0.01)
    assert np.abs(bead.residual(run.q)).max() > 1e-4
    with raises(dl.DalembertError, "unknown-name stabilize"):
        bead.flow(stabilize="project")


def test_an_energy_balance_that_fails_under_constraints_is_said():
    x, y = dl.lagrange.coordinates("x y")
    bead = dl.LagrangianSystem.from_bodies(
        (x, y), dl.lagrange.Particle(1, (x, y)), (0, -9.81), constraints=[x**2 + y**2 - 1]
    )
    run = dl.simulate(bead, q0=[1.0, 0.0], duration=10.0, dt=0.01, solver="semi-implicit-euler")
    assert run.audit().relative > 0.01 and "energy balance" in run.message


def test_given_forces_push_in_their_direction():
    """m ẍ = w − c ẋ + 3 u: wind and drag are part of the equations, what the input does is τ = 3 u."""
    x = dl.lagrange.coordinates("x")
    m, c, w, u = sp.symbols("m c w u", positive=True)
    push, numbers = w - c * dl.lagrange.rate(x) + 3 * u, {m: 2, c: 3, w: 5}
    system = dl.LagrangianSystem(
        x, m * dl.lagrange.rate(x) ** 2 / 2, forces=[((push,), (x,))], inputs=[u], parameters=numbers
    )
    xd, xdd = system.velocities[0], system.accelerations[0]
    assert same(system.equations[0].lhs - system.equations[0].rhs, m * xdd - w + c * xd - 3 * u)
    assert same(system.first_order_form().f[1], (w - c * xd + 3 * u) / m)
    v, tau = np.array([0.7]), system.input_matrix([0.0]) @ [0.4]
    wanted = (5 - 3 * 0.7 + 3 * 0.4) / 2
    assert error(system.forward_dynamics([0.0], v, tau), [wanted]) < ROUNDING
    assert error(system.inverse_dynamics([0.0], v, [wanted]), [1.2]) < ROUNDING
    assert error(system.applied_force([0.0], v), [5 - 2.1]) < ROUNDING


def test_parameters_as_arguments_of_a_kernel():
    """Many pendulums at once, and the derivative of the torque by their parameters."""
    system = SYSTEMS["rod-and-ball"]
    kernel = system.kernel("inverse_dynamics", parameters=("L", "M_rod"))
    assert kernel.arguments == ("q", "qd", "qdd", "parameters")
    q, qd, qdd = states(system)
    lengths = np.linspace(0.5, 1.5, 7)
    many = kernel(q, qd, qdd, np.column_stack([lengths, np.full(7, 2.0)]))
    for k, length in enumerate(lengths):
        one = system.with_parameters(L=length, M_rod=2).inverse_dynamics(q[k], qd[k], qdd[k])
        assert error(many[k], one) < ROUNDING
    slope = kernel.derivative("parameters")(q, qd, qdd, [0.8, 1.0])
    L, M = (next(s for s in system.parameters if s.name == name) for name in ("L", "M_rod"))
    tau = system.equations[0].lhs.subs({s: x for s, x in system.parameters.items() if s not in (L, M)})
    at = sp.lambdify([*system.coordinates, *system.accelerations], [tau.diff(s).subs({L: 0.8, M: 1}) for s in (L, M)])
    wanted = [[at(q[k, 0], qdd[k, 0])] for k in range(7)]
    assert error(slope, wanted) < ROUNDING
    free = dl.LagrangianSystem(system.coordinates, system.kinetic, name="no numbers")
    names = ("L", "M_ball", "M_rod", "R")
    assert free.kernel("mass_matrix", parameters=names)([0.0], [1, 0, 3, 1]) == [[1.0]]


def test_a_rolling_disk():
    """Two non-holonomic constraints on four coordinates; (J + m R²) φ̈ = τ_φ + R (τ_x cos θ + τ_y sin θ)."""
    q = dl.lagrange.coordinates("x y theta phi")
    theta = q[2]
    xd, yd, thetad, phid = (dl.lagrange.rate(c) for c in q)
    m, I, J, R = sp.symbols("m I J R", positive=True)
    rolling = [xd - R * phid * sp.cos(theta), yd - R * phid * sp.sin(theta)]
    kinetic = m * (xd**2 + yd**2) / 2 + I * thetad**2 / 2 + J * phid**2 / 2
    disk = dl.LagrangianSystem(q, kinetic, pfaffian=rolling)
    f, _, u = disk.first_order_form()
    wanted = (u[3] + R * (u[0] * sp.cos(theta) + u[1] * sp.sin(theta))) / (J + m * R**2)
    assert disk.degrees_of_freedom == 2 and same(f[7], wanted) and f[7].count_ops() < 20
    assert disk.equations[4:] == [sp.Eq(e, 0) for e in rolling]


def test_a_magnetic_force_is_linear_in_the_velocities():
    """K = ½ m v² + ½ q B (x ẏ − y ẋ): m ẍ = q B ẏ, m ÿ = −q B ẋ, and the speed stays."""
    x, y = dl.lagrange.coordinates("x y")
    m, k = sp.symbols("m k", positive=True)
    xd, yd = dl.lagrange.rate(x), dl.lagrange.rate(y)
    system = dl.LagrangianSystem((x, y), m * (xd**2 + yd**2) / 2 + k * (x * yd - y * xd) / 2)
    f = system.first_order_form().f
    assert same(
        f,
        sp.Matrix([xd, yd, (k * yd + sp.Symbol("tau1", real=True)) / m, (-k * xd + sp.Symbol("tau2", real=True)) / m]),
    )
    assert sp.Matrix([[0, -k], [k, 0]]) == system.C


# ------------------------------------------------------------------------------------------- ways of writing it
def test_functions_of_time_come_out_as_they_went_in():
    from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols

    q1, q2 = q = dynamicsymbols("q1 q2")
    t = dynamicsymbols._t
    m, l, g = sp.symbols("m l g")
    points = [l * sp.Matrix([sp.sin(q1), -sp.cos(q1)])]
    points.append(points[0] + l * sp.Matrix([sp.sin(q2), -sp.cos(q2)]))
    K = sum(m * p.diff(t).dot(p.diff(t)) / 2 for p in points)
    P = sum(m * g * p[1] for p in points)
    system = dl.LagrangianSystem(q, K, P, dissipation=g * q1.diff(t) ** 2 / 2)
    oracle = LagrangesMethod(K - P, q)
    residual = sp.Matrix(oracle.form_lagranges_equations())
    ours = system.M * sp.Matrix(system.accelerations) + system.C * sp.Matrix(system.velocities) + system.g
    plain = {s: sp.Symbol(f"s{k}") for k, s in enumerate((*system.accelerations, *system.velocities, *q))}
    for a, b in zip(residual, ours, strict=True):
        assert is_zero((a - b).xreplace(plain))
    assert system.velocities == (q1.diff(t), q2.diff(t)) and system.M.has(q1)
    A, _ = system.first_order_form().jacobians()
    assert A[:2, 2:] == sp.eye(2)
    bodies = [dl.lagrange.Particle(m, p) for p in points]
    again = dl.LagrangianSystem.from_bodies(q, bodies, (0, -g))
    assert same(again.M.xreplace(plain), system.M.xreplace(plain))
    number = system.with_parameters(m=1, l=2, g=9.81)
    assert number.mass_matrix([0.1, 0.2]).shape == (2, 2)
    assert r"\dot{q_{1}}" in system.latex() and "q2(t)" in str(system.M)


def test_names_alone_will_do():
    x, xd, m = sp.symbols("x xd m")
    system = dl.LagrangianSystem("x", m * xd**2 / 2, x**2, parameters={"m": 2})
    assert system.coordinates == (x,) and system.velocities == (xd,)
    assert system.joint_names == ("x",) and system.gravity_torque([3.0]) == [6.0]
    assert system.limits.upper == [np.inf]
    assert repr(system) == "<LagrangianSystem 'system': 1 coordinate>"


def test_rates():
    x, y = dl.lagrange.coordinates("x y")
    assert dl.lagrange.rate(x) == sp.Symbol("xd", real=True) and dl.lagrange.rate(dl.lagrange.rate(x)) == sp.Symbol(
        "xdd", real=True
    )
    assert dl.lagrange.rate(x * y, [x, y]) == x * dl.lagrange.rate(y) + y * dl.lagrange.rate(x)
    assert dl.lagrange.rate([x**2, 1], [x]) == [2 * x * dl.lagrange.rate(x), 0]
    assert dl.lagrange.rate(dl.lagrange.rate(x**2, [x]), [x]) == 2 * dl.lagrange.rate(
        x
    ) ** 2 + 2 * x * dl.lagrange.rate(dl.lagrange.rate(x))
    assert dl.lagrange.rate(sp.Matrix([x, 2]), [x]) == sp.Matrix([dl.lagrange.rate(x), 0])


def test_every_head_means_what_sympy_means():
    """Potentials with one head each: value and slope against SymPy's own evaluation."""
    x = dl.lagrange.coordinates("x")
    heads = [
        sp.tan(x),
        sp.cot(x),
        sp.sec(x),
        sp.csc(x),
        sp.Abs(x),
        sp.sqrt(x + 2),
        (x + 2) ** sp.Rational(-3, 2),
        x**7,
        1 / (x**2 + 1),
        sp.Max(x, 0) ** 2,
        sp.Min(x, sp.Rational(1, 2)) ** 3,
        sp.sign(x) * x**2,
        sp.pi * x,
        sp.Piecewise((x**2, x < 0), (x**3, x <= sp.Rational(1, 2)), (x, True)),
        sp.Heaviside(x) * x**2,
        sp.Piecewise((x**2, x > 0), (-x, x >= -3), (x, True)),
        sp.sqrt(2) * x**2,
        sp.atan(2) * x,
        sp.exp(1) * x,
    ]
    points = [-0.7, 0.3, 0.9]
    for P in heads:
        system = dl.LagrangianSystem(x, dl.lagrange.rate(x) ** 2, P)
        for point in points:
            assert error(system.potential_energy([point]), float(P.subs(x, point)), 1.0) < ROUNDING, P
            if not P.has(sp.sign, sp.Heaviside):  # their slopes are distributions
                slope = float(sp.diff(P, x).subs(x, point))
                assert error(system.gravity_torque([point]), [slope], 1.0) < ROUNDING, P


def test_the_fourier_form_is_unique_and_equal():
    from dalembert.lagrange.symbols import fourier, tidy

    a, b, m = sp.symbols("a b m")
    s, c = sp.sin, sp.cos
    for left, right in [
        (s(a) ** 2 + c(a) ** 2, 1),
        (m * s(a) * s(a + b) + m * c(a) * c(a + b), m * c(b)),
        ((c(a) * c(b) - s(a) * s(b)) ** 3, c(a + b) ** 3),
        (s(2 * a) * m / 3, 2 * m * s(a) * c(a) / 3),
        (c(a / 2) ** 3, 3 * c(a / 2) / 4 + c(3 * a / 2) / 4),
        (s(0.3 * a + 1) ** 4 + 2 * (s(0.3 * a + 1) * c(0.3 * a + 1)) ** 2 + c(0.3 * a + 1) ** 4, 1),
        (sp.sqrt(m) * s(a - sp.pi / 3) * c(a - sp.pi / 3), sp.sqrt(m) * s(2 * a - 2 * sp.pi / 3) / 2),
    ]:
        assert fourier(sp.expand(left)) == fourier(sp.expand(right)), left
        point = {a: 0.3, b: 1.1, m: 0.7}
        assert abs(float((fourier(sp.expand(left)) - left).subs(point))) < 1e-14
    assert tidy(m * (1 - c(2 * a)) / 2) == m * s(a) ** 2
    assert tidy(m * s(a) ** 2 * c(b) ** 2 + m * s(a) ** 2 * s(b) ** 2) == m * s(a) ** 2
