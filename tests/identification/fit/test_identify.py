"""Identification: base parameters, compression, estimates with their worth, physical consistency, payloads, real
logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.description import Origin
from dalembert.identification.fit.consistent import fit_consistent, from_pseudo_inertia, pseudo_inertia
from dalembert.identification.fit.estimate import least_squares
from dalembert.identification.fit.identify import identify
from dalembert.identification.fit.payload import identify_payload
from dalembert.identification.fit.regression import Regression, compress, compress_many, join
from dalembert.identification.fit.regressor import Columns, _nominal_angle, base, coupling_of
from dalembert.identification.fit.robot import predict_torques
from dalembert.identification.log.prepare import prepare
from dalembert.identification.log.samples import Log, Samples, find_direction
from dalembert.spatial.rotation import from_rpy, to_rpy
from errors import raises
from trees import random_tree


def motion(robot: dl.Robot, seconds: float = 10.0, rate: float = 100.0, seed: int = 0, size: float = 0.6):
    """(t, q, q̇, q̈) of five harmonics per joint, inside the limits, derivatives exact."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, seconds, 1 / rate)
    low, high = robot.limits.lower, robot.limits.upper
    low, high = np.where(np.isfinite(low), low, -2.0), np.where(np.isfinite(high), high, 2.0)
    a, b = rng.normal(size=(2, 5, robot.n))
    w = 2 * np.pi / seconds * np.arange(1, 6)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd, qdd = s @ a + c @ b, c @ (w[:, None] * a) - s @ (w[:, None] * b), -(s * w**2) @ a - (c * w**2) @ b
    scale = size * np.minimum((high - low) / 2, 2.0) / np.abs(q).max(0)
    return t, (low + high) / 2 + scale * q, scale * qd, scale * qdd


def samples_of(robot, t, q, qd, qdd, tau, rest=0.0) -> Samples:
    n = robot.n
    return Samples(t, q, qd, qdd, tau, robot.joint_names, t[1] - t[0], np.inf, np.full(n, rest), np.ones(n))


def true_samples(robot, seed=0, noise=0.0, **options) -> Samples:
    t, q, qd, qdd = motion(robot, seed=seed, **options)
    tau = robot.inverse_dynamics(q, qd, qdd, friction=True)
    tau = tau + noise * np.random.default_rng(seed).normal(size=tau.shape)
    return samples_of(robot, t, q, qd, qdd, tau)


# ------------------------------------------------------------------------------------------------- base parameters
@pytest.mark.parametrize(
    ("name", "friction", "rotor", "rank"),
    [
        ("panda", (), False, 43),
        ("panda", ("viscous", "coulomb", "offset"), False, 64),
        ("ur10e", (), True, 40),
        ("ur10e", ("viscous", "coulomb", "offset"), True, 58),
        ("puma560", (), False, 36),
        ("planar-2r", (), False, 6),
    ],
)
def test_ranks_as_published(name, friction, rotor, rank):
    assert base(Columns(dl.load(name), friction, rotor)).rank == rank


def test_planar_arm_in_words():
    """With gravity in the plane: the first moments and inertias about the joints, lengths of one as coefficients."""
    assert base(Columns(dl.load("planar-2r"), (), False)).formulas() == (
        "link1:mx + link2:m",
        "link1:my",
        "link1:Izz + link2:m",
        "link2:mx",
        "link2:my",
        "link2:Izz",
    )


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_out_is_spanned(seed):
    """Y_rest = Y_kept K in any motion, on random trees with slides and oblique axes; β gives the same torques."""
    robot = dl.Robot(random_tree(seed, 5))
    columns = Columns(robot)
    b = base(columns)
    rng = np.random.default_rng(seed + 10)
    q, qd, qdd = rng.uniform(-3, 3, (3, 30, robot.n))
    t = np.arange(30) * 0.01
    Y = columns.matrix(samples_of(robot, t, q, qd, qdd, np.zeros_like(q)))
    np.testing.assert_allclose(Y[..., b.rest], Y[..., b.kept] @ b.K, atol=1e-8 * np.abs(Y).max())
    pi = rng.normal(size=len(columns.names))
    np.testing.assert_allclose(Y[..., b.kept] @ b.of(pi), Y @ pi, atol=1e-8 * np.abs(Y @ pi).max())
    np.testing.assert_allclose(b.matrix() @ pi, b.of(pi))


