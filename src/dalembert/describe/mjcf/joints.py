"""Joints: kind, axis, anchor, limits, what resists them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from dalembert.describe.description import Drive, Limit
from dalembert.describe.mjcf.document import choice, reals
from dalembert.describe.mjcf.placement import Settings, turned, unit
from dalembert.describe.xml import Element
from dalembert.spatial import Pose
from dalembert.spatial.vector import IDENTITY, ZERO, Vector, matvec, scale

# Those with several coordinates, by the kinds of a description.
SEVERAL = {"free": "floating", "ball": "spherical"}
Lose = Callable[[str, Element, str], None]  # Reader.lose


@dataclass(frozen=True)
class ReadJoint:
    """A joint in its body's frame: q = `ref` where the body stands as it is written."""

    name: str
    kind: str
    axis: Vector
    anchor: Vector
    ref: float
    limit: Limit | None
    drive: Drive
    element: Element

    def at_zero(self) -> Pose:
        """What the joint has done to the body at q = 0, seen at the anchor."""
        if self.kind in SEVERAL.values():
            return Pose()
        if self.kind == "prismatic":
            return Pose(IDENTITY, scale(-self.ref, self.axis))
        return Pose(IDENTITY if self.ref == 0 else turned(self.axis, -self.ref))


def read_joint(
    e: Element,
    within: Pose,
    name: str,
    settings: Settings,
    warnings: list[str],
    lose: Lose,
    inherited: Collection[str] = (),
) -> ReadJoint:
    """A joint of a body, defaults already laid under it, whose attributes are `inherited`; `within` is the frame it
    stands in."""
    who = f"joint {name!r}"
    kind = "free" if e.tag == "freejoint" else e.attributes.get("type", "hinge")
    if kind not in ("hinge", "slide", *SEVERAL):
        problem = f"{who} is of the unknown type {kind!r:.40}"
        raise e.refuse("unknown-name", "type", kind, problem=problem, remedy="Choose from hinge, slide, ball, free.")
    if kind in SEVERAL:
        return _read_several(e, within, name, SEVERAL[kind], settings, warnings, lose, inherited)
    per = settings.angle if kind == "hinge" else 1.0
    limited = _limited(e, settings, who)
    lower = upper = None
    if limited:
        lower, upper = (per * x for x in e.numbers("range", 2, who))
        if lower >= upper:
            problem = f"{who} has range={e.attributes['range']!r}, whose first number must be the smaller"
            raise e.refuse("wrong-order", "range", e.attributes["range"], problem=problem)
    effort = _effort(e, settings, who, warnings)
    axis = e.numbers("axis", 3, who, (0.0, 0.0, 1.0))
    anchor = e.numbers("pos", 3, who, ZERO)
    revolute = "revolute" if limited else "continuous"
    return ReadJoint(
        name,
        "prismatic" if kind == "slide" else revolute,
        matvec(within.R, unit(e, "axis", axis, who)),
        within.point(anchor),
        per * e.number("ref", who, 0.0),
        None if not limited and effort is None else Limit(lower, upper, effort),
        _drive(e, per, who, warnings, lose),
        e,
    )


def _read_several(
    e: Element,
    within: Pose,
    name: str,
    kind: str,
    settings: Settings,
    warnings: list[str],
    lose: Lose,
    inherited: Collection[str],
) -> ReadJoint:
    """A ball turns about its anchor; the coordinates of a free joint are the body's pose in the world."""
    who = f"joint {name!r}"
    ball = kind == "spherical"
    if ball and _limited(e, settings, who):
        warnings.append(f"{e.place}: {who} is a ball joint with a range; its limit is not carried")
    if e.attributes.get("align", "false") == "true" or (settings.align_free and e.tag == "freejoint"):
        warnings.append(f"{e.place}: {who} asks for axes of inertia (align); it keeps the body's own frame instead")
    drive = _drive(e, 1.0, who, warnings, lose)
    if drive.stiffness:
        lose("springs", e, f"{who} has stiffness, which is not modeled for a joint with several coordinates")
    if any(drive.coulomb) and not ball:
        warnings.append(f"{e.place}: {who} is free and has frictionloss, here along the body's axes, not the world's")
    if drive.rotor_inertia and not ball:
        sentence = f"{who} is free and has armature, inertia without weight, which no free body has"
        if "armature" in inherited:  # meant for the other joints of the class
            warnings.append(f"{e.place}: {sentence}; a default class gives it, and it is left out")
        else:
            lose("armature", e, sentence)
        drive = replace(drive, rotor_inertia=0.0)
    drive = replace(drive, stiffness=0.0, rest=0.0)
    anchor = within.point(e.numbers("pos", 3, who, ZERO)) if ball else ZERO
    return ReadJoint(name, kind, (1.0, 0.0, 0.0), anchor, 0.0, None, drive, e)


def _limited(e: Element, settings: Settings, who: str) -> bool:
    said = choice(e, "limited", ("true", "false", "auto"), who) or "auto"
    if said == "auto" and "range" in e.attributes and not settings.autolimits:
        problem = f"{who} has a range, and autolimits is off"
        raise e.refuse("conflict", "limited", problem=problem, remedy="Write limited='true' or 'false'.")
    return said == "true" or (said == "auto" and "range" in e.attributes)


def _effort(e: Element, settings: Settings, who: str, warnings: list[str]) -> float | None:
    """The largest force of its actuators, where the joint itself says one."""
    said = choice(e, "actuatorfrclimited", ("true", "false", "auto"), who) or "auto"
    if "actuatorfrcrange" not in e.attributes or said == "false":
        return None
    low, high = e.numbers("actuatorfrcrange", 2, who)
    if -low != high:
        warnings.append(
            f"{e.place}: {who} has actuatorfrcrange {low:g} {high:g}; the smaller is taken as its effort, both ways"
        )
    return max(min(-low, high), 0.0)


def _drive(e: Element, per: float, who: str, warnings: list[str], lose: Lose) -> Drive:
    """Armature is inertia on the joint's side; frictionloss is Coulomb's; the spring rests at springref."""
    first = {}
    for name in ("damping", "stiffness"):
        numbers = reals(e, name, 1, 8, who) if name in e.attributes else (0.0,)
        first[name] = numbers[0]
        if any(numbers[1:]):
            warnings.append(f"{e.place}: {who} has a {name} that is not linear; only its first number is carried")
    if "springdamper" in e.attributes and any(e.numbers("springdamper", 2, who)):
        sentence = (
            f"{who} has springdamper, which MuJoCo works out from the inertia (write stiffness and damping instead)"
        )
        lose("springs", e, sentence)
    loss = e.number("frictionloss", who, 0.0)
    return Drive(
        rotor_inertia=e.number("armature", who, 0.0),
        damping=first["damping"],
        coulomb=(loss, loss),
        stiffness=first["stiffness"],
        rest=per * e.number("springref", who, 0.0),
    )
