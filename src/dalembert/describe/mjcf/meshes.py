"""Meshes of <asset>: from a file or written out, their inertia by MuJoCo's rules, and simple shapes fitted to them.

MuJoCo keeps vertices in 32 bits; so is what stands in the text rounded here, so that masses agree to the last digits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dalembert.caching import cached_property
from dalembert.describe import mass, mesh
from dalembert.describe.description import Mesh
from dalembert.describe.mesh import hull
from dalembert.describe.mjcf.document import Document, choice
from dalembert.describe.mjcf.placement import quaternion
from dalembert.describe.mjcf.settings import Settings
from dalembert.describe.xml import Element
from dalembert.errors import DescriptionError, InputError
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.vector import ZERO, Vector, matscale, matvec, neg, scale, transpose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPEN = "not closed; the mass is that of MuJoCo's default rule, a sum of pyramids on the faces"
INWARD = "turned inside out; the mass is that of MuJoCo's default rule, a sum of pyramids on the faces"
HOLLOW = "closed, and MuJoCo's default rule overcounts the volume; the exact one is taken, as with inertia='exact'"
SAME = 1e-6  # of a volume: where MuJoCo's default rule is this near to the integral, nobody need be told


class Asset:
    """A mesh by its name. `shape` is what a description draws, at `pose` in the geom's frame; None if it cannot."""

    def __init__(self, e: Element, document: Document, settings: Settings) -> None:
        self._document = document
        self.note: str | None = None  # what is to be said of its inertia, once that was asked for
        self.element = e = document.complete(e, None)
        file = e.attributes.get("file")
        self.name = e.attributes.get("name") or os.path.splitext(os.path.basename((file or "").replace("\\", "/")))[0]
        self.who = f"mesh {self.name!r}"
        x, y, z = e.numbers("scale", 3, self.who) if "scale" in e.attributes else (1.0, 1.0, 1.0)
        self._scale: Vector = (x, y, z)
        self._ref = e.numbers("refpos", 3, self.who) if "refpos" in e.attributes else ZERO
        self._turn = transpose(quaternion(e, "refquat", self.who))
        self.rule = choice(e, "inertia", ("legacy", "exact", "convex", "shell"), self.who)
        file = os.path.basename(file) if file and settings.strip_path else file
        self._path = None if file is None else os.path.join(document.below, settings.mesh_folder, file)
        self.shape: Mesh | None = None
        self.pose = Pose(self._turn, neg(_times(self._scale, matvec(self._turn, self._ref))))
        # A file that is turned, then stretched, is no placement of the file that is stretched.
        if self._path is not None and ("refquat" not in e.attributes or x == y == z):
            self.shape = Mesh(self._path, self._scale)

    @cached_property
    def triangles(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(vertices (n, 3) [m], faces (k, 3)) in the geom's frame; what cannot be read is an error."""
        import numpy as np

        with np.errstate(all="ignore"):  # MuJoCo's vertices are single: more than 3.4e38 is no number any more
            x, faces = self._written() if "vertex" in self.element.attributes else self._file()
            if not np.isfinite(x).all():
                raise DescriptionError(f"{self.element.place}: {self.who} has vertices past 3.4e38 m")
            faces = hull(x) if len(faces) == 0 else faces
            x = (x - np.array(self._ref)) @ np.array(self._turn).T * self._scale
        return x, faces[:, ::-1] if np.prod(self._scale) < 0 else faces

    def _file(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        e = self.element
        if self._path is None:
            what = f"is of MuJoCo's own making (builtin={e.attributes.get('builtin')!r})"
            raise DescriptionError(f"{e.place}: {self.who} {what}, which is not computed")
        folder = self._document.base
        if folder is None:
            raise DescriptionError(f"{e.place}: {self.who} is a file, and the model has no folder; load it from a file")
        x, faces = mesh.read(mesh.resolve(self._path, folder))
        return (_rounded(x) if self._path.lower().endswith(".obj") else x), faces

    def _written(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        import numpy as np

        e = self.element
        x = _rounded(np.array(self._list("vertex")).reshape(-1, 3))
        faces = np.array(self._list("face") if "face" in e.attributes else ()).reshape(-1, 3)
        if faces.size and not (0 <= faces.min() <= faces.max() < len(x)):
            raise e.refuse(f"the faces of {self.who} must be numbers of its {len(x)} vertices, from 0")
        return x, faces.astype(np.int64)

    def _list(self, attribute: str) -> tuple[float, ...]:
        count = len(self.element.word(attribute, self.who).split())
        return self.element.numbers(attribute, count if count % 3 == 0 else 3 * (count // 3 + 1), self.who)

    # ------------------------------------------------------------------------------------------------------ inertia
    def inertia(self, density: float, given: float | None) -> Inertia:
        """Of its density (of a shell in kg/m²), or of a given mass."""
        one = self._one
        factor = density if given is None else given / one.m
        return Inertia(factor * one.m, scale(factor, one.h), matscale(factor, one.I))

    @cached_property
    def _one(self) -> Inertia:
        """Of density 1. If no rule is asked for, a closed mesh weighs what it holds; MuJoCo's default adds hollows."""
        if self.rule in ("legacy", "convex", "shell"):
            return mass.mesh(*self.triangles, density=1.0, rule=self.rule)
        default = mass.mesh(*self.triangles, density=1.0, rule="legacy")
        try:
            exact = mass.mesh(*self.triangles, density=1.0)
        except InputError as error:
            self.note = OPEN if "volume" not in str(error) else INWARD
            return default
        if self.rule is None and abs(default.m - exact.m) > SAME * exact.m:
            self.note = HOLLOW
        return exact

    # --------------------------------------------------------------------------------------------------------- fits
    def fit(self, kind: str, boxed: bool) -> tuple[tuple[float, ...], Pose]:
        """Half sizes and pose of the simple shape that MuJoCo puts in the mesh's place: along its principal axes, as
        large as the box of the same inertia, or `boxed`, as the box around it."""
        import numpy as np

        x, faces = self.triangles
        solid = mass.mesh(x, faces, density=1.0, rule=self.rule or "legacy")
        J, V = np.linalg.eigh(np.array(solid.about_com()))
        J, V = J[::-1], V[:, ::-1]  # the longest way is z
        V[:, 0] *= np.sign(np.linalg.det(V))
        middle = np.array(solid.com())
        if boxed:
            turned = (x - middle) @ V
            low, high = turned.min(axis=0), turned.max(axis=0)
            half, middle = (high - low) / 2.0, middle + V @ ((high + low) / 2.0)
        else:
            half = np.sqrt(np.maximum(1.5 * (J.sum() - 2.0 * J) / solid.m, 0.0))
        a, b, c = (float(h) for h in half)
        across = max(a, b) if boxed else (a + b) / 2.0
        sizes: dict[str, tuple[float, ...]] = {
            "sphere": (max(a, b, c) if boxed else (a + b + c) / 3.0,),
            "capsule": (across, max(0.0, c - (across if boxed else across / 2.0))),
            "cylinder": (across, c),
        }
        return sizes.get(kind, (a, b, c)), Pose(tuple(tuple(row) for row in V.tolist()), tuple(middle.tolist()))


def _rounded(x: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    return x.astype(np.float32).astype(np.float64)


def _times(a: Vector, b: Vector) -> Vector:
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])
