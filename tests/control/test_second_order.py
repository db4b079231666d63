"""Mass, spring and damper: regimes, poles, responses near and far from critical; gains; errors; springs."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as dl
from dalembert.compile.kernel import compile_function
from dalembert.control import (
    MassSpringDamper,
    PartitionedServo,
    SpringServo,
    critical_gains,
    springs,
    triple_pole_gains,
    unit_mass,
)
from dalembert.control.second_order import REGIMES, find_response
from dalembert.errors import InputError, UnknownNameError
from dalembert.friction import equivalent_damping, friction
from dalembert.reference import Reference
from dalembert.simulation import close_loop, integrate
from errors import raises
from tolerances import ROUNDING, error

# (m, b, k): every regime, and both sides of every border between them.
SYSTEMS = {
    "undamped": (1, 0, 4),
    "underdamped": (1, 0.4, 4),
    "critical": (1, 4, 4),
    "just above critical": (1, 4 * (1 + 1e-9), 4),
    "just below critical": (1, 4 * (1 - 1e-9), 4),
    "near critical": (1, 4 * (1 + 1e-5), 4),
    "overdamped": (1, 4.5, 4),
    "very overdamped": (1, 40, 4),
    "weak spring": (1, 4, 1e-9),
    "no spring": (1, 4, 0),
    "free": (1, 0, 0),
    "hardly damped": (1, 1e-9, 0),
    "slow": (1, 0, 1e-12),
    "upright": (2, 1, -3),
    "negative damping": (2, -1, 3),
    "negative critical": (1, -4, 4 * (1 + 1e-10)),
    "negative, weak": (1, -5, 1e-8),
}
STARTS = ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0.3, -0.7, 0.2, 0.9))


def exact(t: float, m: float, b: float, k: float, start) -> tuple[float, float]:
    """(x, ẋ) in forty digits, by the exponential of a matrix, which knows nothing of poles."""
    with mpmath.workdps(40):
        m, b, k = mpmath.mpf(m), mpmath.mpf(b), mpmath.mpf(k)
        A = mpmath.matrix([[0, 1, 0, 0], [-k / m, -b / m, 1 / m, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
        y = mpmath.expm(A * mpmath.mpf(t), method="taylor") * mpmath.matrix(list(start))
        return float(y[0]), float(y[1])


# ------------------------------------------------------------------------------------------------------- responses
@pytest.mark.parametrize("name", SYSTEMS)
def test_responses_have_no_cancellation(name):
    """Relative to each value itself, not to the largest: 2e-13 leaves a few hundred roundings."""
    system = MassSpringDamper(*SYSTEMS[name])
    for t in (0.0, 1e-6, 1e-3, 0.05, 0.3, 1.0, 3.0, 10.0):
        for start in STARTS:
            for found, wanted in zip(system.response(t, *start), exact(t, *SYSTEMS[name], start), strict=True):
                assert abs(found - wanted) <= 2e-13 * abs(wanted), (t, start)


@pytest.mark.parametrize("eps", [0.0, 1e-16, 1e-12, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("side", [-1, 1])
def test_nothing_happens_at_critical_damping(eps, side):
    """Across ζ = 1 the response changes as smoothly as ζ: its derivative by ζ is of order one."""
    t = np.linspace(0, 8, 200)
    at, beside = MassSpringDamper(1, 2, 1), MassSpringDamper(1, 2 * (1 + side * eps), 1)
    for a, b in zip(at.response(t, 1, -2, 0.5, 0.1), beside.response(t, 1, -2, 0.5, 0.1), strict=True):
        assert np.abs(a - b).max() <= 4 * eps + 1e-14


@pytest.mark.parametrize("name", ["underdamped", "critical", "overdamped", "upright", "no spring"])
def test_responses_against_scipy(name):
    m, b, k = SYSTEMS[name]
    t = np.linspace(0, 5, 40)
    run = solve_ivp(
        lambda s, x: [x[1], (0.7 + 0.2 * s - b * x[1] - k * x[0]) / m],
        (0, 5),
        [0.4, -1.0],
        t_eval=t,
        rtol=1e-11,
        atol=1e-12,
        method="DOP853",
    )
    found = MassSpringDamper(m, b, k).response(t, 0.4, -1.0, 0.7, 0.2)
    assert error(np.stack(found), run.y) < 1e-9  # SciPy's rtol, grown over five seconds


def test_responses_against_python_control():
    control = pytest.importorskip("control")
    system = MassSpringDamper(2, 0.6, 5)
    t = np.linspace(0, 20, 400)
    _, y = control.step_response(system.transfer().to_control(), t)
    assert error(system.response(t, force=1.0).x, y) < 1e-9
    assert error(system.state_space().step(t)[:, 0], y) < 1e-9


def test_one_algorithm_on_arrays_kernels_and_floats():
    t = np.linspace(0, 6, 50)

    def traced_response(s, p):
        return list(find_response(s[0], p[0], p[1], p[2], 0.3, -0.7, 0.2, 0.9))

    kernel = compile_function(traced_response, [(1,), (3,)], [(2,)], "response")
    for name, p in SYSTEMS.items():
        many = MassSpringDamper(*p).response(t, 0.3, -0.7, 0.2, 0.9)
        one = np.array([find_response(float(s), *map(float, p), 0.3, -0.7, 0.2, 0.9) for s in t])
        traced = kernel(t[:, None], np.array(p, float))
        assert error(one, np.stack(many, -1)) < ROUNDING, name
        assert error(traced, np.stack(many, -1)) < ROUNDING, name


def test_parameters_may_be_arrays_too():
    b = np.linspace(0, 8, 33)
    x, v = find_response(np.full(33, 1.3), 1.0, b, 4.0, 1.0, 0.0)
    for k in (0, 16, 17, 32):  # 16 is critical
        assert np.allclose((x[k], v[k]), MassSpringDamper(1, b[k], 4).response(1.3, 1.0), rtol=1e-14)


def test_the_three_solutions_of_the_seed():
    t = np.linspace(0, 4, 100)
    over, under, critical = MassSpringDamper(1, 5, 4), MassSpringDamper(1, 2, 5), MassSpringDamper(1, 4, 4)
    s1, s2 = over.poles
    assert (s1, s2) == (-1, -4)
    assert error(over.response(t, 1.0).x, (4 * np.exp(-t) - np.exp(-4 * t)) / 3) < ROUNDING
    assert under.poles == (-1 + 2j, -1 - 2j) and under.damped_frequency == 2
    assert error(under.response(t, 1.0).x, np.exp(-t) * (np.cos(2 * t) + 0.5 * np.sin(2 * t))) < ROUNDING
    assert critical.poles == (-2, -2)
    assert error(critical.response(t, 1.0).x, (1 + 2 * t) * np.exp(-2 * t)) < ROUNDING


def test_regimes():
    found = {name: MassSpringDamper(*p).regime for name, p in SYSTEMS.items()}
    assert found["critical"] == "critically damped" and found["just above critical"] == "overdamped"
    assert found["just below critical"] == "underdamped" and found["undamped"] == "undamped"
    assert found["no spring"] == found["free"] == "drifting" and found["upright"] == "unstable"
    assert found["negative damping"] == "unstable" and set(found.values()) == set(REGIMES)


def test_critical_damping_returns_fastest():
    """The notes' claim, measured: without overshoot, no other damping is nearer to rest after a while."""
    t = 6.0
    at = {b: abs(MassSpringDamper(1, b, 1).response(t, 1.0).x) for b in (2.0, 2.2, 3.0, 6.0)}
    assert min(at, key=at.get) == 2.0
    assert MassSpringDamper(1, 2, 1).overshoot == 0.0 < MassSpringDamper(1, 1.9, 1).overshoot


