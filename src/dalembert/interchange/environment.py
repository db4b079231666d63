"""Gymnasium environments: one robot, or many of them stepped in one compiled loop. Needs the extra `gym`.

A robot under joint torques: actions are −1…1 for each joint, shares of its largest velocity unless asked otherwise, 0
being to hold still against gravity; observations tell of q, q̇ and the error of the task in numbers around 1, and the
information beside them tells the numbers themselves. What follows from a seed and actions is the same in
every run, and the k-th of many robots under seed s does what a lone one does under seed s + k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError, MissingExtraError, unknown
from dalembert.interchange.world import Situation, Task, World, WorldOptions
from dalembert.robot import Robot

try:
    import gymnasium
    from gymnasium.vector.utils import batch_space
except ImportError:
    remedy = "Install it with pip install 'dalembert[gym]'."
    raise MissingExtraError("missing-extra", "gymnasium", problem="gymnasium is not installed", remedy=remedy) from None

RENDER_MODES = ("rgb_array",)
TOLD = ("goal", "error", "q", "qd", "clearance")
IDS = ("dalembert/Reach-v0",)


def _spaces(world: World) -> tuple[Any, Any]:
    size = world.observe(world.now()).shape[-1]
    observation = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
    return observation, gymnasium.spaces.Box(-1.0, 1.0, (len(world.robot.model.drives),), np.float32)


def _mode(render_mode: str | None) -> str | None:
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise unknown("render_mode", render_mode, RENDER_MODES)
    return render_mode


def _picture(world: World, k: int) -> NDArray[np.uint8]:
    from dalembert.draw.arm import rgb_array

    states, goal = world.task.draw(world.goal[k], world.t[k], world.x[k, : world.robot.nq])
    return rgb_array(world.robot, states, goal=goal)


class Environment(gymnasium.Env):
    """One robot. `task`: `Reach()` if not given, or `Track(reference)`; `reward`: a function of a `Situation` in place
    of the task's own. A `step` [s] of the agent is several `dt` [s] of the integrator. An episode is truncated after
    `duration` [s]. `at_limits` "rest": a joint that runs into its limit is stopped there at the end of the step, and
    costs its share, 1/n, of `penalty` (what the task's `worst` reward takes away); "end": the episode is terminated and
    costs `penalty` for each step that was left, as it does if a state is lost; "pass": nothing.
    `torque_limits`: the robot's own efforts, or as `simulate` takes them. `friction` of the model counts. `avoid`, a
    dl.World: starts and goals are clear of it and of the arm itself, and who touches anything at the end of a step is
    lost; information and `Situation` have the `clearance`.

    `actions`: "velocity", shares of the joints' largest velocities (π rad/s or m/s where there is none), which the
    torques g(q) + M(q) (q̇_wanted − q̇)/0.1 s take up as far as the drives go; "compensated", where 0 is the torque g(q)
    and ±1 the largest that is left, or what brings the joint from rest to its largest velocity in 0.2 s if that is
    less; or "torque", shares of the largest torques. `World.observe` says what an observation is."""

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 25}

    def __init__(
        self,
        robot: Robot | str,
        task: Task | None = None,
        *,
        render_mode: str | None = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        """`options`: step, dt, duration, torque_limits, friction, method, actions, reward, penalty, at_limits,
        avoid."""
        self.world = World(robot, 1, task, **options)
        self.render_mode = _mode(render_mode)
        self.observation_space, self.action_space = _spaces(self.world)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """At rest in a random state, with a random goal; `options` may give "q", "qd" and "goal"."""
        super().reset(seed=seed)
        self.world.place(0, self.np_random, options or {})
        s = self.world.now()
        return self.world.observe(s)[0], _info(s, 0)

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        s, lost, over = self.world.advance(np.asarray(action, float)[None])
        reward = self.world.reward_of(s, lost)
        return self.world.observe(s)[0], float(reward[0]), bool(lost[0]), bool(over[0]), _info(s, 0)

    def render(self) -> NDArray[np.uint8] | None:
        """The robot drawn with its goal, (height, width, 3), if render_mode is "rgb_array"."""
        return None if self.render_mode is None else _picture(self.world, 0)


class VectorEnvironment(gymnasium.vector.VectorEnv):
    """`num_envs` robots, each as `Environment`, stepped together. One whose episode ended is reset by the next step,
    which ignores its action and rewards it with 0 (Gymnasium's AutoresetMode.NEXT_STEP)."""

    metadata = {
        "render_modes": list(RENDER_MODES),
        "render_fps": 25,
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        robot: Robot | str,
        num_envs: int,
        task: Task | None = None,
        *,
        render_mode: str | None = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        self.world = World(robot, num_envs, task, **options)
        self.num_envs = num_envs
        self.render_mode = _mode(render_mode)
        self.single_observation_space, self.single_action_space = _spaces(self.world)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs = [np.random.default_rng() for _ in range(num_envs)]
        self._ended = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """All robots anew; robot k with seed + k, or with its own of a list of seeds. `options` as of `Environment`,
        and "reset_mask", truth values (N,): only those."""
        options = dict(options or {})
        mask = np.asarray(options.pop("reset_mask", np.ones(self.num_envs, bool)))
        if mask.shape != (self.num_envs,) or mask.dtype != bool:
            raise InputError(
                "wrong-shape", "reset_mask", mask, expected=f"{self.num_envs} truth values, one for each environment"
            )
        if seed is not None:
            seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, int) else list(seed)
            if len(seeds) != self.num_envs:
                problem = f"seed must be one number, or {self.num_envs}, one for each environment, got {len(seeds)}"
                raise InputError("wrong-shape", "seed", problem=problem)
            super().reset(seed=seeds[0])
            self._rngs = [gymnasium.utils.seeding.np_random(s)[0] for s in seeds]
        for k in np.flatnonzero(mask):
            self.world.place(int(k), self._rngs[k], options)
        self._ended &= ~mask
        s = self.world.now()
        return self.world.observe(s), _infos(s)

    def step(self, actions: ArrayLike) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        ended = self._ended
        s, lost, over = self.world.advance(np.where(ended[:, None], 0.0, np.asarray(actions, float)))
        reward = np.where(ended, 0.0, self.world.reward_of(s, lost))
        lost, over = lost & ~ended, over & ~ended
        if ended.any():
            for k in np.flatnonzero(ended):
                self.world.place(int(k), self._rngs[k], {})
            fresh = self.world.now()
            s = Situation(*(_chosen(ended, getattr(fresh, name), getattr(s, name)) for name in s.__dataclass_fields__))
        self._ended = lost | over
        return self.world.observe(s), reward, lost, over, _infos(s)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        if self.render_mode is None:
            return None
        return tuple(_picture(self.world, k) for k in range(self.num_envs))


def _chosen(which: NDArray[np.bool_], a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.where(which.reshape(-1, *(1,) * (a.ndim - 1)), a, b)


def _info(s: Situation, k: int) -> dict[str, Any]:
    return {"success": bool(s.success[k]), **{name: getattr(s, name)[k] for name in TOLD}}


def _infos(s: Situation) -> dict[str, Any]:
    return {"success": s.success, **{name: getattr(s, name) for name in TOLD}}


def register() -> None:
    """Make gymnasium.make("dalembert/Reach-v0", robot="panda", …) and make_vec know these environments."""
    here = __name__
    for name in IDS:
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=f"{here}:Environment", vector_entry_point=f"{here}:VectorEnvironment")
