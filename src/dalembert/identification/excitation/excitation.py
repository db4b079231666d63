"""What `excite` gives: the motion, what it is good for, what was checked and what was not; tables to play."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dalembert.arguments import Array, number
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError
from dalembert.files import whole_table
from dalembert.identification.excitation.avoid import lowest_along
from dalembert.identification.excitation.limits import KINDS, ExcitationLimits, HalfSpace
from dalembert.robot import Robot
from dalembert.trajectories.harmonics import Sines
from dalembert.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLD = 1e-3  # [m] below the base plane: bounds of frames that move level come so deep
NOT_CHECKED = (
    "not checked: collisions of the arm with itself, with its tool, with cables and with anything around it; "
    "only the origins of frames are kept within half spaces, and links are thick: play it slowly first, a hand on the "
    "emergency stop"
)


AROUND = (
    "not checked: collisions with its tool, with cables and with anything around it that was not named: play it slowly "
    "first, a hand on the emergency stop"
)


@dataclass(frozen=True, eq=False)
class LimitCertificate:
    """The limits, recomputed on a grid of `points` over one period, ten times finer than the one that was optimized on.

    position, velocity, acceleration, torque (n,): the largest share of each joint's range that is used, 0 where there
    is no limit; `peaks`: the largest magnitude of each kind (n,), and of jerk. `clearance` [m]: how far each half space
    is kept away from. `frames` that move, the `lowest` height [m] of each above the base frame's origin, against
    gravity, and its `room`: the least clearance of its half spaces, infinite if it has none. All are bounds that hold
    at all times, but for torques, which are looked at on the grid.

    `top` [Hz]: the highest harmonic; `mode`: the lowest elastic mode along the motion, infinite for stiff joints;
    `content` (n,): the share (RMS) of each torque's variation that is faster than the drives' bandwidth or that mode.

    `feasible`: all shares ≤ 1 − margin, all clearances ≥ 0, no harmonic beyond the bandwidth or half the mode."""

    feasible: bool
    margin: float
    points: int
    position: Array
    velocity: Array
    acceleration: Array
    torque: Array
    peaks: dict[str, Array]
    spaces: tuple[HalfSpace, ...]
    floor: bool  # whether one of them is
    clearance: Array
    frames: tuple[str, ...]
    lowest: Array
    room: Array
    top: float
    mode: float
    content: Array
    contacts: tuple[str, ...] = ()  # what is known of them; nothing where they were not looked at

    @property
    def below(self) -> dict[str, float]:
        """Frames that pass below the base plane, lowest first, and how deep [m]; a millimeter is not told."""
        order = np.argsort(self.lowest, kind="stable")
        return {self.frames[k]: -float(self.lowest[k]) for k in order if self.lowest[k] < -TOLD}

    def cells(self, joint: int, units: tuple[str, ...]) -> list[str]:
        """A joint's row of the table: shares of limits, magnitudes where there is none."""
        found = []
        for kind, power in zip((*KINDS, "jerk"), ("", "/s", "/s²", None, "/s³"), strict=True):
            share = float(getattr(self, kind)[joint]) if kind in KINDS else 0.0
            unit = units[joint] + power if power is not None else {"rad": "N m", "m": "N"}[units[joint]]
            found.append(f"{share:.1%}" if share > 0.0 else f"{float(self.peaks[kind][joint]):.3g} {unit}")
        return found

    def sentences(self, floor: str = "floor=0") -> Iterator[str]:
        """What holds, what is near, what was not checked. `floor`: how the reader asks for one."""
        held = "all limits hold that were given" if self.feasible else "LIMITS DO NOT HOLD"
        yield (
            f"{held}, {self.margin:.0%} kept free: positions, rates, accelerations and frames at all times, torques at "
            f"{self.points} points of the period"
        )
        deep = self.below
        if deep:
            (first, depth), others = next(iter(deep.items())), len(deep) - 1
            more = f", and {others} other frame{'s' * (others > 1)} too" if others else ""
            asked = "" if self.floor else f": if the arm stands on a table or on the floor, ask for {floor}"
            yield f"WARNING: {first} comes {depth:.3g} m below the base plane{more}{asked}"
        if math.isfinite(self.mode):
            yield f"highest harmonic {self.top:.3g} Hz; lowest elastic mode along the motion {self.mode:.3g} Hz"
        if self.content.any():
            yield f"up to {self.content.max():.1%} of a joint's torque is faster than the drives or the elastic mode"
        yield from self.contacts
        yield AROUND if self.contacts else NOT_CHECKED

    def text(self, joints: tuple[str, ...], units: tuple[str, ...] | None = None) -> str:
        """The certificate as tables and sentences; `units` of the joints' positions are rad if they are not given."""
        known = units or ("rad",) * len(joints)
        rows = [["joint", *KINDS, "jerk"], *([joint, *self.cells(k, known)] for k, joint in enumerate(joints))]
        lines = _align(rows)
        if self.frames:
            heights = zip(self.frames, self.lowest, self.room, strict=True)
            lines += _align([["frame", "lowest", "clearance"], *([f, _meters(x), _meters(y)] for f, x, y in heights)])
        return "\n".join([*lines, *map(str, self.spaces), *self.sentences()])


