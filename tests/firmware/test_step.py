"""A law as a chip runs it: the same as the closed loop of a simulation, sample by sample."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.describe.urdf_read import read_urdf
from dalembert.firmware.step import read_step
from dalembert.law import Law
from errors import raises

H = 1e-3
ROCK = '<robot name="rock"><link name="base"/></robot>'


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar-2r")


def controllers(arm):
    pid = dl.control.JointPID(arm, kp=50.0, kd=8.0, ki=20.0)
    observer = dl.control.MomentumObserver(arm, gain=40.0)
    return pid, observer.with_controller(dl.control.ComputedTorque.for_bandwidth(arm, 10.0, 1.0))


@pytest.mark.parametrize(("which", "most"), [(0, 8.0), (1, 300.0)], ids=["pid", "with observer"])
def test_steps_are_the_samples_of_a_simulation(arm, which, most):
    """The law's states, those it starts itself too, and its limited torques, to rounding."""
    law = controllers(arm)[which]
    goal = dl.trajectories.minimum_jerk(arm.home, arm.home + 0.4, 0.05)
    run = dl.simulate(
        arm,
        law,
        q0=arm.home + 0.1,
        qd0=[0.3, -0.2],
        duration=0.06,
        dt=H / 2,
        reference=goal,
        sensors=dl.Sensors(sample_time=H),
        limits=dl.JointLimits(most),
    )
    step = read_step(arm, law, sample_time=H, reference=goal, torque_limits=most)
    state, clipped = np.zeros(len(step.states)), 0
    for q, qd, tau in zip(run.q[:-1:2], run.qd[:-1:2], run.tau[1::2], strict=True):
        state, out = step.kernel(state, np.concatenate([q, qd]))
        assert np.allclose(out, tau, rtol=1e-9, atol=1e-9)
        clipped += np.abs(out).max() == most
    assert 0 < clipped < 60


@pytest.mark.parametrize("base", ["floating", "planar", "spherical"])
@pytest.mark.parametrize("name", ["PD", "PDGravity", "JointPID"])
def test_steps_of_a_robot_on_a_free_base(base, name):
    """What the law measures of the base is among the inputs by name; rates of joints alone are made of positions."""
    elbow = dl.load("elbow-3r")
    robot = elbow.with_payload(3.0, inertia=(0.1, 0, 0, 0.2, 0, 0.3), frame=elbow.frames[0]).with_base(base)
    law = getattr(dl.control, name).for_bandwidth(robot, 10.0)
    start = dict(q0=robot.random_configuration(seed=2), qd0=np.linspace(-0.3, 0.3, robot.nv), reference=[0.1, 0.2, 0.3])
    run = dl.simulate(robot, law, duration=0.02, dt=H, sensors=dl.Sensors(sample_time=H), **start)
    step = read_step(robot, law, sample_time=H)
    state, wanted = np.zeros(max(len(step.states), 1)), dict(zip(step.loop.followed, [0.1, 0.2, 0.3], strict=False))
    for q, v, tau in zip(run.q[:-1], run.qd[:-1], run.tau[:-1], strict=True):
        given = dict(zip((*robot.states[: robot.nq], *robot.flow().rates), (*q, *v), strict=True)) | wanted
        found = step.kernel(state, np.array([given.get(x, 0.0) for x in step.inputs]))
        state, out = found if step.states else (state, found)
        assert np.allclose(out, tau[robot.driven], rtol=1e-9, atol=1e-9)
    slow = read_step(robot, law, sample_time=H, rates=False)
    joints = {f"joint{k}_rate": f"joint{k}" for k in (1, 2, 3)}
    assert slow.made_rates == joints and not {*joints} & {*slow.inputs}
    assert {x for x in step.inputs if x.startswith("root")} == {x for x in slow.inputs if x.startswith("root")}


def test_a_body_without_drives_has_nothing_to_control():
    rock = dl.Robot(read_urdf(ROCK)).with_base("floating")
    with raises(dl.InputError, "wrong-structure robot"):
        dl.control.PD(rock, kp=1.0, kd=1.0)


def test_a_motion_that_is_compiled_in_is_what_would_be_given(arm):
    law = dl.control.ComputedTorque.for_bandwidth(arm, 10.0, 1.0)
    goal = dl.trajectories.trapezoid(arm.home, arm.home + 1.0, 2.0, 4.0)
    inside = read_step(arm, law, sample_time=H, reference=goal).kernel
    outside = read_step(arm, law, sample_time=None).kernel
    q = np.array([0.1, -0.2, 0.3, 0.4])
    for samples in (0, 1, 300, 5000):
        wanted = np.concatenate(goal(samples * H))
        state, out = inside([float(samples)], q)
        assert np.allclose(out, outside([0.0], np.concatenate([q, wanted])), rtol=1e-12)
        last = math.ceil(goal.duration / H) + 1  # where the count rests, with the motion
        assert state[0] == min(samples + 1, max(last, samples))


