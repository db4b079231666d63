"""The constrained equations in symbols, exact: the numeric algorithms run on polynomials.

What divides is one polynomial: with the n + k equations K (q̈, λ) = (τ − h, −Ȧ q̇), K = (M Aᵀ; A 0), every result is a
matrix of polynomials over det K, without anything to simplify."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.algorithms import linear
from dalembert.algorithms.constraints import Terms, stacked
from dalembert.algorithms.mechanics import saddle
from dalembert.caching import cached_property
from dalembert.errors import InputError, SingularityError, unknown
from dalembert.lazy import library
from dalembert.symbolic.code import converted, symbols
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.polynomial import Polynomial

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dalembert.constrained.system import Constrained
    from dalembert.symbolic.compare import Comparison, Quantity
    from dalembert.symbolic.document import Derivation

Polynomials = list[list[Polynomial]]
WHOLE = ("phi", "A", "A_dot", "drift", "M", "h")
QUOTIENTS = ("qdd", "lambda", "P", "P_qdd")


class ConstrainedEquations:
    """τ = M q̈ + h + Aᵀλ, A q̈ + Ȧ q̇ = 0, in the parameters asked for as in `Robot.equations`."""

    def __init__(self, system: Constrained, tree: Equations) -> None:
        self.system = system
        self.robot = tree  # its loops are among the constraints

    @cached_property
    def terms(self) -> Terms:
        """φ, A and Ȧ q̇ as polynomials."""
        e, ring = self.robot, self.robot.ring
        try:
            found = stacked([c.bind(e.model)(e.model, e.q, e.qd) for c in self.system.constraints])
        except TypeError as error:
            problem = f"a constraint's function is not a polynomial in sines, cosines and lengths: {error}"
            raise InputError(
                "unsupported", "constraints", problem=problem, remedy="Use the numeric methods for it."
            ) from None
        return Terms(
            [ring.scalar(x) for x in found.phi],
            [[ring.scalar(x) for x in row] for row in found.A],
            [ring.scalar(x) for x in found.drift],
        )

    @cached_property
    def A_dot(self) -> list[list[Polynomial]]:
        """Ȧ = Σᵢ ∂A/∂qᵢ q̇ᵢ."""
        return [list(map(self.robot.rate_of, row)) for row in self.terms.A]

    @cached_property
    def saddle(self) -> Polynomials:
        """K = (M Aᵀ; A 0) of the n + k equations K (q̈, λ) = (τ − h, −Ȧ q̇)."""
        return saddle(self.robot.M, self.terms.A, self.robot.ring.zero)

    @cached_property
    def inverse(self) -> tuple[Polynomials, Polynomial]:
        """(adj K, det K)."""
        adjoint, det = linear.adjugate(self.saddle, self.robot.ring.scalar)
        if not det:
            raise SingularityError(
                "singular",
                "constraints",
                self.system.rows,
                problem="the constraints depend on one another in every state",
                expected="independent",
                remedy="Leave out redundant rows.",
            )
        return adjoint, det

    def _times(self, A: Polynomials, B: Polynomials) -> Polynomials:
        ring = self.robot.ring
        return [[ring.scalar(x) for x in row] for row in linear.product(A, B)]

    @property
    def denominator(self) -> Polynomial:
        """det K, what λ, q̈ and the projections are divided by."""
        return self.inverse[1]

    def numerator(self, what: str) -> Polynomials:
        """det K times "qdd" (n rows) or "lambda" (k rows), each a row of its coefficients of τ₁ … τₙ and of what does
        not depend on τ; or det K times "P" or "P_qdd" (n×n)."""
        if what not in QUOTIENTS:
            raise unknown("quantity", what, QUOTIENTS)
        e, (inverse, _) = self.robot, self.inverse
        n = e.n
        if what in ("P", "P_qdd"):
            allowed = self._times([row[:n] for row in inverse[:n]], e.M)
            return linear.transposed(allowed) if what == "P" else allowed
        rows = inverse[:n] if what == "qdd" else inverse[n:]
        fixed = [*self.h, *self.terms.drift]
        return [[*row[:n], -e._sum(x * y for x, y in zip(row, fixed, strict=True))] for row in rows]

    @cached_property
    def h(self) -> list[Polynomial]:
        """h(q, q̇) = c + g, and friction if asked for."""
        e = self.robot
        return [e.centripetal[k] + e.coriolis[k] + e.g[k] + e.friction_torque[k] for k in range(e.n)]

    def quantity(self, name: str) -> Quantity:
        """What a formula can be compared with: phi, A12, Adot, drift, M, h1, tau1 (with λ), lambda1, qdd1, P, Pqdd."""
        from dalembert.constrained.derivation import comparable

        return comparable(self, name)

    def compare(self, name: str, formula: str) -> Comparison:
        """Check a derivation: is `formula` equal to that quantity? If not, which slip was it?"""
        from dalembert.symbolic.compare import compare

        return compare(self.quantity(name), formula)

    def derivation(self, q: ArrayLike | None = None, qd: ArrayLike | None = None) -> Derivation:
        """The equations as they are derived, each line with its reason; with a state q, q̇ also in its numbers."""
        from dalembert.constrained.derivation import derivation

        return derivation(self, q, qd)

    def sympy(self, what: str, at: Mapping[str, Any] | None = None) -> Any:
        """One of "phi", "A", "A_dot", "drift", "M", "h", "lambda", "qdd", "P", "P_qdd" as a SymPy Matrix in q1, …,
        qd1, …, tau1, …; `at` gives values for some of them, exact if they are SymPy's."""
        if what not in (*WHOLE, *QUOTIENTS):
            raise unknown("quantity", what, (*WHOLE, *QUOTIENTS))
        sympy = library("sympy")
        values = {sympy.Symbol(name, real=True): sympy.sympify(x) for name, x in (at or {}).items()}
        names = {name: x.subs(values) for name, x in symbols(self.robot).items()}
        if what in WHOLE:
            t = self.terms
            plain = {"phi": t.phi, "A": t.A, "A_dot": self.A_dot, "drift": t.drift, "M": self.robot.M, "h": self.h}
            return sympy.Matrix(converted(plain[what], names))
        numerator = sympy.Matrix(converted(self.numerator(what), names))
        quotient = (numerator / converted(self.denominator, names)).applyfunc(
            lambda x: x if x.free_symbols else sympy.radsimp(x)
        )
        if what in ("P", "P_qdd"):
            return quotient
        tau = [sympy.Symbol(f"tau{k + 1}", real=True) for k in range(self.robot.n)]
        return quotient * sympy.Matrix([*(values.get(t, t) for t in tau), 1])
