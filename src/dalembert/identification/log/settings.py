"""`LogSettings`: columns, units, signs and times of a log, in Python, with --set at the command line or in a TOML file.

columns, units, sign, offset     which columns hold what, and how they count
ratio, coupling, torque_constant the drives between what was recorded and the joints
gravity, locked                  how the arm was mounted, which joints were held
rate, window, gaps, …            times, and what is done about rows that are wrong

From what was recorded to SI units on the joints' side: units, torque constants, gears and couplings, signs, offsets.

θ_m = G q,   τ = H τ_m,   H = Gᵀ unless said otherwise (power is the same on both sides),   τ_m = k_t i
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number, three
from dalembert.errors import InputError, UnknownNameError, choose, unknown
from dalembert.files import DESCRIPTION, contents, parse_toml
from dalembert.robot import Robot
from dalembert.words import assign, mention, read_number, read_value

ByGroup = Mapping[str, "ArrayLike | None"]

DEGREE, TURN = math.pi / 180, 2 * math.pi
# What one of each unit is in SI.
UNITS: dict[str, dict[str, float]] = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "q": {"rad": 1.0, "deg": DEGREE, "turn": TURN, "m": 1.0, "mm": 1e-3},
    "qd": {"rad/s": 1.0, "deg/s": DEGREE, "rpm": TURN / 60, "turn/s": TURN, "m/s": 1.0, "mm/s": 1e-3},
    "tau": {"Nm": 1.0, "mNm": 1e-3, "Ncm": 1e-2, "kNm": 1e3, "N": 1.0, "kN": 1e3, "A": 1.0, "mA": 1e-3, "%": 1.0},
}
LENGTHS = {"m", "mm", "m/s", "mm/s"}
CURRENTS = {"A", "mA", "%"}  # what a torque constant turns into torques
# As people write them, in lower case and without blanks, beside the units' own names.
SPELLINGS = {
    **{"°": "deg", "degree": "deg", "degrees": "deg", "°/s": "deg/s", "degps": "deg/s", "degree/s": "deg/s"},
    **{"degrees/s": "deg/s", "deg/sec": "deg/s", "dps": "deg/s", "radian": "rad", "radians": "rad", "rad/sec": "rad/s"},
    **{"radps": "rad/s", "radians/s": "rad/s", "turns": "turn", "rev": "turn", "revs": "turn", "rev/s": "turn/s"},
    **{"rps": "turn/s", "rev/min": "rpm", "1/min": "rpm", "u/min": "rpm", "r/min": "rpm", "mps": "m/s"},
    **{"n.m": "Nm", "n*m": "Nm", "n-m": "Nm", "n·m": "Nm", "newtonmeter": "Nm", "mn.m": "mNm", "n.mm": "mNm"},
    **{"nmm": "mNm", "amp": "A", "amps": "A", "ampere": "A", "percent": "%", "µs": "us", "μs": "us", "sec": "s"},
    **{"secs": "s", "second": "s", "seconds": "s", "msec": "ms", "millis": "ms", "usec": "us", "nsec": "ns"},
}
_NAMES = {unit.lower(): unit for units in UNITS.values() for unit in units} | SPELLINGS
# What may be done about a trouble; the first of each is done unless another is asked for.
CHOICES = {
    "bad_rows": ("refuse", "drop"),
    "outliers": ("remove", "keep"),
    "gaps": ("cut", "refuse"),
    "resample": ("auto", "refuse", "force"),
    "still": ("refuse", "keep"),
}
SETTINGS_SCHEMA = 1  # of a file of settings; it rises when a key is removed, renamed or changes its meaning
SIGNALS = ("q", "qd", "tau")
# What may stand before a value of --set, as in units=q=deg; any name if the tuple is empty.
KEYS: dict[str, tuple[str, ...]] = {
    "columns": ("t", *SIGNALS),
    "units": tuple(UNITS),
    "sign": SIGNALS,
    "offset": ("q", "tau"),
    "ratio": SIGNALS,
    "order": ("q", "tau"),
    "locked": (),
}
# What each setting is, and an example of it, as a file of settings explains it.
MEANINGS: dict[str, tuple[str, str]] = {
    "columns": ("columns by name or by number from 0", '{ t = "clock", q = "pos_{i}", tau = ["M1", "M2"] }'),
    "units": ("units, one for all joints or one per joint", '{ q = "deg", qd = "rpm", tau = "mNm", t = "ms" }'),
    "sign": ("signs, one for all joints or one per joint", "{ tau = [1, -1] }"),
    "offset": ("values to add to positions [rad, m] or torques [N m, N]", "{ q = [0, -1.57] }"),
    "ratio": ("gear ratios, if the log is of the motors", "{ q = 100, tau = 100 }"),
    "coupling": ("matrix G of coupled motors, θ = G q", "[[32, 0], [32, 32]]"),
    "torque_coupling": ("matrix H of torques τ = H τ_m, if it is not Gᵀ", "[[32, 32], [0, 32]]"),
    "torque_constant": ("torque constants of motor currents [N m/A]", "0.12"),
    "gravity": ("gravity in the base frame [m/s²]", "[0, 0, -9.81]"),
    "locked": ("positions of joints that did not move [rad, m]", "{ finger_joint = 0.02 }"),
    "order": ("order of exchanged columns, from 1", "{ tau = [1, 3, 2] }"),
    "lag": ("delay of the torques [s]", "0.004"),
    "rate": ("sampling rate, if the log has no usable times [Hz]", "500"),
    "window": ("part of the log to use, from its first sample [s]", '"5:20"'),
    "topic": ("topic of a ROS bag", '"/joint_states"'),
    "bad_rows": ("rows with NaN or absurd numbers: refuse or drop", '"drop"'),
    "outliers": ("single spikes: remove or keep", '"keep"'),
    "gaps": ("gaps in the times: cut or refuse", '"refuse"'),
    "resample": ("resampling to even steps: auto, refuse or force", '"force"'),
    "still": ("columns that never change: refuse or keep", '"keep"'),
}
EXAMPLES: dict[str, object] = {
    "columns": {"t": "time", "q": "pos_{i}"},
    "units": {"q": "deg"},
    "locked": {"finger_joint": 0.02},
    "order": {"tau": [1, 3, 2]},
}


def find_unit(word: str, group: str | None = None) -> str | None:
    """The unit that a word means, of a group if one is named ("deg" of a rate is deg/s); None if it means none."""
    unit = _NAMES.get(re.sub(r"\s+", "", word.strip().lower()))
    if group is None or unit in UNITS[group]:
        return unit
    per_second = f"{unit}/s"
    return per_second if group == "qd" and per_second in UNITS["qd"] else None


@dataclass(frozen=True, eq=False)
class Drives:
    """What a user said of units, signs, offsets and drives, checked: per group ("q", "qd", "tau") the factors per
    column, the matrix to the joints (G⁻¹, or H k_t) and sign and offset per joint."""

    factors: Mapping[str, Array]
    matrices: Mapping[str, Array]
    sign: Mapping[str, Array]
    offset: Mapping[str, Array]
    notes: tuple[str, ...] = ()

    def at_joints(self, group: str, x: Array) -> Array:
        """A group as it was recorded (N, n), in SI units on the joints' side."""
        matrix = self.matrices[group]
        plain = np.count_nonzero(matrix) == np.count_nonzero(np.diag(matrix))
        turned = x * (self.factors[group] * np.diag(matrix)) if plain else (x * self.factors[group]) @ matrix.T
        return np.asarray(self.sign[group] * turned + self.offset.get(group, 0.0))


