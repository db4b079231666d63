"""An XML tree that knows its lines, and strict numbers, on the standard library's expat.

A DOCTYPE is refused outright: robot descriptions need no entities, and entity bombs are made of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from dalembert.errors import MISSING, DescriptionError, Place

# Far above any real description (a humanoid with hands: 0.5 MB, depth 8).
LARGEST = 64_000_000
DEEPEST = 200

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPACE = " \t\r\n"  # XML's own; str.split() would also take no-break spaces


@dataclass
class Element:
    """A tag with its attributes, children and place; `text` is what stood between its tags."""

    tag: str
    attributes: dict[str, str]
    place: Place
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, tag: str) -> Iterator[Element]:
        """The children of that tag, in order."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """The first child of that tag, or None."""
        return next(self.all(tag), None)

    def one(self, tag: str, owner: str) -> Element | None:
        """The child of that tag, or None; two of them are refused, for only one could be meant."""
        found = list(self.all(tag))
        if len(found) > 1:
            problem = f"{owner} has {len(found)} <{tag}> elements"
            raise found[1].refuse("duplicate", tag, problem=problem, remedy="Keep one.")
        return found[0] if found else None

    def need(self, tag: str, owner: str) -> Element:
        """The child of that tag, which must be there."""
        child = self.one(tag, owner)
        if child is None:
            raise self.refuse("missing", tag, problem=f"{owner} has no <{tag}>", remedy="Add one.")
        return child

    def refuse(
        self, code: str, argument: str | None = None, value: object = MISSING, **fields: str
    ) -> DescriptionError:
        """Return the error about this element, with fields as DalembertError has them."""
        return DescriptionError(code, argument, value, place=self.place, **fields)

    def word(self, attribute: str, owner: str) -> str:
        """An attribute that must be there and not be blank."""
        value = self.attributes.get(attribute)
        if value is None or not value.strip():
            what = "no" if value is None else "an empty"
            problem = f"<{self.tag}> of {owner} has {what} attribute '{attribute}'"
            raise self.refuse("missing", attribute, problem=problem, remedy="Give it.")
        return value

    def number(self, attribute: str, owner: str, default: float | None = None) -> float:
        """An attribute of one number; without a default it must be there."""
        return self.numbers(attribute, 1, owner, None if default is None else (default,))[0]

    def optional(self, attribute: str, owner: str) -> float | None:
        """An attribute of one number, or None when it is not written."""
        return self.number(attribute, owner) if attribute in self.attributes else None

    def numbers(
        self, attribute: str, count: int, owner: str, default: tuple[float, ...] | None = None
    ) -> tuple[float, ...]:
        """An attribute of exactly `count` finite decimal numbers between white space; without a default it must be
        there."""
        if default is not None and attribute not in self.attributes:
            return default
        text = self.word(attribute, owner)
        what = f"<{self.tag}> of {owner}: {attribute}={_short(text)}"
        words = [w for w in re.split(f"[{_SPACE}]+", text) if w]
        for word in words:
            if not _NUMBER.fullmatch(word):
                hint = "Expand xacro first." if "${" in text else "Write decimals such as 0.5 or 1e-3."
                problem = f"{what} contains {_short(word)}, which is not a finite number"
                raise self.refuse("syntax", attribute, word, problem=problem, remedy=hint)
        if len(words) != count:
            problem, remedy = f"{what} contains {_count(len(words))}", f"{_count(count)} must stand here."
            raise self.refuse("wrong-shape", attribute, text, problem=problem, remedy=remedy)
        values = tuple(float(word) for word in words)
        if not all(math.isfinite(v) for v in values):
            problem = f"{what} is too large for a 64-bit number"
            raise self.refuse("out-of-range", attribute, text, problem=problem, remedy="Check its exponent.")
        return values


def _count(n: int) -> str:
    return "1 number" if n == 1 else f"{n} numbers"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def parse(text: str | bytes, file: str | None = None) -> Element:
    """The root element of an XML document, or a DescriptionError with line and column."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
    if len(data) > LARGEST:
        size = f"{len(data) / 1e6:.0f} MB"
        problem = f"{size} is too long; at most {LARGEST // 10**6} MB are read"
        raise DescriptionError("too-large", "text", place=Place(file), problem=problem)
    # Blank lines before <?xml …?> are an error to expat and common in generated files.
    blank = len(data) - len(data.lstrip())
    skipped = data[:blank].count(b"\n")
    encoding = "utf-8" if isinstance(text, str) else None  # a str is decoded already, whatever it declares
    return _Builder(file, encoding, skipped).build(data[blank:])


class _Builder:
    """Turns expat's events into elements."""

    def __init__(self, file: str | None, encoding: str | None, skipped: int) -> None:
        self._file = file
        self._skipped = skipped
        self._stack: list[Element] = []
        self._root: Element | None = None
        self._parser = expat.ParserCreate(encoding)
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype

    def build(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except DescriptionError:
            raise
        except expat.ExpatError as error:
            place = self._place(error.lineno, error.offset)
            reason = expat.ErrorString(error.code)
            if data.find(b"<?xml") > 3 and self._root is None:  # 3: a byte order mark
                problem = f"the XML is malformed ({reason}): something stands before <?xml"
                raise DescriptionError("syntax", "text", place=place, problem=problem, remedy="Remove it.") from None
            problem = f"the XML is malformed ({reason})"
            raise DescriptionError("syntax", "text", place=place, problem=problem, remedy="Correct it there.") from None
        except (LookupError, ValueError) as error:  # an encoding that Python does not know or cannot use
            remedy = "Save the file as UTF-8."
            raise DescriptionError(
                "not-readable", "text", place=self._here(), problem=str(error), remedy=remedy
            ) from None
        if self._root is None:
            problem = "the text contains no XML element"
            raise DescriptionError("not-readable", "text", place=self._here(), problem=problem)
        return self._root

    def _place(self, line: int, column: int) -> Place:
        return Place(self._file, line + self._skipped, column + 1)

    def _here(self) -> Place:
        return self._place(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self._here())
        if len(self._stack) >= DEEPEST:
            problem = f"elements are nested deeper than {DEEPEST}, which no robot description needs"
            raise element.refuse("too-large", problem=problem)
        if self._stack:
            self._stack[-1].children.append(element)
        else:
            self._root = element
        self._stack.append(element)

    def _end(self, tag: str) -> None:
        self._stack.pop()

    def _characters(self, text: str) -> None:
        if self._stack:
            self._stack[-1].text += text

    def _doctype(self, *_: object) -> None:
        problem = "a DOCTYPE is refused, because entities can make a file explode"
        raise DescriptionError("unsupported", "text", place=self._here(), problem=problem, remedy="Remove it.")
