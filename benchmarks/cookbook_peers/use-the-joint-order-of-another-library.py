# compare: q = q
# tolerance: 1e-12
import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_path("ur5e.urdf")
data = mujoco.MjData(model)
names = sorted(model.joint(k).name for k in range(model.njnt))
values = np.linspace(0.1, 0.6, 6)
for name, value in zip(names, values):
    data.joint(name).qpos = value
q = data.qpos
print(q.round(2))
print(np.array([data.joint(name).qpos[0] for name in names]).round(2))
