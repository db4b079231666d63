"""`check`: a description examined by every rule, and `CheckUp`, what was found."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dalembert import robots
from dalembert.arguments import switch
from dalembert.describe import xml
from dalembert.describe.check import check as checked
from dalembert.describe.description import Description
from dalembert.describe.urdf_read import read_urdf
from dalembert.describe.urdf_write import write_urdf
from dalembert.errors import DalembertError, DescriptionError, InputError
from dalembert.files import DESCRIPTION, contents, whole
from dalembert.findings import SEVERITIES, Finding, Place, Report, sort_findings, write_json, write_junit, write_sarif
from dalembert.loading import SUFFIXES, describe
from dalembert.robot import Robot
from dalembert.trust.doctor import fit, followers, inertials, joints, shapes, syntax, tree  # noqa: F401 - they fill the table
from dalembert.trust.doctor.case import Case, read_case, walk
from dalembert.trust.doctor.repair import Change, edited, in_words
from dalembert.trust.doctor.rules import RULES, Found, apply_rule, rule

TOOL = "dalembert check"
ROUNDS = 8  # of repairs; one may uncover the next
_PLACE = re.compile(r"^(?P<file>.*?):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<rest>.*)$", re.DOTALL)
_LOADERS = ("D001", "D002")  # what the loader says and no other rule does
Paths = Sequence[str | os.PathLike[str]]


# the rules that need no parts


@rule("D001", "error", "the loader refuses it", "The file cannot be loaded: nothing can be computed from it.")
def refused(case: Case) -> Iterator[Found]:
    return case.trouble("D001")


@rule("D002", "warning", "the loader warns", "The file loads, but not as it was written.")
def warned(case: Case) -> Iterator[Found]:
    return case.trouble("D002")


@rule("D101", "error", "not XML", "No program can read the file: everything after this place is lost.")
def malformed(case: Case) -> Iterator[Found]:
    return case.trouble("D101")


@rule("D102", "error", "not a URDF", "The first element of a URDF is <robot>.")
def not_a_robot(case: Case) -> Iterator[Found]:
    return case.trouble("D102")


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
class CheckUp(Report):
    """What was found in one description, the worst first.

    `loads` says whether Dalembert takes it at all (`refusal` says why not); `seconds` is what the check took."""

    loads: bool
    refusal: str | None = None
    seconds: float = 0.0
    _source: _Source | None = field(default=None, repr=False, compare=False)

    @property
    def file(self) -> str:
        return self.source

    def data(self) -> dict[str, object]:
        """The check-up as plain data."""
        return {"file": self.file, "loads": self.loads, "seconds": round(self.seconds, 4), **super().data()}

    def __str__(self) -> str:
        loads = "loads" if self.loads else "does not load"
        return "\n".join([f"{self.file}: {self.verdict}; {loads}", *map(str, self.findings)])

    def repaired(self) -> Repair:
        """The text with every safe repair made, round after round, until nothing is left that can be repaired.

        Only URDF files are repaired; attributes and elements are edited in place, and all else stays to the byte."""
        if self._source is None or self._source.data is None or not self._source.is_file:
            raise InputError(f"{self.file}: only .urdf files are repaired; convert it first (dalembert convert)")
        source, up = self._source, self
        changes: list[Change] = []
        for _ in range(ROUNDS):
            assert source.data is not None
            data, fresh = _one_round(source.data, up.findings)
            if not fresh:
                break
            changes += fresh
            source = replace(source, data=data)
            up = _examined(source)
        assert source.data is not None
        return Repair(source.data, tuple(changes), up)


def _one_round(data: bytes, findings: Sequence[Finding]) -> tuple[bytes, list[Change]]:
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
    if not chosen:
        return data, []
    data, said = edited(data, [edit for finding in chosen for edit in finding.edits])
    changes, k = [], 0
    for finding in chosen:
        text = in_words(said[k : k + len(finding.edits)])
        k += len(finding.edits)
        if text is not None:
            changes.append(Change(finding.rule, finding.line, finding.element, text))
    return data, changes


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
    source = _source(model, folders, {"xacro": xacro, "strict": switch("strict", strict), "allow": allow})
    up = _examined(replace(source, package_dirs=folders, meshes=switch("meshes", meshes), strict=strict))
    return replace(up, seconds=time.perf_counter() - started)


def _source(model: Any, folders: tuple[Path, ...], how: Mapping[str, Any]) -> _Source:
    if isinstance(model, Robot):
        model = model.description
    if isinstance(model, Description):
        place = model.place.file
        base = Path(place).parent if place and Path(place).is_file() else None
        return _Source(place or model.name, description=model, base_dir=base)
    if not isinstance(model, (str, os.PathLike)):
        got = type(model).__name__
        raise InputError(f"what is checked is a path, a bundled robot's name, a Robot or a Description, not {got}")
    name = os.fspath(model)
    if not name.strip():
        raise InputError(f"the name {name!r} of what is to be checked is empty; give a path or a bundled robot's name")
    path = Path(name)
    if path.is_dir():
        raise InputError(f"{name} is a folder; dalembert.trust.doctor.check_all looks at all that is in it")
    if name not in robots.names() and not path.exists():
        if path.suffix.lower() in SUFFIXES or os.sep in name:
            raise InputError(f"{name}: there is no such file")
        describe(name)  # which says what is near
    if path.suffix.lower() == ".urdf":
        return _urdf(path, name)
    return _other(path, name, folders, how)


def _urdf(path: Path, name: str) -> _Source:
    try:
        return _Source(name, data=contents(path, DESCRIPTION), base_dir=path.parent, is_file=True)
    except OSError as error:
        return _Source(name, refusal=f"{name}: cannot be read: {error.strerror}; give a file that can")


def _other(path: Path, name: str, folders: tuple[Path, ...], how: Mapping[str, Any]) -> _Source:
    base = path.parent if path.exists() else None
    try:
        if path.suffix.lower() == ".xacro":
            from dalembert.describe.xacro import expand

            text = expand(path, how["xacro"], package_dirs=folders)
            return _Source(f"{name} (expanded)", text.encode(), base_dir=base)
        return _Source(name, description=describe(name, package_dirs=folders, **how), base_dir=base)
    except DescriptionError as error:
        return _Source(name, refusal=str(error))


def _examined(source: _Source) -> CheckUp:
    """Read leniently, load strictly, then ask every rule."""
    with np.errstate(all="ignore"):  # files hold 1e300, and rules look whether a result is finite
        case = _case(source)
        findings = [f for name in RULES if name not in _LOADERS for f in apply_rule(name, case)]
        _loaders_words(case, findings)
        findings += [f for name in _LOADERS for f in apply_rule(name, case)]
    if not source.is_file:  # there is no text of the user's to edit
        findings = [replace(f, edits=()) for f in findings]
    return CheckUp(source.file, sort_findings(findings), case.refusal is None, case.refusal, 0.0, source)


def _case(source: _Source) -> Case:
    if source.refusal is not None:
        return _unreadable(source.file, source.refusal, "D001")
    data, description = source.data, source.description
    if description is not None:
        try:
            description = checked(description, strict=source.strict)
        except DalembertError as error:
            return _unreadable(source.file, str(error), "D001")
        data = write_urdf(description).encode()
    assert data is not None
    try:
        root = xml.parse(data, source.file)
    except DescriptionError as error:
        return _unreadable(source.file, str(error), "D101")
    case = read_case(root, source.file)
    blank = len(data) - len(data.lstrip())
    if blank and data[blank:].startswith(b"<?xml"):
        first = xml.Element("", {}, Place(source.file, 1, 1))
        what = "blank lines stand" if b"\n" in data[:blank] else "a blank stands"
        case.troubles.append(("D131", Found(first, "file", f"{what} before <?xml", "let the file begin with <?xml")))
    case.base_dir, case.package_dirs, case.meshes = source.base_dir, source.package_dirs, source.meshes
    if description is not None:
        _put_places(case, description)
        case.description = description
    else:
        _load(case, data, source.strict)
    if case.refusal is not None and root.tag != "robot":
        return _unreadable(source.file, case.refusal, "D102")
    shapes.measure(case)
    return case


def _unreadable(file: str, refusal: str, identifier: str) -> Case:
    """A case of nothing but the reason why there is nothing."""
    place, rest = _placed(refusal, file)
    case = Case(xml.Element("", {}, place), file, refusal=refusal)
    case.troubles.append((identifier, _found(case.root, "file", rest)))
    return case


def _found(at: xml.Element, who: str, sentence: str) -> Found:
    """Of a loader's sentence "what is wrong; what would be right"."""
    message, _, fix = sentence.rpartition("; ")
    return Found(at, who, message, fix) if message else Found(at, who, sentence, "correct it there")


