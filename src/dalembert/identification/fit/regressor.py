"""The columns of the regressor of a real arm: τ = Y(q, q̇, q̈) π, with friction, rotors and offsets beside the ten
inertial parameters of every link.

Groups of columns are rows of a table; what is fixed at a known value leaves the columns and goes to the other side.

Base parameters are the combinations that motion and torques can tell apart. A column of Y that the columns before it
span in every motion adds its parameter to theirs: τ = Y_b β with β = π_kept + K π_rest, Y_rest = Y_kept K.  Gautier &
Khalil 1990.  Columns that only the last digit of a description tells apart are told apart by nothing: dependence is
judged on the robot that the description means (`find_nominal`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import scalar
from dalembert.algorithms import linear, regressor
from dalembert.arguments import Array, array
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.describe.description import Drive, Joint, Origin
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.identification.log.samples import Samples, find_direction
from dalembert.robot import Robot

FRICTION = ("viscous", "coulomb", "offset")
DEPENDENT = 1e-8  # of a unit column's distance from those before it: random motions tell columns apart at 1e-3 and more
DIGITS = 12  # of a number of a description that were written, and are no rounding of a computation
TRUE = 1e-5  # rad, or of the largest length: no arm is built to less
RIGHT = np.pi / 12  # angles that arms are designed with are multiples of it
NOT_OF_MOTORS = ("offset", "load")  # what a motor that turns several joints has no columns for
STATES = 40  # random states per column: far more equations than columns
BLOCK = 1_000  # rows of τ in one piece: a few megabytes of regressor, which stay in the cache


# What a friction coefficient is multiplied by: of the rate v, of the direction s of dry friction, `Samples.direction`,
# and of the torque |L| that the joint transmits.
FRICTION_COLUMNS: dict[str, Callable[[Scalar, Scalar, Scalar], Scalar]] = {
    "viscous": lambda v, s, load: v,
    "coulomb": lambda v, s, load: s,
    "coulomb+": lambda v, s, load: scalar.maximum(s, 0.0),
    "coulomb-": lambda v, s, load: scalar.minimum(s, 0.0),
    "root": lambda v, s, load: scalar.by_sign(v, scalar.sqrt(scalar.absolute(v)), -scalar.sqrt(scalar.absolute(v))),
    "cubic": lambda v, s, load: v * v * v,
    "load": lambda v, s, load: load * s,
    "offset": lambda v, s, load: 1.0,
}
ONE_SIDED = ("rotor", "spring", *(kind for kind in FRICTION_COLUMNS if kind != "offset"))  # never negative


@dataclass(frozen=True)
class Columns:
    """Which parameters are looked for: the ten of every moving body (first moments and inertia about the joint frame's
    origin), rotor inertias N² J_m, friction terms by name (those of `FRICTION_COLUMNS`), springs.

    `coupling` G (n, n): motor speeds G q̇; a motor that turns with several joints has its own rotor inertia and
    friction, which act on all of them. `fixed` parameters have known values. `loads`: the robot whose torques the
    joints transmit, for friction that grows with them ("load"); `robot` itself if not given."""

    robot: Robot
    friction: tuple[str, ...] = FRICTION
    rotor: bool = True
    springs: bool = False
    inertial: bool = True
    coupling: tuple[tuple[float, ...], ...] | None = None
    fixed: Mapping[str, float] = field(default_factory=dict)
    loads: Robot | None = None
    compiled: ClassVar[bool] = True  # whether `rows` has every column, so that kernels are made of them

    def __post_init__(self) -> None:
        for name in self.friction:
            choose("friction column", name, FRICTION_COLUMNS)
        for name, value in self.fixed.items():
            choose("parameter", name, self.all_names)
            if not np.isfinite(value):
                raise InputError("not-finite", "fixed", problem=f"the fixed value of {name!r} is not finite")
        n = self.robot.n
        if self.coupling is not None and not np.diag(array("coupling", self.coupling, (n, n))).all():
            raise InputError(
                "wrong-shape", "coupling", problem=f"`coupling` must be a {n}×{n} matrix without zeros on its diagonal"
            )

    # ------------------------------------------------------------------------------------------------ names
    @cached_property
    def coupled(self) -> dict[int, Array]:
        """Motors that turn with several joints: the row of G, one on its diagonal."""
        if self.coupling is None:
            return {}
        G = np.asarray(self.coupling, float)
        rows = {k: row / row[k] for k, row in enumerate(G)}
        return {k: row for k, row in rows.items() if np.count_nonzero(row) > 1}

    @cached_property
    def all_names(self) -> tuple[str, ...]:
        """Names of all columns, those with fixed values included."""
        names = list(self.robot.parameter_names()) if self.inertial else []
        joints = self.robot.joint_names
        if self.rotor:
            names += [f"{joint}:rotor" for joint in joints]
        names += [f"{joint}:{kind}" for kind in self.friction for joint in joints]
        if self.springs:
            names += [f"{joint}:spring" for joint in joints]
        for k in self.coupled:
            motor = f"motor of {joints[k]}"
            names += [f"{motor}:rotor"] * self.rotor
            names += [f"{motor}:{kind}" for kind in self.friction if kind not in NOT_OF_MOTORS]
        return tuple(names)

    @cached_property
    def free(self) -> NDArray[np.int64]:
        """Places of the columns that are looked for."""
        return np.array([k for k, name in enumerate(self.all_names) if name not in self.fixed], np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are looked for."""
        return tuple(self.all_names[k] for k in self.free)

    @cached_property
    def known(self) -> Array:
        """All parameters with the fixed ones at their values and zeros elsewhere."""
        return np.array([self.fixed.get(name, 0.0) for name in self.all_names])

    @cached_property
    def reach(self) -> NDArray[np.bool_]:
        """Which columns can be anything but zero in the row of a joint: (n, p), p of all columns. A joint feels the
        bodies it carries."""
        rng = np.random.default_rng(0)
        n = self.robot.n
        q, qd, qdd = rng.uniform(-2, 2, (3, 20, n))
        return np.asarray((np.abs(self.matrices(q, qd, qdd, self._any_directions(qd, rng))) > 0).any(0))

    # ------------------------------------------------------------------------------------------------ values
    def directions(self, qd: Array, rest: Array, own: Array | None = None) -> Array:
        """s (N, n + motors that turn with several joints): the directions of dry friction of every joint (`own`, or by
        `find_direction`), then of those motors."""
        turns = np.array(list(self.coupled.values())).reshape(-1, self.robot.n)
        band = np.max(np.abs(turns) * rest, axis=1, initial=0.0)
        joints = find_direction(qd, rest) if own is None else own
        return np.concatenate([joints, find_direction(qd @ turns.T, band)], axis=-1) if len(turns) else joints

    @property
    def _directed(self) -> int:
        """How many directions and loads a state has."""
        return self.robot.n + len(self.coupled) + ("load" in self.friction) * self.robot.n

    def _any_directions(self, qd: Array, rng: np.random.Generator) -> Array:
        """Directions, and loads where they are asked for, at random states."""
        s = self.directions(qd, np.zeros(self.robot.n))
        return np.concatenate([s, rng.uniform(0, 3, (len(qd), self._directed - s.shape[1]))], axis=1)

    @cached_property
    def _carried(self) -> Robot:
        """The robot whose torques load the joints: without rotors, which lie before the gears."""
        d = (self.loads or self.robot).description
        return Robot(replace(d, joints=tuple(replace(j, drive=Drive()) for j in d.joints)))

    def rows(self, q: Scalars, qd: Scalars, qdd: Scalars, s: Scalars) -> list[list[Scalar]]:
        """Every column of every joint, n × p, over any scalar; s as `directions` gives them, then loads."""
        n, m = self.robot.n, self.robot.n + len(self.coupled)
        loads = s[m:] if "load" in self.friction else [0.0] * n
        Y = regressor.regressor(self.robot.model, q, qd, qdd) if self.inertial else [[] for _ in range(n)]
        diagonals = [list(qdd)] if self.rotor else []
        diagonals += [
            [FRICTION_COLUMNS[kind](*state) for state in zip(qd, s[:n], loads, strict=True)] for kind in self.friction
        ]
        diagonals += [list(q)] if self.springs else []
        for values in diagonals:
            Y = [[*row, *(x if j == i else 0.0 for j, x in enumerate(values))] for i, row in enumerate(Y)]
        for turn, way in zip(self.coupled.values(), s[n:m], strict=True):
            Y = [[*row, *(turn[i] * x for x in self._motor(turn, qd, qdd, way))] for i, row in enumerate(Y)]
        return Y

    def _motor(self, turn: Array, qd: Scalars, qdd: Scalars, way: Scalar) -> list[Scalar]:
        """The columns of a motor that turns by `turn` · q̇, on its own side."""
        w, wd = (linear.inner(turn.tolist(), x) for x in (qd, qdd))
        own = [FRICTION_COLUMNS[kind](w, way, 0.0) for kind in self.friction if kind not in NOT_OF_MOTORS]
        return [wd, *own] if self.rotor else own

    @cached_property
    def kernel(self) -> Kernel:
        """All columns, (n, p)."""
        n = self.robot.n
        shapes = [(n,), (n,), (n,), (self._directed,)]
        return compile_function(
            self.rows, shapes, [(n, len(self.all_names))], "columns", arguments=("q", "qd", "qdd", "s")
        )

    def joint_kernel(self, kept: Sequence[int] | NDArray[np.int64]) -> tuple[Kernel, list[NDArray[np.int64]]]:
        """For each joint the columns in `kept` (places among the free ones) that it feels, and at the end its torque
        less what is known: only what a fit needs, one array a joint. Beside it, which of `kept` they are."""
        wanted = tuple(int(k) for k in kept)
        if wanted not in self._joint_kernels:
            self._joint_kernels[wanted] = self._make_joint_kernel(wanted)
        return self._joint_kernels[wanted]

    @cached_property
    def _joint_kernels(self) -> dict[tuple[int, ...], tuple[Kernel, list[NDArray[np.int64]]]]:
        """Those made so far, by the columns kept."""
        return {}

    def _make_joint_kernel(self, kept: tuple[int, ...]) -> tuple[Kernel, list[NDArray[np.int64]]]:
        n, wanted = self.robot.n, self.free[np.asarray(kept, np.int64)]
        felt = [np.flatnonzero(row) for row in self.reach[:, wanted]]
        known = [(int(k), float(self.known[k])) for k in np.flatnonzero(self.known)]

        def function(
            q: Scalars, qd: Scalars, qdd: Scalars, s: Scalars, tau: Scalars
        ) -> tuple[list[Scalar], ...] | list[Scalar]:
            results = []
            for row, places, torque in zip(self.rows(q, qd, qdd, s), felt, tau, strict=True):
                for k, value in known:
                    torque = torque - value * row[k]
                results.append([*(row[k] for k in wanted[places]), torque])
            return tuple(results) if n > 1 else results[0]

        shapes = [(len(places) + 1,) for places in felt]
        names = ("q", "qd", "qdd", "s", "tau")
        sizes = [(n,), (n,), (n,), (self._directed,), (n,)]
        return compile_function(function, sizes, shapes, "joint columns", arguments=names), felt

    def matrices(self, q: Array, qd: Array, qdd: Array, s: Array) -> Array:
        """Every column, (N, n, p); s as `directions` gives them."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.kernel(q, qd, qdd, s))

    def arguments(self, samples: Samples) -> tuple[Array, Array, Array, Array]:
        """What `matrices` takes, of samples."""
        q, qd, qdd = samples.q, samples.qd, samples.qdd
        s = self.directions(qd, samples.rest, samples.direction)
        if "load" in self.friction:
            s = np.concatenate([s, np.abs(self._carried.inverse_dynamics(q, qd, qdd))], axis=-1)
        return q, qd, qdd, s

    def matrix(self, samples: Samples) -> Array:
        """Y of the free columns, (N, n, p)."""
        return self.matrices(*self.arguments(samples))[..., self.free]

    def random_rows(self, seed: int = 0) -> Array:
        """Y of the free columns at random states, more of them than there are columns: (rows, p)."""
        rng = np.random.default_rng(seed)
        n, p = self.robot.n, len(self.free)
        count = STATES * p // n + 10
        # In the robot's own units, so that gravity, rates and accelerations count alike whatever its size.
        length, time = find_units(self.robot)
        size = np.array([1.0 if c.joint.turns else length for c in self.robot.model.coordinates])
        q = rng.uniform(-np.pi, np.pi, (count, n)) * size
        qd, qdd = rng.uniform(-1, 1, (2, count, n)) * size
        qd, qdd = qd / time, qdd / time**2
        s = self._any_directions(qd, rng)
        if not self.compiled:
            return self.matrices(q, qd, qdd, s)[..., self.free].reshape(-1, p)
        rows = self.rows(*(list(x.T) for x in (q, qd, qdd, s)))  # over arrays: quicker than to compile for one use
        return np.stack([np.stack([row[k] + np.zeros(count) for k in self.free], axis=-1) for row in rows]).reshape(
            -1, p
        )

    def with_values(self, free: Array) -> Array:
        """All parameters, with these for the free ones."""
        values = self.known.copy()
        values[self.free] = free
        return values

    def near(self, other: Mapping[str, float] | Robot | None, missing: Array | None = None) -> Array:
        """π of all columns of another source: a robot's description (one's own, if None), or by name; what is not
        named is `missing`, or zero."""
        if not isinstance(other, Mapping):
            return (self if other is None else replace(self, robot=other, fixed={})).model_values()
        for name in other:
            choose("parameter", name, self.all_names)
        rest = np.zeros(len(self.all_names)) if missing is None else missing
        return np.array([float(other.get(name, x)) for name, x in zip(self.all_names, rest, strict=True)])

    def blocks(self, samples: Samples, parallel: int = 1) -> Iterator[tuple[Array, Array]]:
        """(Y, τ − what is known) piece by piece; with `parallel` D > 1 both low-pass filtered alike and one row
        kept of D (the jumps of dry friction are then as smooth on the one side as on the other).  Gautier 1997."""
        margin = 4 * parallel if parallel > 1 else 0
        k = np.arange(-margin, margin + 1)
        h = np.sinc(0.8 * k / parallel) * np.hamming(len(k))  # passes below half the new rate
        h = h / h.sum()

        def low_pass(x: Array) -> Array:
            if parallel == 1:
                return x
            return np.asarray(np.lib.stride_tricks.sliding_window_view(x, len(h), axis=0)[::parallel] @ h)

        size = max(BLOCK // parallel, 1) * parallel
        for first in range(0, max(len(samples) - 2 * margin, 0), size):
            last = min(first + size, len(samples) - 2 * margin)
            part = samples.part(slice(first, last + 2 * margin))
            Y = self.matrices(*self.arguments(part))
            tau = part.tau - (Y @ self.known if self.fixed else 0.0)
            yield low_pass(Y[..., self.free]), low_pass(tau)

    def predict(self, parameters: ArrayLike, samples: Samples) -> Array:
        """Y π, with π of all columns, (N, n)."""
        pi = np.asarray(parameters, float)
        if pi.shape != (len(self.all_names),):
            raise InputError("wrong-shape", "parameters", pi, expected=f"{len(self.all_names)} numbers, one per column")
        parts = [Y @ pi[self.free] - t for Y, t in self.blocks(samples.without_torques())]
        return np.concatenate(parts) if parts else np.zeros_like(samples.tau)

    def model_values(self) -> Array:
        """π of all columns as the robot's own description has them; friction and rotors as far as it knows them."""
        own = self.robot
        values = dict(zip(own.parameter_names(rotor=True), own.parameters(rotor=True), strict=True))
        described = tuple(kind for kind in self.friction if kind in ("viscous", "coulomb", "offset"))
        if described:
            names = own.parameter_names(friction=described)
            values |= dict(zip(names, own.parameters(friction=described), strict=True))
        return np.array([values.get(name, 0.0) for name in self.all_names])

    @property
    def bodies(self) -> int:
        """How many bodies' parameters come first."""
        return len(self.robot.model.bodies) if self.inertial else 0


