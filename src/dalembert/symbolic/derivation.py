"""The derivation of a robot's equations step by step, every line of it generated.

Frames → centers of mass and their Jacobians → energies → M, body by body → Christoffel symbols → C and g → the joint
equations → the regressor → det J. What is too long to be read is told by its structure instead: how many terms, which
joints couple.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dalembert.algorithms import composite
from dalembert.spatial import Inertia
from dalembert.symbolic.document import Derivation, Formulas, Heading, MatrixFormula, Part, Table, Words, braced
from dalembert.symbolic.entries import entries, named
from dalembert.symbolic.factor import factored
from dalembert.symbolic.lumps import Legible, TooLargeError, legible
from dalembert.symbolic.polynomial import Polynomial

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

STEPS_UP_TO = 400  # terms of M: more are shown by their structure and the lumped M alone
READABLE = 3000  # terms in all of what is printed at once
SINGULAR = "The arm is singular"

C_CHRISTOFFEL = ("Cₖⱼ = Σᵢ Γᵢⱼₖ q̇ᵢ", r"C_{kj} = \sum_i \Gamma_{ijk} \dot{q}_i")
SKEW = ("Ṁ − 2C", r"\dot{M} - 2C")


def derivation(e: Equations) -> Derivation:
    return Derivation(f"Equations of motion of {e.name}", tuple(parts(e)))


def parts(e: Equations) -> Iterator[Part]:
    """The document, piece by piece."""
    listed = ", ".join(f"q{k} {c.name} ({c.joint.kind})" for k, c in enumerate(e.model.coordinates, 1))
    yield Words(f"{e.n} joint{'' if e.n == 1 else 's'}{': ' if listed else ''}{braced(listed)}.")
    for note in e.notes:
        yield Words(f"Taken as exact: {braced(note)}.")
    yield from _parameters(e)
    if e.n == 0:
        yield Words("Nothing moves: there are no equations of motion.")
        return
    if sum(len(p) for row in e.M for p in row) > STEPS_UP_TO:
        yield from structure(e)
        yield from determinant(e)
        yield from _large_mass_matrix(e)
        return
    yield from _kinematics(e)
    yield from _energies(e)
    yield from _mass_matrix(e)
    yield from _velocity_terms(e)
    yield from _joint_equations(e)
    yield from _regressor(e)
    yield from determinant(e)


def _parameters(e: Equations) -> Iterator[Part]:
    rows = tuple((name, p.meaning, f"{e.values[name]:g}") for name, p in e.parameters.items())
    if rows:
        yield Heading("Parameters")
        yield Table(("symbol", "meaning", "value"), rows)


def _matrix(e: Equations, name: str, A: Sequence[Sequence[Polynomial]], lump: bool = False) -> Iterator[Part]:
    flat = {f"{i} {j}": p for i, row in enumerate(A) for j, p in enumerate(row)}
    form = legible(flat, e.groups, lump=lump)
    if form.lumps:
        yield Formulas.of(form.lumps, form.decimals)
    rows = tuple(tuple(form.entries[f"{i} {j}"] for j in range(len(row))) for i, row in enumerate(A))
    yield MatrixFormula(name, rows, form.decimals)


def _formulas(e: Equations, given: Mapping[str, Polynomial], lump: bool = False) -> Iterator[Part]:
    form = legible(given, e.groups, lump=lump)
    if form.lumps:
        yield Formulas.of(form.lumps, form.decimals)
    yield Formulas.of(form.entries, form.decimals)


def _kinematics(e: Equations) -> Iterator[Part]:
    if e.model.tip is not None:
        yield Heading("Forward kinematics")
        yield Words(
            f"The pose of {braced(e.model.tip)} in the base frame, {{0}}, and its Jacobian, linear rows first.",
            (("T = A₁ A₂ ⋯ Aₙ", r"T = A_1 A_2 \cdots A_n"),),
        )
        yield from _matrix(e, "T", e.fk())
        yield from _matrix(e, "J", e.jacobian())
    yield Heading("Jacobians of the centers of mass")
    yield Words(
        "Of each moving body: the velocity of its center of mass and its angular velocity, {0}.",
        (("(v; ω) = J q̇", r"(v; \omega) = J \dot{q}"),),
    )
    for k, body in enumerate(e.model.bodies, 1):
        if body.inertia.m:
            yield from _matrix(e, f"Jc{k}", e.com_jacobian(body.name))


def _energies(e: Equations) -> Iterator[Part]:
    yield Heading("Energies")
    half = r"\tfrac{1}{2}"
    kinetic = rf"K = \sum_i {half} m_i v_i^T v_i + {half} \omega_i^T I_i \omega_i = {half} \dot{{q}}^T M \dot{{q}}"
    yield Words(
        "{0} and {1}.",
        (("K = Σ ½ mᵢ vᵢᵀvᵢ + ½ ωᵢᵀ Iᵢ ωᵢ = ½ q̇ᵀ M q̇", kinetic), ("P = −Σ mᵢ gᵀ pᵢ", r"P = -\sum_i m_i g^T p_i")),
    )
    yield from _formulas(e, {"K": e.K, "P": e.P})


def _mass_matrix(e: Equations) -> Iterator[Part]:
    yield Heading("Mass matrix")
    by_body = r"M = \sum_i m_i J_{v_i}^T J_{v_i} + J_{\omega_i}^T I_i J_{\omega_i}"
    yield Words("{0}, body by body:", (("M = Σ mᵢ JᵥᵢᵀJᵥᵢ + Jωᵢᵀ Iᵢ Jωᵢ", by_body),))
    for k in range(len(e.model.bodies)):
        yield from _matrix(e, f"M({k + 1})", body_mass_matrix(e, k))
    yield Words("Together, with lumped constants:")
    form = legible(entries(e, "M") | entries(e, "C"), e.groups)
    if form.lumps:
        yield Formulas.of(form.lumps, form.decimals)
    yield _square("M", form, e.n)
    yield Heading("Christoffel symbols")
    definition = r"\Gamma_{ijk} = \tfrac{1}{2} (\partial_i M_{kj} + \partial_j M_{ki} - \partial_k M_{ij})"
    what = ("Γᵢⱼₖ = ½ (∂ᵢMₖⱼ + ∂ⱼMₖᵢ − ∂ₖMᵢⱼ)", definition)
    n, G = e.n, e.christoffel
    some = {
        named("Gamma", (i + 1, j + 1, k + 1)): G[i][j][k]
        for k in range(n)
        for i in range(n)
        for j in range(i, n)
        if G[i][j][k]
    }
    if some:
        yield Words("{0}, symmetric in its first two indices; those that are not zero:", (what,))
        yield from _formulas(e, some)
    else:
        yield Words("{0}: all are zero, since M is constant.", (what,))


def body_mass_matrix(e: Equations, k: int) -> list[list[Polynomial]]:
    """What one body adds to M."""
    nothing = {"inertia": Inertia(), "rotor_inertia": 0.0}
    bodies = tuple(b if i == k else replace(b, **nothing) for i, b in enumerate(e.model.bodies))  # type: ignore[arg-type]
    M = composite.mass_matrix(replace(e.model, bodies=bodies), e.q)
    return [[e.ring.scalar(x) for x in row] for row in M]


def _square(name: str, form: Legible, n: int) -> MatrixFormula:
    numbers = range(1, n + 1)
    rows = tuple(tuple(form.entries[named(name, (i, j))] for j in numbers) for i in numbers)
    return MatrixFormula(name, rows, form.decimals)


def _velocity_terms(e: Equations) -> Iterator[Part]:
    yield Heading("Coriolis matrix and gravity")
    yield Words(
        "{0}, in the same lumped constants; {1} is skew-symmetric. {2}.",
        (C_CHRISTOFFEL, SKEW, ("g = ∂P/∂q", r"g = \partial P / \partial q")),
    )
    form = legible(entries(e, "M") | entries(e, "C"), e.groups)
    yield _square("C", form, e.n)
    yield from _formulas(e, entries(e, "g"))
    choices = [c for c in composite.CHOICES if e.keeps_skew_symmetry(c)]
    listed = ", ".join(composite.CHOICES)
    yield Words(f"Of the choices {listed}, these keep {{0}} skew-symmetric: {', '.join(choices)}.", (SKEW,))


def _joint_equations(e: Equations) -> Iterator[Part]:
    yield Heading("Joint equations")
    yield Words(
        "{0} is the sum of {1}, the centripetal terms (with {2}), the Coriolis terms (with {3})"
        + (", friction" if e.friction else "")
        + " and {4}.",
        (("τ", r"\tau"), ("M q̈", r"M \ddot{q}"), ("q̇ᵢ²", r"\dot{q}_i^2"), ("q̇ᵢq̇ⱼ", r"\dot{q}_i \dot{q}_j"), ("g", "g")),
    )
    yield from _formulas(e, entries(e, "tau"))


def _regressor(e: Equations) -> Iterator[Part]:
    Y = e.regressor
    columns = [k for k in range(len(Y[0]) if Y else 0) if any(row[k] for row in Y)]
    if not columns or sum(len(row[k]) for row in Y for k in columns) > READABLE:
        return
    yield Heading("Regressor")
    names = [e.regressor_columns[k] for k in columns]
    yield Words(
        "{0} in the standard parameters (mass, first moments, and inertia about the joint frame's origin, then those "
        f"of the drives). Columns that are not zero: {braced(', '.join(names))}.",
        (("τ = Y π", r"\tau = Y \pi"),),
    )
    yield from _formulas(e, {f"Y{i + 1},{k + 1}": Y[i][k] for i in range(e.n) for k in columns if Y[i][k]})


def determinant(e: Equations) -> Iterator[Part]:
    task = _square_task(e) if e.model.tip is not None else ""
    det = e.det_jacobian() if task else None
    if det is None or (not det and task != SINGULAR):  # a tip on the last axis: its position says nothing of the arm
        return
    yield Heading("Singularities")
    if not det:
        yield Words(f"{SINGULAR} in every posture: the determinant of its Jacobian is zero.")
        return
    yield Words(f"{task} where this determinant of the Jacobian vanishes:")
    yield Formulas.of({"det": factored(det, e.groups)})


def _square_task(e: Equations) -> str:
    """What is singular where det J vanishes; nothing is, if the rows of J that do not vanish are not as many as the
    joints, for then a minor of J may vanish though J keeps its rank."""
    moving = [k for k, row in enumerate(e.jacobian()) if any(row)]
    if len(moving) == e.n:
        return SINGULAR
    return "The tip's position loses a direction" if sum(k < 3 for k in moving) == e.n else ""


def structure(e: Equations) -> Iterator[Part]:
    """How large the equations are, and which joints couple."""
    n = e.n
    yield Heading("Structure")
    count = {what: [len(p) for p in entries(e, what).values()] for what in ("M", "Gamma", "g")}
    rows = tuple(
        (what, str(len(terms)), str(sum(1 for t in terms if t)), str(sum(terms)), str(max(terms, default=0)))
        for what, terms in count.items()
    )
    yield Table(("", "entries", "not zero", "terms", "longest"), rows)
    yield Words("Terms of M in normal form, entry by entry:")
    head = ("", *(f"q{k}" for k in range(1, n + 1)))
    yield Table(head, tuple((f"q{i + 1}", *(str(len(e.M[i][j])) for j in range(n))) for i in range(n)))
    yield Words("On which coordinates each entry of M depends:")
    yield Table(head, tuple((f"q{i + 1}", *(_depends(e.M[i][j]) for j in range(n))) for i in range(n)))
    yield Words("On which coordinates g depends: " + "; ".join(f"g{k + 1}: {_depends(p)}" for k, p in enumerate(e.g)))


def _depends(p: Polynomial) -> str:
    used = p.uses()
    found = [str(k) for k, names in enumerate(p.ring.joints, 1) if used & set(names)]
    return (", ".join(found) or "constant") if p else "0"


def _large_mass_matrix(e: Equations) -> Iterator[Part]:
    """M in lumped constants, and g, if they are short enough to be read."""
    n = e.n
    upper = {named("M", (i + 1, j + 1)): e.M[i][j] for i in range(n) for j in range(i, n)}
    try:
        if sum(map(len, upper.values())) > READABLE:
            raise TooLargeError("M")
        yield Heading("Mass matrix")
        yield from _formulas(e, upper, lump=True)
        yield Heading("Gravity")
        yield from _formulas(e, entries(e, "g"))
    except TooLargeError:
        yield Words(
            "M and C are too long to be read: equations.save(file) writes their full closed form, and numbers for some "
            "parameters (symbolic='inertias', or a list) make them shorter."
        )
