# compare: (robot.fk(run.q[-1]) - T0)[:2, 3] = data.site("tip").xpos[:2] - start
# tolerance: 1e-4
import mujoco
import numpy as np

spec = mujoco.MjSpec.from_file("planar-3r.urdf")
spec.bodies[-1].add_site(name="tip", pos=[1.0, 0, 0])
model = spec.compile()
model.opt.timestep = 1e-3
model.opt.gravity = [0, -9.81, 0]
model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
data = mujoco.MjData(model)
data.qpos = [0.3, 0.6, -0.9]
mujoco.mj_forward(model, data)
start, J = data.site("tip").xpos[:2].copy(), np.zeros((3, 3))
for _ in range(4000):
    mujoco.mj_forward(model, data)
    mujoco.mj_jacSite(model, data, J, None, data.site("tip").id)
    spring = np.array([200, 400]) * (start - data.site("tip").xpos[:2]) - 40 * J[:2] @ data.qvel
    data.qfrc_applied = data.qfrc_bias + J[:2].T @ (spring + [10.0, 0.0])
    mujoco.mj_step(model, data)
print(data.site("tip").xpos[:2] - start)
