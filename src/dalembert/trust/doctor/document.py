"""A URDF under examination: its links and joints as far as they can be read, and what could not be.

Everything keeps the element it was written in, so that a finding has its line; what could not be read is None.

The table of rules, and how a function that looks for something enters it.

Edits of a URDF's text: an attribute's value, or a whole element; all else, comments too, stays to the byte.
"""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from xml.parsers import expat

from dalembert.caching import cached_property
from dalembert.describe.description import Description
from dalembert.describe.urdf_read import HINGED, JointPart, LinkPart, Trouble, read_parts
from dalembert.describe.xml import Element
from dalembert.errors import InputError
from dalembert.findings import Edit, Finding, Rule, Severity
from dalembert.trust.doctor.reach import Extent

# Rules that nobody looks for: what reading, loading and measuring note as they go. Severity, title, why it matters.
_NOTED: dict[str, tuple[Severity, str, str]] = {
    "D000": (
        "error",
        "the check itself failed",
        "A slip of Dalembert, not of the file: please report it with the file.",
    ),
    "D001": ("error", "the loader refuses it", "The file cannot be loaded: nothing can be computed from it."),
    "D002": ("warning", "the loader warns", "The file loads, but not as it was written."),
    "D101": ("error", "not XML", "No program can read the file: everything after this place is lost."),
    "D102": ("error", "not a URDF", "The first element of a URDF is <robot>."),
    "D107": (
        "error",
        "something that must be there is missing",
        "Without it the element means nothing: no reader takes it.",
    ),
    "D108": ("error", "not a number", "A reader refuses it or, worse, reads the digits before it and drops the rest."),
    "D109": ("error", "too few or too many numbers", "Readers differ in what they take for the rest."),
    "D110": ("error", "not finite", "NaN and infinity spread through every sum, until all results are NaN."),
    "D111": ("error", "an element stands twice", "Only one can be meant, and readers differ in which they take."),
    "D127": ("error", "a geometry without exactly one shape", "The standard wants one shape; readers refuse others."),
    "D131": (
        "warning",
        "something before <?xml",
        "By the standard of XML nothing may stand before it, not even a blank: other parsers refuse the file.",
    ),
    "D404": ("warning", "a mesh file is missing", "The robot is not drawn, and collides with nothing there."),
    "D406": ("warning", "a mesh file is damaged", "It cannot be drawn, and says nothing of the link's size."),
    "D407": ("note", "a mesh of a type that is not read", "Whether mass and inertia fit the link cannot be checked."),
}
RULES: dict[str, Rule] = {name: Rule(name, *row) for name, row in _NOTED.items()}  # by identifier
LOOKS: dict[str, Callable[[Document], Iterable[Found]]] = {}  # the function of each rule, which looks for it
# The rule that each kind of trouble breaks; those of a joint's type are found by rules of their own.
_KINDS = {"missing": "D107", "twice": "D111", "geometry": "D127"}
_OPTIONAL = {"limit": ("effort", "velocity"), "dynamics": ("damping", "friction")}
_ATTRIBUTE = re.compile(rb"""\s+([^\s=<>/"']+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_NAME = re.compile(rb"<[^\s/>]+")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


@dataclass(frozen=True)
class Found:
    """What a rule says of one place; the rule itself adds the rest."""

    at: Element
    who: str
    message: str
    fix: str
    edits: tuple[Edit, ...] = ()


Look = TypeVar("Look", bound=Callable[..., Iterable[Found]])


def rule(
    identifier: str, severity: Severity, each: Callable[[Document], Iterable[tuple[object, ...]]] | None = None
) -> Callable[[Look], Look]:
    """Enter a function into the table: its docstring is the title of the rule and, after it, why it matters.

    The function is asked about a document and each of the things that `each` finds in it, or the document alone."""

    def enter(look: Look) -> Look:
        assert identifier not in RULES, identifier
        title, _, why = (inspect.getdoc(look) or identifier).partition("\n\n")
        RULES[identifier] = Rule(identifier, severity, title[0].lower() + title[1:].rstrip("."), " ".join(why.split()))
        LOOKS[identifier] = look if each is None else lambda document: _look_at_each(look, document, each(document))
        return look

    return enter


def _look_at_each(
    look: Callable[..., Iterable[Found]], document: Document, things: Iterable[tuple[object, ...]]
) -> Iterator[Found]:
    for thing in things:
        yield from look(document, *thing)


def apply_rule(identifier: str, document: Document) -> Iterator[Finding]:
    """All that one rule finds in a description, and what was noted for it."""
    row = RULES[identifier]
    looked = LOOKS[identifier](document) if identifier in LOOKS else ()
    for found in (*looked, *document.troubles.get(identifier, ())):
        yield Finding(
            identifier, row.severity, found.message, found.fix, found.at.place, found.who, row.why, found.edits
        )


@dataclass
class Document:
    """One description under examination. `description` is what the loader made of it, or None with its `refusal`."""

    root: Element
    file: str | None
    links: tuple[LinkPart, ...] = ()
    joints: tuple[JointPart, ...] = ()
    troubles: dict[str, list[Found]] = field(default_factory=dict)  # by the rule they break
    description: Description | None = None
    refusal: str | None = None
    base_dir: Path | None = None
    package_dirs: Sequence[Path] = ()
    meshes: bool = True  # whether mesh files are looked at
    reaches: dict[str, Extent] = field(default_factory=dict)  # of each link whose shapes are known
    data: bytes | None = None  # the text as it stands in the file, if it is URDF

    def __post_init__(self) -> None:
        self.numbers: dict[int, int] = {}  # of each element, by its id: its number in the document
        self.parents: dict[int, Element] = {}
        for k, element in enumerate(walk(self.root)):
            self.numbers[id(element)] = k
            self.parents |= {id(child): element for child in element.children}

    @property
    def parts(self) -> list[LinkPart | JointPart]:
        return [*self.links, *self.joints]

    def note(
        self, identifier: str, at: Element, who: str, sentence: str, edits: tuple[Edit, ...] = (), fix: str = ""
    ) -> None:
        """A trouble of a rule; the sentence is "what is wrong; what would be right", unless the fix is given."""
        message, _, rest = (sentence, "", fix) if fix else sentence.rpartition("; ")
        self.troubles.setdefault(identifier, []).append(Found(at, who, message or sentence, rest, edits))

    def set(self, at: Element, **values: str | None) -> tuple[Edit, ...]:
        """Edits that give an element's attributes these values; None removes one."""
        return tuple(Edit(self.numbers[id(at)], name, value) for name, value in values.items())

    def drop(self, at: Element) -> tuple[Edit, ...]:
        """The edit that removes an element."""
        return (Edit(self.numbers[id(at)]),)

    def written(self, at: Element) -> dict[str, str]:
        """Return the attributes of an element as they stand in the file: a parser makes line breaks blanks."""
        if self._spans is None or self.data is None:
            return at.attributes
        span = self._spans[self.numbers[id(at)]]
        text = self.data[span.start : span.tag_end]
        raw = {name.decode(): (a or b).decode(errors="replace") for name, a, b in _ATTRIBUTE.findall(text)}
        return {name: html.unescape(raw.get(name, value)) for name, value in at.attributes.items()}  # &#10; is a blank

    @cached_property
    def _spans(self) -> list[_Span] | None:
        try:
            return None if self.data is None else spans(self.data)
        except InputError:  # UTF-16
            return None

    # what reading found

    def note_trouble(self, trouble: Trouble) -> None:
        """What the reader could not read, by the rule that it breaks, with what is sure to be meant instead."""
        at, parent = trouble.at, self.parents.get(id(trouble.at), self.root)
        if trouble.who == "<robot>" and parent.tag == "material":
            who = f"material {parent.attributes.get('name', '')!r}"
            trouble = replace(trouble, who=who, sentence=trouble.sentence.replace("<robot>", who, 1))
        who, sentence = trouble.who, trouble.sentence
        if trouble.kind == "number":
            self._note_number(trouble)
        elif trouble.kind == "twice":
            same = say_the_same(next(parent.all(at.tag)), at)
            self.note("D111", at, who, sentence, self.drop(at) if same else ())
        elif trouble.kind in _KINDS:
            self.note(_KINDS[trouble.kind], at, who, sentence)

    def _note_number(self, trouble: Trouble) -> None:
        at, who, sentence, text = trouble.at, trouble.who, trouble.sentence, trouble.at.attributes
        joint = self.parents[id(at)]
        if at.tag == "limit" and joint.attributes.get("type") == HINGED and _is_endless(at):
            if trouble.attribute == "lower":
                edits = (*self.set(joint, type="continuous"), *self.set(at, lower=None, upper=None))
                sentence = f"{who} is revolute and its limits are infinite; make it continuous, without lower and upper"
                self.note("D110", at, who, sentence, edits)
            return
        identifier = _rule_of_number(text.get(trouble.attribute, ""), sentence)
        edits = self._mend(at, trouble.attribute, trouble.count)
        remedy = "expand the file with xacro" if identifier == "D104" else None
        if edits:
            value = edits[0].value
            remedy = "remove it: what is not written is unlimited or 0" if value is None else f"write {value!r}"
        if remedy is not None:
            sentence = f"{sentence.rpartition('; ')[0]}; {remedy}"
        self.note(identifier, at, who, sentence, edits)

    def _mend(self, e: Element, attribute: str, count: int) -> tuple[Edit, ...]:
        """What is sure to be meant: commas between numbers, and a limit or friction that is not a number at all."""
        text = e.attributes.get(attribute, "")
        words = text.replace(",", " ").split()
        if "," in text and len(words) == count and all(map(_is_number, words)):
            return self.set(e, **{attribute: " ".join(words)})
        if attribute in _OPTIONAL.get(e.tag, ()) and words and _is_not_finite(words):
            return self.set(e, **{attribute: None})
        return ()


def walk(root: Element) -> Iterator[Element]:
    """Every element in the order of the document."""
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack.extend(reversed(element.children))


def read_document(root: Element, file: str | None) -> Document:
    """The parts of a <robot>, with what could not be read as troubles."""
    document = Document(root, file)
    if root.tag == "robot":
        document.links, joints = read_parts(root, document.note_trouble)
        document.joints = tuple(_without_unlimited(joint) for joint in joints)
    return document


def _without_unlimited(joint: JointPart) -> JointPart:
    """The joint without limits that are declared to be none: they are written as large numbers for other programs."""
    kept = {} if "all" in joint.unlimited else {k: x for k, x in joint.limit.items() if k not in joint.unlimited}
    return replace(joint, limit=kept)


def _rule_of_number(text: str, sentence: str) -> str:
    """Which rule a number that cannot be read breaks."""
    if not text.strip():
        return "D107"
    if "${" in text or "$(" in text:
        return "D104"
    if "must stand here" in sentence:
        return "D109"
    return "D110" if _is_not_finite(text.split()) or "64-bit" in sentence else "D108"


def _is_not_finite(words: Sequence[str]) -> bool:
    return any(word.lower().lstrip("+-") in ("nan", "inf", "infinity", "1.#inf", "1.#qnan") for word in words)


def _is_endless(limit: Element) -> bool:
    """Whether a joint may turn for ever either way, as far as words can say it."""
    lower, upper = (limit.attributes.get(name, "").strip().lower() for name in ("lower", "upper"))
    return lower in ("-inf", "-infinity") and upper in ("inf", "+inf", "infinity", "+infinity")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return not _is_not_finite([word]) and "_" not in word


def say_the_same(a: Element, b: Element) -> bool:
    """Whether two elements say the same, to the letter."""
    one, two = ([(e.tag, e.attributes, e.text.strip()) for e in walk(root)] for root in (a, b))
    return one == two


@dataclass(frozen=True)
class Change:
    """One repair that was made: the finding's rule and place, and what was written instead of what."""

    rule: str
    line: int | None
    element: str
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.element}: {self.text} ({self.rule})"

    def data(self) -> dict[str, object]:
        return {"rule": self.rule, "line": self.line, "element": self.element, "text": self.text}


