"""A path followed in time: x(s(t)), for any path and any law of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import scalar
from dalembert.errors import InputError
from dalembert.trajectories.checks import Array
from dalembert.trajectories.trajectory import Trajectory

OVER = 1e-9  # of the path's length: what a law may exceed it by
BISECTIONS = 60


@dataclass(frozen=True, eq=False, repr=False)
class Along(Trajectory):
    """x(s(t)): ẋ = x′ṡ, ẍ = x″ṡ² + x′s̈, x⃛ = x‴ṡ³ + 3x″ṡs̈ + x′s⃛, with the primes by s."""

    path: Trajectory
    law: Trajectory

    @property
    def m(self) -> int:  # type: ignore[override]
        return self.path.m

    @property
    def duration(self) -> float:  # type: ignore[override]
        return self.law.duration

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.path.names

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.path.units

    @property
    def parameter(self) -> str:  # type: ignore[override]
        return self.law.parameter

    @property
    def knots(self) -> Array:
        """Those of the law, and the times at which it passes those of the path."""
        own = self.law.knots
        inner = self.path.knots
        inner = inner[(inner > 0) & (inner < self.path.duration)]
        if not len(inner) or not np.isfinite(own[-1]):
            return own
        return np.unique(np.concatenate([own, *(self._passing(s) for s in inner)]))

    def _passing(self, s: float) -> Array:
        """When the law passes s: found between samples, then by bisection."""
        t = np.unique(np.concatenate([np.linspace(0, self.duration, 1001), self.law.knots]))
        side = self.law.derivatives(t, 0)[0][:, 0] > s
        turns = np.flatnonzero(side[1:] != side[:-1])
        low, high, rising = t[turns], t[turns + 1], side[turns + 1]
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            beyond = (self.law.derivatives(middle, 0)[0][:, 0] > s) == rising
            low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
        return high

    def derivatives(self, t: Array, order: int) -> list[Array]:
        law = self.law.derivatives(t, order)
        s = np.clip(law[0][:, 0], 0.0, self.path.duration)
        x = self.path.derivatives(s, order)
        found = [x[0]]
        if order >= 1:
            found.append(x[1] * law[1])
        if order >= 2:
            found.append(x[2] * law[1] ** 2 + x[1] * law[2])
        if order >= 3:
            found.append(x[3] * law[1] ** 3 + 3 * x[2] * law[1] * law[2] + x[1] * law[3])
        return found

    def trace(self, t: Any) -> tuple[list[Any], list[Any], list[Any]] | None:
        law = self.law.trace(t)
        if law is None:
            return None
        (s,), (sd,), (sdd,) = law
        path = self.path.trace(scalar.minimum(scalar.maximum(s, 0.0), self.path.duration))
        if path is None:
            return None
        x, first, second = path
        xd = [v * sd for v in first]
        return x, xd, [a * (sd * sd) + v * sdd for v, a in zip(first, second, strict=True)]


def along(path: Trajectory, law: Trajectory) -> Along:
    """The path x(s) followed as the law s(t) says, a motion of one coordinate within 0 … `path.duration`."""
    for name, value in (("path", path), ("law", law)):
        if not isinstance(value, Trajectory):
            raise InputError(f"{name} must be a trajectory, got {type(value).__name__}")
    if law.m != 1:
        raise InputError(f"a law of time is a motion of one coordinate, s(t); this one has {law.m}")
    if np.isfinite(path.duration):
        found = law.limits()
        if found.lower[0] < -OVER * path.duration or found.upper[0] > (1 + OVER) * path.duration:
            raise InputError(
                f"the law moves s from {found.lower[0]:g} to {found.upper[0]:g}; "
                f"the path goes from 0 to {path.duration:g}"
            )
    return Along(path, law)


@dataclass(frozen=True, eq=False, repr=False)
class Certified(Trajectory):
    """A motion that was solved for, and its `certificate`: what was recomputed at the answer."""

    motion: Trajectory
    certificate: Any

    @property
    def m(self) -> int:  # type: ignore[override]
        return self.motion.m

    @property
    def duration(self) -> float:  # type: ignore[override]
        return self.motion.duration

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.motion.names

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.motion.units

    @property
    def parameter(self) -> str:  # type: ignore[override]
        return self.motion.parameter

    @property
    def knots(self) -> Array:
        return self.motion.knots

    def derivatives(self, t: Array, order: int) -> list[Array]:
        return self.motion.derivatives(t, order)

    def trace(self, t: Any) -> tuple[list[Any], list[Any], list[Any]] | None:
        return self.motion.trace(t)
