"""One run: energy, oracles, every kind of system, sampled laws, what goes wrong, what is left behind."""

from __future__ import annotations

import csv
import errno
import os
import pickle
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert import scalar
from dalembert.control import PDGravity, TaskComputedTorque
from dalembert.describe.description import Limit
from dalembert.errors import InputError, MissingExtraError, UnknownNameError
from dalembert.flow import Flow
from dalembert.lagrange import examples
from dalembert.law import Law
from dalembert.reference import Reference
from dalembert.simulation import METHODS, Inputs, JointLimits, Noise, Sensors, Solver, driver, record
from errors import raises

NOUNS = {
    "inputs": (Inputs, ("tau", "wrenches", "disturbance", "parameters", "payload")),
    "sensors": (Sensors, ("sample_time", "delay", "noise", "quantization", "seed")),
    "solver": (Solver, ("method", "rtol", "atol", "iterations", "every", "progress")),
}


def simulate(system, controller=None, **words):
    """`dl.simulate` with its words grouped by noun."""
    for noun, (kind, members) in NOUNS.items():
        own = {word: words.pop(word) for word in members if word in words}
        words |= {noun: kind(**own)} if own else {}
    if "torque_limits" in words:
        words["limits"] = JointLimits(words.pop("torque_limits"), words.pop("limits", None))
    return dl.simulate(system, controller, **words)


ARM = dl.load("planar-2r")
Q0 = np.array([0.5, 0.3])
JOINTS = ARM.joint_names
RATES = tuple(f"{j}_rate" for j in JOINTS)
TORQUES = tuple(f"{j}_torque" for j in JOINTS)


def pd(kp=50.0, kd=10.0, **changes) -> Law:
    """τ = k_p (r − q) − k_d q̇."""

    def act(t, y, r, z, p):
        return [p[0] * (r[k] - y[k]) - p[1] * y[2 + k] for k in range(2)]

    law = Law("pd", (*JOINTS, *RATES), ("r1", "r2"), TORQUES, act, parameters={"kp": kp, "kd": kd})
    return replace(law, **changes)


def pid() -> Law:
    def act(t, y, r, z, p):
        return [p[0] * (r[k] - y[k]) - p[1] * y[2 + k] + p[2] * z[k] for k in range(2)]

    def rate(t, y, r, z, p):
        return [r[k] - y[k] for k in range(2)]

    gains = {"kp": 60.0, "kd": 12.0, "ki": 40.0}
    return Law("pid", (*JOINTS, *RATES), ("r1", "r2"), TORQUES, act, ("i1", "i2"), (0.0, 0.0), rate, parameters=gains)


class Wave(Reference):
    """A sine in each joint; traced or not."""

    m, duration = 2, np.inf

    def __init__(self, traced: bool) -> None:
        self.traced = traced

    def __call__(self, t):
        t = np.asarray(t, float)[..., None] + np.array([0.0, 0.5])
        return np.sin(t), np.cos(t), -np.sin(t)

    def trace(self, t):
        if not self.traced:
            return None
        both = (t, t + 0.5)
        sines, cosines = [scalar.sin(x) for x in both], [scalar.cos(x) for x in both]
        return sines, cosines, [-x for x in sines]


def motion(t):
    return [2.0 * np.sin(3.0 * t), 0.5 * np.cos(2.0 * t)]


def wrench(t):
    return [np.sin(t), 2.0, 0.0, 0.0, 0.0, 0.5 * t]


# ------------------------------------------------------------------------------------------------------------- energy
def test_double_pendulum_keeps_its_energy():
    run = simulate(ARM, q0=Q0, duration=10.0, dt=0.01, method="DOP853", rtol=1e-12, atol=1e-12)
    assert np.ptp(run.energy) <= 1e-9 * run.kinetic_energy.max()
    assert run.ok and run.evaluations > 1000 and len(run) == 1001


def test_symplectic_steps_keep_it_bounded():
    """No drift: the last tenth of 10⁵ steps is no worse than the first."""
    run = simulate(ARM, q0=[-1.2, 0.3], duration=1000.0, dt=0.01, method="symplectic")
    error = np.abs(run.energy - run.energy[0])
    tenth = len(run) // 10
    assert len(run) == 10_001 and run.residual < 1e-10
    assert error.max() < 1e-4  # J, of 10 J: h² times a constant
    assert error[-tenth:].max() < 1.2 * error[:tenth].max()
    euler = simulate(ARM, q0=[-1.2, 0.3], duration=100.0, dt=0.01, method="semi-implicit-euler")
    assert np.abs(euler.energy - euler.energy[0]).max() > 10 * error.max()


def test_the_same_motion_in_momenta():
    a = simulate(ARM, pd(), q0=Q0, qd0=[1.0, -0.5], duration=0.5, reference=[0.2, 0.1], method="symplectic")
    b = simulate(ARM, pd(), q0=Q0, qd0=[1.0, -0.5], duration=0.5, reference=[0.2, 0.1], method="DOP853", rtol=1e-10)
    assert np.abs(a.q - b.q).max() < 1e-5 and np.abs(a.qd - b.qd).max() < 1e-3  # order two at 1 ms
    assert "joint1_momentum" in a.columns and a.qd.shape == b.qd.shape


# ------------------------------------------------------------------------------------------------------------ oracles
def test_given_torques_and_wrench_against_scipy():
    """[Fakhari 2]: θ̈ = M⁻¹ (τ − h + Jᵀ F) for given τ(t), F(t) = −F_tip(t), by a Runge–Kutta (4,5) method."""

    def rate(t, x):
        qdd = ARM.forward_dynamics(x[:2], x[2:], np.array(motion(t)), wrenches={"tool": wrench(t)})
        return np.concatenate((x[2:], qdd))

    t = np.linspace(0, 1, 101)
    wanted = solve_ivp(rate, (0, 1), [*Q0, 0, 0], "RK45", t, rtol=1e-11, atol=1e-12).y.T
    given = {"q0": Q0, "duration": 1.0, "tau": motion, "wrenches": {"tool": wrench}, "dt": 0.01}
    for method, options, within in (("RK45", {"rtol": 1e-11}, 1e-8), ("rk4", {"dt": 5e-4, "every": 20}, 1e-8)):
        run = simulate(ARM, method=method, **{**given, **options})
        assert np.abs(np.hstack((run.q, run.qd)) - wanted).max() < within, method
        assert np.allclose(run.tau, [motion(x) for x in run.t]) and np.allclose(
            run.wrenches, [wrench(x) for x in run.t]
        )


def test_state_space_of_the_robot():
    """[Lee]: x = (q, q̇), ẋ = f(x, u) = (q̇, M⁻¹ (u − c − g)), and its linearization."""
    rng = np.random.default_rng(1)
    arm = dl.load("panda")
    flow = arm.flow()
    x, u = rng.normal(size=14), rng.normal(size=7)
    q, qd = x[:7], x[7:]
    h = arm.coriolis_torque(q, qd) + arm.gravity_torque(q)
    f = np.concatenate((qd, np.linalg.solve(arm.mass_matrix(q), u - h)))
    got = np.array(flow.rate(0.0, x.tolist(), u.tolist()))
    assert np.abs(got - f).max() < 1e-9 * np.abs(f).max()  # condition of M
    A, B = arm.linearize(q, qd, u)
    d, e = 1e-6 * rng.normal(size=14), 1e-6 * rng.normal(size=7)
    moved = np.array(flow.rate(0.0, (x + d).tolist(), (u + e).tolist()))
    assert np.abs(moved - got - A @ d - B @ e).max() < 1e-4 * np.abs(moved - got).max()


