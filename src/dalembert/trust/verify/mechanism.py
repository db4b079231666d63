"""A mechanism in plain numbers, link by link: what the independent reference is computed from.

It shares no code with the model that the algorithms run on: fixed links stay links with their own mass, an inertia
stays in the axes it was written in, rotations are made here. One part is one link and the joint that holds it:

    T_link = T_parent · before · E(x) · after,   E the joint's own motion at its position x = multiplier · q + offset.

`after` is what a standard DH row puts behind its joint; otherwise it is the identity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.describe.description import Description, Limit
from dalembert.friction.laws import Friction

Array = NDArray[Any]  # float, or complex where a derivative is taken by a complex step
Three = tuple[float, float, float]
Six = tuple[float, float, float, float, float, float]
ZERO: Three = (0.0, 0.0, 0.0)
UNITS: tuple[Three, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Part:
    """One link, its inertial as written (inertia about the center of mass, in axes turned by `inertial_rpy`), and the
    joint that holds it. `frame` says whether the link's frame is the one that others call by its name."""

    link: str
    joint: str = ""
    kind: str = "fixed"  # "revolute", "prismatic", "helical", "fixed"
    parent: int = -1
    before: tuple[tuple[Three, Three], ...] = ()  # (xyz, rpy), multiplied in this order
    after: tuple[tuple[Three, Three], ...] = ()
    axis: Three = (1.0, 0.0, 0.0)
    pitch: float = 0.0  # of a helical joint
    mass: float = 0.0
    com: Three = ZERO
    inertia: Six = (0.0,) * 6
    inertial_rpy: Three = ZERO
    follows: str | None = None  # the joint this one mimics
    multiplier: float = 1.0
    offset: float = 0.0
    rotor: float = 0.0  # J_m before the gear
    gear: float = 1.0
    damping: float = 0.0
    coulomb: tuple[float, float] = (0.0, 0.0)
    stiffness: float = 0.0
    rest: float = 0.0
    friction: tuple[Friction, ...] = ()
    lower: float = -math.inf  # of the joint's own position, as written
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf
    frame: bool = True


@dataclass(frozen=True)
class Mechanism:
    """Parts in an order in which parents come first, gravity in the root's frame; the DH table it came from, if any."""

    parts: tuple[Part, ...]
    gravity: Three = (0.0, 0.0, -9.81)
    coriolis: float = 2.0  # the factor of 2 ω × v of sliding joints: a fault may have another
    table: Any = None  # a `reread.Table`

    @cached_property
    def movers(self) -> tuple[int, ...]:
        """The parts whose joint moves, mimic ones included."""
        return tuple(i for i, part in enumerate(self.parts) if part.kind != "fixed")

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """The independent joints, in the order of the tree."""
        return tuple(p.joint for p in self.parts if p.kind != "fixed" and p.follows is None)

    def follow(self, part: Part) -> tuple[str, float, float]:
        """(coordinate, multiplier, offset) of a joint's position, through a chain of mimics if need be."""
        by_name = {p.joint: p for p in self.parts if p.joint}
        multiplier, offset, master = 1.0, 0.0, part
        while master.follows is not None:
            offset += multiplier * master.offset
            multiplier *= master.multiplier
            master = by_name[master.follows]
        return master.joint, multiplier, offset

    @cached_property
    def paths(self) -> list[tuple[int, ...]]:
        """For every part, the parts on its path whose joint moves, its own included."""
        paths: list[tuple[int, ...]] = []
        for i, part in enumerate(self.parts):
            before = paths[part.parent] if part.parent >= 0 else ()
            paths.append((*before, i) if part.kind != "fixed" else before)
        return paths

    @cached_property
    def limits(self) -> Array:
        """(lower, upper, effort, velocity) of every coordinate, (n, 4). A joint that follows keeps its own limits too,
        one after the other by name, unless they leave nothing of its master's range, or a single position of it."""
        rows = {p.joint: [p.lower, p.upper, p.effort, p.velocity] for p in self.parts if p.joint in self.coordinates}
        followers = [self.parts[j] for j in self.movers if self.parts[j].follows is not None]
        for part in sorted(followers, key=lambda p: p.joint):
            master, multiplier, offset = self.follow(part)
            if multiplier:
                low, high = sorted((x - offset) / multiplier for x in (part.lower, part.upper))
                low, high = max(low, rows[master][0]), min(high, rows[master][1])
                width = rows[master][1] - rows[master][0]
                nothing = 1e-9 * width if math.isfinite(width) else 0.0
                if high > low + nothing or (high >= low and width <= 0):
                    rows[master][:2] = low, high
        return np.array([rows[name] for name in self.coordinates]).reshape(-1, 4)

    def with_parts(self, changed: Mapping[int, Part]) -> Mechanism:
        return replace(self, parts=tuple(changed.get(i, p) for i, p in enumerate(self.parts)))


