"""One thread that does everything, so that nothing happens twice at once.

Pages send events from several tabs at any time, a slider hundreds of them. They are jobs here: done in order, one
after the other, and of several with one key that wait only the last is done. Between them the worker calls `beat`, as
long as that asks for more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import TypeVar

from dalembert.errors import InputError

Result = TypeVar("Result")


class Worker:
    """`beat()` is called every `period` [s] while it returns True; `failed(error)` is told what jobs raise."""

    def __init__(self, beat: Callable[[], bool], failed: Callable[[Exception], None], period: float = 1 / 25) -> None:
        self._beat, self._failed, self._period = beat, failed, period
        self._jobs: dict[Hashable, Callable[[], object]] = {}
        self._there = threading.Condition()
        self._beating = self._stopped = False
        self._thread = threading.Thread(target=self._run, name="studio", daemon=True)
        self._thread.start()

    def post(self, key: Hashable, job: Callable[[], object]) -> None:
        """To be done soon, instead of an earlier job of that key that still waits."""
        with self._there:
            if not self._stopped:
                self._jobs[key] = job
                self._there.notify()

    def start_beating(self) -> None:
        with self._there:
            self._beating = True
            self._there.notify()

    def call(self, job: Callable[[], Result], timeout: float = 60.0) -> Result:
        """What the job gives, done by the worker in its turn."""
        if threading.current_thread() is self._thread:
            return job()
        future: Future[Result] = Future()

        def done() -> None:
            try:
                future.set_result(job())
            except Exception as error:
                future.set_exception(error)

        with self._there:
            if self._stopped:
                raise InputError("this studio was closed")
            self._jobs[object()] = done
            self._there.notify()
        return future.result(timeout)

    def stop(self) -> None:
        """No more jobs; those that wait are dropped."""
        with self._there:
            self._stopped = True
            self._jobs.clear()
            self._there.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            with self._there:
                while not self._stopped and not self._jobs:
                    wait = due - time.monotonic() if self._beating else None
                    if wait is not None and wait <= 0:
                        break
                    self._there.wait(wait)
                if self._stopped:
                    return
                jobs, self._jobs = list(self._jobs.values()), {}
            for job in jobs:
                self._safely(job)
            if self._beating and time.monotonic() >= due:
                due = time.monotonic() + self._period
                self._beating = bool(self._safely(self._beat))

    def _safely(self, job: Callable[[], object]) -> object:
        try:
            return job()
        except Exception as error:
            self._failed(error)
            return None
