"""Robots made of others: with identified bodies, rotors and friction; with joints that stand still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import number
from dalembert.describe.description import Drive, Inertial, Joint, Origin
from dalembert.errors import InputError, unknown
from dalembert.friction import friction as law
from dalembert.identification.fit.regressor import Columns
from dalembert.identification.log.samples import Samples
from dalembert.robot import Robot
from dalembert.spatial import Pose
from dalembert.spatial.rotation import to_rpy

Array = NDArray[np.float64]
CREEP = 1e-9  # [rad/s, m/s] a rate that has a sign and nothing else


def identified(columns: Columns, parameters: Array) -> Robot:
    """The robot whose bodies, rotors and friction are the parameters (of all columns). What was lumped into a
    moving body is carried by the link that its joint moves; links fixed to it keep shapes and frames, and weigh
    nothing."""
    robot = columns.robot
    values = dict(zip(columns.all_names, np.asarray(parameters, float).tolist(), strict=True))
    d = robot.description
    children = {joint.name: joint.child for joint in d.joints}
    links = {
        children[body.joint_name]: inertial(parameters[10 * k : 10 * k + 10])
        for k, body in enumerate(robot.model.bodies if columns.inertial else ())
    }
    carried = {frame.name for frame in robot.model.frames if frame.body >= 0}
    new_links = tuple(
        replace(link, inertial=links.get(link.name)) if columns.inertial and link.name in carried else link
        for link in d.links
    )
    moving = {body.joint_name for body in robot.model.bodies}
    joints = tuple(_joint(j, values, columns) if j.name in moving else j for j in d.joints)
    return Robot(replace(d, links=new_links, joints=joints))


def predict_torques(robot: Robot, samples: Samples) -> Array:
    """The torques of a robot's own description, friction included, at samples (N, n). Dry friction f± acts along
    `Samples.direction` s, f₊ max(s, 0) + f₋ min(s, 0): as the samples are filtered, so is it."""
    q, qd, qdd, s = samples.q, samples.qd, samples.qdd, samples.direction
    still, plus, minus = (robot.friction_torque(q, np.full_like(qd, v), qdd) for v in (0.0, CREEP, -CREEP))
    sign = np.sign(qd)
    dry = (plus - still) * (np.maximum(s, 0) - np.maximum(sign, 0))
    dry += (still - minus) * (np.minimum(s, 0) - np.minimum(sign, 0))
    return np.asarray(robot.inverse_dynamics(q, qd, qdd, friction=True) + dry)


def about_center(ten: Array) -> tuple[float, Array, Array]:
    """(mass, center, inertia (3, 3) about the center) of (m, mc, I about the origin)."""
    m = float(ten[0])
    c = np.asarray(ten[1:4]) / m if m else np.zeros(3)
    xx, xy, xz, yy, yz, zz = ten[4:10]
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
    return m, c, about


def inertial(ten: Array) -> Inertial:
    """(m, mc, I about the origin) as mass, center, and inertia about the center."""
    m, center, about = about_center(ten)
    x, y, z = center.tolist()
    a, b, c, d, e, f = about[np.triu_indices(3)].tolist()
    return Inertial(m, (a, b, c, d, e, f), Origin((x, y, z)))


def _joint(joint: Joint, values: Mapping[str, float], columns: Columns) -> Joint:
    drive = joint.drive
    rotor = values.get(f"{joint.name}:rotor")
    if rotor is not None:
        drive = replace(drive, rotor_inertia=max(rotor, 0.0) / drive.gear_ratio**2)
    if columns.friction:
        drive = _with_friction(drive, joint.name, values)
    if f"{joint.name}:spring" in values:
        drive = replace(drive, stiffness=values[f"{joint.name}:spring"], rest=0.0)
    return replace(joint, drive=drive)


def _with_friction(drive: Drive, joint: str, values: Mapping[str, float]) -> Drive:
    """Viscous and Coulomb friction in place of what was there; an offset as a law of its own."""
    both = values.get(f"{joint}:coulomb", 0.0)
    plus, minus = (both + values.get(f"{joint}:coulomb{side}", 0.0) for side in "+-")
    offset = values.get(f"{joint}:offset", 0.0)
    terms = (law("offset", offset=offset),) if offset else ()
    damping = max(values.get(f"{joint}:viscous", 0.0), 0.0)
    return replace(drive, damping=damping, coulomb=(max(plus, 0.0), max(minus, 0.0)), friction=terms)


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