def read_drives(robot: Robot, told: Mapping[str, str], said: LogSettings) -> Drives:
    """What is said of units, signs, offsets and drives, checked; `told` are units that the log's own names tell."""
    ratio, coupling, torque_constant = said.ratio, said.coupling, said.torque_constant
    n = robot.n
    given = {group: x for group, x in _by_group("units", said.units, tuple(UNITS)).items() if x is not None}
    q = given.get("q", told.get("q"))
    if q is not None and "qd" not in given and "qd" not in told:
        given["qd"] = q
    if torque_constant is not None and "tau" not in given:
        given["tau"] = told.get("tau", "A")
    motor_side = ratio is not None or coupling is not None
    factors = {g: _factors(robot, g, given.get(g) or told.get(g), motor_side) for g in ("q", "qd", "tau")}
    strange = [(g, unit) for g, unit in told.items() if g not in given and UNITS[g][unit] != 1.0]
    torque = given.get("tau") or told.get("tau") or ()
    words: list[str] = [torque] if isinstance(torque, str) else list(torque)
    if {find_unit(str(word), "tau") for word in words} & CURRENTS and torque_constant is None:
        raise InputError(
            "missing",
            "torque_constant",
            problem=f"the torques are currents [{words[0]}]",
            remedy=f"Give {assign('torque_constant')} [N m/A], one per motor or one for all.",
        )
    k_t = _per_joint("torque_constant", 1.0 if torque_constant is None else torque_constant, n)
    G = _gears(ratio, coupling, n)
    H = G.T if said.torque_coupling is None else _matrix("torque_coupling", said.torque_coupling, n)
    rates = None
    if isinstance(ratio, Mapping):
        N = {g: _per_joint("ratio", x, n, g) for g, x in _by_group("ratio", ratio, ("q", "qd", "tau")).items()}
        G, H = (np.diag(N.get(g, np.ones(n))) for g in ("q", "tau"))
        rates = np.diag(1 / N.get("qd", N.get("q", np.ones(n))))
    signs = _by_group("sign", said.sign, ("q", "qd", "tau"))
    signs.setdefault("qd", signs.get("q", 1.0))
    offsets = _by_group("offset", said.offset, ("q", "tau"))
    positions = np.asarray(np.linalg.inv(G), float)
    return Drives(
        factors,
        {"q": positions, "qd": positions if rates is None else rates, "tau": H * k_t},
        {g: _signs(g, signs.get(g, 1.0), n) for g in ("q", "qd", "tau")},
        {g: _per_joint("offset", offsets.get(g, 0.0), n, g) for g in ("q", "tau")},
        tuple(f"{group} is in {unit}, its column says: taken as that" for group, unit in strange),
    )


