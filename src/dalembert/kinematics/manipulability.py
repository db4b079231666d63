"""Manipulability: how well an arm moves, and pushes, in which direction.

The rates ‖q̇‖ ≤ 1 give the twists ξ = J q̇ of an ellipsoid with half axes σ_i u_i (seed 000 eqs. 17–20); the torques
‖τ‖ ≤ 1 balance the wrenches of an ellipsoid with the same axes and half lengths 1/σ_i. Where it moves badly it pushes
well, and a singular arm bears any force along a direction in which it cannot move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import InputError, unknown
from dalembert.kinematics.jacobian import (
    ROUNDING,
    freedom,
    hessian,
    inverse_mass_times,
    scale_of,
    task_jacobian,
    torque_limits,
    velocity_limits,
)
from dalembert.kinematics.tasks import Array, Rows
from dalembert.system import Jointed


def listed(values: Array, rows: tuple[str, ...]) -> str:
    """Numbers on rows for a repr: those of one state, or how many states there are."""
    shown = ", ".join(f"{x:.4g}" for x in values) if values.ndim == 1 else f"of {values[..., 0].size} states"
    return f"{shown} over {', '.join(rows)}"


@dataclass(frozen=True, eq=False, repr=False)
class Ellipsoid:
    """`axes` (..., m, m), whose columns are unit vectors on the task's `rows`; `lengths` (..., m), the half axis along
    each, infinite where nothing bounds it; `center` (..., m). `rows` names the m rows."""

    axes: Array
    lengths: Array
    center: Array
    rows: tuple[str, ...]

    @property
    def volume_measure(self) -> Array:
        """Π lengths, the volume up to the constant of a unit ball: of a velocity ellipsoid, Yoshikawa's μ.  (...)."""
        return np.asarray(np.prod(self.lengths, axis=-1))

    def __repr__(self) -> str:
        return f"<Ellipsoid: half axes {listed(self.lengths, self.rows)}>"

    def boundary(self, points: int = 100) -> Array:
        """Points on the boundary of an ellipse, (..., points, 2), closed; for two rows."""
        if len(self.rows) != 2 or not np.isfinite(self.lengths).all():
            raise InputError("a boundary is drawn for an ellipse of two rows, both of finite length")
        angle = np.linspace(0, 2 * np.pi, points)
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return np.asarray(
            self.center[..., None, :] + circle @ np.swapaxes(self.axes * self.lengths[..., None, :], -1, -2)
        )


def padded(s: Array, m: int, scale: float) -> Array:
    """Singular values as m numbers: zeros for the rows that outnumber the joints, and for rounding of `scale`."""
    s = np.where(s > ROUNDING * scale, s, 0.0)
    return np.concatenate([s, np.zeros((*s.shape[:-1], m - s.shape[-1]))], axis=-1)


def reciprocal(x: Array) -> Array:
    """1/x, infinite where x = 0."""
    return np.where(x > 0, 1 / np.where(x > 0, x, 1.0), np.inf)


def velocity_ellipsoid(
    robot: Jointed,
    q: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    joint_rates: ArrayLike | str | None = None,
) -> Ellipsoid:
    """The twists J q̇ of all ‖q̇‖ ≤ 1: axes and lengths from the singular values of J.  Seed 000 eqs. 17–20.

    With `joint_rates` r, n numbers or "limits" (the robot's own), of all q̇ with Σ (q̇ᵢ/rᵢ)² ≤ 1: then translations are
    in m/s, and joints that turn and slide weigh alike."""
    J, chosen = task_jacobian(robot, q, frame, rows, expressed_in)
    each = _each(robot, joint_rates, velocity_limits)
    U, s, _ = np.linalg.svd(J * each, full_matrices=True)
    lengths = padded(s, chosen.m, scale_of(robot, frame, chosen, expressed_in, root=_root(joint_rates, each)))
    return Ellipsoid(np.asarray(U), lengths, np.zeros_like(lengths), chosen.names)


def force_ellipsoid(
    robot: Jointed,
    q: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    torques: ArrayLike | str | None = None,
) -> Ellipsoid:
    """The wrenches F on the task's rows with ‖Jᵀ F‖ ≤ 1: the velocity ellipsoid's axes, reciprocal lengths, longest
    first.  Seed 000 §3.2.

    Infinite along a direction that no joint feels. With `torques` t, n numbers or "limits", the wrenches with
    Σ (τᵢ/tᵢ)² ≤ 1."""
    J, chosen = task_jacobian(robot, q, frame, rows, expressed_in)
    each = _each(robot, torques, torque_limits)
    if not (each > 0).all():
        raise InputError("a joint without torque bears nothing: torques must be positive here")
    U, s, _ = np.linalg.svd(J / each, full_matrices=True)
    scale = scale_of(robot, frame, chosen, expressed_in, root=_root(torques, 1 / each))
    lengths = reciprocal(padded(s, chosen.m, scale))
    return Ellipsoid(np.asarray(U)[..., ::-1], lengths[..., ::-1], np.zeros_like(lengths), chosen.names)


