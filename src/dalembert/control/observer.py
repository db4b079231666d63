"""A momentum observer: what pushes on the arm, without a force sensor and without accelerations.

With p = M q̇ and M q̈ + C q̇ + g = τ + τ_ext, ṗ = τ + Cᵀ q̇ − g + τ_ext (Ṁ = C + Cᵀ). The residual

    r = K (p − ∫ (τ + Cᵀ q̇ − g + r) dt)      obeys      ṙ = K (τ_ext − r):

each joint's external torque through a lag of 1/K.  De Luca & Mattone 2003; Haddadin, De Luca & Albu-Schäffer 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import composite, friction, linear, newton_euler
from dalembert.arguments import array, switch
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.control.conditions import Conditions, assumed, exact_model, positive, unclipped
from dalembert.control.controller import Controller, check_robot, measures, sub, torques, total
from dalembert.control.gains import Gain, GainRule, Gains
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MomentumObserver:
    """The observer of a robot: `gain` K [1/s], one number or one per joint; `friction`: the model's counts as known.

    `with_controller` puts it beside any controller of joint torques; its states z, the integrals, start at p(0), the
    momentum of what is measured then: a law's `start`, which `simulate` asks. The torques it counts are those the law
    asks for: what limits outside the law cut off (`torque_limits` of `simulate`) it takes for a push."""

    robot: Robot
    gain: Any
    friction: bool = False

    def __post_init__(self) -> None:
        names = check_robot(self.robot, "MomentumObserver").joint_names
        switch("friction", self.friction)
        rule = GainRule("1/s", no_matrix="the gain of an observer is one number or one per joint [1/s]")
        made = rule.read("gain", self.gain, names)
        object.__setattr__(self, "gain", Gain("observer", made.names, made.values))

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(f"{j}_momentum_integral" for j in self.robot.joint_names)

    # ------------------------------------------------------------------------------------------ over any scalar
    def momentum(self, q: Scalars, qd: Scalars) -> list[Scalar]:
        """p = M q̇."""
        return linear.apply(composite.mass_matrix(lean(self.robot.model), q), qd)

    def residual(self, q: Scalars, qd: Scalars, z: Scalars, gain: Scalars) -> list[Scalar]:
        """r = K (M q̇ − z)."""
        return [k * (a - b) for k, a, b in zip(gain, self.momentum(q, qd), z, strict=True)]

    def rate(self, q: Scalars, qd: Scalars, tau: Scalars, z: Scalars, gain: Scalars) -> list[Scalar]:
        """ż = τ + Cᵀ q̇ − g [− friction] + r."""
        model = lean(self.robot.model)
        C = composite.coriolis_matrix(model, q, qd)
        known = sub(total(tau, linear.apply(linear.transposed(C), qd)), newton_euler.gravity_torque(model, q))
        if self.friction:
            known = sub(known, friction.friction_torque(self.robot.model, q, qd))
        return total(known, self.residual(q, qd, z, gain))

    # ------------------------------------------------------------------------------------------------ on arrays
    @cached_property
    def _kernel(self) -> Kernel:
        n, gain = self.robot.n, self.gain.values

        def function(q: Scalars, qd: Scalars, z: Scalars) -> list[Scalar]:
            return self.residual(q, qd, z, gain)

        return compile_function(function, [(n,)] * 3, [(n,)], "residual", arguments=("q", "qd", "z"))

    def estimate(self, q: ArrayLike, qd: ArrayLike, z: ArrayLike) -> Array:
        """τ_ext at the joints as the observer sees it [N m], from its state z.  (..., n)."""
        return np.asarray(self._kernel(array("q", q), array("qd", qd), array("z", z)))

    def start(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """z that begins without an error: M q̇.  (..., n)."""
        M, v = self.robot.mass_matrix(q), array("qd", qd)
        return np.asarray(np.einsum("...ij,...j->...i", M, v))

    def wrench(self, q: ArrayLike, estimate: ArrayLike, frame: str | None = None) -> Array:
        """f_tip that explains an estimate, as what a frame applies to the environment: −(Jᵀ)⁺ τ_ext.  (..., 6)."""
        J = self.robot.jacobian(q, frame)
        return np.asarray(-np.einsum("...in,...n->...i", np.linalg.pinv(np.swapaxes(J, -1, -2)), array("r", estimate)))

    def with_controller(self, controller: Controller, compensate: bool = False) -> Observed:
        """The controller with this observer beside it; with `compensate` what is seen is taken off its torques."""
        return Observed(controller, self, compensate)


@dataclass(frozen=True, eq=False)
class Observed(Controller):
    """A controller of joint torques with a momentum observer: τ = τ_controller [− r]."""

    controller: Controller
    observer: MomentumObserver
    compensate: bool = False

    equation: ClassVar[str] = "τ = τ_controller [− r],  r = K (M q̇ − ∫ (τ + Cᵀ q̇ − g + r) dt)"
    source: ClassVar[str] = "ṙ = K (τ_ext − r); De Luca & Mattone 2003"

    def check_system(self) -> None:
        law, wanted = self.controller.law(), torques(self.observer.robot)
        n = self.observer.robot.n
        if law.outputs != wanted or law.measures[: 2 * n] != measures(self.observer.robot):
            raise InputError(
                f"the observer of {self.observer.robot.name!r} goes beside a controller of its joint torques; "
                f"{law.name!r} drives {', '.join(law.outputs[:3])}"
            )

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.controller.robot

    @property
    def gains(self) -> Gains:
        return Gains((*self.controller.gains.each, self.observer.gain))

    def make(self) -> Law:
        inner, observer, n = self.controller.law(), self.observer, self.observer.robot.n
        own = len(inner.states)

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            tau = inner.act(t, y, r, z[:own], p[:-n])
            if not self.compensate:
                return tau
            return sub(tau, observer.residual(y[:n], y[n : 2 * n], z[own:], p[-n:]))

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            tau = act(t, y, r, z, p)
            moved = [] if inner.rate is None else inner.rate(t, y, r, z[:own], p[:-n])
            return [*moved, *observer.rate(y[:n], y[n : 2 * n], tau, z[own:], p[-n:])]

        def start(y: Scalars) -> list[Scalar]:
            begun = inner.initial if inner.start is None else inner.start(y)
            return [*begun, *observer.momentum(y[:n], y[n : 2 * n])]

        return Law(
            f"{inner.name} with observer",
            inner.measures,
            inner.follows,
            inner.outputs,
            act,
            states=(*inner.states, *observer.states),
            initial=(*inner.initial, *(0.0,) * n),
            rate=rate,
            parameters=self.gains.parameters,
            start=start,
        )

    def conditions(self) -> Conditions:
        found = self.controller.conditions()
        others = (c for c in found.items if c not in (exact_model(), unclipped()))
        loop = (
            (assumed("the disturbance is slow against the observer", "else its lag takes phase from the loop"),)
            if self.compensate
            else ()
        )
        return Conditions(
            f"{found.claim}; r follows τ_ext with the lag 1/K",
            f"{found.source}; {self.source}",
            (*others, *positive(self.observer.gain), exact_model(), unclipped(), *loop),
        )
