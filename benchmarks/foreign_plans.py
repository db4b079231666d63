"""Plans of robots as they come, with the spheres that are made of their shapes: what share is solved of what the shapes
themselves, by coal, leave free at start and goal.

    python benchmarks/foreign_plans.py [problems per robot] [tolerance or -] [robot …]

Every problem has a random world of eight obstacles, a random start and a random goal.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import collision
import dalembert as dl
from dalembert.errors import DalembertError

ROBOTS = ("ur5e", "panda", "iiwa7", *collision.FOREIGN[:4])


def solve(robot: dl.Robot, problems: int, tolerance: float | None) -> str:
    of = robot.collision(tolerance=tolerance)
    link = of.spheres.coarse.link
    truth = collision.Truth(robot, {frozenset((link[a], link[b])) for a, b in of.spheres.pairs})
    size = float(np.abs(np.asarray(of.frames(robot.random_configuration(50, seed=0)))[..., 9:]).max()) + 0.1
    why: Counter[str] = Counter()
    feasible = solved = 0
    took = []
    for k in range(100 * problems):
        world, solids = collision.random_world(np.random.default_rng([7, k]), size)
        q = robot.random_configuration(2, seed=[7, k])
        if truth(q, solids).min() <= 0:
            continue
        feasible += 1
        began = time.process_time()
        try:
            plan = robot.plan(*q, world, timed=False, **({} if tolerance is None else {"spheres": of.spheres}))
            solved += plan.proved
            why["not proved"] += not plan.proved
        except DalembertError as error:
            why[" ".join(str(error).split()[:4])] += 1
        took.append(time.process_time() - began)
        if feasible == problems:
            break
    reasons = ", ".join(f"{word}: {count}" for word, count in why.most_common() if count)
    times = f"{np.median(took):.3f} s, at most {max(took):.2f} s"
    return f"{solved} of {feasible} ({times}; {len(of.spheres.fine)} spheres) {reasons}"


def main() -> None:
    warnings.simplefilter("ignore")
    site = Path(np.__file__).parents[1]
    count, tolerance, names = 50, None, list(sys.argv[1:])
    if names:
        count = int(names.pop(0))
    if names:
        word = names.pop(0)
        tolerance = None if word == "-" else float(word)
    for name in names or ROBOTS:
        robot = dl.load(name if "/" not in name else site / collision.DATA / name)
        print(f"{name}: {solve(robot, count, tolerance)}", flush=True)


if __name__ == "__main__":
    main()
