"""The table: which derived terms, of which arguments and options, give which array."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalembert.algorithms.linear import apply, product, solve_ldl, transposed
from dalembert.compile import Kernel, compile_function
from dalembert.errors import InputError, SingularityError, unknown
from dalembert.lagrange.convert import converter
from dalembert.lagrange.derive import Derived, Energies
from dalembert.lagrange.symbols import Alphabet

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """n coordinates, k constraints, of which h are holonomic, m inputs."""

    n: int
    k: int
    h: int
    m: int


@dataclass(frozen=True)
class Values:
    """One system's terms as scalars, converted when asked for."""

    energies: Energies
    terms: Derived
    of: Callable[[Any], Any]
    a: Mapping[str, Any]  # the kernel's arguments

    def rows(self, name: str) -> list[list[Any]]:
        return [[self.of(x) for x in row] for row in getattr(self.terms, name)]

    def row(self, name: str) -> list[Any]:
        return [self.of(x) for x in getattr(self.terms, name)]


@dataclass(frozen=True)
class Row:
    """How one kernel is made: arguments, the function that traces it, the shape of its result."""

    arguments: tuple[str, ...]
    trace: Callable[[Values, Mapping[str, Any]], Any]
    shape: Callable[[Sizes], Shape]
    options: Mapping[str, Any] = field(default_factory=dict)
    optional: tuple[str, ...] = ()


def _sum(*vectors: list[Any]) -> list[Any]:
    return [sum(parts[1:], parts[0]) for parts in zip(*vectors, strict=True)]


def _minus(vector: list[Any]) -> list[Any]:
    return [-x for x in vector]


def _coriolis(x: Values) -> list[Any]:
    return apply(x.rows("C"), x.a["qd"])


def _bias(x: Values, o: Mapping[str, Any]) -> list[Any]:
    """h = C q̇ + g [+ ∂R/∂q̇] − ψ₀."""
    friction = x.row("friction") if o.get("friction", False) else [0.0] * len(x.terms.g)
    return _sum(_coriolis(x), x.row("g"), friction, _minus(x.row("forces")))


def _inverse_dynamics(x: Values, o: Mapping[str, Any]) -> list[Any]:
    tau = _sum(apply(x.rows("M"), x.a["qdd"]), _bias(x, o))
    if "multipliers" in x.a:
        tau = _sum(tau, apply(transposed(x.rows("A")), x.a["multipliers"]))
    return tau


def _multipliers(x: Values, o: Mapping[str, Any]) -> list[Any]:
    """λ = (A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ (τ − h) + Ȧ q̇).  Seed 001."""
    M, A = x.rows("M"), x.rows("A")
    free = solve_ldl(M, _sum(x.a["tau"], _minus(_bias(x, o))))
    S = product(A, transposed([solve_ldl(M, row) for row in A]))
    return solve_ldl(S, _sum(apply(A, free), apply(x.rows("A_dot"), x.a["qd"])))


def _constraint_forces(x: Values, o: Mapping[str, Any]) -> list[Any]:
    return apply(transposed(x.rows("A")), _multipliers(x, o))


def _forward_dynamics(x: Values, o: Mapping[str, Any]) -> list[Any]:
    """q̈ = M⁻¹ (τ − h − Aᵀλ)."""
    forces = _sum(x.a["tau"], _minus(_bias(x, o)))
    if x.terms.A:
        forces = _sum(forces, _minus(_constraint_forces(x, o)))
    return solve_ldl(x.rows("M"), forces)


def _mass_matrix_dot(x: Values, o: Mapping[str, Any]) -> list[list[Any]]:
    """Ṁ = C + Cᵀ, because Ṁ − 2C is skew."""
    C = x.rows("C")
    return [_sum(row, column) for row, column in zip(C, transposed(C), strict=True)]


_FRICTION = {"friction": True}
_STATE = ("q", "qd", "tau")

