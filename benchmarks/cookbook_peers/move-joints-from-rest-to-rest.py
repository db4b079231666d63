# compare: trajectory(1.0)[0] = trajectory.q[50]
# compare: trajectory(1.0)[1] = trajectory.qd[50] / 2
# tolerance: 1e-9
import numpy as np
import roboticstoolbox as rtb

home = np.array([0, 0, 0, -1.5708, 0, 0, 0])
goal = home + 0.3
trajectory = rtb.jtraj(home, goal, 101)
print(trajectory.q[50], (trajectory.qd[50] / 2).round(4))  # rates are per unit of the path: 2 s
