"""What inverse kinematics returns: joint positions with their certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.display import Displayed
from dalembert.errors import InputError

CONVERGED = "converged"
EXACT = 1e-11  # [m, rad] what rounding leaves
TOO_FINE = "reached as nearly as rounding allows, but the tolerance is finer"
NOT_CLEAR = "reached, but by no solution found with the clearance that is wanted; this is the clearest"
OUT_OF_REACH = (
    "no start reached the target: it is out of reach, or behind the joint limits; this is the nearest point found"
)


@dataclass(slots=True)
class Solution(Displayed):
    """Joint positions for one pose or a batch of them; every field has the batch's shape, q one dimension more.

    The errors are recomputed by forward kinematics at q: the distance [m] and the angle [rad] over the rows that were
    asked for. `converged` says that both are within the tolerance and, where a world was to be avoided, that the
    `clearance` [m], which is NaN for a target that is not reached, is as wanted; nothing else does."""

    q: NDArray[np.float64]
    converged: Any
    position_error: Any
    orientation_error: Any
    iterations: Any
    restarts: Any
    clearance: Any = None

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Whether each pose is reached: `converged`."""
        return np.asarray(self.converged)

    @property
    def reason(self) -> Any:
        """Why it stopped, in words."""
        exact = np.maximum(self.position_error, self.orientation_error) < EXACT
        words = np.where(self.converged, CONVERGED, np.where(exact, TOO_FINE, OUT_OF_REACH))
        if self.clearance is not None:
            words = np.where(np.logical_or(self.converged, np.isnan(self.clearance)), words, NOT_CLEAR)
        return str(words) if words.ndim == 0 else words

    def __bool__(self) -> bool:
        """Whether all poses were reached."""
        return bool(np.all(self.converged))

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        if np.ndim(self.converged) == 0:
            shown = np.array2string(self.q, precision=5, separator=", ")
            clear = "" if self.clearance is None else f", clearance={self.clearance:.3g} m"
            return (
                f"Solution(q={shown}, converged={bool(self.converged)}, position_error={self.position_error:.2g} m, "
                f"orientation_error={self.orientation_error:.2g} rad, iterations={int(self.iterations)}, "
                f"restarts={int(self.restarts)}{clear})"
            )
        count = int(np.prod(np.shape(self.converged)))
        return f"Solution({int(np.sum(self.converged))} of {count} poses reached, {self.q.shape[-1]} joints)"


# Every branch, of closed forms.

FOUND, MISSED, OUTSIDE, REPEATED = range(4)
HUGE = 1e100  # no sum of a pose's entries: beyond it a target counts as not finite


class Solutions(Displayed):
    """Every solution of every pose, by branch. k branches, n joints, any leading dimensions.

    q: (..., k, n) joint positions; NaN in a branch without a solution
    residual: (..., k) distance of its pose from the target, recomputed from q: the larger of meters and radians
    family: the kind of chain, in words;  task: "pose", or "position" for arms that cannot do more
    """

    def __init__(
        self, q: Array, residual: Array, verdict: Array, free: Array, extent: Array, family: str, task: str
    ) -> None:
        self.q, self.residual, self.family, self.task = q, residual, family, task
        self._kernel = verdict, free, extent  # as the kernel gives them; what follows of them is made when asked for

    @cached_property
    def verdict(self) -> NDArray[np.int8]:
        """0 found, 1 does not reach the target, 2 reaches it outside the joint limits, 3 repeats another.  (..., k)."""
        return self._kernel[0].astype(np.int8)

    @cached_property
    def found(self) -> NDArray[np.bool_]:
        """Whether the branch has a solution.  (..., k)."""
        return np.asarray(self._kernel[0] == FOUND)

    @cached_property
    def singular(self) -> NDArray[np.bool_]:
        """Whether an angle of the solution is free, so that it stands for infinitely many.  (..., k)."""
        return (self._kernel[1] > 0) & self.found

    @cached_property
    def finite(self) -> NDArray[np.bool_]:
        """False for a target that is not a number.  (...)."""
        return np.asarray(self._kernel[2] < HUGE)

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """Number of solutions of each pose.  (...)."""
        return np.asarray(self.found.sum(axis=-1))

    def of(self, *index: int) -> Array:
        """The solutions of one pose of the batch (of the only one, without an index), one per row.  (count, n)."""
        found = self.found[index]
        if found.ndim != 1:
            raise InputError(f"these are the solutions of {self.count.shape} poses: say of which one, of(i, …)")
        return np.asarray(self.q[index][found])

    def why(self, *index: int) -> str:
        """What happened to one pose, in a sentence."""
        verdict = self.verdict[index]
        if verdict.ndim != 1:
            raise InputError(f"these are the solutions of {self.count.shape} poses: say of which one, why(i, …)")
        found, missed, outside = (int((verdict == v).sum()) for v in (FOUND, MISSED, OUTSIDE))
        if not self.finite[index]:
            return "no solution: the target is not finite"
        if found:
            told = f"{found} solution{'s' if found > 1 else ''} of {len(verdict)} branches"
            told += f", {outside} more outside the joint limits" if outside else ""
            free = int(self.singular[index].sum())
            return told + (f"; singular: {free} of them stand for infinitely many" if free else "")
        if outside:
            return f"no solution: the target is reached in {outside} branches, all outside the joint limits"
        return f"no solution: the target is out of reach in all {missed} branches"

    def __repr__(self) -> str:
        poses = f"{self.count.size} poses" if self.count.ndim else "one pose"
        return f"<Solutions {self.family}: {int(self.found.sum())} of {poses}>"
