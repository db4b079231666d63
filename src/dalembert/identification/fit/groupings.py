"""Base parameters as formulas: which combinations motion and torques can tell apart, in the robot's geometry.

    τ = Y π = Y_kept β,    β = π_kept + K π_rest,    Y_rest = Y_kept K

K holds polynomials in the robot's lengths and the sines and cosines of its fixed angles. It is interpolated from exact
solutions at rational points, and Y_rest = Y_kept K is then checked as an identity of polynomials, so that nothing rests
on rounding or on luck.  Gautier & Khalil 1990; Khalil & Dombre 2002, ch. 9.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import numpy as np
from flint import fmpq, fmpq_mat, nmod_mat

from dalembert.algorithms.regressor import PER_BODY, regressor
from dalembert.caching import cached_property
from dalembert.errors import InputError, unknown
from dalembert.identification.fit.regressor import Base
from dalembert.kernels import need_tree
from dalembert.robot import Robot
from dalembert.symbolic import exact
from dalembert.symbolic.collect import as_fraction
from dalembert.symbolic.equations import MOST_ANGLES, Equations
from dalembert.symbolic.expression import DIGITS, Expression, Name, Number, power, times, total
from dalembert.symbolic.factor import factored
from dalembert.symbolic.latex import aligned
from dalembert.symbolic.polynomial import Polynomial, Ring
from dalembert.symbolic.text import text

PRIME = 2**31 - 1
LENGTHS_DEGREE = 2  # a mass gives a moment of inertia by the square of a length; nothing gives more
ANGLE_DEGREES = (2, 4)  # turning a tensor is quadratic in sine and cosine; where one angle occurs twice, quartic
MOST_MONOMIALS = 500  # each is a system of equations to solve exactly
KINDS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")

Powers = tuple[int, ...]  # of the geometry's names
Entry = list[tuple[Powers, fmpq]]  # a polynomial in the geometry
Line = dict[int, Entry]  # a row of equations: {column: entry}


@dataclass(frozen=True, eq=False)
class Groupings:
    """`kept` and `rest`: places among `names`. A coefficient of K is a polynomial; most are zero."""

    names: tuple[str, ...]
    kept: tuple[int, ...]
    rest: tuple[int, ...]
    ring: Ring
    values: Mapping[str, float]
    nonzero: Mapping[tuple[int, int], Polynomial]
    bodies: int

    @property
    def rank(self) -> int:
        """How many base parameters there are, for all but special lengths."""
        return len(self.kept)

    def coefficient(self, i: int | str, j: int | str) -> Polynomial:
        """K_ij: how often the left-out parameter j counts in the base parameter i; by place or by name."""
        return self.nonzero.get((self._place(i, self.kept), self._place(j, self.rest)), self.ring.zero)

    def _place(self, which: int | str, among: Sequence[int]) -> int:
        if isinstance(which, str):
            found = [self.names[k] for k in among]
            if which not in found:
                what = "kept" if among is self.kept else "left-out"
                raise unknown(f"{what} parameter", which, found)
            return found.index(which)
        if not 0 <= which < len(among):
            raise InputError("out-of-range", "which", which, expected=f"from 0 to {len(among) - 1}")
        return which

    @property
    def invisible(self) -> tuple[str, ...]:
        """Parameters that no torque depends on."""
        seen = {j for _, j in self.nonzero}
        return tuple(self.names[r] for j, r in enumerate(self.rest) if j not in seen)

    def numeric(self) -> Base:
        """The same with the robot's own numbers."""
        K = np.zeros((len(self.kept), len(self.rest)))
        for place, p in self.nonzero.items():
            K[place] = p.substituted(self.values)
        return Base(self.names, np.array(self.kept, np.int64), np.array(self.rest, np.int64), K)

    # ------------------------------------------------------------------------------------------------ for people
    @cached_property
    def short_names(self) -> tuple[str, ...]:
        """m2, mx2, Izz2, J1 for link2:m, link2:mx, link2:Izz, joint1:rotor: numbered as the lengths are."""
        return tuple(f"{kind}{number}" for kind, number in self._numbered())

    @cached_property
    def latex_names(self) -> tuple[str, ...]:
        r"""m_{2}, (mx)_{2}, I_{zz,2}, J_{1}."""
        return tuple(_latex_name(kind, number) for kind, number in self._numbered())

    def _numbered(self) -> Iterator[tuple[str, int]]:
        for k in range(len(self.names)):
            body, kind = divmod(k, PER_BODY)
            yield (KINDS[kind], body + 1) if body < self.bodies else ("J", k - PER_BODY * self.bodies + 1)

    def expressions(self, names: Sequence[str]) -> tuple[Expression, ...]:
        """Each base parameter as an expression in these names of the parameters."""
        written = []
        for i, k in enumerate(self.kept):
            alike: dict[str, tuple[Expression, list[Expression]]] = {}
            for j, r in enumerate(self.rest):
                if p := self.nonzero.get((i, j)):
                    alike.setdefault(repr(p), (_written(p), []))[1].append(Name(names[r]))
            terms = [times(factor, total(members)) for factor, members in alike.values()]
            written.append(total([Name(names[k]), *terms]))
        return tuple(written)

    def formulas(self, short: bool = False, digits: int = DIGITS) -> tuple[str, ...]:
        """Each base parameter as a line: link1:Izz + l1^2*link2:m, or `short` Izz1 + l1^2*m2."""
        names = self.short_names if short else self.names
        return tuple(text(expression, digits=digits) for expression in self.expressions(names))

    def latex(self, digits: int = DIGITS) -> str:
        """LaTeX for math mode: the base parameters below each other."""
        lines = {f"beta{i}": e for i, e in enumerate(self.expressions(self.latex_names), 1)}
        return aligned(lines, digits=digits)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __str__(self) -> str:
        return "\n".join(self.formulas())


