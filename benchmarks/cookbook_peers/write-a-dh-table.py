# compare: T = T
# compare: robot.gravity_torque(q) = g
# tolerance: 1e-9
import numpy as np
import roboticstoolbox as rtb

link = {"m": 2.0, "r": [-0.25, 0, 0], "I": [0, 0.04, 0.04, 0, 0, 0]}
robot = rtb.DHRobot([rtb.RevoluteDH(a=0.5, **link), rtb.RevoluteDH(a=0.4, **link)], gravity=[0, -9.81, 0])
q = np.array([0.3, 0.5])
T = robot.fkine(q).A
g = robot.gravload(q)
print(T.round(3))
print(g.round(3))
