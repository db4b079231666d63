"""Screw axes (product of exponentials) to and from a description.

    T(q) = exp([S₁] q₁) ⋯ exp([Sₙ] qₙ) M        space screws, in the root's frame at q = 0
    T(q) = M exp([B₁] q₁) ⋯ exp([Bₙ] qₙ)        body screws, in the tip's frame at q = 0

A screw is (v, ω), linear first: v = −ω × p for a joint that turns about ω through the point p,
(v, 0) for one that slides along v. Textbooks that write (ω, v) are `order="angular-first"`.
Lynch and Park, Modern Robotics, ch. 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.describe.chain import Chain, moved_inertial, serial_chain, to_origin
from dalembert.describe.check import check
from dalembert.describe.description import Description, Drive, Inertial, Joint, Limit, Link, Vector
from dalembert.describe.dh import as_pose
from dalembert.errors import DescriptionError, InputError, choose
from dalembert.spatial.motion import Motion
from dalembert.spatial.pose import IDENTITY_POSE, Pose
from dalembert.spatial.vector import cross

Order = Literal["linear-first", "angular-first"]
ORDERS = ("linear-first", "angular-first")
FRAMES = ("space", "body")
# How far from 1 the length of ω or v may be: a screw written with seven digits.
UNIT = 1e-6

Array = NDArray[np.float64]


def from_screws(
    axes: ArrayLike,
    home: ArrayLike,
    *,
    order: str = "linear-first",
    screws: str = "space",
    link_homes: Sequence[ArrayLike] | None = None,
    inertials: Sequence[Inertial | None] | None = None,
    limits: Sequence[Limit | None] | None = None,
    drives: Sequence[Drive] | None = None,
    joint_names: Sequence[str] | None = None,
    link_names: Sequence[str] | None = None,
    name: str = "robot",
    gravity: Vector = (0.0, 0.0, -9.81),
    root: str = "base",
    tip: str = "tool",
    notes: str = "",
) -> Description:
    """The description of n screw axes (n, 6) and the tip's pose at q = 0, `home` (4, 4).

    Link i's frame has the root's axes at q = 0 and stands on joint i's axis, where that comes nearest
    to the root's origin. `inertials[i]` is given in `link_homes[i]` (4, 4, in the root's frame at
    q = 0), or in the link's frame if there are none; it is moved into the link's frame.
    """
    choose("order of a screw", order, ORDERS)
    choose("kind of screw", screws, FRAMES)
    M = as_pose(home, "home")
    rows = array("axes", axes, (None, 6))
    if len(rows) == 0:
        raise InputError("too-few", "axes", problem="axes has no rows", remedy="Pass one screw per joint.")
    motions = [_motion(row, i, order) for i, row in enumerate(rows)]
    if screws == "body":
        motions = [motion.to_parent(M) for motion in motions]
    n = len(motions)
    joint_names = _each(joint_names, [f"joint{i + 1}" for i in range(n)], "joint_names")
    link_names = _each(link_names, [f"link{i + 1}" for i in range(n)], "link_names")
    bodies = _each(inertials, [None] * n, "inertials")
    ranges = _each(limits, [None] * n, "limits")
    motors = _each(drives, [Drive()] * n, "drives")
    homes = _each(link_homes, [None] * n, "link_homes")
    links, joints, before, parent = [Link(root)], [], IDENTITY_POSE, root
    for i, S in enumerate(motions):
        kind, axis, point, pitch = _joint_line(S)
        T = Pose(p=point)
        given = T if homes[i] is None else as_pose(homes[i], f"link_homes[{i}]")
        links.append(Link(link_names[i], moved_inertial(T.inverse() @ given, bodies[i])))
        origin = to_origin(before.inverse() @ T)
        joints.append(
            Joint(joint_names[i], kind, parent, link_names[i], origin, axis, ranges[i], drive=motors[i], pitch=pitch)
        )
        before, parent = T, link_names[i]
    joints.append(Joint(f"{tip}_fixed", "fixed", parent, tip, to_origin(before.inverse() @ M)))
    return check(Description(name, (*links, Link(tip)), tuple(joints), gravity, tip, notes))


def to_screws(
    description: Description, frame: str | None = None, *, screws: str = "space", order: str = "linear-first"
) -> tuple[Array, Array]:
    """The screw axes (n, 6) of the moving joints from the root to `frame` (the tip, if not given), and
    that frame's pose (4, 4) at q = 0."""
    choose("order of a screw", order, ORDERS)
    choose("kind of screw", screws, FRAMES)
    chain = _screwed(serial_chain(description, frame, only=False))
    M = chain.home()
    rows = []
    for T, body in zip(chain.homes(), chain.bodies, strict=True):
        (S,) = (column.to_parent(T) for column in body.joint.motion().subspace(()))
        if screws == "body":
            S = S.to_child(M)
        rows.append((*S.v, *S.w) if order == "linear-first" else (*S.w, *S.v))
    return np.array(rows, dtype=float).reshape(-1, 6), np.array(M.matrix(), dtype=float)


