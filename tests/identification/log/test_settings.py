"""What is said about a log: the same words in Python, as options and in a TOML file."""

from __future__ import annotations

import re

import numpy as np
import pytest
from planted import arm, recorded

import dalembert as dl
from dalembert.errors import InputError, UnknownNameError
from dalembert.identification.log.read import read_log, read_logs
from dalembert.identification.log.settings import MEANINGS, WORDS, LogSettings
from errors import raises

OPTIONS = {
    "columns": ["t=clock,q=1-6", "tau=M_{i}"],
    "units": "q=deg,tau=mNm",
    "sign": "tau=1,-1,1,1,1,1",
    "offset": "q=0,-90deg,0,0,0,0",
    "ratio": "100",
    "coupling": "1,0;0,2",
    "torque_constant": "0.1,0.2",
    "gravity": "0,-9.81,0",
    "locked": "finger=0.02",
    "rate": "500",
    "window": "2:",
    "topic": "/a=b",
    "resample": "force",
}


@pytest.fixture(scope="module")
def robot():
    return arm()


@pytest.fixture(scope="module")
def log(robot):
    return recorded(robot, rate=100.0, duration=3.0, noise=1e-6, tau_noise=0.05)[0]


def test_options_python_and_a_file_say_the_same(tmp_path):
    said = LogSettings.from_options(OPTIONS)
    assert said == LogSettings(
        columns={"t": "clock", "q": range(1, 7), "tau": "M_{i}"},
        units={"q": "deg", "tau": "mNm"},
        sign={"tau": np.array([1, -1, 1, 1, 1, 1])},
        offset={"q": [0, -np.pi / 2, 0, 0, 0, 0]},
        ratio=100,
        coupling=np.diag([1, 2]),
        torque_constant=[0.1, 0.2],
        gravity=(0, -9.81, 0),
        locked={"finger": 0.02},
        rate=500,
        window=(2, None),
        topic="/a=b",
        resample="force",
    )
    said.to_toml(tmp_path / "log.toml")
    assert LogSettings.from_toml(tmp_path / "log.toml") == said
    said.to_toml(tmp_path / "log.toml", explained=True)
    assert LogSettings.from_toml(tmp_path / "log.toml") == said
    (tmp_path / "short.toml").write_text('sign = "tau=-1"\nbad-rows = "drop"\n[columns]\nt = "none"\n')
    assert LogSettings.from_toml(tmp_path / "short.toml").said() == {
        "sign": {"tau": -1},
        "bad_rows": "drop",
        "columns": {"t": None},
    }


def test_every_setting_is_explained_and_its_example_can_be_read(tmp_path):
    """An explained file of no settings holds an example of each, behind a comment sign."""
    assert tuple(MEANINGS) == WORDS
    file = tmp_path / "log.toml"
    text = LogSettings().to_toml(file, explained=True)
    assert LogSettings.from_toml(file) == LogSettings()
    examples = [line.removeprefix("# ") for line in text.splitlines() if re.match(r"# \w+ = ", line)]
    assert len(examples) == len(WORDS)
    for example in examples:
        file.write_text(example)
        assert len(LogSettings.from_toml(file).said()) == 1, example


def test_later_words_win_group_by_group():
    first = LogSettings(units={"q": "deg", "tau": "mNm"}, rate=100.0)
    assert first.updated(LogSettings(units={"q": "rad"}, sign=-1)) == LogSettings(
        units={"q": "rad", "tau": "mNm"}, rate=100.0, sign=-1
    )


def test_what_cannot_be_said(tmp_path):
    file = tmp_path / "log.toml"
    for text, error, words in (
        ("unit = 'deg'", UnknownNameError, "unknown-name"),
        ("rate = ", InputError, "syntax path"),
        ("rate = 'fast'", InputError, "wrong-type rate"),
        ("gravity = [0, 1]", InputError, "wrong-shape gravity"),
        ("window = [5, 2]", InputError, "wrong-type window"),
        ("gaps = 'fill'", UnknownNameError, "unknown-name"),
    ):
        file.write_text(text)
        with raises(error, words):
            LogSettings.from_toml(file)
    with raises(InputError, "not-readable path"):
        LogSettings.from_toml(tmp_path / "nowhere.toml")
    with raises(InputError, "wrong-type units"):
        LogSettings.from_options({"units": "deg"})
    with raises(UnknownNameError, "unknown-name"):
        LogSettings.from_options({"sign": "torque=-1"})
    with raises(UnknownNameError, "unknown-name"):
        LogSettings.from_options({"unit": "deg"})


