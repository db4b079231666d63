"""MJCF text → Description: bodies become links, their joints a chain to the parent, sites frames.

Carried: hinges and slides with ref, limits, armature, damping, frictionloss and springs; ball and free joints, the
latter with the body's pose in the world as coordinates; <inertial>, or the inertia of geoms; default classes, frames,
copies, attached models, includes; linear couplings of two joints as mimic joints, <connect> and <weld> as loops;
shapes; a keyframe named home. Refused, unless allowed: what changes the equations of motion and has no place in a
description. Warned of: everything else that moves or holds something.
Source: the XML reference of MuJoCo, and its compiler where that is silent.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from dalembert.describe.check import check
from dalembert.describe.description import Description, Inertial, Joint, Link, Loop, Shape, positions
from dalembert.describe.mass import combine, to_inertial
from dalembert.describe.mjcf.couplings import read_actuators, read_equalities, read_tendons
from dalembert.describe.mjcf.document import SUFFIX, Document
from dalembert.describe.mjcf.geoms import Asset, Color, Geom, inertia, read_geom
from dalembert.describe.mjcf.joints import ReadJoint, read_joint
from dalembert.describe.mjcf.placement import Settings, euler, origin_of, placement, settings_of, spanned
from dalembert.describe.xml import Element
from dalembert.errors import DescriptionError, unknown
from dalembert.joints import JOINTS
from dalembert.spatial import Pose
from dalembert.spatial.rotation import to_quaternion
from dalembert.spatial.vector import IDENTITY, ZERO, Vector, neg, sub

WORLD = "world"
MANY = 8  # names that a sentence lists
# Sections that move, hold or drive something and have no place in a description.
_SECTIONS = {
    "actuator": "actuators",
    "tendon": "tendons",
    "contact": "contact pairs and exclusions",
    "deformable": "deformable bodies",
    "sensor": "sensors",
    "extension": "plugins",
}
# What may be left out where it changes the equations of motion, if the caller says so.
ALLOWED = ("actuators", "armature", "equalities", "springs", "tendons")
_REFUSED = {"composite": "Write out its bodies.", "flexcomp": "Remove it, because a description has rigid bodies only."}


def read_mjcf(
    text: str | bytes, *, file: str | None = None, strict: bool = False, allow: Collection[str] = ()
) -> Description:
    """The description in an MJCF document; `file` is the name that messages use, and where includes are looked for.

    What cannot be a mechanism here raises DescriptionError; what could not be carried is in `.warnings`. `allow` names
    what may be left out although it changes the equations of motion: any of `ALLOWED`. `strict`: what is wrong with
    colors and with bodies that do not move is refused too."""
    for word in (allow,) if isinstance(allow, str) else allow:
        if word not in ALLOWED:
            raise unknown("entry of allow", word, ALLOWED)
    reader = Reader(Document(text, file), strict, allow)
    return check(reader.description(), strict=strict)


class Reader:
    """One document being read; what it finds is shared with those of the models that are attached to it, whose names
    get `prefix` and `suffix`."""

    world = WORLD

    def __init__(
        self,
        document: Document,
        strict: bool,
        allow: Collection[str],
        into: Reader | None = None,
        prefix: str = "",
        suffix: str = "",
    ) -> None:
        self.document, self.strict, self.allow = document, strict, allow
        self.prefix, self.suffix = prefix, suffix
        self.warnings: list[str] = into.warnings if into else []
        self.links: list[Link] = into.links if into else []
        self.joints: list[Joint] = into.joints if into else []
        self.loops: list[Loop] = into.loops if into else []
        self.read: dict[str, ReadJoint] = into.read if into else {}  # in the order of MuJoCo's qpos
        self.names: set[str] = into.names if into else set()
        self.bodies: dict[str, str] = into.bodies if into else {}  # link of each name of a body
        self.sites: dict[str, str] = into.sites if into else {}
        self.poses: dict[str, Pose] = into.poses if into else {}  # of each link in the world, as the model is written
        self.held: set[str] = set()  # tendons whose length does not change
        self.free: dict[str, tuple[float, ...]] = into.free if into else {}  # where free joints are written
        self.mocap: set[str] = into.mocap if into else set()
        self.still: set[str] = into.still if into else set()  # links that no joint moves
        self.shapeless: list[Geom] = into.shapeless if into else []
        self.others: list[Reader] = into.others if into else []  # of the models that were attached
        self.partial = into is not None
        self.settings: Settings = settings_of(document, self.warnings)
        self.warnings += document.strangers()
        document.replicate(self._step)
        self.meshes = self._meshes()
        self.colors: dict[str, Color | None] = {}
        for e in document.sections("asset"):
            if e.tag == "material":
                self.colors[e.attributes.get("name", "")] = self._color(document.complete(e, None), "a material")

    def description(self) -> Description:
        root = self.document.root
        worlds = list(root.all("worldbody"))
        if not worlds:
            raise root.refuse("missing", "worldbody", problem="the model has no <worldbody>, so that it is empty")
        self.names |= {WORLD, *(self.called(n) for n in _names(worlds))}
        self.bodies[WORLD] = WORLD
        self.poses[WORLD] = Pose()
        self.still.add(WORLD)
        self._world(Element("worldbody", {}, worlds[0].place, [c for w in worlds for c in w.children]))
        for reader in (self, *self.others):
            read_equalities(reader)
            read_actuators(reader)
            read_tendons(reader)
            reader._said()
        home = self._home()
        if self.shapeless:
            what = f"{_count(len(self.shapeless), 'geom')} (plane, ellipsoid, hfield, sdf, or of a mesh without a file)"
            self._warn(f"{what} {_are(len(self.shapeless))} not drawn")
        return Description(
            root.attributes.get("model") or "MuJoCo Model",
            self._weighed(),
            tuple(self.joints),
            self.settings.gravity,
            loops=tuple(self.loops),
            home=home,
            warnings=tuple(self.warnings),
            place=root.place,
        )

    def _step(self, e: Element) -> Pose:
        offset = e.numbers("offset", 3, "a replicate", ZERO)
        return Pose(euler(e, self.settings, "a replicate") if "euler" in e.attributes else IDENTITY, offset)

    def called(self, name: str) -> str:
        return f"{self.prefix}{name}{self.suffix}"

    def lose(self, what: str, e: Element, sentence: str) -> None:
        """What changes the equations of motion and cannot be carried: an error, or a warning where it is allowed."""
        if what not in self.allow:
            remedy = f"To leave it out, load with `allow=[{what!r}]`."
            raise e.refuse("unsupported", "allow", what, problem=sentence, remedy=remedy)
        self.warnings.append(f"{e.place}: {sentence}; it is left out")

    def doubt(self, error: DescriptionError, taken: str) -> None:
        """What no number depends on: a warning that says what is taken instead, or the error if reading is strict."""
        if self.strict:
            raise error
        self.warnings.append(f"{str(error).rpartition('; ')[0] or error}; {taken}")

    # ---------------------------------------------------------------------------------------------------- bodies
    def _world(self, e: Element) -> None:
        parts = _Parts(self, e, Pose(), None, "the world")
        if parts.joints:
            problem = "a joint is in <worldbody>, and the world does not move"
            raise parts.joints[0][1].refuse("wrong-structure", "joint", problem=problem)
        self.links.append(Link(WORLD, None, *self._shapes(parts.geoms, "the world"), e.place))
        self._rest(parts, WORLD, Pose())

    def _body(self, e: Element, parent: str, within: Pose, childclass: str | None) -> None:
        name = self._name(e, "body")
        who = f"body {name!r}"
        T = within @ placement(e, self.settings, who)
        self.poses[name] = self.poses[parent] @ T
        parts = _Parts(self, e, Pose(), e.attributes.get("childclass", childclass), who)
        if parent in self.still and not parts.joints:
            self.still.add(name)
        for attribute, word in (("mocap", "is moved from outside (mocap)"), ("gravcomp", "is relieved of gravity")):
            if e.attributes.get(attribute, "0") not in ("0", "false"):
                self.warnings.append(f"{e.place}: {who} {word}, which is not carried")
        if e.attributes.get("mocap") == "true":
            self.mocap.add(name)
        self._chain(parts, name, parent, T, e)
        inertial = self._inertial(e, parts.geoms, name)
        self.links.append(Link(name, inertial, *self._shapes(parts.geoms, who), e.place))
        self._rest(parts, name, Pose())

    def attached(self, e: Element) -> tuple[Reader, Element, str | None]:
        """Of an <attach>: the reader of its model, what of that is taken, and the class that this stands in."""
        document = self.document.model(e.word("model", "an attach"), e)
        prefix, suffix = e.attributes.get("prefix", ""), e.attributes.get(SUFFIX, "")
        other = Reader(document, self.strict, self.allow, self, self.prefix + prefix, suffix + self.suffix)
        self.others.append(other)
        worlds = list(document.root.all("worldbody"))
        whole = Element("frame", {}, e.place, [c for w in worlds for c in w.children])
        known = {(c.tag, c.attributes.get("name", "")): (c, childclass) for c, childclass in _below(whole, None)}
        for tag in ("body", "frame"):
            if tag in e.attributes:
                name = e.attributes[tag]
                if (tag, name) not in known:
                    problem = f"<attach> takes the {unknown(tag, name, [n for t, n in known if t == tag])}"
                    raise e.refuse("unknown-name", tag, name, problem=problem)
                whole, childclass = known[tag, name]
                self.names |= {other.called(n) for n in _names([Element("", {}, e.place, [whole])])}
                return other, whole, childclass
        self.names |= {other.called(n) for n in _names([whole])}
        return other, whole, None

    def _chain(self, parts: _Parts, name: str, parent: str, T: Pose, e: Element) -> None:
        """Joints one after the other, each through its anchor; then, if the last anchor is elsewhere, the body."""
        anchor: Vector = ZERO
        for k, (reader, element, within, childclass) in enumerate(parts.joints):
            joint = reader._joint(element, within, childclass, name, k, len(parts.joints))
            last = k == len(parts.joints) - 1
            moved = name if last and joint.anchor == ZERO else self._fresh(f"{name}/{joint.name}")
            if moved != name:
                self.links.append(Link(moved, place=element.place))
            origin = T @ Pose(IDENTITY, sub(joint.anchor, anchor)) @ joint.at_zero()
            x, y, z = (float(a) for a in joint.axis)
            if joint.kind == "floating":
                if parent != WORLD or len(parts.joints) > 1:
                    why = "has other joints too" if parent == WORLD else "stands in another"
                    problem = f"joint {joint.name!r} is free, and body {name!r} {why}"
                    remedy = "A free joint must be the only joint of a body in the world."
                    raise element.refuse("wrong-structure", "joint", joint.name, problem=problem, remedy=remedy)
                self.free[joint.name] = tuple(float(x) for x in (*T.p, *to_quaternion(T.R)))
                origin = Pose()
            made = Joint(joint.name, joint.kind, parent, moved, origin_of(origin), (x, y, z), place=element.place)
            self.joints.append(replace(made, limit=joint.limit, drive=joint.drive))
            parent, T, anchor = moved, Pose(), joint.anchor
        if parent != name:
            origin = T @ Pose(IDENTITY, neg(anchor))
            fixed = self._fresh(f"{name}_fixed")
            self.joints.append(Joint(fixed, "fixed", parent, name, origin_of(origin), place=e.place))

    def _joint(self, e: Element, within: Pose, childclass: str | None, body: str, k: int, count: int) -> ReadJoint:
        said = e.attributes.get("name")
        name = self.called(said) if said else f"{body}_joint" if count == 1 else f"{body}_joint{k + 1}"
        if name in self.read:
            problem = f"two joints are named {name!r}"
            raise e.refuse("duplicate", "joint", name, problem=problem, remedy="Rename one of them.")
        complete = e if e.tag == "freejoint" else self.document.complete(e, childclass)
        inherited = complete.attributes.keys() - e.attributes.keys()
        joint = read_joint(complete, within, name, self.settings, self.warnings, self.lose, inherited)
        self.read[name] = joint
        return joint

    def _rest(self, parts: _Parts, name: str, T: Pose) -> None:
        """Sites as frames, then the bodies that this one carries."""
        for reader, e, within, childclass in parts.sites:
            complete = reader.document.complete(e, childclass)
            if "name" not in complete.attributes:
                continue
            said = reader.called(complete.attributes["name"])
            site = self._fresh(said)
            if site != said:
                self.warnings.append(f"{e.place}: site {said!r} is called {site!r}, for a link has its name")
            who = f"site {said!r}"
            if "fromto" in complete.attributes:
                placed = within @ spanned(complete, who)[1]
            else:
                placed = within @ placement(complete, reader.settings, who)
            self.sites[said], self.poses[site] = site, self.poses[name] @ placed
            self.links.append(Link(site, place=e.place))
            fixed = self._fresh(f"{site}_fixed")
            self.joints.append(Joint(fixed, "fixed", name, site, origin_of(placed), place=e.place))
        for reader, e, within, childclass in parts.bodies:
            reader._body(e, name, T @ within, childclass)

    def _name(self, e: Element, kind: str) -> str:
        said = e.attributes.get("name")
        name = self._fresh(f"{kind}{len(self.links)}") if said is None else self.called(said)
        if name in self.bodies:
            problem = f"two bodies are named {name!r}, or a body has the name of the world"
            raise e.refuse("duplicate", "body", name, problem=problem, remedy="Rename one of them.")
        self.names.add(name)
        self.bodies[name] = name
        return name

    def _fresh(self, name: str) -> str:
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    # --------------------------------------------------------------------------------------------------- inertia
    def _inertial(self, e: Element, geoms: list[Geom], name: str) -> Inertial | None:
        who = f"body {name!r}"
        written = e.one("inertial", who)
        how = self.settings.from_geoms
        if written is not None and how != "true":
            return self._bounded(self._written(written, who))
        if how == "false":
            return self._bounded(None)
        low, high = self.settings.groups
        counted = [g for g in geoms if low <= g.element.number("group", who, 0.0) <= high]
        try:
            total = combine(*(inertia(g, who) for g in counted))
        except DescriptionError as error:
            if name not in self.still or self.settings.total_mass > 0:
                raise
            self.doubt(error, "it does not move, and is taken without mass")
            return None
        return self._bounded(to_inertial(total) if total.m > 0 else None)

    def _written(self, e: Element, who: str) -> Inertial:
        T = placement(e, self.settings, who)
        m = e.number("mass", who)
        if "fullinertia" in e.attributes:
            if "diaginertia" in e.attributes:
                problem = f"<inertial> of {who} has diaginertia and fullinertia"
                raise e.refuse("conflict", "diaginertia", problem=problem, remedy="Keep one.")
            xx, yy, zz, xy, xz, yz = e.numbers("fullinertia", 6, who)
            return Inertial(m, (xx, xy, xz, yy, yz, zz), origin_of(T))
        xx, yy, zz = e.numbers("diaginertia", 3, who, ZERO)
        return Inertial(m, (xx, 0.0, 0.0, yy, 0.0, zz), origin_of(T))

    def _bounded(self, inertial: Inertial | None) -> Inertial | None:
        """Lower bounds and balance, as the compiler's settings ask."""
        s = self.settings
        if not (s.least_mass or s.least_inertia or s.balance):
            return inertial
        inertial = inertial or Inertial(0.0, (0.0,) * 6)
        moments = _principal(inertial.inertia, s.least_inertia, s.balance)
        return replace(inertial, mass=max(inertial.mass, s.least_mass), inertia=moments)

    def _weighed(self) -> tuple[Link, ...]:
        """All links; with settotalmass, every mass and inertia scaled alike."""
        wanted = self.settings.total_mass
        total = sum(link.inertial.mass for link in self.links if link.inertial is not None)
        if wanted <= 0 or total <= 0:
            return tuple(self.links)
        ratio = wanted / total
        return tuple(
            link if link.inertial is None else replace(link, inertial=_scaled(link.inertial, ratio))
            for link in self.links
        )

    # ---------------------------------------------------------------------------------------------------- shapes
    def _shapes(self, geoms: list[Geom], who: str) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        pairs = [(geom, geom.shape(self._painted(geom.element, who))) for geom in geoms]
        self.shapeless += [geom for geom, shape in pairs if shape is None]
        seen = tuple(shape for _, shape in pairs if shape is not None)
        return seen, tuple(shape for geom, shape in pairs if shape is not None and geom.collides())

    def _painted(self, e: Element, who: str) -> Color | None:
        return self._color(e, who) if "rgba" in e.attributes else self.colors.get(e.attributes.get("material", ""))

    def _color(self, e: Element, who: str) -> Color | None:
        if "rgba" not in e.attributes:
            return None
        try:
            r, g, b, a = e.numbers("rgba", 4, who)
        except DescriptionError as error:
            self.doubt(error, "it has no color")
            return None
        return (r, g, b, a)

    def _meshes(self) -> dict[str, Asset]:
        elements = (e for e in self.document.sections("asset") if e.tag == "mesh")
        assets = [Asset(e, self.document, self.settings) for e in elements]
        return {asset.name: asset for asset in assets}

    # ------------------------------------------------------------------------------------------ what else is said
    def _said(self) -> None:
        for section, word in _SECTIONS.items():
            count = sum(1 for _ in self.document.sections(section))
            if count:
                self._warn(f"{word} ({count}) are not carried")

        for note in dict.fromkeys(asset.note for asset in self.meshes.values() if asset.note):
            names = [repr(asset.name) for asset in self.meshes.values() if asset.note == note]
            more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
            which = f"mesh {names[0]} is" if len(names) == 1 else f"meshes {', '.join(names[:MANY])}{more} are"
            self._warn(f"{which} {note}")

    def _warn(self, sentence: str) -> None:
        self.warnings.append(f"{self.document.file or '<text>'}: {sentence}")

    def _home(self) -> tuple[tuple[str, float], ...]:
        """The keyframe named home: qpos of every joint, in the order of the file; else free bodies as written."""
        sizes = {name: JOINTS[joint.kind].nq for name, joint in self.read.items()}
        for e in self.document.sections("keyframe"):
            if e.attributes.get("name") == "home" and "qpos" in e.attributes:
                try:
                    q = iter(e.numbers("qpos", sum(sizes.values()), "keyframe 'home'"))
                except DescriptionError as error:
                    self.doubt(error, "the robot starts at zero, and free bodies start as written")
                    break
                followers = {j.name for j in self.joints if j.mimic is not None}
                found = {name: _position(list(islice(q, size))) for name, size in sizes.items()}
                return self._positions({name: x for name, x in found.items() if name not in followers})
        return self._positions(self.free)

    def _positions(self, of: Mapping[str, Sequence[float]]) -> tuple[tuple[str, float], ...]:
        return tuple(pair for name, q in of.items() for pair in positions(name, self.read[name].kind, q))


