"""How fast a stock PPO learns `Reach`: return and success of an episode against time, and what came of it.

    python benchmarks/learn.py planar-2r --torque-limits 60,25 --picture docs/pictures/learning.png

Needs stable-baselines3 (pip install stable-baselines3) and the extras `gym` and `plot`. Seeded: the same machine and
versions give the same curve. The environment has its defaults, PPO its own too: no setting is tuned, nothing is
normalized; `Robots` only translates between the two kinds of vectorized environment. The policy is judged without its
noise on episodes that it has not seen.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

import dalembert as dl
from dalembert.draw.pyplot import COLORS, QUIET, pyplot, save, styled
from dalembert.interchange import VectorEnvironment

ENVIRONMENTS = 4  # that learn
JUDGES = 200  # episodes that judge
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
    """(steps, processor time [s], mean return of the last hundred episodes, share of unseen ones at the goal)."""

    def __init__(self, judge: Any) -> None:
        super().__init__()
        self.rows: list[tuple[float, float, float, float]] = []
        self.judge, self.spent = judge, 0.0
        self.start = time.process_time()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if (self.num_timesteps // (2048 * ENVIRONMENTS)) % 3:
            return
        now = time.process_time()
        mean = float(np.mean([episode["r"] for episode in self.model.ep_info_buffer]))
        row = (self.num_timesteps, now - self.start - self.spent, mean, self.judge(self.model)[2])
        self.rows.append(row)
        self.spent += time.process_time() - now  # judging is not learning
        print("{:9.0f} steps {:5.0f} s  return {:7.1f}  at the goal {:4.0%}".format(*row), flush=True)


def judged(robot: dl.Robot, policy: Any, **options: Any) -> tuple[float, float, float]:
    """Mean return, mean distance at the end [m] and share at the goal of a policy (observations → actions)."""
    env = VectorEnvironment(robot, JUDGES, **options)
    observation, _ = env.reset(seed=UNSEEN)
    total, over = np.zeros(JUDGES), np.zeros(JUDGES, bool)
    while not over.all():
        observation, reward, terminated, truncated, found = env.step(policy(observation))
        total += np.where(over, 0.0, reward)
        over |= terminated | truncated
    distance = np.linalg.norm(found["error"], axis=-1)
    return float(total.mean()), float(distance.mean()), float(found["success"].mean())


@styled
def drawn(curve: list[tuple[float, ...]], levels: dict[str, float], title: str) -> Any:
    figure, (above, below) = pyplot().subplots(2, 1, figsize=(6.4, 4.6), sharex=True, layout="constrained")
    steps, seconds, returns, shares = np.array(curve).T
    above.plot(seconds / 60, returns, color=COLORS[0], label="PPO, learning")
    for (word, level), dashes in zip(levels.items(), ("--", ":"), strict=True):
        above.axhline(level, color=QUIET, linestyle=dashes, label=word)
    above.set(ylabel="return of an episode", title=title)
    above.legend(loc="center right")
    below.plot(seconds / 60, 100 * shares, color=COLORS[1])
    below.set(xlabel="processor time, one core [min]", ylabel="at the goal [%]", ylim=(0, 102))
    rate = steps[-1] / 1e6 / (seconds[-1] / 60)
    other = above.secondary_xaxis("top", functions=(lambda x: x * rate, lambda x: x / rate))
    other.set_xlabel("steps [million]")
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robot", nargs="?", default="panda")
    parser.add_argument("--steps", type=int, default=700_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--torque-limits", help="for a robot without efforts, comma-separated [N m, N]")
    parser.add_argument("--picture")
    chosen = parser.parse_args()
    torch.set_num_threads(1)  # the network is small: more threads wait for one another
    robot = dl.load(chosen.robot)
    options: dict[str, Any] = {}
    if chosen.torque_limits:
        options["torque_limits"] = [float(x) for x in chosen.torque_limits.split(",")]
    rng = np.random.default_rng(0)
    still = judged(robot, lambda o: np.zeros((JUDGES, robot.n)), **options)
    random = judged(robot, lambda o: rng.uniform(-1, 1, (JUDGES, robot.n)), **options)

    def judge(agent: Any) -> tuple[float, float, float]:
        return judged(robot, lambda o: agent.predict(o, deterministic=True)[0], **options)

    robots = VecMonitor(Robots(VectorEnvironment(robot, ENVIRONMENTS, **options), chosen.seed))
    agent = PPO("MlpPolicy", robots, seed=chosen.seed, device="cpu")
    curve = Curve(judge)
    agent.learn(chosen.steps, callback=curve)
    learned = judge(agent)
    for word, (total, distance, share) in {"still": still, "random": random, "learned": learned}.items():
        print(f"{word:8} return {total:7.1f}, {distance:.3f} m from the goal at the end, within 2 cm: {share:.0%}")
    if chosen.picture:
        levels = {"holding still": still[0], "random actions": random[0]}
        print(save(drawn(curve.rows, levels, f"Reach of {robot.name}"), chosen.picture))


if __name__ == "__main__":
    main()
