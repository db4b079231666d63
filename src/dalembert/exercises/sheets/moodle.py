"""Question banks for Moodle, in its XML format: what a stock Moodle imports and grades by itself.

A single number is a numerical question with its units, a single choice a multiple choice one; anything else is a
question with several blanks (cloze). Moodle compares numbers, not formulas: a formula is asked for by its value at
stated numbers, so that every form of it is accepted; a matrix entry by entry. Wrong answers that are listed have their
feedback and their share of the points, hints are those of Moodle, the worked solution is the general feedback.
"""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

from dalembert.exercises.exercise import Answer, Exercise
from dalembert.exercises.numbers import PREFIXES, read_unit
from dalembert.exercises.sheets import paper
from dalembert.exercises.sheets.markup import MOODLE, PLAIN, write, write_line
from dalembert.exercises.sheets.sheet import Sheet, draw_points, evaluate_entries

# The shares, in percent, that Moodle takes for an answer; another one stops the import.
PARTS = (0, 1 / 20, 1 / 10, 1 / 9, 1 / 8, 1 / 7, 1 / 6, 1 / 5, 1 / 4, 3 / 10, 1 / 3, 2 / 5, 1 / 2, 3 / 5, 2 / 3, 7 / 10)
SHARES = tuple(round(100.0 * part, 5) for part in (*PARTS, 3 / 4, 4 / 5, 5 / 6, 9 / 10, 1))
ESCAPED = {ord(c): f"&#{ord(c)};" for c in '~}#{\\"%=/'}  # what means something between the braces of a blank


def write_moodle(sheet: Sheet, solutions: str = "none") -> str:
    """The sheet as a category of questions."""
    quiz = ElementTree.Element("quiz")
    category = ElementTree.SubElement(quiz, "question", type="category")
    _text(category, "category", f"$course$/top/{sheet.title.replace('/', '//')}", None)
    for exercise in sheet.exercises:
        quiz.append(_question(exercise))
    ElementTree.indent(quiz)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(quiz, encoding="unicode") + "\n"


def _question(exercise: Exercise) -> ElementTree.Element:
    single = exercise.answers[0].kind if len(exercise.answers) == 1 else ""
    kind = {"number": "numerical", "choice": "multichoice"}.get(single, "cloze")
    question = ElementTree.Element("question", type=kind)
    _text(question, "name", f"{exercise.family} {exercise.seed}: {exercise.title}", None)
    text = write(exercise.text, MOODLE)
    if kind == "cloze":
        text += _blanks(exercise)
    elif kind == "numerical" and exercise.answers[0].size:
        text += f"<p>{exercise.answers[0].size}</p>"
    _text(question, "questiontext", text)
    _text(question, "generalfeedback", write(paper.steps_text(exercise), MOODLE))
    for name, value in {"defaultgrade": exercise.points, "penalty": 0.1, "hidden": 0}.items():
        ElementTree.SubElement(question, name).text = str(value)
    if kind == "numerical":
        _numerical(question, exercise.answers[0])
    elif kind == "multichoice":
        _multichoice(question, exercise.answers[0])
    for hint in exercise.hints:
        _text(question, "hint", write(hint, MOODLE))
    return question


def _text(
    parent: ElementTree.Element, name: str, text: str, form: str | None = "html", **attributes: str
) -> ElementTree.Element:
    node = ElementTree.SubElement(parent, name, attributes | ({"format": form} if form else {}))
    ElementTree.SubElement(node, "text").text = text
    return node


def _share(credit: float) -> str:
    return f"{min(SHARES, key=lambda share: abs(share - 100 * credit)):g}"


def _numerical(question: ElementTree.Element, answer: Answer) -> None:
    for value, credit, words in _alternatives(answer):
        node = _text(question, "answer", f"{float(np.asarray(value)):.10g}", None, fraction=_share(credit))
        ElementTree.SubElement(node, "tolerance").text = f"{answer.tolerance * abs(float(np.asarray(value))):.3g}"
        _text(node, "feedback", write(words, MOODLE))
    units = ElementTree.SubElement(question, "units")
    for name, factor in _units(answer.unit).items():
        unit = ElementTree.SubElement(units, "unit")
        ElementTree.SubElement(unit, "multiplier").text = f"{factor:.10g}"
        ElementTree.SubElement(unit, "unit_name").text = name
    showing = "0" if answer.unit else "3"  # a unit may be written behind the number, or there is none
    for name, text in {"unitgradingtype": "0", "unitpenalty": "0.1", "showunits": showing, "unitsleft": "0"}.items():
        ElementTree.SubElement(question, name).text = text


