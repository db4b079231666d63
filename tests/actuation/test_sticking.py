"""Joints that stick: held to the last bit, released where break-away is exceeded, and no chatter in between."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.describe.description import Description, Drive, Inertial, Joint, Link, Origin
from dalembert.flow import Flow
from dalembert.flows.sticking import Balance, Sticking, _rules, start, sticking
from dalembert.friction import friction
from dalembert.simulation import integrate
from trees import random_tree

SOFT = friction("coulomb", coulomb=1, smooth="tanh", width=1)
FIXED_STEP = ("rk4", "semi-implicit-euler")


def block(drive: Drive, gravity=(0.0, 0.0, 0.0), mass: float = 1.0) -> dl.Robot:
    links = (Link("base"), Link("block", Inertial(mass, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))))
    return dl.Robot(
        Description("block", links, (Joint("slide", "prismatic", "base", "block", drive=drive),), gravity=gravity)
    )


def pendulum(drive: Drive) -> dl.Robot:
    rod = Inertial(2.0, (0.0, 0.0, 0.0, 0.05, 0.0, 0.05), Origin((0.5, 0.0, 0.0)))
    joint = Joint("hinge", "revolute", "base", "rod", axis=(0.0, 1.0, 0.0), drive=drive)
    return dl.Robot(Description("pendulum", (Link("base"), Link("rod", rod)), (joint,)))


def runge_kutta(flow: Flow, x, h: float, steps: int, u=(), t: float = 0.0):
    """The classical method over plain floats, as a check on the compiled loop."""
    rows = [list(x)]
    for k in range(steps):
        now, x = t + k * h, rows[-1]

        def ahead(rate, part, x=x):
            return [a + part * b for a, b in zip(x, rate, strict=True)]

        k1 = flow.rate(now, x, u)
        k2 = flow.rate(now + h / 2, ahead(k1, h / 2), u)
        k3 = flow.rate(now + h / 2, ahead(k2, h / 2), u)
        k4 = flow.rate(now + h, ahead(k3, h), u)
        new = [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(x, k1, k2, k3, k4, strict=True)]
        rows.append(flow.settle(now + h, x, new, u))
    return np.array(rows)


# ------------------------------------------------------------------------------------------------------- held
@pytest.mark.parametrize("method", FIXED_STEP)
def test_what_holds_does_not_creep(method):
    """A pendulum and a block on an incline below break-away: the same bits after 10,000 steps; above it, they go."""
    g = 9.81
    torque = 2.0 * g * 0.5 * np.cos(0.3)  # about +y: the rod falls toward positive angles
    slope = g * np.sin(0.4)
    incline = (g * np.sin(0.4), 0.0, -g * np.cos(0.4))
    for make, x0, load in ((pendulum, 0.3, torque), (lambda d: block(d, incline), 0.123456789, slope)):
        for law in ("coulomb", "static", "stribeck"):
            more = {} if law == "coulomb" else {"breakaway": load * 1.001}
            more |= {"speed": 0.01} if law == "stribeck" else {}
            level = load * 1.001 if law == "coulomb" else load * 0.5
            robot = make(Drive(friction=(friction(law, coulomb=level, **more),)))
            run = integrate(sticking(robot), start(robot, [x0]), 1e-3, 10_000, method=method, every=10)
            assert (run.x == [x0, 0.0, 0.0]).all()
            assert abs(run.y[-1, 0]) == pytest.approx(load, abs=1e-12) and run.y[-1, 1] == 0.0  # it carries the load
            more |= {"breakaway": load * 0.999} if law != "coulomb" else {}
            weak = make(Drive(friction=(friction(law, coulomb=min(level, load * 0.999), **more),)))
            gone = integrate(sticking(weak), start(weak, [x0]), 1e-3, 200, method=method)
            assert gone.x[0, 2] != 0 and (np.diff(gone.x[:, 0]) * gone.x[0, 2] > 0).all()


def test_held_against_either_direction_by_its_own_level():
    robot = block(Drive(friction=(friction("static", coulomb=(1.0, 2.0), breakaway=(1.5, 3.0)),)))
    modes = [float(start(robot, [0.0], tau=[t])[2]) for t in (1.49, 1.51, -2.99, -3.01)]
    assert modes == [0.0, 1.0, 0.0, -1.0]


def test_an_offset_shifts_the_band():
    """A drive must supply the offset, so that it helps a torque against it."""
    terms = (friction("coulomb", coulomb=1.0), friction("offset", offset=0.4))
    robot = block(Drive(friction=terms))
    assert [float(start(robot, [0.0], tau=[t])[2]) for t in (1.39, 1.41, -0.59, -0.61)] == [0, 1, 0, -1]


# ------------------------------------------------------------------------------------------- Coulomb oscillator
@pytest.mark.parametrize("method", FIXED_STEP)
def test_a_coulomb_oscillator_loses_4f_over_k_per_cycle(method):
    """x_n = (−1)ⁿ (x₀ − 2 n F/k) at the turning points, half a period apart, until |x| ≤ F/k."""
    k, F, x0, h = 100.0, 1.0, 0.0955, 1e-3
    robot = block(Drive(stiffness=k, coulomb=(F, F)))
    run = integrate(sticking(robot), start(robot, [x0]), h, 3000, method=method)
    x, v, mode = run.x.T
    turns = np.flatnonzero(np.diff(mode)) + 1
    wanted = [(-1) ** n * (x0 - 2 * n * F / k) for n in range(1, 6)]
    assert len(turns) == len(wanted)  # no chatter
    half = np.pi / 10
    assert np.abs(run.t[turns] - half * np.arange(1, 6)).max() <= h
    # The state is recorded up to a step after the turning point: x differs by up to a h²/2; Euler's steps by as much
    # more.
    assert np.abs(x[turns] - wanted).max() < (0.5 if method == "rk4" else 1.0) * (k * x0) * h**2
    assert mode[-1] == 0 and v[-1] == 0 and abs(x[-1]) <= F / k
    final = 2e-8 if method == "rk4" else 1e-5  # third order in h at the crossings; first order everywhere
    assert abs(x[-1] - wanted[-1]) < 1.5 * final
    assert (x[turns[-1] :] == x[-1]).all()


def test_crossings_are_of_third_order():
    """The rest position converges as h³ and better, though the steps do not end at the crossings."""
    robot = block(Drive(stiffness=100.0, coulomb=(1.0, 1.0)))
    flow = sticking(robot)
    x = [integrate(flow, start(robot, [0.0955]), h, round(2 / h)).x[-1, 0] for h in (4e-3, 4e-4)]
    first, second = (abs(a - 0.0045) for a in x)
    assert first < 1e-6 and second < first / 500


def test_the_compiled_loop_and_floats_agree():
    robot = block(Drive(stiffness=100.0, friction=(friction("stribeck", coulomb=0.5, breakaway=1.0, speed=0.05),)))
    flow, x0 = sticking(robot), start(robot, [0.08])
    by_hand = runge_kutta(flow, x0.tolist(), 2e-3, 600, (0.0,))
    compiled = integrate(flow, x0, 2e-3, 600)
    assert np.array_equal(by_hand[:, 2], compiled.x[:, 2])
    assert np.abs(by_hand - compiled.x).max() < 1e-12
    assert len(np.flatnonzero(np.diff(by_hand[:, 2]))) > 2


# -------------------------------------------------------------------------------------------------- stick–slip
STIFFNESS, SPEED, MASS = 100.0, 0.05, 1.0
STRIBECK = dict(coulomb=1.0, breakaway=2.0, speed=0.05, viscous=0.4)


def pulled(robot: dl.Robot) -> Flow:
    """The block pulled by a spring whose other end moves steadily: τ = k (V t − x)."""
    inner = sticking(robot)

    def tau(t, x):
        return [STIFFNESS * (SPEED * t - x[0])]

    return replace(
        inner,
        inputs=(),
        rate=lambda t, x, u: inner.rate(t, x, tau(t, x)),
        settle=lambda t, before, x, u: inner.settle(t, before, x, tau(t, x)),
        observe=lambda t, x, u: inner.observe(t, x, tau(t, x)),
    )


def events(until: float) -> list[tuple[float, float]]:
    """(time, position) of every release and every stop, located by SciPy."""
    F_c, F_s, v_s, b = (STRIBECK[k] for k in ("coulomb", "breakaway", "speed", "viscous"))

    def slide(t, y):
        x, v = y
        f = F_c + (F_s - F_c) * np.exp(-((v / v_s) ** 2)) + b * v
        return [v, (STIFFNESS * (SPEED * t - x) - f) / MASS]

    def stop(t, y):
        return y[1] - 1e-12

    stop.terminal, stop.direction = True, -1
    out, x = [], 0.0
    while True:
        t = (F_s / STIFFNESS + x) / SPEED
        if t > until:
            return out
        out.append((t, x))
        # At release the acceleration is zero and grows with the spring: a start just after it, on the series.
        dt = 1e-4
        begin = [x + STIFFNESS * SPEED * dt**3 / 6 / MASS, STIFFNESS * SPEED * dt**2 / 2 / MASS]
        run = solve_ivp(slide, (t + dt, until + 5), begin, events=stop, rtol=1e-10, atol=1e-13, method="DOP853")
        t, x = float(run.t_events[0][0]), float(run.y_events[0][0][0])
        if t > until:
            return out
        out.append((t, x))


def test_stick_slip_against_located_events():
    h, until = 5e-4, 6.0
    wanted = events(until)
    robot = block(Drive(friction=(friction("stribeck", **STRIBECK),)), mass=MASS)
    run = integrate(pulled(robot), start(robot, [0.0]), h, round(until / h))
    x, v, mode = run.x.T
    switches = np.flatnonzero(np.diff(mode)) + 1
    assert len(switches) == len(wanted) >= 12  # as many as there are events: no chatter
    times, places = np.array(wanted).T
    # A release is seen at the end of a step, up to h late, and the delay carries over to what follows it: at most one
    # step per release. Positions of stops do not depend on the delay in first order.
    late = run.t[switches] - times
    releases = (np.arange(len(switches)) + 2) // 2
    assert (late > -1e-6).all() and (late <= (releases + 1) * h).all()
    assert np.abs(x[switches][1::2] - places[1::2]).max() < 1e-3 * places[-1]
    period = np.diff(run.t[switches][::2])
    assert np.abs(period - np.diff(times[::2])).max() <= 2 * h
    sticking_time = run.t[switches][2::2] - run.t[switches][1:-1:2]
    assert np.abs(sticking_time - (times[2::2] - times[1:-1:2])).max() <= 2 * h
    held = mode == 0
    assert (v[held] == 0).all() and all(
        len(np.unique(x[a:b])) == 1 for a, b in zip(switches[1:-1:2], switches[2::2], strict=True)
    )


# ---------------------------------------------------------------------------------------------------- interplay
def consistent(rules: Sticking, q, qd, tau, modes) -> bool:
    """Held joints within break-away, released ones accelerating their way."""
    answer = rules.solve(rules.balance(q, qd, tau, {}), qd, modes)
    for i in rules.dry:
        small = 1e-9 * (answer.plus[i] + answer.minus[i])
        if modes[i] == 0:
            if not -answer.minus[i] - small <= answer.friction[i] <= answer.plus[i] + small:
                return False
        elif answer.qdd[i] * modes[i] < -1e-9:
            return False
    return True


@pytest.mark.parametrize("joints", [2, 4, 6])
def test_every_joint_at_rest_is_decided_rightly(joints):
    """Random trees at rest under random torques about as large as friction: found modes are consistent, and for Coulomb
    friction the accelerations are those of the minimum of ½ q̈ᵀMq̈ − rᵀq̈ + Σ F |q̈| (Gauss's principle)."""
    rng = np.random.default_rng(joints)
    released = 0
    for seed in range(12):
        d = random_tree(seed=seed, joints=joints, rotors=True, fixed=False)
        d = replace(
            d,
            joints=tuple(
                replace(j, drive=replace(j.drive, coulomb=tuple(rng.uniform(0.5, 4, 2).tolist()))) for j in d.joints
            ),
        )
        robot = dl.Robot(replace(d, gravity=(0.0, 0.0, 0.0)))
        rules = _rules(robot, None)
        for _ in range(6):
            q, qd = rng.uniform(-2, 2, joints).tolist(), [0.0] * joints
            tau = rng.normal(size=joints) * 4
            x = start(robot, q, tau=tau)
            modes = x[2 * joints :].tolist()
            released += int(np.abs(modes).sum())
            assert consistent(rules, q, qd, tau.tolist(), modes), (seed, modes)
            M, B = robot.mass_matrix(q), [b.coulomb for b in robot.model.bodies]
            a = np.array(rules.solve(rules.balance(q, qd, tau.tolist(), {}), qd, modes).qdd)

            def action(a, M=M, tau=tau, B=B):
                return (
                    0.5 * a @ M @ a
                    - tau @ a
                    + sum(p * max(x, 0) - m * min(x, 0) for x, (p, m) in zip(a, B, strict=True))
                )

            step = 1e-3 * max(1.0, np.abs(a).max())
            for near in a + step * rng.normal(size=(40, joints)):
                assert action(a) <= action(near) + 1e-12
    assert released > 30 * joints / 2


@pytest.mark.parametrize("n", [3, 6])
def test_strong_coupling_is_decided_rightly_too(n):
    """Random mass matrices, nearly singular: releasing one joint may bring another to rest again."""
    rng = np.random.default_rng(n)
    base, links, joints = Link("base"), [], []
    for i in range(n):
        links.append(Link(f"l{i}", Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))))
        drive = Drive(coulomb=tuple(rng.uniform(0.1, 2, 2).tolist()))
        joints.append(Joint(f"j{i}", "prismatic", "base", f"l{i}", drive=drive))
    rules = _rules(dl.Robot(Description("sliders", (base, *links), tuple(joints))), None)
    zero, rest = [0.0] * n, [1.0] * n
    for _ in range(300):
        A = rng.normal(size=(n, n))
        at = Balance((A @ A.T + 1e-2 * np.eye(n)).tolist(), (2.5 * rng.normal(size=n)).tolist(), [], zero)
        modes = rules.resolve(at, zero, zero, rest)
        answer = rules.solve(at, zero, modes)
        for i, mode in enumerate(modes):
            within = -answer.minus[i] - 1e-9 <= answer.friction[i] <= answer.plus[i] + 1e-9
            assert within if mode == 0 else answer.qdd[i] * mode > -1e-9


