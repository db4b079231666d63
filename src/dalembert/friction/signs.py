"""The sign of a velocity made smooth: one row per way, each with its slope.

A smooth sign rises from −1 to 1 over a stated width v₀. It has a derivative everywhere, and nothing holds at rest:
under any load the joint creeps, at the speed at which the smooth sign balances it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dalembert import scalar
from dalembert.scalar import Scalar


@dataclass(frozen=True)
class Sign:
    """σ(x) of x = v/v₀, and dσ/dx."""

    sentence: str
    value: Callable[[Scalar], Scalar]
    slope: Callable[[Scalar], Scalar]


def _tanh_slope(x: Scalar) -> Scalar:
    t = scalar.tanh(x)
    return 1.0 - t * t


def _root_slope(x: Scalar) -> Scalar:
    r = x * x + 1.0
    return 1.0 / (r * scalar.sqrt(r))


SIGNS: dict[str, Sign] = {
    "tanh": Sign("tanh(v/v₀): 0.76 at v₀, 0.9999 at 5 v₀", scalar.tanh, _tanh_slope),
    "arctan": Sign(
        "(2/π) arctan(v/v₀): 0.5 at v₀, and slow to reach 1",
        lambda x: (2.0 / math.pi) * scalar.arctan2(x, 1.0),
        lambda x: (2.0 / math.pi) / (x * x + 1.0),
    ),
    "root": Sign("v/√(v² + v₀²): 0.71 at v₀, algebraic", lambda x: x / scalar.sqrt(x * x + 1.0), _root_slope),
}
