"""Rules D3xx: axes, limits, friction and places of joints."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dalembert.describe.refuse import AXIS_ROUNDING, AXIS_ZERO, show
from dalembert.trust.doctor.case import Case, JointPart
from dalembert.trust.doctor.rules import Found, rule

DEGREES = 15.0  # rad; no arm's limit is more than two turns, and few limits in degrees are less
TURN = 6.29  # rad; a fixed angle of more than a turn, which is 6.2832, was not meant in radians
QUICK, LIGHT = 60.0, 0.1  # rad/s, kg; legged robots reach 60 rad/s, and what is lighter may be a propeller
MILLIMETERS = 20.0  # m; no slide is as long
FAR = 100.0  # m
STRONG = 1e5  # N m or N
FAST = 1e3  # rad/s or m/s


def _moving(case: Case) -> Iterator[JointPart]:
    return (joint for joint in case.joints if joint.moves)


def _written(joint: JointPart) -> list[float]:
    return [joint.limit[name] for name in ("lower", "upper") if name in joint.limit]


def in_another_unit(joint: JointPart) -> bool:
    """Whether position limits look like degrees, or like millimeters."""
    least, most = (MILLIMETERS, 1e6) if joint.kind == "prismatic" else (DEGREES, 1e5)
    return any(least < abs(x) < most for x in _written(joint))


@rule("D301", "error", "an axis without direction", "The joint moves about or along nothing.")
def no_axis(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        if joint.axis is not None and joint.axis_at is not None and max(map(abs, joint.axis)) < AXIS_ZERO:
            message = f"the axis of {joint.who} is {show(joint.axis)}, which has no direction"
            yield Found(joint.axis_at, joint.who, message, "give a unit vector such as 0 0 1")


@rule(
    "D302",
    "warning",
    "an axis that is no unit vector",
    "Some readers normalize it, others scale the joint's motion by its length: the robot differs between them.",
)
def axis_length(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        axis = joint.axis
        if axis is None or joint.axis_at is None or max(map(abs, axis)) < AXIS_ZERO:
            continue
        largest = max(map(abs, axis))
        ratio = [a / largest for a in axis]
        norm = math.hypot(*ratio)
        if abs(norm * largest - 1.0) > AXIS_ROUNDING:
            unit = " ".join(f"{r / norm + 0.0:.12g}" for r in ratio)
            message = f"the axis of {joint.who} is {show(axis)}, of length {norm * largest:.6g}"
            yield Found(joint.axis_at, joint.who, message, f"write {unit}", case.set(joint.axis_at, xyz=unit))


@rule(
    "D303",
    "note",
    "a moving joint without axis",
    "The standard's default is x, which is rarely the axis that was meant.",
)
def default_axis(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        if joint.axis_at is None:
            way = "slides along" if joint.kind == "prismatic" else "turns about"
            yield Found(joint.at, joint.who, f"{joint.who} has no <axis> and {way} x", "write the axis")


@rule(
    "D304",
    "note",
    "an axis against its frame",
    "The joint turns left-handed about the frame's own axis: signs of angles, limits and torques are easily mixed up.",
)
def left_handed_axis(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        axis = joint.axis
        if axis is None or joint.axis_at is None:
            continue
        for name, a in zip("xyz", axis, strict=True):
            if a < 0 and abs(a) > 0.999 * math.hypot(*axis):
                message = f"{joint.who} moves along or about −{name} of its frame ({show(axis)})"
                fix = "leave it if the real joint counts that way; else turn the frame and the limits"
                yield Found(joint.axis_at, joint.who, message, fix)


# limits


@rule(
    "D305",
    "error",
    "the lower limit is above the upper",
    "No position satisfies both. Bullet alone takes it for no limit at all: if that was meant, remove the limits.",
)
def limits_swapped(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        ends, at = joint.ends, joint.limit_at
        if ends is not None and at is not None and ends[0] > ends[1]:
            message = f"{joint.who} has lower limit {ends[0]!r} above its upper limit {ends[1]!r}"
            both = "lower" in joint.limit and "upper" in joint.limit
            edits = case.set(at, lower=at.attributes["upper"], upper=at.attributes["lower"]) if both else ()
            fix = "swap them" if both else "write both; what is not written is 0"
            yield Found(at, joint.who, message, fix, edits)


@rule(
    "D306",
    "warning",
    "a joint locked by its limits",
    "What is not written is 0, so forgetting both limits locks the joint.",
)
def locked(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        ends, at = joint.ends, joint.limit_at
        if ends is not None and at is not None and joint.mimic_at is None and ends[0] == ends[1]:
            message = f"{joint.who} has equal limits, {ends[0]:g}, and cannot move within them"
            yield Found(at, joint.who, message, f"give limits, or make it {_or_continuous(joint)}fixed")


@rule(
    "D307",
    "warning",
    "no limits",
    "The standard wants them for revolute and prismatic joints: urdfdom refuses the file, others take 0 or infinity.",
)
def no_limit(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        if joint.kind != "continuous" and joint.limit_at is None and "all" not in joint.unlimited:
            message = f"{joint.who} is {joint.kind} and has no <limit>"
            otherwise = "" if joint.kind == "prismatic" else ", or make it continuous"
            yield Found(joint.at, joint.who, message, f"add <limit lower upper effort velocity>{otherwise}")


def _or_continuous(joint: JointPart) -> str:
    return "" if joint.kind == "prismatic" else "continuous or "


@rule(
    "D326",
    "warning",
    "only one of the two position limits",
    "What is not written is 0, so that the joint moves to one side only.",
)
def half_limited(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        ends, at = joint.ends, joint.limit_at
        if joint.kind != "revolute" or ends is None or at is None or ends[0] >= ends[1]:
            continue
        missing = [name for name in ("lower", "upper") if name not in at.attributes]
        if missing:
            message = f"{joint.who} has no {missing[0]} limit, and so goes from {ends[0]:g} to {ends[1]:g}"
            yield Found(at, joint.who, message, f'write {missing[0]}, be it {missing[0]}="0"')


@rule(
    "D308",
    "warning",
    "limits that look like degrees",
    "Angles are radians: the joint would turn freely, and planners would use it.",
)
def degrees(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        ends = _written(joint)
        if joint.kind == "revolute" and joint.limit_at is not None and in_another_unit(joint):
            radians = " … ".join(f"{math.radians(x):.6g}" for x in ends)
            message = f"{joint.who} has position limits {' … '.join(f'{x:g}' for x in ends)} rad"
            yield Found(joint.limit_at, joint.who, message, f"if they are degrees, write {radians}")


@rule(
    "D309",
    "note",
    "a continuous joint with position limits",
    "A continuous joint has none; readers ignore them, so they do not protect anything.",
)
def continuous_limits(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        written = [name for name in ("lower", "upper") if joint.limit_at and name in joint.limit_at.attributes]
        if joint.kind == "continuous" and written and joint.limit_at is not None:
            ends = " and ".join(f"{name}={joint.limit_at.attributes[name]!r}" for name in written)
            message = f"{joint.who} is continuous and has {ends}"
            edits = case.set(joint.limit_at, **dict.fromkeys(written))
            yield Found(joint.limit_at, joint.who, message, "remove them, or make the joint revolute", edits)


@rule("D310", "error", "a negative effort or velocity limit", "Both are magnitudes: nothing satisfies a negative one.")
def negative_limit(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        for name in ("effort", "velocity"):
            value, at = joint.limit.get(name, 0.0), joint.limit_at
            if value < 0 and at is not None:
                positive = at.attributes[name].strip().lstrip("-")
                message = f"{joint.who} has {name} limit {value!r}"
                yield Found(at, joint.who, message, f"write it positive, {positive}", case.set(at, **{name: positive}))


@rule("D312", "warning", "an effort or velocity limit of zero", "A controller that obeys it can never move the joint.")
def zero_limit(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        zero = [name for name in ("effort", "velocity") if joint.limit.get(name) == 0]
        if zero and joint.limit_at is not None and joint.mimic_at is None:
            message = f"{joint.who} has {' and '.join(zero)} limit 0"
            yield Found(joint.limit_at, joint.who, message, "write what the drive can do")


@rule("D314", "note", "no effort or velocity limit", "The standard wants both; urdfdom refuses the file without them.")
def missing_limit(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        if joint.limit_at is None or "all" in joint.unlimited:
            continue
        names = [n for n in ("effort", "velocity") if n not in joint.limit_at.attributes and n not in joint.unlimited]
        if names:
            message = f"the <limit> of {joint.who} says nothing of {' and '.join(names)}"
            yield Found(joint.limit_at, joint.who, message, "write what the drive can do")


@rule(
    "D315",
    "note",
    "an effort or velocity limit beyond any drive",
    "It limits nothing: whoever plans or saturates by it gets motions that the robot cannot follow.",
)
def huge_limit(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        for name, bound in (("effort", STRONG), ("velocity", FAST)):
            value = joint.limit.get(name, 0.0)
            if value > bound and joint.limit_at is not None:
                unit = {"effort": ("N m", "N"), "velocity": ("rad/s", "m/s")}[name][joint.kind == "prismatic"]
                message = f"the {name} limit of {joint.who} is {value:g} {unit}"
                yield Found(joint.limit_at, joint.who, message, "write what the drive can do, or leave it out")


@rule(
    "D327",
    "note",
    "a velocity limit that looks like degrees per second",
    "It is in rad/s: planners would drive the joint some fifty times too fast.",
)
def degrees_per_second(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        value, at = joint.limit.get("velocity", 0.0), joint.limit_at
        if at is None or joint.kind != "revolute" or not QUICK < value <= FAST:
            continue
        if (mass := _carried(case, joint)) > LIGHT:
            turns = value / (2 * math.pi)
            message = f"{joint.who} may turn {mass:.3g} kg at {value:g} rad/s, {turns:.3g} turns a second"
            yield Found(at, joint.who, message, f"if this is in degrees, write {math.radians(value):.6g}")


def _carried(case: Case, joint: JointPart) -> float:
    """The mass of the link that a joint moves and of what is fixed to it [kg]."""
    masses = {k.name: k.inertial.mass for k in case.links if k.inertial is not None and k.inertial.mass is not None}
    total, links, seen = 0.0, [joint.child], set()
    while links:
        name = links.pop()
        if name is not None and name not in seen:
            seen.add(name)
            total += masses.get(name, 0.0)
            links += [j.child for j in case.joints if j.kind == "fixed" and j.parent == name]
    return total


@rule("D316", "error", "negative damping or friction", "It would drive the joint and create energy from nothing.")
def negative_friction(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        for name, value in joint.dynamics.items():
            if value < 0 and joint.dynamics_at is not None:
                message = f"the {name} of {joint.who} is {value!r}"
                yield Found(joint.dynamics_at, joint.who, message, "it is a magnitude: write it positive, or 0")


@rule(
    "D317",
    "warning",
    "a slide that looks like millimeters",
    "Lengths are meters: the slide would be longer than any building.",
)
def millimeters(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        ends = _written(joint)
        if joint.kind == "prismatic" and joint.limit_at is not None and in_another_unit(joint):
            message = f"{joint.who} slides {' … '.join(f'{x:g}' for x in ends)} m"
            yield Found(joint.limit_at, joint.who, message, "if these are millimeters, divide by 1000")


@rule(
    "D318",
    "note",
    "a fixed joint that says how it moves",
    "A joint that does not move has no limits, no friction, and follows nobody: one of the two is a mistake.",
)
def fixed_with_motion(case: Case) -> Iterator[Found]:
    for joint in case.joints:
        tags = [f"<{e.tag}>" for e in joint.at.children if e.tag in ("limit", "mimic", "dynamics")]
        if joint.kind == "fixed" and tags:
            message = f"{joint.who} is fixed and has {' and '.join(tags)}"
            yield Found(joint.at, joint.who, message, "remove them, or correct the type")


@rule("D319", "warning", "angles that look like degrees", "rpy is in radians: the frame points somewhere else.")
def rpy_degrees(case: Case) -> Iterator[Found]:
    placed = [(j.origin, j.origin_at, j.who) for j in case.joints]
    placed += [(k.inertial.origin, k.inertial.origin_at, k.who) for k in case.links if k.inertial]
    placed += [(s.origin, next(s.at.all("origin"), s.at), k.who) for k in case.links for s in k.shapes]
    for origin, at, who in placed:
        if origin is not None and max(map(abs, origin.rpy)) > TURN:
            radians = " ".join(f"{math.radians(a):.6g}" for a in origin.rpy)
            message = f"an origin of {who} has rpy {show(origin.rpy)} rad, more than a turn"
            yield Found(at, who, message, f"if these are degrees, write {radians}")


@rule("D320", "warning", "a joint far away", "A link a hundred meters off is a slip of units, or of the decimal point.")
def far_joint(case: Case) -> Iterator[Found]:
    for joint in case.joints:
        if joint.origin is not None and (distance := math.hypot(*joint.origin.xyz)) > FAR:
            message = f"the origin of {joint.who} is {distance:.4g} m from its parent's"
            yield Found(joint.origin_at, joint.who, message, "if these are millimeters, divide by 1000")


@rule("D322", "warning", "a mimic that never moves", "With multiplier 0 it stands still whatever its master does.")
def still_mimic(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        e = joint.mimic_at
        if e is not None and "multiplier" in e.attributes:
            try:
                factor = float(e.attributes["multiplier"])
            except ValueError:
                continue
            if factor == 0:
                yield Found(e, joint.who, f"{joint.who} mimics with multiplier 0", "make it fixed, or give the ratio")


@rule("D324", "warning", "soft limits beyond the hard ones", "The safety controller acts only after the stop was hit.")
def soft_limits(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        for e in joint.at.all("safety_controller"):
            for soft, hard, sign in (("soft_lower_limit", "lower", 1), ("soft_upper_limit", "upper", -1)):
                try:
                    value = float(e.attributes.get(soft, ""))
                except ValueError:
                    continue
                if joint.kind != "continuous" and hard in joint.limit and sign * (value - joint.limit[hard]) < -1e-9:
                    message = f"{soft} of {joint.who} is {value:g}, beyond its {hard} limit {joint.limit[hard]:g}"
                    yield Found(e, joint.who, message, "keep soft limits inside the hard ones")


@rule(
    "D325",
    "warning",
    "the lower soft limit is above the upper",
    "The safety controller allows no position: it pushes the joint back and forth, or is switched off.",
)
def soft_limits_swapped(case: Case) -> Iterator[Found]:
    for joint in _moving(case):
        for e in joint.at.all("safety_controller"):
            names = ("soft_lower_limit", "soft_upper_limit")
            try:
                lower, upper = (float(e.attributes.get(name, "0")) for name in names)
            except ValueError:
                continue
            if lower > upper:
                both = all(name in e.attributes for name in names)
                swapped = {a: e.attributes.get(b) for a, b in zip(names, names[::-1], strict=True)}
                fix = "swap them" if both else "write both; what is not written is 0"
                message = f"the soft limits of {joint.who} go from {lower:g} to {upper:g}"
                yield Found(e, joint.who, message, fix, case.set(e, **swapped) if both else ())
