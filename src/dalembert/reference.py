"""What a controller follows: a motion as a function of time, with its rates; and how users may write one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import array
from dalembert.errors import InputError
from dalembert.flow import Array, Scalar


class Reference(ABC):
    """A motion x(t) of m numbers. Defined for all t: before its start and after its end it rests where it begins and
    ends, unless a kind says otherwise (periodic ones go on)."""

    m: int
    duration: float  # [s]; infinite for those that go on
    orders: int = 3  # how many of x, ẋ, ẍ are known

    @abstractmethod
    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """(x, ẋ, ẍ) at times t (...) → (..., m) each."""

    def trace(self, t: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]] | None:
        """The same over any scalar t, where the motion is a formula that can be compiled into a loop; None where it is
        not: then it is sampled beforehand."""
        return None


class SetPoint(Reference):
    """At rest for ever."""

    def __init__(self, point: Array) -> None:
        self.point, self.m, self.duration = point, len(point), 0.0

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        x = np.broadcast_to(self.point, (*np.shape(t), self.m)).copy()
        return x, np.zeros_like(x), np.zeros_like(x)

    def trace(self, t: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        zero = [0.0] * self.m
        return self.point.tolist(), list(zero), list(zero)


class TimeFunction(Reference):
    """A user's function of t giving x or (x, ẋ, ẍ); of a motion given without its rates these are not known, and
    `orders` is 1."""

    def __init__(self, function: Callable[[float], object]) -> None:
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

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        times = np.asarray(t, float)
        rows = [self._parts(x) for x in times.reshape(-1).tolist()]
        for at, row in zip(times.reshape(-1).tolist(), rows, strict=True):
            if len(row) != self.orders or len(row[0]) != self.m:
                raise InputError(f"reference(t) gives {len(row[0])} numbers at t = {at:g} s, and {self.m} at t = 0")
        parts = [np.array([row[k] for row in rows]).reshape(*times.shape, self.m) for k in range(self.orders)]
        x, v, a = [*parts, *(np.full_like(parts[0], np.nan) for _ in range(3 - self.orders))]
        return x, v, a


def read_reference(value: object) -> Reference | None:
    """A reference as users give it: a `Reference`, m numbers to rest at, or a function of t giving x or (x, ẋ, ẍ)."""
    if value is None or isinstance(value, Reference):
        return value
    if callable(value):
        return TimeFunction(value)
    try:
        point = array("a set point", value)
    except InputError:
        point = np.zeros(0)
    if point.ndim != 1:
        raise InputError(
            f"a set point is a list of numbers, got shape {point.shape}; one for each run of a batch is given by "
            "parameters of the names that the law follows"
        )
    if not point.size:
        raise InputError(
            "reference must be a Reference, a function of t, or finite numbers to rest at, one per entry; "
            f"got {value!r:.60}"
        )
    return SetPoint(point)
