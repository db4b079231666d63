"""Rules D3xx: axes, limits, friction and places of joints, and joints that follow others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dalembert.describe.chain import UNLIMITED, Ends, common, image
from dalembert.describe.check import AXIS_ROUNDING, AXIS_ZERO, show
from dalembert.describe.description import Vector
from dalembert.describe.urdf_read import SEVERAL, JointPart
from dalembert.describe.xml import Element
from dalembert.trust.doctor.document import Document, Found, rule

DEGREES = 15.0  # rad; no arm's limit is more than two turns, and few limits in degrees are less
TURN = 6.29  # rad; a fixed angle of more than a turn, which is 6.2832, was not meant in radians
QUICK, LIGHT = 60.0, 0.1  # rad/s, kg; legged robots reach 60 rad/s, and what is lighter may be a propeller
MILLIMETERS = 20.0  # m; no slide is as long
FAR = 100.0  # m
STRONG = 1e5  # N m or N
FAST = 1e3  # rad/s or m/s
COVERED = 0.99  # of the range that a master gives its follower: less was not rounding
SOFT = ("soft_lower_limit", "soft_upper_limit")


# what is looked at


def moving(document: Document) -> Iterator[tuple[JointPart]]:
    """Those with one coordinate; of others D119 speaks."""
    return ((joint,) for joint in document.joints if joint.moves and joint.kind not in SEVERAL)


def axes(document: Document) -> Iterator[tuple[JointPart, Element, Vector]]:
    """Of joints that have one, the axes that are written and can be read."""
    for joint in document.joints:
        at = joint.element("axis")
        if joint.moves and joint.kind != "floating" and at is not None and joint.axis is not None:
            yield joint, at, joint.axis


def limits(document: Document) -> Iterator[tuple[JointPart, Element]]:
    """Of moving joints, the <limit> that is written."""
    for (joint,) in moving(document):
        at = joint.element("limit")
        if at is not None:
            yield joint, at


def ranges(document: Document) -> Iterator[tuple[JointPart, Element, Ends]]:
    """Of those, the position limits, 0 where not written."""
    for joint, at in limits(document):
        ends = _ends(joint)
        if ends is not None:
            yield joint, at, ends


def safety_controllers(document: Document) -> Iterator[tuple[JointPart, Element]]:
    return ((joint, e) for (joint,) in moving(document) for e in joint.at.all("safety_controller"))


def _ends(joint: JointPart) -> Ends | None:
    """The position limits, 0 where not written; None where there are none, or one cannot be read."""
    e = joint.element("limit")
    if e is None or not (joint.slides or joint.hinged) or joint.unlimited & {"all", "lower", "upper"}:
        return None
    if any(name in e.attributes and name not in joint.limit for name in ("lower", "upper")):
        return None
    return joint.limit.get("lower", 0.0), joint.limit.get("upper", 0.0)


def _written_ends(joint: JointPart) -> list[float]:
    return [joint.limit[name] for name in ("lower", "upper") if name in joint.limit]


def in_another_unit(joint: JointPart) -> bool:
    """Whether position limits look like degrees, or like millimeters."""
    least, most = (MILLIMETERS, 1e6) if joint.slides else (DEGREES, 1e5)
    return any(least < abs(x) < most for x in _written_ends(joint))


# axes


@rule("D301", "error", axes)
def no_axis(document: Document, joint: JointPart, at: Element, axis: Vector) -> Iterator[Found]:
    """An axis without direction.

    The joint moves about or along nothing."""
    if max(map(abs, axis)) < AXIS_ZERO:
        message = f"the axis of {joint.who} is {show(axis)}, which has no direction"
        yield Found(at, joint.who, message, "give a unit vector such as 0 0 1")


@rule("D302", "warning", axes)
def axis_length(document: Document, joint: JointPart, at: Element, axis: Vector) -> Iterator[Found]:
    """An axis that is no unit vector.

    Some readers normalize it, others scale the joint's motion by its length: the robot differs between them."""
    largest = max(map(abs, axis))
    if largest < AXIS_ZERO:
        return
    ratio = [a / largest for a in axis]
    norm = math.hypot(*ratio)
    if abs(norm * largest - 1.0) > AXIS_ROUNDING:
        unit = " ".join(f"{r / norm + 0.0:.12g}" for r in ratio)
        message = f"the axis of {joint.who} is {show(axis)}, of length {norm * largest:.6g}"
        yield Found(at, joint.who, message, f"write {unit}", document.set(at, xyz=unit))


