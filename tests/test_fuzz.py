"""The loop of the fuzzers goes on after a failure, counts failures, and ends with an error."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).parent.parent / "fuzz"
PROGRAM = """
import sys
sys.path.insert(0, {fuzz!r})
from loop import fuzz, parser
from dalembert.errors import InputError

def make(rng, number):
    def read(told):
        if number in {bad}:
            raise KeyError(number)
        if number % 2:
            raise InputError("refused")
        told["read"] += 1
    return b"data", ".txt", read

fuzz(parser(None, 10).parse_args(), make, 60.0)
"""


def run(folder, bad, *options):
    program = [sys.executable, "-c", PROGRAM.format(fuzz=str(FUZZ), bad=bad), *options]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True)


def test_a_run_goes_on_after_a_failure_and_ends_with_an_error(tmp_path):
    done = run(tmp_path, (2, 6, 8), "--seed", "7")
    assert done.returncode == 1
    assert re.search(r"10 inputs: 2 read, 5 refused, 3 failed", done.stdout)
    assert "3 failures: KeyError" in done.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["fuzz-failure-7-2.txt"]


def test_each_run_prints_a_fresh_seed(tmp_path):
    runs = [run(tmp_path, ()) for _ in range(2)]
    assert [done.returncode for done in runs] == [0, 0]
    seeds = [re.search(r"seed (\d+)", done.stdout)[1] for done in runs]
    assert seeds[0] != seeds[1]