@pytest.mark.parametrize("method", ["midpoint", "rk4", "dormand-prince", "rk6", "verlet", "implicit-midpoint"])
def test_order_under_a_function_of_time(method):
    """A signal is looked at where the method looks, so that its order stays."""

    def rate(t, x, u):
        return [x[1], u[0] - 3.0 * scalar.sin(x[0])]

    flow = Flow("pendulum", ("q", "v"), ("force",), rate, positions=1)

    def force(t):
        return [np.cos(5.0 * t)]

    exact = solve_ivp(
        lambda t, x: rate(t, x.tolist(), force(t)), (0, 2), [1.0, 0.3], "DOP853", rtol=1e-13, atol=1e-14
    ).y[:, -1]
    errors = []
    for steps in (40, 80):
        run = simulate(flow, q0=[1.0], qd0=[0.3], duration=2.0, tau=force, dt=2.0 / steps, method=method)
        errors.append(np.abs(run.x[-1] - exact).max())
    assert abs(np.log2(errors[0] / errors[1]) - METHODS[method].order) < 0.4, errors


def test_a_law_with_states_against_scipy():
    law, wave = pid(), Wave(False)
    gains = list(law.parameters.values())

    def rate(t, x):
        r = wave(t)[0]
        tau = law.act(t, x[:4], r, x[4:], gains)
        return np.concatenate((x[2:4], ARM.forward_dynamics(x[:2], x[2:4], np.array(tau)), r - x[:2]))

    wanted = solve_ivp(rate, (0, 1), [*Q0, 0, 0, 0, 0], "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    for method, options in (("rk4", {}), ("Radau", {"rtol": 1e-9}), ("DOP853", {"rtol": 1e-9})):
        run = simulate(ARM, law, q0=Q0, duration=1.0, reference=wave, method=method, **options)
        assert np.abs(np.hstack((run.x, run.controller))[-1] - wanted).max() < 1e-6, method
    assert run.columns["i1"] is not None and np.allclose(run.reference, wave(run.t)[0], atol=1e-15)


@pytest.mark.parametrize("options", [{}, {"sample_time": 0.005}, {"method": "rk6"}, {"method": "LSODA"}])
def test_a_traced_reference_is_the_same_as_a_sampled_one(options):
    a, b = (simulate(ARM, pd(), q0=Q0, duration=0.3, reference=Wave(traced), **options) for traced in (True, False))
    assert np.abs(a.reference - b.reference).max() < 1e-15
    assert np.abs(a.q - b.q).max() < (1e-7 if options.get("method") == "LSODA" else 1e-13)


# ---------------------------------------------------------------------------------------------------- sampled control
def mass(t, x, u):
    return [x[1], u[0]]


MASS = Flow("mass", ("x", "v"), ("f",), mass, positions=1)


def brake(gain=3.0, **changes) -> Law:
    def act(t, y, r, z, p):
        return [-p[0] * y[0] - 2.0 * y[1] + z[0]]

    def rate(t, y, r, z, p):
        return [-y[0]]

    law = Law("brake", ("x", "v"), (), ("f",), act, ("i",), (0.5,), rate, parameters={"gain": gain})
    return replace(law, **changes)


def by_hand(samples, hold, h, delay, step, limit, noise):
    """The loop around a unit mass, sample by sample, exact between."""
    x, v, z, queue, rows = 1.0, 0.5, 0.5, [0.0] * delay, []
    for k in range(samples):
        y, w = np.array([x, v]) + noise[k], None
        y = np.round(y / step) * step if step else y
        queue.append(-3.0 * y[0] - 2.0 * y[1] + z)
        z += hold * h * -y[0]
        w = np.clip(queue.pop(0), -limit, limit)
        for _ in range(hold):
            rows.append((x, v, w))
            x, v = x + h * v + h * h / 2 * w, v + h * w
    return np.array(rows)


@pytest.mark.parametrize(
    "hold, delay, step, limit, noisy",
    [(1, 0, 0.0, 100.0, False), (4, 0, 0.0, 100.0, False), (4, 3, 0.0, 1.0, False), (5, 1, 0.01, 2.0, True)],
)
@pytest.mark.parametrize("method", ["rk4", "DOP853", "python"])
def test_zero_order_hold_delay_quantization_noise_and_limits_by_hand(hold, delay, step, limit, noisy, method):
    h, samples = 0.01, 60
    law = brake()
    deviation = 0.02 if noisy else 0.0
    noise = np.stack([Noise(deviation).draw(7, f"noise of {y}", 0, 1, np.arange(samples))[0] for y in ("x", "v")], -1)
    wanted = by_hand(samples, hold, h, delay, step, limit, noise)
    options = {"sample_time": hold * h, "delay": delay * hold * h, "torque_limits": limit}
    options |= {"quantization": step} if step else {}
    options |= {"noise": deviation, "seed": 7} if noisy else {}
    if method == "python":
        z = [0.5]

        def law(t, x):
            u = -3.0 * x[0] - 2.0 * x[1] + z[0]
            z[0] -= hold * h * x[0]
            return u

    way = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12} if method == "DOP853" else {}
    run = simulate(MASS, law, q0=[1.0], qd0=[0.5], duration=samples * hold * h, dt=h, **options, **way)
    got = np.column_stack((run.x, run.u))[:-1]
    # Exact but for rounding; a rounded measurement may fall to the other side, which it does not here.
    assert np.abs(got - wanted).max() < 1e-11
    assert np.abs(wanted[:, 2]).max() <= limit and (limit > 50 or np.abs(wanted[:, 2]).max() == limit)


def test_update_of_a_sampled_law():
    """A law that says how its state goes from sample to sample is asked for it, with the sample time."""
    asked = []

    def update(h):
        asked.append(h)
        return lambda t, y, r, z, p: [0.9 * z[0] + h]

    law = brake(update=update, rate=None)
    run = simulate(MASS, law, q0=[0.0], duration=0.1, dt=0.01, sample_time=0.02)
    z = [0.5]
    for _ in range(5):
        z.append(0.9 * z[-1] + 0.02)
    assert set(asked) == {0.02}
    assert np.abs(run["i"] - np.repeat(z, 2)[1:12]).max() < 1e-15  # a state's row is the one before the sample's step
    with pytest.raises(InputError, match="'brake' has no rate, only an update .*: give sample_time="):
        simulate(MASS, law, q0=[0.0], duration=0.1)


