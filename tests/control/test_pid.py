"""PID: forms, the law against its transfer function, limits and wind-up, bumps, samples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dalembert.control import PID, Parallel, Series, Standard, TransferFunction
from dalembert.control.pid import ANTI_WINDUP, to_parallel, to_series, to_standard
from dalembert.errors import InputError, UnknownNameError
from dalembert.flow import Flow
from dalembert.simulation import close_loop, integrate
from errors import raises
from tolerances import error

sizes = st.floats(1e-3, 1e3)


# ----------------------------------------------------------------------------------------------------------- forms
@given(sizes, sizes, st.floats(0, 0.25))
def test_forms_turn_into_each_other(K, T_i, part):
    standard = Standard(K, T_i, part * T_i * (1 - 1e-12))
    back = to_standard(to_series(standard))
    assert np.allclose(back, standard, rtol=1e-7)  # at T_i = 4 T_d the two zeros meet: half the digits
    assert np.allclose(to_standard(to_parallel(standard)), standard, rtol=1e-12)


@given(sizes, sizes, sizes)
def test_every_form_is_the_same_function_of_s(K, T_i, T_d):
    series = Series(K, T_i, T_d)
    s = 0.3 + 0.7j
    value = K * (1 + 1 / (T_i * s)) * (1 + T_d * s)
    k_p, k_i, k_d = to_parallel(series)
    K2, I2, D2 = to_standard(series)
    assert k_p + k_i / s + k_d * s == pytest.approx(value, rel=1e-12)
    assert K2 * (1 + 1 / (I2 * s) + D2 * s) == pytest.approx(value, rel=1e-12)
    assert to_series(series) == series


def test_forms_without_a_term():
    assert to_parallel(Standard(2.0)) == (2.0, 0.0, 0.0)
    assert to_standard(Parallel(2.0, 0, 1)) == (2, math.inf, 0.5)
    assert to_series(Parallel(2.0, 0, 1)) == (2, math.inf, 0.5)


# ------------------------------------------------------------------------------------------------------- the law
LAG = Flow("lag", ("y",), ("u",), lambda t, x, u: [u[0] - x[0]])
MASS = Flow("mass", ("y", "y_rate"), ("u", "d"), lambda t, x, u: [x[1], u[0] + u[1]], positions=1)


def run(flow, law, r, x0, dt, steps, d=()):
    loop = close_loop(flow, law)
    u = [*d, *law.parameters.values(), r]
    return integrate(loop, [*x0, *law.initial], dt, steps, u)


@pytest.mark.parametrize("b", [0.0, 1.0])
@pytest.mark.parametrize("c", [0.0, 1.0])
def test_the_law_is_its_transfer_function(b, c):
    """1/(s + 1) under PID, against the exact answer of the closed loop as a linear system."""
    pid = PID(k_p=3.0, k_i=2.0, k_d=0.5, filter_time=0.2, proportional_weight=b, derivative_weight=c)
    found = run(LAG, pid.law(), 1.0, [0.0], 1e-3, 5000)
    T, G = 0.2, TransferFunction([1], [1, 1])
    C = pid.transfer()
    assert np.allclose(C(2j), 3 + 2 / 2j + 0.5 * 2j / (1 + 0.2 * 2j))
    # From r the law has k_p b + k_i/s + c k_d s/(1 + T s) over the same denominator.
    F = TransferFunction([b * 3 * T + c * 0.5, b * 3 + 2 * T, 2.0], [T, 1.0, 0.0])
    loop = np.polyadd(np.polymul(C.den, G.den), np.polymul(C.num, G.num))
    whole = TransferFunction(np.polymul(F.num, G.num), loop)
    assert error(found.x[:, 0], whole.state_space().step(found.t)[:, 0]) < 1e-9


def test_integral_removes_a_load_and_pd_does_not():
    law = PID(k_p=4.0, k_i=0.0, k_d=3.0, filter_time=0.05).law()
    loaded = run(MASS, law, 0.0, [0, 0], 1e-2, 4000, [0.5])
    assert loaded.x[-1, 0] == pytest.approx(0.5 / 4.0, rel=1e-6)  # d/k_p
    law = PID(k_p=4.0, k_i=2.0, k_d=3.0, filter_time=0.05).law()
    assert abs(run(MASS, law, 0.0, [0, 0], 1e-2, 4000, [0.5]).x[-1, 0]) < 1e-6


def test_a_measured_rate_is_taken_as_it_is():
    pid = PID(k_p=4.0, k_i=0.0, k_d=2.0, rate=True, derivative_weight=1.0)
    law = pid.law()
    assert law.measures == ("y", "y_rate") and law.follows == ("r", "r_rate")
    (u,) = law.act(0.0, [0.2, -0.3], [1.0, 0.5], [0.1], list(law.parameters.values()))
    assert u == pytest.approx(4 * 0.8 + 0.1 + 2 * (0.5 + 0.3))


# ---------------------------------------------------------------------------------------------------------- wind-up
def overshoot(kind: str, high: float = 1.2) -> float:
    """Of a lag that is asked for 1.1 with at most `high`: it saturates for seconds."""
    pid = PID(k_p=2.0, k_i=4.0, low=-high, high=high, anti_windup=kind)
    flow = Flow("two lags", ("y", "w"), ("u",), lambda t, x, u: [x[1] - x[0], 2 * (u[0] - x[1])])
    found = run(flow, pid.law(), 1.1, [0.0, 0.0], 2e-3, 30_000)
    assert np.abs(found.y[:, 0]).max() <= high and found.x[-1, 0] == pytest.approx(1.1, abs=2e-3)
    return float(found.x[:, 0].max() - 1.1)


def test_anti_windup_beats_none_after_saturation():
    free, clamped, tracked = (overshoot(kind) for kind in ("none", "clamping", "back-calculation"))
    assert set(ANTI_WINDUP) == {"none", "clamping", "back-calculation"}
    assert free > 0.06 and clamped < 0.4 * free and tracked < 0.4 * free


def test_the_integral_stops_at_the_limit_and_turns_back_at_once():
    pid = PID(k_p=1.0, k_i=1.0, low=-1, high=1, anti_windup="clamping")
    law = pid.law()
    p = list(law.parameters.values())
    assert law.rate(0, [0.0], [5.0], [0.0], p) == [0.0]  # saturated, and driven further
    assert law.rate(0, [0.0], [-0.5], [5.0], p) == [-0.5]  # saturated, and driven back
    tracking = replace(pid, anti_windup="back-calculation", tracking_time=0.5).law()
    assert tracking.rate(0, [0.0], [5.0], [0.0], p) == [pytest.approx(5.0 + (1 - 5) / 0.5)]
    assert replace(pid, anti_windup="none").law().rate(0, [0.0], [5.0], [0.0], p) == [5.0]


def test_tracking_time_by_rule():
    assert PID(k_p=2.0, k_i=1.0, k_d=0.5, filter_time=0.1).tracking == math.sqrt(2.0 * 0.25)
    assert PID(k_p=2.0, k_i=1.0).tracking == 2.0 and PID(k_p=2.0, k_i=1.0, tracking_time=7).tracking == 7


# ----------------------------------------------------------------------------------------------------------- samples
@pytest.mark.parametrize("filter_time", [0.02, 0.1, 1.0])
def test_sampled_law_approaches_the_continuous_one(filter_time):
    """Error of first order in the period: halved with it."""
    pid = PID(k_p=3.0, k_i=2.0, k_d=0.5, filter_time=filter_time)
    wanted = run(LAG, pid.law(), 1.0, [0.0], 1e-4, 20_000).x[-1, 0]
    errors = []
    for h in (0.01, 0.005):
        controller, y = pid.controller(h), 0.0
        for _ in range(round(2 / h)):
            u = controller(y, 1.0)
            y = u + (y - u) * math.exp(-h)  # exact, u held
        errors.append(abs(y - wanted))
    assert errors[0] < 0.02 and errors[1] < 0.6 * errors[0]


def test_a_fast_filter_is_safe_in_a_sampled_law_and_refused_in_a_continuous_one():
    pid = PID(k_p=1.0, k_i=0.0, k_d=1.0, filter_time=1e-6)
    law = pid.law(period=0.01)
    p = list(law.parameters.values())
    z = list(law.update(0.01)(0, [1.0], [0.0], [0.0, -1.0], p))
    (u,) = law.act(0, [1.1], [0.0], z, p)
    assert u == pytest.approx(-1.1 - (0.1 / 0.01), rel=1e-3)  # the backward difference
    with raises(InputError, "conflict filter_time"):
        pid.law().update(0.01)
    with raises(InputError, "conflict period"):
        law.update(0.02)


def test_law_and_controller_agree():
    pid = PID(k_p=3.0, k_i=2.0, k_d=0.5, filter_time=0.05, low=-1, high=1)
    law, controller = pid.law(period=0.01), pid.controller(0.01)
    step, p = law.update(0.01), list(law.parameters.values())
    rng = np.random.default_rng(0)
    z = [0.0, 0.0]
    for k, (y, r) in enumerate(rng.uniform(-1, 1, (50, 2))):
        if k == 0:
            z[1] = -y  # a controller that starts takes its first measurement for one at rest
        assert controller(y, r) == law.act(0, [y], [r], z, p)[0]
        z = step(0, [y], [r], z, p)


# ------------------------------------------------------------------------------------------------------------- bumps
def test_start_without_a_bump():
    pid = PID(k_p=3.0, k_i=2.0, k_d=0.5, filter_time=0.05)
    assert pid.controller(0.01, start=(0.7, 0.2, 1.0))(0.2, 1.0) == pytest.approx(0.7, rel=1e-14)
    assert pid.controller(0.01)(0.2, 1.0) == pytest.approx(3 * 0.8)  # without, P alone, and no kick of D
    law = pid.law(start=(0.7, 0.2, 1.0))
    assert law.act(0, [0.2], [1.0], list(law.initial), list(law.parameters.values())) == [pytest.approx(0.7)]
    controller = pid.controller(0.01)
    controller(5.0, -3.0)
    controller.start(-0.4, 0.1, 0.3)
    assert controller(0.1, 0.3) == pytest.approx(-0.4, rel=1e-13)


changes = st.fixed_dictionaries(
    {},
    optional={
        "k_p": sizes,
        "k_i": sizes,
        "k_d": sizes,
        "filter_time": sizes,
        "proportional_weight": st.floats(0, 1),
        "derivative_weight": st.floats(0, 1),
    },
)


@given(changes, st.floats(-2, 2), st.floats(-2, 2))
@settings(deadline=None)
def test_parameters_change_without_a_bump(new, y, r):
    pid = PID(k_p=3.0, k_i=2.0, k_d=0.5, filter_time=0.05, derivative_weight=0.3)
    kept, changed = pid.controller(0.01), pid.controller(0.01)
    for k in range(20):
        u = kept(0.1 * y * k, r)
        assert changed(0.1 * y * k, r) == u
    changed.set(**new)
    before = kept(0.1 * y * 19, r)
    # The new terms cancel against the integral that takes them up: rounding of their size, gains of a thousand over a
    # filter of a thousandth and the period.
    size = 1 + abs(before) + 1e3 * (2 + 8 / 0.011)
    assert abs(changed(0.1 * y * 19, r) - before) <= 1e-15 * size * 10


def test_a_derivative_may_come_and_go():
    controller = PID(k_p=3.0, k_i=2.0).controller(0.01)
    u = controller(0.4, 1.0)
    controller.set(k_d=1.0, filter_time=0.1)
    after = controller(0.4, 1.0)
    assert after == pytest.approx(u + 2.0 * 0.6 * 0.01)  # the integral's own step, nothing else
    controller.set(k_d=0.0, filter_time=None)
    assert controller(0.4, 1.0) == pytest.approx(after + 2.0 * 0.6 * 0.01)


def test_a_new_weight_leaves_nothing_behind():
    """At rest the derivative is zero for any weight, and stays so when the weight changes."""
    controller = PID(k_p=3.0, k_i=0.0, k_d=0.5, filter_time=0.05).controller(0.01)
    u = [controller(0.4, 1.0) for _ in range(200)][-1]
    controller.set(derivative_weight=1.0)
    assert [controller(0.4, 1.0) for _ in range(50)] == [pytest.approx(u, rel=1e-12)] * 50


def test_without_care_there_would_be_a_bump():
    """What `set` spares: the same change made by a new controller with the old integral."""
    pid = PID(k_p=3.0, k_i=2.0)
    controller = pid.controller(0.01)
    u = controller(0.4, 1.0)
    rough = replace(pid, k_p=30.0).law()
    (jumped,) = rough.act(0, [0.4], [1.0], controller.z, list(rough.parameters.values()))
    controller.set(k_p=30.0)
    assert jumped - u > 10 and abs(controller(0.4, 1.0) - u) < 0.02


# --------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PID(k_p=math.nan), "not-finite the gain k_p of a PID law"),
        (lambda: PID(k_p=1.0, k_i=0, k_d=1.0), "missing filter_time"),
        (lambda: PID(k_p=1.0, k_i=0, k_d=1.0, filter_time=0.0), "out-of-range the filter time of a PID law"),
        (lambda: PID(k_p=1.0, k_i=0, k_d=1.0, filter_time=1.0, rate=True), "conflict filter_time"),
        (lambda: PID(k_p=1.0, low=1, high=-1), "out-of-range low"),
        (lambda: PID(k_p=1.0, low=math.nan), "wrong-type low"),
        (lambda: PID(k_p=1.0, tracking_time=-1), "out-of-range the tracking time of a PID law"),
        (lambda: PID(k_p=1.0).controller(0.0), "out-of-range the period of a sampled PID law"),
        (lambda: PID(k_p=1.0).controller(0.1)(math.nan, 0.0), "not-finite the y of the measurement"),
        (lambda: PID(k_p=1.0).controller(0.1)(0.0, 0.0, 1.0), "no-effect y_rate"),
        (lambda: PID(k_p=1.0, rate=True).controller(0.1)(0.0, 0.0), "missing y_rate"),
        (lambda: PID(k_p=1.0).controller(0.1).set(k_d=1.0), "missing filter_time"),
        (lambda: to_series(Standard(1.0, 1.0, 1.0)), "infeasible form"),
        (lambda: to_standard(Parallel(0.0, 1.0)), "infeasible form"),
        (lambda: to_standard(Parallel(1.0, -1.0)), "infeasible form"),
        (lambda: to_parallel((1, 2, 3)), "wrong-type form"),
        (lambda: to_parallel(Standard(1.0, 0.0)), "out-of-range the time T_i of a PID law"),
    ],
)
def test_bad_input(call, words):
    with raises(InputError, words):
        call()


def test_unknown_anti_windup():
    with raises(UnknownNameError, "unknown-name"):
        PID(k_p=1.0, anti_windup="clamp")


def test_changes_while_running_are_of_known_names():
    with raises(UnknownNameError, "unknown-name"):
        PID(k_p=1.0).controller(0.1).set(kp=2.0)
