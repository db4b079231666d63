"""The equations by the names that people use for their entries: M12, C21, g1, Gamma112, tau2, K, P, J11, T14, det."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert import scalar
from dalembert.algorithms import composite, energy, joints, kinematics
from dalembert.errors import DalembertError, InputError, unknown
from dalembert.model import Model
from dalembert.scalar import Scalar
from dalembert.spatial import Inertia
from dalembert.symbolic.collect import split_name
from dalembert.symbolic.compare import Choices, Quantity
from dalembert.symbolic.formula import SHORT, evaluate
from dalembert.symbolic.lumps import LUMPED_AT_MOST, TooLargeError
from dalembert.symbolic.nodes import replaced
from dalembert.symbolic.parameters import center
from dalembert.symbolic.polynomial import Polynomial
from dalembert.symbolic.text import text

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

Entries = dict[str, Polynomial]
Nested = Polynomial | Sequence["Nested"]  # a polynomial, or lists of them

# What can be asked for by name, how it is found, and what it is.
TABLE: dict[str, tuple[Callable[[Equations], Nested], str]] = {
    "M": (lambda e: e.M, "the mass matrix"),
    "C": (lambda e: e.C, "the Coriolis matrix of the Christoffel symbols"),
    "c": (lambda e: [a + b for a, b in zip(e.centripetal, e.coriolis, strict=True)], "the velocity terms C q̇"),
    "g": (lambda e: e.g, "the gravity torques"),
    "tau": (lambda e: e.tau, "the joint torques"),
    "Gamma": (lambda e: e.christoffel, "the Christoffel symbols, the equation's index last"),
    "K": (lambda e: e.K, "the kinetic energy"),
    "P": (lambda e: e.P, "the potential energy"),
    "L": (lambda e: e.K - e.P, "the Lagrangian"),
    "dL/dqd": (lambda e: [e.K.derivative(f"qd{k}") for k in range(1, e.n + 1)], "the momenta"),
    "d/dt dL/dqd": (lambda e: e.momentum_rates, "the rates of the momenta"),
    "dL/dq": (lambda e: [(e.K - e.P).by_coordinate(k) for k in range(e.n)], "the slopes of the Lagrangian"),
    "dK/dq": (lambda e: [e.K.by_coordinate(k) for k in range(e.n)], "the slopes of the kinetic energy"),
    "T": (lambda e: e.fk(), "the tip's pose"),
    "J": (lambda e: e.jacobian(), "the tip's Jacobian"),
    "det": (lambda e: e.det_jacobian(), "the determinant of the Jacobian"),
    "Y": (lambda e: e.regressor, "the regressor in the standard parameters"),
    "Mdot": (lambda e: e.M_dot, "the rate of the mass matrix"),
    "qd": (lambda e: e.position_rates, "the rates of the positions, q̇ = N v"),
    "centripetal": (lambda e: e.centripetal, "the terms with squared rates"),
    "coriolis": (lambda e: e.coriolis, "the terms with products of rates"),
}
ALIASES = {"Γ": "Gamma", "τ": "tau", "D": "M", "G": "g", "detJ": "det", "dP/dq": "g", "dK/dqd": "dL/dqd"}
ALIASES |= {"d/dt dK/dqd": "d/dt dL/dqd"}
FEW = 400  # terms of M of which lumped constants are found at once
NAME = re.compile(r"((?:d/dt )?d[LKP]/dqd?|[A-Za-zΓτ]+?)_?\[?\{?(\d[\d, ]*)?\}?\]?")
ENERGY = re.compile(r"([KP])_?\{?(\d+)\}?")  # K1: of the first body
NOT_UNIQUE = "C is not unique: this is C of the Christoffel symbols. Compare the whole matrix to check another choice."
REPEATED = re.compile(r"c(?=\d{3}$)\d*(\d)\d*\1\d*")  # c121 is no cosine of a sum of angles
MOTION = re.compile(
    r"(pc|vc|omega)_?\{?(\d+)\}?"
)  # pc1: center of mass of the first body; its velocity; the body's rate
LONGEST_NAMED = 5000  # characters of a formula that may name other entries
MOST_EXACT = 300  # terms of a polynomial that formulas are compared with exactly
MOST_TERMS = 5000  # of a difference, multiplied out
MOST_HARMONICS = 50_000  # of a difference: half a second


def quantity(e: Equations, what: str) -> Nested:
    """M, C, g, …: a polynomial, or nested lists of them."""
    what = ALIASES.get(what, what)
    if what not in TABLE:
        raise unknown("quantity", what, tuple(TABLE))
    return TABLE[what][0](e)


def entries(e: Equations, what: str) -> Entries:
    """Every entry of a quantity, by name: {"M11": …, "M12": …}."""
    what = ALIASES.get(what, what)
    if what not in TABLE and NAME.fullmatch(what):  # one entry
        name, p = entry(e, what)
        return {name: p}
    return {named(what, index): p for index, p in _flat(quantity(e, what))}


def _flat(A: Nested, index: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Polynomial]]:
    if isinstance(A, Polynomial):
        return [(index, A)]
    return [pair for k, row in enumerate(A, 1) for pair in _flat(row, (*index, k))]


def named(what: str, index: Sequence[int]) -> str:
    """M12, or M1,12 where an index has two digits."""
    joint = "," if any(k > 9 for k in index) else ""
    return what + joint.join(map(str, index))


def entry(e: Equations, name: str) -> tuple[str, Polynomial]:
    """One entry and its name as it is printed."""
    printed, value = find_entry(name, lambda what: quantity(e, what), e.name)
    if not isinstance(value, Polynomial):
        remedy = f"Choose one, as in {named(printed, [1] * _depth(value))}."
        raise InputError("wrong-shape", "name", name, problem=f"{name} has {_shape(value)} entries", remedy=remedy)
    return printed, value


def find_entry(name: str, find: Callable[[str], Any], owner: str) -> tuple[str, Any]:
    """(its name as it is printed, the entry), or a whole vector or matrix; `find` gives quantities by their letters."""
    if not isinstance(name, str):
        raise InputError("wrong-type", "name", name, expected="text, as in 'M12'")
    found = NAME.fullmatch(name.strip())
    if not found:
        remedy = "Entries are named like M12, C21, g1, Gamma112, tau2, K."
        raise InputError("unknown-name", "name", name, problem=f"{name!r} is not the name of an entry", remedy=remedy)
    what, digits = ALIASES.get(found[1], found[1]), found[2] or ""
    value = whole = find(what)
    apart: Sequence[str] = re.split(r"[, ]+", digits) if re.search(r"[, ]", digits) else digits
    if _depth(value) == 1:
        apart = [digits]  # g12 of a robot with twelve joints
    index = [int(k) for k in apart if k.strip()]
    for k in index:
        if not isinstance(value, list) or not 1 <= k <= len(value):
            problem = f"{name} does not exist, because {what} of {owner!r} is {_shape(whole)}"
            raise InputError("out-of-range", "name", name, problem=problem)
        value = value[k - 1]
    return named(what, index), value


def _depth(A: Nested) -> int:
    return 1 + _depth(A[0]) if isinstance(A, list) and A else 0


def _shape(A: Nested) -> str:
    sizes = []
    while isinstance(A, list):
        sizes.append(str(len(A)))
        A = A[0] if A else ()
    return "×".join(sizes) or "a single expression"


# for comparing


def named_entries(e: Equations, asked: str, formula: str) -> dict[str, str]:
    """Return the derived formulas of the entries of M, C, c, g and Gamma that a formula names in the letters of these
    equations (d12, phi1, c121); without those of the quantity that is asked for."""
    symbols = symbols_of(e)
    if not isinstance(formula, str) or len(formula) > LONGEST_NAMED:
        return {}
    try:
        tree = e.letters.read(formula, list(symbols))[1]
    except DalembertError:
        return {}
    found: dict[str, str] = {}
    for name in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - set(symbols):
        christoffel = e.letters.quantities.get("Gamma") == "c" and REPEATED.fullmatch(name)
        inward = f"Gamma{name[1:]}" if christoffel else e.letters.inward(re.sub(r"^d(\d\d)$", r"M\1", name))
        if re.fullmatch(r"(M|C|c|g|Gamma)\d[\d,]*", inward) and (christoffel or not SHORT.fullmatch(name.lower())):
            with suppress(DalembertError):
                printed, p = entry(e, inward)
                if split_name(printed)[0] != split_name(asked)[0] and len(p) <= MOST_TERMS:
                    found[name] = repr(p)
    return found


def _only_body(e: Equations, k: int) -> Model:
    """The model with the inertia of one body, from 1."""
    bodies = [replace(body, inertia=Inertia(), rotor_inertia=0.0) for body in e.model.bodies]
    bodies[k - 1] = e.model.bodies[k - 1]
    return replace(e.model, bodies=tuple(bodies))


def body_mass_matrix(e: Equations, k: int) -> list[list[Polynomial]]:
    """What one body, from 1, adds to M."""
    return [[e.ring.scalar(x) for x in row] for row in composite.mass_matrix(_only_body(e, k), e.q)]


def body_energy(e: Equations, letter: str, k: int) -> Polynomial:
    """The kinetic ("K") or potential ("P") energy of one body, from 1."""
    if not 1 <= k <= len(e.model.bodies):
        problem = f"{letter}{k} does not exist, because {e.name!r} has {len(e.model.bodies)} moving bodies"
        raise InputError("out-of-range", "k", k, problem=problem)
    if letter == "P":
        return e.ring.scalar(energy.potential_energy(_only_body(e, k), e.q))
    M, v = body_mass_matrix(e, k), e.qd
    return e.ring.scalar(sum(M[i][j] * v[i] * v[j] for i in range(e.nv) for j in range(e.nv)) / 2)


def body_motion(e: Equations, letters: str, k: int) -> list[Polynomial]:
    """Return where the center of mass of a body, from 1, is ("pc") and its velocity ("vc") in the base frame, or the
    body's angular velocity in its own axes ("omega")."""
    if not 1 <= k <= len(e.model.bodies):
        problem = f"{letters}{k} does not exist, because {e.name!r} has {len(e.model.bodies)} moving bodies"
        raise InputError("out-of-range", "k", k, problem=problem)
    if letters == "omega":
        found: Sequence[Scalar] = joints.twists(e.model, joints.poses(e.model, e.q), e.qd)[k - 1].w
    else:
        found = kinematics.world_poses(e.model, e.q)[k - 1].point(center(e.model.bodies[k - 1].inertia))
        found = tuple(map(e.rate_of, found)) if letters == "vc" else found
    return [e.ring.scalar(x) for x in found]


