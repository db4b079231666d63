"""Inverse kinematics of any chain by damped steps with restarts, one pose or a batch, in one compiled loop.

The first start is q0 (the middle of the joint box, if not given); then come the rows of a table, drawn once per robot
inside its limits, the same for every pose. So a pose gives the same bits alone and in any batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import scalar
from dalembert.algorithms import kinematics
from dalembert.arguments import switch
from dalembert.compile import Kernel, cache, compile_function
from dalembert.compile.search import Search, compile_search, settings
from dalembert.errors import InputError, unknown
from dalembert.ik import step as steps
from dalembert.ik.solution import Solution
from dalembert.spatial.vector import dot

if TYPE_CHECKING:
    from dalembert.robot import Robot

Array = NDArray[np.float64]
STEPS = 16  # per start: most starts that converge do so in ten
HALFWAY, HOPELESS = 8, 0.1  # a start whose cost is above 0.1 after eight steps rarely gets there
RESTARTS = 127
BEYOND = 1e-9  # [rad or m] beyond a limit that rounding explains
POLISH = 150  # steps from the best start of a target that none reached
NO_ROTATION = 5e-5  # how far RᵀR may be from the identity, and the bottom row from (0, 0, 0, 1): six digits will do
ROUNDED = 1e-12  # beyond this a rotation is made one first
FARTHEST = 1e9  # [m] the largest coordinate of a target
LARGEST = 1e6  # [rad or m] the largest of a start
CANDIDATES_POLISHED = 2  # starts tried for a target that none reached, besides the best
TOLERANCE = 1e-6  # [m, rad]

LINEAR, ANGULAR = (steps.LENGTH,) * 3, (1.0,) * 3
NONE = (0.0,) * 3
# What may be asked for by name: the weights of x, y, z and of the rotations about them.
ROWS: dict[str, tuple[float, ...]] = {
    "pose": LINEAR + ANGULAR,
    "position": LINEAR + NONE,
    "orientation": NONE + ANGULAR,
    "planar": (steps.LENGTH, steps.LENGTH, 0.0, 0.0, 0.0, 1.0),
}
AXES = {"x": 0, "y": 1, "z": 2}


@dataclass(frozen=True)
class Solver:
    """The compiled parts of one robot, frame and goal."""

    search: Search
    polish: Search
    inspect: Kernel  # T → (how far from a pose, zero if finite)
    finish: Kernel  # q, start, T → (q within the limits, errors)
    starts: Array
    first: Array
    low: Array  # what a given start is clamped to
    high: Array


def goal(rows: str | Sequence[float], axis: str | None) -> steps.Goal:
    """The rows that count, by a name or by six weights; with `axis`, of the orientation only that axis of the tool."""
    if isinstance(rows, str):
        if rows not in ROWS:
            raise unknown("choice of rows", rows, ROWS)
        weights = ROWS[rows]
    else:
        try:
            values = np.asarray(rows, float)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if values.shape != (6,) or not np.isfinite(values).all() or (values < 0).any() or not values.any():
            raise InputError("rows must be six weights, none negative and not all zero: of x, y, z and the rotations")
        top = values[3:].max() or values.max() / steps.LENGTH  # a common factor of the weights means nothing
        weights = tuple((values / top).tolist())
    if axis is not None and (not isinstance(axis, str) or axis not in AXES):
        raise unknown("axis", axis, AXES)
    if axis is not None and not any(weights[3:]):
        weights = weights[:3] + ANGULAR
    planar = isinstance(rows, str) and rows == "planar" and axis is None
    return steps.Goal(weights, None if axis is None else AXES[axis], planar)


def solver(robot: Robot, frame: str | None, wanted: steps.Goal, limited: bool) -> Solver:
    """What `ik` runs, made once per robot, frame and goal."""
    key = ("ik", robot.model.frame(frame).name, wanted, limited)
    made = robot.made.get(key)
    if made is None:
        made = robot.made[key] = _solver(robot, frame, wanted, limited)
    solver_: Solver = made
    return solver_


def _solver(robot: Robot, frame: str | None, wanted: steps.Goal, limited: bool) -> Solver:
    model, target = robot.model, robot.model.frame(frame)
    n = model.n
    if n == 0 or target.body < 0:
        raise InputError(f"no joint of {robot.name!r} moves the frame {target.name!r}")
    revolute = np.array([c.kind == "revolute" for c in model.coordinates])
    infinite = np.full(n, math.inf)
    lower, upper = (robot.limits.lower, robot.limits.upper) if limited else (-infinite, infinite)
    rotated = any(wanted.weights[3:])
    free = revolute & (upper - lower >= 2 * math.pi)
    bounds = [(-math.inf, math.inf) if f else (a, b) for f, a, b in zip(free, lower, upper, strict=True)]
    middle, half = _box(lower, upper, revolute)
    search, polish = (
        compile_search(partial(steps.step, model, target, wanted, bounds, damping), n, 16, f"ik_{target.name}")
        for damping in (steps.quick, steps.careful(_reach(robot)))
    )

    def finish(q: Any, start: Any, T: Any) -> tuple[list[Any], list[Any]]:
        moved = [
            _turned(x, x0, a, b, m) if f else x
            for x, x0, a, b, m, f in zip(q, start, lower.tolist(), upper.tolist(), middle.tolist(), free, strict=True)
        ]
        tip = kinematics.frame_pose(model, moved, target)
        _, position, turn = steps.errors(tip, steps.target_of([x for row in T for x in row]), wanted)
        beyond: Any = 0.0
        for x, a, b in zip(moved, lower.tolist(), upper.tolist(), strict=True):
            beyond = scalar.maximum(beyond, a - x) if a > -math.inf else beyond
            beyond = scalar.maximum(beyond, x - b) if b < math.inf else beyond
        # turn is 4 sin²(θ/2)
        angle = 2.0 * scalar.arctan2(scalar.sqrt(turn), scalar.sqrt(scalar.maximum(4.0 - turn, 0.0)))
        return moved, [scalar.sqrt(position), angle, beyond]

    starts = _kept_starts(robot, target.name, search, middle, half)
    inspected = compile_function(
        lambda T: [_defect(T, rotated), _spread(T)], [(4, 4)], [(2,)], "inspect", arguments=("T",)
    )
    finished = compile_function(finish, [(n,), (n,), (4, 4)], [(n,), (3,)], "finish", arguments=("q", "start", "T"))
    return Solver(search, polish, inspected, finished, starts[1:], starts[0], *_clamps(lower, upper, free))


def _clamps(lower: Array, upper: Array, free: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Where a start given by the user is put: within the limits, but for joints that may turn beyond them and back."""
    return np.where(free, -math.inf, lower), np.where(free, math.inf, upper)