@dataclass(frozen=True)
class _Span:
    """Where an element stands in the bytes: its start tag, and its end."""

    start: int
    tag_end: int
    end: int


def spans(data: bytes) -> list[_Span]:
    """The places of all elements, in the order of the document."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]:
        raise InputError("the file is UTF-16, whose bytes are not edited; save it as UTF-8")
    blank = len(data) - len(data.lstrip())
    parser = expat.ParserCreate()
    found: list[list[int]] = []
    stack: list[int] = []

    def start(_tag: str, _attributes: dict[str, str]) -> None:
        at = parser.CurrentByteIndex + blank
        stack.append(len(found))
        found.append([at, _tag_end(data, at), 0])

    def end(_tag: str) -> None:
        row = found[stack.pop()]
        empty = data[row[1] - 2 : row[1]] == b"/>"
        row[2] = row[1] if empty else data.index(b">", parser.CurrentByteIndex + blank) + 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data[blank:], True)
    return [_Span(*row) for row in found]


def _tag_end(data: bytes, start: int) -> int:
    """After the '>' that closes a start tag; one inside quotes does not."""
    match = re.compile(rb"""(?:[^>"']|"[^"]*"|'[^']*')*>""").match(data, start)
    assert match is not None  # it was parsed
    return match.end()


def edit_text(data: bytes, findings: Sequence[Finding]) -> tuple[bytes, list[Change]]:
    """The bytes with the edits of these findings made, and what that changed; an edit where another one has been
    before is left out, and so is its finding from what was changed."""
    places = spans(data)
    splices: list[tuple[int, int, bytes]] = []
    changes = []
    for finding in findings:
        texts = []
        for edit in finding.edits:
            start, stop, fresh, text = _splice(data, places[edit.number], edit)
            if not any((start < b and a < stop) or (a, b) == (start, stop) for a, b, _ in splices):
                splices.append((start, stop, fresh))
                texts.append(text)
        if len(texts) == len(finding.edits):
            changes.append(Change(finding.rule, finding.line, finding.element, "; ".join(texts)))
    for start, stop, fresh in sorted(splices, reverse=True):
        data = data[:start] + fresh + data[stop:]
    return data, changes


def _splice(data: bytes, span: _Span, edit: Edit) -> tuple[int, int, bytes, str]:
    """(from, to, what stands there instead, in words)."""
    tag = data[span.start : span.tag_end]
    head = _NAME.match(tag)
    assert head is not None
    name = head[0][1:].decode("utf-8", "replace")
    if edit.attribute is None:
        start, stop = _line(data, span.start, span.end)
        return start, stop, b"", f"<{name}> removed"
    what = f"{edit.attribute} of <{name}>"
    for match in _ATTRIBUTE.finditer(tag, head.end()):
        if match[1] == edit.attribute.encode():
            group = 2 if match[2] is not None else 3
            old = match[group].decode("utf-8", "replace")
            if edit.value is None:
                return span.start + match.start(), span.start + match.end(), b"", f"{what} {old!r} removed"
            inside = (span.start + match.start(group), span.start + match.end(group))
            return *inside, _escape(edit.value), f"{what} {old!r} → {edit.value!r}"
    if edit.value is None:
        return span.start, span.start, b"", f"{what} was not there"
    at = span.start + head.end()
    return at, at, b" " + edit.attribute.encode() + b'="' + _escape(edit.value) + b'"', f"{what} → {edit.value!r}"


def _escape(value: str) -> bytes:
    return "".join(_ESCAPES.get(c, c) for c in value).encode()


def _line(data: bytes, start: int, stop: int) -> tuple[int, int]:
    """An element with its line, if it stands there alone."""
    before = data.rfind(b"\n", 0, start) + 1
    after = data.find(b"\n", stop)
    if after >= 0 and not data[before:start].strip() and not data[stop:after].strip():
        return before, after + 1
    return start, stop
