"""What a user says is held: frames to each other or to the world, joints to each other, or any function of q.

Frames and joints are named here and looked up when a system is made of them (`bind`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms import constraints, relations
from dalembert.arguments import array, number, three
from dalembert.errors import InputError, unknown
from dalembert.model import Frame, Model
from dalembert.spatial import Pose
from dalembert.spatial.rotation import basis

Origin = tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]  # rotation and position


class Constraint(ABC):
    """One constraint: a name, its rows, whether it restricts positions (holonomic) or rates alone."""

    name: str
    holonomic: bool = True

    @abstractmethod
    def bind(self, model: Model) -> constraints.Function:
        """The function of (model, q, q̇) that gives its terms."""

    @abstractmethod
    def rows(self, count: int) -> tuple[str, ...]:
        """Names of its rows."""


@dataclass(frozen=True)
class Hold(Constraint):
    """A frame held to another, or to the world, in one of the ways of `relations.RELATIONS`."""

    name: str
    kind: str
    frame: str | None
    to: str | None
    at: Origin
    point: Origin
    axis: tuple[float, float, float]
    length: float

    def bind(self, model: Model) -> constraints.FrameConstraint:
        relation = relations.RELATIONS[self.kind]
        second = _shifted(model.frame(self.frame), self.point)
        first = _shifted(Frame("world", -1) if self.to is None else model.frame(self.to), self.at)
        if first.body == second.body:
            raise InputError(
                "conflict",
                "frame",
                problem=f"constraint {self.name!r} holds frame {model.frame(self.frame).name!r} to what it is fixed to "
                "already",
            )
        axis = self.axis if relation.axis else (0.0, 0.0, 1.0)
        return constraints.FrameConstraint(relation, first, second, basis(axis), self.length)

    def rows(self, count: int) -> tuple[str, ...]:
        return relations.RELATIONS[self.kind].names


@dataclass(frozen=True)
class OwnLoop(Constraint):
    """A loop that the robot's own description closes."""

    name: str
    kind: str
    index: int

    def bind(self, model: Model) -> constraints.FrameConstraint:
        loop = model.loops[self.index]
        relation = relations.RELATIONS[self.kind]
        axis = loop.axis if relation.axis else (0.0, 0.0, 1.0)
        length = 1.0 if loop.length is None else loop.length
        return constraints.FrameConstraint(relation, loop.first, loop.second, basis(axis), length)

    def rows(self, count: int) -> tuple[str, ...]:
        return relations.RELATIONS[self.kind].names


@dataclass(frozen=True)
class Couple(Constraint):
    """Σ aⱼ qⱼ = value."""

    name: str
    factors: tuple[tuple[str, float], ...]
    value: float

    def bind(self, model: Model) -> constraints.Coupled:
        places = {c.name: c.position for c in model.coordinates if c.joint.nq == 1}
        for joint, _ in self.factors:
            if joint not in places:
                raise unknown("joint", joint, places)
        return constraints.Coupled(tuple((places[joint], a) for joint, a in self.factors), self.value)

    def rows(self, count: int) -> tuple[str, ...]:
        return ("coupling",)


@dataclass(frozen=True)
class OfCoordinates(Constraint):
    """A function of q, and of the poses of frames if any are named: φ(q) = 0, or rows A(q) of A q̇ = 0."""

    name: str
    function: Callable[..., Any]
    frames: tuple[str | None, ...]
    holonomic: bool = True

    def bind(self, model: Model) -> constraints.Function:
        make = constraints.HolonomicFunction if self.holonomic else constraints.PfaffianFunction
        return make(self.function, tuple(model.frame(frame) for frame in self.frames))

    def rows(self, count: int) -> tuple[str, ...]:
        return tuple(str(k) for k in range(count))


