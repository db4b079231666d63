"""URDF text → Description.

Read: links, joints, inertials, visual and collision shapes, materials, the extension <loop_joint> for what closes a
loop (Isaac Sim's, and formerly Drake's), and Dalembert's own elements for what URDF cannot say (`urdf_write` writes
them). Ignored: everything foreign (gazebo, transmission, ros2_control, sensors, …), textures, safety controllers and
calibration. Source: the URDF XML specification of ROS, and urdfdom where the specification is silent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, get_args

from dalembert.caching import cached_property
from dalembert.describe.check import check
from dalembert.describe.description import (
    LOOP_KINDS,
    LOOPS_WITHOUT_AXIS,
    Box,
    Capsule,
    Cylinder,
    Description,
    Drive,
    Geometry,
    Inertial,
    Joint,
    JointKind,
    Limit,
    Link,
    Loop,
    Mesh,
    Mimic,
    Origin,
    Shape,
    Sphere,
    Vector,
)
from dalembert.describe.refuse import show
from dalembert.describe.xml import Element, parse
from dalembert.errors import DescriptionError, InputError, UnknownNameError
from dalembert.friction.laws import Friction, friction

NAMESPACE = "https://dalembert.dev/urdf"
PREFIX = "dalembert"

Color = tuple[float, float, float, float]
T = TypeVar("T")

_KINDS: tuple[JointKind, ...] = get_args(JointKind)
_LIMITS = ("lower", "upper", "effort", "velocity")
_INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
# Joint types that say how a loop closes, and what each is here; our own names of kinds are read too.
LOOP_TYPES = {
    "revolute": "hinge",
    "continuous": "hinge",
    "fixed": "weld",
    "spherical": "ball",
    "prismatic": "slider",
    "cylindrical": "cylinder",
    "planar": "flush",
}
# What to do about each joint type of the standard that moves in more than one way.
_UNSUPPORTED = {
    "floating": "the base is fixed here: remove the joint and its parent link, or make it fixed",
    "planar": "describe it as two prismatic joints and a revolute one",
}
# What other formats' first tag is, and what to do with them.
_OTHER_FORMATS = {
    "sdf": "this is SDF; convert it to URDF first",
    "mujoco": "this is MJCF; name the file .xml",
    "COLLADA": "this is a COLLADA scene, not a robot",
}


def read_urdf(text: str | bytes, *, file: str | None = None, strict: bool = False) -> Description:
    """The description in a URDF document; `file` is the name that messages use.

    What cannot be a mechanism raises DescriptionError; what is only doubtful, and what is wrong with shapes and colors,
    which no number depends on, is in `.warnings`, unless the reading is `strict`.
    """
    root = parse(text, file)
    if root.tag != "robot":
        why = _OTHER_FORMATS.get(root.tag, "a URDF starts with <robot name=…>")
        raise root.refuse(f"the first element is <{_short(root.tag)}>; {why}")
    return check(_Reader(root, strict).description(), strict=strict)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


class _Reader:
    """One document being read: what is shared between its elements is here."""

    def __init__(self, root: Element, strict: bool) -> None:
        self._root = root
        self._strict = strict
        self._warnings: list[str] = []
        declared = {k[6:] for k, v in root.attributes.items() if k.startswith("xmlns:") and v == NAMESPACE}
        self._prefixes = sorted(declared | {PREFIX})
        self._materials = self._global_materials()

    def description(self) -> Description:
        root = self._root
        for child in root.children:
            if child.tag.startswith("xacro:"):
                raise child.refuse(f"<{child.tag}> is xacro, not URDF; load the file as .xacro")
        name = root.attributes.get("name", "")
        if not name.strip():
            name = "robot"
            self._warn(root, "<robot> has no name; it is called 'robot'")
        own = self._own(root, "robot")
        return Description(
            name=name,
            links=tuple(self._link(e) for e in root.all("link")),
            joints=tuple(self._joint(e) for e in root.all("joint")),
            loops=tuple(_loop(e) for e in root.all("loop_joint")),
            home=self._home(),
            warnings=tuple(self._warnings),
            place=root.place,
            **({} if own is None else _robot_extension(own)),
        )

    def _warn(self, element: Element, sentence: str) -> None:
        self._warnings.append(f"{element.place}: {sentence}")

    def _doubt(self, error: DescriptionError, taken: str) -> None:
        """What no number depends on: a warning that says what is taken instead, or the error if reading is strict."""
        if self._strict:
            raise error
        self._warnings.append(f"{str(error).rpartition('; ')[0] or error}; {taken}")

    def _or_else(self, read: Callable[[], T], instead: T, taken: str) -> T:
        try:
            return read()
        except DescriptionError as error:
            self._doubt(error, taken)
            return instead

    def _first(self, parent: Element, tag: str, owner: str) -> Element | None:
        """The first child of that tag, as urdfdom takes it, with a warning where there are more; or None."""
        first = next(parent.all(tag), None)
        return self._or_else(lambda: parent.one(tag, owner), first, "the first is taken")

    def _own(self, parent: Element, tag: str) -> Element | None:
        """Dalembert's own child element, under whatever prefix its namespace was given."""
        for prefix in self._prefixes:
            found = parent.one(f"{prefix}:{tag}", f"<{parent.tag}>")
            if found is not None:
                return found
        return None

    def _home(self) -> tuple[tuple[str, float], ...]:
        found = [e for prefix in self._prefixes for e in self._root.all(f"{prefix}:home")]
        return tuple((e.word("joint", "<robot>"), e.number("position", "<robot>")) for e in found)

    # links

    def _link(self, e: Element) -> Link:
        name = e.word("name", "a link")
        who = f"link {name!r}"
        inertial = self._first(e, "inertial", who)
        return Link(
            name,
            None if inertial is None else self._inertial(inertial, name, who),
            self._shapes(e, "visual", who),
            self._shapes(e, "collision", who),
            e.place,
        )

    def _inertial(self, e: Element, link: str, who: str) -> Inertial | None:
        """Of a link that nothing moves, no number depends on it."""
        if link in self._moved:
            return _inertial(e, who)
        return self._or_else(partial(_inertial, e, who), None, "it does not move, and is taken without mass")

    @cached_property
    def _moved(self) -> set[str]:
        """The links that a moving joint carries, directly or through others."""
        below: dict[str, list[str]] = {}
        waiting: list[str] = []
        for joint in self._root.all("joint"):
            parent, child = (
                next((e.attributes.get("link", "") for e in joint.all(tag)), "") for tag in ("parent", "child")
            )
            below.setdefault(parent, []).append(child)
            if joint.attributes.get("type") != "fixed":
                waiting.append(child)
        found: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += below.get(name, [])
        return found

    def _shapes(self, link: Element, tag: str, who: str) -> tuple[Shape, ...]:
        read = (partial(self._shape, e, f"a {tag} of {who}") for e in link.all(tag))
        shapes = (self._or_else(shape, None, "it is left out") for shape in read)
        return tuple(shape for shape in shapes if shape is not None)

    def _shape(self, e: Element, who: str) -> Shape | None:
        within = self._first(e, "geometry", who)
        geometry = self._geometry(e.need("geometry", who) if within is None else within, who)
        material, color = self._material(self._first(e, "material", who), who)
        if geometry is None:
            return None
        return Shape(geometry, _origin(e, who), e.attributes.get("name") or None, color, material)

    def _geometry(self, e: Element, who: str) -> Geometry | None:
        known = [child for child in e.children if child.tag in (*_GEOMETRIES, "mesh")]
        if len(known) > 1:
            tags = " and ".join(f"<{child.tag}>" for child in known)
            error = e.refuse(f"<geometry> of {who} holds {tags}; keep one shape and repeat the element")
            self._doubt(error, "the first is taken")
        if known and known[0].tag == "mesh":
            return self._mesh(known[0], who)
        if known:
            return _GEOMETRIES[known[0].tag](known[0], who)
        if not e.children:
            raise e.refuse(f"<geometry> of {who} is empty; put one of {', '.join(_GEOMETRIES)}, mesh into it")
        tag = _short(e.children[0].tag)
        self._warn(e, f"{who} is a <{tag}>, which is not a shape of URDF; it is left out")
        return None

    def _mesh(self, e: Element, who: str) -> Mesh:
        scale = Mesh.scale
        if "scale" in e.attributes:
            taken = _likely_scale(e, who)
            scale = self._or_else(lambda: _vector(e, "scale", who), taken, f"{show(taken)} is taken")
        return Mesh(e.word("filename", who), scale)

    def _global_materials(self) -> dict[str, Color]:
        materials: dict[str, Color] = {}
        for e in self._root.all("material"):
            name, color = self._named_color(e, "<robot>")
            if name is not None and color is not None:
                materials.setdefault(name, color)
        return materials

    def _material(self, e: Element | None, who: str) -> tuple[str | None, Color | None]:
        if e is None:
            return None, None
        name, color = self._named_color(e, who)
        if color is None and name is not None:
            color = self._materials.get(name)
        return name, color

    def _named_color(self, e: Element, who: str) -> tuple[str | None, Color | None]:
        name = e.attributes.get("name") or None
        color = self._first(e, "color", who)
        if color is None:
            return name, None
        return name, self._or_else(lambda: _color(color, who), None, "it has no color")

    # joints

    def _joint(self, e: Element) -> Joint:
        name = e.word("name", "a joint")
        who = f"joint {name!r}"
        kind = _kind(e, who)
        joint = Joint(
            name,
            kind,
            e.need("parent", who).word("link", who),
            e.need("child", who).word("link", who),
            _origin(e, who),
            place=e.place,
        )
        if kind == "fixed":  # whatever else is written says nothing about a joint that does not move
            return joint
        return replace(
            joint,
            axis=_axis(e.one("axis", who), who),
            limit=self._limit(e, kind, who),
            mimic=_mimic(e.one("mimic", who), who),
            drive=self._drive(e, who),
        )

    def _limit(self, joint: Element, kind: JointKind, who: str) -> Limit | None:
        """`lower` and `upper` default to 0, as the standard says; a continuous joint has neither."""
        e = joint.one("limit", who)
        own = self._own(joint, "limit")
        missing = set() if own is None else _unlimited(own, who)
        if e is None:
            if kind != "continuous" and "all" not in missing:
                self._warn(joint, f"{who} is {kind} and has no <limit>; it is taken as unlimited")
            return None
        values = {name: e.optional(name, who) for name in _LIMITS}
        if "all" in missing:
            return None
        for end in ("lower", "upper"):
            if kind == "continuous":
                values[end] = None
            elif values[end] is None:
                values[end] = 0.0
        return Limit(**{name: None if name in missing else value for name, value in values.items()})

    def _drive(self, joint: Element, who: str) -> Drive:
        """damping is viscous, friction is Coulomb's; the rest is in Dalembert's own element."""
        e = joint.one("dynamics", who)
        damping = 0.0 if e is None else e.number("damping", who, 0.0)
        friction = 0.0 if e is None else e.number("friction", who, 0.0)
        own = self._own(joint, "drive")
        terms = tuple(_friction(x, who) for prefix in self._prefixes for x in joint.all(f"{prefix}:friction"))
        if own is None:
            return Drive(damping=damping, coulomb=(friction, friction), friction=terms)
        return Drive(
            rotor_inertia=own.number("rotor_inertia", who, 0.0),
            gear_ratio=own.number("gear_ratio", who, 1.0),
            damping=damping,
            coulomb=(own.number("coulomb_positive", who, friction), own.number("coulomb_negative", who, friction)),
            stiffness=own.number("stiffness", who, 0.0),
            rest=own.number("rest", who, 0.0),
            friction=terms,
        )


