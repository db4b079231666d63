"""Robust control: a term that outweighs whatever the model may have wrong, within bounds that are given.

    q̇_r = q̇_d + Λ e,   s = q̇_r − q̇
    τ = M̂ q̈_r + Ĉ q̇_r + ĝ + K_D s + ρ s / max(‖s‖, ε),     ρ = δ_M ‖q̈_r‖ + δ_C ‖q̇‖ ‖q̇_r‖ + δ_g

With ‖M − M̂‖ ≤ δ_M, ‖c − ĉ‖ ≤ δ_C ‖q̇‖², ‖g − ĝ‖ ≤ δ_g the last term outweighs the model's error along s, and V = ½ sᵀMs
has V̇ ≤ −sᵀK_D s outside the layer ‖s‖ < ε and V̇ ≤ −sᵀK_D s + ρ ε/4 within: ‖s‖ ends below
√(m₁/m₀) min(ε, √(ρ ε / 4 k_D)), m₀ ≤ λ(M) ≤ m₁, and ‖e‖ below that over λ_min(Λ). (Bounds on c serve C too: a symmetric
bilinear map is as large off its diagonal as on it.) Without a model M̂, Ĉ and ĝ are zero and the bounds those of the
robot itself.  Slotine & Li 1991, §9.2; Spong 1992; the layer: Corless & Leitmann 1981.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert import scalar
from dalembert.algorithms import linear
from dalembert.arguments import Array, array, number, of_kind, switch
from dalembert.control.adaptive import reference_torque
from dalembert.control.conditions import HOLDS, SAMPLES, Condition, Conditions, assumed, positive
from dalembert.control.controller import Controller, check_robot, sub, total
from dalembert.control.diagrams import MOTION
from dalembert.control.gains import Applied, must
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.robot import Robot


@dataclass(frozen=True)
class Uncertainty:
    """How far a robot may be from its model: `mass` δ_M ≥ ‖M − M̂‖, `coriolis` δ_C with ‖c − ĉ‖ ≤ δ_C ‖q̇‖², `gravity`
    δ_g ≥ ‖g − ĝ‖; `inertia`: m₀ ≤ λ(M) ≤ m₁ of the robot itself, which only the size of the last error needs.
    `certified`: whether they are proved, or only met in samples."""

    mass: float
    coriolis: float
    gravity: float
    inertia: tuple[float, float]
    certified: bool = True

    def __post_init__(self) -> None:
        for name in ("mass", "coriolis", "gravity"):
            object.__setattr__(self, name, number(f"{name} of an Uncertainty", getattr(self, name), least=0.0))
        low, high = array("inertia of an Uncertainty", self.inertia, (2,)).tolist()
        if not 0 < low <= high:
            raise InputError(
                "out-of-range",
                "inertia",
                self.inertia,
                expected="(smallest, largest) eigenvalue of M with 0 < smallest ≤ largest",
            )
        object.__setattr__(self, "inertia", (low, high))
        switch("certified", self.certified)

    @staticmethod
    def prove(robot: Robot, **options: Any) -> Uncertainty:
        """Of a robot against no model at all (RobustControl with model=False): δ_M = μ₂, δ_C = c_b, δ_g = g_b of the
        2-norm and μ₁, μ₂, certified within the joints' limits by `robot.bounds`, which takes the options."""
        found = check_robot(robot, "Uncertainty.prove").bounds(["mu1", "mu2", "coriolis_2", "gravity_2"], **options)
        missing = [b.symbol for b in found if not b.proved]
        if missing:
            raise InputError(
                "not-proved",
                "robot",
                problem=f"{' and '.join(missing)} of {robot.name!r} could not be certified",
                remedy="Pass more `seconds`, narrower limits or rotor inertias, or use Uncertainty.sample, which "
                "proves nothing.",
            )
        low, high, c, g = (b.certified for b in found)
        return Uncertainty(high, c, g, (low, high), certified=True)

    @staticmethod
    def sample(
        robot: Robot, plants: Sequence[Robot], *, model: bool = True, samples: int = SAMPLES, seed: int = 0
    ) -> Uncertainty:
        """The largest differences that samples within the limits met, of these robots against the one believed in (or,
        with model=False, against no model). An order of magnitude, no proof."""
        if not plants:
            raise InputError("too-few", "plants", plants, expected="at least one robot that the controller may drive")
        rng = np.random.default_rng(seed)
        q = robot.random_configuration(samples, seed=rng)
        qd = rng.normal(size=q.shape)
        qd /= np.linalg.norm(qd, axis=-1, keepdims=True)
        own = (robot.mass_matrix(q), robot.coriolis_torque(q, qd), robot.gravity_torque(q))
        M, c, g = own if model else tuple(np.zeros_like(x) for x in own)
        found = []
        for plant in plants:
            true = plant.mass_matrix(q)
            eigen = np.linalg.eigvalsh(true)
            found.append(
                (
                    np.linalg.norm(true - M, 2, axis=(-2, -1)).max(),
                    np.linalg.norm(plant.coriolis_torque(q, qd) - c, axis=-1).max(),
                    np.linalg.norm(plant.gravity_torque(q) - g, axis=-1).max(),
                    -eigen[:, 0].min(),
                    eigen[:, -1].max(),
                )
            )
        mass, coriolis, gravity, low, high = (float(x) for x in np.max(found, axis=0))
        return Uncertainty(mass, coriolis, gravity, (-low, high), certified=False)


