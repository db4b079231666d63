"""What every kind of joint answers, and nothing else about joints is asked anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from dalembert.spatial import Force, Inertia, Motion, Pose
from dalembert.spatial.vector import Scalar, Vector

EFFORT_UNIT = {"rad": "N m", "m": "N"}  # what does work along a coordinate of that unit


@dataclass(frozen=True)
class Joint(ABC):
    """How a body may move against its parent: final subclasses are kinds, their objects single joints.

    A joint has `nq` positions q and `nv` rates v; numbers go in and out as sequences of these lengths. `axis` is a unit
    vector in the joint's frame. Further numbers of a kind are read from fields of the same name of a description's
    joint. Where q̇ = v (`direct`), positions are added to; elsewhere a step d (nv) leads from q to q ⊕ d, the pose
    T(q) exp(S d), along a twist that the body keeps in its own frame.
    """

    kind: ClassVar[str]  # its name in files and messages
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    direct: ClassVar[bool] = True  # whether q̇ = v
    driven: ClassVar[bool] = True  # whether a drive acts along its coordinates
    units: ClassVar[tuple[str, ...]]  # of the nv coordinates: "rad" or "m"
    position_units: ClassVar[tuple[str, ...] | None] = None  # of the nq positions, where they are others; "" for none
    # What follows the joint's name in those of its positions, rates and efforts.
    position_names: ClassVar[tuple[str, ...]] = ("",)
    rate_names: ClassVar[tuple[str, ...]] = ("_rate",)
    effort_names: ClassVar[tuple[str, ...]] = ("_torque",)
    neutral: ClassVar[tuple[float, ...]] = (0.0,)  # the positions at which the body's frame is the joint's placement
    quaternion: ClassVar[int | None] = None  # where a unit quaternion begins among its positions
    # What its pose is made of, in equations, for each of its positions: sine and cosine of it, or the position itself.
    symbols: ClassVar[tuple[tuple[str, ...], ...]]
    turns: ClassVar[bool]  # whether its position is an angle
    periodic: ClassVar[bool]  # whether a full turn brings the body back
    half_range: ClassVar[float]  # how far to either side it is looked at where it has no limits, in its unit
    numbers: ClassVar[dict[str, tuple[str, str]]] = {}  # fields beside the axis: the letter and the unit of each

    axis: Vector

    @property
    def unit(self) -> str:
        """Of its position, and of the limits of it: "rad" or "m"."""
        return self.units[0]

    @property
    def effort_unit(self) -> str:
        """Of what drives it: "N m" or "N"."""
        return EFFORT_UNIT[self.unit]

    def over(self, convert: Callable[[Scalar], Scalar]) -> Self:
        """The same joint with its numbers, the axis among them, converted to another scalar."""
        converted = {name: convert(getattr(self, name)) for name in self.numbers}
        return replace(self, axis=tuple(convert(x) for x in self.axis), **converted)

    @property
    @abstractmethod
    def travel(self) -> float:
        """How far the body moves along the axis per unit of position [m/rad, or 1]; zero where it only turns."""

    @abstractmethod
    def pose(self, placement: Pose, q: Sequence[Scalar]) -> Pose:
        """The body's frame at positions q (nq), where at `neutral` it is `placement`."""

    @abstractmethod
    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S (nv columns): the body's twist against its parent at unit rates, in the body's frame, constant there."""

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """q̇ (nq) at rates v (nv)."""
        return tuple(v)

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """q ⊕ d: the positions after a step of rate times time (nv), a sum where q̇ = v."""
        return tuple(x + dx for x, dx in zip(q, step, strict=True))

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """d (nv) with q0 ⊕ d = q1, the shortest."""
        return tuple(b - a for a, b in zip(q0, q1, strict=True))

    def normalize(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The positions with their quaternion, if they have one, brought to length one."""
        return tuple(q)

    def bracket(self, a: Sequence[Scalar], b: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """[a, b] (nv) of two tangent vectors: S [a, b] = (S a) × (S b). None where q̇ = v."""
        return (0.0,) * self.nv

    def coadjoint(self, d: Sequence[Scalar], p: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """ad_dᵀ p (nv) of a momentum p: its work on a tangent vector e is that of p on [d, e]. None where q̇ = v."""
        return (0.0,) * self.nv

    def carry(self, d: Sequence[Scalar], p: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Ad_exp(d)ᵀ p (nv): a momentum p of the body at q, seen in its axes at q ⊕ d. p itself where q̇ = v."""
        return tuple(p)

    @abstractmethod
    def share(self, inertia: Inertia) -> tuple[Inertia, Inertia]:
        """(what the body keeps, what its parent may carry): the part of an inertia that this joint cannot tell from
        the same part fixed to the parent's side, at zero. The axis is one of x, y, z."""


@dataclass(frozen=True)
class Free(Joint):
    """A joint of several coordinates, that no drive moves: its velocity is the body's own, in the body's axes."""

    direct = False
    driven = False
    turns = False
    periodic = False
    half_range = 1.0

    @property
    def travel(self) -> float:
        return 1.0

    def share(self, inertia: Inertia) -> tuple[Inertia, Inertia]:
        """All of it is kept."""
        return inertia, Inertia()

    def bracket(self, a: Sequence[Scalar], b: Sequence[Scalar]) -> tuple[Scalar, ...]:
        S = self.subspace(())
        A, B = combine(S, a), combine(S, b)
        C = A.cross(B)
        return tuple(column.dot(Force(C.v, C.w)) for column in S)  # the columns are orthonormal

    def coadjoint(self, d: Sequence[Scalar], p: Sequence[Scalar]) -> tuple[Scalar, ...]:
        S = self.subspace(())
        turned = combine(S, d).cross_force(_wrench(S, p))
        return tuple(-column.dot(turned) for column in S)

    def carry(self, d: Sequence[Scalar], p: Sequence[Scalar]) -> tuple[Scalar, ...]:
        S = self.subspace(())
        carried = _wrench(S, p).to_child(self.pose(Pose(), self.integrate(self.neutral, d)))
        return tuple(column.dot(carried) for column in S)


def _wrench(S: Sequence[Motion], p: Sequence[Scalar]) -> Force:
    """The wrench that columns, which are orthonormal, feel as p."""
    total = combine(S, p)
    return Force(total.v, total.w)


def combine(S: Sequence[Motion], v: Sequence[Scalar]) -> Motion:
    """S v: the twist of columns at given rates."""
    total = S[0].scaled(v[0])
    for column, x in zip(S[1:], v[1:], strict=True):
        total = total + column.scaled(x)
    return total
