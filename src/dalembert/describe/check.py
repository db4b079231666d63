"""The checks that every description passes, whatever it was read from.

What cannot be a mechanism is refused with one sentence: what, where, remedy. What real files do and
physics does not is loaded, with a warning that names the link or joint and what follows from it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dalembert.describe import feasible
from dalembert.describe.description import (
    JOINT_KINDS,
    Box,
    Capsule,
    Cylinder,
    Description,
    Drive,
    Geometry,
    Inertial,
    Joint,
    Link,
    Mesh,
    Place,
    Shape,
    Sphere,
)
from dalembert.describe.loops import checked_home, checked_loops
from dalembert.describe.mimics import ranges
from dalembert.describe.motionless import motionless
from dalembert.describe.paths import escape
from dalembert.describe.refuse import at, finite, finite_origin, refuse, show, unit_axis
from dalembert.errors import DescriptionError, InputError, UnknownNameError, unknown
from dalembert.friction.laws import checked as checked_friction

Color = tuple[float, float, float, float]
HEAVIEST = 1e8  # kg; the largest machines that move weigh a tenth of it


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
    _mimics(joints)
    links = tuple(_link(link, warnings, strict) for link in _painted(description.links))
    _whole(description)
    loops, home = checked_loops(description, warnings), checked_home(description, warnings)
    x, y, z = (float(g) for g in description.gravity)
    checked = replace(description, links=links, joints=joints, gravity=(x, y, z), loops=loops, home=home)
    clashes = ranges([joint for joint in joints if joint.kind != "fixed"])[1]
    warnings += [*_locked(joints), *map(str, clashes), *motionless(checked)]
    fresh = [text for text in warnings if text not in description.warnings]
    return replace(checked, warnings=(*description.warnings, *fresh))


# names and tree


def _names(d: Description) -> None:
    if not d.links:
        raise refuse(d.place, f"robot {d.name!r} has no link; describe at least one")
    _unique("link", [(link.name, link.place) for link in d.links])
    _unique("joint", [(joint.name, joint.place) for joint in d.joints])
    _unique("loop", [(loop.name, loop.place) for loop in d.loops])


def _unique(kind: str, named: Iterable[tuple[str, Place]]) -> None:
    seen: dict[str, Place] = {}
    for name, place in named:
        if not name.strip():
            raise refuse(place, f"a {kind} has no name; give it one")
        if name in seen:
            first = "" if seen[name].line is None else f" (first at line {seen[name].line})"
            raise refuse(place, f"two {kind}s are named {name!r}{first}; rename one of them")
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
                raise refuse(joint.place, f"joint {joint.name!r} has as {role} the {text}")
        if joint.child in parent_joint:
            other = parent_joint[joint.child].name
            raise refuse(
                joint.place,
                f"link {joint.child!r} is the child of two joints, {other!r} and {joint.name!r}; "
                "a tree gives every link one parent, so remove one (and close the loop with a <loop_joint>, in TOML "
                "with [[loops]])",
            )
        parent_joint[joint.child] = joint
    _no_cycle(d, parent_joint)
    roots = [name for name in names if name not in parent_joint]
    if len(roots) > 1:
        shown = ", ".join(repr(name) for name in roots[:6]) + (", …" if len(roots) > 6 else "")
        raise refuse(
            d.place,
            f"robot {d.name!r} has {len(roots)} links without a parent: {shown}; "
            "connect all but one of them by a joint (a fixed one will do)",
        )


def _no_cycle(d: Description, parent_joint: dict[str, Joint]) -> None:
    grounded: set[str] = set()
    for link in d.links:
        path: dict[str, None] = {}  # ordered
        name = link.name
        while name in parent_joint and name not in grounded:
            if name in path:
                ring = list(path)[list(path).index(name) :]
                shown = " → ".join(repr(n) for n in [*ring[:8], *(["…"] if len(ring) > 8 else []), name])
                raise refuse(
                    parent_joint[name].place,
                    f"the joints form a cycle, child to parent: {shown}; "
                    f"remove one of its joints, for example {parent_joint[name].name!r}",
                )
            path[name] = None
            name = parent_joint[name].parent
        grounded.update(path)


# joints


def _joint(joint: Joint, warnings: list[str]) -> Joint:
    if joint.kind not in JOINT_KINDS:
        *most, last = JOINT_KINDS
        kinds = f"{', '.join(most)} or {last}"
        raise refuse(joint.place, f"joint {joint.name!r} is of type {joint.kind!r}; choose {kinds}")
    finite_origin(joint.origin, joint.place, f"joint {joint.name!r}", warnings)
    if joint.kind == "fixed":
        plain = Joint(joint.name, "fixed", joint.parent, joint.child)
        return replace(plain, origin=joint.origin, place=joint.place)
    _limit(joint)
    _pitch(joint)
    axis = unit_axis(joint.axis, joint.place, f"joint {joint.name!r}", warnings)
    return replace(joint, drive=_drive(joint), axis=axis)


def _pitch(joint: Joint) -> None:
    finite((joint.pitch,), joint.place, f"the pitch of joint {joint.name!r}")
    if joint.kind == "helical" and joint.pitch == 0:
        remedy = "give the way along its axis per angle [m/rad], or make it revolute"
        raise refuse(joint.place, f"joint {joint.name!r} is helical and has no pitch; {remedy}")
    if joint.kind != "helical" and joint.pitch:
        raise refuse(joint.place, f"joint {joint.name!r} is {joint.kind} and has a pitch; make it helical or remove it")


def _limit(joint: Joint) -> None:
    limit = joint.limit
    if limit is None:
        return
    for name in ("lower", "upper", "effort", "velocity"):
        value = getattr(limit, name)
        if value is not None:
            # 1e308 is how many files write "none".
            finite((value,), joint.place, f"the {name} limit of joint {joint.name!r}", sys.float_info.max)
    if joint.kind == "continuous" and (limit.lower is not None or limit.upper is not None):
        raise refuse(
            joint.place, f"joint {joint.name!r} is continuous and has position limits; make it revolute or remove them"
        )
    if limit.lower is not None and limit.upper is not None and limit.lower > limit.upper:
        raise refuse(
            joint.place,
            f"joint {joint.name!r} has lower limit {limit.lower!r} above its upper limit {limit.upper!r}; "
            "swap or correct them",
        )
    for name in ("effort", "velocity"):
        value = getattr(limit, name)
        if value is not None and value < 0:
            raise refuse(
                joint.place, f"joint {joint.name!r} has {name} limit {value!r}; it is a magnitude, so write it positive"
            )


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


def _drive(joint: Joint) -> Drive:
    drive: Drive = joint.drive
    who = f"joint {joint.name!r}"
    values = {
        "rotor inertia": drive.rotor_inertia,
        "damping": drive.damping,
        "Coulomb friction for positive velocity": drive.coulomb[0],
        "Coulomb friction for negative velocity": drive.coulomb[1],
        "spring stiffness": drive.stiffness,
    }
    for name, value in values.items():
        finite((value,), joint.place, f"the {name} of {who}")
        if value < 0:
            raise refuse(joint.place, f"the {name} of {who} is {value!r}; it is a magnitude and must not be negative")
    finite((drive.gear_ratio,), joint.place, f"the gear ratio of {who}")
    finite((drive.rest,), joint.place, f"the spring's rest position of {who}")
    if drive.gear_ratio == 0:
        raise refuse(joint.place, f"the gear ratio of {who} is 0; write 1 for a direct drive")
    try:
        return replace(drive, friction=tuple(checked_friction(term) for term in drive.friction))
    except (InputError, UnknownNameError, TypeError) as error:
        raise refuse(joint.place, f"the friction of {who}: {error}") from None


def _mimics(joints: Sequence[Joint]) -> None:
    by_name = {joint.name: joint for joint in joints}
    for joint in joints:
        if joint.mimic is None:
            continue
        master = joint.mimic.joint
        if master == joint.name:
            raise refuse(joint.place, f"joint {joint.name!r} mimics itself; name another joint")
        if master not in by_name:
            text = str(unknown("joint", master, [n for n in by_name if n != joint.name]))
            raise refuse(joint.place, f"joint {joint.name!r} mimics the {text}")
        if by_name[master].kind == "fixed":
            raise refuse(
                joint.place,
                f"joint {joint.name!r} mimics {master!r}, which is fixed; name a moving joint, or make "
                f"{joint.name!r} fixed too",
            )
        numbers = (joint.mimic.multiplier, joint.mimic.offset)
        finite(numbers, joint.place, f"the mimic of joint {joint.name!r}")
        _no_mimic_cycle(joint, by_name)


def _no_mimic_cycle(joint: Joint, by_name: dict[str, Joint]) -> None:
    seen = {joint.name: None}  # in order
    follower: Joint | None = joint
    while follower is not None and follower.mimic is not None:
        name = follower.mimic.joint
        if name in seen:
            names = list(seen)
            shown = " → ".join(repr(n) for n in [*names[names.index(name) :], name])
            raise refuse(joint.place, f"joints mimic each other in a cycle: {shown}; one of them must move by itself")
        seen[name] = None
        follower = by_name.get(name)


# links


def _link(link: Link, warnings: list[str], strict: bool) -> Link:
    if link.inertial is not None:
        _inertial(link, link.inertial, warnings)

    def shapes(role: str, found: Iterable[Shape]) -> Iterator[Shape]:
        for shape in found:
            try:
                yield _shape(shape, link.place, f"a {role} of link {link.name!r}", warnings, strict)
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


def _inertial(link: Link, inertial: Inertial, warnings: list[str]) -> None:
    who = f"link {link.name!r}"
    finite((inertial.mass,), link.place, f"the mass of {who}")
    finite(inertial.inertia, link.place, f"the inertia of {who}")
    finite_origin(inertial.origin, link.place, f"the inertial of {who}", warnings)
    if inertial.mass < 0:
        raise refuse(
            link.place,
            f"the mass of {who} is {inertial.mass!r} kg; a mass must not be negative "
            "(leave the inertial out for a massless link)",
        )
    if inertial.mass > HEAVIEST:
        warnings.append(
            f"{at(link.place)}the mass of {who} is {inertial.mass:g} kg, more than any machine has; check its unit"
        )
    if inertial.mass == 0 and any(inertial.inertia):
        warnings.append(
            f"{at(link.place)}{who} has inertia but no mass, which no body has; it resists rotation and weighs nothing"
        )
    _possible(link, inertial, warnings)


def _possible(link: Link, inertial: Inertial, warnings: list[str]) -> None:
    verdict = feasible.verdict(inertial.inertia, inertial.mass)
    if verdict == "feasible":
        return
    moments = " ".join(f"{J:.4g}" for J in feasible.principal_moments(inertial.inertia))
    if verdict == "indefinite":
        what = "is not positive semidefinite"
        follows = "the mass matrix may lose its positive definiteness, and forward dynamics its meaning"
    else:
        what = "violates the triangle inequality"
        follows = (
            "no distribution of mass has it; dynamics are computed as written, and identification "
            "with physical constraints cannot return it"
        )
    warnings.append(
        f"{at(link.place)}the inertia of link {link.name!r} {what} (principal moments {moments} kg m²): {follows}"
    )


def _shape(shape: Shape, place: Place, who: str, warnings: list[str], strict: bool) -> Shape:
    finite_origin(shape.origin, place, who, warnings)
    if isinstance(shape.geometry, Mesh):
        _mesh(shape.geometry, place, who, warnings, strict)
    for name, value in sizes(shape.geometry):
        finite((value,), place, f"the {name} of {who}")
        if value < 0:
            raise refuse(place, f"the {name} of {who} is {value!r} m; a size must not be negative")
    return shape if shape.color is None else replace(shape, color=_color(shape.color, place, who, warnings))


def _color(color: Color, place: Place, who: str, warnings: list[str]) -> Color:
    finite(color, place, f"the color of {who}")
    if all(0 <= c <= 1 for c in color):
        return color
    r, g, b, a = (min(max(c, 0.0), 1.0) for c in color)
    warnings.append(
        f"{at(place)}the color of {who} is {show(color)}, and r g b a lie in 0…1; it is drawn as {show((r, g, b, a))}"
    )
    return (r, g, b, a)


def sizes(geometry: Geometry) -> list[tuple[str, float]]:
    """The named lengths [m] of a shape; a mesh has none."""
    match geometry:
        case Box(size):
            return [("size", s) for s in size]
        case Cylinder(radius, length) | Capsule(radius, length):
            return [("radius", radius), ("length", length)]
        case Sphere(radius):
            return [("radius", radius)]
        case _:
            return []


def _mesh(mesh: Mesh, place: Place, who: str, warnings: list[str], strict: bool) -> None:
    """A path that leads elsewhere is kept, for it may be right where the file comes from; no such file is opened."""
    finite(mesh.scale, place, f"the mesh scale of {who}")
    reason = escape(mesh.filename)
    if reason is not None and strict:
        raise refuse(place, f"the mesh of {who} is refused: {reason}")
    if reason is not None:
        warnings.append(f"{at(place)}the mesh of {who} is not opened: {reason}")


# numbers


def _three(value: object) -> bool:
    try:
        return len(value) == 3 and all(isinstance(float(x), float) for x in value)  # type: ignore[arg-type,attr-defined]
    except (TypeError, ValueError):
        return False


def _whole(d: Description) -> None:
    if not _three(d.gravity):
        raise refuse(d.place, f"the gravity of robot {d.name!r} is {d.gravity!r}; give three numbers [m/s²]")
    finite(d.gravity, d.place, f"the gravity of robot {d.name!r}")
    names = [link.name for link in d.links]
    if d.tip is not None and d.tip not in names:
        raise refuse(d.place, f"the tip of robot {d.name!r} is the {unknown('link', d.tip, names)}")
