"""Kinds of joints: one file each, a row of `JOINTS` for each name that files give it. Nothing else knows kinds."""

from dalembert.joints.helical import Helical
from dalembert.joints.joint import Joint
from dalembert.joints.prismatic import Prismatic
from dalembert.joints.revolute import Revolute

JOINTS: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "helical": Helical,
}

__all__ = ["JOINTS", "Helical", "Joint", "Prismatic", "Revolute"]
