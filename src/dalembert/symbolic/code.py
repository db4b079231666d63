"""Equations as code: polynomials traced into kernels, which are NumPy and C source too; and as SymPy expressions, in
sin and cos of q1, q2, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.compile import Kernel, compile_function
from dalembert.errors import InputError, unknown
from dalembert.lazy import library
from dalembert.scalar import Scalar
from dalembert.symbolic.entries import ALIASES, TABLE, Nested, entry, points_of, quantity
from dalembert.symbolic.polynomial import Polynomial

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations


def kernel(e: Equations, what: str, parameters: Sequence[str] = ()) -> Kernel:
    """The kernel of a quantity with the robot's numbers: of q, then q̇ and q̈ where they occur, then of those
    parameters that are named."""
    for name in parameters:
        if name not in e.ring.parameters:
            raise unknown("parameter", name, e.ring.parameters)
    value = quantity(e, what)
    flat, shape = _flat(value)
    used = set().union(*(p.uses() for p in flat)) if flat else set()
    kinds = [("q", True), ("qd", bool(used & set(e.ring.rates))), ("qdd", bool(used & set(e.ring.accelerations)))]
    arguments = [name for name, present in kinds if present]
    inputs: list[tuple[int, ...]] = [(e.model.nq if name == "q" else e.nv,) for name in arguments]
    if parameters:
        arguments, inputs = [*arguments, "parameters"], [*inputs, (len(parameters),)]
    if any(name[:2] in ("Fv", "Fs") for name in used - set(parameters)) and e.friction_fits:
        problem = f"the robot's friction cannot be written as F_v q̇ + F_s sgn(q̇): {e.friction_fits}"
        raise InputError("unsupported", "parameters", problem=problem, remedy="Pass parameters=….")
    values = {name: x for name, x in e.values.items() if name not in parameters}

    def function(*given: Sequence[Scalar]) -> object:
        letters = [e.letter_of.get(name, name) for name in arguments]
        named = {f"{letter}{k}": x for letter, row in zip(letters, given, strict=True) for k, x in enumerate(row, 1)}
        names = points_of(e, named) | dict(zip(parameters, given[-1], strict=bool(parameters)))
        results = [evaluated(p, values, names) for p in flat]
        return _nested(results, shape)

    return compile_function(function, inputs, [shape], what, f"{what} of {e.name}", arguments)


def evaluated(p: Polynomial, values: dict[str, float], names: dict[str, Scalar]) -> Scalar:
    """The polynomial with numbers for some names, gathered first, and any scalars for the others."""
    gathered: dict[tuple[tuple[str, int], ...], float] = {}
    ring = p.ring
    for powers, c in p.terms().items():
        number = int(c.p) / int(c.q)
        rest = []
        for k, e in enumerate(map(int, powers)):
            if e:
                name = ring.names[k]
                if name in values:
                    number *= values[name] ** e
                else:
                    rest.append((name, e))
        key = tuple(rest)
        gathered[key] = gathered.get(key, 0.0) + number
    total: Scalar = 0.0
    for key, number in gathered.items():
        term: Scalar = number
        for name, e in key:
            for _ in range(e):
                term = term * names[name]
        total = total + term
    return total


def _flat(A: Nested) -> tuple[list[Polynomial], tuple[int, ...]]:
    if isinstance(A, Polynomial):
        return [A], ()
    parts = [_flat(a) for a in A]
    return [p for flat, _ in parts for p in flat], (len(A), *(parts[0][1] if parts else ()))


def _nested(flat: list[Scalar], shape: tuple[int, ...]) -> object:
    if not shape:
        return flat[0]
    step = len(flat) // shape[0] if shape[0] else 0
    return [_nested(flat[k * step : (k + 1) * step], shape[1:]) for k in range(shape[0])]


# SymPy


def to_sympy(e: Equations, what: str) -> Any:
    """A whole quantity as a Matrix (an Array, if it has three indices), one entry as an expression."""
    sympy = library("sympy")
    names = symbols(e)
    whole = ALIASES.get(what, what) in TABLE
    value = quantity(e, what) if whole else entry(e, what)[1]
    made = converted(value, names)
    if not isinstance(made, list):
        return made
    nested = made and isinstance(made[0], list) and made[0] and isinstance(made[0][0], list)
    return sympy.Array(made) if nested else sympy.Matrix(made)


def symbols(e: Equations) -> dict[str, Scalar]:
    """What stands for each name of the ring."""
    import sympy

    names: dict[str, Scalar] = {name: sympy.Symbol(name, real=True) for name in e.ring.names}
    for k, joint in enumerate(e.ring.joints, 1):
        if len(joint) > 1:
            q = sympy.Symbol(f"q{k}", real=True)
            names |= {joint[0]: sympy.sin(q), joint[1]: sympy.cos(q)}
    return names | {sign: sympy.sign(names[rate]) for sign, rate in e.signs.items()}


def converted(A: Nested, names: dict[str, Scalar]) -> Any:
    """A polynomial, or nested lists of them, with its names replaced."""
    if not isinstance(A, Polynomial):
        return [converted(a, names) for a in A]
    import sympy

    terms = []
    for powers, c in A.terms().items():
        factors = [names[name] ** k for name, k in zip(A.ring.names, powers, strict=True) if k]
        terms.append(sympy.Mul(sympy.Rational(int(c.p), int(c.q)), *factors))
    return sympy.Add(*terms)
