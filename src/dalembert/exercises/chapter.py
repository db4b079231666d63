"""Families of exercises whose words stand in a Markdown file beside the module that draws their numbers.

    # damping | 1 | How a mass on a spring comes to rest        name, level and title of a family
    A mass $m = {{m}}\\ \\mathrm{kg}$ … Find `omega`.             the text, with places for what was drawn
    ? omega; unit: rad/s; points: 2                             a blank; also symbols:, choices:, size:, tolerance:
    ! 0.5 That is $k/m$: the root is missing.                   a wrong answer: its share of the points, what it reveals
    > Divide by $m$.                                            a hint
    = $\\omega = \\sqrt{k/m} = {{omega}}$.                        a step of the solution

The function of the same name in the module returns what it drew by name; under the name of a blank the right answer
and, in the order of the file, the wrong ones. In a text, {{x}} is a number or a matrix, {{+x}} a later term of a sum,
{{(x)}} a factor; words are put in as they are. What is no blank becomes the values of the exercise.

How exercises write numbers and matrices in LaTeX: exact where a hand would keep it exact, else four digits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.exercises.exercise import Answer, Exercise, Family, Wrong, family

_ROOTS = (1, 2, 3)
T = TypeVar("T")
Random = np.random.Generator
Drawn = Mapping[str, Any]
SPLIT = re.compile(r"\n(?=[?!>=] )")
PLACE = re.compile(r"\{\{([+(]?)(\w+)\)?\}\}")


def write(x: float | int, digits: int = 4) -> str:
    """A number: 0.35, -2, \\frac{\\sqrt{3}}{2}, \\frac{1}{3}; what is neither a short decimal nor a simple fraction of
    √1, √2, √3 is rounded."""
    x = float(x)
    if abs(x - round(x, 3)) < 1e-12:
        return f"{round(x, 3) + 0.0:g}"
    for root in _ROOTS:
        part = Fraction(x / root**0.5).limit_denominator(12)
        if abs(float(part) * root**0.5 - x) < 1e-12 and abs(part.numerator) < 100:
            top = f"{abs(part.numerator)}" if root == 1 else f"\\sqrt{{{root}}}"
            if root > 1 and abs(part.numerator) > 1:
                top = f"{abs(part.numerator)}" + top
            shown = top if part.denominator == 1 else f"\\frac{{{top}}}{{{part.denominator}}}"
            return ("-" if x < 0 else "") + shown
    return f"{x:.{digits}g}"


def signed(x: float | int) -> str:
    """A number with its sign, as a later term of a sum: + 2, - 0.5."""
    return f"- {write(-x)}" if x < 0 else f"+ {write(x)}"


def bracket(x: float | int) -> str:
    """A number as a factor: in brackets if it is negative."""
    return f"({write(x)})" if x < 0 else write(x)


def matrix(rows: ArrayLike) -> str:
    """A matrix, or a vector as a column, of numbers or of LaTeX."""
    array = np.array(rows, dtype=object)
    lines = [[x] for x in array] if array.ndim == 1 else array
    cells = [" & ".join(x if isinstance(x, str) else write(x) for x in line) for line in lines]
    return "\\begin{bmatrix} " + r" \\ ".join(cells) + " \\end{bmatrix}"


def degrees(angle: float | int) -> str:
    """An angle given in degrees: 30^\\circ."""
    return f"{write(angle)}^\\circ"


def add_up(*terms: tuple[float, str]) -> str:
    """A sum in plain text, from coefficients and factors: 3*qdd - 0.5*g*sin(q); terms with zero are left out."""
    shown = ""
    for x, factor in terms:
        size = f"{abs(x):.12g}"
        one = factor if size == "1" and factor else f"{size}*{factor}" if factor else size
        if x:
            shown += (" - " if shown else "-") + one if x < 0 else (" + " if shown else "") + one
    return shown or "0"


def tex(formula: str) -> str:
    """The LaTeX of a formula in plain text."""
    from dalembert.symbolic.formula import read_formula, write_formula

    numbered = re.sub(r"\bq(d{0,2})\b", r"q\g<1>1", formula)  # q alone has rates as q1 has
    shown = write_formula(read_formula(numbered), "latex").replace("\\left", "").replace("\\right", "")
    shown = re.sub(r"_\{(\w)\}", r"_\1", shown)
    return shown if numbered == formula else shown.replace("_1", "")


WRITERS: dict[str, Callable[[Any], str]] = {
    "+": signed,
    "(": bracket,
    "": lambda x: matrix(x) if np.ndim(x) else write(x),
}


def draw(random: Random, *options: T) -> T:
    """One of the options."""
    return options[int(random.integers(len(options)))]


def chapter(file: str, topic: str) -> Callable[[Callable[[Random], Drawn]], Family]:
    """A decorator that makes families of the functions of a module, with the words of the Markdown file beside it."""
    text = Path(file).with_suffix(".md").read_text(encoding="utf-8-sig")
    sheets = dict(read_sheet(part) for part in text.split("\n# ")[1:])

    def register(make: Callable[[Random], Drawn]) -> Family:
        name = make.__name__.replace("_", "-")
        level, title, parts = sheets[name]

        def variant(random: Random) -> Exercise:
            return fill(title, parts, make(random))

        variant.__doc__ = title
        return family(name, topic, level)(variant)

    return register


def read_sheet(part: str) -> tuple[str, tuple[int, str, list[str]]]:
    """Name, level, title and parts (the text first) of a family, from its piece of a chapter's file."""
    head, _, body = part.partition("\n")
    name, level, title = (word.strip() for word in head.split("|"))
    return name, (int(level), title, [p.strip() for p in SPLIT.split("\n" + body.strip())])


