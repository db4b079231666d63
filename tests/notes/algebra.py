"""Formulas about any arm, as printed in LaTeX, evaluated with NumPy.

`hold(text, world, state)` reads an equation such as `P = I_n - A^T(AM^{-1}A^T)^{-1}AM^{-1}` and says by how much its
sides differ where the letters mean what the world says. A world gives every letter as an array or as a function of the
state (q, q̇, q̈); a dot that it does not know, d/dt, ∂/∂q and ∂/∂q̇ are central differences. Letters i, j, k, l in
subscripts are indices: those that no sum binds run over all their values.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

INDICES = "ijkl"
STEP = 2e-3
STATE = {"q", "theta", "q'", "theta'", "q''", "theta''", "V", "v", "x'", "t", "Q"}
SPACES = re.compile(r"\\(?:left|right|big|Big|,|;|!|quad|qquad|displaystyle|limits)(?![a-zA-Z])")
FONTS = re.compile(r"\\(?:boldsymbol|mathbf|mathcal|mathrm|mathsf|mathfrak|text|operatorname)\s*\{([^{}]*)\}")
TOKEN = re.compile(r"\\[a-zA-Z]+|\\\\|\\.|\d+(?:\.\d+)?|[A-Za-z]|\S")


@dataclass(frozen=True)
class State:
    """Where the letters are evaluated: q, q̇, q̈ as columns."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def later(self, t: float) -> State:
        return State(self.q + t * self.v + t * t / 2 * self.a, self.v + t * self.a, self.a)


World = Mapping[str, Any]


def derivative(f: Callable[[float], Any]) -> Any:
    """f'(0), of fourth order."""
    h = STEP
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


