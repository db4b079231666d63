"""`calibrate`: corrections of an arm's geometry from measured tips, those that can be told apart and no others.

Gauss–Newton with Levenberg's damping on the exact Jacobian of `corrections`. Which corrections are identifiable is
decided by a rank-revealing factorization, in an order that prefers the mounting to the joints' zeros, and those to the
rest of the geometry: what the measuring set-up explains is not taken for an error of the arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.compile import Kernel, compile_function
from dalembert.describe.chain import to_origin, to_pose
from dalembert.errors import InputError, unknown
from dalembert.identification.calibrate.corrections import applied, axes_of, corrected_pose, correction
from dalembert.identification.calibrate.measurements import Measurement
from dalembert.identification.calibrate.result import Calibration, Fit
from dalembert.kernels import need_tree
from dalembert.poses import _pose as checked_pose
from dalembert.robot import Robot
from dalembert.spatial import Pose
from dalembert.trajectories.limits import number

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
GROUPS = ("base", "tool", "offsets", "origins")  # in the order of preference
DEPENDENT = 1e-9  # of a column's length: what is left of it when the others are taken away, up to rounding
WEAK = 1e-3  # of a column's length, the default for what is left out as nearly dependent
ITERATIONS = 60
STILL = 1e-12  # [m, rad] of a step: smaller ones change nothing


@dataclass(frozen=True)
class Parameter:
    """One number of the problem: its name, its group, and where it stands: row and column of X, or an unknown's
    place."""

    name: str
    group: str
    row: int = -1
    column: int = -1


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
    given = [measurements] if isinstance(measurements, Measurement) else list(measurements)
    if not given or not all(isinstance(m, Measurement) for m in given):
        raise InputError("measurements are Poses, Points, Distances or SamePoint, one or a list of them")
    problem = _Problem(robot, tuple(m.checked(robot) for m in given))
    wanted = problem.wanted(free, fixed)
    share = number("held_out", held_out)
    if not 0 <= share < 1:
        raise InputError(f"held_out is a share of the states, 0 ≤ held_out < 1; got {held_out!r}")
    tolerance = number("weak", weak)
    if not 0 < tolerance < 1:
        raise InputError(f"weak is a share of a column's length, between 0 and 1; got {weak!r}")
    train, test = problem.split(share, np.random.default_rng(seed))
    train = train.based(base, any(p.group == "base" for p in wanted))
    test = replace(test, base=train.base) if test is not None else None

    zero = train.start()
    mounting = [p for p in wanted if p.group in ("base", "tool", "unknown")]
    chosen, _ = train.identifiable(zero, mounting, tolerance)
    before = train.solved(zero, chosen)  # the arm as described, in the place where it fits best
    chosen, left = train.identifiable(before.x, wanted, tolerance)
    if len(before.r) < len(chosen):
        raise InputError(
            f"{len(before.r)} measured numbers cannot determine {len(chosen)} corrections: measure more states, "
            "or free fewer"
        )
    after = train.solved(before.x, chosen)
    while True:  # an arm off by millimeters may tell apart what the arm that fits cannot
        kept, more = train.identifiable(after.x, chosen, tolerance)
        if len(kept) == len(chosen):
            break
        chosen, left = kept, {**left, **more}
        after = train.solved(before.x, chosen)
    return _result(train, test, before, after, chosen, left)


# ----------------------------------------------------------------------------------------------------- problem
@dataclass(frozen=True, eq=False)
class _Problem:
    robot: Robot
    measurements: tuple[Measurement, ...]
    base: Any = None

    # What X holds: a row for the base, one for every body on a way to a target, one for each measurement's tool.
    @property
    def bodies(self) -> list[int]:
        model = self.robot.model
        return sorted({i for m in self.measurements for i in model.path(model.frame(m.frame).body)})

    @property
    def parameters(self) -> list[Parameter]:
        """Every number, in the order of preference."""
        six = ("x", "y", "z", "rx", "ry", "rz")
        out = [
            Parameter(f"{_numbered('target', k, self.measurements)}:{'xyz'[i]}", "unknown", k, i)
            for k, m in enumerate(self.measurements)
            for i in range(m.unknowns)
        ]
        out += [Parameter(f"base:{name}", "base", 0, k) for k, name in enumerate(six)]
        first = 1 + len(self.bodies)
        for j in range(len(self.measurements)):
            tool = _numbered("tool", j, self.measurements)
            out += [Parameter(f"{tool}:{name}", "tool", first + j, k) for k, name in enumerate(six)]
        offsets, origins = [], []
        for row, i in enumerate(self.bodies, start=1):
            body = self.robot.model.bodies[i]
            _, letters, own = axes_of(body)
            place = own + (3 if body.joint.turns else 0)
            for k, name in enumerate((*letters, *(f"r{x}" for x in letters))):
                if k == place:
                    offsets.append(Parameter(f"{body.joint_name}:offset", "offsets", row, k))
                else:
                    origins.append(Parameter(f"{body.joint_name}:{name}", "origins", row, k))
        return out + offsets + origins

    def wanted(self, free: Sequence[str], fixed: Sequence[str]) -> list[Parameter]:
        every = self.parameters
        names = [p.name for p in every]
        asked = (free,) if isinstance(free, str) else tuple(free)
        held = (fixed,) if isinstance(fixed, str) else tuple(fixed)
        for name in asked:
            if name not in GROUPS and name not in names:
                raise unknown("correction", name, (*GROUPS, *names))
        for name in held:
            if name not in names:
                raise unknown("correction", name, names)
        return [
            p for p in every if p.name not in held and (p.group == "unknown" or p.group in asked or p.name in asked)
        ]

    def split(self, share: float, rng: np.random.Generator) -> tuple[_Problem, _Problem | None]:
        """States to fit and states to check with."""
        kept, out = [], []
        for m in self.measurements:
            order = rng.permutation(len(m))
            count = int(share * len(m))
            kept.append(m.some(np.sort(order[count:])))
            out.append(m.some(np.sort(order[:count])))
        train = replace(self, measurements=tuple(kept))
        return train, replace(self, measurements=tuple(out)) if all(len(m) for m in out) else None

    def based(self, base: ArrayLike | None, free: bool) -> _Problem:
        """With the base where it was said to be, or where measured positions put it."""
        if base is not None:
            T = checked_pose("base", base)
            if T.shape != (4, 4):
                raise InputError(f"base must be one pose (4, 4), got shape {T.shape}")
            return replace(self, base=T)
        pairs = [
            ((self.robot.fk(m.q, m.frame) @ m.tool)[:, :3, 3], m.places)
            for m in self.measurements
            if m.places is not None
        ]
        if not free or not pairs or sum(len(a) for a, _ in pairs) < 3:
            return replace(self, base=np.eye(4))
        return replace(self, base=_placed(np.vstack([a for a, _ in pairs]), np.vstack([b for _, b in pairs])))

    # ------------------------------------------------------------------------------------------------- values
    @property
    def kernels(self) -> list[Kernel]:
        made: dict[str, Kernel] = {}
        for m in self.measurements:
            assert m.frame is not None
            if m.frame not in made:
                key = ("corrected_pose", m.frame)
                if key not in self.robot.made:
                    self.robot.made[key] = _kernel(self.robot, m.frame)
                made[m.frame] = self.robot.made[key]
        return [made[m.frame] for m in self.measurements if m.frame is not None]

    def start(self) -> tuple[Array, list[Array]]:
        """(X, unknowns): no corrections, and first guesses."""
        X = np.zeros((1 + len(self.bodies) + len(self.measurements), 6))
        poses = [T for T, _ in self.poses(X)]
        return X, [m.start(T) for m, T in zip(self.measurements, poses, strict=True)]

    def rows_of(self, k: int) -> Ints:
        """The rows of X that the k-th measurement's kernel takes."""
        model = self.robot.model
        path = model.path(model.frame(self.measurements[k].frame).body)
        at = {i: row for row, i in enumerate(self.bodies, start=1)}
        return np.array([0, *(at[i] for i in path), 1 + len(self.bodies) + k])

    def poses(self, X: Array) -> list[tuple[Array, Array]]:
        return [
            kernel(m.q, X[self.rows_of(k)], self.base, m.tool)
            for k, (m, kernel) in enumerate(zip(self.measurements, self.kernels, strict=True))
        ]

    def evaluated(self, x: tuple[Array, list[Array]], chosen: Sequence[Parameter]) -> tuple[Array, Array]:
        """(r, ∂r/∂chosen): residuals of all measurements by their sigma."""
        X, extras = x
        residuals, columns = [], []
        for k, (T, J) in enumerate(self.poses(X)):
            r, dX, dE = self.measurements[k].residual(T, J, extras[k])
            place = {int(row): at for at, row in enumerate(self.rows_of(k))}
            own = np.zeros((*r.shape, len(chosen)))
            for c, p in enumerate(chosen):
                if p.group == "unknown":
                    if p.row == k:
                        own[..., c] = dE[..., p.column]
                elif p.row in place:
                    own[..., c] = dX[..., 6 * place[p.row] + p.column]
            residuals.append(r.reshape(-1))
            columns.append(own.reshape(r.size, len(chosen)))
        return np.concatenate(residuals), np.concatenate(columns)

    def errors(self, x: tuple[Array, list[Array]]) -> tuple[Array, Array]:
        """Distances and angles of all states."""
        found = [m.errors(T, extra) for m, (T, _), extra in zip(self.measurements, self.poses(x[0]), x[1], strict=True)]
        angles = [a for _, a in found if a is not None]
        return np.concatenate([d for d, _ in found]), np.concatenate(angles) if angles else np.zeros(0)

    # ---------------------------------------------------------------------------------------------- decisions
    def identifiable(
        self, x: tuple[Array, list[Array]], wanted: Sequence[Parameter], weak: float
    ) -> tuple[list[Parameter], dict[str, str]]:
        """(those that can be told apart, why each of the others cannot), group by group; inside a group the column that
        stands out most comes next."""
        _, J = self.evaluated(x, wanted)
        size = np.linalg.norm(J, axis=0)
        largest = size.max(initial=0.0)
        unit = J / np.where(size > 0, size, 1.0)
        rest = unit.copy()
        kept: list[int] = []
        silent = size <= 1e-12 * largest
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

    def solved(self, x: tuple[Array, list[Array]], chosen: Sequence[Parameter]) -> Fit:
        """Gauss–Newton, damped where a step would not make the residual smaller."""
        r, J = self.evaluated(x, chosen)
        if not chosen:
            return Fit(x, r, J, True, 0, 0.0, "nothing was free")
        damping, message, done, iterations = 0.0, f"stopped after {ITERATIONS} iterations", False, 0
        while iterations < ITERATIONS:
            iterations += 1
            size = np.linalg.norm(J, axis=0)
            size = np.where(size > 0, size, 1.0)
            A = np.vstack([J / size, np.sqrt(damping) * np.eye(len(chosen))])
            step = np.linalg.lstsq(A, -np.concatenate([r, np.zeros(len(chosen))]), rcond=None)[0] / size
            there = _moved(x, chosen, step)
            new_r, new_J = self.evaluated(there, chosen)
            small = float(np.abs(step).max()) < STILL
            if float(new_r @ new_r) <= float(r @ r) or small:
                x, r, J = there, new_r, new_J
                damping = 0.0 if damping < 1e-8 else damping / 10.0
                if small:
                    message, done = "converged: the last step changed nothing", True
                    break
            else:
                damping = max(10.0 * damping, 1e-6)
                if damping > 1e10:
                    message = "stopped: no step makes the residual smaller"
                    done = _slope(r, J) < 1e-6
                    break
        return Fit(x, r, J, done, iterations, _slope(r, J), message)