def test_poles_without_cancellation():
    s1, s2 = MassSpringDamper(1, 1e8, 1).poles
    assert s1 == pytest.approx(-1e-8, rel=1e-15) and s2 == pytest.approx(-1e8, rel=1e-15)
    rng = np.random.default_rng(0)
    for m, b, k in rng.uniform([0.1, -5, -5], [5, 5, 5], (100, 3)):
        for s in MassSpringDamper(m, b, k).poles:
            assert abs(m * s * s + b * s + k) < 1e-13 * (m * abs(s) ** 2 + abs(b * s) + abs(k))


def test_figures_of_a_step():
    system = MassSpringDamper(2, 1.2, 5)
    w, z = system.natural_frequency, system.damping_ratio
    assert w == math.sqrt(2.5) and z == 1.2 / (2 * math.sqrt(10))
    peak = math.pi / system.damped_frequency
    x, v = system.response(peak, force=5.0)
    assert abs(v) < 1e-15 and x - 1 == pytest.approx(system.overshoot, rel=1e-13)
    assert system.steady_state(5.0) == 1.0
    assert system.response(1e4, force=5.0).x == 1.0


# --------------------------------------------------------------------------------------------------- control of it
def test_gains_for_stiffness_and_critical_damping():
    """k_p = k′ − k, k_v = 2√(m k′) − b; with m = 1, b = 1, k = 1, k′ = 16: 15 and 7."""
    system = MassSpringDamper(1, 1, 1)
    assert system.gains_for(16) == (15, 7)
    rng = np.random.default_rng(1)
    for m, b, k, wanted in rng.uniform(0.1, 20, (50, 4)):
        loop = MassSpringDamper(m, b, k).closed_loop(*MassSpringDamper(m, b, k).gains_for(wanted))
        assert loop.stiffness == pytest.approx(wanted, rel=1e-15) and loop.regime == "critically damped"
    system = MassSpringDamper(2, 1, 3)
    assert system.closed_loop(*system.gains_for(7, 0.3)).damping_ratio == pytest.approx(0.3)


