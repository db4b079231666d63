"""Constraints on a mechanism's motion: φ(q) = 0 or A(q) q̇ = 0, with A = ∂φ/∂q and the drift Ȧ q̇.

A constraint is a plain function of (model, q, q̇) that gives its `Terms`. Relations between two frames are
differentiated by hand up to the frames' twists and by jets from there; functions of a user's own by jets alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dalembert.algorithms import joints, kinematics, newton_euler
from dalembert.algorithms.joints import Coordinates
from dalembert.algorithms.relations import Basis, Relation
from dalembert.model import Frame, Model
from dalembert.scalar.jet import Jet, jet
from dalembert.spatial import Motion, Pose
from dalembert.spatial.vector import (
    ZERO,
    Matrix,
    Scalar,
    Vector,
    add,
    cross,
    matmul,
    matvec,
    matvec_t,
    neg,
    skew,
    sub,
    transpose,
)


@dataclass(frozen=True)
class Terms:
    """φ (zeros where a constraint has none), A (k×n) and Ȧ q̇, row by row."""

    phi: list[Scalar]
    A: list[list[Scalar]]
    drift: list[Scalar]


Function = Callable[[Model, Coordinates, Coordinates], Terms]


def stacked(parts: Sequence[Terms]) -> Terms:
    """The rows of several constraints, one below the other."""
    return Terms(
        [x for part in parts for x in part.phi],
        [row for part in parts for row in part.A],
        [x for part in parts for x in part.drift],
    )


# ------------------------------------------------------------------------------------------ two frames held together
@dataclass(frozen=True)
class FrameConstraint:
    """A relation between two frames of a model, with its directions and length."""

    relation: Relation
    first: Frame
    second: Frame
    basis: Basis
    length: float = 1.0

    def __call__(self, model: Model, q: Coordinates, qd: Coordinates) -> Terms:
        return frame_terms(self, model, q, qd)

    def residual(self, r: Vector, S: Matrix) -> list[Scalar]:
        return self.relation.residual(r, S, self.basis, self.length)


def frame_terms(c: FrameConstraint, model: Model, q: Coordinates, qd: Coordinates) -> Terms:
    """φ(r, S) of the second frame seen from the first, r = R_aᵀ(p_b − p_a), S = R_aᵀR_b.

    A, column by column: a joint that carries one of the frames (not both) moves it by a twist, whence ṙ and
    Ṡ = S(w) S. The drift: both frames accelerate as they do at q̈ = 0, and φ̈ follows."""
    T = kinematics.world_poses(model, q, [c.first.body, c.second.body])
    T_a, T_b = _placed(T, c.first), _placed(T, c.second)
    between = sub(T_b.p, T_a.p)
    r, S = matvec_t(T_a.R, between), matmul(transpose(T_a.R), T_b.R)
    phi = c.residual(r, S)
    A: list[list[Scalar]] = [[0.0] * model.nv for _ in phi]
    for i, twists in _relative_twists(c, model, T, T_b.p).items():
        body = model.bodies[i]
        for k, twist in enumerate(twists, body.coordinate):
            rates = _rates_along(c, r, S, T_a, twist)
            for row, rate in zip(A, rates, strict=True):
                row[k] = row[k] + body.multiplier * rate
    return Terms(phi, A, _accelerations(c, model, q, qd, T))


def _placed(T: dict[int, Pose], frame: Frame) -> Pose:
    return T[frame.body] @ frame.pose if frame.body >= 0 else frame.pose


def _relative_twists(c: FrameConstraint, model: Model, T: dict[int, Pose], p: Vector) -> dict[int, list[Motion]]:
    """For each joint between the two frames, the twists at p (world axes) of the second against the first."""
    up, down = set(model.path(c.first.body)), set(model.path(c.second.body))
    twists = {}
    for k in sorted(up ^ down):
        own = joints.twists_at(model.bodies[k], T[k], p)
        twists[k] = [twist if k in down else -twist for twist in own]
    return twists


def _rates_along(c: FrameConstraint, r: Vector, S: Matrix, T_a: Pose, twist: Motion) -> list[Scalar]:
    """φ̇ while the second frame moves by a twist (at its origin, world axes) against the first."""
    rd, w = matvec_t(T_a.R, twist.v), matvec_t(T_a.R, twist.w)
    Sd = matmul(skew(w), S)
    moving_r = tuple(Jet(x, v) for x, v in zip(r, rd, strict=True))
    moving_S = tuple(tuple(Jet(x, v) for x, v in zip(a, b, strict=True)) for a, b in zip(S, Sd, strict=True))
    return [jet(x).rate for x in c.residual(moving_r, moving_S)]


def _accelerations(
    c: FrameConstraint, model: Model, q: Coordinates, qd: Coordinates, T: dict[int, Pose]
) -> list[Scalar]:
    """φ̈ at q̈ = 0: the drift. Gravity, which the recursion takes for an upward acceleration of everything, drops out
    of the difference."""
    A, K = newton_euler.accelerations(model, q, qd, [0.0] * model.nv)
    V = joints.twists(model, joints.poses(model, q), qd)
    (R_a, p_a), (R_b, p_b) = (_moving(model, T, frame, V, A, K) for frame in (c.first, c.second))
    between = sub(p_b, p_a)
    r = matvec_t(R_a, between)
    S = matmul(transpose(R_a), R_b)
    return [jet(x).acceleration for x in c.residual(r, S)]


def _moving(
    model: Model,
    T: dict[int, Pose],
    frame: Frame,
    V: Sequence[Motion],
    A: Sequence[newton_euler.Acceleration],
    K: Sequence[Matrix],
) -> tuple[Matrix, Vector]:
    """A frame's rotation and origin as jets, world axes: Ṙ = R S(ω), R̈ = R K with K = S(ω̇) + S(ω)² (body axes),
    p̈ = R (a + K d)."""
    if frame.body < 0:
        lift = neg(model.gravity)
        return frame.pose.R, tuple(Jet(x, 0.0, a) for x, a in zip(frame.pose.p, lift, strict=True))
    R, d = T[frame.body].R, frame.pose.p
    v, w = V[frame.body].v, V[frame.body].w
    p = add(T[frame.body].p, matvec(R, d))
    pd = matvec(R, add(v, cross(w, d)))
    pdd = matvec(R, add(A[frame.body].a, matvec(K[frame.body], d)))
    turned = [matmul(M, frame.pose.R) for M in (R, matmul(R, skew(w)), matmul(R, K[frame.body]))]
    moving = tuple(tuple(Jet(*x) for x in zip(*rows, strict=True)) for rows in zip(*turned, strict=True))
    return moving, tuple(Jet(*x) for x in zip(p, pd, pdd, strict=True))


def upright(c: FrameConstraint, model: Model, q: Coordinates) -> list[Scalar]:
    """What must be positive for the relation to hold the right way round; empty if nothing must."""
    if c.relation.upright is None:
        return []
    T = kinematics.world_poses(model, q, [c.first.body, c.second.body])
    relative = _placed(T, c.first).inverse() @ _placed(T, c.second)
    return list(c.relation.upright(relative.p, relative.R, c.basis, c.length))


def wrench_rows(c: FrameConstraint, model: Model, q: Coordinates) -> list[list[Scalar]]:
    """B (k×6), φ̇ = B ξ for a twist ξ of the second frame, at its origin in world axes, against the first. λ means the
    wrench Bᵀλ that the second body applies to the first."""
    T = kinematics.world_poses(model, q, [c.first.body, c.second.body])
    T_a, T_b = _placed(T, c.first), _placed(T, c.second)
    r, S = matvec_t(T_a.R, sub(T_b.p, T_a.p)), matmul(transpose(T_a.R), T_b.R)
    unit = [tuple(1.0 if i == j else 0.0 for i in range(3)) for j in range(3)]
    twists = [Motion(u, ZERO) for u in unit] + [Motion(ZERO, u) for u in unit]
    columns = [_rates_along(c, r, S, T_a, twist) for twist in twists]
    return [list(row) for row in zip(*columns, strict=True)]


def tip_rows(c: Function, model: Model, q: Coordinates, tip: Frame) -> list[list[Scalar]]:
    """A_x (k×6), φ̇ = A_x V for a twist V of the body that carries the frame `tip`, all else at rest. Known for
    relations that hold this body and for functions of its frames' poses; zero for the others."""
    axes = [tuple(1.0 if i == j else 0.0 for i in range(3)) for j in range(3)]
    origin = kinematics.frame_pose(model, q, tip).p
    twists = [Motion(u, ZERO) for u in axes] + [Motion(ZERO, u) for u in axes]
    columns = [_rates_of_tip(c, model, q, tip.body, twist, origin) for twist in twists]
    return [list(row) for row in zip(*columns, strict=True)]


