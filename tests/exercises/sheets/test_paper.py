"""Sheets on paper: what is asked, what is answered, and that the two are apart; the PDF, where LaTeX is installed."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from made import MADE

from dalembert.draw import html
from dalembert.errors import DalembertError
from dalembert.exercises.exercise import all_families
from dalembert.exercises.grading import grade
from dalembert.exercises.sheets import FORMATS, Sheet, paper, write_sheet
from dalembert.exercises.sheets.markup import HTML, LATEX, PLAIN, write
from dalembert.exercises.sheets.sheet import answer_text
from errors import raises

SHEET = Sheet("Week 1", (MADE,), "Ada *Lovelace*")
FAMILIES = all_families()


def test_exercises_and_solutions_are_apart():
    asked, solved = paper.markdown(SHEET), paper.markdown(SHEET, "only")
    assert asked.startswith(
        f"# Week 1\n\nName: Ada Lovelace\n\n{paper.WITHIN}\n\n## 1. Tip of an arm (10 points)\n\n*made, "
    )
    assert "- **T** (in N m; 2 points; two digits): ____" in asked
    assert "- **M12** (in I2, m2, r2, l1, q2; 2 points): ____" in asked
    assert "(a) never   (b) at $q_2 = 0$" in asked
    assert "Step 1" not in asked and "Hint" not in asked and "I_{2}" not in asked
    assert "planar arm" not in solved and "# Week 1: solutions" in solved
    assert "**Step 2.** So" in solved and "*Hint 1.* Draw the arm." in solved
    assert (
        "- **J** = $\\begin{bmatrix} -3 & -3 \\\\ 2 & 0 \\end{bmatrix}$ m" in solved
        and "- **x** = $3$ m (0.5 points): This is y." in solved
    )
    assert r"- **M12** = $I_{2} + m_{2} \left(r_{2}^{2}" in solved
    both = paper.markdown(SHEET, "inside")
    assert "planar arm" in both and "Step 2" in both


def test_files(tmp_path):
    made = write_sheet(SHEET, tmp_path / "week.md", "markdown")
    assert [file.name for file in made] == ["week.md", "week-solutions.md"]
    assert made[0].read_text(encoding="utf-8") == paper.markdown(SHEET)
    assert [f.name for f in write_sheet(SHEET, tmp_path / "w.html", "html", "none")] == ["w.html"]
    with raises(DalembertError, "unknown-name"):
        write_sheet(SHEET, tmp_path / "w.doc", "word")
    assert {form.suffix for form in FORMATS.values()} == {".md", ".pdf", ".html", ".ipynb", ".xml"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_every_family_can_be_written(family):
    """Its texts are Markdown and LaTeX that every form of a sheet knows, its answers can be typed."""
    exercise = family.variant(5)
    text = paper.markdown(Sheet("", (exercise,)), "inside")
    made = write(text, LATEX)
    assert made.count("?") == text.count("?"), "a letter that LaTeX does not have"
    assert made.count("\\begin") == made.count("\\end")
    assert "<pre" not in write(text, HTML), "a formula that is no LaTeX"
    assert not re.search(r"[{}]|\\[a-z]", write(text, PLAIN)), "a formula that is not legible as text"
    given = {a.name: answer_text(a, a.value) for a in exercise.answers}
    assert grade(exercise, given).earned == exercise.points


def test_a_formula_that_is_no_latex_is_noticed():
    assert "<pre" in write(r"$\frac{1$", HTML)
    assert html.math(r"\notacommand") != ""


def test_without_latex_there_is_a_sentence(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with raises(DalembertError, "missing-tool pdf"):
        paper.write_pdf(SHEET)


def test_a_compiler_that_fails_is_told_in_a_sentence(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/pdflatex" if name == "pdflatex" else None)
    failed = subprocess.CompletedProcess([], 1, b"junk\n! Undefined control sequence.\nmore", b"")
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: failed)
    with raises(DalembertError, "failed pdf"):
        paper.write_pdf(SHEET)


@pytest.mark.long
@pytest.mark.parametrize("solutions", ["none", "only", "inside"])
def test_a_pdf_of_all_families(solutions):
    if not any(map(shutil.which, paper.COMPILERS)):
        pytest.skip(f"none of {', '.join(paper.COMPILERS)} is installed: no PDF is made")
    made = paper.write_pdf(Sheet("All families", (MADE, *(f.variant(1) for f in FAMILIES))), solutions)
    assert made.startswith(b"%PDF") and len(made) > 10_000
