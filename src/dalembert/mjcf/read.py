"""MJCF text → Description: bodies become links, their joints a chain to the parent, sites frames.

Carried: hinges and slides with ref, limits, armature, damping, frictionloss and springs; <inertial>, or the inertia of
geoms; default classes, frames, includes; linear couplings of two joints (<equality><joint>) as mimic joints; shapes; a
keyframe named home. Refused: free and ball joints, what is replicated or attached. Warned of: everything else that
moves or holds something. Source: the XML reference of MuJoCo, and its compiler where that is silent.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from dalembert.describe.check import check
from dalembert.describe.description import (
    Description,
    Inertial,
    Joint,
    Link,
    Mesh,
    Mimic,
    Shape,
)
from dalembert.describe.xml import Element
from dalembert.errors import unknown
from dalembert.mjcf.document import Document, reals
from dalembert.mjcf.geoms import Geom, inertia, read_geom
from dalembert.mjcf.joints import REMEDY, ReadJoint, read_joint
from dalembert.mjcf.placement import origin_of, placement
from dalembert.mjcf.settings import Settings, settings_of
from dalembert.model.mass import combine, to_inertial
from dalembert.spatial import Pose
from dalembert.spatial.vector import IDENTITY, ZERO, Vector, neg, sub

WORLD = "world"
# Sections that move, hold or drive something and have no place in a description.
_SECTIONS = {
    "actuator": "actuators",
    "tendon": "tendons",
    "contact": "contact pairs and exclusions",
    "deformable": "deformable bodies",
    "sensor": "sensors",
    "extension": "plugins",
}
_REFUSED = {
    "replicate": "write its copies out",
    "attach": "save the model as one file (mj_saveLastXML writes it)",
    "composite": "write its bodies out",
    "flexcomp": "a description holds rigid bodies; remove it",
}


def read_mjcf(text: str | bytes, *, file: str | None = None) -> Description:
    """The description in an MJCF document; `file` is the name that messages use, and where includes are looked for.

    What cannot be a mechanism here raises DescriptionError; what could not be carried is in `.warnings`."""
    return check(_Reader(Document(text, file)).description())


class _Reader:
    """One document being read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.warnings: list[str] = []
        self.settings: Settings = settings_of(document, self.warnings)
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.read: dict[str, ReadJoint] = {}  # in the order of MuJoCo's qpos
        self.names: set[str] = set()
        self.shapeless = 0
        self.meshes = self._meshes()
        self.colors = {
            e.attributes.get("name", ""): tuple(e.numbers("rgba", 4, "a material"))
            for e in document.sections("asset")
            if e.tag == "material" and "rgba" in e.attributes
        }

    def description(self) -> Description:
        root = self.document.root
        worlds = list(root.all("worldbody"))
        if not worlds:
            raise root.refuse("the model has no <worldbody>; there is nothing in it")
        self.names.add(WORLD)
        self._world(Element("worldbody", {}, worlds[0].place, [c for w in worlds for c in w.children]))
        self._equalities()
        self._said()
        return Description(
            root.attributes.get("model") or "MuJoCo Model",
            self._weighed(),
            tuple(self.joints),
            self.settings.gravity,
            home=self._home(),
            warnings=tuple(self.warnings),
            place=root.place,
        )

    # ---------------------------------------------------------------------------------------------------- bodies
    def _world(self, e: Element) -> None:
        parts = _Parts(self, e, Pose(), None, "the world")
        if parts.joints:
            raise parts.joints[0][0].refuse("a joint stands in <worldbody>; the world does not move")
        self.links.append(Link(WORLD, None, *self._shapes(parts.geoms, "the world"), e.place))
        self._rest(parts, WORLD, Pose())

    def _body(self, e: Element, parent: str, within: Pose, childclass: str | None) -> None:
        name = self._name(e, "body")
        who = f"body {name!r}"
        T = within @ placement(e, self.settings, who)
        parts = _Parts(self, e, Pose(), e.attributes.get("childclass", childclass), who)
        for attribute, word in (("mocap", "is moved from outside (mocap)"), ("gravcomp", "is relieved of gravity")):
            if e.attributes.get(attribute, "0") not in ("0", "false"):
                self.warnings.append(f"{e.place}: {who} {word}, which is not carried")
        self._chain(parts, name, parent, T, e)
        inertial = self._inertial(e, parts.geoms, who)
        self.links.append(Link(name, inertial, *self._shapes(parts.geoms, who), e.place))
        self._rest(parts, name, Pose())

    def _chain(self, parts: _Parts, name: str, parent: str, T: Pose, e: Element) -> None:
        """Joints one after the other, each through its anchor; then, if the last anchor is elsewhere, the body."""
        anchor: Vector = ZERO
        for k, (element, within, childclass) in enumerate(parts.joints):
            joint = self._joint(element, within, childclass, name, k, len(parts.joints))
            last = k == len(parts.joints) - 1
            moved = name if last and joint.anchor == ZERO else self._fresh(f"{name}/{joint.name}")
            if moved != name:
                self.links.append(Link(moved, place=element.place))
            origin = T @ Pose(IDENTITY, sub(joint.anchor, anchor)) @ joint.at_zero()
            x, y, z = (float(a) for a in joint.axis)
            made = Joint(joint.name, joint.kind, parent, moved, origin_of(origin), (x, y, z), place=element.place)
            self.joints.append(replace(made, limit=joint.limit, drive=joint.drive))
            parent, T, anchor = moved, Pose(), joint.anchor
        if parent != name:
            origin = T @ Pose(IDENTITY, neg(anchor))
            fixed = self._fresh(f"{name}_fixed")
            self.joints.append(Joint(fixed, "fixed", parent, name, origin_of(origin), place=e.place))

    def _joint(
        self, e: Element, within: Pose, childclass: str | None, body: str, k: int, count: int
    ) -> ReadJoint:
        name = e.attributes.get("name") or (f"{body}_joint" if count == 1 else f"{body}_joint{k + 1}")
        if e.tag == "freejoint":
            raise e.refuse(f"joint {name!r} is of type 'free', which moves in several ways; {REMEDY['free']}")
        if name in self.read:
            raise e.refuse(f"two joints are named {name!r}; rename one of them")
        joint = read_joint(self.document.complete(e, childclass), within, name, self.settings, self.warnings)
        self.read[name] = joint
        return joint

    def _rest(self, parts: _Parts, name: str, T: Pose) -> None:
        """Sites as frames, then the bodies that this one carries."""
        for e, within, childclass in parts.sites:
            complete = self.document.complete(e, childclass)
            said = complete.attributes.get("name")
            if said is None:
                continue
            site = self._fresh(said)
            origin = origin_of(within @ placement(complete, self.settings, f"site {said!r}"))
            self.links.append(Link(site, place=e.place))
            self.joints.append(Joint(self._fresh(f"{site}_fixed"), "fixed", name, site, origin, place=e.place))
        for e, within, childclass in parts.bodies:
            self._body(e, name, T @ within, childclass)

    def _name(self, e: Element, kind: str) -> str:
        said = e.attributes.get("name")
        if said is None:
            return self._fresh(f"{kind}{len(self.links)}")
        if said in self.names:
            raise e.refuse(f"two bodies are named {said!r}, or a body as the world or a site is; rename one of them")
        self.names.add(said)
        return said

    def _fresh(self, name: str) -> str:
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name

    # --------------------------------------------------------------------------------------------------- inertia
    def _inertial(self, e: Element, geoms: list[Geom], who: str) -> Inertial | None:
        written = e.one("inertial", who)
        how = self.settings.from_geoms
        if written is not None and how != "true":
            return self._bounded(self._written(written, who))
        if how == "false":
            return self._bounded(None)
        low, high = self.settings.groups
        counted = [g for g in geoms if low <= g.element.number("group", who, 0.0) <= high]
        total = combine(*(inertia(g, self.document, who) for g in counted))
        return self._bounded(to_inertial(total) if total.m > 0 else None)

    def _written(self, e: Element, who: str) -> Inertial:
        T = placement(e, self.settings, who)
        m = e.number("mass", who)
        if "fullinertia" in e.attributes:
            if "diaginertia" in e.attributes:
                raise e.refuse(f"<inertial> of {who} has diaginertia and fullinertia; keep one")
            xx, yy, zz, xy, xz, yz = e.numbers("fullinertia", 6, who)
            return Inertial(m, (xx, xy, xz, yy, yz, zz), origin_of(T))
        xx, yy, zz = e.numbers("diaginertia", 3, who) if "diaginertia" in e.attributes else ZERO
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
        pairs = [(geom, geom.shape(self.colors, who)) for geom in geoms]
        self.shapeless += sum(shape is None for _, shape in pairs)
        seen = tuple(shape for _, shape in pairs if shape is not None)
        return seen, tuple(shape for geom, shape in pairs if shape is not None and geom.collides())

    def _meshes(self) -> dict[str, Mesh]:
        found = {}
        for e in self.document.sections("asset"):
            if e.tag != "mesh" or "file" not in e.attributes:
                continue
            e = self.document.complete(e, None)
            file = e.word("file", "a mesh")
            name = e.attributes.get("name") or os.path.splitext(os.path.basename(file))[0]
            x, y, z = e.numbers("scale", 3, f"mesh {name!r}") if "scale" in e.attributes else (1.0, 1.0, 1.0)
            found[name] = Mesh(os.path.join(self.settings.mesh_folder, file), (x, y, z))
        return found

    # ------------------------------------------------------------------------------------------ what else is said
    def _equalities(self) -> None:
        """q₁ = ref₁ + a₀ + a₁ (q₂ − ref₂) is a mimic joint; other equalities are told."""
        other = 0
        for e in self.document.sections("equality"):
            if e.attributes.get("active") == "false":
                continue
            if e.tag != "joint" or "joint2" not in e.attributes:
                other += 1
                continue
            written = reals(e, "polycoef", 1, 5, "an equality") if "polycoef" in e.attributes else (0.0, 1.0)
            a = (*written, *(0.0,) * 4)
            first, second = self._named(e, "joint1"), self._named(e, "joint2")
            if any(a[2:5]):
                other += 1
                continue
            mimic = Mimic(second.name, a[1], first.ref + a[0] - a[1] * second.ref)
            self.joints = [replace(j, mimic=mimic) if j.name == first.name else j for j in self.joints]
        if other:
            self._warn(f"{_count(other, 'equality constraint')} {_are(other)} not carried")

    def _named(self, e: Element, attribute: str) -> ReadJoint:
        name = e.word(attribute, "an equality")
        if name not in self.read:
            raise e.refuse(f"an equality holds the {unknown('joint', name, self.read)}")
        return self.read[name]

    def _said(self) -> None:
        for section, word in _SECTIONS.items():
            count = sum(1 for _ in self.document.sections(section))
            if count:
                self._warn(f"{word} ({count}) are not carried")
        if self.shapeless:
            what = f"{_count(self.shapeless, 'geom')} (plane, ellipsoid, hfield or sdf)"
            self._warn(f"{what} {_are(self.shapeless)} not drawn")

    def _warn(self, sentence: str) -> None:
        self.warnings.append(f"{self.document.file or '<text>'}: {sentence}")

    def _home(self) -> tuple[tuple[str, float], ...]:
        """The keyframe named home: qpos of every joint, in the order of the file."""
        for e in self.document.sections("keyframe"):
            if e.attributes.get("name") == "home" and "qpos" in e.attributes:
                q = e.numbers("qpos", len(self.read), "keyframe 'home'")
                followers = {j.name for j in self.joints if j.mimic is not None}
                return tuple((name, x) for name, x in zip(self.read, q, strict=True) if name not in followers)
        return ()


