"""Contacts in logs: thresholds whose false alarms come at the rate that is told, what is seen of a push, and when to
doubt it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import motion
from real_logs import real

import dalembert as dl
from dalembert.control import MomentumObserver, PDGravity
from dalembert.identification import Log, calibrate_detector, identify, observe, read_log
from dalembert.identification.contacts import HOLD, fit_tail
from errors import raises


def colored(rng, seconds, rate, kind):
    """Noise through a lag of 0.1 s: Gaussian, with heavy tails, or with a size that the motion sets."""
    from scipy.signal import lfilter

    n = round(seconds * rate)
    white = {
        "gaussian": lambda: rng.normal(size=n),
        "heavy": lambda: rng.standard_t(4, size=n),
        "moving": lambda: rng.normal(size=n) * (1 + np.sin(2 * np.pi * np.arange(n) / (7 * rate))),
    }[kind]()
    return np.abs(lfilter([1.0], [1.0, -np.exp(-10 / rate)], white))


@pytest.mark.parametrize("kind", ["gaussian", "heavy", "moving"])
def test_the_rate_holds_on_other_records(kind):
    """Twenty records of two minutes each promise 60 per hour; two hours tell the truth."""
    rng, rate = np.random.default_rng(1), 50.0
    long = colored(rng, 7200, rate, kind)
    right, got = 0, []
    for _ in range(20):
        tail = fit_tail([colored(rng, 120, rate, kind)], 1 / rate)
        level = tail.threshold(60.0)
        rates, weights = tail.rates(level)
        order = np.argsort(rates)
        low, high = np.interp((0.025, 0.975), np.cumsum(weights[order]), rates[order])
        over = np.flatnonzero(long > level)
        true = 0.5 * (len(over) > 0) * (1 + np.sum(np.diff(over) > HOLD * rate))
        right += low <= true <= high
        got.append(true)
    assert right >= 17  # 95 % of twenty, less two standard deviations
    assert 40 <= np.mean(got) <= 90


def test_rarer_alarms_ask_for_higher_thresholds_and_longer_records():
    rng = np.random.default_rng(0)
    tail = fit_tail([colored(rng, 300, 50.0, "gaussian")], 0.02)
    levels = [tail.threshold(r) for r in (600.0, 60.0, 6.0, 0.6)]
    assert np.all(np.diff(levels) > 0)
    spans = []
    for seconds in (30, 300, 3000):
        tail = fit_tail([colored(rng, seconds, 50.0, "gaussian")], 0.02)
        rates, _ = tail.rates(tail.threshold(20.0))
        spans.append(np.quantile(rates, 0.9) / 20)
    assert spans[0] > spans[1] > spans[2] > 1
    with raises(dl.InputError, "too-few quiet"):
        fit_tail([colored(rng, 1, 50.0, "gaussian")], 0.02)
    with raises(dl.InputError, "wrong-value quiet"):
        fit_tail([np.ones(5000)], 0.02)


# ------------------------------------------------------------------------------------------------ a simulated arm
def moves(n, t, rng):
    """q, q̇, q̈ (N, n): from one position to another by polynomials of degree five, in 1 to 3 s each."""
    ends = np.cumsum(np.r_[0.0, rng.uniform(1, 3, int(t[-1]) + 2)])
    at = rng.uniform(-1, 1, (len(ends), n))
    k = np.searchsorted(ends, t, side="right") - 1
    T, go = (ends[k + 1] - ends[k])[:, None], at[k + 1] - at[k]
    s = (t - ends[k])[:, None] / T
    return (
        at[k] + go * (10 * s**3 - 15 * s**4 + 6 * s**5),
        go * (30 * s**2 - 60 * s**3 + 30 * s**4) / T,
        go * (60 * s - 180 * s**2 + 120 * s**3) / T**2,
    )


def simulated(arm, seconds, seed, push=None, rate=100.0, payload=0.0, rates=True):
    """A log of an arm whose friction, noise and masses the model does not have exactly; `push` (from, to, wrench)."""
    t = np.arange(round(seconds * rate)) / rate
    rng = np.random.default_rng(seed + 100)
    q, qd, qdd = moves(arm.n, t, rng)
    true = arm.with_payload(payload, (0, 0, 0.1)) if payload else arm
    tau = 1.02 * true.inverse_dynamics(q, qd, qdd, friction=True) + 0.3 * rng.normal(size=q.shape)
    tau += 0.5 * np.tanh(qd / 0.05) + 0.3 * np.sin(2 * q)
    if push is not None:
        start, end, F = push
        inside = (t >= start) & (t < end)
        tau[inside] -= np.einsum("tij,i->tj", arm.jacobian(q[inside]), F)
    q, qd = q + 1e-5 * rng.normal(size=q.shape), qd + 1e-3 * rng.normal(size=q.shape)
    return Log(t, q, tau, arm.joint_names, qd if rates else None, "simulated")


@pytest.fixture(scope="module")
def arm():
    return dl.load("ur5e")


@pytest.fixture(scope="module")
def detector(arm):
    return calibrate_detector(arm, simulated(arm, 120, 0), false_alarms=60.0)


def test_false_alarms_of_another_log_are_as_many_as_were_told(arm):
    """Six logs of four minutes each promise 60 per hour; one of half an hour, of other moves, tells."""
    other, right = simulated(arm, 1800, 1), 0
    for seed in range(50, 56):
        made = calibrate_detector(arm, simulated(arm, 240, seed), false_alarms=60.0, rates=True)
        found = made.observe(other)
        least, most = made.expected(found.seconds)
        assert 1 <= least < 30 < most < 90  # thirty are asked for in half an hour
        assert made.interval[0] < 60 < made.interval[1] and not found.report.errors
        right += least <= len(found.contacts) <= most
    assert right >= 5


def test_a_push_is_seen_in_time_and_its_wrench_told(arm):
    F = np.array([0.0, -25.0, 30.0, 0.0, 0.0, 0.0])
    for rates in (True, False):
        made = calibrate_detector(arm, simulated(arm, 240, 50, rates=rates), false_alarms=5.0, rates=rates)
        log = simulated(arm, 60, 1, (20.0, 21.0, F), rates=rates)
        (seen,) = made.observe(log).contacts
        assert 20.0 <= seen.alarm < 20.1 and 19.9 <= seen.since <= 20.05 and 20.95 <= seen.end < 21.3
        assert seen.link == "wrist_2_link" and "wrist_3_joint" not in seen.joints
        assert np.all(np.abs(seen.wrench - F) < 3 * seen.deviation) and seen.deviation.max() > 5
        (seen,) = made.observe(log, components=("f_x", "f_y", "f_z")).contacts  # as of a point that touches
        assert np.all(np.abs(seen.wrench - F)[:3] < 3) and seen.deviation.max() < 4


def test_delays_are_those_of_pushes_put_into_the_log(arm):
    quiet = simulated(arm, 120, 0)
    made = calibrate_detector(arm, quiet, false_alarms=60.0, rates=True)
    delays, h = made.delays, made.observer.h
    assert delays.shape == (6, 3, 2) and np.all(np.diff(delays[..., 0], axis=1) <= 0)
    for joint, size, k in ((0, 10.0, 1), (2, 20.0, 2)):
        found = []
        for start in np.arange(1000, 11000, 500):
            tau = quiet.tau.copy()
            tau[start:, joint] -= size
            r = made.observer.residuals(quiet.q, quiet.qd, tau)[start:, joint]
            found.append((np.argmax(np.abs(r) > made.thresholds[joint]) + 1) * h)
        assert abs(np.median(found) - delays[joint, k, 0]) <= 2 * h
    rare = calibrate_detector(arm, quiet, false_alarms=0.01, rates=True)
    assert rare.thresholds.max() > 5 and np.isinf(rare.delays[rare.thresholds.argmax(), 0]).all()


def test_another_payload_is_doubted(arm, detector):
    found = detector.observe(simulated(arm, 30, 1, payload=3.0))
    assert found.report.worst == "error" and found.report.of("other residual")[0].element in arm.joint_names
    one = simulated(arm, 60, 1)
    faster = Log(one.t[::2] / 2, one.q[::2], one.tau[::2], one.joints, 2 * one.qd[::2])
    assert "faster than ever" in str(detector.observe(faster).report.of("other motion")[0])
    with raises(dl.InputError, "conflict log"):
        detector.observe(replace(one, t=one.t / 2))


def test_a_contact_in_the_quiet_log_is_suspected(arm):
    log = simulated(arm, 60, 51, (20.0, 23.0, np.array([0, 60.0, 0, 0, 0, 0])))
    assert "was the arm touched in it?" in str(observe(arm, log, first=0.6).report.of("touched")[0])


def test_a_short_log_is_said_to_be_short(arm):
    found = observe(arm, simulated(arm, 40, 0), false_alarms=1.0)
    assert found.seconds == pytest.approx(20.0)
    assert found.report.of("short")[0].message.startswith("19.9 s without contact tell of 1 false alarms per hour only")
    assert found.detector.interval[1] > 4
    with raises(dl.InputError, "too-few quiet"):
        observe(arm, simulated(arm, 2, 0))


def test_gaps_start_the_observer_anew(arm, detector):
    log = simulated(arm, 60, 1, rate=100.0)
    keep = (log.t < 20) | (log.t > 25)
    cut = Log(log.t[keep], log.q[keep], log.tau[keep], log.joints, log.qd[keep], "cut")
    assert np.abs(detector.residuals(cut)[2000]).max() == 0.0
    assert len(detector.observe(cut).contacts) <= detector.expected(55)[1]


def test_what_cannot_be_told_is_not():
    arm = dl.load("planar-2r")
    log = simulated(arm, 40, 0)
    made = calibrate_detector(arm, log, false_alarms=60.0)
    q, f = np.array([0.3, 0.9]), np.array([3.0, -2.0, 0, 0, 0, 0])
    r = arm.jacobian(q).T @ f
    wrench, deviation = made.wrenches(q, r)
    assert np.isnan(wrench[[0, 1, 5]]).all() and np.isinf(deviation[2])  # two torques, three numbers
    wrench, deviation = made.wrenches(q, r, components=("f_x", "f_y"))
    assert np.allclose(wrench, f, atol=1e-9) and np.all(deviation[:2] > 0)
    many, _ = made.wrenches(np.stack([q, q]), np.stack([r, 2 * r]), components=("f_x", "f_y"))
    assert np.allclose(many, [f, 2 * f], atol=1e-9)
    with raises(dl.UnknownNameError, "unknown-name"):
        made.wrenches(q, r, components=("f_w",))


def test_a_joint_that_slides_has_newtons():
    arm = dl.load("scara")
    made = calibrate_detector(arm, simulated(arm, 30, 0), false_alarms=60.0)
    assert sorted(set(made.units)) == ["N", "N m"]


def test_beside_a_controller(arm):
    """The same thresholds, in a simulation that the observer takes part in."""
    two = dl.load("planar-2r")
    made = calibrate_detector(two, simulated(two, 60, 0), false_alarms=60.0)
    observer = made.observer.observer
    assert isinstance(observer, MomentumObserver)
    law = observer.with_controller(PDGravity.for_bandwidth(two, 8.0))
    q = np.array([0.4, 0.5])
    pushed = dl.Inputs(wrenches={two.tip: lambda t: (0, -40.0 if 1 <= t < 1.5 else 0.0, 0, 0, 0, 0)})
    run = dl.simulate(two, law, q0=q, reference=q, duration=2.0, inputs=pushed)
    z = np.stack([run[name] for name in observer.states], axis=-1)
    (seen,) = made.contacts(run.t, run.q, observer.estimate(run.q, run.qd, z), components=("f_x", "f_y"))
    assert 1.0 <= seen.alarm < 1.1 and seen.wrench[1] == pytest.approx(-40.0, rel=0.1)


def test_a_motion_that_repeats_itself_tells_of_no_other(arm):
    t = np.arange(0, 60, 0.01)
    q, qd, qdd = motion(arm.n, t)
    tau = 1.02 * arm.inverse_dynamics(q, qd, qdd) + 0.3 * np.random.default_rng(0).normal(size=q.shape)
    log = Log(t, q, tau, arm.joint_names, qd)
    made = calibrate_detector(arm, log, false_alarms=60.0)
    assert made.period == pytest.approx(5.0, rel=1e-3) and made.tail.spread > 11
    assert made.observe(log).report.of("periodic")
    assert made.interval[1] > 300


# ------------------------------------------------------------------------------------------------ real arms
@pytest.mark.parametrize("folder", ["ur10_unisa", "panda_unisa"])
def test_false_alarms_of_a_real_arm(folder):
    """Identified on the first half of its log, calibrated on the third quarter, observed on the last: nobody touched
    it."""
    place = real(folder)
    arm = dl.load(next(place.glob("*.urdf")))
    arm = arm.lock({name: 0.0 for name in arm.joint_names if "finger" in name})
    log = read_log(place / "exciting.csv", arm)
    cut = len(log) // 2
    parts = [Log(log.t[s], log.q[s], log.tau[s], log.joints, log.qd[s]) for s in (slice(0, cut), slice(cut, None))]
    fitted = identify(arm, parts[0], holdout=0.0).robot
    for asked in (1.0, 60.0, 600.0, 1200.0):
        found = observe(fitted, parts[1], false_alarms=asked)
        least, most = found.detector.expected(found.seconds)
        assert least <= len(found.contacts) <= most
