"""The notes' systems: what is derived is identical to the mathematics done by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.lagrange import examples
from dalembert.lagrange.examples import EXAMPLES
from lagrange.identities import is_zero, same
from tolerances import ROUNDING, SOLVED, error

sin, cos = sp.sin, sp.cos


def letters(system) -> dict[str, sp.Symbol]:
    """Every symbol of a system by its name."""
    every = (*system.parameters, *system.coordinates, *system.velocities, *system.accelerations, *system.input_symbols)
    return {s.name: s for s in (*every, *system.tau, *system.multiplier_symbols)}


def equation(system, k=0):
    return system.equations[k].lhs - system.equations[k].rhs


def test_the_test_of_identity_tells_right_from_wrong():
    x, y = sp.symbols("x y")
    assert is_zero(sin(x) ** 2 + cos(x) ** 2 - 1)
    assert is_zero(sin(x) * sin(x + y) + cos(x) * cos(x + y) - cos(y))
    assert not is_zero(sin(x) ** 2 - cos(x) ** 2 - 1)
    assert not is_zero(cos(x + y) - cos(x - y))
    assert not same(sp.Matrix([x, y]), sp.Matrix([x, x]))


def test_particle_on_a_line():
    system = examples.particle_on_a_line()
    s = letters(system)
    assert same(equation(system), s["m"] * s["ydd"] + s["m"] * s["g"] - s["f"])


def test_mass_spring_and_damper():
    system = examples.mass_spring_damper()
    s = letters(system)
    assert same(equation(system), s["m"] * s["xdd"] + s["b"] * s["xd"] + s["k"] * s["x"] - s["u"])
    A, B = system.first_order_form().jacobians()
    m, b, k = s["m"], s["b"], s["k"]
    assert same(A, sp.Matrix([[0, 1], [-k / m, -b / m]]))
    assert same(B, sp.Matrix([0, 1 / m]))
    system = examples.mass_spring()
    s = letters(system)
    assert same(equation(system), s["m"] * s["xdd"] + s["k"] * s["x"] - s["f"])


def test_link_with_motor_and_gear():
    system = examples.geared_link()
    s = letters(system)
    r, theta = s["r"], s["theta"]
    by_hand = (r**2 * s["J_m"] + s["J_l"]) * s["thetadd"] + s["M"] * s["g"] * s["l"] * sin(theta) - r * s["u"]
    assert same(equation(system), by_hand)
    assert sp.Matrix([[r]]) == system.B


def test_two_particles_on_a_wire():
    system = examples.two_particles_on_a_wire()
    s = letters(system)
    r1, r2 = (sp.Matrix([s[f"{x}{k}"] for x in "xyz"]) for k in (1, 2))
    v1, v2 = (sp.Matrix([s[f"{x}{k}d"] for x in "xyz"]) for k in (1, 2))
    a1, a2 = (sp.Matrix([s[f"{x}{k}dd"] for x in "xyz"]) for k in (1, 2))
    assert same(system.A, sp.Matrix.hstack(2 * (r1 - r2).T, 2 * (r2 - r1).T))
    assert same(system.A_dot, sp.Matrix.hstack(2 * (v1 - v2).T, 2 * (v2 - v1).T))
    assert system.degrees_of_freedom == 5
    weight = sp.Matrix([0, 0, s["g"]])
    tau, wire = sp.Matrix(system.tau), 2 * s["lambda1"] * (r1 - r2)
    by_hand = [s["m1"] * (a1 + weight) + wire - tau[:3, :], s["m2"] * (a2 + weight) - wire - tau[3:, :]]
    assert same([equation(system, k) for k in range(6)], list(sp.Matrix.vstack(*by_hand)))


def test_virtual_displacements_of_the_wire():
    """(r₁ − r₂)ᵀ (δr₁ − δr₂) = 0 for each, and there are five."""
    system = examples.two_particles_on_a_wire()
    Z = system.virtual_displacements
    assert Z.shape == (6, 5)
    r = sp.Matrix(system.coordinates)
    for column in range(5):
        d = Z[:, column]
        assert is_zero((r[:3, :] - r[3:, :]).dot(d[:3, :] - d[3:, :]))
    at = dict(zip(system.coordinates, sp.Rational(1, 7) * sp.Matrix([1, -2, 4, 3, 5, -6]), strict=True))
    assert Z.subs(at).rank() == 5


def test_cartesian_arm():
    system = examples.cartesian_pp()
    s = letters(system)
    m1, m2, g = s["m1"], s["m2"], s["g"]
    assert same(system.M, sp.diag(m1 + m2, m2))
    assert same(system.g, sp.Matrix([g * (m1 + m2), 0]))
    assert same(equation(system, 0), (m1 + m2) * s["q1dd"] + g * (m1 + m2) - s["tau1"])
    assert same(equation(system, 1), m2 * s["q2dd"] - s["tau2"])


def by_hand_2r(s, a, b, d, G1, G2):
    """M, C, g of a planar 2R in the constants of [Lee], its two equations, and its Christoffel symbols."""
    q1, q2, v1, v2, w1, w2 = (s[x] for x in ("q1", "q2", "q1d", "q2d", "q1dd", "q2dd"))
    M = sp.Matrix([[a + 2 * b * cos(q2), d + b * cos(q2)], [d + b * cos(q2), d]])
    C = b * sin(q2) * sp.Matrix([[-v2, -v1 - v2], [v1, 0]])
    g = sp.Matrix([G1 * cos(q1) + G2 * cos(q1 + q2), G2 * cos(q1 + q2)])
    first = (a + 2 * b * cos(q2)) * w1 + (d + b * cos(q2)) * w2 - b * sin(q2) * (2 * v1 * v2 + v2**2) + g[0]
    second = (d + b * cos(q2)) * w1 + d * w2 + b * sin(q2) * v1**2 + g[1]
    h = b * sin(q2)
    Gamma = {(1, 1, 2): h, (1, 2, 1): -h, (2, 1, 1): -h, (2, 2, 1): -h}  # the equation's index last
    return M, C, g, (first - s["tau1"], second - s["tau2"]), Gamma


def constants_2r(name, s):
    if name == "planar-2r":
        m1, m2, l1, r1, r2, I1, I2, g = (s[x] for x in ("m1", "m2", "l1", "r1", "r2", "I1", "I2", "g"))
    else:
        m1, m2, l1, r2, g = (s[x] for x in ("m1", "m2", "l1", "l2", "g"))
        r1, I1, I2 = l1, 0, 0
    a, b, d = I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2), m2 * l1 * r2, I2 + m2 * r2**2
    return a, b, d, (m1 * r1 + m2 * l1) * g, m2 * r2 * g


@pytest.mark.parametrize("name", ["planar-2r", "planar-2r-points"])
def test_planar_2r(name):
    system = EXAMPLES[name]()
    s = letters(system)
    M, C, g, equations, Gamma = by_hand_2r(s, *constants_2r(name, s))
    assert same(system.M, M) and same(system.C, C) and same(system.g, g)
    for k in range(2):
        assert same(equation(system, k), equations[k])
    for i in range(2):
        for j in range(2):
            for k in range(2):
                assert same(system.Gamma[i, j, k], Gamma.get((i + 1, j + 1, k + 1), 0)), (i, j, k)


@pytest.mark.parametrize("name", ["planar-2r", "planar-2r-points"])
def test_planar_2r_is_the_bundled_robot(name):
    """The same face and the same numbers: a Lagrangian against a DH table."""
    system, robot = EXAMPLES[name](), dl.load(name)
    assert (system.n, system.name) == (robot.n, robot.name)
    q, qd, x = np.random.default_rng(1).uniform(-2, 2, (3, 20, 2))
    for method, arguments in {
        "mass_matrix": (q,),
        "mass_matrix_dot": (q, qd),
        "coriolis_matrix": (q, qd),
        "coriolis_torque": (q, qd),
        "bias_torque": (q, qd),
        "christoffel": (q,),
        "gravity_torque": (q,),
        "inverse_dynamics": (q, qd, x),
        "kinetic_energy": (q, qd),
        "potential_energy": (q,),
        "friction_torque": (q, qd),
    }.items():
        got, wanted = getattr(system, method)(*arguments), getattr(robot, method)(*arguments)
        assert error(got, wanted) < ROUNDING, method
    assert error(system.forward_dynamics(q, qd, x), robot.forward_dynamics(q, qd, x)) < SOLVED
    for got, wanted in zip(system.linearize(q, qd, x), robot.linearize(q, qd, x), strict=True):
        assert error(got, wanted) < SOLVED


def test_five_bar():
    system = examples.five_bar()
    s = letters(system)
    m1, m2, m3, m4, l1, l2, g = (s[x] for x in ("m1", "m2", "m3", "m4", "l1", "l2", "g"))
    c1, c2, c3, c4 = (s[f"lc{k}"] for k in range(1, 5))
    q1, q2 = system.coordinates
    M11 = m1 * c1**2 + m3 * c3**2 + m4 * l1**2 + s["I1"] + s["I3"]
    M22 = m2 * c2**2 + m3 * l2**2 + m4 * c4**2 + s["I2"] + s["I4"]
    M12 = (m3 * l2 * c3 - m4 * l1 * c4) * cos(q2 - q1)
    assert same(system.M, sp.Matrix([[M11, M12], [M12, M22]]))
    G1, G2 = g * (m1 * c1 + m3 * c3 + m4 * l1) * cos(q1), g * (m2 * c2 - m4 * c4 + m3 * l2) * cos(q2)
    assert same(system.g, sp.Matrix([G1, G2]))
    balance = {m3: m4 * l1 * c4 / (l2 * c3)}
    assert same(system.M.subs(balance), sp.diag(M11, M22).subs(balance))
    assert same(system.C.subs(balance), sp.zeros(2))
    misprint = {m2: m4 * l1 * c4 / (l2 * c3)}  # the condition as [Lagrange notes] prints it
    assert not same(system.C.subs(misprint), sp.zeros(2))


def test_five_bar_decouples_in_numbers():
    """The example's own numbers satisfy the condition: each motor moves its own link."""
    system = examples.five_bar()
    q, qd = np.random.default_rng(2).uniform(-3, 3, (2, 50, 2))
    M = system.mass_matrix(q)
    assert abs(M[:, 0, 1]).max() < 1e-16
    assert np.ptp(M, axis=0).max() < 1e-16 and abs(system.coriolis_torque(q, qd)).max() < 1e-15
    unbalanced = system.with_parameters(m3=1.0)
    assert abs(unbalanced.mass_matrix(q)[:, 0, 1]).max() > 0.05


