# compare: better.inverse_dynamics(q, qd, qdd)[5:-5] = identified[5:-5]
# tolerance: 0.1
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("planar-2r.urdf")
model.gravity.linear = np.array([0, -9.81, 0])
data = model.createData()
t, *columns = np.loadtxt("log.csv", delimiter=",", skiprows=1).T
q, tau = np.array(columns[:2]).T, np.array(columns[2:]).T
qd = np.gradient(q, t, axis=0)
qdd = np.gradient(qd, t, axis=0)
Y = np.array([pin.computeJointTorqueRegressor(model, data, *state) for state in zip(q, qd, qdd)])
rows = slice(5, -5)
beta = np.linalg.lstsq(Y[rows].reshape(-1, Y.shape[-1]), tau[rows].ravel(), rcond=None)[0]
identified = Y @ beta
