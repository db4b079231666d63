"""A large batch by several threads: each calls the kernel once, and they take pieces of the batch by turns.

One pool for the process, never larger than the processors it may use, whoever calls and however often: two callers
share it. The default everywhere is one thread, so that programs which run a process per core are not surprised.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import cache, partial
from queue import SimpleQueue
from threading import Lock, Thread
from time import sleep
from typing import Any, Protocol

import numpy as np

from dalembert.compile import turns
from dalembert.errors import InputError

TURNS_WAITED = 200
FEWEST = 4  # pieces: below, waking a thread costs more than it saves


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
def _jobs(process: int) -> SimpleQueue[Callable[[], None]]:
    """The queue that this process's workers wait at: one less than its processors, since the caller works too. Keyed
    by the process: after a fork the parent's threads are not there."""
    queue: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def serve() -> None:
        while True:
            queue.get()()

    for k in range(max(available() - 1, 1)):
        Thread(target=serve, name=f"dalembert-{k + 1}", daemon=True).start()
    return queue


def run(kernel: Shared, arguments: Any, out: Any, threads: int) -> Any:
    """The kernel over the whole batch.

    Whatever is out of the ordinary (shapes that do not fit, subclasses, results that overlap arguments) goes to one
    thread: NumPy then does, or says, what it always does."""
    plan = None
    if threads > 1:
        plan = _plain(kernel, arguments, out) or _plan(kernel, arguments, out)
    if plan is None:
        return kernel.direct(*arguments) if out is None else kernel.direct(*arguments, out)
    wide, results, flat = plan
    state = np.geterr()
    function, counter = kernel.turns, turns.counter()
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def work() -> None:
        with np.errstate(**state):  # the caller's, in this thread too
            function(*wide, counter, out=flat)

    def help_out(begun: Lock) -> None:
        if begun.acquire(blocking=False):
            try:
                work()
            except BaseException as error:  # told to the caller, below
                ended.put(error)
            else:
                ended.put(None)

    helpers = [Lock() for _ in range(threads - 1)]
    for begun in helpers:
        _jobs(os.getpid()).put(partial(help_out, begun))
    try:
        work()  # the caller works too
    finally:
        # Those still busy elsewhere are told off; the others are waited for, so that nobody writes into `out` later.
        busy = sum(not begun.acquire(blocking=False) for begun in helpers)
        for _ in range(TURNS_WAITED):  # awake: they end within a piece, sooner than this thread would be woken
            if ended.qsize() >= busy:
                break
            sleep(0)
        errors = [ended.get() for _ in range(busy)]
    for error in errors:
        if error is not None:
            raise error
    return results if len(results) > 1 else results[0]


Arrays = tuple[np.ndarray[Any, Any], ...]


class Shared(Protocol):
    """What `run` needs of a kernel."""

    @property
    def inputs(self) -> tuple[tuple[int, ...], ...]: ...
    @property
    def outputs(self) -> tuple[tuple[int, ...], ...]: ...
    @property
    def operations(self) -> int: ...
    @property
    def direct(self) -> Callable[..., Any]: ...
    @property
    def turns(self) -> np.ufunc: ...


_DOUBLE = np.dtype(np.float64)


def _plain(kernel: Shared, arguments: Any, out: Any) -> tuple[Arrays, Arrays, Arrays] | None:
    """What `_plan` finds, sooner, for the common case: every argument an array of doubles (states, *core), and the
    result one too, or none given."""
    cores, outputs = kernel.inputs, kernel.outputs
    if len(arguments) != len(cores) or len(outputs) != 1 or type(arguments[0]) is not np.ndarray:
        return None
    states = len(arguments[0]) if arguments[0].ndim else 0
    for a, core in zip(arguments, cores, strict=True):
        if type(a) is not np.ndarray or a.dtype is not _DOUBLE or a.shape != (states, *core):
            return None
    shape = (states, *outputs[0])
    if 0 in shape or states <= FEWEST * turns.piece(kernel.operations):
        return None
    if out is None:
        out = np.empty(shape)
    elif not _writable((out,), [shape], _DOUBLE) or any(np.may_share_memory(out, a) for a in arguments):
        return None
    return tuple(arguments), (out,), (out,)


def _plan(kernel: Shared, arguments: Any, out: Any) -> tuple[Arrays, Arrays, Arrays] | None:
    """Arguments broadcast, results made, and the results again with one dimension of states; None if it should go
    to one thread."""
    cores = kernel.inputs
    if len(arguments) != len(cores) or not all(type(a) in (np.ndarray, list, tuple) for a in arguments):
        return None
    if any(0 in core for core in (*cores, *kernel.outputs)):
        return None
    try:
        arrays = [np.asarray(a) for a in arguments]
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(c)] for a, c in zip(arrays, cores, strict=True)))
    except ValueError:
        return None
    kind = np.dtype(np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64)
    states = math.prod(batch)
    fitting = all(a.ndim >= len(c) and a.shape[a.ndim - len(c) :] == c for a, c in zip(arrays, cores, strict=True))
    castable = all(np.can_cast(a.dtype, kind) for a in arrays)
    if not (fitting and castable and states > FEWEST * turns.piece(kernel.operations)):
        return None
    wanted = [(*batch, *core) for core in kernel.outputs]
    if out is None:
        results: Arrays = tuple(np.empty(shape, kind) for shape in wanted)
    else:
        results = out if isinstance(out, tuple) else (out,)
        if not _writable(results, wanted, kind) or any(np.may_share_memory(r, a) for r in results for a in arrays):
            return None
    flat = tuple(_flat(r, batch, core, kind) for r, core in zip(results, kernel.outputs, strict=True))
    if not all(np.may_share_memory(f, r) for f, r in zip(flat, results, strict=True)):
        return None  # no view has one dimension of states
    return tuple(_flat(a, batch, core, kind) for a, core in zip(arrays, cores, strict=True)), results, flat


def _flat(a: np.ndarray[Any, Any], batch: tuple[int, ...], core: tuple[int, ...], kind: np.dtype[Any]) -> Any:
    """An array broadcast over the batch, with one dimension of states and the wanted type; itself where it can be."""
    if a.shape != (*batch, *core):
        a = np.broadcast_to(a, (*batch, *core))
    if len(batch) > 1:
        a = a.reshape(math.prod(batch), *core)
    return a if a.dtype == kind else a.astype(kind)


def _writable(results: Any, wanted: list[tuple[int, ...]], kind: np.dtype[Any]) -> bool:
    """Whether NumPy will write the results where they are, not into a copy (of which each thread would have one)."""
    return [getattr(r, "shape", None) for r in results] == wanted and all(
        type(r) is np.ndarray and r.dtype == kind and r.flags.aligned and r.flags.writeable for r in results
    )
