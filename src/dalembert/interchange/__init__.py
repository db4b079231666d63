"""To and from other people's tools. Each is imported when it is first used, and missed in a sentence.

casadi_function    a kernel as casadi.Function
jax_function       a kernel as a function of JAX arrays
jax_rollout, torch_rollout    a rollout as a function of JAX or PyTorch, with its derivatives
from_pinocchio     a pinocchio.Model as a Robot
to_mujoco_state    positions and velocities as MuJoCo has them; from_mujoco_state: back
javascript_package a robot as WebAssembly with types, ready for npm
to_control         any system, linearized, as a python-control object
Environment        a robot as a Gymnasium environment; VectorEnvironment: many of them in one compiled loop
columns, data_frame    results as columns by name; as a data frame of pandas, polars or Arrow
"""

from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
    from dalembert.interchange.data_frames import columns as columns, data_frame as data_frame
    from dalembert.interchange.environment import (
        Environment as Environment,
        VectorEnvironment as VectorEnvironment,
        register as register,
    )
    from dalembert.interchange.functions import (
        casadi_function as casadi_function,
        jax_function as jax_function,
        to_control as to_control,
    )
    from dalembert.interchange.javascript import javascript_package as javascript_package
    from dalembert.interchange.mujoco_state import (
        from_mujoco_state as from_mujoco_state,
        to_mujoco_state as to_mujoco_state,
    )
    from dalembert.interchange.pinocchio_model import from_pinocchio as from_pinocchio
    from dalembert.interchange.rollouts import jax_rollout as jax_rollout, torch_rollout as torch_rollout
    from dalembert.interchange.world import Reach as Reach, Situation as Situation, Task as Task, Track as Track

_NAMES = {
    "data_frames": ("columns", "data_frame"),
    "environment": ("Environment", "VectorEnvironment", "register"),
    "functions": ("casadi_function", "jax_function", "to_control"),
    "javascript": ("javascript_package",),
    "mujoco_state": ("from_mujoco_state", "to_mujoco_state"),
    "pinocchio_model": ("from_pinocchio",),
    "rollouts": ("jax_rollout", "torch_rollout"),
    "world": ("Reach", "Situation", "Task", "Track"),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
