"""Estimates beyond plain least squares: outliers, noisy regressors, nonlinear friction, gains of drives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert import friction as frictions
from dalembert.identification.fit.consistent import fit_consistent
from dalembert.identification.fit.estimate import (
    LOSSES,
    instrumental_variables,
    least_squares,
    reference_instruments,
    robust_least_squares,
)
from dalembert.identification.fit.friction import SOUGHT, nonlinear_friction
from dalembert.identification.fit.payload import drive_gains
from dalembert.identification.fit.regression import compress
from dalembert.identification.fit.regressor import Columns, base
from dalembert.identification.log.samples import Samples
from dalembert.reference import Reference
from errors import raises


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


def samples_of(robot, t, q, qd, qdd, tau) -> Samples:
    n = robot.n
    return Samples(t, q, qd, qdd, tau, robot.joint_names, t[1] - t[0], np.inf, np.zeros(n), np.ones(n))


def true_samples(robot, **options) -> Samples:
    t, q, qd, qdd = motion(robot, **options)
    return samples_of(robot, t, q, qd, qdd, robot.inverse_dynamics(q, qd, qdd, friction=True))


def setting(name, *args, **options):
    """(robot, columns, base, β of the description, clean samples)."""
    robot = dl.load(name)
    columns = Columns(robot, *args)
    b = base(columns)
    return robot, columns, b, b.of(columns.model_values()[columns.free]), true_samples(robot, **options)


# ----------------------------------------------------------------------------------------------------- robust
@pytest.mark.parametrize("loss", ["huber", "tukey"])
def test_gross_errors_do_not_spoil_robust_fits(loss):
    """5 % of the torques grossly wrong, all to one side: plain least squares is many deviations off, the robust ones
    stay within three (of some 50 parameters one may be past it by chance), and the share of bad samples is told."""
    _, columns, b, truth, clean = setting("ur5e")
    rng = np.random.default_rng(0)
    sigma = np.array([2.0, 2.0, 1.0, 0.3, 0.3, 0.2])
    bad = rng.random(clean.tau.shape) < 0.05
    wrong = bad * 60 * sigma * rng.uniform(0.5, 1.0, bad.shape)
    run = replace(clean, tau=clean.tau + sigma * rng.normal(size=bad.shape) + wrong)
    plain = least_squares(compress(columns, b, run))
    found = robust_least_squares(columns, b, run, loss)
    assert found.converged
    if loss == "tukey":
        away = np.abs(found.estimate.beta - truth) / found.estimate.deviation
        assert np.mean(away < 3) > 0.96 and away.max() < 4
        seen = np.median(np.abs(run.tau - clean.tau), axis=0) / 0.6745
        np.testing.assert_allclose(found.estimate.sigma, seen, rtol=0.06)
    clean_deviation = robust_least_squares(columns, b, replace(run, tau=run.tau - wrong), loss).estimate.deviation
    off = [np.sqrt(np.mean(((beta - truth) / clean_deviation) ** 2)) for beta in (plain.beta, found.estimate.beta)]
    assert off[0] > 5 and off[1] < (2.5 if loss == "huber" else 1.3)
    np.testing.assert_allclose(found.doubted, bad.mean(0), atol=0.015)
    answer = fit_consistent(columns, b, found.data, found.estimate, columns.model_values())
    assert answer.feasible


@pytest.mark.parametrize("loss", ["huber", "tukey"])
def test_robust_deviations_are_those_seen(loss):
    """Normal errors and 5 % errors ten times as large, symmetric: errors of β are as often within one and two
    deviations as they should be."""
    _, columns, b, truth, clean = setting("planar-2r", seconds=5.0)
    rng = np.random.default_rng(1)
    away = []
    for _ in range(60):
        e = rng.normal(size=clean.tau.shape) * np.where(rng.random(clean.tau.shape) < 0.05, 10.0, 1.0)
        found = robust_least_squares(columns, b, replace(clean, tau=clean.tau + e), loss).estimate
        away.append(np.abs(found.beta - truth) / found.deviation)
    assert abs(np.mean(np.array(away) < 1) - 0.683) < 0.06 and abs(np.mean(np.array(away) < 1.96) - 0.95) < 0.03


def test_without_errors_robust_fits_are_least_squares():
    """With a constant that no sample reaches, the same β as least squares; with two runs, as with one; without noise,
    the truth."""
    _, columns, b, truth, clean = setting("planar-2r")
    run = replace(clean, tau=clean.tau + np.random.default_rng(0).normal(size=clean.tau.shape))
    data = compress(columns, b, run)
    for loss in LOSSES:
        found = robust_least_squares(columns, b, run, loss, constant=1e6).estimate
        # weights by MAD, not by rms: the same up to how joints count
        wanted = np.linalg.lstsq(*np.split(data.stacked(found.weights), [b.rank], axis=1), rcond=None)[0][:, 0]
        np.testing.assert_allclose(found.beta, wanted, atol=1e-3 * found.deviation.min())
        halves = [run.part(slice(0, 400)), run.part(slice(400, None))]
        again = robust_least_squares(columns, b, halves, loss, constant=1e6).estimate
        np.testing.assert_allclose(again.beta, found.beta, atol=1e-6)
        np.testing.assert_allclose(robust_least_squares(columns, b, clean, loss).estimate.beta, truth, atol=1e-7)


def test_losses_are_their_own_derivatives():
    u = np.linspace(-8, 8, 4001)
    for loss in LOSSES.values():
        c = loss.constant
        psi = loss.weight(u, c) * u
        rough = np.gradient(psi, u)
        smooth = np.abs(np.abs(u) - c) > 0.02
        np.testing.assert_allclose(loss.slope(u, c)[smooth], rough[smooth], atol=1e-4)


# ------------------------------------------------------------------------------------------------ instruments
class Table(Reference):
    """A motion given at the very times it is asked for."""

    def __init__(self, t, q, qd, qdd):
        self.t, self.rows, self.m, self.duration = t, (q, qd, qdd), q.shape[1], float(t[-1])

    def __call__(self, t):
        np.testing.assert_array_equal(t, self.t)
        return self.rows


def closed_loop(robot, reference, rng, gain=20.0):
    """Measured samples of an arm that follows a reference under feedback: the arm is shaken off its path a little, the
    sensors are noisy, and their noise comes back in the torque and so in the motion."""
    t, q, qd, qdd = reference
    shape = q.shape
    shaken = q + 2e-3 * rng.normal(size=shape), qd + 1e-2 * rng.normal(size=shape), qdd + 0.5 * rng.normal(size=shape)
    noise = rng.normal(size=shape)
    tau = robot.inverse_dynamics(*shaken, friction=True) + gain * noise * 0.1 + rng.normal(size=shape)
    seen = shaken[0] + 1e-4 * rng.normal(size=shape), shaken[1] + 1e-2 * rng.normal(size=shape), shaken[2] - 1.5 * noise
    return samples_of(robot, t, *seen, tau)


def test_instruments_take_the_bias_away():
    """Thirty logs with noisy accelerations that are correlated with the torque: least squares is wrong by many of its
    deviations in the mean, instrumental variables by no more than chance; and their deviations are those seen."""
    robot, columns, b, _, _ = setting("planar-2r", ("viscous", "offset"), False)
    truth = b.of(columns.model_values()[columns.free])
    reference = motion(robot, seconds=10.0, seed=4)
    rng = np.random.default_rng(0)
    found, plain = [], []
    for _ in range(30):
        run = closed_loop(robot, reference, rng)
        plain.append(least_squares(compress(columns, b, run)))
        tools = reference_instruments(Table(*reference), run)
        found.append(instrumental_variables(columns, b, run, tools))
    error = np.mean([x.beta for x in plain], axis=0) - truth
    assert np.max(np.abs(error) / plain[0].deviation) > 10
    spread = np.std([x.beta for x in found], axis=0, ddof=1)
    error = np.mean([x.beta for x in found], axis=0) - truth
    assert (np.abs(error) < 3 * spread / np.sqrt(30)).all() and np.mean(np.abs(error) < spread / np.sqrt(30)) > 0.3
    stated = np.mean([x.deviation for x in found], axis=0)
    np.testing.assert_allclose(stated / spread, 1, atol=0.4)


def test_data_about_another_estimate_keep_their_residuals():
    """As if β were the best fit of each joint: it is the least-squares answer, and what was left is left."""
    _, columns, b, _, clean = setting("planar-2r")
    run = replace(clean, tau=clean.tau + np.random.default_rng(0).normal(size=clean.tau.shape))
    data = compress(columns, b, run)
    beta = np.random.default_rng(1).normal(size=b.rank)
    moved = data.about(beta)
    np.testing.assert_allclose(least_squares(moved, weighted=False).beta, beta, atol=1e-9)
    best = [np.linalg.pinv(T[:, :-1]) @ T[:, -1] for T in data.triangles]
    left = [data.squares(own)[k] for k, own in enumerate(best)]
    assert min(left) > 100
    np.testing.assert_allclose(moved.squares(beta), left, rtol=1e-9)


def test_own_regressor_as_instrument_is_least_squares():
    """Z = Y: the weighted least-squares answer; in two runs as in one."""
    _, columns, b, _, clean = setting("ur5e")
    run = replace(clean, tau=clean.tau + np.random.default_rng(0).normal(size=clean.tau.shape))
    wanted = least_squares(compress(columns, b, run))
    found = instrumental_variables(columns, b, run, run)
    np.testing.assert_allclose(found.beta, wanted.beta, atol=1e-8 * np.abs(wanted.beta).max())
    np.testing.assert_allclose(found.deviation / wanted.deviation, 1, atol=0.35)
    halves = [run.part(slice(0, 400)), run.part(slice(400, None))]
    again = instrumental_variables(columns, b, halves, halves)
    np.testing.assert_allclose(again.beta, found.beta, atol=1e-8 * np.abs(wanted.beta).max())


# ------------------------------------------------------------------------------------------ nonlinear friction
def test_shapes_are_the_laws_own():
    """The coefficient of each shape in the law's torque, at any speed."""
    for v in (-0.7, -0.02, 0.01, 0.4):
        x = {"speed": 0.05, "exponent": 1.6}
        term = frictions.friction("stribeck", coulomb=1.0, breakaway=3.0, **x)
        phi = SOUGHT["stribeck"].shape(np.array(v), np.sign(v), x)
        np.testing.assert_allclose(np.sign(v) * 1.0 + 2.0 * phi, frictions.torque(term, v), rtol=1e-12)
        term = frictions.friction("power", coefficient=3.0, exponent=0.6)
        phi = SOUGHT["power"].shape(np.array(v), np.sign(v), {"exponent": 0.6})
        np.testing.assert_allclose(3.0 * phi, frictions.torque(term, v), rtol=1e-12)


