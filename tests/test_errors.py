"""Errors carry fields, and the text is made of them."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from dalembert.errors import DescriptionError, InputError, ModelWarning, Place, UnknownNameError, choose
from dalembert.words import with_options
from errors import raises

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from weak_cases import find_cases
from write_texts import codes, documented_codes


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            InputError("wrong-shape", "q", np.zeros(3), expected="shape (..., 7)", remedy="Pass one value per joint."),
            "`q` must have shape (..., 7), got (3,). Pass one value per joint.",
        ),
        (
            InputError("out-of-range", "dt", -1.0, expected="greater than 0 [s]"),
            "`dt` must be greater than 0 [s], got -1.0",
        ),
        (InputError("out-of-range", "ratio", expected="not be zero"), "`ratio` must not be zero"),
        (InputError("wrong-type", "robot", 3, expected="a Robot"), "`robot` must be a Robot, got 3 (int)"),
        (InputError("unsupported", problem="the robot has no joints"), "the robot has no joints"),
        (Place("a.urdf", 3, 5).refuse("missing", problem="link 'b' has no mass"), "a.urdf:3:5: link 'b' has no mass"),
        (Place().refuse("missing", problem="link 'b' has no mass"), "link 'b' has no mass"),
    ],
)
def test_the_text_is_made_of_the_fields(error, text):
    assert str(error) == text
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), type(copy), copy.code, copy.argument) == (text, type(error), error.code, error.argument)


def test_an_unknown_name_has_choices():
    with raises(UnknownNameError, "unknown-name frame") as caught:
        choose("frame", "tol", ("tool", "base"), "frame")
    assert (caught.value.kind, caught.value.choices, caught.value.nearest) == ("frame", ("tool", "base"), ("tool",))
    assert isinstance(caught.value, KeyError)
    assert "tool" in str(pickle.loads(pickle.dumps(caught.value)))


def test_the_fields_are_plain_data():
    error = DescriptionError("not-finite", "mass", np.float64("nan"), expected="finite")
    assert error.fields == {
        "code": "not-finite",
        "argument": "mass",
        "value": "nan",
        "expected": "finite",
        "remedy": "",
    }
    assert ModelWarning("not-physical", "link 'a' has no inertia").code == "not-physical"


def test_the_command_line_shows_options():
    text = "`rate` must be positive, got -1. Pass `bad_rows='drop'`, `columns={'t': None, 'q': range(1, 7)}` or `f()`."
    options = {"rate": "--rate", "bad_rows": "--bad-rows", "columns": "--columns", "f": "-f"}
    assert with_options(text, options) == (
        "--rate must be positive, got -1. Pass --bad-rows drop, --columns t=none,q=1-6 or `f()`."
    )
    assert with_options(text, {}) == text
    assert with_options("`units={'t': …}`", {"units": "--units"}) == "--units t=…"
    assert with_options("`sign['tau']` is wrong", {"sign": "--sign"}) == "--sign tau=… is wrong"


def test_every_code_is_documented():
    assert codes() - documented_codes() == set()


WEAK = """
import pytest
TEXT = "must be a finite number"
def refused(words):
    with pytest.raises(ValueError, match=words):
        f()
@pytest.mark.parametrize("words", ["q0", "must be a number", TEXT])
def test_worded_twice(words):
    refused(words)
def test_worded(page):
    assert "All the joints" in f(page) and "x + y" in page
def test_data(capsys):
    assert capsys.readouterr().out == "static const double x" and f() == {"kind": "revolute"}
def test_nothing():
    f()
@pytest.mark.parametrize("x", range(3))
def test_always(x):
    assert x == x
"""


def test_weak_cases_are_found(tmp_path):
    (tmp_path / "test_weak.py").write_text("from dalembert import f\n" + WEAK)
    found = find_cases(tmp_path)
    names = {kind: [place.split()[1] for place in places] for kind, places in found.items()}
    assert names["wording"] == ["test_worded_twice", "test_worded_twice", "test_worded"]
    assert names["vacuous"] == ["test_nothing", *["test_always"] * 3]
