"""Rules D1xx: what is written, tag by tag, and links and joints as a tree."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from dalembert.describe.description import INERTIA, LIMITS, LOOP_KINDS, SHAPES
from dalembert.describe.urdf_read import LOOP_TYPES, SEVERAL, URDF_KINDS, JointPart, LinkPart
from dalembert.describe.xml import Element
from dalembert.errors import DescriptionError, unknown
from dalembert.trust.doctor.document import Document, Found, rule, say_the_same, walk

# Elements of the standard: attributes; children. What is not here belongs to other programs and is left alone.
SCHEMA: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    tag: (frozenset(attributes.split()), frozenset(children.split()))
    for tag, attributes, children in (
        ("robot", "name version", "link joint material transmission gazebo"),
        ("link", "name type", "inertial visual collision"),
        ("inertial", "", "origin mass inertia"),
        ("mass", "value", ""),
        ("inertia", " ".join(INERTIA), ""),
        ("origin", "xyz rpy", ""),
        ("visual", "name", "origin geometry material"),
        ("collision", "name", "origin geometry verbose material"),
        ("geometry", "", " ".join(SHAPES)),
        ("box", "size", ""),
        ("cylinder", "radius length", ""),
        ("capsule", "radius length", ""),
        ("sphere", "radius", ""),
        ("mesh", "filename scale", ""),
        ("joint", "name type", "origin parent child axis limit mimic dynamics calibration safety_controller"),
        ("parent", "link", ""),
        ("child", "link", ""),
        ("axis", "xyz", ""),
        ("limit", " ".join(LIMITS), ""),
        ("mimic", "joint multiplier offset", ""),
        ("dynamics", "damping friction", ""),
        ("material", "name", "color texture"),
        ("color", "rgba", ""),
        ("texture", "filename", ""),
    )
}
SEVERAL_NUMBERS = ("xyz", "rpy", "size", "scale", "rgba")
NUMBERS = {tag: attributes - {"name", "type", "filename", "joint", "link"} for tag, (attributes, _) in SCHEMA.items()}
UNUSED = {  # what nothing here reads, and urdfdom does
    "safety_controller": frozenset(("k_velocity", "k_position", "soft_lower_limit", "soft_upper_limit")),
    "calibration": frozenset(("rising", "falling")),
}
NUMBERS |= UNUSED
_HOMES: dict[str, list[str]] = {}  # of each element of a robot's parts: in which others it may stand
for _tag, (_, _children) in SCHEMA.items():
    for _child in _children - {"transmission", "gazebo", "verbose"}:
        _HOMES.setdefault(_child, []).append(_tag)
NEAR = 0.8  # of difflib's likeness, from which on a strange name is a slip of the pen


def near(name: str, known: frozenset[str]) -> str | None:
    """The known name that a strange one was meant to be, if it resembles one."""
    if name in known or ":" in name:
        return None
    letters = {"".join(sorted(k)): k for k in known}
    swapped = letters.get("".join(sorted(name.lower())))  # xzy is too short to resemble xyz
    found = difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=NEAR)
    return swapped or (found[0] if found else None)


def strangers(document: Document) -> Iterator[tuple[Element, Element]]:
    """(parent, child) of every child that its parent does not have by the standard, wherever the parent is URDF."""
    known = [document.root] if document.root.tag == "robot" else []
    for e in known:  # grows as it goes: only inside what is URDF
        for child in e.children:
            if child.tag not in SCHEMA[e.tag][1]:
                yield e, child
            elif child.tag in SCHEMA:
                known.append(child)


def elements(document: Document) -> Iterator[tuple[LinkPart | JointPart, Element]]:
    """Every element of a link or joint."""
    return ((part, e) for part in document.parts for e in walk(part.at))


def joints(document: Document) -> Iterator[tuple[JointPart]]:
    return ((joint,) for joint in document.joints)


# what is written


@rule("D104", "error")
def xacro_left(document: Document) -> Iterator[Found]:
    """Xacro is left in the file.

    A URDF reader does not expand macros: it sees their text instead."""
    for e in document.root.children:
        if e.tag.startswith("xacro:"):
            yield Found(e, "robot", f"<{e.tag:.60}> is xacro, not URDF", "expand the file, or load it as .xacro")


@rule("D105", "warning", strangers)
def misspelt_element(document: Document, parent: Element, child: Element) -> Iterator[Found]:
    """An element's name is misspelt.

    Readers skip elements they do not know without a word, so what stands in it is lost."""
    meant = near(child.tag, SCHEMA[parent.tag][1])
    if meant is not None and child.tag not in _HOMES and child.tag != "loop_joint":
        message = f"<{child.tag}> in <{parent.tag}> is no element of URDF and is skipped"
        yield Found(child, f"<{child.tag}>", message, f"write <{meant}>")


@rule("D130", "warning", strangers)
def misplaced_element(document: Document, parent: Element, child: Element) -> Iterator[Found]:
    """An element at a place where it says nothing.

    Readers look for it elsewhere, and skip it here without a word: what stands in it is lost."""
    if child.tag in _HOMES:
        name = child.attributes.get("name")
        who = f"<{child.tag}>" if name is None else f"{child.tag} {name!r}"
        homes = " or ".join(f"<{tag}>" for tag in _HOMES[child.tag])
        message = f"<{child.tag}> stands in <{parent.tag}>, where it is skipped"
        yield Found(child, who, message, f"move it into {homes}")


@rule("D106", "warning", elements)
def misspelt_attribute(document: Document, part: LinkPart | JointPart, e: Element) -> Iterator[Found]:
    """An attribute's name is misspelt.

    Readers skip attributes they do not know without a word, and take the default instead."""
    known = SCHEMA[e.tag][0] if e.tag in SCHEMA else frozenset()
    for name in e.attributes:
        meant = near(name, known)
        if meant is not None and meant not in e.attributes:
            message = f"<{e.tag}> of {part.who} has the attribute {name!r}, which is none of URDF"
            yield Found(e, part.who, message, f"write {meant!r}")


@rule("D132", "error", elements)
def blank_in_number(document: Document, part: LinkPart | JointPart, e: Element) -> Iterator[Found]:
    """A blank or line break that other readers reject.

    urdfdom, and with it Pinocchio and ROS, drops the inertial of the link or rejects the file if a blank follows a
    number, or if a tab or line break follows one of several."""
    for name, text in document.written(e).items():
        if name not in NUMBERS.get(e.tag, ()) or not text.strip():
            continue
        several = name in SEVERAL_NUMBERS
        if any(blank in text.lstrip() for blank in "\t\r\n") if several else text != text.rstrip():
            where = "between or after its numbers" if several else "after its number"
            message = f"{name}={e.attributes[name]!r} of {part.who} has a blank or line break {where}"
            better = " ".join(e.attributes[name].split())
            yield Found(e, part.who, message, f"write {better!r}", document.set(e, **{name: better}))


@rule("D133", "error", joints)
def rejected_element(document: Document, joint: JointPart) -> Iterator[Found]:
    """An element of a joint that other readers reject.

    Pinocchio and ROS (urdfdom) reject the file if <safety_controller> has no k_velocity, if <dynamics> has neither
    damping nor friction, or if a number of <safety_controller> or <calibration> is malformed. Nothing is lost here."""
    first = {tag: at for tag in (*UNUSED, "dynamics") if (at := joint.at.first(tag)) is not None}
    for tag, at in first.items():
        for name in sorted(UNUSED.get(tag, frozenset()) & at.attributes.keys()):
            try:
                at.number(name, joint.who)
            except DescriptionError:
                message = f"{name}={at.attributes[name]!r:.40} in <{tag}> of {joint.who} is not a finite number"
                yield Found(at, joint.who, message, f"write a number, or remove {name}")
        if tag == "safety_controller" and "k_velocity" not in at.attributes:
            message = f"the <safety_controller> of {joint.who} has no k_velocity"
            yield Found(at, joint.who, message, 'add k_velocity="…"')
        if tag == "dynamics" and at.attributes.keys().isdisjoint(("damping", "friction")):
            message = f"the <dynamics> of {joint.who} has neither damping nor friction"
            yield Found(at, joint.who, message, "remove it", document.drop(at))


@rule("D134", "error")
def repeated_material(document: Document) -> Iterator[Found]:
    """Two materials of one name.

    Pinocchio and ROS (urdfdom) reject the file."""
    found = dict[str, Element]()
    for at in document.root.all("material") if document.root.tag == "robot" else ():
        name = at.attributes.get("name", "")
        if name in found:
            same = say_the_same(at, found[name])
            message = f"material {name!r} is defined twice in <robot>"
            yield Found(at, f"material {name!r}", message, "keep one", document.drop(at) if same else ())
        found.setdefault(name, at)


@rule("D122", "error")
def nameless(document: Document) -> Iterator[Found]:
    """The robot has no name.

    The standard requires one. Pinocchio and ROS (urdfdom) reject the file."""
    root = document.root
    if root.tag == "robot" and "name" not in root.attributes:
        edits = document.set(root, name="robot")
        yield Found(root, "robot", "<robot> has no name", 'give it one, as in <robot name="arm">', edits)


@rule("D124", "note")
def blank_in_name(document: Document) -> Iterator[Found]:
    """A name that is empty, or begins or ends with a blank.

    'arm ' and 'arm' are two names; programs that trim one of them no longer find the other."""
    if document.root.tag == "robot" and not document.root.attributes.get("name", "robot").strip():
        edits = document.set(document.root, name="robot")
        yield Found(document.root, "robot", "the name of the robot is empty", "give it one", edits)
    for part in document.parts:
        if part.name != part.name.strip():
            yield Found(part.at, part.who, f"the name {part.name!r} begins or ends with a blank", "trim it everywhere")


@rule("D125", "warning", elements)
def stray_text(document: Document, part: LinkPart | JointPart, e: Element) -> Iterator[Found]:
    """Text stands where there should be none.

    A tag that lost its '<' becomes text, which every reader skips without a word."""
    if e.tag in SCHEMA and e.text.strip():
        message = f"<{e.tag}> of {part.who} holds the text {' '.join(e.text.split())[:50]!r}"
        yield Found(e, part.who, message, "remove it, or tag it")


@rule("D128", "warning")
def extension_without_target(document: Document) -> Iterator[Found]:
    """An extension names what is not there.

    Its controller, sensor or friction goes to nothing: it is ignored, or the program that reads it fails."""
    links, driven = {k.name for k in document.links}, {j.name for j in document.joints}
    for e in document.root.children:
        target = e.attributes.get("reference")
        if e.tag == "gazebo" and target is not None and target not in links | driven:
            message = f"<gazebo> refers to {target!r}, which is no link and no joint"
            yield Found(e, "<gazebo>", message, _choose(target, links | driven))
        for inner in e.all("joint") if e.tag == "transmission" else ():
            name = inner.attributes.get("name")
            if name is not None and name not in driven:
                message = f"a <transmission> drives {name!r}, which is no joint"
                yield Found(inner, "<transmission>", message, _choose(name, driven))


def _choose(name: str, names: set[str]) -> str:
    found = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}?" if found else "remove it, or name one that exists"


@rule("D129", "error")
def loop_type(document: Document) -> Iterator[Found]:
    """A loop of an unknown type.

    A loop that cannot be closed cannot be simulated."""
    known = (*LOOP_TYPES, *LOOP_KINDS)
    for e in document.root.all("loop_joint"):
        kind = e.attributes.get("type")
        if kind is not None and kind not in known:
            who = f"loop {e.attributes.get('name', '')!r}"
            yield Found(e, who, f"{who} is of the unknown type {kind!r}", f"choose from {', '.join(known)}")


# the tree


@rule("D103", "error")
def no_link(document: Document) -> Iterator[Found]:
    """The robot has no link.

    There is nothing to move."""
    if document.root.tag == "robot" and not document.links:
        yield Found(document.root, "robot", "the robot has no link", "describe at least one")


@rule("D112", "error")
def twice_named(document: Document) -> Iterator[Found]:
    """Two links or two joints have one name.

    Whoever names it may mean either."""
    groups: tuple[Sequence[LinkPart] | Sequence[JointPart], ...] = (document.links, document.joints)
    for parts in groups:
        seen: dict[str, int | None] = {}
        for part in parts:
            if part.name and part.name in seen:
                message = f"a second {part.who} (the first is at line {seen[part.name]})"
                yield Found(part.at, part.who, message, "rename one of them")
            seen.setdefault(part.name, part.at.place.line)


@rule("D114", "error", joints)
def unknown_link(document: Document, joint: JointPart) -> Iterator[Found]:
    """A joint names a link that is not there.

    The tree has a hole, and cannot be built."""
    names = [link.name for link in document.links]
    for role, name in (("parent", joint.parent), ("child", joint.child)):
        if name is not None and name not in names:
            what, _, hint = str(unknown("link", name, names)).partition("; ")
            yield Found(joint.at.first(role) or joint.at, joint.who, f"{joint.who} has as {role} the {what}", hint)


@rule("D115", "error")
def two_parents(document: Document) -> Iterator[Found]:
    """A link has two parents.

    A tree gives every link one parent; a second one closes a loop."""
    first: dict[str, JointPart] = {}
    for joint in document.joints:
        if joint.child is not None and joint.child in first:
            message = f"link {joint.child!r} is the child of two joints, {first[joint.child].name!r} and {joint.name!r}"
            yield Found(joint.at, joint.who, message, "remove one, and close the loop with a <loop_joint>")
        elif joint.child is not None:
            first[joint.child] = joint


@rule("D116", "error")
def cycle(document: Document) -> Iterator[Found]:
    """The joints form a cycle.

    No link of it stands on the ground, so nothing holds them."""
    above = {joint.child: joint for joint in reversed(document.joints) if joint.child is not None}
    grounded: set[str] = set()
    for link in document.links:
        path: dict[str, None] = {}
        name: str | None = link.name
        while name is not None and name in above and name not in grounded and name not in path:
            path[name] = None
            name = above[name].parent
        if name is not None and name in path:
            joint = above[name]
            ring = list(path)[list(path).index(name) :]
            shown = " → ".join(repr(n) for n in [*ring[:8], *(["…"] if len(ring) > 8 else []), name])
            message = f"the joints form a cycle, child to parent: {shown}"
            yield Found(joint.at, joint.who, message, f"remove one of its joints, for example {joint.name!r}")
        grounded.update(path)


@rule("D117", "error")
def several_roots(document: Document) -> Iterator[Found]:
    """The links are not connected.

    Only one tree is a robot; the rest would hang in the air."""
    children = {joint.child for joint in document.joints}
    roots = [link for link in document.links if link.name not in children]
    for link in roots[1:]:
        message = f"{link.who} has no parent, and neither has {roots[0].who}"
        yield Found(link.at, link.who, message, "connect it by a joint (a fixed one will do), or remove it")


@rule("D118", "error", joints)
def joint_type(document: Document, joint: JointPart) -> Iterator[Found]:
    """A joint of an unknown type.

    How the child moves against its parent is not said."""
    if joint.kind and joint.kind not in URDF_KINDS:
        message = f"{joint.who} is of the unknown type {joint.kind[:40]!r}"
        yield Found(joint.at, joint.who, message, f"choose from {', '.join(URDF_KINDS)}")


@rule("D119", "note", joints)
def several_ways(document: Document, joint: JointPart) -> Iterator[Found]:
    """A joint of several coordinates with what belongs to one.

    Limits, dry friction and a mimic of a floating or planar joint say nothing that readers agree on; they are left out
    here."""
    if joint.kind in SEVERAL:
        for tag in ("limit", "mimic"):
            if (at := joint.element(tag)) is not None:
                yield Found(at, joint.who, f"{joint.who} is {joint.kind} and has a <{tag}>", "remove it")


@rule("D120", "error", joints)
def mimic(document: Document, joint: JointPart) -> Iterator[Found]:
    """A joint mimics what it cannot.

    Its position is undefined."""
    e = joint.element("mimic")
    master = None if e is None else e.attributes.get("joint")
    if e is None or not master:
        return
    by_name = {other.name: other for other in document.joints}
    if master == joint.name:
        yield Found(e, joint.who, f"{joint.who} mimics itself", "name another joint")
    elif master not in by_name:
        what, _, hint = str(unknown("joint", master, [n for n in by_name if n != joint.name])).partition("; ")
        yield Found(e, joint.who, f"{joint.who} mimics the {what}", hint)
    elif by_name[master].kind == "fixed":
        message = f"{joint.who} mimics {master!r}, which is fixed"
        yield Found(e, joint.who, message, f"name a moving joint, or make {joint.name!r} fixed too")
    elif joint.name in _masters(joint, by_name):
        yield Found(e, joint.who, f"{joint.who} mimics itself by way of {master!r}", "let one of them move freely")


def _masters(joint: JointPart, by_name: dict[str, JointPart]) -> set[str]:
    """The names of all that a joint follows, one after the other."""
    found: set[str] = set()
    follower: JointPart | None = joint
    while follower is not None and (e := follower.element("mimic")) is not None:
        name = e.attributes.get("joint", "")
        if name in found:
            break
        found.add(name)
        follower = by_name.get(name)
    return found
