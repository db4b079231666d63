# compare: tau = tau
# tolerance: 1e-9
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf")
data = model.createData()
q = np.array([0, 0, 0, -1.5708, 0, 0, 0])
F = pin.Force(np.array([0.0, 0.0, 50.0]), np.zeros(3))
pin.framesForwardKinematics(model, data, q)
tip = model.frames[model.getFrameId("panda_link8")]
at_tip = pin.SE3(np.eye(3), data.oMf[model.getFrameId("panda_link8")].translation)
forces = [pin.Force.Zero() for _ in range(model.njoints)]
forces[tip.parentJoint] = data.oMi[tip.parentJoint].actInv(at_tip.act(F))
zero = np.zeros(model.nv)
tau = pin.rnea(model, data, q, zero, zero, forces)
print(tau.round(1))