def test_pd_law_in_simulation_is_the_closed_loop():
    system = MassSpringDamper(2, 1, 3)
    k_p, k_v = system.gains_for(20)
    law = SpringServo(k_p=k_p, k_v=k_v).law()
    run = integrate(close_loop(system.flow(), law), [0.5, -1.0], 1e-3, 2000, list(law.parameters.values()))
    wanted = system.closed_loop(*system.gains_for(20)).response(run.t, 0.5, -1.0)
    assert error(run.x, np.stack(wanted, -1)) < 1e-10  # RK4 with 1 ms


def test_partition_leaves_a_unit_mass():
    model = MassSpringDamper(3, 0.7, 11)
    servo = PartitionedServo(model, k_p=9.0, follow=False)
    assert servo.k_v == 6.0 and servo.partition(0.2, -0.5) == (3, 0.7 * -0.5 + 11 * 0.2)
    law = servo.law()
    x, v = 0.2, -0.5
    (f,) = law.act(0.0, [x, v], [], [], [9.0, 6.0])
    assert (f - 0.7 * v - 11 * x) / 3 == pytest.approx(-9 * x - 6 * v, rel=1e-14)
    assert f == pytest.approx(3 * (-9 * x - 6 * v) + 0.7 * v + 11 * x, rel=1e-14)
    run = integrate(close_loop(model.flow(), law), [x, v], 1e-3, 3000, [9.0, 6.0])
    assert error(run.x, np.stack(unit_mass(9.0).response(run.t, x, v), -1)) < 1e-10


class Wave(Reference):
    """x = A sin ωt, over any scalar."""

    m, duration = 1, math.inf

    def __call__(self, t):
        t = np.asarray(t, float)[..., None]
        return np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t)

    def trace(self, t):
        from dalembert.scalar import cos, sin

        return [sin(2.0 * t)], [2.0 * cos(2.0 * t)], [-4.0 * sin(2.0 * t)]


@pytest.mark.parametrize("k_i", [0.0, 5.0])
def test_error_along_a_trajectory_is_its_closed_form(k_i):
    """ë + k_v ė + k_p e [+ k_i ∫e] = a_dist, whatever the trajectory; e(t) to the accuracy of RK4 with 1 ms."""
    model, a_dist = MassSpringDamper(2, 0.5, 3), 0.8
    servo = PartitionedServo(model, k_p=16.0, k_v=6.0, k_i=k_i)
    law = servo.law()
    flow = close_loop(model.flow(load=True), law, Wave())
    gains = list(law.parameters.values())
    x0 = [-0.3, 2.5, *law.initial]
    run = integrate(flow, x0, 1e-3, 4000, [2 * a_dist, *gains])
    e = np.sin(2 * run.t) - run.x[:, 0]
    wanted = servo.error(run.t, 0.3, 2 - 2.5, a_dist)
    assert error(e, wanted.x) < 1e-9
    assert error(2 * np.cos(2 * run.t) - run.x[:, 1], wanted.v) < 1e-9


