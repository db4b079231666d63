"""A linkage in plain numbers, link by link: what the independent reference is computed from.

It shares no code with the model that the algorithms run on: fixed links stay links with their own mass, an inertia
stays in the axes it was written in, rotations are made here. One part is one link and the joint that holds it:

    T_link = T_parent · before · E(x) · after,   E the joint's own motion at its position x = multiplier · q + offset.

`after` is what a standard DH row puts behind its joint; otherwise it is the identity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.describe.description import Description, Drive, Inertial, Limit
from dalembert.friction.laws import Friction

Array = NDArray[Any]  # float, or complex where a derivative is taken by a complex step
Three = tuple[float, float, float]
Six = tuple[float, float, float, float, float, float]
if TYPE_CHECKING:
    from dalembert.trust.verify.reread import WrittenTable

ZERO: Three = (0.0, 0.0, 0.0)
UNITS: tuple[Three, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
NARROW = 1e-6  # [rad or m] a joint that may move no further than this is moved by ±1 all the same
LIMITS = ("lower", "upper", "effort", "velocity")
UNLIMITED = 1e9  # a limit from here on is none
LINK_FIELDS = ("mass", "com", "inertia", "inertial_rpy")
RESISTING = ("damping", "coulomb", "coulomb_width", "stiffness", "rest", "friction")  # alike in a part and a `Drive`
JOINT_FIELDS = ("kind", "before", "axis", "multiplier", "offset", "rotor", "gear", *RESISTING, *LIMITS)
FEW = 8  # states for what costs much more than the rest: derivatives, symbols, faults


@dataclass(frozen=True)
class LinkData:
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
    coulomb_width: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    friction: tuple[Friction, ...] = ()
    lower: float = -math.inf  # of the joint's own position, as written
    upper: float = math.inf
    effort: float = math.inf
    velocity: float = math.inf
    frame: bool = True


@dataclass(frozen=True)
class Linkage:
    """Parts in an order in which parents come first, gravity in the root's frame; the DH table it came from, if any."""

    parts: tuple[LinkData, ...]
    gravity: Three = (0.0, 0.0, -9.81)
    table: WrittenTable | None = None

    @cached_property
    def movers(self) -> tuple[int, ...]:
        """The parts whose joint moves, mimic ones included."""
        return tuple(i for i, part in enumerate(self.parts) if part.kind != "fixed")

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """The independent joints, in the order of the tree."""
        return tuple(p.joint for p in self.parts if p.kind != "fixed" and p.follows is None)

    def follow(self, part: LinkData) -> tuple[str, float, float]:
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
        written = np.array([rows[name] for name in self.coordinates]).reshape(-1, 4)
        return np.where(np.abs(written) >= UNLIMITED, (-math.inf, math.inf, math.inf, math.inf), written)

    def with_parts(self, changed: Mapping[int, LinkData]) -> Linkage:
        return replace(self, parts=tuple(changed.get(i, p) for i, p in enumerate(self.parts)))


def order_parts(
    parts: Sequence[LinkData], parents: Mapping[str, str], gravity: Three, table: WrittenTable | None = None
) -> Linkage:
    """A linkage of parts in any order, `parents` naming each link's parent: depth first, children in file order, so
    that the coordinates come in the order that Dalembert's model has them in."""
    children: dict[str | None, list[LinkData]] = {}
    for part in parts:
        children.setdefault(parents.get(part.link), []).append(part)
    ordered: list[LinkData] = []
    index: dict[str, int] = {}
    stack = list(reversed(children.get(None, [])))
    while stack:
        part = stack.pop()
        index[part.link] = len(ordered)
        ordered.append(replace(part, parent=index.get(parents.get(part.link, ""), -1)))
        stack.extend(reversed(children.get(part.link, [])))
    return Linkage(tuple(ordered), gravity, table=table)


def linkage_of(description: Description) -> Linkage:
    """The linkage that a description writes down. Loops are left open: what is compared are the terms of the tree."""
    joint_of = {joint.child: joint for joint in description.joints}
    order = {child: k for k, child in enumerate(joint_of)}
    parts, parents = [], {}
    for link in sorted(description.links, key=lambda link: order.get(link.name, -1)):  # as a tree is walked
        part = LinkData(link.name, **inertial_fields(link.inertial))
        joint = joint_of.get(link.name)
        if joint is not None:
            parents[link.name] = joint.parent
            mimic = joint.mimic
            part = replace(
                part,
                joint=joint.name,
                kind={"continuous": "revolute"}.get(joint.kind, joint.kind),
                before=((three(joint.origin.xyz), three(joint.origin.rpy)),),
                axis=three(joint.axis),
                pitch=joint.pitch,
                **drive_fields(joint.drive, joint.limit),
            )
            if mimic is not None:
                part = replace(part, follows=mimic.joint, multiplier=mimic.multiplier, offset=mimic.offset)
        parts.append(part)
    return order_parts(parts, parents, three(description.gravity))


def inertial_fields(inertial: Inertial | None) -> dict[str, Any]:
    """What is written of a link's inertia, as fields of a part."""
    if inertial is None:
        return {}
    com, rpy = three(inertial.origin.xyz), three(inertial.origin.rpy)
    return {"mass": inertial.mass, "com": com, "inertia": inertial.inertia, "inertial_rpy": rpy}


