"""Poses and twists (SE(3)) as arrays: poses, the exponential map, screws. All broadcast over leading dimensions."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.errors import InputError
from dalembert.spatial import rotation
from dalembert.spatial.angles import warn_of_degrees
from dalembert.spatial.vector import matmul, skew

Array = NDArray[np.float64]

# An angular velocity [rad] below this part of the linear one [m] is rounding, and the twist a translation: its axis
# would be a million million meters away.
NO_TURN = 1e-12


def _components(array: Array) -> list[Array]:
    return [np.asarray(array[..., k]) for k in range(array.shape[-1])]


def _stack(rows: Any) -> Array:
    """Nested rows of arrays (and numbers) as one array with the rows and columns last."""
    flat = np.broadcast_arrays(*[np.asarray(x, float) for row in rows for x in row])
    return np.stack(flat, axis=-1).reshape(*flat[0].shape, len(rows), len(rows[0]))


def _homogeneous(R: Array, p: Array) -> Array:
    batch = np.broadcast_shapes(R.shape[:-2], p.shape[:-1])
    T = np.zeros((*batch, 4, 4))
    T[..., :3, :3] = R
    T[..., :3, 3] = p
    T[..., 3, 3] = 1.0
    return T


def pose(
    xyz: ArrayLike = (0.0, 0.0, 0.0),
    rpy: ArrayLike | None = None,
    *,
    quat: ArrayLike | None = None,
    euler: ArrayLike | None = None,
    angles: str = "zyz",
    rotation_matrix: ArrayLike | None = None,
) -> Array:
    """A homogeneous matrix (..., 4, 4) from a translation [m] and one of: roll–pitch–yaw angles [rad], a
    quaternion (x, y, z, w), Euler angles of the sequence `angles`, or a rotation matrix."""
    given = {"rpy": rpy, "quat": quat, "euler": euler, "rotation_matrix": rotation_matrix}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) > 1:
        raise InputError(f"give one orientation, not {len(chosen)}: {', '.join(chosen)}")
    p = array("xyz", xyz, (..., 3))
    if rpy is not None or euler is not None:
        a = array(chosen[0], given[chosen[0]], (..., 3))
        warn_of_degrees(chosen[0], a.reshape(-1).tolist(), f"give np.radians({chosen[0]})")
        R = _stack(rotation.from_euler(_components(a), "rpy" if euler is None else angles))
    elif quat is not None:
        q = array("quat", quat, (..., 4))
        if (np.linalg.norm(q, axis=-1) == 0).any():
            raise InputError("quat is zero: a quaternion (x, y, z, w) needs a direction")
        R = _stack(rotation.from_quaternion(_components(q)))
    elif rotation_matrix is not None:
        R = _rotation(rotation_matrix)
    else:
        R = np.eye(3)
    return _homogeneous(R, p)


def _is_rotation(R: Array) -> bool:
    gram = np.swapaxes(R, -1, -2) @ R
    return bool(np.allclose(gram, np.eye(3), atol=1e-6) and (np.linalg.det(R) > 0).all())


def _rotation(value: ArrayLike) -> Array:
    R = array("rotation_matrix", value, (..., 3, 3))
    if not _is_rotation(R):
        raise InputError("rotation_matrix is not a rotation: its columns must be orthonormal, right-handed")
    return R


def exp6(twist: ArrayLike) -> Array:
    """exp of a twist (v, ω) (..., 6): the pose (..., 4, 4) reached by following it for unit time."""
    V = _components(array("twist", twist, (..., 6)))
    v, w = V[:3], V[3:]
    _, b, c = rotation.even_series(sum(x * x for x in w))
    S = skew(w)
    S2 = matmul(S, S)
    left = [[(i == j) + b * S[i][j] + c * S2[i][j] for j in range(3)] for i in range(3)]
    p = [sum(left[i][j] * v[j] for j in range(3)) for i in range(3)]
    return _homogeneous(_stack(rotation.exp3(w)), np.stack(np.broadcast_arrays(*p), axis=-1))


def log6(T: ArrayLike) -> Array:
    """The twist (v, ω) (..., 6) with exp6(log6(T)) = T, |ω| ≤ π."""
    T = read_pose("T", T)
    R = [[np.asarray(T[..., i, j]) for j in range(3)] for i in range(3)]
    w = rotation.log3(R)
    a, b, _ = rotation.even_series(sum(x * x for x in w))
    theta2 = np.asarray(sum(x * x for x in w))
    small = theta2 < rotation.SMALL_ANGLE**2
    # left Jacobian⁻¹ = 1 − ½ S + k S², k = (1 − a/(2b))/θ², a = sin θ/θ, b = (1 − cos θ)/θ²
    k = np.where(small, 1.0 / 12.0 + theta2 / 720.0, (1.0 - 0.5 * a / b) / np.where(small, 1.0, theta2))
    S = skew(w)
    S2 = matmul(S, S)
    p = [np.asarray(T[..., i, 3]) for i in range(3)]
    v = [sum(((i == j) - 0.5 * S[i][j] + k * S2[i][j]) * p[j] for j in range(3)) for i in range(3)]
    return np.stack(np.broadcast_arrays(*v, *w), axis=-1)


def read_pose(name: str, value: ArrayLike) -> Array:
    """(..., 4, 4), checked."""
    T = array(name, value, (..., 4, 4))
    rows = np.allclose(T[..., 3, :], [0, 0, 0, 1], atol=1e-9)
    if not rows or not _is_rotation(T[..., :3, :3]):
        raise InputError(
            "wrong-value", name, value, expected="a pose (..., 4, 4): a rotation, a translation, and the row 0, 0, 0, 1"
        )
    return T


def adjoint(T: ArrayLike) -> Array:
    """Ad_T (..., 6, 6) with V_a = Ad_T V_b for T = T_ab and twists (v, ω): [[R, S(p) R], [0, R]]."""
    T = read_pose("T", T)
    R, p = T[..., :3, :3], T[..., :3, 3]
    A = np.zeros((*T.shape[:-2], 6, 6))
    A[..., :3, :3] = A[..., 3:, 3:] = R
    A[..., :3, 3:] = _stack(skew(_components(p))) @ R
    return A


def inverse(T: ArrayLike) -> Array:
    """T_ba of T_ab."""
    T = read_pose("T", T)
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    return _homogeneous(R, -np.einsum("...ij,...j->...i", R, T[..., :3, 3]))


def exp3(w: ArrayLike) -> Array:
    """exp of a rotation vector w = θ a (..., 3) [rad]: the rotation (..., 3, 3) by θ about the unit axis a."""
    return _stack(rotation.exp3(_components(array("w", w, (..., 3)))))


def log3(R: ArrayLike) -> Array:
    """The rotation vector w = θ a (..., 3) [rad] with exp3(w) = R, θ ≤ π."""
    M = _rotation(R)
    w = rotation.log3([[np.asarray(M[..., i, j]) for j in range(3)] for i in range(3)])
    return np.stack(np.broadcast_arrays(*w), axis=-1)


def euler_angles(R: ArrayLike, angles: str = "rpy") -> Array:
    """The angles (..., 3) [rad] of a rotation (..., 3, 3), or of a pose's (..., 4, 4): roll, pitch and yaw, or those of
    a sequence such as "zyz". Where the sequence is singular, the angle of one factor is chosen zero."""
    M = read_pose("R", R)[..., :3, :3] if np.shape(R)[-2:] == (4, 4) else _rotation(R)
    of = rotation.to_rpy if angles == "rpy" else partial(rotation.to_euler, angles=angles)
    return np.array([of(m) for m in M.reshape(-1, 3, 3).tolist()]).reshape(M.shape[:-1])


def ad(twist: ArrayLike) -> Array:
    """ad_V (..., 6, 6) of a twist V = (v, ω): ad_V V′ = (ω × v′ + v × ω′, ω × ω′), their Lie bracket. The rate of
    Ad_T along the body twist V is Ad_T ad_V."""
    V = array("twist", twist, (..., 6))
    A = np.zeros((*V.shape, 6))
    A[..., :3, :3] = A[..., 3:, 3:] = _stack(skew(_components(V[..., 3:])))
    A[..., :3, 3:] = _stack(skew(_components(V[..., :3])))
    return A


def axis_angle(vector: ArrayLike) -> tuple[Array, Array]:
    """A rotation vector (..., 3) as unit axis and angle, or a twist (..., 6) as unit screw (v, ω) and angle, so that
    angle · axis is the vector: axis (..., 3 or 6), angle (...) ≥ 0.

    A unit screw has |ω| = 1, or ω = 0 and |v| = 1: then the angle is a distance [m]. Zero has a zero axis. Of a
    rotation, axis_angle(log3(R)); of a pose, axis_angle(log6(T)); back by exp3 and exp6."""
    x = array("vector", vector, (..., 3), (..., 6))
    slide, turn = (np.linalg.norm(part, axis=-1) for part in (x[..., :3], x[..., -3:]))
    angle = np.where(turn > NO_TURN * slide, turn, slide)
    return x / np.where(angle > 0, angle, 1.0)[..., None], angle


class Screw(NamedTuple):
    """A motion about a line: its unit `axis` (..., 3), its `point` (..., 3) nearest to the origin [m], its `pitch`
    (...) [m/rad], infinite for a translation, and the `angle` (...) turned [rad], or the distance [m]."""

    axis: Array
    point: Array
    pitch: Array
    angle: Array


def screw(axis: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0), pitch: ArrayLike = 0.0) -> Array:
    """The unit screw (v, ω) = (h a − a × p, a) (..., 6) about the line through p along a, with pitch h [m/rad]; for an
    infinite pitch, (a, 0): a translation. `axis` (..., 3) of any length, `point` (..., 3) [m], `pitch` (...)."""
    a, p = array("axis", axis, (..., 3)), array("point", point, (..., 3))
    size = np.linalg.norm(a, axis=-1, keepdims=True)
    if not (size > 0).all():
        raise InputError("axis is zero: a screw needs a direction")
    h = array("pitch", pitch, unit="m/rad, inf for a translation", finite=False)[..., None]
    a, slides = a / size, np.isinf(h)
    turning = np.where(slides, 0.0, h) * a - np.cross(a, p)
    v, w = np.where(slides, np.sign(h) * a, turning), np.where(slides, 0.0, a)
    return np.concatenate(np.broadcast_arrays(v, w), axis=-1)


def screw_parameters(twist: ArrayLike) -> Screw:
    """Axis, point, pitch and angle of a twist (v, ω) (..., 6): angle · screw(axis, point, pitch) is the twist."""
    unit, angle = axis_angle(array("twist", twist, (..., 6)))
    v, w = unit[..., :3], unit[..., 3:]
    turns = np.linalg.norm(w, axis=-1, keepdims=True) > NO_TURN
    pitch = np.where(turns[..., 0], np.einsum("...i,...i->...", v, w), np.inf)
    return Screw(np.where(turns, w, v), np.where(turns, np.cross(w, v), 0.0), pitch, angle)


def project_so3(M: ArrayLike) -> Array:
    """The rotation (..., 3, 3) nearest to a matrix (..., 3, 3) in the Frobenius norm, by singular values."""
    U, _, Vt = np.linalg.svd(array("M", M, (..., 3, 3)))
    U[..., 2] *= np.sign(np.linalg.det(U) * np.linalg.det(Vt))[..., None]
    return np.asarray(U @ Vt)


def project_se3(M: ArrayLike) -> Array:
    """The pose (..., 4, 4) nearest to a matrix (..., 4, 4): its rotation by `project_so3`, its translation as it is."""
    M = array("M", M, (..., 4, 4))
    return _homogeneous(project_so3(M[..., :3, :3]), M[..., :3, 3])


def distance_so3(M: ArrayLike) -> Array:
    """How far a matrix (..., 3, 3) is from being a rotation: ‖M − project_so3(M)‖, Frobenius.  (...)."""
    return np.asarray(np.linalg.norm(array("M", M, (..., 3, 3)) - project_so3(M), axis=(-2, -1)))


def distance_se3(M: ArrayLike) -> Array:
    """How far a matrix (..., 4, 4) is from being a pose: ‖M − project_se3(M)‖, Frobenius.  (...)."""
    return np.asarray(np.linalg.norm(array("M", M, (..., 4, 4)) - project_se3(M), axis=(-2, -1)))