def rounded(robot: dl.Robot, how) -> dl.Robot:
    """The robot of a file with fewer digits."""
    d = robot.description

    def joint(x):
        origin = Origin(tuple(map(how, x.origin.xyz)), tuple(map(how, x.origin.rpy)))
        return replace(x, origin=origin, axis=tuple(map(how, x.axis)))

    return dl.Robot(replace(d, joints=tuple(map(joint, d.joints))))


HOW = {
    **{f"{k} decimals": lambda x, k=k: round(x, k) for k in (3, 4, 5)},
    **{f"{k} digits": lambda x, k=k: float(f"{x:.{k}g}") for k in (3, 4, 5)},
    "cut off": lambda x: np.trunc(x * 1e4) / 1e4,
    "dust": lambda x: x + 3.67e-6,
}


@pytest.mark.parametrize("name", [x for x in dl.robots.names() if x != "stewart"])
def test_digits_make_no_base_parameters(name):
    """1.5708 is π/2: base parameters of a rounded description are those of the exact one. (It had a seventieth, of
    77,348 ± 36,272 kg m².)"""
    robot = dl.load(name)
    exact = base(Columns(robot))
    for how in HOW.values():
        found = base(Columns(rounded(robot, how)))
        np.testing.assert_array_equal(found.kept, exact.kept)
        np.testing.assert_allclose(found.K, exact.K, atol=0.01)


def turned(robot: dl.Robot, seed: int = 0) -> dl.Robot:
    """The same arm with the frames of its links turned anyhow: axes and angles are no longer round numbers."""
    rng = np.random.default_rng(seed)
    d = robot.description
    Q = {link.name: np.array(from_rpy(rng.uniform(-1, 1, 3).tolist()), float) for link in d.links[1:]}
    Q[d.links[0].name] = np.eye(3)

    def place(Q0: np.ndarray, origin: Origin, Q1: np.ndarray) -> Origin:
        R = Q0.T @ np.array(from_rpy(origin.rpy), float) @ Q1
        return Origin(tuple(Q0.T @ origin.xyz), tuple(map(float, to_rpy(R.tolist()))))

    joints = tuple(
        replace(x, origin=place(Q[x.parent], x.origin, Q[x.child]), axis=tuple(Q[x.child].T @ x.axis)) for x in d.joints
    )
    links = tuple(
        replace(x, inertial=x.inertial and replace(x.inertial, origin=place(Q[x.name], x.inertial.origin, np.eye(3))))
        for x in d.links
    )
    return dl.Robot(replace(d, joints=joints, links=links))


@pytest.mark.parametrize("name", ["panda", "scara", "planar-2r"])
def test_digits_of_oblique_frames(name):
    """Axes that are parallel only to the last digit of oblique angles are parallel."""
    robot = dl.load(name)
    oblique = turned(robot)
    rank = base(Columns(robot)).rank
    q = np.linspace(-1, 1, robot.n)
    np.testing.assert_allclose(oblique.inverse_dynamics(q, q, q), robot.inverse_dynamics(q, q, q), atol=1e-9)
    for k in (3, 4, 5, 16):
        assert base(Columns(rounded(oblique, lambda x, k=k: round(x, k)))).rank == rank