Part = tuple[Reader, Element, Pose, str | None]


class _Parts:
    """What stands in a body, <frame>s and attached models opened: (its reader, element, pose in the body, class of what
    it stands in)."""

    def __init__(self, reader: Reader, e: Element, within: Pose, childclass: str | None, who: str) -> None:
        self.joints: list[Part] = []
        self.bodies: list[Part] = []
        self.sites: list[Part] = []
        self.geoms: list[Geom] = []
        self._who = who
        self._open(reader, e, within, childclass)

    def _open(self, reader: Reader, e: Element, within: Pose, childclass: str | None) -> None:
        lists = {"joint": self.joints, "freejoint": self.joints, "body": self.bodies, "site": self.sites}
        for child in e.children:
            if child.tag in _REFUSED:
                problem = f"<{child.tag}> of {self._who} is not supported"
                raise child.refuse("unsupported", child.tag, problem=problem, remedy=_REFUSED[child.tag])
            if child.tag in lists:
                lists[child.tag].append((reader, child, within, childclass))
            elif child.tag == "geom":
                complete = reader.document.complete(child, childclass)
                self.geoms.append(read_geom(complete, within, reader.meshes, reader.settings, self._who))
            elif child.tag == "frame":
                placed = within @ placement(child, reader.settings, f"a frame of {self._who}")
                self._open(reader, child, placed, child.attributes.get("childclass", childclass))
            elif child.tag == "attach":
                other, taken, inner = reader.attached(child)
                if taken.tag == "body":
                    self.bodies.append((other, taken, within, inner))
                else:
                    self._open(other, Element("", {}, child.place, [taken]), within, inner)
            elif child.tag not in ("inertial", "light", "camera"):
                reader.warnings.append(f"{child.place}: <{child.tag}> of {self._who} is not carried")


