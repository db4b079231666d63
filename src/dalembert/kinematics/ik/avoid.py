"""Solutions that keep clear of a world and of the arm itself.

Each pose is solved, and solved again from other starts while its solution is not clear: from where the clearance grows
along what the pose leaves free, q + (1 − J⁺J) ∇d, and from rows of a table that is the same for every pose, of which
the first that leads to a clear solution counts. So a pose gives the same bits alone and in any batch.
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
CHUNKS = (1, 2, 4, 8, 15, 30)  # rows of the table that are tried at once, more and more for the few that are left
STARTS = sum(CHUNKS)
PUSHES = 2  # steps along what the pose leaves free, before the table
BEYOND = 0.01  # [m] what a push aims at beyond the clearance that is wanted
LONGEST = 0.5  # [rad or m] of a push
DEPENDENT = 1e-3  # of the largest singular value: directions that count as left free


def solve_clear(
    robot: Shaped,
    poses: Array,
    frame: str | None,
    world: World | WorldArrays,
    clear: float,
    solve: Solve,
    moves: NDArray[np.bool_],
) -> Solution:
    """Solutions of poses (..., 4, 4) or points (..., 3), by solve(poses, starts), with at least `clear` [m]; what is
    nowhere clear has the clearest solution found, and is not converged. Only joints that have `moves` (n,) move."""
    c, wanted = collision(robot), number("clear", clear, "m", least=0.0)
    tables = world.arrays() if isinstance(world, World) else world
    found = solve(poses, None)
    core = poses.ndim - np.ndim(found.converged)
    many = poses.reshape(-1, *poses.shape[poses.ndim - core :])
    best = _flat(found, robot.n)
    reached, clearance = best.converged.copy(), sound_clearance(c, tables)
    d = clearance(best.q)
    table = robot.random_configuration(STARTS, seed=0)
    pushes = 0 if moves.sum() < 7 and core == 2 else PUSHES  # a pose leaves nothing free
    changed = np.zeros(len(d), bool)
    for k in (*(-1,) * pushes, *range(len(CHUNKS))):
        left = np.flatnonzero(reached & (d < wanted))
        if not len(left):
            break
        if k < 0:
            near, slope = c.gradient(best.q[left], tables)
            start = _pushed(robot, frame, (near, slope * moves), best.q[left], wanted, core)[:, None]
        else:
            first = sum(CHUNKS[:k])
            start = np.where(moves, table[first : first + CHUNKS[k]], best.q[left][:, None])
        tries = start.shape[1]
        again = _flat(solve(np.repeat(many[left], tries, axis=0), start.reshape(-1, robot.n)), robot.n)
        nearer = np.where(again.converged, clearance(again.q, wanted), -np.inf).reshape(-1, tries)
        clear_ones = nearer >= wanted
        which = np.where(clear_ones.any(axis=1), clear_ones.argmax(axis=1), nearer.argmax(axis=1))
        took = nearer[np.arange(len(left)), which]
        better = took > d[left]
        rows, taken = left[better], (np.arange(len(left)) * tries + which)[better]
        for name in Solution.__slots__:
            if getattr(best, name) is not None:
                getattr(best, name)[rows] = getattr(again, name)[taken]
        d[rows], changed[rows] = took[better], True
    if changed.any():
        d[changed] = clearance(best.q[changed])
    return _shaped(best, reached & (d >= wanted), np.where(reached, d, np.nan), np.shape(found.converged))


def _pushed(robot: Shaped, frame: str | None, near: tuple[Array, Array], q: Array, wanted: float, core: int) -> Array:
    """Where the clearance should be as wanted, to first order, without moving the frame."""
    d, slope = near
    J = np.asarray(robot.jacobian(q, frame))[:, : 6 if core == 2 else 3]
    square = J @ np.swapaxes(J, -1, -2)
    square += (DEPENDENT**2 * np.trace(square, axis1=1, axis2=2))[:, None, None] * np.eye(J.shape[1])
    along = np.linalg.solve(square, J @ slope[..., None])  # what of the slope would move the frame
    free = slope - (np.swapaxes(J, -1, -2) @ along)[..., 0]
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
