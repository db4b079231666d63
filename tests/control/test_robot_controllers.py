"""Robot controllers: closed-loop claims measured, conditions checked, bad input told."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from loops import Sine, run, second_order

import dalembert as dl
from dalembert import control, robots
from dalembert.constrained import Constrained, plane
from dalembert.control.adaptive import reference_torque
from dalembert.control.conditions import find_magnitudes
from dalembert.control.scenarios import add_gears
from dalembert.flow import wrench_inputs
from dalembert.kinematics.tasks import task as motion_task
from dalembert.simulation.fixed_step import integrate
from dalembert.simulation.loop import add_law_states, close_loop
from errors import raises

SERIAL = [name for name in robots.names() if not dl.load(name).loops]
# A closed loop of rk4 at 1e-3 s with poles near 10/s leaves (10 · 1e-3)⁴ ≈ 1e-8 of an error; dormand-prince of order 5
# and shorter steps where 1e-9 is asked.
EXACT = 1e-9


@pytest.fixture(scope="module")
def two():
    return dl.load("planar-2r")


@pytest.fixture(scope="module")
def motion():
    return Sine([0.3, -0.4], [0.5, 0.4], [2.0, 3.0], [0.0, 1.0])


def every_controller(arm):
    """One of each kind that drives joint torques from (q, q̇)."""
    uncertain = control.Uncertainty(0.1, 0.1, 1.0, (0.05, 5.0))
    return {
        "independent": control.IndependentJoint(arm, omega=8.0),
        "independent, integral": control.IndependentJoint(arm, omega=8.0, zeta=0.7, integral=2.0),
        "PD": control.PD(arm, kp=100.0, kd=20.0),
        "PD matrix": control.PD(arm, kp=100.0 * np.eye(arm.n) + 10.0, kd=20.0),
        "PID": control.JointPID(arm, kp=100.0, ki=50.0, kd=20.0, limit=30.0),
        "PID, gravity": control.JointPID(arm, kp=100.0, ki=50.0, kd=20.0, gravity=True),
        "PD + gravity": control.PDGravity(arm, kp=100.0, kd=20.0),
        "PD + gravity, desired": control.PDGravity(arm, kp=100.0, kd=20.0, gravity="desired"),
        "computed torque": control.ComputedTorque(arm, omega=8.0, zeta=0.7),
        "computed torque, matrices": control.ComputedTorque(arm, kp=50.0 * np.eye(arm.n) + 5.0, kd=20.0),
        "feedforward": control.Feedforward(arm),
        "feedforward + PD": control.FeedforwardPD(arm, kp=100.0, kd=20.0),
        "adaptive": control.AdaptiveControl(arm, kd=10.0, rate=5.0, adaptation=2.0, leakage=0.1),
        "robust": control.RobustControl(arm, uncertain, kd=10.0, rate=5.0),
        "robust, no model": control.RobustControl(arm, uncertain, kd=10.0, rate=5.0, model=False),
        "task": control.TaskComputedTorque(arm, omega=6.0, rows=("x", "y")),
        "impedance": control.Impedance(arm, stiffness=200.0, damping=40.0, rows=("x", "y")),
        "observed": control.MomentumObserver(arm, gain=20.0).with_controller(
            control.PD(arm, kp=50.0, kd=5.0), compensate=True
        ),
    }


# ------------------------------------------------------------------------------------------- what all of them are
def test_law_on_floats_is_the_compiled_one(two):
    rng = np.random.default_rng(0)
    for name, c in every_controller(two).items():
        law = c.law()
        q, qd = rng.uniform(-1, 1, (2, 5, 2))
        r = rng.normal(size=(5, len(law.follows)))
        z = np.array(law.initial) + 0.1 * rng.normal(size=(5, len(law.states)))
        parts = tuple(np.split(r, len(law.follows) // 2, axis=-1))
        p = list(law.parameters.values())
        given = {"z": z} if law.states else {}
        u = c(0.3, q, qd, parts, **given)
        for k in range(5):
            y = [*q[k].tolist(), *qd[k].tolist()]
            by_floats = law.act(0.3, y, r[k].tolist(), z[k].tolist(), p)
            assert np.allclose(u[k], by_floats, rtol=1e-12, atol=1e-11), name  # fused products round once
            if law.states:
                rates = c.rates(0.3, q, qd, parts, **given)
                expected = law.rate(0.3, y, r[k].tolist(), z[k].tolist(), p)
                assert np.allclose(rates[k], expected, rtol=1e-12, atol=1e-11), name


def test_every_controller_explains_itself(two):
    for name, c in every_controller(two).items():
        text = c.explain()
        assert c.equation in text and "Claim:" in text and "Proof:" in text, name
        found = c.conditions()
        assert {x.verdict for x in found} <= {"holds", "fails", "cannot be checked"}
        assert found.rows and found.facts.claim and found.facts.source


def test_a_batch_varies_gains(two):
    c = control.PD(two, kp=100.0, kd=20.0)
    kp = np.random.default_rng(1).uniform(50, 150, (4, 2))
    u = c(0.0, [0.1, 0.2], [0.0, 0.0], [0.5, 0.5], **c.vary(kp=kp))
    assert np.allclose(u, kp * [0.4, 0.3])
    full = control.PD(two, kp=[[100.0, 10.0], [10.0, 50.0]], kd=20.0)
    assert list(full.law().parameters)[:3] == ["kp_joint1", "kp_joint2_joint1", "kp_joint2"]
    assert np.allclose(full(0.0, [0, 0], [0, 0], [1.0, 0.0]), [100.0, 10.0])
    x0 = np.tile([0.1, 0.2, 0, 0], (4, 1))
    runs = integrate(
        close_loop(two.flow(), c.law(), [0.5, 0.5]), x0, 1e-3, 100, parameters={**c.law().parameters, **c.vary(kp=kp)}
    )
    alone = integrate(
        close_loop(two.flow(), control.PD(two, kp=kp[2], kd=20.0).law(), [0.5, 0.5]),
        x0[2],
        1e-3,
        100,
        parameters=control.PD(two, kp=kp[2], kd=20.0).law().parameters,
    )
    assert np.array_equal(runs.x[2], alone.x)


def test_the_plant_may_be_another_robot(two):
    """The law is the believed robot's; it drives any with the same joints."""
    c = control.ComputedTorque(two, omega=5.0)
    heavy = two.with_payload(2.0)
    u = c(0.0, [0.1, 0.2], [0.3, 0.4], ([0.1, 0.2], [0.3, 0.4], [1.0, 2.0]))
    assert np.allclose(u, two.inverse_dynamics([0.1, 0.2], [0.3, 0.4], [1.0, 2.0]))
    assert not np.allclose(u, heavy.inverse_dynamics([0.1, 0.2], [0.3, 0.4], [1.0, 2.0]))
    run(heavy.flow(), c, [0.5, 0.5], [0, 0, 0, 0], 1e-3, 10)


