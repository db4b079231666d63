# compare: run.q[-1] = data.qpos
# tolerance: 1e-6
import mujoco

model = mujoco.MjModel.from_xml_path("planar-2r.urdf")
model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
model.opt.timestep = 1e-3
model.opt.gravity = [0, -9.81, 0]
model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
data = mujoco.MjData(model)
data.qpos = [0.5, 0.3]
for _ in range(2000):
    mujoco.mj_step(model, data)
print(data.qpos)
