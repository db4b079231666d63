"""The first look: each trouble planted alone in a log of known truth is found, named, and told from the others."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from planted import friction, motion, recorded
from real_logs import real

import dalembert as dl
from dalembert.errors import InputError
from dalembert.identification.log.inspect import best_lag, first_look, inspect_log
from dalembert.identification.log.read import read_log
from dalembert.identification.log.samples import Log
from errors import raises

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.ModelWarning")
NOISE = {"noise": 1e-5, "tau_noise": 0.1, "rub": 2.0}
HARMLESS = {"limits", "gravity"}  # planted motions know no limits


@pytest.fixture(scope="module", params=["puma560", "panda"])
def robot(request):
    return dl.load(request.param)


@pytest.fixture(scope="module")
def log(robot):
    return recorded(robot, **NOISE)[0]


def kinds(found):
    return {item.rule for item in found} - HARMLESS


def late(x, k):
    return np.concatenate([np.repeat(x[:1], k, axis=0), x[:-k]])


def test_nothing_is_found_where_nothing_is_wrong(robot, log):
    found = inspect_log(robot, log)
    assert kinds(found) == set() and found.errors == ()
    (gravity,) = found.of("gravity")
    assert gravity.severity == "note" and gravity.evidence < 3.0


def test_masses_that_are_off_are_no_wrong_signs(robot, log):
    """A model that knows its masses to a quarter, as CAD does, still passes."""
    rng = np.random.default_rng(0)
    links = []
    for link in robot.description.links:
        if link.inertial is not None:
            factor = rng.uniform(0.75, 1.25)
            inertia = tuple(factor * x for x in link.inertial.inertia)
            link = replace(link, inertial=replace(link.inertial, mass=factor * link.inertial.mass, inertia=inertia))
        links.append(link)
    rough = dl.Robot(replace(robot.description, links=tuple(links)))
    assert not inspect_log(rough, log).errors


@pytest.mark.parametrize("joint", [0, 1, 3, -1])
def test_one_torque_of_the_wrong_sign(robot, log, joint):
    tau = log.tau.copy()
    tau[:, joint] *= -1
    found = inspect_log(robot, replace(log, tau=tau))
    (sign,) = found.of("sign")
    assert sign.element == robot.joint_names[joint] and sign.severity == "error" and sign.evidence < 0
    assert f"{sign.element!r} has the wrong sign" in sign.sentence and kinds(found) == {"sign"}


def test_all_torques_of_the_wrong_sign_are_no_ceiling(robot, log):
    found = inspect_log(robot, replace(log, tau=-log.tau))
    assert [f.element for f in found.of("sign")] == list(robot.joint_names) and not found.of("tilt")


@pytest.mark.parametrize("tilt, about", [(20, "x"), (45, "y"), (90, "y"), (180, "x")])
def test_a_base_that_is_not_upright(robot, tilt, about):
    a = np.radians(tilt)
    g = 9.81 * np.array([np.sin(a), 0, -np.cos(a)] if about == "y" else [0, np.sin(a), -np.cos(a)])
    leaning, _ = recorded(robot.with_gravity(g), **NOISE)
    found = inspect_log(robot, leaning)
    (item,) = found.of("tilt")
    assert abs(item.evidence - tilt) < 2.5 and not found.of("sign")
    assert "the base does not stand as the model says: gravity lies" in item.sentence and "±" in item.sentence
    numbers = item.fix.split("[")[1].rstrip("]`").split(",")
    np.testing.assert_allclose([float(x) for x in numbers], g, atol=0.5)
    assert not inspect_log(robot.with_gravity(g), leaning).errors


def test_torques_in_millinewtonmeters(robot, log):
    found = inspect_log(robot, replace(log, tau=1e3 * log.tau))
    (units,) = found.of("units")
    assert units.severity == "error" and 900 < units.evidence < 1100 and "look like mN m" in units.sentence
    assert not found.of("sign") and not found.of("order")


def test_torques_of_the_motor(robot, log):
    N = 80.0
    found = inspect_log(robot, replace(log, tau=log.tau / N))
    told = found.of("units")
    assert len(told) >= 4 and all(0.7 / N < item.evidence < 1.4 / N for item in told)
    assert all("it looks like the motor's, before" in item.sentence for item in told)
    one = log.tau.copy()
    one[:, 1] /= N
    (item,) = inspect_log(robot, replace(log, tau=one)).of("units")
    assert item.element == robot.joint_names[1]


@pytest.mark.parametrize("how", ["swap", "reverse"])
def test_joints_in_the_wrong_order(robot, log, how):
    n = robot.n
    order = list(range(n))[::-1] if how == "reverse" else [0, 2, 1, *range(3, n)]
    mixed = replace(log, q=log.q[:, order], qd=log.qd[:, order], tau=log.tau[:, order])
    found = inspect_log(robot, mixed)
    (item,) = found.of("order")
    assert item.severity == "error" and "with positions and torques in another order" in item.sentence
    assert f"{robot.joint_names[1]!r} has that of {robot.joint_names[order[1]]!r}" in item.sentence


def test_torques_alone_in_the_wrong_order(robot, log):
    order = [0, 2, 1, *range(3, robot.n)]
    (item,) = inspect_log(robot, replace(log, tau=log.tau[:, order])).of("order")
    assert "with the torques in another order" in item.sentence
    assert f"{robot.joint_names[2]!r} has that of {robot.joint_names[1]!r}" in item.sentence


def test_degrees(robot, log):
    found = inspect_log(robot, replace(log, q=np.degrees(log.q)))
    assert len(found) == 1 and found[0].rule == "degrees" and "units={'q': 'deg'}" in found[0].fix


def test_rates_that_lag_are_measured_in_milliseconds(robot, log):
    found = inspect_log(robot, replace(log, qd=late(log.qd, 4))).of("rate lag")
    assert [f.element for f in found] == list(robot.joint_names)
    np.testing.assert_allclose([f.evidence for f in found], 20.0, atol=0.5)  # four samples at 200 Hz
    assert "lag behind its positions by" in found[0].sentence


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda qd: -qd, "have the opposite sign"),
        (np.degrees, "57.3 times the derivative of its positions"),
        (lambda qd: qd + 3 * np.random.default_rng(0).normal(size=qd.shape).cumsum(axis=0), "not the derivative"),
    ],
)
def test_rates_that_are_none(robot, log, spoil, words):
    found = inspect_log(robot, replace(log, qd=spoil(log.qd))).of("rates")
    assert len(found) == robot.n and words in found[0].sentence


def test_torques_that_lag(robot, log):
    (item,) = inspect_log(robot, replace(log, tau=late(log.tau, 4))).of("torque lag")
    assert abs(item.evidence - 20.0) < 2.5 and "the torques lag behind the motion by" in item.sentence
    ahead = replace(log, tau=late(log.tau[::-1], 4)[::-1])
    (item,) = inspect_log(robot, ahead).of("torque lag")
    assert abs(item.evidence + 20.0) < 2.5 and "run ahead" in item.sentence


def test_flat_tops(robot, log):
    top = 0.6 * np.abs(log.tau[:, 1]).max()
    tau = log.tau.copy()
    tau[:, 1] = np.clip(tau[:, 1], -top, top)
    found = inspect_log(robot, replace(log, tau=tau)).of("saturation")
    assert {f.element for f in found} == {robot.joint_names[1]} and abs(found[0].evidence) == pytest.approx(top)
    coarse = replace(log, tau=np.round(log.tau / 0.5) * 0.5)  # a coarse sensor is no clipped one
    assert not inspect_log(robot, coarse).of("saturation")


def test_limits(robot, log):
    q = log.q.copy()
    q[:, 2] += 9.0
    found = inspect_log(robot, replace(log, q=q)).of("limits")
    assert any(f.element == robot.joint_names[2] and "beyond its limit" in f.sentence and f.evidence > 1 for f in found)


def test_a_joint_that_hardly_moves_and_an_arm_at_rest(robot):
    t = np.arange(2400) / 200
    q, qd, qdd = motion(robot.n, t)
    q[:, 3], qd[:, 3], qdd[:, 3] = 0.3 + 0.01 * np.sin(t), 0.01 * np.cos(t), -0.01 * np.sin(t)
    stop = t >= 9.0  # then it stands; a jolt, but a first look does not mind
    q[stop], qd[stop], qdd[stop] = q[stop][0], 0, 0
    rng = np.random.default_rng(0)
    tau = robot.inverse_dynamics(q, qd, qdd) + friction(qd, 2, 2) + 0.1 * rng.normal(size=q.shape)
    found = inspect_log(robot, Log(t, q + 1e-5 * rng.normal(size=q.shape), tau, robot.joint_names))
    (still,) = found.of("excitation")
    assert still.element == robot.joint_names[3] and abs(still.evidence - 0.02) < 1e-3
    (rest,) = found.of("rest")
    assert 0.15 < rest.evidence < 0.3 and "from t = 9" in rest.sentence
    assert not found.errors


def without_masses(robot):
    links = tuple(replace(link, inertial=None) for link in robot.description.links)
    drives = (replace(j.drive, rotor_inertia=1e-4, gear_ratio=1.0) for j in robot.description.joints)
    joints = tuple(replace(j, drive=drive) for j, drive in zip(robot.description.joints, drives, strict=True))
    return dl.Robot(replace(robot.description, links=links, joints=joints))


def test_without_masses_kinematics_and_physics_tell(log, robot):
    bare = without_masses(robot)
    found = inspect_log(bare, replace(log, qd=late(log.qd, 4)))
    assert kinds(found) == {"model", "rate lag"}
    assert "has no masses: torques are not compared with it" in found.of("model")[0].sentence
    look = first_look(bare, replace(log, tau=-log.tau))  # negative masses, and friction that drives
    assert look.correction.tau_factor == (-1.0,) * robot.n and len(look.report.of("sign")) == robot.n


def test_torques_that_are_zero(robot, log):
    found = inspect_log(robot, replace(log, tau=0 * log.tau))
    assert [item.rule for item in found.errors] == ["torque"] and "zero throughout" in found.errors[0].sentence


@pytest.mark.parametrize("name", ["planar-1r", "cartesian-pp", "scara", "rp", "four-bar", "iiwa7"])
def test_arms_of_any_kind_are_looked_at_without_false_alarm(name):
    """One joint, sliding joints, no gravity, loops."""
    arm = dl.load(name)
    log, _ = recorded(arm, duration=6.0, noise=1e-5, tau_noise=0.01, rub=0.5, size=0.5)
    assert not inspect_log(arm, log).errors


def test_findings_are_printed_and_sorted(robot, log):
    tau = log.tau.copy()
    tau[:, 1] *= -1
    found = inspect_log(robot, replace(log, tau=tau, qd=late(log.qd, 4)))
    text = str(found)
    head, first = text.splitlines()[:2]
    assert head.startswith("planted: 1 error, ") and "warning: the recorded rates" in text
    assert first.startswith("  error: the torque of")
    order = [["error", "warning", "note"].index(item.severity) for item in found]
    assert order == sorted(order) and len(found) == len(list(found))


def test_another_robots_log_is_refused(robot, log):
    with raises(InputError, "conflict robot"):
        inspect_log(dl.load("scara"), log)


def test_lags_between_two_signals():
    t = np.arange(3000) / 1000
    a, b = np.sin(9 * t) + np.cos(23 * t), -(np.sin(9 * (t - 0.0073)) + np.cos(23 * (t - 0.0073)))
    lag, like = best_lag(a, b, 50)
    assert abs(lag - 7.3) < 0.05 and like < -0.999


# ------------------------------------------------------------------------------------------------ real logs
def recording(folder, file, urdf, held=None, **options):
    robot = dl.load(real(folder) / urdf)
    robot = robot.lock(held) if held else robot
    return robot, read_log(real(folder) / file, robot, **options)


def ur10():
    return recording("ur10_unisa", "exciting.csv", "ur10_erd.urdf")


def panda():
    return recording("panda_unisa", "exciting.csv", "panda_erd.urdf", {"panda_finger_joint1": 0.0})


def tx40():
    G = np.diag([32.0, 32, 45, -48, 45, 32])
    G[5, 4] = 32
    zero = [0, -np.pi / 2, np.pi / 2, 0, 0, 0]
    file, urdf = "tx40_motor.npz", "tx40_mdh_modified.urdf"
    return recording("staubli_tx40_figaroh", file, urdf, columns={"tau": "i_motor"}, coupling=G, offset=zero)


@pytest.mark.parametrize("arm", [ur10, panda, tx40])
def test_real_logs_are_as_they_should_be(arm):
    robot, log = arm()
    found = inspect_log(robot, log)
    assert not found.errors, str(found)
    (gravity,) = found.of("gravity")
    assert gravity.evidence < 12.0
    if arm is tx40:
        (rest,) = found.of("rest")
        longest, start = re.search(r"longest (.*) s from t = (.*) s;", rest.sentence).groups()
        assert abs(float(longest) - 1.315) < 0.006 and abs(float(start) - 7.665) < 0.005, str(found)


@pytest.mark.parametrize("arm", [ur10, panda])
def test_real_logs_spoiled_are_seen_through(arm):
    robot, log = arm()
    tau = log.tau.copy()
    tau[:, 1] *= -1
    assert robot.joint_names[1] in {f.element for f in inspect_log(robot, replace(log, tau=tau)).of("sign")}
    assert inspect_log(robot, replace(log, tau=1e3 * log.tau)).of("units")
    ceiling = inspect_log(robot.with_gravity((0, 0, 9.81)), log)  # a model that hangs, a log of an arm that stands
    assert ceiling.of("tilt") and ceiling.of("tilt")[0].evidence > 150
