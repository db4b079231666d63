"""From where the arm is to where it is wanted, touching nothing: a path, and the fastest motion along it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, count, need, number, switch
from dalembert.collision import Collision, Contact, EdgeCertificate, SphereModel, Spheres, World
from dalembert.collision.edges import certify_edge, certify_path
from dalembert.errors import InputError, choose
from dalembert.kinematics.jacobian import need_joints
from dalembert.planning.planner import Found, Planner, Settings
from dalembert.se3 import read_pose

if TYPE_CHECKING:
    from dalembert.robot import Robot
    from dalembert.trajectories import Certified, Piecewise

Array = NDArray[np.float64]
# (clearance kept beyond what is asked for [m], how much finer states are checked): what a search is to leave for the
# proof; the next is tried where the proof fails.
TRIES = ((1e-3, 1), (2e-3, 2), (5e-3, 4), (2e-4, 16))
STARTS = 64  # of inverse kinematics, for a pose that has no closed form
SAME = 1e-3  # [rad, m] solutions nearer than that are one
CHORDS = 16  # into which a rounded corner is cut to be certified
HALVINGS = 6  # of a corner that touches something when it is rounded
TURN = np.pi  # [rad] beyond start and goal, where a joint without limits is sampled
BEYOND = 1e-9  # [rad, m] past a limit that is rounding
REVERSED = -0.999  # cosine of a corner that cannot be rounded


@dataclass(frozen=True, eq=False)
class Plan:
    """A path that touches nothing and the motion along it, with what was recomputed of both.

    path (K, n): the corners [rad, m];  trajectory: the fastest motion along it with rounded corners, from rest to rest
    (None if not asked for);  goal: which of the goals it reaches;  length: of the path, the norm of joint motion;
    clearance: least distance at the samples of the motion [m];  proof: of the path, or of the rounded one, between
    samples too;  found: how the search went."""

    path: Array
    trajectory: Certified | None
    goal: int
    length: float
    clearance: float
    proof: EdgeCertificate
    found: Found

    @property
    def ok(self) -> bool:
        """Whether the motion is proved to keep the clearance: `proved`. A search without success raises an error."""
        return self.proved

    @property
    def proved(self) -> bool:
        """Whether the motion is proved to keep the clearance that was asked for, rounding included."""
        return bool(self.proof)

    @property
    def duration(self) -> float:
        """[s]; infinite without a motion."""
        return np.inf if self.trajectory is None else float(self.trajectory.duration)

    def __str__(self) -> str:
        f = self.found
        lines = [
            f"path: {len(self.path)} corners, length {self.length:.3f} ({f.iterations} iterations, {f.nodes} nodes)",
            f"clearance: {1e3 * self.clearance:.2f} mm at the samples; {self.proof}",
        ]
        if self.trajectory is not None:
            c = self.trajectory.certificate
            used = {word: 1.0 + getattr(c, word) for word in ("velocity", "acceleration", "torque")}
            words = ", ".join(f"{word} {100 * share:.6g} %" for word, share in used.items() if share > 0)
            lines.append(f"motion: {self.duration:.3f} s; of their limits, at most: {words or 'none has one'}")
        return "\n".join(lines)


Goal = ArrayLike | Mapping[str, ArrayLike] | str


def plan(
    robot: Robot,
    q0: ArrayLike,
    goal: Goal,
    world: World | None = None,
    *,
    clear: float = 0.0,
    locked: Sequence[str] = (),
    attached: ArrayLike | None = None,
    frame: str | None = None,
    spheres: SphereModel | None = None,
    allow: Sequence[tuple[str, str]] = (),
    seed: int = 0,
    step: float = 1.0,
    iterations: int = 100_000,
    timed: bool = True,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
) -> Plan:
    """Plan a motion from `q0` to a goal that touches nothing.

    Parameters
    ----------
    q0 : array_like, shape (n,)
        Joint positions at the start.
    goal : array_like, dict or str
        Joint positions (n,), or several (k, n) of which one is to be reached. {frame: T}: the pose T (4, 4) of a frame;
        every solution of inverse kinematics that can be found counts, and joints that cannot move the frame stay where
        they are. "home" or "neutral": the posture of that name.
    world : World, optional
        Obstacles.
    clear : float
        Distance [m] to keep from the world and from the robot itself.
    locked : sequence of str
        Joints that stay where they are.
    attached : array_like, shape (k, 4), optional
        Spheres that the robot carries: centers and radii [m] in `frame` (default: the tip). `with_payload` gives mass.
    spheres : SphereModel, optional
        The robot's spheres, if not those of `Robot.collision`.
    allow : sequence of pairs of str
        Pairs of links that may touch: `[("left_finger", "right_finger")]`.
    seed : int
        Random seed of the search (RRT-Connect), which is deterministic.
    step, iterations : float, int
        Length of the steps of the search, and their largest number.
    timed : bool
        Round the corners of the path, and follow it as fast as the limits allow.
    velocity, acceleration, torque : array_like, optional
        Limits of the motion; by default the robot's own.

    Returns
    -------
    Plan

    Raises
    ------
    InputError
        If the start or the goal is out of reach, beyond the limits or in contact, or if no path is found.
    """
    need_joints(robot)
    around = World() if world is None else need(world, World, "world", "dl.World() makes one")
    margin, seed = number("clear", clear, "m", least=0.0), count("seed", seed)
    settings = Settings(step=number("step", step, above=0.0), iterations=count("iterations", iterations, 1))
    of = _carrying(robot, spheres, attached, frame, allow)
    start = _inside(robot, array("q0", q0, (robot.n,), unit="rad or m"), "q0")
    asked, fixed = _goals(robot, goal, seed, start, _indices(robot, locked))
    goals = _without(asked, start, fixed, robot)
    if (np.abs(goals - start) <= BEYOND).all(axis=1).any():
        raise InputError("the arm is at the goal already: start and goal are the same joint positions")
    _need_clear(of, start[None], around, margin, "the start")
    kept = _need_clear(of, goals, around, margin, "the goal")
    found, corners, proof = _search(robot, of, start, goals[kept], around, margin, seed, settings, fixed)
    reached = int(np.nanargmin(np.abs(asked - corners[-1]).max(axis=1)))
    motion = None
    if switch("timed", timed):
        from dalembert.trajectories.time_scaling import time_optimal

        smooth, proof = _rounded(robot, of, corners, around, margin, proof)
        motion = time_optimal(smooth, robot, velocity=velocity, acceleration=acceleration, torque=torque)
        x = smooth.derivatives(np.linspace(0.0, smooth.duration, 20 * len(corners) + 100), 0)[0]
    elif not all(limit is None for limit in (velocity, acceleration, torque)):
        raise InputError("limits are a motion's: leave them out, or timed=False")
    else:
        x = np.concatenate([a + np.linspace(0, 1, 40)[:, None] * (b - a) for a, b in itertools.pairwise(corners)])
    least = float(np.min(of.clearance(x, around)))
    length = float(np.linalg.norm(np.diff(corners, axis=0), axis=1).sum())
    return Plan(corners, motion, reached, length, least, proof, found)


# --------------------------------------------------------------------------------------------------- what is asked for
def _carrying(
    robot: Robot,
    spheres: SphereModel | None,
    attached: ArrayLike | None,
    frame: str | None,
    allow: Sequence[tuple[str, str]],
) -> Collision:
    """The robot's spheres, and with them those that it carries: a group of its own, which may not touch what is neither
    on the body that carries it nor on that body's parent."""
    of = robot.collision(spheres=spheres, allow=allow)
    if attached is None:
        return of
    rows, s = array("attached", attached, (None, 4), unit="m"), of.spheres
    if not len(rows) or not (rows[:, 3] > 0).all():
        raise InputError("attached spheres (k, 4) are centers and radii [m]: one at least, none without a radius")
    from dalembert.collision.spheres import enclosing_sphere, on_links

    carrier = robot.model.frame(frame).name
    held = on_links(robot.model, {carrier: rows})
    name = "attached"
    held = replace(held, link=(name,) * len(rows))
    center, radius = enclosing_sphere(np.column_stack((held.center, held.radius)))
    body, last = int(held.body[0]), len(s.coarse)
    near = {body, robot.model.parents[body] if body >= 0 else body}
    pairs = [(k, last) for k in range(last) if int(s.coarse.body[k]) not in near]

    def both(a: Spheres, b: Spheres) -> Spheres:
        body, center = np.concatenate((a.body, b.body)), np.concatenate((a.center, b.center))
        return Spheres(body, center, np.concatenate((a.radius, b.radius)), (*a.link, *b.link))

    coarse = both(s.coarse, Spheres(held.body[:1], center[None], np.array([radius]), (name,)))
    parent = np.concatenate((s.parent, np.full(len(rows), last)))
    own = np.concatenate((s.pairs, np.array(pairs, np.int64).reshape(-1, 2)))
    return Collision(robot.model, replace(s, coarse=coarse, fine=both(s.fine, held), parent=parent, pairs=own))


