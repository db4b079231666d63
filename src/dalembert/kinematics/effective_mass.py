"""Effective mass of the tip, and the accelerations that torque limits allow.

A force f on the tip of an arm at rest, without gravity, accelerates it by a = A f, A = J M⁻¹ Jᵀ (the mobility). Its
inverse Λ = (J M⁻¹ Jᵀ)⁻¹ is the mass that one feels when one moves the tip by hand, another in every direction; force
and acceleration are parallel along its principal axes only. Seeds 001 and 004.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import array
from dalembert.errors import SingularityError
from dalembert.kinematics.jacobian import (
    ROUNDING,
    checked_jacobian,
    inverse_mass_times,
    moving_part,
    natural,
    ranks,
    scale_of,
    torque_limits,
)
from dalembert.kinematics.manipulability import Ellipsoid, listed, reciprocal
from dalembert.kinematics.tasks import Array, Rows, task, unit
from dalembert.system import Jointed


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
    """(J M⁻¹ Jᵀ)⁻¹ of a frame's translations (those that move at all), or of the rows asked for.  Seed 004.

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
    rates = np.zeros(robot.n) if qd is None else array("qd", qd)
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
