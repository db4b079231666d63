"""Force and motion at once, on a constraint: motion along it, force across it.

Of w = q̈_d + K_d ė + K_p e the constraint allows q̈* = P_q̈ w − M⁻¹AᵀΛ⁻¹ Ȧ q̇ (P_q̈ = I − M⁻¹AᵀΛ⁻¹A), and

    τ = M q̈* + c + g + Aᵀ (λ_d + K_f ∫ (λ_d − λ) dt)

moves the mechanism by the first part and presses with λ_d by the second: neither disturbs the other. With an exact
model λ = λ_d at once; the integral, which needs λ measured, removes what a wrong model adds.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from dalembert.algorithms import linear, mechanics, newton_euler
from dalembert.arguments import array, need
from dalembert.constrained.system import Constrained
from dalembert.control.computed_torque import set_acceleration_gains
from dalembert.control.conditions import Conditions, assumed, exact_model, positive, unclipped
from dalembert.control.controller import Controller, split, sub, total
from dalembert.control.diagrams import MOTION
from dalembert.control.gains import Gain, Gains, must
from dalembert.control.sensors import SENSED
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.robot import Robot


@dataclass(frozen=True, eq=False)
class HybridForce(Controller):
    """Motion along the constraints of a `Constrained` system, wanted multipliers `force` across them.

    `force`: λ_d, one per row of the constraints (or one for all), parameters `force_<row>` of the law. `omega` [rad/s]
    and `zeta`, or `kp` and `kd`, act on the joints. `force_gain` [1/s] > 0 adds the integral, on multipliers that the
    law then measures as `sensed_multiplier of <row>` (`control.add_sensors(system.flow(), …, T)`). The reference is a
    motion of the joints; of one that leaves the constraints the part along them is followed."""

    system: Constrained
    _: KW_ONLY
    force: Any
    kp: Any = None
    kd: Any = None
    omega: Any = None
    zeta: Any = 1.0
    force_gain: Any = field(default=0.0, metadata=must("1/s", zero=True, of=""))

    equation: ClassVar[str] = "τ = M P_q̈ w + … + c + g + Aᵀ (λ_d [+ K_f ∫ (λ_d − λ) dt]), w = q̈_d + K_d ė + K_p e"
    source: ClassVar[str] = "Murray, Li & Sastry 1994, ch. 6; Lynch & Park 2017, §11.6"

    drawn = ("Hybrid force and motion control", f"{MOTION}, λ_d", "τ", "constrained robot", "q, q̇, λ")

    def check_system(self) -> None:
        need(self.system, Constrained, "HybridForce")

    def finish(self) -> None:
        set_acceleration_gains(self, self.robot.joint_names)
        k = self.system.k
        force = array("force", self.force, (), (k,), meaning=f"one per row: {', '.join(self.system.rows)}")
        object.__setattr__(self, "force", tuple(np.broadcast_to(force, (k,)).tolist()))

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.system.robot

    @property
    def gains(self) -> Gains:
        force = Gain("force", self.system.rows, self.force)
        return Gains((self.kp, self.kd, force, *((self.force_gain,) if self._integral else ())))

    @property
    def _integral(self) -> bool:
        return bool(self.force_gain.values[0])

    def make(self) -> Law:
        bound, n, gains = self.system.bound, self.robot.n, self.gains

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            q, qd = y[:n], y[n : 2 * n]
            q_d, qd_d, qdd_d = split(r, n)
            kp, kd, force, *own = gains.read(p)
            w = total(qdd_d, kd(sub(qd_d, qd)), kp(sub(q_d, q)))
            M, found = bound.mass(q), bound.terms(q, qd)
            factors = mechanics.factor(M, found.A)
            allowed = factors.acceleration(linear.apply(M, w), [-d for d in found.drift]).qdd
            press = list(force.p)
            if own:
                press = total(press, [own[0].p[0] * x for x in z])
            h = newton_euler.bias_torque(bound.model, q, qd)
            return total(linear.apply(M, allowed), h, linear.apply(linear.transposed(found.A), press))

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            return sub(gains.read(p)[2].p, y[2 * n :])

        rows, closed = self.system.rows, self._integral
        sensors = tuple(f"{SENSED}multiplier of {row}" for row in rows) if closed else ()
        states = tuple(f"{row}_integral" for row in rows) if closed else ()
        return self.torque_law("hybrid force and motion", act, senses=sensors, states=states, rate=rate)

    def conditions(self) -> Conditions:
        return self.claim(
            "λ = λ_d, and the error along the constraints decays as ë + K_d ė + K_p e = 0",
            *positive(self.kp, self.kd),
            assumed("the rows of A stay independent", "constrained.redundant(q) tells where they do not"),
            assumed("contact is kept", "a force that must pull on a one-sided contact lets go of it"),
            exact_model(),
            *((unclipped(),) if self._integral else ()),
        )
