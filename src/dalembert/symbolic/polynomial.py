"""Polynomials in normal form as scalars: what makes zero zero and equal equal, the moment it is computed.

The entries of M, C, g, J of an arm are polynomials in the sines and cosines of its joints, its sliding coordinates,
lengths, and inertial parameters. With the one rule s² → 1 − c² for every angle they have exactly one form, so that
nothing needs to be simplified; unit quaternions have another, w² → 1 − x² − y² − z². FLINT does the arithmetic;
coefficients are rational numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from flint import fmpq, fmpq_mpoly, fmpq_mpoly_ctx
from numpy.typing import NDArray

from dalembert import scalar
from dalembert.caching import cached_property
from dalembert.errors import DalembertError
from dalembert.scalar import Scalar

Number = int | float | Fraction


def exact(x: Number | fmpq) -> fmpq:
    """A number as the decimal that it is written as: 0.1 is 1/10."""
    if isinstance(x, (int, fmpq)):
        return fmpq(x)
    f = Fraction(repr(float(x))) if not isinstance(x, Fraction) else x
    return fmpq(f.numerator, f.denominator)


class Ring:
    """The polynomials of one robot.

    `joints` has one entry per position: (sine, cosine) of a turning one, (q,) of a sliding one, (sine, cosine, q) of
    one that does both. Four of them from each of `quaternions` on are x, y, z, w of length one. `angles` are
    (sine, cosine) of fixed angles. Then come parameters, rates and accelerations. Names are in that order, but for
    every w, which comes first: it is the order of monomials too."""

    def __init__(
        self,
        joints: Sequence[tuple[str, ...]] = (),
        angles: Sequence[tuple[str, str]] = (),
        parameters: Sequence[str] = (),
        rates: Sequence[str] = (),
        accelerations: Sequence[str] = (),
        quaternions: Sequence[int] = (),
    ) -> None:
        self.joints, self.angles = tuple(joints), tuple(angles)
        self.parameters, self.rates, self.accelerations = tuple(parameters), tuple(rates), tuple(accelerations)
        self.quaternions = tuple(tuple(name for (name,) in joints[k : k + 4]) for k in quaternions)
        ends = [w for *_, w in self.quaternions]
        trig = [name for group in (*joints, *angles) for name in group if name not in ends]
        self.names: tuple[str, ...] = (*ends, *trig, *parameters, *rates, *accelerations)
        self.ctx = fmpq_mpoly_ctx.get(self.names, "lex")
        self.index = {name: k for k, name in enumerate(self.names)}
        generators = self.ctx.gens()
        self.turning = tuple(k for k, names in enumerate(joints) if len(names) > 1)
        self.pairs: list[tuple[str, ...]] = [*(joints[k][:2] for k in self.turning), *angles]
        units = [*self.pairs, *((w, *xyz) for *xyz, w in self.quaternions)]  # squares add up to 1; the first one's goes
        bit = {first: 1 << k for k, (first, *_) in enumerate(units)}
        self._relations = [
            (1 << k, self.index[names[0]], sum(generators[self.index[name]] ** 2 for name in names) - 1)
            for k, names in enumerate(units)
        ]
        self.symbols = {
            name: Polynomial(self, p, bit.get(name, 0)) for name, p in zip(self.names, generators, strict=True)
        }

    def __getitem__(self, name: str) -> Polynomial:
        return self.symbols[name]

    def angle(self, k: int, constants: Constants | None = None) -> Angle:
        """The coordinate k, which turns."""
        s, c, *q = (self[name] for name in self.joints[k])
        return Angle(self, c, s, constants, *q)

    @cached_property
    def zero(self) -> Polynomial:
        return Polynomial(self, self.ctx.from_dict({}), 0)

    def constant(self, x: Number | fmpq) -> Polynomial:
        return Polynomial(self, self.ctx.constant(exact(x)), 0)

    def scalar(self, x: Scalar) -> Polynomial:
        """Any scalar of an algorithm's result as a polynomial."""
        return x if isinstance(x, Polynomial) else self.constant(x)

    def reduced(self, p: fmpq_mpoly, squares: int) -> fmpq_mpoly:
        """p with s² → 1 − c², w² → 1 − x² − y² − z², for those in the set `squares`."""
        for bit, _, relation in self._relations:
            if squares & bit:
                p = divmod(p, relation)[1]
        return p

    def normal(self, p: fmpq_mpoly) -> Polynomial:
        """A polynomial of FLINT's, of any degrees, in normal form."""
        degrees = p.degrees() if not p.is_zero() else ()
        present = high = 0
        for bit, place, _ in self._relations:
            degree = degrees[place] if degrees else 0
            present |= bit if degree else 0
            high |= bit if degree > 1 else 0
        return Polynomial(self, self.reduced(p, high), present)

    def convert(self, other: Scalar) -> Scalar:
        """A polynomial of a smaller ring, whose names this one has too."""
        if not isinstance(other, Polynomial) or other.ring is self:
            return other
        places = [self.index[name] for name in other.ring.names]
        terms = {}
        for powers, c in other.p.to_dict().items():
            moved = [0] * len(self.names)
            for k, e in zip(places, powers, strict=True):
                moved[k] = e
            terms[tuple(moved)] = c
        return self.normal(self.ctx.from_dict(terms))


