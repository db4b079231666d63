"""Messages name arguments as the interface does in which they are read; values are read back as they were written."""

from __future__ import annotations

import math

import pytest

from dalembert.words import call, command_line, read_number, read_value, say, write_value


def test_an_argument_is_said_in_the_words_of_the_interface():
    said = [("rate", 100.0), ("bad_rows", "drop"), ("columns", {"t": None, "q": range(1, 7)}), ("units", {"t": ...})]
    assert [say(*one) for one in said] == [
        "rate=100",
        "bad_rows='drop'",
        "columns={'t': None, 'q': range(1, 7)}",
        "units={'t': …}",
    ]
    with command_line():
        assert [say(*one) for one in said] == ["--rate 100", "--bad-rows drop", "--columns t=none,q=1-6", "--units t=…"]
        assert say("columns", {"q": "pos {i}"}) == '--columns "q=pos {i}"'  # a shell would split it
        assert (call("torque_constant"), call("sign", "tau")) == ("--torque-constant", "the tau of --sign")
    assert (call("torque_constant"), call("sign", "tau")) == ("torque_constant", "sign['tau']")
    assert say("lock", {"a": 0.0}, python="locked(robot)") == "locked(robot)"


@pytest.mark.parametrize(
    ("text", "keys", "value"),
    [
        ("-1", ("tau",), -1),
        ("1,-1, 1", ("tau",), [1, -1, 1]),
        ("1 -1  1", ("tau",), [1, -1, 1]),
        ("q=-1 tau=1,-1", ("q", "tau"), {"q": -1, "tau": [1, -1]}),
        ("q=joint 1,joint 2", ("q", "tau"), {"q": ["joint 1", "joint 2"]}),
        ("tau=1,-1,q=-1", ("q", "tau"), {"tau": [1, -1], "q": -1}),
        ("t=none,q=1-3,tau=M=1,M2", ("t", "q", "tau"), {"t": None, "q": [1, 2, 3], "tau": ["M=1", "M2"]}),
        ("1,0;0,2", ("",), [[1, 0], [0, 2]]),
        ("left finger=0.02,right=0", (), {"left finger": 0.02, "right": 0}),
        ("q=pos_{i}", ("q",), {"q": "pos_{i}"}),
    ],
)
def test_values_of_options(text, keys, value):
    assert read_value(text, keys) == value
    assert read_value(write_value(value).strip('"'), keys) == value


def test_numbers_as_people_write_them():
    assert read_value("0,-90deg,pi/2", ("",)) == [0, -math.pi / 2, math.pi / 2]
    assert [read_number(x) for x in ("−1.5e-3", "180°", "3pi/4")] == [-1.5e-3, math.pi, 0.75 * math.pi]
    assert [read_number(x) for x in ("", "deg", "1/0", "q1", "1..2")] == [None] * 5
