"""The derivation of a Lagrangian system's equations as it is taught, every line of it generated, with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, combinations_with_replacement
from typing import TYPE_CHECKING

from dalembert.lagrange import quantities
from dalembert.lagrange.derive import solve
from dalembert.lagrange.symbols import Expression, sp, tidy
from dalembert.symbolic import text
from dalembert.symbolic.document import (
    Derivation,
    Fold,
    Formulas,
    Heading,
    Line,
    MatrixFormula,
    Pair,
    Part,
    Table,
    Words,
    pair_of,
)
from dalembert.symbolic.expression import ZERO, Name, Rate, size

if TYPE_CHECKING:
    from dalembert.lagrange.system import LagrangianSystem

FOLDED = 12  # lines of one kind, beyond which they fold
SHORT = 20  # symbols of an expression that may stand left of =
SOLVED, OPERATIONS = 4, 25  # coordinates and constraints, and operations of M, up to which q̈ is written out
LONG = 120  # symbols of an expression that is told by its formula alone
CHAIN = "product and chain rule: each coordinate and each rate moves"
KINETIC = "½ m v² + ½ I ω²"
EULER_LAGRANGE = "d/dt ∂L/∂q̇ − ∂L/∂q = ψ"
CHRISTOFFEL = "Γᵢⱼₖ = ½ (∂ᵢMₖⱼ + ∂ⱼMₖᵢ − ∂ₖMᵢⱼ)"
MULTIPLIERS = "λ = (A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ (τ − h) + Ȧ q̇)"
PROJECTION = "Π = I − Aᵀ (A M⁻¹ Aᵀ)⁻¹ A M⁻¹"
PROJECTED = "Π τ = Π (M q̈ + h)"


def derivation(s: LagrangianSystem) -> Derivation:
    return Derivation(
        f"Equations of motion of {s.name}, by Lagrange", tuple(parts(s)), steps=partial(quantities.steps, s)
    )


def parts(s: LagrangianSystem) -> Iterator[Part]:
    """The document, piece by piece."""
    yield from _coordinates(s)
    if s.bodies:
        yield from _bodies(s)
    yield from _energies(s)
    yield from _equations(s)
    if s.n > 1 or s._terms.A or s._terms.C[0][0] != 0:
        yield from _matrices(s)
    if s._terms.A:
        yield from _constraints(s)
    yield from _solved(s)


# ----------------------------------------------------------------------------------------------------------- names
def _moving(s: LagrangianSystem, k: int, order: int = 0) -> Pair:
    name = s._alphabet.names[k]
    return pair_of(Rate(name, order) if order else Name(name))


def slope(what: str, by: Pair, rate: bool = False) -> Pair:
    """∂L/∂q̇, and d/dt of it."""
    plain, tex = f"∂{what}/∂{by[0]}", rf"\frac{{\partial {what}}}{{\partial {by[1]}}}"
    return (f"d/dt {plain}", rf"\frac{{d}}{{dt}} {tex}") if rate else (plain, tex)


def _column(s: LagrangianSystem, name: str | Pair, entries: Sequence[Expression]) -> MatrixFormula:
    return MatrixFormula(name, tuple((s.writing(tidy(x)),) for x in entries))


def _matrix(s: LagrangianSystem, name: str | Pair, rows: Sequence[Sequence[Expression]]) -> MatrixFormula:
    return MatrixFormula(name, tuple(tuple(s.writing(x) for x in row) for row in rows))


def _indexed(letter: str, k: int) -> Pair:
    return pair_of(Name(f"{letter}{k}"))


# ------------------------------------------------------------------------------------------------------------ steps
def _coordinates(s: LagrangianSystem) -> Iterator[Part]:
    n, k = s.n, len(s._terms.A)
    names = tuple(_moving(s, i) for i in range(n))
    listed = ", ".join(f"{{{i}}}" for i in range(n))
    freedom = f" and {k} constraint{'s' * (k != 1)}, so {n - k} freedom{'s' * (n - k != 1)}" if k else ""
    yield Words(f"{n} coordinate{'s' * (n > 1)}, {listed}{freedom}.", names)
    rows = tuple((pair_of(Name(str(x))), f"{number:g}") for x, number in s.parameters.items())
    if rows:
        yield Fold("Numbers of the parameters", (Table(("parameter", "value"), rows),))


def _bodies(s: LagrangianSystem) -> Iterator[Part]:
    yield Heading("Positions and velocities")
    yield Words("Of each body the position of its center of mass, and the rate of it by the chain rule.")
    for k, body in enumerate(s.bodies, 1):
        v, w = _indexed("v", k), _indexed("omega", k)
        yield _column(s, _indexed("r", k), body.position)
        yield _column(s, v, body.velocity)
        square = tidy(sp.Add(*(x**2 for x in body.velocity)))
        lines = [Line((f"{v[0]}²", f"{v[1]}^2"), s.writing(square), _reason_of_square(body.velocity))]
        if body.turning is not None:
            lines.append(Line(w, s.writing(body.turning), "rate of the body's angle"))
        yield Formulas(tuple(lines))


def _reason_of_square(velocity: Sequence[Expression]) -> str:
    """How the squares of a velocity's components become short."""
    angles = {f.args[0] for x in velocity for f in x.atoms(sp.sin, sp.cos)}
    if len(angles) > 1:
        return "cos² + sin² = 1, cos a cos b + sin a sin b = cos(a - b)"
    return "cos² + sin² = 1" if angles else ""