def coupling_of(matrix: Sequence[Sequence[float]] | Array) -> tuple[tuple[float, ...], ...]:
    """A matrix as the tuple that `Columns` holds."""
    return tuple(tuple(float(x) for x in row) for row in np.asarray(matrix, float))


# ------------------------------------------------------------------------------------------------ base parameters
@dataclass(frozen=True, eq=False)
class Base:
    """`kept` and `rest`: places among the free columns; K (kept, rest). `names` of the free columns."""

    names: tuple[str, ...]
    kept: NDArray[np.int64]
    rest: NDArray[np.int64]
    K: Array

    @property
    def rank(self) -> int:
        return len(self.kept)

    def of(self, parameters: Array) -> Array:
        """β of the parameters π of the free columns."""
        return np.asarray(parameters[self.kept] + self.K @ parameters[self.rest])

    def matrix(self) -> Array:
        """B with β = B π."""
        B = np.zeros((len(self.kept), len(self.names)))
        B[:, self.kept] = np.eye(len(self.kept))
        B[:, self.rest] = self.K
        return B

    def formulas(self, digits: int = 4) -> tuple[str, ...]:
        """Each base parameter as a sum of parameters with numbers."""
        lines = []
        for i, k in enumerate(self.kept):
            text = self.names[k]
            for j, r in enumerate(self.rest):
                x = self.K[i, j]
                if abs(x) > 1e-9:
                    size = "" if abs(abs(x) - 1) < 1e-9 else f"{abs(x):.{digits}g} "
                    text += f" {'+' if x > 0 else '−'} {size}{self.names[r]}"
            lines.append(text)
        return tuple(lines)


