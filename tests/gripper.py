"""A robot with joints that do not move its tool: a UR5e with two fingers."""

from __future__ import annotations

from dataclasses import replace

import dalembert as dl
from dalembert.describe.description import Joint, Limit, Link

FINGERS = ("left_finger", "right_finger")


def with_fingers(arm: dl.Robot) -> dl.Robot:
    own = arm.description
    limit = Limit(0.0, 0.04, 10.0, 0.1)
    joints = [Joint(name, "prismatic", "tool0", f"{name}_link", limit=limit) for name in FINGERS]
    links = [Link(joint.child) for joint in joints]
    return dl.Robot(replace(own, joints=(*own.joints, *joints), links=(*own.links, *links)))
