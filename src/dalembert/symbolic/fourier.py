"""Products of sines and cosines ↔ sines and cosines of sums of angles, exactly.

A trigonometric function is a dict {key: rational}. A key has one *atom* for each group of parallel joints, in their
order, and one more for the rates and accelerations. An atom is a sorted tuple of factors (kind, numbers); () is 1.

    ("c", k)  cos(k·q)        ("s", k)  sin(k·q)        k whole numbers, one for each joint of the group
    ("q", (n,))  qⁿ of a sliding coordinate             ("v", n)  Π vᵢ^nᵢ of the rates and accelerations

In the *Fourier form* an atom has one factor at most, and the first number of k that is not zero is positive: one form
for each function. With e = exp(iq), cos q = (e + 1/e)/2 and sin q = (e − 1/e)/2i, so that

    Π sin^aⱼ qⱼ cos^bⱼ qⱼ = Σₖ zₖ exp(i k·q) = z₀ + Σ_{k>0} 2 Re zₖ cos(k·q) − 2 Im zₖ sin(k·q).

Parameters, and the sines and cosines of fixed angles, stay apart, as the monomials that such functions multiply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product

from flint import fmpq

from dalembert import scalar
from dalembert.errors import InputError
from dalembert.symbolic.polynomial import Angle, Polynomial, Ring

Factor = tuple[str, tuple[int, ...]]
Atom = tuple[Factor, ...]
Key = tuple[Atom, ...]
Monomial = tuple[int, ...]
Function = dict[Key, fmpq]
Complex = tuple[fmpq, fmpq]
Spectrum = dict[tuple[int, ...], Complex]

ONE, HALF = fmpq(1), fmpq(1, 2)
NONE = fmpq(0)
UNIT: Complex = (ONE, NONE)


class Basis:
    """The change of basis for the polynomials of one ring and its groups of parallel joints.

    `groups` holds coordinates (from 0) of turning joints whose axes stay parallel; a coordinate that none of them
    names is a group of its own."""

    def __init__(self, ring: Ring, groups: Iterable[Sequence[int]] = ()) -> None:
        self.ring = ring
        self.groups = complete(groups, len(ring.joints))
        self.places = [[tuple(ring.index[name] for name in ring.joints[k][:2]) for k in group] for group in self.groups]
        both = [k for k, names in enumerate(ring.joints) if len(names) == 3]  # which slide as they turn
        self.groups += tuple((k,) for k in both)
        self.places += [[(ring.index[ring.joints[k][2]],)] for k in both]
        if any(len(places) > 1 and any(len(place) == 1 for place in places) for places in self.places):
            problem = (
                f"a prismatic coordinate is parallel to no angle, so that it cannot be grouped, as in {self.groups}"
            )
            raise InputError("unsupported", "coordinates", problem=problem)
        first = sum(map(len, ring.joints))
        motion = len(ring.rates) + len(ring.accelerations)
        self._first, self._last = first, len(ring.names) - motion
        self.parameters = ring.names[first : self._last]
        self.motion = ring.names[self._last :]

    def key_parts(self, powers: Monomial) -> list[tuple[tuple[Atom, fmpq], ...]]:
        """The Fourier form of each group's share of a monomial."""
        parts: list[tuple[tuple[Atom, fmpq], ...]] = []
        for places in self.places:
            if len(places[0]) == 1:
                power = powers[places[0][0]]
                parts.append((((("q", (power,)),) if power else (), ONE),))
            else:
                parts.append(group_fourier(tuple((powers[s], powers[c]) for s, c in places)))
        motion = powers[self._last :]
        parts.append((((("v", motion),) if any(motion) else (), ONE),))
        return parts

    def functions(self, p: Polynomial) -> dict[Monomial, Function]:
        """{powers of the parameters: Fourier form of what multiplies them}."""
        result: dict[Monomial, Function] = {}
        for powers, c in p.terms().items():
            function = result.setdefault(powers[self._first : self._last], {})
            spread(function, self.key_parts(powers), c)
        return {m: cleaned(f) for m, f in result.items()}

    def polynomial(self, functions: Mapping[Monomial, Mapping[Key, fmpq]]) -> Polynomial:
        """The way back, from functions in any form."""
        ring, result = self.ring, self.ring.zero
        for monomial, function in functions.items():
            part = ring.zero
            for key, c in function.items():
                term = ring.constant(c)
                for group, atom in zip((*self.groups, ()), key, strict=True):
                    for factor in atom:
                        term = ring.scalar(term * self.factor(group, factor))
                part = part + term
            for name, power in zip(self.parameters, monomial, strict=True):
                part = ring.scalar(part * ring[name] ** power)
            result = result + part
        return result

    def factor(self, group: Sequence[int], factor: Factor) -> Polynomial:
        """One factor of an atom as a polynomial."""
        kind, k = factor
        ring = self.ring
        if kind in "qv":
            names = self.motion if kind == "v" else ring.joints[group[0]][-1:]
            result = ring.constant(1)
            for name, power in zip(names, k, strict=True):
                result = ring.scalar(result * ring[name] ** power)
            return result
        angle = Angle(ring, 1.0, 0.0)
        for j, multiple in zip(group, k, strict=True):
            angle = angle + multiple * ring.angle(j)
        return ring.scalar(scalar.cos(angle) if kind == "c" else scalar.sin(angle))


