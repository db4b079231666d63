# compare: robot.manipulability(q) = manipulability
# tolerance: 1e-6
import numpy as np
import roboticstoolbox as rtb

robot = rtb.models.DH.Puma560()
q = np.array([0.3, -0.5, 0.8, 0.2, 0.7, 0.1])
manipulability = robot.manipulability(q)
print(round(manipulability, 4))
