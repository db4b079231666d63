"""The times of a log: their unit, order, gaps and jitter; resampling to even steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.identification.log.table import Table
from dalembert.identification.log.units import UNITS

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# Steps that logs of arms have: 5 Hz to 20 kHz [s].
STEPS = (5e-5, 0.2)
# Steps beyond these are those of no log of a robot [s]; what is computed with them would overflow.
SANE = (1e-9, 1e6)
# A step this much longer than the common one has lost more samples than a curve can be trusted to fill.
GAP = 4.5
# Jitter below this part of a step moves a sample by less than its own noise.
EVEN = 0.01
# Beyond this part of a step the times are not those of one clock.
WILD = 0.45
SHOWN = 5


def guessed_unit(t: Array) -> tuple[str, str | None]:
    """The unit of times, from their size and step, and a note if it is not seconds."""
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    start = abs(float(t[0]))
    since_1970 = {"s": (1e8, 1e10), "ms": (1e11, 1e13), "us": (1e14, 1e16), "ns": (1e17, 1e19)}
    for unit, (low, high) in since_1970.items():
        if low <= start < high and STEPS[0] <= step * UNITS["t"][unit] <= STEPS[1]:
            return unit, f"times are {unit} since 1970, by their size"
    for unit in ("s", "ms", "ns", "us"):
        if STEPS[0] <= step * UNITS["t"][unit] <= STEPS[1]:
            rate = 1 / (step * UNITS["t"][unit])
            return unit, None if unit == "s" else f"times taken as {unit}, since their step is then {rate:.4g} Hz"
    return "s", None


def ordered(table: Table, t: Array, rows: Integers, notes: list[str]) -> Integers:
    """The rows that have a time of their own; refused if time runs backwards or stands still."""
    steps = np.diff(t[rows])
    if not len(steps) or not (steps > 0).any():
        raise InputError(f"{table.source}: the times do not increase: {t[rows][0]:g} … {t[rows][-1]:g}")
    back = np.flatnonzero(steps < 0)
    if len(back):
        k = int(rows[back[0] + 1])
        where = table.place(k)
        raise InputError(
            f"{where}: time runs backwards, from {t[rows[back[0]]]:g} to {t[k]:g} s"
            f"{f' ({len(back)} times in all)' if len(back) > 1 else ''}; if these are several runs, give them one "
            "by one"
        )
    same = np.flatnonzero(steps == 0)
    if not len(same):
        return rows
    if len(same) > 0.05 * len(rows):
        raise InputError(
            f"{table.place(int(rows[same[0] + 1]))}: {len(same)} of {len(rows)} rows have the same time as the "
            "row before: the clock "
            "is too coarse; give rate=… [Hz] and columns={'t': None} if the samples are even"
        )
    notes.append(
        f"{len(same)} rows have the same time as the row before, and are left out: {_places(table, rows[same + 1])}"
    )
    return np.delete(rows, same + 1)


def _places(table: Table, rows: Sequence[int] | Integers) -> str:
    kind = "line" if table.lines is not None else "row"
    numbers = [int(table.lines[k]) if table.lines is not None else int(k) for k in rows[:SHOWN]]
    return f"{kind}{'s' if len(rows) > 1 else ''} {', '.join(map(str, numbers))}{', …' if len(rows) > SHOWN else ''}"


def common_step(t: Array, source: str = "") -> float:
    """The step of the clock: whole numbers of it lie between samples; gaps do not count."""
    steps = np.diff(t)
    middle = float(np.median(steps))
    if not SANE[0] <= middle <= SANE[1]:
        raise InputError(
            f"{source or 'the log'}: the times have steps of {middle:.3g} s, which no log of a robot has: say their "
            "unit, units={'t': …}, or give rate=… [Hz] and columns={'t': None}"
        )
    counts = np.maximum(np.round(steps / middle), 1)
    near = counts < GAP
    return float(steps[near].sum() / counts[near].sum())


def pieces(t: Array, step: float) -> list[slice]:
    """The stretches without a gap."""
    cuts = np.flatnonzero(np.diff(t) > GAP * step) + 1
    edges = [0, *cuts.tolist(), len(t)]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def even(
    table: Table, t: Array, columns: Sequence[Array], gaps: str, resample: str, notes: list[str]
) -> tuple[Array, list[Array]]:
    """Times at even steps in each piece between gaps, and the columns (N, k) there.

    A clock that jitters by more than a hundredth of its step is smoothed: if the motion is the smoother for it, the
    times are taken for badly written and the samples for even; else the samples are interpolated by cubics."""
    step = common_step(t, table.source)
    parts = pieces(t, step)
    if len(parts) > 1:
        holes = [(float(t[p.stop - 1]), float(t[q.start] - t[p.stop - 1])) for p, q in itertools.pairwise(parts)]
        shown = ", ".join(f"{length:.3g} s at t = {at:.6g} s" for at, length in holes[:SHOWN])
        shown += ", …" if len(holes) > SHOWN else ""
        what = f"{len(holes)} gap{'s' if len(holes) > 1 else ''} in the times: {shown}"
        if gaps == "refuse":
            raise InputError(f"{table.source}: {what}; gaps='cut' reads the pieces between them")
        notes.append(f"{what}; the {len(parts)} pieces are kept apart")
    grids = [np.arange(round((t[p.stop - 1] - t[p.start]) / step) + 1) * step + t[p.start] for p in parts]
    whole = [len(grid) == p.stop - p.start for grid, p in zip(grids, parts, strict=True)]
    jitter = max(
        (float(np.abs(t[p] - grid).max()) / step for p, grid, w in zip(parts, grids, whole, strict=True) if w),
        default=0.0,
    )
    spread = float(np.abs(np.diff(t)[np.diff(t) < 1.5 * step] - step).max()) / step
    missing = sum(len(g) - (p.stop - p.start) for p, g in zip(parts, grids, strict=True))
    if all(whole) and spread <= EVEN and jitter <= 1.0:  # a slow drift of the clock is none of a sample's business
        return t, list(columns)
    if resample == "refuse":
        raise InputError(
            f"{table.source}: the samples are uneven: steps {np.diff(t).min():.3g} … "
            f"{np.diff(t)[np.diff(t) < GAP * step].max():.3g} s"
        )
    if missing < 0 or missing > 0.3 * len(t) or (spread > WILD and resample != "force"):
        raise InputError(
            f"{table.source}: the times are too uneven to be those of one clock (steps {np.diff(t).min():.3g} … "
            f"{np.diff(t).max():.3g} s, commonly {step:.3g} s): give rate=… [Hz] if the samples are even, or "
            "resample='force'"
        )
    even_is_smoother = all(whole) and _roughness(columns[0], None) < 0.7 * _roughness(columns[0], t)
    if even_is_smoother:
        notes.append(
            f"the times jitter by {100 * spread:.2g} % of a step, but the positions are smoother at even steps: "
            f"taken at {1 / step:.6g} Hz"
        )
        return np.concatenate(grids), list(columns)
    filled = f", {missing} missing samples filled in" if missing else ""
    notes.append(
        f"uneven steps ({100 * spread:.2g} % of {step:.4g} s): resampled at {1 / step:.6g} Hz by cubics{filled}"
    )
    return np.concatenate(grids), [
        np.concatenate([cubic(t[p], x[p], grid) for p, grid in zip(parts, grids, strict=True)]) for x in columns
    ]


def _roughness(x: Array, t: Array | None) -> float:
    """How far samples lie from the cubic through their four neighbors, in all columns, each by its own spread."""
    if len(x) < 5:
        return 0.0
    k = np.arange(len(x), dtype=float) if t is None else t
    offsets = np.stack([k[i : len(k) - 4 + i] - k[2 : len(k) - 2] for i in (0, 1, 3, 4)])
    predicted = sum(
        (_lagrange(offsets, i)[:, None] * x[j : len(x) - 4 + j] for i, j in enumerate((0, 1, 3, 4))), np.zeros((1, 1))
    )
    spread = np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1.0)
    return float(np.median(np.abs(x[2:-2] - predicted) / spread))


def _lagrange(nodes: Array, i: int, at: float | Array = 0.0) -> Array:
    """The i-th Lagrange polynomial over the nodes (4, N), at a place of each."""
    w = np.ones_like(nodes[0])
    for j in range(len(nodes)):
        if j != i:
            w = w * (at - nodes[j]) / (nodes[i] - nodes[j])
    return w


def cubic(t: Array, x: Array, at: Array) -> Array:
    """x (N, k), known at t, at other times: the cubic through the four nearest samples."""
    if len(t) < 4:
        return np.stack([np.interp(at, t, column) for column in x.T], axis=1)
    first = np.clip(np.searchsorted(t, at) - 2, 0, len(t) - 4)
    nodes = np.stack([t[first + i] for i in range(4)])
    return np.asarray(sum(_lagrange(nodes, i, at)[:, None] * x[first + i] for i in range(4)))
