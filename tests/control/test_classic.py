"""Linear systems, root locus, lead and lag, margins, LQR: closed forms, python-control and SciPy as oracles."""

from __future__ import annotations

import math
import sys

import matplotlib
import numpy as np
import pytest
from scipy.optimize import brentq

import dalembert as dl
from dalembert.control import (
    LQR,
    MassSpringDamper,
    RootLocus,
    StateSpace,
    TransferFunction,
    bode_plot,
    frequency_response,
    lag_for_accuracy,
    lead_for_margin,
    lead_for_pole,
    linearize,
    lqr,
    margins,
    step_figures,
    step_plot,
    ultimate,
)
from dalembert.errors import InputError, MissingExtraError, UnknownNameError
from dalembert.lagrange.examples import mass_spring_damper
from dalembert.simulation import close_loop, integrate
from errors import raises
from tolerances import DIFFERENCE, ROUNDING, error

matplotlib.use("Agg")
control = pytest.importorskip("control")
SERVO = TransferFunction([1.0], np.poly([0, -1, -5]))  # 1/(s (s + 1) (s + 5))
DOUBLE = TransferFunction([1.0], [1.0, 0.0, 0.0])


def same_set(a, b) -> float:
    """How far two sets of complex numbers are apart, whatever their order."""
    distance = np.abs(np.asarray(a)[:, None] - np.asarray(b)[None])
    return float(max(distance.min(0).max(), distance.min(1).max()))


# -------------------------------------------------------------------------------------------------- linear systems
def test_discretization_is_exact_and_python_controls():
    system = MassSpringDamper(2, 0.6, 5).state_space("both")
    sampled = system.discretize(0.3)
    theirs = control.c2d(system.to_control(), 0.3, "zoh")
    assert error(sampled.A, theirs.A) < ROUNDING and error(sampled.B, theirs.B) < ROUNDING
    x = MassSpringDamper(2, 0.6, 5).response(0.3, 0.2, -0.4, 0.7)
    assert error(sampled.A @ [0.2, -0.4] + sampled.B[:, 0] * 0.7, np.array(x)) < ROUNDING
    integrator = StateSpace([[0, 1], [0, 0]], [[0], [1]]).discretize(0.5)  # A is singular
    assert integrator.A.tolist() == [[1, 0.5], [0, 1]] and integrator.B.tolist() == [[0.125], [0.5]]
    assert sampled.stable and not integrator.stable


def test_transfer_functions_and_back():
    rng = np.random.default_rng(1)
    for n in range(1, 6):
        A, B, C, D = (rng.normal(size=shape) for shape in ((n, n), (n, 2), (2, n), (2, 2)))
        system = StateSpace(A, B, C, D)
        for i in range(2):
            for j in range(2):
                G = system.transfer(j, i)
                again = G.state_space()
                for s in (0.3 + 1.1j, -2.0 + 0.1j):
                    wanted = system(s)[i, j]
                    assert complex(G(s)) == pytest.approx(wanted, rel=1e-9)
                    assert again(s)[0, 0] == pytest.approx(wanted, rel=1e-9)
    assert SERVO.state_space().transfer().num.size == 1  # no ghosts of leading coefficients


def test_composition():
    C = TransferFunction([2.0, 1.0], [1.0, 10.0])
    s = 0.4 + 2j
    assert (C * SERVO)(s) == pytest.approx(C(s) * SERVO(s))
    assert (3 * C).feedback(C)(s) == pytest.approx(3 * C(s) / (1 + 3 * C(s) ** 2))
    late = TransferFunction([1], [1, 1], delay=0.5)
    assert late(s) == pytest.approx(np.exp(-0.5 * s) / (s + 1))
    assert late.pade(4)(1j) == pytest.approx(late(1j), rel=1e-7)
    _, den = control.pade(0.5, 3)
    assert error(late.pade(3).den, np.polymul([1, 1], np.array(den)) / den[0] * late.pade(3).den[0]) < ROUNDING


