# compare: robot.fk(q, "right_tool0") = T
# tolerance: 1e-9
import numpy as np
import pinocchio as pin

arm = pin.buildModelFromUrdf("ur5e.urdf")
robot = pin.Model()
for side, y in {"left": 0.3, "right": -0.3}.items():
    copy = pin.buildModelFromUrdf("ur5e.urdf")
    for k in range(1, copy.njoints):
        copy.names[k] = f"{side}_{copy.names[k]}"
    for frame in copy.frames:
        frame.name = f"{side}_{frame.name}"
    robot = pin.appendModel(robot, copy, 0, pin.SE3(np.eye(3), np.array([0, y, 0])))
data = robot.createData()
q = pin.neutral(robot)
pin.framesForwardKinematics(robot, data, q)
T = data.oMf[robot.getFrameId("right_tool0")].homogeneous
print(robot.nq, T[:3, 3].round(3))