def test_one_step_across_a_crossing_is_of_third_order():
    """The shoulder turns back within a step: both joints are where many small steps put them to h³, as fast to h²."""
    arm = dl.load("planar-2r")
    levels = iter(((3.0, 3.0), (2.0, 2.0)))
    joints = tuple(
        j if j.kind == "fixed" else replace(j, drive=Drive(coulomb=next(levels))) for j in arm.description.joints
    )
    flow = sticking(dl.Robot(replace(arm.description, joints=joints)))
    tau = [-4.0, 3.0]
    slow = flow.rate(0.0, [0.3, 0.8, 1e-6, 1.0, 1.0, 1.0], tau)[2]
    worst = []
    for h in (1e-2, 5e-3):
        x0 = np.array([[0.3, 0.8, -slow * part * h, 1.0, 1.0, 1.0] for part in (0.2, 0.4, 0.6, 0.8)])
        fine, once = (integrate(flow, x0, h / k, k, tau, every=k).x[:, -1] for k in (2000, 1))
        assert np.array_equal(fine[:, 4:], once[:, 4:]) and (once[:, 4] == -1).all()
        worst.append(np.abs(fine - once)[:, :4].max(axis=0))
    ratio = worst[0] / worst[1]
    assert (ratio[:2] > 6.5).all() and (ratio[2:] > 3.5).all()


