"""Certified bounds against the clock, and against random states.

`python benchmarks/bounds.py` proves the bounds of the small arms to 5 % and of Panda to 10 %, with the time each took;
then draws random states, ten million of them, and looks for one that contradicts a bound. `--states 1e6` for fewer.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import dalembert as dl
from dalembert.bounds import QUANTITIES

SMALL = ["mu1", "mu2", "gravity_1", "gravity_2", "coriolis_1", "coriolis_2"]
LARGE = ["mu2", "mass_norm", "gravity_1", "gravity_2", "gravity_inf"]
TASKS = [
    ("planar-2r-points", SMALL, 0.05),
    ("scara", SMALL, 0.05),
    ("elbow-3r", SMALL, 0.05),
    ("rp", SMALL, 0.05),
    ("stanford", SMALL, 0.05),
    ("puma560", SMALL, 0.05),
    ("panda", LARGE, 0.10),
]
CHUNK = 100_000


def contradictions(robot: dl.Robot, found: dl.Findings, states: int, seed: int) -> dict[str, float]:
    """For each bound, by how much the worst random state is within it (negative: contradicted)."""
    rng = np.random.default_rng(seed)
    room = {b.name: np.inf for b in found}
    table = {x.name: x for x in QUANTITIES}
    for _ in range(states // CHUNK):
        q = rng.uniform(found.facts.lower, found.facts.upper, (CHUNK, robot.n))
        # a third of the states on the box's faces, where extremes often are
        face = rng.random(q.shape) < 0.15
        q[: CHUNK // 3] = np.where(face, np.where(rng.random(q.shape) < 0.5, found.facts.lower, found.facts.upper), q)[
            : CHUNK // 3
        ]
        qd = rng.normal(size=q.shape) * (rng.random(q.shape) < 0.6)
        qd[~qd.any(axis=1)] = 1.0
        for b in found:
            quantity = table[b.name]
            value = quantity.met(robot, np.concatenate([q, qd], axis=1) if quantity.speeds else q)
            left = b.certified - value.max() if b.side == "upper" else value.min() - b.certified
            room[b.name] = min(room[b.name], float(left) / b.attained)
    return room


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=float, default=1e7, help="random states for each arm")
    parser.add_argument("--seconds", type=float, default=60.0, help="time for each arm's proofs")
    parser.add_argument("robots", nargs="*", help="only these")
    given = parser.parse_args()
    warnings.simplefilter("ignore", dl.ModelWarning)
    for name, names, gap in TASKS:
        if given.robots and name not in given.robots:
            continue
        arm = dl.load(name)
        start = time.perf_counter()
        found = arm.bounds(names, gap=gap, seconds=given.seconds)
        print(f"{found}\n{time.perf_counter() - start:.1f} s in all", flush=True)
        start = time.perf_counter()
        room = contradictions(arm, found, int(given.states), 1)
        worst = min(room.values())
        words = "none contradicts" if worst >= 0 else "CONTRADICTED"
        took = time.perf_counter() - start
        print(f"{int(given.states):,} random states: {words}; nearest {worst:.2%} ({took:.0f} s)\n", flush=True)


if __name__ == "__main__":
    main()
