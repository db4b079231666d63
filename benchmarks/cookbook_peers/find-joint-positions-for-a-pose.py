# compare: robot.fk(solution.q) = reached
# tolerance: 1e-5
import numpy as np
import roboticstoolbox as rtb
from spatialmath import SE3

robot = rtb.models.DH.Panda()
robot.tool = SE3()  # the flange, without the hand
home = np.array([0, 0, 0, -1.5708, 0, 0, 0])
T = SE3(0.45, 0.2, 0.4) * SE3.RPY(np.pi, 0, 0.5)
solution = robot.ikine_LM(T, q0=home, tol=1e-12)
print(solution.success, solution.q.round(3))
reached = robot.fkine(solution.q).A
