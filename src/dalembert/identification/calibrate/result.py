"""`Calibration`: corrected geometry with its certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.robot import Robot

Array = NDArray[np.float64]
Errors = tuple[Array, Array]  # distances [m] and angles [rad]; empty where no angle was measured


@dataclass(frozen=True, eq=False)
class Fit:
    """Where a fit ended: the numbers, residuals by sigma and their derivative, whether it converged, why it stopped."""

    x: Any
    r: Array
    J: Array
    converged: bool
    iterations: int
    slope: float
    message: str


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a calibration found: measured ≈ base · robot.fk(q) · tool.

    `robot`: corrected; `names`, `values` [m, rad] and `covariance` of the corrections, in the axes of each joint's
    frame, at its origin; `unidentifiable`: the others, left at zero, each with the reason. `base` (4, 4): the robot's
    base in the measuring system; `tools`: each measurement's target in its frame; `targets`: anchors and touched
    points found. `before`: errors of the arm as described, mounted where it fits best; `after`; and the same for
    states held out. `noise_ratio`: the residual by what sigma promises, 1 if the model and sigma are right.
    `condition`: of the Jacobian, columns of equal length. `slope`: the largest cosine between residual and a column, 0
    at the minimum."""

    robot: Robot
    nominal: Robot
    names: tuple[str, ...]
    values: Array
    covariance: Array
    unidentifiable: dict[str, str]
    base: Array
    tools: tuple[Array, ...]
    targets: tuple[Array, ...]
    before: Errors
    after: Errors
    held_out_before: Errors | None
    held_out_after: Errors | None
    noise_ratio: float
    condition: float
    converged: bool
    iterations: int
    slope: float
    message: str

    @property
    def tool(self) -> Array:
        """The target in its frame, of the first measurement."""
        return self.tools[0]

    @property
    def sigma(self) -> Array:
        """Standard deviations of the values [m, rad]."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def corrections(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    def table(self) -> str:
        """Corrections with standard deviations, in mm and mrad, and what was left out."""
        width = max((len(name) for name in (*self.names, *self.unidentifiable)), default=4)
        prismatic = {b.joint_name for b in self.nominal.model.bodies if not b.joint.turns}
        lines = []
        for name, x, s in zip(self.names, self.values, self.sigma, strict=True):
            where, _, what = name.rpartition(":")
            turn = what.startswith("r") or (what == "offset" and where not in prismatic)
            lines.append(f"{name:{width}}  {1e3 * x:10.4f} ± {1e3 * s:.4f} {'mrad' if turn else 'mm'}")
        lines += [f"{name:{width}}  {why}" for name, why in self.unidentifiable.items()]
        return "\n".join(lines)

    def summary(self) -> str:
        """In sentences: errors before and after, fitted and held out."""
        lines = [f"{len(self.names)} corrections identified, {len(self.unidentifiable)} left at zero; {self.message}."]
        rows = (("fitted", self.before, self.after), ("held out", self.held_out_before, self.held_out_after))
        for word, before, after in rows:
            if before is None or after is None:
                continue
            text = f"{word} ({len(after[0])} states): {_words(before[0], 1e3, 'mm')} → {_words(after[0], 1e3, 'mm')}"
            if len(after[1]):
                text += f"; {_words(before[1], 1e3, 'mrad')} → {_words(after[1], 1e3, 'mrad')}"
            lines.append(text)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Calibration of {self.nominal.name!r}: {self.summary().splitlines()[-1]}>"


def rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else 0.0


def _words(x: Array, factor: float, unit: str) -> str:
    return f"{factor * rms(x):.4g} {unit} rms ({factor * float(x.max(initial=0.0)):.4g} {unit} at most)"