def _inside(robot: Robot, q: Array, what: str) -> Array:
    """q, if it is within the limits, to rounding."""
    lower, upper = robot.limits.lower, robot.limits.upper
    over = np.maximum(q - upper, lower - q)
    j = int(over.argmax())
    if over[j] > BEYOND:
        unit = robot.model.coordinates[j].joint.unit
        raise InputError(
            f"{what} has {robot.joint_names[j]!r} {over[j]:.4g} {unit} beyond its limits "
            f"({lower[j]:.4g} to {upper[j]:.4g} {unit})"
        )
    return np.clip(q, lower, upper)


def _goals(
    robot: Robot, goal: Goal, seed: int, q0: Array, locked: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64]]:
    """Return the joint positions (G, n) that are the goal, and which joints stay at their values of q0: those locked
    and, for a pose, those that cannot move the frame."""
    n = robot.n
    if isinstance(goal, str):
        goal = {"home": robot.home, "neutral": robot.neutral}[choose("posture", goal, ("home", "neutral"), "goal")]
    if not isinstance(goal, Mapping):
        if np.shape(goal) == (4, 4) and n != 4:
            raise InputError(
                "wrong-shape",
                "goal",
                goal,
                expected="joint positions",
                remedy=f"Write goal={{{robot.tip!r}: T}} for a pose.",
            )
        x = array("goal", goal, (n,), (None, n))
        if x.ndim == 2 and not len(x):
            raise InputError("the goal (G, n) has no rows: give at least one")
        rows = np.atleast_2d(x)
        rows = _inside(robot, rows[0], "the goal")[None] if len(rows) == 1 else _some_inside(robot, rows)
        return rows, locked
    if len(goal) != 1:
        raise InputError(
            "unsupported", "goal", list(goal), expected="the pose of one frame", remedy="Write {frame: T}."
        )
    ((frame, T),) = goal.items()
    x = read_pose(f"goal[{frame!r}]", array(f"goal[{frame!r}]", T, (4, 4)))
    from dalembert.kinematics.ik.closed_form import reason
    from dalembert.kinematics.ik.numeric import ik_locked

    fixed, missed = locked, "it is out of reach, or only outside the joint limits"
    if not len(locked) and reason(robot, frame) is None:
        solutions = robot.ik_all(x, frame)
        found = solutions.q[solutions.found]
    else:
        low, high = _sampled(robot, np.zeros((1, n)))
        starts = low + np.random.Generator(np.random.Philox(seed)).random((STARTS, n)) * (high - low)
        solution, moves = ik_locked(robot, x, frame, starts, q0, tuple(sorted(locked.tolist())))
        found, fixed = solution.q[solution.converged], np.flatnonzero(~moves)
        missed = f"the nearest found is {float(np.min(solution.position_error)):.3g} m away"
    if not len(found):
        still = ", with the joints of locked= at their start values" if len(locked) else ""
        raise InputError(
            f"no joint positions within the limits put {robot.model.frame(frame).name!r} at the goal{still}: {missed}"
        )
    apart: list[Array] = []
    for q in found:
        if all(np.abs(q - other).max() > SAME for other in apart):
            apart.append(q)
    return np.array(apart), fixed


