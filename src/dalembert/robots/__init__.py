"""The bundled robots: one TOML file each, written from published figures (see the notes in each)."""

from __future__ import annotations

from importlib.resources import files

from dalembert.errors import unknown

_SUFFIX = ".toml"


def names() -> tuple[str, ...]:
    """Every bundled robot, in alphabetical order."""
    entries = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in entries if name.endswith(_SUFFIX)))


def text(name: str) -> str:
    """The TOML text of a bundled robot."""
    if name not in names():
        raise unknown("robot", name, names())
    return (files(__name__) / f"{name}{_SUFFIX}").read_text(encoding="utf-8")
