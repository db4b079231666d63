"""Inverse kinematics: solve rate and time per pose, beside the Robotics Toolbox's C++ solver at an equal tolerance.

    python benchmarks/ik.py [--poses 10000] [--others 300]

Poses are fk of joint positions drawn inside the limits. A pose counts as solved if forward kinematics at the answer is
within 1e-5 m and 1e-5 rad and the answer within the limits. The toolbox's tolerance is on half the squared error,
5e-11; it gets its best gain, and the joint limits. Batches are the best of eleven rounds; single calls go through the
public method, the best of three for each pose, averaged.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np

import dalembert as dl

TOLERANCE = 1e-5


def best(rounds: int, f: Callable[[], object]) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def solved(robot: dl.Robot, q: np.ndarray, T: np.ndarray) -> np.ndarray:
    D = robot.fk(q) - T
    position = np.linalg.norm(D[..., :3, 3], axis=-1)
    angle = np.linalg.norm(D[..., :3, :3], axis=(-2, -1)) / np.sqrt(2)
    inside = ((q >= robot.limits.lower - 1e-9) & (q <= robot.limits.upper + 1e-9)).all(-1)
    return (position <= 1.01 * TOLERANCE) & (angle <= 1.01 * TOLERANCE) & inside


def toolbox_chain(robot: dl.Robot):
    """The same chain as the toolbox's elementary transforms."""
    import roboticstoolbox as rtb

    chain = None
    for k, body in enumerate(robot.model.bodies):
        assert tuple(body.axis) == (0.0, 0.0, 1.0) and body.kind == "revolute"
        limits = [robot.limits.lower[k], robot.limits.upper[k]]
        link = rtb.ET.SE3(np.array(body.placement.matrix())) * rtb.ET.Rz(jindex=k, qlim=limits)
        chain = link if chain is None else chain * link
    return chain * rtb.ET.SE3(np.array(robot.model.frame(None).pose.matrix()))


def toolbox(robot: dl.Robot, T: np.ndarray) -> tuple[float, float]:
    """(solve rate, seconds per pose), of the better of two gains."""
    chain = toolbox_chain(robot)
    results = []
    for gain in (0.1, 1.0):
        q, times = np.empty((len(T), robot.n)), []
        for i, pose in enumerate(T):
            rounds = []
            for _ in range(2):
                start = time.perf_counter()
                answer = chain.ik_LM(pose, method="chan", k=gain, joint_limits=True, tol=0.5 * TOLERANCE**2)
                rounds.append(time.perf_counter() - start)
            q[i] = answer[0]
            times.append(min(rounds))
        wrapped = np.where(robot.limits.upper - robot.limits.lower >= 2 * np.pi, (q + np.pi) % (2 * np.pi) - np.pi, q)
        results.append((float(solved(robot, wrapped, T).mean()), float(np.mean(times))))
    return min(results, key=lambda r: r[1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--poses", type=int, default=10_000)
    parser.add_argument("--others", type=int, default=300, help="poses for the toolbox")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("robot     solved    batch us/pose   single us   toolbox: solved   us/pose   batch ×   single ×")
    for name in ("panda", "ur5e", "puma560", "iiwa7"):
        robot = dl.load(name)
        rng = np.random.default_rng(11)
        q = rng.uniform(robot.limits.lower, robot.limits.upper, (options.poses, robot.n))
        T = robot.fk(q)
        answer = robot.ik(T, tolerance=TOLERANCE)
        rate = solved(robot, answer.q, T).mean()
        batch = best(11, lambda r=robot, t=T: r.ik(t, tolerance=TOLERANCE)) / len(T)
        some = T[: options.others]
        single = np.mean([best(3, lambda r=robot, t=t: r.ik(t, tolerance=TOLERANCE)) for t in some])
        line = f"{name:9} {rate:7.4f} {batch * 1e6:14.2f} {single * 1e6:11.1f}"
        try:
            theirs, seconds = toolbox(robot, some)
            line += f" {theirs:17.3f} {seconds * 1e6:9.1f} {seconds / batch:9.0f} {seconds / single:10.1f}"
        except ImportError:
            line += "   (no toolbox: pip install roboticstoolbox-python)"
        print(line, flush=True)


if __name__ == "__main__":
    main()