def two_links(first: float, second: float) -> dl.Robot:
    arm = dl.load("planar-2r")
    drives = iter((Drive(coulomb=(first, first)), Drive(coulomb=(second, second))))
    joints = tuple(j if j.kind == "fixed" else replace(j, drive=next(drives)) for j in arm.description.joints)
    return dl.Robot(replace(arm.description, joints=joints, gravity=(0.0, 0.0, 0.0)))


def test_two_joints_held_then_one_released_then_both():
    """A torque that grows on the elbow. The shoulder is held while the elbow's acceleration asks less of it than its
    break-away, and goes with it otherwise, in the same step."""
    h, q0 = 1e-3, [0.3, 0.8]
    u = np.zeros((1000, 2))
    u[:, 1] = 4.0 * np.arange(1000) * h
    strong, weak = two_links(1000.0, 1.0), two_links(1e-3, 1.0)
    run = integrate(sticking(strong), start(strong, q0), h, 1000, u)
    elbow = np.flatnonzero(run.x[:, 5])
    # The torque of step k is first seen when that step has ended; it exceeds 1 N m from step 251 on.
    assert elbow[0] == 252 and (run.x[:252, :2] == q0).all()
    assert (run.x[:, 0] == q0[0]).all() and (run.x[:, 2] == 0).all() and (np.diff(run.x[252:, 1]) > 0).all()
    # The shoulder's friction is what the elbow's motion asks: M₁₂ q̈₂ + c₁.
    q, qd = run.x[600, :2], run.x[600, 2:4]
    M, c = strong.mass_matrix(q), strong.bias_torque(q, qd)
    elbow_acceleration = (u[600, 1] - c[1] - 1.0) / M[1, 1]
    assert run.y[600, 0] == pytest.approx(-(M[0, 1] * elbow_acceleration + c[0]), rel=1e-9)
    both = integrate(sticking(weak), start(weak, q0), h, 300, u[:300])
    assert np.flatnonzero(both.x[:, 4])[0] == np.flatnonzero(both.x[:, 5])[0] == 252
    assert both.x[260, 4] == -1 and both.x[260, 5] == 1  # the shoulder recoils


