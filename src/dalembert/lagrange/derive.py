"""What a user gives of a system, read and looked at, and Lagrange's equations derived from it: M, Γ, C, g, A, Ȧ and
generalized forces as SymPy expressions.

With K = ½ q̇ᵀ M q̇ + bᵀ q̇ + K₀ and L = K − P, d/dt ∂L/∂q̇ − ∂L/∂q is M q̈ + C q̇ + g, where
Γ_ijk = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij), C_kj = Σᵢ Γ_ijk q̇ᵢ + ∂ⱼb_k − ∂ₖb_j and g = ∂(P − K₀)/∂q. The part from b is skew,
so Ṁ − 2C is skew with it or without.  [Lagrange notes].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.errors import InputError
from dalembert.lagrange.bodies import vector
from dalembert.lagrange.symbols import Alphabet, Expression, sp, tidy

if TYPE_CHECKING:
    from sympy import Matrix

Row = tuple[Expression, ...]
Rows = tuple[Row, ...]


@dataclass(frozen=True)
class Energies:
    """What a system is written in, read into its alphabet."""

    kinetic: Expression
    potential: Expression
    dissipation: Expression
    holonomic: Row
    pfaffian: Rows
    forces: Row  # (n) generalized forces ψ(q, q̇, u), τ apart
    inputs: Row


@dataclass(frozen=True)
class Derived:
    """The terms of τ = M q̈ + C q̇ + g + ∂R/∂q̇ − ψ₀ + Aᵀλ, with τ = B u where inputs are named."""

    M: Rows
    Gamma: tuple[Rows, ...]  # [i][j][k], the equation's index last
    C: Rows
    g: Row
    friction: Row  # ∂R/∂q̇ of Rayleigh's function R
    forces: Row  # ψ₀: given forces, without the inputs' part
    B: Rows  # (n, m) inputs; empty rows if none are named
    A: Rows  # (k, n): ∂φ/∂q, then the Pfaffian rows
    A_dot: Rows


def derive(alphabet: Alphabet, e: Energies) -> Derived:
    """All terms of the equations of motion."""
    q, v = alphabet.q, alphabet.qd
    M = mass_matrix(alphabet, e.kinetic)
    Gamma = christoffel(M, q)
    rest = dict.fromkeys(v, sp.Integer(0))
    b = [sp.diff(e.kinetic, x).xreplace(rest) for x in v]
    effective = e.potential - e.kinetic.xreplace(rest)
    A = tuple(tuple(tidy(sp.diff(f, x)) for x in q) for f in e.holonomic) + e.pfaffian
    forces, B = _split_inputs(e.forces, e.inputs)
    return Derived(
        M,
        Gamma,
        _coriolis(Gamma, b, q, v),
        tuple(tidy(sp.diff(effective, x)) for x in q),
        tuple(tidy(sp.diff(e.dissipation, x)) for x in v),
        forces,
        B,
        A,
        tuple(tuple(tidy(_along(a, q, v)) for a in row) for row in A),
    )


def mass_matrix(alphabet: Alphabet, kinetic: Expression) -> Rows:
    """M = ∂²K/∂q̇∂q̇; refused if it still contains velocities, because K is then not quadratic in them."""
    v, n = alphabet.qd, len(alphabet.qd)
    M = [[sp.Integer(0)] * n for _ in range(n)]
    for i in range(n):
        slope = sp.diff(kinetic, v[i])
        for j in range(i + 1):
            M[i][j] = M[j][i] = _free_of(v, tidy(sp.diff(slope, v[j])), kinetic)
    return tuple(map(tuple, M))


def _free_of(v: Row, entry: Expression, kinetic: Expression) -> Expression:
    if entry.has(*v):
        entry = sp.simplify(entry)  # slow, and only for what would be refused otherwise
    if entry.has(*v):
        found = ", ".join(str(x) for x in v if entry.has(x))
        raise InputError(
            "wrong-value",
            "kinetic",
            kinetic,
            problem=f"the kinetic energy {kinetic} is not quadratic in the velocities: its second derivative still "
            f"contains {found}; a kinetic energy is ½ q̇ᵀ M(q) q̇, plus terms linear in q̇ or free of it",
        )
    return entry


def christoffel(M: Rows, q: Row) -> tuple[Rows, ...]:
    """Γ[i][j][k] = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij): symmetric in i and j, the equation's index last."""
    n = len(q)
    D = [[[sp.diff(M[max(i, j)][min(i, j)], x) for x in q] for j in range(n)] for i in range(n)]

    def symbol(i: int, j: int, k: int) -> Expression:
        i, j = min(i, j), max(i, j)
        return sp.expand((D[k][j][i] + D[k][i][j] - D[i][j][k]) / 2)

    return tuple(tuple(tuple(symbol(i, j, k) for k in range(n)) for j in range(n)) for i in range(n))


def _coriolis(Gamma: tuple[Rows, ...], b: Sequence[Expression], q: Row, v: Row) -> Rows:
    n = len(q)

    def entry(k: int, j: int) -> Expression:
        gyroscopic = tidy(sp.diff(b[k], q[j]) - sp.diff(b[j], q[k]))
        return sp.Add(*(Gamma[i][j][k] * v[i] for i in range(n)), gyroscopic)

    return tuple(tuple(entry(k, j) for j in range(n)) for k in range(n))