def test_steady_state_error_and_its_removal():
    """a_dist/k_p, f_dist/(m k_p); none with an integral."""
    model = MassSpringDamper(2, 0.5, 3)
    plain, integral = PartitionedServo(model, k_p=16.0), PartitionedServo(model, k_p=16.0, k_v=8.0, k_i=20.0)
    assert plain.steady_state_error(0.8) == 0.05 and integral.steady_state_error(0.8) == 0.0
    assert plain.error(50.0, 0.0, 0.0, 0.8).x == pytest.approx(0.05, rel=1e-12)
    late = integral.error([0.5, 30.0], 0.0, 0.0, 0.8).x
    assert late[0] > 0.01 and abs(late[1]) < 1e-12
    held = close_loop(model.flow(load=True), plain.law(), [0.0])  # the force: f_dist = m a_dist = 1.6
    run = integrate(held, [0.0, 0.0], 1e-3, 20_000, [1.6, 16.0, 8.0], every=20_000)
    assert run.x[-1, 0] == pytest.approx(-1.6 / (2 * 16), rel=1e-9)  # e = −x, with the load


def test_routh_bound_of_the_integral_gain():
    """Stable up to k_i = k_p k_v, where two poles sit at ±j√k_p."""
    model = MassSpringDamper(1, 0, 0)
    limit = PartitionedServo(model, k_p=4.0, k_v=3.0, k_i=1.0).largest_integral_gain
    assert limit == 12.0
    for k_i, stable in ((11.9, True), (12.1, False), (0.1, True), (-0.1, False)):
        servo = PartitionedServo(model, k_p=4.0, k_v=3.0, k_i=k_i)
        assert servo.stable is stable is bool((servo.poles.real < 0).all())
    edge = PartitionedServo(model, k_p=4.0, k_v=3.0, k_i=12.0).poles
    assert error(np.sort(edge.imag), [-2, 0, 2]) < 1e-12
    k_p, k_v, k_i = triple_pole_gains(2.0)
    assert np.abs(PartitionedServo(model, k_p=k_p, k_v=k_v, k_i=k_i).poles + 2).max() < 1e-4 and k_i == k_p * k_v / 9
    assert critical_gains(3.0) == (9.0, 6.0)


def test_error_dynamics_are_a_state_space():
    servo = PartitionedServo(MassSpringDamper(2, 1, 1), k_p=16.0, k_v=6.0, k_i=5.0)
    found = sorted(servo.error_dynamics().poles, key=lambda s: (s.real, s.imag))
    assert np.abs(found - np.array(sorted(servo.poles, key=lambda s: (s.real, s.imag)))).max() < 1e-12
    t = np.linspace(0, 3, 31)
    _, y = servo.error_dynamics().simulate(t, [0.4], [0.1, 0.2, 0.0])
    assert error(y[:, 0], servo.error(t, 0.1, 0.2, 0.4).x) < 1e-12


# ---------------------------------------------------------------------------------------------------- other views
def test_state_space_of_the_seed():
    system = MassSpringDamper(2, 3, 8)
    both = system.state_space("both")
    assert both.A.tolist() == [[0, 1], [-4, -1.5]] and both.B.tolist() == [[0], [0.5]]
    assert system.state_space().C.tolist() == [[1, 0]] and system.state_space("velocity").C.tolist() == [[0, 1]]
    assert not system.state_space().D.any()
    for s in (0.3 + 1j, -2 + 0.5j):
        assert complex(system.transfer()(s)) == pytest.approx(complex(system.state_space()(s)[0, 0]), rel=1e-14)


def test_flow_agrees_and_its_energy_is_lost_to_the_damper():
    system = MassSpringDamper(2, 0.5, 3)
    run = integrate(system.flow(), [0.4, 1.0], 1e-3, 3000, [0.0])
    assert error(run.x, np.stack(system.response(run.t, 0.4, 1.0), -1)) < 1e-11
    energy = run.y.sum(-1)
    lost = np.trapezoid(0.5 * run.x[:, 1] ** 2, run.t)
    assert energy[0] - energy[-1] == pytest.approx(lost, rel=1e-6)


# -------------------------------------------------------------------------------------------------------- sources
def test_gravity_as_a_spring():
    """∂g/∂q of a hanging pendulum is m g l; of any arm it is the derivative of g, and symmetric."""
    assert springs.pendulum_stiffness(2.0, 0.5) == 2.0 * 9.81 * 0.5
    arm = dl.load("planar-2r")
    q = np.array([-1.2, 0.4])
    K = springs.gravity_stiffness(arm, q)
    h = 1e-6
    columns = [(arm.gravity_torque(q + d) - arm.gravity_torque(q - d)) / (2 * h) for d in h * np.eye(2)]
    assert error(K, np.stack(columns, -1)) < 1e-8 and np.allclose(K, K.T, rtol=1e-13)
    hanging, upright = (np.linalg.eigvalsh(springs.gravity_stiffness(arm, [a * math.pi / 2, 0.0])) for a in (-1, 1))
    assert (hanging > 0).all() and (upright < 0).all()


