"""Simulation in batches: steps per second of a Panda, beside MuJoCo's `rollout` in the same run.

    python benchmarks/simulate.py [--rollouts 10000] [--steps 1000] [--others 40]

The plant carries 1 kg at the flange. Open loop: torques are read and states stored at every step, by both. Closed loop:
computed torque along a sine, by a controller that does not know of the payload, traced into the step; only the last
state is kept. MuJoCo then has no controller at all: its figure is that of the open loop. Its contacts and constraints
are off; the same arm, step and integrator (semi-implicit Euler, RK4), one thread. All take turns, and the best round of
each counts.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from timing import best_of_each

import dalembert as dl
from dalembert import kernels, scalar
from dalembert.describe.urdf_write import write_urdf
from dalembert.flow import Flow
from dalembert.model.lean import lean
from dalembert.simulation import integrate, robot_flow
from dalembert.simulation.fixed import rollout_of

DT = 1e-3
OMEGA, KP, KD = 2.0, 100.0, 20.0  # of the reference [rad/s], and of the controller
METHODS = {"semi-implicit-euler": "mjINT_EULER", "rk4": "mjINT_RK4"}


def computed_torque(plant: dl.Robot, known: dl.Robot) -> Flow:
    """The plant under τ = ID(q, q̇, q̈_d + k_d ė + k_p e) of the robot that the controller knows, along
    q_d = centre + amplitude sin ω t; inputs: centre and amplitude."""
    n = plant.n
    inverse, options = kernels.ROWS["inverse_dynamics"].trace, kernels.check_options("inverse_dynamics", {})
    model, free = lean(known.model), robot_flow(plant)

    def rate(t, x, u):
        s, c = scalar.sin(OMEGA * t), scalar.cos(OMEGA * t)
        wanted = [
            (-OMEGA * OMEGA) * a * s + KD * (OMEGA * a * c - v) + KP * (b + a * s - q)
            for q, v, b, a in zip(x[:n], x[n:], u[:n], u[n:], strict=True)
        ]
        tau = inverse(model, {"q": x[:n], "qd": x[n:], "qdd": wanted}, options)
        return free.rate(t, x, tau)

    inputs = tuple(f"{name}{k}" for name in ("centre", "amplitude") for k in range(n))
    return Flow("computed torque", free.states, inputs, rate, positions=n)


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
            self.model, self.data, self.x0, self.u, control_spec=spec, nstep=self.u.shape[1], state=self.states,
            sensordata=self.sensors,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rollouts", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--others", type=int, default=40, help="rollouts for MuJoCo, and ours whose states are stored")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    arm = dl.load("panda")
    plant = arm.with_payload(1.0, com=(0, 0, 0.05))
    rng, n, few, steps = np.random.default_rng(0), arm.n, options.others, options.steps
    lower, upper = arm.limits.lower, arm.limits.upper
    x0 = np.concatenate(
        (rng.uniform(lower, upper, (options.rollouts, n)) / 2, rng.uniform(-0.5, 0.5, (options.rollouts, n))), 1
    )
    torque = np.cumsum(0.05 * rng.normal(size=(few, steps, n)), 1)
    target = np.concatenate((x0[:, :n] + rng.uniform(-0.3, 0.3, (len(x0), n)), rng.uniform(-0.5, 0.5, (len(x0), n))), 1)
    open_loop, closed = robot_flow(plant), computed_torque(plant, arm)
    theirs = Theirs(plant, x0[:few], torque)
    print(f"{'':22}{'':22}operations   M steps/s   ns/step   MuJoCo M steps/s        ×")
    for method, integrator in METHODS.items():
        run = best_of_each(
            options.rounds,
            {
                "open loop, all kept": lambda m=method: integrate(open_loop, x0[:few], DT, steps, torque, method=m),
                "computed torque": lambda m=method: integrate(
                    closed, x0, DT, steps, target[:, None], method=m, every=steps
                ),
                "theirs": lambda i=integrator: theirs.run(i),
            },
        )
        their = few * steps / run.pop("theirs")
        for (what, seconds), flow in zip(run.items(), (open_loop, closed), strict=True):
            ours = (few if flow is open_loop else len(x0)) * steps / seconds
            operations = rollout_of(flow, method).operations
            line = f"{operations:10} {ours / 1e6:11.2f} {1e9 / ours:9.0f} {their / 1e6:18.3f} {ours / their:8.1f}"
            print(f"{method:22}{what:22}{line}", flush=True)
        last = integrate(open_loop, x0[:few], DT, 100, torque[:, :100], method=method, every=100).x[:, -1, :n]
        print(f"{'':22}difference to MuJoCo after 100 steps {np.abs(last - theirs.states[:, 99, 1 : n + 1]).max():.1e}")


if __name__ == "__main__":
    main()
