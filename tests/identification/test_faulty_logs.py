"""Logs with faults, through the command line alone: `benchmarks/faulty_logs.py` in small."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import faulty_logs
from faulty_logs import Case, Results, cases, run, run_all, show, verdict


def test_corpus():
    """Two hundred files, no two the same; every fault alone on every arm, and at least forty pairs."""
    every = cases(200, seed=0)
    assert len({case.name for case in every}) == 200
    assert {(case.arm, *case.faults) for case in every} >= {
        (arm, fault) for arm in faulty_logs.ARMS for fault in faulty_logs.FAULTS
    }
    assert sum(len(case.faults) == 2 for case in every) >= 40


@pytest.mark.parametrize(
    "case", [Case("tiny", "spline", ("all signs",), 0), Case("tiny", "points", ("stale rows",), 0)]
)
def test_fault_is_named_and_mended(case):
    clean = run(case.clean, apply=True)
    assert clean.code == 0
    assert verdict(run(case, apply=True), clean) == ("good", True)
    how, _ = verdict(run(case, apply=False), clean)
    assert how in ("good", "refused")


@pytest.mark.long
def test_ten_logs(capsys):
    wanted, results = cases(10, seed=1), Results(None)
    run_all(wanted, (True, False), results, processes=1, keep=None)
    assert show(wanted, (True, False), results), capsys.readouterr().out