def test_simulation_of_held_inputs_against_python_control():
    system = linearize(dl.load("planar-2r"), [-1.2, 0.3])
    t = np.linspace(0, 2, 101)
    u = np.stack((np.sin(3 * t), np.cos(t)), -1)
    x, y = system.simulate(t, u, [0.1, 0, 0, 0.2])
    sampled = control.c2d(system.to_control(), t[1], "zoh")
    theirs = control.forced_response(sampled, t, u.T, [0.1, 0, 0, 0.2])
    assert error(x, theirs.states.T) < 1e-10 and np.array_equal(x, y)
    run = integrate(system.flow(), [0.1, 0, 0, 0.2], t[1] / 10, 1000, np.repeat(u[:-1], 10, 0), every=10)
    assert error(run.x, x) < 1e-8  # RK4 with 2 ms


# ------------------------------------------------------------------------------------------------- linearized systems
def numeric(rate, x, u, h=1e-6):
    A = np.stack([(rate(x + d, u) - rate(x - d, u)) / (2 * h) for d in h * np.eye(x.size)], -1)
    B = np.stack([(rate(x, u + d) - rate(x, u - d)) / (2 * h) for d in h * np.eye(u.size)], -1)
    return A, B


def systems():
    arm = dl.load("planar-2r")
    motor = dl.DCMotor(resistance=1.0, torque_constant=0.5, inertia=1e-3, damping=1e-3, inductance=0.01)
    yield "robot", arm, np.array([-1.2, 0.3]), arm.flow()
    driven = dl.DrivenRobot(arm, [motor, motor], [dl.Gear(50), dl.Gear(30)])
    yield "driven", driven, np.array([-1.2, 0.3]), driven.flow()
    flexible = dl.FlexibleRobot(arm, stiffness=800.0, rotor_inertia=1e-4, gear_ratio=50)
    yield "flexible", flexible, np.array([-1.2, 0.3]), flexible.flow()
    yield "mass", mass_spring_damper(), np.array([0.2]), None


@pytest.mark.parametrize("name", ["robot", "driven", "flexible", "mass"])
def test_every_system_of_ours_linearizes_about_rest(name):
    _, system, q, flow = next(row for row in systems() if row[0] == name)
    found = linearize(system, q)
    if flow is None:
        wanted = MassSpringDamper(1, 0.4, 4).state_space("both")
        assert error(found.A, wanted.A) < ROUNDING and error(found.B, wanted.B) < ROUNDING
        assert found.u_at[0] == pytest.approx(0.8) and found.states == ("x", "x_rate")
        return
    assert found.states == flow.states and found.inputs == flow.inputs
    rate = lambda x, u: np.array(flow.rate(0.0, x.tolist(), u.tolist()), float)  # noqa: E731
    assert np.abs(rate(found.x_at, found.u_at)).max() < 1e-9  # it rests there
    A, B = numeric(rate, found.x_at, found.u_at)
    assert error(found.A, A) < 100 * DIFFERENCE and error(found.B, B) < 100 * DIFFERENCE
    of_flow = linearize(flow, found.x_at, found.u_at)
    assert error(of_flow.A, found.A) < 1e-9 and error(of_flow.B, found.B) < 1e-9


def test_outputs_by_name():
    arm = dl.load("planar-2r")
    whole = linearize(arm, [-1.0, 0.5])
    one = whole.of(inputs=whole.inputs[1], outputs=whole.states[2])
    assert one.B.shape == (4, 1) and one.C.tolist() == [[0, 0, 1, 0]] and one.outputs == (whole.states[2],)
    assert linearize(arm, [-1.0, 0.5], outputs=[whole.states[0]]).C.shape == (1, 4)


def test_controllability_and_observability():
    assert StateSpace([[0, 1], [0, 0]], [[0], [1]]).controllability == 2
    assert StateSpace([[1, 0], [0, 2]], [[1], [0]]).controllability == 1
    assert MassSpringDamper(1, 1, 1).state_space().observability == 2
    free = MassSpringDamper(1, 1, 0).state_space("velocity")
    assert free.observability == 1  # where it is does not show in its velocity
    arm = linearize(dl.load("panda"), np.zeros(7))
    assert arm.controllability == 14


