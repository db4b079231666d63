"""Three joints that place a point: the first part of an arm, one row for each way in which its axes lie.

A row gives an `Arm`, or the reason, in words, why the chain is not of its kind. Notation as in `families`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dalembert.kinematics.ik.geometry import TOLERANCE, Chain
from dalembert.kinematics.ik.quartic import Linear, Wave, total, zeros
from dalembert.kinematics.ik.subproblems import Angle, distance, height, rotated, turn, two_turns
from dalembert.scalar import Scalar, maximum, sqrt
from dalembert.spatial.vector import Vector, add, cross, dot, scale, sub

Value = Angle | Scalar  # of a revolute or of a prismatic joint


class Branch(NamedTuple):
    """One candidate: a value per joint, how far the target lies beyond it (≤ 0: within), and whether an angle of it
    was free (1 or 0)."""

    values: tuple[Value, ...]
    excess: Scalar
    free: Scalar


Branches = list[Branch]


@dataclass(frozen=True)
class Arm:
    """How the first three joints place a point: a function of its target and of the angle to take where q₁ is free, and
    the chain with its axes turned as that function means them."""

    place: Callable[[Vector, Angle], Branches]
    chain: Chain


def _second_and_third_parallel(c: Chain, w: Vector) -> Arm | str:
    """h₂ ∥ h₃: the height of the target along h₂ gives q₁, its distance from o₂ gives q₃, its direction q₂."""
    if c.kinds[:3] != "RRR" or not c.parallel(1, 2) or c.parallel(0, 1) or c.apart(1, 2) <= TOLERANCE * c.reach:
        return "axes 2 and 3 are not parallel"
    c = c.aligned(1, 2)
    (h1, h2, h3), (o1, o2, o3) = c.axes[:3], c.points[:3]
    p12, p23, p3w = sub(o2, o1), sub(o3, o2), sub(w, o3)
    level = dot(h2, sub(w, o1))

    def place(v: Vector, free: Angle) -> Branches:
        u = sub(v, o1)
        first = height(u, h1, h2, level, free, c.reach)
        ways: Branches = []
        for (q1,) in first.solutions:
            u1 = sub(rotated(h1, -q1, u), p12)
            third = distance(h3, p3w, p23, dot(u1, u1))
            for (q3,) in third.solutions:
                q2 = turn(h2, add(p23, rotated(h3, q3, p3w)), u1, size=c.reach**2).solutions[0][0]
                ways.append(Branch((q1, q2, q3), maximum(first.excess, third.excess), first.free))
        return ways

    return Arm(place, c)


def _first_and_second_parallel(c: Chain, w: Vector) -> Arm | str:
    """h₁ ∥ h₂: the height of the target along h₁ gives q₃, its distance from o₁ gives q₂, its direction q₁."""
    if c.kinds[:3] != "RRR" or not c.parallel(0, 1) or c.parallel(1, 2) or c.apart(0, 1) <= TOLERANCE * c.reach:
        return "axes 1 and 2 are not parallel"
    c = c.aligned(0, 1)
    (h1, h2, h3), (o1, o2, o3) = c.axes[:3], c.points[:3]
    p12, p23, p3w = sub(o2, o1), sub(o3, o2), sub(w, o3)

    def place(v: Vector, free: Angle) -> Branches:
        u = sub(v, o1)
        third = height(h1, h3, p3w, dot(h1, u) - dot(h1, add(p12, p23)))
        ways: Branches = []
        for (q3,) in third.solutions:
            p2w = add(p23, rotated(h3, q3, p3w))
            second = distance(h2, p2w, p12, dot(u, u))
            for (q2,) in second.solutions:
                first = turn(h1, add(p12, rotated(h2, q2, p2w)), u, free, c.reach**2)
                (q1,) = first.solutions[0]
                ways.append(Branch((q1, q2, q3), maximum(third.excess, second.excess), first.free))
        return ways

    return Arm(place, c)


def _first_and_second_meet(c: Chain, w: Vector) -> Arm | str:
    """Axes 1 and 2 meet in o: the distance of the target from o gives q₃ (an angle or a length), then R₁ R₂ turns."""
    o = c.meeting(0, 1)
    if o is None or c.kinds[:2] != "RR" or (c.kinds[2] == "R" and c.parallel(1, 2)):
        return "axes 1 and 2 do not meet"
    (h1, h2, h3), o3 = c.axes[:3], c.points[2]

    def arm(d2: Scalar) -> tuple[list[tuple[Value, Vector]], Scalar]:
        """Both q₃ at which w is √d2 away from o, with w − o there; and the excess."""
        if c.kinds[2] == "R":
            p23, p3w = sub(o3, o), sub(w, o3)
            third = distance(h3, p3w, p23, d2)
            return [(q, add(p23, rotated(h3, q, p3w))) for (q,) in third.solutions], third.excess
        s = sub(w, o)
        along = dot(s, h3)
        inside = d2 - (dot(s, s) - along * along)
        root = sqrt(maximum(inside, 0.0))
        return [(q, add(s, scale(q, h3))) for q in (root - along, -root - along)], -inside / c.reach**2

    def place(v: Vector, free: Angle) -> Branches:
        u = sub(v, o)
        thirds, beyond = arm(dot(u, u))
        ways: Branches = []
        for q3, p2w in thirds:
            pair = two_turns(h1, h2, p2w, u, free, c.reach)
            ways += [Branch((q1, q2, q3), maximum(beyond, pair.excess), pair.free) for q1, q2 in pair.solutions]
        return ways

    return Arm(place, c)


def _second_and_third_meet(c: Chain, w: Vector) -> Arm | str:
    """Axes 2 and 3 meet in o: the target's distance from o gives q₁, then R₂ R₃ turns."""
    o = c.meeting(1, 2)
    if o is None or c.kinds[:3] != "RRR" or c.parallel(0, 1):
        return "axes 2 and 3 do not meet"
    (h1, h2, h3), o1 = c.axes[:3], c.points[0]
    p12, p2w = sub(o, o1), sub(w, o)

    def place(v: Vector, free: Angle) -> Branches:
        u = sub(v, o1)
        first = height(u, h1, p12, 0.5 * (dot(u, u) + dot(p12, p12) - dot(p2w, p2w)), free, c.reach**2)
        ways: Branches = []
        for (q1,) in first.solutions:
            pair = two_turns(h2, h3, p2w, sub(rotated(h1, -q1, u), p12), size=c.reach)
            excess, unset = maximum(first.excess, pair.excess), maximum(first.free, pair.free)
            ways += [Branch((q1, q2, q3), excess, unset) for q2, q3 in pair.solutions]
        return ways

    return Arm(place, c)


