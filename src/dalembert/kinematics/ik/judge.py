"""How candidates for a target are judged, over any scalar: target, distance from it, joint limits, one Newton step."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dalembert.algorithms import jacobians, kinematics, linear
from dalembert.kinematics.ik import targets
from dalembert.model import Frame, Model
from dalembert.model.model import Coordinate
from dalembert.scalar import Scalar, absolute, cos, maximum, minimum, sin, sqrt, where
from dalembert.spatial import Pose
from dalembert.spatial.vector import Matrix, Vector, add, cross, dot, matmul, matscale, matsub, sub, transpose

SLACK = 1e-7  # an angle this little outside a limit is put on it; whether it then still solves is found by the residual
DAMPING = 1e-14  # keeps the normal equations solvable at a singularity
PARTS = (1.0, 0.5, 0.1, 0.01)  # of a Newton step: where two branches meet, a whole one goes far beyond


def target(T: Sequence[Sequence[Scalar]]) -> tuple[Pose, Scalar, Scalar]:
    """The pose of a 4×4 matrix, its rotation brought nearer to one by R (3 − RᵀR)/2; how far the matrix was from a
    pose; and the sum of its entries' sizes."""
    R: Matrix = [list(row[:3]) for row in T[:3]]
    G = matmul(transpose(R), R)
    better = matscale(0.5, matsub(matscale(3.0, R), matmul(R, G)))
    return Pose(better, tuple(row[3] for row in T[:3])), targets.defect(T), targets.extent(T)


def miss(T: Pose, wanted: Pose, task: str) -> Scalar:
    """The larger of the distance [m] and of 2 sin(θ/2), θ the angle between the orientations (if they count)."""
    p = sub(T.p, wanted.p)
    apart = dot(p, p)
    if task == "position":
        return sqrt(apart)
    rows = [sub(a, b) for a, b in zip(T.R, wanted.R, strict=True)]
    return sqrt(maximum(apart, 0.5 * (dot(rows[0], rows[0]) + dot(rows[1], rows[1]) + dot(rows[2], rows[2]))))


def settled(x: Scalar, c: Coordinate) -> tuple[Scalar, Scalar]:
    """A joint's position, an angle in (−π, π], shifted by full turns into its limits, the nearest turn first, and put
    on a limit that it passes by no more than rounding; and by how much it lies outside (0: inside)."""
    if c.joint.periodic and c.lower <= -math.pi and c.upper >= math.pi:
        return x, 0.0
    best, outside = x, _outside(x, c)
    for m in _turns(c):
        y = x + 2 * math.pi * m
        beyond = _outside(y, c)
        best, outside = where(beyond < outside, y, best), where(beyond < outside, beyond, outside)
    near = outside <= SLACK
    clipped = best
    if math.isfinite(c.lower):
        clipped = maximum(clipped, c.lower)
    if math.isfinite(c.upper):
        clipped = minimum(clipped, c.upper)
    return where(near, clipped, best), where(near, 0.0, outside)


def _turns(c: Coordinate) -> list[int]:
    """The full turns, but none, that can bring an angle in (−π, π] into the limits, nearest first."""
    if not c.joint.periodic:
        return []
    low = c.lower if math.isfinite(c.lower) else min(c.upper, math.pi) - 2 * math.pi
    high = c.upper if math.isfinite(c.upper) else max(c.lower, -math.pi) + 2 * math.pi
    first, last = (math.floor((bound + math.pi) / (2 * math.pi)) for bound in (low - SLACK, high + SLACK))
    return sorted((m for m in range(first, last + 1) if m), key=lambda m: (abs(m), m))


def _outside(x: Scalar, c: Coordinate) -> Scalar:
    """How far a position lies outside limits, zero inside."""
    outside: Scalar = 0.0
    if math.isfinite(c.lower):
        outside = maximum(c.lower - x, outside)
    if math.isfinite(c.upper):
        outside = maximum(x - c.upper, outside)
    return outside


def difference(q: Sequence[Scalar], p: Sequence[Scalar], periodic: Sequence[bool]) -> Scalar:
    """The largest difference between two joint positions: of points on the circle, or of lengths."""
    largest: Scalar = 0.0
    for a, b, around in zip(q, p, periodic, strict=True):
        pairs = [(cos(a), cos(b)), (sin(a), sin(b))] if around else [(a, b)]
        for x, y in pairs:
            largest = maximum(absolute(x - y), largest)
    return largest


def improved(model: Model, frame: Frame, task: str, T: Pose, q: Sequence[Scalar]) -> list[Scalar]:
    """One damped Newton step, (JᵀJ + λ) Δq = Jᵀe: the whole of it or parts, the one that brings nearest."""
    here = kinematics.frame_pose(model, q, frame)
    e: list[Scalar] = list(sub(T.p, here.p))
    if task == "pose":
        e += _turn_error(here.R, T.R)
    Jt = linear.transposed(jacobians.jacobian(model, q, frame)[: len(e)])
    JtJ = linear.product(Jt, linear.transposed(Jt))
    A = [[x + (DAMPING if i == j else 0.0) for j, x in enumerate(row)] for i, row in enumerate(JtJ)]
    step = linear.solve_ldl(A, linear.apply(Jt, e))
    best, nearest = list(q), miss(here, T, task)
    for part in PARTS:
        there = [x + part * dx for x, dx in zip(q, step, strict=True)]
        distance = miss(kinematics.frame_pose(model, there, frame), T, task)
        best = [where(distance < nearest, a, b) for a, b in zip(there, best, strict=True)]
        nearest = where(distance < nearest, distance, nearest)
    return best


def _turn_error(R: Matrix, wanted: Matrix) -> list[Scalar]:
    """½ Σ rᵢ × wᵢ over the columns: sin θ times the axis from R to what is wanted, in base axes."""
    total: Vector = (0.0, 0.0, 0.0)
    for a, b in zip(transpose(R), transpose(wanted), strict=True):
        total = add(total, cross(a, b))
    return [0.5 * x for x in total]
