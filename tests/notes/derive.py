"""What the tests of the notes share: exact comparison, and the library's own mechanics as SymPy expressions.

Rotations are those of `dalembert.spatial`, run over SymPy scalars. The planar arms are `Robot.equations()`, and systems
of any energies, even of unknown functions D(q) and P(q), are `LagrangianSystem`. So a formula of the notes that is
confirmed here is one that the library gives. `test_derive.py` compares both with Lagrange's equations by hand.

`confirm` is for a formula that is right as printed, `misprint` for one that is not: the printed one must differ
from the derivation and the corrected one must agree with it. Both compare exactly, not at sample points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import sympy as sp

import dalembert as dl
from dalembert import scalar
from dalembert.lagrange import rate as symbol_of_rate
from dalembert.spatial import rotation, vector

scalar.sin.register(sp.Expr)(sp.sin)
scalar.cos.register(sp.Expr)(sp.cos)

Expr = sp.Expr | sp.MatrixBase | int | float


# --------------------------------------------------------------------------------------- exact comparison
def plain(x: sp.Expr) -> sp.Expr:
    """Expanded, sums of angles opened, no sine to a power."""
    x = sp.expand(sp.expand_trig(sp.expand(x)))
    x = x.replace(
        lambda e: e.is_Pow and isinstance(e.base, sp.sin) and e.exp.is_Integer and e.exp > 1,
        lambda e: (1 - sp.cos(e.base.args[0]) ** 2) ** (e.exp // 2) * e.base ** (e.exp % 2),
    )
    return sp.expand(x)


def canonical(x: sp.Expr) -> sp.Expr:
    """A numerator that is 0 exactly if x is: polynomials in sines and cosines have no second form left."""
    return plain(sp.fraction(sp.together(sp.sympify(x)))[0])


def entries(x: Expr) -> tuple[tuple[int, ...], list[sp.Expr]]:
    if isinstance(x, (list, tuple)):
        x = sp.Matrix(x)
    return (x.shape, list(x)) if isinstance(x, sp.MatrixBase) else ((), [sp.sympify(x)])


def same(a: Expr, b: Expr) -> bool:
    """Equal in shape and in every entry, as functions."""
    (shape_a, A), (shape_b, B) = entries(a), entries(b)
    return shape_a == shape_b and all(canonical(x - y) == 0 for x, y in zip(A, B, strict=True))


def differ(a: Expr, b: Expr) -> bool:
    """Not of one shape, or some entry differs; where all is elementary, by more than 1e-6 at a point of no meaning."""
    (shape_a, A), (shape_b, B) = entries(a), entries(b)
    if shape_a != shape_b:
        return True
    gaps = [d for d in (canonical(x - y) for x, y in zip(A, B, strict=True)) if d != 0]
    return any(_seen(d) for d in gaps)


def _seen(gap: sp.Expr) -> bool:
    if gap.atoms(sp.Derivative, sp.core.function.AppliedUndef):
        return True
    names = sorted(gap.free_symbols, key=str)
    point = {s: sp.Rational(7 + 3 * k, 11 + k) for k, s in enumerate(names)}
    return abs(complex(gap.subs(point).evalf())) > 1e-6


def confirm(printed: Expr, derived: Expr) -> None:
    assert same(printed, derived), f"printed {printed}\nderived {derived}"


def misprint(printed: Expr, right: Expr, derived: Expr) -> None:
    assert differ(printed, derived), f"as printed it is right: {printed}"
    confirm(right, derived)


def rounds(printed: float, exact: sp.Expr | float, digits: int = 3) -> bool:
    """A printed decimal is the exact number to so many places."""
    return abs(float(printed) - float(exact)) <= 0.5 * 10.0**-digits * (1 + 1e-9)


# ---------------------------------------------------------------------------------------------- mechanics
def rate(x: Expr, q: Sequence, v: Sequence, a: Sequence = ()) -> Expr:
    """d/dt of an expression in coordinates and velocities, by the library's chain rule; q̈ = 0 where none are given."""
    dots = [symbol_of_rate(s) for s in q]
    names = dict(zip(dots, v, strict=True))
    names |= dict(zip((symbol_of_rate(s) for s in dots), a or [0] * len(dots), strict=True))
    inside = {w: s for s, w in names.items() if w != 0}
    return symbol_of_rate(sp.sympify(x).xreplace(inside), list(q)).xreplace(names)


