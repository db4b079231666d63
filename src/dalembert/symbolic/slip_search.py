"""The search for slips: values wanted of every node, effects of changes, pairs of them (see `slips`)."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from dalembert.symbolic.nodes import Array, Node, apply
from dalembert.symbolic.slips import Batch, Label, Names, changes, number_text, scaled

EQUAL = 1e-9  # relative to the sizes that met: at so many points no other formula comes as close
MOST_NODES = 700  # of a formula that is changed everywhere
MOST_PAIRED = 5000  # of the changes, the likeliest, whose pairs are tried
MOST_EXPANDED = 60  # terms of what was derived, when several may be missing
WORST_EXPONENT = 4
SCALING = ("sign", "factor", "forgotten ½", "missing factor", "chain-rule term", "degrees")


@dataclass(eq=False)
class Station:
    """A node whose wanted values are known, the root or what is divided by, squared, …: the nodes below it that only
    sums and products separate from it add their changes, times a slope."""

    node: Node
    off: Array  # wanted − is
    size: Array
    slopes: dict[Node, Array] = field(default_factory=dict)

    def explained(self, effect: Array) -> Array:
        """Which effects (k, P) are all that is off."""
        close: Array = abs(effect - self.off) <= EQUAL * self.size
        return np.asarray(close.all(-1))


class Change(NamedTuple):
    """One change of a node: what it is, and the node's new values."""

    node: Node
    label: Label
    x: Array


class Found(NamedTuple):
    """Changes that together make the formula right."""

    cost: float
    changes: tuple[Change, ...]


class Row(NamedTuple):
    """One change and its effect on its station and on the root."""

    node: Node
    label: Label
    station: Station
    local: Array
    effect: Array
    x: Array

    @property
    def change(self) -> Change:
        return Change(self.node, self.label, self.x)