def _slope(r: Array, J: Array) -> float:
    """The largest cosine between the residual and a column: zero at a minimum. A residual of a millionth of sigma is
    rounding, whose direction means nothing."""
    length = float(np.linalg.norm(r)) + 1e-6 * np.sqrt(len(r))
    size = np.linalg.norm(J, axis=0)
    return float(np.max(np.abs(J.T @ r) / np.where(size > 0, size, 1.0), initial=0.0) / length)


def _moved(x: tuple[Array, list[Array]], chosen: Sequence[Parameter], step: Array) -> tuple[Array, list[Array]]:
    X, extras = x[0].copy(), [e.copy() for e in x[1]]
    for p, s in zip(chosen, step, strict=True):
        if p.group == "unknown":
            extras[p.row][p.column] += s
        else:
            X[p.row, p.column] += s
    return X, extras


def _reason(silent: bool, shares: Array, names: list[str], left: float) -> str:
    """Why a correction was left out: which of the others do what it would, and how much of it is its own."""
    if silent:
        return "has no effect on what was measured"
    order = [i for i in np.argsort(-np.abs(shares)) if abs(shares[i]) > 1e-3][:4]
    others = ", ".join(names[i] for i in order)
    if left <= DEPENDENT:
        return f"cannot be told from {others}"
    return f"can hardly be told from {others}: {100 * left:.2g} % of its effect is its own"


