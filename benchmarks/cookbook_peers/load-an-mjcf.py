# compare: M = M
# tolerance: 1e-6
from pathlib import Path

import mujoco
import numpy as np

Path("swing.xml").write_text("""<mujoco model="swing">
  <worldbody>
    <body name="upper"><joint name="shoulder" axis="0 1 0" range="-120 120"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4" density="800"/>
      <body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0"/>
        <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.3" density="800"/>
        <site name="hand" pos="0 0 -.3"/></body></body>
  </worldbody>
</mujoco>""")
model = mujoco.MjModel.from_xml_path("swing.xml")
data = mujoco.MjData(model)
data.qpos[:] = [0.1, 0.2]
mujoco.mj_forward(model, data)
M = np.zeros((model.nv, model.nv))
mujoco.mj_fullM(model, data, M)
print(M.round(4))