def _written(p: Polynomial) -> Expression:
    """A coefficient as literature has it: plain sums of lengths; in fixed angles what is shorter, a product."""
    if p.uses() & {name for pair in p.ring.angles for name in pair}:
        return factored(p)
    terms = []
    for powers, c in p.terms().items():
        symbols = (power(Name(name), int(e)) for name, e in zip(p.ring.names, powers, strict=True))
        terms.append(times(Number(as_fraction(c)), *symbols))
    return total(terms)


def _latex_name(kind: str, number: int) -> str:
    if len(kind) == 1:
        return f"{kind}_{{{number}}}"
    return f"({kind})_{{{number}}}" if kind[0] == "m" else f"{kind[0]}_{{{kind[1:]},{number}}}"


# ---------------------------------------------------------------------------------------------------- derivation
def groupings(robot: Robot, *, rotor: bool = False, symbolic: str | Sequence[str] = "lengths") -> Groupings:
    """The base parameters of a robot as formulas, columns taken from left to right as in `base`; with `rotor`
    a rotor inertia N² J_m per joint beside the ten of every link. `symbolic` as in `Robot.equations`: lengths that are
    not named stay numbers."""
    equations = _equations(robot, symbolic)
    ring = equations.ring
    columns = regressor(equations.model, equations.q, equations.qd, equations.qdd, rotor=rotor)
    Y = [[ring.scalar(y) for y in row] for row in columns]
    names = tuple(robot.parameter_names(rotor=rotor))
    system = _System(ring, Y)
    rest = tuple(j for j in range(len(names)) if j not in system.kept)
    left = ""
    for degree in ANGLE_DEGREES:
        basis = system.monomials(degree)
        if len(basis) > MOST_MONOMIALS:
            break
        K = system.interpolate(rest, basis)
        left = _not_spanned(Y, system.kept, rest, K, names)
        if not left:
            return Groupings(names, system.kept, rest, ring, equations.values, K, len(equations.model.bodies))
        if not system.angles:
            break
    raise InputError(
        "unsupported",
        "robot",
        problem=f"the groupings of {robot.name!r} are not polynomials of low degree in "
        f"{', '.join(system.geometry) or 'its numbers'}{left and f' ({left} is not spanned)'}",
        remedy="`base` returns them as numbers.",
    )


