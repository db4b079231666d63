"""Numbers as students write them, with their units: 0.35, 35 N cm, 1/3, sqrt(2)/2 m, 2π/3, 30°, -0.5 m/s.

A unit is a factor to SI and its powers of kg, m, s, A. Angles have no dimension: a radian is 1, a hertz 2π rad/s.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass

from dalembert.errors import InputError, UnknownNameError

LONGEST = 2000  # characters of an answer
LONGEST_UNIT, LONGEST_TAIL = 8, 60  # letters of a unit without a blank; characters of a unit
SHOWN = 40  # characters of an answer that a sentence repeats

Dimension = tuple[int, int, int, int]  # powers of kg, m, s, A
PREFIXES = {"n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3, "c": 1e-2, "d": 0.1, "k": 1e3, "M": 1e6, "G": 1e9}
UNITS: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, (0, 1, 0, 0)),
    "g": (1e-3, (1, 0, 0, 0)),
    "s": (1.0, (0, 0, 1, 0)),
    "A": (1.0, (0, 0, 0, 1)),
    "N": (1.0, (1, 1, -2, 0)),
    "J": (1.0, (1, 2, -2, 0)),
    "W": (1.0, (1, 2, -3, 0)),
    "V": (1.0, (1, 2, -3, -1)),
    "Ω": (1.0, (1, 2, -3, -2)),
    "H": (1.0, (1, 2, -2, -2)),
    "F": (1.0, (-1, -2, 4, 2)),
    "T": (1.0, (1, 0, -2, -1)),
    "Pa": (1.0, (1, -1, -2, 0)),
    "rad": (1.0, (0, 0, 0, 0)),
    "Hz": (2 * math.pi, (0, 0, -1, 0)),
}
UNPREFIXED: dict[str, tuple[float, Dimension]] = {
    "deg": (math.pi / 180, (0, 0, 0, 0)),
    "rev": (2 * math.pi, (0, 0, 0, 0)),
    "rpm": (2 * math.pi / 60, (0, 0, -1, 0)),
    "min": (60.0, (0, 0, 1, 0)),
    "h": (3600.0, (0, 0, 1, 0)),
    "%": (0.01, (0, 0, 0, 0)),
    "dB": (1.0, (0, 0, 0, 0)),
}
WORDS = {"°": "deg", "degree": "deg", "radian": "rad", "rad": "rad", "deg": "deg", "rev": "rev", "meter": "m"}
WORDS |= {"metre": "m", "newton": "N", "kilogram": "kg", "gram": "g", "second": "s", "sec": "s", "volt": "V"}
WORDS |= {"ampere": "A", "amp": "A", "ohm": "Ω", "joule": "J", "watt": "W", "hertz": "Hz", "hz": "Hz", "turn": "rev"}
WORDS |= {"percent": "%"}
_PART = re.compile(r"\s*(?:(?P<name>[A-Za-zµΩ°%]+)(?:\^?[({]?(?P<power>-?\d)[)}]?)?|(?P<mark>1?/|[()])|\*)\s*")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_DASHES = str.maketrans({"−": "-", "–": "-", "—": "-", "‐": "-", "×": "*", "·": "*", "⋅": "*", "∙": "*", "μ": "µ"})


@dataclass(frozen=True)
class Unit:
    """A factor to SI, and a dimension."""

    factor: float
    dimension: Dimension


@dataclass(frozen=True)
class Number:
    """A number read: its value as written, its unit (None if none was written), and half a step of its last digit
    if it was written as a decimal of two digits or more, else zero."""

    value: float
    unit: Unit | None
    rounding: float


def clean(text: str) -> str:
    """One spelling for signs, raised digits and LaTeX's spaces and upright words; what would be long is refused."""
    if len(text) > LONGEST:
        problem = f"your answer has {len(text)} characters, and at most {LONGEST} are read"
        raise InputError("too-large", "answer", problem=problem)
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+", lambda m: "^" + m[0].translate(_RAISED), text)
    text = unicodedata.normalize("NFKC", text.replace("½", "(1/2)").replace("Ω", "Ω")).translate(_DASHES)
    text = re.sub(r"\\(?:text|mathrm|mathsf|rm|operatorname)\s*\{([^{}]*)\}", r" \1 ", text)
    text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?|\\degree\b|\\deg\b", "°", text)
    text = re.sub(r"\\[,;:! ]|\\quad|\\qquad|~|\$", " ", text)
    text = re.sub(r"^\s*(?:about|approximately|approx\.?|roughly|ca\.?)\s+", "", text)
    return re.sub(r"\\(?:cdot|times)\b", "*", re.sub(r"\bper\b", "/", text)).strip()