def test_noise_is_reproducible():
    def show(t, x, u):
        return [0.0 * x[1] + 0.0 * u[0], 0.0]

    still = Flow("still", ("x", "v"), ("y",), show, positions=1)
    sensor = Law("sensor", ("x",), (), ("y",), lambda t, y, r, z, p: [y[0]])
    options = {"q0": [0.0], "duration": 20.0, "noise": 0.3, "sample_time": 0.002}
    a, b = (simulate(still, sensor, seed=3, **options) for _ in range(2))
    assert (a.u == b.u).all()
    assert (simulate(still, sensor, seed=4, **options).u != a.u).mean() > 0.99
    thin = simulate(still, sensor, seed=3, every=10, **options)
    assert (thin.u == a["u"][np.isin(a.t, thin.t)]).all()
    drawn = a.u[:-1:2, 0]  # two steps a sample: 10,000 draws
    assert abs(drawn.std() - 0.3) < 0.01 and abs(drawn.mean()) < 0.01
    by_name = simulate(still, sensor, seed=3, **{**options, "noise": {"q": 0.3}})
    assert (by_name.u == a.u).all()


def test_pieces_do_not_show(monkeypatch):
    options = {"q0": Q0, "duration": 0.5, "reference": Wave(False), "sample_time": 0.003, "noise": 1e-3, "every": 7}
    options |= {"tau": motion, "limits": "report"}
    options["duration"] = 0.504
    whole = simulate(ARM, pd(), **options)
    monkeypatch.setattr(driver, "ROWS", 23)
    parts = simulate(ARM, pd(), **options)
    for name in whole:
        assert (whole[name] == parts[name]).all(), name


def test_a_function_is_a_law_asked_in_python():
    def control(t, q, qd):
        return 50.0 * (0.2 - q) - 10.0 * qd

    for options in ({"sample_time": 0.004}, {"every": 3}, {"sample_time": 0.004, "every": 3, "delay": 0.008}):
        made = {"sample_time": 1e-3, **options}
        a = simulate(ARM, pd(), q0=Q0, duration=0.2, reference=[0.2, 0.2], **made)
        b = simulate(ARM, control, q0=Q0, duration=0.2, **options)
        assert (a.t == b.t).all() and np.abs(a.q - b.q).max() < 1e-13
        assert np.abs(a.tau - b.tau).max() < 1e-11
    # Without a sample time adaptive methods take it for a continuous law.
    a = simulate(ARM, pd(), q0=Q0, duration=0.2, reference=[0.2, 0.2], method="DOP853", rtol=1e-10)
    b = simulate(ARM, lambda t, x: control(t, x[:2], x[2:]), q0=Q0, duration=0.2, method="DOP853", rtol=1e-10)
    assert np.abs(a.q - b.q).max() < 1e-9 and np.abs(a.tau - b.tau).max() < 1e-6


def test_a_disturbance_is_not_limited():
    limits = (-2.0, [1.0, 3.0])
    run = simulate(ARM, q0=Q0, duration=0.01, tau=[10.0, -10.0], torque_limits=limits, disturbance=[0.5, 0])
    assert np.allclose(run.tau, [1.5, -2.0])
    run = simulate(dl.load("panda"), q0=np.zeros(7), duration=0.01, tau=[1e4] * 7, torque_limits="robot")
    assert (run.tau == dl.load("panda").limits.effort).all()


# ------------------------------------------------------------------------------------------------------- every system
def four_bar():
    robot = dl.load("four-bar")
    system = dl.Constrained(robot)
    return system, system.close(robot.home).q


def driven():
    motor = dl.DCMotor(resistance=1.0, torque_constant=0.1, inertia=1e-4, inductance=1e-3)
    return dl.DrivenRobot(ARM, motor, [50, 50])


def damped() -> dl.Robot:
    joints = tuple(
        replace(joint, drive=replace(joint.drive, damping=0.7)) if joint.kind != "fixed" else joint
        for joint in ARM.description.joints
    )
    return dl.Robot(replace(ARM.description, joints=joints))


@pytest.mark.parametrize("method", ["rk4", "Radau"])
def test_one_call_for_all_systems(method):
    """The books balance: ∫ supply − losses = ΔH, whatever the system."""
    bar, q0 = four_bar()
    flexible = dl.FlexibleRobot(ARM, 500.0, 0.5, 1e-4, 100.0)
    spring = examples.mass_spring_damper().with_parameters(m=2.0, b=0.3, k=50.0)
    cases = [
        (ARM, Q0, motion, {"wrenches": {"tool": wrench, "link1": [0, 1.0, 0, 0, 0, 0.5]}}),
        (dl.load("scara"), [0.1, 0.2, 0.05, 0.3], None, {}),
        (damped(), Q0, motion, {"friction": True}),
        (bar, q0, [0.5] + [0.0] * (bar.n - 1), {}),
        (bar, q0, None, {"wrenches": {bar.robot.tip: [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]}}),
        (driven(), Q0, [2.0, 1.0], {"dt": 1e-4}),
        (driven(), Q0, [2.0, 1.0], {"dt": 1e-4, "wrenches": {"tool": wrench}}),
        (flexible, Q0, motion, {"dt": 2.5e-4}),
        (flexible, Q0, motion, {"dt": 2.5e-4, "wrenches": {"tool": wrench}}),
        (spring, [0.3], lambda t: [20.0 * np.sin(9.0 * t)], {}),
    ]
    fine = {} if method == "rk4" else {"rtol": 1e-9}
    for system, start, tau, options in cases:
        run = simulate(system, q0=start, duration=0.2, tau=tau, method=method, **fine, **options)
        audit = run.audit()
        assert run.ok and run.q.shape == (len(run), len(start)), run
        assert audit.relative < 2e-6 and audit.passive, (system, audit)
        assert abs(audit.work) + abs(audit.loss) + abs(run["energies"]).max() > 1e-3


def test_constrained_run_shows_its_forces():
    bar, q0 = four_bar()
    for method, off in (("rk4", 1e-14), ("DOP853", 1e-7)):
        run = simulate(bar, q0=q0, duration=0.3, tau=[0.5] + [0.0] * (bar.n - 1), method=method)
        motion = bar.forward_dynamics(run.q, run.qd, run.tau, tolerance=None)
        size = np.abs(run.multipliers).max()
        assert run.multipliers.shape == (len(run), bar.k) and size > 0.1
        assert np.abs(motion.multipliers - run.multipliers).max() < 1e-5 * size
        assert run.closure_error.max() < off


def test_a_wrench_on_a_constrained_system():
    bar, q0 = four_bar()
    f, tau = np.array([1.0, -5.0, 0.0, 0.0, 0.0, 0.3]), np.array([0.5] + [0.0] * (bar.n - 1))
    step = 1e-5
    run = simulate(bar, q0=q0, duration=step, dt=step, tau=tau, wrenches={bar.robot.tip: f})
    qdd = bar.forward_dynamics(q0, np.zeros(bar.n), tau, wrenches={bar.robot.tip: f}).qdd
    free = bar.forward_dynamics(q0, np.zeros(bar.n), tau).qdd
    assert np.abs(run.qd[-1] / step - qdd).max() < 1e-6 * np.abs(qdd).max() < 1e-6 * np.abs(qdd - free).max() * 10


