"""How fast the core is: ratios to Pinocchio measured side by side, and absolute limits next to NumPy's own.

Run by `make bench`; writes benchmarks/results/core.md. Figures are the best of several rounds in which all
candidates take turns, in processor time, because machines are shared and noisy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
from timing import best_of_each

import dalembert as dl

RESULTS = Path(__file__).parent / "results"
STATES = 100_000
REPEAT = 2_000  # single calls per round
LOOP = 4_000  # states of Pinocchio's Python loop per round


def in_pinocchio(arm: dl.Robot) -> tuple[pin.Model, pin.Data, int]:
    """The same robot, without shapes."""
    links = tuple(replace(x, visuals=(), collisions=()) for x in arm.description.links)
    text = dl.Robot(replace(arm.description, links=links)).to_urdf()
    model = pin.buildModelFromXML(text)
    return model, model.createData(), model.getFrameId(arm.tip, pin.FrameType.BODY)


def batches(arm: dl.Robot) -> list[tuple]:
    m, d, f = in_pinocchio(arm)
    q, qd, x = np.random.default_rng(0).uniform(-1, 1, (3, STATES, arm.n))
    world = pin.LOCAL_WORLD_ALIGNED

    T, J = np.empty((LOOP, 4, 4)), np.empty((LOOP, 6, arm.n))

    def fk_jacobian(k):
        J[k] = pin.computeFrameJacobian(m, d, q[k], f, world)
        T[k] = d.oMf[f].homogeneous

    rows = {
        "inverse dynamics": (lambda: arm.inverse_dynamics(q, qd, x), lambda k: pin.rnea(m, d, q[k], qd[k], x[k]), 40),
        "forward dynamics": (lambda: arm.forward_dynamics(q, qd, x), lambda k: pin.aba(m, d, q[k], qd[k], x[k]), 40),
        "mass matrix": (lambda: arm.mass_matrix(q), lambda k: pin.crba(m, d, q[k]), 20),
        "FK + Jacobian": (lambda: arm.fk_jacobian(q), fk_jacobian, 25),
        "Coriolis matrix": (
            lambda: arm.coriolis_matrix(q, qd),
            lambda k: pin.computeCoriolisMatrix(m, d, q[k], qd[k]),
            None,
        ),
        "regressor": (
            lambda: arm.regressor(q, qd, x),
            lambda k: pin.computeJointTorqueRegressor(m, d, q[k], qd[k], x[k]),
            None,
        ),
    }
    out = []
    for name, (ours, theirs, wanted) in rows.items():
        result = ours()
        kept = None if isinstance(result, tuple) else np.empty((LOOP, *result.shape[1:]))

        def loop(theirs=theirs, kept=kept):  # both end with every result in an array
            for k in range(LOOP):
                if kept is None:
                    theirs(k)
                else:
                    kept[k] = theirs(k)

        t = best_of_each(15, {"ours": ours, "theirs": loop}, time.process_time)
        a, b = t["ours"] / STATES * 1e9, t["theirs"] / LOOP * 1e9
        out.append((name, f"{a:.1f} ns", f"{b:.0f} ns", f"{b / a:.1f}×", f"≥ {wanted}×" if wanted else "–"))
    return out


def repeated(call):
    def many():
        for _ in range(REPEAT):
            call()

    return many


def singles(arm: dl.Robot) -> list[tuple]:
    m, d, f = in_pinocchio(arm)
    q, qd, x = np.random.default_rng(0).uniform(-1, 1, (3, arm.n))
    world = pin.LOCAL_WORLD_ALIGNED

    def fk():
        pin.forwardKinematics(m, d, q)
        return pin.updateFramePlacement(m, d, f).homogeneous

    rows = {
        "inverse dynamics": (lambda: arm.inverse_dynamics(q, qd, x), lambda: pin.rnea(m, d, q, qd, x), 1.0),
        "forward dynamics": (lambda: arm.forward_dynamics(q, qd, x), lambda: pin.aba(m, d, q, qd, x), 1.0),
        "Coriolis matrix": (lambda: arm.coriolis_matrix(q, qd), lambda: pin.computeCoriolisMatrix(m, d, q, qd), 1.0),
        "FK": (lambda: arm.fk(q), fk, 1.2),
        "Jacobian": (lambda: arm.jacobian(q), lambda: pin.computeFrameJacobian(m, d, q, f, world), 1.2),
        "mass matrix": (lambda: arm.mass_matrix(q), lambda: pin.crba(m, d, q), 1.2),
        "gravity": (lambda: arm.gravity_torque(q), lambda: pin.computeGeneralizedGravity(m, d, q), 1.2),
    }
    out = []
    for name, (ours, theirs, wanted) in rows.items():
        ours()
        t = best_of_each(25, {"ours": repeated(ours), "theirs": repeated(theirs)}, time.process_time)
        a, b = (t[k] / REPEAT * 1e6 for k in ("ours", "theirs"))
        out.append((name, f"{a:.2f} µs", f"{b:.2f} µs", f"{a / b:.2f}", f"≤ {wanted}"))
    return out


START = """
import time
t = time.perf_counter(); import numpy; t_numpy = time.perf_counter() - t
t = time.perf_counter(); import dalembert as dl; t_import = time.perf_counter() - t
heavy = [m for m in ("sympy", "scipy", "matplotlib", "llvmlite") if m in __import__("sys").modules]
t = time.perf_counter(); arm = dl.load("panda"); t_load = time.perf_counter() - t
z = numpy.zeros(7)
t = time.perf_counter(); arm.inverse_dynamics(z, z, z); t_first = time.perf_counter() - t
t = time.perf_counter(); a = numpy.arange(1e5)
for _ in range(100): a = numpy.sin(a) * 0.5 + a
t_loop = time.perf_counter() - t
print(t_numpy, t_import, t_load, t_first, t_loop, len(heavy))
"""


def starts() -> list[tuple]:
    """Import and first call, each in fresh processes: without a cache, and with one."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        figures = {}
        for kind, cache in (("cold", ""), ("cached", folder)):
            environment = {**os.environ, "DALEMBERT_CACHE": cache}
            runs = []
            for _ in range(11):
                text = subprocess.run(
                    [sys.executable, "-c", START], env=environment, capture_output=True, text=True, check=True
                ).stdout
                runs.append([float(x) for x in text.split()])
            figures[kind] = np.min(runs[1:], axis=0)  # the first one fills the cache
    cold, cached = figures["cold"], figures["cached"]
    ms = lambda s: f"{s * 1e3:.0f} ms"  # noqa: E731
    out.append(("import numpy", ms(cold[0]), "–"))
    out.append(("100 × (sin, ·, +) on 100,000 numbers", ms(cold[4]), "–"))
    out.append(("import dalembert (NumPy included)", ms(cold[0] + cold[1]), "≤ 250 ms"))
    out.append(('load("panda")', ms(cold[2]), "–"))
    out.append(("first inverse dynamics of Panda, cold", ms(cold[3]), "≤ 300 ms"))
    out.append(("first inverse dynamics of Panda, cached", ms(cached[3]), "≤ 50 ms"))
    out.append(("heavy modules loaded by import and load", f"{int(cold[5])}", "0"))
    return out


def table(title: str, columns: tuple, rows: list[tuple]) -> str:
    lines = [f"## {title}", "", "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def main() -> None:
    arm = dl.load("panda")
    parts = [
        table(
            f"Panda, {STATES:,} states, one thread, against Pinocchio's Python loop",
            ("what", "Dalembert, per state", "Pinocchio, per call", "ratio", "wanted"),
            batches(arm),
        ),
        table(
            "Panda, one call of the public method",
            ("what", "Dalembert", "Pinocchio", "time ratio", "wanted"),
            singles(arm),
        ),
        table("Starting", ("what", "best of ten", "wanted"), starts()),
    ]
    text = "\n".join(parts)
    print(text)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "core.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
