"""The names of the package and where they live: read by type checkers, and by `lazy.open_door` when it is imported."""

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
