"""What holds of every motion: rates are derivatives, extremes are never exceeded, the trace is the call."""

from __future__ import annotations

import numpy as np
import pytest
from motions import all_motions, inner

from dalembert import trajectories as tr
from dalembert.compile import compile_function
from dalembert.trajectories.trajectory import inside, sample_extremes

MOTIONS = all_motions()
every = pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)
H = 1e-5  # a central difference: h²/6 of derivatives up to the fifth (1e4 in short pieces), and 1e-16/h of rounding


@every
def test_rates_are_derivatives(motion):
    t = inner(motion)
    before, after = motion(t - H), motion(t + H)
    derivatives = [*motion(t), motion.jerk(t)]
    for order in (1, 2, 3):
        rate, size = derivatives[order], max(np.abs(derivatives[order]).max(), 1.0)
        difference = (after[order - 1] - before[order - 1]) / (2 * H)
        assert np.abs(difference - rate).max() < 1e-6 * size


@every
def test_extremes_are_never_exceeded_and_nearly_reached(motion):
    found = motion.limits()
    knots = motion.knots[np.isfinite(motion.knots)]
    beside = inside(knots, np.array([0.0, 1.0])).reshape(-1)  # on both sides of every knot
    t = np.concatenate([inner(motion, 5_000, 1e-9), beside])
    x, xd, xdd = motion(t)
    jerk = motion.jerk(t)
    assert (x >= found.lower - 1e-9).all() and (x <= found.upper + 1e-9).all()
    for values, bound in ((xd, found.velocity), (xdd, found.acceleration), (jerk, found.jerk)):
        size = np.abs(values).max(axis=0)
        assert (size <= bound * (1 + 1e-9) + 1e-9).all()
        finite = np.isfinite(bound)  # where it jumps there is no bound
        assert (size >= 0.99 * bound - 1e-3)[finite].all()


@pytest.mark.parametrize("name", ["cubic", "quintic", "septic", "s-curve", "natural quintic", "cubic table"])
def test_exact_extremes_are_those_of_many_samples(name):
    exact, sampled = MOTIONS[name].limits(), sample_extremes(MOTIONS[name])
    assert (exact.how, sampled.how) == ("exact", "sampled")
    for field in ("lower", "upper", "velocity", "acceleration", "jerk"):
        a, b = getattr(exact, field), getattr(sampled, field)
        assert np.allclose(a, b, rtol=1e-6, atol=1e-6), field


@every
def test_the_trace_is_the_call(motion):
    """On plain floats, and compiled; before, within and after the motion, and at its knots."""
    knots = motion.knots[np.isfinite(motion.knots)]
    t = np.concatenate([inner(motion), knots, [-1.0, knots[-1] + 0.7]])
    traced = [motion.trace(float(s)) for s in t]
    kernel = compile_function(lambda s: motion.trace(s), [()], [(motion.m,)] * 3, "trace")
    for order, (wanted, compiled) in enumerate(zip(motion(t), kernel(t), strict=True)):
        plain = np.array([row[order] for row in traced], float)
        size = max(np.abs(wanted).max(), 1.0)
        assert np.abs(plain - wanted).max() < 1e-11 * size
        assert np.abs(compiled - wanted).max() < 1e-11 * size


@every
def test_it_rests_before_and_after(motion):
    if not np.isfinite(motion.duration):
        x, xd, _ = motion(np.linspace(1e3, 1.1e3, 50))  # it goes on, or is a set point
        assert np.isfinite(x).all() and (np.ptp(x, axis=0).max() > 1e-3) == bool(xd.any())
        return
    for t, at in ((-0.5, 0.0), (motion.duration + 0.5, motion.duration)):
        x, xd, xdd = motion(t)
        assert np.array_equal(x, motion(at)[0])
        assert not xd.any() and not xdd.any()


@every
def test_shapes(motion):
    for shape in ((), (4,), (2, 3)):
        assert [y.shape for y in motion(np.zeros(shape))] == [(*shape, motion.m)] * 3
    assert len(motion.names) == len(motion.units) == motion.m
    assert repr(motion).startswith(f"<{type(motion).__name__}")


def test_more_pieces_than_a_formula_bears_are_sampled_beforehand():
    x = np.random.default_rng(0).normal(size=(18, 1))
    assert tr.spline(x, duration=1).trace(0.5) is None
    assert tr.spline(x[:17], duration=1).trace(0.5) is not None
