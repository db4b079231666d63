"""A kernel's loop that several threads run at once over one batch: each takes the next piece from a shared counter.

The ufunc made here is the kernel's own with one more argument, the counter, after the others. Every thread calls it
once with the same arrays; NumPy hands the whole batch to `dalembert_turns`, which calls the kernel's loop on one piece
after another until none is left. So a thread that got a slow core takes fewer pieces, and Python is out of it.
"""

from __future__ import annotations

import ctypes
from functools import cache as once
from typing import Any

import numpy as np

from dalembert.compile import cache, llvm, ufunc

SYMBOL = "dalembert_turns"
WORK = 1_000_000  # operations per piece: some 50 microseconds, the longest that one thread waits for another
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


@once
def _code() -> llvm.Code:
    target = llvm.host()
    name = cache.key(IR, repr(target))
    code = cache.load(name)
    if code is None:
        code = llvm.object_code(IR, target)
        cache.store(name, code)
    return llvm.Code(code, target, (SYMBOL,))


def piece(operations: int) -> int:
    """States that a thread takes at a time."""
    return max(WORK // max(operations, 1), 16)


def make(function: np.ufunc, signature: str, core: int, states: int) -> np.ufunc:
    """`function` for several threads, with the counter (an int64 zero) as its last argument. `core` counts the core
    dimensions of all its arrays together; `states` make a piece."""
    code = _code()
    inputs, arrays = function.nin, function.nargs + 1
    loops = ufunc.loops(function)
    size = ctypes.sizeof(ctypes.c_void_p)
    data = [(ctypes.c_int64 * 5)(loops + k * size, inputs, arrays, arrays + core, states) for k in range(2)]
    left, right = signature.split("->")
    return ufunc.assemble(
        [code.addresses[SYMBOL]] * 2,
        [ctypes.addressof(d) for d in data],
        [[*kinds[:inputs], _COUNTER, *kinds[inputs:]] for kinds in ufunc.types(function.nargs)],
        f"{left},()->{right}",
        function.__name__,
        "",
        (code, data, function),
    )


def counter() -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.zeros((), np.int64)