def _along(x: Expression, q: Row, v: Row) -> Expression:
    """Rate of a function of q along the motion, Σ ∂x/∂qᵢ q̇ᵢ."""
    return sp.Add(*(sp.diff(x, a) * b for a, b in zip(q, v, strict=True)))


def _split_inputs(forces: Row, inputs: Row) -> tuple[Row, Rows]:
    """ψ = ψ₀ + B u: what the inputs do must be linear in them."""
    B = tuple(tuple(tidy(sp.diff(f, u)) for u in inputs) for f in forces)
    for row, f in zip(B, forces, strict=True):
        if any(entry.has(*inputs) for entry in row):
            raise InputError(
                "wrong-value",
                "forces",
                f,
                problem=f"the force {f} is not linear in the inputs {', '.join(map(str, inputs))}",
            )
    without = dict.fromkeys(inputs, sp.Integer(0))
    return tuple(f.xreplace(without) for f in forces), B


# ------------------------------------------------------------------------------------------- forces and constraints
def generalized_forces(pairs: Sequence[tuple[Row, Row]], q: Row) -> Row:
    """ψ_j = Σᵢ fᵢ · ∂rᵢ/∂q_j: forces at points, by their virtual work.  [Lagrange notes], d'Alembert's principle."""
    parts = [(f, r) for force, point in pairs for f, r in zip(force, point, strict=True)]
    return tuple(tidy(sp.Add(*(f * sp.diff(r, x) for f, r in parts))) for x in q)


def pfaffian_row(x: Expression, alphabet: Alphabet, what: str) -> Row:
    """The row a(q) of a constraint a(q) q̇ = 0 that was written as an expression."""
    row = tuple(sp.diff(x, v) for v in alphabet.qd)
    rest = sp.expand(x - sp.Add(*(a * v for a, v in zip(row, alphabet.qd, strict=True))))
    if any(a.has(*alphabet.qd) for a in row) or sp.simplify(rest) != 0:
        raise InputError(
            "wrong-value",
            what,
            x,
            problem=f"{what}, {x} = 0, is not linear in the velocities: a Pfaffian constraint is A(q) q̇ = 0",
        )
    return row


def null_space(A: Rows, n: int, columns: Sequence[int]) -> Matrix:
    """Virtual displacements: an (n, n − k) matrix Z with A Z = 0. `columns` are k independent columns of A, which are
    solved for; the other coordinates move freely, one per column of Z."""
    free = [j for j in range(n) if j not in columns]
    if not A:
        return sp.eye(n)
    rows = sp.Matrix(A)
    solved = solve(rows[:, list(columns)], -rows[:, free])
    Z = sp.zeros(n, len(free))
    for place, j in enumerate(free):
        Z[j, place] = 1
        for k, i in enumerate(columns):
            Z[i, place] = solved[k, place]
    return Z


# Above so many operations common factors of numerator and determinant are not looked for: it would take seconds.
CANCEL = 200


def solve(A: Matrix, B: Matrix) -> Matrix:
    """A⁻¹ B of SymPy matrices: by the adjugate up to 3 × 3, where it stays legible."""
    if A.rows > 3:
        return A.LUsolve(B)
    determinant = tidy(A.det(method="berkowitz"))
    return (A.adjugate(method="berkowitz") * B).applyfunc(lambda x: quotient(x, determinant))


def quotient(x: Expression, determinant: Expression) -> Expression:
    """Return x / determinant without common factors, unless x is long."""
    return sp.cancel(x / determinant) if x.count_ops() < CANCEL else x / determinant


def shortened(x: Expression) -> Expression:
    """A fraction with numerator and denominator tidied and common factors gone, unless it is long."""
    if x.count_ops() > 2 * CANCEL:
        return x
    above, below = sp.fraction(sp.together(x))
    return sp.cancel(tidy(above) / tidy(below))


# --------------------------------------------------------------------------------------------- what a user gives
_NOT_A_POTENTIAL = "a potential depends on coordinates only; put it into the kinetic energy, forces= or dissipation="
_NOT_HOLONOMIC = "use pfaffian= for constraints on velocities"


def energies_of(
    alphabet: Alphabet,
    kinetic: object,
    potential: object,
    dissipation: object,
    constraints: object,
    pfaffian: object,
    forces: object,
    inputs: object,
) -> Energies:
    """Everything that was given, read into one alphabet, each part looked at."""
    read = alphabet.read
    found = Energies(
        read(kinetic, "the kinetic energy"),
        read(potential, "the potential energy"),
        read(dissipation, "the dissipation"),
        tuple(read(f, f"constraint {k}") for k, f in enumerate(_listed(constraints), 1)),
        tuple(_pfaffian(alphabet, row, k) for k, row in enumerate(_rows(pfaffian), 1)),
        _forces(alphabet, forces),
        _inputs(alphabet, inputs),
    )
    _check_places(alphabet, found)
    return found


