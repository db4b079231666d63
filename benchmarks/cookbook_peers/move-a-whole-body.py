# compare: robot.fk(solution.q) = reached
# tolerance: 1e-5
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf", pin.JointModelPlanar())
data = model.createData()
q = pin.neutral(model)
q[4:] = [0, 0, 0, -1.5708, 0, 0, 0]
tip = model.getFrameId("panda_link8")
T = pin.SE3(pin.rpy.rpyToMatrix(np.pi, 0, 0), np.array([2.0, 1.0, 0.5]))
for _ in range(200):
    pin.framesForwardKinematics(model, data, q)
    error = data.oMf[tip].actInv(T)
    step = pin.log6(error).vector
    if np.linalg.norm(step) < 1e-8:
        break
    J = pin.computeFrameJacobian(model, data, q, tip, pin.LOCAL)
    q = pin.integrate(model, q, 0.5 * J.T @ np.linalg.solve(J @ J.T + 1e-9 * np.eye(6), step))
pin.framesForwardKinematics(model, data, q)
reached = data.oMf[tip].homogeneous
print(q[:4].round(3))