class Formula:
    """One printed line."""

    def __init__(self, text: str, world: World, size: int) -> None:
        self.world, self.size = world, size
        while FONTS.search(text):
            text = FONTS.sub(r" \1 ", text)
        text = SPACES.sub(" ", text).replace("\\{", "(").replace("\\}", ")")
        self.tokens = [*TOKEN.findall(text), "end"]
        self.at = 0

    # reading: every method gives a function of (state, values of the indices)
    def peek(self, k: int = 0) -> str:
        return self.tokens[self.at + k] if self.at + k < len(self.tokens) else "end"

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if wanted and token != wanted:
            raise ValueError(f"{wanted} expected before {' '.join(self.tokens[self.at : self.at + 8])}")
        self.at += 1
        return token

    def sides(self) -> list[Any]:
        found = [self.sum()]
        while self.peek() in ("=", "\\equiv"):
            self.take()
            found.append(self.sum())
        while self.peek() in (".", ","):
            self.take()
        self.take("end")
        return found

    def sum(self) -> Any:
        terms = []
        while not terms or self.peek() in ("+", "-"):
            sign = -1.0 if self.peek() == "-" else 1.0
            if self.peek() in ("+", "-"):
                self.take()
            terms.append((sign, self.product()))
        return lambda s, i: add([sign * term(s, i) for sign, term in terms])

    def product(self) -> Any:
        factors: list[tuple[str, Any]] = []
        while True:
            token = self.peek()
            if token in ("\\otimes", "\\times", "/"):
                self.take()
                factors.append((token, self.factor()))
            elif token in ("end", "+", "-", "=", ")", "]", "}", "&", "\\\\", ",", ".", "\\equiv", "\\end"):
                break
            elif token == "\\sum":
                factors.append(("", self.big_sum()))
                break
            elif self.operator():
                factors.append(("", self.rate_of(self.operator(take=True))))
            else:
                factors.append(("", self.factor()))
        if not factors:
            raise ValueError(f"nothing before {' '.join(self.tokens[self.at : self.at + 8])}")

        def value(s: State, i: dict[str, int]) -> Any:
            x = factors[0][1](s, i)
            for how, f in factors[1:]:
                y = f(s, i)
                x = OPERATIONS[how](x, y)
            return x

        return value

    def big_sum(self) -> Any:
        self.take("\\sum")
        bound: list[str] = []
        most = "n"
        while self.peek() in ("_", "^"):
            kind, body = self.take(), self.raw()
            if kind == "_":
                bound = [c for c in body if c in INDICES]
            else:
                most = body[-1]
        inner = self.product()
        count = int(most) if most.isdigit() else self.world.get(f"#{most}", self.size)

        def value(s: State, i: dict[str, int]) -> Any:
            ranges = [range(count)] * len(bound)
            return add([inner(s, i | dict(zip(bound, k, strict=True))) for k in itertools.product(*ranges)])

        return value

    def raw(self) -> list[str]:
        """The tokens of a group in braces, or the next one."""
        if self.peek() != "{":
            return [self.take()]
        self.take()
        found, depth = [], 1
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")
            found.append(token)
        return found[:-1]

    def operator(self, take: bool = False) -> str:
        r"""\frac{d}{dt}, \frac{\partial}{\partial x}: what is differentiated by, if one stands here."""
        if self.peek() != "\\frac":
            return ""
        at = self.at
        self.take()
        above, below = self.raw(), self.raw()
        if above == ["d"] and below == ["d", "t"]:
            by = "t"
        elif above == ["\\partial"] and below[:1] == ["\\partial"]:
            by = " ".join(below[1:])
        else:
            by = ""
        if not (take and by):
            self.at = at
        return by

    def rate_of(self, by: str) -> Any:
        """d/dt is of the next factor: a bracket, a letter, another derivative."""
        inner = self.rate_of(self.operator(take=True)) if self.operator() else self.factor()
        return self.differentiated(inner, by)

    def differentiated(self, inner: Any, by: str) -> Any:
        if by == "t":
            return lambda s, i: derivative(lambda t: inner(s.later(t), i))
        name, indices = Formula(by, self.world, self.size).name()
        field = {"": "q", "'": "v"}[name.removeprefix("theta").removeprefix("q").removeprefix("y")]

        def one(s: State, i: dict[str, int], k: int) -> Any:
            unit = np.eye(self.size)[:, [k]]
            return derivative(lambda t: inner(replace(s, **{field: getattr(s, field) + t * unit}), i))

        if indices:
            return lambda s, i: one(s, i, place(indices[0], i))
        return lambda s, i: np.vstack([np.atleast_2d(one(s, i, k)) for k in range(self.size)])

    def factor(self) -> Any:
        x = self.atom()
        while self.peek() == "^":
            self.take()
            power = "".join(t for t in self.raw() if t not in "{}")
            if power not in POWERS:
                raise ValueError(f"power {power}")
            x = (lambda inner, f: lambda s, i: f(inner(s, i)))(x, POWERS[power])
            self.arguments()
        return x

    def atom(self) -> Any:
        token = self.peek()
        if re.fullmatch(r"\d+(\.\d+)?", token):
            number = float(self.take())
            return lambda s, i: number
        if token == "\\frac":
            return self.fraction()
        if token == "\\begin":
            return self.matrix()
        if token in ("(", "[", "{"):
            self.take()
            if self.peek() in ("a", "ad") and self.peek(1) == "d" and self.peek(2) in ("_", "}"):
                return self.adjoint()
            inner = self.sum()
            self.take({"(": ")", "[": "]", "{": "}"}[token])
            return inner
        if token in ("\\det", "s") and (token == "\\det" or self.peek(1) == "g"):
            function = np.linalg.det if token == "\\det" else np.sign
            self.at += 1 if token == "\\det" else 3
            argument = self.factor()
            return lambda s, i: function(argument(s, i))
        if token == "\\delta":
            self.take()
            name, indices = self.name()
            return self.letter("δ" + name, indices)
        name, indices = self.name()
        return self.letter(name, indices)

    def adjoint(self) -> Any:
        self.at += 2
        self.take("_")
        inner = Formula(" ".join(self.raw()), self.world, self.size).sum()
        self.take("]")
        return lambda s, i: self.world["ad"](inner(s, i))

    def fraction(self) -> Any:
        self.take()
        above, below = self.raw(), self.raw()
        if above[:1] == ["\\partial"]:
            inner = Formula(" ".join(above[1:]), self.world, self.size).sum()
            return self.differentiated(inner, " ".join(below[1:]))
        if above[:1] == ["d"] and below == ["d", "t"]:
            return self.differentiated(Formula(" ".join(above[1:]), self.world, self.size).sum(), "t")
        top, bottom = (Formula(" ".join(x), self.world, self.size).sum() for x in (above, below))
        return lambda s, i: top(s, i) / bottom(s, i)

    def matrix(self) -> Any:
        self.take()
        self.raw()
        rows: list[list[Any]] = [[]]
        while self.peek() != "\\end":
            if self.peek() == "\\\\":
                self.take()
                rows.append([])
            elif self.peek() == "&":
                self.take()
            else:
                rows[-1].append(self.sum())
        self.take()
        self.raw()
        return lambda s, i: block([[entry(s, i) for entry in row] for row in rows])

    def name(self) -> tuple[str, list[str]]:
        """A letter with its dots and labels, and its indices."""
        token = self.take()
        dots = {"\\dot": "'", "\\ddot": "''", "\\bar": "~", "\\overline": "~"}.get(token, "")
        if dots:
            inner = [t for t in self.raw() if t not in "{}"]
            base = "".join(inner).lstrip("\\").replace("_", "")
        else:
            if re.fullmatch(r"\\?[A-Za-z]+", token):
                base = token.lstrip("\\")
            else:
                raise ValueError(f"{token} is no letter")
        label, indices = "", []
        if self.peek() == "_":
            self.take()
            inside = [t.lstrip("\\") for t in self.raw() if t not in ("{", "}", "_", ",")]
            whole = "".join(inside)
            if f"{base}_{whole}" in self.world:
                label = f"_{whole}"
            else:
                indices = [t for t in inside if t in INDICES or t.isdigit()]
                rest = "".join(t for t in inside if t not in indices)
                label = f"_{rest}" if rest else ""
        return base + label + dots + self.arguments(), indices

    def arguments(self) -> str:
        """Skips (q, q̇) after a letter, as everything is evaluated at the state; "@d" if it is the wanted one."""
        if self.peek() != "(":
            return ""
        at, depth = self.at, 0
        while True:
            token = self.take()
            depth += (token == "(") - (token == ")")
            if token == "end":
                raise ValueError("a bracket is not closed")
            if not depth:
                break
        inside = " ".join(self.tokens[at + 1 : self.at - 1])
        pieces = [re.sub(r"\\dot\s*\{\s*(.*?)\s*\}", r"\1'", p) for p in inside.split(",")]
        pieces = [re.sub(r"\\ddot\s*\{\s*(.*?)\s*\}", r"\1''", p) for p in pieces]
        pieces = [re.sub(r"[\\{}\s]", "", p) for p in pieces]
        if all(p in ("q_d", "q'_d") for p in pieces):
            return "@d"
        if not all(p in STATE for p in pieces):
            self.at = at
        return ""

    def letter(self, name: str, indices: list[str]) -> Any:
        known = f"{name}#{len(indices)}"
        if known not in self.world:
            known = name
        while known.endswith("'") and known not in self.world:
            known = known[:-1]
        if known not in self.world:
            raise ValueError(f"{name} is not known here")
        given, dots = self.world[known], len(name) - len(known) if "#" not in known else 0

        def value(s: State, i: dict[str, int]) -> Any:
            def at(t: State) -> Any:
                return given(t) if callable(given) else given

            def rate(t: State, order: int) -> Any:
                return at(t) if not order else derivative(lambda dt: rate(t.later(dt), order - 1))

            x = rate(s, dots)
            if not indices:
                return x
            x = np.asarray(x)
            picked = x[tuple(place(k, i) for k in indices)]
            return picked[0] if x.ndim == 2 and len(indices) == 1 and picked.shape == (1,) else picked

        return value