def _friction(e: Element, who: str) -> Friction:
    written: dict[str, Any] = {
        key: e.word(key, who) if key in ("law", "smooth") else _levels(e, key, who) for key in e.attributes
    }
    try:
        return friction(written.pop("law", ""), **written)
    except (InputError, UnknownNameError) as error:
        raise e.refuse(f"<{e.tag}> of {who}: {error}") from None


def _levels(e: Element, key: str, who: str) -> float | tuple[float, ...]:
    """One number, or two for the two directions."""
    many = len(e.word(key, who).split()) > 1
    return e.numbers(key, 2, who) if many else e.number(key, who)


def _robot_extension(e: Element) -> dict[str, Any]:
    found: dict[str, Any] = {"notes": e.text}
    if "gravity" in e.attributes:
        found["gravity"] = _vector(e, "gravity", "<robot>")
    if "tip" in e.attributes:
        found["tip"] = e.word("tip", "<robot>")
    return found


def _unlimited(e: Element, who: str) -> set[str]:
    words = e.word("unlimited", who).split()
    for word in words:
        if word not in (*_LIMITS, "all"):
            raise e.refuse(f"<{e.tag}> of {who}: {_short(word)!r} is not one of {', '.join(_LIMITS)}, all")
    return set(words)


def _kind(e: Element, who: str) -> JointKind:
    kind = e.word("type", who)
    for known in _KINDS:
        if kind == known:
            return known
    if kind in _UNSUPPORTED:
        raise e.refuse(f"{who} is of type {kind!r}, which moves in several ways; {_UNSUPPORTED[kind]}")
    raise e.refuse(f"{who} is of the unknown type {_short(kind)!r}; choose from {', '.join(_KINDS)}")