def test_five_bar_by_multipliers_is_the_five_bar_by_lagrange():
    """Four links with an angle each, loop closed by two holonomic constraints: the same accelerations."""
    reduced = examples.five_bar().with_parameters(m3=1.0)
    names = {s.name: s for s in reduced.parameters}
    q = dl.lagrange.coordinates("q1 q2 q3 q4")
    l1, l2 = names["l1"], names["l2"]
    unit = [sp.Matrix([cos(x), sin(x)]) for x in q]
    centers = [
        names["lc1"] * unit[0],
        names["lc2"] * unit[1],
        l2 * unit[1] + names["lc3"] * unit[2],
        l1 * unit[0] - names["lc4"] * unit[3],
    ]
    bodies = [
        dl.lagrange.RigidBody(names[f"m{k}"], names[f"I{k}"], centers[k - 1], angle=q[k - 1]) for k in range(1, 5)
    ]
    loop = l2 * unit[1] + l1 * unit[2] - l1 * unit[0] - l2 * unit[3]
    full = dl.LagrangianSystem.from_bodies(
        q, bodies, (0, -names["g"]), constraints=loop, parameters=reduced.parameters, name="five-bar, loop closed"
    )
    assert full.degrees_of_freedom == reduced.n == 2
    x, v, tau = np.random.default_rng(3).uniform(-1, 1, (3, 20, 2))
    both = np.concatenate([x, x], axis=-1), np.concatenate([v, v], axis=-1)
    assert abs(full.residual(both[0])).max() < 1e-15
    a = full.forward_dynamics(*both, np.concatenate([tau, 0 * tau], axis=-1))
    wanted = reduced.forward_dynamics(x, v, tau)
    assert error(a[:, :2], wanted) < SOLVED and error(a[:, 2:], wanted) < SOLVED


