"""Entries of M, C, g, … as a person writes them: in sums of angles, with lumped constants or by physical parameters.

The coefficients of all sines and cosines in all entries are polynomials in the parameters; they span a space over ℚ,
whose dimension does not depend on the form in which the sines and cosines are written. One exact row reduction, with
the most frequent coefficients first, picks a basis among them, the lumps, and gives every coefficient in terms of it:

    Y(q) = Σ_i coefficient_i(parameters) f_i(q) = Σ_j lump_j F_j(q),      F_j = Σ_i R_ji f_i,  R = rref(coefficients).

This is done for a few forms (Fourier, products, cos², sin²) and two orders; what is cheapest to read wins. Last, what
will be printed is evaluated in the ring and compared with what was given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from flint import fmpq, fmpq_mat

from dalembert.errors import DalembertError
from dalembert.symbolic.collect import SIMPLE, Terms, Writer, as_fraction, split_name
from dalembert.symbolic.expression import ZERO, Expression, Name, evaluate, is_rounded, numbers_in
from dalembert.symbolic.fourier import Basis, Function, Key, Monomial, fourier
from dalembert.symbolic.polynomial import Polynomial, Ring
from dalembert.symbolic.shorten import Choice, Shortener, shortener

LUMPED_WITH_CARE, LUMPED_AT_MOST, WRITTEN_AT_MOST = 3000, 6000, 8000
"""Terms in normal form up to which the best lumps of all forms are looked for, those of one form, and anything is
written for people at all; between the last two it is written in the physical parameters. Each takes a few seconds."""
LETTERS = "abdefhjkmnpruvwxyz"  # c, s, g, i, l, o, q, t look like other things
NUMBERED = "phkuwz"
FORMS: tuple[Choice | bool, ...] = (False, None, "c", "s")
"""Fourier; then shortened with the better squares, all cosines, all sines."""
ONE_FORM: tuple[Choice | bool, ...] = ("c",)

Vector = tuple[tuple[Monomial, fmpq], ...]
LumpBasis = tuple[tuple[str, Vector], ...]
Coefficients = dict[Key, dict[Monomial, fmpq]]
LumpedEntry = dict[int, Function]


class TooLargeError(DalembertError):
    """More terms than anybody reads."""


class InexactError(DalembertError, RuntimeError):
    """A printed form that is not what was given: an error in Dalembert."""


@dataclass(frozen=True)
class Legible:
    """Entries for print, and what the lumped constants in them stand for.

    `decimals` says that some coefficients are measured numbers, better shown as decimals than as fractions. `basis` are
    the lumps as vectors of the coefficients' space, with their names ("" of what needs none): further entries can be
    written in them."""

    lumps: dict[str, Expression]
    entries: dict[str, Expression]
    decimals: bool = False
    basis: LumpBasis = ()

    @property
    def rounded(self) -> bool:
        """Whether decimals of six digits would show less than the numbers are."""
        written = (*self.lumps.values(), *self.entries.values())
        return self.decimals and any(is_rounded(x) for e in written for x in numbers_in(e))


def legible(
    entries: Mapping[str, Polynomial | float],
    groups: Iterable[Sequence[int]] = (),
    lump: bool = True,
    known: LumpBasis = (),
) -> Legible:
    """The entries in sums of angles, equal to the canonical ones exactly.

    `groups` are the coordinates (from 0) of joints whose axes stay parallel. With `lump`, coefficients become lumped
    constants a, b, d, …, the same ones in all entries, those `known` before others; without, or with more than
    LUMPED_AT_MOST terms, they are written in the physical parameters. More than WRITTEN_AT_MOST terms raise
    TooLargeError."""
    ring = next((p.ring for p in entries.values() if isinstance(p, Polynomial)), Ring())
    given = {name: ring.scalar(p) for name, p in entries.items()}
    count = sum(map(len, given.values()))
    if count > WRITTEN_AT_MOST:
        problem = f"{count} terms are too many to read (at most {WRITTEN_AT_MOST})"
        remedy = (
            "Write them in normal form with equations.save(file), or use fewer, with numbers for some parameters, as "
            "in symbolic='inertias'."
        )
        raise TooLargeError("too-large", "entries", problem=problem, remedy=remedy)
    basis = Basis(ring, groups)
    functions = {name: basis.functions(p) for name, p in given.items()}
    short = shortener(basis.groups, {key for f in functions.values() for g in f.values() for key in g})
    has_parameters = any(any(m) for f in functions.values() for m in f)
    writer = Writer(basis)
    if lump and has_parameters and count <= LUMPED_AT_MOST:
        forms = FORMS if count <= LUMPED_WITH_CARE else ONE_FORM
        result = lumped_form(writer, cheapest(short, functions, forms, known), short, functions, known)
    else:
        result = physical_form(writer, short, functions)
    check(ring, given, result)
    return Legible(result.lumps, result.entries, not has_parameters or has_decimals(result), result.basis)


def has_decimals(result: Legible) -> bool:
    written = (*result.lumps.values(), *result.entries.values())
    return any(x.denominator not in SIMPLE for e in written for x in numbers_in(e))


def check(ring: Ring, given: Mapping[str, Polynomial], result: Legible) -> None:
    """Every printed entry, evaluated in the ring, is the given polynomial."""
    values: dict[str, Any] = dict(ring.symbols)
    values |= {f"q{k + 1}": ring.angle(k) for k in ring.turning}
    values |= {name: evaluate(e, values, Fraction) for name, e in result.lumps.items()}
    for name, p in given.items():
        if p != ring.scalar(evaluate(result.entries[name], values, Fraction)):
            problem = f"the form of {name} to be printed is not equal to {name}"
            raise InexactError("not-proved", name, problem=problem, remedy="Please report this.")


# The physical form.


def physical_form(writer: Writer, short: Shortener, functions: Mapping[str, dict[Monomial, Function]]) -> Legible:
    written = {name: physical_terms(writer, short, by_monomial) for name, by_monomial in functions.items()}
    return Legible({}, {k: writer.by_motion(terms, writer.physical) if terms else ZERO for k, terms in written.items()})


def physical_terms(writer: Writer, short: Shortener, by_monomial: Mapping[Monomial, Function]) -> Terms:
    """What multiplies each monomial of the parameters, made as short as it goes, term by term."""
    terms: Terms = {}
    for monomial, function in by_monomial.items():
        atoms = writer.parameter_atoms(monomial)
        for key, c in short.shorten_more(function).items():
            terms[writer.monomial([*atoms, *writer.key_atoms(key)])] = as_fraction(c)
    return terms


# The lumped form.


@dataclass
class Lumping:
    """One way to lump: the lumps, and each entry as {lump: function}."""

    lumps: list[Vector]
    entries: dict[str, LumpedEntry]
    cost: float


@dataclass
class Pool:
    """The coefficients of all entries in one form, each direction once, with the places where it stands."""

    places: dict[Vector, list[tuple[str, Key, fmpq]]] = field(default_factory=dict)

    def put(self, name: str, key: Key, coefficient: dict[Monomial, fmpq]) -> None:
        vector, factor = direction(coefficient)
        self.places.setdefault(vector, []).append((name, key, factor))


def direction(coefficient: dict[Monomial, fmpq]) -> tuple[Vector, fmpq]:
    """(multiple with whole numbers that have no common divisor and are not mostly negative, the factor)."""
    items = sorted(coefficient.items())
    factor = fmpq(gcd(*(int(c.p) for _, c in items)), lcm(*(int(c.q) for _, c in items)))
    if 2 * sum(c < 0 for _, c in items) > len(items):
        factor = -factor
    return tuple(items) if factor == 1 else tuple((m, c / factor) for m, c in items), factor


def lumped_form(
    writer: Writer, best: Lumping, short: Shortener, names: Iterable[str], known: LumpBasis = ()
) -> Legible:
    """The lumping, its functions made as short as they go, with names and in order."""
    for entry in best.entries.values():
        for k, function in entry.items():
            entry[k] = short.shorten_more(fourier(function))
    rescale(best, len(known))
    symbols, lumps = named(writer, best, order_of_appearance(writer, best), known)
    entries = {}
    for name in names:
        terms: Terms = {}
        for k, function in best.entries.get(name, {}).items():
            for key, c in function.items():
                terms[writer.monomial([*symbols[k], *writer.key_atoms(key)])] = as_fraction(c)
        entries[name] = writer.by_motion(terms, writer.lumped) if terms else ZERO
    fresh = [(symbols[k], v) for k, v in enumerate(best.lumps) if k >= len(known) and k in symbols]
    found = [(s[0][0].name if not is_parameter(v) and isinstance(s[0][0], Name) else "", v) for s, v in fresh]
    order = {name: k for k, name in enumerate(lumps)}
    found.sort(key=lambda pair: order.get(pair[0], len(order)))
    return Legible(lumps, entries, basis=(*known, *found))


def cheapest(
    short: Shortener,
    functions: Mapping[str, dict[Monomial, Function]],
    forms: Sequence[Choice | bool],
    known: LumpBasis = (),
) -> Lumping:
    """The cheapest lumping over these forms of the functions and a few orders of their coefficients."""
    best: Lumping | None = None
    tried: list[Pool] = []
    for form in forms:
        pool = pooled(short, functions, form)
        if pool in tried:
            continue
        tried.append(pool)
        first = tuple(vector for _, vector in known)
        for columns in dict.fromkeys(tuple(sorted(pool.places, key=order)) for order in orders(pool)):
            found = lumping(short, pool, tuple(dict.fromkeys((*first, *columns))))
            if best is None or found.cost < best.cost - 1e-9:
                best = found
    assert best is not None
    return best


def orders(pool: Pool) -> list[Callable[[Vector], tuple[int, int]]]:
    """Most frequent first, or shortest first."""
    return [lambda v: (-len(pool.places[v]), len(v)), lambda v: (len(v), -len(pool.places[v]))]


def pooled(short: Shortener, functions: Mapping[str, dict[Monomial, Function]], form: Choice | bool) -> Pool:
    pool = Pool()
    for name, by_monomial in functions.items():
        coefficients: Coefficients = {}
        for monomial, function in by_monomial.items():
            written = function if isinstance(form, bool) else short.shorten(function, form)
            for key, c in written.items():
                coefficients.setdefault(key, {})[monomial] = c
        for key, coefficient in coefficients.items():
            pool.put(name, key, coefficient)
    return pool


def lumping(short: Shortener, pool: Pool, columns: Sequence[Vector]) -> Lumping:
    """Row reduction with the coefficients in this order as columns: the pivots are the lumps."""
    rows, pivots = reduced(columns)
    entries: dict[str, LumpedEntry] = {}
    for vector, weights in zip(columns, rows, strict=True):
        for k, weight in weights:
            for name, key, factor in pool.places.get(vector, ()):
                function = entries.setdefault(name, {}).setdefault(k, {})
                function[key] = function.get(key, fmpq(0)) + weight * factor
    cost = 0.05 * sum(len(columns[j]) for j in pivots)
    for entry in entries.values():
        for k in list(entry):
            entry[k] = short.shorten(fourier(entry[k]))
            cost += short.cost(entry[k])
            if not entry[k]:
                del entry[k]
    return Lumping([columns[j] for j in pivots], entries, cost)


def reduced(columns: Sequence[Vector]) -> tuple[list[list[tuple[int, fmpq]]], list[int]]:
    """(for each column its weights on the pivots, the pivots' columns)."""
    monomials = sorted({m for vector in columns for m, _ in vector})
    index = {m: i for i, m in enumerate(monomials)}
    A = fmpq_mat(len(monomials), len(columns))
    for j, vector in enumerate(columns):
        for m, c in vector:
            A[index[m], j] = c
    R, rank = A.rref()
    table = R.tolist()[:rank]
    pivots = [next(j for j, c in enumerate(row) if c != 0) for row in table]
    weights = [[(i, row[j]) for i, row in enumerate(table) if row[j] != 0] for j in range(len(columns))]
    return weights, pivots


def rescale(best: Lumping, known: int = 0) -> None:
    """Lumps of measured numbers keep them: d = 0.25 m₁ + 0.1 m₂ and not d/20 with d = 5 m₁ + 2 m₂."""
    for k, vector in enumerate(best.lumps):
        if k < known or not any(k in entry for entry in best.entries.values()):
            continue
        used = Counter(abs(c) for entry in best.entries.values() for c in entry.get(k, {}).values())
        unit = min(used, key=lambda c: (-used[c], c))
        if is_parameter(vector) or int(unit.q) <= 2:
            continue
        best.lumps[k] = tuple((m, c * unit) for m, c in vector)
        for entry in best.entries.values():
            if k in entry:
                entry[k] = {key: c / unit for key, c in entry[k].items()}


def is_parameter(vector: Vector) -> bool:
    """Whether it is one parameter, or one, which need no other name."""
    return len(vector) == 1 and sum(vector[0][0]) <= 1 and vector[0][1] == 1


def order_of_appearance(writer: Writer, best: Lumping) -> list[int]:
    """The lumps as a reader meets them."""
    result: dict[int, None] = {}
    for entry in best.entries.values():
        first = {k: min(writer.place(writer.monomial(writer.key_atoms(key))) for key in entry[k]) for k in entry}
        for k in sorted(first, key=lambda k: first[k]):
            result.setdefault(k)
    return list(result)


Symbols = dict[int, list[tuple[Expression, int]]]


def named(
    writer: Writer, best: Lumping, order: Sequence[int], known: LumpBasis = ()
) -> tuple[Symbols, dict[str, Expression]]:
    """(what stands for each lump, {name: meaning}). A lump that is a number or one parameter needs no name."""
    symbols: Symbols = {}
    meanings: dict[int, Expression] = {}
    for k in order:
        vector = best.lumps[k]
        if is_parameter(vector):
            symbols[k] = writer.parameter_atoms(vector[0][0])
        else:
            meanings[k] = writer.lump({writer.monomial(writer.parameter_atoms(m)): as_fraction(c) for m, c in vector})
    fresh = [k for k in meanings if k >= len(known)]
    names = dict(zip(fresh, lump_names(writer.basis.ring, len(fresh), [name for name, _ in known]), strict=True))
    names |= {k: known[k][0] for k in meanings if k < len(known)}
    meant = {k: meanings[k] for k in sorted(k for k in meanings if k < len(known))} | meanings
    symbols |= {k: [(Name(name), 1)] for k, name in names.items()}
    return symbols, {names[k]: meaning for k, meaning in meant.items()}


def lump_names(ring: Ring, count: int, known: Iterable[str] = ()) -> list[str]:
    """a, b, d, …, none of which begins a name of the ring's, or is known; or p1, p2, … if these are too few."""
    taken = {split_name(name)[0] for name in (*ring.names, *known)}
    letters = [letter for letter in LETTERS if letter not in taken]
    if count <= len(letters):
        return letters[:count]
    letter = next((letter for letter in NUMBERED if letter not in taken), "lump")
    return [f"{letter}{k + 1}" for k in range(count)]
