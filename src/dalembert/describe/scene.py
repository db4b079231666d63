"""One robot out of a scene, loose objects left out, and any robot on a base that moves.

A scene is a description whose root carries several trees that move: arms, legged robots, objects. A *root body* is a
link that the root carries directly and that moves, or carries what does.

A robot put on another base: free to fly, or to roll on a floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalembert.describe.chain import path_to, root_name, to_pose
from dalembert.describe.check import check
from dalembert.describe.description import Description, Joint, Link, Origin, Vector, part_names, positions
from dalembert.errors import DescriptionError, InputError, choose, unknown
from dalembert.joints import JOINTS
from dalembert.spatial.rotation import to_quaternion

ROOT, WORLD = "root", "world"
BASES = ("fixed", "floating", "planar")
FREE = ("keep", "drop")


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
        problem = f"{d.name!r} has a joint {name!r} already"
        raise InputError("duplicate", "name", name, problem=problem, remedy="Give the joint of its base another name.")
    world = next(w for w in (WORLD, *(f"{WORLD}{k}" for k in range(len(taken) + 1))) if w not in taken)
    moved = {joint.child for joint in d.joints}
    root = next(link.name for link in d.links if link.name not in moved)
    joint = Joint(name, kind, world, root, origin, axis)
    return replace(d, links=(Link(world), *d.links), joints=(joint, *d.joints), dh=None)


def arrange(
    d: Description, *, base: str | None = None, robot: str | Sequence[str] | None = None, free: str | None = None
) -> Description:
    """The description with one robot taken out, loose objects dropped, then put on a base, each where it is asked."""
    for what, word, choices in (("base", base, BASES), ("entry of free", free, FREE)):
        if word is not None and word not in choices:
            raise unknown(what, word, choices)
    d = d if robot is None else take_robot(d, robot)
    d = drop_loose(d) if free == "drop" else d
    return d if base in (None, "fixed") else put_on_base(d, base)


def root_bodies(d: Description) -> list[str]:
    """The links that the root carries and that move, or carry what does, in the order of the file."""
    root, below = root_name(d), _below(d)
    return [j.child for j in below.get(root, ()) if j.kind != "fixed" or _moving(below, j.child)]


def take_robot(d: Description, robot: str | Sequence[str]) -> Description:
    """The tree that starts at a root body, or the trees of several, and what carries them."""
    names = tuple(robot) if isinstance(robot, (list, tuple)) else (robot,)
    links, root, below = [link.name for link in d.links], root_name(d), _below(d)
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError("wrong-type", "robot", robot, expected="the name of a root body, or several")
    kept = {root}
    for name in names:
        if name not in links:
            raise unknown("root body", name, root_bodies(d))
        # A body of MJCF with several joints is reached by links of their own, called body/joint: it begins there.
        name = next((j.child for j in path_to(d, name) if j.child.startswith(f"{name}/")), name)
        moved = [joint for joint in path_to(d, name)[:-1] if joint.kind != "fixed"]
        if moved:
            top = path_to(d, name)[0].child
            problem = f"link {name!r} is carried by joint {moved[0].name!r}"
            remedy = f"Take the whole tree with robot={top!r}."
            raise DescriptionError("wrong-structure", "robot", name, problem=problem, remedy=remedy)
        kept |= {joint.child for joint in path_to(d, name)} | _tree(below, name)
    return _only(d, kept)


def drop_loose(d: Description) -> Description:
    """Without the bodies that float freely and carry no joint that moves."""
    below = _below(d)
    loose = [j for j in d.joints if j.kind == "floating" and not _moving(below, j.child)]
    dropped = {name for joint in loose for name in _tree(below, joint.child)}
    kept = {link.name for link in d.links} - dropped
    if dropped and not any(joint.kind != "fixed" and joint.child in kept for joint in d.joints):
        names = ", ".join(repr(joint.child) for joint in loose[:8])
        problem = f"all bodies of robot {d.name!r} are free objects ({names})"
        raise DescriptionError("wrong-structure", "free", problem=problem, remedy="Leave out free='drop'.")
    return _only(d, kept) if dropped else d


def put_on_base(d: Description, kind: str) -> Description:
    """The robot on a joint of that kind to the world. The root becomes its child, unless it is called "world": then
    what is fixed to it does, and starts where it is written. q of a floating base is its pose in the world."""
    root, below = root_name(d), _below(d)
    names = {joint.name for joint in d.joints}
    name = ROOT
    while names & {name, *part_names(Joint(name, kind, "", ""))}:
        name += "_"
    if root != WORLD:
        return check(with_base(d, kind, name=name))
    roots = root_bodies(d)
    tops = [joint for joint in below.get(root, ()) if joint.child in roots]
    if not tops:
        problem = f"no body of {d.name!r} moves, so that it has no base"
        raise DescriptionError("wrong-structure", "base", problem=problem)
    if len(held := [joint for joint in tops if joint.kind != "floating"]) == 1:
        tops = held  # among objects that float, it is the robot
    if len(tops) > 1:
        shown = ", ".join(repr(name) for name in roots[:8]) + (", …" if len(roots) > 8 else "")
        problem = f"{d.name!r} has {len(roots)} trees that move ({shown})"
        raise DescriptionError("missing", "robot", problem=problem, remedy="Choose one with robot=….")
    if tops[0].kind == kind:
        return d
    if tops[0].kind != "fixed":
        how = "is there already" if tops[0].kind in BASES else "would be a second one"
        problem = (
            f"{tops[0].child!r} moves against the world by the {tops[0].kind} joint {tops[0].name!r}, so that a base "
            f"{how}"
        )
        raise DescriptionError("conflict", "base", problem=problem, remedy="Leave out base, or make that joint fixed.")
    T = to_pose(tops[0].origin)
    joint = replace(tops[0], name=name, kind=kind, axis=(0.0, 0.0, 1.0))
    home = d.home
    if kind == "floating":
        joint = replace(joint, origin=Joint.origin)
        home = (*positions(joint.name, kind, (*T.p, *to_quaternion(T.R))), *home)
    return check(replace(d, joints=tuple(joint if j is tops[0] else j for j in d.joints), home=home))


def _below(d: Description) -> dict[str, list[Joint]]:
    below: dict[str, list[Joint]] = {}
    for joint in d.joints:
        below.setdefault(joint.parent, []).append(joint)
    return below


def _tree(below: dict[str, list[Joint]], root: str) -> set[str]:
    """The link and all that it carries."""
    found = [root]
    for name in found:
        found += [joint.child for joint in below.get(name, ())]
    return set(found)


def _moving(below: dict[str, list[Joint]], root: str) -> bool:
    """Whether a link carries a joint that moves."""
    return any(joint.kind in JOINTS for name in _tree(below, root) for joint in below.get(name, ()))


def _only(d: Description, kept: set[str]) -> Description:
    """The description of some of its links, with what belongs to them alone."""
    joints = tuple(joint for joint in d.joints if joint.child in kept)
    names = {joint.name for joint in joints}
    kinds = [(joint.name, JOINTS[joint.kind]) for joint in joints if joint.kind != "fixed"]
    parts = {name + part for name, kind in kinds for part in kind.position_names}
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint not in names:
            problem = f"joint {joint.name!r} follows {joint.mimic.joint!r}, which is left out"
            raise DescriptionError("wrong-structure", "robot", problem=problem, remedy="Take both, as robot=[…, …].")
    loops = tuple(loop for loop in d.loops if {loop.first, loop.second} <= kept)
    lost = [loop.name for loop in d.loops if len({loop.first, loop.second} & kept) == 1]
    more = tuple(f"{d.place.prefix}loop {name!r} holds what is left out, and is left out too" for name in lost)
    return check(
        replace(
            d,
            links=tuple(link for link in d.links if link.name in kept),
            joints=joints,
            loops=loops,
            home=tuple((name, x) for name, x in d.home if name in parts),
            tip=d.tip if d.tip in kept else None,
            warnings=(*d.warnings, *more),
            dh=None,
        )
    )