def polynomial(e: Equations, name: str) -> Polynomial:
    """One entry, those of single bodies (K1, P2) too."""
    found = ENERGY.fullmatch(name)
    return body_energy(e, found[1], int(found[2])) if found else entry(e, name)[1]


def comparable(e: Equations, name: str) -> Quantity:
    """An entry ("M12"), a vector or a matrix ("g", "J") as what formulas are compared with."""
    if isinstance(name, str) and re.fullmatch(r"(Lambda|MC|mu|cC|p|gC)_?\d*", name):
        from dalembert.symbolic import task_space

        return task_space.comparable(e, name)
    value: Any
    motion = MOTION.fullmatch(name) if isinstance(name, str) else None
    if motion:
        printed, value = motion[1] + motion[2], body_motion(e, motion[1], int(motion[2]))
    elif isinstance(name, str) and ENERGY.fullmatch(name):
        printed, value = name, polynomial(e, name)
    else:
        printed, value = find_entry(name, lambda what: quantity(e, what), e.name)

    def at(p: Polynomial, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        return p.at_points(points_of(e, values))

    def difference(given: ast.expr, i: int, j: int) -> str:
        if spread(given) > MOST_TERMS:
            return ""
        row: Any = value[i] if isinstance(value, list) else value
        try:
            off = e.ring.scalar(evaluate(_fractions(given), scalars(e))) - (row[j] if isinstance(row, list) else row)
            return _readable(e, off) if _harmonics(e, off) <= MOST_HARMONICS else ""
        except (DalembertError, TypeError, ValueError, LookupError, RecursionError):
            return ""  # no polynomial: a root, a quotient

    known = {n: f for s, c in e.ring.angles for n, f in _fixed(s, c)}
    symbols = symbols_of(e)
    known |= {other: own for other, own in _sliding(e) if other not in symbols}
    found = assembled(printed, value, at, lambda p: _readable(e, p), symbols, known)

    def other(make: Callable[[], Any]) -> Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]:
        return lambda values: assembled(printed, make(), at, lambda p: "", {}).value(values)

    mistaken = {key: other(make) for key, make in mistakes(e, printed).items()}
    names = {name: call("sgn", ast.Name(rate)) for name, rate in e.signs.items()}
    for k in e.ring.turning:
        names |= {s: call(f, ast.Name(f"q{k + 1}")) for s, f in zip(e.ring.joints[k], ("sin", "cos"), strict=False)}

    def exact(i: int, j: int) -> ast.expr | None:
        p = value
        for k in (i, j):
            p = p[k] if isinstance(p, list) else p
        if e.ring.quaternions or len(p) > MOST_EXACT:
            return None
        return replaced(ast.parse(repr(p).replace("^", "**"), mode="eval").body, names.get)

    rows, floating = _told(value) if printed == "J" else (), printed in ("P", "L")
    if motion:  # x and y in a plane, and the one angular velocity there
        rows = (tuple(i for i, x in enumerate(value) if x) or (2,),)
    units = e.ring.quaternions
    found = replace(found, difference=difference, mistaken=mistaken, rows=rows, floating=floating, units=units)
    found = replace(found, exact=exact)
    if printed == "C" and len(value) > 1:
        parts = (other(partial(quantity, e, what)) for what in ("c", "Mdot"))
        return replace(found, choices=Choices(e.ring.rates[: e.nv], *parts))
    return replace(found, hint=NOT_UNIQUE if re.fullmatch(r"C[\d,]+", printed) else "")


