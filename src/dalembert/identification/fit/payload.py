"""What an arm holds: mass, center and inertia of a payload, with the arm's own parameters known.

The payload is one more body at a frame: τ − τ(arm) = Y_f π, with the ten columns of that body. Where the motion tells
little of its inertia, the pseudo-inertia keeps it one that a body of that mass can have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import linear, regressor
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.identification.fit.consistent import Consistent, fit_consistent
from dalembert.identification.fit.estimate import Estimate, least_squares
from dalembert.identification.fit.regression import compress
from dalembert.identification.fit.regressor import Columns, from_matrix
from dalembert.identification.fit.robot import about_center, predict_torques
from dalembert.identification.log.samples import Samples
from dalembert.robot import Robot
from dalembert.spatial import Inertia

Array = NDArray[np.float64]
TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


@dataclass(frozen=True, eq=False)
class Payload:
    """mass [kg] with its standard deviation, center of mass in the frame [m] (zeros if there is no mass to speak
    of) with its, and inertia (3, 3) about that center; offsets [N m] of the joints that were fitted beside it.
    `present`: whether the mass differs from zero by three deviations."""

    mass: float
    mass_deviation: float
    com: Array
    com_deviation: Array
    inertia: Array
    offsets: Array
    frame: str
    solution: Consistent
    estimate: Estimate

    @property
    def present(self) -> bool:
        return self.mass > 3 * self.mass_deviation

    def carried_by(self, robot: Robot) -> Robot:
        """The robot with this payload."""
        return robot.with_payload(self.mass, self.com.tolist(), self.inertia, frame=self.frame)


@dataclass(frozen=True)
class Held(Columns):
    """The ten columns of a body at a frame, and offsets of the joints; what the arm makes by itself is known."""

    frame: str | None = None

    @cached_property
    def all_names(self) -> tuple[str, ...]:
        offsets = [f"{joint}:offset" for joint in self.robot.joint_names]
        return (*(f"payload:{x}" for x in TEN), *offsets)

    @cached_property
    def _moved(self) -> Array:
        """(10, 10): parameters in the frame → those of the body that carries it."""
        place = self.robot.model.frame(self.frame)
        columns = []
        for unit in np.eye(10):
            m, x, y, z, xx, xy, xz, yy, yz, zz = unit.tolist()
            body = Inertia(m, (x, y, z), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
            columns.append(body.to_parent(place.pose).parameters())
        return np.array(columns, float).T

    def rows(self, q: Scalars, qd: Scalars, qdd: Scalars, s: Scalars) -> list[list[Scalar]]:
        body = self.robot.model.frame(self.frame).body
        Y = regressor.regressor(self.robot.model, q, qd, qdd)
        own = linear.product([row[10 * body : 10 * body + 10] for row in Y], self._moved.tolist())
        return [[*row, *(1.0 if j == i else 0.0 for j in range(self.robot.n))] for i, row in enumerate(own)]

    @property
    def bodies(self) -> int:
        return 1

    def model_values(self) -> Array:
        return np.zeros(len(self.all_names))


def identify_payload(
    robot: Robot, samples: Samples, frame: str | None = None, *, offsets: bool = True, parallel: int = 1
) -> Payload:
    """The body that a robot with known parameters (friction included) holds at a frame, from a motion with it.

    `offsets`: constant torques per joint are fitted beside it (drift of the sensors); without, they count as load."""
    place = robot.model.frame(frame)
    if place.body < 0:
        raise InputError(f"frame {place.name!r} is fixed to the base: nothing held there is felt")
    if samples.n != robot.n:
        raise InputError(f"the samples have {samples.n} joints, {robot.name!r} has {robot.n}")
    left = replace(samples, tau=samples.tau - predict_torques(robot, samples))
    fixed = {} if offsets else {f"{joint}:offset": 0.0 for joint in robot.joint_names}
    columns = Held(robot, (), False, fixed=fixed, frame=place.name)
    Y = columns.matrix(left).reshape(-1, len(columns.free))
    b = from_matrix(Y[:: max(len(Y) // 20_000, 1)], columns.names)
    data = compress(columns, b, left, parallel)
    estimate = least_squares(data, True)
    found = fit_consistent(columns, b, data, estimate, columns.model_values(), positive=())
    return _payload(columns, b.kept, found, estimate, place.name)


def _payload(columns: Held, kept: NDArray[np.int64], found: Consistent, estimate: Estimate, frame: str) -> Payload:
    values = found.parameters
    m = float(values[0])
    deviation = np.full(len(columns.all_names), np.inf)
    deviation[columns.free[kept]] = estimate.deviation
    held = m > 1e-6  # less is no mass to speak of
    _, c, about = about_center(values[:10]) if held else (m, np.zeros(3), np.zeros((3, 3)))
    spread = np.sqrt(deviation[1:4] ** 2 + (c * deviation[0]) ** 2) / max(m, 1e-6)
    return Payload(m, float(deviation[0]), c, spread, about, values[10:], frame, found, estimate)
