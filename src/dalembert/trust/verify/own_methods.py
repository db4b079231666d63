"""The table of Dalembert's own methods to compute the same numbers, and the laws that relate them.

A method is a function (robot, states) → {quantity: value}; poses and Jacobians are {frame: value}. It raises a
DalembertError if it does not support the robot; the certificate shows the message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert.algorithms import energy, kinematics
from dalembert.errors import InputError
from dalembert.robot import Robot
from dalembert.spatial.vector import Scalar
from dalembert.trust.properties.coriolis import skew_violation
from dalembert.trust.properties.energy import power_violation
from dalembert.trust.properties.mechanism import Trial, mechanism_of, times
from dalembert.trust.verify.linkage import Array, States

Values = dict[str, Any]  # arrays, states first; of poses and Jacobians by frame
MOST_TIPS = 3  # frames whose compiled kernels are run; all others are computed on arrays
# What grows too fast for large robots, and up to where it is worth its time (measured: about a second each).
MOST_SYMBOLIC_PATH, MOST_SYMBOLIC_BODIES = 7, 14
MOST_MATRIX_BODIES = 14
MOST_DERIVED = 24


@dataclass(frozen=True)
class OwnMethod:
    title: str
    compute: Callable[[Robot, States], Values]


def choose_frames(robot: Robot) -> tuple[str, ...]:
    """The tip, or else the first tips: the frames whose compiled kernels are run."""
    return (robot.tip,) if robot.tip is not None else robot.model.tips[:MOST_TIPS]


def _kinematics(robot: Robot, s: States) -> Values:
    """All frames on arrays, the tips by their kernels."""
    T = kinematics.world_poses(robot.model, [s.q[:, k] for k in range(robot.n)])
    poses = {
        f.name: _matrix((T[f.body] @ f.pose if f.body >= 0 else f.pose).matrix(), len(s)) for f in robot.model.frames
    }
    poses |= {frame: _many(robot.fk(s.q, frame), len(s)) for frame in choose_frames(robot)}
    jacobians = {frame: _many(robot.jacobian(s.q, frame), len(s)) for frame in choose_frames(robot)}
    return {"pose": poses, "jacobian": jacobians}


def _matrix(rows: Sequence[Sequence[Scalar]], count: int) -> Array:
    out = np.empty((count, 4, 4))
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            out[:, i, j] = x
    return out


def _many(array: Array, count: int) -> Array:
    """Over all states, where a robot without joints gave the one that there is."""
    return np.broadcast_to(array, (count, *array.shape[-2:])).copy()


def _newton_euler(robot: Robot, s: States) -> Values:
    return {
        "gravity_torque": robot.gravity_torque(s.q),
        "coriolis_torque": robot.coriolis_torque(s.q, s.qd),
        "torque": robot.inverse_dynamics(s.q, s.qd, s.qdd),
    }


def _joints(robot: Robot, s: States) -> Values:
    """Through inverse dynamics with friction, which is how friction enters: τ with it less τ without."""
    with_it = robot.inverse_dynamics(s.q, s.qd, s.qdd, friction=True)
    return {"friction_torque": with_it - robot.inverse_dynamics(s.q, s.qd, s.qdd)}


def _composite(robot: Robot, s: States) -> Values:
    C = robot.coriolis_matrix(s.q, s.qd)
    return {"mass_matrix": robot.mass_matrix(s.q), "coriolis_torque": times(C, s.qd)}


def _forward(robot: Robot, s: States, method: str) -> Values:
    return {"acceleration": robot.forward_dynamics(s.q, s.qd, s.tau, method=method)}


def _matrix_form(robot: Robot, s: States) -> Values:
    """The matrices of [Fakhari 2] multiplied out; rotors, which they leave out, are added on the diagonal."""
    if len(robot.bodies) > MOST_MATRIX_BODIES:
        raise InputError(
            f"its matrices of 6N = {6 * len(robot.bodies)} rows are left out above {MOST_MATRIX_BODIES} bodies"
        )
    s = s.few
    A, L, W, G, base = robot.matrix_form(s.q)
    LA, own = L @ A, times(A, s.qd)
    V = times(L, own)
    forces = times(G @ L, _ad(own, times(W, V))) + _ad_transposed(V, times(G, V))
    rotors = np.zeros(robot.n)
    for body in robot.model.bodies:
        rotors[body.coordinate] += body.multiplier**2 * body.rotor_inertia
    back = np.swapaxes(LA, -1, -2)
    return {
        "mass_matrix": back @ G @ LA + np.diag(rotors),
        "coriolis_torque": -times(back, forces),
        "gravity_torque": times(back @ G @ L, base),
    }


def _ad(V: Array, U: Array) -> Array:
    """[ad_V] U of stacked twists (v, ω), block by block."""
    V, U = (x.reshape(len(x), -1, 2, 3) for x in (V, U))
    v = np.cross(V[:, :, 1], U[:, :, 0]) + np.cross(V[:, :, 0], U[:, :, 1])
    w = np.cross(V[:, :, 1], U[:, :, 1])
    return np.stack([v, w], axis=2).reshape(len(V), -1)


def _ad_transposed(V: Array, F: Array) -> Array:
    """[ad_V]ᵀ F of stacked wrenches (f, n)."""
    V, F = (x.reshape(len(x), -1, 2, 3) for x in (V, F))
    f = -np.cross(V[:, :, 1], F[:, :, 0])
    n = -np.cross(V[:, :, 0], F[:, :, 0]) - np.cross(V[:, :, 1], F[:, :, 1])
    return np.stack([f, n], axis=2).reshape(len(V), -1)


def _regressor(robot: Robot, s: States) -> Values:
    Y = robot.regressor(s.q, s.qd, s.qdd, rotor=True)
    return {"torque": Y @ robot.parameters(rotor=True)}


def _energies(robot: Robot, s: States) -> Values:
    numbers = {
        "mass": robot.mass,
        "kinetic_energy": robot.kinetic_energy(s.q, s.qd),
        "potential_energy": robot.potential_energy(s.q),
    }
    return {name: np.broadcast_to(np.asarray(x, dtype=float), (len(s),)).copy() for name, x in numbers.items()}


def _derivatives(robot: Robot, s: States, of: str) -> Values:
    if robot.n > MOST_DERIVED:
        raise InputError(f"derivatives of {robot.n} joints are left out above {MOST_DERIVED}")
    s = s.few
    if of == "torque":
        by_q, by_qd, _ = robot.inverse_dynamics_derivatives(s.q, s.qd, s.qdd)
    else:
        by_q, by_qd, _ = robot.forward_dynamics_derivatives(s.q, s.qd, s.tau)
    return {f"{of}_by_q": by_q, f"{of}_by_qd": by_qd}


def _euler_lagrange(robot: Robot, s: States) -> Values:
    """K and P as polynomials, differentiated as polynomials: M = ∂²K/∂q̇², c = d/dt ∂K/∂q̇ − ∂K/∂q, g = ∂P/∂q."""
    from dalembert.symbolic.entries import points_of
    from dalembert.symbolic.equations import Equations

    longest = max((len(robot.model.path(i)) for i in range(len(robot.bodies))), default=0)
    if longest > MOST_SYMBOLIC_PATH or len(robot.bodies) > MOST_SYMBOLIC_BODIES:
        raise InputError(
            f"its equations are left out above {MOST_SYMBOLIC_PATH} joints in a row or {MOST_SYMBOLIC_BODIES} bodies"
        )
    s = s.few
    e = Equations(robot.description, "none", angles="numbers")
    n, v = e.n, [f"qd{k + 1}" for k in range(e.n)]
    K = e.ring.scalar(energy.kinetic_energy(e.model, e.q, e.qd))
    momentum = [K.derivative(name) for name in v]
    M = [[p.derivative(name) for name in v] for p in momentum]
    c = [sum((momentum[k].by_coordinate(j) * e.qd[j] for j in range(n)), -K.by_coordinate(k)) for k in range(n)]
    state = {f"{letter}{k}": x for letter, rows in (("q", s.q), ("qd", s.qd)) for k, x in enumerate(rows.T, 1)}
    point = points_of(e, state) | {"": np.zeros(len(s))}  # of a robot without joints there would be none

    def at(p: Scalar) -> Array:
        return e.ring.scalar(p).at_points(point)

    def rows(entries: Sequence[Scalar]) -> Array:
        return np.stack([at(p) for p in entries], axis=-1) if n else np.zeros((len(s), 0))

    return {
        "mass_matrix": np.stack([rows(row) for row in M], axis=-2) if n else np.zeros((len(s), 0, 0)),
        "coriolis_torque": rows(c),
        "gravity_torque": rows(e.g),
        "kinetic_energy": at(K),
        "potential_energy": at(e.P),
    }


OWN_METHODS: dict[str, OwnMethod] = {
    "kinematics": OwnMethod("forward kinematics and Jacobian", _kinematics),
    "newton-euler": OwnMethod("Newton–Euler", _newton_euler),
    "friction": OwnMethod("friction and springs", _joints),
    "composite": OwnMethod("composite bodies", _composite),
    "articulated": OwnMethod("articulated bodies", partial(_forward, method="articulated")),
    "factorized": OwnMethod("factorized mass matrix", partial(_forward, method="factorized")),
    "matrix-form": OwnMethod("closed matrix form", _matrix_form),
    "regressor": OwnMethod("regressor Y π", _regressor),
    "energies": OwnMethod("energies", _energies),
    "euler-lagrange": OwnMethod("Euler–Lagrange (symbolic)", _euler_lagrange),
    "derivatives": OwnMethod("derivatives of inverse dynamics", partial(_derivatives, of="torque")),
    "solved-derivatives": OwnMethod("derivatives of forward dynamics", partial(_derivatives, of="acceleration")),
}


# laws that the methods must satisfy among themselves, for every robot, without a reference


@dataclass(frozen=True)
class Relation:
    """`violation(robot, states)`: by how much it is broken, (S, …), over the size of what it is made of."""

    title: str
    left: str
    right: str
    tolerance: str
    violation: Callable[[Robot, States], Array]


def _trial(robot: Robot, s: States) -> Trial:
    """A robot at the first of these states, as the properties are judged."""
    if robot.n > MOST_DERIVED:
        raise InputError(f"it differentiates kernels, which is left out above {MOST_DERIVED} joints")
    s = s.few
    return Trial(mechanism_of(robot), s.q, s.qd, s.qdd, s.qd, s.qdd, 0, False, 0)


def _skew(robot: Robot, s: States) -> Array:
    trial = _trial(robot, s)
    return skew_violation(trial, trial.C)


def _there_and_back(robot: Robot, s: States) -> Array:
    """Inverse dynamics of the accelerations that forward dynamics gives is the torque they were asked for."""
    qdd = robot.forward_dynamics(s.q, s.qd, s.tau)
    back = robot.inverse_dynamics(s.q, s.qd, qdd)
    return np.abs(back - s.tau) / (float(np.max(np.abs(s.tau), initial=0.0)) or 1.0)


RELATIONS: dict[str, Relation] = {
    "energy-balance": Relation(
        "energy balance d(K + P)/dt = τᵀq̇",
        "energies",
        "Newton–Euler",
        "rounding",
        lambda robot, s: power_violation(_trial(robot, s))[1],
    ),
    "skew-symmetry": Relation(
        "Ṁ − 2C is skew-symmetric", "mass matrix differentiated", "composite bodies", "rounding", _skew
    ),
    "there-and-back": Relation("ID(FD(τ)) = τ", "forward dynamics", "Newton–Euler", "solved", _there_and_back),
}