def _equations(robot: Robot, symbolic: str | Sequence[str]) -> Equations:
    """Those of the geometry alone: Y does not depend on masses, nor on angles at which inertias are written."""
    bare = replace(robot.description, links=tuple(replace(x, inertial=None) for x in robot.description.links))
    need_tree(robot.model)
    try:
        return Equations(bare, symbolic)
    except InputError as error:
        if len(exact.collect(bare).pairs) <= MOST_ANGLES:
            raise
        raise InputError(
            "unsupported",
            "robot",
            problem=f"{robot.name!r} has more than {MOST_ANGLES} fixed angles that are not multiples of π/2, so "
            "its groupings are not readable",
            remedy="`base` returns them as numbers.",
        ) from error


class _System:
    """Y_rest = Y_kept K compared by monomials in the motion, which are independent functions: a linear equation in K
    for each line, simple ones first. `geometry`: the symbols of Y that are no motion; of a fixed angle both sine and
    cosine. `kept`: columns of full rank, and as many lines: a minor that differs from zero at a point, modulo a prime,
    is not zero. That the other columns depend on them is for the check to prove."""

    def __init__(self, ring: Ring, Y: Sequence[Sequence[Polynomial]]) -> None:
        self.ring = ring
        used = set().union(*(y.uses() for row in Y for y in row))
        self.angles = [pair for pair in ring.angles if used & set(pair)]
        both = [name for pair in self.angles for name in pair]
        self.geometry = (*both, *(name for name in ring.parameters if name in used))
        self.places = [ring.index[name] for name in self.geometry]
        lines: dict[Powers, Line] = {}
        for i, row in enumerate(Y):
            for j, y in enumerate(row):
                for powers, c in y.terms().items():
                    motion = tuple(0 if k in self.places else int(e) for k, e in enumerate(powers))
                    entry = lines.setdefault((i, *motion), {}).setdefault(j, [])
                    entry.append((tuple(int(powers[k]) for k in self.places), c))
        simple = sorted(lines.values(), key=lambda line: sum(map(len, line.values())))
        values = [_modulo(x) for x in self._point(random.Random(0), PRIME - 1)]
        A = nmod_mat(len(simple), len(Y[0]), PRIME)
        for i, line in enumerate(simple):
            for j, entry in line.items():
                A[i, j] = sum(_modulo(c) * prod(map(pow, values, powers)) for powers, c in entry) % PRIME
        self.kept = _pivots(A)
        self.lines = [simple[k] for k in _pivots(A.transpose())]

    def _point(self, rng: random.Random, largest: int) -> list[fmpq]:
        """Random numbers for the geometry: whole lengths, and sines and cosines that are rational."""
        point = {name: fmpq(rng.randint(1, largest)) for name in self.geometry}
        for s, c in self.ring.angles:
            t = fmpq(rng.randint(1, largest), rng.randint(1, largest))
            point |= {s: 2 * t / (1 + t * t), c: (1 - t * t) / (1 + t * t)}
        return [point[name] for name in self.geometry]

    def monomials(self, degree: int) -> list[Powers]:
        """What a coefficient may consist of: at most two lengths, and of every fixed angle c^k and s c^k in normal
        form."""
        lengths = len(self.geometry) - 2 * len(self.angles)
        trig = [(s, c) for s in (0, 1) for c in range(degree + 1 - s)]
        if len(trig) ** len(self.angles) > MOST_MONOMIALS:
            return [()] * (MOST_MONOMIALS + 1)
        sized = [(0,) * lengths]
        for _ in range(LENGTHS_DEGREE):
            grown = (tuple(e + (k == n) for n, e in enumerate(p)) for p in sized for k in range(lengths))
            sized = list(dict.fromkeys((*sized, *grown)))
        turned = [sum(choice, ()) for choice in product(trig, repeat=len(self.angles))]
        return [(*a, *b) for a in turned for b in sized]

    def interpolate(self, rest: Sequence[int], basis: Sequence[Powers]) -> dict[tuple[int, int], Polynomial]:
        """The polynomials in those monomials that agree with K at as many points: {(i, j): K_ij}, zeros left out."""
        if not self.kept or not rest:
            return {}
        V, solutions = self._sample(rest, basis)
        pairs = product(range(len(self.kept)), range(len(rest)))
        nonzero = [(i, j) for i, j in pairs if any(K[i, j] != 0 for K in solutions)]
        if not nonzero:
            return {}
        X = V.solve(fmpq_mat(len(basis), len(nonzero), [K[i, j] for K in solutions for i, j in nonzero]))
        found: dict[tuple[int, int], Polynomial] = {}
        for n, place in enumerate(nonzero):
            terms = {}
            for k, powers in enumerate(basis):
                if X[k, n] != 0:
                    full = dict(zip(self.places, powers, strict=True))
                    terms[tuple(full.get(at, 0) for at in range(len(self.ring.names)))] = X[k, n]
            found[place] = self.ring.normal(self.ring.ctx.from_dict(terms))
        return found

    def _sample(self, rest: Sequence[int], basis: Sequence[Powers]) -> tuple[fmpq_mat, list[fmpq_mat]]:
        """(values of the monomials, K) at points that tell the monomials apart."""
        rng, count = random.Random(1), len(self.lines)
        for largest in (20, 100, 1000):
            rows: list[fmpq] = []
            solutions: list[fmpq_mat] = []
            for _ in range(3 * len(basis)):
                values = self._point(rng, largest)
                A, B = (fmpq_mat(count, len(some), self._numbers(some, values)) for some in (self.kept, rest))
                try:
                    solutions.append(A.solve(B))
                except ZeroDivisionError:  # special lengths
                    continue
                rows += [_product(values, powers) for powers in basis]
                if len(solutions) == len(basis):
                    break
            V = fmpq_mat(len(solutions), len(basis), rows)
            if V.rank() == len(basis):
                return V, solutions
        raise InputError(
            "not-converged", problem="no points were found at which the base parameters can be distinguished"
        )

    def _numbers(self, columns: Sequence[int], values: Sequence[fmpq]) -> list[fmpq]:
        return [
            sum((c * _product(values, powers) for powers, c in line.get(j, ())), fmpq(0))
            for line in self.lines
            for j in columns
        ]


def _modulo(x: fmpq) -> int:
    return int(x.p) * pow(int(x.q), -1, PRIME) % PRIME


def _pivots(A: nmod_mat) -> tuple[int, ...]:
    """The columns that do not depend on those before them."""
    R, rank = A.rref()
    found, j = [], 0
    for i in range(rank):
        while int(R[i, j]) == 0:
            j += 1
        found.append(j)
    return tuple(found)


def _product(values: Sequence[fmpq], powers: Powers) -> fmpq:
    return prod((x**e for x, e in zip(values, powers, strict=True) if e), start=fmpq(1))


def _not_spanned(
    Y: Sequence[Sequence[Polynomial]],
    kept: Sequence[int],
    rest: Sequence[int],
    K: Mapping[tuple[int, int], Polynomial],
    names: Sequence[str],
) -> str:
    """The first left-out parameter whose column is not Y_kept K, as polynomials; "" if there is none."""
    for j, r in enumerate(rest):
        used = [(k, K[i, j]) for i, k in enumerate(kept) if (i, j) in K]
        for row in Y:
            if row[r] - sum((row[k] * p for k, p in used if row[k]), row[r].ring.zero):
                return names[r]
    return ""
