"""A large batch by several threads: pieces of the first dimension, each through the same ufunc, which frees the GIL.

One pool for the process, never larger than the processors it may use, whoever calls and however often: two callers
share it. The default everywhere is one thread, so that programs which run a process per core are not surprised.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from dalembert.errors import InputError

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
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads must be a positive number or 'all', got {threads!r}")
    return min(threads, available())


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Keyed by the process: after a fork the parent's threads are not there."""
    return ThreadPoolExecutor(available(), thread_name_prefix="dalembert")


def run(ufunc: np.ufunc, cores: list[tuple[int, ...]], outputs: int, arguments: Any, out: Any, threads: int) -> Any:
    """The ufunc over the whole batch. `cores` are the core shapes of its arguments, then of its results."""
    if threads == 1:
        return ufunc(*arguments) if out is None else ufunc(*arguments, out=out)
    arrays = [np.asarray(a) for a in arguments]
    batches = [a.shape[: a.ndim - len(c)] for a, c in zip(arrays, cores, strict=False)]
    batch = np.broadcast_shapes(*batches)
    states = batch[0] if batch else 0
    pieces = min(threads, int(np.prod(batch)) // SMALLEST if batch else 0, states)
    if pieces < 2:
        return ufunc(*arguments) if out is None else ufunc(*arguments, out=out)
    results = out if isinstance(out, tuple) else (out,) if out is not None else None
    if results is None:
        kind = np.result_type(*arrays) if all(a.dtype == np.float32 for a in arrays) else np.float64
        results = tuple(np.empty((*batch, *core), kind) for core in cores[len(arrays) :])
    wide = [np.broadcast_to(a, (*batch, *c)) for a, c in zip(arrays, cores, strict=False)]
    edges = [states * k // pieces for k in range(pieces + 1)]

    def piece(k: int) -> None:
        part = slice(edges[k], edges[k + 1])
        ufunc(*(a[part] for a in wide), out=tuple(r[part] for r in results))

    pool = _pool(os.getpid())
    waiting = [pool.submit(piece, k) for k in range(1, pieces)]
    piece(0)  # the caller works too
    for w in waiting:
        w.result()
    return results if outputs > 1 else results[0]