def test_an_arm_falls_and_comes_to_rest_without_chatter():
    """Energy: what was lost is ∫ friction · q̇, which never falls; at the end both joints are held where they are."""
    arm = dl.load("planar-2r")
    joints = tuple(
        j
        if j.kind == "fixed"
        else replace(j, drive=Drive(damping=0.3, friction=(friction("static", coulomb=2.0, breakaway=2.5),)))
        for j in arm.description.joints
    )
    robot = dl.Robot(replace(arm.description, joints=joints))
    h = 5e-4
    run = integrate(sticking(robot), start(robot, [0.4, 0.5]), h, 40_000)
    q, qd, modes = run.x[:, :2], run.x[:, 2:4], run.x[:, 4:]
    assert (run.y[:, 2] >= 0).all()
    E = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
    lost = np.concatenate([[0], np.cumsum(0.5 * h * (run.y[1:, 2] + run.y[:-1, 2]))])
    # The trapezoid misses what friction's jump does within a step, F v h with v ≈ a h: 1e-6 J of 29 J for h = 5e-4.
    assert np.abs(E + lost - E[0]).max() < 5e-6
    assert (modes[-1] == 0).all() and (qd[-1] == 0).all() and (q[-5000:] == q[-1]).all()
    coarse = integrate(sticking(robot), start(robot, [0.4, 0.5]), 4 * h, 10_000).x[:, 4:]
    counts = [np.abs(np.diff(m, axis=0)).astype(bool).sum() for m in (modes, coarse)]
    assert counts[0] == counts[1] == 8  # as many at every step size: none is made by the steps


