"""Rows that repeat the row before, in all their numbers or in some, while the arm moved on: messages that came late.

A repeat is a difference of exactly zero. It is stale if the numbers around it say that it cannot be: positions that go
on before and after, and catch up in between; signals that change by many of their smallest steps from row to row, so
that equality is no chance. An arm at rest repeats itself too, and is left alone: nothing is caught up after it.

Where nothing is caught up after repeats in the middle of a motion, the source of the numbers is slower than the log: it
has a clock of its own, and the rows between two repeats are its ticks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.identification.log.samples import Integers, Table

Mask = NDArray[np.bool_]
NEIGHBORS = 4  # changes before and after a repeat that tell what is usual there
CHANCE = 1e-3  # a repeat that is less likely than this is none of chance
FEW = 5e-4  # of the rows: fewer repeats of one column alone may be chance
SHORT = 4  # rows: a longer repeat of one column alone may be a joint at rest
HELD = 0.3  # of the rows: torques that repeat more often are applied so, or measured at a lower rate
MOVING = 3.0  # smallest steps of a column per row: below, a repeat says nothing
CALLED = {"q": "positions", "qd": "rates", "tau": "torques"}
SHOWN = 5


@dataclass(frozen=True, eq=False)
class Stale:
    """Which numbers (N, k) of each group are stale, and the groups whose source has a slower clock than the log."""

    masks: Mapping[str, Mask]
    slower: frozenset[str] = frozenset()

    def describe(self, table: Table, rows: Integers) -> list[str]:
        """A note on what repeats, and where."""
        per_row = {group: mask.any(axis=1) for group, mask in self.masks.items()}
        some: Mask = np.any(list(per_row.values()), axis=0)
        if not some.any():
            return []
        groups = ", ".join(CALLED[group] for group, mask in per_row.items() if mask.any())
        where = rows[some]
        kind, numbers = ("row", where) if table.lines is None else ("line", table.lines[where])
        shown = ", ".join(map(str, numbers[:SHOWN].tolist())) + (", …" if len(where) > SHOWN else "")
        done = "interpolated instead"
        if self.slower:
            done = "their source is slower than the log, and gets a clock of its own"
        return [
            f"{len(where)} rows ({100 * len(where) / len(rows):.2g} %) repeat the {groups} of the row before while the "
            f"arm moves on ({kind} {shown}): stale, {done}"
        ]


def find_stale(signals: Mapping[str, Array]) -> Stale:
    """Which numbers of each group repeat the row before though they cannot have stayed."""
    repeats = {group: np.diff(x, axis=0) == 0 for group, x in signals.items()}
    found: dict[str, Mask] = {}
    jumps: list[Array] = []
    for group, x in signals.items():
        together = repeats[group].all(axis=1)
        stale = np.zeros(x.shape, bool)
        chances = np.ones(len(together))
        for j, column in enumerate(x.T):
            rows, chance, jump, length = _judge(column, repeats[group][:, j])
            caught_up = (jump > 0.6 * (length + 1)) if group == "q" else np.zeros(len(rows), bool)
            alone = caught_up & ~together[rows]
            if alone.sum() > FEW * len(x):
                stale[rows[alone] + 1, j] = True
            chances[rows] *= np.where(caught_up, 0.0, chance)
            if group == "q":
                sure = np.isfinite(jump) & together[rows] & (chance < 0.3)
                jumps.append((jump[sure] - 1) / length[sure])
        evident = together & (chances < CHANCE)
        if group != "q":  # an arm at rest, without noise, needs the same torques all the time
            evident &= ~_long_at_rest(together, signals["q"])
        stale[1:] |= evident[:, None]
        found[group] = stale
    # What repeats beside stale numbers is as old as they are.
    whole: Mask = np.all([x.all(axis=1) for x in repeats.values()], axis=0)
    some: Mask = np.any([x[1:].all(axis=1) for x in found.values()], axis=0)
    found["q"][1:] |= (whole & some)[:, None]
    old = np.asarray(found["q"].all(axis=1))
    with_q = {group: old[1:] & repeats[group].all(axis=1) for group in signals}
    for group, stale in found.items():
        stale[1:] |= with_q[group][:, None]
        if group == "tau" and (stale & ~old[:, None]).mean() > HELD:
            stale &= old[:, None]
    # After a message that came late, what was missed is caught up; a slower clock misses nothing.
    slower = frozenset[str]()
    every = np.concatenate(jumps)
    kept = np.flatnonzero(~old)
    count = np.arange(len(kept))
    if old.sum() >= 3 and len(every) and np.median(every) < 0.5 and _steady(count, kept):
        slower = frozenset(group for group, rows in with_q.items() if rows.sum() > 0.8 * old.sum())
    return Stale(found, slower)


def _steady(count: Integers, rows: Integers) -> bool:
    """Whether rows are the ticks of an even clock, to within one and a half."""
    return bool(np.abs(np.polyval(np.polyfit(count, rows, 1), count) - rows).max() < 1.5)


def _long_at_rest(together: Mask, q: Array) -> Mask:
    """Repeats of more than a few rows in which no joint moves."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], together, [False]]).astype(np.int8)))
    first, last = edges[::2], edges[1::2]  # rows first + 1 … last repeat row first
    still = (last - first > SHORT) & (q[last] == q[first]).all(axis=1)
    mask = np.zeros(len(together) + 1, np.int64)
    np.add.at(mask, first[still], 1)
    np.add.at(mask, last[still], -1)
    return np.cumsum(mask[:-1]) > 0


