# compare: q = q
# tolerance: 1e-9
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf")
data = model.createData()
tip = model.getFrameId("panda_link8")
q, dt = np.array([0, 0, 0, -1.5708, 0, 0, 0]), 0.01
posture = q.copy()
posture[model.joints[model.getJointId("panda_joint3")].idx_q] = 0.5
twist = np.array([0.0, 0.1, 0.0, 0.0, 0.0, 0.0])
for _ in range(200):
    J = pin.computeFrameJacobian(model, data, q, tip, pin.LOCAL_WORLD_ALIGNED)
    J_pinv = np.linalg.pinv(J)
    qd = J_pinv @ twist + (np.eye(7) - J_pinv @ J) @ (2.0 * (posture - q))
    q = pin.integrate(model, q, dt * qd)
print(q.round(3))
