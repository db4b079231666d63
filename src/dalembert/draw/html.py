"""Pieces of a page. Every piece escapes what it is given, unless that is a piece already."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from dalembert.display import MathText, ResultTable, VerdictMark
from dalembert.draw.svg.elements import label
from dalembert.findings import Findings

if TYPE_CHECKING:
    from math_core import LatexToMathML

DEEPEST = 200  # braces within braces: our own printer stays far below
LONGEST = 400_000  # characters of LaTeX in one formula
VOID = ("input", "br", "hr", "img")  # elements that have no end
MAX_OPEN_ROWS = 25  # of a table of findings
KINDS = ("good", "doubt", "bad", "absent")


def tag(name: str, *content: object, **attributes: str) -> Markup:
    """An element; a trailing underscore of an attribute's name is dropped (class_)."""
    given = Markup("").join(
        Markup(' {}="{}"').format(Markup(k.rstrip("_").replace("_", "-")), v) for k, v in attributes.items() if v
    )
    whole = Markup("<{0}{1}>") if name in VOID else Markup("<{0}{1}>{2}</{0}>")
    return whole.format(Markup(name), given, joined(content))


def joined(parts: Iterable[object], by: str = "") -> Markup:
    return Markup(by).join(escape(part) for part in parts)


def paragraph(*parts: object, class_: str = "") -> Markup:
    return tag("p", *parts, class_=class_)


def heading(words: object) -> Markup:
    return tag("h3", words)


def number(x: float, digits: int = 4, least: float = 1e-12) -> str:
    """A number for reading; what is smaller than `least` is rounding, and shown as zero."""
    return "0" if abs(x) < least else label(float(x), digits)


def vector(values: Iterable[float], digits: int = 4) -> str:
    return "(" + ", ".join(number(x, digits, 5e-7) for x in values) + ")"


def table(head: Sequence[object], rows: Iterable[Sequence[object]], *, class_: str = "") -> Markup:
    """A table that scrolls by itself where the page is too narrow. Numbers stand to the right, words to the left."""
    lines = [list(row) for row in rows]
    right = [
        bool(lines) and all(_is_number(line[k]) for line in lines) and any(line[k] != "" for line in lines)
        for k in range(len(head))
    ]
    top = tag("tr", *(tag("th", x, class_="n" if r else "", scope="col") for x, r in zip(head, right, strict=True)))
    body = joined(tag("tr", *(_cell(x, r) for x, r in zip(line, right, strict=True))) for line in lines)
    return tag("div", tag("table", tag("thead", top), tag("tbody", body), class_=class_), class_="wide")


def _is_number(x: object) -> bool:
    return isinstance(x, (int, float)) or (isinstance(x, str) and x in ("", "–", "∞", "-∞"))


def _cell(x: object, right: bool) -> Markup:
    words = number(x) if isinstance(x, float) else x
    return tag("td", words, class_="n" if right else "")


def figure(picture: str, caption: object = "", class_: str = "", width: float | None = None) -> Markup:
    """A picture (SVG text of our own charts, which escape their words) with its caption, as wide as `width` [px]."""
    drawn = picture if isinstance(picture, Markup) else Markup(picture)
    style = "" if width is None else f"width:{width:g}px"
    return tag("figure", drawn, tag("figcaption", caption) if caption else "", class_=class_, style=style)


def row(*figures: object) -> Markup:
    """Pictures beside each other where there is room."""
    return tag("div", *figures, class_="row")


def details(summary: object, *content: object) -> Markup:
    """What opens by a click; a printed page shows it closed."""
    return tag("details", tag("summary", summary), *content)


def listed(items: Iterable[object]) -> Markup:
    return tag("ul", *(tag("li", item) for item in items))


def verdict(kind: str, words: object) -> Markup:
    """A judgment: good, doubt, bad, or absent (what could not be judged)."""
    return tag("span", words, class_=f"verdict {kind if kind in KINDS else 'absent'}")


