"""Description → Model: order the tree, lump what does not move, fold mimic joints, carry loops to moving bodies."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from dalembert.describe.chain import UNLIMITED, Ends, leader, ranges, spatial_inertia
from dalembert.describe.description import Description, Drive, Joint, Limit, Link, Origin
from dalembert.friction.laws import Friction, friction
from dalembert.joints import JOINTS
from dalembert.model.model import BASE, Body, Coordinate, Frame, Loop, Model
from dalembert.spatial import Inertia, Pose


@dataclass
class _Draft:
    """What grows while the tree is walked."""

    bodies: list[dict[str, object]] = field(default_factory=list)
    inertias: list[Inertia] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)


def build(description: Description) -> Model:
    """The model of a checked description."""
    links = {link.name: link for link in description.links}
    children: dict[str, list[Joint]] = {name: [] for name in links}
    for joint in description.joints:
        children[joint.parent].append(joint)
    moved = {joint.child for joint in description.joints}
    root = next(name for name in links if name not in moved)

    draft = _Draft()
    _walk(draft, links, children, root)
    coordinate, coordinates = _coordinates(draft.joints)
    bodies = tuple(
        Body(inertia=inertia, **_drive(joint), **coordinate[joint.name], **body)  # type: ignore[arg-type]
        for body, inertia, joint in zip(draft.bodies, draft.inertias, draft.joints, strict=True)
    )
    leaves = _tips(bodies, draft.frames, children)
    chosen = leaves[0] if description.tip is None and len(leaves) == 1 else description.tip
    return Model(
        description.name,
        bodies,
        coordinates,
        tuple(draft.frames),
        tuple(float(g) for g in description.gravity),
        chosen,
        leaves,
        _loops(description, draft.frames),
    )


def _walk(draft: _Draft, links: dict[str, Link], children: dict[str, list[Joint]], root: str) -> None:
    """Depth first, in the order of the file, without recursion: chains may be long."""

    def arrive(link: str, body: int, pose: Pose) -> None:
        draft.frames.append(Frame(link, body, pose))
        if body != BASE:
            inertial = links[link].inertial
            if inertial is not None:
                draft.inertias[body] += spatial_inertia(inertial).to_parent(pose)
        stack.extend((joint, body, pose) for joint in reversed(children[link]))

    stack: list[tuple[Joint, int, Pose]] = []
    arrive(root, BASE, Pose())
    while stack:
        joint, body, pose = stack.pop()
        placement = pose @ Pose.from_origin(joint.origin.xyz, joint.origin.rpy)
        if joint.kind == "fixed":
            arrive(joint.child, body, placement)
            continue
        draft.bodies.append(
            {
                "name": joint.child,
                "joint_name": joint.name,
                "joint": joint.motion(),
                "parent": body,
                "placement": placement,
            }
        )
        draft.inertias.append(Inertia())
        draft.joints.append(joint)
        arrive(joint.child, len(draft.bodies) - 1, Pose())


def _loops(description: Description, frames: list[Frame]) -> tuple[Loop, ...]:
    """The loops, with their frames on the moving bodies that carry their links."""
    of = {frame.name: frame for frame in frames}

    def on(name: str, link: str, origin: Origin) -> Frame:
        carrier = of[link]
        return Frame(f"{name} on {link}", carrier.body, carrier.pose @ Pose.from_origin(origin.xyz, origin.rpy))

    return tuple(
        Loop(
            loop.name,
            loop.kind,
            on(loop.name, loop.first, loop.first_origin),
            on(loop.name, loop.second, loop.second_origin),
            loop.axis,
            loop.length,
        )
        for loop in description.loops
    )


def _drive(joint: Joint) -> dict[str, object]:
    drive = joint.drive
    return {
        "rotor_inertia": drive.gear_ratio**2 * drive.rotor_inertia,
        "friction": _friction(drive),
        "stiffness": drive.stiffness,
        "rest": drive.rest,
    }


def _friction(drive: Drive) -> tuple[Friction, ...]:
    """Damping and Coulomb friction as terms like any other, then the others."""
    named = [friction("viscous", viscous=drive.damping)] if drive.damping else []
    width = drive.coulomb_width or None
    if any(drive.coulomb):
        named.append(friction("coulomb", coulomb=drive.coulomb, smooth=width and "ramp", width=width))
    return (*named, *drive.friction)


def _coordinates(joints: list[Joint]) -> tuple[dict[str, dict[str, object]], tuple[Coordinate, ...]]:
    """Independent joints become coordinates in tree order; a mimic joint points at its master's, and keeps it within
    limits of its own."""
    by_name = {joint.name: joint for joint in joints}
    masters = [joint for joint in joints if joint.mimic is None]
    rates = itertools.accumulate((JOINTS[joint.kind].nv for joint in masters), initial=0)
    places = itertools.accumulate((JOINTS[joint.kind].nq for joint in masters), initial=0)
    index = {joint.name: (k, p) for joint, k, p in zip(masters, rates, places, strict=False)}
    of: dict[str, dict[str, object]] = {}
    for joint in joints:
        master, multiplier, offset = leader(joint, by_name)
        first, position = index[master.name]
        of[joint.name] = {"coordinate": first, "position": position, "multiplier": multiplier, "offset": offset}
    within, _ = ranges(joints)  # what contradicts itself was warned of when the description was checked
    return of, tuple(_coordinate(joint, index[joint.name], within[joint.name]) for joint in masters)


def _coordinate(joint: Joint, places: tuple[int, int], within: Ends) -> Coordinate:
    limit, (lower, upper) = joint.limit or Limit(), within
    return Coordinate(
        joint.name,
        joint.motion(),
        -math.inf if abs(lower) >= UNLIMITED else lower,
        math.inf if abs(upper) >= UNLIMITED else upper,
        math.inf if limit.effort is None or limit.effort >= UNLIMITED else limit.effort,
        math.inf if limit.velocity is None or limit.velocity >= UNLIMITED else limit.velocity,
        *places,
    )


def _tips(bodies: tuple[Body, ...], frames: list[Frame], children: dict[str, list[Joint]]) -> tuple[str, ...]:
    """The leaf links; of those that sit on the same deepest chain as all bodies, only these."""
    leaves = [frame for frame in frames if not children[frame.name]]
    ends = set(range(len(bodies))) - {body.parent for body in bodies}
    at_end = [frame.name for frame in leaves if frame.body in ends]
    return tuple(at_end or [frame.name for frame in leaves])