ROUNDER = 1.5 * 2.0**52  # adding and subtracting it rounds to a whole number


def _turned(q: Any, start: Any, lower: float, upper: float, middle: float) -> Any:
    """A turning joint moved by whole turns to where it is nearest the start; if that is beyond a limit, nearest the
    middle."""

    def near(centre: Any) -> Any:
        turns = ((q - centre) * (0.5 / math.pi) + ROUNDER) - ROUNDER
        return q - (2 * math.pi) * turns

    moved = near(start)
    if lower == -math.inf and upper == math.inf:
        return moved
    inside = near(middle)
    return scalar.where(moved < lower, inside, scalar.where(moved > upper, inside, moved))


def _spread(T: Any) -> Any:
    """The sum of the position's magnitudes: finite if they are."""
    return scalar.absolute(T[0][3]) + scalar.absolute(T[1][3]) + scalar.absolute(T[2][3])


CANDIDATES = 256
PROBES = 1000


def _kept_starts(robot: Robot, frame: str, search: Search, middle: Array, half: Array) -> Array:
    """The starts, from the cache beside the kernels if they were found before: that takes a fifth of a second."""
    name = cache.key(
        "starts", search.text, repr((middle.tolist(), half.tolist())), repr((CANDIDATES, PROBES, RESTARTS, STEPS))
    )
    size = (RESTARTS + 1, len(middle))
    data = cache.load(name)
    if data is None or len(data) != 8 * size[0] * size[1]:
        data = _starts(robot, frame, search, middle, half).tobytes()
        cache.store(name, data)
    return np.frombuffer(data).reshape(size).copy()