def test_a_calibrated_arm_does_not_explode():
    """Angles a ten-thousandth off, to all digits: what only they tell apart drowns in noise, and stays as described."""
    robot = dl.load("ur5e")
    run = true_samples(robot, noise=0.5)
    rng = np.random.default_rng(1)
    d = robot.description

    def off(joint):
        xyz, rpy = (tuple(x + 1e-4 * rng.normal() for x in v) for v in (joint.origin.xyz, joint.origin.rpy))
        return replace(joint, origin=Origin(xyz, rpy))

    found = identify(dl.Robot(replace(d, joints=tuple(map(off, d.joints)))), run)
    exact = identify(robot, run)
    assert found.base_parameters.rank > exact.base_parameters.rank and len(found.estimate.untold) > 0
    assert found.estimate.condition < 200 and np.abs(found.base).max() < 2 * np.abs(exact.base).max()
    assert found.held_out_consistent.total < 1.01 * exact.held_out_consistent.total
    assert any("stay as described" in note for note in found.notes)


def test_angles_that_are_meant():
    for text in ("1.57", "1.571", "1.5708", "1.5707", "1.57079", "1.570796", "1.5707999999999998"):
        assert _nominal_angle(float(text)) == np.pi / 2, text
    for text in ("-3.14", "-3.1416", "-3.14159265"):
        assert _nominal_angle(float(text)) == -np.pi, text
    for x in (0.0, 0.01, 0.3, 1.58, 1.6, 1.5704, 1.5711, 1.57, -1.2345, 0.0002):
        assert _nominal_angle(x) in (x, np.pi / 2) and (_nominal_angle(x) == x or x == 1.57)


def test_coupled_motors_have_columns_of_their_own():
    """A motor that turns with joints 1 and 2: its friction acts on both."""
    arm = dl.load("planar-2r")
    columns = Columns(arm, ("viscous", "coulomb"), True, coupling=coupling_of([[50, 0], [25, 50]]))
    assert columns.names[-3:] == ("motor of joint2:rotor", "motor of joint2:viscous", "motor of joint2:coulomb")
    q, qd, qdd = np.zeros((2, 2)), np.full((2, 2), [2.0, 1.0]), np.full((2, 2), [0.0, 4.0])
    Y = columns.matrix(samples_of(arm, np.array([0.0, 1.0]), q, qd, qdd, q))[0]
    np.testing.assert_allclose(Y[:, -3:], [[2.0, 1.0, 0.5], [4.0, 2.0, 1.0]])


def test_direction_is_unknown_at_rest():
    np.testing.assert_allclose(
        find_direction(np.array([-1.0, -0.005, 0.0, 0.01, 2.0]), np.array(0.01)), [-1, -0.5, 0, 1, 1]
    )
    np.testing.assert_array_equal(find_direction(np.array([-1.0, 0.0, 2.0]), np.array(0.0)), [-1, 0, 1])


def test_dry_friction_of_exact_data_is_exact():
    """Torques with sgn q̇ as they are give the Coulomb coefficients to rounding: no band about zero is assumed."""
    robot = dl.load("ur5e")
    t, q, qd, qdd = motion(robot)
    run = samples_of(robot, t, q, qd, qdd, robot.inverse_dynamics(q, qd, qdd) + np.sign(qd))
    found = identify(robot, run, consistent=False)
    names = [found.base_parameters.names[k] for k in found.base_parameters.kept]
    rows = [names.index(f"{joint}:coulomb") for joint in robot.joint_names]
    np.testing.assert_allclose(found.estimate.beta[rows], 1.0, rtol=1e-9)


def test_a_robot_predicts_samples_with_the_direction_of_their_friction():
    """The torques of a robot at filtered samples are the filtered torques, corners of dry friction included; with the
    sign of the filtered rates they are not."""
    robot = dl.load("planar-2r")
    offset = dl.friction.friction("offset", offset=0.3)
    d = robot.description
    drives = iter(
        [dl.describe.Drive(damping=0.3, coulomb=(2.0, 1.5)), dl.describe.Drive(coulomb=(1.0, 1.0), friction=(offset,))]
    )
    joints = tuple(replace(j, drive=next(drives)) if j.kind == "revolute" else j for j in d.joints)
    robot = dl.Robot(replace(d, joints=joints))
    t, q, qd, qdd = motion(robot, rate=500.0)
    log = Log(t, q, robot.inverse_dynamics(q, qd, qdd, friction=True), robot.joint_names)
    s = prepare(log, cutoff=4.0)

    def left(tau):
        return np.linalg.norm(tau - s.tau) / np.linalg.norm(s.tau)

    assert (
        left(predict_torques(robot, s)) < 5e-3 < 0.015 < left(robot.inverse_dynamics(s.q, s.qd, s.qdd, friction=True))
    )