def mistakes(e: Equations, name: str) -> dict[tuple[str, str], Callable[[], Any]]:
    """What a quantity is taken for, by kind of slip and in words."""
    found: dict[tuple[str, str], Callable[[], Any]] = {}
    entry_of = re.fullmatch(r"([A-Z]\w*?)(\d)(\d)", name)
    what, place = (entry_of[1], (int(entry_of[2]) - 1, int(entry_of[3]) - 1)) if entry_of else (name, None)

    def chosen(A: Any) -> Any:
        return A if place is None else A[place[0]][place[1]]

    if what in ("J", "T"):
        words = "it is in the axes of the tip's frame, not of the base"
        if what == "J":
            found["wrong frame", words] = lambda: chosen(e.jacobian(expressed_in="local"))
        else:
            words = "it is the pose of the base in the tip's frame: the inverse"
            found["wrong frame", words] = lambda: chosen(_inverse(e))
    if place and what in ("C", "T", "Mdot", "J") and place[0] != place[1]:
        A = quantity(e, what)
        if isinstance(A, list) and place[1] < len(A) and place[0] < len(A[0]):
            swapped = named(what, [place[1] + 1, place[0] + 1])
            found["transposed", f"rows and columns are swapped: this is {swapped}"] = lambda: A[place[1]][place[0]]
    return found


