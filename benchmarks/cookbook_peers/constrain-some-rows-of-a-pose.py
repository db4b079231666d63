# compare: robot.fk(solution.q)[:3, 3] = position
# tolerance: 1e-4
import numpy as np
from pydrake.multibody.inverse_kinematics import InverseKinematics
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.solvers import Solve

plant = MultibodyPlant(time_step=0.0)
Parser(plant).AddModels("panda.urdf")
plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("panda_link0"))
plant.Finalize()
point = np.array([0.5, 0.1, 0.4])
ik = InverseKinematics(plant)
tip = plant.GetFrameByName("panda_link8")
ik.AddPositionConstraint(tip, np.zeros(3), plant.world_frame(), point, point)
ik.prog().SetInitialGuess(ik.q(), [0, 0, 0, -1.5708, 0, 0, 0])
result = Solve(ik.prog())
context = plant.CreateDefaultContext()
plant.SetPositions(context, result.GetSolution(ik.q()))
position = tip.CalcPoseInWorld(context).translation()
print(result.is_success(), position.round(4))
