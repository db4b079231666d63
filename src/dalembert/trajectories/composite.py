"""Motions one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert import scalar
from dalembert.errors import InputError
from dalembert.trajectories.checks import Array
from dalembert.trajectories.piecewise import Piecewise
from dalembert.trajectories.trajectory import Trajectory

GAP = 1e-9  # of the largest value: what two parts may differ by where they meet
TRACED = 16


def sequence(*parts: Trajectory, corners: bool = False) -> Trajectory:
    """Motions one after the other. Each begins where the one before ends, and as fast: with `corners`, the velocity may
    jump. Only the last may go on for ever."""
    if not parts:
        raise InputError("a sequence needs at least one motion")
    for k, part in enumerate(parts):
        if not isinstance(part, Trajectory):
            raise InputError(f"part {k} of a sequence must be a trajectory, got {type(part).__name__}")
        if part.m != parts[0].m:
            raise InputError(f"part {k} has {part.m} coordinates, the first {parts[0].m}")
        if k + 1 < len(parts) and not np.isfinite(part.duration):
            raise InputError(f"part {k} goes on for ever, so that nothing comes after it; give it a duration")
    _meet(parts, corners)
    pieces = [p for p in parts if isinstance(p, Piecewise) and not p.repeats]
    if len(pieces) == len(parts):
        return _joined(pieces)
    return Sequence(parts)


def _meet(parts: tuple[Trajectory, ...], corners: bool) -> None:
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
                    f"part {k} does not begin with the {word} that part {k - 1} ends with: "
                    f"they differ by {apart:g}{hint}"
                )


def _joined(parts: list[Piecewise]) -> Piecewise:
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

    @property
    def m(self) -> int:  # type: ignore[override]
        return self.parts[0].m

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.parts[0].names

    @property
    def units(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.parts[0].units

    @property
    def parameter(self) -> str:  # type: ignore[override]
        return self.parts[0].parameter

    @property
    def starts(self) -> Array:
        """When each part begins, (k,)."""
        return np.concatenate([[0.0], np.cumsum([p.duration for p in self.parts[:-1]])])

    @property
    def duration(self) -> float:  # type: ignore[override]
        return float(self.starts[-1] + self.parts[-1].duration)

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

    def trace(self, t: Any) -> tuple[list[Any], list[Any], list[Any]] | None:
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
