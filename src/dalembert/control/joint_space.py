"""PD and PID at the joints, with no model but perhaps gravity's.

    τ = K_p e + K_d ė [+ g(q)]                        e = q_d − q
    τ = sat(K_p e + K_d ė + K_i ∫ e dt [+ g(q)])

Without gravity's torque PD rests where K_p e = g(q), off by at most ‖g‖ / λ_min(K_p). The integral removes that,
slowly, and may wind up: it stands still while the torque is at its limit and the error would push it further out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dalembert import scalar
from dalembert.algorithms import newton_euler
from dalembert.arguments import number, switch
from dalembert.bounds.result import Bounds as Proved
from dalembert.control.bounds import bounds
from dalembert.control.conditions import (
    FAILS,
    HOLDS,
    UNKNOWN,
    Condition,
    Conditions,
    positive,
    resting,
    stiffer_than_gravity,
    strong_enough,
    unclipped,
)
from dalembert.control.controller import (
    Controller,
    believed,
    follows,
    joint_law,
    measures,
    set_gain,
    split,
    sub,
    torques,
    total,
)
from dalembert.control.gains import Gain, Gains
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot


def torque_gains(robot: Robot, omega: float, zeta: float, margin: float = 0.0) -> tuple[list[float], list[float]]:
    """(K_p, K_d) in torques: ω² and 2ζω times the largest M_ii that samples met, and K_p at least `margin` times what
    gravity's slope can be at all (its rows summed), so that with margin > 1 it is stiffer than gravity everywhere."""
    for name, x in (("omega", omega), ("zeta", zeta)):
        if not isinstance(x, Real) or not math.isfinite(x) or x <= 0:
            raise InputError(f"{name} must be a positive number, got {x!r}")
    B = bounds(believed(robot, "a tuning"))
    inertia = B.seen_inertia.max(axis=0)
    floor = margin * B.slope.sum(axis=1) if margin else np.zeros(robot.n)
    if not np.isfinite(floor).all():
        raise InputError(f"gravity's slope has no bound: a sliding joint of {robot.name!r} has no limits")
    kp = np.maximum(omega**2 * inertia, floor)
    return kp.tolist(), (2.0 * zeta * np.sqrt(kp * inertia)).tolist()


@dataclass(frozen=True, eq=False)
class PD(Controller):
    """τ = K_p (q_d − q) + K_d (q̇_d − q̇): no model at all.

    `kp` [N m/rad], `kd` [N m s/rad]: one number, one per joint, or a symmetric matrix."""

    robot: Robot
    kp: Any
    kd: Any

    equation: ClassVar[str] = "τ = K_p (q_d − q) + K_d (q̇_d − q̇)"
    source: ClassVar[str] = "Takegaki & Arimoto 1981; Kelly, Santibáñez & Loría 2005, ch. 6"

    def __post_init__(self) -> None:
        names = believed(self.robot, "PD").joint_names
        set_gain(self, "kp", self.kp, names, unit="N m/rad")
        set_gain(self, "kd", self.kd, names, unit="N m s/rad")

    @classmethod
    def tuned(cls, robot: Robot, omega: float, zeta: float = 1.0) -> PD:
        """Gains for a bandwidth ω [rad/s] and damping ζ at the largest inertia of each joint."""
        return cls(robot, *torque_gains(robot, omega, zeta))

    @property
    def gains(self) -> Gains:
        return Gains((self.kp, self.kd))

    def make(self) -> Law:
        def torque(q: Scalars, qd: Scalars, q_d: Scalars, qd_d: Scalars, kp: Any, kd: Any) -> list[Scalar]:
            return total(kp(sub(q_d, q)), kd(sub(qd_d, qd)))

        return joint_law(self.robot, "PD", self.gains, torque, orders=2)

    def conditions(self, proved: Proved | None = None) -> Conditions:
        g = float(np.linalg.norm(bounds(self.robot).gravity))
        return Conditions(
            f"the arm comes to rest where K_p e = g(q), |e| ≤ {g / self.kp.lowest:.3g}, from every state",
            self.source,
            (
                *positive(self.kp, self.kd),
                stiffer_than_gravity(self.kp, self.robot, proved),
                resting(),
                strong_enough(self.robot),
            ),
        )


