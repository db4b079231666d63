# compare: trajectory.duration = duration
# tolerance: 1e-3
import numpy as np
from pydrake.multibody.optimization import Toppra
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.trajectories import PiecewisePolynomial

plant = MultibodyPlant(time_step=0.0)
Parser(plant).AddModels("panda.urdf")
plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("panda_link0"))
plant.Finalize()
home = np.array([0, 0, 0, -1.5708, 0, 0, 0])
goal = home + [0.8, 0.6, -0.3, 0.8, 0.2, 0.9, -0.4]
path = PiecewisePolynomial.FirstOrderHold([0.0, 1.0], np.stack([home, goal], axis=1))
grid = np.linspace(0, 1, 1001)
toppra = Toppra(path, plant, grid)
effort = np.array([87, 87, 87, 87, 12, 12, 12.0])
toppra.AddJointVelocityLimit(plant.GetVelocityLowerLimits(), plant.GetVelocityUpperLimits())
toppra.AddJointTorqueLimit(-effort, effort)
duration = toppra.SolvePathParameterization().end_time()
print(round(duration, 2))
