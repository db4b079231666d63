"""Polynomials, ramps and jerk-limited motions: boundary values, closed-form durations, limits reached."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert import trajectories as tr
from dalembert.errors import InputError
from errors import raises


def test_polynomials_meet_their_ends():
    rng = np.random.default_rng(0)
    a, b, va, vb, aa, ab, ja, jb = rng.normal(size=(8, 4))
    T = 1.7
    septic = tr.septic(
        a,
        b,
        T,
        start_velocity=va,
        end_velocity=vb,
        start_acceleration=aa,
        end_acceleration=ab,
        start_jerk=ja,
        end_jerk=jb,
    )
    quintic = tr.quintic(a, b, T, start_velocity=va, end_velocity=vb, start_acceleration=aa, end_acceleration=ab)
    cubic = tr.cubic(a, b, T, start_velocity=va, end_velocity=vb)
    for motion, orders in ((cubic, 2), (quintic, 3), (septic, 4)):
        for t, states in ((0.0, (a, va, aa, ja)), (T, (b, vb, ab, jb))):
            found = (*motion(t), motion.jerk(t))
            for k in range(orders):
                assert np.allclose(found[k], states[k], atol=1e-12)


def test_closed_form_extremes():
    d, T = 0.8, 1.3
    cubic, best = tr.cubic(0, d, T).limits(), tr.minimum_jerk(0, d, T).limits()
    assert np.isclose(cubic.velocity[0], 1.5 * d / T) and np.isclose(cubic.acceleration[0], 6 * d / T**2)
    assert np.isclose(best.velocity[0], 15 / 8 * d / T)
    assert np.isclose(best.acceleration[0], 10 / math.sqrt(3) * d / T**2)
    assert np.isclose(best.jerk[0], 60 * d / T**3)


def test_minimum_jerk_has_the_least_jerk():
    t = np.linspace(0, 1, 20_001)
    cost = [np.trapezoid(m.jerk(t)[:, 0] ** 2, t) for m in (tr.minimum_jerk(0, 1, 1), tr.septic(0, 1, 1))]
    assert np.isclose(cost[0], 720, rtol=1e-6)  # ∫ = 720 d²/T⁵
    assert cost[1] > cost[0]


def test_the_shortest_duration_reaches_one_limit():
    found = tr.minimum_jerk([0, 0], [1, 2], velocity=[1, 3], acceleration=4)
    extremes = found.limits()
    used = np.concatenate([extremes.velocity / [1, 3], extremes.acceleration / 4])
    assert np.isclose(used.max(), 1.0, rtol=1e-12)
    assert np.isclose(found.duration, 15 / 8)


# ---------------------------------------------------------------------------------------------------------- ramps
@pytest.mark.parametrize("d, wanted", [(2.0, 2.0 / 0.5 + 0.5 / 2.0), (0.1, 2 * math.sqrt(0.1 / 2.0)), (0.125, 0.5)])
def test_trapezoid_durations(d, wanted):
    """T = d/v + v/a, or 2√(d/a) for a triangle; the last case is where they meet."""
    found = tr.trapezoid(1.0, 1.0 - d, 0.5, 2.0)
    assert np.isclose(found.duration, wanted, rtol=1e-12)
    assert np.isclose(found(found.duration)[0][0], 1.0 - d, atol=1e-14)
    extremes = found.limits()
    assert np.isclose(extremes.acceleration[0], 2.0)
    assert extremes.velocity[0] <= 0.5 * (1 + 1e-12)
    assert len(found.breaks) == (4 if d == 2.0 else 3)


def s_curve_cases():
    """Each of the four shapes: all limits reached; speed not; speed and acceleration not; acceleration not."""
    return {
        "all": (3.0, 1.0, 2.0, 10.0),
        "no speed": (0.5, 1.0, 2.0, 20.0),
        "jerk only": (0.01, 1.0, 2.0, 10.0),
        "no acceleration": (3.0, 0.1, 2.0, 10.0),
    }


@pytest.mark.parametrize("name, case", s_curve_cases().items())
def test_s_curve_reaches_its_limits(name, case):
    d, v, a, j = case
    found = tr.s_curve(0.0, d, v, a, j)
    extremes = found.limits()
    used = np.array([extremes.velocity[0] / v, extremes.acceleration[0] / a, extremes.jerk[0] / j])
    assert (used <= 1 + 1e-9).all()
    reached = {"all": (1, 1, 1), "no speed": (0, 1, 1), "jerk only": (0, 0, 1), "no acceleration": (1, 0, 1)}[name]
    assert np.array_equal(used > 1 - 1e-9, np.array(reached, bool))
    wanted = {
        "all": d / v + v / a + a / j,
        "no acceleration": d / v + 2 * math.sqrt(v / j),
        "jerk only": 4 * (d / (2 * j)) ** (1 / 3),
        "no speed": a / j + math.sqrt((a / j) ** 2 + 4 * d / a),
    }[name]
    assert np.isclose(found.duration, wanted, rtol=1e-12)
    assert np.allclose(found(found.duration)[:2], [[d], [0]], atol=1e-12)


@pytest.mark.parametrize("ramp, limits", [(tr.trapezoid, (1.0, 2.0)), (tr.s_curve, (1.0, 2.0, 9.0))])
def test_synchronized(ramp, limits):
    a, b = np.array([0.0, 1.0, 2.0]), np.array([1.0, -0.5, 2.0])
    straight, timed = ramp(a, b, *limits), ramp(a, b, *limits, synchronize="time")
    alone = max(ramp(x, y, *limits).duration for x, y in ((0.0, 1.0), (1.0, -0.5)))
    t = np.linspace(0, straight.duration, 101)
    sigma = (straight(t)[0] - a)[:, :2] / (b - a)[:2]
    assert np.allclose(sigma[:, 0], sigma[:, 1], atol=1e-13), "on a straight line"
    for motion in (straight, timed):
        assert np.isclose(motion.duration, alone)  # equal limits: the longest way decides
        assert np.allclose(motion(motion.duration)[0], b, atol=1e-12)
        moving = np.abs(motion(motion.duration * 0.98)[1])
        assert (moving[:2] > 0).all() and moving[2] == 0


def test_in_time_is_never_slower_than_on_a_line():
    """One joint short of speed, the other of acceleration: a line must heed both."""
    a, b = np.zeros(2), np.ones(2)
    line = tr.trapezoid(a, b, [0.5, 5.0], [9.0, 1.0])
    time = tr.trapezoid(a, b, [0.5, 5.0], [9.0, 1.0], synchronize="time")
    assert time.duration < line.duration - 0.1
    for motion in (line, time):
        found = motion.limits()
        assert (found.velocity <= np.array([0.5, 5.0]) * (1 + 1e-12)).all()
        assert (found.acceleration <= np.array([9.0, 1.0]) * (1 + 1e-12)).all()


def test_limits_of_a_robot():
    arm = dl.load("panda")
    a = np.array([0, -0.5, 0, -2, 0, 1.6, 0.8])
    found = tr.trapezoid(a, a + 0.3, acceleration=5.0, robot=arm)
    assert found.names == arm.joint_names and found.units == ("rad",) * 7
    used = found.limits().velocity / arm.limits.velocity
    assert used.max() <= 1 + 1e-12
    far = a.copy()
    far[3] = 0.5
    with raises(InputError, "infeasible robot"):
        tr.minimum_jerk(a, far, 2.0, robot=arm)


# -------------------------------------------------------------------------------------------------------- ruckig
def test_own_s_curve_takes_as_long_as_ruckigs():
    pytest.importorskip("ruckig")
    rng = np.random.default_rng(5)
    for _ in range(200):
        d, v, a, j = 10 ** rng.uniform([-3, -1, -1, -1], [1, 1, 1, 2])
        own, other = tr.s_curve(0, d, v, a, j), tr.jerk_limited(0, d, v, a, j)
        assert np.isclose(own.duration, other.duration, rtol=1e-9), (d, v, a, j)


def test_jerk_limited_meets_any_states():
    pytest.importorskip("ruckig")
    rng = np.random.default_rng(6)
    for _ in range(50):
        a, b = rng.normal(size=(2, 3))
        va, vb, aa, ab = rng.uniform(-0.9, 0.9, (4, 3)) * np.array([[1], [1], [0.3], [0.3]])
        found = tr.jerk_limited(
            a, b, 1, 2, 8, start_velocity=va, end_velocity=vb, start_acceleration=aa, end_acceleration=ab
        )
        for t, states in ((0.0, (a, va, aa)), (found.duration, (b, vb, ab))):
            assert np.allclose(found(t), states, atol=1e-7)
        extremes = found.limits()
        assert (extremes.velocity <= 1 + 1e-6).all() and (extremes.acceleration <= 2 + 1e-6).all()
        assert (extremes.jerk <= 8 + 1e-6).all()  # finite: no acceleration jumps


def test_jerk_limited_brakes_a_start_beyond_the_limits():
    pytest.importorskip("ruckig")
    found = tr.jerk_limited(0, 1, 1, 2, 5, start_velocity=3)
    assert np.allclose(found(0.0), [[0], [3], [0]], atol=1e-12)
    assert np.allclose(found(found.duration), [[1], [0], [0]], atol=1e-9)
    assert np.isclose(found.limits().velocity[0], 3)


def test_without_ruckig_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ruckig", None)
    with pytest.raises(dl.MissingExtraError, match=r"pip install 'dalembert\[traj\]'"):
        tr.jerk_limited(0, 1, 1, 2, 5)


# ------------------------------------------------------------------------------------------------------ bad input
@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: tr.cubic(0, 1, 0.0), "out-of-range duration"),
        (lambda: tr.cubic(0, 1, -1), "out-of-range duration"),
        (lambda: tr.cubic(0, 1, math.nan), "not-finite duration"),
        (lambda: tr.cubic([0, math.nan], [1, 1], 1), "not-finite start"),
        (lambda: tr.cubic([0, 1], [1], 1), "wrong-shape end"),
        (lambda: tr.cubic([], [], 1), "wrong-shape start"),
        (lambda: tr.cubic("a", 1, 1), "wrong-type start"),
        (lambda: tr.cubic([0, 1], [1, 2], 1, start_velocity=[1, 2, 3]), "wrong-shape start_velocity"),
        (lambda: tr.cubic(0, 1), "missing duration"),
        (lambda: tr.cubic(0, 1, velocity=1, start_velocity=1), "missing duration"),
        (lambda: tr.cubic(0, 1, 1.0, velocity=1.0), "infeasible duration"),
        (lambda: tr.minimum_jerk(1, 1, velocity=1), "conflict end"),
        (lambda: tr.trapezoid([1, 2], [1, 2], 1, 1), "conflict end"),
        (lambda: tr.trapezoid(0, 1, 0, 1), "out-of-range velocity"),
        (lambda: tr.trapezoid([0, 0], [1, 1], 1, [1, -1]), "out-of-range acceleration"),
        (lambda: tr.trapezoid(0, 1, math.nan, 1), "out-of-range velocity"),
        (lambda: tr.trapezoid([0, 0], [1, 1], [1, 1, 1], 1), "wrong-shape velocity"),
        (lambda: tr.trapezoid(0, 1, 1), "missing acceleration"),
        (lambda: tr.trapezoid(0, 1, 1, 1, synchronize="phase"), "wrong-value synchronize"),
        (lambda: tr.s_curve(0, 1, 1, 1), "missing jerk"),
        (lambda: tr.trapezoid(0, 1, acceleration=1, robot=dl.load("panda")), "conflict robot"),
        (lambda: tr.trapezoid(0, 1, acceleration=1, robot="panda"), "wrong-type"),
    ],
)
def test_bad_input(make, words):
    with raises(InputError, words):
        make()


TINY, HUGE = (1e-320, 1e-300, 1e-160, 1e-29), (1e29, 1e160, 1e308)


@pytest.mark.parametrize("a", [0.0, 1.0, *TINY, *HUGE])
@pytest.mark.parametrize("limit", [1e-300, 1e-29, 2.0, 1e29, 1e300])
def test_numbers_of_any_size_move_or_are_refused(a, limit):
    """No NaN, and no error but ours. Limits and starts within 1e±29 move; the others are refused by all."""
    makers = (
        lambda b: tr.minimum_jerk(a, b, acceleration=limit),
        lambda b: tr.minimum_jerk(a, b, duration=limit),
        lambda b: tr.septic(a, b, limit),
        lambda b: tr.trapezoid(a, b, velocity=limit, acceleration=limit),
        lambda b: tr.s_curve(a, b, velocity=limit, acceleration=limit, jerk=limit),
        lambda b: tr.spline([[a], [b], [1.0]], [0, limit, 2 * limit]),
    )
    moved = 0
    for make in makers:
        for b in (0.0, 1.0, *TINY, *HUGE):
            try:
                motion = make(b)
                states = [*motion(0.0), *motion(0.3 * motion.duration)]
            except InputError:
                continue
            moved += 1
            assert np.isfinite(states).all()
    within = 1e-29 <= limit <= 1e29 and a <= 1e29
    assert moved >= 27 if within else moved == 0


def test_what_rounding_left_is_zero():
    with raises(InputError, "conflict end"):
        tr.minimum_jerk(start=1e-300, end=0, acceleration=2)
    with raises(InputError, "out-of-range velocity"):
        tr.minimum_jerk(start=0, end=1, velocity=1e-300)
