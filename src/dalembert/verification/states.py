"""The states at which everything is compared: drawn within the joint limits, from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dalembert.robot import Robot

Array = NDArray[Any]
FEW = 8  # states for what costs much more than the rest: derivatives, symbols, hypotheses


@dataclass(frozen=True)
class States:
    """q, q̇, q̈ (S, n); τ is what the reference needs for them. The first of every four states is at rest, the second
    has no velocity, the third no acceleration: where two ways part only in some of them, that says which term it is."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def __len__(self) -> int:
        return len(self.q)

    @cached_property
    def few(self) -> States:
        """The first states, at most FEW."""
        return self if len(self) <= FEW else States(*(x[:FEW] for x in (self.q, self.qd, self.qdd, self.tau)))

    def changed(self, **arrays: Array) -> States:
        return replace(self, **arrays)

    @property
    def moving(self) -> Array:
        return np.asarray(self.qd.any(axis=-1))

    @property
    def accelerated(self) -> Array:
        return np.asarray(self.qdd.any(axis=-1))


def draw(robot: Robot, count: int, seed: int) -> States:
    """Positions evenly within the limits, rates within a third of the velocity limits (±1 where there are none),
    accelerations of order one; τ is zero as yet."""
    rng = np.random.default_rng(seed)
    q = robot.random_configuration(count, seed=rng)
    fastest = np.where(np.isfinite(robot.limits.velocity), robot.limits.velocity / 3.0, 1.0)
    fastest = np.where(fastest > 0, np.minimum(fastest, 3.0), 1.0)
    qd = rng.uniform(-1.0, 1.0, q.shape) * fastest
    qdd = rng.uniform(-2.0, 2.0, q.shape)
    turn = np.arange(count) % 4
    qd[(turn == 0) | (turn == 1)] = 0.0
    qdd[(turn == 0) | (turn == 2)] = 0.0
    return States(q, qd, qdd, np.zeros_like(q))


def reordered(states: States, names: tuple[str, ...], others: tuple[str, ...]) -> States:
    """The same states of coordinates in another order."""
    order: Mapping[str, int] = {name: k for k, name in enumerate(names)}
    place = [order[name] for name in others]
    return States(*(x[:, place] for x in (states.q, states.qd, states.qdd, states.tau)))