def screw_bodies(description: Description, frame: str | None = None) -> tuple[Array, tuple[Inertial | None, ...]]:
    """What `from_screws` needs beside the axes: each moving body's frame (n, 4, 4) at q = 0 in the
    root's, and its inertial in that frame, with everything fixed to it."""
    chain = _screwed(serial_chain(description, frame))
    homes = np.array([T.matrix() for T in chain.homes()], dtype=float).reshape(-1, 4, 4)
    return homes, tuple(body.link.inertial for body in chain.bodies)


def _screwed(chain: Chain) -> Chain:
    """A chain of joints that each move along one screw."""
    for body in chain.bodies:
        if not body.joint.motion().direct:
            problem = f"joint {body.joint.name!r} is {body.joint.kind}, which moves along several screws"
            raise DescriptionError("unsupported", "kind", body.joint.kind, problem=problem)
    return chain


def _each(given: Sequence[Any] | None, default: list[Any], what: str) -> Sequence[Any]:
    if given is None:
        return default
    if len(given) != len(default):
        raise InputError("wrong-shape", what, problem=f"{what} has {len(given)} entries for {len(default)} screw axes")
    return given


def _motion(row: Array, i: int, order: str) -> Motion:
    """The unit screw of a row, or a sentence that says what it lacks."""
    first, second = row[:3], row[3:]
    v, w = (first, second) if order == "linear-first" else (second, first)
    turn, slide = float(np.linalg.norm(w)), float(np.linalg.norm(v))
    if turn == 0 and slide == 0:
        raise DescriptionError("out-of-range", "axes", problem=f"screw axis {i} is zero, and moves nothing")
    length, part = (turn, "ω") if turn > 0 else (slide, "v")
    if abs(length - 1.0) > UNIT:
        other = "" if turn == 0 else "; is the order (v, ω) the one you meant (order=)?"
        problem = f"|{part}| of screw axis {i} must be 1, got {length:.9g}{other}"
        raise DescriptionError("wrong-value", "axes", problem=problem)
    v, w = v / length, w / length
    return Motion((float(v[0]), float(v[1]), float(v[2])), (float(w[0]), float(w[1]), float(w[2])))


def _joint_line(S: Motion) -> tuple[str, Vector, Vector, float]:
    """Kind, direction, the point of the axis nearest the root's origin, and the pitch v·ω [m/rad]."""
    v, w = np.array(S.v), np.array(S.w)
    if not np.any(w):
        return "prismatic", _vector(S.v), (0.0, 0.0, 0.0), 0.0
    pitch = float(v @ w)
    helical = abs(pitch) > UNIT * max(1.0, float(np.linalg.norm(v)))
    return "helical" if helical else "revolute", _vector(S.w), _vector(cross(S.w, S.v)), pitch if helical else 0.0


def _vector(a: Sequence[float]) -> Vector:
    return (float(a[0]), float(a[1]), float(a[2]))
