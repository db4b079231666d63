"""One closed loop for one run and for many: samples, delays, noise, quantization, measures, loads; and strangers."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from tests.rollout_words import rollouts

import dalembert as dl
from dalembert import scalar
from dalembert.errors import InputError
from dalembert.flow import Flow
from dalembert.law import Law
from dalembert.reference import Reference
from dalembert.simulation import METHODS, Inputs, Measures, Sensors, Solver, close_loop, integrate, normal

ARM = dl.load("planar-2r")
PID = Law(
    "pid",
    (*ARM.joint_names, *(f"{j}_rate" for j in ARM.joint_names)),
    ("r1", "r2"),
    tuple(f"{j}_torque" for j in ARM.joint_names),
    lambda t, y, r, z, p: [p[0] * (r[k] - y[k]) - p[1] * y[2 + k] + p[2] * z[k] for k in range(2)],
    ("i1", "i2"),
    (0.0, 0.0),
    lambda t, y, r, z, p: [r[k] - y[k] for k in range(2)],
    parameters={"kp": 60.0, "kd": 12.0, "ki": 40.0},
)
STARTS = np.array([[0.5, 0.3], [-0.2, 0.1], [0.0, 0.0], [0.4, -0.6], [0.1, 0.2], [0.3, 0.3], [0.2, 0.1]])
TASK = {"reference": [0.2, 0.1], "duration": 0.06}
SENSORS = {
    "continuous": {},
    "noisy": {"noise": 1e-3},
    "sampled": {"sample_time": 0.004},
    "late": {"sample_time": 0.002, "delay": 0.006, "quantization": 1e-3},
    "all": {"sample_time": 0.006, "delay": 0.006, "quantization": {"q": 1e-3}, "noise": {"q": 1e-3, "qd": 1e-2}},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sensors", SENSORS)
def test_a_run_is_the_same_bits_alone_and_in_any_batch(method, sensors):
    """Rollout 0 alone, among seven, cut in chunks, and by `simulate`."""
    eyes = SENSORS[sensors]
    options = {**TASK, "dt": 2e-3, "method": method, "sensors": Sensors(**eyes), "keep": "all"}
    options |= {"measures": ("ise", "peak_torque"), "seed": 5 if "noise" in eyes else None}
    whole = rollouts(ARM, PID, STARTS, **options)
    alone = rollouts(ARM, PID, STARTS[:1], **options)
    parts = rollouts(ARM, PID, STARTS, chunk=2, **options)
    assert np.array_equal(whole.rows[:1], alone.rows) and np.array_equal(whole.rows, parts.rows)
    for name in ("ise", "peak_torque"):
        assert whole[name][0] == alone[name][0] and np.array_equal(whole[name], parts[name])
    seed = {"seed": 5} if "noise" in eyes else {}
    run = dl.simulate(
        ARM,
        PID,
        q0=STARTS[0],
        **TASK,
        dt=2e-3,
        solver=method,
        sensors=Sensors(**eyes, **seed),
        measures=("ise", "peak_torque"),
    )
    assert np.array_equal(run.q, whole.q[0]) and np.array_equal(run.controller, alone.rows[0, :, 4:6])
    assert run.measures == {name: whole[name][0] for name in ("ise", "peak_torque")}


def test_noise_belongs_to_a_rollout():
    options = {**TASK, "dt": 2e-3, "sensors": Sensors(noise=1e-2, sample_time=0.004), "keep": "all"}
    many, few = (rollouts(ARM, PID, STARTS[0], number=n, seed=1, **options) for n in (50, 3))
    assert np.array_equal(many.rows[:3], few.rows) and len(np.unique(many.last[:, 0])) == 50
    own = rollouts(
        ARM, PID, STARTS[0], number=3, **{**options, "sensors": Sensors(noise=1e-2, sample_time=0.004, seed=1)}
    )
    assert np.array_equal(own.rows, few.rows)


@pytest.mark.parametrize("delay", [0, 2])
def test_a_sampled_batch_by_hand(delay):
    """A unit mass under a held and delayed force: exact between samples."""
    mass = Flow("mass", ("x", "v"), ("f",), lambda t, x, u: [x[1], u[0]], positions=1)
    law = Law("brake", ("x", "v"), (), ("f",), lambda t, y, r, z, p: [-p[0] * y[0] - 2.0 * y[1]], parameters={"k": 3.0})
    k, h = np.array([1.0, 3.0]), 0.05
    sensors = Sensors(sample_time=h, delay=delay * h)
    batch = rollouts(mass, law, [1.0], [0.5], duration=2.0, dt=0.01, sensors=sensors, parameters={"k": k}, keep="all")
    x, v, waiting = np.ones(2), np.full(2, 0.5), [np.zeros(2)] * delay
    for row in range(40):
        waiting.append(-k * x - 2.0 * v)
        w = waiting.pop(0)
        assert np.abs(batch["x"][:, 5 * row] - x).max() < 1e-12 and np.abs(batch["f"][:, 5 * row] - w).max() < 1e-11
        x, v = x + h * v + h * h / 2 * w, v + h * w
    flow = close_loop(mass, law, sample_time=h, delay=delay)
    found = integrate(flow, [1.0, 0.5, *[0.0] * (1 + delay)], 0.01, 200, parameters={"k": 3.0})
    assert np.array_equal(found.x[:, :2], batch.rows[1, :, :2])


def test_loads_gains_and_measures_of_one_run():
    """What a batch varies by name, `simulate` takes too; what is measured is what `MEASURES` say."""
    controller = dl.control.ComputedTorque(ARM, omega=8.0)
    options = {"q0": [0.3, 0.1], "reference": [0.0, 0.4], "duration": 0.5, "dt": 1e-3}
    loaded = Inputs(parameters={"payload_mass": 1.5}, payload=(0, 0.1, 0))
    run = dl.simulate(ARM, controller, inputs=loaded, measures=("rms_error", "peak_torque"), **options)
    real = dl.simulate(ARM.with_payload(1.5, (0, 0.1, 0)), controller, **options)
    assert np.abs(run.q - real.q).max() < 1e-11
    e = run.reference - run.q
    assert run.measures["rms_error"] == pytest.approx(np.sqrt((e**2).mean()), rel=1e-2)
    assert run.measures["peak_torque"] == pytest.approx(np.abs(run.tau).max(), rel=1e-6)
    gain = next(iter(controller.law().parameters))
    moved = Inputs(parameters={gain: lambda t: 64.0 + 100 * t}, disturbance={"joint1_torque": [[0.5]] * 500})
    assert np.abs(dl.simulate(ARM, controller, inputs=moved, **options).q - real.q).max() > 1e-3
    own = dl.simulate(ARM, controller, measures=Measures("peak_error", {"joint1": 0.0}), **options)
    assert own.measures["peak_error"] == pytest.approx(0.3, rel=1e-6)
    with pytest.raises(dl.UnknownNameError, match="unknown parameter of 'planar-2r' 'mass'"):
        dl.simulate(ARM, controller, inputs=Inputs(parameters={"mass": 1.0}), **options)


class Wave(Reference):
    """A sine in each joint, which is no formula."""

    m, duration = 2, np.inf

    def __call__(self, t):
        t = np.asarray(t, float)[..., None] + np.array([0.0, 0.5])
        return np.sin(t), np.cos(t), -np.sin(t)


@pytest.mark.parametrize("sensors", [None, Sensors(sample_time=0.01)])
def test_a_reference_that_is_no_formula_is_looked_at_where_the_method_looks(sensors):
    options = {"reference": Wave(), "duration": 0.5, "dt": 0.01, "sensors": sensors}
    batch = rollouts(ARM, PID, STARTS, keep="all", **options)
    run = dl.simulate(ARM, PID, q0=STARTS[3], **options)
    assert np.abs(batch.q[3] - run.q).max() < 1e-13
    by_function = rollouts(ARM, PID, STARTS, keep="all", **{**options, "reference": lambda t: np.sin([t, t + 0.5])})
    assert np.abs(by_function.rows - batch.rows).max() < 1e-12
    assert np.abs(batch.rows[0, :, batch.names.index("r1")] - np.sin(batch.t)).max() < 1e-12


def test_fifteen_words_at_the_most():
    assert len(inspect.signature(dl.simulate).parameters) <= 15


IDLE = [({"solver": Solver, "rtol": 1e-3}, "rtol= is for adaptive methods, and rk4 takes steps of dt")]


@pytest.mark.parametrize(("words", "message"), IDLE)
def test_a_noun_refuses_what_does_not_apply(words, message):
    noun, *_ = words.values()
    with pytest.raises(InputError, match=message):
        noun(**{k: v for k, v in words.items() if v is not noun})


@pytest.mark.parametrize("noun", ["solver", "sensors", "inputs", "limits"])
def test_a_noun_is_that_noun(noun):
    with pytest.raises(InputError, match=rf"{noun} must be \w+\(…\), got dict"):
        dl.simulate(ARM, q0=[0, 0], duration=0.01, **{noun: {"method": "rk4"}})


# --------------------------------------------------------------------------------------------------------- strangers
class Tank:
    """Two tanks in a row, each emptying by its level: a class of nobody's, with a flow."""

    def __init__(self, area: float) -> None:
        self.area = area

    def flow(self, leak: bool = False) -> Flow:
        def rate(t, x, u):
            first, second = 0.5 * x[0], 0.5 * x[1]
            return [(u[0] - first) / self.area, (first - second - (0.1 * x[1] if leak else 0.0)) / self.area]

        return Flow("tanks", ("upper", "lower"), ("inflow",), rate)


