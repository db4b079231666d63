"""Judgments by other parts of Dalembert: the model's properties, certified bounds, a verification, a check-up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from dalembert import robots
from dalembert.apps.report.context import Context, Made, NotHereError
from dalembert.bounds.result import Bound
from dalembert.draw import html
from dalembert.errors import DalembertError
from dalembert.findings import Finding
from dalembert.loading import load
from dalembert.robot import Robot
from dalembert.system import System
from dalembert.trust.doctor.check import CheckUp, check
from dalembert.trust.properties.lab import lab
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, SILENT, Property

if TYPE_CHECKING:
    from dalembert.trust.verify.certificate import Agreement, Certificate

GAP = 0.05
LEAST, QUICK = 1.0, 8.0  # s
STATEMENTS = (
    r"\mu_1 I \preceq M(q) \preceq \mu_2 I",
    r"\|c(q, \dot{q})\| \le c_b\, \|\dot{q}\|^2",
    r"\|g(q)\| \le g_b",
)
BOUND_KINDS = {"certified": "good", "no bound": "absent", "not certified": "absent"}
STATES, QUICK_STATES = 200, 40
LARGE = 16  # joints
TERMS, QUICK_TERMS = 15_000, 3_000  # of M: identities of more take longer than a report should
KINDS = {PROVED: "good", HOLDS: "good", FAILS: "bad", SILENT: "absent"}
SEVERITY = {"error": "bad", "warning": "doubt", "note": "absent"}
OPEN_FINDINGS = 12  # that stand open
ROW = ("quantity", "one way", "other way", "difference", "allowed", "")


def bounds(context: Context) -> Made:
    context.need(mass=True, vector=True)
    seconds = max(LEAST, min(context.seconds, QUICK) if context.quick else context.seconds)
    found = context.robot.bounds(quantities(context.quick), gap=GAP, seconds=seconds)
    words = [b.verdict(GAP) for b in found]
    within = sum(w == "certified" for w in words)
    proved = sum(b.proved for b in found)
    parts = [
        html.paragraph(html.joined(map(html.math, STATEMENTS), "; ")),
        html.paragraph(
            "What is proved holds for every posture within the joints' limits, rounding included; what was met is "
            f"attained by a posture. A bound counts as certified when the two are within {100 * GAP:g} %."
        ),
        html.table(
            ("", "proved", "met", "gap", "unit", ""), (_bound_row(b, w) for b, w in zip(found, words, strict=True))
        ),
        html.details(
            "By which method, and where the extreme was met",
            html.table(("", "method", "met at q", "why it stopped"), map(_method, found)),
        ),
    ]
    if found.notes:
        parts.append(html.listed(found.notes))
    kind = "good" if within == len(words) else "doubt"
    more = f", {proved - within} more with a wider gap" if proved > within else ""
    return Made(html.joined(parts), f"{within} of {len(words)} within {100 * GAP:g} %{more}", kind)


def quantities(quick: bool) -> list[str] | None:
    """All, or in a quick report those that are soon proved."""
    from dalembert.bounds.quantities import QUANTITIES

    return [x.name for x in QUANTITIES if x.function in ("mass", "gravity") and x.norm == 2] if quick else None


def _bound_row(b: Bound, word: str) -> tuple[object, ...]:
    sign = "≤" if b.side == "upper" else "≥"
    proved = f"{sign} {html.number(b.certified, 5)}" if b.proved else "–"
    gap = f"{html.number(100 * b.gap, 2, 1e-9)} %" if math.isfinite(b.gap) else "–"
    met = html.number(b.attained, 5) if math.isfinite(b.attained) else "∞"
    cells = map(html.right, (proved, met, gap))
    return (b.symbol, *cells, b.unit, html.verdict(BOUND_KINDS.get(word, "doubt"), word))


def _method(b: Bound) -> tuple[object, ...]:
    return (b.symbol, b.method, html.vector(b.q, 3), b.stopped)


def source_of(robot: Robot) -> Robot | str:
    """What the robot was read from, a file or a bundled name, if it is still the same robot; else the robot itself."""
    file = robot.description.place.file
    if not file:
        return robot
    name = Path(file).stem
    for source in (file, name):
        if source == name and name not in robots.names():
            continue
        try:
            if Path(source).suffix in (".urdf", ".toml") and not Path(source).is_file():
                continue
            if load(source, robot.tip).description == robot.description:
                return source
        except DalembertError:
            continue
    return robot


# ------------------------------------------------------------------------------------------------------- properties
def properties(context: Context) -> Made:
    context.need(tree=True, mass=True, vector=True)
    symbols = None if _terms(context) <= (QUICK_TERMS if context.quick else TERMS) else False
    return judge_properties(
        context.robot, QUICK_STATES if context.quick or context.robot.n > LARGE else STATES, symbols
    )


def judge_properties(system: System, states: int, symbols: bool | None) -> Made:
    """Every property of a system, as a section."""
    found = lab(system, states=states, symbols=symbols)
    counts = [(found.count(v), v) for v in (PROVED, HOLDS, FAILS, SILENT)]
    words = ", ".join(f"{k} {'do not apply' if v == SILENT and k > 1 else v}" for k, v in counts if k)
    shown = [p for p in found if p.verdict != SILENT]
    silent = [p for p in found if p.verdict == SILENT]
    parts = [
        html.paragraph(
            "“Proved” is an identity of polynomials in sines, cosines and all parameters, so it holds in every state; "
            f"“holds” was measured at {found.states} seeded states."
        ),
        html.table(("property", "statement", ""), ((p.name, html.math(p.latex), _mark(p)) for p in shown)),
        html.details(
            "How each was shown, and what was measured", html.table(("property", "shown by"), map(_shown, shown))
        ),
    ]
    if silent:
        reasons = html.listed(f"{p.name}: {p.shown}" for p in silent)
        parts.append(html.details(f"{len(silent)} that do{'es' if len(silent) == 1 else ''} not apply", reasons))
    return Made(html.joined(parts), words, "good" if found.ok else "bad")


def _terms(context: Context) -> float:
    """How many terms M has, all symbolic; endless where it has no closed form."""
    try:
        return sum(len(p) for row in context.equations.M for p in row)
    except (DalembertError, NotHereError):
        return math.inf


def _mark(p: Property) -> Markup:
    return html.verdict(KINDS[p.verdict], p.verdict)


def _shown(p: Property) -> tuple[object, ...]:
    numbers = "; ".join(f"{name} = {html.number(float(x), 3)}" for name, x in p.numbers.items())
    formulas = [html.tag("div", f"{name} = {x}") for name, x in p.formulas.items()]
    note = [html.tag("div", p.note, class_="aside")] if p.note else []
    return (p.name, html.joined([html.tag("div", p.shown), html.tag("div", numbers), *formulas, *note]))


# ----------------------------------------------------------------------------------------------------- verification
def certificate(context: Context) -> Made:
    from dalembert.trust.verify.verify import verify

    found = verify(source_of(context.robot), states=QUICK_STATES if context.quick else STATES, tip=context.robot.tip)
    present = [s for s in found.methods if s.present]
    parts = [
        html.paragraph(_agreement(found.passed), " ", found.verdict, "."),
        html.paragraph(
            "The reference is Lagrange's equations in 4×4 matrices, link by link, straight from the description; "
            f"{len(present) - 1} other ways to the same numbers took part. Differences are relative to the largest of "
            "their kind."
        ),
    ]
    if found.findings:
        parts += [html.heading("What differs, and why"), html.listed(f.message for f in found.findings)]
    parts += [
        html.table(("quantity", "ways", "largest difference", "allowed", ""), _quantities(found)),
        html.details(f"All {len(found.rows)} comparisons", html.table(ROW, map(_row, found.rows))),
    ]
    parts.append(html.details("Who took part, who did not, and why", *_methods(found)))
    if found.notes:
        parts.append(html.listed(found.notes))
    worst = max((row.difference for row in found.rows), default=0.0)
    said = f"{len(found.failed)} of {len(found.rows)} comparisons differ"
    if found.passed:
        said = f"{len(found.rows)} comparisons agree, to {html.number(worst, 2, 0.0)}"
    return Made(html.joined(parts), said, "good" if found.passed else "bad")


def _row(row: Agreement) -> tuple[object, ...]:
    numbers = _small(row.difference), _small(row.allowed)
    return (row.quantity, row.left, row.right, *numbers, _agreement(row.passed))


def _agreement(passed: bool) -> Markup:
    return html.verdict("good" if passed else "bad", "agrees" if passed else "differs")


def _small(x: float) -> Markup:
    return html.right(html.number(x, 2, 0.0))


def _quantities(found: Certificate) -> Iterator[tuple[object, ...]]:
    """One line for each quantity: how many ways, the largest difference between them."""
    for name in dict.fromkeys(row.quantity for row in found.rows):
        rows = [row for row in found.rows if row.quantity == name]
        passed = all(row.passed for row in rows)
        worst = max(rows, key=lambda row: row.difference / row.allowed if row.allowed else row.difference)
        yield (name, len(rows), _small(worst.difference), _small(worst.allowed), _agreement(passed))


def _methods(found: Certificate) -> Iterator[Markup]:
    yield html.listed(f"{s.title} {s.version}".strip() for s in found.methods if s.present)
    absent = [f"{s.title}: {s.reason}" for s in found.methods if not s.present]
    if absent:
        yield html.paragraph("Not here:")
        yield html.listed(absent)


# --------------------------------------------------------------------------------------------------------- check-up
def findings(context: Context) -> Made:
    found: CheckUp = check(source_of(context.robot))
    words = ", ".join(c for c in found.verdict.split(", ") if not c.startswith("0 ")) or "nothing to object to"
    kind = "bad" if found.errors else "doubt" if found.warnings else "good"
    if not found.findings:
        return Made(html.paragraph("The check-up found nothing to object to."), words, kind)
    rows = [_finding(f) for f in found.findings]
    head = ("", "line", "element", "what is wrong, why it matters, what to do")
    parts = [html.paragraph(f"{words.capitalize()}, the worst first."), html.table(head, rows[:OPEN_FINDINGS])]
    if rows[OPEN_FINDINGS:]:
        more = html.table(head, rows[OPEN_FINDINGS:])
        parts.append(html.details(f"{len(rows) - OPEN_FINDINGS} more", more))
    return Made(html.joined(parts), words, kind)


def _finding(f: Finding) -> tuple[object, ...]:
    what = html.joined(
        [html.tag("div", html.tag("b", f.message)), html.tag("div", f.why, class_="aside"), html.tag("div", f.fix)]
    )
    mark = html.joined([html.verdict(SEVERITY[f.severity], f.severity), html.tag("div", f.rule, class_="aside")])
    return (mark, "" if f.line is None else str(f.line), f.element, what)