def _rates_of_tip(c: Function, model: Model, q: Coordinates, body: int, twist: Motion, origin: Vector) -> list[Scalar]:
    """φ̇ while one body moves by a twist (at `origin`, world axes)."""
    if isinstance(c, FrameConstraint) and (c.first.body == body) != (c.second.body == body):
        T_a, T_b = (kinematics.frame_pose(model, q, frame) for frame in (c.first, c.second))
        r, S = matvec_t(T_a.R, sub(T_b.p, T_a.p)), matmul(transpose(T_a.R), T_b.R)
        moved = twist.at(sub(T_b.p, origin))
        return _rates_along(c, r, S, T_a, moved if c.second.body == body else -moved)
    if isinstance(c, HolonomicFunction):
        poses = (_carried(kinematics.frame_pose(model, q, f), twist, origin, f.body == body) for f in c.frames)
        return [jet(x).rate for x in c.function([Jet(x) for x in q], *poses)]
    return [0.0] * len(c(model, q, q).phi)


def _carried(T: Pose, twist: Motion, origin: Vector, moves: bool) -> Pose:
    """A pose as jets, carried along by a twist if it moves."""
    V = twist.at(sub(T.p, origin)) if moves else Motion()
    turn = matmul(skew(V.w), T.R)
    R = tuple(tuple(Jet(*x) for x in zip(*rows, strict=True)) for rows in zip(T.R, turn, strict=True))
    return Pose(R, tuple(Jet(*x) for x in zip(T.p, V.v, strict=True)))