def test_settings_read_a_log_as_words_do(robot, log):
    table = {"clock": log.t, "q": np.degrees(log.q), "qd": np.degrees(log.qd), "tau": -log.tau}
    said = LogSettings(columns={"t": "clock"}, units={"q": "deg", "qd": "deg"}, sign={"tau": -1})
    read = read_log(table, robot, settings=said)
    np.testing.assert_allclose(read.q, log.q, atol=1e-12)
    np.testing.assert_allclose(read.qd, log.qd, atol=1e-12)  # "deg" of a rate is deg/s
    np.testing.assert_allclose(read.tau, log.tau)
    np.testing.assert_allclose(read_log(table, robot, settings=said, sign=1).tau, -log.tau)
    np.testing.assert_allclose(read_log(table, robot, settings=said, units={"qd": "rpm"}).qd, log.qd * 6, atol=1e-12)


def test_exchanged_columns_and_torques_that_came_late(robot, log):
    swapped = np.array([1, 3, 2, 4, 5, 6])
    table = {"t": log.t, "q": log.q[:, swapped - 1], "qd": log.qd[:, swapped - 1], "tau": log.tau}
    read = read_log(table, robot, order={"q": swapped})
    np.testing.assert_array_equal(read.q, log.q)
    np.testing.assert_array_equal(read.qd, log.qd)
    late = read_log({"t": log.t, "q": log.q[2:], "tau": log.tau[:-2]} | {"t": log.t[2:]}, robot, lag=0.02)
    np.testing.assert_allclose(late.q, log.q[2:-2])
    np.testing.assert_allclose(late.tau, log.tau[2:-2])
    with raises(InputError, "wrong-value order"):
        read_log(table, robot, order={"q": [1, 2]})
    with raises(InputError, "out-of-range ratio"):
        read_log(table, robot, ratio={"qd": 0})
    read = read_log(table | {"qd": 2 * log.qd}, robot, ratio={"qd": 2})
    np.testing.assert_allclose(read.qd, log.qd)


def test_a_correction_counts_besides_what_was_said():
    said = LogSettings(sign={"tau": [1, -1]}, ratio=[2.0, 4.0], order={"tau": [2, 1]}, rate=100.0)
    more = LogSettings.from_options({"sign": "q=-1 tau=-1", "ratio": "q=2", "order": "tau=2,1", "rate": "50"})
    assert said.corrected(more) == LogSettings(
        sign={"q": -1.0, "tau": [1.0, -1.0]},
        ratio={"q": [4.0, 8.0], "tau": [4.0, 2.0]},
        order={"tau": [1, 2]},
        rate=50.0,
    )


def test_a_window_counts_from_the_first_sample(robot, log):
    table = {"t": log.t + 1000.0, "q": log.q, "tau": log.tau}
    read = read_log(table, robot, window=(0.5, 2.0))
    np.testing.assert_array_equal(read.q, log.q[50:201])
    assert any("`window` 0.5 … 2 s: 151 of 300 rows" in note for note in read.notes)
    np.testing.assert_array_equal(read_log(table, robot, window="2.5:").q, log.q[250:])
    with raises(InputError, "out-of-range window"):
        read_log(table, robot, window="5:")


def test_a_rate_makes_uneven_stamps_even(robot, log):
    """One odd step at the start was refused, and the rate that the message advised changed nothing."""
    t = log.t + 10.0
    t[0] = t[1] - 0.002
    read = read_log({"t": t, "q": log.q, "tau": log.tau}, robot, rate=100.0)
    np.testing.assert_allclose(np.diff(read.t), 0.01, rtol=1e-9)
    np.testing.assert_array_equal(read.q, log.q)
    assert any("even steps of 0.01 s, as `rate=100` says" in note for note in read.notes)
    t[200:] += 1.0  # a gap stays one
    assert np.diff(read_log({"t": t, "q": log.q, "tau": log.tau}, robot, rate=100.0).t).max() > 0.9


def test_the_robot_as_it_was_recorded():
    panda = dl.load("panda")
    read = read_logs([], panda, LogSettings(gravity=(0, 9.81, 0), locked={panda.joint_names[-1]: 0.1}))
    assert read.robot.n == panda.n - 1 and read.logs == ()
    np.testing.assert_allclose(read.robot.model.gravity, (0, 9.81, 0))
