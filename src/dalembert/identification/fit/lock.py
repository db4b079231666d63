"""A robot some of whose joints stand still: what a log says nothing of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dalembert.arguments import number
from dalembert.describe.description import Drive, Joint, Origin
from dalembert.errors import InputError, unknown
from dalembert.robot import Robot
from dalembert.spatial import Pose
from dalembert.spatial.rotation import to_rpy


def locked(robot: Robot, positions: Mapping[str, float]) -> Robot:
    """The same robot with these joints held at these positions [rad, m] for good: a gripper's fingers, a rail.

    They and the joints that mimic them become fixed, and what they carry is lumped into the link before them. The other
    joints, in their order, are those of the new robot."""
    if not isinstance(positions, Mapping):
        raise InputError(
            f"positions must be a dictionary of joints and where they stand, got {type(positions).__name__}"
        )
    for name in positions:
        if name not in robot.joint_names:
            raise unknown("joint", name, robot.joint_names)
    held = {name: number(f"the position of {name!r}", value) for name, value in positions.items()}
    d = robot.description
    leaders = {joint.name: joint.mimic for joint in d.joints if joint.mimic is not None}
    for follower in leaders:
        factor, shift, at = 1.0, 0.0, follower
        while at in leaders:  # a joint may follow one that follows another
            m = leaders[at]
            factor, shift, at = factor * m.multiplier, factor * m.offset + shift, m.joint
        if at in positions:
            held[follower] = factor * held[at] + shift
    joints = tuple(_fixed(joint, held[joint.name]) if joint.name in held else joint for joint in d.joints)
    home = tuple((name, value) for name, value in d.home if name not in held)
    tip = d.tip if d.tip is not None else robot.tip
    return Robot(replace(d, joints=joints, home=home, tip=tip), threads=robot.threads, told=robot.warnings)


def _fixed(joint: Joint, q: float) -> Joint:
    """The joint at q, as a fixed one: T(origin) · motion(q)."""
    pose = joint.motion().pose(Pose.from_origin(joint.origin.xyz, joint.origin.rpy), (q,))
    origin = Origin(pose.p, to_rpy(pose.R))  # type: ignore[arg-type]
    return replace(joint, kind="fixed", origin=origin, limit=None, mimic=None, drive=Drive())