# ------------------------------------------------------------------------------------------------ coupled coordinates
@dataclass(frozen=True)
class Coupled:
    """Σ aⱼ qⱼ = b, j being places in q of joints of one coordinate: a gear, a belt, or a joint held still."""

    factors: tuple[tuple[int, float], ...]
    value: float = 0.0

    def __call__(self, model: Model, q: Coordinates, qd: Coordinates) -> Terms:
        row: list[Scalar] = [0.0] * model.nv
        phi: Scalar = -self.value
        rate_at = {c.position: c.first for c in model.coordinates}
        for k, a in self.factors:
            row[rate_at[k]] = row[rate_at[k]] + a
            phi = phi + a * q[k]
        return Terms([phi], [row], [0.0])


# ------------------------------------------------------------------------------------------- functions of a user's own
def _carried_along(model: Model, q: Coordinates, qd: Coordinates) -> list[Jet]:
    """q as jets while v is constant: where q̇ ≠ v, q̈ is not zero then."""
    rates = joints.position_rates(model, q, qd)
    if model.curved is None:
        return [Jet(x, v) for x, v in zip(q, rates, strict=True)]
    moving = [Jet(x, v) for x, v in zip(q, rates, strict=True)]
    changes = [jet(x).rate for x in joints.position_rates(model, moving, qd)]
    return [Jet(*x) for x in zip(q, rates, changes, strict=True)]


Equations = Callable[..., Sequence[Scalar]]


@dataclass(frozen=True)
class HolonomicFunction:
    """function(q, *poses of the frames) = 0: holonomic, differentiated by jets."""

    function: Equations
    frames: tuple[Frame, ...] = ()

    def __call__(self, model: Model, q: Coordinates, qd: Coordinates) -> Terms:
        moving = self._at(model, _carried_along(model, q, qd))
        phi, drift = [jet(x).value for x in moving], [jet(x).acceleration for x in moving]
        columns = []
        for j in range(model.nv):
            unit = joints.position_rates(model, q, [1.0 if k == j else 0.0 for k in range(model.nv)])
            along = self._at(model, [Jet(x, v) for x, v in zip(q, unit, strict=True)])
            columns.append([jet(x).rate for x in along])
        return Terms(phi, [list(row) for row in zip(*columns, strict=True)], drift)

    def _at(self, model: Model, q: Sequence[Scalar]) -> Sequence[Scalar]:
        return self.function(q, *(kinematics.frame_pose(model, q, frame) for frame in self.frames))


@dataclass(frozen=True)
class PfaffianFunction:
    """function(q, *poses of the frames) → A(q), k rows of n: velocity constraints that need not have a φ."""

    function: Callable[..., Sequence[Sequence[Scalar]]]
    frames: tuple[Frame, ...] = ()

    def __call__(self, model: Model, q: Coordinates, qd: Coordinates) -> Terms:
        moving = [Jet(x, v) for x, v in zip(q, joints.position_rates(model, q, qd), strict=True)]
        rows = self.function(moving, *(kinematics.frame_pose(model, moving, frame) for frame in self.frames))
        A = [[jet(x).value for x in row] for row in rows]
        drift: list[Scalar] = []
        for row in rows:
            total: Scalar = 0.0
            for x, v in zip(row, qd, strict=True):
                total = total + jet(x).rate * v
            drift.append(total)
        return Terms([0.0] * len(A), A, drift)
