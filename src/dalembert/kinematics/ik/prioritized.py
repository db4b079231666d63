"""Inverse kinematics with several tasks and priorities: feet, hands, the center of mass, a posture, within limits.

Each step d on the manifold, q ← q ⊕ d, is found level by level. With Z the motions that leave the levels before as they
are, a level solves

    min ‖J (d + Z y) − e‖² + μ ‖y‖²    subject to    q_min ≤ q ⊕ (d + Z y) ≤ q_max,   |d + Z y| ≤ longest step

for its tasks' errors e, a quadratic program, and hands d + Z y and the rest of Z down (Escande, Mansard & Wieber 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, count, number, switch
from dalembert.display import Displayed
from dalembert.errors import InputError, choose
from dalembert.kernels import check_quaternions, need_tree
from dalembert.kinematics.ik.targets import as_poses, as_targets
from dalembert.kinematics.ik.tracking import pose_error
from dalembert.kinematics.tasks import Rows, Task, task
from dalembert.quadratic import need_daqp, solve_qp
from dalembert.system import Jointed

TOLERANCE = 1e-6  # [m, rad] of a task
STEPS = 100
LONGEST = 0.3  # [rad, m] of one step in any coordinate: beyond it the linear model means little
STILL = 0.1  # of the tolerance: shorter steps lead nowhere
DEPENDENT = 1e-6  # of the largest singular value: directions below it are left to the next level
DAMPING = 1e-3  # μ over the squared error, with which far targets and singular postures are approached calmly
LESS = 0.01  # what a level counts against the one before, where it is judged whether a step was good
Box = tuple[Array, Array, NDArray[np.intp], NDArray[np.intp]]  # limits, and where those joints stand in q and d
AXES = {"x": 0, "y": 1, "z": 2}
CONVERGED, SETTLED, STOPPED = (
    "converged",
    "settled: the tasks that are off give way to those before them, to limits, or are out of reach",
    "stopped: still moving after all steps; more steps=, or another start",
)


@dataclass(frozen=True, eq=False)
class IKTask:
    """One thing wanted: of a `frame`, of the center of mass (no frame), or a `posture`; its `target` may be a batch.
    Tasks of a lower `level` come first, those of one level are weighed by `weight`."""

    name: str
    kind: str
    target: Array
    rows: Task
    frame: str | None = None
    joints: tuple[str, ...] | None = None
    level: int = 0
    weight: float = 1.0


def _task(name: str, kind: str, target: Array, rows: Task, level: int, weight: float, **more: object) -> IKTask:
    level, weight = count("level", level), number("weight", weight, above=0.0)
    return IKTask(name, kind, target, rows, level=level, weight=weight, **more)  # type: ignore[arg-type]


def frame_task(
    frame: str, target: ArrayLike, *, rows: Rows = "pose", level: int = 0, weight: float = 1.0, name: str | None = None
) -> IKTask:
    """A frame at a pose (..., 4, 4), or with rows="position" at a point (..., 3); `rows` chooses among the six, in
    world axes, as everywhere: "orientation", ("vx", "vy", "wz"), weights, …."""
    chosen = task(rows)
    rotated = bool((chosen.matrix[:, 3:] != 0).any())
    poses = as_targets(target, points=not rotated)
    array("target", poses)
    poses = as_poses(poses, rotated)
    return _task(name or frame, "frame", poses, chosen, level, weight, frame=frame)


def center_of_mass_task(
    target: ArrayLike, *, rows: str = "xyz", level: int = 0, weight: float = 1.0, name: str = "center of mass"
) -> IKTask:
    """The center of mass at a point (..., 3), or in the `rows` named: "xy" keeps it above a point of the ground."""
    places = tuple(AXES[choose("row of the center of mass", axis, AXES)] for axis in rows)
    if not places or len(set(places)) != len(places):
        raise InputError(f"rows={rows!r} must name some of x, y, z, each once")
    point = array("target", target, (..., 3), meaning="a point", unit="m")
    chosen = Task(tuple(rows), np.eye(6)[list(places)], np.ones(len(places)))
    return _task(name, "center", point, chosen, level, weight)


def posture_task(
    q: ArrayLike, *, joints: Sequence[str] | None = None, level: int = 1, weight: float = 1.0, name: str = "posture"
) -> IKTask:
    """Joint positions q (..., nq), as near as the other tasks allow; of the `joints` named, else of those with a drive:
    where a floating base is, the others say."""
    return _task(
        name,
        "posture",
        array("q", q, (..., None)),
        task("pose"),
        level,
        weight,
        joints=None if joints is None else tuple(joints),
    )


class TaskResult(NamedTuple):
    """How a task ended, recomputed at q: the largest |error| of its rows [m, rad], and whether that is within the
    tolerance."""

    residual: Array
    converged: NDArray[np.bool_]


@dataclass(frozen=True)
class TaskSolution(Displayed):
    """Positions q (..., nq) with their certificate: `tasks` by name, `iterations`, `within_limits`, and why it stopped,
    `reason`. True if every task but the postures, which only fill in what is left, is within its tolerance."""

    q: Array
    tasks: dict[str, TaskResult]
    converged: NDArray[np.bool_]
    iterations: NDArray[np.int64]
    within_limits: NDArray[np.bool_]
    reason: tuple[str, ...]

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Whether every task but the postures is within its tolerance: `converged`."""
        return self.converged

    def __bool__(self) -> bool:
        return bool(np.all(self.converged))

    def __repr__(self) -> str:
        worst = {name: float(np.max(r.residual, initial=0.0)) for name, r in self.tasks.items()}
        told = ", ".join(f"{name!r} {x:.2g}" for name, x in worst.items())
        of = f"{int(np.sum(self.converged))} of {self.converged.size}"
        return f"TaskSolution(converged {of}, errors: {told})"


