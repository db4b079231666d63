# compare: Y @ robot.parameters() = Y @ parameters
# tolerance: 1e-9
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("planar-2r.urdf")
model.gravity.linear = np.array([0, -9.81, 0])
data = model.createData()
rng = np.random.default_rng(0)
q, qd, qdd = rng.uniform(-1, 1, (3, model.nv))
Y = pin.computeJointTorqueRegressor(model, data, q, qd, qdd)
parameters = np.concatenate([inertia.toDynamicParameters() for inertia in list(model.inertias)[1:]])
print(Y.shape, np.allclose(Y @ parameters, pin.rnea(model, data, q, qd, qdd)))
states = rng.uniform(-1, 1, (100, 3, model.nv))
rows = np.concatenate([pin.computeJointTorqueRegressor(model, data, *state) for state in states])
print(np.linalg.matrix_rank(rows))