def complete(groups: Iterable[Sequence[int]], count: int) -> tuple[tuple[int, ...], ...]:
    """The groups, and every other coordinate alone, in the order of the coordinates."""
    given = [tuple(group) for group in groups]
    named = {k for group in given for k in group}
    return tuple(sorted([*given, *((k,) for k in range(count) if k not in named)]))


def spread(function: Function, parts: Sequence[Sequence[tuple[Atom, fmpq]]], c: fmpq) -> None:
    """function += c Π_g Σ (atoms of group g)."""
    for combination in product(*parts):
        value = c
        for _, factor in combination:
            value = value if factor == 1 else value * factor
        key = tuple(atom for atom, _ in combination)
        function[key] = function[key] + value if key in function else value


def cleaned(function: Function) -> Function:
    return {key: c for key, c in function.items() if c != 0}


@lru_cache(maxsize=4096)
def joint_spectrum(a: int, b: int) -> tuple[tuple[int, Complex], ...]:
    """sinᵃ q cosᵇ q as (k, z): Σ z exp(ikq)."""
    spectrum: Spectrum = {(0,): UNIT}
    for _ in range(b):
        spectrum = _times_factor(spectrum, "c", (1,))
    for _ in range(a):
        spectrum = _times_factor(spectrum, "s", (1,))
    return tuple((k, z) for (k,), z in spectrum.items())


@lru_cache(maxsize=65536)
def group_fourier(powers: tuple[tuple[int, int], ...]) -> tuple[tuple[Atom, fmpq], ...]:
    """Π sin^a cos^b over the joints of a group, in Fourier form."""
    spectrum: Spectrum = {(): UNIT}
    for a, b in powers:
        joint = joint_spectrum(a, b)
        spectrum = {(*k, m): _complex_product(z, w) for k, z in spectrum.items() for m, w in joint}
    return _real_form(spectrum)


@lru_cache(maxsize=65536)
def atom_fourier(atom: Atom) -> tuple[tuple[Atom, fmpq], ...]:
    """An atom of any number of factors in Fourier form."""
    if not atom or atom[0][0] in "qv":
        return ((atom, ONE),)
    spectrum: Spectrum = {(0,) * len(atom[0][1]): UNIT}
    for kind, k in atom:
        spectrum = _times_factor(spectrum, kind, k)
    return _real_form(spectrum)


def fourier(function: Mapping[Key, fmpq]) -> Function:
    """A function of any form in Fourier form."""
    result: Function = {}
    for key, c in function.items():
        spread(result, [atom_fourier(atom) for atom in key], c)
    return cleaned(result)


def _times_factor(spectrum: Spectrum, kind: str, k: tuple[int, ...]) -> Spectrum:
    result: Spectrum = {}
    for place, z in spectrum.items():
        for sign in (1, -1):
            weight = (HALF, NONE) if kind == "c" else (NONE, -HALF * sign)
            moved = tuple(x + sign * y for x, y in zip(place, k, strict=True))
            re, im = _complex_product(z, weight)
            before = result.get(moved, (NONE, NONE))
            result[moved] = (before[0] + re, before[1] + im)
    return result


def _complex_product(z: Complex, w: Complex) -> Complex:
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def _real_form(spectrum: Spectrum) -> tuple[tuple[Atom, fmpq], ...]:
    """z₀ + Σ 2 Re z cos(k·q) − 2 Im z sin(k·q) over the k whose first number is positive."""
    result: list[tuple[Atom, fmpq]] = []
    for k, (re, im) in spectrum.items():
        lead = leading_sign(k)
        if lead == 0:
            result.append(((), re))
        elif lead > 0:
            result += [(((("c", k),)), 2 * re), (((("s", k),)), -2 * im)]
    return tuple((atom, c) for atom, c in result if c != 0)


def leading_sign(k: Iterable[int]) -> int:
    """The sign of the first number that is not zero."""
    return next((1 if x > 0 else -1 for x in k if x), 0)