def base(columns: Columns, seed: int = 0) -> Base:
    """The base parameters of a set of columns, found on random motions: a property of the arm, not of a log."""
    names = columns.names
    if not names:
        raise InputError("conflict", "fixed", problem="every parameter is fixed, so none remains to identify")
    meant = find_nominal(columns.robot)
    return from_matrix(replace(columns, robot=meant).random_rows(seed), names, max(DEPENDENT, 5 * _last_digit(meant)))


def find_units(robot: Robot) -> tuple[float, float]:
    """A robot's own length [m], the mean distance of joints and centers of mass from the joint before, and time [s],
    that of a pendulum of this length (of one second where there is no gravity)."""
    bodies = robot.model.bodies
    lengths = [float(np.linalg.norm(body.placement.p)) for body in bodies if body.parent >= 0]
    lengths += [float(np.linalg.norm(body.inertia.h)) / body.inertia.m for body in bodies if body.inertia.m > 0]
    length = float(np.mean([x for x in lengths if x > 0] or [1.0]))
    gravity = float(np.linalg.norm(robot.model.gravity))
    return length, float(np.sqrt(length / gravity)) if gravity > 0 else 1.0


def find_nominal(robot: Robot) -> Robot:
    """The robot that a description means: angles that are multiples of 15° to the digits they are written with (1.5708
    is π/2) exact, and components of axes and lengths that are none to the fifth digit zero. The robot itself where its
    numbers say what they mean."""
    d = robot.description
    longest = max((abs(x) for joint in d.joints for x in joint.origin.xyz), default=0.0)
    joints = tuple(_nominal_joint(joint, longest) for joint in d.joints)
    return robot if joints == d.joints else Robot(replace(d, joints=joints), told=robot.warnings)


