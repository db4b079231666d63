"""Inverse kinematics: solve rate and time per pose, beside the Robotics Toolbox's C++ solver at an equal tolerance.

    python benchmarks/ik.py [--poses 10000] [--others 300]

Poses are fk of joint positions drawn inside the limits. A pose counts as solved if forward kinematics at the answer is
within 1e-5 m and 1e-5 rad and the answer within the limits. The toolbox's tolerance is on half the squared error,
5e-11; it gets its best gain, and the joint limits. All take turns, four times, and the best round of each is
kept: of the batch, and of the mean over the poses in single calls, which go through the public method.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from timing import best

import dalembert as dl

TOLERANCE = 1e-5


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
        assert tuple(body.joint.axis) == (0.0, 0.0, 1.0) and body.joint.kind == "revolute"
        limits = [robot.limits.lower[k], robot.limits.upper[k]]
        link = rtb.ET.SE3(np.array(body.placement.matrix())) * rtb.ET.Rz(jindex=k, qlim=limits)
        chain = link if chain is None else chain * link
    return chain * rtb.ET.SE3(np.array(robot.model.frame(None).pose.matrix()))


def toolbox(chain, gain: float, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(answers, seconds) pose by pose."""
    q, seconds = [], []
    for pose in T:
        start = time.perf_counter()
        answer = chain.ik_LM(pose, method="chan", k=gain, joint_limits=True, tol=0.5 * TOLERANCE**2)
        seconds.append(time.perf_counter() - start)
        q.append(answer[0])
    return np.array(q), np.array(seconds)


def figures(robot: dl.Robot, T: np.ndarray, others: int) -> str:
    """All candidates in turns, the best time of each kept: machines are shared, and change from second to second."""
    some = T[:others]
    q = robot.ik(T, tolerance=TOLERANCE).q
    try:
        chain = toolbox_chain(robot)
    except ImportError:
        chain = None
    batch = single = np.inf
    theirs = dict.fromkeys((0.1, 1.0), np.inf)
    reached = {}
    for _ in range(4):
        batch = min(batch, best(5, lambda: robot.ik(T, tolerance=TOLERANCE)) / len(T))
        single = min(single, np.mean([best(1, lambda t=t: robot.ik(t, tolerance=TOLERANCE)) for t in some]))
        for gain in theirs if chain is not None else ():
            answers, seconds = toolbox(chain, gain, some)
            theirs[gain] = min(theirs[gain], seconds.mean())  # a mean: its restarts are drawn anew each time
            turns = robot.limits.upper - robot.limits.lower >= 2 * np.pi
            answers = np.where(turns, (answers + np.pi) % (2 * np.pi) - np.pi, answers)
            reached[gain] = solved(robot, answers, some).mean()
    line = f"{solved(robot, q, T).mean():7.4f} {batch * 1e6:14.2f} {single * 1e6:11.1f}"
    if chain is None:
        return line + "   (no toolbox: pip install roboticstoolbox-python)"
    gain = min(theirs, key=theirs.__getitem__)
    their = theirs[gain]
    return line + f" {reached[gain]:17.3f} {their * 1e6:9.1f} {their / batch:9.0f} {their / single:10.1f}"


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
        print(f"{name:9} {figures(robot, T, options.others)}", flush=True)


if __name__ == "__main__":
    main()
