"""What inverse kinematics returns: joint positions with their certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONVERGED = "converged"
EXACT = 1e-11  # [m, rad] what rounding leaves
TOO_FINE = "reached as nearly as rounding allows, but the tolerance is finer"
OUT_OF_REACH = (
    "no start reached the target: it is out of reach, or behind the joint limits; this is the nearest point found"
)


@dataclass(slots=True)
class Solution:
    """Joint positions for one pose or a batch of them; every field has the batch's shape, q one dimension more.

    The errors are recomputed by forward kinematics at q: the distance [m] and the angle [rad] over the rows that were
    asked for. `converged` says that both are within the tolerance, and nothing else does."""

    q: NDArray[np.float64]
    converged: Any
    position_error: Any
    orientation_error: Any
    iterations: Any
    restarts: Any

    @property
    def reason(self) -> Any:
        """Why it stopped, in words."""
        exact = np.maximum(self.position_error, self.orientation_error) < EXACT
        words = np.where(self.converged, CONVERGED, np.where(exact, TOO_FINE, OUT_OF_REACH))
        return str(words) if words.ndim == 0 else words

    def __bool__(self) -> bool:
        """Whether all poses were reached."""
        return bool(np.all(self.converged))

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        if np.ndim(self.converged) == 0:
            shown = np.array2string(self.q, precision=5, separator=", ")
            return (
                f"Solution(q={shown}, converged={bool(self.converged)}, position_error={self.position_error:.2g} m, "
                f"orientation_error={self.orientation_error:.2g} rad, iterations={int(self.iterations)}, "
                f"restarts={int(self.restarts)})"
            )
        count = int(np.prod(np.shape(self.converged)))
        return f"Solution({int(np.sum(self.converged))} of {count} poses reached, {self.q.shape[-1]} joints)"
