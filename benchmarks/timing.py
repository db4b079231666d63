"""How the benchmarks take their times: the best of several rounds, in which all candidates take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def best(rounds: int, run: Callable[[], object]) -> float:
    """The least time of one candidate [s]."""
    return best_of_each(rounds, {"": run})[""]


def best_of_each(rounds: int, candidates: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """The least time of each candidate [s], over rounds in which they take turns: machines are shared and noisy."""
    least = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            least[name] = min(least[name], time.perf_counter() - start)
    return least
