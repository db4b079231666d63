"""What `Robot` asks of this package: its spheres, its clearance, certified edges and paths."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import number
from dalembert.collision import edges
from dalembert.collision.clearance import Collision, Contact
from dalembert.collision.edges import EdgeCertificate
from dalembert.collision.enclose import TOLERANCE, enclose
from dalembert.collision.pairs import settle_pairs
from dalembert.collision.spheres import SphereModel
from dalembert.collision.world import World, WorldArrays
from dalembert.describe.description import Description
from dalembert.errors import InputError
from dalembert.system import Jointed

Array = NDArray[np.float64]


class Shaped(Jointed, Protocol):
    """A system of bodies and joints that knows its shapes."""

    description: Description


def collision(
    robot: Shaped,
    *,
    tolerance: float | None = None,
    spheres: SphereModel | str | PathLike[str] | None = None,
    package_dirs: Sequence[str | PathLike[str]] = (),
) -> Collision:
    """The robot as spheres, with distances, gradients and contacts; made once for the same words.

    Its collision shapes (the visual ones, if it has no others) are enclosed by spheres that reach at most `tolerance`
    (0.02) [m] beyond them; links that cannot meet, by proof, or touch in practically every state, by samples, are no
    pair. Or give `spheres` of your own: a `SphereModel`, or its file. Meshes are looked for beside the description, and
    in `package_dirs`."""
    if spheres is not None:
        if tolerance is not None or package_dirs:
            raise InputError("spheres that are given are not made: leave out tolerance and package_dirs")
        if not isinstance(spheres, (SphereModel, str, PathLike)):
            raise InputError(f"spheres are a SphereModel or the name of its file, got {type(spheres).__name__}")
        own = spheres if isinstance(spheres, SphereModel) else SphereModel.load(str(spheres), robot.model)
        return Collision(robot.model, own)
    within = TOLERANCE if tolerance is None else number("tolerance", tolerance, "m", above=0.0)

    def make() -> Collision:
        found = enclose(robot.description, robot.model, within, package_dirs)
        return Collision(robot.model, settle_pairs(robot.model, found))

    return robot.once(("collision", within, tuple(map(str, package_dirs))), make)


def clearance(robot: Shaped, q: ArrayLike, world: World | WorldArrays | None = None) -> Array:
    """Least distance [m] between links that may meet, and to the obstacles of a world, at joint positions (..., n).
    (...).  Never larger than that of the shapes; negative where they may touch. `collision()` has gradients and
    contacts."""
    return collision(robot).clearance(q, world)


def contacts(
    robot: Shaped, q: ArrayLike, world: World | WorldArrays | None = None, within: float = 0.0
) -> list[Contact]:
    """The pairs of links, and of links and obstacles, that are nearer than `within` [m] at joint positions (n,)."""
    return collision(robot).contacts(q, world, within)


def certify_edge(
    robot: Shaped,
    q0: ArrayLike,
    q1: ArrayLike,
    world: World | WorldArrays | None = None,
    *,
    clear: float = 0.0,
    stray: ArrayLike = 0.0,
    float32: bool = False,
) -> EdgeCertificate:
    """Whether the straight motion from q0 to q1, (n,) or (E, n), is proved free of contact, between samples too, with
    `clear` [m] to spare; motions that leave it by up to `stray` (n,) are covered. See `collision.edges`."""
    return edges.certify_edge(collision(robot), q0, q1, world, clear=clear, stray=stray, float32=float32)


def certify_path(
    robot: Shaped,
    q: ArrayLike,
    world: World | WorldArrays | None = None,
    *,
    clear: float = 0.0,
    stray: ArrayLike = 0.0,
    float32: bool = False,
) -> EdgeCertificate:
    """The same of the straight edges between waypoints (K, n)."""
    return edges.certify_path(collision(robot), q, world, clear=clear, stray=stray, float32=float32)