def _energies(s: LagrangianSystem) -> Iterator[Part]:
    yield Heading("Energies")
    K, P = (quantities.find(s, name)[1] for name in "KP")
    lines = []
    for k, body in enumerate(s.bodies, 1):
        why = Words("{0}", (KINETIC,)) if body.turning is not None else "½ m v²"
        lines.append(Line(f"K{k}", s.writing(tidy(body.kinetic), energy=True), why))
    lines.append(Line("K", s.writing(K, energy=True), "their sum, by products of rates" if len(s.bodies) > 1 else ""))
    weights = [tidy(body.potential) for body in s.bodies]
    if any(x != 0 for x in weights):
        lines += [Line(f"P{k}", s.writing(x), "m g · height") for k, x in enumerate(weights, 1)]
    lines.append(Line("P", s.writing(P), "their sum" if len(s.bodies) > 1 else ""))
    if s._energies.dissipation != 0:
        lines.append(Line("R", s.writing(s._energies.dissipation), "Rayleigh's function: half the power that is lost"))
    yield Formulas(tuple(lines))
    yield Words("The Lagrangian is {0}.", ("L = K − P",))


def _equations(s: LagrangianSystem) -> Iterator[Part]:
    yield Heading("Lagrange's equations")
    yield Words(
        "For each coordinate {0}: the rate of the momentum, less the slope of L, is the force.", (EULER_LAGRANGE,)
    )
    left, right, w = quantities.left_sides(s), quantities.inputs(s), s.writing
    L, a = quantities.find(s, "L")[1], s._alphabet
    for k in range(s.n):
        q, v = _moving(s, k), _moving(s, k, 1)
        momentum, slow = sp.diff(L, a.qd[k]), tidy(sp.diff(L, a.q[k]))
        fast = tidy(quantities.rate_of(s, momentum))
        yield Heading(f"Equation of {a.names[k]}", 3)
        lines = [
            Line(slope("L", v), w(momentum), "its momentum"),
            Line(slope("L", v, rate=True), w(fast), CHAIN if fast.has(*a.qd) else ""),
            Line(
                slope("L", q),
                w(slow),
                "" if slow != 0 else "it does not occur in L: its momentum changes by forces alone",
            ),
            *_forces(s, k),
        ]
        yield Formulas(tuple(lines))
        sides = w(left[k]), w(right[k])
        lead, rest = sides if size(sides[0]) <= SHORT else sides[::-1]
        yield Formulas((Line(pair_of(lead), rest, "the equation of motion"),))


