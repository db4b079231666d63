r"""Expressions as LaTeX: a + 2 b c_{2}, matrices, and equations broken into lines.

Names are read as people write them: r1 is r_{1}, lc1 is l_{c1}, I1zz is I_{1,zz}, qd1 is \dot{q}_{1}, alpha2 is
\alpha_{2}, and sa2, ca2 are the sine and cosine of the fixed angle \alpha_{2}.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalembert.symbolic.collect import split_name
from dalembert.symbolic.expression import (
    Angle,
    Cosine,
    Expression,
    Function,
    Name,
    Product,
    Sine,
    Sum,
    coefficient,
    decimal,
    number,
    size,
    terms_of,
    times,
)
from dalembert.symbolic.text import GREEK, Printer, angle_sum

WIDTH = 90
"""Characters of a line as printed, roughly, after which a sum goes on in the next."""
INDEX = re.compile(r"[_^]\{([^{}]*)\}")
COLUMN = re.compile(r"\\begin\{bmatrix\}(.*?)\\end\{bmatrix\}", re.S)
CUT = re.compile(r"\\cut\{\d+\}")  # stands for a sum while what is around it is written
COMMAND = re.compile(r"\\(left|right|bigl|bigr|dot|ddot|mathrm|frac)\b|[{}_^ ]|\\(?=[a-z])")


def latex(expression: Expression, long: bool = False, digits: int | None = None) -> str:
    """The expression as LaTeX for math mode. With `long`, \\cos(q_1 + q_2) and not c_{12}; `digits` as in text."""
    return Style(long, digits).write(expression)


def matrix(
    rows: Sequence[Sequence[Expression]], brackets: str = "bmatrix", long: bool = False, digits: int | None = None
) -> str:
    """A matrix; `brackets` is bmatrix, pmatrix, …"""
    style = Style(long, digits)
    body = " \\\\ ".join(" & ".join(style.write(e) for e in row) for row in rows)
    return f"\\begin{{{brackets}}} {body} \\end{{{brackets}}}"


def aligned(
    equations: Mapping[str, Expression], long: bool = False, digits: int | None = None, width: int = WIDTH
) -> str:
    """Equations name = expression below each other, long sums broken. Names with a backslash are LaTeX already."""
    style = Style(long, digits)
    lines = [line for left, right in equations.items() for line in style.lines(left, right, width)]
    return "\\begin{aligned} " + " \\\\ ".join(lines) + " \\end{aligned}"


def name(word: str) -> str:
    """A name as LaTeX."""
    if "\\" in word or "{" in word:
        return word
    for pattern, write in PATTERNS:
        if found := pattern.fullmatch(word):
            return write(found)
    letters, _, rest = word.partition("_")
    return f"{roman(letters)}_{{{roman(rest)}}}" if letters and rest else roman(word)


def roman(word: str) -> str:
    """Letters of a word upright, a single one as it is."""
    word = re.sub(r"[^\w]|_", "", word)
    if word in GREEK:
        return GREEK[word][1]
    return word if len(word) < 2 or word.isdigit() else f"\\mathrm{{{word}}}"


def _apart(found: re.Match[str]) -> str:
    """Y1,10 and Gamma1,10,2: an index of two digits keeps its commas."""
    return f"{name(found[1])}_{{{found[2]}}}"


def _indexed(found: re.Match[str]) -> str:
    """r1, lc1, I1zz, Fs, alpha2."""
    letters, digits, rest = split_name(found[0])
    base, below = (GREEK[letters][1], "") if letters in GREEK else (letters[:1], letters[1:])
    index = ",".join(part for part in (below + digits, rest) if part)
    return f"{base}_{{{index}}}" if index else base


# What a name looks like → its LaTeX; the first that fits.
PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(q|theta|phi)(dd?)_?(\d+)"), lambda m: f"\\{m[2][1:]}dot{{{name(m[1])}}}_{{{m[3]}}}"),
    (re.compile(r"vd(\d+)"), lambda m: f"\\dot{{v}}_{{{m[1]}}}"),
    (re.compile(r"sgnv(\d+)"), lambda m: f"\\operatorname{{sgn}}(v_{{{m[1]}}})"),
    (re.compile(r"sgn(\d+)"), lambda m: f"\\operatorname{{sgn}}(\\dot{{q}}_{{{m[1]}}})"),
    (re.compile(r"([sc])a(?:lpha)?_?(\d+)"), lambda m: f"{m[1]}_{{\\alpha_{{{m[2]}}}}}"),
    (re.compile(r"([A-Za-z]+)(\d+(?:,\d+)+)"), _apart),
    (re.compile(r"([A-Za-z])_(\d+)"), lambda m: f"{m[1]}_{{{m[2]}}}"),
    (re.compile("(" + "|".join(GREEK) + r")(\d*[a-z]{0,2})"), _indexed),
    (re.compile(r"[A-Za-z][a-z]{0,2}\d+[a-zA-Z]{0,2}|[A-Za-z][a-z]?"), _indexed),
)


@dataclass(frozen=True)
class Style(Printer):
    brackets = ("\\left(", "\\right)")
    heads = ("\\cos", "\\sin", "\\operatorname{sign}")

    def name(self, word: str) -> str:
        return name(word)

    def number(self, x: Fraction) -> str:
        if x.denominator == 1:
            return str(x.numerator)
        if self.digits is None:
            return f"\\frac{{{x.numerator}}}{{{x.denominator}}}"
        mantissa, _, exponent = decimal(x, self.digits).partition("e")
        return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa

    def rate(self, coordinate: str, order: int) -> str:
        letter, _, index = name(coordinate).partition("_")
        return f"\\{'d' * order}ot{{{letter}}}" + (f"_{index}" if index else "")

    def quotient(self, above: Expression, below: Expression) -> str:
        return f"\\frac{{{self.write(above)}}}{{{self.write(below)}}}"

    def call(self, head: str, argument: Expression) -> str:
        inside = self.write(argument)
        if head == "sqrt":
            return f"\\sqrt{{{inside}}}"
        known = head in ("sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "cot", "sec", "csc")
        named = f"\\{head}" if known else f"\\operatorname{{{head}}}"
        return f"{named} {inside}" if isinstance(argument, Name) else named + self.bracketed(inside)

    def power(self, base: Expression, exponent: int) -> str:
        if isinstance(base, Function) and base.head in ("sin", "cos", "tan"):
            inside = self.write(base.argument)
            plain = isinstance(base.argument, Name)
            return f"\\{base.head}^{{{exponent}}}" + (f" {inside}" if plain else self.bracketed(inside))
        if isinstance(base, Cosine | Sine) and (self.long or not has_index(base.angle)):
            head = self.heads[isinstance(base, Sine)]
            return f"{head}^{{{exponent}}}" + self.bracketed(self.write(angle_sum(base.angle, base.letter)))
        return f"{self.factor(base)}^{{{exponent}}}"

    def function(self, short: str, head: str, angle: Angle, letter: str) -> str:
        if not self.long and has_index(angle):
            return f"{short}_{{{joint_index(angle)}}}"
        return head + self.bracketed(self.write(angle_sum(angle, letter)))

    def pieces(self, term: Expression, first: bool, width: int) -> list[str]:
        """A summand between whose pieces a line may end: one piece, unless it is wider than a line and has a sum in
        brackets, which is then cut between its own summands."""
        written = self.term(term, first)
        c, rest = coefficient(term)
        factors = rest.factors if isinstance(rest, Product) else (rest,)
        sums = [f for f in factors if isinstance(f, Sum)]
        if printed_length(written) <= width or not sums:
            return [written]
        cut = [f for f in sums if printed_length(self.write(f)) > width / 2] or [max(sums, key=size)]
        places = {id(f): Name(f"\\cut{{{k}}}") for k, f in enumerate(cut)}
        marked = self.term(times(number(c), *(places.get(id(f), f) for f in factors)), first)
        start, *ends = CUT.split(marked)
        out = [start]
        for f, after in zip(cut, ends, strict=True):
            inside = [piece for summand in self.summands(f, width) for piece in summand]
            out[-1] += f"\\bigl({inside[0]}"
            out += inside[1:]
            out[-1] += f"\\bigr){after}"
        return out

    def summands(self, expression: Expression, width: int) -> list[list[str]]:
        """The pieces of each summand."""
        return [self.pieces(t, k == 0, width) for k, t in enumerate(terms_of(expression) or (expression,))]

    def lines(self, left: str, right: Expression, width: int) -> list[str]:
        """left = right, a long sum as several lines."""
        first, *rest = break_sum((piece for summand in self.summands(right, width) for piece in summand), width)
        return [f"{name(left)} &= {first}", *(f"&\\quad{row}" for row in rest)]


def break_sum(pieces: Iterable[str], width: float) -> list[str]:
    """Pieces of LaTeX as lines of about so many letters."""
    rows, used = [""], 0.0
    for piece in pieces:
        length = printed_length(piece)
        if used and used + length > width:
            rows.append("")
            used = 0.0
        rows[-1] += piece
        used += length
    return rows


def printed_length(written: str) -> float:
    """About how wide it is printed, in letters: indices are small, signs have room around them; of a column, its widest
    row counts."""
    written = COLUMN.sub(lambda found: max(found[1].split(r"\\"), key=len), written)
    small = sum(len(COMMAND.sub("", found)) for found in INDEX.findall(written))
    signs = written.count(" + ") + written.count(" - ")
    return len(COMMAND.sub("", written)) - 0.35 * small + 1.3 * signs + 0.4 * written.count("\\left(")


def has_index(angle: Angle) -> bool:
    """Whether c_{12} can stand for it."""
    return all(multiple == 1 for _, multiple in angle)


def joint_index(angle: Angle) -> str:
    """12, or 1,12 where a joint's number has two digits."""
    joints = [str(joint) for joint, _ in angle]
    return ("," if any(len(joint) > 1 for joint in joints) else "").join(joints)
