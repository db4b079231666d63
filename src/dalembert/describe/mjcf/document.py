"""An MJCF document: included files in their places, and default classes laid under what an element says itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from dalembert.describe.mesh import climbed, escape
from dalembert.describe.xml import Element, parse
from dalembert.errors import unknown
from dalembert.files import DESCRIPTION, contents
from dalembert.spatial import Pose
from dalembert.spatial.vector import transpose

DEEPEST = 16  # models attached to models
UNNAMED = "MuJoCo Model"  # the name of a model without one
SUFFIX = " suffix"  # of all names of a copied <attach>; no attribute of XML is called so
MAIN = "main"  # the class of what names none
LARGEST = 256  # files of one model
MOST = 200_000  # elements, copies counted
# Elements of a body, and what one or another of them may say; MuJoCo refuses other words.
_BODILY = ("body", "frame", "joint", "freejoint", "geom", "inertial")
_WORDS = """
    actuatorfrclimited actuatorfrcrange actuatorgravcomp adhesion align armature axis axisangle castshadow childclass
    class conaffinity condim contype damping density diaginertia euler fitscale fluidcoef fluidshape friction
    frictionloss fromto fullinertia fuse gap gravcomp group hfield limited margin mass material mesh mocap name pos
    priority quat range ref rgba shellinertia simple size sleep solimp solimpfriction solimplimit solmix solref
    solreffriction solreflimit springdamper springref springyield stiffness surfacevel type user xyaxes zaxis
"""
ATTRIBUTES = frozenset(_WORDS.split())


class Document:
    """The root element with its includes followed, and its default classes: {class: {tag: attributes}}."""

    def __init__(self, text: str | bytes, file: str | None = None, within: Document | None = None) -> None:
        self.file = file
        self.folder = Path(file).parent if file else None
        # From where a description looks for its meshes.
        self.base: Path | None = self.folder if within is None else within.base
        self.below = "" if within is None else os.path.relpath(self.folder or ".", self.base or ".")
        self._depth: int = 0 if within is None else within._depth + 1
        self._included: set[str] = set()
        self.root = self._whole(parse(text, file))
        if self.root.tag == "mujocoinclude":
            problem = "this is a part that other files include"
            raise self.root.refuse("not-readable", "file", problem=problem, remedy="Load the file that includes it.")
        if self.root.tag != "mujoco":
            problem = f"the first element is <{self.root.tag}>, but MJCF starts with <mujoco model=…>"
            raise self.root.refuse("not-readable", "file", problem=problem)
        self.classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
        for e in self.root.all("default"):
            self._defaults(e, None)

    def model(self, name: str, e: Element) -> Document:
        """The model of <asset> by its name, as a document of its own."""
        found = {self._model_name(m): m for m in self.sections("asset") if m.tag == "model"}
        if name not in found:
            problem = f"<{e.tag}> names the {unknown('model', name, found)}"
            raise e.refuse("unknown-name", "model", name, problem=problem)
        if self._depth >= DEEPEST:
            raise e.refuse("too-large", "attach", problem=f"models are attached more than {DEEPEST} deep")
        data, path = self._bytes(found[name], "a model")
        return Document(data, str(path), self)

    def _model_name(self, e: Element) -> str:
        """The name of a <model> of <asset>: if it has none, the one in its file."""
        if "name" in e.attributes:
            return e.attributes["name"]
        data, path = self._bytes(e, "a model")
        return parse(data, str(path)).attributes.get("model", UNNAMED)

    def sections(self, tag: str) -> Iterator[Element]:
        """The children of every section of that name: sections may be repeated."""
        return (child for section in self.root.all(tag) for child in section.children)

    def settings(self, tag: str) -> Element:
        """One element with the attributes of every section of that name, later ones over earlier."""
        found = list(self.root.all(tag))
        merged = {k: v for e in found for k, v in e.attributes.items()}
        children = [child for e in found for child in e.children]
        return Element(tag, merged, found[-1].place if found else self.root.place, children)

    def strangers(self) -> Iterator[str]:
        """A sentence for each attribute of a body, joint, geom, … that is none of MJCF: what a slip meant is lost."""
        found = (e for tag in ("default", "worldbody") for section in self.root.all(tag) for e in _all(section))
        for e in found:
            for name in sorted(e.attributes.keys() - ATTRIBUTES) if e.tag in _BODILY else ():
                yield f"{e.place}: <{e.tag}> has {name!r:.40}, which is no attribute of MJCF and is skipped; correct it"

    def complete(self, e: Element, childclass: str | None, *tags: str) -> Element:
        """The element with what its class gives it: the class it names, or that of what it stands in. `tags`: under
        which names defaults of it stand, if not under its own."""
        name = e.attributes.get("class", childclass or MAIN)
        if name not in self.classes:
            problem = f"<{e.tag}> is of the {unknown('default class', name, self.classes)}"
            raise e.refuse("unknown-name", "class", name, problem=problem)
        given = {k: v for tag in tags or (e.tag,) for k, v in self.classes[name].get(tag, {}).items()}
        return replace(e, attributes={**given, **e.attributes})

    # ------------------------------------------------------------------------------------------------- defaults
    def _defaults(self, e: Element, parent: str | None) -> None:
        name = e.attributes.get("class")
        if name is None:
            if parent is not None:
                problem = f"a <default> inside class {parent!r} has no class"
                raise e.refuse("missing", "class", problem=problem, remedy="Name it.")
            name = MAIN
        base = self.classes[MAIN] if parent is None else self.classes[parent]
        known = self.classes.setdefault(name, {})
        for tag, attributes in base.items():
            known[tag] = {**attributes, **known.get(tag, {})}
        for child in e.children:
            if child.tag != "default":
                known[child.tag] = {**known.get(child.tag, {}), **child.attributes}
        if parent is None and name != MAIN:  # the outermost class may have a name of its own
            self.classes[MAIN] = known
        for child in e.all("default"):
            self._defaults(child, name)

    # --------------------------------------------------------------------------------------------------- copies
    def replicate(self, step: Callable[[Element], Pose]) -> None:
        """Put frames in the place of every <replicate>: each copy a `step` further than the last, and in its names the
        number of the copy, those of inner copies first. Source: MuJoCo's own reader."""
        room = MOST

        def opened(e: Element) -> list[Element]:
            nonlocal room
            e = replace(e, children=[inner for child in e.children for inner in opened(child)])
            if e.tag != "replicate":
                return [e]
            count = int(e.number("count", "a replicate"))
            room -= max(count, 0) * _size(e)
            if count < 1 or room < 0:
                why = "at least one must be made" if count < 1 else f"a model has at most {MOST} elements"
                problem = f"<replicate count={e.attributes['count']!r:.20}>: {why}"
                raise e.refuse("out-of-range", "count", e.attributes["count"], problem=problem)
            kept = {"childclass": e.attributes["childclass"]} if "childclass" in e.attributes else {}
            once, T, made = step(e), Pose(), []
            for k in range(count):
                suffix = e.attributes.get("sep", "") + str(k).zfill(len(str(count)))
                x, y, _ = transpose(T.R)
                at = {"pos": " ".join(map(repr, T.p)), "xyaxes": " ".join(map(repr, (*x, *y)))}
                children = [_renamed(child, suffix) for child in e.children]
                made.append(Element("frame", {**kept, **at}, e.place, children))
                T = T @ once
            return made

        (self.root,) = opened(self.root)

    # ------------------------------------------------------------------------------------------------- includes
    def _whole(self, e: Element) -> Element:
        """The element with every <include> below it replaced by what the file holds."""
        children: list[Element] = []
        for child in e.children:
            children += self._file(child) if child.tag == "include" else [self._whole(child)]
        return replace(e, children=children)

    def _file(self, e: Element) -> list[Element]:
        name = e.word("file", "an include")
        data, path = self._bytes(e, "an include")
        written = os.path.normpath(path)  # two symbolic links to one file are two files, as in MuJoCo
        if written in self._included:
            problem = f"{name!r} is included twice"
            raise e.refuse("duplicate", "file", name, problem=problem, remedy="Include a file once.")
        if len(self._included) >= LARGEST:
            raise e.refuse("too-large", "include", problem=f"more than {LARGEST} files are included")
        self._included.add(written)
        return self._whole(parse(data, str(path))).children

    def _bytes(self, e: Element, owner: str) -> tuple[bytes, Path]:
        """What the file of an <include> or <model> holds, and where it is: beside the model, else beside the file that
        names it."""
        name = e.word("file", owner)
        if self.folder is None:
            problem = f"<{e.tag} file={name!r}> needs the folder of the model"
            raise e.refuse("not-readable", "file", name, problem=problem, remedy="Load the model from a file.")
        why = escape(name)
        if why is not None:
            raise e.refuse("not-readable", "file", name, problem=f"the {e.tag} is refused: {why}")
        folder = next((f for f in (self.folder, folder_of(e)) if os.path.isfile(f / name)), self.folder)
        path = folder / name
        if not path.resolve().is_relative_to(climbed(folder.resolve(), name)):
            problem = (
                f"the {e.tag} {name!r} is refused, because it leads to {path.resolve()}, outside the model's folder"
            )
            raise e.refuse("not-readable", "file", name, problem=problem)
        try:
            return contents(path, DESCRIPTION), path
        except OSError as error:
            what = "included file" if e.tag == "include" else "file"
            problem = f"the {what} {name!r} cannot be read: {error.strerror}"
            raise e.refuse("not-readable", "file", name, problem=problem) from None


