"""Bodies without mass, and joints that move nothing: the mass matrix is singular there, and nobody sees why.

A missing inertial is zero by the URDF standard, and tool frames, flanges and sensor mounts use that on
purpose. It only matters where a moving joint's own body has no mass, or nothing behind the joint resists.
"""

from __future__ import annotations

from dalembert.caching import cached_property
from dalembert.describe.chain import spatial_inertia
from dalembert.describe.description import Description, Joint, Link
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.vector import dot, matvec

# Of the inertia that a joint carries: below it is nothing but the rounding of axes and centers of mass.
NOTHING = 1e-13


def motionless(d: Description) -> list[str]:
    """At most two sentences: the moving links that have no mass, and the joints that nothing resists."""
    if weightless(d):
        return [
            f"no link of robot {d.name!r} has mass: kinematics work, while its mass matrix is zero and "
            "forward dynamics undefined; give inertials to use them"
        ]
    return [*_light_sentence(light_links(d)), *_free_sentence(free_joints(d))]


def weightless(d: Description) -> bool:
    """Whether joints move and nothing has mass, no rotor either."""
    moving = _moving(d)
    return bool(moving) and all(_massless(link) for link in d.links) and not any(_rotor(j) for j in moving)


def light_links(d: Description) -> list[str]:
    """The links that a joint moves and that, with all that is fixed to them, have no mass."""
    tree = _Tree(d)
    # Between the joints of one body of MJCF the reader puts links, body/joint, to which nobody can give a mass.
    written = [joint for joint in _moving(d) if not joint.child.endswith(f"/{joint.name}")]
    return [joint.child for joint in written if tree.body_is_massless(joint.child)]


def free_joints(d: Description) -> list[str]:
    """The joints that nothing resists. A mimic is no coordinate, and what it carries is its master's load."""
    tree, moving = _Tree(d), _moving(d)
    coupled = {joint.mimic.joint for joint in moving if joint.mimic}
    own = [joint for joint in moving if joint.mimic is None and joint.name not in coupled]
    return [joint.name for joint in own if not _rotor(joint) and tree.resists_nothing(joint)]


def _moving(d: Description) -> list[Joint]:
    return [joint for joint in d.joints if joint.kind != "fixed"]


def _light_sentence(links: list[str]) -> list[str]:
    if not links:
        return []
    names = ", ".join(repr(name) for name in links)
    which = f"link {names} is" if len(links) == 1 else f"links {names} are"
    return [
        f"{which} moved and without mass, and so is all that is fixed there (a missing inertial is zero): "
        "the dynamics leave it out; give an inertial if it weighs anything"
    ]


def _free_sentence(joints: list[str]) -> list[str]:
    if not joints:
        return []
    names = ", ".join(repr(name) for name in joints)
    which = f"joint {names} moves" if len(joints) == 1 else f"joints {names} move"
    return [
        f"{which} nothing with inertia about or along the axis: the mass matrix is singular and forward "
        "dynamics undefined; give the links behind an inertial, or the joint a rotor inertia"
    ]


def _rotor(joint: Joint) -> bool:
    return joint.drive.rotor_inertia > 0


def _massless(link: Link) -> bool:
    inertial = link.inertial
    return inertial is None or (inertial.mass == 0 and not any(inertial.inertia))


def generic(i: int) -> float:
    """A position for the i-th joint [rad or m] that is special for no mechanism."""
    return 0.4 + (i + 1) * 0.6180339887498949 % 1.0


class _Tree:
    """Links by name and joints by parent. No recursion: a chain may be longer than Python's stack."""

    def __init__(self, d: Description) -> None:
        self._links = {link.name: link for link in d.links}
        self._below: dict[str, list[Joint]] = {link.name: [] for link in d.links}
        for joint in d.joints:
            self._below[joint.parent].append(joint)
        self._description = d

    def body_is_massless(self, root: str) -> bool:
        """Whether the link and all that is fixed to it has no mass and no inertia."""
        return all(_massless(self._links[name]) for name in self._body(root))

    def resists_nothing(self, joint: Joint) -> bool:
        """Whether no inertia about (or mass along) the axis follows the joint, wherever the joints behind it stand."""
        total, moving = self._carried[joint.child], joint.motion()
        size = max(abs(x) for row in total.I for x in row)
        if not moving.direct:
            felt = [abs(S.dot(total.momentum(S))) for S in moving.subspace(())]
            return any(x <= (NOTHING * size if u == "rad" else 0.0) for x, u in zip(felt, moving.units, strict=True))
        if moving.travel and total.m != 0.0:
            return False
        about_axis = dot(joint.axis, matvec(total.I, joint.axis))
        return not joint.turns or bool(abs(about_axis) <= NOTHING * size)

    @cached_property
    def _carried(self) -> dict[str, Inertia]:
        """Of each link, itself and all that it carries, in its frame: the joints at positions that are not special,
        where an inertia is zero only if it is so everywhere."""
        inertials = {name: link.inertial for name, link in self._links.items()}
        total = {name: Inertia() if i is None else spatial_inertia(i) for name, i in inertials.items()}
        joints = self._description.joints
        children = {joint.child for joint in joints}
        order = [joint for joint in joints if joint.parent not in children]
        for joint in order:  # grows as it goes: parents first
            order += self._below[joint.child]
        for i, joint in reversed(list(enumerate(order))):
            total[joint.parent] += total[joint.child].to_parent(_pose(joint, generic(i)))
        return total

    def _body(self, root: str) -> list[str]:
        """The link `root` and all that is fixed to it."""
        found = [root]
        for name in found:
            found += [joint.child for joint in self._below[name] if joint.kind == "fixed"]
        return found


def _pose(joint: Joint, x: float) -> Pose:
    """The child's frame in the parent's, the joint at x."""
    T = Pose.from_origin(joint.origin.xyz, joint.origin.rpy)
    if joint.kind == "fixed":
        return T
    moving = joint.motion()
    return moving.pose(T, moving.normalize([x * (k + 1) for k in range(moving.nq)]))