# ------------------------------------------------------------------------------------------------------- bounds
@pytest.mark.parametrize("name", ["planar-3r", "panda", "scara", "stanford", "rp"])
def test_bounds_are_bounds(name):
    arm = dl.load(name)
    B = find_magnitudes(arm)
    rng = np.random.default_rng(7)
    lower, upper = arm.limits.lower, arm.limits.upper
    turning = np.array([c.joint.kind == "revolute" for c in arm.model.coordinates])
    q = np.where(turning, rng.uniform(-np.pi, np.pi, (3000, arm.n)), arm.random_configuration(3000, seed=rng))
    assert lower.shape == upper.shape
    H = arm.kernel("gravity_torque").derivative("q")(q)
    assert (np.abs(H) <= B.slope * (1 + 1e-12) + 1e-12).all()
    assert (np.abs(arm.gravity_torque(q)) <= B.gravity * (1 + 1e-12) + 1e-12).all()
    assert (np.abs(arm.mass_matrix(q)) <= B.mass * (1 + 1e-12) + 1e-12).all()


def test_bounds_of_the_planar_arm_are_sharp(two):
    """In line and level, all of it is reached: the sum of lengths is the length."""
    B = find_magnitudes(two)
    H = two.kernel("gravity_torque").derivative("q")(np.array([np.pi / 2, 0.0]))
    assert np.allclose(np.abs(H), B.slope, rtol=1e-12)
    assert np.allclose(two.gravity_torque([0.0, 0.0]), B.gravity, rtol=1e-12)


# -------------------------------------------------------------------------------------------- independent joints
def test_independent_joints_have_their_poles_where_joints_are_independent():
    """cartesian-pp: M is diagonal and constant, gravity aside; each joint is its own second-order system."""
    arm = dl.load("cartesian-pp").with_gravity((0.0, 0.0, 0.0))
    for integral in (0.0, 1.5):
        c = control.IndependentJoint(arm, omega=[4.0, 6.0], zeta=[0.5, 1.0], integral=integral)
        assert np.allclose(c.effective.values, np.diag(arm.mass_matrix([0.1, 0.2])))
        r = run(arm.flow(), c, [0.3, -0.2], [0, 0, 0, 0], 2e-4, 5000, every=250, method="dormand-prince")
        e = np.array([0.3, -0.2]) - r.x[:, :2]
        if not integral:
            for j, (w, z) in enumerate(((4.0, 0.5), (6.0, 1.0))):
                assert np.abs(e[:, j] - second_order(r.t, e[0, j], 0.0, w, z)).max() < EXACT
        assert c.conditions().status != "ok"  # Coriolis torques are not decided here
        assert [x.verdict for x in c.conditions()[:2]] == ["holds", "holds"]
    # (s² + 2ζω s + ω²)(s + a): the poles of PID
    J, (w, z), a = c.effective.values[0], (4.0, 0.5), 1.5
    cubic = [J, c.kd.values[0], c.kp.values[0], c.ki.values[0]]
    assert np.allclose(np.sort_complex(np.roots(cubic)), np.sort_complex([*np.roots([1, 2 * z * w, w * w]), -a]))


def test_where_independent_joints_are_not_enough(two):
    found = control.IndependentJoint(two, omega=8.0).limits()
    assert found.verdict() == "the whole model is needed"
    M = two.mass_matrix(two.random_configuration(20000, seed=3))
    assert found.variation[0] == pytest.approx(np.ptp(M[:, 0, 0]) / found.inertia[0], rel=1e-2)
    geared = control.IndependentJoint(control.add_gears(two, 1e-3, 200.0), omega=8.0)
    assert geared.limits().verdict() == "independent joints will do"
    assert geared.effective.values[1] == pytest.approx(200**2 * 1e-3 + 1 / 3, rel=1e-9)
    side = geared.motor_side(200.0)
    assert np.allclose(side["kp"], np.array(geared.kp.values) / 200**2)
    assert "variation" in str(found) and "joint2" in str(found)


# ----------------------------------------------------------------------------------------------------- PD and PID
def test_pd_rests_where_the_spring_holds_gravity(two):
    c = control.PD(two, kp=150.0, kd=40.0)
    q_d = np.array([0.4, 0.5])
    r = run(two.flow(), c, q_d, [0, 0, 0, 0], 1e-3, 12000, every=12000)
    q = r.x[-1, :2]
    assert np.abs(150.0 * (q_d - q) - two.gravity_torque(q)).max() < 1e-6
    claim = c.conditions()
    assert claim[2].verdict == "holds"
    assert np.linalg.norm(q_d - q) < np.linalg.norm(find_magnitudes(two).gravity) / 150.0


def test_pid_removes_what_pd_leaves_and_does_not_wind_up(two):
    q_d = np.array([0.9, 0.5])
    c = control.JointPID(two, kp=150.0, ki=150.0, kd=50.0)
    r = run(two.flow(), c, q_d, [0, 0, 0, 0], 1e-3, 20000, every=100)
    assert np.abs(q_d - r.x[-1, :2]).max() < 1e-6
    assert np.allclose(150.0 * r.x[-1, 4:], two.gravity_torque(q_d), rtol=1e-5)
    limit = 30.0
    held = control.JointPID(two, kp=150.0, ki=150.0, kd=50.0, limit=limit)
    r2 = run(two.flow(), held, q_d, [-1.5, 0, 0, 0], 1e-3, 20000, every=100)
    tau = r2.y[:, :2]
    assert np.abs(tau).max() <= limit
    assert (np.abs(tau) == limit).any()
    assert np.abs(q_d - r2.x[-1, :2]).max() < 1e-6
    # the same controller whose integral is not held overshoots further
    naive = control.JointPID(two, kp=150.0, ki=150.0, kd=50.0)
    law = naive.law()

    def clipped(t, y, r, z, p):
        from dalembert.control.joint_space import clip

        return [clip(x, limit) for x in law.act(t, y, r, z, p)]

    from dataclasses import replace

    winding = replace(law, act=clipped)
    loop = close_loop(two.flow(), winding, q_d)
    r3 = integrate(loop, add_law_states(winding, [-1.5, 0, 0, 0]), 1e-3, 20000, every=100, parameters=law.parameters)
    assert r3.x[:, 0].max() > r2.x[:, 0].max() + 0.05


def test_conditions_of_pid(two):
    good = control.JointPID(control.add_gears(two, 1e-3, 100.0), kp=500.0, ki=1.0, kd=500.0)
    assert [c.verdict for c in good.conditions()[:5]] == ["holds"] * 5
    bad = control.JointPID(two, kp=500.0, ki=1000.0, kd=1.0)
    assert bad.conditions()[4].verdict == "fails"


# ------------------------------------------------------------------------------------------------- PD + gravity
DESIRED = ("planar-2r", "puma560", "rp", "panda")  # of g(q_d), one proof, a few arms


