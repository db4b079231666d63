"""Rules D1xx, second half: links and joints as a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dalembert.errors import unknown
from dalembert.trust.doctor.case import Case, JointPart, LinkPart
from dalembert.trust.doctor.rules import Found, rule

_KINDS = ("revolute", "continuous", "prismatic", "fixed")
_SEVERAL = {
    "floating": "the base is fixed here: remove the joint and its parent link, or make it fixed",
    "planar": "describe it as two prismatic joints and a revolute one",
}


@rule("D103", "error", "the robot has no link", "There is nothing to move.")
def no_link(case: Case) -> Iterator[Found]:
    if case.root.tag == "robot" and not case.links:
        yield Found(case.root, "robot", "the robot has no link", "describe at least one")


@rule("D112", "error", "two links or two joints have one name", "Whoever names it may mean either.")
def twice_named(case: Case) -> Iterator[Found]:
    groups: tuple[Sequence[LinkPart] | Sequence[JointPart], ...] = (case.links, case.joints)
    for parts in groups:
        seen: dict[str, int | None] = {}
        for part in parts:
            if part.name and part.name in seen:
                message = f"a second {part.who} (the first is at line {seen[part.name]})"
                yield Found(part.at, part.who, message, "rename one of them")
            seen.setdefault(part.name, part.at.place.line)


@rule("D114", "error", "a joint names a link that is not there", "The tree has a hole, and cannot be built.")
def unknown_link(case: Case) -> Iterator[Found]:
    names = [link.name for link in case.links]
    known = set(names)
    for joint in case.joints:
        for role in ("parent", "child"):
            name = getattr(joint, role)
            if name is not None and name not in known:
                what, _, hint = str(unknown("link", name, names)).partition("; ")
                at = next(joint.at.all(role), joint.at)
                yield Found(at, joint.who, f"{joint.who} has as {role} the {what}", hint)


@rule("D115", "error", "a link has two parents", "A tree gives every link one parent; a second one closes a loop.")
def two_parents(case: Case) -> Iterator[Found]:
    first: dict[str, JointPart] = {}
    for joint in case.joints:
        if joint.child is not None and joint.child in first:
            message = f"link {joint.child!r} is the child of two joints, {first[joint.child].name!r} and {joint.name!r}"
            yield Found(joint.at, joint.who, message, "remove one, and close the loop with a <loop_joint>")
        elif joint.child is not None:
            first[joint.child] = joint


@rule("D116", "error", "the joints form a cycle", "No link of it stands on the ground, so nothing holds them.")
def cycle(case: Case) -> Iterator[Found]:
    above = {joint.child: joint for joint in reversed(case.joints) if joint.child is not None}
    grounded: set[str] = set()
    for link in case.links:
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


@rule("D117", "error", "the links are not connected", "Only one tree is a robot; the rest would hang in the air.")
def several_roots(case: Case) -> Iterator[Found]:
    children = {joint.child for joint in case.joints}
    roots = [link for link in case.links if link.name not in children]
    for link in roots[1:]:
        message = f"{link.who} has no parent, and neither has {roots[0].who}"
        yield Found(link.at, link.who, message, "connect it by a joint (a fixed one will do), or remove it")


@rule("D118", "error", "a joint of an unknown type", "How the child moves against its parent is not said.")
def joint_type(case: Case) -> Iterator[Found]:
    for joint in case.joints:
        if joint.kind and joint.kind not in (*_KINDS, *_SEVERAL):
            message = f"{joint.who} is of the unknown type {joint.kind[:40]!r}"
            yield Found(joint.at, joint.who, message, f"choose from {', '.join(_KINDS)}")


@rule(
    "D119",
    "error",
    "a joint that moves in several ways",
    "Dalembert's joints have one coordinate each, so it refuses a floating or planar joint.",
)
def several_ways(case: Case) -> Iterator[Found]:
    for joint in case.joints:
        if joint.kind in _SEVERAL:
            yield Found(joint.at, joint.who, f"{joint.who} is of type {joint.kind!r}", _SEVERAL[joint.kind])


@rule("D120", "error", "a joint mimics what it cannot", "Its position is undefined.")
def mimic(case: Case) -> Iterator[Found]:
    by_name = {joint.name: joint for joint in case.joints}
    for joint in case.joints:
        e = joint.mimic_at
        master = None if e is None else e.attributes.get("joint")
        if e is None or not master:
            continue
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
    while follower is not None and follower.mimic_at is not None:
        name = follower.mimic_at.attributes.get("joint", "")
        if name in found:
            break
        found.add(name)
        follower = by_name.get(name)
    return found
