"""Where an element stands: pos, and quat, axisangle, xyaxes, zaxis or euler."""

from __future__ import annotations

import math

from dalembert.describe.description import Origin
from dalembert.describe.mjcf.settings import Settings
from dalembert.describe.xml import Element
from dalembert.spatial import Pose
from dalembert.spatial.rotation import about, from_quaternion, to_rpy
from dalembert.spatial.vector import IDENTITY, ZERO, Matrix, Vector, cross, dot, matmul, scale, sub, transpose

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# Any of these wins over quat, which a default class may give.
ALTERNATIVES = ("axisangle", "xyaxes", "zaxis", "euler")
PARALLEL = 1e-10  # sine of an angle below which two directions are one, as in MuJoCo


def placement(e: Element, settings: Settings, owner: str) -> Pose:
    """The element's pose in what it stands in."""
    p = e.numbers("pos", 3, owner) if "pos" in e.attributes else ZERO
    return Pose(orientation(e, settings, owner), p)


def orientation(e: Element, settings: Settings, owner: str) -> Matrix:
    written = [name for name in ALTERNATIVES if name in e.attributes]
    if len(written) > 1:
        raise e.refuse(f"<{e.tag}> of {owner} has {' and '.join(written)}; keep one orientation")
    if written:
        return _READERS[written[0]](e, settings, owner)
    return quaternion(e, "quat", owner)


def quaternion(e: Element, attribute: str, owner: str) -> Matrix:
    """The rotation that an attribute w x y z says; none, if it is not written."""
    if attribute not in e.attributes:
        return IDENTITY
    w, x, y, z = e.numbers(attribute, 4, owner)
    length = math.hypot(w, x, y, z)
    if length < PARALLEL:
        raise e.refuse(f"<{e.tag}> of {owner}: {attribute}={e.attributes[attribute]!r} is zero, which is no rotation")
    return from_quaternion((x / length, y / length, z / length, w / length))


def _axis_angle(e: Element, settings: Settings, owner: str) -> Matrix:
    x, y, z, turn = e.numbers("axisangle", 4, owner)
    return turned(unit(e, "axisangle", (x, y, z), owner), turn * settings.angle)


def _xy_axes(e: Element, settings: Settings, owner: str) -> Matrix:
    """x as written, y made perpendicular to it, z what is left."""
    six = e.numbers("xyaxes", 6, owner)
    x = unit(e, "xyaxes", six[:3], owner)
    y = unit(e, "xyaxes", sub(six[3:], scale(dot(x, six[3:]), x)), owner)
    return transpose((x, y, cross(x, y)))


def _z_axis(e: Element, settings: Settings, owner: str) -> Matrix:
    return onto_z(unit(e, "zaxis", e.numbers("zaxis", 3, owner), owner))


def euler(e: Element, settings: Settings, owner: str) -> Matrix:
    R: Matrix = IDENTITY
    for letter, angle in zip(settings.sequence, e.numbers("euler", 3, owner), strict=True):
        factor = turned(_AXES[letter.lower()], angle * settings.angle)
        R = matmul(R, factor) if letter.islower() else matmul(factor, R)
    return R


_READERS = {"axisangle": _axis_angle, "xyaxes": _xy_axes, "zaxis": _z_axis, "euler": euler}


def turned(axis: Vector, angle: float) -> Matrix:
    return about(axis, math.cos(angle), math.sin(angle))


def onto_z(direction: Vector) -> Matrix:
    """The shortest rotation that turns z into a unit direction."""
    axis = cross(_AXES["z"], direction)
    s = math.hypot(*axis)
    axis = _AXES["x"] if s < PARALLEL else scale(1.0 / s, axis)
    return turned(axis, math.atan2(s, direction[2]))


def unit(e: Element, attribute: str, v: Vector, owner: str) -> Vector:
    length = math.hypot(*v)
    if length < PARALLEL:
        raise e.refuse(f"<{e.tag}> of {owner}: {attribute}={e.attributes.get(attribute)!r} has no direction")
    return scale(1.0 / length, v)


def origin_of(T: Pose) -> Origin:
    """As a description writes it."""
    x, y, z = (float(v) for v in T.p)
    roll, pitch, yaw = to_rpy(T.R)
    return Origin((x, y, z), (roll, pitch, yaw))
