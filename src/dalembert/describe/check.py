"""The checks that every description passes, whatever it was read from.

What cannot be a mechanism is refused with one sentence: what, where, remedy. What real files do and
physics does not is loaded, with a warning that names the link or joint and what follows from it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from dalembert.describe import mass as masses
from dalembert.describe.chain import UNLIMITED, carriers, ends_of, ranges
from dalembert.describe.description import (
    JOINT_KINDS,
    JOINTS_WITHOUT_AXIS,
    LIMITS,
    LOOP_KINDS,
    LOOPS_WITHOUT_AXIS,
    RULES,
    Box,
    Description,
    Drive,
    Geometry,
    Inertial,
    Joint,
    Limit,
    Link,
    Loop,
    Mesh,
    Origin,
    Place,
    Shape,
    Vector,
    part_names,
)
from dalembert.describe.mesh import LARGEST, escape
from dalembert.describe.motionless import motionless
from dalembert.errors import DescriptionError, InputError, UnknownNameError, unknown
from dalembert.friction.laws import checked as checked_friction
from dalembert.joints import JOINTS
from dalembert.spatial.angles import look_like_degrees, sentence

HEAVIEST = 1e8  # kg; the largest machines that move weigh a tenth of it
# An axis written with four digits, as 0.7071 0.7071 0, is meant to be a unit vector.
AXIS_ROUNDING = 1e-3
# A unit axis keeps its bits, so that reading what was written gives the same description.
AXIS_EXACT = 4e-16
AXIS_ZERO = 1e-9
# What a verdict on an inertia says, and what follows.
INFEASIBLE = {
    "indefinite": (
        "is not positive semidefinite",
        "the mass matrix may lose its positive definiteness, and forward dynamics its meaning",
    ),
    "triangle": (
        "violates the triangle inequality",
        "no distribution of mass has it; dynamics are computed as written, and identification "
        "with physical constraints cannot return it",
    ),
}


def check(description: Description, *, strict: bool = False) -> Description:
    """The same description with unit axes and with its warnings, or a DescriptionError.

    Fixed joints lose what only a moving joint has (axis, limit, mimic, drive); a shape that names a
    material without a color gets the color that another shape gives it. A shape that cannot be is left out with a
    warning, or refused if the check is `strict`. Checking twice adds nothing.
    """
    warnings: list[str] = []
    _names(description)
    check_tree(description)
    joints = tuple(_joint(joint, warnings) for joint in description.joints)
    _mimics(joints, warnings)
    links = tuple(_link(link, warnings, strict) for link in _painted(description.links))
    _whole(description, warnings)
    carrier = carriers(description.joints)
    loops = tuple(_loop(loop, description, carrier, warnings) for loop in description.loops)
    home = _home(description, warnings)
    x, y, z = (float(g) for g in description.gravity)
    checked = replace(description, links=links, joints=joints, gravity=(x, y, z), loops=loops, home=home)
    clashes = ranges([joint for joint in joints if joint.kind != "fixed"])[1]
    warnings += [*_locked(joints), *map(str, clashes), *motionless(checked)]
    fresh = [text for text in warnings if text not in description.warnings]
    return replace(checked, warnings=(*description.warnings, *fresh))


@dataclass(frozen=True)
class Subject:
    """What is looked at, where it stands, and where warnings of it go."""

    who: str
    place: Place
    warnings: list[str]

    def must(self, holds: bool, fault: str, sentence: str) -> None:
        """Raise the error with this code and argument, "out-of-range mass", unless something holds."""
        if not holds:
            code, _, argument = fault.partition(" ")
            raise self.place.refuse(code, argument, problem=sentence)

    def warn(self, sentence: str) -> None:
        self.warnings.append(self.place.prefix + sentence)

    def finite(self, what: str, *values: float, largest: float = LARGEST) -> None:
        for value in values:
            if not abs(value) <= largest:
                large = ", so large that its products overflow; check its exponent"
                why = large if math.isfinite(value) else "; write a finite number"
                problem = f"{what} is {value!r}{why}"
                raise self.place.refuse(
                    "out-of-range" if math.isfinite(value) else "not-finite", what, value, problem=problem
                )

    def origin(self, origin: Origin, who: str, doubt: bool = True) -> None:
        self.finite(f"the origin's xyz of {who}", *origin.xyz)
        self.finite(f"the origin's rpy of {who}", *origin.rpy)
        if doubt and look_like_degrees(origin.rpy):
            remedy = f"write {show([math.radians(x) for x in origin.rpy])} (in TOML rpy_deg)"
            self.warn(sentence(f"the origin's rpy of {who}", origin.rpy, remedy))

    def unit_axis(self, axis: Vector) -> Vector:
        """The axis with length 1, and a warning if it was clearly not; one without a direction is refused."""
        what = f"the axis of {self.who}"
        self.finite(what, *axis, largest=sys.float_info.max)
        largest = max(abs(a) for a in axis)
        why = "which has no direction; give a unit vector such as 0 0 1"
        self.must(largest >= AXIS_ZERO, "out-of-range axis", f"{what} is {show(axis)}, {why}")
        ratio = tuple(a / largest for a in axis)
        norm = math.hypot(*ratio)
        if abs(math.hypot(*axis) - 1.0) <= AXIS_EXACT:
            return axis
        x, y, z = (r / norm for r in ratio)
        if abs(norm * largest - 1.0) > AXIS_ROUNDING:
            length, unit = f"{norm * largest:.6g}", show((x, y, z))
            self.warn(f"{what} is {show(axis)}, of length {length}; it is taken as the unit vector {unit}")
        return (x, y, z)


def show(values: Sequence[float]) -> str:
    return " ".join(f"{v:.6g}" for v in values)


# names and tree


def _names(d: Description) -> None:
    if not d.links:
        raise d.place.refuse("missing", "links", problem=f"robot {d.name!r} has no link; describe at least one")
    _unique("link", [(link.name, link.place) for link in d.links])
    _unique("joint", [(joint.name, joint.place) for joint in d.joints])
    _unique("loop", [(loop.name, loop.place) for loop in d.loops])
    names = {joint.name: joint for joint in d.joints}
    for joint in d.joints:
        for part in part_names(joint) if joint.several else ():
            what = f"joint {joint.name!r} is {joint.kind} and has the coordinate {part!r}, the name of another joint"
            if part in names:
                raise names[part].place.refuse("duplicate", "joint", problem=f"{what}; rename one of them")


def _unique(kind: str, named: Iterable[tuple[str, Place]]) -> None:
    seen: dict[str, Place] = {}
    for name, place in named:
        if not name.strip():
            raise place.refuse("missing", "name", problem=f"a {kind} has no name; give it one")
        if name in seen:
            first = "" if seen[name].line is None else f" (first at line {seen[name].line})"
            raise place.refuse("duplicate", kind, problem=f"two {kind}s are named {name!r}{first}; rename one of them")
        seen[name] = place


def check_tree(d: Description) -> None:
    """The joints connect all links into one tree, or a DescriptionError."""
    names = [link.name for link in d.links]
    known = set(names)
    parent_joint: dict[str, Joint] = {}
    for joint in d.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                text = str(unknown("link", link, names))
                problem = f"joint {joint.name!r} has as {role} the {text}"
                raise joint.place.refuse("unknown-name", "link", problem=problem)
        if joint.child in parent_joint:
            other = parent_joint[joint.child].name
            problem = (
                f"link {joint.child!r} is the child of two joints, {other!r} and {joint.name!r}; a tree gives every "
                "link one parent, so remove one (and close the loop with a <loop_joint>, in TOML with [[loops]])"
            )
            raise joint.place.refuse("wrong-structure", "joints", problem=problem)
        parent_joint[joint.child] = joint
    _no_cycle(d, parent_joint)
    roots = [name for name in names if name not in parent_joint]
    if len(roots) > 1:
        shown = ", ".join(repr(name) for name in roots[:6]) + (", …" if len(roots) > 6 else "")
        problem = (
            f"robot {d.name!r} has {len(roots)} links without a parent: {shown}; connect all but one of them by a "
            "joint (a fixed one will do)"
        )
        raise d.place.refuse("wrong-structure", "joints", problem=problem)


def _no_cycle(d: Description, parent_joint: dict[str, Joint]) -> None:
    grounded: set[str] = set()
    for link in d.links:
        path: dict[str, None] = {}  # ordered
        name = link.name
        while name in parent_joint and name not in grounded:
            if name in path:
                ring = list(path)[list(path).index(name) :]
                shown = " → ".join(repr(n) for n in [*ring[:8], *(["…"] if len(ring) > 8 else []), name])
                problem = (
                    f"the joints form a cycle, child to parent: {shown}; remove one of its joints, for example "
                    f"{parent_joint[name].name!r}"
                )
                raise parent_joint[name].place.refuse("wrong-structure", "joints", problem=problem)
            path[name] = None
            name = parent_joint[name].parent
        grounded.update(path)


# joints


def _joint(joint: Joint, warnings: list[str]) -> Joint:
    s = Subject(f"joint {joint.name!r}", joint.place, warnings)
    *most, last = JOINT_KINDS
    choice = f"{', '.join(most)} or {last}"
    s.must(joint.kind in JOINT_KINDS, "unknown-name kind", f"{s.who} is of type {joint.kind!r}; choose {choice}")
    s.origin(joint.origin, s.who)
    if joint.kind == "fixed":
        return Joint(joint.name, "fixed", joint.parent, joint.child, joint.origin, place=joint.place)
    if joint.limit is not None:
        _limit(s, joint.limit, joint.kind)
    if not JOINTS[joint.kind].direct:
        _several(s, joint)
    s.finite(f"the pitch of {s.who}", joint.pitch)
    remedy = "give the way along its axis per angle [m/rad], or make it revolute"
    s.must(
        joint.kind != "helical" or joint.pitch != 0, "missing pitch", f"{s.who} is helical and has no pitch; {remedy}"
    )
    what = f"{s.who} is {joint.kind} and has a pitch"
    s.must(joint.kind == "helical" or joint.pitch == 0, "conflict pitch", f"{what}; make it helical or remove it")
    axis = Joint.axis if joint.kind in JOINTS_WITHOUT_AXIS else s.unit_axis(joint.axis)
    return replace(joint, axis=axis, drive=_drive(s, joint.drive))


def _limit(s: Subject, limit: Limit, kind: str) -> None:
    given = {name: value for name in LIMITS if (value := getattr(limit, name)) is not None}
    for name, value in given.items():
        s.finite(f"the {name} limit of {s.who}", value, largest=sys.float_info.max)
    if huge := [f"{name} {given[name]:g}" for name in ("lower", "upper") if abs(given.get(name, 0.0)) >= UNLIMITED]:
        s.warn(f"{s.who} has position limits of 1e9 or more ({', '.join(huge)}), which are taken as no limits")
    endless = kind == "continuous" and not given.keys().isdisjoint(("lower", "upper"))
    s.must(
        not endless, "conflict limit", f"{s.who} is continuous and has position limits; make it revolute or remove them"
    )
    swapped = given.get("lower", -math.inf) > given.get("upper", math.inf)
    ends = f"has lower limit {limit.lower!r} above its upper limit {limit.upper!r}"
    s.must(not swapped, "wrong-order limit", f"{s.who} {ends}; swap or correct them")
    for name in ("effort", "velocity"):
        what = f"{s.who} has {name} limit {given.get(name)!r}"
        s.must(given.get(name, 0.0) >= 0, "out-of-range limit", f"{what}; it is a magnitude, so write it positive")


def _several(s: Subject, joint: Joint) -> None:
    """What a joint of several coordinates cannot have: it is none of them that it would be of."""
    what = f"{s.who} is {joint.kind}, which has"
    limit = joint.limit or Limit()
    s.must(limit.lower is None and limit.upper is None, "unsupported limit", f"{what} no position limits; remove them")
    s.must(
        joint.mimic is None,
        "unsupported mimic",
        f"{what} several coordinates and follows no other joint; remove the mimic",
    )
    s.must(joint.drive.stiffness == 0, "unsupported stiffness", f"{what} no spring; remove its stiffness")


def _locked(joints: Sequence[Joint]) -> list[str]:
    """URDF's default for lower and upper is 0: forgetting both locks the joint without a word."""
    held = [j for j in joints if j.limit is not None and j.limit.lower is not None and j.mimic is None]
    names = [repr(j.name) for j in held if j.limit is not None and j.limit.lower == j.limit.upper]
    if not names:
        return []
    which = f"joint {names[0]} has" if len(names) == 1 else f"joints {', '.join(names)} have"
    return [
        f"{which} equal lower and upper limits (0 when not written) and cannot move within them; "
        "give limits, or make the type continuous or fixed"
    ]


