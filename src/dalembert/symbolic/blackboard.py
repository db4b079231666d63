"""Where a derivation is written: polynomials, numbers, vectors and matrices as formulas, in one set of letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.scalar import Scalar
from dalembert.symbolic.document import (
    Formula,
    Formulas,
    Line,
    MatrixFormula,
    Pair,
    Part,
    Words,
    left_of,
    math,
    pair_of,
)
from dalembert.symbolic.latex import break_sum, printed_length
from dalembert.symbolic.lumps import Legible
from dalembert.symbolic.polynomial import Polynomial
from dalembert.symbolic.text import GREEK
from dalembert.symbolic.typeset import summands

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

DIGITS = 5  # significant ones of a number in the middle of a computation
LETTER = re.compile(r"@(\w)")
QUANTITY = re.compile(r"(?:M|C|g|Gamma|K|P)[\d(,]|[MCKP]$")
WIDE = 75  # letters of a component, beyond which a vector's components are broken into lines


@dataclass(frozen=True)
class Blackboard:
    """Writes for one robot. Letters of quantities in prose are marked: @M is M, or what the reader calls it."""

    e: Equations

    def math(self, plain: str) -> Pair:
        """A formula of prose, in the reader's letters."""
        apart = unicodedata.normalize("NFD", plain)  # the dot of Ṁ stays where M becomes D
        return math(unicodedata.normalize("NFC", LETTER.sub(lambda found: self._letter(found[1]), apart)))

    def _letter(self, own: str) -> str:
        theirs = self.e.letters.quantity("Gamma" if own == "Γ" else own)
        if own == "q":
            theirs = self.e.letters.names.get("q", "q")
        return GREEK.get(theirs, (theirs,))[0]

    def words(self, words: str, *formulas: str | Formula) -> Words:
        """A paragraph; what is `str` in `formulas` is Unicode with marked letters."""
        return Words(words, tuple(self.math(x) if isinstance(x, str) else x for x in formulas))

    def name(self, word: str) -> Pair:
        """A symbol or an entry, by the library's name: q1, tau1, M12, K1."""
        letters = self.e.letters
        return left_of(letters.quantity(word) if QUANTITY.match(word) else letters.outward(word))

    def both(self, x: Scalar) -> Pair:
        """A polynomial or a number as text and as LaTeX."""
        if not isinstance(x, Polynomial):
            return number(float(x))
        form = self.legible({"": x})
        return pair_of(form.entries[""], form.decimals)

    def formula(self, x: Scalar) -> Formula:
        """The same; what is no decimal as an expression, which lines break better."""
        form = self.legible({"": x}) if isinstance(x, Polynomial) else None
        return self.both(x) if form is None or form.decimals else form.entries[""]

    def vector(self, v: Sequence[Scalar]) -> Pair:
        """(x, y, z), as text in one line."""
        plain, tex = zip(*map(self.both, v), strict=True)
        text = f"({', '.join(plain)})"
        if max(map(printed_length, tex)) <= WIDE:
            return text, "\\begin{bmatrix} " + " \\\\ ".join(tex) + " \\end{bmatrix}"
        pieces = [[x for parts in summands(self.formula(x), False, WIDE) for x in parts] for x in v]
        rows = [" \\\\ & \\quad ".join(break_sum(x, WIDE)) for x in pieces]
        return text, "\\left(\\begin{aligned} & " + ", \\\\ & ".join(rows) + " \\end{aligned}\\right)"

    def line(self, left: str, x: Scalar | Sequence[Scalar], reason: str | Words = "") -> Line:
        """left = a polynomial, a number or a vector of them; `left` is a name or Unicode with marked letters."""
        name = self.name(left) if left.isascii() and "@" not in left else self.math(left)
        return Line(name if left else "", self.vector(x) if isinstance(x, tuple | list) else self.formula(x), reason)

    def matrix(self, name: str, A: Sequence[Sequence[Scalar]], lump: bool = False) -> Iterator[Part]:
        """name = [ … ], after what its lumped constants stand for."""
        left = self.math(name) if "@" in name or not name.isascii() else self.name(name)
        if not any(isinstance(x, Polynomial) for row in A for x in row):
            yield MatrixFormula(left, tuple(tuple(number(float(x)) for x in row) for row in A))
            return
        form = self.legible({f"{i} {j}": x for i, row in enumerate(A) for j, x in enumerate(row)}, lump)
        if form.lumps:
            yield Formulas.of(form.lumps, form.decimals)
        rows = tuple(tuple(form.entries[f"{i} {j}"] for j in range(len(row))) for i, row in enumerate(A))
        yield MatrixFormula(left, rows, form.decimals)

    def formulas(self, given: Mapping[str, Polynomial], lump: bool = False) -> Iterator[Part]:
        """name = polynomial, below each other, after what the lumped constants stand for."""
        form = self.legible(given, lump)
        if form.lumps:
            yield Formulas.of(form.lumps, form.decimals)
        yield Formulas(tuple(Line(self.name(name), x) for name, x in form.entries.items()), form.decimals)

    def legible(self, given: Mapping[str, Scalar], lump: bool = False) -> Legible:
        return self.e.form({name: self.e.ring.scalar(p) for name, p in given.items()}, lump)

    def total(self, terms: Iterable[Scalar]) -> Polynomial:
        return self.e.ring.scalar(sum(terms, self.e.ring.zero))


def number(x: float) -> Pair:
    """A number of the middle of a computation."""
    shown = f"{x:.{DIGITS}g}" if abs(x) > 1e-12 else "0"
    mantissa, _, exponent = shown.partition("e")
    return shown, f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else shown


def title(noun: str, k: int, name: str) -> str:
    """Link 2, or Link 2 (forearm) where it has a name of its own."""
    return f"{noun} {k}" if name == f"{noun.lower()}{k}" else f"{noun} {k} ({name})"
