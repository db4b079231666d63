"""`check`: a description examined by every rule; `repair`: the text with every safe repair made."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from dalembert import robots
from dalembert.arguments import switch
from dalembert.describe import xml
from dalembert.describe.check import check as check_description
from dalembert.describe.description import Description
from dalembert.describe.urdf_read import URDF_KINDS, read_urdf
from dalembert.describe.urdf_write import write_urdf
from dalembert.errors import DalembertError, DescriptionError, InputError, Place
from dalembert.files import DESCRIPTION, contents, whole
from dalembert.findings import SEVERITIES, Finding, Findings, sort_findings, write_json, write_junit, write_sarif
from dalembert.loading import SUFFIXES, describe
from dalembert.robot import Robot
from dalembert.trust.doctor import joints, masses, shapes, structure  # noqa: F401 - they fill the table
from dalembert.trust.doctor.document import RULES, Change, Document, apply_rule, edit_text, read_document, walk

CHECK_SCHEMA = "dalembert-check/1"  # of JSON about several files
MAX_REPAIR_ROUNDS = 8  # one repair may uncover the next
_PLACE = re.compile(r"^(?P<file>.*?):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<rest>.*)$", re.DOTALL)
_LOADERS = ("D001", "D002")  # what the loader says and no other rule does
Paths = Sequence[str | os.PathLike[str]]


# what is given back


@dataclass(frozen=True)
class Repair:
    """A repaired text, the changes that were made, and a check-up of the result."""

    text: bytes
    changes: tuple[Change, ...]
    after: CheckUp

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the repaired file, whole or not at all."""
        return whole(path, lambda file: file.write(self.text))


@dataclass(frozen=True)
class Examined:
    """`loads`: whether Dalembert takes the description at all; `refusal`: why not; `seconds`: what the check took."""

    loads: bool
    refusal: str | None = None
    seconds: float = 0.0
    _source: _Source | None = field(default=None, repr=False, compare=False)


CheckUp = Findings[Finding, Examined]  # of one description, the worst first


def _check_up(file: str, findings: Iterable[Finding], facts: Examined) -> CheckUp:
    found: CheckUp = Findings(file, sort_findings(findings), facts, "check")
    return replace(found, title=f"{found.message}; {'loads' if facts.loads else 'does not load'}")


def repair(found: CheckUp) -> Repair:
    """Return the text of a checked file with every safe repair made, round after round, until nothing is left to
    repair.

    Only URDF files are repaired; attributes and elements are edited in place, and all else stays to the byte.

    Parameters
    ----------
    found : Findings
        What `check` found in the file.

    Returns
    -------
    Repair
        The text, the changes, and what `check` finds in the text.

    Raises
    ------
    InputError
        What was checked is not a URDF file."""
    source = found.facts._source
    if source is None or source.data is None or not source.is_file:
        remedy = "Convert it first: dalembert convert."
        raise InputError("unsupported", "found", found.source, expected="findings of a .urdf file", remedy=remedy)
    data, up, changes = source.data, found, list[Change]()
    for _ in range(MAX_REPAIR_ROUNDS):
        data, fresh = _repair_once(data, up.rows)
        if not fresh:
            break
        changes += fresh
        up = _examine(replace(source, data=data))
    return Repair(data, tuple(changes), up)


def _repair_once(data: bytes, findings: Sequence[Finding]) -> tuple[bytes, list[Change]]:
    """Every finding repaired whose edits touch nothing that an earlier one touches."""
    chosen: list[Finding] = []
    touched: set[tuple[int, str | None]] = set()
    for finding in findings:
        places = {(edit.number, edit.attribute) for edit in finding.edits}
        removes = any(attribute is None for _, attribute in places)
        if places and not places & touched and not (removes and touched):
            chosen.append(finding)
            touched |= places
            if removes:  # what else is in there is not touched before the next round
                break
    return edit_text(data, chosen) if chosen else (data, [])


# what is examined


