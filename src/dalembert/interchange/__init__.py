"""To and from other people's tools. Each is imported when it is first used, and missed in a sentence.

casadi_function    a kernel as casadi.Function
jax_function       a kernel as a function of JAX arrays
jax_run, torch_run            a run as a function of JAX or PyTorch, with its derivatives
from_pinocchio     a pinocchio.Model as a Robot
to_mujoco_state    positions and velocities as MuJoCo has them; from_mujoco_state: back
javascript_package a robot as WebAssembly with types, ready for npm
to_control         any system, linearized, as a python-control object
Environment        a robot as a Gymnasium environment; VectorEnvironment: many of them in one compiled loop
columns, data_frame    results as columns by name; as a data frame of pandas, polars or Arrow
"""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
