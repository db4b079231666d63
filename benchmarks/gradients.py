"""Gradients through rollouts of a Panda: their price in rollouts, their memory; output error; gains.

    python benchmarks/gradients.py [--rounds 20] [--steps 1000] [--only price|memory|identify|gains]

Price: ∂L/∂(start, 70 inertial parameters), with and without ∂L/∂(torques of every step), of a loss of the last state,
over the rollout with the same parameters as inputs that keeps its end alone. Memory: what Python's allocator gave at
most, by the number of steps. Output error: a simulated Panda, its 43 base parameters from 10 % wrong ones, positions
with a noise of 1e-4 rad; the time of the second call, in which nothing is compiled. Processor time of one thread, all
in turns, best round: machines are shared.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from functools import partial

import numpy as np
from timing import best_of_each

import dalembert as dl
from dalembert.compile.adjoint import Adjoint
from dalembert.identification import Columns, Log, output_error
from dalembert.identification.fit.robot import identified
from dalembert.simulation import Experiment, Sensors, Solver

DT, NOISE = 1e-3, 1e-4


def problem(arm: dl.Robot, steps: int, method: str, count: int):
    names = tuple(arm.parameter_names())
    e = Experiment(arm, solver=Solver(method, every=steps), dt=DT)
    f = e.function(("x0", "inputs.tau", *names), duration=steps * DT)
    rng = np.random.default_rng(0)
    x0 = np.concatenate((arm.home + rng.normal(0, 0.3, (count, arm.n)), np.zeros((count, arm.n))), -1)
    return f, x0, rng.normal(size=(count, steps, arm.n)), np.tile(arm.parameters(), (count, 1))


def price(arm: dl.Robot, steps: int, rounds: int) -> None:
    print(f"gradient of {steps} steps in 70 inertial parameters and the start, over the rollout with these as inputs")
    for method in ("semi-implicit-euler", "rk4"):
        for count in (1, 8, 64, 256):
            f, x0, u, p = problem(arm, steps, method, count)
            loop = f.plan.loop
            adjoint = Adjoint(loop)
            if count == 1:
                print(f"  {method}: {loop.operations} operations a step, {adjoint.unweighted.operations} backward")
            tile = 4 * loop.width

            def back(wants, a=adjoint, x0=x0, u=u, p=p, tile=tile):
                for k in range(0, len(x0), tile):
                    s = slice(k, k + tile)
                    a.pull_back(x0[s], u[s], p[s], steps, DT, lambda last: last, None, wants)

            least = best_of_each(
                max(rounds // (1 + count // 64), 3),
                {
                    "rollout": partial(loop, x0, u, p, steps, DT, every=steps),
                    "gradient": partial(back, False),
                    "with torques": partial(back, True),
                },
                time.thread_time,
            )
            base = least["rollout"]
            ratios = ", ".join(f"{name} {t / base:.2f}×" for name, t in least.items() if name != "rollout")
            print(f"    {count:4d} rollouts: {1e3 * base:8.2f} ms; {ratios}")


def memory(arm: dl.Robot) -> None:
    print("memory of the gradient of one rollout, beside what all its states would take")
    for steps in (1_000, 4_000, 16_000):
        f, x0, _, p = problem(arm, steps, "semi-implicit-euler", 1)
        adjoint, u = Adjoint(f.plan.loop), np.zeros((1, 1, arm.n))
        adjoint.pull_back(x0, u, p, steps, DT, lambda last: last)
        tracemalloc.start()
        adjoint.pull_back(x0, u, p, steps, DT, lambda last: last)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"    {steps:6d} steps: {most / 1024:6.0f} KiB; all states {steps * 2 * arm.n * 8 / 1024:6.0f} KiB")


def recorded(arm: dl.Robot, duration: float) -> Log:
    rng = np.random.default_rng(1)
    k, w = np.arange(1, 6), 2 * np.pi * 0.25
    a, b = rng.normal(size=(2, arm.n, 5)) * 0.35 / k

    def motion(t):
        s, c = np.sin(w * k * t), np.cos(w * k * t)
        x, v = (a * s + b * (c - 1)).sum(-1), (w * k * (a * c - b * s)).sum(-1)
        return arm.home + x, v, ((w * k) ** 2 * (-a * s - b * c)).sum(-1)

    q, qd, _ = (np.asarray(x, float) for x in motion(0.0))
    law = dl.control.ComputedTorque(arm, omega=15, zeta=1)
    sensors = Sensors(sample_time=DT)
    e = Experiment(arm, law, reference=motion, sensors=sensors, solver=Solver(every=1), dt=DT)
    run = e.run(q0=q, qd0=qd, duration=duration)
    return Log(run.t, run.q + NOISE * rng.normal(size=run.q.shape), run.tau, tuple(arm.joint_names))


def identify(arm: dl.Robot, rounds: int) -> None:
    print("output error of a simulated Panda: base parameters within their deviations")
    columns = Columns(arm, friction=(), rotor=False)
    rng = np.random.default_rng(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # inertias that are 10 % wrong are none that bodies have
        wrong = identified(columns, arm.parameters() * rng.uniform(0.9, 1.1, 70))
    for duration in (4.0, 8.0):
        log = recorded(arm, duration)
        found = output_error(wrong, log)
        least = {
            name: best_of_each(max(rounds // 5, 2), {"": lambda log=log: output_error(wrong, log)}, clock)[""]
            for name, clock in (("wall", time.perf_counter), ("processor", time.process_time))
        }
        true, before = (found.base_parameters.of(robot.parameters()) for robot in (arm, wrong))
        z = (found.base - true) / found.deviation
        print(
            f"    {duration:g} s of 1 kHz: {least['wall']:.2f} s ({least['processor']:.2f} s of processors), "
            f"{found.iterations} iterations; errors of {len(z)} base parameters in deviations: RMS "
            f"{np.sqrt((z**2).mean()):.2f}, largest {np.abs(z).max():.2f}; SI: {np.abs(found.base - true).max():.1e}, "
            f"before {np.abs(before - true).max():.1e}; noise found {found.noise:.2e} rad"
        )


def gains(arm: dl.Robot) -> None:
    print("gains of a Panda under PD with gravity, 14 of them, 8 starts, 1 s")
    kp = np.array([200, 200, 100, 100, 20, 20, 5.0])
    law = dl.control.PDGravity(arm, kp=kp, kd=kp * [0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.03])
    q0 = arm.home + np.random.default_rng(0).uniform(-0.3, 0.3, (8, arm.n))
    e = Experiment(arm, law, reference=arm.home, dt=DT)
    words = {"loss": {"rms_error": 1.0, "rms_torque": 1e-3}, "q0": q0, "duration": 1.0}
    e.tune(iterations=1, **words)
    start = time.perf_counter()
    found = e.tune(**words)
    print(
        f"    {time.perf_counter() - start:.2f} s, {found.iterations} iterations: loss {found.loss_before:.4f} → "
        f"{found.loss:.4f}, slope {found.slope:.1e}; {found.message}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--only", choices=("price", "memory", "identify", "gains"))
    args = parser.parse_args()
    arm = dl.load("panda")
    parts = {
        "price": lambda: price(arm, args.steps, args.rounds),
        "memory": lambda: memory(arm),
        "identify": lambda: identify(arm, args.rounds),
        "gains": lambda: gains(arm),
    }
    for name, part in parts.items():
        if args.only in (None, name):
            part()


if __name__ == "__main__":
    main()