# -------------------------------------------------------------------------------------------------------- root locus
def test_pick_a_point_and_read_the_gain():
    """1/(s(s+1)(s+5)): the ray of damping ½ is met at s = −5/12 (1 ∓ j√3), the imaginary axis at the ultimate gain."""
    locus = RootLocus(SERVO)
    (point,) = locus.for_damping(0.5)
    assert point.s == pytest.approx(complex(-5 / 12, 5 / 12 * math.sqrt(3)), rel=1e-12)
    found = locus.at(point.s)
    assert abs(found.angle_error) < 1e-12 and found.gain == pytest.approx(1 / abs(SERVO(point.s)), rel=1e-14)
    assert np.abs(found.poles - point.s).min() < 1e-12  # the gain puts a pole there
    (edge,) = locus.for_damping(0.0)
    assert edge.gain == pytest.approx(ultimate(SERVO).gain) == pytest.approx(30.0)
    with raises(InputError, "infeasible s"):
        locus.at(-1 + 2j)
    near = locus.nearest(-1 + 2j)
    assert abs(near.angle_error) < 1e-6
    gains = np.geomspace(1e-3, 1e4, 20_001)
    assert abs(near.s - (-1 + 2j)) <= np.abs(locus.poles(gains) - (-1 + 2j)).min() + 1e-12


def test_angle_and_magnitude_conditions_everywhere():
    rng = np.random.default_rng(2)
    for _ in range(30):
        G = TransferFunction(np.poly(rng.uniform(-3, 0, 1)), np.poly(rng.uniform(-4, 0.5, 4)))
        locus, K = RootLocus(G), float(rng.uniform(0.1, 50))
        for s in locus.poles(K):
            assert abs(locus.angle_error(s)) < 1e-6
            assert locus.at(s, 1e-5).gain == pytest.approx(K, rel=1e-6)


def test_shape_of_the_locus():
    locus = RootLocus(SERVO)
    (leave,) = locus.breakaways()
    assert leave.s == pytest.approx(-2 + math.sqrt(21) / 3, rel=1e-12)
    assert leave.gain == pytest.approx(-np.polyval(SERVO.den, leave.s).real) == pytest.approx(1.128, abs=1e-3)
    poles = locus.poles(leave.gain)
    assert np.abs(np.sort_complex(poles)[1:] - leave.s).max() < 1e-6  # a double pole: half the digits
    center, angles = locus.asymptotes()
    assert center == -2.0 and sorted(np.degrees(angles)) == pytest.approx([-60, 60, 180])
    far = np.sort(np.angle(locus.poles(1e9) - center))
    assert np.degrees(far) == pytest.approx([-60, 60, 180], abs=0.5)
    with_zero = RootLocus(TransferFunction([1, 3], np.poly([-1, -2])))  # a circle about −3, radius √2
    assert [b.s.real for b in with_zero.breakaways()] == pytest.approx([-3 + math.sqrt(2), -3 - math.sqrt(2)])
    (point, *_) = (s for s in with_zero.poles(3.0) if s.imag > 0)
    assert abs(point + 3) == pytest.approx(math.sqrt(2))


def test_departure_angle():
    G = TransferFunction([1.0], np.polymul([1, 2, 2], [1, 0]))  # poles 0, −1 ± j
    angle = RootLocus(G).departure_angle(-1 + 1j)
    small = RootLocus(G).poles(1e-7)
    moved = small[np.argmin(np.abs(small - (-1 + 1j)))] - (-1 + 1j)
    assert angle == pytest.approx(np.angle(moved), abs=1e-6) and math.degrees(angle) == pytest.approx(-45)


