"""Subproblems of inverse kinematics, over any scalar: which rotations about given axes carry what where.

Numbered as Paden and Kahan number them (Murray, Li, Sastry 1994, §3.3; Elias and Wen, "IK-Geo", 2022). An angle is the
pair (cos, sin), so that rotations compose without trigonometry; `radians` ends a computation. Nothing branches: a
problem with two solutions returns both, one without a solution the nearest points, and every answer comes
with its `excess`: how far, relative to the lengths involved, the data lie beyond what a rotation can do (≤ 0:
solved). Where every angle is a solution, the angle is the `free` one that the caller gives.
"""

from __future__ import annotations

from typing import NamedTuple

from dalembert.scalar import Scalar, absolute, arctan2, maximum, minimum, sqrt, where
from dalembert.spatial.vector import Vector, add, cross, dot, scale, sub

# Below this part of its largest value, a distance from an axis is rounding: the angle about it is free.
FREE = 1e-13
# Keeps a division by a length that may vanish finite.
TINY = 1e-290


class Angle(NamedTuple):
    """An angle by its cosine and sine."""

    c: Scalar
    s: Scalar

    def __neg__(self) -> Angle:
        return Angle(self.c, -self.s)

    def plus(self, other: Angle) -> Angle:
        return Angle(self.c * other.c - self.s * other.s, self.s * other.c + self.c * other.s)

    def minus(self, other: Angle) -> Angle:
        return self.plus(-other)

    def radians(self) -> Scalar:
        """In (−π, π]."""
        return arctan2(self.s, self.c)


class Turns(NamedTuple):
    """The solutions of a subproblem (one angle each, or a tuple of angles), its excess, and whether an angle was
    free, as a number: 1 or 0."""

    solutions: tuple[tuple[Angle, ...], ...]
    excess: Scalar
    free: Scalar


ZERO = Angle(1.0, 0.0)


def rotated(k: Vector, angle: Angle, p: Vector) -> Vector:
    """R(k, θ) p for a unit vector k (Rodrigues)."""
    along = dot(k, p)
    return add(add(scale(angle.c, p), scale(angle.s, cross(k, p))), scale(along - along * angle.c, k))


def norm(p: Vector) -> Scalar:
    return sqrt(dot(p, p))


def _chosen(free: Scalar, a: Angle, b: Angle) -> Angle:
    return Angle(where(free, a.c, b.c), where(free, a.s, b.s))


def _flag(condition: Scalar) -> Scalar:
    return where(condition, 1.0, 0.0)


def turn(k: Vector, p: Vector, v: Vector, free: Angle = ZERO, size: Scalar = 1.0) -> Turns:
    """Subproblem 1: θ with R(k, θ) p = v, or as near to v as it gets.

    tan θ = k·(p × v) / (k × p)·(k × v). `size` is what |p||v| may come to: where both vanish beside it, θ is free.
    The excess is the distance of v from the circle's plane, and the difference of the radii, the larger."""
    a, b = cross(k, p), cross(k, v)  # across k from the start: nothing cancels for vectors that nearly lie on it
    x, y = dot(a, b), dot(k, cross(a, b))
    r = sqrt(x * x + y * y)
    undetermined = r <= FREE * FREE * size
    inverse = 1.0 / maximum(r, TINY)
    angle = _chosen(undetermined, free, Angle(x * inverse, y * inverse))
    excess = maximum(absolute(dot(k, p) - dot(k, v)), absolute(norm(a) - norm(b)))
    return Turns(((angle,),), excess, _flag(undetermined))


def height(h: Vector, k: Vector, p: Vector, d: Scalar, free: Angle = ZERO, size: Scalar = None) -> Turns:
    """Subproblem 4: both θ with h·R(k, θ) p = d, i.e. a cos θ + b sin θ = e.

    a = (k × h)·(k × p), b = h·(k × p), e = d − (h·k)(k·p); excess (|e| − √(a² + b²)) / size. `size` is what |h||p| may
    come to, that product itself unless given: where a and b vanish beside it, θ is free."""
    offset = dot(h, k) * dot(k, p)
    kp = cross(k, p)
    a, b, e = dot(cross(k, h), kp), dot(h, kp), d - offset
    r = sqrt(a * a + b * b)
    size = sqrt(dot(h, h) * dot(p, p)) if size is None else size
    undetermined = r <= FREE * size
    inverse = 1.0 / maximum(r, TINY)
    x, y, z = a * inverse, b * inverse, maximum(minimum(e * inverse, 1.0), -1.0)
    w = sqrt((1.0 - z) * (1.0 + z))
    both = (Angle(x * z - y * w, y * z + x * w), Angle(x * z + y * w, y * z - x * w))
    solutions = tuple((_chosen(undetermined, free, angle),) for angle in both)
    return Turns(solutions, (absolute(e) - r) / maximum(size, TINY), _flag(undetermined))


