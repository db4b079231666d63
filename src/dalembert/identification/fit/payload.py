"""What an arm holds: mass, center and inertia of a payload, with the arm's own parameters known.

The payload is one more body at a frame: τ − τ(arm) = Y_f π, with the ten columns of that body. Where the motion tells
little of its inertia, the pseudo-inertia keeps it one that a body of that mass can have.

Gains of the drives together with the parameters: torques from currents whose constants nobody knows.

    k_j i_j = Y_j β + y_j        (y: the torque of what is known: a payload of known mass, parameters that were weighed)

Without y every solution (β, k) could be doubled: currents alone tell no scale. With two runs, one of them with a known
payload, all gains follow (Gautier & Briot 2014). The augmented regressor [Y, −diag(i)] gives a first answer; as the
noise is in the currents, which stand in its columns, that answer is too small, and the last word has

    i_j = g_j (Y_j β + y_j) + noise,      g = 1/k,

by Gauss–Newton on the compressed log, each joint weighted by its own residual, which is why the loop is written out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import linear, regressor
from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.errors import InputError, SingularityError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.identification.fit.consistent import Consistent, fit_consistent
from dalembert.identification.fit.estimate import Estimate, least_squares, solve
from dalembert.identification.fit.regression import Compressed, Regression, compress, join, triangle, unit_columns
from dalembert.identification.fit.regressor import Base, Columns, from_matrix
from dalembert.identification.fit.robot import about_center, predict_torques
from dalembert.identification.log.samples import Samples, list_runs
from dalembert.robot import Robot
from dalembert.spatial import Inertia

TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
STEPS = 50
KNOWN = "known"
REMEDY = "carry a payload of known mass in a second run (loaded=, payload={'m': …}), or fix parameters once weighed"


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
        raise InputError(
            "wrong-structure",
            "frame",
            problem=f"frame {place.name!r} is fixed to the base, so no torque depends on a load there",
        )
    if samples.n != robot.n:
        raise InputError(
            "conflict", "samples", problem=f"the samples have {samples.n} joints, and {robot.name!r} has {robot.n}"
        )
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


@dataclass(frozen=True, eq=False)
class DriveGains:
    """`gains` k (n,) [N m per unit of what was recorded, mostly A] and their standard deviations; β of the base
    parameters `names` with theirs; `sigma` (n,): the noise of what was recorded; the condition number; `steps`."""

    gains: Array
    deviation: Array
    beta: Array
    beta_deviation: Array
    names: tuple[str, ...]
    sigma: Array
    condition: float
    steps: int

    def torques(self, samples: Samples) -> Samples:
        """Samples whose `tau` held currents, with torques there."""
        return replace(samples, tau=samples.tau * self.gains, quiet=samples.quiet * np.abs(self.gains))


@dataclass(frozen=True)
class _Driven(Columns):
    """The free columns of an arm and of what it carries (zeros if it carries nothing), and one of all that is known."""

    arm: Columns | None = None
    payload: Mapping[str, float] | None = None
    frame: str | None = None
    loaded: bool = False
    compiled: ClassVar[bool] = False

    @cached_property
    def held(self) -> Columns:
        return Held(self.robot, (), False, frame=self.robot.model.frame(self.frame).name)

    @cached_property
    def all_names(self) -> tuple[str, ...]:
        assert self.arm is not None
        held = [f"payload:{x}" for x in TEN if x not in self.payload] if self.payload is not None else []
        return (*self.arm.names, *held, KNOWN)

    def matrices(self, q: Array, qd: Array, qdd: Array, s: Array) -> Array:
        assert self.arm is not None
        own = self.arm.matrices(q, qd, qdd, s)
        parts, known = [own[..., self.arm.free]], own @ self.arm.known
        if self.payload is not None:
            Y = self.held.matrices(q, qd, qdd, s[..., : self.robot.n])[..., : len(TEN)] * float(self.loaded)
            parts.append(Y[..., [k for k, x in enumerate(TEN) if x not in self.payload]])
            known = known + Y @ np.array([self.payload.get(x, 0.0) for x in TEN])
        return np.concatenate([*parts, known[..., None]], axis=-1)


def drive_gains(
    columns: Columns,
    unloaded: Samples | Sequence[Samples],
    loaded: Samples | Sequence[Samples] | None = None,
    *,
    payload: Mapping[str, float] | None = None,
    frame: str | None = None,
    parallel: int = 1,
) -> DriveGains:
    """Gains and base parameters from runs whose `tau` holds currents (or any units in proportion to torques).

    `payload`: what is known of the load at `frame` in the runs `loaded`, by names of its ten parameters there ("m",
    "mx", …, "Izz", about the frame's origin); the others are fitted. `columns.fixed`: parameters that are known."""
    robot = columns.robot
    runs = {False: list_runs(unloaded, robot.n)}
    if loaded is not None:
        runs[True] = list_runs(loaded, robot.n)
    _check(columns, loaded is not None, payload)
    if payload is not None and robot.model.frame(frame).body < 0:
        raise InputError(
            "wrong-structure",
            "frame",
            problem=f"frame {robot.model.frame(frame).name!r} is fixed to the base, so no torque depends on a "
            "load there",
        )
    given = {f.name: getattr(columns, f.name) for f in fields(Columns)} | {"fixed": {}}
    held = None if payload is None else dict(payload)
    kinds = {on: _Driven(**given, arm=columns, payload=held, frame=frame, loaded=on) for on in runs}
    # Base parameters that the runs tell apart together, the known torque last, which none of them may make up for.
    names = kinds[False].names
    b = from_matrix(np.vstack([kind.random_rows() for kind in kinds.values()]), names)
    if names.index(KNOWN) not in b.kept:
        raise InputError(
            "singular",
            "payload",
            problem="what is known cannot be told from what is looked for (its torques are those of other "
            "parameters), so the "
            f"gains stay unknown up to a common factor; {REMEDY}",
        )
    data = join(Regression(kinds[on], b, some, parallel).compress() for on, some in runs.items())
    if (data.power == 0).any():
        silent = [name for name, x in zip(robot.joint_names, data.power, strict=True) if x == 0]
        raise InputError("wrong-value", "samples", problem=f"the records of {', '.join(silent)} are zero throughout")
    return _find_gains(data, b, robot.joint_names)


def _check(columns: Columns, loaded: bool, payload: Mapping[str, float] | None) -> None:
    if loaded != (payload is not None):
        raise InputError("conflict", "payload", problem="`loaded` and `payload` belong together")
    for name, value in (payload or {}).items():
        choose("parameter of a payload", name, TEN)
        if not np.isfinite(value):
            raise InputError("not-finite", "payload", problem=f"the payload's {name!r} is not finite")
    if payload is not None and not payload.get("m", 1.0) >= 0:
        raise InputError(
            "out-of-range", "payload", problem=f"the payload's mass must be at least 0, got {payload['m']!r}"
        )
    if not any(columns.fixed.values()) and not any((payload or {}).values()):
        raise InputError(
            "missing",
            "payload",
            problem=f"no torque or mass is known, and currents alone determine gains up to a common factor; {REMEDY}",
        )


def _find_gains(data: Compressed, b: Base, joints: tuple[str, ...]) -> DriveGains:
    n, p = len(joints), data.p - 1  # the last column is the known torque
    if data.rows * n <= p + n:
        raise InputError(
            "too-few",
            "samples",
            problem=f"{data.rows} samples of {n} joints are fewer equations than the {p + n} unknowns",
        )
    T = data.triangles
    beta, gain = _augmented(T, p)
    g = 1.0 / gain
    share = data.rows - (p + n) / n
    for done in range(1, STEPS + 1):
        errors = _errors(T, beta, g)
        sigma = np.sqrt(np.sum(errors**2, axis=1) / share)
        weights = 1.0 / np.maximum(sigma, 1e-9 * np.sqrt(data.power / data.rows))
        J = np.zeros((n, p + 2, p + n + 1))
        J[..., :p] = g[:, None, None] * T[..., :p]
        for j in range(n):
            J[j, :, p + j] = T[j, :, : p + 1] @ np.append(beta, 1.0)
        J[..., -1] = -errors
        step, inverse, condition = _solve((J * weights[:, None, None]).reshape(-1, p + n + 1), joints, p)
        size = 1.0
        cost = float(np.sum((weights[:, None] * errors) ** 2))
        while size > 1e-4:
            tried = beta + size * step[:p], g + size * step[p:]
            if np.sum((weights[:, None] * _errors(T, *tried)) ** 2) <= cost:
                break
            size /= 3
        else:
            break
        beta, g = tried
        if done > 1 and (np.abs(step) <= 1e-6 * np.sqrt(np.diag(inverse)) + 1e-14).all():
            break
    deviation = np.sqrt(np.diag(inverse))
    kept = tuple(b.names[k] for k in b.kept[:-1])
    return DriveGains(1 / g, deviation[p:] / g**2, beta, deviation[:p], kept, sigma, condition, done)


def _errors(T: Array, beta: Array, g: Array) -> Array:
    """g (Y β + y) − i of each joint, reduced to its triangle (n, p + 2)."""
    return np.asarray(g[:, None] * (T[..., :-1] @ np.append(beta, 1.0)) - T[..., -1])


def _augmented(T: Array, p: int) -> tuple[Array, Array]:
    """(β, k) of [Y, −diag(i)] (β, k) = −y by least squares."""
    n = len(T)
    rows = np.zeros((n, T.shape[1], p + n + 1))
    rows[..., :p] = T[..., :p]
    for j in range(n):
        rows[j, :, p + j] = -T[j, :, -1]
    rows[..., -1] = -T[..., p]
    A, size = unit_columns(rows[..., :-1].reshape(-1, p + n))
    x = np.linalg.lstsq(A, rows[..., -1].reshape(-1), rcond=None)[0] / size
    k = x[p:]
    return x[:p], np.where(k == 0, 1.0, k)


def _solve(rows: Array, joints: tuple[str, ...], p: int) -> tuple[Array, Array, float]:
    R = triangle(rows)
    try:
        return solve(R)
    except SingularityError as error:
        direction = np.abs(np.linalg.svd(unit_columns(R[:, :-1])[0])[2][-1])
        worst = joints[int(np.argmax(direction[p:]))]
        raise SingularityError(
            "singular",
            "samples",
            problem=f"the runs do not distinguish the gain of {worst!r} from the parameters",
            remedy="Move it where a known load acts on it, or fix more parameters.",
        ) from error