def fill(title: str, parts: list[str], drawn: Drawn) -> Exercise:
    """The exercise that a sheet's parts make of what was drawn."""
    shown = {k: v[0] if isinstance(v, tuple) else v for k, v in drawn.items()}

    def place(found: re.Match[str]) -> str:
        value = shown[found[2]]
        return value if isinstance(value, str) else WRITERS[found[1]](value)

    filled = [PLACE.sub(place, p) for p in parts]
    items = {mark: [p[2:] for p in filled[1:] if p[0] == mark] for mark in "?>="}
    answers = tuple(read_blanks(filled[1:], drawn))
    given = {k: v for k, v in shown.items() if k not in {a.name for a in answers}}
    return Exercise(title, filled[0], answers, tuple(items[">"]), tuple(items["="]), given)


def read_blanks(parts: list[str], drawn: Drawn) -> Iterator[Answer]:
    """The blanks of a sheet, each with its wrong answers: those that happen to be right for the numbers drawn, or to
    equal another wrong one, are left out."""
    blanks = [k for k, p in enumerate(parts) if p[0] == "?"]
    for k in blanks:
        name, *options = (word.strip() for word in parts[k][2:].split(";"))
        pairs = (option.split(":", 1) for option in options)
        more = {key: CONVERTERS.get(key, str)(words.strip()) for key, words in pairs}
        right, *values = drawn[name]
        told = [p[2:] for p in takewhile(lambda p: p[0] == "!", parts[k + 1 :])]
        kept: list[Wrong] = []
        apart = max(0.03, 2.5 * more.get("tolerance", 0.01))
        for value, words in zip(values, told, strict=True):
            credit = re.match(r"0\.\d+ ", words)
            if not any(same(value, other, apart) for other in (right, *(w.value for w in kept))):
                kept.append(Wrong(value, words[credit.end() if credit else 0 :], float(credit[0]) if credit else 0.0))
        text = isinstance(np.ravel(np.array(right, dtype=object))[0], str)
        kind = "matrix" if np.ndim(right) else "choice" if "choices" in more else "formula" if text else "number"
        yield Answer(name, kind, right, wrong=tuple(kept), **({} if text else {"size": size(right)}) | more)


CONVERTERS: dict[str, Callable[[str], Any]] = {  # what is not listed stays text
    "points": int,
    "tolerance": float,
    "symbols": lambda words: tuple(words.split()),
    "choices": lambda words: tuple(word.strip() for word in words.split(" / ")),
}


def same(a: Any, b: Any, tolerance: float) -> bool:
    """Whether a grader of this tolerance, relative to the largest entry, could take one answer for the other."""
    if np.shape(a) != np.shape(b):
        return False
    if isinstance(np.ravel(np.array(a, dtype=object))[0], str):
        return bool(a == b)
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    return bool(np.abs(x - y).max() <= tolerance * max(np.abs(x).max(), np.abs(y).max()))


def size(value: Any) -> str:
    """How large a number is, so that who has something else knows to look for a slip."""
    largest = float(np.abs(np.asarray(value, dtype=float)).max())
    if largest == 0.0:
        return ""
    power = math.floor(math.log10(largest) + 1e-9)
    between = f"between {10.0**power:g} and {10.0 ** (power + 1):g} in size"
    return f"a matrix whose largest entry is {between}" if np.ndim(value) else between