@dataclass(frozen=True)
class _Source:
    """What is to be examined: the bytes of a URDF, or a description that another format gave."""

    file: str
    data: bytes | None = None
    description: Description | None = None
    refusal: str | None = None
    base_dir: Path | None = None
    package_dirs: tuple[Path, ...] = ()
    meshes: bool = True
    strict: bool = False
    is_file: bool = False


def check(
    model: str | os.PathLike[str] | Robot | Description,
    *,
    package_dirs: Paths = (),
    xacro: Mapping[str, object] | None = None,
    meshes: bool = True,
    strict: bool = False,
    allow: Collection[str] = (),
) -> CheckUp:
    """Examine a description: a file (.urdf, .xacro, .toml), a bundled robot's name, a `Robot` or a `Description`.

    Nothing in the file raises: what is wrong with it, be it that it cannot be read at all, is a `Finding`.
    `package_dirs` are the folders in which package:// is looked for; without `meshes` no mesh file is opened, and only
    simple shapes are compared with mass and inertia. `strict` and `allow` are those of `load`: whether what it refuses
    for shapes and colors keeps a file from loading, and what may be left out of MJCF."""
    started = time.perf_counter()
    if isinstance(package_dirs, (str, os.PathLike)):
        raise InputError(f"package_dirs is a list of folders, got the one path {os.fspath(package_dirs)!r}")
    folders = tuple(Path(d) for d in package_dirs)
    source = _source(model, folders, xacro, switch("strict", strict), allow)
    up = _examine(replace(source, package_dirs=folders, meshes=switch("meshes", meshes), strict=strict))
    return replace(up, facts=replace(up.facts, seconds=time.perf_counter() - started))


def _source(
    model: object, folders: Paths, xacro: Mapping[str, object] | None, strict: bool, allow: Collection[str]
) -> _Source:
    if isinstance(model, Robot):
        model = model.description
    if isinstance(model, Description):
        place = model.place.file
        base = Path(place).parent if place and os.path.isfile(place) else None
        return _Source(place or model.name, description=model, base_dir=base)
    if not isinstance(model, (str, os.PathLike)):
        got = type(model).__name__
        raise InputError(f"what is checked is a path, a bundled robot's name, a Robot or a Description, not {got}")
    name = os.fspath(model)
    if not name.strip():
        raise InputError(f"the name {name!r} of what is to be checked is empty; give a path or a bundled robot's name")
    path, kind = Path(name), Path(name).suffix.lower()
    if os.path.isdir(path):
        raise InputError(f"{name} is a folder; dalembert.trust.doctor.check_all looks at all that is in it")
    if name not in robots.names() and not os.path.exists(path):
        if kind in SUFFIXES or os.sep in name:
            raise InputError(f"{name}: there is no such file")
        describe(name)  # which says what is near
    base = path.parent if os.path.exists(path) else None
    try:
        if kind == ".urdf":
            return _Source(name, data=contents(path, DESCRIPTION), base_dir=base, is_file=True)
        if kind == ".xacro":
            from dalembert.describe.xacro import expand

            return _Source(f"{name} (expanded)", expand(path, xacro, package_dirs=folders).encode(), base_dir=base)
        description = describe(name, package_dirs=folders, xacro=xacro, strict=strict, allow=allow)
        return _Source(name, description=description, base_dir=base)
    except DescriptionError as error:
        return _Source(name, refusal=str(error))
    except OSError as error:
        return _Source(name, refusal=f"{name}: cannot be read: {error.strerror}; give a file that can")


def _examine(source: _Source) -> CheckUp:
    """Read leniently, load strictly, then ask every rule."""
    with np.errstate(all="ignore"):  # files hold 1e300, and rules look whether a result is finite
        document = _read(source)
        findings = [f for name in RULES if name not in _LOADERS for f in apply_rule(name, document)]
        _note_loaders_words(document, findings)
        findings += [f for name in _LOADERS for f in apply_rule(name, document)]
    if not source.is_file:  # there is no text of the user's to edit
        findings = [replace(f, edits=()) for f in findings]
    return _check_up(source.file, findings, Examined(document.refusal is None, document.refusal, _source=source))