def in_order(parts: Sequence[Part], parents: Mapping[str, str], gravity: Three, table: Any = None) -> Mechanism:
    """A mechanism of parts in any order, `parents` naming each link's parent: depth first, children in file order, so
    that the coordinates come in the order that Dalembert's model has them in."""
    children: dict[str | None, list[Part]] = {}
    for part in parts:
        children.setdefault(parents.get(part.link), []).append(part)
    ordered: list[Part] = []
    index: dict[str, int] = {}
    stack = list(reversed(children.get(None, [])))
    while stack:
        part = stack.pop()
        index[part.link] = len(ordered)
        ordered.append(replace(part, parent=index.get(parents.get(part.link, ""), -1)))
        stack.extend(reversed(children.get(part.link, [])))
    return Mechanism(tuple(ordered), gravity, table=table)


def of_description(description: Description) -> Mechanism:
    """The mechanism that a description writes down. Loops are left open: what is compared are the terms of the tree."""
    joint_of = {joint.child: joint for joint in description.joints}
    joints_first = {joint.child: k for k, joint in enumerate(description.joints)}
    parts, parents = [], {}
    # children in the order of the joints, as a tree is walked
    for link in sorted(description.links, key=lambda link: joints_first.get(link.name, -1)):
        part = Part(link.name)
        if link.inertial is not None:
            i = link.inertial
            part = replace(
                part, mass=i.mass, com=_three(i.origin.xyz), inertia=i.inertia, inertial_rpy=_three(i.origin.rpy)
            )
        joint = joint_of.get(link.name)
        if joint is not None:
            parents[link.name] = joint.parent
            drive, mimic = joint.drive, joint.mimic
            part = replace(
                part,
                joint=joint.name,
                kind={"continuous": "revolute"}.get(joint.kind, joint.kind),
                before=((_three(joint.origin.xyz), _three(joint.origin.rpy)),),
                axis=_three(joint.axis),
                pitch=joint.pitch,
                rotor=drive.rotor_inertia,
                gear=drive.gear_ratio,
                damping=drive.damping,
                coulomb=drive.coulomb,
                stiffness=drive.stiffness,
                rest=drive.rest,
                friction=drive.friction,
                **limited(joint.limit),
                **({} if mimic is None else _mimic(mimic.joint, mimic.multiplier, mimic.offset)),
            )
        parts.append(part)
    return in_order(parts, parents, _three(description.gravity))


def limited(limit: Limit | None) -> dict[str, Any]:
    """The limits that are written, as fields of a part."""
    if limit is None:
        return {}
    given = {name: getattr(limit, name) for name in ("lower", "upper", "effort", "velocity")}
    return {name: float(value) for name, value in given.items() if value is not None}


def _mimic(joint: str, multiplier: float, offset: float) -> dict[str, Any]:
    return {"follows": joint, "multiplier": multiplier, "offset": offset}


def _three(x: Sequence[float]) -> Three:
    a, b, c = (float(v) for v in x)
    return a, b, c


# 4×4 matrices, written out here so that no fault of the library's own is shared


def turn(axis: Sequence[float], sine: Array | float, cosine: Array | float) -> Array:
    """R = 1 + s [a] + (1 − c) [a]², (..., 3, 3)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.asarray(sine)[..., None, None], np.asarray(cosine)[..., None, None]
    return np.eye(3) + s * cross + (1.0 - c) * (cross @ cross)


def rotation(rpy: Sequence[float]) -> Array:
    """3×3 of URDF's angles: Rz(yaw) Ry(pitch) Rx(roll)."""
    x, y, z = (turn(a, np.sin(t), np.cos(t)) for a, t in zip(UNITS, rpy, strict=True))
    return z @ y @ x


def angles(R: Array) -> Three:
    """The roll, pitch and yaw of a rotation; yaw 0 where they are not unique."""
    across = float(np.hypot(R[0, 0], R[1, 0]))
    pitch = float(np.arctan2(-R[2, 0], across))
    if across < 1e-9:
        return float(np.arctan2(-R[1, 2], R[1, 1])), pitch, 0.0
    return float(np.arctan2(R[2, 1], R[2, 2])), pitch, float(np.arctan2(R[1, 0], R[0, 0]))


@lru_cache(maxsize=4096)
def placed(poses: tuple[tuple[Three, Three], ...]) -> Array:
    """4×4 of a string of (xyz, rpy). Not to be written to: it is kept."""
    T = np.eye(4)
    for xyz, rpy in poses:
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = rotation(rpy), xyz
        T = T @ step
    return T


def heavier(part: Part, mass: float = 1.0, inertia: float = 1.0) -> Part:
    """The part with its mass and its inertia multiplied."""
    xx, xy, xz, yy, yz, zz = (inertia * x for x in part.inertia)
    return replace(part, mass=mass * part.mass, inertia=(xx, xy, xz, yy, yz, zz))


def tensor(six: Six) -> Array:
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@lru_cache(maxsize=4096)
def second_moments(part: Part) -> Array:
    """J = ∫ r rᵀ dm over the link with r = (x, y, z, 1) in its frame, 4×4: its kinetic energy is ½ tr(Ṫ J Ṫᵀ). Not to
    be written to: it is kept."""
    R, m, c = rotation(part.inertial_rpy), part.mass, np.array(part.com)
    I = R @ tensor(part.inertia) @ R.T
    J = np.zeros((4, 4))
    J[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I + m * np.outer(c, c)
    J[:3, 3] = J[3, :3] = m * c
    J[3, 3] = m
    return J
