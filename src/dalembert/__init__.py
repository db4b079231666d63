"""Dalembert: from a description of a robot arm to everything that follows from it.

>>> import dalembert as dl
>>> arm = dl.load("panda")
>>> arm.n
7
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
    from dalembert import actuation as actuation
    from dalembert import bounds as bounds
    from dalembert import compile as compile
    from dalembert import constrained as constrained
    from dalembert import control as control
    from dalembert import draw as draw
    from dalembert import friction as friction
    from dalembert import identification as identification
    from dalembert import interchange as interchange
    from dalembert import kinematics as kinematics
    from dalembert import lagrange as lagrange
    from dalembert import robots as robots
    from dalembert import simulation as simulation
    from dalembert import spatial as spatial
    from dalembert import trajectories as trajectories
    from dalembert.actuation.driven import DrivenRobot as DrivenRobot
    from dalembert.actuation.flexible import FlexibleRobot as FlexibleRobot
    from dalembert.actuation.motors import DCMotor as DCMotor
    from dalembert.actuation.motors import FluidDrive as FluidDrive
    from dalembert.actuation.motors import TorqueSource as TorqueSource
    from dalembert.actuation.transmission import Gear as Gear
    from dalembert.actuation.transmission import Transmission as Transmission
    from dalembert.apps import studio as studio
    from dalembert.apps.report.page import write_report as write_report
    from dalembert.constrained.system import Constrained as Constrained
    from dalembert.describe import mass as mass
    from dalembert.describe.description import Box as Box
    from dalembert.describe.description import Capsule as Capsule
    from dalembert.describe.description import Cylinder as Cylinder
    from dalembert.describe.description import Description as Description
    from dalembert.describe.description import Drive as Drive
    from dalembert.describe.description import Inertial as Inertial
    from dalembert.describe.description import Limit as Limit
    from dalembert.describe.description import Loop as Loop
    from dalembert.describe.description import Mesh as Mesh
    from dalembert.describe.description import Mimic as Mimic
    from dalembert.describe.description import Origin as Origin
    from dalembert.describe.description import Sphere as Sphere
    from dalembert.describe.dh import DHRow as DHRow
    from dalembert.describe.dh import check_dh_frames as check_dh_frames
    from dalembert.errors import DalembertError as DalembertError
    from dalembert.errors import DescriptionError as DescriptionError
    from dalembert.errors import InputError as InputError
    from dalembert.errors import MissingExtraError as MissingExtraError
    from dalembert.errors import ModelWarning as ModelWarning
    from dalembert.errors import SingularityError as SingularityError
    from dalembert.errors import UnitWarning as UnitWarning
    from dalembert.errors import UnknownNameError as UnknownNameError
    from dalembert.findings import Finding as Finding
    from dalembert.findings import Report as Report
    from dalembert.flow import Flow as Flow
    from dalembert.identification.fit.identify import identify as identify
    from dalembert.identification.log.read import read_log as read_log
    from dalembert.lagrange.bodies import Particle as Particle
    from dalembert.lagrange.bodies import RigidBody as RigidBody
    from dalembert.lagrange.symbols import coordinates as coordinates
    from dalembert.lagrange.symbols import rate as rate
    from dalembert.lagrange.system import LagrangianSystem as LagrangianSystem
    from dalembert.law import Law as Law
    from dalembert.loading import load as load
    from dalembert.poses import ad as ad
    from dalembert.poses import adjoint as adjoint
    from dalembert.poses import axis_angle as axis_angle
    from dalembert.poses import distance_se3 as distance_se3
    from dalembert.poses import distance_so3 as distance_so3
    from dalembert.poses import euler_angles as euler_angles
    from dalembert.poses import exp3 as exp3
    from dalembert.poses import exp6 as exp6
    from dalembert.poses import inverse as inverse
    from dalembert.poses import log3 as log3
    from dalembert.poses import log6 as log6
    from dalembert.poses import pose as pose
    from dalembert.poses import project_se3 as project_se3
    from dalembert.poses import project_so3 as project_so3
    from dalembert.poses import screw as screw
    from dalembert.poses import screw_parameters as screw_parameters
    from dalembert.robot import Robot as Robot
    from dalembert.simulation.options import Inputs as Inputs
    from dalembert.simulation.options import JointLimits as JointLimits
    from dalembert.simulation.options import Sensors as Sensors
    from dalembert.simulation.options import Solver as Solver
    from dalembert.simulation.run import Run as Run
    from dalembert.simulation.simulate import simulate as simulate
    from dalembert.trust import properties as properties
    from dalembert.trust.doctor.check import CheckUp as CheckUp
    from dalembert.trust.doctor.check import check as check
    from dalembert.trust.verify.verify import verify as verify

__version__ = "0.1.0"

import_module("dalembert.forking")  # before anything is imported late

# Public names and the modules they live in.
_NAMES = {
    "actuation.driven": ("DrivenRobot",),
    "actuation.flexible": ("FlexibleRobot",),
    "actuation.motors": ("DCMotor", "FluidDrive", "TorqueSource"),
    "actuation.transmission": ("Gear", "Transmission"),
    "apps.report.page": ("write_report",),
    "constrained.system": ("Constrained",),
    "describe.description": (
        "Box",
        "Capsule",
        "Cylinder",
        "Description",
        "Drive",
        "Inertial",
        "Limit",
        "Loop",
        "Mesh",
        "Mimic",
        "Origin",
        "Sphere",
    ),
    "describe.dh": ("DHRow", "check_dh_frames"),
    "errors": (
        "DalembertError",
        "DescriptionError",
        "InputError",
        "MissingExtraError",
        "ModelWarning",
        "SingularityError",
        "UnitWarning",
        "UnknownNameError",
    ),
    "findings": ("Finding", "Report"),
    "flow": ("Flow",),
    "identification.fit.identify": ("identify",),
    "identification.log.read": ("read_log",),
    "lagrange.bodies": ("Particle", "RigidBody"),
    "lagrange.symbols": ("coordinates", "rate"),
    "lagrange.system": ("LagrangianSystem",),
    "law": ("Law",),
    "loading": ("load",),
    "poses": (
        "ad",
        "adjoint",
        "axis_angle",
        "distance_se3",
        "distance_so3",
        "euler_angles",
        "exp3",
        "exp6",
        "inverse",
        "log3",
        "log6",
        "pose",
        "project_se3",
        "project_so3",
        "screw",
        "screw_parameters",
    ),
    "robot": ("Robot",),
    "simulation.options": ("Inputs", "JointLimits", "Sensors", "Solver"),
    "simulation.run": ("Run",),
    "simulation.simulate": ("simulate",),
    "trust.doctor.check": ("CheckUp", "check"),
    "trust.verify.verify": ("verify",),
}
# Public packages, and modules that stand deeper.
_PACKAGES = (
    "actuation",
    "bounds",
    "compile",
    "constrained",
    "control",
    "draw",
    "friction",
    "identification",
    "interchange",
    "kinematics",
    "lagrange",
    "robots",
    "simulation",
    "spatial",
    "trajectories",
)
_DEEPER = {"mass": "describe.mass", "properties": "trust.properties", "studio": "apps.studio"}

__getattr__, __dir__, __all__ = lazy_names("dalembert", _NAMES, {name: name for name in _PACKAGES} | _DEEPER)
