"""One page of HTML that grades itself in the browser, from disk, without a network; and the solutions as a page."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from dalembert.draw import html
from dalembert.draw.html import tag
from dalembert.exercises import numbers
from dalembert.exercises.exercise import Answer, Exercise
from dalembert.exercises.grading import FACTORS
from dalembert.exercises.sheets import paper
from dalembert.exercises.sheets.markup import HTML, write, write_line
from dalembert.exercises.sheets.sheet import Sheet, draw_points, evaluate_entries

POINTS = 6  # at which formulas are compared
HOW = (
    "Type numbers with their unit (0.35 m, 35 cm, 1/3, 30°), formulas as you would write them (m2 l1 cos(q2), "
    f"1/2 m v^2, q̇₁², LaTeX too). {paper.WITHIN} Nothing leaves this page; what you type stays in this browser until "
    "you clear it. "
    "“Save answers” makes the file that can be handed in."
)


def _asset(name: str) -> str:
    return (resources.files("dalembert.exercises.sheets") / "assets" / name).read_text(encoding="utf-8")


def write_html(sheet: Sheet, solutions: str = "none") -> str:
    """The page; with `solutions` inside, a worked solution opens below each exercise; only: nothing but those."""
    if solutions == "only":
        text = paper.markdown(sheet, "only").partition("\n")[2]  # its title is the page's
        return html.page(f"{sheet.title}: solutions", tag("section", Markup(write(text, HTML))))
    secret = [_secret(exercise, solutions == "inside") for exercise in sheet.exercises]
    digest = hashlib.sha256(json.dumps([sheet.title, sheet.student, secret]).encode()).hexdigest()
    seed = int(digest[:6], 16)
    page = {
        "id": digest[:16],
        "seed": seed,
        "title": sheet.title,
        "student": sheet.student,
        "exercises": [_shift(json.dumps(one, ensure_ascii=False).encode(), seed + k) for k, one in enumerate(secret)],
        "table": {
            "units": numbers.UNITS,
            "unprefixed": numbers.UNPREFIXED,
            "prefixes": numbers.PREFIXES,
            "words": numbers.WORDS,
            "factors": FACTORS,
        },
    }
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    shown = template.from_string(_asset("page.html.jinja")).render(
        how=HOW,
        exercises=sheet.exercises,
        solved=solutions == "inside",
        text=lambda words: Markup(write(words, HTML)),
        line=lambda words: Markup(write_line(words, HTML)),
        tell=paper.tell,
        points=paper.count_points,
        shape=_shape,
    )
    parts = (Markup(shown), html.data("data", page))
    return html.page(sheet.title, *parts, script=_asset("page.js"), look=_asset("page.css"))


def _shape(answer: Answer) -> tuple[int, int]:
    """Rows and columns of the blanks; a vector is a column."""
    shape = (*np.array(answer.value, dtype=object).shape, 1, 1)
    return shape[0], shape[1]


def _shift(data: bytes, seed: int) -> str:
    """Bytes that nobody reads by accident, as text; the page shifts them back (`decode` in page.js)."""
    state, out = seed & 0xFFFFFFFF, bytearray()
    for byte in data:
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(byte ^ state >> 24)
    return base64.b64encode(out).decode()


def _secret(exercise: Exercise, solved: bool) -> dict[str, Any]:
    """What the page's script knows of an exercise."""
    return {
        "family": exercise.family,
        "seed": exercise.seed,
        "answers": [_answer_data(a) for a in exercise.answers],
        "hints": [write(hint, HTML) for hint in exercise.hints],
        "solution": write(paper.steps_text(exercise), HTML) if solved else "",
    }


def _answer_data(answer: Answer) -> dict[str, Any]:
    """An answer as numbers: the values of the right one and of the listed wrong ones, at the points drawn."""
    own = {"name": answer.name, "kind": answer.kind, "unit": answer.unit, "points": answer.points, "size": answer.size}
    wrong = [{"reveals": write_line(w.reveals, HTML), "credit": w.credit} for w in answer.wrong]
    if answer.kind == "choice":
        named = [w | {"choice": listed.value} for w, listed in zip(wrong, answer.wrong, strict=True)]
        right = answer.choices.index(str(answer.value))
        return own | {"choices": answer.choices, "choice": right, "wrong": named}
    points = draw_points(answer, POINTS)
    values = [evaluate_entries(answer, w.value, points) for w in answer.wrong]
    at = [{name: float(x[k]) for name, x in points.items()} for k in range(POINTS if points else 1)]
    return own | {
        "symbols": answer.symbols,
        "tolerance": answer.tolerance,
        "shape": _shape(answer),
        "vector": np.array(answer.value, dtype=object).ndim == 1,
        "at": at,
        "right": evaluate_entries(answer, answer.value, points).tolist(),
        "wrong": [w | {"values": v.tolist()} for w, v in zip(wrong, values, strict=True) if np.isfinite(v).all()],
    }
