"""Polynomials in names, sines and cosines, written as a textbook writes them: ordered, collected, drawn out.

`Terms` is a polynomial: {monomial: rational}. A monomial is a tuple of (atom, power), the atoms being names, sines and
cosines, in the order of a textbook's products: inertias, masses, g, lengths, sliding coordinates, sines and cosines,
rates, accelerations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce

from flint import fmpq, fmpq_mpoly_ctx

from dalembert.symbolic.expression import (
    ONE,
    Cosine,
    Expression,
    Name,
    Number,
    Product,
    Sine,
    Sum,
    children,
    coefficient,
    negative,
    power,
    size,
    terms_of,
    times,
    total,
)
from dalembert.symbolic.fourier import Basis, Key
from dalembert.symbolic.polynomial import Ring

Monomial = tuple[tuple[Expression, int], ...]
Terms = dict[Monomial, Fraction]
Rank = tuple[float, str, int, str]

# The roles of atoms in the order in which a product names them.
INERTIA, MASS, GRAVITY, LENGTH, SLIDE, TRIGONOMETRIC, RATE, ACCELERATION = map(float, range(8))
SIMPLE = {1, 2, 3, 4, 6, 8}
"""Denominators that are written as fractions; numbers with any other are measured ones, and written as decimals."""
LARGEST_TO_FACTOR = 200
PARTS_OF_A_NAME = re.compile(r"([A-Za-z_]*)(\d*)(.*)")
LIKE_INERTIA = re.compile(r"[IJ]([A-Za-z]{0,2}\d|[a-z]{0,2}$)")
LIKE_MASS = re.compile(r"m(?!u\d*$)(\d|[A-Za-z]?\d*$)")


class Writer:
    """Writes the polynomials of one ring."""

    def __init__(self, basis: Basis) -> None:
        self.basis = basis
        self._roles = roles(basis.ring)
        self._ranks: dict[Expression, Rank] = {}

    # Order.

    def rank(self, factor: Expression) -> Rank:
        """Where a factor stands in a product."""
        known = self._ranks.get(factor)
        if known is None:
            known = self._ranks[factor] = self._rank(factor)
        return known

    def _rank(self, factor: Expression) -> Rank:
        match factor:
            case Name(name):
                letters, digits, rest = split_name(name)
                return self._roles.get(name, LENGTH), letters, int(digits or 0), rest
            case Cosine(angle) | Sine(angle):
                kind = "c" if isinstance(factor, Cosine) else "s"
                return TRIGONOMETRIC, "", 100 * angle[0][0] + len(angle), kind + repr(angle)
            case Sum():
                return *self._sum_role(factor), size(factor), ""
        inner = children(factor)
        return self.rank(inner[0]) if inner else (-1.0, "", 0, "")

    def _sum_role(self, factor: Sum) -> tuple[float, str]:
        """A sum of masses stands where masses do, another behind all that is like it, lengths before sines."""
        found = [self.rank(leaf)[0] for leaf in leaves(factor)]
        return found[0] if found[0] <= MASS else max(found) + 0.5, str(min(found))

    def is_inertial(self, atom: Expression) -> bool:
        return self.rank(atom)[0] <= MASS

    def is_trigonometric(self, atom: Expression) -> bool:
        return self.rank(atom)[0] == TRIGONOMETRIC

    def is_of_joints(self, atom: Expression) -> bool:
        return SLIDE <= self.rank(atom)[0] <= TRIGONOMETRIC

    def is_of_motion(self, atom: Expression) -> bool:
        return self.rank(atom)[0] >= RATE

    def monomial(self, atoms: Iterable[tuple[Expression, int]]) -> Monomial:
        powers: dict[Expression, int] = {}
        for atom, n in atoms:
            powers[atom] = powers.get(atom, 0) + n
        return tuple(sorted(((a, n) for a, n in powers.items() if n), key=lambda item: self.rank(item[0])))

    def place(self, monomial: Monomial) -> tuple[int, list[Rank], list[Rank]]:
        """Where a term stands in a sum: fewer factors that move first, then the order of the atoms."""
        moving = [self.rank(a) for a, n in monomial for _ in range(n) if self.is_of_joints(a)]
        other = [self.rank(a) for a, n in monomial for _ in range(n) if not self.is_of_joints(a)]
        return len(moving), moving, other

    # Terms.

    def key_atoms(self, key: Key) -> list[tuple[Expression, int]]:
        """A key of the Fourier or the shortened form as atoms."""
        result: list[tuple[Expression, int]] = []
        for group, atom in zip((*self.basis.groups, ()), key, strict=True):
            for kind, k in atom:
                if kind == "v":
                    result += [(Name(name), n) for name, n in zip(self.basis.motion, k, strict=True)]
                elif kind == "q":
                    result.append((Name(self.basis.ring.joints[group[0]][-1]), k[0]))
                else:
                    angle = tuple((j + 1, x) for j, x in zip(group, k, strict=True) if x)
                    result.append((Cosine(angle) if kind == "c" else Sine(angle), 1))
        return result

    def parameter_atoms(self, powers: Sequence[int]) -> list[tuple[Expression, int]]:
        return [(Name(name), n) for name, n in zip(self.basis.parameters, powers, strict=True) if n]

    def split(self, terms: Terms, belongs: Callable[[Expression], bool]) -> dict[Monomial, Terms]:
        """{the part of a monomial whose atoms belong: what multiplies it}."""
        result: dict[Monomial, Terms] = {}
        for monomial, c in terms.items():
            inside = tuple(item for item in monomial if belongs(item[0]))
            outside = tuple(item for item in monomial if not belongs(item[0]))
            result.setdefault(inside, {})[outside] = c
        return result

    def term(self, monomial: Monomial, c: Fraction) -> Expression:
        return times(Number(c), *(power(atom, n) for atom, n in monomial))

    def plain(self, terms: Terms) -> Expression:
        """The sum as it stands, in order."""
        return total(self.term(m, terms[m]) for m in sorted(terms, key=self.place))

    def flat(self, terms: Terms) -> Expression:
        """The sum as it stands, but for a measured number that all terms have: 9.81 (m₁ + m₂)."""
        number, rest = primitive(terms)
        if len(terms) == 1 or is_simple(terms) or any(abs(c) != 1 for c in rest.values()):
            return self.plain(terms)
        return times(Number(number), self.plain(rest))

    def product(self, factors: Iterable[Expression]) -> Expression:
        """The product, in order; −(A − B) as (B − A)."""
        parts = sorted((part for factor in factors for part in factors_in(factor)), key=self.rank)
        if math.prod(part.value for part in parts if isinstance(part, Number)) < 0:
            turned = next((k for k, part in enumerate(parts) if is_balanced(part)), None)
            if turned is not None:
                parts[turned] = total(negative(term) for term in terms_of(parts[turned]))
                parts.append(Number(Fraction(-1)))
        return times(*parts)

    def sum(self, terms: Iterable[Expression]) -> Expression:
        """The sum, with what multiplies the same sum added up: p c₂ (A + B) − r s₂ (A + B) = (p c₂ − r s₂)(A + B)."""
        terms = list(terms)
        found = [part for term in terms if isinstance(term, Product) for part in term.factors if isinstance(part, Sum)]
        shared = next((part for part in found if found.count(part) > 1), None)
        if shared is None:
            return total(terms)
        having = [term for term in terms if isinstance(term, Product) and shared in term.factors]
        rests = [times(*(part for part in factors_in(term) if part != shared)) for term in having]
        place = terms.index(having[0])
        others = [term for term in terms[place:] if term not in having]
        joined = self.product([*self.common_factors(rests), shared])
        return self.sum([*terms[:place], joined, *others])

    def common_factors(self, terms: Sequence[Expression]) -> list[Expression]:
        """The factors of a sum: 2 m p c₂ − 2 m r s₂ = 2 m (p c₂ − r s₂)."""
        numbers = [coefficient(term)[0] for term in terms]
        unit = abs(numbers[0]) if len({abs(c) for c in numbers}) == 1 else Fraction(1)
        if 2 * sum(c < 0 for c in numbers) > len(numbers):
            unit = -unit
        first, *others = (factors_in(coefficient(term)[1]) for term in terms)
        common = [part for part in first if part != ONE and all(part in other for other in others)]
        rests = [
            times(Number(c / unit), *(part for part in factors_in(coefficient(term)[1]) if part not in common))
            for c, term in zip(numbers, terms, strict=True)
        ]
        return [Number(unit), *common, total(rests)]

    # Ways to write a polynomial.

    def drawn_out(self, terms: Terms, inner: Callable[[Terms], Expression] | None = None) -> Expression:
        """common factor · (rest): b s₂ q̇₁ + b s₂ q̇₂ = b s₂ (q̇₁ + q̇₂). `inner` writes the rest."""
        number, rest = primitive(terms)
        if any(abs(c) != 1 for c in rest.values()):
            number, rest = kept_inside(number, rest)
        common = reduce(common_part, rest)
        rest = {divided(m, common): c for m, c in rest.items()}
        return self.product([Number(number), self.term(common, Fraction(1)), (inner or self.plain)(rest)])

    def factored(self, terms: Terms) -> Expression:
        """Factored, if that is shorter: a₂² c₂² + 2 a₂ r₃ c₂ c₂₃ + r₃² c₂₃² = (a₂ c₂ + r₃ c₂₃)²."""
        plain = self.drawn_out(terms)
        if not 2 < len(terms) <= LARGEST_TO_FACTOR or not is_simple(terms):
            return plain
        factored = self.product(self._factors(terms))
        return factored if size(factored) < size(plain) else plain

    def _factors(self, terms: Terms) -> list[Expression]:
        atoms = sorted({atom for m in terms for atom, _ in m}, key=self.rank)
        index = {atom: k for k, atom in enumerate(atoms)}
        ctx = fmpq_mpoly_ctx.get(tuple(f"x{k}" for k in range(len(atoms))), "lex")
        powers = {}
        for monomial, c in terms.items():
            row = [0] * len(atoms)
            for atom, n in monomial:
                row[index[atom]] = n
            powers[tuple(row)] = fmpq(c.numerator, c.denominator)
        constant, factors = ctx.from_dict(powers).factor()
        number, result = as_fraction(constant), []
        for factor, n in factors:
            sign, inside = primitive(
                {
                    tuple((atoms[k], e) for k, e in enumerate(row) if e): as_fraction(c)
                    for row, c in factor.to_dict().items()
                }
            )
            number *= sign**n
            result.append(power(self.plain(inside), n))
        return [Number(number), *result]

    def parameters(self, terms: Terms) -> Expression:
        """A polynomial in parameters: a common factor drawn out, the rest by masses: (m₁ r₁ + m₂ l₁) g."""
        return self.drawn_out(terms, self.by_inertia)

    def lump(self, terms: Terms) -> Expression:
        """What a lumped constant stands for; numbers stay inside, but for a measured one that all terms have."""
        number, rest = primitive(terms)
        if is_simple(terms) or any(abs(c) != 1 for c in rest.values()):
            number, rest = Fraction(1), terms
        common = reduce(common_part, rest)
        rest = {divided(m, common): c for m, c in rest.items()}
        return self.product([Number(number), self.term(common, Fraction(1)), self.by_inertia(rest)])

    def by_inertia(self, terms: Terms) -> Expression:
        """Collected by inertias and masses: I₁ + m₁ r₁² + m₂ (l₁² + r₂² + 2 l₁ r₂ c₂)."""
        return self._collected(self.split(terms, self.is_inertial), self.plain, self.factored)

    def by_angle(self, terms: Terms) -> Expression:
        """Collected by sines and cosines: (m₁ r₁ + m₂ l₁) g c₁ + m₂ g r₂ c₁₂."""
        groups = self.split(terms, self.is_trigonometric)
        return self._collected(groups, self.drawn_out, self.parameters, self.by_inertia)

    def physical(self, terms: Terms) -> Expression:
        """By masses or by angles, whichever is shorter to read."""
        written = [self.by_angle(terms), self.by_inertia(terms)]
        if len(terms) > 1 and self.common_angles(terms):
            written += [self.behind(terms, self.by_angle), self.behind(terms, self.by_inertia)]
        return min(written, key=size)

    def common_angles(self, terms: Terms) -> Monomial:
        """The sines and cosines that all terms have."""
        return tuple(item for item in reduce(common_part, terms) if self.is_trigonometric(item[0]))

    def behind(self, terms: Terms, write: Callable[[Terms], Expression]) -> Expression:
        """These drawn out: (b c₂ + d c₂₃) s₂₃."""
        common = self.common_angles(terms)
        rest = write({divided(m, common): c for m, c in terms.items()})
        return self.product([rest, self.term(common, Fraction(1))])

    def _collected(
        self,
        groups: dict[Monomial, Terms],
        write_outer: Callable[[Terms], Expression],
        write_inner: Callable[[Terms], Expression],
        write_alone: Callable[[Terms], Expression] | None = None,
    ) -> Expression:
        """Σ outer · inner, with outer parts that multiply the same inner added up: (m₃ + m₄)(l₁² + l₂²)."""
        result: list[Expression] = []
        for outer, inner in merged({m: groups[m] for m in sorted(groups, key=self.place)}):
            if set(inner) == {()}:
                flat = {m: c * inner[()] for m, c in outer.items()}
                result += terms_of(self.flat(flat))
            elif set(outer) == {()}:
                result += terms_of((write_alone or self.flat)({m: c * outer[()] for m, c in inner.items()}))
            else:
                number, outer = primitive(outer)
                number, inner = kept_inside(number, inner)
                result.append(self.product([Number(number), write_outer(outer), write_inner(inner)]))
        return self.sum(result)

    def lumped(self, terms: Terms) -> Expression:
        """Sums of lump · (sines and cosines): a lump with one such term stands flat, lumps with the same are added."""
        if len(terms) > 1 and self.common_angles(terms):
            return self.behind(terms, self.lumped)
        flat: dict[Monomial, Terms] = {}
        result: list[tuple[Monomial, Expression]] = []
        for lump, inner in self.split(terms, lambda atom: not self.is_of_joints(atom)).items():
            if len(inner) == 1:
                ((monomial, c),) = inner.items()
                turning = tuple(item for item in monomial if self.is_trigonometric(item[0]))
                sliding = tuple(item for item in monomial if not self.is_trigonometric(item[0]))
                flat.setdefault(turning, {})[(*lump, *sliding)] = c
            else:
                first = min(inner, key=self.place)
                result.append((first, self.product([self.term(lump, Fraction(1)), self.factored(inner)])))
        for monomial, lumps in flat.items():
            if monomial == () or len(lumps) == 1:
                ordered = sorted(lumps, key=self.place)
                result += [(monomial, self.term((*lump, *monomial), lumps[lump])) for lump in ordered]
            else:
                result.append((monomial, self.product([self.drawn_out(lumps), self.term(monomial, Fraction(1))])))
        result.sort(key=lambda item: self.place(item[0]))
        return self.sum(expression for _, expression in result)

    def by_motion(self, terms: Terms, write: Callable[[Terms], Expression]) -> Expression:
        """Collected by accelerations, then rates: (a + 2 b c₂) q̈₁ − b s₂ (2 q̇₁ q̇₂ + q̇₂²) + …"""
        groups = self.split(terms, self.is_of_motion)
        if set(groups) <= {()}:
            return write(terms)
        result: list[Expression] = []
        for outer, inner in merged(dict(sorted(groups.items(), key=self._motion_place))):
            number, outer = primitive(outer)
            number, inner = kept_inside(number, inner)
            if set(outer) == {()}:
                result += terms_of(write({m: c * number for m, c in inner.items()}))
            else:
                result.append(self.product([Number(number), write(inner), self.plain(outer)]))
        return total(result)

    def _motion_place(self, group: tuple[Monomial, Terms]) -> tuple[float, list[Rank]]:
        ranks = [self.rank(a) for a, n in group[0] for _ in range(n)]
        return -max((rank[0] for rank in ranks), default=0.0), ranks


def roles(ring: Ring) -> dict[str, float]:
    """{name: role} of a ring's names; masses, inertias and g are known by their letters."""
    result = {name: LENGTH for name in ring.names}
    for name in ring.parameters:
        if LIKE_INERTIA.match(name):
            result[name] = INERTIA
        elif LIKE_MASS.match(name):
            result[name] = MASS
        elif split_name(name)[0] == "g":
            result[name] = GRAVITY
    result.update({names[-1]: SLIDE for names in ring.joints if len(names) != 2})
    result.update({name: RATE for name in ring.rates})
    result.update({name: ACCELERATION for name in ring.accelerations})
    return result


