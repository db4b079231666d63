"""Denavit–Hartenberg geometry: four numbers between two frames, and the frames along two axes.

Standard convention throughout: A = Rz(θ) Tz(d) Tx(a) Rx(α), frame i on the axis of joint i + 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.describe.chain import snap_angle, snap_length
from dalembert.errors import InputError
from dalembert.spatial import rotation
from dalembert.spatial.pose import Pose
from dalembert.spatial.vector import Vector, add, cross, dot, matvec, scale, sub

X: Vector = (1.0, 0.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)

# Axes that differ by less than this angle [rad] count as parallel. Taking them so costs at most that angle;
# a common normal 1/angle away would cost as much in rounding, 1e-16/angle, and print lengths of 1e8 m.
PARALLEL = 1e-8
# Parallel axes nearer than this [m] count as one line: no direction can be taken from their distance.
COINCIDENT = 1e-12


def screw_z(theta: float, d: float) -> Pose:
    """Rz(θ) Tz(d)."""
    return Pose(rotation.about(Z, *rotation.cos_sin(theta)), (0.0, 0.0, d))


def screw_x(a: float, alpha: float) -> Pose:
    """Tx(a) Rx(α)."""
    return Pose(rotation.about(X, *rotation.cos_sin(alpha)), (a, 0.0, 0.0))


@dataclass(frozen=True)
class DHCheck:
    """Whether two frames obey the two conditions of the convention.

    dh1: x_i meets z_{i−1}; `distance` [m] is by how much it misses.
    dh2: x_i is at right angles to z_{i−1}; `angle` [rad] is by how much it is not.
    `parameters` are (θ, d, a, α) if both hold, else None. Seed 000, §1.2.
    """

    dh1: bool
    dh2: bool
    distance: float
    angle: float
    parameters: tuple[float, float, float, float] | None
    message: str

    def __bool__(self) -> bool:
        return self.dh1 and self.dh2


def as_pose(T: Any, what: str = "the frame") -> Pose:
    """A pose from a `Pose` or a 4×4 homogeneous matrix; refuses anything else with a sentence."""
    if isinstance(T, Pose):
        return T
    rows = [[float(x) for x in row] for row in T] if _is_4x4(T) else None
    if rows is None:
        raise InputError(f"{what} must be a 4×4 homogeneous matrix")
    if not all(math.isfinite(x) for row in rows for x in row):
        raise InputError(f"{what} holds a number that is not finite")
    R = tuple(tuple(row[:3]) for row in rows[:3])
    error = rotation.orthonormal_error(R)
    if rows[3] != [0.0, 0.0, 0.0, 1.0] or error > 1e-6:
        raise InputError(
            f"{what} is not a rigid transform: the rotation is off by {error:.2g} and the last row is "
            f"{rows[3]} where [0, 0, 0, 1] is needed"
        )
    return Pose(R, (rows[0][3], rows[1][3], rows[2][3]))


def _is_4x4(T: Any) -> bool:
    try:
        return len(T) == 4 and all(len(row) == 4 for row in T)
    except TypeError:
        return False


def check_dh_frames(T_prev: Any, T_next: Any, *, tolerance: float = 1e-9) -> DHCheck:
    """Whether frame i (`T_next`) can follow frame i−1 (`T_prev`) in a standard DH table.

    Both poses (4×4, or `Pose`) are in one common frame; `tolerance` is in meters and radians.
    """
    T = as_pose(T_prev, "the previous frame").inverse() @ as_pose(T_next, "the next frame")
    x = tuple(row[0] for row in T.R)
    angle = math.asin(min(1.0, abs(x[2])))
    across = math.hypot(x[0], x[1])  # zero where x_i is parallel to z_{i−1}
    if across > PARALLEL:
        distance = abs(T.p[1] * x[0] - T.p[0] * x[1]) / across
    else:
        distance = math.hypot(T.p[0], T.p[1])
    dh1, dh2 = bool(distance <= tolerance), bool(angle <= tolerance)
    parameters = dh_parameters(T) if dh1 and dh2 else None
    return DHCheck(dh1, dh2, distance, angle, parameters, _verdict(dh1, dh2, distance, angle))


def _verdict(dh1: bool, dh2: bool, distance: float, angle: float) -> str:
    faults = []
    if not dh1:
        faults.append(f"DH1 fails: x_i passes z_(i-1) at {distance:.6g} m")
    if not dh2:
        faults.append(f"DH2 fails: x_i is {math.degrees(angle):.6g} degrees off the right angle to z_(i-1)")
    return "; ".join(faults) or "DH1 and DH2 hold"


def dh_parameters(T: Pose) -> tuple[float, float, float, float]:
    """(θ, d, a, α) of T = Rz(θ) Tz(d) Tx(a) Rx(α), which it must be."""
    R, p = T.R, T.p
    a = p[0] * R[0][0] + p[1] * R[1][0]
    theta, alpha = math.atan2(R[1][0], R[0][0]), math.atan2(R[2][1], R[2][2])
    return (snap_angle(theta), snap_length(p[2]), snap_length(a), snap_angle(alpha))


def _column(R: Sequence[Sequence[float]], j: int) -> Vector:
    return (R[0][j], R[1][j], R[2][j])


def _unit(v: Vector) -> Vector:
    return scale(1.0 / math.sqrt(dot(v, v)), v)


def _frame(x: Vector, z: Vector, p: Vector) -> Pose:
    """The frame with axis z, and x made exactly perpendicular to it."""
    x = _unit(sub(x, scale(dot(x, z), z)))
    y = cross(z, x)
    return Pose(tuple((x[i], y[i], z[i]) for i in range(3)), p)


def first_frame(p: Vector, z: Vector) -> Pose:
    """Frame 0 on the first joint's axis (through p, along z), as near to the root's frame as can be:
    its origin is the axis' point nearest the root's origin, its x the root's x laid across the axis."""
    foot = sub(p, scale(dot(p, z), z))
    across = X if abs(z[0]) < 1.0 - 1e-9 else (0.0, 1.0, 0.0)
    return _frame(across, z, foot)