def folder_of(e: Element) -> Path:
    """The folder of the file in which an element is written, which may be an included one."""
    return Path(e.place.file or "").parent


def _renamed(e: Element, suffix: str) -> Element:
    named = {"name": e.attributes["name"] + suffix} if "name" in e.attributes else {}
    if e.tag == "attach":
        named[SUFFIX] = e.attributes.get(SUFFIX, "") + suffix
    return replace(e, attributes={**e.attributes, **named}, children=[_renamed(c, suffix) for c in e.children])


def _all(e: Element) -> Iterator[Element]:
    yield e
    for child in e.children:
        yield from _all(child)


def _size(e: Element) -> int:
    return sum(1 for _ in _all(e))


def reals(e: Element, attribute: str, least: int, most: int, owner: str) -> tuple[float, ...]:
    """An attribute of `least` to `most` numbers."""
    count = len(e.word(attribute, owner).split())
    return e.numbers(attribute, min(max(count, least), most), owner)


def switch(e: Element, attribute: str, default: bool, owner: str) -> bool:
    return default if (said := choice(e, attribute, ("true", "false"), owner)) is None else said == "true"


def choice(e: Element, attribute: str, choices: tuple[str, ...], owner: str) -> str | None:
    """An attribute that is one of some words, or None when it is not written."""
    said = e.attributes.get(attribute)
    if said is not None and said not in choices:
        problem = f"<{e.tag}> of {owner}: {attribute}={said!r:.40} must be one of {', '.join(choices)}"
        raise e.refuse("unknown-name", attribute, said, problem=problem)
    return said