def test_a_system_of_a_stranger():
    law = Law(
        "valve",
        ("lower",),
        ("level",),
        ("inflow",),
        lambda t, y, r, z, p: [p[0] * (r[0] - y[0]) + 0.5 * r[0]],
        parameters={"k": 2.0},
    )
    options = {"x0": [0.0, 0.0], "reference": [1.0], "duration": 40.0, "dt": 0.01}
    run = dl.simulate(Tank(2.0), law, **options, measures=Measures("ise", {"lower": 1.0}))
    assert run.ok and abs(run["lower"][-1] - 1.0) < 1e-3 and 0 < run.measures["ise"] < 10
    batch = rollouts(Tank(2.0), law, **{**options, "x0": normal([0.0, 0.0], [0.1, 0.1])}, number=5, seed=0)
    assert np.abs(batch["lower"] - 1.0).max() < 1e-3
    adaptive = dl.simulate(Tank(2.0), law, **options, solver="RK45")
    assert np.abs(adaptive.x - run.x).max() < 1e-6
    for words, message in (
        ({"friction": True}, "friction= does not apply to a Tank: its flow"),
        ({"solver": "symplectic"}, "method='symplectic' is for a Robot without friction, not for a Tank"),
        ({"inputs": Inputs(wrenches={"lid": [0] * 6})}, "wrenches= does not apply to a Tank"),
    ):
        with pytest.raises(InputError, match=message):
            dl.simulate(Tank(2.0), x0=[0.0, 0.0], duration=0.1, **words)


