"""The controllers that commands know by name, each made for a bandwidth ω and a damping ζ: a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.output import F

if TYPE_CHECKING:
    from dalembert.control import Controller
    from dalembert.robot import Robot

Make = Callable[[Any, "Robot", float, float], "Controller"]

# By name: how it is made of dalembert.control, a robot, ω [rad/s] and ζ.
CONTROLLERS: dict[str, Make] = {
    "computed-torque": lambda c, robot, w, z: c.ComputedTorque(robot, w, z),
    "pd": lambda c, robot, w, z: c.PD.tuned(robot, w, z),
    "pd-gravity": lambda c, robot, w, z: c.PDGravity.tuned(robot, w, z),
    "pid": lambda c, robot, w, z: c.JointPID.tuned(robot, w, z),
    "independent": lambda c, robot, w, z: c.IndependentJoint(robot, w, z),
    "feedforward": lambda c, robot, w, z: c.Feedforward(robot),
    "feedforward-pd": lambda c, robot, w, z: c.FeedforwardPD.tuned(robot, w, z),
}
PACE, DAMPING = 10.0, 1.0  # [rad/s] and ζ if nobody says


def bandwidth_options(command: F) -> F:
    """--omega and --zeta."""
    positive = output.Number(0, 1e6, min_open=True)
    omega = click.option("--omega", type=positive, default=PACE, show_default=True, help="Bandwidth ω [rad/s].")
    zeta = click.option("--zeta", type=positive, default=DAMPING, show_default=True, help="Damping ratio ζ.")
    return omega(zeta(command))


def made(name: str, robot: Robot, omega: float, zeta: float) -> Controller:
    """The controller of a name, for the robot that it believes in."""
    from dalembert import control

    return CONTROLLERS[name](control, robot, omega, zeta)


def goal_of(arm: Robot, start: list[float]) -> list[float]:
    """Somewhere to go if nobody says: every joint half a radian (a tenth of a meter) toward its farther limit."""
    goal = []
    for c, x in zip(arm.model.coordinates, start, strict=True):
        way = 0.5 if c.joint.turns else 0.1
        room = max(c.upper - x, x - c.lower)
        goal.append(x + min(way, room) if c.upper - x >= x - c.lower else x - min(way, room))
    return goal


def within(arm: Robot, name: str, q: list[float]) -> list[float]:
    """Positions that the user named, if they are within the limits."""
    for c, x in zip(arm.model.coordinates, q, strict=True):
        if not c.lower <= x <= c.upper:
            low, high = output.number(c.lower), output.number(c.upper)
            raise click.BadParameter(
                f"{output.number(x)} for {c.name!r} is outside its limits, {low} to {high}", param_hint=f"--{name}"
            )
    return q
