"""The bundled robots: one TOML file each, written from published figures (see the notes in each)."""

from __future__ import annotations

from pathlib import Path

from dalembert.errors import unknown

_SUFFIX = ".toml"
_FOLDER = Path(__file__).parent  # importlib.resources costs more to import than all the rest of `load`


def names() -> tuple[str, ...]:
    """Every bundled robot, in alphabetical order."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*" + _SUFFIX)))


def text(name: str) -> str:
    """The TOML text of a bundled robot."""
    if name not in names():
        raise unknown("robot", name, names())
    return (_FOLDER / f"{name}{_SUFFIX}").read_text(encoding="utf-8")
