"""The table: which derived terms, of which arguments and options, give which array.

A system's terms are a `Mechanics`, so that constraints, projections and impacts are those of `constrained.kernels`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from dalembert import scalar
from dalembert.algorithms import linear, mechanics
from dalembert.algorithms.constraints import Terms
from dalembert.algorithms.linear import apply, transposed
from dalembert.arguments import switch
from dalembert.compile.interpret import replay
from dalembert.constrained.kernels import SHARED
from dalembert.errors import InputError, SingularityError, choose
from dalembert.flow import MULTIPLIER, Flow, Scalars
from dalembert.lagrange.derive import Derived, Energies
from dalembert.lagrange.symbols import Alphabet, Expression
from dalembert.scalar import Scalar
from dalembert.system import Arguments, KernelTable, Options, Row, Shape

if TYPE_CHECKING:
    from dalembert.lagrange.system import LagrangianSystem

STABILIZERS = ("projection", "baumgarte")
ENERGIES = ("kinetic_energy", "potential_energy")
# What a kernel may need its system to have, as `LagrangianTerms` counts it.
COUNTED = {"m": "inputs", "k": "constraints"}
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
    if stabilize is not None:
        choose("stabilize", stabilize, STABILIZERS, "stabilize")
    stabilize = stabilize if system.rows else None
    n, m, rough = system.n, len(system.inputs), switch("friction", friction)
    constraints = system.multiplier_symbols if books else ()
    decay = {"alpha": alpha, "beta": beta} if stabilize == "baumgarte" else {}
    options: dict[str, dict[str, Any]] = {
        "forward_dynamics": {"friction": rough, **decay},
        "multipliers": {"friction": rough},
    }

    def program(name: str) -> tuple[tuple[str, ...], Any]:
        kernel = system.kernel(name, parameters=parameters, **options.get(name, {}))
        return kernel.arguments, kernel.program

    stored = ENERGIES if switch("energies", energies) or switch("books", books) else ()
    names = [
        "forward_dynamics",
        *(["input_matrix"] if system.input_symbols else []),
        *stored,
        *(["applied_force", "friction_torque"] if books else []),
        *(["multipliers"] if constraints else []),
        *(["projected"] if stabilize == "projection" else []),
    ]
    programs = {name: program(name) for name in names}

    def values(name: str, x: Scalars, u: Scalars, tau: Scalars = ()) -> list[list[Scalar]]:
        arguments, made = programs[name]
        at = {"q": x[:n], "qd": x[n:], "tau": tau, "parameters": u[m:]}
        return replay(made, [at[argument] for argument in arguments])

    def value(name: str, x: Scalars, u: Scalars, tau: Scalars = ()) -> list[Scalar]:
        return values(name, x, u, tau)[0]

    def force(x: Scalars, u: Scalars) -> Scalars:
        if not system.input_symbols:
            return u[:m]
        flat = value("input_matrix", x, u)
        return [linear.inner(flat[i * m : (i + 1) * m], u[:m]) for i in range(n)]

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return [*x[n:], *value("forward_dynamics", x, u, force(x, u))]

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        q, qd = values("projected", x, u)
        return [*q, *qd]

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
        check=(lambda x: system.require(x[..., :n], x[..., n:])) if system.rows and not parameters else None,
        drives=m,
    )


@dataclass(frozen=True)
class LagrangianTerms:
    """One system's terms, ready to be traced: a `Mechanics`. `numbers` are its parameters' values."""

    name: str
    alphabet: Alphabet
    energies: Energies
    derived: Derived
    numbers: Mapping[Any, Any]
    augmentation: float = 0.0

    @property
    def nq(self) -> int:
        return len(self.alphabet.q)

    @property
    def nv(self) -> int:
        return len(self.alphabet.q)

    @property
    def k(self) -> int:
        return len(self.derived.A)

    @property
    def m(self) -> int:
        return len(self.energies.inputs)

    @property
    def sizes(self) -> tuple[float, ...]:
        return (1.0,) * self.k

    def at(self, term: Any, q: Scalars, qd: Scalars = ()) -> Any:
        """Return an expression, or nested rows of them, as scalars."""
        values = {symbol: x for symbol, x in self.numbers.items() if x is not None}
        values |= dict(zip(self.alphabet.q, q, strict=True)) | dict(zip(self.alphabet.qd, qd, strict=False))
        of = converter(values)

        def each(x: Any) -> Any:
            return [each(part) for part in x] if isinstance(x, tuple) else of(x)

        return each(term)

    def mass(self, q: Scalars) -> list[list[Scalar]]:
        rows: list[list[Scalar]] = self.at(self.derived.M, q)
        return rows

    def coriolis(self, a: Arguments) -> list[Scalar]:
        return apply(self.at(self.derived.C, a["q"], a["qd"]), a["qd"])

    def bias(self, a: Arguments, o: Options) -> list[Scalar]:
        """Return h = C q̇ + g [+ ∂R/∂q̇] − ψ₀."""
        d, q, qd = self.derived, a["q"], a["qd"]
        friction = self.at(d.friction, q, qd) if o.get("friction", False) else [0.0] * self.nv
        return _sum(self.coriolis(a), self.at(d.g, q), friction, [-x for x in self.at(d.forces, q, qd)])

    def terms(self, q: Scalars, qd: Scalars) -> Terms:
        phi = self.at(self.energies.holonomic, q)
        drift = apply(self.at(self.derived.A_dot, q, qd), qd)
        return Terms([*phi, *[0.0] * (self.k - len(phi))], self.at(self.derived.A, q), drift)

    def moved(self, q: Scalars, d: Scalars) -> list[Scalar]:
        return [a + b for a, b in zip(q, d, strict=True)]

    def upright(self, q: Scalars) -> list[Scalar]:
        return []


def _row(
    arguments: tuple[str, ...],
    trace: Callable[[LagrangianTerms, Arguments, Options], Any],
    shapes: Callable[[LagrangianTerms, Options], tuple[Shape, ...]],
    *,
    options: Options | None = None,
    optional: tuple[str, ...] = (),
    needs: str = "",
) -> Row[LagrangianTerms]:
    """Return a row whose option `parameters` names symbols whose numbers are the kernel's last argument.

    `needs` is what the system must have, as `LagrangianTerms` counts it."""

    def run(s: LagrangianTerms, a: Arguments, o: Options) -> object:
        given = dict(zip(o["parameters"], a.get("parameters", ()), strict=True))
        return trace(replace(s, numbers={**s.numbers, **given}), a, o)

    def prepare(s: LagrangianTerms, names: tuple[str, ...], o: Options) -> LagrangianTerms:
        for count in (needs, "k" if "multipliers" in names else ""):
            if count and getattr(s, count) == 0:
                what = COUNTED[count]
                raise InputError(
                    "missing",
                    what,
                    problem=f"{s.name!r} has no {what}",
                    remedy=f"Pass {what}= when you make the system.",
                )
        missing = [symbol.name for symbol, x in s.numbers.items() if x is None and symbol not in o["parameters"]]
        if missing:
            have, are = ("has", "it is not a coordinate") if len(missing) == 1 else ("have", "they are not coordinates")
            raise InputError(
                "missing",
                missing[0],
                problem=f"{', '.join(missing)} of {s.name!r} {have} no number; {are} ({', '.join(s.alphabet.names)})",
                expected="a number",
                remedy=f"system.with_parameters({missing[0]}=…) gives it one.",
            )
        return s

    return Row(arguments, run, shapes, {"parameters": (), **(options or {})}, optional, prepare)


def _sum(*vectors: list[Any]) -> list[Any]:
    return [sum(parts[1:], parts[0]) for parts in zip(*vectors, strict=True)]


def _inverse_dynamics(s: LagrangianTerms, a: Arguments, o: Options) -> list[Any]:
    tau = _sum(apply(s.mass(a["q"]), a["qdd"]), s.bias(a, o))
    if "multipliers" in a:
        tau = _sum(tau, apply(transposed(s.at(s.derived.A, a["q"])), a["multipliers"]))
    return tau


def _multipliers(s: LagrangianTerms, a: Arguments, o: Options) -> list[Any]:
    return mechanics.accelerations(s, a, o)[0].force


def _constraint_forces(s: LagrangianTerms, a: Arguments, o: Options) -> list[Any]:
    return apply(transposed(s.at(s.derived.A, a["q"])), _multipliers(s, a, o))


def _forward_dynamics(s: LagrangianTerms, a: Arguments, o: Options) -> list[Any]:
    return mechanics.accelerations(s, a, o)[0].qdd


def _mass_matrix_dot(s: LagrangianTerms, a: Arguments, o: Options) -> list[list[Any]]:
    """Ṁ = C + Cᵀ, because Ṁ − 2C is skew."""
    C = s.at(s.derived.C, a["q"], a["qd"])
    return [_sum(row, column) for row, column in zip(C, transposed(C), strict=True)]


def _vector(s: LagrangianTerms, o: Options) -> tuple[Shape, ...]:
    return ((s.nv,),)


def _square(s: LagrangianTerms, o: Options) -> tuple[Shape, ...]:
    return ((s.nv, s.nv),)


def _of_rows(s: LagrangianTerms, o: Options) -> tuple[Shape, ...]:
    return ((s.k,),)


def _number(s: LagrangianTerms, o: Options) -> tuple[Shape, ...]:
    return ((),)


_ROUGH: Options = {"friction": True}
ROWS: dict[str, Row[LagrangianTerms]] = {
    **{name: _row(row.arguments, row.trace, row.shapes, needs="k") for name, row in SHARED.items()},
    "jacobian_dot": _row(
        ("q", "qd"), lambda s, a, o: s.at(s.derived.A_dot, a["q"], a["qd"]), lambda s, o: ((s.k, s.nv),), needs="k"
    ),
    "mass_matrix": _row(("q",), lambda s, a, o: s.mass(a["q"]), _square),
    "mass_matrix_dot": _row(("q", "qd"), _mass_matrix_dot, _square),
    "coriolis_matrix": _row(("q", "qd"), lambda s, a, o: s.at(s.derived.C, a["q"], a["qd"]), _square),
    "coriolis_torque": _row(("q", "qd"), lambda s, a, o: s.coriolis(a), _vector),
    "bias_torque": _row(("q", "qd"), lambda s, a, o: _sum(s.coriolis(a), s.at(s.derived.g, a["q"])), _vector),
    "friction_torque": _row(("q", "qd"), lambda s, a, o: s.at(s.derived.friction, a["q"], a["qd"]), _vector),
    "applied_force": _row(("q", "qd"), lambda s, a, o: s.at(s.derived.forces, a["q"], a["qd"]), _vector),
    "christoffel": _row(("q",), lambda s, a, o: s.at(s.derived.Gamma, a["q"]), lambda s, o: ((s.nv,) * 3,)),
    "gravity_torque": _row(("q",), lambda s, a, o: s.at(s.derived.g, a["q"]), _vector),
    "kinetic_energy": _row(("q", "qd"), lambda s, a, o: s.at(s.energies.kinetic, a["q"], a["qd"]), _number),
    "potential_energy": _row(("q",), lambda s, a, o: s.at(s.energies.potential, a["q"]), _number),
    "dissipation": _row(("q", "qd"), lambda s, a, o: s.at(s.energies.dissipation, a["q"], a["qd"]), _number),
    "input_matrix": _row(("q",), lambda s, a, o: s.at(s.derived.B, a["q"]), lambda s, o: ((s.nv, s.m),), needs="m"),
    "inverse_dynamics": _row(("q", "qd", "qdd"), _inverse_dynamics, _vector, options=_ROUGH, optional=("multipliers",)),
    "forward_dynamics": _row(_STATE, _forward_dynamics, _vector, options={**_ROUGH, "alpha": 0.0, "beta": 0.0}),
    "multipliers": _row(_STATE, _multipliers, _of_rows, options=_ROUGH, needs="k"),
    "constraint_forces": _row(_STATE, _constraint_forces, _vector, options=_ROUGH, needs="k"),
}
for _base in ("inverse_dynamics", "forward_dynamics"):
    ROWS[f"{_base}_derivatives"] = replace(ROWS[_base], optional=(), derivative=ROWS[_base].arguments)


def _sizes(s: LagrangianTerms, o: Options) -> dict[str, Shape]:
    vectors = dict.fromkeys(("q", "qd", "qdd", "tau"), (s.nv,))
    return {**vectors, "multipliers": (s.k,), "parameters": (len(o["parameters"]),)}


def _read(row: Row[LagrangianTerms], option: str, value: object) -> object:
    return switch(option, value) if option == "friction" else value


def _singular(s: LagrangianTerms, name: str) -> SingularityError:
    return SingularityError(
        "singular",
        "parameters",
        dict(s.numbers),
        problem=f"{name} of {s.name!r} divides by zero in every state, with these parameters",
        expected="masses and inertias greater than 0",
        remedy="Give every coordinate an inertia.",
    )


TABLE: KernelTable[LagrangianTerms] = KernelTable(
    ROWS, _sizes, _singular, _read, lambda o: {"parameters": "parameters"} if o.get("parameters") else {}
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
        raise _not_computable(e, f"the compiler has whole and half powers only, not the exponent {exponent}")
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
        problem = f"the symbol {e} has no value: it is neither a coordinate nor a parameter with a number"
        raise InputError("missing", str(e), problem=problem)
    if e.is_number:
        return _real(e)
    head = type(e).__name__
    if head not in HEADS:
        function = "derivative of an unknown function" if head in ("Derivative", "Subs") else str(e.func)
        raise _not_computable(e, f"the compiler has no {function}; it has {', '.join(sorted(HEADS))}")
    return HEADS[head](e, of)


def _not_computable(e: Expression, why: str) -> InputError:
    return InputError("unsupported", "expression", str(e), problem=f"{e} cannot be computed: {why}")


def _real(e: Expression) -> float:
    try:
        x = float(e)
    except TypeError:
        x = math.nan
    if not math.isfinite(x):
        raise InputError("not-finite", "expression", str(e), expected="a finite real number")
    return x
