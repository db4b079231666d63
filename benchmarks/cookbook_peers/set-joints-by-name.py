# compare: q = q
# tolerance: 1e-12
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf")
q = np.array([0, 0, 0, -1.5708, 0, 0, 0])
for name, value in {"panda_joint2": 0.3, "panda_joint4": -1.2}.items():
    q[model.joints[model.getJointId(name)].idx_q] = value
print(q.round(3))
