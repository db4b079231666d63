"""Compare the speed of two checkouts on the rows of docs/benchmarks.md: `make bench-compare`.

python benchmarks/compare_checkouts.py                       the newest tag against the working tree
python benchmarks/compare_checkouts.py --base COMMIT         another commit, or a folder, against the working tree
python benchmarks/compare_checkouts.py --rounds 2 --rows FK  fewer rounds, and rows whose name contains a text

In each round, three processes measure all rows: the base, the working tree, and the base again. A figure is the best of
all rounds, in processor time. The spread is the difference between the two series of the base. The exit code is 1 if a
row is slower by more than 3 % beyond the spread, or if one checkout cannot run it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
TOLERANCE = 0.03
REPEATS = 15
SINGLE_CALLS = 2_000
STATES = 100_000
START = "import dalembert as dl, numpy as np; dl.load('panda').inverse_dynamics(*np.zeros((3, 7)))"


def rows(chosen: str) -> dict[str, float]:
    """Return the best processor time of each row [s] in this process. NaN stands for a row that does not run."""
    import numpy as np

    import dalembert as dl

    arm = dl.load("panda")
    rng = np.random.default_rng(0)
    q, qd, x = rng.uniform(-1, 1, (3, STATES, arm.n))
    one = q[0], qd[0], x[0]
    home = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 1.8, 0.0])
    controller = dl.control.ComputedTorque(arm, omega=10.0)
    start = {"q0": home + 0.1, "duration": 0.1}

    def single(call: Callable[[], object]) -> Callable[[], None]:
        def repeat() -> None:
            for _ in range(SINGLE_CALLS):
                call()

        return repeat

    def batch() -> Callable[[], object]:
        q0 = home + 0.1 * qd[:1000]
        if hasattr(dl, "Experiment"):
            experiment = dl.Experiment(arm, controller, reference=home, dt=1e-3)
            return lambda: experiment.batch(q0=q0, duration=0.1)
        rollouts = dl.simulation.rollouts
        return lambda: rollouts(arm, controller, q0=q0, reference=home, duration=0.1, dt=1e-3)

    def optimum() -> Callable[[], object]:
        from dalembert import optimal as oc

        terminal = [oc.posture(home, 1000.0), oc.speed(10.0)]
        problem = dl.OptimalControl(arm, 0.5, 0.01, running=[oc.effort(1e-3)], terminal=terminal)
        x0 = np.concatenate((home + 0.2, np.zeros(7)))
        return lambda: problem.solve(x0)

    def constrained() -> Callable[[], object]:
        system = dl.Constrained(dl.load("four-bar"))
        at = system.close(system.robot.home).q
        states = np.tile(at, (10_000, 1))
        return lambda: system.forward_dynamics(states, 0 * states, 0 * states)

    def ik() -> Callable[[], object]:
        T = arm.fk(q[:10_000])
        return lambda: arm.ik(T)

    candidates: dict[str, Callable[[], Callable[[], object]]] = {
        "inverse dynamics, batch": lambda: lambda: arm.inverse_dynamics(q, qd, x),
        "forward dynamics, batch": lambda: lambda: arm.forward_dynamics(q, qd, x),
        "mass matrix, batch": lambda: lambda: arm.mass_matrix(q),
        "FK + Jacobian, batch": lambda: lambda: arm.fk_jacobian(q),
        "Coriolis matrix, batch": lambda: lambda: arm.coriolis_matrix(q, qd),
        "regressor, batch": lambda: lambda: arm.regressor(q[:20_000], qd[:20_000], x[:20_000]),
        "derivatives of inverse dynamics, batch": lambda: lambda: arm.inverse_dynamics_derivatives(q, qd, x),
        "derivatives of forward dynamics, batch": lambda: lambda: arm.forward_dynamics_derivatives(q, qd, x),
        "inverse dynamics, one call": lambda: single(lambda: arm.inverse_dynamics(*one)),
        "forward dynamics, one call": lambda: single(lambda: arm.forward_dynamics(*one)),
        "Coriolis matrix, one call": lambda: single(lambda: arm.coriolis_matrix(*one[:2])),
        "FK, one call": lambda: single(lambda: arm.fk(one[0])),
        "Jacobian, one call": lambda: single(lambda: arm.jacobian(one[0])),
        "mass matrix, one call": lambda: single(lambda: arm.mass_matrix(one[0])),
        "gravity, one call": lambda: single(lambda: arm.gravity_torque(one[0])),
        "inverse kinematics, 10,000 poses": ik,
        "constrained forward dynamics, batch": constrained,
        "simulation, 1,000 × 100 steps": batch,
        "simulation, one run of 100 steps": lambda: (
            lambda: dl.simulate(arm, controller, reference=home, dt=1e-3, **start)
        ),
        "optimal control, one solution": optimum,
        "equations of planar-3r": lambda: lambda: dl.load("planar-3r").equations().text(),
    }
    least = {}
    for name, make in candidates.items():
        if chosen not in name:
            continue
        try:
            call = make()
            call()  # compiles
            times = []
            for _ in range(REPEATS):
                begin = time.process_time()
                call()
                times.append(time.process_time() - begin)
            least[name] = min(times)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            least[name] = float("nan")
    return least


def measure(checkout: Path, chosen: str) -> dict[str, float]:
    """Return the rows of a checkout, measured in a process of its own, and the time of a start."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", __file__, "--measure", chosen]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        name = "start: import and first inverse dynamics"
        if chosen in name:
            for _ in range(3):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([sys.executable, "-W", "ignore", "-c", START], cwd=folder, env=environment, check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                found[name] = min(used, found.get(name, used))
    return found


def git(*words: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *words], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def compare(base: Path, rounds: int, chosen: str) -> int:
    series: list[dict[str, float]] = [{}, {}, {}]  # the base, the working tree, the base again
    for k in range(rounds):
        for best, checkout in zip(series, (base, ROOT, base), strict=True):
            for name, seconds in measure(checkout, chosen).items():
                best[name] = min(seconds, best.get(name, seconds))
        print(f"round {k + 1} of {rounds}", file=sys.stderr, flush=True)
    slower = 0
    print(f"{'row':44}{'base':>11}{'now':>11}{'ratio':>8}{'spread':>8}")
    for name, before in series[0].items():
        now, again = series[1].get(name, float("nan")), series[2][name]
        ratio, spread = now / min(before, again), abs(again / before - 1)
        late = not ratio <= 1 + TOLERANCE + spread
        slower += late
        scale = SINGLE_CALLS if "one call" in name else 1
        times = "".join(f"{1e6 * x / scale:.2f} µs".rjust(11) for x in (min(before, again), now))
        print(f"{name:44}{times}{ratio:8.3f}{spread:8.3f}{'  slower' if late else ''}")
    print(f"{len(series[0])} rows, {slower} slower by more than {TOLERANCE:.0%} beyond the spread")
    return slower > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="commit or folder of the other checkout (default: the newest tag)")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds (default: 5)")
    parser.add_argument("--rows", default="", help="only rows whose name contains this text")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        print("\n" + json.dumps(rows(options.measure)))
        return 0
    if options.base and Path(options.base, "src", "dalembert").is_dir():
        return compare(Path(options.base).resolve(), options.rounds, options.rows)
    base = options.base or git("tag", "--sort=-creatordate").partition("\n")[0]
    if not base:
        parser.error("there is no tag: give --base COMMIT")
    with tempfile.TemporaryDirectory() as folder:
        git("worktree", "add", "--detach", "--force", f"{folder}/base", base)
        try:
            return compare(Path(folder) / "base", options.rounds, options.rows)
        finally:
            git("worktree", "remove", "--force", f"{folder}/base")


if __name__ == "__main__":
    sys.exit(main())
