"""What a robot's file says, before anything is derived from it.

A `Description` is the meeting point of all formats: URDF, TOML, DH tables and screw axes are read
into it, and URDF and TOML are written from it. It keeps what was written (fixed joints, visual
shapes, inertial frames, materials) and where, so that messages can name a line. `model.build` turns
it into the `Model` that algorithms run on.

Units are SI and radians; `rpy` is URDF's: R = Rz(yaw) Ry(pitch) Rx(roll).

What the fields of a description must be when it is made: numbers in their numbers, parts of their kind.

`Part` looks at each field by its annotation. Whether the numbers make sense is for `check`, which knows the place in
the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, partial
from math import isfinite
from numbers import Real
from types import NoneType, UnionType
from typing import ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from dalembert import joints
from dalembert.errors import DescriptionError, Place as Place
from dalembert.friction.laws import Friction
from dalembert.joints import JOINTS
from dalembert.scalar import Scalar

Vector = tuple[float, float, float]
Color = tuple[float, float, float, float]  # r, g, b, a in 0…1
Six = tuple[float, float, float, float, float, float]  # ixx, ixy, ixz, iyy, iyz, izz
Rule = Callable[[str, object], object]
WORDS = {str: "text", int: "a whole number"}
SIX_NUMBERS = "six numbers (ixx, ixy, ixz, iyy, iyz, izz) [kg m²], or a symmetric 3×3 matrix"
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
LIMITS = ("lower", "upper", "effort", "velocity")
JOINT_KINDS = (*JOINTS, "fixed")
JOINTS_WITHOUT_AXIS = ("fixed", "floating", "spherical")
ZERO: Vector = (0.0, 0.0, 0.0)
# How a loop may close: what two frames keep to each other. `algorithms.relations` says each as equations.
LOOP_KINDS = (
    "weld",  # the two frames coincide
    "hinge",  # they share the axis, and turn about it
    "ball",  # their origins coincide
    "slider",  # they share the axis without turning, and slide along it
    "cylinder",  # they share the axis, turn about it and slide along it
    "plane",  # the second origin stays in the first frame's plane across the axis
    "line",  # the second origin stays on the axis
    "flush",  # plane on plane: across the axis, free to slide and to turn about it
    "universal",  # the origins coincide; the axis (z) stays at right angles to the second frame's next axis (x)
    "distance",  # the origins keep their distance
    "orientation",  # the frames stay parallel
)
LOOPS_WITHOUT_AXIS = ("weld", "ball", "distance", "orientation")


class Part:
    """A frozen dataclass that takes what its annotations say, or raises a sentence that names class and field. What is
    left out of comparisons, and what is `checked_later`, is not looked at."""

    checked_later: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, what, rule in _rules(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            made = rule(what, value)
            if made is not value:
                object.__setattr__(self, name, made)


@cache
def _rules(kind: type[Part]) -> list[tuple[str, str, Rule]]:
    hints = get_type_hints(kind)
    looked_at = [f.name for f in fields(kind) if f.compare and f.name not in kind.checked_later]  # type: ignore[arg-type]
    return [(name, f"{name} of {kind.__name__}", _rule(hints[name])) for name in looked_at]


def _rule(hint: object) -> Rule:
    """The rule of an annotation."""
    if hint in RULES:
        return RULES[hint]
    arguments = get_args(hint)
    if get_origin(hint) in (Union, UnionType) and NoneType in arguments:
        rule = _rule(Union[tuple(kind for kind in arguments if kind is not NoneType)])  # noqa: UP007 - of a tuple
        return lambda what, value: None if value is None else rule(what, value)
    if get_origin(hint) is tuple:
        return partial(_several, arguments[0])
    if get_origin(hint) is Literal:
        return RULES[str]
    return partial(_one_of, arguments or (hint,))


def _refuse(code: str, what: str, value: object, expected: str) -> DescriptionError:
    return DescriptionError(code, what, value, expected=expected)


def number(what: str, value: object) -> object:
    """A float, or a scalar of another kind: descriptions are also made with symbols."""
    if type(value) is float:
        return value
    if value is None or isinstance(value, (str, bytes, bool, dict, complex, Iterable)) or callable(value):
        raise _refuse("wrong-type", what, value, "a number")
    return float(value) if isinstance(value, Real) else value


def finite(what: str, value: object) -> None:
    """A number that is neither infinite nor NaN, or an error."""
    if not isinstance(value, float) or not isfinite(value):
        raise _refuse("not-finite", what, value, "a finite number")


def _row(value: object) -> tuple[object, ...]:
    return tuple(number("", x) for x in value) if isinstance(value, Iterable) and not isinstance(value, str) else ()


def _numbers(count: int, what: str, value: object) -> object:
    if type(value) is tuple and len(value) == count and all(type(x) is float for x in value):
        return value
    try:
        row = _row(value)
    except DescriptionError:
        row = ()
    if len(row) != count:
        raise _refuse("wrong-shape", what, value, f"{count} numbers")
    return row


def _both_ways(what: str, value: object) -> object:
    """Magnitudes for positive and negative velocity; one number is both."""
    return _numbers(2, what, value if isinstance(value, Iterable) else (number(what, value),) * 2)


def _inertia(what: str, value: object) -> object:
    """(ixx, ixy, ixz, iyy, iyz, izz) of six numbers or of a 3×3 matrix."""
    try:
        matrix = [_row(row) for row in value] if isinstance(value, Iterable) else []
        if [len(row) for row in matrix] != [3, 3, 3]:
            return _numbers(6, what, value)
    except DescriptionError:
        raise _refuse("wrong-shape", what, value, SIX_NUMBERS) from None
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix
    if all(_same(a, b) for a, b in ((xy, yx), (xz, zx), (yz, zy))):
        return (xx, xy, xz, yy, yz, zz)
    raise _refuse("wrong-shape", what, value, SIX_NUMBERS)


def _same(a: Scalar, b: Scalar) -> bool:
    return bool(abs(a - b) <= 1e-9 * max(abs(a), abs(b)))


def _one_of(kinds: Sequence[type], what: str, value: object) -> object:
    """A part of one of these classes."""
    if not isinstance(value, tuple(kinds)):
        raise _refuse("wrong-type", what, value, " or ".join(WORDS.get(kind, f"{kind.__name__}(…)") for kind in kinds))
    return value


def _several(kind: type, what: str, value: object) -> object:
    """A sequence of parts, as a tuple."""
    if not isinstance(value, (tuple, list)):
        raise _refuse("wrong-type", what, value, f"a list of {kind.__name__}(…)")
    for x in value:
        _one_of((kind,), what, x)
    return value if isinstance(value, tuple) else tuple(value)


RULES: dict[object, Rule] = {
    float: number,
    str: partial(_one_of, (str,)),
    tuple[float, float]: _both_ways,
    Vector: partial(_numbers, 3),
    Color: partial(_numbers, 4),
    Six: _inertia,
}


@dataclass(frozen=True)
class Origin(Part):
    """A fixed pose: translation `xyz` [m] and fixed-axis angles `rpy` [rad]."""

    xyz: Vector = ZERO
    rpy: Vector = ZERO


@dataclass(frozen=True)
class Box(Part):
    """A box, centered at the origin; `size` has its edges along x, y and z [m]."""

    size: Vector


@dataclass(frozen=True)
class Cylinder(Part):
    """Along z, centered at the origin."""

    radius: float
    length: float


@dataclass(frozen=True)
class Sphere(Part):
    """A sphere, centered at the origin; `radius` [m]."""

    radius: float


@dataclass(frozen=True)
class Capsule(Part):
    """A cylinder of `length` along z, closed by two half spheres."""

    radius: float
    length: float


@dataclass(frozen=True)
class Mesh(Part):
    """A reference to a mesh file as written (`package://…`, relative or absolute)."""

    filename: str
    scale: Vector = (1.0, 1.0, 1.0)


Geometry = Box | Cylinder | Sphere | Capsule | Mesh
SHAPES: dict[str, type[Geometry]] = {
    "box": Box,
    "cylinder": Cylinder,
    "sphere": Sphere,
    "capsule": Capsule,
    "mesh": Mesh,
}


@dataclass(frozen=True)
class Shape(Part):
    """A visual or collision element of a link."""

    geometry: Geometry
    origin: Origin = Origin()
    name: str | None = None
    color: Color | None = None
    material: str | None = None


@dataclass(frozen=True)
class Inertial(Part):
    """Mass [kg], and (ixx, ixy, ixz, iyy, iyz, izz) [kg m²] about the center of mass, which is
    `origin.xyz` in the link's frame, in axes turned by `origin.rpy`. Tensor sign: ixy = −∫xy dm."""

    mass: float
    inertia: Six
    origin: Origin = Origin()