@pytest.mark.parametrize(
    "name, gravity", [*((name, "actual") for name in SERIAL), *((name, "desired") for name in DESIRED)]
)
def test_pd_with_gravity_converges_from_everywhere(name, gravity):
    """A thousand random states of every bundled serial arm; gains chosen so that the conditions hold."""
    arm = dl.load(name)
    c = control.PDGravity.for_bandwidth(arm, 4.0, 1.0, gravity)
    verdicts = {x.statement: x.verdict for x in c.conditions()}
    assert verdicts["kp is symmetric and positive definite"] == "holds"
    if gravity == "desired":
        assert verdicts["K_p + ∂g/∂q is positive definite for every q"] == "holds"
    rng = np.random.default_rng(0)
    q_d = arm.random_configuration(seed=5)
    q = arm.random_configuration(1000, seed=rng)
    qd = rng.normal(size=q.shape)
    # the fastest pole that a state can meet: K_d against the smallest inertia
    fastest = np.abs(np.linalg.eigvals(np.linalg.solve(arm.mass_matrix(q), c.kd.matrix))).max()
    dt = min(0.01, 1.5 / fastest)
    steps = int(np.ceil(5.0 / dt))
    r = run(arm.flow(), c, q_d, np.concatenate((q, qd), -1), dt, steps, every=max(1, steps // 20))
    assert (r.diverged_at == -1).all()
    V = c.lyapunov(r.x[..., : arm.n], r.x[..., arm.n :], q_d)
    assert (np.diff(V, axis=-1) <= 1e-9 * V[:, :1]).all()  # steps of rk4 near a fast pole are only so exact
    assert (V[:, -1] < 1e-4 * V[:, 0]).all()
    at_first = np.abs(q - q_d).max()
    assert np.abs(r.x[:, -1, : arm.n] - q_d).max() < 0.03 * at_first


def test_energy_falls_as_the_proof_says(two):
    """V̇ = −q̇ᵀK_d q̇, so that V(0) − V(T) is what the damping took."""
    for gravity in ("actual", "desired"):
        c = control.PDGravity(two, kp=60.0, kd=4.0, gravity=gravity)
        q_d = np.array([0.4, -0.8])
        r = run(two.flow(), c, q_d, [-1.0, 1.2, 0.5, -2.0], 1e-3, 2000)
        V = c.lyapunov(r.x[:, :2], r.x[:, 2:], q_d)
        power = 4.0 * (r.x[:, 2:] ** 2).sum(-1)
        # Simpson's rule at 1e-3 s is exact to far below 1e-8
        work = (power[0] + power[-1] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum()) * 1e-3 / 3
        assert V[0] - V[-1] == pytest.approx(work, rel=1e-7)
        assert V.min() >= 0


def test_desired_gravity_needs_stiffness(two):
    weak = control.PDGravity(two, kp=1.0, kd=5.0, gravity="desired").conditions()
    assert weak.status != "ok" and weak.errors[0].statement.startswith("K_p + ∂g/∂q")
    assert control.PDGravity(two, kp=1.0, kd=5.0).conditions().errors == ()
    # and indeed there are other places to rest: hanging the other way
    c = control.PDGravity(two, kp=1.0, kd=5.0, gravity="desired")
    r = run(two.flow(), c, [2.0, 0.0], [-2.0, 0, 0, 0], 1e-3, 20000, every=20000)
    assert np.abs(r.x[-1, 2:]).max() < 1e-5 and abs(r.x[-1, 0] - 2.0) > 1.0


# ---------------------------------------------------------------------------------------------- computed torque
@pytest.mark.parametrize("zeta", [0.3, 1.0, 1.8])
def test_computed_torque_decays_at_the_designed_poles(zeta):
    arm = dl.load("panda")
    omega = np.linspace(3.0, 6.0, 7)
    motion = Sine(arm.random_configuration(seed=1), np.full(7, 0.3), np.linspace(1, 2, 7))
    c = control.ComputedTorque(arm, omega=omega, zeta=zeta)
    q, qd, _ = motion(0.0)
    e0, v0 = np.linspace(-0.2, 0.2, 7), np.linspace(0.5, -0.5, 7)
    x0 = np.concatenate((q - e0, qd - v0))
    r = run(arm.flow(), c, motion, x0, 1e-3, 1500, every=50, method="dormand-prince")
    e = motion(r.t)[0] - r.x[:, :7]
    for j in range(7):
        assert np.abs(e[:, j] - second_order(r.t, e0[j], v0[j], omega[j], zeta)).max() < EXACT
    expected = np.concatenate([np.roots([1, 2 * zeta * w, w * w]) for w in omega])
    assert np.allclose(np.sort_complex(c.poles), np.sort_complex(expected), atol=1e-6)  # a double root is half as exact


def test_computed_torque_with_matrices(two):
    """ë + K_d ė + K_p e = 0 with coupled gains, against the exponential of its matrix."""
    from scipy.linalg import expm

    K_p, K_d = np.array([[30.0, 5.0], [5.0, 20.0]]), np.array([[8.0, -1.0], [-1.0, 6.0]])
    c = control.ComputedTorque(two, kp=K_p, kd=K_d)
    r = run(two.flow(), c, [0.2, 0.3], [0, 0, 0.1, 0], 5e-4, 2000, every=500, method="dormand-prince")
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-K_p, -K_d]])
    start = np.r_[0.2, 0.3, -0.1, 0.0]
    for t, x in zip(r.t, r.x, strict=True):
        assert np.abs(np.array([0.2, 0.3]) - x[:2] - (expm(A * t) @ start)[:2]).max() < EXACT


def test_a_payload_leaves_the_error_that_was_predicted():
    arm = dl.load("ur5e")
    heavy = arm.with_payload(3.0)
    c = control.ComputedTorque(arm, omega=8.0)
    q_d = np.array([0.3, -1.0, 0.9, 0.4, 0.8, 0.1])
    r = run(heavy.flow(), c, q_d, np.r_[q_d, np.zeros(6)], 1e-3, 9000, every=9000)
    q = r.x[-1, :6]
    assert np.abs(r.x[-1, 6:]).max() < 1e-6
    assert np.abs(q_d - q - c.steady_error(q, heavy)).max() < 1e-7
    assert np.abs(q_d - q).max() > 1e-2


def test_computed_torque_knows_friction_if_told():
    arm = dl.load("puma560")
    assert np.abs(arm.friction_torque(np.zeros(6), np.ones(6))).max() > 0
    q, qd, w = np.random.default_rng(0).uniform(-1, 1, (3, 6))
    u = control.ComputedTorque(arm, omega=5.0, friction=True)(0.0, q, qd, (q, qd, w))
    assert np.allclose(u, arm.inverse_dynamics(q, qd, w, friction=True))


# ------------------------------------------------------------------------------------------------- feedforward
def test_feedforward_and_computed_torque_agree_on_the_motion(two, motion):
    q, qd, qdd = motion(0.7)
    torque = two.inverse_dynamics(q, qd, qdd)
    ct, ff = control.ComputedTorque(two, omega=5.0), control.Feedforward(two)
    both = control.FeedforwardPD(two, kp=50.0, kd=10.0)
    for c in (ct, ff, both):
        assert np.allclose(c(0.7, q, qd, motion), torque, atol=1e-12)
    # off it they differ by the model's terms at the wanted state against the actual one
    x, v = q + 0.3, qd - 0.2
    e, ed = q - x, qd - v
    M, M_d = two.mass_matrix(x), two.mass_matrix(q)
    K_p, K_d = np.array(ct.kp.values), np.array(ct.kd.values)
    difference = M_d @ qdd + two.bias_torque(q, qd) + 50.0 * e + 10.0 * ed
    difference -= M @ (qdd + K_d * ed + K_p * e) + two.bias_torque(x, v)
    assert np.allclose(both(0.7, x, v, motion) - ct(0.7, x, v, motion), difference, atol=1e-11)