@dataclass(frozen=True, eq=False)
class RobustControl(Controller):
    """Tracking within a known error, for every robot within an `Uncertainty` of the model.

    `kd` [N m s/rad] is K_D, `rate` [1/s] Λ, `layer` ε [rad/s] trades the last error for smooth torques. `model`: M̂,
    Ĉ, ĝ are the model's; without it they are zero, and the bounds must be those of the robot itself."""

    robot: Robot
    uncertainty: Uncertainty
    _: KW_ONLY
    kd: Any = field(metadata=must("N m s/rad"))
    rate: Any = field(metadata=must("1/s", no_matrix="rate is one number [1/s] or one per joint"))
    layer: Any = field(default=0.05, metadata=must(of=""))
    model: bool = True

    equation: ClassVar[str] = "τ = M̂ q̈_r + Ĉ q̇_r + ĝ + K_D s + ρ s / max(‖s‖, ε), s = ė + Λ e"
    source: ClassVar[str] = "Slotine & Li 1991, §9.2; Spong 1992; Corless & Leitmann 1981 (the layer)"
    drawn = ("Robust control", MOTION, "τ", "robot", "q, q̇")

    def check_system(self) -> None:
        super().check_system()
        of_kind(self.uncertainty, Uncertainty, "uncertainty is an Uncertainty, got")

    def make(self) -> Law:
        model, known, u = lean(self.robot.model), self.model, self.uncertainty

        def torque(
            q: Scalars, qd: Scalars, q_d: Scalars, qd_d: Scalars, qdd_d: Scalars, *gains: Applied
        ) -> list[Scalar]:
            kd, rate, layer = gains
            qd_r = total(qd_d, rate(sub(q_d, q)))
            qdd_r = total(qdd_d, rate(sub(qd_d, qd)))
            s = sub(qd_r, qd)
            rho = u.mass * _norm(qdd_r) + u.coriolis * (_norm(qd) * _norm(qd_r)) + u.gravity
            along = rho / scalar.maximum(_norm(s), layer.p[0])
            tau = total(kd(s), [along * x for x in s])
            return total(tau, reference_torque(model, q, qd, qd_r, qdd_r)) if known else tau

        return self.joint_law("robust", torque)

    def rho(self, q: ArrayLike, qd: ArrayLike, reference: tuple[ArrayLike, ArrayLike, ArrayLike]) -> Array:
        """ρ in a state [N m], (...): the torque that outweighs the uncertainty there."""
        x, v, q_d, qd_d, qdd_d = (array("a state", a) for a in (q, qd, *reference))
        rate, u = np.array(self.rate.values), self.uncertainty
        qd_r, qdd_r = qd_d + rate * (q_d - x), qdd_d + rate * (qd_d - v)
        speeds = np.linalg.norm(v, axis=-1) * np.linalg.norm(qd_r, axis=-1)
        return np.asarray(u.mass * np.linalg.norm(qdd_r, axis=-1) + u.coriolis * speeds + u.gravity)

    def ball(self, rho: float) -> tuple[float, float]:
        """(‖s‖, ‖e‖) that are left at most in the end [rad/s, rad], while ρ stays below this."""
        low, high = self.uncertainty.inertia
        epsilon = self.layer.values[0]
        s = math.sqrt(high / low) * min(epsilon, math.sqrt(rho * epsilon / (4 * self.kd.lowest)))
        return s, s / self.rate.lowest

    def conditions(self) -> Conditions:
        u = self.uncertainty
        numbers = {"δ_M": u.mass, "δ_C": u.coriolis, "δ_g": u.gravity}
        proof = (
            Condition("the robot is within the bounds", HOLDS, numbers, "as was claimed with them")
            if u.certified
            else assumed("the robot is within the bounds", "they were only met in samples")
        )
        return self.claim(
            "‖s‖ and ‖e‖ end within ball(ρ), whatever the robot within the bounds",
            *positive(self.kd, self.rate, self.layer),
            proof,
            assumed("the drives are fast enough for the layer"),
        )


def _norm(x: Scalars) -> Scalar:
    return scalar.sqrt(linear.inner(x, x))
