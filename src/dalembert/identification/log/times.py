"""The times of a log: their unit, order, gaps and jitter; resampling to even steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number
from dalembert.errors import InputError
from dalembert.identification.log.samples import ABSURD, Integers, Log, Table
from dalembert.identification.log.settings import UNITS
from dalembert.identification.log.stale import Mask, Stale
from dalembert.words import assign, mention

# Steps that logs of arms have: 5 Hz to 20 kHz [s].
STEPS = (5e-5, 0.2)
# Steps beyond these are those of no log of a robot [s]; what is computed with them would overflow.
SANE = (1e-9, 1e6)
LATEST = 1e12  # [s]: no clock of a robot shows more, since 1970 either
# A step this much longer than the common one has lost more samples than a curve can be trusted to fill.
GAP = 4.5
# As far, too: this part of a period of the motion, up to so many seconds.
SLOW, HOLE = 0.03, 0.1
# Jitter below this part of a step moves a sample by less than its own noise.
EVEN = 0.01
LATE = 20  # rows within which a clock that only seems to run backwards is where it was
AGREE = 0.35  # of the phases of 64 times, one if they agree, 0.1 by chance: above it, there is a clock
MANY = 200  # steps that are measured together where single ones say nothing
BLOCK = 256  # rows over which a clock keeps its phase
WILD = 0.005  # of the rows, placed twice: a clock too wild to tell where single samples were lost
AROUND = 50  # rows before and after that tell whether samples were lost in a wild clock
SHOWN = 5
SAME = 1e-6  # of the usual step: times that are closer are one time
LOST = 20.0  # usual steps of a signal with a clock of its own, beyond which it has a gap
MAX_STEPS = 2.0**45  # of a clock in a log: beyond, a float does not hold a hundredth of a step
MAX_FILLED = 1_000_000  # samples that are filled in between rows, unless there are more rows
SINCE_1970 = {"s": (1e8, 1e10), "ms": (1e11, 1e13), "us": (1e14, 1e16), "ns": (1e17, 1e19)}


def read_times(
    table: Table, places: tuple[int, ...], time: ArrayLike | None, rate: object, unit: str | None
) -> tuple[Array, list[str]]:
    """Times in seconds, of the user, of the log's columns at `places`, or by counting; and notes."""
    rows = len(table.values)
    if time is not None:
        return array("time", time, (rows,), meaning=f"one per row of {table.source}", finite=False, nan=True), []
    hertz = None if rate is None else number("rate", rate, "Hz", above=0)
    if not places:
        return np.asarray(np.arange(rows) / (hertz or 1.0)), []
    t = table.values[:, places[0]]
    notes: list[str] = []
    first = float(t[np.isfinite(t)][:1].sum())
    if len(places) == 2:
        t = (t - first) + 1e-9 * table.values[:, places[1]]
    else:
        if unit is None:
            finite = t[np.isfinite(t)]
            unit, notes = guess_unit(finite) if len(finite) else ("s", [])
        if abs(first) * UNITS["t"][unit] > 1e6:
            notes.append(f"times counted from the first, {first:.0f} {unit}")
            t = t - first
        t = t * UNITS["t"][unit]
    if hertz is not None:
        t, said = _count(t, hertz, table.names[places[0]])
        notes += said
    return t, notes


def _count(t: Array, hertz: float, column: str) -> tuple[Array, list[str]]:
    """Times of samples that are even, whatever their stamps say, and a note if that changes anything. What the stamps
    tell of gaps and restarts stays, and of lost samples where they are good enough."""
    steps = np.diff(t)
    step = float(np.nanmedian(steps)) if len(steps) else 0.0
    if not step > 0:
        return np.asarray(np.arange(len(t)) / hertz), [
            f"times of {column!r} left aside, as {assign('rate', hertz)} says"
        ]
    same = abs(step * hertz - 1) <= 0.01
    counts = steps * hertz if same else steps / step
    near = ~(np.abs(counts) > GAP)
    off = np.abs(counts[near] - np.round(counts[near]))
    if same and np.abs(counts[near] - 1).max(initial=0.0) <= EVEN:
        return t, []
    whole = np.maximum(np.round(counts), 1) if np.nanmedian(off) < 0.1 else 1.0
    even = np.concatenate([[0.0], np.cumsum(np.where(near, whole, counts))]) / hertz
    other = "" if same else f", not {step:.4g} s"
    return even, [
        f"times of {column!r} taken at even steps of {1 / hertz:.6g} s{other}, as {assign('rate', hertz)} says"
    ]


