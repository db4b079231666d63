"""What can be asked of a Lagrangian system by name (M12, tau1, lambda1, dL/dthetad), for print and for comparing."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import linear
from dalembert.algorithms.mechanics import saddle
from dalembert.errors import InputError, choose
from dalembert.lagrange.derive import null_space, quotient, shortened, solve
from dalembert.lagrange.symbols import Expression, sp, tidy
from dalembert.symbolic.check import Marker
from dalembert.symbolic.collect import split_name
from dalembert.symbolic.compare import Choices, Comparison, Quantity, compare
from dalembert.symbolic.entries import NOT_UNIQUE, assembled, find_entry
from dalembert.symbolic.steps import Steps
from dalembert.symbolic.text import text

if TYPE_CHECKING:
    from dalembert.lagrange.system import LagrangianSystem

Nested = Any  # an expression in the system's own symbols, or lists of them
ENERGY = re.compile(r"([KP])_?\{?(\d+)\}?")  # K1: of the first body
SLOPE = re.compile(r"(d/dt )?d([LKP])/d(\w+)")


def rated(name: str, order: int) -> str:
    """The name of a coordinate's velocity or acceleration: qd1, thetadd."""
    letters, digits, rest = split_name(name)
    return letters + "d" * order + digits + rest


# What can be asked for by its letters, how it is found, and what it is.
TABLE: dict[str, tuple[Callable[[LagrangianSystem], Nested], str]] = {
    "K": (lambda s: tidy(s._energies.kinetic), "the kinetic energy"),
    "P": (lambda s: tidy(s._energies.potential), "the potential energy"),
    "L": (lambda s: tidy(s._energies.kinetic - s._energies.potential), "the Lagrangian"),
    "R": (lambda s: s._energies.dissipation, "Rayleigh's dissipation function"),
    "M": (lambda s: _lists(s._terms.M), "the mass matrix"),
    "Gamma": (lambda s: _lists(s._terms.Gamma), "the Christoffel symbols, the equation's index last"),
    "C": (lambda s: _lists(s._terms.C), "the Coriolis matrix of the Christoffel symbols"),
    "c": (lambda s: velocity_terms(s), "the velocity terms C q̇"),
    "g": (lambda s: _lists(s._terms.g), "∂P/∂q"),
    "h": (lambda s: [c + g for c, g in zip(velocity_terms(s), s._terms.g, strict=True)], "C q̇ + g"),
    "friction": (lambda s: _lists(s._terms.friction), "∂R/∂q̇"),
    "psi": (lambda s: _lists(s._energies.forces), "the generalized forces"),
    "B": (lambda s: _lists(s._terms.B), "what the inputs do to each coordinate"),
    "tau": (lambda s: left_sides(s), "the left sides of the equations of motion"),
    "qdd": (lambda s: accelerations(s), "the accelerations"),
    "A": (lambda s: _lists(s._terms.A), "the constraints on velocities, A q̇ = 0"),
    "Adot": (lambda s: _lists(s._terms.A_dot), "the rate of A"),
    "phi": (lambda s: _lists(s._energies.holonomic), "the holonomic constraints"),
    "lambda": (lambda s: solved(s)[s.n :], "the multipliers"),
    "Z": (lambda s: null_space(s._terms.A, s.n, s._dependent).tolist(), "directions that the constraints allow"),
    "projection": (lambda s: projection(s).tolist(), "I − Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹"),
    "Alin": (lambda s: linearized(s)[0].tolist(), "∂f/∂x of ẋ = f(x, u), where nothing moves or acts"),
    "Blin": (lambda s: linearized(s)[1].tolist(), "∂f/∂u of ẋ = f(x, u), where nothing moves or acts"),
}
ALIASES = {"Q": "psi", "forces": "psi", "λ": "lambda"}
OF_CONSTRAINTS = ("A", "Adot", "phi", "lambda", "Z", "projection")


def _lists(rows: Any) -> Nested:
    return [_lists(row) for row in rows] if isinstance(rows, (tuple, list)) else rows


def velocity_terms(s: LagrangianSystem) -> list[Expression]:
    """C q̇."""
    v = s._alphabet.qd
    return [sp.expand(sp.Add(*(x * y for x, y in zip(row, v, strict=True)))) for row in s._terms.C]


