"""A large batch by several threads: pieces of the first dimension, each through the same ufunc, which frees the GIL.

One pool for the process, never larger than the processors it may use, whoever calls and however often: two callers
share it. The default everywhere is one thread, so that programs which run a process per core are not surprised.
"""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any

import numpy as np

from dalembert.errors import InputError

PIECES = 8  # per thread
SMALLEST = 2_000  # states per piece: below, starting a thread costs more than it saves


def available() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def checked(threads: int | str) -> int:
    """The number of threads meant: a positive number (no more than there are processors), or "all"."""
    if threads == "all":
        return available()
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise InputError(f"threads must be a positive number or 'all', got {threads!r}")
    return min(int(threads), available())


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Keyed by the process: after a fork the parent's threads are not there."""
    return ThreadPoolExecutor(available(), thread_name_prefix="dalembert")


def run(ufunc: np.ufunc, cores: list[tuple[int, ...]], outputs: int, arguments: Any, out: Any, threads: int) -> Any:
    """The ufunc over the whole batch. `cores` are the core shapes of its arguments, then of its results.

    Whatever is out of the ordinary (shapes that do not fit, subclasses, results that overlap arguments) goes through
    in one piece: NumPy then does, or says, what it always does."""
    plan = _plan(cores, arguments, out, threads) if threads > 1 else None
    if plan is None:
        return ufunc(*arguments) if out is None else ufunc(*arguments, out=out)
    wide, results, edges = plan
    state = np.geterr()

    turn = itertools.count()  # whoever is free takes the next piece: a slow core does not hold up the others

    def work() -> None:
        with np.errstate(**state):  # the caller's, in this thread too
            while (k := next(turn)) < len(edges) - 1:
                part = slice(edges[k], edges[k + 1])
                ufunc(*(a[part] for a in wide), out=tuple(r[part] for r in results))

    pool = _pool(os.getpid())
    waiting = [pool.submit(work) for _ in range(min(threads, len(edges) - 1) - 1)]
    try:
        work()  # the caller works too
    finally:
        wait(waiting)  # nobody writes into `out` after this returns
    for w in waiting:
        w.result()
    return results if outputs > 1 else results[0]


Plan = tuple[list[np.ndarray[Any, Any]], tuple[np.ndarray[Any, Any], ...], list[int]]


def _plan(cores: list[tuple[int, ...]], arguments: Any, out: Any, threads: int) -> Plan | None:
    """Arguments broadcast, results made, and where the pieces begin; None if it should go through in one."""
    try:
        arrays = [np.asarray(a) for a in arguments]
    except ValueError:
        return None
    plain = all(type(a) in (np.ndarray, list, tuple) for a in arguments)
    fitting = all(a.ndim >= len(c) and a.shape[a.ndim - len(c) :] == c for a, c in zip(arrays, cores, strict=False))
    if len(arrays) >= len(cores) or not plain or not fitting:
        return None
    try:
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(c)] for a, c in zip(arrays, cores, strict=False)))
    except ValueError:
        return None
    pieces = min(PIECES * threads, int(np.prod(batch)) // SMALLEST, batch[0]) if batch else 0
    if pieces < 2:
        return None
    wanted = [(*batch, *core) for core in cores[len(arrays) :]]
    if out is None:
        kind = np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64
        results: tuple[Any, ...] = tuple(np.empty(shape, kind) for shape in wanted)
    else:
        results = out if isinstance(out, tuple) else (out,)
        if [getattr(r, "shape", None) for r in results] != wanted:
            return None
        if any(np.may_share_memory(r, a) for r in results for a in arrays):
            return None
    wide = [np.broadcast_to(a, (*batch, *c)) for a, c in zip(arrays, cores, strict=False)]
    return wide, results, [batch[0] * k // pieces for k in range(pieces + 1)]