def test_root_locus_against_python_control():
    gains = np.array([0.5, 5.0, 25.0])
    theirs = control.root_locus_map(SERVO.to_control(), gains=gains).loci
    ours = RootLocus(SERVO).poles(gains)
    assert all(same_set(a, b) < 1e-9 for a, b in zip(ours, theirs, strict=True))


# ------------------------------------------------------------------------------------------------------ lead and lag
@pytest.mark.parametrize(
    ("plant", "margin", "crossover", "stages"),
    [(SERVO, 50, 1.5, 1), (DOUBLE, 45, 3.0, 1), (DOUBLE, 75, 2.0, 2), (SERVO, 60, 4.0, 2)],
)
def test_lead_for_a_phase_margin(plant, margin, crossover, stages):
    C = lead_for_margin(plant, math.radians(margin), crossover, stages)
    assert C.residual < 1e-12 and C.zero < C.pole
    found = margins(C.transfer * plant)
    assert math.degrees(found.phase) == pytest.approx(margin, abs=1e-6)
    assert found.phase_frequency == pytest.approx(crossover, rel=1e-6)
    assert (C.transfer * plant).feedback().stable


def test_a_lead_is_judged_by_a_phase_that_is_followed_and_by_its_closed_loop():
    six = TransferFunction([1.0], np.poly([-1] * 6))  # −429° at 3 rad/s, not −69°
    with raises(InputError, "infeasible crossover"):
        lead_for_margin(six, math.radians(50), 3.0)
    # Two leads do at a crossover where it has turned by 6 · 35° = 210°; a dead time turns further.
    C = lead_for_margin(six, math.radians(50), math.tan(math.radians(35)), 2)
    assert math.degrees(C.phase) == pytest.approx(80) and margins(C.transfer * six).stable
    late = TransferFunction([1.0], [1.0, 1.0], delay=2 * math.pi)
    with raises(InputError, "infeasible crossover"):  # 50 − 180 + 45 + 360
        lead_for_margin(late, math.radians(50), 1.0)
    falling = lead_for_margin(TransferFunction([1.0], [1.0, -1.0]), math.radians(60), 2.0)  # −180° + atan 2
    assert falling.phase == pytest.approx(math.radians(60) - math.atan(2)) and falling.residual < 1e-12
    # At its resonance the loop's gain is 1 once more, beyond −180°: the margin is kept and the loop is not stable.
    ringing = TransferFunction([1.0], np.polymul([1.0, 0.0], np.polymul([1.0, 0.02, 1.0], [1.0, 3.0])))
    with raises(InputError, "infeasible crossover"):
        lead_for_margin(ringing, math.radians(80), 0.5)


@pytest.mark.parametrize("zero", [None, 0.8])
def test_lead_puts_a_pole_where_it_is_wanted(zero):
    target = -1.5 + 2j
    C = lead_for_pole(DOUBLE if zero is None else SERVO, target, zero)
    loop = (C.transfer * (DOUBLE if zero is None else SERVO)).feedback()
    assert C.residual < 1e-12 and np.abs(loop.poles - target).min() < 1e-9
    assert zero is None or C.zero == pytest.approx(zero)
    with raises(InputError, "infeasible s"):
        RootLocus(SERVO).at(target)  # which is why a lead was needed


def test_lag_raises_accuracy_and_leaves_the_crossover():
    K = 2.0
    before = margins(K * SERVO)
    C = lag_for_accuracy(K * SERVO, 10.0, before.phase_frequency)
    after = margins(C.transfer * (K * SERVO))
    assert C.transfer.gain_at_rest == pytest.approx(10.0)
    assert after.phase_frequency == pytest.approx(before.phase_frequency, rel=0.02)
    # A zero a tenth below the crossover costs atan(1/10) − atan(1/100) = 5.1°.
    assert math.degrees(before.phase - after.phase) == pytest.approx(5.1, abs=0.7)


