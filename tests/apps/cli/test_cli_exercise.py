"""dalembert exercise: list, make, solve, grade; a class from its list to its marks."""

from __future__ import annotations

import csv
import json

import pytest
from invoking import data, run, words

from dalembert.exercises.exercise import find
from dalembert.exercises.sheets.sheet import answer_text

FAMILY = "compose-rotations"


def right(seed: int) -> str:
    (answer,) = find(FAMILY).variant(seed).answers
    return f"R={answer_text(answer, answer.value)}"


def test_list():
    every = data("exercise", "list")["families"]
    assert len(every) >= 40 and {row["level"] for row in every} == {1, 2, 3}
    some = data("exercise", "list", "--topic", "ROTATIONS", "--level", 1)["families"]
    assert 0 < len(some) < len(every) and all("rotations" in row["topic"] for row in some)
    assert FAMILY in run("exercise", "list").output


def test_make_prints_and_writes(tmp_path):
    out = run("exercise", "make", FAMILY, "--seed", 7).output
    assert "compose-rotations, variant 7" in out and "Step" not in out
    assert "Step 1" in run("exercise", "make", FAMILY, "--solutions", "inside").output
    (one,) = data("exercise", "make", FAMILY, "--seed", 7)["exercises"]
    assert one["seed"] == 7 and not {"values", "solution"} & set(one) and "value" not in one["answers"][0]
    for suffix, apart in ((".md", True), (".ipynb", True), (".html", True), (".xml", False)):
        file = tmp_path / f"week{suffix}"
        said = run("exercise", "make", "--topic", "rotations", "--count", 12, "-o", file).output
        assert file.exists() and (tmp_path / f"week-solutions{suffix}").exists() == apart == (
            said.count("written to") == 2
        )
    text = (tmp_path / "week.md").read_text(encoding="utf-8")
    count = len(data("exercise", "list", "--topic", "rotations")["families"])
    assert text.count("\n## ") == 12 and text.count("variant 0") == count and text.count("variant 1") == 12 - count
    assert json.loads((tmp_path / "week.ipynb").read_text(encoding="utf-8"))["nbformat"] == 4
    refused = run("exercise", "make", FAMILY, "-o", tmp_path / "x.tex", code=2)
    assert "--format" in words(refused.stderr)


def test_solve():
    told = run("exercise", "solve", FAMILY, "--seed", 7).output
    assert "Step 1." in told and "Hint 1." in told and "\\" not in told and "$" not in told
    assert "Step" not in run("exercise", "solve", FAMILY, "--seed", 7, "--only", "hints").output
    assert data("exercise", "solve", FAMILY)["solution"]


def test_grade_an_answer():
    assert "R: Right. (2 of 2)" in run("exercise", "grade", FAMILY, "--seed", 7, "--answer", right(7)).output
    told = run("exercise", "grade", FAMILY, "--seed", 7, "--answer", "R=__import__('os')", code=1).output
    assert "R: This cannot be read as a matrix" in told and "Together 0 of 2 points." in told
    listed = find("damping").variant(3).answers[0].wrong[0]
    assert "$" in listed.reveals
    told = run("exercise", "grade", "damping", "--seed", 3, "--answer", f"omega={listed.value}", code=1).output
    assert "$" not in told and "\\" not in told, "formulas are legible in a terminal"
    marks = data("exercise", "grade", FAMILY, "--seed", 7, "--answer", right(7))["marks"]
    assert [(m["name"], m["verdict"], m["earned"], m["reason"]) for m in marks] == [("R", "right", 2.0, "Right.")]


def test_a_class_from_its_list_to_its_marks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "students.csv").write_text("name\nAda Lovelace\nŁukasz/../x\n=1+1\n", encoding="utf-8")
    said = run(
        "exercise", "make", FAMILY, "damping", "--class", "students.csv", "--format", "html", "-o", "week1"
    ).output
    assert "3 sheets in week1; week1/variants.csv says who has what" in said
    folder = tmp_path / "week1"
    assert {p.name for p in (folder / "solutions").iterdir()} == {"Ada-Lovelace.html", "Łukasz-..-x.html", "1-1.html"}
    handed = {p.name for p in (folder / "students").iterdir() if p.suffix == ".toml"}
    assert handed == {"Ada-Lovelace.toml", "Łukasz-..-x.toml", "1-1.toml"}
    with open(folder / "variants.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 and len({row["seed"] for row in rows if row["family"] == FAMILY}) == 3
    ada = folder / "students" / "Ada-Lovelace.toml"
    seed = next(int(row["seed"]) for row in rows if row["student"] == "Ada Lovelace" and row["family"] == FAMILY)
    text = ada.read_text(encoding="utf-8").replace('"R" = ""', f'"R" = "{right(seed)[2:]}"')
    ada.write_text(text, encoding="utf-8")
    told = run("exercise", "grade", ada, code=1).output
    assert "R: Right." in told and "omega: There is no answer." in told
    (folder / "students" / "broken.toml").write_text("student = [", encoding="utf-8")
    for page in (folder / "students").glob("*.html"):
        page.unlink()
    said = run("exercise", "grade", "week1/students", "--variants", "week1/variants.csv", "-o", "marks.csv").output
    assert "written to marks.csv" in said
    with open("marks.csv", encoding="utf-8", newline="") as file:
        marks = {row["student"]: row for row in csv.DictReader(file)}
    assert marks["Ada Lovelace"]["points"] == "2.0" and marks["Ada Lovelace"][FAMILY] == "2.0"
    assert "is not TOML" in marks["broken"]["reasons"] and marks["'=1+1"]["points"] == "0.0"
    assert len(data("exercise", "grade", "week1/students")["marks"]) == 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("make", FAMILY, "--class", "students.csv"), "--class makes many files: name a folder with -o"),
        (("make", FAMILY, "--class", "students.csv", "--seed", "3", "-o", "x"), "--seed has no effect here"),
        (("grade", "students.csv", "--seed", "3"), "--seed has no effect here: the file says which exercises"),
        (("grade", FAMILY, "--answer", "R=1", "--variants", "students.csv"), "--variants has no effect here"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "students.csv").write_text("name\nAda\n", encoding="utf-8")
    assert says in words(run("exercise", *arguments, code=2).stderr)
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "'file' is a file, and --class needs a folder" in words(
        run("exercise", "make", FAMILY, "--class", "students.csv", "-o", "file", code=1).stderr
    )
