"""`LagrangianSystem`: any mechanism from its energies, with the face of a `Robot` where the two overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number, plain_array
from dalembert.caching import cached_property
from dalembert.compile import Kernel
from dalembert.constrained.mechanism import ConstrainedSystem
from dalembert.errors import InputError, choose
from dalembert.flow import Flow
from dalembert.lagrange import kernels
from dalembert.lagrange.bodies import Particle, Placed, RigidBody, as_bodies, energies, placed
from dalembert.lagrange.check import check
from dalembert.lagrange.derive import Derived, Energies, Row, Rows, derive, energies_of, null_space
from dalembert.lagrange.symbols import Alphabet, Expression, as_list, coordinates as make_coordinates, sp
from dalembert.lagrange.writing import Writing
from dalembert.symbolic.compare import Comparison, Quantity
from dalembert.system import Kernels, Limits, Linearization, read_state, second_order

if TYPE_CHECKING:
    from sympy import Matrix, NDimArray, Symbol

    from dalembert.symbolic.document import Derivation


class FirstOrderForm(NamedTuple):
    """ẋ = f(x, u): f and x = (q, q̇) are columns of 2n, u a column of the inputs (or of τ where none are named)."""

    f: Matrix
    x: Matrix
    u: Matrix

    def jacobians(self) -> tuple[Matrix, Matrix]:
        """(∂f/∂x, ∂f/∂u) as SymPy matrices: the linearization about any state."""
        return _jacobian(self.f, self.x), _jacobian(self.f, self.u)


def _jacobian(f: Matrix, by: Matrix) -> Matrix:
    """∂f/∂by, also by functions of time and their derivatives, which SymPy would take as dependent."""
    plain = {s: sp.Dummy(str(s)) for s in by}
    back = {dummy: s for s, dummy in plain.items()}
    return f.xreplace(plain).jacobian(list(plain.values())).xreplace(back)


class LagrangianSystem(ConstrainedSystem):
    """A mechanism from its kinetic and potential energy: τ = M q̈ + C q̇ + g + ∂R/∂q̇ − ψ + Aᵀλ.

    `coordinates`: symbols made by `coordinates("q1 q2")`, any SymPy symbols, `dynamicsymbols`, or the names alone. The
    velocity of `q1` is the symbol `q1d` (`rate(q1)`), or `Derivative(q1, t)` for functions of time.

    kinetic:      K(q, q̇), at most quadratic in the velocities [J]
    potential:    P(q) [J]
    parameters:   symbol (or its name) → number; those without one stay symbols, until `with_parameters`
    constraints:  holonomic ones, expressions φ(q) that stay zero, or equations
    pfaffian:     rows a(q) with a q̇ = 0, or expressions linear in the velocities
    forces:       ψ: n generalized forces, or (force, point) pairs, which work along ∂r/∂q; part of every equation
    dissipation:  Rayleigh's function R(q, q̇), whose ∂R/∂q̇ resists the motion
    inputs:       symbols in `forces` that are inputs u; ψ is linear in them, and B = ∂ψ/∂u

    Never changed: `with_parameters` returns another system.  [Fakhari 3], [Lagrange notes], [Lee].
    """

    bodies: tuple[Placed, ...] = ()
    """What it was made of, body by body (`from_bodies`)."""

    _friction_by_default = True
    _max_step = np.inf

    # What `flow` takes nothing for, and why.
    flow_refuses: ClassVar[dict[str, str]] = {
        "wrenches": "wrenches= does not apply to a LagrangianSystem, which has no frames. Write the force into forces, "
        "with an input for its size"
    }

    def __init__(
        self,
        coordinates: object,
        kinetic: object,
        potential: object = 0,
        *,
        parameters: Mapping[Any, Any] | None = None,
        constraints: object = (),
        pfaffian: object = (),
        forces: object = (),
        dissipation: object = 0,
        inputs: object = (),
        name: str = "system",
    ) -> None:
        self._name = str(name)
        if parameters is not None and not isinstance(parameters, Mapping):
            raise InputError(
                "wrong-type",
                "parameters",
                parameters,
                problem=f"parameters map symbols to numbers; got {type(parameters).__name__}",
            )
        acting: dict[str, Any] = {"constraints": constraints, "pfaffian": pfaffian, "forces": forces, "inputs": inputs}
        more: dict[str, Any] = {"dissipation": dissipation, "name": name}
        self._remake = partial(LagrangianSystem, coordinates, kinetic, potential, **acting, **more)
        self._alphabet = Alphabet(coordinates)
        self._energies: Energies = energies_of(
            self._alphabet, kinetic, potential, dissipation, constraints, pfaffian, forces, inputs
        )
        self._parameters = self._alphabet.parameters(self._energies.inputs)
        self._check_reserved()
        self._numbers = self._checked_numbers(parameters or {})
        self._terms: Derived = derive(self._alphabet, self._energies)
        self._dependent: list[int] = check(self._alphabet, self._energies, self._terms, self._numbers)
        bound = kernels.LagrangianTerms(self.name, self._alphabet, self._energies, self._terms, self._numbers)
        self._kernels = Kernels(kernels.TABLE, lambda: bound, self.name, self.joint_names)
        e = self._energies
        self.rows = tuple(
            f"{what} {k}"
            for what, given in (("constraint", e.holonomic), ("pfaffian constraint", e.pfaffian))
            for k in range(1, len(given) + 1)
        )
        self._sizes = (1.0,) * self.k

    @classmethod
    def from_bodies(
        cls,
        coordinates: object,
        bodies: Particle | RigidBody | Sequence[Particle | RigidBody],
        gravity: object = (0, 0, 0),
        potential: Expression = 0,
        *,
        parameters: Mapping[Any, Any] | None = None,
        constraints: object = (),
        pfaffian: object = (),
        forces: object = (),
        dissipation: object = 0,
        inputs: object = (),
        name: str = "system",
    ) -> LagrangianSystem:
        """From particles and rigid bodies, under a gravity [m/s²]; `potential` adds springs and the like. The other
        arguments are those of the class."""
        listed = as_list(make_coordinates(coordinates) if isinstance(coordinates, str) else coordinates)
        kinetic, weight = energies(bodies, listed, gravity)
        acting: dict[str, Any] = {"constraints": constraints, "pfaffian": pfaffian, "forces": forces, "inputs": inputs}
        more: dict[str, Any] = {"dissipation": dissipation, "name": name}
        system = cls(listed, kinetic, weight + potential, parameters=parameters, **acting, **more)
        system._remake = partial(cls.from_bodies, coordinates, bodies, gravity, potential, **acting, **more)
        system.bodies = tuple(placed(body, system._alphabet, listed, gravity) for body in as_bodies(bodies))
        return system

    def with_parameters(self, values: Mapping[Any, Any] | None = None, **named: float) -> LagrangianSystem:
        """The same system with numbers for parameters, `with_parameters(l1=0.5)` or by a dictionary."""
        known = {str(s): x for s, x in self._numbers.items() if x is not None}
        new = {str(key): value for key, value in {**(values or {}), **named}.items()}
        return self._remake(parameters={**known, **new})

    def __reduce__(self) -> tuple[object, ...]:
        return partial(self._remake, parameters=self.parameters), ()

    def __repr__(self) -> str:
        parts = [_count(self.n, "coordinate")]
        if self._terms.A:
            parts.append(_count(len(self._terms.A), "constraint"))
        return f"<LagrangianSystem {self.name!r}: {', '.join(parts)}>"

    # ----------------------------------------------------------------------------------------------- names, numbers
    def _check_reserved(self) -> None:
        own = {s.name for s in (*self.multiplier_symbols, *(() if self._energies.inputs else self.tau))}
        for s in self._parameters:
            if s.name in own:
                raise InputError(
                    "duplicate",
                    "parameters",
                    s.name,
                    problem=f"the name {s.name!r} is used twice: for a parameter, and for a multiplier or a "
                    "generalized force in the equations",
                    remedy="Rename the parameter, or say inputs= if it is one.",
                )

    def _checked_numbers(self, parameters: Mapping[Any, Any]) -> dict[Any, float | None]:
        names = {s.name: s for s in self._parameters}
        result: dict[Any, float | None] = dict.fromkeys(self._parameters)
        seen: set[str] = set()
        for key, value in parameters.items():
            name = str(key)
            if name in self.joint_names or name in {s.name for s in self._energies.inputs}:
                raise InputError(
                    "duplicate",
                    "parameters",
                    name,
                    problem=f"the name {name!r} is used twice: for a parameter, and for a coordinate or an input",
                )
            choose(f"parameter of {self.name!r}", name, names)
            if name in seen:
                raise InputError(
                    "duplicate", "parameters", name, problem=f"the name {name!r} is used twice among the parameters"
                )
            seen.add(name)
            result[names[name]] = number(f"parameter {name!r}", value)
        return result

    # --------------------------------------------------------------------------------------------- what it is
    @property
    def name(self) -> str:
        return self._name

    @property
    def n(self) -> int:
        """Number of coordinates: the length of q."""
        return len(self._alphabet.names)

    @property
    def nq(self) -> int:
        """The length of q."""
        return self.n

    @property
    def nv(self) -> int:
        """The length of velocities, accelerations and generalized forces."""
        return self.n

    @property
    def home(self) -> Array:
        """Zeros: the configuration at which `close` begins."""
        return np.zeros(self.n)

    @property
    def _unconstrained(self) -> LagrangianSystem:
        return self  # whose inverse dynamics have the multipliers that they are given, none if not

    def moved(self, q: Array, d: Array) -> Array:
        """q + d."""
        return np.asarray(plain_array(q, "q") + plain_array(d, "d"))

    def _velocity_units(self) -> list[tuple[str, str]]:
        return [(name, "") for name in self.joint_names]

    def _find_reversed(self, q: Array) -> str | None:
        return None

    def _scales(self, q: Array) -> Array:
        return np.abs(self.residual(q)) + np.abs(self.jacobian(q)) @ np.abs(q) + np.finfo(float).tiny  # φ has any unit

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the coordinates, in the order of q."""
        return self._alphabet.names

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the state x = (q, q̇): each coordinate, then its rate."""
        return (*self.joint_names, *(f"{name}_rate" for name in self.joint_names))

    @property
    def limits(self) -> Limits:
        """None: ±inf for every coordinate."""
        endless = np.full(self.n, np.inf)
        return Limits(-endless, endless, endless, endless)

    @property
    def degrees_of_freedom(self) -> int:
        """n − rank A: how many coordinates can be moved independently.  [Fakhari 3], [Lagrange notes]."""
        return self.n - len(self._terms.A)  # A has full rank, or the system would have been refused

    @property
    def parameters(self) -> dict[Any, float]:
        """Parameters that have a number."""
        return {s: x for s, x in self._numbers.items() if x is not None}

    @property
    def free_parameters(self) -> tuple[Any, ...]:
        """Parameters that have none yet."""
        return tuple(s for s, x in self._numbers.items() if x is None)

    @property
    def flow_parameters(self) -> dict[str, float | None]:
        """All parameters by name, which `flow` may take as inputs, and their values, where they have one."""
        return {str(s): x for s, x in self._numbers.items()}

    @property
    def holonomic(self) -> bool:
        """Whether every constraint restricts positions."""
        return not self._energies.pfaffian

    # ----------------------------------------------------------------------------------------------- in symbols
    @cached_property
    def _outside(self) -> tuple[Row, Row, Row]:
        return self._alphabet.outside()

    @cached_property
    def _to_outside(self) -> dict[Any, Any]:
        a = self._alphabet
        pairs = zip((*a.q, *a.qd, *a.qdd), (s for group in self._outside for s in group), strict=True)
        return dict(pairs)

    def _write(self, x: Expression) -> Expression:
        return x.xreplace(self._to_outside)

    def _matrix(self, rows: Rows, columns: int) -> Matrix:
        return self._write(sp.ImmutableMatrix(len(rows), columns, [x for row in rows for x in row]))

    def _column(self, row: Row) -> Matrix:
        return self._matrix(tuple((x,) for x in row), 1)

    @property
    def coordinates(self) -> tuple[Any, ...]:
        return self._outside[0]

    @property
    def velocities(self) -> tuple[Any, ...]:
        return self._outside[1]

    @property
    def accelerations(self) -> tuple[Any, ...]:
        return self._outside[2]

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs u; of the generalized forces τ if none are named."""
        return tuple(str(s) for s in self.input_symbols or self.tau)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each state and input: nobody knows."""
        return dict.fromkeys((*self.states, *self.inputs), "")

    @property
    def input_symbols(self) -> tuple[Symbol, ...]:
        """Symbols of the inputs; none if none are named."""
        return self._energies.inputs

    @property
    def tau(self) -> tuple[Any, ...]:
        """Symbols of the generalized forces τ that the equations have on their right if no inputs are named."""
        return _numbered("tau", self.n)

    @property
    def multiplier_symbols(self) -> tuple[Any, ...]:
        """Symbols of the multipliers λ, one per row of A."""
        return _numbered("lambda", len(self._energies.holonomic) + len(self._energies.pfaffian))

    @property
    def kinetic(self) -> Expression:
        return self._write(self._energies.kinetic)

    @property
    def potential(self) -> Expression:
        return self._write(self._energies.potential)

    @property
    def dissipation_function(self) -> Expression:
        return self._write(self._energies.dissipation)

    @property
    def lagrangian(self) -> Expression:
        """L = K − P."""
        return self.kinetic - self.potential

    @property
    def M(self) -> Matrix:
        """Mass matrix ∂²K/∂q̇∂q̇.  (n, n)."""
        return self._matrix(self._terms.M, self.n)

    @property
    def Gamma(self) -> NDimArray:
        """Christoffel symbols, [i, j, k] = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij), the equation's index last.  (n, n, n)."""
        return self._write(sp.ImmutableDenseNDimArray(self._terms.Gamma))

    @property
    def C(self) -> Matrix:
        """Coriolis matrix C_kj = Σᵢ Γ_ijk q̇ᵢ, plus the skew ∂ⱼb_k − ∂ₖb_j if K has terms bᵀq̇.  (n, n)."""
        return self._matrix(self._terms.C, self.n)

    @property
    def g(self) -> Matrix:
        """∂(P − K₀)/∂q, K₀ being what K has without velocities.  (n, 1)."""
        return self._column(self._terms.g)

    @property
    def friction(self) -> Matrix:
        """∂R/∂q̇ of Rayleigh's dissipation function R.  (n, 1)."""
        return self._column(self._terms.friction)

    @property
    def forces(self) -> Matrix:
        """Generalized forces ψ = ψ₀ + B u.  (n, 1)."""
        return self._column(self._energies.forces)

    @property
    def B(self) -> Matrix:
        """∂ψ/∂u: what the inputs do to each coordinate; the identity if none are named.  (n, m)."""
        return (
            self._matrix(self._terms.B, len(self.input_symbols))
            if self.input_symbols
            else sp.eye(self.n).as_immutable()
        )

    @property
    def A(self) -> Matrix:
        """Constraints on velocities, A q̇ = 0: ∂φ/∂q, then the Pfaffian rows.  (k, n)."""
        return self._matrix(self._terms.A, self.n)

    @property
    def A_dot(self) -> Matrix:
        """Rate of A along the motion, so that A q̈ + Ȧ q̇ = 0.  (k, n)."""
        return self._matrix(self._terms.A_dot, self.n)

    @property
    def virtual_displacements(self) -> Matrix:
        """Z with A Z = 0: its columns are directions δq that the constraints allow.  (n, freedoms)."""
        return self._write(null_space(self._terms.A, self.n, self._dependent).as_immutable())

    @property
    def equations(self) -> list[Any]:
        """n equations of motion M q̈ + C q̇ + g + ∂R/∂q̇ − ψ₀ + Aᵀλ = τ (or B u, if inputs are named), then the
        constraints, as SymPy equations."""
        qd, qdd = (sp.Matrix(x) for x in (self.velocities, self.accelerations))
        left = self.M * qdd + (self.C * qd).applyfunc(sp.expand)
        left += self.g + self.friction - self._column(self._terms.forces)
        if self._terms.A:
            left += self.A.T * sp.Matrix(self.multiplier_symbols)
        right = self.B * sp.Matrix(self.input_symbols or self.tau)
        held = [self._write(f) for f in self._energies.holonomic]
        rolling = self._matrix(self._energies.pfaffian, self.n) * qd if self._energies.pfaffian else []
        return [sp.Eq(a, b, evaluate=False) for a, b in zip(left, right, strict=True)] + [
            sp.Eq(x, 0, evaluate=False) for x in (*held, *rolling)
        ]

    def first_order_form(self) -> FirstOrderForm:
        """ẋ = f(x, u) in symbols, x = (q, q̇), u the inputs, or τ if none are named; λ eliminated.  [Lee]."""
        from dalembert.lagrange.quantities import accelerations

        u = sp.Matrix(self.input_symbols or self.tau)
        f = sp.Matrix([*self._alphabet.qd, *accelerations(self)])
        return FirstOrderForm(self._write(f.as_immutable()), sp.ImmutableMatrix(self.coordinates + self.velocities), u)

    @cached_property
    def writing(self) -> Writing:
        """Writes expressions in the system's own symbols as a textbook does."""
        return Writing(self._alphabet, (*(self.input_symbols or self.tau), *self.multiplier_symbols))

    def quantity(self, name: str) -> Quantity:
        """What a formula can be compared with: K, P, L, M12, Gamma112, C21, g1, tau1 (the left side of an equation),
        dL/dqd1, "d/dt dL/dqd1", dL/dq1, psi1, B, A, Adot, lambda1, Z, projection, qdd1 (solved for), Alin and Blin
        (linear about zero), or whole vectors and matrices; of `from_bodies` also K1, P1 of a body."""
        from dalembert.lagrange.quantities import comparable

        return comparable(self, name)

    def compare(self, name: str, formula: str) -> Comparison:
        """Check a derivation: is `formula` equal to that quantity? If not, which slip was it? An equation of motion
        may be given as it stands, left = right."""
        from dalembert.lagrange.quantities import compare_formula

        return compare_formula(self, name, formula)

    def derivation(self) -> Derivation:
        """The equations as they are derived on a blackboard, each line with its reason: `.text()`, `.markdown()`,
        `.latex()`, `.html()`, `.save(file)`, and `.check(lines)` for a derivation of your own."""
        from dalembert.lagrange.derivation import derivation

        return derivation(self)

    def latex(self, x: object = None) -> str:
        """LaTeX of an expression, matrix or equation of this system, with dots for rates; of all its equations, one per
        line, if none is given."""
        a = self._alphabet
        if x is None:
            return " \\\\\n".join(self.latex(equation) for equation in self.equations)
        dots = {s: rf"\dot{{{sp.latex(q)}}}" for s, q in zip(a.qd, a.q, strict=True)}
        dots |= {s: rf"\ddot{{{sp.latex(q)}}}" for s, q in zip(a.qdd, a.q, strict=True)}
        inside = {out: s for s, out in self._to_outside.items()}
        return str(sp.latex(sp.sympify(x).xreplace(inside), symbol_names=dots))

    def _repr_latex_(self) -> str:
        return "$$\\begin{gathered}\n" + self.latex() + "\n\\end{gathered}$$"

    # ------------------------------------------------------------------------------------------------ in numbers
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        multipliers: ArrayLike | None = None,
        *,
        friction: bool = True,
        out: Array | None = None,
    ) -> Array:
        """τ = M q̈ + C q̇ + g + ∂R/∂q̇ − ψ₀ [+ Aᵀλ].  (..., n).

        Dissipation is part of the equations that were written, so it is in, unless friction=False. `multipliers`
        (..., k): λ of the force against the constraints."""
        if multipliers is None:
            return self._run("inverse_dynamics", out, q, qd, qdd, friction=friction)
        return self._run("inverse_dynamics", out, q, qd, qdd, multipliers, given=("multipliers",), friction=friction)

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, friction: bool = True, out: Array | None = None
    ) -> Array:
        """q̈ = M⁻¹ (τ − C q̇ − g − ∂R/∂q̇ + ψ₀ − Aᵀλ), which satisfies A q̈ + Ȧ q̇ = 0.  (..., n)."""
        return self._run("forward_dynamics", out, q, qd, tau, friction=friction)

    def multipliers(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, friction: bool = True) -> Array:
        """λ in τ = M q̈ + h + Aᵀλ, one per row of A.  (..., k).  [Fakhari 3]."""
        return self._run("multipliers", None, q, qd, tau, friction=friction)

    def constraint_forces(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, *, friction: bool = True) -> Array:
        """Aᵀλ: the part of τ that presses against the constraints; they act on the system with −Aᵀλ.  (..., n)."""
        return self._run("constraint_forces", None, q, qd, tau, friction=friction)

    def jacobian_dot(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ȧ(q, q̇).  (..., k, n)."""
        return self._run("jacobian_dot", None, q, qd)

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M(q).  (..., n, n)."""
        return self._run("mass_matrix", out, q)

    def mass_matrix_dot(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ṁ(q, q̇) = C + Cᵀ.  (..., n, n)."""
        return self._run("mass_matrix_dot", None, q, qd)

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """C(q, q̇), by Christoffel symbols: Ṁ − 2C is skew-symmetric.  (..., n, n)."""
        return self._run("coriolis_matrix", out, q, qd)

    def coriolis_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """c(q, q̇) = C q̇.  (..., n)."""
        return self._run("coriolis_torque", None, q, qd)

    def bias_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """C q̇ + g, without dissipation and given forces.  (..., n)."""
        return self._run("bias_torque", None, q, qd)

    def friction_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """∂R/∂q̇: what must be supplied against the dissipation.  (..., n)."""
        return self._run("friction_torque", None, q, qd)

    def applied_force(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """ψ₀(q, q̇): the given forces, inputs zero.  (..., n)."""
        return self._run("applied_force", None, q, qd)

    def christoffel(self, q: ArrayLike) -> Array:
        """Γ(q), [i, j, k] with the equation's index last.  (..., n, n, n)."""
        return self._run("christoffel", None, q)

    def gravity_torque(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """g(q) = ∂(P − K₀)/∂q.  (..., n)."""
        return self._run("gravity_torque", out, q)

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """K(q, q̇) as given [J].  (...)."""
        return self._run("kinetic_energy", None, q, qd)

    def potential_energy(self, q: ArrayLike) -> Array:
        """P(q) as given [J].  (...)."""
        return self._run("potential_energy", None, q)

    def dissipation(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Rayleigh's R(q, q̇) [W]: for a quadratic one the power lost is 2R.  (...)."""
        return self._run("dissipation", None, q, qd)

    def input_matrix(self, q: ArrayLike) -> Array:
        """B(q), so that inputs u act as τ = B u.  (..., n, m)."""
        return self._run("input_matrix", None, q)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, friction: bool = True
    ) -> tuple[Array, Array, Array]:
        """(∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈); the last is M.  (..., n, n) each."""
        return self._run("inverse_dynamics_derivatives", None, q, qd, qdd, friction=friction)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, friction: bool = True
    ) -> tuple[Array, Array, Array]:
        """(∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ), constraints included.  (..., n, n) each."""
        return self._run("forward_dynamics_derivatives", None, q, qd, tau, friction=friction)

    def flow(
        self,
        friction: bool = True,
        *,
        energies: bool = False,
        books: bool = False,
        parameters: Sequence[Any] = (),
        stabilize: str | None = "projection",
        alpha: float = 10.0,
        beta: float = 10.0,
    ) -> Flow:
        """How it moves under its inputs u (generalized forces τ if it names none), x = (q, q̇), as `simulate` takes it.

        `parameters` named here, symbols or their names, are inputs of the flow after u: one compiled loop for many
        designs. `energies`: kinetic and potential energy are observed [J]; `books`: the multipliers too, and what is
        supplied and lost [W]. Constraints enter by their multipliers, so that A q̈ + Ȧ q̇ = 0. `stabilize`: "projection"
        brings each step back onto the constraints, "baumgarte" lets errors decay with `alpha` and `beta` [1/s], None
        lets them drift."""
        from dalembert.lagrange.kernels import lagrangian_flow

        decay = number("alpha", alpha, "1/s", least=0.0), number("beta", beta, "1/s", least=0.0)
        return lagrangian_flow(self, friction, energies, books, parameters, stabilize, *decay)

    def linearize(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, friction: bool = True) -> tuple[Array, Array]:
        """(A, B) of ẋ ≈ f + A δx + B δτ about a state, x = (q, q̇).  (..., 2n, 2n) and (..., 2n, n)."""
        return second_order(*self.forward_dynamics_derivatives(q, qd, tau, friction))

    def linearize_at(
        self, x: ArrayLike | None = None, u: ArrayLike | None = None, *, friction: bool = True
    ) -> Linearization:
        """The same about one state x = (q, q̇), or q alone at rest, by the inputs u (τ where none are named): those that
        hold it there if not given, or come nearest to it."""
        n, state = self.n, read_state(x, {self.n: "q, at rest", 2 * self.n: "(q, q̇)"})
        q, qd = state[:n], state[n:] if len(state) == 2 * n else np.zeros(n)
        S = np.asarray(self.input_matrix(q)) if self.input_symbols else np.eye(n)
        if u is None:
            needed = self.inverse_dynamics(q, qd, np.zeros(n), friction=friction)
            given = np.asarray(np.linalg.lstsq(S, needed, rcond=None)[0], float)
        else:
            given = array("u", u, (S.shape[1],))
        A, B = self.linearize(q, qd, S @ given, friction)
        return Linearization(A, B @ S, np.concatenate((q, qd)), given, self.states, self.inputs)

    def kernel(
        self, name: str, given: Sequence[str] = (), *, parameters: Sequence[object] = (), **options: object
    ) -> Kernel:
        """The compiled object behind a method. `given` names optional arguments that will be passed ("multipliers");
        `options` are the method's. `parameters` named here, symbols or their names, are no numbers in the kernel but
        its last argument, a vector: one kernel for many designs, and `derivative("parameters")`."""
        return self._kernels.get(name, given, {"parameters": self._named(parameters), **options})

    def _named(self, parameters: Sequence[object]) -> tuple[Symbol, ...]:
        """The symbols of parameters given by name."""
        known = {s.name: s for s in self._parameters}
        names = [str(s) for s in parameters]
        for name in names:
            choose(f"parameter of {self.name!r}", name, known)
            if names.count(name) > 1:
                raise InputError(
                    "duplicate", "parameters", name, problem=f"the name {name!r} is used twice among the parameters"
                )
        return tuple(known[name] for name in names)

    def _run(
        self, name: str, out: Array | None, *arguments: object, given: tuple[str, ...] = (), **options: bool
    ) -> Any:
        return self._kernels.run((name, given, (), *options.values()), out, *arguments)


def _numbered(stem: str, count: int) -> tuple[Any, ...]:
    return tuple(sp.Symbol(f"{stem}{k}", real=True) for k in range(1, count + 1))


def _count(k: int, noun: str) -> str:
    return f"{k} {noun}" if k == 1 else f"{k} {noun}s"
