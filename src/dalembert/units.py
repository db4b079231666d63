"""Units of a robot's coordinates, and numbers that look as if they were in another: degrees for radians."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import UnitWarning
from dalembert.model import Model
from dalembert.spatial.angles import TURN, look_like_degrees, sentence

if TYPE_CHECKING:
    from dalembert.law import Law
    from dalembert.reference import Reference


def position_units(model: Model) -> tuple[str, ...]:
    """rad or m of every coordinate."""
    return tuple(c.joint.unit for c in model.coordinates)


def state_units(model: Model) -> dict[str, str]:
    """The units of a robot's positions, rates and torques by their names: joint, joint_rate, joint_torque."""
    found = {}
    for c, unit in zip(model.coordinates, position_units(model), strict=True):
        found |= {c.name: unit, f"{c.name}_rate": f"{unit}/s", f"{c.name}_torque": "N" if unit == "m" else "N m"}
    return found


def find_degrees(model: Model, values: Sequence[float]) -> list[float]:
    """Of joint positions, those of joints that turn and look like degrees: far beyond their limits, or altogether."""
    turning = zip(values, model.coordinates, position_units(model), strict=False)
    rows = [(x, c) for x, c, unit in turning if unit == "rad"]
    beyond = [x for x, c in rows if abs(x) > TURN and not c.lower - TURN <= x <= c.upper + TURN]
    return beyond or ([x for x, _ in rows] if look_like_degrees(x for x, _ in rows) else [])


def warn_of_angles(model: Model, name: str, values: Sequence[float], stacklevel: int = 4) -> None:
    """A UnitWarning, if joint positions look like degrees."""
    odd = find_degrees(model, values)
    if odd:
        warnings.warn(sentence(name, odd, f"give np.radians({name})"), UnitWarning, stacklevel)


def warn_of_motion(model: Model | None, law: Law | None, motion: Reference, duration: float) -> None:
    """The same of a motion that a law of the joints follows, where it begins and where it ends: motions themselves do
    not know what their numbers are."""
    followed = [name.rpartition("_")[0] for name in law.follows] if law else []
    if model is not None and model.n and followed[: model.n] == [c.name for c in model.coordinates]:
        x = max((np.asarray(motion(t)[0], float) for t in (0.0, duration)), key=lambda x: np.abs(x).max())
        warn_of_angles(model, "reference", x.tolist(), 5)
