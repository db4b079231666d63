"""The formulas about one system, pasted as the notes print them: what is right is accepted, every misprint is found,
and where one change mends it, it is named. Each is pasted twice: in LaTeX, and as it stands on a blackboard."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalembert.errors import DalembertError
from dalembert.symbolic.compare import compare
from dalembert.symbolic.formula import evaluate
from dalembert.symbolic.letters import Letters
from notes.quantities import find

HERE = Path(__file__).parent
Row = dict[str, Any]
FORMULAS: list[tuple[str, Row, Row]] = [
    (file.stem, system, formula)
    for file in sorted(HERE.glob("*.toml"))
    for system in tomllib.loads(file.read_text(encoding="utf-8"))["system"]
    for formula in system["formulas"]
]
NAMED = [str.maketrans("0123456789", digits) for digits in ("₀₁₂₃₄₅₆₇₈₉", "⁰¹²³⁴⁵⁶⁷⁸⁹")]
GREEK = {"theta": "θ", "alpha": "α", "tau": "τ", "phi": "φ"}


def blackboard(latex: str) -> str:
    """The formula in Unicode, without markup: ½ m₂ (l₁² + 2 l₁ lc₂ cos q₂) q̇₁²."""
    x = re.sub(r"\\(?:left|right|mathsf|mathbf|mathfrak|mathrm|operatorname)(?![a-z])", "", latex)
    x = re.sub(r"\\(dot|ddot|dddot|bar)\{\\?(\w+)\}", lambda m: " " + GREEK.get(m[2], m[2]) + MARKS[m[1]], x)
    x = re.sub(r"\\(theta|alpha|tau|phi)(?![a-z])", lambda m: GREEK[m[1]], x.replace("\\frac{1}{2}", "½"))
    x = re.sub(r"_\{([a-zA-Z]*)_?(\d+)\}", lambda m: m[1] + m[2].translate(NAMED[0]), x)
    x = re.sub(r"_\{([a-zA-Z,]+?),?(\d*)\}", lambda m: "_" + m[1] + m[2].translate(NAMED[0]) + " ", x)
    x = re.sub(r"_(\d)", lambda m: m[1].translate(NAMED[0]), x)
    x = re.sub(r"\^(?:\{(\d)\}|(\d))", lambda m: (m[1] or m[2]).translate(NAMED[1]), x)
    for _ in range(3):
        x = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2)) ", x))
    x = re.sub(r"\\begin\{bmatrix\}(.*?)\\end\{bmatrix\}", lambda m: f"[{rows(m[1])}]", x)
    return re.sub(r"\s+", " ", re.sub(r"\\(cos|sin)\s*", r" \1 ", x.replace("{", "").replace("}", ""))).strip()


MARKS = {"dot": "\u0307", "ddot": "\u0308", "dddot": "\u20db", "bar": "\u0304"}


def rows(inside: str) -> str:
    """Rows of a matrix, [a, b; c, d]; a column lies down, [a, b]."""
    cut = [[entry.strip() for entry in row.split("&")] for row in inside.split("\\\\")]
    return (", " if len(cut[0]) == 1 else "; ").join(", ".join(row) for row in cut)


@cache
def quantity(system: str, of: str) -> Any:
    return find(system, of)


def one_side(text: str) -> str:
    """An equation as the difference of its sides."""
    left, _, right = text.partition("=")
    return f"({left}) - ({right})" if right else text


def accepted(system: Row, formula: Row, text: str) -> bool:
    q = quantity(system["name"], formula["of"])
    unit = formula.get("within", system.get("within"))
    if unit:
        return rounded(q, text, unit)
    return bool(compare(q, one_side(text), defined=defined_in(system, formula), slips=False))


def defined_in(system: Row, formula: Row) -> dict[str, str]:
    """The letters that the note defines on the way: h, a, b, d."""
    return {name.replace("_", ""): x for name, x in (system.get("where", {}) | formula.get("where", {})).items()}


def rounded(q: Any, text: str, unit: float) -> bool:
    """Whether every coefficient of a formula that is linear in its symbols is the exact one, but for this much."""
    tree, names = Letters().read(text, q.symbols)[1], list(q.symbols)
    units = np.ones((1, 2)) if q.name[-2:] in ("Ki", "Kd") else np.vstack([np.zeros(len(names)), np.eye(len(names))])
    values = {name: units[:, k] for k, name in enumerate(names)}
    with np.errstate(all="ignore"):
        wanted = q.value(values)
        given = evaluate(tree, values)
    entries = [
        x for row in (given if isinstance(given, list) else [given]) for x in (row if isinstance(row, list) else [row])
    ]
    printed = np.array([np.broadcast_to(x, len(units)) for x in entries]).T
    off = printed - wanted.reshape(printed.shape)
    off[1:] -= off[0]  # the first row is what stands alone, the others have it too
    return bool(np.nanmax(abs(off)) <= unit * (1 + 1e-9))


def identity(row: tuple[str, Row, Row]) -> str:
    """An id that `pytest -k` selects by note and line: lee_l042_equation_without_input."""
    note, _, formula = row
    return slug(note, formula["at"], formula["of"])


def slug(note: str, at: str, of: str = "") -> str:
    at = re.sub(r"\bl\. (\d+)", lambda m: f"l{int(m[1]):03}", at)
    return re.sub(r"\W+", "_", f"{note} {at} {of}").strip("_")


@pytest.mark.parametrize("row", [row for row in FORMULAS if "right" not in row[2]], ids=identity)
def test_what_is_right_is_accepted(row):
    _, system, formula = row
    assert accepted(system, formula, formula["printed"])
    assert accepted(system, formula, blackboard(formula["printed"]))


@pytest.mark.parametrize("row", [row for row in FORMULAS if "right" in row[2]], ids=identity)
def test_a_misprint_is_found_and_its_correction_accepted(row):
    _, system, formula = row
    assert accepted(system, formula, formula["right"])
    try:
        found = accepted(system, formula, formula["printed"]) and not formula.get("type")  # of type only: read as meant
    except DalembertError as refusal:  # what cannot be read is told with its place
        assert len(str(refusal)) > 20
        return
    assert not found
    if formula.get("slip"):
        q = quantity(system["name"], formula["of"])
        named = compare(q, one_side(formula["printed"]), defined=defined_in(system, formula)).slip
        assert all(word in re.sub(r"[_{}]", "", named) for word in formula["slip"]), named


def test_the_corpus_is_whole():
    """Formulas about one system, and misprints among them, by note; those about any arm are in test_identities."""
    count = {note: sum(row[0] == note for row in FORMULAS) for note in sorted({row[0] for row in FORMULAS})}
    wrong = {note: sum(row[0] == note and "right" in row[2] for row in FORMULAS) for note in count}
    assert count == {"fakhari_2": 30, "fakhari_3": 24, "lagrange": 59, "lee": 147, "poonawala": 27}
    assert wrong == {"fakhari_2": 3, "fakhari_3": 1, "lagrange": 6, "lee": 8, "poonawala": 4}
