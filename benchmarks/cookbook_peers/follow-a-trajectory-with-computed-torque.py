# compare: run.q[-1] = q
# tolerance: 1e-3
import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import SpatialInertia, UnitInertia, default_model_instance
from pydrake.systems.analysis import Simulator
from pydrake.systems.controllers import InverseDynamicsController
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import TrajectorySource
from pydrake.trajectories import PiecewisePolynomial


def load(mass: float) -> MultibodyPlant:
    plant = MultibodyPlant(time_step=0.0)
    Parser(plant).AddModels("panda.urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("panda_link0"))
    if mass:
        body = plant.AddRigidBody(
            "payload", default_model_instance(), SpatialInertia(mass, np.zeros(3), UnitInertia.SolidSphere(1e-3))
        )
        plant.WeldFrames(plant.GetFrameByName("panda_link8"), body.body_frame())
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if joint.num_velocities() == 1:
            plant.AddJointActuator(joint.name(), joint)
    plant.Finalize()
    return plant


home = np.array([0, 0, 0, -1.5708, 0, 0, 0])
goal = home + 0.5
s = np.poly1d([6, -15, 10, 0, 0, 0])
times = np.linspace(0, 1, 201)
points = home[:, None] + 0.5 * s(times)
motion = PiecewisePolynomial.CubicWithContinuousSecondDerivatives(times, points, np.zeros(7), np.zeros(7))
for mass in (0.0, 2.0):
    builder = DiagramBuilder()
    plant = builder.AddSystem(load(mass))
    n, omega = np.ones(7), 10.0
    controller = builder.AddSystem(InverseDynamicsController(load(0.0), omega**2 * n, 0 * n, 2 * omega * n, True))
    source = builder.AddSystem(TrajectorySource(motion, output_derivative_order=1))
    acceleration = builder.AddSystem(TrajectorySource(motion.derivative(2)))
    builder.Connect(source.get_output_port(), controller.get_input_port_desired_state())
    builder.Connect(acceleration.get_output_port(), controller.get_input_port_desired_acceleration())
    builder.Connect(plant.get_state_output_port(), controller.get_input_port_estimated_state())
    builder.Connect(controller.get_output_port_control(), plant.get_actuation_input_port())
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, home)
    simulator.AdvanceTo(1.5)
    q = plant.GetPositions(context)
    print(np.abs(q - goal).max())
