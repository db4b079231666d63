"""Many copies of a robot under torques, stepped together in one compiled loop: what environments stand on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import number, switch
from dalembert.errors import InputError, unknown
from dalembert.interchange.tasks import Reach, Situation, Task, around_the_middle, middle_of
from dalembert.loading import load
from dalembert.robot import Robot
from dalembert.simulation.fixed_step import integrate
from dalembert.simulation.limits import read_torque_limits

Array = NDArray[np.float64]
Reward = Callable[[Situation], Any]
FASTEST = 50.0  # times a joint's largest velocity (or 50 rad/s): beyond it, a state is lost
ACTIONS = ("velocity", "compensated", "torque")
AT_LIMITS = ("rest", "end", "pass")
LAG = 0.1  # [s] in which a joint takes up 63 % of a change of the velocity that actions ask for
UNLIMITED = np.pi  # [rad/s, m/s] an action of 1 asks of a joint that has no largest velocity
TO_TOP_SPEED = 0.2  # [s] that a compensated action of 1 takes from rest to a joint's largest velocity, at the least


class World:
    """N robots with their goals and clocks. A robot gives the same bits alone and among others."""

    def __init__(
        self,
        robot: Robot | str,
        number_of: int = 1,
        task: Task | None = None,
        *,
        step: float = 0.04,
        dt: float = 0.002,
        duration: float = 2.0,
        torque_limits: Any = "robot",
        friction: bool = True,
        method: str = "rk4",
        actions: str = "velocity",
        reward: Reward | None = None,
        penalty: float | None = None,
        at_limits: str = "rest",
    ) -> None:
        self.robot = robot if isinstance(robot, Robot) else load(robot)
        self.task = Reach() if task is None else task
        if not isinstance(self.task, Task):
            raise InputError(f"task must be a Reach, a Track or a Task of your own, got {type(task).__name__}")
        if reward is not None and not callable(reward):
            raise InputError("reward must be a function of a Situation that gives one number for each environment")
        if isinstance(number_of, bool) or not isinstance(number_of, int) or number_of < 1:
            raise InputError(f"the number of environments must be a whole number, at least 1; got {number_of!r}")
        self.task.prepared(self.robot)
        self.flow = self.robot.flow(switch("friction", friction))
        owner = "the environment"
        self.step = number(f"the step of {owner}", step, "s", above=0.0)
        self.dt = number(f"the dt of {owner}", dt, "s", above=0.0)
        self.duration = number(f"the duration of {owner}", duration, "s", above=0.0)
        self.substeps = round(self.step / self.dt)
        if self.substeps < 1 or abs(self.substeps * self.dt - self.step) > 1e-9 * self.step:
            raise InputError(f"step = {self.step:g} s must be a whole number of dt = {self.dt:g} s")
        self.torque = self._torques(torque_limits)
        if actions not in ACTIONS:
            raise unknown("actions", actions, ACTIONS)
        self.actions = actions
        self.method, self.reward = method, reward or self.task.reward
        worst = (
            self.task.worst(self.robot)
            if penalty is None
            else -number(f"the penalty of {owner}", penalty, "1", least=0.0)
        )
        self.worst = float(worst)
        if at_limits not in AT_LIMITS:
            raise unknown("at_limits", at_limits, AT_LIMITS)
        self.at_limits = at_limits
        n, N = self.robot.n, number_of
        self.x: Array = np.zeros((N, 2 * n))
        self.t: Array = np.zeros(N)
        self.pressing: Array = np.zeros(N)  # the share of the joints that ran into their limits in the last step
        self.goal = np.zeros((N, self.task.goal(self.robot, np.random.default_rng(0)).size))
        self.steps = np.zeros(N, np.int64)
        limits = self.robot.limits
        velocity = limits.velocity
        self._fastest = np.where(np.isfinite(velocity) & (velocity > 0), velocity, UNLIMITED)
        self._middle, self._half = middle_of(self.robot)
        self._turns = np.array([c.joint.turns for c in self.robot.model.coordinates], bool)
        self._placed = ~self._turns | (np.isfinite(limits.lower) & np.isfinite(limits.upper))

    def _torques(self, given: Any) -> Array:
        """(lower, upper) of each joint, (2, n); finite, for an action of 1 means the largest."""
        limits = read_torque_limits(given, self.flow.inputs, self.flow)
        torque = np.array([limits.get(name, (-np.inf, np.inf)) for name in self.flow.inputs]).T
        if not np.isfinite(torque).all():
            unlimited = [
                joint for joint, ok in zip(self.robot.joint_names, np.isfinite(torque).all(0), strict=True) if not ok
            ]
            raise InputError(
                f"joint {unlimited[0]!r} of {self.robot.name!r} has no largest effort, and an action of 1 means that: "
                "give torque_limits="
            )
        return torque

    # -------------------------------------------------------------------------------------------------- what it does
    def place(self, k: int, rng: np.random.Generator, options: dict[str, Any]) -> None:
        """Robot k at a start: at rest in a random state, within the middle half of its limits, and with a random goal,
        unless `options` say which."""
        known = ("q", "qd", "goal")
        for name in options:
            if name not in known:
                raise InputError(f"unknown option {name!r} of reset; choose from {', '.join(known)}")
        n = self.robot.n
        q = around_the_middle(self.robot, rng)
        goal = self.task.goal(self.robot, rng)  # drawn in any case: what follows does not depend on the options
        self.x[k, :n] = self._given(options, "q", q)
        self.x[k, n:] = self._given(options, "qd", np.zeros(n))
        self.goal[k] = self._given(options, "goal", goal)
        self.t[k], self.steps[k] = 0.0, 0

    @staticmethod
    def _given(options: dict[str, Any], name: str, otherwise: Array) -> Array:
        if options.get(name) is None:
            return otherwise
        value = np.asarray(options[name], float)
        if value.shape != otherwise.shape or not np.isfinite(value).all():
            got = f"{options[name]!r:.60}"
            raise InputError(f"option {name!r} of reset must be {otherwise.size} finite numbers, got {got}")
        return value

    def advance(self, action: Any) -> tuple[Situation, NDArray[np.bool_], NDArray[np.bool_]]:
        """One step of all robots under actions (N, n): the situation then, who is lost, whose time is up."""
        asked = np.asarray(action, float)
        if asked.shape != (len(self.x), self.robot.n) or not np.isfinite(asked).all():
            raise InputError(
                f"an action is {self.robot.n} finite numbers in −1…1 for each environment; got shape {asked.shape}"
                + ("" if np.isfinite(asked).all() else " with numbers that are not finite")
            )
        a = np.clip(asked, -1.0, 1.0)
        torque = self._torque_of(a)
        run = integrate(
            self.flow, self.x, self.dt, self.substeps, torque[:, None], method=self.method, every=self.substeps
        )
        after = run.x[:, -1]
        lost = ~np.isfinite(after).all(-1) | self._too_fast(after)
        self.x = np.where(lost[:, None], self.x, after)  # the last state that means something
        self.steps += 1
        self.t = np.asarray(self.steps * self.step, np.float64)
        if self.at_limits != "pass":
            (q, qd), limits = np.split(self.x, 2, axis=-1), self.robot.limits
            below, above = q < limits.lower, q > limits.upper
            self.pressing = (below | above).mean(-1)
            if self.at_limits == "end":
                lost |= self.pressing > 0
            else:
                against = (below & (qd < 0)) | (above & (qd > 0))
                self.x = np.concatenate([np.clip(q, limits.lower, limits.upper), np.where(against, 0.0, qd)], axis=-1)
        return self.situation(torque, a), lost, self.t >= self.duration - 1e-9

    def _torque_of(self, a: Array) -> Array:
        """What actions mean. "torque": shares of the largest torques. "velocity": g + M (a q̇_max − q̇)/LAG, as much of
        it as the drives give. "compensated": gravity's torque for 0; for ±1 the largest that is left, or what brings
        the joint to its largest velocity in TO_TOP_SPEED if that is less."""
        lower, upper = self.torque
        if self.actions == "torque":
            return np.where(a < 0, -a * lower, a * upper)
        (q, qd), fastest = np.split(self.x, 2, axis=-1), self.robot.limits.velocity
        if self.actions == "velocity":
            missing = (a * self._fastest - qd) / LAG
            tau = self.robot.gravity_torque(q) + (self.robot.mass_matrix(q) @ missing[..., None])[..., 0]
            return np.clip(tau, lower, upper)
        g = np.clip(self.robot.gravity_torque(q), lower, upper)
        lightness = np.diagonal(np.linalg.inv(self.robot.mass_matrix(q)), axis1=-2, axis2=-1)  # the other joints free
        enough = np.where(fastest > 0, fastest / (TO_TOP_SPEED * lightness), np.inf)
        return np.asarray(g + np.where(a < 0, -a * np.maximum(lower - g, -enough), a * np.minimum(upper - g, enough)))

    def _too_fast(self, x: Array) -> NDArray[np.bool_]:
        largest = self.robot.limits.velocity
        allowed = FASTEST * np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
        with np.errstate(invalid="ignore"):
            return np.asarray((np.abs(x[:, self.robot.n :]) > allowed).any(-1))

    def situation(self, torque: Array, action: Array) -> Situation:
        n = self.robot.n
        q, qd = self.x[:, :n].copy(), self.x[:, n:].copy()
        error = self.task.error(self.robot, self.goal, self.t, q, qd)
        return Situation(self.t.copy(), q, qd, torque, action, self.goal.copy(), error, self.task.success(error))

    def rewarded(self, s: Situation, lost: NDArray[np.bool_]) -> Array:
        """The rewards, (N,). A joint that runs into its limit costs its share of the worst; who is lost pays the worst
        for every step that is left: to crash is never the way out."""
        reward = np.asarray(self.reward(s), float)
        if reward.shape != (len(self.x),) or not np.isfinite(reward).all():
            raise InputError(
                f"the reward must be one finite number for each environment, shape {(len(self.x),)}; got {reward.shape}"
            )
        left = round(self.duration / self.step) - self.steps
        return reward + self.worst * np.where(lost, np.maximum(left, 1), self.pressing)

    def observed(self, s: Situation) -> NDArray[np.float32]:
        """What an agent sees, (N, m), all of it around 1: where joints with limits are in their range (−1…1) and where
        others slide, cos q and sin q of those that turn, q̇/q̇_max, and what the task shows of its error."""
        place = ((s.q - self._middle) / self._half)[:, self._placed]
        angle = s.q[:, self._turns]
        seen = (place, np.cos(angle), np.sin(angle), s.qd / self._fastest, self.task.observed(s.error))
        return np.concatenate(seen, -1).astype(np.float32)

    def now(self) -> Situation:
        zero = np.zeros((len(self.x), self.robot.n))
        return self.situation(zero, zero)