def ik_tasks(
    robot: Jointed,
    tasks: Sequence[IKTask],
    q0: ArrayLike | None = None,
    *,
    limits: bool = True,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
) -> TaskSolution:
    """Positions that do several tasks at once, by priority: `frame_task`, `center_of_mass_task`, `posture_task` of
    `dalembert.kinematics`; targets and q0 (home, if not given) may be batches.

    A lower level is done first and never given up for a higher one; within one the weighted least squares count.
    The search is local: another q0 may find what this one misses. `limits` keeps joints within their positions, to
    which a start beyond them is brought first. Robots of any kind of joints."""
    need_daqp("inverse kinematics with several tasks")
    need_tree(robot.model)
    wanted = _check(robot, tasks)
    tolerance, most = number("tolerance", tolerance, above=0.0), count("steps", steps, 1)
    start = array("q0", robot.home if q0 is None else q0, (..., robot.model.nq))
    check_quaternions(robot.model, "q0", start)
    cores = {"frame": 2, "center": 1, "posture": 1}
    shapes = [t.target.shape[: -cores[t.kind]] for t in wanted]
    try:
        batch = np.broadcast_shapes(start.shape[:-1], *shapes)
    except ValueError:
        told = ", ".join(f"{t.name!r} {s}" for t, s in zip(wanted, shapes, strict=True))
        raise InputError(f"the leading dimensions do not broadcast: q0 {start.shape[:-1]}, {told}") from None
    size = int(np.prod(batch))
    q = np.broadcast_to(start, (*batch, robot.model.nq)).reshape(size, -1).copy()
    targets = [
        np.broadcast_to(t.target, (*batch, *t.target.shape[len(s) :])).reshape(size, *t.target.shape[len(s) :])
        for t, s in zip(wanted, shapes, strict=True)
    ]
    box = _box(robot, switch("limits", limits))
    q[:, box[2]] = np.clip(q[:, box[2]], box[0], box[1])
    levels = sorted({t.level for t in wanted})
    parts = [_rows(robot, t, target, q) for t, target in zip(wanted, targets, strict=True)]
    active, taken = np.arange(size), np.zeros(size, np.int64)
    words, radius = np.full(size, STOPPED, object), np.full(size, LONGEST)
    for _ in range(most):
        steps_ = [_step(wanted, levels, [(e[k], J[k]) for e, J in parts], box, q[k], radius[k]) for k in active]
        d = np.array([step for step, _, _ in steps_])
        now, hoped = np.array([x for _, x, _ in steps_]), np.array([x for _, _, x in steps_])
        still = (np.max(np.abs(d), axis=-1, initial=0.0) <= STILL * tolerance) | (hoped >= now * (1.0 - 1e-12))
        words[active[still]] = SETTLED
        active, d, now, hoped = active[~still], d[~still], now[~still], hoped[~still]
        if not len(active):
            break
        trial, found, then = _tried(robot, wanted, levels, [x[active] for x in targets], q[active], d)
        # Moving along what leaves a level as it is to first order changes it to second: taken back, or long steps of
        # the levels after it would never be good ones.
        if len(levels) > 1:
            before = [k for k, t in enumerate(wanted) if t.level != levels[-1]]
            back = [
                _back([(parts[k][0][a], parts[k][1][a], found[k][0][i]) for k in before], d[i])
                for i, a in enumerate(active)
            ]
            trial, found, then = _tried(
                robot, wanted, levels, [x[active] for x in targets], trial, _kept(trial, np.array(back), box)
            )
        gain = (now - then) / (now - hoped)
        radius[active] = np.where(
            gain < 0.25, 0.25 * np.max(np.abs(d), axis=-1), np.minimum(2 * radius[active], LONGEST)
        )
        better = gain > 0
        q[active[better]] = trial[better]
        for (e, J), (e_new, J_new) in zip(parts, found, strict=True):
            e[active[better]], J[active[better]] = e_new[better], J_new[better]
        taken[active] += 1
    return _certify(robot, wanted, targets, q, taken, words, tolerance, batch)