def read_unit(text: str) -> Unit | None:
    """The unit that a text writes: N m, Nm, kg·m², m/s^2, N m/(rad/s); None if it writes none."""
    text = clean(text)
    factor, dimension = 1.0, [0, 0, 0, 0]
    outer, sign, k = [1], 1, 0
    while k < len(text):
        part = _PART.match(text, k)
        if part is None:
            return None
        k = part.end()
        if part["name"]:
            found = _factors(part["name"])
            for n, one in enumerate(found, 1):
                power = outer[-1] * sign * (int(part["power"] or 1) if n == len(found) else 1)
                factor *= one.factor**power
                dimension = [d + power * p for d, p in zip(dimension, one.dimension, strict=True)]
            if not found:
                return None
            sign = 1
        elif part["mark"] == "(":
            outer.append(outer[-1] * sign)
            sign = 1
        elif part["mark"] == ")" and len(outer) > 1:
            outer.pop()
        elif part["mark"] and sign == 1 and part["mark"] != ")":
            sign = -1
        elif part["mark"]:
            return None
    kg, m, s, a = dimension
    return Unit(factor, (kg, m, s, a)) if sign == 1 and len(outer) == 1 else None


def _factors(word: str) -> list[Unit]:
    """The units of one run of letters, which may be several with nothing between: Nm, Ncm, kgm; none if it is no
    unit."""
    name = WORDS.get(word, WORDS.get(word.lower().removesuffix("s"), word))
    if name in UNITS or name in UNPREFIXED:
        return [Unit(*(UNITS.get(name) or UNPREFIXED[name]))]
    if name[0] in PREFIXES and name[1:] in UNITS:
        factor, dimension = UNITS[name[1:]]
        return [Unit(PREFIXES[name[0]] * factor, dimension)]
    for k in range(1, len(word) if len(word) <= LONGEST_UNIT else 0):
        first = _factors(word[:k])
        rest = _factors(word[k:]) if first else []
        if rest:
            return first + rest
    return []


def read_number(text: str) -> Number:
    """The number that a text writes, perhaps after "x =" and with a unit behind it."""
    text = clean(text)
    body = re.split(r"[=≈≃]", text)[-1].strip()
    if not body:
        raise InputError("missing", "answer", problem="the answer contains no number")
    if re.search(r"(?i)\b(nan|inf|infinity)\b|∞|\\infty", body):
        raise InputError("not-finite", "answer", problem=f"{shorten(body)} is not a finite number")
    for k in range(max(len(body) - LONGEST_TAIL, 0), len(body) + 1):  # the longest unit at the end
        before = body[:k]
        if k == len(body) or (re.search(r"[\d.)}\s]$|pi$|π$", before[-2:]) and (body[k:].strip()[:1] not in "*(/")):
            unit = read_unit(body[k:]) if k < len(body) else None
            if unit is None and k < len(body):
                continue
            written = before.strip().strip("[]").strip()
            value = evaluate_number(written)
            if not math.isfinite(value):
                raise InputError("not-finite", "answer", problem=f"{shorten(body)} is not a finite number")
            return Number(value, unit, _rounding(written))
    raise AssertionError("the whole text is tried last")


def _rounding(written: str) -> float:
    """Half a step of the last digit of a decimal with two digits that count, or more."""
    found = re.fullmatch(r"[-+]?0*[.,]?0*(?P<digits>\d[\d.,]*)(?:e(?P<power>[-+]?\d+))?", written, re.IGNORECASE)
    if found is None or len(re.sub(r"\D", "", found["digits"])) < 2:
        return 0.0
    decimals = len(re.split("[.,]", written.lower().partition("e")[0])[-1]) if re.search("[.,]", written) else 0
    return 0.5 * 10.0 ** (min(int(found["power"] or 0), 99) - decimals)


def shorten(text: object) -> str:
    """What was written, as a sentence repeats it."""
    shown = "".join(c if c.isprintable() else "?" for c in str(text)[: SHOWN + 1])
    return f"'{shown}'" if len(shown) <= SHOWN else f"'{shown[:SHOWN]}…'"


def evaluate_number(text: str) -> float:
    """The value of 0.35, 1/3, sqrt(2)/2, 2π/3, cos(30°), \\frac{1}{2}."""
    from dalembert.symbolic.formula import evaluate, read_formula

    if re.fullmatch(r"[-+]?\d+,\d+", text):  # a decimal comma
        text = text.replace(",", ".")
    if re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?", text, re.IGNORECASE | re.ASCII):
        return float(text)
    try:
        value = evaluate(read_formula(re.sub(r"√\s*(\d+)", r"√(\1)", text)), {})
    except UnknownNameError:
        problem = f"{shorten(text)} contains a letter or a unit that is not known"
        raise InputError("unknown-name", "answer", problem=problem, remedy="Write 0.35 or 35 N cm.") from None
    if not isinstance(value, (int, float)):
        raise InputError("wrong-shape", "answer", problem=f"{shorten(text)} is not a single number")
    try:
        return float(value)
    except OverflowError:
        raise InputError("too-large", "answer", problem=f"{shorten(text)} is too large") from None
