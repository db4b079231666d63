"""The terminal: what stops a command, in a line on standard error and an exit code, never as a traceback; warnings; and
what a command is doing, for whoever waits."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, TextIO

import click

from dalembert.apps.cli.encoding import prepare
from dalembert.errors import DalembertError
from dalembert.names import in_terminal

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE = 1.0  # [s] before anything is shown to whoever waits
MANY_JOINTS = 100  # of more, closed forms and compiled loops take minutes, and that is said at once
JOINTS = f"{__name__}.joints"  # under which the context of a command keeps how many its robot has
SHOW_CURSOR = b"\x1b[?25h"  # a status line hides it
INTERRUPTED, UNREAD = 130, 141  # what shells report of programs that SIGINT and SIGPIPE ended


class Interrupted(click.ClickException):
    """Ctrl-C."""

    exit_code = INTERRUPTED

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.format_message(), file=file, err=True)


@contextmanager
def report_errors() -> Iterator[None]:
    """What the user, the disk or the memory did, as click reports it."""
    try:
        yield
    except DalembertError as error:
        raise click.ClickException(in_terminal(str(error))) from None
    except KeyboardInterrupt:
        raise Interrupted("interrupted") from None
    except BrokenPipeError:
        _silence()
        raise click.exceptions.Exit(UNREAD) from None
    except OSError as error:
        if error.filename is None:  # what cannot be printed now cannot be printed at the end either
            _silence()
        raise click.ClickException(in_terminal(_sentence(error))) from None
    except MemoryError as error:
        detail = f": {error}" if str(error) else ""
        raise click.ClickException(f"there is not enough memory for this{detail}") from None


@contextmanager
def interruptible() -> Iterator[None]:
    """While the body of a command runs, raise KeyboardInterrupt on Ctrl-C, but end the process if a module is being
    imported. Nothing changes where Ctrl-C is not left to the system, as `dalembert.__main__` leaves it."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            if sys.stderr is not None and sys.stderr.isatty():
                os.write(2, SHOW_CURSOR)
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        frame = frame.f_back
    raise KeyboardInterrupt


def _sentence(error: OSError) -> str:
    what = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {what}" if error.filename is not None else f"the output cannot be written: {what}"


def _silence() -> None:
    """Nothing more goes to standard output, not even what Python still holds of it."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def prepare_streams() -> None:
    """Spell characters in ASCII that a stream cannot encode, and escape sequences of files in plain characters. Discard
    the output of a closed stream."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for as long as the program runs
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            prepare(stream)
    if isinstance(sys.stdout, io.TextIOWrapper) and "write" not in vars(sys.stdout):
        write = sys.stdout.write
        vars(sys.stdout).update(write=lambda text: write(in_terminal(text)), write_styled=write)


def echo_styled(text: str) -> None:
    """Print what holds escapes of our own, and none of a file's."""
    getattr(sys.stdout, "write_styled", sys.stdout.write)(text)
    sys.stdout.flush()


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning as a line for users: the place in the source says nothing to them."""
    click.echo(f"warning: {in_terminal(str(message))}", err=True)


# for whoever waits


@contextmanager
def waiting(words: str, *, heavy: bool = False) -> Iterator[Callable[[str], None]]:
    """Shows `words`, and what it is then called with, while the block runs: a line on standard error, after a second,
    if that is a terminal. What is `heavy` says at once, wherever that goes, that a robot has many joints."""
    context = click.get_current_context(silent=True)
    joints = context.meta.get(JOINTS, 0) if context is not None else 0
    if heavy and joints > MANY_JOINTS:
        click.echo(f"{words}: {joints} joints may take many minutes, and much memory (Ctrl-C ends it)", err=True)
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
        self.status: Status | None = None
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