def shift_torques(log: Log, lag: float) -> Log:
    """The log without the time [s] by which its torques came late: τ(t + lag), piece by piece, where it is known."""
    if not lag:
        return log
    step = common_step(log.t, log.source)
    parts, at = pieces(log.t, step), log.t + lag
    tau = np.concatenate([interpolate(log.t[p], log.tau[p], at[p]) for p in parts])
    inside = np.concatenate([(at[p] >= log.t[p][0]) & (at[p] <= log.t[p][-1] + 1e-9 * step) for p in parts])
    qd = None if log.qd is None else log.qd[inside]
    filled = None if log.filled is None else log.filled[inside]
    return replace(log, t=log.t[inside], q=log.q[inside], tau=tau[inside], qd=qd, filled=filled)


def cut_window(t: Array, window: tuple[float | None, float | None] | None) -> tuple[Integers, list[str]]:
    """The rows between two times that are counted from the first, and a note of how many are left out."""
    rows = np.arange(len(t))
    if window is None:
        return rows, []
    since = t - t[np.isfinite(t)][:1].sum()
    low, high = (-np.inf if window[0] is None else window[0]), (np.inf if window[1] is None else window[1])
    inside = (since >= low) & (since <= high)
    end = float(np.nanmax(since, initial=0.0))
    if not inside.any():
        raise InputError(
            "out-of-range",
            "window",
            problem=f"{mention('window')}: nothing of the log, lasting {end:.4g} s, lies from {low:g} to {high:g} s",
        )
    shown = f"{mention('window')} {max(low, 0.0):g} … {min(high, end):.6g} s"
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
    sane = np.abs(t[rows]) < LATEST
    good &= sane | (sane.mean() < 0.5)  # of other times it is told what is wrong with all of them
    if good.all():
        return rows, []
    k = int(rows[~good][0])
    if not good.any():
        raise InputError(
            "not-finite",
            "t",
            problem=f"{table.place(k)}: the time is {t[k]}, and no row has a usable one; give the sampling rate, "
            f"{assign('rate')} "
            f"[Hz], and {assign('columns', {'t': None})} if the samples are even",
        )
    if bad_rows == "refuse":
        raise InputError(
            "not-finite",
            "bad_rows",
            problem=f"{table.place(k)}: the time is {t[k]}; mend the log, or leave such rows out with "
            f"{assign('bad_rows', 'drop')}",
        )
    return rows[good], [f"{int((~good).sum())} rows without a time left out, the first: {table.place(k)}"]