def test_a_lagrangian_system_under_constraints():
    """Two particles (1 and 2 kg) on a wire of 0.5 m that whirl at ω = 3 rad/s while they fall: the wire pulls with
    μ ω² l = 3 N, and A = 2 (r₁ − r₂), so λ = 3 N / (2 l)."""
    wire = examples.two_particles_on_a_wire()
    l, w = 0.5, 3.0
    start = {"q0": [l * 2 / 3, 0, 0, -l / 3, 0, 0], "qd0": [0, w * l * 2 / 3, 0, 0, -w * l / 3, 0]}
    run = simulate(wire, duration=1.0, **start)
    assert np.abs(run.multipliers - 3.0).max() < 1e-9 and run.multipliers.shape == (1001, 1)
    assert abs(run["z1"][-1] + 9.81 / 2) < 1e-9 and abs(run["x1"][-1] - l * 2 / 3 * np.cos(w)) < 1e-9
    assert run.audit().relative < 1e-10
    with raises(InputError, "wrong-value q") as refusal:
        simulate(wire, duration=1.0, q0=[1.0, 0, 0, 0, 0, 0])
    assert "'constraint 1'" in str(refusal.value) and "0.75" in str(refusal.value)
    with raises(InputError, "wrong-value qd") as refusal:
        simulate(wire, duration=1.0, q0=start["q0"], qd0=[1.0, 0, 0, 0, 0, 0])
    assert "'constraint 1'" in str(refusal.value)
    with raises(InputError, "wrong-value q"):
        simulate(wire, duration=1.0, x0=np.ones(12))
    blade = examples.knife_edge()  # no holonomic constraint among its own
    with raises(InputError, "wrong-value qd"):
        simulate(blade, duration=0.1, q0=[0, 0, 0], qd0=[0.0, 1.0, 0.0])
    assert simulate(blade, duration=0.1, q0=[0, 0, 0], qd0=[1.0, 0.0, 2.0]).audit().relative < 1e-9


def test_sticking_is_for_fixed_steps():
    arm = dl.load("puma560")
    run = simulate(arm, q0=np.full(6, 0.3), duration=0.5, friction="sticking")
    assert run.audit().relative < 1e-9 and run["friction_loss"].max() > 1
    smooth = simulate(arm, q0=np.full(6, 0.3), duration=0.5, friction=True)
    assert np.abs(run.q - smooth.q).max() < 1e-2  # the same arm, but for what happens at rest
    with pytest.raises(InputError, match="decided between steps, so friction='sticking' needs fixed steps"):
        simulate(arm, q0=np.full(6, 0.3), duration=0.5, friction="sticking", method="RK45")


def test_flexible_joints_begin_at_rest_on_their_springs():
    robot = dl.FlexibleRobot(ARM, 500.0, 0.5, 1e-4, 100.0)
    held = np.asarray(ARM.gravity_torque(Q0))
    run = simulate(robot, q0=Q0, duration=0.1, tau=held, dt=2.5e-4)
    assert np.abs(run.q - Q0).max() < 1e-10 and run.q.shape[1] == 2 and run.x.shape[1] == 8
    theta = run["joint1_motor"]
    assert abs(theta[0] - Q0[0] - held[0] / 500.0) < 1e-12
    both = simulate(robot, q0=[*Q0, *Q0], duration=0.01, dt=2.5e-4)
    assert both["joint1_motor"][0] == Q0[0]


def test_a_flow_of_ones_own():
    burst = Flow("burst", ("x",), (), lambda t, x, u: [x[0] * x[0]])
    run = simulate(burst, x0=[0.5], duration=1.0)
    assert abs(run.x[-1, 0] - 1.0) < 1e-9  # x₀ / (1 − x₀ t)
    with pytest.raises(InputError, match="'burst' keeps no books: its outputs must name 'supply_power'"):
        run.audit()
    with pytest.raises(InputError, match="give x0, its whole state, x"):
        simulate(burst, duration=1.0)


def test_books_of_friction_by_another_quadrature():
    arm = damped()
    run = simulate(arm, q0=Q0, qd0=[1.0, -2.0], duration=0.5, friction=True, dt=5e-4)
    power = np.einsum("ij,ij->i", arm.friction_torque(run.q, run.qd), run.qd)
    by_trapezoid = np.concatenate(([0.0], np.cumsum((power[1:] + power[:-1]) / 2) * 5e-4))
    assert run["loss"][-1] > 0 and np.abs(run["loss"] - by_trapezoid).max() < 1e-5 * run["loss"][-1]


def test_more_stored_than_supplied_is_not_passive():
    def rate(t, x, u):
        return [x[1], -x[0] + 0.3 * x[1]]  # damping of the wrong sign

    def observe(t, x, u):
        return [0.5 * (x[0] * x[0] + x[1] * x[1]), 0.0]

    odd = Flow("odd", ("q", "v"), (), rate, 1, outputs=("total_energy", "supply_power"), observe=observe)
    audit = simulate(odd, q0=[1.0], duration=3.0).audit()
    assert not audit.passive and audit.relative > 0.5
    assert "passive no" in str(audit)


def test_passive_is_not_denied_for_a_gap_of_the_steps():
    """A damped arm whose dt is coarse: more seems stored than supplied, by less than the books are off."""
    fine = simulate(damped(), q0=Q0, qd0=[3.0, -2.0], duration=2.0, friction=True).audit()
    assert fine.passive is True
    audit = simulate(ARM, q0=[-1.2, 0.3], duration=2.0, dt=0.02, method="semi-implicit-euler").audit()
    assert 1e-6 < audit.relative < 0.1 and audit.passive is None
    assert "passive cannot be told: the gap is as large; a shorter dt would tell" in str(audit)


# --------------------------------------------------------------------------------------- how the law's states begin
def test_a_law_starts_by_what_it_measures_or_as_the_user_says():
    law = replace(pid(), start=lambda y: [2.0 * y[0], y[3]])
    options = {"q0": Q0, "qd0": [1.0, -2.0], "reference": [0.2, 0.1], "duration": 0.01}
    for how in ({}, {"sample_time": 0.002}, {"method": "RK45"}):
        assert np.allclose(simulate(ARM, law, **options, **how).controller[0], [1.0, -2.0], atol=0.01), how
    given = simulate(ARM, law, **{**options, "q0": None, "qd0": None}, x0=[*Q0, 1.0, -2.0, 0.3, 0.4])
    assert (given.controller[0] == [0.3, 0.4]).all()
    assert (given.q == simulate(ARM, replace(pid(), initial=(0.3, 0.4)), **options).q).all()


def test_clipping_is_told_to_who_has_a_law_with_states():
    options = {"q0": Q0, "reference": [0.2, 0.1], "duration": 0.1}
    for how in ({}, {"sample_time": 0.002}, {"method": "RK45"}):
        run = simulate(ARM, pid(), torque_limits=5.0, **options, **how)
        cut = (np.abs(run.tau) == 5.0).any(-1).sum()
        assert f"torque limits clipped the command in {cut} of 101 rows, which the states of 'pid'" in run.message
    assert simulate(ARM, pid(), torque_limits=1e4, **options).message == "finished at t = 0.1 s"
    assert simulate(ARM, pd(), torque_limits=5.0, **options).message == "finished at t = 0.1 s"


def test_lower_and_upper_as_two_numbers():
    run = simulate(ARM, q0=Q0, duration=0.01, tau=[10.0, -10.0], torque_limits=(-1, 2))
    assert (run.tau == [2.0, -1.0]).all()
    each = simulate(ARM, q0=Q0, duration=0.01, tau=[10.0, -10.0], torque_limits=(1, 2))
    assert (each.tau == [1.0, -2.0]).all()