class Search:
    """Of a formula and the values that it should have, both finite at all P points."""

    def __init__(self, root: Node, wanted: Array, names: Names, long: bool = False) -> None:
        self.names = replace(names, used=(), angles={}) if long else names
        self.long = long  # only whole terms are looked at
        self.parents: dict[Node, Node] = {}
        self.root = Station(root, wanted - root.x, root.size + abs(wanted))
        self.stations = [self.root]
        self.home: dict[Node, Station] = {}
        self.span: dict[Node, tuple[int, int]] = {}  # numbers of a node and of the last one below it
        self._visit(root, self.root, np.ones_like(root.x))

    def _visit(self, node: Node, station: Station | None, slope: Array) -> None:
        number = len(self.span)
        self.span[node] = number, number
        if station:
            self.home[node] = station
            station.slopes[node] = slope
        for k, part in enumerate(node.parts):
            self.parents[part] = node
            if station and node.op == "sum":
                self._visit(part, station, slope * node.how[k])
            elif station and node.op == "product" and node.how[k] > 0:
                others = [
                    1 / p.x if e < 0 else p.x
                    for j, (e, p) in enumerate(zip(node.how, node.parts, strict=True))
                    if j != k
                ]
                self._visit(part, station, slope * np.prod(others, 0))
            else:
                inner = _invert(node, k, node.x + station.off / slope) if station else None
                if inner is not None and np.isfinite(inner).all():
                    below = Station(part, inner - part.x, part.size + abs(inner))
                    self.stations.append(below)
                    self._visit(part, below, np.ones_like(slope))
                else:
                    self._visit(part, None, slope)
        self.span[node] = number, len(self.span) - 1

    def lift(self, node: Node, x: Array) -> tuple[Station, Array]:
        """The effect of new values (k, P) of a node on its station."""
        while node not in self.home:
            parent = self.parents[node]
            x = apply(parent, [x if p is node else p.x for p in parent.parts])
            node = parent
        station = self.home[node]
        return station, station.slopes[node] * (x - node.x)

    def to_root(self, station: Station, effect: Array) -> Array:
        while station is not self.root:
            node, parent = station.node, self.parents[station.node]
            x = apply(parent, [station.node.x + effect if p is node else p.x for p in parent.parts])
            station, effect = self.lift(parent, x)
        return effect

    # ------------------------------------------------------------------------------------------------ one change

    def rows(self) -> list[Row]:
        """Every single change and its effect."""
        found: list[Row] = []
        for node in self._places(self.root.node):
            for batch in changes(node, self.parents.get(node), self.names):
                found += self._effects(batch)
            parent = self.parents.get(node)
            if node.op == "sum" or parent is None or (parent.op != "sum" and node.op in ("product", "power")):
                at = np.array([node.x + x for _, x in self.names.summands])
                cost = 2.0 + 0.4 * (node is not self.root.node)
                labels = [self.missing(node, shown, cost) for shown, _ in self.names.summands]
                found += self._effects(Batch(node, at, labels)) if labels else ()
        return found

    def _places(self, node: Node) -> Iterator[Node]:
        """The nodes that stand in the text: not the angles of a c12."""
        yield node
        for part in node.parts:
            if self.long and node is self.root.node:
                yield part
            elif part.source is not node.source and not self.long:
                yield from self._places(part)

    def _effects(self, batch: Batch) -> Iterator[Row]:
        station, local = self.lift(batch.node, batch.x)
        effect = self.to_root(station, local)
        for k, label in enumerate(batch.labels):
            yield Row(batch.node, label, station, local[k], effect[k], batch.x[k])

    def solved(self) -> Iterator[Found]:
        """A number in front that is wrong, and a missing term, at every place."""
        basis = Basis(self.names)
        for station in self.stations:
            places = [n for n in self._places(station.node) if self.home.get(n) is station]
            for node in places:
                parent = self.parents.get(node)
                if self._is_term(node):
                    ratio = float(np.median(((node.x + station.off / station.slopes[node]) / node.x).real))
                    if not np.isfinite(ratio):
                        continue
                    f = Fraction(ratio).limit_denominator(1000)
                    if abs(float(f) - ratio) < 1e-8 * abs(ratio):
                        ratio = float(f)
                    if station.explained(station.slopes[node] * (ratio - 1) * node.x) and ratio not in (0, 1, -1):
                        kind, cost, *rest = scaled(node, f if float(f) == ratio else ratio, parent is None)
                        cost += 1.8 * (ratio < 0) + 0.6 * (parent is not None and parent.op == "power")
                        yield Found(cost, (Change(node, Label(kind, cost, *rest), ratio * node.x),))
            whole = [n for n in places if self._is_term(n)]
            ratios = [1 + station.off / (station.slopes[n] * n.x) for n in whole]
            for k, cost, shown, at, powers in basis.monomials(np.array(ratios)) if whole else ():
                node, up = whole[k], all(e > 0 for e in powers.values())
                if not powers or not station.explained(station.slopes[node] * (at - 1) * node.x):
                    continue
                rates = any(self.names.rate(name) for name in powers)
                kind = "chain-rule term" if rates and up else "missing factor" if up else "extra factor"
                words = f"the factor {shown} is missing at {{}}" if up else f"{{}} should be multiplied by {shown}"
                mixed = len({e > 0 for e in powers.values()}) > 1
                cost += 0.3 + 1.2 * (len(powers) > 1) + 2.0 * mixed + 1.5 * (shown[0] in "-½¼¾0123456789")
                yield Found(cost, (Change(node, Label(kind, cost, f"{shown}*{{}}", words), at * node.x),))
            yield from self._brackets(station, [n for n in places if n.op == "sum" and 2 < len(n.parts) < 13], basis)
            sums = [n for n in places if n.op in ("sum", "name", "call", "number") or n is station.node]
            if not sums:
                continue
            off = np.array([station.off / station.slopes[n] for n in sums])
            for k, cost, shown, at, _ in basis.monomials(off):
                node = sums[k]
                if station.explained(station.slopes[node] * at):
                    nested = 0.0 if node is self.root.node else 0.4 if node.op == "sum" else 0.8
                    label = self.missing(node, shown, cost + nested)
                    yield Found(label.cost, (Change(node, label, node.x + at),))

    def _brackets(self, station: Station, sums: Sequence[Node], basis: Basis) -> Iterator[Found]:
        """A factor missing at neighboring terms: a bracket opened without it."""
        for node in sums:
            n, slope = len(node.parts), station.slopes[node]
            runs = [(i, j) for i in range(n) for j in range(i + 2, n + 1) if j - i < n]
            groups = [part_of(node, *run).x for run in runs]
            ratios = 1 + station.off / (slope * np.array(groups))
            for k, cost, shown, at, powers in basis.monomials(ratios):
                up = all(e > 0 for e in powers.values())
                if station.explained(slope * (at - 1) * groups[k]) and up and (powers or shown == "-1"):
                    words = f"the factor {shown} is missing at {{}}" if powers else "the sign of {}"
                    cost += 0.4 + 1.5 * (bool(powers) and shown[0] in "-½¼¾0123456789") + 1.2 * (len(powers) > 1)
                    label = Label("missing factor" if powers else "sign", cost, f"{shown}*{{}}", words)
                    yield Found(label.cost, (Change(part_of(node, *runs[k]), label, at * groups[k]),))

    def _is_term(self, node: Node) -> bool:
        return node.op != "number" and (node not in self.parents or self.parents[node].op != "product")

    def missing(self, node: Node, shown: str, cost: float) -> Label:
        where = "" if node is self.root.node else " in {}"
        plus = "" if shown.startswith("-") else "+ "
        return Label("missing term", cost, f"{{}} {plus}{shown}", f"the term {shown} is missing{where}")

    def singles(self, rows: Sequence[Row]) -> list[Found]:
        if not rows:
            return []
        hits = np.flatnonzero(self.root.explained(np.array([row.effect for row in rows]))).tolist()
        found = [Found(rows[k].label.cost, (rows[k].change,)) for k in hits]
        return sorted(filter(self.is_right, [*found, *self.solved()]), key=lambda f: f.cost)

    # ------------------------------------------------------------------------------------------------ two changes

    def pairs(self, rows: Sequence[Row]) -> list[Found]:
        """Two changes that together explain the formula, the likeliest first."""
        rows = sorted(rows, key=lambda row: row.label.cost)
        found: list[Found] = []
        for station in self.stations:
            own = [r for r in rows if station is self.root or r.station is station]
            E = np.array([r.effect if station is self.root else r.local for r in own])
            if not len(E):
                continue
            own, E = _distinct(own, E, station.size)
            numbers = np.array([self.span[row.node][0] for row in own], dtype=int)
            for i, j in _matches(E, station.off, np.add):
                meeting = self._meeting(own[i].node, own[j].node)
                added = any(r.node is meeting and r.label.kind == "missing term" for r in (own[i], own[j]))
                if (meeting.op == "sum" or added) and station.explained(E[i] + E[j]):
                    found.append(_together(own[i], own[j]))
            for node, slope in station.slopes.items():
                if node.parts:
                    found += self._factors(station, node, slope * node.x, own, E, numbers)
            found += self._with_missing(station, own, E)
        found += self._several_missing()
        return next(([f] for f in sorted(found, key=lambda f: f.cost) if self.is_right(f)), [])

    # ------------------------------------------------------------------------------------------------ verification

    def is_right(self, found: Found) -> bool:
        """Return whether the formula has the wanted values once all these changes are made."""
        wanted = self.root.off + self.root.node.x
        usual = np.median(abs(wanted[wanted != 0])) if wanted.any() else 0.0
        tolerance = EQUAL * (abs(wanted) + usual) + 1e-14 * self.root.size
        with np.errstate(all="ignore"):
            return bool((abs(self._changed(self.root.node, found.changes) - wanted) <= tolerance).all())

    def _changed(self, node: Node, changes: Sequence[Change]) -> Array:
        """The values of a node with these changes of it and of the nodes below it."""
        first, last = self.span[node]
        inside = [c for c in changes if c.node is not node and first <= self.span.get(c.node, (first,))[0] <= last]
        x = apply(node, [self._changed(part, inside) for part in node.parts]) if inside and node.parts else node.x
        for change in inside:
            if change.node not in self.span and change.node.parts[0] in node.parts:  # terms as if in a bracket
                x = x + (change.x - change.node.x)
        own = sorted((c for c in changes if c.node is node), key=lambda c: c.label.kind == "missing term")
        for change in own:
            if change.label.kind == "missing term":
                x = x + (change.x - node.x)
            elif change.label.kind in SCALING:
                x = x * (change.x / node.x)
            else:  # another expression in its place: nothing is left of what else was changed there
                x = change.x if x is node.x else np.full_like(x, np.nan)
        return x

    def _factors(
        self, station: Station, node: Node, share: Array, rows: Sequence[Row], E: Array, numbers: Array
    ) -> list[Found]:
        """Changes in two factors of a product; and a change below what should be multiplied by something."""
        first, last = self.span[node]
        scaling = [k for k in np.flatnonzero(numbers == first).tolist() if rows[k].label.kind in SCALING]
        if node.op != "product" and not scaling:
            return []
        chosen = [*scaling, *np.flatnonzero((numbers > first) & (numbers <= last)).tolist()]
        ratios, whole = 1 + E[chosen] / share, 1 + station.off / share
        found = []
        for i, j in _matches(ratios, whole, np.multiply):
            a, b = rows[chosen[i]], rows[chosen[j]]
            apart = a.node is node or (node.op == "product" and self._meeting(a.node, b.node) is node)
            if apart and station.explained((ratios[i] * ratios[j] - 1) * share):
                found.append(_together(a, b))
        return found

    def _with_missing(self, station: Station, rows: Sequence[Row], E: Array) -> list[Found]:
        found = []
        basis = Basis(self.names)
        sums = [n for n in station.slopes if n.op == "sum" or n is station.node]
        for node in sums[:6]:
            slope = station.slopes[node]
            for k, cost, shown, at, _ in basis.monomials((station.off - E) / slope):
                apart = self._meeting(rows[k].node, node)
                if (apart is node or apart.op == "sum") and station.explained(E[k] + slope * at):
                    label = self.missing(node, shown, cost)
                    both = (rows[k].change, Change(node, label, node.x + at))
                    found.append(Found(rows[k].label.cost + cost + rewriting(rows[k].label, label), both))
        return found

    def _several_missing(self) -> list[Found]:
        """Terms of what was derived, multiplied out, that are all that is missing."""
        terms = self.names.terms
        if not 1 < len(terms) <= min(MOST_EXPANDED, len(self.root.off) - 8):
            return []
        A = np.array([at for _, at in terms]).T
        share = np.linalg.lstsq(A, self.root.off, rcond=None)[0]
        chosen = [k for k in range(len(terms)) if abs(share[k]) > 0.5]
        if not 0 < len(chosen) < min(5, len(terms)) or not self.root.explained(A[:, chosen].sum(1)):
            return []
        cost = 1.5 + 0.6 * len(chosen)
        node, shown = self.root.node, [terms[k][0] for k in chosen]
        common = set.intersection(*(set(re.findall(r"[^\W\d]\w*(?:\([^)]*\))?", text)) for text in shown))
        if common:  # they may well have been one term, a product with a sum in it
            label = self.missing(node, " + ".join(shown).replace("+ -", "- "), cost)
            return [Found(cost, (Change(node, label, node.x + A[:, chosen].sum(1)),))]
        changes = zip(shown, chosen, strict=True)
        return [Found(cost, tuple(Change(node, self.missing(node, t, cost), node.x + A[:, k]) for t, k in changes))]

    def _meeting(self, a: Node, b: Node) -> Node:
        """The lowest node above both."""
        above = {a}
        while a in self.parents:
            a = self.parents[a]
            above.add(a)
        while b not in above:
            b = self.parents[b]
        return b


