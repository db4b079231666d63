# compare: tau = tau
# tolerance: 1e-9
import numpy as np
import pinocchio as pin
import roboticstoolbox as rtb

model = pin.buildModelFromUrdf("panda.urdf")
data = model.createData()
home = np.array([0, 0, 0, -1.5708, 0, 0, 0])
t = np.linspace(0, 0.5, 501)
motion = rtb.jtraj(home, home + [0.8, 0.6, -0.3, 0.8, 0.2, 0.9, -0.4], 501)
rows = zip(motion.q, motion.qd / 0.5, motion.qdd / 0.25)
tau = np.array([pin.rnea(model, data, q, qd, qdd) for q, qd, qdd in rows])
use = np.abs(tau) / model.upperEffortLimit
for name, worst, when in zip(list(model.names)[1:], use.max(0), t[use.argmax(0)]):
    print(f"{name} {worst:4.0%} at {when:.2f} s")