@pytest.mark.parametrize("cutoff", [None, 4.0, 12.0, 30.0])
def test_the_filter_does_not_bias_dry_friction(cutoff):
    """The direction of friction passes the filter of the torques, so that Coulomb friction does not depend on the
    cut-off and lies within its deviations. (The direction of filtered rates gave 5.1 ± 0.2 for 6.)"""
    robot = dl.load("ur5e")
    coulomb = np.array([6.0, 7.0, 5.0, 2.0, 1.5, 1.0])
    t, q, qd, qdd = motion(robot, rate=500.0)
    rng = np.random.default_rng(0)
    tau = robot.inverse_dynamics(q, qd, qdd) + 2.0 * qd + coulomb * np.sign(qd) + 0.4 * rng.normal(size=q.shape)
    log = Log(t, q + 2e-5 * rng.normal(size=q.shape), tau, robot.joint_names)
    found = identify(robot, log, consistent=False, cutoff=cutoff)
    names = [found.base_parameters.names[k] for k in found.base_parameters.kept]
    rows = [names.index(f"{joint}:coulomb") for joint in robot.joint_names]
    off, deviation = found.estimate.beta[rows] - coulomb, found.estimate.deviation[rows]
    assert (np.abs(off) < 3 * deviation).all() and (deviation < 0.05).all()


# --------------------------------------------------------------------------------------------------- compression
def test_triangles_hold_what_least_squares_needs():
    """The same β, residual and weights as from the whole regressor; two logs join are one."""
    robot = dl.load("ur5e")
    run = true_samples(robot, noise=0.5)
    columns = Columns(robot)
    b = base(columns)
    data = compress(columns, b, run)
    Y = columns.matrix(run)[..., b.kept].reshape(-1, b.rank)
    beta, squares, *_ = np.linalg.lstsq(Y, run.tau.reshape(-1), rcond=None)
    found = least_squares(data, weighted=False)
    np.testing.assert_allclose(found.beta, beta, rtol=0, atol=1e-10 * np.abs(beta).max())
    np.testing.assert_allclose(data.squares(beta).sum(), squares[0], rtol=1e-10)
    halves = [compress(columns, b, run.part(slice(a, z))) for a, z in ((0, 300), (300, None))]
    both = join(halves)
    np.testing.assert_allclose(both.squares(beta), data.squares(beta), rtol=1e-10)
    assert both.rows == data.rows == len(run)


def test_many_logs_on_a_cluster():
    """Four runs, some read by the worker: the same triangles as one after another."""
    from functools import partial

    from distributed import Client

    robot = dl.load("scara")
    columns = Columns(robot)
    b = base(columns)
    runs = [true_samples(robot, seed=1, noise=0.1), partial(true_samples, robot, 2, 0.1), true_samples(robot, seed=3)]
    alone = compress_many(columns, b, runs)
    with Client(processes=False, dashboard_address=None) as client:
        together = compress_many(columns, b, runs, client=client)
    np.testing.assert_array_equal(alone.triangles, together.triangles)
    assert alone.rows == 3000
    with raises(dl.InputError, "too-few runs"):
        compress_many(columns, b, [])


def test_parallel_filter_is_the_same_on_both_sides():
    """Without noise, filtered and decimated data give the same parameters to rounding."""
    robot = dl.load("scara")
    run = true_samples(robot)
    columns = Columns(robot)
    b = base(columns)
    for factor in (1, 5):
        found = least_squares(compress(columns, b, run, factor), weighted=False)
        np.testing.assert_allclose(found.beta, b.of(columns.model_values()[columns.free]), atol=1e-8)


