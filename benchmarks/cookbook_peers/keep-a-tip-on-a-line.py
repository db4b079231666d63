# compare: qdd = qdd
# compare: abs(force) = abs(force)
# tolerance: 1e-8
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("planar-2r.urdf")
model.gravity.linear = np.zeros(3)
data = model.createData()
q = np.array([-np.pi / 3, 2 * np.pi / 3])
tip = model.getFrameId("tool")
J = pin.computeFrameJacobian(model, data, q, tip, pin.LOCAL_WORLD_ALIGNED)[:1]
M = pin.crba(model, data, q)
M = np.triu(M) + np.triu(M, 1).T
free = np.array([1.0, 0.0])
lever = np.linalg.solve(M, J.T)
qd = free - lever @ np.linalg.solve(J @ lever, J @ free)
pin.forwardKinematics(model, data, q, qd, np.zeros(2))
drift = pin.getFrameClassicalAcceleration(model, data, tip, pin.LOCAL_WORLD_ALIGNED).linear[:1]
bias = pin.nonLinearEffects(model, data, q, qd)
force = -np.linalg.solve(J @ lever, drift + J @ np.linalg.solve(M, -bias))
qdd = np.linalg.solve(M, J.T @ force - bias)
print(qdd.round(3), force.round(3))
