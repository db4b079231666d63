"""Arguments in messages become options at the command line; values of options are read as they are written."""

from __future__ import annotations

import math

import pytest

from dalembert.words import assign, mention, read_number, read_value, with_options, write_value


def test_an_argument_is_an_option_at_the_command_line():
    said = [("rate", 100.0), ("bad_rows", "drop"), ("columns", {"t": None, "q": range(1, 7)}), ("units", {"t": ...})]
    texts = [assign(*one) for one in said]
    assert texts == ["`rate=100`", "`bad_rows='drop'`", "`columns={'t': None, 'q': range(1, 7)}`", "`units={'t': …}`"]
    options = {name: f"--{name}" for name, _ in said}
    shown = [with_options(text, options) for text in texts]
    assert shown == ["--rate 100", "--bad_rows drop", "--columns t=none,q=1-6", "--units t=…"]
    settings = {name: f"--set {name}=" for name in ("columns", "sign", "rate")}
    assert with_options(assign("columns", {"q": "pos {i}"}), settings) == '--set columns="q=pos {i}"'  # for a shell
    assert (
        with_options(f"{mention('sign', 'tau')} and {mention('rate')}", settings) == "--set sign=tau=… and --set rate"
    )
    assert with_options(mention("other"), settings) == "`other`"


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
