"""Every error and warning that Dalembert raises on purpose.

An error carries fields, and its text is made of them here, once. Python shows `` `q0` `` and `` `rate=100` ``, the
command line `--q0` and `--rate 100` (`dalembert.words.with_options`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MISSING: Any = ...  # the value of an error that is not about one value
MAX_SHOWN = 60  # characters of a value in a message
MAX_LISTED = 40  # names that a sentence lists
CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
ARGUMENT = re.compile(r"[^\W\d][\w.]*(\[.*\])?")  # of prose, such as "the mass of 'a'", the text has no backticks


# Names that no system has by itself, by how they begin, and what makes them.
MADE_BY = {"sensed_": "It is the state of a sensor: simulate dalembert.control.add_sensors(flow, names, lag) instead"}


class DalembertError(Exception):
    """An error that Dalembert raises on purpose.

    Parameters
    ----------
    code : str
        What is wrong, in kebab-case: "wrong-shape". It does not change between versions.
    argument : str, optional
        Name of the argument, the field or the option that is wrong.
    value : object, optional
        What was passed.
    expected : str, optional
        What would be right, as it follows "must be": "greater than 0", "shape (..., 7)", "not be zero".
    remedy : str, optional
        What to do, as a sentence: "Pass one value per joint."
    problem : str, optional
        What is wrong, as a sentence without its period. Otherwise it is made of argument, expected and value.
    place : Place or str, optional
        The file, line and column, or the part of a file, that the error is about. It stands before the text.
    """

    def __init__(
        self,
        code: str = "",
        argument: str | None = None,
        value: object = MISSING,
        *,
        expected: str = "",
        remedy: str = "",
        problem: str = "",
        place: Place | str = "",
    ) -> None:
        super().__init__(code, argument, value)
        if not CODE.fullmatch(code):  # a sentence alone
            code, problem = "", code
        self.code, self.argument, self.value = code, argument, value
        self.expected, self.remedy, self.problem, self.place = expected, remedy, problem, place

    @property
    def sentence(self) -> str:
        """The text without the place."""
        said = self.problem or self._made()
        if self.remedy:
            said += f"{'' if said.endswith(('.', '?', '!')) else '.'} {self.remedy}"
        return said

    def __str__(self) -> str:
        return f"{self.place}: {self.sentence}" if str(self.place) else self.sentence

    def __reduce__(self) -> Any:
        value = (
            self.value if isinstance(self.value, (str, int, float, type(None), type(MISSING))) else shown(self.value)
        )
        fields = {**self.__dict__, "value": value, "problem": self.problem or self._made()}
        return _restore, (type(self), fields)

    @property
    def fields(self) -> dict[str, object]:
        """Code, argument, value, expected and remedy as plain data."""
        value = None if self.value is MISSING else shown(self.value)
        return {
            "code": self.code,
            "argument": self.argument,
            "value": value,
            "expected": self.expected,
            "remedy": self.remedy,
        }

    def _made(self) -> str:
        """`q` must have shape (..., 7), got (3,)."""
        name = self.argument or "the value"
        name = f"`{name}`" if ARGUMENT.fullmatch(name) else name
        verb = "must have" if self.expected.startswith("shape ") else "must"
        verb += "" if self.expected.startswith(("shape ", "not ", "be ", "have ")) else " be"
        said = f"{name} {verb} {self.expected}" if self.expected else f"{name}: {self.code.replace('-', ' ')}"
        return said if self.value is MISSING else f"{said}, got {self._got()}"

    def _got(self) -> str:
        if self.code == "wrong-shape" and hasattr(self.value, "shape"):
            return str(tuple(self.value.shape))
        if self.code == "wrong-type":
            return f"{shown(self.value)} ({type(self.value).__name__})" if self.value is not None else "None"
        return shown(self.value)


def _restore(kind: type[DalembertError], fields: dict[str, Any]) -> DalembertError:
    """Unpickle an error."""
    error = kind.__new__(kind)
    error.__dict__.update(fields)
    return error


def shown(value: object) -> str:
    """Return the text of a value for a message, on one line and of at most MAX_SHOWN characters."""
    value = value.item() if hasattr(value, "item") and getattr(value, "size", 0) == 1 else value
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


class DescriptionError(DalembertError, ValueError):
    """A robot description (URDF, TOML, DH table, screw axes) that cannot be used."""


class InputError(DalembertError, ValueError):
    """An argument with the wrong shape, type or value."""


class UnknownNameError(DalembertError, KeyError):
    """A name of a robot, frame, joint, kernel or option that does not exist.

    Parameters
    ----------
    kind : str
        What is named: "frame".
    name : object
        The unknown name.
    choices : iterable of str
        The names that exist.
    argument : str, optional
        The argument that holds the name.
    remedy : str, optional
        What to do. Otherwise the nearest choices are shown, or all of them.
    """

    def __init__(
        self,
        kind: str,
        name: object,
        choices: Iterable[str] = (),
        *,
        argument: str | None = None,
        remedy: str = "",
        place: Place | str = "",
    ) -> None:
        self.kind, self.choices = kind, tuple(choices)
        self.nearest = _nearest(str(name), self.choices)
        if self.nearest:
            hint = f"did you mean {' or '.join(map(repr, self.nearest))}?"
        else:
            hint = f"choose from {listed(self.choices)}" if self.choices else f"there is no {kind} to choose from"
        text = str(name)
        hint += "".join(f". {how}" for start, how in MADE_BY.items() if text.startswith(start))
        short = repr(name if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…")
        problem = f"unknown {kind} {short}{'' if remedy else f'; {hint}'}"
        super().__init__("unknown-name", argument, name, problem=problem, remedy=remedy, place=place)

    __str__ = DalembertError.__str__  # KeyError would show repr(message)


def _nearest(name: str, choices: Iterable[str]) -> tuple[str, ...]:
    word = name.lower()
    holding = tuple(c for c in choices if len(word) > 1 and word in c.lower())  # PID is in 'classic PID'
    return holding if 0 < len(holding) < 4 else tuple(difflib.get_close_matches(name, choices, n=3, cutoff=0.6))


class SingularityError(DalembertError, ArithmeticError):
    """A representation or a matrix that is singular at the given state."""


class MissingExtraError(DalembertError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it."""


