"""The equations of motion: the first page of them to be read, the derivation folded up, what is too long in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup

from dalembert.apps.report.context import Context, Made
from dalembert.draw import html
from dalembert.symbolic import derivation, latex
from dalembert.symbolic.blackboard import Blackboard
from dalembert.symbolic.document import Formulas, MatrixFormula
from dalembert.symbolic.entries import entries, named
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.expression import DIGITS, Expression
from dalembert.symbolic.lagrange import READABLE
from dalembert.symbolic.lumps import Legible, TooLargeError, legible
from dalembert.symbolic.typeset import as_html

WIDTH = 71  # letters of a line, about
PAGE = 60  # lines of equations that stand open
READ = 700  # terms of M's shortest entries that are shown of an arm whose M nobody reads
TABLE = 16  # parameters that stand open


def equations(context: Context) -> Made:
    context.need(tree=True, mass=True)
    e = context.equations
    terms = {what: sum(len(p) for p in entries(e, what).values()) for what in ("M", "C", "g")}
    parts: list[Any] = [_intro(e, terms), *_parameters(e)]
    if terms["M"] <= derivation.STEPS_UP_TO:
        parts += _short(e)
        if e.model.curved is None:
            parts.append(html.details("The derivation, step by step", *_derivation(e)))
    elif terms["M"] <= READABLE:
        parts += _long(e, terms)
    else:
        parts += _too_long(e, terms)
    said = f"M has {terms['M']} terms, C {terms['C']}, g {terms['g']}"
    return Made(html.joined(parts), said)


def _intro(e: Equations, terms: Mapping[str, int]) -> Markup:
    symbols = map(html.math, ("s_{12}", r"\sin(q_1 + q_2)", "c_2", r"\cos q_2"))
    words = Markup(
        "Derived exactly, all parameters symbols: in normal form M has {} terms, C {} and g {}. {} stands for {}, {} "
        "for {}."
    ).format(*(terms[what] for what in ("M", "C", "g")), *symbols)
    written = r"M(q)\,\ddot{q} + C(q, \dot{q})\,\dot{q} + g(q) = \tau"
    if e.model.curved:
        written = r"M(q)\,\dot{v} + C(q, v)\,v + g(q) = \tau, \quad \dot{q} = N(q)\,v"
    equation = html.math(written, display=True)
    return html.joined([equation, html.paragraph(words)])


def _parameters(e: Equations) -> Iterator[Markup]:
    rows = [(html.math(latex.name(n)), p.meaning, float(e.values[n])) for n, p in e.parameters.items()]
    if not rows:
        return
    table = html.table(("symbol", "meaning", "value"), rows)
    yield html.heading("Parameters")
    yield table if len(rows) <= TABLE else html.details(f"{len(rows)} parameters and their values", table)
    if e.notes:
        yield html.paragraph("Taken as exact: " + "; ".join(e.notes) + ".", class_="aside")


def _short(e: Equations) -> Iterator[Markup]:
    """M, C and g in lumped constants, and the joint equations."""
    form = e.legible("M", "C")
    if form.lumps:
        yield html.heading("Lumped constants")
        yield formulas(form.lumps, form.decimals)
    yield html.heading("Mass matrix")
    yield _square(form, "M", e.nv)
    which = "by Christoffel symbols" if e.model.curved is None else "of composite bodies"
    yield html.heading(f"Coriolis and centripetal matrix, {which}")
    yield _square(form, "C", e.nv)
    yield html.heading("Gravity")
    g = e.legible("g", lump=False)
    yield formulas(g.entries, g.decimals)
    if e.model.curved:
        yield html.heading("Rates of the positions")
        yield formulas(e.legible("qd").entries, False)


def _long(e: Equations, terms: Mapping[str, int]) -> Iterator[Markup]:
    """M in lumped constants, C with it where that is possible, g."""
    n = e.nv
    upper = {named("M", (i + 1, j + 1)): e.M[i][j] for i in range(n) for j in range(i, n) if e.M[i][j]}
    form = legible(upper, e.groups)
    yield html.heading("Lumped constants")
    yield from _paged(form.lumps, form.decimals, "lumped constants")
    yield html.heading(f"Mass matrix, entries of its upper triangle{_not_zero(n, len(upper))}")
    yield from _paged(form.entries, form.decimals, "entries of M")
    yield html.heading("Gravity")
    g = e.legible("g", lump=False)
    yield from _paged(g.entries, g.decimals, "entries of g")
    yield from _structure(e, f"C has {terms['C']} terms: by Christoffel symbols it follows from M above.")


def _too_long(e: Equations, terms: Mapping[str, int]) -> Iterator[Markup]:
    """g, those entries of M that are short, and the structure of the rest."""
    n = e.nv
    upper = sorted(
        ((len(e.M[i][j]), i, j) for i in range(n) for j in range(i, n) if e.M[i][j]), key=lambda x: (x[0], -x[1], -x[2])
    )
    shown, total = {}, 0
    for size, i, j in upper:
        if total + size > READ:
            break
        shown[named("M", (i + 1, j + 1))] = e.M[i][j]
        total += size
    yield html.heading("Gravity")
    g = e.legible("g", lump=False)
    yield from _paged(g.entries, g.decimals, "entries of g")
    if shown:
        form = legible(shown, e.groups)
        count = f"the {len(shown)} shortest of its {len(upper)} different entries{_not_zero(n, len(upper))}"
        yield html.heading(f"Mass matrix, {count}")
        yield from _paged({**form.lumps, **form.entries}, form.decimals, "lines of M")
    yield from _structure(
        e, f"The rest of M ({terms['M']} terms in all) and C ({terms['C']} terms) is too long to be read."
    )


def _not_zero(n: int, entries: int) -> str:
    return "" if entries == n * (n + 1) // 2 else " that are not zero"


def _structure(e: Equations, words: str) -> Iterator[Markup]:
    command = html.code('robot.equations().save("equations.txt")')
    yield html.paragraph(words, " ", command, " writes everything, exactly.")
    yield html.details("How large the equations are, and which joints couple", *map(as_html, derivation.structure(e)))


def _derivation(e: Equations) -> Iterator[Markup]:
    try:
        yield from map(as_html, derivation.motion(Blackboard(e)))
    except TooLargeError as error:
        yield html.paragraph(f"The derivation ends here: {error}.")


def formulas(lines: Mapping[str, Expression], decimals: bool) -> Markup:
    """Equations below each other."""
    return as_html(Formulas.of(lines, decimals))


def _paged(lines: Mapping[str, Expression], decimals: bool, what: str) -> Iterator[Markup]:
    """The first page of many formulas, and the others folded up."""
    count = 0
    first: dict[str, Expression] = {}
    rest: dict[str, Expression] = {}
    style = latex.Style(False, DIGITS if decimals else None)
    for name, x in lines.items():
        count += len(style.lines(name, x, WIDTH))
        (first if count <= PAGE or not first else rest)[name] = x
    yield formulas(first, decimals)
    if rest:
        yield html.details(f"{len(rest)} more {what}", formulas(rest, decimals))


def _square(form: Legible, name: str, n: int) -> Markup:
    numbers = range(1, n + 1)
    rows = tuple(tuple(form.entries[named(name, (i, j))] for j in numbers) for i in numbers)
    return as_html(MatrixFormula(name, rows, form.decimals))
