"""Control: from a mass on a spring to an arm that learns its own parameters."""

from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
    from dalembert.control.adaptive import AdaptiveControl as AdaptiveControl
    from dalembert.control.comparison import Comparison as Comparison
    from dalembert.control.comparison import compare as compare
    from dalembert.control.computed_torque import ComputedTorque as ComputedTorque
    from dalembert.control.computed_torque import Feedforward as Feedforward
    from dalembert.control.computed_torque import FeedforwardPD as FeedforwardPD
    from dalembert.control.conditions import Condition as Condition
    from dalembert.control.conditions import Conditions as Conditions
    from dalembert.control.controller import Controller as Controller
    from dalembert.control.diagrams import Diagram as Diagram
    from dalembert.control.diagrams import diagram_of as diagram_of
    from dalembert.control.flexible_joints import FlexibleLinearizing as FlexibleLinearizing
    from dalembert.control.flexible_joints import FlexiblePD as FlexiblePD
    from dalembert.control.frequency import Compensator as Compensator
    from dalembert.control.frequency import Margins as Margins
    from dalembert.control.frequency import bode_plot as bode_plot
    from dalembert.control.frequency import frequency_response as frequency_response
    from dalembert.control.frequency import lag_for_accuracy as lag_for_accuracy
    from dalembert.control.frequency import lead_for_margin as lead_for_margin
    from dalembert.control.frequency import lead_for_pole as lead_for_pole
    from dalembert.control.frequency import margins as margins
    from dalembert.control.hybrid import HybridForce as HybridForce
    from dalembert.control.independent import IndependentJoint as IndependentJoint
    from dalembert.control.joint_space import PD as PD
    from dalembert.control.joint_space import JointPID as JointPID
    from dalembert.control.joint_space import PDGravity as PDGravity
    from dalembert.control.linear import StateSpace as StateSpace
    from dalembert.control.linear import linearize as linearize
    from dalembert.control.observer import MomentumObserver as MomentumObserver
    from dalembert.control.pid import PID as PID
    from dalembert.control.pid import Parallel as Parallel
    from dalembert.control.pid import Series as Series
    from dalembert.control.pid import Standard as Standard
    from dalembert.control.registry import CONTROLLERS as CONTROLLERS
    from dalembert.control.registry import Entry as Entry
    from dalembert.control.registry import register as register
    from dalembert.control.regulator import LQR as LQR
    from dalembert.control.regulator import lqr as lqr
    from dalembert.control.robust import RobustControl as RobustControl
    from dalembert.control.robust import Uncertainty as Uncertainty
    from dalembert.control.root_locus import RootLocus as RootLocus
    from dalembert.control.scenarios import Scenario as Scenario
    from dalembert.control.scenarios import add_gears as add_gears
    from dalembert.control.second_order import MassSpringDamper as MassSpringDamper
    from dalembert.control.second_order import unit_mass as unit_mass
    from dalembert.control.sensors import add_sensors as add_sensors
    from dalembert.control.servo import PartitionedServo as PartitionedServo
    from dalembert.control.servo import SpringServo as SpringServo
    from dalembert.control.servo import critical_gains as critical_gains
    from dalembert.control.servo import triple_pole_gains as triple_pole_gains
    from dalembert.control.step_response import StepFigures as StepFigures
    from dalembert.control.step_response import step_figures as step_figures
    from dalembert.control.step_response import step_plot as step_plot
    from dalembert.control.task_space import WRENCH as WRENCH
    from dalembert.control.task_space import Impedance as Impedance
    from dalembert.control.task_space import TaskComputedTorque as TaskComputedTorque
    from dalembert.control.transfer import TransferFunction as TransferFunction
    from dalembert.control.tuning import ZIEGLER_NICHOLS as ZIEGLER_NICHOLS
    from dalembert.control.tuning import extrapolate as extrapolate
    from dalembert.control.tuning import reaction_curve as reaction_curve
    from dalembert.control.tuning import reaction_of as reaction_of
    from dalembert.control.tuning import relay_experiment as relay_experiment
    from dalembert.control.tuning import ultimate as ultimate
    from dalembert.control.tuning import ziegler_nichols as ziegler_nichols
    from dalembert.control.tuning import ziegler_nichols_step as ziegler_nichols_step
    from dalembert.control.voltage import VoltageControl as VoltageControl
    from dalembert.control.voltage import reflect_motors as reflect_motors

_NAMES = {
    "adaptive": ("AdaptiveControl",),
    "comparison": ("Comparison", "compare"),
    "computed_torque": ("ComputedTorque", "Feedforward", "FeedforwardPD"),
    "conditions": ("Condition", "Conditions"),
    "controller": ("Controller",),
    "diagrams": ("Diagram", "diagram_of"),
    "flexible_joints": ("FlexibleLinearizing", "FlexiblePD"),
    "frequency": (
        "Compensator",
        "Margins",
        "bode_plot",
        "frequency_response",
        "lag_for_accuracy",
        "lead_for_margin",
        "lead_for_pole",
        "margins",
    ),
    "hybrid": ("HybridForce",),
    "independent": ("IndependentJoint",),
    "joint_space": ("PD", "JointPID", "PDGravity"),
    "linear": ("StateSpace", "linearize"),
    "observer": ("MomentumObserver",),
    "pid": ("PID", "Parallel", "Series", "Standard"),
    "registry": ("CONTROLLERS", "Entry", "register"),
    "regulator": ("LQR", "lqr"),
    "robust": ("RobustControl", "Uncertainty"),
    "root_locus": ("RootLocus",),
    "scenarios": ("Scenario", "add_gears"),
    "second_order": ("MassSpringDamper", "unit_mass"),
    "sensors": ("add_sensors",),
    "servo": ("PartitionedServo", "SpringServo", "critical_gains", "triple_pole_gains"),
    "step_response": ("StepFigures", "step_figures", "step_plot"),
    "task_space": ("WRENCH", "Impedance", "TaskComputedTorque"),
    "transfer": ("TransferFunction",),
    "tuning": (
        "ZIEGLER_NICHOLS",
        "extrapolate",
        "reaction_curve",
        "reaction_of",
        "relay_experiment",
        "ultimate",
        "ziegler_nichols",
        "ziegler_nichols_step",
    ),
    "voltage": ("VoltageControl", "reflect_motors"),
}

__getattr__, __dir__, __all__ = lazy_names(
    __name__, _NAMES, {module: module for module in (*_NAMES, "gains", "springs")}
)