def planted(name, terms, noise, **options):
    robot = dl.load(name)
    t, q, qd, qdd = motion(robot, **options)
    tau = robot.inverse_dynamics(q, qd, qdd)
    for k, joint in enumerate(terms):
        tau[:, k] += [sum(frictions.torque(term, v) for term in joint) for v in qd[:, k].tolist()]
    tau += noise * np.random.default_rng(5).normal(size=tau.shape)
    return robot, samples_of(robot, t, q, qd, qdd, tau)


def test_stribeck_is_recovered():
    """Planted in two joints, with noise: speeds, levels within a few per cent and within their deviations; the joint
    explains more than with Coulomb and viscous friction."""
    speeds, coulomb, breakaway, viscous = [0.15, 0.08], [3.0, 2.0], [6.0, 5.0], [1.5, 0.8]
    terms = [
        [frictions.friction("stribeck", coulomb=c, breakaway=s, speed=v, viscous=b)]
        for c, s, v, b in zip(coulomb, breakaway, speeds, viscous, strict=True)
    ]
    robot, run = planted("planar-2r", terms, 0.2, seconds=40.0)
    found = nonlinear_friction(Columns(robot), run)
    assert found.converged and found.present.all()
    for name, wanted in (("speed", speeds), ("coulomb", coulomb), ("breakaway", breakaway), ("viscous", viscous)):
        np.testing.assert_allclose(found.values[name], wanted, rtol=0.05, err_msg=name)
        assert (np.abs(found.values[name] - wanted) < 3.5 * found.deviations[name]).all(), name
    np.testing.assert_allclose(found.rms, 0.2, rtol=0.05)
    assert (found.gain > 0.2).all()
    assert found.terms()[0].law == "stribeck" and found.terms()[0].values["speed"] == found.values["speed"][0]