def _units(unit: str) -> dict[str, float]:
    """Spellings of a unit and what a number in it is to be divided by: m, cm, mm, km; N m, Nm."""
    wanted = read_unit(unit)
    if not unit or wanted is None:
        return {}
    names = [
        unit,
        unit.replace(" ", ""),
        *(f"{prefix}{unit}" for prefix in PREFIXES),
        *(["deg", "°"] if unit == "rad" else []),
    ]
    found = {name: read_unit(name) for name in names}
    return {name: wanted.factor / u.factor for name, u in found.items() if u and u.dimension == wanted.dimension}


def _alternatives(answer: Answer) -> list[tuple[object, float, str]]:
    """(value, share, words): the right answer, then the listed wrong ones."""
    return [(answer.value, 1.0, "Right."), *((w.value, w.credit, w.reveals) for w in answer.wrong)]


def _multichoice(question: ElementTree.Element, answer: Answer) -> None:
    told = {value: (credit, words) for value, credit, words in _alternatives(answer)}
    for choice in answer.choices:
        credit, words = told.get(choice, (0.0, "This is not right."))
        node = _text(question, "answer", write_line(choice, MOODLE), fraction=_share(credit))
        _text(node, "feedback", write(words, MOODLE))
    for name, text in {"single": "true", "shuffleanswers": "true", "answernumbering": "abc"}.items():
        ElementTree.SubElement(question, name).text = text


# ---------------------------------------------------------------------------------------------------------- blanks
def _blanks(exercise: Exercise) -> str:
    """The blanks of a question that has several; a matrix shares its points among its entries."""
    sizes = [np.array(a.value, dtype=object).size if a.kind == "matrix" else 1 for a in exercise.answers]
    parts = math.lcm(*sizes)
    weights = [a.points * parts // n for a, n in zip(exercise.answers, sizes, strict=True)]
    common = math.gcd(*weights)
    lines = [_blank(a, w // common) for a, w in zip(exercise.answers, weights, strict=True)]
    return "".join(f"<div>{line}</div>" for line in lines)


def _blank(answer: Answer, weight: int) -> str:
    told = f" in {answer.unit}" if answer.unit else ""
    told += f" ({answer.size})" if answer.size else ""
    if answer.kind == "choice":
        known = {value: (credit, words) for value, credit, words in _alternatives(answer)}
        rows = [(choice, *known.get(choice, (0.0, "This is not right."))) for choice in answer.choices]
        body = "~".join(f"%{_share(c)}%{_escaped(choice)}#{_escaped(words)}" for choice, c, words in rows)
        return f"<p><strong>{answer.name}</strong>{told}:</p> {{{weight}:MULTICHOICE_V:{body}}}"
    points = draw_points(answer, 1, decimals=1)
    given = ", ".join(f"{name} = {x[0]:g}" for name, x in points.items())
    told += f" for {given} (angles in radians)" if given else ""
    values = [(evaluate_entries(answer, v, points)[0], credit, words) for v, credit, words in _alternatives(answer)]
    right = values[0][0]
    bound = answer.tolerance * float(np.abs(right).max())
    cells = [
        _numbers(weight, [(float(v[k]), c, words) for v, c, words in values if v.shape == right.shape], bound)
        for k in range(len(right))
    ]
    shape = np.array(answer.value, dtype=object).shape
    if not shape:
        return f"<p><strong>{answer.name}</strong>{told}: {cells[0]}</p>"
    grid = np.array(cells, dtype=object).reshape(shape[0], -1)
    table = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in grid)
    return f"<p><strong>{answer.name}</strong>{told}:</p><table>{table}</table>"


def _numbers(weight: int, values: list[tuple[float, float, str]], bound: float) -> str:
    """A blank for a number; what a wrong answer shares with the right one earns as that does."""
    (right, _, words), *wrong = values
    told = [(v, c, w) for v, c, w in wrong if abs(v - right) > 2 * bound and math.isfinite(v)]
    rows = [("=", right, words), *((f"%{_share(c)}%", v, w) for v, c, w in told)]
    body = "~".join(f"{mark}{v + 0.0:.6g}:{bound:.3g}#{_escaped(w)}" for mark, v, w in rows)
    return f"{{{weight}:NUMERICAL:{body}}}"


def _escaped(words: str) -> str:
    """Words between the braces of a blank: as text, formulas too, and nothing that means something there."""
    return write(words, PLAIN, " ").replace("&", "&amp;").replace("<", "&lt;").translate(ESCAPED)