def order_rows(table: Table, t: Array, rows: Integers, q: Sequence[int]) -> tuple[Array, Integers, list[str]]:
    """Times of the rows that do not run backwards, and these rows. Runs that start the clock anew follow each other,
    rows that came in the wrong order change places, single times that are wrong count for nothing, and rows that are
    the same as the row before, time included, are left out."""
    t = t[rows]
    if not len(t) or np.ptp(t) <= 0:
        raise InputError("wrong-order", "t", problem=f"{table.source}: the times do not increase: {t[0]:g} … {t[-1]:g}")
    again = np.zeros(len(t), bool)
    again[1:] = (np.diff(t) == 0) & (np.diff(table.values[rows], axis=0) == 0).all(axis=1)
    notes = [f"{int(again.sum())} rows are the same as the row before, time included, and are left out"] * bool(
        again.any()
    )
    rows, t = rows[~again], t[~again].copy()
    back = np.flatnonzero(np.diff(t) < 0) + 1
    ahead = np.maximum.accumulate(t)
    starts = [k for k in back.tolist() if len(t) - k > LATE and np.mean(t[k : k + LATE] < ahead[k - 1]) > 0.5]
    if starts:
        ahead_by = np.diff(t)[np.diff(t) > 0]
        usual = float(np.median(ahead_by)) if len(ahead_by) else 0.0
        for k in starts:
            t[k:] += t[k - 1] - t[k] + 5 * _sure_gap(usual)
        where = ", ".join(table.place(int(rows[k])).split(", ", 1)[1] for k in starts[:SHOWN])
        notes.append(
            f"the clock starts anew {len(starts)} time{'s' if len(starts) > 1 else ''} ({where}): "
            f"{len(starts) + 1} runs, kept apart"
        )
    odd = t < np.maximum.accumulate(np.concatenate([t[:1], t[:-1]]))
    if odd.any():
        x = table.values[np.ix_(rows, np.asarray(q))]
        turned = np.argsort(t, kind="stable")
        first = table.place(int(rows[odd][0]))
        if _roughness(x[turned], None, 1.0) < _roughness(x, None, 1.0):
            rows, t = rows[turned], t[turned]
            notes.append(f"{int(odd.sum())} rows are out of order by their times, the first: {first}; put in order")
        else:
            t[odd] = np.interp(np.flatnonzero(odd), np.flatnonzero(~odd), t[~odd])
            notes.append(f"{int(odd.sum())} times run backwards, the first: {first}; taken from their neighbors")
    same = rows[1:][np.diff(t) == 0]
    if len(same):
        kind, numbers = ("row", same) if table.lines is None else ("line", table.lines[same])
        shown = ", ".join(str(k) for k in numbers[:SHOWN].tolist()) + (", …" if len(same) > SHOWN else "")
        places = f"{kind}{'s' if len(same) > 1 else ''} {shown}"
        notes.append(f"{len(same)} rows have the same time as the row before: {places}")
    return t, rows, notes


def increasing_rows(t: Array, source: str) -> Integers:
    """Return the rows with a finite time, ordered by time, without those whose time equals the one before.

    Raise InputError if a row would move by more than `LATE` rows, as after a restart of the clock."""
    finite = np.flatnonzero(np.abs(t) < LATEST / UNITS["t"]["ns"])  # in any unit
    rows = finite[np.argsort(t[finite], kind="stable")]
    if not len(rows) or np.abs(rows - finite).max() > LATE:
        why = "its clock starts anew" if len(rows) else "it has no times"
        raise InputError(
            "wrong-order",
            "t",
            problem=f"{source}: {why}, and its signals have clocks of their own, so that they cannot be matched "
            "by time. Split "
            "the log where the clock starts anew, or record all signals with one clock.",
        )
    rows = rows[np.append(True, np.diff(t[rows]) > 0)]
    return rows[np.append(True, np.diff(t[rows]) > SAME * np.median(np.diff(t[rows])))] if len(rows) > 1 else rows


def match_by_time(t: Array, x: Array, at: Array) -> tuple[Array, Mask]:
    """Return x (N, k), known at increasing times t, at other times (M,), and a mask (M,): False in gaps of x, before
    its first time and after its last.

    Numbers beyond `ABSURD` count as NaN, so that they do not spread into numbers that look right."""
    made, usual = np.full((len(at), x.shape[1]), np.nan), float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    after = np.clip(np.searchsorted(t, at), 1, max(len(t) - 1, 1))
    near = (at >= t[0]) & (at <= t[-1]) & (len(t) > 1)
    if near.any():
        near &= (t[after] - t[after - 1] <= LOST * usual) | (at == t[after])
    rows = np.flatnonzero(near)[np.argsort(at[near], kind="stable")]
    made[rows] = interpolate(t, np.where(np.abs(x) <= ABSURD, x, np.nan), at[rows])
    return made, near | ~np.isfinite(at)


