"""Computed torque, or inverse dynamics control: the arm made to behave as a mass on a spring, joint by joint.  Seed
003.

    τ = M(q) w + C(q, q̇) q̇ + g(q),        w = q̈_d + K_d (q̇_d − q̇) + K_p (q_d − q)

leaves ë + K_d ė + K_p e = 0 if the model is exact, with K_p = diag ω², K_d = diag 2ζω. If it is not,

    ë + K_d ė + K_p e = M̂⁻¹ ((M − M̂) q̈ + (c − ĉ) + (g − ĝ)),

so that at rest e = K_p⁻¹ M̂⁻¹ (g − ĝ): a payload that is not known leaves an error that stiffness divides. With
K_i ∫ e dt in w it goes to zero, as long as s³ + k_d s² + k_p s + k_i is stable: k_i < k_d k_p.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import friction, newton_euler
from dalembert.arguments import switch
from dalembert.control.conditions import FAILS, HOLDS, Condition, Conditions, exact_model, positive
from dalembert.control.controller import Controller, believed, joint_law, set_gain, split, sub, total
from dalembert.control.gains import Gain, Gains, bandwidth
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.kinematics.tasks import finite
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot

Array = NDArray[np.float64]


def acceleration_gains(owner: Any, names: tuple[str, ...]) -> None:
    """`omega` and `zeta`, or `kp` and `kd`, of a frozen controller: the other two are what follows."""
    by_rate = owner.omega is not None
    if by_rate == (owner.kp is not None or owner.kd is not None):
        who = type(owner).__name__
        raise InputError(f"{who} takes omega and zeta, or kp and kd; got {'both' if by_rate else 'neither'}")
    if by_rate:
        for symbol, made in zip(("kp", "kd"), bandwidth(names, owner.omega, owner.zeta), strict=True):
            object.__setattr__(owner, symbol, made)
        object.__setattr__(owner, "omega", None)
        return
    if owner.kp is None or owner.kd is None:
        raise InputError(f"{type(owner).__name__} needs both kp and kd")
    set_gain(owner, "kp", owner.kp, names, unit="1/s²")
    set_gain(owner, "kd", owner.kd, names, unit="1/s")


def poles(kp: Gain, kd: Gain, ki: Gain | None = None) -> NDArray[np.complex128]:
    """Roots of det(s² I + K_d s + K_p), by real part; with K_i, of det(s³ I + K_d s² + K_p s + K_i)."""
    K = [gain.matrix for gain in (ki, kp, kd) if gain is not None]
    n, order = kp.n, len(K)
    A = np.concatenate((np.eye(n * (order - 1), n * order, n), -np.concatenate(K, axis=1)))
    found = np.linalg.eigvals(A).astype(complex)
    return np.asarray(found[np.lexsort((found.imag, found.real))])


@dataclass(frozen=True, eq=False)
class ComputedTorque(Controller):
    """τ = M(q) (q̈_d + K_d ė + K_p e) + c(q, q̇) + g(q) of the model believed in.

    `omega` [rad/s] and `zeta`: natural frequency and damping ratio, one number or one per joint; or `kp` [1/s²] and
    `kd` [1/s], which may be matrices. `friction`: the model's friction and springs are compensated too. `ki` [1/s³]:
    K_i ∫ e dt is added to the acceleration, with states `<joint>_integral` [rad s]; torque limits it does not see."""

    robot: Robot
    omega: Any = None
    zeta: Any = 1.0
    kp: Any = None
    kd: Any = None
    friction: bool = False
    ki: Any = None

    equation: ClassVar[str] = "τ = M(q) (q̈_d + K_d (q̇_d − q̇) + K_p (q_d − q) [+ K_i ∫ e]) + c(q, q̇) + g(q)"
    source: ClassVar[str] = "the error obeys ë + K_d ė + K_p e = 0; Spong, Hutchinson & Vidyasagar 2006, §8.3"

    def __post_init__(self) -> None:
        names = believed(self.robot, "ComputedTorque").joint_names
        switch("friction", self.friction)
        acceleration_gains(self, names)
        if self.ki is not None:
            set_gain(self, "ki", self.ki, names, unit="1/s³")

    @property
    def gains(self) -> Gains:
        return Gains((self.kp, self.kd, *(() if self.ki is None else (self.ki,))))

    @property
    def poles(self) -> NDArray[np.complex128]:
        """The 2n poles of the error [1/s]; 3n with an integral."""
        return poles(self.kp, self.kd, self.ki)

    def make(self) -> Law:
        robot, model, with_friction = self.robot, lean(self.robot.model), self.friction

        def torque(
            q: Scalars, qd: Scalars, q_d: Scalars, qd_d: Scalars, qdd_d: Scalars, kp: Any, kd: Any
        ) -> list[Scalar]:
            w = total(qdd_d, kd(sub(qd_d, qd)), kp(sub(q_d, q)))
            tau = newton_euler.inverse_dynamics(model, q, qd, w)
            return total(tau, friction.friction_torque(robot.model, q, qd)) if with_friction else tau

        if self.ki is None:
            return joint_law(robot, "computed torque", self.gains, torque)
        n = robot.n

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            kp, kd, ki = self.gains.read(p)
            (q, qd), (q_d, qd_d, qdd_d) = split(y, n), split(r, n)
            return torque(q, qd, q_d, qd_d, total(qdd_d, ki(z)), kp, kd)

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            return sub(r[:n], y[:n])

        without = joint_law(robot, "computed torque with integral", self.gains, torque)
        states = tuple(f"{joint}_integral" for joint in robot.joint_names)
        return replace(without, act=act, states=states, initial=(0.0,) * n, rate=rate)

    def conditions(self) -> Conditions:
        slowest = float(-self.poles.real.max())
        if self.ki is not None:
            verdict = HOLDS if slowest > 0 else FAILS
            decays = Condition("s³ + K_d s² + K_p s + K_i is stable", verdict, {"slowest decay [1/s]": slowest})
            claim = f"e → 0 as e^({-slowest:.3g} t), along every motion; at rest also under a constant load"
            return Conditions(claim, self.source, (*positive(self.kp, self.kd, self.ki), decays, exact_model()))
        return Conditions(
            f"e → 0 exponentially, as e^(−{slowest:.3g} t), along every motion and from every state",
            self.source,
            (*positive(self.kp, self.kd), exact_model()),
        )

    def steady_error(self, q: ArrayLike, plant: Robot) -> Array:
        """e = q_d − q with which another robot than the one believed in rests at q: K_p⁻¹ M̂⁻¹ (g − ĝ).  (..., n)."""
        x = finite("q", q)
        if self.ki is not None:
            return np.zeros_like(x)
        wrong = believed(plant, "steady_error").gravity_torque(x) - self.robot.gravity_torque(x)
        a = np.linalg.solve(self.robot.mass_matrix(x), wrong[..., None])[..., 0]
        return np.asarray(np.linalg.solve(self.kp.matrix, a[..., None])[..., 0])
