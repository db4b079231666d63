"""A large batch by several threads: each calls the kernel once, and they take pieces of the batch by turns.

A thread runs `dalembert_turns`, the kernel's own loop with one more argument, a counter, after the others: NumPy hands
it the whole batch, and it calls the kernel's loop on the next piece until none is left. So a thread that got a slow
core takes fewer pieces, and Python is out of it.

One pool for the process, never larger than the processors it may use, whoever calls and however often: two callers
share it. The default everywhere is one thread, so that programs which run a process per core are not surprised.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from queue import SimpleQueue
from threading import Lock, Thread
from time import sleep
from typing import Any, Protocol

import numpy as np

from dalembert.compile import llvm, ufunc
from dalembert.errors import InputError

SYMBOL = "dalembert_turns"
WORK = 1_000_000  # operations per piece: some 50 microseconds, the longest that one thread waits for another
TURNS_WAITED = 200
FEWEST = 4  # pieces: below, waking a thread costs more than it saves
_COUNTER = np.dtype(np.int64).num

# An item that follows the counter moves one place down; the counter itself is overwritten by it (an output follows).
IR = f"""
define void @{SYMBOL}(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind "no-stack-arg-probe" {{
entry:
  %place = getelementptr i64, ptr %data, i64 1
  %counter_at = load i64, ptr %place
  %all = getelementptr i64, ptr %data, i64 2
  %arrays = load i64, ptr %all
  %every = getelementptr i64, ptr %data, i64 3
  %strides = load i64, ptr %every
  %size = getelementptr i64, ptr %data, i64 4
  %piece = load i64, ptr %size
  %loop_at = load ptr, ptr %data
  %n = load i64, ptr %dims
  %slot = getelementptr ptr, ptr %args, i64 %counter_at
  %counter = load ptr, ptr %slot
  %here = alloca ptr, i64 %arrays
  %own = alloca i64, i64 %strides
  %count = alloca i64
  br label %copy
copy:
  %s = phi i64 [0, %entry], [%s_next, %copy]
  %s_from = getelementptr i64, ptr %steps, i64 %s
  %stride = load i64, ptr %s_from
  %s_after = icmp sgt i64 %s, %counter_at
  %s_down = zext i1 %s_after to i64
  %s_place = sub i64 %s, %s_down
  %s_to = getelementptr i64, ptr %own, i64 %s_place
  store i64 %stride, ptr %s_to
  %s_next = add i64 %s, 1
  %s_more = icmp slt i64 %s_next, %strides
  br i1 %s_more, label %copy, label %take
take:
  %first = atomicrmw add ptr %counter, i64 %piece monotonic
  %some = icmp slt i64 %first, %n
  br i1 %some, label %move, label %done
move:
  %a = phi i64 [0, %take], [%a_next, %move]
  %a_from = getelementptr ptr, ptr %args, i64 %a
  %base = load ptr, ptr %a_from
  %step_at = getelementptr i64, ptr %steps, i64 %a
  %step = load i64, ptr %step_at
  %offset = mul i64 %first, %step
  %a_here = getelementptr i8, ptr %base, i64 %offset
  %a_after = icmp sgt i64 %a, %counter_at
  %a_down = zext i1 %a_after to i64
  %a_place = sub i64 %a, %a_down
  %a_to = getelementptr ptr, ptr %here, i64 %a_place
  store ptr %a_here, ptr %a_to
  %a_next = add i64 %a, 1
  %a_more = icmp slt i64 %a_next, %arrays
  br i1 %a_more, label %move, label %run
run:
  %left = sub i64 %n, %first
  %short = icmp slt i64 %left, %piece
  %states = select i1 %short, i64 %left, i64 %piece
  store i64 %states, ptr %count
  %loop = load ptr, ptr %loop_at
  call void %loop(ptr %here, ptr %count, ptr %own, ptr null)
  br label %take
done:
  ret void
}}
"""


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
        problem = f"threads must be a positive number or 'all', got {threads!r}"
        raise InputError("wrong-value", "threads", threads, problem=problem)
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


def run(kernel: Shared, arguments: Sequence[object], out: object, threads: int) -> Any:
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
    function = kernel.single_turns if ufunc.is_single(wide) else kernel.turns
    counter = np.zeros((), np.int64)
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
    @property
    def single_turns(self) -> np.ufunc: ...


_DOUBLE = np.dtype(np.float64)


def _plain(kernel: Shared, arguments: Sequence[Any], out: Any) -> tuple[Arrays, Arrays, Arrays] | None:
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
    if 0 in shape or states <= FEWEST * piece(kernel.operations):
        return None
    if out is None:
        out = np.empty(shape)
    elif not _writable((out,), [shape], _DOUBLE) or any(np.may_share_memory(out, a) for a in arguments):
        return None
    return tuple(arguments), (out,), (out,)


def _plan(kernel: Shared, arguments: Sequence[object], out: object) -> tuple[Arrays, Arrays, Arrays] | None:
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
    kind = np.dtype(np.float32 if ufunc.is_single(arguments) else np.float64)
    states = math.prod(batch)
    fitting = all(a.ndim >= len(c) and a.shape[a.ndim - len(c) :] == c for a, c in zip(arrays, cores, strict=True))
    castable = all(np.can_cast(a.dtype, kind) for a in arrays)
    if not (fitting and castable and states > FEWEST * piece(kernel.operations)):
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


def _flat(
    a: np.ndarray[Any, Any], batch: tuple[int, ...], core: tuple[int, ...], kind: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """An array broadcast over the batch, with one dimension of states and the wanted type; itself where it can be."""
    if a.shape != (*batch, *core):
        a = np.broadcast_to(a, (*batch, *core))
    if len(batch) > 1:
        a = a.reshape(math.prod(batch), *core)
    return a if a.dtype == kind else a.astype(kind)


def _writable(results: Sequence[object], wanted: list[tuple[int, ...]], kind: np.dtype[Any]) -> bool:
    """Whether NumPy will write the results where they are, not into a copy (of which each thread would have one)."""
    return [getattr(r, "shape", None) for r in results] == wanted and all(
        type(r) is np.ndarray and r.dtype == kind and r.flags.aligned and r.flags.writeable for r in results
    )


# the loop that threads share


def piece(operations: int) -> int:
    """States that a thread takes at a time."""
    return max(WORK // max(operations, 1), 16)


def share(function: np.ufunc, signature: str, core: int, states: int) -> np.ufunc:
    """`function` for several threads, with the counter (an int64 zero) as its last argument. `core` counts the core
    dimensions of all its arrays together; `states` make a piece."""
    code = llvm.linked(lambda: IR, (SYMBOL,), IR)
    inputs, arrays = function.nin, function.nargs + 1
    data = (ctypes.c_int64 * 5)(ufunc.loops(function), inputs, arrays, arrays + core, states)
    kinds = [np.dtype(letter).num for letter in function.types[0].replace("->", "")]
    left, right = signature.split("->")
    return ufunc.assemble(
        [code.addresses[SYMBOL]],
        [ctypes.addressof(data)],
        [[*kinds[:inputs], _COUNTER, *kinds[inputs:]]],
        f"{left},()->{right}",
        function.__name__,
        "",
        (code, data, function),
    )
