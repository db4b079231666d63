"""Motions made of others: a path followed in time, x(s(t)); motions one after the other; one with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert import scalar
from dalembert.arguments import Array, of_kind
from dalembert.errors import InputError
from dalembert.flow import Scalar
from dalembert.trajectories.piecewise import TRACED, Piecewise
from dalembert.trajectories.trajectory import Bends, Extremes, Traced, Trajectory

OVER = 1e-9  # of the path's length: what a law may exceed it by
GAP = 1e-9  # of the largest value: what two parts may differ by where they meet
BISECTIONS = 60
CROSSINGS = 100.0  # of one place by a law between two times: more than polynomials of a few pieces have


def bisect(low: Array, high: Array, beyond: Callable[[Array], NDArray[np.bool_]]) -> Array:
    """Where each interval passes from not `beyond` to `beyond`."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        there = beyond(middle)
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return high


@dataclass(frozen=True, eq=False, repr=False)
class Along(Trajectory):
    """x(s(t)): ẋ = x′ṡ, ẍ = x″ṡ² + x′s̈, x⃛ = x‴ṡ³ + 3x″ṡs̈ + x′s⃛, with the primes by s."""

    path: Trajectory
    law: Trajectory

    def __post_init__(self) -> None:
        self._take(self.path, "m", "names", "units")
        self._take(self.law, "duration", "parameter")

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
        rising = side[turns + 1]
        return bisect(t[turns], t[turns + 1], lambda at: (self.law.derivatives(at, 0)[0][:, 0] > s) == rising)

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

    def bends(self, low: Array, high: Array) -> Bends | None:
        """|ẋ| ≤ |x′||ṡ| and |ẍ| ≤ |x″|ṡ² + |x′||s̈|, over all s that the law can reach meanwhile."""
        law = self.law.bends(low, high)
        if law is None:
            return None
        reach = law.first[:, 0] * 0.5 * (high - low) + law.gaps[:, 0]
        middle, speed = (x[:, 0] for x in self.law.derivatives(0.5 * (low + high), 1))
        ends = (np.clip(s, 0.0, self.path.duration) for s in (middle - reach, middle + reach))
        path = self.path.bends(*ends)
        if path is None:
            return None
        # A law that may turn back passes corners more than once; for a straight line, twice |ẋ| is as bad as any.
        turning = (0.5 * (high - low) * law.second[:, 0] + law.corners[:, 0] >= np.abs(speed))[:, None]
        first, often = path.first * law.first, np.where(turning, CROSSINGS, 1.0)
        corners = np.minimum(often * path.corners * law.first, 2.0 * first) + path.first * law.corners
        second = path.second * law.first**2 + path.first * law.second
        return Bends(first, second, often * path.gaps + path.first * law.gaps, corners)

    def trace(self, t: Scalar) -> Traced:
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
        of_kind(value, Trajectory, f"{name} must be a trajectory, got")
    if law.m != 1:
        raise InputError("wrong-shape", "law", law.m, expected="a motion of one coordinate, s(t)")
    if np.isfinite(path.duration):
        found = law.limits()
        if found.lower[0] < -OVER * path.duration or found.upper[0] > (1 + OVER) * path.duration:
            raise InputError(
                "conflict",
                "law",
                problem=f"`law` moves s from {found.lower[0]:g} to {found.upper[0]:g}, and `path` goes from 0 to "
                f"{path.duration:g}",
            )
    return Along(path, law)


@dataclass(frozen=True, eq=False, repr=False)
class Certified(Trajectory):
    """A motion that was solved for, and its `certificate`: what was recomputed at the answer."""

    motion: Trajectory
    certificate: Any

    def __post_init__(self) -> None:
        self._take(self.motion, "m", "duration", "names", "units", "parameter")

    @property
    def knots(self) -> Array:
        return self.motion.knots

    def derivatives(self, t: Array, order: int) -> list[Array]:
        return self.motion.derivatives(t, order)

    def limits(self) -> Extremes:
        return self.motion.limits()

    def bends(self, low: Array, high: Array) -> Bends | None:
        return self.motion.bends(low, high)

    def trace(self, t: Scalar) -> Traced:
        return self.motion.trace(t)