def test_a_joint_near_rest_swings_as_its_mass_on_a_spring():
    arm = dl.load("planar-2r")
    q = np.array([-math.pi / 2, 0.0])
    local = springs.joint_system(arm, q, 1, damping=0.3)
    assert local.mass == pytest.approx(float(arm.mass_matrix(q)[1, 1])) and local.damping == 0.3
    assert local.stiffness > 0 and local.regime == "underdamped"
    moved = q + np.array([0.0, 1e-4])
    assert arm.gravity_torque(moved)[1] == pytest.approx(local.stiffness * 1e-4, rel=1e-6)


def test_where_damping_comes_from():
    motor = dl.DCMotor(resistance=2.0, torque_constant=0.1, damping=0.01)
    assert springs.back_emf_damping(motor, ratio=50) == pytest.approx(50**2 * 0.1 * 0.1 / 2.0)
    dry = friction("coulomb", coulomb=1.5)
    b = equivalent_damping(dry, amplitude=0.1, frequency=5.0)
    assert b == pytest.approx(4 * 1.5 / (math.pi * 5 * 0.1)) and springs.equivalent_damping is equivalent_damping
    assert springs.shaft_stiffness(80e9, 1e-9, 0.2) == pytest.approx(400.0)
    assert springs.in_series(300.0, 600.0) == pytest.approx(200.0) and springs.in_parallel(300.0, 600.0) == 900.0
    # A gas spring: p V^γ stays, so dF/dx = γ p A²/V.
    p, A, V, h = 2e5, 1e-3, 1e-4, 1e-7
    force = [p * (V / (V - A * x)) ** 1.4 * A for x in (-h, h)]
    assert springs.air_stiffness(p, A, V) == pytest.approx((force[1] - force[0]) / (2 * h), rel=1e-6)


# ------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MassSpringDamper(0, 1, 1), "out-of-range the mass of a mass-spring-damper"),
        (lambda: MassSpringDamper(1, math.nan, 1), "not-finite the damping of a mass-spring-damper"),
        (lambda: MassSpringDamper(1, "x", 1), "wrong-type the damping of a mass-spring-damper"),
        (lambda: MassSpringDamper(1, 1, 1).response(-1.0), "out-of-range t"),
        (lambda: MassSpringDamper(1, 1, 1).response([0.0, math.inf]), "not-finite t"),
        (lambda: unit_mass(1.0).response(np.zeros(3), np.zeros(2)), "wrong-shape"),
        (lambda: MassSpringDamper(1, 1, -1).natural_frequency, "out-of-range stiffness"),
        (lambda: MassSpringDamper(1, 1, 0).damping_ratio, "out-of-range stiffness"),
        (lambda: MassSpringDamper(1, 1, 0).steady_state(1.0), "infeasible"),
        (lambda: MassSpringDamper(1, 1, -1).overshoot, "infeasible"),
        (lambda: MassSpringDamper(1, 1, 1).gains_for(-2), "out-of-range the stiffness of the closed loop"),
        (lambda: unit_mass(-1.0), "out-of-range k_p"),
        (lambda: PartitionedServo(3, k_p=1.0), "wrong-type"),
        (lambda: PartitionedServo(unit_mass(1), k_p=1, k_v=1, k_i=2).steady_state_error(1.0), "infeasible"),
        (lambda: springs.gravity_stiffness(3, [0.0]), "wrong-type"),
        (lambda: springs.joint_system(dl.load("planar-2r"), [0, 0], 5), "out-of-range joint"),
        (lambda: springs.back_emf_damping(3), "wrong-type"),
        (lambda: springs.in_series(1.0, 0.0), "out-of-range stiffnesses"),
        (lambda: springs.in_parallel(), "too-few stiffnesses"),
    ],
)
def test_bad_input(call, words):
    with raises(InputError, words):
        call()


def test_unknown_names():
    with raises(UnknownNameError, "unknown-name"):
        MassSpringDamper(1, 1, 1).state_space("postion")
    with raises(UnknownNameError, "unknown-name"):
        springs.joint_system(dl.load("planar-2r"), [0, 0], "elbow")
