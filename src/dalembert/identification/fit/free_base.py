"""Parameters of a robot whose base has no drive, from the equations of that base alone: no torque is measured.

    Y_base(q, v, v̇) π = Σ (J_iᵀ F_i)_base

with the wrenches F_i that act on its feet, or none in flight. Ayusawa, Venture & Nakamura 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, number, read_wrenches
from dalembert.errors import InputError, SingularityError
from dalembert.identification.fit.regressor import Base, from_matrix
from dalembert.robot import Robot, need_robot

STATES = 400  # drawn, of which base parameters are told apart
SINGULAR = 1e-10  # of the scaled columns' singular values, smallest over largest


@dataclass(frozen=True, eq=False)
class FreeBaseFit:
    """Base parameters `beta` (p,), of which `base.formulas()` says what they are, with their standard deviations; the
    residual of each equation of the base, root mean square [N, N m]; the condition number of the scaled columns; and
    `parameters` π (10 per body), of all that have this β the nearest to the robot's own."""

    base: Base
    beta: Array
    deviation: Array
    residual: Array
    condition: float
    parameters: Array

    def __repr__(self) -> str:
        worst = float(np.max(self.residual, initial=0.0))
        return f"<FreeBaseFit: {self.base.rank} base parameters, condition {self.condition:.3g}, residual {worst:.3g}>"


def identify_free_base(
    robot: Robot,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Mapping[str, ArrayLike] | None = None,
    *,
    mass: float | None = None,
) -> FreeBaseFit:
    """What the equations of an undriven base tell, of N samples q (N, nq), q̇ and q̈ (N, nv), and the wrenches (N, 6)
    that act on the robot as `inverse_dynamics` takes them, {"left_foot": F, "right_foot": F}, in world axes.

    Without wrenches, in flight, every mass may be any times as large: then the robot's `mass` [kg] must be given. With
    them it is one more equation, if given."""
    need_robot(robot, "identify_free_base")
    free = np.flatnonzero(~np.asarray(robot.driven, bool))
    if not len(free):
        raise InputError(
            "wrong-structure",
            "robot",
            problem=f"{robot.name!r} has a drive at every joint",
            remedy="Use dalembert.identify, or load the robot with base='floating'.",
        )
    Q = array("q", q, (None, robot.nq))
    V, A = (array(name, x, (len(Q), robot.nv)) for name, x in (("qd", qd), ("qdd", qdd)))
    frames, values = read_wrenches(wrenches)
    b = np.zeros((len(Q), len(free)))
    for frame, value in zip(frames, values, strict=True):
        F = array(f"wrenches[{frame!r}]", value, (len(Q), 6))
        b += np.einsum("nij,ni->nj", robot.jacobian(Q, frame)[..., free], F)
    known = None if mass is None else number("mass", mass, "kg", above=0.0)
    if known is None and not b.any():
        raise InputError(
            "missing",
            "mass",
            problem="in flight, without wrenches, parameters are known up to a common factor",
            remedy="Pass `mass` [kg].",
        )
    names = tuple(robot.parameter_names())
    found = from_matrix(_rows(robot, free, *_drawn(robot)), names)
    W = robot.regressor(Q, V, A)[:, free]
    Y = W[..., found.kept]
    scale = np.ones(len(free))
    beta, deviation, condition = _solve(robot, found, Y, b, scale, known)
    scale = np.maximum(_spread(Y @ beta - b), 1e-12 * max(float(np.max(np.abs(b), initial=0.0)), 1.0))
    beta, deviation, condition = _solve(robot, found, Y, b, scale, known)
    own, B = robot.parameters(), found.matrix()
    nearest = own + np.linalg.lstsq(B, beta - found.of(own), rcond=None)[0]
    return FreeBaseFit(found, beta, deviation, _spread(Y @ beta - b), condition, nearest)


def _spread(errors: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(errors**2, axis=0)))


def _drawn(robot: Robot) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    return robot.random_configuration(STATES, seed=rng), *(rng.normal(size=(2, STATES, robot.nv)) * 3.0)


def _rows(robot: Robot, free: NDArray[np.intp], q: Array, v: Array, a: Array) -> Array:
    return np.asarray(robot.regressor(q, v, a)[:, free].reshape(-1, len(robot.parameters())))


def _solve(
    robot: Robot, found: Base, Y: Array, b: Array, scale: Array, mass: float | None
) -> tuple[Array, Array, float]:
    """β, its deviations, and the condition, each equation of the base weighed by what it is off by."""
    rows, right = (Y / scale[:, None]).reshape(-1, found.rank), (b / scale).reshape(-1)
    if mass is not None:  # Σ m is a sum of base parameters, those kept among the masses
        sure = float(np.linalg.norm(rows)) / mass
        total = np.array([float(found.names[k].endswith(":m")) for k in found.kept])
        rows, right = np.vstack([rows, sure * total]), np.append(right, sure * mass)
    size = np.linalg.norm(rows, axis=0)
    size = np.where(size > 0, size, 1.0)
    U, s, Vt = np.linalg.svd(rows / size, full_matrices=False)
    if len(rows) < found.rank or not s[-1] > SINGULAR * s[0]:
        raise SingularityError(
            "singular",
            problem=f"these samples do not distinguish the {found.rank} base parameters of {robot.name!r}",
            remedy="Record more samples, or motions of all joints and of the base.",
        )
    beta = (Vt.T @ ((U.T @ right) / s)) / size
    sigma = float(np.linalg.norm(rows @ beta - right)) / max(len(right) - found.rank, 1) ** 0.5
    return np.asarray(beta), sigma * np.linalg.norm(Vt.T / s, axis=1) / size, float(s[0] / s[-1])
