"""How exercises write numbers and matrices in LaTeX: exact where a hand would keep it exact, else four digits."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

_ROOTS = (1, 2, 3)


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