# ----------------------------------------------------------------------------------------- margins, Bode, step
def test_margins_of_a_known_loop():
    found = margins(6 * SERVO)
    assert found.gain == pytest.approx(5.0) and found.gain_frequency == pytest.approx(math.sqrt(5))
    w = found.phase_frequency
    assert abs(6 * SERVO(1j * w)) == pytest.approx(1.0) and found.delay == pytest.approx(found.phase / w)
    assert found.phase == pytest.approx(math.pi + np.angle(SERVO(1j * w)))
    never = margins(MassSpringDamper(1, 1, 4))
    assert never.gain == math.inf
    assert found.stable and never.stable and not margins(31 * SERVO).stable


def test_margins_say_whether_the_closed_loop_is_stable():
    loop = TransferFunction([1.0], np.poly([1, -2, -3]))
    found = margins(loop)
    assert found.gain == pytest.approx(6.0) and found.phase == math.inf and not found.stable
    sampled = StateSpace([[0.5]], [[1.0]], dt=0.1)  # z − 0.5 + K: −0.5 and −1.5
    assert margins(sampled).stable and not margins(StateSpace([[0.5]], [[2.0]], dt=0.1)).stable


def test_step_figures_of_a_sampled_system():
    figures = step_figures(StateSpace([[0.5]], [[0.5]], dt=0.1))  # z = 0.5 lies in the right half plane, and is stable
    assert figures.end == pytest.approx(1.0) and figures.overshoot == pytest.approx(0.0, abs=1e-9)
    with raises(InputError, "infeasible system"):
        step_figures(StateSpace([[-1.5]], [[1.0]], dt=0.1))


def test_frequency_response_of_a_robot():
    arm = dl.load("planar-2r")
    system = linearize(arm, [-1.2, 0.3])
    one = system.of(inputs=system.inputs[0], outputs=system.states[0])
    w, magnitude, phase = frequency_response(one, np.geomspace(0.3, 30, 20))
    wanted = np.array([one(1j * x)[0, 0] for x in w])
    assert error(magnitude, np.abs(wanted)) < 1e-9 and np.allclose(np.exp(1j * phase), wanted / np.abs(wanted))


def test_step_figures():
    """ω = 5, any ζ: y = 1 − e^(−ζωt) (cos ω_d t + ζ/√(1−ζ²) sin ω_d t), overshoot e^(−πζ/√(1−ζ²))."""
    for zeta in (0.01, 0.1, 0.3, 0.5, 0.7797, 0.9):  # 0.7797: the first peak passes the band by a millionth
        w, wd = 5.0, 5.0 * math.sqrt(1 - zeta**2)
        found = step_figures(TransferFunction([25.0], [1.0, 10 * zeta, 25.0]))

        def y(t, zeta=zeta, w=w, wd=wd):
            return 1 - np.exp(-zeta * w * t) * (np.cos(wd * t) + zeta * w / wd * np.sin(wd * t))

        assert found.end == pytest.approx(1.0, abs=1e-12)
        assert found.overshoot == pytest.approx(math.exp(-math.pi * zeta * w / wd), abs=1e-9)
        low, high = (brentq(lambda t, x=x: y(t) - x, 0, math.pi / wd, xtol=1e-14) for x in (0.1, 0.9))
        assert found.rise_time == pytest.approx(high - low, abs=1e-9)
        assert abs(y(found.settling_time) - 1) == pytest.approx(0.02, abs=1e-9)
        t = found.settling_time * (1 + 1e-9) + np.linspace(0, 10 / (zeta * w), 400_001)
        assert np.abs(y(t) - 1).max() <= 0.02 + 1e-9
    late = step_figures(TransferFunction([-2.0], [1.0, 1.0], 0.5))  # falls, after a dead time
    assert late.rise_time == pytest.approx(math.log(9)) and late.settling_time == pytest.approx(0.5 + math.log(50))
    stiff = step_figures(TransferFunction([1e6], np.poly([-1.0, -1e6])))
    assert stiff.settling_time == pytest.approx(math.log(50) + 1e-6, abs=1e-8)
    with raises(InputError, "wrong-value system"):
        step_figures(TransferFunction([1.0, 0.0], [1.0, 2.0, 1.0]))