def _below(e: Element, childclass: str | None) -> Iterator[tuple[Element, str | None]]:
    """Everything below an element, each with the class that it stands in."""
    for child in e.children:
        yield child, childclass
        yield from _below(child, child.attributes.get("childclass", childclass))


def _names(elements: list[Element]) -> list[str]:
    """The names of all bodies below some elements."""
    below = (child for e in elements for child, _ in _below(e, None))
    return [child.attributes["name"] for child in below if child.tag == "body" and "name" in child.attributes]


def _position(q: list[float]) -> list[float]:
    """Of one joint, from MuJoCo's, whose quaternions begin with w and have any length; 0 0 0 0 is no rotation there."""
    if len(q) == 1:
        return q
    w, *xyz = q[-4:] if any(q[-4:]) else (1.0, 0.0, 0.0, 0.0)
    length = math.hypot(w, *xyz)
    return [*q[:-4], *(x / length for x in (*xyz, w))]


Six = tuple[float, float, float, float, float, float]


def _principal(six: tuple[float, ...], least: float, balance: bool) -> Six:
    """The same axes, with moments not below `least`; all equal to their mean where they break the triangle."""
    import numpy as np

    xx, xy, xz, yy, yz, zz = six
    J, V = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    J = np.maximum(J, least)
    if balance and J[0] + J[1] < J[2]:
        J = np.full(3, J.mean())
    I = (V * J) @ V.T
    a, b, c, d, e, f = (float(I[i, j]) for i in range(3) for j in range(i, 3))
    return (a, b, c, d, e, f)


def _scaled(inertial: Inertial, ratio: float) -> Inertial:
    a, b, c, d, e, f = (ratio * x for x in inertial.inertia)
    return replace(inertial, mass=ratio * inertial.mass, inertia=(a, b, c, d, e, f))


def _count(n: int, what: str) -> str:
    return f"1 {what}" if n == 1 else f"{n} {what}s"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"
