"""One mechanics for robots, closed chains, contacts and Lagrangian systems: impacts, projections, closing, no drift."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as dl
from dalembert.algorithms import linear, mechanics
from dalembert.constrained import Constrained, contact, couple, hold, holonomic, plane
from dalembert.lagrange.derive import solve
from errors import raises


def bead(**options):
    """A bead on the circle x² + y² = 1, under gravity."""
    x, y = dl.lagrange.coordinates("x y")
    return dl.LagrangianSystem.from_bodies(
        (x, y), dl.lagrange.Particle(2, (x, y)), (0, -9.81), constraints=[x**2 + y**2 - 1], name="bead", **options
    )


def double_pendulum():
    """Two particles on rods, in x and y: four coordinates and two constraints."""
    x1, y1, x2, y2 = q = dl.lagrange.coordinates("x1 y1 x2 y2")
    rods = [x1**2 + y1**2 - 1, (x2 - x1) ** 2 + (y2 - y1) ** 2 - 1]
    particles = [dl.lagrange.Particle(1, (x1, y1)), dl.lagrange.Particle(1, (x2, y2))]
    return dl.LagrangianSystem.from_bodies(q, particles, (0, -9.81), constraints=rods, name="double pendulum")


def sleigh():
    x, y, th = dl.lagrange.coordinates("x y th")
    aside = sp.sin(th) * dl.lagrange.rate(x) - sp.cos(th) * dl.lagrange.rate(y)
    energy = (dl.lagrange.rate(x) ** 2 + dl.lagrange.rate(y) ** 2 + dl.lagrange.rate(th) ** 2) / 2
    return dl.LagrangianSystem((x, y, th), energy, pfaffian=[aside], name="sleigh")


def touching():
    arm = dl.load("panda")
    q = np.array([0.3, -0.5, 0.2, -1.6, 0.1, 1.4, 0.4])
    return Constrained(arm, contact(arm.tip, arm.fk(q)[:3, 3])), q


SYSTEMS = {
    "contact": touching,
    "four-bar": lambda: (system := Constrained(dl.load("four-bar")), system.close().q),
    "stewart": lambda: (system := Constrained(dl.load("stewart")), system.close().q),
    "redundant rows": lambda: (
        Constrained(
            dl.load("planar-2r"),
            [plane((0, 0, 0), (0, 0, 1)), couple({"joint1": 1.0}, 0.3), couple({"joint1": 2.0}, 0.6)],
        ),
        np.array([0.3, 0.8]),
    ),
    "bead": lambda: (bead(), np.array([0.6, -0.8])),
    "double pendulum": lambda: (double_pendulum(), np.array([0.6, -0.8, 1.6, -0.8])),
    "sleigh": lambda: (sleigh(), np.array([0.1, 0.2, 0.7])),
}


@pytest.fixture(params=SYSTEMS)
def at_a_state(request):
    system, q = SYSTEMS[request.param]()
    return system, q, np.random.default_rng(3).uniform(-1, 1, system.nv)


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_laws_of_impact(at_a_state, e):
    """M (q̇⁺ − q̇) = −Aᵀp, A q̇⁺ = −e A q̇, and the loss of energy ½ (1 − e²) (A q̇)ᵀΛ⁻¹ A q̇."""
    system, q, v = at_a_state
    after, p = system.impact(q, v, e)
    A, M = system.jacobian(q), system._unconstrained.mass_matrix(q)
    size = 1 + np.abs(p).max()
    np.testing.assert_allclose(M @ (after - v), -A.T @ p, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(A @ after, -e * A @ v, rtol=0, atol=1e-9 * size)
    lost = 0.5 * v @ M @ v - 0.5 * after @ M @ after
    wanted = 0.5 * (1 - e**2) * (A @ v) @ np.linalg.pinv(A @ np.linalg.solve(M, A.T), rcond=1e-9) @ (A @ v)
    assert abs(lost - wanted) < 1e-9 * (1 + v @ M @ v) and lost > -1e-9
    redundant = [k for k, name in enumerate(system.rows) if name in system.redundant(q)]
    assert not np.any(p[redundant])


def test_a_plastic_impact_is_a_projection(at_a_state):
    system, q, v = at_a_state
    np.testing.assert_allclose(system.impact(q, v).qd, system.project(q, v)[1], rtol=0, atol=1e-9)
    again = system.impact(q, system.impact(q, v).qd)
    np.testing.assert_allclose(again.impulses, 0, atol=1e-9 * (1 + np.abs(system.impact(q, v).impulses).max()))


def test_impacts_of_batches_have_the_bits_of_single_states(at_a_state):
    system, q, v = at_a_state
    one, many = system.impact(q, v, 0.3), system.impact([q] * 3, [v] * 3, 0.3)
    assert (many.qd == one.qd).all() and (many.impulses == one.impulses).all()


def test_a_bead_that_hits_its_circle():
    """By hand: the radial part of the velocity is turned around, p = m (1 + e) v_r / |∂φ/∂q|."""
    after, p = bead().impact([1.0, 0.0], [3.0, 4.0], 0.5)
    np.testing.assert_allclose(after, [-1.5, 4.0], atol=1e-14)
    np.testing.assert_allclose(p, [2 * 1.5 * 3 / 2], atol=1e-14)


def test_momentum_is_kept_where_nothing_holds():
    """Two carts that stick together: the sum of momenta stays."""
    a, b = dl.lagrange.coordinates("a b")
    carts = dl.LagrangianSystem(
        (a, b), (2 * dl.lagrange.rate(a) ** 2 + 3 * dl.lagrange.rate(b) ** 2) / 2, constraints=[a - b]
    )
    for e, wanted in ((0.0, [1.2, 1.2]), (1.0, [-0.6, 2.4])):
        np.testing.assert_allclose(carts.impact([0.5, 0.5], [3.0, 0.0], e).qd, wanted, atol=1e-14)


def test_impacts_of_robots():
    """`Robot.impact` is `Constrained.impact` with the loops of the description and the constraints given."""
    arm = dl.load("planar-2r")
    q, v = np.array([0.3, 0.8]), np.array([1.0, -2.0])
    point = contact(arm.tip, arm.fk(q)[:3, 3])
    assert np.array_equal(arm.impact(q, v, constraints=point).qd, Constrained(arm, point).impact(q, v).qd)
    free = arm.impact(q, v)
    assert np.array_equal(free.qd, v) and free.impulses.shape == (0,)
    bar = dl.load("four-bar")
    q = Constrained(bar).close().q
    assert np.array_equal(bar.impact(q, np.ones(bar.n)).qd, Constrained(bar).impact(q, np.ones(bar.n)).qd)


def test_bad_impacts_are_refused():
    system, q = touching()
    with raises(dl.InputError, "out-of-range restitution"):
        system.impact(q, np.ones(7), 1.5)
    with raises(dl.InputError, "wrong-value q"):
        system.impact(q + 0.1, np.ones(7))
    free = dl.LagrangianSystem(x := dl.lagrange.coordinates("x"), dl.lagrange.rate(x) ** 2)
    with raises(dl.InputError, "missing constraints"):
        free.impact([0.0], [1.0])


# -------------------------------------------------------------------------------------------- one definition of λ
def random_case(n, k, seed=0):
    rng = np.random.default_rng(seed)
    root, A = rng.normal(size=(n, n)), rng.normal(size=(k, n))
    return root @ root.T + np.eye(n), A, rng.normal(size=n), rng.normal(size=k)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 1), (4, 2), (6, 5)])
def test_every_algebra_solves_the_same_system(n, k):
    """Elimination over floats, the adjugate over rational numbers, and the saddle matrix by NumPy."""
    M, A, b, target = random_case(n, k)
    K = np.array(mechanics.saddle(M.tolist(), A.tolist()))
    wanted = np.linalg.solve(K, np.concatenate([b, target]))
    found = mechanics.factor(M.tolist(), A.tolist()).acceleration(b.tolist(), target.tolist())
    np.testing.assert_allclose([*found.qdd, *found.force], wanted, rtol=1e-9)
    exact = [[sp.Rational(x) for x in row] for row in K.tolist()]
    adjoint, det = linear.adjugate(exact, sp.sympify)
    assert sp.Matrix(exact) * sp.Matrix(adjoint) == det * sp.eye(n + k)
    np.testing.assert_allclose(np.array(adjoint, float) @ np.concatenate([b, target]) / float(det), wanted, rtol=1e-9)


def test_symbols_and_numbers_of_a_lagrangian_system_agree():
    """λ, q̈ and the projection as expressions, at a state, against kernels and against the formula as it is printed."""
    system = double_pendulum()
    q, qd = np.array([0.6, -0.8, 1.4, -1.4]), np.array([0.8, 0.6, 0.2, 0.3])
    _, qd = system.project(q, qd)
    tau = np.array([0.3, -0.2, 0.5, 0.1])
    at = dict(zip((*system.coordinates, *system.velocities, *system.tau), (*q, *qd, *tau), strict=True))
    f = system.first_order_form().f.subs(at)
    np.testing.assert_allclose(np.array(f[4:], float), system.forward_dynamics(q, qd, tau), rtol=1e-12)
    M, A = (x.subs(at) for x in (system.M, system.A))
    P = sp.eye(4) - A.T * solve(A * solve(M, A.T), A * M.inv())
    np.testing.assert_allclose(np.array(P, float), system.projection(q), atol=1e-12)


# --------------------------------------------------------------------------------------------- Lagrangian systems
def test_a_bead_stays_on_its_circle_for_a_minute():
    system = bead()
    run = dl.simulate(system, q0=[1.0, 0.0], duration=60.0, dt=0.01)
    assert run.ok and np.abs(system.residual(run.q)).max() <= 1e-10
    assert np.abs(np.einsum("bij,bj->bi", system.jacobian(run.q), run.qd)).max() <= 1e-10
    assert np.ptp(run.energy) < 1e-3


def test_a_double_pendulum_keeps_its_rods_for_a_minute():
    system = double_pendulum()
    run = dl.simulate(system, q0=[1.0, 0.0, 2.0, 0.0], duration=60.0, dt=0.01)
    assert run.ok and np.abs(system.residual(run.q)).max() <= 1e-10


def test_a_lagrangian_bead_moves_as_a_constrained_robot():
    """The same circle on a bundled robot, by its file and by its energies: the same motion."""
    robot = dl.load("cartesian-pp")
    circle = Constrained(robot, holonomic(lambda q: q[0] * q[0] + q[1] * q[1] - 1.0))
    q1, q2 = dl.lagrange.coordinates("q1 q2")
    M, g = robot.mass_matrix([0, 0]), robot.gravity_torque([0, 0])
    kinetic = (M[0, 0] * dl.lagrange.rate(q1) ** 2 + M[1, 1] * dl.lagrange.rate(q2) ** 2) / 2
    assert M[0, 1] == 0
    system = dl.LagrangianSystem((q1, q2), kinetic, g[0] * q1 + g[1] * q2, constraints=[q1**2 + q2**2 - 1])
    runs = [dl.simulate(s, q0=[0.6, 0.8], duration=5.0, dt=0.01) for s in (circle, system)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-10)
    q, v = [0.6, 0.8], [1.0, 2.0]
    np.testing.assert_allclose(system.impact(q, v, 0.5).qd, circle.impact(q, v, 0.5).qd, atol=1e-14)
    np.testing.assert_allclose(system.projection(q), circle.projection(q), atol=1e-14)


def test_lagrangian_systems_are_closed_and_projected():
    system = double_pendulum()
    found = system.close([0.9, 0.1, 2.2, -0.3])
    assert found and np.abs(system.residual(found.q)).max() < 1e-11
    held = system.close([0.9, 0.1, 2.2, -0.3], fixed=["x1"])
    assert held.q[0] == 0.9 and held
    with raises(dl.InputError, "infeasible q"):
        system.close([3.0, 0.0, 0.0, 0.0], fixed=["x1"])
    q, qd = system.project([0.9, 0.1, 1.9, 0.2], [1.0, 2.0, 3.0, 4.0], steps=4)
    assert np.abs(system.residual(q)).max() < 1e-12 and np.abs(system.jacobian(q) @ qd).max() < 1e-12
    assert (system.rank(q), system.freedoms(q), system.redundant(q), system.generic_rank) == (2, 2, (), 2)
    with raises(dl.InputError, "wrong-value q"):
        dl.simulate(system, q0=[1.0, 0.0, 2.5, 0.0], duration=0.1)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_closing_needs_no_unit(length):
    x, y = dl.lagrange.coordinates("x y")
    ring = dl.LagrangianSystem.from_bodies(
        (x, y), dl.lagrange.Particle(1, (x, y)), constraints=[x**2 + y**2 - length**2]
    )
    found = ring.close([0.3 * length, 1.2 * length])
    assert found and abs(np.linalg.norm(found.q) / length - 1) < 1e-11


def test_reduced_coordinates_of_a_lagrangian_system():
    """The pendulum in x alone: the same acceleration as by multipliers; inverse dynamics inverts forward dynamics."""
    system = bead()
    q = np.array([0.6, -0.8])
    reduced = system.reduced(q, ["x"])
    zd, tau = np.array([0.5]), np.array([0.2, -0.3])
    qd = reduced.rates(q, zd)
    zdd = reduced.forward_dynamics(q, zd, tau)
    np.testing.assert_allclose(reduced.accelerations(q, zd, zdd), system.forward_dynamics(q, qd, tau), atol=1e-12)
    np.testing.assert_allclose(reduced.inverse_dynamics(q, zd, zdd), reduced.forces(q, tau), atol=1e-12)
    np.testing.assert_allclose(reduced.position([0.7], q).q, [0.7, -np.sqrt(1 - 0.49)], atol=1e-12)
    assert system.independent(q) == ("x",)


def test_baumgarte_of_a_lagrangian_system_is_the_error_dynamics():
    """φ̈ = −2α φ̇ − β² φ."""
    system = bead()
    kernel = system.kernel("forward_dynamics", alpha=3.0, beta=4.0)
    q, qd = np.array([0.7, -0.8]), np.array([0.3, 0.4])
    qdd = kernel(q, qd, np.zeros(2))
    rate = system.jacobian(q) @ qd
    np.testing.assert_allclose(
        system.jacobian(q) @ qdd + system.drift(q, qd), -6 * rate - 16 * system.residual(q), atol=1e-12
    )


def test_rods_in_a_hinge_that_pushes_more_than_one_way():
    """A weld of planar-2r's tip: six rows, of which the plane leaves three, and those hold it still."""
    arm = dl.load("planar-2r")
    q = np.array([0.3, 0.8])
    system = Constrained(arm, hold("weld", at=arm.fk(q)))
    after, p = system.impact(q, [1.0, -1.0], 0.0)
    assert np.abs(after).max() < 1e-12 and np.count_nonzero(p) == 2 == system.rank(q)


@pytest.mark.parametrize("restitution", [-0.1, 2.0, float("nan")])
def test_restitution_is_checked_where_nothing_touches(restitution):
    with pytest.raises(dl.InputError) as error:
        dl.load("planar-2r").impact([0.0, 0.0], [1.0, 1.0], restitution=restitution)
    assert error.value.argument == "restitution"
