"""URDF text → Description.

Read: links, joints, inertials, visual and collision shapes, materials, the extension <loop_joint> for what closes a
loop (Isaac Sim's, and formerly Drake's), and Dalembert's own elements for what URDF cannot say (`urdf_write` writes
them). Ignored: everything foreign (gazebo, transmission, ros2_control, sensors, …), textures, safety controllers and
calibration. Source: the URDF XML specification of ROS, and urdfdom where the specification is silent.

What cannot be read is a `Trouble`. Loading raises the first one; `read_parts` hands each to its caller and reads on, so
that a check-up sees them all, with what could be read around them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NoReturn, TypeVar

from dalembert.caching import cached_property
from dalembert.describe.check import check, show
from dalembert.describe.description import (
    INERTIA,
    LIMITS,
    LOOP_KINDS,
    LOOPS_WITHOUT_AXIS,
    SHAPES,
    Box,
    Color,
    Description,
    Drive,
    Geometry,
    Inertial,
    Joint,
    Limit,
    Link,
    Loop,
    Mesh,
    Mimic,
    Origin,
    Shape,
    Six,
    Vector,
)
from dalembert.describe.xml import Element, parse
from dalembert.errors import DescriptionError, InputError, UnknownNameError
from dalembert.friction.laws import Friction, friction

NAMESPACE = "https://dalembert.dev/urdf"
PREFIX = "dalembert"

T = TypeVar("T")

URDF_KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
HINGED = "revolute"  # the type of a joint that turns between limits
SEVERAL = ("floating", "planar")  # those with several coordinates
_DRIVE = ("rotor_inertia", "gear_ratio", "coulomb_positive", "coulomb_negative", "coulomb_width", "stiffness", "rest")
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
        raise root.refuse("not-readable", "robot", problem=f"the first element is <{_short(root.tag)}>; {why}")
    return check(Reader(root, strict).description(), strict=strict)


def read_parts(root: Element, note: Callable[[Trouble], None]) -> tuple[tuple[LinkPart, ...], tuple[JointPart, ...]]:
    """The links and joints of a <robot> as far as they can be read; what cannot is given to `note`."""
    return Reader(root, False, note).parts()


@dataclass(frozen=True)
class Trouble:
    """What cannot be read, and why: `kind` is "missing" (an element or attribute), "number" (`count` of them were to
    stand in `attribute`), "twice" (an element of which one is wanted), "geometry", "type" or "other"; `sentence` says
    what is wrong and, after the last semicolon, what would be right."""

    kind: str
    at: Element
    who: str
    sentence: str
    attribute: str = ""
    count: int = 0


CODES = {
    "missing": "missing",
    "number": "syntax",
    "twice": "duplicate",
    "geometry": "wrong-value",
    "type": "unknown-name",
}


def _sentence(error: DescriptionError) -> str:
    """What is wrong and, after the last semicolon, what would be right."""
    return f"{error.problem}; {error.remedy[0].lower()}{error.remedy[1:-1]}" if error.remedy else error.problem


def _refuse(trouble: Trouble) -> NoReturn:
    raise trouble.at.refuse(CODES.get(trouble.kind, "wrong-value"), trouble.attribute or None, problem=trouble.sentence)


# parts: what was written where, and None for what could not be read


@dataclass(frozen=True)
class InertialPart:
    """An <inertial>. Where its parts are: `mass_at`, `tensor_at`, `origin_at`, or the element itself."""

    at: Element
    mass: float | None
    tensor: Six | None
    origin: Origin | None

    @property
    def mass_at(self) -> Element:
        return self.at.first("mass") or self.at

    @property
    def tensor_at(self) -> Element:
        return self.at.first("inertia") or self.at

    @property
    def origin_at(self) -> Element:
        return self.at.first("origin") or self.at


@dataclass(frozen=True)
class ShapePart:
    """A <visual> or <collision>, which `role` says, and the whole shape if it could be read."""

    at: Element
    role: str
    geometry: Geometry | None
    origin: Origin | None
    shape: Shape | None = field(repr=False)

    @property
    def form_at(self) -> Element:
        """<box …>, <mesh …>; without one the <geometry>, without that the element itself."""
        within = self.at.first("geometry")
        return self.at if within is None else next((c for c in within.children if c.tag in SHAPES), within)


@dataclass(frozen=True)
class LinkPart:
    name: str
    at: Element
    inertial: InertialPart | None
    shapes: tuple[ShapePart, ...]
    link: Link = field(repr=False)  # of what could be read

    @property
    def who(self) -> str:
        return f"link {self.name!r}"


@dataclass(frozen=True)
class JointPart:
    """A <joint>; `limit` and `dynamics` hold the attributes that are written and can be read, `unlimited` what
    <dalembert:limit> declares so, `joint` the whole if it could be read."""

    name: str
    at: Element
    kind: str
    parent: str | None
    child: str | None
    origin: Origin | None
    axis: Vector | None = None
    limit: dict[str, float] = field(default_factory=dict)
    dynamics: dict[str, float] = field(default_factory=dict)
    unlimited: frozenset[str] = frozenset()
    joint: Joint | None = field(default=None, repr=False)

    @property
    def who(self) -> str:
        return f"joint {self.name!r}"

    @property
    def moves(self) -> bool:
        return self.kind in URDF_KINDS and self.kind != "fixed"

    @property
    def hinged(self) -> bool:
        """Whether it turns between limits."""
        return self.kind == HINGED

    @property
    def endless(self) -> bool:
        return self.kind == "continuous"

    @property
    def slides(self) -> bool:
        return self.kind == "prismatic"

    @property
    def origin_at(self) -> Element:
        return self.at.first("origin") or self.at

    def element(self, tag: str) -> Element | None:
        """The <axis>, <limit>, <mimic> or <dynamics> of a joint that moves."""
        return None if self.kind == "fixed" else self.at.first(tag)


class Reader:
    """One document being read: what is shared between its elements is here. What cannot be read goes to `note`, which
    raises it unless the caller collects; then None stands for it."""

    def __init__(self, root: Element, strict: bool, note: Callable[[Trouble], None] = _refuse) -> None:
        self._root, self._strict, self._note = root, strict, note
        self._warnings: list[str] = []
        declared = {k[6:] for k, v in root.attributes.items() if k.startswith("xmlns:") and v == NAMESPACE}
        self._prefixes = sorted(declared | {PREFIX})
        self._materials: dict[str, Color] = {}
        for e in root.all("material"):
            name, color = self._material(e, "<robot>")
            if name is not None and color is not None:
                self._materials.setdefault(name, color)

    def description(self) -> Description:
        root = self._root
        for child in root.children:
            if child.tag.startswith("xacro:"):
                problem = f"<{child.tag}> is xacro, not URDF"
                raise child.refuse("unsupported", "xacro", problem=problem, remedy="Load the file as .xacro.")
        name = root.attributes.get("name", "")
        if not name.strip():
            name = "robot"
            self._warn(root, "<robot> has no name; it is called 'robot'")
        own = self._own(root, "robot")
        links, joints = self.parts()
        loops = tuple(self._loop(e) for e in root.all("loop_joint"))
        written = [e for prefix in self._prefixes for e in root.all(f"{prefix}:home")]
        home = tuple((e.word("joint", "<robot>"), e.number("position", "<robot>")) for e in written)
        return Description(
            name,
            tuple(part.link for part in links),
            tuple(part.joint for part in joints if part.joint is not None),
            self._vector(own, "gravity", "<robot>", Description.gravity) or Description.gravity,
            own.word("tip", "<robot>") if own is not None and "tip" in own.attributes else None,
            "" if own is None else own.text,
            loops,
            home,
            tuple(self._warnings),
            root.place,
        )

    def parts(self) -> tuple[tuple[LinkPart, ...], tuple[JointPart, ...]]:
        links = tuple(self._link(e) for e in self._root.all("link"))
        return links, tuple(self._joint(e) for e in self._root.all("joint"))

    # what is doubtful

    def _warn(self, element: Element, sentence: str) -> None:
        self._warnings.append(f"{element.place}: {sentence}")

    def _or_else(self, read: Callable[[], T], instead: T, taken: str) -> T:
        """What no number depends on: a warning that says what is taken instead, or the error if reading is strict."""
        try:
            return read()
        except DescriptionError as error:
            if self._strict:
                raise
            self._warnings.append(f"{str(error).rpartition('; ')[0] or error.problem}; {taken}")
            return instead

    # elements and attributes, each noted where it cannot be read

    def _try(
        self, kind: str, read: Callable[[], T], e: Element, who: str, attribute: str = "", count: int = 0
    ) -> T | None:
        try:
            return read()
        except DescriptionError as error:
            self._note(Trouble(kind, e, who, _sentence(error), attribute, count))
            return None

    def _one(self, parent: Element, tag: str, owner: str) -> Element | None:
        """The first child of that tag, or None; of two only one can be meant."""
        found = list(parent.all(tag))
        for extra in found[1:]:
            self._note(Trouble("twice", extra, owner, f"{owner} has {len(found)} <{tag}> elements; keep one"))
        return found[0] if found else None

    def _first(self, parent: Element, tag: str, owner: str) -> Element | None:
        """The first child of that tag, as urdfdom takes it, with a warning where there are more; or None."""
        return self._or_else(lambda: self._one(parent, tag, owner), parent.first(tag), "the first is taken")

    def _need(self, parent: Element, tag: str, owner: str, found: Element | None = None) -> Element | None:
        """The child of that tag, which must be there."""
        found = found or self._one(parent, tag, owner)
        if found is None:
            self._note(Trouble("missing", parent, owner, f"{owner} has no <{tag}>; add one"))
        return found

    def _own(self, parent: Element, tag: str) -> Element | None:
        """Dalembert's own child element, under whatever prefix its namespace was given."""
        found = (self._one(parent, f"{prefix}:{tag}", f"<{parent.tag}>") for prefix in self._prefixes)
        return next((e for e in found if e is not None), None)

    def _word(self, e: Element | None, attribute: str, who: str) -> str | None:
        """An attribute that must be there, of an element that need not."""
        return None if e is None else self._try("missing", lambda: e.word(attribute, who), e, who, attribute)

    def _numbers(self, e: Element | None, attribute: str, count: int, who: str) -> tuple[float, ...] | None:
        """An attribute of so many numbers that must be there, of an element that need not."""
        if e is None:
            return None
        return self._try("number", lambda: e.numbers(attribute, count, who), e, who, attribute, count)

    def _vector(self, e: Element | None, attribute: str, who: str, default: Vector | None = None) -> Vector | None:
        if e is None or (default is not None and attribute not in e.attributes):
            return default
        values = self._numbers(e, attribute, 3, who)
        return None if values is None else (values[0], values[1], values[2])

    def _some(self, e: Element | None, names: tuple[str, ...], who: str) -> dict[str, float]:
        """Of these attributes those that are written and can be read."""
        found = {name: self._numbers(e, name, 1, who) for name in names if e is not None and name in e.attributes}
        return {name: values[0] for name, values in found.items() if values is not None}

    def _origin(self, parent: Element, who: str) -> Origin | None:
        return self._placed(self._one(parent, "origin", who), who)

    def _placed(self, e: Element | None, who: str) -> Origin | None:
        """The pose in an element's own attributes xyz and rpy."""
        return _whole(Origin, self._vector(e, "xyz", who, Origin.xyz), self._vector(e, "rpy", who, Origin.rpy))

    # links

    def _link(self, e: Element) -> LinkPart:
        name = self._word(e, "name", "a link") or ""
        who = f"link {name!r}"
        inertial = self._first(e, "inertial", who)
        part = None if inertial is None else self._still(partial(self._inertial, inertial, who), name)
        shapes = tuple(s for role in ("visual", "collision") for s in self._shapes(e, role, who))
        visuals, collisions = (
            tuple(s.shape for s in shapes if s.role == role and s.shape is not None) for role in ("visual", "collision")
        )
        whole = None if part is None else _whole(Inertial, part.mass, part.tensor, part.origin)
        return LinkPart(name, e, part, shapes, Link(name, whole, visuals, collisions, e.place))

    def _still(self, read: Callable[[], InertialPart], link: str) -> InertialPart | None:
        """Of a link that nothing moves, no number depends on the inertial."""
        if link in self._moved:
            return read()
        return self._or_else(read, None, "it does not move, and is taken without mass")

    def _inertial(self, e: Element, who: str) -> InertialPart:
        mass = self._numbers(self._need(e, "mass", f"<inertial> of {who}"), "value", 1, who)
        tensor = self._one(e, "inertia", who)
        if tensor is None:
            sentence = f"<inertial> of {who} has no <inertia>; add one (all six zero for a point mass)"
            self._note(Trouble("missing", e, who, sentence))
        found = [self._numbers(tensor, name, 1, who) for name in INERTIA]
        known = [values[0] for values in found if values is not None]
        six = (known[0], known[1], known[2], known[3], known[4], known[5]) if len(known) == 6 else None
        return InertialPart(e, None if mass is None else mass[0], six, self._origin(e, who))

    @cached_property
    def _moved(self) -> set[str]:
        """The links that a moving joint carries, directly or through others."""
        below: dict[str, list[str]] = {}
        waiting: list[str] = []
        for joint in self._root.all("joint"):
            ends = [joint.first(tag) for tag in ("parent", "child")]
            parent, child = ("" if end is None else end.attributes.get("link", "") for end in ends)
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

    def _shapes(self, link: Element, role: str, who: str) -> list[ShapePart]:
        read = (partial(self._shape, e, role, f"a {role} of {who}") for e in link.all(role))
        shapes = [self._or_else(shape, None, "it is left out") for shape in read]
        return [shape for shape in shapes if shape is not None]

    def _shape(self, e: Element, role: str, who: str) -> ShapePart | None:
        within = self._need(e, "geometry", who, self._first(e, "geometry", who))
        geometry = None if within is None else self._geometry(within, who)
        material, color = self._material(self._first(e, "material", who), who)
        origin = self._origin(e, who)
        shape = _whole(Shape, geometry, origin)
        if shape is not None:
            shape = replace(shape, name=e.attributes.get("name") or None, color=color, material=material)
        return ShapePart(e, role, geometry, origin, shape)

    def _geometry(self, e: Element, who: str) -> Geometry | None:
        known = [child for child in e.children if child.tag in SHAPES]
        if len(known) > 1:
            tags = " and ".join(f"<{child.tag}>" for child in known)
            sentence = f"<geometry> of {who} holds {tags}; keep one shape and repeat the element"
            self._or_else(lambda: self._note(Trouble("geometry", e, who, sentence)), None, "the first is taken")
        if not known and not e.children:
            sentence = f"<geometry> of {who} is empty; put one of {', '.join(SHAPES)} into it"
            self._note(Trouble("geometry", e, who, sentence))
        elif not known:
            self._warn(e, f"{who} is a <{_short(e.children[0].tag)}>, which is not a shape of URDF; it is left out")
        return self._form(known[0], who) if known else None

    def _form(self, e: Element, who: str) -> Geometry | None:
        if e.tag == "mesh":
            likely = _likely_scale(e, who)
            instead: Vector | None = likely
            read = partial(self._vector, e, "scale", who, Mesh.scale)
            scale = self._or_else(read, instead, f"{show(likely)} is taken")
            return _whole(Mesh, self._word(e, "filename", who), scale)
        if e.tag == "box":
            return _whole(Box, self._vector(e, "size", who))
        form = SHAPES[e.tag]
        sizes = [self._numbers(e, f.name, 1, who) for f in fields(form)]
        make: Callable[..., Geometry] = form
        return _whole(make, *(size and size[0] for size in sizes))

    def _material(self, e: Element | None, who: str) -> tuple[str | None, Color | None]:
        """Name and color, which may be that of another material of this name."""
        if e is None:
            return None, None
        name = e.attributes.get("name") or None
        at = self._first(e, "color", who)
        color = self._or_else(lambda: self._numbers(at, "rgba", 4, who), None, "it has no color")
        if color is not None:
            return name, (color[0], color[1], color[2], color[3])
        return name, None if name is None else self._materials.get(name)

    # joints

    def _joint(self, e: Element) -> JointPart:
        name = self._word(e, "name", "a joint") or ""
        who = f"joint {name!r}"
        kind = self._kind(e, who)
        parent, child = (self._word(self._need(e, tag, who), "link", who) for tag in ("parent", "child"))
        origin = self._origin(e, who)
        joint = _whole(partial(Joint, place=e.place), name, kind, parent, child, origin)
        if kind == "fixed":  # whatever else is written says nothing about a joint that does not move
            return JointPart(name, e, kind, parent, child, origin, joint=joint)
        axis = self._axis(self._one(e, "axis", who), who)
        limit, unlimited = self._limit(e, kind, who)
        mimic = self._mimic(self._one(e, "mimic", who), who)
        dynamics, drive = self._drive(e, who)
        if kind in SEVERAL and any(drive.coulomb):
            self._warn(e, f"{who} is {kind}; its dry friction is not carried")
            drive = replace(drive, coulomb=(0.0, 0.0))
        if kind in SEVERAL and mimic is not None:
            self._warn(e, f"{who} is {kind}; its <mimic> is not carried")
            mimic = None
        if joint is not None and axis is not None:
            joint = replace(joint, axis=axis, limit=_limit(limit, kind, unlimited), mimic=mimic, drive=drive)
        return JointPart(name, e, kind, parent, child, origin, axis, limit or {}, dynamics, unlimited, joint)

    def _kind(self, e: Element, who: str) -> str:
        kind = self._word(e, "type", who) or ""
        if kind and kind not in URDF_KINDS:
            sentence = f"{who} is of the unknown type {_short(kind)!r}; choose from {', '.join(URDF_KINDS)}"
            self._note(Trouble("type", e, who, sentence, "type"))
        return kind

    def _axis(self, e: Element | None, who: str) -> Vector | None:
        """x, where none is written."""
        return Joint.axis if e is None else self._vector(e, "xyz", who)

    def _mimic(self, e: Element | None, who: str) -> Mimic | None:
        master = self._word(e, "joint", who)
        return None if master is None else Mimic(master, **self._some(e, ("multiplier", "offset"), who))

    def _limit(self, joint: Element, kind: str, who: str) -> tuple[dict[str, float] | None, frozenset[str]]:
        """What <limit> says, None without one, and what Dalembert's own element declares unlimited."""
        e = self._one(joint, "limit", who)
        own = self._own(joint, "limit")
        words = (self._word(own, "unlimited", who) or "").split()
        for word in words:
            if own is not None and word not in (*LIMITS, "all"):
                sentence = f"<{own.tag}> of {who}: {_short(word)!r} is not one of {', '.join(LIMITS)}, all"
                self._note(Trouble("other", own, who, sentence, "unlimited"))
        if e is not None and kind in SEVERAL:
            self._warn(e, f"{who} is {kind}; its <limit> is not carried")
            return None, frozenset(words)
        if e is None and kind not in ("continuous", *SEVERAL) and "all" not in words:
            self._warn(joint, f"{who} is {kind} and has no <limit>; it is taken as unlimited")
        return None if e is None else self._some(e, LIMITS, who), frozenset(words)

    def _drive(self, joint: Element, who: str) -> tuple[dict[str, float], Drive]:
        """damping is viscous, friction is Coulomb's; the rest is in Dalembert's own elements."""
        dynamics = self._some(self._one(joint, "dynamics", who), ("damping", "friction"), who)
        own = self._own(joint, "drive")
        written = [x for prefix in self._prefixes for x in joint.all(f"{prefix}:friction")]
        terms = [self._try("other", partial(_friction, x, who), x, who) for x in written]
        found = self._some(own, _DRIVE, who)
        coulomb = dynamics.get("friction", 0.0)
        both = (found.pop("coulomb_positive", coulomb), found.pop("coulomb_negative", coulomb))
        friction = tuple(term for term in terms if term is not None)
        return dynamics, Drive(damping=dynamics.get("damping", 0.0), coulomb=both, friction=friction, **found)

    def _loop(self, e: Element) -> Loop:
        name = e.word("name", "a loop")
        who = f"loop {name!r}"
        kind = e.word("type", who)
        if kind not in (*LOOP_TYPES, *LOOP_KINDS):
            known = ", ".join((*LOOP_TYPES, *(k for k in LOOP_KINDS if k not in LOOP_TYPES)))
            problem = f"{who} is of the unknown type {_short(kind)!r}"
            raise e.refuse("unknown-name", "type", kind, problem=problem, remedy=f"Choose from {known}.")
        kind = LOOP_TYPES.get(kind, kind)
        first, second = e.need("link1", who), e.need("link2", who)
        length = e.one("length", who)
        ends = first.word("link", who), second.word("link", who)
        # A missing <axis> is x, as in every joint of URDF; where there can be none, what is written says nothing.
        return Loop(
            name,
            kind,
            *ends,
            self._placed(first, who) or Origin(),
            self._placed(second, who) or Origin(),
            Loop.axis if kind in LOOPS_WITHOUT_AXIS else self._axis(e.one("axis", who), who) or Joint.axis,
            None if length is None else length.number("value", who),
            e.place,
        )


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _whole(make: Callable[..., T], *parts: object) -> T | None:
    """What is made of these parts; None if one could not be read."""
    return None if any(part is None for part in parts) else make(*parts)


