"""Checking a whole derivation, line by line: which line is right, which is wrong, which follows from a wrong one.

Each line is matched with a step (K, ∂L/∂q̇₁, M12, an equation of motion, …) and compared with it. What is not right is
worked out again from the reader's own earlier lines: if that is what they wrote, the line follows from them and is no
second mistake. A name that is no step is the reader's own, and means what they say from there on; its line counts only
if a right line depends on it, else it was not judged.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations_with_replacement, islice, product
from typing import Any

import numpy as np

from dalembert.display import Displayed
from dalembert.errors import DalembertError, InputError
from dalembert.symbolic import balls
from dalembert.symbolic.compare import DERIVATIVE, Comparison, Quantity, agree, compare, draw, seed_of
from dalembert.symbolic.entries import MOTION
from dalembert.symbolic.formula import SHORT, read_equation, write_formula
from dalembert.symbolic.nodes import FUNCTIONS, build, replaced
from dalembert.symbolic.steps import Steps, Tree, add, call, multiply, subtract, total

VERDICTS = ("right", "own", "unjudged", "follows", "unread", "wrong")  # from the best to the worst
MOST_LINES, MOST_WAYS, CLOSEST = 500, 6, 5
ALIASES = {"D": "M", "T": "K", "KE": "K", "Ek": "K", "V": "P", "U": "P", "PE": "P", "Ep": "P", "G": "g", "phi": "g"}
ALIASES |= {"H": "M", "Q": "psi", "Tau": "tau", "τ": "tau", "Γ": "Gamma", "B": "B"}
FRACTION = re.compile(r"\\[dt]?frac\b")
FONT = re.compile(r"\\(?:mathcal|mathrm|mathbf|boldsymbol|bm|mathscr|text)\s*\{?\s*([A-Za-z])\s*\}?")
DROPPED = re.compile(
    r"\\(?:left|right|bigl?|bigr?|Bigl?|Bigr?|displaystyle|nonumber|notag|,|;|!|:| |quad|qquad)(?![a-zA-Z])"
)
ORNAMENT = re.compile(r"^\s*(?:[-*•]\s|\(?\d+[.)]\s|(?:=>|⇒|→|\\Rightarrow|\\implies|\\therefore|∴)\s*)+")
ALIGNMENT = re.compile(r"(\\begin\{(\w*matrix|array)\}.*?\\end\{\2\})|&")  # & outside of matrices
ENVIRONMENT = re.compile(r"\\(?:begin|end)\{(?:align|aligned|equation|gather|gathered|split)\*?\}|\$\$?|\\\[|\\\]")
OPERATOR = re.compile(r"\w.*?([-+*/^≈≅≃~≠<>≤≥→:]|\\(approx|simeq|neq|to|leq|geq|equiv)\b).*?\w")
WORDS = {*FUNCTIONS, "dt", "dL", "dT", "dV", "dU", "dK", "dP", "partial", "det", "qd", "qdd", "pi", "theta", "phi"}
WORDS |= {"psi", "omega", "tau", "alpha", "beta", "gamma", "Gamma"}  # words of formulas, without index
SLOPE = re.compile(r"(d/dt)?d([LKTPVU])/d(.+?)|d(?:d([LKTPVU])/d(.+?))/dt")


OPEN = {"follows": "follow from a mistake", "unread": "could not be read", "unjudged": "not judged"}
UNJUDGED = "not judged: it is no step of this derivation, and no right line depends on it"
Distance = tuple[int, float]  # how many parts of an equation differ, how far it is off


@dataclass(frozen=True)
class Judged:
    """A line of a derivation: its number (from 1), its text, the step it was taken for, and the verdict in words."""

    number: int
    line: str
    step: str
    verdict: str
    reason: str = ""
    comparison: Comparison | None = None

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.number:>3}  {self.verdict:<9}{self.step or self.line[:40]}{reason}"


@dataclass(frozen=True)
class CheckedDerivation(Displayed):
    """The verdicts on all lines. It is true if every line was judged and is right."""

    lines: tuple[Judged, ...]

    def __bool__(self) -> bool:
        return any(x.verdict == "right" for x in self.lines) and all(x.verdict in ("right", "own") for x in self.lines)

    @property
    def first(self) -> Judged | None:
        """The first wrong line."""
        return next((x for x in self.lines if x.verdict == "wrong"), None)

    def __str__(self) -> str:
        counts = {v: sum(x.verdict == v for x in self.lines) for v in VERDICTS}
        if self:
            head = f"All {counts['right']} steps are right." if counts["right"] > 1 else "This step is right."
        elif all(x.verdict == "own" for x in self.lines):
            head = "There is no step in it: write one to a line, such as M12 = …, K1 = … or dL/dqd1 = …."
        elif self.first:
            head = f"The first mistake is in line {self.first.number}, {self.first.step}."
        else:
            rest = [(counts[v], words) for v, words in OPEN.items() if counts[v]]
            head = f"No mistake was found in {counts['right']} of {len(self.lines)} lines: "
            head += ", ".join(f"{n} {words}" for n, words in rest) + "."
        return "\n".join([*map(str, self.lines), "", head])

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "right": bool(self),
            "first": self.first.number if self.first else None,
            "lines": [
                {"line": x.number, "text": x.line, "step": x.step, "verdict": x.verdict, "reason": x.reason}
                for x in self.lines
            ],
        }


def check(steps: Steps, lines: str | Sequence[str]) -> CheckedDerivation:
    """Judge the lines of a derivation."""
    if isinstance(lines, str):
        lines = lines.splitlines()
    if not isinstance(lines, Sequence) or not all(isinstance(x, str) for x in lines):
        raise InputError("wrong-type", "lines", lines, expected="text or a list of its lines")
    if len(lines) > MOST_LINES:
        problem = f"a derivation may have at most {MOST_LINES} lines, got {len(lines)}"
        raise InputError("too-large", "lines", problem=problem)
    marker = Marker(steps)
    judged = [marker.judge(*numbered) for numbered in statements(lines)]
    open_ = [x.verdict == "own" and x.number not in marker.confirmed for x in judged]
    return CheckedDerivation(
        tuple(
            replace(x, verdict="unjudged", reason=UNJUDGED) if idle else x
            for x, idle in zip(judged, open_, strict=True)
        )
    )


def statements(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Return (number of its first line, statement), without ornaments. A statement goes on in a line that starts with
    =, + or -, or that follows an = or is inside of a matrix. Prose is left out; a formula without = is a statement."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        line = ENVIRONMENT.sub(" ", line)
        line = re.sub(r"(?<!\\)#.*|(?<!\\)%.*", "", line) if not line.lstrip().startswith("\\") else line
        line = re.sub(r":=|==|≡", "=", line).strip()
        start = line.lstrip("& ")
        while found and start.startswith("=") and "=" not in found[-1][1] and _has_words(found[-1][1]):
            found.pop()
        if found and line and (start.startswith("=") or _goes_on(found[-1][1], start)):
            found[-1] = found[-1][0], f"{found[-1][1]} {line}"
        elif line:
            found.append((number, line))
    return ((number, _plain(line)) for number, line in found if "=" in line or not _is_prose(line))


def _goes_on(statement: str, line: str) -> bool:
    """Return whether a line that does not start with = belongs to the statement before it."""
    if statement.count("\\begin{") > statement.count("\\end{"):
        return True
    if "=" in line or "=" not in statement:
        return False
    opened = statement.count("[") > statement.count("]") or statement.endswith("=")
    return opened or (line[0] in "+-−" and not _is_prose(line))


def _is_prose(line: str) -> bool:
    """Return whether a line without = is no formula: it has words, or no operator between names and numbers."""
    return _has_words(line) or not OPERATOR.search(line)


def _has_words(line: str) -> bool:
    return any(x not in WORDS for x in re.findall(r"(?<![\\A-Za-z])[^\W\d_]{2,}(?![\w{])", line))


def _plain(line: str) -> str:
    """Return a statement without bullets, numbers and marks of alignment."""
    line = ORNAMENT.sub("", ALIGNMENT.sub(r"\1", line).strip().removesuffix("\\\\").strip())
    return line.strip(" .;,")


@dataclass
class Marker:
    """Goes through the lines; `given` are the reader's steps so far: their formula where it is not the right one, and
    the lines that this is owed to."""

    steps: Steps
    given: dict[str, tuple[Tree | None, frozenset[str]]] = field(default_factory=dict)
    worked: dict[str, list[tuple[Tree, frozenset[str]]]] = field(default_factory=dict)
    quantities: dict[str, Quantity] = field(default_factory=dict)
    own: dict[str, Tree] = field(default_factory=dict)
    written: dict[str, Tree] = field(default_factory=dict)  # the steps so far, by the reader's names for them
    origin: dict[str, frozenset[int]] = field(default_factory=dict)  # the lines that an own name comes from
    confirmed: set[int] = field(default_factory=set)  # lines of own names that a right line depends on

    def judge(self, number: int, line: str) -> Judged:
        sides = [side.strip() for side in line.split("=")]
        try:
            if len(sides) < 2:
                raise InputError("syntax", "line", problem="the line has no =")
            if any(not side for side in sides):
                raise InputError("syntax", "line", problem="one side of the equation is empty")
            judged = self._judge(number, line, sides)
            if judged.verdict == "right":
                self.confirm(number, line, sides, judged)
            return judged
        except DalembertError as error:
            return Judged(number, line, "", "unread", str(error))
        except RecursionError:  # by which the tree of a formula is walked
            return Judged(number, line, "", "unread", "the formula is too long to be judged as a step")

    def _judge(self, number: int, line: str, sides: list[str]) -> Judged:
        if self.repeats(self.symbol(sides[0]), sides[-1]):
            self.confirmed.add(number)
            return Judged(number, line, self.symbol(sides[0]), "own", "as in this system")
        names = [self.step(side) for side in sides]
        if names[0] is None and names[-1] is not None:
            sides, names = sides[::-1], names[::-1]
        if names[0] is None:
            own = self.symbol(sides[0])
            if own and own not in self.steps.inputs:
                tree = self.read(sides[-1])
                if isinstance(tree, ast.List) and self.known_step(own):  # a matrix M beside a mass M
                    return self.step_line(number, line, own, sides[1:])
                if not isinstance(tree, ast.List) and self.meaning(own) is not None:
                    problem = f"{own} already has a meaning in this system"
                    raise InputError("conflict", own, problem=problem, remedy="Choose another name.")
                if isinstance(tree, ast.List) and own in self.symbols:  # the position r2 beside the length r2
                    return Judged(number, line, own, "own")
                self.origin[own] = frozenset((number,)).union(*(self.origin[x] for x in self.own_names(sides[-1])))
                self.own[own] = tree
                return Judged(number, line, own, "own", "taken as you define it")
            return self.equation(number, line, sides)
        formulas = [side for side, name in zip(sides[1:], names[1:], strict=True) if name is None] or sides[1:]
        done = [side for side in formulas if not DERIVATIVE.search(side)]  # = −∂P/∂q₁ = … says how, not what
        formulas = done or formulas
        steps = dict.fromkeys(name for name in names if name)  # M12 = M21 = …
        judged = max(
            (self.step_line(number, line, name, formulas) for name in steps), key=lambda x: VERDICTS.index(x.verdict)
        )
        written = self.symbol(sides[0])
        if written and written not in self.symbols and not SHORT.fullmatch(written.lower()):
            self.written[written] = self.read(formulas[-1])
        return judged

    def confirm(self, number: int, line: str, sides: Sequence[str], judged: Judged) -> None:
        """Note the lines of own names on which a right line depends: it is wrong with another meaning of the name."""
        for name in {x for side in sides for x in self.own_names(side)}:
            tree = self.own[name]
            if self.origin[name] <= self.confirmed or isinstance(tree, ast.List):
                continue
            other = Marker(self.steps, quantities=self.quantities, own=dict(self.own), origin=self.origin)
            other.own[name] = add(multiply(ast.Constant(1.7), tree), ast.Constant(0.3))
            if other._judge(number, line, list(sides)).verdict != "right":
                self.confirmed |= self.origin[name]

    # ------------------------------------------------------------------------------------------------------- reading
    @property
    def symbols(self) -> Mapping[str, float | None]:
        return self.quantity("K").symbols

    def read(self, text: str) -> Tree:
        """A formula in the system's symbols, the reader's own names put in."""
        return replaced(self._tree(text), self._meaning)

    def _tree(self, text: str) -> Tree:
        return self.steps.letters.read(text, [*self.symbols, *self.own, *self.written])[1]

    def own_names(self, text: str) -> set[str]:
        """The reader's own names in a side of an equation."""
        return self.names_in(text, self.own)

    def names_in(self, text: str, names: Collection[str]) -> set[str]:
        """Which of these names are in a side of an equation."""
        with suppress(DalembertError):
            return {x.id for x in ast.walk(self._tree(text)) if isinstance(x, ast.Name) and x.id in names}
        return set()

    def _meaning(self, name: str) -> Tree | None:
        if name in self.own or name in self.written:
            return self.own.get(name) or self.written[name]
        found = SHORT.fullmatch(name)
        if found and name not in self.symbols and all(f"q{k}" in self.steps.q for k in found[2]):
            return call("cos" if found[1] == "c" else "sin", total([ast.Name(f"q{k}") for k in found[2]]))
        return None

    def symbol(self, side: str) -> str:
        """The name that a side is, "" if it is more than a name."""
        try:
            left = read_equation(f"{side} = 0", list(self.symbols))[0]
        except DalembertError:
            return ""
        return left if re.fullmatch(r"[A-Za-z]\w*", left) else ""

    def step(self, side: str) -> str | None:
        """The step that a left side names."""
        text = plain_fractions(DROPPED.sub("", FONT.sub(r"\1", side)))
        text = re.sub(r"\\partial\b|∂|partial", "d", text).replace("ℒ", "L").replace("𝓛", "L")
        bare = re.sub(r"[()\[\]\s]", "", text)
        if found := SLOPE.fullmatch(bare):
            rate, what, by = (found[1], found[2], found[3]) if found[2] else ("d/dt", found[4], found[5])
            tree = self.steps.letters.read(by, list(self.symbols))[1]
            symbol = tree.id if isinstance(tree, ast.Name) else ""
            if symbol in (*self.steps.q, *self.steps.v):
                return f"{'d/dt ' if rate else ''}d{ {'T': 'K', 'V': 'P', 'U': 'P'}.get(what, what) }/d{symbol}"
            return None
        name = self.symbol(side)
        letters = re.fullmatch(r"([A-Za-z]+?)_?((?!0)\d*)", name)  # not T01
        if (
            not letters
            or name in self.own
            or (name in self.symbols and name not in self.steps.a and not name.startswith("tau"))
        ):
            return None
        what, digits = letters.groups()
        what = "Gamma" if what in ("c", "Gamma") and len(digits) == 3 else ALIASES.get(what, what)
        what = "M" if what == "d" and len(digits) == 2 else what
        name = f"qdd{self.steps.a.index(name) + 1}" if name in self.steps.a else what + digits
        return name if self.known_step(name) else None

    def meaning(self, name: str) -> Tree | None:
        """Return what a name means without any definition, if the reader must not change it: a symbol, a coordinate in
        any letter, c12, π."""
        spelled = self.steps.letters.spellings(list(self.symbols)).get(name, "")
        if name in self.symbols or spelled in (*self.steps.q, *self.steps.v, *self.steps.a):
            return ast.Name(spelled or name)
        return ast.Name("pi") if name == "pi" else None if name in self.own else self._meaning(name)

    def repeats(self, name: str, side: str) -> bool:
        """Return whether a definition is what the name means already, with the numbers of this system."""
        with np.errstate(all="ignore"), suppress(DalembertError):
            tree, meaning = self.read(side), self.meaning(name)
            if meaning is None or isinstance(tree, ast.List) or name in (*self.steps.a, *self.steps.inputs):
                return False
            values = draw(self.quantity("K"), seed=seed_of(tree))
            own = {symbol: np.full_like(values[symbol], x) for symbol, x in self.symbols.items() if x is not None}
            return agree(build(tree, values | own), build(meaning, values | own).x)
        return False

    def known_step(self, name: str) -> bool:
        try:
            return bool(self.quantity(name))
        except DalembertError:
            return False

    # ------------------------------------------------------------------------------------------------------- judging
    def step_line(self, number: int, line: str, name: str, formulas: Sequence[str]) -> Judged:
        """A line name = formula [= formula …]."""
        for k, formula in enumerate(formulas):
            tree = self.read(formula)
            if MOTION.fullmatch(name) or (name == "C" and isinstance(tree, ast.List)):
                result = compare(self.quantity(name), write_formula(tree))
                if not result and name != "C":
                    return Judged(number, line, name, "wrong", _words(result), result)
                if result:
                    worst = Judged(number, line, name, "right", result.where)
                    continue
            parts = entries_of(name, tree)
            judged = [
                self.entry(number, line, entry, part, formula if len(parts) == 1 else None) for entry, part in parts
            ]
            worst = max(judged, key=lambda x: VERDICTS.index(x.verdict))
            if len(judged) > 1 and worst.verdict != "right":
                said = "; ".join(f"{x.step} {x.verdict}: {x.reason}" for x in judged if x.verdict != "right")
                worst = replace(worst, step=name, reason=said)
            if worst.verdict != "right":
                before = " (what stands before it is right)" if k else ""
                return replace(worst, reason=worst.reason + before)
        return worst

    def entry(self, number: int, line: str, name: str, tree: Tree, text: str | None) -> Judged:
        quantity = self.quantity(name)
        rewritten = text is None or "\\" in text or self.names_in(text, {*self.own, *self.written})
        formula = write_formula(tree) if text is None or rewritten else text
        result = compare(quantity, formula)
        if result:
            self.take(name)
            return Judged(number, line, name, "right", result.where)
        consequences: list[tuple[Tree, frozenset[str]]] = []
        with suppress(DalembertError):  # too large to be worked out from their lines
            consequences = [(x, because) for x, because in self.consequences(name) if because]
        for x, because in consequences:
            if same(tree, x, quantity):
                self.take(name, tree, because)
                return Judged(number, line, name, "follows", f"right for your {_listed(because)}")
        self.take(name, tree, frozenset((name,)))
        for x, because in consequences:
            again = compare(replace(quantity, value=partial(_value, x)), formula)
            if again.slips and (not result.slips or len(again.slips) < len(result.slips)):
                reason = f"taking your {_listed(because)} as it is, {_words(again)}"
                return Judged(number, line, name, "wrong", reason, again)
        return Judged(number, line, name, "wrong", _words(result), result)

    def quantity(self, name: str) -> Quantity:
        if name not in self.quantities:
            found = self.steps.quantity(name)
            self.quantities[name] = replace(found, symbols={**dict.fromkeys(self.steps.inputs), **found.symbols})
        return self.quantities[name]

    def consequences(self, name: str) -> list[tuple[Tree, frozenset[str]]]:
        """What a step would be by the reader's own lines, and which of them are to blame; the right formula, blaming
        none, if their lines do not touch it."""
        if name not in self.worked:
            found: list[tuple[Tree, frozenset[str]]] = []
            for way in self.steps.ways(name):
                choices = [self.known(need, way.back) for need in way.needs]
                for chosen in islice(product(*choices), MOST_WAYS):
                    because = frozenset().union(*(blamed for _, blamed in chosen))
                    if because and len(found) < MOST_WAYS:
                        found.append((way.make(*(tree for tree, _ in chosen)), because))
            self.worked[name] = found or [(self.steps.formula(name), frozenset())]
        return self.worked[name]

    def known(self, name: str, back: bool) -> list[tuple[Tree, frozenset[str]]]:
        if name not in self.given:
            return [(self.steps.formula(name), frozenset())] if back else self.consequences(name)
        tree, because = self.given[name]
        return [(self.steps.formula(name) if tree is None else tree, because)]

    def take(self, name: str, tree: Tree | None = None, because: frozenset[str] = frozenset()) -> None:
        """Note a step of the reader's: its formula if it is not the right one, and whose mistake that is."""
        self.given[name] = tree, because
        self.worked.clear()

    # ---------------------------------------------------------------------------------------------- equations of motion
    def equation(self, number: int, line: str, sides: list[str]) -> Judged:
        """A line left = right that is an equation of motion, perhaps divided by something."""
        if len(sides) != 2:
            problem = "neither side is the name of a step"
            raise InputError("syntax", "line", problem=problem, remedy="Write it as name = formula.")
        left, right = map(self.read, sides)
        tree = subtract(left, right)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        if not used & set(self.steps.a):
            problem = (
                "neither side is the name of a step, and the line is not an equation of motion, because it contains "
                "no acceleration"
            )
            raise InputError("syntax", "line", problem=problem)
        free = not used & set(self.steps.inputs) and all(name.startswith("tau") for name in self.steps.inputs)
        best: list[tuple[Distance, Quantity, int]] = []
        for k in range(self.steps.n):
            name, step = f"tau{k + 1}", f"equation of {self.steps.q[k]}"
            quantity = self.residual(k, self.steps.formula(name), free)
            if proportional(tree, quantity, self.steps):
                self.take(name)
                return Judged(number, line, step, "right", "where nothing acts" if free else "")
            for x, because in self.consequences(name):
                if because and proportional(tree, self.residual(k, x, free), self.steps):
                    self.take(name)
                    return Judged(number, line, step, "follows", f"right for your {_listed(because)}")
            best += [(off, scaled, k) for off, scaled in scalings(tree, quantity, self.steps.a)]
        best = sorted(best, key=lambda x: x[0])[:CLOSEST]
        results = [(compare(scaled, write_formula(tree)), k) for _, scaled, k in best]
        result, k = min(results, key=lambda x: len(x[0].slips) or MOST_WAYS)
        step = f"equation of {self.steps.q[k]}"
        reason = (
            _words(result)
            if result.slips
            else f"derived: {write_formula(self.steps.rights[k])} = {self.quantity(f'tau{k + 1}').derived}"
        )
        return Judged(number, line, step, "wrong", reason, result)

    def residual(self, k: int, left: Tree, free: bool) -> Quantity:
        """left − right of an equation of motion; `free` of forces."""
        whole = left if free else subtract(left, self.steps.rights[k])
        return replace(self.quantity(f"tau{k + 1}"), value=partial(_value, whole))


