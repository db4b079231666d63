"""Adaptive and robust control: what is proved of them, measured."""

from __future__ import annotations

import numpy as np
import pytest
from loops import Sine, run

import dalembert as dl
from dalembert import control
from dalembert.control import AdaptiveControl
from dalembert.control.adaptive import base_columns, reference_regressor
from errors import raises


@pytest.fixture(scope="module")
def two():
    return dl.load("planar-2r")


@pytest.fixture(scope="module")
def motion():
    return Sine([0.3, -0.4], [0.5, 0.4], [2.0, 3.0], [0.0, 1.0])


def start_on(motion):
    q, qd, _ = motion(0.0)
    return np.r_[q, qd]


# ------------------------------------------------------------------------------------------------- the regressor
@pytest.mark.parametrize("name", ["planar-3r", "panda", "stanford"])
def test_regressor_along_a_reference_velocity(name):
    """Y_r π = M q̈_r + C(q, q̇) q̇_r + g with Christoffel's C, for any parameters."""
    arm = dl.load(name)
    q, qd, qd_r, qdd_r = np.random.default_rng(0).uniform(-1, 1, (4, arm.n))
    lists = [x.tolist() for x in (q, qd, qd_r, qdd_r)]
    Y = np.array(reference_regressor(arm.model, *lists, rotor=True))
    expected = arm.mass_matrix(q) @ qdd_r + arm.coriolis_matrix(q, qd) @ qd_r + arm.gravity_torque(q)
    assert np.allclose(Y @ arm.parameters(rotor=True), expected, atol=1e-10)
    same = np.array(reference_regressor(arm.model, lists[0], lists[1], lists[1], lists[3], rotor=True))
    assert np.allclose(same, arm.regressor(q, qd, qdd_r, rotor=True), atol=1e-12)


def test_base_columns_span_the_regressor():
    """Their number is the rank, and the torques of any parameters are theirs."""
    arm = dl.load("puma560")
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.uniform(-2, 2, (3, 300, 6))
    Y = arm.regressor(q, qd, qdd).reshape(-1, 60)
    columns = base_columns(arm)
    assert len(columns) == np.linalg.matrix_rank(Y / np.maximum(np.linalg.norm(Y, axis=0), 1e-300), tol=1e-8)
    assert 30 < len(columns) < 42
    rest = Y - Y[:, columns] @ np.linalg.lstsq(Y[:, columns], Y, rcond=None)[0]
    assert np.abs(rest).max() < 1e-8


# -------------------------------------------------------------------------------------------------- Slotine and Li
def test_adaptive_control_learns_a_payload(two, motion):
    """e → 0, V never rises, parameters bounded by V(0); the truth itself is not promised."""
    heavy = two.with_payload(1.5)
    c = AdaptiveControl(two, kd=15.0, rate=6.0, adaptation=3.0)
    r = run(heavy.flow(), c, motion, start_on(motion) + 0.05, 2e-3, 60000, every=100)
    q, qd, z = r.x[:, :2], r.x[:, 2:4], r.x[:, 4:]
    V = c.lyapunov(r.t, q, qd, motion, z, heavy)
    assert V[0] > 1.0
    assert (np.diff(V) <= 1e-7 * V[0]).all()  # rk4 at 2e-3 s
    e = np.abs(motion(r.t)[0] - q)
    peaks = e[:600].reshape(6, 100, 2).max(axis=(1, 2))  # in each 20 s
    assert (peaks[1:] < 0.6 * peaks[:-1]).all() and peaks[-1] < 0.005 * peaks[0]
    wrong = z - c.true_estimates(heavy)
    assert (0.5 * (wrong**2).sum(-1) / 3.0 <= V[0] * (1 + 1e-9)).all()
    # not having been told, computed torque stays wrong by a hundred times as much
    other = run(heavy.flow(), control.ComputedTorque(two, omega=6.0), motion, start_on(motion), 1e-3, 10000, every=100)
    assert np.abs(motion(other.t)[0] - other.x[:, :2])[-20:].max() > 100 * peaks[-1]