def place(index: str, values: Mapping[str, int]) -> int:
    return int(index) - 1 if index.isdigit() else values[index]


def plain(x: Any) -> Any:
    x = np.asarray(x, dtype=float)
    return float(x.reshape(())) if x.size == 1 else x


def add(terms: list[Any]) -> Any:
    total: Any = plain(terms[0])
    for term in map(plain, terms[1:]):
        if np.ndim(total) != np.ndim(term) and 0.0 not in (np.size(total) == 1 and total, np.size(term) == 1 and term):
            raise ArithmeticError("a number is added to a vector")
        total = total + term
    return total


def multiply(x: Any, y: Any) -> Any:
    x, y = plain(x), plain(y)
    return x * y if np.ndim(x) == 0 or np.ndim(y) == 0 else x @ y


def cross(x: Any, y: Any) -> Any:
    return np.cross(np.ravel(x), np.ravel(y))[:, None]


def divide(x: Any, y: Any) -> Any:
    return plain(x) / plain(y)


def block(rows: list[list[Any]]) -> Any:
    """A matrix of numbers, or of blocks, where 0 and 1 are as large as their row and column."""
    if all(np.size(x) == 1 for row in rows for x in row):
        return np.array([[plain(x) for x in row] for row in rows])
    heights = [max(np.shape(x)[0] for x in row if np.ndim(x) == 2) for row in rows]
    widths = [
        max((np.shape(row[k])[1] for row in rows if np.ndim(row[k]) == 2), default=1) for k in range(len(rows[0]))
    ]
    full = [
        [x if np.ndim(x) == 2 else plain(x) * np.eye(h, w) for x, w in zip(row, widths, strict=True)]
        for row, h in zip(rows, heights, strict=True)
    ]
    return np.block(full)


