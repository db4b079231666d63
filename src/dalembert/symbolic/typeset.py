"""How a document is written: as Markdown, LaTeX, text for a terminal, and HTML."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dalembert.names import in_line, in_markdown
from dalembert.symbolic import latex
from dalembert.symbolic.document import (
    Derivation,
    Fold,
    Formula,
    Formulas,
    Heading,
    MatrixFormula,
    Pair,
    Part,
    Table,
    Words,
    columns,
    digits_of,
    left_of,
    plain_formula,
    tex_formula,
)

if TYPE_CHECKING:
    from markupsafe import Markup

COLUMNS = 100  # letters of a line of text
PIECE = 12  # letters beyond which a line of HTML may end within a summand too
WIDEST = 56  # letters of a matrix' row in HTML and LaTeX, beyond which its entries stand below each other
BAR = "\\|"  # within a cell of Markdown
ENTRIES = Words("Entries that are not zero:")

_OPEN = re.compile(r"\\(?:left|begin|bigl)\b|[({\[]")
_CLOSE = re.compile(r"\\(?:right|end|bigr)\b|[)}\]]")
_TOKEN = re.compile(r"\\(?:left|right|bigl|bigr)\W|\\(?:begin|end)\{\w+\}|\\[a-zA-Z]+|.", re.S)


def split_sum(tex: str) -> list[str]:
    """The summands of LaTeX, each with its sign: where a line may end."""
    pieces, depth = [""], 0
    for token in _TOKEN.findall(tex):
        if token in "+-" and depth == 0 and pieces[-1].endswith(" "):
            pieces.append("")
        depth += bool(_OPEN.match(token)) - bool(_CLOSE.match(token))
        pieces[-1] += token
    return [piece for piece in pieces if piece.strip()]


def summands(right: Formula, decimals: bool, width: float) -> list[list[str]]:
    """LaTeX of each summand, in pieces between which a line may end."""
    if isinstance(right, tuple | str):
        return [[piece] for piece in split_sum(tex_formula(right))]
    return latex.Style(False, digits_of(decimals)).summands(right, int(width))


def tex_lines(part: Formulas) -> Iterator[str]:
    """The rows of an aligned block; reasons stand beside what they are for, or below it where there is no room."""
    for line in part.lines:
        left = left_of(line.left)[1]
        room = latex.WIDTH - latex.printed_length(left) / 2  # a fraction's numerator stands above its denominator
        pieces = [x for summand in summands(line.right, part.decimals, room) for x in summand]
        first, *rest = latex.break_sum(pieces, room)
        rows = [f"{left} &= {first}", *(f"&\\quad {row}" for row in rest)]
        if line.why is not None:
            reason = f"\\text{{({said(line.why, escaped)})}}"
            reason = re.sub(r"\$(.*?)\$", r"} \1 \\text{", reason)  # no formulas within \text
            if latex.printed_length((rest or [first])[-1]) + 0.8 * len(said(line.why, str, str)) > latex.WIDTH - 4:
                rows.append(f"&\\qquad {reason}")
            else:
                rows[-1] += f"\\qquad {reason}"
        yield from rows


def tex_matrix(part: MatrixFormula) -> str | None:
    """None where it is too wide."""
    written = [[tex_formula(x, part.decimals) for x in row] for row in part.rows]
    if sum(max(latex.printed_length(row[k]) for row in written) + 2 for k in range(len(written[0]))) > WIDEST:
        return None
    body = r" \\ ".join(" & ".join(row) for row in written)
    return rf"{left_of(part.name)[1]} = \begin{{bmatrix}} {body} \end{{bmatrix}}"


def said(part: Words, escape: Callable[[str], str], plain: Callable[[str], str] | None = None) -> str:
    """A paragraph: its words escaped, its formulas as LaTeX between dollars, or by `plain` as text."""
    found = ""
    for words, formula in part.pieces():
        found += escape(words)
        if formula is not None:
            found += plain(plain_formula(formula)) if plain else f"${tex_formula(formula)}$"
    return found


# ---------------------------------------------------------------------- Markdown and LaTeX


def as_markdown(part: Part) -> str:
    match part:
        case Heading(words, level):
            return "#" * level + " " + in_markdown(words)
        case Words():
            return said(part, in_markdown)
        case Table(head, rows):
            lines = ([_cell(x, in_markdown) for x in line] for line in (head, ("---",) * len(head), *rows))
            return "\n".join(f"| {' | '.join(x.replace('|', BAR) for x in line)} |" for line in lines)
        case Fold(summary, parts):
            inside = "\n\n".join(map(as_markdown, parts))
            return f"<details><summary>{in_markdown(summary)}</summary>\n\n{inside}\n\n</details>"
        case MatrixFormula():
            tex = tex_matrix(part)
            if tex is None:
                return f"{as_markdown(ENTRIES)}\n\n{as_markdown(part.entries())}"
            return f"$$\n{tex}\n$$"
        case Formulas():
            return "$$\n\\begin{aligned} " + " \\\\\n".join(tex_lines(part)) + " \\end{aligned}\n$$"


def _cell(cell: Formula, escape: Callable[[str], str]) -> str:
    return escape(cell) if isinstance(cell, str) else f"${tex_formula(cell, True)}$"


def as_latex(part: Part) -> str:
    match part:
        case Heading(words, level):
            return f"\\{'sub' * (level - 2)}section*{{{escaped(words)}}}"
        case Words():
            return said(part, escaped)
        case Table(head, rows):
            lines = [" & ".join(_cell(x, escaped) for x in line) for line in (head, *rows)]
            lines[0] += " \\\\ \\hline"
            body = lines[0] + "\n" + " \\\\\n".join(lines[1:])
            return f"\\begin{{longtable}}{{{'l' * len(head)}}}\n{body}\n\\end{{longtable}}"
        case Fold(_, parts):
            return "\n\n".join(map(as_latex, parts))  # paper does not fold
        case MatrixFormula():
            tex = tex_matrix(part)
            if tex is None:
                return f"{as_latex(ENTRIES)}\n\n{as_latex(part.entries())}"
            return f"\\[\n{tex}\n\\]"
        case Formulas():
            return "\\begin{align*}\n" + " \\\\\n".join(tex_lines(part)) + "\n\\end{align*}"


_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\^{}",
    "π": "$\\pi$",
    "·": "$\\cdot$",
    "²": "$^2$",
    "½": "$\\tfrac{1}{2}$",
    "×": "$\\times$",
    "≠": "$\\neq$",
    "→": "$\\to$",
}


def escaped(words: str) -> str:
    """Words as LaTeX."""
    return "".join(_SPECIAL.get(c, c) for c in in_line(words).replace("q̇", "qd"))


# ---------------------------------------------------------------------- text


def padded(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """Columns of equal width."""
    widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
    return [[cell + " " * (w - columns(cell)) for cell, w in zip(line, widths, strict=True)] for line in lines]


def broken(words: str, width: int) -> list[str]:
    """A formula as lines: they end before + and −, as far outside of brackets as the line's second half has it; of a
    vector that needs more than one, after each of its components."""
    if columns(words) <= width:
        return [words]
    if len(components := _components(words)) > 1:
        first, *rest = [line for x in components for line in broken(x, width - 1)]
        return [first, *(f" {line}" for line in rest)]
    depth, places, room = 0, {}, width
    for k, c in enumerate(words):
        room -= not unicodedata.combining(c)
        if room < 0:
            break
        depth += (c in "([") - (c in ")]")
        if k and c == " " and words[k + 1 : k + 3] in ("+ ", "- ", "− ", "= "):
            places[k] = depth
    if not places:
        return [words]
    late = [k for k in places if k > max(places) / 2]
    cut = max(late, key=lambda k: (-places[k], k))
    return [words[:cut], *broken("  " + words[cut + 1 :], width)]


def _components(words: str) -> list[str]:
    """Those of a vector (x, y, z), with their commas; of anything else, itself."""
    if not (words.startswith("(") and words.endswith(")")):
        return [words]
    parts, depth = [""], 0
    for k, c in enumerate(words):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and k < len(words) - 1:
            return [words]  # the first bracket is closed before the end
        if c == " " and depth == 1 and parts[-1].endswith(","):
            parts.append("")
        else:
            parts[-1] += c
    return parts


def plain_lines(part: Formulas, width: int) -> Iterator[str]:
    lefts = [left_of(line.left)[0] for line in part.lines]
    wide = min(max(map(columns, lefts), default=0), 24)
    written: list[list[str]] = []
    for left, line in zip(lefts, part.lines, strict=True):
        start = " " * (wide - columns(left)) + left + " = "
        indent = " " * min(columns(start), 30)
        rows = broken(plain_formula(line.right, part.decimals), width - len(indent))
        written.append([start + rows[0], *(indent + row for row in rows[1:])])
    reasons = [f"({said(line.why, str, str)})" if line.why else "" for line in part.lines]
    fits = [bool(r) and columns(w[-1]) + 3 + columns(r) <= width for r, w in zip(reasons, written, strict=True)]
    column = max((columns(w[-1]) for w, f in zip(written, fits, strict=True) if f), default=0) + 3
    for rows, reason, beside in zip(written, reasons, fits, strict=True):
        if beside:
            gap = min(column, width - columns(reason)) - columns(rows[-1])
            rows[-1] += " " * gap + reason
        elif reason:
            start = " " * (wide + 5)
            rows += textwrap.wrap(reason, width, initial_indent=start, subsequent_indent=start + " ")
        yield from rows


def _brackets(count: int) -> list[Pair]:
    if count == 1:
        return [("[", "]")]
    return [("⎡", "⎤"), *[("⎢", "⎥")] * (count - 2), ("⎣", "⎦")]


def plain_matrix(part: MatrixFormula, width: int) -> str | None:
    """None where it is too wide."""
    rows = padded([[plain_formula(x, part.decimals) for x in row] for row in part.rows])
    left = f"{left_of(part.name)[0]} = "
    lines = [f"{a} {'   '.join(row)} {b}" for row, (a, b) in zip(rows, _brackets(len(rows)), strict=True)]
    middle = (len(lines) - 1) // 2
    lines = [(left if k == middle else " " * columns(left)) + line for k, line in enumerate(lines)]
    return "\n".join(lines) if max(map(columns, lines)) <= width else None


def filled_text(part: Words, width: int) -> str:
    """Lines of words; a formula among them is not broken, unless it is long."""
    words = said(part, str, lambda x: x.replace(" ", "\0") if columns(x) <= width / 2 else x)
    return textwrap.fill(words, width, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def as_text(part: Part, fold: bool = True, width: int = COLUMNS) -> str:
    """A piece as plain text."""
    match part:
        case Heading(words, level):
            return words + "\n" + "=-~"[level - 1] * columns(words)
        case Words():
            return filled_text(part, width)
        case Table(head, rows):
            cells = [[plain_formula(cell, True) for cell in line] for line in (head, *rows)]
            return "\n".join("  ".join(line).rstrip() for line in padded(cells))
        case Fold(summary, parts):
            if not fold:
                return "\n\n".join(as_text(p, fold, width) for p in parts)
            count = sum(as_text(p, False, width).count("\n") + 1 for p in parts)
            return f"▸ {summary}: {count} lines, by --all or text(fold=False)"
        case MatrixFormula():
            whole = plain_matrix(part, width)
            return whole or f"{as_text(ENTRIES)}\n\n{as_text(part.entries(), fold, width)}"
        case Formulas():
            return "\n".join(plain_lines(part, width))


# ---------------------------------------------------------------------- HTML


def _in_html(part: Words) -> Iterator[Any]:
    from dalembert.draw import html

    for words, formula in part.pieces():
        yield words
        yield "" if formula is None else html.math(tex_formula(formula))


def as_html(part: Part) -> Markup:
    """A piece as HTML, its formulas as MathML."""
    from dalembert.draw import html

    match part:
        case Heading(words, level):
            return html.tag(f"h{level + 1}", words)
        case Words():
            return html.paragraph(*_in_html(part))
        case Table(head, rows):
            cells = [
                [cell if isinstance(cell, str) else html.math(tex_formula(cell, True)) for cell in r] for r in rows
            ]
            return html.table([x if isinstance(x, str) else html.math(x[1]) for x in head], cells)
        case Fold(summary, parts):
            return html.details(summary, *map(as_html, parts))
        case MatrixFormula():
            tex = tex_matrix(part)
            if tex is not None:
                return html.math(tex, display=True)
            note = html.paragraph(ENTRIES.words, class_="aside") if len(part.entries().lines) else ""
            return html.joined([note, as_html(part.entries())])
        case Formulas(lines, decimals):
            reasons = [html.joined(["(", *_in_html(line.why), ")"]) if line.why else "" for line in lines]
            equations = [(left_of(line.left)[1], summands(line.right, decimals, PIECE)) for line in lines]
            return html.equations(equations, reasons)


# ---------------------------------------------------------------------- whole documents


PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb,longtable}
\usepackage[margin=20mm]{geometry}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\begin{document}
"""