def _nominal_joint(joint: Joint, longest: float) -> Joint:
    def without_dust(vector: Sequence[float], size: float) -> tuple[float, float, float]:
        x, y, z = (0.0 if abs(value) < TRUE * size else value for value in vector)
        return x, y, z

    roll, pitch, yaw = map(_nominal_angle, joint.origin.rpy)
    origin = Origin(without_dust(joint.origin.xyz, longest), (roll, pitch, yaw))
    return replace(joint, origin=origin, axis=without_dust(joint.axis, max(map(abs, joint.axis))))


def _last_digit(robot: Robot) -> float:
    """The unit of the last digit of angles and axes that are no multiples of 15°; zero where none of them is rounded to
    three digits or more."""
    numbers = [x for joint in robot.description.joints for x in (*joint.origin.rpy, *joint.axis)]
    places = [_places(x) for x in numbers if abs(x / RIGHT - round(x / RIGHT)) > 1e-9 and abs(x) != 1]
    rounded = [k for k in places if 3 <= k < DIGITS - 2]
    return 10.0 ** -max(rounded) if rounded else 0.0


def _places(x: float) -> int:
    """How many decimals a number is written with."""
    return -int(Decimal(f"{x:.{DIGITS}g}").as_tuple().exponent)


def _nominal_angle(x: float) -> float:
    """The multiple of 15° that an angle is, rounded or cut off at its last digit; the angle itself if it is none."""
    right = round(x / RIGHT) * RIGHT
    places = _places(x)
    unit = 10.0**-places if places >= 2 and right else 0.0
    return float(right) if -max(0.5 * unit, TRUE) <= abs(right) - abs(x) <= max(unit, TRUE) else x


