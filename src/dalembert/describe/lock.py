"""Joints that are fixed for good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dalembert.describe.description import Description, Drive, Joint, Origin
from dalembert.spatial import Pose
from dalembert.spatial.rotation import to_rpy


def lock(d: Description, positions: Mapping[str, float]) -> Description:
    """Return the description with these joints fixed at these positions [rad, m], and those that mimic them."""
    fixed = dict(positions)
    leaders = {joint.name: joint.mimic for joint in d.joints if joint.mimic is not None}
    for follower in leaders:
        factor, shift, at = 1.0, 0.0, follower
        while at in leaders:  # a joint may follow one that follows another
            m = leaders[at]
            factor, shift, at = factor * m.multiplier, factor * m.offset + shift, m.joint
        if at in positions:
            fixed[follower] = factor * fixed[at] + shift
    joints = tuple(_fixed(joint, fixed[joint.name]) if joint.name in fixed else joint for joint in d.joints)
    home = tuple((name, value) for name, value in d.home if name not in fixed)
    return replace(d, joints=joints, home=home)


def _fixed(joint: Joint, q: float) -> Joint:
    """The joint at q, as a fixed one: T(origin) · motion(q)."""
    pose = joint.motion().pose(Pose.from_origin(joint.origin.xyz, joint.origin.rpy), (q,))
    origin = Origin(pose.p, to_rpy(pose.R))  # type: ignore[arg-type]
    return replace(joint, kind="fixed", origin=origin, limit=None, mimic=None, drive=Drive())