def _starts(robot: Robot, frame: str, search: Search, middle: Array, half: Array) -> Array:
    """Where to begin, and where next: RESTARTS + 1 rows.

    Of some candidates, each tried on some poses of the robot, the first is the one that solves most poses per step
    spent, the next the one that solves most of what is left, and so on; then come random ones. (The order by mere
    success would put near-duplicates first.)"""
    rng = np.random.default_rng(0)
    n = len(middle)
    spread = np.linspace(0.25, 1.0, CANDIDATES - 1)[:, None]
    candidates = np.concatenate([middle[None], middle + rng.uniform(-1, 1, (CANDIDATES - 1, n)) * half * spread])
    poses = robot.fk(middle + rng.uniform(-1, 1, (PROBES, n)) * half, frame).reshape(PROBES, 16)
    control = settings(_squared(TOLERANCE), STEPS, 0, HALFWAY, HOPELESS)
    _, info = search.ufunc(candidates[:, None], poses, candidates[:1], control)
    spent, good = info[..., 0], info[..., 2] > 0
    left = np.ones(PROBES, bool)
    order: list[int] = []
    while left.any():
        gain = (good & left).sum(1)
        score = gain / np.where(left, spent, 0.0).sum(1)
        score[order] = -1.0
        chosen = int(score.argmax())
        if gain[chosen] == 0:
            break
        order.append(chosen)
        left &= ~good[chosen]
    order = order or [0]
    more = middle + rng.uniform(-1, 1, (RESTARTS + 1 - len(order), n)) * half
    return np.concatenate([candidates[order], more])


def _reach(robot: Robot) -> float:
    """The sum of the distances from joint to joint and to the farthest frame [m], and of the strokes: no point of the
    arm is farther from its base."""
    origin = (0.0, 0.0, 0.0)
    lengths = [math.dist(b.placement.p, origin) for b in robot.model.bodies]
    strokes = [
        max((abs(x) for x in (c.lower, c.upper) if math.isfinite(x)), default=1.0)
        for c in robot.model.coordinates
        if c.kind == "prismatic"
    ]
    last = max((math.dist(f.pose.p, origin) for f in robot.model.frames), default=0.0)
    return max(sum(lengths) + sum(strokes) + last, 0.1)


def _defect(T: Any, rotated: bool) -> Any:
    """How far a matrix is from a pose: |RᵀR − 1| and |det R − 1|, if the rotation counts, and the bottom row."""
    total: Any = scalar.absolute(T[3][3] - 1.0)
    for k in range(3):
        total = total + scalar.absolute(T[3][k])
    return total + _rotation_defect(T) if rotated else total


def _rotation_defect(T: Any) -> Any:
    columns = [[T[i][k] for i in range(3)] for k in range(3)]
    total: Any = 0.0
    for i in range(3):
        for j in range(i, 3):
            total = total + scalar.absolute(dot(columns[i], columns[j]) - (1.0 if i == j else 0.0))
    a, b, c = columns
    det = a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    return total + scalar.absolute(det - 1.0)