def test_pictures():
    import matplotlib.pyplot as plt

    for figure in (
        bode_plot(6 * SERVO, label="servo"),
        step_plot(MassSpringDamper(1, 1, 1)),
        RootLocus(SERVO).plot(),
        RootLocus(TransferFunction([1, 3], np.poly([-1, -2]))).plot(),
    ):
        assert figure.axes[0].lines
        figure.canvas.draw()
        plt.close(figure)
    assert "Gm = 5.00" in bode_plot(6 * SERVO).axes[0].get_title()
    plt.close("all")


# ------------------------------------------------------------------------------------------------------------- LQR
@pytest.mark.parametrize("sampled", [False, True])
def test_lqr_against_python_control(sampled):
    rng = np.random.default_rng(3)
    for n, m in ((2, 1), (4, 2), (6, 3)):
        system = StateSpace(rng.normal(size=(n, n)), rng.normal(size=(n, m)))
        if sampled:
            system = system.discretize(0.1)
        L, M, N = rng.normal(size=(n, n)), rng.normal(size=(m, m)), 0.1 * rng.normal(size=(n, m))
        Q, R = L @ L.T + np.eye(n), M @ M.T + np.eye(m)
        found = lqr(system, Q, R, N)
        solver = control.dlqr if sampled else control.lqr
        K, S, E = solver(system.A, system.B, Q, R, N)
        assert error(found.K, K) < 1e-8 and error(found.P, S) < 1e-8
        assert same_set(found.poles, E) < 1e-8
        assert found.residual < 1e-12 and found.stable


def test_lqr_of_a_double_integrator():
    """Q = I, R = 1: K = (1, √3), a textbook's result."""
    found = lqr(StateSpace([[0, 1], [0, 0]], [[0], [1]]), 1.0, 1.0)
    assert error(found.K, [[1, math.sqrt(3)]]) < 1e-12
    x0 = np.array([0.3, -0.2])
    t = np.linspace(0, 30, 30_001)
    x, _ = found.closed_loop().simulate(t, x0=x0)
    cost = np.trapezoid((x**2).sum(-1) + (x @ found.K[0]) ** 2, t)
    assert cost == pytest.approx(x0 @ found.P @ x0, rel=1e-6)  # the certificate means what it says


def test_lqr_holds_an_arm_upright():
    arm = dl.load("planar-2r")
    q = np.array([math.pi / 2, 0.0])
    system = linearize(arm, q)
    assert system.poles.real.max() > 1  # it falls
    regulator = lqr(system, [100, 100, 1, 1], 0.01)
    assert isinstance(regulator, LQR) and regulator.stable
    loop = close_loop(arm.flow(), regulator.law())
    run = integrate(loop, [q[0] + 0.2, -0.1, 0, 0], 1e-3, 5000, every=5000)
    assert np.abs(run.x[-1] - [*q, 0, 0]).max() < 1e-6


def test_a_sampled_regulator_runs_at_its_sample_time_only():
    arm = dl.load("planar-2r")
    q = np.array([math.pi / 2, 0.0])
    law = lqr(linearize(arm, q).discretize(0.02), [100, 100, 1, 1], 0.01)
    given = {"q0": q + np.array([0.05, -0.02]), "duration": 4.0, "dt": 0.001}
    assert np.abs(dl.simulate(arm, law, **given, sensors=dl.Sensors(sample_time=0.02)).q[-1] - q).max() < 1e-4
    with raises(InputError, "conflict sample_time"):
        dl.simulate(arm, law, **given, sensors=dl.Sensors(sample_time=0.01))
    with pytest.raises(InputError):  # a sampled law alone has no rate
        dl.simulate(arm, law, **given)
    with pytest.raises(InputError):
        close_loop(arm.flow(), law.law())


