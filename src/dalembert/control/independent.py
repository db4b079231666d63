"""Each joint for itself, as if the others did not exist: where control of arms begins, and where that ends.

    J_i q̈_i = τ_i + disturbance,     J_i = N² J_m + mean M_ii,
    τ_i = J_i q̈_d + k_d ė + k_p e [+ k_i ∫ e],     (s² + 2ζω s + ω²)(s [+ a]) = 0.

Everything else (the change of M_ii with the arm's shape, the other joints' accelerations, Coriolis and gravity torques)
is taken as a disturbance. Behind a gear of ratio N all of it is divided by N² against the rotor's own inertia; without
one it is the arm. `limits` says by how much.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, number
from dalembert.caching import cached_property
from dalembert.control.conditions import FAILS, HOLDS, Condition, Conditions, assumed, find_magnitudes, unclipped
from dalembert.control.controller import Controller, split, sub, total
from dalembert.control.diagrams import joint_tracking
from dalembert.control.gains import Gain, Gains, must
from dalembert.display import align
from dalembert.draw.blocks import Diagram
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.robot import Robot

# Of the effective inertia: coupling and change below the first are a disturbance that feedback copes with; above the
# second the joint is not a mass of its own any more.
FAINT, STRONG = 0.1, 1.0
EACH = " is one number or one per joint: joints are independent here"
WORDS = ("independent joints will do", "feed the coupling forward", "the whole model is needed")


@dataclass(frozen=True, eq=False)
class IndependentLimits:
    """Per joint (n,), over sampled configurations: effective `inertia`; `variation` of M_ii and `coupling` Σ_{j≠i}
    |M_ij|, over it; damping ratio where M_ii is largest and smallest (`zeta`, (2, n)); `sag` [rad], the steady error
    that gravity leaves without an integral, |g_i|/k_p at its largest."""

    joints: tuple[str, ...]
    inertia: Array
    variation: Array
    coupling: Array
    zeta: Array
    sag: Array

    @property
    def worst(self) -> Array:
        return np.maximum(self.variation, self.coupling)

    def verdict(self, joint: int | None = None) -> str:
        x = float(self.worst.max() if joint is None else self.worst[joint])
        return WORDS[0 if x < FAINT else 1 if x < STRONG else 2]

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("joint", "J", "variation", "coupling", "ζ", "gravity's sag", "")]
        for k, name in enumerate(self.joints):
            numbers = (self.inertia[k], self.variation[k], self.coupling[k])
            zeta = f"{self.zeta[0, k]:.2f} to {self.zeta[1, k]:.2f}"
            rows.append((name, *(f"{x:.3g}" for x in numbers), zeta, f"{self.sag[k]:.3g}", self.verdict(k)))
        return "\n".join(align(rows))


@dataclass(frozen=True, eq=False)
class IndependentJoint(Controller):
    """A PD (or, with `integral` a > 0 [1/s], a PID) per joint on a constant inertia J_i.

    `omega` [rad/s], `zeta`: wanted poles, one number or one per joint. `inertia` [kg m²]: J_i; if not given the mean
    of M_ii over configurations within the limits, reflected rotor inertia N² J_m included. `kp`, `kd`, `ki` follow:
    J (ω² + 2ζω a), J (2ζω + a), J ω² a."""

    robot: Robot
    _: KW_ONLY
    omega: Any = field(metadata=must(no_matrix=f"omega{EACH}"))
    zeta: Any = field(default=1.0, metadata=must(no_matrix=f"zeta{EACH}"))
    integral: float = 0.0
    inertia: Any = field(default=None, metadata=must("kg m²", no_matrix=f"inertia{EACH}"))

    equation: ClassVar[str] = "τ_i = J_i q̈_d + k_d ė + k_p e [+ k_i ∫ e], J_i = N² J_m + mean M_ii"
    source: ClassVar[str] = "Spong, Hutchinson & Vidyasagar 2006, ch. 6; coupling is left to the feedback, not proved"

    @classmethod
    def for_bandwidth(cls, robot: Robot, omega: float, zeta: float = 1.0) -> IndependentJoint:
        """Poles of each joint for a bandwidth ω [rad/s] and damping ζ."""
        return cls(robot, omega=omega, zeta=zeta)

    def finish(self) -> None:
        object.__setattr__(self, "integral", number("integral", self.integral, "1/s", least=0.0))

    @cached_property
    def effective(self) -> Gain:
        """J_i: as given, or the mean of M_ii."""
        if isinstance(self.inertia, Gain):
            return self.inertia
        return Gain(
            "inertia", self.robot.joint_names, tuple(find_magnitudes(self.robot).seen_inertia.mean(axis=0).tolist())
        )

    def loop_inertia(self) -> Array:
        return np.array(self.effective.values)

    def _gain(self, symbol: str, values: Array) -> Gain:
        return Gain(symbol, self.robot.joint_names, tuple((np.array(self.effective.values) * values).tolist()))

    @property
    def _poles(self) -> tuple[Array, Array]:
        w, z = np.array(self.omega.values), np.array(self.zeta.values)
        return w * w, 2 * z * w

    @property
    def kp(self) -> Gain:
        square, middle = self._poles
        return self._gain("kp", square + middle * self.integral)

    @property
    def kd(self) -> Gain:
        return self._gain("kd", self._poles[1] + self.integral)

    @property
    def ki(self) -> Gain:
        return self._gain("ki", self._poles[0] * self.integral)

    @property
    def gains(self) -> Gains:
        return Gains((self.kp, self.kd, self.effective, *((self.ki,) if self.integral else ())))

    def motor_side(self, ratios: ArrayLike) -> dict[str, Array]:
        """The same gains at the motors, behind gears of these ratios: each over N², for torques τ/N and angles N q."""
        N = np.broadcast_to(np.asarray(ratios, float), (self.robot.n,))
        if not (N > 0).all():
            raise InputError("out-of-range", "ratios", ratios, expected="positive gear ratios")
        return {g.symbol: np.array(g.values) / N**2 for g in self.gains.each}

    def make(self) -> Law:
        n, gains = self.robot.n, self.gains

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            (q, qd), (q_d, qd_d, qdd_d) = split(y, n), split(r, n)
            kp, kd, inertia, *ki = gains.read(p)
            tau = total(inertia(qdd_d), kd(sub(qd_d, qd)), kp(sub(q_d, q)))
            return total(tau, ki[0](z)) if ki else tau

        build = self.integral_law if self.integral else self.torque_law
        return build("independent joints", act)

    def limits(self) -> IndependentLimits:
        """How much of what each joint feels is not its own."""
        B, J = find_magnitudes(self.robot), np.array(self.effective.values)
        M = self.robot.mass_matrix(self.robot.random_configuration(len(B.seen_inertia), seed=0))
        own = B.seen_inertia
        others = np.abs(M).sum(axis=-1) - own
        kp, kd = np.array(self.kp.values), np.array(self.kd.values)
        ends = np.stack((own.max(axis=0), own.min(axis=0)))
        sag = np.zeros_like(J) if self.integral else B.seen_gravity / kp
        return IndependentLimits(
            self.robot.joint_names,
            J,
            (ends[0] - ends[1]) / J,
            others.max(axis=0) / J,
            kd / (2 * np.sqrt(kp * ends)),
            sag,
        )

    def conditions(self) -> Conditions:
        found = self.limits()
        worst = int(np.argmax(found.worst))
        faint = float(found.worst[worst]) < FAINT
        gravity = float(found.sag.max())
        return self.claim(
            "each joint has the poles that were asked for, up to what the others do to it",
            Condition(
                f"coupling and change of inertia are below {FAINT:g} of each joint's own",
                HOLDS if faint else FAILS,
                {"variation": float(found.variation[worst]), "coupling": float(found.coupling[worst])},
                f"worst at joint {self.robot.joint_names[worst]!r}: {found.verdict(worst)}",
            ),
            Condition(
                "gravity leaves no steady error",
                HOLDS if gravity < 1e-9 else FAILS,
                {"largest sag": gravity},
                "" if gravity < 1e-9 else "add an integral, or take PDGravity",
            ),
            assumed("the motion is slow enough that Coriolis torques stay small"),
            *((unclipped(),) if self.integral else ()),
        )

    def diagram(self) -> Diagram:
        integral = self.integral > 0
        equation = f"τ_i = J_i q̈_d + k_d ė + k_p e{' + k_i ∫e dt' if integral else ''}, for each joint alone"
        title = "Independent joint control"
        return joint_tracking(title, equation, integral=integral, accelerated=False, ahead="J_i", ahead_of="q̈_d")