def inverse(x: Any) -> Any:
    return 1 / x if np.ndim(x) == 0 else np.linalg.inv(x)


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"": multiply, "/": divide, "\\times": cross, "\\otimes": np.kron}
POWERS: dict[str, Callable[[Any], Any]] = {
    "eT": lambda x: x.T,  # f^e, of an external force
    "T": lambda x: x if np.ndim(x) == 0 else x.T,
    "-1": inverse,
    "-T": lambda x: inverse(x).T,
    "2": lambda x: x * x if np.ndim(x) == 0 else x @ x,
    "-2": lambda x: inverse(x * x if np.ndim(x) == 0 else x @ x),
    "+": np.linalg.pinv,
    "\\dagger": np.linalg.pinv,
    "0": lambda x: x,
}


def hold(text: str, world: World, state: State) -> float:
    """The largest difference between the sides of an equation, for all values of its free indices, relative to size."""
    size = len(state.q)
    sides = Formula(text, world, size).sides()
    free = sorted(set(re.findall(rf"(?<![a-zA-Z\\])[{INDICES}](?![a-zA-Z])|(?<=[_{{])[{INDICES}]{{1,3}}(?=\}})", text)))
    letters = sorted({c for word in free for c in word})
    worst = 0.0
    for values in itertools.product(range(size), repeat=len(letters)):
        found = [plain(side(state, dict(zip(letters, values, strict=True)))) for side in sides]
        scale = max(1.0, *(float(np.max(np.abs(x))) for x in found))
        for x in found[1:]:
            if np.ndim(x) and np.ndim(found[0]) and np.shape(x) != np.shape(found[0]):
                raise ArithmeticError("the sides have different shapes")
            worst = max(worst, float(np.max(np.abs(x - found[0]))) / scale)
    return worst