@lru_cache(maxsize=4096)
def split_name(name: str) -> tuple[str, str, str]:
    """("I", "1", "zz") of "I1zz"."""
    letters, digits, rest = PARTS_OF_A_NAME.match(name).groups()  # type: ignore[union-attr]
    return letters, digits, rest


def leaves(expression: Expression) -> list[Expression]:
    """Its names, sines and cosines, in order."""
    if isinstance(expression, Name | Cosine | Sine):
        return [expression]
    return [leaf for child in children(expression) for leaf in leaves(child)]


def as_fraction(c: fmpq) -> Fraction:
    return Fraction(int(c.p), int(c.q))


def is_simple(terms: Terms) -> bool:
    return all(c.denominator in SIMPLE for c in terms.values())


def primitive(terms: Terms) -> tuple[Fraction, Terms]:
    """(number, terms with whole coefficients that have no common divisor and are not mostly negative)."""
    values = terms.values()
    number = Fraction(math.gcd(*(c.numerator for c in values)), math.lcm(*(c.denominator for c in values)))
    minus = sum(c < 0 for c in values)
    if 2 * minus > len(terms) or (2 * minus == len(terms) and terms[min(terms, key=repr)] < 0):
        number = -number
    return number, terms if number == 1 else {m: c / number for m, c in terms.items()}


