"""Poses and twists as arrays: making them, and the exponential map. All broadcast over leading dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError
from dalembert.scalar import arrays as _arrays  # noqa: F401 - registers arrays as scalars
from dalembert.spatial import rotation
from dalembert.spatial.vector import matmul, skew

Array = NDArray[np.float64]


def _numbers(name: str, value: ArrayLike, size: int) -> Array:
    """The value as floats with a last dimension of `size`, all finite."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, got {value!r}") from None
    if array.ndim == 0 or array.shape[-1] != size:
        raise InputError(f"{name} must end in a dimension of {size}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} has a value that is not finite: {array.tolist()}")
    return array


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
    p = _numbers("xyz", xyz, 3)
    if rpy is not None:
        R = _stack(rotation.from_euler(_components(_numbers("rpy", rpy, 3)), "rpy"))
    elif euler is not None:
        R = _stack(rotation.from_euler(_components(_numbers("euler", euler, 3)), angles))
    elif quat is not None:
        q = _numbers("quat", quat, 4)
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
    R = np.asarray(value, dtype=float)
    if R.ndim < 2 or R.shape[-2:] != (3, 3):
        raise InputError(f"rotation_matrix must end in (3, 3), got shape {R.shape}")
    if not _is_rotation(R):
        raise InputError("rotation_matrix is not a rotation: its columns must be orthonormal, right-handed")
    return R


def exp6(twist: ArrayLike) -> Array:
    """exp of a twist (v, ω) (..., 6): the pose (..., 4, 4) reached by following it for unit time."""
    V = _components(_numbers("twist", twist, 6))
    v, w = V[:3], V[3:]
    _, b, c = rotation.even_series(sum(x * x for x in w))
    S = skew(w)
    S2 = matmul(S, S)
    left = [[(i == j) + b * S[i][j] + c * S2[i][j] for j in range(3)] for i in range(3)]
    p = [sum(left[i][j] * v[j] for j in range(3)) for i in range(3)]
    return _homogeneous(_stack(rotation.exp3(w)), np.stack(np.broadcast_arrays(*p), axis=-1))


def log6(T: ArrayLike) -> Array:
    """The twist (v, ω) (..., 6) with exp6(log6(T)) = T, |ω| ≤ π."""
    T = _pose("T", T)
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


def _pose(name: str, value: ArrayLike) -> Array:
    try:
        T = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a matrix of numbers, got {value!r}") from None
    if T.shape[-2:] != (4, 4):
        raise InputError(f"{name} must end in (4, 4), got shape {T.shape}")
    rows = np.allclose(T[..., 3, :], [0, 0, 0, 1], atol=1e-9)
    if not rows or not _is_rotation(T[..., :3, :3]):
        raise InputError(f"{name} is not a pose: a rotation, a translation, and (0, 0, 0, 1) below")
    return T


def adjoint(T: ArrayLike) -> Array:
    """Ad_T (..., 6, 6) with V_a = Ad_T V_b for T = T_ab and twists (v, ω): [[R, S(p) R], [0, R]]."""
    T = _pose("T", T)
    R, p = T[..., :3, :3], T[..., :3, 3]
    A = np.zeros((*T.shape[:-2], 6, 6))
    A[..., :3, :3] = A[..., 3:, 3:] = R
    A[..., :3, 3:] = _stack(skew(_components(p))) @ R
    return A


def inverse(T: ArrayLike) -> Array:
    """T_ba of T_ab."""
    T = _pose("T", T)
    R = np.swapaxes(T[..., :3, :3], -1, -2)
    return _homogeneous(R, -np.einsum("...ij,...j->...i", R, T[..., :3, 3]))