# ------------------------------------------------------------------------------------------------------------- values
def _value(tree: Tree, values: Mapping[str, Any]) -> Any:
    return build(tree, values).x


def same(a: Tree, b: Tree, quantity: Quantity) -> bool:
    """Whether two formulas have the same values."""
    values = draw(quantity, seed=seed_of(a))
    with np.errstate(all="ignore"):
        return agree(build(a, values), balls.values(build(b, values)))


def proportional(tree: Tree, quantity: Quantity, steps: Steps) -> bool:
    """Whether tree = 0 says the same as quantity = 0: one is the other times what has no rates, accelerations or forces
    in it. That factor is the same where all of these are others."""
    values = draw(quantity, seed=seed_of(tree))
    fast = {*steps.v, *steps.a, *steps.inputs}
    other = {name: np.roll(x, 1) if name in fast else x for name, x in values.items()}
    with np.errstate(all="ignore"):
        a, b = (balls.values(build(tree, x)) / quantity.value(x) for x in (values, other))
        fine = np.isfinite(a) & np.isfinite(b)
        return bool(
            fine.sum() > len(a) / 2
            and (abs(a - b) <= 1e-8 * (abs(a) + abs(b)))[fine].all()
            and (abs(a) > 1e-12)[fine].all()
        )


@np.errstate(all="ignore")
def scalings(tree: Tree, quantity: Quantity, accelerations: Sequence[str]) -> list[tuple[Distance, Quantity]]:
    """(how far off, the quantity times a factor), nearest first: ±1, or times or divided by up to three symbols.
    Nearest is where the factors of most accelerations and the rest, which one slip leaves alone, are the same."""
    values = draw(quantity)
    own = [name for name, x in quantity.symbols.items() if x]
    most = 3 if len(own) < 9 else 2
    factors = [names for count in range(most + 1) for names in combinations_with_replacement(own, count)]
    given, wanted = build(tree, values).x, quantity.value(values)
    still = {**values, **dict.fromkeys(accelerations, np.zeros_like(wanted))}
    single = [still, *({**still, name: np.ones_like(wanted)} for name in accelerations)]
    mine, derived = np.array([build(tree, x).x for x in single]), np.array([quantity.value(x) for x in single])
    mine[1:] -= mine[0]
    derived[1:] -= derived[0]
    found = []
    for names, power, sign in product(factors, (-1, 1), (1.0, -1.0)):
        value = partial(_scaled, quantity, names, power, sign)
        scale = _scale(values, names, power, sign)
        off = float(np.median(abs(given - scale * wanted) / (abs(given) + abs(scale * wanted) + 1e-300)))
        other = abs(mine - scale * derived) > 1e-9 * (abs(mine) + abs(scale * derived)) + 1e-12
        found.append(((int(other.any(1).sum()), off if names else off / 2), replace(quantity, value=value)))
    return sorted(found, key=lambda x: x[0])[:CLOSEST]


