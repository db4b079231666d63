"""The table of quantities: in which order they are looked at, how a difference is measured, and how large it may be.

A difference is divided by the sum of the absolute terms that the quantity is made of (its largest over the states), not
by the quantity itself: a torque that nearly cancels is not wrong because its last digits are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.trust.verify.four_by_four import Reference
from dalembert.trust.verify.mechanism import Array

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
FLOOR = 1e-9  # a joint whose terms are this much smaller than the largest of all joints is measured against these


@dataclass(frozen=True)
class Quantity:
    """`difference(reference, value)`, states first, is linear in what the reference's masses, rotors and gravity are;
    `scale(reference)` broadcasts against it. `entry(reference, value, index)` names a place in it (without the state).
    `few`: computed at `states.few` only."""

    title: str
    tolerance: str
    difference: Callable[[Reference, Any], Array]
    scale: Callable[[Reference, Any], Array | float]
    entry: Callable[[Reference, Any, tuple[int, ...]], str]
    few: bool = False

    @property
    def allowed(self) -> float:
        return TOLERANCES[self.tolerance][0]

    def relative(self, reference: Reference, value: Any) -> Array:
        """|difference| over its scale, (S, …); NaN, which agrees with nothing, as infinity."""
        found = np.abs(self.difference(reference, value)) / self.scale(reference, value)
        return np.where(np.isfinite(found), found, np.inf)


def _floored(scale: Array) -> Array:
    """Scales without zeros."""
    largest = float(np.max(scale, initial=0.0))
    return np.maximum(scale, FLOOR * largest) if largest > 0 else np.ones_like(scale)


def _plain(name: str) -> Callable[[Reference, Any], Array]:
    return lambda r, value: np.asarray(value - getattr(r, name)[: len(value)])


def _number(name: str) -> Callable[[Reference, Any], Array]:
    return lambda r, value: np.asarray(value - getattr(r, name)[: len(value)])[:, None]


def _largest(name: str) -> Callable[[Reference, Any], float]:
    return lambda r, value: float(np.max(np.abs(getattr(r, name)), initial=0.0)) or 1.0


def _torque_scale(r: Reference, value: Any) -> Array:
    return _floored(r.torque_scale)


def _friction_scale(r: Reference, value: Any) -> Array:
    return _floored(np.maximum(np.abs(r.friction_torque).max(axis=0, initial=0.0), r.torque_scale))


def _acceleration(r: Reference, value: Any) -> Array:
    """M q̈ + c + g − τ: the torque by which an acceleration misses."""
    k = len(value)
    missed = np.einsum("sij,sj->si", r.mass_matrix[:k], value) + r.coriolis_torque[:k] + r.gravity_torque[:k]
    return np.asarray(missed - r.states.tau[:k])


def _given_scale(r: Reference, value: Any) -> Array:
    return _floored(np.maximum(r.torque_scale, np.abs(r.states.tau).max(axis=0, initial=0.0)))


def _potential(r: Reference, value: Any) -> Array:
    """Up to a constant: where the energy is zero is a matter of taste."""
    difference = value - r.potential_energy[: len(value)]
    return np.asarray(difference - (difference[0] if len(difference) else 0.0))[:, None]


def _stacked(value: dict[str, Array], of: Callable[[str], Array]) -> tuple[Array, Array]:
    """(given, wanted), (S, frames, …)."""
    given = np.stack(list(value.values()), axis=1)
    return given, np.stack([of(frame) for frame in value], axis=1)[: len(given)]


def _poses(r: Reference, value: Any) -> Array:
    """Positions over the reach, rotations as they are.  (S, frames, 4, 4)."""
    if not value:
        return np.zeros((len(r.states), 0, 4, 4))
    given, wanted = _stacked(value, r.pose)
    difference = given - wanted
    difference[..., :3, 3] /= float(np.abs(wanted[..., :3, 3]).max(initial=0.0)) or 1.0
    return np.asarray(difference)


def _jacobians(r: Reference, value: Any) -> Array:
    if not value:
        return np.zeros((len(r.states), 0, 6, r.n))
    given, wanted = _stacked(value, r.jacobian)
    difference = given - wanted
    difference[..., :3, :] /= max(float(np.abs(wanted[..., :3, :]).max(initial=0.0)), 1.0)
    return np.asarray(difference)


def _solved_slope(name: str) -> Callable[[Reference, Any], Array]:
    """M ∂q̈ + ∂τ = 0, with ∂τ at the accelerations that belong to τ."""
    return lambda r, value: np.asarray(r.mass_matrix[: len(value)] @ value + getattr(r, name))


def _slope_scale(name: str) -> Callable[[Reference, Any], Array]:
    def scale(r: Reference, value: Any) -> Array:
        rows = np.abs(getattr(r, name)).max(axis=(0, 2), initial=0.0)
        return _floored(np.maximum(rows, r.torque_scale))[None, :, None]

    return scale


def _one(r: Reference, value: Any) -> float:
    return 1.0


_AXES, _TWIST = ("x", "y", "z"), ("vx", "vy", "vz", "ωx", "ωy", "ωz")


def _joint_entry(r: Reference, value: Any, i: tuple[int, ...]) -> str:
    return f"joint {r.mechanism.coordinates[i[0]]!r}"


def _pair_entry(r: Reference, value: Any, i: tuple[int, ...]) -> str:
    names = r.mechanism.coordinates
    return f"joint {names[i[0]]!r}" if i[0] == i[1] else f"joints {names[i[0]]!r} and {names[i[1]]!r}"


def _pose_entry(r: Reference, value: Any, i: tuple[int, ...]) -> str:
    what = f"its {_AXES[i[1]]}" if i[2] == 3 else "its rotation"
    return f"frame {list(value)[i[0]]!r}, {what}"


def _jacobian_entry(r: Reference, value: Any, i: tuple[int, ...]) -> str:
    return f"frame {list(value)[i[0]]!r}, {_TWIST[i[1]]} per joint {r.mechanism.coordinates[i[2]]!r}"


def _robot_entry(r: Reference, value: Any, i: tuple[int, ...]) -> str:
    return "the whole robot"


def _slopes(title: str, name: str, difference: Callable[[str], Callable[[Reference, Any], Array]]) -> Quantity:
    return Quantity(title, "differentiated", difference(name), _slope_scale(name), _pair_entry, few=True)


# In the order in which a first difference is looked for: what comes later is made of what comes before.
QUANTITIES: dict[str, Quantity] = {
    "pose": Quantity("poses of the links", "rounding", _poses, _one, _pose_entry),
    "jacobian": Quantity("Jacobian", "rounding", _jacobians, _one, _jacobian_entry),
    "mass": Quantity("mass that moves", "rounding", _number("mass"), _largest("mass"), _robot_entry),
    "mass_matrix": Quantity(
        "mass matrix M", "rounding", _plain("mass_matrix"), lambda r, value: _floored(r.mass_matrix_scale), _pair_entry
    ),
    "gravity_torque": Quantity("gravity g", "rounding", _plain("gravity_torque"), _torque_scale, _joint_entry),
    "coriolis_torque": Quantity(
        "Coriolis and centripetal c", "rounding", _plain("coriolis_torque"), _torque_scale, _joint_entry
    ),
    "torque": Quantity("inverse dynamics τ", "rounding", _plain("torque"), _torque_scale, _joint_entry),
    "friction_torque": Quantity(
        "friction and springs", "rounding", _plain("friction_torque"), _friction_scale, _joint_entry
    ),
    "acceleration": Quantity("forward dynamics q̈", "solved", _acceleration, _given_scale, _joint_entry),
    "kinetic_energy": Quantity(
        "kinetic energy K", "rounding", _number("kinetic_energy"), _largest("kinetic_energy"), _robot_entry
    ),
    "potential_energy": Quantity(
        "potential energy P", "rounding", _potential, lambda r, value: r.potential_scale or 1.0, _robot_entry
    ),
    "torque_by_q": _slopes("∂τ/∂q", "torque_by_q", _plain),
    "torque_by_qd": _slopes("∂τ/∂q̇", "torque_by_qd", _plain),
    "acceleration_by_q": _slopes("∂q̈/∂q", "torque_by_q", _solved_slope),
    "acceleration_by_qd": _slopes("∂q̈/∂q̇", "torque_by_qd", _solved_slope),
}
