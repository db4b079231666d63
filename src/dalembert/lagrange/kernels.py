"""The table: which derived terms, of which arguments and options, give which array."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalembert.algorithms.linear import apply, product, solve_ldl, transposed
from dalembert.arguments import switch
from dalembert.errors import InputError, SingularityError
from dalembert.lagrange.convert import converter
from dalembert.lagrange.derive import Derived, Energies
from dalembert.lagrange.symbols import Alphabet
from dalembert.system import Arguments, KernelTable, Options, Row, Shape

# What a kernel may need its system to have, as `Bound` counts it.
COUNTED = {"m": "inputs", "k": "constraints", "h": "holonomic constraints"}


@dataclass(frozen=True)
class Bound:
    """One system's terms, ready to be traced; `numbers` are its parameters' values."""

    name: str
    alphabet: Alphabet
    energies: Energies
    terms: Derived
    numbers: Mapping[Any, float | None]

    @property
    def n(self) -> int:
        return len(self.alphabet.q)

    @property
    def k(self) -> int:
        return len(self.terms.A)

    @property
    def h(self) -> int:
        return len(self.energies.holonomic)

    @property
    def m(self) -> int:
        return len(self.energies.inputs)


@dataclass(frozen=True)
class Values:
    """One system's terms as scalars, converted when asked for."""

    energies: Energies
    terms: Derived
    of: Callable[[Any], Any]
    a: Arguments

    def rows(self, name: str) -> list[list[Any]]:
        return [self.each(row) for row in getattr(self.terms, name)]

    def row(self, name: str) -> list[Any]:
        return self.each(getattr(self.terms, name))

    def each(self, terms: Sequence[Any]) -> list[Any]:
        return [self.of(x) for x in terms]


def _row(
    name: str,
    arguments: tuple[str, ...],
    trace: Callable[[Values, Options], Any],
    shape: Callable[[Bound], Shape],
    *,
    friction: bool = False,
    optional: tuple[str, ...] = (),
    needs: str = "",
) -> tuple[str, Row[Bound]]:
    """A row whose function takes the system's terms as scalars. `parameters` named in its options are symbols whose
    numbers are the kernel's last argument. `needs`: what the system must have, as `Bound` counts it."""

    def run(s: Bound, a: Arguments, o: Options) -> object:
        values = {symbol: x for symbol, x in s.numbers.items() if x is not None}
        values |= dict(zip(s.alphabet.q, a["q"], strict=True))
        values |= dict(zip(s.alphabet.qd, a.get("qd", ()), strict=False))
        values |= dict(zip(o["parameters"], a.get("parameters", ()), strict=True))
        return trace(Values(s.energies, s.terms, converter(values), a), o)

    def prepare(s: Bound, names: tuple[str, ...], o: Options) -> Bound:
        for count in (needs, "k" if "multipliers" in names else ""):
            if count and getattr(s, count) == 0:
                raise InputError(f"{s.name!r} has no {COUNTED[count]}: {name} does not exist for it")
        missing = [symbol.name for symbol, x in s.numbers.items() if x is None and symbol not in o["parameters"]]
        if missing:
            have, it_is = ("has", "it is") if len(missing) == 1 else ("have", "they are")
            raise InputError(
                f"numbers are wanted of {s.name!r}, but {', '.join(missing)} {have} none: {it_is} no coordinate "
                f"({', '.join(s.alphabet.names)}), so give a value by system.with_parameters({missing[0]}=…)"
            )
        return s

    options = {"parameters": (), **({"friction": True} if friction else {})}
    return name, Row(arguments, run, lambda s, o: (shape(s),), options, optional, prepare)


def _sum(*vectors: list[Any]) -> list[Any]:
    return [sum(parts[1:], parts[0]) for parts in zip(*vectors, strict=True)]


def _minus(vector: list[Any]) -> list[Any]:
    return [-x for x in vector]


def _coriolis(x: Values) -> list[Any]:
    return apply(x.rows("C"), x.a["qd"])


def _bias(x: Values, o: Options) -> list[Any]:
    """h = C q̇ + g [+ ∂R/∂q̇] − ψ₀."""
    friction = x.row("friction") if o.get("friction", False) else [0.0] * len(x.terms.g)
    return _sum(_coriolis(x), x.row("g"), friction, _minus(x.row("forces")))


def _inverse_dynamics(x: Values, o: Options) -> list[Any]:
    tau = _sum(apply(x.rows("M"), x.a["qdd"]), _bias(x, o))
    if "multipliers" in x.a:
        tau = _sum(tau, apply(transposed(x.rows("A")), x.a["multipliers"]))
    return tau


