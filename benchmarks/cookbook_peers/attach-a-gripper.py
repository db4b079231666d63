# compare: tau = tau
# tolerance: 1e-9
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf")
q = np.array([0, 0, 0, -1.5708, 0, 0, 0])
before = pin.computeGeneralizedGravity(model, model.createData(), q).copy()
flange = model.frames[model.getFrameId("panda_link8")]
inertia = pin.Inertia(0.7, np.array([0, 0, 0.05]), np.diag([0.001, 0.0025, 0.0017]))
model.appendBodyToJoint(flange.parentJoint, inertia, flange.placement)
offset = pin.SE3(np.eye(3), np.array([0, 0, 0.1034]))
frame = pin.Frame("fingertips", flange.parentJoint, flange.placement * offset, pin.OP_FRAME)
model.addFrame(frame)
data = model.createData()
tau = pin.computeGeneralizedGravity(model, data, q)
print(tau.round(2))
print((tau - before).round(2))