def _each(robot: Jointed, given: ArrayLike | str | None, limits: Callable[[Jointed, ArrayLike | None], Array]) -> Array:
    if given is None:
        return np.ones(robot.n)
    return limits(robot, None if isinstance(given, str) and given == "limits" else given)


def _root(given: object, each: Array) -> Array | None:
    return None if given is None else np.diag(each)


# ------------------------------------------------------------------------------------------------ measures
def _condition(s: Array) -> Array:
    last = s[..., -1]
    return np.where(last > 0, s[..., 0] / np.where(last > 0, last, 1.0), np.inf)


# Of the singular values (..., k) in falling order, k being the freedom of the task.
MEASURES: dict[str, Callable[[Array], Array]] = {
    "yoshikawa": lambda s: np.prod(s, axis=-1),  # √det(JJᵀ), seed 000 eq. 21
    "condition": _condition,  # σ₁/σ_k ≥ 1, infinite where singular
    "isotropy": lambda s: 1 / _condition(s),  # σ_k/σ₁, between 0 and 1
    "smallest": lambda s: s[..., -1],  # σ_k
    # Of those of J M^-½, the roots of the mobility's eigenvalues, and of J M⁻¹: they need the inertias.
    "asada": lambda s: 1 / _condition(s) ** 2,  # smallest by largest principal effective mass, between 0 and 1
    "dynamic": lambda s: np.prod(s, axis=-1),  # √det(J M⁻² Jᵀ)
}


def manipulability(
    robot: Jointed,
    q: ArrayLike,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    measure: str = "yoshikawa",
) -> Array:
    """Yoshikawa's μ = Πσᵢ, or another measure of `MEASURES`.  (...).  Seed 000 eq. 21.

    The product goes over as many singular values as the arm has freedoms in these rows, so it is √det(JJᵀ) where the
    rows can be had independently, √det(JᵀJ) where joints are fewer than rows, and not zero for a planar arm only
    because it never leaves its plane. "asada" is the isotropy of the effective mass (J M⁻¹ Jᵀ)⁻¹, Asada 1983;
    "dynamic" is Yoshikawa's measure of accelerations that torques ‖τ‖ ≤ 1 give, 1985."""
    if measure not in MEASURES:
        raise unknown("measure", measure, MEASURES)
    J, chosen = task_jacobian(robot, q, frame, rows, expressed_in)
    k = max(freedom(robot, frame, chosen, expressed_in), 1)
    s = np.asarray(np.linalg.svd(J, compute_uv=False))
    s = padded(s, chosen.m, scale_of(robot, frame, chosen, expressed_in))[..., :k]
    if measure in ("asada", "dynamic"):
        X = np.swapaxes(inverse_mass_times(robot, q, np.swapaxes(J, -1, -2)), -1, -2)  # J M⁻¹
        if measure == "dynamic":
            moving = np.linalg.svd(X, compute_uv=False)
        else:
            moving = np.sqrt(np.maximum(np.linalg.eigvalsh(X @ np.swapaxes(J, -1, -2))[..., ::-1], 0.0))
        s = np.where(s > 0, moving[..., :k], 0.0)
    return np.asarray(MEASURES[measure](s))


def manipulability_gradient(
    robot: Jointed, q: ArrayLike, frame: str | None = None, rows: Rows | None = None, expressed_in: str = "world"
) -> Array:
    """∂μ/∂q, exact: ∂μ/∂q_k = Σᵢ (Π_{j≠i} σⱼ) uᵢᵀ (∂J/∂q_k) vᵢ.  (..., n).

    Where μ = 0 it has a kink (|s₂| of the 2R arm) and no gradient; zero stands there, a subgradient, because no
    value of μ is smaller."""
    J, chosen = task_jacobian(robot, q, frame, rows, expressed_in)
    k = max(freedom(robot, frame, chosen, expressed_in), 1)
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    s = padded(s, s.shape[-1], scale_of(robot, frame, chosen, expressed_in))[..., :k]
    others = np.prod(s, axis=-1, keepdims=True) * np.where(s > 0, 1 / np.where(s > 0, s, 1.0), 0.0)
    W = (U[..., :k] * others[..., None, :]) @ Vt[..., :k, :]  # Σᵢ (Π_{j≠i} σⱼ) uᵢ vᵢᵀ
    W = (chosen.weights[:, None] * chosen.matrix).T @ W  # on all six rows
    dJ = hessian(robot, q, frame, expressed_in)
    flat = W.reshape(*W.shape[:-2], 1, 6 * robot.n) @ dJ.reshape(*dJ.shape[:-3], 6 * robot.n, robot.n)
    return np.asarray(flat[..., 0, :])