def _meters(x: float) -> str:
    return f"{x:.4f} m" if math.isfinite(x) else "–"


def _align(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        f"{row[0]:{widths[0]}}" + "".join(f"  {x:>{w}}" for x, w in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]


@dataclass(frozen=True, eq=False)
class Excitation:
    """A periodic motion and what it is good for.

    `motion`: the trajectory, to follow or to sample; `condition`: the condition number of the base regressor with
    columns of equal length and rows weighted by `weights`; `log_det`: log det of its YᵀY per sample, columns as they
    are; `names` of the base columns. `random_condition`: that of the best motion the search started from. `message`:
    why it stopped. `way`: from rest at the start that was given to rest where the motion begins."""

    robot: Robot
    motion: Sines
    limits: ExcitationLimits
    certificate: LimitCertificate
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
    way: Trajectory | None = None

    @property
    def period(self) -> float:
        assert self.motion.period is not None
        return self.motion.period

    @property
    def begin(self) -> Array:
        """Where the motion begins and ends (n,)."""
        return self.motion(0.0)[0]

    @property
    def at_rest(self) -> bool:
        """Whether it begins and ends at rest, so that a controller can play it."""
        return bool((np.abs(self.motion(0.0)[1]) <= 1e-9 * self.certificate.peaks["velocity"]).all())

    def sentences(self, floor: str = "floor=0", start: str = "start=") -> Iterator[str]:
        """What must be known before it is played; `floor` and `start` are how the reader asks for them."""
        where = ", ".join(f"{x:.4g}" for x in self.begin)
        if not self.at_rest:
            yield f"WARNING: it begins at speed, at q = ({where}): a controller that starts from rest cannot play it"
        elif self.way is None:
            yield f"it begins and ends at rest at q = ({where}): bring the arm there first, or give {start}"
        else:
            yield f"the way from the start to q = ({where}) takes {self.way.duration:.3g} s, and so does that back"
            depth = -lowest_along(self.limits, self.way)
            if depth > max(TOLD, *self.certificate.below.values(), 0.0):
                yield f"WARNING: on the way a frame comes {depth:.3g} m below the base plane: ask for {floor}"
        yield from self.certificate.sentences(floor)

    def table(self, rate: float) -> dict[str, Array]:
        """t (N,), q, qd, qdd and tau (N, n) at a rate [Hz] from 0 to the duration, both included; with a start, the
        `way` to the motion comes first, and back last. tau is the model's, with its friction: what the drives are
        expected to do."""
        f = number("rate", rate, "Hz", above=0)
        steps = round(self.duration * f)
        if steps < 1 or abs(steps - self.duration * f) > 1e-6 * steps:
            raise InputError(
                "conflict",
                "rate",
                problem=f"a duration of {self.duration:g} s is not a whole number of steps at {f:g} Hz",
                remedy="Use another rate.",
            )
        rows = np.array(self.motion(np.arange(steps + 1) / f))
        if self.way is not None:
            count = math.ceil(self.way.duration * f)
            slower = self.way.duration * f / count  # whole steps
            there = np.array(self.way(np.arange(count) * slower / f))
            there *= slower ** np.arange(3.0)[:, None, None]
            back = there[:, ::-1] * np.array([1.0, -1.0, 1.0])[:, None, None]
            rows = np.concatenate([there, rows, back], axis=1)
        q, qd, qdd = rows
        t = np.arange(len(q)) / f
        return {"t": t, "q": q, "qd": qd, "qdd": qdd, "tau": self.robot.inverse_dynamics(q, qd, qdd, friction=True)}

    @property
    def ok(self) -> bool:
        """Whether the motion keeps all limits."""
        return self.certificate.feasible

    def save(self, path: str | os.PathLike[str], rate: float = 100.0) -> Path:
        """Write the motion at `rate` [Hz] to a .csv file, as `to_csv` does. `dalembert.read_log` reads it."""
        return self.to_csv(path, rate)

    def to_csv(self, path: str | os.PathLike[str], rate: float) -> Path:
        """The table as a file that a controller can play: a header, then t, q_…, qd_…, qdd_…, tau_… per row, SI units.
        Written whole or not at all."""
        rows = self.table(rate)
        head = ["t"] + [f"{kind}_{joint}" for kind in ("q", "qd", "qdd", "tau") for joint in self.robot.joint_names]
        return whole_table(path, head, np.column_stack(list(rows.values())).tolist())

    @styled
    def plot(self) -> Figure:
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
