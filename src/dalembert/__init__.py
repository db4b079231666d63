"""Dalembert: from a description of a robot arm to everything that follows from it.

>>> import dalembert as dl
>>> arm = dl.load("panda")
>>> arm.n
7
"""

from dalembert.errors import (
    DalembertError,
    DescriptionError,
    InputError,
    MissingExtraError,
    ModelWarning,
    SingularityError,
    UnknownNameError,
)
from dalembert.load import load
from dalembert.poses import adjoint, exp6, inverse, log6, pose
from dalembert.robot import Robot
from dalembert.robots import names as robots

__version__ = "0.1.0"

__all__ = [
    "DalembertError",
    "DescriptionError",
    "InputError",
    "MissingExtraError",
    "ModelWarning",
    "Robot",
    "SingularityError",
    "UnknownNameError",
    "adjoint",
    "exp6",
    "inverse",
    "load",
    "log6",
    "pose",
    "robots",
]
