"""`calibrate`: corrections of an arm's geometry from measured tips, those that can be told apart and no others.

Nonlinear least squares on the exact Jacobian of `corrections`. Which corrections are identifiable is decided by a
rank-revealing factorization, in an order that prefers the mounting to the joints' zeros, and those to the rest of the
geometry: what the measuring set-up explains is not taken for an error of the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, number
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.describe.chain import to_origin, to_pose
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.identification.calibration.corrections import axes_of, correct_origin, corrected_pose, correction
from dalembert.identification.calibration.measurements import Measurement
from dalembert.identification.fit.regression import unit_columns
from dalembert.kernels import need_tree
from dalembert.robot import Robot
from dalembert.se3 import read_pose
from dalembert.spatial import Pose

Integers = NDArray[np.int64]
Errors = tuple[Array, Array]  # distances [m] and angles [rad]; empty where no angle was measured
GROUPS = ("base", "tool", "offsets", "origins")  # in the order of preference
DEPENDENT = 1e-9  # of a column's length: what is left of it when the others are taken away, up to rounding
WEAK = 1e-3  # of a column's length, the default for what is left out as nearly dependent
ITERATIONS = 200
FLAT = 1e-6  # cosine between the residual and a column at what counts as a minimum


def calibrate(
    robot: Robot,
    measurements: Measurement | Sequence[Measurement],
    *,
    free: Sequence[str] = GROUPS,
    fixed: Sequence[str] = (),
    base: ArrayLike | None = None,
    held_out: float = 0.2,
    weak: float = WEAK,
    seed: int = 0,
) -> Calibration:
    """The corrections of a robot's geometry that make its forward kinematics fit what was measured:

        measured ≈ base · fk(q) · tool

    `measurements`: one or several of `Poses`, `Points`, `Distances`, `SamePoint`. `free`: groups of corrections, of
    "base" and "tool" (six each: where the robot and the target stand), "offsets" (of the joints' zeros) and "origins"
    (the other five per joint), or single names; `fixed`: names to leave at zero. `base`: the robot's base in the
    measuring system as far as it is known (found from measured positions if "base" is free, else the identity).
    A correction whose column is spanned by those before it, but for a share `weak` of its length, is left at zero and
    named. A share `held_out` of the states is not used, but for the check.
    """
    need_tree(robot.model)
    given = [measurements] if isinstance(measurements, Measurement) else measurements
    if not isinstance(given, Sequence) or not given or not all(isinstance(m, Measurement) for m in given):
        raise InputError("wrong-type", "measurements", expected="Poses, Points, Distances, SamePoint or a list of them")
    problem = _Problem(robot, tuple(m.checked(robot) for m in given))
    wanted = problem.wanted(free, fixed)
    share, tolerance = number("held_out", held_out), number("weak", weak)
    if not 0 <= share < 1:
        raise InputError("out-of-range", "held_out", held_out, expected="a share of the states in [0, 1)")
    if not 0 < tolerance < 1:
        raise InputError("out-of-range", "weak", weak, expected="a share of the length of a column, between 0 and 1")
    train, test = problem.split(share, np.random.default_rng(seed))
    train = train.placed(base, any(p.group == "base" for p in wanted))
    test = replace(test, base=train.base) if test is not None else None

    zero = train.start()
    mounting = [p for p in wanted if p.group in ("base", "tool", "unknown")]
    chosen, _ = train.identifiable(zero, mounting, tolerance)
    before = train.fit(zero, chosen)  # the arm as described, in the place where it fits best
    chosen, left = train.identifiable(before.x, wanted, tolerance)
    if len(before.r) < len(chosen):
        raise InputError(
            "too-few",
            "measurements",
            problem=f"{len(before.r)} measured numbers cannot determine {len(chosen)} corrections",
            remedy="Measure more states, or free fewer corrections.",
        )
    after = train.fit(before.x, chosen)
    while True:  # an arm off by millimeters may tell apart what the arm that fits cannot
        kept, more = train.identifiable(after.x, chosen, tolerance)
        if len(kept) == len(chosen):
            break
        chosen, left = kept, {**left, **more}
        after = train.fit(before.x, chosen)
    return _result(train, test, before, after, chosen, left)


# ----------------------------------------------------------------------------------------------------- problem
@dataclass(frozen=True)
class Parameter:
    """One number of the problem: its name, its group, and its place among the numbers."""

    name: str
    group: str
    at: int


@dataclass(frozen=True, eq=False)
class _Fit:
    """Where a fit ended: the numbers, residuals by sigma and their derivative, whether it converged, why it stopped."""

    x: Array
    r: Array
    J: Array
    converged: bool
    iterations: int
    slope: float
    message: str


@dataclass(frozen=True, eq=False)
class _Problem:
    """Its numbers x: six for the base, six for every body on a way to a target, six for each measurement's tool, and
    what else each measurement leaves unknown."""

    robot: Robot
    measurements: tuple[Measurement, ...]
    base: Array = field(default_factory=lambda: np.eye(4))

    @cached_property
    def bodies(self) -> list[int]:
        model = self.robot.model
        return sorted({i for m in self.measurements for i in model.path(model.frame(m.frame).body)})

    @cached_property
    def unknowns(self) -> list[slice]:
        """Where each measurement's own unknown numbers stand."""
        ends = 6 * (1 + len(self.bodies) + len(self.measurements)) + np.cumsum([m.unknowns for m in self.measurements])
        return [slice(end - m.unknowns, end) for end, m in zip(ends.tolist(), self.measurements, strict=True)]

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Every number, in the order of preference."""
        six, several = ("x", "y", "z", "rx", "ry", "rz"), len(self.measurements) > 1
        out = [
            Parameter(f"target{k + 1 if several else ''}:{letter}", "unknown", at)
            for k, where in enumerate(self.unknowns)
            for at, letter in zip(range(where.start, where.stop), "xyz", strict=False)
        ]
        out += [Parameter(f"base:{name}", "base", k) for k, name in enumerate(six)]
        first = 6 * (1 + len(self.bodies))
        for j in range(len(self.measurements)):
            tool = f"tool{j + 1 if several else ''}"
            out += [Parameter(f"{tool}:{name}", "tool", first + 6 * j + k) for k, name in enumerate(six)]
        offsets, origins = [], []
        for row, i in enumerate(self.bodies, start=1):
            body = self.robot.model.bodies[i]
            _, letters, own = axes_of(body)
            place = own + (3 if body.joint.turns else 0)
            for k, name in enumerate((*letters, *(f"r{x}" for x in letters))):
                if k == place:
                    offsets.append(Parameter(f"{body.joint_name}:offset", "offsets", 6 * row + k))
                else:
                    origins.append(Parameter(f"{body.joint_name}:{name}", "origins", 6 * row + k))
        return out + offsets + origins

    def wanted(self, free: str | Sequence[str], fixed: str | Sequence[str]) -> list[Parameter]:
        names = [p.name for p in self.parameters]
        asked = (free,) if isinstance(free, str) else tuple(free)
        held = (fixed,) if isinstance(fixed, str) else tuple(fixed)
        for given, choices in ((asked, (*GROUPS, *names)), (held, tuple(names))):
            for name in given:
                choose("correction", name, choices)
        open_ = {"unknown", *asked}
        return [p for p in self.parameters if p.name not in held and {p.group, p.name} & open_]

    def split(self, share: float, rng: np.random.Generator) -> tuple[_Problem, _Problem | None]:
        """States to fit and states to check with."""
        kept, out = [], []
        for m in self.measurements:
            order, count = rng.permutation(len(m)), int(share * len(m))
            kept.append(m.some(np.sort(order[count:])))
            out.append(m.some(np.sort(order[:count])))
        train = replace(self, measurements=tuple(kept))
        return train, replace(self, measurements=tuple(out)) if all(len(m) for m in out) else None

    def placed(self, base: ArrayLike | None, free: bool) -> _Problem:
        """With the base where it was said to be, or where measured positions put it."""
        if base is not None:
            T = read_pose("base", base)
            if T.shape != (4, 4):
                raise InputError("wrong-shape", "base", T, expected="one pose (4, 4)")
            return replace(self, base=T)
        pairs = [
            ((self.robot.fk(m.q, m.frame) @ np.asarray(m.tool, float))[:, :3, 3], m.places)
            for m in self.measurements
            if m.places is not None
        ]
        if not free or not pairs or sum(len(a) for a, _ in pairs) < 3:
            return replace(self, base=np.eye(4))
        return replace(self, base=_align(np.vstack([a for a, _ in pairs]), np.vstack([b for _, b in pairs])))

    # ------------------------------------------------------------------------------------------------- values
    def start(self) -> Array:
        """No corrections, and first guesses of what is unknown."""
        x = np.zeros(self.unknowns[-1].stop)
        for where, m, (T, _) in zip(self.unknowns, self.measurements, self.poses(x), strict=True):
            x[where] = m.start(T)
        return x

    def rows_of(self, k: int) -> Integers:
        """The rows of six numbers that the k-th measurement's kernel takes."""
        model = self.robot.model
        path = model.path(model.frame(self.measurements[k].frame).body)
        return np.array([0, *(1 + self.bodies.index(i) for i in path), 1 + len(self.bodies) + k])

    def poses(self, x: Array) -> list[tuple[Array, Array]]:
        """(T, J) of every measurement's target at its states."""
        found = []
        for k, m in enumerate(self.measurements):
            kernel = self.robot.once(("corrected_pose", m.frame), partial(_kernel, self.robot, m.frame))
            X = x[: 6 * (1 + len(self.bodies) + len(self.measurements))].reshape(-1, 6)
            found.append(kernel(m.q, X[self.rows_of(k)], self.base, m.tool))
        return found

    def evaluate(self, x: Array, chosen: Sequence[Parameter]) -> tuple[Array, Array]:
        """(r, ∂r/∂chosen): residuals of all measurements by their sigma."""
        residuals, columns, at = [], [], [p.at for p in chosen]
        for k, (T, J) in enumerate(self.poses(x)):
            r, dX, dE = self.measurements[k].residual(T, J, x[self.unknowns[k]])
            whole = np.zeros((*r.shape, len(x)))
            whole[..., (6 * self.rows_of(k)[:, None] + np.arange(6)).reshape(-1)] = dX
            whole[..., self.unknowns[k]] = dE
            residuals.append(r.reshape(-1))
            columns.append(whole[..., at].reshape(r.size, len(chosen)))
        return np.concatenate(residuals), np.concatenate(columns)

    def errors(self, x: Array) -> Errors:
        """Distances and angles of all states."""
        rows = zip(self.measurements, self.poses(x), self.unknowns, strict=True)
        found = [m.errors(T, x[where]) for m, (T, _), where in rows]
        angles = [a for _, a in found if a is not None]
        return np.concatenate([d for d, _ in found]), np.concatenate(angles) if angles else np.zeros(0)

    # ---------------------------------------------------------------------------------------------- decisions
    def identifiable(
        self, x: Array, wanted: Sequence[Parameter], weak: float
    ) -> tuple[list[Parameter], dict[str, str]]:
        """(those that can be told apart, why each of the others cannot), group by group; inside a group the column that
        stands out most comes next."""
        _, J = self.evaluate(x, wanted)
        unit, _ = unit_columns(J)
        size = np.linalg.norm(J, axis=0)
        rest, kept = unit.copy(), []
        silent = size <= 1e-12 * size.max(initial=0.0)
        for group in dict.fromkeys(p.group for p in wanted):
            open_ = [k for k, p in enumerate(wanted) if p.group == group and not silent[k]]
            while open_:
                left = np.linalg.norm(rest[:, open_], axis=0)
                k = open_[int(np.argmax(left))]
                if left.max() <= weak:
                    break
                kept.append(k)
                open_.remove(k)
                v = rest[:, k] / np.linalg.norm(rest[:, k])
                for _ in range(2):  # twice: what rounding left of the first pass goes in the second
                    rest -= np.outer(v, v @ rest)
        out = [k for k in range(len(wanted)) if k not in kept]
        shares: Array = np.zeros((0, len(out)))
        if kept and out:
            shares = np.asarray(np.linalg.lstsq(unit[:, kept], unit[:, out], rcond=None)[0], float)
        names = [wanted[k].name for k in kept]
        reasons = {
            wanted[k].name: _reason(silent[k], shares[:, j], names, float(np.linalg.norm(rest[:, k])))
            for j, k in enumerate(out)
        }
        return [wanted[k] for k in sorted(kept)], reasons

    def fit(self, x: Array, chosen: Sequence[Parameter]) -> _Fit:
        """Least squares over the chosen numbers, and a last step of Gauss and Newton to the bottom."""
        from scipy.optimize import least_squares

        if not chosen:
            return _Fit(x, *self.evaluate(x, chosen), True, 0, 0.0, "nothing was free")
        at = [p.at for p in chosen]

        def moved(values: Array) -> Array:
            y = x.copy()
            y[at] = values
            return y

        found = least_squares(
            lambda values: self.evaluate(moved(values), chosen)[0],
            x[at],
            lambda values: self.evaluate(moved(values), chosen)[1],
            method="lm",
            x_scale="jac",
            ftol=1e-15,
            xtol=1e-15,
            gtol=1e-15,
            max_nfev=ITERATIONS,
        )
        unit, size = unit_columns(found.jac)
        values = found.x - np.linalg.lstsq(unit, found.fun, rcond=None)[0] / size
        r, J = self.evaluate(moved(values), chosen)
        if not r @ r <= found.fun @ found.fun:
            values, r, J = found.x, found.fun, found.jac
        # The largest cosine between the residual and a column: zero at a minimum. A residual of a millionth of sigma is
        # rounding, whose direction means nothing.
        length = float(np.linalg.norm(r)) + 1e-6 * np.sqrt(len(r))
        slope = float(np.abs(unit_columns(J)[0].T @ r).max() / length)
        done = found.status > 0 or slope < FLAT
        message = "converged: no step makes the residual smaller" if done else f"stopped after {found.nfev} evaluations"
        return _Fit(moved(values), r, J, done, int(found.nfev), slope, message)


def _reason(silent: bool, shares: Array, names: list[str], left: float) -> str:
    """Why a correction was left out: which of the others do what it would, and how much of it is its own."""
    if silent:
        return "has no effect on what was measured"
    order = [i for i in np.argsort(-np.abs(shares)) if abs(shares[i]) > 1e-3][:4]
    others = ", ".join(names[i] for i in order)
    if left <= DEPENDENT:
        return f"cannot be told from {others}"
    return f"can hardly be told from {others}: {100 * left:.2g} % of its effect is its own"


def _kernel(robot: Robot, frame: str | None) -> Kernel:
    """(T (4, 4), J (6, 6·rows)) of q, X, base and tool."""
    model = robot.model
    target = model.frame(frame)
    rows = len(model.path(target.body)) + 2

    def as_pose(T: list[Scalars]) -> Pose:
        return Pose(tuple(tuple(row[:3]) for row in T[:3]), tuple(row[3] for row in T[:3]))

    def function(
        q: Scalars, X: list[Scalars], base: list[Scalars], tool: list[Scalars]
    ) -> tuple[Sequence[Sequence[Scalar]], Sequence[Sequence[Scalar]]]:
        T, J = corrected_pose(model, q, target, X, as_pose(base), as_pose(tool))
        return T.matrix(), J

    shapes = [(model.n,), (rows, 6), (4, 4), (4, 4)]
    names = ("q", "X", "base", "tool")
    return compile_function(function, shapes, [(4, 4), (6, 6 * rows)], "corrected_pose", arguments=names)


def _align(a: Array, b: Array) -> Array:
    """The pose that carries points a (N, 3) nearest to b: rotation by singular values (Kabsch 1976)."""
    ca, cb = a.mean(axis=0), b.mean(axis=0)
    U, _, Vt = np.linalg.svd((b - cb).T @ (a - ca))
    R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt)) or 1.0]) @ Vt
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, cb - R @ ca
    return T


