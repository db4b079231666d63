"""The table of quantities: in which order they are looked at, how a difference is measured, and how large it may be.

A difference is divided by the sum of the absolute terms that the quantity is made of (its largest over the states), not
by the quantity itself: a torque that nearly cancels is not wrong because its last digits are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.trust.properties.mechanism import times
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import Array

# What rounding may do, and why.
TOLERANCES = {
    "rounding": (
        1e-10,
        "two computations in doubles, some hundred to ten thousand operations of 1e-16 each, against the sum of the "
        "absolute terms; seen below 1e-12",
    ),
    "solved": (
        1e-9,
        "accelerations through a factorization, measured as the torque M Δq̈, so that the condition of M does not enter",
    ),
    "differentiated": (1e-9, "derivatives in closed form against a complex step, each some ten times the operations"),
}
_AXES, _TWIST = ("x", "y", "z"), ("vx", "vy", "vz", "ωx", "ωy", "ωz")
Frames = dict[str, Array]  # by the names of frames
Value = Array | Frames
FLOOR = 1e-9  # a joint whose terms are this much smaller than the largest of all joints is measured against these


@dataclass(frozen=True)
class Quantity:
    """`difference(reference, value)`, states first, is linear in what the reference's masses, rotors and gravity are;
    `scale(reference)` broadcasts against it. `entry(reference, value, index)` names a place in it (without the state).
    `few`: computed at `states.few` only."""

    title: str
    tolerance: str
    difference: Callable[[FourByFour, Any], Array]  # of an array, or of arrays by frame
    scale: Callable[[FourByFour], Array | float]
    entry: Callable[[FourByFour, Any, tuple[int, ...]], str]
    few: bool = False

    @property
    def allowed(self) -> float:
        return TOLERANCES[self.tolerance][0]

    def relative(self, reference: FourByFour, value: Value) -> Array:
        """|difference| over its scale, (S, …); NaN, which agrees with nothing, as infinity."""
        found = np.abs(self.difference(reference, value)) / self.scale(reference)
        return np.where(np.isfinite(found), found, np.inf)


# scales, without zeros


def _floored(scale: Array) -> Array:
    largest = float(np.max(scale, initial=0.0))
    return np.maximum(scale, FLOOR * largest) if largest > 0 else np.ones_like(scale)


def _largest(x: Array) -> Array:
    """The largest of every joint, over the states."""
    return np.asarray(np.abs(x).max(axis=0, initial=0.0))


def _slope_scale(name: str) -> Callable[[FourByFour], Array]:
    def scale(r: FourByFour) -> Array:
        rows = np.abs(getattr(r, name)).max(axis=(0, 2), initial=0.0)
        return _floored(np.maximum(rows, r.torque_scale))[None, :, None]

    return scale


# differences


def _plain(name: str) -> Callable[[FourByFour, Array], Array]:
    return lambda r, value: np.asarray(value - getattr(r, name)[: len(value)])


def _acceleration(r: FourByFour, value: Array) -> Array:
    """M q̈ + c + g − τ: the torque by which an acceleration misses."""
    k = len(value)
    return times(r.mass_matrix[:k], value) + r.coriolis_torque[:k] + r.gravity_torque[:k] - r.states.tau[:k]


def _potential(r: FourByFour, value: Array) -> Array:
    """Up to a constant: where the energy is zero is a matter of taste."""
    difference = value - r.potential_energy[: len(value)]
    return np.asarray(difference - (difference[0] if len(difference) else 0.0))[:, None]


def _poses(r: FourByFour, value: Frames) -> Array:
    """Positions over the reach, rotations as they are.  (S, frames, 4, 4)."""
    return _of_frames(r, value, r.pose, (4, 4), np.s_[..., :3, 3], 0.0)


def _jacobians(r: FourByFour, value: Frames) -> Array:
    return _of_frames(r, value, r.jacobian, (6, r.n), np.s_[..., :3, :], 1.0)


def _of_frames(
    r: FourByFour, value: Frames, of: Callable[[str], Array], shape: tuple[int, int], lengths: Any, least: float
) -> Array:
    """The difference of every frame, its lengths over the largest there is."""
    if not value:
        return np.zeros((len(r.states), 0, *shape))
    given = np.stack(list(value.values()), axis=1)
    wanted = np.stack([of(frame) for frame in value], axis=1)[: len(given)]
    difference = given - wanted
    difference[lengths] /= max(float(np.abs(wanted[lengths]).max(initial=0.0)), least) or 1.0
    return np.asarray(difference)


def _solved_slope(name: str) -> Callable[[FourByFour, Array], Array]:
    """M ∂q̈ + ∂τ = 0, with ∂τ at the accelerations that belong to τ."""
    return lambda r, value: np.asarray(r.mass_matrix[: len(value)] @ value + getattr(r, name))


# places


def _joint_entry(r: FourByFour, value: Array, i: tuple[int, ...]) -> str:
    return f"joint {r.linkage.coordinates[i[0]]!r}"


def _pair_entry(r: FourByFour, value: Array, i: tuple[int, ...]) -> str:
    names = r.linkage.coordinates
    return f"joint {names[i[0]]!r}" if i[0] == i[1] else f"joints {names[i[0]]!r} and {names[i[1]]!r}"


def _pose_entry(r: FourByFour, value: Frames, i: tuple[int, ...]) -> str:
    return f"frame {list(value)[i[0]]!r}, {f'its {_AXES[i[1]]}' if i[2] == 3 else 'its rotation'}"


def _jacobian_entry(r: FourByFour, value: Frames, i: tuple[int, ...]) -> str:
    return f"frame {list(value)[i[0]]!r}, {_TWIST[i[1]]} per joint {r.linkage.coordinates[i[2]]!r}"


def _robot_entry(r: FourByFour, value: Array, i: tuple[int, ...]) -> str:
    return "the whole robot"


def _torque(title: str, name: str) -> Quantity:
    return Quantity(title, "rounding", _plain(name), lambda r: _floored(r.torque_scale), _joint_entry)


def _energy(title: str, name: str) -> Quantity:
    def scale(r: FourByFour) -> float:
        return float(np.max(np.abs(getattr(r, name)), initial=0.0)) or 1.0

    return Quantity(title, "rounding", lambda r, value: _plain(name)(r, value)[:, None], scale, _robot_entry)


def _slopes(title: str, name: str, difference: Callable[[str], Callable[[FourByFour, Array], Array]]) -> Quantity:
    return Quantity(title, "differentiated", difference(name), _slope_scale(name), _pair_entry, few=True)


# In the order in which a first difference is looked for: what comes later is made of what comes before.
QUANTITIES: dict[str, Quantity] = {
    "pose": Quantity("poses of the links", "rounding", _poses, lambda r: 1.0, _pose_entry),
    "jacobian": Quantity("Jacobian", "rounding", _jacobians, lambda r: 1.0, _jacobian_entry),
    "mass": _energy("mass that moves", "mass"),
    "mass_matrix": Quantity(
        "mass matrix M", "rounding", _plain("mass_matrix"), lambda r: _floored(r.mass_matrix_scale), _pair_entry
    ),
    "gravity_torque": _torque("gravity g", "gravity_torque"),
    "coriolis_torque": _torque("Coriolis and centripetal c", "coriolis_torque"),
    "torque": _torque("inverse dynamics τ", "torque"),
    "friction_torque": Quantity(
        "friction and springs",
        "rounding",
        _plain("friction_torque"),
        lambda r: _floored(np.maximum(_largest(r.friction_torque), r.torque_scale)),
        _joint_entry,
    ),
    "acceleration": Quantity(
        "forward dynamics q̈",
        "solved",
        _acceleration,
        lambda r: _floored(np.maximum(r.torque_scale, _largest(r.states.tau))),
        _joint_entry,
    ),
    "kinetic_energy": _energy("kinetic energy K", "kinetic_energy"),
    "potential_energy": Quantity(
        "potential energy P", "rounding", _potential, lambda r: r.potential_scale or 1.0, _robot_entry
    ),
    "torque_by_q": _slopes("∂τ/∂q", "torque_by_q", _plain),
    "torque_by_qd": _slopes("∂τ/∂q̇", "torque_by_qd", _plain),
    "acceleration_by_q": _slopes("∂q̈/∂q", "torque_by_q", _solved_slope),
    "acceleration_by_qd": _slopes("∂q̈/∂q̇", "torque_by_qd", _solved_slope),
}
