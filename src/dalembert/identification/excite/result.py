"""`Excitation`: a motion that was optimized for identification, with the certificate that it keeps to its limits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError
from dalembert.files import whole_table
from dalembert.identification.excite.limits import KINDS, HalfSpace, MotionLimits
from dalembert.robot import Robot
from dalembert.trajectories.limits import positive
from dalembert.trajectories.sines import Sines

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Certificate:
    """The limits, recomputed on a grid of `points` over one period, ten times finer than the one that was optimized on.

    position, velocity, acceleration, torque (n,): the largest share of each joint's range that is used, 0 where there
    is no limit; `clearance` [m]: how far each half space is kept away from. `feasible`: all shares ≤ 1 − margin, all
    clearances ≥ 0."""

    feasible: bool
    margin: float
    points: int
    position: Array
    velocity: Array
    acceleration: Array
    torque: Array
    spaces: tuple[HalfSpace, ...]
    clearance: Array

    def text(self, joints: tuple[str, ...]) -> str:
        """The certificate as a table."""
        width = max((len(j) for j in joints), default=5)
        lines = [f"{'joint':{width}}  " + "  ".join(f"{kind:>12}" for kind in KINDS)]
        for k, joint in enumerate(joints):
            shares = (float(getattr(self, kind)[k]) for kind in KINDS)
            lines.append(f"{joint:{width}}  " + "  ".join(f"{100 * x:10.1f} %" for x in shares))
        lines += [f"{space}: {1e3 * x:.1f} mm away" for space, x in zip(self.spaces, self.clearance, strict=True)]
        held = "all limits hold" if self.feasible else "LIMITS DO NOT HOLD"
        lines.append(f"{held} at {self.points} points of the period, {100 * self.margin:g} % kept free")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Excitation:
    """A periodic motion and what it is good for.

    `motion`: the trajectory, to follow or to sample; `condition`: the condition number of the base regressor with
    columns of equal length and rows weighted by `weights`; `log_det`: log det of its YᵀY per sample, columns as they
    are; `names` of the base columns. `random_condition`: that of the best motion the search started from. `message`:
    why it stopped."""

    robot: Robot
    motion: Sines
    limits: MotionLimits
    certificate: Certificate
    criterion: str
    condition: float
    log_det: float
    random_condition: float
    names: tuple[str, ...]
    weights: Array
    duration: float
    starts: int
    evaluations: int
    seconds: float
    message: str

    @property
    def period(self) -> float:
        assert self.motion.period is not None
        return self.motion.period

    def table(self, rate: float) -> dict[str, Array]:
        """t (N,), q, qd, qdd and tau (N, n) at a rate [Hz] from 0 to the duration, both included. tau is the model's,
        with its friction: what the drives are expected to do."""
        f = positive("rate", rate, "Hz")
        steps = round(self.duration * f)
        if steps < 1 or abs(steps - self.duration * f) > 1e-6 * steps:
            raise InputError(
                f"a duration of {self.duration:g} s is no whole number of steps at {f:g} Hz; take another rate"
            )
        t = np.arange(steps + 1) / f
        q, qd, qdd = self.motion(t)
        return {"t": t, "q": q, "qd": qd, "qdd": qdd, "tau": self.robot.inverse_dynamics(q, qd, qdd, friction=True)}

    def to_csv(self, path: str | os.PathLike[str], rate: float) -> Path:
        """The table as a file that a controller can play: a header, then t, q_…, qd_…, qdd_…, tau_… per row, SI units.
        Written whole or not at all."""
        rows = self.table(rate)
        head = ["t"] + [f"{kind}_{joint}" for kind in ("q", "qd", "qdd", "tau") for joint in self.robot.joint_names]
        return whole_table(path, head, np.column_stack(list(rows.values())).tolist())

    @styled
    def plot(self) -> Any:
        """A matplotlib figure over one period: positions, rates, accelerations and torques, each as a share of its
        limit where there is one, with the margin drawn."""
        plt = pyplot()
        t = np.linspace(0.0, self.period, 1000)
        q, qd, qdd = self.motion(t)
        tau = self.robot.inverse_dynamics(q, qd, qdd, friction=True)
        figure, panels = plt.subplots(4, 1, figsize=(8, 9), sharex=True, layout="constrained")
        for panel, kind, x in zip(panels, KINDS, (q, qd, qdd, tau), strict=True):
            lower, upper = self.limits.lower[kind], self.limits.upper[kind]
            shown = np.isfinite(upper - lower)
            middle = 0.5 * (np.where(shown, lower, 0.0) + np.where(shown, upper, 0.0))
            y = np.where(shown, (x - middle) / self.limits.scale(kind), x)
            for k, joint in enumerate(self.robot.joint_names):
                panel.plot(t, y[:, k], label=joint, linewidth=1.3)
            if shown.all():
                edge = 1.0 - self.certificate.margin
                for level in (-edge, edge):
                    panel.axhline(level, color="0.4", linestyle=":", linewidth=1.0)
            panel.set_ylabel(f"{kind}\n[share of limit]" if shown.all() else f"{kind}\n[SI]")
        panels[-1].set_xlabel("t [s]")
        panels[-1].set_xlim(0.0, self.period)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
        figure.suptitle(f"{self.robot.name}: condition number {self.condition:.3g}")
        return figure

    def __repr__(self) -> str:
        held = "feasible" if self.certificate.feasible else "NOT feasible"
        return f"<Excitation of {self.robot.name!r}: {self.period:g} s, condition {self.condition:.4g}, {held}>"
