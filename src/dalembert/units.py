"""Units of a robot's coordinates, and numbers that look as if they were in another: degrees for radians."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from dalembert.errors import UnitWarning
from dalembert.joints.joint import EFFORT_UNIT
from dalembert.model import Model
from dalembert.spatial.angles import TURN, look_like_degrees, sentence


def position_units(model: Model) -> tuple[str, ...]:
    """rad or m of every position, "" of a quaternion's."""
    return tuple(unit for c in model.coordinates for unit in c.joint.position_units or c.joint.units)


def state_units(model: Model) -> dict[str, str]:
    """The units of a robot's positions, rates and torques by their names: joint, joint_rate, joint_torque."""
    found: dict[str, str] = {}
    places, rates, efforts = (iter(model.names(of)) for of in ("position", "rate", "effort"))
    units = iter(position_units(model))
    for c in model.coordinates:
        found |= {next(places): next(units) for _ in range(c.joint.nq)}
        for unit in c.joint.units:
            found |= {next(rates): f"{unit}/s", next(efforts): EFFORT_UNIT[unit]}
    return found


def odd_angles(
    values: Sequence[float], units: Sequence[str], lower: Sequence[float], upper: Sequence[float]
) -> list[float]:
    """Of joint positions, those of joints that turn and look like degrees: far beyond their limits, or altogether."""
    rows = [(x, a, b) for x, unit, a, b in zip(values, units, lower, upper, strict=False) if unit == "rad"]
    beyond = [x for x, a, b in rows if abs(x) > TURN and not a - TURN <= x <= b + TURN]
    return beyond or ([x for x, *_ in rows] if look_like_degrees(x for x, *_ in rows) else [])


def find_degrees(model: Model, values: Sequence[float]) -> list[float]:
    """The same of a robot's joints."""
    own = [c for c in model.coordinates for _ in range(c.joint.nq)]
    return odd_angles(values, position_units(model), [c.lower for c in own], [c.upper for c in own])


def warn_of_degrees(
    name: str,
    values: Sequence[float],
    units: Sequence[str],
    lower: Sequence[float],
    upper: Sequence[float],
    stacklevel: int = 5,
) -> None:
    """A UnitWarning, if joint positions look like degrees."""
    odd = odd_angles(values, units, lower, upper)
    if odd:
        warnings.warn(sentence(name, odd, f"give np.radians({name})"), UnitWarning, stacklevel)