# ------------------------------------------------------------------------------------------------------ result
@dataclass(frozen=True, eq=False)
class Calibration:
    """What a calibration found: measured ≈ base · robot.fk(q) · tool.

    `robot`: corrected; `names`, `values` [m, rad] and `covariance` of the corrections, in the axes of each joint's
    frame, at its origin; `unidentifiable`: the others, left at zero, each with the reason. `base` (4, 4): the robot's
    base in the measuring system; `tools`: each measurement's target in its frame; `targets`: anchors and touched
    points found. `before`: errors of the arm as described, mounted where it fits best; `after`; and the same for
    states held out. `noise_ratio`: the residual by what sigma promises, 1 if the model and sigma are right.
    `condition`: of the Jacobian, columns of equal length. `slope`: the largest cosine between residual and a column, 0
    at the minimum."""

    robot: Robot
    nominal: Robot
    names: tuple[str, ...]
    values: Array
    covariance: Array
    unidentifiable: dict[str, str]
    base: Array
    tools: tuple[Array, ...]
    targets: tuple[Array, ...]
    before: Errors
    after: Errors
    held_out_before: Errors | None
    held_out_after: Errors | None
    noise_ratio: float
    condition: float
    converged: bool
    iterations: int
    slope: float
    message: str

    @property
    def tool(self) -> Array:
        """The target in its frame, of the first measurement."""
        return self.tools[0]

    @property
    def sigma(self) -> Array:
        """Standard deviations of the values [m, rad]."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def corrections(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    def table(self) -> str:
        """Corrections with standard deviations, in mm and mrad, and what was left out."""
        width = max((len(name) for name in (*self.names, *self.unidentifiable)), default=4)
        prismatic = {b.joint_name for b in self.nominal.model.bodies if not b.joint.turns}
        lines = []
        for name, x, s in zip(self.names, self.values, self.sigma, strict=True):
            where, _, what = name.rpartition(":")
            turn = what.startswith("r") or (what == "offset" and where not in prismatic)
            lines.append(f"{name:{width}}  {1e3 * x:10.4f} ± {1e3 * s:.4f} {'mrad' if turn else 'mm'}")
        lines += [f"{name:{width}}  {why}" for name, why in self.unidentifiable.items()]
        return "\n".join(lines)

    def summary(self) -> str:
        """In sentences: errors before and after, fitted and held out."""
        lines = [f"{len(self.names)} corrections identified, {len(self.unidentifiable)} left at zero; {self.message}."]
        rows = (("fitted", self.before, self.after), ("held out", self.held_out_before, self.held_out_after))
        for word, before, after in rows:
            if before is None or after is None:
                continue
            text = f"{word} ({len(after[0])} states): {_words(before[0], 1e3, 'mm')} → {_words(after[0], 1e3, 'mm')}"
            if len(after[1]):
                text += f"; {_words(before[1], 1e3, 'mrad')} → {_words(after[1], 1e3, 'mrad')}"
            lines.append(text)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Calibration of {self.nominal.name!r}: {self.summary().splitlines()[-1]}>"


def rms(x: Array) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else 0.0


def _words(x: Array, factor: float, unit: str) -> str:
    return f"{factor * rms(x):.4g} {unit} rms ({factor * float(x.max(initial=0.0)):.4g} {unit} at most)"


def _result(
    train: _Problem, test: _Problem | None, before: _Fit, after: _Fit, chosen: list[Parameter], left: dict[str, str]
) -> Calibration:
    robot, x = train.robot, after.x

    def pose_of(row: int) -> Array:
        return np.array(correction(x[6 * row : 6 * row + 6].tolist()).matrix())

    bodies = {robot.model.bodies[i].joint_name: (row, i) for row, i in enumerate(train.bodies, start=1)}
    changed = []
    for joint in robot.description.joints:
        row, i = bodies.get(joint.name, (0, 0))
        six = x[6 * row : 6 * row + 6]
        if row and six.any():
            origin = correct_origin(to_pose(joint.origin), robot.model.bodies[i], six.tolist())
            joint = replace(joint, origin=to_origin(origin))
        changed.append(joint)
    corrected = Robot(replace(robot.description, joints=tuple(changed)), threads=robot.threads, told=robot.warnings)
    freedom = len(after.r) - len(chosen)
    s2 = float(after.r @ after.r) / freedom if freedom else 0.0
    inverse = np.linalg.inv(np.linalg.qr(after.J)[1]) if chosen else np.zeros((0, 0))
    tools = [np.asarray(m.tool, float) @ pose_of(1 + len(train.bodies) + k) for k, m in enumerate(train.measurements)]
    return Calibration(
        robot=corrected,
        nominal=robot,
        names=tuple(p.name for p in chosen),
        values=x[[p.at for p in chosen]],
        covariance=s2 * inverse @ inverse.T,
        unidentifiable=left,
        base=train.base @ pose_of(0),
        tools=tuple(tools),
        targets=tuple(x[where] for where in train.unknowns),
        before=train.errors(before.x),
        after=train.errors(x),
        held_out_before=None if test is None else test.errors(before.x),
        held_out_after=None if test is None else test.errors(x),
        noise_ratio=float(np.sqrt(s2)),
        condition=float(np.linalg.cond(unit_columns(after.J)[0])) if chosen else 1.0,
        converged=after.converged,
        iterations=after.iterations,
        slope=after.slope,
        message=after.message,
    )