@pytest.mark.parametrize("frequency", [0.5, 0.37, 1 / (2 * np.pi)])
def test_a_motion_with_a_period_keeps_its_accuracy(arm, frequency):
    """The count begins anew with the motion: after an hour it is as right in float32 as in the first seconds, at a time
    that is off by what the cycle states; counted on it is wrong by what float32 loses of the time, or no number."""
    goal = dl.trajectories.sines([0.3, 0.2], frequency, offset=arm.home)
    step = read_step(arm, dl.control.ComputedTorque.for_bandwidth(arm, 10.0, 1.0), sample_time=H, reference=goal)
    again, off = step.cycle
    assert 0 < again < 2**20 and abs(off) < 1e-7 * again * H
    q = np.array([0.1, -0.2, 0.3, 0.4])
    state, hours = step.kernel([float(again)], q)[0], 3600 / H
    assert state[0] == 1 and step.kernel([float(again - 1)], q)[0][0] == again
    outside = read_step(arm, dl.control.ComputedTorque.for_bandwidth(arm, 10.0, 1.0), sample_time=None).kernel

    def wrong(samples: float, t: float) -> float:
        wanted = outside([0.0], np.concatenate([q, *goal(t)]))
        return float(np.abs(step.kernel(np.float32([samples]), np.float32(q))[1] - wanted).max())

    cycles, left = divmod(hours - 1, again)
    assert wrong(left + 1, hours * H - cycles * off) < 0.001
    assert not wrong(hours, hours * H) < 0.005


def test_a_law_that_looks_at_the_clock_is_not_counted_anew(arm):
    goal = dl.trajectories.sines([0.3, 0.2], 0.5, offset=arm.home)
    law = plain_law(arm, lambda t, q, qd, r, *_: [t, t], follows=True)
    assert read_step(arm, law, sample_time=H, reference=goal).cycle == (0, 0.0)


def plain_law(arm, act, follows=()):
    names = dl.control.PD(arm, kp=1.0, kd=1.0).law()
    return Law("plain", names.measures, names.follows[:2] if follows else (), names.outputs, act)


def rates_of(t, y, r, z, p):
    return list(y[2:])


def test_rates_are_made_of_positions_with_a_lag(arm):
    """A first-order lag of differences: at a constant speed v (1 − e^(−t/T)), zero at the start."""
    law = plain_law(arm, rates_of)
    speed, lag = np.array([0.5, -0.25]), 0.004
    step = read_step(arm, law, sample_time=H, rates=False, lag=lag)
    assert step.inputs == arm.joint_names
    state = np.zeros(len(step.states))
    for k in range(20):
        state, out = step.kernel(state, arm.home + k * H * speed)
        assert np.allclose(out, speed * (1 - math.exp(-k * H / lag)), atol=1e-12)
    plain = read_step(arm, law, sample_time=H, rates=False)
    state, _ = plain.kernel(np.zeros(3), arm.home)
    _, out = plain.kernel(state, arm.home + H * speed)
    assert np.allclose(out, speed)


def test_measured_rates_pass_a_lag_that_starts_at_the_first(arm):
    step = read_step(arm, plain_law(arm, rates_of), sample_time=H, lag=0.002)
    state, out = step.kernel(np.zeros(3), [0, 0, 1.0, 2.0])
    assert np.allclose(out, [1, 2])
    _, out = step.kernel(state, [0, 0, 2.0, 2.0])
    assert np.allclose(out, [2 - math.exp(-0.5), 2])


@pytest.mark.parametrize("rates", [True, False])
def test_an_observer_sees_what_the_library_s_sees(arm, rates):
    law = dl.control.PDGravity(arm, kp=30.0, kd=5.0)
    step = read_step(arm, law, sample_time=H, rates=rates, lag=0.0 if rates else 0.005, observer=30.0)
    rng, t = np.random.default_rng(0), np.arange(120) * H
    q = np.outer(np.sin(5 * t), [0.4, -0.3])
    qd = np.outer(5 * np.cos(5 * t), [0.4, -0.3])
    state, outs = np.zeros(len(step.states)), []
    for k in range(len(t)):
        given = [*q[k], *(qd[k] if rates else ()), *rng.normal(size=4)]
        state, out = step.kernel(state, given)
        outs.append(out)
    tau, seen = np.split(np.array(outs), 2, axis=1)
    watch = dl.control.MomentumObserver(arm, gain=30.0).sampled(H, rates)
    assert np.allclose(seen, watch.residuals(q, qd if rates else None, tau), rtol=1e-9, atol=1e-9)
    assert np.abs(seen).max() > 0.1
    assert step.outputs[2:] == tuple(f"{name}_external" for name in arm.joint_names)


