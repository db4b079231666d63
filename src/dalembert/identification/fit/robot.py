"""The robot with identified parameters: bodies, rotors and friction put back into its description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.describe.description import Drive, Inertial, Joint, Origin
from dalembert.friction import friction as law
from dalembert.identification.fit.regressor import Columns
from dalembert.robot import Robot

Array = NDArray[np.float64]


def identified(columns: Columns, parameters: Array) -> Robot:
    """The robot whose bodies, rotors and friction are the parameters (of all columns). What was lumped into a
    moving body is carried by the link that its joint moves; links fixed to it keep shapes and frames, and weigh
    nothing."""
    robot = columns.robot
    values = dict(zip(columns.all_names, np.asarray(parameters, float).tolist(), strict=True))
    links = _links(robot, parameters) if columns.inertial else {}
    d = robot.description
    carried = {frame.name for frame in robot.model.frames if frame.body >= 0}
    new_links = tuple(
        replace(link, inertial=links.get(link.name)) if columns.inertial and link.name in carried else link
        for link in d.links
    )
    moving = {body.joint_name for body in robot.model.bodies}
    joints = tuple(_joint(j, values, columns) if j.name in moving else j for j in d.joints)
    return Robot(replace(d, links=new_links, joints=joints))


def _links(robot: Robot, parameters: Array) -> dict[str, Inertial]:
    """Each moving body's inertial, by the link that its joint moves."""
    joints = {joint.name: joint for joint in robot.description.joints}
    found = {}
    for k, body in enumerate(robot.model.bodies):
        found[joints[body.joint_name].child] = inertial(parameters[10 * k : 10 * k + 10])
    return found


def inertial(ten: Array) -> Inertial:
    """(m, mc, I about the origin) as mass, center, and inertia about the center."""
    m, *h = (float(x) for x in ten[:4])
    c = np.array(h) / m if m else np.zeros(3)
    xx, xy, xz, yy, yz, zz = ten[4:]
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - m * (c @ c * np.eye(3) - np.outer(c, c))
    x, y, z = c.tolist()
    six = (I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2])
    a, b, cc, d, e, f = (float(v) for v in six)
    return Inertial(m, (a, b, cc, d, e, f), Origin((x, y, z)))


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