def test_both_numbers_of_stribeck():
    terms = [[frictions.friction("stribeck", coulomb=3.0, breakaway=7.0, speed=0.2, exponent=1.2, viscous=1.0)]] * 2
    robot, run = planted("planar-2r", terms, 0.1, seconds=40.0)
    found = nonlinear_friction(Columns(robot), run, free=("speed", "exponent"))
    assert found.converged
    np.testing.assert_allclose(found.values["speed"], 0.2, rtol=0.08)
    np.testing.assert_allclose(found.values["exponent"], 1.2, rtol=0.08)
    assert (np.abs(found.values["exponent"] - 1.2) < 3.5 * found.deviations["exponent"]).all()


def test_a_power_law_is_recovered():
    terms = [
        [frictions.friction("power", coefficient=c, exponent=a), frictions.friction("coulomb", coulomb=1.0)]
        for c, a in ((4.0, 0.6), (3.0, 1.7))
    ]
    robot, run = planted("planar-2r", terms, 0.1, seconds=20.0)
    found = nonlinear_friction(Columns(robot), run, "power")
    np.testing.assert_allclose(found.values["exponent"], [0.6, 1.7], rtol=0.04)
    np.testing.assert_allclose(found.values["coefficient"], [4.0, 3.0], rtol=0.04)
    assert (np.abs(found.values["exponent"] - [0.6, 1.7]) < 3.5 * found.deviations["exponent"]).all()