@pytest.mark.parametrize("method", METHODS)
def test_positions_on_a_manifold(method):
    """A pendulum whose position is a point (c, s) of the circle: two numbers, one rate."""

    def rate(t, x, u):
        return [x[2], -9.81 * x[1] + u[0]]

    def advance(q, d):
        c, s = scalar.cos(d[0]), scalar.sin(d[0])
        return [q[0] * c - q[1] * s, q[0] * s + q[1] * c]

    circle = Flow("circle", ("c", "s", "v"), ("u",), rate, positions=2, velocities=1, advance=advance)
    assert (circle.nq, circle.nv) == (2, 1)
    line = Flow("line", ("a", "v"), ("u",), lambda t, x, u: [x[1], -9.81 * scalar.sin(x[0]) + u[0]], positions=1)
    on = integrate(circle, [np.cos(1.0), np.sin(1.0), 0.5], 1e-3, 2000, [0.3], method=method)
    angle = integrate(line, [1.0, 0.5], 1e-3, 2000, [0.3], method=method).x[:, 0]
    assert np.abs(np.hypot(on.x[:, 0], on.x[:, 1]) - 1).max() < 1e-12  # never left
    assert np.abs(on.x[:, 1] - np.sin(angle)).max() < 1e-10
    law = Law("damper", ("v",), (), ("u",), lambda t, y, r, z, p: [-p[0] * y[0]], parameters={"d": 1.0})
    run = dl.simulate(circle, law, x0=[np.cos(1.0), np.sin(1.0), 0.0], duration=20.0, dt=1e-2, solver=method)
    assert np.abs(run.x[-1] - [1.0, 0.0, 0.0]).max() < 0.1 and run.q.shape[1] == 2 and run.qd.shape[1] == 1


def test_a_law_with_memory_of_its_own():
    """An update from sample to sample may be any compiled function: here a filter of the measured rates."""
    smooth = replace(
        PID,
        name="smooth",
        states=("v1", "v2"),
        rate=None,
        act=lambda t, y, r, z, p: [p[0] * (r[k] - y[k]) - p[1] * z[k] for k in range(2)],
        update=lambda h: lambda t, y, r, z, p: [0.8 * z[k] + 0.2 * y[2 + k] for k in range(2)],
        start=lambda y: [y[2], y[3]],
    )
    sensors = Sensors(sample_time=2e-3)
    batch = rollouts(ARM, smooth, STARTS, np.ones(2), **TASK, dt=1e-3, sensors=sensors, keep="all")
    run = dl.simulate(ARM, smooth, q0=STARTS[2], qd0=np.ones(2), **TASK, dt=1e-3, sensors=sensors)
    assert np.abs(run.q - batch.q[2]).max() < 1e-14 and run.controller[0].tolist() == [1.0, 1.0]