def _scale(values: Mapping[str, Any], names: tuple[str, ...], power: int, sign: float) -> Any:
    return sign * np.prod([values[name] for name in names], axis=0) ** power if names else sign


def _scaled(quantity: Quantity, names: tuple[str, ...], power: int, sign: float, values: Mapping[str, Any]) -> Any:
    return quantity.value(values) * _scale(values, names, power, sign)


# ------------------------------------------------------------------------------------------------------------- text
def plain_fractions(text: str) -> str:
    r"""\frac{a}{b} as a/b, where a and b may hold braces."""
    while found := FRACTION.search(text):
        above, i = _braced(text, found.end())
        below, j = _braced(text, i)
        text = f"{text[: found.start()]}{above}/{below} {text[j:]}"
    return text


def _braced(text: str, i: int) -> tuple[str, int]:
    while i < len(text) and text[i].isspace():
        i += 1
    if i >= len(text) or text[i] != "{":
        return text[i : i + 1], i + 1
    depth = 0
    for j in range(i, len(text)):
        depth += (text[j] == "{") - (text[j] == "}")
        if depth == 0:
            return text[i + 1 : j], j + 1
    raise InputError("syntax", "line", problem="a brace is not closed")


def entries_of(name: str, tree: Tree) -> list[tuple[str, Tree]]:
    """The entries of a vector or matrix by their names; of one formula, itself."""
    if not isinstance(tree, ast.List):
        return [(name, tree)]
    rows = [row.elts if isinstance(row, ast.List) else row for row in tree.elts]
    if all(not isinstance(row, list) for row in rows):
        return [(f"{name}{k}", x) for k, x in enumerate(rows, 1) if isinstance(x, ast.expr)]
    found = [(i, j, x) for i, row in enumerate(rows, 1) if isinstance(row, list) for j, x in enumerate(row, 1)]
    column = all(j == 1 for _, j, _ in found)
    return [(f"{name}{i}" if column else f"{name}{i}{j}", x) for i, j, x in found]


def _listed(names: frozenset[str]) -> str:
    return " and ".join(sorted(names))


def _words(result: Comparison) -> str:
    if result.slips:
        return result.slip
    return f"derived: {result.name} = {result.derived}"
