r"""Documents of formulas as they are taught: headings, words, tables, equations each with its reason, and folds for
what is long; as text, Markdown, LaTeX and HTML.

A formula is an `Expression` or a pair (text, LaTeX), so that other algebras can put theirs in:

    Formulas((Line("K1", kinetic, "½ m v² + ½ I ω²"), Line("", shorter)))  # a line without a left side goes on: = …
    Formulas((Line(("d/dt ∂L/∂q̇₁", r"\frac{d}{dt} \frac{\partial L}{\partial \dot{q}_1}"), ("m q̈₁", r"m \ddot{q}_1")),))
"""

from __future__ import annotations

import os
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import InputError, unknown
from dalembert.files import whole
from dalembert.names import in_line, in_markdown
from dalembert.symbolic import latex, text
from dalembert.symbolic.expression import DIGITS, Expression

if TYPE_CHECKING:
    from markupsafe import Markup

    from dalembert.symbolic.check import CheckedDerivation
    from dalembert.symbolic.steps import Steps

COLUMNS = 100  # letters of a line of text
PIECE = 12  # letters beyond which a line of HTML may end within a summand too
WIDEST = 60  # letters of a matrix' row in HTML and LaTeX, beyond which its entries stand below each other

Pair = tuple[str, str]
Formula = Expression | Pair
"""An expression, or (text, LaTeX)."""


@dataclass(frozen=True)
class Heading:
    words: str
    level: int = 2


@dataclass(frozen=True)
class Words:
    """A paragraph. `formulas` fill its places {0}, {1}, …"""

    words: str
    formulas: tuple[Formula, ...] = ()

    def shown(self, form: str) -> str:
        if form == "text":
            return self.words.format(*map(plain_formula, self.formulas))
        shown = self.words.format(*(f"\0{k}\0" for k in range(len(self.formulas))))
        shown = escaped(shown) if form == "latex" else in_markdown(shown)
        for k, formula in enumerate(self.formulas):
            shown = shown.replace(f"\0{k}\0", f"${tex_formula(formula)}$")
        return shown


@dataclass(frozen=True)
class Table:
    head: tuple[str | Pair, ...]
    rows: tuple[tuple[str | Formula, ...], ...]


@dataclass(frozen=True)
class Line:
    """left = right, and why. `left` is a name (M12) or a pair; without it the line goes on with = after the last."""

    left: str | Pair
    right: Formula
    reason: str | Words = ""

    @property
    def why(self) -> Words | None:
        reason = self.reason if isinstance(self.reason, Words) else Words(braced(self.reason))
        return reason if reason.words else None


@dataclass(frozen=True)
class Formulas:
    """Equations below each other. `decimals`: numbers that are not whole as decimals."""

    lines: tuple[Line, ...]
    decimals: bool = False

    @staticmethod
    def of(given: Mapping[str, Expression], decimals: bool = False) -> Formulas:
        """name = expression, without reasons."""
        return Formulas(tuple(Line(name, x) for name, x in given.items()), decimals)


@dataclass(frozen=True)
class MatrixFormula:
    """name = [ … ], or, where that would be too wide, an entry on each line; zeros are then left out."""

    name: str | Pair
    rows: tuple[tuple[Formula, ...], ...]
    decimals: bool = False

    def entries(self) -> Formulas:
        plain, tex = left_of(self.name)
        comma = "," if max(len(self.rows), len(self.rows[0])) > 9 else ""
        lines = []
        for i, row in enumerate(self.rows, 1):
            for j, x in enumerate(row, 1):
                if plain_formula(x) != "0":
                    index = f"{i}{comma}{j}"
                    left = f"({plain}){index.translate(text.SUBSCRIPTS)}", rf"\left({tex}\right)_{{{index}}}"
                    lines.append(Line(left, x))
        return Formulas(tuple(lines), self.decimals)


@dataclass(frozen=True)
class Fold:
    """What is long: closed until it is asked for. `summary` says what is inside."""

    summary: str
    parts: tuple[Part, ...]


Part = Heading | Words | Table | Formulas | MatrixFormula | Fold
ENTRIES = Words("Entries that are not zero:")