def test_pure_feedforward_drifts(two, motion):
    q, qd, _ = motion(0.0)
    start = np.r_[q, qd]
    flow = two.flow()
    exact = run(flow, control.Feedforward(two), motion, start, 5e-4, 2000, every=100)
    assert np.abs(motion(exact.t)[0] - exact.x[:, :2]).max() < 1e-7
    off = run(flow, control.Feedforward(two), motion, start + 1e-3, 5e-4, 8000, every=100)
    error = np.abs(motion(off.t)[0] - off.x[:, :2]).max(-1)
    assert error[-1] > 0.3
    with_pd = run(flow, control.FeedforwardPD.for_bandwidth(two, 8.0), motion, start + 1e-3, 5e-4, 8000, every=100)
    assert np.abs(motion(with_pd.t)[0] - with_pd.x[:, :2])[-1].max() < 1e-6
    assert control.Feedforward(two).conditions().errors[0].statement == "errors decay"


# -------------------------------------------------------------------------------------------------- task space
def test_rows_are_those_of_motion_functions():
    arm = dl.load("ur5e")
    for rows in ("position", ("vx", "vz"), "orientation", np.array([True, True, False, False, False, True]), "vy"):
        names = control.TaskComputedTorque(arm, omega=5.0, rows=rows).task.names
        places = [("x", "y", "z", "a1", "a2", "a3").index(name) for name in names]
        assert np.array_equal(motion_task(rows).matrix, np.eye(6)[places])
    assert control.TaskComputedTorque(arm, omega=5.0, rows=("position", "a1")).task.names == ("x", "y", "z", "a1")


@pytest.mark.parametrize("rows", [("x", "y"), "planar"])
def test_task_errors_decay_at_the_designed_poles(rows):
    arm = dl.load("planar-3r")
    q0 = np.array([0.3, 0.6, -0.9])
    x0 = np.array([*arm.fk(q0)[:2, 3], q0.sum()])[: 2 if rows != "planar" else 3]
    x_d = x0 + np.array([0.1, -0.05, 0.3])[: len(x0)]
    c = control.TaskComputedTorque(arm, omega=5.0, zeta=0.6, rows=rows)
    r = run(arm.flow(), c, x_d, np.r_[q0, 0, 0, 0], 5e-4, 2000, every=100, method="dormand-prince")
    x = np.column_stack((arm.fk(r.x[:, :3])[:, :2, 3], r.x[:, :3].sum(-1)))[:, : len(x0)]
    for j in range(len(x0)):
        e = x_d[j] - x[:, j]
        assert np.abs(e - second_order(r.t, e[0], 0.0, 5.0, 0.6)).max() < EXACT
    assert len(c.null_gains) == (0 if rows == "planar" else 2)


def test_free_joints_come_to_rest_in_their_posture():
    arm = dl.load("panda")
    q0 = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.6, 0.4])
    posture = q0 + np.array([0.3, 0, 0, 0, 0, 0, 0.5])
    c = control.TaskComputedTorque(
        arm, omega=6.0, rows="pose", angles="zyx", null_damping=8.0, posture=posture, posture_stiffness=16.0
    )
    T = arm.fk(q0)
    alpha = [np.arctan2(T[1, 0], T[0, 0]), -np.arcsin(T[2, 0]), np.arctan2(T[2, 1], T[2, 2])]
    x_d = np.r_[T[:3, 3], alpha]
    r = run(arm.flow(), c, x_d, np.r_[q0, 0.2 * np.ones(7)], 1e-3, 5000, every=500)
    assert np.abs(arm.fk(r.x[-1, :7]) - T).max() < 1e-6
    assert np.abs(r.x[-1, 7:]).max() < 1e-4
    N = np.eye(7) - np.linalg.pinv(arm.jacobian(r.x[-1, :7])) @ arm.jacobian(r.x[-1, :7])
    M = arm.mass_matrix(r.x[-1, :7])
    # at rest what pulls to the posture has no part along the free motion, in the metric of M
    direction = np.linalg.svd(N)[0][:, 0]
    assert abs(direction @ M @ (posture - r.x[-1, :7])) < 1e-4
    assert np.abs(posture - r.x[-1, :7]).max() < np.abs(posture - q0).max()


@pytest.mark.parametrize("inertia", [None, [2.0, 3.0], [[2.0, 0.3], [0.3, 3.0]]])
def test_impedance_gives_way_as_a_spring(inertia):
    arm = dl.load("planar-3r")
    q0 = np.array([0.3, 0.6, -0.9])
    x_d = arm.fk(q0)[:2, 3]
    K = np.array([[300.0, 50.0], [50.0, 200.0]])
    c = control.Impedance(arm, stiffness=K, damping=60.0, inertia=inertia, rows=("x", "y"))
    flow = arm.flow(wrenches=["tool"])
    if inertia is not None:
        flow = control.add_sensors(flow, wrench_inputs("tool"), 0.005)
    push = np.array([-6.0, 4.0])
    start = np.zeros(len(flow.states))
    start[:3] = q0
    inputs = dict(zip(wrench_inputs("tool"), np.r_[push, np.zeros(4)], strict=True))
    r = run(flow, c, x_d, start, 1e-3, 5000, every=5000, **inputs)
    moved = arm.fk(r.x[-1, :3])[:2, 3] - x_d
    assert np.allclose(moved, np.linalg.solve(K, push), atol=1e-7)


def test_impedance_has_the_mass_it_is_told():
    """Pushed from rest, the tool accelerates by M_d⁻¹ F; without a sensor by the arm's own mobility."""
    arm = dl.load("planar-3r")
    q0 = np.array([0.3, 0.6, -0.9])
    x_d = arm.fk(q0)[:2, 3]
    push = np.r_[5.0, -3.0, np.zeros(4)]
    J = arm.jacobian(q0)[:2]
    own = J @ np.linalg.solve(arm.mass_matrix(q0), J.T)
    for inertia, mobility in ((None, own), ([2.0, 4.0], np.diag([0.5, 0.25]))):
        c = control.Impedance(arm, stiffness=100.0, damping=20.0, inertia=inertia, rows=("x", "y"), null_damping=0.0)
        given = {} if inertia is None else {"measured": push}
        tau = c(0.0, q0, np.zeros(3), x_d, **given)
        qdd = arm.forward_dynamics(q0, np.zeros(3), tau, wrenches={"tool": push})
        assert np.allclose(J @ qdd, mobility @ push[:2], atol=1e-9)


