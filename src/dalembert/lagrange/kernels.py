"""The table: which derived terms, of which arguments and options, give which array.

How a Lagrangian system moves: the flow that `simulate` integrates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import scalar
from dalembert.algorithms import linear
from dalembert.algorithms.linear import apply, product, solve_ldl, transposed
from dalembert.arguments import switch
from dalembert.compile.interpret import replay
from dalembert.errors import InputError, SingularityError, unknown
from dalembert.flow import MULTIPLIER, Array, Flow, Scalars
from dalembert.lagrange.derive import Derived, Energies
from dalembert.lagrange.symbols import Alphabet, Expression
from dalembert.scalar import Scalar
from dalembert.system import Arguments, KernelTable, Options, Row, Shape

if TYPE_CHECKING:
    from dalembert.lagrange.system import LagrangianSystem

STABILIZERS = ("projection", "baumgarte")
ENERGIES = ("kinetic_energy", "potential_energy")
TOLERANCE = 1e-6  # how far a state may be off the constraints, as `constrained.system` has it
# What a kernel may need its system to have, as `TracedTerms` counts it.
COUNTED = {"m": "inputs", "k": "constraints", "h": "holonomic constraints"}
_STATE = ("q", "qd", "tau")
# One row per SymPy head. With trace nodes this makes kernels; with floats it evaluates. Equal subexpressions are
# converted once, and the graph shares whatever is equal after that.
Convert = Callable[[Any], Scalar]


def lagrangian_flow(
    system: LagrangianSystem,
    friction: bool,
    energies: bool,
    books: bool,
    parameters: Sequence[Any],
    stabilize: str | None,
    alpha: float,
    beta: float,
) -> Flow:
    """See `LagrangianSystem.flow`."""
    if stabilize is not None and stabilize not in STABILIZERS:
        raise unknown("stabilize", stabilize, STABILIZERS)
    stabilize = stabilize if system.multiplier_symbols else None
    n, m, rough = system.n, len(system.inputs), switch("friction", friction)
    constraints = system.multiplier_symbols if books else ()

    def program(name: str) -> tuple[tuple[str, ...], Any]:
        options: dict[str, Any] = {"friction": rough} if name in ("forward_dynamics", "multipliers") else {}
        kernel = system.kernel(name, parameters=parameters, **options)
        return kernel.arguments, kernel.program

    names = ["forward_dynamics", *(["input_matrix"] if system.input_symbols else [])]
    stored = ENERGIES if switch("energies", energies) or switch("books", books) else ()
    names += [
        *stored,
        *(["applied_force", "friction_torque"] if books else []),
        *(["multipliers"] if constraints else []),
        *(["corrections"] if stabilize else []),
    ]
    programs = {name: program(name) for name in names}

    def value(name: str, x: Scalars, u: Scalars, tau: Scalars = ()) -> list[Scalar]:
        arguments, made = programs[name]
        at = {"q": x[:n], "qd": x[n:], "tau": tau, "parameters": u[m:]}
        (found,) = replay(made, [at[argument] for argument in arguments])
        return found

    def force(x: Scalars, u: Scalars) -> Scalars:
        if not system.input_symbols:
            return u[:m]
        flat = value("input_matrix", x, u)
        return [linear.inner(flat[i * m : (i + 1) * m], u[:m]) for i in range(n)]

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        qdd = value("forward_dynamics", x, u, force(x, u))
        if stabilize == "baumgarte":
            off = value("corrections", x, u)
            qdd = [a + beta**2 * b + 2.0 * alpha * c for a, b, c in zip(qdd, off[:n], off[n:], strict=True)]
        return [*x[n:], *qdd]

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        return [a + b for a, b in zip(x, value("corrections", x, u), strict=True)]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        seen = [value(name, x, u)[0] for name in stored]
        if not books:
            return seen
        tau, qd = force(x, u), x[n:]
        psi, rubbing = (value(name, x, u) for name in ("applied_force", "friction_torque"))
        supplied = linear.inner([a + b for a, b in zip(tau, psi, strict=True)], qd)
        forces = value("multipliers", x, u, tau) if constraints else []
        return [*seen, *forces, supplied, *([linear.inner(rubbing, qd)] if rough else [])]

    added = (*(f"{MULTIPLIER}{s}" for s in constraints), "supply_power", *(("friction_loss",) if rough else ()))
    return Flow(
        system.name,
        system.states,
        (*system.inputs, *(str(s) for s in parameters)),
        rate,
        positions=n,
        settle=settle if stabilize == "projection" else None,
        outputs=(*stored, *(added if books else ())),
        observe=observe if stored else None,
        check=(lambda x: _check(system, x)) if system.multiplier_symbols and not parameters else None,
        drives=m,
    )


def _check(system: LagrangianSystem, x: Array) -> None:
    """Refuse states that are off the system's constraints."""
    q, qd = np.split(x.reshape(-1, 2 * system.n), 2, axis=1)
    rates = np.einsum("bij,bj->bi", np.asarray(system.constraint_matrix(q)), qd)
    off = [("qd0", rates, "rate of constraint")]
    if system.holonomic:
        off.insert(0, ("q0", np.asarray(system.constraint_error(q)), "constraint"))
    for what, error, of in off:
        if error.size and np.abs(error).max() > TOLERANCE:
            row, k = np.unravel_index(int(np.argmax(np.abs(error))), error.shape)
            raise InputError(
                f"{what} does not obey the constraints of {system.name!r}: {of} {k + 1} is {error[row, k]:.3g}"
            )


