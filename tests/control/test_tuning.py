"""Ziegler–Nichols: the table, ultimate gain and period from models and from a relay, a step's answer."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest

from dalembert.control import (
    ZIEGLER_NICHOLS,
    MassSpringDamper,
    Parallel,
    TransferFunction,
    extrapolate,
    reaction_curve,
    reaction_of,
    relay_experiment,
    ultimate,
    ziegler_nichols,
    ziegler_nichols_step,
)
from dalembert.control.tuning import REACTION, Reaction
from dalembert.errors import InputError, UnknownNameError
from dalembert.flow import Flow
from errors import raises
from tolerances import error

# What [Lee] prints: K_p, T_i, T_d, K_i, K_d. A bar there is that of a repeating decimal, slipped.
SEED = {
    "P": ("0.5", None, None, None, None),
    "PI": ("0.45", "0.83", None, "0.54", None),
    "PD": ("0.8", None, "0.125", None, "0.10"),
    "classic PID": ("0.6", "0.5", "0.125", "1.2", "0.075"),
    "Pessen integral rule": ("0.7", "0.4", "0.15", "1.75", "0.105"),
    "some overshoot": ("0.33", "0.50", "0.33", "0.66", "0.11"),
    "no overshoot": ("0.20", "0.50", "0.33", "0.40", "0.066"),
}


def printed(x: F | None, text: str | None) -> bool:
    """Whether a fraction, cut after as many digits as the text has, is the text."""
    if x is None or text is None:
        return x is None and text is None
    digits = len(text.split(".")[1])
    return F(text) == F(math.floor(x * 10**digits), 10**digits)


@pytest.mark.parametrize("row", SEED)
def test_the_table_of_the_seed(row):
    rule = ZIEGLER_NICHOLS[row]
    for value, text in zip((rule.K_p, rule.T_i, rule.T_d, rule.K_i, rule.K_d), SEED[row], strict=True):
        assert printed(value, text), (row, value, text)
    assert set(SEED) == set(ZIEGLER_NICHOLS)


def test_a_row_as_gains():
    """K_u = 10, T_u = 2: classic PID is K_p = 6, K_i = 1.2 · 10/2 = 6, K_d = 0.075 · 10 · 2 = 1.5."""
    assert ziegler_nichols((10.0, 2.0)).parallel == Parallel(6.0, 6.0, 1.5)
    for name, rule in ZIEGLER_NICHOLS.items():
        k_p, k_i, k_d = ziegler_nichols((10.0, 2.0), name).parallel
        assert k_p == pytest.approx(float(rule.K_p) * 10)
        assert k_i == pytest.approx(float(rule.K_i or 0) * 10 / 2) and k_d == pytest.approx(float(rule.K_d or 0) * 20)


# ----------------------------------------------------------------------------------------------------- from a model
# Plants whose ultimate gain and period are known in closed form.
KNOWN = {
    "1/(s+1)^3": (TransferFunction([1], np.poly([-1, -1, -1])), 8.0, 2 * math.pi / math.sqrt(3)),
    "1/s(s+1)(s+5)": (TransferFunction([1], np.poly([0, -1, -5])), 30.0, 2 * math.pi / math.sqrt(5)),
    "1/(s+1)^4": (TransferFunction([1], np.poly([-1] * 4)), 4.0, 2 * math.pi),
}


@pytest.mark.parametrize("name", KNOWN)
def test_ultimate_gain_of_a_model(name):
    G, K, T = KNOWN[name]
    for plant in (G, G.state_space()):
        found = ultimate(plant)
        assert found.gain == pytest.approx(K, rel=1e-12) and found.period == pytest.approx(T, rel=1e-12)
        assert found.residual < 1e-12 and found.source == "model"
    poles = np.roots(np.polyadd(G.den, K * G.num))
    assert abs(poles.real).min() < 1e-12  # it oscillates steadily


def test_of_several_crossings_the_lowest_gain_counts():
    """1/(s+1)⁸ has phase −180° at tan(π/8) and −540° at tan(3π/8), where it takes a thousand times the gain."""
    found = ultimate(TransferFunction([1], np.poly([-1] * 8)))
    assert found.gain == pytest.approx(math.cos(math.pi / 8) ** -8, rel=1e-9)
    assert found.frequency == pytest.approx(math.tan(math.pi / 8), rel=1e-9)


def test_ultimate_gain_with_dead_time():
    """e^(−s)/s: phase −90° − ω is −180° at ω = π/2, where |G| = 2/π."""
    found = ultimate(TransferFunction([1], [1, 0], delay=1.0))
    assert found.gain == pytest.approx(math.pi / 2, rel=1e-12) and found.period == pytest.approx(4.0, rel=1e-12)


def test_classic_pid_is_stable_on_these_plants():
    for G, K, T in KNOWN.values():
        for rule in ZIEGLER_NICHOLS:
            C = ziegler_nichols((K, T), rule).transfer()
            loop = (C * G).feedback()
            assert loop.stable, rule
            if not (rule in ("P", "PD") and G.den[-1]):
                assert loop.gain_at_rest == pytest.approx(1.0, rel=1e-9)


# ------------------------------------------------------------------------------------------------------- from a relay
@pytest.mark.parametrize("name", KNOWN)
def test_relay_experiment(name):
    """The describing function counts the first harmonic alone. The third, a third of the first in u and thinned by the
    plant, reaches the switch too, and moves it: K_u is 2 to 5 % low and T_u 1 to 4 % long on these plants."""
    G, K, T = KNOWN[name]
    found = relay_experiment(G)
    assert abs(found.ultimate.gain / K - 1) < 0.05 and abs(found.ultimate.period / T - 1) < 0.04
    assert found.ultimate.gain < K and found.ultimate.period > T
    assert found.ultimate.residual < 1e-3 and found.ultimate.source == "relay"
    w = found.ultimate.frequency  # what was measured is the plant itself, at that frequency
    assert abs(found.response / complex(G(1j * w)) - 1) < 0.005
    late = found.y[found.t > found.t[-1] - 2 * found.ultimate.period]
    assert set(np.unique(found.u)) == {-1.0, 1.0} and found.amplitude == pytest.approx(np.ptp(late) / 2, rel=1e-3)


@pytest.mark.parametrize("name", KNOWN)
def test_two_relay_experiments_extrapolated(name):
    """The phase is known at two frequencies, and −180° a few degrees beyond: what is left is the curvature between."""
    G, K, T = KNOWN[name]
    first = relay_experiment(G)
    second = relay_experiment(G, hysteresis=0.1 * first.harmonic)
    assert second.ultimate.period > first.ultimate.period
    found = extrapolate(first, second)
    assert abs(found.gain / K - 1) < 0.01 and abs(found.period / T - 1) < 0.003


def test_amplitude_and_bias_do_not_matter_to_a_linear_plant():
    G = KNOWN["1/(s+1)^3"][0]
    one = relay_experiment(G).ultimate
    other = relay_experiment(G, amplitude=3.0, bias=0.5, setpoint=0.5).ultimate
    assert other.gain == pytest.approx(one.gain, rel=0.01) and other.period == pytest.approx(one.period, rel=0.01)


def test_relay_drives_any_flow():
    """A pendulum behind a lag, by the names of its state and input, swings about its set point."""
    from dalembert.scalar import sin

    flow = Flow(
        "pendulum behind a lag",
        ("q", "q_rate", "w"),
        ("d", "u"),
        lambda t, x, u: [x[1], x[2] - x[1] - sin(x[0]), 4 * (u[1] - x[2])],
    )
    linear = TransferFunction([4.0], np.polymul([1, 1, 1], [1, 4]))
    found = relay_experiment(flow, 0.05, output="q", input="u").ultimate
    wanted = ultimate(linear)
    assert found.gain == pytest.approx(wanted.gain, rel=0.07)
    assert found.period == pytest.approx(wanted.period, rel=0.04)


# ------------------------------------------------------------------------------------------- from a step's answer
def test_reaction_curve_of_a_lag_with_dead_time():
    t = np.linspace(0, 30, 6001)
    y = 2.5 * np.where(t > 1, 1 - np.exp(-(np.maximum(t, 1) - 1) / 2), 0)
    found = reaction_curve(t, 7 + 3 * y, step=3.0)
    assert found.gain == pytest.approx(2.5, rel=1e-4)
    assert found.delay == pytest.approx(1.0, abs=0.02) and found.time == pytest.approx(2.0, rel=0.01)
    law = ziegler_nichols_step(Reaction(2.5, 1.0, 2.0, 1.25))
    assert law.standard == pytest.approx((1.2 * 2 / (2.5 * 1), 2.0, 0.5))
    assert ziegler_nichols_step(Reaction(2.5, 1.0, 2.0, 1.25), "PI").standard == pytest.approx((0.9 * 0.8, 10 / 3, 0))
    assert set(REACTION) == {"P", "PI", "PID"}


def test_reaction_of_a_model():
    """1/(s+1)³: steepest at t = 2, slope 2e⁻², y = 1 − 5e⁻²; the tangent gives L = 2 − y/slope, T = e²/2."""
    found = reaction_of(KNOWN["1/(s+1)^3"][0])
    slope = 2 * math.exp(-2)
    assert found.gain == 1.0
    assert found.slope == pytest.approx(slope, rel=1e-12) and found.time == pytest.approx(1 / slope, rel=1e-12)
    assert found.delay == pytest.approx(2 - (1 - 5 * math.exp(-2)) / slope, abs=1e-10)
    assert ziegler_nichols_step(found).transfer().num.size == 3


def test_both_methods_tame_the_plant():
    G = KNOWN["1/(s+1)^4"][0]
    for law in (ziegler_nichols(ultimate(G)), ziegler_nichols_step(reaction_of(G))):
        loop = (law.transfer() * G).feedback()
        t = np.linspace(0, 60, 3000)
        y = loop.state_space().step(t)[:, 0]
        assert loop.stable and error(y[-10:], np.ones(10)) < 0.01 and y.max() < 2.0


# --------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("call", "fields"),
    [
        (lambda: ultimate(MassSpringDamper(1, 1, 1)), "infeasible plant"),
        (lambda: ultimate(3), "wrong-type system"),
        (lambda: ultimate(TransferFunction([1], np.poly([1, -2, -3]))), "infeasible plant"),
        (lambda: ziegler_nichols((0.0, 1.0)), "out-of-range found"),
        (lambda: ziegler_nichols((1.0, -1.0)), "out-of-range the ultimate period of the loop"),
        (lambda: reaction_curve(np.linspace(0, 1, 50), np.linspace(0, 1, 50)), "wrong-value y"),
        (lambda: reaction_curve([0, 1], [0, 1]), "wrong-shape y"),
        (lambda: reaction_of(TransferFunction([1], [1, 0])), "infeasible plant"),
        (lambda: reaction_of(TransferFunction([1, 0], [1, 2, 1])), "wrong-value plant"),
        (lambda: ultimate(TransferFunction([-1], [1, 3, 3, 1])), "wrong-value plant"),
        (lambda: ultimate(TransferFunction([-1], np.poly([0, -1, -2]))), "wrong-value plant"),
        (lambda: ziegler_nichols_step(Reaction(1.0, 0.0, 1.0, 1.0)), "wrong-value found"),
        (lambda: relay_experiment(TransferFunction([1], [1, 1])), "infeasible plant"),
        (lambda: relay_experiment(KNOWN["1/(s+1)^3"][0], hysteresis=10.0), "infeasible plant"),
        (lambda: relay_experiment(KNOWN["1/(s+1)^3"][0], amplitude=-1), "out-of-range the amplitude of the relay"),
        (lambda: relay_experiment(7), "wrong-type"),
        (lambda: relay_experiment(Flow("still", ("x",), (), lambda t, x, u: [0.0])), "wrong-structure plant"),
        (lambda: relay_experiment(TransferFunction([1], [1, 0, 0])), "missing dt"),
        (lambda: relay_experiment(TransferFunction([1], np.poly([-1e-4, -1e4]))), "too-large dt"),
    ],
)
def test_bad_input(call, fields):
    with raises(InputError, fields):
        call()


def test_unknown_names():
    with raises(UnknownNameError, "unknown-name"):
        ziegler_nichols((1.0, 1.0), "some overshot")
    with raises(UnknownNameError, "unknown-name"):
        ziegler_nichols((1.0, 1.0), "PID")
    with raises(UnknownNameError, "unknown-name"):
        relay_experiment(KNOWN["1/(s+1)^3"][0], output="z")