def drive_fields(drive: Drive, limit: Limit | None) -> dict[str, Any]:
    """What is written of a joint's drive and limits, as fields of a part."""
    given = {name: None if limit is None else getattr(limit, name) for name in LIMITS}
    return {
        "rotor": drive.rotor_inertia,
        "gear": drive.gear_ratio,
        **{name: getattr(drive, name) for name in RESISTING},
        **{name: float(value) for name, value in given.items() if value is not None},
    }


def three(x: Iterable[float]) -> Three:
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
def multiply_poses(poses: tuple[tuple[Three, Three], ...]) -> Array:
    """4×4 of a string of (xyz, rpy). Not to be written to: it is kept."""
    T = np.eye(4)
    for xyz, rpy in poses:
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = rotation(rpy), xyz
        T = T @ step
    return T


def scale_inertia(part: LinkData, mass: float = 1.0, inertia: float = 1.0) -> LinkData:
    """The part with its mass and its inertia multiplied."""
    xx, xy, xz, yy, yz, zz = (inertia * x for x in part.inertia)
    return replace(part, mass=mass * part.mass, inertia=(xx, xy, xz, yy, yz, zz))


def tensor(six: Six) -> Array:
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@lru_cache(maxsize=4096)
def second_moments(part: LinkData) -> Array:
    """J = ∫ r rᵀ dm over the link with r = (x, y, z, 1) in its frame, 4×4: its kinetic energy is ½ tr(Ṫ J Ṫᵀ). Not to
    be written to: it is kept."""
    R, m, c = rotation(part.inertial_rpy), part.mass, np.array(part.com)
    I = R @ tensor(part.inertia) @ R.T
    J = np.zeros((4, 4))
    J[:3, :3] = 0.5 * np.trace(I) * np.eye(3) - I + m * np.outer(c, c)
    J[:3, 3] = J[3, :3] = m * c
    J[3, 3] = m
    return J


# the states at which everything is compared


@dataclass(frozen=True)
class States:
    """q, q̇, q̈ (S, n); τ is what the reference needs for them. The first of every four states is at rest, the second
    has no velocity, the third no acceleration: where two ways part only in some of them, that says which term it is."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def __len__(self) -> int:
        return len(self.q)

    @cached_property
    def few(self) -> States:
        """The first states, at most FEW."""
        return self if len(self) <= FEW else States(*(x[:FEW] for x in (self.q, self.qd, self.qdd, self.tau)))

    @property
    def moving(self) -> Array:
        return np.asarray(self.qd.any(axis=-1))

    @property
    def accelerated(self) -> Array:
        return np.asarray(self.qdd.any(axis=-1))


def find_confined(m: Linkage) -> tuple[str, ...]:
    """The coordinates whose limits leave them no room to move in."""
    return tuple(name for name, x in zip(m.coordinates, m.limits, strict=True) if x[1] - x[0] <= NARROW)


def draw_states(m: Linkage, count: int, seed: int) -> States:
    """Positions evenly within the limits as written (±π or ±1 m where there are none, ±1 about the middle where they
    leave no room), rates within a third of the velocity limits (±1 where there are none), accelerations of order one;
    τ is zero as yet."""
    rng = np.random.default_rng(seed)
    kinds = {p.joint: p.kind for p in m.parts}
    ranges = [_range(x[0], x[1], kinds[name]) for name, x in zip(m.coordinates, m.limits, strict=True)]
    lower, upper = np.array(ranges).reshape(-1, 2).T
    q = rng.uniform(lower, upper, (count, len(ranges)))
    velocity = m.limits[:, 3]
    fastest = np.where(np.isfinite(velocity), velocity / 3.0, 1.0)
    fastest = np.where(fastest > 0, np.minimum(fastest, 3.0), 1.0)
    qd = rng.uniform(-1.0, 1.0, q.shape) * fastest
    qdd = rng.uniform(-2.0, 2.0, q.shape)
    turn = np.arange(count) % 4
    qd[(turn == 0) | (turn == 1)] = 0.0
    qdd[(turn == 0) | (turn == 2)] = 0.0
    return States(q, qd, qdd, np.zeros_like(q))


def _range(lower: float, upper: float, kind: str) -> tuple[float, float]:
    if upper - lower <= NARROW:
        middle = lower if np.isfinite(lower) and abs(lower) < 1e6 else 0.0
        return middle - 1.0, middle + 1.0
    free = 1.0 if kind == "prismatic" else np.pi
    low = lower if np.isfinite(lower) else min(-free, upper - 2.0 * free)
    return low, upper if np.isfinite(upper) else max(free, low + 2.0 * free)


def reorder(states: States, names: tuple[str, ...], others: tuple[str, ...]) -> States:
    """The same states of coordinates in another order."""
    place = [names.index(name) for name in others]
    return States(*(x[:, place] for x in (states.q, states.qd, states.qdd, states.tau)))


# numbers of two linkages beside each other


def same_value(x: object, y: object) -> bool:
    """As numbers, or, of what is no number, as it is."""
    if isinstance(x, str) or _has_laws(x) or _has_laws(y):
        return bool(x == y)
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=1e-15)


def _has_laws(x: object) -> bool:
    return isinstance(x, tuple) and any(isinstance(term, Friction) for term in x)


def show_value(x: object) -> str:
    if isinstance(x, str):
        return x
    if isinstance(x, tuple) and (not x or _has_laws(x)):
        return ", ".join(term.law for term in x) or "none"
    flat = [f"{v:.6g}" for v in np.ravel(np.asarray(x, dtype=float))]
    return flat[0] if len(flat) == 1 else f"({', '.join(flat)})"
