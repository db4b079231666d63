"""Grading: what is right, which slip is named, what it costs, and that nothing that is typed does harm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert.errors import InputError
from dalembert.exercises.exercise import Answer, Exercise, Wrong, find
from dalembert.exercises.grading import Mark, grade, read_choice
from dalembert.exercises.numbers import LONGEST, evaluate_number, read_number, read_unit
from errors import raises


def mark(answer: Answer, given: object) -> Mark:
    exercise = Exercise("Title", "Text.", (answer,), (), ())
    (found,) = grade(exercise, {answer.name: given}).marks
    assert found.reason and found.reason[0].isupper() and found.reason[-1] in ".?", found.reason
    assert 0 <= found.earned <= found.points
    return found


def number(value: float, unit: str = "", **more: object) -> Answer:
    return Answer("x", "number", value, unit, **more)  # type: ignore[arg-type]


TORQUE = number(0.35, "N m", points=2, wrong=(Wrong(0.7, "Both links were counted.", 0.25),))


# --------------------------------------------------------------------------------------------------------- numbers
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.35", 0.35),
        ("0,35", 0.35),
        ("+.35", 0.35),
        ("3.5e-1", 0.35),
        ("1/3", 1 / 3),
        ("sqrt(2)/2", math.sqrt(0.5)),
        ("√3/2", math.sqrt(0.75)),
        ("2π/3", 2 * math.pi / 3),
        ("2 pi/3", 2 * math.pi / 3),
        (r"\frac{\pi}{2}", math.pi / 2),
        (r"-\frac{\sqrt{3}}{2}", -math.sqrt(0.75)),
        ("1.2·10⁻³", 1.2e-3),
        ("1.2 × 10^-3", 1.2e-3),
        ("cos(30°)", math.sqrt(0.75)),
        ("−2", -2.0),
        ("x = 3", 3.0),
        ("≈ 0.7", 0.7),
        ("$0.5$", 0.5),
        ("½", 0.5),
        ("２.５", 2.5),  # digits of another width
        ("about 2.5", 2.5),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, value: float) -> None:
    assert read_number(text).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "factor", "dimension"),
    [
        ("m", 1, (0, 1, 0, 0)),
        ("mm", 1e-3, (0, 1, 0, 0)),
        ("N cm", 1e-2, (1, 2, -2, 0)),
        ("Nm", 1, (1, 2, -2, 0)),
        ("N·m", 1, (1, 2, -2, 0)),
        ("mN", 1e-3, (1, 1, -2, 0)),
        ("kg m²", 1, (1, 2, 0, 0)),
        ("kg*m^2", 1, (1, 2, 0, 0)),
        ("kgm2", 1, (1, 2, 0, 0)),
        ("g", 1e-3, (1, 0, 0, 0)),
        ("m/s²", 1, (0, 1, -2, 0)),
        ("m s^-2", 1, (0, 1, -2, 0)),
        ("m/s/s", 1, (0, 1, -2, 0)),
        ("N m/(rad/s)", 1, (1, 2, -1, 0)),
        ("1/s", 1, (0, 0, -1, 0)),
        ("Hz", 2 * math.pi, (0, 0, -1, 0)),
        ("rpm", 2 * math.pi / 60, (0, 0, -1, 0)),
        ("°/s", math.pi / 180, (0, 0, -1, 0)),
        ("degrees", math.pi / 180, (0, 0, 0, 0)),
        ("rads/s", 1, (0, 0, -1, 0)),
        ("rad·s^{-1}", 1, (0, 0, -1, 0)),
        ("radians per second", 1, (0, 0, -1, 0)),
        ("/s", 1, (0, 0, -1, 0)),
        ("V s/rad", 1, (1, 2, -2, -1)),
        ("mH", 1e-3, (1, 2, -2, -2)),
        (r"\mathrm{N\,m}", 1, (1, 2, -2, 0)),
    ],
)
def test_units_are_a_factor_and_a_dimension(text: str, factor: float, dimension: tuple[int, ...]) -> None:
    unit = read_unit(text)
    assert unit is not None and unit.dimension == dimension and unit.factor == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize("text", ["foo", "Nx", "m//s", "(m", "m)", "q1", "m/", "2", "Z" * 500])
def test_what_is_no_unit_is_none(text: str) -> None:
    assert read_unit(text) is None


@pytest.mark.parametrize(
    "given",
    ["0.35", "0.35 N m", "35 N cm", "350 N mm", "0.352", "0.35Nm", "τ = 0.35 N·m", 0.35, np.float64(0.35), "7/20"],
)
def test_a_right_number_in_any_unit(given: object) -> None:
    assert mark(TORQUE, given).earned == 2


def test_a_missing_unit_is_told_and_costs_nothing() -> None:
    assert mark(TORQUE, "0.35").reason == "Right. Without a unit it was taken to be in N m."
    assert mark(TORQUE, "0.35 N m").reason == "Right."


@pytest.mark.parametrize(
    ("answer", "given", "share", "words"),
    [
        (TORQUE, "0.7 N m", 0.25, "Both links were counted."),
        (TORQUE, "0.35 N", 0.5, "not its unit: the answer is in N m"),
        (TORQUE, "3 kg", 0.0, "unit of another quantity"),
        (TORQUE, "-0.35", 0.5, "the sign is not"),
        (TORQUE, "0.175", 0.25, "half of what it should be"),
        (TORQUE, "350", 0.5, "1000 times too large"),
        (TORQUE, "35", 0.25, "100 times too large"),
        (TORQUE, "0.35 N mm", 0.5, "1000 times too small"),
        (TORQUE, "3.4335", 0.25, "9.81 times too large"),
        (TORQUE, "0.4", 0.0, "not right"),
        (number(1.7), "0.85", 0.25, "half"),
        (number(math.pi / 6, "rad"), "30", 0.5, "degrees where radians belong"),
        (number(math.pi / 6, "rad"), "30°", 1.0, "Right"),
        (number(30.0, "deg"), "0.5236", 0.5, "radians where degrees belong"),
        (number(30.0, "deg"), "π/6 rad", 1.0, "Right"),
        (number(30.0, "deg"), "390°", 1.0, "Right"),
        (number(-90.0, "deg"), "270", 1.0, "Right"),
        (number(2.0, "rad/s"), "114.6", 0.5, "degrees where radians belong"),
        (number(2.0, "rad/s"), "0.3183", 0.5, "2π times too small"),
        (number(2.0, "rad/s"), "0.3183 Hz", 1.0, "Right"),
        (number(1 / 3), "0.33", 1.0, "Right"),
        (number(1.54), "1.5", 0.5, "rounded too far: the answer is wanted within 1 %"),
        (number(1.54), "2", 0.0, "not right"),
        (number(0.0), "0", 1.0, "Right"),
        (number(0.0), "0.1", 0.0, "not right"),
        (number(5.0, size="a number of one digit"), "77", 0.0, "The answer is a number of one digit."),
        (number(11.6, "m/s²"), "11.6 m/s^2", 1.0, "Right"),
        (number(math.pi / 6, "rad"), "1.234", 0.0, "not right"),
    ],
)
def test_slips_of_numbers_are_named(answer: Answer, given: str, share: float, words: str) -> None:
    found = mark(answer, given)
    assert found.earned == pytest.approx(share * found.points) and words in found.reason


def test_the_verdict_and_the_sum() -> None:
    exercise = Exercise("Title", "Text.", (TORQUE, number(2.0).__class__("y", "number", 2.0)), (), ())
    found = grade(exercise, {"x": "-0.35", "z": "1"})
    assert [m.verdict for m in found.marks] == ["partly", "wrong"] and (found.earned, found.points) == (1.0, 3)
    assert found.marks[1].reason == "There is no answer."
    assert str(found).splitlines()[-2:] == [
        "There is no blank named 'z'; this exercise asks for x, y.",
        "Together 1 of 3 points.",
    ]


# -------------------------------------------------------------------------------------------------------- matrices
TURN = Answer(
    "R",
    "matrix",
    np.array([[0.0, -0.5, 1.0], [2.0, 0.25, 0.0], [0.125, 4.0, 3.0]]),
    points=2,
    wrong=(Wrong(np.eye(3), "This is no turn."),),
)
ROWS = "[[0, -1/2, 1], [2, 0.25, 0], [1/8, 4, 3]]"


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        ROWS.replace("[[", "[ [").replace("], [", "],\n ["),
        "0 -0.5 1\n2 0.25 0\n0.125 4 3",
        "np.array([[0, -0.5, 1],\n          [2, 0.25, 0],\n          [0.125, 4, 3]])",
        "[[0.    -0.5    1.   ]\n [2.     0.25   0.   ]\n [0.125  4.     3.   ]]",
        "0, -0.5, 1; 2, 0.25, 0; 0.125, 4, 3",
        r"\begin{bmatrix} 0 & -\frac{1}{2} & 1 \\ 2 & 0.25 & 0 \\ 0.125 & 4 & 3 \end{bmatrix}",
        r"R = \left[\begin{array}{ccc} 0 & -0.5 & 1 \\ 2 & 0.25 & 0 \\ 0.125 & 4 & 3 \end{array}\right]",
        f"np.array({ROWS})",
        "((0, -0.5, 1), (2, 1/(2 + 2), 0), (0.125, 4, 3))",
        "{{0, -0.5, 1}, {2, 0.25, 0}, {0.125, 4, 3}}",
        "$$\\begin{pmatrix}0&-0.5&1\\\\2&0.25&0\\\\0.125&4&3\\end{pmatrix}$$",
    ],
)
def test_matrices_are_read_in_rows_brackets_and_latex(text: str) -> None:
    assert mark(TURN, text).reason == "Right."


@pytest.mark.parametrize(
    ("given", "share", "words"),
    [
        (np.eye(3), 0.0, "This is no turn."),
        (TURN.value.T, 0.5, "transpose"),
        (-TURN.value, 0.5, "Every entry has the wrong sign."),
        (ROWS.replace("4", "5"), 0.5, "entry (3, 2) is not right, the others are"),
        (ROWS.replace("4", "5").replace("0.25", "1"), 0.25, "entries (2, 2) and (3, 2) are not right"),
        (np.ones((3, 3)), 0.0, "8 of 9 entries"),
        ("[[1, 2], [3, 4]]", 0.0, "it should have 3 rows of 3 entries, and yours has 2 of 2 and 2"),
        ("1", 0.0, "3 rows of 3 entries"),
        ("[[1, 2, nan], [1, 2, 3], [1, 2, 3]]", 0.0, "no finite number"),
    ],
)
def test_wrong_matrices_say_where(given: object, share: float, words: str) -> None:
    found = mark(TURN, given)
    assert found.earned == share * 2 and words in found.reason


def test_zeros_are_no_merit() -> None:
    sparse = Answer("A", "matrix", np.diag([1.0, 0.0, 0.0]))
    assert mark(sparse, np.zeros((3, 3))).earned == 0


def test_each_entry_is_judged_by_its_own_size() -> None:
    table = Answer("T", "matrix", [[180.0, 2.0, 1.0]])
    assert mark(table, "[[180, 2, 1]]").earned == 1 and mark(table, "[[180, 2, 2]]").earned == 0.5


@pytest.mark.parametrize(
    "text",
    [
        "(3, 4)",
        "[3, 4]",
        "3, 4",
        "3 4",
        "3\n4",
        "[[3], [4]]",
        "[3; 4]",
        "[3, 4] m/s",
        "3 m/s\n4 m/s",
        "[300, 400] cm/s",
    ],
)
def test_vectors_stand_or_lie_and_may_have_a_unit(text: str) -> None:
    assert mark(Answer("v", "matrix", [3.0, 4.0], "m/s"), text).earned == 1


def test_a_vector_in_a_wrong_unit_is_told() -> None:
    found = mark(Answer("v", "matrix", [3.0, 4.0], "m/s"), "[3, 4] kg")
    assert found.earned == 0 and "the answer is in m/s" in found.reason


# --------------------------------------------------------------------------------------------------------- choices
CHOICES = ("overdamped", "critically damped", "underdamped")


@pytest.mark.parametrize(
    "text", ["b", "B", "(b)", "b)", "b) critically damped", "Critically damped", "critically", " critically  DAMPED. "]
)
def test_choices_by_letter_or_words(text: str) -> None:
    assert read_choice(text, CHOICES) == "critically damped"


@pytest.mark.parametrize("text", ["critically-damped", "It is critically damped!", "CriticallyDamped", "option b"])
def test_choices_in_a_sentence(text: str) -> None:
    assert read_choice(text, CHOICES) == "critically damped"


@pytest.mark.parametrize("text", ["not overdamped", "overdamped or underdamped", "damped", "-", "z"])
def test_what_names_no_choice_or_several_is_refused(text: str) -> None:
    with raises(InputError, "unknown-name answer"):
        read_choice(text, CHOICES)


@pytest.mark.parametrize("text", ["[0 0.25]^T", "[0, 1/4]'", "0; 0,25", "np.array([0, 0.25])", "[[0], [0.25]]"])
def test_vectors_may_stand_or_lie(text: str) -> None:
    assert mark(Answer("B", "matrix", [0.0, 0.25]), text).reason == "Right."


def test_wrong_choices() -> None:
    answer = Answer("kind", "choice", "underdamped", choices=CHOICES, wrong=(Wrong("overdamped", "It oscillates."),))
    assert mark(answer, "c").earned == 1
    assert mark(answer, "a").reason == "It oscillates."
    assert mark(answer, "b").reason == "This is not right."
    assert "answer with a letter, a, b, c" in mark(answer, "damped").reason


# -------------------------------------------------------------------------------------------------------- formulas
FORCE = Answer(
    "f",
    "formula",
    "3*qdd1 + 0.5*cos(q2)*qdd2 - 0.5*sin(q2)*qd2**2",
    symbols=("q2", "qd2", "qdd1", "qdd2"),
    points=2,
    wrong=(Wrong("3*qdd1 + 0.5*cos(q2)*qdd2", "The cosine changes, too.", 0.25),),
)


@pytest.mark.parametrize(
    "text",
    [
        "3*qdd1 + 0.5*cos(q2)*qdd2 - 0.5*sin(q2)*qd2**2",
        "f = 3 qdd1 + (cos(q2) qdd2 - sin(q2) qd2^2)/2",
        "3 q̈₁ + ½ c₂ q̈₂ − ½ s₂ q̇₂²",
        r"3\ddot{q}_1 + \frac{1}{2}\left(\cos q_2\,\ddot{q}_2 - \sin(q_2)\,\dot{q}_2^2\right)",
    ],
)
def test_formulas_in_any_form(text: str) -> None:
    assert mark(FORCE, text).reason == "Right."


@pytest.mark.parametrize(
    ("text", "share", "words"),
    [
        ("3*qdd1 + 0.5*cos(q2)*qdd2", 0.25, "The cosine changes, too."),
        ("3*qdd1 + 0.5*cos(q2)*qdd2 + 0.5*sin(q2)*qd2**2", 0.5, "sign"),
        ("3*qdd1 + 0.5*sin(q2)*qdd2 - 0.5*sin(q2)*qd2**2", 0.5, "cos"),
        ("2*qdd1 + 0.5*sin(q2)*qdd2 - 0.5*sin(q2)*qd2**2", 0.25, ";"),
        ("qdd1", 0.0, ""),
        ("m*a", 0.0, "cannot be read as a formula"),
    ],
)
def test_slips_of_formulas_are_named(text: str, share: float, words: str) -> None:
    found = mark(FORCE, text)
    assert found.earned == share * 2 and words in found.reason, found.reason


@pytest.mark.parametrize(
    ("text", "share"), [("l1*sin(q2)", 0.5), ("q1", 0.0), ("l1", 0.0), ("sin(q1)", 0.0), ("l1^2", 0.0)]
)
def test_what_must_mostly_be_brought_in_is_no_slip(text: str, share: float) -> None:
    determinant = Answer("det", "formula", "l1*l2*sin(q2)", symbols=("l1", "l2", "q1", "q2"))
    assert mark(determinant, text).earned == share


JACOBIAN = Answer(
    "J",
    "matrix",
    [["-2*sin(q1) - sin(q1 + q2)", "-sin(q1 + q2)"], ["2*cos(q1) + cos(q1 + q2)", "cos(q1 + q2)"]],
    symbols=("q1", "q2"),
    wrong=(Wrong([["-2*sin(q1)", "0"], ["2*cos(q1)", "0"]], "Link 2 is missing.", 0.25),),
)


@pytest.mark.parametrize(
    ("text", "share", "words"),
    [
        ("[[-2 s1 - s12, -s12], [2 c1 + c12, c12]]", 1.0, "Right."),
        (r"\begin{bmatrix} -2 s_1 - s_{12} & -s_{12} \\ 2 c_1 + c_{12} & c_{12} \end{bmatrix}", 1.0, "Right."),
        ("[[-2*sin(q1), 0], [2*cos(q1), 0]]", 0.25, "Link 2 is missing."),
        ("[[-2 s1 - s12, s12], [2 c1 + c12, c12]]", 0.5, "entry (1, 2) is not right, the others are: the sign"),
        ("[[-2 s1 - s12, -s12], [2 c1 + c12, c12]] m", 1.0, "Right."),
        ("[[-2 s1 - s12, 2 c1 + c12], [-s12, c12]]", 0.5, "transpose"),
        ("[[-s12], [c12]]", 0.0, "2 rows of 2 entries"),
    ],
)
def test_matrices_of_formulas(text: str, share: float, words: str) -> None:
    found = mark(JACOBIAN, text)
    assert found.earned == share and words in found.reason, found.reason


# --------------------------------------------------------------------------------------------------------- hostile
HOSTILE = [
    "",
    "   ",
    "__import__('os').system('touch /tmp/harm')",
    "exec('1')",
    "().__class__.__bases__[0].__subclasses__()",
    "lambda: 0",
    "[x for x in range(10**9)]",
    "open('/etc/passwd').read()",
    "f'{1}'",
    "{{7*7}}",
    "9**9**9**9",
    "10^10^10^10",
    "2" * 5000,
    "(" * 900 + "1" + ")" * 900,
    "(" * 10**6,
    "1+" * 400 + "1",
    "a" * 10**6,
    "9" * 10**6,
    "sin(" * 300 + "q2" + ")" * 300,
    "q2**q2**q2**q2**q2**q2",
    "qd2^99999",
    "nan",
    "inf",
    "-Infinity",
    "∞",
    r"\infty",
    "1/0",
    "0/0",
    "sqrt(-1)",
    "log(0)",
    "1e999",
    "сos(q2)",  # a Cyrillic letter
    "ｑ2",
    "q\u200b2",
    "\x00",
    "\ud800",
    "‮12",
    "<script>alert(1)</script>",
    "'; DROP TABLE marks; --",
    r"\input{/etc/passwd}",
    r"\write18{rm -rf /}",
    "\\" * 500,
    "[[" * 400,
    "=" * 500,
    ";" * 500,
    "°" * 500,
    "m/" * 500,
    "km" * 400 + " 5",
    "5 " + "km" * 400,
    "5 " + "Nmkgs" * 300,
    "True",
    "None",
    "1j",
    "0x1F",
    "1_000",
    "ten",
    "I do not know.",
]
WEIRD = [
    None,
    True,
    3,
    2.5,
    [],
    [[]],
    [[1, 2], [3]],
    {"a": 1},
    object(),
    b"bytes",
    1j,
    np.array(3.0),
    np.array([]),
    float("nan"),
]


@pytest.mark.parametrize(
    "answer", [TORQUE, TURN, JACOBIAN, FORCE, Answer("k", "choice", "overdamped", choices=CHOICES)]
)
def test_hostile_answers_earn_nothing_and_get_a_sentence(answer: Answer) -> None:
    for given in (*HOSTILE, *WEIRD):
        found = mark(answer, given)
        assert found.earned == 0, given
        assert len(found.reason) < 400 and len(found.given) <= LONGEST and "\n" not in found.reason


HUGE = "*".join(["10^60"] * 8)


@pytest.mark.parametrize("text", ["1e-300^-7", "0^-1", HUGE, f"{HUGE}/3", f"{HUGE} + 1.5", f"-{HUGE}"])
def test_numbers_without_a_value_get_a_sentence(text: str) -> None:
    """Such numbers raised ZeroDivisionError or OverflowError."""
    with pytest.raises(InputError, match="by zero|too large"):
        evaluate_number(text)
    for answer in (TORQUE, FORCE):
        found = mark(answer, text)
        assert found.earned == 0 and found.reason


def test_answers_are_a_dictionary():
    with raises(InputError, "wrong-type"):
        grade(find("dh-row").variant(1), ["x"])


GRAVITY = Answer("g2", "formula", "0.8*g*cos(q1 + q2)", symbols=("g", "q1", "q2"), points=2)


@pytest.mark.parametrize(
    ("text", "earned"),
    [
        ("0.8*9.81*cos(q1+q2)", 2),
        ("7.848*cos(q1+q2)", 2),
        ("-0.8*9.81*cos(q1+q2)", 1),
        ("0.8*g*COS(Q1+q2)", 2),
        ("0.8*G*cos(Q1+Q2)", 2),
        ("0.8*g*SIN(Q1+q2)", 1),
        ("0.8*g*cos(Q1+W2)", 0),
    ],
)
def test_a_number_for_gravity_and_capital_letters(text: str, earned: float) -> None:
    assert mark(GRAVITY, text).earned == earned, mark(GRAVITY, text).reason
    if "9.81" in text and earned == 2:
        assert "g = 9.81" in mark(GRAVITY, text).reason


def test_decimal_commas_in_a_matrix_are_named() -> None:
    answer = Answer("R", "matrix", [[0.5, 1.0], [2.0, 3.0]])
    assert "decimals with a point" in mark(answer, "[[0,5, 1,0], [2,0, 3,0]]").reason
    assert "[[1, 2], [3, 4]]" in mark(answer, "[[1, 2, 3], [2, 3, 4]]").reason
