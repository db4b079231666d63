"""The families of chains that are solved in closed form, one row each: how a chain is recognized, how it is solved.

A row's `match` gives either a function (target, free) → Branches over any scalar, or the reason, in words, why the
chain is not of the family. Axes h, points o and differences p₁₂ = o₂ − o₁ are those at q = 0 in the base frame, so
that a point w of the last link is carried to o₁ + R₁(p₁₂ + R₂(p₂₃ + …)), Rᵢ = R(hᵢ, qᵢ).
Decompositions: Pieper 1968; Murray, Li, Sastry 1994, §3.3; Elias and Wen, "IK-Geo" (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dalembert.kinematics.ik.arms import Branch, Branches, Value, arm_of, moved
from dalembert.kinematics.ik.geometry import TOLERANCE, Chain, across_part, back
from dalembert.kinematics.ik.quartic import Linear, Wave, total, zeros
from dalembert.kinematics.ik.subproblems import (
    FREE,
    Angle,
    across,
    distance,
    height,
    outer_turns,
    rotated,
    three_turns,
    turn,
)
from dalembert.scalar import Scalar, maximum, sqrt, where
from dalembert.spatial import Pose
from dalembert.spatial.vector import ZERO as ORIGIN, Vector, add, dot, matvec, matvec_t, scale, sub

Solver = Callable[[Pose, Sequence[Angle]], Branches]
Match = Callable[[Chain], "Plan | str"]


@dataclass(frozen=True)
class Plan:
    """How one chain is solved: a function of target and free angles, the number of its branches, what it reaches
    ("pose" or "position"), and the signs that its axes were given."""

    family: str
    solve: Solver
    count: int
    signs: tuple[float, ...]
    task: str = "pose"


@dataclass(frozen=True)
class Family:
    """A row: a name, the joints' kinds it may have, and its recognizer."""

    name: str
    kinds: tuple[str, ...]
    match: Match


def _turned_back(steps: Sequence[tuple[Vector, Angle]], a: Vector) -> Vector:
    """R₃ᵀ R₂ᵀ R₁ᵀ a; neighboring rotations about one axis are one."""
    merged: list[tuple[Vector, Angle]] = []
    for h, q in steps:
        if merged and tuple(merged[-1][0]) == tuple(h):
            merged[-1] = (h, merged[-1][1].plus(q))
        else:
            merged.append((h, q))
    for h, q in merged:
        a = rotated(h, -q, a)
    return a


def _wrist(c: Chain) -> Plan | str:
    """The last three axes meet in w: the first three joints place w, the last three turn the hand."""
    w = c.meeting(3, 4)
    if w is None or not c.holds(5, w) or c.meeting(4, 5) is None:
        return "the last three axes do not meet in a point"
    arm = arm_of(c, w)
    if isinstance(arm, str):
        return f"the last three axes meet in a point, but {arm}"
    in_hand = back(c.home, w)
    axes, (h4, h5, h6) = arm.chain.axes, c.axes[3:]
    along, aside = (matvec_t(c.home.R, a) for a in (h6, across(h6)))

    def solve(T: Pose, free: Sequence[Angle]) -> Branches:
        v, x = matvec(T.R, along), matvec(T.R, aside)
        branches: Branches = []
        for arm_values, excess, unset in arm.place(add(T.p, matvec(T.R, in_hand)), free[0]):
            steps = [(h, q) for h, q in zip(axes, arm_values, strict=False) if isinstance(q, Angle)]
            hand = three_turns(h4, h5, h6, _turned_back(steps, v), _turned_back(steps, x), free[5])
            beyond, either = maximum(excess, hand.excess), maximum(unset, hand.free)
            branches += [Branch((*arm_values, *turns), beyond, either) for turns in hand.solutions]
        return branches

    return Plan("6R with a spherical wrist", solve, 8, arm.chain.signs)


