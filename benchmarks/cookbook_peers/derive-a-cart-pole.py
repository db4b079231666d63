# compare: A = A
# tolerance: 1e-9
import numpy as np
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import PrismaticJoint, RevoluteJoint, SpatialInertia, UnitInertia
from pydrake.systems.framework import OutputPortSelection
from pydrake.systems.primitives import Linearize

plant = MultibodyPlant(time_step=0.0)
plant.mutable_gravity_field().set_gravity_vector([0, 0, -9.81])
p = np.array([0, 0, 0.5])
cart = plant.AddRigidBody("cart", SpatialInertia(1.0, np.zeros(3), UnitInertia(1, 1, 1)))
pole = plant.AddRigidBody("pole", SpatialInertia(0.2, p, UnitInertia.PointMass(p)))
plant.AddJoint(PrismaticJoint("x", plant.world_frame(), cart.body_frame(), [1, 0, 0]))
plant.AddJoint(RevoluteJoint("theta", cart.body_frame(), pole.body_frame(), [0, 1, 0]))
plant.Finalize()
context = plant.CreateDefaultContext()
port = plant.get_applied_generalized_force_input_port()
port.FixValue(context, np.zeros(2))
A = Linearize(plant, context, port.get_index(), OutputPortSelection.kNoOutput).A()
print(A.round(3))
