"""<actuator> and <tendon>: what of them belongs to the equations of motion, whoever drives the joints.

Armature and damping of an actuator go to its joint, times its gear squared. Tendons that are springs, that damp, rub or
have armature couple joints in a way that no description can say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dalembert.describe.mjcf.document import reals
from dalembert.describe.xml import Element

if TYPE_CHECKING:
    from dalembert.describe.mjcf.read import Reader

# Defaults of one kind are those of all others.
_ACTUATORS = (
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
)
_RESISTS = ("armature", "damping", "stiffness", "frictionloss")


def read_actuators(reader: Reader) -> None:
    """Armature and damping of actuators, given to the joints that they drive."""
    for e in reader.document.sections("actuator"):
        e = reader.document.complete(e, None, *_ACTUATORS)
        who = _called("actuator", e)
        armature = e.number("armature", who, 0.0)
        damping = reals(e, "damping", 1, 8, who) if "damping" in e.attributes else (0.0,)
        if not (armature or any(damping)):
            continue
        name = e.attributes.get("joint", e.attributes.get("jointinparent"))
        k = next((k for k, j in enumerate(reader.joints) if name is not None and j.name == reader.called(name)), None)
        if k is None or any(damping[1:]):
            reader.lose("actuators", e, f"{who} has armature or damping that is not its joint's alone, or not linear")
            continue
        gear = reals(e, "gear", 1, 6, who)[0] if "gear" in e.attributes else 1.0
        drive = reader.joints[k].drive
        more = replace(
            drive,
            rotor_inertia=drive.rotor_inertia + gear * gear * armature,
            damping=drive.damping + gear * gear * damping[0],
        )
        reader.joints[k] = replace(reader.joints[k], drive=more)


def read_tendons(reader: Reader) -> None:
    """Tendons that resist motion are not carried, and said to be so."""
    for e in reader.document.sections("tendon"):
        e = reader.document.complete(e, None, "tendon")
        found = [name for name in _RESISTS if name in e.attributes and any(_numbers(e, name))]
        if found and e.attributes.get("name") not in reader.held:
            reader.lose("tendons", e, f"{_called('tendon', e)} has {' and '.join(found)}, which is not modeled")


def _called(kind: str, e: Element) -> str:
    return f"{kind} {e.attributes['name']!r}" if "name" in e.attributes else f"<{e.tag}>"


def _numbers(e: Element, name: str) -> tuple[float, ...]:
    return reals(e, name, 1, 8, "a tendon")
