"""Control: from a mass on a spring to an arm that learns its own parameters."""

from dalembert.control.adaptive import Adaptive
from dalembert.control.classic import (
    Margins,
    StepFigures,
    bode_plot,
    frequency_response,
    margins,
    step_figures,
    step_plot,
)
from dalembert.control.compare import Comparison, compare
from dalembert.control.compensators import Compensator, lag_for_accuracy, lead_for_margin, lead_for_pole
from dalembert.control.computed_torque import ComputedTorque
from dalembert.control.conditions import Condition, Conditions
from dalembert.control.controller import Controller
from dalembert.control.diagrams import diagram_of
from dalembert.control.feedforward import Feedforward, FeedforwardPD
from dalembert.control.flexible_joints import FlexibleLinearizing, FlexiblePD
from dalembert.control.forms import Parallel, Series, Standard
from dalembert.control.gravity import PDGravity
from dalembert.control.hybrid import HybridForce
from dalembert.control.independent import IndependentJoint
from dalembert.control.joint_space import PD, JointPID
from dalembert.control.linear import StateSpace, linearized
from dalembert.control.lqr import LQR, lqr
from dalembert.control.observer import MomentumObserver
from dalembert.control.pid import PID
from dalembert.control.relay import extrapolated, relay_experiment
from dalembert.control.robust import RobustControl, Uncertainty
from dalembert.control.root_locus import RootLocus
from dalembert.control.scenarios import Scenario, geared
from dalembert.control.second_order import MassSpringDamper, unit_mass
from dalembert.control.sensors import sensed
from dalembert.control.servo import PartitionedServo, SpringServo, critical_gains, triple_pole_gains
from dalembert.control.task_control import Impedance, TaskComputedTorque
from dalembert.control.transfer import TransferFunction
from dalembert.control.tuning import (
    ZIEGLER_NICHOLS,
    reaction_curve,
    reaction_of,
    ultimate,
    ziegler_nichols,
    ziegler_nichols_step,
)
from dalembert.control.voltage import VoltageControl, seen_from_joints
from dalembert.draw.blocks import Diagram

__all__ = [
    "LQR",
    "PD",
    "PID",
    "ZIEGLER_NICHOLS",
    "Adaptive",
    "Comparison",
    "Compensator",
    "ComputedTorque",
    "Condition",
    "Conditions",
    "Controller",
    "Diagram",
    "Feedforward",
    "FeedforwardPD",
    "FlexibleLinearizing",
    "FlexiblePD",
    "HybridForce",
    "Impedance",
    "IndependentJoint",
    "JointPID",
    "Margins",
    "MassSpringDamper",
    "MomentumObserver",
    "PDGravity",
    "Parallel",
    "PartitionedServo",
    "RobustControl",
    "RootLocus",
    "Scenario",
    "Series",
    "SpringServo",
    "Standard",
    "StateSpace",
    "StepFigures",
    "TaskComputedTorque",
    "TransferFunction",
    "Uncertainty",
    "VoltageControl",
    "bode_plot",
    "compare",
    "critical_gains",
    "diagram_of",
    "extrapolated",
    "frequency_response",
    "geared",
    "lag_for_accuracy",
    "lead_for_margin",
    "lead_for_pole",
    "linearized",
    "lqr",
    "margins",
    "reaction_curve",
    "reaction_of",
    "relay_experiment",
    "seen_from_joints",
    "sensed",
    "step_figures",
    "step_plot",
    "triple_pole_gains",
    "ultimate",
    "unit_mass",
    "ziegler_nichols",
    "ziegler_nichols_step",
]
