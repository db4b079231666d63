"""`Equations.derivation`: a robot's equations derived step by step, as they are taught, every line of it generated.

    kinematics     DH table, each Aᵢ, the products T₀ᵢ, the Jacobian column by column, det J
    lagrange       energies link by link, L, its derivatives, M, Christoffel symbols, the choices of C, g
    task-space     J, its rate and inverse, Λ, μ, p
    newton-euler   outward and inward, link by link, with symbols or with numbers

What is too long to be read is told by its structure instead: how many terms, which joints couple.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from dalembert import arguments
from dalembert.errors import InputError, unknown
from dalembert.model.build import build
from dalembert.symbolic.blackboard import Blackboard, number
from dalembert.symbolic.document import (
    Derivation,
    Formula,
    Formulas,
    Heading,
    Line,
    Part,
    Table,
    Words,
    braced,
    left_of,
)
from dalembert.symbolic.entries import entries, named
from dalembert.symbolic.kinematics import choose_frames, determinant, kinematics
from dalembert.symbolic.lagrange import READABLE, lagrange
from dalembert.symbolic.lumps import TooLargeError, legible
from dalembert.symbolic.newton_euler import newton_euler
from dalembert.symbolic.parameters import KINDS
from dalembert.symbolic.polynomial import Polynomial
from dalembert.symbolic.steps import robot_steps
from dalembert.symbolic.task_space import task_space

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

STEPS_UP_TO = 400  # terms of M: more are shown by their structure and the lumped M alone
TITLES = {
    "kinematics": "Kinematics of {}",
    "lagrange": "Equations of motion of {}, by Lagrange",
    "newton-euler": "Equations of motion of {}, by Newton and Euler",
    "task-space": "Dynamics of {} in task space",
}
State = Sequence[Sequence[float]]  # q, q̇, q̈


def derive(e: Equations, method: str = "lagrange", at: State | None = None, convention: str = "standard") -> Derivation:
    if method not in TITLES:
        raise unknown("method", method, tuple(TITLES))
    if at is not None and method != "newton-euler":
        problem = f"at= puts numbers into newton-euler, but {method} is derived with symbols"
        raise InputError("no-effect", "at", problem=problem)
    if method in ("kinematics", "task-space") and e.model.tip is None:
        remedy = "Name the frame whose motion is meant, with load(…, tip=…)."
        raise InputError("missing", "tip", problem=f"{e.name!r} has no tip", remedy=remedy)
    board, title = Blackboard(e), TITLES[method].format(e.name)
    if e.n == 0:
        return Derivation(title, (Words("Nothing moves: there are no equations of motion."),))
    if method == "kinematics":
        board, frames = choose_frames(board, convention)
        pieces = [*_start(board, ("length",)), *kinematics(board, frames)]
    elif method == "task-space":
        pieces = [*_start(board, KINDS), *task_space(board)]
    elif method == "newton-euler":
        pieces = [*_start(board, KINDS), *_recursion(board, at)]
    else:
        return Derivation(title, (*_start(board, KINDS), *motion(board)), steps=partial(robot_steps, e))
    return Derivation(title, tuple(pieces))


def motion(board: Blackboard) -> Iterator[Part]:
    """By Lagrange; of a large robot the structure."""
    e = board.e
    if sum(len(p) for row in e.M for p in row) <= STEPS_UP_TO:
        yield from lagrange(board)
        return
    yield from structure(e)
    yield from determinant(board)
    yield from _large_mass_matrix(board)


def _start(board: Blackboard, kinds: Sequence[str]) -> Iterator[Part]:
    e = board.e
    listed = [f"{{{k}}} {braced(c.name)} ({c.joint.kind})" for k, c in enumerate(e.model.coordinates)]
    names = tuple(board.name(f"q{k + 1}") for k in range(e.n))
    yield Words(f"{e.n} joint{'' if e.n == 1 else 's'}: {', '.join(listed)}.", names)
    if any(c.joint.turns for c in e.model.coordinates):
        yield board.words("{0} stands for {1}, {2} for {3}.", "s₁₂", "sin(@q₁ + @q₂)", "c₂", "cos @q₂")
    for note in e.notes:
        yield Words(f"Taken as exact: {braced(note)}.")
    used = {name: p for name, p in e.parameters.items() if p.kind in kinds}
    rows = tuple((left_of(name), p.meaning, f"{e.values[name]:g}") for name, p in used.items())
    if rows:
        yield Heading("Parameters")
        yield Table(("symbol", "meaning", "value"), rows)


def _recursion(board: Blackboard, at: State | None) -> Iterator[Part]:
    e = board.e
    if at is None:
        if sum(len(p) for row in e.M for p in row) > STEPS_UP_TO:
            raise InputError(
                "too-large",
                "at",
                problem=f"the recursion of {e.name!r} with symbols is too long to read",
                remedy="Give numbers for q, q̇ and q̈ as `at`.",
            )
        yield from newton_euler(board, e.model, e.q, e.qd, e.qdd)
        return
    q, qd, qdd = arguments.array("at", at, (3, e.n), meaning="q, q̇ and q̈").tolist()
    rows: list[tuple[Formula, ...]] = []
    for k, state in enumerate(zip(q, qd, qdd, strict=True), 1):
        rows.append((str(k), *map(number, state)))
    yield Words("At this state, angles in radians:")
    yield Table(("joint", *map(board.math, ("@q", "@q̇", "@q̈"))), tuple(rows))
    yield from newton_euler(board, build(e.snapped_description()), q, qd, qdd)


def structure(e: Equations) -> Iterator[Part]:
    """How large the equations are, and which joints couple."""
    n, products = e.nv, "Gamma" if e.model.curved is None else "C"
    yield Heading("Structure")
    count = {what: [len(p) for p in entries(e, what).values()] for what in ("M", products, "g")}
    rows = tuple(
        (what, str(len(terms)), str(sum(1 for t in terms if t)), str(sum(terms)), str(max(terms, default=0)))
        for what, terms in count.items()
    )
    yield Table(("", "entries", "not zero", "terms", "longest"), rows)
    yield Words("Terms of M in normal form, entry by entry:")
    names = [f"{'q' if e.model.curved is None else 'v'}{k}" for k in range(1, n + 1)]
    head = ("", *names)
    yield Table(head, tuple((name, *map(str, map(len, row))) for name, row in zip(names, e.M, strict=True)))
    yield Words("On which coordinates each entry of M depends:")
    yield Table(head, tuple((name, *map(_depends, row)) for name, row in zip(names, e.M, strict=True)))
    yield Words("On which coordinates g depends: " + "; ".join(f"g{k + 1}: {_depends(p)}" for k, p in enumerate(e.g)))


def _depends(p: Polynomial) -> str:
    used = p.uses()
    found = [str(k) for k, names in enumerate(p.ring.joints, 1) if used & set(names)]
    return (" ".join(found) or "constant") if p else "0"


def _large_mass_matrix(board: Blackboard) -> Iterator[Part]:
    """M in lumped constants, and g, if they are short enough to be read."""
    e, n = board.e, board.e.n
    upper = {named("M", (i + 1, j + 1)): e.M[i][j] for i in range(n) for j in range(i, n)}
    try:
        if sum(map(len, upper.values())) > READABLE:
            raise TooLargeError("too-large", "M", problem="M")
        yield Heading("Mass matrix")
        form = legible(upper, e.groups)  # lumps of M alone: with C it takes four times as long
        yield Formulas.of(form.lumps, form.decimals)
        lines = (Line(board.name(name), e.letters.relabel(x)) for name, x in form.entries.items())
        yield Formulas(tuple(lines), form.decimals)
        yield Heading("Gravity")
        yield from board.formulas(entries(e, "g"))
    except TooLargeError:
        yield Words(
            "M and C are too long to be read: equations.save(file) writes their full closed form, and numbers for some "
            "parameters (symbolic='inertias', or a list) make them shorter."
        )