def test_rod_with_a_ball():
    system = examples.rod_and_ball()
    s = letters(system)
    M_rod, M_ball, L, R, g = (s[x] for x in ("M_rod", "M_ball", "L", "R", "g"))
    inertia = M_rod * L**2 / 3 + sp.Rational(2, 5) * M_ball * R**2 + M_ball * (L + R) ** 2
    weight = g * (M_rod * L / 2 + M_ball * (L + R)) * sin(s["theta"])
    assert same(equation(system), inertia * s["thetadd"] + weight - s["tau1"])


def test_geared_arm():
    """(N⁻¹D + N J_m) q̈ + (N⁻¹C + N B_m) q̇ + N⁻¹G = u_m, u_m = K_T/R v, times N."""
    system, arm = examples.geared_arm(), examples.planar_2r()
    s = letters(system)
    N, J = (sp.diag(*(s[f"{x}{k}"] for k in (1, 2))) for x in ("N", "J_m"))
    B = sp.diag(*(s[f"B{k}"] + s[f"K_T{k}"] * s[f"K_m{k}"] / s[f"R_m{k}"] for k in (1, 2)))
    u = sp.Matrix([s[f"K_T{k}"] / s[f"R_m{k}"] * s[f"v{k}"] for k in (1, 2)])
    qd, qdd = sp.Matrix(system.velocities), sp.Matrix(system.accelerations)
    seed = (N.inv() * arm.M + N * J) * qdd + (N.inv() * arm.C + N * B) * qd + N.inv() * arm.g - u
    assert same([equation(system, k) for k in range(2)], list(N * seed))