def _read(source: _Source) -> Document:
    if source.refusal is not None:
        return _unreadable(source.file, source.refusal, "D001")
    data, description = source.data, source.description
    if description is not None:
        try:
            description = check_description(description, strict=source.strict)
            data = write_urdf(_for_urdf(description)).encode()
        except DalembertError as error:
            return _unreadable(source.file, str(error), "D001")
    assert data is not None
    try:
        root = xml.parse(data, source.file)
    except DescriptionError as error:
        return _unreadable(source.file, str(error), "D101")
    document = read_document(root, source.file)
    blank = len(data) - len(data.lstrip())
    if blank and data[blank:].startswith(b"<?xml"):
        first = xml.Element("", {}, Place(source.file, 1, 1))
        what = "blank lines stand" if b"\n" in data[:blank] else "a blank stands"
        document.note("D131", first, "file", f"{what} before <?xml; let the file begin with <?xml")
    document.base_dir, document.package_dirs, document.meshes = source.base_dir, source.package_dirs, source.meshes
    if description is not None:
        _put_places(document, description)
        document.description = description
    else:
        document.data = data
        try:
            document.description = read_urdf(data, file=source.file, strict=source.strict)
        except DalembertError as error:
            document.refusal = str(error)
    if document.refusal is not None and root.tag != "robot":
        return _unreadable(source.file, document.refusal, "D102")
    shapes.measure(document)
    return document


def _for_urdf(description: Description) -> Description:
    """Joints that URDF has no type for as revolute ones: what rules look at, limits and masses, is the same."""
    written = list(description.joints)
    for k, joint in enumerate(written):
        if joint.kind not in URDF_KINDS:
            numbers: dict[str, Any] = dict.fromkeys(joint.motion().numbers, 0.0)
            written[k] = replace(joint, kind="continuous" if joint.several else "revolute", **numbers)
    changed = any(joint.several for joint in description.joints)  # then positions have other names
    return replace(description, joints=tuple(written), home=() if changed else description.home)


def _unreadable(file: str, refusal: str, identifier: str) -> Document:
    """A document of nothing but the reason why there is nothing."""
    document = Document(xml.Element("", {}, Place(file)), file, refusal=refusal)
    _note_sentence(document, identifier, "file", refusal)
    return document


def _note_sentence(document: Document, identifier: str, who: str, text: str) -> None:
    """A loader's sentence, "place: what is wrong; what would be right"."""
    place, rest = _split_place(text, document.file)
    rest = re.sub(r"\. ([A-Z])([^.]*)\.$", lambda m: f"; {m[1].lower()}{m[2]}", rest)
    at = xml.Element(document.root.tag, {}, place)
    document.note(identifier, at, who, rest if "; " in rest else f"{rest}; correct it there")


def _split_place(text: str, file: str | None) -> tuple[Place, str]:
    """The place that a message begins with, and the rest of it."""
    match = _PLACE.match(text)
    if match and match["file"] == file:
        column = int(match["column"]) if match["column"] else None
        return Place(file, int(match["line"]), column), match["rest"]
    return Place(file), text.removeprefix(f"{file}: ")


def _put_places(document: Document, description: Description) -> None:
    """The lines of the file that the description came from, instead of those of the URDF made of it."""
    places = {("link", k.name): k.place for k in description.links}
    places |= {("joint", j.name): j.place for j in description.joints}
    places |= {("loop_joint", k.name): k.place for k in description.loops}
    for child in document.root.children:
        place = places.get((child.tag, child.attributes.get("name", "")), description.place)
        for e in walk(child):
            e.place = place
    document.root.place = description.place