def _check(robot: Jointed, tasks: Sequence[IKTask]) -> tuple[IKTask, ...]:
    given = tuple(tasks) if isinstance(tasks, (list, tuple)) else (tasks,)
    if not given:
        raise InputError("give at least one task: frame_task, center_of_mass_task, posture_task")
    for t in given:
        if not isinstance(t, IKTask):
            raise InputError(
                f"a task is made by frame_task, center_of_mass_task or posture_task of dalembert.kinematics; got "
                f"{type(t).__name__}"
            )
        if t.kind == "frame":
            robot.model.frame(t.frame)
        if t.kind == "posture":
            array(f"q of {t.name!r}", t.target, (..., robot.model.nq))
            check_quaternions(robot.model, f"q of {t.name!r}", t.target)
            for joint in t.joints or ():
                choose("joint", joint, robot.joint_names)
    names = [t.name for t in given]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two tasks are called {twice!r}: tell them apart with name=")
    return given


def _box(robot: Jointed, limited: bool) -> Box:
    """Limits of the joints of one coordinate, and where those stand in q and in d."""
    single = [c for c in robot.model.coordinates if c.joint.nq == 1]
    low = np.array([c.lower for c in single]) if limited else np.full(len(single), -np.inf)
    high = np.array([c.upper for c in single]) if limited else np.full(len(single), np.inf)
    at, rate = (np.array([getattr(c, name) for c in single], np.intp) for name in ("position", "first"))
    return low, high, at, rate


def _rows(robot: Jointed, t: IKTask, target: Array, q: Array) -> tuple[Array, Array]:
    """(e, J) of a task, (B, m) and (B, m, nv): J d = e is wanted."""
    if t.kind == "frame":
        T, J = robot.run(("fk_jacobian", (), t.frame, "world"), q)
        return np.asarray(t.rows.reduce(t.name, pose_error(T, target))), t.rows.jacobian(J)
    if t.kind == "center":
        pick = t.rows.matrix[:, :3]
        J = robot.run(("center_of_mass_jacobian", ()), q)
        return (target - robot.run(("center_of_mass", ()), q)) @ pick.T, pick @ J
    places = [
        c.first + k
        for c in robot.model.coordinates
        if (c.joint.driven if t.joints is None else c.name in t.joints)
        for k in range(c.joint.nv)
    ]
    d = robot.run(("difference", ()), q, np.broadcast_to(target, q.shape))
    return d[..., places], np.tile(np.eye(robot.nv)[places], (len(q), 1, 1))


def _tried(
    robot: Jointed, tasks: Sequence[IKTask], levels: Sequence[int], targets: Sequence[Array], q: Array, d: Array
) -> tuple[Array, list[tuple[Array, Array]], Array]:
    """(q ⊕ d, errors and Jacobians there, the merits)."""
    trial = robot.run(("integrate", ()), q, d)
    found = [_rows(robot, t, target, trial) for t, target in zip(tasks, targets, strict=True)]
    return trial, found, np.array([_merit(tasks, levels, [e[i] for e, _ in found]) for i in range(len(q))])


