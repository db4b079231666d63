"""Coordinates of a task over any scalar: where a frame is, and its Euler angles, as many of them as are wanted.

x = (p_x, p_y, p_z, α₁, α₂, α₃),   ẋ = J_a q̇,   ẍ = J_a q̈ + J̇_a q̇
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dalembert import scalar
from dalembert.algorithms import jacobians, kinematics, linear
from dalembert.errors import InputError, choose, unknown
from dalembert.flow import Scalar, Scalars
from dalembert.model import Frame, Model
from dalembert.spatial import rotation

NAMES = ("x", "y", "z", "a1", "a2", "a3")
# The words of motion functions as far as they mean coordinates: ω is the rate of none, so that wx, wy and wz are not.
WORDS: dict[str, tuple[int, ...]] = {
    "position": (0, 1, 2),
    "orientation": (3, 4, 5),
    "planar": (0, 1, 3),
    "pose": (0, 1, 2, 3, 4, 5),
    **{name: (k,) for k, name in enumerate(NAMES)},
    **{f"v{name}": (k,) for k, name in enumerate(NAMES[:3])},
}


@dataclass(frozen=True)
class TaskCoordinates:
    """Which coordinates (`rows` of NAMES) of which frame, and the Euler sequence of its angles."""

    frame: Frame
    rows: tuple[int, ...]
    angles: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(NAMES[k] for k in self.rows)

    @property
    def turning(self) -> bool:
        return any(k >= 3 for k in self.rows)

    def position(self, model: Model, q: Scalars) -> list[Scalar]:
        T = kinematics.frame_pose(model, q, self.frame)
        x = list(T.p)
        if self.turning:
            x += [scalar.arctan2(s, c) for c, s in rotation.euler_cos_sin(T.R, self.angles)]
        return [x[k] for k in self.rows]

    def jacobian(self, model: Model, q: Scalars) -> list[list[Scalar]]:
        J = (
            jacobians.analytic_jacobian(model, q, self.frame, self.angles)
            if self.turning
            else jacobians.jacobian(model, q, self.frame)
        )
        return [J[k] for k in self.rows]

    def jacobian_dot(self, model: Model, q: Scalars, qd: Scalars) -> list[list[Scalar]]:
        J = (
            jacobians.analytic_jacobian_dot(model, q, qd, self.frame, self.angles)
            if self.turning
            else jacobians.jacobian_dot(model, q, qd, self.frame)
        )
        return [J[k] for k in self.rows]

    def error(self, wanted: Scalars, x: Scalars) -> list[Scalar]:
        """x_d − x, angles the short way round."""
        return [
            scalar.arctan2(scalar.sin(a - b), scalar.cos(a - b)) if k >= 3 else a - b
            for k, a, b in zip(self.rows, wanted, x, strict=True)
        ]

    def generalized(self, model: Model, q: Scalars, wrench: Scalars) -> list[Scalar]:
        """A wrench (f, n) at the frame, world axes, as a force on these coordinates: (f, Bᵀn), for n·ω = n·B α̇."""
        force = list(wrench[:3])
        if self.turning:
            T = kinematics.frame_pose(model, q, self.frame)
            B = rotation.euler_rates(rotation.euler_cos_sin(T.R, self.angles), self.angles)
            force += linear.apply(linear.transposed(B), wrench[3:])
        return [force[k] for k in self.rows]


def task_coordinates(model: Model, frame: str | None, rows: Any, angles: str) -> TaskCoordinates:
    """The coordinates that a user means: a word or several of WORDS, or six truth values."""
    given = [rows] if isinstance(rows, str) else list(rows) if isinstance(rows, Iterable) else []
    if len(given) == len(NAMES) and all(str(x) in ("True", "False") for x in given):
        given = [name for name, wanted in zip(NAMES, given, strict=True) if wanted]
    if not given:
        raise InputError(f"rows is a word or words among {', '.join(WORDS)}, or six truth values; got {rows!r:.60}")
    for word in given:
        if not isinstance(word, str) or word not in WORDS:
            raise unknown("rows", word, WORDS)
    picked = tuple(dict.fromkeys(k for word in given for k in WORDS[word]))
    choose("Euler sequence", angles, ("rpy", *rotation.EULER_SEQUENCES))
    if len(picked) > model.n:
        raise InputError(f"{len(picked)} rows for {model.n} joints: {model.name!r} cannot follow them all; name fewer")
    return TaskCoordinates(model.frame(frame), picked, angles)
