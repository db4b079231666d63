"""Folds: runs cut into parts, of which each is held out in its turn while the others are fitted.

The last part of a motion that repeats itself is the same motion again, and a fit that is judged on it is judged on
what it has seen. Folds of such runs are parts of the period, the same in every repetition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.arguments import count as whole_number
from dalembert.errors import InputError
from dalembert.identification.log.filters import find_period
from dalembert.identification.log.samples import Array, Integers, Samples

LONGEST = 0.75  # of a run: a period is noticed if a quarter of it is repeated
FEWEST = 2  # folds, at least
SETTLED = 4.0  # periods of the cut-off: a part that is shorter is not one of its own


@dataclass(frozen=True, eq=False)
class Folds:
    """`labels`: of each run (N,), which fold a sample belongs to, from 0, or −1 between two of them, where filtered
    samples know of both; `count` of folds; `period` [s] of the motion, if it repeats itself; whether folds are
    `distinct` motions; and notes."""

    labels: tuple[Integers, ...]
    count: int
    period: float | None
    distinct: bool
    notes: tuple[str, ...]


def cut_folds(runs: Sequence[Samples], count: int = 5) -> Folds:
    """Runs cut into so many folds, which are motions of their own as far as that is possible."""
    whole_number("count", count, FEWEST)
    if not runs:
        raise InputError("there are no samples")
    periods = [find_period(run.q, run.dt, longest=LONGEST) for run in runs]
    clocks: list[Array] = [run.t - run.t[0] for run in runs]
    lengths = [float(clock[-1]) + run.dt for clock, run in zip(clocks, runs, strict=True)]
    if len(runs) > 1 and not any(periods):  # runs that repeat each other
        period = find_period(np.concatenate([run.q for run in runs]), runs[0].dt, longest=LONGEST)
        if period is not None:
            starts = np.cumsum([0, *(len(run) for run in runs[:-1])]) * runs[0].dt
            clocks = [clock + start for clock, start in zip(clocks, starts, strict=True)]
            periods = [period] * len(runs)
    shown = max((p for p in periods if p is not None), default=None)
    shortest = min(length if p is None else p for length, p in zip(lengths, periods, strict=True))
    slow = SETTLED * max(1 / run.cutoff + run.dt for run in runs)
    possible = int(min(count, shortest / slow))
    distinct = possible >= FEWEST
    folds = possible if distinct else count
    labels = []
    for run, clock, length, period in zip(runs, clocks, lengths, periods, strict=True):
        turn = length if period is None or not distinct else period
        label = np.minimum((clock % turn) / turn * folds, folds - 1).astype(np.int64)
        edges = np.flatnonzero(np.diff(label)) + 1
        margin = int(np.ceil(0.5 / (run.cutoff * run.dt)))
        for edge in edges.tolist():
            label[max(edge - margin, 0) : edge + margin] = -1
        labels.append(label)
    return Folds(tuple(labels), folds, shown, distinct, tuple(_describe(shown, distinct, folds)))


def _describe(period: float | None, distinct: bool, count: int) -> list[str]:
    if period is None and distinct:
        return []
    if period is None:
        return ["the log is so short that its parts are not motions of their own: judge the robot on another log"]
    said = f"the motion repeats itself every {period:.4g} s"
    if distinct:
        return [f"{said}: what is held out is one of {count} parts of the period, in all repetitions"]
    return [f"{said}, too soon to hold out a part of it: what is held out is the same motion, judge on another log"]
