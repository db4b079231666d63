"""ROS packages by the <name> in their package.xml, which may differ from the name of their folder.

It imports nothing of Dalembert: the process that expands xacro loads it as a file of its own.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

MANIFEST = "package.xml"
_LONGEST = 1 << 20  # bytes that are read of a manifest
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")


def packages(folders: Iterable[Path]) -> dict[str, Path]:
    """The package that each of these folders is, and those right inside it, by name; the first of a name counts."""
    found: dict[str, Path] = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            for place in (folder, *sorted(folder.iterdir())):
                if (name := _name(place / MANIFEST)) is not None:
                    found.setdefault(name, place)
    return found


def _name(manifest: Path) -> str | None:
    try:
        if not manifest.is_file():
            return None
        with manifest.open("rb") as file:
            match = _NAME.search(_COMMENT.sub(b"", file.read(_LONGEST)))
    except OSError:
        return None
    return match[1].decode("utf-8", "replace") if match else None