def _numbered(word: str, k: int, all_of_them: Sequence[Any]) -> str:
    return word if len(all_of_them) == 1 else f"{word}{k + 1}"


def _kernel(robot: Robot, frame: str) -> Kernel:
    """(T (4, 4), J (6, 6·rows)) of q, X, base and tool."""
    model = robot.model
    target = model.frame(frame)
    rows = len(model.path(target.body)) + 2

    def function(q: Any, X: Any, base: Any, tool: Any) -> Any:
        T, J = corrected_pose(model, q, target, X, _as_pose(base), _as_pose(tool))
        return T.matrix(), J

    shapes = [(model.n,), (rows, 6), (4, 4), (4, 4)]
    names = ("q", "X", "base", "tool")
    return compile_function(function, shapes, [(4, 4), (6, 6 * rows)], "corrected_pose", arguments=names)


def _as_pose(T: Any) -> Pose:
    return Pose(tuple(tuple(row[:3]) for row in T[:3]), tuple(row[3] for row in T[:3]))


def _placed(a: Array, b: Array) -> Array:
    """The pose that carries points a (N, 3) nearest to b: rotation by singular values (Kabsch 1976)."""
    ca, cb = a.mean(axis=0), b.mean(axis=0)
    U, _, Vt = np.linalg.svd((b - cb).T @ (a - ca))
    R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt)) or 1.0]) @ Vt
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, cb - R @ ca
    return T