def test_lyapunov_falls_at_the_rate_of_the_proof(two, motion):
    """V(0) − V(T) = ∫ sᵀK_D s dt."""
    heavy = two.with_payload(1.0)
    c = AdaptiveControl(two, kd=[[12.0, 2.0], [2.0, 8.0]], rate=[5.0, 7.0], adaptation=2.0)
    r = run(heavy.flow(), c, motion, start_on(motion) + 0.1, 5e-4, 2000)
    V = c.lyapunov(r.t, r.x[:, :2], r.x[:, 2:4], motion, r.x[:, 4:], heavy)
    q_d, qd_d, _ = motion(r.t)
    s = (qd_d - r.x[:, 2:4]) + np.array([5.0, 7.0]) * (q_d - r.x[:, :2])
    power = np.einsum("ti,ij,tj->t", s, c.kd.matrix, s)
    work = (power[0] + power[-1] + 4 * power[1:-1:2].sum() + 2 * power[2:-1:2].sum()) * 5e-4 / 3
    assert V[0] - V[-1] == pytest.approx(work, rel=1e-7)


def test_some_parameters_suffice_for_a_payload(two, motion):
    """A point mass at the tip of link 2 changes its m, m x, I_zz and I_yy, which a planar arm does not feel."""
    heavy = two.with_payload(1.5)
    names = ["link2:m", "link2:mx", "link2:Izz"]
    c = AdaptiveControl(two, kd=15.0, rate=6.0, adaptation=[2.0, 2.0, 1.0], parameters=names)
    assert c.law().states == tuple(f"{n}_estimate" for n in names)
    every = two.parameter_names(rotor=True)
    difference = heavy.parameters(rotor=True) - two.parameters(rotor=True)
    assert {n for n, d in zip(every, difference, strict=True) if abs(d) > 1e-12} == {*names, "link2:Iyy"}
    assert np.allclose(c.true_estimates(heavy), [heavy.parameters(rotor=True)[every.index(n)] for n in names])
    r = run(heavy.flow(), c, motion, start_on(motion), 2e-3, 60000, every=200)
    assert np.abs(motion(r.t)[0] - r.x[:, :2])[-30:].max() < 2e-4
    assert c.conditions()[3].verdict == "cannot be checked"
    assert np.abs(r.x[-1, 4:] - c.true_estimates(heavy)).max() < 0.05  # two sines excite three parameters


def test_adaptive_control_starts_as_the_believed_model(two, motion):
    """With the exact model and start nothing is adapted: τ is the inverse dynamics of the motion."""
    c = AdaptiveControl(two, kd=10.0, rate=5.0, adaptation=2.0)
    q, qd, qdd = motion(0.4)
    assert np.allclose(c(0.4, q, qd, motion), two.inverse_dynamics(q, qd, qdd), atol=1e-12)
    assert np.allclose(c.rates(0.4, q, qd, motion), 0.0, atol=1e-12)


def test_adapted_friction(two, motion):
    """Unknown viscous friction is one of the parameters; a plant with it is followed."""
    from dataclasses import replace

    from dalembert.describe.description import Drive

    d = two.description
    assert isinstance(d.joints[0].drive, Drive)
    joints = tuple(
        replace(j, drive=replace(j.drive, damping=2.0)) if j.name in two.joint_names else j for j in d.joints
    )
    rough = dl.Robot(replace(d, joints=joints))
    assert np.allclose(rough.friction_torque([0, 0], [1.0, -1.0]), [2.0, -2.0])
    names = ["joint1:viscous", "joint2:viscous"]
    c = AdaptiveControl(two, kd=10.0, rate=5.0, adaptation=5.0, parameters=names, friction=True)
    r = run(rough.flow(friction=True), c, motion, start_on(motion), 1e-3, 30000, every=100)
    assert np.allclose(r.x[-1, 4:], 2.0, atol=1e-2)
    assert np.abs(motion(r.t)[0] - r.x[:, :2])[-20:].max() < 1e-3


def test_leakage_brings_estimates_back(two):
    """With σ and no motion to learn from, dπ̂/dt = −Γσ (π̂ − π̂₀)."""
    c = AdaptiveControl(two, kd=10.0, rate=5.0, adaptation=2.0, leakage=0.5)
    z = np.array(c.law().initial) + 0.3
    q = np.array([0.2, 0.3])
    assert np.allclose(c.rates(0.0, q, [0, 0], q, z=z), -2.0 * 0.5 * 0.3)