@dataclass(frozen=True, eq=False)
class JointPID(Controller):
    """τ = sat(K_p e + K_d ė + K_i ∫ e dt [+ g(q)]) with an integral that does not wind up.

    `limit` [N m]: the largest torque, one number or one per joint; none if not given. `gravity`: the model's g(q) is
    added. The integral of a joint stands still while its torque is at the limit and its error would push it further;
    limits that are not told here, such as `torque_limits` of `simulate`, it does not see, and it winds up. Its states
    are `<joint>_integral` [rad s]."""

    robot: Robot
    kp: Any
    ki: Any
    kd: Any
    limit: Any = None
    gravity: bool = False

    equation: ClassVar[str] = "τ = sat(K_p e + K_d ė + K_i ∫ e dt [+ g(q)]), e = q_d − q"
    source: ClassVar[str] = "Arimoto & Miyazaki 1984; Kelly, Santibáñez & Loría 2005, ch. 9 (near the set point)"

    def __post_init__(self) -> None:
        names = believed(self.robot, "JointPID").joint_names
        switch("gravity", self.gravity)
        for symbol in ("kp", "ki", "kd"):
            set_gain(self, symbol, getattr(self, symbol), names)
        if self.limit is not None:
            set_gain(self, "limit", self.limit, names, unit="N m")
            if self.limit.full:
                raise InputError("limit is a torque, one number or one per joint, not a matrix")

    @classmethod
    def tuned(cls, robot: Robot, omega: float, zeta: float = 1.0, integral: float = 0.3, **options: Any) -> JointPID:
        """Gains for a bandwidth ω [rad/s] and damping ζ at the largest inertia of each joint; the integral acts at
        `integral` times ω, K_i = integral · ω K_p. `options` are `limit` and `gravity`."""
        kp, kd = torque_gains(robot, omega, zeta)
        rate = number("the integral of a PID law", integral, "1", above=0.0) * omega
        return cls(robot, kp, [rate * k for k in kp], kd, **options)

    @property
    def gains(self) -> Gains:
        return Gains((self.kp, self.ki, self.kd, *(() if self.limit is None else (self.limit,))))

    def _torque(self, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """(τ before its limit, limits)."""
        (q, qd), (q_d, qd_d) = split(y, self.robot.n), split(r, self.robot.n)
        kp, ki, kd, *limit = self.gains.read(p)
        tau = total(kp(sub(q_d, q)), kd(sub(qd_d, qd)), ki(z))
        if self.gravity:
            tau = total(tau, newton_euler.gravity_torque(lean(self.robot.model), q))
        return tau, list(limit[0].p) if limit else []

    def make(self) -> Law:
        names, n = self.robot.joint_names, self.robot.n

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            tau, limit = self._torque(y, r, z, p)
            return [clipped(x, m) for x, m in zip(tau, limit, strict=True)] if limit else tau

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            e = sub(r[:n], y[:n])
            tau, limit = self._torque(y, r, z, p)
            if not limit:
                return e
            return [
                scalar.where(scalar.absolute(x) > m, scalar.where(x * d > 0.0, 0.0, d), d)
                for x, m, d in zip(tau, limit, e, strict=True)
            ]

        return Law(
            "PID",
            measures(self.robot),
            follows(names, 2),
            torques(self.robot),
            act,
            states=tuple(f"{j}_integral" for j in names),
            initial=(0.0,) * n,
            rate=rate,
            parameters=self.gains.parameters,
        )

    def conditions(self, proved: Proved | None = None) -> Conditions:
        own = () if self.gravity else (stiffer_than_gravity(self.kp, self.robot, proved),)
        return Conditions(
            "q → q_d and q̇ → 0 from every state near enough to the set point",
            self.source,
            (
                *positive(self.kp, self.ki, self.kd),
                *own,
                self._damped(),
                resting(),
                strong_enough(self.robot, self.limit),
                unclipped(),
            ),
        )

    def _damped(self) -> Condition:
        """λ_min(K_d) > λ_max(K_i) / (λ_min(K_p) − k_g) · λ_max(M)² / λ_min(M)."""
        B = bounds(self.robot)
        low, high = B.seen_mass
        ki: Gain = self.ki

        def needed(slope: float, smallest: float, largest: float) -> float:
            room = self.kp.lowest - slope
            return ki.highest / room * largest**2 / smallest if room > 0 and smallest > 0 else math.inf

        proved = needed(0.0 if self.gravity else B.slope_norm, B.rotor, B.mass_norm)
        seen = needed(0.0 if self.gravity else B.seen_slope_norm, low, high)
        verdict = HOLDS if self.kd.lowest > proved else FAILS if self.kd.lowest <= seen else UNKNOWN
        return Condition(
            "λ_min(K_d) > λ_max(K_i) / (λ_min(K_p) − k_g) · λ_max(M)² / λ_min(M)",
            verdict,
            {"λ_min(K_d)": self.kd.lowest, "right side, proved at most": proved, "met in samples": seen},
        )


def clipped(x: Scalar, bound: Scalar) -> Scalar:
    """x within ±bound; NaN stays NaN."""
    return scalar.where(x > bound, bound, scalar.where(x < -bound, -bound, x))
