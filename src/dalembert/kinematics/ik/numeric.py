"""Inverse kinematics of any chain by damped steps with restarts, one pose or a batch, in one compiled loop.

The first start is q0 (the middle of the joint box, if not given); then come the rows of a table, drawn once per robot
inside its limits, the same for every pose. So a pose gives the same bits alone and in any batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import scalar
from dalembert.algorithms import kinematics
from dalembert.arguments import array, switch
from dalembert.compile import Kernel, compile_function
from dalembert.compile.search import Search, compile_search, settings
from dalembert.errors import InputError, unknown
from dalembert.kernels import need_tree
from dalembert.kinematics import tasks
from dalembert.kinematics.ik import starts, step as steps, targets
from dalembert.kinematics.ik.solution import Solution
from dalembert.model import Frame, Model
from dalembert.scalar import Scalar
from dalembert.spatial.vector import Matrix, Vector
from dalembert.system import Jointed

if TYPE_CHECKING:
    from dalembert.collision.world import World, WorldArrays

Array = NDArray[np.float64]
STEPS = 16  # per start: most starts that converge do so in ten
HALFWAY, HOPELESS = 8, 0.1  # a start whose cost is above 0.1 after eight steps rarely gets there
RESTARTS = starts.COUNT - 1
BEYOND = 1e-9  # [rad or m] beyond a limit that rounding explains
POLISH = 150  # steps from the best start of a target that none reached
FARTHEST = 1e9  # [m] the largest sum of a target's entries
CANDIDATES_POLISHED = 2  # starts tried for a target that none reached, besides the best
TOLERANCE = 1e-6  # [m, rad]
SAMPLES = 8  # states at which columns of the Jacobian are compared with zero
ZERO_COLUMN = 1e-9  # of the largest column
AGAIN = 1  # restarts of a pose that is solved again, to be clear

LINEAR, ANGULAR = (steps.LENGTH,) * 3, (1.0,) * 3
NONE = (0.0,) * 3
# What may be asked for by name: the weights of x, y, z and of the rotations about them.
ROWS: dict[str, tuple[float, ...]] = {
    "pose": LINEAR + ANGULAR,
    "position": LINEAR + NONE,
    "orientation": NONE + ANGULAR,
    "planar": (steps.LENGTH, steps.LENGTH, 0.0, 0.0, 0.0, 1.0),
}
NAMES = tuple(word for word in tasks.WORDS if not word.endswith("-axis"))  # for an axis of the tool there is `axis`
AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class NumericSolver:
    """The compiled parts of one robot, frame and goal."""

    search: Search
    polish: Search
    inspect: Kernel  # T → (how far from a pose, zero if finite)
    finish: Kernel  # q, start, T → (q within the limits, errors)
    starts: Array
    first: Array
    used: NDArray[np.intp]  # the rows that count
    low: Array  # what a given start is clamped to
    high: Array
    moves: NDArray[np.bool_]  # the joints that the search moves; the others keep their start value
    locked: tuple[int, ...]  # joints that are kept although they move the frame

    @property
    def rotated(self) -> bool:
        return bool((self.used >= 3).any())


def goal(rows: str | Sequence[str] | Sequence[float], axis: str | None) -> steps.Goal:
    """The rows that count, by a name, by names of components or by six weights; with `axis`, of the orientation only
    that axis of the tool."""
    words = (rows,) if isinstance(rows, str) else rows
    if isinstance(rows, str) and rows in ROWS:
        weights = ROWS[rows]
    elif isinstance(words, (tuple, list)) and words and all(isinstance(word, str) for word in words):
        for word in words:
            if word not in NAMES:
                raise unknown("choice of rows", word, NAMES)
        counted = tasks.task(words).picked or ()
        weights = tuple(w if k in counted else 0.0 for k, w in enumerate(ROWS["pose"]))
    else:
        try:
            values = array("rows", rows, (6,), least=0.0)
        except InputError:
            values = np.zeros(6)
        if not values.any():
            raise InputError(
                "rows must be a name, names of components (vx, vy, …, wz), or six weights, none negative and not all "
                "zero: of x, y, z and the rotations"
            )
        top = values[3:].max() or values.max() / steps.LENGTH  # a common factor of the weights means nothing
        weights = tuple((values / top).tolist())
    if axis is not None and (not isinstance(axis, str) or axis not in AXES):
        raise unknown("axis", axis, AXES)
    if axis is not None and not any(weights[3:]):
        weights = weights[:3] + ANGULAR
    planar = isinstance(rows, str) and rows == "planar" and axis is None
    return steps.Goal(weights, None if axis is None else AXES[axis], planar)


def solver(
    robot: Jointed, frame: str | None, wanted: steps.Goal, limited: bool, locked: tuple[int, ...] = ()
) -> NumericSolver:
    """Return the compiled parts that `ik` runs, made once per robot, frame, goal and set of locked joints."""
    key = ("ik", robot.model.frame(frame).name, wanted, limited, locked)
    return robot.once(key, lambda: _solver(robot, frame, wanted, limited, locked))


def _solver(
    robot: Jointed, frame: str | None, wanted: steps.Goal, limited: bool, locked: tuple[int, ...]
) -> NumericSolver:
    need_tree(robot.model)
    model, target = robot.model, robot.model.frame(frame)
    if model.curved is not None:
        raise InputError(
            f"{model.name!r} has the {model.curved.joint.kind} joint {model.curved.name!r}, where these steps do not "
            f"lead: robot.ik_tasks([frame_task({target.name!r}, T)]) of dalembert.kinematics does"
        )
    n = model.n
    if n == 0 or target.body < 0:
        raise InputError(f"no joint of {robot.name!r} moves the frame {target.name!r}")
    infinite = np.full(n, math.inf)
    lower, upper = (robot.limits.lower, robot.limits.upper) if limited else (-infinite, infinite)
    rotated = any(wanted.weights[3:])
    free = np.array([c.joint.periodic for c in model.coordinates]) & (upper - lower >= 2 * math.pi)
    bounds = [(-math.inf, math.inf) if f else (a, b) for f, a, b in zip(free, lower, upper, strict=True)]
    middle, half = starts.box(lower, upper, [c.joint for c in model.coordinates])
    moves = _moving(model, target, wanted, middle, half)
    moves[list(locked)] = False
    low, high = _clamps(lower, upper, free)
    middle, half = np.where(moves, middle, np.clip(robot.home, low, high)), np.where(moves, half, 0.0)
    fixed = frozenset(np.flatnonzero(~moves).tolist())
    probe = settings(_squared(TOLERANCE), STEPS, 0, HALFWAY, HOPELESS)
    name = f"ik_{target.name}"
    search, polish = (
        compile_search(partial(steps.step, model, target, wanted, bounds, damping, fixed=fixed), n, 16, name)
        for damping in (steps.quick, steps.careful(reach(robot)))
    )

    def finish(q: Vector, start: Vector, T: Matrix) -> tuple[list[Scalar], list[Scalar]]:
        moved = [
            x0 if k in fixed else _turned(x, x0, lower[k], upper[k], middle[k]) if free[k] else x
            for k, (x, x0) in enumerate(zip(q, start, strict=True))
        ]
        tip = kinematics.frame_pose(model, moved, target)
        _, position, turn = steps.errors(tip, steps.target_of([x for row in T for x in row]), wanted)
        beyond: Scalar = 0.0
        for x, a, b in zip(moved, lower.tolist(), upper.tolist(), strict=True):
            beyond = scalar.maximum(beyond, a - x) if a > -math.inf else beyond
            beyond = scalar.maximum(beyond, x - b) if b < math.inf else beyond
        # turn is 4 sin²(θ/2)
        angle = 2.0 * scalar.arctan2(scalar.sqrt(turn), scalar.sqrt(scalar.maximum(4.0 - turn, 0.0)))
        return moved, [scalar.sqrt(position), angle, beyond]

    table = starts.kept(robot, target.name, search, middle, half, probe)

    def inspect(T: Matrix) -> list[Scalar]:
        return [targets.defect(T, rotated), targets.extent(T, rotated)]

    inspected = compile_function(inspect, [(4, 4)], [(2,)], "inspect", arguments=("T",))
    finished = compile_function(finish, [(n,), (n,), (4, 4)], [(n,), (3,)], "finish", arguments=("q", "start", "T"))
    used = np.flatnonzero(wanted.weights)
    return NumericSolver(search, polish, inspected, finished, table[1:], table[0], used, low, high, moves, locked)


def _moving(model: Model, target: Frame, wanted: steps.Goal, middle: Array, half: Array) -> NDArray[np.bool_]:
    """Return which joints have a column of the goal's Jacobian that is not zero everywhere.  (n,)"""
    rng, size = np.random.default_rng(0), np.zeros(model.n)
    for _ in range(SAMPLES):
        T = kinematics.world_poses(model, (middle + rng.uniform(-1, 1, model.n) * half).tolist(), [target.body])
        columns = steps.weighted_jacobian(model, T, T[target.body] @ target.pose, target.body, wanted)
        size = np.maximum(size, np.abs(np.array(columns)).max(axis=1))
    return np.asarray(size > ZERO_COLUMN * size.max())