def findings_table(found: Findings[Any, Any]) -> Markup:
    """Return the message of findings, their table, and the remarks; rows beyond MAX_OPEN_ROWS open by a click."""
    made = found.cells()
    rows = [[_shown(cell) for cell in row] for row in made.rows]
    parts = [paragraph(line) for line in made.title.splitlines()]
    if rows:
        parts.append(table(made.columns, rows[:MAX_OPEN_ROWS]))
    if rows[MAX_OPEN_ROWS:]:
        parts.append(details(f"{len(rows) - MAX_OPEN_ROWS} more", table(made.columns, rows[MAX_OPEN_ROWS:])))
    return joined([*parts, *([listed(found.remarks)] if found.remarks else ())])


def result_table(made: ResultTable) -> Markup:
    """Return a table of results."""
    return table(made.columns, ([_shown(cell) for cell in row] for row in made.rows))


def _shown(cell: object) -> object:
    if isinstance(cell, VerdictMark):
        return verdict(cell.kind, str(cell))
    return math(cell.latex) if isinstance(cell, MathText) else cell


def right(words: object) -> Markup:
    """What stands to the right of its cell, as numbers do."""
    return tag("div", words, class_="n")


def code(words: object) -> Markup:
    return tag("code", words)


@cache
def _converter() -> LatexToMathML:
    from math_core import LatexToMathML

    return LatexToMathML()


def math(tex: str, display: bool = False) -> Markup:
    """LaTeX as MathML; what cannot be converted is shown as it is written."""
    from math_core import LatexError

    depth = deepest = 0
    for c in tex:
        depth += (c == "{") - (c == "}")
        deepest = max(deepest, depth)
    if deepest > DEEPEST or len(tex) > LONGEST:
        return tag("pre", tex)
    try:
        made = Markup(_converter().convert_with_local_state(tex, displaystyle=display))
    except LatexError:
        return tag("pre", tex)
    return tag("div", made, class_="formula", tabindex="0") if display else made


def equations(rows: Iterable[tuple[str, Sequence[Sequence[str]]]], reasons: Sequence[object] = ()) -> Markup:
    """Equations (left, summands, each of pieces of LaTeX) below each other. The page ends its lines between summands
    where it has no more room, and within a summand that is wider than a line: no width is guessed here. `reasons` stand
    behind them."""
    cells = []
    for k, (left, summands) in enumerate(rows):
        written = [
            [math(f"{{}} {piece}" if s or p else piece) for p, piece in enumerate(pieces)]
            for s, pieces in enumerate(summands)
        ]
        right = joined((tag("span", joined(w, "<wbr>")) if len(w) > 1 else w[0] for w in written), "<wbr>")
        why = tag("small", reasons[k]) if reasons and reasons[k] else ""
        cells += [tag("div", math(f"{left} = {{}}")), tag("div", right, why)]
    return tag("div", *cells, class_="formula lines", tabindex="0")


@cache
def style() -> Markup:
    """The look of every page, light and dark, on screen and on paper."""
    return Markup((resources.files("dalembert.draw") / "page.css").read_text(encoding="utf-8"))


def page(title: str, *content: object, script: str = "", look: str = "", computes: bool = False) -> str:
    """A page that needs nothing else and fetches nothing; `script` is its own, `look` what its style has besides.
    `computes`: its script may run WebAssembly."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'" + (" 'wasm-unsafe-eval'" if computes else "")
    head = Markup(
        '<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{}</title><style>{}{}</style>'
    ).format(Markup(policy), title, style(), Markup(look))
    body = tag("main", tag("header", tag("h1", title)), *content)
    run = f"<script>{script}</script>" if script else ""
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}{run}</body></html>\n'


def data(name: str, value: object) -> Markup:
    """Data for a page's script: what could end its element, or begin another, is written as an escape."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return tag("script", Markup(safe), type="application/json", id=name)


# For a piece of a page inside a notebook, whose own look stays as it is.
STYLE = Markup(
    "<style>.dalembert .lines { display: grid; grid-template-columns: max-content minmax(0, 1fr); row-gap: .4rem;"
    " align-items: baseline } .dalembert .lines > div:nth-child(odd) { text-align: right } .dalembert .lines small {"
    " opacity: .7; margin-left: 1.5em } .dalembert math { font-size: 1.05em } .dalembert .verdict { font-weight: 600 }"
    " .dalembert .good { color: #1b7f57 } .dalembert .doubt { color: #97690a } .dalembert .bad { color: #b3261e }"
    " .dalembert .absent { color: #6b7280 }</style>"
)
