"""Coordinates of a task over any scalar: where a frame is, and its Euler angles, as many of them as are wanted.

    x = (p_x, p_y, p_z, α₁, α₂, α₃),   ẋ = J_a q̇,   ẍ = J_a q̈ + J̇_a q̇
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert import scalar
from dalembert.algorithms import jacobians, kinematics, linear
from dalembert.errors import InputError, choose, unknown
from dalembert.flow import Scalar, Scalars
from dalembert.model import Frame, Model
from dalembert.spatial import rotation

NAMES = ("x", "y", "z", "a1", "a2", "a3")
WORDS = {"position": (0, 1, 2), "planar": (0, 1, 3), "pose": (0, 1, 2, 3, 4, 5)}


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
    """The coordinates that a user means: "position", "planar" (x, y and the first angle), "pose", or names of NAMES."""
    if isinstance(rows, str):
        if rows not in WORDS and rows not in NAMES:
            raise unknown("rows", rows, (*WORDS, *NAMES))
        picked = WORDS.get(rows) or (NAMES.index(rows),)
    else:
        if not isinstance(rows, Sequence) or not rows:
            raise InputError(f"rows is a word ({', '.join(WORDS)}) or names among {', '.join(NAMES)}; got {rows!r}")
        for name in rows:
            if name not in NAMES:
                raise unknown("row", name, NAMES)
        picked = tuple(dict.fromkeys(NAMES.index(name) for name in rows))
    choose("Euler sequence", angles, ("rpy", *rotation.EULER_SEQUENCES))
    if len(picked) > model.n:
        raise InputError(f"{len(picked)} rows for {model.n} joints: {model.name!r} cannot follow them all; name fewer")
    return TaskCoordinates(model.frame(frame), picked, angles)
