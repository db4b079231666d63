r"""Expressions as LaTeX: a + 2 b c_{2}, matrices, and equations broken into lines.

Names are read as people write them: r1 is r_{1}, lc1 is l_{c1}, I1zz is I_{1,zz}, qd1 is \dot{q}_{1}, alpha2 is
\alpha_{2}, and sa2, ca2 are the sine and cosine of the fixed angle \alpha_{2}.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dalembert.symbolic.collect import split_name
from dalembert.symbolic.decimals import decimal
from dalembert.symbolic.expression import (
    Angle,
    Cosine,
    Expression,
    Sine,
    terms_of,
)
from dalembert.symbolic.greek import GREEK
from dalembert.symbolic.printer import Printer
from dalembert.symbolic.text import angle_sum

WIDTH = 90
"""Characters of a line as printed, roughly, after which a sum goes on in the next."""
COMMAND = re.compile(r"\\(left|right|dot|ddot|mathrm|frac)\b|[{}_^ ]|\\(?=[a-z])")


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


def _indexed(found: re.Match[str]) -> str:
    """r1, lc1, I1zz, Fs, alpha2."""
    letters, digits, rest = split_name(found[0])
    base, below = (GREEK[letters][1], "") if letters in GREEK else (letters[:1], letters[1:])
    index = ",".join(part for part in (below + digits, rest) if part)
    return f"{base}_{{{index}}}" if index else base


# What a name looks like → its LaTeX; the first that fits.
PATTERNS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"qdd_?(\d+)"), lambda m: f"\\ddot{{q}}_{{{m[1]}}}"),
    (re.compile(r"qd_?(\d+)"), lambda m: f"\\dot{{q}}_{{{m[1]}}}"),
    (re.compile(r"sgn(\d+)"), lambda m: f"\\operatorname{{sgn}}(\\dot{{q}}_{{{m[1]}}})"),
    (re.compile(r"([sc])a(?:lpha)?_?(\d+)"), lambda m: f"{m[1]}_{{\\alpha_{{{m[2]}}}}}"),
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

    def power(self, base: Expression, exponent: int) -> str:
        if isinstance(base, Cosine | Sine) and (self.long or not has_index(base.angle)):
            head = self.heads[isinstance(base, Sine)]
            return f"{head}^{{{exponent}}}" + self.bracketed(self.write(angle_sum(base.angle)))
        return f"{self.factor(base)}^{{{exponent}}}"

    def function(self, short: str, head: str, angle: Angle) -> str:
        if not self.long and has_index(angle):
            return f"{short}_{{{joint_index(angle)}}}"
        return head + self.bracketed(self.write(angle_sum(angle)))

    def lines(self, left: str, right: Expression, width: int) -> list[str]:
        """left = right, a long sum as several lines."""
        result, used = [f"{name(left)} &= "], 0
        for k, term in enumerate(terms_of(right) or (right,)):
            written = self.term(term, k == 0)
            length = len(COMMAND.sub("", written))
            if used and used + length > width:
                result.append("&\\quad" + written)
                used = length
            else:
                result[-1] += written
                used += length
        return result


def has_index(angle: Angle) -> bool:
    """Whether c_{12} can stand for it."""
    return all(multiple == 1 for _, multiple in angle)


def joint_index(angle: Angle) -> str:
    """12, or 1,12 where a joint's number has two digits."""
    joints = [str(joint) for joint, _ in angle]
    return ("," if any(len(joint) > 1 for joint in joints) else "").join(joints)