def _loop(e: Element) -> Loop:
    name = e.word("name", "a loop")
    who = f"loop {name!r}"
    kind = e.word("type", who)
    if kind not in (*LOOP_TYPES, *LOOP_KINDS):
        known = ", ".join((*LOOP_TYPES, *(k for k in LOOP_KINDS if k not in LOOP_TYPES)))
        raise e.refuse(f"{who} is of the unknown type {_short(kind)!r}; choose from {known}")
    kind = LOOP_TYPES.get(kind, kind)
    first, second = e.need("link1", who), e.need("link2", who)
    length = e.one("length", who)
    return Loop(
        name,
        kind,
        first.word("link", who),
        second.word("link", who),
        _placed(first, who),
        _placed(second, who),
        # A missing <axis> is x, as in every joint of URDF; where there can be none, what is written says nothing.
        Loop.axis if kind in LOOPS_WITHOUT_AXIS else _axis(e.one("axis", who), who),
        None if length is None else length.number("value", who),
        e.place,
    )


def _vector(e: Element, attribute: str, who: str) -> Vector:
    x, y, z = e.numbers(attribute, 3, who)
    return (x, y, z)


def _origin(parent: Element, who: str) -> Origin:
    e = parent.one("origin", who)
    return Origin() if e is None else _placed(e, who)


