"""Robot kinematics, dynamics and control.

Load a robot from a URDF, MJCF or TOML file, or by the name of a bundled robot, and call its methods:

>>> import dalembert as dl
>>> arm = dl.load("panda")
>>> arm.gravity_torque(arm.home).round(1)  # [N m]
array([  0. , -22.9,   0. ,  16.2,   0.7,  -0.7,  -0. ])

Main functions: `load`, `simulate`, `verify`, `identify`, `write_report`. Main classes: `Robot`, `World`,
`LagrangianSystem`, `Constrained`, `OptimalControl`. Main modules: `control`, `trajectories`, `identification`.
"""

from importlib import import_module

from dalembert.lazy import open_door

__version__ = "0.2.0"

import_module("dalembert.forking")  # before anything is imported late

__getattr__, __dir__, __all__ = open_door(__name__)
