"""Control: from a mass on a spring to an arm that learns its own parameters."""

from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
    from dalembert.control.adaptive import AdaptiveControl as AdaptiveControl
    from dalembert.control.comparison import Comparison as Comparison, compare as compare
    from dalembert.control.computed_torque import (
        ComputedTorque as ComputedTorque,
        Feedforward as Feedforward,
        FeedforwardPD as FeedforwardPD,
    )
    from dalembert.control.conditions import Condition as Condition, Conditions as Conditions
    from dalembert.control.controller import Controller as Controller
    from dalembert.control.diagrams import Diagram as Diagram, diagram_of as diagram_of
    from dalembert.control.flexible_joints import FlexibleLinearizing as FlexibleLinearizing, FlexiblePD as FlexiblePD
    from dalembert.control.frequency import (
        Compensator as Compensator,
        Margins as Margins,
        bode_plot as bode_plot,
        frequency_response as frequency_response,
        lag_for_accuracy as lag_for_accuracy,
        lead_for_margin as lead_for_margin,
        lead_for_pole as lead_for_pole,
        margins as margins,
    )
    from dalembert.control.gain_search import TunedGains as TunedGains, tune_gains as tune_gains
    from dalembert.control.hybrid import HybridForce as HybridForce
    from dalembert.control.independent import IndependentJoint as IndependentJoint
    from dalembert.control.joint_space import PD as PD, JointPID as JointPID, PDGravity as PDGravity
    from dalembert.control.linear import StateSpace as StateSpace, linearize as linearize
    from dalembert.control.observer import MomentumObserver as MomentumObserver
    from dalembert.control.pid import PID as PID, Parallel as Parallel, Series as Series, Standard as Standard
    from dalembert.control.registry import CONTROLLERS as CONTROLLERS, Entry as Entry, register as register
    from dalembert.control.regulator import LQR as LQR, lqr as lqr
    from dalembert.control.robust import RobustControl as RobustControl, Uncertainty as Uncertainty
    from dalembert.control.root_locus import RootLocus as RootLocus
    from dalembert.control.scenarios import Scenario as Scenario, add_gears as add_gears
    from dalembert.control.second_order import MassSpringDamper as MassSpringDamper, unit_mass as unit_mass
    from dalembert.control.sensors import add_sensors as add_sensors
    from dalembert.control.servo import (
        PartitionedServo as PartitionedServo,
        SpringServo as SpringServo,
        critical_gains as critical_gains,
        triple_pole_gains as triple_pole_gains,
    )
    from dalembert.control.step_response import (
        StepFigures as StepFigures,
        step_figures as step_figures,
        step_plot as step_plot,
    )
    from dalembert.control.task_space import (
        WRENCH as WRENCH,
        Impedance as Impedance,
        TaskComputedTorque as TaskComputedTorque,
    )
    from dalembert.control.transfer import TransferFunction as TransferFunction
    from dalembert.control.tuning import (
        ZIEGLER_NICHOLS as ZIEGLER_NICHOLS,
        extrapolate as extrapolate,
        reaction_curve as reaction_curve,
        reaction_of as reaction_of,
        relay_experiment as relay_experiment,
        ultimate as ultimate,
        ziegler_nichols as ziegler_nichols,
        ziegler_nichols_step as ziegler_nichols_step,
    )
    from dalembert.control.voltage import VoltageControl as VoltageControl, reflect_motors as reflect_motors

_NAMES = {
    "adaptive": ("AdaptiveControl",),
    "comparison": ("Comparison", "compare"),
    "computed_torque": ("ComputedTorque", "Feedforward", "FeedforwardPD"),
    "conditions": ("Condition", "Conditions"),
    "controller": ("Controller",),
    "diagrams": ("Diagram", "diagram_of"),
    "flexible_joints": ("FlexibleLinearizing", "FlexiblePD"),
    "frequency": (
        *("Compensator", "Margins", "bode_plot", "frequency_response"),
        *("lag_for_accuracy", "lead_for_margin", "lead_for_pole", "margins"),
    ),
    "gain_search": ("TunedGains", "tune_gains"),
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
        *("ZIEGLER_NICHOLS", "extrapolate", "reaction_curve", "reaction_of", "relay_experiment"),
        *("ultimate", "ziegler_nichols", "ziegler_nichols_step"),
    ),
    "voltage": ("VoltageControl", "reflect_motors"),
}

__getattr__, __dir__, __all__ = lazy_names(
    __name__, _NAMES, {module: module for module in (*_NAMES, "gains", "springs")}
)
