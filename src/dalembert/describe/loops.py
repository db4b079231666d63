"""What loops and the home configuration must pass: links and joints that exist, kinds that do, numbers that mean
something, and two sides that can move against each other at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dalembert.describe.description import LOOP_KINDS, LOOPS_WITHOUT_AXIS, Description, Joint, Limit, Loop
from dalembert.describe.refuse import at, finite, finite_origin, refuse, unit_axis
from dalembert.errors import unknown

Home = tuple[tuple[str, float], ...]


def counted(loops: int) -> str:
    return "1 loop" if loops == 1 else f"{loops} loops"


def carriers(joints: Sequence[Joint]) -> dict[str, str]:
    """Of every link behind a fixed joint, the link that carries it: the child of a moving joint, or the root."""
    above = {joint.child: joint.parent for joint in joints if joint.kind == "fixed"}
    found: dict[str, str] = {}
    for link in above:
        path = [link]
        while path[-1] in above and path[-1] not in found:
            path.append(above[path[-1]])
        end = found.get(path[-1], path[-1])
        found.update(dict.fromkeys(path[:-1], end))
    return found


def checked_loops(d: Description, warnings: list[str]) -> tuple[Loop, ...]:
    """The loops with unit axes, or a DescriptionError."""
    names = [link.name for link in d.links]
    carrier = carriers(d.joints)
    return tuple(_loop(loop, names, carrier, warnings) for loop in d.loops)


def _loop(loop: Loop, links: list[str], carrier: dict[str, str], warnings: list[str]) -> Loop:
    who = f"loop {loop.name!r}"
    if loop.kind not in LOOP_KINDS:
        raise refuse(loop.place, f"{who} is of an {unknown('kind of loop', loop.kind, LOOP_KINDS)}")
    for role, link in (("first", loop.first), ("second", loop.second)):
        if link not in links:
            raise refuse(loop.place, f"{who} has as its {role} link the {unknown('link', link, links)}")
    _two_sides(loop, carrier)
    finite_origin(loop.first_origin, loop.place, f"the first frame of {who}")
    finite_origin(loop.second_origin, loop.place, f"the second frame of {who}")
    axis = unit_axis(loop.axis, loop.place, who, warnings)
    if loop.kind in LOOPS_WITHOUT_AXIS and axis != Loop.axis:
        raise refuse(loop.place, f"{who} is of kind {loop.kind!r}, which has no axis; remove it")
    return replace(loop, axis=axis, length=_length(loop))


def _two_sides(loop: Loop, carrier: dict[str, str]) -> None:
    who = f"loop {loop.name!r}"
    if loop.first == loop.second:
        raise refuse(loop.place, f"{who} joins link {loop.first!r} to itself; name two links")
    body = carrier.get(loop.first, loop.first)
    if body == carrier.get(loop.second, loop.second):
        raise refuse(
            loop.place,
            f"{who} joins {loop.first!r} to {loop.second!r}, which are both fixed to {body!r} and never move against "
            "each other; remove it, or name links with a moving joint between them",
        )


def _length(loop: Loop) -> float | None:
    who = f"loop {loop.name!r}"
    if loop.kind != "distance":
        if loop.length is not None:
            raise refuse(loop.place, f"{who} is of kind {loop.kind!r}, which has no length; remove it")
        return None
    if loop.length is None:
        raise refuse(loop.place, f"{who} keeps a distance and does not say which; give its length [m]")
    finite((loop.length,), loop.place, f"the length of {who}")
    if loop.length <= 0:
        raise refuse(
            loop.place,
            f"the length of {who} is {loop.length!r} m; a distance is positive (points that coincide are a 'ball')",
        )
    return float(loop.length)


def checked_home(d: Description, warnings: list[str]) -> Home:
    """The home configuration: a position for each joint that is named, in the order written."""
    written: Iterable[tuple[str, float]] = d.home.items() if isinstance(d.home, Mapping) else d.home
    joints = {joint.name: joint for joint in d.joints}
    moving = [joint.name for joint in d.joints if joint.kind != "fixed" and joint.mimic is None]
    home: dict[str, float] = {}
    for name, position in written:
        if name in home:
            raise refuse(d.place, f"the home of robot {d.name!r} names joint {name!r} twice; keep one")
        joint = joints.get(name)
        if joint is None:
            raise refuse(d.place, f"the home of robot {d.name!r} names the {unknown('joint', name, moving)}")
        if name not in moving:
            why = "is fixed" if joint.mimic is None else f"follows {joint.mimic.joint!r}"
            raise refuse(d.place, f"the home of robot {d.name!r} names joint {name!r}, which {why}; remove it there")
        finite((position,), d.place, f"the home position of joint {name!r}")
        home[name] = float(position)
        warnings += _beyond(joint, home[name])
    return tuple(home.items())


def _beyond(joint: Joint, position: float) -> list[str]:
    limit = joint.limit or Limit()
    lower = -math.inf if limit.lower is None else limit.lower
    upper = math.inf if limit.upper is None else limit.upper
    if lower <= position <= upper:
        return []
    return [f"{at(joint.place)}the home position of joint {joint.name!r}, {position:.6g}, lies beyond its limits"]
