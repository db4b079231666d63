"""What a choice of C is worth: xᵀ(Ṁ − 2C) x along a motion, for a velocity x that is not q̇.

Controllers that multiply C with a velocity of their own (sliding variables, references) have this in the rate of their
Lyapunov function. It is zero for the choices that keep Ṁ − 2C skew, and power out of nowhere for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.trust.properties.case import case_of
from dalembert.trust.properties.coriolis import matrices
from dalembert.trust.properties.mechanism import mechanism_of
from dalembert.trust.properties.motion import swing

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Skewness:
    """t (T,) [s]; `power` of each choice, (T,): xᵀ(Ṁ − 2C) x."""

    system: str
    t: Array
    x: Array
    power: Mapping[str, Array]

    def plot(self, axes: Any = None) -> Any:
        """A matplotlib figure: one line for each choice."""
        from dalembert.trust.properties.figures import draw_skewness

        return draw_skewness(self, axes)


def skewness(system: Any, x: ArrayLike | None = None, *, seed: int = 0, duration: float = 4.0) -> Skewness:
    """xᵀ(Ṁ − 2C) x of every choice of C along a motion drawn from `seed`; x is (n,), ones if not given."""
    m = mechanism_of(system)
    direction = np.ones(m.n) if x is None else array("x", x, (m.n,))
    motion = swing(m, seed, duration, rows=401)
    case = case_of(m, states=1, q=motion.q, qd=motion.qd, symbols=False)
    kept = slice(0, case.given)
    power = {
        name: np.einsum("i,bij,j->b", direction, (case.M_dot - 2 * C)[kept], direction)
        for name, C in matrices(case).items()
    }
    return Skewness(m.name, motion.t, direction, power)