def _drive(s: Subject, drive: Drive) -> Drive:
    magnitudes = {
        "rotor inertia": drive.rotor_inertia,
        "damping": drive.damping,
        "Coulomb friction for positive velocity": drive.coulomb[0],
        "Coulomb friction for negative velocity": drive.coulomb[1],
        "width of Coulomb friction": drive.coulomb_width,
        "spring stiffness": drive.stiffness,
    }
    for name, value in magnitudes.items():
        s.finite(f"the {name} of {s.who}", value)
        s.must(
            value >= 0,
            "out-of-range drive",
            f"the {name} of {s.who} is {value!r}; it is a magnitude and must not be negative",
        )
    s.finite(f"the gear ratio of {s.who}", drive.gear_ratio)
    s.finite(f"the spring's rest position of {s.who}", drive.rest)
    s.must(
        drive.gear_ratio != 0, "out-of-range gear_ratio", f"the gear ratio of {s.who} is 0; write 1 for a direct drive"
    )
    try:
        return replace(drive, friction=tuple(checked_friction(term) for term in drive.friction))
    except (InputError, UnknownNameError, TypeError) as error:
        problem = f"the friction of {s.who}: {error}"
        raise s.place.refuse(getattr(error, "code", "wrong-type"), "friction", problem=problem) from None


