"""Identification: regressor and QR of a long log, beside a loop over Pinocchio's regressor and NumPy's lstsq.

    python benchmarks/identify.py [--samples 1000000] [--others 20000]

Panda, ten parameters per body, viscous and Coulomb friction and an offset per joint. Ours: `compress` (regressor,
triangles) and least squares, one thread. Theirs: Pinocchio's regressor for each sample, friction columns, and
`numpy.linalg.lstsq` of the whole, on fewer samples and scaled up (it is linear in them; the whole of a million
would need 5 GB). Excitation has a benchmark of its own, benchmarks/excitation.py.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import dalembert as dl
from dalembert.identification.fit.estimate import least_squares
from dalembert.identification.fit.regression import compress
from dalembert.identification.fit.regressor import Columns, base
from dalembert.identification.log.samples import Samples


def states(robot: dl.Robot, count: int) -> Samples:
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (3, count, robot.n))
    tau = robot.inverse_dynamics(q, qd, qdd, friction=True) + rng.normal(size=q.shape)
    t = np.arange(count) * 1e-3
    return Samples(t, q, qd, qdd, tau, robot.joint_names, 1e-3, np.inf, np.zeros(robot.n), np.ones(robot.n))


def ours(columns: Columns, run: Samples) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    b = base(columns)
    beta = least_squares(compress(columns, b, run), weighted=False).beta
    return time.perf_counter() - start, beta


def theirs(robot: dl.Robot, run: Samples) -> float:
    import pinocchio as pin

    model = pin.buildModelFromXML(robot.to_urdf())
    data = model.createData()
    n, count = robot.n, len(run)
    start = time.perf_counter()
    Y = np.zeros((count, n, 10 * n + 3 * n))
    place = np.arange(n)
    for k in range(count):
        Y[k, :, : 10 * n] = pin.computeJointTorqueRegressor(model, data, run.q[k], run.qd[k], run.qdd[k])
        Y[k, place, 10 * n + place] = run.qd[k]
        Y[k, place, 11 * n + place] = np.sign(run.qd[k])
        Y[k, place, 12 * n + place] = 1.0
    np.linalg.lstsq(Y.reshape(count * n, -1), run.tau.reshape(-1), rcond=None)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--others", type=int, default=20_000)
    options = parser.parse_args()
    robot = dl.load("panda")
    columns = Columns(robot, ("viscous", "coulomb", "offset"), rotor=False)
    ours(columns, states(robot, 1000))  # compiled
    some = states(robot, options.others)
    scale = options.samples / options.others
    other = min(theirs(robot, some) for _ in range(2)) * scale
    mine, _ = ours(columns, states(robot, options.samples))
    print(
        f"{options.samples} samples: ours {mine:.2f} s, Pinocchio's loop and lstsq {other:.1f} s (scaled from "
        f"{options.others}), {other / mine:.1f}×"
    )


if __name__ == "__main__":
    main()