def from_matrix(Y: Array, names: tuple[str, ...], apart: float = DEPENDENT) -> Base:
    """The base parameters that the rows of a matrix tell apart, columns taken from left to right: those that differ by
    more than `apart` of their length from what the columns before them can do. Columns shorter than that, beside the
    longest of their kind, are zero."""
    size = np.linalg.norm(Y, axis=0)
    kinds = np.unique([name.rpartition(":")[2] for name in names], return_inverse=True)[1]
    longest = np.zeros(len(names))
    np.maximum.at(longest, kinds, size)
    nothing = size <= np.maximum(apart * longest[kinds], 1e-12 * size.max(initial=0.0))
    scale = np.where(nothing, 1.0, size)
    R = np.asarray(np.linalg.qr(Y / scale, mode="r"), np.float64)
    R = np.concatenate([R, np.zeros((max(0, R.shape[1] - R.shape[0]), R.shape[1]))])
    kept: list[int] = []
    Q = np.zeros((R.shape[0], 0))
    for j in range(R.shape[1]):
        column = R[:, j].copy()
        for _ in range(2):  # twice: what rounding left of the first pass goes in the second
            column -= Q @ (Q.T @ column)
        rest = np.linalg.norm(column)
        if not nothing[j] and rest > apart:
            kept.append(j)
            Q = np.column_stack([Q, column / rest])
    left = [j for j in range(R.shape[1]) if j not in kept]
    K = np.linalg.lstsq(R[:, kept], R[:, left], rcond=None)[0] if kept and left else np.zeros((len(kept), len(left)))
    K[:, nothing[left]] = 0.0
    K[np.abs(K) < 0.1 * apart] = 0.0  # of columns of unit length
    K = K * scale[left] / scale[kept][:, None]
    return Base(names, np.array(kept, np.int64), np.array(left, np.int64), K)