# --------------------------------------------------------------------------------------------------------- robust
@pytest.mark.parametrize("model", [True, False])
def test_robust_control_stays_within_its_ball(two, motion, model):
    plants = [two.with_payload(m) for m in (0.001, 0.5, 1.0)]
    u = control.Uncertainty.sample(two, plants, model=model)
    c = control.RobustControl(two, u, kd=20.0, rate=5.0, layer=0.1, model=model)
    for plant in plants:
        r = run(plant.flow(), c, motion, start_on(motion) + 0.1, 1e-4, 30000, every=50)
        q_d, qd_d, qdd_d = motion(r.t)
        q, qd = r.x[:, :2], r.x[:, 2:]
        late = r.t > 1.5
        rho = c.rho(q[late], qd[late], (q_d[late], qd_d[late], qdd_d[late])).max()
        s_ball, e_ball = c.ball(rho)
        s = (qd_d - qd) + 5.0 * (q_d - q)
        assert np.linalg.norm(s[late], axis=-1).max() < s_ball
        assert np.linalg.norm((q_d - q)[late], axis=-1).max() < e_ball
    plain = control.RobustControl(two, control.Uncertainty(0, 0, 0, (0.05, 5.0)), kd=20.0, rate=5.0)
    worse = run(plants[-1].flow(), plain, motion, start_on(motion), 1e-3, 3000, every=50)
    assert np.abs(motion(worse.t)[0] - worse.x[:, :2])[-20:].max() > 3 * np.abs(q_d - q)[late].max()


def test_robust_bounds_shrink_with_the_layer(two):
    u = control.Uncertainty(0.5, 0.5, 10.0, (0.05, 5.0))
    radii = [control.RobustControl(two, u, kd=20.0, rate=5.0, layer=layer).ball(30.0)[1] for layer in (0.1, 0.01)]
    assert radii[1] < radii[0] / 3
    sampled = control.RobustControl(two, control.Uncertainty.sample(two, [two]), kd=20.0, rate=5.0)
    assert sampled.conditions().status == "warning"


BAD = [
    (lambda a: AdaptiveControl(a, kd=1.0, rate=1.0, adaptation=1.0, parameters="some"), "unknown-name"),
    (lambda a: AdaptiveControl(a, kd=1.0, rate=1.0, adaptation=1.0, parameters=[]), "wrong-type parameters"),
    (lambda a: AdaptiveControl(a, kd=1.0, rate=1.0, adaptation=1.0, parameters=["link9:m"]), "unknown-name"),
    (
        lambda a: AdaptiveControl(a, kd=1.0, rate=1.0, adaptation=1.0, parameters=["link2:m"] * 2),
        "duplicate parameters",
    ),
    (lambda a: AdaptiveControl(a, kd=1.0, rate=1.0, adaptation=[1.0, 2.0]), "wrong-shape adaptation"),
    (lambda a: AdaptiveControl(a, kd=1.0, rate=1.0, adaptation=1.0, leakage=-1.0), "out-of-range leakage"),
    (lambda a: AdaptiveControl(a, kd=1.0, rate=[[1.0, 0.1], [0.1, 1.0]], adaptation=1.0), "unsupported rate"),
    (lambda a: control.Uncertainty(-1.0, 0, 0, (1.0, 2.0)), "out-of-range mass of an Uncertainty"),
    (lambda a: control.Uncertainty(1.0, 0, 0, (0.0, 2.0)), "out-of-range inertia"),
    (lambda a: control.Uncertainty.sample(a, []), "too-few plants"),
    (lambda a: control.RobustControl(a, 1.0, kd=1.0, rate=1.0), "wrong-type"),
    (
        lambda a: control.RobustControl(a, control.Uncertainty(1, 1, 1, (1, 2)), kd=1.0, rate=1.0, layer=0.0),
        "out-of-range layer",
    ),
]


@pytest.mark.parametrize("make, message", BAD, ids=[str(k) for k in range(len(BAD))])
def test_bad_input_gets_a_sentence(two, make, message):
    with raises(dl.DalembertError, message):
        make(two)
