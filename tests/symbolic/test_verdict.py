"""The verdict on a formula: no way of writing it makes a wrong one right, or a right one wrong."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.exercises.exercise import all_families
from dalembert.exercises.grading import grade
from dalembert.lagrange import EXAMPLES
from dalembert.symbolic.compare import PLAIN, compare, draw, formula_quantity, seed_of
from dalembert.symbolic.slip_search import Search
from errors import raises

# Sums of {x} and {y} whose floats, or whose bounds of rounding, say nothing about their values.
NONSENSE = [
    "(sin({x})+cos({x}))^64",
    "(sin({x})+cos({y})+2)^64",
    "({x}+{y}+5)^64 - ({x}+{y}+5)^64 + 1",
    "{x} + 1e300*(sin({y})^2 + cos({y})^2 - 1)",
    "sin(1e300*{x})",
    "1e20 + {x} - 1e20",
    "exp(40*sin({x})^2)*{y}^30",
    "tan(1.5707963267948966 + 1e-13*{x})",
    "({x} - sin({x}))^40*1e60",
    "log(exp(700*{x}^2))",
    "1e-200*1e-200*{x}*1e200*1e200",
    "{x}^(1 + 1e20 - 1e20)",
    "sgn({x} + 1e20 - 1e20)",
]
# What is added to a right formula, and is not zero; {x} takes both signs.
ADDED = [
    "1e20 + {x} - 1e20",
    "sgn({x} + 1e20 - 1e20)",
    "1e-200*1e-200*{x}*1e200*1e200",
    "abs({x}) - {x}",
    "atan2(sin({x}), cos({x})) - {x}",
    "atan(tan({x})) - {x}",
    "sqrt({x}^2) - {x}",
    "sin(1e20*{x})",
    "(1 + 1e-17)^1e17*1e-6",
    "acos(cos({x})) - abs({x})",
    "9007199254740993*{x} - 9007199254740992*{x}",
    "9007199254740993.0*{x} - 9007199254740992.0*{x}",
    "{x}*m2^9007199254740993/m2^9007199254740992",
    "log(sgn({x}))",
    "1e-20*{x}",
    "(sin({x})/2)^64",
    "(l1 - 0.8)^64*(sin({x})/9)^64",
    "1e-300*{x}^64",
    "sqrt({x})/sqrt({x}) - sgn({x})",
    "h, where h = {x} + 1e20 - 1e20",
    "tan({x}^1e6)",
    "atan2(tan({x}^1e6), 1)*0.001",
    "exp({x}^1e6) - exp({x}^1e6)*(1 + 1e-9)",
]


CART = EXAMPLES["cart-pole"]()


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar-2r").equations()


def symbolic_blanks():
    """Every blank of an exercise that is answered by formulas, with its exercise."""
    for family in all_families():
        exercise = family.variant(5)
        yield from ((exercise, a) for a in exercise.answers if a.symbols)


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_earns_no_points(nonsense):
    blanks = list(symbolic_blanks())
    assert len(blanks) > 15
    for exercise, answer in blanks:
        x, y = answer.symbols[0], answer.symbols[-1]
        text = nonsense.format(x=x, y=y)
        if answer.kind == "matrix":
            rows = [[text] * len(row) if isinstance(row, (list, tuple)) else text for row in answer.value]
            text = str(rows).replace("'", "")
        mark = next(m for m in grade(exercise, {answer.name: text}).marks if m.name == answer.name)
        assert mark.earned < mark.points and "right." not in mark.reason.lower().replace("not right.", ""), (
            f"{exercise.family}: {answer.name} = {text}: {mark.reason}"
        )


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_is_no_entry_and_no_step(arm, nonsense):
    text = nonsense.format(x="q2", y="q1")
    for name in ("M11", "M12", "g1", "C12", "C22", "P", "K", "Gamma112", "tau1"):
        assert not compare(arm.quantity(name), text, slips=False), name
    assert not arm.compare("M12", text)
    tau1 = arm.quantity("tau1").derived
    lines = [f"C22 = {text}", f"{tau1} = tau1 + {text}", f"({text})*(qdd1 + qdd2) = 0"]
    lines = lines if nonsense in NONSENSE[::4] else lines[:1]  # equations of motion take long
    assert "right" not in [x.verdict for x in arm.derivation().check(lines).lines]
    assert not compare(CART.quantity("M12"), nonsense.format(x="theta", y="x"), slips=False)


@pytest.mark.parametrize("added", ADDED)
@pytest.mark.parametrize("name", ["M12", "g2", "C22"])
def test_what_is_added_and_is_not_zero_is_noticed(arm, name, added):
    right = arm.quantity(name).derived
    for x in ("q2", "q1", "qd1"):
        term, where, clause = added.format(x=x).partition(", where")
        assert not compare(arm.quantity(name), f"{right} + m2*({term}){where}{clause}", slips=False)


@pytest.mark.parametrize(
    "formula",
    [
        "I2 + m2*r2^2 + m2*l1*r2*(1 - 2*sin(q2/2)^2)",
        "I2 + m2*r2^2 + m2*l1*r2*(1 - tan(q2/2)^2)/(1 + tan(q2/2)^2)",
        "(I2*l1 + m2*r2^2*l1 + m2*l1^2*r2*c2)/l1",
        "I2 + m2*r2*(2*r2 + 2*l1*c2)/2",
        "I2 + m2/4*((l1 + 2*r2*1)^2 - l1^2 - 4*l1*r2 + 4*l1*r2*c2)",
        "I2 + m2*r2^2 + m2*l1*r2*(c1*c12 + s1*s12)",
        "I2 + m2*(r2^2 + l1*r2*sin(q2 + 5*pi/2))",
        "I2 + 0.5*m2*(2.0*r2^2 + 2.000*l1*r2*c2)",
        "1e6*I2/1e6 + m2*r2^2 + 1e-9*1e9*m2*l1*r2*c2",
        "exp(log(I2)) + m2*r2^2 + m2*l1*r2*c2",
        "I2 + m2*r2^2 + m2*l1*r2*c2*(s1^2 + c1^2)^20",
        "(sqrt(I2 + m2*r2^2 + m2*l1*r2*c2 + 100) + 10)*(sqrt(I2 + m2*r2^2 + m2*l1*r2*c2 + 100) - 10)",
        "((m2 + l1)^3 - m2^3 - l1^3)*r2*c2/(3*(m2 + l1)) + I2 + m2*r2^2",
        "I2 + m2*r2^2 + m2*l1*r2*(cos(q2)^16 + c2*(1 - c2^15))",
        "I2 + m2*r2^2 + m2*l1*r2*c2 + 1e12*(sin(q1)^2 + cos(q1)^2 - 1)",
    ],
)
def test_right_in_unusual_forms(arm, formula):
    assert arm.compare("M12", formula), arm.compare("M12", formula)
    assert arm.derivation().check(f"M12 = {formula}")


@pytest.mark.parametrize(
    "zero", ["0", "q1 - q1", "s1^2 + c1^2 - 1", "m2*(sin(2*q1) - 2*s1*c1)", "0.1 + 0.2 - 0.3", "sin(pi)*m2"]
)
def test_zero_in_any_form(arm, zero):
    assert arm.compare("C22", zero)


@pytest.mark.parametrize("tiny", ["1e-12*q1 + q2 - q2", "1e-40*m2", "(sin(q1) - q1 + q1^3/6)^8*1e-9", "1e-290"])
def test_tiny_is_not_zero(arm, tiny):
    assert not arm.compare("C22", tiny)


def test_digits_given_are_no_free_parameters():
    quantity = formula_quantity("M", "2*m + 3*l*cos(q1)", ("m", "l", "q1"))
    assert compare(quantity, "2.00*m + 3.0*l*cos(q1)") and compare(quantity, "sqrt(2)*1.414*m + 3*l*cos(q1)")
    assert not compare(quantity, "(10.00 - 10.00)*1000*m + (10.00 - 10.00)*1000*l*cos(q1)")


@pytest.mark.parametrize("nonsense", ["1e300", "1e300 + q1", "1e17 + q1*m1", "(sin(q1) + cos(q1))^64", "q2"])
def test_a_constant_does_not_hide_what_moves(arm, nonsense):
    assert not compare(arm.quantity("P"), nonsense, slips=False)
    assert compare(arm.quantity("P"), f"{arm.quantity('P').derived} + 1e9*m1*g*l1", slips=False).where


def test_no_formula_is_made_for_the_points(arm):
    """A polynomial that vanishes at the points of its right part."""
    quantity = formula_quantity("M", "m*l", ("m", "l"))
    points = draw(quantity, seed=seed_of(PLAIN.read("m*l", ("m", "l"))[1]))["m"]
    zero = "*".join(f"(m - {x!r})" for x in points.tolist())
    assert compare(quantity, "m*l") and not compare(quantity, f"m*l + {zero}", slips=False)


def test_points_have_both_signs_and_leave_the_first_quadrant():
    names = [f"q{k}" for k in range(1, 41)]
    for x in draw(formula_quantity("x", "+".join(names), names)).values():
        assert x.min() < 0 and (x > 0).sum() > 12 and max(x.max(), -x.min()) > np.pi / 2


def test_numbers_smaller_than_floats_are_refused():
    with raises(dl.DalembertError, "out-of-range formula"):
        formula_quantity("x", "1e-400*m*1e300", ("m",))


def test_no_entry_is_explained_by_itself(arm):
    for name, formula in (("M12", "M21"), ("M", "[[M11, M12], [M21, M22]]"), ("g1", "g1")):
        with raises(dl.DalembertError, "unknown-name"):
            arm.compare(name, formula)


def test_imaginary_exponents_are_no_real_ones():
    quantity = formula_quantity("M", "m*l^2", ("m", "l"))
    assert not compare(quantity, "(m*l^2)^(1 + 5*j)")


@pytest.mark.parametrize(
    "name, formula",
    [
        ("Gamma222", "m2*l1*r2*s2 + I2"),
        ("C22", "m2*l1*r2*s2 + I2"),
        ("J31", "l1*c1 + l2*c12"),
        ("M22", "-2/3*(I2 + m2*r2^2)"),
        ("M12", "-I2 - m2*r2^2 + 2*m2*l1*r2*c2"),
        ("M11", "I1 - I2 + m1*r1 + m2*(l1^2 + r2^2 + 2*l1*r2*c2)"),
        ("g1", "-2*(m1*r1*g*c1 + m2*g*(l1*c1 + r2*c12))/3"),
        ("C12", "m2*l1*r2*c2*(qd1 + qd2)"),
    ],
)
def test_a_suggestion_makes_the_formula_right(arm, name, formula, monkeypatch):
    """What is told is verified: every suggestion, applied to the formula, gives the derived values."""
    told = []
    right = Search.is_right
    monkeypatch.setattr(Search, "is_right", lambda self, found: right(self, found) and not told.append((self, found)))
    result = arm.compare(name, formula)
    assert not result
    if result.derived == "0":
        assert not result.slips and "is zero" in str(result)
        return
    assert result.slips and told
    for search, found in told:
        values = search._changed(search.root.node, found.changes)
        assert np.allclose(values, search.root.node.x + search.root.off, rtol=1e-7, atol=1e-9)


def test_two_changes_of_one_place_are_multiplied():
    """The sign and twice too small would make −1/3 of the right value."""
    result = dl.load("planar-2r").equations().compare("M22", "-2/3*(I2 + m2*r2^2)")
    assert "3/2" in result.slip and "5/3" in result.off and "000" not in result.off


CORIOLIS = {  # of the planar arm, and whether Mdot - 2 C is skew-symmetric
    "[[-h*qd2, -h*(qd1 + qd2)], [h*qd1, 0]]": "",
    "[[-2*h*qd2, -h*qd2], [h*qd1 - h*qd2/2, h*qd1/2]]": "not skew",
    "[[0, -2*h*qd1 - h*qd2], [h*qd1 + h*qd2/2, -h*qd1/2]]": "not skew",
    "[[0, -(2*qd1 + qd2)*h], [h*qd1, 0]]": "not skew",
    "[[-h*qd2 + qd2^2*0, -h*(qd1 + qd2)], [h*qd1, 0*qd1]]": "",
}


@pytest.mark.parametrize("C", CORIOLIS)
def test_every_valid_coriolis_matrix_is_right(arm, C):
    text = C.replace("h", "m2*l1*r2*s2")
    result = arm.compare("C", text)
    assert result and CORIOLIS[C] in result.where and not result.slips
    assert arm.derivation().check(f"C = {text}")
    assert EXAMPLES["planar-2r"]().compare("C", text)
    wrong = text.replace("qd2", "2*qd2", 1)
    assert not arm.compare("C", wrong) and not arm.derivation().check(f"C = {wrong}")


@pytest.mark.parametrize(
    "C", ["[[-h*(2*qd1*qd2 + qd2^2)/qd1, 0], [h*qd1, 0]]", "[[0, -h*(2*qd1 + qd2)], [0, h*qd1^2/qd2]]"]
)
def test_a_coriolis_matrix_exists_where_nothing_moves(arm, C):
    text = C.replace("h", "m2*l1*r2*s2")
    assert not arm.compare("C", text) and not arm.derivation().check(f"C = {text}")


def test_a_choice_that_keeps_the_symmetry_says_so():
    three = dl.load("planar-3r").equations()
    C = [[three.quantity(f"C{i}{j}").derived for j in (1, 2, 3)] for i in (1, 2, 3)]
    skew = [["0", "qd3", "-qd2"], ["-qd3", "0", "qd1"], ["qd2", "-qd1", "0"]]  # qd × qd = 0
    both = [[f"{a} + m1*({b})" for a, b in zip(x, y, strict=True)] for x, y in zip(C, skew, strict=True)]
    result = three.compare("C", str(both).replace("'", ""))
    assert result and "is skew-symmetric" in result.where


def test_one_entry_of_a_coriolis_matrix_refers_to_the_whole(arm):
    result = arm.compare("C12", "-(2*qd1 + qd2)*m2*l1*r2*s2")
    assert not result and "not unique" in str(result)


@pytest.mark.parametrize(
    "multiple", ["1e20*q1", "1e250*q1", "1000000*q1", "cos(1e20*q1)", "m1^1000000", "c2^64*s1^64*c12^64"]
)
def test_large_multiples_end(arm, multiple):
    result = arm.compare("M12", multiple)
    assert not result and not result.slips


def test_a_factor_far_from_one_is_told():
    """A ratio below a millionth was rounded to 0, by which was divided."""
    result = compare(formula_quantity("c221", "5", ("q2",)), "5*9007199254740993^0.5")
    assert "9.49063e+07 times too large" in str(result)


def test_an_undefined_quantity_equals_nothing():
    quantity = replace(formula_quantity("x", "m", ("m",)), value=lambda values: np.full_like(values["m"], np.nan))
    assert not compare(quantity, "m", slips=False)


def test_random_formulas(monkeypatch):
    """The first inputs of `fuzz/verdict.py`, with one seed."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "fuzz")
    import verdict

    told = Counter()
    for number in range(1, 151):
        _, _, read = verdict.make(random.Random(f"5 {number}"), number)
        with suppress(dl.DalembertError):
            read(told)
    assert told["wrong ones"] > 75 and told["right ones"] == 30


@pytest.mark.parametrize("power", ["(1e-300)^-7", "(2^64)^(-64)", "1/(1e-200*1e-200)"])
def test_a_number_without_a_value_is_no_failure(arm, power):
    assert not arm.compare("g1", f"(m1*r1*g)^({power})")
