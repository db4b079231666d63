"""det J, computed where the Jacobian is sparse; and any polynomial of a ring, factored completely.

A determinant of all six rows does not depend on the frame that twists are expressed in, nor on their reference point:
the frame of a body in the middle of the chain gives entries with few joints in them. One of the three linear rows
does not depend on the axes.

Sines and cosines have no unique factors: s² = (1 − c)(1 + c). In half angles they have. With t = sin(q/2) and
u = cos(q/2), kept homogeneous so that no root at infinity is lost,

    s → 2tu,    c → u² − t²,    1 → u² + t²,

an ordinary polynomial results, which FLINT factors. A factor of even degree in each pair (t, u) is a function of q
again, by t² = (1 − c)/2, u² = (1 + c)/2, tu = s/2; those of odd degree are multiplied together in the smallest sets
that are even, so that t · u comes back as s and (u − t)(u + t) as c.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations

from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from dalembert.algorithms import jacobians, joints, kinematics
from dalembert.algorithms.joints import Coordinates
from dalembert.errors import InputError
from dalembert.model.model import Frame, Model
from dalembert.scalar import Scalar
from dalembert.spatial import Motion, Pose
from dalembert.spatial.vector import matvec_t
from dalembert.symbolic.collect import Writer, as_fraction, primitive
from dalembert.symbolic.expression import ZERO, Expression, Number, power
from dalembert.symbolic.fourier import Basis
from dalembert.symbolic.lumps import InexactError, physical_terms
from dalembert.symbolic.polynomial import Polynomial, Ring
from dalembert.symbolic.shorten import shortener

Parity = tuple[int, ...]
Matrix = list[list[Scalar]]
ROWS = ("vx", "vy", "vz", "wx", "wy", "wz")
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
    firsts = [factor for k, factor in enumerate(found) if factor not in found[:k]]
    unique = [(factor, found.count(factor)) for factor in firsts]
    whole: Polynomial = reduce(operator.mul, found, p.ring.constant(1))
    ratio = p.p.leading_coefficient() / whole.p.leading_coefficient()
    if whole.p * ratio != p.p:
        problem = f"the factors found are not those of {p!r}"
        raise InexactError("not-proved", "factors", problem=problem, remedy="Please report this.")
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

    def _substituted(self, p: Polynomial) -> fmpq_mpoly:
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

    def even_factors(self) -> list[fmpq_mpoly]:
        """The factors, each as often as it counts; those of odd degree joined."""
        units = [t * t + u * u for t, u in self.halves]
        even: list[fmpq_mpoly] = []
        odd: list[fmpq_mpoly] = []
        for factor, n in self.polynomial.factor()[1]:
            if factor not in units:
                (odd if any(self.parity(factor)) else even).extend([factor] * n)
        return even + self._joined(odd)

    def parity(self, factor: fmpq_mpoly) -> Parity:
        powers = factor.monoms()[0]  # factors of what is homogeneous are homogeneous
        return tuple((powers[2 * k] + powers[2 * k + 1]) % 2 for k in range(len(self.pairs)))

    def _joined(self, odd: list[fmpq_mpoly]) -> list[fmpq_mpoly]:
        """Products of the smallest sets of factors that are even; of such sets, that with the fewest terms."""
        result = []
        parities = [self.parity(factor) for factor in odd]
        left = list(range(len(odd)))
        while left:
            sets = next(s for r in range(2, len(left) + 1) if (s := self._even_sets(left, parities, r)))
            products = {chosen: reduce(operator.mul, [odd[k] for k in chosen]) for chosen in sets}
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

    def back(self, factor: fmpq_mpoly) -> Polynomial:
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

    def _whole_angle(self, pair: tuple[str, ...], a: int, b: int) -> Scalar:
        """tᵃ uᵇ, a + b even."""
        s, c = (self.ring[name] for name in pair)
        both = min(a, b)
        return (s / 2) ** both * ((1 - c) / 2) ** ((a - both) // 2) * ((1 + c) / 2) ** ((b - both) // 2)


def written_factor(writer: Writer, factor: Polynomial) -> tuple[Fraction, Expression]:
    """(number, factor without it)."""
    functions = writer.basis.functions(factor)
    short = shortener(writer.basis.groups, {key for f in functions.values() for key in f})
    scale, terms = primitive(physical_terms(writer, short, functions))
    digits = len(str(max(abs(c) for c in terms.values())))
    if len(terms) > 1 and 10**digits > 10 * LARGE:
        scale, terms = scale * 10**digits, {m: c / 10**digits for m, c in terms.items()}
    return scale, writer.by_motion(terms, writer.plain)


# det J


def jacobian_for_determinant(
    model: Model, ring: Ring, q: Coordinates, frame: Frame, rows: Sequence[int] | None
) -> tuple[Matrix, tuple[int, ...]]:
    """A square matrix whose determinant is that of the chosen rows of J, and these rows. Without a choice: all six of
    a six-joint arm, else the first n that do not vanish."""
    n = model.n
    if rows is None and n == 6 and not model.mimics and len(model.path(frame.body)) == 6:
        return _sparsest(model, q), tuple(range(6))
    J = [[ring.scalar(x) for x in row] for row in jacobians.jacobian(model, q, frame)]
    if rows is None:
        moving = [k for k in range(6) if any(J[k])]
        if len(moving) < n:
            problem = (
                f"J of {model.name!r} is 6×{n} with {len(moving)} rows that do not vanish, and no {n} of them form a "
                "determinant"
            )
            remedy = "Use Robot.singularities, which has the singularities of J Jᵀ."
            raise InputError("unsupported", "rows", problem=problem, remedy=remedy)
        rows = moving[:n]
    chosen = tuple(rows)
    if len(chosen) != n or len(set(chosen)) != n or not all(0 <= k < 6 for k in chosen):
        raise InputError("wrong-value", "rows", list(rows), expected=f"{n} different numbers from 0 (vx) to 5 (wz)")
    if chosen == (0, 1, 2):
        T = kinematics.world_poses(model, q, [frame.body])
        R = T[model.path(frame.body)[0]].R  # the first joint's angle drops out in its own axes
        columns = [matvec_t(R, [J[k][j] for k in range(3)]) for j in range(n)]
        return [[columns[j][k] for j in range(n)] for k in range(3)], chosen
    return [J[k] for k in chosen], chosen


def _sparsest(model: Model, q: Coordinates) -> Matrix:
    """The twists of all joints of a chain, in the frame of the body where they have the fewest terms."""
    T = joints.poses(model, q)
    best: tuple[int, Matrix] | None = None
    for middle in range(len(model.bodies)):
        columns = [_seen_from(model, T, j, middle).flat() for j in range(len(model.bodies))]
        size = sum(len(x) if isinstance(x, Polynomial) else x != 0 for column in columns for x in column)
        if best is None or size < best[0]:
            best = size, [list(row) for row in zip(*columns, strict=True)]
    assert best is not None
    return best[1]


def _seen_from(model: Model, T: Sequence[Pose], j: int, middle: int) -> Motion:
    """The twist of joint j in the frame of the body `middle` of the chain."""
    motion = joints.column(model.bodies[j])
    for k in range(j + 1, middle + 1):
        motion = motion.to_child(T[k])
    for k in range(j, middle, -1):
        motion = motion.to_parent(T[k])
    return motion


def determinant(ring: Ring, A: Sequence[Sequence[Scalar]]) -> Polynomial:
    """det A by expansion along the line with the fewest entries."""
    n = len(A)
    if n == 0:
        return ring.constant(1)
    rows = [(sum(1 for x in A[i] if x), 0, i) for i in range(n)]
    columns = [(sum(1 for i in range(n) if A[i][j]), 1, j) for j in range(n)]
    _, transposed, k = min(rows + columns)
    B = [list(column) for column in zip(*A, strict=True)] if transposed else [list(row) for row in A]
    total: Scalar = ring.zero
    for j in range(n):
        if not B[k][j]:
            continue
        minor = [[B[i][b] for b in range(n) if b != j] for i in range(n) if i != k]
        term = B[k][j] * determinant(ring, minor)
        total = total + term if (k + j) % 2 == 0 else total - term
    return ring.scalar(total)
