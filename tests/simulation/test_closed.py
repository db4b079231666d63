"""A flow under a law as one flow: against what is known of it in closed form, and against the parts run by hand."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.errors import InputError, UnknownNameError
from dalembert.flow import Flow, wrench_inputs
from dalembert.law import Law
from dalembert.reference import Reference
from dalembert.simulation import add_law_states, close_loop, integrate

MASS = Flow("mass", ("x", "v"), ("force", "push", "m"), lambda t, x, u: [x[1], (u[0] + u[1]) / u[2]], positions=1)
PID = Law(
    "PID",
    ("x", "v"),
    ("x_d", "v_d"),
    ("force",),
    lambda t, y, r, z, p: [p[0] * (r[0] - y[0]) + p[1] * (r[1] - y[1]) + p[2] * z[0]],
    ("integral",),
    (0.5,),
    lambda t, y, r, z, p: [r[0] - y[0]],
    parameters={"kp": 4.0, "kd": 4.0, "ki": 1.0},
)
PD = Law(
    "PD",
    ("x", "v"),
    ("x_d", "v_d"),
    ("force",),
    lambda t, y, r, z, p: [p[0] * (r[0] - y[0]) + p[1] * (r[1] - y[1])],
    parameters={"kp": 4.0, "kd": 4.0},
)


class Sine(Reference):
    """sin 2t, as a formula or not."""

    m, duration = 1, np.inf

    def __init__(self, formula: bool) -> None:
        self.formula = formula

    def __call__(self, t):
        s, c = np.sin(2 * np.asarray(t))[..., None], np.cos(2 * np.asarray(t))[..., None]
        return s, 2 * c, -4 * s

    def trace(self, t):
        s, c = scalar.sin(2 * t), scalar.cos(2 * t)
        return ([s], [2 * c], [-4 * s]) if self.formula else None


def test_names():
    flow = close_loop(MASS, PID, [1.0], disturbed=["force"])
    assert flow.states == ("x", "v", "integral") and flow.positions == 1
    assert flow.inputs == ("push", "m", "kp", "kd", "ki", "force_disturbance")
    assert flow.outputs == ("force", "x_d", "v_d")
    assert close_loop(MASS, PID).inputs == ("push", "m", "kp", "kd", "ki", "x_d", "v_d")
    assert close_loop(MASS, PID, Sine(False)).inputs == close_loop(MASS, PID).inputs
    assert close_loop(MASS, PID, Sine(True)).inputs == ("push", "m", "kp", "kd", "ki")
    assert np.array_equal(add_law_states(PID, np.ones((3, 2))), [[1, 1, 0.5]] * 3)


def test_critically_damped_response_and_steady_error():
    """ẍ = −4 e − 4 ẋ: x = 1 − (1 + 2t) e^(−2t); a disturbance d leaves d/kp."""
    flow = close_loop(MASS, PD, [1.0], disturbed="force")
    p = {"m": 1.0, "kp": 4.0, "kd": 4.0, "push": 0.0, "force_disturbance": np.array([0.0, 0.8])}
    run = integrate(flow, [0.0, 0.0], 1e-2, 2000, parameters=p, every=10)
    exact = 1 - (1 + 2 * run.t) * np.exp(-2 * run.t)
    assert np.abs(run.x[0, :, 0] - exact).max() < 1e-8  # h⁴ = 1e-8
    assert run.x[1, -1, 0] == pytest.approx(1 + 0.8 / 4, abs=1e-12)
    # What is observed is the law's own, without what disturbs it.
    assert np.allclose(run.y[..., 0], 4 * (1 - run.x[..., 0]) - 4 * run.x[..., 1], atol=1e-14)
    assert np.array_equal(run.y[0, :, 1:], [[1.0, 0.0]] * len(run.t))


def test_integral_action_removes_the_error():
    flow = close_loop(MASS, PID, [1.0], disturbed="force")
    p = {"m": 1.0, "kp": 4.0, "kd": 4.0, "ki": 2.0, "push": 0.3, "force_disturbance": 0.5}
    run = integrate(flow, add_law_states(PID, [0.0, 0.0]), 0.02, 4000, parameters=p, every=4000)
    assert run.x[-1] == pytest.approx([1, 0, -0.8 / 2], abs=1e-12)


def test_a_reference_over_time_by_formula_and_by_samples():
    """With feedforward missing e obeys ë + 4ė + 4e = ẍ_d: the amplitude is |−4/(−4 + 8i + 4)| = 1/2."""
    p = {"m": 1.0, "kp": 4.0, "kd": 4.0, "push": 0.0}
    dt, steps = 1e-3, 20_000
    traced = integrate(close_loop(MASS, PD, Sine(True)), [0, 0], dt, steps, parameters=p, every=10)
    e = traced.y[-400:, 1] - traced.x[-400:, 0]
    assert np.abs(e).max() == pytest.approx(0.5, abs=1e-4)
    x, v, _ = Sine(False)(dt * np.arange(steps))
    r = np.concatenate((x, v), 1)
    sampled = integrate(close_loop(MASS, PD, Sine(False)), [0, 0], dt, steps, r, parameters=p, every=10)
    assert np.abs(sampled.x - traced.x).max() < 2 * dt * 2  # held over a step: half a step late, ẋ_d = 2


def test_the_law_sees_what_it_measures_and_drives_what_it_names():
    """Measures and outputs in any order; the other inputs stay."""
    arm = dl.load("planar-2r")
    flow = arm.flow(wrenches=["tool"])
    a, b = arm.joint_names
    law = Law(
        "crossed",
        (f"{b}_rate", a),
        (),
        (f"{b}_torque",),
        lambda t, y, r, z, p: [-p[0] * y[0] - 2.0 * y[1]],
        parameters={"k": 3.0},
    )
    whole = close_loop(flow, law)
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=4).tolist(), rng.normal(size=8).tolist()
    rate = whole.rate(0.0, x, u)
    tau2 = -u[7] * x[3] - 2.0 * x[0]
    assert whole.inputs == (f"{a}_torque", *wrench_inputs("tool"), "k")
    assert rate == pytest.approx(flow.rate(0.0, x, [u[0], tau2, *u[1:7]]), abs=1e-13)


def test_what_settles_is_kept():
    """A ball on the floor: settle puts it back, z goes on."""
    ball = Flow(
        "ball",
        ("x", "v"),
        ("force",),
        lambda t, x, u: [x[1], u[0] - 9.81],
        positions=1,
        settle=lambda t, before, x, u: [scalar.maximum(x[0], 0.0), scalar.where(x[0] < 0.0, 0.0, x[1])],
    )
    law = Law(
        "count",
        ("x",),
        (),
        ("force",),
        lambda t, y, r, z, p: [0.0 * z[0]],
        ("time",),
        (0.0,),
        lambda t, y, r, z, p: [1.0],
    )
    run = integrate(close_loop(ball, law), [1.0, 0.0, 0.0], 1e-2, 200)
    assert run.x[:, 0].min() == 0.0 and run.x[-1].tolist() == pytest.approx([0, 0, 2.0])


def test_a_lagrangian_system():
    x = dl.lagrange.coordinates("x")
    (x1,) = x if isinstance(x, (list, tuple)) else (x,)
    system = dl.LagrangianSystem([x1], dl.lagrange.rate(x1) ** 2 / 2, 2 * x1**2)
    flow = system.flow()
    law = Law("damper", flow.states, (), flow.inputs, lambda t, y, r, z, p: [-p[0] * y[1]], parameters={"d": 4.0})
    run = integrate(close_loop(flow, law), [1.0, 0.0], 1e-2, 300, parameters={"d": 4.0})
    assert np.abs(run.x[:, 0] - (1 + 2 * run.t) * np.exp(-2 * run.t)).max() < 1e-8


# ------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"measures": ("x", "w")}, "unknown state of 'mass' that 'PD' measures 'w'"),
        ({"outputs": ("forse",)}, "unknown input of 'mass' that 'PD' drives 'forse'; did you mean 'force'"),
        ({"outputs": ()}, "'PD' has no outputs"),
        ({"outputs": ("force", "force")}, "'force' is there twice"),
        ({"states": ("i",), "initial": (0.0,)}, "'PD' has states but no rate"),
        ({"states": ("i",), "initial": (), "rate": lambda *a: [0.0]}, "gives 0 initial values for its 1 states"),
        ({"states": ("x",), "initial": (0.0,), "rate": lambda *a: [0.0]}, "'x' is there twice"),
        ({"parameters": {"m": 1.0}}, "'m' is there twice"),
        ({"parameters": {"kp": float("nan")}}, "parameter 'kp' of 'PD' must be a finite number, got nan"),
        (
            {"states": ("i",), "initial": (0.0,), "update": lambda h: lambda *a: [0.0]},
            "has no rate, only an update from sample to sample: give sample_time=",
        ),
    ],
)
def test_laws_that_do_not_fit(change, words):
    from dataclasses import replace

    with pytest.raises((InputError, UnknownNameError)) as error:
        close_loop(MASS, replace(PD, **change), [0.0])
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ([1.0, 2.0, 3.0], "follows 2 numbers (x_d, v_d), and a reference of 3 has 3, 6 or 9"),
        ([[1.0]], "a set point is a list of numbers, got shape (1, 1); one for each run"),
        ([np.nan], "or finite numbers to rest at, one per entry; got [nan]"),
        ("home", "must be a Reference, a function of t, or finite numbers to rest at, one per entry; got 'home'"),
    ],
)
def test_references_that_do_not_fit(reference, words):
    with pytest.raises(InputError) as error:
        close_loop(MASS, PD, reference)
    assert words in str(error.value)


def test_a_set_point_with_too_many_numbers_is_refused():
    law = Law("PD", ("x", "v"), ("x_wanted", "x_wanted_rate"), ("force",), PD.act, parameters=PD.parameters)
    assert law.coordinates == 1 and PD.coordinates is None
    with pytest.raises(
        InputError, match=r"'PD' follows a motion of 1 \(x_wanted, x_wanted_rate\), and this reference is one of 2"
    ):
        close_loop(MASS, law, [1.0, 0.5])


def test_wrong_lengths_are_told():
    from dataclasses import replace

    wrong = replace(PD, act=lambda t, y, r, z, p: [0.0, 1.0])
    with pytest.raises(InputError, match=r"'PD' gives 2 numbers for 1 outputs: force"):
        integrate(close_loop(MASS, wrong, [0.0]), [0, 0], 0.1, 1)
    with pytest.raises(InputError, match=r"'PD' gives a float, not 1 outputs"):
        integrate(close_loop(MASS, replace(PD, act=lambda t, y, r, z, p: 0.0), [0.0]), [0, 0], 0.1, 1)
    wrong = replace(PID, rate=lambda t, y, r, z, p: [])
    with pytest.raises(InputError, match=r"the rate of 'PID' gives 0 numbers for 1 states: integral"):
        integrate(close_loop(MASS, wrong, [0.0]), [0, 0, 0], 0.1, 1)
    with pytest.raises(InputError, match="a Flow is closed by a law, not a Robot"):
        close_loop(dl.load("planar-2r"), PD)
    with pytest.raises(InputError, match="a Law closes the loop of 'mass', not a int"):
        close_loop(MASS, 3)
    with pytest.raises(UnknownNameError, match="output of 'PD' to disturb 'v'"):
        close_loop(MASS, PD, [0.0], disturbed=["v"])
    free = replace(PD, follows=(), act=lambda t, y, r, z, p: [0.0])
    with pytest.raises(InputError, match="'PD' follows nothing: give no reference"):
        close_loop(MASS, free, [0.0])
