"""Jupyter notebooks that are graded by machines: the teacher's notebook for otter-grader and for nbgrader.

Each exercise has one cell of answers, a dictionary of texts. `otter assign` and `nbgrader generate_assignment` take the
solutions out and make the students' notebook; their tests call `mark`, so that a notebook earns what a paper would.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dalembert.exercises.exercise import Exercise, find
from dalembert.exercises.grading import ONE_SLIP, TWO_SLIPS, Mark, grade
from dalembert.exercises.sheets import paper
from dalembert.exercises.sheets.sheet import Sheet, answer_text

HOW = """Answer as you would on paper, between quotes: `"0.35 m"`, `"[[1, 2], [3, 4]]"`, `"m2*l1*cos(q2)"`, a choice by
its letter, `"b"`. Numbers and arrays without quotes are understood too."""
HOW += f" {paper.WITHIN}"
Cell = dict[str, Any]


def mark(family: str, seed: int, name: str, answers: object) -> Mark:
    """What the answer of this name earned, of a student's dictionary of answers."""
    exercise = find(family).variant(seed)
    asked = tuple(a for a in exercise.answers if a.name == name)
    given = answers.get(name) if isinstance(answers, Mapping) else None
    return grade(replace(exercise, answers=asked), {name: None if given is ... else given}).marks[0]


def need(family: str, seed: int, name: str, answers: object, points: float) -> None:
    """Fail, with the reason, unless that answer earned so many points."""
    earned = mark(family, seed, name, answers)
    assert earned.earned >= points - 1e-9, f"{name}: {earned.reason}"


def need_answers(answers: object, *names: str) -> None:
    """Fail, with what is missing, unless all of these are answered: what students can check themselves."""
    assert isinstance(answers, Mapping), "the answers are a dictionary, {'name': \"answer\"}"
    missing = [name for name in names if str(answers.get(name, "")).strip() in ("", "Ellipsis")]
    assert not missing, f"not answered yet: {', '.join(missing)}"


def write_otter(sheet: Sheet, solutions: str = "none") -> str:
    """The notebook that `otter assign` takes."""
    cells = [
        _raw(f"# ASSIGNMENT CONFIG\nname: {json.dumps(sheet.title)}\nexport_cell: false\ntests:\n    ok_format: false")
    ]
    cells += [_words(f"# {sheet.title}\n\n{sheet.student}\n\n{HOW}")]
    for k, exercise in enumerate(sheet.exercises, 1):
        cells += [_raw(f"# BEGIN QUESTION\nname: q{k}"), _words(_asked(k, exercise)), _raw("# BEGIN SOLUTION")]
        right = f"# BEGIN SOLUTION NO PROMPT\n{_filled(k, exercise)}\n# END SOLUTION"
        cells += [
            _code(f'{right}\n""" # BEGIN PROMPT\n{_empty(k, exercise, "...")}\n""" # END PROMPT'),
            _raw("# END SOLUTION"),
        ]
        cells += [_raw("# BEGIN TESTS"), *(_code(test) for test in _otter_tests(k, exercise)), _raw("# END TESTS")]
        cells += [_raw("# END QUESTION")]
    return _notebook(cells)


def _otter_tests(k: int, exercise: Exercise) -> Iterator[str]:
    """One that says what is not answered yet, then hidden ones: a test for each share of the points that there is."""
    module = "from dalembert.exercises.sheets.notebooks import"
    names = ", ".join(repr(a.name) for a in exercise.answers)
    yield _otter_test(
        f"test_q{k}(answers_{k})", f"{module} need_answers", f"need_answers(answers_{k}, {names})", 0, False
    )
    for i, a in enumerate(exercise.answers, 1):
        shares = sorted({ONE_SLIP, TWO_SLIPS, 1.0, *(w.credit for w in a.wrong)} - {0.0})
        for j, (before, share) in enumerate(zip([0.0, *shares], shares, strict=False), 1):
            call = f"need({exercise.family!r}, {exercise.seed}, {a.name!r}, answers_{k}, {a.points * share:.6g})"
            points = round(a.points * (share - before), 6)
            yield _otter_test(f"test_q{k}_{i}_{j}(answers_{k})", f"{module} need", call, points, True)


def _otter_test(name: str, line: str, call: str, points: float, hidden: bool) -> str:
    config = f'""" # BEGIN TEST CONFIG\npoints: {points}\nhidden: {str(hidden).lower()}\n""" # END TEST CONFIG'
    return f"{config}\ndef {name}:\n    {line}\n    {call}"


def write_nbgrader(sheet: Sheet, solutions: str = "none") -> str:
    """The notebook that `nbgrader generate_assignment` takes, as source/ASSIGNMENT/NAME.ipynb."""
    cells = [_words(f"# {sheet.title}\n\n{sheet.student}\n\n{HOW} Delete `raise NotImplementedError()`.")]
    for k, exercise in enumerate(sheet.exercises, 1):
        right = f"### BEGIN SOLUTION\n{_filled(k, exercise)}\n### END SOLUTION"
        cells += [_words(_asked(k, exercise)), _graded(f"answers-{k}", f"{_empty(k, exercise)}\n{right}", None)]
        for i, a in enumerate(exercise.answers, 1):
            hidden = [
                "from dalembert.exercises.sheets.notebooks import mark",
                f"marked = mark({exercise.family!r}, {exercise.seed}, {a.name!r}, answers_{k})",
                "print(marked.reason)",
                "marked.earned",
            ]
            public = f"assert {a.name!r} in answers_{k}"
            test = "\n".join([public, "### BEGIN HIDDEN TESTS", *hidden, "### END HIDDEN TESTS"])
            cells += [_graded(f"test-{k}-{i}", test, a.points)]
    return _notebook(cells)


def _asked(k: int, exercise: Exercise) -> str:
    return f"{paper.heading(k, exercise)}\n\n{paper.exercise_text(exercise)}".replace(f" {paper.BLANK}", "")


def _empty(k: int, exercise: Exercise, nothing: str = '""') -> str:
    return _answers(k, exercise, [nothing for _ in exercise.answers])


def _filled(k: int, exercise: Exercise) -> str:
    return _answers(k, exercise, [repr(answer_text(a, a.value)) for a in exercise.answers])


def _answers(k: int, exercise: Exercise, given: list[str]) -> str:
    pairs = zip(exercise.answers, given, strict=True)
    lines = [f"    {a.name!r}: {x},{f'  # in {a.unit}' if a.unit else ''}" for a, x in pairs]
    return "\n".join([f"answers_{k} = {{", *lines, "}"])


# ---------------------------------------------------------------------------------------------------------- cells
def _cell(kind: str, source: str, **metadata: object) -> Cell:
    more: Cell = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": metadata, "source": source, **more}


def _raw(source: str) -> Cell:
    return _cell("raw", source)


def _words(source: str) -> Cell:
    return _cell("markdown", source)


def _code(source: str) -> Cell:
    return _cell("code", source)


def _graded(name: str, source: str, points: int | None) -> Cell:
    """A cell of nbgrader: of answers, or of tests that earn points."""
    test = points is not None
    own = {"grade": test, "solution": not test, "locked": test, "task": False, "schema_version": 3, "grade_id": name}
    return _cell("code", source, nbgrader=own | ({"points": points} if test else {}))


def _notebook(cells: list[Cell]) -> str:
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    data = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