class Turned(NamedTuple):
    """One way to turn the hand of a chain with h₂ ∥ h₃ ∥ h₄."""

    q1: Angle
    q234: Angle
    q5: Angle
    q6: Angle
    excess: Scalar
    free: Scalar


Turner = Callable[[Vector, Vector, Vector, Sequence[Angle]], list[Turned]]  # of u, v, x, free


def _three_parallel(c: Chain) -> Plan | str:
    """h₂ ∥ h₃ ∥ h₄: R₂R₃R₄ is one rotation, by q₂₃₄. Heights along h₂, which it leaves alone, give q₁ and q₅; then
    (q₂₃₄, q₅, q₆) turn the hand as a wrist does, and what is left is a planar arm of two links."""
    if not (c.parallel(1, 2) and c.parallel(2, 3)):
        return "axes 2, 3 and 4 are not parallel"
    if c.parallel(0, 1) or c.parallel(3, 4) or c.parallel(4, 5):
        return "axes 2, 3 and 4 are parallel, but other neighbors are too"
    if min(c.apart(1, 2), c.apart(2, 3)) <= TOLERANCE * c.reach:
        return "axes 2, 3 and 4 are parallel, but two of them coincide"
    c = c.aligned(1, 2, 3)
    (h1, h, _, _, _, h6), (o1, o2, o3, o4, *_) = c.axes, c.points
    meeting = c.meeting(4, 5)
    w5, w6 = c.feet(4, 5) if meeting is None else (meeting, meeting)
    turned = _skew_hand(c, w5, w6) if meeting is None else _meeting_hand(c, meeting)
    p12, p23, p34, p45, p56 = sub(o2, o1), sub(o3, o2), sub(o4, o3), sub(w5, o4), sub(w6, w5)
    in_hand = back(c.home, w6)
    along, aside = (matvec_t(c.home.R, a) for a in (h6, across(h6)))

    def solve(T: Pose, free: Sequence[Angle]) -> Branches:
        u = sub(add(T.p, matvec(T.R, in_hand)), o1)
        branches: Branches = []
        for q1, q234, q5, q6, excess, unset in turned(u, matvec(T.R, along), matvec(T.R, aside), free):
            lever = rotated(h, q234, add(p45, rotated(c.axes[4], q5, p56)))
            u2 = sub(sub(rotated(h1, -q1, u), p12), lever)
            third = distance(h, p34, p23, dot(u2, u2))
            for (q3,) in third.solutions:
                q2 = turn(h, add(p23, rotated(h, q3, p34)), u2, size=c.reach**2).solutions[0][0]
                values = (q1, q2, q3, q234.minus(q2.plus(q3)), q5, q6)
                branches.append(Branch(values, maximum(excess, third.excess), unset))
        return branches

    return Plan("6R with three parallel axes", solve, 8, c.signs)


def _meeting_hand(c: Chain, w: Vector) -> Turner:
    """Axes 5 and 6 meet in w: its height along h₂ gives q₁; the wrist's two solutions follow."""
    (h1, h, _, _, h5, h6), o1 = c.axes, c.points[0]
    level = dot(h, sub(w, o1))

    def turned(u: Vector, v: Vector, x: Vector, free: Sequence[Angle]) -> list[Turned]:
        first = height(u, h1, h, level, free[0], c.reach)
        ways = []
        for (q1,) in first.solutions:
            hand = three_turns(h, h5, h6, rotated(h1, -q1, v), rotated(h1, -q1, x), free[5])
            excess, unset = maximum(first.excess, hand.excess), maximum(first.free, hand.free)
            ways += [Turned(q1, q234, q5, q6, excess, unset) for q234, q5, q6 in hand.solutions]
        return ways

    return turned