def next_frame(F: Pose, p: Vector, z: Vector, *, last: bool = False) -> Pose:
    """Frame i after frame i−1 = F: z_i along the line through p, x_i along the common normal.

    Choices where geometry leaves them open: x_i points so that θ_i at q = 0 lies in (−90°, 90°]
    (so a_i may be negative); parallel axes take d_i = 0, or for the `last` frame the tip's own height;
    one and the same axis takes θ_i = 0 and a_i = 0. Axes at a small angle δ put the common normal some
    L/δ away, and the table's own rounding is multiplied by that length: the convention's, not ours.
    """
    x0, z0, o = _column(F.R, 0), _column(F.R, 2), F.p
    n = cross(z0, z)
    s = math.sqrt(dot(n, n))
    if s > PARALLEL:
        m = cross(n, z0)
        foot = add(p, scale(dot(sub(o, p), m) / (s * s), z))
        return _frame(_forward(x0, z0, scale(1.0 / s, n)), z, foot)
    r = sub(p, o)
    height = dot(r, z0)
    r = sub(r, scale(height, z0))
    apart = math.sqrt(dot(r, r))
    x = _forward(x0, z0, scale(1.0 / apart, r)) if apart > COINCIDENT else x0
    origin = add(add(o, r), scale(height, z0)) if last else add(o, r)
    return _frame(x, z0 if dot(z, z0) > 0 else scale(-1.0, z0), origin)


def _forward(x0: Vector, z0: Vector, x: Vector) -> Vector:
    """x or −x, whichever is at an angle in (−90°, 90°] from x0 about z0."""
    c, s = dot(x, x0), dot(x, cross(z0, x0))
    return scale(-1.0, x) if c < -PARALLEL or (c <= PARALLEL and s < 0) else x


def line(T: Pose, axis: Vector) -> tuple[Vector, Vector]:
    """Point and direction of a joint's axis, T the joint's frame."""
    return T.p, matvec(T.R, axis)
