"""Simulation where positions are no vector: free bodies, spherical pendulums, and methods that keep their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.rollout_words import rollouts

import dalembert as dl
from dalembert.algorithms import joints
from dalembert.describe.description import Description, Inertial, Joint, Link, Origin
from dalembert.errors import InputError, SingularityError
from dalembert.simulation import integrate
from trees import random_tree


def body(kind: str = "floating", gravity=(0.0, 0.0, 0.0), com=(0.0, 0.0, 0.0), inertia=(1.0, 0, 0, 2.0, 0, 3.0)):
    links = (Link("world"), Link("brick", Inertial(1.5, inertia, Origin(com))))
    return dl.Robot(Description("brick", links, (Joint("root", kind, "world", "brick"),), gravity))


def test_a_free_body_keeps_its_momenta_and_tumbles():
    """10⁵ steps of 1 ms: angular momentum to 1e-9, energy to 1e-8, the quaternion to 1e-15; about its middle axis the
    body flips over and back (Dzhanibekov), which a stable axis does not."""
    robot = body()
    qd0 = np.array([0.1, -0.2, 0.3, 0.01, 2.0, 0.01])
    run = dl.simulate(robot, q0=robot.neutral, qd0=qd0, duration=100.0, dt=1e-3, solver="rk4")
    h, K = robot.momentum(run.q, run.qd, "com"), robot.kinetic_energy(run.q, run.qd)
    assert len(run.t) > 1000 and run.ok
    assert np.abs(h - h[0]).max() < 1e-9
    assert np.abs(K / K[0] - 1).max() < 1e-8
    assert np.abs(np.linalg.norm(run.q[:, 3:], axis=-1) - 1).max() <= 1e-15
    flips = np.count_nonzero(np.diff(np.sign(run.qd[:, 4])))
    assert flips >= 4 and run.qd[:, 4].min() < -1.99
    steady = dl.simulate(robot, q0=robot.neutral, qd0=qd0[[0, 1, 2, 3, 5, 4]], duration=20.0, dt=1e-3)
    assert steady.qd[:, 5].min() > 1.99


def test_a_thrown_body_falls_on_a_parabola():
    robot = body(gravity=(0.0, 0.0, -9.81))
    qd0 = np.array([1.0, 0.0, 5.0, 0.0, 2.0, 0.3])
    run = dl.simulate(robot, q0=robot.neutral, qd0=qd0, duration=1.0, dt=1e-3)
    wanted = np.outer(run.t, qd0[:3]) + np.outer(0.5 * run.t**2, robot.gravity)
    assert np.abs(run.q[:, :3] - wanted).max() < 1e-9


def test_a_spherical_pendulum_swings_as_its_closed_form():
    """A top without spin, its mass a point on the axis but for a little: θ̈ = sin θ cos θ φ̇² + (g/l) sin θ (θ from
    above), with l² sin²θ φ̇ and the energy conserved (Landau & Lifshitz, Mechanics, §14)."""
    l, m, J = 0.8, 1.5, 1e-3
    robot = body("spherical", (0.0, 0.0, -9.81), (0.0, 0.0, l), (J, 0, 0, J, 0, J))
    q0 = robot.integrate(robot.neutral, [2.4, 0.0, 0.0])  # leaning over: below the horizontal
    T = robot.fk(q0)[:3, :3]
    theta0, rate = 2.4, 1.1
    w = T.T @ np.array([0.0, 0.0, rate])  # about the vertical
    w -= w[2] * np.array([0.0, 0.0, 1.0])  # no spin about the own axis
    run = dl.simulate(robot, q0=q0, qd0=w, duration=5.0, dt=1e-3)
    top = robot.fk(run.q)[:, :3, 2]
    I = m * l * l + J
    p = rate * np.sin(theta0) ** 2 * I

    def rates(t, y):
        theta, theta_dot = y
        return [theta_dot, (p / I) ** 2 * np.cos(theta) / np.sin(theta) ** 3 + m * 9.81 * l / I * np.sin(theta)]

    found = solve_ivp(rates, (0, 5), (theta0, 0.0), "DOP853", t_eval=run.t, rtol=1e-12, atol=1e-12)
    assert np.abs(top[:, 2] - np.cos(found.y[0])).max() < 1e-8
    E = robot.kinetic_energy(run.q, run.qd) + robot.potential_energy(run.q)
    assert np.abs(E - E[0]).max() < 1e-9
    about_vertical = robot.momentum(run.q, run.qd)[:, 5]
    assert np.abs(about_vertical - about_vertical[0]).max() < 1e-9


ORDERS = {"euler": 1, "heun": 2, "rk3": 3, "rk4": 4, "dormand-prince": 5, "rk6": 6}


@pytest.mark.parametrize("method", ORDERS)
def test_methods_keep_their_order_on_the_group(method: str):
    robot = body(com=(0.1, 0.2, -0.1))
    start = dict(q0=robot.neutral, qd0=np.array([0.1, -0.2, 0.3, 0.3, 2.0, 0.5]), duration=1.0)
    exact = dl.simulate(robot, dt=2e-3, solver="rk8", **start).q[-1]
    errors = [
        np.linalg.norm(robot.difference(dl.simulate(robot, dt=dt, solver=method, **start).q[-1], exact))
        for dt in (0.05, 0.025)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - ORDERS[method]) < 0.15


@pytest.mark.parametrize("method", ["semi-implicit-euler", "verlet", "implicit-midpoint"])
def test_other_methods_stay_near(method: str):
    robot = body(com=(0.1, 0.2, -0.1))
    start = dict(q0=robot.neutral, qd0=np.array([0.1, -0.2, 0.3, 0.3, 2.0, 0.5]), duration=1.0)
    exact = dl.simulate(robot, dt=2e-3, solver="rk8", **start).q[-1]
    found = dl.simulate(robot, dt=1e-4, solver=method, **start).q[-1]
    assert np.linalg.norm(robot.difference(found, exact)) < 5e-3 and abs(np.linalg.norm(found[3:]) - 1) < 1e-15


TREE = dl.Robot(random_tree(21, 4, several=True))
HEAVY = body(com=(0.1, 0.2, -0.1), gravity=(0.0, 0.0, -9.81))
BALL = body("spherical", (0.0, 0.0, -9.81), (0.1, 0.2, -0.3))
PLATE = body("planar", (1.0, 2.0, -9.81), (0.1, 0.2, -0.3))


@pytest.mark.parametrize("robot", [HEAVY, BALL, PLATE, TREE], ids=["floating", "spherical", "planar", "tree"])
def test_symplectic_steps_keep_the_form_of_the_group(robot: dl.Robot):
    """⟨p₂, a₁⟩ − ⟨p₁, a₂⟩ + ⟨p, [a₁, a₂]⟩ of any two tangent vectors (a, p) is kept over ten steps, by differences;
    rk3 of this length does not keep it."""
    n, h, dt = robot.nv, 1e-5, 0.01 if robot is TREE else 0.05
    q, v = robot.random_configuration(seed=1), np.random.default_rng(0).normal(size=robot.nv)
    d = np.concatenate((h * np.eye(2 * n), -h * np.eye(2 * n), np.zeros((1, 2 * n))))
    start = np.concatenate((robot.integrate(q, d[:, :n]), robot.mass_matrix(q) @ v + d[:, n:]), -1)

    def form(p: np.ndarray) -> np.ndarray:
        own = [joints.drift(robot.model, e.tolist()) for e in np.eye(n)]  # [own[j]]ₖᵢ = [eᵢ, eⱼ]ₖ
        return np.block([[np.einsum("jki,k->ij", own, p), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])

    def defect(method: str, **options: int) -> float:
        done = integrate(robot.flow(momenta=True), start, dt, 10, method=method, every=10, **options)
        assert done.residual.max() < 1e-13
        Q, P = done.x[:, -1, : robot.nq], done.x[:, -1, robot.nq :]
        ends = np.concatenate((robot.difference(Q[-1], Q[:-1]), P[:-1] - P[-1]), -1)
        J = (ends[: 2 * n] - ends[2 * n :]).T / (2 * h)
        return np.abs(J.T @ form(P[-1]) @ J - form(start[-1, robot.nq :])).max() / np.abs(J).max() ** 2

    kept, lost = defect("implicit-midpoint", iterations=30), defect("rk3")
    assert kept < 1e-9 and lost > 100 * kept


def test_symplectic_steps_keep_momentum_and_bound_the_energy():
    """Of a free body with its center aside: momentum about the world's origin by rounding alone, energy bounded at long
    steps, order two; the velocities kept are those of the momenta."""
    robot = body(com=(0.1, 0.2, -0.1))
    start = dict(q0=robot.neutral, qd0=np.array([0.1, -0.2, 0.3, 0.3, 2.0, 0.5]))
    run = dl.simulate(robot, duration=400.0, dt=0.02, solver=dl.Solver("symplectic", iterations=15), **start)
    h, E = robot.momentum(run.q, run.qd), robot.kinetic_energy(run.q, run.qd)
    assert run.ok and np.abs(h - h[0]).max() < 1e-11
    off = np.abs(E / E[0] - 1)
    assert off.max() < 1e-4 and off[-5000:].max() < 1.01 * off[:5000].max()
    assert np.abs(np.linalg.norm(run.q[:, 3:], axis=-1) - 1).max() <= 1e-15
    exact = dl.simulate(robot, dt=2e-3, solver="rk8", duration=1.0, **start).q[-1]
    short = [dl.simulate(robot, dt=dt, solver="symplectic", duration=1.0, **start).q[-1] for dt in (0.05, 0.025)]
    errors = [np.linalg.norm(robot.difference(q, exact)) for q in short]
    assert abs(np.log2(errors[0] / errors[1]) - 2) < 0.05


def test_rollouts_in_momenta_begin_at_rest_and_give_no_momenta_for_rates():
    q0 = BALL.random_configuration(3, seed=0)
    many = rollouts(BALL.flow(momenta=True), q0=q0, duration=0.1, dt=1e-2, method="implicit-midpoint")
    alone = dl.simulate(BALL, q0=q0[1], duration=0.1, dt=1e-2, solver="symplectic")
    assert many.qd.shape == (3, 0) and np.array_equal(many.q[1], alone.q[-1])
    assert many["root_wy"][1] == alone.qd[-1, 1] != 0


def test_symplectic_steps_with_drives_and_gravity_are_the_same_motion():
    point = dl.load("planar-2r").with_payload(3.0, frame="base").with_base("planar")
    with pytest.raises(SingularityError, match="some joints move no mass of their own"):
        dl.simulate(point, q0=point.neutral, duration=0.1, solver="symplectic")
    arm = dl.load("planar-2r").with_payload(3.0, (0.1, 0.2, 0.0), frame="base").with_base("planar")
    start = dict(q0=arm.random_configuration(seed=3), qd0=np.linspace(-1, 1, 5), duration=0.5)
    law = lambda t, q, v: np.r_[np.zeros(3), 0.3 - 0.2 * v[3:]]  # noqa: E731
    errors = []
    for dt in (2e-3, 1e-3):
        exact, found = (dl.simulate(arm, law, dt=dt, solver=method, **start) for method in ("rk6", "symplectic"))
        errors.append(max(np.abs(arm.difference(found.q, exact.q)).max(), np.abs(found.qd - exact.qd).max()))
    assert errors[1] < 2e-3 and abs(np.log2(errors[0] / errors[1]) - 2) < 0.1


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_adaptive_methods_stay_on_the_manifold(method: str):
    """A thrown body: the end by a fixed-step method, quaternions of length one in every row, angular momentum as good
    as the tolerance; a controller in Python and samples restart the solver without leaving it."""
    robot = body(com=(0.1, 0.2, -0.1), gravity=(0.0, 0.0, -9.81))
    start = dict(q0=robot.neutral, qd0=np.array([0.1, -0.2, 0.3, 0.3, 2.0, 0.5]), duration=1.0)
    exact = dl.simulate(robot, dt=1e-3, solver="rk8", **start)
    run = dl.simulate(robot, dt=0.01, solver=dl.Solver(method, rtol=1e-8, atol=1e-9), **start)
    assert run.ok and len(run.t) == 101
    assert np.linalg.norm(robot.difference(exact.q[::10], run.q), axis=-1).max() < 3e-6
    assert np.abs(np.linalg.norm(run.q[:, 3:], axis=-1) - 1).max() < 5e-16
    h = robot.momentum(run.q, run.qd, "com")[:, 3:]
    assert np.abs(h - h[0]).max() < 1e-7
    sampled = dl.simulate(
        robot,
        lambda t, q, v: -0.5 * v,
        dt=0.05,
        sensors=dl.Sensors(sample_time=0.05),
        solver=dl.Solver(method, rtol=1e-8, atol=1e-9),
        **start,
    )
    fixed = dl.simulate(robot, lambda t, q, v: -0.5 * v, dt=1e-3, sensors=dl.Sensors(sample_time=0.05), **start)
    assert np.linalg.norm(robot.difference(fixed.q[-1], sampled.q[-1])) < 3e-6
    assert np.abs(np.linalg.norm(sampled.q[:, 3:], axis=-1) - 1).max() < 5e-16


@pytest.mark.parametrize(("method", "order"), [("RK23", 3), ("RK45", 5)])
def test_adaptive_methods_keep_their_order(method: str, order: int):
    """Errors fall with the number of evaluations as the order says, and quaternions of another length, which rounding
    leaves over many steps, turn no faster."""
    robot = body(com=(0.1, 0.2, -0.1))
    start = dict(q0=robot.neutral, qd0=np.array([0.1, -0.2, 0.3, 0.3, 2.0, 0.5]), duration=2.0)
    exact = dl.simulate(robot, dt=1e-3, solver="rk8", **start).q[-1]
    runs = [dl.simulate(robot, dt=1.0, solver=dl.Solver(method, rtol=x, atol=x), **start) for x in (1e-8, 1e-10)]
    errors = [np.linalg.norm(robot.difference(run.q[-1], exact)) for run in runs]
    slope = np.log(errors[0] / errors[1]) / np.log(runs[1].evaluations / runs[0].evaluations)
    assert abs(slope - order) < 0.5
    q, v = robot.random_configuration(seed=0), np.ones(6)
    long = np.concatenate((q[:3], 1.5 * q[3:]))
    rate, stretched = (np.array(robot.flow().position_rates(x.tolist(), v.tolist())) for x in (q, long))
    assert np.abs(rate - robot.position_rates(q, v)).max() < 1e-14
    assert np.abs(stretched - np.concatenate((rate[:3], 1.5 * rate[3:]))).max() < 1e-14


def test_a_tree_of_all_kinds_under_an_adaptive_method():
    robot = dl.Robot(random_tree(21, 4, several=True))
    start = dict(q0=robot.random_configuration(seed=1), qd0=0.3 * np.ones(robot.nv), duration=0.3)
    fixed = dl.simulate(robot, dt=5e-4, solver="rk8", **start).q[-1]
    adaptive = dl.simulate(robot, dt=0.1, solver=dl.Solver("DOP853", rtol=1e-11, atol=1e-11), **start).q[-1]
    assert np.abs(robot.difference(fixed, adaptive)).max() < 1e-8


def test_a_tree_of_all_kinds_keeps_its_energy_books():
    d = random_tree(21, 4, several=True, friction=True)
    smooth = tuple(replace(j, drive=replace(j.drive, coulomb=(0.0, 0.0))) for j in d.joints)
    robot = dl.Robot(replace(d, joints=smooth))
    q0 = robot.random_configuration(seed=1)
    run = dl.simulate(robot, q0=q0, qd0=0.3 * np.ones(robot.nv), duration=0.3, dt=1e-3, friction=True)
    assert run.audit().loss > 0.1 and run.audit().relative < 1e-6
    assert set(run.units[name] for name in robot.states) <= {"m", "rad", "", "m/s", "rad/s"}


def test_batches_are_single_runs():
    robot = body(gravity=(0.0, 0.0, -9.81), com=(0.1, 0.0, 0.0))
    Q, V = robot.random_configuration(5, seed=2), np.random.default_rng(3).normal(size=(5, 6))
    batch = rollouts(robot, q0=Q, qd0=V, duration=0.2, dt=1e-3)
    for k in range(5):
        one = dl.simulate(robot, q0=Q[k], qd0=V[k], duration=0.2, dt=1e-3)
        assert np.abs(one.q[-1] - batch.q[k]).max() < 1e-14 and np.abs(one.qd[-1] - batch.qd[k]).max() < 1e-13


def test_what_cannot_be_is_said():
    robot = body()
    bad = robot.neutral + 0.1
    for call in (lambda: robot.fk(bad), lambda: dl.simulate(robot, q0=bad, duration=0.1), lambda: robot.with_home(bad)):
        with pytest.raises(InputError, match=r"the quaternion of joint 'root' .* robot.normalize\(q\) mends it"):
            call()
    assert np.isfinite(robot.fk(robot.normalize(bad))).all()
    own = replace(robot.flow(), position_rates=None)
    with pytest.raises(InputError, match="RK45 cannot run this: 'brick' has positions on a manifold, and no position_"):
        dl.simulate(own, q0=robot.neutral, duration=0.1, solver="RK45")
    with pytest.raises(InputError, match="whose positions are no vector"):
        robot.n  # noqa: B018
    with pytest.raises(
        InputError, match="verlet needs positions and their rates, and 'brick' has momenta: implicit-mid"
    ):
        integrate(robot.flow(momenta=True), np.zeros(13), 0.01, 1, method="verlet")
    with pytest.raises(InputError, match=r"qd has shape \(7,\); its last dimension must be 6 \(the velocities"):
        robot.inverse_dynamics(robot.neutral, np.zeros(7), np.zeros(6))


def test_linearization_is_along_tangent_vectors():
    """A small tangent vector beside a moving state grows as A says: δq̇ = δv − [v, δq]."""
    robot = dl.Robot(random_tree(33, 3, several=True))
    rng = np.random.default_rng(0)
    q, v, tau = robot.random_configuration(seed=4), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    A, _ = robot.linearize(q, v, tau)
    h, e, n = 1e-5, 1e-4, robot.nv
    d = np.concatenate((e * np.eye(2 * n), -e * np.eye(2 * n), np.zeros((1, 2 * n))))
    Q, V = robot.integrate(q, d[:, :n]), v + d[:, n:]
    a = robot.forward_dynamics(Q, V, tau)
    Q, V = robot.integrate(Q, h * V + 0.5 * h * h * a), V + h * a  # a step of first order is enough
    moved = np.concatenate((robot.difference(Q[-1], Q[:-1]), V[:-1] - V[-1]), -1)
    grown = (moved[: 2 * n] - moved[2 * n :]) / (2 * e)
    assert np.abs((grown.T - np.eye(2 * n)) / h - A).max() < 1e-3 * np.abs(A).max()
    assert np.abs(A[:n, :n]).max() > 0.1