def _back(parts: Sequence[tuple[Array, Array, Array]], d: Array) -> Array:
    """The shortest step that takes back what errors after d are other than a linear model's, of (e, J, e after d)."""
    J = np.vstack([J for _, J, _ in parts])
    off = np.concatenate([after - (e - J @ d) for e, J, after in parts])
    return np.asarray(np.linalg.lstsq(J, off, rcond=1e-3)[0])


def _kept(q: Array, d: Array, box: Box) -> Array:
    """A step cut off at the limits."""
    lower, upper, at, rate = box
    d[:, rate] = np.clip(d[:, rate], np.minimum(lower - q[:, at], 0.0), np.maximum(upper - q[:, at], 0.0))
    return d


def _merit(tasks: Sequence[IKTask], levels: Sequence[int], errors: Sequence[Array]) -> float:
    """What every step must lower: Σ ‖e‖ of the levels, each counting less than the one before by `LESS`."""
    squares = dict.fromkeys(levels, 0.0)
    for t, e in zip(tasks, errors, strict=True):
        squares[t.level] += t.weight * float(e @ e)
    return sum(LESS**k * squares[level] ** 0.5 for k, level in enumerate(levels))


def _step(
    tasks: Sequence[IKTask],
    levels: Sequence[int],
    parts: Sequence[tuple[Array, Array]],
    box: Box,
    q: Array,
    radius: float,
) -> tuple[Array, float, float]:
    """d of one state, level by level; the merit there, and what it would be after d if all were linear."""
    nv = parts[0][1].shape[-1]
    low, high = np.full(nv, -radius), np.full(nv, radius)
    lower, upper, at, rate = box
    low[rate] = np.clip(lower - q[at], -radius, 0.0)
    high[rate] = np.clip(upper - q[at], 0.0, radius)
    d, Z = np.zeros(nv), np.eye(nv)
    far = [
        1.0 if t.kind == "posture" else radius / max(float(np.linalg.norm(e)), radius)
        for t, (e, _) in zip(tasks, parts, strict=True)
    ]
    near = [(x * e, J) for x, (e, J) in zip(far, parts, strict=True)]  # far targets are not reached for at once
    for level in levels:
        here = [(t.weight**0.5, *part) for t, part in zip(tasks, near, strict=True) if t.level == level]
        e, J = np.concatenate([w * e for w, e, _ in here]), np.vstack([w * J for w, _, J in here])
        JZ, left = J @ Z, e - J @ d
        H = JZ.T @ JZ + (DAMPING * float(e @ e) + 1e-9) * np.eye(Z.shape[1])
        free = np.full(Z.shape[1], np.inf)
        y = solve_qp(H, -JZ.T @ left, -free, free, Z, low - d, high - d)
        if y is not None:  # d itself satisfies everything, up to rounding: it stands if nothing better does
            d = np.clip(d + Z @ y, low, high)
        _, s, Vt = np.linalg.svd(JZ)
        rank = int(np.sum(s > DEPENDENT * max(float(s[0]) if len(s) else 0.0, 1e-12)))
        Z = Z @ Vt[rank:].T
        if not Z.shape[1]:
            break
    now = _merit(tasks, levels, [e for e, _ in parts])
    return d, now, _merit(tasks, levels, [e - J @ d for e, J in parts])


def _certify(
    robot: Jointed,
    tasks: Sequence[IKTask],
    targets: Sequence[Array],
    q: Array,
    taken: NDArray[np.int64],
    words: NDArray[np.object_],
    tolerance: float,
    batch: tuple[int, ...],
) -> TaskSolution:
    results: dict[str, TaskResult] = {}
    for t, target in zip(tasks, targets, strict=True):
        residual = np.max(np.abs(_rows(robot, t, target, q)[0]), axis=-1, initial=0.0).reshape(batch)
        results[t.name] = TaskResult(residual, np.asarray(residual <= tolerance))
    every = np.all([r.converged for r in results.values()], axis=0)
    hard = [results[t.name].converged for t in tasks if t.kind != "posture"]
    converged = np.all(hard, axis=0) if hard else every
    words[np.asarray(every).reshape(-1)] = CONVERGED
    limits = robot.limits
    within = ((q >= limits.lower - 1e-9) & (q <= limits.upper + 1e-9)).all(-1).reshape(batch)
    shaped = q.reshape(*batch, -1)
    return TaskSolution(
        shaped, results, np.asarray(converged), taken.reshape(batch), np.asarray(within), tuple(words.tolist())
    )