def _judge(x: Array, repeats: Mask) -> tuple[Integers, Array, Array, Integers]:
    """Of each repeat in a column, its place: how likely it is by chance; the jump after it, in changes per row before
    and after it (NaN where these do not agree); and of how many rows the repeat is."""
    d = np.diff(x)
    rows, changes = np.flatnonzero(repeats), np.flatnonzero(~repeats)
    if not len(rows) or len(changes) < 2 * NEIGHBORS + 2:
        return rows, np.ones(len(rows)), np.full(len(rows), np.nan), np.ones(len(rows), np.int64)
    after = np.searchsorted(changes, rows)
    inner = (after >= NEIGHBORS) & (after < len(changes) - NEIGHBORS)
    after = np.clip(after, NEIGHBORS, len(changes) - NEIGHBORS - 1)
    sums = [np.concatenate([[0.0], np.cumsum(y)]) for y in (d[changes], np.abs(d[changes]), d[changes] ** 2)]
    ends = ((after - NEIGHBORS, after), (after + 1, after + 1 + NEIGHBORS))
    before, behind = ([(total[b] - total[a]) / NEIGHBORS for total in sums] for a, b in ends)
    level = np.minimum(before[1], behind[1])
    jump, length = d[changes[after]], changes[after] - changes[after - 1] - 1
    quantum = _quantum(x, d[changes])[rows]
    steps = level / quantum
    moving = inner & (steps > MOVING)
    # Changes that go the jump's way and differ so little that none of them would be zero by chance.
    spread = [np.sqrt(np.maximum(square - mean**2, 0.0)) for mean, _, square in (before, behind)]
    even = np.maximum(*spread) < np.minimum(0.25 * length, 0.6) * level
    steady = even & (np.minimum(before[0] * np.sign(jump), behind[0] * np.sign(jump)) > 0.7 * level)
    clear = inner & (np.abs(jump) > MOVING * quantum)
    # Where changes are the same again and again, the column counts coarse steps there, and repeats itself by nature.
    c = np.abs(d[changes])
    again = np.concatenate([[0, 0], np.cumsum(np.abs(np.diff(c)) <= 1e-6 * c[1:])])
    coarse = sum(again[b] - again[a + 1] for a, b in ends) >= 2
    moved_on = moving & ~coarse & ((np.abs(jump) > 0.3 * level) | (length <= SHORT))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            rows,
            np.where(moved_on, 0.27 / steps, 1.0),
            np.where(clear & steady, np.abs(jump) / level, np.nan),
            length,
        )


def _quantum(x: Array, changes: Array) -> Array:
    """The smallest change of a column at each row: that of its encoder, or of the last digit that was written, which
    depends on the number's size."""
    sizes = np.abs(changes)
    least = float(np.min(sizes[sizes > 1e-9 * np.ptp(x)], initial=np.inf))
    size = np.floor(np.log10(np.maximum(np.abs(x), 1e-300)))
    for digits in range(3, 9):
        unit = 10.0 ** (size - digits + 1)
        if (np.abs(x / unit - np.round(x / unit)) < 1e-6).all():
            return np.maximum(unit, least)
    return np.full(len(x), least)
