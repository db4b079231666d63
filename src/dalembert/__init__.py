"""Dalembert: from a description of a robot to everything that follows from it.

>>> import dalembert as dl
>>> arm = dl.load("panda")
>>> arm.n
7
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
    from dalembert import (
        actuation as actuation,
        bounds as bounds,
        collision as collision,
        compile as compile,
        constrained as constrained,
        control as control,
        draw as draw,
        firmware as firmware,
        friction as friction,
        identification as identification,
        interchange as interchange,
        kinematics as kinematics,
        lagrange as lagrange,
        optimal as optimal,
        planning as planning,
        robots as robots,
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
    from dalembert.describe.description import (
        Box as Box,
        Capsule as Capsule,
        Cylinder as Cylinder,
        Description as Description,
        Drive as Drive,
        Inertial as Inertial,
        Limit as Limit,
        Loop as Loop,
        Mesh as Mesh,
        Mimic as Mimic,
        Origin as Origin,
        Sphere as Sphere,
    )
    from dalembert.describe.dh import DHRow as DHRow, check_dh_frames as check_dh_frames
    from dalembert.errors import (
        DalembertError as DalembertError,
        DescriptionError as DescriptionError,
        InputError as InputError,
        MissingExtraError as MissingExtraError,
        ModelWarning as ModelWarning,
        SingularityError as SingularityError,
        UnitWarning as UnitWarning,
        UnknownNameError as UnknownNameError,
    )
    from dalembert.findings import Finding as Finding, Report as Report
    from dalembert.flow import Flow as Flow
    from dalembert.identification.fit.identify import identify as identify
    from dalembert.identification.log.read import read_log as read_log
    from dalembert.lagrange.bodies import Particle as Particle, RigidBody as RigidBody
    from dalembert.lagrange.symbols import coordinates as coordinates, rate as rate
    from dalembert.lagrange.system import LagrangianSystem as LagrangianSystem
    from dalembert.law import Law as Law
    from dalembert.loading import load as load
    from dalembert.optimal.predictive import PredictiveControl as PredictiveControl
    from dalembert.optimal.problem import OptimalControl as OptimalControl
    from dalembert.poses import (
        ad as ad,
        adjoint as adjoint,
        axis_angle as axis_angle,
        distance_se3 as distance_se3,
        distance_so3 as distance_so3,
        euler_angles as euler_angles,
        exp3 as exp3,
        exp6 as exp6,
        inverse as inverse,
        log3 as log3,
        log6 as log6,
        pose as pose,
        project_se3 as project_se3,
        project_so3 as project_so3,
        screw as screw,
        screw_parameters as screw_parameters,
    )
    from dalembert.robot import Robot as Robot
    from dalembert.simulation.options import (
        Inputs as Inputs,
        JointLimits as JointLimits,
        Sensors as Sensors,
        Solver as Solver,
    )
    from dalembert.simulation.run import Run as Run
    from dalembert.simulation.simulate import simulate as simulate
    from dalembert.trust import properties as properties
    from dalembert.trust.doctor.check import CheckUp as CheckUp, check as check
    from dalembert.trust.verify.verify import verify as verify

__version__ = "0.2.0"

import_module("dalembert.forking")  # before anything is imported late

# Public names and the modules they live in.
_NAMES = {
    "actuation.driven": ("DrivenRobot",),
    "actuation.flexible": ("FlexibleRobot",),
    "actuation.motors": ("DCMotor", "FluidDrive", "TorqueSource"),
    "actuation.transmission": ("Gear", "Transmission"),
    "apps.page.page": ("write_page",),
    "apps.report.page": ("write_report",),
    "collision.world": ("World",),
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
    "optimal.predictive": ("PredictiveControl",),
    "optimal.problem": ("OptimalControl",),
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
    "collision",
    "compile",
    "constrained",
    "control",
    "draw",
    "firmware",
    "friction",
    "identification",
    "interchange",
    "kinematics",
    "lagrange",
    "optimal",
    "planning",
    "robots",
    "simulation",
    "spatial",
    "trajectories",
)
_DEEPER = {
    "mass": "describe.mass",
    "notebook": "apps.notebook",
    "properties": "trust.properties",
    "studio": "apps.studio",
}

__getattr__, __dir__, __all__ = lazy_names("dalembert", _NAMES, {name: name for name in _PACKAGES} | _DEEPER)