# ------------------------------------------------------------------------------------------------- events and failures
@pytest.mark.parametrize("how", [{}, {"sample_time": 0.02}, {"every": 1}])
def test_limits_are_looked_for_at_every_step(how):
    """q = 0.01 sin ωt in a joint whose limit is 0.005: beyond it between any two rows kept a period apart."""
    omega = 20 * np.pi
    arm = ARM.with_gravity([0.0, 0.0, 0.0])
    joints = tuple(
        replace(joint, limit=Limit(-9.0, 0.005 if joint.name == "joint1" else 9.0)) if joint.kind != "fixed" else joint
        for joint in arm.description.joints
    )
    arm = dl.Robot(replace(arm.description, joints=joints))

    def motion(t):
        q, qd = np.array([0.01, 0.0]) * np.sin(omega * t), np.array([0.01 * omega, 0.0]) * np.cos(omega * t)
        return arm.inverse_dynamics(q, qd, -(omega**2) * q)

    options = {"q0": [0.0, 0.0], "qd0": [0.01 * omega, 0.0], "duration": 0.3, "tau": motion, "every": 100, **how}
    asked = (lambda t, q, qd: np.zeros(2)) if "sample_time" in how else None
    run = simulate(arm, asked, limits="stop", **options)
    assert run.status == "event" and run.t[-1] == pytest.approx(0.009)  # 0.005 at ωt = π/6, t = 8.33 ms
    told = simulate(arm, asked, limits="report", **options)
    assert told.ok and [round(event.t, 6) for event in told.events] == [0.009, 0.109, 0.209]
    assert len(told) == 300 / options["every"] + 1
    assert (told.q == simulate(arm, asked, **options).q).all()


def test_a_singular_start_is_called_that():
    task = TaskComputedTorque(ARM, omega=10.0, rows=("x", "y"))
    run = simulate(ARM, task, q0=[0.0, 0.0], reference=[1.0, 0.5], duration=0.01)
    assert not run.ok and "singular" in run.message


@pytest.mark.parametrize("every", [1, 7])
def test_joint_limits(every):
    arm = dl.load("panda")
    start = np.array([0, -0.5, 0, -2, 0, 1.5, 0.7])
    options = {"q0": start, "duration": 0.6, "every": every}
    exact = simulate(arm, method="DOP853", limits="stop", rtol=1e-10, **options)
    assert exact.status == "event" and not exact.ok
    assert exact.message == f"joint 'panda_joint4' reached its lower limit -3.0718 at t = {exact.t[-1]:.6g} s"
    assert abs(exact.q[-1, 3] + 3.0718) < 1e-12
    run = simulate(arm, limits="stop", **options)
    assert 0 <= run.t[-1] - exact.t[-1] < 1e-3 and run.q[-1, 3] < -3.0718  # the first step beyond
    assert run.q[:-1, 3].min() > -3.0718 and (np.diff(run.t) > 0).all()
    told = simulate(arm, limits="report", **options)
    also = simulate(arm, method="DOP853", limits="report", **options)
    for run in (told, also):
        assert run.ok and [event.joint for event in run.events] == ["panda_joint4", "panda_joint6"]
    with pytest.raises(InputError, match="q0 of 'panda_joint4' is 0, outside its limits"):
        simulate(arm, q0=np.zeros(7), duration=0.1, limits="stop")
    asked = simulate(arm, lambda t, q, qd: np.zeros(7), limits="stop", **options)
    assert asked.status == "event" and 0 <= asked.t[-1] - exact.t[-1] < 2e-3 * every


@pytest.mark.parametrize("method", ["rk4", "RK45"])
@pytest.mark.parametrize("every", [1, 7])
def test_nan_torque_is_named_and_what_went_before_kept(method, every):
    def late(t):
        return [0.0, np.nan if t > 0.25 else 1.0]

    run = simulate(ARM, q0=Q0, duration=1.0, tau=late, method=method, every=every)
    assert run.status == "diverged" and run.message.startswith("tau of 'joint2_torque' is nan at t = 0.25")
    assert abs(run.t[-1] - 0.25) < 1.1e-3 and np.isfinite(run.q).all() and len(run) > 0.2 / every / 1e-3
    clean = simulate(ARM, q0=Q0, duration=0.25, tau=[0.0, 1.0], method=method, every=every)
    assert np.abs(run.q[-3] - clean.q[: len(run)][-3]).max() < 1e-7

    def law(t, y, r, z, p):
        return [0.0, scalar.sqrt(0.25 - t)]

    broken = Law("root", (), (), TORQUES, law)
    for options in ({}, {"sample_time": 0.01}):
        run = simulate(ARM, broken, q0=Q0, duration=1.0, method=method, every=every, **options)
        assert "'joint2_torque' is nan at t = 0.2" in run.message and np.isfinite(run.q).all()
        assert 0.2489 < run.t[-1] < 0.2611
    run = simulate(ARM, lambda t, q, qd: late(t), q0=Q0, duration=1.0, method=method, every=every)
    assert run.message.startswith("'joint2_torque' is nan at t = 0.25") and run.message.endswith("so says '<lambda>'")
    rows = np.zeros((1000, 2))
    rows[123, 0] = np.inf
    run = simulate(ARM, q0=Q0, duration=1.0, tau=rows, method=method, every=every)
    assert run.message == "tau of 'joint1_torque' is inf at t = 0.123 s" and run.t[-1] == 0.123


def test_a_law_is_not_blamed_for_what_the_step_does():
    """A wrist that is light for its damping: the state runs away in the third step, and the law's torque with it."""
    arm = dl.load("panda")
    law = dl.control.PDGravity(arm, kp=100.0, kd=20.0)
    run = dl.simulate(arm, law, q0=arm.home, reference=arm.home + 0.1, duration=0.5, dt=2e-3)
    assert run.status == "diverged" and "singular" not in run.message
    assert "too long" in run.message and "dt=0.0002" in run.message


def test_a_law_is_blamed_where_the_step_is_short_enough():
    def fails(t, q, qd):
        return [0.0, float("nan") if t > 0.1 else 0.0]

    run = dl.simulate(dl.load("planar-2r"), fails, q0=[0.1, 0.2], duration=0.5)
    assert run.status == "diverged" and "'joint2_torque'" in run.message and "too long" not in run.message


@pytest.mark.parametrize("every", [1, 10])
def test_a_step_too_long_is_noticed(every):
    stiff = pd(5e4, 1e4)
    run = simulate(ARM, stiff, q0=Q0, duration=5.0, reference=[0, 0], dt=1e-2, every=every)
    assert run.status == "diverged" and "steps of 0.01 s are too long" in run.message
    better = float(re.search(r"take dt=([0-9.e-]+)", run.message)[1])
    assert simulate(ARM, stiff, q0=Q0, duration=0.05, reference=[0, 0], dt=better).ok
    assert run.message.startswith("diverged at t = 0.01 s in joint 'joint2': its rate is 1.87e+13 there")
    assert np.isfinite(run.x).all() and run.t[-1] == 0.01
    assert simulate(ARM, stiff, q0=Q0, duration=0.1, reference=[0, 0], method="Radau").ok
    fast = simulate(dl.load("planar-1r"), q0=[0.0], duration=1.0, tau=[3e3], dt=1e-2, every=every)
    assert fast.status == "diverged" and "rad/s it turns more than half a turn in a step" in fast.message


