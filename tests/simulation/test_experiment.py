"""Laws of Experiment: where two of its methods support an option, they give the same bits; elsewhere they say so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.simulation import MEASURES, METHODS, Experiment, JointLimits, Measures
from dalembert.simulation.experiment import EVERYWHERE, SUPPORT

ARM = dl.load("planar-2r")
PID = dl.control.JointPID(ARM, kp=60.0, ki=40.0, kd=12.0)
STEPS, START = 30, {"q0": [0.5, 0.3], "qd0": [0.1, -0.2]}
MOTION = dl.trajectories.quintic([0.5, 0.3], [0.2, 0.1], duration=0.1)
WAVE = np.random.default_rng(0).normal(size=(STEPS, 2))
OPTIONS = {
    "nothing": {},
    "no controller": {"controller": None, "reference": None, "measures": ()},
    "motion": {"reference": MOTION},
    "function as a reference": {"reference": lambda t: ([0.5 + t, 0.3], [1.0, 0.0], [0.0, 0.0])},
    "constant torques": {"inputs": dl.Inputs(tau=[0.5, -0.2])},
    "torques per step": {"inputs": dl.Inputs(tau=WAVE)},
    "torques as a function": {"inputs": dl.Inputs(tau=lambda t: [np.sin(20 * t), 0.1])},
    "wrench": {"inputs": dl.Inputs(wrenches={"tool": [1.0, 2.0, 0, 0, 0, 0.3]})},
    "wrench as a function": {"inputs": dl.Inputs(wrenches={"tool": lambda t: [1.0, t, 0, 0, 0, 0]})},
    "disturbance": {"inputs": dl.Inputs(disturbance={"joint1_torque": 0.5})},
    "gains and payload": {
        "inputs": dl.Inputs(parameters={"payload.mass": 1.5, "controller.kp": 80.0}, payload=(0, 0.1, 0))
    },
    "sampled": {"sensors": dl.Sensors(sample_time=0.006, delay=0.006)},
    "noise": {"sensors": dl.Sensors(noise=1e-3, seed=5)},
    "quantized": {"sensors": dl.Sensors(sample_time=0.002, quantization=1e-3)},
    "limits": {"limits": ARM.limits},
    "torque limits": {"limits": JointLimits(torque=3.0)},
    "friction": {"friction": True},
    **{f"solver {name}": {"solver": name} for name in METHODS},
}
FUNCTION = [name for name in OPTIONS if name not in ("noise", "quantized")]


def experiment(name: str, **more: object) -> Experiment:
    words = {"reference": [0.2, 0.1], "measures": tuple(MEASURES), "dt": 2e-3, **OPTIONS[name], **more}
    return Experiment(ARM, words.pop("controller", PID), **words)


@pytest.mark.parametrize("duration", [STEPS * 2e-3, STEPS * 2e-3 - 7e-4])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_is_a_row_of_a_batch(name, duration):
    """Alone, as row 1 of three, repeated from the batch: states, inputs, and every measure."""
    e = experiment(name)
    run = e.run(**START, duration=duration)
    q0 = np.array([[0.1, 0.2], [0.5, 0.3], [0.0, 0.0]])
    noisy = "noise" in name
    batch = e.batch(q0=q0 if not noisy else START["q0"], qd0=START["qd0"], count=3, duration=duration, keep="all")
    row = 0 if noisy else 1
    states = len(run.groups["x"])
    if name.startswith("wrench"):  # the power that they supply shares products with the motion, which rounds otherwise
        np.testing.assert_allclose(batch.rows[row][:, :states], run.x, rtol=0, atol=1e-15)
        return
    np.testing.assert_array_equal(batch.rows[row][:, :states], run.x)
    np.testing.assert_array_equal(batch.t, run.t)
    assert {key: values[row] for key, values in batch.measures.items()} == run.measures
    again = batch.run(row)
    np.testing.assert_array_equal(again.x, run.x)
    np.testing.assert_array_equal(again.u, run.u)
    assert again.measures == run.measures and again.message == run.message


@pytest.mark.parametrize("name", FUNCTION)
def test_a_function_gives_the_states_of_a_run(name):
    e = experiment(name, measures=())
    run = e.run(**START, duration=STEPS * 2e-3)
    x = e.function("x0", duration=STEPS * 2e-3)(np.concatenate((START["q0"], START["qd0"])))
    np.testing.assert_allclose(x[:, :4], run.x, rtol=0, atol=1e-15 if name.startswith("wrench") else 0)


@pytest.mark.parametrize("name", [name for name in FUNCTION if name != "no controller"])
def test_a_gradient_measures_what_a_run_measures(name):
    e = experiment(name)
    run = e.run(**START, duration=STEPS * 2e-3)
    found = e.gradient({"rms_error": 1.0}, wrt="q0", **START, duration=STEPS * 2e-3)
    assert found.loss[0] == run.measures["rms_error"]
    np.testing.assert_array_equal(found.last[0, :4], run.x[-1])


def test_values_that_vary_are_those_of_one_run():
    e = experiment("nothing")
    vary = {"controller.kp": [50.0, 80.0], "payload.mass": [0.0, 1.5]}
    batch = e.batch(vary=vary, **START, duration=0.06)
    inputs = dl.Inputs(parameters={"controller.kp": 80.0, "payload.mass": 1.5})
    run = e.replace(inputs=inputs).run(**START, duration=0.06)
    np.testing.assert_array_equal(batch.q[1], run.q[-1])
    short = e.batch(vary={"kp": vary["controller.kp"], "payload_mass": vary["payload.mass"]}, **START, duration=0.06)
    np.testing.assert_array_equal(short.last, batch.last)


def test_arguments_of_a_controller_vary():
    made = [dl.control.ComputedTorque(ARM, omega=w) for w in (5.0, 10.0)]
    e = Experiment(ARM, made[0], reference=[0.2, 0.1])
    batch = e.batch(vary=dl.grid(omega=[5.0, 10.0]), q0=[0.0, 0.0], duration=0.1)
    for row, controller in zip(batch.q, made, strict=True):
        np.testing.assert_array_equal(row, e.replace(controller=controller).run(q0=[0.0, 0.0], duration=0.1).q[-1])


def test_compare():
    each = {name: experiment("nothing", controller=c, measures=()) for name, c in (("a", PID), ("b", None))}
    with pytest.raises(InputError, match="a reference is what a controller follows"):
        dl.compare(each, **START, duration=0.06)
    each = {"stiff": experiment("nothing"), "soft": experiment("nothing", controller=dl.control.PD(ARM, kp=5, kd=1))}
    found = dl.compare(each, vary={"payload.mass": [0.0, 2.0]}, **START, duration=0.06)
    own = each["soft"].batch(vary={"payload.mass": [0.0, 2.0]}, **START, duration=0.06)
    np.testing.assert_array_equal(found["soft"].last, own.last)
    assert found.measures["ise"].shape == (2, 2) and found.ok.all() and len(found.table().rows) == 4
    with pytest.raises(InputError, match="an Experiment"):
        dl.compare({"a": PID}, **START, duration=0.1)


# ------------------------------------------------------------------------------------------------ what is not supported
def methods(e: Experiment) -> dict[str, object]:
    words = {**START, "duration": 0.02}
    return {
        "run": lambda: e.run(**words),
        "batch": lambda: e.batch(**words),
        "gradient": lambda: e.gradient("rms_torque", wrt="q0", **words),
        "function": lambda: e.function("x0", duration=0.02),
        "tune": lambda: e.tune("kp", loss="rms_torque", iterations=1, **words),
    }


WORDS = {
    "controller (a Python function)": {"controller": lambda t, q, qd: -qd, "reference": None},
    "solver (adaptive)": {"solver": "DOP853"},
    "limits ('stop' or 'bounce')": {"limits": "stop"},
    "sensors (noise)": {"sensors": dl.Sensors(noise=1e-3)},
    "world": {"world": dl.World()},
}


@pytest.mark.parametrize("option", WORDS)
def test_every_other_pair_is_refused_by_name(option):
    e = Experiment(**{"system": ARM, "controller": PID, "reference": [0.2, 0.1], "dt": 2e-3, **WORDS[option]})
    for method, call in methods(e).items():
        if method in SUPPORT[option]:
            call()
        elif method != "tune" or "function" not in option:
            with pytest.raises(InputError, match=re.escape(f"Experiment.{method} does not support {option}")) as error:
                call()
            assert error.value.code == "unsupported" and error.value.argument == option.partition(" ")[0]


def test_the_documented_table_is_the_table():
    page = (Path(__file__).parents[2] / "docs" / "batches.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    (head,) = [row for row in rows if row[0] == "option"]
    assert tuple(name.strip("`") for name in head[1:]) == EVERYWHERE
    listed = {row[0]: [cell != "–" for cell in row[1:]] for row in rows if len(row) == 6}
    for option, supported in SUPPORT.items():
        (found,) = [cells for name, cells in listed.items() if name.startswith(option.removesuffix(")"))]
        assert found == [method in supported for method in EVERYWHERE], option


def test_one_definition_of_an_error():
    """√(∫ Σe²/n dt / T), by every method."""
    e = experiment("nothing", measures=Measures("rms_error"))
    run = e.run(**START, duration=1.0)
    errors = run.reference - run.q
    assert run.measures["rms_error"] == pytest.approx(np.sqrt((errors**2).mean()), rel=1e-2)