def common_step(t: Array, source: str = "", describe: Callable[[int, int], str] | None = None) -> float:
    """The step of the clock: whole numbers of it lie between samples; gaps do not count. Where the times jitter so much
    that no whole numbers are to be seen, the usual length of many steps, by their number. `describe` says where the
    step from one row to another is."""
    steps = np.diff(t)
    positive = steps[steps > 0]
    middle = float(np.median(positive)) if len(positive) else 0.0
    if SANE[0] <= middle <= SANE[1] and t[-1] - t[0] > MAX_STEPS * middle:
        k = int(np.argmax(steps))
        where = describe(k, k + 1) if describe else f"{steps[k]:.3g} s after t = {t[k]:.10g} s"
        raise InputError(
            "wrong-value",
            "t",
            problem=f"{source or 'the log'}: the times jump by {where}, at steps of {middle:.3g} s. Correct or "
            "remove that row.",
        )
    step = _find_step(t, steps, middle) if SANE[0] <= middle <= SANE[1] else middle
    if not SANE[0] <= step <= SANE[1]:
        raise InputError(
            "wrong-unit",
            "units",
            problem=f"{source or 'the log'}: the times have steps of {step:.3g} s, which no log of a robot has: "
            "say their "
            f"unit, {assign('units', {'t': ...})}, or {assign('rate')} [Hz] and {assign('columns', {'t': None})}",
        )
    return step


