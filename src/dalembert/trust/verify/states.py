"""The states at which everything is compared: drawn within the joint limits, from a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.trust.verify.mechanism import Mechanism

Array = NDArray[Any]
NARROW = 1e-6  # [rad or m] a joint that may move no further than this is moved by ±1 all the same
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


def confined(m: Mechanism) -> tuple[str, ...]:
    """The coordinates whose limits leave them no room to move in."""
    return tuple(name for name, x in zip(m.coordinates, m.limits, strict=True) if not _roomy(x[0], x[1]))


def _roomy(lower: float, upper: float) -> bool:
    room = float(upper) - float(lower)  # of what is written, which may be as large as a number can be
    return room > NARROW and not (np.isinf(room) and np.isfinite([lower, upper]).all())


def draw(m: Mechanism, count: int, seed: int) -> States:
    """Positions evenly within the limits as written (±π or ±1 m where there are none, ±1 about the middle where they
    leave no room), rates within a third of the velocity limits (±1 where there are none), accelerations of order one;
    τ is zero as yet."""
    rng = np.random.default_rng(seed)
    kinds = {p.joint: p.kind for p in m.parts}
    ranges = [_range(x[0], x[1], kinds[name]) for name, x in zip(m.coordinates, m.limits, strict=True)]
    lower, upper = np.array(ranges).reshape(-1, 2).T
    q = rng.uniform(lower, upper, (count, len(ranges)))
    velocity = m.limits[:, 3]
    fastest = np.where(np.isfinite(velocity), velocity / 3.0, 1.0)
    fastest = np.where(fastest > 0, np.minimum(fastest, 3.0), 1.0)
    qd = rng.uniform(-1.0, 1.0, q.shape) * fastest
    qdd = rng.uniform(-2.0, 2.0, q.shape)
    turn = np.arange(count) % 4
    qd[(turn == 0) | (turn == 1)] = 0.0
    qdd[(turn == 0) | (turn == 2)] = 0.0
    return States(q, qd, qdd, np.zeros_like(q))


def _range(lower: float, upper: float, kind: str) -> tuple[float, float]:
    if not _roomy(lower, upper):
        middle = lower if np.isfinite(lower) and abs(lower) < 1e6 else 0.0
        return middle - 1.0, middle + 1.0
    free = 1.0 if kind == "prismatic" else np.pi
    low = lower if np.isfinite(lower) else min(-free, upper - 2.0 * free)
    return low, upper if np.isfinite(upper) else max(free, low + 2.0 * free)


def reordered(states: States, names: tuple[str, ...], others: tuple[str, ...]) -> States:
    """The same states of coordinates in another order."""
    order: Mapping[str, int] = {name: k for k, name in enumerate(names)}
    place = [order[name] for name in others]
    return States(*(x[:, place] for x in (states.q, states.qd, states.qdd, states.tau)))
