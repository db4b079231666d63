"""The controllers to choose from, each made for a bandwidth ω and a damping ζ: a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert import control
from dalembert.control.controller import Controller
from dalembert.control.joint_space import torque_gains
from dalembert.flow import Scalar, Scalars
from dalembert.kinematics.jacobian import moving_part
from dalembert.law import Law
from dalembert.robot import Robot

Array = NDArray[np.float64]
INTEGRAL = 0.3  # of ω: how fast the integral of a PID acts
TASK = {"vx": "x", "vy": "y", "vz": "z"}


@dataclass(frozen=True)
class Choice:
    """`make(robot, q, frame, omega, zeta)` gives the controller, None for none at all. It follows "joints", or the
    "tip"; `sentence` says what it does."""

    make: Callable[[Robot, Array, str, float, float], Controller] | None
    follows: str
    sentence: str


def _pid(robot: Robot, q: Array, frame: str, omega: float, zeta: float) -> Controller:
    kp, kd = torque_gains(robot, omega, zeta)
    return control.JointPID(robot, kp, (INTEGRAL * omega * np.array(kp)).tolist(), kd)


def _impedance(robot: Robot, q: Array, frame: str, omega: float, zeta: float) -> Controller:
    """The stiffness that gives ω with the mass that is felt where it begins."""
    rows = moving_part(robot, "position", frame, "world").names
    masses = np.asarray(robot.effective_mass(q, frame, rows).masses)
    felt = float(np.median(masses[np.isfinite(masses)])) if np.isfinite(masses).any() else robot.mass
    return control.Impedance(
        robot,
        felt * omega**2,
        2 * zeta * omega * felt,
        rows=tuple(TASK[r] for r in rows),
        frame=frame,
        posture=q,
        posture_stiffness=omega**2 / 4,
        null_damping=zeta * omega,
    )


CHOICES: dict[str, Choice] = {
    "PD + gravity": Choice(
        lambda robot, q, frame, w, z: control.PDGravity.tuned(robot, w, z), "joints", "τ = K_p e + K_d ė + g(q)"
    ),
    "computed torque": Choice(
        lambda robot, q, frame, w, z: control.ComputedTorque(robot, w, z),
        "joints",
        "τ = M (q̈_d + K_d ė + K_p e) + c + g",
    ),
    "feedforward + PD": Choice(
        lambda robot, q, frame, w, z: control.FeedforwardPD.tuned(robot, w, z),
        "joints",
        "τ = M(q_d) q̈_d + c + g(q_d) + K_p e + K_d ė",
    ),
    "PD": Choice(lambda robot, q, frame, w, z: control.PD.tuned(robot, w, z), "joints", "τ = K_p e + K_d ė"),
    "PID": Choice(_pid, "joints", "τ = K_p e + K_d ė + K_i ∫ e dt"),
    "impedance": Choice(_impedance, "tip", "the tip as a mass on a spring: Λ ë + D ė + K e = −F"),
    "none": Choice(None, "joints", "τ = 0: the robot falls"),
}
# What is to be had for a closed chain: laws whose torques are right although the tree believes its joints free.
OF_CHAINS = ("PD + gravity", "PD", "PID", "none")


def choices(robot: Robot) -> tuple[str, ...]:
    """The names to choose from for a robot."""
    return OF_CHAINS if robot.loops else tuple(CHOICES)


def no_law(robot: Robot) -> Law:
    """No torques."""
    outputs = tuple(f"{joint}_torque" for joint in robot.joint_names)

    def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
        return [0.0] * len(outputs)

    return Law("no controller", (), (), outputs, act)


def followed(controller: Any, follows: str, robot: Robot, q: Array, frame: str) -> Array:
    """The set point, at joint positions q, in the coordinates that the controller follows."""
    if follows == "joints":
        return q
    names = controller.task.names
    return np.asarray(robot.fk(q, frame))[[["x", "y", "z"].index(n) for n in names], 3]
