"""Kinds of joints: one file each, a row of `JOINTS` for each name that files give it. Nothing else knows kinds."""

from dalembert.joints.floating import Floating
from dalembert.joints.helical import Helical
from dalembert.joints.joint import Joint
from dalembert.joints.planar import Planar
from dalembert.joints.prismatic import Prismatic
from dalembert.joints.revolute import Revolute
from dalembert.joints.spherical import Spherical

JOINTS: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "helical": Helical,
    "spherical": Spherical,
    "floating": Floating,
    "planar": Planar,
}

__all__ = ["JOINTS", "Floating", "Helical", "Joint", "Planar", "Prismatic", "Revolute", "Spherical"]
