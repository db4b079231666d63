# compare: robot.fk(q) = T
# compare: tau = tau
# tolerance: 1e-8
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf", pin.JointModelFreeFlyer())
data = model.createData()
print(model.nq, model.nv)
rng = np.random.default_rng(0)
d, qd, qdd = rng.uniform(-1, 1, (3, model.nv))
home = pin.neutral(model)
home[7:] = [0, 0, 0, -1.5708, 0, 0, 0]
q = pin.integrate(model, home, d)
tau = pin.rnea(model, data, q, qd, qdd)
pin.framesForwardKinematics(model, data, q)
T = data.oMf[model.getFrameId("panda_link8")].homogeneous
print(tau[:6].round(2))
