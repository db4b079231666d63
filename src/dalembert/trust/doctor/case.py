"""A URDF read as far as it can be: what the loader would refuse is noted as a trouble, and reading goes on.

Everything keeps the element it was written in, so that a finding has its line; what could not be read is None.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dalembert.describe.description import Box, Capsule, Cylinder, Description, Geometry, Mesh, Origin, Sphere, Vector
from dalembert.describe.urdf_read import PREFIX
from dalembert.describe.xml import Element
from dalembert.errors import DescriptionError
from dalembert.findings import Edit
from dalembert.trust.doctor.extent import Extent
from dalembert.trust.doctor.rules import Found

MOVING = ("revolute", "continuous", "prismatic")
LIMITS = ("lower", "upper", "effort", "velocity")
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
GEOMETRIES = ("box", "cylinder", "sphere", "capsule", "mesh")
Six = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class InertialPart:
    at: Element
    mass_at: Element
    tensor_at: Element
    mass: float | None
    tensor: Six | None
    origin: Origin | None
    origin_at: Element


@dataclass(frozen=True)
class ShapePart:
    at: Element
    role: str  # "visual" or "collision"
    form_at: Element  # <box …>, <mesh …>
    geometry: Geometry | None
    origin: Origin | None


@dataclass(frozen=True)
class LinkPart:
    name: str
    at: Element
    inertial: InertialPart | None
    shapes: tuple[ShapePart, ...]

    @property
    def who(self) -> str:
        return f"link {self.name!r}"


@dataclass(frozen=True)
class JointPart:
    name: str
    at: Element
    kind: str
    parent: str | None
    child: str | None
    origin: Origin | None
    origin_at: Element
    axis: Vector | None
    axis_at: Element | None
    limit_at: Element | None
    limit: dict[str, float]  # of what is written and readable
    mimic_at: Element | None
    dynamics_at: Element | None
    dynamics: dict[str, float]
    unlimited: frozenset[str] = frozenset()  # what <dalembert:limit> declares so

    @property
    def who(self) -> str:
        return f"joint {self.name!r}"

    @property
    def moves(self) -> bool:
        return self.kind in MOVING

    @property
    def ends(self) -> tuple[float, float] | None:
        """The position limits, 0 where not written; None where there are none, or one cannot be read."""
        e = self.limit_at
        if e is None or self.kind not in ("revolute", "prismatic") or self.unlimited & {"all", "lower", "upper"}:
            return None
        if any(name in e.attributes and name not in self.limit for name in ("lower", "upper")):
            return None
        return self.limit.get("lower", 0.0), self.limit.get("upper", 0.0)


@dataclass
class Case:
    """One description under examination. `description` is what the loader made of it, or None with its `refusal`."""

    root: Element
    file: str | None
    links: tuple[LinkPart, ...] = ()
    joints: tuple[JointPart, ...] = ()
    troubles: list[tuple[str, Found]] = field(default_factory=list)
    description: Description | None = None
    refusal: str | None = None
    base_dir: Path | None = None
    package_dirs: Sequence[Path] = ()
    meshes: bool = True  # whether mesh files are looked at
    numbers: dict[int, int] = field(default_factory=dict)  # of each element, by its id: its number in the document
    extents: dict[str, Extent] = field(default_factory=dict)  # of each link whose shapes are known
    missing: dict[str, dict[str, Found]] = field(default_factory=dict)  # mesh files that are not there, by their folder

    @property
    def parts(self) -> list[LinkPart | JointPart]:
        return [*self.links, *self.joints]

    def trouble(self, identifier: str) -> Iterator[Found]:
        """What reading noted for that rule."""
        return (found for name, found in self.troubles if name == identifier)

    def set(self, at: Element, **values: str | None) -> tuple[Edit, ...]:
        """Edits that give an element's attributes these values; None removes one."""
        return tuple(Edit(self.numbers[id(at)], name, value) for name, value in values.items())

    def drop(self, at: Element) -> tuple[Edit, ...]:
        """The edit that removes an element."""
        return (Edit(self.numbers[id(at)]),)


