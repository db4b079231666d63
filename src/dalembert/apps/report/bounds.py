"""Certified bounds: how large inertia, velocity torques and gravity can get, proved over all postures."""

from __future__ import annotations

import math
from typing import Any

from dalembert.apps.report import html
from dalembert.apps.report.context import Context, Made
from dalembert.bounds.result import Bound

GAP = 0.05
LEAST, QUICK = 1.0, 8.0  # s
STATEMENTS = (
    r"\mu_1 I \preceq M(q) \preceq \mu_2 I",
    r"\|c(q, \dot{q})\| \le c_b\, \|\dot{q}\|^2",
    r"\|g(q)\| \le g_b",
)
KINDS = {"certified": "good", "no bound": "absent", "not certified": "absent"}


def bounds(context: Context) -> Made:
    context.need(mass=True)
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
        html.table(("", "proved", "met", "gap", "unit", ""), (_row(b, w) for b, w in zip(found, words, strict=True))),
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


def _row(b: Bound, word: str) -> tuple[Any, ...]:
    sign = "≤" if b.side == "upper" else "≥"
    proved = f"{sign} {html.number(b.certified, 5)}" if b.proved else "–"
    gap = f"{html.number(100 * b.gap, 2, 1e-9)} %" if math.isfinite(b.gap) else "–"
    met = html.number(b.attained, 5) if math.isfinite(b.attained) else "∞"
    cells = [html.tag("div", x, class_="n") for x in (proved, met, gap)]
    return (b.symbol, *cells, b.unit, html.verdict(KINDS.get(word, "doubt"), word))


def _method(b: Bound) -> tuple[Any, ...]:
    return (b.symbol, b.method, html.vector(b.q, 3), b.stopped)