def _inverse(e: Equations) -> Any:
    """T⁻¹ = (Rᵀ, −Rᵀ p)."""
    T = e.fk()
    R = [[T[j][i] for j in range(3)] for i in range(3)]
    p = [e.ring.scalar(-sum((R[i][j] * T[j][3] for j in range(3)), start=e.ring.zero)) for i in range(3)]
    return [[*row, x] for row, x in zip(R, p, strict=True)] + [T[3]]


def _told(J: Nested) -> tuple[tuple[int, ...], ...]:
    """The rows of a Jacobian that stand for all: those of the position, those that are not zero (x, y and φ of a planar
    arm), and both."""
    live = tuple(i for i, row in enumerate(J) if any(row))  # type: ignore[arg-type]
    return tuple(dict.fromkeys(((0, 1, 2), tuple(i for i in live if i < 3), live)))


def assembled(
    name: str,
    value: Any,
    at: Callable[[Any, Mapping[str, NDArray[Any]]], NDArray[Any]],
    show: Callable[[Any], str],
    symbols: Mapping[str, float | None],
    defined: Mapping[str, str] | None = None,
) -> Quantity:
    """What formulas are compared with, of one entry or lists of them, each with its values `at` points and its text."""
    while isinstance(value, list) and len(value) == 1:  # one row is a vector, one entry a single formula
        value = value[0]
    depth = _depth(value)
    if depth > 2:
        remedy = f"Choose one, as in {named(name, [1] * depth)}."
        raise InputError("wrong-shape", "name", name, problem=f"{name} has {_shape(value)} entries", remedy=remedy)
    rows = [row if isinstance(row, list) else [row] for row in value] if depth else [[value]]
    shown = [", ".join(map(show, row)) for row in rows]
    derived = f"[{', '.join(f'[{row}]' if depth > 1 else row for row in shown)}]" if depth else shown[0]

    def values_at(values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        if not depth:
            return at(value, values)
        return np.moveaxis(np.array([[at(p, values) for p in row] for row in rows]), 2, 0)

    return Quantity(name, values_at, symbols, derived, defined or {})


def spread(formula: ast.expr) -> float:
    """About how many terms a formula has, multiplied out."""
    total = 0.0
    while isinstance(formula, ast.BinOp) and isinstance(formula.op, ast.Add | ast.Sub):  # sums lean to the left
        total += spread(formula.right)
        formula = formula.left
    match formula:
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as n)):
            return total + min(spread(left), 1e9) ** min(abs(n), 30)
        case ast.BinOp(left=left, right=right):
            return total + spread(left) * spread(right)
        case ast.UnaryOp(operand=operand):
            return total + spread(operand)
        case ast.Call(args=arguments):
            numbers = [n.value for a in arguments for n in ast.walk(a) if isinstance(n, ast.Constant)]
            multiples = sum(abs(float(x)) for x in numbers if isinstance(x, int | float))
            return total + 2.0 ** min(1.0 + multiples, 99.0)
    return total + 1.0


