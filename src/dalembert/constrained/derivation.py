"""The constrained equations as they are derived: constraints, A, multipliers with their reason, projection; and every
quantity of them by name, for comparing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms import mechanics
from dalembert.algorithms.constraints import Terms
from dalembert.arguments import Array
from dalembert.errors import DalembertError, unknown
from dalembert.symbolic import text
from dalembert.symbolic.compare import Quantity
from dalembert.symbolic.document import (
    Derivation,
    Fold,
    Formulas,
    Heading,
    Line,
    MatrixFormula,
    Part,
    Words,
    braced,
    pair_of,
)
from dalembert.symbolic.entries import assembled, find_entry, points_of, symbols_of
from dalembert.symbolic.expression import ZERO, Expression, Name, Number, Quotient, size, times, total
from dalembert.symbolic.lumps import legible
from dalembert.symbolic.polynomial import Polynomial

if TYPE_CHECKING:
    from dalembert.constrained.equations import ConstrainedEquations

MOST = 5  # joints and constraints up to which results are written out
QUOTIENTS = {"lambda": "lambda", "qdd": "qdd", "P": "P", "Pqdd": "P_qdd"}
FIGURES = 4  # of a number
LONG, LONGEST = 100, 300  # symbols of a result that folds; terms of one that is told by its formula alone
MULTIPLIERS = "λ = (A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ (τ − h) + Ȧ q̇)"
SOLVED = "q̈ = M⁻¹ (τ − h − Aᵀλ)"
PROJECTION = "P = I − Aᵀ (A M⁻¹ Aᵀ)⁻¹ A M⁻¹"
A_RATES, RATES_OF_A = "A q̇ = 0", "A q̈ + Ȧ q̇ = 0"


@dataclass(frozen=True)
class Ratio:
    """Σ polynomial · name, over one polynomial; the name "" is one."""

    above: Mapping[str, Polynomial]
    below: Polynomial | None = None

    def at(self, ring: Mapping[str, Array], values: Mapping[str, Array]) -> Array:
        found = sum(p.at_points(ring) * (values[name] if name else 1.0) for name, p in self.above.items())
        return np.asarray(found / self.below.at_points(ring) if self.below is not None else found)


def entries_of(e: ConstrainedEquations, what: str) -> Any:
    """A quantity as lists of ratios: phi, A, Adot, drift, M, h, tau, lambda, qdd, P, Pqdd."""
    t, n = e.terms, e.robot.n
    whole: dict[str, Any] = {"phi": t.phi, "A": t.A, "Adot": e.A_dot, "drift": t.drift, "M": e.robot.M, "h": e.h}
    if what in whole:
        rows = [row if isinstance(row, list) else [row] for row in whole[what]]
        ratios = [[Ratio({"": x}) for x in row] for row in rows]
        return ratios if isinstance(whole[what][0], list) else [row[0] for row in ratios]
    if what == "tau":
        pushed = [{f"lambda{k}": row[i] for k, row in enumerate(t.A, 1)} for i in range(n)]
        return [Ratio({"": e.robot.tau[i], **pushed[i]}) for i in range(n)]
    if what not in QUOTIENTS:
        raise unknown("quantity", what, (*whole, "tau", *QUOTIENTS))
    sign = (-1) ** len(t.A)  # so that what divides is det M det(A M⁻¹ Aᵀ), which is positive
    rows = [[sign * x for x in row] for row in e.numerator(QUOTIENTS[what])]
    if what in ("P", "Pqdd"):
        return [[Ratio({"": x}, sign * e.denominator) for x in row] for row in rows]
    names = [*(f"tau{k}" for k in range(1, n + 1)), ""]
    return [Ratio(dict(zip(names, row, strict=True)), sign * e.denominator) for row in rows]


def comparable(e: ConstrainedEquations, name: str) -> Quantity:
    """What a formula can be compared with."""
    printed, value = find_entry(str(name).replace("_", ""), lambda what: entries_of(e, what), e.robot.name)
    forces = [*(f"tau{k}" for k in range(1, e.robot.n + 1)), *(f"lambda{k}" for k in range(1, len(e.terms.A) + 1))]

    def at(x: Ratio, values: Mapping[str, Array]) -> Array:
        return x.at(points_of(e.robot, values), values)

    known = symbols_of(e.robot) | dict.fromkeys(forces)
    return assembled(printed, value, at, lambda x: text.text(expression(e, x)), known)


def expression(e: ConstrainedEquations, x: Ratio) -> Expression:
    """A ratio for print."""
    form = legible({**x.above, "below": x.below or 1}, e.robot.groups, lump=False).entries
    above = total(times(form[name], Name(name)) if name else form[name] for name in x.above)
    return above if x.below is None or above == ZERO else Quotient(above, form["below"])


# ------------------------------------------------------------------------------------------------------- derivation
def derivation(e: ConstrainedEquations, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> Derivation:
    """The document; with a state, also in its numbers."""
    rows = [k for k, row in enumerate(e.terms.A) if any(row)]
    names = [braced(e.system.rows[k]) for k in rows]
    if len(rows) < len(e.terms.A):
        whole = e.terms
        e = type(e)(e.system, e.robot)
        e.terms = Terms(*([x[k] for k in rows] for x in (whole.phi, whole.A, whole.drift)))
    pieces = [*_constraints(e, names), *_multipliers(e)]
    if q is not None:
        pieces += _numbers(e, np.asarray(q, float), np.zeros(e.robot.n) if qd is None else np.asarray(qd, float), rows)
    return Derivation(f"Constrained equations of {e.robot.name}", tuple(pieces))


def _matrix(e: ConstrainedEquations, name: str, what: str) -> MatrixFormula:
    rows = entries_of(e, what)
    return MatrixFormula(
        name, tuple(tuple(expression(e, x) for x in (r if isinstance(r, list) else [r])) for r in rows)
    )


def _constraints(e: ConstrainedEquations, names: Sequence[str]) -> Iterator[Part]:
    n, k = e.robot.n, len(e.terms.A)
    yield Words(f"{n} joints and {k} constraint{'s' * (k > 1)}, so {n - k} freedom{'s' * (n - k != 1)} of motion.")
    yield Heading("Constraints")
    if k < e.system.k:
        yield Words(
            f"{e.system.k - k} of the {e.system.k} rows hold by themselves (motion in a plane) and are left out."
        )
    held = [(name, x) for name, x in zip(names, entries_of(e, "phi"), strict=True) if x.above[""]]
    if held:
        yield Formulas(tuple(Line(pair_of(expression(e, x)), ZERO, name) for name, x in held))
        yield Words(
            "They hold at all times, so their rates are zero: {0}, with the slopes of each in a row of A.", (A_RATES,)
        )
    else:
        yield Words("On the rates: {0}.", (A_RATES,))
    yield _matrix(e, "A", "A")
    yield Words("The rate of that, {0}, is what accelerations must obey.", (RATES_OF_A,))
    yield _matrix(e, "Ȧ", "Adot")


def _multipliers(e: ConstrainedEquations) -> Iterator[Part]:
    yield Heading("Multipliers")
    yield Words(
        "Constraints without friction do no work: {0} for every {1} with {2}. Such a torque is a sum of the rows of A: "
        "there are numbers {3}, one for each row, with",
        ("τ_cᵀq̇ = 0", "q̇", A_RATES, "λ"),
    )
    yield Formulas((Line("tau", "M q̈ + h + Aᵀλ", "against the constraints: Aᵀλ"),))
    yield _matrix(e, "M", "M")
    yield _matrix(e, "h", "h")
    yield Words("Solved for the accelerations, {0}, and put into {1}:", (SOLVED, RATES_OF_A))
    yield from _written(e, MULTIPLIERS, "lambda")
    yield from _written(e, SOLVED, "qdd")
    yield Heading("Projection")
    yield Words(
        "{0} put back into the equations of motion leaves {1}, free of it. P keeps of a torque what moves the "
        "mechanism and takes what presses against the constraints; its rank is the number of freedoms, so {2} stays.",
        ("λ", "P τ = P (M q̈ + h)", A_RATES),
    )
    yield from _written(e, PROJECTION, "P")


def _written(e: ConstrainedEquations, formula: str, what: str) -> Iterator[Part]:
    """The formula, and written out if that can be read."""
    yield Words("{0}.", (formula,))
    if e.robot.n + len(e.terms.A) > MOST:
        return
    rows = [row if isinstance(row, list) else [row] for row in entries_of(e, what)]
    if sum(len(p) for row in rows for x in row for p in x.above.values()) > LONGEST:
        return
    written = tuple(tuple(expression(e, x) for x in row) for row in rows)
    lines = Formulas(tuple(Line(f"{what}{k}", row[0]) for k, row in enumerate(written, 1)))
    part = MatrixFormula("P", written) if what == "P" else lines
    long = sum(size(x) for row in written for x in row) > LONG
    yield Fold("Written out", (part,)) if long else part


def _numbers(e: ConstrainedEquations, q: Array, qd: Array, rows: list[int]) -> Iterator[Part]:
    """The same at one state."""
    s, robot = e.system, e.system.robot
    s.require(q, qd)
    A, M, P = s.jacobian(q)[rows], robot.mass_matrix(q), s.projection(q)
    h = robot.inverse_dynamics(q, qd, np.zeros(s.n))
    yield Heading("In numbers")
    yield Words("At {0} and {1}:", (_vector("q", q), _vector("q̇", qd)))
    named = {"A": A, "Ȧ": s.jacobian_dot(q, qd)[rows], "M": M, "h": h[:, None]}
    yield from (_in_numbers(name, x) for name, x in named.items())
    factors = mechanics.factor(M.tolist(), A.tolist())
    still, drift = [0.0] * len(A), s.drift(q, qd)[rows]
    columns = [factors.acceleration(unit, still) for unit in np.eye(s.n).tolist()]
    free = factors.acceleration((-h).tolist(), (-drift).tolist())
    yield _affine("lambda", np.array([column.force for column in columns]).T, np.array(free.force))
    yield _affine("qdd", np.array([column.qdd for column in columns]).T, np.array(free.qdd))
    yield _in_numbers("P", P)
    with suppress(DalembertError):  # constraints that are not on the tip
        wrenches = 0.0 - np.array([s.tip_wrench(q, unit) for unit in np.eye(s.k)[rows]])
        yield Words("As a wrench of the tip, (force, moment) in world axes, {0}:", ("Jᵀ F = Aᵀλ",))
        forces = [total(times(_number(x), Name(f"lambda{k}")) for k, x in enumerate(row, 1)) for row in wrenches.T]
        yield MatrixFormula(("F", "F"), tuple((x,) for x in forces), decimals=True)


def _in_numbers(name: str, A: Array) -> MatrixFormula:
    return MatrixFormula(name, tuple(tuple(_number(x) for x in row) for row in A), decimals=True)


def _affine(name: str, slopes: Array, free: Array) -> Formulas:
    """name = slopes τ + free."""
    lines = []
    for k, (row, x) in enumerate(zip(slopes, free, strict=True), 1):
        terms = [times(_number(y), Name(f"tau{j}")) for j, y in enumerate(row, 1)]
        lines.append(Line(f"{name}{k}", total([*terms, _number(x)])))
    return Formulas(tuple(lines), decimals=True)


def _number(x: float) -> Number:
    return Number(Fraction(f"{0.0 if abs(x) < 1e-12 else x:.{FIGURES}g}"))


def _vector(name: str, x: Array) -> str:
    return f"{name} = ({', '.join(f'{y:.{FIGURES}g}' for y in x)})"
