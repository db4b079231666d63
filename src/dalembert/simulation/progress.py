"""How far a run has got, shown to whoever waits for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from dalembert.errors import InputError

PATIENCE = 1.0  # [s] before a bar appears


class Progress:
    """Called with the part of a run that is done. `show`: None draws a bar on a terminal once a run takes longer than a
    second, True at once, False never, a function is called with the part done."""

    def __init__(self, show: bool | Callable[[float], Any] | None, title: str) -> None:
        if not (show is None or isinstance(show, bool) or callable(show)):
            raise InputError(f"progress is None, True, False or a function of the part done; got {type(show).__name__}")
        self.title, self.began = title, time.monotonic()
        self.hook = show if callable(show) else None
        self.wanted = show is not False and self.hook is None and sys.stderr.isatty()
        self.patience = 0.0 if show is True else PATIENCE
        self.bar: Any = None

    def __call__(self, part: float) -> None:
        if self.hook is not None:
            self.hook(part)
        elif self.wanted and self.bar is None and time.monotonic() - self.began > self.patience and part < 1:
            self._open()
        if self.bar is not None:
            self.bar.update(self.task, completed=part)

    def _open(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:
            self.wanted = False
            return
        words = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        self.bar = Progress(*words, TimeRemainingColumn(), console=Console(file=sys.stderr), transient=True)
        self.task = self.bar.add_task(self.title, total=1.0)
        self.bar.start()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
