"""A robot put on another base: free to fly, or to roll on a floor."""

from __future__ import annotations

from dataclasses import replace

from dalembert.describe.description import Description, Joint, Link, Origin, Vector
from dalembert.errors import InputError, choose
from dalembert.joints import JOINTS

ROOT, WORLD = "root", "world"


def with_base(
    d: Description,
    kind: str = "floating",
    *,
    name: str = ROOT,
    origin: Origin = Joint.origin,
    axis: Vector = (0.0, 0.0, 1.0),
) -> Description:
    """The description with its first link on a joint of that kind ("floating", "planar", "spherical", or any other that
    moves) to a link of its own that rests, "world". "fixed" leaves it as it is."""
    if choose("base", kind, ("fixed", *JOINTS)) == "fixed":
        return d
    taken = {link.name for link in d.links}
    if name in {joint.name for joint in d.joints}:
        raise InputError(f"{d.name!r} has a joint {name!r} already: give the joint of its base another name")
    world = next(w for w in (WORLD, *(f"{WORLD}{k}" for k in range(len(taken) + 1))) if w not in taken)
    moved = {joint.child for joint in d.joints}
    root = next(link.name for link in d.links if link.name not in moved)
    joint = Joint(name, kind, world, root, origin, axis)
    return replace(d, links=(Link(world), *d.links), joints=(joint, *d.joints), dh=None)
