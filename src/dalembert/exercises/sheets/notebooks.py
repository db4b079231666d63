"""Jupyter notebooks: each exercise with a cell for its answers and a cell that grades them."""

from __future__ import annotations

import json
from typing import Any

from dalembert.exercises.exercise import Exercise
from dalembert.exercises.sheets import paper
from dalembert.exercises.sheets.sheet import Sheet, answer_text

HOW = """Answer as you would on paper, between quotes: `"0.35 m"`, `"[[1, 2], [3, 4]]"`, `"m2*l1*cos(q2)"`, or the
letter of a choice, `"b"`. You may leave out the quotes of numbers and arrays. The cell below each answer grades it."""
Cell = dict[str, Any]


def write_notebook(sheet: Sheet, solutions: str = "none") -> str:
    """Return the notebook as JSON; `solutions` is none (exercises alone), inside (each after its exercise), or only."""
    asked = f"# {sheet.title}\n\n{sheet.student}\n\n{HOW} {paper.WITHIN}"
    cells = [_text(f"# {sheet.title}: solutions" if solutions == "only" else asked)]
    for k, exercise in enumerate(sheet.exercises, 1):
        head = paper.heading(k, exercise)
        if solutions == "only":
            cells.append(_text(f"{head}\n\n{paper.solution_text(exercise)}"))
            continue
        cells.append(_text(f"{head}\n\n{paper.exercise_text(exercise)}".replace(f" {paper.BLANK}", "")))
        cells += [_code(_answers(k, exercise, solved=solutions == "inside")), _code(_grade(k, exercise))]
        if solutions == "inside":
            cells.append(_text(paper.solution_text(exercise)))
    numbered = [{**cell, "id": f"cell-{k}"} for k, cell in enumerate(cells)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    data = {"cells": numbered, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _answers(k: int, exercise: Exercise, solved: bool) -> str:
    """The cell of answers, a dictionary of texts: empty, or solved."""
    lines = [
        f"    {a.name!r}: {(answer_text(a, a.value) if solved else '')!r},{f'  # in {a.unit}' if a.unit else ''}"
        for a in exercise.answers
    ]
    return "\n".join([f"answers_{k} = {{", *lines, "}"])


def _grade(k: int, exercise: Exercise) -> str:
    return (
        "from dalembert.exercises.exercise import find\n"
        "from dalembert.exercises.grading import grade\n\n"
        f"print(grade(find({exercise.family!r}).variant({exercise.seed}), answers_{k}))"
    )


def _text(source: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str) -> Cell:
    return {"cell_type": "code", "metadata": {}, "source": source, "execution_count": None, "outputs": []}
