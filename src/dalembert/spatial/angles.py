"""Angles that look like degrees where radians are meant."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence

from dalembert.errors import UnitWarning

TURN = 2 * math.pi
FAR = 10 * TURN  # a joint may wind up a few turns; nobody writes more by hand


def look_like_degrees(angles: Iterable[float]) -> bool:
    """Whether angles meant as radians are rather degrees: one is beyond a whole turn, and either all are round, as
    written degrees are and unwrapped radians never, or it is far beyond."""
    sizes = [abs(x) for x in angles if math.isfinite(x)]
    largest = max(sizes, default=0.0)
    return largest > 1.001 * TURN and (largest > FAR or all(2 * x == round(2 * x) for x in sizes))


def warn_of_degrees(name: str, angles: Sequence[float], remedy: str, stacklevel: int = 3) -> None:
    """A UnitWarning, if they look like it."""
    if look_like_degrees(angles):
        warnings.warn(sentence(name, angles, remedy), UnitWarning, stacklevel)


def sentence(name: str, angles: Sequence[float], remedy: str) -> str:
    shown = ", ".join(f"{x:g}" for x in angles[:6]) + (", …" if len(angles) > 6 else "")
    return f"{name} is {shown} in radians, which looks like degrees; if it is, {remedy}"
