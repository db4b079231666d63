"""Adaptive control: the arm learns its own parameters while it works.  Slotine & Li 1987.

    q̇_r = q̇_d + Λ e,   s = q̇_r − q̇ = ė + Λ e
    τ = M̂(q) q̈_r + Ĉ(q, q̇) q̇_r + ĝ(q) + K_D s = Y_r(q, q̇, q̇_r, q̈_r) π̂ + K_D s
    dπ̂/dt = Γ (Y_rᵀ s − σ (π̂ − π̂₀))

With V = ½ sᵀMs + ½ π̃ᵀΓ⁻¹π̃ and Ṁ − 2C skew-symmetric, V̇ = −sᵀK_D s ≤ 0 (σ = 0): s → 0 and so e → 0; π̂ stays bounded,
and need not reach the truth unless the motion excites it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import friction, linear
from dalembert.arguments import switch
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.control.conditions import HOLDS, Condition, Conditions, assumed, positive, unclipped
from dalembert.control.controller import (
    Controller,
    believed,
    followed,
    follows,
    measures,
    set_gain,
    split,
    sub,
    torques,
    total,
)
from dalembert.control.gains import Gains, number_gain
from dalembert.control.passivity import reference_regressor, reference_torque
from dalembert.errors import InputError, unknown
from dalembert.flow import Scalar, Scalars
from dalembert.kinematics.tasks import finite
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot

Array = NDArray[np.float64]

# A column counts as independent of those before it if what is left of it is more than this part of the largest.
INDEPENDENT = 1e-8
STATES = 40  # random motions on which independence is judged: more rows than any arm has parameters


def base_columns(robot: Robot, rotor: bool = False, friction: bool = False, seed: int = 0) -> tuple[int, ...]:
    """Columns of the regressor that are independent of those before them, over random motions: as many as the robot has
    base parameters. Any change of the parameters has the same torques as a change of these alone."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(STATES * robot.n, seed=rng)
    qd, qdd = rng.normal(size=(2, *q.shape))
    Y = robot.regressor(q, qd, qdd, rotor=rotor, friction=friction)
    A = Y.reshape(-1, Y.shape[-1])
    A = A / np.maximum(np.linalg.norm(A, axis=0), np.finfo(float).tiny)
    kept: list[int] = []
    basis = np.zeros((len(A), 0))
    for k in range(A.shape[1]):
        rest = A[:, k]
        for _ in range(2):  # twice is enough: what rounding left of the first pass goes in the second
            rest = rest - basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > INDEPENDENT:
            kept.append(k)
            basis = np.column_stack((basis, rest / size))
    return tuple(kept)


