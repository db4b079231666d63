"""Many copies of a robot under torques, stepped together in one compiled loop, and what they are to learn: to reach a
point, or to follow a motion. Every function takes many states at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, number, switch
from dalembert.collision.world import World as Obstacles
from dalembert.errors import InputError, choose
from dalembert.kernels import check_quaternions
from dalembert.kinematics.jacobian import length_of
from dalembert.loading import load
from dalembert.reference import Reference, read_reference
from dalembert.robot import Robot
from dalembert.simulation.fixed_step import integrate
from dalembert.simulation.limits import read_torque_limits
from dalembert.units import position_units

CLOSE = 5.0  # tolerances from the goal within which a reward and an observation of Reach look closer
FASTEST = 50.0  # times a joint's largest velocity (or 50 rad/s): beyond it, a state is lost
ACTIONS = ("velocity", "compensated", "torque")
AT_LIMITS = ("rest", "end", "pass")
DRAWS = 200  # random starts and goals, until one is clear of what is avoided
LAG = 0.1  # [s] in which a joint takes up 63 % of a change of the velocity that actions ask for
UNLIMITED = np.pi  # [rad/s, m/s] an action of 1 asks of a joint that has no largest velocity
TO_TOP_SPEED = 0.2  # [s] that a compensated action of 1 takes from rest to a joint's largest velocity, at the least


def middle_of(robot: Robot) -> tuple[Array, Array]:
    """The middle of each joint's range and half its width; 0 and 1 where a joint has no limits."""
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper) & (lower < upper)
    low, high = np.where(bounded, lower, -1.0), np.where(bounded, upper, 1.0)
    return 0.5 * (low + high), 0.5 * (high - low)


def around_the_middle(robot: Robot, rng: np.random.Generator) -> Array:
    """A random posture within the middle half of the joints' ranges; what no drive moves is at home."""
    middle, _ = middle_of(robot)
    drawn, places = middle + 0.5 * (robot.random_configuration(seed=rng) - middle), driven_positions(robot)
    q = robot.home.copy()
    q[places] = drawn[places]
    return q


def driven_positions(robot: Robot) -> list[int]:
    return [c.position for c in robot.model.drives]


def driven_rates(robot: Robot) -> list[int]:
    return [c.first for c in robot.model.drives]


@dataclass(frozen=True)
class Situation:
    """What a reward is made of, (N, …) each: positions `q` and rates `qd`, the `torque` that acted [N m, N] and the
    `action` (−1…1) that asked for it, time `t` [s], what the task wants and has (`goal`, `error`), whether the task
    counts that as `success`, and the `clearance` of what is avoided [m], infinite where nothing is."""

    t: Array
    q: Array
    qd: Array
    torque: Array
    action: Array
    goal: Array
    error: Array
    success: NDArray[np.bool_]
    clearance: Array


class Task(ABC):
    """A goal for each environment, drawn at a reset, and the error by which a state misses it."""

    @abstractmethod
    def check(self, robot: Robot) -> None:
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

    def possible(self, robot: Robot, goal: Array, avoid: Obstacles) -> bool:
        """Whether the goal can be had without touching what is avoided; if not, another one is drawn."""
        return True

    def observe(self, error: Array) -> Array:
        """What an agent sees of the errors (N, m): numbers around 1."""
        return error

    def draw(self, goal: Array, t: Array, q: Array) -> tuple[Array, Array | None]:
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

    def check(self, robot: Robot) -> None:
        robot.model.frame(self.frame)
        number("the tolerance of Reach", self.tolerance, "m", above=0.0)
        number("the weight of the effort of Reach", self.effort, "1", least=0.0)

    def goal(self, robot: Robot, rng: np.random.Generator) -> Array:
        return np.array(robot.fk(around_the_middle(robot, rng), self.frame)[:3, 3])

    def possible(self, robot: Robot, goal: Array, avoid: Obstacles) -> bool:
        return bool(robot.ik(goal, self.frame, rows="position", avoid=avoid))

    def error(self, robot: Robot, goal: Array, t: Array, q: Array, qd: Array) -> Array:
        return np.asarray(goal - np.asarray(robot.fk(q, self.frame))[..., :3, 3])

    def success(self, error: Array) -> NDArray[np.bool_]:
        return np.asarray(np.linalg.norm(error, axis=-1) < self.tolerance)

    def reward(self, s: Situation) -> Array:
        distance = np.linalg.norm(s.error, axis=-1)
        near = np.exp(-distance / (CLOSE * self.tolerance))
        return np.asarray(near - distance - self.effort * np.square(s.action).sum(-1))

    def observe(self, error: Array) -> Array:
        return np.concatenate((error, np.tanh(error / (CLOSE * self.tolerance))), -1)

    def worst(self, robot: Robot) -> float:
        return -2.0 * length_of(robot, self.frame) - self.effort * len(robot.model.drives)

    def draw(self, goal: Array, t: Array, q: Array) -> tuple[Array, Array | None]:
        return q[None], goal


