"""`LogSettings`: what a user says about a log, in Python, as options of a command or in a TOML file.

columns, units, sign, offset     which columns hold what, and how they count
ratio, coupling, torque_constant the drives between what was recorded and the joints
gravity, lock                    how the arm was mounted, which joints were held
rate, window, gaps, …            times, and what is done about rows that are wrong
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import number, three
from dalembert.errors import InputError, unknown
from dalembert.files import DESCRIPTION, contents
from dalembert.identification.log.units import UNITS, ByGroup
from dalembert.robot import Robot
from dalembert.words import call, read_number, read_value, say

# What may be done about a trouble; the first of each is done unless another is asked for.
CHOICES = {
    "bad_rows": ("refuse", "drop"),
    "outliers": ("remove", "keep"),
    "gaps": ("cut", "refuse"),
    "resample": ("auto", "refuse", "force"),
    "still": ("refuse", "keep"),
}
COMMANDS = ("identify", "observe")  # tables of a file of settings that hold options of these
SIGNALS = ("q", "qd", "tau")


class LogWords(TypedDict, total=False):
    """The words that `LogSettings` and `read_log` take."""

    columns: Mapping[str, object] | None
    units: Mapping[str, str | Sequence[str] | None] | None
    sign: ArrayLike | ByGroup | None
    offset: ArrayLike | ByGroup | None
    ratio: ArrayLike | ByGroup | None
    coupling: ArrayLike | None
    torque_coupling: ArrayLike | None
    torque_constant: ArrayLike | None
    gravity: ArrayLike | None
    lock: Mapping[str, float] | None
    order: Mapping[str, Sequence[int]] | None
    lag: float | None
    rate: float | None
    window: tuple[float | None, float | None] | str | None
    topic: str | None
    bad_rows: str | None
    outliers: str | None
    gaps: str | None
    resample: str | None
    still: str | None


# What may stand before a value at the command line, q=…; any name if the tuple is empty.
KEYS: dict[str, tuple[str, ...]] = {
    "columns": ("t", *SIGNALS),
    "units": tuple(UNITS),
    "sign": SIGNALS,
    "offset": ("q", "tau"),
    "ratio": SIGNALS,
    "order": ("q", "tau"),
    "lock": (),
}
EXAMPLES: dict[str, object] = {
    "columns": {"t": "time", "q": "pos_{i}"},
    "units": {"q": "deg"},
    "lock": {"finger_joint": 0.02},
    "order": {"tau": [1, 3, 2]},
}


@dataclass(frozen=True)
class LogSettings:
    """What is said about a log; None where nothing is. `read_log` tells what each word means."""

    columns: Mapping[str, Any] | None = None
    units: Mapping[str, Any] | None = None
    sign: Any = None
    offset: Any = None
    ratio: Any = None
    coupling: Any = None
    torque_coupling: Any = None
    torque_constant: Any = None
    gravity: tuple[float, float, float] | None = None
    lock: Mapping[str, float] | None = None
    order: Mapping[str, Any] | None = None
    lag: float | None = None
    rate: float | None = None
    window: tuple[float | None, float | None] | None = None
    topic: str | None = None
    bad_rows: str | None = None
    outliers: str | None = None
    gaps: str | None = None
    resample: str | None = None
    still: str | None = None

    def __post_init__(self) -> None:
        for name in WORDS:
            object.__setattr__(self, name, _plain(getattr(self, name)))
        for name, choices in CHOICES.items():
            if (choice := getattr(self, name)) is not None and choice not in choices:
                raise unknown(f"choice of {call(name)}", choice, choices)
        for name, example in EXAMPLES.items():
            if not isinstance(getattr(self, name), Mapping | None):
                raise InputError(f"{call(name)} must be a dictionary, a name before each value: {say(name, example)}")
        if self.gravity is not None:
            object.__setattr__(self, "gravity", three(call("gravity"), self.gravity))
        if self.rate is not None:
            object.__setattr__(self, "rate", number(call("rate"), self.rate, "Hz", above=0))
        if self.lag is not None:
            object.__setattr__(self, "lag", number(call("lag"), self.lag, "s"))
        object.__setattr__(self, "window", _window(self.window))

    def choice(self, name: str) -> str:
        """What is done about a trouble: as said, or the first of its choices."""
        return str(getattr(self, name) or CHOICES[name][0])

    def said(self) -> dict[str, Any]:
        """The words that are said, and what."""
        return {name: value for name in WORDS if (value := getattr(self, name)) is not None}

    def updated(self, other: LogSettings) -> LogSettings:
        """These settings with what others say as well, and instead where both do; groups count each for itself."""
        told = other.said()
        for name, old in self.said().items():
            if isinstance(old, Mapping) and isinstance(told.get(name), Mapping):
                told[name] = {**old, **told[name]}
        return replace(self, **told)

    def corrected(self, other: LogSettings) -> LogSettings:
        """These settings with a correction of the log that they gave: signs and ratios count besides those that were
        said, orders are those of columns already in order."""
        both = self.updated(other)
        said: dict[str, Any] = {}
        for name, every in (("sign", SIGNALS), ("ratio", ("q", "tau"))):
            mine, more = (_by_signal(getattr(x, name), every) for x in (self, other))
            for g, x in mine.items():  # what was said of a column goes with it
                order = (other.order or {}).get("tau" if g == "tau" else "q")
                mine[g] = [x[k - 1] for k in order] if order and isinstance(x, list) else x
            if mine and (more or other.order):
                both_of = [g for g in SIGNALS if g in mine or g in more]
                said[name] = {g: _product(*(_of_signal(x, g) for x in (mine, more))) for g in both_of}
        for g, first in (self.order or {}).items() if other.order else ():
            second = (other.order or {}).get(g, range(1, len(first) + 1))
            said.setdefault("order", dict(both.order or {}))[g] = [first[k - 1] for k in second]
        return replace(both, **said)

    def without(self, *names: str) -> LogSettings:
        """These settings without some words."""
        return replace(self, **dict.fromkeys(names))

    def at(self, robot: Robot) -> Robot:
        """The robot as it was recorded: its gravity, and joints that were held."""
        from dalembert.identification.fit.robot import locked

        robot = locked(robot, self.lock) if self.lock else robot
        return robot if self.gravity is None else robot.with_gravity(self.gravity)

    @classmethod
    def from_options(cls, options: Mapping[str, str | Sequence[str]]) -> LogSettings:
        """Of the values of options as they are typed, {"--sign": "tau=-1"}; what is repeated counts together."""
        said = {}
        for option, text in options.items():
            name = option.lstrip("-").replace("-", "_")
            if name not in WORDS:
                raise unknown("option of a log", option, [f"--{word.replace('_', '-')}" for word in WORDS])
            said[name] = _read(name, text if isinstance(text, str) else ",".join(text))
        return cls(**said)

    @classmethod
    def from_toml(cls, path: str | Path) -> LogSettings:
        """Of a file with the same words as keys. Tables [identify] and [observe] are left to these commands."""
        said = {key: value for key, value in read_toml(path).items() if key not in COMMANDS}
        return cls(**{key: _read(key, value) if isinstance(value, str) else value for key, value in said.items()})

    def to_toml(self, path: str | Path | None = None, **commands: Mapping[str, object]) -> str:
        """The same as text of such a file, written to `path` if one is given."""
        import tomlkit

        from dalembert.files import whole

        said = {name: _listed(value) for name, value in self.said().items()}
        tables = {name: value for name, value in said.items() if isinstance(value, dict)}
        document = {name: value for name, value in said.items() if name not in tables} | tables
        text = tomlkit.dumps(document | {name: _listed(options) for name, options in commands.items() if options})
        if path is not None:
            whole(path, lambda file: file.write(text.encode()))
        return text


WORDS = tuple(one.name for one in fields(LogSettings))


def read_toml(path: str | Path) -> dict[str, Any]:
    """What a file of settings holds, its keys with underscores; unknown ones are refused."""
    try:
        found = tomllib.loads(contents(path, DESCRIPTION).decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a file of settings: {error}") from None
    named = {key.replace("-", "_"): value for key, value in found.items()}
    for key in named:
        if key not in WORDS and key not in COMMANDS:
            raise unknown(f"setting in {path}", key, (*WORDS, *COMMANDS))
    return named


def _read(name: str, text: str) -> Any:
    """The value of an option as it is typed."""
    if name in ("window", "topic", *CHOICES):
        return text
    keys = KEYS.get(name, ("",))  # "": no key at all
    before, mark, _ = text.partition("=")
    if mark and name in KEYS and keys and before.strip() not in keys:
        raise unknown(f"name before a value of {call(name)}", before.strip(), keys)
    return read_value(text, keys)


def _by_signal(value: Any, groups: Sequence[str]) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {} if value is None else dict.fromkeys(groups, value)


def _of_signal(by_signal: Mapping[str, Any], group: str) -> Any:
    """A factor of a group; rates follow positions."""
    return by_signal.get(group, by_signal.get("q", 1.0) if group == "qd" else 1.0)


def _product(a: Any, b: Any) -> Any:
    return (np.asarray(a, float) * np.asarray(b, float)).tolist()


def _plain(value: Any) -> Any:
    """Arrays as lists, so that settings can be compared and written; "none" as None, which TOML does not have."""
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, (range, tuple)):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") else None if value == "none" else value


def _listed(value: Any) -> Any:
    """As TOML can hold it: it has no null, which the word "none" stands for."""
    if isinstance(value, Mapping):
        return {key: _listed(x) for key, x in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_listed(x) for x in value]
    return "none" if value is None else value


def _window(value: Any) -> tuple[float | None, float | None] | None:
    """(from, to) [s] of "5:20", ":20" or a pair."""
    if value is None:
        return None
    parts = value.split(":") if isinstance(value, str) else value
    try:
        texts = (str(x if x is not None else "").strip() for x in parts)
        low, high = (number("window", read_number(x)) if x not in ("", "none") else None for x in texts)
    except (TypeError, ValueError, InputError):
        low = high = 0.0
    if low is not None and high is not None and not low < high:
        raise InputError(f"{call('window')} is two times, from and to [s], {say('window', '5:20')}; got {value!r:.60}")
    return low, high