def _forces(s: LagrangianSystem, k: int) -> Iterator[Line]:
    """The generalized force on a coordinate, term by term."""
    w, t = s.writing, s._terms
    psi = quantities.inputs(s)[k] + t.forces[k]
    why = "generalized force: its work along this coordinate" if s.input_symbols or t.forces[k] != 0 else ""
    yield Line(_indexed("psi", k + 1), w(psi), why or "what acts along this coordinate")
    if t.friction[k] != 0:
        v = _moving(s, k, 1)
        yield Line((f"−∂R/∂{v[0]}", rf"-\frac{{\partial R}}{{\partial {v[1]}}}"), w(-t.friction[k]), "what dissipates")
    pushed = sp.Add(*(row[k] * x for row, x in zip(t.A, s.multiplier_symbols, strict=True)))
    if t.A:
        yield Line(f"−(Aᵀλ){str(k + 1).translate(text.SUBSCRIPTS)}", w(-pushed), "what the constraints do")


def _matrices(s: LagrangianSystem) -> Iterator[Part]:
    t, w = s._terms, s.writing
    yield Heading("Matrix form")
    yield Words("{0}: in M stand the coefficients of {1}, the second derivatives of K.", ("M q̈ + C q̇ + g", "q̈"))
    yield _matrix(s, ("M(q)", "M(q)"), t.M)
    yield from _decoupling(s)
    symbols = tuple(_christoffel(s))
    if not symbols:
        yield Words("{0}: all are zero, since M is constant.", (CHRISTOFFEL,))
    else:
        yield Words(
            "Christoffel symbols, {0}, symmetric in their first two indices; those that are not zero:", (CHRISTOFFEL,)
        )
        shown = Formulas(symbols)
        yield shown if len(symbols) <= FOLDED else Fold(f"{len(symbols)} Christoffel symbols", (shown,))
    if any(x != 0 for row in t.C for x in row):
        yield Words("{0}; {1} is then skew-symmetric.", ("Cₖⱼ = Σᵢ Γᵢⱼₖ q̇ᵢ", "Ṁ − 2C"))
        yield _matrix(s, "C", t.C)
        yield _column(s, "C q̇", quantities.velocity_terms(s))
    if any(x != 0 for x in t.g):
        still = tidy(s._energies.kinetic.xreplace(dict.fromkeys(s._alphabet.qd, sp.Integer(0))))
        lower = "P" if still == 0 else "(P - K_0)"
        if still != 0:
            yield Words("What K has without rates, {0}, acts like a potential.", (pair_of(w(still)),))
        moving = [_moving(s, k) for k in range(s.n)]
        why = [Words("{0}", ((slope(lower.replace("_0", "₀"), q)[0], slope(lower, q)[1]),)) for q in moving]
        yield Formulas(tuple(Line(f"g{k}", w(x), y) for k, (x, y) in enumerate(zip(t.g, why, strict=True), 1)))


def _christoffel(s: LagrangianSystem) -> Iterator[Line]:
    """Every symbol that is not zero, with its three slopes."""
    n, t, q = s.n, s._terms, [_moving(s, k) for k in range(s.n)]

    def part(i: int, j: int, k: int) -> Pair:
        entry = pair_of(Name(f"M{min(i, j) + 1}{max(i, j) + 1}"))
        return slope(entry[0], q[k])[0], slope(entry[1], q[k])[1]

    for k in range(n):
        for i, j in combinations_with_replacement(range(n), 2):
            if t.Gamma[i][j][k] == 0:
                continue
            a, b, c = part(k, j, i), part(k, i, j), part(i, j, k)
            sum_of = f"½ ({a[0]} + {b[0]} − {c[0]})", rf"\tfrac{{1}}{{2}} \left({a[1]} + {b[1]} - {c[1]}\right)"
            yield Line(f"Gamma{i + 1}{j + 1}{k + 1}", s.writing(t.Gamma[i][j][k]), Words("{0}", (sum_of,)))