def inputs(s: LagrangianSystem) -> list[Expression]:
    """B u, or τ where no inputs are named."""
    if not s.input_symbols:
        return list(s.tau)
    return [sp.Add(*(b * u for b, u in zip(row, s.input_symbols, strict=True))) for row in s._terms.B]


def left_sides(s: LagrangianSystem) -> list[Expression]:
    """M q̈ + C q̇ + g + ∂R/∂q̇ − ψ₀ + Aᵀλ."""
    t, a = s._terms, s._alphabet.qdd
    pushed = [sp.Add(*(row[k] * x for row, x in zip(t.A, s.multiplier_symbols, strict=True))) for k in range(s.n)]
    rest = zip(velocity_terms(s), t.g, t.friction, t.forces, pushed, strict=True)
    return [
        sp.Add(*(m * x for m, x in zip(row, a, strict=True)), c, g, r, -f, p)
        for row, (c, g, r, f, p) in zip(t.M, rest, strict=True)
    ]


def system_matrix(s: LagrangianSystem) -> list[list[Expression]]:
    """(M Aᵀ; A 0), whose solution for (τ − h, −Ȧ q̇) is (q̈, λ).  [Fakhari 3]."""
    return saddle(s._terms.M, s._terms.A, sp.Integer(0))


def inverted(s: LagrangianSystem) -> tuple[Any, Expression]:
    """Adjugate and determinant of that matrix."""
    rows, determinant = linear.adjugate(system_matrix(s), lambda x: tidy(sp.sympify(x)))
    return sp.Matrix(rows), tidy(determinant)


def solved(s: LagrangianSystem) -> list[Expression]:
    """Return (q̈, λ) of M q̈ + h + Aᵀλ = τ, A q̈ = −Ȧ q̇."""
    t = s._terms
    v = sp.Matrix(s._alphabet.qd)
    g, friction, forces = (sp.Matrix(row) for row in (t.g, t.friction, t.forces))
    right = sp.Matrix(inputs(s)) - sp.Matrix(t.C) * v - g - friction + forces
    if not t.A:
        return [shortened(x) for x in solve(sp.Matrix(t.M), right)]
    inverse, determinant = inverted(s)
    found = inverse * sp.Matrix([*right, *(-sp.Matrix(t.A_dot) * v)])
    return [shortened(quotient(x, determinant)) for x in found]


def accelerations(s: LagrangianSystem) -> list[Expression]:
    """q̈ = M⁻¹ (τ − h − Aᵀλ)."""
    return solved(s)[: s.n]


def projection(s: LagrangianSystem) -> Any:
    """I − Aᵀ(A M⁻¹ Aᵀ)⁻¹ A M⁻¹."""
    inverse, determinant = inverted(s)
    moving = sp.Matrix(s._terms.M) * inverse[: s.n, : s.n]
    return moving.applyfunc(lambda x: shortened(quotient(tidy(sp.expand(x)), determinant)))


def linearized(s: LagrangianSystem) -> tuple[Any, Any]:
    """(∂f/∂x, ∂f/∂u) where coordinates, rates and inputs are zero."""
    a = s._alphabet
    f = sp.Matrix([*a.qd, *accelerations(s)])
    u = s.input_symbols or s.tau
    rest = dict.fromkeys((*a.q, *a.qd, *u), sp.Integer(0))
    return tuple(f.jacobian(list(by)).subs(rest).applyfunc(sp.factor) for by in ((*a.q, *a.qd), u))


def find(s: LagrangianSystem, name: str) -> tuple[str, Nested]:
    """(the name as it is printed, the expression or lists of them) of what a name asks for."""
    a = s._alphabet
    spelled = {rated(q, order): symbols[k] for order, symbols in enumerate((a.q, a.qd)) for k, q in enumerate(a.names)}
    if (slope := SLOPE.fullmatch(str(name).strip())) and slope[3] in spelled:
        x = sp.diff(TABLE[slope[2]][0](s), spelled[slope[3]])
        x = rate_of(s, x) if slope[1] else x
        return name.strip(), tidy(x)
    if s.bodies and (energy := ENERGY.fullmatch(str(name).strip())) and 1 <= int(energy[2]) <= len(s.bodies):
        return energy[1] + energy[2], tidy(s.bodies[int(energy[2]) - 1]["KP".index(energy[1])])

    def letters(what: str) -> Nested:
        what = ALIASES.get(what, what)
        choose(f"quantity of {s.name!r}", what, TABLE)
        if what in OF_CONSTRAINTS and not s._terms.A:
            raise InputError("missing", "name", name, problem=f"{s.name!r} has no constraints, and so no {name}")
        return TABLE[what][0](s)

    return find_entry(str(name).replace("_lin", "lin").replace("_dot", "dot"), letters, s.name)


