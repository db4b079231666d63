"""The names of the package and where they live: read by type checkers, and by `lazy.open_door` when it is imported."""

from dalembert.control import (
    adaptive as adaptive,
    comparison as comparison,
    computed_torque as computed_torque,
    conditions as conditions,
    controller as controller,
    diagrams as diagrams,
    flexible_joints as flexible_joints,
    frequency as frequency,
    gains as gains,
    hybrid as hybrid,
    independent as independent,
    joint_space as joint_space,
    linear as linear,
    observer as observer,
    pid as pid,
    registry as registry,
    regulator as regulator,
    robust as robust,
    root_locus as root_locus,
    scenarios as scenarios,
    second_order as second_order,
    sensors as sensors,
    servo as servo,
    springs as springs,
    step_response as step_response,
    task_space as task_space,
    transfer as transfer,
    tuning as tuning,
    voltage as voltage,
)
from dalembert.control.adaptive import AdaptiveControl as AdaptiveControl
from dalembert.control.comparison import Comparison as Comparison, compare as compare
from dalembert.control.computed_torque import (
    ComputedTorque as ComputedTorque,
    Feedforward as Feedforward,
    FeedforwardPD as FeedforwardPD,
)
from dalembert.control.conditions import Condition as Condition
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
    Impedance as Impedance,
    TaskComputedTorque as TaskComputedTorque,
    wrench_inputs as wrench_inputs,
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
