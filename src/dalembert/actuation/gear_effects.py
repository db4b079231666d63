"""How much of an arm's own dynamics its motors still feel through their gears.

With D, C, g of the links alone, [Lee] writes the motors' side of a geared robot as

    (N⁻¹ D + N J_m) q̈ + (N⁻¹ C + N B_m) q̇ + N⁻¹ g = u_m,     u_m = K_T v / R,   B_m = B + K_T K_m / R,

of which N J_m q̈ + N B_m q̇ = u_m is left as N grows: joints that do not know each other. `gear_report` says how far that
is true, joint by joint, by ratios that all fall as 1/N².
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dalembert.actuation.driven import DrivenRobot
from dalembert.actuation.motors import Motor
from dalembert.actuation.rotors import without_rotors
from dalembert.actuation.values import RATIO, per_joint, plain_tree
from dalembert.algorithms import composite, newton_euler
from dalembert.arguments import Array, array, count
from dalembert.compile import Kernel, compile_function
from dalembert.display import align
from dalembert.errors import InputError
from dalembert.robot import Robot

# Below the first, a disturbance that feedback at each joint copes with; above the second, the arm outweighs its motors.
FAINT, STRONG = 0.1, 1.0
VERDICTS = (
    "independent joints: the motors feel almost only themselves, and a PD controller at each joint will do",
    "partly coupled: the arm's dynamics are a disturbance worth feeding forward",
    "coupled: the arm outweighs its motors, and a controller needs the whole model",
)


@dataclass(frozen=True, eq=False)
class GearedModel:
    """The motors' side at a state: `inertia` (..., n, n) N⁻¹D + N J_m, `velocity` (..., n, n) N⁻¹C + N B_m,
    `gravity` (..., n) N⁻¹ g, and `gain` (n,) of u_m = gain · input: K_T/R of a DC motor, that of a fluid drive
    once its pressure is there, 1 of a motor that is told its torque."""

    inertia: Array
    velocity: Array
    gravity: Array
    gain: Array


def geared_model(driven: DrivenRobot, q: ArrayLike, qd: ArrayLike) -> GearedModel:
    """The geared robot of [Lee] with its inductances left out; one motor per joint, and no gear losses."""
    if not driven.transmission.diagonal or not driven.transmission.lossless or driven.rotors != "reflected":
        raise InputError("this model has one motor per joint, gears without losses and reflected rotors")
    model, n = driven.model, driven.n
    kernel = compile_function(
        lambda q, qd: (
            composite.mass_matrix(model, q),
            composite.coriolis_matrix(model, q, qd),
            newton_euler.gravity_torque(model, q),
        ),
        [(n,), (n,)],
        [(n, n), (n, n), (n,)],
        "geared_model",
    )
    D, C, g = kernel(array("q", q, (..., n)), array("qd", qd, (..., n)))
    N = np.diag(np.array(driven.transmission.matrix))
    J = np.array(driven.inertias)
    B = np.array([motor.total_damping for motor in driven.motors])
    gain = [1.0 / m.input_for(1.0, 0.0)[0] for m in driven.motors]  # torque at rest per unit of input
    return GearedModel(D / N[:, None] + np.diag(N * J), C / N[:, None] + np.diag(N * B), g / N, np.array(gain))


@dataclass(frozen=True, eq=False)
class GearReport:
    """Per joint (n,), over the sampled states: `own`, the link inertia D_ii over N² J_m at its largest; `variation`,
    how much of D_ii changes with the configuration, over N² J_m; `coupling`, Σ_{j≠i} |D_ij| over N² J_m; `coriolis`
    and `gravity`, those torques over the motor's damping at full speed, N² B_m q̇_max. `reflected` is N² J_m [kg
    m², kg at a slide]."""

    robot: str
    joints: tuple[str, ...]
    ratios: Array
    reflected: Array
    own: Array
    variation: Array
    coupling: Array
    coriolis: Array
    gravity: Array
    samples: int

    @property
    def worst(self) -> Array:
        """The largest of what couples a joint to the others or to the configuration: all but `own`.  (n,)."""
        return np.max([self.variation, self.coupling, self.coriolis, self.gravity], axis=0)

    def verdict(self, joint: int | None = None) -> str:
        """In words, for a joint, or for the robot by its worst one."""
        x = float(self.worst.max() if joint is None else self.worst[joint])
        return VERDICTS[0 if x < FAINT else 1 if x < STRONG else 2]

    def __str__(self) -> str:
        head = ("joint", "N", "N²J_m", "own", "variation", "coupling", "coriolis", "gravity", "")
        columns = (self.ratios, self.reflected, self.own, self.variation, self.coupling, self.coriolis, self.gravity)
        rows = [
            (name, *(f"{c[k]:.3g}" for c in columns), self.verdict(k).split(":")[0])
            for k, name in enumerate(self.joints)
        ]
        title = f"{self.robot}: link dynamics over motor dynamics, largest of {self.samples} states"
        return "\n".join((title, *align([head, *rows]), self.verdict()))


def gear_report(
    robot: Robot,
    motors: Motor | Sequence[Motor],
    ratios: Sequence[float] | float,
    *,
    speed: ArrayLike | None = None,
    samples: int = 2000,
    seed: int = 0,
) -> GearReport:
    """How much the coupled dynamics still matter behind these motors and gears, over random states within the limits.

    `speed` is q̇_max [rad/s or m/s], one or one per joint; the robot's velocity limits if not given, and 1 where it has
    none. Every motor needs an inertia. A motor without damping has nothing to compare torques with: those are
    infinite there."""
    plain_tree(robot, "gear report")
    names = robot.joint_names
    N = np.array(per_joint("gear ratio", ratios, robot, RATIO, nonzero=True))
    driven = DrivenRobot(robot, motors, N.tolist())
    J = np.array([motor.inertia for motor in driven.motors])
    if not (J > 0).all():
        raise InputError(f"the motor of joint {names[int(np.argmin(J))]!r} has no inertia to compare the link's with")
    count("samples", samples, 1)
    limits = robot.limits.velocity
    top = (
        np.where(np.isfinite(limits) & (limits > 0), limits, 1.0)
        if speed is None
        else np.array(per_joint("speed", speed, robot, ("rad/s", "m/s"), above=0.0))
    )
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(samples, seed=rng)
    qd = rng.uniform(-top, top, (samples, robot.n))
    D, c, g = _links(robot)(q, qd)
    own = np.diagonal(D, axis1=-2, axis2=-1)
    reflected = N**2 * J
    damping = N**2 * np.array([motor.total_damping for motor in driven.motors]) * top
    return GearReport(
        robot.name,
        names,
        N,
        reflected,
        own.max(axis=0) / reflected,
        (own.max(axis=0) - own.min(axis=0)) / reflected,
        (np.abs(D).sum(axis=-1) - np.abs(own)).max(axis=0) / reflected,
        _over(np.abs(c).max(axis=0), damping),
        _over(np.abs(g).max(axis=0), damping),
        samples,
    )


def _over(torque: Array, damping: Array) -> Array:
    """Their ratio; infinite where only the motor's part is zero."""
    safe = np.where(damping > 0, damping, 1.0)
    return np.where(damping > 0, torque / safe, np.where(torque > 0, np.inf, 0.0))


def _links(robot: Robot) -> Kernel:
    """D, c, g of the links alone."""
    model, n = without_rotors(robot.model), robot.n
    return compile_function(
        lambda q, qd: (
            composite.mass_matrix(model, q),
            newton_euler.coriolis_torque(model, q, qd),
            newton_euler.gravity_torque(model, q),
        ),
        [(n,), (n,)],
        [(n, n), (n,), (n,)],
        "link_dynamics",
    )
