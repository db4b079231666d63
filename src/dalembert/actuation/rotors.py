"""Rotors where they are: carried by the link before the joint, spinning N times as fast as it.

The usual model adds N² J_m to the diagonal of M, as if every motor's stator stood still. In truth the rotor of joint i
is a body on link i−1 that spins at N q̇_i about an axis a. For a rotor symmetric about a, with angular velocity
ω + N q̇ a (ω that of its carrier),

    K = [its energy as a part of the carrier] + J_m N q̇ (a·ω) + ½ N² J_m q̇².

The last term is the usual one. The middle one couples q̈_i with the carrier's angular acceleration along a (J_m N,
against N² J_m: smaller by N), and turns the carrier by the gyroscopic torque J_m N q̇ (ω × a). Here the rotor is an
actual body behind a mimic joint of multiplier N, which every algorithm of the library folds exactly: nothing is left
out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dalembert.actuation.values import plain_tree
from dalembert.arguments import number, of_kind, three
from dalembert.describe.chain import lump, moved_inertial, to_pose
from dalembert.describe.check import check
from dalembert.describe.description import Description, Drive, Inertial, Joint, Link, Mimic, Origin, Vector
from dalembert.errors import InputError, choose
from dalembert.model import Model
from dalembert.robot import Robot
from dalembert.spatial import Pose
from dalembert.spatial.vector import matvec

ROTOR = ":rotor"  # ends the name of the link that is one, and of its mimic joint


@dataclass(frozen=True)
class Rotor:
    """A motor's rotor: J_m = `inertia` about its axis [kg m²], spinning at N = `ratio` times its joint's rate.

    `transverse` is its inertia across the axis (J_m/2, a thin disc, if not given), `mass` [kg] is on the axis.
    `carrier` is the link that holds the stator (the joint's parent if not given); `axis` and `position` [m] are in
    its frame (the joint's own if not given). With `included`, the carrier's inertia in the description already holds
    the rotor as a part at rest, as catalogs and CAD give it, and is lowered by it; else the rotor is added."""

    inertia: float
    ratio: float = 1.0
    mass: float = 0.0
    transverse: float | None = None
    axis: Vector | None = None
    position: Vector | None = None
    carrier: str | None = None
    included: bool = True

    def __post_init__(self) -> None:
        J = number("the inertia of a Rotor", self.inertia, "kg m²", above=0.0)
        if number("the ratio of a Rotor", self.ratio, "motor turns per joint turn") == 0:
            raise InputError("the ratio of a Rotor is 0; a rotor that does not turn is a part of its link")
        number("the mass of a Rotor", self.mass, "kg", least=0.0)
        across = (
            J / 2 if self.transverse is None else number("the transverse inertia of a Rotor", self.transverse, "kg m²")
        )
        if 2 * across < J * (1 - 1e-9):
            raise InputError(
                f"the transverse inertia of a Rotor is {across!r}; a body with {J!r} about its axis has at least half "
                "of that across it (a thin disc)"
            )
        object.__setattr__(self, "transverse", across)


def rotors_of(robot: Robot) -> dict[str, Rotor]:
    """The rotors that the description gives its joints (J_m and N), by joint name."""
    drives = {j.name: j.drive for j in robot.description.joints if j.drive.rotor_inertia > 0}
    return {name: Rotor(d.rotor_inertia, d.gear_ratio) for name, d in drives.items()}


def has_rotors(robot: Robot) -> bool:
    """Whether rotors are bodies of this robot, made by `with_rotors`."""
    return any(body.joint_name.endswith(ROTOR) for body in robot.model.bodies)


def without_rotors(model: Model) -> Model:
    """The model whose mass matrix is that of the links alone."""
    return replace(model, bodies=tuple(replace(body, rotor_inertia=0.0) for body in model.bodies))


def with_rotors(robot: Robot, rotors: Mapping[str, Rotor] | None = None, *, only: bool = False) -> Robot:
    """The same robot with rotors as bodies, gyroscopic effects and all; N² J_m of those joints goes, so that nothing is
    counted twice. `rotors`: by joint name; those of the description if not given. With `only` there are no others:
    N² J_m of every other joint goes too, mimic joints included."""
    plain_tree(robot, "robot with rotors")
    given = rotors_of(robot) if rotors is None else dict(rotors)
    if not given:
        raise InputError(f"the description of {robot.name!r} has no rotor inertias: say which rotors its joints have")
    if has_rotors(robot):
        raise InputError(f"{robot.name!r} has rotors as bodies already")
    d = robot.description
    moving = [j.name for j in d.joints if j.kind != "fixed"]
    for name, rotor in given.items():
        choose("joint", name, moving)
        of_kind(rotor, Rotor, f"the rotor of joint {name!r} must be a Rotor, got")
    links = {link.name: link for link in d.links}
    extra: list[tuple[Link, Joint]] = []
    for name, rotor in given.items():
        joint = next(j for j in d.joints if j.name == name)
        carrier, body, follower = _placed(joint, rotor, links)
        if rotor.included:
            _lower(links, d, carrier, body, follower, name)
        extra.append((body, follower))
    freed = tuple(_freed(j) if only or j.name in given else j for j in d.joints)
    remade = replace(
        d,
        links=(*links.values(), *(link for link, _ in extra)),
        joints=(*freed, *(joint for _, joint in extra)),
        tip=d.tip if d.tip is not None else robot.tip,
    )
    # A rotor may be without mass; and what was said of a link need not be said again because its figures changed.
    said = [f"link {link.name!r}" for link in d.links if any(f"link {link.name!r}" in text for text in robot.warnings)]
    told = [text for text in check(remade).warnings if any(name in text for name in (ROTOR, *said))]
    return Robot(remade, threads=robot.threads, told=(*robot.warnings, *told))


def _freed(joint: Joint) -> Joint:
    plain = Drive()
    return replace(joint, drive=replace(joint.drive, rotor_inertia=plain.rotor_inertia, gear_ratio=plain.gear_ratio))


def _placed(joint: Joint, rotor: Rotor, links: Mapping[str, Link]) -> tuple[str, Link, Joint]:
    """(carrier, rotor body, the mimic joint that spins it). The rotor's frame is the carrier's, moved to its place."""
    carrier = joint.parent if rotor.carrier is None else rotor.carrier
    choose("link", carrier, links)
    T = to_pose(joint.origin)
    own = carrier == joint.parent
    if not own and (rotor.axis is None or rotor.position is None):
        raise InputError(
            f"the rotor of joint {joint.name!r} sits on link {carrier!r}, away from the joint: "
            "say its axis and position there"
        )
    axis = _unit(matvec(T.R, joint.axis) if rotor.axis is None else rotor.axis, joint.name)
    position = three(f"the position of the rotor of {joint.name!r}", rotor.position or T.p)
    name = f"{joint.name}{ROTOR}"
    body = Link(name, Inertial(float(rotor.mass), _symmetric(axis, rotor)))
    follower = Joint(
        name, "continuous", carrier, name, Origin(position), axis, mimic=Mimic(joint.name, float(rotor.ratio))
    )
    return carrier, body, follower


def _unit(axis: object, name: str) -> Vector:
    x, y, z = three(f"the axis of the rotor of joint {name!r}", axis)
    size = (x * x + y * y + z * z) ** 0.5
    if not size > 1e-9:
        raise InputError(f"the axis of the rotor of joint {name!r} is {axis!r}, which has no direction")
    return (x / size, y / size, z / size)


def _symmetric(a: Vector, rotor: Rotor) -> tuple[float, float, float, float, float, float]:
    """J_t 1 + (J_m − J_t) a aᵀ."""
    across = rotor.transverse or 0.0
    more = rotor.inertia - across

    def entry(i: int, j: int) -> float:
        return float((across if i == j else 0.0) + more * a[i] * a[j])

    return (entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2))


def _lower(links: dict[str, Link], d: Description, carrier: str, body: Link, follower: Joint, name: str) -> None:
    """Take the rotor out of the carrier that holds it as a part at rest: out of the first link with an inertia, from
    the carrier down along fixed joints. What is fixed to the base does not move, and nothing needs to be taken
    out."""
    above = {joint.child: joint for joint in d.joints}
    link, T = carrier, Pose()
    while links[link].inertial is None and link in above and above[link].kind == "fixed":
        T = to_pose(above[link].origin) @ T
        link = above[link].parent
    base = link
    while base in above and above[base].kind == "fixed":
        base = above[base].parent
    if base not in above:
        return
    held, part = links[link].inertial, body.inertial
    if held is None or part is None:
        raise InputError(
            f"link {carrier!r} has no inertia that could hold the rotor of joint {name!r}: give it included=False"
        )
    six = tuple(-x for x in part.inertia)
    negative = Inertial(-part.mass, (six[0], six[1], six[2], six[3], six[4], six[5]), follower.origin)
    rest = lump([held, moved_inertial(T, negative) or negative])
    if rest is None or rest.mass < 0:
        raise InputError(f"the rotor of joint {name!r} is heavier than link {link!r}, which is said to hold it")
    links[link] = replace(links[link], inertial=rest)


__all__ = ["ROTOR", "Rotor", "has_rotors", "rotors_of", "with_rotors", "without_rotors"]
