"""Free-flying robots beside Pinocchio, in one run: batches, single calls, and the first call of a new robot.

A quadruped (18 velocities) and humanoids (38 and 49) of the package example-robot-data. Both sides keep their results.
Batches of matrices are short, so that the kernel is timed and not the memory: 100,000 mass matrices of a humanoid are a
gigabyte. Writes benchmarks/results/floating.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
from timing import best_of_each

import dalembert as dl

RESULTS = Path(__file__).parent / "results"
ROBOTS = {"solo12": "solo12.urdf", "talos, 38": "talos_reduced.urdf"}
COLD = "g1_29dof_with_hand_rev_1_0.urdf"
STATES, FEW, LOOP, REPEAT = 20_000, 400, 400, 500


def file_of(name: str) -> Path:
    share = Path(pin.__file__).parents[4] / "share/example-robot-data/robots"
    return next(share.rglob(name))


def flying(name: str) -> tuple[dl.Robot, pin.Model]:
    file = file_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dl.load(file).with_base("floating"), pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())


def rows(name: str) -> list[tuple[str, ...]]:
    robot, m = flying(name)
    d = m.createData()
    assert (robot.nq, robot.nv) == (m.nq, m.nv)
    rng = np.random.default_rng(0)
    q = robot.random_configuration(STATES, seed=0)
    v, x = rng.normal(size=(2, STATES, robot.nv))
    kept = np.empty((3, LOOP, m.nv, m.nv))

    def keep(k: int, *values: np.ndarray) -> None:
        for place, value in zip(kept, values, strict=False):
            place[k] = value

    pairs = {
        "inverse dynamics": (robot.inverse_dynamics, lambda k: pin.rnea(m, d, q[k], v[k], x[k]), (q, v, x)),
        "forward dynamics": (robot.forward_dynamics, lambda k: pin.aba(m, d, q[k], v[k], x[k]), (q, v, x)),
        "mass matrix": (robot.mass_matrix, lambda k: keep(k, pin.crba(m, d, q[k])), (q,)),
        "∂ID": (
            robot.inverse_dynamics_derivatives,
            lambda k: keep(k, *pin.computeRNEADerivatives(m, d, q[k], v[k], x[k])),
            (q, v, x),
        ),
        "∂FD": (
            robot.forward_dynamics_derivatives,
            lambda k: keep(k, *pin.computeABADerivatives(m, d, q[k], v[k], x[k])),
            (q, v, x),
        ),
        "centroidal A": (robot.centroidal_momentum_matrix, lambda k: pin.ccrba(m, d, q[k], v[k]), (q,)),
    }
    found = []
    for what, (ours, theirs, arguments) in pairs.items():
        count = STATES if what.endswith("dynamics") else FEW
        batch = [a[:count] for a in arguments]
        lone = [a[0] for a in arguments]
        ours(*batch)
        times = best_of_each(
            9,
            {
                "ours": lambda f=ours, a=batch: f(*a),
                "theirs": lambda f=theirs: [f(k) for k in range(LOOP)],
                "one": lambda f=ours, a=lone: [f(*a) for _ in range(REPEAT)],
            },
            time.process_time,
        )
        each, loop, one = times["ours"] / count, times["theirs"] / LOOP, times["one"] / REPEAT
        ratio = loop / each
        found.append((what, f"{1e6 * each:.3f}", f"{1e6 * loop:.2f}", f"{ratio:.0f}×", f"{1e6 * one:.2f}"))
    return found


FIRST = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, dalembert as dl
import dalembert.compile
robot = dl.load(sys.argv[1]).with_base("floating")
q, v = robot.neutral, np.zeros(robot.nv)
for f in (robot.inverse_dynamics, robot.forward_dynamics):
    start = time.process_time()
    f(q, v, v)
    print(robot.nv, f.__name__, time.process_time() - start)
"""


def cold() -> list[tuple[str, ...]]:
    """The first calls of a humanoid in a process of their own, without the cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DALEMBERT_CACHE": folder}
        out = subprocess.run(
            [sys.executable, "-c", FIRST, str(file_of(COLD))],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    return [tuple(line.split()) for line in out.stdout.splitlines()]


def main() -> None:
    lines = [
        "# Free-flying robots beside Pinocchio",
        "",
        f"Batches of {STATES:,} states, of matrices {FEW}; processor time, best of 9.",
        "",
    ]
    for title, name in ROBOTS.items():
        lines += [
            f"## {title}",
            "",
            "| | µs a state | Pinocchio, loop | ratio | one call [µs] |",
            "|---|---|---|---|---|",
        ]
        lines += ["| " + " | ".join(row) + " |" for row in rows(name)] + [""]
    lines += [f"## First call of {COLD}, nothing cached", ""]
    lines += [f"- {what}, nv = {nv}: {float(t):.2f} s" for nv, what, t in cold()]
    text = "\n".join(lines) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "floating.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