# ------------------------------------------------------------------------------------------------------ result
def _result(
    train: _Problem, test: _Problem | None, before: Fit, after: Fit, chosen: list[Parameter], left: dict[str, str]
) -> Calibration:
    robot = train.robot
    X, extras = after.x
    joints = {body.joint_name: body for body in robot.model.bodies}
    rows = {robot.model.bodies[i].joint_name: row for row, i in enumerate(train.bodies, start=1)}
    changed = tuple(
        replace(j, origin=to_origin(applied(to_pose(j.origin), joints[j.name], X[rows[j.name]].tolist())))
        if j.name in rows and X[rows[j.name]].any()
        else j
        for j in robot.description.joints
    )
    corrected = Robot(replace(robot.description, joints=changed), threads=robot.threads, told=robot.warnings)
    freedom = len(after.r) - len(chosen)
    s2 = float(after.r @ after.r) / freedom if freedom else 0.0
    _, R = np.linalg.qr(after.J) if chosen else (None, np.zeros((0, 0)))
    inverse = np.linalg.inv(R)
    covariance = s2 * inverse @ inverse.T
    tools = [train.measurements[k].tool @ _matrix(X[1 + len(train.bodies) + k]) for k in range(len(extras))]
    values = [extras[p.row][p.column] if p.group == "unknown" else X[p.row, p.column] for p in chosen]
    size = np.linalg.norm(after.J, axis=0)
    scaled = after.J / np.where(size > 0, size, 1.0)
    return Calibration(
        robot=corrected,
        nominal=robot,
        names=tuple(p.name for p in chosen),
        values=np.array(values),
        covariance=covariance,
        unidentifiable=left,
        base=train.base @ _matrix(X[0]),
        tools=tuple(tools),
        targets=tuple(extras),
        before=train.errors(before.x),
        after=train.errors(after.x),
        held_out_before=None if test is None else test.errors(before.x),
        held_out_after=None if test is None else test.errors(after.x),
        noise_ratio=float(np.sqrt(s2)),
        condition=float(np.linalg.cond(scaled)) if chosen else 1.0,
        converged=after.converged,
        iterations=after.iterations,
        slope=after.slope,
        message=after.message,
    )


def _matrix(x: Array) -> Array:
    return np.array(correction(x.tolist()).matrix())
