"""States of a robot as MuJoCo has them, and back.

MuJoCo writes quaternions as (w, x, y, z), gives a free body the velocity of its origin in world axes and its angular
velocity in the body's, and counts joints that follow others. Here quaternions are (x, y, z, w), all velocities of a
floating joint are in the body's axes, and followers have no coordinates.  qvel = G(q) v.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import array
from dalembert.errors import InputError
from dalembert.kernels import check_quaternions
from dalembert.robot import Array, Robot
from dalembert.spatial import quaternion

if TYPE_CHECKING:
    from mujoco import MjModel  # type: ignore[import-untyped]

    from dalembert.model.model import Body

LAST_FIRST = (3, 0, 1, 2)  # x, y, z, w → w, x, y, z
FIRST_LAST = (1, 2, 3, 0)  # and back
Place = tuple["Body", slice, slice]  # of a joint in qpos and in qvel


def to_mujoco_state(
    robot: Robot, q: ArrayLike, v: ArrayLike | None = None, model: MjModel | None = None
) -> tuple[Array, Array]:
    """(qpos, qvel) of positions q (..., nq) and velocities v (..., nv); v = 0 if not given.

    Joints stand in MuJoCo's order, which is that of the file. Of a robot that is a part of a scene, `model` is the
    whole scene: its joints are found by their names, and all others stand where they are written, at rest."""
    nq, nv = robot.model.nq, robot.model.nv
    q = array("q", q, (..., nq), meaning="the robot's positions")
    check_quaternions(robot.model, "q", q)
    v = np.zeros((*q.shape[:-1], nv)) if v is None else array("v", v, (..., nv), meaning="its velocities")
    places, start, rates = _places(robot, model)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    qpos, qvel = np.broadcast_to(start, (*batch, len(start))).copy(), np.zeros((*batch, rates))
    for body, at, rate in places:
        x = q[..., body.position : body.position + body.joint.nq]
        u = v[..., body.coordinate : body.coordinate + body.joint.nv]
        if body.joint.nv == 1:
            qpos[..., at], qvel[..., rate] = body.multiplier * x + body.offset, body.multiplier * u
            continue
        free = body.joint.nq - 4
        qpos[..., at] = np.concatenate([x[..., :free], x[..., free:][..., LAST_FIRST]], axis=-1)
        qvel[..., rate] = u
        if free:
            qvel[..., rate.start : rate.start + 3] = np.einsum("...ij,...j", _rotation(x[..., free:]), u[..., :3])
    return qpos, qvel


def from_mujoco_state(
    robot: Robot, qpos: ArrayLike, qvel: ArrayLike | None = None, model: MjModel | None = None
) -> tuple[Array, Array]:
    """(q, v) of MuJoCo's positions and velocities (0 if not given); `model` as in `to_mujoco_state`. What followers do
    is not looked at."""
    places, start, rates = _places(robot, model)
    qpos = array("qpos", qpos, (..., len(start)), meaning="MuJoCo's positions")
    qvel = (
        np.zeros((*qpos.shape[:-1], rates)) if qvel is None else array("qvel", qvel, (..., rates), meaning="its rates")
    )
    batch = np.broadcast_shapes(qpos.shape[:-1], qvel.shape[:-1])
    q, v = np.zeros((*batch, robot.model.nq)), np.zeros((*batch, robot.model.nv))
    masters = {c.name for c in robot.model.coordinates}
    for body, at, rate in places:
        x, u = qpos[..., at], qvel[..., rate]
        if body.joint_name not in masters:
            continue
        own = slice(body.position, body.position + body.joint.nq)
        moved = slice(body.coordinate, body.coordinate + body.joint.nv)
        q[..., own], v[..., moved] = x, u
        if body.joint.nv == 1:
            continue
        free = body.joint.nq - 4
        turn = x[..., free:][..., FIRST_LAST]
        turn = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
        q[..., own] = np.concatenate([x[..., :free], turn], axis=-1)
        if free:
            v[..., body.coordinate : body.coordinate + 3] = np.einsum("...ji,...j", _rotation(turn), u[..., :3])
    return q, v


def _rotation(turn: Array) -> Array:
    """R (..., 3, 3) of unit quaternions (..., 4)."""
    R = quaternion.rotation_matrix([turn[..., k] for k in range(4)])
    return np.stack([np.stack(row, axis=-1) for row in R], axis=-2)


def _places(robot: Robot, model: MjModel | None) -> tuple[list[Place], Array, int]:
    """Where each joint stands, MuJoCo's positions to start from, and how many rates it has."""
    bodies = robot.model.bodies
    for body in bodies:
        if body.joint.kind == "planar" or body.joint.kind == "helical":
            problem = f"joint {body.joint_name!r} is {body.joint.kind}, and MuJoCo has no such joint"
            raise InputError("unsupported", "robot", body.joint.kind, problem=problem)
    if model is None:
        qs, vs = ([0, *np.cumsum([getattr(b.joint, n) for b in bodies]).tolist()] for n in ("nq", "nv"))
        start = np.zeros(qs[-1])
    else:
        names = [model.joint(k).name for k in range(model.njnt)]
        found = [names.index(b.joint_name) if b.joint_name in names else -1 for b in bodies]
        if -1 in found and len(bodies) == model.njnt:
            found = list(range(model.njnt))  # joints without a name have names of our own
        if -1 in found:
            problem = f"MuJoCo's model has no joint {bodies[found.index(-1)].joint_name!r}"
            raise InputError("conflict", "model", problem=problem, remedy="Pass the model of the robot's file.")
        qs, vs = [int(model.jnt_qposadr[k]) for k in found], [int(model.jnt_dofadr[k]) for k in found]
        start = np.array(model.qpos0)
    rates = vs[-1] if model is None else int(model.nv)
    places = [
        (b, slice(i, i + b.joint.nq), slice(j, j + b.joint.nv))
        for b, i, j in zip(bodies, qs, vs, strict=model is not None)
    ]
    return places, start, rates