def _mimics(joints: Sequence[Joint], warnings: list[str]) -> None:
    by_name = {joint.name: joint for joint in joints}
    for joint in joints:
        if joint.mimic is None:
            continue
        s, master = Subject(f"joint {joint.name!r}", joint.place, warnings), joint.mimic.joint
        s.must(master != joint.name, "wrong-structure mimic", f"{s.who} mimics itself; name another joint")
        if master not in by_name:
            others = [name for name in by_name if name != joint.name]
            problem = f"{s.who} mimics the {unknown('joint', master, others)}"
            raise s.place.refuse("unknown-name", "mimic", problem=problem)
        why = f"which is fixed; name a moving joint, or make {joint.name!r} fixed too"
        s.must(by_name[master].kind != "fixed", "wrong-structure mimic", f"{s.who} mimics {master!r}, {why}")
        several = f"which is {by_name[master].kind} and has several coordinates; name a joint of one"
        s.must(JOINTS[by_name[master].kind].direct, "wrong-structure mimic", f"{s.who} mimics {master!r}, {several}")
        s.finite(f"the mimic of {s.who}", joint.mimic.multiplier, joint.mimic.offset)
        _no_mimic_cycle(joint, by_name)


def _no_mimic_cycle(joint: Joint, by_name: dict[str, Joint]) -> None:
    seen = {joint.name: None}  # in order
    follower: Joint | None = joint
    while follower is not None and follower.mimic is not None:
        name = follower.mimic.joint
        if name in seen:
            names = list(seen)
            shown = " → ".join(repr(n) for n in [*names[names.index(name) :], name])
            problem = f"joints mimic each other in a cycle: {shown}; one of them must move by itself"
            raise joint.place.refuse("wrong-structure", "mimic", problem=problem)
        seen[name] = None
        follower = by_name.get(name)


