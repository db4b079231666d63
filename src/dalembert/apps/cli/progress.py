"""What a command is doing, for whoever waits: a line on standard error, after a second, if that is a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 1.0  # [s] before anything is shown


@contextmanager
def waiting(words: str) -> Iterator[Callable[[str], None]]:
    """Shows `words`, and what it is then called with, while the block runs."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    line = _Line(words)
    timer = threading.Timer(PATIENCE, line.open)
    timer.daemon = True
    timer.start()
    try:
        yield line.say
    finally:
        timer.cancel()
        line.close()


class _Line:
    """A moving line that opens late, and only if it has not been closed by then."""

    def __init__(self, words: str) -> None:
        self.words, self.over = words, False
        self.status: Any = None
        self.lock = threading.Lock()

    def open(self) -> None:
        from rich.console import Console
        from rich.text import Text

        with self.lock:
            if not self.over:
                self.status = Console(stderr=True).status(Text(f"{self.words} …"))
                self.status.start()

    def say(self, words: str) -> None:
        from rich.text import Text

        with self.lock:
            self.words = words
            if self.status is not None:
                self.status.update(Text(f"{words} …"))

    def close(self) -> None:
        with self.lock:
            self.over = True
            if self.status is not None:
                self.status.stop()
