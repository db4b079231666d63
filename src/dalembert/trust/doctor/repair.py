"""Edits of a URDF's text: an attribute's value, or a whole element; all else, comments too, stays to the byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.parsers import expat

from dalembert.errors import InputError
from dalembert.findings import Edit, Finding

_ATTRIBUTE = re.compile(rb"""\s+([^\s=<>/"']+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_NAME = re.compile(rb"<[^\s/>]+")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}


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
