"""Where in a TOML text something stands, and what to say about it.

`tomllib` forgets lines, so they are found again by a light scan of the text: headers, keys, and the
path they stand for. It is only used to point at a place; what it cannot find, it leaves out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, get_args

import msgspec

from dalembert.describe.toml_schema import TomlRobot
from dalembert.errors import DescriptionError, unknown
from dalembert.findings import Place

Path = tuple[str | int, ...]

_HEADER = re.compile(r"""^\s*(\[\[?)\s*([\w."'-]+(?:\s*\.\s*[\w"'-]+)*)\s*\]\]?""")
_KEY = re.compile(r"""^\s*["']?([\w-]+)["']?\s*=""")
_TYPES = {
    "float": "a number",
    "int": "a whole number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "date": "a date",
}


@dataclass(frozen=True)
class Source:
    """A TOML text with the file it came from: makes errors that name the path and the line."""

    text: str
    file: str | None = None

    def place(self, *path: str | int) -> Place:
        return Place(self.file, line_of(self.text, path))

    def error(self, path: Path, sentence: str) -> DescriptionError:
        where = show_path(path)
        return DescriptionError(f"{self.place(*path)}: {where + ': ' if where else ''}{sentence}")


def show_path(path: Path) -> str:
    """joints[2].limit.lower"""
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out


def line_of(text: str, path: Path) -> int | None:
    """The line (from 1) on which the longest found part of the path was written."""
    best, found = 0, None
    here: Path = ()
    counts: dict[tuple[str, ...], int] = {}
    quote: str | None = None
    for number, row in enumerate(text.splitlines(), 1):
        inside = quote is not None
        for mark in re.findall(r'"""|\'\'\'', row):
            quote = mark if quote is None else None if mark == quote else quote
        if inside:
            continue
        if match := _HEADER.match(row):
            names = tuple(part.strip().strip("\"'") for part in match[2].split("."))
            if match[1] == "[[":
                counts[names] = counts.get(names, -1) + 1
            here = _indexed(names, counts)
            written = here
        elif match := _KEY.match(row):
            written = (*here, match[1])
        else:
            continue
        if len(written) > best and written == path[: len(written)]:
            best, found = len(written), number
    return found


def _indexed(names: tuple[str, ...], counts: dict[tuple[str, ...], int]) -> Path:
    """dh.rows → ("dh", "rows", 3) while the fourth [[dh.rows]] is open."""
    out: list[str | int] = []
    for i, name in enumerate(names):
        out.append(name)
        if (count := counts.get(names[: i + 1])) is not None:
            out.append(count)
    return tuple(out)


def from_msgspec(source: Source, error: msgspec.ValidationError) -> DescriptionError:
    """msgspec's message as a sentence with our path, the line, and the keys that do exist."""
    text, _, where = str(error).partition(" - at `$")
    path = _parse_path(where.rstrip("`"))
    if match := re.search(r"unknown field `(.*)`", text):
        known = _keys_at(path)
        return source.error((*path, match[1]), str(unknown("key", match[1], known)))
    if match := re.search(r"missing required field `(.*)`", text):
        return source.error(path, f"the key {match[1]!r} is missing")
    if match := re.search(r"`array` of length (\d+), got (\d+)", text):
        return source.error(path, f"expected {match[1]} numbers, got {match[2]}")
    if match := re.search(r"Expected `([^`]*)`, got `([^`]*)`", text):
        return source.error(path, f"expected {_words(match[1])}, got {_words(match[2])}")
    return source.error(path, text)


def _words(types: str) -> str:
    names = [_TYPES.get(name.strip(), name.strip()) for name in types.split("|") if name.strip() != "null"]
    return " or ".join(names)


def _parse_path(text: str) -> Path:
    """.joints[2].limit → ("joints", 2, "limit")"""
    parts = re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", text)
    return tuple(name or int(index) for name, index in parts)


def _keys_at(path: Path) -> list[str]:
    """The keys of the table at the path, from the schema."""
    kind: Any = TomlRobot
    for part in path:
        if isinstance(part, int):
            kind = _first_struct(kind)
            continue
        by_name = {f.encode_name: f.type for f in msgspec.structs.fields(_first_struct(kind))}
        kind = by_name[part]
    return [f.encode_name for f in msgspec.structs.fields(_first_struct(kind))]


def _first_struct(kind: Any) -> Any:
    """The struct in `list[Struct]`, `Struct | None` or `Struct`."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    for part in get_args(kind):
        if (inner := _first_struct(part)) is not None:
            return inner
    return None
