"""Rule D417: links whose collision shapes overlap where the robot starts from. Points that lie deep inside two simple
shapes prove it; meshes are not looked at here, `robot.contacts` does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms.kinematics import world_poses
from dalembert.collision.enclose import row_of
from dalembert.collision.solids import SOLIDS
from dalembert.collision.spheres import neighbors
from dalembert.describe.description import Description, Mesh, Shape
from dalembert.errors import DalembertError
from dalembert.robot import Robot
from dalembert.spatial import Pose
from dalembert.trust.doctor.document import Document
from dalembert.trust.doctor.rules import Found, rule

Array = NDArray[np.float64]
DEEP = 1e-3  # [m]
GRID = 9  # points along each side of a shape
MOST = 200  # shapes: more are not compared
TOLD = 5  # overlaps


@rule("D417", "note")
def overlap(document: Document) -> Iterator[Found]:
    """Collision shapes of two links overlap at home.

    A planner, a simulator or a controller that looks for contacts finds one before anything has moved."""
    description = document.description
    if description is None or sum(len(link.collisions) for link in description.links) > MOST:
        return
    try:
        found = overlaps(description)
    except (DalembertError, ArithmeticError, ValueError):  # what cannot be placed is another rule's
        return
    parts = {link.name: link for link in document.links}
    for (a, b), depth in sorted(found.items(), key=lambda pair: -pair[1])[:TOLD]:
        if a in parts:
            message = (
                f"collision shapes of {a!r} and {b!r}, which no joint connects, overlap at home, {depth:.2g} m deep"
            )
            yield Found(parts[a].at, f"link {a!r}", message, "shrink a shape, or choose another home")


def overlaps(description: Description) -> dict[tuple[str, str], float]:
    """Pairs of links that no joint connects, and how deep a point lies inside both at least [m]."""
    robot = Robot(description, told=description.warnings)
    T = world_poses(robot.model, robot.home.tolist()) | {-1: Pose()}
    placed = []
    for link in description.links:
        frame = robot.model.frame(link.name)
        for shape in link.collisions:
            if not isinstance(shape.geometry, Mesh):
                placed.append((link.name, frame.body, T[frame.body] @ frame.pose, shape))
    solids = [(*_solid(pose, shape), name, body) for name, body, pose, shape in placed]
    found: dict[tuple[str, str], float] = {}
    for i, (points, inside, _, _, _, a, body_a) in enumerate(solids):
        for _, _, kind, row, pose, b, body_b in solids[i + 1 :]:
            if not len(points) or neighbors(robot.model, body_a, body_b):
                continue
            R, p = pose
            depth = np.minimum(inside, -np.asarray(SOLIDS[kind](row, tuple(((points - p) @ R).T))[0])).max()
            if depth > DEEP:
                found[a, b] = max(found.get((a, b), 0.0), float(depth))
    return found


def _solid(link: Pose, shape: Shape) -> tuple[Array, Array, str, list[float], tuple[Array, Array]]:
    """(points inside, in the base frame, how deep each is, kind, row, (R, p) of the shape)."""
    pose = link @ Pose.from_origin(shape.origin.xyz, shape.origin.rpy)
    R, p = np.array(pose.R, float), np.array(pose.p, float)
    kind, row, half = row_of(shape.geometry)
    axes = [np.linspace(-h, h, GRID) for h in half]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    depth = -np.asarray(SOLIDS[kind](row, tuple(grid.T))[0])
    return grid[depth > DEEP] @ R.T + p, depth[depth > DEEP], kind, row, (R, p)
