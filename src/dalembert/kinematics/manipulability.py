"""Manipulability: how well an arm moves, and pushes, in which direction.

The rates ‖q̇‖ ≤ 1 give the twists ξ = J q̇ of an ellipsoid with half axes σ_i u_i ([Poonawala] eqs. 17–20); the torques
‖τ‖ ≤ 1 balance the wrenches of an ellipsoid with the same axes and half lengths 1/σ_i. Where it moves badly it pushes
well, and a singular arm bears any force along a direction in which it cannot move.

A force f on the tip of an arm at rest, without gravity, accelerates it by a = A f, A = J M⁻¹ Jᵀ (the mobility). Its
inverse Λ = (J M⁻¹ Jᵀ)⁻¹ is the mass that one feels when one moves the tip by hand, another in every direction; force
and acceleration are parallel along its principal axes only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array
from dalembert.errors import InputError, SingularityError, choose
from dalembert.kinematics.jacobian import (
    ROUNDING,
    checked_jacobian,
    freedom,
    hessian,
    inverse_mass_times,
    moving_part,
    natural,
    ranks,
    scale_of,
    task_jacobian,
    torque_limits,
    velocity_limits,
)
from dalembert.kinematics.tasks import Rows, task, unit
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
    """The twists J q̇ of all ‖q̇‖ ≤ 1: axes and lengths from the singular values of J.  [Poonawala] eqs. 17–20.

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
    first.  [Poonawala] §3.2.

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
        return np.ones(robot.nv)
    return limits(robot, None if isinstance(given, str) and given == "limits" else given)


def _root(given: object, each: Array) -> Array | None:
    return None if given is None else np.diag(each)


# ------------------------------------------------------------------------------------------------ measures
def _condition(s: Array) -> Array:
    last = s[..., -1]
    return np.where(last > 0, s[..., 0] / np.where(last > 0, last, 1.0), np.inf)