@dataclass(frozen=True, eq=False)
class Adaptive(Controller):
    """Slotine and Li's controller. The law's states are the estimates of the named parameters, which start at the
    values of the robot believed in; all others stay as believed.

    `parameters`: names of the robot's regressor columns ("link3:m", "joint2:viscous", …), "base" for as many as are
    independent, or "all". `kd` [N m s/rad] is K_D, `rate` [1/s] Λ, `adaptation` Γ (one number, one per parameter, or a
    symmetric matrix), `leakage` σ ≥ 0, which bounds π̂ where disturbances would let it wander. `rotor`: rotor inertias
    may be adapted. `friction`: the robot's friction is compensated, and its coefficients may be adapted."""

    robot: Robot
    kd: Any
    rate: Any
    adaptation: Any
    parameters: Any = "base"
    leakage: Any = 0.0
    rotor: bool = True
    friction: bool = False

    equation: ClassVar[str] = "τ = Y_r π̂ + K_D s, dπ̂/dt = Γ (Y_rᵀ s − σ (π̂ − π̂₀)), s = ė + Λ e"
    source: ClassVar[str] = "Slotine & Li 1987; V = ½ sᵀMs + ½ π̃ᵀΓ⁻¹π̃, V̇ = −sᵀK_D s"

    def __post_init__(self) -> None:
        names = believed(self.robot, "Adaptive").joint_names
        switch("rotor", self.rotor)
        switch("friction", self.friction)
        set_gain(self, "kd", self.kd, names, unit="N m s/rad")
        if set_gain(self, "rate", self.rate, names, unit="1/s").full:
            raise InputError("rate is one number [1/s] or one per joint")
        object.__setattr__(self, "parameters", self._chosen())
        set_gain(self, "adaptation", self.adaptation, self.parameters, of="parameter")
        object.__setattr__(self, "leakage", number_gain("leakage", self.leakage, zero=True))

    @property
    def options(self) -> dict[str, bool]:
        return {"rotor": self.rotor, "friction": self.friction}

    def _chosen(self) -> tuple[str, ...]:
        every = self.robot.parameter_names(**self.options)
        if isinstance(self.parameters, str):
            if self.parameters == "base":
                return tuple(every[k] for k in base_columns(self.robot, **self.options))
            if self.parameters == "all":
                return tuple(every)
            raise unknown("choice of parameters", self.parameters, ("base", "all"))
        if not isinstance(self.parameters, Sequence) or not self.parameters:
            raise InputError(f'parameters is "base", "all", or names of parameters; got {self.parameters!r}')
        for name in self.parameters:
            if name not in every:
                raise unknown("parameter", name, every)
            if list(self.parameters).count(name) > 1:
                raise InputError(f"parameter {name!r} is named twice")
        return tuple(self.parameters)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        every = self.robot.parameter_names(**self.options)
        return tuple(every.index(name) for name in self.parameters)

    @cached_property
    def believed_parameters(self) -> Array:
        """All of π as the robot believed in has it."""
        return np.asarray(self.robot.parameters(**self.options), float)

    @property
    def gains(self) -> Gains:
        own = (self.leakage,) if self.leakage.values[0] else ()
        return Gains((self.kd, self.rate, self.adaptation, *own))

    def _terms(self, y: Scalars, r: Scalars, p: Scalars) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar]]:
        """(Y_r of the adapted columns, the torque as believed, s)."""
        n, model = self.robot.n, self.robot.model
        (q, qd), (q_d, qd_d, qdd_d) = split(y, n), split(r, n)
        rate = self.gains.read(p)[1]
        e, ed = sub(q_d, q), sub(qd_d, qd)
        qd_r, qdd_r = total(qd_d, rate(e)), total(qdd_d, rate(ed))
        Y = reference_regressor(model, q, qd, qd_r, qdd_r, **self.options)
        tau = reference_torque(lean(model), q, qd, qd_r, qdd_r)
        if self.friction:
            tau = total(tau, friction.friction_torque(model, q, qd))
        return [[row[k] for k in self.columns] for row in Y], tau, sub(qd_r, qd)

    def make(self) -> Law:
        gains, start = self.gains, tuple(self.believed_parameters[list(self.columns)].tolist())

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            Y, tau, s = self._terms(y, r, p)
            return total(tau, linear.apply(Y, sub(z, start)), gains.read(p)[0](s))

        def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            Y, _, s = self._terms(y, r, p)
            along = linear.apply(linear.transposed(Y), s)
            _, _, adaptation, *leakage = gains.read(p)
            if leakage:
                (sigma,) = leakage[0].p
                along = [a - sigma * (x - x0) for a, x, x0 in zip(along, z, start, strict=True)]
            return adaptation(along)

        return Law(
            "adaptive",
            measures(self.robot),
            follows(self.robot.joint_names),
            torques(self.robot),
            act,
            states=tuple(f"{name}_estimate" for name in self.parameters),
            initial=start,
            rate=rate,
            parameters=gains.parameters,
        )

    def conditions(self) -> Conditions:
        every = base_columns(self.robot, **self.options)
        enough = len(set(self.columns) & set(every)) == len(every) or len(self.columns) == len(self.believed_parameters)
        missing = (
            Condition("every base parameter is adapted", HOLDS, {"adapted": len(self.columns), "base": len(every)})
            if enough
            else assumed(
                "the parameters that are not adapted are right",
                f"{len(self.columns)} are adapted, and the robot has {len(every)} base parameters",
            )
        )
        return Conditions(
            "e → 0 and ė → 0 along every bounded motion, π̂ bounded, whatever the true parameters",
            self.source,
            (
                *positive(self.kd, self.rate, self.adaptation),
                missing,
                assumed("nothing but the parameters is unknown", "with disturbances π̂ wanders: give leakage"),
                unclipped(),
            ),
        )

    # ------------------------------------------------------------------------------------------------ on arrays
    @cached_property
    def _sliding(self) -> Kernel:
        n = self.robot.n

        def function(y: Scalars, r: Scalars, p: Scalars) -> list[Scalar]:
            return self._terms(y, r, p)[2]

        sizes = [(2 * n,), (3 * n,), (len(self.gains.parameters),)]
        return compile_function(function, sizes, [(n,)], "s", arguments=("y", "r", "p"))

    def lyapunov(self, t: ArrayLike, q: ArrayLike, qd: ArrayLike, reference: Any, z: ArrayLike, truth: Robot) -> Array:
        """V = ½ sᵀMs + ½ π̃ᵀΓ⁻¹π̃ with the true robot's M and parameters: never rises.  (...).

        Where only some parameters are adapted, `truth` must agree in the torques that the others make."""
        x, v = finite("q", q), finite("qd", qd)
        r = followed(self.law(), reference, finite("t", t))
        batch = np.broadcast_shapes(x.shape[:-1], v.shape[:-1], r.shape[:-1])
        y = np.concatenate([np.broadcast_to(a, (*batch, a.shape[-1])) for a in (x, v)], axis=-1)
        s = np.asarray(self._sliding(y, r, np.array(list(self.gains.parameters.values()))))
        wrong = finite("z", z) - self.true_estimates(truth)
        kinetic = 0.5 * np.einsum("...i,...ij,...j->...", s, truth.mass_matrix(x), s)
        return np.asarray(
            kinetic + 0.5 * np.einsum("...i,ij,...j->...", wrong, np.linalg.inv(self.adaptation.matrix), wrong)
        )

    def true_estimates(self, truth: Robot) -> Array:
        """What the adapted parameters would have to be for the torques of another robot, all others as believed: the
        shortest change that explains it, exact where the adapted columns span the change.  (parameters,)."""
        other = np.asarray(truth.parameters(**self.options), float)
        if other.shape != self.believed_parameters.shape:
            raise InputError(f"{truth.name!r} has {len(other)} parameters, not {len(self.believed_parameters)}")
        rng = np.random.default_rng(1)
        q = self.robot.random_configuration(STATES * self.robot.n, seed=rng)
        qd, qdd = rng.normal(size=(2, *q.shape))
        Y = self.robot.regressor(q, qd, qdd, rotor=self.rotor, friction=self.friction)
        Y = Y.reshape(-1, Y.shape[-1])
        change, *_ = np.linalg.lstsq(Y[:, self.columns], Y @ (other - self.believed_parameters), rcond=1e-10)
        return np.asarray(self.believed_parameters[list(self.columns)] + change)
