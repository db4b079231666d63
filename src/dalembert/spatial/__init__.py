"""Vectors, rotations, poses, twists, wrenches and inertias over any scalar."""

from dalembert.spatial.inertia import Inertia
from dalembert.spatial.motion import Force, Motion
from dalembert.spatial.pose import Pose

__all__ = ["Force", "Inertia", "Motion", "Pose"]