@dataclass(frozen=True)
class Derivation:
    """A derivation, step by step; `quantities` are what its steps derive, by name, for `compare`."""

    title: str
    parts: tuple[Part, ...]
    quantities: Mapping[str, Any] = field(default_factory=dict)
    steps: Callable[[], Steps] | None = None  # how they follow from one another, for `check`

    def write(self, form: str, fold: bool = True) -> str:
        """As "text", "markdown", "latex" or "html". Without `fold`, text shows what is long too."""
        if form not in FORMATS:
            raise unknown("format", form, tuple(FORMATS))
        return FORMATS[form](self, fold)

    def text(self, fold: bool = True) -> str:
        return self.write("text", fold)

    def markdown(self) -> str:
        return self.write("markdown")

    def latex(self) -> str:
        """A whole document, for pdflatex and its kin."""
        return self.write("latex")

    def html(self) -> str:
        """One page that fetches nothing."""
        return self.write("html")

    def save(self, file: str | os.PathLike[str]) -> Path:
        """To a file: .txt (nothing folded), .md, .tex or .html."""
        form = SUFFIXES.get(Path(file).suffix)
        if form is None:
            raise InputError(f"{str(file)!r} must end with one of {', '.join(SUFFIXES)}: it says the format")
        return whole(file, lambda opened: opened.write(self.write(form, fold=False).encode()))

    def check(self, lines: str | Sequence[str]) -> CheckedDerivation:
        """Judge a derivation of your own, line by line (K1 = …, dL/dqd1 = …, M12 = …, tau1 = …, in plain text or
        LaTeX): the first mistake is named; what follows from it is told from what is wrong by itself."""
        from dalembert.symbolic.check import check

        if self.steps is None:
            raise InputError("there is nothing to check against: only derivations by Lagrange are checked")
        return check(self.steps(), lines)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from dalembert.draw import html

        return html.tag("div", html.tag("h3", self.title), *map(as_html, self.parts), class_="dalembert") + html.STYLE


# ---------------------------------------------------------------------- formulas


def digits_of(decimals: bool) -> int | None:
    return DIGITS if decimals else None


def plain_formula(formula: str | Formula, decimals: bool = False) -> str:
    if isinstance(formula, str):
        return formula
    return formula[0] if isinstance(formula, tuple) else text.text(formula, unicode=True, digits=digits_of(decimals))


def tex_formula(formula: Formula, decimals: bool = False) -> str:
    return formula[1] if isinstance(formula, tuple) else latex.latex(formula, digits=digits_of(decimals))


def left_of(name: str | Pair) -> Pair:
    """A left side as text and as LaTeX; M(2) is what body 2 adds to M."""
    if isinstance(name, tuple):
        return name
    return text.subscripted(name), latex.name(re.sub(r"\((\d+)\)", r"^{(\1)}", name)) if name else ""


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
    if isinstance(right, tuple):
        return [[piece] for piece in split_sum(right[1])]
    return latex.Style(False, digits_of(decimals)).summands(right, int(width))


def tex_lines(part: Formulas) -> Iterator[str]:
    """The rows of an aligned block; reasons stand beside what they are for, or below it where there is no room."""
    for line in part.lines:
        rows, used = [f"{left_of(line.left)[1]} &= "], 0.0
        for piece in (piece for pieces in summands(line.right, part.decimals, latex.WIDTH) for piece in pieces):
            length = latex.printed_length(piece)
            if used and used + length > latex.WIDTH:
                rows.append("&\\quad" + piece)
                used = 0.0
            else:
                rows[-1] += piece
            used += length
        if line.why is not None:
            reason = f"\\text{{({line.why.shown('latex')})}}"
            if used + 0.8 * len(line.why.shown("text")) > latex.WIDTH - 4:
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


# ---------------------------------------------------------------------- Markdown and LaTeX


