"""Question banks for Moodle, read as its importer reads them: https://docs.moodle.org/en/Moodle_XML_format and
https://docs.moodle.org/en/Embedded_Answers_(Cloze)_question_type."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from made import MADE

from dalembert.exercises.exercise import Answer, Wrong, all_families
from dalembert.exercises.sheets import Sheet
from dalembert.exercises.sheets.moodle import SHARES, write_moodle

BLANK = re.compile(r"\{(\d+):(NUMERICAL|MULTICHOICE_V):((?:[^~#}]+#[^~}]*)(?:~[^~#}]+#[^~}]*)*)\}")
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"


def questions(*exercises) -> list[ElementTree.Element]:
    quiz = ElementTree.fromstring(write_moodle(Sheet("Arms/legs", exercises)))
    first, *rest = quiz
    assert quiz.tag == "quiz" and first.get("type") == "category"
    assert first.findtext("category/text") == "$course$/top/Arms//legs"
    return rest


def blanks(question: ElementTree.Element) -> list[tuple[int, str, list[tuple[float, str, str]]]]:
    """(weight, type, [(share, answer, feedback), …]) of every blank; nothing that looks like one is left over."""
    text = question.findtext("questiontext/text") or ""
    found = []
    for weight, kind, body in BLANK.findall(text):
        rows = []
        for alternative in body.split("~"):
            mark, answer, feedback = re.fullmatch(r"(=|%[\d.]+%)(.+?)#(.*)", alternative, re.DOTALL).groups()
            share = 100.0 if mark == "=" else float(mark.strip("%"))
            if kind == "NUMERICAL":
                assert re.fullmatch(f"{NUMBER}:{NUMBER}", answer), answer
            rows.append((share, answer, html.unescape(feedback)))
        found.append((int(weight), kind, rows))
    assert not re.search(r"\{\d*:[A-Z]", BLANK.sub("", text))
    return found


def test_several_blanks():
    (question,) = questions(MADE)
    assert question.get("type") == "cloze" and question.findtext("name/text") == "made 7: Tip of an arm"
    assert "Step 2" in question.findtext("generalfeedback/text") and "\\begin{bmatrix}" in question.findtext(
        "generalfeedback/text"
    )
    assert question.findtext("hint/text") == "<p>Draw the arm.</p>"
    found = blanks(question)
    x, torque, _, *rest = found
    assert x[2] == [
        (100, "2:0.02", "Right."),
        (0, "5:0.02", "The angle was left out: cos 90° = 0."),
        (50, "3:0.02", "This is y."),
    ]
    assert [len(rows) for *_, rows in rest[:4]] == [2, 2, 1, 1], (
        "entries that the wrong matrix shares have one alternative"
    )
    assert rest[0][2][1] == (50, "3:0.03", "The sign: ∂cos = -sin; {1}~#."), "marks of the format are escaped"
    assert sum(weight for weight, *_ in found) == MADE.points * x[0]
    assert sum(weight for weight, *_ in rest[:4]) == 2 * x[0], "a matrix shares its points among its entries"
    assert rest[-1][1] == "MULTICHOICE_V" and [share for share, *_ in rest[-1][2]] == [0, 100, 0]
    assert torque[2] == [(100, "35:0.35", "Right.")]


def test_a_formula_is_asked_for_by_its_value():
    (question,) = questions(MADE)
    given = re.search(r"<strong>M12</strong> for (.*?) \(angles", question.findtext("questiontext/text"))[1]
    at = {name: float(x) for name, x in (pair.split(" = ") for pair in given.split(", "))}
    assert set(at) == {"I2", "m2", "r2", "l1", "q2"}
    wanted = at["I2"] + at["m2"] * (at["r2"] ** 2 + at["l1"] * at["r2"] * np.cos(at["q2"]))
    right, wrong = (row for row in blanks(question)[2][2])
    assert float(right[1].split(":")[0]) == pytest.approx(wanted, rel=1e-5)
    assert wrong[0] == 50 and abs(float(wrong[1].split(":")[0]) - wanted) > 0.03 * wanted


def test_one_number_has_units():
    (question,) = questions(
        replace(MADE, answers=(Answer("x", "number", 0.5, "m", wrong=(Wrong(-0.5, "The sign.", 0.3),)),))
    )
    assert question.get("type") == "numerical" and question.findtext("showunits") == "0"
    told = [
        (n.get("fraction"), n.findtext("text"), n.findtext("tolerance"), n.findtext("feedback/text"))
        for n in question.findall("answer")
    ]
    assert told == [("100", "0.5", "0.005", "<p>Right.</p>"), ("30", "-0.5", "0.005", "<p>The sign.</p>")]
    units = {n.findtext("unit_name"): float(n.findtext("multiplier")) for n in question.findall("units/unit")}
    assert units["m"] == 1 and units["cm"] == 100 and units["mm"] == 1000 and units["km"] == 0.001
    assert next(iter(units)) == "m", "the first unit is the one that is meant where none is written"
    (plain,) = questions(replace(MADE, answers=(Answer("x", "number", 0.5),)))
    assert plain.findtext("showunits") == "3" and not plain.findall("units/unit")


def test_one_choice():
    (question,) = questions(replace(MADE, answers=MADE.answers[-1:]))
    assert question.get("type") == "multichoice" and question.findtext("single") == "true"
    told = [(n.get("fraction"), n.findtext("text")) for n in question.findall("answer")]
    assert told == [("0", "never"), ("100", r"at \(q_2 = 0\)"), ("0", r"at \(q_2 = \frac{\pi}{2}\) &lt;b&gt;")]


def test_every_family():
    exercises = tuple(family.variant(3) for family in all_families())
    for exercise, question in zip(exercises, questions(*exercises), strict=True):
        shares = [float(n.get("fraction")) for n in question.findall("answer")]
        if question.get("type") == "cloze":
            found = blanks(question)
            sizes = [np.array(a.value, dtype=object).size for a in exercise.answers]
            assert len(found) == sum(sizes), exercise.family
            assert all(rows and max(share for share, *_ in rows) == 100 for *_, rows in found)
            shares = [share for *_, rows in found for share, *_ in rows]
        assert shares and set(shares) <= set(SHARES), exercise.family
        assert question.findtext("questiontext/text") and question.findtext("generalfeedback/text")
