"""Identities that hold for every mechanism, on random trees, over three scalars: plain floats, the interpreted
graph, and compiled kernels."""

from __future__ import annotations

import inspect
from functools import cache
from itertools import count, islice

import numpy as np
import pytest

from dalembert import kernels
from dalembert.algorithms import composite, joints, matrix_form
from dalembert.errors import InputError
from dalembert.model.lean import lean
from dalembert.robot import Robot
from tolerances import DIFFERENCE, ROUNDING, SOLVED, error
from trees import random_tree

CASES = {
    "chain of 1": dict(seed=1, joints=1, fixed=False),
    "chain of 6, axes along x, y, z": dict(seed=2, joints=6, oblique=False, chain=True),
    "tree of 7": dict(seed=3, joints=7),
    "tree of 7 with rotors": dict(seed=4, joints=7, rotors=True),
    "tree of 8 with mimic joints": dict(seed=5, joints=8, mimic=True, rotors=True),
    "revolute chain of 7": dict(seed=6, joints=7, prismatic=False, chain=True, friction=True),
    "tree of 7, all kinds": dict(seed=21, joints=7, several=True),
    "tree of 9, all kinds, mimics and rotors": dict(seed=24, joints=9, several=True, mimic=True, rotors=True),
    "chain of 6, all kinds, friction": dict(seed=26, joints=6, several=True, chain=True, friction=True, oblique=False),
    "prismatic first": dict(seed=11, joints=4, chain=True, oblique=False),
}
SCALARS = ("float", "interpreter", "compiled")


@cache
def robot_of(case: str) -> Robot:
    return Robot(random_tree(**CASES[case]))


def evaluate(robot: Robot, scalar: str, name: str, *arguments, given=(), **options) -> np.ndarray:
    """One kernel, by one of the three scalars. Floats run the algorithm itself, on the model as it is."""
    if scalar == "float":
        row = kernels.ROWS[name]
        names = row.arguments + tuple(given) + tuple(kernels.wrench_names(options))
        a = dict(zip(names, [np.asarray(x).tolist() for x in arguments], strict=True))
        return np.array(row.trace(robot.model, a, kernels.TABLE.read_options(name, options)), float)
    kernel = robot.kernel(name, given, **options)
    return kernel.interpret(*arguments) if scalar == "interpreter" else kernel(*arguments)


def state(robot: Robot, seed: int = 0) -> list[np.ndarray]:
    """Positions, velocities, accelerations or torques."""
    if robot.model.curved is None:
        return list(np.random.default_rng(seed).uniform(-1, 1, (3, robot.n)))
    rng = np.random.default_rng(seed)
    q = joints.normalize(robot.model, rng.uniform(-1, 1, robot.nq).tolist())
    return [np.array(q), *rng.uniform(-1, 1, (2, robot.nv))]


