"""The controllers that commands know by name, each made for a bandwidth ω and a damping ζ."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.output import F
from dalembert.control.registry import OMEGA, ZETA, offered

if TYPE_CHECKING:
    from dalembert.control import Controller
    from dalembert.robot import Robot

CONTROLLERS = offered("joints")  # by name
TUNED = tuple(name for name, entry in CONTROLLERS.items() if entry.settings)


def bandwidth_options(command: F) -> F:
    """--omega and --zeta."""
    for setting in (ZETA, OMEGA):
        unit = f" {setting.symbol} [{setting.unit}]." if setting.unit else f" {setting.symbol}."
        command = click.option(
            f"--{setting.name}",
            type=output.Number(0, 1e6, min_open=True),
            default=setting.default,
            show_default=True,
            help=setting.meaning + unit,
        )(command)
    return command


def make(name: str, robot: Robot, omega: float, zeta: float) -> Controller:
    """The controller of a name, for the robot that it believes in."""
    return CONTROLLERS[name].make(robot, omega, zeta)


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