def test_knife_edge():
    system = examples.knife_edge()
    theta = system.coordinates[2]
    assert same(system.A, sp.Matrix([[sin(theta), -cos(theta), 0]]))
    assert system.degrees_of_freedom == 2
    assert same(system.A * system.virtual_displacements, sp.zeros(1, 2))


def test_bead_on_a_hoop():
    """θ̈ = (Ω² cos θ − g/R) sin θ."""
    system = examples.bead_on_a_hoop()
    s = letters(system)
    theta = s["theta"]
    by_hand = (s["Omega"] ** 2 * cos(theta) - s["g"] / s["R"]) * sin(theta) + s["tau1"] / (s["m"] * s["R"] ** 2)
    assert same(system.first_order_form().f[1], by_hand)


def test_channel_of_seed_001():
    """2R with point masses, tip held at x = 1, no gravity, at (−π/3, 2π/3) with the tip moving at 1 m/s."""
    free = examples.planar_2r_points()
    q1, q2 = free.coordinates
    system = dl.LagrangianSystem(
        (q1, q2),
        free.kinetic,
        constraints=[cos(q1) + cos(q1 + q2) - 1],
        parameters={s: x for s, x in free.parameters.items() if s.name != "g"},
    )
    assert same(system.A, sp.Matrix([[-sin(q1) - sin(q1 + q2), -sin(q1 + q2)]]))
    q, qd = [-np.pi / 3, 2 * np.pi / 3], [1.0, 0.0]
    root = np.sqrt(3)
    for tau in np.random.default_rng(4).uniform(-1, 1, (5, 2)):
        assert np.allclose(system.multipliers(q, qd, tau), [root / 6 * tau[0] - 2 / root * tau[1] - 1 / 6])
        a = system.forward_dynamics(q, qd, tau)
        assert np.allclose(a, [tau[0] / 2 + root / 6, -2 / root])
        lam = system.multipliers(q, qd, tau)
        assert np.allclose(system.inverse_dynamics(q, qd, a, lam), tau)
    f, x, u = system.first_order_form()
    at = {**dict(zip(x, (-sp.pi / 3, 2 * sp.pi / 3, 1, 0), strict=True)), **{s: 1 for s in system.parameters}}
    exact = f.subs(at)
    assert sp.simplify(exact[2] - (u[0] / 2 + sp.sqrt(3) / 6)) == 0 and sp.simplify(exact[3] + 2 / sp.sqrt(3)) == 0