def distance(k: Vector, p: Vector, v: Vector, d2: Scalar, free: Angle = ZERO) -> Turns:
    """Subproblem 3: both θ with |v + R(k, θ) p|² = d2.  A height: 2 v·R p = d2 − |v|² − |p|²."""
    return height(v, k, p, 0.5 * (d2 - dot(v, v) - dot(p, p)), free)


def two_turns(k1: Vector, k2: Vector, p: Vector, v: Vector, free: Angle = ZERO, size: Scalar = 1.0) -> Turns:
    """Subproblem 2: both (θ₁, θ₂) with R(k₁, θ₁) R(k₂, θ₂) p = v, for |p| = |v| and axes that are not parallel.

    z = R(k₂, θ₂) p = R(k₁, −θ₁) v has known heights along both axes: with e₂ the part of k₂ across k₁, normalized, and
    e₃ = k₁ × e₂, z = (k₁·v) k₁ + m e₂ ± √(|k₁ × v|² − m²) e₃ and m = (k₂·p − (k₁·k₂)(k₁·v)) / |k₁ × k₂|. So written,
    nothing cancels where v comes to lie on k₁ (the wrist's singularity), where θ₁ is free. `size` is what |v| may
    come to."""
    b = dot(k1, k2)
    e2 = sub(k2, scale(b, k1))
    e2 = scale(1.0 / norm(e2), e2)
    e3 = cross(k1, e2)
    along = dot(k1, v)
    rho = norm(cross(k1, v))
    m = dot(e2, p) if _is_across(k1, k2) else (dot(k2, p) - b * along) / norm(cross(k1, k2))
    gamma = sqrt(maximum((rho - m) * (rho + m), 0.0))
    foot = add(scale(along, k1), scale(maximum(minimum(m, rho), -rho), e2))
    undetermined = rho <= FREE * size
    solutions = []
    for z in (add(foot, scale(gamma, e3)), sub(foot, scale(gamma, e3))):
        first = _chosen(undetermined, free, turn(k1, z, v, free, size * size).solutions[0][0])
        second = turn(k2, p, z, ZERO, size * size).solutions[0][0]
        solutions.append((first, second))
    return Turns(tuple(solutions), (absolute(m) - rho) / size, _flag(undetermined))


def _is_across(k1: Vector, k2: Vector) -> bool:
    """Whether two constant axes are exactly perpendicular: then k₂ is e₂, and fewer operations do."""
    b = dot(k1, k2)
    return isinstance(b, float) and b == 0.0


def three_turns(k1: Vector, k2: Vector, k3: Vector, v: Vector, x: Vector, free: Angle = ZERO) -> Turns:
    """Both (θ₁, θ₂, θ₃) with R(k₁, θ₁) R(k₂, θ₂) R(k₃, θ₃) = Q, of which v = Q k₃ and x = Q across(k₃) are given; no
    two neighboring axes are parallel, and k₃ is constant.

    v = R₁ R₂ k₃ is subproblem 2; θ₃ turns across(k₃) into place. Where v lies on k₁, only a combination of θ₁ and θ₃ is
    determined: θ₃ is the `free` angle."""
    pair = two_turns(k1, k2, k3, v)
    solutions = [outer_turns(k1, k2, k3, v, x, q2, free, q1).solutions[0] for q1, q2 in pair.solutions]
    return Turns(tuple(solutions), pair.excess, pair.free)


def outer_turns(
    k1: Vector,
    k2: Vector,
    k3: Vector,
    v: Vector,
    x: Vector,
    second: Angle,
    free: Angle = ZERO,
    first: Angle | None = None,
) -> Turns:
    """The same where θ₂ is known (and perhaps θ₁, as it is off the singularity): one solution."""
    singular = norm(cross(k1, v)) <= FREE
    a = across(k3)
    if first is None:
        first = turn(k1, rotated(k2, second, k3), v).solutions[0][0]
    held = sub(scale(free.c, x), scale(free.s, cross(v, x)))  # Q R₃ᵀ a = R₁ R₂ a, if θ₃ = free
    alone = turn(k1, rotated(k2, second, a), held).solutions[0][0]
    one = _chosen(singular, alone, first)
    back = rotated(k2, -second, rotated(k1, -one, x))  # R₃ a
    third = turn(k3, a, back).solutions[0][0]
    return Turns(((one, second, third),), absolute(dot(k1, sub(v, rotated(k2, second, k3)))), _flag(singular))


def across(k: Vector) -> Vector:
    """A constant unit vector across a constant axis."""
    least = min(range(3), key=lambda i: abs(k[i]))
    other = cross(k, tuple(1.0 if i == least else 0.0 for i in range(3)))
    return scale(1.0 / float(norm(other)), other)
