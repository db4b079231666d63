"""The times of a log: their unit, order, gaps and jitter; resampling to even steps."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import number
from dalembert.errors import InputError
from dalembert.identification.log.samples import Integers, Table
from dalembert.identification.log.units import UNITS
from dalembert.words import call, say

Array = NDArray[np.float64]

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
SINCE_1970 = {"s": (1e8, 1e10), "ms": (1e11, 1e13), "us": (1e14, 1e16), "ns": (1e17, 1e19)}


def read_times(
    table: Table, places: tuple[int, ...], time: ArrayLike | None, rate: object, unit: str | None
) -> tuple[Array, list[str]]:
    """Times in seconds, of the user, of the log's columns at `places`, or by counting; and notes."""
    rows = len(table.values)
    if time is not None:
        t = np.asarray(time, float)
        if t.shape != (rows,):
            raise InputError(f"time has shape {t.shape}; {table.source} has {rows} rows")
        return t, []
    hertz = None if rate is None else number(call("rate"), rate, "Hz", above=0)
    if not places:
        return np.asarray(np.arange(rows) / (hertz or 1.0)), []
    t = table.values[:, places[0]]
    if len(places) == 2:
        return (t - t[0]) + 1e-9 * table.values[:, places[1]], []
    notes: list[str] = []
    if unit is None:
        finite = t[np.isfinite(t)]
        unit, notes = guess_unit(finite) if len(finite) else ("s", [])
    if np.isfinite(t[0]) and abs(t[0]) * UNITS["t"][unit] > 1e6:
        notes.append(f"times counted from the first, {t[0]:.0f} {unit}")
        t = t - t[0]
    t = t * UNITS["t"][unit]
    step = float(np.nanmedian(np.diff(t))) if rows > 1 else 0.0
    column = table.names[places[0]]
    if hertz is not None and abs(step * hertz - 1) > 0.01:
        raise InputError(
            f"{table.source}: {say('rate', hertz)} Hz, but the times of its column {column!r} have steps of "
            f"{step:.4g} s ({1 / step if step else float('inf'):.4g} Hz); {say('columns', {'t': None})} leaves them "
            "aside"
        )
    if hertz is not None:  # the samples are even, whatever the clock says; gaps and restarts stay
        steps = np.diff(t)
        even = ~(np.abs(steps) > GAP / hertz)
        if np.abs(steps[even] * hertz - 1).max(initial=0.0) > EVEN:
            notes.append(f"times of {column!r} taken at even steps of {1 / hertz:.6g} s, as {say('rate', hertz)} says")
            t = np.concatenate([[0.0], np.cumsum(np.where(even, 1 / hertz, steps))])
    return t, notes


def cut_window(t: Array, window: tuple[float | None, float | None] | None) -> tuple[Integers, list[str]]:
    """The rows between two times that are counted from the first, and a note of how many are left out."""
    rows = np.arange(len(t))
    if window is None:
        return rows, []
    since = t - t[np.isfinite(t)][:1].sum()
    low, high = (-np.inf if window[0] is None else window[0]), (np.inf if window[1] is None else window[1])
    inside = (since >= low) & (since <= high)
    shown = f"{call('window')} {max(low, 0.0):g} … {min(high, np.nanmax(since, initial=0.0)):.6g} s"
    return rows[inside], [f"{shown}: {int(inside.sum())} of {len(t)} rows"]


def guess_unit(t: Array) -> tuple[str, list[str]]:
    """The unit of times, from their size and step, and a note if it is not seconds."""
    step = float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    usual = [unit for unit in ("s", "ms", "ns", "us") if STEPS[0] <= step * UNITS["t"][unit] <= STEPS[1]]
    for unit, (low, high) in SINCE_1970.items():
        if unit in usual and low <= abs(float(t[0])) < high:
            return unit, [f"times are {unit} since 1970, by their size"]
    if not usual or usual[0] == "s":
        return "s", []
    rate = 1 / (step * UNITS["t"][usual[0]])
    return usual[0], [f"times taken as {usual[0]}, since their step is then {rate:.4g} Hz"]


