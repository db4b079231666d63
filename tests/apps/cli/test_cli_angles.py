"""Angles on the command line: degrees, π, and a word where degrees were meant and not said."""

from __future__ import annotations

import math

import pytest
from invoking import data, run, words


def fails(*arguments, code=1):
    return words(run(*arguments, code=code).stderr)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("90deg", math.pi / 2),
        ("-45°", -math.pi / 4),
        ("pi", math.pi),
        ("-pi/2", -math.pi / 2),
        ("2pi/3", 2 * math.pi / 3),
        ("0.5*π", math.pi / 2),
        ("1e-3", 1e-3),
        ("−.5", -0.5),
        ("1e-1deg", math.radians(0.1)),
        ("+2", 2.0),
    ],
)
def test_angles_are_written_in_many_ways(written, meant):
    assert data("fk", "planar-2r", "--q0", f"{written},0")["q"][0] == pytest.approx(meant, rel=1e-15)


@pytest.mark.parametrize("written", ["deg", "pi/0", "1.2.3", "9O", "pi pi pi", "1/x", "--", "nandeg", "infpi"])
def test_what_is_no_number(written):
    assert "--q0" in fails("fk", "planar-2r", f"--q0={written},0", code=2)


@pytest.mark.parametrize(
    "command",
    [
        ("fk", "panda", "--q0", "90,45,0,-90,0,90,45"),
        ("fk", "panda", "--q0", "12.3,0,0,0,0,0,0"),  # beyond its limits by more than a turn
        ("fk", "rp", "--q0", "90,0.2"),
        ("dynamics", "planar-2r", "--q0", "30,60"),
        ("ik", "puma560", "--xyz", "0.4,0.1,0.5", "--rpy", "180,0,0"),
        ("simulate", "planar-2r", "--q0", "30,60", "--duration", "0.01"),
        ("bounds", "planar-2r", "--only", "gravity_1", "--limits", "lower=-90,-90", "--limits", "upper=90,90"),
    ],
)
def test_degrees_without_a_word_are_told(command):
    said = run(*command, code=0).stderr
    assert said.count("looks like degrees; if it is, write ") == (2 if command[0] == "bounds" else 1)
    assert "deg" in said.split("write ")[1]


@pytest.mark.parametrize(
    "command",
    [
        ("fk", "panda", "--q0", "0,30deg,0,-90deg,0,2,0"),
        ("fk", "planar-2r", "--q0", "720deg,6.2832"),
        ("fk", "planar-2r", "--q0", "31.7213,-14.2"),  # wound up
        ("fk", "rp", "--q0", "0.5,45"),  # a slide
        ("ik", "panda", "--xyz", "0.4,0.1,0.5", "--rpy", "180deg,0,0"),
    ],
)
def test_no_false_alarm(command):
    assert "degrees" not in run(*command).stderr


def test_a_slide_has_no_degrees():
    assert "joint 'joint2' slides: '45deg' is no length" in fails("fk", "rp", "--q0", "0.2,45deg", code=2)


@pytest.mark.parametrize("command", ["fk", "dynamics"])
def test_what_has_no_sine_is_refused(command):
    said = fails(command, "planar-2r", "--q0", "1e300,0", code=2)
    assert "'1e300' of joint 'joint1' is too large: sines are computed up to 2³⁰" in said


def test_formulas_take_rounded_quarters_of_a_turn():
    ends = [("-90deg,-90deg", "90deg,90deg"), ("-1.5708,-1.5708", "1.5708,1.5708"), ("-pi/2,-pi/2", "pi/2,pi/2")]
    symbolic = ("bounds", "planar-2r", "--method", "symbolic")
    found = [run(*symbolic, "--limits", f"lower={a}", "--limits", f"upper={b}").output for a, b in ends]
    assert found[0] == found[1] == found[2]
    wrong = fails(*symbolic, "--limits", "lower=-1.57,-1.57", "--limits", "upper=1.57,1.57")
    assert "multiples of π/2; -1.57 is none" in wrong


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_what_overflows_is_not_printed(how):
    assert "larger than any number" in fails("dynamics", "rp", "--q0", "1,1", "--qd0", "1e200,1e200", *how)