def test_a_joint_without_the_effect_says_so():
    terms = [
        [frictions.friction("stribeck", coulomb=3.0, breakaway=6.0, speed=0.15, viscous=1.0)],
        [frictions.friction("coulomb", coulomb=2.0), frictions.friction("viscous", viscous=0.5)],
    ]
    robot, run = planted("planar-2r", terms, 0.2, seconds=20.0)
    found = nonlinear_friction(Columns(robot), run)
    assert found.present.tolist() == [True, False]
    assert found.gain[0] > 0.2 and abs(found.gain[1]) < 0.02
    np.testing.assert_allclose(found.values["speed"][0], 0.15, rtol=0.08)


# ------------------------------------------------------------------------------------------------- drive gains
GAINS = np.array([9.5, 11.0, 8.2, 5.1, 4.4, 3.7])


def currents(robot, seed, noise=0.005):
    run = true_samples(robot, seed=seed, seconds=20.0)
    i = run.tau / GAINS
    rng = np.random.default_rng(seed + 50)
    return replace(run, tau=i + noise * np.abs(i).max(0) * rng.normal(size=i.shape))


def test_gains_from_two_runs():
    """Unloaded, and with a payload of 3 kg of which only the mass is known; and with all of it known: gains within 1 %
    and within their deviations."""
    robot = dl.load("ur5e")
    com = np.array([0.05, -0.04, 0.08])
    inertia = np.diag([0.01, 0.012, 0.008])
    heavy = robot.with_payload(3.0, com.tolist(), inertia)
    columns = Columns(robot)
    runs = currents(robot, 0), currents(heavy, 1)
    about = inertia + 3.0 * (com @ com * np.eye(3) - np.outer(com, com))
    ten = [3.0, *(3.0 * com), *about[np.triu_indices(3)]]
    whole = dict(zip(("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"), map(float, ten), strict=True))
    for known in ({"m": 3.0}, whole):
        found = drive_gains(columns, *runs, payload=known)
        np.testing.assert_allclose(found.gains, GAINS, rtol=0.01)
        assert (np.abs(found.gains - GAINS) < 3.5 * found.deviation).all()
        assert (found.deviation < 0.01 * GAINS).all()
    np.testing.assert_allclose(found.torques(runs[0]).tau, runs[0].tau * found.gains)


def test_gains_deviations_are_those_seen():
    robot = dl.load("planar-2r")
    columns = Columns(robot)
    heavy = robot.with_payload(3.0, (0.1, 0.0, 0.0), np.eye(3) * 0.01)
    k = np.array([4.0, -7.0])
    clean = [true_samples(r, seed=s, seconds=5.0) for s, r in enumerate((robot, heavy))]
    rng = np.random.default_rng(0)
    away = []
    for _ in range(60):
        noisy = [replace(run, tau=run.tau / k + 0.3 * rng.normal(size=run.tau.shape)) for run in clean]
        found = drive_gains(columns, *noisy, payload={"m": 3.0})
        away.append((found.gains - k) / found.deviation)
    assert (np.abs(np.mean(away, axis=0)) < 0.45).all()  # a mean of 60 within three and a half of its own deviations
    assert abs(np.mean(np.abs(away) < 1) - 0.683) < 0.12 and np.mean(np.abs(away) < 1.96) > 0.88


