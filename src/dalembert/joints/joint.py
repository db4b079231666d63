"""What every kind of joint answers, and nothing else about joints is asked anywhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from dalembert.spatial import Inertia, Motion, Pose
from dalembert.spatial.vector import Scalar, Vector

EFFORT_UNIT = {"rad": "N m", "m": "N"}  # what does work along a coordinate of that unit


@dataclass(frozen=True)
class Joint(ABC):
    """How a body may move against its parent: final subclasses are kinds, their objects single joints.

    A joint has `nq` positions and `nv` rates; numbers go in and out as sequences of these lengths, so that a kind with
    nq ≠ nv fits. `axis` is a unit vector in the joint's frame. Further numbers of a kind are read from fields of the
    same name of a description's joint.
    """

    kind: ClassVar[str]  # its name in files and messages
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    units: ClassVar[tuple[str, ...]]  # of the nv coordinates: "rad" or "m"
    symbols: ClassVar[tuple[str, ...]]  # what its pose is made of, in equations: sine, cosine, the position itself
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
        """The body's frame at positions q (nq), where at zero it is `placement`."""

    @abstractmethod
    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """S (nv columns): the body's twist against its parent at unit rates, in the body's frame."""

    def bias(self, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Motion:
        """Ṡ q̇ in the body's frame: none where S is constant there."""
        return Motion()

    def integrate(self, q: Sequence[Scalar], step: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The positions after a step of rate times time (nv): a sum where nq = nv."""
        return tuple(x + dx for x, dx in zip(q, step, strict=True))

    @abstractmethod
    def share(self, inertia: Inertia) -> tuple[Inertia, Inertia]:
        """(what the body keeps, what its parent may carry): the part of an inertia that this joint cannot tell from
        the same part fixed to the parent's side, at zero. The axis is one of x, y, z."""
