"""One page of HTML that grades itself in the browser, from disk, without a network; and the solutions as a page."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

import numpy as np
from markupsafe import Markup

from dalembert.draw import html
from dalembert.draw.html import tag
from dalembert.exercises import numbers
from dalembert.exercises.exercise import Answer, Exercise
from dalembert.exercises.grade import FACTORS
from dalembert.exercises.sheets import paper
from dalembert.exercises.sheets.markup import HTML, write, write_line
from dalembert.exercises.sheets.samples import draw_points, evaluate_entries
from dalembert.exercises.sheets.sheet import Sheet

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
    bar = tag(
        "div",
        tag("span", id="total"),
        tag(
            "input", type="text", id="student", placeholder="Your name", aria_label="Your name", style="max-width:14rem"
        ),
        tag("button", "Save answers", type="button", id="save"),
        tag("button", "Clear", type="button", id="clear"),
        class_="bar",
    )
    shown = [_exercise(k, exercise, solutions == "inside") for k, exercise in enumerate(sheet.exercises)]
    how = tag("p", HOW, class_="notes")
    return html.page(
        sheet.title, how, bar, *shown, html.data("data", page), script=_asset("page.js"), look=_asset("page.css")
    )


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
    shape = np.array(answer.value, dtype=object).shape
    return own | {
        "symbols": answer.symbols,
        "tolerance": answer.tolerance,
        "shape": [shape[0], 1] if len(shape) == 1 else list(shape),
        "vector": len(shape) == 1,
        "at": at,
        "right": evaluate_entries(answer, answer.value, points).tolist(),
        "wrong": [w | {"values": v.tolist()} for w, v in zip(wrong, values, strict=True) if np.isfinite(v).all()],
    }


def _exercise(k: int, exercise: Exercise, solved: bool) -> Markup:
    points = paper.count_points(exercise.points)
    doing = [
        tag("button", "Check", type="submit", class_="main"),
        tag("button", "Hint", type="button", id=f"hint-{k}"),
        tag("span", points, id=f"points-{k}"),
    ]
    form = tag(
        "form",
        *(_fields(k, i, a) for i, a in enumerate(exercise.answers)),
        tag("div", *doing, class_="doing"),
        id=f"form-{k}",
    )
    solution = tag("details", tag("summary", "Worked solution"), tag("div"), id=f"solution-{k}") if solved else ""
    return tag(
        "section",
        tag("h2", tag("span", k + 1, class_="count"), " ", Markup(write_line(exercise.title, HTML))),
        tag("p", f"{exercise.family}, variant {exercise.seed}", class_="variant"),
        Markup(write(exercise.text, HTML)),
        form,
        tag("ol", id=f"hints-{k}", class_="hints"),
        solution,
        class_="exercise",
    )


def _fields(k: int, i: int, answer: Answer) -> Markup:
    """The inputs of an answer: a line, a grid of a matrix's entries, or choices."""
    legend = tag("legend", tag("strong", answer.name), " ", tag("span", paper.tell(answer)))
    key = {"data_answer": f"{k}-{i}", "autocomplete": "off", "autocapitalize": "off", "spellcheck": "false"}
    if answer.kind == "choice":
        radios = [
            tag(
                "label",
                tag("input", type="radio", name_=f"choice-{k}-{i}", value=choice, **key),
                tag("span", Markup(write_line(choice, HTML))),
            )
            for choice in answer.choices
        ]
        inputs = tag("div", *radios)
    else:
        shape = np.array(answer.value, dtype=object).shape
        columns = shape[1] if len(shape) == 2 else 1
        names = (
            [f"{answer.name} ({r + 1}, {c + 1})" for r in range(shape[0]) for c in range(columns)]
            if shape
            else [answer.name]
        )
        cells = [tag("input", type="text", aria_label=name, **key) for name in names]
        width = f"grid-template-columns:repeat({columns}, minmax(4.2rem, {'9rem' if shape else '30rem'}))"
        inputs = tag("div", *cells, class_="grid", style=width)
    return tag(
        "fieldset", legend, inputs, tag("p", class_="why", id=f"why-{k}-{i}", aria_live="polite"), class_="answer"
    )
