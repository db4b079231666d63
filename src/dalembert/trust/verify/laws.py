"""Laws that Dalembert's own members must obey among themselves, whatever the robot: no reference is needed for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalembert.errors import InputError
from dalembert.robot import Robot
from dalembert.trust.verify.four_by_four import Reference
from dalembert.trust.verify.mechanism import Array
from dalembert.trust.verify.members import MOST_DERIVED
from dalembert.trust.verify.states import States


@dataclass(frozen=True)
class Law:
    """`relative(robot, reference, states)`: by how much it is broken, (S, …), over the size of what it is made of."""

    title: str
    left: str
    right: str
    tolerance: str
    relative: Callable[[Robot, Reference, States], Array]


def _small_enough(robot: Robot) -> None:
    if robot.n > MOST_DERIVED:
        raise InputError(f"it differentiates kernels, which is left out above {MOST_DERIVED} joints")


def _energy_balance(robot: Robot, r: Reference, s: States) -> Array:
    """d/dt (K + P) = τᵀ q̇, the left side through the derivatives of the energies."""
    _small_enough(robot)
    s = s.few
    K_q, K_qd = robot.kernel("kinetic_energy").derivative("q", "qd")(s.q, s.qd)
    P_q = robot.kernel("potential_energy").derivative("q")(s.q)
    rate = ((K_q + P_q) * s.qd + K_qd * s.qdd).sum(axis=-1)
    power = (robot.inverse_dynamics(s.q, s.qd, s.qdd) * s.qd).sum(axis=-1)
    size = float((r.torque_scale * np.abs(r.states.qd).max(axis=0, initial=0.0)).sum()) or 1.0
    return np.abs(rate - power)[:, None] / size


def _skew(robot: Robot, r: Reference, s: States) -> Array:
    """xᵀ (Ṁ − 2C) x = 0, Ṁ by differentiating M along q̇, so that it is not C + Cᵀ by definition."""
    _small_enough(robot)
    s = s.few
    dM = robot.kernel("mass_matrix").derivative("q")(s.q)
    rate = np.einsum("sijk,sk->sij", dM, s.qd)
    C = robot.coriolis_matrix(s.q, s.qd)
    odd = rate - 2.0 * C
    fastest = float(np.abs(r.states.qd).max(initial=0.0)) or 1.0
    return np.abs(odd + np.swapaxes(odd, -1, -2)) / (float(np.max(r.mass_matrix_scale, initial=0.0)) * fastest or 1.0)


def _there_and_back(robot: Robot, r: Reference, s: States) -> Array:
    """Inverse dynamics of the accelerations that forward dynamics gives is the torque they were asked for."""
    qdd = robot.forward_dynamics(s.q, s.qd, s.tau)
    back = robot.inverse_dynamics(s.q, s.qd, qdd)
    size = float(np.max(np.abs(s.tau), initial=0.0)) or 1.0
    return np.abs(back - s.tau) / size


LAWS: dict[str, Law] = {
    "energy-balance": Law("energy balance d(K + P)/dt = τᵀq̇", "energies", "Newton–Euler", "rounding", _energy_balance),
    "skew-symmetry": Law(
        "Ṁ − 2C is skew-symmetric", "mass matrix differentiated", "composite bodies", "rounding", _skew
    ),
    "there-and-back": Law("ID(FD(τ)) = τ", "forward dynamics", "Newton–Euler", "solved", _there_and_back),
}
