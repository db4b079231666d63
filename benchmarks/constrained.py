"""Constrained forward dynamics beside unconstrained, per state, and beside Pinocchio's constrained algorithm.

    python benchmarks/constrained.py [--states 100000]

Panda under a plane, a channel and a weld at its tip, and the bundled closed chains. Candidates take turns; the best
round of each is kept. Batches go through the public method with its check of the states (`tolerance`), one thread.
"""

from __future__ import annotations

import argparse

import numpy as np
from timing import best_of_each

import dalembert as dl
from dalembert.constrained import Constrained, channel, hold, plane

ROUNDS = 7


def states(system: Constrained, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States on the constraints: one that is closed, and what projection makes of its neighbors."""
    rng = np.random.default_rng(0)
    robot = system.robot
    start = robot.home if robot.loops else robot.random_configuration(seed=rng) * 0.5
    q0 = system.close(start).q
    q, qd = system.project(
        q0 + rng.uniform(-0.02, 0.02, (count, robot.n)), rng.uniform(-0.5, 0.5, (count, robot.n)), steps=5
    )
    return q, qd, rng.uniform(-5, 5, (count, robot.n))


def compare(name: str, system: Constrained, count: int) -> str:
    q, qd, tau = states(system, count)
    free = system.robot.tree()
    least = best_of_each(
        ROUNDS, {"free": lambda: free.forward_dynamics(q, qd, tau), "held": lambda: system.forward_dynamics(q, qd, tau)}
    )
    a, b = (1e9 * least[key] / count for key in ("free", "held"))
    operations = system.kernel("forward_dynamics").operations
    return f"{name:24} {free.kernel('forward_dynamics').operations:7} {operations:7} {a:9.0f} {b:9.0f} {b / a:8.2f}"


def pinocchio(count: int = 2000) -> str:
    """The welded Panda, one call after another, against a loop of calls of ours and of Pinocchio's."""
    try:
        import pinocchio as pin
    except ImportError:
        return "(no Pinocchio: pip install pin)"
    robot = dl.load("panda")
    q = robot.random_configuration(seed=0) * 0.5
    T = robot.fk(q)
    system = Constrained(robot, hold("weld", at=T))
    _, qd = system.project(q, np.ones(7))
    tau = np.ones(7)
    model = pin.buildModelFromXML(robot.to_urdf())
    frame = model.frames[model.getFrameId(robot.tip, pin.FrameType.BODY)]
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    held = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_6D, model, 0, pin.SE3(T), frame.parentJoint, frame.placement, pin.ReferenceFrame.LOCAL
    )
    models.append(held)
    datas.append(held.createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    v = np.zeros(model.nv)
    pq = pin.neutral(model)
    for k, joint in enumerate(robot.joint_names):
        j = model.joints[model.getJointId(joint)]
        pq[j.idx_q], v[j.idx_v] = q[k], qd[k]
    torque = np.ones(model.nv)
    kernel = system.kernel("forward_dynamics").direct
    batch = [np.broadcast_to(x, (count, 7)).copy() for x in (q, qd, tau)]

    def theirs() -> None:
        for _ in range(count):
            pin.constraintDynamics(model, data, pq, v, torque, models, datas, settings)

    def ours() -> None:
        for _ in range(count):
            kernel(q, qd, tau)

    least = best_of_each(ROUNDS, {"theirs": theirs, "ours": ours, "batch": lambda: kernel(*batch)})
    per = {key: 1e6 * x / count for key, x in least.items()}
    return (
        f"welded Panda: Pinocchio {per['theirs']:.2f} µs a call, ours {per['ours']:.2f}, in a batch {per['batch']:.3f} "
        f"({per['theirs'] / per['batch']:.0f}×)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=100_000)
    count = parser.parse_args().states
    panda = dl.load("panda")
    systems = {
        "panda, plane": Constrained(panda, plane((0, 0, 0.4), (0, 0, 1))),
        "panda, channel": Constrained(panda, channel((0.4, 0, 0.4), (0, 1, 0))),
        "panda, weld": Constrained(panda, hold("weld", at=panda.fk(panda.random_configuration(seed=3) * 0.5))),
        **{name: Constrained(dl.load(name)) for name in ("four-bar", "five-bar", "delta", "stewart")},
    }
    print(f"{'forward dynamics':24} {'ops':>7} {'held':>7} {'ns free':>9} {'ns held':>9} {'ratio':>8}")
    for name, system in systems.items():
        print(compare(name, system, count if system.n < 20 else count // 10), flush=True)
    print(pinocchio())


if __name__ == "__main__":
    main()
