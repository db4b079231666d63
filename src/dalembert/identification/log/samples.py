"""What identification works on: a log as it was read, and the samples that were prepared from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import plain_array
from dalembert.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Log:
    """A recorded motion on the joints' side: times t (N,) [s], increasing; positions q (N, n) [rad, m]; torques tau
    (N, n) [N m, N] as the drives applied them; rates qd (N, n) if they were recorded. `joints` are the robot's
    joints in the order of the columns, `source` where it came from, `notes` what was done to it while reading, in
    sentences."""

    t: Array
    q: Array
    tau: Array
    joints: tuple[str, ...]
    qd: Array | None = None
    source: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        _settle(self, ("t", "q", "tau") if self.qd is None else ("t", "q", "tau", "qd"))

    @property
    def n(self) -> int:
        return int(self.q.shape[-1])

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, eq=False)
class Samples:
    """Filtered and differentiated: t (N,), q, qd, qdd, tau (N, n) each, at equal steps `dt`.

    `cutoff` [Hz] of the zero-phase filter that q and tau both went through (inf: none): residuals above it are noise
    that was taken away from both sides. `rest` [rad/s, m/s] per joint (n,): rates below it cannot be told from
    standing still, so that the direction of friction is unknown there. `quiet` (n,): the noise of the torques [N m]."""

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    joints: tuple[str, ...]
    dt: float
    cutoff: float
    rest: Array
    quiet: Array
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        _settle(self, ("t", "q", "qd", "qdd", "tau", "rest", "quiet"))

    @property
    def n(self) -> int:
        return int(self.q.shape[-1])

    def __len__(self) -> int:
        return len(self.t)

    def part(self, rows: slice | NDArray[np.int64] | NDArray[np.bool_]) -> Samples:
        """Some of the samples."""
        return Samples(
            self.t[rows],
            self.q[rows],
            self.qd[rows],
            self.qdd[rows],
            self.tau[rows],
            self.joints,
            self.dt,
            self.cutoff,
            self.rest,
            self.quiet,
            self.notes,
        )


def _settle(data: Log | Samples, names: tuple[str, ...]) -> None:
    """Every column as an array of floats, of as many times as t and as many joints as are named."""
    kind, joints = type(data).__name__, data.joints
    if not isinstance(joints, (tuple, list)) or not all(isinstance(name, str) for name in joints):
        raise InputError(f"joints of {kind} is {joints!r:.80}; give the names of the joints, one per column")
    object.__setattr__(data, "joints", tuple(joints))
    for name in names:
        value = plain_array(getattr(data, name), f"{name} of {kind}")
        if value.dtype.kind not in "fiu":
            raise InputError(f"{name} of {kind} must be real numbers, got dtype {value.dtype}")
        object.__setattr__(data, name, value.astype(float, copy=False))
        wanted = (len(joints),) if name in ("rest", "quiet") else () if name == "t" else (len(data.t), len(joints))
        if value.shape != wanted if wanted else value.ndim != 1:
            raise InputError(f"{name} of {kind} has shape {value.shape}; it must be {wanted or '(N,)'}")


def runs_of(data: Samples | Sequence[Samples], n: int, what: str = "samples") -> tuple[Samples, ...]:
    """One run or several as a tuple, each with n joints, whole and finite."""
    runs = tuple(data) if isinstance(data, (list, tuple)) else (data,)
    if not runs:
        raise InputError(f"there are no {what}")
    for run in runs:
        if not isinstance(run, Samples):
            raise InputError(f"{what} must be Samples or a list of them (see `prepare`), got {type(run).__name__}")
        for name in ("q", "qd", "qdd", "tau"):
            values = getattr(run, name)
            if values.shape != (len(run.t), n):
                raise InputError(f"{name} of the {what} has shape {values.shape}, the robot wants {(len(run.t), n)}")
            if not np.isfinite(values).all():
                raise InputError(f"{name} of the {what} has numbers that are not finite")
        if not len(run):
            raise InputError(f"there are no {what}")
    return runs
