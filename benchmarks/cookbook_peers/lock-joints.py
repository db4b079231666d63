# compare: fixed.mass_matrix(q[keep]) = M
# tolerance: 1e-9
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf")
q = np.array([0, 0, 0, -1.5708, 0.2, 0, 0])
locked = [model.getJointId(name) for name in ("panda_joint3", "panda_joint5")]
fixed = pin.buildReducedModel(model, locked, q)
print(fixed.nq, list(fixed.names)[1:])
keep = [model.joints[model.getJointId(name)].idx_q for name in list(fixed.names)[1:]]
data = fixed.createData()
M = pin.crba(fixed, data, q[keep])
M = np.triu(M) + np.triu(M, 1).T