def _multipliers(x: Values, o: Options) -> list[Any]:
    """λ = (A M⁻¹ Aᵀ)⁻¹ (A M⁻¹ (τ − h) + Ȧ q̇)."""
    M, A = x.rows("M"), x.rows("A")
    free = solve_ldl(M, _sum(x.a["tau"], _minus(_bias(x, o))))
    S = product(A, transposed([solve_ldl(M, row) for row in A]))
    return solve_ldl(S, _sum(apply(A, free), apply(x.rows("A_dot"), x.a["qd"])))


def _constraint_forces(x: Values, o: Options) -> list[Any]:
    return apply(transposed(x.rows("A")), _multipliers(x, o))


def _forward_dynamics(x: Values, o: Options) -> list[Any]:
    """q̈ = M⁻¹ (τ − h − Aᵀλ)."""
    forces = _sum(x.a["tau"], _minus(_bias(x, o)))
    if x.terms.A:
        forces = _sum(forces, _minus(_constraint_forces(x, o)))
    return solve_ldl(x.rows("M"), forces)


def _mass_matrix_dot(x: Values, o: Options) -> list[list[Any]]:
    """Ṁ = C + Cᵀ, because Ṁ − 2C is skew."""
    C = x.rows("C")
    return [_sum(row, column) for row, column in zip(C, transposed(C), strict=True)]


_STATE = ("q", "qd", "tau")

ROWS: dict[str, Row[Bound]] = dict(
    (
        _row("mass_matrix", ("q",), lambda x, o: x.rows("M"), lambda s: (s.n, s.n)),
        _row("mass_matrix_dot", ("q", "qd"), _mass_matrix_dot, lambda s: (s.n, s.n)),
        _row("coriolis_matrix", ("q", "qd"), lambda x, o: x.rows("C"), lambda s: (s.n, s.n)),
        _row("coriolis_torque", ("q", "qd"), lambda x, o: _coriolis(x), lambda s: (s.n,)),
        _row("bias_torque", ("q", "qd"), lambda x, o: _sum(_coriolis(x), x.row("g")), lambda s: (s.n,)),
        _row("friction_torque", ("q", "qd"), lambda x, o: x.row("friction"), lambda s: (s.n,)),
        _row("applied_force", ("q", "qd"), lambda x, o: x.row("forces"), lambda s: (s.n,)),
        _row(
            "christoffel",
            ("q",),
            lambda x, o: [[x.each(row) for row in rows] for rows in x.terms.Gamma],
            lambda s: (s.n, s.n, s.n),
        ),
        _row("gravity_torque", ("q",), lambda x, o: x.row("g"), lambda s: (s.n,)),
        _row("kinetic_energy", ("q", "qd"), lambda x, o: x.of(x.energies.kinetic), lambda s: ()),
        _row("potential_energy", ("q",), lambda x, o: x.of(x.energies.potential), lambda s: ()),
        _row("dissipation", ("q", "qd"), lambda x, o: x.of(x.energies.dissipation), lambda s: ()),
        _row("input_matrix", ("q",), lambda x, o: x.rows("B"), lambda s: (s.n, s.m), needs="m"),
        _row(
            "inverse_dynamics",
            ("q", "qd", "qdd"),
            _inverse_dynamics,
            lambda s: (s.n,),
            friction=True,
            optional=("multipliers",),
        ),
        _row("forward_dynamics", _STATE, _forward_dynamics, lambda s: (s.n,), friction=True),
        _row("multipliers", _STATE, _multipliers, lambda s: (s.k,), friction=True, needs="k"),
        _row("constraint_forces", _STATE, _constraint_forces, lambda s: (s.n,), friction=True, needs="k"),
        _row("constraint_matrix", ("q",), lambda x, o: x.rows("A"), lambda s: (s.k, s.n), needs="k"),
        _row("constraint_matrix_dot", ("q", "qd"), lambda x, o: x.rows("A_dot"), lambda s: (s.k, s.n), needs="k"),
        _row("constraint_error", ("q",), lambda x, o: x.each(x.energies.holonomic), lambda s: (s.h,), needs="h"),
    )
)
for _base in ("inverse_dynamics", "forward_dynamics"):
    ROWS[f"{_base}_derivatives"] = replace(ROWS[_base], optional=(), derivative=True)


def _sizes(s: Bound, o: Options) -> dict[str, Shape]:
    vectors = dict.fromkeys(("q", "qd", "qdd", "tau"), (s.n,))
    return {**vectors, "multipliers": (s.k,), "parameters": (len(o["parameters"]),)}


def _read(row: Row[Bound], option: str, value: Any) -> object:
    return switch(option, value) if option == "friction" else value


def _singular(s: Bound, name: str) -> SingularityError:
    return SingularityError(
        f"{name} of {s.name!r} divides by zero in every state, with these parameters: is a mass or an inertia zero?"
    )


TABLE: KernelTable[Bound] = KernelTable(
    ROWS, _sizes, _read, _singular, lambda o: {"parameters": "parameters"} if o["parameters"] else {}
)