def test_fixed_parameters_go_to_the_other_side():
    robot = dl.load("planar-2r")
    run = true_samples(robot)
    values = dict(zip(Columns(robot).all_names, Columns(robot).model_values(), strict=True))
    known = {name: values[name] for name in ("link2:Izz", "link2:mx")}
    columns = Columns(robot, fixed=known)
    b = base(columns)
    assert "link2:Izz" not in columns.names
    found = least_squares(compress(columns, b, run), weighted=False)
    np.testing.assert_allclose(found.beta, b.of(columns.model_values()[columns.free]), atol=1e-9)


# ----------------------------------------------------------------------------------------------------- estimates
def test_truth_within_its_deviations():
    """A hundred noisy logs of a Panda: each base parameter lies within 3 σ of the truth as often as it should, and the
    stated deviations are those that are seen."""
    robot = dl.load("panda")
    columns = Columns(robot, ("viscous", "coulomb", "offset"), rotor=False)
    b = base(columns)
    truth = b.of(columns.model_values()[columns.free])
    clean = true_samples(robot)
    rng = np.random.default_rng(0)
    sigma = np.array([1.0, 2.0, 0.7, 1.5, 0.3, 0.3, 0.1])
    errors, stated = [], []
    for _ in range(100):
        run = replace(clean, tau=clean.tau + sigma * rng.normal(size=clean.tau.shape))
        found = least_squares(compress(columns, b, run))
        errors.append(found.beta - truth)
        stated.append(found.deviation)
    away = np.abs(np.array(errors)) / np.array(stated)
    assert abs(np.mean(away < 1.0) - 0.683) < 0.03 and abs(np.mean(away < 1.96) - 0.95) < 0.02
    assert np.mean(away < 3.0) > 0.99 and (np.mean(away < 3.0, axis=0) > 0.93).all()
    np.testing.assert_allclose(np.std(errors, axis=0) / np.mean(stated, axis=0), 1, atol=0.3)


def test_weights_are_the_joints_own():
    robot = dl.load("ur5e")
    sigma = np.array([5.0, 5.0, 2.0, 0.3, 0.2, 0.1])
    clean = true_samples(robot)
    run = replace(clean, tau=clean.tau + sigma * np.random.default_rng(1).normal(size=clean.tau.shape))
    columns = Columns(robot)
    b = base(columns)
    data = compress(columns, b, run)
    found = least_squares(data)
    np.testing.assert_allclose(found.sigma, sigma, rtol=0.1)
    truth = b.of(columns.model_values()[columns.free])
    plain = least_squares(data, weighted=False)
    assert np.sum(((found.beta - truth) / found.deviation) ** 2) < np.sum(((plain.beta - truth) / found.deviation) ** 2)


@pytest.mark.parametrize("common", [0.0, 0.7])
def test_deviations_with_colored_noise(common):
    """Noise with a memory, another one on each joint or one in common: errors are as large as they are said to be,
    along the parameters and all together."""
    from scipy.stats import chi2, kstest

    robot = dl.load("scara")
    columns = Columns(robot, rotor=False)
    b = base(columns)
    truth = b.of(columns.model_values()[columns.free])
    clean = true_samples(robot, rate=60.0, seconds=20.0)
    rng = np.random.default_rng(3)
    memory = np.array([0.9, 0.8, 0.5, 0.95]) if not common else np.full(4, 0.8)
    mix = np.linalg.cholesky(common * np.ones((4, 4)) + (1 - common) * np.eye(4)).T
    away, far = [], []
    for _ in range(60):
        noise = np.zeros_like(clean.tau)
        pushed = rng.normal(size=noise.shape) @ mix
        for k in range(1, len(noise)):
            noise[k] = memory * noise[k - 1] + pushed[k]
        run = replace(clean, tau=clean.tau + noise)
        problem = Regression(columns, b, (run,))
        found = least_squares(problem.compress(), problem=problem)
        error = found.beta - truth
        away.append(error / found.deviation)
        far.append(error @ np.linalg.solve(found.covariance, error))
    squares = np.mean(np.square(away), axis=0)
    assert abs(squares.mean() - 1) < 0.1 and ((squares > 0.6) & (squares < 1.6)).all()
    assert kstest(far, chi2(b.rank).cdf).pvalue > 0.01