def test_limits_that_are_passed_are_said():
    """Position, velocity and effort: which joint, from when on, by how much."""
    arm = dl.load("stanford")  # its slide falls out of its range
    q0 = [0.0, 0.0, 0.7874, 0.0, 0.0, 0.0]
    run = simulate(arm, q0=q0, duration=0.5)
    (passed,) = run.beyond
    assert (passed.joint, passed.kind, passed.unit) == ("joint3", "position", "m")
    assert passed.limit == 0.3048 and passed.most == pytest.approx(0.3048 - run.q[:, 2].min(), abs=1e-12)
    assert run.q[run.t < passed.t, 2].min() >= 0.3048 > run.q[run.t >= passed.t, 2].max()
    assert "'joint3' is beyond its position limit 0.3048 from t = 0.333 s on, by up to 0.6114 m" in run.message
    panda = dl.load("panda")
    fast = simulate(panda, q0=panda.home, tau=[0, 0, 0, 0, 0, 0, 20.0], duration=0.05)
    assert {(e.joint, e.kind) for e in fast.beyond} >= {("panda_joint7", "velocity"), ("panda_joint7", "effort")}
    assert next(e for e in fast.beyond if e.kind == "effort").most == pytest.approx(20.0 - panda.limits.effort[6])
    stopped = simulate(arm, q0=q0, duration=0.5, limits="stop")
    assert stopped.message == "joint 'joint3' reached its lower limit 0.3048 at t = 0.333 s" and not stopped.beyond


def test_a_joint_bounces_off_its_limit():
    """Half the speed comes back, so that flights get shorter by a half each; then the joint lies at its limit."""
    arm = dl.load("stanford")
    run = simulate(arm, q0=[0.0, 0.0, 0.7874, 0.0, 0.0, 0.0], duration=2.0, dt=2e-4, limits="bounce")
    flights = np.diff([e.t for e in run.events])
    assert run.q[:, 2].min() == run.q[-1, 2] == 0.3048 and not run.beyond
    assert np.allclose(flights[1:4] / flights[:3], 0.5, rtol=0.01)
    hit = int(np.argmax(run.t >= run.events[0].t))
    assert run.qd[hit, 2] == pytest.approx(-0.5 * run.qd[hit - 1, 2], rel=1e-3)
    assert run.audit().relative < 0.02  # what the impacts took is in the books
    with pytest.raises(InputError, match="limits='bounce' is for a Robot in"):
        simulate(arm, q0=[0, 0, 0.5, 0, 0, 0], duration=0.1, limits="bounce", method="RK45")


IDLE = [
    ({"rtol": 1e-3}, "rtol= is for adaptive methods, and rk4 takes steps of dt whatever the error"),
    ({"atol": 1e-3, "method": "euler"}, "atol= is for adaptive methods, and euler"),
    ({"method": "RK45", "iterations": 3}, "RK45 chooses its own iterations"),
    ({"seed": 3}, "seed is that of the noise, and there is none"),
    ({"torque_limits": 3.0}, "torque limits clip what a controller or tau gives, and there is neither"),
]


@pytest.mark.parametrize("options, message", IDLE, ids=[",".join(o) for o, _ in IDLE])
def test_a_word_without_effect_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        simulate(ARM, q0=Q0, duration=0.01, **options)


def test_long_runs_are_done_in_short_pieces():
    """Rows far apart, or none, and an interrupt is heard between them; what no computer ends is refused."""

    def hook(part):
        raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="hours"):
        run = simulate(ARM, q0=Q0, duration=1e8, progress=hook)
    assert run.status == "interrupted" and 0 < run.t[-1] < 100
    thin = simulate(ARM, q0=Q0, duration=0.5, every=250)
    whole = simulate(ARM, q0=Q0, duration=0.5)
    with pytest.MonkeyPatch.context() as m:
        m.setattr(driver, "ROWS", 7)
        assert np.array_equal(simulate(ARM, q0=Q0, duration=0.5, every=250).x, thin.x)
    assert np.array_equal(thin.x, whole.x[::250]) and thin.t.tolist() == [0.0, 0.25, 0.5]
    for options in ({"duration": 1e300}, {"duration": 1.0, "dt": 1e-300}):
        with pytest.raises(InputError, match="steps, and no more than 1e\\+12 are taken"):
            simulate(ARM, q0=Q0, **options)


def test_a_run_that_its_steps_bend_says_so():
    """Torque limits keep a stiff loop finite, and its energy books open."""
    iiwa = dl.load("iiwa7")
    task = {"q0": iiwa.home, "reference": iiwa.home + 0.5, "duration": 0.5, "torque_limits": "robot"}
    law = dl.control.PD.for_bandwidth(iiwa, 10.0)
    assert "energy balance is off" in simulate(iiwa, law, **task).message
    assert "books" not in simulate(iiwa, law, **task, dt=1e-4).message


def test_books_of_what_rests_are_not_open():
    """A mobile arm held where it is moves by rounding alone: gaps of 1e-26 J are none beside the energy stored."""
    arm = dl.load("panda", base="planar")
    law = dl.control.PDGravity.for_bandwidth(arm, 10.0)
    run = simulate(arm, law, q0=arm.home, reference=arm.home[3:], duration=0.2)
    assert "books" not in run.message and run.audit().relative < 1e-3


def test_an_interrupt_keeps_what_there_is():
    def hook(part):
        if part > 0.3:
            raise KeyboardInterrupt

    for method in ("rk4", "RK45"):
        run = simulate(ARM, q0=Q0, duration=100.0 if method == "rk4" else 1.0, progress=hook, method=method)
        assert run.status == "interrupted" and not run.ok and run.message.startswith("interrupted at t = ")
        assert 0.3 < run.t[-1] / (100.0 if method == "rk4" else 1.0) < 0.7 and np.isfinite(run.x).all()
        assert (np.diff(run.t) > 0).all()

    def control(t, q, qd):
        if t > 0.4:
            raise KeyboardInterrupt
        return [0.0, 0.0]

    run = simulate(ARM, control, q0=Q0, duration=1.0, every=7)
    assert run.message == "interrupted at t = 0.401 s" and run.t[-1] == 0.401


def test_progress(monkeypatch, capsys):
    seen = []
    simulate(ARM, q0=Q0, duration=1.0, progress=seen.append)
    assert seen[-1] == 1.0
    monkeypatch.setattr(driver, "ROWS", 100)
    simulate(ARM, q0=Q0, duration=1.0, progress=True)  # no terminal, no bar
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    simulate(ARM, q0=Q0, duration=1.0)  # done within a second
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(record, "PATIENCE", 0.0)
    simulate(ARM, q0=Q0, duration=1.0)
    assert "planar-2r" in capsys.readouterr().err
    simulate(ARM, q0=Q0, duration=1.0, progress=False)
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match="progress is None, True, False or a function"):
        simulate(ARM, q0=Q0, duration=1.0, progress=3)


