"""Judgments by other parts of Dalembert: the model's properties, certified bounds, a verification, a check-up."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dalembert import robots
from dalembert.apps.report.context import Context, Made, NotHereError
from dalembert.bounds.result import Bound
from dalembert.draw import html
from dalembert.errors import DalembertError
from dalembert.findings import Findings
from dalembert.loading import load
from dalembert.robot import Robot
from dalembert.system import System
from dalembert.trust.doctor.check import check
from dalembert.trust.properties.lab import lab
from dalembert.trust.properties.property import Property

GAP = 0.05
LEAST, QUICK = 1.0, 8.0  # s
STATEMENTS = (
    r"\mu_1 I \preceq M(q) \preceq \mu_2 I",
    r"\|c(q, \dot{q})\| \le c_b\, \|\dot{q}\|^2",
    r"\|g(q)\| \le g_b",
)
STATES, QUICK_STATES = 200, 40
LARGE = 16  # joints
TERMS, QUICK_TERMS = 15_000, 3_000  # of M: identities of more take longer than a report should
MARKS = {"ok": "good", "warning": "doubt", "error": "bad"}


def bounds(context: Context) -> Made:
    context.need(mass=True, vector=True)
    seconds = max(LEAST, min(context.seconds, QUICK) if context.quick else context.seconds)
    found = context.robot.bounds(quantities(context.quick), gap=GAP, seconds=seconds)
    parts = [
        html.paragraph(html.joined(map(html.math, STATEMENTS), "; ")),
        html.paragraph(
            "A proved bound holds for every posture within the joints' limits, rounding included; a met one is "
            f"attained by a posture. A bound is certified if the two are within {100 * GAP:g} %."
        ),
        html.findings_table(found),
        html.details(
            "By which method, and where the extreme was met",
            html.table(("", "method", "met at q", "why it stopped"), map(_method, found)),
        ),
    ]
    within = all(b.verdict(GAP) == "certified" for b in found)
    return Made(html.joined(parts), _without_source(found), "good" if within else "doubt")


def _without_source(found: Findings[Any, Any]) -> str:
    """The message, without the name of the robot that it begins with."""
    return found.message.removeprefix(f"{found.source}: ")


def quantities(quick: bool) -> list[str] | None:
    """All, or in a quick report those that are soon proved."""
    from dalembert.bounds.quantities import QUANTITIES

    return [x.name for x in QUANTITIES if x.function in ("mass", "gravity") and x.norm == 2] if quick else None


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
    words = (
        "“Proved” is an identity of polynomials in sines, cosines and all parameters, so it holds in every state; "
        f"“holds” was measured at {found.facts.states} seeded states."
    )
    measured = html.table(("property", "what was measured"), ((p.name, _measured(p)) for p in found))
    parts = [html.paragraph(words), html.findings_table(found), html.details("What was measured", measured)]
    return Made(html.joined(parts), _without_source(found), MARKS[found.status])


def _terms(context: Context) -> float:
    """How many terms M has, all symbolic; endless where it has no closed form."""
    try:
        return sum(len(p) for row in context.equations.M for p in row)
    except (DalembertError, NotHereError):
        return math.inf


def _measured(p: Property) -> Markup:
    numbers = "; ".join(f"{name} = {html.number(float(x), 3)}" for name, x in p.numbers.items())
    return html.joined(
        html.tag("div", line) for line in (numbers, *(f"{name} = {x}" for name, x in p.formulas.items()))
    )


# ----------------------------------------------------------------------------------------------------- verification
def certificate(context: Context) -> Made:
    from dalembert.trust.verify.certificate import summarize_by
    from dalembert.trust.verify.verify import verify

    found = verify(source_of(context.robot), states=QUICK_STATES if context.quick else STATES, tip=context.robot.tip)
    present = [s for s in found.facts.methods if s.present]
    parts = [
        html.paragraph(html.verdict(MARKS[found.status], "agrees" if found.ok else "differs"), " ", found.message, "."),
        html.paragraph(
            "The reference is Lagrange's equations in 4×4 matrices, link by link, straight from the description; "
            f"{len(present) - 1} other ways to the same numbers took part. Differences are relative to the largest of "
            "their kind."
        ),
    ]
    if found.facts.causes:
        parts += [html.heading("What differs, and why"), html.listed(map(str, found.facts.causes))]
    parts += [
        html.result_table(summarize_by(found, lambda row: row.quantity, "quantity")),
        html.details(f"All {len(found)} comparisons", html.result_table(found.cells())),
        html.details("Who took part", html.listed(f"{s.title} {s.version}".strip() for s in present)),
        html.listed(found.remarks),
    ]
    said = f"{len(found.errors)} of {len(found)} comparisons differ"
    if found.ok:
        worst = max((row.difference for row in found), default=0.0)
        said = f"{len(found)} comparisons agree, to {html.number(worst, 2, 0.0)}"
    return Made(html.joined(parts), said, MARKS[found.status])


# --------------------------------------------------------------------------------------------------------- check-up
def findings(context: Context) -> Made:
    found = check(source_of(context.robot))
    words = ", ".join(f"{k} {name}{'' if k == 1 else 's'}" for name, k in found.counts.items() if k) or "no problems"
    if not found.rows:
        return Made(html.paragraph("No problems were found."), words, "good")
    reasons = html.listed(f"{rule}: {why}" for rule, why in sorted({f.rule: f.why for f in found}.items()))
    parts = [html.findings_table(found), html.details("Why it matters", reasons)]
    return Made(html.joined(parts), words, MARKS[found.status])
