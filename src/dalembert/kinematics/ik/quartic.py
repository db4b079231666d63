"""The four zeros of a trigonometric polynomial of degree two, over any scalar: what chains come to whose axes neither
meet nor are parallel.

    F(θ) = f₀ + a₁ cos θ + b₁ sin θ + a₂ cos 2θ + b₂ sin 2θ

With z = e^{iθ}, 2 z² F = w₂ z⁴ + w₁ z³ + 2f₀ z² + w̄₁ z + w̄₂, w = a − i b: a quartic whose zeros on the unit circle are
those of F; the others come in pairs z, 1/z̄. All four are found at once by Aberth's iteration (1973), a fixed number of
steps without a branch, then all are put on the circle and improved by Newton's method on F.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from typing import NamedTuple

from dalembert.algorithms import linear
from dalembert.kinematics.ik.subproblems import Angle
from dalembert.scalar import Scalar, absolute, maximum, minimum, sqrt, where

Complex = tuple[Scalar, Scalar]

STEPS = 20  # of Aberth's iteration: cubic once near, linear toward a double zero
POLISH = 2  # of Newton's method on the circle
LARGEST = 0.01  # [rad] step of it
# Starts that share no symmetry with the zeros.
STARTS = tuple((r * cos(t), r * sin(t)) for r, t in zip((0.9, 1.15, 0.8, 1.05), (0.4, 2.1, 3.5, 5.2), strict=True))
FAR = 16.0  # where a zero on its way to infinity is held: it is none of F's
TINY = 1e-140
SMALL = 1e-30  # what a square is taken for that is less: inverses stay below 1e15, and products of them finite


class Wave(NamedTuple):
    """A trigonometric polynomial of degree two."""

    f0: Scalar
    a1: Scalar
    b1: Scalar
    a2: Scalar
    b2: Scalar

    def value(self, q: Angle) -> Scalar:
        c2, s2 = q.c * q.c - q.s * q.s, 2.0 * q.c * q.s
        return self.f0 + self.a1 * q.c + self.b1 * q.s + self.a2 * c2 + self.b2 * s2

    def slope(self, q: Angle) -> Scalar:
        c2, s2 = q.c * q.c - q.s * q.s, 2.0 * q.c * q.s
        return self.b1 * q.c - self.a1 * q.s + 2.0 * (self.b2 * c2 - self.a2 * s2)


class Linear(NamedTuple):
    """x + y cos θ + z sin θ."""

    x: Scalar
    y: Scalar
    z: Scalar

    def plus(self, other: Linear, factor: Scalar = 1.0) -> Linear:
        return Linear(*(a + factor * b for a, b in zip(self, other, strict=True)))

    def at(self, q: Angle) -> Scalar:
        return self.x + self.y * q.c + self.z * q.s

    def squared(self) -> Wave:
        x, y, z = self
        return Wave(x * x + 0.5 * (y * y + z * z), 2.0 * x * y, 2.0 * x * z, 0.5 * (y * y - z * z), y * z)


def total(*terms: tuple[Scalar, Wave]) -> Wave:
    """The sum of multiples of waves."""
    return Wave(*(linear.total([factor * wave[i] for factor, wave in terms]) for i in range(5)))


def zeros(F: Wave) -> list[tuple[Angle, Scalar]]:
    """Four angles, each with its excess: |F| there, relative to F's largest coefficient (0: a zero of F)."""
    largest: Scalar = TINY
    for x in F:
        largest = maximum(absolute(x), largest)
    F = Wave(*(x / largest for x in F))
    z = list(STARTS)
    for _ in range(STEPS):
        z = _aberth(F, z)
    found = []
    for x, y in z:
        r = sqrt(x * x + y * y)
        inner = r <= TINY  # a zero in the origin, whose partner is at infinity
        q = Angle(where(inner, 1.0, x / maximum(r, TINY)), where(inner, 0.0, y / maximum(r, TINY)))
        for _ in range(POLISH):
            q = _newton(F, q)
        found.append((q, absolute(F.value(q))))
    return found


def _newton(F: Wave, q: Angle) -> Angle:
    slope = F.slope(q)
    step = -F.value(q) / where(absolute(slope) <= 1e-12, 1.0, slope)
    step = maximum(minimum(step, LARGEST), -LARGEST)
    c, s = q.c - step * q.s, q.s + step * q.c
    r = sqrt(c * c + s * s)
    return Angle(c / r, s / r)


def _times(a: Complex, b: Complex) -> Complex:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def _inverse(a: Complex) -> Complex:
    n = 1.0 / maximum(a[0] * a[0] + a[1] * a[1], SMALL)
    return a[0] * n, -a[1] * n


def _held(x: Scalar) -> Scalar:
    return maximum(minimum(x, FAR), -FAR)


def _aberth(F: Wave, z: Sequence[Complex]) -> list[Complex]:
    """z − N / (1 − N Σ 1/(z − z_j)), N = P/P′ at z, for all four at once."""
    f0, a1, b1, a2, b2 = F
    P = [(a2, -b2), (a1, -b1), (2.0 * f0, 0.0), (a1, b1), (a2, b2)]
    between = {(i, j): _inverse((z[i][0] - z[j][0], z[i][1] - z[j][1])) for i in range(4) for j in range(i)}
    result = []
    for i, x in enumerate(z):
        value, slope = P[0], (0.0, 0.0)
        for coefficient in P[1:]:
            moved = _times(slope, x)
            slope = (moved[0] + value[0], moved[1] + value[1])
            moved = _times(value, x)
            value = (moved[0] + coefficient[0], moved[1] + coefficient[1])
        N = _times(value, _inverse(slope))
        others = [between[i, j] if j < i else (-between[j, i][0], -between[j, i][1]) for j in range(4) if j != i]
        crowd = _times(N, (linear.total([o[0] for o in others]), linear.total([o[1] for o in others])))
        step = _times(N, _inverse((1.0 - crowd[0], -crowd[1])))
        result.append((_held(x[0] - step[0]), _held(x[1] - step[1])))
    return result