def as_markdown(part: Part) -> str:
    match part:
        case Heading(words, level):
            return "#" * level + " " + in_markdown(words)
        case Words():
            return part.shown("markdown")
        case Table(head, rows):
            cells = [[_markdown_cell(cell) for cell in line] for line in (head, ("---",) * len(head), *rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in cells)
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


def _markdown_cell(cell: str | Formula) -> str:
    shown = in_markdown(cell) if isinstance(cell, str) else f"${tex_formula(cell, True)}$"
    return shown.replace("|", "\\|")


def as_latex(part: Part) -> str:
    match part:
        case Heading(words, level):
            return f"\\{'sub' * (level - 2)}section*{{{escaped(words)}}}"
        case Words():
            return part.shown("latex")
        case Table(head, rows):
            lines = [" & ".join(_latex_cell(cell) for cell in line) for line in (head, *rows)]
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


def _latex_cell(cell: str | Formula) -> str:
    return escaped(cell) if isinstance(cell, str) else f"${tex_formula(cell, True)}$"


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


def braced(words: str | None) -> str:
    """What a user named, safe inside a template."""
    return (words or "").replace("{", "{{").replace("}", "}}")


# ---------------------------------------------------------------------- text


def columns(words: str) -> int:
    """How wide it stands in a terminal: a dot over a letter takes no room."""
    return sum(not unicodedata.combining(c) for c in words)


def padded(lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """Columns of equal width."""
    widths = [max(map(columns, column)) for column in zip(*lines, strict=True)]
    return [[cell + " " * (w - columns(cell)) for cell, w in zip(line, widths, strict=True)] for line in lines]


_PLACE = re.compile(r" (?=[-+−=] )|(?<=,) ")


def broken(words: str, width: int) -> list[str]:
    """A formula as lines: they end before + and −, as far outside of brackets as the line's second half has it."""
    lines = []
    while columns(words) > width:
        depth, places, end = 0, {}, 0
        room = width
        while end < len(words) and room > 0:
            room -= not unicodedata.combining(words[end])
            end += 1
        for k, c in enumerate(words[:end]):
            depth += (c in "([") - (c in ")]")
            if _PLACE.match(words, k) and k > 0:
                places[k] = depth
        if not places:
            break
        late = [k for k in places if k > end / 2] or list(places)
        cut = max(late, key=lambda k: (-places[k], k))
        lines.append(words[:cut])
        words = words[cut + 1 :]
    return [*lines, words]


def plain_lines(part: Formulas, width: int) -> Iterator[str]:
    lefts = [left_of(line.left)[0] for line in part.lines]
    wide = min(max(map(columns, lefts), default=0), 24)
    written: list[list[str]] = []
    for left, line in zip(lefts, part.lines, strict=True):
        start = " " * (wide - columns(left)) + left + " = "
        rows = broken(plain_formula(line.right, part.decimals), width - min(columns(start), 30))
        indent = " " * (min(columns(start), 30) + 2)
        written.append([start + rows[0], *(indent + row for row in rows[1:])])
    reasons = [f"({line.why.shown('text')})" if line.why else "" for line in part.lines]
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


def as_text(part: Part, fold: bool = True, width: int = COLUMNS) -> str:
    """A piece as plain text."""
    match part:
        case Heading(words, level):
            return words + "\n" + "=-~"[level - 1] * columns(words)
        case Words():
            return textwrap.fill(part.shown("text"), width, break_long_words=False, break_on_hyphens=False)
        case Table(head, rows):
            cells = [[plain_formula(cell, True) for cell in line] for line in (head, *rows)]
            return "\n".join("  ".join(line).rstrip() for line in padded(cells))
        case Fold(summary, parts):
            if not fold:
                return "\n\n".join(as_text(p, fold, width) for p in parts)
            count = sum(as_text(p, False, width).count("\n") + 1 for p in parts)
            return f"▸ {summary}: {count} lines, shown by --all (in Python by text(fold=False))"
        case MatrixFormula():
            whole = plain_matrix(part, width)
            return whole or f"{as_text(ENTRIES)}\n\n{as_text(part.entries(), fold, width)}"
        case Formulas():
            return "\n".join(plain_lines(part, width))


# ---------------------------------------------------------------------- HTML


def as_html(part: Part) -> Markup:
    """A piece as HTML, its formulas as MathML."""
    from dalembert.draw import html

    match part:
        case Heading(words, level):
            return html.tag(f"h{level + 1}", words)
        case Words():
            return html.paragraph(*filled(part))
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
            reasons = [html.joined(["(", *filled(line.why), ")"]) if line.why else "" for line in lines]
            rows = [(left_of(line.left)[1], summands(line.right, decimals, PIECE)) for line in lines]
            return html.equations(rows, reasons)


def filled(part: Words) -> Iterator[Any]:
    """The words with their formulas as MathML."""
    from dalembert.draw import html

    words = part.words.format(*(f"\0{k}\0" for k in range(len(part.formulas))))
    for k, piece in enumerate(words.split("\0")):
        yield html.math(tex_formula(part.formulas[int(piece)])) if k % 2 else piece


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


def _blocks(given: Derivation, write: Callable[[Part], str]) -> Iterable[str]:
    return map(write, given.parts)


def _text_page(given: Derivation, fold: bool) -> str:
    return "\n\n".join([as_text(Heading(given.title, 1)), *_blocks(given, lambda p: as_text(p, fold))]) + "\n"


def _markdown_page(given: Derivation, fold: bool) -> str:
    return "\n\n".join([as_markdown(Heading(given.title, 1)), *_blocks(given, as_markdown)]) + "\n"


def _latex_page(given: Derivation, fold: bool) -> str:
    title = f"{{\\LARGE\\bfseries {escaped(given.title)}}}"
    return PREAMBLE + "\n\n".join([title, *_blocks(given, as_latex)]) + "\n\\end{document}\n"


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
SUFFIXES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html"}