class _Parts:
    """What stands in a body, <frame>s opened: (element, pose in the body, class of what it stands in)."""

    def __init__(self, reader: _Reader, e: Element, within: Pose, childclass: str | None, who: str) -> None:
        self.joints: list[tuple[Element, Pose, str | None]] = []
        self.bodies: list[tuple[Element, Pose, str | None]] = []
        self.sites: list[tuple[Element, Pose, str | None]] = []
        self.geoms: list[Geom] = []
        self._reader, self._who = reader, who
        self._open(e, within, childclass)

    def _open(self, e: Element, within: Pose, childclass: str | None) -> None:
        reader = self._reader
        keep: dict[str, Callable[[Element], None]] = {
            "joint": lambda c: self.joints.append((c, within, childclass)),
            "freejoint": lambda c: self.joints.append((c, within, childclass)),
            "body": lambda c: self.bodies.append((c, within, childclass)),
            "site": lambda c: self.sites.append((c, within, childclass)),
            "geom": lambda c: self.geoms.append(
                read_geom(reader.document.complete(c, childclass), within, reader.meshes, reader.settings, self._who)
            ),
            "frame": lambda c: self._open(
                c,
                within @ placement(c, reader.settings, f"a frame of {self._who}"),
                c.attributes.get("childclass", childclass),
            ),
        }
        for child in e.children:
            if child.tag in _REFUSED:
                raise child.refuse(f"<{child.tag}> of {self._who} is not read; {_REFUSED[child.tag]}")
            if child.tag in keep:
                keep[child.tag](child)
            elif child.tag not in ("inertial", "light", "camera"):
                reader.warnings.append(f"{child.place}: <{child.tag}> of {self._who} is not carried")


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
