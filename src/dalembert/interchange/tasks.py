"""What a robot is to learn: reach a point, or follow a motion. Every function takes many states at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import number
from dalembert.errors import InputError
from dalembert.kinematics.jacobian import length_of
from dalembert.reference import Reference, read_reference
from dalembert.robot import Robot

Array = NDArray[np.float64]
CLOSE = 5.0  # tolerances from the goal within which a reward and an observation of Reach look closer


def middle_of(robot: Robot) -> tuple[Array, Array]:
    """The middle of each joint's range and half its width; 0 and 1 where a joint has no limits."""
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper) & (lower < upper)
    low, high = np.where(bounded, lower, -1.0), np.where(bounded, upper, 1.0)
    return 0.5 * (low + high), 0.5 * (high - low)


def around_the_middle(robot: Robot, rng: np.random.Generator) -> Array:
    """A random posture within the middle half of the joints' ranges."""
    middle, _ = middle_of(robot)
    return np.asarray(middle + 0.5 * (robot.random_configuration(seed=rng) - middle))


@dataclass(frozen=True)
class Situation:
    """What a reward is made of, (N, …) each: positions `q` and rates `qd`, the `torque` that acted [N m, N] and the
    `action` (−1…1) that asked for it, time `t` [s], what the task wants and has (`goal`, `error`), and whether the task
    counts that as `success`."""

    t: Array
    q: Array
    qd: Array
    torque: Array
    action: Array
    goal: Array
    error: Array
    success: NDArray[np.bool_]


class Task(ABC):
    """A goal for each environment, drawn at a reset, and the error by which a state misses it."""

    @abstractmethod
    def prepared(self, robot: Robot) -> None:
        """Refuse what this robot cannot do."""

    @abstractmethod
    def goal(self, robot: Robot, rng: np.random.Generator) -> Array:
        """What one environment is to do."""

    @abstractmethod
    def error(self, robot: Robot, goal: Array, t: Array, q: Array, qd: Array) -> Array:
        """By how much states miss it, (N, m); observed by the agent."""

    @abstractmethod
    def success(self, error: Array) -> NDArray[np.bool_]:
        """Whether that is near enough, (N,)."""

    @abstractmethod
    def reward(self, s: Situation) -> Array:
        """(N,)."""

    @abstractmethod
    def worst(self, robot: Robot) -> float:
        """A reward that no step within the limits falls below; what a robot that crashed gets for each that is left."""

    def observed(self, error: Array) -> Array:
        """What an agent sees of the errors (N, m): numbers around 1."""
        return error

    def drawn(self, goal: Array, t: Array, q: Array) -> tuple[Array, Array | None]:
        """What a picture of one environment shows: states (k, n), the robot's own q (n,) last, and a point (3,)."""
        return q[None], None


@dataclass(frozen=True)
class Reach(Task):
    """Bring a frame's origin (the tip's) to a point, and keep it there. The point is where some posture within the
    middle half of the joints' ranges has it.

    The error e is goal − position [m], success ‖e‖ < `tolerance`, and the reward −‖e‖ + exp(−‖e‖/c) − `effort` ‖a‖² for
    an action a, with c = 5 `tolerance`: near the goal each millimeter counts. Observed are e and, for the same reason,
    tanh(e/c)."""

    frame: str | None = None
    tolerance: float = 0.02
    effort: float = 1e-3

    def prepared(self, robot: Robot) -> None:
        robot.model.frame(self.frame)
        number("the tolerance of Reach", self.tolerance, "m", above=0.0)
        number("the weight of the effort of Reach", self.effort, "1", least=0.0)

    def goal(self, robot: Robot, rng: np.random.Generator) -> Array:
        return np.array(robot.fk(around_the_middle(robot, rng), self.frame)[:3, 3])

    def error(self, robot: Robot, goal: Array, t: Array, q: Array, qd: Array) -> Array:
        return np.asarray(goal - np.asarray(robot.fk(q, self.frame))[..., :3, 3])

    def success(self, error: Array) -> NDArray[np.bool_]:
        return np.asarray(np.linalg.norm(error, axis=-1) < self.tolerance)

    def reward(self, s: Situation) -> Array:
        distance = np.linalg.norm(s.error, axis=-1)
        near = np.exp(-distance / (CLOSE * self.tolerance))
        return np.asarray(near - distance - self.effort * np.square(s.action).sum(-1))

    def observed(self, error: Array) -> Array:
        return np.concatenate((error, np.tanh(error / (CLOSE * self.tolerance))), -1)

    def worst(self, robot: Robot) -> float:
        return -2.0 * length_of(robot, self.frame) - self.effort * robot.n

    def drawn(self, goal: Array, t: Array, q: Array) -> tuple[Array, Array | None]:
        return q[None], goal


@dataclass(frozen=True)
class Track(Task):
    """Follow a motion of the joints: a `Reference`, joint positions to rest at, or a function of t that gives
    (x, ẋ, ẍ).

    The error is (q_d − q, q̇_d − q̇); the reward −‖q_d − q‖² − `damping` ‖q̇_d − q̇‖² − `effort` ‖action‖²; success is
    an error of every joint below `tolerance` [rad, m]."""

    reference: Any
    tolerance: float = 0.02
    damping: float = 0.01
    effort: float = 1e-3
    _motion: list[Reference] = field(default_factory=list, repr=False, compare=False)

    def prepared(self, robot: Robot) -> None:
        number("the tolerance of Track", self.tolerance, "rad, m", above=0.0)
        motion = read_reference(self.reference)
        if motion is None or motion.m != robot.n:
            got = "none" if motion is None else f"one of {motion.m} numbers"
            raise InputError(f"Track follows a motion of the {robot.n} joints of {robot.name!r}; got {got}")
        if not all(np.isfinite(x).all() for x in motion(np.zeros(1))[:2]):
            raise InputError("Track needs the rates of its motion: a function of t must give (x, ẋ, ẍ), all finite")
        self._motion[:] = [motion]

    def goal(self, robot: Robot, rng: np.random.Generator) -> Array:
        return np.zeros(0)

    def error(self, robot: Robot, goal: Array, t: Array, q: Array, qd: Array) -> Array:
        wanted, rate, _ = self._motion[0](t)
        return np.concatenate((wanted - q, rate - qd), -1)

    def success(self, error: Array) -> NDArray[np.bool_]:
        n = error.shape[-1] // 2
        return np.asarray(np.abs(error[..., :n]).max(-1) < self.tolerance)

    def reward(self, s: Situation) -> Array:
        square = np.square(s.error)
        n = square.shape[-1] // 2
        away = square[..., :n].sum(-1) + self.damping * square[..., n:].sum(-1)
        return np.asarray(-away - self.effort * np.square(s.action).sum(-1))

    def worst(self, robot: Robot) -> float:
        """As far off as the limits allow, and as fast the other way; a turn, or a turn per second, where none is."""
        span = robot.limits.upper - robot.limits.lower
        away, rate = (np.where(np.isfinite(x), x, 2 * np.pi) for x in (span, 2 * robot.limits.velocity))
        return float(-np.square(away).sum() - self.damping * np.square(rate).sum() - self.effort * robot.n)

    def drawn(self, goal: Array, t: Array, q: Array) -> tuple[Array, Array | None]:
        return np.stack([self._motion[0](t[None])[0][0], q]), None