def _find_step(t: Array, steps: Array, middle: float) -> float:
    """The step of a clock whose positive steps have this median."""
    counts = np.round(steps / middle)
    tidy = (counts >= 1) & (counts < GAP) & (np.abs(steps / middle - counts) < 0.1)
    coarse = np.mean(steps == 0) > WILD  # a clock that ticks less often than samples come
    if tidy.mean() > 0.8 and not coarse:
        return float(steps[tidy].sum() / counts[tidy].sum())
    # Of a point process with a clock, the phases e^(2πi t/h) of many points agree if h is its step.
    size = min(64, len(t))
    x = t[: len(t) // size * size].reshape(-1, size)[:: max(len(t) // (40 * size), 1)]
    tried = middle * np.linspace(0.6, 1.6, 401)
    agree = np.array([np.abs(np.exp(2j * np.pi * x / h).mean(axis=1)).mean() for h in tried])
    if agree.max() > AGREE and not coarse:
        middle = float(tried[int(np.argmax(agree))])
        for _ in range(3):  # the phase that is left over, block by block, is a step that is wrong
            place, phase = _places(t, middle)
            slope = np.median(np.diff(phase)[np.diff(place) == 1]) if (np.diff(place) == 1).any() else 0.0
            middle *= 1 + float(slope)
        return middle
    many = len(t) // 2 if steps.max() < 10 * GAP * middle else min(MANY, max(len(t) // 4, 1))
    return float(np.median(t[many:] - t[:-many]) / many)


def pieces(t: Array, step: float) -> list[slice]:
    """The stretches without a gap."""
    cuts = np.flatnonzero(np.diff(t) > GAP * step) + 1
    return [slice(a, b) for a, b in pairwise([0, *cuts.tolist(), len(t)])]


def _sure_gap(step: float) -> float:
    """A time [s] without samples that is a gap in any log of this step: nothing is filled in, and the clock may have
    been set anew."""
    return max(2 * HOLE, 2 * GAP * step)


class Even(NamedTuple):
    """Times at even steps, the signals there, which rows of the torques are filled in (None: all are resampled), and
    notes."""

    t: Array
    signals: Mapping[str, Array]
    filled: Mask | None
    notes: list[str]


def make_even(
    table: Table, t: Array, rows: Integers, signals: Mapping[str, Array], gaps: str, resample: str, stale: Stale
) -> Even:
    """Times at even steps in each piece between gaps, the signals (N, k) there, and notes. `rows` (N,) are the rows of
    the table that the times belong to.

    Each row gets its place in a row of even steps; places that stay empty, and numbers that are `stale`, are filled by
    cubics, unless there are so many in a row that the log has a gap. A clock that jitters by more than a hundredth of
    its step is smoothed: if the motion is the smoother for it, the times are taken for badly written and the samples
    for even; else the samples are interpolated by cubics."""
    if stale.slower >= signals.keys():  # all of it from one source: its ticks are the rows of the log
        kept = ~stale.masks["q"].all(axis=1)
        count, own = np.arange(kept.sum()), t[kept]
        line = np.asarray(np.polyval(np.polyfit(count, own, 1), count), float)
        if np.abs(own - line).max() < 1.5 * common_step(t):
            own_rows = {group: x[kept] for group, x in signals.items()}
            note = f"taken at the steps of their source, {1 / (line[1] - line[0]):.6g} Hz"
            return Even(line, own_rows, None, [note])

    def describe_step(first: int, last: int) -> str:
        """Where the step from one row to a later one is: the later row, and both times."""
        where = table.place(int(rows[last])).removeprefix(f"{table.source}, ")
        return f"{t[last] - t[first]:.3g} s before {where}, from t = {t[first]:.10g} s to {t[last]:.10g} s"

    step, notes = common_step(t, table.source, describe_step), []
    place, phase = _places(t, step)
    at = t / step - phase
    jitter = np.abs(at - place)
    jitter = jitter[jitter < np.inf]
    spread, ties = float(jitter.max()), bool((np.diff(at) <= SAME).any())
    steps = np.diff(t)
    fresh = {group: ~mask for group, mask in stale.masks.items()}
    uneven = spread > EVEN
    if uneven and resample == "refuse":
        raise InputError(
            "wrong-value",
            "resample",
            problem=f"{table.source}: the samples are uneven: steps {steps.min():.3g} … "
            f"{steps[steps < GAP * step].max():.3g} s",
        )
    if uneven:
        off = int((jitter > EVEN).sum())
        what = f"the times jitter by {100 * np.quantile(jitter, 0.99):.2g} % of a step"
        if off < 0.02 * len(t):
            what = f"{off} of {len(t)} times are off by up to {100 * spread:.2g} % of a step"
        q, good = signals["q"], fresh["q"].all(axis=1)
        by_count = _roughness(q[good], place[good].astype(float))
        by_time = np.inf if ties else _roughness(q[good], at[good])
        if resample != "force" and by_count < 0.7 * by_time:
            why = "several rows have the same time" if ties else "the positions are smoother at even steps"
            notes.append(f"{what}, but {why}: taken at {1 / step:.6g} Hz")
            at = place.astype(float)
        else:
            notes.append(f"{what}: resampled at {1 / step:.6g} Hz by cubics")
    else:
        at = place.astype(float)
    holes = _find_holes(place, fresh, max(GAP, min(SLOW * _period(signals["q"]), HOLE / step)))
    size = int(place[-1] - place[0]) + 1 - sum(b - a - 1 for a, b in holes)
    if size > len(t) + max(len(t), MAX_FILLED):
        longest = int(np.argmax(np.diff(t)))
        raise InputError(
            "too-few",
            "gaps",
            problem=f"{table.source}: {size - len(t)} samples are missing between its {len(t)} rows at steps of "
            f"{step:.3g} s; "
            f"the longest step is {describe_step(longest, longest + 1)}. Give the sampling rate, {assign('rate')} [Hz] "
            f"and {assign('columns', {'t': None})} if the samples are even.",
        )
    grid = _grid(place, holes)
    if holes:
        ends = [(np.searchsorted(place, a, "right") - 1, np.searchsorted(place, b)) for a, b in holes[:SHOWN]]
        shown = "; ".join(describe_step(int(a), int(b)) for a, b in ends)
        what = f"{len(holes)} gap{'s' if len(holes) > 1 else ''} in the times: {shown}{'; …' * (len(holes) > SHOWN)}"
        if gaps == "refuse":
            raise InputError(
                "too-few",
                "gaps",
                problem=f"{table.source}: {what}; {assign('gaps', 'cut')} reads the pieces between them",
            )
        notes.append(f"{what}; the {len(holes) + 1} pieces are kept apart")
    missing = len(np.setdiff1d(grid, place, assume_unique=True))
    notes += [f"{missing} missing samples filled in"] if missing else []
    made = {
        group: _resample(at, x, fresh[group], grid.astype(float), group in stale.slower) for group, x in signals.items()
    }
    same = len(grid) == len(place) and bool((grid == place).all()) and not uneven
    filled = None
    if (at == place).all() and "tau" not in stale.slower:
        filled = ~np.isin(grid, place[fresh["tau"].any(axis=1)], assume_unique=True)
    return Even(t if same else (grid + phase[0]) * step, made, filled, notes)


def _resample(at: Array, x: Array, fresh: Mask, grid: Array, slower: bool) -> Array:
    """x (N, k), known at places `at` where it is `fresh`, on the grid. A source with a `slower` clock has even steps of
    its own."""
    known = fresh.any(axis=1)
    if slower:
        own, count = at[known], np.arange(known.sum())
        line = np.polyval(np.polyfit(count, own, 1), count)
        slower = bool(np.abs(own - line).max() < 1.5)  # else it wanders, or lost samples too: no clock to be found
        if slower:
            at = np.asarray(at.copy())
            at[known] = line
    places = np.round(at).astype(np.int64)
    on_grid = not slower and bool((at == places).all())
    if on_grid and fresh.all() and len(grid) == len(at) and (grid == at).all():
        return x
    made = np.empty((len(grid), x.shape[1]))
    alike: dict[bytes, list[int]] = {}
    for j, mask in enumerate(np.ascontiguousarray(fresh.T)):
        alike.setdefault(mask.tobytes(), []).append(j)
    for columns in map(np.array, alike.values()):
        rows = np.flatnonzero(fresh[:, columns[0]])
        wanted = np.ones(len(grid), bool)
        if on_grid:
            spot = np.searchsorted(grid, at[rows])
            there = (spot < len(grid)) & (grid[np.minimum(spot, len(grid) - 1)] == at[rows])
            made[np.ix_(spot[there], columns)] = x[np.ix_(rows[there], columns)]
            wanted[spot[there]] = False
        else:
            rows = rows[np.argsort(at[rows], kind="stable")]
            rows = rows[np.append(True, np.diff(at[rows]) > 1e-6)]
        if wanted.any():
            made[np.ix_(wanted, columns)] = interpolate(at[rows], x[np.ix_(rows, columns)], grid[wanted])
    return made


def _places(t: Array, step: float) -> tuple[Integers, Array]:
    """The place of each row in a row of even steps, increasing, and the phase of the clock there [steps], of each
    stretch between sure gaps by itself: a clock that was set anew has another phase."""
    cuts = np.flatnonzero(np.diff(t) > _sure_gap(step)) + 1
    place, phase = np.zeros(len(t), np.int64), np.zeros(len(t))
    for a, b in pairwise([0, *cuts.tolist(), len(t)]):
        first = round(float(t[a]) / step)
        own, drift = _places_of_stretch((t[a:b] - t[a]) / step)
        place[a:b], phase[a:b] = own + first, drift + (t[a] / step - first)
    return place, phase


def _places_of_stretch(x: Array) -> tuple[Integers, Array]:
    """Place and phase of each row of a stretch from its times [steps]; the phase drifts slowly: circular means over
    blocks."""
    count = np.arange(len(x))
    if len(x) < 2:
        return count, x
    size = min(BLOCK, len(x))
    blocks = x[: len(x) // size * size].reshape(-1, size)
    mean = np.angle(np.exp(2j * np.pi * blocks).sum(axis=1)) / (2 * np.pi)
    off = blocks - mean[:, None]
    mean += np.median(off - np.round(off), axis=1)  # a few odd times are none of the clock's
    phase = np.interp(count, (np.arange(len(blocks)) + 0.5) * size, np.unwrap(mean, period=1.0))
    place = np.round(x - phase).astype(np.int64)
    together = np.mean(np.diff(place) < 1)
    if not together:
        return place, phase
    from scipy.ndimage import maximum_filter1d, median_filter, minimum_filter1d  # slow to load

    if together > WILD:  # only what is lost for good, and much of it, can be seen
        least = minimum_filter1d(x - count, AROUND, mode="nearest", origin=-(AROUND // 2))  # of the rows after
        jump = np.zeros(len(x))
        jump[AROUND:] = least[AROUND:] - least[:-AROUND]
        peak = (jump > GAP) & (jump == maximum_filter1d(jump, 2 * AROUND)) & (np.diff(x, prepend=x[0]) > GAP)
        return count + np.cumsum(np.where(peak, np.round(jump), 0)).astype(np.int64), np.full(len(x), x[0])
    # Single times that are too late or too early.
    return count + np.maximum.accumulate(median_filter(place - count, 5, mode="mirror")), phase


def _period(q: Array) -> float:
    """A period of the quickest joint in rows, 2π times the deviation of its positions by that of their changes, which
    are taken over some rows: noise and encoders are none of the motion."""
    m = max(1, min(20, len(q) // 20))
    x, d = q.std(axis=0), np.median(np.abs(q[m:] - q[:-m]), axis=0) / (0.6745 * m)
    moving = d > 0
    return float(2 * np.pi * np.min(x[moving] / d[moving])) if moving.any() else 0.0


def _find_holes(place: Integers, fresh: Mapping[str, Mask], longest: float) -> list[tuple[int, int]]:
    """The gaps between places that have, or get, a sample, each by the last place before it and the first after it:
    where a group has no fresh numbers for longer than that, in its usual spacing."""
    cut = set()
    for mask in fresh.values():
        at = place[mask.any(axis=1)]
        long = np.flatnonzero(np.diff(at) > longest * np.median(np.diff(at)))
        cut |= set(zip(at[long].tolist(), at[long + 1].tolist(), strict=True))
    merged: list[tuple[int, int]] = []
    for a, b in sorted(cut):
        if merged and a < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
        else:
            merged.append((a, b))
    return merged


def _grid(place: Integers, holes: Sequence[tuple[int, int]]) -> Integers:
    """All places from the first to the last but those in holes."""
    firsts, lasts = [int(place[0]), *(b for _, b in holes)], [*(a for a, _ in holes), int(place[-1])]
    return np.concatenate([np.arange(a, b + 1) for a, b in zip(firsts, lasts, strict=True)])


def _roughness(x: Array, t: Array | None, quantile: float = 0.75) -> float:
    """How far samples lie from the cubic through their four neighbors, in all columns, each by its own spread."""
    if len(x) < 5:
        return 0.0
    k = np.arange(len(x), dtype=float) if t is None else t
    around = (0, 1, 3, 4)
    nodes = np.stack([k[i : len(k) - 4 + i] - k[2 : len(k) - 2] for i in around])
    values = [x[i : len(x) - 4 + i] for i in around]
    predicted = sum((_lagrange(nodes, i)[:, None] * value for i, value in enumerate(values)), np.zeros((1, 1)))
    spread = np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1.0)
    return float(np.quantile(np.abs(x[2:-2] - predicted) / spread, quantile))


def _lagrange(nodes: Array, i: int, at: float | Array = 0.0) -> Array:
    """The i-th Lagrange polynomial over the nodes (4, N), at a place of each."""
    w = np.ones_like(nodes[0])
    for j in (j for j in range(len(nodes)) if j != i):
        w = w * (at - nodes[j]) / (nodes[i] - nodes[j])
    return w


def interpolate(t: Array, x: Array, at: Array) -> Array:
    """x (N, k), known at t, at other times: the cubic through the four nearest samples. (A spline through all of them
    would carry a jump of the clock further, and real logs fit a little worse with it.) Across a hole of several steps,
    the cubic that comes nearest to as many samples on each side as are missing."""
    if len(t) < 4:
        return np.stack([np.interp(at, t, column) for column in x.T], axis=1)
    first = np.clip(np.searchsorted(t, at) - 2, 0, len(t) - 4)
    nodes = np.stack([t[first + i] for i in range(4)])
    made = np.asarray(sum(_lagrange(nodes, i, at)[:, None] * x[first + i] for i in range(4)))
    usual = float(np.median(np.diff(t)))
    for k in np.flatnonzero(np.diff(t) > 2.5 * usual).tolist():
        a, b = np.searchsorted(at, (t[k], t[k + 1]), "right")
        if b > a:
            hole = t[k + 1] - t[k]
            many = max(2, round(hole / usual))
            first, last = np.searchsorted(t, (t[k] - 2 * hole, t[k + 1] + 2 * hole))  # beyond another hole are others
            near = slice(max(k + 1 - many, int(first)), min(k + 1 + many, int(last)))
            u, half = t[near] - 0.5 * (t[k] + t[k + 1]), 0.5 * (t[near][-1] - t[near][0])
            for degree in (3, 2, 1):  # what so many places determine
                fitted, (_, rank, *_) = np.polynomial.polynomial.polyfit(u / half, x[near], degree, full=True)
                if rank > degree:
                    break
            made[a:b] = np.polynomial.polynomial.polyval((at[a:b] - 0.5 * (t[k] + t[k + 1])) / half, fitted).T
    return made