class Derived:
    """The library's terms of a system with energies K and P, in the symbols of the notes: M, C, c, g, tau, gamma."""

    def __init__(self, K: sp.Expr, P: sp.Expr, q: Sequence, v: Sequence, a: Sequence):
        speeds = dict(zip(v, (symbol_of_rate(x) for x in q), strict=True))
        system = dl.LagrangianSystem(list(q), sp.sympify(K).xreplace(speeds), P)
        back = dict(zip(system.velocities, v, strict=True))
        self.M, self.C, self.g = (sp.Matrix(x.xreplace(back)) for x in (system.M, system.C, system.g))
        self.gamma = system.Gamma.tolist()
        self.c = self.C * sp.Matrix(v)
        self.tau = self.M * sp.Matrix(a) + self.c + self.g


def lagrange(K: sp.Expr, P: sp.Expr, q: Sequence, v: Sequence, a: Sequence) -> sp.Matrix:
    """τ_k = d/dt ∂L/∂q̇_k − ∂L/∂q_k, as the library derives it."""
    return Derived(K, P, q, v, a).tau


def mass_matrix(K: sp.Expr, q: Sequence, v: Sequence) -> sp.Matrix:
    """M of a kinetic energy, as the library derives it."""
    return Derived(K, sp.Integer(0), q, v, [0] * len(q)).M


def second_derivatives(c: sp.Matrix, v: Sequence) -> list[list[list[sp.Expr]]]:
    """[i][j][k]: the symmetric coefficients of c_k = Σ Γ_ijk q̇_i q̇_j, read off c itself."""
    n = range(len(v))
    return [[[sp.diff(c[k], v[i], v[j]) / 2 for k in n] for j in n] for i in n]


def exact(rows: Sequence) -> sp.Matrix:
    """A matrix of the library over SymPy scalars: the floats 0.0, 1.0, … of its constants are rational numbers."""
    return sp.Matrix(rows).applyfunc(lambda x: sp.nsimplify(x, rational=True))


def rot(axis: str, angle: Expr) -> sp.Matrix:
    """A rotation about x, y or z by the library."""
    unit = tuple(float(axis == name) for name in "xyz")
    return exact(rotation.axis_angle(unit, sp.sympify(angle)))


def pose(R: sp.Matrix | None = None, p: Sequence = (0, 0, 0)) -> sp.Matrix:
    T = sp.eye(4)
    T[:3, :3] = sp.eye(3) if R is None else R
    T[:3, 3] = sp.Matrix(p)
    return T


def dh(theta: Expr, d: Expr, a: Expr, alpha: Expr) -> sp.Matrix:
    """Rot_z Trans_z Trans_x Rot_x."""
    return pose(rot("z", theta), (0, 0, d)) * pose(rot("x", alpha), (a, 0, 0))


def skew(w: Sequence) -> sp.Matrix:
    return exact(vector.skew(tuple(w)))


def vee(S: sp.Matrix) -> sp.Matrix:
    return exact([[x] for x in vector.unskew(S.tolist())])


# ------------------------------------------------------------------------------------- systems of the notes
q1, q2, v1, v2, a1, a2 = sp.symbols("q1 q2 v1 v2 a1 a2", real=True)
m1, m2, l1, l2, lc1, lc2, I1, I2, g = sp.symbols("m1 m2 l1 l2 l_c1 l_c2 I1 I2 g", positive=True)
Q, V, A = [q1, q2], [v1, v2], [a1, a2]
qd, qdd = sp.Matrix(V), sp.Matrix(A)
c1, s1, c2, s2 = sp.cos(q1), sp.sin(q1), sp.cos(q2), sp.sin(q2)
c12, s12 = sp.cos(q1 + q2), sp.sin(q1 + q2)


def along(length: Expr, angle: Expr) -> sp.Matrix:
    """A vector of the plane, embedded in space."""
    return sp.Matrix([length * sp.cos(angle), length * sp.sin(angle), 0])


