"""A determinant, or any polynomial of a ring, factored completely.

Sines and cosines have no unique factors: s² = (1 − c)(1 + c). In half angles they have. With t = sin(q/2) and
u = cos(q/2), kept homogeneous so that no root at infinity is lost,

    s → 2tu,    c → u² − t²,    1 → u² + t²,

an ordinary polynomial results, which FLINT factors. A factor of even degree in each pair (t, u) is a function of q
again, by t² = (1 − c)/2, u² = (1 + c)/2, tu = s/2; those of odd degree are multiplied together in the smallest sets
that are even, so that t · u comes back as s and (u − t)(u + t) as c.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from flint import fmpq, fmpq_mpoly_ctx

from dalembert.symbolic.collect import Terms, Writer, as_fraction, primitive
from dalembert.symbolic.expression import ZERO, Expression, Number, power
from dalembert.symbolic.fourier import Basis
from dalembert.symbolic.lumps import InexactError
from dalembert.symbolic.polynomial import Polynomial, Ring
from dalembert.symbolic.shorten import shortener

Parity = tuple[int, ...]
LARGE = 100
"""Whole coefficients above this come from measured numbers, and are written as decimals below one."""


def factored(p: Polynomial, groups: Iterable[Sequence[int]] = ()) -> Expression:
    """p as a product of factors that have no factors, each in sums of angles, equal to p exactly."""
    if not p:
        return ZERO
    constant, factors = factors_of(p)
    writer = Writer(Basis(p.ring, groups))
    written: list[Expression] = []
    for factor, n in factors:
        scale, expression = written_factor(writer, factor)
        constant *= scale**n
        written.append(power(expression, n))
    return writer.product([Number(constant), *written])


def factors_of(p: Polynomial) -> tuple[Fraction, list[tuple[Polynomial, int]]]:
    """(constant, [(factor, power)]) of a polynomial that is not zero; their product is p."""
    half = HalfAngles(p)
    found = [half.back(f) for f in half.even_factors()]
    unique: list[tuple[Polynomial, int]] = []
    for factor in found:
        k = next((k for k, (f, _) in enumerate(unique) if f == factor), None)
        if k is None:
            unique.append((factor, 1))
        else:
            unique[k] = (factor, unique[k][1] + 1)
    whole = p.ring.constant(1)
    for factor in found:
        whole = p.ring.scalar(whole * factor)
    ratio = p.p.leading_coefficient() / whole.p.leading_coefficient()
    if whole.p * ratio != p.p:
        raise InexactError(f"the factors found are not those of {p!r}; please report this")
    return as_fraction(fmpq(ratio)), unique


class HalfAngles:
    """A polynomial in the half angles of its ring's turning joints and fixed angles."""

    def __init__(self, p: Polynomial) -> None:
        self.ring: Ring = p.ring
        used = p.uses()
        self.pairs = [pair for pair in p.ring.pairs if used & set(pair)]
        trig = {name for pair in self.pairs for name in pair}
        self.others = [name for name in p.ring.names if name in used and name not in trig]
        names = [f"{half}{k}" for k in range(len(self.pairs)) for half in "tu"]
        names += [f"x{k}" for k in range(len(self.others))]
        self.ctx = fmpq_mpoly_ctx.get(tuple(names), "lex")
        gens = self.ctx.gens()
        self.halves = [(gens[2 * k], gens[2 * k + 1]) for k in range(len(self.pairs))]
        self.polynomial = self._substituted(p)

    def _substituted(self, p: Polynomial) -> Any:
        index, first = self.ring.index, 2 * len(self.pairs)
        places = [(index[s], index[c]) for s, c in self.pairs]
        others = [index[name] for name in self.others]
        terms = p.terms()
        degrees = [max(powers[s] + powers[c] for powers in terms) for s, c in places]
        images = [(2 * t * u, u * u - t * t, u * u + t * t) for t, u in self.halves]
        parts: dict[tuple[tuple[int, int], ...], dict[tuple[int, ...], fmpq]] = {}
        for powers, value in terms.items():
            angles = tuple((powers[s], powers[c]) for s, c in places)
            parts.setdefault(angles, {})[(0,) * first + tuple(powers[k] for k in others)] = value
        total = self.ctx.from_dict({})
        for angles, rest in parts.items():
            part = self.ctx.from_dict(rest)
            for (a, b), degree, (s, c, one) in zip(angles, degrees, images, strict=True):
                part = part * s**a * c**b * one ** (degree - a - b)
            total = total + part
        return total

    def even_factors(self) -> list[Any]:
        """The factors, each as often as it counts; those of odd degree joined."""
        units = [t * t + u * u for t, u in self.halves]
        even: list[Any] = []
        odd: list[Any] = []
        for factor, n in self.polynomial.factor()[1]:
            if factor not in units:
                (odd if any(self.parity(factor)) else even).extend([factor] * n)
        return even + self._joined(odd)

    def parity(self, factor: Any) -> Parity:
        powers = factor.monoms()[0]  # factors of what is homogeneous are homogeneous
        return tuple((powers[2 * k] + powers[2 * k + 1]) % 2 for k in range(len(self.pairs)))

    def _joined(self, odd: list[Any]) -> list[Any]:
        """Products of the smallest sets of factors that are even; of such sets, that with the fewest terms."""
        result = []
        parities = [self.parity(factor) for factor in odd]
        left = list(range(len(odd)))
        while left:
            sets = next(s for r in range(2, len(left) + 1) if (s := self._even_sets(left, parities, r)))
            products = {chosen: self._product([odd[k] for k in chosen]) for chosen in sets}
            best = min(sets, key=lambda chosen: len(self.back(products[chosen])))
            result.append(products[best])
            left = [k for k in left if k not in best]
        return result

    def _even_sets(self, left: list[int], parities: list[Parity], count: int) -> list[tuple[int, ...]]:
        return [
            chosen
            for chosen in combinations(left, count)
            if not any(sum(column) % 2 for column in zip(*(parities[k] for k in chosen), strict=True))
        ]

    def _product(self, factors: list[Any]) -> Any:
        result = factors[0]
        for factor in factors[1:]:
            result = result * factor
        return result

    def back(self, factor: Any) -> Polynomial:
        """A factor of even degrees as a polynomial of the ring."""
        ring, first = self.ring, 2 * len(self.pairs)
        parts: dict[tuple[int, ...], dict[tuple[int, ...], fmpq]] = {}
        for powers, value in factor.to_dict().items():
            row = [0] * len(ring.names)
            for name, n in zip(self.others, powers[first:], strict=True):
                row[ring.index[name]] = n
            parts.setdefault(powers[:first], {})[tuple(row)] = value
        total = ring.zero
        for halves, rest in parts.items():
            part = Polynomial(ring, ring.ctx.from_dict(rest), 0)
            for k, pair in enumerate(self.pairs):
                part = ring.scalar(part * self._whole_angle(pair, halves[2 * k], halves[2 * k + 1]))
            total = total + part
        return total

    def _whole_angle(self, pair: tuple[str, ...], a: int, b: int) -> Any:
        """tᵃ uᵇ, a + b even."""
        s, c = (self.ring[name] for name in pair)
        both = min(a, b)
        return (s / 2) ** both * ((1 - c) / 2) ** ((a - both) // 2) * ((1 + c) / 2) ** ((b - both) // 2)


def written_factor(writer: Writer, factor: Polynomial) -> tuple[Fraction, Expression]:
    """(number, factor without it)."""
    functions = writer.basis.functions(factor)
    short = shortener(writer.basis.groups, {key for f in functions.values() for key in f})
    terms: Terms = {}
    for monomial, function in functions.items():
        atoms = writer.parameter_atoms(monomial)
        for key, c in short.shorten_more(function).items():
            terms[writer.monomial([*atoms, *writer.key_atoms(key)])] = as_fraction(c)
    scale, terms = primitive(terms)
    digits = len(str(max(abs(c) for c in terms.values())))
    if len(terms) > 1 and 10**digits > 10 * LARGE:
        scale, terms = scale * 10**digits, {m: c / 10**digits for m, c in terms.items()}
    return scale, writer.by_motion(terms, writer.plain)
