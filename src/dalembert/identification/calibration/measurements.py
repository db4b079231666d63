"""What can be measured of a tip for calibration: one class per kind, each with its residual and derivative.

The joint positions q (N, n) of the measured states; `frame` on which the target sits (the tip, if none is named);
`tool` the target's pose in that frame as far as it is known; `sigma` the instrument's standard deviation [m], and
[rad] of angles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, number
from dalembert.errors import InputError
from dalembert.robot import Robot
from dalembert.se3 import read_pose
from dalembert.spatial import rotation


@dataclass(frozen=True, eq=False, kw_only=True)
class Measurement(ABC):
    """States at which something was measured of a target on the arm."""

    q: Array
    frame: str | None = None
    tool: ArrayLike | None = None
    sigma: float = 1e-4
    measured: ClassVar[str] = "q"  # what has a row for every state

    @property
    def unknowns(self) -> int:
        """How many further numbers are unknown (the place of an anchor): named x, y, z."""
        return 0

    @property
    def places(self) -> Array | None:
        """Measured positions of the target (N, 3), if these were measured."""
        return None

    @abstractmethod
    def residual(self, T: Array, J: Array, extra: Array) -> tuple[Array, Array, Array]:
        """(r, ∂r/∂X, ∂r/∂extra), rows divided by sigma, of poses T (N, 4, 4) with J (N, 6, k): (N, rows[, …])."""

    @abstractmethod
    def errors(self, T: Array, extra: Array) -> tuple[Array, Array | None]:
        """Distances [m] and, where they are measured, angles [rad] between model and measurement, (N,)."""

    @abstractmethod
    def _check(self, count: int) -> dict[str, Any]:
        """What was measured at so many states, as arrays that were looked at."""

    def checked(self, robot: Robot) -> Self:
        """The same with arrays that were looked at."""
        q = array("q", self.q)
        if q.ndim != 2 or q.shape[1] != robot.n or len(q) == 0:
            wanted = f"(N, {robot.n}), one row per measured state of {robot.name!r}"
            raise InputError("wrong-shape", "q", q, problem=f"`q` has shape {q.shape}; pass {wanted}")
        frame = robot.model.frame(self.frame)
        if frame.body < 0:
            raise InputError(
                "wrong-structure",
                "frame",
                self.frame,
                problem=f"frame {self.frame!r} is fixed to the base, so no joint moves it",
            )
        tool = np.eye(4) if self.tool is None else self.tool
        if np.shape(tool) == (3,):
            tool = np.eye(4)
            tool[:3, 3] = array("tool", self.tool)
        sigma = number("sigma", self.sigma, "m", above=0)
        return replace(self, q=q, frame=frame.name, tool=read_pose("tool", tool), sigma=sigma, **self._check(len(q)))

    def start(self, T: Array) -> Array:
        """Where the unknown numbers begin, given poses of the uncorrected model."""
        return np.zeros(0)

    def some(self, rows: NDArray[np.int64]) -> Self:
        """Some of the states."""
        return replace(self, **{name: getattr(self, name)[rows] for name in {"q", self.measured}})

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True, eq=False, kw_only=True)
class Poses(Measurement):
    """Full poses T (N, 4, 4) in the measuring system; `angle_sigma` [rad] of their orientation."""

    T: Array
    angle_sigma: float = 1e-4
    measured: ClassVar[str] = "T"

    @property
    def places(self) -> Array:
        return np.asarray(self.T[:, :3, 3])

    def _check(self, count: int) -> dict[str, Any]:
        T = read_pose("T", array("T", self.T))
        if T.ndim != 3 or len(T) != count:
            raise InputError("wrong-shape", "T", T, expected=f"shape ({count}, 4, 4), one pose per state")
        return {"T": T, "angle_sigma": number("angle_sigma", self.angle_sigma, "rad", above=0)}

    def residual(self, T: Array, J: Array, extra: Array) -> tuple[Array, Array, Array]:
        e = self._turn(T)
        r = np.concatenate([(T[:, :3, 3] - self.places) / self.sigma, e / self.angle_sigma], axis=1)
        dr = np.concatenate([J[:, :3] / self.sigma, _left_inverse(e) @ J[:, 3:] / self.angle_sigma], axis=1)
        return r, dr, np.zeros((len(T), 6, 0))

    def errors(self, T: Array, extra: Array) -> tuple[Array, Array | None]:
        return np.linalg.norm(T[:, :3, 3] - self.places, axis=1), np.linalg.norm(self._turn(T), axis=1)

    def _turn(self, T: Array) -> Array:
        """The rotation vector from what was measured to the model, in the measuring system's axes."""
        E = T[:, :3, :3] @ np.swapaxes(self.T[:, :3, :3], -1, -2)
        return np.stack(rotation.log3([[E[:, i, j] for j in range(3)] for i in range(3)]), axis=-1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Points(Measurement):
    """Positions p (N, 3) of the target in the measuring system: a laser tracker's reflector."""

    p: Array
    measured: ClassVar[str] = "p"

    @property
    def places(self) -> Array:
        return np.asarray(self.p)

    def _check(self, count: int) -> dict[str, Any]:
        p = array("p", self.p)
        if p.shape != (count, 3):
            raise InputError("wrong-shape", "p", p, expected=f"shape ({count}, 3), one point per state")
        return {"p": p}

    def residual(self, T: Array, J: Array, extra: Array) -> tuple[Array, Array, Array]:
        return (T[:, :3, 3] - self.p) / self.sigma, J[:, :3] / self.sigma, np.zeros((len(T), 3, 0))

    def errors(self, T: Array, extra: Array) -> tuple[Array, Array | None]:
        return np.linalg.norm(T[:, :3, 3] - self.p, axis=1), None


@dataclass(frozen=True, eq=False, kw_only=True)
class Distances(Measurement):
    """Distances (N,) [m] of the target from an anchor: a ball bar, a draw wire. `anchor` (3,) in the measuring system;
    if it is unknown (`known=False`), a first guess."""

    distance: Array
    anchor: Array | Sequence[float] = (0.0, 0.0, 0.0)
    known: bool = True
    measured: ClassVar[str] = "distance"

    @property
    def unknowns(self) -> int:
        return 0 if self.known else 3

    def _check(self, count: int) -> dict[str, Any]:
        length = array("distance", self.distance, unit="m", above=0)
        if length.shape != (count,):
            raise InputError("wrong-shape", "distance", length, expected=f"shape ({count},), one number per state")
        return {"distance": length, "anchor": array("anchor", self.anchor, (3,), unit="m")}

    def start(self, T: Array) -> Array:
        return np.array(self.anchor[: self.unknowns], float)

    def _ray(self, T: Array, extra: Array) -> tuple[Array, Array]:
        d = T[:, :3, 3] - (self.anchor if self.known else extra)
        length = np.linalg.norm(d, axis=1)
        if not (length > 0).all():
            raise InputError(
                "singular",
                "anchor",
                problem="the target is at the anchor in some state, so the distance has no direction",
            )
        return d / length[:, None], length

    def residual(self, T: Array, J: Array, extra: Array) -> tuple[Array, Array, Array]:
        u, length = self._ray(T, extra)
        r = ((length - self.distance) / self.sigma)[:, None]
        dr = u[:, None, :] @ J[:, :3] / self.sigma
        return r, dr, -u[:, None, : self.unknowns] / self.sigma

    def errors(self, T: Array, extra: Array) -> tuple[Array, Array | None]:
        return np.abs(self._ray(T, extra)[1] - self.distance), None


@dataclass(frozen=True, eq=False, kw_only=True)
class SamePoint(Measurement):
    """The target touched one and the same point in all states, as a closed chain would: where it is, is unknown unless
    `at` (3,) says it. No instrument is needed."""

    at: Array | Sequence[float] | None = None

    @property
    def unknowns(self) -> int:
        return 3 if self.at is None else 0

    def _check(self, count: int) -> dict[str, Any]:
        return {"at": None if self.at is None else array("at", self.at, (3,), unit="m")}

    def start(self, T: Array) -> Array:
        return np.asarray(T[:, : self.unknowns, 3].mean(axis=0))

    def _off(self, T: Array, extra: Array) -> Array:
        return np.asarray(T[:, :3, 3] - (extra if self.at is None else self.at))

    def residual(self, T: Array, J: Array, extra: Array) -> tuple[Array, Array, Array]:
        d_extra = -np.broadcast_to(np.eye(3)[:, : self.unknowns], (len(T), 3, self.unknowns)) / self.sigma
        return self._off(T, extra) / self.sigma, J[:, :3] / self.sigma, d_extra

    def errors(self, T: Array, extra: Array) -> tuple[Array, Array | None]:
        return np.linalg.norm(self._off(T, extra), axis=1), None


def _left_inverse(e: Array) -> Array:
    """J_l(e)⁻¹ (N, 3, 3), with ė = J_l(e)⁻¹ ω: 1 − ½ S + k S², k = (1 − ½ θ cot ½θ)/θ²."""
    theta = np.linalg.norm(e, axis=1)
    small = theta < 1e-3
    safe = np.where(small, 1.0, theta)
    k = np.where(small, 1 / 12 + theta**2 / 720, (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2)
    S = np.zeros((len(e), 3, 3))
    for (i, j), m in (((2, 1), 0), ((0, 2), 1), ((1, 0), 2)):
        S[:, i, j], S[:, j, i] = e[:, m], -e[:, m]
    return np.asarray(np.eye(3) - 0.5 * S + k[:, None, None] * (S @ S))
