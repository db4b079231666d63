"""Dynamics in task space as taught, and its quantities: M_C = J⁻ᵀ M J⁻¹ (Λ), c_C (μ), g_C (p) of an arm whose tip has
as many rows that move as it has joints.  [Fakhari 3]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import linear
from dalembert.errors import InputError
from dalembert.symbolic.compare import Quantity
from dalembert.symbolic.document import Fold, Heading, MatrixFormula, Part
from dalembert.symbolic.expression import ZERO, Quotient, size
from dalembert.symbolic.factor import determinant
from dalembert.symbolic.polynomial import Polynomial
from dalembert.symbolic.text import text

if TYPE_CHECKING:
    from dalembert.symbolic.blackboard import Blackboard
    from dalembert.symbolic.equations import Equations

Square = list[list[Polynomial]]
NAMES = {"Lambda": "Lambda", "MC": "Lambda", "mu": "mu", "cC": "mu", "p": "p", "gC": "p"}
ROWS = ("vx", "vy", "vz", "ωx", "ωy", "ωz")
LONG, MOST = 60, 3  # symbols of a matrix that folds; joints of an arm whose J is inverted in symbols


def task_jacobian(e: Equations) -> tuple[Square, list[str]]:
    """The first n rows of the tip's Jacobian that do not vanish, and their names."""
    J = e.jacobian()
    moving = [k for k, row in enumerate(J) if any(row)][: e.n]
    if len(moving) < e.n:
        problem = f"the tip of {e.name!r} has {len(moving)} rows that move for {e.n} joints, so that J is not square"
        raise InputError("wrong-shape", "J", problem=problem)
    return [J[k] for k in moving], [ROWS[k] for k in moving]


def numerators(e: Equations) -> tuple[Square, Polynomial, dict[str, tuple[Square, int]]]:
    """(adj J, det J, {name: (matrix, n)}): Λ, μ and p are the matrix over det Jⁿ."""
    ring, n = e.ring, e.n
    J, _ = task_jacobian(e)
    det = determinant(ring, J)
    if not det:
        problem = f"J of {e.name!r} is singular in every posture, so that its rows span no task space"
        raise InputError("singular", "J", problem=problem)

    def minor(i: int, j: int) -> Polynomial:
        return determinant(ring, [[x for c, x in enumerate(row) if c != j] for r, row in enumerate(J) if r != i])

    adjugate = [[(-1) ** (i + j) * minor(j, i) for j in range(n)] for i in range(n)]
    drift = [sum((e.rate_of(x) * v for x, v in zip(row, e.qd, strict=True)), ring.zero) for row in J]
    across = linear.transposed(adjugate)
    pulled = linear.apply(e.M, linear.apply(adjugate, drift))
    c = [(a + b) * det - x for a, b, x in zip(e.centripetal, e.coriolis, pulled, strict=True)]

    def column(x: list[Any]) -> Square:
        return [[ring.scalar(y)] for y in linear.apply(across, x)]

    mass = linear.product(linear.product(across, e.M), adjugate)
    inertia = [[ring.scalar(x) for x in row] for row in mass]
    return adjugate, det, {"Lambda": (inertia, 2), "mu": (column(c), 2), "p": (column(e.g), 1)}


def comparable(e: Equations, name: str) -> Quantity:
    """Λ, μ or p, whole or an entry, as what formulas are compared with."""
    from dalembert.symbolic.entries import assembled, find_entry, points_of, symbols_of

    _, det, found = numerators(e)

    def find(what: str) -> Any:
        rows, power = found[NAMES[what]]
        leaves = [[(x, power) for x in row] for row in rows]
        return leaves if NAMES[what] == "Lambda" else [row[0] for row in leaves]

    def at(x: tuple[Polynomial, int], values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        ring = points_of(e, values)
        return np.asarray(x[0].at_points(ring) / det.at_points(ring) ** x[1])

    def show(x: tuple[Polynomial, int]) -> str:
        form = e.form({"above": x[0], "below": det ** x[1]}).entries
        return text(Quotient(form["above"], form["below"]))

    printed, value = find_entry(name, find, e.name)
    return assembled(printed, value, at, show, symbols_of(e))


def task_space(board: Blackboard) -> Iterator[Part]:
    """The derivation."""
    e = board.e
    if e.n > MOST:
        problem = f"task space is derived in symbols for at most {MOST} joints"
        raise InputError("too-large", "joints", e.n, problem=problem, remedy="Use Robot.task_space for its numbers.")
    J, rows = task_jacobian(e)
    adjugate, det, found = numerators(e)
    yield Heading("Rates of the tip")
    yield board.words(f"The rows {', '.join(rows)} of the tip move, as many as there are joints: {{0}}.", "ẋ = J @q̇")
    yield from board.matrix("J", J)
    yield board.words("By the product rule {0}, with the rate of each entry by the chain rule:", "ẍ = J @q̈ + J̇ @q̇")
    yield from board.matrix("J̇", [[e.rate_of(x) for x in row] for row in J])
    yield Heading("Turned around")
    yield board.words("Where J is invertible, {0} and {1}.", "@q̇ = J⁻¹ ẋ", "@q̈ = J⁻¹ (ẍ − J̇ J⁻¹ ẋ)")
    yield from _over(board, "J⁻¹", adjugate, det)
    yield Heading("Dynamics of the tip")
    yield board.words("Put into {0}, and multiplied by {1}, for {2}:", "@τ = @M @q̈ + c + @g", "J⁻ᵀ", "@τ = Jᵀ F")
    yield board.words(
        "{0}, with {1}, {2} and {3}.", "F = Λ ẍ + μ + p", "Λ = J⁻ᵀ @M J⁻¹", "μ = J⁻ᵀ c − Λ J̇ @q̇", "p = J⁻ᵀ @g"
    )
    for name, letter in (("Lambda", "Λ"), ("mu", "μ"), ("p", "p")):
        matrix, power = found[name]
        if any(x for row in matrix for x in row):
            yield from _over(board, letter, matrix, det**power)
    yield board.words(
        "All three depend on {0}, not on the tip's position alone: an arm reaches one place in two ways.", "@q"
    )


def _over(board: Blackboard, name: str, A: Square, below: Polynomial) -> Iterator[Part]:
    """A matrix, each entry over one polynomial; folded if it is long."""
    form = board.legible(
        {"below": below, **{f"{i} {j}": x for i, row in enumerate(A) for j, x in enumerate(row)}}
    ).entries
    rows = tuple(
        tuple(x if (x := form[f"{i} {j}"]) == ZERO else Quotient(x, form["below"]) for j in range(len(row)))
        for i, row in enumerate(A)
    )
    part = MatrixFormula(board.math(name), rows)
    long = sum(size(x) for row in rows for x in row) > LONG
    yield Fold(f"{name}, written out", (part,)) if long else part