def _by_group(name: str, value: object, groups: Sequence[str]) -> dict[str, Any]:
    """{group: value}; a value that is no dictionary is a sign of all groups alike, an offset or ratio of positions."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        for group in value:
            choose(f"group in {mention(name)}", group, groups)
        return dict(value)
    return dict.fromkeys(groups if name == "sign" else ("q",), value)


def time_unit(units: Mapping[str, str | Sequence[str] | None] | None, told: Mapping[str, str]) -> str | None:
    word = (units or {}).get("t") or told.get("t")
    if word is None:
        return None
    unit = find_unit(str(word), "t")
    if unit is None:
        raise unknown("unit of time", word, UNITS["t"])
    return unit


def _factors(robot: Robot, group: str, unit: ArrayLike | None, motor_side: bool) -> Array:
    """SI per unit, per column. An angle's unit leaves sliding joints as they are, and a length's leaves turning
    ones."""
    unit = unit or {"q": "rad", "qd": "rad/s", "tau": "Nm"}[group]
    written: list[str] = [unit] * robot.n if isinstance(unit, str) else list(unit)  # type: ignore[arg-type]
    if len(written) != robot.n:
        raise InputError("wrong-shape", "units", len(written), expected=f"{robot.n} units for {group}, one per joint")
    found = []
    for word, coordinate in zip(written, robot.model.coordinates, strict=True):
        one = find_unit(str(word), group)
        if one is None:
            raise unknown(f"unit of {group}", word, UNITS[group])
        fits = motor_side or group == "tau" or coordinate.joint.turns != (one in LENGTHS)
        found.append(UNITS[group][one] if fits or not isinstance(unit, str) else 1.0)
    return np.array(found)


def _gears(ratio: ArrayLike | ByGroup | None, coupling: ArrayLike | None, n: int) -> Array:
    if ratio is not None and coupling is not None:
        raise InputError(
            "conflict", "coupling", problem=f"{mention('ratio')} and {mention('coupling')} exclude each other"
        )
    if coupling is not None:
        G = _matrix("coupling", coupling, n)
        if np.linalg.matrix_rank(G) < n:
            raise InputError("singular", "coupling", coupling, expected="a regular matrix G of motors θ_m = G q")
        return G
    return np.eye(n) if ratio is None or isinstance(ratio, Mapping) else np.diag(_per_joint("ratio", ratio, n))


def _matrix(name: str, value: ArrayLike, n: int) -> Array:
    return array(name, value, (n, n), meaning="motors by joints")


def _per_joint(name: str, value: ArrayLike | None, n: int, group: str | None = None) -> Array:
    x = array(f"{name}[{group!r}]" if group else name, value, (), (n,), meaning="one per joint")
    if name in ("ratio", "torque_constant") and not x.all():
        raise InputError("out-of-range", name, value, expected="not be zero")
    return np.broadcast_to(x, (n,)).copy()


def _signs(group: str, value: ArrayLike | None, n: int) -> Array:
    x = _per_joint("sign", value, n, group)
    if not (np.abs(x) == 1).all():
        raise InputError("wrong-value", "sign", value, expected="+1 or −1 per joint")
    return x


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
    locked: Mapping[str, float] | None
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


PerJoint = ArrayLike | Mapping[str, ArrayLike] | None  # one number, one per joint, or either by signal


@dataclass(frozen=True)
class LogSettings:
    """What is said about a log; None where nothing is. `read_log` tells what each word means."""

    columns: Mapping[str, Any] | None = None
    units: Mapping[str, Any] | None = None
    sign: PerJoint = None
    offset: PerJoint = None
    ratio: ArrayLike | ByGroup | None = None
    coupling: ArrayLike | None = None
    torque_coupling: ArrayLike | None = None
    torque_constant: ArrayLike | None = None
    gravity: tuple[float, float, float] | None = None
    locked: Mapping[str, float] | None = None
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
                raise unknown(f"choice of {mention(name)}", choice, choices, argument=name)
        for name, example in EXAMPLES.items():
            if not isinstance(getattr(self, name), Mapping | None):
                expected = f"a dictionary, with a name before each value: {assign(name, example)}"
                raise InputError("wrong-type", name, expected=expected)
        if self.gravity is not None:
            object.__setattr__(self, "gravity", three("gravity", self.gravity))
        if self.rate is not None:
            object.__setattr__(self, "rate", number("rate", self.rate, "Hz", above=0))
        if self.lag is not None:
            object.__setattr__(self, "lag", number("lag", self.lag, "s"))
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
        robot = robot.lock(self.locked) if self.locked else robot
        return robot if self.gravity is None else robot.with_gravity(self.gravity)

    @classmethod
    def from_options(cls, options: Mapping[str, str | Sequence[str]]) -> LogSettings:
        """Return the settings of values as they are typed, as in {"sign": "tau=-1"}; several values count together."""
        said = {}
        for name, text in options.items():
            said[name] = _read(choose("log setting", name, WORDS), text if isinstance(text, str) else ",".join(text))
        return cls(**said)

    @classmethod
    def from_toml(cls, path: str | Path) -> LogSettings:
        """Return the settings of a TOML file that has the names of settings as keys."""
        try:
            found = parse_toml(contents(path, DESCRIPTION).decode("utf-8-sig"))
        except OSError as error:
            raise InputError("not-readable", "path", problem=f"{path}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise InputError("syntax", "path", problem=f"{path}: not a file of log settings: {error}") from None
        said = {key.replace("-", "_"): value for key, value in found.items()}
        schema = said.pop("schema", SETTINGS_SCHEMA)
        if schema != SETTINGS_SCHEMA:
            remedy = "Write it again with this version: dalembert log inspect LOG -o FILE."
            expected = str(SETTINGS_SCHEMA)
            raise InputError("unsupported", "schema", schema, expected=expected, remedy=remedy, place=str(path))
        for key in said:
            if key not in WORDS:
                raise UnknownNameError("log setting", key, WORDS, place=str(path))
        try:
            return cls(**{key: _read(key, value) if isinstance(value, str) else value for key, value in said.items()})
        except (InputError, UnknownNameError) as error:
            error.place = str(path)
            raise

    def to_toml(self, path: str | Path | None = None, *, explained: bool = False) -> str:
        """Return the settings as the text of a TOML file, and write it to `path` if one is given.

        With `explained` every setting has a comment, and those without a value an example.
        """
        from dalembert.files import whole

        said, lines = self.said(), [f"schema = {SETTINGS_SCHEMA}"]
        for name, (meaning, example) in MEANINGS.items():
            lines += [f"\n# {meaning}"] if explained else []
            lines += [f"{name} = {_in_toml(said[name])}"] if name in said else [f"# {name} = {example}"] * explained
        text = "\n".join(lines) + "\n"
        if path is not None:
            whole(path, lambda file: file.write(text.encode()))
        return text


WORDS = tuple(one.name for one in fields(LogSettings))


def _read(name: str, text: str) -> Any:
    """The value of an option as it is typed."""
    if name in ("window", "topic", *CHOICES):
        return text
    keys = KEYS.get(name, ("",))  # "": no key at all
    before, mark, _ = text.partition("=")
    if mark and name in KEYS and keys and before.strip() not in keys:
        raise unknown(f"name before a value of {mention(name)}", before.strip(), keys)
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


def _in_toml(value: Any) -> str:
    """Return a value as TOML on one line. TOML has no null: "none" stands for it."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{json.dumps(str(key))} = {_in_toml(x)}' for key, x in value.items())} }}"
    if isinstance(value, (list, tuple, range)):
        return f"[{', '.join(map(_in_toml, value))}]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps("none" if value is None else value, ensure_ascii=False)


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
        expected = f"two times, from and to [s]: {assign('window', '5:20')}"
        raise InputError("wrong-type", "window", value, expected=expected)
    return low, high
