"""Rules D328 and D329: joints that follow others, and limits that do not fit what they follow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dalembert.describe.mimics import Ends, common, image
from dalembert.describe.xml import Element
from dalembert.trust.doctor.case import Case, JointPart
from dalembert.trust.doctor.joints import in_another_unit
from dalembert.trust.doctor.rules import Found, rule

COVERED = 0.99  # of the range that a master gives its follower: less was not rounding


@dataclass(frozen=True)
class _Led:
    """A joint that follows another: what its master's range makes it do, and what it may do itself."""

    joint: JointPart
    at: Element
    master: str
    multiplier: float
    offset: float
    made: Ends
    own: Ends
    range: Ends

    @property
    def message(self) -> str:
        return f"{self.joint.who} follows {self.master!r} within {_span(self.made)} and is limited to {_span(self.own)}"

    @property
    def common(self) -> Ends | None:
        return common(self.range, self.own, self.multiplier, self.offset)


def _span(ends: Ends) -> str:
    return f"{ends[0]:g} … {ends[1]:g}"


def _followers(case: Case) -> Iterator[_Led]:
    """Of those whose numbers can be read."""
    by_name = {joint.name: joint for joint in case.joints}
    for joint in case.joints:
        e, own = joint.mimic_at, _ends(joint)
        master = None if e is None else by_name.get(e.attributes.get("joint", ""))
        if e is None or own is None or master is None or in_another_unit(master):
            continue
        ratio, within = _ratio(e), _range(master, by_name, {joint.name})
        if ratio is not None and within is not None and ratio[0] != 0:
            yield _Led(joint, e, master.name, *ratio, image(within, *ratio), own, within)


def _ratio(mimic: Element) -> tuple[float, float] | None:
    try:
        multiplier, offset = (float(mimic.attributes.get(n, x)) for n, x in (("multiplier", "1"), ("offset", "0")))
    except ValueError:
        return None
    return (multiplier, offset) if math.isfinite(multiplier) and math.isfinite(offset) else None


def _ends(joint: JointPart) -> Ends | None:
    """The limits that a joint has itself; None where they cannot be read, contradict each other, or are missing."""
    if joint.kind == "continuous" or "all" in joint.unlimited:
        return (-math.inf, math.inf)
    ends = joint.ends
    return None if ends is None or ends[0] > ends[1] else ends


def _range(joint: JointPart, by_name: dict[str, JointPart], seen: set[str]) -> Ends | None:
    """What is left to a joint by its own limits and by those whom it follows in turn."""
    own, e = _ends(joint), joint.mimic_at
    if e is None or own is None or not joint.moves:
        return own if joint.moves else None
    master, ratio = by_name.get(e.attributes.get("joint", "")), _ratio(e)
    if master is None or ratio is None or joint.name in seen:
        return None
    within = _range(master, by_name, {*seen, joint.name})
    if within is None:
        return None
    left = common(within, own, *ratio)
    return image(within if left is None else left, *ratio)


@rule(
    "D328",
    "warning",
    "limits that forbid what the joint follows",
    "No motion satisfies both: its own limits are not used here; elsewhere they lock the master, or are ignored too.",
)
def forbidden_follower(case: Case) -> Iterator[Found]:
    for led in _followers(case):
        if led.common is None:
            mirrored = common(led.range, led.own, -led.multiplier, led.offset)
            sign = f"multiplier={-led.multiplier:g} would fit: correct its sign, or write limits {_span(led.made)}"
            fix = f"write limits {_span(led.made)}, or correct multiplier and offset" if mirrored is None else sign
            yield Found(led.at, led.joint.who, led.message, fix)


@rule(
    "D329",
    "warning",
    "limits that cut short what the joint follows",
    "The master cannot go through its own range: here it is held within what the follower may do, elsewhere it is not.",
)
def shortened_master(case: Case) -> Iterator[Found]:
    for led in _followers(case):
        left, whole = led.common, led.range[1] - led.range[0]
        if left is not None and whole > 0 and _part(left, whole) < COVERED:
            message = f"{led.message}: that leaves {led.master!r} {_span(left)} of {_span(led.range)}"
            fix = f"write limits {_span(led.made)}, or give {led.master!r} the limits that are left"
            yield Found(led.at, led.joint.who, message, fix)


def _part(left: Ends, whole: float) -> float:
    """How much of a range is left; of an endless one nothing, but if what is left has no end either."""
    width = left[1] - left[0]
    return 1.0 if math.isinf(width) else width / whole