@dataclass(frozen=True)
class Link(Part):
    """A rigid body of the description: its mass, the shapes to draw and the shapes that collide."""

    name: str
    inertial: Inertial | None = None
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True)
class Limit(Part):
    """Position limits [rad or m] (None: unlimited), largest effort [N m or N] and velocity."""

    lower: float | None = None
    upper: float | None = None
    effort: float | None = None
    velocity: float | None = None


@dataclass(frozen=True)
class Mimic(Part):
    """This joint follows another: q = multiplier · q(joint) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Drive(Part):
    """Actuator and friction of a joint, all on the joint's side except the rotor.

    rotor_inertia J_m [kg m²] of the motor before the gear, gear_ratio N (reflected inertia N² J_m),
    damping b [N m s/rad], coulomb (for positive, for negative velocity; both as magnitudes) [N m], which below the rate
    coulomb_width [rad/s] rises in proportion to the rate (0: at once),
    spring stiffness k [N m/rad] about `rest` [rad]. `friction` holds further terms, of any law of `dalembert.friction`;
    damping and coulomb are two that have names of their own.
    """

    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    damping: float = 0.0
    coulomb: tuple[float, float] = (0.0, 0.0)
    stiffness: float = 0.0
    rest: float = 0.0
    friction: tuple[Friction, ...] = ()
    coulomb_width: float = 0.0


@dataclass(frozen=True)
class Joint(Part):
    """`origin` is the child link's frame in the parent link's frame at q = 0; `axis` is in the child's
    frame, of unit length once read."""

    name: str
    kind: str  # one of JOINT_KINDS
    parent: str
    child: str
    origin: Origin = Origin()
    axis: Vector = (1.0, 0.0, 0.0)
    limit: Limit | None = None
    mimic: Mimic | None = None
    drive: Drive = Drive()
    place: Place = field(default=Place(), compare=False)
    pitch: float = 0.0  # of a helical joint, the way along the axis per angle [m/rad]

    @property
    def turns(self) -> bool:
        """Whether its position is an angle."""
        return self.kind in JOINTS and JOINTS[self.kind].turns

    @property
    def several(self) -> bool:
        """Whether it has more than one coordinate."""
        return self.kind in JOINTS and JOINTS[self.kind].nv > 1

    def motion(self) -> joints.Joint:
        """How it moves, if it does: the joint of its kind, whose fields are those of the same name here."""
        kind = JOINTS[self.kind]
        return kind(self.axis, **{name: getattr(self, name) for name in kind.numbers})


def part_names(joint: Joint) -> list[str]:
    """What its positions, rates and efforts are called, if it moves."""
    kind = JOINTS[joint.kind]
    return [joint.name + part for part in (*kind.position_names, *kind.rate_names, *kind.effort_names)]


def positions(joint: str, kind: str, values: Iterable[float]) -> tuple[tuple[str, float], ...]:
    """Names and values of a joint's positions, as `home` has them: all of its kind's, in their order."""
    return tuple((f"{joint}{part}", float(x)) for part, x in zip(JOINTS[kind].position_names, values, strict=True))


@dataclass(frozen=True)
class Loop(Part):
    """What closes a loop of the tree: two links that a further joint, of one of the `LOOP_KINDS`, holds together.

    `first_origin` and `second_origin` are the frames of that joint on its two links, either of which may be the
    root; `axis` is in the first of these frames (and in the second, once the loop is closed), of unit length once
    read, (0, 0, 1) for kinds that have none; `length` [m] is that of kind "distance"."""

    name: str
    kind: str
    first: str
    second: str
    first_origin: Origin = Origin()
    second_origin: Origin = Origin()
    axis: Vector = (0.0, 0.0, 1.0)
    length: float | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True)
class Description(Part):
    """A mechanism as written. The links and joints form a tree, and loops close it; `read` functions check that."""

    checked_later: ClassVar[tuple[str, ...]] = ("gravity", "notes", "home")

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...] = ()
    gravity: Vector = (0.0, 0.0, -9.81)
    tip: str | None = None  # the link that fk and jacobian mean when no frame is named
    notes: str = ""  # where the figures come from
    loops: tuple[Loop, ...] = ()
    home: tuple[tuple[str, float], ...] = ()  # positions by name, to start from; others neutral [rad or m]
    warnings: tuple[str, ...] = field(default=(), compare=False)
    place: Place = field(default=Place(), compare=False)
    dh: object = field(default=None, compare=False, repr=False)  # the DHTable it was written as, if it was
