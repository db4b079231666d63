r"""Documents of formulas as they are taught: headings, words, tables, equations each with its reason, and folds for
what is long; as text, Markdown, LaTeX and HTML.

A formula is an `Expression`, a pair (text, LaTeX), so that other algebras can put theirs in, or Unicode, of which
`math` makes the LaTeX:

    Formulas((Line("K1", kinetic, "of link 1"), Line("", shorter)))  # a line without a left side goes on: = …
    Formulas((Line("d/dt ∂L/∂q̇₁", ("m q̈₁", r"m \ddot{q}_{1}"), "product rule"),))
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.errors import InputError, unknown
from dalembert.files import whole
from dalembert.symbolic import latex, text
from dalembert.symbolic.expression import DIGITS, Expression

if TYPE_CHECKING:
    from dalembert.symbolic.check import CheckedDerivation
    from dalembert.symbolic.steps import Steps

Pair = tuple[str, str]
Formula = Expression | Pair | str
"""An expression, (text, LaTeX), or Unicode: Γᵢⱼₖ = ½ (∂Mₖⱼ/∂qᵢ + …)."""


@dataclass(frozen=True)
class Heading:
    words: str
    level: int = 2


@dataclass(frozen=True)
class Words:
    """A paragraph. `formulas` fill its places {0}, {1}, …"""

    words: str
    formulas: tuple[Formula, ...] = ()

    def pieces(self) -> Iterator[tuple[str, Formula | None]]:
        """The words, and after each piece of them the formula that follows, or None at the end."""
        parts = self.words.format(*(f"\0{k}\0" for k in range(len(self.formulas)))).split("\0")
        yield from ((words, self.formulas[int(k)]) for words, k in zip(parts[::2], parts[1::2], strict=False))
        yield parts[-1], None


@dataclass(frozen=True)
class Table:
    """Cells are words, or formulas that are no mere `str`."""

    head: tuple[str | Pair, ...]
    rows: tuple[tuple[Formula, ...], ...]


@dataclass(frozen=True)
class Line:
    """left = right, and why. `left` is a name (M12), Unicode or a pair; without it the line goes on with =."""

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
        (plain, *is_plain), (tex, *is_tex) = (side.split(" = ") for side in left_of(self.name))
        lines = [Line((plain, tex), pair) for pair in zip(is_plain, is_tex, strict=True)]
        if columns(plain) > 1:
            plain, tex = f"({plain})", rf"\left({tex}\right)"
        comma = "," if max(len(self.rows), len(self.rows[0])) > 9 else ""
        for i, row in enumerate(self.rows, 1):
            for j, x in enumerate(row, 1):
                if plain_formula(x) != "0":
                    index = f"{i}{comma}{j}"
                    lines.append(Line((plain + index.translate(text.SUBSCRIPTS), f"{tex}_{{{index}}}"), x))
        return Formulas(tuple(lines), self.decimals)


@dataclass(frozen=True)
class Fold:
    """What is long: closed until it is asked for. `summary` says what is inside."""

    summary: str
    parts: tuple[Part, ...]


SUFFIXES = {".txt": "text", ".md": "markdown", ".tex": "latex", ".html": "html"}

Part = Heading | Words | Table | Formulas | MatrixFormula | Fold


@dataclass(frozen=True)
class Derivation:
    """A derivation, step by step; `quantities` are what its steps derive, by name, for `compare`."""

    title: str
    parts: tuple[Part, ...]
    quantities: Mapping[str, Any] = field(default_factory=dict)
    steps: Callable[[], Steps] | None = None  # how they follow from one another, for `check`

    def write(self, form: str, fold: bool = True) -> str:
        """As "text", "markdown", "latex" or "html". Without `fold`, text shows what is long too."""
        from dalembert.symbolic.typeset import FORMATS

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
            problem = f"{str(file)!r} must end with one of {', '.join(SUFFIXES)}, which chooses the format"
            raise InputError("wrong-value", "file", str(file), problem=problem)
        return whole(file, lambda opened: opened.write(self.write(form, fold=False).encode()))

    def check(self, lines: str | Sequence[str]) -> CheckedDerivation:
        """Judge a derivation of your own, line by line (K1 = …, dL/dqd1 = …, M12 = …, tau1 = …, in plain text or
        LaTeX): the first mistake is named; what follows from it is told from what is wrong by itself."""
        from dalembert.symbolic.check import check

        if self.steps is None:
            raise InputError("unsupported", "steps", problem="only derivations by Lagrange can be checked")
        return check(self.steps(), lines)

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from dalembert.draw import html
        from dalembert.symbolic.typeset import as_html

        return html.tag("div", html.tag("h3", self.title), *map(as_html, self.parts), class_="dalembert") + html.STYLE


# ---------------------------------------------------------------------- formulas


def digits_of(decimals: bool) -> int | None:
    return DIGITS if decimals else None


def plain_formula(formula: Formula, decimals: bool = False) -> str:
    if isinstance(formula, str):
        return formula
    return formula[0] if isinstance(formula, tuple) else text.text(formula, unicode=True, digits=digits_of(decimals))


def tex_formula(formula: Formula, decimals: bool = False) -> str:
    if isinstance(formula, str):
        return math(formula)[1]
    return formula[1] if isinstance(formula, tuple) else latex.latex(formula, digits=digits_of(decimals))


def pair_of(formula: Formula, decimals: bool = False) -> Pair:
    """(text, LaTeX) of a formula."""
    return plain_formula(formula, decimals), tex_formula(formula, decimals)


def left_of(name: str | Pair) -> Pair:
    """A left side as text and as LaTeX; M(2) is what body 2 adds to M."""
    if isinstance(name, tuple):
        return name
    if not name.isascii():
        return math(name)
    return text.subscripted(name), latex.name(re.sub(r"\((\d+)\)", r"^{(\1)}", name)) if name else ""


_SUB = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₙᵥ", "0123456789+-ijknv", strict=True))
_SUPER = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀᶜ", "0123456789-Tc", strict=True))
_SIGNS = {letter: f"{tex} " for letter, tex in text.GREEK.values()}
_SIGNS |= {"∂": r"\partial ", "Σ": r"\sum", "×": r" \times ", "−": "-", "½": r"\tfrac{1}{2}", "…": r"\dots "}
_ATOM = rf"[^\W\d_][\u0307\u0308]?[{''.join(_SUB)}{''.join(_SUPER)}]*"
_QUOTIENT = re.compile(rf"(d|∂²?(?:{_ATOM})?)/(dt|(?:∂{_ATOM})+)")
_MATH = re.compile(
    rf"(?P<word>[A-Za-z]{{2,}})|(?P<dot>.)(?P<mark>[\u0307\u0308])|_(?P<under>.)(?P<more>[{''.join(_SUB)}]*)"
    rf"|(?P<sub>[{''.join(_SUB)}]+)|(?P<up>[{''.join(_SUPER)}]+)|."
)


def math(plain: str) -> Pair:
    """A formula of prose, in Unicode, with its LaTeX: q̇ᵢ is \\dot{q}_{i}, ∂L/∂q a fraction, _ begins an index."""

    def sign(found: re.Match[str]) -> str:
        given = found.groupdict(default="")
        if word := given["word"]:
            if word in ("or", "and"):  # prose: TeX drops blanks of a formula
                return rf"\text{{ {word} }}"
            return rf"\{word}" if word in ("cos", "sin", "det") else rf"\mathrm{{{word}}}"
        if base := given["dot"]:
            return rf"\{'d' if given['mark'] == '̇' else 'dd'}ot{{{_SIGNS.get(base, base).strip()}}}"
        if index := given["under"]:
            return f"_{{{_SIGNS.get(index, index)}{''.join(map(_SUB.__getitem__, given['more']))}}}"
        if given["sub"]:
            return f"_{{{''.join(map(_SUB.__getitem__, given['sub']))}}}"
        if given["up"]:
            return f"^{{{''.join(map(_SUPER.__getitem__, given['up']))}}}"
        return _SIGNS.get(found[0], found[0])

    def written(part: str) -> str:
        return _MATH.sub(sign, part)

    pieces, end, apart = [], 0, unicodedata.normalize("NFD", plain)
    for found in _QUOTIENT.finditer(apart):
        top, bottom = (part if part in ("d", "dt") else written(part) for part in found.groups())
        pieces += [written(apart[end : found.start()]), rf"\frac{{{top}}}{{{bottom}}}"]
        end = found.end()
    return plain, "".join([*pieces, written(apart[end:])]).rstrip()  # in Markdown "$\\psi $" is no formula


def braced(words: str | None) -> str:
    """What a user named, safe inside a template."""
    return (words or "").replace("{", "{{").replace("}", "}}")


def columns(words: str) -> int:
    """How wide it stands in a terminal: a dot over a letter takes no room."""
    return sum(not unicodedata.combining(c) for c in words)
