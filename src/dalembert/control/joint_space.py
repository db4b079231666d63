"""PD and PID at the joints, with nothing of the model but perhaps its gravity.

    τ = K_p e + K_d ė [+ g(q)]                        e = q_d − q
    τ = sat(K_p e + K_d ė + K_i ∫ e dt [+ g(q)])

Without gravity's torque PD rests where K_p e = g(q), off by at most ‖g‖ / λ_min(K_p). The integral removes that,
slowly, and may wind up: it stands still while the torque is at its limit and the error would push it further out.

With g(q) PD goes to a set point from everywhere: it leaves M q̈ + C q̇ + K_d q̇ + K_p (q − q_d) = 0, gravity is gone,
inertia and its coupling are not. With V = ½ q̇ᵀMq̇ + ½ eᵀK_p e, V̇ = −q̇ᵀK_d q̇ because Ṁ − 2C is skew-symmetric, and by
LaSalle q → q_d. g(q_d) needs no computation while it runs; then V = ½ q̇ᵀMq̇ + ½ eᵀK_p e + U(q) − U(q_d) + eᵀg(q_d),
which has its only minimum at q_d if K_p + ∂g/∂q > 0 everywhere.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert import scalar
from dalembert.algorithms import newton_euler
from dalembert.arguments import Array, array, number
from dalembert.bounds.result import Bounds
from dalembert.control.conditions import (
    FAILS,
    HOLDS,
    UNKNOWN,
    Condition,
    Conditions,
    assumed,
    find_magnitudes,
    positive,
    resting,
    seen_inertia,
    stiffer_than_gravity,
    strong_enough,
    unclipped,
)
from dalembert.control.controller import Controller, check_robot, split, sub, total
from dalembert.control.diagrams import joint_tracking
from dalembert.control.gains import Applied, Gain, must
from dalembert.draw.blocks import Diagram
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot

WHERE = ("actual", "desired")
STIFFNESS, DAMPING = must("N m/rad"), must("N m s/rad")


def torque_gains(robot: Robot, omega: float, zeta: float, margin: float = 0.0) -> tuple[list[float], list[float]]:
    """(K_p, K_d) in torques: ω² and 2ζω times the largest M_ii that samples met, and K_p at least `margin` times what
    gravity's slope can be at all (its rows summed), so that with margin > 1 it is stiffer than gravity everywhere."""
    omega, zeta = number("omega", omega, "rad/s", above=0.0), number("zeta", zeta, above=0.0)
    inertia = seen_inertia(check_robot(robot, "a tuning", free=not margin)).max(axis=0)
    floor = margin * find_magnitudes(robot).slope.sum(axis=1) if margin else np.zeros(len(inertia))
    if not np.isfinite(floor).all():
        raise InputError(
            "missing",
            "robot",
            problem=f"the slope of gravity has no bound, because a prismatic joint of {robot.name!r} has no limits",
        )
    kp = np.maximum(omega**2 * inertia, floor)
    return kp.tolist(), (2.0 * zeta * np.sqrt(kp * inertia)).tolist()


class Weight:
    """g(q) of the driven joints, the others sensed: what holds them while what no drive moves stays where it is."""

    def __init__(self, robot: Robot) -> None:
        self.model = lean(robot.model)
        self.own = [c.position for c in self.model.drives]
        self.rest = [k for k in range(robot.nq) if k not in self.own]
        self.senses = tuple(robot.model.names("position")[k] for k in self.rest)

    def torque(self, q: Scalars, others: Scalars) -> list[Scalar]:
        """At positions of the driven joints, and of the others as they are sensed."""
        at = dict(zip((*self.own, *self.rest), (*q, *others), strict=True))
        g = newton_euler.gravity_torque(self.model, [at[k] for k in range(len(at))])
        return [g[c.first] for c in self.model.drives]


