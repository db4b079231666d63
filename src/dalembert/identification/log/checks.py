"""What can be wrong with the numbers of a log: each has its own sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.errors import InputError
from dalembert.identification.log.columns import say_lock
from dalembert.identification.log.families import WORDS, tokens
from dalembert.identification.log.samples import ABSURD, Integers, Table
from dalembert.identification.log.settings import DEGREE
from dalembert.identification.log.times import increasing_rows, match_by_time
from dalembert.robot import Robot
from dalembert.words import assign

NOTHING = 1e-12  # smaller than what any sensor of an arm resolves, in any unit
# A sample this many deviations away from the median of five, its neighbors not, is a spike.
SPIKE = 10.0
ROUGH = 15  # samples before and after it that tell how rough the signal is there
SMALL = 0.05  # of the signal's range: what stays below it is left to the filters
SHOWN = 5
FULL = 0.9  # of the rows: a table with fewer full ones holds signals of several clocks
FEW = 10


def fill_sparse(table: Table, places: Mapping[str, Sequence[int]]) -> Table:
    """A table in which signals of other clocks leave cells empty, as exports of several topics have: the rows of the
    first position, with the other signals at their times."""
    signals = [k for group in ("q", "qd", "tau") for k in places.get(group, ())]
    finite = np.isfinite(table.values[:, signals])
    base = finite[:, 0]
    if (base.mean() > FULL and (finite.all(axis=1) | ~finite.any(axis=1)).mean() > FULL) or base.sum() < FEW:
        return table
    clock = table.values[:, places["t"][0]] if len(places.get("t", ())) == 1 else None
    values, filled, inside = table.values[base], 0, np.ones(int(base.sum()), bool)
    if clock is not None:
        known = {k: np.flatnonzero(own) for k, own in zip(signals, finite.T, strict=True)}
        for k, own in zip(signals, finite.T, strict=True):
            if own.sum() >= FEW and own[base].mean() < FULL and np.isfinite(clock[own]).any():
                known[k] = rows = known[k][increasing_rows(clock[own], table.source)]
                matched, near = match_by_time(clock[rows], table.values[rows][:, [k]], clock[base])
                values[:, k], filled, inside = matched[:, 0], filled + 1, inside & near
    if filled and clock is not None:
        ends = [clock[rows][np.isfinite(clock[rows])] for rows in known.values()]
        first, last = max(t.min() for t in ends if len(t)), min(t.max() for t in ends if len(t))
        inside &= ~((clock[base] < first) | (clock[base] > last))  # rows without a time are left for later
        if not inside.any():
            raise InputError(
                "wrong-value",
                "t",
                problem=f"{table.source}: the times of its signals do not overlap: {first:g} > {last:g}",
            )
    more = f", {filled} signals with clocks of their own taken there" if filled else ""
    more += f"; {int((~inside).sum())} rows where one of these has a gap left out" if not inside.all() else ""
    note = f"{len(base) - int(base.sum())} of {len(base)} rows are of other signals, and left out{more}"
    lines = None if table.lines is None else table.lines[base][inside]
    return replace(table, values=values[inside], lines=lines, notes=(*table.notes, note))


def align_clocks(table: Table, places: Mapping[str, Sequence[int]]) -> Table:
    """A table in which positions or torques have times of their own, in a column that says so ("t_tau"): these signals
    at the times of the others."""
    if not table.named or len(places.get("t", ())) != 1:
        return table
    used, t = {k for own in places.values() for k in own}, table.values[:, places["t"][0]]
    for k, name in enumerate(table.names):
        words, own = set(tokens(name)), table.values[:, k]
        groups = [g for g in ("tau", "q") if words & WORDS[g]]
        if k in used or not words & WORDS["t"] or len(groups) != 1 or not np.isfinite(own).all():
            continue
        ticks = np.flatnonzero(np.append(True, np.diff(own) > 0))
        inside = (t >= own[0]) & (t <= own[-1])
        if (np.diff(own) < 0).any() or len(ticks) < FEW or inside.mean() < 0.5 or (own == t).all():
            continue
        values = table.values.copy()
        for group in ("tau",) if groups == ["tau"] else ("q", "qd"):
            columns = np.array(places.get(group, ()), np.int64)
            values[:, columns], near = match_by_time(own[ticks], values[np.ix_(ticks, columns)], t)
            inside &= near
        note = f"{'torques' if groups == ['tau'] else 'positions'} have a clock of their own, {name!r}: resampled"
        lines = None if table.lines is None else table.lines[inside]
        return replace(table, values=values[inside], lines=lines, notes=(*table.notes, note))
    return table


def drop_unreadable(table: Table, columns: Sequence[int], rows: Integers, bad_rows: str) -> tuple[Integers, list[str]]:
    """Rows whose numbers are numbers; NaN, infinity and the absurd are refused, or left out and counted."""
    x = table.values[np.ix_(rows, np.asarray(columns))]
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(x) <= ABSURD)
    if not bad.any():
        return rows, []
    per_row = bad.any(axis=1)
    k, j = (int(i) for i in np.argwhere(bad)[0])
    value, count, column = x[k, j], int(per_row.sum()), table.names[columns[j]]
    if bad[:, j].all():
        raise InputError(
            "not-finite",
            column,
            problem=f"{table.source}: column {column!r} has no usable number in it: {value:g} in every row",
        )
    where = table.place(int(rows[k]), column)
    if bad_rows == "refuse":
        said = "not a number" if np.isnan(value) else "infinite" if np.isinf(value) else "no measurement of an arm"
        raise InputError(
            "not-finite",
            "bad_rows",
            problem=f"{where}: {value:g} is {said}{f' ({count} such rows in all)' if count > 1 else ''}; "
            f"mend the log, or leave such rows out with {assign('bad_rows', 'drop')}",
        )
    note = f"{count} rows with NaN, infinite or absurd numbers left out, the first: {where} ({value:g})"
    return rows[~per_row], [note]


def check_moving(
    table: Table, places: Mapping[str, Sequence[int]], rows: Integers, joints: Sequence[str], still: str
) -> tuple[bool, list[str]]:
    """Whether recorded rates can be used; columns that never change, or are others again, are refused."""
    take = {g: table.values[np.ix_(rows, np.asarray(columns))] for g, columns in places.items()}
    if np.abs(take["tau"]).max() <= NOTHING:
        raise InputError(
            "wrong-value",
            "tau",
            problem=f"{table.source}: the torques are zero throughout: was effort recorded at all?",
        )
    fixed = {g: np.ptp(x, axis=0) <= NOTHING for g, x in take.items()}
    notes = []
    for group, word in (("q", "position"), ("tau", "torque")):
        for j in np.flatnonzero(fixed[group]).tolist():
            column = table.names[places[group][j]]
            what = f"column {column!r} (the {word} of {joints[j]!r}) is {take[group][0, j]:g} in every row"
            if still == "keep":
                notes.append(f"{table.source}: {what}: kept, as asked")
            elif group == "q":
                raise InputError(
                    "wrong-value",
                    "still",
                    problem=f"{table.source}: {what}; nothing of a joint that stands still can be identified: "
                    "hold it with "
                    f"{say_lock(joints[j])}, or {assign('still', 'keep')}",
                )
            else:
                raise InputError(
                    "wrong-value",
                    "still",
                    problem=f"{table.source}: {what}: a sensor that is dead, or was not recorded; "
                    f"{assign('still', 'keep')} "
                    "reads it all the same",
                )
    seen: dict[bytes, str] = {}
    for group, x in take.items():
        for j in np.flatnonzero(~fixed[group]).tolist():
            key, name = np.ascontiguousarray(x[:, j]).tobytes(), table.names[places[group][j]]
            if key in seen:
                raise InputError(
                    "duplicate",
                    "columns",
                    problem=f"{table.source}: columns {seen[key]!r} and {name!r} hold the same numbers in all "
                    f"{len(x)} rows: "
                    "one was written twice, or the mapping names one signal for two",
                )
            seen[key] = name
    if "qd" in take and fixed["qd"].all():
        return False, [*notes, "the recorded rates never change, and are not used"]
    return "qd" in take, notes


def find_degrees(robot: Robot, q: Array) -> str | None:
    """The evidence that positions are degrees, in words; None if there is none.

    Either the joints lie outside their limits for much of the log, and hardly do once π/180 is applied; or one without
    limits turns further than cables allow."""
    turning = np.array([c.joint.turns for c in robot.model.coordinates])
    if not turning.any():
        return None
    lower, upper = robot.limits.lower, robot.limits.upper
    slack = 0.05 * np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    plain, converted = (((x < lower - slack) | (x > upper + slack)).mean(axis=0) for x in (q, q * DEGREE))
    far = np.abs(q).max(axis=0)
    j = int(np.argmax(np.where(turning, plain, -1.0)))
    if plain[turning].mean() > 0.4 and converted[turning].mean() < 0.4 * plain[turning].mean() and far[j] > 2 * np.pi:
        return (
            f"{robot.joint_names[j]!r} lies between {q[:, j].min():.4g} and {q[:, j].max():.4g}, outside its limits "
            f"{lower[j]:.3g} … {upper[j]:.3g} rad for {100 * plain[j]:.0f} % of the log, and would for "
            f"{100 * converted[j]:.0f} % if these are degrees"
        )
    free = turning & ~np.isfinite(upper - lower)
    for j in np.flatnonzero(free & (far > 10 * np.pi)).tolist():
        turns = far[j] / (2 * np.pi)
        return f"{robot.joint_names[j]!r} turns to {far[j]:.4g}, which would be {turns:.1f} turns in radians"
    return None


def find_spikes(x: Array) -> tuple[NDArray[np.bool_], Array]:
    """Single samples far off the median of five around them, while their neighbors are not; and x with such medians in
    their place.  (N, k)."""
    flags, mended = np.zeros(x.shape, bool), x.copy()
    if len(x) < 7:
        return flags, mended
    # Of four, the larger of the smaller two and the smaller of the larger two: the median is one of these or the fifth.
    a, b, e, c, d = (x[k : len(x) - 4 + k] for k in range(5))
    low, high = np.maximum(np.minimum(a, b), np.minimum(c, d)), np.minimum(np.maximum(a, b), np.maximum(c, d))
    middle = np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e))
    off = np.abs(e - middle)
    # What is usual: over the whole log, and around the sample, since a rough stretch is no spike. What is small beside
    # the signal's own range is noise, however rare.
    usual = SPIKE * np.maximum(1.4826 * np.median(off, axis=0), _around(off, ROUGH))
    low, high = np.quantile(x, (0.01, 0.99), axis=0)
    flags[2:-2] = off > np.maximum(usual, SMALL * (high - low)) + 1e-12
    mended[2:-2] = np.where(flags[2:-2], middle, x[2:-2])
    return flags, mended


def _around(x: Array, reach: int) -> Array:
    """The mean of the samples up to `reach` before and after each, itself not counted."""
    total = np.cumsum(np.concatenate([np.zeros((1, x.shape[1])), x]), axis=0)
    k = np.arange(len(x))
    first, last = np.maximum(k - reach, 0), np.minimum(k + reach + 1, len(x))
    return np.asarray((total[last] - total[first] - x) / (last - first - 1)[:, None])


def treat_spikes(
    table: Table, signals: Mapping[str, Array], rows: Integers, joints: Sequence[str], treat: str
) -> tuple[dict[str, Array], list[str]]:
    """Spikes counted and placed; with treat="remove" replaced by the median of the five samples around them."""
    done = "replaced by the median of their neighbors" if treat == "remove" else "left as they are"
    words, kept, notes = {"q": "positions", "qd": "rates", "tau": "torques"}, dict(signals), []
    for group, x in signals.items():
        flags, mended = find_spikes(x)
        where = np.argwhere(flags)
        if len(where):
            shown = ", ".join(f"{table.place(int(rows[k])).split(', ', 1)[1]} ({joints[j]})" for k, j in where[:SHOWN])
            more = ", …" if len(where) > SHOWN else ""
            notes.append(f"{len(where)} single spikes in the {words[group]}: {shown}{more}; {done}")
            kept[group] = mended if treat == "remove" else x
    return kept, notes
