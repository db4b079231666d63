# compare: A = A
# tolerance: 1e-6
import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.systems.framework import OutputPortSelection
from pydrake.systems.primitives import Linearize

plant = MultibodyPlant(time_step=0.0)
Parser(plant).AddModels("planar-2r.urdf")
plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
plant.mutable_gravity_field().set_gravity_vector([0, -9.81, 0])
plant.Finalize()
context = plant.CreateDefaultContext()
plant.SetPositions(context, [-np.pi / 2, 0.0])
plant.get_applied_generalized_force_input_port().FixValue(context, np.zeros(2))
port = plant.get_applied_generalized_force_input_port().get_index()
A = Linearize(plant, context, port, OutputPortSelection.kNoOutput).A()
print(A.round(3))
print(np.sort(np.abs(np.linalg.eigvals(A).imag)).round(3))
