"""Notebooks: their cells run, grade right and wrong answers as the grader does, and keep solutions apart."""

from __future__ import annotations

import json

import pytest
from made import MADE

from dalembert.exercises.exercise import find
from dalembert.exercises.grading import grade
from dalembert.exercises.sheets import Sheet
from dalembert.exercises.sheets.notebooks import write_notebook
from dalembert.exercises.sheets.sheet import answer_text

EXERCISE = find("damping").variant(4)
SHEET = Sheet('Week "1"', (EXERCISE, find("compose-rotations").variant(4)), "Ada")


def cells(solutions: str, kind: str) -> list[str]:
    data = json.loads(write_notebook(SHEET, solutions))
    assert data["nbformat"] == 4 and len({cell["id"] for cell in data["cells"]}) == len(data["cells"])
    return [cell["source"] for cell in data["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize(("solutions", "share"), [("none", 0.0), ("inside", 1.0)])
def test_cells_run_and_grade(solutions, share, capsys):
    names: dict[str, object] = {}
    for source in cells(solutions, "code"):
        exec(source, names)
    printed = capsys.readouterr().out
    for k, exercise in enumerate(SHEET.exercises, 1):
        marked = grade(exercise, names[f"answers_{k}"])
        assert marked.earned == share * exercise.points and str(marked) in printed
    wrong = {**names["answers_1"], "omega": str(EXERCISE.answers[0].wrong[0].value)}
    names["answers_1"] = wrong
    exec(cells(solutions, "code")[1], names)
    assert str(grade(EXERCISE, wrong)) in capsys.readouterr().out


def test_exercises_and_solutions_are_apart():
    asked, solved = ("\n".join(cells(part, "markdown")) for part in ("none", "only"))
    assert EXERCISE.text in asked and EXERCISE.solution[0] not in asked and EXERCISE.hints[0] not in asked
    assert EXERCISE.text not in solved and EXERCISE.solution[0] in solved and not cells("only", "code")
    both = "\n".join(cells("inside", "markdown"))
    assert EXERCISE.text in both and EXERCISE.solution[0] in both


def test_every_kind_can_be_typed_as_it_is_written_in_a_notebook():
    given = {a.name: answer_text(a, a.value) for a in MADE.answers}
    assert given["T"] == "35 N m" and given["J"] == "[[-3, -3], [2, 0]]" and given["v"] == "[1, 4]"
    assert given["A"] == "[[-l1*sin(q1), 0], [l1*cos(q1), 1]]"
    assert grade(MADE, given).earned == MADE.points
