"""The controllers to choose from in the studio: those that a bandwidth ω and a damping ζ will do for, or none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.control.controller import Controller
from dalembert.control.registry import Entry, offered
from dalembert.control.task_space import TaskController
from dalembert.flow import Scalar, Scalars
from dalembert.law import Law
from dalembert.robot import Robot

Array = NDArray[np.float64]
NONE, FIRST = "none", "PD + gravity"  # no controller at all; the one to begin with


def choices(robot: Robot) -> dict[str, Entry | None]:
    """The controllers to choose from for a robot, by title. For a closed chain these are laws whose torques are right
    although the tree believes its joints free."""
    found = {e.title: e for e in offered().values() if e.chains or not robot.loops}
    return {FIRST: found.pop(FIRST), **found, NONE: None}


def sentence(entry: Entry | None) -> str:
    """What a controller does."""
    return "τ = 0: the robot falls" if entry is None else entry.sentence


def no_law(robot: Robot) -> Law:
    """No torques."""
    outputs = tuple(f"{joint}_torque" for joint in robot.joint_names)

    def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
        return [0.0] * len(outputs)

    return Law("no controller", (), (), outputs, act)


def wanted_at(controller: Controller | None, robot: Robot, q: Array, frame: str) -> Array:
    """The set point, at joint positions q, in the coordinates that the controller follows."""
    if not isinstance(controller, TaskController):
        return q
    return np.asarray(robot.fk(q, frame))[["xyz".index(name) for name in controller.task.names], 3]
