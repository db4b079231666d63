"""What the tests of the notes share: exact comparison, and mechanics from first principles in SymPy.

`confirm` is for a formula that is right as printed, `misprint` for one that is not: the printed one must differ
from the derivation and the corrected one must agree with it. Both compare exactly, not at sample points.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import sympy as sp

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
    """d/dt of an expression in coordinates and velocities, by the chain rule."""
    if isinstance(x, sp.MatrixBase):
        return x.applyfunc(lambda e: rate(e, q, v, a))
    out = sum(sp.diff(x, s) * d for s, d in zip(q, v, strict=True))
    return out + sum(sp.diff(x, s) * d for s, d in zip(v, a, strict=False))


def lagrange(K: sp.Expr, P: sp.Expr, q: Sequence, v: Sequence, a: Sequence) -> sp.Matrix:
    """τ_k = d/dt ∂L/∂q̇_k − ∂L/∂q_k."""
    L = K - P
    return sp.Matrix([rate(sp.diff(L, vk), q, v, a) - sp.diff(L, qk) for qk, vk in zip(q, v, strict=True)])


def mass_matrix(K: sp.Expr, v: Sequence) -> sp.Matrix:
    """The Hessian of K by the velocities."""
    return sp.hessian(sp.expand(K), v)


def velocity_terms(K: sp.Expr, q: Sequence, v: Sequence) -> sp.Matrix:
    """c(q, q̇): what is left of Lagrange's equations without acceleration and potential."""
    return lagrange(K, sp.Integer(0), q, v, [0] * len(q))


def second_derivatives(c: sp.Matrix, v: Sequence) -> list[list[list[sp.Expr]]]:
    """[i][j][k]: the symmetric coefficients of c_k = Σ Γ_ijk q̇_i q̇_j, read off c itself."""
    n = range(len(v))
    return [[[sp.diff(c[k], v[i], v[j]) / 2 for k in n] for j in n] for i in n]


def rot(axis: str, angle: sp.Expr) -> sp.Matrix:
    c, s = sp.cos(angle), sp.sin(angle)
    rows = {
        "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
        "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
        "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
    }
    return sp.Matrix(rows[axis])


def pose(R: sp.Matrix | None = None, p: Sequence = (0, 0, 0)) -> sp.Matrix:
    T = sp.eye(4)
    T[:3, :3] = sp.eye(3) if R is None else R
    T[:3, 3] = sp.Matrix(p)
    return T


def dh(theta: sp.Expr, d: sp.Expr, a: sp.Expr, alpha: sp.Expr) -> sp.Matrix:
    """Rot_z Trans_z Trans_x Rot_x."""
    return pose(rot("z", theta), (0, 0, d)) * pose(rot("x", alpha), (a, 0, 0))


def skew(w: Sequence) -> sp.Matrix:
    return sp.Matrix([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def vee(S: sp.Matrix) -> sp.Matrix:
    return sp.Matrix([S[2, 1], S[0, 2], S[1, 0]])


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
    """Two links in a vertical plane (y up): masses m, lengths l, centers at r, inertias I about them."""

    def __init__(self, r1: Expr, r2: Expr, J1: Expr, J2: Expr):
        self.p1, self.p2 = along(r1, q1), along(l1, q1) + along(r2, q1 + q2)
        self.u1, self.u2 = rate(self.p1, Q, V), rate(self.p2, Q, V)
        self.K = sp.expand(
            m1 * self.u1.dot(self.u1) / 2 + m2 * self.u2.dot(self.u2) / 2 + J1 * v1**2 / 2 + J2 * (v1 + v2) ** 2 / 2
        )
        self.P = m1 * g * self.p1[1] + m2 * g * self.p2[1]
        self.M = mass_matrix(self.K, V)
        self.c = velocity_terms(self.K, Q, V)
        self.g = sp.Matrix([sp.diff(self.P, s) for s in Q])
        self.tau = lagrange(self.K, self.P, Q, V, A)
        self.gamma = second_derivatives(self.c, V)
        # the C of the Christoffel symbols: C_kj = Σ_i Γ_ijk q̇_i
        self.C = sp.Matrix(2, 2, lambda k, j: sum(self.gamma[i][j][k] * V[i] for i in range(2)))


@cache
def rigid() -> Planar:
    """Links with a center of mass somewhere on them and an inertia ([Poonawala], [Lagrange notes], [Lee])."""
    return Planar(lc1, lc2, I1, I2)


@cache
def points() -> Planar:
    """Massless rods with point masses at their ends ([Fakhari 3], [Lee], [Fakhari 2])."""
    return Planar(l1, l2, 0, 0)


class Abstract:
    """Any system of n coordinates: D(q) and P(q) are unknown functions, D symmetric."""

    def __init__(self, n: int):
        self.n = n
        self.q, self.v, self.a = (list(sp.symbols(f"{x}1:{n + 1}", real=True)) for x in "qva")
        self.D = sp.Matrix(n, n, lambda i, j: sp.Function(f"d{min(i, j) + 1}{max(i, j) + 1}", real=True)(*self.q))
        self.P = sp.Function("P", real=True)(*self.q)
        v = sp.Matrix(self.v)
        self.K = sp.expand((v.T * self.D * v)[0] / 2)
        self.tau = lagrange(self.K, self.P, self.q, self.v, self.a)
        self.c = velocity_terms(self.K, self.q, self.v)
        self.Ddot = rate(self.D, self.q, self.v)

    def d(self, i: int, j: int, k: int) -> sp.Expr:
        """∂d_ij / ∂q_k."""
        return sp.diff(self.D[i, j], self.q[k])

    def symbol(self, i: int, j: int, k: int) -> sp.Expr:
        """½ (∂d_kj/∂q_i + ∂d_ki/∂q_j − ∂d_ij/∂q_k): the equation's index last."""
        return (self.d(k, j, i) + self.d(k, i, j) - self.d(i, j, k)) / 2

    def C(self) -> sp.Matrix:
        n = range(self.n)
        return sp.Matrix(self.n, self.n, lambda k, j: sum(self.symbol(i, j, k) * self.v[i] for i in n))


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