def _limit(written: dict[str, float] | None, kind: str, unlimited: frozenset[str]) -> Limit | None:
    """`lower` and `upper` default to 0, as the standard says; a continuous joint has neither."""
    if written is None or "all" in unlimited:
        return None
    ends = {} if kind == "continuous" else {"lower": 0.0, "upper": 0.0}
    dropped = unlimited | ({"lower", "upper"} if kind == "continuous" else set())
    return Limit(**{name: value for name, value in (ends | written).items() if name not in dropped})


def _friction(e: Element, who: str) -> Friction:
    written: dict[str, Any] = {
        key: e.word(key, who) if key in ("law", "smooth") else _levels(e, key, who) for key in e.attributes
    }
    try:
        return friction(**{"law": "", **written})
    except (InputError, UnknownNameError) as error:
        raise e.refuse(error.code, error.argument, problem=f"<{e.tag}> of {who}: {error}") from None


def _levels(e: Element, key: str, who: str) -> float | tuple[float, ...]:
    """One number, or two for the two directions."""
    many = len(e.word(key, who).split()) > 1
    return e.numbers(key, 2, who) if many else e.number(key, who)


def _likely_scale(e: Element, who: str) -> Vector:
    """One number scales all three directions, and of more than three the first three do; else nothing is scaled."""
    try:
        numbers = e.numbers("scale", len(e.attributes["scale"].split()), who)
    except (KeyError, DescriptionError):
        return Mesh.scale
    x, y, z = numbers * 3 if len(numbers) == 1 else numbers[:3] if len(numbers) > 3 else Mesh.scale
    return (x, y, z)
