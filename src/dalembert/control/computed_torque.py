"""The model's torque: fed forward along the wanted motion, or computed in the state measured.

Computed torque, or inverse dynamics control, makes the arm behave as a mass on a spring, joint by joint:

    τ = M(q) w + C(q, q̇) q̇ + g(q),        w = q̈_d + K_d (q̇_d − q̇) + K_p (q_d − q)

leaves ë + K_d ė + K_p e = 0 if the model is exact, with K_p = diag ω², K_d = diag 2ζω. If it is not,

    ë + K_d ė + K_p e = M̂⁻¹ ((M − M̂) q̈ + (c − ĉ) + (g − ĝ)),

so that at rest e = K_p⁻¹ M̂⁻¹ (g − ĝ): a payload that is not known leaves an error that stiffness divides. With
K_i ∫ e dt in w it goes to zero, as long as s³ + k_d s² + k_p s + k_i is stable: k_i < k_d k_p.

Feedforward takes the model's terms of the wanted state, which can be computed beforehand, with feedback beside it or
none:

    τ = M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + g(q_d)  [+ K_p (q_d − q) + K_d (q̇_d − q̇)]

Alone it leaves M ë + … = 0 with nothing that pulls back: an error in the start, the model or a disturbance grows, as in
any arm that is let go. At q = q_d, q̇ = q̇_d feedforward and computed torque are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import friction, newton_euler
from dalembert.arguments import Array, array
from dalembert.bounds.result import Bounds
from dalembert.control.conditions import (
    FAILS,
    HOLDS,
    Condition,
    Conditions,
    assumed,
    exact_model,
    positive,
    stiffer_than_gravity,
)
from dalembert.control.controller import Controller, check_robot, split, sub, total
from dalembert.control.diagrams import MOTION, joint_tracking
from dalembert.control.gains import Applied, Gain, GainRule, bandwidth_gains, must
from dalembert.control.joint_space import DAMPING, STIFFNESS, torque_gains
from dalembert.draw.blocks import Diagram, Signal, block, terminal
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot

FED_FORWARD = "M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d)"


def set_acceleration_gains(owner: Controller, names: Sequence[str]) -> None:
    """`omega` and `zeta`, or `kp` and `kd`, of a frozen controller: the other two are what follows."""
    omega, zeta, kp, kd = (getattr(owner, symbol) for symbol in ("omega", "zeta", "kp", "kd"))
    who = type(owner).__name__
    if (omega is not None) == (kp is not None or kd is not None):
        raise InputError(
            "conflict",
            "omega",
            problem=f"{who} needs either `omega` and `zeta` or `kp` and `kd`, got "
            f"{'neither' if omega is None else 'both'}",
        )
    if omega is not None:
        kp, kd = bandwidth_gains(names, omega, zeta)
    elif kp is None or kd is None:
        raise InputError("missing", "kp", problem=f"{who} needs both `kp` and `kd`")
    else:
        kp, kd = GainRule("1/s²").read("kp", kp, names), GainRule("1/s").read("kd", kd, names)
    for symbol, value in (("omega", None), ("kp", kp), ("kd", kd)):
        object.__setattr__(owner, symbol, value)


def find_poles(kp: Gain, kd: Gain, ki: Gain | None = None) -> NDArray[np.complex128]:
    """Roots of det(s² I + K_d s + K_p), by real part; with K_i, of det(s³ I + K_d s² + K_p s + K_i)."""
    K = [gain.matrix for gain in (ki, kp, kd) if gain is not None]
    n, order = kp.n, len(K)
    A = np.concatenate((np.eye(n * (order - 1), n * order, n), -np.concatenate(K, axis=1)))
    found = np.linalg.eigvals(A).astype(complex)
    return np.asarray(found[np.lexsort((found.imag, found.real))])


def _model_torque(robot: Robot, with_friction: bool) -> Callable[[Scalars, Scalars, Scalars], list[Scalar]]:
    """(q, q̇, q̈) ↦ the torque that the model needs."""
    model = lean(robot.model)

    def torque(q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
        tau = newton_euler.inverse_dynamics(model, q, qd, qdd)
        return total(tau, friction.friction_torque(robot.model, q, qd)) if with_friction else tau

    return torque


@dataclass(frozen=True, eq=False)
class ComputedTorque(Controller):
    """τ = M(q) (q̈_d + K_d ė + K_p e) + c(q, q̇) + g(q) of the model believed in.

    `omega` [rad/s] and `zeta`: natural frequency and damping ratio, one number or one per joint; or `kp` [1/s²] and
    `kd` [1/s], which may be matrices. `friction`: the model's friction and springs are compensated too. `ki` [1/s³]:
    K_i ∫ e dt is added to the acceleration, with states `<joint>_integral` [rad s]; torque limits it does not see."""

    robot: Robot
    _: KW_ONLY
    kp: Any = None
    ki: Any = field(default=None, metadata=must("1/s³"))
    kd: Any = None
    omega: Any = None
    zeta: Any = 1.0
    friction: bool = False

    equation: ClassVar[str] = "τ = M(q) (q̈_d + K_d (q̇_d − q̇) + K_p (q_d − q) [+ K_i ∫ e]) + c(q, q̇) + g(q)"
    source: ClassVar[str] = "the error obeys ë + K_d ė + K_p e = 0; Spong, Hutchinson & Vidyasagar 2006, §8.3"

    @classmethod
    def for_bandwidth(cls, robot: Robot, omega: float, zeta: float = 1.0) -> ComputedTorque:
        """Poles of the error for a bandwidth ω [rad/s] and damping ζ."""
        return cls(robot, omega=omega, zeta=zeta)

    def finish(self) -> None:
        set_acceleration_gains(self, self.robot.joint_names)

    def loop_inertia(self) -> Array:
        return np.ones(self.robot.n)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """The 2n poles of the error [1/s]; 3n with an integral."""
        return find_poles(self.kp, self.kd, self.ki)

    def make(self) -> Law:
        n, gains, needed = self.robot.n, self.gains, _model_torque(self.robot, self.friction)

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            (q, qd), (q_d, qd_d, qdd_d) = split(y, n), split(r, n)
            kp, *ki, kd = gains.read(p)
            wanted = total(qdd_d, ki[0](z)) if ki else qdd_d
            return needed(q, qd, total(wanted, kd(sub(qd_d, qd)), kp(sub(q_d, q))))

        if self.ki is None:
            return self.torque_law("computed torque", act)
        return self.integral_law("computed torque with integral", act)

    def conditions(self) -> Conditions:
        slowest = float(-self.poles.real.max())
        if self.ki is not None:
            verdict = HOLDS if slowest > 0 else FAILS
            return self.claim(
                f"e → 0 as e^({-slowest:.3g} t), along every motion; at rest also under a constant load",
                *positive(self.kp, self.kd, self.ki),
                Condition("s³ + K_d s² + K_p s + K_i is stable", verdict, {"slowest decay [1/s]": slowest}),
                exact_model(),
            )
        claim = f"e → 0 exponentially, as e^(−{slowest:.3g} t), along every motion and from every state"
        return self.claim(claim, *positive(self.kp, self.kd), exact_model())

    def steady_error(self, q: ArrayLike, plant: Robot) -> Array:
        """e = q_d − q with which another robot than the one believed in rests at q: K_p⁻¹ M̂⁻¹ (g − ĝ).  (..., n)."""
        x = array("q", q)
        if self.ki is not None:
            return np.zeros_like(x)
        wrong = check_robot(plant, "steady_error").gravity_torque(x) - self.robot.gravity_torque(x)
        a = np.linalg.solve(self.robot.mass_matrix(x), wrong[..., None])[..., 0]
        return np.asarray(np.linalg.solve(self.kp.matrix, a[..., None])[..., 0])

    def diagram(self) -> Diagram:
        beta = "c(q, q̇) + g(q)" + (" + f(q̇)" if self.friction else "")
        integral = self.ki is not None
        equation = f"τ = M(q) (q̈_d + K_d ė + K_p e{' + K_i ∫e dt' if integral else ''}) + {beta}"
        title = "Computed torque control"
        return joint_tracking(title, equation, integral=integral, alpha="M(q)", alpha_of_position=True, beta=beta)


@dataclass(frozen=True, eq=False)
class Feedforward(Controller):
    """τ = M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d): nothing is measured. `friction`: the model's, at the wanted rates."""

    robot: Robot
    _: KW_ONLY
    friction: bool = False

    equation: ClassVar[str] = f"τ = {FED_FORWARD}"
    source: ClassVar[str] = "none: an arm without feedback keeps whatever error it has, or worse"

    @classmethod
    def for_bandwidth(cls, robot: Robot, omega: float, zeta: float = 1.0) -> Feedforward:
        """Without gains there is no bandwidth to choose."""
        return cls(robot)

    def make(self) -> Law:
        needed = _model_torque(self.robot, self.friction)
        return self.joint_law("feedforward", lambda q, qd, *wanted: needed(*wanted))

    def conditions(self) -> Conditions:
        return self.claim(
            "e stays zero if it is zero, and nothing more",
            exact_model(),
            assumed("the start is exact and nothing disturbs"),
            Condition("errors decay", FAILS, {}, "there is no feedback: every mismatch drifts"),
        )

    def diagram(self) -> Diagram:
        """τ of the wanted motion, and nothing fed back."""
        nodes = (
            terminal("wanted", MOTION, 0),
            block("model", FED_FORWARD, 1, tone="model"),
            block("system", "robot", 2, tone="plant"),
            terminal("q", "q", 3),
        )
        signals = (Signal("wanted", "model"), Signal("model", "system", "τ"), Signal("system", "q"))
        return Diagram("Feedforward control", nodes, signals, self.equation)