def _pfaffian(alphabet: Alphabet, row: object, k: int) -> Row:
    what = f"pfaffian constraint {k}"
    if not isinstance(row, (list, tuple)):
        return pfaffian_row(alphabet.read(row, what), alphabet, what)
    if len(row) != len(alphabet.q):
        raise InputError(
            "wrong-shape",
            what,
            row,
            problem=f"{what} has {len(row)} entries; a row of A has one per coordinate, {len(alphabet.q)}",
        )
    return tuple(alphabet.read(x, what) for x in row)


def _forces(alphabet: Alphabet, forces: object) -> Row:
    read = alphabet.read
    items = _listed(forces)
    if not items:
        return (sp.Integer(0),) * len(alphabet.q)
    if all(_is_pair(item) for item in items):
        pairs = []
        for k, (force, point) in enumerate(items, 1):
            f = tuple(read(x, f"force {k}") for x in vector(force, f"force {k}"))
            r = tuple(read(x, f"the point of force {k}") for x in vector(point, f"the point of force {k}"))
            pairs.append((f, r))
        return generalized_forces(pairs, alphabet.q)
    if len(items) != len(alphabet.q) or any(isinstance(item, (list, tuple, sp.MatrixBase)) for item in items):
        names = ", ".join(alphabet.names)
        raise InputError(
            "wrong-shape",
            "forces",
            forces,
            problem=f"forces are {len(alphabet.q)} generalized forces, one per coordinate ({names}), or pairs "
            f"(force, point) of vectors; got {len(items)} entries: {forces!r}",
        )
    return tuple(read(x, f"force {k}") for k, x in enumerate(items, 1))


def _inputs(alphabet: Alphabet, inputs: object) -> Row:
    found: list[Any] = []
    for u in sp.symbols(inputs, seq=True) if isinstance(inputs, str) and inputs else _listed(inputs or ()):
        if not isinstance(u, sp.Symbol):
            raise InputError("wrong-type", "inputs", u, problem=f"an input is a SymPy symbol, not {u!r}")
        if u.name in {s.name for s in (*alphabet.q, *alphabet.qd)}:
            raise InputError(
                "duplicate",
                "inputs",
                u.name,
                problem=f"the name {u.name!r} is used twice: for an input, and a coordinate or its velocity",
            )
        if u.name in {s.name for s in found}:
            raise InputError(
                "duplicate", "inputs", u.name, problem=f"the name {u.name!r} is used twice among the inputs"
            )
        found.append(u if not isinstance(inputs, str) else alphabet.known(u))
        alphabet.read(found[-1], "an input")
    return tuple(found)


def _check_places(alphabet: Alphabet, e: Energies) -> None:
    """Velocities and inputs only where they may stand."""
    fixed = [("the potential energy", e.potential, _NOT_A_POTENTIAL)]
    fixed += [(f"constraint {k}", f, _NOT_HOLONOMIC) for k, f in enumerate(e.holonomic, 1)]
    for k, row in enumerate(e.pfaffian, 1):
        fixed += [(f"pfaffian constraint {k}", x, "its entries depend on coordinates only") for x in row]
    for what, x, remedy in fixed:
        moving = [str(s) for s in alphabet.qd if x.has(s)]
        if moving:
            raise InputError(
                "wrong-value", what, x, problem=f"{what}, {x}, contains the velocity {moving[0]}: {remedy}"
            )
    for what, x in [("the kinetic energy", e.kinetic), ("the dissipation", e.dissipation), *(f[:2] for f in fixed)]:
        driven = [str(u) for u in e.inputs if x.has(u)]
        if driven:
            raise InputError(
                "wrong-value", what, x, problem=f"{what} contains the input {driven[0]}: inputs act through forces="
            )
    idle = [str(u) for u in e.inputs if not any(f.has(u) for f in e.forces)]
    if idle:
        raise InputError(
            "no-effect", "inputs", idle[0], problem=f"the input {idle[0]} does nothing: no force in forces= contains it"
        )


def _listed(x: Expression | Iterable[Expression]) -> list[Any]:
    """A list of a sequence or a SymPy matrix; an expression alone is a list of one."""
    if isinstance(x, sp.MatrixBase):
        return list(x)
    if isinstance(x, (sp.Basic, int, float, str)):
        return [x]
    try:
        return list(x)
    except TypeError:
        raise InputError(
            "wrong-type", None, x, problem=f"a sequence of SymPy expressions is wanted, got {x!r}"
        ) from None


def _rows(x: Expression | Iterable[Expression]) -> list[Any]:
    """Pfaffian constraints: a matrix as its rows, a row as a list, anything else as an expression."""
    if isinstance(x, sp.MatrixBase):
        return x.tolist()
    return [list(row) if isinstance(row, (sp.MatrixBase, sp.Tuple)) else row for row in _listed(x)]


def _is_pair(item: object) -> bool:
    vectors = (list, tuple, sp.MatrixBase, sp.Tuple)
    return isinstance(item, (list, tuple)) and len(item) == 2 and all(isinstance(part, vectors) for part in item)
