"""<equality>: couplings of two joints become mimic joints, and <connect> and <weld> close loops. MuJoCo measures what
such a constraint holds together in the pose in which the model is written, and so is it here.

<actuator> and <tendon>: what of them belongs to the equations of motion, whoever drives the joints. Armature and
damping of an actuator go to its joint, times its gear squared. Tendons that are springs, that damp, rub or have
armature couple joints in a way that no description can say.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING

from dalembert.describe.chain import carriers
from dalembert.describe.description import Loop, Mimic, Origin
from dalembert.describe.mjcf.document import reals
from dalembert.describe.mjcf.joints import SEVERAL, ReadJoint
from dalembert.describe.mjcf.placement import PARALLEL, origin_of
from dalembert.describe.xml import Element
from dalembert.errors import unknown
from dalembert.spatial import Pose
from dalembert.spatial.rotation import from_quaternion
from dalembert.spatial.vector import IDENTITY, ZERO

if TYPE_CHECKING:
    from dalembert.describe.mjcf.read import Reader

OWNER = "an equality"


def read_equalities(reader: Reader) -> None:
    """Mimic joints and loops of one document, into what its reader has made."""
    tendons = {t.attributes["name"]: t for t in reader.document.sections("tendon") if "name" in t.attributes}
    for e in reader.document.sections("equality"):
        e = reader.document.complete(e, None, "equality")
        if e.attributes.get("active", "true") == "false" or (reader.partial and not _inside(reader, e)):
            continue
        if e.tag in ("connect", "weld"):
            _close(reader, e)
        elif e.tag not in ("joint", "tendon") or not _couple(reader, e, tendons):
            reader.lose("equalities", e, f"equality <{e.tag}> is neither a linear coupling of two joints nor a loop")
        elif e.tag == "tendon" and "tendon2" not in e.attributes:
            reader.held.add(e.attributes["tendon1"])


def _inside(reader: Reader, e: Element) -> bool:
    """Whether what an equality of an attached model holds was attached."""
    known: dict[str, Container[str]] = {"body": reader.bodies, "site": reader.sites, "joint": reader.read}
    said = [(known[tag], e.attributes[f"{tag}{k}"]) for tag in known for k in (1, 2) if f"{tag}{k}" in e.attributes]
    return all(reader.called(name) in names for names, name in said)


def _couple(reader: Reader, e: Element, tendons: dict[str, Element]) -> bool:
    """Σ cⱼ (qⱼ − refⱼ) = a₀ of two joints as a mimic joint; whether it is one. With a₁ … a₄ of polycoef, what is held,
    a joint or the length of a fixed tendon, is a polynomial of another."""
    written = reals(e, "polycoef", 1, 5, OWNER) if "polycoef" in e.attributes else (0.0, 1.0)
    a = (*written, *(0.0,) * 4)
    c: dict[str, float] = {}
    for attribute, factor in ((f"{e.tag}1", 1.0), (f"{e.tag}2", -a[1])):
        if attribute in e.attributes or factor == 1.0:
            found = _combination(reader, e, attribute, tendons)
            if found is None or (factor != 1.0 and any(a[2:5])):
                return False
            for name, coefficient in found.items():
                c[name] = c.get(name, 0.0) + factor * coefficient
    moving = [name for name, coefficient in c.items() if coefficient]
    if len(moving) != 2:
        return not moving
    first, second = moving
    # The first of two equal joints follows the second, and of a tendon's joints the later follows the earlier.
    pairs = [(first, second), (second, first)]
    return any(_follow(reader, *pair, c, a[0]) for pair in (pairs if e.tag == "joint" else reversed(pairs)))


def _combination(reader: Reader, e: Element, attribute: str, tendons: dict[str, Element]) -> dict[str, float] | None:
    """What an equality holds, as a linear combination of joints; None if it is none."""
    if attribute.startswith("joint"):
        return {_joint(reader, e, attribute).name: 1.0}
    name = e.word(attribute, OWNER)
    if name not in tendons:
        problem = f"an equality holds the {unknown('tendon', name, tendons)}"
        raise e.refuse("unknown-name", "tendon", name, problem=problem)
    if tendons[name].tag != "fixed":
        return None
    wraps = list(tendons[name].all("joint"))
    return {_joint(reader, w, "joint").name: w.number("coef", f"tendon {name!r}") for w in wraps}


def _follow(reader: Reader, follower: str, leader: str, c: dict[str, float], a: float) -> bool:
    """Let one joint mimic the other, unless it follows one already or the other follows it."""
    of = {joint.name: k for k, joint in enumerate(reader.joints)}
    above: str | None = leader
    while above is not None and above != follower:
        mimic = reader.joints[of[above]].mimic
        above = None if mimic is None else mimic.joint
    k = of[follower]
    if above == follower or reader.joints[k].mimic is not None:
        return False
    ratio = -c[leader] / c[follower]
    offset = reader.read[follower].ref + a / c[follower] - ratio * reader.read[leader].ref
    reader.joints[k] = replace(reader.joints[k], mimic=Mimic(leader, ratio, offset))
    return True


def _joint(reader: Reader, e: Element, attribute: str) -> ReadJoint:
    name = reader.called(e.word(attribute, OWNER))
    if name not in reader.read:
        problem = f"an equality holds the {unknown('joint', name, reader.read)}"
        raise e.refuse("unknown-name", "joint", name, problem=problem)
    if reader.read[name].kind in SEVERAL.values():
        problem = (
            f"an equality holds joint {name!r}, which has several coordinates; only hinges and slides can be coupled"
        )
        raise e.refuse("unsupported", "joint", name, problem=problem)
    return reader.read[name]


def _close(reader: Reader, e: Element) -> None:
    """A loop between two bodies or sites, if they can move against each other and neither is moved from outside."""
    sites = "site1" in e.attributes or "site2" in e.attributes
    first, second = (_link(reader, e, f"{'site' if sites else 'body'}{k}") for k in (1, 2))
    who = f"equality <{e.tag}> of {first!r} and {second!r}"
    if first in reader.mocap or second in reader.mocap:
        reader.warnings.append(f"{e.place}: {who} holds a body that is moved from outside (mocap), and is not carried")
        return
    carrier = carriers(reader.joints)
    if carrier.get(first, first) == carrier.get(second, second):
        reader.warnings.append(f"{e.place}: {who} joins what never moves against each other; it is left out")
        return
    between = reader.poses[first].inverse() @ reader.poses[second]
    at, other, kind = Pose(), Pose(), "ball" if e.tag == "connect" else "weld"
    if e.tag == "weld" and e.optional("torquescale", OWNER) == 0:
        kind = "ball"  # held at its point, free to turn
        if not sites:
            other = Pose(IDENTITY, e.numbers("anchor", 3, OWNER, ZERO))
            at = _relative(e, between) @ other
    elif e.tag == "weld" and not sites:
        at = _relative(e, between)
    elif not sites:
        at = Pose(IDENTITY, e.numbers("anchor", 3, OWNER))
        other = Pose(IDENTITY, between.inverse().point(at.p))
    name = reader.called(e.attributes["name"]) if "name" in e.attributes else e.tag
    names = {loop.name for loop in reader.loops}
    while name in names:
        name += "_"
    reader.loops.append(Loop(name, kind, first, second, _origin(at), _origin(other), place=e.place))


def _relative(e: Element, between: Pose) -> Pose:
    """relpose: of the second body in the first; all of it as the model is written, if its quaternion is zero."""
    if "relpose" not in e.attributes:
        return between
    x, y, z, *turn = e.numbers("relpose", 7, OWNER)
    length = math.hypot(*turn)
    if length < PARALLEL:
        return between
    w, a, b, c = (t / length for t in turn)
    return Pose(from_quaternion((a, b, c, w)), (x, y, z))


def _origin(T: Pose) -> Origin:
    return Origin(tuple(map(float, T.p))) if T.R == IDENTITY else origin_of(T)  # type: ignore[arg-type]


def _link(reader: Reader, e: Element, attribute: str) -> str:
    if attribute == "body2" and attribute not in e.attributes:
        return reader.world
    name = reader.called(e.word(attribute, OWNER))
    known = reader.sites if attribute.startswith("site") else reader.bodies
    if name not in known:
        problem = f"an equality holds the {unknown(attribute[:4], name, known)}"
        raise e.refuse("unknown-name", attribute, name, problem=problem)
    return known[name]


# Defaults of one kind are those of all others.
_ACTUATORS = ["general", "motor", "position", "velocity", "intvelocity"]
_ACTUATORS += ["damper", "cylinder", "muscle", "adhesion", "dcmotor"]
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
        if k is None or any(damping[1:]) or reader.joints[k].several:
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
        found = [name for name in _RESISTS if name in e.attributes and any(reals(e, name, 1, 8, "a tendon"))]
        if found and e.attributes.get("name") not in reader.held:
            reader.lose("tendons", e, f"{_called('tendon', e)} has {' and '.join(found)}, which is not modeled")


def _called(kind: str, e: Element) -> str:
    return f"{kind} {e.attributes['name']!r}" if "name" in e.attributes else f"<{e.tag}>"
