"""The names of the package and where they live: read by type checkers, and by `lazy.open_door` when it is imported."""

from dalembert import (
    actuation as actuation,
    bounds as bounds,
    collision as collision,
    compile as compile,
    constrained as constrained,
    control as control,
    describe as describe,
    draw as draw,
    exercises as exercises,
    firmware as firmware,
    friction as friction,
    identification as identification,
    interchange as interchange,
    kinematics as kinematics,
    lagrange as lagrange,
    optimal as optimal,
    planning as planning,
    robots as robots,
    scalar as scalar,
    se3 as se3,
    simulation as simulation,
    spatial as spatial,
    trajectories as trajectories,
)
from dalembert.actuation.driven import DrivenRobot as DrivenRobot
from dalembert.actuation.flexible import FlexibleRobot as FlexibleRobot
from dalembert.actuation.motors import DCMotor as DCMotor, FluidDrive as FluidDrive, TorqueSource as TorqueSource
from dalembert.actuation.transmission import Gear as Gear, Transmission as Transmission
from dalembert.apps import notebook as notebook, studio as studio
from dalembert.apps.page.page import write_page as write_page
from dalembert.apps.report.page import write_report as write_report
from dalembert.collision.world import World as World
from dalembert.constrained.system import Constrained as Constrained
from dalembert.describe import mass as mass
from dalembert.errors import (
    ContactWarning as ContactWarning,
    DalembertError as DalembertError,
    DescriptionError as DescriptionError,
    DivergenceWarning as DivergenceWarning,
    InputError as InputError,
    MissingExtraError as MissingExtraError,
    ModelWarning as ModelWarning,
    SingularityError as SingularityError,
    UnitWarning as UnitWarning,
    UnknownNameError as UnknownNameError,
)
from dalembert.findings import Finding as Finding, Findings as Findings, read_findings as read_findings
from dalembert.firmware.make import write_firmware as write_firmware
from dalembert.flow import Flow as Flow
from dalembert.identification.excitation.design import excite as excite
from dalembert.identification.fit.identify import identify as identify
from dalembert.identification.log.read import read_log as read_log
from dalembert.lagrange.system import LagrangianSystem as LagrangianSystem
from dalembert.law import Law as Law
from dalembert.loading import load as load
from dalembert.optimal.predictive import PredictiveControl as PredictiveControl
from dalembert.optimal.problem import OptimalControl as OptimalControl
from dalembert.robot import Robot as Robot
from dalembert.se3 import pose as pose
from dalembert.simulation.draws import (
    Noise as Noise,
    choice as choice,
    log_uniform as log_uniform,
    normal as normal,
    uniform as uniform,
)
from dalembert.simulation.experiment import Experiment as Experiment
from dalembert.simulation.options import (
    Inputs as Inputs,
    JointLimits as JointLimits,
    Sensors as Sensors,
    Solver as Solver,
)
from dalembert.simulation.request import grid as grid
from dalembert.simulation.run import Run as Run
from dalembert.simulation.saved import read_run as read_run
from dalembert.simulation.side_by_side import compare as compare
from dalembert.simulation.simulate import simulate as simulate
from dalembert.symbolic.compare import formula_quantity as formula_quantity
from dalembert.trust import doctor as doctor, properties as properties
from dalembert.trust.doctor.check import check as check
from dalembert.trust.verify.verify import verify as verify

__version__: str
