"""What a first look would correct can be said: the log read with its words is the log that it corrects."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import arm, recorded

from dalembert.identification.log.correction import Correction
from dalembert.identification.log.read import read_log, read_logs
from dalembert.identification.log.settings import LogSettings

N = 6
NONE = Correction.none(N)
ONES = np.ones(N)
DEGREE = np.pi / 180
CASES = {
    "all signs": {"tau_factor": tuple(-ONES)},
    "some signs": {
        "tau_factor": (1.0, -1.0, 1.0, 1.0, -1.0, 1.0),
        "q_factor": (-1.0, *ONES[1:]),
        "qd_factor": (-1.0, *ONES[1:]),
    },
    "order": {"q_order": (1, 0, 2, 3, 4, 5), "tau_order": (0, 1, 2, 5, 3, 4)},
    "degrees": {"q_factor": tuple(DEGREE * ONES), "qd_factor": tuple(DEGREE * ONES)},
    "mN m": {"tau_factor": tuple(1e-3 * ONES)},
    "motor side": {"q_factor": (0.01, *ONES[1:]), "qd_factor": (0.01, *ONES[1:]), "tau_factor": (-100.0, *ONES[1:])},
    "rate": {"time": 0.5},
    "lag": {"lag": 0.02},
    "gravity": {"gravity": (0.0, -9.81, 0.0)},
    "rate, lag, sign and order": {
        "time": 2.0,
        "lag": 0.04,
        "tau_factor": (-1.0, *ONES[1:]),
        "tau_order": (1, 0, 2, 3, 4, 5),
    },
}


@pytest.fixture(scope="module")
def robot():
    return arm()


@pytest.mark.parametrize(
    "before",
    [
        LogSettings(units={"q": "rad"}),
        LogSettings(units={"q": "rad"}, sign={"tau": [1, -1, 1, 1, 1, 1]}, ratio={"q": [2, 1, 1, 1, 1, 1], "tau": 3}),
    ],
    ids=["nothing said", "signs and ratios said"],
)
@pytest.mark.parametrize("case", CASES)
def test_the_words_of_a_correction_read_the_corrected_log(robot, case, before):
    log = recorded(robot, rate=100.0, duration=2.0, noise=1e-6, tau_noise=0.05)[0]
    said_of_time = {"rate": 100.0 / CASES[case]["time"]} if "time" in CASES[case] else {}
    correction = replace(NONE, **CASES[case], **said_of_time)
    raw = {"t": log.t, "q": log.q, "qd": log.qd, "tau": log.tau}
    as_read = read_log(raw, robot, settings=before)
    wanted_robot, wanted = correction.apply(robot, as_read)
    said = LogSettings(**correction.settings())
    recording = read_logs([raw], robot, before.corrected(said), look=True)
    (read,) = recording.logs
    for name in ("q", "qd", "tau"):
        np.testing.assert_allclose(getattr(read, name), getattr(wanted, name), rtol=1e-4, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(read.t - read.t[0], wanted.t - wanted.t[0], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(recording.robot.model.gravity, wanted_robot.model.gravity)
