"""What a loop is fed step by step: signals at the instants a method looks at, sensor noise, when a sample is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalembert.flow import Scalar, Scalars
from dalembert.scalar import where
from dalembert.simulation.signals import Signal

Array = NDArray[np.float64]


class SensorNoise:
    """Normal noise of given deviations, one row per sample, the same whatever pieces it is drawn in."""

    def __init__(self, deviations: Array, seed: int) -> None:
        self.deviations, self.seed = deviations, seed
        self._rng, self._next = np.random.default_rng(seed), 0
        self._last = np.zeros((0, len(deviations)))

    def rows(self, first: int, count: int) -> Array:
        """Samples first … first + count − 1. Those already drawn are kept only as far back as the last call."""
        begin = self._next - len(self._last)
        if first < begin:  # from the start again: rare, and exact
            self._rng, self._next, begin = np.random.default_rng(self.seed), 0, 0
            self._last = np.zeros((0, len(self.deviations)))
        more = max(first + count - self._next, 0)
        drawn = self._rng.standard_normal((more, len(self.deviations))) * self.deviations
        known = np.concatenate((self._last, drawn))
        self._next += more
        self._last = known[max(first - begin, 0) :]
        return self._last[:count]


@dataclass(frozen=True, eq=False)
class Feed:
    """The input of each step of length dt, as one block: (signals at every node, times that part the nodes, noise,
    whether a sample is taken). `nodes` are the places within a step, as parts of it, at which the method looks; `hold`
    steps share a sample; `flagged`: the loop must be told when one is due."""

    signals: tuple[Signal, ...]
    dt: float
    nodes: tuple[float, ...] = (0.0,)
    noise: SensorNoise | None = None
    hold: int = 1
    flagged: bool = False
    width: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", sum(len(s.entries) for s in self.signals))
        if not any(s.moving for s in self.signals):
            object.__setattr__(self, "nodes", (0.0,))

    @property
    def size(self) -> int:
        noise = len(self.noise.deviations) if self.noise else 0
        return self.width * len(self.nodes) + len(self.nodes) - 1 + noise + self.flagged

    @property
    def constant(self) -> bool:
        """Whether all steps are fed the same."""
        rows = all(s.rows is not None and len(s.rows) == 1 for s in self.signals)
        return rows and self.noise is None and not self.flagged

    # ---------------------------------------------------------------------------------------------- over any scalar
    def pick(self, t: Scalar, u: Scalars) -> list[Scalar]:
        """The signals at a node's time t."""
        w, d = self.width, len(self.nodes)
        found = list(u[:w])
        for i in range(1, d):
            later = t > u[w * d + i - 1]
            found = [where(later, u[i * w + j], a) for j, a in enumerate(found)]
        return found

    def noise_of(self, u: Scalars) -> Scalars:
        if self.noise is None:
            return []
        first = self.width * len(self.nodes) + len(self.nodes) - 1
        return u[first : first + len(self.noise.deviations)]

    def due(self, u: Scalars) -> Scalar:
        """1 where a sample is taken; None if always."""
        return u[self.size - 1] if self.flagged else None

    # -------------------------------------------------------------------------------------------------- as numbers
    def blocks(self, first: int, count: int) -> Array:
        """(count, size) of steps first …"""
        steps = np.arange(first, first + count)
        times = (steps[:, None] + np.array(self.nodes)) * self.dt
        given = [s.at(times, np.broadcast_to(steps[:, None], times.shape)) for s in self.signals]
        values = np.concatenate(given, -1) if given else np.empty((*times.shape, 0))
        middles = (steps[:, None] + (np.array(self.nodes[1:]) + np.array(self.nodes[:-1])) / 2) * self.dt
        parts = [values.reshape(count, -1), middles]
        if self.noise is not None:
            samples = steps // self.hold
            drawn = self.noise.rows(int(samples[0]), int(samples[-1] - samples[0]) + 1)
            parts.append(drawn[samples - samples[0]])
        if self.flagged:
            parts.append((steps % self.hold == 0)[:, None].astype(float))
        return np.concatenate(parts, -1)

    def fault(self, blocks: Array, first: int) -> tuple[int, str] | None:
        """The first step whose signals are not finite, and the sentence."""
        w = self.width
        values = blocks[:, : w * len(self.nodes)].reshape(len(blocks), len(self.nodes), w)
        bad = np.argwhere(~np.isfinite(values))
        if not len(bad):
            return None
        k, node, entry = (int(i) for i in bad[0])
        return k, self.sentence(entry, float(values[k, node, entry]), (first + k + self.nodes[node]) * self.dt)

    def sentence(self, entry: int, value: float, t: float) -> str:
        for s in self.signals:
            if entry < len(s.entries):
                return f"{s.name} of {s.entries[entry]!r} is {value} at t = {t:.6g} s"
            entry -= len(s.entries)
        raise IndexError(entry)


def distinct(nodes: Sequence[float]) -> tuple[float, ...]:
    """Sorted, and those that rounding alone tells apart taken as one."""
    found: list[float] = []
    for c in sorted(nodes):
        if not found or c - found[-1] > 1e-9:
            found.append(c)
    return tuple(found)
