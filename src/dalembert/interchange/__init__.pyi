"""The names of the package and where they live: read by type checkers, and by `lazy.open_door` when it is imported."""

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
from dalembert.interchange.run_functions import jax_run as jax_run, torch_run as torch_run
from dalembert.interchange.world import Reach as Reach, Situation as Situation, Task as Task, Track as Track