def part_of(node: Node, i: int, j: int) -> Node:
    """Some neighboring terms of a sum, as if they stood in a bracket."""
    source, places = node.parts[i].source, [p.source for p in node.parts[i:j]]
    for sign, part in zip(node.how[i + 1 : j], node.parts[i + 1 : j], strict=True):
        source = ast.BinOp(source, ast.Add() if sign > 0 else ast.Sub(), part.source)
    if hasattr(places[0], "col_offset") and getattr(places[-1], "end_col_offset", None):
        source.col_offset, source.end_col_offset = places[0].col_offset, places[-1].end_col_offset
    found = Node("sum", node.how[i:j], node.parts[i:j], source)
    found.x = apply(found, [p.x for p in found.parts])
    return found


def _invert(node: Node, k: int, wanted: Array) -> Array | None:
    """The value of part k with which the node has the wanted value."""
    part = node.parts[k].x
    if node.op == "product":  # what is divided by
        return part * node.x / wanted
    if node.op == "power":
        n = node.how[0]
        return np.sign(part) * abs(wanted) ** (1 / n) if n else None
    if node.op == "call" and node.how[0] == "sqrt":
        return wanted * wanted
    return None


def _together(a: Row, b: Row) -> Found:
    return Found(a.label.cost + b.label.cost + rewriting(a.label, b.label), (a.change, b.change))


