"""Free-flying robots beside Pinocchio, in one run: batches, single calls, and the first call of a new robot.

A quadruped (18 velocities) and humanoids (38 and 49) of the package example-robot-data. Both sides keep their results,
in arrays made once: Pinocchio's loop copies each matrix into its place, ours is called with `out`; what fresh memory
costs is a column of its own. Matrices of a humanoid are so large that memory alone limits what can be gained: the
column "writing alone" is the time in which NumPy fills the same arrays with a number, and the ratio in brackets what a
kernel that computes nothing would reach. Batches of matrices take 1 MB, which a cache holds, and 16 MB. Writes
benchmarks/results/floating.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from inspect import signature
from math import prod
from pathlib import Path

import numpy as np
import pinocchio as pin
from timing import best_of_each

import dalembert as dl

RESULTS = Path(__file__).parent / "results"
ROBOTS = {"solo12": "solo12.urdf", "talos, 38": "talos_reduced.urdf"}
COLD = "g1_29dof_with_hand_rev_1_0.urdf"
STATES, LOOP, REPEAT = 20_000, 400, 500
SIZES = (1 << 20, 1 << 24)  # bytes of a batch of matrices: in the cache, and beyond
WARM = 4_000  # states: short batches are repeated for about as long as Pinocchio's loop takes, most turns warm
ROUNDS = 25


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
            place[k, : len(value)] = value

    pairs = {
        "inverse_dynamics": (lambda k: pin.rnea(m, d, q[k], v[k], x[k]), (q, v, x)),
        "forward_dynamics": (lambda k: pin.aba(m, d, q[k], v[k], x[k]), (q, v, x)),
        "mass_matrix": (lambda k: keep(k, pin.crba(m, d, q[k])), (q,)),
        "inverse_dynamics_derivatives": (
            lambda k: keep(k, *pin.computeRNEADerivatives(m, d, q[k], v[k], x[k])),
            (q, v, x),
        ),
        "forward_dynamics_derivatives": (
            lambda k: keep(k, *pin.computeABADerivatives(m, d, q[k], v[k], x[k])),
            (q, v, x),
        ),
        "centroidal_momentum_matrix": (lambda k: keep(k, pin.ccrba(m, d, q[k], v[k])), (q,)),
    }
    found = []
    for what, (theirs, arguments) in pairs.items():
        each = 8 * sum(map(prod, robot.kernel(what).outputs))
        for count in (STATES,) if what.endswith("dynamics") else (size // each // 8 * 8 for size in SIZES):
            times = compare(robot, what, theirs, [a[:count] for a in arguments])
            found.append((what.replace("_", " "), f"{count:,}", *times))
    return found


def compare(robot: dl.Robot, what: str, theirs: Callable[[int], object], batch: list[np.ndarray]) -> tuple[str, ...]:
    """Times a state [µs]: into memory made once, into fresh memory, Pinocchio's loop, writing alone; a single call."""
    method, kernel = getattr(robot, what), robot.kernel(what)
    takes_out = "out" in signature(method).parameters
    count, lone = len(batch[0]), [np.ascontiguousarray(a[0]) for a in batch]
    out = tuple(np.empty((count, *shape)) for shape in kernel.outputs)
    given = out if len(out) > 1 else out[0]
    turns = max(1, WARM // count)  # a short batch again and again: it stays in the cache
    times = best_of_each(
        ROUNDS,
        {
            "ours": lambda: [(method if takes_out else kernel)(*batch, out=given) for _ in range(turns)],
            "fresh": lambda: [method(*batch) for _ in range(turns)],
            "writing": lambda: [array.fill(1.0) for _ in range(turns) for array in out],
            "theirs": lambda: [theirs(k) for k in range(LOOP)],
            "one": lambda: [method(*lone) for _ in range(REPEAT)],
        },
        time.process_time,
    )
    each, fresh, writing = (1e6 * times[name] / (count * turns) for name in ("ours", "fresh", "writing"))
    loop, one = 1e6 * times["theirs"] / LOOP, 1e6 * times["one"] / REPEAT
    columns = (f"{each:.3f}", f"{fresh:.3f}", f"{loop:.2f}", f"**{loop / each:.0f}×**")
    return (*columns, f"{writing:.3f} ({loop / writing:.0f}×)", f"{one:.2f}")


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
    lines = ["# Free-flying robots beside Pinocchio", "", f"Processor time, best of {ROUNDS}, µs a state.", ""]
    for title, name in ROBOTS.items():
        lines += [
            f"## {title}",
            "",
            "| | states | `out` | fresh memory | Pinocchio, loop | ratio | writing alone | one call |",
            "|---|---|---|---|---|---|---|---|",
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
