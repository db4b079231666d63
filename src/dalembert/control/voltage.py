"""From torques to volts: any controller of joint torques, driving the motors of a `DrivenRobot`.

    τ_m = G⁻ᵀ τ,    i* = (τ_m + B θ̇_m) / K_T,    v = R i* + K_m θ̇_m  [+ k_c (i* − i)]

Back-EMF and bearing friction are compensated. What is left is the armature's lag L/R, or L/(R + k_c) with the current
fed back, and the limits of the supply.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np

from dalembert.actuation.driven import DrivenRobot
from dalembert.actuation.motors import DCMotor
from dalembert.algorithms import linear
from dalembert.arguments import need
from dalembert.control.conditions import (
    FAILS,
    HOLDS,
    SAMPLES,
    UNKNOWN,
    Condition,
    Conditions,
    assumed,
    exact_model,
    make_conditions,
)
from dalembert.control.controller import Controller, measures, torques
from dalembert.control.diagrams import MOTION
from dalembert.control.gains import Gains, must
from dalembert.control.scenarios import replace_drives
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.robot import Robot

SAME = 1e-9  # of the largest entry: two models that differ by rounding


def reflect_motors(driven: DrivenRobot) -> Robot:
    """The robot with its motors' inertia reflected, N² J_m in M: what a controller of joint torques should believe in.
    Needs one motor per joint."""
    if not driven.transmission.diagonal:
        raise InputError(
            "wrong-structure",
            "driven",
            problem="belts or differentials couple the rotors to several joints, so no robot has the inertias N² "
            "J_m alone",
        )
    if not any(driven.inertias):
        return driven.robot
    robot = driven.robot
    drives = {j.name: (0.0, j.drive.gear_ratio) for j in robot.description.joints}  # none elsewhere
    for k, name in enumerate(robot.joint_names):
        drives[name] = driven.inertias[k], abs(driven.transmission.matrix[k][k])
    return replace_drives(robot, drives)


@dataclass(frozen=True, eq=False)
class VoltageControl(Controller):
    """A controller of joint torques as one of motor inputs (volts for DC motors, torques or commands for others).

    `current_gain` k_c [Ω] feeds the armature currents back, where motors have them as states. The inner controller
    should believe in `reflect_motors(driven)`, the arm with its rotors."""

    driven: DrivenRobot
    controller: Controller
    _: KW_ONLY
    current_gain: Any = field(default=0.0, metadata=must("Ω", zero=True, of=""))

    equation: ClassVar[str] = "v = R i* + K_m θ̇_m + k_c (i* − i), i* = (G⁻ᵀ τ + B θ̇_m) / K_T, τ from the controller"
    source: ClassVar[str] = "the motors' equations solved for v; exact for L = 0 and rotors in the model"

    drawn = ("Voltage control", MOTION, "v", "driven robot", "q, q̇")

    def check_system(self) -> None:
        need(self.driven, DrivenRobot, "VoltageControl")
        law = self.controller.law()
        if law.outputs != torques(self.driven.robot) or law.measures != measures(self.driven.robot):
            raise InputError(
                "conflict",
                problem=f"VoltageControl needs a controller of the joint torques of {self.driven.robot.name!r} "
                f"from (q, q̇) alone, and {law.name!r} drives {', '.join(law.outputs[:3])}",
            )

    def finish(self) -> None:
        G = np.array(self.driven.transmission.matrix)
        if np.linalg.matrix_rank(G) < G.shape[1]:
            raise InputError(
                "wrong-structure",
                "driven",
                problem="the motors do not drive every joint, so the joint torques cannot be chosen freely",
            )

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.driven.robot

    @property
    def gains(self) -> Gains:
        return Gains((*self.controller.gains.each, *((self.current_gain,) if self._currents else ())))

    @property
    def _currents(self) -> tuple[str, ...]:
        """The currents that are fed back."""
        if not self.current_gain.values[0]:
            return ()
        n = self.driven.n
        return tuple(s for s in self.driven.states[2 * n :] if s.endswith("_current"))

    def make(self) -> Law:
        inner, driven = self.controller.law(), self.driven
        currents, n = self._currents, driven.n
        shares = np.linalg.pinv(np.array(driven.transmission.matrix)).T.tolist()  # τ_m = G⁻ᵀ τ, of all the smallest
        place = {name: k for k, name in enumerate(currents)}
        sized = len(inner.parameters)

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            q_qd, i = y[: 2 * n], y[2 * n :]
            tau_m = linear.apply(shares, inner.act(t, q_qd, r, z, p[:sized]))
            w = driven.transmission.to_motors(q_qd[n:])
            u = []
            for name, motor, tau, speed in zip(driven.motor_names, driven.motors, tau_m, w, strict=True):
                v, state = motor.input_for(tau + motor.damping * speed, speed)
                k = place.get(f"{name}_current")
                u.append(v if k is None else v + p[sized] * (state[0] - i[k]))
            return u

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            assert inner.rate is not None
            return inner.rate(t, y[: 2 * n], r, z, p[:sized])

        def start(y: Scalars) -> list[Scalar]:
            assert inner.start is not None
            return inner.start(y[: 2 * n])

        return Law(
            f"{inner.name} by {driven.motors[0].input}",
            (*inner.measures, *currents),
            inner.follows,
            driven.inputs,
            act,
            states=inner.states,
            initial=inner.initial,
            rate=None if inner.rate is None else rate,
            parameters=self.gains.parameters,
            start=None if inner.start is None else start,
        )

    def _belief(self) -> Condition:
        """Whether the inner controller's model is the driven arm's, in samples: M with its rotors, and gravity."""
        own = self.controller.robot
        q = self.robot.random_configuration(SAMPLES, seed=0)
        M, g = self.driven.mass_matrix(q), self.robot.gravity_torque(q)
        off = [float(np.abs(a - b).max()) for a, b in ((own.mass_matrix(q), M), (own.gravity_torque(q), g))]
        same = all(x <= SAME * float(np.abs(a).max()) for x, a in zip(off, (M, g), strict=True))
        return Condition(
            "the inner model is the driven arm, with its rotors N² J_m in M",
            HOLDS if same else FAILS,
            dict(zip(("largest |M − M̂|", "largest |g − ĝ|"), off, strict=True)),
            "in samples" if same else "believe in reflect_motors(driven), or the claim is not this loop's",
        )

    def conditions(self) -> Conditions:
        found = self.controller.conditions()
        lags = [
            m.inductance / (m.resistance + self.current_gain.values[0])
            for m in self.driven.motors
            if isinstance(m, DCMotor)
        ]
        slowest = max(lags, default=0.0)
        lag = Condition(
            "the armature's lag is short against the loop",
            HOLDS if slowest == 0 else UNKNOWN,
            {"L/(R + k_c)": slowest},
            "" if slowest == 0 else "ten times faster than the loop is the usual wish",
        )
        items = (self._belief() if c == exact_model() else c for c in found)
        facts = found.facts
        return make_conditions(
            facts.claim, f"{facts.source}; {self.source}", (*items, lag, assumed("the supply is not at its limits"))
        )