def test_natural_impedance_is_passive():
    """V = ½ ėᵀM_C ė + ½ eᵀKe falls by what the damper takes: V(0) − V(T) = ∫ ėᵀDė dt, the arm moving fast."""
    arm = dl.load("planar-3r")
    q0, qd0 = np.array([0.3, 0.6, -0.9]), np.array([2.0, -3.0, 4.0])
    x_d = arm.fk(q0)[:2, 3] + [0.1, -0.2]
    c = control.Impedance(arm, stiffness=[200.0, 300.0], damping=[15.0, 25.0], rows=("x", "y"))
    r = run(arm.flow(), c, x_d, np.r_[q0, qd0], 5e-4, 1000)
    q, qd = r.x[:, :3], r.x[:, 3:]
    J = arm.jacobian(q)[:, :2]
    M_C = np.linalg.inv(J @ np.linalg.solve(arm.mass_matrix(q), np.swapaxes(J, -1, -2)))
    rate = np.einsum("tij,tj->ti", J, qd)
    e = x_d - arm.fk(q)[:, :2, 3]
    V = 0.5 * np.einsum("ti,tij,tj->t", rate, M_C, rate) + 0.5 * (e**2 @ [200.0, 300.0])
    power = rate**2 @ [15.0, 25.0]
    work = (power[0] + power[-1] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum()) * 5e-4 / 3
    assert V[0] - V[-1] == pytest.approx(work, rel=1e-6)


def test_impedance_with_angles_feels_moments():
    """A moment about z turns a planar arm's tip by n / k."""
    arm = dl.load("planar-3r")
    q0 = np.array([0.3, 0.6, -0.9])
    x_d = np.r_[arm.fk(q0)[:2, 3], q0.sum()]
    c = control.Impedance(
        arm, stiffness=[200.0, 200.0, 30.0], damping=[40.0, 40.0, 8.0], inertia=[2.0, 2.0, 0.2], rows="planar"
    )
    flow = control.add_sensors(arm.flow(wrenches=["tool"]), wrench_inputs("tool"), 0.005)
    start = np.zeros(len(flow.states))
    start[:3] = q0
    r = run(flow, c, x_d, start, 1e-3, 6000, every=6000, **{"tool.n_z": 1.5})
    assert r.x[-1, :3].sum() - q0.sum() == pytest.approx(1.5 / 30.0, abs=1e-6)
    assert np.allclose(arm.fk(r.x[-1, :3])[:2, 3], x_d[:2], atol=1e-6)


# ------------------------------------------------------------------------------------------------ force and motion
def test_hybrid_control_presses_and_moves():
    arm = dl.load("planar-3r")
    q0 = np.array([0.3, 0.6, -0.9])
    wall = plane((0, float(arm.fk(q0)[1, 3]), 0), (0, 1, 0))
    system = Constrained(arm, wall)
    q1 = system.close(q0 + np.array([0.2, 0.1, -0.1])).q
    c = control.HybridForce(system, force=7.0, omega=5.0)
    r = run(system.flow(), c, q1, np.r_[q0, 0, 0, 0], 1e-3, 4000, every=100)
    assert np.abs(r.y[:, 0] - 7.0).max() < 1e-8  # λ, the first output, from the first instant
    assert np.abs(r.x[-1, :3] - q1).max() < 1e-6
    # the part of τ that moves is P τ: the force does not enter it
    softer = control.HybridForce(system, force=0.0, omega=5.0)
    q, qd = r.x[3, :3], r.x[3, 3:6]
    P = system.projection(q)
    assert np.allclose(P @ c(0, q, qd, q1), P @ softer(0, q, qd, q1), atol=1e-10)
    assert not np.allclose(c(0, q, qd, q1), softer(0, q, qd, q1))


def test_hybrid_control_with_a_force_sensor_forgives_the_model():
    arm = dl.load("planar-3r")
    q0 = np.array([0.3, 0.6, -0.9])
    wall = plane((0, float(arm.fk(q0)[1, 3]), 0), (0, 1, 0))
    system, heavy = Constrained(arm, wall), Constrained(arm.with_payload(0.5), wall)
    blind = run(
        heavy.flow(), control.HybridForce(system, force=7.0, omega=5.0), q0, np.r_[q0, 0, 0, 0], 1e-3, 4000, every=4000
    )
    assert blind.y[-1, 0] == pytest.approx(7.0 - 0.5 * 9.81, abs=0.05)  # the payload's weight is missing
    c = control.HybridForce(system, force=7.0, omega=5.0, force_gain=5.0)
    flow = heavy.flow()
    flow = control.add_sensors(flow, [o for o in flow.outputs if o.startswith("multiplier")], 0.01)
    seeing = run(flow, c, q0, np.r_[q0, 0, 0, 0, 7.0], 1e-3, 5000, every=5000)
    assert seeing.y[-1, 0] == pytest.approx(7.0, abs=1e-6)


# ------------------------------------------------------------------------------------------------------ observer
def test_momentum_observer_follows_with_its_lag():
    arm = dl.load("planar-3r")
    observer = control.MomentumObserver(arm, gain=[20.0, 30.0, 40.0])
    c = observer.with_controller(control.PDGravity.for_bandwidth(arm, 6.0))
    q0 = np.array([0.3, 0.6, -0.9])
    push = np.r_[4.0, -7.0, np.zeros(4)]
    flow = arm.flow(wrenches=["tool"])
    law = c.law()
    qd0 = np.array([0.4, -0.3, 0.2])
    x0 = np.r_[q0, qd0, observer.start(q0, qd0)]
    inputs = {**law.parameters, **dict(zip(wrench_inputs("tool"), push, strict=True))}
    r = integrate(close_loop(flow, law, q0), x0, 1e-4, 4000, parameters=inputs, method="dormand-prince")
    seen = observer.estimate(r.x[:, :3], r.x[:, 3:6], r.x[:, 6:])
    true = np.einsum("tij,i->tj", arm.jacobian(r.x[:, :3]), push)
    # ṙ = K (τ_ext − r), integrated from the truth by the trapezium rule, order two at 1e-4 s
    k = np.array([20.0, 30.0, 40.0])
    lagged = np.zeros(3)
    for i in range(len(r.t) - 1):
        middle = 0.5 * (true[i] + true[i + 1])
        lagged = middle + (lagged - middle) * np.exp(-k * 1e-4)
    assert np.abs(seen[-1] - lagged).max() < 1e-6
    assert np.abs(seen[0]).max() < 1e-12
    rest = integrate(close_loop(flow, law, q0), x0, 1e-3, 6000, every=6000, parameters=inputs)
    q, qd, z = np.split(rest.x[-1], 3)
    wrench = observer.wrench(q, observer.estimate(q, qd, z))
    J = arm.jacobian(q)
    assert np.allclose(J.T @ wrench, J.T @ push, atol=1e-5)


