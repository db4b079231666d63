"""Adaptive control: the arm learns its own parameters while it works.  Slotine & Li 1987.

    q̇_r = q̇_d + Λ e,   s = q̇_r − q̇ = ė + Λ e
    τ = M̂(q) q̈_r + Ĉ(q, q̇) q̇_r + ĝ(q) + K_D s = Y_r(q, q̇, q̇_r, q̈_r) π̂ + K_D s
    dπ̂/dt = Γ (Y_rᵀ s − σ (π̂ − π̂₀))

With V = ½ sᵀMs + ½ π̃ᵀΓ⁻¹π̃ and Ṁ − 2C skew-symmetric, V̇ = −sᵀK_D s ≤ 0 (σ = 0): s → 0 and so e → 0; π̂ stays bounded,
and need not reach the truth unless the motion excites it.

Christoffel's C is symmetric in its two velocities, C(q, a) b = C(q, b) a = ¼ (c(q, a + b) − c(q, a − b)): Newton–Euler
and the regressor, which know only c(q, v), give M q̈_r + C q̇_r + g by two calls, and gravity cancels in the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms import friction, linear, newton_euler, regressor
from dalembert.arguments import Array, array
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.control.conditions import HOLDS, Condition, Conditions, assumed, positive, unclipped
from dalembert.control.controller import Controller, Wanted, read_wanted, side_by_side, split, sub, total
from dalembert.control.diagrams import MOTION
from dalembert.control.gains import GainRule, must
from dalembert.draw.blocks import Diagram, Signal, block, terminal, total as summed
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.robot import Robot

# A column counts as independent of those before it if what is left of it is more than this part of the largest.
INDEPENDENT = 1e-8
STATES = 40  # random motions on which independence is judged: more rows than any arm has parameters


def reference_torque(model: Model, q: Scalars, qd: Scalars, qd_r: Scalars, qdd_r: Scalars) -> list[Scalar]:
    """M(q) q̈_r + C(q, q̇) q̇_r + g(q), C by Christoffel's symbols."""
    still = [0.0] * len(q)
    tau = newton_euler.inverse_dynamics(model, q, still, qdd_r)
    plus, minus = (newton_euler.bias_torque(model, q, v) for v in (total(qd, qd_r), sub(qd, qd_r)))
    return [t + 0.25 * (a - b) for t, a, b in zip(tau, plus, minus, strict=True)]


def reference_regressor(
    model: Model, q: Scalars, qd: Scalars, qd_r: Scalars, qdd_r: Scalars, rotor: bool = False, friction: bool = False
) -> list[list[Scalar]]:
    """Y_r with Y_r π = M q̈_r + C(q, q̇) q̇_r + g [+ friction(q̇)], n × (columns of `robot.regressor`)."""
    still = [0.0] * len(q)
    Y = regressor.regressor(model, q, still, qdd_r, rotor=rotor)
    A, B = (regressor.regressor(model, q, v, still, rotor=rotor) for v in (total(qd, qd_r), sub(qd, qd_r)))
    Y = [[y + 0.25 * (a - b) for y, a, b in zip(*rows, strict=True)] for rows in zip(Y, A, B, strict=True)]
    if friction:
        rubbing = regressor.regressor(model, q, qd, still, friction=friction)
        first = regressor.PER_BODY * len(model.bodies)
        Y = [[*row, *more[first:]] for row, more in zip(Y, rubbing, strict=True)]
    return Y