def walk(root: Element) -> Iterator[Element]:
    """Every element in the order of the document."""
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def read_case(root: Element, file: str | None) -> Case:
    """The parts of a <robot>, with what could not be read as troubles."""
    case = Case(root, file)
    case.numbers = {id(element): k for k, element in enumerate(walk(root))}
    reader = _Reader(case)
    if root.tag == "robot":
        case.links = tuple(reader.link(e) for e in root.all("link"))
        case.joints = tuple(reader.joint(e) for e in root.all("joint"))
        reader.materials(root)
    return case


class _Reader:
    def __init__(self, case: Case) -> None:
        self._case = case

    def _note(self, identifier: str, at: Element, who: str, sentence: str, edits: tuple[Edit, ...] = ()) -> None:
        """A trouble; sentences are "what is wrong; what would be right"."""
        message, _, fix = sentence.rpartition("; ")
        self._case.troubles.append((identifier, Found(at, who, message or sentence, fix, edits)))

    # attributes and children

    def _numbers(
        self, e: Element, attribute: str, count: int, who: str, *, needed: bool = True
    ) -> tuple[float, ...] | None:
        if not needed and attribute not in e.attributes:
            return None
        try:
            return e.numbers(attribute, count, who)
        except DescriptionError as error:
            sentence = str(error).removeprefix(f"{e.place}: ")
            text = e.attributes.get(attribute, "")
            identifier, edits = _number_rule(text, sentence), self._mended(e, attribute, count)
            remedy = "expand the file with xacro" if identifier == "D104" else None
            if edits:
                value = edits[0].value
                remedy = "remove it: what is not written is unlimited or 0" if value is None else f"write {value!r}"
            if remedy is not None:
                sentence = f"{sentence.rpartition('; ')[0]}; {remedy}"
            self._note(identifier, e, who, sentence, edits)
            return None

    def _mended(self, e: Element, attribute: str, count: int) -> tuple[Edit, ...]:
        """What is sure to be meant: commas between numbers, and a limit or friction that is not a number at all."""
        text = e.attributes.get(attribute, "")
        words = text.replace(",", " ").split()
        if "," in text and len(words) == count and all(map(_is_number, words)):
            return self._case.set(e, **{attribute: " ".join(words)})
        optional = {"limit": ("effort", "velocity"), "dynamics": ("damping", "friction")}.get(e.tag, ())
        if attribute in optional and words and _not_finite(words):
            return self._case.set(e, **{attribute: None})
        return ()

    def _number(self, e: Element, attribute: str, who: str, *, needed: bool = True) -> float | None:
        values = self._numbers(e, attribute, 1, who, needed=needed)
        return None if values is None else values[0]

    def _vector(self, e: Element, attribute: str, who: str, *, needed: bool = True) -> Vector | None:
        values = self._numbers(e, attribute, 3, who, needed=needed)
        if values is None:
            return None
        x, y, z = values
        return (x, y, z)

    def _word(self, e: Element, attribute: str, who: str) -> str | None:
        try:
            return e.word(attribute, who)
        except DescriptionError as error:
            self._note("D107", e, who, str(error).removeprefix(f"{e.place}: "))
            return None

    def _one(self, e: Element, tag: str, who: str) -> Element | None:
        found = list(e.all(tag))
        for extra in found[1:]:
            same = _same(found[0], extra)
            sentence = f"{who} has {len(found)} <{tag}> elements; keep one"
            self._note("D111", extra, who, sentence, self._case.drop(extra) if same else ())
        return found[0] if found else None

    def _need(self, e: Element, tag: str, who: str) -> Element | None:
        found = self._one(e, tag, who)
        if found is None:
            self._note("D107", e, who, f"{who} has no <{tag}>; add one")
        return found

    # parts

    def link(self, e: Element) -> LinkPart:
        name = self._word(e, "name", "a link") or ""
        who = f"link {name!r}"
        inertial = self._one(e, "inertial", who)
        shapes = [self._shape(s, role, who) for role in ("visual", "collision") for s in e.all(role)]
        return LinkPart(name, e, None if inertial is None else self._inertial(inertial, who), tuple(shapes))

    def _inertial(self, e: Element, who: str) -> InertialPart:
        mass_at, tensor_at = self._need(e, "mass", f"<inertial> of {who}"), self._one(e, "inertia", who)
        if tensor_at is None:
            sentence = f"<inertial> of {who} has no <inertia>; add one (all six zero for a point mass)"
            self._note("D107", e, who, sentence)
        mass = None if mass_at is None else self._number(mass_at, "value", who)
        six = [] if tensor_at is None else [self._number(tensor_at, name, who) for name in INERTIA]
        known = [x for x in six if x is not None]
        tensor: Six | None = None
        if len(known) == 6:
            tensor = (known[0], known[1], known[2], known[3], known[4], known[5])
        origin, origin_at = self._origin(e, who)
        return InertialPart(e, mass_at or e, tensor_at or e, mass, tensor, origin, origin_at)

    def _origin(self, parent: Element, who: str) -> tuple[Origin | None, Element]:
        e = self._one(parent, "origin", who)
        if e is None:
            return Origin(), parent
        xyz = self._vector(e, "xyz", who) if "xyz" in e.attributes else Origin.xyz
        rpy = self._vector(e, "rpy", who) if "rpy" in e.attributes else Origin.rpy
        return (None if xyz is None or rpy is None else Origin(xyz, rpy)), e

    def _shape(self, e: Element, role: str, owner: str) -> ShapePart:
        who = f"a {role} of {owner}"
        box = self._need(e, "geometry", who)
        form, geometry = e, None
        if box is not None:
            known = [child for child in box.children if child.tag in GEOMETRIES]
            if len(known) > 1:
                tags = " and ".join(f"<{child.tag}>" for child in known)
                sentence = f"<geometry> of {who} holds {tags}; keep one shape and repeat the element"
                self._note("D127", box, who, sentence)
            elif not box.children:
                sentence = f"<geometry> of {who} is empty; put one of {', '.join(GEOMETRIES)} into it"
                self._note("D127", box, who, sentence)
            elif not known:
                sentence = f"{who} is a <{box.children[0].tag:.40}>, which is no shape of URDF; use a mesh instead"
                self._note("D412", box, who, sentence)
            form = known[0] if known else box
            geometry = self._geometry(form, who) if known else None
        self.material(e, who)
        return ShapePart(e, role, form, geometry, self._origin(e, who)[0])

    def _geometry(self, e: Element, who: str) -> Geometry | None:
        if e.tag == "mesh":
            name = self._word(e, "filename", who)
            scale = self._vector(e, "scale", who) if "scale" in e.attributes else Mesh.scale
            return None if name is None or scale is None else Mesh(name, scale)
        if e.tag == "box":
            size = self._vector(e, "size", who)
            return None if size is None else Box(size)
        radius = self._number(e, "radius", who)
        if e.tag == "sphere":
            return None if radius is None else Sphere(radius)
        length = self._number(e, "length", who)
        if radius is None or length is None:
            return None
        return Cylinder(radius, length) if e.tag == "cylinder" else Capsule(radius, length)

    def material(self, owner: Element, who: str) -> None:
        e = self._one(owner, "material", who)
        if e is not None:
            self._color(e, who)

    def materials(self, root: Element) -> None:
        for e in root.all("material"):
            self._color(e, f"material {e.attributes.get('name', '')!r}")

    def _color(self, e: Element, who: str) -> None:
        color = self._one(e, "color", who)
        values = None if color is None else self._numbers(color, "rgba", 4, who)
        if color is not None and values is not None and not all(0 <= c <= 1 for c in values):
            clamped = " ".join(f"{min(max(c, 0.0), 1.0):g}" for c in values)
            sentence = f"the color of {who} is {color.attributes['rgba']!r}; r g b a lie in 0…1: write {clamped}"
            self._note("D411", color, who, sentence, self._case.set(color, rgba=clamped))

    def joint(self, e: Element) -> JointPart:
        name = self._word(e, "name", "a joint") or ""
        who = f"joint {name!r}"
        kind = self._word(e, "type", who) or ""
        ends = [self._need(e, tag, who) for tag in ("parent", "child")]
        parent, child = (None if end is None else self._word(end, "link", who) for end in ends)
        origin, origin_at = self._origin(e, who)
        if kind == "fixed":  # whatever else is written says nothing
            return JointPart(name, e, kind, parent, child, origin, origin_at, None, None, None, {}, None, None, {})
        axis_at, limit_at = self._one(e, "axis", who), self._one(e, "limit", who)
        mimic_at, dynamics_at = self._one(e, "mimic", who), self._one(e, "dynamics", who)
        if mimic_at is not None:
            self._word(mimic_at, "joint", who)
            self._some(mimic_at, ("multiplier", "offset"), who)
        axis = (1.0, 0.0, 0.0) if axis_at is None else self._vector(axis_at, "xyz", who)
        own = next(e.all(f"{PREFIX}:limit"), None)
        unlimited = frozenset(() if own is None else own.attributes.get("unlimited", "").split())
        known = [] if "all" in unlimited else [name for name in LIMITS if name not in unlimited]
        if limit_at is not None and kind == "revolute" and _endless(limit_at):
            edits = (*self._case.set(e, type="continuous"), *self._case.set(limit_at, lower=None, upper=None))
            sentence = f"{who} is revolute and its limits are infinite; make it continuous, without lower and upper"
            self._note("D110", limit_at, who, sentence, edits)
            known = [name for name in known if name not in ("lower", "upper")]
        limit = {} if limit_at is None else self._some(limit_at, known, who)
        dynamics = {} if dynamics_at is None else self._some(dynamics_at, ("damping", "friction"), who)
        return JointPart(
            name,
            e,
            kind,
            parent,
            child,
            origin,
            origin_at,
            axis,
            axis_at,
            limit_at,
            limit,
            mimic_at,
            dynamics_at,
            dynamics,
            unlimited,
        )

    def _some(self, e: Element, names: Sequence[str], who: str) -> dict[str, float]:
        values = {name: self._number(e, name, who, needed=False) for name in names}
        return {name: value for name, value in values.items() if value is not None}


def _number_rule(text: str, sentence: str) -> str:
    """Which rule a number that cannot be read breaks."""
    if not text.strip():
        return "D107"
    if "${" in text or "$(" in text:
        return "D104"
    if "must stand here" in sentence:
        return "D109"
    return "D110" if _not_finite(text.split()) or "64-bit" in sentence else "D108"


def _not_finite(words: Sequence[str]) -> bool:
    return any(word.lower().lstrip("+-") in ("nan", "inf", "infinity", "1.#inf", "1.#qnan") for word in words)


def _endless(limit: Element) -> bool:
    """Whether a joint may turn for ever either way, as far as words can say it."""
    lower, upper = (limit.attributes.get(name, "").strip().lower() for name in ("lower", "upper"))
    return lower in ("-inf", "-infinity") and upper in ("inf", "+inf", "infinity", "+infinity")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return not _not_finite([word]) and "_" not in word


def _same(a: Element, b: Element) -> bool:
    """Whether two elements say the same, to the letter."""
    pairs = list(zip(walk(a), walk(b), strict=False))
    return len(list(walk(a))) == len(list(walk(b))) and all(
        (x.tag, x.attributes, x.text.strip()) == (y.tag, y.attributes, y.text.strip()) for x, y in pairs
    )
