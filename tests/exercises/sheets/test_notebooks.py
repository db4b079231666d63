"""The notebooks for otter-grader and nbgrader: their cells, and what their tests say to right and wrong answers. The
tools themselves run in test_graders."""

from __future__ import annotations

import ast
import json

import numpy as np
import pytest
from made import MADE

from dalembert.exercises.exercise import find
from dalembert.exercises.grading import grade
from dalembert.exercises.sheets import Sheet
from dalembert.exercises.sheets.notebooks import mark, need, need_answers, write_nbgrader, write_otter
from dalembert.exercises.sheets.sheet import answer_text

EXERCISE = find("damping").variant(4)
SHEET = Sheet('Week "1"', (EXERCISE, find("compose-rotations").variant(4)), "Ada")
RIGHT = {a.name: answer_text(a, a.value) for a in EXERCISE.answers}


def cells(text: str) -> list[dict]:
    data = json.loads(text)
    assert data["nbformat"] == 4 and len({cell["id"] for cell in data["cells"]}) == len(data["cells"])
    return data["cells"]


def run(cell: dict, **names: object) -> dict[str, object]:
    exec(compile(ast.parse(cell["source"]), "cell", "exec"), names)
    return names


def test_otter_marks_shares_of_the_points():
    source = cells(write_otter(SHEET))
    assert source[0]["source"].startswith('# ASSIGNMENT CONFIG\nname: "Week \\"1\\""')
    raw = [cell["source"].partition("\n")[0] for cell in source if cell["cell_type"] == "raw"]
    assert raw.count("# BEGIN QUESTION") == raw.count("# END QUESTION") == raw.count("# BEGIN TESTS") == 2
    solved = run(next(cell for cell in source if "BEGIN SOLUTION NO PROMPT" in cell["source"]))["answers_1"]
    assert solved == RIGHT
    tests = [cell for cell in source if "BEGIN TEST CONFIG" in cell["source"] and "answers_1" in cell["source"]]
    points = [float(cell["source"].partition("points: ")[2].partition("\n")[0]) for cell in tests]
    assert sum(points) == pytest.approx(EXERCISE.points)
    for given in (RIGHT, {**RIGHT, "omega": str(EXERCISE.answers[0].wrong[0].value)}, {}, {"omega": ...}, None, 3):
        earned = 0.0
        for cell, share in zip(tests, points, strict=True):
            test = next(f for name, f in run(cell).items() if name.startswith("test_"))
            try:
                test(given)
            except AssertionError as error:
                assert str(error), "a test that fails says why"
            else:
                earned += share
        assert earned == pytest.approx(grade(EXERCISE, given if isinstance(given, dict) else {}).earned)


def test_nbgrader_cells():
    source = cells(write_nbgrader(SHEET))
    own = [cell["metadata"]["nbgrader"] for cell in source if "nbgrader" in cell["metadata"]]
    assert len({o["grade_id"] for o in own}) == len(own)
    assert sum(o.get("points", 0) for o in own) == SHEET.points
    assert all(o["locked"] == o["grade"] != o["solution"] for o in own)
    answers, test = (
        cell for cell in source if cell["metadata"].get("nbgrader", {}).get("grade_id") in ("answers-1", "test-1-1")
    )
    given = run(answers)["answers_1"]
    assert given == RIGHT
    assert run(test, answers_1=given)["marked"].earned == EXERCISE.answers[0].points
    hidden = test["source"].partition("### BEGIN HIDDEN TESTS")[2]
    assert "mark(" in hidden and hidden.rstrip().endswith("### END HIDDEN TESTS")


def test_the_students_part_asks_without_answering():
    for text in (write_otter(SHEET), write_nbgrader(SHEET)):
        asked = "\n".join(cell["source"] for cell in cells(text) if cell["cell_type"] == "markdown")
        assert EXERCISE.text in asked and EXERCISE.solution[0] not in asked and EXERCISE.hints[0] not in asked


def test_mark_takes_whatever_a_student_has():
    family, seed, rotation = "compose-rotations", 4, SHEET.exercises[1].answers[0]
    for given in (np.array(rotation.value), np.array(rotation.value).tolist(), answer_text(rotation, rotation.value)):
        assert mark(family, seed, "R", {"R": given}).earned == rotation.points
    for given in (None, ..., object(), {}, [], "", float("nan"), np.zeros(0), 1j):
        assert mark(family, seed, "R", {"R": given}).earned == 0
    with pytest.raises(AssertionError, match="R: "):
        need(family, seed, "R", {"R": "1"}, 1)
    with pytest.raises(AssertionError, match="not answered yet: a, b"):
        need_answers({"a": ""}, "a", "b")
    with pytest.raises(AssertionError, match="the answers are a dictionary"):
        need_answers(3, "a")


def test_every_kind_can_be_typed_as_it_is_written_in_a_notebook():
    given = {a.name: answer_text(a, a.value) for a in MADE.answers}
    assert given["T"] == "35 N m" and given["J"] == "[[-3, -3], [2, 0]]" and given["v"] == "[1, 4]"
    assert given["A"] == "[[-l1*sin(q1), 0], [l1*cos(q1), 1]]"
    assert grade(MADE, given).earned == MADE.points