def _placed(text: str, file: str | None) -> tuple[Place, str]:
    """The place that a message begins with, and the rest of it."""
    match = _PLACE.match(text)
    if match and match["file"] == file:
        column = int(match["column"]) if match["column"] else None
        return Place(file, int(match["line"]), column), match["rest"]
    return Place(file), text.removeprefix(f"{file}: ")


def _load(case: Case, data: bytes, strict: bool) -> None:
    try:
        case.description = read_urdf(data, file=case.file, strict=strict)
    except DalembertError as error:
        case.refusal = str(error)


def _put_places(case: Case, description: Description) -> None:
    """The lines of the file that the description came from, instead of those of the URDF made of it."""
    places = {("link", k.name): k.place for k in description.links}
    places |= {("joint", j.name): j.place for j in description.joints}
    places |= {("loop_joint", k.name): k.place for k in description.loops}
    for child in case.root.children:
        place = places.get((child.tag, child.attributes.get("name", "")), description.place)
        for e in walk(child):
            e.place = place
    case.root.place = description.place


def _loaders_words(case: Case, findings: Sequence[Finding]) -> None:
    """What the loader says and no rule has said: its refusal, and its warnings."""
    known = {finding.rule for finding in findings} & {"D101", "D102"}
    errors = [f for f in findings if f.severity == "error"]
    explained = known or any(case.trouble("D001"))
    if case.refusal is not None and not explained and not any(_about(f, case.refusal, case) for f in errors):
        _say(case, "D001", case.refusal)
    for text in case.description.warnings if case.description is not None else ():
        if not any(_about(f, text, case) for f in findings):
            _say(case, "D002", text)