def _some_inside(robot: Robot, rows: Array) -> Array:
    """The rows, NaN where they are not within the limits."""
    lower, upper = robot.limits.lower, robot.limits.upper
    good = np.max(np.maximum(rows - upper, lower - rows), axis=1) <= BEYOND
    if not good.any():
        raise InputError(f"none of the {len(rows)} goals is within the joint limits")
    return np.where(good[:, None], np.clip(rows, lower, upper), np.nan)


def _indices(robot: Robot, locked: Sequence[str]) -> NDArray[np.int64]:
    names = [locked] if isinstance(locked, str) else list(locked)
    for name in names:
        choose("joint", name, robot.joint_names, "locked")
    return np.array([robot.joint_names.index(name) for name in names], np.int64)


def _without(goals: Array, q0: Array, fixed: NDArray[np.int64], robot: Robot) -> Array:
    """Return the goals within the limits whose fixed joints have their values of q0."""
    goals = goals[np.isfinite(goals).all(axis=1)]
    off = np.abs(goals[:, fixed] - q0[fixed])
    same = (off <= SAME).all(axis=1) if len(fixed) else np.ones(len(goals), bool)
    if not same.any():
        j = int(fixed[off[int(off.max(axis=1).argmin())].argmax()])
        raise InputError(f"{robot.joint_names[j]!r} is locked at {q0[j]:.6g}, but every goal moves it")
    return goals[same]