def _decoupling(s: LagrangianSystem) -> Iterator[Part]:
    """Where an entry beside the diagonal is a difference of constants times what moves: when it vanishes."""
    M, numbers = s._terms.M, s.parameters
    for i, j in combinations(range(s.n), 2):
        collected = sp.factor_terms(sp.collect(M[i][j], list(M[i][j].atoms(sp.sin, sp.cos))))
        for factor in sp.Mul.make_args(collected.as_independent(*s._alphabet.q, as_Add=False)[0]):
            less = sp.Add(*(-x for x in sp.Add.make_args(factor) if x.could_extract_minus_sign()))
            if less == 0 or factor + less == 0:
                continue
            value = factor.subs(numbers)
            holds = value.is_number and abs(float(value)) < 1e-12
            yield Words(
                "{0} is zero in every position if {1} = {2}: neither coordinate then feels the other's acceleration."
                + (" The numbers of this system are chosen so." if holds else ""),
                (_indexed("M", 10 * (i + 1) + j + 1), pair_of(s.writing(factor + less)), pair_of(s.writing(less))),
            )


def _constraints(s: LagrangianSystem) -> Iterator[Part]:
    t, w = s._terms, s.writing
    yield Heading("Constraints")
    if s._energies.holonomic:
        yield Formulas(tuple(Line(pair_of(w(f)), ZERO, "held") for f in s._energies.holonomic))
    why = "Their rates are" if s._energies.holonomic else "On the rates they are"
    yield Words(f"{why} {{0}}, with", ("A q̇ = 0",))
    yield _matrix(s, "A", t.A)
    yield Words(
        "The forces of the constraints do no work on a motion they allow, {0} whenever {1}: so they are sums of the "
        "rows of A, {2}, with a multiplier for each row. {3} is what the system applies against its constraints.",
        ("τᵀq̇ = 0", "A q̇ = 0", "τ = Aᵀλ", "λ"),
    )
    yield Words("The rate of the constraints gives as many equations more, {0}.", ("A q̈ + Ȧ q̇ = 0",))
    yield _matrix(s, "Ȧ", t.A_dot)
    yield Words("{0} put in there, with h for all that is neither {1} nor {2}:", ("q̈ = M⁻¹ (τ − h − Aᵀλ)", "q̈", "λ"))
    M, A = sp.Matrix(t.M), sp.Matrix(t.A)
    yield _matrix(s, "A M⁻¹ Aᵀ", (A * solve(M, A.T)).applyfunc(tidy).tolist())
    yield from _result(s, MULTIPLIERS, {f"lambda{k}": x for k, x in enumerate(quantities.find(s, "lambda")[1], 1)})
    yield Words(
        "Without {0}: {1} takes from forces what presses against the constraints, {2}.", ("λ", PROJECTION, PROJECTED)
    )
    P = quantities.find(s, "projection")[1] if _is_short(s) else [[]]
    if P[0] and max(size(w(x)) for row in P for x in row) <= LONG // 2:
        yield _matrix(s, "Pi", P)


def _result(s: LagrangianSystem, formula: str, found: dict[str, Expression]) -> Iterator[Part]:
    """What was solved for, if it can be read."""
    written = {name: s.writing(x) for name, x in found.items()}
    yield Words("{0}.", (formula,))
    if max(map(size, written.values())) <= LONG:
        yield Formulas.of(written)


def _is_short(s: LagrangianSystem) -> bool:
    """Whether M⁻¹ can be written out."""
    return s.n + len(s._terms.A) <= SOLVED and sum(x.count_ops() for row in s._terms.M for x in row) <= OPERATIONS


def _solved(s: LagrangianSystem) -> Iterator[Part]:
    yield Heading("Solved for the accelerations")
    yield Words("{0}.", ("q̈ = M⁻¹ (τ − h − Aᵀλ)" if s._terms.A else "q̈ = M⁻¹ (τ − h)",))
    if not _is_short(s):
        return
    written = [s.writing(x) for x in quantities.find(s, "qdd")[1]]
    if max(map(size, written)) <= LONG:
        yield Formulas(tuple(Line(_moving(s, k, 2), x) for k, x in enumerate(written)))
