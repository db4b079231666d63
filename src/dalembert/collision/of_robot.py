"""A robot's spheres, made and kept, and what is asked of them at single states."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import number
from dalembert.collision import (
    clearance as clearance_,
    enclose as enclose_,
    motion,
    pairs,
    pieces,
    solids,
    spheres as spheres_,
)
from dalembert.collision.clearance import Collision, Contact
from dalembert.collision.enclose import TOLERANCE, enclose, files_of, with_near_pairs
from dalembert.collision.pairs import settle_pairs
from dalembert.collision.spheres import SphereModel, need_links, read_pairs
from dalembert.collision.world import World, WorldArrays
from dalembert.compile import cache, separation
from dalembert.describe import mesh
from dalembert.describe.description import Description
from dalembert.errors import InputError, ModelWarning
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
    allow: Sequence[tuple[str, str]] = (),
    package_dirs: Sequence[str | PathLike[str]] = (),
) -> Collision:
    """Return the robot's shapes as spheres and convex pieces, with distances, gradients and contacts; made once for the
    same arguments.

    Its collision shapes (the visual ones, if it has no others) are enclosed by convex pieces, which are compared with
    each other, and by spheres that reach at most `tolerance` (0.02) [m] beyond them, which are compared with obstacles.
    Links next to each other and links that are proved never to meet are not compared, nor are pairs of links in
    `allow`: `[("left_finger", "right_finger")]`. Or give `spheres` of your own: a `SphereModel`, or its file. Meshes
    are looked for beside the description, and in `package_dirs`."""
    if spheres is not None:
        if tolerance is not None or package_dirs:
            raise InputError(
                "no-effect",
                "spheres",
                problem="`tolerance` and `package_dirs` have no effect on given `spheres`",
                remedy="Leave them out.",
            )
        if not isinstance(spheres, (SphereModel, str, PathLike)):
            raise InputError("wrong-type", "spheres", spheres, expected="a SphereModel or the name of its file")
        own = spheres if isinstance(spheres, SphereModel) else SphereModel.load(str(spheres), robot.model)
        need_links(robot.model, own)
        return Collision(robot.model, own.without(*read_pairs(allow)))
    within = TOLERANCE if tolerance is None else number("tolerance", tolerance, "m", above=0.0)
    folders = tuple(map(str, package_dirs))
    if allow:
        pairs = tuple(sorted(set(read_pairs(allow))))
        whole = collision(robot, tolerance=tolerance, package_dirs=package_dirs)
        words = ("collision", within, folders, pairs)
        return robot.once(words, lambda: Collision(robot.model, whole.spheres.without(*pairs)))

    def make() -> Collision:
        name = cache.key(_version(), str(within), repr(robot.model), *files_of(robot.description, package_dirs))
        kept = cache.load(name)
        if kept is not None:
            found = SphereModel.from_json(kept.decode())
        else:
            made = enclose(robot.description, robot.model, within, package_dirs)
            found = settle_pairs(robot.model, with_near_pairs(robot.description, robot.model, made))
            cache.store(name, found.to_json().encode())
        if tolerance is not None:
            _warn_coarser(found, within)
        return Collision(robot.model, found)

    return robot.once(("collision", within, folders), make)


def _warn_coarser(spheres: SphereModel, tolerance: float) -> None:
    """Warn of links whose spheres reach farther than was asked for."""
    over = {link: reached for link, reached in zip(spheres.coarse.link, spheres.reached, strict=True)}
    links = sorted((link for link in over if over[link] > tolerance), key=lambda link: -over[link])
    if links:
        more = f", and {len(links) - 1} more links" if len(links) > 1 else ""
        warnings.warn(
            f"the tolerance of {tolerance:g} m is not met: spheres reach {over[links[0]]:.3g} m beyond {links[0]!r}"
            f"{more}, because finer ones would be too many; `spheres=` takes spheres of your own",
            ModelWarning,
            stacklevel=4,
        )


def _version() -> str:
    """What makes spheres, as a digest of its text."""
    makers = (clearance_, enclose_, mesh, motion, pairs, pieces, separation, solids, spheres_)
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
