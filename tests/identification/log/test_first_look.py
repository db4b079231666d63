"""Hypotheses tried together: errors of a log, alone and in twos, are found, named, and mended by the correction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import friction, motion, recorded, write_csv

import dalembert as dl
from dalembert.identification.log.correction import Correction
from dalembert.identification.log.inspect import first_look
from dalembert.identification.log.read import read_log
from dalembert.identification.log.samples import Log
from dalembert.identification.log.settings import LogSettings
from dalembert.words import write_value

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.ModelWarning")
ONES = np.ones(6)


def perturbed(robot, seed, amount=0.5):
    """The robot with masses that are off by up to half, each body's by its own factor."""
    rng, links = np.random.default_rng(seed), []
    for link in robot.description.links:
        if link.inertial is not None:
            factor = rng.uniform(1 - amount, 1 + amount)
            inertia = tuple(factor * x for x in link.inertial.inertia)
            link = replace(link, inertial=replace(link.inertial, mass=factor * link.inertial.mass, inertia=inertia))
        links.append(link)
    return dl.Robot(replace(robot.description, links=tuple(links)))


def bare(robot):
    """The robot without masses."""
    drives = (replace(j.drive, rotor_inertia=1e-4, gear_ratio=1.0) for j in robot.description.joints)
    return dl.Robot(
        replace(
            robot.description,
            links=tuple(replace(link, inertial=None) for link in robot.description.links),
            joints=tuple(replace(j, drive=x) for j, x in zip(robot.description.joints, drives, strict=True)),
        )
    )


def words_of(correction):
    """The settings of a correction as they are typed."""
    return {name: write_value(value) for name, value in correction.settings().items()}


@pytest.fixture(scope="module")
def robot():
    return dl.load("ur5e")


def log_of(robot, rates=False, **changes):
    return recorded(
        robot, **({"noise": 2e-5, "tau_noise": 0.3, "rub": 3.0, "duration": 12.0, "with_rates": rates} | changes)
    )[0]


@pytest.fixture(scope="module")
def log(robot):
    """Of an arm whose masses are others than the model's."""
    return log_of(perturbed(robot, 3))


def turned(x, j):
    return x * np.where(np.arange(x.shape[-1]) == j, -1.0, 1.0)