def _skew(c: Chain, w: Vector) -> Arm | str:
    """Axes 1 and 2 neither parallel nor meeting, axis 3 anywhere (Pieper's quartic).

    f = p₂₃ + R₃ p₃w is linear in cos q₃, sin q₃. With p₁₂ the common perpendicular of axes 1 and 2 and u the target
    seen from its foot, g = R₂ f has known parts along p₁₂ (from |u|² = |p₁₂ + g|²), along h₁ (h₁·g = h₁·u) and
    along h₂ (h₂·g = h₂·f): three directions that span space, so that |g|² = |f|² is an equation for q₃ alone, of
    degree two in its cosine and sine; then R₂ f = g gives q₂ and R₁(p₁₂ + g) = u gives q₁."""
    if c.kinds[:3] != "RRR" or c.parallel(0, 1) or c.meeting(0, 1) is not None:
        return "axes 1 and 2 are parallel or meet"
    h1, h2, h3 = c.axes[:3]
    (o1, o2), o3 = c.feet(0, 1), c.points[2]
    p12, p23, p3w = sub(o2, o1), sub(o3, o2), sub(w, o3)
    t = dot(h1, h2)
    b = sub(h1, scale(t, h2))
    a2, b2 = dot(p12, p12), dot(b, b)
    along = moved(h2, p23, h3, p3w)  # h₂·f
    f2 = moved(p23, scale(0.5, p23), h3, p3w)  # ½|f|² − ½|p₃w|²
    f2 = Linear(2.0 * f2.x + dot(p3w, p3w), 2.0 * f2.y, 2.0 * f2.z)

    def place(v: Vector, free: Angle) -> Branches:
        u = sub(v, o1)
        e1 = Linear(0.5 * (dot(u, u) - a2), 0.0, 0.0).plus(f2, -0.5)  # p₁₂·g
        e2 = Linear(dot(h1, u), 0.0, 0.0).plus(along, -t)  # b·g
        length2 = Wave(f2.x, f2.y, f2.z, 0.0, 0.0)
        F = total((1.0 / a2, e1.squared()), (1.0 / b2, e2.squared()), (1.0, along.squared()), (-1.0, length2))
        ways: Branches = []
        for q3, excess in zeros(F):
            f = add(p23, rotated(h3, q3, p3w))
            g = add(add(scale(e1.at(q3) / a2, p12), scale(e2.at(q3) / b2, b)), scale(along.at(q3), h2))
            q2 = turn(h2, f, g, size=c.reach**2).solutions[0][0]
            first = turn(h1, add(p12, rotated(h2, q2, f)), u, free, c.reach**2)
            ways.append(Branch((first.solutions[0][0], q2, q3), excess, first.free))
        return ways

    return Arm(place, c)


def moved(x: Vector, base: Vector, k: Vector, p: Vector) -> Linear:
    """x·(base + R(k, θ) p) as a function of θ."""
    offset = dot(x, k) * dot(k, p)
    return Linear(dot(x, base) + offset, dot(x, p) - offset, dot(x, cross(k, p)))


ARMS = (_second_and_third_parallel, _first_and_second_parallel, _first_and_second_meet, _second_and_third_meet, _skew)


def arm_of(c: Chain, w: Vector) -> Arm | str:
    """The first of the rows above that solves the first three joints for the point w, or why none does."""
    if c.kinds[2] == "R" and c.holds(2, w):
        return "the point to be placed lies on axis 3, which cannot move it"
    reasons = []
    for row in ARMS:
        found = row(c, w)
        if not isinstance(found, str):
            return found
        reasons.append(found)
    return f"of the first three joints {', '.join(reasons)}"