def hold(
    kind: str,
    frame: str | None = None,
    to: str | None = None,
    *,
    at: ArrayLike | None = None,
    point: ArrayLike | None = None,
    axis: Sequence[float] = (0.0, 0.0, 1.0),
    length: float | None = None,
    name: str | None = None,
) -> Hold:
    """Hold a frame (the tip) to another frame `to`, or to the world: "weld", "hinge", "ball", "slider", "cylinder",
    "plane", "line", "flush", "universal", "distance", "orientation".

    `at` places the first frame in `to` (or the world), `point` the second in `frame`: a pose (4, 4) or a position (3,).
    `axis` is in the first frame: what a hinge turns about, a slider or line runs along, a plane stands across; a
    universal joint's cross has this axis in the first frame and in the second the one after it (x for z, y for x, z
    for y).
    `length` is the distance of "distance". The multipliers of its rows are forces and moments that the second frame
    applies to the first, in the first frame's axes."""
    if kind not in relations.RELATIONS:
        raise unknown("kind of constraint", kind, relations.RELATIONS)
    relation = relations.RELATIONS[kind]
    direction = np.array(three("axis", axis))
    size = float(np.linalg.norm(direction))
    if size == 0.0:
        raise InputError("out-of-range", "axis", axis, problem="axis is zero: it must point somewhere")
    if (length is None) == relation.length:
        raise InputError(
            "conflict",
            "length",
            length,
            problem=f"{kind!r} {'needs length=, a number of meters' if relation.length else 'has no length'}",
        )
    meters = 1.0 if length is None else number("length", length, "m", above=0.0)
    x, y, z = (direction / size + 0.0).tolist()
    return Hold(name or kind, kind, frame, to, _origin("at", at), _origin("point", point), (x, y, z), meters)


def plane(point: Sequence[float], normal: Sequence[float], frame: str | None = None, *, name: str = "plane") -> Hold:
    """The frame's origin stays in the plane through a point of the world across `normal`; λ is the force against it."""
    return hold("plane", frame, at=three("point", point), axis=normal, name=name)


def channel(
    point: Sequence[float], direction: Sequence[float], frame: str | None = None, *, name: str = "channel"
) -> Hold:
    """The frame's origin stays on the line through a point of the world along `direction`."""
    return hold("line", frame, at=three("point", point), axis=direction, name=name)


def couple(factors: Mapping[str, float], value: float = 0.0, *, name: str = "couple") -> Couple:
    """Joints tied to one another: Σ factor · q(joint) = value. With a single joint, a joint held still."""
    if not isinstance(factors, Mapping):
        raise InputError(
            "wrong-type",
            "factors",
            factors,
            problem=f"a coupling maps joints to factors, {{'joint1': 1.0, …}}; got {type(factors).__name__}",
        )
    pairs = tuple((str(joint), number(f"factors[{joint!r}]", a)) for joint, a in factors.items())
    if not any(a for _, a in pairs):
        raise InputError(
            "missing", "factors", factors, problem="a coupling needs at least one joint with a factor that is not zero"
        )
    return Couple(name, pairs, number("value", value))


def holonomic(
    function: Callable[..., Any], frames: Sequence[str | None] = (), *, name: str = "holonomic"
) -> OfCoordinates:
    """function(q, *poses) = 0, one number or several. q is a sequence of scalars, a pose has `.p` (3) and `.R` (3×3);
    use `dalembert.scalar` for sin, cos, sqrt, where. A and Ȧ q̇ are derived from it."""
    return OfCoordinates(name, Listed(function), tuple(frames))


def pfaffian(
    function: Callable[..., Any], frames: Sequence[str | None] = (), *, name: str = "pfaffian"
) -> OfCoordinates:
    """A(q) v = 0 with function(q, *poses) → A, one row of nv numbers or several: rolling, knife edges. v are the
    robot's velocities: q̇, but in the body's axes where a joint has several (a skate on a planar base is v₂ = 0)."""
    return OfCoordinates(name, Listed(function, rows=True), tuple(frames), holonomic=False)


@dataclass(frozen=True)
class Listed:
    """A function whose single result, a number or (of `rows`) a row of numbers, becomes a list of one."""

    function: Callable[..., Any]
    rows: bool = False

    def __call__(self, *arguments: object) -> list[Any]:
        result = self.function(*arguments)
        first = next(iter(result), None) if self.rows else result
        return list(result) if isinstance(first, (list, tuple, np.ndarray)) else [result]


def _shifted(frame: Frame, origin: Origin) -> Frame:
    return Frame(frame.name, frame.body, frame.pose @ Pose(*origin))


def _origin(name: str, value: ArrayLike | None) -> Origin:
    """A pose (4, 4) or a position (3,) as rotation and position."""
    given = array(name, np.zeros(3) if value is None else value, (3,), (4, 4), meaning="a position or a pose")
    T = given if given.ndim == 2 else np.eye(4)
    R, p = T[:3, :3], given if given.ndim == 1 else T[:3, 3]
    if not np.allclose(R @ R.T, np.eye(3), atol=1e-9) or np.linalg.det(R) < 0:
        raise InputError("wrong-value", name, problem=f"{name} must have a rotation that is one (RRᵀ = I, det R = 1)")
    return tuple(tuple(row) for row in R.tolist()), tuple(p.tolist())
