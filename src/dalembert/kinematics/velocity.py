"""Inverse velocity: joint rates that give a twist.

One formula covers the square, the redundant and the overdetermined case, weights and singular states: with
A = diag(w) S J R, Rᵀ W R = I, and its singular values σ,
    q̇ = R A⁺ ξ + (I − R A⁺ J) b,   A⁺ = V diag(g(σ)) Uᵀ,   g(σ) = 1/σ, and 0 where σ is rounding.
Where A has full row rank this is the right inverse W⁻¹Jᵀ(JW⁻¹Jᵀ)⁻¹, of all q̇ that give ξ the one with the smallest
q̇ᵀWq̇ ([Poonawala] §2.5); with full column rank the left inverse, whose error is smallest.

Damping law: with threshold ε = damping · σ̄, σ̄ the largest singular value of A over seeded states of the arm, a singular
value below ε has
    g(σ) = 2σ/(σ² + ε²),   that is σ/(σ² + λ²) with λ² = (ε² − σ²)/2.
So each direction is damped by itself and only below ε; g is continuous, its largest value is 1/ε, and therefore
‖q̇‖ ≤ ‖ξ‖/ε (in the norm of W) in every state, however singular. (Nakamura and Hanafusa 1986 let λ depend on
manipulability; Maciejewski and Klein 1988 on σ_min.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array
from dalembert.errors import InputError, SingularityError, choose
from dalembert.kinematics.jacobian import ROUNDING, Integers, checked_jacobian, natural, scale_of, task_jacobian
from dalembert.kinematics.tasks import Rows, share, task
from dalembert.system import Jointed

SIDES = ("either", "right", "left")


@dataclass(frozen=True, eq=False)
class JointRates:
    """Joint rates and what they do. `qd` (..., n) [rad/s, m/s]; `twist` (..., 6), J q̇; `residual` (...), the norm of
    what the task asked for and does not get; `rank` (...) of the task's Jacobian; `damped` (...), whether damping
    altered the answer."""

    qd: Array
    twist: Array
    residual: Array
    rank: Integers
    damped: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NullSpace:
    """Joint motions that the task does not feel. `projector` (..., n, n), I − J⁺J; `dimension` (...); `vectors`
    (..., n, n), whose last `dimension` columns are an orthonormal basis."""

    projector: Array
    dimension: Integers
    vectors: Array

    @property
    def basis(self) -> Array:
        """(..., n, k), if the dimension k is the same in all states."""
        sizes = np.unique(self.dimension)
        if len(sizes) != 1:
            raise InputError("the null space has not the same dimension in all states: take them one by one")
        n = self.vectors.shape[-1]
        return self.vectors[..., n - int(sizes[0]) :]


def gain(s: Array, scale: ArrayLike, damping: float = 0.0) -> Array:
    """g(σ) of singular values (..., k): 1/σ, 0 where σ is rounding of `scale` σ̄, damped below ε = damping · σ̄."""
    scale = np.asarray(scale)
    epsilon = damping * scale
    counts = s > ROUNDING * scale
    plain = np.where(counts, 1.0 / np.where(counts, s, 1.0), 0.0)
    if not damping:
        return np.asarray(plain)
    square = s * s + epsilon * epsilon
    return np.asarray(np.where(s >= epsilon, plain, 2 * s / np.where(square > 0, square, 1.0)))


def pseudo_inverse(
    J: ArrayLike, side: str = "either", *, joint_weights: ArrayLike | None = None, damping: float = 0.0
) -> Array:
    """J⁺, (..., n, m) of (..., m, n).

    `side`: "right" is W⁻¹Jᵀ(JW⁻¹Jᵀ)⁻¹, which needs full row rank; "left" is (JᵀJ)⁻¹Jᵀ, which needs full column rank;
    "either" is the one inverse that is both where they exist, and exists always. Weights W as in
    `inverse_velocity`."""
    J = array("J", J)
    if J.ndim < 2 or 0 in J.shape[-2:]:
        raise InputError(f"J has shape {J.shape}; it must be a matrix, (..., m, n)")
    choose("side", side, SIDES)
    R = _root(joint_weights, J.shape[-1])
    U, s, Vt = np.linalg.svd(J @ R, full_matrices=False)
    scale = s[..., :1]  # J alone is known here, so its own largest
    wanted = {"right": J.shape[-2], "left": J.shape[-1], "either": 0}[side]
    if (np.sum(s > ROUNDING * scale, axis=-1) < wanted).any():
        what = "rows" if side == "right" else "columns"
        raise SingularityError(f"J has no {side} inverse: its {wanted} {what} are not independent")
    return R @ _inverse(U, gain(s, scale, share("damping", damping)), Vt)


def _inverse(U: Array, g: Array, Vt: Array) -> Array:
    return np.asarray(np.swapaxes(Vt, -1, -2) * g[..., None, :] @ np.swapaxes(U, -1, -2))


def _root(weights: ArrayLike | None, n: int) -> Array:
    """R with RᵀWR = I, (n, n), of joint weights W: n positive numbers or a positive definite matrix."""
    if weights is None:
        return np.eye(n)
    W = array("joint_weights", weights)
    W = np.diag(W) if W.shape == (n,) else W
    if W.shape != (n, n) or not np.allclose(W, W.T, rtol=1e-9, atol=0):
        raise InputError(f"joint_weights must be {n} numbers or a symmetric {n}×{n} matrix, got shape {W.shape}")
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(W)).T)
    except np.linalg.LinAlgError:
        raise InputError("joint_weights must be positive (definite): each joint's rate has its price") from None


def inverse_velocity(
    robot: Jointed,
    q: ArrayLike,
    twist: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    joint_weights: ArrayLike | None = None,
    damping: float = 0.0,
    null_term: ArrayLike | None = None,
) -> JointRates:
    """Joint rates for a twist: q̇ = J⁺ξ + (I − J⁺J) b.  [Poonawala] §2.5, [Lee].

    `twist` (..., 6), or only the task's rows; `rows` as in `tasks.task`, with weights that multiply the error's
    components; `joint_weights` W, n numbers or (n, n), of the norm q̇ᵀWq̇ that is smallest; `damping` as a part of the
    arm's largest singular value (0.05, say; see the head of this module); `null_term` b (..., n)."""
    J = checked_jacobian(robot, q, frame, expressed_in)
    chosen = natural(robot, frame, expressed_in) if rows is None else task(rows)
    xi = chosen.reduce("twist", twist)
    JT = chosen.jacobian(J)
    R = _root(joint_weights, robot.nv)
    part = share("damping", damping)
    U, s, Vt = np.linalg.svd(JT @ R, full_matrices=False)
    scale = scale_of(robot, frame, chosen, expressed_in, root=None if joint_weights is None else R)
    counts = s > ROUNDING * scale
    qd = _times(R @ _inverse(U, gain(s, scale, part), Vt), xi, "twist")
    if null_term is not None:
        qd = qd + _times(_projector(R, counts, Vt), array("null_term", null_term), "null_term")
    given = np.asarray((J @ qd[..., None])[..., 0])
    missing = (xi - (JT @ qd[..., None])[..., 0]) / chosen.weights
    altered = np.asarray((counts & (s < part * scale)).any(axis=-1))
    rank = np.asarray(counts.sum(axis=-1))
    return JointRates(qd, given, np.asarray(np.linalg.norm(missing, axis=-1)), rank, altered)