class WorkerError(DalembertError, RuntimeError):
    """A cluster that could not finish its work."""


class DalembertWarning(UserWarning):
    """A warning with a code, as errors have one."""

    def __init__(self, code: str = "", text: str = "") -> None:
        if not CODE.fullmatch(code):  # a sentence alone
            code, text = "", code
        super().__init__(code, text)
        self.code, self.text = code, text

    def __str__(self) -> str:
        return self.text


class ModelWarning(DalembertWarning):
    """A description that loads although it breaks physics or its own standard."""


class UnitWarning(DalembertWarning):
    """Numbers that look as if they were in another unit: degrees for radians."""


class ContactWarning(DalembertWarning):
    """Rollouts in which contacts with the ground cannot be sustained."""


class DivergenceWarning(DalembertWarning):
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
        """`file:line:column: `, or nothing if the description was never in a file."""
        return "" if self == Place() else f"{self}: "

    def refuse(
        self, code: str, argument: str | None = None, value: object = MISSING, **fields: str
    ) -> DescriptionError:
        """Return the error about this place, with fields as DalembertError has them."""
        place = "" if self == Place() else self
        return DescriptionError(code, argument, value, place=place, **fields)


@dataclass(frozen=True)
class KeyPlace(Place):
    """The place of a key in a file of tables: "robot.toml:3: joints[0].limit"."""

    key: str = ""

    def __str__(self) -> str:
        return f"{super().__str__()}: {self.key}"


class LoaderNote(str):
    """What a reader of descriptions says, as text, with its place and the sentence without the place as fields."""

    place: Place
    sentence: str

    def __new__(cls, text: str, place: Place = Place(), sentence: str = "") -> LoaderNote:
        made = super().__new__(cls, text)
        made.place, made.sentence = place, sentence or text
        return made

    @classmethod
    def at(cls, place: Place, sentence: str) -> LoaderNote:
        """Return a sentence about a place."""
        return cls(place.prefix + sentence, place, sentence)

    @classmethod
    def of(cls, error: DalembertError) -> LoaderNote:
        """Return what an error says."""
        fix = f"; {error.remedy[0].lower()}{error.remedy[1:].rstrip('.')}" if error.remedy else ""
        sentence = f"{error.problem or error._made()}{fix}"
        place = error.place if isinstance(error.place, Place) else Place()
        where = f"{place.key}: " if isinstance(place, KeyPlace) else ""
        return cls(str(error), Place(place.file, place.line, place.column), where + sentence)

    @classmethod
    def instead_of(cls, error: DalembertError, taken: str) -> LoaderNote:
        """Return what an error says, with what is taken instead of what to do."""
        said = f"{error.sentence.rpartition('; ')[0] or error.problem or error.sentence}; {taken}"
        place = error.place if isinstance(error.place, Place) else Place()
        return cls(f"{error.place}: {said}" if str(error.place) else said, place, said)


def listed(names: Iterable[str]) -> str:
    """'a', 'b', 'c'; of very many the first, and how many there are."""
    names = list(names)
    more = f", … ({len(names)} in all)" if len(names) > MAX_LISTED else ""
    return ", ".join(map(repr, names[:MAX_LISTED])) + more


def choose(kind: str, name: Any, choices: Iterable[str], argument: str | None = None) -> Any:
    """Return the name if it is one of the choices; raise UnknownNameError otherwise."""
    choices = tuple(choices)
    if isinstance(name, str) and name in choices:
        return name
    raise UnknownNameError(kind, name, choices, argument=argument)


unknown = UnknownNameError