# links


def _link(link: Link, warnings: list[str], strict: bool) -> Link:
    s = Subject(f"link {link.name!r}", link.place, warnings)
    if link.inertial is not None:
        _inertial(s, link.inertial)

    def shapes(role: str, found: Iterable[Shape]) -> Iterator[Shape]:
        for shape in found:
            try:
                yield _shape(Subject(f"a {role} of {s.who}", link.place, warnings), shape, strict)
            except DescriptionError as error:
                if strict:
                    raise
                warnings.append(f"{str(error).rpartition('; ')[0]}; it is left out")

    return replace(
        link, visuals=tuple(shapes("visual", link.visuals)), collisions=tuple(shapes("collision", link.collisions))
    )


def _painted(links: Sequence[Link]) -> list[Link]:
    """The links, every shape with the color of its material if any shape of that material has one."""
    shapes = [shape for link in links for shape in (*link.visuals, *link.collisions)]
    colors = {s.material: s.color for s in reversed(shapes) if s.material and s.color}  # the first wins

    def paint(shapes: Iterable[Shape]) -> tuple[Shape, ...]:
        return tuple(
            replace(s, color=colors[s.material]) if s.color is None and s.material in colors else s for s in shapes
        )

    return [replace(k, visuals=paint(k.visuals), collisions=paint(k.collisions)) for k in links]


