"""What a Jacobian tells: inverse velocity, singularities, manipulability, statics, workspace."""

from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
    from dalembert.kinematics.ik.closed_form import reason as reason
    from dalembert.kinematics.ik.prioritized import (
        center_of_mass_task as center_of_mass_task,
        frame_task as frame_task,
        ik_tasks as ik_tasks,
        posture_task as posture_task,
    )
    from dalembert.kinematics.ik.tracking import (
        VelocityGoal as VelocityGoal,
        limited_velocity as limited_velocity,
        pose_error as pose_error,
        tracking_velocity as tracking_velocity,
    )
    from dalembert.kinematics.nearest_singularity import (
        perturbed_singularity as perturbed_singularity,
        singular_set as singular_set,
    )
    from dalembert.kinematics.singular import decouple as decouple
    from dalembert.kinematics.statics import holding_torque as holding_torque, virtual_work as virtual_work

_NAMES = {
    "ik.closed_form": ("reason",),
    "ik.prioritized": ("center_of_mass_task", "frame_task", "ik_tasks", "posture_task"),
    "ik.tracking": ("VelocityGoal", "limited_velocity", "pose_error", "tracking_velocity"),
    "nearest_singularity": ("perturbed_singularity", "singular_set"),
    "singular": ("decouple",),
    "statics": ("holding_torque", "virtual_work"),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
