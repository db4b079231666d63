"""What the drives carry: a payload, and the torques that hold the robot and it against gravity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import number, three
from dalembert.constrained.system import Constrained
from dalembert.kinematics.statics import holding_torque
from dalembert.robot import Robot

Array = NDArray[np.float64]
NAME = "studio payload"


@dataclass(frozen=True)
class Payload:
    """A point mass [kg] at `com` [m] in a frame."""

    mass: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", number("the mass of the payload", self.mass, "kg", least=0.0))
        object.__setattr__(self, "com", three("com", self.com))

    def on(self, robot: Robot, frame: str) -> Robot:
        """The robot that holds it."""
        if not self.mass or robot.model.frame(frame).body < 0:
            return robot
        return robot.with_payload(self.mass, self.com, frame=frame, name=NAME)


def drives(robot: Robot, system: Constrained | None, q: Array) -> tuple[str, ...]:
    """The joints that hold the robot: all of a tree; of a closed chain those with an effort limit if they are enough,
    else a choice of independent ones."""
    if system is None:
        return robot.joint_names
    limited = [n for n, e in zip(robot.joint_names, robot.limits.effort, strict=True) if np.isfinite(e)]
    return tuple(limited) if len(limited) >= int(system.freedoms(q)) else system.independent(q)


def holding(
    robot: Robot, q: Array, payload: Payload, frame: str, system: Constrained | None = None
) -> tuple[tuple[str, ...], Array]:
    """(joints, torques) with which the robot at rest carries itself and the payload [N m, N]."""
    names = drives(robot, system, q)
    if not names:
        return (), np.zeros(0)
    if system is None:
        return names, holding_torque(robot, q, payload.mass, payload.com, frame)
    still = np.zeros(robot.n)
    f = -payload.mass * robot.gravity
    arm = np.asarray(robot.fk(q, frame))[:3, :3] @ np.array(payload.com)
    wrench = np.concatenate([f, np.cross(arm, f)])
    tau = system.inverse_dynamics(q, still, still, f_tip=wrench, frame=frame, actuated=names, tolerance=None)
    return names, np.array([tau[robot.joint_names.index(name)] for name in names])
