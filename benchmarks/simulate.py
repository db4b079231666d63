"""Simulation in batches: steps per second of a Panda, beside MuJoCo's `rollout` in the same run.

    python benchmarks/simulate.py [--rollouts 10000] [--steps 1000] [--others 40] [--dask] [--only-dask]

The plant carries 1 kg at the flange. Open loop: torques are read and states stored at every step, by both. Closed loop:
computed torque along a sine, by a controller that does not know of the payload, by `rollouts`; only the last state is
kept. "Varied": the payload is a parameter of each rollout, and the torque is measured. MuJoCo then has no controller at
all: its figure is that of the open loop. Its contacts and constraints are off; the same arm, step and integrator
(semi-implicit Euler, RK4), one thread. All take turns, and the best round of each counts.

With --dask: the same batch by two workers of a Dask cluster, beside two processes that know nothing of each other, each
with half of it. Processor time, of all processes together, is less noisy than that of the clock on a shared machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from dataclasses import replace

import numpy as np
from timing import best_of_each

import dalembert as dl
from dalembert import kernels, scalar
from dalembert.describe.urdf_write import write_urdf
from dalembert.law import Law
from dalembert.model.lean import lean
from dalembert.simulation import Batch, integrate
from dalembert.simulation.fixed_step import compile_loop

DT = 1e-3
OMEGA, KP, KD = 2.0, 100.0, 20.0  # of the reference [rad/s], and of the controller
COM = (0.0, 0.0, 0.05)  # of the payload, in the flange's frame [m]
ROUNDS_TOGETHER = 5
METHODS = {"semi-implicit-euler": "mjINT_EULER", "rk4": "mjINT_RK4"}


def computed_torque(known: dl.Robot) -> Law:
    """τ = ID(q, q̇, q̈_d + k_d ė + k_p e) of the robot that the controller knows, along q_d = center + amplitude sin ω t;
    parameters: center and amplitude."""
    n, joints = known.n, known.joint_names
    inverse, options = kernels.ROWS["inverse_dynamics"].trace, kernels.TABLE.read_options("inverse_dynamics", {})
    model = lean(known.model)

    def act(t, y, r, z, p):
        s, c = scalar.sin(OMEGA * t), scalar.cos(OMEGA * t)
        wanted = [
            (-OMEGA * OMEGA) * a * s + KD * (OMEGA * a * c - v) + KP * (b + a * s - q)
            for q, v, b, a in zip(y[:n], y[n:], p[:n], p[n:], strict=True)
        ]
        return inverse(model, {"q": y[:n], "qd": y[n:], "qdd": wanted}, options)

    return Law(
        "computed torque",
        (*joints, *(f"{j}_rate" for j in joints)),
        (),
        tuple(f"{j}_torque" for j in joints),
        act,
        parameters={name: 0.0 for name in target_names(n)},
    )


def target_names(n: int) -> list[str]:
    return [f"{name}{k}" for name in ("center", "amplitude") for k in range(n)]


def in_mujoco(robot: dl.Robot):
    import mujoco

    bare = tuple(replace(x, visuals=(), collisions=()) for x in robot.description.links)
    text = write_urdf(replace(robot.description, links=bare))
    compiler = '<compiler fusestatic="true" balanceinertia="false" boundmass="0" boundinertia="0"/>'
    model = mujoco.MjModel.from_xml_string(text.replace("</robot>", f"<mujoco>{compiler}</mujoco></robot>"))
    model.opt.gravity[:] = robot.gravity
    model.opt.timestep = DT
    for flag in ("CONTACT", "CONSTRAINT", "SPRING", "DAMPER", "SENSOR", "ACTUATION", "WARMSTART"):
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}", 0))
    return model


class Theirs:
    """MuJoCo's rollout of the first so many, on arrays made once."""

    def __init__(self, robot: dl.Robot, x0: np.ndarray, u: np.ndarray) -> None:
        import mujoco
        import mujoco.rollout

        self.mujoco, self.model = mujoco, in_mujoco(robot)
        self.data = [mujoco.MjData(self.model)]
        self.x0, self.u = np.concatenate((np.zeros((len(x0), 1)), x0), 1), u
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.states = np.empty((*u.shape[:2], size))
        self.sensors = np.empty((*u.shape[:2], self.model.nsensordata))

    def run(self, integrator: str) -> None:
        self.model.opt.integrator = getattr(self.mujoco.mjtIntegrator, integrator)
        spec = int(self.mujoco.mjtState.mjSTATE_QFRC_APPLIED)
        self.mujoco.rollout.rollout(
            self.model,
            self.data,
            self.x0,
            self.u,
            control_spec=spec,
            nstep=self.u.shape[1],
            state=self.states,
            sensordata=self.sensors,
        )


# ------------------------------------------------------------------------------------------------------- the batch
def task(count: int, steps: int) -> dict:
    """What `batch` is given: starts, and a sine about each of them, of so many arms with 1 kg."""
    arm = dl.load("panda")
    rng, n = np.random.default_rng(0), arm.n
    lower, upper = arm.limits.lower, arm.limits.upper
    q0 = rng.uniform(lower, upper, (count, n)) / 2
    target = np.concatenate((q0 + rng.uniform(-0.3, 0.3, (count, n)), rng.uniform(-0.5, 0.5, (count, n))), 1)
    return {
        "system": arm.with_payload(1.0, com=COM),
        "controller": computed_torque(arm),
        "q0": q0,
        "qd0": rng.uniform(-0.5, 0.5, (count, n)),
        "duration": steps * DT,
        "vary": dict(zip(target_names(n), target.T, strict=True)),
    }


