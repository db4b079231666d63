"""Control of a robot with springs in its joints: from the motors' side, or through the springs.

    M q̈ + c + g + K (q − θ) = 0,      B θ̈ + K (θ − q) = τ

`FlexiblePD` regulates the motors and knows that the springs sag under gravity: θ_d = q_d + K⁻¹ g(q_d).
`FlexibleLinearizing` uses that the links' positions are a flat output: q̈ and q⃛ follow from (q, θ, q̇, θ̇), and τ
makes q⁗ whatever is wanted.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.actuation.flexible import FlexibleRobot
from dalembert.algorithms import composite, linear, newton_euler
from dalembert.arguments import Array, array, need
from dalembert.control.conditions import (
    Conditions,
    above,
    assumed,
    exact_model,
    find_magnitudes,
    positive,
    proved_above,
    resting,
)
from dalembert.control.controller import Controller, follows, split, sub, total
from dalembert.control.gains import GainRule, Gains, must
from dalembert.control.joint_space import DAMPING, STIFFNESS
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.robot import Robot
from dalembert.scalar.jet import Jet

WHERE = ("desired", "online")


class FlexibleController(Controller):
    """What drives a robot with springs in its joints."""

    flexible: FlexibleRobot

    def check_system(self) -> None:
        need(self.flexible, FlexibleRobot, type(self).__name__)

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.flexible.robot


@dataclass(frozen=True, eq=False)
class FlexiblePD(FlexibleController):
    """τ = K_P (θ_d − θ) − K_D θ̇ + g: only the motors are measured.

    θ_d = q_d + K⁻¹ g(q_d). `gravity`: "desired", g(q_d), or "online", g at the links' position that the motors'
    suggests, θ − K⁻¹ g(q_d), which goes better on the way. `kp` [N m/rad], `kd` [N m s/rad], on the joints' side."""

    flexible: FlexibleRobot
    _: KW_ONLY
    kp: Any = field(metadata=STIFFNESS)
    kd: Any = field(metadata=DAMPING)
    gravity: str = "desired"

    equation: ClassVar[str] = "τ = K_P (θ_d − θ) − K_D θ̇ + g(q_d), θ_d = q_d + K⁻¹ g(q_d)"
    source: ClassVar[str] = "Tomei 1991; online: De Luca, Siciliano & Zollo 2005"
    drawn = ("PD control of flexible joints", "q_d", "τ", "flexible robot", "θ, θ̇")

    def check_system(self) -> None:
        super().check_system()
        choose("gravity to compensate", self.gravity, WHERE)

    def make(self) -> Law:
        flexible, gains = self.flexible, self.gains
        names, n, model = self.robot.joint_names, self.robot.n, lean(flexible.model)
        soft = [1.0 / k for k in flexible.stiffness]
        online = self.gravity == "online"

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            (theta, theta_d), q_d = split(y, n), r[:n]
            kp, kd = gains.read(p)
            g = newton_euler.gravity_torque(model, q_d)
            sag = [s * x for s, x in zip(soft, g, strict=True)]
            if online:
                g = newton_euler.gravity_torque(model, sub(theta, sag))
            return total(kp(sub(total(q_d, sag), theta)), kd([-v for v in theta_d]), g)

        return Law(
            f"flexible-joint PD ({self.gravity} gravity)",
            (*(f"{j}_motor" for j in names), *(f"{j}_motor_rate" for j in names)),
            follows(names, 1),
            flexible.inputs,
            act,
            parameters=gains.parameters,
        )

    def conditions(self) -> Conditions:
        B = find_magnitudes(self.robot)
        K, P = np.diag(self.flexible.stiffness), self.kp.matrix
        stiff = float(np.linalg.eigvalsh(np.block([[K, -K], [-K, K + P]]))[0])
        names = ("smallest eigenvalue", "‖∂g/∂q‖ proved at most", "met in samples")
        spring = min(self.flexible.stiffness)
        slope = B.slope_norm, B.seen_slope_norm
        return self.claim(
            "q → q_d from every state",
            *positive(self.kp, self.kd),
            proved_above("K > ‖∂g/∂q‖", spring, *slope, ("smallest stiffness", *names[1:])),
            proved_above("λ_min [[K, −K], [−K, K + K_P]] > ‖∂g/∂q‖", stiff, *slope, names),
            assumed("the model's gravity is the robot's"),
            resting(),
        )

    def motor_set_point(self, q_d: ArrayLike) -> Array:
        """θ_d = q_d + K⁻¹ g(q_d).  (..., n)."""
        x = array("q_d", q_d)
        return np.asarray(x + self.robot.gravity_torque(x) / np.array(self.flexible.stiffness))