@dataclass(frozen=True)
class Track(Task):
    """Follow a motion of the driven joints: a `Reference`, joint positions to rest at, or a function of t that gives
    (x, ẋ, ẍ).

    The error is (q_d − q, q̇_d − q̇); the reward −‖q_d − q‖² − `damping` ‖q̇_d − q̇‖² − `effort` ‖action‖²; success is
    an error of every joint below `tolerance` [rad, m]."""

    reference: object
    tolerance: float = 0.02
    damping: float = 0.01
    effort: float = 1e-3
    _motion: list[Reference] = field(default_factory=list, repr=False, compare=False)
    _places: list[int] = field(default_factory=list, repr=False, compare=False)

    def check(self, robot: Robot) -> None:
        number("the tolerance of Track", self.tolerance, "rad, m", above=0.0)
        motion = read_reference(self.reference)
        n = len(robot.model.drives)
        if motion is None or motion.m != n:
            got = "none" if motion is None else f"one of {motion.m} numbers"
            problem = f"Track follows a motion of the {n} joints of {robot.name!r}; got {got}"
            raise InputError("wrong-shape", "reference", self.reference, problem=problem)
        if not all(np.isfinite(x).all() for x in motion(np.zeros(1))[:2]):
            problem = "Track needs the rates of its motion"
            remedy = "A function of t must return (x, ẋ, ẍ), all finite."
            raise InputError("missing", "reference", problem=problem, remedy=remedy)
        self._motion[:] = [motion]
        self._places[:] = driven_positions(robot)

    def goal(self, robot: Robot, rng: np.random.Generator) -> Array:
        return np.zeros(0)

    def error(self, robot: Robot, goal: Array, t: Array, q: Array, qd: Array) -> Array:
        wanted, rate, _ = self._motion[0](t)
        return np.concatenate((wanted - q[..., self._places], rate - qd[..., driven_rates(robot)]), -1)

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
        span = (robot.limits.upper - robot.limits.lower)[driven_positions(robot)]
        fastest = robot.limits.velocity[driven_rates(robot)]
        away, rate = (np.where(np.isfinite(x), x, 2 * np.pi) for x in (span, 2 * fastest))
        return float(-np.square(away).sum() - self.damping * np.square(rate).sum() - self.effort * len(span))

    def draw(self, goal: Array, t: Array, q: Array) -> tuple[Array, Array | None]:
        wanted = q.copy()
        wanted[self._places] = self._motion[0](t[None])[0][0]
        return np.stack([wanted, q]), None


Reward = Callable[[Situation], Any]


class WorldOptions(TypedDict, total=False):
    """What a `World` may be given beside its robot, number and task."""

    step: float
    dt: float
    duration: float
    torque_limits: object
    friction: bool
    method: str
    actions: str
    reward: Reward | None
    penalty: float | None
    at_limits: str
    avoid: Obstacles | None


