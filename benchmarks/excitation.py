"""Excitation: the condition number that the optimizer reaches, beside a random search of equal time.

    OPENBLAS_NUM_THREADS=1 python benchmarks/excitation.py [--seconds 60] [--robots panda ur10e]

Both use the same kernels, already compiled, limits (the robot's, 10 rad/s², flange above 0.1 m), margin and five
harmonics of 0.1 Hz. The random search draws series about mean positions, makes each as large as the limits allow, and
keeps the best. The number is that of the base regressor with rotor and friction columns, columns of equal
length, rows by the joints' torque limits.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import dalembert as dl
from dalembert.identification.excitation.design import PER_HARMONIC, excite, random_start
from dalembert.identification.excitation.limits import HalfSpace, read_limits
from dalembert.identification.excitation.problem import CRITERIA, FourierSeries, Problem, condition_number
from dalembert.identification.fit.regressor import Columns, base


def random_search(robot: dl.Robot, space: HalfSpace, weights: np.ndarray, seconds: float) -> tuple[float, int]:
    """(the best condition number, how many motions were tried)."""
    limits = read_limits(robot, None, None, None, 10.0, None, (space,)).within(0.05)
    columns = Columns(robot)
    problem = Problem(
        columns, base(columns), FourierSeries(5, 0.1), limits, CRITERIA["condition"], weights, PER_HARMONIC * 5
    )
    rng = np.random.default_rng(1)
    random_start(problem, limits, rng, problem.maps, between=False)
    best, count, end = np.inf, 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        A = problem.matrix(problem.values(random_start(problem, limits, rng, problem.maps, between=False)))
        best, count = min(best, condition_number(A.reshape(-1, A.shape[-1]))), count + 1
    return best, count


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--robots", nargs="+", default=["panda", "ur10e", "iiwa7"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("robot     base columns   seconds   optimized   evaluations   random   tried   ratio   limits")
    for name in options.robots:
        robot = dl.load(name)
        space = HalfSpace(robot.tip, (0.0, 0.0, 1.0), 0.1)
        excite(robot, acceleration=10.0, workspace=(space,), seconds=1e6, starts=1, harmonics=5)  # compiles
        e = excite(robot, acceleration=10.0, workspace=(space,), seconds=options.seconds, starts=1000)
        chance, tried = random_search(robot, space, e.weights, e.seconds)
        held = "hold" if e.certificate.feasible else "BROKEN"
        print(
            f"{name:9} {len(e.names):12} {e.seconds:9.1f} {e.condition:11.2f} {e.evaluations:13} {chance:8.2f} "
            f"{tried:7} {chance / e.condition:7.2f}   {held}",
            flush=True,
        )


if __name__ == "__main__":
    main()