def _need_clear(of: Collision, q: Array, world: World, clear: float, what: str) -> NDArray[np.int64]:
    """Which of these states are clear; none is refused with who touches whom."""
    distance = of.clearance(q, world)
    kept = np.flatnonzero(distance > clear)
    if not len(kept):
        contact = of.distances(q[int(np.argmax(distance))], world).contact()
        lacks = f"is not {clear:g} m clear" if clear else "touches something"
        least = f" (the best of {len(q)})" if len(q) > 1 else ""
        raise InputError(f"{what} {lacks}{least}: {contact}{_remedy(of, contact, clear, what)}")
    return kept


def _remedy(of: Collision, contact: Contact | None, clear: float, what: str) -> str:
    """What to do about a contact, which may be none where the shapes are enlarged by more than they lack."""
    if contact is None:
        return ""
    over, links = of.spheres.excess(contact.first, contact.second), of.spheres.coarse.link
    both = contact.first in links and contact.second in links
    if clear - contact.distance >= over:
        allow = f", or pass allow=[{(contact.first, contact.second)}] if these links may touch" if both else ""
        return f"; choose another {what.removeprefix('the ')}{allow}"
    may = f". The shapes are enlarged by up to {over:.2g} m there, so this may be no contact"
    if both:
        return f"{may}: if these links may touch, pass allow=[{(contact.first, contact.second)}]"
    return f"{may}: pass spheres=robot.collision(tolerance={0.5 * over:.2g}).spheres for finer spheres"


def _sampled(robot: Robot, ends: Array) -> tuple[Array, Array]:
    """Where joints are sampled: within their limits; without limits around the ends."""
    lower, upper = robot.limits.lower, robot.limits.upper
    low = np.where(np.isfinite(lower), lower, ends.min(axis=0) - TURN)
    return low, np.where(np.isfinite(upper), upper, ends.max(axis=0) + TURN)


# --------------------------------------------------------------------------------------------------------- the search
def planner_of(robot: Robot, of: Collision) -> Planner:
    """The planner of a robot with these spheres; the robot's own is kept."""
    low, high = _sampled(robot, np.zeros((1, robot.n)))

    def make() -> Planner:
        return Planner(robot.model, of.spheres, low, high)

    kept = of.spheres.allowed if of is robot.collision(allow=of.spheres.allowed) else None
    return make() if kept is None else robot.once(("planner", kept), make)


def _search(
    robot: Robot,
    of: Collision,
    q0: Array,
    goals: Array,
    world: World,
    clear: float,
    seed: int,
    settings: Settings,
    fixed: NDArray[np.int64],
) -> tuple[Found, Array, EdgeCertificate]:
    """A path and its proof; with more clearance and finer until it is proved. The last one found is kept."""
    planner = planner_of(robot, of)
    ends = np.concatenate((q0[None], goals))
    low, high = _sampled(robot, ends)
    low[fixed] = high[fixed] = q0[fixed]
    room = 0.5 * max(float(np.min(of.clearance(ends[[0, 1 + k]], world))) - clear for k in range(len(goals)))
    best: tuple[Found, Array, EdgeCertificate] | None = None
    for more, finer in TRIES:
        scene = planner.scene(world, seed, clear + min(more, room), (low, high))
        open_ = ~scene.hits(goals)
        found = scene.search(
            q0, goals[open_ if open_.any() else slice(None)], replace(settings, resolution=32.0 * finer)
        )
        if found.status == 1:
            corners = _corners(found.path, q0, goals)
            corners[1:-1] = np.clip(corners[1:-1], low, high)  # float32 rounds what is held, and limits
            proof = certify_path(of, corners, world, clear=clear)
            best = (found, corners, proof)
            if proof:
                return best
        elif best is None and more > TRIES[0][0]:
            break
    if best is None:
        spent = f"{found.iterations} iterations and {found.nodes} states"
        why = "there was no more room for its trees" if found.status < 0 else "iterations= allows more"
        raise InputError(
            f"no path was found in {spent}: start and goal may lie in parts that are not connected, or a passage is "
            f"narrow; {why}, another seed= goes other ways, a smaller step= finds narrower passages"
        )
    found, corners, proof = best
    if proof.touches[~proof.free].any():
        k = int(np.flatnonzero(~proof.free)[0])
        raise InputError(
            f"a path was found, but between its samples it touches something, {proof.contact(k)}: give clear="
        )
    return best