def test_ridge_pulls_toward_the_prior():
    robot = dl.load("planar-2r")
    run = true_samples(robot, noise=1.0)
    columns = Columns(robot)
    b = base(columns)
    data = compress(columns, b, run)
    prior = b.of(columns.model_values()[columns.free]) + 1.0
    loose, tight = (least_squares(data, prior=prior, strength=s).beta for s in (1e-6, 1e6))
    np.testing.assert_allclose(loose, least_squares(data).beta, atol=1e-6)
    np.testing.assert_allclose(tight, prior, atol=1e-6)


# ----------------------------------------------------------------------------------------------- physical consistency
def test_pseudo_inertia_is_positive_for_bodies_alone():
    for seed in range(3):
        robot = dl.Robot(random_tree(seed, 4))
        ten = np.array([body.inertia.parameters() for body in robot.model.bodies], float)
        np.testing.assert_allclose(from_pseudo_inertia(pseudo_inertia(ten)), ten, atol=1e-12)
        assert (np.linalg.eigvalsh(pseudo_inertia(ten)) > -1e-12).all()
    flat = np.array([1.0, 0, 0, 0, 1.0, 0, 0, 1.0, 0, 3.0])  # 1 + 1 < 3: no triangle
    assert np.linalg.eigvalsh(pseudo_inertia(flat))[0] < 0


def test_consistent_fits():
    """Noisy data whose plain fit is impossible: the answer is possible by its own eigenvalues and nearly as good."""
    robot = dl.load("ur5e")
    run = true_samples(robot, noise=2.0, seconds=4.0)
    columns = Columns(robot)
    b = base(columns)
    data = compress(columns, b, run)
    found = least_squares(data)
    near = columns.model_values() * 0.7
    answer = fit_consistent(columns, b, data, found, near)
    ten = answer.parameters[:60].reshape(6, 10)
    lowest = np.linalg.eigvalsh(pseudo_inertia(ten))[:, 0]
    np.testing.assert_allclose(answer.eigenvalues, lowest)
    assert answer.feasible and (lowest > 0).all()
    assert answer.unconstrained <= answer.cost < 1.03 * answer.unconstrained
    positive = [k for k, name in enumerate(columns.all_names) if name.endswith(("viscous", "coulomb", "rotor"))]
    assert (answer.parameters[positive] > -1e-9).all()


def test_identified_robot_predicts_and_is_written(tmp_path):
    """From torques of one robot to another with the same torques, through URDF and TOML."""
    robot = dl.load("ur5e")
    run = true_samples(robot, noise=0.01)
    result = identify(robot, run)
    assert result.held_out.total < 0.01 and result.consistent.feasible
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, 20, 6))
    wanted = robot.inverse_dynamics(q, qd, qdd, friction=True)
    np.testing.assert_allclose(
        result.robot.inverse_dynamics(q, qd, qdd, friction=True), wanted, atol=0.02 * np.abs(wanted).max()
    )
    for name in ("a.urdf", "a.toml"):
        getattr(result.robot, f"to_{name[2:]}")(tmp_path / name)
        again = dl.load(tmp_path / name)
        np.testing.assert_allclose(
            again.inverse_dynamics(q, qd, qdd, friction=True),
            result.robot.inverse_dynamics(q, qd, qdd, friction=True),
            atol=1e-9 * np.abs(wanted).max(),
        )
    assert all(row["apart"] < 6 for row in result.compare())
    assert "base parameters" in result.table() and len(result.essential()) < result.base_parameters.rank


