"""The loop that all fuzzers share: options, one input after another until time is up, failures, and the summary.

An input passes if it is read, or refused with a DalembertError that has a message. Any other outcome is a failure.
The run goes on after a failure, prints the first traceback of each kind, writes that input to fuzz-failure-*, and exits
with code 1 at the end. Each run has a fresh seed unless --seed is given. The seed and the number of an input reproduce
it.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dalembert.errors import DalembertError

MEMORY = 4 << 30  # bytes that a run may take
Read = Callable[[Counter[str]], None]  # counts what it came to, or raises
Make = Callable[[random.Random, int], tuple[bytes, str, Read]]  # the input, the ending of its file, what reads it


def parser(words: str | None, inputs: int = 1_000_000, name: str = "inputs") -> argparse.ArgumentParser:
    """The options of every fuzzer: how many inputs, how many seconds, which seed."""
    found = argparse.ArgumentParser(description=words)
    found.add_argument(f"--{name}", dest="inputs", type=int, default=inputs)
    found.add_argument("--seconds", type=float, default=600)
    found.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="default: fresh")
    return found


def count(options: argparse.Namespace, step: int = 1) -> Iterator[int]:
    """Print the seed, then count 1, 2, … until inputs or seconds are over."""
    print(f"{Path(sys.argv[0]).name}: seed {options.seed}", flush=True)
    start = time.monotonic()
    for number in range(1, options.inputs + 1, step):
        yield number
        if time.monotonic() - start > options.seconds:
            return


class Failures:
    """The failures of a run, counted by kind: the exception and the line that raised it."""

    def __init__(self, seed: int) -> None:
        self.seed, self.kinds = seed, Counter[str]()

    @contextmanager
    def record(self, number: int, data: bytes = b"", ending: str = ".txt") -> Iterator[None]:
        """Record an exception that the block raises, with the input that caused it."""
        try:
            yield
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno} ({place.name})"
            self.kinds[kind] += 1
            if self.kinds[kind] == 1:
                kept = Path(f"fuzz-failure-{self.seed}-{number}{ending}")
                kept.write_bytes(data)
                traceback.print_exception(error)
                print(f"failed at input {number} (seed {self.seed}); written to {kept}", file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Print the failures by kind, and exit with code 1 if there are any."""
        for kind, times in self.kinds.most_common():
            print(f"{times} failures: {kind}")
        if self.kinds:
            sys.exit(1)


def fuzz(options: argparse.Namespace, make: Make, slow: float) -> None:
    """Make and read inputs; none may take longer than `slow` seconds of the processor."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    slowest, told, number, failures = 0.0, Counter[str](), 0, Failures(options.seed)
    for number in count(options):
        data, ending, read = make(random.Random(f"{options.seed} {number}"), number)
        with failures.record(number, data, ending):
            begin = time.process_time()
            try:
                read(told)
            except DalembertError as error:
                told["refused"] += 1
                assert str(error), "the error has no message"
            spent = time.process_time() - begin
            slowest = max(slowest, spent)
            assert spent < slow, f"the input took {spent:.1f} s"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = ", ".join(f"{times} {word}" for word, times in sorted(told.items()))
    failed = failures.kinds.total()
    print(f"{number} inputs: {found}, {failed} failed; slowest {slowest:.2f} s, {memory:.0f} MB at most")
    failures.finish()
