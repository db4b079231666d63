"""Properties as identities of polynomials: true at every state, and for every value of the parameters.

Each side is derived in its own way, so that nothing proves itself: torques by Newton and Euler, M and C by composite
bodies, energies body by body, Ṁ, g and Ḣ by differentiation.

The choices of C: matrices C(q, q̇) with the same C q̇ = c, over any scalar.

With D_i = ∂M/∂q_i, Ṁ = Σ D_i q̇_i and U_kj = Σ_i q̇_i ∂_k M_ij, c = Ṁ q̇ − ½ U q̇ = Uᵀ q̇ − ½ U q̇: the products q̇ᵢ q̇ⱼ of
c_k can be given to column i or to column j, in any shares. C_kj = Σ_i (Γ_ijk + W_kji) q̇_i, W antisymmetric in its last
two indices, are all of those that are linear in q̇: n²(n − 1)/2 functions of q are free. Ṁ − 2C stays skew exactly where
W is antisymmetric in every pair of indices, which leaves n(n − 1)(n − 2)/6: none for n = 2, where the standard C is the
only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from dalembert.algorithms import composite, energy, jacobians, kinematics, linear, newton_euler, regressor
from dalembert.caching import cached_property
from dalembert.model.model import Frame, Model
from dalembert.spatial import Pose
from dalembert.spatial.vector import ZERO, Scalar, add, congruence, matmul, matvec, skew
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.factor import determinant
from dalembert.symbolic.lumps import legible
from dalembert.symbolic.polynomial import Polynomial
from dalembert.symbolic.text import text

Rows = list[list[Scalar]]
Cube = Sequence[Sequence[Sequence[Scalar]]]  # or an array of three indices
# Formulas by name, for people; the first four are choices of `Robot.coriolis_matrix`.
FORMULAS = {
    "christoffel": "Σᵢ Γ_ijk q̇ᵢ, by composite bodies",
    "kronecker": "½ (Ṁ + Uᵀ − U)",
    "mdot-u/2": "Ṁ − ½ U",
    "ut-u/2": "Uᵀ − ½ U",
    "half-slope": "½ ∂c/∂q̇",
    "bodywise": "Σ m J_vᵀJ̇_v + J_ωᵀ(I J̇_ω + S(ω) I J_ω)",
    "later-columns": "Γ_jjk q̇ⱼ + 2 Σ_{i<j} Γ_ijk q̇ᵢ",
    "rank-one": "c q̇ᵀ / q̇ᵀq̇",
}
FROM_PARTIALS: dict[str, Callable[[Any, Any], Rows]] = dict(composite.FROM_PARTIALS)
Row = list[Polynomial]
Square = list[Row]
MINORS = 3  # joints up to which minors of M are written out
LONG = 120  # terms of a minor beyond which nobody reads it
FEW = 4  # joints up to which C body by body is multiplied out


def half_slopes(Gamma: Cube, qd: Sequence[Scalar]) -> Rows:
    """C_kj = Σ_i Γ_ijk q̇_i, half the slope of c in q̇_j: the standard choice."""
    span = range(len(qd))
    return [[sum((Gamma[i][j][k] * qd[i] for i in span), 0.0) for j in span] for k in span]


def later_columns(Gamma: Cube, qd: Sequence[Scalar]) -> Rows:
    """C_kj = Γ_jjk q̇_j + 2 Σ_{i<j} Γ_ijk q̇_i: centripetal and Coriolis terms as a textbook lists them, each product in
    the column of its later rate."""
    span = range(len(qd))
    return [
        [Gamma[j][j][k] * qd[j] + sum((2 * Gamma[i][j][k] * qd[i] for i in range(j)), 0.0) for j in span] for k in span
    ]


def rank_one(c: Sequence[Scalar], qd: Sequence[Scalar]) -> Rows:
    """C = c q̇ᵀ / q̇ᵀq̇: defined by c alone, not linear in q̇ and without a limit at q̇ = 0."""
    size = sum((v * v for v in qd), 0.0)
    return [[x * v / size for v in qd] for x in c]


def bodywise(model: Model, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Rows:
    """C = Σ m J_vᵀJ̇_v + J_ωᵀ(I J̇_ω + S(ω) I J_ω) over the bodies, J of their centers of mass, in world axes:
    Newton's and Euler's equations, projected.

    Ṁ − 2C = Σ skew − J_ωᵀ(S I + I S) J_ω is skew. It is Christoffel's matrix for point masses and planar arms, another
    one for most arms of three joints and more."""
    n = model.n
    T = kinematics.world_poses(model, q)
    C: Rows = [[0.0] * n for _ in range(n)]
    for i, body in enumerate(model.bodies):
        own = body.inertia
        frame = Frame("com", i, Pose(p=own.com() if own.m else ZERO))
        J, Jd = jacobians.jacobian(model, q, frame), jacobians.jacobian_dot(model, q, qd, frame)
        I = congruence(T[i].R, own.about_com() if own.m else own.I)
        SI = matmul(skew(tuple(linear.inner(row, qd) for row in J[3:])), I)
        for j in range(n):
            v = tuple(own.m * Jd[a][j] for a in range(3))
            w = add(matvec(I, tuple(Jd[a][j] for a in (3, 4, 5))), matvec(SI, tuple(J[a][j] for a in (3, 4, 5))))
            for k in range(n):
                C[k][j] = C[k][j] + linear.inner([J[a][k] for a in range(6)], [*v, *w])
    return C


def freedoms(n: int) -> tuple[int, int]:
    """How many functions of q are free among the choices of C linear in q̇, and among those that keep Ṁ − 2C skew."""
    return n * n * (n - 1) // 2, n * (n - 1) * (n - 2) // 6


FROM_SYMBOLS: dict[str, Callable[[Any, Any], Rows]] = {"half-slope": half_slopes, "later-columns": later_columns}


class Identities:
    """The terms of a robot's equations as polynomials, and whether identities between them hold."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.n = equations.n

    def _row(self, values: Iterable[Scalar]) -> Row:
        return [self.equations.ring.scalar(x) for x in values]

    @cached_property
    def tau(self) -> Row:
        """τ(q, q̇, q̈) by Newton and Euler."""
        e = self.equations
        return self._row(newton_euler.inverse_dynamics(e.model, e.q, e.qd, e.qdd))

    @cached_property
    def columns(self) -> Square:
        """∂τ/∂q̈ of it: [k][j]."""
        return [[t.derivative(name) for name in self.equations.ring.accelerations] for t in self.tau]

    @cached_property
    def gravity(self) -> Row:
        e = self.equations
        return self._row(newton_euler.gravity_torque(e.model, e.q))

    @cached_property
    def c(self) -> Row:
        """What τ has with rates: τ(q, q̇, 0) − τ(q, 0, 0)."""
        e = self.equations
        return self._row(newton_euler.coriolis_torque(e.model, e.q, e.qd))

    @cached_property
    def C(self) -> Square:
        """C by composite bodies, without Christoffel symbols."""
        e = self.equations
        return [self._row(row) for row in composite.coriolis_matrix(e.model, e.q, e.qd)]

    def choice(self, name: str) -> Square | None:
        """A choice of C as polynomials; None where it is none, or too long."""
        e = self.equations
        if name == "christoffel":
            return self.C
        if name in FROM_PARTIALS:
            return e.coriolis_matrix(name)
        if name == "half-slope":
            rates = [f"qd{k + 1}" for k in range(self.n)]
            return [[x.derivative(rate) / 2 for rate in rates] for x in self.c]
        if name in FROM_SYMBOLS:
            return [self._row(row) for row in FROM_SYMBOLS[name](e.christoffel, e.qd)]
        if name == "bodywise" and self.n <= FEW:
            return [self._row(row) for row in bodywise(e.model, e.q, e.qd)]
        return None

    # ------------------------------------------------------------------------------------------- of M
    def symmetric(self) -> bool:
        A, M = self.columns, self.equations.M
        return all(A[i][j] == A[j][i] == M[i][j] for i in range(self.n) for j in range(i + 1))

    def of_position_alone(self) -> bool:
        moving = {*self.equations.ring.rates, *self.equations.ring.accelerations}
        return not any(x.uses() & moving for row in self.columns for x in row)

    def kinetic(self) -> bool:
        e = self.equations
        return bool(e.ring.scalar(energy.kinetic_energy(e.model, e.q, e.qd)) == e.K)

    def definite(self) -> str:
        """Why M is positive definite, for parameters of the robot's signs; "" where signs alone do not tell."""
        if self._rotors():
            return "every joint turns a rotor of its own"
        if self.n <= MINORS and all(self._positive(p) for p in self._minors().values()):
            return "every principal minor, from the last joint up, is a sum of positive terms"
        return ""

    def _rotors(self) -> bool:
        values = self.equations.values
        own = [0.0] * self.n
        for body in self.equations.model.bodies:
            J: Any = body.rotor_inertia
            number = float(J.substituted(values)) if isinstance(J, Polynomial) else float(J)
            own[body.coordinate] += body.multiplier**2 * number
        return all(x > 0 for x in own)

    def _minors(self) -> dict[str, Polynomial]:
        M, ring = self.equations.M, self.equations.ring
        found = {}
        for k in reversed(range(self.n)):
            rows = [row[k:] for row in M[k:]]
            name = f"M{self.n}{self.n}" if k == self.n - 1 else f"det M[{k + 1}…{self.n}]" if k else "det M"
            found[name] = rows[0][0] if len(rows) == 1 else ring.scalar(determinant(ring, rows))
        return found

    def minors(self) -> dict[str, str]:
        """The minors in text, where they are short."""
        if self.n > MINORS:
            return {}
        short = {name: p for name, p in self._minors().items() if len(p) <= LONG}
        form = legible(short, self.equations.groups, False) if short else None
        return {name: text(x, unicode=True) for name, x in form.entries.items()} if form else {}

    def _positive(self, p: Polynomial) -> bool:
        """Whether p > 0 by its signs alone: in some choice of sines or cosines for each angle, squares with positive
        coefficients, and one term that never vanishes."""
        pairs = [pair for pair in self.equations.ring.pairs if pair[0] in p.uses() or pair[1] in p.uses()]
        return any(
            self._all_positive(_in_sines(p, [pair for pair, taken in zip(pairs, which, strict=True) if taken]))
            for which in product((False, True), repeat=len(pairs))
        )

    def _all_positive(self, terms: Mapping[tuple[int, ...], Fraction]) -> bool:
        ring, values = self.equations.ring, self.equations.values
        fixed = {name for pair in ring.angles for name in pair}
        strict = False
        for powers, coefficient in terms.items():
            sign, free = 1 if coefficient > 0 else -1, True
            for name, power in zip(ring.names, powers, strict=True):
                if not power:
                    continue
                if name in values and name not in fixed:
                    sign *= _sign(values[name]) ** int(power)
                else:
                    free = False
                    if int(power) % 2:
                        return False
            if sign < 0:
                return False
            strict |= free and sign > 0
        return strict

    # ------------------------------------------------------------------------------------------ of c and C
    def quadratic(self) -> bool:
        """Σ q̇_i ∂c/∂q̇_i = 2 c: by Euler's theorem every term has two rates, and no more."""
        v, rates = self.equations.qd, [f"qd{k + 1}" for k in range(self.n)]
        return all(sum(x.derivative(rate) * y for rate, y in zip(rates, v, strict=True)) == 2 * x for x in self.c)

    def same_torque(self, C: Square) -> bool:
        v = self.equations.qd
        return all(sum(x * y for x, y in zip(row, v, strict=True)) == c for row, c in zip(C, self.c, strict=True))

    def skew(self, C: Square) -> bool:
        D, n = self.equations.M_dot, self.n
        return all(not (D[i][j] + D[j][i] - 2 * C[i][j] - 2 * C[j][i]) for i in range(n) for j in range(i, n))

    def workless(self, C: Square) -> bool:
        return self._balanced and self.same_torque(C)

    @cached_property
    def _balanced(self) -> bool:
        """q̇ᵀṀq̇ = 2 q̇ᵀc, whatever C is."""
        D, v, n = self.equations.M_dot, self.equations.qd, self.n
        half = sum(D[i][j] * v[i] * v[j] for i in range(n) for j in range(n))
        return bool(half == sum(2 * x * y for x, y in zip(self.c, v, strict=True)))

    def bilinear(self, C: Square) -> bool:
        """∂C_kj/∂q̇_i = ∂C_ki/∂q̇_j: C is the matrix of a symmetric bilinear form."""
        rates = [f"qd{k + 1}" for k in range(self.n)]
        slopes = [[[x.derivative(rate) for rate in rates] for x in row] for row in C]
        return all(slopes[k][j][i] == slopes[k][i][j] for k in range(self.n) for j in range(self.n) for i in range(j))

    # ------------------------------------------------------------------------------------- of g, H and π
    def gradient(self) -> bool:
        return all(a == b for a, b in zip(self.gravity, self.equations.g, strict=True))

    def power(self) -> bool:
        """Ḣ by the chain rule equals q̇ᵀτ."""
        e = self.equations
        H = e.ring.scalar(energy.kinetic_energy(e.model, e.q, e.qd)) + e.P
        rate = sum(H.by_coordinate(k) * e.qd[k] + H.derivative(f"qd{k + 1}") * e.qdd[k] for k in range(self.n))
        return bool(rate == sum(v * t for v, t in zip(e.qd, self.tau, strict=True)))

    def linear(self) -> bool:
        """Y π = τ, and no mass, center or inertia occurs in Y."""
        e = self.equations
        Y = e.regressor
        pi = regressor.parameters(e.model, rotor=e.has_rotors)
        inertial = {p.name for p in e.parameters.values() if p.kind in ("mass", "center", "inertia", "rotor")}
        if any(y.uses() & inertial for row in Y for y in row):
            return False
        return all(sum(y * x for y, x in zip(row, pi, strict=True)) == t for row, t in zip(Y, self.tau, strict=True))

    def depends_on(self, *what: Polynomial) -> set[int]:
        """The coordinates that occur in polynomials."""
        used = set().union(*(p.uses() for p in what)) if what else set()
        return {k for k, names in enumerate(self.equations.ring.joints) if used & set(names)}


def _sign(x: float) -> int:
    return (x > 0) - (x < 0)


def _in_sines(p: Polynomial, pairs: Iterable[tuple[str, ...]]) -> dict[tuple[int, ...], Fraction]:
    """The terms of p with c² → 1 − s² for some angles; its normal form has s² → 1 − c² for all."""
    terms = {tuple(map(int, powers)): Fraction(int(x.p), int(x.q)) for powers, x in p.terms().items()}
    for pair in pairs:
        s, c = (p.ring.index[name] for name in pair)
        changed: dict[tuple[int, ...], Fraction] = {}
        for powers, x in terms.items():
            for sines, factor in _expanded(powers[c] // 2):
                new = list(powers)
                new[c], new[s] = powers[c] % 2, powers[s] + sines
                key = tuple(new)
                changed[key] = changed.get(key, Fraction(0)) + factor * x
        terms = {key: x for key, x in changed.items() if x}
    return terms


def _expanded(m: int) -> Iterator[tuple[int, int]]:
    """(1 − s²)^m as (power of s, coefficient)."""
    coefficient = 1
    for k in range(m + 1):
        yield 2 * k, coefficient
        coefficient = -coefficient * (m - k) // (k + 1)
