"""From what was recorded to SI units on the joints' side: units, torque constants, gears and couplings, signs, offsets.

θ_m = G q,   τ = H τ_m,   H = Gᵀ unless said otherwise (power is the same on both sides),   τ_m = k_t i
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.errors import InputError, choose, unknown
from dalembert.robot import Robot
from dalembert.words import call, say

if TYPE_CHECKING:
    from dalembert.identification.log.settings import LogSettings

Array = NDArray[np.float64]
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
            f"the torques are currents [{words[0]}]: give {say('torque_constant')} [N m/A], one per "
            "motor or one for all"
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
            choose(f"group in {call(name)}", group, groups)
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
        raise InputError(f"{call('units', group)} are {len(written)}, but the robot has {robot.n} joints")
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
            f"give {call('ratio')} (one per joint) or {call('coupling')} (a matrix with the ratios in it), not both"
        )
    if coupling is not None:
        G = _matrix("coupling", coupling, n)
        if np.linalg.matrix_rank(G) < n:
            raise InputError(f"{call('coupling')} is singular: motors θ_m = G q would not tell the joints' positions")
        return G
    return np.eye(n) if ratio is None or isinstance(ratio, Mapping) else np.diag(_per_joint("ratio", ratio, n))


def _matrix(name: str, value: ArrayLike, n: int) -> Array:
    return array(call(name), value, (n, n), meaning="motors by joints")


def _per_joint(name: str, value: ArrayLike | None, n: int, group: str | None = None) -> Array:
    x = array(call(name, group), value, (), (n,), meaning="one per joint")
    if name in ("ratio", "torque_constant") and not x.all():
        raise InputError(f"{call(name, group)} must be finite and not zero, got {value!r}")
    return np.broadcast_to(x, (n,)).copy()


def _signs(group: str, value: ArrayLike | None, n: int) -> Array:
    x = _per_joint("sign", value, n, group)
    if not (np.abs(x) == 1).all():
        raise InputError(
            f"{call('sign')} must be +1 or −1 per joint, got {value!r}; ratios and constants are said apart"
        )
    return x
