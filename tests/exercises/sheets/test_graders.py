"""otter-grader and nbgrader, end to end: the teacher's notebook, the students' one, right and wrong and hostile
answers, and the marks that come out. Both tools must be installed; the test says so where they are not."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as dl
from dalembert.exercises.exercise import Exercise, all_families
from dalembert.exercises.grading import grade
from dalembert.exercises.sheets import Sheet, write_sheet
from dalembert.exercises.sheets.sheet import answer_text

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("graders")]
SEED = 3
PLACES = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])


def tool(name: str) -> str:
    found = shutil.which(name, path=PLACES)
    if found is None:
        pytest.skip(f"{name} is not installed: assignments are not graded by it")
    return found


def call(folder: Path, *command: str) -> str:
    source = str(Path(dl.__file__).parent.parent)
    paths = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    env = {**os.environ, "PYTHONPATH": paths, "PATH": os.pathsep.join([str(Path(command[0]).parent), PLACES])}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def sheet() -> Sheet:
    """One family of each kind of answer."""
    chosen: dict[str, Exercise] = {}
    for family in all_families():
        exercise = family.variant(SEED)
        for a in exercise.answers:
            chosen.setdefault(a.kind, exercise)
    return Sheet("Week 1: arms", tuple({e.family: e for e in chosen.values()}.values()))


def students(exercises: tuple[Exercise, ...]) -> dict[str, list[dict[str, str]]]:
    """Answers by student: all right; the first wrong one that is listed; what does harm if it is run; nothing."""
    right = [{a.name: answer_text(a, a.value) for a in e.answers} for e in exercises]
    wrong = [{a.name: answer_text(a, a.wrong[0].value) if a.wrong else "" for a in e.answers} for e in exercises]
    harm = "__import__('pathlib').Path('harm').touch()"
    return {
        "right": right,
        "wrong": wrong,
        "hostile": [dict.fromkeys(given, harm) for given in right],
        "nothing": [dict.fromkeys(given, "") for given in right],
    }


def expected(exercises: tuple[Exercise, ...], given: list[dict[str, str]]) -> float:
    return sum(grade(e, x).earned for e, x in zip(exercises, given, strict=True))


def fill_in(notebook: Path, given: list[dict[str, str]]) -> str:
    """A student's notebook: the cells of answers replaced by these."""
    data = json.loads(notebook.read_text(encoding="utf-8"))
    for k, answers in enumerate(given, 1):
        cell = next(c for c in data["cells"] if "".join(c["source"]).lstrip().startswith(f"answers_{k} = {{"))
        cell["source"] = f"answers_{k} = {answers!r}"
    return json.dumps(data)


def test_otter(tmp_path):
    otter, made = tool("otter"), sheet()
    write_sheet(made, tmp_path / "week.ipynb", "otter")
    call(tmp_path, otter, "assign", "week.ipynb", "dist", "--no-pdfs")  # runs the tests on the solutions, too
    handed = tmp_path / "dist" / "student" / "week.ipynb"
    text = handed.read_text(encoding="utf-8")
    assert "BEGIN" not in text and "need(" not in text, "solutions and hidden tests are not handed out"
    (archive,) = (tmp_path / "dist" / "autograder").glob("*.zip")
    for name, given in students(made.exercises).items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "week.ipynb").write_text(fill_in(handed, given), encoding="utf-8")
        call(folder, otter, "run", "-a", str(archive), "-o", ".", "week.ipynb")
        results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        points = sum(test.get("score", 0.0) for test in results["tests"])
        assert points == pytest.approx(expected(made.exercises, given), abs=1e-4), name
        assert not list(tmp_path.rglob("harm"))
    assert expected(made.exercises, students(made.exercises)["right"]) == made.points


def test_nbgrader(tmp_path):
    nbgrader, made = tool("nbgrader"), sheet()
    (tmp_path / "source" / "week").mkdir(parents=True)
    write_sheet(made, tmp_path / "source" / "week" / "week.ipynb", "nbgrader")
    call(tmp_path, nbgrader, "generate_assignment", "week", "--create")
    handed = tmp_path / "release" / "week" / "week.ipynb"
    text = handed.read_text(encoding="utf-8")
    assert "BEGIN" not in text and "mark(" not in text, "solutions and hidden tests are not handed out"
    wanted = {}
    for name, given in students(made.exercises).items():
        folder = tmp_path / "submitted" / name / "week"
        folder.mkdir(parents=True)
        (folder / "week.ipynb").write_text(fill_in(handed, given), encoding="utf-8")
        wanted[name] = expected(made.exercises, given)
    call(tmp_path, nbgrader, "autograde", "week", "--create")
    call(tmp_path, nbgrader, "export", "--to", "grades.csv")
    with open(tmp_path / "grades.csv", encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {name: float(row["score"]) for name, row in rows.items()} == pytest.approx(wanted, abs=1e-4)
    assert all(float(row["max_score"]) == made.points for row in rows.values())
    assert not list(tmp_path.rglob("harm"))
