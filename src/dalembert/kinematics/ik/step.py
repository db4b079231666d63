"""One damped step toward a pose, over any scalar: what the solver repeats.

    e = (p_d − p, orientation error),   (J W J ᵀ + λ 1) y = e,   q ← q + Jᵀ y       (in weighted rows)

Levenberg–Marquardt in task space with the damping of Chan and Lawrence (1988), λ = k |e|² / 2: large far away, nothing
at the goal, so that convergence is quadratic there. A joint at its limit that would be pushed outward leaves the
problem for this step; the rest is clamped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from dalembert import scalar
from dalembert.algorithms import joints, kinematics, linear
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Frame, Model
from dalembert.spatial import Pose
from dalembert.spatial.vector import Scalar, Vector, add, cross, dot, scale, sub

DAMPING = 0.1
FLOOR = 1e-9  # added to λ: at a singularity the matrix stays invertible
CURVATURE = 1.5
AT_LIMIT = 1e-9
LENGTH = 4.0  # weight of a meter against a radian: an arm of some 0.8 m has its position ask as loudly as its axes


@dataclass(frozen=True)
class Goal:
    """Which parts of a pose count, and how much: weights of x, y, z and of the rotations about them, in the base
    frame's axes; or the direction of one axis of the tool alone."""

    weights: tuple[float, ...] = (LENGTH,) * 3 + (1.0,) * 3
    axis: int | None = None  # 0, 1, 2: only this axis of the tool is to point as the target's
    planar: bool = False  # of the orientation only the angle about the base's z, seen from above


def target_of(data: Coordinates) -> Pose:
    """The pose that the sixteen numbers of a 4×4 matrix hold."""
    return Pose((tuple(data[0:3]), tuple(data[4:7]), tuple(data[8:11])), (data[3], data[7], data[11]))


def column(R: Sequence[Vector], k: int) -> Vector:
    return tuple(R[i][k] for i in range(3))


TINY = 1e-6  # nearer than this to half a turn (as 1 + cos) the direction of the way back is lost: any will do
SOMEWHERE: Vector = (1.1, 1.2, 1.3)


def _half_angle(twice_sine: Vector, one_plus_cosine: Scalar) -> Vector:
    """2 sin(θ/2) u from (2 sin θ) u and 1 + cos θ; some vector of that length where θ is half a turn."""
    lost = one_plus_cosine < TINY
    factor = 1.0 / scalar.sqrt(2.0 * scalar.maximum(one_plus_cosine, TINY))
    return tuple(scalar.where(lost, other, factor * x) for x, other in zip(twice_sine, SOMEWHERE, strict=True))


def orientation_error(R: Sequence[Vector], target: Sequence[Vector], goal: Goal) -> tuple[Vector, Scalar]:
    """(e, |e|²) in base axes. e = 2 sin(θ/2) u, θ u being the rotation from R to the target; for one axis z of the
    tool, the rotation about z × z_d; for the plane, that about z of the base between the tool's x axes seen from
    above. The square is found from the difference of the matrices, not from e: it is right also where e loses its
    direction."""
    if goal.axis is not None:
        z, wanted = column(R, goal.axis), column(target, goal.axis)
        off = sub(wanted, z)
        return _half_angle(scale(2.0, cross(z, wanted)), 1.0 + dot(z, wanted)), dot(off, off)
    if goal.planar:
        x, wanted = _from_above(R), _from_above(target)
        sine, cosine = x[0] * wanted[1] - x[1] * wanted[0], x[0] * wanted[0] + x[1] * wanted[1]
        off = sub((*wanted, 0.0), (*x, 0.0))
        return (0.0, 0.0, _half_angle((0.0, 0.0, 2.0 * sine), 1.0 + cosine)[2]), dot(off, off)
    twice: Vector = (0.0, 0.0, 0.0)
    trace: Scalar = 0.0
    square: Scalar = 0.0
    for k in range(3):
        a, b = column(R, k), column(target, k)
        off = sub(b, a)
        twice = add(twice, cross(a, b))
        trace = trace + dot(a, b)
        square = square + 0.5 * dot(off, off)
    return _half_angle(twice, 0.5 * (1.0 + trace)), square


def _from_above(R: Sequence[Vector]) -> tuple[Scalar, Scalar]:
    """The direction of the tool's x axis in the base's x–y plane, of unit length."""
    x, y, _ = column(R, 0)
    size = scalar.sqrt(scalar.maximum(x * x + y * y, TINY * TINY))
    return x / size, y / size