def drop_undated(table: Table, t: Array, rows: Integers, bad_rows: str) -> tuple[Integers, list[str]]:
    """The rows that have a time; the others are refused, or left out and counted."""
    good = np.isfinite(t[rows])
    if good.all():
        return rows, []
    k = int(rows[~good][0])
    if bad_rows == "refuse" or not good.any():
        raise InputError(
            f"{table.place(k)}: the time is {t[k]}; mend the log, or leave such rows out with {say('bad_rows', 'drop')}"
        )
    return rows[good], [f"{int((~good).sum())} rows without a time left out, the first: {table.place(k)}"]


def drop_repeated(table: Table, t: Array, rows: Integers) -> tuple[Integers, list[str]]:
    """The rows that have a time of their own; refused if time runs backwards or stands still."""
    steps = np.diff(t[rows])
    if not len(steps) or not (steps > 0).any():
        raise InputError(f"{table.source}: the times do not increase: {t[rows][0]:g} … {t[rows][-1]:g}")
    back = np.flatnonzero(steps < 0)
    if len(back):
        k = int(rows[back[0] + 1])
        raise InputError(
            f"{table.place(k)}: time runs backwards, from {t[rows[back[0]]]:g} to {t[k]:g} s"
            f"{f' ({len(back)} times in all)' if len(back) > 1 else ''}; if these are several runs, give them one "
            "by one"
        )
    same = rows[np.flatnonzero(steps == 0) + 1]
    if not len(same):
        return rows, []
    if len(same) > 0.05 * len(rows):
        raise InputError(
            f"{table.place(int(same[0]))}: {len(same)} of {len(rows)} rows have the same time as the row before: the "
            f"clock is too coarse; say {say('rate')} [Hz] and {say('columns', {'t': None})} if the samples are even"
        )
    kind, numbers = ("row", same) if table.lines is None else ("line", table.lines[same])
    shown = ", ".join(str(k) for k in numbers[:SHOWN].tolist()) + (", …" if len(same) > SHOWN else "")
    places = f"{kind}{'s' if len(same) > 1 else ''} {shown}"
    return np.setdiff1d(rows, same), [
        f"{len(same)} rows have the same time as the row before, and are left out: {places}"
    ]


def common_step(t: Array, source: str = "") -> float:
    """The step of the clock: whole numbers of it lie between samples; gaps do not count."""
    steps = np.diff(t)
    middle = float(np.median(steps))
    if not SANE[0] <= middle <= SANE[1]:
        raise InputError(
            f"{source or 'the log'}: the times have steps of {middle:.3g} s, which no log of a robot has: say their "
            f"unit, {say('units', {'t': ...})}, or {say('rate')} [Hz] and {say('columns', {'t': None})}"
        )
    counts = np.maximum(np.round(steps / middle), 1)
    near = counts < GAP
    return float(steps[near].sum() / counts[near].sum())


def pieces(t: Array, step: float) -> list[slice]:
    """The stretches without a gap."""
    cuts = np.flatnonzero(np.diff(t) > GAP * step) + 1
    return [slice(a, b) for a, b in pairwise([0, *cuts.tolist(), len(t)])]