@dataclass(frozen=True)
class TracedTerms:
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
    shape: Callable[[TracedTerms], Shape],
    *,
    friction: bool = False,
    optional: tuple[str, ...] = (),
    needs: str = "",
) -> tuple[str, Row[TracedTerms]]:
    """A row whose function takes the system's terms as scalars. `parameters` named in its options are symbols whose
    numbers are the kernel's last argument. `needs`: what the system must have, as `TracedTerms` counts it."""

    def run(s: TracedTerms, a: Arguments, o: Options) -> object:
        values = {symbol: x for symbol, x in s.numbers.items() if x is not None}
        values |= dict(zip(s.alphabet.q, a["q"], strict=True))
        values |= dict(zip(s.alphabet.qd, a.get("qd", ()), strict=False))
        values |= dict(zip(o["parameters"], a.get("parameters", ()), strict=True))
        return trace(Values(s.energies, s.terms, converter(values), a), o)

    def prepare(s: TracedTerms, names: tuple[str, ...], o: Options) -> TracedTerms:
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


def _corrections(x: Values, o: Options) -> list[list[Any]]:
    """(δq, δq̇) = −M⁻¹AᵀΛ⁻¹ (φ, A q̇), Λ = A M⁻¹ Aᵀ: a Newton step onto the constraints, and the rates that violate
    them taken out, both the shortest in the metric of M."""
    M, A = x.rows("M"), x.rows("A")
    columns = [solve_ldl(M, row) for row in A]
    S, phi = product(A, transposed(columns)), x.each(x.energies.holonomic)
    off = [*phi, *([0.0] * (len(A) - len(phi)))], apply(A, x.a["qd"])
    return [_minus(apply(transposed(columns), solve_ldl(S, wrong))) for wrong in off]


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


ROWS: dict[str, Row[TracedTerms]] = dict(
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
        _row("corrections", ("q", "qd"), _corrections, lambda s: (2, s.n), needs="k"),
        _row("constraint_error", ("q",), lambda x, o: x.each(x.energies.holonomic), lambda s: (s.h,), needs="h"),
    )
)
for _base in ("inverse_dynamics", "forward_dynamics"):
    ROWS[f"{_base}_derivatives"] = replace(ROWS[_base], optional=(), derivative=ROWS[_base].arguments)


def _sizes(s: TracedTerms, o: Options) -> dict[str, Shape]:
    vectors = dict.fromkeys(("q", "qd", "qdd", "tau"), (s.n,))
    return {**vectors, "multipliers": (s.k,), "parameters": (len(o["parameters"]),)}


def _read(row: Row[TracedTerms], option: str, value: object) -> object:
    return switch(option, value) if option == "friction" else value


def _singular(s: TracedTerms, name: str) -> SingularityError:
    return SingularityError(
        f"{name} of {s.name!r} divides by zero in every state, with these parameters: is a mass or an inertia zero?"
    )


TABLE: KernelTable[TracedTerms] = KernelTable(
    ROWS, _sizes, _singular, _read, lambda o: {"parameters": "parameters"} if o["parameters"] else {}
)


# ------------------------------------------------------------------------------- SymPy expressions over any scalar


