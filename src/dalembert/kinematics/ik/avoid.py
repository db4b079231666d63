"""Solutions that keep clear of a world and of the arm itself.

Each pose is solved, and solved again from other starts while its solution is not clear: from where the clearance grows
along what the pose leaves free, q + (1 − J⁺J) ∇d, and from rows of a table that is the same for every pose. So a pose
gives the same bits alone and in any batch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import number
from dalembert.collision.edges import sound_clearance
from dalembert.collision.of_robot import Shaped, collision
from dalembert.collision.world import World, WorldArrays
from dalembert.kinematics.ik.solution import Solution

Array = NDArray[np.float64]
Solve = Callable[[Array, Array | None], Solution]
STARTS = 60  # rows of the table
PUSHES = 2  # steps along what the pose leaves free, before the table
BEYOND = 0.01  # [m] what a push aims at beyond the clearance that is wanted
LONGEST = 0.5  # [rad or m] of a push
DEPENDENT = 1e-3  # of the largest singular value: directions that count as left free


def solve_clear(
    robot: Shaped, poses: Array, frame: str | None, world: World | WorldArrays, clear: float, solve: Solve
) -> Solution:
    """Solutions of poses (..., 4, 4) or points (..., 3), by solve(poses, starts), with at least `clear` [m]; what is
    nowhere clear has the clearest solution found, and is not converged."""
    c, wanted = collision(robot), number("clear", clear, "m", least=0.0)
    tables = world.arrays() if isinstance(world, World) else world
    found = solve(poses, None)
    core = poses.ndim - np.ndim(found.converged)
    many = poses.reshape(-1, *poses.shape[poses.ndim - core :])
    best = _flat(found, robot.n)
    reached = best.converged.copy()
    d = sound_clearance(c, best.q, tables)
    table = robot.random_configuration(STARTS, seed=0)
    for k in range(PUSHES + STARTS):
        left = np.flatnonzero(reached & (d < wanted))
        if not len(left):
            break
        if k < PUSHES:
            if robot.n < 7 and core == 2:
                continue  # a pose leaves nothing free
            start = _pushed(robot, frame, c.gradient(best.q[left], tables), best.q[left], wanted, core)
        else:
            start = np.broadcast_to(table[k - PUSHES], (len(left), robot.n))
        again = _flat(solve(many[left], start), robot.n)
        nearer = sound_clearance(c, again.q, tables)
        better = again.converged & (nearer > d[left])
        rows = left[better]
        for name in Solution.__slots__:
            if getattr(best, name) is not None:
                getattr(best, name)[rows] = getattr(again, name)[better]
        d[rows] = nearer[better]
    return _shaped(best, reached & (d >= wanted), np.where(reached, d, np.nan), np.shape(found.converged))


def _pushed(robot: Shaped, frame: str | None, near: tuple[Array, Array], q: Array, wanted: float, core: int) -> Array:
    """Where the clearance should be as wanted, to first order, without moving the frame."""
    d, slope = near
    J = np.asarray(robot.jacobian(q, frame))[:, : 6 if core == 2 else 3]
    free = slope - (np.linalg.pinv(J, rcond=DEPENDENT) @ (J @ slope[..., None]))[..., 0]
    size = (free * slope).sum(axis=1, keepdims=True)
    step = free * ((wanted + BEYOND - d)[:, None] / np.maximum(size, 1e-9))
    length = np.abs(step).max(axis=1, keepdims=True)
    return q + step * np.minimum(1.0, LONGEST / np.maximum(length, 1e-12))


def _flat(found: Solution, n: int) -> Solution:
    """Of a list of poses, to be written to."""
    numbers = [np.atleast_1d(np.array(getattr(found, name))).reshape(-1) for name in Solution.__slots__[1:-1]]
    return Solution(np.array(found.q).reshape(-1, n), *numbers)


def _shaped(found: Solution, converged: Array, clearance: Array, batch: tuple[int, ...]) -> Solution:
    """In the batch's shape; plain numbers for one pose."""
    fields = [found.position_error, found.orientation_error, found.iterations, found.restarts, clearance]
    if batch:
        return Solution(found.q.reshape(*batch, -1), converged.reshape(batch), *(x.reshape(batch) for x in fields))
    return Solution(found.q[0], bool(converged[0]), *(x[0].item() for x in fields))