def test_gains_by_a_weighed_part():
    """One run, a link's first moment known: enough, where it is a base parameter of its own."""
    robot = dl.load("planar-2r")
    values = dict(zip(Columns(robot).all_names, Columns(robot).model_values(), strict=True))
    columns = Columns(robot, fixed={"link2:mx": values["link2:mx"]})
    run = true_samples(robot)
    found = drive_gains(columns, replace(run, tau=run.tau / [2.0, 5.0]))
    np.testing.assert_allclose(found.gains, [2.0, 5.0], rtol=1e-6)


def test_gains_without_anything_known_are_refused():
    robot = dl.load("planar-2r")
    run = true_samples(robot)
    with raises(dl.InputError, "missing payload"):
        drive_gains(Columns(robot), run)
    with raises(dl.InputError, "missing payload"):
        drive_gains(Columns(robot), run, run, payload={"m": 0.0})
    with raises(dl.InputError, "singular payload"):
        drive_gains(Columns(robot, fixed={"link1:m": 2.0, "link2:m": 1.0}), run)


# ---------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda c, b, s: robust_least_squares(c, b, s, "hubert"), "unknown-name"),
        (lambda c, b, s: robust_least_squares(c, b, s, constant=0.0), "out-of-range constant"),
        (lambda c, b, s: robust_least_squares(c, b, []), "too-few samples"),
        (lambda c, b, s: robust_least_squares(c, b, s.part(slice(0, 3))), "too-few"),
        (lambda c, b, s: robust_least_squares(c, b, replace(s, tau=s.tau * np.nan)), "not-finite tau"),
        (lambda c, b, s: robust_least_squares(c, b, 3), "wrong-type"),
        (lambda c, b, s: instrumental_variables(c, b, s, s.part(slice(0, 50))), "conflict instruments"),
        (lambda c, b, s: instrumental_variables(c, b, s, replace(s, q=s.q[:, :1])), "wrong-shape q"),
        (
            lambda c, b, s: instrumental_variables(c, b, s, replace(s, qdd=0 * s.qdd, qd=0 * s.qd)),
            "singular instruments",
        ),
        (lambda c, b, s: reference_instruments(Table(s.t, s.q[:, :1], s.q, s.q), s), "conflict reference"),
        (lambda c, b, s: nonlinear_friction(c, s, "stribek"), "unknown-name"),
        (lambda c, b, s: nonlinear_friction(c, s, free=("sped",)), "unknown-name"),
        (lambda c, b, s: nonlinear_friction(c, s, free=()), "missing free"),
        (lambda c, b, s: nonlinear_friction(Columns(c.robot, ("viscous",)), s), "missing friction"),
        (lambda c, b, s: nonlinear_friction(c, replace(s, qd=s.qd * [1, 0])), "too-few samples"),
        (lambda c, b, s: drive_gains(c, s, payload={"m": 3.0}), "conflict payload"),
        (lambda c, b, s: drive_gains(c, s, s, payload={"mass": 3.0}), "unknown-name"),
        (lambda c, b, s: drive_gains(c, s, s, payload={"m": -3.0}), "out-of-range payload"),
        (lambda c, b, s: drive_gains(c, s, s, payload={"m": np.inf}), "not-finite payload"),
        (lambda c, b, s: drive_gains(c, s, s, payload={"m": 3.0}, frame="base"), "wrong-structure frame"),
        (
            lambda c, b, s: drive_gains(
                c, replace(s, tau=s.tau * [1, 0]), replace(s, tau=s.tau * [1, 0]), payload={"m": 3.0}
            ),
            "wrong-value samples",
        ),
    ],
)
def test_bad_input_is_named(call, text):
    _, columns, b, _, clean = setting("planar-2r", seconds=2.0)
    with raises(dl.DalembertError, text):
        call(columns, b, clean)
