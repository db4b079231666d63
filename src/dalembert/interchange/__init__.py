"""To and from other people's tools. Each is imported when it is first used, and missed in a sentence.

casadi_function    a kernel as casadi.Function
jax_function       a kernel as a function of JAX arrays
from_pinocchio     a pinocchio.Model as a Robot
to_control         any system, linearized, as a python-control object
Environment        a robot as a Gymnasium environment; VectorEnvironment: many of them in one compiled loop
columns, data_frame    results as columns by name; as a data frame of pandas, polars or Arrow
"""

from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
    from dalembert.interchange.casadi_functions import casadi_function as casadi_function
    from dalembert.interchange.data_frames import columns as columns
    from dalembert.interchange.data_frames import data_frame as data_frame
    from dalembert.interchange.environment import Environment as Environment
    from dalembert.interchange.environment import VectorEnvironment as VectorEnvironment
    from dalembert.interchange.environment import register as register
    from dalembert.interchange.jax_functions import jax_function as jax_function
    from dalembert.interchange.linear_systems import to_control as to_control
    from dalembert.interchange.pinocchio_model import from_pinocchio as from_pinocchio
    from dalembert.interchange.tasks import Reach as Reach
    from dalembert.interchange.tasks import Situation as Situation
    from dalembert.interchange.tasks import Task as Task
    from dalembert.interchange.tasks import Track as Track

_NAMES = {
    "casadi_functions": ("casadi_function",),
    "data_frames": ("columns", "data_frame"),
    "environment": ("Environment", "VectorEnvironment", "register"),
    "jax_functions": ("jax_function",),
    "linear_systems": ("to_control",),
    "pinocchio_model": ("from_pinocchio",),
    "tasks": ("Reach", "Situation", "Task", "Track"),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