def _note_loaders_words(document: Document, findings: Sequence[Finding]) -> None:
    """What the loader says and no rule has said: its refusal, and its warnings."""
    explained = "D001" in document.troubles or {finding.rule for finding in findings} & {"D101", "D102"}
    if document.refusal is not None and not explained:
        errors = [f for f in findings if f.severity == "error"]
        if not any(_is_about(f, document.refusal, document) for f in errors):
            _note_sentence(document, "D001", "robot", document.refusal)
    for text in document.description.warnings if document.description is not None else ():
        if not any(_is_about(f, text, document) for f in findings):
            _note_sentence(document, "D002", "robot", text)


def _is_about(finding: Finding, text: str, document: Document) -> bool:
    """Whether a finding is of the same line, or names the same link or joint, as a loader's sentence."""
    place, rest = _split_place(text, document.file)
    if place.line is not None and place.line == finding.line:
        return True
    if finding.rule == "D411" and "color" in rest:  # the loader names the shape, the rule the material
        return True
    name = finding.element.partition(" ")[2] or finding.element  # 'a' of link 'a'
    return name in rest


# many at once


def files_of(paths: Paths) -> list[Path]:
    """Every file named, and every .urdf below every folder named, in the order of their names."""
    found: list[Path] = []
    for given in paths:
        path = Path(given)
        if not os.path.exists(path):
            raise InputError(f"{path}: there is no such file or folder")
        below = sorted(_urdfs(path)) if path.is_dir() else [path]
        if not below:
            raise InputError(f"{path}: there is no .urdf below this folder")
        found += below
    return list(dict.fromkeys(found))


def _urdfs(folder: Path) -> Iterator[Path]:
    """Links to folders are not followed: they may lead in a circle."""
    for place, _, names in os.walk(folder):
        yield from (Path(place) / name for name in names if name.lower().endswith(".urdf"))


def check_all(
    paths: Paths,
    *,
    package_dirs: Paths = (),
    meshes: bool = True,
    strict: bool = False,
    allow: Collection[str] = (),
    each: Callable[[int, int, CheckUp], None] | None = None,
) -> list[CheckUp]:
    """A check-up of every file, and of every .urdf below every folder; `each(k, n, check_up)` is called after each."""
    files = files_of(paths)
    ups = []
    for k, file in enumerate(files):
        ups.append(_check_safely(file, package_dirs=package_dirs, meshes=meshes, strict=strict, allow=allow))
        if each is not None:
            each(k + 1, len(files), ups[-1])
    return ups


class _Reading(TypedDict):
    package_dirs: Paths
    meshes: bool
    strict: bool
    allow: Collection[str]


def _check_safely(file: Path, **how: Unpack[_Reading]) -> CheckUp:
    """The check-up; what goes wrong in it is a finding, because the next files wait."""
    started = time.perf_counter()
    try:
        return check(file, **how)
    except DalembertError as error:
        identifier, message, fix = "D001", str(error), "see the message"
    except Exception as error:  # a slip of ours must not cost the rest of the run
        identifier, message, fix = "D000", f"{type(error).__name__}: {error}", "report it"
    row = RULES[identifier]
    finding = Finding(identifier, row.severity, message, fix, Place(str(file)), "file", row.why)
    return _check_up(str(file), [finding], Examined(False, message, time.perf_counter() - started))


# for machines


def as_json(ups: Sequence[CheckUp]) -> str:
    """Return JSON about several files: {"schema": …, "files": [...], "counts": {...}, "loads": how many}."""
    counts = {severity: sum(up.counts[severity] for up in ups) for severity in SEVERITIES}
    files, loads = [up.data() for up in ups], sum(up.facts.loads for up in ups)
    return write_json({"schema": CHECK_SCHEMA, "files": files, "counts": counts, "loads": loads})


def as_sarif(ups: Sequence[CheckUp]) -> str:
    """Return SARIF 2.1.0: every rule is described, every finding is a result at its line."""
    return write_sarif(ups, {name: RULES[name] for name in sorted(RULES)})


FORMATS: dict[str, Callable[[Sequence[CheckUp]], str]] = {"json": as_json, "sarif": as_sarif, "junit": write_junit}
