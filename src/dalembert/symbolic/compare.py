"""Check my derivation: is a formula equal to the derived one, and if not, which slip explains it?

Two formulas are compared by their values at random points: formulas that differ agree there with probability zero
(Schwartz–Zippel), and formulas that agree differ by rounding, of which there is a bound. So quotients, roots and
matrices are compared like polynomials. What is not equal is judged again with what is special about the system itself
(the center of mass at the end of the link, g = 9.81), and then searched for slips (`dalembert.symbolic.slips`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from hashlib import sha256
from itertools import islice

import numpy as np

from dalembert.display import Displayed
from dalembert.errors import DalembertError, InputError, unknown
from dalembert.symbolic import balls
from dalembert.symbolic.collect import split_name
from dalembert.symbolic.formula import write_formula
from dalembert.symbolic.letters import Letters
from dalembert.symbolic.nodes import Array, Node, Values, build, replaced
from dalembert.symbolic.slip_search import MOST_NODES, Found, Search, expand
from dalembert.symbolic.slips import LENGTHS, SPLIT, Label, Names, Slip, text_of_angle

PLAIN = Letters()
POINTS = 24  # half of them with all symbols positive, where roots are real
EXACT_POINTS = 4  # at which a formula is compared exactly
LONG_NODES = 3000  # of a formula that is evaluated at every sixth point alone
LONG_DIGITS = 12  # of a decimal that was computed, and rounded
SCALES = (-1.0, 1.0, -2.0, 2.0, 5.0, -5.0)  # of coordinates and rates at the other half: beyond a turn too
MAGNITUDES = (1.0, 1.0, 3.0, 0.3)  # of the other symbols there
SEARCHED = 80  # points of the search for slips
ROUNDING = 1e-10  # relative, of the derived values
SIGNED = re.compile(r"(q|theta|phi|psi|th|x|y|z|s)d*_?\d*|.*[^\W\d]dd?_?\d*")
CENTERS = ("r", "lc", "rc", "ac")  # ways to centers of mass; who writes them keeps them from the lengths of links
GRAVITY = (9.81, 9.8, 9.80665, 9.807, 10.0)
DERIVATIVE = re.compile(r"\\partial|∂|\bd\w+\s*/\s*d\w|\bd\s*/\s*dt|\\frac\s*\{\s*d\s*\}")
WHERE = re.compile(r"[,;]?\s*(?:\\text(?:rm)?\s*\{\s*|\\mbox\s*\{\s*)?\b(?:where|with)\b[\s}]*|\s+\(where\s+")
DECIMAL = re.compile(r"\d*\.(\d+)")
FEWEST_DIGITS = 3  # of a number that may be rounded
MOST_ROUNDED = 0.02  # relative: what rounded numbers may change at half of the points
CONSTANT = "up to a constant"
CERTAIN = 2.6  # what costs less needs no look at pairs
NEARLY = 0.55  # as likely as the likeliest slip: so much dearer at most
MOST_WRONG = 3  # entries of a matrix that are searched for slips


@dataclass(frozen=True)
class Choices:
    """The Coriolis matrices that are as valid as the derived one: those whose product with the `rates` is `product`.
    `M_dot` is the rate of the mass matrix."""

    rates: Sequence[str]
    product: Callable[[Values], Array]
    M_dot: Callable[[Values], Array]


@dataclass(frozen=True)
class Quantity:
    """Something that a formula can be compared with.

    `value` gives it at P points at once: from arrays (P,) for every symbol an array (P,), or (P, rows, columns), a
    vector being a column. `symbols` are the names that may occur, with the system's own value where it has one.
    `derived` is its text.

    `defined` are formulas for further names (lumped constants) in the symbols. `mistaken` is what it is taken for by
    mistake: by kind of slip and in words. `difference` writes (entry's formula, row, column) minus the derived entry.
    `rows` are choices of rows that may stand for all (x and y of a planar arm). `floating` is what is defined up to a
    constant, as a potential energy is. `units` are symbols whose squares add up to one, as those of a quaternion.
    `exact` gives the formula of an entry (row, column) where its numbers are exact, None where they are not.
    `choices` are set for a Coriolis matrix, which is not unique; `hint` is told where a formula differs."""

    name: str
    value: Callable[[Values], Array]
    symbols: Mapping[str, float | None]
    derived: str
    defined: Mapping[str, str] = field(default_factory=dict)
    mistaken: Mapping[tuple[str, str], Callable[[Values], Array]] = field(default_factory=dict)
    difference: Callable[[ast.expr, int, int], str] | None = None
    rows: Sequence[tuple[int, ...]] = ()
    floating: bool = False
    units: Sequence[tuple[str, ...]] = ()
    exact: Callable[[int, int], ast.expr | None] | None = None
    choices: Choices | None = None
    hint: str = ""

    def compare(self, formula: str) -> Comparison:
        """Whether a formula equals it, and what is wrong if not."""
        return compare(self, formula)


def formula_quantity(name: str, text: str, symbols: Mapping[str, float | None] | Iterable[str]) -> Quantity:
    """The quantity that a formula is; a matrix or vector is a list of rows or entries."""
    known = dict(symbols) if isinstance(symbols, Mapping) else dict.fromkeys(symbols)
    formula = PLAIN.read(text, known)[1]
    exact = partial(_entry, formula)
    quantity = Quantity(name, partial(_values, formula), known, write_formula(formula), exact=exact)
    quantity.value(draw(quantity, 1))  # refuses what is no formula of these symbols
    return quantity


def _entry(formula: ast.expr, i: int, j: int) -> ast.expr:
    for k in (i, j):
        formula = formula.elts[k] if isinstance(formula, ast.List) else formula
    return formula


def _values(formula: ast.expr, values: Values) -> Array:
    if not isinstance(formula, ast.List):
        return build(formula, values).x
    rows = [row.elts if isinstance(row, ast.List) else [row] for row in formula.elts]
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise InputError("wrong-shape", "formula", problem="the rows of a matrix must be equally long")
    return np.moveaxis(np.array([[build(entry, values).x for entry in row] for row in rows]), 2, 0)


@dataclass(frozen=True)
class Comparison(Displayed):
    """Whether a formula is right, perhaps only for this system (`where`); if not, by how much it is off (yours minus
    the derived one) if that has a short form, the slips that together explain it, and others that one by one would."""

    name: str
    equal: bool
    derived: str
    off: str = ""
    slips: tuple[Slip, ...] = ()
    others: tuple[Slip, ...] = ()
    where: str = ""
    hint: str = ""

    @property
    def ok(self) -> bool:
        """Whether the formula is right: `equal`."""
        return self.equal

    def __bool__(self) -> bool:
        return self.equal

    @property
    def slip(self) -> str:
        return "; and ".join(map(str, self.slips))

    def __str__(self) -> str:
        if self.equal:
            off = f": yours minus the derived one is {self.off}" if self.off else ""
            return f"{self.name} is right{', ' + self.where if self.where else ''}{off}."
        lines = [f"{self.name} differs" + (f": yours minus the derived one is {self.off}." if self.off else ".")]
        if self.derived == "0":
            lines.append(f"The derived {self.name} is zero.")
        elif self.slips:
            lines.append(f"Likely {'slips' if len(self.slips) > 1 else 'slip'}: {self.slip}.")
        else:
            lines.append(f"Derived: {self.name} = {self.derived}.")
        if self.others:
            lines.append(f"Or else: {'; or '.join(map(str, self.others))}.")
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)


def draw(
    quantity: Quantity, count: int = POINTS, seed: int = 0, fixed: Mapping[str, str | float] | None = None
) -> dict[str, Array]:
    """Random points: symbols that are magnitudes stay positive (or have the sign of their own value), coordinates and
    rates take both signs in half of them. What is fixed has that value, or that of another symbol."""
    random = np.random.default_rng(seed)
    values: dict[str, Array] = {}
    for name, own in quantity.symbols.items():
        x = random.uniform(0.3, 1.3, count)
        if own is None and SIGNED.fullmatch(name):
            x[count // 2 :] *= random.permutation(np.resize(SCALES, count - count // 2))
        else:
            x[count // 2 :] *= random.permutation(np.resize(MAGNITUDES, count - count // 2))
        values[name] = -x if own is not None and own < 0 else x
    for names in quantity.units:
        length = np.sqrt(sum(values[name] ** 2 for name in names))
        values |= {name: values[name] / length for name in names}
    for name, other in (fixed or {}).items():
        values[name] = values[other] if isinstance(other, str) else np.full(count, other)
    for name, formula in quantity.defined.items():
        values[name] = build(PLAIN.read(formula, values)[1], values).x
    return values


def compare(
    quantity: Quantity,
    formula: str,
    *,
    defined: Mapping[str, str] | None = None,
    slips: bool = True,
    letters: Letters = PLAIN,
) -> Comparison:
    """Whether a formula equals the quantity, and what is wrong if not. `defined` are the student's own names for parts
    of it; without `slips` a wrong formula is not searched for them. `letters` are those that it is written in."""
    if not isinstance(formula, str):
        raise InputError("wrong-type", "formula", formula, expected="text")
    formula, own = _clauses(formula)
    if taken := sorted(own.keys() & letters.spellings(quantity.symbols).keys()):
        problem = f"{taken[0]} already has a meaning in this system"
        raise InputError("conflict", taken[0], problem=problem, remedy="Choose another name after 'where'.")
    if own:
        defined = {**(defined or {}), **own}
    if defined:
        quantity = replace(quantity, defined={**quantity.defined, **defined})
    left, tree, written_as = letters.read_as_written(_carried_out(formula), [*quantity.symbols, *quantity.defined])
    for other in left.split(" = "):
        if (
            other not in ("", quantity.name)
            and split_name(other)[0] == split_name(quantity.name)[0]
            and quantity.name not in left
        ):
            problem = f"this is a formula for {other}, but {quantity.name} is required"
            raise InputError("conflict", "formula", problem=problem)
    aliases = {own: name for name, own in quantity.defined.items() if own in quantity.symbols}
    if any(isinstance(node, ast.Name) and node.id in aliases.values() for node in ast.walk(tree)):
        written_as |= aliases
    known = quantity.symbols
    quantity = _with_strangers(quantity, tree)
    with np.errstate(all="ignore"):
        result = _Judge(quantity, tree, formula, written_as).comparison(slips)
    if strange := [name for name in quantity.symbols if name not in known and not result and not result.slips]:
        raise unknown("symbol", strange[0], tuple(known))
    return result


def _clauses(formula: str) -> tuple[str, dict[str, str]]:
    """(h q̇₂, {"h": "-m2 l1 r2 s2"}) of "h q̇₂, where h = -m2 l1 r2 s2"."""
    first, *rest = WHERE.split(formula, maxsplit=1)
    clauses = [clause.split("=") for clause in re.split(r"[,;]|\band\b", rest[0]) if clause.strip()] if rest else []
    if not clauses or any(len(clause) != 2 for clause in clauses):
        return formula, {}
    return first, {PLAIN.read(f"{name} = 0", ())[0]: f"({x.strip(' $.')})" for name, x in clauses}


def _carried_out(formula: str) -> str:
    """Of ∂L/∂q̇₁ = …, Γ₁₂₁ = ½ ∂M₁₁/∂q₂ = …, the side that is the result, at its place."""
    sides = formula.split("=")
    done = [k for k, side in enumerate(sides) if not DERIVATIVE.search(side)]
    if len(done) == len(sides) or not done:
        return formula
    return " ".join(side if k == done[-1] else " " * len(side) for k, side in enumerate(sides))


def _with_strangers(quantity: Quantity, tree: ast.expr) -> Quantity:
    """Names with an index that the system does not have (l4, m3) are slips too: symbols like any other."""
    known = {m[1] for name in quantity.symbols if (m := SPLIT.fullmatch(name)) and m[2]}
    heads = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in heads}
    strange = [n for n in sorted(names) if n not in quantity.symbols and n not in quantity.defined]
    free = {n: None for n in strange if (m := SPLIT.fullmatch(n)) and m[2] and not m[3] and m[1] in known}
    return replace(quantity, symbols={**quantity.symbols, **free}) if free else quantity


Entry = tuple[int, int, ast.expr]


class _Judge:
    """One formula and what it is compared with."""

    def __init__(self, quantity: Quantity, tree: ast.expr, text: str, written_as: Mapping[str, str]) -> None:
        self.quantity, self.text, self.written_as = quantity, text, written_as
        self.seed, self.meanings = seed_of(tree), dict[str, ast.expr]()
        for name, formula in quantity.defined.items():
            meaning = PLAIN.read(formula, [*quantity.symbols, *self.meanings])[1]
            self.meanings[name] = replaced(meaning, self.meanings.get)
        sample = quantity.value(draw(quantity, 1))
        self.shape, self.complex = sample.shape[1:], np.iscomplexobj(sample)
        self.used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self.rows, self.entries = self._entries(tree)
        numbers = {float(n.value) for n in ast.walk(tree) if isinstance(n, ast.Constant)}  # type: ignore[arg-type]
        self.no_gravity = "g" in quantity.symbols and "g" not in self.used
        self.gravity = next((x for x in GRAVITY if self.no_gravity and x in numbers), None)  # in the place of g

    def _entries(self, tree: ast.expr) -> tuple[tuple[int, ...], list[Entry]]:
        """(which rows, (row, column, formula) of every entry), from 0; a vector may be written as a row or a column."""
        if not self.shape:
            return (0,), [(0, 0, tree)]
        height, width = self.shape
        rows = [row.elts if isinstance(row, ast.List) else [row] for row in getattr(tree, "elts", ())]
        if width == 1 and len(rows) == 1:
            rows = [[entry] for entry in rows[0]]
        elif height == 1 and {len(row) for row in rows} == {1}:
            rows = [[row[0] for row in rows]]
        choices = [tuple(range(height)), *self.quantity.rows]
        if not rows and 1 in map(len, choices):  # the one component of a vector that is not zero
            rows = [[tree]]
        if {len(row) for row in rows} != {width} or len(rows) not in map(len, choices):
            sizes = f"{len(rows)}×{len(rows[0])}" if rows else "a single expression"
            problem = f"{self.quantity.name} is {height}×{width}, yours is {sizes}"
            raise InputError("wrong-shape", "formula", problem=problem, remedy="Write [[a, b], [c, d]].")
        entries = [(i, j, entry) for i, row in enumerate(rows) for j, entry in enumerate(row)]
        fitting = [choice for choice in choices if len(choice) == len(rows)]
        wrong = [len(self.wrong(self.points(), entries, choice)) for choice in fitting]
        return fitting[int(np.argmin(wrong))], entries

    def wanted(self, values: Values, rows: Sequence[int] | None = None) -> Array:
        """(P, rows, columns) of what is asked for."""
        found = self.quantity.value(values)
        return found[:, self.rows if rows is None else rows] if self.shape else found[:, None, None]

    def wrong(self, values: Values, entries: Sequence[Entry], rows: Sequence[int] | None = None) -> list[Entry]:
        wanted = self.wanted(values, rows)
        given = {name: x.astype(complex) for name, x in values.items()} if self.complex else values
        return [(i, j, x) for i, j, x in entries if not agree(build(self.spelled_out(x), given), wanted[:, i, j])]

    def is_exact(self, i: int, j: int, entry: ast.expr) -> bool:
        """Whether an entry with the wanted values to ten digits has them exactly, if all its numbers are exact."""
        wanted = self.quantity.exact(self.rows[i], j) if self.quantity.exact else None
        if wanted is None or any(map(_is_long, (*ast.walk(entry), *ast.walk(wanted)))):
            return True
        values = draw(self.quantity, EXACT_POINTS, self.seed)
        given, right = (build(self.spelled_out(x), values) for x in (entry, wanted))
        off = Node("sum", (1, -1), (given, right), entry, given.x - right.x)
        return all(
            x is not None and (np.isnan(x) or x == 0) for x in (balls.value(off, k, 0.0) for k in range(EXACT_POINTS))
        )

    def spelled_out(self, entry: ast.expr) -> ast.expr:
        """An entry with their formulas for the names of its own."""
        return replaced(entry, self.meanings.get) if self.used & self.meanings.keys() else entry

    def points(self, fixed: Mapping[str, str | float] | None = None) -> dict[str, Array]:
        return draw(self.quantity, seed=self.seed, fixed=fixed)

    def comparison(self, slips: bool) -> Comparison:
        wrong = self.wrong(self.points(), self.entries)
        verdict = Comparison(self.quantity.name, not wrong, self.quantity.derived)
        if not wrong:
            return replace(verdict, equal=all(self.is_exact(*entry) for entry in self.entries))
        where, difference = self.special(), self.quantity.difference
        if not where and self.quantity.choices:
            where, wrong = self._choice(wrong, self.quantity.choices)
        if where and where != CONSTANT:
            return replace(verdict, equal=True, where=where)
        off = difference(wrong[0][2], self.rows[wrong[0][0]], wrong[0][1]) if difference else ""
        if where:
            return replace(verdict, equal=True, where=where, off=off)
        verdict = replace(verdict, off=off if len(self.entries) == 1 else "")
        verdict = replace(verdict, hint=self.quantity.hint)
        if not slips:
            return verdict
        if self.gravity not in (None, 10.0):  # which slips does it have besides?
            wrong = [(i, j, _with_gravity(entry, self.gravity)) for i, j, entry in wrong]
        found, others, unexplained = self.slips(wrong)
        more = [f"The entry in row {i + 1}, column {j + 1} differs too." for i, j, _ in unexplained if found]
        hint = " ".join(filter(None, [*more, self.quantity.hint]))
        return replace(verdict, slips=found, others=others, hint=hint)

    # ------------------------------------------------------------------------------------------------ this system

    def special(self) -> str:
        """What must hold for the formula to be right, if it does hold for this system; "" if it is wrong."""
        if self.quantity.floating and self._agrees_up_to_a_constant():
            return CONSTANT
        own = {name: x for name, x in self.quantity.symbols.items() if x is not None}
        centers = {name for name in own if (found := SPLIT.fullmatch(name)) and found[1] in CENTERS}
        fixed: dict[str, str | float] = {name: 0.0 for name, x in own.items() if x == 0 and name not in self.used}
        for name, x in own.items():
            letters = SPLIT.fullmatch(name)
            if not x or centers & self.used or not letters or letters[1] not in CENTERS:
                continue
            for other in sorted(self.used & own.keys()):  # a mass of 1 kg is not a length of 1 m
                same = SPLIT.fullmatch(other)
                if same and same[1] in LENGTHS and own[other] == x and same.groups()[1:] == letters.groups()[1:]:
                    fixed[name] = other
        numbers = {name: x for name, x in own.items() if name not in self.used and name not in fixed}
        plain = not self.used & own.keys()
        gravities = [self.gravity] if self.gravity else GRAVITY if self.no_gravity else []
        with_g = [{**fixed, "g": x} for x in gravities]
        for tried in (*with_g, fixed, *({**x, **numbers} for x in with_g), {**fixed, **numbers}):
            if tried and not self.wrong(self.points(tried), self.entries):
                needed = dict(tried)
                for name in tried:
                    fewer = {key: x for key, x in needed.items() if key != name}
                    if not self.wrong(self.points(fewer), self.entries):
                        needed = fewer
                if (any if plain else all)(x != 1 for x in needed.values()):
                    these = [f"{name} = {x if isinstance(x, str) else f'{x:g}'}" for name, x in needed.items()]
                    mine = any(isinstance(x, str) or x == own.get(name) for name, x in needed.items())
                    return f"{'for this system, ' if mine else ''}where {', '.join(these)}"
        return "to the digits given" if self._is_rounded() else ""

    def _choice(self, wrong: Sequence[Entry], choices: Choices) -> tuple[str, list[Entry]]:
        """How a matrix is another valid choice of the Coriolis matrix ("" if it is none), and its wrong entries: those
        in the rows whose product with the rates is wrong."""
        values, n = self.points(), len(choices.rates)
        C = {(i, j): entry for i, j, entry in self.entries}
        c, M_dot = choices.product(values), choices.M_dot(values)

        def total(terms: Sequence[ast.expr]) -> Node:
            return build(self.spelled_out(reduce(lambda a, b: ast.BinOp(a, ast.Add(), b), terms)), values)

        def product(i: int) -> Node:
            return total([ast.BinOp(C[i, j], ast.Mult(), ast.Name(rate)) for j, rate in enumerate(choices.rates)])

        rows = [i for i in range(n) if not agree(product(i), c[:, i, 0])]
        rest = {**values, **{rate: np.zeros_like(values[rate]) for rate in choices.rates}}
        at_rest = [i for (i, _), x in C.items() if not np.isfinite(build(self.spelled_out(x), rest).x).all()]
        if rows or at_rest:  # a choice that is divided by a rate is no matrix where nothing moves
            return "", [entry for entry in wrong if entry[0] in (rows or at_rest)]
        skew = all(agree(total([C[i, j], C[j, i]]), M_dot[:, i, j]) for i in range(n) for j in range(i + 1))
        return f"another valid choice: C qd = c holds, and Mdot - 2 C is {'' if skew else 'not '}skew-symmetric", []

    def _is_rounded(self) -> bool:
        """Whether numbers that are written with three digits or more, 0.866 for √3/2, are those wanted, rounded."""
        values = self.points()
        wanted = self.wanted(values)
        return all(self._rounds(entry, wanted[:, i, j], values) for i, j, entry in self.wrong(values, self.entries))

    def _rounds(self, entry: ast.expr, wanted: Array, values: Values) -> bool:
        typed: list[tuple[ast.Constant, float, float]] = []  # a number, its value, half a unit of its last digit
        for node in ast.walk(entry):
            digits = DECIMAL.fullmatch(written_text(node, self.text)) if isinstance(node, ast.Constant) else None
            if digits and len(digits[0].replace(".", "").lstrip("0")) >= FEWEST_DIGITS:
                typed.append((node, float(digits[0]), 0.5 * 10.0 ** -len(digits[1])))  # type: ignore[arg-type]
        if not typed or not np.isfinite(wanted).all() or self.complex:
            return False
        given, half = np.array([pair[1:] for pair in typed]).T

        def at(numbers: Array) -> Node:
            for (node, *_), x in zip(typed, numbers, strict=True):
                node.value = float(x)
            try:
                return build(entry, values)
            finally:
                for node, x, _ in typed:
                    node.value = x

        found, steps = given, np.diag(1e-5 * (abs(given) + half))
        for _ in range(4):  # Gauss–Newton: the numbers that make it right
            slopes = np.array([(at(found + h).x - at(found - h).x) / (2 * h.sum()) for h in steps]).T
            off = wanted - at(found).x
            if not np.isfinite(slopes).all() or not np.isfinite(off).all():
                return False
            found = found + np.linalg.lstsq(slopes, off, rcond=1e-10)[0]
        near = abs(at(given).x - wanted) <= MOST_ROUNDED * (abs(wanted) + _usual(wanted))
        within = abs(found - given) <= half * (1 + 1e-6)
        return bool(within.all() and 2 * near.sum() > len(near)) and agree(at(found), wanted)

    def _agrees_up_to_a_constant(self) -> bool:
        here, there = self.points(), draw(self.quantity, seed=self.seed + 1)
        there = {name: here[name] if own is not None else there[name] for name, own in self.quantity.symbols.items()}
        tree = self.spelled_out(self.entries[0][2])
        a, b = build(tree, here), build(tree, there)
        change = Node("sum", (1, -1), (b, a), tree, b.x - a.x, a.size + b.size)
        return agree(change, (self.wanted(there) - self.wanted(here))[:, 0, 0])

    # ------------------------------------------------------------------------------------------------ slips

    def slips(self, wrong: Sequence[Entry]) -> tuple[tuple[Slip, ...], tuple[Slip, ...], list[Entry]]:
        """(those that together explain the formula, others that one by one would, entries that none explains)."""
        values = draw(self.quantity, SEARCHED, seed=2)
        mistaken = self._mistaken(values)
        if mistaken:
            return (mistaken,), (), []
        found: list[Slip] = []
        others: list[Slip] = []
        unexplained = list(wrong[MOST_WRONG:])
        for i, j, entry in wrong[:MOST_WRONG]:
            slips, more = self._entry_slips(i, j, entry, values)
            unexplained += [] if slips else [(i, j, entry)]
            where = f"in row {i + 1}, column {j + 1}: " if len(self.entries) > 1 else ""
            found += [replace(s, words=where + s.words) for s in slips]
            others += [replace(s, words=where + s.words) for s in more]
        return tuple(found), tuple(others), unexplained

    def _mistaken(self, values: Values) -> Slip | None:
        """Something else altogether: the transposed matrix, another frame."""

        def fits(wanted: Array) -> bool:
            return all(agree(build(entry, values), wanted[:, i, j]) for i, j, entry in self.entries)

        if len(self.entries) > 1:
            whole = self.quantity.value(values)
            choices = [self.rows, *(rows for rows in self.quantity.rows if len(rows) == len(self.rows))]
            for wanted in (whole[:, rows] for rows in choices):
                for kind, words, change in WHOLE:
                    if (kind != "transposed" or wanted.shape[1] == wanted.shape[2]) and fits(change(wanted)):
                        return Slip(kind, self.quantity.name, "", words)
        for (kind, words), value in self.quantity.mistaken.items():
            other = value(values)
            if fits(other[:, self.rows] if self.shape else other[:, None, None]):
                return Slip(kind, self.quantity.name, self.quantity.derived, words)
        return None

    def _entry_slips(self, i: int, j: int, entry: ast.expr, values: Values) -> tuple[list[Slip], list[Slip]]:
        wanted, root = self.wanted(values)[:, i, j], build(entry, values)
        exist = np.isfinite(wanted) & np.isfinite(root.x) & np.isfinite(root.size)
        if exist.sum() < SEARCHED // 2 and np.isnan(root.x).any():  # roots of what is negative
            values = {name: x.astype(complex) for name, x in values.items()}
            if not self.complex:  # else its own branch, where it exists
                wanted = self.wanted(values)[:, i, j]
            root = build(entry, values)
            exist = np.isfinite(wanted) & np.isfinite(root.x) & np.isfinite(root.size)
        if exist.sum() < SEARCHED // 2 or not wanted[exist].any():  # of zero, any change explains anything
            return [], []
        usual = np.median(root.size[exist])
        if np.isinf(root.x).any():  # no change of it is right where it overflows
            return [], []
        if 1e-8 * usual > abs(wanted[exist]).max() > 0:  # so large that anything would explain it
            return [], []
        exist &= root.size <= 1e4 * usual  # away from where it divides by next to nothing
        if not exist.all():
            values = {name: x[exist] for name, x in values.items()}
            wanted, root = wanted[exist], build(entry, values)
        long = sum(1 for _ in root.walk()) > MOST_NODES
        search = Search(root, wanted, self._names(root, i, j, values), long)
        rows = search.rows()
        singles = search.singles(rows)
        pairs = search.pairs(rows) if not long and (not singles or singles[0].cost > CERTAIN) else []
        if pairs and (not singles or pairs[0].cost < singles[0].cost):
            return self.describe(pairs[0]), []
        if singles:
            near = [found for found in singles if found.cost <= singles[0].cost + NEARLY]
            likely, *others = dict.fromkeys(slip for found in near for slip in self.describe(found))
            return [likely], others[:3]
        return [], []

    def describe(self, found: Found) -> list[Slip]:
        return [self._described(change.node, change.label) for change in found.changes]

    def _described(self, node: Node, label: Label) -> Slip:
        place = written(node, self.text)
        base = written(node.parts[0], self.text) if node.op == "power" else place
        grouped = f"({place})" if node.op == "sum" and label.should != "{}" else place

        def spelled(said: str) -> str:  # in the letters of the formula
            return re.sub(r"\b[^\W\d_]\w*", lambda name: self.written_as.get(name[0], name[0]), said)

        should = spelled(label.should).replace("{}", grouped).replace("{base}", base)
        words = spelled(label.words).replace("{should}", should).replace("{base}", base).replace("{}", place)
        return Slip(label.kind, place, should, words)

    def _names(self, root: Node, i: int, j: int, values: Values) -> Names:
        """What the formula and what was derived are made of."""
        nodes = [root]
        try:
            derived = PLAIN.read(self.quantity.derived, values)[1]
            row = derived.elts[self.rows[i]] if isinstance(derived, ast.List) else derived
            nodes.append(build(row.elts[j] if isinstance(row, ast.List) else row, values))
        except DalembertError:  # too long to be written, or not written as a formula
            pass
        names = [node.how[0] for tree in nodes for node in tree.walk() if node.op == "name"]
        angles: dict[str, Array] = {}
        for node in (node for tree in nodes for node in tree.walk()):
            if node.op == "call" and node.how[0] in ("sin", "cos", "tan"):
                angles[text_of_angle(node.parts[0])] = node.parts[0].x
        angles |= {name: values[name] for name in names if SIGNED.fullmatch(name) and name in " ".join(angles).split()}
        used = [*dict.fromkeys(names if len(nodes) > 1 else [*names, *list(values)[:40]])]
        short = any(isinstance(node.source, ast.Name) and node.op == "call" for node in root.walk())
        found = Names(values, used, angles, short)
        if len(nodes) < 2:
            return found
        sums = [node for node in nodes[1].walk() if node.op == "sum" and len(node.parts) > 1]
        plain = sorted((node for node in sums if len(node.parts) < 5), key=lambda node: sum(1 for _ in node.walk()))[
            :10
        ]
        pairs = [(sign, part) for node in sums for sign, part in zip(node.how, node.parts, strict=True)]
        summands = [
            (f"{'-' * (sign < 0)}{written(part)}", sign * part.x) for sign, part in pairs if part.op == "product"
        ]
        short_sums = [
            (written(n), n.x, all(bool(found.rate(p.how[0])) for p in n.walk() if p.op == "name")) for n in plain
        ]
        return replace(found, terms=expand(nodes[1], found) or (), summands=summands, sums=short_sums)


WHOLE: tuple[tuple[str, str, Callable[[Array], Array]], ...] = (
    ("transposed", "rows and columns are swapped: it is transposed", lambda x: np.swapaxes(x, 1, 2)),
    ("sign", "the sign of the whole", lambda x: -x),
    ("factor", "the whole is 2 times too large", lambda x: 2 * x),
    ("factor", "the whole is 2 times too small", lambda x: x / 2),
)


def _with_gravity(tree: ast.expr, number: float | None) -> ast.expr:
    """The formula with g for its value."""

    class Transformer(ast.NodeTransformer):
        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            return ast.copy_location(ast.Name("g"), node) if node.value == number else node

    return Transformer().visit(deepcopy(tree))


def _is_long(node: ast.AST) -> bool:
    """Whether a node is a number of so many digits that it was computed."""
    match node:
        case ast.Constant(value=float() as x):
            return len(repr(x).partition("e")[0].replace(".", "").strip("0")) >= LONG_DIGITS
        case ast.BinOp(left=ast.Constant(value=int()), op=ast.Div(), right=ast.Constant(value=int() as n)):
            return n >= 10**LONG_DIGITS
    return False


def seed_of(tree: ast.expr) -> int:
    """Return the seed of the points at which a formula is judged, so that no formula is made for its points."""
    try:
        return int.from_bytes(sha256(ast.dump(tree).encode()).digest()[:4], "big")
    except RecursionError:
        return 0


def agree(node: Node, wanted: Array) -> bool:
    """Return whether a formula has the wanted values, to 1e-10 of these and 1e-12 of their usual size, wherever it is
    defined.

    The formula is evaluated in ball arithmetic, so that its own size and rounding do not matter. It must be defined at
    half of the points at least. Where the wanted values are zero, it must be zero."""
    if np.isinf(node.x).all():
        raise InputError("out-of-range", "formula", problem="the formula divides by zero, or its values are too large")
    long = next(islice(node.walk(), LONG_NODES, None), None) is not None
    exist = np.flatnonzero(np.isfinite(wanted))[:: 6 if long else 1]
    usual, undefined = _usual(wanted), 0
    for k in exist.tolist():
        x = balls.value(node, k, abs(wanted[k]) + usual)
        if x is None or abs(x - wanted[k]) > ROUNDING * (abs(wanted[k]) + 0.01 * usual):
            return False
        undefined += bool(np.isnan(x))
    return 2 * undefined <= len(exist) > 0


def _usual(wanted: Array) -> float:
    """Return the median size of the values that are not zero, or 0.0."""
    sizes = abs(wanted[np.isfinite(wanted) & (wanted != 0)])
    return float(np.median(sizes)) if len(sizes) else 0.0


def written(node: Node, text: str = "") -> str:
    """The part of the formula, as it was written in the text if that is known."""
    return written_text(node.source, text) or write_formula(node.source)


def written_text(tree: ast.AST, text: str) -> str:
    start, end = getattr(tree, "col_offset", None), getattr(tree, "end_col_offset", None)
    return text[start:end].strip() if text and start is not None and end else ""