def _paragraphs(title: str, given: Derivation, write: Callable[[Part], str]) -> str:
    return "\n\n".join([title, *map(write, given.parts)]) + "\n"


def _text_page(given: Derivation, fold: bool) -> str:
    return _paragraphs(as_text(Heading(given.title, 1)), given, lambda part: as_text(part, fold))


def _markdown_page(given: Derivation, fold: bool) -> str:
    return _paragraphs(as_markdown(Heading(given.title, 1)), given, as_markdown)


def _latex_page(given: Derivation, fold: bool) -> str:
    title = f"{{\\LARGE\\bfseries {escaped(given.title)}}}"
    return PREAMBLE + _paragraphs(title, given, as_latex) + "\\end{document}\n"


def _html_page(given: Derivation, fold: bool) -> str:
    from dalembert.draw import html

    sections: list[list[Part]] = [[]]
    for part in given.parts:
        if isinstance(part, Heading) and part.level == 2:
            sections.append([])
        sections[-1].append(part)
    return html.page(given.title, *(html.tag("section", *map(as_html, section)) for section in sections if section))


FORMATS: dict[str, Callable[[Derivation, bool], str]] = {
    "text": _text_page,
    "markdown": _markdown_page,
    "latex": _latex_page,
    "html": _html_page,
}
