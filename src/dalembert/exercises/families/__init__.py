"""The families of exercises, one module for each chapter of a course; importing this package registers them all."""

from importlib import import_module

# In the order of a course.
CHAPTERS = (
    *("rotations", "kinematics", "jacobians", "singularities", "statics", "velocity"),
    *("inertia", "free_bodies", "lagrange", "dynamics", "properties", "constraints", "task_space"),
    *("actuators", "identification", "second_order", "tuning", "tracking"),
)
for name in CHAPTERS:
    import_module(f"{__name__}.{name}")