def rewriting(a: Label, b: Label) -> float:
    """What it costs more to take one term for another altogether: that explains anything."""
    kinds = {a.kind, b.kind}
    return 2.5 if "missing term" in kinds and kinds & {"extra term", "doubled term", "sign"} else 0.0


def _distinct(rows: Sequence[Row], E: Array, size: Array) -> tuple[list[Row], Array]:
    """Rows whose effects are something and differ, the likeliest of those that agree."""
    with np.errstate(all="ignore"):
        seen = np.round(E[:, :3] / size[:3], 10)
    fine: Array = np.asarray(np.isfinite(E).all(1) & (abs(E) > EQUAL * size).any(1))
    _, first = np.unique(np.where(fine[:, None], seen, np.inf), axis=0, return_index=True)
    keep = sorted(k for k in first if fine[k])[:MOST_PAIRED]
    return [rows[k] for k in keep], E[keep]


def _matches(E: Array, whole: Array, meet: np.ufunc) -> Iterator[tuple[int, int]]:
    """Pairs (i < j) of rows for which meet(E_i, E_j) is the whole, at the first point; the others tell."""
    at = int(np.argmax(abs(whole))) if len(whole) else 0
    key = E[:, at]
    order = np.argsort(key)
    partner = whole[at] - key if meet is np.add else whole[at] / np.where(key == 0, np.nan, key)
    width = 1e-8 * (abs(partner) + abs(whole[at]))
    low = np.searchsorted(key[order], partner - width)
    high = np.searchsorted(key[order], partner + width, "right")
    for i in np.flatnonzero((high > low) & (high - low < 50)):
        for j in order[low[i] : high[i]]:
            if i < j and abs(meet(E[i], E[j]) - whole).max() <= 1e-6 * abs(whole).max():
                yield int(i), int(j)


