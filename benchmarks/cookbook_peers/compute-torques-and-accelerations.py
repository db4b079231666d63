# compare: tau = tau
# compare: M = M
# compare: C @ qd = C @ qd
# compare: g = g
# tolerance: 1e-9
import numpy as np
import pinocchio as pin

model = pin.buildModelFromUrdf("panda.urdf")
data = model.createData()
rng = np.random.default_rng(0)
q, qd, qdd = rng.uniform(-1, 1, (3, model.nv))
tau = pin.rnea(model, data, q, qd, qdd)
print(tau.round(1))
print(np.allclose(pin.aba(model, data, q, qd, tau), qdd))
M = pin.crba(model, data, q)
M = np.triu(M) + np.triu(M, 1).T
C = pin.computeCoriolisMatrix(model, data, q, qd)
g = pin.computeGeneralizedGravity(model, data, q)
print(np.allclose(M @ qdd + C @ qd + g, tau))
