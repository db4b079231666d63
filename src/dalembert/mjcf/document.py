"""An MJCF document: included files in their places, and default classes laid under what an element says itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dalembert.describe.paths import climbed, escape
from dalembert.describe.xml import Element, parse
from dalembert.errors import DescriptionError, unknown
from dalembert.files import DESCRIPTION, contents

MAIN = "main"  # the class of what names none
LARGEST = 256  # files of one model


class Document:
    """The root element with its includes followed, and its default classes: {class: {tag: attributes}}."""

    def __init__(self, text: str | bytes, file: str | None = None) -> None:
        self.file = file
        self.folder = Path(file).parent if file else None
        self._included: set[Path] = set()
        self.root = self._whole(parse(text, file))
        if self.root.tag != "mujoco":
            raise self.root.refuse(f"the first element is <{self.root.tag}>; MJCF starts with <mujoco model=…>")
        self.classes: dict[str, dict[str, dict[str, str]]] = {MAIN: {}}
        for e in self.root.all("default"):
            self._defaults(e, None)

    def sections(self, tag: str) -> Iterator[Element]:
        """The children of every section of that name: sections may be repeated."""
        return (child for section in self.root.all(tag) for child in section.children)

    def settings(self, tag: str) -> Element:
        """One element with the attributes of every section of that name, later ones over earlier."""
        found = list(self.root.all(tag))
        merged = {k: v for e in found for k, v in e.attributes.items()}
        children = [child for e in found for child in e.children]
        return Element(tag, merged, found[-1].place if found else self.root.place, children)

    def complete(self, e: Element, childclass: str | None) -> Element:
        """The element with what its class gives it: the class it names, or that of what it stands in."""
        name = e.attributes.get("class", childclass or MAIN)
        if name not in self.classes:
            raise e.refuse(f"<{e.tag}> is of the {unknown('default class', name, self.classes)}")
        return replace(e, attributes={**self.classes[name].get(e.tag, {}), **e.attributes})

    # ------------------------------------------------------------------------------------------------- defaults
    def _defaults(self, e: Element, parent: str | None) -> None:
        name = e.attributes.get("class")
        if name is None:
            if parent is not None:
                raise e.refuse(f"a <default> inside class {parent!r} has no class; name it")
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

    # ------------------------------------------------------------------------------------------------- includes
    def _whole(self, e: Element) -> Element:
        """The element with every <include> below it replaced by what the file holds."""
        children: list[Element] = []
        for child in e.children:
            children += self._file(child) if child.tag == "include" else [self._whole(child)]
        return replace(e, children=children)

    def _file(self, e: Element) -> list[Element]:
        name = e.word("file", "an include")
        if self.folder is None:
            raise e.refuse(f"<include file={name!r}> needs the folder of the model; load it from a file")
        why = escape(name)
        if why is not None:
            raise e.refuse(f"the include is refused: {why}")
        path = self.folder / name
        if not path.resolve().is_relative_to(climbed(self.folder.resolve(), name)):
            raise e.refuse(f"the include {name!r} is refused: it leads to {path.resolve()}, outside the model's folder")
        if path.resolve() in self._included:
            raise e.refuse(f"{name!r} is included twice; include a file once")
        if len(self._included) >= LARGEST:
            raise e.refuse(f"more than {LARGEST} files are included")
        self._included.add(path.resolve())
        try:
            root = parse(contents(path, DESCRIPTION), str(path))
        except OSError as error:
            raise e.refuse(f"the included file {name!r} cannot be read: {error.strerror}") from None
        return self._whole(root).children


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
        raise DescriptionError(
            f"{e.place}: <{e.tag}> of {owner}: {attribute}={said!r:.40} must be one of {', '.join(choices)}"
        )
    return said