class World:
    """N robots with their goals and clocks. A robot gives the same bits alone and among others. Actions are of its
    drives; what none moves, as a base that flies, begins at home and is observed."""

    def __init__(
        self,
        robot: Robot | str,
        number_of: int = 1,
        task: Task | None = None,
        *,
        step: float = 0.04,
        dt: float = 0.002,
        duration: float = 2.0,
        torque_limits: object = "robot",
        friction: bool = True,
        method: str = "rk4",
        actions: str = "velocity",
        reward: Reward | None = None,
        penalty: float | None = None,
        at_limits: str = "rest",
        avoid: Obstacles | None = None,
    ) -> None:
        self.robot = robot if isinstance(robot, Robot) else load(robot)
        if not self.robot.model.drives:
            problem = f"{self.robot.name!r} has no joint that a drive moves: there is nothing to act on"
            raise InputError("unsupported", "robot", problem=problem)
        self.task = Reach() if task is None else task
        if not isinstance(self.task, Task):
            raise InputError("wrong-type", "task", task, expected="a Reach, a Track or a Task of your own")
        if reward is not None and not callable(reward):
            expected = "a function of a Situation that returns one number for each environment"
            raise InputError("wrong-type", "reward", reward, expected=expected)
        if isinstance(number_of, bool) or not isinstance(number_of, int) or number_of < 1:
            expected = "a whole number, at least 1"
            raise InputError("out-of-range", "num_envs", number_of, expected=expected)
        self.task.check(self.robot)
        self.flow = self.robot.flow(switch("friction", friction))
        owner = "the environment"
        self.step = number(f"the step of {owner}", step, "s", above=0.0)
        self.dt = number(f"the dt of {owner}", dt, "s", above=0.0)
        self.duration = number(f"the duration of {owner}", duration, "s", above=0.0)
        self.substeps = round(self.step / self.dt)
        if self.substeps < 1 or abs(self.substeps * self.dt - self.step) > 1e-9 * self.step:
            raise InputError("conflict", "step", self.step, expected=f"a whole multiple of `dt={self.dt:g}`")
        self.torque = self._torques(torque_limits)
        choose("actions", actions, ACTIONS)
        self.actions = actions
        self.method, self.reward = method, reward or self.task.reward
        worst = (
            self.task.worst(self.robot)
            if penalty is None
            else -number(f"the penalty of {owner}", penalty, "1", least=0.0)
        )
        self.worst = float(worst)
        choose("at_limits", at_limits, AT_LIMITS)
        self.at_limits = at_limits
        if avoid is not None and not isinstance(avoid, Obstacles):
            remedy = "dl.World() is empty: the arm itself counts."
            raise InputError("wrong-type", "avoid", avoid, expected="a dl.World", remedy=remedy)
        self.avoid = avoid
        N = number_of
        self._places, self._rates = driven_positions(self.robot), driven_rates(self.robot)
        self._nq, self._free = self.robot.nq, np.flatnonzero(~self.robot.driven).tolist()
        self.x: Array = np.tile(np.concatenate((self.robot.neutral, np.zeros(self.robot.nv))), (N, 1))
        self.t: Array = np.zeros(N)
        self.pressing: Array = np.zeros(N)  # the share of the joints that ran into their limits in the last step
        self.goal = np.zeros((N, self.task.goal(self.robot, np.random.default_rng(0)).size))
        self.steps = np.zeros(N, np.int64)
        limits = self.robot.limits
        velocity = limits.velocity
        self._fastest = np.where(np.isfinite(velocity) & (velocity > 0), velocity, UNLIMITED)
        self._limits = limits.lower[self._places], limits.upper[self._places]
        self._middle, self._half = middle_of(self.robot)
        self._turns = np.array([unit == "rad" for unit in position_units(self.robot.model)], bool)
        self._placed = ~self._turns | (np.isfinite(limits.lower) & np.isfinite(limits.upper))

    def _torques(self, given: object) -> Array:
        """(lower, upper) of each driven joint, (2, n); finite, for an action of 1 means the largest."""
        names = tuple(self.flow.inputs[k] for k in driven_rates(self.robot))
        limits = read_torque_limits(given, names, self.flow)
        torque = np.array([limits.get(name, (-np.inf, np.inf)) for name in names]).T
        if not np.isfinite(torque).all():
            joints = [c.name for c in self.robot.model.drives]
            unlimited = [joint for joint, ok in zip(joints, np.isfinite(torque).all(0), strict=True) if not ok]
            problem = (
                f"joint {unlimited[0]!r} of {self.robot.name!r} has no largest effort, and an action of 1 means that"
            )
            raise InputError("missing", "torque_limits", problem=problem, remedy="Pass `torque_limits`.")
        return torque

    # -------------------------------------------------------------------------------------------------- what it does
    def place(self, k: int, rng: np.random.Generator, options: dict[str, Any]) -> None:
        """Robot k at a start: at rest in a random state, within the middle half of its limits, and with a random goal,
        unless `options` say which."""
        for name in options:
            choose("option of reset", name, ("q", "qd", "goal"), argument="options")
        n = self._nq
        q, goal = self._draw(rng)  # in any case: what follows does not depend on the options
        self.x[k, :n] = self._given(options, "q", q)
        check_quaternions(self.robot.model, "option 'q' of reset", self.x[k])
        self.x[k, n:] = self._given(options, "qd", np.zeros(self.robot.nv))
        self.goal[k] = self._given(options, "goal", goal)
        self.t[k], self.steps[k] = 0.0, 0
        if self.avoid is not None and not self.robot.clearance(self.x[k, :n], self.avoid) > 0:
            contact = self.robot.contacts(self.x[k, :n], self.avoid)[0]
            raise InputError("infeasible", "options", problem=f"option 'q' of reset touches something: {contact}")

    def _draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A start and a goal, clear of what is avoided."""
        for _ in range(DRAWS):
            q = around_the_middle(self.robot, rng)
            if self.avoid is None or self.robot.clearance(q, self.avoid) > 0:
                break
        else:
            problem = f"{DRAWS} random postures of {self.robot.name!r} all touch what is avoided"
            raise InputError("infeasible", "avoid", problem=problem, remedy="Leave more room.")
        for _ in range(DRAWS):
            goal = self.task.goal(self.robot, rng)
            if self.avoid is None or self.task.possible(self.robot, goal, self.avoid):
                return q, goal
        problem = f"none of {DRAWS} random goals can be had without touching what is avoided"
        raise InputError("infeasible", "avoid", problem=problem, remedy="Leave more room.")

    @staticmethod
    def _given(options: dict[str, Any], name: str, otherwise: Array) -> Array:
        if options.get(name) is None:
            return otherwise
        return array(f"option {name!r} of reset", options[name], otherwise.shape)

    def advance(self, action: ArrayLike) -> tuple[Situation, NDArray[np.bool_], NDArray[np.bool_]]:
        """One step of all robots under actions (N, drives): the situation then, who is lost, whose time is up."""
        meaning = "a number in −1…1 per joint, for each environment"
        a = np.clip(array("the action", action, (len(self.x), len(self._rates)), meaning=meaning), -1.0, 1.0)
        torque = self._torque_of(a)
        u = np.zeros((len(self.x), 1, self.robot.nv))
        u[:, 0, self._rates] = torque
        run = integrate(self.flow, self.x, self.dt, self.substeps, u, method=self.method, every=self.substeps)
        after = run.x[:, -1]
        lost = ~np.isfinite(after).all(-1) | self._too_fast(after)
        self.x = np.where(lost[:, None], self.x, after)  # the last state that means something
        self.steps += 1
        self.t = np.asarray(self.steps * self.step, np.float64)
        if self.at_limits != "pass":
            q, lower, upper = self.x[:, self._places], *self._limits
            below, above = q < lower, q > upper
            self.pressing = (below | above).mean(-1)
            if self.at_limits == "end":
                lost |= self.pressing > 0
            else:
                rates = [self._nq + k for k in self._rates]
                qd = self.x[:, rates]
                against = (below & (qd < 0)) | (above & (qd > 0))
                self.x[:, self._places], self.x[:, rates] = np.clip(q, lower, upper), np.where(against, 0.0, qd)
        found = self.situation(torque, a)
        return found, lost | ~(found.clearance > 0), self.t >= self.duration - 1e-9

    def _torque_of(self, a: Array) -> Array:
        """What actions mean. "torque": shares of the largest torques. "velocity": g + M (a q̇_max − q̇)/LAG, as much of
        it as the drives give. "compensated": gravity's torque for 0; for ±1 the largest that is left, or what brings
        the joint to its largest velocity in TO_TOP_SPEED if that is less. M and g as the drives feel them."""
        lower, upper = self.torque
        if self.actions == "torque":
            return np.where(a < 0, -a * lower, a * upper)
        q, qd, own = self.x[:, : self._nq], self.x[:, self._nq :], self._rates
        fastest, (M, g) = self.robot.limits.velocity[own], self._felt(q)
        if self.actions == "velocity":
            missing = (a * self._fastest[own] - qd[:, own]) / LAG
            return np.clip(g + (M @ missing[..., None])[..., 0], lower, upper)
        g = np.clip(g, lower, upper)
        lightness = np.diagonal(np.linalg.inv(M), axis1=-2, axis2=-1)  # the other joints free
        enough = np.where(fastest > 0, fastest / (TO_TOP_SPEED * lightness), np.inf)
        return np.asarray(g + np.where(a < 0, -a * np.maximum(lower - g, -enough), a * np.minimum(upper - g, enough)))

    def _felt(self, q: Array) -> tuple[Array, Array]:
        """(M_dd − M_db M_bb⁻¹ M_bd, g_d − M_db M_bb⁻¹ g_b): what drives d feel while the rest b gives way. (N, n, n),
        (N, n)."""
        M, g = np.asarray(self.robot.mass_matrix(q)), np.asarray(self.robot.gravity_torque(q))
        own, free = self._rates, self._free
        across = np.swapaxes(np.linalg.solve(M[:, free][..., free], M[:, free][..., own]), -1, -2)  # M_db M_bb⁻¹
        felt = M[:, own][..., own] - across @ M[:, free][..., own]
        return felt, g[:, own] - (across @ g[:, free, None])[..., 0]

    def _too_fast(self, x: Array) -> NDArray[np.bool_]:
        largest = self.robot.limits.velocity
        allowed = FASTEST * np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
        with np.errstate(invalid="ignore"):
            return np.asarray((np.abs(x[:, self._nq :]) > allowed).any(-1))

    def situation(self, torque: Array, action: Array) -> Situation:
        n = self._nq
        q, qd = self.x[:, :n].copy(), self.x[:, n:].copy()
        error = self.task.error(self.robot, self.goal, self.t, q, qd)
        apart = np.full(len(q), np.inf) if self.avoid is None else self.robot.clearance(q, self.avoid)
        return Situation(self.t.copy(), q, qd, torque, action, self.goal.copy(), error, self.task.success(error), apart)

    def reward_of(self, s: Situation, lost: NDArray[np.bool_]) -> Array:
        """The rewards, (N,). A joint that runs into its limit costs its share of the worst; who is lost pays the worst
        for every step that is left: to crash is never the way out."""
        reward = array("the reward", self.reward(s), (len(self.x),), meaning="one number for each environment")
        left = round(self.duration / self.step) - self.steps
        return reward + self.worst * np.where(lost, np.maximum(left, 1), self.pressing)

    def observe(self, s: Situation) -> NDArray[np.float32]:
        """What an agent sees, (N, m), all of it around 1: where joints with limits are in their range (−1…1) and where
        others slide, quaternions, cos q and sin q of what turns, q̇/q̇_max, and what the task shows of its error."""
        place = ((s.q - self._middle) / self._half)[:, self._placed]
        angle = s.q[:, self._turns]
        seen = (place, np.cos(angle), np.sin(angle), s.qd / self._fastest, self.task.observe(s.error))
        return np.concatenate(seen, -1).astype(np.float32)

    def now(self) -> Situation:
        zero = np.zeros((len(self.x), len(self._rates)))
        return self.situation(zero, zero)