def _times(A: Array, x: Array, name: str) -> Array:
    try:
        return np.asarray((A @ x[..., None])[..., 0])
    except (ValueError, IndexError):
        raise InputError(
            f"{name} of shape {x.shape} does not fit: {A.shape[-1]} numbers for a batch of states {A.shape[:-2]}"
        ) from None


def _projector(R: Array, counts: NDArray[np.bool_], Vt: Array) -> Array:
    """I − J⁺J of undamped J⁺: J (I − J⁺J) = 0 to rounding. With weights, R V_r V_rᵀ R⁻¹ is taken off."""
    kept = Vt * counts[..., None]
    return np.asarray(np.eye(R.shape[0]) - R @ np.swapaxes(kept, -1, -2) @ kept @ np.linalg.inv(R))


def null_space(
    robot: Jointed,
    q: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    joint_weights: ArrayLike | None = None,
) -> NullSpace:
    """The joint motions that leave the task at rest: projector I − J⁺J, dimension, basis.  [Poonawala] §2.5."""
    J, chosen = task_jacobian(robot, q, frame, rows, expressed_in)
    R = _root(joint_weights, robot.nv)
    _, s, Vt = np.linalg.svd(J @ R, full_matrices=False)
    counts = s > ROUNDING * scale_of(robot, frame, chosen, expressed_in, root=None if joint_weights is None else R)
    vectors = np.swapaxes(np.linalg.svd(J, full_matrices=True)[2], -1, -2)
    dimension = np.asarray(robot.nv - counts.sum(axis=-1))
    return NullSpace(_projector(R, counts, Vt), dimension, np.asarray(vectors))