def test_observer_takes_a_disturbance_off():
    arm = dl.load("planar-2r")
    q_d = np.array([0.4, 0.5])
    inputs = dict(zip(wrench_inputs("tool"), [0.0, -10.0, 0, 0, 0, 0], strict=True))
    flow = arm.flow(wrenches=["tool"])
    plain = control.PDGravity.for_bandwidth(arm, 8.0)
    without = run(flow, plain, q_d, np.r_[q_d, 0, 0], 1e-3, 5000, every=5000, **inputs)
    observer = control.MomentumObserver(arm, gain=30.0)
    helped = run(flow, observer.with_controller(plain, True), q_d, np.r_[q_d, 0, 0], 1e-3, 5000, every=5000, **inputs)
    assert np.abs(without.x[-1, :2] - q_d).max() > 0.01
    assert np.abs(helped.x[-1, :2] - q_d).max() < 1e-6


def test_the_observer_starts_at_the_momentum_that_is_measured(two):
    observer, qd = control.MomentumObserver(two, gain=20.0), np.array([3.0, 0.0])
    c = observer.with_controller(control.PDGravity.for_bandwidth(two, 6.0), compensate=True)
    q = np.array([0.1, 0.2])
    law = c.law()
    assert np.allclose(law.start([*q, *qd]), observer.start(q, qd), atol=1e-12)
    assert np.allclose(c(0.0, q, qd, q), c.controller(0.0, q, qd, q), atol=1e-9)  # no push is seen
    found = dl.simulate(two, observer.with_controller(c.controller), q0=q, qd0=qd, reference=q, duration=0.2)
    z = np.stack([found[name] for name in observer.states], axis=-1)
    assert np.abs(observer.estimate(found.q, found.qd, z)).max() < 1e-5  # K times the integrator's error in p
    integral = observer.with_controller(control.JointPID(two, kp=80.0, ki=20.0, kd=15.0)).law()
    assert np.allclose(integral.start([*q, *qd]), [0, 0, *observer.start(q, qd)], atol=1e-12)
    driven = dl.DrivenRobot(two, dl.DCMotor(1.0, 0.05), [50.0, 50.0])
    assert np.allclose(control.VoltageControl(driven, c).law().start([*q, *qd]), observer.start(q, qd), atol=1e-12)


def test_laws_with_states_say_that_limits_outside_are_not_seen(two):
    words = "the torques that the law asks for are applied"
    for name, c in every_controller(two).items():
        told = [x.verdict for x in c.conditions() if x.statement == words]
        assert told == (["cannot be checked"] if c.law().states else []), name


def test_a_limit_of_the_law_itself_is_looked_at(two):
    def verdict(limit):
        found = control.JointPID(two, kp=80.0, ki=20.0, kd=15.0, limit=limit).conditions()
        return next(x for x in found if x.statement.startswith("the torque limits leave room"))

    assert verdict(None).verdict == "holds" and verdict(100.0).verdict == "holds"
    weak = verdict(5.0)
    assert weak.verdict == "fails" and weak.numbers["limit"] == 5.0


def test_a_singular_task_is_called_singular(two):
    c = control.TaskComputedTorque(two, omega=5.0, rows=("x", "y"))
    with raises(dl.SingularityError, "singular"):
        c(0.0, [0.3, 0.0], [0.0, 0.0], [1.0, 0.5])
    with raises(dl.SingularityError, "singular"):
        c(0.0, [[0.3, 0.4], [0.3, 0.0]], [0.0, 0.0], [1.0, 0.5])


def test_a_missing_force_sensor_is_named():
    three = dl.load("planar-3r")
    soft = control.Impedance(three, stiffness=200.0, damping=40.0, inertia=2.0, rows=("x", "y"))
    with raises(dl.UnknownNameError, "unknown-name"):
        dl.simulate(three, soft, q0=[0.3, 0.6, -0.9], reference=[1.0, 0.5], duration=0.1)
    flow = control.add_sensors(three.flow(wrenches=["tool"]), wrench_inputs("tool"), 0.01)  # what the words say works
    found = dl.simulate(
        flow, soft, x0=[0.3, 0.6, -0.9, *[0.0] * 9], reference=three.fk([0.3, 0.6, -0.9])[:2, 3], duration=0.1
    )
    assert np.isfinite(found.x).all()


def test_numbers_of_numpy_are_numbers(two):
    whole, real = (control.PDGravity.for_bandwidth(two, x).kp.values for x in (np.int64(6), 6))
    assert whole == real
    assert control.Uncertainty(np.float32(1.0), np.int64(1), 1, (0.1, 1.0)).mass == 1.0
    assert control.Scenario(payload=np.float32(0.5)).payload == 0.5
    for rotor in (np.float32(0.5), np.full(2, 0.5)):
        geared = add_gears(two, rotor, np.int64(2))
        assert np.allclose(geared.mass_matrix([0, 0]), two.mass_matrix([0, 0]) + 2 * np.eye(2))


# -------------------------------------------------------------------------------------------- volts and springs
def test_the_belief_of_what_drives_motors_is_checked(two):
    driven = dl.DrivenRobot(two, dl.DCMotor(1.0, 0.05, inertia=1e-4), [60.0, 40.0])

    def belief(robot):
        found = control.VoltageControl(driven, control.ComputedTorque(robot, omega=8.0)).conditions()
        return next(x for x in found if x.statement.startswith("the inner model is the driven arm"))

    wrong = belief(two)
    assert wrong.verdict == "fails" and "reflect_motors" in wrong.why
    assert wrong.numbers["largest |M − M̂|"] == pytest.approx(60.0**2 * 1e-4)
    assert belief(control.reflect_motors(driven)).verdict == "holds"
    assert belief(control.reflect_motors(driven).with_payload(0.2)).numbers["largest |g − ĝ|"] > 1


def test_computed_torque_by_volts(two, motion):
    motor = dl.DCMotor(resistance=1.0, torque_constant=0.05, inertia=1e-4, damping=1e-4)
    driven = dl.DrivenRobot(two, motor, [60.0, 40.0])
    seen = control.reflect_motors(driven)
    assert np.allclose(seen.mass_matrix([0.1, 0.2]), driven.mass_matrix([0.1, 0.2]))
    c = control.VoltageControl(driven, control.ComputedTorque(seen, omega=8.0, zeta=0.7))
    q, qd, _ = motion(0.0)
    e0 = np.array([0.05, -0.03])
    r = run(driven.flow(), c, motion, np.r_[q - e0, qd], 5e-4, 2000, every=100, method="dormand-prince")
    e = motion(r.t)[0] - r.x[:, :2]
    for j in range(2):
        assert np.abs(e[:, j] - second_order(r.t, e0[j], 0.0, 8.0, 0.7)).max() < EXACT
    assert c.law().outputs == driven.inputs


def test_current_feedback_shortens_the_armatures_lag(two, motion):
    motor = dl.DCMotor(resistance=1.0, torque_constant=0.05, inertia=1e-4, inductance=5e-3)
    driven = dl.DrivenRobot(two, motor, [50.0, 50.0])
    inner = control.ComputedTorque(control.reflect_motors(driven), omega=8.0)
    q, qd, _ = motion(0.0)
    left = []
    for gain in (0.0, 20.0):
        c = control.VoltageControl(driven, inner, current_gain=gain)
        r = run(driven.flow(), c, motion, np.r_[q, qd, 0, 0], 1e-4, 20000, every=100)
        left.append(np.abs(motion(r.t)[0] - r.x[:, :2])[100:].max())
        assert c.conditions()[-2].numbers["L/(R + k_c)"] == pytest.approx(5e-3 / (1 + gain))
    assert left[1] < 0.2 * left[0]