@dataclass(frozen=True, eq=False)
class PD(Controller):
    """τ = K_p (q_d − q) + K_d (q̇_d − q̇): no model at all.

    `kp` [N m/rad], `kd` [N m s/rad]: one number, one per driven joint, or a symmetric matrix. Of a robot with joints
    that no drive moves, q are the positions of those that are driven; so it is with the controllers below."""

    robot: Robot
    _: KW_ONLY
    kp: Any = field(metadata=STIFFNESS)
    kd: Any = field(metadata=DAMPING)

    free = True
    equation: ClassVar[str] = "τ = K_p (q_d − q) + K_d (q̇_d − q̇)"
    source: ClassVar[str] = "Takegaki & Arimoto 1981; Kelly, Santibáñez & Loría 2005, ch. 6"

    @classmethod
    def for_bandwidth(cls, robot: Robot, omega: float, zeta: float = 1.0) -> PD:
        """Gains for a bandwidth ω [rad/s] and damping ζ at the largest inertia of each joint."""
        kp, kd = torque_gains(robot, omega, zeta)
        return cls(robot, kp=kp, kd=kd)

    def make(self) -> Law:
        def torque(q: Scalars, qd: Scalars, q_d: Scalars, qd_d: Scalars, kp: Applied, kd: Applied) -> list[Scalar]:
            return total(kp(sub(q_d, q)), kd(sub(qd_d, qd)))

        return self.joint_law("PD", torque, orders=2)

    def conditions(self, proved: Bounds | None = None) -> Conditions:
        if self.robot.model.curved:
            return self.unproved()
        g = float(np.linalg.norm(find_magnitudes(self.robot).gravity))
        return self.claim(
            f"the arm comes to rest where K_p e = g(q), |e| ≤ {g / self.kp.lowest:.3g}, from every state",
            *positive(self.kp, self.kd),
            stiffer_than_gravity(self.kp, self.robot, proved),
            resting(),
            strong_enough(self.robot),
        )

    def diagram(self) -> Diagram:
        return joint_tracking("PD control of a robot", self.equation, accelerated=False)


@dataclass(frozen=True, eq=False)
class PDGravity(Controller):
    """τ = K_p (q_d − q) + K_d (q̇_d − q̇) + g(q), or + g(q_d) with gravity="desired".

    `kp` [N m/rad], `kd` [N m s/rad]: one number, one per joint, or a symmetric matrix."""

    robot: Robot
    _: KW_ONLY
    kp: Any = field(metadata=STIFFNESS)
    kd: Any = field(metadata=DAMPING)
    gravity: str = "actual"

    free = True
    equation: ClassVar[str] = "τ = K_p (q_d − q) + K_d (q̇_d − q̇) + g(q)   [or g(q_d)]"
    source: ClassVar[str] = (
        "Takegaki & Arimoto 1981; Tomei 1991; Kelly, Santibáñez & Loría 2005, ch. 7 (g(q)) and 8 (g(q_d))"
    )

    def check_system(self) -> None:
        super().check_system()
        choose("gravity to compensate", self.gravity, WHERE)

    @classmethod
    def for_bandwidth(cls, robot: Robot, omega: float, zeta: float = 1.0, gravity: str = "actual") -> PDGravity:
        """Gains for a bandwidth ω [rad/s] and damping ζ at the largest inertia of each joint; for g(q_d) at least a
        fifth stiffer than gravity can pull, so that the conditions hold."""
        margin = 1.2 if gravity == "desired" else 0.0
        kp, kd = torque_gains(robot, omega, zeta, margin)
        return cls(robot, kp=kp, kd=kd, gravity=gravity)

    def make(self) -> Law:
        n, weight, desired = len(self.robot.model.drives), Weight(self.robot), self.gravity == "desired"

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            (q, qd), (q_d, qd_d), (kp, kd) = split(y[: 2 * n], n), split(r, n), self.gains.read(p)
            return total(kp(sub(q_d, q)), kd(sub(qd_d, qd)), weight.torque(q_d if desired else q, y[2 * n :]))

        return self.torque_law(f"PD + gravity ({self.gravity})", act, senses=weight.senses, orders=2)

    def conditions(self) -> Conditions:
        if self.robot.model.curved:
            return self.unproved()
        return self.claim(
            "q → q_d and q̇ → 0 from every state",
            *positive(self.kp, self.kd),
            *((stiffer_than_gravity(self.kp, self.robot),) if self.gravity == "desired" else ()),
            assumed("the model's gravity is the robot's", "else e ends where K_p e = the difference"),
            resting(),
            strong_enough(self.robot),
        )

    def lyapunov(self, q: ArrayLike, qd: ArrayLike, q_d: ArrayLike) -> Array:
        """V(q, q̇) [J], of the model: falls at the rate q̇ᵀK_d q̇.  (...)."""
        x, v, wanted = array("q", q), array("qd", qd), array("q_d", q_d)
        e = wanted - x
        V = self.robot.kinetic_energy(x, v) + 0.5 * np.einsum("...i,ij,...j->...", e, self.kp.matrix, e)
        if self.gravity == "desired":
            V = V + self.robot.potential_energy(x) - self.robot.potential_energy(wanted)
            V = V + np.einsum("...i,...i->...", e, self.robot.gravity_torque(wanted))
        return np.asarray(V)

    def diagram(self) -> Diagram:
        """With g of where the arm is, or of where it is wanted."""
        title, law = "PD control with gravity compensation", "τ = K_p (q_d − q) + K_d (q̇_d − q̇) +"
        if self.gravity == "desired":
            return joint_tracking(title, f"{law} g(q_d)", accelerated=False, ahead="g(q_d)", ahead_of="q_d")
        return joint_tracking(title, f"{law} g(q)", accelerated=False, beta="g(q)", beta_of_rate=False)