def _box(lower: Array, upper: Array, revolute: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Middle and half width of where starts are drawn: the limits, a turn at most; a metre each way for an unlimited
    slide."""
    reach = np.where(revolute, math.pi, 1.0)
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * reach, -reach))
    high = np.where(np.isfinite(upper), upper, low + 2 * reach)
    middle = 0.5 * (low + high)
    return middle, np.where(revolute, np.minimum(0.5 * (high - low), math.pi), 0.5 * (high - low))


def ik(
    robot: Robot,
    T: ArrayLike,
    frame: str | None = None,
    q0: ArrayLike | None = None,
    rows: str | Sequence[float] = "pose",
    axis: str | None = None,
    tolerance: float = TOLERANCE,
    limits: bool = True,
    restarts: int = RESTARTS,
    secondary: str | ArrayLike | None = None,
) -> Solution:
    """Joint positions that put the frame at T; see `Robot.ik`."""
    made, control = _prepared(robot, frame, rows, axis, tolerance, limits, restarts)
    if q0 is None and secondary is None and type(T) is np.ndarray and T.shape == (4, 4) and T.dtype == np.float64:
        found = _one(made, T, control, tolerance)
        if found is not None:
            return found
    targets = _targets(T, rows)
    if secondary is not None and q0 is None and not isinstance(secondary, str):
        q0 = secondary  # a posture to stay near is where to begin
    start = made.first if q0 is None else np.clip(_start(robot, q0), made.low, made.high)
    _fitting(targets, start)
    with np.errstate(invalid="ignore", over="ignore"):
        seen = made.inspect.ufunc(targets)
    if not ((seen[..., 0] < NO_ROTATION) & (seen[..., 1] < FARTHEST)).all():
        _refuse(targets, seen[..., 0], made)
    if (seen[..., 0] > ROUNDED).any() and any(goal(rows, axis).weights[3:]):
        targets = _rotations(targets)
    flat = targets.reshape(*targets.shape[:-2], 16)
    with np.errstate(over="ignore", invalid="ignore"):
        q, info = made.search.ufunc(start, flat, made.starts, control)
    failed = info[..., 2] == 0
    if failed.any():
        q, info = _polished(made, q, info, np.broadcast_to(flat, (*q.shape[:-1], 16)), failed)
    if secondary is not None:
        from dalembert.ik.secondary import improved

        used = np.flatnonzero(goal(rows, axis).weights)
        many = np.broadcast_to(flat, (*q.shape[:-1], 16)).reshape(-1, 16)
        reached = (info[..., 2] > 0).reshape(-1)
        squared = _squared(tolerance)
        better = improved(robot, frame, made, used, q.reshape(-1, robot.n), many, reached, squared, secondary, limits)
        q = better.reshape(q.shape)
    return _certified(made, q, start, targets, info, tolerance)


def _prepared(
    robot: Robot,
    frame: str | None,
    rows: str | Sequence[float],
    axis: str | None,
    tolerance: float,
    limits: bool,
    restarts: int,
) -> tuple[Solver, Array]:
    """The solver and its settings, found again quickly when asked for the same."""
    plain = isinstance(rows, str) and (axis is None or isinstance(axis, str)) and isinstance(limits, bool)
    key = ("ik of", frame, rows if plain else None, axis if plain else None, tolerance, limits, restarts)
    if plain and key in robot.made:
        known: tuple[Solver, Array] = robot.made[key]
        return known
    real = isinstance(tolerance, (int, float, np.floating)) and not isinstance(tolerance, bool)
    if not real or not 0 < tolerance < math.inf:
        raise InputError(f"the tolerance must be a positive number, got {tolerance!r}")
    whole = isinstance(restarts, (int, np.integer)) and not isinstance(restarts, bool)
    if not whole or not 0 <= restarts <= RESTARTS:
        raise InputError(f"restarts must be a whole number from 0 to {RESTARTS}, got {restarts!r}")
    made = solver(robot, frame, goal(rows, axis), switch("limits", limits))
    control = settings(_squared(tolerance), STEPS, restarts, HALFWAY, HOPELESS)
    if plain:
        robot.made[key] = made, control
    return made, control


def _one(made: Solver, T: Array, control: Array, tolerance: float) -> Solution | None:
    """The short way for one pose that is in order and reached; None for the others."""
    defect, spread = made.inspect.direct(T).tolist()
    if not (defect < ROUNDED and spread < FARTHEST):
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


def _targets(T: ArrayLike, rows: str | Sequence[float]) -> Array:
    try:
        targets = np.asarray(T, float)
    except (TypeError, ValueError):
        raise InputError("T is not an array of numbers; give poses of shape (..., 4, 4)") from None
    if targets.ndim and targets.shape[-1] == 3 and rows == "position" and targets.shape[-2:] != (4, 4):
        poses = np.zeros((*targets.shape[:-1], 4, 4))
        poses[...] = np.eye(4)
        poses[..., :3, 3] = targets
        return poses
    if targets.shape[-2:] != (4, 4):
        hint = "; for rows='position' also points of shape (..., 3)" if rows == "position" else ""
        raise InputError(f"T has shape {targets.shape}; poses have shape (..., 4, 4){hint}")
    return targets


def _start(robot: Robot, q0: ArrayLike) -> Array:
    try:
        start = np.asarray(q0, float)
    except (TypeError, ValueError):
        raise InputError("q0 is not an array of numbers") from None
    if start.shape[-1:] != (robot.n,):
        raise InputError(f"q0 has shape {start.shape}; its last dimension must be {robot.n}, one per joint")
    if not (np.abs(start) <= LARGEST).all():
        raise InputError(f"q0 has a value that is not finite, or beyond {LARGEST:g}")
    return start


def _fitting(targets: Array, start: Array) -> None:
    try:
        np.broadcast_shapes(targets.shape[:-2], start.shape[:-1])
    except ValueError:
        raise InputError(
            f"the leading dimensions of T {targets.shape[:-2]} and q0 {start.shape[:-1]} do not broadcast"
        ) from None


def _rotations(targets: Array) -> Array:
    """The targets with the nearest rotations to what was written with few digits."""
    U, _, V = np.linalg.svd(targets[..., :3, :3])
    made = targets.copy()
    made[..., :3, :3] = U @ V
    return made


def _refuse(targets: Array, defect: Array, made: Solver) -> None:
    """Say which target is no pose, and why."""
    places = np.abs(targets[..., :3, 3]).max(-1)
    wrong = np.atleast_1d(~(defect < NO_ROTATION) | ~(places < FARTHEST / 3))
    where = np.argwhere(wrong)[0]
    pose = targets if targets.ndim == 2 else targets[tuple(where)]
    place = "" if targets.ndim == 2 else f" at index {tuple(int(k) for k in where)}"
    if not np.isfinite(pose).all():
        raise InputError(f"the target{place} has a value that is not finite")
    if not np.abs(pose[:3, 3]).max() < FARTHEST / 3:
        raise InputError(f"the target{place} is farther away than any arm reaches")
    if np.abs(pose[3] - [0, 0, 0, 1]).max() >= NO_ROTATION:
        raise InputError(f"the last row of the target{place} must be 0, 0, 0, 1, got {pose[3].tolist()}")
    off = np.abs(pose[:3, :3].T @ pose[:3, :3] - np.eye(3)).max()
    if off >= NO_ROTATION:
        raise InputError(f"the upper left of the target{place} is no rotation: RᵀR is off the identity by {off:.2g}")
    raise InputError(f"the upper left of the target{place} is a reflection (det R = −1), not a rotation")


def _polished(made: Solver, q: Array, info: Array, flat: Array, failed: Any) -> tuple[Array, Array]:
    """Targets that no start reached: go on from the best one, so that what is returned is a nearest point."""
    control = settings((0.0, 0.0), POLISH, CANDIDATES_POLISHED)
    near, more = made.polish.ufunc(q[failed], flat[failed], made.starts, control)
    q, info = q.copy(), info.copy()
    q[failed] = near
    info[failed, 0] += more[..., 0]
    return q, info


def _certified(made: Solver, q: Array, start: Array, targets: Array, info: Array, tolerance: float) -> Solution:
    q, figures = made.finish.direct(q, start, targets)
    if figures.ndim == 1:
        position, angle, beyond = figures.tolist()
        inside = position <= tolerance and angle <= tolerance and beyond <= BEYOND
        taken, starts, _ = info.tolist()
        return Solution(q, inside, position, angle, int(taken), int(starts) - 1)
    position, angle = figures[..., 0], figures[..., 1]
    inside = (position <= tolerance) & (angle <= tolerance) & (figures[..., 2] <= BEYOND)
    return Solution(q, inside, position, angle, info[..., 0].astype(int), info[..., 1].astype(int) - 1)
