"""A mechanism as algorithms see it: moving bodies in the order of a tree, and named frames on them.

Fixed joints are gone (their masses are lumped into the moving body that carries them, their links stay
as frames). Each moving body has one joint; its frame is the joint's frame, which moves with the body.
Mimic joints are bodies too, but not coordinates: several bodies may share one. A joint has one column of motion, or
several (a ball three, a free body six): q has nq entries, v has nv.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from dalembert.caching import cached_property
from dalembert.errors import InputError, unknown
from dalembert.friction.laws import Friction, Sides, depends_on_load, pieces
from dalembert.joints import Joint
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.vector import Vector

BASE = -1  # the parent of a body, or the carrier of a frame, that does not move


@dataclass(frozen=True)
class Body:
    """One moving body and the joint that moves it.

    `placement` is the joint's frame in the parent's frame at zero. Its rates are the joint.nv entries of v from
    `coordinate` on, its positions the joint.nq entries of q from `position` on; that of a joint of one coordinate is
    multiplier · q[position] + offset (1 and 0 but for mimic joints). `inertia` is about the joint frame's origin.
    `rotor_inertia` is N² J_m, on the joint's side. `friction` holds every term: damping and Coulomb friction are two
    of them.
    """

    name: str
    joint_name: str
    joint: Joint
    parent: int
    placement: Pose
    inertia: Inertia
    coordinate: int
    position: int
    multiplier: float = 1.0
    offset: float = 0.0
    rotor_inertia: float = 0.0
    friction: tuple[Friction, ...] = ()
    stiffness: float = 0.0
    rest: float = 0.0

    def friction_level(self, column: str) -> Sides:
        """The sum over all friction terms of the level of one regressor column, for each direction."""
        levels = [piece.level for term in self.friction for piece in pieces(term) if piece.column == column]
        return sum((x[0] for x in levels), 0.0), sum((x[1] for x in levels), 0.0)

    @property
    def damping(self) -> float:
        """The viscous coefficient of all terms, the mean of the two directions."""
        plus, minus = self.friction_level("viscous")
        return plus if plus == minus else 0.5 * (plus + minus)

    @property
    def coulomb(self) -> Sides:
        """The Coulomb level of all terms, for each direction."""
        return self.friction_level("coulomb")


@dataclass(frozen=True)
class Frame:
    """A named frame fixed on a body (or on the base)."""

    name: str
    body: int
    pose: Pose = Pose()


@dataclass(frozen=True)
class Loop:
    """What two frames on two bodies (one may be the base) keep to each other: a kind of `algorithms.relations`, with
    its axis in the first frame, and the length that kind "distance" keeps [m]."""

    name: str
    kind: str
    first: Frame
    second: Frame
    axis: Vector = (0.0, 0.0, 1.0)
    length: float | None = None


@dataclass(frozen=True)
class Coordinate:
    """An independent joint: its name, the joint itself, where its rates begin in v (`first`) and its positions in q
    (`position`), and limits in its units (±inf where there are none)."""

    name: str
    joint: Joint
    lower: float = -float("inf")
    upper: float = float("inf")
    effort: float = float("inf")
    velocity: float = float("inf")
    first: int = 0
    position: int = 0


@dataclass(frozen=True)
class Model:
    """Bodies in an order in which parents come first, coordinates, frames, gravity in the base frame."""

    name: str
    bodies: tuple[Body, ...]
    coordinates: tuple[Coordinate, ...]
    frames: tuple[Frame, ...]
    gravity: Vector = (0.0, 0.0, -9.81)
    tip: str | None = None
    tips: tuple[str, ...] = field(default=())  # what could be meant when `tip` is None
    loops: tuple[Loop, ...] = ()  # what closes the tree

    @property
    def n(self) -> int:
        """The length of q and of v, of a model in which q̇ = v; others are refused, in words. Whatever asks for n takes
        positions for a vector whose rates are the velocities."""
        if self.curved is not None:
            raise InputError("unsupported", "robot", problem=self._curved_sentence)
        return len(self.coordinates)

    @cached_property
    def nq(self) -> int:
        """The length of q."""
        return sum(c.joint.nq for c in self.coordinates)

    @cached_property
    def nv(self) -> int:
        """The length of v, accelerations and torques."""
        return sum(c.joint.nv for c in self.coordinates)

    @cached_property
    def curved(self) -> Coordinate | None:
        """The first joint of which q̇ is not v, if there is one."""
        return next((c for c in self.coordinates if not c.joint.direct), None)

    @property
    def _curved_sentence(self) -> str:
        c = self.curved
        assert c is not None
        return (
            f"{self.name!r} has the {c.joint.kind} joint {c.name!r}, whose positions are no vector with the velocities "
            f"for rates (nq = {self.nq}, nv = {self.nv}), and this needs one: kinematics, dynamics, their derivatives, "
            "equations and simulation are there for such robots, with integrate, difference and normalize for their "
            "positions"
        )

    @cached_property
    def quaternions(self) -> tuple[int, ...]:
        """Where unit quaternions begin in q."""
        return tuple(c.position + c.joint.quaternion for c in self.coordinates if c.joint.quaternion is not None)

    def names(self, of: str) -> tuple[str, ...]:
        """What the entries of a vector are called: of "position" (nq), "rate" or "effort" (nv), or of "coordinate"
        (nv), the joint's name where it has one."""
        if of == "coordinate":
            own = (("",) if c.joint.nv == 1 else c.joint.rate_names for c in self.coordinates)
        else:
            own = (getattr(c.joint, f"{of}_names") for c in self.coordinates)
        return tuple(f"{c.name}{part}" for c, parts in zip(self.coordinates, own, strict=True) for part in parts)

    @cached_property
    def drives(self) -> tuple[Coordinate, ...]:
        """The joints that a drive moves, of one coordinate each."""
        return tuple(c for c in self.coordinates if c.joint.driven)

    @cached_property
    def driven(self) -> tuple[bool, ...]:
        """Which entries of v a drive acts along."""
        return tuple(c.joint.driven for c in self.coordinates for _ in range(c.joint.nv))

    @cached_property
    def columns(self) -> tuple[range, ...]:
        """Where the columns of each body's joint stand among those of all bodies, mimic joints included."""
        starts = itertools.accumulate((b.joint.nv for b in self.bodies), initial=0)
        return tuple(range(k, k + b.joint.nv) for k, b in zip(starts, self.bodies, strict=False))

    @cached_property
    def parents(self) -> tuple[int, ...]:
        return tuple(body.parent for body in self.bodies)

    @cached_property
    def mimics(self) -> bool:
        """Whether some body shares its coordinate, or scales it."""
        return any(
            b.coordinate != own.start or b.multiplier != 1.0 or b.offset != 0.0
            for b, own in zip(self.bodies, self.columns, strict=True)
        )

    @cached_property
    def friction_by_load(self) -> bool:
        """Whether some joint's friction depends on the torque it transmits."""
        return any(depends_on_load(term) for body in self.bodies for term in body.friction)

    @cached_property
    def _frame_of(self) -> dict[str, Frame]:
        return {frame.name: frame for frame in self.frames}

    def frame(self, name: str | None = None) -> Frame:
        """The frame of that name; without a name, the tip."""
        if name is None:
            return self._default_frame()
        try:
            return self._frame_of[name]
        except (KeyError, TypeError):
            raise unknown("frame", name, self._frame_of) from None

    def _default_frame(self) -> Frame:
        if self.tip is not None:
            return self._frame_of[self.tip]
        choices = ", ".join(repr(t) for t in self.tips[:8]) + (", …" if len(self.tips) > 8 else "")
        problem = f"{self.name!r} has {len(self.tips)} possible tips ({choices})"
        remedy = "Choose one with frame=…, or for all calls with load(…, tip=…)."
        raise InputError("missing", "frame", problem=problem, remedy=remedy)

    def path(self, body: int) -> tuple[int, ...]:
        """The bodies from the base to this one, both ends included; empty for the base."""
        chain = []
        while body != BASE:
            chain.append(body)
            body = self.parents[body]
        return tuple(reversed(chain))