# -------------------------------------------------------------------------------------------- one after the other
def sequence(*parts: Trajectory, corners: bool = False) -> Trajectory:
    """Motions one after the other. Each begins where the one before ends, and as fast: with `corners`, the velocity may
    jump. Only the last may go on for ever."""
    if not parts:
        raise InputError("too-few", "parts", expected="at least one motion")
    for k, part in enumerate(parts):
        of_kind(part, Trajectory, f"part {k} of a sequence must be a trajectory, got")
        if part.m != parts[0].m:
            raise InputError(
                "wrong-shape", "parts", part.m, problem=f"part {k} has {part.m} coordinates, the first {parts[0].m}"
            )
        if k + 1 < len(parts) and not np.isfinite(part.duration):
            raise InputError(
                "missing",
                "duration",
                problem=f"part {k} has no end, so nothing can follow it",
                remedy="Give it a duration.",
            )
    _check_meeting(parts, corners)
    pieces = [p for p in parts if isinstance(p, Piecewise) and not p.repeats]
    if len(pieces) == len(parts):
        return _join(pieces)
    return Sequence(parts)


def _check_meeting(parts: tuple[Trajectory, ...], corners: bool) -> None:
    for k in range(1, len(parts)):
        before, after = parts[k - 1], parts[k]
        ends, begins = before(before.duration), after(0.0)
        for word, a, b in zip(("position", "velocity"), ends, begins, strict=False):
            apart = float(np.abs(a - b).max())
            if apart > GAP * max(float(np.abs(a).max()), float(np.abs(b).max()), 1.0):
                if word == "velocity" and corners:
                    continue
                hint = "; corners=True allows it" if word == "velocity" else ""
                raise InputError(
                    "conflict",
                    "parts",
                    problem=f"part {k} does not begin with the {word} that part {k - 1} ends with: they differ by "
                    f"{apart:g}{hint}",
                )


def _join(parts: list[Piecewise]) -> Piecewise:
    powers = max(p.coefficients.shape[1] for p in parts)
    breaks, rows, begin = [np.zeros(1)], [], 0.0
    for p in parts:
        breaks.append(p.breaks[1:] + begin)
        begin = float(breaks[-1][-1])
        padded = np.zeros((len(p.coefficients), powers, p.m))
        padded[:, : p.coefficients.shape[1]] = p.coefficients
        rows.append(padded)
    first = parts[0]
    return Piecewise(np.concatenate(breaks), np.concatenate(rows), first.names, first.units, first.parameter)


@dataclass(frozen=True, eq=False, repr=False)
class Sequence(Trajectory):
    """Motions of any kinds one after the other."""

    parts: tuple[Trajectory, ...]

    def __post_init__(self) -> None:
        self._take(self.parts[0], "m", "names", "units", "parameter")
        object.__setattr__(self, "duration", float(self.starts[-1] + self.parts[-1].duration))

    @property
    def starts(self) -> Array:
        """When each part begins, (k,)."""
        return np.concatenate([[0.0], np.cumsum([p.duration for p in self.parts[:-1]])])

    @property
    def knots(self) -> Array:
        return np.unique(np.concatenate([p.knots + t for p, t in zip(self.parts, self.starts, strict=True)]))

    def derivatives(self, t: Array, order: int) -> list[Array]:
        starts = self.starts
        which = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, len(self.parts) - 1)
        found = [np.zeros((len(t), self.m)) for _ in range(order + 1)]
        for k, part in enumerate(self.parts):
            mine = which == k
            if mine.any():
                for whole, x in zip(found, part.derivatives(t[mine] - starts[k], order), strict=True):
                    whole[mine] = x
        return found

    def bends(self, low: Array, high: Array) -> Bends | None:
        found = Bends(*np.zeros((4, len(low), self.m)))
        for k, (part, begin) in enumerate(zip(self.parts, self.starts.tolist(), strict=True)):
            own = part.bends(*(np.clip(t - begin, 0.0, part.duration) for t in (low, high)))
            if own is None:
                return None
            for name, reached in (("first", own.first), ("second", own.second)):
                np.maximum(getattr(found, name), reached, out=getattr(found, name))
            found.gaps[:] += own.gaps
            found.corners[:] += own.corners
            if k:
                inside = ((low < begin) & (high > begin))[:, None]
                before, after = self.parts[k - 1](self.parts[k - 1].duration), part(0.0)
                for whole, x, y in zip(found[2:], before, after, strict=False):
                    whole += np.where(inside, np.abs(x - y), 0.0)
        return found

    def trace(self, t: Scalar) -> Traced:
        if len(self.parts) > TRACED:
            return None
        found = self.parts[0].trace(t)
        for begin, part in zip(self.starts[1:].tolist(), self.parts[1:], strict=True):
            new = part.trace(t - begin)
            if found is None or new is None:
                return None
            later = t >= begin
            x, xd, xdd = (
                [scalar.where(later, b, a) for a, b in zip(old, fresh, strict=True)]
                for old, fresh in zip(found, new, strict=True)
            )
            found = x, xd, xdd
        return found
