# compare: T = T
# tolerance: 1e-12
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf")
flange = model.frames[model.getFrameId("panda_link8")]
offset = pin.SE3(pin.rpy.rpyToMatrix(0, 0, 0.3), np.array([0, 0, 0.1]))
frame = pin.Frame("tcp", flange.parentJoint, model.getFrameId("panda_link8"), flange.placement * offset, pin.OP_FRAME)
tcp = model.addFrame(frame)
data = model.createData()
q = np.array([0, 0, 0, -1.5708, 0, 0, 0])
pin.framesForwardKinematics(model, data, q)
T = data.oMf[tcp].homogeneous
print(T[:3, 3].round(4))