BAR, CLOSED = four_bar()
REFUSED = [
    ({"duration": -1.0}, "duration is -1.0; it must be greater than 0 [s]"),
    ({"duration": "long"}, "duration must be a finite number [s], got 'long'"),
    ({"dt": 0}, "dt is 0.0; it must be greater than 0 [s]"),
    ({"method": "rk5"}, "unknown method 'rk5'; did you mean"),
    ({"every": 0}, "every must be a whole number, at least 1; got 0"),
    ({"seed": -1}, "seed must be a whole number"),
    ({"rtol": 0}, "rtol is 0.0; it must be greater than 0"),
    ({"iterations": 3}, "rk4 does not iterate"),
    ({"q0": [1.0]}, "q0 has shape (1,); it must be (2,): joint1, joint2"),
    ({"q0": [1.0, np.nan]}, "q0[1] is nan; it must be a finite number"),
    ({"q0": None}, "give q0, where 'planar-2r' begins: joint1, joint2"),
    ({"qd0": [1.0, 2.0, 3.0]}, "qd0 has shape (3,); it must be (2,): joint1_rate, joint2_rate"),
    ({"x0": [0.0] * 4}, "x0 is the whole state: give it, or q0 and qd0"),
    ({"tau": [1, 2, 3]}, "tau has shape (3,); it must be (2,)"),
    ({"tau": lambda t: [1]}, "tau(t) gives shape (1,) at t = 0 s; it must give 2 numbers"),
    ({"tau": [1, np.nan]}, "tau of 'joint2_torque' is nan; it must be a finite number"),
    ({"tau": "much"}, "tau must be a rectangular array of real numbers, got 'much'; or give a function of t"),
    ({"wrenches": {"tool": [1, 2]}}, "wrenches['tool'] has shape (2,); it must be (6,)"),
    ({"wrenches": {"nose": [0] * 6}}, "unknown frame 'nose'"),
    ({"wrenches": [0] * 6}, "`wrenches` must be a dictionary of frame names and wrenches"),
    ({"torque_limits": -1}, "torque_limits must not be negative"),
    ({"duration": 1e9, "every": 1}, "of memory are free: every= larger, or a shorter duration"),
    ({"q0": None, "x0": [1.0] * 5}, "x0 has shape (5,); it must be (4,): joint1, joint2, joint1_rate, joint2_rate"),
    (
        {"controller": pid(), "reference": [0, 0], "q0": None, "x0": [1.0] * 5},
        "x0 has shape (5,); it must be (4,) or (6,): joint1, joint2",
    ),
    (
        {"controller": replace(pid(), start=lambda y: [y[0], np.nan]), "reference": [0, 0]},
        "'pid' begins with 'i2' = nan: it must be finite",
    ),
    (
        {"controller": PDGravity.for_bandwidth(ARM, 6.0), "reference": [0.1, 0.2, 0.5, 0.5]},
        "follows a motion of 2 (joint1_wanted, joint2_wanted, joint1_wanted_rate, joint2_wanted_rate), and this "
        "reference is one of 4; rates are given by a Reference",
    ),
    ({"torque_limits": "motor"}, "unknown torque_limits 'motor'"),
    ({"limits": "wall"}, "unknown way with joint limits 'wall'; choose from 'stop', 'bounce', 'report'"),
    ({"friction": "slippery"}, "friction is True, False, or for a Robot 'sticking'; got 'slippery'"),
    ({"noise": 0.1}, "noise is a controller's sensors', and there is no controller"),
    ({"sample_time": 0.1}, "sample_time and delay are a controller's, and there is none"),
    ({"controller": "pd"}, "a controller has law(), or is a function of (t, q, qd) or (t, x); got str"),
    ({"controller": Law}, "Law is a class: make a controller of it first"),
    ({"controller": lambda q: q}, "a function of (t, q, qd) or of (t, x); this one takes 1 arguments"),
    ({"controller": lambda t, q, qd: [1, 2, 3]}, "gives shape (3,) at t = 0 s; it must give 2 numbers: joint1_torque"),
    ({"controller": lambda t, q, qd: None}, "gives None at t = 0 s; it must give 2 numbers"),
    ({"controller": pd()}, "'pd' follows r1, r2: give reference="),
    ({"controller": pd(), "reference": [0, 0, 0]}, "'pd' follows 2 numbers (r1, r2), and a reference of 3 has"),
    ({"controller": pd(), "reference": [0, np.nan]}, "reference must be a Reference, a function of t, or finite"),
    ({"controller": pd(follows=tuple("abcd")), "reference": lambda t: [0.0, 0.0]}, "reference(t) must give (x, ẋ, ẍ)"),
    ({"controller": pd(act=lambda *a: [1.0]), "reference": [0, 0]}, "'pd' gives 1 numbers for 2 outputs: joint1"),
    ({"controller": pd(outputs=("joint1_torque", "jont2_torque")), "reference": [0, 0]}, "did you mean 'joint2"),
    ({"controller": pd(measures=("q1",)), "reference": [0, 0]}, "unknown state of 'planar-2r' that 'pd' measures 'q1'"),
    ({"controller": pd(np.inf), "reference": [0, 0]}, "'kp' of 'pd' must be a finite number, got inf"),
    ({"controller": pd(), "reference": [0, 0], "sample_time": 0.0015}, "sample_time must be a whole multiple of dt"),
    ({"controller": pd(), "reference": [0, 0], "sample_time": 0.01, "delay": 0.015}, "delay must be a whole multiple"),
    ({"controller": pd(), "reference": [0, 0], "noise": 0.1, "method": "RK45"}, "noise and quantization come with"),
    ({"controller": pd(), "reference": [0, 0], "noise": -0.1}, "noise is -0.1; it must not be less than 0"),
    ({"controller": pd(), "reference": [0, 0], "noise": {"x": 1.0}}, "unknown measurement of 'pd' 'x'"),
    (
        {"controller": pd(measures=(*JOINTS, *RATES, "supply_power")), "reference": [0, 0]},
        "'pd' measures 'supply_power', which depends on what the law gives: run it sampled",
    ),
    ({"system": BAR, "q0": CLOSED + 0.1}, "q does not obey the constraints: 'closure"),
    ({"system": BAR, "q0": CLOSED, "qd0": np.ones(BAR.n)}, "qd does not obey the constraints"),
    ({"system": BAR, "q0": CLOSED, "method": "symplectic"}, "method='symplectic' is for a Robot without friction"),
    ({"system": driven(), "friction": True}, "said where a DrivenRobot is made: DrivenRobot(…, friction=True)"),
    ({"system": dl.FlexibleRobot(ARM, 500.0, 0.5, 1e-4, 100.0), "wrenches": {"nose": [0] * 6}}, "unknown frame 'nose'"),
    ({"system": "arm"}, "a system is a Flow or has flow(), as Robot, Constrained, DrivenRobot, FlexibleRobot and"),
    ({"system": MASS, "q0": [0.0], "limits": "stop"}, "'mass' has no joint limits"),
    ({"system": MASS, "q0": [0.0], "torque_limits": "robot"}, "are not the torques of a robot's joints: give numbers"),
]