@dataclass(frozen=True, eq=False)
class FeedforwardPD(Controller):
    """τ = M(q_d) q̈_d + c(q_d, q̇_d) + g(q_d) + K_p e + K_d ė.  `kp` [N m/rad] and `kd` [N m s/rad]: one number, one per
    joint, or a symmetric matrix. `friction`: the model's, at the wanted rates, is fed forward too."""

    robot: Robot
    _: KW_ONLY
    kp: Any = field(metadata=STIFFNESS)
    kd: Any = field(metadata=DAMPING)
    friction: bool = False

    equation: ClassVar[str] = f"τ = {FED_FORWARD} + K_p (q_d − q) + K_d (q̇_d − q̇)"
    source: ClassVar[str] = "Kelly & Salgado 1994; Kelly, Santibáñez & Loría 2005, ch. 12: for K_p and K_d large enough"

    @classmethod
    def for_bandwidth(cls, robot: Robot, omega: float, zeta: float = 1.0) -> FeedforwardPD:
        """Gains for a bandwidth ω [rad/s] and damping ζ at the largest inertia of each joint, and at least a fifth
        stiffer than gravity can pull."""
        kp, kd = torque_gains(robot, omega, zeta, 1.2)
        return cls(robot, kp=kp, kd=kd)

    def make(self) -> Law:
        needed = _model_torque(self.robot, self.friction)

        def torque(
            q: Scalars, qd: Scalars, q_d: Scalars, qd_d: Scalars, qdd_d: Scalars, *gains: Applied
        ) -> list[Scalar]:
            kp, kd = gains
            return total(needed(q_d, qd_d, qdd_d), kp(sub(q_d, q)), kd(sub(qd_d, qd)))

        return self.joint_law("feedforward + PD", torque)

    def conditions(self, proved: Bounds | None = None) -> Conditions:
        return self.claim(
            "e → 0 from every state, along every motion that is slow enough for K_d",
            *positive(self.kp, self.kd),
            stiffer_than_gravity(self.kp, self.robot, proved),
            assumed("K_d outweighs the Coriolis terms of the wanted motion", "they grow with its speed"),
            exact_model(),
        )

    def diagram(self) -> Diagram:
        title, equation = "Feedforward control with PD", f"τ = {FED_FORWARD} + K_p e + K_d ė"
        return joint_tracking(title, equation, accelerated=False, ahead=FED_FORWARD, ahead_of=MOTION)
