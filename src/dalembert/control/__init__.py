"""Control: from a mass on a spring to an arm that learns its own parameters."""

from dalembert.control.adaptive import Adaptive
from dalembert.control.computed_torque import ComputedTorque
from dalembert.control.conditions import Condition, Conditions
from dalembert.control.controller import Controller
from dalembert.control.feedforward import Feedforward, FeedforwardPD
from dalembert.control.flexible_joints import FlexibleLinearising, FlexiblePD
from dalembert.control.gravity import PDGravity
from dalembert.control.hybrid import HybridForce
from dalembert.control.independent import IndependentJoint
from dalembert.control.joint_space import PD, JointPID
from dalembert.control.observer import MomentumObserver
from dalembert.control.robust import RobustControl, Uncertainty
from dalembert.control.sensors import sensed
from dalembert.control.task_control import Impedance, TaskComputedTorque
from dalembert.control.voltage import VoltageControl, seen_from_joints

__all__ = [
    "PD",
    "Adaptive",
    "ComputedTorque",
    "Condition",
    "Conditions",
    "Controller",
    "Feedforward",
    "FeedforwardPD",
    "FlexibleLinearising",
    "FlexiblePD",
    "HybridForce",
    "Impedance",
    "IndependentJoint",
    "JointPID",
    "MomentumObserver",
    "PDGravity",
    "RobustControl",
    "TaskComputedTorque",
    "Uncertainty",
    "VoltageControl",
    "seen_from_joints",
    "sensed",
]