def errors(T: Pose, target: Pose, goal: Goal, certain: bool = True) -> tuple[list[Scalar], Scalar, Scalar]:
    """The weighted rows that count, and the squares of the position and orientation errors among them, unweighted. If
    not `certain`, the latter is |e|² of the rows: cheaper, never small where the error is not, but rough there."""
    position = sub(target.p, T.p)
    turning = [k for k in range(3, 6) if goal.weights[k]]
    turn, whole = orientation_error(T.R, target.R, goal) if turning else ((0.0, 0.0, 0.0), 0.0)
    e = [*position, *turn]
    used = [k for k in range(6) if goal.weights[k]]
    distance: Scalar = 0.0
    for k in used:
        distance = distance + (e[k] * e[k] if k < 3 else 0.0)
    parts = len(turning) < 3 and not goal.planar and goal.axis is None  # of a rotation vector
    if turning and (parts or not certain):
        whole = 0.0
        for k in turning:
            whole = whole + e[k] * e[k]
    return [goal.weights[k] * e[k] for k in used], distance, whole


def weighted_jacobian(model: Model, T: dict[int, Pose], tip: Pose, body: int, goal: Goal) -> list[list[Scalar]]:
    """A column per coordinate, of the rows that count; those of the tool's axis without the turn about it."""
    used = [k for k in range(6) if goal.weights[k]]
    columns: list[list[Scalar]] = [[0.0] * len(used) for _ in range(model.n)]
    for i in model.path(body):
        b = model.bodies[i]
        (twist,) = joints.twists_at(b, T[i], tip.p)
        angular = twist.w
        if goal.axis is not None:
            z = column(tip.R, goal.axis)
            angular = sub(angular, scale(dot(z, angular), z))
        if goal.planar:  # φ̇ of the x axis seen from above
            x, y, z_ = column(tip.R, 0)
            tilt = z_ / scalar.maximum(x * x + y * y, TINY * TINY)
            angular = (0.0, 0.0, angular[2] - tilt * (x * angular[0] + y * angular[1]))
        moved = (*twist.v, *angular)
        for row, k in enumerate(used):
            columns[b.coordinate][row] = columns[b.coordinate][row] + b.multiplier * goal.weights[k] * moved[k]
    return columns


Damping = Callable[[Scalar], Scalar]


def quick(cost: Scalar) -> Scalar:
    """λ of targets that can be reached, k |e|² / 2."""
    return (0.5 * DAMPING) * cost + FLOOR


def careful(reach: float) -> Damping:
    """λ of targets that cannot: it stays above the curvature |e| · reach of what is left of the error there, else
    steps would overshoot the nearest point for ever."""
    return lambda cost: (CURVATURE * LENGTH * reach) * scalar.sqrt(cost + FLOOR) + FLOOR


def step(
    model: Model,
    frame: Frame,
    goal: Goal,
    limits: Sequence[tuple[float, float]],
    damping: Damping,
    q: Coordinates,
    data: Coordinates,
    fixed: Collection[int] = (),
) -> tuple[list[Scalar], list[Scalar]]:
    """(new q, [position error², orientation error², cost]) with the measures of the q given. Limits may be infinite;
    `fixed` joints do not move."""
    T = kinematics.world_poses(model, q, [frame.body])
    tip = T[frame.body] @ frame.pose
    e, position, orientation = errors(tip, target_of(data), goal, certain=False)
    cost: Scalar = 0.0
    for x in e:
        cost = cost + x * x
    J = weighted_jacobian(model, T, tip, frame.body, goal)
    J = [[0.0] * len(e) if i in fixed else _held(c, e, q[i], *limits[i]) for i, c in enumerate(J)]
    rows = range(len(e))
    added = damping(cost)
    A = [[linear.inner([c[r] for c in J], [c[s] for c in J]) + (added if r == s else 0.0) for s in rows] for r in rows]
    y = linear.solve_ldl(A, e)
    change = [linear.inner(column_, y) for column_ in J]
    new = [x + d for x, d in zip(q, change, strict=True)]
    new = [q[i] if i in fixed else _clamped(x, *limits[i]) for i, x in enumerate(new)]
    return new, [position, orientation, cost]


def _clamped(x: Scalar, low: float, high: float) -> Scalar:
    x = scalar.maximum(x, low) if low > -math.inf else x
    return scalar.minimum(x, high) if high < math.inf else x


def _held(column_: list[Scalar], e: list[Scalar], q: Scalar, low: float, high: float) -> list[Scalar]:
    """The column, or zeros where the joint is at a limit and the step would push it outward."""
    if low == -math.inf and high == math.inf:
        return column_
    push = linear.inner(column_, e)
    # At the lower limit a negative push leads out, at the upper a positive one, between them none.
    lead = scalar.where(q < low + AT_LIMIT, -push, scalar.where(q > high - AT_LIMIT, push, -1.0))
    out = lead > 0.0
    return [scalar.where(out, 0.0, x) for x in column_]
