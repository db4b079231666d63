"""What an excitation keeps clear of: the links of each other, and of a world.

How an arm gets from where it stands to where a motion begins: straight, or over one other position.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import array, number
from dalembert.collision.clearance import Collision, Contact
from dalembert.collision.edges import EdgeCertificate, certify_path
from dalembert.collision.enclose import shapes_of
from dalembert.collision.pairs import pair_distances
from dalembert.collision.world import World
from dalembert.errors import DalembertError, InputError
from dalembert.identification.excitation.limits import KINDS, ExcitationLimits, up
from dalembert.robot import Robot
from dalembert.trajectories.combined import sequence
from dalembert.trajectories.piecewise import Piecewise
from dalembert.trajectories.polynomials import minimum_jerk
from dalembert.trajectories.trajectory import Trajectory

GENTLE = 0.5  # of the motion's own speeds and accelerations
POINTS = 300  # of every leg that are looked at
DRAWS = 50  # of positions between
DETOUR = 2.0  # [rad or m] beyond the two ends
ALONGSIDE = 1e-9  # [rad or m] apart: the same position
Array = NDArray[np.float64]
CLEAR = 0.01  # [m] kept if nothing is said
NEAR = 0.05  # [m] beyond what is kept free: what is farther away does not push
LEVEL = 0.99  # of a unit vector against gravity along the base's z axis: the arm stands on its base plane
TRIALS = 2_000  # random states: whether there is room at all
ROOM = 0.1  # of them, in which links that can be kept apart are
FLOOR = "floor"


def read_start(robot: Robot, limits: ExcitationLimits, start: object) -> Array:
    """Joint positions within the limits, with all frames where they may be."""
    q = array("start", start, (robot.n,), meaning="one per joint")
    over = limits.excess("position", q).reshape(2, -1).max(axis=0)
    if (over > 0.0).any():
        raise InputError(
            "out-of-range",
            "start",
            problem=f"`start` is outside the position limits of {robot.joint_names[int(over.argmax())]!r}",
        )
    heights = _heights(limits, q[None])[0]
    if (heights < 0.0).any():
        k = int(heights.argmin())
        raise InputError(
            "infeasible",
            "start",
            problem=f"at `start` a frame is {-heights[k]:.3g} m on the wrong side of {limits.spaces[k]}",
        )
    return q


def find_way(
    robot: Robot,
    limits: ExcitationLimits,
    start: Array,
    end: Array,
    peaks: dict[str, Array],
    rng: np.random.Generator,
    avoid: Avoid | None = None,
) -> Trajectory | None:
    """From rest to rest at half these speeds and accelerations, each leg within the limits, frames at all times and
    torques at its points, and clear of what is to be avoided; None if the two are the same."""
    if np.abs(end - start).max() <= ALONGSIDE:
        return None
    lower = np.maximum(limits.lower["position"], np.minimum(start, end) - DETOUR)
    upper = np.minimum(limits.upper["position"], np.maximum(start, end) + DETOUR)
    speed, acceleration = (GENTLE * np.maximum(peaks[kind], 1e-9) for kind in KINDS[1:3])
    for draw in range(DRAWS + 1):
        stops = [start, end] if draw == 0 else [start, rng.uniform(lower, upper), end]
        legs = []
        for a, b in pairwise(stops):
            leg = minimum_jerk(a, b, velocity=speed, acceleration=acceleration)
            if not _keeps(robot, limits, leg, avoid):
                break
            legs.append(leg)
        else:
            return sequence(*legs)
    raise InputError(
        "infeasible",
        "start",
        problem="no way from `start` to the motion was found within the limits, straight or over one of "
        f"{DRAWS} other positions",
        remedy="Use another start.",
    )


def _keeps(robot: Robot, limits: ExcitationLimits, leg: Piecewise, avoid: Avoid | None) -> bool:
    t = np.linspace(0.0, leg.duration, POINTS)
    motion = leg(t)
    values = (*motion, robot.inverse_dynamics(*motion, friction=True))
    if any((limits.excess(kind, x) > 0.0).any() for kind, x in zip(KINDS, values, strict=True)):
        return False
    top = leg.limits()
    drop = limits.origins.drop(float(t[1]), motion, (top.acceleration, top.jerk))
    if not (_heights(limits, motion[0]) >= drop[:, limits.places]).all():
        return False
    return avoid is None or bool(avoid.keeps(motion[0], float(t[1]) ** 2 / 8.0 * top.acceleration, closed=False))


def lowest_along(limits: ExcitationLimits, way: Trajectory) -> float:
    """The lowest height of any frame at points of a way [m]."""
    q = way(np.linspace(0.0, way.duration, POINTS))[0]
    level = up(limits.origins.model)
    return min(float((np.array(np.broadcast_arrays(*p)).T @ level).min()) for p in limits.origins.at(list(q.T)))


def _heights(limits: ExcitationLimits, q: Array) -> Array:
    """Above every half space [m], (N, S), at positions (N, n)."""
    normals, offsets = limits.planes
    points = [np.array(np.broadcast_arrays(*p)) for p in limits.origins.at(list(q.T))]  # (3, N) each
    found = [normal @ points[k] - d for normal, d, k in zip(normals, offsets, limits.places, strict=True)]
    return np.array(found).reshape(len(limits.spaces), len(q)).T


@dataclass(frozen=True, eq=False)
class Avoid:
    """Spheres of the arm and obstacles, `clear` [m] of each other; `notes` say what was left out."""

    collision: Collision
    world: World
    clear: float
    notes: tuple[str, ...] = ()

    def excess(self, q: Array, spare: float, size: float) -> tuple[Array, Array]:
        """(how much less than `clear` and a share `spare` of the arm's size is left at states (N, n), by that size:
        ≤ 0 where it is kept; its gradient (N, n))."""
        d, slope = self.collision.gradient(q, self.world)
        wanted = self.clear + spare * size
        near = d < wanted + NEAR
        return np.where(near, (wanted - d) / size, -NEAR / size), np.where(near[:, None], -slope / size, 0.0)

    def keeps(self, q: Array, stray: Array, closed: bool = True) -> EdgeCertificate:
        """Whether motions through states (N, n) that leave the straight edges between them by up to `stray` (n,), and
        after the last come back to the first, are clear at all times."""
        points = np.concatenate((q, q[:1])) if closed or len(q) == 1 else q
        return certify_path(self.collision, points, self.world, clear=self.clear, stray=stray)

    def refuse(self, q: Array) -> None:
        """Say what is not clear at a state (n,)."""
        for contact in self.collision.contacts(q, self.world, self.clear):
            raise InputError(
                "infeasible",
                "start",
                problem=f"at `start` there is less than {self.clear:g} m between {contact}",
                remedy="Use another start.",
            )

    def nearest(self, q: Array) -> tuple[float, Contact | None]:
        """The least distance at states (N, n), and whose."""
        found = self.collision.distances(q, self.world)
        k = int(found.least.argmin())
        return float(found.least[k]), found.contact(k)

    def sentences(self, q: Array) -> Iterator[str]:
        """What is known of contacts along states of a motion."""
        least, contact = self.nearest(q)
        what = "links" if not self.world.names else f"links and {', '.join(self.world.names)}"
        yield (
            f"clear at all times, proved: {what} keep {1e3 * self.clear:.3g} mm, {self.collision.spheres.enlarged}; "
            f"nearest, {1e3 * least:.3g} mm: {contact}"
        )
        yield from self.notes


def read_avoid(robot: Robot, avoid: object, clear: float | None, floor: object) -> Avoid | None:
    """What is to be avoided: a world, with the arm itself; None: the floor on which the arm stands, if it stands on its
    base plane, and itself; False: nothing. A robot without shapes avoids nothing, unless it is asked to."""
    if avoid is False:
        if clear is not None:
            raise InputError(
                "no-effect",
                "clear",
                problem="`clear` is the distance to avoided obstacles, and nothing is avoided",
                remedy="Leave it out.",
            )
        return None
    if avoid is not None and not isinstance(avoid, World):
        raise InputError("wrong-type", "avoid", avoid, expected="a World or False")
    try:
        collision = robot.collision()
    except DalembertError as error:
        if avoid is not None or clear is not None:
            raise
        if any(True for _ in shapes_of(robot.description)):
            warnings.warn(f"contacts are not looked at, since the shapes cannot be read: {error}", stacklevel=3)
        return None
    kept = CLEAR if clear is None else number("clear", clear, "m", least=0.0)
    world, level = avoid or World(), up(robot.model)
    height = floor.get(None) if isinstance(floor, Mapping) else floor  # that of every frame
    if FLOOR not in world.names:
        if height is not None:
            world = world.half_space(FLOOR, level, number("floor", height, "m"))
        elif avoid is None and level[2] > LEVEL:
            world = world.half_space(FLOOR, level, 0.0)
    return _with_room(robot, Avoid(collision, world, kept), fixed=avoid is not None)


def _with_room(robot: Robot, wanted: Avoid, fixed: bool) -> Avoid:
    """The same without what leaves hardly any room: links that are nowhere clear of the floor, unless it is part of a
    given world, and pairs of links that are clear in few states."""
    q = np.concatenate((robot.home[None], robot.random_configuration(TRIALS, seed=0)))
    spheres, notes, standing = wanted.collision.spheres, [], set()
    if not fixed and FLOOR in wanted.world.names:
        standing = _standing(wanted, q)
        if standing:
            notes.append(f"not kept above the floor, since nowhere they are: {', '.join(sorted(standing))}")
    share = (pair_distances(wanted.collision, q) > wanted.clear).mean(axis=1)
    link = spheres.coarse.link
    tight = [(link[a], link[b]) for (a, b), part in zip(spheres.pairs, share, strict=True) if part < ROOM]
    if tight:
        named = ", ".join(f"{a} and {b}" for a, b in tight)
        notes.append(f"WARNING: not kept apart, since they hardly ever keep {wanted.clear:g} m: {named}")
        spheres = spheres.without(*tight)
    return replace(wanted, collision=Collision(robot.model, spheres, standing), notes=tuple(notes))


def _standing(wanted: Avoid, q: Array) -> set[str]:
    """Moving links that are nowhere clear of the floor."""
    c, (*normal, offset) = wanted.collision, wanted.world.arrays().half_spaces[0]
    heights = c.centers(q) @ np.array(normal) - c.spheres.fine.radius - offset
    coarse = c.spheres.coarse
    low = [heights[:, c.spheres.parent == g].min(axis=1).max() < wanted.clear for g in range(len(coarse))]
    return {link for link, body, is_low in zip(coarse.link, coarse.body, low, strict=True) if is_low and body >= 0}
