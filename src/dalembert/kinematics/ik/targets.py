"""Targets and starts as users give them: looked at, refused in words, and put right where digits were left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, in_joint_order, plain_array
from dalembert.errors import InputError
from dalembert.scalar import Scalar, absolute, maximum
from dalembert.spatial.vector import cross, dot

NO_POSE = 5e-5  # how far RᵀR may be from 1, and the last row from (0, 0, 0, 1): six digits will do
ROUNDED = 1e-12  # beyond this a rotation is made one before it is used
LARGEST = 1e6  # [rad or m] the largest of a start: sines of larger angles have few digits left


def as_targets(T: ArrayLike, points: bool = False) -> Array:
    """Poses (..., 4, 4); with `points`, also points (..., 3), as poses without rotation."""
    try:
        array = np.asarray(plain_array(T, "T"), float)
    except (TypeError, ValueError):
        raise InputError("a target is a 4×4 matrix of real numbers, or an array of them") from None
    if points and array.shape[-1:] == (3,):
        poses = np.zeros((*array.shape[:-1], 4, 4))
        poses[...] = np.eye(4)
        poses[..., :3, 3] = array
        return poses
    if array.shape[-2:] != (4, 4):
        hint = ", or points of shape (..., 3)" if points else ", as dl.pose makes them"
        raise InputError(f"T has shape {array.shape}; its last two dimensions must be (4, 4){hint}")
    return array


def as_start(q0: ArrayLike, joints: Sequence[str], n: int) -> Array:
    """Joint positions (..., n), finite."""
    q0 = cast("ArrayLike", in_joint_order("q0", q0, joints))
    try:
        array = np.asarray(plain_array(q0, "q0"), float)
    except (TypeError, ValueError):
        raise InputError("q0 must be real numbers, one per joint") from None
    if array.shape[-1:] != (n,) or not (np.abs(array) <= LARGEST).all():
        raise InputError(
            f"q0 must be finite numbers, {n} in its last dimension, one per joint, none beyond {LARGEST:g}; shape "
            f"{array.shape}"
        )
    return array


def check_batches(targets: tuple[int, ...], starts: tuple[int, ...]) -> None:
    try:
        np.broadcast_shapes(targets, starts)
    except ValueError:
        raise InputError(f"the leading dimensions do not broadcast: T {targets}, q0 {starts}") from None


def defect(T: Sequence[Sequence[Scalar]], rotated: bool = True) -> Scalar:
    """How far a 4×4 matrix is from a pose: the largest of |RᵀR − 1| and |det R − 1|, if its rotation counts, and of
    what the last row has beside (0, 0, 0, 1). NaN may pass it: see `extent`."""
    worst: Scalar = 0.0
    for x, wanted in zip(T[3], (0.0, 0.0, 0.0, 1.0), strict=True):
        worst = maximum(worst, absolute(x - wanted))
    if not rotated:
        return worst
    a, b, c = ([T[i][k] for i in range(3)] for k in range(3))
    worst = maximum(worst, absolute(dot(a, cross(b, c)) - 1.0))
    for x, y, wanted in ((a, a, 1.0), (b, b, 1.0), (c, c, 1.0), (a, b, 0.0), (a, c, 0.0), (b, c, 0.0)):
        worst = maximum(worst, absolute(dot(x, y) - wanted))
    return worst


def extent(T: Sequence[Sequence[Scalar]], rotated: bool = True) -> Scalar:
    """The sum of its entries' sizes, without the rotation's if that does not count: finite if they all are."""
    total: Scalar = 0.0
    for i, row in enumerate(T):
        for x in row if rotated or i == 3 else row[3:]:
            total = absolute(x) + total
    return total


def refuse(T: Array, wrong: NDArray[np.bool_], farthest: float) -> None:
    """A sentence about the first matrix that is marked wrong; nothing, if none is."""
    bad = np.argwhere(wrong)
    if not len(bad):
        return
    place = tuple(int(i) for i in bad[0])
    which = f" {place if len(place) > 1 else place[0]}" if place else ""
    raise InputError(f"target{which} is not a pose: {_why(np.broadcast_to(T, (*wrong.shape, 4, 4))[place], farthest)}")


def _why(M: Array, farthest: float) -> str:
    if not np.isfinite(M).all():
        return "it has a value that is not finite"
    if np.abs(M[:3, 3]).max() > farthest:
        return "it is farther away than any arm reaches"
    if np.abs(M[3] - [0, 0, 0, 1]).max() > NO_POSE:
        return f"its last row is {M[3].tolist()}, not [0, 0, 0, 1]"
    off = np.abs(M[:3, :3].T @ M[:3, :3] - np.eye(3)).max()
    what = f"RᵀR differs from 1 by {off:.2g}" if off > NO_POSE else "it mirrors (its determinant is −1)"
    return f"the upper left 3×3 is no rotation, {what}"


def as_poses(T: Array, rotated: bool) -> Array:
    """The targets (..., 4, 4), refused where they are no poses (rotations only if they count), and put right."""
    off = np.abs(T[..., 3, :] - np.eye(4)[3]).max(-1, initial=0.0)
    if rotated:
        R = T[..., :3, :3]
        off = np.maximum(off, np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max((-1, -2), initial=0.0))
        off = np.maximum(off, np.abs(np.linalg.det(R) - 1.0))
    refuse(T, ~(off <= NO_POSE), np.inf)
    return with_rotations(T, off > ROUNDED) if rotated and (off > ROUNDED).any() else T


def with_rotations(T: Array, rough: NDArray[np.bool_]) -> Array:
    """The targets, with the nearest rotation in place of those that are marked as rough."""
    made = np.array(T)
    U, _, V = np.linalg.svd(made[rough][..., :3, :3])
    made[rough, :3, :3] = U @ V
    return made