def _inertial(s: Subject, inertial: Inertial) -> None:
    mass = inertial.mass
    s.finite(f"the mass of {s.who}", mass)
    s.finite(f"the inertia of {s.who}", *inertial.inertia)
    s.origin(inertial.origin, f"the inertial of {s.who}")
    remedy = "a mass must not be negative (leave the inertial out for a massless link)"
    s.must(mass >= 0, "out-of-range mass", f"the mass of {s.who} is {mass!r} kg; {remedy}")
    if mass > HEAVIEST:
        s.warn(f"the mass of {s.who} is {mass:g} kg, more than any machine has; check its unit")
    if mass == 0 and any(inertial.inertia):
        s.warn(f"{s.who} has inertia but no mass, which no body has; it resists rotation and weighs nothing")
    verdict = masses.verdict(inertial.inertia, mass)
    if verdict != "feasible":
        moments = " ".join(f"{J:.4g}" for J in masses.principal_moments(inertial.inertia))
        what, follows = INFEASIBLE[verdict]
        s.warn(f"the inertia of {s.who} {what} (principal moments {moments} kg m²): {follows}")


def _shape(s: Subject, shape: Shape, strict: bool) -> Shape:
    s.origin(shape.origin, s.who)
    if isinstance(shape.geometry, Mesh):
        s.finite(f"the mesh scale of {s.who}", *shape.geometry.scale)
        # A path that leads elsewhere is kept, for it may be right where the file comes from; no such file is opened.
        reason = escape(shape.geometry.filename)
        s.must(reason is None or not strict, "not-readable mesh", f"the mesh of {s.who} is refused: {reason}")
        if reason is not None:
            s.warn(f"the mesh of {s.who} is not opened: {reason}")
    for name, value in sizes(shape.geometry):
        s.finite(f"the {name} of {s.who}", value)
        s.must(value >= 0, "out-of-range size", f"the {name} of {s.who} is {value!r} m; a size must not be negative")
    if shape.color is None:
        return shape
    s.finite(f"the color of {s.who}", *shape.color)
    r, g, b, a = (min(max(c, 0.0), 1.0) for c in shape.color)
    if (r, g, b, a) != shape.color:
        drawn = f"r g b a lie in 0…1; it is drawn as {show((r, g, b, a))}"
        s.warn(f"the color of {s.who} is {show(shape.color)}, and {drawn}")
    return replace(shape, color=(r, g, b, a))


def sizes(geometry: Geometry) -> list[tuple[str, float]]:
    """The named lengths [m] of a shape; a mesh has none."""
    if isinstance(geometry, Mesh):
        return []
    if isinstance(geometry, Box):
        return [("size", s) for s in geometry.size]
    return [(f.name, getattr(geometry, f.name)) for f in fields(geometry)]


# loops and the whole


def _loop(loop: Loop, d: Description, carrier: dict[str, str], warnings: list[str]) -> Loop:
    """The loop with a unit axis, or a DescriptionError."""
    s = Subject(f"loop {loop.name!r}", loop.place, warnings)
    kind, links = loop.kind, [link.name for link in d.links]
    if kind not in LOOP_KINDS:
        problem = f"{s.who} is of an {unknown('kind of loop', kind, LOOP_KINDS)}"
        raise s.place.refuse("unknown-name", "kind", problem=problem)
    for role, link in (("first", loop.first), ("second", loop.second)):
        if link not in links:
            problem = f"{s.who} has as its {role} link the {unknown('link', link, links)}"
            raise s.place.refuse("unknown-name", "link", problem=problem)
    s.must(
        loop.first != loop.second,
        "wrong-structure loop",
        f"{s.who} joins link {loop.first!r} to itself; name two links",
    )
    body = carrier.get(loop.first, loop.first)
    s.must(
        body != carrier.get(loop.second, loop.second),
        "wrong-structure loop",
        f"{s.who} joins {loop.first!r} to {loop.second!r}, which are both fixed to {body!r} and never move against "
        "each other; remove it, or name links with a moving joint between them",
    )
    s.origin(loop.first_origin, f"the first frame of {s.who}", doubt=False)
    s.origin(loop.second_origin, f"the second frame of {s.who}", doubt=False)
    axis, length = s.unit_axis(loop.axis), loop.length
    idle = kind in LOOPS_WITHOUT_AXIS and axis != Loop.axis
    s.must(not idle, "no-effect axis", f"{s.who} is of kind {kind!r}, which has no axis; remove it")
    if kind != "distance":
        s.must(length is None, "no-effect length", f"{s.who} is of kind {kind!r}, which has no length; remove it")
    elif length is None:
        problem = f"{s.who} keeps a distance and does not say which; give its length [m]"
        raise s.place.refuse("missing", "length", problem=problem)
    else:
        s.finite(f"the length of {s.who}", length)
        what = f"the length of {s.who} is {length!r} m"
        s.must(length > 0, "out-of-range length", f"{what}; a distance is positive (points that coincide are a 'ball')")
    return replace(loop, axis=axis)