def step(robot: Robot, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """q ⊕ d: q + d where q̇ = v."""
    return np.array(joints.integrate(robot.model, q.tolist(), np.asarray(d).tolist()))


@pytest.fixture(params=CASES)
def robot(request) -> Robot:
    return robot_of(request.param)


@pytest.fixture(params=SCALARS)
def run(request, robot):
    return lambda name, *a, **k: evaluate(robot, request.param, name, *a, **k)


def test_the_scalars_agree(robot):
    q, qd, qdd = state(robot)
    for name, arguments in {
        "inverse_dynamics": (q, qd, qdd),
        "forward_dynamics": (q, qd, qdd),
        "mass_matrix": (q,),
        "coriolis_matrix": (q, qd),
        **({} if robot.model.curved else {"christoffel": (q,)}),
        "gravity_torque": (q,),
        "regressor": (q, qd, qdd),
        "momentum": (q, qd),
    }.items():
        floats = evaluate(robot, "float", name, *arguments)
        interpreted = evaluate(robot, "interpreter", name, *arguments)
        compiled = evaluate(robot, "compiled", name, *arguments)
        assert np.array_equal(interpreted, compiled), name  # bit for bit
        assert error(compiled, floats, 1.0) < (SOLVED if name == "forward_dynamics" else ROUNDING), name


def test_inverse_dynamics_is_the_sum_of_its_terms(robot, run):
    q, qd, qdd = state(robot)
    tau = run("inverse_dynamics", q, qd, qdd)
    M, C, g = run("mass_matrix", q), run("coriolis_matrix", q, qd), run("gravity_torque", q)
    assert error(M @ qdd + C @ qd + g, tau, 1.0) < ROUNDING


def test_terms_by_calls_of_the_recursion(robot, run):
    """[Fakhari 2], method 2: columns of M, c and g are the recursion with other arguments set to zero."""
    q, qd, _ = state(robot)
    zero = np.zeros(robot.nv)
    g = run("inverse_dynamics", q, zero, zero)
    assert error(run("gravity_torque", q), g, 1.0) < ROUNDING
    columns = [run("inverse_dynamics", q, zero, e) - g for e in np.eye(robot.nv)]
    assert error(np.array(columns).T, run("mass_matrix", q)) < ROUNDING
    c = run("inverse_dynamics", q, qd, zero) - g
    assert error(run("coriolis_torque", q, qd), c, 1.0) < ROUNDING
    assert error(run("bias_torque", q, qd), c + g, 1.0) < ROUNDING


def test_mass_matrix_is_symmetric_positive_definite(robot, run):
    M = run("mass_matrix", state(robot)[0])
    assert np.array_equal(M, M.T) or error(M, M.T) < ROUNDING  # folding mimic joints may round
    assert np.linalg.eigvalsh(M).min() > 0


def test_kinetic_energy_is_half_qd_M_qd(robot, run):
    q, qd, _ = state(robot)
    K = run("kinetic_energy", q, qd)
    assert abs(0.5 * qd @ run("mass_matrix", q) @ qd - K) < ROUNDING * K


def test_forward_dynamics_inverts_inverse_dynamics(robot, run):
    q, qd, qdd = state(robot)
    tau = run("inverse_dynamics", q, qd, qdd)
    assert error(run("forward_dynamics", q, qd, tau), qdd) < SOLVED
    assert error(run("forward_dynamics", q, qd, tau, method="factorized"), qdd) < SOLVED
    if not robot.model.mimics:
        assert error(run("forward_dynamics", q, qd, tau, method="articulated"), qdd) < SOLVED


def test_wrench_at_a_frame_acts_through_the_jacobian(robot, run):
    q, qd, qdd = state(robot)
    F = np.random.default_rng(1).normal(size=6)
    for frame in (robot.frames[-1], robot.frames[len(robot.frames) // 2]):
        tau = run("inverse_dynamics", q, qd, qdd, F, wrenches=(frame,))
        wanted = run("inverse_dynamics", q, qd, qdd) - run("jacobian", q, frame=frame).T @ F
        assert error(tau, wanted, 1.0) < ROUNDING, frame
        back = run("forward_dynamics", q, qd, tau, F, wrenches=(frame,))
        assert error(back, qdd) < SOLVED


def test_friction_is_in_inverse_and_forward_dynamics_alike(robot, run):
    q, qd, qdd = state(robot)
    tau = run("inverse_dynamics", q, qd, qdd, friction=True)
    extra = run("friction_torque", q, qd)
    assert error(tau - run("inverse_dynamics", q, qd, qdd), extra, 1.0) < ROUNDING
    assert error(run("forward_dynamics", q, qd, tau, friction=True), qdd) < SOLVED
    if robot.model.bodies[0].damping:
        assert np.abs(extra).min() > 1e-3


def test_mdot_minus_2c_is_skew(robot, run):
    q, qd, _ = state(robot)
    C = run("coriolis_matrix", q, qd)
    N = run("mass_matrix_dot", q, qd) - 2 * C
    assert np.abs(N + N.T).max() < ROUNDING * max(np.abs(C).max(), 1)


def test_mass_matrix_dot_is_the_derivative(robot, run):
    q, qd, _ = state(robot)
    h = 1e-6
    difference = (run("mass_matrix", step(robot, q, h * qd)) - run("mass_matrix", step(robot, q, -h * qd))) / (2 * h)
    assert error(run("mass_matrix_dot", q, qd), difference, 1.0) < DIFFERENCE


def test_all_choices_of_c_give_the_same_torque(robot, run):
    q, qd, _ = state(robot)
    c = run("coriolis_torque", q, qd)
    M_dot = run("mass_matrix_dot", q, qd)
    if robot.model.curved is not None:
        for choice in tuple(composite.CHOICES)[1:]:
            with pytest.raises(InputError, match="whose positions are no vector"):
                run("coriolis_matrix", q, qd, choice=choice)
        assert error(run("coriolis_matrix", q, qd) @ qd, c, 1.0) < ROUNDING
        return
    for choice in composite.CHOICES:
        C = run("coriolis_matrix", q, qd, choice=choice)
        assert error(C @ qd, c, 1.0) < ROUNDING, choice
        assert abs(qd @ (M_dot - 2 * C) @ qd) < ROUNDING * max(1, np.abs(C).max()), choice
    standard = run("coriolis_matrix", q, qd)
    assert error(run("coriolis_matrix", q, qd, choice="kronecker"), standard, 1.0) < ROUNDING
    if robot.nv > 2:
        other = run("coriolis_matrix", q, qd, choice="mdot-u/2")
        N = M_dot - 2 * other
        assert np.abs(N + N.T).max() > 1e-6  # this choice does not keep the property


def test_christoffel_symbols(robot, run):
    q, qd, _ = state(robot)
    if robot.model.curved is not None:
        with pytest.raises(InputError, match="whose positions are no vector"):
            run("christoffel", q)
        return
    G = run("christoffel", q)
    assert error(G, G.swapaxes(0, 1), 1.0) < ROUNDING  # symmetric in the first two
    C = np.einsum("ijk,i->kj", G, qd)
    assert error(run("coriolis_matrix", q, qd), C, 1.0) < ROUNDING
    h = 1e-6
    D = np.array([(run("mass_matrix", q + h * e) - run("mass_matrix", q - h * e)) / (2 * h) for e in np.eye(robot.nv)])
    wanted = 0.5 * (np.einsum("ikj->ijk", D) + np.einsum("jki->ijk", D) - np.einsum("kij->ijk", D))
    assert error(G, wanted, 1.0) < DIFFERENCE


def test_gravity_is_the_gradient_of_the_potential(robot, run):
    q = state(robot)[0]
    h = 1e-6
    P = lambda x: float(run("potential_energy", x))  # noqa: E731
    wanted = [(P(step(robot, q, h * e)) - P(step(robot, q, -h * e))) / (2 * h) for e in np.eye(robot.nv)]
    assert error(run("gravity_torque", q), wanted, 1.0) < DIFFERENCE


def test_power_is_the_rate_of_energy(robot, run):
    """q̇ᵀ τ = Ḣ along any motion. [Lagrange notes]."""
    q, qd, qdd = state(robot)
    h = 1e-6

    def H(t: float) -> float:
        x, v = step(robot, q, t * qd + 0.5 * t * t * qdd), qd + t * qdd
        return float(run("kinetic_energy", x, v) + run("potential_energy", x))

    power = qd @ run("inverse_dynamics", q, qd, qdd)
    assert abs((H(h) - H(-h)) / (2 * h) - power) < DIFFERENCE * max(1, abs(power)) * 10


def test_regressor_times_parameters_is_inverse_dynamics(robot, run):
    q, qd, qdd = state(robot)
    Y = run("regressor", q, qd, qdd, rotor=True)
    assert error(Y @ robot.parameters(rotor=True), run("inverse_dynamics", q, qd, qdd), 1.0) < ROUNDING
    assert Y.shape[1] == len(robot.parameter_names(rotor=True)) == 10 * len(robot.bodies) + robot.nv


def test_jacobian_is_the_derivative_of_forward_kinematics(robot, run):
    q = state(robot)[0]
    h = 1e-6
    for frame in robot.frames[-3:]:
        J = run("jacobian", q, frame=frame)
        T = run("fk", q, frame=frame)
        for k, e in enumerate(np.eye(robot.nv)):
            a, b = (run("fk", step(robot, q, x * e), frame=frame) for x in (h, -h))
            D = (a - b) / (2 * h)
            S = D[:3, :3] @ T[:3, :3].T
            w = np.array([S[2, 1], S[0, 2], S[1, 0]])
            assert np.abs(np.r_[D[:3, 3], w] - J[:, k]).max() < DIFFERENCE


def test_jacobian_expressions_are_related_by_adjoints(robot, run):
    from dalembert.se3 import adjoint

    q = state(robot)[0]
    frame = robot.frames[-1]
    T = run("fk", q, frame=frame)
    spatial = run("jacobian", q, frame=frame, expressed_in="spatial")
    local = run("jacobian", q, frame=frame, expressed_in="local")
    assert error(adjoint(T) @ local, spatial, 1.0) < ROUNDING
    world = run("jacobian", q, frame=frame, expressed_in="world")
    turn = np.kron(np.eye(2), T[:3, :3])
    assert error(turn @ local, world, 1.0) < ROUNDING


def test_jacobian_dot_is_the_derivative(robot, run):
    q, qd, _ = state(robot)
    h = 1e-6
    for expressed_in in ("world", "local", "spatial"):
        o = dict(frame=robot.frames[-1], expressed_in=expressed_in)
        a, b = (run("jacobian", step(robot, q, x * qd), **o) for x in (h, -h))
        wanted = (a - b) / (2 * h)
        assert error(run("jacobian_dot", q, qd, **o), wanted, 1.0) < DIFFERENCE


def test_transforms_between_frames_chain(robot, run):
    """T_ac = T_ab T_bc for any three frames, T_aa = 1, T_ab = T_ba⁻¹. [Poonawala] eq. 2."""
    q = state(robot)[0]
    a, b, c = robot.frames[0], robot.frames[len(robot.frames) // 2], robot.frames[-1]
    T = lambda x, y: run("transform", q, to=x, of=y)  # noqa: E731
    assert error(T(a, b) @ T(b, c), T(a, c)) < ROUNDING
    assert error(T(b, b), np.eye(4)) < ROUNDING
    assert error(np.linalg.inv(T(b, c)), T(c, b)) < ROUNDING
    assert error(T(a, c), run("fk", q, frame=c)) < ROUNDING


def test_mass_matrix_is_the_sum_over_body_jacobians(robot, run):
    """M = Σ Jᵀ 𝒢 J ([Fakhari 2]) and Σ m J_vᵀ J_v + J_ωᵀ R I Rᵀ J_ω ([Poonawala], [Lagrange notes])."""
    q = state(robot)[0]
    M = np.zeros((robot.nv, robot.nv))
    by_com = np.zeros_like(M)
    for body in robot.model.bodies:
        J = run("jacobian", q, frame=body.name, expressed_in="local")
        M += J.T @ np.array(body.inertia.matrix()) @ J
        Jc = run("com_jacobian", q, link=body.name)
        R = run("fk", q, frame=body.name)[:3, :3]
        I_c = R @ np.array(body.inertia.about_com()) @ R.T
        by_com += body.inertia.m * Jc[:3].T @ Jc[:3] + Jc[3:].T @ I_c @ Jc[3:]
        for total in (M, by_com):
            for k in range(body.coordinate, body.coordinate + body.joint.nv):
                total[k, k] += body.multiplier**2 * body.rotor_inertia
    assert error(M, run("mass_matrix", q)) < ROUNDING
    assert error(by_com, run("mass_matrix", q)) < ROUNDING


def test_closed_matrix_form(robot):
    """[Fakhari 2], method 1: M, c, g and Ṁ from 𝒜, ℒ, 𝒲, 𝒢."""
    q, qd, _ = state(robot)
    form = matrix_form.matrix_form(robot.model, q.tolist())
    rotors = np.zeros(robot.nv)
    for body in robot.model.bodies:
        rotors[body.coordinate : body.coordinate + body.joint.nv] += body.multiplier**2 * body.rotor_inertia
    M = np.array(matrix_form.mass_matrix(form)) + np.diag(rotors)
    assert error(M, evaluate(robot, "float", "mass_matrix", q)) < ROUNDING
    c = matrix_form.coriolis_torque(form, qd.tolist())
    assert error(c, evaluate(robot, "float", "coriolis_torque", q, qd), 1.0) < ROUNDING
    g = matrix_form.gravity_torque(form)
    assert error(g, evaluate(robot, "float", "gravity_torque", q), 1.0) < ROUNDING
    M_dot = matrix_form.mass_matrix_dot(form, qd.tolist())
    assert error(M_dot, evaluate(robot, "float", "mass_matrix_dot", q, qd), 1.0) < ROUNDING
    L, W = np.array(form.L), np.array(form.W)
    assert error(L @ (np.eye(len(W)) - W), np.eye(len(W))) < ROUNDING


def test_centroidal_momentum_is_that_about_the_center_of_mass(robot, run):
    """h = A v, ḣ = A v̇ + Ȧ v; alone in space, ḣ is the weight and what the base's support gives."""
    q, qd, qdd = state(robot)
    A, A_dot = run("centroidal_momentum_matrix", q), run("centroidal_momentum_matrix_dot", q, qd)
    assert error(A @ qd, run("momentum", q, qd, about="com"), 1.0) < ROUNDING
    h = 1e-6
    a, b = (run("momentum", step(robot, q, t * qd + 0.5 * t * t * qdd), qd + t * qdd, about="com") for t in (h, -h))
    assert error(A @ qdd + A_dot @ qd, (a - b) / (2 * h), 1.0) < DIFFERENCE
    I, c = run("centroidal_inertia", q), run("center_of_mass", q)
    assert error(I, I.T) < ROUNDING and np.linalg.eigvalsh(I).min() > 0 and abs(I[0, 0] - robot.mass) < ROUNDING
    turning = sum(
        R @ np.array(b.inertia.about_com()) @ R.T + b.inertia.m * (r @ r * np.eye(3) - np.outer(r, r))
        for b in robot.model.bodies
        for T in (run("fk", q, frame=b.name),)
        for R, r in ((T[:3, :3], T[:3, :3] @ np.array(b.inertia.com()) + T[:3, 3] - c),)
    )
    assert error(I[3:, 3:], turning) < ROUNDING


def test_derivatives_are_those_along_tangent_vectors(robot):
    """∂τ/∂q along q ⊕ ε, ∂τ/∂v, and those of forward dynamics."""
    q, qd, x = state(robot)
    h = 1e-6
    for f in (robot.inverse_dynamics, robot.forward_dynamics):
        D = getattr(robot, f"{f.__name__}_derivatives")(q, qd, x)
        e = h * np.eye(robot.nv)
        ahead, back = (robot.integrate(q, sign * e) for sign in (1, -1))
        differences = (
            f(ahead, qd, x) - f(back, qd, x),
            f(q, qd + e, x) - f(q, qd - e, x),
            f(q, qd, x + e) - f(q, qd, x - e),
        )
        for exact, difference in zip(D, differences, strict=True):
            assert error(exact, difference.T / (2 * h), 1.0) < 20 * DIFFERENCE, f.__name__


def test_positions_and_tangent_vectors(robot, run):
    q, qd, d = state(robot)
    q1 = run("integrate", q, d)
    assert error(run("difference", q, q1), d, 1.0) < ROUNDING
    assert error(run("interpolate", q, q1, np.array(1.0)), q1, 1.0) < ROUNDING
    half = run("interpolate", q, q1, np.array(0.5))
    assert error(run("difference", q, half), 0.5 * d, 1.0) < ROUNDING
    h = 1e-6
    rate = (run("integrate", q, h * qd) - run("integrate", q, -h * qd)) / (2 * h)
    assert error(run("position_rates", q, qd), rate, 1.0) < DIFFERENCE
    assert error(run("normalize", q), q, 1.0) < ROUNDING


def test_momentum_and_center_of_mass(robot, run):
    q, qd, _ = state(robot)
    p = run("momentum", q, qd)
    J = run("center_of_mass_jacobian", q)
    assert error(robot.mass * J @ qd, p[:3], 1.0) < ROUNDING
    h = 1e-6
    a, b = (run("center_of_mass", step(robot, q, x * qd)) for x in (h, -h))
    rate = (a - b) / (2 * h)
    assert error(J @ qd, rate, 1.0) < DIFFERENCE
    about = run("momentum", q, qd, about="com")
    assert error(about[3:] + np.cross(run("center_of_mass", q), p[:3]), p[3:], 1.0) < ROUNDING
    P = -robot.mass * robot.gravity @ run("center_of_mass", q)
    assert abs(P - run("potential_energy", q)) < ROUNDING * max(1, abs(P))


def test_moving_base_is_felt_as_gravity_and_as_one_more_joint(robot, run):
    """A base that accelerates like −g cancels gravity; a base that turns is a robot on a turntable."""
    q, qd, qdd = state(robot)
    fall = np.r_[robot.gravity, 0, 0, 0]
    weightless = run("inverse_dynamics", q, qd, qdd, fall, given=("base_acceleration",))
    wanted = run("inverse_dynamics", q, qd, qdd) - run("gravity_torque", q)
    assert error(weightless, wanted, 1.0) < ROUNDING


def test_a_base_on_a_turntable():
    from dataclasses import replace

    from dalembert.describe.description import Joint, Link

    d = random_tree(seed=8, joints=4)
    turned = replace(
        d,
        links=(Link("ground"), *d.links),
        joints=(Joint("turntable", "continuous", "ground", "base", axis=(0.0, 0.0, 1.0)), *d.joints),
    )
    small, large = Robot(d), Robot(turned)
    q, qd, qdd = state(small)
    w, wd = 0.7, -1.3
    base = dict(base_velocity=[0, 0, 0, 0, 0, w], base_acceleration=[0, 0, 0, 0, 0, wd])
    tau = small.inverse_dynamics(q, qd, qdd, **base)
    wanted = large.inverse_dynamics(np.r_[0, q], np.r_[w, qd], np.r_[wd, qdd])[1:]
    assert error(tau, wanted) < ROUNDING


def test_the_lean_model_has_the_same_dynamics(robot):
    from dalembert.algorithms import articulated, newton_euler

    q, qd, qdd = (x.tolist() for x in state(robot))
    a, b = robot.model, lean(robot.model)
    for f in (newton_euler.inverse_dynamics, articulated.factorized):
        assert error(f(b, q, qd, qdd), f(a, q, qd, qdd), 1.0) < SOLVED
    if robot.model.curved is None:
        assert error(composite.christoffel(b, q), composite.christoffel(a, q), 1.0) < ROUNDING
    assert error(composite.coriolis_matrix(b, q, qd), composite.coriolis_matrix(a, q, qd), 1.0) < ROUNDING
    for body in b.bodies:
        assert (
            body.inertia.m == 0.0
            or body.joint.kind == "prismatic"
            or body.joint.kind == "helical"
            or not body.joint.direct
        )


def test_a_hundred_joints():
    robot = Robot(random_tree(seed=9, joints=100, chain=True, fixed=False))
    q, qd, qdd = state(robot)
    tau = evaluate(robot, "float", "inverse_dynamics", q, qd, qdd)
    M, c = (evaluate(robot, "float", "mass_matrix", q), evaluate(robot, "float", "bias_torque", q, qd))
    assert error(M @ qdd + c, tau) < ROUNDING
    back = evaluate(robot, "float", "forward_dynamics", q, qd, tau, method="articulated")
    assert error(back, qdd) < 1e-6  # a chain of a hundred: condition number 1e9
    assert error(robot.inverse_dynamics(q, qd, qdd), tau) < ROUNDING


def test_regressor_with_friction_and_mimic_joints():
    """Symmetric Coulomb friction is linear in its parameters; a mimic joint's adds to its master's."""
    from dataclasses import replace

    d = random_tree(seed=5, joints=8, mimic=True, rotors=True, friction=True)
    linear = tuple(
        replace(j, drive=replace(j.drive, coulomb=(j.drive.coulomb[0],) * 2, stiffness=0.0)) for j in d.joints
    )
    robot = Robot(replace(d, joints=linear))
    assert robot.model.mimics
    q, qd, qdd = state(robot)
    Y = robot.regressor(q, qd, qdd, friction=True, rotor=True)
    wanted = robot.inverse_dynamics(q, qd, qdd, friction=True)
    assert error(Y @ robot.parameters(friction=True, rotor=True), wanted) < ROUNDING
    assert len(robot.parameter_names(friction=True, rotor=True)) == Y.shape[1]


@pytest.mark.long
def test_five_hundred_trees_of_all_kinds_of_joints():
    """Every law above that is stated of algorithms, on plain floats."""
    alone = (test_closed_matrix_form, test_the_lean_model_has_the_same_dynamics)
    tests = [f for name, f in globals().items() if name.startswith("test_")]
    laws = [f for f in tests if list(inspect.signature(f).parameters) == ["robot", "run"]]
    words = lambda k: dict(several=True, mimic=k % 3 == 0, rotors=k % 2 == 0)  # noqa: E731
    trees = ((100 + k, Robot(random_tree(100 + k, 2 + k % 7, **words(k)))) for k in count())
    curved = ((seed, robot) for seed, robot in trees if robot.model.curved is not None)
    assert len(laws) > 20
    for seed, robot in islice(curved, 500):
        run = lambda name, *a, robot=robot, **k: evaluate(robot, "float", name, *a, **k)  # noqa: E731
        try:
            for law in laws:
                law(robot, run)
            for law in alone:
                law(robot)
        except AssertionError as error:
            raise AssertionError(f"{law.__name__}, tree {seed}") from error
