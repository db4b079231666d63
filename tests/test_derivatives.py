"""Derivatives: closed form, graph, finite differences in high precision, and Pinocchio agree."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from mpmath import mp, mpf

import dalembert as dl
from dalembert import scalar
from dalembert.algorithms import linear, newton_euler
from dalembert.compile import compile_function, gradient
from dalembert.compile.graph import Graph
from errors import raises
from oracles.pinocchio_model import PinocchioModel
from tolerances import ORACLE, ROUNDING, SOLVED, error
from trees import random_tree

CASES = {
    "tree": dict(seed=3, joints=7),
    "chain": dict(seed=6, joints=6, chain=True),
    "rotors and mimic": dict(seed=5, joints=8, mimic=True, rotors=True),
    "friction": dict(seed=7, joints=5, friction=True),
}


@pytest.fixture(params=CASES)
def robot(request) -> dl.Robot:
    return dl.Robot(random_tree(**CASES[request.param]))


def state(robot, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (3, robot.n))


def test_closed_form_is_the_derivative_of_the_graph(robot):
    x = state(robot)
    for name, third in (("inverse_dynamics", "qdd"), ("forward_dynamics", "tau")):
        for friction in (False, True):
            closed = getattr(robot, f"{name}_derivatives")(*x, friction=friction)
            graph = robot.kernel(name, friction=friction).derivative("q", "qd", third)(*x)
            for a, b in zip(closed, graph, strict=True):
                assert error(a, b) < (ROUNDING if name == "inverse_dynamics" else SOLVED)


scalar.sin.register(mpf)(mp.sin)
scalar.cos.register(mpf)(mp.cos)


def test_graph_against_differences_in_forty_digits(robot):
    """A central difference with h = 1e-15 in forty digits is exact to about 1e-25 relative."""
    q, qd, qdd = state(robot)
    with mp.workdps(40):
        h = mpf(10) ** -15
        exact = [[mpf(float(v)) for v in x] for x in (q, qd, qdd)]

        def tau(k, j, sign):
            moved = [list(x) for x in exact]
            moved[k][j] += sign * h
            return newton_euler.inverse_dynamics(robot.model, *moved)

        for k, name in enumerate(("q", "qd", "qdd")):
            columns = []
            for j in range(robot.n):
                pairs = zip(tau(k, j, 1), tau(k, j, -1), strict=True)
                columns.append([float((a - b) / (2 * h)) for a, b in pairs])
            wanted = np.array(columns).T
            assert error(robot.kernel("inverse_dynamics").derivative(name)(q, qd, qdd), wanted) < ROUNDING


def test_against_pinocchio():
    robot = dl.Robot(random_tree(seed=13, joints=9))
    o = PinocchioModel(robot)
    q, qd, x = state(robot)
    G = o.G
    for theirs, ours in (
        (pin.computeRNEADerivatives, robot.inverse_dynamics_derivatives),
        (pin.computeABADerivatives, robot.forward_dynamics_derivatives),
    ):
        data = o.model.createData()  # what it returns are views of it
        wanted = [np.array(D) for D in theirs(o.model, data, o.q(q), o.v(qd), o.v(x))]
        for a, b in zip(ours(q, qd, x), wanted, strict=True):
            full = np.triu(b) + np.triu(b, 1).T if b is wanted[2] else b
            assert error(a, G.T @ full @ G) < ORACLE


def test_derivatives_of_kinematics():
    arm = dl.load("panda")
    q = np.random.default_rng(0).uniform(-1, 1, (5, 7))
    h = 1e-6
    for name in ("fk", "jacobian"):
        kernel = arm.kernel(name)
        D = kernel.derivative("q")(q)
        wanted = np.stack([(kernel(q + h * e) - kernel(q - h * e)) / (2 * h) for e in np.eye(7)], axis=-1)
        assert D.shape == (*kernel(q).shape, 7)
        assert np.abs(D - wanted).max() < 1e-8


def test_second_order():
    """The Hessian of the kinetic energy in q̇ is M; of the potential in q, the derivative of g."""
    arm = dl.load("puma560")
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 6))
    rotor = arm.kernel("kinetic_energy").derivative("qd").derivative("qd")(q, qd)
    assert error(rotor, arm.mass_matrix(q)) < ROUNDING
    hessian = arm.kernel("potential_energy").derivative("q").derivative("q")(q)
    assert error(hessian, hessian.T, 1.0) < ROUNDING
    assert error(hessian, arm.kernel("gravity_torque").derivative("q")(q), 1.0) < ROUNDING


def test_christoffel_from_the_derivative_of_the_mass_matrix(robot):
    q = state(robot)[0]
    D = robot.kernel("mass_matrix").derivative("q")(q)  # [k, j, i] = ∂ᵢM_kj
    wanted = 0.5 * (np.einsum("kji->ijk", D) + np.einsum("kij->ijk", D) - np.einsum("ijk->ijk", D))
    assert error(robot.christoffel(q), wanted, 1.0) < ROUNDING


def test_forward_and_reverse_agree():
    rng = np.random.default_rng(0)

    def function(v):
        x, y, z = v
        w = scalar.sin(x * y) / (1.0 + z * z) + scalar.sqrt(2.0 + x * x) * scalar.absolute(y - 0.3)
        return [w, scalar.where(x < y, x * x, y * z), scalar.cos(w) - w * x, 3.0 * z]

    def rows(way):
        def traced(v):
            g: Graph = v[0].graph
            return way(g, function(v), v)

        return compile_function(traced, [(3,)], [(4, 3)])

    x = rng.normal(size=(50, 3))
    f = compile_function(function, [(3,)], [(4,)])
    h = 1e-6
    wanted = np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)], axis=-1)
    for way in (gradient.forward, gradient.reverse):
        assert np.abs(rows(way)(x) - wanted).max() < 1e-7


def test_what_is_zero_costs_nothing():
    """∂τ/∂q̈ of a robot without coupling is one constant per joint: no operation is left."""
    kernel = dl.load("cartesian-pp").kernel("inverse_dynamics").derivative("qdd")
    assert kernel.operations == 0
    assert np.array_equal(kernel([0, 0], [0, 0], [0, 0]), [[3, 0], [0, 1]])


def test_linearize():
    arm = dl.load("planar-2r")
    q, qd, tau = np.random.default_rng(0).uniform(-1, 1, (3, 4, 2))
    A, B = arm.linearize(q, qd, tau)
    assert A.shape == (4, 4, 4) and B.shape == (4, 4, 2)
    h = 1e-6
    f = lambda x, u: np.concatenate([x[..., 2:], arm.forward_dynamics(x[..., :2], x[..., 2:], u)], -1)  # noqa: E731
    x = np.concatenate([q, qd], axis=-1)
    for k, e in enumerate(np.eye(4)):
        assert np.abs((f(x + h * e, tau) - f(x - h * e, tau)) / (2 * h) - A[..., k]).max() < 1e-6
    for k, e in enumerate(np.eye(2)):
        assert np.abs((f(x, tau + h * e) - f(x, tau - h * e)) / (2 * h) - B[..., k]).max() < 1e-6


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda k: k.derivative(), "missing wrt"),
        (lambda k: k.derivative("tau"), "unknown-name"),
        (lambda k: k.derivative(3), "out-of-range wrt"),
        (lambda k: k.derivative("q", of=1), "out-of-range of"),
    ],
)
def test_wrong_use(call, words):
    with raises(dl.DalembertError, words):
        call(dl.load("planar-2r").kernel("inverse_dynamics"))


@pytest.mark.parametrize("branched", [True, False])
def test_slopes_by_the_factors_of_a_tree(branched):
    """−M⁻¹ B of a trunk of two joints with three branches of two, and of a chain: as NumPy's, zeros of B included."""
    rng = np.random.default_rng(0)
    branch = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    apart = (branch[:, None] != branch) & (branch[:, None] > 0) & (branch > 0) & branched
    L = np.where(apart, 0.0, np.tril(rng.normal(size=(8, 8)), -1)) + np.eye(8)
    M = L.T @ np.diag(rng.uniform(1, 2, 8)) @ L
    B, C = (np.where(apart, 0.0, rng.normal(size=(8, 8))) for _ in range(2))
    assert apart.any() == branched and (M[apart] == 0).all()
    inverse, (by_b, by_c) = linear.inverse_and_slopes(M.tolist(), B.tolist(), C.tolist())
    assert np.allclose(inverse, np.linalg.inv(M), rtol=1e-11, atol=1e-11)
    assert np.allclose(by_b, -np.linalg.solve(M, B), rtol=1e-11, atol=1e-11)
    assert np.allclose(by_c, -np.linalg.solve(M, C), rtol=1e-11, atol=1e-11)