def batch(system: dl.Robot, controller: object, method: str, *, measures=(), payload=None, **given) -> Batch:
    """The runs of a task."""
    inputs = dl.Inputs(payload=payload)
    return dl.Experiment(system, controller, inputs=inputs, solver=method, dt=DT, measures=measures).batch(**given)


def varied(given: dict) -> dict:
    """The same with the payload as a parameter, and a measure."""
    arm = dl.load("panda")
    load = {"payload.mass": np.ones(len(given["q0"]))}
    more = {"payload": COM, "measures": ("rms_torque",), "vary": {**given["vary"], **load}}
    return {**given, "system": arm, **more}


def alone(count: int, steps: int, method: str, barrier, results) -> None:
    """A process of its own, whose times count from when both are ready."""
    given = task(count, steps)
    batch(**given, method=method)
    for _ in range(ROUNDS_TOGETHER):
        barrier.wait()
        start, busy = time.perf_counter(), time.process_time()
        batch(**given, method=method)
        results.put((time.perf_counter() - start, time.process_time() - busy))
        barrier.wait()


def dask_against_processes(count: int, steps: int) -> None:
    from dalembert.simulation.workers import client_of

    context = multiprocessing.get_context("spawn")
    given = task(count, steps)
    print(f"\n{'':22}two processes M steps/s    two Dask workers      ratio    of processor time")
    for method in METHODS:
        barrier, results = context.Barrier(3), context.Queue()
        parts = [context.Process(target=alone, args=(count // 2, steps, method, barrier, results)) for _ in range(2)]
        for part in parts:
            part.start()
        apart = together = apart_busy = together_busy = float("inf")
        with client_of("local", 2) as client:
            warm = {**given, "duration": 20 * DT}
            for _ in range(2):
                batch(**warm, method=method, on=client)
            for _ in range(ROUNDS_TOGETHER):  # they take turns
                barrier.wait()
                barrier.wait()
                taken = [results.get() for _ in parts]
                apart, apart_busy = min(apart, max(t for t, _ in taken)), min(apart_busy, sum(t for _, t in taken))
                busy = time.process_time() + sum(client.run(time.process_time).values())
                start = time.perf_counter()
                batch(**given, method=method, on=client)
                together = min(together, time.perf_counter() - start)
                busy = time.process_time() + sum(client.run(time.process_time).values()) - busy
                together_busy = min(together_busy, busy)
        for part in parts:
            part.join()
        a, b = count * steps / apart / 1e6, count * steps / together / 1e6
        print(f"{method:22}{a:23.2f} {b:19.2f} {b / a:10.2f} {apart_busy / together_busy:17.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rollouts", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--others", type=int, default=40, help="rollouts for MuJoCo, and ours whose states are stored")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dask", action="store_true", help="two Dask workers beside two processes, too")
    parser.add_argument("--only-dask", action="store_true")
    options = parser.parse_args()
    if not options.only_dask:
        beside_mujoco(options)
    if options.dask or options.only_dask:
        dask_against_processes(options.rollouts, options.steps)


def beside_mujoco(options: argparse.Namespace) -> None:
    few, steps, count = options.others, options.steps, options.rollouts
    given = task(count, steps)
    loaded = varied(given)
    plant, n = given["system"], given["system"].n
    x0 = np.concatenate((given["q0"][:few], given["qd0"][:few]), 1)
    torque = np.cumsum(0.05 * np.random.default_rng(1).normal(size=(few, steps, n)), 1)
    open_loop = plant.flow()
    theirs = Theirs(plant, x0, torque)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{'':22}{'':22}operations   M steps/s   ns/step   MuJoCo M steps/s        ×")
    for method, integrator in METHODS.items():
        run = best_of_each(
            options.rounds,
            {
                "open loop, all kept": lambda m=method: integrate(open_loop, x0, DT, steps, torque, method=m),
                "computed torque": lambda m=method: batch(**given, method=m),
                "the same, varied": lambda m=method: batch(**loaded, method=m),
                "theirs": lambda i=integrator: theirs.run(i),
            },
        )
        their = few * steps / run.pop("theirs")
        short = {"duration": DT, "method": method}
        operations = (
            compile_loop(open_loop, method).operations,
            *(batch(**{**x, **short}).request.plan.loop.operations for x in (given, loaded)),
        )
        for (what, seconds), number, ran in zip(run.items(), operations, (few, count, count), strict=True):
            ours = ran * steps / seconds
            line = f"{number:10} {ours / 1e6:11.2f} {1e9 / ours:9.0f} {their / 1e6:18.3f} {ours / their:8.1f}"
            print(f"{method:22}{what:22}{line}", flush=True)
        last = integrate(open_loop, x0, DT, 100, torque[:, :100], method=method, every=100).x[:, -1, :n]
        print(f"{'':22}difference to MuJoCo after 100 steps {np.abs(last - theirs.states[:, 99, 1 : n + 1]).max():.1e}")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"memory: {grown / 1024:.0f} MB more at most, for {count} rollouts × {steps} steps")


if __name__ == "__main__":
    main()
