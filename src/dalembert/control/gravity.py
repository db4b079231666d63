"""PD with gravity compensation: to a set point, from everywhere, with nothing of the model but gravity.  Seed 003.

    τ = K_p (q_d − q) + K_d (q̇_d − q̇) + g(q)       or + g(q_d), which needs no computation while it runs

leaves M q̈ + C q̇ + K_d q̇ + K_p (q − q_d) = 0: gravity is gone, inertia and its coupling are not. With
V = ½ q̇ᵀMq̇ + ½ eᵀK_p e, V̇ = −q̇ᵀK_d q̇ because Ṁ − 2C is skew-symmetric, and by LaSalle q → q_d. With g(q_d),
V = ½ q̇ᵀMq̇ + ½ eᵀK_p e + U(q) − U(q_d) + eᵀg(q_d), which has its only minimum at q_d if K_p + ∂g/∂q > 0 everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import newton_euler
from dalembert.control.conditions import Conditions, assumed, positive, resting, stiffer_than_gravity, strong_enough
from dalembert.control.controller import Controller, believed, joint_law, set_gain, sub, total
from dalembert.control.gains import Gains
from dalembert.control.joint_space import torque_gains
from dalembert.errors import choose
from dalembert.flow import Scalar, Scalars
from dalembert.kinematics.tasks import finite
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot

Array = NDArray[np.float64]
WHERE = ("actual", "desired")


@dataclass(frozen=True, eq=False)
class PDGravity(Controller):
    """τ = K_p (q_d − q) + K_d (q̇_d − q̇) + g(q), or + g(q_d) with gravity="desired".

    `kp` [N m/rad], `kd` [N m s/rad]: one number, one per joint, or a symmetric matrix."""

    robot: Robot
    kp: Any
    kd: Any
    gravity: str = "actual"

    equation: ClassVar[str] = "τ = K_p (q_d − q) + K_d (q̇_d − q̇) + g(q)   [or g(q_d)]"
    source: ClassVar[str] = (
        "Takegaki & Arimoto 1981; Tomei 1991; Kelly, Santibáñez & Loría 2005, ch. 7 (g(q)) and 8 (g(q_d))"
    )

    def __post_init__(self) -> None:
        names = believed(self.robot, "PDGravity").joint_names
        choose("gravity to compensate", self.gravity, WHERE)
        set_gain(self, "kp", self.kp, names, unit="N m/rad")
        set_gain(self, "kd", self.kd, names, unit="N m s/rad")

    @classmethod
    def tuned(cls, robot: Robot, omega: float, zeta: float = 1.0, gravity: str = "actual") -> PDGravity:
        """Gains for a bandwidth ω [rad/s] and damping ζ at the largest inertia of each joint; for g(q_d) at least a
        fifth stiffer than gravity can pull, so that the conditions hold."""
        margin = 1.2 if gravity == "desired" else 0.0
        return cls(robot, *torque_gains(robot, omega, zeta, margin), gravity)

    @property
    def gains(self) -> Gains:
        return Gains((self.kp, self.kd))

    def make(self) -> Law:
        model, desired = lean(self.robot.model), self.gravity == "desired"

        def torque(q: Scalars, qd: Scalars, q_d: Scalars, qd_d: Scalars, kp: Any, kd: Any) -> list[Scalar]:
            g = newton_euler.gravity_torque(model, q_d if desired else q)
            return total(kp(sub(q_d, q)), kd(sub(qd_d, qd)), g)

        return joint_law(self.robot, f"PD + gravity ({self.gravity})", self.gains, torque, orders=2)

    def conditions(self) -> Conditions:
        unique = (stiffer_than_gravity(self.kp, self.robot),) if self.gravity == "desired" else ()
        return Conditions(
            "q → q_d and q̇ → 0 from every state",
            self.source,
            (
                *positive(self.kp, self.kd),
                *unique,
                assumed("the model's gravity is the robot's", "else e ends where K_p e = the difference"),
                resting(),
                strong_enough(self.robot),
            ),
        )

    def lyapunov(self, q: ArrayLike, qd: ArrayLike, q_d: ArrayLike) -> Array:
        """V(q, q̇) [J], of the model: falls at the rate q̇ᵀK_d q̇.  (...)."""
        x, v, wanted = finite("q", q), finite("qd", qd), finite("q_d", q_d)
        e = wanted - x
        V = self.robot.kinetic_energy(x, v) + 0.5 * np.einsum("...i,ij,...j->...", e, self.kp.matrix, e)
        if self.gravity == "desired":
            V = V + self.robot.potential_energy(x) - self.robot.potential_energy(wanted)
            V = V + np.einsum("...i,...i->...", e, self.robot.gravity_torque(wanted))
        return np.asarray(V)