def _corners(path: Array, q0: Array, goals: Array) -> Array:
    """The corners of a path found in float32, between the exact ends; none twice."""
    path = path.copy()
    path[0], path[-1] = q0, goals[np.abs(goals - path[-1]).max(axis=1).argmin()]
    moves = np.abs(np.diff(path, axis=0)).max(axis=1) > SAME
    inner = path[1:-1][moves[:-1]]
    near_end = np.abs(inner - path[-1]).max(axis=1, initial=0.0) > SAME
    return np.concatenate((path[:1], inner[near_end], path[-1:]))


# -------------------------------------------------------------------------------------------------- rounded corners
def _rounded(
    robot: Robot, of: Collision, corners: Array, world: World, clear: float, proof: EdgeCertificate
) -> tuple[Piecewise, EdgeCertificate]:
    """The path with a parabola at every corner, as large as it can be proved free: from δ before the corner to δ after
    it, q = c + …, q′ continuous. By arc length of the corners."""
    from dalembert.trajectories.limits import joint_units
    from dalembert.trajectories.piecewise import Piecewise

    way = np.diff(corners, axis=0)
    length = np.linalg.norm(way, axis=1)
    u = way / length[:, None]
    size = 0.5 * np.minimum(length[:-1], length[1:])
    blunt = (u[:-1] * u[1:]).sum(axis=1) < REVERSED
    if blunt.any():
        raise InputError("the path turns back on itself, and no motion rounds that: another seed= goes another way")
    smooth_proof = proof
    t = np.linspace(0.0, 1.0, CHORDS + 1)[:, None, None]
    for _ in range(HALVINGS if len(size) else 0):
        before, after, c = corners[1:-1] - size[:, None] * u[:-1], corners[1:-1] + size[:, None] * u[1:], corners[1:-1]
        points = (1 - t) ** 2 * before + 2 * t * (1 - t) * c + t**2 * after  # (chords + 1, corners, n)
        bulge = np.abs(before - 2 * c + after) / 4 / CHORDS**2  # of the curve off its chords
        stray = np.broadcast_to(bulge, points[1:].shape).reshape(-1, robot.n)
        a, b = points[:-1].reshape(-1, robot.n), points[1:].reshape(-1, robot.n)
        smooth_proof = certify_edge(of, a, b, world, clear=clear, stray=stray)
        bad = ~smooth_proof.free.reshape(CHORDS, -1).all(axis=0)
        if not bad.any():
            break
        size = np.where(bad, 0.5 * size, size)
    units = joint_units(robot)
    if not len(size):
        return Piecewise(
            np.array([0.0, length[0]]), np.stack((corners[0], u[0]))[None], robot.joint_names, units, "s"
        ), proof
    rows, breaks = [], [0.0]
    zero = np.zeros(robot.n)
    for k in range(len(length)):
        first = size[k - 1] if k else 0.0
        last = size[k] if k < len(size) else 0.0
        if length[k] - first - last > 1e-12 * length[k]:
            rows.append(np.stack((corners[k] + first * u[k], u[k], zero)))
            breaks.append(breaks[-1] + length[k] - first - last)
        if k < len(size):
            rows.append(np.stack((corners[k + 1] - last * u[k], u[k], (u[k + 1] - u[k]) / (4 * last))))
            breaks.append(breaks[-1] + 2 * last)
    curve = Piecewise(np.array(breaks), np.stack(rows), robot.joint_names, units, "s")
    return curve, smooth_proof if proof else proof