def _clamps(lower: Array, upper: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Where a start given by the user is put: within the limits, but for joints that may turn beyond them and back."""
    return np.where(free, -math.inf, lower), np.where(free, math.inf, upper)


ROUNDER = 1.5 * 2.0**52  # adding and subtracting it rounds to a whole number


def _turned(q: Scalar, start: Scalar, lower: float, upper: float, middle: float) -> Scalar:
    """A turning joint moved by whole turns to where it is nearest the start; if that is beyond a limit, nearest the
    middle."""

    def near(center: Scalar) -> Scalar:
        turns = ((q - center) * (0.5 / math.pi) + ROUNDER) - ROUNDER
        return q - (2 * math.pi) * turns

    moved = near(start)
    if lower == -math.inf and upper == math.inf:
        return moved
    inside = near(middle)
    return scalar.where(moved < lower, inside, scalar.where(moved > upper, inside, moved))


def reach(robot: Jointed) -> float:
    """The sum of the distances from joint to joint and to the farthest frame [m], and of the strokes: no point of the
    arm is farther from its base."""
    origin = (0.0, 0.0, 0.0)
    lengths = [math.dist(b.placement.p, origin) for b in robot.model.bodies]
    strokes = [
        abs(c.joint.travel) * max((abs(x) for x in (c.lower, c.upper) if math.isfinite(x)), default=c.joint.half_range)
        for c in robot.model.coordinates
    ]
    last = max((math.dist(f.pose.p, origin) for f in robot.model.frames), default=0.0)
    return max(sum(lengths) + sum(strokes) + last, 0.1)


def ik(
    robot: Jointed,
    T: ArrayLike,
    frame: str | None = None,
    q0: ArrayLike | None = None,
    *,
    rows: str | Sequence[str] | Sequence[float] = "pose",
    axis: str | None = None,
    tolerance: float = TOLERANCE,
    limits: bool = True,
    restarts: int = RESTARTS,
    secondary: str | ArrayLike | None = None,
    avoid: World | WorldArrays | None = None,
    clear: float | None = None,
) -> Solution:
    """Joint positions that put a frame at the pose T (..., 4, 4), by damped steps with restarts inside the limits.

    `q0` is where to begin. Joints that cannot move the frame keep their values of `q0` (default: home). `rows`: "pose",
    "position" (then T may be points (..., 3)), "orientation", "planar" (x, y and the angle about z), components by
    name ("vx", "vy", …, "wz"), or six weights. `axis` "x", "y" or "z": of the orientation only that axis of the tool
    counts. `secondary`, for arms with joints to spare: stay away from "limits" or "singularities", or near a posture
    (n numbers). The solution holds q (..., n) and its
    certificate: `converged`, the errors recomputed at q, iterations, restarts, and in words why it stopped. A
    target out of reach gives the nearest point found. With a world to `avoid`, solutions keep `clear` (0) [m] of it and
    of the arm itself, whose spheres `collision()` has: `clearance` says how much."""
    if avoid is not None:
        return _avoiding(robot, T, frame, q0, rows, axis, tolerance, limits, restarts, secondary, avoid, clear)
    if clear is not None:
        raise InputError("clear says how far to keep from what is avoided: give avoid=, a dl.World")
    made, control = _prepared(robot, frame, rows, axis, tolerance, limits, restarts)
    if q0 is None and secondary is None and type(T) is np.ndarray and T.shape == (4, 4) and T.dtype == np.float64:
        found = _one(made, T, control, tolerance)
        if found is not None:
            return found
    return _search(robot, T, frame, q0, rows, tolerance, limits, made, control, secondary)


def ik_locked(
    robot: Jointed, T: Array, frame: str | None, starts: Array, q0: Array, locked: tuple[int, ...]
) -> tuple[Solution, NDArray[np.bool_]]:
    """Solve one pose (4, 4) from several starts (k, n). Joints that are locked or cannot move the frame keep their
    values of q0 (n,). Also return which joints do not."""
    made, control = _prepared(robot, frame, "pose", None, TOLERANCE, True, RESTARTS, locked)
    poses = np.broadcast_to(T, (len(starts), 4, 4))
    first = np.where(made.moves, starts, q0)
    return _search(robot, poses, frame, first, "pose", TOLERANCE, True, made, control), made.moves


def _search(
    robot: Jointed,
    T: ArrayLike,
    frame: str | None,
    q0: ArrayLike | None,
    rows: str | Sequence[str] | Sequence[float],
    tolerance: float,
    limits: bool,
    made: NumericSolver,
    control: Array,
    secondary: str | ArrayLike | None = None,
    polish: bool = True,
) -> Solution:
    """The solutions of many poses; of what is not reached the nearest point, unless there is no `polish`."""
    poses = targets.as_targets(T, points=not made.rotated or (isinstance(rows, str) and rows == "position"))
    read = partial(targets.as_start, joints=robot.joint_names, n=robot.n)
    if secondary is not None and not isinstance(secondary, str):
        # A posture to stay near is where to begin. Joints that do not move the frame can take its values.
        posture = read(secondary)
        q0 = posture if q0 is None else np.where(made.moves, read(q0), posture)
    start = made.first if q0 is None else np.clip(read(q0), made.low, made.high)
    if made.locked:
        made = replace(made, starts=np.where(made.moves, made.starts, start.reshape(-1, robot.n)[0]))
    targets.check_batches(poses.shape[:-2], start.shape[:-1])
    with np.errstate(invalid="ignore", over="ignore"):
        seen = made.inspect.ufunc(poses)
    targets.refuse(poses, ~((seen[..., 0] <= targets.NO_POSE) & (seen[..., 1] < FARTHEST)), FARTHEST / 12)
    rough = seen[..., 0] > targets.ROUNDED
    if made.rotated and rough.any():
        poses = targets.with_rotations(poses, rough)
    flat = poses.reshape(*poses.shape[:-2], 16)
    with np.errstate(over="ignore", invalid="ignore"):
        q, info = made.search.ufunc(start, flat, made.starts, control)
    failed = info[..., 2] == 0
    if polish and failed.any():
        q, info = _polished(made, q, info, np.broadcast_to(flat, (*q.shape[:-1], 16)), failed)
    if secondary is not None:
        from dalembert.kinematics.ik.secondary import improved

        many = np.broadcast_to(flat, (*q.shape[:-1], 16)).reshape(-1, 16)
        reached = (info[..., 2] > 0).reshape(-1)
        squared = _squared(tolerance)
        better = improved(robot, frame, made, q.reshape(-1, robot.n), many, reached, squared, secondary, limits)
        q = better.reshape(q.shape)
    return _certified(made, q, start, poses, info, tolerance)


def _avoiding(
    robot: Jointed,
    T: ArrayLike,
    frame: str | None,
    q0: ArrayLike | None,
    rows: str | Sequence[str] | Sequence[float],
    axis: str | None,
    tolerance: float,
    limits: bool,
    restarts: int,
    secondary: str | ArrayLike | None,
    avoid: World | WorldArrays,
    clear: float | None,
) -> Solution:
    from dalembert.collision.world import World, WorldArrays
    from dalembert.kinematics.ik.avoid import solve_clear

    if secondary is not None:
        raise InputError("clearance is what joints to spare are used for with avoid=: leave out secondary=")
    if not isinstance(avoid, (World, WorldArrays)):
        raise InputError(f"avoid is a dl.World, got {type(avoid).__name__}; dl.World() is empty: the arm itself counts")
    words: dict[str, Any] = {"rows": rows, "axis": axis, "tolerance": tolerance, "limits": limits}

    def solve(poses: Array, start: Array | None) -> Solution:
        if start is None:
            return ik(robot, poses, frame, q0, restarts=restarts, **words)
        made, control = _prepared(robot, frame, restarts=min(AGAIN, restarts), **words)
        return _search(robot, poses, frame, start, rows, tolerance, limits, made, control, polish=False)

    poses = array("T", T)
    moves = _prepared(robot, frame, restarts=restarts, **words)[0].moves
    return solve_clear(robot, poses, frame, avoid, 0.0 if clear is None else clear, solve, moves)  # type: ignore[arg-type]


def _prepared(
    robot: Jointed,
    frame: str | None,
    rows: str | Sequence[str] | Sequence[float],
    axis: str | None,
    tolerance: float,
    limits: bool,
    restarts: int,
    locked: tuple[int, ...] = (),
) -> tuple[NumericSolver, Array]:
    """The solver and its settings, found again quickly when asked for the same."""
    make = partial(_prepare, robot, frame, rows, axis, tolerance, limits, restarts, locked)
    if isinstance(rows, str) and (axis is None or isinstance(axis, str)) and isinstance(limits, bool):
        return robot.once(("ik of", frame, rows, axis, tolerance, limits, restarts, locked), make)
    return make()


def _prepare(
    robot: Jointed,
    frame: str | None,
    rows: str | Sequence[str] | Sequence[float],
    axis: str | None,
    tolerance: float,
    limits: bool,
    restarts: int,
    locked: tuple[int, ...],
) -> tuple[NumericSolver, Array]:
    real = isinstance(tolerance, (int, float, np.floating)) and not isinstance(tolerance, bool)
    if not real or not 0 < tolerance < math.inf:
        raise InputError(f"the tolerance must be a positive number, got {tolerance!r}")
    whole = isinstance(restarts, (int, np.integer)) and not isinstance(restarts, bool)
    if not whole or not 0 <= restarts <= RESTARTS:
        raise InputError(f"restarts must be a whole number from 0 to {RESTARTS}, got {restarts!r}")
    made = solver(robot, frame, goal(rows, axis), switch("limits", limits), locked)
    return made, settings(_squared(tolerance), STEPS, restarts, HALFWAY, HOPELESS)


def _one(made: NumericSolver, T: Array, control: Array, tolerance: float) -> Solution | None:
    """The short way for one pose that is in order and reached; None for the others."""
    defect, extent = made.inspect.direct(T).tolist()
    if not (defect <= targets.ROUNDED and extent < FARTHEST):
        return None
    q, info = made.search.ufunc(made.first, T.reshape(16), made.starts, control)
    if info[2] == 0.0:
        return None
    return _certified(made, q, made.first, T, info, tolerance)


def _squared(tolerance: float) -> tuple[float, float]:
    """Limits of the squared errors that the loop compares; a little below, so that what is recomputed agrees."""
    inside = 0.99 * tolerance
    chord = 2 * math.sin(0.5 * min(inside, math.pi))
    return inside * inside, chord * chord


def _polished(made: NumericSolver, q: Array, info: Array, flat: Array, failed: Any) -> tuple[Array, Array]:
    """Targets that no start reached: go on from the best one, so that what is returned is a nearest point."""
    control = settings((0.0, 0.0), POLISH, CANDIDATES_POLISHED)
    near, more = made.polish.ufunc(q[failed], flat[failed], made.starts, control)
    q, info = q.copy(), info.copy()
    q[failed] = near
    info[failed, 0] += more[..., 0]
    return q, info


def _certified(made: NumericSolver, q: Array, start: Array, targets: Array, info: Array, tolerance: float) -> Solution:
    q, figures = made.finish.direct(q, start, targets)
    if figures.ndim == 1:
        position, angle, beyond = figures.tolist()
        inside = position <= tolerance and angle <= tolerance and beyond <= BEYOND
        taken, starts, _ = info.tolist()
        return Solution(q, inside, position, angle, int(taken), int(starts) - 1)
    position, angle = figures[..., 0], figures[..., 1]
    inside = (position <= tolerance) & (angle <= tolerance) & (figures[..., 2] <= BEYOND)
    return Solution(q, inside, position, angle, info[..., 0].astype(int), info[..., 1].astype(int) - 1)