def _random_regressor(robot: Robot, seed: int, rotor: bool, friction: bool) -> Array:
    """The regressor over random motions, one row per torque."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(STATES * robot.n, seed=rng)
    qd, qdd = rng.normal(size=(2, *q.shape))
    Y = robot.regressor(q, qd, qdd, rotor=rotor, friction=friction)
    return Y.reshape(-1, Y.shape[-1])


def base_columns(robot: Robot, rotor: bool = False, friction: bool = False, seed: int = 0) -> tuple[int, ...]:
    """Columns of the regressor that are independent of those before them, over random motions: as many as the robot has
    base parameters. Any change of the parameters has the same torques as a change of these alone."""
    A = _random_regressor(robot, seed, rotor, friction)
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
class AdaptiveControl(Controller):
    """Slotine and Li's controller. The law's states are the estimates of the named parameters, which start at the
    values of the robot believed in; all others stay as believed.

    `parameters`: names of the robot's regressor columns ("link3:m", "joint2:viscous", …), "base" for as many as are
    independent, or "all". `kd` [N m s/rad] is K_D, `rate` [1/s] Λ, `adaptation` Γ (one number, one per parameter, or a
    symmetric matrix), `leakage` σ ≥ 0, which bounds π̂ where disturbances would let it wander. `rotor`: rotor inertias
    may be adapted. `friction`: the robot's friction is compensated, and its coefficients may be adapted."""

    robot: Robot
    _: KW_ONLY
    kd: Any = field(metadata=must("N m s/rad"))
    rate: Any = field(metadata=must("1/s", no_matrix="rate is one number [1/s] or one per joint"))
    adaptation: Any
    parameters: Any = "base"
    leakage: Any = field(default=0.0, metadata=must(zero=True, of=""))
    rotor: bool = True
    friction: bool = False

    equation: ClassVar[str] = "τ = Y_r π̂ + K_D s, dπ̂/dt = Γ (Y_rᵀ s − σ (π̂ − π̂₀)), s = ė + Λ e"
    source: ClassVar[str] = "Slotine & Li 1987; V = ½ sᵀMs + ½ π̃ᵀΓ⁻¹π̃, V̇ = −sᵀK_D s"

    def finish(self) -> None:
        object.__setattr__(self, "parameters", self._choose())
        self.set_gain("adaptation", GainRule(of="parameter"))

    def names_for(self, of: str) -> Sequence[str]:
        return self.parameters if of == "parameter" else self.robot.joint_names

    @property
    def options(self) -> dict[str, bool]:
        return {"rotor": self.rotor, "friction": self.friction}

    def _choose(self) -> tuple[str, ...]:
        every = self.robot.parameter_names(**self.options)
        if isinstance(self.parameters, str):
            if choose("choice of parameters", self.parameters, ("base", "all")) == "all":
                return tuple(every)
            return tuple(every[k] for k in base_columns(self.robot, **self.options))
        if not isinstance(self.parameters, Sequence) or not self.parameters:
            raise InputError(
                "wrong-type", "parameters", self.parameters, expected='"base", "all" or a sequence of parameter names'
            )
        for name in self.parameters:
            choose("parameter", name, every)
            if list(self.parameters).count(name) > 1:
                raise InputError("duplicate", "parameters", name, expected="a sequence of different names")
        return tuple(self.parameters)

    @cached_property
    def columns(self) -> tuple[int, ...]:
        every = self.robot.parameter_names(**self.options)
        return tuple(every.index(name) for name in self.parameters)

    @cached_property
    def believed_parameters(self) -> Array:
        """All of π as the robot believed in has it."""
        return np.asarray(self.robot.parameters(**self.options), float)

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

        states = tuple(f"{name}_estimate" for name in self.parameters)
        return self.torque_law("adaptive", act, states=states, initial=start, rate=rate)

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
        return self.claim(
            "e → 0 and ė → 0 along every bounded motion, π̂ bounded, whatever the true parameters",
            *positive(self.kd, self.rate, self.adaptation),
            missing,
            assumed("nothing but the parameters is unknown", "with disturbances π̂ wanders: give leakage"),
            unclipped(),
        )

    def diagram(self) -> Diagram:
        """Slotine and Li: the regressor's parameters are learned while moving."""
        nodes = (
            terminal("wanted", MOTION, 0, 0),
            block("slide", "s = ė + Λ e\nq̇_r = q̇_d + Λ e", 1, 0, tone="servo"),
            block("K_D", "K_D", 2, 0, tone="servo"),
            summed("sum", 5, 0),
            block("system", "robot", 6, 0, tone="plant"),
            block("learn", "Γ Y_r^T s", 2, 1, tone="model"),
            block("integral", "1/s", 3, 1, tone="model"),
            block("regressor", "Y_r π̂", 4, 1, tone="model"),
        )
        signals = (
            Signal("wanted", "slide", into=0.0),
            Signal("slide", "K_D", "s"),
            Signal("slide", "learn"),
            Signal("K_D", "sum", sign="+"),
            Signal("learn", "integral"),
            Signal("integral", "regressor", "π̂"),
            Signal("regressor", "sum", sign="+"),
            Signal("sum", "system", "τ"),
            Signal("system", "slide", "q, q̇", lane=1, rise=0, into=0.9),
        )
        equation = "τ = Y_r π̂ + K_D s, dπ̂/dt = Γ Y_r^T s"
        return Diagram("Adaptive control", nodes, signals, equation)

    # ------------------------------------------------------------------------------------------------ on arrays
    @cached_property
    def _sliding(self) -> Kernel:
        n = self.robot.n

        def function(y: Scalars, r: Scalars, p: Scalars) -> list[Scalar]:
            return self._terms(y, r, p)[2]

        sizes = [(2 * n,), (3 * n,), (len(self.gains.parameters),)]
        return compile_function(function, sizes, [(n,)], "s", arguments=("y", "r", "p"))

    def lyapunov(
        self, t: ArrayLike, q: ArrayLike, qd: ArrayLike, reference: Wanted, z: ArrayLike, truth: Robot
    ) -> Array:
        """V = ½ sᵀMs + ½ π̃ᵀΓ⁻¹π̃ with the true robot's M and parameters: never rises.  (...).

        Where only some parameters are adapted, `truth` must agree in the torques that the others make."""
        x, v = array("q", q), array("qd", qd)
        r = read_wanted(self.law(), reference, array("t", t))
        s = np.asarray(self._sliding(side_by_side([x, v]), r, np.array(list(self.gains.parameters.values()))))
        wrong = array("z", z) - self.true_estimates(truth)
        kinetic = 0.5 * np.einsum("...i,...ij,...j->...", s, truth.mass_matrix(x), s)
        return np.asarray(
            kinetic + 0.5 * np.einsum("...i,ij,...j->...", wrong, np.linalg.inv(self.adaptation.matrix), wrong)
        )

    def true_estimates(self, truth: Robot) -> Array:
        """What the adapted parameters would have to be for the torques of another robot, all others as believed: the
        shortest change that explains it, exact where the adapted columns span the change.  (parameters,)."""
        other = np.asarray(truth.parameters(**self.options), float)
        if other.shape != self.believed_parameters.shape:
            raise InputError(
                "wrong-shape", "truth", len(other), expected=f"a robot with {len(self.believed_parameters)} parameters"
            )
        Y = _random_regressor(self.robot, 1, **self.options)
        change, *_ = np.linalg.lstsq(Y[:, self.columns], Y @ (other - self.believed_parameters), rcond=1e-10)
        return np.asarray(self.believed_parameters[list(self.columns)] + change)
