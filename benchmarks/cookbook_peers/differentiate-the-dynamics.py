# compare: D_q = data.ddq_dq
# compare: D_qd = data.ddq_dv
# tolerance: 1e-7
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf")
data = model.createData()
rng = np.random.default_rng(0)
q, qd, tau = rng.uniform(-1, 1, (3, model.nv))
pin.computeABADerivatives(model, data, q, qd, tau)
print(data.ddq_dq.shape, data.Minv.shape)