# Of the singular values (..., k) in falling order, k being the freedom of the task.
MEASURES: dict[str, Callable[[Array], Array]] = {
    "yoshikawa": lambda s: np.prod(s, axis=-1),  # √det(JJᵀ), [Poonawala] eq. 21
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
    """Yoshikawa's μ = Πσᵢ, or another measure of `MEASURES`.  (...).  [Poonawala] eq. 21.

    The product goes over as many singular values as the arm has freedoms in these rows, so it is √det(JJᵀ) where the
    rows can be had independently, √det(JᵀJ) where joints are fewer than rows, and not zero for a planar arm only
    because it never leaves its plane. "asada" is the isotropy of the effective mass (J M⁻¹ Jᵀ)⁻¹, Asada 1983;
    "dynamic" is Yoshikawa's measure of accelerations that torques ‖τ‖ ≤ 1 give, 1985."""
    choose("measure", measure, MEASURES)
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
    flat = W.reshape(*W.shape[:-2], 1, 6 * robot.nv) @ dJ.reshape(*dJ.shape[:-3], 6 * robot.nv, robot.nv)
    return np.asarray(flat[..., 0, :])


# ------------------------------------------------------------------------------------------------ with inertias
@dataclass(frozen=True, eq=False, repr=False)
class EffectiveMass:
    """`mobility` (..., m, m), A = J M⁻¹ Jᵀ in every state; `masses` (..., m), the principal effective masses
    [kg, kg m²], infinite along a direction in which the tip cannot move; `axes` (..., m, m), whose columns are the
    principal directions, along which force and acceleration are parallel; `rows` names the m rows."""

    mobility: Array
    masses: Array
    axes: Array
    rows: tuple[str, ...]

    @property
    def matrix(self) -> Array:
        """Λ = (J M⁻¹ Jᵀ)⁻¹, (..., m, m); an error where the arm is singular in these rows."""
        if not np.isfinite(self.masses).all():
            raise SingularityError(
                "the effective mass is infinite in some direction, because the arm is singular in these rows: "
                ".mobility, its inverse, is and .masses and .axes tell the directions"
            )
        return np.asarray((self.axes * self.masses[..., None, :]) @ np.swapaxes(self.axes, -1, -2))

    @property
    def ellipsoid(self) -> Ellipsoid:
        """The forces that give accelerations of length one: half axes are the principal masses, largest first."""
        return Ellipsoid(self.axes, self.masses, np.zeros_like(self.masses), self.rows)

    def __repr__(self) -> str:
        return f"<EffectiveMass: principal masses {listed(self.masses, self.rows)}>"

    def acceleration(self, force: ArrayLike) -> Array:
        """a = A f, (..., m), of a force on the tip at rest without gravity."""
        return np.asarray((self.mobility @ array("force", force)[..., None])[..., 0])

    def along(self, direction: ArrayLike) -> Array:
        """The mass felt when pushing along a direction d, the tip free to move aside: 1/(dᵀ A d).  (...)."""
        d = unit("direction", direction)
        A = self.mobility
        felt = np.einsum("...i,...ij,...j->...", d, A, d)
        return reciprocal(np.where(felt > ROUNDING * np.abs(A).max(axis=(-2, -1)), felt, 0.0))

    def angle(self, force: ArrayLike) -> Array:
        """The angle between a force and the acceleration it causes [rad]; zero along the principal axes.  (...)."""
        f = unit("force", force)
        a = self.acceleration(f)
        size = np.linalg.norm(a, axis=-1)
        if not (size > ROUNDING * np.abs(self.mobility).max(axis=(-2, -1))).all():
            raise SingularityError("a force along which the tip cannot move causes no acceleration")
        along = np.einsum("...i,...i->...", f, a)
        across = np.linalg.norm(a - along[..., None] * f, axis=-1)
        return np.asarray(np.arctan2(across, along))


def effective_mass(
    robot: Jointed, q: ArrayLike, frame: str | None = None, rows: Rows | None = None, expressed_in: str = "world"
) -> EffectiveMass:
    """(J M⁻¹ Jᵀ)⁻¹ of a frame's translations (those that move at all), or of the rows asked for.  [Fakhari 2].

    For a square, regular J it is J⁻ᵀ M J⁻¹; this form serves redundant arms too."""
    J = checked_jacobian(robot, q, frame, expressed_in)
    chosen = moving_part(robot, "position", frame, expressed_in) if rows is None else task(rows)
    J = chosen.jacobian(J)
    A = J @ inverse_mass_times(robot, q, np.swapaxes(J, -1, -2))
    A = (A + np.swapaxes(A, -1, -2)) / 2
    values, vectors = np.linalg.eigh(A)
    s = np.asarray(np.linalg.svd(J, compute_uv=False))
    rank = ranks(s, ROUNDING * scale_of(robot, frame, chosen, expressed_in))
    values = np.where(np.arange(chosen.m) < chosen.m - rank[..., None], 0.0, values)  # in rising order
    return EffectiveMass(A, reciprocal(values), np.asarray(vectors), chosen.names)


def acceleration_ellipsoid(
    robot: Jointed,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    torques: ArrayLike | None = None,
) -> Ellipsoid:
    """Dynamic manipulability: the accelerations that torques with Σ (τᵢ/tᵢ)² ≤ 1 give.  Yoshikawa 1985.

    a = J M⁻¹ (τ − h) + J̇ q̇, so the half axes are the singular values of J M⁻¹ diag(t), and the center is what happens
    without torque, J̇ q̇ − J M⁻¹ h: gravity, and velocity terms if `qd` is given. t are the robot's effort limits, or
    `torques`. `volume_measure` is the dynamic measure."""
    J6 = checked_jacobian(robot, q, frame, expressed_in)
    chosen = natural(robot, frame, expressed_in) if rows is None else task(rows)
    rates = np.zeros(robot.nv) if qd is None else array("qd", qd)
    h = robot.bias_torque(q, rates)
    J_dot = chosen.jacobian(np.asarray(robot.jacobian_dot(q, rates, frame, expressed_in)))
    J = chosen.jacobian(J6)
    X = np.swapaxes(inverse_mass_times(robot, q, np.swapaxes(J, -1, -2)), -1, -2)  # J M⁻¹
    U, s, _ = np.linalg.svd(X * torque_limits(robot, torques), full_matrices=True)
    center = (J_dot @ rates[..., None])[..., 0] - (X @ h[..., None])[..., 0]
    lengths = np.concatenate([s, np.zeros((*s.shape[:-1], chosen.m - s.shape[-1]))], axis=-1)
    shape = np.broadcast_shapes(center.shape, lengths.shape)
    return Ellipsoid(
        np.broadcast_to(U, (*shape, chosen.m)), np.broadcast_to(lengths, shape), np.asarray(center), chosen.names
    )
