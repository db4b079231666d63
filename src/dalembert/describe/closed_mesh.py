"""Whether a triangle mesh bounds a solid, so that integrals over its inside mean something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.describe.refuse import LARGEST
from dalembert.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def checked(
    vertices: ArrayLike, faces: ArrayLike, closed: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(n, 3) floats and (k, 3) indices of a mesh, closed and consistently oriented if wanted, or an InputError.

    Faces that repeat a vertex have no area and are left out: files made by programs are full of them.
    """
    x = _array(vertices, "vertices")
    f = _array(faces, "faces")
    if not (np.abs(x) <= LARGEST).all():
        what = "so far away that its products overflow" if np.isfinite(x).all() else "not finite"
        raise InputError(f"a vertex of the mesh is {what}")
    indices = f.astype(np.int64) if np.isfinite(f).all() else np.full_like(f, -1, dtype=np.int64)
    if (indices != f).any() or indices.min() < 0 or indices.max() >= len(x):
        raise InputError(f"the faces must be indices from 0 to {len(x) - 1}, the vertices' numbers")
    a, b, c = indices.T
    solid = indices[(a != b) & (b != c) & (c != a)]
    if closed:
        _closed(solid)
    return x, solid


def hull(vertices: NDArray[np.float64]) -> NDArray[np.int64]:
    """(k, 3) faces of the convex hull, in no common orientation."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        faces: NDArray[np.int64] = ConvexHull(vertices).simplices.astype(np.int64)
    except (QhullError, ValueError):
        raise InputError("the mesh is flat: its convex hull encloses nothing") from None
    return faces


def _array(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"the {name} of the mesh must be an array of numbers") from None
    if array.ndim != 2 or array.shape[1] != 3 or len(array) == 0:
        raise InputError(f"the {name} of the mesh have shape {array.shape}; they must be (n, 3), n > 0")
    return array


def _closed(faces: NDArray[np.int64]) -> None:
    """Every directed edge stands once in each direction: no hole, no flipped or doubled face."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    count = int(edges.max(initial=0)) + 1
    there, times = np.unique(edges[:, 0] * count + edges[:, 1], return_counts=True)
    back = np.unique(edges[:, 1] * count + edges[:, 0])
    if len(there) == 0:
        raise InputError("the mesh has no face with an area")
    alone = len(np.setdiff1d(there, back))
    repeated = int((times > 1).sum())
    if repeated:
        raise InputError(
            f"the mesh is not consistently oriented: {repeated} of its {len(edges)} edges run twice in one "
            "direction (a flipped, doubled or touching face); repair it, or use a simple shape"
        )
    if alone:
        raise InputError(
            f"the mesh is not closed: {alone} of its {len(edges)} edges have a face on one side only; "
            "close its holes, merge its equal vertices, or use a simple shape"
        )