# ------------------------------------------------------------------------------------------------------- payloads
@pytest.mark.parametrize("name", ["panda", "ur10e"])
@pytest.mark.parametrize("mass", [0.0, 1.2, 3.4])
def test_payload(name, mass):
    """Mass within 1 % (20 g at 0 kg) and center within 2 mm, under torque noise of a hundredth of the largest
    torque."""
    robot = dl.load(name)
    com = (0.02, -0.03, 0.06)
    loaded = robot.with_payload(mass, com, np.diag([0.004, 0.005, 0.003]) * mass) if mass else robot
    t, q, qd, qdd = motion(robot, seconds=20.0, seed=3)
    tau = loaded.inverse_dynamics(q, qd, qdd, friction=True)
    noisy = tau + 0.01 * np.abs(tau).max(0) * np.random.default_rng(1).normal(size=tau.shape) + 0.1
    found = identify_payload(robot, samples_of(robot, t, q, qd, qdd, noisy))
    assert abs(found.mass - mass) < max(0.01 * mass, 0.02)
    assert found.present == (mass > 0)
    if mass:
        assert np.abs(found.com - com).max() < 0.002
        assert abs(found.mass - mass) < 4 * found.mass_deviation
        carried = found.carried_by(robot)
        np.testing.assert_allclose(carried.gravity_torque(q[0]), loaded.gravity_torque(q[0]), atol=0.2)


# ------------------------------------------------------------------------------------------------------- bad input
def test_poor_motions_are_told_by_name():
    """What a joint that stands still does not show stays as described, by name; an arm that stands still is refused."""
    robot = dl.load("planar-2r")
    run = true_samples(robot, noise=0.1)

    def moved(how) -> Samples:
        motion = {name: getattr(run, name) * how for name in ("q", "qd", "qdd")}
        tau = robot.inverse_dynamics(motion["q"], motion["qd"], motion["qdd"], friction=True)
        return replace(run, tau=tau + run.tau - true_samples(robot).tau, **motion)

    described = {"joint2:viscous": 0.3, "joint2:rotor": 0.02}
    found = identify(robot, moved([1.0, 0.0]), near=described)
    assert any("stay as described" in note and "joint2:viscous" in note for note in found.notes)
    values = dict(zip(found.columns.all_names, found.parameters, strict=True))
    assert all(abs(values[name] - x) < 1e-6 for name, x in described.items())
    assert found.held_out_consistent.total < 0.05 and found.estimate.condition < 100
    assert not {"joint2:viscous", "joint2:rotor"} & set(found.essential())
    with raises(dl.SingularityError, "singular data"):
        identify(robot, moved([0.0, 0.0]))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda r, s: identify(r, s, method="wieghted"), "unknown-name"),
        (lambda r, s: identify(r, s, holdout=2), "out-of-range holdout"),
        (lambda r, s: identify(r, []), "too-few data"),
        (lambda r, s: identify(r, [1]), "wrong-type"),
        (lambda r, s: identify(r, s, cutoff=5.0), "no-effect preparation"),
        (lambda r, s: identify(dl.load("panda"), s), "conflict data"),
        (lambda r, s: identify(r, s, friction=("viscos",)), "unknown-name"),
        (lambda r, s: identify(r, s, fixed={"link9:m": 1.0}), "unknown-name"),
        (lambda r, s: identify(r, s, fixed={"link1:m": np.nan}), "not-finite fixed"),
        (lambda r, s: identify(r, s, coupling=[[1, 0], [0, 0]]), "wrong-shape coupling"),
        (lambda r, s: identify(r, s, parallel=0), "wrong-value parallel"),
        (lambda r, s: identify_payload(r, s, "base"), "wrong-structure frame"),
        (lambda r, s: identify(r, s.part(slice(0, 3))), "too-few"),
    ],
)
def test_bad_input_is_named(call, text):
    robot = dl.load("planar-2r")
    with raises(dl.DalembertError, text):
        call(robot, true_samples(robot))