def _skew_hand(c: Chain, w5: Vector, w6: Vector) -> Turner:
    """Axes 5 and 6 with a common perpendicular p₅₆: the heights of w₆ and of the direction of axis 6,

        h·R₁ᵀ u = h·(w₅ − o₁) + h·R₅ p₅₆,    h·R₁ᵀ v = h·R₅ h₆,

    are two equations linear in (cos q₅, sin q₅), of which the matrix N is constant, with (cos q₁, sin q₁) on the right:
    cos² q₅ + sin² q₅ = 1 is of degree two in cos q₁ and sin q₁."""
    (h1, h, _, _, h5, h6), o1 = c.axes, c.points[0]
    p56 = sub(w6, w5)
    by_p, by_h = moved(h, ORIGIN, h5, p56), moved(h, ORIGIN, h5, h6)
    det = by_p.y * by_h.z - by_p.z * by_h.y
    level = dot(h, sub(w5, o1)) + by_p.x

    def turned(u: Vector, v: Vector, x: Vector, free: Sequence[Angle]) -> list[Turned]:
        high = moved(u, ORIGIN, h1, h).plus(Linear(level, 0.0, 0.0), -1.0)
        tilt = moved(v, ORIGIN, h1, h).plus(Linear(by_h.x, 0.0, 0.0), -1.0)
        cosine = Linear(*(by_h.z / det * a for a in high)).plus(tilt, -by_p.z / det)
        sine = Linear(*(-by_h.y / det * a for a in high)).plus(tilt, by_p.y / det)
        F = total((1.0, cosine.squared()), (1.0, sine.squared()), (1.0, Wave(-1.0, 0.0, 0.0, 0.0, 0.0)))
        ways = []
        for q1, excess in zeros(F):
            c5, s5 = cosine.at(q1), sine.at(q1)
            r = maximum(sqrt(c5 * c5 + s5 * s5), 1e-200)
            q5 = Angle(c5 / r, s5 / r)
            hand = outer_turns(h, h5, h6, rotated(h1, -q1, v), rotated(h1, -q1, x), q5, free[5])
            q234, _, q6 = hand.solutions[0]
            ways.append(Turned(q1, q234, q5, q6, excess, hand.free))
        return ways

    return turned


def _parallel_arm(c: Chain) -> Plan | str:
    """Three parallel revolute axes, and perhaps a prismatic one along them: planar 3R, SCARA. The hand's angle is the
    sum of the three; the point where the last revolute axis stands is placed by the first two; the slide takes the
    height."""
    turning = [i for i, kind in enumerate(c.kinds) if kind == "R"]
    sliding = [i for i, kind in enumerate(c.kinds) if kind == "P"]
    if not all(c.parallel(turning[0], j) for j in (*turning, *sliding)):
        return "its axes are not all parallel"
    i, j, k = turning
    if min(c.apart(i, j), c.apart(j, k)) <= TOLERANCE * c.reach:
        return "two of its parallel axes coincide"
    c = c.aligned(i, j, k, *sliding)
    h = c.axes[i]
    o1, o2, o3 = c.points[i], c.points[j], c.points[k]
    p12, p23 = across_part(h, sub(o2, o1)), across_part(h, sub(o3, o2))
    in_hand = back(c.home, o3)
    a = across(h)
    aside = matvec_t(c.home.R, a)

    def solve(T: Pose, free: Sequence[Angle]) -> Branches:
        u = sub(add(T.p, matvec(T.R, in_hand)), o1)
        u = sub(u, scale(dot(h, u), h))
        total = turn(h, a, matvec(T.R, aside)).solutions[0][0]
        second = distance(h, p23, p12, dot(u, u))
        branches: Branches = []
        for (q2,) in second.solutions:
            q1 = turn(h, add(p12, rotated(h, q2, p23)), u, free[i], c.reach**2).solutions[0][0]
            values: dict[int, Value] = {i: q1, j: q2, k: total.minus(q1.plus(q2))}
            values |= {s: dot(h, sub(T.p, c.home.p)) for s in sliding}
            ordered = tuple(values[m] for m in range(len(c.kinds)))
            branches.append(Branch(ordered, second.excess, _vanishes(u, c.reach)))
        return branches

    return Plan("SCARA" if sliding else "planar 3R", solve, 2, c.signs)


