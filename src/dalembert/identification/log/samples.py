"""What a log is on its way: a `Table` of named columns, a `Log` on the joints' side, `Samples` for a regressor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array, of_kind, plain_array
from dalembert.display import Displayed
from dalembert.errors import InputError

Integers = NDArray[np.int64]
# Larger than any position, rate, torque or current of an arm, in any unit (times are not looked at).
ABSURD = 1e9


@dataclass(frozen=True, eq=False)
class Table:
    """Columns (rows, columns) under their names ("0", "1", … if the file has none: `named` is False), before anyone
    knows what they mean; the file's line of each row if it has lines; what was noticed while reading, in sentences;
    units by column; the first text of columns that hold text (their values are NaN)."""

    names: tuple[str, ...]
    values: Array
    source: str
    named: bool = True
    lines: Integers | None = None
    notes: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def place(self, row: int, column: str | None = None) -> str:
        """Where a row stands, for people: "log.csv, line 57, column 'q3'"."""
        where = f"line {self.lines[row]}" if self.lines is not None else f"row {row} (from 0)"
        return f"{self.source}, {where}" + (f", column {column!r}" if column is not None else "")


class _Motion:
    """Times and positions, of so many joints."""

    t: Array
    q: Array

    @property
    def n(self) -> int:
        return int(self.q.shape[-1])

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True, eq=False)
class Log(_Motion, Displayed):
    """A recorded motion on the joints' side: times t (N,) [s], increasing; positions q (N, n) [rad, m]; torques tau
    (N, n) [N m, N] as the drives applied them; rates qd (N, n) if they were recorded. `joints` are the robot's
    joints in the order of the columns, `source` where it came from, `notes` what was done to it while reading, in
    sentences. `filled` (N,): rows whose torques were lost or stale, and are interpolated."""

    t: Array
    q: Array
    tau: Array
    joints: tuple[str, ...]
    qd: Array | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    filled: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        _settle(self, ("t", "q", "tau") if self.qd is None else ("t", "q", "tau", "qd"))
        if self.filled is not None and np.shape(self.filled) != self.t.shape:  # rows were taken out since
            object.__setattr__(self, "filled", None)


@dataclass(frozen=True, eq=False)
class Samples(_Motion):
    """Filtered and differentiated: t (N,), q, qd, qdd, tau (N, n) each, at equal steps `dt`.

    `cutoff` [Hz] of the zero-phase filter that q and tau both went through (inf: none): residuals above it are noise
    that was taken away from both sides. `rest` [rad/s, m/s] per joint (n,): rates below it cannot be told from
    standing still, so that the direction of friction is unknown there. `quiet` (n,): the noise of the torques [N m].
    `direction` (N, n): the direction of dry friction, sgn q̇ at the log's full rate through the filter of the torques;
    by `find_direction` of qd and rest if it is not given. `raw` (N, n): the torques at these times as they were
    recorded, before the filter; tau if it is not given."""

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
    notes: tuple[str, ...] = ()
    direction: Array = None  # type: ignore[assignment]
    raw: Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        _settle(self, ("t", "q", "qd", "qdd", "tau", "rest", "quiet"))
        if self.direction is None:
            object.__setattr__(self, "direction", find_direction(self.qd, self.rest))
        if self.raw is None:
            object.__setattr__(self, "raw", self.tau)
        _settle(self, ("direction", "raw"))

    def part(self, rows: slice | Integers | NDArray[np.bool_]) -> Samples:
        """Some of the samples."""
        names = ("t", "q", "qd", "qdd", "tau", "direction", "raw")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def without_torques(self) -> Samples:
        """The same motion with zeros for torques."""
        return replace(self, tau=np.zeros_like(self.tau))


def _settle(data: Log | Samples, names: tuple[str, ...]) -> None:
    """Every column as an array of floats, of as many times as t and as many joints as are named."""
    kind, joints = type(data).__name__, data.joints
    if not isinstance(joints, (tuple, list)) or not all(isinstance(name, str) for name in joints):
        raise InputError(
            "wrong-shape",
            "joints",
            problem=f"joints of {kind} is {joints!r:.80}; give the names of the joints, one per column",
        )
    object.__setattr__(data, "joints", tuple(joints))
    for name in names:
        value = plain_array(getattr(data, name), f"{name} of {kind}")
        if value.dtype.kind not in "fiu":
            raise InputError(
                "wrong-type", name, problem=f"{name} of {kind} must be real numbers, got dtype {value.dtype}"
            )
        object.__setattr__(data, name, value.astype(float, copy=False))
        wanted = (len(joints),) if name in ("rest", "quiet") else () if name == "t" else (len(data.t), len(joints))
        if value.shape != wanted if wanted else value.ndim != 1:
            raise InputError(
                "wrong-shape", name, problem=f"{name} of {kind} has shape {value.shape}; it must be {wanted or '(N,)'}"
            )


def find_direction(qd: Array, rest: Array) -> Array:
    """sgn q̇ where the rate is known to be different from zero, in proportion below `rest`: there the direction of
    friction is unknown, and the sign of noise is none."""
    return np.where(np.abs(qd) >= rest, np.sign(qd), qd / np.where(rest > 0, rest, 1.0))


def list_runs(data: Samples | Sequence[Samples], n: int, what: str = "samples") -> tuple[Samples, ...]:
    """One run or several as a tuple, each with n joints, whole and finite."""
    runs = tuple(data) if isinstance(data, (list, tuple)) else (data,)
    for run in runs:
        of_kind(run, Samples, f"{what} must be Samples or a list of them (see `prepare`), got")
        for name in ("q", "qd", "qdd", "tau", "direction"):
            values = getattr(run, name)
            if values.shape != (len(run.t), n):
                raise InputError(
                    "wrong-shape",
                    name,
                    problem=f"{name} of the {what} has shape {values.shape}, the robot wants {(len(run.t), n)}",
                )
            if not np.isfinite(values).all():
                raise InputError("not-finite", name, problem=f"{name} of the {what} has numbers that are not finite")
    if not runs or not all(map(len, runs)):
        raise InputError("too-few", "samples", problem=f"there are no {what}")
    return runs
