"""Where frames are: forward kinematics, and the transform between any two frames."""

from __future__ import annotations

from collections.abc import Iterable

from dalembert.algorithms import joints
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Frame, Model
from dalembert.spatial import Pose


def world_poses(model: Model, q: Coordinates, bodies: Iterable[int] | None = None) -> dict[int, Pose]:
    """T_0i of the given bodies and of those that carry them (all bodies by default)."""
    wanted = range(len(model.bodies)) if bodies is None else bodies
    needed = sorted({i for body in wanted for i in model.path(body)})
    x = joints.positions(model, q)
    T: dict[int, Pose] = {}
    for i in needed:
        local = joints.pose(model.bodies[i], x[i])
        parent = model.parents[i]
        T[i] = T[parent] @ local if parent >= 0 else local
    return T


def frame_pose(model: Model, q: Coordinates, frame: Frame) -> Pose:
    """T_0f of a frame."""
    if frame.body < 0:
        return frame.pose
    return world_poses(model, q, [frame.body])[frame.body] @ frame.pose


def forward_kinematics(model: Model, q: Coordinates, frame: Frame) -> Pose:
    """T_0f(q) = A_1 A_2 ⋯ A_k T_kf.  [Poonawala] §1, [Lee]."""
    return frame_pose(model, q, frame)


def transform(model: Model, q: Coordinates, to: Frame, of: Frame) -> Pose:
    """T_ab: the frame b = `of` seen from the frame a = `to`, through their nearest common body only:
    joints that carry both do not enter. [Poonawala] eq. 2."""
    up, down = model.path(to.body), model.path(of.body)
    common = 0
    while common < min(len(up), len(down)) and up[common] == down[common]:
        common += 1
    x = joints.positions(model, q)

    def chain(path: tuple[int, ...]) -> Pose:
        T = Pose()
        for i in path[common:]:
            T = T @ joints.pose(model.bodies[i], x[i])
        return T

    return (chain(up) @ to.pose).inverse() @ (chain(down) @ of.pose)