@rule("D303", "note", moving)
def default_axis(document: Document, joint: JointPart) -> Iterator[Found]:
    """A moving joint without axis.

    The standard's default is x, which is rarely the axis that was meant."""
    if joint.element("axis") is None:
        way = "slides along" if joint.slides else "turns about"
        yield Found(joint.at, joint.who, f"{joint.who} has no <axis> and {way} x", "write the axis")


@rule("D304", "note", axes)
def left_handed_axis(document: Document, joint: JointPart, at: Element, axis: Vector) -> Iterator[Found]:
    """An axis against its frame.

    The joint turns left-handed about the frame's own axis: signs of angles, limits and torques are easily mixed up."""
    for name, a in zip("xyz", axis, strict=True):
        if a < 0 and abs(a) > 0.999 * math.hypot(*axis):
            message = f"{joint.who} moves along or about −{name} of its frame ({show(axis)})"
            fix = "leave it if the real joint counts that way; else turn the frame and the limits"
            yield Found(at, joint.who, message, fix)


# limits


@rule("D305", "error", ranges)
def limits_swapped(document: Document, joint: JointPart, at: Element, ends: Ends) -> Iterator[Found]:
    """The lower limit is above the upper.

    No position satisfies both. Bullet alone takes it for no limit at all: if that was meant, remove the limits."""
    if ends[0] > ends[1]:
        message = f"{joint.who} has lower limit {ends[0]!r} above its upper limit {ends[1]!r}"
        yield _swapped(document, at, joint.who, message, ("lower", "upper"))


def _swapped(document: Document, at: Element, who: str, message: str, names: tuple[str, str]) -> Found:
    """A lower end above the upper: they are swapped, if both are written."""
    if not all(name in at.attributes for name in names):
        return Found(at, who, message, "write both; what is not written is 0")
    swapped = {a: at.attributes[b] for a, b in zip(names, names[::-1], strict=True)}
    return Found(at, who, message, "swap them", document.set(at, **swapped))


@rule("D306", "warning", ranges)
def locked(document: Document, joint: JointPart, at: Element, ends: Ends) -> Iterator[Found]:
    """A joint locked by its limits.

    What is not written is 0, so forgetting both limits locks the joint."""
    if joint.element("mimic") is None and ends[0] == ends[1]:
        message = f"{joint.who} has equal limits, {ends[0]:g}, and cannot move within them"
        otherwise = "" if joint.slides else "continuous or "
        yield Found(at, joint.who, message, f"give limits, or make it {otherwise}fixed")


@rule("D307", "error", moving)
def no_limit(document: Document, joint: JointPart) -> Iterator[Found]:
    """No limits.

    The standard requires them for revolute and prismatic joints. Pinocchio and ROS (urdfdom) reject the file; other
    readers, and this one, use 0 or infinity."""
    if not joint.endless and joint.element("limit") is None and "all" not in joint.unlimited:
        message = f"{joint.who} is {joint.kind} and has no <limit>"
        otherwise = "" if joint.slides else ", or make it continuous"
        yield Found(joint.at, joint.who, message, f"add <limit lower upper effort velocity>{otherwise}")


@rule("D326", "warning", ranges)
def half_limited(document: Document, joint: JointPart, at: Element, ends: Ends) -> Iterator[Found]:
    """Only one of the two position limits.

    What is not written is 0, so that the joint moves to one side only."""
    missing = [name for name in ("lower", "upper") if name not in at.attributes]
    if joint.hinged and ends[0] < ends[1] and missing:
        message = f"{joint.who} has no {missing[0]} limit, and so goes from {ends[0]:g} to {ends[1]:g}"
        yield Found(at, joint.who, message, f'write {missing[0]}, be it {missing[0]}="0"')


