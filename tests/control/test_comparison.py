"""Comparison: the textbooks' argument, measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loops import Sine, run
from tests.rollout_words import rollouts

import dalembert as dl
from dalembert import control
from dalembert.control import Scenario, compare
from dalembert.control.comparison import judge
from dalembert.control.scenarios import scenario_flow
from dalembert.trajectories import minimum_jerk


@pytest.fixture(scope="module")
def two():
    return dl.load("planar-2r")


@pytest.fixture(scope="module")
def motion():
    return Sine([0.3, -0.4], [0.5, 0.4], [2.0, 3.0], [0.0, 1.0])


@pytest.fixture(scope="module")
def result(two, motion):
    controllers = {
        "PD": control.PD.for_bandwidth(two, 10.0),
        "PD + gravity": control.PDGravity.for_bandwidth(two, 10.0),
        "feedforward": control.Feedforward(two),
        "feedforward + PD": control.FeedforwardPD.for_bandwidth(two, 10.0),
        "computed torque": control.ComputedTorque(two, omega=10.0),
        "adaptive": control.AdaptiveControl(two, kd=10.0, rate=5.0, adaptation=5.0),
    }
    return compare(controllers, two, motion, 6.0)


def test_the_flow_of_scenarios_is_the_robot_changed(two):
    """The same accelerations as a robot made with that payload, those masses, that friction."""
    rng = np.random.default_rng(0)
    flow = scenario_flow(two)
    q, qd, tau = rng.normal(size=(3, 2))
    x, u = [*q, *qd], [*tau, 1.3, 0.0, 0.0, 0.0, 0.0]
    assert np.allclose(flow.rate(0.0, x, u)[2:], two.with_payload(1.3).forward_dynamics(q, qd, tau))
    heavier = [*tau, 0.0, 0.5, 0.0, 0.0, 0.0]  # M, c, g all times 1.5
    assert np.allclose(flow.rate(0.0, x, heavier)[2:], two.forward_dynamics(q, qd, tau / 1.5))
    assert np.allclose(flow.rate(0.0, x, heavier)[2:], two.with_mass_error(0.5).forward_dynamics(q, qd, tau))
    only = two.with_mass_error(0.5, ["link2"])
    assert only.mass == pytest.approx(two.mass + 0.5 * two.description.links[2].inertial.mass)
    with pytest.raises(dl.DalembertError, match="leaves nothing of the robot"):
        two.with_mass_error(-1.0)
    with pytest.raises(dl.DalembertError, match="unknown link of 'planar-2r' 'link9'"):
        two.with_mass_error(0.1, ["link9"])
    rough = [*tau, 0.0, 0.0, 0.0, 0.7, 0.2]
    assert np.allclose(flow.rate(0.0, x, rough)[2:], two.forward_dynamics(q, qd, tau - 0.7 * qd - 0.2 * np.sign(qd)))
    puma = dl.load("puma560")
    q, qd, tau = rng.normal(size=(3, 6))
    own = scenario_flow(puma).rate(0.0, [*q, *qd], [*tau, 0.0, 0.0, 1.0, 0.0, 0.0])[6:]
    assert np.allclose(own, puma.forward_dynamics(q, qd, tau, friction=True))


def test_seed_003s_argument(result):
    def verdict(c, s):
        return result.of(c, s)["verdict"]

    # pure feedforward drifts from any mismatch, and needs a perfect world
    assert verdict("feedforward", "exact") == "settled"
    for s in ("wrong start", "payload", "masses +10 %", "friction"):
        assert verdict("feedforward", s) == "drifting"
    # with feedback beside it, or as computed torque, it follows; model errors leave a bounded error
    for c in ("feedforward + PD", "computed torque"):
        assert verdict(c, "exact") == verdict(c, "wrong start") == "settled"
        assert verdict(c, "payload") == "bounded"
    # PD does not know gravity; PD + gravity does, but not the motion
    assert result.of("PD + gravity", "exact")["rms_error"] < 0.5 * result.of("PD", "exact")["rms_error"]
    assert result.of("PD + gravity", "exact")["rms_error"] > 1e3 * result.of("computed torque", "exact")["rms_error"]
    assert verdict("PD + gravity", "exact") == "bounded"
    # learning removes what a payload leaves
    assert result.of("adaptive", "payload")["rms_error"] < 0.1 * result.of("computed torque", "payload")["rms_error"]
    assert result.of("computed torque", "noise")["rms_error"] < 1e-3


def test_rms_values_are_those_of_simulate(two, motion, result):
    """One definition: the mean over time and over the joints, here two."""
    q, qd, _ = motion(0.0)
    row = result.of("PD", "payload")
    run = dl.simulate(
        two.with_payload(1.0),
        control.PD.for_bandwidth(two, 10.0),
        q0=q,
        qd0=qd,
        reference=motion,
        duration=6.0,
        dt=1e-2,
        measures=("rms_error", "rms_torque", "peak_error"),
    )
    assert run.measures["rms_error"] == pytest.approx(row["rms_error"], rel=1e-3)
    assert run.measures["rms_torque"] == pytest.approx(row["rms_torque"], rel=1e-3)
    assert run.measures["rms_error"] <= run.measures["peak_error"]


def test_figures_are_those_of_a_single_run(two, motion, result):
    q, qd, _ = motion(0.0)
    c = control.ComputedTorque(two, omega=10.0)
    row = result.of("computed torque", "payload")
    r = run(two.with_payload(1.0).flow(), c, motion, np.r_[q, qd], row["dt"], round(6 / row["dt"]))
    e = motion(r.t)[0] - r.x[:, :2]
    tau = r.y[:, :2]

    def rms(x):
        return np.sqrt(np.trapezoid((x**2).mean(-1), r.t) / 6)

    assert row["rms_error"] == pytest.approx(rms(e), rel=1e-9)
    assert row["max_error"] == pytest.approx(np.abs(e).max(), rel=1e-9)
    assert row["rms_torque"] == pytest.approx(rms(tau), rel=1e-9)
    assert row["peak_torque"] == pytest.approx(np.abs(tau).max(), rel=1e-9)
    power = np.abs(tau * r.x[:, 2:]).sum(-1)
    assert row["energy"] == pytest.approx(np.trapezoid(power, r.t), rel=1e-9)


def test_pd_with_gravity_is_enough_for_a_set_point(two):
    found = compare(
        {"PD": control.PD.for_bandwidth(two, 10.0), "PD + gravity": control.PDGravity.for_bandwidth(two, 10.0)},
        two,
        [0.5, 0.5],
        3.0,
        q0=[0.0, 0.0],
        scenarios={"exact": Scenario()},
        tolerance=1e-3,
    )
    assert found.of("PD + gravity", "exact")["verdict"] == "settled"
    assert found.of("PD", "exact")["verdict"] == "bounded"


def test_what_gearing_changes(two, motion):
    """Independent joints: the error falls with N², at the motors the arm is no longer felt."""
    found = compare(
        {
            "independent": control.IndependentJoint(two, omega=10.0),
            "computed torque": control.ComputedTorque(two, omega=10.0),
        },
        two,
        motion,
        4.0,
        gears=(1, 30, 300),
        rotor_inertia=1e-3,
        scenarios={"payload": Scenario(payload=0.5)},
    )
    assert found.scenarios == ("N = 1", "N = 30", "N = 300")
    rms = found.rms_error[0]
    assert rms[0] > 0.1 and rms[2] < 5e-3
    assert rms[1] / rms[2] > 20
    direct, geared = found.rms_error[0, 0] - found.rms_error[1, 0], found.rms_error[0, 2] - found.rms_error[1, 2]
    assert geared < 0.05 * direct  # what the model is worth


def test_noise_and_seeds(two, motion):
    def again(seed):
        c = {"PD": control.PD(two, kp=100.0, kd=20.0)}
        return compare(c, two, motion, 0.5, scenarios={"noise": Scenario(noise=1e-3, rate_noise=1e-2)}, seed=seed)

    assert np.array_equal(again(1).torque, again(1).torque)
    assert not np.array_equal(again(1).torque, again(2).torque)
    quiet = compare({"PD": control.PD(two, kp=100.0, kd=20.0)}, two, motion, 0.5, scenarios={"": Scenario()})
    jitter = np.std(again(1).torque[0, 0] - quiet.torque[0, 0], axis=0)
    assert np.allclose(jitter, np.hypot(100 * 1e-3, 20 * 1e-2), rtol=0.2)


def test_a_sampled_reference_does_as_well(two, motion):
    """A reference that cannot be traced is sampled at each step."""

    class Plain(Sine):
        def trace(self, t):
            return None

    plain = Plain(motion.middle, motion.amplitude, motion.omega, motion.phase)
    a, b = (
        compare({"c": control.ComputedTorque(two, omega=10.0)}, two, m, 1.0, scenarios={"s": Scenario(start=0.1)})
        for m in (motion, plain)
    )
    assert np.abs(a.error - b.error).max() < 5e-3
    assert not np.array_equal(a.error, b.error)


def test_verdicts():
    t = np.linspace(0, 10, 400)
    assert judge(np.exp(-t), 1e-2) == "settled"
    assert judge(0.1 + 0.01 * np.abs(np.sin(t)), 1e-2) == "bounded"
    assert judge(0.01 * t, 1e-2) == "bounded" or judge(0.001 * t**3, 1e-2) == "drifting"
    assert judge(0.001 * t**2.5, 1e-2) == "drifting"
    assert judge(np.where(t > 5, np.nan, 0.0), 1e-2) == "diverged"
    assert judge(np.where(t < 1, 2.0, 0.0), 1e-2) == "drifting"


def test_a_verdict_waits_for_a_step_that_is_short_enough(two):
    """Stiff loops: what a long step breaks, shorter ones mend; where none is short enough, nothing is said."""
    iiwa = dl.load("iiwa7")
    start, goal = iiwa.home, iiwa.home + 0.3
    found = compare(
        {"PD": control.PDGravity.for_bandwidth(iiwa, 10.0)},
        iiwa,
        dl.trajectories.minimum_jerk(start, goal, 1.0),
        2.0,
        scenarios={"exact": Scenario(), "masses": Scenario(mass_error=0.2)},
    )
    assert found.of("PD", "exact")["verdict"] == "settled" and (found.dt < 1e-3).all()
    stiff = {"stiff": control.PD(two, kp=1e9, kd=1e8)}
    lost = compare(stiff, two, [0.5, 0.5], 1.0, q0=[0.0, 0.0], scenarios={"exact": Scenario()})
    assert lost.of("stiff", "exact")["verdict"] == "unresolved" and np.isnan(lost.rms_error).all()
    assert "stiff: cannot be judged (exact). Even steps of 7.81e-06 s do not agree" in lost.argument()
    assert "unresolved" in lost.criteria and "below 0.01 in the last quarter" in lost.criteria


def test_a_loop_that_truly_diverges_is_said_to(two):
    class Pushing(control.PD):
        def law(self):
            def act(t, y, r, z, p):
                return [40.0 * (y[k] - r[k]) + 4.0 * y[2 + k] for k in range(2)]

            return replace(super().law(), act=act)

    law = {"p": Pushing(two, kp=1.0, kd=1.0)}
    found = compare(law, two, [0.0, 0.0], 5.0, q0=[1e-3, 1e-3], scenarios={"exact": Scenario()})
    assert found.of("p", "exact")["verdict"] == "diverged"


def test_table_words_and_picture(result, tmp_path):
    text = str(result)
    assert "computed torque" in text and "RMS error" in text and "drifting" in text
    assert len(result.rows()) == 36 and result.rows()[0]["controller"] == "PD"
    words = result.argument()
    assert "feedforward: follows (exact, noise); drifts away (wrong start, payload" in words
    file = tmp_path / "comparison.png"
    pytest.importorskip("matplotlib")
    result.plot(file)
    assert file.stat().st_size > 20_000
    with pytest.raises(dl.DalembertError, match="unknown scenario 'windy'"):
        result.of("PD", "windy")


BAD = [
    (lambda a: compare({}, a, [0, 0]), "there are no controllers to compare"),
    (lambda a: compare({"x": 3}, a, [0, 0]), "controller 'x' must be a controller or a function that makes one, got"),
    (lambda a: compare(3, a, [0, 0]), "controllers is a dictionary by name, or a list"),
    (
        lambda a: compare([control.PD(a, kp=1, kd=1), control.PD(a, kp=2, kd=1)], a, [0, 0]),
        "two controllers are called 'PD'",
    ),
    (lambda a: compare([control.PD(a, kp=1, kd=1)], a, [0, 0], 0.0), "duration is 0.0; it must be greater than 0"),
    (lambda a: compare([control.PD(a, kp=1, kd=1)], a, [0, 0], scenarios={}), "there are no scenarios"),
    (
        lambda a: compare([control.PD(a, kp=1, kd=1)], a, [0, 0], scenarios={"s": 1}),
        "scenario 's' must be a Scenario, got",
    ),
    (lambda a: compare([control.PD(a, kp=1, kd=1)], a, [0, 0, 0]), r"has 3, 6 or 9|this reference is one of 3"),
    (lambda a: compare([control.PD(a, kp=1, kd=1)], a, [0, 0], q0=[0.0]), r"q0 has shape \(1,\)"),
    (lambda a: compare([control.PD(a, kp=1, kd=1)], a, [0, 0], gears=(1,)), "gears and rotor_inertia belong together"),
    (
        lambda a: compare([control.PD(a, kp=1, kd=1)], dl.load("planar-3r"), [0, 0, 0]),
        "is not one of the joint torques",
    ),
    (lambda a: Scenario(payload=-1.0), "payload of a Scenario is -1.0; it must not be less than 0"),
    (lambda a: Scenario(mass_error=-1.0), "nothing would be left"),
    (lambda a: Scenario(noise=np.nan), "noise of a Scenario is nan; it must be a finite number"),
    (lambda a: control.add_gears(a, 1e-3, 0.0), "the gear ratio is 0.0; it must be greater than 0"),
    (lambda a: control.add_gears(a, [1e-3], 5.0), "rotor_inertia must be|rotor_inertia has shape"),
]


@pytest.mark.parametrize("make, message", BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_input_gets_a_sentence(two, make, message):
    with pytest.raises(dl.DalembertError, match=message):
        make(two)


def test_figures_are_not_read_off_the_rows_that_are_kept():
    """A start that is wrong by 0.05 decays within a row: e = e₀ (1 + ωt) exp(−ωt), ∫ e² dt = 5 e₀²/(4 ω)."""
    arm = dl.load("planar-2r")
    off, omega, duration = 0.05, 1000.0, 3.0
    scenarios = {"wrong start": control.Scenario(start=off)}
    found = control.compare(
        {"ct": control.ComputedTorque(arm, omega=omega)}, arm, [0.1, 0.2], duration, scenarios=scenarios
    )
    assert len(found.t) == found.error.shape[-1] == found.torque.shape[-2] == 1501 and found.t[-1] == duration
    assert found.rms_error[0, 0] == pytest.approx(off * np.sqrt(1.25 / (omega * duration)), rel=0.01)


@pytest.mark.parametrize("motion", [[90, 45], minimum_jerk([0, 0], [90, 45], duration=0.01)])
def test_a_motion_in_degrees_is_warned_of_where_joints_follow_it(motion):
    """A motion has no units of its own; whoever makes joints follow it knows that they turn."""
    arm = dl.load("planar-2r")
    law = control.PDGravity(arm, kp=1.0, kd=1.0)
    calls = (
        lambda: dl.simulate(arm, law, q0=[0, 0], duration=0.02, reference=motion),
        lambda: rollouts(arm, law, q0=[[0, 0]], duration=0.02, dt=1e-3, reference=motion),
        lambda: compare({"law": law}, arm, motion, 0.02, scenarios={"exact": Scenario()}),
    )
    for call in calls:
        with pytest.warns(dl.UnitWarning, match=r"^reference is 90, 45 in radians, .* give np.radians\(reference\)"):
            call()


def test_motions_that_are_no_degrees_are_not_warned_of(recwarn):
    arm, slide = dl.load("planar-2r"), dl.load("cartesian-pp")
    dl.simulate(arm, control.PDGravity(arm, kp=1.0, kd=1.0), q0=[0, 0], duration=0.02, reference=[3.1, -6.2])
    dl.simulate(slide, control.PDGravity(slide, kp=1.0, kd=1.0), q0=[0, 0], duration=0.02, reference=[90, 45])
    assert not [w for w in recwarn if issubclass(w.category, dl.UnitWarning)]