def test_volts_through_belts(two):
    """G full: τ = Gᵀ τ_m still gives the joints what was asked."""
    driven = dl.DrivenRobot(two, dl.DCMotor(1.0, 0.05), dl.Transmission([[50.0, 20.0], [0.0, 40.0]]))
    inner = control.PDGravity(two, kp=100.0, kd=20.0)
    c = control.VoltageControl(driven, inner)
    q, qd, q_d = np.array([0.1, 0.2]), np.array([0.3, -0.2]), np.array([0.5, 0.5])
    v = c(0.0, q, qd, q_d)
    w = np.array(driven.transmission.matrix) @ qd
    tau_m = 0.05 * (v - 0.05 * w) / 1.0
    assert np.allclose(np.array(driven.transmission.matrix).T @ tau_m, inner(0.0, q, qd, q_d))


@pytest.mark.parametrize("gravity", ["desired", "online"])
def test_flexible_joints_come_to_the_set_point(two, gravity):
    flexible = dl.FlexibleRobot(two, stiffness=300.0, rotor_inertia=1e-4, gear_ratio=50.0)
    c = control.FlexiblePD(flexible, kp=200.0, kd=30.0, gravity=gravity)
    assert [x.verdict for x in c.conditions()[:4]] == ["holds"] * 4
    q_d = np.array([0.5, 0.3])
    rng = np.random.default_rng(0)
    q = rng.uniform(-1, 1, (20, 2))
    x0 = np.concatenate((q, q, rng.normal(size=(20, 4))), -1)
    r = run(flexible.flow(), c, q_d, x0, 1e-3, 15000, every=15000)
    assert np.abs(r.x[:, -1, :2] - q_d).max() < 1e-6
    assert np.allclose(r.x[:, -1, 2:4], c.motor_set_point(q_d), atol=1e-6)
    soft = dl.FlexibleRobot(two, stiffness=15.0, rotor_inertia=1e-4, gear_ratio=50.0)
    verdicts = [x.verdict for x in control.FlexiblePD(soft, kp=200.0, kd=30.0).conditions()]
    assert verdicts[2] == "fails"


def test_flexible_joints_made_linear(two):
    """Four poles at −ω: e(t) = e₀ e^(−ωt) (1 + ωt + (ωt)²/2 + (ωt)³/6) from a start with ë = e⃛ = 0."""
    flexible = dl.FlexibleRobot(two, stiffness=300.0, rotor_inertia=1e-4, gear_ratio=50.0)
    c = control.FlexibleLinearizing(flexible, omega=[8.0, 12.0])
    q_d = np.array([0.5, 0.3])
    theta = two.gravity_torque([0.0, 0.0]) / 300.0  # the springs hold the links: q̈ = q⃛ = 0
    r = run(flexible.flow(), c, q_d, np.r_[0, 0, theta, 0, 0, 0, 0], 2e-4, 5000, every=250, method="dormand-prince")
    for j, w in enumerate((8.0, 12.0)):
        x = w * r.t
        assert np.abs(q_d[j] - r.x[:, j] - q_d[j] * np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)).max() < EXACT
    given = control.FlexibleLinearizing(flexible, coefficients=(8.0**4, 4 * 8.0**3, 6 * 8.0**2, 4 * 8.0))
    assert given.conditions()[0].verdict == "holds"
    bad = control.FlexibleLinearizing(flexible, coefficients=(1000.0, 1.0, 1.0, 1.0))
    assert bad.conditions()[0].verdict == "fails"


# --------------------------------------------------------------------------------------------- identities and input
def test_reference_torque_is_m_c_g():
    arm = dl.load("panda")
    q, qd, qd_r, qdd_r = np.random.default_rng(3).uniform(-1, 1, (4, 7))
    expected = arm.mass_matrix(q) @ qdd_r + arm.coriolis_matrix(q, qd) @ qd_r + arm.gravity_torque(q)
    found = reference_torque(arm.model, *(x.tolist() for x in (q, qd, qd_r, qdd_r)))
    assert np.allclose(found, expected, atol=1e-11)


BAD = [
    (lambda a: control.PD(a, kp=-1.0, kd=1.0), "out-of-range kp"),
    (lambda a: control.PD(a, kp=0.0, kd=1.0), "out-of-range kp"),
    (lambda a: control.PD(a, kp=[1.0, 2.0, 3.0], kd=1.0), "wrong-shape kp"),
    (lambda a: control.PD(a, kp=[[1.0, 2.0], [0.0, 1.0]], kd=1.0), "wrong-value kp"),
    (lambda a: control.PD(a, kp=[[1.0, 2.0], [2.0, 1.0]], kd=1.0), "wrong-value kp"),
    (lambda a: control.PD(a, kp=np.nan, kd=1.0), "not-finite kp"),
    (lambda a: control.PD(a, kp="stiff", kd=1.0), "wrong-type kp"),
    (lambda a: control.PD("arm", kp=1.0, kd=1.0), "wrong-type"),
    (lambda a: control.ComputedTorque(a), "conflict omega"),
    (lambda a: control.ComputedTorque(a, omega=5.0, kp=1.0, kd=1.0), "conflict omega"),
    (lambda a: control.ComputedTorque(a, kp=1.0), "missing kp"),
    (lambda a: control.ComputedTorque(a, omega=np.eye(2) + 0.1), "unsupported omega"),
    (lambda a: control.ComputedTorque(a, omega=5.0, friction=1), "wrong-type friction"),
    (lambda a: control.PDGravity(a, kp=1.0, kd=1.0, gravity="wanted"), "unknown-name"),
    (lambda a: control.PDGravity.for_bandwidth(a, -1.0), "out-of-range omega"),
    (lambda a: control.IndependentJoint(a, omega=5.0, integral=-1.0), "out-of-range integral"),
    (lambda a: control.IndependentJoint(a, omega=np.eye(2) + 0.1), "unsupported omega"),
    (lambda a: control.JointPID(a, kp=1.0, ki=1.0, kd=1.0, limit=[[1.0, 0.2], [0.2, 1.0]]), "unsupported limit"),
    (lambda a: control.TaskComputedTorque(a, omega=5.0, rows="elbow"), "unknown-name"),
    (lambda a: control.TaskComputedTorque(a, omega=5.0, rows="position"), "conflict rows"),
    (lambda a: control.TaskComputedTorque(a, omega=5.0, rows=("x", "w")), "unknown-name"),
    (lambda a: control.TaskComputedTorque(a, omega=5.0, rows="wz"), "unknown-name"),
    (lambda a: control.TaskComputedTorque(a, omega=5.0, rows=[False] * 6), "wrong-type rows"),
    (lambda a: control.TaskComputedTorque(a, omega=5.0, rows=3), "wrong-type rows"),
    (lambda a: control.TaskComputedTorque(a, omega=5.0, rows=("x",), angles="zzz"), "unknown-name"),
    (lambda a: control.TaskComputedTorque(a, omega=5.0, rows=("x",), posture=[1.0]), "wrong-shape posture"),
    (lambda a: control.HybridForce(a, force=1.0, omega=5.0), "wrong-type"),
    (lambda a: control.MomentumObserver(a, gain=0.0), "out-of-range gain"),
    (lambda a: control.VoltageControl(a, control.PD(a, kp=1.0, kd=1.0)), "wrong-type"),
    (lambda a: control.FlexiblePD(a, kp=1.0, kd=1.0), "wrong-type"),
    (lambda a: control.add_sensors(a.flow(), ["f_x"], 0.1), "unknown-name"),
    (lambda a: control.add_sensors(a.flow(), ["joint1_torque"], 0.0), "out-of-range time_constant"),
    (lambda a: control.PD(a, kp=1.0, kd=1.0)(0.0, [0, 0], [0, 0]), "missing reference"),
    (lambda a: control.PD(a, kp=1.0, kd=1.0)(0.0, [0, 0, 0], [0, 0], [0, 0]), "wrong-shape q"),
    (lambda a: control.PD(a, kp=1.0, kd=1.0)(0.0, [0, 0], [0, 0], [0, 0, 0]), "wrong-shape reference"),
    (lambda a: control.PD(a, kp=1.0, kd=1.0)(0.0, [0, np.inf], [0, 0], [0, 0]), "not-finite q"),
    (lambda a: control.PD(a, kp=1.0, kd=1.0)(0.0, [0, 0], [0, 0], [0, 0], z=[1.0]), "no-effect z"),
    (lambda a: control.PD(a, kp=1.0, kd=1.0)(0.0, [0, 0], [0, 0], [0, 0], kp=1.0), "unknown-name"),
    (lambda a: control.PD(a, kp=1.0, kd=1.0).vary(ki=1.0), "unknown-name"),
    (lambda a: control.PD(a, kp=1.0, kd=1.0).vary(kp=[1.0]), "wrong-shape kp"),
]