def _home(d: Description, warnings: list[str]) -> tuple[tuple[str, float], ...]:
    """The home configuration: a position for each joint that is named, in the order written."""
    s = Subject(f"the home of robot {d.name!r}", d.place, warnings)
    written: Iterable[tuple[str, float]] = d.home.items() if isinstance(d.home, Mapping) else d.home
    joints = {
        f"{joint.name}{part}": joint
        for joint in d.joints
        for part in (JOINTS[joint.kind].position_names if joint.kind != "fixed" else ("",))
    }
    moving = [name for name, joint in joints.items() if joint.kind != "fixed" and joint.mimic is None]
    home: dict[str, float] = {}
    for name, position in written:
        s.must(name not in home, "duplicate home", f"{s.who} names joint {name!r} twice; keep one")
        joint = joints.get(name)
        if joint is None:
            raise s.place.refuse("unknown-name", "home", problem=f"{s.who} names the {unknown('joint', name, moving)}")
        why = "is fixed" if joint.mimic is None else f"follows {joint.mimic.joint!r}"
        s.must(name in moving, "wrong-structure home", f"{s.who} names joint {name!r}, which {why}; remove it there")
        s.finite(f"the home position of joint {name!r}", position)
        home[name] = float(position)
        lower, upper = ends_of(joint)
        if not lower <= home[name] <= upper:
            where = f"the home position of joint {name!r}, {home[name]:.6g}"
            warnings.append(f"{joint.place.prefix}{where}, lies beyond its limits")
    for joint in d.joints:
        _turn(s, joint, home)
    return tuple(home.items())


def _turn(s: Subject, joint: Joint, home: dict[str, float]) -> None:
    """Brings the quaternion of a joint, if `home` says one, to length one; one of that length keeps its bits."""
    kind = JOINTS.get(joint.kind)
    if kind is None or kind.quaternion is None:
        return
    names = [f"{joint.name}{part}" for part in kind.position_names[kind.quaternion :]]
    if home.keys().isdisjoint(names):
        return
    turn = [home.get(name, x) for name, x in zip(names, kind.neutral[kind.quaternion :], strict=True)]
    what, length = f"the home position of joint {joint.name!r} has a quaternion of length", math.hypot(*turn)
    s.must(length > AXIS_ZERO, "out-of-range quaternion", f"{what} 0, which is no rotation; write 0, 0, 0, 1 for none")
    if abs(length - 1.0) > AXIS_ROUNDING:
        s.warn(f"{what} {length:.6g}; it is brought to length 1")
    exact = abs(length - 1.0) <= AXIS_EXACT
    home.update((name, x if exact else x / length) for name, x in zip(names, turn, strict=True))


def _whole(d: Description, warnings: list[str]) -> None:
    s = Subject(f"the gravity of robot {d.name!r}", d.place, warnings)
    try:
        RULES[Vector]("", d.gravity)
    except DescriptionError:
        problem = f"{s.who} is {d.gravity!r}; give three numbers [m/s²]"
        raise s.place.refuse("wrong-shape", "gravity", problem=problem) from None
    s.finite(s.who, *d.gravity)
    names = [link.name for link in d.links]
    if d.tip is not None and d.tip not in names:
        problem = f"the tip of robot {d.name!r} is the {unknown('link', d.tip, names)}"
        raise s.place.refuse("unknown-name", "tip", problem=problem)