# --------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: TransferFunction([1], [0]), "out-of-range den"),
        (lambda: TransferFunction(["a"], [1]), "wrong-type num"),
        (lambda: TransferFunction([1], [1, math.inf]), "not-finite den"),
        (lambda: TransferFunction([1], [1], delay=-1), "out-of-range delay"),
        (lambda: TransferFunction([1], [1, 1], delay=1).feedback(), "unsupported"),
        (lambda: TransferFunction([1, 0, 0], [1, 1]).state_space(), "wrong-value"),
        (lambda: SERVO * "x", "wrong-type gain"),
        (lambda: StateSpace([[1, 2]], [[1]]), "wrong-shape A"),
        (lambda: StateSpace([[1]], [[1], [2]]), "wrong-shape B"),
        (lambda: StateSpace([[math.nan]], [[1]]), "not-finite A"),
        (lambda: StateSpace([[1]], [[1]], states=("a", "b")), "wrong-shape states"),
        (lambda: StateSpace([[1]], [[1]], dt=0), "out-of-range the sample time"),
        (lambda: StateSpace([[1]], [[1]], dt=0.1).discretize(0.1), "unsupported"),
        (lambda: StateSpace([[-1]], [[1]]).simulate([0.0, 1.0, 3.0]), "wrong-value t"),
        (lambda: StateSpace([[-1]], [[1]])(-1.0), "singular s"),
        (lambda: linearize(dl.load("planar-2r"), [1.0]), "wrong-shape x"),
        (lambda: linearize(3), "wrong-type system"),
        (lambda: RootLocus(TransferFunction([1, 0], [1])), "wrong-value plant"),
        (lambda: RootLocus(SERVO).at(0.0), "singular s"),
        (lambda: RootLocus(SERVO).for_damping(1.0), "out-of-range zeta"),
        (lambda: RootLocus(SERVO).departure_angle(-3), "wrong-value pole"),
        (lambda: lead_for_margin(DOUBLE, math.radians(80), 1.0), "infeasible crossover"),
        (lambda: lead_for_margin(SERVO, 50, 1.0), "out-of-range phase_margin"),
        (lambda: lead_for_margin(SERVO, 1.0, 0.0), "out-of-range crossover"),
        (lambda: lead_for_pole(SERVO, -1.0), "out-of-range s"),
        (lambda: lag_for_accuracy(SERVO, 0.5, 1.0), "out-of-range factor"),
        (lambda: margins(linearize(dl.load("planar-2r"), [0, 0])), "wrong-shape system"),
        (lambda: margins(3), "wrong-type system"),
        (lambda: step_figures(SERVO), "infeasible system"),
        (lambda: frequency_response(SERVO, [-1.0]), "out-of-range omega"),
        (lambda: lqr(SERVO, 1, 1), "wrong-type"),
        (lambda: lqr(SERVO.state_space(), -1, 1), "wrong-value Q"),
        (lambda: lqr(SERVO.state_space(), 1, 0), "wrong-value R"),
        (lambda: lqr(SERVO.state_space(), [1, 2], 1), "wrong-shape Q"),
        (lambda: lqr(StateSpace([[1, 0], [0, 2]], [[1], [0]]), 1, 1), "infeasible"),
    ],
)
def test_bad_input(call, words):
    with raises(InputError, words):
        call()


def test_linearize_needs_a_state():
    with pytest.raises(InputError):
        linearize(dl.load("planar-2r"))


def test_unknown_names():
    system = MassSpringDamper(1, 1, 1).state_space()
    with raises(UnknownNameError, "unknown-name"):
        system.of(outputs="x_rat")
    with raises(UnknownNameError, "unknown-name"):
        system.step([0, 1], "g")


@pytest.mark.parametrize(
    ("library", "call", "extra"),
    [
        ("control", lambda: margins(SERVO), "control"),
        ("control", lambda: TransferFunction([1], [1], delay=1.0).pade(), "control"),
        ("matplotlib.pyplot", lambda: RootLocus(SERVO).plot(), "plot"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(monkeypatch, library, call, extra):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError) as caught:
        call()
    assert f"'dalembert[{extra}]'" in str(caught.value)
