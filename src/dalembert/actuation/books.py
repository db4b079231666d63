"""A robot's own friction and springs, and what they do to its energy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dalembert.algorithms import friction, joints, linear
from dalembert.algorithms.joints import Coordinates
from dalembert.arguments import switch
from dalembert.errors import InputError
from dalembert.model import Model
from dalembert.robot import Robot

Scalar = Any


def own_friction(robot: Robot, wanted: Any) -> bool:
    """The switch `friction`, refused where the friction depends on the load, which depends on the acceleration
    sought."""
    if switch("friction", wanted) and robot.model.friction_by_load:
        raise InputError(
            f"some friction of {robot.name!r} depends on the load of its joint, which is not known behind drives "
            "or springs: leave friction=False, or state those losses as the efficiency of a gear"
        )
    return bool(wanted)


def spring_energy(model: Model, q: Coordinates) -> Scalar:
    """Σ ½ k (q − q_rest)² of the joints' springs [J]."""
    total: Scalar = 0.0
    for body, x in zip(model.bodies, joints.positions(model, q), strict=True):
        if body.stiffness:
            total = total + 0.5 * body.stiffness * ((x - body.rest) * (x - body.rest))
    return total


def friction_loss(model: Model, q: Coordinates, qd: Coordinates) -> Scalar:
    """The power that damping and Coulomb friction turn into heat [W]; springs give theirs back."""
    rough = replace(model, bodies=tuple(replace(body, stiffness=0.0) for body in model.bodies))
    return linear.inner(friction.friction_torque(rough, q, qd), qd)
