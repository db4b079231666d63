"""What an excitation keeps clear of: the links of each other, and of a world."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import number
from dalembert.collision.clearance import Collision, Contact
from dalembert.collision.edges import EdgeCertificate, certify_path
from dalembert.collision.enclose import shapes_of
from dalembert.collision.pairs import pair_distances
from dalembert.collision.world import World
from dalembert.errors import DalembertError, InputError
from dalembert.identification.excite.limits import up
from dalembert.robot import Robot

Array = NDArray[np.float64]
CLEAR = 0.01  # [m] kept if nothing is said
NEAR = 0.05  # [m] beyond what is kept free: what is farther away does not push
LEVEL = 0.99  # of a unit vector against gravity along the base's z axis: the arm stands on its base plane
TRIALS = 2_000  # random states: whether there is room at all
ROOM = 0.1  # of them, in which links that can be kept apart are
FLOOR = "floor"


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
            raise InputError(f"at the start there is less than {self.clear:g} m between {contact}; start elsewhere")

    def nearest(self, q: Array) -> tuple[float, Contact | None]:
        """The least distance at states (N, n), and whose."""
        found = self.collision.distances(q, self.world)
        k = int(found.least.argmin())
        return float(found.least[k]), found.contact(k)

    def sentences(self, q: Array) -> Iterator[str]:
        """What is known of contacts along states of a motion."""
        least, contact = self.nearest(q)
        what = "links" if not self.world.names else f"links and {', '.join(self.world.names)}"
        over = self.collision.spheres.overestimate
        yield (
            f"clear at all times, proved: {what} keep {1e3 * self.clear:.3g} mm, as spheres that reach up to "
            f"{1e3 * over:.2g} mm beyond the shapes; nearest, {1e3 * least:.3g} mm: {contact}"
        )
        yield from self.notes


def read_avoid(robot: Robot, avoid: object, clear: float | None, floor: object) -> Avoid | None:
    """What is to be avoided: a world, with the arm itself; None: the floor on which the arm stands, if it stands on its
    base plane, and itself; False: nothing. A robot without shapes avoids nothing, unless it is asked to."""
    if avoid is False:
        if clear is not None:
            raise InputError("clear says how far to keep away from what is avoided: leave it out, or avoid=False")
        return None
    if avoid is not None and not isinstance(avoid, World):
        raise InputError(f"avoid is a dl.World, or False for nothing at all; got {type(avoid).__name__}")
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
