"""A robot's spheres, made and kept, and what is asked of them at single states."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import number
from dalembert.collision import clearance as clearance_, enclose as enclose_, motion, pairs, solids, spheres as spheres_
from dalembert.collision.clearance import Collision, Contact
from dalembert.collision.enclose import TOLERANCE, enclose, files_of, with_near_pairs
from dalembert.collision.pairs import settle_pairs
from dalembert.collision.spheres import SphereModel, need_links
from dalembert.collision.world import World, WorldArrays
from dalembert.compile import cache
from dalembert.describe import mesh
from dalembert.describe.description import Description
from dalembert.errors import InputError
from dalembert.system import Jointed

Array = NDArray[np.float64]
FINER = 0.5  # of the tolerance: spheres that prove that links which few joints part never meet


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
        need_links(robot.model, own)
        return Collision(robot.model, own)
    within = TOLERANCE if tolerance is None else number("tolerance", tolerance, "m", above=0.0)

    def make() -> Collision:
        name = cache.key(_version(), str(within), repr(robot.model), *files_of(robot.description, package_dirs))
        kept = cache.load(name)
        if kept is not None:
            return Collision(robot.model, SphereModel.from_json(kept.decode()))

        def spheres_of(tolerance: float, links: set[str] | None = None) -> SphereModel:
            own = enclose(robot.description, robot.model, tolerance, package_dirs, links)
            return with_near_pairs(robot.description, robot.model, own)

        found = settle_pairs(robot.model, spheres_of(within), lambda links: spheres_of(FINER * within, links))
        cache.store(name, found.to_json().encode())
        return Collision(robot.model, found)

    return robot.once(("collision", within, tuple(map(str, package_dirs))), make)


def _version() -> str:
    """What makes spheres, as a digest of its text."""
    makers = (clearance_, enclose_, mesh, motion, pairs, solids, spheres_)
    return cache.key("spheres", *(Path(str(module.__file__)).read_text(encoding="utf-8") for module in makers))


def read_collision(of: Collision | Shaped) -> Collision:
    """Spheres that are given, or those of a robot."""
    return of if isinstance(of, Collision) else collision(of)


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
