"""From what was recorded to SI units on the joints' side: units, torque constants, gears and couplings, signs, offsets.

θ_m = G q,   τ = H τ_m,   H = Gᵀ unless said otherwise (power is the same on both sides),   τ_m = k_t i
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.errors import InputError, unknown
from dalembert.robot import Robot

Array = NDArray[np.float64]
ByGroup = Mapping[str, "ArrayLike | None"]

DEGREE = math.pi / 180
# What one of each unit is in SI.
UNITS: dict[str, dict[str, float]] = {
    "t": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    "q": {"rad": 1.0, "deg": DEGREE, "turn": 2 * math.pi, "m": 1.0, "mm": 1e-3},
    "qd": {"rad/s": 1.0, "deg/s": DEGREE, "rpm": math.pi / 30, "m/s": 1.0, "mm/s": 1e-3},
    "tau": {"Nm": 1.0, "mNm": 1e-3, "N": 1.0, "A": 1.0, "mA": 1e-3},
}
LENGTHS = {"m", "mm", "m/s", "mm/s"}
RATE_OF = {"deg": "deg/s", "m": "m/s", "mm": "mm/s"}  # of other positions rad/s
CURRENTS = {"A", "mA"}


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
        turned = (x * self.factors[group]) @ self.matrices[group].T
        return np.asarray(self.sign[group] * turned + self.offset.get(group, 0.0))


def read_drives(
    robot: Robot,
    told: Mapping[str, str],
    *,
    units: Mapping[str, str | Sequence[str] | None] | None,
    sign: ArrayLike | ByGroup | None,
    offset: ArrayLike | ByGroup | None,
    ratio: ArrayLike | ByGroup | None,
    coupling: ArrayLike | None,
    torque_coupling: ArrayLike | None,
    torque_constant: ArrayLike | None,
) -> Drives:
    """The arguments of `read_log` of these names; `told` are units that the log's own names tell."""
    n = robot.n
    given = {group: x for group, x in _by_group("units", units, tuple(UNITS)).items() if x is not None}
    q = given.get("q", told.get("q"))
    if q is not None and "qd" not in given and "qd" not in told:
        given["qd"] = RATE_OF.get(q, "rad/s") if isinstance(q, str) else [RATE_OF.get(x, "rad/s") for x in q]
    if torque_constant is not None and "tau" not in given:
        given["tau"] = told.get("tau", "A")
    motor_side = ratio is not None or coupling is not None
    factors = {g: _factors(robot, g, given.get(g) or told.get(g), motor_side) for g in ("q", "qd", "tau")}
    strange = [(g, unit) for g, unit in told.items() if g not in given and UNITS[g][unit] != 1.0]
    torque = given.get("tau") or told.get("tau") or ()
    if ({torque} if isinstance(torque, str) else set(torque)) & CURRENTS and torque_constant is None:
        raise InputError("the torques are currents [A]: give torque_constant=… [N m/A], one per motor or one for all")
    k_t = _per_joint("torque_constant", 1.0 if torque_constant is None else torque_constant, n)
    G = _gears(ratio, coupling, n)
    H = G.T if torque_coupling is None else _matrix("torque_coupling", torque_coupling, n)
    if isinstance(ratio, Mapping):
        N = {g: _per_joint(f"ratio[{g!r}]", x, n) for g, x in _by_group("ratio", ratio, ("q", "tau")).items()}
        G, H = (np.diag(N.get(g, np.ones(n))) for g in ("q", "tau"))
    signs = _by_group("sign", sign, ("q", "qd", "tau"))
    signs.setdefault("qd", signs.get("q", 1.0))
    offsets = _by_group("offset", offset, ("q", "tau"))
    positions = np.asarray(np.linalg.inv(G), float)
    return Drives(
        factors,
        {"q": positions, "qd": positions, "tau": H * k_t},
        {g: _signs(g, signs.get(g, 1.0), n) for g in ("q", "qd", "tau")},
        {g: _per_joint(f"offset[{g!r}]", offsets.get(g, 0.0), n) for g in ("q", "tau")},
        tuple(f"{group} is in {unit}, its column says: taken as that" for group, unit in strange),
    )


def _by_group(name: str, value: object, groups: Sequence[str]) -> dict[str, Any]:
    """{group: value}; a value that is no dictionary is a sign of all groups alike, an offset or ratio of positions."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        for group in value:
            if group not in groups:
                raise unknown(f"group in {name}", group, groups)
        return dict(value)
    if name == "units":
        raise InputError("units must be a dictionary, {'q': 'deg', 'tau': 'mNm', 't': 'ms'}")
    return dict.fromkeys(groups if name == "sign" else ("q",), value)


def time_unit(units: Mapping[str, str | Sequence[str] | None] | None, told: Mapping[str, str]) -> str | None:
    unit = (units or {}).get("t") or told.get("t")
    if unit is not None and unit not in UNITS["t"]:
        raise unknown("unit of time", unit, UNITS["t"])
    return unit


def _factors(robot: Robot, group: str, unit: ArrayLike | None, motor_side: bool) -> Array:
    """SI per unit, per column. An angle's unit leaves sliding joints as they are, and a length's leaves turning
    ones."""
    unit = unit or {"q": "rad", "qd": "rad/s", "tau": "Nm"}[group]
    written: list[str] = [unit] * robot.n if isinstance(unit, str) else list(unit)  # type: ignore[arg-type]
    if len(written) != robot.n:
        raise InputError(f"units[{group!r}] are {len(written)}, but the robot has {robot.n} joints")
    found = []
    for one, coordinate in zip(written, robot.model.coordinates, strict=True):
        if one not in UNITS[group]:
            raise unknown(f"unit of {group}", one, UNITS[group])
        fits = motor_side or group == "tau" or coordinate.joint.turns != (one in LENGTHS)
        found.append(UNITS[group][one] if fits or not isinstance(unit, str) else 1.0)
    return np.array(found)


def _gears(ratio: ArrayLike | ByGroup | None, coupling: ArrayLike | None, n: int) -> Array:
    if ratio is not None and coupling is not None:
        raise InputError("give ratio (one per joint) or coupling (a matrix with the ratios in it), not both")
    if coupling is not None:
        G = _matrix("coupling", coupling, n)
        if np.linalg.matrix_rank(G) < n:
            raise InputError("coupling is singular: motors θ_m = G q would not tell the joints' positions")
        return G
    return np.eye(n) if ratio is None or isinstance(ratio, Mapping) else np.diag(_per_joint("ratio", ratio, n))


def _matrix(name: str, value: ArrayLike, n: int) -> Array:
    return array(name, value, (n, n), meaning="motors by joints")


def _per_joint(name: str, value: ArrayLike | None, n: int) -> Array:
    x = array(name, value, (), (n,), meaning="one per joint")
    if name.startswith(("ratio", "torque_constant")) and not x.all():
        raise InputError(f"{name} must be finite and not zero, got {value!r}")
    return np.broadcast_to(x, (n,)).copy()


def _signs(group: str, value: ArrayLike | None, n: int) -> Array:
    x = _per_joint(f"sign[{group!r}]", value, n)
    if not (np.abs(x) == 1).all():
        raise InputError(
            f"sign must be +1 or −1 per joint, got {value!r}; ratios and constants have arguments of their own"
        )
    return x