class Basis:
    """Products of powers of the names, sines and cosines: the logarithm of one is linear in the exponents."""

    def __init__(self, names: Names) -> None:
        self.columns = [(name, names.values[name]) for name in names.used]
        self.columns += [
            (names.trigonometric(f.__name__, angle), f(at))
            for angle, at in names.angles.items()
            for f in (np.sin, np.cos)
        ]
        self.columns = [(name, at) for name, at in self.columns if at.all() and np.isfinite(at).all()]
        logs = [np.log(abs(at)) for _, at in self.columns]
        self.logs = np.array([np.ones_like(logs[0]), *logs]) if logs else np.zeros((0, 0))
        self.solve = np.linalg.pinv(self.logs) if self.logs.shape[0] < self.logs.shape[1] else None

    def monomials(self, x: Array) -> Iterator[tuple[int, float, str, Array, dict[str, int]]]:
        """(which row, cost, text, values, exponents) of those rows of x (k, P) that are a number times powers."""
        if self.solve is None:
            return
        with np.errstate(all="ignore"):
            logs = np.log(abs(x))
            logs[~np.isfinite(logs).all(1)] = 0.0
            whole = np.round((logs @ self.solve)[:, 1:])
        rest = logs - whole @ self.logs[1:]
        fine = (np.ptp(rest, axis=1) < 1e-6) & (abs(x) > 0).all(1) & (abs(whole).max(1) <= WORST_EXPONENT)
        for k in np.flatnonzero(fine):
            powers = [(name, int(e), at) for (name, at), e in zip(self.columns, whole[k], strict=True) if e]
            body = np.prod([np.ones(x.shape[1]), *(at**e for _, e, at in powers)], 0)
            ratio = float(np.median((x[k] / body).real))
            c = Fraction(ratio).limit_denominator(1000) if np.isfinite(ratio) else Fraction(0)
            if abs(float(c) - ratio) > 1e-7 * abs(ratio) or not c:
                continue
            cost = 1.5 + 0.08 * sum(abs(e) for _, e, _ in powers) + 1.2 * any(e < 0 for _, e, _ in powers)
            cost += 0.0 if abs(c) == 1 else 0.1 if abs(c) in (2, Fraction(1, 2)) else 0.4
            exponents = {name: e for name, e, _ in powers}
            yield int(k), cost, monomial_text(c, exponents), float(c) * body, exponents