def rate_of(s: LagrangianSystem, x: Expression) -> Expression:
    """dx/dt = Σ ∂x/∂qᵢ q̇ᵢ + ∂x/∂q̇ᵢ q̈ᵢ."""
    a = s._alphabet
    pairs = zip((*a.q, *a.qd), (*a.qd, *a.qdd), strict=True)
    return sp.Add(*(sp.diff(x, by) * fast for by, fast in pairs))


def symbols(s: LagrangianSystem) -> dict[str, Any]:
    """The symbols that formulas may have, by the spelling of `symbolic.formula`."""
    a = s._alphabet
    found = {rated(q, order): x[k] for order, x in enumerate((a.q, a.qd, a.qdd)) for k, q in enumerate(a.names)}
    return found | {x.name: x for x in (*s._parameters, *(s.input_symbols or s.tau), *s.multiplier_symbols)}


def comparable(s: LagrangianSystem, name: str) -> Quantity:
    """What a formula can be compared with."""
    printed, value = find(s, name)
    known, numbers = symbols(s), {x.name: number for x, number in s.parameters.items()}
    if not s.input_symbols:
        numbers |= {x.name: 0.0 for x in s.tau}  # nothing acts unless somebody says so

    def at(x: Expression, values: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        count = next(iter(values.values())).shape
        found = sp.lambdify(list(known.values()), x, "numpy")(*(values[name] for name in known))
        return np.broadcast_to(np.asarray(found, complex if np.iscomplexobj(found) else float), count)

    def whole(name: str, value: Nested) -> Quantity:
        return assembled(name, value, at, lambda x: text(s.writing(x)), {k: numbers.get(k) for k in known})

    found = whole(printed, value)
    if printed == "C" and s.n > 1:
        M_dot = [[rate_of(s, x) for x in row] for row in s._terms.M]
        parts = (whole(name, x).value for name, x in (("c", velocity_terms(s)), ("Mdot", M_dot)))
        return replace(found, choices=Choices([rated(q, 1) for q in s._alphabet.names], *parts))
    hint = NOT_UNIQUE if re.fullmatch(r"C[\d,]+", printed) else ""
    return replace(found, floating=printed[0] == "P", hint=hint)  # a potential energy is defined up to a constant


def compare_formula(s: LagrangianSystem, name: str, formula: str) -> Comparison:
    """A formula compared with a quantity, or an equation of motion with the system's. Where no inputs are named and the
    formula has no τ, nothing acts."""
    quantity = comparable(s, name)
    if isinstance(formula, str) and quantity.name.startswith("tau") and formula.count("=") == 1:
        judged = Marker(steps(s)).judge(1, formula)
        if judged.step.startswith(("equation", "qdd")):
            if judged.comparison is not None:
                return judged.comparison
            return Comparison(judged.step, judged.verdict == "right", quantity.derived, where=judged.reason)
    if not s.input_symbols and not re.search("tau|τ", str(formula)):
        still = dict.fromkeys((x.name for x in s.tau), np.zeros(1))
        value = quantity.value
        quantity = replace(quantity, value=lambda values: value({**values, **still}))
    return compare(quantity, formula)


def steps(s: LagrangianSystem) -> Steps:
    """How its derivation goes on from step to step, for checking one."""
    a, t = s._alphabet, s._terms
    spelled = {x: sp.Symbol(name) for name, x in symbols(s).items()}

    def tree(x: Expression) -> ast.expr:
        text = str(sp.sympify(x).xreplace(spelled)).replace("Abs(", "abs(").replace("sign(", "sgn(")
        return ast.parse(text, mode="eval").body

    q, v, fast = (tuple(rated(name, order) for name in a.names) for order in range(3))
    pushed = [sp.Add(*(row[k] * x for row, x in zip(t.A, s.multiplier_symbols, strict=True))) for k in range(s.n)]
    rests = tuple(tree(r - f + p) for r, f, p in zip(t.friction, t.forces, pushed, strict=True))
    rights = tuple(map(tree, inputs(s)))
    count = len(s.bodies)
    return Steps(s.quantity, lambda name: tree(find(s, name)[1]), q, v, fast, count, rests, rights, s.inputs)