def _planar_pair(c: Chain) -> Plan | str:
    """Two parallel revolute axes: the tip's distance from axis 1 gives q₂, its direction q₁. Position only."""
    if not c.parallel(0, 1):
        return "its axes are not parallel"
    if c.apart(0, 1) <= TOLERANCE * c.reach or c.holds(1, c.home.p):
        return "two of its axes coincide, or the tip lies on the last"
    c = c.aligned(0, 1)
    h, (o1, o2) = c.axes[0], c.points
    p12, p2t = across_part(h, sub(o2, o1)), across_part(h, sub(c.home.p, o2))

    def solve(T: Pose, free: Sequence[Angle]) -> Branches:
        u = sub(T.p, o1)
        u = sub(u, scale(dot(h, u), h))
        second = distance(h, p2t, p12, dot(u, u))
        branches: Branches = []
        for (q2,) in second.solutions:
            q1 = turn(h, add(p12, rotated(h, q2, p2t)), u, free[0], c.reach**2).solutions[0][0]
            branches.append(Branch((q1, q2), second.excess, _vanishes(u, c.reach)))
        return branches

    return Plan("planar 2R", solve, 2, c.signs, "position")


def _backwards(match: Match) -> Match:
    """The same family recognized from the other end: the hand fixed, the base moved."""

    def matched(c: Chain) -> Plan | str:
        plan = match(c.reversed())
        if isinstance(plan, str):
            return f"nor seen from its tip: {plan}"

        def solve(T: Pose, free: Sequence[Angle]) -> Branches:
            return [b._replace(values=b.values[::-1]) for b in plan.solve(T.inverse(), free[::-1])]

        return Plan(f"{plan.family}, from its tip", solve, plan.count, plan.signs[::-1], plan.task)

    return matched


def _vanishes(u: Vector, size: float) -> Scalar:
    """1 where a vector is nothing beside a length, else 0."""
    return where(dot(u, u) <= (FREE * size) ** 2, 1.0, 0.0)


def _positioner(c: Chain) -> Plan | str:
    """Three joints that place the tip: position only."""
    arm = arm_of(c, c.home.p)
    if isinstance(arm, str):
        return arm

    def solve(T: Pose, free: Sequence[Angle]) -> Branches:
        return arm.place(T.p, free[0])

    return Plan("three joints that place a point", solve, 4, arm.chain.signs, "position")


FAMILIES = (
    Family("6R with a spherical wrist", ("RRRRRR", "RRPRRR"), _wrist),
    Family("6R with three parallel axes", ("RRRRRR",), _three_parallel),
    Family("6R with a spherical wrist, from its tip", ("RRRRRR", "RRRPRR"), _backwards(_wrist)),
    Family("6R with three parallel axes, from its tip", ("RRRRRR",), _backwards(_three_parallel)),
    Family("SCARA", ("RRPR", "RRRP", "RPRR", "PRRR"), _parallel_arm),
    Family("planar 3R", ("RRR",), _parallel_arm),
    Family("three joints that place a point", ("RRR", "RRP"), _positioner),
    Family("planar 2R", ("RR",), _planar_pair),
)


def plan_of(c: Chain) -> Plan | str:
    """How a chain is solved, by the first family that it belongs to; or why it is not, in words."""
    rows = [family for family in FAMILIES if c.kinds in family.kinds]
    if not rows:
        known = ", ".join(sorted({kinds for family in FAMILIES for kinds in family.kinds}, key=lambda k: (len(k), k)))
        spare = "; a target leaves it free joints to choose" if len(c.kinds) > 6 else ""
        return f"its {len(c.kinds)} joints are {c.kinds}{spare}: closed forms are here for {known}"
    reasons = []
    for family in rows:
        found = family.match(c)
        if not isinstance(found, str):
            return found
        reasons.append(found)
    return "; ".join(dict.fromkeys(reasons))
