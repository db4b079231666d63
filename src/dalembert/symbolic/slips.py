"""Which slip was it? The change of one place, or of two, that makes a wrong formula right.

A formula is a tree, and the quantity's values at P points say what every node of it should have been: where the way up
to the root has sums and products only, root = A + B x with the same A and B for whatever x a node has, so that the
value wanted of the node is x + (wanted − root)/B. A change of the node explains the formula if it gives that value at
all points. Those that people make are tried, all of a node at once; a wrong number and a missing term are solved for
(the logarithm of a product is linear in its exponents).

Two slips in different summands have effects that add up, two in different factors have ratios that multiply: a sorted
table of the effects of single changes finds the pairs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dalembert.symbolic.nodes import Array, Node, Values

FACTORS = (2, Fraction(1, 2), 3, Fraction(1, 3), 4, Fraction(1, 4), Fraction(3, 2), Fraction(2, 3))
LENGTHS = {"l", "r", "a", "b", "d", "x", "y", "z", "lc", "L", "rc", "ac", "h", "R"}
SPLIT = re.compile(r"([^\W\d_]+)_?(\d*)(\w*)")

# What each kind of slip is; the names are those that Slip.kind has.
KINDS = {
    "sign": "a sign",
    "factor": "a number in front",
    "forgotten ½": "a ½ left out",
    "sin/cos": "sine for cosine",
    "index": "the index of another joint or link",
    "l ↔ r": "a length for another: of the link for the way to its center of mass",
    "symbol": "another symbol",
    "missing term": "a term left out",
    "extra term": "a term that should not be there",
    "doubled term": "a term written twice",
    "missing factor": "a factor left out",
    "extra factor": "a factor that should not be there",
    "lost square": "a power left out",
    "extra square": "a power too many",
    "wrong frame": "an angle or axes of another frame",
    "transposed": "rows for columns",
    "degrees": "degrees for radians",
    "chain-rule term": "a rate or an inner derivative left out",
    "upside down": "a quotient upside down",
    "lost root": "a root left out",
}


@dataclass(frozen=True)
class Slip:
    """A change that makes the formula right: its kind, the part of the formula as it was written, what it should be,
    and that in words."""

    kind: str
    place: str
    should: str
    words: str

    def __str__(self) -> str:
        return self.words


class Label(NamedTuple):
    """What a change is: {} in the words stands for the place. Likelier slips cost less."""

    kind: str
    cost: float
    should: str
    words: str = "{} should be {should}"


@dataclass
class Names:
    """The names of a formula and how they hang together."""

    values: Values
    used: Sequence[str]  # in the formula or in what was derived
    angles: Mapping[str, Array]  # what sines and cosines are taken of, by text
    short: bool  # c12 rather than cos(q1 + q2)
    terms: Sequence[tuple[str, Array]] = ()  # of what was derived, multiplied out
    sums: Sequence[tuple[str, Array, bool]] = ()  # in it, and whether they are sums of rates
    summands: Sequence[tuple[str, Array]] = ()  # of what was derived, as they stand there

    def rate(self, name: str) -> str:
        """Of qd1, q1; of qdd1, qd1; of what is no rate, nothing."""
        lower = re.sub(r"d(?=_?\d*$)", "", name, count=1)
        return lower if lower != name and lower in self.values else ""

    def trigonometric(self, function: str, angle: str) -> str:
        plain = re.fullmatch(r"q(\d)(?: \+ q(\d))*", angle)
        if self.short and plain:
            return function[0] + "".join(re.findall(r"\d", angle))
        return f"{function}({angle})"

    def text(self, node: Node) -> str:
        """A sine or cosine as it is written here; whatever else as it stands."""
        if node.op == "call" and node.how[0] in ("sin", "cos"):
            return self.trigonometric(node.how[0], text_of_angle(node.parts[0]))
        return ast.unparse(node.source)

    def relation(self, name: str, other: str) -> Label:
        """What it is to have written one name for another."""
        a, b = SPLIT.fullmatch(name), SPLIT.fullmatch(other)
        if not a or not b:
            return Label("symbol", 2.5, other)
        if a[1] == b[1] and a[3] == b[3]:
            return Label("index", 1.1, other)
        if a[2] == b[2] and {a[1], b[1]} <= (LENGTHS if a[2] else {"l", "r", "lc", "rc"}):
            return Label("l ↔ r", 1.2, other)
        if self.rate(name) == other or self.rate(other) == name:
            return Label("chain-rule term", 2.0, other)
        return Label("symbol", 2.2 if a[2] == b[2] else 2.6, other)


class Batch(NamedTuple):
    """Changes of one node: its new values (k, P), and what each is."""

    node: Node
    x: Array
    labels: list[Label]


def changes(node: Node, parent: Node | None, names: Names) -> Iterator[Batch]:
    """The ways in which people slip at one place."""
    x = node.x
    term = parent is None or parent.op != "product"
    inside = parent is not None and parent.op == "call"
    rows: list[Array] = []
    labels: list[Label] = []

    def add(new: Array, kind: str, cost: float, should: str, words: str = "{} should be {should}") -> None:
        rows.append(new)
        labels.append(Label(kind, cost + 0.3 * inside, should, words))

    if term and (node.op != "number" or (parent is not None and parent.op == "sum")):
        sign = "the sign of the whole formula" if parent is None else "the sign of {}"
        twin = (
            parent is not None
            and parent.op == "sum"
            and any(p is not node and np.allclose(p.x, x, rtol=1e-9, atol=0) for p in parent.parts)
        )
        add(-x, "sign", 1.0 + 0.5 * inside + 1.5 * twin, "-{}", sign)
        for factor in FACTORS:
            kind, cost, should, words = scaled(node, factor, parent is None)
            add(float(factor) * x, kind, cost + 0.6 * (parent is not None and parent.op == "power"), should, words)
        add(x * np.pi / 180, "degrees", 1.5, "{}*pi/180", "{} is in degrees where radians are meant")
        add(x * 180 / np.pi, "degrees", 1.8, "{}*180/pi", "{} is in radians where degrees are meant")
        if parent is not None and parent.op == "sum" and len(parent.parts) > 1:
            if twin:
                add(0 * x, "doubled term", 0.9, "", "{} stands there twice")
            else:
                add(0 * x, "extra term", 1.5, "", "{} should not be there")
        for name in names.used:
            rate = bool(names.rate(name))
            kind, cost = ("chain-rule term", 1.6) if rate else ("missing factor", 1.9)
            add(x * names.values[name], kind, cost, f"{name}*{{}}", f"the factor {name} is missing at {{}}")
            add(x / names.values[name], "missing factor", 2.4, f"{{}}/{name}", f"{{}} should be divided by {name}")
        for shown, at, rates in names.sums:
            kind, cost = ("chain-rule term", 1.6) if rates else ("missing factor", 2.0)
            add(x * at, kind, cost, f"({shown})*{{}}", f"the factor ({shown}) is missing at {{}}")
        for angle, at in names.angles.items():
            for function, f in (("cos", np.cos), ("sin", np.sin)):
                shown = names.trigonometric(function, angle)
                add(x * f(at), "missing factor", 2.2, f"{{}}*{shown}", f"the factor {shown} is missing at {{}}")
    if node.op not in ("number", "product"):
        if not term:
            add(np.ones_like(x), "extra factor", 1.8, "", "the factor {} should not be there")
        add(1 / x, "upside down", 2.0, "1/{}", "{} stands upside down: it should be 1/{}")
        add(np.sqrt(abs(x)) + np.where(x < 0, np.nan, 0), "lost root", 2.5, "sqrt({})", "the root of {} is missing")
    if node.op == "power" and float(node.how[0]).is_integer():
        base, n = node.parts[0].x, int(node.how[0])
        for m in {n + 1, n - 1, 1, 2, -n} - {n, 0}:
            if m == 1:
                add(base, "extra square", 1.2, "", f"{{base}} should stand without its power {n}")
            else:
                kind = "lost square" if abs(m) > abs(n) else "extra square"
                add(base**m, kind, 1.6, f"{{base}}^{m}", f"the power of {{base}} should be {m}, not {n}")
    elif node.op in ("name", "call", "product", "sum"):
        bracket = node.op in ("product", "sum")
        add(x * x, "lost square", 1.4 if bracket else 1.0, "({})^2" if bracket else "{}^2", "{} should be squared")
        add(x * x * x, "lost square", 2.4, "{}^3", "{} should have the power 3")
    if node.op == "name":
        for name in names.used:
            if name != node.how[0]:
                add(names.values[name], *names.relation(node.how[0], name))
        siblings = (
            {p.how[0] for p in parent.parts if p.op == "name"} if parent and parent.op == "sum" else {node.how[0]}
        )
        for name in names.used:
            if name not in siblings and names.relation(node.how[0], name).kind == "index":
                turns = inside or (parent is not None and name in names.angles)
                kind = "wrong frame" if turns else "chain-rule term" if names.rate(name) else "missing term"
                for sign, at in (("+", names.values[name]), ("-", -names.values[name])):
                    add(x + at, kind, 1.5, f"{{}} {sign} {name}", "{} should be {should}")
    if node.op == "call":
        yield from _calls(node, names)
    if rows:
        yield Batch(node, np.array(rows), labels)


def _calls(node: Node, names: Names) -> Iterator[Batch]:
    function = node.how[0]
    rows: list[Array] = []
    labels: list[Label] = []
    if function in ("sin", "cos"):
        f, other = (np.sin, "cos") if function == "sin" else (np.cos, "sin")
        own = text_of_angle(node.parts[0])
        rows.append(np.cos(node.parts[0].x) if other == "cos" else np.sin(node.parts[0].x))
        labels.append(Label("sin/cos", 1.0, names.trigonometric(other, own)))
        for angle, at in names.angles.items():
            turn = np.ptp(at / node.parts[0].x)
            if angle != own and turn < 1e-9 * abs(at / node.parts[0].x).max():  # a multiple: π/180, or 2
                degrees = bool(np.isclose(abs(np.log(abs(at / node.parts[0].x)[0])), np.log(180 / np.pi)))
                words = "{} should be {should}" + ": angles are in radians here" * degrees
                rows.append(f(at))
                labels.append(
                    Label("degrees" if degrees else "factor", 1.1, names.trigonometric(function, angle), words)
                )
            elif angle != own:
                same = len(re.findall(r"\d", angle)) == len(re.findall(r"\d", own))
                alike = set(re.findall(r"[^\W\d_]+", angle)) == set(re.findall(r"[^\W\d_]+", own)) - {"pi"}
                kind = "symbol" if not alike else "index" if same else "wrong frame"
                rows.append(f(at))
                labels.append(Label(kind, 1.3 if alike else 2.7, names.trigonometric(function, angle)))
    elif function == "atan2":
        rows.append(np.arctan2(node.parts[1].x, node.parts[0].x))
        labels.append(Label("upside down", 1.2, "", "the arguments of {} are swapped"))
    elif function == "sqrt":
        rows.append(node.parts[0].x)
        labels.append(Label("extra square", 1.5, ast.unparse(node.parts[0].source), "{} should stand without the root"))
    if rows:
        yield Batch(node, np.array(rows), labels)


def text_of_angle(node: Node) -> str:
    """The argument of a sine, written in one way."""
    if node.op == "name":
        return str(node.how[0])
    if node.op == "sum" and all(p.op == "name" for p in node.parts):
        terms = sorted(zip(node.how, (p.how[0] for p in node.parts), strict=True), key=lambda t: (-t[0], t[1]))
        return "".join(f" {'+' if s > 0 else '-'} {name}" for s, name in terms).removeprefix(" + ").strip()
    return ast.unparse(node.source)


def scaled(node: Node, factor: Fraction | float, whole: bool) -> tuple[str, float, str, str]:
    """(kind, cost, what it should be, words) of a number in front that is wrong by this factor."""
    number = coefficient(node)
    f = Fraction(factor).limit_denominator(10**6)
    f = f if abs(float(f) - float(factor)) <= 1e-9 * abs(float(factor)) else Fraction(factor)
    new, shown = number * f, str(f) if f.denominator <= 10**6 else repr(float(f))
    cost = 1.0 if f in (2, Fraction(1, 2)) else 1.4 if new == 1 or f in FACTORS else 1.8
    kind = "forgotten ½" if f == Fraction(1, 2) and new.denominator == 2 else "factor"
    if whole:
        times, word = (f, "small") if abs(f) > 1 else (1 / f, "large")
        return kind, cost, f"{shown}*({{}})", f"the whole formula is {number_text(times)} times too {word}"
    if new == 1:
        dividing = abs(number) < 1
        words = f"the {'divisor' if dividing else 'factor'} {number_text(1 / number if dividing else number)} "
        return kind, cost, "", words + "should not be there, at {}"
    if number == 1:
        missing = f.denominator == 1 or kind == "forgotten ½"
        words = (
            f"a factor {number_text(f)} is missing at {{}}"
            if missing
            else f"{{}} is {number_text(1 / f)} times too large"
        )
        return kind, cost, f"{shown}*{{}}", words
    return kind, cost, f"{shown}*{{}}", f"the number in front of {{}} should be {number_text(new)}"


def coefficient(node: Node) -> Fraction:
    """The number in front of a product, one in a denominator included, without its sign."""
    if node.op == "number" and isinstance(node.how[0], float) and node.how[0]:
        exact = Fraction(node.how[0])
        return abs(exact.limit_denominator(10**6)) or abs(exact)
    if node.op == "sum" and len(node.parts) == 1:
        return coefficient(node.parts[0])
    number = Fraction(1)
    if node.op == "product":
        for e, part in zip(node.how, node.parts, strict=True):
            number *= coefficient(part) ** e
    return number


def number_text(x: Fraction) -> str:
    """½, 2, 2/3, 0.0174533"""
    named = {Fraction(1, 2): "½", Fraction(1, 4): "¼", Fraction(3, 4): "¾"}
    return named.get(x) or (str(x) if x.denominator < 1000 else f"{float(x):.6g}")