def _placed(e: Element, who: str) -> Origin:
    """The pose in an element's own attributes xyz and rpy."""
    xyz = _vector(e, "xyz", who) if "xyz" in e.attributes else Origin.xyz
    rpy = _vector(e, "rpy", who) if "rpy" in e.attributes else Origin.rpy
    return Origin(xyz, rpy)


def _inertial(e: Element, who: str) -> Inertial:
    mass = e.need("mass", f"<inertial> of {who}").number("value", who)
    tensor = e.one("inertia", who)
    if tensor is None:
        raise e.refuse(f"<inertial> of {who} has no <inertia>; add one (all six zero for a point mass)")
    xx, xy, xz, yy, yz, zz = (tensor.number(name, who) for name in _INERTIA)
    return Inertial(mass, (xx, xy, xz, yy, yz, zz), _origin(e, who))


def _axis(e: Element | None, who: str) -> Vector:
    return Joint.axis if e is None else _vector(e, "xyz", who)


def _mimic(e: Element | None, who: str) -> Mimic | None:
    if e is None:
        return None
    return Mimic(e.word("joint", who), e.number("multiplier", who, 1.0), e.number("offset", who, 0.0))


def _color(e: Element, who: str) -> Color:
    r, g, b, a = e.numbers("rgba", 4, who)
    return (r, g, b, a)


def _likely_scale(e: Element, who: str) -> Vector:
    """One number scales all three directions, and of more than three the first three do; else nothing is scaled."""
    try:
        numbers = e.numbers("scale", len(e.attributes["scale"].split()), who)
    except DescriptionError:
        return Mesh.scale
    x, y, z = numbers * 3 if len(numbers) == 1 else numbers[:3] if len(numbers) > 3 else Mesh.scale
    return (x, y, z)


_GEOMETRIES: dict[str, Callable[[Element, str], Geometry]] = {
    "box": lambda e, who: Box(_vector(e, "size", who)),
    "cylinder": lambda e, who: Cylinder(e.number("radius", who), e.number("length", who)),
    "sphere": lambda e, who: Sphere(e.number("radius", who)),
    "capsule": lambda e, who: Capsule(e.number("radius", who), e.number("length", who)),
}