@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_loaded_joints(mu):
    """With μ the incline's weight itself tightens the joint: held while m g sin φ (1 − μ) ≤ F_c."""
    robot = block(Drive(friction=(friction("coulomb", coulomb=1.0, load=mu),)), (1.0, 0.0, 0.0), mass=1.0)
    for weight, held in ((0.99 / (1 - mu), True), (1.01 / (1 - mu), False)):
        heavy = block(Drive(friction=(friction("coulomb", coulomb=1.0, load=mu),)), (1.0, 0.0, 0.0), mass=weight)
        assert (start(heavy, [0.0])[2] == 0) == held
    # Sliding under a torque: the acceleration is that of forward dynamics.
    x = start(robot, [0.2], [0.5], [4.0])
    rate = sticking(robot).rate(0.0, x.tolist(), [4.0])
    assert rate[1] == pytest.approx(float(robot.forward_dynamics([0.2], [0.5], [4.0], friction=True)[0]), rel=1e-12)


def test_mimic_joints_and_a_wrench():
    """Two joints on one coordinate hold together, the second, geared −2, twice as much; a wrench is an input."""
    links = tuple(Link(n, Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))) for n in ("base", "a", "b"))
    first = Joint("x", "prismatic", "base", "a", drive=Drive(coulomb=(1.0, 1.5)))
    second = Joint("y", "prismatic", "base", "b", mimic=dl.describe.Mimic("x", -2.0), drive=Drive(coulomb=(0.2, 0.7)))
    robot = dl.Robot(Description("pair", links, (first, second), gravity=(0.0, 0.0, 0.0), tip="a"))
    plus, minus = 1.0 + 2 * 0.7, 1.5 + 2 * 0.2
    modes = [float(start(robot, [0.0], tau=[t])[2]) for t in (plus - 0.01, plus + 0.01, 0.01 - minus, -minus - 0.01)]
    assert modes == [0, 1, 0, -1]
    flow = sticking(robot, ["a"])
    push = np.array([0.0, 5.0, 0, 0, 0, 0, 0])
    run = integrate(flow, start(robot, [0.0]), 1e-3, 100, push)
    assert run.x[-1, 0] > 0 and run.x[-1, 2] == 1
    qdd = flow.rate(0.0, [0.0, 0.5, 1.0], push.tolist())[1]
    assert qdd == pytest.approx(
        float(robot.forward_dynamics([0.0], [0.5], [0.0], wrenches={"a": push[1:]}, friction=True)[0]), rel=1e-12
    )


