"""M and the bias as MuJoCo has them, in Dalembert's coordinates: qvel = G v, so M = Gᵀ M' G and b = Gᵀ (b' + M' Ġ v).

Written apart from `interchange.mujoco_state`, joint by joint; Ġ v is R (ω × v) of a free body and zero elsewhere."""

from __future__ import annotations

import mujoco
import numpy as np

import dalembert as dl


def rotation(x, y, z, w):
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def mujoco_terms(robot: dl.Robot, model: mujoco.MjModel, q, v):
    """(M, bias, data) at q, v; the joints are found by name."""
    data = mujoco.MjData(model)
    G, turning = np.zeros((model.nv, robot.nv)), np.zeros(model.nv)
    data.qpos[:] = model.qpos0
    for body in robot.model.bodies:
        k = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, body.joint_name)
        at, dof, kind = model.jnt_qposadr[k], model.jnt_dofadr[k], model.jnt_type[k]
        x, i, n = q[body.position : body.position + body.joint.nq], body.coordinate, body.joint.nv
        G[dof : dof + n, i : i + n] = np.eye(n) * body.multiplier
        if kind == mujoco.mjtJoint.mjJNT_BALL:
            data.qpos[at : at + 4] = x[3], *x[:3]
        elif kind == mujoco.mjtJoint.mjJNT_FREE:
            R = rotation(*x[3:])
            data.qpos[at : at + 7] = *x[:3], x[6], *x[3:6]
            G[dof : dof + 3, i : i + 3] = R
            turning[dof : dof + 3] = R @ np.cross(v[i + 3 : i + 6], v[i : i + 3])
        else:
            data.qpos[at] = body.multiplier * x[0] + body.offset
    data.qvel[:] = G @ v
    mujoco.mj_forward(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    return G.T @ M @ G, G.T @ (data.qfrc_bias + M @ turning), data


def states(robot: dl.Robot, count: int, seed: int = 1):
    """(q, v) pairs, of joints with one coordinate within ±1."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        parts = [c.joint.normalize(rng.uniform(-1, 1, c.joint.nq).tolist()) for c in robot.model.coordinates]
        yield np.concatenate(parts), rng.uniform(-1, 1, robot.nv)
