"""Robots with identified bodies, rotors and friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dalembert.arguments import Array
from dalembert.describe.description import Drive, Inertial, Joint, Origin
from dalembert.friction import Friction, friction as law
from dalembert.identification.fit.regressor import Columns
from dalembert.identification.log.samples import Samples, find_direction
from dalembert.robot import Robot

DRY = ("coulomb", "coulomb+", "coulomb-", "load")  # columns that turn over with the direction
WIDEST = 0.3  # of the fastest rate, a width that is tried
WORTH = 2e-3  # of a joint's squares, for which a width beyond the noise is taken
SOFT = 0.02  # of a joint's squares, for which dry friction is believed to rise slowly rather than to jump
ENOUGH = 20_000  # samples to choose a width by
MOST_LOST = 0.99  # of what a joint transmits


def identified(
    columns: Columns, parameters: Array, widths: Array | None = None, laws: Sequence[Friction] = ()
) -> Robot:
    """The robot whose bodies, rotors and friction are the parameters (of all columns). What was lumped into a
    moving body is carried by the link that its joint moves; links fixed to it keep shapes and frames, and weigh
    nothing. `widths` (n,): rates below which dry friction rises in proportion (`find_widths`); none if not given.
    `laws`: a further law of friction of each joint."""
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
    wide = dict(zip(robot.joint_names, np.zeros(robot.n) if widths is None else widths, strict=True))
    joints = tuple(
        _joint(j, values, columns, float(wide.get(j.name, 0.0))) if j.name in moving else j for j in d.joints
    )
    for name, term in zip(robot.joint_names, laws, strict=False):
        joints = tuple(
            replace(j, drive=replace(j.drive, friction=(*j.drive.friction, term))) if j.name == name else j
            for j in joints
        )
    return Robot(replace(d, links=new_links, joints=joints))


def predict_torques(robot: Robot, samples: Samples) -> Array:
    """The torques of a robot's own description, friction included, at samples (N, n). Coulomb friction f± acts along
    `Samples.direction` s, f₊ max(s, 0) + f₋ min(s, 0): as the samples are filtered, so is it."""
    q, qd, qdd, s = samples.q, samples.qd, samples.qdd, samples.direction
    own = {joint.name: joint.drive for joint in robot.description.joints}
    drives = [own[name] for name in robot.joint_names]
    plus, minus = np.array([drive.coulomb for drive in drives]).T
    c = find_direction(qd, np.array([drive.coulomb_width for drive in drives]))
    dry = plus * (np.maximum(s, 0) - np.maximum(c, 0)) + minus * (np.minimum(s, 0) - np.minimum(c, 0))
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


def _joint(joint: Joint, values: Mapping[str, float], columns: Columns, width: float) -> Joint:
    drive = joint.drive
    rotor = values.get(f"{joint.name}:rotor")
    if rotor is not None:
        drive = replace(drive, rotor_inertia=max(rotor, 0.0) / drive.gear_ratio**2)
    if columns.friction:
        drive = _with_friction(drive, joint.name, values, width)
    if f"{joint.name}:spring" in values:
        drive = replace(drive, stiffness=max(values[f"{joint.name}:spring"], 0.0), rest=0.0)
    return replace(joint, drive=drive)


def _with_friction(drive: Drive, joint: str, values: Mapping[str, float], width: float) -> Drive:
    """Viscous and Coulomb friction in place of what was there; powers, load and offset as laws of their own."""

    def value(kind: str) -> float:
        return float(values.get(f"{joint}:{kind}", 0.0))

    plus, minus = (max(value("coulomb") + value(f"coulomb{side}"), 0.0) for side in "+-")
    terms = [
        law("power", coefficient=value(kind), exponent=exponent)
        for kind, exponent in (("root", 0.5), ("cubic", 3.0))
        if value(kind) > 0
    ]
    if (mu := value("load")) > 0:
        ramp = {"smooth": "ramp", "width": width} if width else {}
        terms.append(law("coulomb", coulomb=0.0, load=min(mu, MOST_LOST), **ramp))  # type: ignore[arg-type]
    terms += [law("offset", offset=value("offset"))] if value("offset") else []
    level = {"coulomb": (plus, minus), "coulomb_width": width if plus or minus else 0.0}
    return replace(drive, damping=max(value("viscous"), 0.0), friction=tuple(terms), **level)  # type: ignore[arg-type]


def find_widths(columns: Columns, parameters: Array, runs: Sequence[Samples]) -> Array:
    """For each joint the rate [rad/s, m/s] below which dry friction is best let rise in proportion to the rate (n,).

    In a fit the direction of friction is filtered as the torques are. A robot knows nothing of filters: it gives sgn q̇
    of the rate that it is asked for. Near a reversal that is noise, or steeper than friction is in truth (presliding).
    So the width is the one with which the robot's own torques come nearest to those that were recorded
    (`Samples.raw`: beside filtered torques it would be the filter's width); `Samples.rest`, what the noise of the
    rates suggests, unless another is better by `WORTH`."""
    tried, costs, _ = _try_widths(columns, parameters, [replace(run, tau=run.raw) for run in runs])
    gained = 1 - costs.min(axis=0) / np.maximum(costs[0], 1e-300)
    return np.asarray(tried[np.where(gained > WORTH, costs.argmin(axis=0), 0), np.arange(len(gained))])


def soften(runs: Sequence[Samples], columns: Columns, parameters: Array, by: Sequence[Samples]) -> tuple[Samples, ...]:
    """The runs with a direction of friction that rises in proportion to the rate, within a width, where in the runs
    `by` that explains the torques better than a direction that jumps, by `SOFT`."""
    tried, costs, jumping = _try_widths(columns, parameters, by)
    soft = costs.min(axis=0) < (1 - SOFT) * jumping
    widths = tried[costs.argmin(axis=0), np.arange(len(soft))]
    return tuple(replace(x, direction=np.where(soft, find_direction(x.qd, widths), x.direction)) for x in runs)


def _try_widths(columns: Columns, parameters: Array, runs: Sequence[Samples]) -> tuple[Array, Array, Array]:
    """Widths (W, n), of which the first is what the noise suggests; the squares that each leaves of every joint's
    torque, (W, n); and those that the runs' own directions leave (n,)."""
    dry = [k for k, name in enumerate(columns.all_names) if name.rsplit(":", 1)[-1] in DRY]
    only = np.zeros(len(columns.all_names))
    only[dry] = np.asarray(parameters, float)[dry]
    n, parts = columns.robot.n, []
    for run in runs:
        few = run.part(slice(None, None, max(1, len(run) // ENOUGH)))
        q, qd, qdd, s = columns.arguments(few)
        forth, back = (
            columns.matrices(q, qd, qdd, np.concatenate([0 * qd + way, s[:, n:]], axis=1)) @ only for way in (1.0, -1.0)
        )
        wet = columns.matrices(q, qd, qdd, s) @ (parameters - only)
        parts.append((qd, few.direction, few.tau - wet, forth, -back))
    v, own, dried, forth, back = (np.concatenate(x) for x in zip(*parts, strict=True))

    def squares(s: Array) -> Array:
        return np.asarray(np.sum((dried - forth * np.maximum(s, 0) - back * np.minimum(s, 0)) ** 2, axis=0))

    rest = np.max([run.rest for run in runs], axis=0)
    tried = np.vstack([rest, np.abs(v).max(axis=0) * np.geomspace(1e-3, WIDEST, 16)[:, None]])
    return tried, np.array([squares(find_direction(v, width)) for width in tried]), squares(own)