class Polynomial:
    """An element of a ring, in normal form. `sines` has a bit for every sine, and every w, that may occur."""

    __slots__ = ("p", "ring", "sines")

    def __init__(self, ring: Ring, p: fmpq_mpoly, sines: int) -> None:
        self.ring, self.p, self.sines = ring, p, sines

    # Zeros and ones of the algorithms fold here, so that no polynomial is made of them.

    def __add__(self, other: Scalar) -> Scalar:
        if isinstance(other, Polynomial):
            return Polynomial(self.ring, self.p + other.p, self.sines | other.sines)
        return Polynomial(self.ring, self.p + exact(other), self.sines) if other else self

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        if isinstance(other, Polynomial):
            return Polynomial(self.ring, self.p - other.p, self.sines | other.sines)
        return Polynomial(self.ring, self.p - exact(other), self.sines) if other else self

    def __rsub__(self, other: Scalar) -> Scalar:
        return -self + other

    def __neg__(self) -> Polynomial:
        return Polynomial(self.ring, -self.p, self.sines)

    def __pos__(self) -> Polynomial:
        return self

    def __mul__(self, other: Scalar) -> Scalar:
        if isinstance(other, Polynomial):
            p = self.p * other.p
            both = self.sines & other.sines
            return Polynomial(self.ring, self.ring.reduced(p, both) if both else p, self.sines | other.sines)
        if isinstance(other, Reciprocal):
            return other * self
        if other == 0:
            return 0.0
        return self if other == 1 else Polynomial(self.ring, self.p * exact(other), self.sines)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Scalar:
        result: Scalar = 1.0
        for _ in range(power):
            result = result * self
        return result

    def __truediv__(self, other: Scalar) -> Scalar:
        if isinstance(other, Polynomial):
            return self * Reciprocal(other)
        return Polynomial(self.ring, self.p / exact(other), self.sines)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        if self.p.is_constant():
            return Reciprocal(self) * other
        return Reciprocal(self) if other == 1 else Reciprocal(self) * other

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Polynomial):
            return bool(self.p == other.p)
        return isinstance(other, (int, float, Fraction)) and bool(self.p == exact(other))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return not self.p.is_zero()

    def __len__(self) -> int:
        """How many terms it has."""
        return len(self.p)

    def __repr__(self) -> str:
        return str(self.p)

    def terms(self) -> dict[tuple[int, ...], fmpq]:
        """{powers of the ring's names: coefficient}."""
        return dict(self.p.to_dict())

    def uses(self) -> set[str]:
        """The names that occur in it."""
        degrees = self.p.degrees() if self else ()
        return {name for name, degree in zip(self.ring.names, degrees, strict=False) if degree}

    def derivative(self, name: str) -> Polynomial:
        """∂/∂(a name of the ring), as if the names were independent."""
        return Polynomial(self.ring, self.p.derivative(self.ring.index[name]), self.sines)

    def by_coordinate(self, k: int) -> Polynomial:
        """∂/∂q_k of position k, from 0: for a turning joint c ∂/∂s − s ∂/∂c."""
        names = self.ring.joints[k]
        result = self.ring.zero if len(names) == 2 else self.derivative(names[-1])
        if k in self.ring.turning:
            s, c = names[:2]
            result = result + self.derivative(s) * self.ring[c] - self.derivative(c) * self.ring[s]
        return result

    def at(self, values: Mapping[str, Fraction]) -> Fraction:
        """The exact value at a rational point: a number for every name."""
        point = [fmpq(values[name].numerator, values[name].denominator) for name in self.ring.names]
        value = self.p(*point)
        return Fraction(int(value.p), int(value.q))

    def at_points(self, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """The values at P points at once, (P,), in floats: an array (P,) for every name that occurs."""
        exponents, coefficients = self.p.to_dict().keys(), self.p.to_dict().values()
        count = len(next(iter(values.values())))
        terms = np.array([float(Fraction(int(c.p), int(c.q))) for c in coefficients])[:, None] * np.ones(count)
        powers = np.array([[*map(int, row)] for row in exponents], dtype=int).reshape(len(terms), len(self.ring.names))
        for name, column in zip(self.ring.names, powers.T, strict=True):
            if column.any():
                terms = terms * (values[name] ** np.arange(column.max() + 1)[:, None])[column]
        return np.asarray(terms.sum(0))

    def substituted(self, values: Mapping[str, Scalar]) -> Scalar:
        """The value with every name replaced by a scalar of any kind (floats, arrays, trace nodes, fractions)."""
        total: Scalar = 0.0
        for powers, c in self.terms().items():
            term: Scalar = None
            for name, e in zip(self.ring.names, map(int, powers), strict=True):
                for _ in range(e):
                    term = values[name] if term is None else term * values[name]
            number = Fraction(int(c.p), int(c.q))
            factor: Scalar = number if term is None or isinstance(term, Fraction) else float(number)
            total = total + (factor if term is None else factor * term)
        return total


class Reciprocal:
    """1/p, until it meets what p divides."""

    __slots__ = ("p",)

    def __init__(self, p: Polynomial) -> None:
        self.p = p

    def __mul__(self, other: Scalar) -> Scalar:
        ring = self.p.ring
        if not isinstance(other, Polynomial):
            if other == 0:
                return 0.0
            other = ring.constant(other)
        quotient, rest = divmod(other.p, self.p.p)
        if rest != 0:
            problem = f"{other!r} divided by {self.p!r} is not a polynomial"
            raise NotPolynomialError("unsupported", "polynomial", problem=problem)
        return Polynomial(ring, quotient, other.sines)

    __rmul__ = __mul__


class NotPolynomialError(DalembertError):
    """A quotient that does not come out even."""


class Constants(Protocol):
    """Who knows the fixed angles of a ring."""

    def angle(self, ring: Ring, x: float) -> Angle: ...


MAX_MULTIPLE = 64  # of an angle


class Angle:
    """A sum of joint angles, quarter turns and fixed angles, as its cosine and sine; and as itself, if it is made of
    joints that slide as they turn."""

    __slots__ = ("constants", "cosine", "ring", "sine", "whole")

    def __init__(
        self, ring: Ring, cosine: Scalar, sine: Scalar, constants: Constants | None = None, whole: Scalar = None
    ) -> None:
        self.ring, self.cosine, self.sine, self.constants, self.whole = ring, cosine, sine, constants, whole

    @property
    def position(self) -> Any:
        if self.whole is None:
            problem = "an angle enters the equations by its sine and cosine only"
            raise NotPolynomialError("unsupported", "angle", problem=problem)
        return self.whole

    def __add__(self, other: Scalar) -> Angle:
        if isinstance(other, Angle):
            c, s, C, S = self.cosine, self.sine, other.cosine, other.sine
            whole = None if self.whole is None or other.whole is None else self.whole + other.whole
            return Angle(self.ring, c * C - s * S, s * C + c * S, self.constants, whole)
        if other == 0:
            return self
        if self.constants is None:
            raise NotPolynomialError("unsupported", "angle", problem=f"the angle {other!r} is not one of the ring's")
        return self + self.constants.angle(self.ring, other)

    __radd__ = __add__

    def __neg__(self) -> Angle:
        return Angle(self.ring, self.cosine, -self.sine, self.constants, None if self.whole is None else -self.whole)

    def __mul__(self, factor: Scalar) -> Angle:
        """Return a whole multiple, of at most MAX_MULTIPLE times the angle: its sine has as many degrees."""
        if abs(factor) > MAX_MULTIPLE or int(factor) != factor:
            problem = f"{float(factor):g} times an angle has no sine that is a short polynomial"
            raise NotPolynomialError("unsupported", "angle", problem=problem)
        count = int(factor)
        total, one = Angle(self.ring, 1.0, 0.0, self.constants, 0.0), self if count > 0 else -self
        for _ in range(abs(count)):
            total = total + one
        return total

    __rmul__ = __mul__


QUARTERS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def quarter_turns(ring: Ring, count: int) -> Angle:
    """count · π/2."""
    return Angle(ring, *QUARTERS[count % 4])


scalar.sin.register(Angle)(lambda x: x.sine)
scalar.cos.register(Angle)(lambda x: x.cosine)
scalar.position.register(Angle)(lambda x: x.position)
