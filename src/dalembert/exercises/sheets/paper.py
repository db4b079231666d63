"""Sheets on paper: Markdown and PDF. The exercises and their solutions, apart or together."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from dalembert.errors import InputError
from dalembert.exercises.exercise import Answer, Exercise
from dalembert.exercises.sheets.markup import LATEX, write
from dalembert.exercises.sheets.sheet import Sheet
from dalembert.names import in_line
from dalembert.symbolic.formula import read_formula, write_formula

BLANK = "_" * 24
TOLERANCE = 0.01  # of numbers, unless a blank says another
WITHIN = f"Numbers are right within {100 * TOLERANCE:g} %, unless a blank says otherwise."
PREAMBLE = r"""\documentclass[11pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb}
\usepackage[margin=25mm]{geometry}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt plus 2pt}
\setlength{\emergencystretch}{3em}
\setcounter{MaxMatrixCols}{20}
\pagestyle{plain}
\begin{document}
"""
# Programs that make a PDF of LaTeX, the first that is found is taken: {0} is the file.
COMPILERS = {
    "tectonic": ("--keep-logs", "{0}"),
    "latexmk": ("-pdf", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "{0}"),
    "pdflatex": ("-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "{0}"),
}
SECONDS = 120  # that one document may take


def count_points(points: float) -> str:
    return f"{points:g} point{'' if points == 1 else 's'}"


def _value(answer: Answer, value: object) -> str:
    """A right answer, or a wrong one, as Markdown."""
    if answer.kind == "choice":
        return f"**{answer.name}** = {value}"
    x = np.array(value, dtype=object)
    least = 1e-9 * max((abs(v) for v in x.flat if not isinstance(v, str)), default=0.0)  # rounding, not a number
    cells = [[_entry(answer, v, least) for v in np.atleast_1d(row)] for row in np.atleast_1d(x)]
    rows = " \\\\ ".join(" & ".join(row) for row in cells)
    shown = f"\\begin{{bmatrix}} {rows} \\end{{bmatrix}}" if x.ndim else rows
    return f"**{answer.name}** = ${shown}$ {answer.unit}".rstrip()


def _entry(answer: Answer, value: str | float, least: float) -> str:
    if isinstance(value, str):
        return write_formula(read_formula(value, answer.symbols), "latex")
    return re.sub(r"e([+-])0*(\d+)", r" \\cdot 10^{\1\2}", f"{value * (abs(value) > least) + 0.0:.4g}").replace(
        "{+", "{"
    )


def tell(answer: Answer) -> str:
    """What is said of a blank: in which unit or symbols, for how many points, of what size."""
    units = [f"in {answer.unit}"] if answer.unit else []
    symbols = [f"in {', '.join(answer.symbols)}"] if answer.symbols else []
    numbers = answer.kind in ("number", "matrix") and not answer.symbols
    within = [f"within {100 * answer.tolerance:g} %"] if numbers and answer.tolerance != TOLERANCE else []
    return "; ".join([*units, *symbols, *within, count_points(answer.points), *([answer.size] if answer.size else [])])


def _blank(answer: Answer) -> str:
    choices = [f"({chr(ord('a') + k)}) {words}" for k, words in enumerate(answer.choices)]
    return f"- **{answer.name}** ({tell(answer)}): {'   '.join([*choices, BLANK])}"


def heading(k: int, exercise: Exercise) -> str:
    points = count_points(exercise.points)
    return f"## {k}. {exercise.title} ({points})\n\n*{exercise.family}, variant {exercise.seed}*"


def exercise_text(exercise: Exercise) -> str:
    """What is asked, as Markdown, without its heading."""
    return "\n\n".join([exercise.text.strip(), "\n".join(map(_blank, exercise.answers))])


def steps_text(exercise: Exercise) -> str:
    """The worked solution and the answers, as Markdown."""
    steps = [f"**Step {k}.** {step.strip()}" for k, step in enumerate(exercise.solution, 1)]
    return "\n\n".join([*steps, "\n".join(f"- {_value(a, a.value)}" for a in exercise.answers)])


def solution_text(exercise: Exercise) -> str:
    """Hints, worked solution, answers, and wrong answers that are often seen, as Markdown."""
    hints = [f"*Hint {k}.* {hint.strip()}" for k, hint in enumerate(exercise.hints, 1)]
    seen = [
        f"- {_value(a, w.value)} ({count_points(round(w.credit * a.points, 2))}): {w.reveals}"
        for a in exercise.answers
        for w in a.wrong
    ]
    return "\n\n".join([*hints, steps_text(exercise), *(["Often seen:", "\n".join(seen)] if seen else [])])


def _plain(words: str) -> str:
    """What somebody named, as a line without marks."""
    return re.sub(r"[`*$|<>\\\]\[]", "", in_line(words))


def markdown(sheet: Sheet, solutions: str = "none") -> str:
    """The sheet as Markdown; `solutions` is none (exercises alone), inside (each after its exercise), or only."""
    words = ": solutions" if solutions == "only" else ""
    parts = [f"# {_plain(sheet.title)}{words}", f"Name: {_plain(sheet.student) or BLANK}"]
    parts += [WITHIN] if solutions != "only" else []
    for k, exercise in enumerate(sheet.exercises, 1):
        parts += [heading(k, exercise)]
        parts += [exercise_text(exercise)] if solutions != "only" else []
        parts += [solution_text(exercise)] if solutions != "none" else []
    return "\n\n".join(parts) + "\n"


def write_latex(sheet: Sheet, solutions: str = "none") -> str:
    """The sheet as a LaTeX document."""
    return f"{PREAMBLE}{write(markdown(sheet, solutions), LATEX)}\n\\end{{document}}\n"


def write_pdf(sheet: Sheet, solutions: str = "none") -> bytes:
    """The sheet as PDF, by the first of COMPILERS that is installed."""
    program = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if program is None:
        problem = f"a PDF needs one of {', '.join(COMPILERS)}, and none is installed"
        remedy = "Install tectonic or TeX Live, or write the sheet as Markdown."
        raise InputError("missing-tool", "pdf", problem=problem, remedy=remedy)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sheet.tex"
        file.write_text(write_latex(sheet, solutions), encoding="utf-8")
        command = [program, *(word.format(file.name) for word in COMPILERS[Path(program).stem])]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            problem = f"{Path(program).stem} did not finish in {SECONDS} s"
            raise InputError("failed", "pdf", problem=problem, remedy="Write the sheet as Markdown.") from None
        made = file.with_suffix(".pdf")
        if done.returncode or not made.exists():
            said = (done.stdout + done.stderr).decode(errors="replace")
            why = next((line for line in said.splitlines() if line.startswith("!")), said.strip()[-200:])
            raise InputError("failed", "pdf", problem=f"{Path(program).stem} could not make a PDF of the sheet: {why}")
        return made.read_bytes()
