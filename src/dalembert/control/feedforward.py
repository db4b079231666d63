"""Feedforward: the torque that the wanted motion should need, with feedback beside it or none.  Seed 003.

    τ = M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + g(q_d)  [+ K_p (q_d − q) + K_d (q̇_d − q̇)]

The model's terms are those of the wanted state, not of the actual one: they can be computed beforehand. Alone they
leave M ë + … = 0 with nothing that pulls back: an error in the start, the model or a disturbance grows, as in any arm
that is let go. At q = q_d, q̇ = q̇_d feedforward and computed torque are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dalembert.algorithms import friction, newton_euler
from dalembert.arguments import switch
from dalembert.bounds.result import Bounds as Proved
from dalembert.control.conditions import (
    FAILS,
    Condition,
    Conditions,
    assumed,
    exact_model,
    positive,
    stiffer_than_gravity,
)
from dalembert.control.controller import Controller, believed, joint_law, set_gain, sub, total
from dalembert.control.gains import Gains
from dalembert.control.joint_space import torque_gains
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot


def _wanted_torque(robot: Robot, with_friction: bool) -> Any:
    model = lean(robot.model)

    def torque(q_d: Scalars, qd_d: Scalars, qdd_d: Scalars) -> list[Scalar]:
        tau = newton_euler.inverse_dynamics(model, q_d, qd_d, qdd_d)
        return total(tau, friction.friction_torque(robot.model, q_d, qd_d)) if with_friction else tau

    return torque


@dataclass(frozen=True, eq=False)
class Feedforward(Controller):
    """τ = M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d): nothing is measured. `friction`: the model's, at the wanted rates."""

    robot: Robot
    friction: bool = False

    equation: ClassVar[str] = "τ = M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d)"
    source: ClassVar[str] = "none: an arm without feedback keeps whatever error it has, or worse"

    def __post_init__(self) -> None:
        believed(self.robot, "Feedforward")
        switch("friction", self.friction)

    @property
    def gains(self) -> Gains:
        return Gains(())

    def make(self) -> Law:
        wanted = _wanted_torque(self.robot, self.friction)

        def torque(q: Scalars, qd: Scalars, *r: Scalars) -> list[Scalar]:
            made: list[Scalar] = wanted(*r)
            return made

        return joint_law(self.robot, "feedforward", self.gains, torque)

    def conditions(self) -> Conditions:
        return Conditions(
            "e stays zero if it is zero, and nothing more",
            self.source,
            (
                exact_model(),
                assumed("the start is exact and nothing disturbs"),
                Condition("errors decay", FAILS, {}, "there is no feedback: every mismatch drifts"),
            ),
        )


@dataclass(frozen=True, eq=False)
class FeedforwardPD(Controller):
    """τ = M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d) + K_p e + K_d ė.  `kp` [N m/rad] and `kd` [N m s/rad]: one number, one per
    joint, or a symmetric matrix. `friction`: the model's, at the wanted rates, is fed forward too."""

    robot: Robot
    kp: Any
    kd: Any
    friction: bool = False

    equation: ClassVar[str] = "τ = M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d) + K_p (q_d − q) + K_d (q̇_d − q̇)"
    source: ClassVar[str] = "Kelly & Salgado 1994; Kelly, Santibáñez & Loría 2005, ch. 12: for K_p and K_d large enough"

    def __post_init__(self) -> None:
        names = believed(self.robot, "FeedforwardPD").joint_names
        switch("friction", self.friction)
        set_gain(self, "kp", self.kp, names, unit="N m/rad")
        set_gain(self, "kd", self.kd, names, unit="N m s/rad")

    @classmethod
    def tuned(cls, robot: Robot, omega: float, zeta: float = 1.0) -> FeedforwardPD:
        """Gains for a bandwidth ω [rad/s] and damping ζ at the largest inertia of each joint, and at least a fifth
        stiffer than gravity can pull."""
        return cls(robot, *torque_gains(robot, omega, zeta, 1.2))

    @property
    def gains(self) -> Gains:
        return Gains((self.kp, self.kd))

    def make(self) -> Law:
        wanted = _wanted_torque(self.robot, self.friction)

        def torque(
            q: Scalars, qd: Scalars, q_d: Scalars, qd_d: Scalars, qdd_d: Scalars, kp: Any, kd: Any
        ) -> list[Scalar]:
            return total(wanted(q_d, qd_d, qdd_d), kp(sub(q_d, q)), kd(sub(qd_d, qd)))

        return joint_law(self.robot, "feedforward + PD", self.gains, torque)

    def conditions(self, proved: Proved | None = None) -> Conditions:
        return Conditions(
            "e → 0 from every state, along every motion that is slow enough for K_d",
            self.source,
            (
                *positive(self.kp, self.kd),
                stiffer_than_gravity(self.kp, self.robot, proved),
                assumed("K_d outweighs the Coriolis terms of the wanted motion", "they grow with its speed"),
                exact_model(),
            ),
        )
