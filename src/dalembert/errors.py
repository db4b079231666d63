"""Every error and warning that Dalembert raises on purpose.

The message is the product: what was wrong, where, and what would be right.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class DalembertError(Exception):
    """Anything that Dalembert refuses on purpose; its text is a sentence for the user."""


class DescriptionError(DalembertError, ValueError):
    """A robot description (URDF, TOML, DH table, screw axes) that cannot be used."""


class InputError(DalembertError, ValueError):
    """An argument with the wrong shape, type or value."""


class UnknownNameError(DalembertError, KeyError):
    """A name of a robot, frame, joint, kernel or option that does not exist."""

    def __str__(self) -> str:  # KeyError would show repr(message)
        return str(self.args[0]) if self.args else ""


class SingularityError(DalembertError, ArithmeticError):
    """A representation or a matrix that is singular at the given state."""


class MissingExtraError(DalembertError, ImportError):
    """An optional dependency is not installed; the message says which command adds it."""


class WorkerError(DalembertError, RuntimeError):
    """A cluster that could not finish what it was given."""


class ModelWarning(UserWarning):
    """A description that loads although physics, or the standard it is written in, objects."""


class UnitWarning(UserWarning):
    """Numbers that look as if they were in another unit: degrees for radians."""


class ContactWarning(UserWarning):
    """Rollouts in which contacts with the ground cannot be sustained."""


class DivergenceWarning(UserWarning):
    """Rollouts of a batch that diverged: their results are NaN."""


@dataclass(frozen=True)
class Place:
    """Where something was written: file name, line and column (from 1), each if known."""

    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        numbers = () if self.line is None else (self.line,) if self.column is None else (self.line, self.column)
        return ":".join([self.file or "<text>", *map(str, numbers)])

    @property
    def prefix(self) -> str:
        """`file:line:column: `, or nothing for what was never in a file."""
        return "" if self == Place() else f"{self}: "

    def refuse(self, sentence: str) -> DescriptionError:
        """The error that says where and what."""
        return DescriptionError(self.prefix + sentence)


# Names that nothing has of itself, by how they begin, and what makes them.
_MADE = {"sensed_": "It is the state of a sensor: simulate dalembert.control.add_sensors(flow, names, lag) instead"}


LISTED = 40  # names that a sentence lists; of more, the first


def listed(names: Iterable[str]) -> str:
    """'a', 'b', 'c'; of very many the first, and how many there are."""
    names = list(names)
    return ", ".join(map(repr, names[:LISTED])) + (f", … ({len(names)} in all)" if len(names) > LISTED else "")


def choose(kind: str, name: Any, choices: Iterable[str]) -> Any:
    """The name, if it is one of the choices; an array or a list is none, and has no truth or hash to ask for."""
    choices = tuple(choices)
    if isinstance(name, str) and name in choices:
        return name
    raise unknown(kind, name, choices)


MAX_SHOWN = 60  # characters of an unknown name in a message


def unknown(kind: str, name: object, choices: Iterable[str]) -> UnknownNameError:
    """The error for a name that does not exist, with the nearest names that do."""
    choices = list(choices)
    word = str(name).lower()
    holding = [c for c in choices if len(word) > 1 and word in c.lower()]  # PID is in 'classic PID', and likest to 'PI'
    few = 0 < len(holding) < 4
    near = holding if few else difflib.get_close_matches(str(name), choices, n=3, cutoff=0.6)
    if near:
        hint = "did you mean " + " or ".join(repr(c) for c in near) + "?"
    elif not choices:
        hint = f"there is no {kind} to choose from"
    else:
        hint = f"choose from {listed(choices)}"
    made = next((f". {how}" for start, how in _MADE.items() if str(name).startswith(start)), "")
    shown = repr(name if len(str(name)) <= MAX_SHOWN else f"{str(name)[:MAX_SHOWN]}…")
    return UnknownNameError(f"unknown {kind} {shown}; {hint}{made}")
