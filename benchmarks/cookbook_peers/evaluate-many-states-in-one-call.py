# compare: tau = tau
# tolerance: 1e-6
import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_path("panda.urdf")
model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
data = mujoco.MjData(model)
rng = np.random.default_rng(0)
q, qd, qdd = rng.uniform(-1, 1, (3, 10_000, model.nv))
tau = np.empty_like(q)
for k in range(len(q)):
    data.qpos, data.qvel, data.qacc = q[k], qd[k], qdd[k]
    mujoco.mj_inverse(model, data)
    tau[k] = data.qfrc_inverse
print(tau.shape)
