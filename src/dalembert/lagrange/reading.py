"""What a user gives of a system: energies, constraints, forces and inputs, read and looked at."""

from __future__ import annotations

from typing import Any

from dalembert.errors import InputError
from dalembert.lagrange.bodies import vector
from dalembert.lagrange.derive import Energies, Row, generalized_forces, pfaffian_row
from dalembert.lagrange.symbols import Alphabet, sympy

_NOT_A_POTENTIAL = "a potential depends on coordinates only; put it into the kinetic energy, forces= or dissipation="
_NOT_HOLONOMIC = "use pfaffian= for constraints on velocities"


def energies_of(
    alphabet: Alphabet,
    kinetic: Any,
    potential: Any,
    dissipation: Any,
    constraints: Any,
    pfaffian: Any,
    forces: Any,
    inputs: Any,
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


def _pfaffian(alphabet: Alphabet, row: Any, k: int) -> Row:
    what = f"pfaffian constraint {k}"
    if not isinstance(row, (list, tuple)):
        return pfaffian_row(alphabet.read(row, what), alphabet, what)
    if len(row) != len(alphabet.q):
        raise InputError(f"{what} has {len(row)} entries; a row of A has one per coordinate, {len(alphabet.q)}")
    return tuple(alphabet.read(x, what) for x in row)


def _forces(alphabet: Alphabet, forces: Any) -> Row:
    sp, read = sympy(), alphabet.read
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
            f"forces are {len(alphabet.q)} generalized forces, one per coordinate ({names}), or pairs (force, point) "
            f"of vectors; got {len(items)} entries: {forces!r}"
        )
    return tuple(read(x, f"force {k}") for k, x in enumerate(items, 1))


def _inputs(alphabet: Alphabet, inputs: Any) -> Row:
    sp = sympy()
    found: list[Any] = []
    for u in sp.symbols(inputs, seq=True) if isinstance(inputs, str) and inputs else _listed(inputs or ()):
        if not isinstance(u, sp.Symbol):
            raise InputError(f"an input is a SymPy symbol, not {u!r}")
        if u.name in {s.name for s in (*alphabet.q, *alphabet.qd)}:
            raise InputError(f"the name {u.name!r} is used twice: for an input, and a coordinate or its velocity")
        if u.name in {s.name for s in found}:
            raise InputError(f"the name {u.name!r} is used twice among the inputs")
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
            raise InputError(f"{what}, {x}, contains the velocity {moving[0]}: {remedy}")
    for what, x in [("the kinetic energy", e.kinetic), ("the dissipation", e.dissipation), *(f[:2] for f in fixed)]:
        driven = [str(u) for u in e.inputs if x.has(u)]
        if driven:
            raise InputError(f"{what} contains the input {driven[0]}: inputs act through forces=")
    idle = [str(u) for u in e.inputs if not any(f.has(u) for f in e.forces)]
    if idle:
        raise InputError(f"the input {idle[0]} does nothing: no force in forces= contains it")


def _listed(x: Any) -> list[Any]:
    """A list of a sequence or a SymPy matrix; an expression alone is a list of one."""
    sp = sympy()
    if isinstance(x, sp.MatrixBase):
        return list(x)
    if isinstance(x, (sp.Basic, int, float, str)):
        return [x]
    try:
        return list(x)
    except TypeError:
        raise InputError(f"a sequence of SymPy expressions is wanted, got {x!r}") from None


def _rows(x: Any) -> list[Any]:
    """Pfaffian constraints: a matrix as its rows, a row as a list, anything else as an expression."""
    sp = sympy()
    if isinstance(x, sp.MatrixBase):
        return x.tolist()
    return [list(row) if isinstance(row, (sp.MatrixBase, sp.Tuple)) else row for row in _listed(x)]


def _is_pair(item: Any) -> bool:
    sp = sympy()
    vectors = (list, tuple, sp.MatrixBase, sp.Tuple)
    return isinstance(item, (list, tuple)) and len(item) == 2 and all(isinstance(part, vectors) for part in item)
