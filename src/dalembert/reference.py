"""What a controller follows: a motion as a function of time, with its rates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Reference(ABC):
    """A motion x(t) of m numbers. Defined for all t: before its start and after its end it rests where it begins and
    ends, unless a kind says otherwise (periodic ones go on)."""

    m: int
    duration: float  # [s]; infinite for those that go on

    @abstractmethod
    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """(x, ẋ, ẍ) at times t (...) → (..., m) each."""

    def trace(self, t: Any) -> tuple[list[Any], list[Any], list[Any]] | None:
        """The same over any scalar t, where the motion is a formula that can be compiled into a loop; None where it is
        not: then it is sampled beforehand."""
        return None
