"""What fuzzers share: their options, an input after the other until time is up, what became of each, and the ending.

An input is read, or refused with a DalembertError that says something. Whatever else comes out ends the run, and the
input is written to fuzz-failure.*; --seed and the number of an input make the same one again.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
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
    found.add_argument("--seed", type=int, default=0)
    return found


def count(options: argparse.Namespace, step: int = 1) -> Iterator[int]:
    """1, 2, … until inputs or seconds are over."""
    start = time.monotonic()
    for number in range(1, options.inputs + 1, step):
        yield number
        if time.monotonic() - start > options.seconds:
            return


def fuzz(options: argparse.Namespace, make: Make, slow: float) -> None:
    """Make and read inputs; none may take longer than `slow` seconds of the processor."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    slowest, told, number = 0.0, Counter[str](), 0
    for number in count(options):
        data, ending, read = make(random.Random(f"{options.seed} {number}"), number)
        begin = time.process_time()
        try:
            read(told)
        except DalembertError as error:
            told["refused"] += 1
            assert str(error), data
        except BaseException:
            kept = Path(f"fuzz-failure{ending}")
            kept.write_bytes(data)
            print(f"failed at input {number} (seed {options.seed}); written to {kept}", file=sys.stderr)
            raise
        slowest = max(slowest, time.process_time() - begin)
        assert slowest < slow, f"input {number} (seed {options.seed}) took {slowest:.1f} s"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = ", ".join(f"{times} {word}" for word, times in sorted(told.items()))
    print(f"{number} inputs: {found}; slowest {slowest:.2f} s, {memory:.0f} MB at most")