ROWS: dict[str, Row] = {
    "mass_matrix": Row(("q",), lambda x, o: x.rows("M"), lambda s: (s.n, s.n)),
    "mass_matrix_dot": Row(("q", "qd"), _mass_matrix_dot, lambda s: (s.n, s.n)),
    "coriolis_matrix": Row(("q", "qd"), lambda x, o: x.rows("C"), lambda s: (s.n, s.n)),
    "coriolis_torque": Row(("q", "qd"), lambda x, o: _coriolis(x), lambda s: (s.n,)),
    "bias_torque": Row(("q", "qd"), lambda x, o: _sum(_coriolis(x), x.row("g")), lambda s: (s.n,)),
    "friction_torque": Row(("q", "qd"), lambda x, o: x.row("friction"), lambda s: (s.n,)),
    "applied_force": Row(("q", "qd"), lambda x, o: x.row("forces"), lambda s: (s.n,)),
    "christoffel": Row(
        ("q",),
        lambda x, o: [[[x.of(e) for e in row] for row in rows] for rows in x.terms.Gamma],
        lambda s: (s.n, s.n, s.n),
    ),
    "gravity_torque": Row(("q",), lambda x, o: x.row("g"), lambda s: (s.n,)),
    "kinetic_energy": Row(("q", "qd"), lambda x, o: x.of(x.energies.kinetic), lambda s: ()),
    "potential_energy": Row(("q",), lambda x, o: x.of(x.energies.potential), lambda s: ()),
    "dissipation": Row(("q", "qd"), lambda x, o: x.of(x.energies.dissipation), lambda s: ()),
    "input_matrix": Row(("q",), lambda x, o: x.rows("B"), lambda s: (s.n, s.m)),
    "inverse_dynamics": Row(
        ("q", "qd", "qdd"), _inverse_dynamics, lambda s: (s.n,), _FRICTION, optional=("multipliers",)
    ),
    "forward_dynamics": Row(_STATE, _forward_dynamics, lambda s: (s.n,), _FRICTION),
    "multipliers": Row(_STATE, _multipliers, lambda s: (s.k,), _FRICTION),
    "constraint_forces": Row(_STATE, _constraint_forces, lambda s: (s.n,), _FRICTION),
    "constraint_matrix": Row(("q",), lambda x, o: x.rows("A"), lambda s: (s.k, s.n)),
    "constraint_matrix_dot": Row(("q", "qd"), lambda x, o: x.rows("A_dot"), lambda s: (s.k, s.n)),
    "constraint_error": Row(("q",), lambda x, o: [x.of(f) for f in x.energies.holonomic], lambda s: (s.h,)),
}

# Kernels that are the derivative of another, by all its arguments.
DERIVATIVES = {"inverse_dynamics_derivatives": "inverse_dynamics", "forward_dynamics_derivatives": "forward_dynamics"}

# What a kernel needs the system to have.
NEEDS: dict[str, tuple[str, str]] = {
    "input_matrix": ("m", "inputs"),
    "multipliers": ("k", "constraints"),
    "constraint_forces": ("k", "constraints"),
    "constraint_matrix": ("k", "constraints"),
    "constraint_matrix_dot": ("k", "constraints"),
    "constraint_error": ("h", "holonomic constraints"),
}


def row_of(name: str) -> Row:
    names = {**ROWS, **{d: ROWS[base] for d, base in DERIVATIVES.items()}}
    if name not in names:
        raise unknown("kernel", name, names)
    return names[name]


def check_options(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a kernel, completed by their defaults; unknown ones are refused."""
    row = row_of(name)
    for option in options:
        if option not in row.options:
            raise unknown(f"option of {name}", option, row.options)
    return {**row.options, **options}


def make(
    system: str,
    alphabet: Alphabet,
    energies: Energies,
    terms: Derived,
    numbers: Mapping[Any, float],
    name: str,
    given: tuple[str, ...],
    options: Mapping[str, Any],
    free: tuple[Any, ...] = (),
) -> Kernel:
    """The kernel of a row for a system, its parameters' numbers folded in; those that are `free` are an argument."""
    if name in DERIVATIVES:
        base = DERIVATIVES[name]
        kernel = make(system, alphabet, energies, terms, numbers, base, (), options, free)
        return kernel.derivative(*ROWS[base].arguments)
    row = row_of(name)
    sizes = Sizes(len(alphabet.q), len(terms.A), len(energies.holonomic), len(energies.inputs))
    needed, what = NEEDS.get(name, ("n", ""))
    if getattr(sizes, needed) == 0 or ("multipliers" in given and sizes.k == 0):
        raise InputError(f"{system!r} has no {what or 'constraints'}: {name} does not exist for it")
    shapes = {"multipliers": (sizes.k,), "parameters": (len(free),)}
    names = row.arguments + tuple(a for a in row.optional if a in given) + (("parameters",) if free else ())

    def function(*arguments: Any) -> Any:
        a = dict(zip(names, arguments, strict=True))
        values = dict(numbers)
        values |= dict(zip(alphabet.q, a["q"], strict=True))
        values |= dict(zip(alphabet.qd, a.get("qd", ()), strict=False))
        values |= dict(zip(free, a.get("parameters", ()), strict=True))
        return row.trace(Values(energies, terms, converter(values), a), options)

    inputs = [shapes.get(a, (sizes.n,)) for a in names]
    try:
        return compile_function(function, inputs, [row.shape(sizes)], name, arguments=names)
    except ZeroDivisionError:
        raise SingularityError(
            f"{name} of {system!r} divides by zero in every state, with these parameters: is a mass or an inertia zero?"
        ) from None