def _quotient(e: Expression, of: Convert) -> Scalar:
    """Negative powers are divided by, once, not multiplied as reciprocals."""
    above: Scalar = 1.0
    below: Scalar = 1.0
    for x in e.args:
        if x.is_Pow and x.exp.is_Rational and x.exp < 0:
            below = below * of(x.base ** (-x.exp))
        else:
            above = above * of(x)
    return above if isinstance(below, float) and below == 1.0 else above / below


def _power(e: Expression, of: Convert) -> Scalar:
    """Whole powers by squaring, halves of odd numbers through the square root."""
    exponent = e.exp
    if exponent.is_Float and float(2 * exponent).is_integer():  # x**2.0 is x²
        exponent = (2 * exponent).round() / 2
    if not exponent.is_Rational or exponent.q > 2:
        raise InputError(
            f"{e} cannot be computed: the compiler has whole and half powers only, not the exponent {exponent}"
        )
    base = of(e.base) if exponent.q == 1 else scalar.sqrt(of(e.base))
    power = _whole_power(base, abs(int(exponent.p)))
    return power if exponent > 0 else 1.0 / power


def _whole_power(base: Scalar, k: int) -> Scalar:
    if k == 1:
        return base
    half = _whole_power(base, k // 2)
    return half * half * base if k % 2 else half * half


def _piecewise(e: Expression, of: Convert) -> Scalar:
    """Its first branch whose condition holds; NaN where none does."""
    result: Scalar = math.nan
    for value, condition in reversed(e.args):
        result = of(value) if condition == True else scalar.where(of(condition), of(value), result)  # noqa: E712
    return result


def _step(e: Expression, of: Convert) -> Scalar:
    x = of(e.args[0])
    return scalar.where(x > 0.0, 1.0, scalar.where(x < 0.0, 0.0, of(e.args[1])))


# What each head means. The names are those of SymPy's classes.
HEADS: dict[str, Callable[[Expression, Convert], Scalar]] = {
    "Add": lambda e, of: reduce(lambda a, b: a + b, map(of, e.args)),
    "Mul": _quotient,
    "Pow": _power,
    "sin": lambda e, of: scalar.sin(of(e.args[0])),
    "cos": lambda e, of: scalar.cos(of(e.args[0])),
    "tan": lambda e, of: scalar.sin(of(e.args[0])) / scalar.cos(of(e.args[0])),
    "cot": lambda e, of: scalar.cos(of(e.args[0])) / scalar.sin(of(e.args[0])),
    "sec": lambda e, of: 1.0 / scalar.cos(of(e.args[0])),
    "csc": lambda e, of: 1.0 / scalar.sin(of(e.args[0])),
    "Abs": lambda e, of: scalar.absolute(of(e.args[0])),
    "sign": lambda e, of: scalar.sign(of(e.args[0])),
    "Min": lambda e, of: reduce(scalar.minimum, map(of, e.args)),
    "Max": lambda e, of: reduce(scalar.maximum, map(of, e.args)),
    "Heaviside": _step,
    "Piecewise": _piecewise,
    "StrictLessThan": lambda e, of: of(e.lhs) < of(e.rhs),
    "LessThan": lambda e, of: of(e.lhs) <= of(e.rhs),
    "StrictGreaterThan": lambda e, of: of(e.lhs) > of(e.rhs),
    "GreaterThan": lambda e, of: of(e.lhs) >= of(e.rhs),
}


def converter(values: Mapping[Any, Scalar]) -> Convert:
    """The function that turns expressions into scalars, symbols being replaced by `values`."""
    memo: dict[Any, Scalar] = dict(values)

    def of(e: Expression) -> Scalar:
        known = memo.get(e)
        if known is None:
            known = memo[e] = _converted(e, of)
        return known

    return of


def _converted(e: Expression, of: Convert) -> Scalar:
    if e.is_Symbol:
        raise InputError(f"the symbol {e} has no value: it is neither a coordinate nor a parameter with a number")
    if e.is_number:
        return _real(e)
    head = type(e).__name__
    if head not in HEADS:
        function = "derivative of an unknown function" if head in ("Derivative", "Subs") else str(e.func)
        raise InputError(f"{e} cannot be computed: the compiler has no {function}; it knows {', '.join(sorted(HEADS))}")
    return HEADS[head](e, of)


def _real(e: Expression) -> float:
    try:
        x = float(e)
    except TypeError:
        x = math.nan
    if not math.isfinite(x):
        raise InputError(f"{e} is not a finite real number")
    return x
