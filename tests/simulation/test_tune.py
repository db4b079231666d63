"""Gains by gradient: an optimum that is known, and what `compare` says of it."""

from dataclasses import replace

import numpy as np
import pytest
from tests.rollout_words import rollouts, tune_gains

import dalembert as dl
from dalembert.errors import DalembertError

ARM = dl.load("planar-2r")
PD = dl.control.PDGravity(ARM, kp=[40, 20], kd=[4, 1])
GOAL = np.array([0.6, -0.4])
WORDS = {"reference": GOAL, "loss": {"rms_error": 1.0, "rms_torque": 2e-3}, "duration": 1.0, "dt": 5e-3}


def test_no_neighbor_is_better():
    """At the gains that are found for a unit mass the slopes are zero, and the measures of every neighbor are worse."""
    mass = dl.Flow("mass", ("x", "v"), ("f",), lambda t, x, u: [x[1], u[0]], positions=1)

    def act(t, y, r, z, p):
        return [p[0] * (r[0] - y[0]) - p[1] * y[1]]

    law = dl.Law("pd", ("x", "v"), ("x_wanted",), ("f",), act, parameters={"k": 3.0, "d": 6.0})
    words = {"reference": [0.0], "duration": 12.0, "dt": 0.01}
    found = tune_gains(mass, law, [1.0], loss={"rms_error": 1.0, "rms_torque": 0.2}, **words)
    assert found.converged and found.slope < 1e-4 and not found.at_bound and found.loss < found.loss_before
    for name in ("k", "d"):
        for factor in (0.95, 1.05):
            other = {**found.gains, name: factor * found.gains[name]}
            batch = rollouts(mass, law, [1.0], parameters=other, measures=("rms_error", "rms_torque"), **words)
            assert (batch["rms_error"] + 0.2 * batch["rms_torque"])[0] > found.loss


def test_compare_agrees():
    """What was tuned by the loop's measures does better by those of `compare`."""
    found = tune_gains(ARM, PD, [0.0, 0.0], **{**WORDS, "loss": {"rms_error": 1.0, "rms_torque": 1e-4}})
    kp, kd = ([found.gains[f"{kind}_{joint}"] for joint in ARM.joint_names] for kind in ("kp", "kd"))
    tuned = dl.control.PDGravity(ARM, kp=kp, kd=kd)
    said = dl.control.compare(
        {"before": PD, "tuned": tuned}, ARM, GOAL, 1.0, q0=[0.0, 0.0], dt=5e-3,
        scenarios={"nominal": dl.control.Scenario()},
    )  # fmt: skip
    assert said.of("tuned", "nominal")["rms_error"] < 0.9 * said.of("before", "nominal")["rms_error"]
    assert found.law.parameters["kp_joint1"] == kp[0] and found.loss < found.loss_before


def test_gains_that_are_tied_keep_their_ratio():
    found = tune_gains(ARM, PD, [0.0, 0.0], gains="controller.kp", iterations=5, **WORDS)
    assert found.gains["kp_joint1"] / found.gains["kp_joint2"] == pytest.approx(2.0)
    assert set(found.gains) == {"kp_joint1", "kp_joint2"} and found.law.parameters["kd_joint1"] == 4


def test_errors_alone_go_to_the_bound():
    found = tune_gains(ARM, PD, [0.0, 0.0], **{**WORDS, "loss": "rms_error"}, factor=1.5, iterations=20)
    assert "kp_joint1" in found.at_bound and found.gains["kp_joint1"] == pytest.approx(60.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"gains": "kpp"}, "controller.kp"),
        ({"gains": ("kp_joint1", "kp_joint1")}, "named twice"),
        ({"parameters": {"kp_joint1": 3.0}}, "leave one out"),
        ({"factor": 1.0}, "factor"),
        ({"iterations": 0}, "iterations"),
        ({"gains": ("kp", "kp_joint1")}, "named twice"),
        ({"dt": 0.25, "duration": 10.0}, "begin with gains that hold"),
        ({"loss": "settling_time"}, "settling_time jumps"),
    ],
)
def test_refusals(words, message):
    with pytest.raises(DalembertError, match=message):
        tune_gains(ARM, PD, [0.0, 0.0], **{**WORDS, **words})


def test_nothing_to_tune():
    with pytest.raises(DalembertError, match="there is none"):
        tune_gains(ARM, None, [0.0, 0.0], **WORDS)
    law = replace(PD.law(), parameters=dict.fromkeys(PD.law().parameters, -1.0))
    with pytest.raises(DalembertError, match="no positive gain"):
        tune_gains(ARM, law, [0.0, 0.0], **WORDS)
    with pytest.raises(DalembertError, match="are positive"):
        tune_gains(ARM, law, [0.0, 0.0], gains="kp_joint1", **WORDS)


def test_the_unit_of_the_loss_does_not_matter():
    one, other = (
        tune_gains(ARM, PD, np.zeros((1, 2)), **{**WORDS, "loss": {"rms_error": s, "rms_torque": 2e-3 * s}})
        for s in (1.0, 2.0**-30)
    )
    assert one.converged and other.converged and other.gains == one.gains and other.loss == one.loss * 2.0**-30


def test_gains_with_which_rollouts_diverge_are_not_the_best_however_the_loss_is_signed():
    words = {**WORDS, "loss": {"rms_error": -1.0}, "dt": 0.02, "factor": 1000.0}
    found = tune_gains(ARM, PD, np.zeros((1, 2)), **words)
    at = {**{k: words[k] for k in ("reference", "duration", "dt")}, "measures": ["rms_error"]}
    assert np.isclose(found.loss, -rollouts(ARM, found.law, np.zeros((1, 2)), **at).measures["rms_error"].mean())
    assert found.converged == (found.slope < 1e-2)
