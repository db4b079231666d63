"""What acts on a system as time goes by: torques, wrenches, disturbances, a reference, as numbers at wanted times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import plain_array
from dalembert.errors import InputError
from dalembert.reference import Reference

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Signal:
    """m numbers that may depend on time. `rows` (steps, m): one for each step, held over it; else `function(t)` of
    times (k,) gives (k, m)."""

    name: str
    entries: tuple[str, ...]
    rows: Array | None = None
    function: Callable[[Array], Array] | None = None

    @property
    def moving(self) -> bool:
        """Whether it changes within a step."""
        return self.function is not None

    def at(self, t: Array, step: Array) -> Array:
        """(..., m) at times t, which lie in these steps; after the last step its row goes on."""
        if self.function is not None:
            times, place = np.unique(t, return_inverse=True)
            return np.asarray(self.function(times)[place.reshape(t.shape)])
        assert self.rows is not None
        return np.asarray(self.rows[np.minimum(step, len(self.rows) - 1)])


def signal(name: str, value: Any, entries: tuple[str, ...], steps: int) -> Signal | None:
    """A signal as users give it: nothing, m numbers, m numbers for each step, or a function of t."""
    if value is None:
        return None
    m = len(entries)
    meaning = f"{m} numbers ({', '.join(entries[:4])}{', …' if m > 4 else ''})"
    if callable(value):
        return Signal(name, entries, function=_one_by_one(name, value, m, meaning))
    try:
        array = plain_array(value, name)
        if array.dtype.kind not in "fiub":
            raise TypeError
        array = array.astype(float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a function of t or an array of numbers, got {value!r:.60}") from None
    if array.shape == (m,):
        if not np.isfinite(array).all():
            worst = entries[int(np.argmin(np.isfinite(array)))]
            raise InputError(f"{name} of {worst!r} is {array[~np.isfinite(array)][0]}: it must be finite")
        return Signal(name, entries, rows=array[None])
    if array.shape != (steps, m) or not steps:
        raise InputError(
            f"{name} has shape {array.shape}; it must be ({m},), {meaning}, or ({steps}, {m}), one row for each step, "
            "or a function of t"
        )
    return Signal(name, entries, rows=array)


def _one_by_one(name: str, function: Callable[[float], Any], m: int, meaning: str) -> Callable[[Array], Array]:
    def values(times: Array) -> Array:
        out = np.empty((len(times), m))
        for k, t in enumerate(times.tolist()):
            made = function(t)
            try:
                row = np.asarray(made, float)
            except (TypeError, ValueError):
                raise InputError(f"{name}(t) gives {made!r:.60} at t = {t:g} s; it must give {meaning}") from None
            if row.shape != (m,) and not (m == 1 and row.shape == ()):
                raise InputError(f"{name}(t) gives shape {row.shape} at t = {t:g} s; it must give {meaning}")
            out[k] = row
        return out

    return values


def reference_of(value: Any) -> Reference | None:
    """A reference as users give it: a `Reference`, m numbers to rest at, or a function of t giving x or (x, ẋ, ẍ)."""
    if value is None or isinstance(value, Reference):
        return value
    if callable(value):
        return _Function(value)
    try:
        point = np.asarray(plain_array(value), float)
    except (TypeError, ValueError):
        point = np.empty((0, 0))
    if point.ndim != 1 or not point.size or not np.isfinite(point).all():
        raise InputError(
            "reference must be a Reference, a function of t, or finite numbers to rest at, one per entry; "
            f"got {value!r:.60}"
        )
    return _Point(point)


class _Point(Reference):
    """At rest for ever."""

    def __init__(self, point: Array) -> None:
        self.point, self.m, self.duration = point, len(point), 0.0

    def __call__(self, t: Any) -> tuple[Array, Array, Array]:
        x = np.broadcast_to(self.point, (*np.shape(t), self.m)).copy()
        return x, np.zeros_like(x), np.zeros_like(x)

    def trace(self, t: Any) -> tuple[list[Any], list[Any], list[Any]]:
        zero = [0.0] * self.m
        return self.point.tolist(), list(zero), list(zero)


class _Function(Reference):
    """A user's function; of a motion given without its rates these are not known, and `orders` is 1."""

    def __init__(self, function: Callable[[float], Any]) -> None:
        self.function, self.duration = function, np.inf
        first = self._parts(0.0)
        self.m, self.orders = len(first[0]), len(first)

    def _parts(self, t: float) -> list[Array]:
        made = self.function(t)
        parts = list(made) if isinstance(made, tuple) and len(made) == 3 and np.ndim(made[0]) else [made]
        try:
            arrays = [np.atleast_1d(np.asarray(part, float)) for part in parts]
        except (TypeError, ValueError):
            arrays = []
        if not arrays or any(a.ndim != 1 or a.shape != arrays[0].shape for a in arrays):
            raise InputError(f"reference(t) must give x, or (x, ẋ, ẍ) of equal length; at t = {t:g} s: {made!r:.60}")
        return arrays

    def __call__(self, t: Any) -> tuple[Array, Array, Array]:
        times = np.asarray(t, float)
        rows = [self._parts(x) for x in times.reshape(-1).tolist()]
        for at, row in zip(times.reshape(-1).tolist(), rows, strict=True):
            if len(row) != self.orders or len(row[0]) != self.m:
                raise InputError(f"reference(t) gives {len(row[0])} numbers at t = {at:g} s, and {self.m} at t = 0")
        parts = [np.array([row[k] for row in rows]).reshape(*times.shape, self.m) for k in range(self.orders)]
        while len(parts) < 3:
            parts.append(np.full_like(parts[0], np.nan))
        return parts[0], parts[1], parts[2]


def reference_signal(reference: Reference, names: Sequence[str], orders: int) -> Signal:
    """(x, ẋ, ẍ)[:orders] of a reference that cannot be traced."""

    def values(times: Array) -> Array:
        return np.concatenate(reference(times)[:orders], -1)

    return Signal("reference", tuple(names), function=values)