def _about(finding: Finding, text: str, case: Case) -> bool:
    """Whether a finding is of the same line, or names the same link or joint, as a loader's sentence."""
    place, rest = _placed(text, case.file)
    if place.line is not None and place.line == finding.line:
        return True
    if finding.rule == "D411" and "color" in rest:  # the loader names the shape, the rule the material
        return True
    name = finding.element.partition(" ")[2] or finding.element  # 'a' of link 'a'
    return name in rest


def _say(case: Case, identifier: str, text: str) -> None:
    place, rest = _placed(text, case.file)
    case.troubles.append((identifier, _found(xml.Element(case.root.tag, {}, place), "robot", rest)))


# for machines


def as_json(ups: Sequence[CheckUp]) -> str:
    """{"files": [...], "counts": {...}, "loads": how many}; lines and columns count from 1."""
    counts = {severity: sum(up.count(severity) for up in ups) for severity in SEVERITIES}
    return write_json({"files": [up.data() for up in ups], "counts": counts, "loads": sum(up.loads for up in ups)})


def as_sarif(ups: Sequence[CheckUp]) -> str:
    """SARIF 2.1.0: every rule is described, every finding is a result at its line."""
    return write_sarif(ups, RULES, TOOL)


def as_junit(ups: Sequence[CheckUp]) -> str:
    """JUnit XML: a suite per file, and in it a case per finding."""
    return write_junit([(up, up.seconds) for up in ups], TOOL)


FORMATS: dict[str, Callable[[Sequence[CheckUp]], str]] = {"json": as_json, "sarif": as_sarif, "junit": as_junit}
