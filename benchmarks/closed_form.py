"""Closed-form inverse kinematics: time per pose, all branches, and beside it EAIK's on the same arms and poses.

    python benchmarks/closed_form.py [--poses 100000] [--eaik PYTHON]

Ours is `Robot.ik_all`, whole: subproblems, joint limits, residual of every branch, duplicates, the `Solutions` object.
EAIK (pip install EAIK) is run in this process if it is there, or in another interpreter (`--eaik`, a Python that has
it), batched on one thread and pose by pose. Best of five, one thread each; the machine's other load is not ours.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from timing import best

import dalembert as dl
from dalembert.kinematics.ik.closed_form import solver_of

EAIK = """
import sys, time
import numpy as np
from eaik.IK_HP import HPRobot
data = np.load(sys.argv[1])
robot = HPRobot(data["H"], data["P"])
T = data["T"]
def best(f):
    times = []
    for _ in range(5):
        start = time.perf_counter(); f(); times.append(time.perf_counter() - start)
    return min(times)
few = T[:2000]
print(best(lambda: robot.IK_batched(T, 1)) / len(T), best(lambda: [robot.IK(x) for x in few]) / len(few),
      np.mean([s.num_solutions() for s in robot.IK_batched(few, 1)]))
"""


def product_of_exponentials(robot: dl.Robot) -> tuple[np.ndarray, np.ndarray]:
    """Axes (n, 3) and offsets (n + 1, 3) of a chain whose tip has no rotation at q = 0, as EAIK takes them."""
    S, home = robot.to_screws()
    H = S[:, 3:]
    points = np.cross(H, S[:, :3])
    stations = np.vstack([np.zeros(3), points, home[:3, 3]])
    return H, np.diff(stations, axis=0)


def eaik(python: str, robot: dl.Robot, q: np.ndarray) -> str:
    H, P = product_of_exponentials(robot)
    _, home = robot.to_screws()
    turned = np.eye(4)
    turned[:3, :3] = home[:3, :3].T
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "poses.npz"
        np.savez(path, H=H, P=P, T=robot.fk(q) @ turned)
        done = subprocess.run([python, "-c", EAIK, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"EAIK did not run: {(done.stderr.strip().splitlines() or ['?'])[-1]}"
    batched, single, count = map(float, done.stdout.split())
    return f"EAIK {batched * 1e6:6.2f} µs batched, {single * 1e6:6.2f} µs single, {count:.2f} solutions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=100_000)
    parser.add_argument("--eaik", default=sys.executable, help="a Python that has EAIK")
    options = parser.parse_args()
    for name in ("puma560", "ur5e", "stanford", "scara", "planar-3r", "planar-2r", "elbow-3r"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dl.ModelWarning)
            robot = dl.load(name)
        q = robot.random_configuration(options.poses, seed=0)
        T = robot.fk(q)
        found = robot.ik_all(T, limits=False)
        ours = best(5, lambda T=T, robot=robot: robot.ik_all(T, limits=False)) / len(T)
        inside = best(5, lambda T=T, robot=robot: robot.ik_all(T)) / len(T)
        few = T[:2000]
        single = best(5, lambda few=few, robot=robot: [robot.ik_all(x, limits=False) for x in few]) / len(few)
        solver = solver_of(robot, None, False)
        assert not isinstance(solver, str)
        print(
            f"{name:10} {found.count.mean():.2f} solutions, residual {found.residual[found.found].max():.1e}, "
            f"{solver.kernel.operations} operations: {ours * 1e6:5.2f} µs batched ({inside * 1e6:.2f} inside limits), "
            f"{single * 1e6:6.2f} µs single"
        )
        if name in ("puma560", "ur5e"):
            print(f"{'':10} {eaik(options.eaik, robot, q)}")


if __name__ == "__main__":
    main()
