"""One serial chain out of a description: its moving bodies, each with what is fixed to it.

DH tables and screw axes describe a chain of moving joints. A description also has fixed joints, tools
and frames; here they are lumped into the body that carries them, so that no mass is lost on the way.

Joints that follow others: whom in the end, how, and what their own limits leave of their master's range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dalembert.describe.description import Description, Inertial, Joint, Link, Origin, Shape
from dalembert.errors import DescriptionError, choose
from dalembert.spatial import rotation
from dalembert.spatial.inertia import Inertia
from dalembert.spatial.pose import IDENTITY_POSE, Pose
from dalembert.spatial.vector import congruence

Ends = tuple[float, float]  # lower, upper; infinite where there is no limit
UNLIMITED = 1e9  # rad, m, N m, rad/s, …: a limit from here on is none, as exporters mean by 1e308 or 2147483647
TOUCH = 1e-9  # of a range: what two ranges that only touch have in common, with rounding
# What a computation rounded: an angle [rad] this near to a multiple of π/2 is that multiple, and a length [m]
# this near to a decimal of twelve places is that decimal. What was written with fewer digits stays.
ROUNDING = 1e-14


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


def snap_angle(angle: float) -> float:
    """The angle in (−π, π], the exact multiple of π/2 where it is one up to rounding."""
    angle = math.remainder(angle, 2 * math.pi)
    quarter = round(angle / (math.pi / 2))
    if abs(angle - quarter * (math.pi / 2)) <= ROUNDING:
        angle = math.pi if quarter == -2 else quarter * (math.pi / 2)
    return angle


def snap_length(x: float) -> float:
    """The length, 0.107 where 0.10699999999999998 came out."""
    decimal = round(float(x), 12) + 0.0  # no −0.0
    return decimal if abs(x - decimal) < ROUNDING else float(x)


def to_pose(origin: Origin) -> Pose:
    """T_ab of the origin of b in a."""
    return Pose.from_origin(origin.xyz, origin.rpy)


def to_origin(T: Pose) -> Origin:
    """xyz and rpy of a pose of floats, with exact zeros and exact multiples of π/2."""
    x, y, z = (snap_length(v) for v in T.p)
    roll, pitch, yaw = (snap_angle(v) for v in rotation.to_rpy(T.R))
    return Origin((x, y, z), (roll, pitch, yaw))


def moved_origin(T: Pose, origin: Origin) -> Origin:
    """The same place seen from a, T = T_ab; the origin itself where T is the identity."""
    return origin if T == IDENTITY_POSE else to_origin(T @ to_pose(origin))


def moved_inertial(T: Pose, inertial: Inertial | None) -> Inertial | None:
    """The same body seen from a, T = T_ab: its center and axes move, its numbers stay."""
    if inertial is None:
        return None
    return replace(inertial, origin=moved_origin(T, inertial.origin))


def moved_shapes(T: Pose, shapes: Iterable[Shape]) -> tuple[Shape, ...]:
    """The same shapes seen from a, T = T_ab."""
    return tuple(replace(shape, origin=moved_origin(T, shape.origin)) for shape in shapes)


def spatial_inertia(inertial: Inertial) -> Inertia:
    """Mass, first moment and inertia about the link frame's origin."""
    xx, xy, xz, yy, yz, zz = inertial.inertia
    T = to_pose(inertial.origin)
    I_c = congruence(T.R, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    return Inertia.from_com(inertial.mass, T.p, I_c)


def lump(inertials: Sequence[Inertial]) -> Inertial | None:
    """One inertial for bodies fixed to each other, all given in the same frame.

    A single one keeps its numbers. Where the masses add up to zero (the published Puma 560 has a
    massless first link with inertia) the sum stands at the origin: without mass the place is idle.
    """
    if len(inertials) < 2:
        return inertials[0] if inertials else None
    total = Inertia()
    for inertial in inertials:
        total = total + spatial_inertia(inertial)
    massive = total.m != 0
    I_c, c = (total.about_com(), total.com()) if massive else (total.I, (0.0, 0.0, 0.0))
    inertia = (I_c[0][0], I_c[0][1], I_c[0][2], I_c[1][1], I_c[1][2], I_c[2][2])
    return Inertial(total.m, inertia, Origin((c[0], c[1], c[2])))


@dataclass(frozen=True)
class ChainBody:
    """A moving joint, the pose of its frame in the frame of the body before it at q = 0, and
    everything that moves with it, in its own frame."""

    joint: Joint
    placement: Pose
    link: Link


@dataclass(frozen=True)
class Chain:
    """The root with all that is fixed to it, the moving bodies in order, and the tip's pose in the
    last body's frame (in the root's, if nothing moves)."""

    root: Link
    bodies: tuple[ChainBody, ...]
    tip: Pose
    tip_name: str

    def homes(self) -> list[Pose]:
        """Each body's frame in the root's frame at q = 0."""
        T, out = IDENTITY_POSE, []
        for body in self.bodies:
            T = T @ body.placement
            out.append(T)
        return out

    def home(self) -> Pose:
        """The tip in the root's frame at q = 0."""
        homes = self.homes()
        return (homes[-1] if homes else IDENTITY_POSE) @ self.tip


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


def root_name(description: Description) -> str:
    """The link that is nobody's child."""
    children = {joint.child for joint in description.joints}
    return next(link.name for link in description.links if link.name not in children)


def tip_name(description: Description, tip: str | None = None) -> str:
    """The link meant by `tip`, by the description's own tip, or the only leaf there is."""
    names = [link.name for link in description.links]
    chosen = tip if tip is not None else description.tip
    if chosen is not None:
        choose("link", chosen, names)
        return chosen
    parents = {joint.parent for joint in description.joints}
    leaves = [name for name in names if name not in parents]
    if len(leaves) > 1:
        problem = f"{description.name!r} ends in {len(leaves)} links ({', '.join(leaves)})"
        raise DescriptionError("missing", "tip", problem=problem, remedy="Pass the name of one of them as tip.")
    return leaves[0]


def path_to(description: Description, tip: str) -> list[Joint]:
    """The joints from the root to the link, fixed ones included."""
    above = {joint.child: joint for joint in description.joints}
    path: list[Joint] = []
    while tip in above:
        path.append(above[tip])
        tip = above[tip].parent
    return path[::-1]


def serial_chain(description: Description, tip: str | None = None, *, only: bool = True) -> Chain:
    """The chain from the root to the tip of a tree without loops. With `only`, a joint that moves elsewhere is an
    error, and so is a mimic joint on the way; without it, other branches are left out."""
    if description.loops:
        problem = (
            f"{description.name!r} has {counted(len(description.loops))}, and a table of joints cannot contain loops"
        )
        remedy = "Remove them first with Robot.tree or dataclasses.replace(description, loops=())."
        raise DescriptionError("unsupported", "loops", problem=problem, remedy=remedy)
    name = tip_name(description, tip)
    path = path_to(description, name)
    on_path = {joint.name for joint in path}
    for joint in description.joints:
        if joint.kind == "fixed":
            continue
        if only and joint.name not in on_path:
            problem = (
                f"joint {joint.name!r} is not on the way from {root_name(description)!r} to {name!r}, and a table of "
                "joints describes one serial chain"
            )
            remedy = "Remove the branch, or choose another tip."
            raise DescriptionError("unsupported", "tip", name, problem=problem, remedy=remedy)
        if joint.name in on_path and joint.mimic is not None:
            problem = f"joint {joint.name!r} follows {joint.mimic.joint!r}, and a table of joints has no mimic joints"
            raise DescriptionError("unsupported", "mimic", problem=problem)
    return _assemble(description, name, path)


def _assemble(description: Description, tip: str, path: list[Joint]) -> Chain:
    root = root_name(description)
    bodies: list[ChainBody] = []
    placed: dict[str, tuple[str, Pose]] = {root: (root, IDENTITY_POSE)}  # link → (carrier, pose in it)
    carried: dict[str, list[tuple[Pose, Link]]] = {}
    links = {link.name: link for link in description.links}
    on_path = {joint.name for joint in path}
    below: dict[str, list[Joint]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint)
    todo = [root]
    moving: list[tuple[Joint, Pose]] = []
    while todo:
        name = todo.pop(0)
        carrier, T = placed[name]
        carried.setdefault(carrier, []).append((T, links[name]))
        for joint in below.get(name, ()):
            T_joint = T @ to_pose(joint.origin)
            if joint.kind == "fixed":
                placed[joint.child] = (carrier, T_joint)
            elif joint.name in on_path:
                placed[joint.child] = (joint.child, IDENTITY_POSE)
                moving.append((joint, T_joint))
            else:
                continue
            todo.append(joint.child)
    for joint, T_joint in moving:
        bodies.append(ChainBody(joint, T_joint, _merged(links[joint.child], carried[joint.child])))
    return Chain(_merged(links[root], carried[root]), tuple(bodies), placed[tip][1], tip)


def _merged(carrier: Link, parts: list[tuple[Pose, Link]]) -> Link:
    """The carrier with the inertials and shapes of everything fixed to it."""
    inertials = [m for T, link in parts if (m := moved_inertial(T, link.inertial)) is not None]
    return replace(
        carrier,
        inertial=lump(inertials),
        visuals=tuple(s for T, link in parts for s in moved_shapes(T, link.visuals)),
        collisions=tuple(s for T, link in parts for s in moved_shapes(T, link.collisions)),
    )