@pytest.mark.parametrize("changes, words", REFUSED, ids=lambda x: x[:40] if isinstance(x, str) else "")
def test_refused_in_words(changes, words):
    arguments = {"system": ARM, "q0": Q0, "duration": 1.0, **changes}
    with pytest.raises((InputError, UnknownNameError)) as refused:
        simulate(**arguments)
    assert words in str(refused.value)


# ---------------------------------------------------------------------------------------------------------- what it is
def test_columns_by_name():
    run = simulate(ARM, pid(), q0=Q0, duration=0.05, reference=Wave(True), tau=[0.1, 0.2])
    assert (run["joint1"] == run.q[:, 0]).all() and (run.joint2_rate == run.qd[:, 1]).all()
    assert (run.energy == run.kinetic_energy + run["potential_energy"]).all()
    assert run.controller.shape == (51, 2) and run["reference"].shape == (51, 2)
    assert np.allclose(run.columns["joint2_reference"], np.sin(run.t + 0.5))
    columns = run.to_dict()
    assert list(columns)[:5] == ["t", "joint1", "joint2", "joint1_rate", "joint2_rate"]
    assert all(values.shape == (51,) and values.flags.c_contiguous for values in columns.values())
    assert {"work", "loss", "i1", "supply_power"} < set(columns) and "joint1" in dir(run)
    again = pickle.loads(pickle.dumps(run))
    assert (again.q == run.q).all() and again.message == run.message
    assert repr(run) == "<Run of 'planar-2r' by rk4: 51 rows, t = 0 … 0.05 s; finished at t = 0.05 s>"
    with pytest.raises(UnknownNameError, match="unknown column of the run of 'planar-2r' 'joint3'; did you mean"):
        run["joint3"]
    with pytest.raises(AttributeError):
        _ = run.joint3
    bare = simulate(ARM, q0=Q0, duration=0.01)
    with pytest.raises(InputError, match="followed no reference"):
        _ = bare.reference
    with pytest.raises(InputError, match="are not torques but joint1_voltage, joint2_voltage: run.u"):
        _ = simulate(driven(), q0=Q0, duration=0.01, dt=1e-4).tau


def test_kept_rows():
    run = simulate(ARM, q0=Q0, duration=1.0, every=300)
    assert run.t.tolist() == [0.0, 0.3, 0.6, 0.9, 1.0] or np.allclose(run.t, [0.0, 0.3, 0.6, 0.9, 1.0], atol=1e-15)
    also = simulate(ARM, q0=Q0, duration=1.0, every=300, method="DOP853", rtol=1e-11)
    assert np.abs(run.t - also.t).max() < 1e-15 and np.abs(run.q - also.q).max() < 1e-8
    assert len(simulate(MASS, q0=[0.0], duration=25.0)) == 25_000 // 3 + 2  # every third


def test_files(tmp_path):
    run = simulate(ARM, q0=Q0, duration=0.05)
    run.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == list(run.columns)
    assert (np.array(rows, float) == np.stack(list(run.columns.values()), -1)).all()  # every bit
    assert [p.name for p in tmp_path.iterdir()] == ["run.csv"]
    with pytest.raises(InputError, match="cannot be written: No such file or directory; nothing of it was left"):
        run.to_csv(tmp_path / "nowhere" / "run.csv")


def test_what_is_at_the_path_stays_what_it_is(tmp_path):
    run = simulate(ARM, q0=Q0, duration=0.05)
    run.to_csv(tmp_path / "run.csv")
    wanted = (tmp_path / "run.csv").read_bytes()
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    brief = replace(run, columns={"t": run.t[:3]})
    brief.to_csv(tmp_path / "pipe")
    assert os.read(reader, 1000).decode().split() == ["t", "0.0", "0.001", "0.002"]
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "private.csv").touch(0o600)
    (tmp_path / "link.csv").symlink_to("private.csv")
    run.to_csv(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "private.csv").read_bytes() == wanted
    assert (tmp_path / "private.csv").stat().st_mode & 0o777 == 0o600
    ARM.to_toml(tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "private.csv").stat().st_mode & 0o777 == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.csv", "pipe", "private.csv", "run.csv"]
    with raises(InputError, "wrong-type path"):
        run.to_csv(None)
    with raises(InputError, "not-writable path"):
        run.to_csv(tmp_path)


@pytest.mark.parametrize("where", ["write", "sync"])
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, where):
    from dalembert import files

    run = simulate(ARM, q0=Q0, duration=0.05)
    (tmp_path / "run.csv").write_text("before")

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if where == "sync":
        monkeypatch.setattr(files.os, "fsync", full)
    else:
        monkeypatch.setattr(csv, "writer", lambda *args, **options: type("W", (), {"writerow": full})())
    with pytest.raises(InputError, match="run.csv' cannot be written: No space left on device; nothing of it was left"):
        run.to_csv(tmp_path / "run.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["run.csv"] and (tmp_path / "run.csv").read_text() == "before"


def test_parquet(tmp_path, monkeypatch):
    run = simulate(ARM, q0=Q0, duration=0.05)
    modules = sys.modules
    with monkeypatch.context() as patch:
        patch.setitem(modules, "pyarrow", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'dalembert\[parquet\]', or use to_csv"):
            run.to_parquet(tmp_path / "run.parquet")
    assert not list(tmp_path.iterdir())
    parquet = pytest.importorskip("pyarrow.parquet")
    run.to_parquet(tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.column_names == list(run.columns)
    assert all((table[name].to_numpy() == run[name]).all() for name in run)


def test_plot():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    run = simulate(ARM, pd(), q0=Q0, duration=0.1, reference=Wave(True))
    figure = run.plot()
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["position [rad]", "rate [rad/s]", "input [N m]", "energy [J]"]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert words == ["joint1", "joint2", "reference"]
    one, axis = plt.subplots()
    assert run.plot("supply_power", axes=axis) is one and axis.get_ylabel() == "supply power [W]"
    with pytest.raises(UnknownNameError, match="'torq'"):
        run.plot("torq")
    plt.close("all")


def test_a_long_run_says_how_long_it_will_take(monkeypatch):
    """Before it begins, from its operations alone; here it is interrupted at once."""

    def interrupt(part):
        raise KeyboardInterrupt

    words = {"q0": [0.1], "duration": 1e8, "dt": 1e-3}
    arm = dl.load("planar-1r")
    with pytest.warns(RuntimeWarning, match=r"1e\+11 steps .* hours"):
        run = simulate(arm, **words, solver=dl.simulation.Solver(progress=interrupt))
    assert run.status == "interrupted" and len(run.t) > 1
    monkeypatch.setattr("dalembert.simulation.driver.RunDriver._piece", lambda self: interrupt(0.0))
    assert (
        simulate(arm, **words, solver=dl.simulation.Solver(progress=False)).status == "interrupted"
    )  # asked for silence


def test_angles_without_sines_are_refused_at_the_start():
    arm = dl.load("planar-2r")
    for entry in ({"q0": [0.0, 1e10]}, {"q0": [-1.1e9, 0.0]}):
        with pytest.raises(dl.InputError, match="1.07e\\+09 rad"):
            simulate(arm, **entry, duration=0.01)
    assert np.isnan(arm.gravity_torque([1e10, 0.0])).all() and np.isfinite(arm.gravity_torque([1e9, 0.0])).all()