@dataclass(frozen=True, eq=False)
class FlexibleLinearizing(FlexibleController):
    """τ such that the links obey (d/dt + ω)⁴ e = 0, or Σ kᵢ e⁽ⁱ⁾ + e⁗ = 0: exact linearization by static feedback.

    `omega` [rad/s]: four poles at −ω, one number or one per joint. Or `coefficients` (k₀, k₁, k₂, k₃), the same for all
    joints. The reference gives (q_d, q̇_d, q̈_d); its jerk and snap are taken as zero. Joint damping must be zero."""

    flexible: FlexibleRobot
    _: KW_ONLY
    omega: Any = field(default=None, metadata=must("rad/s", no_matrix="omega is one number or one per joint"))
    coefficients: Any = None

    equation: ClassVar[str] = "τ = B θ̈ + K (θ − q) with q⁗ = −k₃ (q⃛ − 0) + k₂ ë + k₁ ė + k₀ e"
    source: ClassVar[str] = "Spong 1987; De Luca 1988"

    drawn = ("Feedback linearization of flexible joints", "q_d", "τ", "flexible robot", "q, q̇, θ, θ̇")

    def check_system(self) -> None:
        super().check_system()
        if any(self.flexible.damping):
            raise InputError(
                "unsupported",
                "damping",
                problem="static feedback does not linearize joints with damping",
                remedy="Set damping=0.",
            )
        if self.flexible.friction:
            raise InputError(
                "unsupported",
                "friction",
                problem="friction has no derivatives to feed back",
                remedy="Make the FlexibleRobot without friction.",
            )
        if (self.omega is None) == (self.coefficients is None):
            raise InputError(
                "conflict",
                "omega",
                problem="FlexibleLinearizing needs either `omega` or `coefficients` (k0, k1, k2, k3)",
            )

    def finish(self) -> None:
        if self.omega is not None:
            each = [tuple(math.comb(4, i) * x ** (4 - i) for x in self.omega.values) for i in range(4)]
        else:
            k = array("coefficients", self.coefficients, (4,), meaning="(k0, k1, k2, k3)")
            each = [(float(x),) * self.flexible.n for x in k]
        read, names = GainRule().read, self.robot.joint_names
        object.__setattr__(self, "coefficients", tuple(read(f"k{i}", x, names) for i, x in enumerate(each)))

    @property
    def gains(self) -> Gains:
        return Gains(self.coefficients)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Poles of the error, (n, 4)."""
        k = np.array([g.values for g in self.coefficients])
        return np.array([np.roots([1.0, *k[::-1, j]]) for j in range(self.flexible.n)])

    def make(self) -> Law:
        flexible, gains = self.flexible, self.gains
        names, n, model = self.robot.joint_names, self.robot.n, lean(flexible.model)
        K, B = flexible.stiffness, flexible.reflected_inertia

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            q, theta, qd, theta_d = split(y, n)
            q_d, qd_d, qdd_d = split(r, n)
            k0, k1, k2, k3 = gains.read(p)
            still = [0.0] * n
            L, inverse = linear.factor_ldl(composite.mass_matrix(model, q))

            def solve(b: Scalars) -> list[Scalar]:
                return linear.solve_diagonal_lower(L, inverse, linear.solve_transposed(L, b))

            spring = [k * (m - x) for k, m, x in zip(K, theta, q, strict=True)]
            rate = [k * (w - v) for k, w, v in zip(K, theta_d, qd, strict=True)]
            qdd = solve(sub(spring, newton_euler.bias_torque(model, q, qd)))
            known = _jets(model, q, qd, qdd, still, still)
            jerk = solve(sub(rate, [x.rate for x in known]))
            snap = total(k0(sub(q_d, q)), k1(sub(qd_d, qd)), k2(sub(qdd_d, qdd)), k3([-x for x in jerk]))
            torque = _jets(model, q, qd, qdd, jerk, snap)
            # θ̈ = q̈ + K⁻¹ d²/dt² (M q̈ + h)
            return [
                b * (a + x.acceleration * (1.0 / k)) + s
                for b, a, x, k, s in zip(B, qdd, torque, K, spring, strict=True)
            ]

        return Law(
            "flexible-joint linearizing",
            flexible.states,
            follows(names),
            flexible.inputs,
            act,
            parameters=gains.parameters,
        )

    def conditions(self) -> Conditions:
        slowest = float(self.poles.real.max())
        names = ("−largest real part", "needed")
        return self.claim(
            "e → 0 exponentially from every state, for a set point that rests",
            above("every pole of the error lies to the left", -slowest, 0.0, names),
            exact_model(),
            assumed("jerk and snap of the reference are zero", "else they act as a disturbance of q⁗"),
        )


def _jets(model: Model, q: Scalars, qd: Scalars, qdd: Scalars, jerk: Scalars, snap: Scalars) -> list[Jet]:
    """M q̈ + h with its first two rates, along a motion with these derivatives."""
    position = [Jet(*row) for row in zip(q, qd, qdd, strict=True)]
    rate = [Jet(*row) for row in zip(qd, qdd, jerk, strict=True)]
    second = [Jet(*row) for row in zip(qdd, jerk, snap, strict=True)]
    return newton_euler.inverse_dynamics(model, position, rate, second)