def scalars(e: Equations) -> dict[str, Any]:
    """What the names of a formula are in the ring: evaluating one with these gives a polynomial."""
    return {**e.ring.symbols, **{f"q{k}": q for k, q in enumerate(e.q, 1)}}


def call(function: str, argument: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function), [argument], [])


def _fractions(formula: ast.expr) -> ast.expr:
    """The formula with exact fractions for its numbers, exponents apart: 2/3 of floats is a decimal of 16 digits."""
    match formula:
        case ast.Constant(value=int() | float() as x):
            return ast.Constant(Fraction(repr(x)))  # type: ignore[arg-type]
        case ast.UnaryOp(op=op, operand=x):
            return ast.UnaryOp(op, _fractions(x))
        case ast.BinOp(left=left, op=ast.Pow() as op, right=right):
            return ast.BinOp(_fractions(left), op, right)
        case ast.BinOp(left=left, op=op, right=right):
            return ast.BinOp(_fractions(left), op, _fractions(right))
        case ast.Call(func=function, args=arguments):
            return ast.Call(function, [_fractions(x) for x in arguments], [])
    return formula


def _harmonics(e: Equations, p: Polynomial) -> int:
    """Return how many sines and cosines of sums of angles the products of a polynomial become at most."""
    places = [[e.ring.names.index(name) for name in e.ring.joints[k]] for k in e.ring.turning]
    return sum(prod(1 + sum(powers[at] for at in pair) for pair in places) for powers in p.terms())


def _readable(e: Equations, p: Polynomial) -> str:
    try:
        return text(e.form({"x": p}).entries["x"])
    except TooLargeError:
        return f"an expression of {len(p)} terms"


def _fixed(sine: str, cosine: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """sa1 = sin(alpha1), ca1 = cos(alpha1)"""
    angle = f"alpha{sine[2:]}"
    return (sine, f"sin({angle})"), (cosine, f"cos({angle})")


def _sliding(e: Equations) -> Iterator[tuple[str, str]]:
    """(d2, q2), (its rates): how coordinates of prismatic joints are mostly written."""
    for k, names in enumerate(e.ring.joints if e.model.curved is None else (), 1):
        if len(names) == 1:
            yield from ((f"d{dots}{k}", f"q{dots}{k}") for dots in ("", "d", "dd"))


def symbols_of(e: Equations) -> dict[str, float | None]:
    """The names that formulas may have, with the robot's own numbers."""
    ring, own = e.ring, e.values
    symbols: dict[str, float | None] = {f"q{k}": None for k in range(1, len(ring.joints) + 1)}
    moving = zip(ring.rates, ring.accelerations, strict=False)  # signs stand behind the rates
    symbols |= {name: None for pair in moving for name in pair}
    symbols |= {name: own.get(name) for name in ring.parameters}
    return symbols | {f"alpha{s[2:]}": float(np.arctan2(own[s], own[c])) for s, c in ring.angles}


def points_of(e: Equations, values: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """The values of the ring's names, arrays or any scalars: sines and cosines for angles, as far as there are values
    for them."""
    found = dict(values)
    for k, names in enumerate(e.ring.joints, 1):
        q = values[f"q{k}"]
        found |= dict(zip(names, (scalar.sin(q), scalar.cos(q), q) if len(names) > 1 else (q,), strict=False))
    for s, c in e.ring.angles:
        if (angle := values.get(f"alpha{s[2:]}")) is not None:
            found |= {s: scalar.sin(angle), c: scalar.cos(angle)}
    rates = {sign: values.get(rate) for sign, rate in e.signs.items()}
    return found | {name: scalar.sign(x) for name, x in rates.items() if x is not None}


def lumps(e: Equations, formula: str) -> dict[str, str]:
    """The lumped constants that a formula may name (a, b, d, …), as the printed equations define them."""
    names = set(re.findall(r"[A-Za-z]\d*", formula)) if isinstance(formula, str) else set()
    terms = sum(len(p) for row in e.M for p in row)
    if terms > LUMPED_AT_MOST or (terms > FEW and not names - set(e.ring.names)):
        return {}
    return {name: text(x, long=True) for name, x in e.lumps.items() if name in names - set(e.ring.names)}