FAULTS = {
    "clock": (lambda g: replace(g, t=4 * g.t), {"columns": "t=none", "rate": "200"}),
    "all signs and mN m": (lambda g: replace(g, tau=-1e3 * g.tau), {"sign": "tau=-1", "units": "tau=mNm"}),
    "signs and clock": (
        lambda g: replace(g, t=g.t / 2, tau=turned(g.tau, 3)),
        {"sign": "tau=1,1,1,-1,1,1", "columns": "t=none", "rate": "200"},
    ),
    "a joint that turns the other way": (
        lambda g: replace(g, q=turned(g.q, 2), tau=turned(g.tau, 2)),
        {"sign": "q=1,1,-1,1,1,1,tau=1,1,-1,1,1,1"},
    ),
    "turns": (lambda g: replace(g, q=g.q / (2 * np.pi)), {"units": "q=turn"}),
    "degrees, torques swapped": (
        lambda g: replace(g, q=np.degrees(g.q), tau=g.tau[:, [0, 2, 1, 3, 4, 5]]),
        {"units": "q=deg", "order": "tau=1,3,2,4,5,6"},
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_errors_of_a_log_are_found_together(robot, log, name):
    spoil, words = FAULTS[name]
    look = first_look(robot, spoil(log))
    assert words_of(look.correction) == words and look.report.errors
    arm, mended = look.correction.apply(robot, spoil(log))
    for made, true in ((mended.t, log.t), (mended.q, log.q), (mended.tau, log.tau)):
        np.testing.assert_allclose(made, true, rtol=1e-6, atol=1e-9)
    assert arm is robot and not first_look(arm, mended).correction


@pytest.mark.parametrize("masses", [True, False])
def test_gravity_along_another_axis_and_a_wrong_sign(robot, masses):
    """Each alone would be explained by the other in part; with kinematics alone they are told as well."""
    g = (0.0, -9.81, 0.0)
    log = log_of(perturbed(robot, 1).with_gravity(g))
    look = first_look(robot if masses else bare(robot), replace(log, tau=turned(log.tau, 1)))
    assert words_of(look.correction) == {"sign": "tau=1,-1,1,1,1,1", "gravity": "0,-9.81,0"}
    assert {f.rule for f in look.report.errors} == {"sign", "tilt"}
    (tilt,) = look.report.of("tilt")
    assert "held out, " in tilt.message and "% of the torques' variance is left instead of " in tilt.message


def test_currents_are_told_by_their_factors(robot, log):
    k = np.array([11.0, 14.0, 9.0, 6.0, 12.0, 8.0])
    look = first_look(robot, replace(log, tau=log.tau / k))
    found = np.array(look.correction.tau_factor) / k
    assert np.ptp(np.log(found[:3])) < 0.15  # the first three feel each other's bodies
    assert len(look.report.of("units")) == 6 and "it looks like the motor's" in look.report.of("units")[0].message


def test_torques_that_lag_are_shifted_back(robot, log):
    late = replace(log, tau=np.concatenate([np.repeat(log.tau[:1], 5, axis=0), log.tau[:-5]]))
    look = first_look(robot, late)
    assert abs(look.correction.lag - 0.025) < 0.002
    _, mended = look.correction.apply(robot, late)
    k = slice(50, len(mended) - 50)
    true = np.interp(mended.t[k], log.t, log.tau[:, 1])
    assert np.abs(mended.tau[k, 1] - true).std() < 0.5 and len(mended) >= len(log) - 6


@pytest.mark.parametrize(
    "name, seed", [("panda", 0), ("ur5e", 1), ("iiwa7", 2), ("scara", 3), ("planar-3r", 4), ("stanford", 5)]
)
def test_bad_masses_a_load_and_friction_are_no_errors(name, seed):
    """Masses off by half, a load that the model lacks, no friction or much of it: nothing to correct."""
    model = dl.load(name)
    true = perturbed(model, seed)
    true = true.with_payload(0.2 * true.mass, (0.0, 0.02, 0.05)) if seed % 2 else true
    t = np.arange(0, 12, 0.005)
    q, qd, qdd = (x * 0.7 for x in motion(model.n, t, seed))
    tau = true.inverse_dynamics(q, qd, qdd)
    size = np.sqrt(np.mean(tau**2, axis=0)).clip(0.02 * np.abs(tau).max())
    rng = np.random.default_rng(seed)
    tau = tau + (seed % 3) * 0.3 * size * friction(qd, 0.3, 1.0) + 0.05 * size * rng.normal(size=tau.shape)
    look = first_look(model, Log(t, q + 2e-5 * rng.normal(size=q.shape), tau, model.joint_names))
    assert not look.report.errors and not look.correction, str(look.report)
    look = first_look(bare(model), Log(t, q, tau, model.joint_names))
    assert not look.report.errors and not look.correction, str(look.report)


def test_the_words_of_a_correction_read_the_file_so(robot, log, tmp_path):
    """What is printed is what must be typed: order, signs, units, lag and rate of a file."""
    order = [0, 2, 1, 3, 4, 5]
    spoiled = replace(log, q=log.q[:, order], tau=-1e3 * log.tau[:, order], t=2 * log.t)
    file = write_csv(tmp_path / "log.csv", spoiled)
    correction = first_look(robot, read_log(file, robot)).correction
    words = words_of(correction)
    assert set(words) == {"order", "sign", "units", "columns", "rate"}
    again = read_log(file, robot, settings=LogSettings.from_options(words))
    np.testing.assert_allclose(again.q, log.q, atol=1e-6)
    np.testing.assert_allclose(again.tau, log.tau, atol=1e-5)
    np.testing.assert_allclose(np.diff(again.t), 0.005, rtol=1e-6)
    late = read_log(file, robot, settings=LogSettings.from_options({**words, "lag": "0.01"}))
    np.testing.assert_allclose(late.tau[:100], again.tau[2:102], atol=1e-6)


def test_corrections_one_after_another():
    first = replace(Correction.none(3), q_order=(1, 0, 2), q_factor=(2.0, 1.0, 1.0), time=2.0, lag=0.1)
    second = replace(Correction.none(3), q_order=(0, 2, 1), tau_factor=(1.0, -1.0, 1.0), gravity=(0.0, 0.0, 9.81))
    robot = dl.load("planar-3r")
    log = recorded(robot, duration=2.0)[0]
    arm, both = first.then(second).apply(robot, log)
    one = second.apply(*first.apply(robot, log))
    np.testing.assert_array_equal(both.q, one[1].q)
    np.testing.assert_allclose(both.tau, one[1].tau, atol=1e-9)
    assert tuple(arm.gravity) == (0.0, 0.0, 9.81) and not Correction.none(3)
