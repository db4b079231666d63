"""Bounds as formulas, where every parameter is a positive symbol and every angle a sum of quarter turns.

An entry of M, Γ or g is Σ coefficient · cos or sin of sums of angles (`symbolic.fourier`). Groups of parallel joints do
not share angles, so that the range of a product of such functions over the box is the product of their ranges, which at
multiples of π/2 are −1, 0 or 1: exact. A coefficient all of whose terms have one sign has that sign, whatever the
masses and lengths; one of unknown sign has no formula, which is said. The planar 2R arm of
[Fakhari 2] comes out as it is there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from flint import fmpq

from dalembert.bounds.functions import pairs
from dalembert.errors import InputError
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.fourier import Basis, Key
from dalembert.symbolic.polynomial import Polynomial

Range = tuple[fmpq, fmpq]
Quarters = tuple[int, int]
ZERO, ONE = fmpq(0), fmpq(1)
WHOLE: Quarters = (-2, 2)


@dataclass(frozen=True)
class SymbolicBounds:
    """Polynomials in the parameters, all positive; of several candidates none of which is the largest for all values of
    the parameters, all. mass_norm: least ≤ ‖M‖₁ ≤ largest; coriolis_1: c_b in the 1-norm, max_ij Σ_k |Γ_ijk|;
    coriolis_2: n² max |Γ|, that of [Fakhari 2] for the 2-norm (not the tightest); gravity_1: g_b in the 1-norm."""

    mass_norm_least: tuple[Polynomial, ...]
    mass_norm: tuple[Polynomial, ...]
    coriolis_1: tuple[Polynomial, ...]
    coriolis_2: tuple[Polynomial, ...]
    gravity_1: tuple[Polynomial, ...]

    def __str__(self) -> str:
        words = {
            "mass_norm_least": "‖M‖₁ ≥",
            "mass_norm": "‖M‖₁ ≤",
            "coriolis_1": "c_b, 1-norm",
            "coriolis_2": "c_b, 2-norm (n² max|Γ|)",
            "gravity_1": "g_b, 1-norm",
        }
        width = max(map(len, words.values()))
        return "\n".join(f"{words[name].ljust(width)}  {text}" for name, text in self.json().items())

    def json(self) -> dict[str, str]:
        """By name, as text."""
        texts = {field.name: [repr(p) for p in getattr(self, field.name)] for field in fields(self)}
        return {name: ps[0] if len(ps) == 1 else f"max({', '.join(ps)})" for name, ps in texts.items()}


ROUNDED = 1e-5  # of π/2: 1.5708 means it


def symbolic_bounds(equations: Equations, limits: tuple[Any, Any] | None = None) -> SymbolicBounds:
    """Bounds over limits (lower, upper), numbers or one per joint, that are multiples of π/2; a whole turn if none."""
    bounder = _Bounder(equations, _quarters(limits, equations.n))
    n, M, G, g = equations.n, equations.M, equations.christoffel, equations.g
    columns = [bounder.column([M[i][j] for i in range(n)]) for j in range(n)]
    sums = [bounder.sum_of_sizes([G[i][j][k] for k in range(n)]) for i, j in pairs(n)]
    sizes = [bounder.size(G[i][j][k]) for i, j in pairs(n) for k in range(n)]
    return SymbolicBounds(
        _largest([c[0] for c in columns]),
        _largest([c[1] for c in columns]),
        _largest(sums),
        tuple(n * n * p for p in _largest(sizes)),
        (bounder.sum_of_sizes(g),),
    )


def _quarters(limits: tuple[Any, Any] | None, n: int) -> list[Quarters]:
    if limits is None:
        return [WHOLE] * n
    ends = []
    for given in limits:
        values = [given] * n if isinstance(given, (int, float)) else list(given)
        if len(values) != n:
            raise InputError(f"limits must be (lower, upper), each a number or one per joint ({n}); got {limits!r}")
        turned = [float(x) / (math.pi / 2) for x in values]
        for x, t in zip(values, turned, strict=True):
            if abs(t - round(t)) > ROUNDED:
                raise InputError(f"bounds as formulas need limits that are multiples of π/2; {x!r} is none")
        ends.append([round(t) for t in turned])
    return [(a, b) if b - a < 4 else WHOLE for a, b in zip(*ends, strict=True)]


class _Bounder:
    def __init__(self, e: Equations, box: list[Quarters]) -> None:
        self.e, self.box = e, box
        self.zero: Polynomial | None = None

    def _terms(self, p: Polynomial) -> dict[Key, Polynomial]:
        """Coefficient of each product of cosines and sines of sums."""
        basis = Basis(p.ring, self.e.groups)
        self.groups = basis.groups
        out: dict[Key, Polynomial] = {}
        for powers, function in basis.functions(p).items():
            monomial: Any = p.ring.constant(1)
            for name, power in zip(basis.parameters, powers, strict=True):
                if power:
                    monomial = monomial * p.ring[name] ** power
            for key, c in function.items():
                out[key] = out.get(key, p.ring.zero) + c * monomial
        return out

    def _range(self, key: Key) -> Range:
        low, high = ONE, ONE
        for group, atom in zip(self.groups, key, strict=False):
            for kind, k in atom:
                if kind not in ("c", "s"):
                    raise InputError("bounds as formulas are for turning joints; one of these slides")
                ends = [sorted((v * self.box[j][0], v * self.box[j][1])) for v, j in zip(k, group, strict=True)]
                first, last = sum(a for a, _ in ends), sum(b for _, b in ends)
                values = [(1, 0, -1, 0), (0, 1, 0, -1)][kind == "s"]
                met = [fmpq(values[t % 4]) for t in range(first, last + 1)]  # quarter turns are all the extremes
                corners = [x * y for x in (low, high) for y in (min(met), max(met))]
                low, high = min(corners), max(corners)
        return low, high

    def bounds(self, p: Any) -> tuple[Any, Any]:
        """Polynomials in the parameters below and above p."""
        low: Any = 0
        high: Any = 0
        if not isinstance(p, Polynomial):
            return p, p
        low = high = p.ring.zero
        for key, coefficient in self._terms(p).items():
            a, b = self._range(key)
            sign = _sign(coefficient)
            if not sign and a != b:
                raise InputError(
                    f"the sign of {coefficient!r} depends on the values of the parameters: there is no formula; "
                    "robot.bounds() bounds the numbers"
                )
            if sign < 0:
                a, b = b, a
            low, high = low + a * coefficient, high + b * coefficient
        return low, high

    def size(self, p: Any) -> Any:
        """|p| ≤ this."""
        low, high = self.bounds(p)
        both = high + low
        if not _nonzero(both) or _sign(both) > 0:
            return high
        if _sign(both) < 0:
            return -low
        raise InputError(
            f"which of {high!r} and {-low!r} is the larger depends on the values of the parameters: there is no "
            "formula; robot.bounds() bounds the numbers"
        )

    def sum_of_sizes(self, ps: Sequence[Any]) -> Any:
        total: Any = self.e.M[0][0].ring.zero
        for p in ps:
            total = total + self.size(p)
        return total

    def column(self, ps: Sequence[Any]) -> tuple[Any, Any]:
        """Σ|p| from below and above: what has a sign is summed before it is bounded, so that nothing counts twice."""
        ring = self.e.M[0][0].ring
        signed, extra = ring.zero, ring.zero
        for p in ps:
            low, high = self.bounds(p)
            if _sign(low) > 0 or not _nonzero(low):
                signed = signed + p
            elif _sign(high) < 0 or not _nonzero(high):
                signed = signed - p
            else:
                extra = extra + self.size(p)
        low, high = self.bounds(signed)
        return low, high + extra


def _nonzero(p: Any) -> bool:
    return bool(p)


def _sign(p: Any) -> int:
    """1 or −1 if all terms have that sign, 0 if there is no telling (or p is zero)."""
    signs = {1 if c > 0 else -1 for c in p.terms().values()} if isinstance(p, Polynomial) else {int(p > 0) - int(p < 0)}
    return signs.pop() if len(signs) == 1 else 0


def _largest(candidates: Sequence[Any]) -> tuple[Polynomial, ...]:
    """The one that is at least as large as all others for all positive parameters, or those that none exceeds."""
    kept: list[Any] = []
    for p in candidates:
        if any(_at_least(x, p) for x in kept):
            continue
        kept = [x for x in kept if not _at_least(p, x)] + [p]
    return tuple(kept)


def _at_least(p: Any, q: Any) -> bool:
    return not _nonzero(p - q) or _sign(p - q) > 0
