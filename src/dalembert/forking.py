"""A fork waits until no other thread compiles or imports.

The child has no other threads, but the locks that they held: it would find LLVM half way through, or a library that
is imported when it is first needed, and wait for ever."""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from contextlib import ExitStack

PATIENCE = 10.0  # seconds; an import that itself waits for the forking thread would never end
COMPILING = threading.RLock()  # one thread at a time imports llvmlite, sets it up and compiles
_held = ExitStack()  # the locks that a fork holds


def wait_for_compilers() -> None:
    _held.enter_context(COMPILING)
    # llvmlite's own lock: it takes it for every call into LLVM, also when it frees code.
    if lib := getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None):
        _held.enter_context(lib._lock)


def _let_go() -> None:
    _held.pop_all().close()


def _imports_elsewhere() -> bool:
    me, locks = threading.get_ident(), getattr(importlib._bootstrap, "_module_locks", {})
    return any(getattr(found(), "owner", None) not in (None, me) for found in list(locks.values()))


def _wait() -> None:
    end = time.monotonic() + PATIENCE
    wait_for_compilers()
    while _imports_elsewhere() and time.monotonic() < end:
        _let_go()  # what is imported may want to compile
        time.sleep(0.001)
        wait_for_compilers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_let_go, after_in_child=_let_go)