def test_a_batch_gives_the_bits_of_each_run_alone():
    robot = block(Drive(stiffness=100.0, coulomb=(1.0, 1.0)))
    flow, x0 = sticking(robot), start(robot, np.linspace(-0.2, 0.2, 11)[:, None])
    run = integrate(flow, x0, 1e-3, 500)
    for k in (0, 5, 10):
        assert np.array_equal(run.x[k], integrate(flow, x0[k], 1e-3, 500).x)
    assert (run.x[5] == [0.0, 0.0, 0.0]).all()


def test_not_a_number_is_told_not_hidden():
    robot = block(Drive(coulomb=(1.0, 1.0)))
    flow = sticking(robot)
    moving = start(robot, [0.0], [1.0]).tolist()
    assert np.isnan(flow.rate(0.0, moving, [np.nan])[1])
    settled = flow.settle(0.0, moving, [0.1, np.nan, 1.0], [0.0])
    assert np.isnan(settled[1]) and settled[2] == 1.0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda r: sticking(dl.load("planar-2r")), "no joint of 'planar-2r' has dry friction, so that none can stick"),
        (lambda r: sticking(block(Drive(friction=(SOFT,)))), "law that is not smoothed"),
        (lambda r: sticking(r, rounds=0), "rounds must be a whole number, at least 1; got 0"),
        (lambda r: sticking(r, 1), "wrenches` must be a sequence of the names of different frames"),
        (lambda r: sticking(r, ["blok"]), "unknown frame 'blok'"),
        (lambda r: start(r, [0.0, 1.0]), "q, qd and tau must be (..., 1), one number per joint of 'block'"),
        (lambda r: start(r, [np.nan]), "q, qd and tau must be finite"),
        (lambda r: start(r, ["a"]), "q, qd and tau must be (..., 1)"),
    ],
)
def test_bad_input_gets_a_sentence(call, sentence):
    with pytest.raises(dl.DalembertError) as caught:
        call(block(Drive(coulomb=(1.0, 1.0))))
    assert sentence in str(caught.value)