@rule("D308", "warning", limits)
def degrees(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """Limits that look like degrees.

    Angles are radians: the joint would turn freely, and planners would use it."""
    if joint.hinged and in_another_unit(joint):
        ends = _written_ends(joint)
        radians = " … ".join(f"{math.radians(x):.6g}" for x in ends)
        message = f"{joint.who} has position limits {' … '.join(f'{x:g}' for x in ends)} rad"
        yield Found(at, joint.who, message, f"if they are degrees, write {radians}")


@rule("D330", "warning", limits)
def unlimited(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """A position limit that no joint reaches.

    Exporters write 1e308 and the like for "no limit". It is taken as none here; elsewhere the width of the range
    overflows, and a random position is infinite or NaN."""
    huge = [name for name in ("lower", "upper") if abs(joint.limit.get(name, 0.0)) >= UNLIMITED]
    if huge and not joint.endless:
        ends = " and ".join(f"{name}={at.attributes[name]!r}" for name in huge)
        remedy = "write the real limits" + (", or make the joint continuous" if joint.hinged else "")
        yield Found(at, joint.who, f"{joint.who} has {ends}, which is no limit", remedy)


@rule("D309", "note", limits)
def continuous_limits(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """A continuous joint with position limits.

    A continuous joint has none; readers ignore them, so they do not protect anything."""
    written = [name for name in ("lower", "upper") if name in at.attributes]
    if joint.endless and written:
        ends = " and ".join(f"{name}={at.attributes[name]!r}" for name in written)
        message, edits = f"{joint.who} is continuous and has {ends}", document.set(at, **dict.fromkeys(written))
        yield Found(at, joint.who, message, "remove them, or make the joint revolute", edits)


@rule("D310", "error", limits)
def negative_limit(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """A negative effort or velocity limit.

    Both are magnitudes: nothing satisfies a negative one."""
    for name in ("effort", "velocity"):
        value = joint.limit.get(name, 0.0)
        if value < 0:
            positive = at.attributes[name].strip().lstrip("-")
            message, edits = f"{joint.who} has {name} limit {value!r}", document.set(at, **{name: positive})
            yield Found(at, joint.who, message, f"write it positive, {positive}", edits)


@rule("D312", "warning", limits)
def zero_limit(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """An effort or velocity limit of zero.

    A controller that obeys it can never move the joint."""
    zero = [name for name in ("effort", "velocity") if joint.limit.get(name) == 0]
    if zero and joint.element("mimic") is None:
        yield Found(at, joint.who, f"{joint.who} has {' and '.join(zero)} limit 0", "write what the drive can do")


@rule("D314", "error")
def missing_limit(document: Document) -> Iterator[Found]:
    """No effort or velocity limit.

    The standard requires both in every <limit>. Pinocchio and ROS (urdfdom) reject a file without; here the joint has
    no such limit."""
    for joint in document.joints:
        at = joint.at.first("limit")  # of fixed joints too
        names = [name for name in ("effort", "velocity") if at is not None and name not in at.attributes]
        if at is not None and names:
            message = f"the <limit> of {joint.who} has no {' and no '.join(names)}"
            yield Found(at, joint.who, message, "write what the drive can do")


@rule("D315", "note", limits)
def huge_limit(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """An effort or velocity limit beyond any drive.

    It limits nothing: whoever plans or saturates by it gets motions that the robot cannot follow."""
    for name, bound, units in (("effort", STRONG, ("N m", "N")), ("velocity", FAST, ("rad/s", "m/s"))):
        value = joint.limit.get(name, 0.0)
        if value > bound:
            message = f"the {name} limit of {joint.who} is {value:g} {units[joint.slides]}"
            yield Found(at, joint.who, message, "write what the drive can do, or leave it out")


@rule("D327", "note", limits)
def degrees_per_second(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """A velocity limit that looks like degrees per second.

    It is in rad/s: planners would drive the joint some fifty times too fast."""
    value = joint.limit.get("velocity", 0.0)
    if joint.hinged and QUICK < value <= FAST and (mass := _carried(document, joint)) > LIGHT:
        turns = value / (2 * math.pi)
        message = f"{joint.who} may turn {mass:.3g} kg at {value:g} rad/s, {turns:.3g} turns a second"
        yield Found(at, joint.who, message, f"if this is in degrees, write {math.radians(value):.6g}")


def _carried(document: Document, joint: JointPart) -> float:
    """The mass of the link that a joint moves and of what is fixed to it [kg]."""
    masses = {link.name: link.inertial.mass or 0.0 for link in document.links if link.inertial is not None}
    total, links, seen = 0.0, [joint.child], set()
    while links:
        name = links.pop()
        if name is not None and name not in seen:
            seen.add(name)
            total += masses.get(name, 0.0)
            links += [j.child for j in document.joints if j.kind == "fixed" and j.parent == name]
    return total


@rule("D316", "error", moving)
def negative_friction(document: Document, joint: JointPart) -> Iterator[Found]:
    """Negative damping or friction.

    It would drive the joint and create energy from nothing."""
    at = joint.element("dynamics")
    for name, value in joint.dynamics.items():
        if value < 0 and at is not None:
            message = f"the {name} of {joint.who} is {value!r}"
            yield Found(at, joint.who, message, "it is a magnitude: write it positive, or 0")


@rule("D317", "warning", limits)
def millimeters(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """A slide that looks like millimeters.

    Lengths are meters: the slide would be longer than any building."""
    if joint.slides and in_another_unit(joint):
        message = f"{joint.who} slides {' … '.join(f'{x:g}' for x in _written_ends(joint))} m"
        yield Found(at, joint.who, message, "if these are millimeters, divide by 1000")


@rule("D318", "note")
def fixed_with_motion(document: Document) -> Iterator[Found]:
    """A fixed joint that says how it moves.

    A joint that does not move has no limits, no friction, and follows nobody: one of the two is a mistake."""
    for joint in document.joints:
        tags = [f"<{e.tag}>" for e in joint.at.children if e.tag in ("limit", "mimic", "dynamics")]
        if joint.kind == "fixed" and tags:
            message = f"{joint.who} is fixed and has {' and '.join(tags)}"
            yield Found(joint.at, joint.who, message, "remove them, or correct the type")


# places


@rule("D319", "warning")
def rpy_degrees(document: Document) -> Iterator[Found]:
    """Angles that look like degrees.

    rpy is in radians: the frame points somewhere else."""
    placed = [(j.origin, j.origin_at, j.who) for j in document.joints]
    placed += [(k.inertial.origin, k.inertial.origin_at, k.who) for k in document.links if k.inertial]
    placed += [(s.origin, s.at.first("origin") or s.at, k.who) for k in document.links for s in k.shapes]
    for origin, at, who in placed:
        if origin is not None and max(map(abs, origin.rpy)) > TURN:
            radians = " ".join(f"{math.radians(a):.6g}" for a in origin.rpy)
            message = f"an origin of {who} has rpy {show(origin.rpy)} rad, more than a turn"
            yield Found(at, who, message, f"if these are degrees, write {radians}")


@rule("D320", "warning")
def far_joint(document: Document) -> Iterator[Found]:
    """A joint far away.

    A link a hundred meters off is a slip of units, or of the decimal point."""
    for joint in document.joints:
        if joint.origin is not None and (distance := math.hypot(*joint.origin.xyz)) > FAR:
            message = f"the origin of {joint.who} is {distance:.4g} m from its parent's"
            yield Found(joint.origin_at, joint.who, message, "if these are millimeters, divide by 1000")


@rule("D322", "warning", moving)
def still_mimic(document: Document, joint: JointPart) -> Iterator[Found]:
    """A mimic that never moves.

    With multiplier 0 it stands still whatever its master does."""
    e = joint.element("mimic")
    if e is not None and _float(e, "multiplier", "1") == 0:
        yield Found(e, joint.who, f"{joint.who} mimics with multiplier 0", "make it fixed, or give the ratio")


def _float(e: Element, attribute: str, default: str) -> float:
    """A number as Python reads it, NaN if it cannot."""
    try:
        return float(e.attributes.get(attribute, default))
    except ValueError:
        return math.nan


@rule("D324", "warning", safety_controllers)
def soft_limits(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """Soft limits beyond the hard ones.

    The safety controller acts only after the stop was hit."""
    for soft, hard, sign in zip(SOFT, ("lower", "upper"), (1, -1), strict=True):
        value = _float(at, soft, "")
        if not joint.endless and hard in joint.limit and sign * (value - joint.limit[hard]) < -1e-9:
            message = f"{soft} of {joint.who} is {value:g}, beyond its {hard} limit {joint.limit[hard]:g}"
            yield Found(at, joint.who, message, "keep soft limits inside the hard ones")


@rule("D325", "warning", safety_controllers)
def soft_limits_swapped(document: Document, joint: JointPart, at: Element) -> Iterator[Found]:
    """The lower soft limit is above the upper.

    The safety controller allows no position: it pushes the joint back and forth, or is switched off."""
    lower, upper = (_float(at, name, "0") for name in SOFT)
    if lower > upper:
        message = f"the soft limits of {joint.who} go from {lower:g} to {upper:g}"
        yield _swapped(document, at, joint.who, message, SOFT)


# joints that follow others


@dataclass(frozen=True)
class _Follower:
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


def followers(document: Document) -> Iterator[tuple[_Follower]]:
    """Of those whose numbers can be read."""
    by_name = {joint.name: joint for joint in document.joints}
    for joint in document.joints:
        e, own = joint.element("mimic"), _own_range(joint)
        master = None if e is None else by_name.get(e.attributes.get("joint", ""))
        if e is None or own is None or master is None or in_another_unit(master):
            continue
        ratio, within = _ratio(e), _range(master, by_name, {joint.name})
        if ratio is not None and within is not None and ratio[0] != 0:
            yield (_Follower(joint, e, master.name, *ratio, image(within, *ratio), own, within),)


def _ratio(mimic: Element) -> tuple[float, float] | None:
    multiplier, offset = _float(mimic, "multiplier", "1"), _float(mimic, "offset", "0")
    return (multiplier, offset) if math.isfinite(multiplier) and math.isfinite(offset) else None


def _own_range(joint: JointPart) -> Ends | None:
    """The limits that a joint has itself; None where they cannot be read, contradict each other, or are missing."""
    if joint.endless or "all" in joint.unlimited:
        return (-math.inf, math.inf)
    ends = _ends(joint)
    return None if ends is None or ends[0] > ends[1] else ends


def _range(joint: JointPart, by_name: dict[str, JointPart], seen: set[str]) -> Ends | None:
    """What is left to a joint by its own limits and by those whom it follows in turn."""
    own, e = _own_range(joint), joint.element("mimic")
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


@rule("D328", "warning", followers)
def forbidden_follower(document: Document, led: _Follower) -> Iterator[Found]:
    """Limits that forbid what the joint follows.

    No motion satisfies both: its own limits are not used here; elsewhere they lock the master, or are ignored too."""
    if led.common is None:
        mirrored = common(led.range, led.own, -led.multiplier, led.offset)
        sign = f"multiplier={-led.multiplier:g} would fit: correct its sign, or write limits {_span(led.made)}"
        fix = f"write limits {_span(led.made)}, or correct multiplier and offset" if mirrored is None else sign
        yield Found(led.at, led.joint.who, led.message, fix)


@rule("D329", "warning", followers)
def shortened_master(document: Document, led: _Follower) -> Iterator[Found]:
    """Limits that cut short what the joint follows.

    The master cannot go through its own range: here it is held within what the follower may do, elsewhere it is not."""
    left, whole = led.common, led.range[1] - led.range[0]
    if left is None or whole <= 0 or math.isinf(left[1] - left[0]):
        return
    if (left[1] - left[0]) / whole < COVERED:
        message = f"{led.message}: that leaves {led.master!r} {_span(left)} of {_span(led.range)}"
        fix = f"write limits {_span(led.made)}, or give {led.master!r} the limits that are left"
        yield Found(led.at, led.joint.who, message, fix)
