# compare: controller.K = K
# tolerance: 1e-6
import numpy as np
import pinocchio as pin

import control

model = pin.buildModelFromUrdf("planar-2r.urdf")
model.gravity.linear = np.array([0, -9.81, 0])
data = model.createData()
up, zero = np.array([np.pi / 2, 0.0]), np.zeros(2)
hold = pin.computeGeneralizedGravity(model, data, up)
pin.computeABADerivatives(model, data, up, zero, hold)
minv = np.triu(data.Minv) + np.triu(data.Minv, 1).T
A = np.block([[np.zeros((2, 2)), np.eye(2)], [data.ddq_dq, data.ddq_dv]])
B = np.vstack([np.zeros((2, 2)), minv])
K, _, poles = control.lqr(A, B, np.diag([100, 100, 1, 1]), 0.01 * np.eye(2))
print((poles.real < 0).all())
print(K.round(2))