class Planar:
    """A bundled arm of two links in a vertical plane (y up), as the library's equations have it: masses m, lengths l,
    centers at r, inertias I about them."""

    def __init__(self, name: str, letters: dict[str, Expr]):
        self.equations = dl.load(name).equations()
        self.letters = {"m1": m1, "m2": m2, "l1": l1, "l2": l2, "g": g} | letters
        for k, (q, v, a) in enumerate(zip(Q, V, A, strict=True), 1):
            self.letters |= {f"q{k}": q, f"s{k}": sp.sin(q), f"c{k}": sp.cos(q), f"qd{k}": v, f"qdd{k}": a}
        self.M, self.C, self.c, self.g, self.tau = (self.term(x) for x in ("M", "C", "c", "g", "tau"))
        self.K, self.P = self.term("K"), self.term("P")
        n = range(1, 3)
        self.gamma = [[[self.term(f"Gamma{i}{j}{k}") for k in n] for j in n] for i in n]
        self.p1, self.p2 = (self.center(link) for link in (1, 2))
        self.J1, self.J2 = (self.matrix(self.equations.com_jacobian(f"link{k}"))[:3, :] for k in (1, 2))
        self.u1, self.u2 = self.J1 * qd, self.J2 * qd
        self.tip = self.matrix(self.equations.fk())[:3, 3]
        self.J = self.matrix(self.equations.jacobian())

    def term(self, what: str) -> Expr:
        """A quantity of the equations by its name there."""
        return self.translate(self.equations.sympy(what))

    def matrix(self, rows: Sequence) -> sp.Matrix:
        """Polynomials of the library."""
        return self.translate(sp.Matrix([[sp.sympify(str(x).replace("^", "**")) for x in row] for row in rows]))

    def translate(self, x: Expr) -> Expr:
        """The library's letters replaced by those of the notes."""
        return x.subs({s: self.letters[s.name] for s in x.free_symbols}, simultaneous=True)

    def center(self, link: int) -> sp.Matrix:
        """The center of mass of a link."""
        r = self.letters[f"r{link}"]
        return (self.matrix(self.equations.fk(f"link{link}")) * sp.Matrix([r, 0, 0, 1]))[:3, :]


@cache
def rigid() -> Planar:
    """Links with a center of mass somewhere on them and an inertia ([Poonawala], [Lagrange notes], [Lee])."""
    return Planar("planar-2r", {"r1": lc1, "r2": lc2, "I1": I1, "I2": I2})


@cache
def points() -> Planar:
    """Massless rods with point masses at their ends ([Fakhari 3], [Lee], [Fakhari 2])."""
    return Planar("planar-2r-points", {"r1": l1, "r2": l2, "I1": 0, "I2": 0})


class Abstract:
    """Any system of n coordinates: D(q) and P(q) are unknown functions, D symmetric; the rest is the library's."""

    def __init__(self, n: int):
        self.n = n
        self.q, self.v, self.a = (list(sp.symbols(f"{x}1:{n + 1}", real=True)) for x in "qva")
        self.D = sp.Matrix(n, n, lambda i, j: sp.Function(f"d{min(i, j) + 1}{max(i, j) + 1}", real=True)(*self.q))
        self.P = sp.Function("P", real=True)(*self.q)
        v = sp.Matrix(self.v)
        self.K = sp.expand((v.T * self.D * v)[0] / 2)
        self.derived = Derived(self.K, self.P, self.q, self.v, self.a)
        self.tau, self.c = self.derived.tau, self.derived.c
        self.Ddot = rate(self.D, self.q, self.v)

    def d(self, i: int, j: int, k: int) -> sp.Expr:
        """∂d_ij / ∂q_k."""
        return sp.diff(self.D[i, j], self.q[k])

    def symbol(self, i: int, j: int, k: int) -> sp.Expr:
        """½ (∂d_kj/∂q_i + ∂d_ki/∂q_j − ∂d_ij/∂q_k): the equation's index last."""
        return self.derived.gamma[i][j][k]

    def C(self) -> sp.Matrix:
        return self.derived.C


@cache
def abstract(n: int = 3) -> Abstract:
    return Abstract(n)


# -------------------------------------------------------------------------------------- numbers, for kernels
def state(n: int, seed: int = 0) -> np.ndarray:
    """(q, q̇, q̈) of no meaning."""
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (3, n))


def hat(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def ad(V: np.ndarray) -> np.ndarray:
    """[ad_V] of a twist (ω, v), as [Fakhari 3] and [Fakhari 2] order it."""
    return np.block([[hat(V[:3]), np.zeros((3, 3))], [hat(V[3:]), hat(V[:3])]])


SWAP = np.roll(np.eye(6), 3, axis=0)  # (v, ω) of the library to (ω, v) and back


def central(f, x: np.ndarray, dx: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Derivative of f at x along dx, to about 1e-11 (five points)."""
    return (8 * (f(x + h * dx) - f(x - h * dx)) - (f(x + 2 * h * dx) - f(x - 2 * h * dx))) / (12 * h)
