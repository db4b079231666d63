"""Description → MJCF text, with what URDF has no word for: armature, damping, frictionloss.

Shapes are left out: a model of the dynamics, to be read by MuJoCo or beside a drawn one. MuJoCo knows one level of dry
friction for both directions, and neither offsets nor further laws: these are left out too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.describe.description import Description, Inertial, Joint, Origin
from dalembert.describe.urdf_write import element, number, numbers
from dalembert.errors import DescriptionError
from dalembert.joints import JOINTS
from dalembert.spatial.rotation import from_rpy

TYPES = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "spherical": "ball", "floating": "free"}


def write_mjcf(description: Description) -> str:
    """The MJCF document, without shapes."""
    if description.loops:
        problem = "the robot has loops, which cannot be written as MJCF"
        raise DescriptionError("unsupported", "loops", problem=problem, remedy="Write URDF or TOML instead.")
    below: dict[str, list[Joint]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint)
    inertials = {link.name: link.inertial for link in description.links}

    def body(link: str, joint: Joint | None) -> list[str]:
        inside = [] if joint is None or joint.kind == "fixed" else _joint(joint)
        held = [line for child in below.get(link, ()) for line in body(child.child, child)]
        if joint is None and link == "world":  # which MuJoCo has already
            return held
        inside += [*_inertial(inertials[link]), *held]
        placed = {} if joint is None else {"pos": numbers(joint.origin.xyz), "euler": numbers(joint.origin.rpy)}
        if joint is not None and joint.kind == "floating":
            placed = _free(joint, dict(description.home))
        return element("body", {"name": link, **placed}, inside)

    children = {joint.child for joint in description.joints}
    roots = [link.name for link in description.links if link.name not in children]
    followers = [joint for joint in description.joints if joint.mimic is not None]
    equal = [line for joint in followers for line in _follow(joint)]
    parts = [
        *element("compiler", {"angle": "radian", "eulerseq": "XYZ", "balanceinertia": "false"}),
        *element("option", {"gravity": numbers(description.gravity)}),
        *element("worldbody", {}, [line for root in roots for line in body(root, None)]),
        *(element("equality", {}, equal) if equal else ()),
    ]
    return "\n".join(element("mujoco", {"model": description.name}, parts)) + "\n"


def _joint(joint: Joint) -> list[str]:
    if joint.kind not in TYPES:
        problem = f"joint {joint.name!r} is {joint.kind}, which cannot be written as MJCF"
        raise DescriptionError("unsupported", "kind", joint.kind, problem=problem, remedy="Write TOML instead.")
    drive, limit = joint.drive, joint.limit
    said: dict[str, str | None] = {"name": joint.name, "type": TYPES[joint.kind]}
    if not joint.several:
        said["axis"] = numbers(joint.axis)
    if limit is not None and limit.lower is not None and limit.upper is not None and limit.lower < limit.upper:
        said["range"] = numbers((limit.lower, limit.upper)) if joint.kind != "continuous" else None
    if limit is not None and limit.effort is not None and limit.effort > 0:
        said["actuatorfrcrange"] = numbers((-limit.effort, limit.effort))
    values = {
        "armature": drive.gear_ratio**2 * drive.rotor_inertia,
        "damping": drive.damping,
        "frictionloss": 0.5 * sum(drive.coulomb),
        "stiffness": drive.stiffness,
        "springref": drive.rest if drive.stiffness else 0.0,
    }
    return element("joint", said | {name: number(value) for name, value in values.items() if value})


def _free(joint: Joint, home: Mapping[str, float]) -> dict[str, str]:
    """Where the body of a free joint is written: at home. MuJoCo's coordinates are its pose in the world."""
    if joint.parent != "world" or joint.origin != Origin():
        why = (
            "hangs on the world, in its frame; load with base='floating'"
            if joint.parent != "world"
            else "has no origin; give its place as its home"
        )
        problem = f"joint {joint.name!r} is floating, which in MJCF {why}, or write URDF or TOML instead"
        raise DescriptionError("unsupported", "kind", joint.kind, problem=problem)
    kind = JOINTS["floating"]
    q = [home.get(f"{joint.name}{part}", x) for part, x in zip(kind.position_names, kind.neutral, strict=True)]
    return {"pos": numbers(q[:3]), "quat": numbers((q[6], *q[3:6]))}


def _inertial(inertial: Inertial | None) -> list[str]:
    if inertial is None or not (inertial.mass or any(inertial.inertia)):
        return []
    xx, xy, xz, yy, yz, zz = inertial.inertia
    R = np.array(from_rpy(inertial.origin.rpy), float)
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    six = [I[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    said = {"pos": numbers(inertial.origin.xyz), "mass": number(inertial.mass), "fullinertia": numbers(six)}
    return element("inertial", said)


def _follow(joint: Joint) -> list[str]:
    assert joint.mimic is not None
    line = numbers((joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0))
    return element("joint", {"joint1": joint.name, "joint2": joint.mimic.joint, "polycoef": line})
