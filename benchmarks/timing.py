"""How the benchmarks take their times: the best of several rounds, in which all candidates take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


def best(rounds: int, run: Callable[[], object]) -> float:
    """The least time of one candidate [s]."""
    return best_of_each(rounds, {"": run})[""]


def best_of_each(
    rounds: int, candidates: Mapping[str, Callable[[], object]], clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The least time of each candidate [s], over rounds in which they take turns: machines are shared and noisy. Of
    what runs on one thread, `clock=time.process_time` leaves out the time in which other programs had the processor:
    by the clock on the wall a long candidate always loses some, and a short one is lucky once."""
    least = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, run in candidates.items():
            start = clock()
            run()
            least[name] = min(least[name], clock() - start)
    return least