def merged(groups: dict[Monomial, Terms]) -> list[tuple[Terms, Terms]]:
    """[(outer, inner)] with each inner part, but for a number, once. Measured numbers must be alike: s₂ (q̇₁ + 2 q̇₂)."""
    result: dict[tuple[bool, Fraction, frozenset[tuple[Monomial, Fraction]]], tuple[Terms, Terms]] = {}
    for outer, terms in groups.items():
        number, inner = primitive(terms)
        key = (outer == (), odd_part(number), frozenset(inner.items()))
        result.setdefault(key, ({}, inner))[0][outer] = number
    return list(result.values())


def odd_part(x: Fraction) -> Fraction:
    """|x| without its factors of two; 1 for numbers that are written as fractions."""
    if x.denominator in SIMPLE:
        return Fraction(1)
    top, bottom = abs(x.numerator), x.denominator
    return Fraction(top // (top & -top), bottom // (bottom & -bottom))


def factors_in(expression: Expression) -> tuple[Expression, ...]:
    return expression.factors if isinstance(expression, Product) else (expression,)


def is_balanced(expression: Expression) -> bool:
    """Whether as many terms of a sum are negative as positive."""
    signs = [coefficient(term)[0] < 0 for term in terms_of(expression)]
    return isinstance(expression, Sum) and 2 * sum(signs) == len(signs)


def kept_inside(number: Fraction, inner: Terms) -> tuple[Fraction, Terms]:
    """Measured numbers stay where they were: 0.25 s₂ + 0.1 s₃, not 0.05 (5 s₂ + 2 s₃); r² + 1/4, not (4 r² + 1)/4."""
    whole_inside = number.denominator > 2 and any((c * number).denominator == 1 for c in inner.values())
    if len(inner) == 1 or (number.denominator in SIMPLE and not whole_inside):
        return number, inner
    return Fraction(1 if number > 0 else -1), {m: c * abs(number) for m, c in inner.items()}


def common_part(a: Monomial, b: Monomial) -> Monomial:
    """The greatest common divisor of two monomials."""
    powers = dict(b)
    return tuple((atom, min(n, powers[atom])) for atom, n in a if atom in powers)


def divided(monomial: Monomial, divisor: Monomial) -> Monomial:
    powers = dict(divisor)
    return tuple((atom, n - powers.get(atom, 0)) for atom, n in monomial if n > powers.get(atom, 0))