@dataclass(frozen=True, eq=False)
class JointPID(Controller):
    """τ = sat(K_p e + K_d ė + K_i ∫ e dt [+ g(q)]) with an integral that does not wind up.

    `limit` [N m]: the largest torque, one number or one per joint; none if not given. `gravity`: the model's g(q) is
    added. The integral of a joint stands still while its torque is at the limit and its error would push it further;
    limits that are not told here, such as `torque_limits` of `simulate`, it does not see, and it winds up. Its states
    are `<joint>_integral` [rad s]."""

    robot: Robot
    _: KW_ONLY
    kp: Any = field(metadata=must())
    ki: Any = field(metadata=must())
    kd: Any = field(metadata=must())
    limit: Any = field(
        default=None, metadata=must("N m", no_matrix="limit is a torque, one number or one per joint, not a matrix")
    )
    gravity: bool = False

    free = True
    equation: ClassVar[str] = "τ = sat(K_p e + K_d ė + K_i ∫ e dt [+ g(q)]), e = q_d − q"
    source: ClassVar[str] = "Arimoto & Miyazaki 1984; Kelly, Santibáñez & Loría 2005, ch. 9 (near the set point)"

    @classmethod
    def for_bandwidth(
        cls,
        robot: Robot,
        omega: float,
        zeta: float = 1.0,
        integral: float = 0.3,
        limit: ArrayLike | None = None,
        gravity: bool = False,
    ) -> JointPID:
        """Gains for a bandwidth ω [rad/s] and damping ζ at the largest inertia of each joint; the integral acts at
        `integral` times ω, K_i = integral · ω K_p."""
        kp, kd = torque_gains(robot, omega, zeta)
        rate = number("the integral of a PID law", integral, "1", above=0.0) * omega
        return cls(robot, kp=kp, ki=[rate * k for k in kp], kd=kd, limit=limit, gravity=gravity)

    def _torque(self, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """(τ before its limit, limits)."""
        n = len(self.robot.model.drives)
        (q, qd), (q_d, qd_d) = split(y[: 2 * n], n), split(r, n)
        kp, ki, kd, *limit = self.gains.read(p)
        tau = total(kp(sub(q_d, q)), kd(sub(qd_d, qd)), ki(z))
        if self.gravity:
            tau = total(tau, Weight(self.robot).torque(q, y[2 * n :]))
        return tau, list(limit[0].p) if limit else []

    def make(self) -> Law:
        n, senses = len(self.robot.model.drives), Weight(self.robot).senses if self.gravity else ()

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            tau, limit = self._torque(y, r, z, p)
            return [clip(x, m) for x, m in zip(tau, limit, strict=True)] if limit else tau

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            e = sub(r[:n], y[:n])
            tau, limit = self._torque(y, r, z, p)
            if not limit:
                return e
            return [
                scalar.where(scalar.absolute(x) > m, scalar.where(x * d > 0.0, 0.0, d), d)
                for x, m, d in zip(tau, limit, e, strict=True)
            ]

        return self.integral_law("PID", act, rate, orders=2, senses=senses)

    def conditions(self, proved: Bounds | None = None) -> Conditions:
        if self.robot.model.curved:
            return self.unproved()
        return self.claim(
            "q → q_d and q̇ → 0 from every state near enough to the set point",
            *positive(self.kp, self.ki, self.kd),
            *(() if self.gravity else (stiffer_than_gravity(self.kp, self.robot, proved),)),
            self._damped(),
            resting(),
            strong_enough(self.robot, self.limit),
            unclipped(),
        )

    def _damped(self) -> Condition:
        """λ_min(K_d) > λ_max(K_i) / (λ_min(K_p) − k_g) · λ_max(M)² / λ_min(M)."""
        B = find_magnitudes(self.robot)
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

    def diagram(self) -> Diagram:
        title, g = "PID control of a robot", " + g(q)" if self.gravity else ""
        equation, held = f"τ = K_p e + K_d ė + K_i ∫e dt{g}, e = q_d − q", "g(q)" if self.gravity else ""
        return joint_tracking(title, equation, accelerated=False, integral=True, beta=held, beta_of_rate=False)


def clip(x: Scalar, bound: Scalar) -> Scalar:
    """x within ±bound; NaN stays NaN."""
    return scalar.clip(x, -bound, bound)