def monomial_text(c: Fraction, powers: dict[str, int]) -> str:
    up = [name if e == 1 else f"{name}^{e}" for name, e in powers.items() if e > 0]
    down = [name if e == -1 else f"{name}^{-e}" for name, e in powers.items() if e < 0]
    if abs(c) != 1 or not up:
        up.insert(0, number_text(abs(c)))
    return ("-" if c < 0 else "") + "*".join(up) + "".join(f"/{d}" for d in down)


def expand(node: Node, names: Names) -> list[tuple[str, Array]] | None:
    """The terms of a formula, multiplied out, with their values; None if they are too many, or quotients of sums."""
    terms = _expanded(node, names)
    if terms is None:
        return None
    collected: dict[tuple[tuple[str, int], ...], Fraction] = {}
    atoms: dict[str, Array] = {}
    for c, powers, at in terms:
        atoms |= at
        key = tuple(sorted((name, e) for name, e in powers.items() if e))
        collected[key] = collected.get(key, Fraction(0)) + c
    return [
        (monomial_text(c, dict(key)), float(c) * np.prod([np.ones_like(node.x), *(atoms[n] ** e for n, e in key)], 0))
        for key, c in collected.items()
        if c
    ]


Term = tuple[Fraction, Counter[str], dict[str, Array]]


def _expanded(node: Node, names: Names) -> list[Term] | None:
    if node.op == "number":
        if not isinstance(node.how[0], float):
            return None
        return [(Fraction(node.how[0]).limit_denominator(10**6), Counter(), {})]
    if node.op == "sum":
        found: list[Term] = []
        for sign, part in zip(node.how, node.parts, strict=True):
            terms = _expanded(part, names)
            if terms is None or len(found) + len(terms) > MOST_EXPANDED:
                return None
            found += [(sign * c, powers, at) for c, powers, at in terms]
        return found
    if node.op == "product" or (node.op == "power" and node.how[0] in (2.0, 3.0)):
        power = node.op == "power"
        signs = (1,) * int(node.how[0]) if power else node.how
        parts = [_expanded(p, names) for p in (node.parts * len(signs) if power else node.parts)]
        total: list[Term] = [(Fraction(1), Counter(), {})]
        for sign, terms in zip(signs, parts, strict=True):
            if (
                terms is None
                or len(total) * len(terms) > MOST_EXPANDED
                or (sign < 0 and (len(terms) != 1 or not terms[0][0]))
            ):
                return None
            total = [_times(a, b, sign) for a, b in product(total, terms)]
        return total
    name = str(node.how[0]) if node.op == "name" else names.text(node)
    return [(Fraction(1), Counter({name: 1}), {name: node.x})]


def _times(a: Term, b: Term, sign: int) -> Term:
    powers = a[1].copy()
    for name, e in b[1].items():
        powers[name] += sign * e
    return a[0] * b[0] ** sign, powers, a[2] | b[2]
