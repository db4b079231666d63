"""How fast a stock PPO learns `Reach`: the return of an episode against steps, and what came of it.

    python benchmarks/learn.py planar-2r --torque-limits 60,25 --steps 500000 --picture docs/pictures/learning.png

Needs stable-baselines3 (pip install stable-baselines3) and the extras `gym` and `plot`. Seeded: the same machine and
versions give the same curve. PPO and VecNormalize are stable-baselines3's own, `Robots` only translates between the two
kinds of vectorized environment. The policy is judged without its noise on episodes that it has not seen.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

import dalembert as dl
from dalembert.interchange import VectorEnvironment
from dalembert.pyplot import COLORS, QUIET, pyplot, save, styled

ENVIRONMENTS = 64
EPISODE = {"step": 0.04, "duration": 2.0}  # [s]: fifty decisions
GAMMA = 0.95
UNSEEN = 10_000  # the seed of the first episode that judges


class Robots(VecEnv):
    """A Gymnasium VectorEnv as stable-baselines3 wants it: what ended begins anew in the same step."""

    def __init__(self, env: VectorEnvironment, seed: int) -> None:
        self.env, self.first = env, seed
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        return self.env.reset(seed=self.first)[0]

    def step_async(self, actions: Any) -> None:
        self.actions = actions

    def step_wait(self) -> Any:
        observation, reward, terminated, truncated, found = self.env.step(self.actions)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in done]
        for k in np.flatnonzero(done):
            infos[k] = {
                "terminal_observation": observation[k],
                "TimeLimit.truncated": bool(truncated[k] and not terminated[k]),
                "is_success": bool(found["success"][k]),
            }
        if done.any():
            observation, _ = self.env.reset(options={"reset_mask": done})
        return observation, reward, done, infos

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.env, attr_name, None)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self.env, attr_name, value)

    def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **options: Any) -> list[Any]:
        return [getattr(self.env, method_name)(*arguments, **options)] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


class Curve(BaseCallback):
    """(steps, processor time [s], mean return of the last hundred episodes, share of them that ended at the goal)."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[float, float, float, float]] = []
        self.start = time.process_time()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        episodes, success = self.model.ep_info_buffer, self.model.ep_success_buffer
        if episodes:
            mean = float(np.mean([episode["r"] for episode in episodes]))
            row = (self.num_timesteps, time.process_time() - self.start, mean, float(np.mean(success)))
            self.rows.append(row)
            if len(self.rows) % 10 == 0:
                print("{:9.0f} steps {:5.0f} s  return {:7.1f}  at the goal {:4.0%}".format(*row), flush=True)


def judged(robot: dl.Robot, policy: Any, **options: Any) -> tuple[float, float, float]:
    """Mean return, mean distance at the end [m] and share at the goal of a policy (observations → actions)."""
    env = VectorEnvironment(robot, ENVIRONMENTS, **options)
    observation, _ = env.reset(seed=UNSEEN)
    total, over = np.zeros(ENVIRONMENTS), np.zeros(ENVIRONMENTS, bool)
    while not over.all():
        observation, reward, terminated, truncated, found = env.step(policy(observation))
        total += np.where(over, 0.0, reward)
        over |= terminated | truncated
    distance = np.linalg.norm(found["error"], axis=-1)
    return float(total.mean()), float(distance.mean()), float(found["success"].mean())


@styled
def drawn(curve: list[tuple[float, ...]], levels: dict[str, float], title: str) -> Any:
    figure, ax = pyplot().subplots(figsize=(6.4, 3.4), layout="constrained")
    steps, seconds, returns, _ = np.array(curve).T
    ax.plot(seconds / 60, returns, color=COLORS[0], label="PPO, learning")
    for (word, level), dashes in zip(levels.items(), ("--", "-.", ":"), strict=False):
        ax.axhline(level, color=QUIET if word != "PPO, learned" else COLORS[1], linestyle=dashes, label=word)
    ax.set(xlabel="processor time, one core [min]", ylabel="return of an episode", title=title)
    rate = steps[-1] / 1e6 / (seconds[-1] / 60)
    other = ax.secondary_xaxis("top", functions=(lambda x: x * rate, lambda x: x / rate))
    other.set_xlabel("steps [million]")
    ax.legend(loc="center right")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robot", nargs="?", default="panda")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--torque-limits", help="for a robot without efforts, comma-separated [N m, N]")
    parser.add_argument("--picture")
    chosen = parser.parse_args()
    torch.set_num_threads(1)  # the network is small: more threads wait for one another
    robot = dl.load(chosen.robot)
    options: dict[str, Any] = dict(EPISODE)
    if chosen.torque_limits:
        options["torque_limits"] = [float(x) for x in chosen.torque_limits.split(",")]
    rng = np.random.default_rng(0)
    still = judged(robot, lambda o: np.zeros((ENVIRONMENTS, robot.n)), **options)
    random = judged(robot, lambda o: rng.uniform(-1, 1, (ENVIRONMENTS, robot.n)), **options)
    robots = VecMonitor(Robots(VectorEnvironment(robot, ENVIRONMENTS, **options), chosen.seed))
    environments = VecNormalize(robots, gamma=GAMMA)
    agent = PPO(
        "MlpPolicy",
        environments,
        learning_rate=lambda left: 1e-3 * left + 1e-5,
        n_steps=50,
        batch_size=400,
        gamma=GAMMA,
        policy_kwargs={"log_std_init": -0.5},
        seed=chosen.seed,
        device="cpu",
    )
    curve = Curve()
    agent.learn(chosen.steps, callback=curve)
    environments.training = False
    learned = judged(robot, lambda o: agent.predict(environments.normalize_obs(o), deterministic=True)[0], **options)
    for word, (total, distance, share) in {"still": still, "random": random, "learned": learned}.items():
        print(f"{word:8} return {total:7.1f}, {distance:.3f} m from the goal at the end, within 2 cm: {share:.0%}")
    if chosen.picture:
        levels = {"holding still": still[0], "random actions": random[0], "PPO, learned": learned[0]}
        print(save(drawn(curve.rows, levels, f"Reach of {robot.name}"), chosen.picture))


if __name__ == "__main__":
    main()