@pytest.mark.parametrize("make, message", BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_input_gets_a_sentence(two, make, message):
    with raises(dl.DalembertError, message):
        make(two)


def test_robots_with_loops_are_refused():
    with pytest.raises(dl.InputError):
        control.PD(dl.load("four-bar"), kp=1.0, kd=1.0)


def test_a_pid_law_tuned(two):
    """K_p and K_d are those of PD; the integral acts at a part of ω."""
    law, pd = control.JointPID.for_bandwidth(two, 8.0, 0.7, integral=0.2), control.PD.for_bandwidth(two, 8.0, 0.7)
    assert law.kp.values == pd.kp.values and law.kd.values == pd.kd.values
    assert np.allclose(law.ki.values, 0.2 * 8.0 * np.array(law.kp.values), rtol=1e-15)
    assert control.JointPID.for_bandwidth(two, 8.0, limit=5.0, gravity=True).limit.values == (5.0, 5.0)
    with raises(dl.InputError, "out-of-range the integral of a PID law"):
        control.JointPID.for_bandwidth(two, 8.0, integral=0)


def test_an_integral_takes_away_what_computed_torque_leaves():
    """A payload it was not told leaves an error without K_i, none with it; the poles are those of s³ + k_d s² + k_p s +
    k_i."""
    arm = dl.load("planar-2r")
    loaded = arm.with_payload(0.3)
    plain, law = control.ComputedTorque(arm, omega=10.0), control.ComputedTorque(arm, omega=10.0, ki=150.0)
    ends = [dl.simulate(loaded, c, q0=[0, 0], reference=[0.5, 0.5], duration=15.0).q[-1] for c in (plain, law)]
    assert np.abs(ends[0] - 0.5).max() > 1e-2 and np.abs(ends[1] - 0.5).max() < 1e-6
    wanted = np.roots([1, 20, 100, 150])
    assert len(law.poles) == 6 and np.abs(law.poles[:, None] - wanted).min(axis=1).max() < 1e-8
    assert law.law().states == ("joint1_integral", "joint2_integral")
    assert (law.steady_error([0.5, 0.5], loaded) == 0).all()
    failing = control.ComputedTorque(arm, omega=10.0, ki=2500.0).conditions()  # k_i > k_d k_p
    assert any(c.verdict == "fails" and "stable" in c.statement for c in failing)


@pytest.mark.parametrize("make", [control.PD, control.PDGravity, control.JointPID])
def test_controllers_of_driven_joints_hold_a_mobile_arm(make):
    """On a base that no drive moves they measure and drive the other joints, with gains for what these feel then; g(q)
    is that of the arm where its base is, and nothing is claimed to be proved."""
    robot = dl.load("panda", base="planar")
    law = make.for_bandwidth(robot, 10.0, 1.0)
    wanted = robot.home[3:] + 0.2
    run = dl.simulate(robot, law, q0=robot.home, reference=wanted, duration=2.0)
    error = np.abs(run.q[-1, 3:] - wanted).max()
    assert run.ok and error < {control.PD: 0.3, control.PDGravity: 2e-5, control.JointPID: 1e-2}[make]
    assert np.abs(run.u[:, :3]).max() == 0 and np.abs(run.q[-1, :3]).max() > 0.01  # the base gives way
    assert law.conditions().status != "ok" and "'root' has no drive" in law.explain()
    if make is control.PDGravity:
        q, others = robot.home[3:], np.array([0.3, -0.2, 0.7])
        tau = law(0.0, q, np.zeros(7), q, measured=others)
        assert np.abs(tau - robot.gravity_torque(np.concatenate((others, q)))[3:]).max() < 1e-12


@pytest.mark.parametrize(
    ("make", "keyword"),
    [
        (lambda a: control.PD(a, 100, 20), "kp"),
        (lambda a: control.ComputedTorque(a, 400, 40), "omega"),
        (lambda a: control.JointPID(a, 1, 1, 1), "ki"),
        (lambda a: control.Impedance(a, 1, 1), "stiffness"),
        (lambda a: control.AdaptiveControl(a, 1, 1, 1), "rate"),
        (lambda a: control.MomentumObserver(a, 20), "gain"),
        (lambda a: control.PID(2.0, 1.0), "k_i"),
    ],
)
def test_a_positional_gain_raises_an_error_that_names_the_keyword(make, keyword):
    with raises(dl.InputError, "wrong-value") as caught:
        make(dl.load("planar-2r"))
    assert "keyword" in str(caught.value)


@pytest.mark.parametrize("name", [name for name in control.CONTROLLERS if name != "predictive"])  # which has no gains
def test_gains_are_keywords_in_the_order_kp_ki_kd(name):
    entry = control.CONTROLLERS[name]
    parameters = inspect.signature(entry.controller).parameters.values()
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    assert {p.name for p in parameters} - set(keywords) <= {
        "robot",
        "flexible",
        "system",
        "driven",
        "controller",
        "uncertainty",
    }
    assert [name for name in keywords if name in {"kp", "ki", "kd"}] == [
        name for name in ("kp", "ki", "kd") if name in keywords
    ]