def test_a_law_without_memory_takes_no_state_and_no_sample_time(arm):
    step = read_step(arm, dl.control.PDGravity(arm, kp=30.0, kd=5.0), sample_time=None)
    assert step.states == () and step.results == ("out",) and step.clock == ""


def shift_register(arm, **more):
    """u is what was measured two samples ago, and z begins at 7: each state goes into the next."""

    def act(t, y, r, z, p):
        return [z[1], z[0]]

    names = dl.control.PD(arm, kp=1.0, kd=1.0).law()
    made = Law("register", names.measures, (), names.outputs, act, ("a", "b"), (7.0, 0.0))
    return replace(made, update=lambda h: lambda t, y, r, z, p: [y[0], z[0]], **more)


def test_a_state_of_zeros_is_the_start(arm):
    step = read_step(arm, shift_register(arm), sample_time=H)
    state = np.zeros(3)
    for given, wanted in ((1.0, 0.0), (2.0, 7.0), (3.0, 1.0), (4.0, 2.0)):
        state, out = step.kernel(state, [given, 0, 0, 0])
        assert out[0] == wanted and state[0] == 1.0


def test_a_periodic_motion_in_float32(arm):
    """What rounds to whole periods rounds in floats too."""
    law = plain_law(arm, lambda t, y, r, z, p: list(r), follows=True)
    knots = np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 0.0]])
    motion = dl.trajectories.spline(knots, [0.0, 0.5, 1.0], ends="periodic")
    kernel = read_step(arm, law, sample_time=H, reference=motion).kernel
    states = np.arange(1, 20_000, 97)[:, None].astype(float)
    exact, single = (kernel(states.astype(kind), np.zeros((len(states), 4), kind))[1] for kind in ("f8", "f4"))
    assert np.ptp(exact) > 0.9
    assert np.abs(single - exact).max() < 1e-4


# ------------------------------------------------------------------------------------------------------------ refused
def refused(says, error=dl.InputError, **given):
    arm = dl.load("planar-2r")
    words = {"system": arm, "controller": dl.control.PD(arm, kp=1.0, kd=1.0), "sample_time": H, **given}
    with raises(error, says) if says else pytest.raises(error):
        read_step(words.pop("system"), words.pop("controller"), **words).kernel  # noqa: B018


def test_what_cannot_be_exported_says_why(arm):
    def plainly(t, y, r, z, p):
        return [math.sin(y[0]), 0.0]

    def choosing(t, y, r, z, p):
        return [1.0 if y[0] > 0 else -1.0, 0.0]

    register = shift_register(arm)
    refused("unsupported controller", controller=replace(register, act=plainly))
    refused("", controller=replace(register, act=choosing))
    refused("missing controller", controller=replace(register, update=None))
    refused("wrong-type controller", controller=lambda t, q, qd: q)
    refused("wrong-type controller", controller=None)
    refused("", controller=dl.control.PD)
    refused("", controller=replace(register, parameters={"k": math.nan}))
    refused("wrong-type system", system="planar-2r")
    refused("wrong-structure system", system=dl.Robot(read_urdf(ROCK)))
    refused("unknown-name", dl.UnknownNameError, controller=dl.control.PD(dl.load("scara"), kp=1.0, kd=1.0))


def test_times_that_cannot_be(arm):
    refused("out-of-range sample_time", sample_time=0.0)
    refused("out-of-range sample_time", sample_time=-1e-3)
    refused("not-finite sample_time", sample_time=math.nan)
    refused("out-of-range lag", lag=-1.0)
    needs = "missing sample_time"
    refused(needs, sample_time=None, controller=shift_register(arm))
    refused(needs, sample_time=None, rates=False)
    refused(needs, sample_time=None, observer=10.0)
    motion = dl.trajectories.minimum_jerk(arm.home, arm.home + 1.0, 1.0)
    refused(needs, sample_time=None, reference=motion)


def test_references_that_cannot_be(arm):
    refused("unsupported reference", reference=lambda t: ([0.0] * 2,) * 3)
    refused("no-effect reference", controller=shift_register(arm), reference=[0.0, 0.0])
    refused("", reference=[0.0, 0.0, 0.0])


def test_an_observer_of_what_is_not_measured(arm):
    law = Law(
        "half", (arm.joint_names[0],), (), (f"{arm.joint_names[0]}_torque",), lambda t, y, r, z, p: [scalar.sin(y[0])]
    )
    refused("missing observer", controller=law, observer=10.0)
