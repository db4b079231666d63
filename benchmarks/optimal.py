"""Optimal control of Panda beside Crocoddyl: processor time of an iteration, of whole solutions, of many problems in
lanes, of predictive control; and how many of 10,000 random reaches converge.

    python benchmarks/optimal.py --peer /path/to/python/with/crocoddyl     # both, in turns, in the same run
    python benchmarks/optimal.py --reaches 10000

Crocoddyl 3.2 runs in an environment of its own:
pip install "crocoddyl<3.3" "pin<4" "cmeel-urdfdom<5" "cmeel-tinyxml2<11".
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import json
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as dl
from dalembert.compile.sweep import step_operations
from dalembert.optimal.solver import Engine, Progress, chunk

DT, ROUNDS, REPEATS = 0.01, 20, 10
RUNNING, TERMINAL = (1.0, 0.1, 1e-3), (100.0, 0.1)  # weights of the tip, the state, the torques
ITERATIONS = 5


def reach(arm: dl.Robot, N: int, limits: bool = False) -> dl.OptimalControl:
    o = dl.optimal
    rest = np.concatenate((arm.home, np.zeros(arm.n)))
    tip, keep, effort = RUNNING
    return dl.OptimalControl(
        arm,
        N * DT,
        DT,
        running=[o.tip(arm, "goal", tip), o.state(rest, keep), o.effort(effort)],
        terminal=[o.tip(arm, "goal", TERMINAL[0]), o.state(rest, TERMINAL[1])],
        limits={"u": arm.limits.effort} if limits else None,
        parameters={"goal": arm.fk(arm.home + 0.3)},
    )


class Ours:
    """One problem, from the same guess."""

    def __init__(self, problem: dl.OptimalControl, x0: Any, u0: Any) -> None:
        self.problem, self.engine = problem, Engine(problem, 1)
        self.x0, self.u0 = np.asarray(x0), np.asarray(u0)
        self.engine.ps[:] = problem.parameters_at()

    def run(self, iterations: int, tolerance: float = 1e-15) -> tuple[float, int, float]:
        begun = time.process_time()
        for _ in range(REPEATS):
            e, state = self.engine, Progress()
            e.xs[:], e.us[:] = self.x0, self.u0
            with np.errstate(all="ignore"):
                while state.iterations < iterations and not state.reason:
                    e.iterate([state], tolerance)
        return (time.process_time() - begun) / REPEATS, state.iterations, state.cost


class Peer:
    def __init__(self, python: str) -> None:
        script = Path(__file__).with_name("optimal_peer.py")
        self.process = subprocess.Popen([python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


def one_problem(arm: dl.Robot, peer: Peer | None) -> None:
    x0, u0 = np.concatenate((arm.home, np.zeros(arm.n))), arm.gravity_torque(arm.home)
    for N in (20, 100):
        problem = reach(arm, N)
        ours, theirs, whole, their_whole = Ours(problem, x0, u0), np.inf, np.inf, np.inf
        own, costs = np.inf, {}
        many, lanes = Many(arm, problem, x0, u0), np.inf
        if peer is not None:
            peer.ask(
                make=str(N),
                N=N,
                dt=DT,
                urdf=arm.to_urdf(),
                armature=[b.rotor_inertia for b in arm.model.bodies],
                goal=problem.values["goal"][0].tolist(),
                frame=arm.model.frame(None).name,
                rest=x0.tolist(),
                running=RUNNING,
                terminal=TERMINAL,
                x0=x0.tolist(),
                u0=u0.tolist(),
            )
        for _ in range(ROUNDS):
            seconds, count, costs["ours, 5 iterations"] = ours.run(ITERATIONS)
            own = min(own, seconds / count)
            seconds, steps, costs["ours"] = ours.run(200, 1e-6)
            whole = min(whole, seconds)
            lanes = min(lanes, many.run(), many.run())
            if peer is not None:
                answer = peer.ask(run=str(N), repeats=REPEATS, iterations=ITERATIONS, stop=1e-30)
                costs["theirs, 5 iterations"] = answer["cost"]
                theirs = min(theirs, answer["seconds"] / ITERATIONS)
                answer = peer.ask(run=str(N), repeats=REPEATS, iterations=200, stop=1e-9)
                their_whole, costs["theirs"] = min(their_whole, answer["seconds"]), answer["cost"]
                their_steps = answer["iterations"]
        e = ours.engine
        with np.errstate(all="ignore"):
            parts = [least(partial(e.backward, 1)), least(lambda e=e: next(e.forward_all(0)))]
        print(
            f"N = {N}: an iteration {own * 1e6:.1f} µs (backward {parts[0] * 1e6:.1f}, forward {parts[1] * 1e6:.1f}); "
            f"to the end {whole * 1e6:.0f} µs, {steps} iterations"
        )
        print(
            f"  operations per node: derivatives {problem.sweep.stage.operations}, Riccati step "
            f"{step_operations(problem.layout)} (on 8 numbers each), step of the rollout {problem.rollout.operations}"
        )
        if peer is not None:
            print(
                f"  Crocoddyl: an iteration {theirs * 1e6:.1f} µs, {theirs / own:.1f} times ours; to the end "
                f"{their_whole * 1e6:.0f} µs, {their_steps} iterations, {their_whole / whole:.1f} times ours"
            )
        print(
            f"  {many.size} problems together: {lanes * 1e6:.1f} µs per problem and iteration"
            + (f", {theirs / lanes:.1f} times faster than Crocoddyl" if peer is not None else "")
        )
        print("  costs:", {name: round(cost, 9) for name, cost in costs.items()})


def least(run: Any, rounds: int = 200) -> float:
    best = np.inf
    for _ in range(rounds):
        begun = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begun)
    return best


class Many:
    """Problems with goals of their own, solved together: processor time per problem and iteration."""

    def __init__(self, arm: dl.Robot, problem: dl.OptimalControl, x0: Any, u0: Any) -> None:
        self.size = chunk(problem)
        self.engine = Engine(problem, self.size)
        goals = arm.fk(arm.home + 0.3 * np.random.default_rng(0).normal(size=(self.size, arm.n)))
        self.engine.ps[:] = problem.parameters_at(0.0, (self.size,), goal=goals)
        self.x0, self.u0 = x0, u0

    def run(self) -> float:
        self.engine.xs[:], self.engine.us[:] = self.x0, self.u0
        states = [Progress() for _ in range(self.size)]
        begun = time.process_time()
        with np.errstate(all="ignore"):
            for _ in range(ITERATIONS):
                self.engine.iterate(states, 1e-15)
        return (time.process_time() - begun) / ITERATIONS / self.size


def predictive(arm: dl.Robot) -> None:
    """One full iteration with fresh derivatives a sample, from Python; the system is moved between, untimed."""
    problem = reach(arm, 20, limits=True)
    control, x = dl.PredictiveControl(problem), np.concatenate((arm.home, np.zeros(arm.n)))
    times = []
    for k in range(500):
        begun = time.process_time()
        u = control(k * DT, x)
        times.append(time.process_time() - begun)
        x = problem.stepper(x, u, problem.parameters_at()[0])
    off = np.linalg.norm(arm.fk(x[: arm.n])[:3, 3] - problem.values["goal"][0][:3, 3])
    middle = float(np.median(times[1:]))
    print(
        f"predictive control, N = 20: {middle * 1e6:.0f} µs a sample (median), {1e-3 / middle:.1f} kHz; it rests "
        f"{off * 1e3:.0f} mm from its goal"
    )


def predictive_elsewhere(arm: dl.Robot, arms: int = 1000) -> None:
    """The same samples of many arms in lanes, and of one arm in C: processor time, without what moves the arms."""
    problem = reach(arm, 20, limits=True)
    control, own = dl.PredictiveControl(problem), problem.parameters_at()[0]
    x = np.concatenate(
        (arm.home + 0.1 * np.random.default_rng(0).normal(size=(arms, arm.n)), np.zeros((arms, arm.n))), 1
    )
    p = np.tile(list(control.own_parameters.values()), (arms, 1))
    tell, times, none = control.memory(arms), [], np.zeros((arms, 0))
    for k in range(8):
        begun = time.process_time()
        u = tell(k * DT, x, none, p)
        times.append((time.process_time() - begun) / arms)
        x = problem.stepper(x, u, own)
    first, middle = 1e6 * times[0], 1e6 * float(np.median(times[1:]))
    print(f"  {arms} arms in lanes: {middle:.0f} µs a sample of an arm, {first:.0f} its first")
    if shutil.which("gcc") is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, text in control.c_files(x[0], "mpc").items():
            (Path(folder) / name).write_text(text)
        words = "gcc -std=c99 -O2 -march=native -shared -fPIC mpc.c -o mpc.so -lm"
        subprocess.run(words.split(), cwd=folder, check=True)
        library = ctypes.CDLL(f"{folder}/mpc.so")
        state, now, u, times = np.zeros(1 << 17), x[0].copy(), np.zeros(arm.n), []
        library.mpc_start(ctypes.c_void_p(state.ctypes.data))
        for k in range(1, 200):
            begun = time.process_time()
            given = (ctypes.c_void_p(state.ctypes.data), ctypes.c_double(k * DT), ctypes.c_void_p(now.ctypes.data))
            library.mpc_step(*given, None, ctypes.c_void_p(u.ctypes.data))
            times.append(time.process_time() - begun)
            now = problem.stepper(now, u, own)
    print(f"  in C, one arm: {np.median(times) * 1e6:.0f} µs a sample (gcc -O2 -march=native)")


def random_reaches(arm: dl.Robot, count: int) -> None:
    """From random starts to random goals, both within the limits of the joints, under limits of torques."""
    problem = reach(arm, 50, limits=True)
    starts, ends = arm.random_configuration((2, count), seed=0)
    x0 = np.concatenate((starts, np.zeros_like(starts)), 1)
    begun = time.perf_counter()
    found = problem.solve(x0, goal=arm.fk(ends), iterations=500)
    seconds = time.perf_counter() - begun
    why = collections.Counter(found.reason[~found.converged].tolist())
    print(
        f"{count} random reaches: {100 * found.converged.mean():.2f} % converge, {seconds:.1f} s, median "
        f"{np.median(found.iterations):.0f} iterations; the others: {dict(why) or 'none'}; largest defect "
        f"{found.defect[found.converged].max():.1e}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", help="a Python that has crocoddyl")
    parser.add_argument("--reaches", type=int, default=1000)
    options = parser.parse_args()
    panda = dl.load("panda")
    one_problem(panda, Peer(options.peer) if options.peer else None)
    predictive(panda)
    predictive_elsewhere(panda)
    random_reaches(panda, options.reaches)
