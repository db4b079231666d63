"""Joints that follow others: whom in the end, how, and what their own limits leave of their master's range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalembert.describe.description import Joint

Ends = tuple[float, float]  # lower, upper; infinite where there is no limit
TOUCH = 1e-9  # of a range: what two ranges that only touch have in common, with rounding


@dataclass(frozen=True)
class Clash:
    """A joint whose own limits `ends` leave its master no range: it would have to move within `made`."""

    follower: Joint
    master: Joint
    made: Ends
    ends: Ends

    def __str__(self) -> str:
        made, ends = (f"{low:g} … {high:g}" for low, high in (self.made, self.ends))
        joint = self.follower
        return (
            f"{joint.place.prefix}joint {joint.name!r} follows {self.master.name!r} within {made} and is "
            f"limited to {ends}, which leaves no range; its own limits are not used, so correct them or the mimic"
        )


def leader(joint: Joint, by_name: Mapping[str, Joint]) -> tuple[Joint, float, float]:
    """(master, multiplier, offset): q = multiplier q_master + offset, through a chain of mimics if need be."""
    multiplier, offset, master = 1.0, 0.0, joint
    while master.mimic is not None:  # q = m (m' q' + o') + o
        offset += multiplier * master.mimic.offset
        multiplier *= master.mimic.multiplier
        master = by_name[master.mimic.joint]
    return master, multiplier, offset


def ends_of(joint: Joint) -> Ends:
    """The position limits that a joint has of its own."""
    limit = joint.limit
    lower, upper = (None, None) if limit is None else (limit.lower, limit.upper)
    return (-math.inf if lower is None else lower, math.inf if upper is None else upper)


def image(ends: Ends, multiplier: float, offset: float) -> Ends:
    """Where a joint goes while its master goes from end to end."""
    if multiplier == 0:
        return (offset, offset)
    low, high = sorted(multiplier * x + offset for x in ends)
    return (low, high)


def common(master: Ends, follower: Ends, multiplier: float, offset: float) -> Ends | None:
    """What of the master's range keeps a joint that follows it within its own; None where that is nothing, or of a
    whole range a single position."""
    if multiplier == 0:
        return master
    low, high = sorted((x - offset) / multiplier for x in follower)
    lower, upper = max(master[0], low), min(master[1], high)
    width = master[1] - master[0]
    least = TOUCH * width if math.isfinite(width) else 0.0
    return None if upper < lower or (width > 0 and upper - lower <= least) else (lower, upper)


def ranges(joints: Sequence[Joint]) -> tuple[dict[str, Ends], list[Clash]]:
    """The range of every joint that moves by itself, within which those that follow it keep their own limits; and
    those whose limits cannot be kept, and are left out."""
    by_name = {joint.name: joint for joint in joints}
    found = {joint.name: ends_of(joint) for joint in joints if joint.mimic is None}
    clashes = []
    for joint in sorted((j for j in joints if j.mimic is not None), key=lambda j: j.name):
        master, multiplier, offset = leader(joint, by_name)
        left = common(found[master.name], ends_of(joint), multiplier, offset)
        if left is None:
            made = image(found[master.name], multiplier, offset)
            clashes.append(Clash(joint, master, made, ends_of(joint)))
        else:
            found[master.name] = left
    return found, clashes