def make_even(
    table: Table, t: Array, signals: Mapping[str, Array], gaps: str, resample: str
) -> tuple[Array, Mapping[str, Array], list[str]]:
    """Times at even steps in each piece between gaps, the signals (N, k) there, and notes.

    A clock that jitters by more than a hundredth of its step is smoothed: if the motion is the smoother for it, the
    times are taken for badly written and the samples for even; else the samples are interpolated by cubics."""
    step, notes = common_step(t, table.source), []
    parts = pieces(t, step)
    if len(parts) > 1:
        holes = [(float(t[p.stop - 1]), float(t[q.start] - t[p.stop - 1])) for p, q in pairwise(parts)]
        shown = ", ".join(f"{length:.3g} s at t = {at:.6g} s" for at, length in holes[:SHOWN])
        what = f"{len(holes)} gap{'s' if len(holes) > 1 else ''} in the times: {shown}{', …' * (len(holes) > SHOWN)}"
        if gaps == "refuse":
            raise InputError(f"{table.source}: {what}; {say('gaps', 'cut')} reads the pieces between them")
        notes.append(f"{what}; the {len(parts)} pieces are kept apart")
    grids = [np.arange(round((t[p.stop - 1] - t[p.start]) / step) + 1) * step + t[p.start] for p in parts]
    lost = [len(grid) - (p.stop - p.start) for grid, p in zip(grids, parts, strict=True)]
    whole, missing = not any(lost), sum(lost)
    jitters = [np.abs(t[p] - grid).max() / step for p, grid, k in zip(parts, grids, lost, strict=True) if not k]
    steps = np.diff(t)
    spread = float(np.abs(steps[steps < 1.5 * step] - step).max()) / step
    if whole and spread <= EVEN and max(jitters) <= 1.0:  # a slow drift of the clock is none of a sample's business
        return t, signals, notes
    if resample == "refuse":
        raise InputError(
            f"{table.source}: the samples are uneven: steps {steps.min():.3g} … {steps[steps < GAP * step].max():.3g} s"
        )
    if missing < 0 or missing > 0.3 * len(t) or (spread > WILD and resample != "force"):
        raise InputError(
            f"{table.source}: the times are too uneven to be those of one clock (steps {steps.min():.3g} … "
            f"{steps.max():.3g} s, commonly {step:.3g} s): say {say('rate', 1 / step)} if the samples are "
            f"even, or {say('resample', 'force')}"
        )
    if whole and _roughness(signals["q"], None) < 0.7 * _roughness(signals["q"], t):
        notes.append(
            f"the times jitter by {100 * spread:.2g} % of a step, but the positions are smoother at even steps: "
            f"taken at {1 / step:.6g} Hz"
        )
        return np.concatenate(grids), signals, notes
    filled = f", {missing} missing samples filled in" if missing else ""
    notes.append(
        f"uneven steps ({100 * spread:.2g} % of {step:.4g} s): resampled at {1 / step:.6g} Hz by cubics{filled}"
    )
    resampled = {
        group: np.concatenate([interpolate(t[p], x[p], grid) for p, grid in zip(parts, grids, strict=True)])
        for group, x in signals.items()
    }
    return np.concatenate(grids), resampled, notes


def _roughness(x: Array, t: Array | None) -> float:
    """How far samples lie from the cubic through their four neighbors, in all columns, each by its own spread."""
    if len(x) < 5:
        return 0.0
    k = np.arange(len(x), dtype=float) if t is None else t
    around = (0, 1, 3, 4)
    nodes = np.stack([k[i : len(k) - 4 + i] - k[2 : len(k) - 2] for i in around])
    values = [x[i : len(x) - 4 + i] for i in around]
    predicted = sum((_lagrange(nodes, i)[:, None] * value for i, value in enumerate(values)), np.zeros((1, 1)))
    spread = np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1.0)
    return float(np.median(np.abs(x[2:-2] - predicted) / spread))


def _lagrange(nodes: Array, i: int, at: float | Array = 0.0) -> Array:
    """The i-th Lagrange polynomial over the nodes (4, N), at a place of each."""
    w = np.ones_like(nodes[0])
    for j in (j for j in range(len(nodes)) if j != i):
        w = w * (at - nodes[j]) / (nodes[i] - nodes[j])
    return w


def interpolate(t: Array, x: Array, at: Array) -> Array:
    """x (N, k), known at t, at other times: the cubic through the four nearest samples. (A spline through all of them
    would carry a jump of the clock further, and real logs fit a little worse with it.)"""
    if len(t) < 4:
        return np.stack([np.interp(at, t, column) for column in x.T], axis=1)
    first = np.clip(np.searchsorted(t, at) - 2, 0, len(t) - 4)
    nodes = np.stack([t[first + i] for i in range(4)])
    return np.asarray(sum(_lagrange(nodes, i, at)[:, None] * x[first + i] for i in range(4)))
